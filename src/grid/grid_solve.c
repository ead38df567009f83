/* From a problem to v(x, tau) on a grid: box, points, three runs, extrapolation.
 *
 * The same equation is solved with h, 2h and 4h (fitted_scheme.c, time_stepper.c), each from its own
 * start (grid_start.c), and combined (grid_extrapolate.c). When the solution is kept from tau_0 on, the
 * levels are Chebyshev points of the second kind in ln(tau + shift), the shift being half the square of
 * the initial width: there a Gaussian's ln u is analytic far beyond the interval.
 *
 * Must reproduce: F = -x, u0 = N(0, 1): v = -x^2/2 - ln(2 pi)/2 at every tau. */
#include "base/context.h"
#include "base/memory.h"
#include "base/sized.h"
#include "grid/grid_box.h"
#include "grid/grid_kept.h"
#include "grid/grid_layout.h"
#include "grid/grid_start.h"
#include "grid/grid_stationary.h"
#include "grid/mesh_runs.h"
#include "grid/stationary_box.h"
#include "grid/stationary_trim.h"
#include "grid/tensor_doubt.h"
#include "grid/tensor_scheme.h"
#include "grid/wall_doubt.h"
#include "problem/drift_facts.h"
#include "problem/initial/initial_average.h"
#include "problem/noise.h"
#include "problem/time_cuts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    LEAST_CELLS = 32,
    MOST_CELLS = 1 << 20,
    LONG_TAILS = 4, /* times as many cells on a line of tensor noise */
    /* Of a drift that depends on time: a pulse between two steps of a solution at rest would not be seen. */
    LEAST_STEPS = 256,
    ZOOM_STEPS = 48 /* where the drift is only seen from closer and closer */
};

static const double BULK = 0.05;         /* of the largest u */
static const double LEAST_MASS = 1e-280; /* of the largest u; below, numbers end */
static const double START_PART = 0.03;   /* of (h/b)^2 */
static const double MEMORY_SHARE = 0.8;  /* of the machine's memory that a grid may take */
static const double BROKEN_TOLERANCE =
    1e-6;                              /* with breaks between nodes, whose errors are larger */
static const double ZOOM_FINER = 1.25; /* cells, where tails keep their shape for long */
static const double ZOOM_STEP = 0.025; /* of particles in coordinates that grow */
static const double STRICT =
    1.0 / 3; /* of the tolerance, in coordinates that grow: many steps add up */
/* An error by the walls at a requested point above which the box grows there, by dimension; by which part of its span, and
 * how often. */
static const double WALL_PART[] = {1e-5, 1e-2, 3e-2}, GROWTH = 0.15;
enum { MOST_GROWN = 4 };
static const double NARROW =
    1e-3; /* the variance of a density in the place of a point, over noise^2 time */
static const double WALL_DEPTH = -20; /* a note is given when v on the walls is above this */

/* Of the inner box of a stationary density in the plane, which needs no time steps. */
enum { INNER_PER_WIDTH = 20, LEAST_INNER = 96, MOST_INNER = 208 };
/* The same where the noise is a tensor, whose cells are even. */
enum { TENSOR_LEAST = 144, TENSOR_MOST = 208 };
/* And in space, where elimination takes time like the seventh power. */
enum { SPACE_CELLS = 48 };

/* By dimension: points per width of the density, and their limits; kept levels; tolerance. */
static const struct {
    double per_width;
    int least, most, levels;
    double tolerance;
} DEFAULTS[] = {{40, 1024, 8192, 25, 1e-9}, {10, 96, 256, 21, 1e-7}, {4, 48, 64, 13, 1e-6}};

void hb_grid_settings_default(size_t size, hb_grid_settings *settings)
{
    const hb_grid_settings defaults = {
        .low = {NAN, NAN, NAN}, .high = {NAN, NAN, NAN}, .keep_from = NAN};
    hb_sized_default(sizeof defaults, &defaults, size, settings);
}

/* ---- what is asked for ------------------------------------------------------------------------ */

typedef struct request {
    hb_context *context;
    const hb_problem *problem;
    hb_grid_settings settings;
    double tau_end; /* 1 for a stationary density, where nothing depends on it */
    int stationary;
    size_t n_at;
    const double *at;
    int grown; /* how often the box became larger; then it is */
    double low[3], high[3];
    const hb_grid_from *from; /* NULL: the initial density */
    const hb_grid_zoom *zoom; /* the problem is one in its coordinates; NULL: as it is */
} request;

