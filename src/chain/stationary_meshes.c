/* The stationary density on the meshes h, 2h and 4h: null vectors of chains.
 *
 * Each mesh's own null vector (null_vector.c) is found by elimination, without time steps, so that
 * slow relaxation costs nothing; the relaxation time comes from the coarsest. In three dimensions
 * elimination on the finest mesh would take too long. There time steps go on from what the other
 * two say about it, one relaxation time, two, four, ..., until the largest rate times the
 * relaxation time is small; that product is part of the error. Where the noise is a tensor the
 * chain of coarser and coarser blocks does that (chain_levels.c). The box has boundaries without
 * flux. What lies beyond them is estimated by the integral of u over each times half the span
 * across, which is right for u = |x|^-2 and too much for all that falls faster.
 *
 * Must reproduce: F = (-x + y, -y - x): v = -(x^2 + y^2)/2 - ln(2 pi), relaxation time 1. */
#include "base/context.h"
#include "base/memory.h"
#include "chain/null_vector.h"
#include "chain/stationary.h"
#include "grid/grid_solve.h"
#include "grid/time_stepper.h"
#include "problem/problem_parts.h"

#include <math.h>
#include <string.h>

enum { MOST_STRETCHES = 6 };

static const double MOST_WORK = 1.5e11; /* operations of an elimination */
static const double STEP_TOLERANCE = 1e-5;
static const double ENOUGH = 1e-4, MOST_LEFT = 1e-2; /* of ln u, in a relaxation time */
static const double CORE_DEPTH = 12;                 /* of ln u where rates are looked at */
static const double MOST_GUESS = 3;
static const double LEAST_RAISED = 6; /* depth where the noise of a chain may be changed */

static const double EXACT = 1e-13; /* in place of a tolerance in time: rounding */
/* Of the mass, beyond the boundary, by mesh: coarse ones spread it by themselves. */
static const double MOST_BEYOND[] = {0.01, 0.1, 0.5};

static int has_breaks(const hb_grid *grid)
{
    return grid->flaws.jumps || grid->flaws.kinks;
}

/* The null vector of mesh m; the coarsest gives the relaxation time. */
static hb_status mesh_vector(hb_chain_task *s, int m, hb_chain_hints *hints, double *v)
{
    hb_grid *grid = s->grid;
    hb_chain_rates rates;
    HB_TRY(hb_chain_rates_create(grid->context, s->problem, &grid->mesh[m], has_breaks(grid), hints,
                                 &rates));
    const hb_status status =
        hb_null_vector(&grid->mesh[m], &rates, s->core, v, m == 2 ? &grid->info.relaxation : NULL);
    hb_chain_rates_destroy(&rates);
    return status;
}

/* ---- the boundary ---- */

/* The sum over the boundaries of the integral of u on each times half the span across. */
static double mass_beyond(const hb_mesh *mesh, const double *v)
{
    double sum = 0;
    for (size_t i = 0; i < mesh->size; i++) {
        for (int a = 0; a < mesh->dim; a++) {
            const int n = mesh->nodes[a], k = (int)hb_mesh_index(mesh, a, i);
            if (k != 0 && k != n - 1) continue;
            double u = exp(v[i]);
            for (int b = 0; b < mesh->dim; b++)
                u *= b == a ? 0.5 * (hb_mesh_coordinate(mesh, a, n - 1) -
                                     hb_mesh_coordinate(mesh, a, 0))
                            : hb_mesh_cell(mesh, b, (int)hb_mesh_index(mesh, b, i));
            sum += u;
        }
    }
    return sum;
}

static hb_status mesh_check(hb_chain_task *s, int m, const double *v)
{
    const hb_grid *grid = s->grid;
    s->beyond = mass_beyond(&grid->mesh[m], v);
    HB_CHECK(grid->context, s->beyond <= MOST_BEYOND[m], HB_ERROR_ARGUMENT,
             "there is no stationary density that this grid could hold: its mass escapes or falls "
             "off so slowly that much of it lies beyond the box; give another box or a finite "
             "time");
    HB_CHECK(grid->context, !(hb_seconds() > grid->deadline), HB_ERROR_NUMERICAL,
             "the grid was not done when the %g s of max_time were over; give it more time or "
             "fewer points",
             grid->max_time);
    return HB_OK;
}

