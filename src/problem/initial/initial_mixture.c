/* mixture(FILE.csv): a sum of Gaussians with diagonal variances, a row of the file each.
 *
 * Columns: weight, mean_1 .. mean_d, var_1 .. var_d, or one var for all axes; weights in any
 * scale. A number to reproduce: weights 1 and 3 are shares of 0.25 and 0.75. */
#include "base/context.h"
#include "base/memory.h"
#include "problem/initial/initial_ops.h"

#include <math.h>
#include <stdio.h>

static hb_status check_component(const hb_initial_text *s, size_t row, size_t columns,
                                 const double *values)
{
    for (size_t j = 0; j < columns; j++) {
        const int positive = j == 0 || j > (size_t)s->dim;
        HB_CHECK(s->context, isfinite(values[j]) && (!positive || values[j] > 0), HB_ERROR_ARGUMENT,
                 "mixture: %s has %g in row %zu, column %zu; weights and variances must be "
                 "positive, all numbers finite",
                 s->arguments, values[j], row + 1, j + 1);
    }
    return HB_OK;
}

static hb_status fill_mixture(const hb_initial_text *s, size_t rows, size_t columns,
                              const double *values, double *weights, hb_problem *problem)
{
    const size_t d = (size_t)s->dim;
    hb_gaussians *gaussians;
    HB_TRY(hb_gaussians_create(s->context, problem, rows, 0, &gaussians));
    for (size_t k = 0; k < rows; k++, values += columns) {
        HB_TRY(check_component(s, k, columns, values));
        weights[k] = values[0];
        for (size_t j = 0; j < d; j++) {
            gaussians->mean[k * d + j] = values[1 + j];
            gaussians->sd[k * d + j] = sqrt(values[1 + d + (columns == 2 * d + 1 ? j : 0)]);
        }
    }
    return hb_gaussians_prepare(s->context, s->dim, weights, gaussians);
}

static hb_status mixture_create(const hb_initial_text *s, hb_problem *problem)
{
    const uint64_t d = (uint64_t)s->dim;
    uint64_t rows, columns;
    double *values;
    void *weights = NULL; // (rows)
    HB_TRY(hb_initial_read_file(s, &rows, &columns, &values));
    hb_status status = HB_OK;
    if (columns != 2 * d + 1 && columns != d + 2) {
        char shorter[60] = "";
        if (d > 1) snprintf(shorter, sizeof shorter, " or %zu (one variance)", (size_t)(d + 2));
        status = hb_fail(s->context, HB_ERROR_ARGUMENT,
                         "mixture: %s has %zu columns; for dim = %zu it must have %zu (%s)%s",
                         s->arguments, (size_t)columns, (size_t)d, (size_t)(2 * d + 1),
                         d > 1 ? "weight, means, variances" : "weight, mean, variance", shorter);
    }
    if (status == HB_OK) status = hb_allocate(s->context, rows, sizeof(double), &weights);
    if (status == HB_OK) status = fill_mixture(s, rows, columns, values, weights, problem);
    hb_release(s->context, weights);
    hb_context_release(s->context, values);
    return status;
}

const hb_initial_ops hb_initial_mixture = {
    HB_INITIAL_TEXT("mixture", "mixture(FILE)", mixture_create), .kind = HB_INITIAL_KIND_MIXTURE,
    .facts = {.smooth = 1}, HB_GAUSSIANS_OPS(hb_gaussians_draw)};
