/* cli/sample_figure.h: draws of a heat ball as a figure. */
#ifndef HB_CLI_SAMPLE_FIGURE_H
#define HB_CLI_SAMPLE_FIGURE_H

#include "session.h"

typedef struct hb_sample_figure {
    int dim, lift, is_kappa;
    double radius;
} hb_sample_figure;

/* rows[n][dim + 1]: z and sigma of the draws; n >= 1. */
hb_status hb_sample_figure_write(hb_session *session, const hb_sample_figure *s, size_t n,
                                 const double *rows, const char *path);

#endif
