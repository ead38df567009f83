/* particle/particle_pilot.h: the pilot run chooses the kernel of each point and the step. */
#pragma once

#include "particle/particle_ensemble.h"
#include "particle/particle_kernel.h"

#include <heatball/solve.h>

enum { HB_PILOT_BATCHES = 128, HB_MOST_RULES = 64, HB_ROOT_DIM = 4, HB_HIGH_DIM = 6 };

/* What particles are made from, and for what. */
typedef struct hb_particle_task {
    hb_context *context;
    const hb_problem *problem;
    double tau;
    size_t dim, n;
    const double *points;   // (n, dim)
    double samples;         /* trajectories that the step is chosen for */
    double asked;           /* trajectories that are to be made */
    double density_error;   /* wanted; 0: none */
    hb_linear_drift linear; /* A = NULL when the drift is not linear */
    hb_given_paths given;   /* n_paths = 0: none */
    double order;           /* weak order of the steps: 2, less where the drift kinks or jumps */
    uint64_t seed;
} hb_particle_task;

/* Rules that compete. */
typedef struct hb_particle_rules {
    int n;
    hb_particle_rule rule[HB_MOST_RULES];
    size_t n_times;
    double *times;                                 // (n_times), tau, rising
    size_t snapshot[HB_MOST_RULES][HB_RULE_NODES]; /* into times */
} hb_particle_rules;

/* Rules for the settings; times is released by the caller. */
hb_status hb_pilot_rules(const hb_particle_task *task, const hb_sampling_settings *settings,
                         hb_particle_rules *out);
/* times and snapshot from the rules that are used[n] (NULL: all). */
hb_status hb_pilot_times(const hb_particle_task *task, const unsigned char *used,
                         hb_particle_rules *rules);

/* kernels[n], which rule won, winner[n], and what too rare trajectories may change,
 * unseen[n][1 + dim]. The times of rules are then those of the winners alone. */
hb_status hb_pilot_compete(const hb_particle_task *task, hb_particle_rules *rules, double step,
                           hb_particle_kernel *kernels, int *winner, double *unseen);

/* The step of Heun's scheme for these kernels; *bias: its estimated part of the standard error.
 * known[n][1 + dim]: what it leaves in the density, relative, and in the score. */
hb_status hb_pilot_step(const hb_particle_task *task, const hb_particle_rules *rules,
                        const hb_particle_kernel *kernels, double *step, double *bias,
                        double *known);

/* Differences between the rule, means[0], and the coarser one, means[1], which they replace. */
void hb_pilot_differ(size_t d, int lift, size_t units, hb_kernel_means means[2], double *sums);

/* hb_kernel_start for batches first .. first+units-1, if the kernel is from_start; *start: out, or
 * NULL if it is not. work: hb_pilot_start_work doubles. */
hb_status hb_pilot_start(const hb_particle_task *task, hb_context *alone, size_t point,
                         const hb_particle_kernel *kernel, uint64_t seed, uint64_t first,
                         size_t units, const hb_kernel_means *out, const hb_kernel_means **start,
                         double *work);
size_t hb_pilot_start_work(size_t d);

/* The largest |F - b - A(x - x0)| within three widths sqrt(2 tau) of a point, along the axes. */
hb_status hb_pilot_rest(const hb_particle_task *task, hb_context *alone, const double *x0,
                        const double *b, const double *A, double *out);

/* Trajectories in a batch of the pilot. */
size_t hb_pilot_batch(const hb_particle_task *task, size_t n_times);

/* ---- particle_unseen.c ---- */

size_t hb_unseen_work(size_t d); /* doubles */

/* Errors of the density, relative, and the score, out[1 + d], of so many samples, where the density
 * is e^log_u with this score[d]; 0 where all nodes are seen. work: hb_unseen_work. */
hb_status hb_unseen_errors(const hb_particle_task *task, hb_context *alone,
                           const hb_particle_kernel *kernel, double log_u, const double *score,
                           double samples, double *out, double *work);

/* ---- path_check.c: are trajectories of the user those of the problem? ---- */

typedef struct hb_path_verdict {
    double p_noise, p_drift; /* probabilities of such a mismatch by chance, all tests together */
    double noise;            /* variance of the increments over the model's, the furthest from 1 */
    double drift; /* how far a mismatch of the drift has moved paths, in deviations of their ends */
    double flag;  /* relative error of a density that a mismatch which is no chance stands for */
} hb_path_verdict;

/* Compares increments with the model's from the same positions; refuses paths of another model. */
hb_status hb_path_check(hb_context *context, const hb_problem *problem, const hb_given_paths *given,
                        uint64_t seed, const hb_linear_drift *linear, hb_path_verdict *out);