static hb_status check_settings(const request *r, int dim)
{
    const hb_grid_settings *s = &r->settings;
    HB_CHECK(r->context, s->tolerance >= 0 && s->tolerance <= 0.1, HB_ERROR_ARGUMENT,
             "tolerance is %g; it must be 0 to 0.1, 0 for the default", s->tolerance);
    HB_CHECK(r->context, s->max_time >= 0, HB_ERROR_ARGUMENT,
             "max_time is %g; it must be a number of seconds, or 0 for no limit", s->max_time);
    HB_CHECK(r->context, isnan(s->keep_from) || (s->keep_from >= 0 && s->keep_from < r->tau_end),
             HB_ERROR_ARGUMENT,
             "keep_from is tau = %g; it must be at least 0 and below the end, %g", s->keep_from,
             r->tau_end);
    HB_CHECK(
        r->context,
        isnan(s->keep_from) || r->stationary ||
            !(hb_cuts_after(hb_problem_cuts(r->problem), s->keep_from, r->tau_end) < r->tau_end),
        HB_ERROR_ARGUMENT,
        "drift or noise have a narrow pulse in t, and a field that is kept from tau = %.6g on "
        "does not follow it between its levels; take the method grid, or a smaller ball",
        s->keep_from);
    HB_CHECK(r->context, s->n_keep < HB_GRID_MAX_LEVELS && (s->n_keep == 0 || s->keep),
             HB_ERROR_ARGUMENT, "keep has %zu values of tau; it must have at most %d", s->n_keep,
             HB_GRID_MAX_LEVELS - 1);
    HB_CHECK(r->context, s->n_keep == 0 || isnan(s->keep_from), HB_ERROR_ARGUMENT,
             "keep and keep_from are both given; give one of them");
    for (size_t k = 0; k < s->n_keep; k++)
        HB_CHECK(r->context, s->keep[k] > (k ? s->keep[k - 1] : 0) && s->keep[k] < r->tau_end,
                 HB_ERROR_ARGUMENT,
                 "value %zu of keep is tau = %g; they must rise, above 0 and below the end, %g",
                 k + 1, s->keep[k], r->tau_end);
    for (int a = 0; a < dim; a++) {
        HB_CHECK(r->context,
                 s->points[a] == 0 || (s->points[a] >= LEAST_CELLS && s->points[a] <= MOST_CELLS),
                 HB_ERROR_ARGUMENT, "points of axis %d is %d; it must be %d to %d, or 0 to choose",
                 a + 1, s->points[a], LEAST_CELLS, MOST_CELLS);
        HB_CHECK(r->context, !isinf(s->low[a]) && !isinf(s->high[a]) && !(s->low[a] >= s->high[a]),
                 HB_ERROR_ARGUMENT,
                 "the box of axis %d is [%g, %g]; it must be finite, with low below high", a + 1,
                 s->low[a], s->high[a]);
    }
    for (size_t i = 0; i < r->n_at * (size_t)dim; i++)
        HB_CHECK(r->context, isfinite(r->at[i]), HB_ERROR_ARGUMENT,
                 "coordinate %zu of point %zu is %g; it must be finite", i % (size_t)dim + 1,
                 i / (size_t)dim + 1, r->at[i]);
    return HB_OK;
}

/* 1 when nothing is left to choose: the particles are spared. */
static int all_is_given(const request *r, int dim, hb_grid_box *box)
{
    const hb_grid_settings *s = &r->settings;
    int given = isnan(s->keep_from);
    for (int a = 0; a < dim; a++) {
        given = given && s->points[a] && !isnan(s->low[a]) && !isnan(s->high[a]);
        box->width[a] = s->high[a] - s->low[a];
    }
    return given;
}