/* The next mesh begins its elimination far from where this one has its maximum. */
static void move_core(hb_chain_task *s, int m, const double *v)
{
    size_t top = 0;
    for (size_t i = 1; i < s->grid->mesh[m].size; i++) top = v[i] > v[top] ? i : top;
    hb_mesh_point(&s->grid->mesh[m], top, s->core);
}

/* ---- the finest mesh in three dimensions, where elimination would take too long ---- */

/* v = b + (b - c)/4 from the null vectors b and c of the meshes 2h and 4h: what is of order h^2
 * is that of h. */
static hb_status guess_finest(const hb_grid *grid, const double *middle, const double *coarse,
                              double *v)
{
    const hb_mesh *m = grid->mesh;
    double *b, *c;
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(grid->context, &work, HB_ARRAY(b, m[1].size), HB_ARRAY(c, m[2].size)));
    memcpy(b, middle, m[1].size * sizeof(double));
    memcpy(c, coarse, m[2].size * sizeof(double));
    hb_status status = hb_spline_fit(grid->context, &m[1], b);
    if (status == HB_OK) status = hb_spline_fit(grid->context, &m[2], c);
    for (size_t i = 0; i < m[0].size && status == HB_OK; i++) {
        double x[3];
        hb_mesh_point(&m[0], i, x);
        const double at_b = hb_spline_at(&m[1], b, x), at_c = hb_spline_at(&m[2], c, x);
        v[i] = at_b + fmin(fmax((at_b - at_c) / 4, -MOST_GUESS), MOST_GUESS);
    }
    hb_workspace_destroy(&work);
    return status;
}

typedef struct relaxing {
    hb_grid *grid;
    hb_scheme *scheme;
    double *v, *rate; // (size of its mesh)
    hb_status status;
} relaxing;

/* The stepper's report: non-zero asks it to stop. */
static int relaxing_report(void *user, double part)
{
    relaxing *s = user;
    hb_grid *grid = s->grid;
    s->status = hb_progress(grid->context, "stationary grid", part, 1);
    if (s->status == HB_OK && hb_seconds() > grid->deadline)
        s->status = hb_fail(grid->context, HB_ERROR_NUMERICAL,
                            "the grid was not done when the %g s of max_time were over; give it "
                            "more time or fewer points",
                            grid->max_time);
    return s->status != HB_OK;
}

/* The largest rate where the density is not small. */
static hb_status relaxing_rate(relaxing *s, double *most)
{
    const hb_mesh *mesh = &s->grid->mesh[0];
    const double top = hb_mesh_top(mesh, s->v);
    int finite;
    HB_TRY(hb_scheme_rate(s->scheme, 0, s->v, s->rate, &finite));
    *most = 0;
    for (size_t i = 0; i < mesh->size; i++)
        if (top - s->v[i] < CORE_DEPTH) *most = fmax(*most, fabs(s->rate[i]));
    return HB_OK;
}

/* Steps of time, each stretch twice as long as the one before, until what is left, the largest
 * rate times the relaxation time, is below ENOUGH. */
static hb_status relaxing_run(relaxing *s)
{
    hb_grid *grid = s->grid;
    const double unit = grid->info.relaxation;
    double left = INFINITY, tau[] = {unit};
    for (int k = 0; k < MOST_STRETCHES && left > ENOUGH; k++, tau[0] *= 2) {
        const hb_stepper_settings settings = {
            .tau_end = tau[0], .tolerance = STEP_TOLERANCE, .report = relaxing_report, .user = s};
        hb_stepper *stepper;
        HB_TRY(hb_stepper_create(grid->context, s->scheme, &settings, s->v, &stepper));
        const hb_status status = hb_stepper_run(stepper, 1, tau, &s->v);
        grid->info.steps += hb_stepper_steps(stepper);
        hb_stepper_destroy(stepper);
        HB_TRY(s->status != HB_OK ? s->status : status);
        double rate;
        HB_TRY(relaxing_rate(s, &rate));
        left = rate * unit;
    }
    grid->tolerance = left / 4 + STEP_TOLERANCE;
    HB_CHECK(grid->context, left <= MOST_LEFT, HB_ERROR_NUMERICAL,
             "the grid does not come to rest: after %.3g relaxation times ln u still changes by "
             "%.2g in one of them; give a long finite time",
             tau[0] / unit, left);
    const double mass = hb_mesh_log_mass(&grid->mesh[0], s->v);
    for (size_t i = 0; i < grid->mesh[0].size; i++) s->v[i] -= mass;
    return HB_OK;
}

