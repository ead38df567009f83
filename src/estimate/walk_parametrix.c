/* Parametrix steps: the drift replaced by its linearisation, and the difference made good at
 * random.
 *
 * At a place x with b = F(x), A its Jacobian, the drift b + A y, y = x' - x, is the reference.
 * Backward over a lag s, seen as a function of x', its transition density is e^{-s tr A} times the
 * Gaussian
 *     N(m, C),   m = -K b,   K = int_0^s e^{-Av} dv,   C = 2 int_0^s e^{-Av} e^{-A'v} dv = L L'.
 * With R(y) = F(x',tau-s) - b - A y, of second order in y, Duhamel's formula for
 * du/dtau = Lap u - div(F u) is
 *     u(x,tau) = e^{-c tr A} E[u(x'_c, tau-c)]
 *                - int_0^c e^{-s tr A} E[ z.R(x'_s) u(x'_s, tau-s) ] ds,
 * x'_s = x + m + L g, z = L'^-1 g (the derivative that div leaves to the density). Multiply by
 * e^{-ls} e^{ls}: a clock of rate l that rings at s < c gives the factor
 *     e^{-s tr A} (1 - z.R/l)            and no ring before c gives      e^{-c tr A},
 * where the 1 stands for the walk that would have gone on: weights stay near 1 when l is large
 * against z.R ~ k sqrt(s), so l ~ k^(2/3). A new frame starts after every ring and every c = 2/l.
 * For a linear drift R = 0, l = 0, c = tau, and the walk has one step.
 *
 * Derivative by x with b, A and the anchor held: dx'/dx = E = e^{-As}, d(z.R) = z.(J(x') - A) E dx.
 *
 * With shared->full_frame 0 the diagonal of the Jacobian takes the place of A; R then has a part of
 * first order, z.R of order |A - diag A|, which is added to l.
 * A number to reproduce: F = -x from x = 0.7 over s = 0.5 has m = 0.7 (e^0.5 - 1), C = e - 1 and
 * the factor e^0.5. */
#include "estimate/particle_frame.h"
#include "estimate/walk_steps.h"

#include <math.h>
#include <string.h>

static const double REACH = 2;     /* the longest step is this over the rate */
static const double LEAST = 0.3;   /* least rate, over tau0 */
static const double MOMENT = 1.3;  /* from the curvature at a probe to the rms of z.R */
static const double BREATHE = 0.5; /* share of |A| in the rate */

static double trace(size_t d, const double *jacobian)
{
    double sum = 0;
    for (size_t i = 0; i < d; i++) sum += jacobian[i * d + i];
    return sum;
}

/* |F(probe) - b - A y| for the probe at +reach or -reach. */
static double remainder_size(size_t d, const hb_walk_view *view, const double *direction, int side)
{
    double squares = 0;
    for (size_t i = 0; i < d; i++) {
        double rest = view->probe_F[(size_t)side * d + i] - view->F[i];
        for (size_t j = 0; j < d; j++)
            rest -= (side ? -view->reach : view->reach) * view->jacobian[i * d + j] * direction[j];
        squares += rest * rest;
    }
    return sqrt(squares);
}

double hb_parametrix_rate(const hb_walk_problem *shared, const hb_walk *walk,
                          const hb_walk_view *view, double finesse)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    const double size =
        fmax(remainder_size(d, view, row.direction, 0), remainder_size(d, view, row.direction, 1));
    double all = 0, outside = 0; // squares of the Jacobian, and of what the frame leaves out
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            const double square = view->jacobian[i * d + j] * view->jacobian[i * d + j];
            all += square;
            if (!shared->full_frame && i != j) outside += square;
        }
    const double curvature = 2 * MOMENT * size / (view->reach * view->reach);
    const double rate =
        finesse * (cbrt(curvature * curvature) + sqrt(outside) + BREATHE * sqrt(all / (double)d));
    return fmax(rate, LEAST / shared->tau);
}

/* ---- the frame ------------------------------------------------------------------------------ */

