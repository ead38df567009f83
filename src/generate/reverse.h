/* generate/reverse.h: what the samplers share: levels of the process, the prior, calls of the
 * score.
 *
 * x(tau) given x(0) is Gaussian with mean a x(0) and variance b; sigma = sqrt(b)/a is its noise in
 * the frame y = x/a, where the process is plain Brownian motion, dy = sqrt(d sigma^2) noise. */
#ifndef HB_GENERATE_REVERSE_H
#define HB_GENERATE_REVERSE_H

#include "base/context.h"
#include "base/memory.h"
#include "random/streams.h"

#include <heatball/generate.h>

static const double HB_TAU_MIN = 1e-3, HB_TAU_MAX = 3; /* of settings that leave them open */

enum { HB_FLOW_ROWS = 1024, HB_CALL_ROWS = 16384 };

/* Streams: the step (0: the start), then the use. */
#define HB_GENERATE_USES 12 /* bits; use 0: the predictor, k: the k-th corrector step */

/* ---- levels (time_levels.c) ---- */

typedef struct hb_level {
    double tau, a, b, sigma;
} hb_level;

hb_level hb_level_at(hb_process process, double tau);
hb_level hb_level_of_sigma(hb_process process, double sigma);
/* levels[n_steps + 1] from tau_max to tau_min: geometric in tau; or even in sigma^(1/rho) (EDM). */
void hb_levels_geometric(const hb_generate_settings *settings, hb_level *levels);
void hb_levels_edm(const hb_generate_settings *settings, hb_level *levels);

/* ---- the law at tau_max (prior.c) ---- */

typedef struct hb_prior {
    hb_context *context;
    size_t dim;
    double sd;        /* of every coordinate where there is no covariance */
    double *mean;     // (dim)
    double *cholesky; // (dim, dim), lower, row by row; NULL: none
    hb_workspace work;
} hb_prior;

hb_status hb_prior_create(hb_context *context, const hb_generate_settings *settings, int dim,
                          hb_prior *out);
void hb_prior_destroy(hb_prior *prior);
/* Draws first .. first+n-1, x(n, dim). */
hb_status hb_prior_draw(const hb_prior *prior, hb_context *quiet, uint64_t seed, uint64_t first,
                        size_t n, double *x);
/* Adds ln p(x) to out[n]; x(n, dim) is destroyed. */
hb_status hb_prior_add_log_density(const hb_prior *prior, size_t n, double *x, double *out);

/* ---- a run (generate.c) ---- */

typedef struct hb_reverse {
    hb_context *context;
    hb_context *quiet; /* the same without progress, for loops inside a step */
    const hb_generate_settings *settings;
    const char *what;    /* for the progress */
    size_t dim, n;       /* n: samples that are asked for, the total of the progress */
    size_t start;        /* the batch's first sample */
    size_t done, wanted; /* samples that are finished, and that are being carried */
    hb_score_callback score;
    hb_divergence_callback divergence; /* instead of score, for likelihoods */
    void *user;
    const double *shift;      // (dim): the data are shift + scale x; NULL: they are x
    const double *scale;      // (dim), with shift
    const int *labels;        // (n) of the samples, or NULL
    const int *row_labels;    // of the rows that a call of the score gets, or NULL
    const uint64_t *row_keys; // of the values that these rows had at first, or NULL
} hb_reverse;

/* The run of checked settings: samples first .. first+n-1 into x(n, dim). */
hb_status hb_reverse_generate(hb_reverse *run, uint64_t first, double *x);
/* ln p of x(n, dim) at tau_min into out[n]. */
hb_status hb_reverse_likelihood(hb_reverse *run, const double *x, double *out);

/* score(n, dim), and divergence(n) where the run has that callback, at x(n, dim), checked. */
hb_status hb_reverse_ask(const hb_reverse *run, size_t n, const double *x, double tau,
                         double *score, double *divergence);
/* Progress: this batch is done to `share`. */
hb_status hb_reverse_progress(const hb_reverse *run, double share);
/* Refuses what is out of range by the rows of generate_settings.c. */
hb_status hb_generate_settings_check(hb_context *context, const hb_generate_settings *settings);
/* Checks the settings and copies them to *out with tau_min and tau_max in the place of NaN. */
hb_status hb_generate_resolve(hb_context *context, const hb_generate_settings *settings, int dim,
                              double tau_min, double tau_max, hb_generate_settings *out);
/* The settings of a caller's callback into a run that has n, the callback and its user. */
hb_status hb_reverse_start(hb_context *context, const hb_generate_settings *settings, int dim,
                           hb_generate_settings *resolved, hb_reverse *run);
hb_status hb_generate_check_range(hb_context *context, int dim, uint64_t first, size_t n);

/* The samplers: x(rows, dim), samples first .. of the law at tau_max, become those at tau_min. */
hb_status hb_reverse_sde(const hb_reverse *run, uint64_t first, size_t rows, double *x);
hb_status hb_reverse_heun(const hb_reverse *run, size_t rows, double *x);

/* Carries x(rows, dim) along the probability-flow ODE from one level to another, either way;
 * sum(rows), when not NULL, becomes the integral of the divergence of dx/dlevel. Every row by itself. */
hb_status hb_flow_integrate(hb_reverse *run, hb_level from, hb_level to, size_t rows, double *x,
                            double *sum);

/* x = keep x + push other + spread noise, in parallel over rows; noise: the normals of rows first
 * .. of the stream, none with spread 0. */
typedef struct hb_affine {
    double keep, push, spread;
    uint64_t stream;
} hb_affine;
hb_status hb_affine_step(const hb_reverse *run, const hb_affine *step, uint64_t first, size_t rows,
                         const double *other, double *x);

#endif
