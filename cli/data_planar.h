/* cli/data_planar.h: showing and exporting a planar set. */
#ifndef HB_CLI_DATA_PLANAR_H
#define HB_CLI_DATA_PLANAR_H

#include "data_values.h"

#include <heatball/data.h>

extern const char *const hb_data_process_names[]; /* "ou", "ve", NULL */

hb_status hb_data_planar_show(hb_session *session, const hb_data_values *v,
                              const hb_mixture *mixture);
hb_status hb_data_planar_export(hb_session *session, const hb_data_values *v,
                                const hb_mixture *mixture);

#endif