/* The box and the cells per axis; what the user gives wins. */
static hb_status choose_mesh(const request *r, int dim, hb_grid_box *box, int *cells)
{
    const hb_grid_zoom *zoom = r->zoom;
    const double late = zoom ? hb_zoom_sigma(zoom, zoom->tau_end / 2) / zoom->sigma_end : 0.5;
    if (all_is_given(r, dim, box)) {
        /* nothing is left to choose */
    } else if (r->stationary) {
        HB_TRY(hb_grid_box_stationary(r->context, r->problem, r->n_at, r->at, box));
        if (hb_tensor_is_needed(r->problem))
            HB_TRY(hb_grid_box_trim(r->context, r->problem, r->n_at, r->at, box));
    } else
        HB_TRY(hb_grid_box_choose(r->context, r->problem, r->from, late, zoom ? ZOOM_STEP : 0,
                                  r->tau_end, r->n_at, r->at, box));
    for (int a = 0; a < dim; a++) {
        if (r->grown) box->low[a] = r->low[a];
        if (r->grown) box->high[a] = r->high[a];
        if (!isnan(r->settings.low[a])) box->low[a] = r->settings.low[a];
        if (!isnan(r->settings.high[a])) box->high[a] = r->settings.high[a];
        HB_CHECK(r->context, box->low[a] < box->high[a], HB_ERROR_ARGUMENT,
                 "the box of axis %d is [%g, %g]; low must be below high", a + 1, box->low[a],
                 box->high[a]);
        const double span = box->high[a] - box->low[a];
        const double finer = zoom && dim > 1 ? ZOOM_FINER : 1;
        double wanted = ceil(finer * DEFAULTS[dim - 1].per_width * span / box->width[a]);
        const int longer = dim == 1 && hb_tensor_is_needed(r->problem) ? LONG_TAILS : 1;
        wanted = fmin(fmax(wanted, DEFAULTS[dim - 1].least), DEFAULTS[dim - 1].most * longer);
        if (r->stationary && dim == 2 && hb_tensor_is_needed(r->problem))
            wanted = fmin(fmax(INNER_PER_WIDTH * span / box->width[a], TENSOR_LEAST), TENSOR_MOST);
        if (r->stationary && dim == 3) wanted = SPACE_CELLS;
        cells[a] = r->settings.points[a] ? r->settings.points[a] : (int)wanted;
        cells[a] = (cells[a] + 3) / 4 * 4;
    }
    for (size_t i = 0; i < r->n_at * (size_t)dim; i++) {
        const size_t a = i % (size_t)dim;
        const int given = !isnan(r->settings.low[a]) || !isnan(r->settings.high[a]);
        if (!given) continue; /* the box holds it, or it is too far out */
        HB_CHECK(r->context, r->at[i] >= box->low[a] && r->at[i] <= box->high[a], HB_ERROR_ARGUMENT,
                 "point %zu has coordinate %zu = %g outside the box [%g, %g], whose boundaries "
                 "reflect; give a larger box, or none",
                 i / (size_t)dim + 1, a + 1, r->at[i], box->low[a], box->high[a]);
    }
    return HB_OK;
}

static hb_status check_memory(hb_context *context, const hb_grid *grid, int stationary)
{
    double sizes = 0;
    for (int m = 0; m < HB_GRID_MESHES; m++) sizes += (double)grid->mesh[m].size;
    const double bytes = sizes * (double)sizeof(double) * (grid->n_levels + 2) +
                         (stationary ? hb_grid_stationary_bytes(grid) : hb_grid_run_bytes(grid));
    const double there = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    HB_CHECK(context, bytes <= MEMORY_SHARE * there, HB_ERROR_MEMORY,
             "the grid of %zu points needs %.3g GB and this machine has %.3g GB; give fewer points",
             grid->mesh[0].size, bytes * 1e-9, there * 1e-9);
    return HB_OK;
}

int hb_grid_fits(int dim, const int *points, const hb_grid_box *box)
{
    int fits = 1;
    for (int a = 0; a < dim; a++) {
        const double wanted =
            DEFAULTS[dim - 1].per_width * (box->high[a] - box->low[a]) / box->width[a];
        fits &= wanted <= (points[a] ? points[a] : DEFAULTS[dim - 1].most);
    }
    return fits;
}

/* ---- the levels of tau ------------------------------------------------------------------------ */