/* (1 - e^-t)/t */
static double falling(double t)
{
    return fabs(t) < 1e-9 ? 1 - 0.5 * t : -expm1(-t) / t;
}

/* E, m and C as diagonals. */
static void diagonal_frame(size_t d, const double *b, const double *jacobian, double s, double *E,
                           double *m, double *C)
{
    for (size_t i = 0; i < d; i++) {
        const double a = jacobian[i * d + i];
        E[i] = exp(-a * s);
        m[i] = -s * falling(a * s) * b[i];
        C[i] = 2 * s * falling(2 * a * s);
    }
}

/* E, m and C as matrices; work: (5, d, d). */
static void full_frame(size_t d, const double *b, const double *jacobian, double s, double *E,
                       double *m, double *C, double *work)
{
    double *K = work + HB_LINEAR_WORK(d);
    hb_linear_functions(d, jacobian, s, E, K, C, work);
    for (size_t i = 0; i < d; i++) {
        m[i] = 0;
        for (size_t j = 0; j < d; j++) m[i] -= K[i * d + j] * b[j];
    }
}

/* Those of a drift that is linear at every tau, over the whole way; returns w. */
static double exact_frame(const hb_walk_problem *shared, const double *x, double *E, double *m,
                          double *C)
{
    const size_t d = shared->d;
    const double *all = shared->exact, *spread = all + d * d, *n = spread + d * d;
    for (size_t i = 0; i < d; i++) {
        m[i] = n[i] - x[i];
        for (size_t j = 0; j < d; j++) m[i] += all[i * d + j] * x[j];
        for (size_t j = 0; shared->full_frame && j < d; j++) {
            E[i * d + j] = all[i * d + j];
            C[i * d + j] = spread[i * d + j];
        }
        if (shared->full_frame) continue;
        E[i] = all[i * d + i];
        C[i] = spread[i * d + i];
    }
    return n[d];
}

int hb_walk_cholesky(size_t d, double *C)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = C[i * d + j];
            for (size_t k = 0; k < j; k++) sum -= C[i * d + k] * C[j * d + k];
            if (i == j && !(sum > 0 && isfinite(sum))) return 0;
            C[i * d + j] = i == j ? sqrt(sum) : sum / C[j * d + j];
        }
    return 1;
}

/* y = L g, z = L'^-1 g */
static void full_draw(size_t d, const double *L, const double *g, double *y, double *z)
{
    for (size_t i = 0; i < d; i++) {
        y[i] = 0;
        for (size_t j = 0; j <= i; j++) y[i] += L[i * d + j] * g[j];
    }
    for (size_t i = d; i-- > 0;) {
        double rest = g[i];
        for (size_t k = i + 1; k < d; k++) rest -= L[k * d + i] * z[k];
        z[i] = rest / L[i * d + i];
    }
}

/* tangent = E tangent */
static void turn_tangent(const hb_walk_problem *shared, const double *E, double *tangent,
                         double *work)
{
    const size_t d = shared->d;
    if (!shared->full_frame) {
        for (size_t i = 0; i < d; i++) tangent[i] *= E[i];
        return;
    }
    memset(work, 0, d * d * sizeof *work);
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < d; k++)
            for (size_t j = 0; j < d; j++) work[i * d + j] += E[i * d + k] * tangent[k * d + j];
    memcpy(tangent, work, d * d * sizeof *work);
}

/* x += m + L g; the frame, z and b + A y are kept for settling. 0: the walk is lost. */
static int move(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view,
                const double *m, double *C)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    double *y = row.expected;
    if (shared->full_frame) {
        if (!hb_walk_cholesky(d, C)) return 0;
        full_draw(d, C, view->normals, y, row.arm);
    } else {
        for (size_t i = 0; i < d; i++) {
            if (!(C[i] > 0 && isfinite(C[i]))) return 0;
            const double sd = sqrt(C[i]);
            y[i] = sd * view->normals[i];
            row.arm[i] = view->normals[i] / sd;
        }
    }
    for (size_t i = 0; i < d; i++) {
        y[i] += m[i];
        row.x[i] += y[i];
    }
    return 1;
}

