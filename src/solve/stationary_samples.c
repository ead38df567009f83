/* The stationary density by particles: two long times that must agree.
 *
 * PATHS trial paths (Euler-Maruyama, tamed) go from N(0, s^2), s = 0.1, 0.3, 1, 3, in phases, each twice as long as the one
 * before, until mean and spread settle. From there the correlations of x_a and x_a^2 with their own past say how fast
 * the process forgets: the relaxation time is where the largest of them falls below 1/e for good. Then particles
 * (solve_sampling.c) start from the Gaussian with the mean and the variances of the trial, and give the density at LONG
 * relaxation times and at twice that, from other draws. What is left of the start is about e^-LONG, and e^-2 LONG. The
 * second is the answer; its error grows by what the two differ beyond their own errors, and where they differ by more than
 * TOO_MUCH of these, the point is doubted. Wells that no path goes between in the trial are not told from one another's
 * absence: docs/stationary.md. For a gradient the score is F itself.
 *
 * A number to reproduce: f = -x_i - x_i^3 in four dimensions, g = sqrt 2: u(0) = (int exp(-x^2/2 - x^4/4)
 * dx)^-4 = 0.0712941. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "problem/stationary_density.h"
#include "random/streams.h"
#include "solve/solve_parts.h"

#include <float.h>
#include <heatball/random.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATHS = 1024, FIRST_STEPS = 128, PHASES = 7, MOST_FORGETTING = 1 << 14 };

static const double STEP = 0.1, SETTLED = 0.15, FAR = 1e9, LONG = 8, TOO_MUCH = 4;

typedef struct trial {
    hb_context *context;
    const hb_problem *problem;
    size_t d;
    uint64_t drawn;
    double step, relaxation;
    double *x, *F, *normals, *old; // (PATHS, d)
    double *mean, *variance;       // (d)
    double *mean_before, *variance_before;
} trial;

/* ---- the trial ---- */

static hb_status draw(trial *t)
{
    const size_t n = PATHS * t->d;
    HB_TRY(hb_random_normal(t->context, 1, HB_STREAM_GRID_BOX, t->drawn, n, t->normals));
    t->drawn += n;
    return HB_OK;
}

static hb_status escape(const trial *t)
{
    return hb_fail(t->context, HB_ERROR_ARGUMENT,
                   "there is no stationary density: nothing holds the mass together, paths go on "
                   "spreading; a finite time can be asked for");
}

static hb_status move(trial *t, int steps)
{
    for (int k = 0; k < steps; k++) {
        HB_TRY(hb_problem_drift(t->context, t->problem, PATHS, t->x, 0, t->F, NULL, NULL, NULL));
        HB_TRY(draw(t));
        for (size_t i = 0; i < PATHS * t->d; i++) {
            const double change = t->F[i] * t->step;
            t->x[i] += change / (1 + fabs(change)) + sqrt(2 * t->step) * t->normals[i];
            if (!(fabs(t->x[i]) < FAR)) return escape(t);
        }
    }
    return HB_OK;
}

static void observe(trial *t)
{
    for (size_t a = 0; a < t->d; a++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < PATHS; i++) sum += t->x[i * t->d + a];
        t->mean[a] = sum / PATHS;
        for (size_t i = 0; i < PATHS; i++)
            squares += (t->x[i * t->d + a] - t->mean[a]) * (t->x[i * t->d + a] - t->mean[a]);
        t->variance[a] = squares / PATHS;
    }
}

/* From the speed of the drift where the paths are: F changes by itself over the spread in about this time. */
static hb_status choose_step(trial *t)
{
    double spread = 0, speed = 0;
    HB_TRY(hb_problem_drift(t->context, t->problem, PATHS, t->x, 0, t->F, NULL, NULL, NULL));
    for (size_t a = 0; a < t->d; a++) {
        double square = 0;
        for (size_t i = 0; i < PATHS; i++)
            square += t->F[i * t->d + a] * t->F[i * t->d + a] / PATHS;
        speed = fmax(speed, sqrt(square / t->variance[a]));
        spread = fmax(spread, t->variance[a]);
    }
    t->step = STEP * fmin(1 / fmax(speed, 1e-300), spread);
    return HB_OK;
}