static hb_status finest_by_steps(hb_chain_task *s, double *v)
{
    hb_grid *grid = s->grid;
    relaxing own = {.grid = grid, .v = v};
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(grid->context, &work, HB_ARRAY(own.rate, grid->mesh[0].size)));
    hb_status status =
        hb_scheme_create(grid->context, s->problem, &grid->mesh[0], has_breaks(grid), &own.scheme);
    if (status == HB_OK) status = relaxing_run(&own);
    hb_scheme_destroy(own.scheme);
    hb_workspace_destroy(&work);
    return status;
}

/* For a tensor, by cycles over coarser chains. */
static hb_status finest_by_cycles(hb_chain_task *s, hb_chain_hints *hints, double *v)
{
    hb_grid *grid = s->grid;
    hb_chain_rates rates;
    HB_TRY(hb_chain_rates_create(grid->context, s->problem, &grid->mesh[0], 0, hints, &rates));
    const hb_status status = hb_chain_levels(&grid->mesh[0], &rates, v, &grid->tolerance);
    hb_chain_rates_destroy(&rates);
    return status;
}

/* ---- all three ---- */

static int takes_too_long(const hb_mesh *mesh)
{
    return hb_null_vector_work(mesh) > MOST_WORK;
}

/* The coarsest mesh says where the density is deep; there a tensor need not be followed to the
 * letter. */
static hb_status find_depth(hb_chain_task *s, double *depth, hb_chain_hints *hints)
{
    const hb_mesh *mesh = &s->grid->mesh[2];
    HB_TRY(mesh_vector(s, 2, hints, depth));
    const double top = hb_mesh_top(mesh, depth);
    for (size_t i = 0; i < mesh->size; i++) depth[i] = top - depth[i];
    *hints = (hb_chain_hints){.mesh = mesh, .depth = depth, .raised = INFINITY};
    return HB_OK;
}

static hb_status check_raised(hb_chain_task *s, const hb_chain_hints *hints)
{
    char text[HB_POINT_TEXT];
    s->raised = hints->raised;
    s->uneven |= hints->uneven;
    HB_CHECK(s->grid->context, s->raised > LEAST_RAISED, HB_ERROR_ARGUMENT,
             "time is inf, but at x = %s, where there is mass, the noise does not reach every "
             "direction or nearly so; give a long finite time, with the method grid",
             hb_point_text(s->grid->info.dim, hints->place, text));
    return HB_OK;
}

static hb_status solve_meshes(hb_chain_task *s, hb_chain_hints *hints,
                              double *const out[HB_GRID_MESHES])
{
    const hb_grid *grid = s->grid;
    for (int m = HB_GRID_MESHES - 1; m >= 0; m--) {
        hints->fine = m == 0;
        if (m > 0 || !takes_too_long(&grid->mesh[0])) {
            HB_TRY(mesh_vector(s, m, hints, out[m]));
        } else {
            HB_TRY(guess_finest(grid, out[1], out[2], out[0]));
            HB_TRY(grid->tensor ? finest_by_cycles(s, hints, out[0]) : finest_by_steps(s, out[0]));
        }
        if (grid->tensor) HB_TRY(check_raised(s, hints));
        move_core(s, m, out[m]);
        HB_TRY(mesh_check(s, m, out[m]));
    }
    return HB_OK;
}

hb_status hb_chain_meshes(hb_chain_task *s, double *const out[HB_GRID_MESHES])
{
    hb_grid *grid = s->grid;
    hb_chain_hints hints = {.raised = INFINITY};
    void *depth = NULL; // (mesh[2].size)
    hb_status status = HB_OK;
    grid->tolerance = EXACT;
    if (grid->tensor) {
        HB_TRY(hb_allocate(grid->context, grid->mesh[2].size, sizeof(double), &depth));
        status = find_depth(s, depth, &hints);
    }
    if (status == HB_OK) status = solve_meshes(s, &hints, out);
    hb_release(grid->context, depth);
    return status;
}

double hb_chain_bytes(const hb_grid *grid)
{
    double most = 0;
    const int steps = takes_too_long(&grid->mesh[0]);
    for (int m = steps; m < HB_GRID_MESHES; m++)
        most = fmax(most, hb_null_vector_bytes(&grid->mesh[m]) +
                              hb_chain_rates_bytes(&grid->mesh[m], grid->tensor));
    return steps ? fmax(most, hb_run_bytes(&grid->mesh[0], grid->tensor)) : most;
}
