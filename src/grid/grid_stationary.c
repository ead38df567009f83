/* The stationary density on the meshes h, 2h and 4h: the null vectors of the scheme.
 *
 * Each mesh's own null vector (null_vector.c) is found by elimination, without time steps, so that slow relaxation costs
 * nothing; the relaxation time comes from the coarsest. The three are extrapolated like solutions at a finite time.
 * In space elimination on the finest mesh would take too long. There time steps go on from what the other two say about
 * it, one relaxation time, two, four, ..., until the largest rate times the relaxation time is small; that product is
 * part of the error.
 * Where the noise is a tensor the chain of coarser and coarser blocks does that (chain_levels.c).
 * The box has walls without flux. What lies beyond them is estimated by the integral of u over each wall times half
 * the span across, which is right for u = |x|^-2 and too much for all that falls faster, and is added to the error of
 * ln u.
 *
 * Must reproduce: F = (-x + y, -y - x): v = -(x^2 + y^2)/2 - ln(2 pi), relaxation time 1. */
#include "grid/grid_stationary.h"
#include "base/context.h"
#include "base/memory.h"
#include "grid/chain_levels.h"
#include "grid/chain_rates.h"
#include "grid/null_vector.h"
#include "grid/time_stepper.h"

#include <math.h>
#include <string.h>

enum { MOST_STRETCHES = 6 };

static const double MOST_WORK = 1.5e11; /* operations of an elimination */
static const double STEP_TOLERANCE = 1e-5;
static const double ENOUGH = 1e-4, MOST_LEFT = 1e-2; /* of ln u, in a relaxation time */
static const double BULK = 12;                       /* depth of ln u where rates are looked at */
static const double MOST_GUESS = 3;
static const double LEAST_RAISED = 6; /* depth where the noise of a chain may be changed */

static const double EXACT = 1e-13; /* in place of a tolerance in time: rounding */
/* Of the mass, beyond the walls, by mesh: coarse ones spread it by themselves. */
static const double MOST_BEYOND[] = {0.01, 0.1, 0.5};

static hb_status mesh_vector(hb_grid *grid, const hb_problem *problem, int m, hb_chain_hints *hints,
                             double *v)
{
    hb_scheme *scheme;
    HB_TRY(hb_scheme_create(grid->context, problem, &grid->mesh[m], &scheme));
    hb_status status = HB_OK;
    if (grid->flaws.jumps || grid->flaws.kinks) status = hb_scheme_mind_breaks(scheme);
    if (status == HB_OK)
        status = hb_null_vector(grid->context, scheme, hints, grid->bulk, v,
                                m == HB_GRID_MESHES - 1 ? &grid->info.relaxation : NULL);
    hb_scheme_destroy(scheme);
    return status;
}

/* The sum over the walls of the integral of u on each times half the span across. */
static double mass_beyond(const hb_mesh *mesh, const double *v)
{
    double sum = 0;
    for (size_t i = 0; i < mesh->size; i++) {
        for (int a = 0; a < mesh->dim; a++) {
            const size_t n = (size_t)mesh->nodes[a], k = i / hb_mesh_stride(mesh, a) % n;
            if (k != 0 && k != n - 1) continue;
            double u = exp(v[i]);
            for (int b = 0; b < mesh->dim; b++)
                u *=
                    b == a
                        ? 0.5 * (hb_mesh_coordinate(mesh, a, (int)n - 1) -
                                 hb_mesh_coordinate(mesh, a, 0))
                        : hb_mesh_cell(mesh, b,
                                       (int)(i / hb_mesh_stride(mesh, b) % (size_t)mesh->nodes[b]));
            sum += u;
        }
    }
    return sum;
}

/* The next mesh begins its elimination far from where this one has its maximum. */
static void move_bulk(hb_grid *grid, int m, const double *v)
{
    size_t top = 0;
    for (size_t i = 1; i < grid->mesh[m].size; i++) top = v[i] > v[top] ? i : top;
    hb_mesh_point(&grid->mesh[m], top, grid->bulk);
}

static hb_status check_walls(hb_grid *grid, int m, const double *v)
{
    grid->beyond = mass_beyond(&grid->mesh[m], v);
    HB_CHECK(grid->context, grid->beyond <= MOST_BEYOND[m], HB_ERROR_ARGUMENT,
             "there is no stationary density that this grid could hold: its mass escapes or falls "
             "off so slowly that much of it lies beyond the box; give another box or a finite "
             "time");
    return HB_OK;
}

/* ---- the finest mesh in space, where elimination would take too long ------------------------- */

typedef struct settling {
    hb_grid *grid;
    hb_scheme *scheme;
    hb_stepper *stepper;
    double *v, *rate, *middle, *coarse; // (size of its mesh)
    hb_status status;
} settling;

