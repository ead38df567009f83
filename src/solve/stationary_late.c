/* time = inf under a noise G(x) whose chain is refused: the grid at a long finite time.
 *
 * The chain of tensor_chain.c needs noise in every direction, and where noise is strongly
 * correlated and the drift turns, its coarse meshes carry mass across the box that the process
 * leaves where it is. The scheme of finite times (tensor_scheme.c) has neither limit. It starts
 * from a Gaussian that is narrower than the ensemble of stationary_box.c and beside its middle, so
 * that a slow exchange between wells shows, and goes to
 *     T = RELAXATIONS max_a s_a^2/D_aa
 * The largest |v(T) - v(T/2)| on that lattice, down to CORE below the maximum, is added to the
 * errors: what is left at T is less as long as it halves from T/2 to T. Where it is above
 * MOST_LEFT, T doubles, at most DOUBLINGS times.
 *
 * Paths that keep spreading are refused before, and so is noise that is not bounded, whose tails a
 * box cuts.
 *
 * A number to reproduce: tanh_noise(0.5) of tests/python/test_tensor_stationary.py has ln u = -ln(2
 * pi sqrt 2) at 0. */
#include "base/context.h"
#include "base/memory.h"
#include "chain/stationary.h"
#include "problem/noise.h"
#include "problem/stationary_density.h"
#include "solve/solve_parts.h"

#include <math.h>
#include <stdio.h>

enum { SIDE = 9, DOUBLINGS = 2, CELLS = 160 };

static const double RELAXATIONS = 24;
static const double SPREADS = 7.4;     /* standard deviations in the inner box */
static const double NARROWER = 0.7;    /* initial standard deviation, in that of the ensemble */
static const double CORE = 12;         /* depth of ln u where changes count */
static const double MOST_LEFT = 0.02;  /* of ln u, from T/2 to T */
static const double TOLERANCE = 1e-5;  /* of the time steps */
static const double EVERYWHERE = 1e12; /* |x| up to which noise must be bounded */
static const double MOST_NOISE = 1e3;  /* its bound, of its largest entry on the lattice */

typedef struct late {
    const hb_solve_task *task;
    int dim;
    size_t places;
    hb_grid_box box;
    double deviation[3], time, left;
    double *x, *D, *G; // (places, d), (places, d, d), (places, d, columns)
    double *v, *before;
} late;

static void late_set_places(late *l)
{
    for (size_t p = 0; p < l->places; p++)
        for (size_t a = 0, rest = p; a < (size_t)l->dim; a++, rest /= SIDE)
            l->x[p * (size_t)l->dim + a] =
                l->box.inner_low[a] +
                (l->box.inner_high[a] - l->box.inner_low[a]) * (double)(rest % SIDE) / (SIDE - 1);
}

/* Whether interval arithmetic bounds G on all of space; 0 for a function too. */
static hb_status late_noise_is_bounded(const late *l, int *yes)
{
    const hb_problem *problem = l->task->problem;
    const size_t columns = (size_t)hb_problem_noise_columns(problem), d = (size_t)l->dim;
    const size_t tape = hb_problem_noise_ranges(problem, NULL, 0, NULL, NULL);
    hb_interval all[3], *range, *tapes;
    double most = 0, bound = 0;
    hb_workspace work;
    *yes = 0;
    if (tape == 0) return HB_OK;
    for (size_t a = 0; a < 3; a++) all[a] = (hb_interval){-EVERYWHERE, EVERYWHERE};
    HB_TRY(hb_problem_noise_factor(l->task->context, problem, l->places, l->x, 0, l->G));
    for (size_t k = 0; k < l->places * d * columns; k++) most = fmax(most, fabs(l->G[k]));
    HB_TRY(
        HB_WORKSPACE(l->task->context, &work, HB_ARRAY(range, d * columns), HB_ARRAY(tapes, tape)));
    hb_problem_noise_ranges(problem, all, 0, tapes, range);
    for (size_t k = 0; k < d * columns; k++)
        bound = fmax(bound, fmax(fabs(range[k].low), fabs(range[k].high)));
    *yes = bound <= MOST_NOISE * most;
    hb_workspace_destroy(&work);
    return HB_OK;
}

static hb_status late_choose_time(late *l)
{
    const size_t d = (size_t)l->dim;
    HB_TRY(
        hb_problem_diffusion(l->task->context, l->task->problem, l->places, l->x, 0, l->D, NULL));
    for (size_t a = 0; a < d; a++) {
        double mean = 0;
        for (size_t p = 0; p < l->places; p++)
            mean += l->D[(p * d + a) * d + a] / (double)l->places;
        l->deviation[a] = (l->box.inner_high[a] - l->box.inner_low[a]) / SPREADS;
        l->time = fmax(l->time, RELAXATIONS * l->deviation[a] * l->deviation[a] / mean);
    }
    return HB_OK;
}

