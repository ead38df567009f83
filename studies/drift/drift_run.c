/* One run: rows of the start, a training, and what came of it.
 *
 *     error      mean |s - grad ln u|^2 over the draws of the truth, and over the fifth with the
 *                lowest density; s and x in the units of the process (nothing is standardised)
 *     residual   root mean square over draws of the scaled mean-value residual 4 R_r/(C1 r^2) of v
 *                = ln u, r^2 = pi tau/2 (the ball reaches back by tau/8). In the plane by cubature
 *                of degree 4; above by pairs, the variance of the averages taken off, so that it
 *                can come out as 0
 *     mass, line in the plane at tau = 0.3: the integral of e^v over the box, by the trapezoidal
 *     rule, and
 *                e^v along the line divided by it
 * Must reproduce: the residual of the exact ln u is 0 for every tau, so a model without error has
 * none. */
#include "drift.h"

#include <heatball/estimate.h>

#include <math.h>
#include <stdlib.h>

const char *hb_drift_value_name(int index, char buffer[32])
{
    if (index < DRIFT_RESIDUAL)
        snprintf(buffer, 32, "mse_%s_tau%g", hb_drift_regions[index % DRIFT_REGIONS],
                 hb_drift_taus[index / DRIFT_REGIONS]);
    else if (index < DRIFT_MASS)
        snprintf(buffer, 32, "residual_tau%g", hb_drift_taus[index - DRIFT_RESIDUAL]);
    else
        snprintf(buffer, 32, "mass_tau%g", hb_drift_taus[DRIFT_TAU_TABLE]);
    return buffer;
}

/* ---- training ---- */

static hb_status train(hb_context *context, const hb_comparison *result, const hb_problem *process,
                       hb_trial *run, hb_model **model)
{
    const hb_drift_size *size = hb_drift_size_of(result);
    const size_t rows = (size_t)size->rows;
    const int dim = hb_drift_processes[run->set].dim;
    hb_train_settings settings;
    hb_compare_train_settings(result, run, size->width, &settings);
    settings.process = HB_PROCESS_DRIFT;
    settings.drift = process;
    settings.tau_max = size->tau_max;
    void *data;
    HB_TRY(hb_study_allocate(context, rows * (size_t)dim, sizeof(double), &data));
    hb_status status = hb_problem_initial_sample(context, process, run->seed, 0, rows, data);
    const double start = hb_cells_seconds();
    if (status == HB_OK) status = hb_train(context, &settings, dim, 0, rows, data, NULL, model);
    run->seconds = hb_cells_seconds() - start;
    free(data);
    return status;
}

/* ---- judging ---- */

/* tau: (n), of one value; score: (n, dim). */
static hb_status judge_error(hb_context *context, const hb_model *model,
                             const hb_drift_truth *truth, size_t d, int k, double *scratch,
                             double value[DRIFT_REGIONS])
{
    const size_t n = truth->n, first = (size_t)k * n;
    double *tau = scratch, *score = tau + n, sum[2] = {0};
    size_t count = 0;
    for (size_t i = 0; i < n; i++) tau[i] = hb_drift_taus[k];
    HB_TRY(hb_model_score(context, model, n, truth->x + first * d, tau, NULL, score));
    for (size_t i = 0; i < n; i++) {
        double miss = 0;
        for (size_t c = i * d; c < (i + 1) * d; c++)
            miss += pow(score[c] - truth->score[first * d + c], 2);
        sum[0] += miss;
        sum[1] += truth->low[first + i] ? miss : 0;
        count += truth->low[first + i] != 0;
    }
    value[0] = sum[0] / (double)n;
    value[1] = sum[1] / (double)count;
    return HB_OK;
}

static hb_status judge_residual(hb_context *context, const hb_drift_size *size,
                                const hb_problem *process, const hb_model *model,
                                const hb_drift_truth *truth, int k, double *scratch, double *value)
{
    const size_t n = size->anchors < truth->n ? size->anchors : truth->n;
    const size_t d = (size_t)hb_problem_dim(process);
    const double tau = hb_drift_taus[k], radius = sqrt(M_PI * tau / 2);
    double *scaled = scratch, *se = scaled + n, sum = 0;
    hb_field field;
    hb_mean_settings settings;
    hb_mean_settings_default(sizeof settings, &settings);
    settings.degree = d <= 3 ? 4 : -1;
    settings.samples = size->pairs;
    HB_TRY(hb_model_field(context, model, &field));
    HB_TRY(hb_mean_residual(context, process, &field, &settings, n, 1,
                            truth->x + (size_t)k * truth->n * d, tau, &radius,
                            &(hb_residual_values){.size = sizeof(hb_residual_values),
                                                  .scaled = scaled,
                                                  .scaled_se = se}));
    for (size_t i = 0; i < n; i++) sum += scaled[i] * scaled[i] - (d <= 3 ? 0 : se[i] * se[i]);
    *value = sqrt(fmax(0, sum / (double)n));
    return HB_OK;
}

