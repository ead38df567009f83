/* From what is asked of a grid to its meshes.
 *
 * The points per axis are per_width for each width of the density, within limits by dimension; what
 * the user gives replaces what is chosen. Three meshes h, 2h and 4h share the axes (grid_layout.c).
 *
 * A number to reproduce: in one dimension a box of 14 widths gets max(1024, 40 * 14) = 1024
 * cells. */
#include "grid/grid_request.h"
#include "base/context.h"
#include "base/memory.h"
#include "base/sized.h"
#include "grid/boundary_errors.h"
#include "grid/tensor_scheme.h"
#include "problem/drift_facts.h"
#include "problem/initial/initial_average.h"
#include "problem/time_cuts.h"

#include <math.h>
#include <unistd.h>

enum {
    LEAST_CELLS = 32,
    MOST_CELLS = 1 << 20,
    LONG_TAILS = 4 /* times as many cells in one dimension under tensor noise */
};

static const double MEMORY_PART = 0.8; /* of the machine's memory that a grid may take */
/* With breaks between nodes, whose errors are larger. */
static const double BROKEN_TOLERANCE = 1e-6;
static const double BOUNDARY_DEPTH = -20; /* a note is given when v on the boundary is above this */

/* By dimension: points per width of the density, and their limits; tolerance. */
static const struct {
    double per_width;
    int least, most;
    double tolerance;
} DEFAULTS[] = {{40, 1024, 8192, 1e-9}, {10, 96, 256, 1e-7}, {4, 48, 64, 1e-6}};

void hb_grid_settings_default(size_t size, hb_grid_settings *settings)
{
    const hb_grid_settings defaults = {
        .low = {NAN, NAN, NAN}, .high = {NAN, NAN, NAN}, .keep_from = NAN};
    hb_sized_default(sizeof defaults, &defaults, size, settings);
}

/* ---- the request ---- */

hb_status hb_grid_request_read(hb_context *context, const hb_problem *problem,
                               const hb_grid_settings *settings, size_t n_at, const double *at,
                               hb_grid_request *out)
{
    *out = (hb_grid_request){
        .context = context, .problem = problem, .tau_end = 1, .n_at = at ? n_at : 0, .at = at};
    HB_SIZED_READ(context, hb_grid_settings, settings, &out->settings);
    return HB_OK;
}

double hb_grid_deadline(double max_time)
{
    return max_time > 0 ? hb_seconds() + max_time : INFINITY;
}

static hb_status request_check_times(const hb_grid_request *r)
{
    const hb_grid_settings *s = &r->settings;
    const double from = s->keep_from, end = r->tau_end;
    HB_CHECK(r->context, isnan(from) || (from >= 0 && from < end), HB_ERROR_ARGUMENT,
             "keep_from is tau = %g; it must be at least 0 and below the end, %g", from, end);
    HB_CHECK(r->context,
             isnan(from) || !(hb_cuts_after(hb_problem_cuts(r->problem), from, end) < end),
             HB_ERROR_ARGUMENT,
             "drift or noise have a narrow pulse in t, and a field that is kept from tau = %.6g on "
             "does not follow it between its levels; take the method grid, or a smaller ball",
             from);
    HB_CHECK(r->context, s->n_keep < HB_GRID_MAX_LEVELS && (s->n_keep == 0 || s->keep),
             HB_ERROR_ARGUMENT, "keep has %zu values of tau; it must have at most %d", s->n_keep,
             HB_GRID_MAX_LEVELS - 1);
    HB_CHECK(r->context, s->n_keep == 0 || isnan(from), HB_ERROR_ARGUMENT,
             "keep and keep_from are both given; give one of them");
    for (size_t k = 0; k < s->n_keep; k++)
        HB_CHECK(r->context, s->keep[k] > (k ? s->keep[k - 1] : 0) && s->keep[k] < end,
                 HB_ERROR_ARGUMENT,
                 "value %zu of keep is tau = %g; they must rise, above 0 and below the end, %g",
                 k + 1, s->keep[k], end);
    return HB_OK;
}

