/* heatball/certify.h: how far a score is from solving its equation, where, and by which test.
 * First tier: for users.
 *
 * A score s(x,tau) of anybody's, a network's or a formula's, is held against rows that it has not
 * seen. Every line of the certificate is a number that is 0 for the score of the rows' true
 * distribution, with its error and a p-value; the tests are unbiased, so that the true score passes
 * at the stated level whatever the settings are:
 *     residual, residual size     the heat-ball identity of the score at noised rows
 *     stein scale, width, mean    E[(s - s*) phi] = 0 for phi = s, x - mean, constants; s* by
 *                                 Stein's identity
 *     stein local                 the same for all phi of a kernel: faults in one place
 *     curl                        the antisymmetric part of the Jacobian
 *     samples, likelihood         rows carried to tau_max and back by the probability flow
 *     memorisation                training rows fit better than rows that were held out
 *     truth                       the exact score at 64 points where it is known
 * docs/explanation/certificates.md has the formulas, what each line finds, and how often.
 *
 *     hb_certify(ctx, NULL, 2, n, x, score, user, &certificate);
 *     printf("%s\n", hb_certificate_summary(certificate)); */
#ifndef HEATBALL_CERTIFY_H
#define HEATBALL_CERTIFY_H

#include <heatball/generate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* out[n][dim], a score, or out[n], a log-density or a divergence, at x[n][dim] and tau[n]. A
 * non-zero return is an error. Called from the calling thread, with at most 16384 points at a
 * time. */
typedef int (*hb_certify_callback)(void *user, size_t n, const double *x, const double *tau,
                                   double *out);

typedef struct hb_certify_settings {
    size_t size; /* set by hb_certify_settings_default */
    int process; /* hb_process; default OU */
    /* HB_PROCESS_DRIFT: F, without t. With an initial density, which must be that of the rows, it
     * is solved for the truth at points. */
    const hb_problem *drift;
    double tau_min,
        tau_max;       /* where the score is known; NaN (default): 1e-3 and 3, or the model's */
    const double *tau; /* [n_tau], within these; NULL (default): of 0.02, 0.1, 0.3, 1 */
    uint64_t n_tau;    /* at most 16 */
    uint64_t rows;     /* so many of the rows at most; 100 to 5000, default 1000 */
    int pairs;         /* of nodes of a heat ball, in each of two independent halves; default 16 */
    double time_fraction;  /* F: r^2 = 4 pi F (tau - tau_min); default 0.3 */
    uint64_t flow_samples; /* rows carried along the probability flow; 0: none; default 500 */
    /* [n_training][dim], rows that the score was made from; NULL (default): not known */
    const double *training;
    uint64_t n_training;
    const hb_mixture *truth; /* the distribution of the rows; NULL (default): not known */
    /* with the same user; NULL (default): none. Instead of a score, or beside it */
    hb_certify_callback log_density;
    hb_certify_callback divergence; /* of the score; NULL (default): by differences */
    double tolerance;               /* relative effect that is accepted, 0 (default) to 1 */
    double level;                   /* of all verdicts together; default 0.95 */
    uint64_t seed;                  /* default 1 */
    const char *name, *data_name;   /* for the page; NULL (default): "the score", "the rows" */
    /* Seconds; 0 (default): no limit. The lines that are measured by then make the certificate, the
     * others are skipped lines, and it is not passed; HB_ERROR_NUMERICAL if there is none. A
     * callback under way is waited for, and gets fewer points at a time: what it takes about a
     * quarter of a second for. */
    double max_time;
} hb_certify_settings;

HB_API void hb_certify_settings_default(size_t size, hb_certify_settings *settings);
HB_API const hb_setting *hb_certify_setting(size_t index);

typedef enum hb_verdict {
    HB_VERDICT_HOLDS,
    /* beyond chance, all lines counted (Holm), or beyond the tolerance where nothing is random */
    HB_VERDICT_FAILS,
    HB_VERDICT_SKIPPED /* not measured; the text says why */
} hb_verdict;

/* Texts live as long as the certificate. */
typedef struct hb_certificate_line {
    const char *name;
    double tau; /* NaN: of no single tau */
    double value,
        error; /* NaN: none. Relative effects but for the likelihood (nats) and the samples (mmd) */
    double p_value;   /* of no effect beyond the tolerance; NaN: nothing is random, or skipped */
    int verdict;      /* hb_verdict */
    const char *text; /* what is wrong and where, or what was seen, in words */
} hb_certificate_line;

typedef struct hb_certificate hb_certificate; /* destroy it before its context */

/* Certifies a score (NULL: the gradient of settings->log_density by differences) with rows
 * x[n][dim] that it has not seen, n >= 100. The rows are read until the call returns, all else is
 * copied. HB_ERROR_CALLBACK: a callback reported failure; HB_ERROR_NUMERICAL: a value is not finite
 * where rows are. */
HB_API hb_status hb_certify(hb_context *context, const hb_certify_settings *settings, int dim,
                            size_t n, const double *x, hb_certify_callback score, void *user,
                            hb_certificate **out);
/* The same of a model, at a label (-1: none), with rows in the units of its data; process, drift,
 * log_density and divergence are the model's own, but a drift of the settings is taken for its
 * initial density. */
HB_API hb_status hb_certify_model(hb_context *context, const hb_model *model,
                                  const hb_certify_settings *settings, int label, size_t n,
                                  const double *x, hb_certificate **out);
HB_API void hb_certificate_destroy(hb_certificate *certificate);

/* 1: no line fails, and max_time left none out. */
HB_API int hb_certificate_passed(const hb_certificate *certificate);
HB_API const char *hb_certificate_summary(const hb_certificate *certificate); /* one sentence */
HB_API size_t hb_certificate_size(const hb_certificate *certificate);         /* lines */
HB_API hb_status hb_certificate_line_get(hb_context *context, const hb_certificate *certificate,
                                         size_t index, size_t size, hb_certificate_line *out);
/* All lines as one JSON object, to be released with hb_context_release. */
HB_API hb_status hb_certificate_json(hb_context *context, const hb_certificate *certificate,
                                     char **out);
/* The names of the files that hb_certificate_save may write: 0 certificate.json, 1
 * certificate.html, then .svg, .gp and .plot.csv of each figure; NULL beyond the last. */
HB_API const char *hb_certificate_file(size_t index);
/* Writes certificate.html, certificate.json and figures into the directory, which is made when it
 * is not there. A directory with files of these names but without a certificate.json is refused. */
HB_API hb_status hb_certificate_save(hb_context *context, const hb_certificate *certificate,
                                     const char *directory);

#ifdef __cplusplus
}
#endif
#endif