/* The initial density: narrower than the ensemble, beside its middle. */
static void late_write_initial(const late *l, size_t size, char *text)
{
    double mean[3], variance[3];
    for (int a = 0; a < l->dim; a++) {
        mean[a] = 0.5 * (l->box.inner_low[a] + l->box.inner_high[a]) + 0.5 * l->deviation[a];
        variance[a] = pow(NARROWER * l->deviation[a], 2);
    }
    hb_solve_gaussian_text((size_t)l->dim, mean, variance, size, text);
}

/* The largest change of v on the lattice between T/2 and T. */
static hb_status late_find_change(late *l, const hb_grid *grid)
{
    hb_context *context = l->task->context;
    double top = -INFINITY;
    HB_TRY(
        hb_grid_evaluate(context, grid, l->places, l->x, l->time / 2, l->before, NULL, NULL, NULL));
    HB_TRY(hb_grid_evaluate(context, grid, l->places, l->x, l->time, l->v, NULL, NULL, NULL));
    for (size_t p = 0; p < l->places; p++) top = fmax(top, l->v[p]);
    l->left = 0;
    for (size_t p = 0; p < l->places; p++)
        if (l->v[p] > top - CORE) l->left = fmax(l->left, fabs(l->v[p] - l->before[p]));
    return HB_OK;
}

static hb_status late_integrate(late *l, const hb_problem *problem, hb_solution *out)
{
    const double half = l->time / 2;
    hb_grid_settings settings = l->task->settings->grid;
    if (settings.max_time == 0) settings.max_time = l->task->settings->sampling.max_time;
    if (settings.tolerance == 0) settings.tolerance = TOLERANCE;
    for (int a = 0; a < l->dim && l->dim == 2; a++)
        if (settings.points[a] == 0) settings.points[a] = CELLS;
    settings.keep_from = NAN;
    settings.n_keep = 1;
    settings.keep = &half;
    HB_TRY(hb_grid_solve(l->task->context, problem, &settings, out->n, l->task->points, l->time,
                         &out->grid));
    return late_find_change(l, out->grid);
}

static hb_status late_relax(late *l, hb_solution *out)
{
    char text[400];
    hb_problem *problem;
    hb_status status = HB_OK;
    late_write_initial(l, sizeof text, text);
    HB_TRY(hb_problem_borrow(l->task->context, l->task->problem, text, &problem));
    l->left = INFINITY;
    for (int k = 0; k <= DOUBLINGS && status == HB_OK && !(l->left < MOST_LEFT); k++) {
        if (k > 0) l->time *= 2;
        hb_grid_destroy(out->grid);
        out->grid = NULL;
        status = late_integrate(l, problem, out);
    }
    hb_problem_borrowed_destroy(l->task->context, problem);
    HB_TRY(status);
    HB_CHECK(l->task->context, l->left < MOST_LEFT, HB_ERROR_NUMERICAL,
             "ln u still changes by %.2g from time %.3g to %.3g", l->left, l->time / 2, l->time);
    return HB_OK;
}

static hb_status late_fill(const late *l, hb_solution *out)
{
    out->tau = l->time;
    HB_TRY(hb_solve_evaluate_grid(l->task->context, out->grid, l->task->points, out));
    out->tau = INFINITY;
    double *e = out->columns[HB_COLUMN_LOG_DENSITY_ERROR], *s = out->columns[HB_COLUMN_SCORE_ERROR];
    for (size_t i = 0; i < out->n; i++) e[i] += l->left;
    for (size_t k = 0; k < out->n * (size_t)out->dim; k++)
        s[k] += l->left / l->deviation[k % (size_t)out->dim];
    hb_solve_fill_from_log(out);
    char opening[200];
    snprintf(
        opening, sizeof opening,
        "stationary: Fokker-Planck on a grid to t = %.3g, where ln u changed by %.1g since %.3g",
        l->time, l->left, l->time / 2);
    hb_solve_note_grid(out->grid, opening, out->note, sizeof out->note);
    out->method = "grid";
    return HB_OK;
}

static hb_status late_solve(late *l, hb_solution *out)
{
    hb_context *context = l->task->context;
    int bounded;
    HB_TRY(hb_chain_box(context, l->task->problem, out->n, l->task->points, &l->box));
    late_set_places(l);
    HB_TRY(late_noise_is_bounded(l, &bounded));
    HB_CHECK(context, bounded, HB_ERROR_NUMERICAL, "the noise is not bounded");
    HB_TRY(late_choose_time(l));
    HB_TRY(late_relax(l, out));
    return late_fill(l, out);
}

hb_status hb_solve_stationary_late(const hb_solve_task *task, hb_solution *out)
{
    late l = {.task = task, .dim = out->dim, .places = 1};
    const size_t d = (size_t)out->dim, m = (size_t)hb_problem_noise_columns(task->problem);
    for (int a = 0; a < out->dim; a++) l.places *= SIDE;
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(task->context, &work, HB_ARRAY(l.x, l.places * d),
                        HB_ARRAY(l.D, l.places * d * d), HB_ARRAY(l.G, l.places * d * m),
                        HB_ARRAY(l.v, l.places), HB_ARRAY(l.before, l.places)));
    const hb_status status = late_solve(&l, out);
    hb_workspace_destroy(&work);
    return status;
}
