/* One cell: a mixture, rows of it, a training, and what came of it.
 *
 * Draws 0 .. rows-1 of the mixture with the cell's seed are the data, so that 500 rows are the
 * first of the 2000; what judges the model are draws further on. All methods of a (d, family, seed)
 * see the same mixture, the same rows and the same judge.
 *
 *     error       mean |s - exact|^2 over draws at tau, over all and over the fifth with the lowest
 *                 density
 *     likelihood  mean ln p of test rows, by the probability-flow ODE with exact divergence
 * The model's law is that at tau_min = 0.001 of the training; so the test rows have that noise too,
 * and the exact density beside it is that of the mixture at the same tau. */
#include "dimension.h"

#include <heatball/generate.h>
#include <heatball/metrics.h>
#include <heatball/model.h>

#include <math.h>
#include <stdlib.h>

#define FIRST_TEST (UINT64_C(1) << 20) /* of the held-out draws */
#define TAU_MIN 1e-3                   /* of hb_train */
#define TOLERANCE 1e-3                 /* of the ODE */

static hb_status train(hb_context *context, const hb_comparison *result, const hb_mixture *truth,
                       hb_trial *cell, hb_model **model)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    const size_t rows = (size_t)size->rows[hb_dimension_r(cell->set)],
                 dim = (size_t)size->dim[hb_dimension_d(cell->set)];
    hb_train_settings settings;
    hb_compare_train_settings(result, cell, size->width, &settings);
    settings.standardise = HB_STANDARDISE_NO; /* exact scores are those of the same tau */
    settings.tau_min = TAU_MIN;
    void *data;
    HB_TRY(hb_study_allocate(context, dim * rows, sizeof(double), &data));
    hb_status status = hb_mixture_sample(context, truth, cell->seed, 0, rows, data, NULL);
    const double start = hb_cells_seconds();
    if (status == HB_OK)
        status = hb_train(context, &settings, (int)dim, 0, rows, data, NULL, model);
    cell->seconds = hb_cells_seconds() - start;
    free(data);
    return status;
}

static hb_status judge_errors(hb_context *context, const hb_dimension_size *size,
                              const hb_mixture *truth, const hb_model *model, hb_trial *cell)
{
    hb_model_view view = {context, model, -1};
    for (int k = 0; k < DIMENSION_TAUS; k++) {
        hb_score_error error;
        HB_TRY(hb_judge_score(context, truth, HB_PROCESS_OU, cell->seed, size->judge,
                              hb_dimension_taus[k], hb_model_view_score, &view, sizeof error,
                              &error));
        cell->value[DIMENSION_ERROR + 2 * k] = error.all;
        cell->value[hb_dimension_low(k)] = error.low;
    }
    return HB_OK;
}

static hb_status judge_likelihood(hb_context *context, const hb_dimension_size *size,
                                  const hb_mixture *truth, const hb_model *model, hb_trial *cell)
{
    const size_t n = size->test, dim = (size_t)size->dim[hb_dimension_d(cell->set)];
    hb_generate_settings settings;
    hb_generate_settings_default(sizeof settings, &settings);
    settings.ode_tolerance = TOLERANCE;
    void *memory;
    HB_TRY(hb_study_allocate(context, n * (dim + 1), sizeof(double), &memory));
    double *x = memory, *log_density = x + n * dim;
    hb_status status = hb_mixture_sample_at(context, truth, HB_PROCESS_OU, cell->seed, FIRST_TEST,
                                            n, TAU_MIN, x, NULL);
    if (status == HB_OK)
        status = hb_mixture_score(context, truth, HB_PROCESS_OU, n, x, TAU_MIN, log_density, NULL);
    if (status == HB_OK) {
        cell->value[DIMENSION_LIKELIHOOD_EXACT] = hb_study_mean(n, log_density);
        status = hb_model_likelihood(context, model, &settings, 0, n, x, NULL, log_density, NULL);
        const int failed = status == HB_ERROR_NUMERICAL; /* a field that the ODE cannot follow */
        cell->value[DIMENSION_LIKELIHOOD] = failed ? NAN : hb_study_mean(n, log_density);
        if (failed) status = HB_OK;
    }
    free(memory);
    return status;
}

hb_status hb_dimension_do(hb_context *context, const hb_comparison *result, hb_trial *cell)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    hb_mixture *truth = NULL;
    hb_model *model = NULL;
    hb_status status =
        hb_dimension_mixture(context, cell->set % DIMENSION_FAMILIES,
                             size->dim[hb_dimension_d(cell->set)], cell->seed, &truth);
    if (status == HB_OK) status = train(context, result, truth, cell, &model);
    if (status == HB_OK) status = judge_errors(context, size, truth, model, cell);
    if (status == HB_OK) status = judge_likelihood(context, size, truth, model, cell);
    hb_model_destroy(model);
    hb_mixture_destroy(truth);
    return status;
}
