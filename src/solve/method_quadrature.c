/* Stationary densities by quadrature, t = inf; nothing is drawn.
 *
 *     gradient   F = -grad V: exp(-V/(g^2/2))/Z in d <= 3, or in any d where F_i has x_i alone; the
 *                score is the drift itself (problem/stationary_density.h)
 *     balance    one dimension with noise g(x): no current flows, and u = exp(int (f - D')/D dx)/Z,
 *                D = g^2/2 (problem/line_balance.h)
 * A number to reproduce: f = -2 x, g = 1 has u(0) = sqrt(2/pi) = 0.797885, by both. */
#include "problem/line_balance.h"
#include "problem/stationary_density.h"
#include "solve/solve_parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* ---- a gradient ---- */

static const char *gradient_serves(const hb_solve_facts *facts)
{
    if (facts->noise != HB_NOISE_SCALAR) return "the noise is no number times the identity";
    return facts->gradient_known ? NULL : "the drift is no gradient with a known potential";
}

static hb_status gradient_run(const hb_solve_task *task, hb_solution *out)
{
    const size_t values = out->n * (size_t)out->dim;
    hb_stationary *density;
    HB_TRY(hb_stationary_create(task->context, task->problem, &density));
    hb_status status = hb_stationary_evaluate(
        task->context, density, out->n, task->points, out->columns[HB_COLUMN_LOG_DENSITY],
        out->columns[HB_COLUMN_LOG_DENSITY_ERROR], out->columns[HB_COLUMN_SCORE]);
    for (size_t k = 0; k < values && status == HB_OK; k++)
        out->columns[HB_COLUMN_SCORE_ERROR][k] =
            8 * DBL_EPSILON * fabs(out->columns[HB_COLUMN_SCORE][k]);
    if (status == HB_OK && hb_stationary_is_flagged(density)) status = hb_solve_flag_integral(out);
    hb_stationary_destroy(task->context, density);
    HB_TRY(status);
    hb_solve_fill_from_log(out);
    out->method = "stationary";
    snprintf(out->note, sizeof out->note,
             "stationary: the drift is a gradient, the density exp(-V/(g^2/2))/Z with Z by "
             "quadrature; nothing is drawn");
    return HB_OK;
}

const hb_method_ops hb_method_gradient = {.info = {.name = "stationary", .reads = ~0U},
                                          .times = HB_TIME_STATIONARY,
                                          .errors = HB_ERRORS_ESTIMATE,
                                          .serves = gradient_serves,
                                          .rank = 2,
                                          .run = gradient_run};

/* ---- one dimension ---- */

static const char *balance_serves(const hb_solve_facts *facts)
{
    if (facts->noise != HB_NOISE_FIELD) return "the noise does not depend on x";
    return facts->balance_known ? NULL : "the dimension is above 1";
}

static hb_status balance_run(const hb_solve_task *task, hb_solution *out)
{
    int flagged;
    HB_TRY(hb_problem_balance(
        task->context, task->problem, out->n, task->points, out->columns[HB_COLUMN_LOG_DENSITY],
        out->columns[HB_COLUMN_LOG_DENSITY_ERROR], out->columns[HB_COLUMN_SCORE],
        out->columns[HB_COLUMN_SCORE_ERROR], &flagged));
    if (flagged) HB_TRY(hb_solve_flag_integral(out));
    hb_solve_fill_from_log(out);
    out->method = "stationary";
    snprintf(out->note, sizeof out->note,
             "stationary: in one dimension the probability flux vanishes, and the density is "
             "exp(int (f - D')/D dx)/Z with D = g^2/2, by quadrature; nothing is drawn");
    return HB_OK;
}

const hb_method_ops hb_method_balance = {.info = {.name = "stationary", .reads = ~0U},
                                         .times = HB_TIME_STATIONARY,
                                         .errors = HB_ERRORS_ESTIMATE,
                                         .serves = balance_serves,
                                         .rank = 1,
                                         .run = balance_run};
