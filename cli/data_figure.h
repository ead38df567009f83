/* cli/data_figure.h: the picture of a planar set. */
#ifndef HB_CLI_DATA_FIGURE_H
#define HB_CLI_DATA_FIGURE_H

#include "session.h"

#include <heatball/data.h>

/* Density with colours and 2000 draws, side by side, of u(.,tau). */
hb_status hb_data_figure_write(hb_session *session, const char *name, const hb_mixture *mixture,
                               hb_process process, double tau, uint64_t seed, const char *path);

#endif
