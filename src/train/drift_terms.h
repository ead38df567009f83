/* train/drift_terms.h: the drift at points, and what a model's reference leaves of the
 * Fokker-Planck equation there. */
#ifndef HB_TRAIN_DRIFT_TERMS_H
#define HB_TRAIN_DRIFT_TERMS_H

#include "train/trainer.h"

/* The terms of the two sources of rows (trainer.h), on this thread. Of v_ref is left
 *     d_tau v - Lap v - |grad v|^2 + F.grad v + div F,
 * which is 0 for OU and VE, and for scores its gradient. */
hb_status hb_linear_terms(hb_context *alone, const hb_trainer *trainer, const hb_points *points,
                          double *F, double *jacobian, double *left);
hb_status hb_drift_terms(hb_context *alone, const hb_trainer *trainer, const hb_points *points,
                         double *F, double *jacobian, double *left);

#endif
