/* cli/evaluate_figure.h: the error of a score against tau as a figure. */
#ifndef HB_CLI_EVALUATE_FIGURE_H
#define HB_CLI_EVALUATE_FIGURE_H

#include "session.h"

#include <heatball/metrics.h>

/* title: of which model and set; errors (n). */
hb_status hb_evaluate_figure_write(hb_session *session, const char *title, size_t n,
                                   const hb_score_error *errors, const char *path);

#endif
