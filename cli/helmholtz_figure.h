/* cli/helmholtz_figure.h: three panels, the field and its two parts. */
#ifndef HB_CLI_HELMHOLTZ_FIGURE_H
#define HB_CLI_HELMHOLTZ_FIGURE_H

#include "helmholtz_field.h"

/* Writes stem.svg and stem.png with the .csv and .gp behind them. */
hb_status hb_helmholtz_figure_write(hb_session *session, const hb_helmholtz_field *field,
                                    double tau, const char *stem);

#endif
