/* One trial: a data set, a network or another estimate, and the errors of its log-density v.
 *
 * Data are draws of the truth with the trial's seed; those that judge are further on, the same for
 * all methods. At each tau, p the true density at tau:
 *     weights     root mean square over the modes k, weighted equally, of E_k[v - ln p] - their
 *                 mean, E_k over the draws of mode k
 *     mean, sd    of v - ln p over draws; low_: over the fifth with the lowest p at tau_min
 *     score       b E|s - grad ln p|^2
 * At tau_min, in nats per row:
 *     nll_exact, nll_pass   mean -ln p and mean -v of the draws, v less ln of its integral
 *     nll_ode     by the ODE: nll_exact + mean of ln p - ln p_ode over the first `test` draws
 *     known       fraction of these with a finite error of the one-pass likelihood; of them,
 *     covers, covers_truth   those within 1.96 errors of the ODE and of the truth */
#include "density.h"

#include <heatball/generate.h>
#include <heatball/model.h>

#include <math.h>
#include <stdlib.h>

#define TOLERANCE 1e-3 /* of the ODE */

const char *hb_density_value_name(int index, char buffer[32])
{
    static const char *const by_tau[] = {"weights", "mean", "sd", "score"};
    static const char *const names[] = {
        "low_mean", "low_sd",        "nll_pass", "nll_ode",           "nll_exact",
        "covers",   "covers_truth",  "known",    "log_normaliser",    "occupation",
        "barrier",  "barrier_exact", "spurious", "langevin_spurious", "langevin_ln_p",
        "effective"};
    if (index >= DENSITY_LOW_MEAN) return names[index - DENSITY_LOW_MEAN];
    snprintf(buffer, 32, "%s_tau%g", by_tau[index / DENSITY_TAUS],
             hb_density_taus[index % DENSITY_TAUS]);
    return buffer;
}

static hb_status fit(hb_context *context, const hb_comparison *result, const hb_mixture *truth,
                     hb_trial *trial, hb_density_estimate *out)
{
    const int most = hb_density_size_of(result)->rows, all = hb_density_sets[trial->set].rows;
    const size_t n = (size_t)(all < most ? all : most);
    hb_train_settings settings;
    void *data;
    hb_compare_train_settings(result, trial, hb_density_size_of(result)->width, &settings);
    settings.standardise = HB_STANDARDISE_NO; /* exact densities are those of the same tau */
    settings.tau_min = settings.anchor_tau_min = DENSITY_TAU_MIN;
    settings.rate *= 2; /* few steps */
    HB_TRY(hb_study_allocate(context, n * (size_t)out->dim, sizeof(double), &data));
    hb_status status = hb_density_draw(context, truth, trial->seed, 0, n, 0, data, NULL);
    const double start = hb_cells_seconds();
    if (status == HB_OK)
        status = trial->method == DENSITY_EM ? hb_density_fit_em(context, trial->seed, n, data, out)
                 : trial->method == DENSITY_KDE
                     ? hb_density_fit_kde(context, n, data, out)
                     : hb_train(context, &settings, out->dim, 0, n, data, NULL, &out->model);
    trial->seconds = hb_cells_seconds() - start;
    free(data);
    return status;
}

static double sd_of(size_t n, const double *x)
{
    double square = 0, mean = hb_study_mean(n, x);
    for (size_t i = 0; i < n; i++) square += pow(x[i] - mean, 2);
    return sqrt(square / (double)n);
}

/* The draws of one tau and what is known there; errors: of the one-pass likelihood. */
typedef struct judged {
    size_t n, d;
    double *x, *exact, *v, *off;        // (n, d), (n), (n), (n): v - ln p
    double *score[2], *errors, *sorted; // (n, d); (n); (n, 2)
    int *mode;                          // (n)
} judged;

/* The error of the log weights of modes: off by mode, less the mean over the modes. */
static void judge_weights(size_t modes, const judged *j, int k, hb_trial *trial)
{
    double off[DENSITY_MOST_MODES], count[DENSITY_MOST_MODES];
    for (size_t m = 0; m < modes; m++) off[m] = count[m] = 0;
    for (size_t i = 0; i < j->n; i++) {
        off[j->mode[i]] += j->off[i];
        count[j->mode[i]]++;
    }
    for (size_t m = 0; m < modes; m++) off[m] /= count[m];
    trial->value[DENSITY_WEIGHTS + k] = sd_of(modes, off);
}

static hb_status judge_tau(hb_context *context, const hb_mixture *truth,
                           const hb_density_estimate *estimate, int k, judged *j, hb_trial *trial)
{
    const double tau = hb_density_taus[k];
    double sum = 0;
    HB_TRY(
        hb_density_draw(context, truth, trial->seed, DENSITY_FIRST_TEST, j->n, tau, j->x, j->mode));
    HB_TRY(hb_density_exact(context, truth, j->n, j->x, tau, j->exact, j->score[0]));
    HB_TRY(hb_density_at(context, estimate, j->n, j->x, tau, j->v, j->score[1]));
    for (size_t i = 0; i < j->n; i++) j->off[i] = j->v[i] - j->exact[i];
    for (size_t i = 0; i < j->n * j->d; i++) sum += pow(j->score[1][i] - j->score[0][i], 2);
    trial->value[DENSITY_MEAN + k] = hb_study_mean(j->n, j->off);
    trial->value[DENSITY_SD + k] = sd_of(j->n, j->off);
    trial->value[DENSITY_SCORE + k] = -expm1(-2 * tau) * sum / (double)j->n;
    if (hb_density_sets[trial->set].modes) judge_weights(hb_mixture_count(truth), j, k, trial);
    return HB_OK;
}

