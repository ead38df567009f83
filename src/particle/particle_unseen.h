/* particle/particle_unseen.h: what trajectories that are too rare to be seen may change. */
#ifndef HB_PARTICLE_PARTICLE_UNSEEN_H
#define HB_PARTICLE_PARTICLE_UNSEEN_H

#include "particle/particle_pilot.h"

size_t hb_unseen_work(size_t d); /* doubles */

/* Errors of the density, relative, and the score, out[1 + d], of so many samples, where the density
 * is e^log_u with this score[d]; 0 where all nodes are seen. work: hb_unseen_work. */
hb_status hb_unseen_errors(const hb_particle_task *task, hb_context *alone,
                           const hb_particle_kernel *kernel, double log_u, const double *score,
                           double samples, double *out, double *work);

#endif
