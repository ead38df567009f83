/* Two and three dimensions: does the drift do anything within the cells that the meshes do not see?
 *
 * For each cell of the coarsest mesh that has mass at the start or at the end, F is sampled at 3^d
 * points and 33 times (17 in three dimensions; there are at least 256 steps in time). A cell is
 * fine when interval arithmetic proves that F leaves the hull of its samples by no more than
 * SLACK/h, h the cell's length along the component, and a quarter of the hull's width (a parabola
 * leaves it by an eighth); otherwise its halves, in space and time, are looked at, down to 2^DEPTH
 * parts (of a drift that depends on time, first 2^TIME_DEPTH parts of the time), and a sample
 * outside, or no proof, means that the mesh does not resolve the drift. Cells that a jump cuts have
 * errors of their own (grid_extrapolate.c) and are left out.
 *
 * Must reproduce: 150 exp(-(x-0.6)^2/1e-6) in two dimensions is not resolved by 256 cells,
 * exp(-x^2) is. */
#include "base/context.h"
#include "base/memory.h"
#include "grid/grid_kept.h"
#include "problem/drift_facts.h"

#include <math.h>

enum { DEPTH = 12, TIME_DEPTH = 6, TIMES = 5, HULL_TIMES = 33, MOST_LOOKS = 400000 };

static const double SLACK = 0.05;
static const double HULL_PART = 0.25; /* of the hull's width */
static const double MASS_DEPTH = 25;  /* of ln u below its maximum, where cells are looked at */

typedef struct cell_check {
    hb_context *context;
    const hb_problem *problem;
    int dim, looks;
    double slack[3];
    hb_interval hull[3];
    hb_interval *arguments; // (n_breaks)
} cell_check;

/* The hull of F over the 3^d points of a box and so many times. */
static hb_status cell_sample(const cell_check *c, const hb_interval *box, int times,
                             hb_interval *hull)
{
    const int points = c->dim == 1 ? 3 : c->dim == 2 ? 9 : 27;
    const size_t d = (size_t)c->dim;
    const hb_interval time = box[c->dim];
    double x[27 * 3], F[27 * 3], tau[27];
    for (int a = 0; a < c->dim; a++) hull[a] = (hb_interval){INFINITY, -INFINITY};
    for (int t = 0; t < (hb_problem_is_autonomous(c->problem) ? 1 : times); t++) {
        for (int p = 0, rest = 0; p < points; rest = ++p) {
            tau[p] = time.low + (time.high - time.low) * t / (times - 1);
            for (size_t a = 0; a < d; a++, rest /= 3)
                x[(size_t)p * d + a] =
                    box[a].low + 0.5 * (double)(rest % 3) * (box[a].high - box[a].low);
        }
        HB_TRY(hb_problem_drift_each(c->context, c->problem, (size_t)points, x, tau, F, NULL, NULL,
                                     NULL));
        for (size_t k = 0; k < (size_t)points * d; k++) {
            hull[k % d].low = fmin(hull[k % d].low, F[k]);
            hull[k % d].high = fmax(hull[k % d].high, F[k]);
        }
    }
    return HB_OK;
}

static int cell_is_within(const cell_check *c, const hb_interval *F)
{
    for (int a = 0; a < c->dim; a++)
        if (!(F[a].low >= c->hull[a].low - c->slack[a] &&
              F[a].high <= c->hull[a].high + c->slack[a]))
            return 0;
    return 1;
}

static int cell_jumps(const cell_check *c)
{
    const hb_drift_facts *facts = hb_problem_facts(c->problem);
    for (int k = 0; k < facts->n_breaks; k++)
        if (facts->breaks[k].kind != HB_BREAK_KINK && c->arguments[k].low <= 0 &&
            c->arguments[k].high >= 0)
            return 1;
    return 0;
}

static hb_interval cell_half(hb_interval whole, int upper)
{
    const double middle = 0.5 * (whole.low + whole.high);
    return upper ? (hb_interval){middle, whole.high} : (hb_interval){whole.low, middle};
}

/* How far the ranges of F are outside the hull, in slacks, when the box is halved along an axis;
 * of the worse half. */
static hb_status cell_excess(const cell_check *c, const hb_interval *box, int axis, double *worst)
{
    *worst = 0;
    for (int upper = 0; upper < 2; upper++) {
        hb_interval F[3], part[4];
        double sum = 0;
        for (int a = 0; a <= c->dim; a++) part[a] = a == axis ? cell_half(box[a], upper) : box[a];
        HB_TRY(hb_problem_ranges(c->context, c->problem, part, part[c->dim], F, c->arguments));
        for (int a = 0; a < c->dim; a++)
            sum +=
                fmax(0, fmax(c->hull[a].low - F[a].low, F[a].high - c->hull[a].high)) / c->slack[a];
        *worst = fmax(*worst, sum);
    }
    return HB_OK;
}

