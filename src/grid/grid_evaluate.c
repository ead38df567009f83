/* v and its gradient anywhere in the box and at any kept tau.
 *
 * In x: the quintic spline of each level. In tau: the barycentric formula on Chebyshev points of
 * the second kind in p = ln(tau + shift) (Berrut and Trefethen, SIAM Review 46, 2004),
 *     v = sum_k w_k v_k,  w_k = c_k/(p - p_k)/sum_j c_j/(p - p_j),  c_k = (-1)^k, half at the ends.
 * Its error: every second point is again a Chebyshev set; the difference of the two interpolants
 * is the error of the shorter one, and convergence is geometric, so a tenth of it bounds the
 * longer one amply. */
#include "base/context.h"
#include "grid/grid_kept.h"

#include <math.h>
#include <string.h>

static const double TIME_PART = 0.1;

/* Weights of the levels 0, skip, 2 skip, ..; the others get 0. */
static void level_weights(const hb_grid *grid, double tau, int skip, double *weights)
{
    const int n = grid->n_levels;
    const double p = tau == grid->info.tau ? grid->place[n - 1] : log(tau + grid->shift);
    double sum = 0;
    memset(weights, 0, (size_t)n * sizeof *weights);
    for (int k = 0; k < n; k += skip) {
        const double c = (k / skip % 2 ? -1.0 : 1.0) * (k == 0 || k == n - 1 ? 0.5 : 1);
        if (p == grid->place[k] || tau == grid->tau[k]) {
            memset(weights, 0, (size_t)n * sizeof *weights);
            weights[k] = 1;
            return;
        }
        weights[k] = c / (p - grid->place[k]);
        sum += weights[k];
    }
    for (int k = 0; k < n; k += skip) weights[k] /= sum;
}

/* The level of a grid whose levels were requested one by one; -1: this tau was not. */
static int listed_level(const hb_grid *grid, double tau)
{
    for (int k = 0; k < grid->n_levels; k++)
        if (fabs(tau - grid->tau[k]) <= 1e-12 * grid->tau[k]) return k;
    return -1;
}

static double weighted_value(const hb_grid *grid, const double *weights,
                             const hb_spline_place *place, double *gradient)
{
    const int dim = grid->info.dim;
    double v = 0;
    for (int a = 0; a < dim; a++) gradient[a] = 0;
    for (int k = 0; k < grid->n_levels; k++) {
        double slopes[3];
        if (weights[k] == 0) continue;
        v += weights[k] * hb_spline_value(&grid->mesh[0], grid->v[k], place, slopes);
        for (int a = 0; a < dim; a++) gradient[a] += weights[k] * slopes[a];
    }
    return v;
}

/* Multilinear interpolation of an error on the coarsest mesh, the larger of the two levels
 * around tau. */
static double error_at(const hb_grid *grid, double *const *errors, size_t width, size_t entry,
                       double tau, const double *x)
{
    const hb_mesh *mesh = &grid->mesh[2];
    int above = 0;
    while (above + 1 < grid->n_levels && grid->tau[above] < tau) above++;
    const int below = above > 0 && grid->tau[above] != tau ? above - 1 : above;
    double sum[2] = {0, 0};
    for (int corner = 0; corner < 1 << mesh->dim; corner++) {
        double weight = 1;
        size_t node = 0;
        for (int a = 0; a < mesh->dim; a++) {
            const double s = hb_mesh_position(mesh, a, x[a]);
            const double k = fmin(floor(s), mesh->nodes[a] - 2), part = fmin(s - k, 1);
            const int up = corner >> a & 1;
            weight *= up ? part : 1 - part;
            node += ((size_t)k + (size_t)up) * hb_mesh_stride(mesh, a);
        }
        if (weight == 0) continue; /* errors may be infinite */
        sum[0] += weight * errors[below][node * width + entry];
        sum[1] += weight * errors[above][node * width + entry];
    }
    return fmax(sum[0], sum[1]);
}

typedef struct tau_weights {
    int unresolved;
    double tau, all[HB_GRID_MAX_LEVELS], half[HB_GRID_MAX_LEVELS];
} tau_weights;

