/* Linear drifts that change with tau: the frame of one step over the whole way.
 *
 * For F(x,tau) = c(tau) + A(tau) x, backward over the lag s from tau0, the reference of
 * walk_parametrix.c with A and c as functions of tau0 - s is exact, and its Gaussian has
 *     x' = E x + n + noise of covariance C, factor e^{-w}:
 *     E' = -A E,    n' = -A n - c,    C' = 2 I - A C - C A',    w' = tr A,
 * from E = 1 and zeros. The classical Runge-Kutta scheme with N = 64, 128, ... steps and one
 * extrapolation (16 fine - coarse)/15, until two extrapolations agree to 1e-11 of their size. This
 * is what noise schedules lead to: f = -x/2 with g(t) gives A = -1/g^2, which a frozen frame serves
 * badly. A drift is taken for linear when it is so at PROBES points on three scales at TIMES values
 * of tau. A number to reproduce: F = -x: E = e^s, n = 0, C = e^{2s} - 1, w = -s. */
#include "base/context.h"
#include "base/memory.h"
#include "estimate/walk_steps.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

#define PROBE_STREAM (UINT64_C(0xFA2) << 52) /* used by nothing else */

enum { PROBES = 12, TIMES = 9, FIRST_STEPS = 64, MOST_STEPS = 32768, LARGEST_DIM = 64 };

static const double AGREEMENT = 1e-11;

size_t hb_walk_exact_size(size_t d)
{
    return 2 * d * d + d + 1;
}

/* ---- is it linear? -------------------------------------------------------------------------- */

static int fits(size_t d, const double *x, const double *F, const double *F0, const double *A)
{
    for (size_t j = 0; j < d; j++) {
        double sum = F0[j], size = fabs(F0[j]);
        for (size_t k = 0; k < d; k++) {
            sum += A[j * d + k] * x[k];
            size += fabs(A[j * d + k] * x[k]);
        }
        if (!(fabs(F[j] - sum) <= 1e-12 * size)) return 0;
    }
    return 1;
}

/* x[PROBES][d], the first the origin; F, A: room. */
static hb_status linear_at(hb_context *context, const hb_problem *problem, double tau, size_t d,
                           const double *x, double *F, double *A, int *yes)
{
    double times[PROBES];
    for (int i = 0; i < PROBES; i++) times[i] = tau;
    HB_TRY(hb_problem_drift_each(context, problem, PROBES, x, times, F, NULL, NULL, NULL));
    HB_TRY(hb_problem_drift_each(context, problem, 1, x, times, F, NULL, NULL, A));
    for (size_t i = 1; i < PROBES && *yes; i++) *yes = fits(d, x + i * d, F + i * d, F, A);
    return HB_OK;
}

static hb_status is_linear(hb_context *context, const hb_problem *problem, double tau, size_t d,
                           int *yes)
{
    void *memory;
    HB_TRY(hb_allocate(context, 2 * PROBES * d + d * d, sizeof(double), &memory));
    double *x = memory, *F = x + PROBES * d, *A = F + PROBES * d;
    hb_status status = hb_random_normal(context, 1, PROBE_STREAM, 0, PROBES * d, x);
    for (size_t k = 0; k < PROBES * d; k++)
        x[k] *= k < d ? 0 : k < 5 * d ? 1 : k < 9 * d ? 30 : 1000;
    *yes = 1;
    for (int i = 0; i < TIMES && status == HB_OK && *yes; i++)
        status = linear_at(context, problem, tau * i / (TIMES - 1), d, x, F, A, yes);
    hb_release(context, memory);
    return status;
}

/* ---- the frame ------------------------------------------------------------------------------ */

/* rates = d(state)/ds; state: E, C (d, d), n (d), w. */
static void rates_of(size_t d, const double *A, const double *c, const double *state, double *rates)
{
    const double *E = state, *C = E + d * d, *n = C + d * d;
    double *dE = rates, *dC = dE + d * d, *dn = dC + d * d, *dw = dn + d;
    *dw = 0;
    for (size_t i = 0; i < d; i++) {
        dn[i] = -c[i];
        *dw += A[i * d + i];
        for (size_t k = 0; k < d; k++) dn[i] -= A[i * d + k] * n[k];
        for (size_t j = 0; j < d; j++) {
            dE[i * d + j] = 0;
            dC[i * d + j] = i == j ? 2 : 0;
            for (size_t k = 0; k < d; k++) {
                dE[i * d + j] -= A[i * d + k] * E[k * d + j];
                dC[i * d + j] -= A[i * d + k] * C[k * d + j] + C[i * d + k] * A[j * d + k];
            }
        }
    }
}

