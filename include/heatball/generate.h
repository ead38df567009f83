/* heatball/generate.h: samples from a score, by the reverse-time SDE or the probability-flow ODE.
 * First tier: for users.
 *
 * The process is dx = F dtau + sqrt(2) dW with F = -x (OU), 0 (VE) or a drift of the user, from
 * tau = 0 (data) to tau_max. Backward from tau_max:
 *     SDE   dx = (2 s - F) |dtau| + sqrt(2) dW,          s = score(x, tau)
 *     ODE   dx = (s - F) |dtau|
 * The score is any callback; a model's is one of them. docs/explanation/generation.md has the formulas of the
 * steps, the reasons, and a table of what each setting does.
 *
 *     hb_generate_settings settings;
 *     hb_generate_settings_default(sizeof settings, &settings);
 *     hb_generate(ctx, &settings, 2, 0, 1000, score, user, x); */
#ifndef HEATBALL_GENERATE_H
#define HEATBALL_GENERATE_H

#include <heatball/metrics.h>
#include <heatball/model.h>
#include <heatball/problem.h>
#include <heatball/settings.h>

#ifdef __cplusplus
extern "C" {
#endif

/* SDE: predictor and corrector on a geometric grid of tau, the ODE below det_tau. ODE: the whole
 * way with steps that each row chooses by itself. HEUN: two evaluations a step on EDM's grid. */
typedef enum hb_solver { HB_SOLVER_SDE, HB_SOLVER_ODE, HB_SOLVER_HEUN } hb_solver;

/* What is done with a sample at tau_min. NONE: nothing, it has the distribution at tau_min. MEAN:
 * the posterior mean (Tweedie), which takes all noise away and, from data with a width, also a
 * little of that. FLOW: half that way, a step of the ODE to 0, which keeps the width of data that
 * is smooth on the scale of the noise. */
typedef enum hb_denoise { HB_DENOISE_NONE, HB_DENOISE_MEAN, HB_DENOISE_FLOW } hb_denoise;

/* log_density[n] at x[n][dim]. A non-zero return is an error. */
typedef int (*hb_log_density_callback)(void *user, size_t n, const double *x, double *log_density);

typedef struct hb_generate_settings {
    size_t size;    /* set by hb_generate_settings_default */
    int solver;     /* hb_solver; default HB_SOLVER_SDE */
    int process;    /* hb_process; default OU */
    int n_steps;    /* of SDE and HEUN; default 500 (HEUN needs far fewer) */
    int n_correct;  /* SDE: Langevin steps after each step but the last; default 1 */
    double snr;     /* SDE: the corrector's step is 2 snr^2 b_tau; default 0.16 */
    double det_tau; /* SDE: the ODE takes over at the first tau <= det_tau; 0: never; 0.15 */
    double tau_min, tau_max; /* default NaN: those of the model; of hb_generate 1e-3, 3 */
    double rho;              /* HEUN: exponent of EDM's grid; default 7 */
    int denoise;             /* hb_denoise; default HB_DENOISE_FLOW */
    /* ODE: of the error of a step in every coordinate; default NaN: 1e-5, but * of
     * hb_generate_likelihood chosen by the errors that remain anyway */
    double ode_tolerance;
    /* The distribution at tau_max is taken as that of Gaussian data, N(a m, a^2 C + b I): m[dim]
     * the mean, C[dim][dim] the covariance of the data. Default NULL: 0, and the identity (OU: N(0,
     * I)); where both are NULL hb_generate_likelihood fits the Gaussian to the score at tau_max (up
     * to 512 dimensions). */
    const double *mean, *covariance;
    /* Every coordinate of the data is known to lie in [low, high]: so does the posterior mean D =
     * (x + b s)/a, and where the score says otherwise it is replaced by the one of the nearest D
     * that does, which can only be nearer to the true one. Default NaN: black and white of a model
     * of images, else none; -INFINITY, INFINITY: none. Not used by likelihoods. */
    double low, high;
    uint64_t seed; /* default 1 */
    /* HB_PROCESS_DRIFT: F, without t. Nothing carries moments of the data along it: mean and
     * covariance are then those of the distribution at tau_max itself, unless ends are given. */
    const hb_problem *drift;
    /* Draws ends[n_ends][dim] of the distribution at tau_max; sample i starts at row i mod n_ends.
     * From the second time round it continues from there by Langevin's steps with the score at
     * tau_max, accepted by Metropolis' rule where end_density is given. Default NULL: the
     * Gaussian. */
    const double *ends;
    uint64_t n_ends;
    /* ln of the distribution at tau_max, for likelihoods and for that rule, which needs no
     * constant. Default NULL: the Gaussian; none with ends. */
    hb_log_density_callback end_density;
    void *end_user;
    /* Variance of the finest details of the distribution at large tau: steps of SDE and HEUN under
     * a drift are even in ln tau + tau/detail, and there are as many at least as this grows by.
     * Default NaN: that of the model, or the lesser of the mean variance and 1/|Jacobian| over
     * draws at tau_max. */
    double detail;
} hb_generate_settings;

HB_API void hb_generate_settings_default(size_t size, hb_generate_settings *settings);
/* Row `index` of the table of these fields, in their order; NULL behind the last. */
HB_API const hb_setting *hb_generate_setting(size_t index);

/* Samples first .. first+n-1: x[n][dim]. Sample i is a function of (settings, dim, i) and the score
 * alone: bit-identical results in pieces and on any number of threads, if the score of a row does
 * not depend on the other rows. The callback is called from the calling thread, with at most 16384
 * points at a time, and may use the context and all its threads; progress is reported in samples.
 * HB_ERROR_CALLBACK: it returned non-zero; HB_ERROR_NUMERICAL: a score is not finite, or the steps
 * of the ODE became too small. */
HB_API hb_status hb_generate(hb_context *context, const hb_generate_settings *settings, int dim,
                             uint64_t first, size_t n, hb_score_callback score, void *user,
                             double *x);

/* score[n][dim] and its divergence[n] at x[n][dim] and one tau. A non-zero return is an error. */
typedef int (*hb_divergence_callback)(void *user, size_t n, const double *x, double tau,
                                      double *score, double *divergence);

/* ln p(x, tau_min)[n] in nats, of the density that the probability-flow ODE carries from the
 * distribution at tau_max (above) to tau_min, at x[n][dim]. Uses process, tau_min, tau_max,
 * ode_tolerance, mean, covariance and seed of the settings. A row is alone: bit-identical results in
 * any pieces. One callback is needed, and is called as that of hb_generate: `divergence`, which
 * knows it, with probes 0 (score may be NULL); or `score` alone (divergence NULL), whose divergence
 * is taken by differences along all axes (probes 0: 2 dim evaluations and more) or along 1 to 16384
 * random probes. error[n][2] (NULL: not wanted): the standard error by the probes (0 without,
 * infinite for one), and a bound of what the steps, the differences and the Gaussian distribution
 * at tau_max leave, estimated along each path. docs/howto/likelihoods.md. */
HB_API hb_status hb_generate_likelihood(hb_context *context, const hb_generate_settings *settings,
                                        int dim, int probes, size_t n, const double *x,
                                        hb_score_callback score, hb_divergence_callback divergence,
                                        void *user, double *log_likelihood, double *error);

/* The same of a model, in the units of its data: process, mean, covariance and drift of the
 * settings are the model's own. labels[n] (NULL: none; -1: no class). A model of a drift starts
 * from the draws at tau_max that it keeps, or from `ends` where the settings have them; its tau_max
 * is the model's, and it takes no class. */
HB_API hb_status hb_model_generate(hb_context *context, const hb_model *model,
                                   const hb_generate_settings *settings, uint64_t first, size_t n,
                                   const int *labels, double *x);
/* probes: 0, the exact divergence; else its mean over so many random probes, with an error in up to
 * 8 equal sets (above 8 rounded up to a multiple). error[n][2] as above, with that of the
 * normaliser in the bound. A model of a drift must have the energy head, whose density at tau_max
 * is normalised by hb_model_log_normaliser with the same seed. */
HB_API hb_status hb_model_likelihood(hb_context *context, const hb_model *model,
                                     const hb_generate_settings *settings, int probes, size_t n,
                                     const double *x, const int *labels, double *log_likelihood,
                                     double *error);

/* How well the network of an energy head is a density by itself, e^v at tau_min, against the
 * density that its probability flow carries there, over samples of that flow. */
typedef struct hb_density_check {
    size_t size;                              /* set by hb_model_density_check */
    size_t rows;                              /* samples that were compared */
    double tau_min;                           /* of the densities */
    double log_normaliser, log_normaliser_se; /* ln of the integral of e^v, standard error */
    double effective;                         /* fraction of the samples that count in it */
    double mean, spread; /* mean and standard deviation of v - offset - ln p, nats */
    double error_all;    /* 95 % of the samples differ by less than 1.96 of it */
    double offset; /* subtracted from v: log_normaliser; where effective < 0.5, median v - ln p */
} hb_density_check;

/* Draws `samples` samples (0: 256; at least 80) of one label (-1: none) by the probability-flow
 * ODE, and compares the two densities there: normalisation by importance sampling, and what the
 * errors of hb_model_direct_likelihood need (either may be NULL): z[samples][dim], the samples as
 * hb_model_standardise gives them, and off[samples], by how much the two densities differ there.
 * Uses tau_min, tau_max, ode_tolerance and seed of the settings. Costs as many samples and likelihoods
 * by the ODE; once for a model. */
HB_API hb_status hb_model_density_check(hb_context *context, const hb_model *model,
                                        const hb_generate_settings *settings, size_t samples,
                                        int label, size_t size, hb_density_check *out, double *z,
                                        double *off);
/* ln p(x)[n] at the check's tau_min from one pass of the network: v - offset. error[n]
 * (NULL: not wanted) from z and off of the check: 1.96 errors are the largest difference of the
 * two densities at the 20 samples nearest to x, infinite where x lies apart from all samples; and,
 * in squares, the error by the number of training samples in that region. It does not count finer
 * errors of the score. Rows whose error is too large: hb_model_likelihood. docs/howto/likelihoods.md. */
HB_API hb_status hb_model_direct_likelihood(hb_context *context, const hb_model *model, size_t n,
                                            const hb_density_check *check, const double *z,
                                            const double *off, const double *x, const int *labels,
                                            double *log_likelihood, double *error);

/* ln of the integral of e^v at the model's tau_max, v the logarithm of its density (energy head):
 * what is taken off its likelihoods, and the standard error of that. One or two dimensions: by a
 * rule on a lattice, error: its change when every second point is left out. More: by annealed
 * importance sampling from a Gaussian; HB_ERROR_NUMERICAL when too few of its draws count. 0 and 0
 * for OU and VE, whose distribution at tau_max is a Gaussian. */
HB_API hb_status hb_model_log_normaliser(hb_context *context, const hb_model *model, uint64_t seed,
                                         double *log_normaliser, double *error);

#ifdef __cplusplus
}
#endif
#endif
