/* One cell: a mixture, rows of it, a training, and what came of it.
 *
 * Draws 0 .. rows-1 of the mixture with the cell's seed are the data, so that 500 rows are the first of the
 * 2000; what judges the model are draws further on. All methods of a (d, family, seed) see the same mixture,
 * the same rows and the same judge.
 *
 *     error       mean |s - exact|^2 over draws at tau, over all and over the fifth with the lowest density
 *     likelihood  mean ln p of test rows, by the probability-flow ODE with exact divergence
 * The model's law is that at tau_min = 0.001 of the training; so the test rows have that noise too, and the
 * exact density beside it is that of the mixture at the same tau. */
#include "dimension.h"

#include <heatball/generate.h>
#include <heatball/judge.h>
#include <heatball/model.h>
#include <heatball/train.h>

#include <math.h>
#include <stdlib.h>

#define FIRST_TEST (UINT64_C(1) << 20) /* of the held-out draws */
#define TAU_MIN 1e-3                   /* of hb_train */
#define TOLERANCE 1e-3                 /* of the ODE */

static hb_status train(hb_context *context, const hb_dimension_size *size, const hb_mixture *truth,
                       hb_dimension_cell *cell, hb_model **model)
{
    const hb_dimension_recipe *recipe = &hb_dimension_recipes[cell->method];
    const size_t rows = (size_t)size->rows[cell->r], dim = (size_t)size->dim[cell->d];
    hb_train_settings settings;
    hb_train_settings_default(sizeof settings, &settings);
    settings.standardise = HB_STANDARDISE_NO; /* exact scores are those of the same tau */
    settings.loss = recipe->loss;
    settings.target_rows = recipe->target_rows;
    settings.width = size->width;
    settings.steps = cell->steps;
    settings.tau_min = TAU_MIN;
    settings.seed = cell->seed;
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
                              const hb_mixture *truth, const hb_model *model,
                              hb_dimension_cell *cell)
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

static double mean_of(size_t n, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

static hb_status judge_likelihood(hb_context *context, const hb_dimension_size *size,
                                  const hb_mixture *truth, const hb_model *model,
                                  hb_dimension_cell *cell)
{
    const size_t n = size->test, dim = (size_t)size->dim[cell->d];
    hb_generate_settings settings;
    hb_generate_settings_default(sizeof settings, &settings);
    settings.tolerance = TOLERANCE;
    void *memory;
    HB_TRY(hb_study_allocate(context, n * (dim + 1), sizeof(double), &memory));
    double *x = memory, *log_density = x + n * dim;
    hb_status status = hb_mixture_sample_at(context, truth, HB_PROCESS_OU, cell->seed, FIRST_TEST,
                                            n, TAU_MIN, x, NULL);
    if (status == HB_OK)
        status = hb_mixture_score(context, truth, HB_PROCESS_OU, n, x, TAU_MIN, log_density, NULL);
    if (status == HB_OK) {
        cell->value[DIMENSION_LIKELIHOOD_EXACT] = mean_of(n, log_density);
        status = hb_model_likelihood(context, model, &settings, 0, n, x, NULL, log_density, NULL);
        const int failed = status == HB_ERROR_NUMERICAL; /* a field that the ODE cannot follow */
        cell->value[DIMENSION_LIKELIHOOD] = failed ? NAN : mean_of(n, log_density);
        if (failed) status = HB_OK;
    }
    free(memory);
    return status;
}

hb_status hb_dimension_do(hb_context *context, const hb_dimension_size *size,
                          hb_dimension_cell *cell)
{
    hb_mixture *truth = NULL;
    hb_model *model = NULL;
    hb_status status =
        hb_dimension_mixture(context, cell->family, size->dim[cell->d], cell->seed, &truth);
    if (status == HB_OK) status = train(context, size, truth, cell, &model);
    if (status == HB_OK) status = judge_errors(context, size, truth, model, cell);
    if (status == HB_OK) status = judge_likelihood(context, size, truth, model, cell);
    cell->done = status == HB_OK;
    hb_model_destroy(model);
    hb_mixture_destroy(truth);
    return status;
}
