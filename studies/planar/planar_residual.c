/* How well a model solves the Fokker-Planck equation of the noise process, by heat balls.
 *
 * v = ln u of the energy head, F = -x. At draws x0 of u(.,tau0), the same for all methods of a set
 * and seed, with the ball of radius r, r^2 = pi tau0/2 (it reaches back by tau0/8),
 *     R_r = v - E_kappa[v] - (C1 r^2/4) E_source[h_v],   h_v = |grad v|^2 - F.grad v - div F,
 * by cubature (hb_mean_residual). The scaled residual 4 R_r/(C1 r^2) is the mean over the ball of
 * the pointwise residual. The exact v has 0, by this cubature at most 0.0025 (tau >= 0.1; four sets
 * tried). */
#include "planar.h"

#include <heatball/estimate.h>

#include <math.h>
#include <stdlib.h>

enum { DEGREE = 4 };
#define FIRST_ANCHOR (UINT64_C(1) << 26) /* index of the first draw: no other part uses them */

static double root_mean_square(size_t n, const double *values)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += values[i] * values[i];
    return sqrt(sum / (double)n);
}

/* scratch: n points of the plane, n residuals, n scaled ones. */
static hb_status measure(hb_context *context, const hb_problem *problem, const hb_model *model,
                         double tau, size_t n, double *scratch, double *scaled, double *raw)
{
    hb_field field;
    hb_mean_settings settings;
    hb_mean_settings_default(sizeof settings, &settings);
    settings.degree = DEGREE;
    const double radius = sqrt(M_PI * tau / 2);
    double *x = scratch, *residual = scratch + 2 * n, *residual_scaled = scratch + 3 * n;
    hb_model_standardise(model, n, x, x);
    HB_TRY(hb_model_field(context, model, &field));
    HB_TRY(hb_mean_residual(
        context, problem, &field, &settings, n, 1, x, tau, &radius,
        &(hb_residual_values){sizeof(hb_residual_values), residual, NULL, residual_scaled, NULL}));
    *scaled = root_mean_square(n, residual_scaled);
    if (raw) *raw = root_mean_square(n, residual);
    return HB_OK;
}

hb_status hb_planar_residual(hb_context *context, const hb_mixture *truth, const hb_model *model,
                             double tau, uint64_t seed, size_t n, double *scaled, double *raw)
{
    void *memory;
    hb_problem *problem = NULL;
    HB_TRY(hb_study_allocate(context, 4 * n, sizeof(double), &memory));
    hb_status status = hb_problem_parse(context, "-x1, -x2", "sqrt(2)", NULL, &problem);
    if (status == HB_OK)
        status = hb_mixture_sample_at(context, truth, HB_PROCESS_OU, seed, FIRST_ANCHOR, n, tau,
                                      memory, NULL);
    if (status == HB_OK) status = measure(context, problem, model, tau, n, memory, scaled, raw);
    hb_problem_destroy(problem);
    free(memory);
    return status;
}
