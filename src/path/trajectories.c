/* Trajectories of dX = F(X,tau) dtau + sqrt(2) dW.
 *
 * Linear F = c + A x with constant A: over a gap g, L L' = 2 int_0^g e^(Av) e^(A'v) dv,
 *     X' = e^(Ag) X + K c + L xi,     K = int_0^g e^(Av) dv,     with no error of time.
 * Otherwise Heun's scheme, of weak order 2 for additive noise (Kloeden, Platen, 1992, section
 * 15.1):
 *     Y = X + h F(X,tau) + sqrt(2h) xi,     X' = X + (h/2) (F(X,tau) + F(Y,tau+h)) + sqrt(2h) xi.
 * Each path has its own step plan->step/2^k with h l <= 1/2, l = |F(Y) - F(X)|/|Y - X| of its last
 * step: known before the noise is drawn, so the order is kept. Coarse twins take one step of 2h
 * with the same noise. A noise matrix G(t) has sqrt(h/2) (G(t_1) xi_1 + G(t_2) xi_2) for sqrt(2h)
 * xi, t_1, t_2 Gauss's nodes in the step; a constant G has one xi. A path whose drift is not
 * finite, or with too many steps, is lost.
 * Must reproduce: F = -x from X = 1, one step h without noise gives 1 - h + h^2/2. */
#include "path/trajectories.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "problem/initial/initial_average.h"
#include "problem/noise.h"
#include "problem/time_cuts.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { MOST_SWEEPS = 200000, MOST_DIVISIONS = 60 };

static const double STEP_LIMIT = 0.5;

static hb_status draw_initial(hb_context *context, const hb_path_plan *plan, uint64_t first,
                              size_t n, double *x)
{
    hb_status status;
    for (size_t i = 0; plan->start && i < n; i++)
        memcpy(x + i * plan->dim, plan->start + (first + i) % plan->n_start * plan->dim,
               plan->dim * sizeof *x);
    if (plan->start) return HB_OK;
    if (!hb_problem_initial_facts(plan->problem)->serial)
        return hb_problem_initial_sample(context, plan->problem, plan->seed, first, n, x);
#pragma omp critical(hb_paths_initial)
    status = hb_problem_initial_sample(context, plan->problem, plan->seed, first, n, x);
    return status;
}

/* ---- linear drifts ---- */

hb_status hb_linear_drift_find(hb_context *context, const hb_problem *problem, hb_linear_drift *out)
{
    const size_t d = (size_t)hb_problem_dim(problem);
    *out = (hb_linear_drift){NULL, NULL};
    if (!hb_problem_is_autonomous(problem) || !hb_problem_is_linear(problem)) return HB_OK;
    if (hb_problem_noise_kind(problem) != HB_NOISE_SCALAR) return HB_OK;
    void *memory;
    HB_TRY(hb_allocate(context, d * d + 2 * d, sizeof(double), &memory));
    double *A = memory, *c = A + d * d, *origin = memset(c + d, 0, d * sizeof(double));
    const hb_status status = hb_problem_drift(context, problem, 1, origin, 0, c, NULL, NULL, A);
    if (status == HB_OK)
        *out = (hb_linear_drift){A, c};
    else
        hb_release(context, memory);
    return status;
}

/* E (d, d), shift (d), L (d, d) of one gap. */
static hb_status linear_transition(hb_context *context, size_t d, const hb_linear_drift *drift,
                                   double gap, double *out, double *work)
{
    double *E = out, *shift = out + d * d, *L = shift + d, *negative = work, *K = work + d * d;
    for (size_t k = 0; k < d * d; k++) negative[k] = -drift->A[k];
    hb_linear_functions(d, negative, gap, E, K, L, work + 2 * d * d);
    for (size_t i = 0; i < d; i++) {
        shift[i] = 0;
        for (size_t j = 0; j < d; j++) shift[i] += K[i * d + j] * drift->c[j];
    }
    const lapack_int info = LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', (int)d, L, (int)d);
    HB_CHECK(context, info == 0 && isfinite(L[0]), HB_ERROR_NUMERICAL,
             "the linear drift grows beyond double over tau = %g", gap);
    return HB_OK;
}

