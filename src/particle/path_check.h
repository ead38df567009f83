/* particle/path_check.h: are trajectories of the user those of the problem? */
#ifndef HB_PARTICLE_PATH_CHECK_H
#define HB_PARTICLE_PATH_CHECK_H

#include "particle/particle_ensemble.h"

typedef struct hb_path_verdict {
    double p_noise, p_drift; /* probabilities of such a mismatch by chance, all tests together */
    double noise;            /* variance of the increments over the model's, the furthest from 1 */
    double drift; /* how far a mismatch of the drift has moved paths, in deviations of their ends */
    double flag;  /* relative error of a density that a mismatch which is no chance stands for */
} hb_path_verdict;

/* Compares increments with the model's from the same positions; refuses paths of another model. */
hb_status hb_path_check(hb_context *context, const hb_problem *problem, const hb_given_paths *given,
                        uint64_t seed, const hb_linear_drift *linear, hb_path_verdict *out);

#endif