static void set_levels(hb_grid *grid, double keep_from, double tau_end, double shift)
{
    grid->shift = shift;
    grid->n_levels = isnan(keep_from) ? 1 : DEFAULTS[grid->info.dim - 1].levels;
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

static void list_levels(hb_grid *grid, const hb_grid_settings *s, double tau_end, double shift)
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
static void drop_levels(hb_grid *grid, double tau)
{
    int n = 0;
    while (n + 1 < grid->n_levels && grid->tau[n] < tau) n++;
    grid->n_levels -= n;
    memmove(grid->tau, grid->tau + n, (size_t)grid->n_levels * sizeof *grid->tau);
    memmove(grid->place, grid->place + n, (size_t)grid->n_levels * sizeof *grid->place);
}

/* ---- the three runs --------------------------------------------------------------------------- */

/* Arrays [level][size] of one mesh carved from one block. */
static hb_status allocate_levels(hb_context *context, int n_levels, size_t size, double **out)
{
    void *memory;
    HB_TRY(hb_allocate(context, size * (size_t)n_levels, sizeof(double), &memory));
    for (int k = 0; k < n_levels; k++) out[k] = (double *)memory + (size_t)k * size;
    return HB_OK;
}

static hb_status allocate_answer(hb_grid *grid)
{
    const size_t coarse = grid->mesh[2].size, d = (size_t)grid->info.dim;
    HB_TRY(allocate_levels(grid->context, grid->n_levels, grid->mesh[0].size, grid->v));
    HB_TRY(allocate_levels(grid->context, grid->n_levels, coarse, grid->v_error));
    return allocate_levels(grid->context, grid->n_levels, coarse * d, grid->slope_error);
}

/* Whether the data need the rough start is decided on the coarsest mesh, for all three alike. */
static hb_status decide_start(const request *r, hb_grid *grid, double *scratch, hb_start_plan *plan)
{
    const hb_mesh *coarse = &grid->mesh[2];
    HB_TRY(hb_grid_start_decide(r->context, r->problem, r->from, coarse, scratch, plan));
    const double start = plan->rough && !grid->tensor ? hb_grid_start_tau(coarse) : 0;
    if (grid->listed) drop_levels(grid, start);
    if (start <= grid->tau[0]) return HB_OK;
    const double more = sqrt(start / grid->tau[0]) * grid->info.points[0];
    char enough[64] = "more points";
    if (more <= MOST_CELLS) snprintf(enough, sizeof enough, "%.0f points", 4 * ceil(more / 4));
    return hb_fail(r->context, HB_ERROR_NUMERICAL,
                   "a grid of %d points per axis cannot resolve the initial density before tau = "
                   "%.4g and tau = %.4g is requested; give %s or a smaller box",
                   grid->info.points[0], start, grid->tau[0], enough);
}

static void set_info(hb_grid *grid, const double *v)
{
    const hb_mesh *mesh = &grid->mesh[0];
    double top = -INFINITY, wall = -INFINITY;
    for (size_t i = 0; i < mesh->size; i++) {
        int at_wall = 0;
        for (int a = 0; a < mesh->dim; a++) {
            const size_t n = (size_t)mesh->nodes[a], k = i / hb_mesh_stride(mesh, a) % n;
            at_wall |= k == 0 || k == n - 1;
        }
        top = fmax(top, v[i]);
        if (at_wall) wall = fmax(wall, v[i]);
    }
    grid->info.mass_error = fabs(expm1(hb_mesh_log_mass(mesh, v)));
    grid->info.boundary_log = wall - top;
    if (wall - top > WALL_DEPTH)
        hb_note(
            grid->context,
            "the boundaries of the grid reflect, and the density there is e^%.1f of its maximum; "
            "give a larger box, or none",
            wall - top);
}

static int walls_are_given(const request *r)
{
    int given = 0;
    for (int a = 0; a < hb_problem_dim(r->problem); a++)
        given |= !isnan(r->settings.low[a]) || !isnan(r->settings.high[a]);
    return given;
}

/* Marks the walls in whose third of the box a point is where the walls are felt; all, if it is in none. */
static void feel_walls(hb_grid *grid, const double *parts, const double *x)
{
    if (!(hb_grid_wall_part_at(grid, parts, x) > WALL_PART[grid->info.dim - 1])) return;
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

/* A part of the start that is narrower than the cells begins at their nodes: what is left of that in ln u is of the order
 * (h/b)^2, b = sqrt(2 tau), which is the same on all meshes; errors of ln u were up to 0.4 of it, of scores 0.7. */
static void doubt_start(const request *r, hb_grid *grid, int level)
{
    const hb_mesh *mesh = &grid->mesh[2];
    const double b = sqrt(2 * grid->tau[level]);
    double part = 0;
    for (int a = 0; a < mesh->dim && !r->from; a++)
        if (exp(-hb_problem_initial_most(r->problem, a)) < mesh->h[a])
            part += START_PART * pow(mesh->h[a] / b, 2);
    for (size_t i = 0; i < mesh->size && part > 0; i++) grid->v_error[level][i] += part;
    for (size_t k = 0; k < mesh->size * (size_t)mesh->dim && part > 0; k++)
        grid->slope_error[level][k] += part / b;
}

/* A stationary density carries the mean error of ln u everywhere, through its mass, also where the meshes agree by chance;
 * the geometric mean over the bulk, since reported errors are bounds in places. u: (mesh[2].size), up to a factor. */
static void doubt_mass(hb_grid *grid, const double *u)
{
    double sum = 0, mass = 0, *error = grid->v_error[0];
    for (size_t i = 0; i < grid->mesh[2].size; i++) {
        if (u[i] < BULK || !isfinite(error[i]) || !(error[i] > 0)) continue;
        sum += u[i] * log(error[i]);
        mass += u[i];
    }
    for (size_t i = 0; i < grid->mesh[2].size && mass > 0; i++)
        error[i] = u[i] > LEAST_MASS ? error[i] + exp(sum / mass) : (double)INFINITY;
}

/* u from v, which it replaces; 1 where v is largest. */
static void exponentials(size_t n, double *v)
{
    double top = -INFINITY;
    for (size_t i = 0; i < n; i++) top = fmax(top, v[i]);
    for (size_t i = 0; i < n; i++) v[i] = exp(v[i] - top);
}

static hb_status solve_all(const request *r, hb_grid *grid)
{
    double *middle[HB_GRID_MAX_LEVELS] = {0}, *coarse[HB_GRID_MAX_LEVELS] = {0};
    double *wider[HB_GRID_MAX_LEVELS] = {0};
    hb_start_plan plan = {0};
    hb_status status = allocate_answer(grid);
    if (status == HB_OK)
        status = allocate_levels(r->context, grid->n_levels, grid->mesh[1].size, middle);
    if (status == HB_OK)
        status = allocate_levels(r->context, grid->n_levels, grid->mesh[2].size, coarse);
    if (status == HB_OK && !r->stationary) status = decide_start(r, grid, coarse[0], &plan);
    /* decide_start has left the initial density on the coarsest mesh */
    const int plain = !r->stationary && !r->zoom && !grid->tensor;
    const int walled = plain && walls_are_given(r);
    double height = -INFINITY; /* of the walls, so far */
    if (status == HB_OK && walled && !r->from) plan.lost = &grid->lost;
    if (status == HB_OK && plain) status = hb_grid_wind(grid, r->problem, coarse[0], &grid->wind);
    if (status == HB_OK && !r->stationary)
        status = hb_grid_check_cells(grid, r->problem, coarse[0]);
    if (status == HB_OK && r->stationary)
        status = allocate_levels(r->context, 1, grid->mesh[2].size, wider);
    if (status == HB_OK && grid->mesh[HB_GRID_MESHES].size > 0)
        status =
            allocate_levels(r->context, grid->n_levels, grid->mesh[HB_GRID_MESHES].size, wider);
    if (status == HB_OK && grid->info.unresolved && grid->info.dim > 1 &&
        hb_problem_cuts(r->problem)->n > 0)
        status = hb_fail(r->context, HB_ERROR_NUMERICAL,
                         "the drift has a narrow pulse in t, and varies within the cells of the "
                         "grid by more than their nodes show; take the method particles");
    double *const *const out[HB_GRID_RUNS] = {grid->v, middle, coarse, wider};
    if (status == HB_OK)
        status = r->stationary ? hb_grid_stationary_meshes(grid, r->problem, out)
                               : hb_grid_run_meshes(grid, r->problem, &plan, out);
    if (status == HB_OK) set_info(grid, grid->v[grid->n_levels - 1]);
    if (status == HB_OK && plain)
        status = hb_grid_wind(grid, r->problem, coarse[grid->n_levels - 1], &grid->wind);
    grid->doubtful_from = grid->info.unresolved ? 0 : grid->n_levels;
    for (int k = 0; k < grid->n_levels && status == HB_OK && !grid->info.unresolved; k++) {
        status = r->zoom ? hb_grid_check_zoomed(grid, r->zoom, coarse[k])
                         : hb_grid_check_cells(grid, r->problem, coarse[k]);
        if (grid->info.unresolved) grid->doubtful_from = k;
    }
    if (status == HB_OK && r->stationary) {
        memcpy(wider[0], coarse[0], grid->mesh[2].size * sizeof(double));
        exponentials(grid->mesh[2].size, wider[0]);
    }
    for (int k = 0; k < grid->n_levels && status == HB_OK; k++) {
        const int parts = grid->mesh[HB_GRID_MESHES].size > 0;
        if (parts) hb_grid_wall_parts(grid, coarse[k], wider[k]);
        if (walled) height = fmax(height, hb_grid_wall_height(&grid->mesh[2], coarse[k]));
        status = grid->tensor ? hb_tensor_combine(grid, k, middle[k], coarse[k])
                 : walled     ? hb_grid_combine_walled(grid, k, height, middle[k], coarse[k])
                              : hb_grid_combine(grid, k, middle[k], coarse[k]);
        if (status == HB_OK) status = hb_grid_jump_errors(grid, r->problem, k);
        if (status == HB_OK && !r->stationary && !r->zoom) doubt_start(r, grid, k);
        if (status == HB_OK && parts) hb_grid_add_wall_parts(grid, k, wider[k]);
        for (size_t i = 0; i < r->n_at && status == HB_OK && parts; i++)
            feel_walls(grid, wider[k], r->at + i * (size_t)grid->info.dim);
    }
    grid->info.kept_from = grid->tau[0];
    if (status == HB_OK && r->stationary) doubt_mass(grid, wider[0]);
    if (status == HB_OK && r->stationary) status = hb_grid_stationary_walls(grid);
    hb_release(r->context, middle[0]);
    hb_release(r->context, coarse[0]);
    hb_release(r->context, wider[0]);
    return status;
}

/* The scheme for tensors takes the drift at nodes: no jumps, and kinks with the claims for those between nodes. */
static hb_status mind_tensor(const request *r, hb_grid *grid)
{
    const hb_drift_facts *facts = hb_problem_facts(r->problem);
    grid->tensor = hb_tensor_is_needed(r->problem);
    for (int k = 0; k < facts->n_breaks && grid->tensor; k++) {
        HB_CHECK(r->context, facts->breaks[k].kind != HB_BREAK_JUMP, HB_ERROR_ARGUMENT,
                 "the drift jumps and the noise is a tensor; the grid does not take both: make the "
                 "jump smooth, as tanh(20*x) for sign(x)");
        grid->flaws.kinks = 1;
    }
    return HB_OK;
}

/* Of the plane: cells of the inner box, whose neighbours outside are coarser. A cycle turns what is narrow along one axis
 * into what is narrow along the other. */
static int inner_cells(const hb_grid_box *box, int a)
{
    const double span = box->inner_high[a] - box->inner_low[a];
    const double wanted = INNER_PER_WIDTH * span / fmin(box->width[0], box->width[1]);
    return (int)fmin(fmax(ceil(wanted), LEAST_INNER), MOST_INNER) / 4 * 4;
}

static hb_status build(const request *r, hb_grid *grid)
{
    const int dim = hb_problem_dim(r->problem);
    hb_grid_box box;
    hb_axis axes[3];
    int cells[3];
    HB_TRY(check_settings(r, dim));
    HB_TRY(choose_mesh(r, dim, &box, cells));
    HB_TRY(hb_grid_layout(r->context, r->problem, r->tau_end, box.low, box.high, cells, axes,
                          &grid->flaws));
    HB_TRY(mind_tensor(r, grid));
    if (r->zoom) HB_TRY(hb_zoom_flaws(r->context, r->zoom, box.low, box.high, &grid->flaws));
    for (int a = 0; a < dim && r->stationary; a++) {
        if (grid->tensor && dim > 1) /* whose chain goes along diagonals */
            axes[a] = hb_axis_even(cells[a], box.low[a], box.high[a]);
        else if (dim == 2 && axes[a].pieces == 1 && !r->settings.points[a])
            axes[a] = hb_grid_graded_axis(&box, a, inner_cells(&box, a));
    }
    grid->info.dim = dim;
    grid->info.tau = r->tau_end;
    grid->tolerance =
        r->settings.tolerance > 0 ? r->settings.tolerance : DEFAULTS[dim - 1].tolerance;
    if (r->settings.tolerance == 0 && (grid->flaws.jumps || grid->flaws.kinks))
        grid->tolerance = fmax(grid->tolerance, BROKEN_TOLERANCE);
    grid->strict = r->zoom ? STRICT : 1;
    const int steady = grid->tensor
                           ? hb_tensor_is_steady(r->problem)
                           : hb_problem_is_autonomous(r->zoom ? r->zoom->problem : r->problem);
    if (!steady)
        grid->least_steps = LEAST_STEPS;
    else if (r->zoom)
        grid->least_steps = ZOOM_STEPS;
    if (hb_problem_initial_facts(r->problem)->broken > 1) grid->flaws.kinks = 1;
    grid->info.unresolved = grid->flaws.unresolved;
    grid->info.breaks_between = grid->flaws.jumps || grid->flaws.kinks;
    double width = INFINITY;
    for (int a = 0; a < dim; a++) {
        grid->info.points[a] = axes[a].first[axes[a].pieces];
        grid->info.low[a] = box.low[a];
        grid->info.high[a] = box.high[a];
        width = fmin(width, box.width[a]);
        grid->bulk[a] = r->stationary && box.inner_low[a] < box.inner_high[a]
                            ? 0.5 * (box.inner_low[a] + box.inner_high[a])
                            : 0.5 * (box.low[a] + box.high[a]);
    }
    for (int m = 0; m < HB_GRID_MESHES; m++) {
        hb_mesh_set_axes(&grid->mesh[m], dim, axes, 1 << m);
    }
    if (r->settings.n_keep > 0)
        list_levels(grid, &r->settings, r->tau_end, 0.5 * width * width);
    else
        set_levels(grid, r->settings.keep_from, r->tau_end, 0.5 * width * width);
    if (!r->stationary && !grid->tensor && !walls_are_given(r)) hb_grid_widen(grid);
    HB_TRY(check_memory(r->context, grid, r->stationary));
    return solve_all(r, grid);
}

static hb_status solve_in_box(const request *r, double deadline, hb_grid **out)
{
    void *memory;
    HB_TRY(hb_allocate(r->context, 1, sizeof(hb_grid), &memory));
    hb_grid *grid = memset(memory, 0, sizeof(hb_grid));
    grid->context = r->context;
    grid->max_time = r->settings.max_time;
    grid->deadline = deadline;
    grid->stationary = r->stationary;
    grid->grown = r->grown;
    grid->pulses = hb_problem_cuts(r->problem)->n > 0;
    grid->asks_order = r->stationary || r->zoom;
    grid->info.relaxation = NAN;
    const hb_status status = build(r, grid);
    if (r->stationary) {
        grid->info.tau = INFINITY;
        grid->tau[0] = 0; /* it is the same at all times */
    }
    if (status != HB_OK) hb_grid_destroy(grid);
    *out = status == HB_OK ? grid : NULL;
    return status;
}

/* Of ln u at the requested points, each at most 1. */
static double sum_errors(const request *r, const hb_grid *grid)
{
    double sum = 0;
    for (size_t i = 0; i < r->n_at; i++) {
        double error = 1;
        hb_grid_evaluate(r->context, grid, 1, r->at + i * (size_t)grid->info.dim, grid->info.tau,
                         NULL, &error, NULL, NULL);
        sum += fmin(error, 1);
    }
    return sum;
}

/* The box for a next try; 0: the walls of this one are not felt. */
static int grow_box(request *r, const hb_grid *grid)
{
    int any = 0;
    for (int a = 0; a < grid->info.dim; a++) {
        const double more = GROWTH * (grid->info.high[a] - grid->info.low[a]);
        r->low[a] = grid->info.low[a] - (grid->felt[a] & 1 ? more : 0);
        r->high[a] = grid->info.high[a] + (grid->felt[a] & 2 ? more : 0);
        any |= grid->felt[a];
    }
    return any && r->grown++ < MOST_GROWN;
}

/* r is checked but for its settings. A box whose walls are felt at a requested point grows, as long as that helps. */
static hb_status solve(request *r, hb_grid **out)
{
    const double limit = r->settings.max_time;
    const double deadline = limit > 0 ? hb_seconds() + limit : INFINITY;
    HB_TRY(solve_in_box(r, deadline, out));
    while (grow_box(r, *out)) {
        hb_grid *larger;
        const hb_status status = solve_in_box(r, deadline, &larger);
        const int helps = status == HB_OK && sum_errors(r, larger) < sum_errors(r, *out);
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

hb_status hb_grid_solve_within(hb_context *context, const hb_problem *problem,
                               const hb_grid_settings *settings, size_t n_at, const double *at,
                               double tau_end, const hb_grid_from *from, const hb_grid_zoom *zoom,
                               hb_grid **out)
{
    request r = {.context = context,
                 .problem = problem,
                 .settings = *settings,
                 .n_at = at ? n_at : 0,
                 .at = at,
                 .tau_end = tau_end,
                 .from = from,
                 .zoom = zoom};
    return solve(&r, out);
}

/* A point under a noise that needs the tensor; a density that is narrow beside noise^2 time takes its place. */
static hb_status refuse_point(const request *r)
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
                   "coordinates makes "
                   "the noise a number; %s",
                   hb_problem_noise_kind(r->problem) == HB_NOISE_MATRIX
                       ? "take the method particles, or walk where the drift is linear"
                   : spread > 0 ? advice
                                : "give a narrow density instead, as gaussian(mean=..., var=...)");
}

hb_status hb_grid_solve(hb_context *context, const hb_problem *problem,
                        const hb_grid_settings *settings, size_t n_at, const double *at,
                        double time, hb_grid **out)
{
    HB_CHECK(context, problem && out, HB_ERROR_ARGUMENT,
             "the problem or the output of a grid is NULL");
    *out = NULL;
    const int dim = hb_problem_dim(problem);
    HB_CHECK(context, dim <= 3, HB_ERROR_ARGUMENT,
             "the problem has %d dimensions; a grid takes 1 to 3", dim);
    HB_CHECK(context, time > 0, HB_ERROR_ARGUMENT, "time is %g; it must be above 0", time);
    request r = {.context = context,
                 .problem = problem,
                 .tau_end = 1,
                 .stationary = time == INFINITY,
                 .n_at = at ? n_at : 0,
                 .at = at};
    HB_CHECK(context, r.stationary || hb_problem_initial_kind(problem) != HB_INITIAL_KIND_NONE,
             HB_ERROR_ARGUMENT, "the problem has no initial density; a grid needs one");
    HB_CHECK(context, !r.stationary || hb_tensor_is_steady(problem), HB_ERROR_ARGUMENT,
             "time is inf, but drift or noise depend on t; there is no stationary density");
    HB_SIZED_READ(context, hb_grid_settings, settings, &r.settings);
    if (r.stationary) {
        r.settings.keep_from = NAN;
        r.settings.n_keep = 0;
        return solve(&r, out);
    }
    HB_TRY(hb_problem_tau_of_t(context, problem, time, &r.tau_end));
    if (!hb_problem_initial_facts(problem)->point) return solve(&r, out);
    HB_TRY(check_settings(&r, dim));
    HB_CHECK(context, !(hb_cuts_after(hb_problem_cuts(problem), 0, r.tau_end) < r.tau_end),
             HB_ERROR_NUMERICAL,
             "the initial condition is a point, and drift or noise have a narrow pulse in t, which "
             "a grid that "
             "grows from a point does not follow; take the method particles%s",
             hb_problem_is_linear(problem) ? " or walk" : "");
    if (hb_tensor_is_needed(problem)) return refuse_point(&r);
    return hb_grid_solve_zoom(context, problem, &r.settings, r.n_at, at, r.tau_end, out);
}

void hb_grid_destroy(hb_grid *grid)
{
    if (!grid) return;
    hb_grid_destroy(grid->inner);
    hb_release(grid->context, grid->v[0]);
    hb_release(grid->context, grid->v_error[0]);
    hb_release(grid->context, grid->slope_error[0]);
    hb_release(grid->context, grid);
}

hb_status hb_grid_info_get(const hb_grid *grid, size_t size, hb_grid_info *out)
{
    if (!grid) return HB_ERROR_ARGUMENT;
    HB_SIZED_CHECK(grid->context, hb_grid_info, size, out);
    HB_SIZED_WRITE(grid->info, size, out);
    return HB_OK;
}