static hb_status settle(trial *t)
{
    static const double scales[] = {0.1, 0.3, 1, 3};
    double growth = 0;
    int settled = 0;
    HB_TRY(draw(t));
    for (size_t i = 0; i < PATHS * t->d; i++) t->x[i] = scales[i / t->d % 4] * t->normals[i];
    observe(t);
    for (int phase = 0; phase < PHASES && settled < 2; phase++) {
        double change = growth = 0;
        memcpy(t->mean_before, t->mean, t->d * sizeof(double));
        memcpy(t->variance_before, t->variance, t->d * sizeof(double));
        HB_TRY(choose_step(t));
        HB_TRY(move(t, FIRST_STEPS << phase));
        observe(t);
        for (size_t a = 0; a < t->d; a++) {
            const double before = sqrt(t->variance_before[a]), after = sqrt(t->variance[a]);
            change = fmax(change, fabs(t->mean[a] - t->mean_before[a]) / fmin(before, after));
            change = fmax(change, fabs(after - before) / fmin(before, after));
            growth = fmax(growth, after / before);
        }
        settled = change < SETTLED ? settled + 1 : 0;
    }
    return settled || growth < 1.3 ? HB_OK : escape(t);
}

/* The largest correlation of x_a or x_a^2 (about the mean) with the values in `old`. */
static double correlation(const trial *t)
{
    double most = 0;
    for (size_t a = 0; a < t->d; a++) {
        double first = 0, second = 0, fourth = 0;
        const double m = t->mean[a], v = t->variance[a];
        for (size_t i = 0; i < PATHS; i++) {
            const double x = t->x[i * t->d + a] - m, y = t->old[i * t->d + a] - m;
            first += x * y / PATHS;
            second += (x * x - v) * (y * y - v) / PATHS;
            fourth += (y * y - v) * (y * y - v) / PATHS;
        }
        most = fmax(most, fmax(fabs(first) / v, fabs(second) / fourth));
    }
    return most;
}

/* The time after which the largest correlation stays below 1/e for as long again. */
static hb_status forget(trial *t)
{
    int last = 0, k = 0;
    memcpy(t->old, t->x, PATHS * t->d * sizeof(double));
    for (; k < MOST_FORGETTING && k < 3 * last + 16; k++) {
        HB_TRY(move(t, 1));
        if (correlation(t) > exp(-1)) last = k + 1;
    }
    HB_CHECK(t->context, k < MOST_FORGETTING, HB_ERROR_NUMERICAL,
             "the process forgets too slowly for particles: after %.3g in tau its values are still "
             "correlated with those before",
             MOST_FORGETTING * t->step);
    t->relaxation = (last + 1) * t->step;
    return HB_OK;
}

/* ---- the two runs ---- */

static hb_status start_text(const trial *t, char **out)
{
    const size_t size = 64 + 2 * 26 * t->d;
    void *memory;
    HB_TRY(hb_allocate(t->context, size, 1, &memory));
    char *text = memory;
    size_t used = (size_t)snprintf(text, size, "gaussian(mean=");
    for (size_t a = 0; a < t->d; a++)
        used += (size_t)snprintf(text + used, size - used, "%s%.17g", a ? " " : "", t->mean[a]);
    used += (size_t)snprintf(text + used, size - used, ", var=");
    for (size_t a = 0; a < t->d; a++)
        used += (size_t)snprintf(text + used, size - used, "%s%.17g", a ? " " : "", t->variance[a]);
    snprintf(text + used, size - used, ")");
    *out = text;
    return HB_OK;
}

static hb_status run(const hb_solve_task *task, const hb_problem *problem, double tau, int again,
                     hb_solution *out)
{
    hb_solve_plan plan = *task->settings;
    double time;
    HB_TRY(hb_problem_t_of_tau(task->context, problem, tau, &time));
    plan.method = HB_METHOD_PARTICLES;
    plan.time = time;
    plan.sampling.max_time /= 2;
    plan.sampling.seed += (uint64_t)again;
    const hb_solve_task part = {task->context, problem, &plan, time, task->points, NULL, 0};
    out->tau = tau;
    return hb_solve_by_samples(&part, out);
}

/* e covers the other value as well; 1 when they differ by too much for their errors. */
static int compare(double a, double a_error, double b, double *b_error)
{
    const double expected = hypot(a_error, *b_error), gap = fabs(a - b);
    if (!(gap <= TOO_MUCH * expected)) return 1;
    *b_error = hypot(*b_error, fmax(gap - expected, 0));
    return 0;
}

