/* generate/reverse.h: what the samplers share: levels of the process, the prior, calls of the
 * score.
 *
 * x(tau) given x(0) is Gaussian with mean a x(0) and variance b; sigma = sqrt(b)/a is its noise in
 * the frame y = x/a, where the process is plain Brownian motion, dy = sqrt(d sigma^2) noise.
 *
 * A drift F of the user has the levels of VE, and F goes into the steps beside the score: backward,
 *     SDE   dx = 2 (s - F/2) |dtau| + sqrt(2) dW,      ODE   dx = (s - F) |dtau|,
 * are those of VE with s - F/2 and s - F in the place of s. Their steps are of order 2 for any such
 * field; only that D is a posterior mean is lost. */
#pragma once

#include "base/context.h"
#include "base/memory.h"
#include "random/streams.h"

#include <heatball/generate.h>

static const double HB_TAU_MIN = 1e-3, HB_TAU_MAX = 3, HB_TOLERANCE = 1e-5; /* where left open */

enum { HB_CALL_ROWS = 16384, HB_MOST_PROBES = 16384 };

/* Streams: the step (0: the start), then the use. */
#define HB_GENERATE_USES 12 /* bits; use 0: the predictor, k: the k-th corrector step */

/* ---- levels (time_levels.c) ---- */

typedef struct hb_level {
    double tau, a, b, sigma;
} hb_level;

hb_level hb_level_at(hb_process process, double tau);
hb_level hb_level_of_sigma(hb_process process, double sigma);
/* levels[n_steps + 1] from tau_max to tau_min: geometric in tau; or even in sigma^(1/rho) (EDM).
 * Under a drift both are even in ln tau + tau/detail. */
void hb_levels_geometric(const hb_generate_settings *settings, hb_level *levels);
void hb_levels_edm(const hb_generate_settings *settings, hb_level *levels);
/* What ln tau + tau/detail grows by: the least number of steps. */
double hb_levels_length(const hb_generate_settings *settings);

/* ---- the distribution at tau_max (prior.c) ---- */

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
/* Draws first .. first+n-1, x(n, dim). */
hb_status hb_prior_draw(const hb_prior *prior, hb_context *quiet, uint64_t seed, uint64_t first,
                        size_t n, double *x);
/* Adds ln p(x) to out[n]; x(n, dim) is destroyed. */
hb_status hb_prior_add_log_density(const hb_prior *prior, size_t n, double *x, double *out);
/* grad ln p, in the place of what that left in x(n, dim). */
hb_status hb_prior_gradient(const hb_prior *prior, size_t n, double *x);
/* Replaces it by the Gaussian that fits the score at tau_max (prior_fit.c). */
struct hb_reverse;
hb_status hb_prior_fit(const struct hb_reverse *run, hb_prior *prior);

/* ---- a run (generate.c) ---- */

/* How a run gets the divergence of a score without one (score_trace.c). */
typedef struct hb_score_trace {
    int probes;          /* random directions; 0: all axes */
    int wide;            /* differences of order 4 */
    double step;         /* of the differences, in lengths of the score */
    double eta;          /* rounding of the score, times that length */
    size_t points;       /* of a call */
    double *x, *s;       // (points, dim)
    double *sign;        // (probes, dim): those of one row
    uint32_t *words;     // their bits
    uint64_t signed_key; /* that row's */
    int has_signs;
    hb_workspace work;
} hb_score_trace;

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
    hb_score_trace *trace;             /* in its place where there is only a score, or NULL */
    size_t sums;   /* divergences of a row whose mean counts: 1, or one of each set of probes */
    int by_probes; /* they are estimates */
    /* Likelihoods whose tolerance is left open: nats by which ln p is off anyway; 0: the tolerance
     * counts alone. */
    double accepted;
    int fits; /* the distribution at tau_max is fitted to the score there */
    void *user;
    const double *shift;      // (dim): the data are shift + scale x; NULL: they are x
    const double *scale;      // (dim), with shift
    const int *labels;        // (n) of the samples, or NULL
    const int *row_labels;    // of the rows that a call of the score gets, or NULL
    const uint64_t *row_keys; // of the values that these rows had at first, or NULL
    /* Where paths have been: rows that leave it are put back. NULL: everywhere. */
    void (*range)(const void *user, double tau, double *low, double *high);
    double *inside, *low, *high; // (HB_CALL_ROWS, dim), (dim), (dim): scratch, with range
} hb_reverse;

/* The run of checked settings: samples first .. first+n-1 into x(n, dim). */
hb_status hb_reverse_generate(hb_reverse *run, uint64_t first, double *x);
/* ln p of x(n, dim) at tau_min into out[n], and error[n][2] unless NULL: standard error of probes,
 * bound. */
hb_status hb_reverse_likelihood(hb_reverse *run, const double *x, double *out, double *error);

/* ---- the drift (drift_field.c) ---- */

/* F(n, dim) of the process at x(n, dim), and its divergence(n) unless NULL. */
hb_status hb_reverse_drift(const hb_reverse *run, size_t n, const double *x, double tau, double *F,
                           double *divergence);
/* score(n, dim) -= part F at x(n, dim) under a drift of the user; F: scratch (n, dim), NULL
 * otherwise. */
hb_status hb_reverse_lean(const hb_reverse *run, size_t n, const double *x, double tau, double part,
                          double *F, double *score);
