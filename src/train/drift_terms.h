/* train/drift_terms.h: the drift at points, and what a model's reference leaves of the
 * Fokker-Planck equation there. */
#ifndef HB_TRAIN_DRIFT_TERMS_H
#define HB_TRAIN_DRIFT_TERMS_H

#include "train/trainer.h"

/* At n points of the model, on this thread: F (n, dim), and of v_ref
 *     source (n) = d_tau v - Lap v - |grad v|^2 + F.grad v + div F,
 * which is 0 for OU and VE. */
hb_status hb_drift_sources(hb_context *alone, const hb_trainer *trainer, const hb_points *points,
                           double *F, double *source);
/* The same for scores: F, its Jacobian (n, dim, dim) and the gradient of the source (n, dim). */
hb_status hb_drift_vector_sources(hb_context *alone, const hb_trainer *trainer,
                                  const hb_points *points, double *F, double *jacobian,
                                  double *source);

#endif