static void evaluate_point(const hb_grid *grid, const tau_weights *w, const double *x, double *v,
                           double *v_error, double *gradient, double *gradient_error)
{
    const size_t d = (size_t)grid->info.dim;
    hb_spline_place place;
    double slopes[3], other[3];
    hb_spline_locate(&grid->mesh[0], x, &place);
    const double value = weighted_value(grid, w->all, &place, slopes);
    if (v) *v = value;
    if (gradient) memcpy(gradient, slopes, d * sizeof(double));
    if (!v_error && !gradient_error) return;
    const double shorter = weighted_value(grid, w->half, &place, other);
    if (w->unresolved) {
        if (v_error) *v_error = INFINITY;
        for (size_t a = 0; a < d && gradient_error; a++) gradient_error[a] = INFINITY;
        return;
    }
    if (v_error)
        *v_error =
            error_at(grid, grid->v_error, 1, 0, w->tau, x) + TIME_PART * fabs(value - shorter);
    for (size_t a = 0; a < d && gradient_error; a++)
        gradient_error[a] = error_at(grid, grid->slope_error, d, a, w->tau, x) +
                            TIME_PART * fabs(slopes[a] - other[a]);
}

/* From xi and sigma to x and tau: v = V - d ln s, slopes by x are those by xi over s. */
static void scaled_values(size_t d, double size, double *v, double *gradient,
                          double *gradient_error)
{
    if (v) *v -= (double)d * log(size);
    for (size_t a = 0; a < d && gradient; a++) gradient[a] /= size;
    for (size_t a = 0; a < d && gradient_error; a++) gradient_error[a] /= size;
}

static void scaled_place(const hb_grid_scaling *scaling, double size, const double *x, double *xi)
{
    for (size_t a = 0; a < scaling->d; a++) xi[a] = (x[a] - scaling->place[a]) / size;
}

static hb_status evaluate_scaled(hb_context *context, const hb_grid *grid, size_t n,
                                 const double *x, double tau, double *v, double *v_error,
                                 double *gradient, double *gradient_error)
{
    const hb_grid_info *inner = &grid->inner->info;
    const size_t d = (size_t)inner->dim;
    const double size = hb_scaling_size(grid->scaling, tau),
                 sigma = hb_scaling_sigma(grid->scaling, tau);
    for (size_t i = 0; i < n; i++) {
        double xi[3] = {0};
        scaled_place(grid->scaling, size, x + i * d, xi);
        for (size_t a = 0; a < d; a++) {
            const double slack = 1e-12 * (inner->high[a] - inner->low[a]);
            HB_CHECK(context, xi[a] >= inner->low[a] - slack && xi[a] <= inner->high[a] + slack,
                     HB_ERROR_ARGUMENT,
                     "point %zu has coordinate %zu = %g outside the grid's box, which at tau = %g "
                     "is [%g, %g]",
                     i + 1, a + 1, x[i * d + a], tau,
                     grid->scaling->place[a] + size * inner->low[a],
                     grid->scaling->place[a] + size * inner->high[a]);
            xi[a] = fmin(fmax(xi[a], inner->low[a]), inner->high[a]);
        }
        double *slope = gradient ? gradient + i * d : NULL,
               *slope_error = gradient_error ? gradient_error + i * d : NULL;
        HB_TRY(hb_grid_evaluate(context, grid->inner, 1, xi, sigma, v ? v + i : NULL,
                                v_error ? v_error + i : NULL, slope, slope_error));
        scaled_values(d, size, v ? v + i : NULL, slope, slope_error);
    }
    return HB_OK;
}