static hb_status check_point(const hb_solution *first, size_t i, hb_solution *out)
{
    static const hb_column columns[] = {HB_COLUMN_DENSITY, HB_COLUMN_LOG_DENSITY,
                                        HB_COLUMN_ENTROPY_DENSITY, HB_COLUMN_SCORE};
    int apart = 0;
    if (out->warnings[i]) return HB_OK;
    for (int k = 0; k < 4; k++) {
        const size_t width = columns[k] == HB_COLUMN_SCORE ? (size_t)out->dim : 1;
        const double *a = first->columns[columns[k]], *e = first->columns[columns[k] + 1];
        for (size_t j = i * width; j < (i + 1) * width; j++)
            apart |=
                compare(a[j], e[j], out->columns[columns[k]][j], &out->columns[columns[k] + 1][j]);
    }
    if (!apart) return HB_OK;
    for (int k = 0; k < 4; k++) {
        const size_t width = columns[k] == HB_COLUMN_SCORE ? (size_t)out->dim : 1;
        for (size_t j = i * width; j < (i + 1) * width; j++)
            out->columns[columns[k] + 1][j] = INFINITY;
    }
    return hb_solution_warn(out, i,
                            "the densities at two long times differ by more than their errors; the "
                            "process relaxes too slowly to tell the stationary one");
}

/* A gradient's score is known. */
static hb_status fill_score(const hb_solve_task *task, hb_solution *out)
{
    double *score = out->columns[HB_COLUMN_SCORE], *error = out->columns[HB_COLUMN_SCORE_SE];
    HB_TRY(hb_problem_drift(task->context, task->problem, out->n, task->points, 0, score, NULL,
                            NULL, NULL));
    for (size_t k = 0; k < out->n * (size_t)out->dim; k++)
        error[k] = 8 * DBL_EPSILON * fabs(score[k]);
    return HB_OK;
}

static hb_status write_note(const hb_solve_task *task, const trial *t, hb_solution *out)
{
    char rest[HB_NOTE / 2];
    double relaxation;
    HB_TRY(hb_problem_t_of_tau(task->context, task->problem, t->relaxation, &relaxation));
    snprintf(rest, sizeof rest, "%.900s", out->note);
    snprintf(out->note, sizeof out->note,
             "stationary: relaxation time about %.2g; particles at %g and %g times that, which "
             "agree within the errors where there is no warning%s; %s",
             relaxation, LONG, 2 * LONG,
             hb_problem_is_gradient(task->problem) ? "; the score is the drift's" : "", rest);
    return HB_OK;
}

static hb_status solve(const hb_solve_task *task, trial *t, hb_solution *out)
{
    hb_problem *problem = NULL;
    hb_solution *first = NULL;
    char *text = NULL;
    HB_TRY(settle(t));
    HB_TRY(forget(t));
    HB_TRY(start_text(t, &text));
    hb_status status = hb_problem_borrow(task->context, task->problem, text, &problem);
    if (status == HB_OK) status = hb_solution_create(task->context, out->n, out->dim, &first);
    if (status == HB_OK) status = run(task, problem, LONG * t->relaxation, 0, first);
    if (status == HB_OK) status = run(task, problem, 2 * LONG * t->relaxation, 1, out);
    out->tau = INFINITY;
    for (size_t i = 0; i < out->n && status == HB_OK; i++) status = check_point(first, i, out);
    if (status == HB_OK && hb_problem_is_gradient(task->problem)) status = fill_score(task, out);
    if (status == HB_OK) status = write_note(task, t, out);
    hb_solution_destroy(first);
    hb_problem_borrowed_destroy(task->context, problem);
    hb_release(task->context, text);
    return status;
}

hb_status hb_solve_stationary_samples(const hb_solve_task *task, hb_solution *out)
{
    const size_t d = (size_t)out->dim, n = PATHS * d;
    trial t = {.context = task->context, .problem = task->problem, .d = d};
    hb_workspace work;
    HB_CHECK(task->context, !task->settings->sampling.state, HB_ERROR_ARGUMENT,
             "state is given and time is inf, where there are two runs; leave one of them out");
    HB_TRY(HB_WORKSPACE(task->context, &work, HB_ARRAY(t.x, n), HB_ARRAY(t.F, n),
                        HB_ARRAY(t.normals, n), HB_ARRAY(t.old, n), HB_ARRAY(t.mean, d),
                        HB_ARRAY(t.variance, d), HB_ARRAY(t.mean_before, d),
                        HB_ARRAY(t.variance_before, d)));
    const hb_status status = solve(task, &t, out);
    hb_workspace_destroy(&work);
    return status;
}
