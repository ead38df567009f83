/* Steps of the parametrix towards an initial density that is a single point x0.
 *
 * The last step is worth N(x0; x + m, C(left)), which has no finite square after an event shortly
 * before the end. So, once the end is near, the normals g of a step are those of a walk in the
 * linear frame that arrives at x0: over the lag s x' = x + m_s + L g, and over r = left - s then
 * x0 = x + m_left + H g + N(0, C_r), H = E_r L; so
 *     g = mean + P^(-1/2) eta, P = I + H'C_r^-1 H, mean = M (x0 - x - m_left), M = P^-1 H'C_r^-1,
 *     weight  N(g; 0, 1)/N(g; mean, P^-1) = exp((|eta|^2 - |g|^2)/2) det P^(-1/2).
 * Derivatives by the walk's beginning, with eta held, stay bounded as r -> 0:
 *     dx'/dx = E_s - L M E_left,     d ln weight = g'M E_left dx,     dz = -L'^-1 M E_left dx.
 * A number to reproduce: F = 0, s = r, x = 0, x0 = 1: x' ~ N(1/2, s). */
#include "base/linear_algebra.h"
#include "bridge/bridge.h"

#include <string.h>

enum { MOST = HB_BRIDGE_DIM, MATRIX = MOST * MOST };

/* ---- diagonal frames ---- */

static void diagonal_bridge(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view,
                            double s, const double *E, double *g)
{
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    const double r = walk->left - s;
    const hb_walk_problem one = {.d = 1};
    double log_weight = 0;
    for (size_t i = 0; i < shared->d; i++) {
        const double b = view->F[i], a = view->jacobian[i * shared->d + i], eta = view->normals[i];
        const hb_walk_view axis = {.F = &b, .jacobian = &a};
        double Er, mr, Cr, El, ml, Cl;
        hb_walk_frame(&one, &axis, 1, r, &Er, &mr, &Cr, NULL);
        hb_walk_frame(&one, &axis, 1, walk->left, &El, &ml, &Cl, NULL);
        const double L = sqrt(view->spread[i]), H = Er * L, P = 1 + H * H / Cr, M = H / Cr / P;
        const double turn = -M * El * row.tangent[i]; // of g, by the walk's beginning
        g[i] = M * (shared->place[i] - row.x[i] - ml) + eta / sqrt(P);
        log_weight += 0.5 * (eta * eta - g[i] * g[i] - log(P));
        row.slope[i] -= g[i] * turn;
        row.turn[i] = turn / L;
        row.tangent[i] = E[i] * row.tangent[i] + L * turn;
    }
    walk->log_weight += log_weight;
}

/* ---- full frames ---- */

/* out = a'b */
static void multiply_transposed(size_t d, const double *a, const double *b, double *out)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            out[i * d + j] = 0;
            for (size_t k = 0; k < d; k++) out[i * d + j] += a[k * d + i] * b[k * d + j];
        }
}

static void clear_upper(size_t d, double *L)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = i + 1; j < d; j++) L[i * d + j] = 0;
}

typedef struct bridge {
    double L[MATRIX], El[MATRIX], Lp[MATRIX], M[MATRIX]; /* roots of C_s and P */
    double mean[MOST];
} bridge;

/* 0: one of the covariances is not positive definite. */
static int step_build(const hb_walk_problem *shared, const hb_walk *walk, const hb_walk_view *view,
                      double s, bridge *b, double *work)
{
    const size_t d = shared->d, dd = d * d;
    const double *x = walk->row;
    double Er[MATRIX], Lr[MATRIX], U[MATRIX], ml[MOST], gap[MOST];
    hb_walk_frame(shared, view, 1, walk->left, b->El, ml, Lr, work);
    for (size_t i = 0; i < d; i++) gap[i] = shared->place[i] - x[i] - ml[i];
    hb_walk_frame(shared, view, 1, walk->left - s, Er, ml, Lr, work);
    memcpy(b->L, view->spread, dd * sizeof(double));
    if (!hb_cholesky(d, Lr) || !hb_cholesky(d, b->L)) return 0;
    clear_upper(d, b->L);
    hb_matrix_multiply(d, 1, Er, b->L, U);
    hb_solve_lower(d, Lr, d, U);
    multiply_transposed(d, U, U, b->Lp);
    for (size_t i = 0; i < d; i++) b->Lp[i * d + i] += 1;
    if (!hb_cholesky(d, b->Lp)) return 0;
    double root[MATRIX]; // C_r^(-1/2)
    hb_matrix_diagonal(d, 1, root);
    hb_solve_lower(d, Lr, d, root);
    multiply_transposed(d, U, root, b->M);
    hb_solve_lower(d, b->Lp, d, b->M);
    hb_solve_upper(d, b->Lp, d, b->M);
    for (size_t i = 0; i < d; i++) b->mean[i] = hb_dot(d, b->M + i * d, gap);
    return 1;
}

static int full_bridge(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view,
                       double s, const double *E, double *g, double *work)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    bridge b;
    double carried[MATRIX], moved[MATRIX];
    if (!step_build(shared, walk, view, s, &b, work)) return 0;
    memcpy(g, view->normals, d * sizeof *g);
    hb_solve_upper(d, b.Lp, 1, g);
    for (size_t i = 0; i < d; i++) {
        g[i] += b.mean[i];
        walk->log_weight +=
            0.5 * (view->normals[i] * view->normals[i] - g[i] * g[i]) - log(b.Lp[i * d + i]);
    }
    hb_matrix_multiply(d, 1, b.El, row.tangent, carried);
    hb_matrix_multiply(d, -1, b.M, carried, row.turn); // of g, by the walk's beginning
    for (size_t k = 0; k < d; k++)
        for (size_t i = 0; i < d; i++) row.slope[k] -= g[i] * row.turn[i * d + k];
    hb_matrix_multiply(d, 1, E, row.tangent, carried);
    hb_matrix_multiply(d, 1, b.L, row.turn, moved);
    for (size_t k = 0; k < d * d; k++) row.tangent[k] = carried[k] + moved[k];
    hb_solve_upper(d, b.L, d, row.turn);
    return 1;
}

int hb_bridge_step(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view, double s,
                   const double *E, double *g, double *work)
{
    if (shared->full_frame) return full_bridge(shared, walk, view, s, E, g, work);
    diagonal_bridge(shared, walk, view, s, E, g);
    return 1;
}
