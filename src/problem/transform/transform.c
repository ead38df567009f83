/* A transform: points, densities and scores from x to y and back.
 *
 *     z_i = int dx_i/b_i,   y = L^-1 z,   ln u_x = ln u_y - sum ln b_i - ln |det L|
 *     score_z = L^-T score_y,   score_x,i = (score_z,i - b_i'(x_i))/b_i(x_i)
 * The errors of the components of score_y may hang together in any way, so that the error of
 * score_z,i is bounded by sum_j |L^-T|_ij e_j. The divergence is, q_i = L^-1 e_i/b_i being the
 * direction in y of axis i of x,
 *     div_x score_x = sum_i q_i' (d score_y/dy) q_i - sum_i (score_x,i b_i' + b_i'')/b_i.
 * A number to reproduce: y = ln x, u_y = N(0, 1): at x = 2 ln u_x = -1.1591646 - ln 2, score_x =
 * (-ln 2 - 1)/2. */
#include "problem/transform/transform.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "problem/problem_parts.h"

#include <math.h>
#include <string.h>

void hb_transform_destroy(hb_context *context, hb_transform *transform)
{
    if (!transform) return;
    for (int i = 0; transform->axes && i < transform->dim; i++)
        hb_axis_table_destroy(context, transform->axes[i].table);
    hb_release(context, transform->axes);
    hb_release(context, transform->L);
    hb_program_destroy(transform->moving);
    hb_transform_callback_destroy(context, transform->wrapped);
    hb_release(context, transform);
}

const hb_transform *hb_problem_transform_of(const hb_problem *problem)
{
    return problem->transform;
}

hb_status hb_transform_matrix(hb_context *context, const hb_transform *transform, double t,
                              double *L)
{
    const size_t d = (size_t)transform->dim;
    if (transform->moves) {
        HB_TRY(hb_program_run(context, transform->moving, 1, NULL, t, L));
        for (size_t k = 0; k < d * d; k++)
            HB_CHECK(context, isfinite(L[k]) && (k % (d + 1) != 0 || L[k] != 0), HB_ERROR_ARGUMENT,
                     "the noise loses a direction or is not finite at t = %.6g", t);
        return HB_OK;
    }
    if (transform->L) {
        memcpy(L, transform->L, d * d * sizeof *L);
        return HB_OK;
    }
    for (size_t k = 0; k < d * d; k++) L[k] = k % (d + 1) == 0;
    return HB_OK;
}

/* L(t); *L stays NULL where it is the identity. *own is to be released, of one that moves only. */
static hb_status transform_matrix_at(hb_context *context, const hb_transform *transform, double t,
                                     const double **L, double **own)
{
    const size_t d = (size_t)transform->dim;
    *own = NULL;
    *L = transform->moves ? NULL : transform->L;
    if (!transform->moves || !transform->scales) return HB_OK;
    HB_TRY(HB_NEW(context, *own, d * d));
    const hb_status status = hb_transform_matrix(context, transform, t, *own);
    if (status != HB_OK) hb_release(context, *own);
    *L = *own;
    return status;
}

/* What happens to one point: from `x`, in the place of `out` or from it to there. L: NULL, none. */
typedef void (*transform_row)(const hb_transform *transform, const double *L, const double *x,
                              double *out, double *error);

typedef struct transform_points {
    size_t n;
    const double *x; // (n, dim)
    size_t width;
    double *out, *error; // (n, width), (n, dim) or NULL
} transform_points;

static hb_status transform_rows(hb_context *context, const hb_transform *transform, double t,
                                transform_row row, transform_points p)
{
    const size_t d = (size_t)transform->dim;
    const double *L;
    double *own;
    HB_TRY(transform_matrix_at(context, transform, t, &L, &own));
    for (size_t i = 0; i < p.n; i++)
        row(transform, L, p.x + i * d, p.out + i * p.width, p.error ? p.error + i * d : NULL);
    hb_release(context, own);
    return HB_OK;
}

/* ---- points ---- */

