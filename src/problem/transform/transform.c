/* A transform: points, densities and scores from x to y and back.
 *
 *     z_i = int dx_i/b_i,   y = L^-1 z,   ln u_x = ln u_y - sum ln b_i - ln |det L|
 *     score_z = L^-T score_y,   score_x,i = (score_z,i - b_i'(x_i))/b_i(x_i)
 * The errors of the components of score_y may hang together in any way, so that the error of score_z,i is bounded by
 * sum_j |L^-T|_ij e_j. The divergence is, q_i = L^-1 e_i/b_i being the direction in y of axis i of x,
 *     div_x score_x = sum_i q_i' (d score_y/dy) q_i - sum_i (score_x,i b_i' + b_i'')/b_i.
 * A number to reproduce: y = ln x, u_y = N(0, 1): at x = 2 ln u_x = -1.1591646 - ln 2, score_x = (-ln 2 - 1)/2. */
#include "problem/transform/transform.h"
#include "base/context.h"
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

/* L(t); *L stays NULL where it is the identity. *own is memory that the caller releases, of a transform that moves only. */
static hb_status matrix_at(hb_context *context, const hb_transform *transform, double t,
                           const double **L, void **own)
{
    const size_t d = (size_t)transform->dim;
    *own = NULL;
    *L = transform->moves ? NULL : transform->L;
    if (!transform->moves || !transform->scales) return HB_OK;
    HB_TRY(hb_allocate(context, d * d, sizeof(double), own));
    const hb_status status = hb_transform_matrix(context, transform, t, *own);
    if (status != HB_OK) hb_release(context, *own);
    *L = *own;
    return status;
}

/* ---- points ---- */

/* L y = z, in place, from the first row down. */
static void solve_lower(size_t d, int turns, const double *L, double *z)
{
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; turns && j < i; j++) z[i] -= L[i * d + j] * z[j];
        z[i] /= L[i * d + i];
    }
}

/* z = L y, in place, from the last row up. */
static void times_lower(size_t d, int turns, const double *L, double *y)
{
    for (size_t i = d; i-- > 0;) {
        y[i] *= L[i * d + i];
        for (size_t j = 0; turns && j < i; j++) y[i] += L[i * d + j] * y[j];
    }
}

hb_status hb_transform_to_y(hb_context *context, const hb_transform *transform, double t, size_t n,
                            const double *x, double *y)
{
    const size_t d = (size_t)transform->dim;
    const double *L;
    void *own;
    HB_TRY(matrix_at(context, transform, t, &L, &own));
    for (size_t i = 0; i < n; i++) {
        double *row = y + i * d;
        for (size_t a = 0; a < d; a++) row[a] = hb_axis_to_y(&transform->axes[a], x[i * d + a]);
        if (L) solve_lower(d, transform->turns, L, row);
        int outside = 0;
        for (size_t a = 0; a < d; a++) outside |= isnan(row[a]);
        for (size_t a = 0; outside && a < d; a++) row[a] = NAN;
    }
    hb_release(context, own);
    return HB_OK;
}

hb_status hb_transform_to_x(hb_context *context, const hb_transform *transform, double t, size_t n,
                            const double *y, double *x)
{
    const size_t d = (size_t)transform->dim;
    const double *L;
    void *own;
    HB_TRY(matrix_at(context, transform, t, &L, &own));
    if (x != y) memcpy(x, y, n * d * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        double *row = x + i * d;
        if (L) times_lower(d, transform->turns, L, row);
        for (size_t a = 0; a < d; a++) row[a] = hb_axis_to_x(&transform->axes[a], row[a]);
    }
    hb_release(context, own);
    return HB_OK;
}

/* ---- densities ---- */

hb_status hb_transform_volume(hb_context *context, const hb_transform *transform, double t,
                              size_t n, const double *y, double *volume)
{
    const size_t d = (size_t)transform->dim;
    const double *L;
    double constant = 0;
    void *own;
    HB_TRY(matrix_at(context, transform, t, &L, &own));
    for (size_t a = 0; L && a < d; a++) constant += log(fabs(L[a * d + a]));
    for (size_t i = 0; i < n; i++) {
        volume[i] = constant;
        for (size_t a = 0; transform->bends && a < d; a++) {
            double z = y[i * d + a];
            if (L) z *= L[a * d + a];
            for (size_t j = 0; L && transform->turns && j < a; j++)
                z += L[a * d + j] * y[i * d + j];
            volume[i] += hb_axis_log_noise(&transform->axes[a], z);
        }
    }
    hb_release(context, own);
    return HB_OK;
}