hb_status hb_grid_request_check(const hb_grid_request *r)
{
    const hb_grid_settings *s = &r->settings;
    const int dim = hb_problem_dim(r->problem);
    HB_CHECK(r->context, s->tolerance >= 0 && s->tolerance <= 0.1, HB_ERROR_ARGUMENT,
             "tolerance is %g; it must be 0 to 0.1, 0 for the default", s->tolerance);
    HB_CHECK(r->context, s->max_time >= 0, HB_ERROR_ARGUMENT,
             "max_time is %g; it must be a number of seconds, or 0 for no limit", s->max_time);
    HB_TRY(request_check_times(r));
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

int hb_grid_request_is_complete(const hb_grid_request *r, hb_grid_box *box)
{
    const hb_grid_settings *s = &r->settings;
    int given = isnan(s->keep_from);
    for (int a = 0; a < hb_problem_dim(r->problem); a++) {
        given = given && s->points[a] && !isnan(s->low[a]) && !isnan(s->high[a]);
        box->width[a] = s->high[a] - s->low[a];
    }
    return given;
}

int hb_grid_request_has_boundary(const hb_grid_request *r)
{
    int given = 0;
    for (int a = 0; a < hb_problem_dim(r->problem); a++)
        given |= !isnan(r->settings.low[a]) || !isnan(r->settings.high[a]);
    return given;
}

/* ---- box and cells ---- */

hb_status hb_grid_request_box(const hb_grid_request *r, hb_grid_box *box)
{
    const size_t d = (size_t)hb_problem_dim(r->problem);
    const hb_grid_settings *s = &r->settings;
    for (size_t a = 0; a < d; a++) {
        if (!isnan(s->low[a])) box->low[a] = s->low[a];
        if (!isnan(s->high[a])) box->high[a] = s->high[a];
        HB_CHECK(r->context, box->low[a] < box->high[a], HB_ERROR_ARGUMENT,
                 "the box of axis %zu is [%g, %g]; low must be below high", a + 1, box->low[a],
                 box->high[a]);
    }
    for (size_t i = 0; i < r->n_at * d; i++) {
        const size_t a = i % d;
        if (isnan(s->low[a]) && isnan(s->high[a])) continue; /* held, or too far out */
        HB_CHECK(r->context, r->at[i] >= box->low[a] && r->at[i] <= box->high[a], HB_ERROR_ARGUMENT,
                 "point %zu has coordinate %zu = %g outside the box [%g, %g], whose boundaries "
                 "reflect; give a larger box, or none",
                 i / d + 1, a + 1, r->at[i], box->low[a], box->high[a]);
    }
    return HB_OK;
}

int hb_grid_request_cells(const hb_grid_request *r, int axis, double wanted)
{
    const int cells = r->settings.points[axis] ? r->settings.points[axis] : (int)wanted;
    return (cells + 3) / 4 * 4;
}

double hb_grid_default_cells(const hb_problem *problem, double span, double width, double finer)
{
    const int dim = hb_problem_dim(problem);
    const int longer = dim == 1 && hb_tensor_is_needed(problem) ? LONG_TAILS : 1;
    const double wanted = ceil(finer * DEFAULTS[dim - 1].per_width * span / width);
    return fmin(fmax(wanted, DEFAULTS[dim - 1].least), DEFAULTS[dim - 1].most * longer);
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

/* ---- the grid ---- */

hb_status hb_grid_create(const hb_grid_request *r, hb_grid **out)
{
    hb_grid *grid;
    HB_TRY(HB_NEW_CLEARED(r->context, grid, 1));
    grid->context = r->context;
    grid->max_time = r->settings.max_time;
    grid->deadline = r->deadline;
    grid->pulses = hb_problem_cuts(r->problem)->n > 0;
    grid->tensor = hb_tensor_is_needed(r->problem);
    grid->strict = 1;
    grid->info.relaxation = NAN;
    *out = grid;
    return HB_OK;
}

/* The scheme for tensors takes the drift at nodes: no jumps, and kinks as those between nodes. */
hb_status hb_grid_lay_axes(const hb_grid_request *r, const hb_grid_box *box, const int *cells,
                           hb_axis *axes, hb_grid *grid)
{
    const hb_drift_facts *facts = hb_problem_facts(r->problem);
    HB_TRY(hb_grid_layout(r->context, r->problem, r->tau_end, box->low, box->high, cells, axes,
                          &grid->flaws));
    for (int k = 0; k < facts->n_breaks && grid->tensor; k++) {
        HB_CHECK(r->context, facts->breaks[k].kind != HB_BREAK_JUMP, HB_ERROR_ARGUMENT,
                 "the drift jumps and the noise is a tensor; the grid does not take both: make the "
                 "jump smooth, as tanh(20*x) for sign(x)");
        grid->flaws.kinks = 1;
    }
    return HB_OK;
}

void hb_grid_set_meshes(const hb_grid_request *r, const hb_grid_box *box, const hb_axis *axes,
                        hb_grid *grid)
{
    const int dim = hb_problem_dim(r->problem);
    const double given = r->settings.tolerance;
    grid->tolerance = given > 0 ? given : DEFAULTS[dim - 1].tolerance;
    if (given == 0 && (grid->flaws.jumps || grid->flaws.kinks))
        grid->tolerance = fmax(grid->tolerance, BROKEN_TOLERANCE);
    if (hb_problem_initial_facts(r->problem)->broken > 1) grid->flaws.kinks = 1;
    grid->info.dim = dim;
    grid->info.tau = r->tau_end;
    grid->info.unresolved = grid->flaws.unresolved;
    grid->info.breaks_between = grid->flaws.jumps || grid->flaws.kinks;
    for (int a = 0; a < dim; a++) {
        grid->info.points[a] = axes[a].first[axes[a].pieces];
        grid->info.low[a] = box->low[a];
        grid->info.high[a] = box->high[a];
    }
    for (int m = 0; m < HB_GRID_MESHES; m++) hb_mesh_set_axes(&grid->mesh[m], dim, axes, 1 << m);
}

hb_status hb_grid_allocate_levels(hb_grid *grid, size_t size, double **out)
{
    void *memory;
    HB_TRY(hb_allocate(grid->context, size * (size_t)grid->n_levels, sizeof(double), &memory));
    for (int k = 0; k < grid->n_levels; k++) out[k] = (double *)memory + (size_t)k * size;
    return HB_OK;
}

hb_status hb_grid_allocate(hb_grid *grid, double bytes)
{
    const size_t coarse = grid->mesh[2].size, d = (size_t)grid->info.dim;
    double sizes = 0;
    for (int m = 0; m < HB_GRID_MESHES; m++) sizes += (double)grid->mesh[m].size;
    bytes += sizes * (double)sizeof(double) * (grid->n_levels + 2);
    const double there = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    HB_CHECK(grid->context, bytes <= MEMORY_PART * there, HB_ERROR_MEMORY,
             "the grid of %zu points needs %.3g GB and this machine has %.3g GB; give fewer points",
             grid->mesh[0].size, bytes * 1e-9, there * 1e-9);
    HB_TRY(hb_grid_allocate_levels(grid, grid->mesh[0].size, grid->v));
    HB_TRY(hb_grid_allocate_levels(grid, coarse, grid->v_error));
    return hb_grid_allocate_levels(grid, coarse * d, grid->slope_error);
}

void hb_grid_set_info(hb_grid *grid, const double *v)
{
    const double height = hb_grid_boundary_height(&grid->mesh[0], v);
    grid->info.mass_error = fabs(expm1(hb_mesh_log_mass(&grid->mesh[0], v)));
    grid->info.boundary_log = height;
    if (height > BOUNDARY_DEPTH)
        hb_note(
            grid->context,
            "the boundaries of the grid reflect, and the density there is e^%.1f of its maximum; "
            "give a larger box, or none",
            height);
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
