/* Where the time integration starts.
 *
 * Smooth initial data are taken at the nodes, at tau = 0. Data with jumps or zeros, or narrower
 * than the mesh, are carried by the heat flow without drift to a small tau = s = W^2 h^2/2, W = 4
 * spacings (the mean over axes of different h); what the drift would have done is an error of order
 * h^2, which the extrapolation removes to leading order. For a uniform box the flow is known,
 *     u = product over axes of (erf((x - low)/b) - erf((x - high)/b))/(2 (high - low)),
 *     b = 2 sqrt(s),
 * otherwise cell averages are summed against the Gaussian axis by axis, all on logarithms. Below
 * e^-45 of the maximum slopes above MAX_RISE per node are replaced by the least function above v
 * with that slope. On even nodes coarser meshes are scaled to the mass of the finest; where the
 * spacing changes the extrapolation removes the trapezoidal rule's c h^2.
 *
 * Must reproduce: at the edge of a uniform box of width L, u(., s) = 1/(2 L). */
#include "grid/grid_start.h"
#include "base/context.h"
#include "base/memory.h"
#include "problem/initial/initial_average.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 4, BATCH = 4096 };

static const double MAX_RISE = 20;        /* of v from node to node of the coarsest mesh */
static const double SHALLOW = 45;         /* below the top: where data must be resolved */
static const double MAX_BEND = 4;         /* second difference of v */
static const int PER_AXIS[] = {64, 8, 4}; /* points of a cell's average, by dimension */
static const double HIDDEN = 0.4; /* standard deviations, in spacings, that nodes may pass over */
static const double MASS_SLACK = 1e-3;  /* of smooth data that are taken as they are */
static const double UNEVEN = 0.1;       /* halves of a part of an edge, against their sum */
static const double NO_MASS = 1e-15;    /* of a part that is not looked at closer */
static const double ROUGH_SLACK = 2e-2; /* of averages, which are normalised */

double hb_grid_start_tau(const hb_mesh *mesh)
{
    double sum = 0;
    for (int a = 0; a < mesh->dim; a++) sum += mesh->h[a] * mesh->h[a];
    return 0.5 * WIDTH * WIDTH * sum / mesh->dim;
}

static hb_status node_values(hb_context *context, const hb_problem *problem,
                             const hb_grid_from *from, const hb_mesh *mesh, double *v)
{
    double x[BATCH * 3], tau[BATCH]; // (BATCH, dim), (BATCH)
    for (size_t i = 0; i < BATCH; i++) tau[i] = from ? from->tau : 0;
    const size_t d = (size_t)mesh->dim;
    for (size_t first = 0; first < mesh->size; first += BATCH) {
        const size_t count = mesh->size - first < BATCH ? mesh->size - first : BATCH;
        for (size_t i = 0; i < count; i++) hb_mesh_point(mesh, first + i, x + d * i);
        if (!from)
            HB_TRY(hb_problem_initial(context, problem, count, x, v + first, NULL));
        else
            HB_CHECK(context,
                     !from->field->evaluate(from->field->user, count, x, tau, v + first, NULL),
                     HB_ERROR_NUMERICAL, "the solution to start from is not known at tau = %g",
                     from->tau);
    }
    return HB_OK;
}

/* Whether v, which is not -inf here, cannot be followed from node i to its neighbours along an
 * axis. */
static int is_rough_at(const double *v, size_t i, size_t stride, size_t k, size_t n)
{
    const double left = k > 0 ? v[i - stride] : v[i], right = k + 1 < n ? v[i + stride] : v[i];
    if (!(fabs(right - v[i]) <= MAX_RISE && fabs(left - v[i]) <= MAX_RISE)) return 1;
    return k > 0 && k + 1 < n && !(fabs(right - 2 * v[i] + left) <= MAX_BEND);
}

static int is_rough(const hb_mesh *mesh, const double *v)
{
    const double top = hb_mesh_top(mesh, v);
    if (!isfinite(top)) return 1;
    for (int a = 0; a < mesh->dim; a++) {
        const size_t stride = hb_mesh_stride(mesh, a), n = (size_t)mesh->nodes[a];
        for (size_t i = 0; i < mesh->size; i++)
            if (top - v[i] < SHALLOW && is_rough_at(v, i, stride, i / stride % n, n)) return 1;
    }
    return 0;
}

