/* The stationary density of a problem on a grid, and the public call for any time.
 *
 * The box comes from long trajectories (stationary_box.c), v on the meshes h, 2h and 4h from null
 * vectors (stationary_meshes.c). They are extrapolated like solutions at a finite time. To the
 * errors are added the mean error of ln u, which the mass carries everywhere, and the mass beyond
 * the boundary.
 *
 * A number to reproduce: F = -x has ln u = -ln(2 pi)/2 at 0
 * (tests/python/test_solve_stationary.py). */
#include "base/context.h"
#include "base/memory.h"
#include "chain/stationary.h"
#include "grid/boundary_errors.h"
#include "grid/grid_solve.h"
#include "grid/tensor_scheme.h"

#include <math.h>

static const double CORE = 0.05;         /* of the largest u */
static const double LEAST_MASS = 1e-280; /* of the largest u; below, numbers end */

/* Beside the factors of hb_tensor_rule, of a chain: 0.9 of the reported errors with it. */
static const double SLOPE_FACTOR = 2;
/* Where the directions of a chain change, errors were up to 2.2 (v) and 2.9 (slopes) of the
 * reported ones without this factor. */
static const double UNEVEN_FACTOR = 4;

/* Of the inner box in two dimensions, which needs no time steps. */
enum { INNER_PER_WIDTH = 20, LEAST_INNER = 96, MOST_INNER = 208 };
/* The same where the noise is a tensor, whose cells are even. */
enum { TENSOR_LEAST = 144, TENSOR_MOST = 208 };
/* And in three, where elimination takes time like the seventh power. */
enum { SPACE_CELLS = 48 };

/* ---- the meshes ---- */

static double stationary_wanted_cells(const hb_problem *problem, const hb_grid_box *box, int a)
{
    const int dim = hb_problem_dim(problem);
    const double span = box->high[a] - box->low[a];
    if (dim == 3) return SPACE_CELLS;
    if (dim == 2 && hb_tensor_is_needed(problem))
        return fmin(fmax(INNER_PER_WIDTH * span / box->width[a], TENSOR_LEAST), TENSOR_MOST);
    return hb_grid_default_cells(problem, span, box->width[a], 1);
}

/* In two dimensions: cells of the inner box, whose neighbours outside are coarser. A cycle turns
 * what is narrow along one axis into what is narrow along the other. */
static int stationary_inner_cells(const hb_grid_box *box, int a)
{
    const double span = box->inner_high[a] - box->inner_low[a];
    const double wanted = INNER_PER_WIDTH * span / fmin(box->width[0], box->width[1]);
    return (int)fmin(fmax(ceil(wanted), LEAST_INNER), MOST_INNER) / 4 * 4;
}

static hb_status stationary_choose_box(const hb_grid_request *r, hb_grid_box *box)
{
    if (!hb_grid_request_is_complete(r, box)) {
        HB_TRY(hb_chain_box(r->context, r->problem, r->n_at, r->at, box));
        if (hb_tensor_is_needed(r->problem))
            HB_TRY(hb_chain_trim(r->context, r->problem, r->n_at, r->at, box));
    }
    return hb_grid_request_box(r, box);
}

static hb_status stationary_set_meshes(const hb_grid_request *r, hb_chain_task *s)
{
    const int dim = hb_problem_dim(r->problem);
    hb_grid *grid = s->grid;
    hb_grid_box box = {0};
    hb_axis axes[3];
    int cells[3];
    HB_TRY(hb_grid_request_check(r));
    HB_TRY(stationary_choose_box(r, &box));
    for (int a = 0; a < dim; a++)
        cells[a] = hb_grid_request_cells(r, a, stationary_wanted_cells(r->problem, &box, a));
    HB_TRY(hb_grid_lay_axes(r, &box, cells, axes, grid));
    for (int a = 0; a < dim; a++) {
        const int inner = box.inner_low[a] < box.inner_high[a];
        s->core[a] =
            inner ? 0.5 * (box.inner_low[a] + box.inner_high[a]) : 0.5 * (box.low[a] + box.high[a]);
        if (grid->tensor && dim > 1) /* whose chain goes along diagonals */
            axes[a] = hb_axis_even(cells[a], box.low[a], box.high[a]);
        else if (dim == 2 && axes[a].pieces == 1 && !r->settings.points[a])
            axes[a] = hb_chain_axis(&box, a, stationary_inner_cells(&box, a));
    }
    hb_grid_set_meshes(r, &box, axes, grid);
    grid->n_levels = 1;
    grid->tau[0] = r->tau_end;
    return HB_OK;
}

/* ---- errors ---- */

