/* cli/data_values.h: the values of the options of `heatball data`. */
#ifndef HB_CLI_DATA_VALUES_H
#define HB_CLI_DATA_VALUES_H

#include "session.h"

typedef struct hb_data_values {
    int action, json;
    const char *name, *path, *plot;
    uint64_t n, seed;
    /* of planar sets */
    int process;
    double tau;
    /* of image sets */
    int part, resize, resample, binarize, range, dtype;
    const char *labels;
} hb_data_values;

#endif