/* The stepper's report: non-zero asks it to stop. */
static int report(void *user, double part)
{
    settling *s = user;
    hb_grid *grid = s->grid;
    s->status = hb_progress(grid->context, "stationary grid", part, 1);
    if (s->status == HB_OK && hb_seconds() > grid->deadline)
        s->status = hb_fail(grid->context, HB_ERROR_NUMERICAL,
                            "the grid was not done when the %g s of max_time were over; give it "
                            "more time or fewer points",
                            grid->max_time);
    return s->status != HB_OK;
}

/* v = b + (b - c)/4 from the null vectors b and c of the meshes 2h and 4h: what is of order h^2 is that of h. */
static hb_status guess(settling *s, const double *middle, const double *coarse)
{
    const hb_mesh *m = s->grid->mesh;
    hb_spline_place place;
    double x[3];
    memcpy(s->middle, middle, m[1].size * sizeof(double));
    memcpy(s->coarse, coarse, m[2].size * sizeof(double));
    HB_TRY(hb_spline_fit(s->grid->context, &m[1], s->middle));
    HB_TRY(hb_spline_fit(s->grid->context, &m[2], s->coarse));
    for (size_t i = 0; i < m[0].size; i++) {
        hb_mesh_point(&m[0], i, x);
        hb_spline_locate(&m[1], x, &place);
        const double b = hb_spline_value(&m[1], s->middle, &place, NULL);
        hb_spline_locate(&m[2], x, &place);
        const double c = hb_spline_value(&m[2], s->coarse, &place, NULL);
        s->v[i] = b + fmin(fmax((b - c) / 4, -MOST_GUESS), MOST_GUESS);
    }
    return HB_OK;
}

/* The largest rate where the density is not small. */
static hb_status largest_rate(settling *s, double *most)
{
    const size_t size = s->grid->mesh[0].size;
    double top = -INFINITY;
    int finite;
    HB_TRY(hb_scheme_rate(s->scheme, 0, s->v, s->rate, &finite));
    *most = 0;
    for (size_t i = 0; i < size; i++) top = fmax(top, s->v[i]);
    for (size_t i = 0; i < size; i++)
        if (top - s->v[i] < BULK) *most = fmax(*most, fabs(s->rate[i]));
    return HB_OK;
}

/* Steps of time, each stretch twice as long as the one before, until what is left, the largest rate times the
 * relaxation time, is below ENOUGH. */
