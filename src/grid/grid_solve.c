/* From a problem to v(x, tau) on a grid: box, points, three runs, extrapolation.
 *
 * The same equation is solved with h, 2h and 4h (scheme.c, time_stepper.c), each from its own
 * initial data (grid_start.c), and combined (grid_extrapolate.c). When the solution is kept from
 * tau_0 on, the levels are Chebyshev points of the second kind in ln(tau + shift), the shift being
 * half the square of the initial width: there a Gaussian's ln u is analytic far beyond the
 * interval. A box whose boundaries change v at a requested point grows, as long as that lowers the
 * errors. Stationary densities: src/chain.
 *
 * Must reproduce: F = -x, u0 = N(0, 1): v = -x^2/2 - ln(2 pi)/2 at every tau. */
#include "grid/grid_solve.h"
#include "base/context.h"
#include "base/memory.h"
#include "grid/boundary_errors.h"
#include "grid/grid_constants.h"
#include "grid/grid_start.h"
#include "grid/tensor_scheme.h"
#include "problem/initial/initial_average.h"
#include "problem/noise.h"
#include "problem/time_cuts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    /* Of a drift that depends on time: a pulse between two steps of a solution at rest is not
     * seen. */
    LEAST_STEPS = 256,
    SCALED_STEPS =
        48,         /* in scaled coordinates, where the drift is only seen from closer and closer */
    MOST_GROWN = 4, /* times that a box may grow */
    MOST_NAMED = 1 << 20 /* points per axis that a message may name */
};

static const int LEVELS[] = {25, 21, 13}; /* kept from keep_from on, by dimension */
/* A request, and what is tried for it. */
typedef struct attempt {
    hb_grid_request ask;
    const hb_grid_from *from;       /* NULL: the initial density */
    const hb_grid_scaling *scaling; /* the problem is one in its coordinates; NULL: as it is */
    int grown;                      /* how often the box became larger; then it is */
    double low[3], high[3];
} attempt;

/* ---- the levels of tau ---- */

static void levels_set(hb_grid *grid, double keep_from, double tau_end, double shift)
{
    grid->shift = shift;
    grid->n_levels = isnan(keep_from) ? 1 : LEVELS[grid->info.dim - 1];
    const double last = log(tau_end + shift);
    for (int k = 0; k < grid->n_levels; k++) {
        grid->tau[k] = tau_end;
        grid->place[k] = last;
        if (k + 1 == grid->n_levels) break;
        const double first = log(keep_from + shift);
        const double part = 0.5 * (1 - cos(M_PI * k / (grid->n_levels - 1)));
        grid->place[k] = first + part * (last - first);
        grid->tau[k] = k ? exp(grid->place[k]) - shift : keep_from;
    }
}

static void levels_list(hb_grid *grid, const hb_grid_settings *s, double tau_end, double shift)
{
    grid->shift = shift;
    grid->listed = 1;
    grid->n_levels = (int)s->n_keep + 1;
    for (int k = 0; k < grid->n_levels; k++) {
        grid->tau[k] = k + 1 == grid->n_levels ? tau_end : s->keep[k];
        grid->place[k] = log(grid->tau[k] + shift);
    }
}

/* Levels before tau are left out, but not the end. */
static void levels_drop(hb_grid *grid, double tau)
{
    int n = 0;
    while (n + 1 < grid->n_levels && grid->tau[n] < tau) n++;
    grid->n_levels -= n;
    memmove(grid->tau, grid->tau + n, (size_t)grid->n_levels * sizeof *grid->tau);
    memmove(grid->place, grid->place + n, (size_t)grid->n_levels * sizeof *grid->place);
}

/* ---- the meshes ---- */