hb_status hb_path_transitions(hb_context *context, hb_path_plan *plan)
{
    const size_t d = plan->dim, row = 2 * d * d + d;
    plan->transitions = NULL;
    if (!plan->linear.A) return HB_OK;
    void *memory, *work;
    HB_TRY(hb_allocate(context, plan->n_times * row, sizeof(double), &memory));
    plan->transitions = memory;
    HB_TRY(hb_allocate(context, HB_LINEAR_WORK(d) + 2 * d * d, sizeof(double), &work));
    hb_status status = HB_OK;
    for (size_t k = 0; k < plan->n_times && status == HB_OK; k++) {
        const double gap = plan->times[k] - (k ? plan->times[k - 1] : plan->begin);
        if (gap > 0)
            status = linear_transition(context, d, &plan->linear, gap, plan->transitions + k * row,
                                       work);
    }
    hb_release(context, work);
    return status;
}

/* One exact transition of n paths; noise (n, d). */
static void step_exactly(size_t d, size_t n, const double *transitions, const double *noise,
                         const double *from, double *to)
{
    const double *E = transitions, *shift = E + d * d, *L = shift + d;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            double sum = shift[j];
            for (size_t k = 0; k < d; k++) sum += E[j * d + k] * from[i * d + k];
            for (size_t k = 0; k <= j; k++) sum += L[j * d + k] * noise[i * d + k];
            to[i * d + j] = sum;
        }
}

/* ---- Heun's scheme ---- */

/* What one call works with. The active paths are packed: row a belongs to path index[a]. */
typedef struct stepper {
    hb_context *context;
    const hb_path_plan *plan;
    uint64_t stream, drawn; /* normals that were drawn, always even */
    size_t d, n, active;
    size_t *index;          // (n)
    double *tau;            // (n), of each path
    double *slope;          // (n), l of each path
    double *x[2];           // (n, d) each: the paths, and their coarse twins
    double *y[2], *F[2];    // (n, d) each, packed
    double *end, *Fend;     // (n, d), packed
    double *noise[2];       // (n, d) each, packed
    double *now, *then, *h; // (n), packed
    int twins;              /* 1: coarse twins too */
    size_t m;               /* columns of G; 0: the noise is a number */
    double *G, *normals;    // (2, d, m), (n, 2, m)
    double G_time[2];       /* at which G is known; NaN: at none */
    int G_constant;
    hb_workspace work;
} stepper;

static hb_status create_stepper(hb_context *context, const hb_path_plan *plan, uint64_t first,
                                size_t n, int twins, stepper *out)
{
    const size_t d = plan->dim;
    *out = (stepper){.context = context, .plan = plan, .stream = HB_STREAM_PATHS | first};
    out->d = d, out->n = n, out->twins = twins;
    out->G_time[0] = out->G_time[1] = NAN;
    out->G_constant = hb_problem_noise_is_constant(plan->problem);
    if (hb_problem_noise_kind(plan->problem) == HB_NOISE_MATRIX)
        out->m = (size_t)hb_problem_noise_columns(plan->problem);
    return HB_WORKSPACE(context, &out->work, HB_ARRAY(out->x[0], n * d), HB_ARRAY(out->y[0], n * d),
                        HB_ARRAY(out->F[0], n * d), HB_ARRAY(out->noise[0], n * d),
                        HB_ARRAY(out->x[1], n * d), HB_ARRAY(out->y[1], n * d),
                        HB_ARRAY(out->F[1], n * d), HB_ARRAY(out->noise[1], n * d),
                        HB_ARRAY(out->end, n * d), HB_ARRAY(out->Fend, n * d),
                        HB_ARRAY(out->tau, n), HB_ARRAY(out->slope, n), HB_ARRAY(out->now, n),
                        HB_ARRAY(out->then, n), HB_ARRAY(out->h, n), HB_ARRAY(out->index, n),
                        HB_ARRAY(out->G, 2 * d * out->m), HB_ARRAY(out->normals, 2 * n * out->m));
}

