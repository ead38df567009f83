/* cli/evaluate_samples.h: how good a model's samples and likelihoods are. */
#ifndef HB_CLI_EVALUATE_SAMPLES_H
#define HB_CLI_EVALUATE_SAMPLES_H

#include "evaluate_points.h"

/* mmd, floor, modes, counts, outliers, found, nll and their reasons. */
hb_status hb_evaluate_samples(hb_session *session, hb_evaluate_frame *frame, hb_evaluation *out);

#endif