/* The axis whose halves are the nearest to a proof; a component that depends on one coordinate
 * needs no other. */
static hb_status cell_choose_axis(const cell_check *c, const hb_interval *box, int depth, int *axis)
{
    double least = INFINITY, worst;
    const int axes = c->dim + !hb_problem_is_autonomous(c->problem);
    *axis = depth > DEPTH ? c->dim : depth % axes;
    for (int k = 0; k < axes && depth <= DEPTH; k++) {
        const int candidate = (depth + k) % axes;
        HB_TRY(cell_excess(c, box, candidate, &worst));
        if (worst < least) *axis = candidate;
        least = fmin(least, worst);
    }
    return HB_OK;
}

/* box: the cell and, last, the time. *bad becomes 1 when F is seen, or cannot be excluded,
 * outside the hull. */
static hb_status cell_look_inside(cell_check *c, const hb_interval *box, int depth, int *bad)
{
    hb_interval F[3], values[3], part[4];
    HB_TRY(hb_problem_ranges(c->context, c->problem, box, box[c->dim], F, c->arguments));
    if (cell_is_within(c, F) || cell_jumps(c)) return HB_OK;
    HB_TRY(cell_sample(c, box, TIMES, values));
    *bad |= depth == 0 || ++c->looks > MOST_LOOKS || !cell_is_within(c, values);
    if (*bad) return HB_OK;
    int axis;
    HB_TRY(cell_choose_axis(c, box, depth, &axis));
    for (int upper = 0; upper < 2 && !*bad; upper++) {
        for (int a = 0; a <= c->dim; a++) part[a] = a == axis ? cell_half(box[a], upper) : box[a];
        HB_TRY(cell_look_inside(c, part, depth - 1, bad));
    }
    return HB_OK;
}

/* The box of the cell above node `node`, and whether there is one. */
static int box_above(const hb_mesh *mesh, size_t node, hb_interval *box)
{
    for (int a = mesh->dim - 1; a >= 0; a--) {
        const int n = mesh->nodes[a], k = (int)(node % (size_t)n);
        if (k + 1 == n) return 0;
        box[a].low = hb_mesh_coordinate(mesh, a, k);
        box[a].high = hb_mesh_coordinate(mesh, a, k + 1);
        node /= (size_t)n;
    }
    return 1;
}

static hb_status check_cell(cell_check *c, const hb_interval *box, int *bad)
{
    HB_TRY(cell_sample(c, box, c->dim <= 2 ? HULL_TIMES : HULL_TIMES / 2 + 1, c->hull));
    for (int a = 0; a < c->dim; a++)
        c->slack[a] =
            SLACK / (box[a].high - box[a].low) + HULL_PART * (c->hull[a].high - c->hull[a].low);
    return cell_look_inside(c, box, DEPTH + (hb_problem_is_autonomous(c->problem) ? 0 : TIME_DEPTH),
                            bad);
}

static hb_status check_cells(hb_grid *grid, const hb_mesh *mesh, const hb_problem *problem,
                             double tau_end, const double *v)
{
    const hb_drift_facts *facts = hb_problem_facts(problem);
    if (!facts->is_formula) return HB_OK;
    cell_check c = {.context = grid->context, .problem = problem, .dim = mesh->dim};
    int bad = 0;
    HB_TRY(HB_NEW(grid->context, c.arguments, (size_t)facts->n_breaks + 1));
    const double top = hb_mesh_top(mesh, v);
    hb_status status = HB_OK;
    for (size_t i = 0; i < mesh->size && status == HB_OK && !bad; i++) {
        hb_interval box[4];
        if (v[i] < top - MASS_DEPTH || !box_above(mesh, i, box)) continue;
        box[mesh->dim] = (hb_interval){0, tau_end};
        status = check_cell(&c, box, &bad);
    }
    hb_release(grid->context, c.arguments);
    grid->info.unresolved |= bad;
    return status;
}

hb_status hb_grid_check_cells(hb_grid *grid, const hb_problem *problem, const double *v)
{
    HB_TRY(hb_tensor_check_noise(grid, problem, v));
    if (grid->info.dim == 1) return HB_OK;
    return check_cells(grid, &grid->mesh[2], problem, grid->info.tau, v);
}

hb_status hb_grid_check_scaled(hb_grid *grid, const hb_grid_scaling *scaling, const double *v)
{
    hb_axis axes[3];
    hb_mesh mesh;
    const double size = hb_scaling_size(scaling, scaling->tau_end);
    for (int a = 0; a < grid->info.dim; a++) {
        axes[a] = grid->mesh[2].axis[a];
        for (int p = 0; p <= axes[a].pieces; p++)
            axes[a].joint[p] = scaling->place[a] + size * axes[a].joint[p];
    }
    hb_mesh_set_axes(&mesh, grid->info.dim, axes, 1);
    return check_cells(grid, &mesh, scaling->problem, scaling->tau_end, v);
}