/* The box and the cells per axis; what the user gives wins. */
static hb_status attempt_choose_cells(const attempt *t, hb_grid_box *box, int *cells)
{
    const hb_grid_request *r = &t->ask;
    const hb_grid_scaling *z = t->scaling;
    const int dim = hb_problem_dim(r->problem);
    const double late = z ? hb_scaling_sigma(z, z->tau_end / 2) / z->sigma_end : 0.5;
    if (!hb_grid_request_is_complete(r, box))
        HB_TRY(hb_grid_box_choose(r->context, r->problem, t->from, late, z ? SCALED_STEP : 0,
                                  r->tau_end, r->n_at, r->at, box));
    for (int a = 0; a < dim && t->grown; a++) {
        box->low[a] = t->low[a];
        box->high[a] = t->high[a];
    }
    HB_TRY(hb_grid_request_box(r, box));
    for (int a = 0; a < dim; a++) {
        const double finer = z && dim > 1 ? SCALED_FINER : 1;
        const double wanted =
            hb_grid_default_cells(r->problem, box->high[a] - box->low[a], box->width[a], finer);
        cells[a] = hb_grid_request_cells(r, a, wanted);
    }
    return HB_OK;
}

/* 1 where drift and noise do not depend on time. */
static int attempt_is_steady(const attempt *t)
{
    if (hb_tensor_is_needed(t->ask.problem)) return hb_tensor_is_steady(t->ask.problem);
    return hb_problem_is_autonomous(t->scaling ? t->scaling->problem : t->ask.problem);
}

static hb_status attempt_set_meshes(const attempt *t, hb_grid *grid)
{
    const hb_grid_request *r = &t->ask;
    hb_grid_box box = {0};
    hb_axis axes[3];
    int cells[3];
    HB_TRY(hb_grid_request_check(r));
    HB_TRY(attempt_choose_cells(t, &box, cells));
    HB_TRY(hb_grid_lay_axes(r, &box, cells, axes, grid));
    if (t->scaling)
        HB_TRY(hb_scaling_flaws(r->context, t->scaling, box.low, box.high, &grid->flaws));
    hb_grid_set_meshes(r, &box, axes, grid);
    if (!attempt_is_steady(t))
        grid->least_steps = LEAST_STEPS;
    else if (t->scaling)
        grid->least_steps = SCALED_STEPS;
    double width = INFINITY;
    for (int a = 0; a < grid->info.dim; a++) width = fmin(width, box.width[a]);
    if (r->settings.n_keep > 0)
        levels_list(grid, &r->settings, r->tau_end, 0.5 * width * width);
    else
        levels_set(grid, r->settings.keep_from, r->tau_end, 0.5 * width * width);
    if (!grid->tensor && !hb_grid_request_has_boundary(r)) hb_grid_widen(grid);
    return HB_OK;
}

/* ---- the runs ---- */

/* v on the meshes 2h, 4h and 4h in a wider box: [level][size]. */
typedef struct coarse_levels {
    double *middle[HB_GRID_MAX_LEVELS], *coarse[HB_GRID_MAX_LEVELS], *wider[HB_GRID_MAX_LEVELS];
} coarse_levels;

/* Whether the data need the rough start is decided on the coarsest mesh, for all three alike;
 * the initial density is left on it, in v[its size]. */
static hb_status attempt_decide_start(const attempt *t, hb_grid *grid, double *v,
                                      hb_start_plan *plan)
{
    const hb_mesh *coarse = &grid->mesh[2];
    HB_TRY(hb_grid_start_decide(grid->context, t->ask.problem, t->from, coarse, v, plan));
    const double start = plan->rough && !grid->tensor ? hb_grid_start_tau(coarse) : 0;
    if (grid->listed) levels_drop(grid, start);
    if (start <= grid->tau[0]) return HB_OK;
    const double more = sqrt(start / grid->tau[0]) * grid->info.points[0];
    char enough[64] = "more cells";
    if (more <= MOST_NAMED) snprintf(enough, sizeof enough, "%.0f cells", 4 * ceil(more / 4));
    return hb_fail(grid->context, HB_ERROR_NUMERICAL,
                   "a grid of %d cells per axis cannot resolve the initial density before tau = "
                   "%.4g and tau = %.4g is requested; give %s or a smaller box",
                   grid->info.points[0], start, grid->tau[0], enough);
}