/* The mass carries the mean error of ln u everywhere, also where the meshes agree by chance; the
 * geometric mean over the core region, since reported errors are bounds in places. u:
 * (mesh[2].size), at most 1. */
static void stationary_add_mass_errors(const hb_chain_task *s, const double *u)
{
    const size_t size = s->grid->mesh[2].size;
    double sum = 0, mass = 0, *error = s->grid->v_error[0];
    for (size_t i = 0; i < size; i++) {
        if (u[i] < CORE || !isfinite(error[i]) || !(error[i] > 0)) continue;
        sum += u[i] * log(error[i]);
        mass += u[i];
    }
    for (size_t i = 0; i < size && mass > 0; i++)
        error[i] = u[i] > LEAST_MASS ? error[i] + exp(sum / mass) : (double)INFINITY;
    for (size_t i = 0; i < size; i++) error[i] += s->beyond;
}

/* A chain has no floor; where its noise had to be raised is one more boundary (tensor_chain.c). */
static hb_error_rule stationary_rule(const hb_chain_task *s, const double *coarse)
{
    const double height = hb_grid_boundary_height(&s->grid->mesh[2], coarse);
    hb_error_rule rule = hb_tensor_rule(s->grid, fmax(height, -s->raised));
    rule.v_factor *= s->uneven ? UNEVEN_FACTOR : 1;
    rule.slope_factor *= SLOPE_FACTOR * (s->uneven ? UNEVEN_FACTOR : 1);
    rule.deepest = INFINITY;
    return rule;
}

/* middle[mesh[1].size], coarse and u[mesh[2].size] are scratch. */
static hb_status stationary_combine(hb_chain_task *s, double *middle, double *coarse, double *u)
{
    hb_grid *grid = s->grid;
    const hb_mesh *mesh = &grid->mesh[2];
    double *const out[HB_GRID_MESHES] = {grid->v[0], middle, coarse};
    HB_TRY(hb_chain_meshes(s, out));
    hb_grid_set_info(grid, grid->v[0]);
    if (!grid->info.unresolved) HB_TRY(hb_grid_check_cells(grid, s->problem, coarse));
    const double top = hb_mesh_top(mesh, coarse);
    for (size_t i = 0; i < mesh->size; i++) u[i] = exp(coarse[i] - top);
    const hb_error_rule rule = stationary_rule(s, coarse);
    HB_TRY(hb_grid_combine_by(grid, 0, grid->tensor ? &rule : NULL, middle, coarse));
    HB_TRY(hb_grid_jump_errors(grid, s->problem, 0));
    stationary_add_mass_errors(s, u);
    return HB_OK;
}

/* ---- the whole ---- */

static hb_status stationary_run(const hb_grid_request *r, hb_grid *grid)
{
    hb_chain_task s = {.grid = grid, .problem = r->problem, .raised = INFINITY};
    double *middle, *coarse, *u;
    hb_workspace work;
    HB_TRY(stationary_set_meshes(r, &s));
    HB_TRY(hb_grid_allocate(grid, hb_chain_bytes(grid)));
    HB_TRY(HB_WORKSPACE(grid->context, &work, HB_ARRAY(middle, grid->mesh[1].size),
                        HB_ARRAY(coarse, grid->mesh[2].size), HB_ARRAY(u, grid->mesh[2].size)));
    const hb_status status = stationary_combine(&s, middle, coarse, u);
    hb_workspace_destroy(&work);
    grid->info.kept_from = grid->tau[0];
    grid->info.tau = INFINITY;
    grid->tau[0] = 0; /* it is the same at all times */
    return status;
}

hb_status hb_chain_solve(hb_context *context, const hb_problem *problem,
                         const hb_grid_settings *settings, size_t n_at, const double *at,
                         hb_grid **out)
{
    hb_grid_request r;
    hb_grid *grid;
    *out = NULL;
    HB_CHECK(context, hb_tensor_is_steady(problem), HB_ERROR_ARGUMENT,
             "time is inf, but drift or noise depend on t; there is no stationary density");
    HB_TRY(hb_grid_request_read(context, problem, settings, n_at, at, &r));
    r.settings.keep_from = NAN;
    r.settings.n_keep = 0;
    r.deadline = hb_grid_deadline(r.settings.max_time);
    HB_TRY(hb_grid_create(&r, &grid));
    grid->stationary = grid->asks_order = 1;
    const hb_status status = stationary_run(&r, grid);
    *out = status == HB_OK ? grid : NULL;
    if (status != HB_OK) hb_grid_destroy(grid);
    return status;
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
    if (time == INFINITY) return hb_chain_solve(context, problem, settings, n_at, at, out);
    return hb_grid_solve_finite(context, problem, settings, n_at, at, time, out);
}