static void keep_frame(const hb_walk_problem *shared, const hb_walk_view *view,
                       const hb_walk_row *row, double *work)
{
    const size_t d = shared->d;
    const double *y = row->expected;
    for (size_t i = 0; i < d; i++) {
        work[i] = view->F[i];
        if (!shared->full_frame) {
            row->frame[i] = view->jacobian[i * d + i];
            work[i] += row->frame[i] * y[i];
        }
        for (size_t j = 0; shared->full_frame && j < d; j++)
            work[i] += view->jacobian[i * d + j] * y[j];
    }
    if (shared->full_frame) memcpy(row->frame, view->jacobian, d * d * sizeof(double));
    memcpy(row->expected, work, d * sizeof(double));
}

int hb_parametrix_step(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view,
                       double rate, double *spread)
{
    const size_t d = shared->d, matrix = shared->full_frame ? d * d : d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    double *E = view->work, *m = E + matrix, *work = m + d;
    const double cap = rate > 0 ? fmin(walk->left, REACH / rate) : walk->left;
    const double ring = rate > 0 ? -log(view->uniform) / rate : INFINITY, s = fmin(ring, cap);
    const int last = ring >= cap && cap >= walk->left;
    double w = s * trace(d, view->jacobian);
    if (shared->exact)
        w = exact_frame(shared, row.x, E, m, spread);
    else if (shared->full_frame)
        full_frame(d, view->F, view->jacobian, s, E, m, spread, work);
    else
        diagonal_frame(d, view->F, view->jacobian, s, E, m, spread);
    walk->log_weight -= w;
    walk->left = last ? 0 : walk->left - s;
    walk->rate = rate;
    turn_tangent(shared, E, row.tangent, work);
    if (last) {
        for (size_t i = 0; i < d; i++) row.x[i] += m[i];
        return 1;
    }
    walk->lost |= !move(shared, walk, view, m, spread);
    if (ring < cap) {
        walk->pending = HB_PENDING_PARAMETRIX;
        keep_frame(shared, view, &row, work);
    }
    return 0;
}

/* ---- what a ring is worth ------------------------------------------------------------------- */

void hb_walk_multiply(size_t d, hb_walk *walk, double *slope, double factor, const double *change)
{
    walk->log_weight += log(fabs(factor));
    if (factor < 0) walk->sign = -walk->sign;
    for (size_t i = 0; i < d; i++) slope[i] += change[i] / factor;
}

void hb_walk_pull(const hb_walk_problem *shared, const double *tangent, double share,
                  const double *vector, double *out)
{
    const size_t d = shared->d;
    for (size_t k = 0; k < d; k++) {
        double sum = shared->full_frame ? 0 : tangent[k] * vector[k];
        for (size_t j = 0; shared->full_frame && j < d; j++) sum += tangent[j * d + k] * vector[j];
        out[k] += share * sum;
    }
}

/* change = -tangent' (J - A)' z/rate */
static void change_of(const hb_walk_problem *shared, const hb_walk *walk, const hb_walk_view *view,
                      const hb_walk_row *row, double *change, double *work)
{
    const size_t d = shared->d;
    for (size_t j = 0; j < d; j++) {
        work[j] = 0;
        for (size_t i = 0; i < d; i++) work[j] += view->jacobian[i * d + j] * row->arm[i];
        if (!shared->full_frame) work[j] -= row->frame[j] * row->arm[j];
        for (size_t i = 0; shared->full_frame && i < d; i++)
            work[j] -= row->frame[i * d + j] * row->arm[i];
    }
    memset(change, 0, d * sizeof *change);
    hb_walk_pull(shared, row->tangent, -1 / walk->rate, work, change);
}

void hb_parametrix_settle(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    double *change = view->work, dot = 0;
    for (size_t i = 0; i < d; i++) dot += row.arm[i] * (view->F[i] - row.expected[i]);
    change_of(shared, walk, view, &row, change, change + d);
    hb_walk_multiply(d, walk, row.slope, 1 - dot / walk->rate, change);
}