hb_status hb_grid_start_decide(hb_context *context, const hb_problem *problem,
                               const hb_grid_from *from, const hb_mesh *coarsest, double *v,
                               hb_start_plan *out)
{
    HB_TRY(node_values(context, problem, from, coarsest, v));
    out->from = from;
    out->lost = NULL;
    out->rough = is_rough(coarsest, v) || hb_problem_initial_facts(problem)->broken;
    for (int a = 0; a < coarsest->dim && !from; a++) {
        const double sd = hb_problem_initial_narrowest(problem, a), h = coarsest->h[a];
        out->rough |= sd < HIDDEN * h;
        HB_CHECK(context, sd >= h / 4 / PER_AXIS[coarsest->dim - 1], HB_ERROR_NUMERICAL,
                 "a grid cannot resolve the initial density: a part of it has the standard "
                 "deviation %.3g along x%d, too narrow for the cells; give more cells, or take "
                 "the method walk or particles",
                 sd, a + 1);
    }
    HB_CHECK(context, !from || !out->rough, HB_ERROR_NUMERICAL,
             "a grid of %d cells per axis cannot follow the density from a point on; give more "
             "cells",
             4 * (coarsest->nodes[0] - 1));
    for (int a = 0; a < coarsest->dim; a++) out->steepest[a] = MAX_RISE / coarsest->h[a];
    return HB_OK;
}

/* The least function above v that is no steeper than asked, axis after axis, up and down. */
static void limit_slopes(const hb_mesh *mesh, const double *steepest, double *v)
{
    for (int a = 0; a < mesh->dim; a++) {
        const size_t stride = hb_mesh_stride(mesh, a), n = (size_t)mesh->nodes[a];
        for (size_t i = 0; i < mesh->size; i++) {
            const size_t k = i / stride % n;
            if (k > 0)
                v[i] =
                    fmax(v[i], v[i - stride] - steepest[a] * hb_mesh_spacing(mesh, a, (int)k - 1));
        }
        for (size_t i = mesh->size; i-- > 0;) {
            const size_t k = i / stride % n;
            if (k + 1 < n)
                v[i] = fmax(v[i], v[i + stride] - steepest[a] * hb_mesh_spacing(mesh, a, (int)k));
        }
    }
}

/* ---- a uniform box ---- */

static double log_erfc(double z)
{
    if (z < 20) return log(erfc(z));
    const double q = 1 / (2 * z * z);
    return -z * z - log(z * sqrt(M_PI)) + log1p(-q * (1 - 3 * q * (1 - 5 * q)));
}

/* ln((erf(a) - erf(b))/2), a > b, without loss in the tails. */
static double log_erf_difference(double a, double b)
{
    if (a < 0) return log_erf_difference(-b, -a);
    if (b <= 0) return log(0.5 * (erf(a) - erf(b)));
    const double near = log_erfc(b), far = log_erfc(a);
    return near + log1p(-exp(far - near)) - M_LN2;
}

static void flow_of_box(const hb_mesh *mesh, const double *low, const double *high, double *v)
{
    for (size_t i = 0; i < mesh->size; i++) {
        double x[3];
        hb_mesh_point(mesh, i, x);
        v[i] = 0;
        for (int a = 0; a < mesh->dim; a++) {
            const double width = M_SQRT2 * WIDTH * mesh->h[a]; /* 2 sqrt(s) */
            v[i] += log_erf_difference((x[a] - low[a]) / width, (x[a] - high[a]) / width) -
                    log(high[a] - low[a]);
        }
    }
}

/* ---- anything else ---- */

/* From a node to the given part of its cell, which is wider on one side where the spacing
 * changes; at a boundary the cell is taken as if it went on. */
static double part_of_cell(const hb_mesh *mesh, int axis, size_t node, double part)
{
    const int n = mesh->nodes[axis];
    const int k = (int)(node / hb_mesh_stride(mesh, axis) % (size_t)n);
    const double below = hb_mesh_spacing(mesh, axis, k > 0 ? k - 1 : 0);
    const double above = hb_mesh_spacing(mesh, axis, k + 1 < n ? k : n - 2);
    return 0.5 * (part * (below + above) - below);
}

/* Adds the mass between low and high, which are on the edge from x[0] to x[1], to its ends, such
 * that its mean stays where it is. Parts whose halves differ by much are halved, so that jumps
 * and poles are where they are. */