static void judge_low(judged *j, hb_trial *trial)
{
    const size_t low = j->n / 5;
    for (size_t i = 0; i < j->n; i++)
        j->sorted[2 * i] = j->exact[i], j->sorted[2 * i + 1] = j->off[i];
    qsort(j->sorted, j->n, 2 * sizeof *j->sorted, hb_study_by_value);
    for (size_t i = 0; i < low; i++) j->errors[i] = j->sorted[2 * i + 1];
    trial->value[DENSITY_LOW_MEAN] = hb_study_mean(low, j->errors);
    trial->value[DENSITY_LOW_SD] = sd_of(low, j->errors);
}

static hb_status judge_ode(hb_context *context, size_t n, const hb_model *model,
                           const hb_generate_settings *settings, judged *j, hb_trial *trial)
{
    double *ode = j->sorted, missing = 0, known = 0, covered = 0, covered_truth = 0;
    HB_TRY(hb_model_likelihood(context, model, settings, 0, n, j->x, NULL, ode, NULL));
    for (size_t i = 0; i < n; i++) {
        const double most = 1.96 * j->errors[i];
        missing += (j->exact[i] - ode[i]) / (double)n;
        if (!isfinite(most)) continue;
        known++;
        covered += fabs(j->v[i] - ode[i]) < most;
        covered_truth += fabs(j->v[i] - j->exact[i]) < most;
    }
    trial->value[DENSITY_NLL_ODE] = trial->value[DENSITY_NLL_EXACT] + missing;
    trial->value[DENSITY_KNOWN] = known / (double)n;
    trial->value[DENSITY_COVERS] = covered / known;
    trial->value[DENSITY_COVERS_TRUTH] = covered_truth / known;
    return HB_OK;
}

/* A field that the ODE cannot follow leaves NaN. */
static hb_status judge_likelihood(hb_context *context, const hb_density_size *size,
                                  const hb_model *model, judged *j, hb_trial *trial)
{
    hb_density_check check;
    hb_generate_settings settings;
    hb_generate_settings_default(sizeof settings, &settings);
    settings.ode_tolerance = TOLERANCE;
    /* In 64 dimensions the ODE of a row costs more. */
    const size_t samples = j->d < 64 ? size->check : 96, n = j->d < 64 ? size->test : 64;
    void *memory;
    HB_TRY(hb_study_allocate(context, samples * (j->d + 1), sizeof(double), &memory));
    double *z = memory, *off = z + samples * j->d;
    hb_status status = hb_model_density_check(context, model, &settings, samples, -1, sizeof check,
                                              &check, z, off);
    if (status == HB_OK)
        status = hb_model_direct_likelihood(context, model, j->n, &check, z, off, j->x, NULL, j->v,
                                            j->errors);
    if (status == HB_OK) {
        trial->value[DENSITY_LOG_NORMALISER] = check.log_normaliser;
        trial->value[DENSITY_EFFECTIVE] = check.effective;
        trial->value[DENSITY_NLL_PASS] =
            check.log_normaliser - check.offset - hb_study_mean(j->n, j->v);
        status = judge_ode(context, n, model, &settings, j, trial);
    }
    free(memory);
    return status == HB_ERROR_NUMERICAL ? HB_OK : status;
}

static hb_status judge(hb_context *context, const hb_density_size *size, const hb_mixture *truth,
                       const hb_density_estimate *estimate, judged *j, hb_trial *trial)
{
    for (int k = DENSITY_TAUS - 1; k >= 0; k--) /* the draws at tau_min stay */
        HB_TRY(judge_tau(context, truth, estimate, k, j, trial));
    judge_low(j, trial);
    trial->value[DENSITY_NLL_EXACT] = -hb_study_mean(j->n, j->exact);
    trial->value[DENSITY_NLL_PASS] = -hb_study_mean(j->n, j->v);
    if (estimate->model) HB_TRY(judge_likelihood(context, size, estimate->model, j, trial));
    if (trial->set < DENSITY_TWO) return HB_OK;
    return hb_density_forces(context, size, truth, estimate, trial);
}

hb_status hb_density_do(hb_context *context, const hb_comparison *result, hb_trial *trial)
{
    const size_t n = hb_density_size_of(result)->judge, d = (size_t)hb_density_sets[trial->set].dim;
    hb_mixture *truth;
    hb_density_estimate estimate = {.dim = (int)d};
    void *memory;
    HB_TRY(hb_study_allocate(context, n * (3 * d + 7), sizeof(double), &memory));
    double *at = memory, *of = at + 3 * n * d; /* parts of the memory */
    judged j = {n,
                d,
                at,
                of,
                of + n,
                of + 2 * n,
                {at + n * d, at + 2 * n * d},
                of + 3 * n,
                of + 4 * n,
                (int *)(of + 6 * n)};
    for (int k = 0; k < DENSITY_VALUES + 2 * DENSITY_LINE; k++) trial->value[k] = NAN;
    hb_status status = hb_density_truth(context, trial->set, trial->seed, &truth);
    if (status == HB_OK) status = fit(context, result, truth, trial, &estimate);
    if (status == HB_OK)
        status = judge(context, hb_density_size_of(result), truth, &estimate, &j, trial);
    hb_model_destroy(estimate.model);
    hb_mixture_destroy(estimate.mixture);
    hb_mixture_destroy(truth);
    free(estimate.rows);
    free(memory);
    return status;
}