/* noise[d] += factor G(t) xi; G is kept for the next path, which is often at the same time. */
static hb_status add_matrix_noise(stepper *s, int node, double t, double factor, const double *xi,
                                  double *noise)
{
    const size_t d = s->d, m = s->m;
    double *G = s->G + (size_t)node * d * m;
    if (!(s->G_constant ? !isnan(s->G_time[node]) : s->G_time[node] == t))
        HB_TRY(hb_problem_noise_factor(s->context, s->plan->problem, 1, NULL, t, G));
    s->G_time[node] = t;
    for (size_t i = 0; i < d; i++) noise[i] += factor * hb_dot(m, G + i * m, xi);
    return HB_OK;
}

/* noise (active, d), whose product with sqrt(2h) is that of each path's step. */
static hb_status draw_matrix_noise(stepper *s, const double *from, const double *to, double *noise)
{
    const size_t d = s->d, nodes = s->G_constant ? 1 : 2, width = nodes * s->m,
                 count = s->active * width;
    const double place = 0.5 / sqrt(3), factor = sqrt(0.5 / (double)nodes);
    HB_TRY(hb_random_normal(s->context, s->plan->seed, s->stream, s->drawn, count, s->normals));
    s->drawn += count + (count & 1);
    memset(noise, 0, s->active * d * sizeof *noise);
    for (size_t a = 0; a < s->active; a++)
        for (size_t k = 0; k < nodes; k++) {
            const double t = from[a] + (0.5 + (k ? place : -place)) * (to[a] - from[a]);
            HB_TRY(add_matrix_noise(s, (int)k, t, factor, s->normals + a * width + k * s->m,
                                    noise + a * d));
        }
    return HB_OK;
}

/* Of the steps from[active] to to[active]; exact transitions ask for normals alone. */
static hb_status draw_noise(stepper *s, const double *from, const double *to, double *noise)
{
    if (s->m > 0) return draw_matrix_noise(s, from, to, noise);
    const size_t count = s->active * s->d, even = count + (count & 1);
    HB_TRY(hb_random_normal(s->context, s->plan->seed, s->stream, s->drawn, count, noise));
    s->drawn += even;
    return HB_OK;
}

static double heun_largest_gap(size_t d, const double *a, const double *b)
{
    double largest = 0;
    for (size_t k = 0; k < d; k++) {
        const double gap = fabs(a[k] - b[k]);
        if (!(gap <= largest)) largest = gap; // NaN stays
    }
    return largest;
}

static void heun_lose(stepper *s, size_t path)
{
    for (int twin = 0; twin <= s->twins; twin++)
        for (size_t k = 0; k < s->d; k++) s->x[twin][path * s->d + k] = NAN;
}

/* Packs the paths that have not reached `target`; lost ones are left out. */
static void heun_pack(stepper *s, double target)
{
    const size_t d = s->d;
    s->active = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!(s->tau[i] < target) || isnan(s->x[0][i * d])) continue;
        s->index[s->active] = i;
        s->now[s->active] = s->tau[i];
        for (int twin = 0; twin <= s->twins; twin++)
            memcpy(s->y[twin] + s->active * d, s->x[twin] + i * d, d * sizeof(double));
        s->active++;
    }
}

static hb_status heun_drift(stepper *s, const double *x, const double *tau, double *F)
{
    return hb_problem_drift_each(s->context, s->plan->problem, s->active, x, tau, F, NULL, NULL,
                                 NULL);
}