static hb_status share_part(hb_context *context, const hb_problem *problem, int axis,
                            const double *x, double low, double high, int depth, double *ends)
{
    const double middle = 0.5 * (low + high);
    double mass[2];
    int known;
    HB_TRY(hb_problem_initial_axis_mass(context, problem, axis, low, middle, &known, mass));
    HB_TRY(hb_problem_initial_axis_mass(context, problem, axis, middle, high, &known, mass + 1));
    for (int half = 0; half < 2; half++) mass[half] = exp(mass[half]);
    const double sum = mass[0] + mass[1];
    if (depth > 0 && sum > NO_MASS && fabs(mass[0] - mass[1]) > UNEVEN * sum) {
        HB_TRY(share_part(context, problem, axis, x, low, middle, depth - 1, ends));
        return share_part(context, problem, axis, x, middle, high, depth - 1, ends);
    }
    for (int half = 0; half < 2; half++) {
        const double at = half ? 0.5 * (middle + high) : 0.5 * (low + middle);
        const double part = (at - x[0]) / (x[1] - x[0]);
        ends[0] += (1 - part) * mass[half];
        ends[1] += part * mass[half];
    }
    return HB_OK;
}

/* What an axis of independent ones gives to its nodes. density[n]: ln of it over the cells. */
static hb_status share_masses(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                              int axis, double *density)
{
    enum { PARTS = 4, DEPTH = 24 };
    const int n = mesh->nodes[axis];
    for (int k = 0; k < n; k++) density[k] = 0;
    for (int k = 0; k + 1 < n; k++) {
        const double x[2] = {hb_mesh_coordinate(mesh, axis, k),
                             hb_mesh_coordinate(mesh, axis, k + 1)};
        for (int p = 0; p < PARTS; p++)
            HB_TRY(share_part(context, problem, axis, x, x[0] + (x[1] - x[0]) * p / PARTS,
                              x[0] + (x[1] - x[0]) * (p + 1) / PARTS, DEPTH, density + k));
    }
    for (int k = 0; k < n; k++)
        density[k] = log(density[k] / hb_mesh_cell(mesh, axis, k) / (k == 0 || k + 1 == n ? 2 : 1));
    return HB_OK;
}

/* ln of the mean of u0 over each node's cell, where the axes are independent; *known: 0 when
 * that is not so. A density with kinks or jumps between the nodes must be such: points in the
 * cells would see them by chance. */
static hb_status cell_masses(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                             double *v, int *known)
{
    double mass;
    HB_TRY(hb_problem_initial_axis_mass(context, problem, 0, 0, 1, known, &mass));
    HB_CHECK(context, *known || !hb_problem_initial_facts(problem)->broken, HB_ERROR_NUMERICAL,
             "the initial density has kinks or jumps that no node of a grid is on; the methods "
             "particles and walk answer");
    if (!*known) return HB_OK;
    memset(v, 0, mesh->size * sizeof *v);
    hb_status status = HB_OK;
    for (int a = 0; a < mesh->dim && status == HB_OK; a++) {
        const size_t stride = hb_mesh_stride(mesh, a), n = (size_t)mesh->nodes[a];
        double *density; // (n)
        HB_TRY(HB_NEW(context, density, n));
        status = share_masses(context, problem, mesh, a, density);
        for (size_t i = 0; i < mesh->size && status == HB_OK; i++) v[i] += density[i / stride % n];
        hb_release(context, density);
    }
    return status;
}

/* ln of the mean of u0 over each node's cell, from q^dim points in it. */
static hb_status cell_averages(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                               double *v)
{
    const int q = PER_AXIS[mesh->dim - 1], d = mesh->dim;
    const size_t count = (size_t)(d == 1 ? q : d == 2 ? q * q : q * q * q);
    double x[64 * 3], values[64]; // (count, dim), (count)
    for (size_t i = 0; i < mesh->size; i++) {
        for (size_t p = 0; p < count; p++) {
            double *y = x + p * (size_t)d;
            hb_mesh_point(mesh, i, y);
            size_t rest = p;
            for (int a = 0; a < d; a++, rest /= (size_t)q)
                y[a] += part_of_cell(mesh, a, i, ((double)(rest % (size_t)q) + 0.5) / q);
        }
        HB_TRY(hb_problem_initial(context, problem, count, x, values, NULL));
        double top = -INFINITY, sum = 0;
        for (size_t p = 0; p < count; p++) top = fmax(top, values[p]);
        for (size_t p = 0; p < count && isfinite(top); p++) sum += exp(values[p] - top);
        v[i] = isfinite(top) ? top + log(sum / (double)count) : -INFINITY;
    }
    return HB_OK;
}

