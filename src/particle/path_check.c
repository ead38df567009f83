/* Are trajectories of the user those of the problem?
 *
 * From X, a path at one of its times, the model is simulated to the next time: Y. If the path
 * follows the model, its own next position X' and Y have the same distribution given X. So with
 * r = X' - Y, w = (X'-X)^2 - (Y-X)^2,
 *     E[r psi(X)] = 0  for psi = 1, each coordinate (centred), tanh of it, the drift;     E[w] = 0.
 * Z, a sum over the root of the sum of squares, is standard normal when all is well; the p-value of
 * the largest of m is m erfc(|Z|/sqrt 2). Paths are refused when it is below LEAST_P and the
 * variance of increments is off by more than LEAST_NOISE, or the drift's mismatch has moved the
 * paths by more than LEAST_DRIFT deviations; a smaller mismatch is added to the reported errors.
 * Must reproduce: twice the noise has a ratio of 4. */
#include "base/context.h"
#include "particle/particle_pilot.h"

#include <math.h>
#include <string.h>

enum { MOST_STARTS = 400000, LEAST_STARTS = 16, CHUNK = 2048, SUBSTEPS = 8 };

static const double LEAST_P = 1e-6, LEAST_NOISE = 0.05, LEAST_DRIFT = 0.05;

/* One of the user's intervals, and what it is compared by. */
typedef struct comparison {
    hb_context *context;
    const hb_problem *problem;
    const hb_given_paths *given;
    size_t d, functions, used; /* paths that are used */
    double *sums, *squares;    // (d, functions): of r psi / root mean square of psi
    double *w, *w2, *model;    // (d): of w, w^2 and (Y-X)^2
    double *psi;               // (functions)
    double *from, *to, *F;     // (CHUNK, d)
    double *mean, *spread;     // (d): of the places, all intervals
    double *tau;               // (CHUNK)
    hb_workspace work;
} comparison;

static hb_status make_comparison(hb_context *context, size_t d, comparison *out)
{
    const size_t functions = 3 + 2 * d;
    out->d = d;
    out->functions = functions;
    HB_TRY(HB_WORKSPACE(context, &out->work, HB_ARRAY(out->sums, d * functions),
                        HB_ARRAY(out->squares, d * functions), HB_ARRAY(out->w, d),
                        HB_ARRAY(out->w2, d), HB_ARRAY(out->model, d), HB_ARRAY(out->mean, d),
                        HB_ARRAY(out->spread, d), HB_ARRAY(out->psi, functions),
                        HB_ARRAY(out->from, CHUNK * d), HB_ARRAY(out->to, CHUNK * d),
                        HB_ARRAY(out->F, CHUNK * d), HB_ARRAY(out->tau, CHUNK)));
    memset(out->work.memory, 0, out->work.size);
    return HB_OK;
}

static const double *check_place(const comparison *c, size_t path, size_t k)
{
    return c->given->paths + (path * c->given->n_times + k) * c->d;
}

/* Mean and deviation of each coordinate over the paths that are used, at the last time. */
static void measure_ends(comparison *c)
{
    for (size_t j = 0; j < c->d; j++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < c->used; i++) {
            const double x = check_place(c, i, c->given->n_times - 1)[j], gap = x - mean;
            mean += gap / (double)(i + 1);
            squares += gap * (x - mean);
        }
        c->mean[j] = mean;
        c->spread[j] = squares > 0 ? sqrt(squares / (double)c->used) : 1;
    }
}

/* psi at x: 1, coordinates, their tanh, the drift's own component and a tenth of it. */
static void test_functions(comparison *c, const double *x, const double *F, size_t axis)
{
    double *psi = c->psi;
    *psi++ = 1;
    for (size_t j = 0; j < c->d; j++) {
        const double y = (x[j] - c->mean[j]) / c->spread[j];
        *psi++ = fmax(fmin(y, 4), -4);
        *psi++ = tanh(2 * y);
    }
    *psi++ = isfinite(F[axis]) ? tanh(F[axis] * c->spread[axis]) : 0;
    *psi = isfinite(F[axis]) ? tanh(0.1 * F[axis] * c->spread[axis]) : 0;
}

static void add_rows(comparison *c, size_t first, size_t n, size_t k)
{
    const size_t d = c->d, m = c->functions;
    for (size_t i = 0; i < n; i++) {
        const double *x = c->from + i * d, *y = c->to + i * d,
                     *next = check_place(c, first + i, k + 1);
        for (size_t j = 0; j < d; j++) {
            const double r = next[j] - y[j], own = next[j] - x[j], model = y[j] - x[j];
            const double w = own * own - model * model;
            if (!isfinite(r)) continue;
            test_functions(c, x, c->F + i * d, j);
            for (size_t q = 0; q < m; q++) {
                c->sums[j * m + q] += r * c->psi[q];
                c->squares[j * m + q] += r * r * c->psi[q] * c->psi[q];
            }
            c->w[j] += w;
            c->w2[j] += w * w;
            c->model[j] += model * model;
        }
    }
}