/* x(n, dim), or the nearest points of the run's range, in its scratch. */
const double *hb_reverse_inside(const hb_reverse *run, size_t n, const double *x, double tau);
/* The same in place: rows of x(n, dim) that are beyond the range go to its border. */
void hb_reverse_keep(const hb_reverse *run, size_t n, double tau, double *x);
int hb_reverse_leans(const hb_reverse *run);
/* 2 tau, or less where the distribution has finer details: the scale of a Langevin step. */
double hb_reverse_fineness(const hb_generate_settings *settings, hb_level level);
/* Refuses a drift that cannot be turned back. */
hb_status hb_generate_check_drift(hb_context *context, const hb_generate_settings *settings,
                                  int dim);
/* The detail of settings that leave it open, from draws of the distribution at tau_max. */
hb_status hb_reverse_find_detail(const hb_reverse *run, const hb_prior *prior, double *detail);

/* ---- draws in the place of the Gaussian (end_points.c) ---- */

/* Starts of samples first .. first+rows-1: x(rows, dim). */
hb_status hb_ends_draw(const hb_reverse *run, const hb_prior *prior, uint64_t first, size_t rows,
                       double *x);
/* Adds ln p(x, tau_max) to out[n]; x(n, dim) is destroyed. */
hb_status hb_ends_add_log_density(const hb_reverse *run, const hb_prior *prior, size_t n, double *x,
                                  double *out);

/* ---- Langevin's steps with Metropolis' rule (metropolis.c) ---- */

/* value(n), ln of the density, and gradient(n, dim) at x(n, dim). */
typedef hb_status (*hb_metropolis_target)(void *user, size_t n, const double *x, double *value,
                                          double *gradient);
typedef struct hb_metropolis {
    hb_context *context;
    hb_metropolis_target target;
    void *user;
    int adjusted; /* 0: every step is accepted */
    size_t n, dim;
    uint64_t seed, first; /* first: number of row 0 */
    double step;
    double *x;                        // (n, dim), the caller's
    double *value, *gradient;         // (n), (n, dim) at x
    double *y, *value_y, *gradient_y; // where a step may lead
    double *noise, *uniform;          // (n, dim), (n)
    hb_workspace work;
} hb_metropolis;
/* Scratch (in work) of a struct whose first fields are set. The caller fills value and gradient at
 * x before the first move and whenever the target is another one. */
hb_status hb_metropolis_create(hb_metropolis *m);
/* One step of all rows: normals of `stream`, uniforms of the next. */
hb_status hb_metropolis_move(hb_metropolis *m, uint64_t stream);

/* ---- */

/* score(n, dim), and divergence(n, sums) where the run has that callback, at x(n, dim), checked. */
hb_status hb_reverse_ask(const hb_reverse *run, size_t n, const double *x, double tau,
                         double *score, double *divergence);
/* Progress: this batch is done to `share`. */
hb_status hb_reverse_progress(const hb_reverse *run, double share);
/* Refuses what is out of range by the rows of generate_settings.c. */
hb_status hb_generate_settings_check(hb_context *context, const hb_generate_settings *settings);
/* The caller's settings, of any length that there was, over the defaults. */
hb_status hb_generate_settings_read(hb_context *context, const hb_generate_settings *given,
                                    hb_generate_settings *out);
/* Checks the settings and copies them to *out with tau_min and tau_max in the place of NaN. */
hb_status hb_generate_resolve(hb_context *context, const hb_generate_settings *settings, int dim,
                              double tau_min, double tau_max, hb_generate_settings *out);
/* The settings of a caller's callback into a run that has n, the callback and its user. */
hb_status hb_reverse_start(hb_context *context, const hb_generate_settings *settings, int dim,
                           hb_generate_settings *resolved, hb_reverse *run);
hb_status hb_generate_check_range(hb_context *context, int dim, uint64_t first, size_t n);

/* The samplers: x(rows, dim), samples first .. of the distribution at tau_max, become those at
 * tau_min. */
hb_status hb_reverse_sde(const hb_reverse *run, uint64_t first, size_t rows, double *x);
hb_status hb_reverse_heun(const hb_reverse *run, size_t rows, double *x);

/* Rows that are carried together. */
size_t hb_flow_rows(const hb_reverse *run);
/* Carries x(rows, dim) along the probability-flow ODE from one level to another, either way;
 * sum(rows, sums), when not NULL, becomes the integral of the divergence of dx/dlevel, and
 * error(rows), which may be NULL, how far ln p may be off by the steps and the differences. Every
 * row by itself. */
hb_status hb_flow_integrate(hb_reverse *run, hb_level from, hb_level to, size_t rows, double *x,
                            double *sum, double *error);

/* ---- the divergence of a score (score_trace.c) ---- */

/* Scratch for so many probes (0: all axes); the run has it from then on. */
hb_status hb_trace_create(hb_reverse *run, int probes, hb_score_trace *out);
/* The length of the differences from this level on. */
hb_status hb_trace_begin(hb_reverse *run, hb_level level);
/* score(n, dim) and its divergences sum(n, sums) at x(n, dim), however the run gets them; off(n),
 * unless NULL: by how much their mean may be off. */
hb_status hb_reverse_trace(const hb_reverse *run, size_t n, const double *x, hb_level level,
                           double *score, double *sum, double *off);

/* x = keep x + push other + spread noise, in parallel over rows; noise: the normals of rows first
 * .. of the stream, none with spread 0. */
typedef struct hb_affine {
    double keep, push, spread;
    uint64_t stream;
} hb_affine;
hb_status hb_affine_step(const hb_reverse *run, const hb_affine *step, uint64_t first, size_t rows,
                         const double *other, double *x);