/* l of paths that have none yet (negative), along their drift. Needs F[0] at y[0]. */
static hb_status probe_slopes(stepper *s)
{
    const size_t d = s->d;
    int any = 0;
    for (size_t a = 0; a < s->active; a++) {
        const double *F = s->F[0] + a * d;
        double size = 0;
        for (size_t k = 0; k < d; k++) size = fmax(size, fabs(F[k]));
        const double move = fmin(s->plan->step, sqrt(2 * s->plan->step) / fmax(size, 1e-300));
        for (size_t k = 0; k < d; k++) s->end[a * d + k] = s->y[0][a * d + k] + move * F[k];
        any |= s->slope[s->index[a]] < 0;
    }
    if (!any) return HB_OK;
    HB_TRY(heun_drift(s, s->end, s->now, s->Fend));
    for (size_t a = 0; a < s->active; a++) {
        double *slope = s->slope + s->index[a];
        if (!(*slope < 0)) continue;
        const double gap = heun_largest_gap(d, s->end + a * d, s->y[0] + a * d);
        const double rise = heun_largest_gap(d, s->Fend + a * d, s->F[0] + a * d);
        *slope = gap > 0 ? rise / gap : 0;
    }
    return HB_OK;
}

/* h and the end of each step; with a slope that is not finite the path is lost. */
static void choose_steps(stepper *s, double longest, double target)
{
    for (size_t a = 0; a < s->active; a++) {
        const size_t i = s->index[a];
        const double rest = target - s->now[a];
        double h = longest;
        int k = 0;
        while (h * s->slope[i] > STEP_LIMIT * (1 + s->twins) && k++ < MOST_DIVISIONS) h /= 2;
        if (!isfinite(s->slope[i]) || k > MOST_DIVISIONS || h < 1e-15 * target) heun_lose(s, i);
        s->h[a] = h < (1 - 1e-9) * rest ? h : rest;
        s->then[a] = s->h[a] < rest ? s->now[a] + s->h[a] : target;
    }
}

/* One step of scheme for all active y -> y, from now to then (both per path), F at y given. */
static hb_status heun_step(stepper *s, double *y, const double *F, const double *from,
                           const double *to, const double *noise, int note_slope)
{
    const size_t d = s->d;
    for (size_t a = 0; a < s->active; a++) {
        const double h = to[a] - from[a], root = sqrt(2 * h);
        for (size_t k = a * d; k < (a + 1) * d; k++) s->end[k] = y[k] + h * F[k] + root * noise[k];
    }
    HB_TRY(heun_drift(s, s->end, to, s->Fend));
    for (size_t a = 0; a < s->active; a++) {
        const double h = to[a] - from[a], root = sqrt(2 * h);
        const double gap = heun_largest_gap(d, s->end + a * d, y + a * d);
        const double slope = heun_largest_gap(d, s->Fend + a * d, F + a * d) / gap;
        double *kept = s->slope + s->index[a];
        if (note_slope == 1 || !(slope <= *kept)) *kept = gap > 0 ? slope : 0;
        for (size_t k = a * d; k < (a + 1) * d; k++)
            y[k] += h / 2 * (F[k] + s->Fend[k]) + root * noise[k];
    }
    return HB_OK;
}

/* The fine path in two halves, its twin in one step with the sum of their noise. */
static hb_status step_twins(stepper *s)
{
    for (size_t a = 0; a < s->active; a++) s->h[a] = 0.5 * (s->now[a] + s->then[a]); // the middle
    HB_TRY(draw_noise(s, s->now, s->h, s->noise[0]));
    HB_TRY(draw_noise(s, s->h, s->then, s->noise[1]));
    HB_TRY(heun_drift(s, s->y[1], s->now, s->F[1]));
    HB_TRY(heun_step(s, s->y[0], s->F[0], s->now, s->h, s->noise[0], 1));
    HB_TRY(heun_drift(s, s->y[0], s->h, s->F[0]));
    HB_TRY(heun_step(s, s->y[0], s->F[0], s->h, s->then, s->noise[1], 0));
    for (size_t k = 0; k < s->active * s->d; k++)
        s->noise[0][k] = sqrt(0.5) * (s->noise[0][k] + s->noise[1][k]);
    return heun_step(s, s->y[1], s->F[1], s->now, s->then, s->noise[0], 0);
}