/* 1: neither scaled coordinates nor a tensor. */
static int attempt_is_plain(const attempt *t, const hb_grid *grid)
{
    return !t->scaling && !grid->tensor;
}

static hb_status attempt_integrate(const attempt *t, hb_grid *grid, coarse_levels *all)
{
    const hb_problem *problem = t->ask.problem;
    const int plain = attempt_is_plain(t, grid);
    hb_start_plan plan = {0};
    HB_TRY(attempt_decide_start(t, grid, all->coarse[0], &plan));
    if (plain && hb_grid_request_has_boundary(&t->ask) && !t->from) plan.lost = &grid->lost;
    if (plain) HB_TRY(hb_grid_find_peclet(grid, problem, all->coarse[0]));
    HB_TRY(hb_grid_check_cells(grid, problem, all->coarse[0]));
    HB_CHECK(grid->context,
             !(grid->info.unresolved && grid->info.dim > 1 && hb_problem_cuts(problem)->n > 0),
             HB_ERROR_NUMERICAL,
             "the drift has a narrow pulse in t, and varies within the cells of the "
             "grid by more than their nodes show; take the method particles");
    double *const *const out[HB_GRID_RUNS] = {grid->v, all->middle, all->coarse, all->wider};
    HB_TRY(hb_grid_run_meshes(grid, problem, &plan, out));
    hb_grid_set_info(grid, grid->v[grid->n_levels - 1]);
    if (plain) HB_TRY(hb_grid_find_peclet(grid, problem, all->coarse[grid->n_levels - 1]));
    grid->unreliable_from = grid->info.unresolved ? 0 : grid->n_levels;
    for (int k = 0; k < grid->n_levels && !grid->info.unresolved; k++) {
        HB_TRY(t->scaling ? hb_grid_check_scaled(grid, t->scaling, all->coarse[k])
                          : hb_grid_check_cells(grid, problem, all->coarse[k]));
        if (grid->info.unresolved) grid->unreliable_from = k;
    }
    return HB_OK;
}

/* ---- errors beside those of refinement ---- */

/* Marks the boundaries in whose third of the box a point is where they are felt; all, if it is
 * in none. */
static void feel_boundaries(hb_grid *grid, const double *parts, const double *x)
{
    if (!(hb_grid_boundary_part_at(grid, parts, x) > BOUNDARY_PART[grid->info.dim - 1])) return;
    int near = 0;
    for (int pass = 0; pass < 2 && !near; pass++)
        for (int a = 0; a < grid->info.dim; a++) {
            const double part =
                (x[a] - grid->info.low[a]) / (grid->info.high[a] - grid->info.low[a]);
            const int sides = pass ? 3 : (part < 1.0 / 3) + 2 * (part > 2.0 / 3);
            grid->felt[a] |= sides;
            near |= sides;
        }
}

/* A part of the initial density that is narrower than the cells begins at their nodes: what is
 * left of that in ln u is of the order (h/b)^2, b = sqrt(2 tau), which is the same on all
 * meshes; errors of ln u were up to 0.4 of it, of scores 0.7. */
static void add_initial_errors(const attempt *t, hb_grid *grid, int level)
{
    const hb_mesh *mesh = &grid->mesh[2];
    const double b = sqrt(2 * grid->tau[level]);
    double part = 0;
    for (int a = 0; a < mesh->dim && !t->from; a++)
        if (exp(-hb_problem_initial_most(t->ask.problem, a)) < mesh->h[a])
            part += INITIAL_PART * pow(mesh->h[a] / b, 2);
    for (size_t i = 0; i < mesh->size && part > 0; i++) grid->v_error[level][i] += part;
    for (size_t k = 0; k < mesh->size * (size_t)mesh->dim && part > 0; k++)
        grid->slope_error[level][k] += part / b;
}