/* ---- scores ---- */

/* L' v = s, in place, from the last row up; error: the bound of what errors of s do. */
static void solve_upper(size_t d, int turns, const double *L, double *s, double *error)
{
    for (size_t i = d; i-- > 0;) {
        for (size_t j = i + 1; turns && j < d; j++) {
            s[i] -= L[j * d + i] * s[j];
            if (error) error[i] += fabs(L[j * d + i]) * error[j];
        }
        s[i] /= L[i * d + i];
        if (error) error[i] /= fabs(L[i * d + i]);
    }
}

hb_status hb_transform_score(hb_context *context, const hb_transform *transform, double t, size_t n,
                             const double *x, double *score, double *error)
{
    const size_t d = (size_t)transform->dim;
    const double *L;
    void *own;
    HB_TRY(matrix_at(context, transform, t, &L, &own));
    for (size_t i = 0; i < n; i++) {
        double *s = score + i * d, *e = error ? error + i * d : NULL;
        if (L) solve_upper(d, transform->turns, L, s, e);
        for (size_t a = 0; transform->bends && a < d; a++) {
            double b, slope;
            hb_axis_noise(&transform->axes[a], x[i * d + a], &b, &slope);
            s[a] = (s[a] - slope) / b;
            if (e) e[a] /= b;
        }
    }
    hb_release(context, own);
    return HB_OK;
}

hb_status hb_transform_score_to_y(hb_context *context, const hb_transform *transform, double t,
                                  size_t n, const double *x, double *score)
{
    const size_t d = (size_t)transform->dim;
    const double *L;
    void *own;
    HB_TRY(matrix_at(context, transform, t, &L, &own));
    for (size_t i = 0; i < n; i++) {
        double *s = score + i * d;
        for (size_t a = 0; transform->bends && a < d; a++) {
            double b, slope;
            hb_axis_noise(&transform->axes[a], x[i * d + a], &b, &slope);
            s[a] = s[a] * b + slope;
        }
        for (size_t a = 0; L && a < d; a++) { // L' s: row a needs s_a .. s_d
            double sum = 0;
            for (size_t j = a; j < d; j++) sum += L[j * d + a] * s[j];
            s[a] = sum;
        }
    }
    hb_release(context, own);
    return HB_OK;
}

/* ---- slopes ---- */

void hb_transform_vector_to_y(const hb_transform *transform, const double *x, double *v)
{
    for (int a = 0; transform->bends && a < transform->dim; a++) {
        double b, slope;
        hb_axis_noise(&transform->axes[a], x[a], &b, &slope);
        v[a] /= b;
    }
    if (transform->L) solve_lower((size_t)transform->dim, transform->turns, transform->L, v);
}

void hb_transform_covector_to_z(const hb_transform *transform, double *v)
{
    if (transform->L) solve_upper((size_t)transform->dim, transform->turns, transform->L, v, NULL);
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

static void order(double *low, double *high)
{
    if (*low <= *high) return;
    const double other = *low;
    *low = *high;
    *high = other;
}

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
        low[i] /= L[i * d + i];
        high[i] /= L[i * d + i];
        order(low + i, high + i);
    }
}

hb_status hb_transform_box_to_y(hb_context *context, const hb_transform *transform, double t,
                                const double *low, const double *high, double *y_low,
                                double *y_high)
{
    const size_t d = (size_t)transform->dim;
    const double *L;
    void *own;
    HB_TRY(matrix_at(context, transform, t, &L, &own));
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

static hb_status change(hb_context *context, const hb_problem *problem, double t, size_t n,
                        const double *from, double *to, int back)
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
    return change(context, problem, t, n, x, y, 0);
}

hb_status hb_problem_from_frame(hb_context *context, const hb_problem *problem, size_t n,
                                const double *y, double t, double *x)
{
    return change(context, problem, t, n, y, x, 1);
}
