/* The stationary density by particles: long times that must agree.
 *
 * PATHS trial paths (Euler-Maruyama, tamed) go from N(0, s^2), s = 0.1, 0.3, 1, 3, in phases, each
 * twice as long as the one before, until mean and spread settle. From there the correlations of x_a
 * and x_a^2 with their own past say how fast the process forgets: the relaxation time is where the
 * largest of them falls below 1/e for good. Then particles (sampled_solution.c) start from the
 * Gaussian with the mean and the variances of the trial, and give the density at LONG relaxation
 * times and at twice that, from other draws. What is left of the start is about e^-LONG, and e^-2
 * LONG. The second is the answer; its error grows by what the two differ beyond their own errors.
 * Where some point's two differ by more than TOO_MUCH of these (those of linear drifts are rounding
 * alone), a third run at 4 LONG is the answer: a rest of the start that falls by q changes from one
 * time to the next by q, q^2, q^4 less its square, so a change that falls by FALLS shows q, and the
 * last change covers what is left. A point is doubted where the changes neither are chance nor
 * fall. Wells that no path goes between in the trial are not told from one another's absence:
 * docs/explanation/stationary.md. For a gradient the score is F itself.
 *
 * A number to reproduce: f = -x_i - x_i^3 in four dimensions, g = sqrt 2: u(0) = (int exp(-x^2/2 -
 * x^4/4) dx)^-4 = 0.0712941. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "base/team_tasks.h"
#include "path/ensemble.h"
#include "problem/stationary_density.h"
#include "solve/solve_parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATHS = 1024, FIRST_STEPS = 128, PHASES = 7, MOST_FORGETTING = 1 << 14 };

static const double STEP = 0.1, SETTLED = 0.15, FAR = 1e9, LONG = 8, TOO_MUCH = 4, FALLS = 0.1;

extern const hb_method_ops hb_method_particles;

typedef struct trial {
    hb_context *context;
    const hb_problem *problem;
    size_t d;
    uint64_t drawn;
    double step, relaxation;
    hb_ensemble paths;
    double *old;             // (PATHS, d)
    double *mean, *variance; // (d)
    double *mean_before, *variance_before;
} trial;

/* ---- the trial ---- */

static hb_status trial_escapes(const trial *t)
{
    return hb_fail(t->context, HB_ERROR_ARGUMENT,
                   "there is no stationary density: nothing holds the mass together, paths keep "
                   "spreading; ask for a finite time");
}

static hb_status trial_move(trial *t, int steps)
{
    for (int k = 0; k < steps; k++, t->drawn += t->paths.per_draw) {
        const hb_ensemble_move move = {.step = t->step, .inflation = 1, .first = t->drawn};
        HB_TRY(hb_ensemble_step(&t->paths, &move));
        for (size_t i = 0; i < PATHS * t->d; i++)
            if (!(fabs(t->paths.x[i]) < FAR)) return trial_escapes(t);
    }
    return HB_OK;
}

/* From the speed of the drift where the paths are: F changes by itself over the spread in about
 * this time. */
static hb_status trial_choose_step(trial *t)
{
    double spread = 0, speed = 0;
    double *F = t->paths.F;
    HB_TRY(hb_problem_drift(t->context, t->problem, PATHS, t->paths.x, 0, F, NULL, NULL, NULL));
    for (size_t a = 0; a < t->d; a++) {
        double square = 0;
        for (size_t i = 0; i < PATHS; i++) square += F[i * t->d + a] * F[i * t->d + a] / PATHS;
        speed = fmax(speed, sqrt(square / t->variance[a]));
        spread = fmax(spread, t->variance[a]);
    }
    t->step = STEP * fmin(1 / fmax(speed, 1e-300), spread);
    return HB_OK;
}