/* One step of every active path. */
static hb_status heun_sweep(stepper *s, double longest, double target)
{
    const size_t d = s->d;
    HB_TRY(heun_drift(s, s->y[0], s->now, s->F[0]));
    HB_TRY(probe_slopes(s));
    choose_steps(s, longest, target);
    if (s->twins)
        HB_TRY(step_twins(s));
    else {
        HB_TRY(draw_noise(s, s->now, s->then, s->noise[0]));
        HB_TRY(heun_step(s, s->y[0], s->F[0], s->now, s->then, s->noise[0], 1));
    }
    for (size_t a = 0; a < s->active; a++) {
        const size_t i = s->index[a];
        int finite = 1;
        for (int twin = 0; twin <= s->twins; twin++)
            for (size_t k = 0; k < d; k++) finite &= isfinite(s->y[twin][a * d + k]) != 0;
        s->tau[i] = s->then[a];
        for (int twin = 0; twin <= s->twins && !isnan(s->x[0][i * d]); twin++)
            memcpy(s->x[twin] + i * d, s->y[twin] + a * d, d * sizeof(double));
        if (!finite) heun_lose(s, i);
    }
    return HB_OK;
}

/* All paths from `start` to `target` in an even number of steps, that of a piece of the length
 * `worth`; those that take too many are lost. */
static hb_status heun_advance(stepper *s, double start, double target, double worth)
{
    const double gap = target - start, pairs = ceil(worth / (2 * s->plan->step));
    const double longest = gap / (2 * pairs) * (1 + s->twins);
    for (int count = 0; count < MOST_SWEEPS; count++) {
        heun_pack(s, target);
        if (s->active == 0) return HB_OK;
        HB_TRY(heun_sweep(s, longest, target));
    }
    heun_pack(s, target);
    for (size_t a = 0; a < s->active; a++) heun_lose(s, s->index[a]);
    return HB_OK;
}

static hb_status run_heun(stepper *s, size_t stride, double *x, double *coarse)
{
    const size_t size = s->n * s->d;
    const hb_time_cuts *cuts = hb_problem_cuts(s->plan->problem);
    for (size_t k = 0; k < s->plan->n_times; k++) {
        const double end = s->plan->times[k];
        double start = k ? s->plan->times[k - 1] : s->plan->begin, next;
        do {
            next = hb_cuts_after(cuts, start, end);
            HB_TRY(heun_advance(s, start, next, hb_cuts_worth(cuts, start, next)));
            start = next;
        } while (next < end);
        memcpy(x + k * stride * s->d, s->x[0], size * sizeof *x);
        if (coarse) memcpy(coarse + k * stride * s->d, s->x[1], size * sizeof *x);
    }
    return HB_OK;
}

static hb_status run_exactly(stepper *s, size_t stride, double *x)
{
    const size_t d = s->d, row = 2 * d * d + d;
    const double *from = s->x[0];
    s->active = s->n;
    for (size_t k = 0; k < s->plan->n_times; k++) {
        double *to = x + k * stride * d;
        if (s->plan->times[k] > (k ? s->plan->times[k - 1] : s->plan->begin)) {
            HB_TRY(draw_noise(s, NULL, NULL, s->noise[0]));
            step_exactly(d, s->n, s->plan->transitions + k * row, s->noise[0], from, to);
        } else {
            memcpy(to, from, s->n * d * sizeof *to);
        }
        from = to;
    }
    return HB_OK;
}

hb_status hb_paths_simulate(hb_context *context, const hb_path_plan *plan, uint64_t first, size_t n,
                            size_t stride, double *x, double *coarse)
{
    stepper s;
    HB_TRY(create_stepper(context, plan, first, n, coarse != NULL, &s));
    hb_status status = draw_initial(context, plan, first, n, s.x[0]);
    if (coarse) memcpy(s.x[1], s.x[0], n * plan->dim * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        s.tau[i] = plan->begin;
        s.slope[i] = -1;
    }
    if (status == HB_OK && plan->linear.A)
        status = run_exactly(&s, stride, x);
    else if (status == HB_OK)
        status = run_heun(&s, stride, x, coarse);
    hb_workspace_destroy(&s.work);
    return status;
}