/* L y = z, in place. A diagonal L is told apart: 0 times infinity is no number. */
static void transform_solve(const hb_transform *transform, const double *L, double *z)
{
    const size_t d = (size_t)transform->dim;
    if (transform->turns) hb_solve_lower(d, L, 1, z);
    for (size_t i = 0; !transform->turns && i < d; i++) z[i] /= L[i * (d + 1)];
}

static void row_to_y(const hb_transform *transform, const double *L, const double *x, double *y,
                     double *unused)
{
    (void)unused;
    const int d = transform->dim;
    int outside = 0;
    for (int a = 0; a < d; a++) y[a] = hb_axis_to_y(&transform->axes[a], x[a]);
    if (L) transform_solve(transform, L, y);
    for (int a = 0; a < d; a++) outside |= isnan(y[a]);
    for (int a = 0; outside && a < d; a++) y[a] = NAN;
}

hb_status hb_transform_to_y(hb_context *context, const hb_transform *transform, double t, size_t n,
                            const double *x, double *y)
{
    const size_t d = (size_t)transform->dim;
    return transform_rows(context, transform, t, row_to_y, (transform_points){n, x, d, y, NULL});
}

/* z = L y from the last row up, so that x may be y. */
static void row_to_x(const hb_transform *transform, const double *L, const double *y, double *x,
                     double *unused)
{
    (void)unused;
    const size_t d = (size_t)transform->dim;
    for (size_t i = d; i-- > 0;) {
        x[i] = L ? y[i] * L[i * d + i] : y[i];
        for (size_t j = 0; L && transform->turns && j < i; j++) x[i] += L[i * d + j] * y[j];
        x[i] = hb_axis_to_x(&transform->axes[i], x[i]);
    }
}

hb_status hb_transform_to_x(hb_context *context, const hb_transform *transform, double t, size_t n,
                            const double *y, double *x)
{
    const size_t d = (size_t)transform->dim;
    return transform_rows(context, transform, t, row_to_x, (transform_points){n, y, d, x, NULL});
}

/* ---- densities ---- */

static void row_volume(const hb_transform *transform, const double *L, const double *y,
                       double *volume, double *unused)
{
    (void)unused;
    const size_t d = (size_t)transform->dim;
    *volume = 0;
    for (size_t a = 0; L && a < d; a++) *volume += log(fabs(L[a * d + a]));
    for (size_t a = 0; transform->bends && a < d; a++) {
        double z = L ? y[a] * L[a * d + a] : y[a];
        for (size_t j = 0; L && transform->turns && j < a; j++) z += L[a * d + j] * y[j];
        *volume += hb_axis_log_noise(&transform->axes[a], z);
    }
}

hb_status hb_transform_volume(hb_context *context, const hb_transform *transform, double t,
                              size_t n, const double *y, double *volume)
{
    return transform_rows(context, transform, t, row_volume,
                          (transform_points){n, y, 1, volume, NULL});
}

/* ---- scores ---- */

/* L' v = s, in place, from the last row up; error: the bound of what errors of s do. */
static void transform_solve_upper(const hb_transform *transform, const double *L, double *s,
                                  double *error)
{
    const size_t d = (size_t)transform->dim;
    for (size_t i = d; i-- > 0;) {
        for (size_t j = i + 1; transform->turns && j < d; j++) {
            s[i] -= L[j * d + i] * s[j];
            if (error) error[i] += fabs(L[j * d + i]) * error[j];
        }
        s[i] /= L[i * d + i];
        if (error) error[i] /= fabs(L[i * d + i]);
    }
}

static void row_score(const hb_transform *transform, const double *L, const double *x, double *s,
                      double *error)
{
    if (L) transform_solve_upper(transform, L, s, error);
    for (int a = 0; transform->bends && a < transform->dim; a++) {
        double b, slope;
        hb_axis_noise(&transform->axes[a], x[a], &b, &slope);
        s[a] = (s[a] - slope) / b;
        if (error) error[a] /= b;
    }
}

hb_status hb_transform_score(hb_context *context, const hb_transform *transform, double t, size_t n,
                             const double *x, double *score, double *error)
{
    const size_t d = (size_t)transform->dim;
    return transform_rows(context, transform, t, row_score,
                          (transform_points){n, x, d, score, error});
}