static hb_status trial_relax(trial *t)
{
    static const double scales[] = {0.1, 0.3, 1, 3};
    double growth = 0;
    int settled = 0;
    HB_TRY(hb_ensemble_draw(&t->paths, 0));
    t->drawn = t->paths.per_draw;
    for (size_t i = 0; i < PATHS * t->d; i++)
        t->paths.x[i] = scales[i / t->d % 4] * t->paths.normals[i];
    hb_ensemble_moments(&t->paths, t->mean, t->variance);
    for (int phase = 0; phase < PHASES && settled < 2; phase++) {
        double change = growth = 0;
        memcpy(t->mean_before, t->mean, t->d * sizeof(double));
        memcpy(t->variance_before, t->variance, t->d * sizeof(double));
        HB_TRY(trial_choose_step(t));
        HB_TRY(trial_move(t, FIRST_STEPS << phase));
        hb_ensemble_moments(&t->paths, t->mean, t->variance);
        for (size_t a = 0; a < t->d; a++) {
            const double before = sqrt(t->variance_before[a]), after = sqrt(t->variance[a]);
            change = fmax(change, fabs(t->mean[a] - t->mean_before[a]) / fmin(before, after));
            change = fmax(change, fabs(after - before) / fmin(before, after));
            growth = fmax(growth, after / before);
        }
        settled = change < SETTLED ? settled + 1 : 0;
    }
    return settled || growth < 1.3 ? HB_OK : trial_escapes(t);
}

/* The largest correlation of x_a or x_a^2 (about the mean) with the values in `old`. */
static double trial_correlation(const trial *t)
{
    double most = 0;
    for (size_t a = 0; a < t->d; a++) {
        double first = 0, second = 0, fourth = 0;
        const double m = t->mean[a], v = t->variance[a];
        for (size_t i = 0; i < PATHS; i++) {
            const double x = t->paths.x[i * t->d + a] - m, y = t->old[i * t->d + a] - m;
            first += x * y / PATHS;
            second += (x * x - v) * (y * y - v) / PATHS;
            fourth += (y * y - v) * (y * y - v) / PATHS;
        }
        most = fmax(most, fmax(fabs(first) / v, fabs(second) / fourth));
    }
    return most;
}

/* The time after which the largest correlation stays below 1/e for as long again. */
static hb_status trial_measure_relaxation(trial *t)
{
    int last = 0, k = 0;
    memcpy(t->old, t->paths.x, PATHS * t->d * sizeof(double));
    for (; k < MOST_FORGETTING && k < 3 * last + 16; k++) {
        HB_TRY(trial_move(t, 1));
        if (trial_correlation(t) > exp(-1)) last = k + 1;
    }
    HB_CHECK(t->context, k < MOST_FORGETTING, HB_ERROR_NUMERICAL,
             "the process forgets too slowly for particles: after %.3g in tau its values are still "
             "correlated with those before",
             MOST_FORGETTING * t->step);
    t->relaxation = (last + 1) * t->step;
    return HB_OK;
}

/* ---- the two runs ---- */

static hb_status long_run_once(const hb_solve_task *task, const hb_problem *problem, double tau,
                               int again, hb_solution *out)
{
    hb_solve_plan plan = *task->settings;
    double time;
    HB_TRY(hb_problem_t_of_tau(task->context, problem, tau, &time));
    plan.method = HB_METHOD_PARTICLES;
    plan.time = time;
    plan.sampling.max_time /= 2;
    plan.sampling.seed += (uint64_t)again;
    const hb_method_ops *const particles = &hb_method_particles;
    const hb_solve_task part = {.context = task->context,
                                .problem = problem,
                                .settings = &plan,
                                .time = time,
                                .n = task->n,
                                .points = task->points};
    out->tau = tau;
    return hb_solve_by_samples(&part, 1, &particles, out);
}

/* 1 when a and b differ by too much for their errors and by no less than a differed from what was
 * before, NaN for nothing; else b's error (b_error, may be NULL) is made to cover a. */
