/* cli/train_figure.h: the losses of a training as a figure. */
#ifndef HB_CLI_TRAIN_FIGURE_H
#define HB_CLI_TRAIN_FIGURE_H

#include "session.h"

/* Columns of the log of hb_train. */
enum {
    HB_LOG_STEP,
    HB_LOG_LOSS,
    HB_LOG_DSM,
    HB_LOG_CONSTRAINT,
    HB_LOG_RESIDUAL,
    HB_LOG_NORM,
    HB_LOG_RATE,
    HB_LOG_SECONDS,
    HB_LOG_WIDTH
};

/* title: what was trained, by which method; log (n, HB_LOG_WIDTH), n >= 1. */
hb_status hb_train_figure_write(hb_session *session, const char *title, size_t n, const double *log,
                                const char *path);

#endif