/* *height: of the boundary, so far. */
static hb_status attempt_combine_level(const attempt *t, hb_grid *grid, int k, coarse_levels *all,
                                       double *height)
{
    const int parts = grid->mesh[HB_GRID_MESHES].size > 0;
    const int given = attempt_is_plain(t, grid) && hb_grid_request_has_boundary(&t->ask);
    const double now = hb_grid_boundary_height(&grid->mesh[2], all->coarse[k]);
    *height = fmax(*height, now);
    const hb_error_rule rule =
        grid->tensor ? hb_tensor_rule(grid, now) : hb_boundary_rule(grid, *height);
    if (parts) hb_grid_boundary_parts(grid, all->coarse[k], all->wider[k]);
    HB_TRY(hb_grid_combine_by(grid, k, grid->tensor || given ? &rule : NULL, all->middle[k],
                              all->coarse[k]));
    HB_TRY(hb_grid_jump_errors(grid, t->ask.problem, k));
    if (!t->scaling) add_initial_errors(t, grid, k);
    if (!parts) return HB_OK;
    hb_grid_add_boundary_parts(grid, k, all->wider[k]);
    for (size_t i = 0; i < t->ask.n_at; i++)
        feel_boundaries(grid, all->wider[k], t->ask.at + i * (size_t)grid->info.dim);
    return HB_OK;
}

/* ---- the whole ---- */

static hb_status attempt_solve(const attempt *t, hb_grid *grid, coarse_levels *all)
{
    double height = -INFINITY;
    HB_TRY(attempt_set_meshes(t, grid));
    HB_TRY(hb_grid_allocate(grid, hb_grid_run_bytes(grid)));
    HB_TRY(hb_grid_allocate_levels(grid, grid->mesh[1].size, all->middle));
    HB_TRY(hb_grid_allocate_levels(grid, grid->mesh[2].size, all->coarse));
    if (grid->mesh[HB_GRID_MESHES].size > 0)
        HB_TRY(hb_grid_allocate_levels(grid, grid->mesh[HB_GRID_MESHES].size, all->wider));
    HB_TRY(attempt_integrate(t, grid, all));
    for (int k = 0; k < grid->n_levels; k++)
        HB_TRY(attempt_combine_level(t, grid, k, all, &height));
    grid->info.kept_from = grid->tau[0];
    return HB_OK;
}

static hb_status attempt_run(const attempt *t, hb_grid **out)
{
    hb_grid *grid;
    *out = NULL;
    coarse_levels *all;
    HB_TRY(HB_NEW_CLEARED(t->ask.context, all, 1));
    hb_status status = hb_grid_create(&t->ask, &grid);
    if (status == HB_OK) {
        grid->grown = t->grown;
        grid->asks_order = t->scaling != NULL;
        if (t->scaling) grid->strict = STRICT;
        status = attempt_solve(t, grid, all);
        *out = status == HB_OK ? grid : NULL;
        if (status != HB_OK) hb_grid_destroy(grid);
    }
    hb_release(t->ask.context, all->middle[0]);
    hb_release(t->ask.context, all->coarse[0]);
    hb_release(t->ask.context, all->wider[0]);
    hb_release(t->ask.context, all);
    return status;
}

/* Of ln u at the requested points, each at most 1. */
static double attempt_sum_errors(const attempt *t, const hb_grid *grid)
{
    double sum = 0;
    for (size_t i = 0; i < t->ask.n_at; i++) {
        double error = 1;
        hb_grid_evaluate(t->ask.context, grid, 1, t->ask.at + i * (size_t)grid->info.dim,
                         grid->info.tau, NULL, &error, NULL, NULL);
        sum += fmin(error, 1);
    }
    return sum;
}