/* The interval from time k to k+1, for all paths that are used. */
static hb_status compare_interval(comparison *c, size_t k, uint64_t seed,
                                  const hb_linear_drift *linear)
{
    const size_t d = c->d;
    const double begin = c->given->tau[k], end = c->given->tau[k + 1];
    hb_path_plan plan = {.problem = c->problem, .seed = seed, .dim = d, .n_times = 1};
    plan.times = &end;
    plan.begin = begin;
    plan.step = (end - begin) / SUBSTEPS;
    plan.linear = *linear;
    plan.start = c->from;
    HB_TRY(hb_path_transitions(c->context, &plan));
    hb_status status = HB_OK;
    for (size_t first = 0; first < c->used && status == HB_OK; first += CHUNK) {
        const size_t n = c->used - first < CHUNK ? c->used - first : CHUNK;
        for (size_t i = 0; i < n; i++) {
            memcpy(c->from + i * d, check_place(c, first + i, k), d * sizeof(double));
            c->tau[i] = begin;
        }
        plan.n_start = n;
        status = hb_problem_drift_each(c->context, c->problem, n, c->from, c->tau, c->F, NULL, NULL,
                                       NULL);
        const uint64_t stream = (uint64_t)n * ((uint64_t)k * (c->used / CHUNK + 1) + first / CHUNK);
        if (status == HB_OK)
            status = hb_paths_simulate(c->context, &plan, stream, n, n, c->to, NULL);
        if (status == HB_OK) add_rows(c, first, n, k);
    }
    hb_release(c->context, plan.transitions);
    return status;
}

static double p_value(double z, double tests)
{
    return fmin(1, tests * erfc(fabs(z) * M_SQRT1_2));
}

static void check_judge(const comparison *c, hb_path_verdict *out)
{
    const size_t d = c->d, m = c->functions;
    double noise = 0, drift = 0, moved = 0;
    out->noise = 1;
    for (size_t j = 0; j < d; j++) {
        const double z = c->w2[j] > 0 ? c->w[j] / sqrt(c->w2[j]) : 0;
        if (fabs(z) > noise) {
            noise = fabs(z);
            out->noise = 1 + c->w[j] / c->model[j];
        }
        for (size_t q = 0; q < m; q++) {
            const double sum = c->sums[j * m + q], square = c->squares[j * m + q];
            const double z_drift = square > 0 ? fabs(sum) / sqrt(square) : 0;
            if (z_drift <= drift) continue;
            drift = z_drift;
            moved = fabs(sum) / (double)c->used / c->spread[j];
        }
    }
    out->drift = moved;
    out->p_noise = p_value(noise, (double)d);
    out->p_drift = p_value(drift, (double)(d * m));
    out->flag = (out->p_noise < LEAST_P ? 2 * fabs(out->noise - 1) : 0) +
                (out->p_drift < LEAST_P ? 2 * out->drift : 0);
}

/* The drift first: its mismatch shows in the squares, that of the noise not in the means. */
static hb_status check_refuse(hb_context *context, const hb_path_verdict *v)
{
    HB_CHECK(context, !(v->p_drift < LEAST_P && v->drift > LEAST_DRIFT), HB_ERROR_ARGUMENT,
             "the trajectories are not those of this problem: their increments differ from the "
             "drift's by %.2g standard deviations of their ends in all (p = %.1g); look at the "
             "drift and at the times",
             v->drift, v->p_drift);
    HB_CHECK(context, !(v->p_noise < LEAST_P && fabs(v->noise - 1) > LEAST_NOISE),
             HB_ERROR_ARGUMENT,
             "the trajectories are not those of this problem: the squares of their increments are "
             "%.4g times those of the model (p = %.1g); look at the noise and at the times",
             v->noise, v->p_noise);
    return HB_OK;
}

hb_status hb_path_check(hb_context *context, const hb_problem *problem, const hb_given_paths *given,
                        uint64_t seed, const hb_linear_drift *linear, hb_path_verdict *out)
{
    comparison c = {.context = context, .problem = problem, .given = given};
    const size_t intervals = given->n_times - 1, most = MOST_STARTS / intervals;
    c.used = given->n_paths < most ? given->n_paths : most;
    if (c.used < LEAST_STARTS)
        c.used = given->n_paths < LEAST_STARTS ? given->n_paths : LEAST_STARTS;
    HB_TRY(make_comparison(context, (size_t)hb_problem_dim(problem), &c));
    measure_ends(&c);
    hb_status status = HB_OK;
    for (size_t k = 0; k < intervals && status == HB_OK; k++)
        status = compare_interval(&c, k, seed, linear);
    check_judge(&c, out);
    hb_workspace_destroy(&c.work);
    HB_TRY(status);
    return check_refuse(context, out);
}
