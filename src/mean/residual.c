/* The parabolic mean-value residual of a field,
 *     R_r = F(x0,tau0) - E_kappa[F] - (C1 r^2/4) E_source[h_F],        F = u, v or w.
 * It vanishes for every r when the field solves the equation. In general, with q = (d_tau - Lap) F
 * - h_F the pointwise residual, R_r = (C1 r^2/4) E_source[q(x0 + rho z, tau0 - rho^2 sigma)], so
 * that the scaled residual 4 R_r/(C1 r^2) is an average of q over the ball and tends to q(x0,tau0)
 * as r^2.
 *
 * The averages are deviations from the anchor (averages.c), so R_r is minus them and small
 * residuals lose no digits. The Monte Carlo error of a scaled residual does not shrink with r; in
 * dim <= 3 the default is therefore a cubature rule of degree SMALL_DIM_DEGREE, whose error is of
 * higher order in r.
 *
 * A number to reproduce: a field that solves du/dtau = k Lap u - div(F u) with the wrong k has
 * q = (k-1)(Lap v + |grad v|^2) for F = v; the density N(0, 1.3) in one dimension, k = 1.3, has
 * q = -0.2307692 at x0 = 0. */
#include "base/context.h"
#include "base/memory.h"
#include "base/sized.h"
#include "mean/averages.h"

#include <math.h>

enum { SMALL_DIM = 3, SMALL_DIM_DEGREE = 8 };

static void residual_store(double *table, size_t index, double value)
{
    if (table) table[index] = value;
}

/* Column `radius_index` of the tables. mean and error are (n, HB_COLUMNS). */
static void residual_write_column(const hb_anchors *anchors, const hb_residual_values *out,
                                  int n_radii, int radius_index, const double *mean,
                                  const double *error)
{
    const int quantity = anchors->settings.quantity;
    for (size_t i = 0; i < anchors->n; i++) {
        const double r = anchors->radius[i];
        const double u0 = quantity == HB_QUANTITY_V ? 1 : exp(anchors->v[i]);
        const double to_pointwise = 4 / (anchors->constants.C1 * r * r);
        const size_t column = quantity == HB_QUANTITY_U   ? HB_COLUMN_U
                              : quantity == HB_QUANTITY_V ? HB_COLUMN_V
                                                          : HB_COLUMN_W;
        const double residual = -u0 * mean[i * HB_COLUMNS + column];
        const double residual_se = u0 * error[i * HB_COLUMNS + column];
        const size_t index = i * (size_t)n_radii + (size_t)radius_index;
        residual_store(out->residual, index, residual);
        residual_store(out->residual_se, index, residual_se);
        residual_store(out->scaled, index, to_pointwise * residual);
        residual_store(out->scaled_se, index, to_pointwise * residual_se);
    }
}

static hb_status residual_fill_table(hb_anchors *anchors, int n_radii, const double *radii,
                                     const hb_residual_values *out)
{
    const size_t n = anchors->n;
    const hb_mean_settings *settings = &anchors->settings;
    hb_average_wish wish = {.values = 1, .degree = settings->degree};
    if (settings->degree == 0 && anchors->equation.dim <= SMALL_DIM) wish.degree = SMALL_DIM_DEGREE;
    for (int j = 0; j < n_radii; j++) HB_TRY(hb_anchors_check_radius(anchors, radii[j]));
    void *memory;
    HB_TRY(hb_allocate(anchors->context, n, 2 * HB_COLUMNS * sizeof(double), &memory));
    double *mean = memory, *error = mean + n * HB_COLUMNS; // (n, HB_COLUMNS)
    hb_status status = HB_OK;
    for (int j = 0; j < n_radii && status == HB_OK; j++) {
        for (size_t i = 0; i < n; i++) anchors->radius[i] = radii[j];
        status = hb_averages(anchors, &wish, mean, error);
        if (status == HB_OK) residual_write_column(anchors, out, n_radii, j, mean, error);
    }
    hb_release(anchors->context, memory);
    return status;
}

hb_status hb_mean_residual(hb_context *context, const hb_problem *problem, const hb_field *field,
                           const hb_mean_settings *settings, size_t n, int n_radii, const double *x,
                           double tau0, const double *radii, hb_residual_values *out)
{
    hb_residual_values values = {0};
    HB_CHECK(context, out, HB_ERROR_ARGUMENT, "the output of the residuals is NULL");
    HB_TRY(
        hb_sized_read(context, "hb_residual_values", sizeof values, sizeof values, out, &values));
    HB_CHECK(context, n_radii >= 0, HB_ERROR_ARGUMENT, "n_radii is %d; it must be at least 0",
             n_radii);
    HB_CHECK(context, radii || n_radii == 0, HB_ERROR_ARGUMENT, "radii is NULL");
    hb_anchors anchors;
    hb_status status = hb_anchors_create(context, problem, field, settings, tau0, n, x, &anchors);
    if (status == HB_OK && n > 0) status = residual_fill_table(&anchors, n_radii, radii, &values);
    hb_anchors_destroy(&anchors);
    return status;
}
