/* The linear frame: what the steps of walk_parametrix.c and walk_reversed.c have in common.
 *
 * At a place x with b = F(x), A its Jacobian, the drift b + A y, y = x' - x, moves a Gaussian; over
 * a lag s, flow = 1 backward and -1 forward, with B = flow A,
 *     x' = x + m + L g,   m = -flow K b,   K = int_0^s e^{-Bv} dv,
 *     C = L L' = 2 int_0^s e^{-Bv} e^{-B'v} dv,   dx'/dx = E = e^{-Bs}.
 * After an event z = L'^-1 g, b + A y and A are needed again, when the drift at x' is known: they
 * are kept in the walk's row. The frame is a matrix or, with shared->full_frame 0, a diagonal.
 * A number to reproduce: F = -x from x = 0.7 over s = 0.5 has, backward, m = 0.7 (e^0.5 - 1) and
 * C = e - 1; forward, m = -0.7 (1 - e^-0.5) and C = 1 - e^-1. */
#include "base/linear_algebra.h"
#include "walk/walk_steps.h"

#include <math.h>
#include <string.h>

/* y = L g, z = L'^-1 g */
static void full_draw(size_t d, const double *L, const double *g, double *y, double *z)
{
    hb_lower_multiply(d, L, g, y);
    memcpy(z, g, d * sizeof *z);
    hb_solve_upper(d, L, 1, z);
}

void hb_walk_carry(const hb_walk_problem *shared, const double *E, double *tangent, double *work)
{
    const size_t d = shared->d;
    if (!shared->full_frame) {
        for (size_t i = 0; i < d; i++) tangent[i] *= E[i];
        return;
    }
    hb_matrix_multiply(d, 1, E, tangent, work);
    memcpy(tangent, work, d * d * sizeof *work);
}

int hb_walk_move(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view,
                 const double *m)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    double *y = row.expected, *C = view->spread;
    if (shared->full_frame) {
        if (!hb_cholesky(d, C)) return 0;
        full_draw(d, C, view->normals, y, row.gradient);
    } else {
        for (size_t i = 0; i < d; i++) {
            if (!(C[i] > 0 && isfinite(C[i]))) return 0;
            const double sd = sqrt(C[i]);
            y[i] = sd * view->normals[i];
            row.gradient[i] = view->normals[i] / sd;
        }
    }
    for (size_t i = 0; i < d; i++) {
        y[i] += m[i];
        row.x[i] += y[i];
    }
    return 1;
}

void hb_walk_keep_frame(const hb_walk_problem *shared, const hb_walk *walk,
                        const hb_walk_view *view, double *work)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    const double *y = row.expected;
    for (size_t i = 0; i < d; i++) {
        work[i] = view->F[i];
        if (!shared->full_frame) {
            row.frame[i] = view->jacobian[i * d + i];
            work[i] += row.frame[i] * y[i];
        }
        for (size_t j = 0; shared->full_frame && j < d; j++)
            work[i] += view->jacobian[i * d + j] * y[j];
    }
    if (shared->full_frame) memcpy(row.frame, view->jacobian, d * d * sizeof(double));
    memcpy(row.expected, work, d * sizeof(double));
}

void hb_walk_multiply(size_t d, hb_walk *walk, double *slope, double factor, const double *change)
{
    walk->log_weight += log(fabs(factor));
    if (factor < 0) walk->sign = -walk->sign;
    for (size_t i = 0; i < d; i++) slope[i] += change[i] / factor;
}

void hb_walk_pull(const hb_walk_problem *shared, const double *tangent, double fraction,
                  const double *vector, double *out)
{
    const size_t d = shared->d;
    if (!shared->full_frame) {
        for (size_t k = 0; k < d; k++) out[k] += fraction * tangent[k] * vector[k];
        return;
    }
    for (size_t k = 0; k < d; k++) {
        double sum = 0;
        for (size_t j = 0; j < d; j++) sum += tangent[j * d + k] * vector[j];
        out[k] += fraction * sum;
    }
}

void hb_walk_rest_slope(const hb_walk_problem *shared, const hb_walk *walk,
                        const hb_walk_view *view, double *out)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    for (size_t j = 0; j < d; j++) {
        out[j] = 0;
        for (size_t i = 0; i < d; i++) out[j] += view->jacobian[i * d + j] * row.gradient[i];
        if (!shared->full_frame) out[j] -= row.frame[j] * row.gradient[j];
        for (size_t i = 0; shared->full_frame && i < d; i++)
            out[j] -= row.frame[i * d + j] * row.gradient[i];
    }
}