/* The integral of e^v over the box at tau = 0.3; scratch: (lattice^2, 4). */
static hb_status mass_of(hb_context *context, const hb_drift_size *size, const hb_model *model,
                         int problem, double *scratch, double *mass)
{
    const hb_drift_process *p = &hb_drift_processes[problem];
    const size_t side = (size_t)size->lattice, n = side * side;
    const double hx = (p->high[0] - p->low[0]) / (double)(side - 1);
    const double hy = (p->high[1] - p->low[1]) / (double)(side - 1);
    double *x = scratch, *tau = x + 2 * n, *v = tau + n;
    for (size_t i = 0; i < n; i++) {
        x[2 * i] = p->low[0] + hx * (double)(i % side);
        x[2 * i + 1] = p->low[1] + hy * (double)(i / side);
        tau[i] = hb_drift_taus[DRIFT_TAU_TABLE];
    }
    HB_TRY(hb_model_log_density(context, model, n, x, tau, NULL, v, NULL));
    *mass = 0;
    for (size_t i = 0; i < n; i++) *mass += hx * hy * exp(v[i]);
    return HB_OK;
}

static hb_status judge_line(hb_context *context, const hb_drift_size *size, const hb_model *model,
                            double *scratch, hb_trial *run)
{
    double x[2 * DRIFT_LINE], tau[DRIFT_LINE], mass, *line = hb_drift_line_of(run);
    HB_TRY(mass_of(context, size, model, run->set, scratch, &mass));
    hb_drift_line(run->set, x);
    for (int k = 0; k < DRIFT_LINE; k++) tau[k] = hb_drift_taus[DRIFT_TAU_TABLE];
    HB_TRY(hb_model_log_density(context, model, DRIFT_LINE, x, tau, NULL, line, NULL));
    for (int k = 0; k < DRIFT_LINE; k++) line[k] = exp(line[k]) / mass;
    run->value[DRIFT_MASS] = mass;
    return HB_OK;
}

static hb_status judge(hb_context *context, const hb_drift_size *size, const hb_problem *process,
                       const hb_model *model, const hb_drift_truth *truth, double *scratch,
                       hb_trial *run)
{
    const size_t d = (size_t)hb_problem_dim(process);
    for (int k = 0; k < DRIFT_TAUS; k++) {
        HB_TRY(judge_error(context, model, truth, d, k, scratch,
                           &run->value[DRIFT_ERROR + DRIFT_REGIONS * k]));
        HB_TRY(judge_residual(context, size, process, model, truth, k, scratch,
                              &run->value[DRIFT_RESIDUAL + k]));
    }
    run->value[DRIFT_MASS] = NAN;
    for (int k = 0; k < DRIFT_LINE; k++) hb_drift_line_of(run)[k] = NAN;
    return d == 2 ? judge_line(context, size, model, scratch, run) : HB_OK;
}

hb_status hb_drift_do(hb_context *context, const hb_comparison *result, hb_trial *run)
{
    const hb_drift_size *size = hb_drift_size_of(result);
    const hb_drift_truth *truth = &hb_drift_truths_of(result)[run->set];
    const size_t d = (size_t)hb_drift_processes[run->set].dim;
    const size_t of_draws = truth->n * (d + 1),
                 of_lattice = 4 * (size_t)size->lattice * (size_t)size->lattice;
    hb_problem *process = NULL;
    hb_model *model = NULL;
    void *scratch;
    HB_TRY(hb_study_allocate(context, of_draws > of_lattice ? of_draws : of_lattice, sizeof(double),
                             &scratch));
    hb_status status = hb_drift_problem(context, run->set, &process);
    if (status == HB_OK) status = train(context, result, process, run, &model);
    if (status == HB_OK) status = judge(context, size, process, model, truth, scratch, run);
    hb_model_destroy(model);
    hb_problem_destroy(process);
    free(scratch);
    return status;
}