hb_status hb_grid_evaluate(hb_context *context, const hb_grid *grid, size_t n, const double *x,
                           double tau, double *v, double *v_error, double *gradient,
                           double *gradient_error)
{
    HB_CHECK(context, grid && (x || n == 0), HB_ERROR_ARGUMENT, "the grid or x is NULL");
    const size_t d = (size_t)grid->info.dim;
    const double slack = 1e-12 * grid->info.tau;
    HB_CHECK(context, tau >= grid->tau[0] - slack && tau <= grid->info.tau + slack,
             HB_ERROR_ARGUMENT, "tau is %.12g; the grid is kept on [%.12g, %.12g]", tau,
             grid->tau[0], grid->info.tau);
    if (grid->inner)
        return evaluate_scaled(context, grid, n, x, fmin(fmax(tau, grid->tau[0]), grid->info.tau),
                               v, v_error, gradient, gradient_error);
    tau_weights w;
    w.tau = fmin(fmax(tau, grid->tau[0]), grid->info.tau);
    w.unresolved = grid->info.unresolved;
    if (grid->listed) {
        const int level = listed_level(grid, tau);
        HB_CHECK(context, level >= 0, HB_ERROR_ARGUMENT,
                 "tau is %.12g; the grid is kept at %d values of tau, and this is none of them",
                 tau, grid->n_levels);
        w.tau = grid->tau[level];
        w.unresolved = level >= grid->unreliable_from; /* what went wrong before goes on */
    }
    level_weights(grid, w.tau, 1, w.all);
    level_weights(grid, w.tau, grid->n_levels > 1 && !grid->listed ? 2 : 1, w.half);
    for (size_t i = 0; i < n; i++) {
        for (size_t a = 0; a < d; a++)
            HB_CHECK(context,
                     x[i * d + a] >= grid->info.low[a] && x[i * d + a] <= grid->info.high[a],
                     HB_ERROR_ARGUMENT,
                     "point %zu has coordinate %zu = %g outside the grid's box [%g, %g]", i + 1,
                     a + 1, x[i * d + a], grid->info.low[a], grid->info.high[a]);
        evaluate_point(grid, &w, x + i * d, v ? v + i : NULL, v_error ? v_error + i : NULL,
                       gradient ? gradient + i * d : NULL,
                       gradient_error ? gradient_error + i * d : NULL);
    }
    return HB_OK;
}

/* Outside the box, where next to no mass is, v goes on linearly from the boundary. */
static void evaluate_field_point(const hb_grid *grid, const double *weights, const double *x,
                                 double *v, double *gradient)
{
    const int dim = grid->info.dim;
    hb_spline_place place;
    double slopes[3];
    hb_spline_locate(&grid->mesh[0], x, &place);
    *v = weighted_value(grid, weights, &place, slopes);
    for (int a = 0; a < dim; a++) {
        const double inside = fmin(fmax(x[a], grid->info.low[a]), grid->info.high[a]);
        *v += slopes[a] * (x[a] - inside);
        if (gradient) gradient[a] = slopes[a];
    }
}

static int evaluate_field(void *user, size_t n, const double *x, const double *tau, double *v,
                          double *gradient)
{
    const hb_grid *grid = user;
    const size_t d = (size_t)grid->info.dim;
    const double slack = 1e-12 * grid->info.tau;
    double weights[HB_GRID_MAX_LEVELS];
    for (size_t i = 0; i < n; i++) {
        const int level = grid->listed ? listed_level(grid, tau[i]) : 0;
        if (!(tau[i] >= grid->tau[0] - slack && tau[i] <= grid->info.tau + slack) || level < 0)
            return 1;
        const double at =
            grid->listed ? grid->tau[level] : fmin(fmax(tau[i], grid->tau[0]), grid->info.tau);
        if (i == 0 || tau[i] != tau[i - 1]) level_weights(grid, at, 1, weights);
        evaluate_field_point(grid, weights, x + i * d, v + i, gradient ? gradient + i * d : NULL);
    }
    return 0;
}

static int evaluate_scaled_field(void *user, size_t n, const double *x, const double *tau,
                                 double *v, double *gradient)
{
    const hb_grid *grid = user;
    const size_t d = (size_t)grid->info.dim;
    const double slack = 1e-12 * grid->info.tau;
    for (size_t i = 0; i < n; i++) {
        if (!(tau[i] >= grid->tau[0] - slack && tau[i] <= grid->info.tau + slack)) return 1;
        const double now = fmin(fmax(tau[i], grid->tau[0]), grid->info.tau);
        const double size = hb_scaling_size(grid->scaling, now),
                     sigma = hb_scaling_sigma(grid->scaling, now);
        double xi[3], *slope = gradient ? gradient + i * d : NULL;
        scaled_place(grid->scaling, size, x + i * d, xi);
        if (evaluate_field(grid->inner, 1, xi, &sigma, v + i, slope)) return 1;
        scaled_values(d, size, v + i, slope, NULL);
    }
    return 0;
}

void hb_grid_field(const hb_grid *grid, hb_field *out)
{
    if (!grid || !out) return;
    out->dim = grid->info.dim;
    out->tau_min = grid->tau[0];
    out->tau_max = grid->info.tau;
    out->evaluate = grid->inner ? evaluate_scaled_field : evaluate_field;
    out->user = (void *)(uintptr_t)grid; /* the callback only reads */
}