static int long_run_compare(double before, double a, double a_error, double b, double error,
                            double *b_error)
{
    const double expected = hypot(a_error, error), gap = fabs(a - b);
    const int chance = gap <= TOO_MUCH * expected;
    if (!chance && !(gap <= FALLS * fabs(before - a))) return 1;
    if (b_error) *b_error = hypot(error, chance ? fmax(gap - expected, 0) : gap);
    return 0;
}

/* Whether point i of a and of out are apart; with `widen`, errors of out cover a where they are
 * not. */
static int long_run_differ(const hb_solution *before, const hb_solution *a, size_t i, int widen,
                           hb_solution *out)
{
    int apart = 0;
    for (int c = HB_COLUMN_DENSITY; c < HB_N_COLUMNS; c += 2) {
        const size_t width = hb_column_width(c, out->dim);
        for (size_t j = i * width; j < (i + 1) * width; j++)
            apart |= long_run_compare(
                before ? before->columns[c][j] : NAN, a->columns[c][j], a->columns[c + 1][j],
                out->columns[c][j], out->columns[c + 1][j], widen ? &out->columns[c + 1][j] : NULL);
    }
    return apart;
}

static hb_status long_run_check_point(const hb_solution *before, const hb_solution *a, size_t i,
                                      hb_solution *out)
{
    if (out->warnings[i] || !long_run_differ(before, a, i, 1, out)) return HB_OK;
    return hb_solution_flag(out, i,
                            "the densities at long times differ by more than their errors; the "
                            "process relaxes too slowly to tell the stationary one");
}

/* Moves what out has to `to`. */
static void long_run_move_solution(hb_solution *out, hb_solution *to)
{
    for (int c = HB_COLUMN_DENSITY; c < HB_N_COLUMNS; c++)
        memcpy(to->columns[c], out->columns[c],
               out->n * hb_column_width(c, out->dim) * sizeof(double));
    for (size_t i = 0; i < out->n; i++) {
        to->warnings[i] = out->warnings[i];
        out->warnings[i] = NULL;
    }
}

/* Two runs, and a third where two are not enough and the time allows it. *runs: how many. */
static hb_status long_run_all(const hb_solve_task *task, const hb_problem *problem, const trial *t,
                              hb_solution *first, hb_solution *second, hb_solution *out, int *runs)
{
    const double limit = task->settings->sampling.max_time, start = hb_seconds();
    const double tau = LONG * t->relaxation;
    int again = 0;
    HB_TRY(long_run_once(task, problem, tau, 0, first));
    HB_TRY(long_run_once(task, problem, 2 * tau, 1, out));
    for (size_t i = 0; i < out->n; i++)
        again |= !out->warnings[i] && long_run_differ(NULL, first, i, 0, out);
    if (limit > 0 && hb_seconds() - start > limit / 2) again = 0;
    HB_TRY(hb_context_agree(task->context, sizeof again, &again));
    *runs = 2 + again;
    if (again) {
        long_run_move_solution(out, second);
        HB_TRY(long_run_once(task, problem, 4 * tau, 2, out));
    }
    for (size_t i = 0; i < out->n; i++)
        HB_TRY(again ? long_run_check_point(first, second, i, out)
                     : long_run_check_point(NULL, first, i, out));
    return HB_OK;
}

/* A gradient's score is known. */
static hb_status long_run_fill_score(const hb_solve_task *task, hb_solution *out)
{
    double *score = out->columns[HB_COLUMN_SCORE], *error = out->columns[HB_COLUMN_SCORE_ERROR];
    HB_TRY(hb_problem_drift(task->context, task->problem, out->n, task->points, 0, score, NULL,
                            NULL, NULL));
    for (size_t k = 0; k < out->n * (size_t)out->dim; k++)
        error[k] = 8 * DBL_EPSILON * fabs(score[k]);
    return HB_OK;
}