static void row_score_to_y(const hb_transform *transform, const double *L, const double *x,
                           double *s, double *unused)
{
    (void)unused;
    for (int a = 0; transform->bends && a < transform->dim; a++) {
        double b, slope;
        hb_axis_noise(&transform->axes[a], x[a], &b, &slope);
        s[a] = s[a] * b + slope;
    }
    if (L) hb_lower_transposed_multiply((size_t)transform->dim, L, s);
}

hb_status hb_transform_score_to_y(hb_context *context, const hb_transform *transform, double t,
                                  size_t n, const double *x, double *score)
{
    const size_t d = (size_t)transform->dim;
    return transform_rows(context, transform, t, row_score_to_y,
                          (transform_points){n, x, d, score, NULL});
}

/* ---- slopes ---- */

void hb_transform_vector_to_y(const hb_transform *transform, const double *x, double *v)
{
    for (int a = 0; transform->bends && a < transform->dim; a++) {
        double b, slope;
        hb_axis_noise(&transform->axes[a], x[a], &b, &slope);
        v[a] /= b;
    }
    if (transform->L) transform_solve(transform, transform->L, v);
}

void hb_transform_covector_to_z(const hb_transform *transform, double *v)
{
    if (transform->L) transform_solve_upper(transform, transform->L, v, NULL);
}

double hb_transform_bend(const hb_transform *transform, const double *x, const double *score)
{
    double sum = 0;
    for (int a = 0; transform->bends && a < transform->dim; a++) {
        double b, slope;
        hb_axis_noise(&transform->axes[a], x[a], &b, &slope);
        sum += (score[a] * slope + hb_axis_noise_bend(&transform->axes[a], x[a])) / b;
    }
    return sum;
}

/* ---- boxes ---- */

/* y = L^-1 z row by row, each with the bounds of those before it. */
static void bound_lower(size_t d, const double *L, double *low, double *high)
{
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < i; j++) {
            const double c = L[i * d + j];
            if (c == 0) continue;
            low[i] -= fmax(c * low[j], c * high[j]);
            high[i] -= fmin(c * low[j], c * high[j]);
        }
        const double ends[2] = {low[i] / L[i * d + i], high[i] / L[i * d + i]};
        const int swap = !(ends[0] <= ends[1]);
        low[i] = ends[swap];
        high[i] = ends[!swap];
    }
}

hb_status hb_transform_box_to_y(hb_context *context, const hb_transform *transform, double t,
                                const double *low, const double *high, double *y_low,
                                double *y_high)
{
    const size_t d = (size_t)transform->dim;
    const double *L;
    double *own;
    HB_TRY(transform_matrix_at(context, transform, t, &L, &own));
    for (size_t a = 0; a < d; a++) {
        const hb_axis_map *map = &transform->axes[a];
        y_low[a] = low[a] > map->low ? hb_axis_to_y(map, low[a]) : -INFINITY;
        y_high[a] = high[a] < map->high ? hb_axis_to_y(map, high[a]) : INFINITY;
    }
    if (L) bound_lower(d, L, y_low, y_high);
    hb_release(context, own);
    return HB_OK;
}

/* ---- for users ---- */

const char *hb_problem_frame(const hb_problem *problem)
{
    return problem && problem->transform ? problem->transform->text : NULL;
}

static hb_status transform_change(hb_context *context, const hb_problem *problem, double t,
                                  size_t n, const double *from, double *to, int back)
{
    HB_CHECK(context, problem && ((from && to) || n == 0), HB_ERROR_ARGUMENT,
             "the problem or the points to transform are NULL");
    const size_t d = (size_t)problem->dim;
    if (problem->transform)
        return (back ? hb_transform_to_x : hb_transform_to_y)(context, problem->transform, t, n,
                                                              from, to);
    if (from != to) memmove(to, from, n * d * sizeof *to);
    return HB_OK;
}

hb_status hb_problem_to_frame(hb_context *context, const hb_problem *problem, size_t n,
                              const double *x, double t, double *y)
{
    return transform_change(context, problem, t, n, x, y, 0);
}

hb_status hb_problem_from_frame(hb_context *context, const hb_problem *problem, size_t n,
                                const double *y, double t, double *x)
{
    return transform_change(context, problem, t, n, y, x, 1);
}