/* The box for a next try; 0: the boundaries of this one are not felt. */
static int attempt_grow(attempt *t, const hb_grid *grid)
{
    int any = 0;
    for (int a = 0; a < grid->info.dim; a++) {
        const double more = GROWTH * (grid->info.high[a] - grid->info.low[a]);
        t->low[a] = grid->info.low[a] - (grid->felt[a] & 1 ? more : 0);
        t->high[a] = grid->info.high[a] + (grid->felt[a] & 2 ? more : 0);
        any |= grid->felt[a];
    }
    return any && t->grown++ < MOST_GROWN;
}

hb_status hb_grid_solve_within(const hb_grid_request *request, const hb_grid_from *from,
                               const hb_grid_scaling *scaling, hb_grid **out)
{
    attempt t = {.ask = *request, .from = from, .scaling = scaling};
    t.ask.deadline = hb_grid_deadline(request->settings.max_time);
    HB_TRY(attempt_run(&t, out));
    while (attempt_grow(&t, *out)) {
        hb_grid *larger;
        const hb_status status = attempt_run(&t, &larger);
        const int helps =
            status == HB_OK && attempt_sum_errors(&t, larger) < attempt_sum_errors(&t, *out);
        hb_grid_destroy(helps ? *out : larger);
        if (helps) *out = larger;
        if (helps) continue;
        if (status != HB_ERROR_INTERRUPTED) break;
        hb_grid_destroy(*out);
        *out = NULL;
        return status;
    }
    return HB_OK;
}

/* A point under a noise that needs the tensor; a density that is narrow beside noise^2 time
 * takes its place. */
static hb_status request_refuse_point(const hb_grid_request *r)
{
    const int dim = hb_problem_dim(r->problem);
    double D[9] = {0}, spread = 0; // (dim, dim)
    const double *place = hb_problem_initial_place(r->problem);
    if (place) HB_TRY(hb_problem_diffusion(r->context, r->problem, 1, place, 0, D, NULL));
    for (int a = 0; a < dim; a++) spread += 2 * D[a * (dim + 1)] * r->tau_end / dim;
    char advice[200];
    snprintf(
        advice, sizeof advice,
        "give a narrow density instead, as gaussian(mean=..., var=%.1g), which is %g of noise^2 "
        "time and widens the answer by as much",
        NARROW * spread, NARROW);
    return hb_fail(r->context, HB_ERROR_ARGUMENT,
                   "the initial condition is a point, which the grid takes where a change of "
                   "coordinates makes the noise a number; %s",
                   hb_problem_noise_kind(r->problem) == HB_NOISE_MATRIX
                       ? "take the method particles, or walk where the drift is linear"
                   : spread > 0 ? advice
                                : "give a narrow density instead, as gaussian(mean=..., var=...)");
}

hb_status hb_grid_solve_finite(hb_context *context, const hb_problem *problem,
                               const hb_grid_settings *settings, size_t n_at, const double *at,
                               double time, hb_grid **out)
{
    hb_grid_request r;
    *out = NULL;
    HB_CHECK(context, hb_problem_initial_kind(problem) != HB_INITIAL_KIND_NONE, HB_ERROR_ARGUMENT,
             "the problem has no initial density; a grid needs one");
    HB_TRY(hb_grid_request_read(context, problem, settings, n_at, at, &r));
    HB_TRY(hb_problem_tau_of_t(context, problem, time, &r.tau_end));
    if (!hb_problem_initial_facts(problem)->point) return hb_grid_solve_within(&r, NULL, NULL, out);
    HB_TRY(hb_grid_request_check(&r));
    HB_CHECK(context, !(hb_cuts_after(hb_problem_cuts(problem), 0, r.tau_end) < r.tau_end),
             HB_ERROR_NUMERICAL,
             "the initial condition is a point, and drift or noise have a narrow pulse in t, which "
             "a grid that grows from a point does not follow; take the method particles%s",
             hb_problem_is_linear(problem) ? " or walk" : "");
    if (hb_tensor_is_needed(problem)) return request_refuse_point(&r);
    return hb_grid_solve_scaled(&r, out);
}