static hb_status long_run_write_note(const hb_solve_task *task, const trial *t, int runs,
                                     hb_solution *out)
{
    char rest[HB_NOTE / 2];
    double relaxation;
    HB_TRY(hb_problem_t_of_tau(task->context, task->problem, t->relaxation, &relaxation));
    snprintf(rest, sizeof rest, "%.900s", out->note);
    snprintf(out->note, sizeof out->note,
             "stationary: relaxation time about %.2g; particles at %g and %g times that, which "
             "agree within the errors where there is no warning%s; %s",
             relaxation, ldexp(LONG, runs - 2), ldexp(LONG, runs - 1),
             hb_problem_is_gradient(task->problem) ? "; the score is the drift's" : "", rest);
    return HB_OK;
}

static hb_status long_run_solve(const hb_solve_task *task, trial *t, hb_solution *out)
{
    hb_context *context = task->context;
    hb_problem *problem = NULL;
    hb_solution *first = NULL, *second = NULL;
    const size_t size = 64 + 2 * 26 * t->d;
    void *text;
    int runs = 0;
    HB_TRY(trial_relax(t));
    HB_TRY(trial_measure_relaxation(t));
    HB_TRY(hb_allocate(context, size, 1, &text));
    hb_solve_gaussian_text(t->d, t->mean, t->variance, size, text);
    hb_status status = hb_problem_borrow(context, task->problem, text, &problem);
    if (status != HB_OK) goto done;
    status = hb_solution_create(context, out->n, out->dim, &first);
    if (status != HB_OK) goto done;
    status = hb_solution_create(context, out->n, out->dim, &second);
    if (status != HB_OK) goto done;
    status = long_run_all(task, problem, t, first, second, out, &runs);
    if (status != HB_OK) goto done;
    out->tau = INFINITY;
    if (hb_problem_is_gradient(task->problem)) status = long_run_fill_score(task, out);
    if (status == HB_OK) status = long_run_write_note(task, t, runs, out);
done:
    hb_solution_destroy(first);
    hb_solution_destroy(second);
    hb_problem_borrowed_destroy(context, problem);
    hb_release(context, text);
    return status;
}

static hb_status long_run(const hb_solve_task *task, hb_solution *out)
{
    const size_t d = (size_t)out->dim;
    trial t = {.context = task->context, .problem = task->problem, .d = d};
    hb_workspace work;
    HB_CHECK(task->context, !task->settings->sampling.state, HB_ERROR_ARGUMENT,
             "state is given and time is inf, where there are two runs; leave one of them out");
    HB_TRY(HB_WORKSPACE(task->context, &work, HB_ARRAY(t.old, PATHS * d), HB_ARRAY(t.mean, d),
                        HB_ARRAY(t.variance, d), HB_ARRAY(t.mean_before, d),
                        HB_ARRAY(t.variance_before, d)));
    hb_status status = hb_ensemble_create(task->context, task->problem, PATHS, &t.paths);
    if (status == HB_OK) status = long_run_solve(task, &t, out);
    hb_ensemble_destroy(&t.paths);
    hb_workspace_destroy(&work);
    return status;
}

static const char *long_run_serves(const hb_solve_facts *facts)
{
    if (facts->noise == HB_NOISE_FIELD) return HB_REASON_FIELD;
    return facts->noise == HB_NOISE_MATRIX ? "the noise is a matrix" : NULL;
}

/* What a quadrature refuses above three dimensions, trajectories do not know either. */
static int long_run_rank(const hb_solve_facts *facts)
{
    return facts->gradient_known && facts->dim > HB_MOST_GRID_DIM ? 0 : 4;
}

const hb_method_ops hb_method_long_run = {
    .info = {.name = "particles", .method = HB_METHOD_PARTICLES, .reads = ~0U},
    .times = HB_TIME_STATIONARY,
    .errors = HB_ERRORS_STANDARD,
    .serves = long_run_serves,
    .rank_of = long_run_rank,
    .run = long_run};