static hb_status settle(settling *s)
{
    hb_grid *grid = s->grid;
    const double unit = grid->info.relaxation;
    double left = INFINITY, tau[] = {unit};
    for (int k = 0; k < MOST_STRETCHES && left > ENOUGH; k++, tau[0] *= 2) {
        const hb_stepper_settings settings = {
            .tau_end = tau[0], .tolerance = STEP_TOLERANCE, .report = report, .user = s};
        HB_TRY(hb_stepper_create(grid->context, s->scheme, &settings, s->v, &s->stepper));
        const hb_status status = hb_stepper_march(s->stepper, 1, tau, &s->v);
        grid->info.steps += hb_stepper_steps(s->stepper);
        hb_stepper_destroy(s->stepper);
        s->stepper = NULL;
        HB_TRY(s->status != HB_OK ? s->status : status);
        double rate;
        HB_TRY(largest_rate(s, &rate));
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

/* The same for a tensor, by cycles over coarser chains. */
static hb_status cycle_mesh(hb_grid *grid, const hb_problem *problem, hb_chain_hints *hints,
                            const double *middle, const double *coarse, double *v)
{
    settling s = {.grid = grid, .v = v};
    hb_chain_rates rates = {0};
    hb_workspace work;
    double left = INFINITY;
    HB_TRY(HB_WORKSPACE(grid->context, &work, HB_ARRAY(s.middle, grid->mesh[1].size),
                        HB_ARRAY(s.coarse, grid->mesh[2].size)));
    hb_status status = hb_scheme_create(grid->context, problem, &grid->mesh[0], &s.scheme);
    if (status == HB_OK) status = hb_chain_rates_create(grid->context, s.scheme, hints, &rates);
    if (status == HB_OK) status = guess(&s, middle, coarse);
    if (status == HB_OK) status = hb_chain_levels(grid->context, &grid->mesh[0], &rates, v, &left);
    grid->tolerance = left;
    hb_chain_rates_destroy(&rates);
    hb_scheme_destroy(s.scheme);
    hb_workspace_destroy(&work);
    return status;
}

static hb_status settle_mesh(hb_grid *grid, const hb_problem *problem, const double *middle,
                             const double *coarse, double *v)
{
    settling s = {.grid = grid, .v = v};
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(grid->context, &work, HB_ARRAY(s.rate, grid->mesh[0].size),
                        HB_ARRAY(s.middle, grid->mesh[1].size),
                        HB_ARRAY(s.coarse, grid->mesh[2].size)));
    hb_status status = hb_scheme_create(grid->context, problem, &grid->mesh[0], &s.scheme);
    if (status == HB_OK && (grid->flaws.jumps || grid->flaws.kinks))
        status = hb_scheme_mind_breaks(s.scheme);
    if (status == HB_OK) status = guess(&s, middle, coarse);
    if (status == HB_OK) status = settle(&s);
    hb_scheme_destroy(s.scheme);
    hb_workspace_destroy(&work);
    return status;
}

/* ---- all three -------------------------------------------------------------------------------- */

static int takes_too_long(const hb_mesh *mesh)
{
    return hb_null_vector_work(mesh) > MOST_WORK;
}

/* The coarsest mesh says where the density is deep; there a tensor need not be followed to the letter. */
static hb_status look_for_depth(hb_grid *grid, const hb_problem *problem, double *depth,
                                hb_chain_hints *hints)
{
    const hb_mesh *mesh = &grid->mesh[2];
    double top = -INFINITY;
    HB_TRY(mesh_vector(grid, problem, 2, hints, depth));
    for (size_t i = 0; i < mesh->size; i++) top = fmax(top, depth[i]);
    for (size_t i = 0; i < mesh->size; i++) depth[i] = top - depth[i];
    *hints = (hb_chain_hints){.mesh = mesh, .depth = depth, .raised = INFINITY};
    return HB_OK;
}

static hb_status check_raised(hb_grid *grid, const hb_chain_hints *hints)
{
    char text[100];
    grid->raised = hints->raised;
    grid->uneven |= hints->uneven;
    HB_CHECK(grid->context, grid->raised > LEAST_RAISED, HB_ERROR_ARGUMENT,
             "time is inf, but at x = %s, where there is mass, the noise does not reach every "
             "direction or nearly so; give a long finite time, with the method grid",
             hb_mesh_place_text(grid->info.dim, hints->place, sizeof text, text));
    return HB_OK;
}

static hb_status solve_meshes(hb_grid *grid, const hb_problem *problem, hb_chain_hints *hints,
                              double *const *const out[HB_GRID_MESHES])
{
    for (int m = HB_GRID_MESHES - 1; m >= 0; m--) {
        hints->fine = m == 0;
        const int late = m == 0 && takes_too_long(&grid->mesh[0]);
        if (late && grid->tensor)
            HB_TRY(cycle_mesh(grid, problem, hints, out[1][0], out[2][0], out[0][0]));
        else if (late)
            HB_TRY(settle_mesh(grid, problem, out[1][0], out[2][0], out[0][0]));
        else
            HB_TRY(mesh_vector(grid, problem, m, hints, out[m][0]));
        if (grid->tensor) HB_TRY(check_raised(grid, hints));
        move_bulk(grid, m, out[m][0]);
        HB_TRY(check_walls(grid, m, out[m][0]));
        HB_CHECK(grid->context, !(hb_seconds() > grid->deadline), HB_ERROR_NUMERICAL,
                 "the grid was not done when the %g s of max_time were over; give it more time or "
                 "fewer points",
                 grid->max_time);
    }
    return HB_OK;
}

hb_status hb_grid_stationary_meshes(hb_grid *grid, const hb_problem *problem,
                                    double *const *const out[HB_GRID_MESHES])
{
    hb_chain_hints hints = {.raised = INFINITY};
    void *depth = NULL; // (mesh[2].size)
    hb_status status = HB_OK;
    grid->tolerance = EXACT;
    if (grid->tensor) {
        HB_TRY(hb_allocate(grid->context, grid->mesh[2].size, sizeof(double), &depth));
        status = look_for_depth(grid, problem, depth, &hints);
    }
    if (status == HB_OK) status = solve_meshes(grid, problem, &hints, out);
    hb_release(grid->context, depth);
    return status;
}

hb_status hb_grid_stationary_walls(hb_grid *grid)
{
    for (size_t i = 0; i < grid->mesh[2].size; i++) grid->v_error[0][i] += grid->beyond;
    return HB_OK;
}

double hb_grid_stationary_bytes(const hb_grid *grid)
{
    double most = 0;
    const int steps = takes_too_long(&grid->mesh[0]);
    for (int m = steps; m < HB_GRID_MESHES; m++)
        most = fmax(most, hb_null_vector_bytes(&grid->mesh[m]) +
                              hb_scheme_bytes(&grid->mesh[m], grid->context->threads) +
                              hb_chain_rates_bytes(&grid->mesh[m], grid->tensor));
    if (steps)
        most = fmax(most, hb_stepper_bytes(&grid->mesh[0]) +
                              hb_scheme_bytes(&grid->mesh[0], grid->context->threads));
    return most;
}