/* ln of the sum over k of exp(line[k]) times its cell times the Gaussian of WIDTH spacings h at
 * x[i] - x[k]. */
static double flow_at(const double *line, const double *x, size_t n, double h, size_t i)
{
    double top = -INFINITY, sum = 0;
    for (size_t k = 0; k < n; k++) {
        const double away = (x[i] - x[k]) / h;
        top = fmax(top, line[k] - away * away / (2 * WIDTH * WIDTH));
    }
    if (!isfinite(top)) return top;
    for (size_t k = 0; k < n; k++) {
        const double away = (x[i] - x[k]) / h;
        const double term = line[k] - away * away / (2 * WIDTH * WIDTH) - top;
        if (term > -40) sum += exp(term);
    }
    return top + log(sum / (WIDTH * sqrt(2 * M_PI)));
}

static hb_status flow_along(hb_context *context, const hb_mesh *mesh, int axis, double *v)
{
    const size_t n = (size_t)mesh->nodes[axis], stride = hb_mesh_stride(mesh, axis);
    const double h = mesh->h[axis];
    void *memory;
    HB_TRY(hb_allocate(context, 3 * n, sizeof(double), &memory));
    double *line = memory, *x = line + n, *log_cell = x + n; // (n) each
    for (int k = 0; k < (int)n; k++) {
        const int boundary = k == 0 || k + 1 == (int)n;
        x[k] = hb_mesh_coordinate(mesh, axis, k);
        log_cell[k] = log(hb_mesh_cell(mesh, axis, k) * (boundary ? 2 : 1) / h);
    }
    for (size_t c = 0; c < mesh->size / n; c++) {
        double *start = v + c / stride * n * stride + c % stride;
        for (size_t k = 0; k < n; k++) line[k] = start[k * stride] + log_cell[k];
        for (size_t k = 0; k < n; k++) start[k * stride] = flow_at(line, x, n, h, k);
    }
    hb_release(context, memory);
    return HB_OK;
}

/* ---- both ---- */

static hb_status rough_start(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                             const double *steepest, double *v)
{
    double low[3], high[3];
    if (hb_problem_initial_facts(problem)->box) {
        HB_TRY(hb_problem_initial_box(context, problem, low, high));
        flow_of_box(mesh, low, high, v);
        return HB_OK;
    }
    int known;
    HB_TRY(cell_masses(context, problem, mesh, v, &known));
    if (!known) HB_TRY(cell_averages(context, problem, mesh, v));
    for (int a = 0; a < mesh->dim; a++) HB_TRY(flow_along(context, mesh, a, v));
    if (known) limit_slopes(mesh, steepest, v);
    return HB_OK;
}

static int is_even(const hb_mesh *mesh)
{
    for (int a = 0; a < mesh->dim; a++)
        if (mesh->axis[a].pieces > 1) return 0;
    return 1;
}

hb_status hb_grid_start(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                        const hb_start_plan *plan, double *log_mass, double *v, double *tau)
{
    const int rough = plan->rough;
    *tau = plan->from ? plan->from->tau : rough ? hb_grid_start_tau(mesh) : 0;
    if (rough) {
        HB_TRY(rough_start(context, problem, mesh, plan->steepest, v));
    } else {
        HB_TRY(node_values(context, problem, plan->from, mesh, v));
        limit_slopes(mesh, plan->steepest, v);
    }
    const double found = hb_mesh_log_mass(mesh, v);
    if (isnan(*log_mass)) {
        const int all = fabs(expm1(found)) <= (rough ? ROUGH_SLACK : MASS_SLACK);
        HB_CHECK(context, all || !plan->lost, HB_ERROR_ARGUMENT,
                 "the box holds %.6g of the initial mass; it must hold all of it: give a larger "
                 "box or more cells",
                 exp(found));
        HB_CHECK(context, all, HB_ERROR_NUMERICAL,
                 "the nodes of the grid see %.6g of the initial mass, parts of which are narrower "
                 "than its cells: give more cells, or take the method walk or particles",
                 exp(found));
        *log_mass = rough ? 0 : found;
        if (plan->lost) *plan->lost = fabs(expm1(found));
    }
    if (rough || is_even(mesh))
        for (size_t i = 0; i < mesh->size; i++) v[i] += *log_mass - found;
    return HB_OK;
}