typedef struct linear_path {
    const hb_problem *problem;
    size_t d;
    double tau;
    double *origin, *times, *c, *A; // (3, d), (3), (3, d), (3, d, d): of one step
    double *k;                      // (5, state)
} linear_path;

/* One Runge-Kutta step of length h from lag s. */
static hb_status runge_kutta(hb_context *context, const linear_path *p, double s, double h,
                             double *state)
{
    static const double ahead[4] = {0, 0.5, 0.5, 1}, weight[4] = {1, 2, 2, 1};
    static const size_t node[4] = {0, 1, 1, 2};
    const size_t d = p->d, size = hb_walk_exact_size(d);
    double *moved = p->k + 4 * size;
    for (int i = 0; i < 3; i++) p->times[i] = fmax(0, p->tau - s - 0.5 * i * h);
    HB_TRY(
        hb_problem_drift_each(context, p->problem, 3, p->origin, p->times, p->c, NULL, NULL, p->A));
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < size; j++)
            moved[j] = state[j] + (i ? ahead[i] * h * p->k[(i - 1) * size + j] : 0);
        rates_of(d, p->A + node[i] * d * d, p->c + node[i] * d, moved, p->k + i * size);
    }
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < size; j++) state[j] += h / 6 * weight[i] * p->k[i * size + j];
    return HB_OK;
}

static hb_status integrate(hb_context *context, const linear_path *p, int steps, double *state)
{
    const double h = p->tau / steps;
    memset(state, 0, hb_walk_exact_size(p->d) * sizeof *state);
    for (size_t i = 0; i < p->d; i++) state[i * p->d + i] = 1;
    for (int k = 0; k < steps; k++) HB_TRY(runge_kutta(context, p, h * k, h, state));
    return HB_OK;
}

/* Two extrapolated states agree, relative to the largest entries of their parts. */
static int agree(size_t d, const double *a, const double *b)
{
    const size_t ends[] = {d * d, 2 * d * d, 2 * d * d + d, 2 * d * d + d + 1};
    for (size_t part = 0, i = 0; part < 4; part++) {
        double size = part == 0 ? 0 : 1e-300, gap = 0;
        for (; i < ends[part]; i++) {
            size = fmax(size, fabs(a[i]));
            gap = fmax(gap, fabs(a[i] - b[i]));
        }
        if (!(gap <= AGREEMENT * size) && gap > 0) return 0;
    }
    return 1;
}

/* states: (4, size): coarse, fine, extrapolated before and now. */
static hb_status refine(hb_context *context, const linear_path *p, double *states, int *found)
{
    const size_t size = hb_walk_exact_size(p->d);
    double *coarse = states, *fine = coarse + size, *before = fine + size, *now = before + size;
    *found = 0;
    HB_TRY(integrate(context, p, FIRST_STEPS, coarse));
    for (int steps = 2 * FIRST_STEPS; steps <= MOST_STEPS && !*found; steps *= 2) {
        HB_TRY(integrate(context, p, steps, fine));
        for (size_t i = 0; i < size; i++) now[i] = fine[i] + (fine[i] - coarse[i]) / 15;
        *found = steps > 2 * FIRST_STEPS && agree(p->d, now, before);
        memcpy(before, now, size * sizeof *now);
        memcpy(coarse, fine, size * sizeof *fine);
    }
    return HB_OK;
}

hb_status hb_walk_exact_frame(hb_context *context, const hb_problem *problem, double tau,
                              double **frame)
{
    const size_t d = (size_t)hb_problem_dim(problem), size = hb_walk_exact_size(d);
    int found = d <= LARGEST_DIM;
    *frame = NULL;
    if (found) HB_TRY(is_linear(context, problem, tau, d, &found));
    if (!found) return HB_OK;
    void *memory;
    HB_TRY(hb_allocate(context, 9 * size + 3 * (2 * d + 1 + d * d), sizeof(double), &memory));
    double *states = memory;
    linear_path path = {.problem = problem, .d = d, .tau = tau, .k = states + 4 * size};
    path.origin = path.k + 5 * size;
    path.times = path.origin + 3 * d;
    path.c = path.times + 3;
    path.A = path.c + 3 * d;
    memset(path.origin, 0, 3 * d * sizeof(double));
    const hb_status status = refine(context, &path, states, &found);
    if (status != HB_OK || !found) {
        hb_release(context, memory);
        return status;
    }
    memcpy(states, states + 2 * size, size * sizeof(double)); // the last extrapolation
    *frame = states;
    return HB_OK;
}
