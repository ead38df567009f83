/* Three meshes, one answer, and its error.
 *
 * a, b, c are v on the meshes h, 2h, 4h (every node of a coarser mesh is one of the finer). The
 * error of the scheme is even in h: a + (a - b)/3 and b + (b - c)/3 are right to O(h^4), with
 * difference D, and
 *     v = a + (a - b)/3 + D/15      is right to O(h^6).
 * Quintic splines carry the corrections to the other nodes. The reported error is the last
 * correction, |D|/15, the largest among neighbours so that a change of sign of D does not feign
 * accuracy; in tests the error is a tenth to all of that. To it are added: (10 r)^2 times as
 * much, up to twice the first correction, where the ratio of corrections r = |D|/15 : |a - b|/3
 * is above 0.1; half of what a spline on every second node loses, over 32; and for the time
 * integration (TIME_FACTOR + depth) tolerances (from a point twice that), local ones below DEEP
 * (time_stepper.c). Slopes: the same from differences of D, and 4/h and 1/width-like factors.
 * docs/explanation/grid.md has the reasons. */
#include "base/memory.h"
#include "grid/grid_constants.h"
#include "grid/grid_kept.h"
#include "grid/time_stepper.h"
#include "problem/drift_facts.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The node of mesh `fine` that is node i of `coarse`; every `ratio`-th node per axis. */
static size_t same_node(const hb_mesh *fine, const hb_mesh *coarse, int ratio, size_t i)
{
    size_t node = 0;
    for (int a = coarse->dim - 1; a >= 0; a--) {
        const size_t n = (size_t)coarse->nodes[a];
        node += i % n * (size_t)ratio * hb_mesh_stride(fine, a);
        i /= n;
    }
    return node;
}

/* The node of `coarse` next to node i of `fine`. */
static size_t near_node(const hb_mesh *fine, const hb_mesh *coarse, int ratio, size_t i)
{
    size_t node = 0;
    for (int a = fine->dim - 1; a >= 0; a--) {
        const size_t n = (size_t)fine->nodes[a], k = i % n;
        node += (k + (size_t)ratio / 2) / (size_t)ratio * hb_mesh_stride(coarse, a);
        i /= n;
    }
    return node;
}

/* The smaller of the spacings beside a node. */
static double spacing_at(const hb_mesh *mesh, int axis, size_t node)
{
    const int n = mesh->nodes[axis];
    const int k = (int)(node / hb_mesh_stride(mesh, axis) % (size_t)n);
    return fmin(hb_mesh_spacing(mesh, axis, k > 0 ? k - 1 : 0),
                hb_mesh_spacing(mesh, axis, k + 1 < n ? k : n - 2));
}

/* out[i] += factor * spline(coefficients) at every node of `fine`. */
static void prolong(const hb_mesh *fine, const hb_mesh *coarse, const double *coefficients,
                    double factor, double *out)
{
    for (size_t i = 0; i < fine->size; i++) {
        double x[3];
        hb_mesh_point(fine, i, x);
        out[i] += factor * hb_spline_at(coarse, coefficients, x);
    }
}

/* values[i] = max over the node and its neighbours along each axis, axis after axis. */
static void spread_maximum(const hb_mesh *mesh, size_t width, double *values, double *scratch)
{
    for (int a = 0; a < mesh->dim; a++) {
        const size_t stride = hb_mesh_stride(mesh, a), n = (size_t)mesh->nodes[a];
        memcpy(scratch, values, mesh->size * width * sizeof(double));
        for (size_t i = 0; i < mesh->size; i++) {
            const size_t k = i / stride % n;
            for (size_t w = 0; w < width; w++) {
                double most = scratch[i * width + w];
                if (k > 0) most = fmax(most, scratch[(i - stride) * width + w]);
                if (k + 1 < n) most = fmax(most, scratch[(i + stride) * width + w]);
                values[i * width + w] = most;
            }
        }
    }
}

/* max(1, (r/FAST)^2) with r the ratio of the second correction to the first, each the largest
 * within two nodes; limited so that the error stays below twice the first. first[size] and
 * second[size], both overwritten by their maxima. */
static void ratio_factors(const hb_mesh *mesh, double *first, double *second, double *scratch,
                          double *factors)
{
    for (int pass = 0; pass < 2; pass++) {
        spread_maximum(mesh, 1, first, scratch);
        spread_maximum(mesh, 1, second, scratch);
    }
    for (size_t i = 0; i < mesh->size; i++) {
        const double ratio = second[i] / fmax(first[i], DBL_MIN), slow = ratio / FAST;
        factors[i] = ratio > 0 ? fmax(1, fmin(slow * slow, 2 / ratio)) : 1;
    }
}

/* |D|/15 and |dD/dx_a|/15 on the coarsest mesh, times the factors; v_error holds the first
 * corrections. */
static void difference_errors(const hb_mesh *mesh, const double *D, const double *factors,
                              double *v_error, double *slope)
{
    const size_t d = (size_t)mesh->dim;
    for (size_t i = 0; i < mesh->size; i++) {
        const double least = mesh->dim == 3 ? BETWEEN * v_error[i] : 0; /* of the first */
        v_error[i] = fmax(factors[i] * fabs(D[i]) / 15, least);
        for (int a = 0; a < mesh->dim; a++) {
            const size_t stride = hb_mesh_stride(mesh, a), n = (size_t)mesh->nodes[a];
            const size_t k = i / stride % n;
            const size_t above = k + 1 < n ? i + stride : i, below = k > 0 ? i - stride : i;
            const int top = (int)(k + (above - i) / stride),
                      bottom = (int)(k - (i - below) / stride);
            const double run =
                hb_mesh_coordinate(mesh, a, top) - hb_mesh_coordinate(mesh, a, bottom);
            slope[i * d + (size_t)a] = factors[i] * fabs(D[above] - D[below]) / run / 15;
        }
    }
}

/* Adds what the spline loses between nodes; middle is overwritten. v is still values at nodes. */
static hb_status interpolation_errors(hb_grid *grid, int level, const double *v, double *middle,
                                      double *lost)
{
    const hb_mesh *fine = &grid->mesh[0], *half = &grid->mesh[1], *coarse = &grid->mesh[2];
    const size_t d = (size_t)fine->dim;
    for (size_t i = 0; i < half->size; i++) middle[i] = v[same_node(fine, half, 2, i)];
    HB_TRY(hb_spline_fit(grid->context, half, middle));
    memcpy(lost, v, fine->size * sizeof(double));
    prolong(fine, half, middle, -1, lost);
    for (size_t i = 0; i < fine->size; i++) {
        const size_t node = near_node(fine, coarse, 4, i);
        const double error = fabs(lost[i]) / INTERPOLATION_GAIN;
        grid->v_error[level][node] = fmax(grid->v_error[level][node], error);
        for (size_t a = 0; a < d; a++) {
            double *slope = &grid->slope_error[level][node * d + a];
            *slope = fmax(*slope, 4 * error / spacing_at(fine, (int)a, i));
        }
    }
    return HB_OK;
}

static void add_time_errors(hb_grid *grid, int level, const double *v)
{
    const hb_mesh *fine = &grid->mesh[0], *coarse = &grid->mesh[2];
    const size_t d = (size_t)fine->dim;
    const double top = hb_mesh_top(fine, v);
    for (size_t i = 0; i < coarse->size; i++) {
        const double depth = top - v[same_node(fine, coarse, 4, i)];
        const double error = (TIME_FACTOR + depth) * grid->tolerance * (grid->strict < 1 ? 2 : 1);
        const double local = hb_stepper_tolerance(grid->tolerance, depth);
        const double deep = depth > DEEP ? TIME_FACTOR * local : d > 1 ? local : 0;
        grid->v_error[level][i] += error + deep;
        for (size_t a = 0; a < d; a++)
            grid->slope_error[level][i * d + a] +=
                (error / 8 + deep) / spacing_at(coarse, (int)a, i);
    }
}

/* Where |F| h is large the scheme is of first order only: a fast drift or turn, a pulse in time,
 * the tails of a stationary density. How fast the meshes converge is asked of q = |a - b|/|b -
 * c|, each the largest within two nodes: 1/4 for second order. What is left beyond a is |a - b|
 * q/(1 - q), of which the extrapolation takes a third of |a - b|; the rest goes into slow[size],
 * infinite where the meshes do not converge at all. In a PULSE_FIRST_ORDER q is 1/2 at least:
 * the coarsest mesh is so far from first order that q passes through 1/4 (-x(1 + A exp(-((t -
 * 0.3)/1e-4)^2)) was off by 60 errors). Elsewhere that is done where |a - b| is above MOST_APART
 * and u is e^-TAIL of its maximum or less; there the series may fail even where its terms fall
 * well, and |a - b|^2/LARGE is added. */
static int asks_order(const hb_grid *grid)
{
    return grid->asks_order || grid->peclet > FIRST_ORDER;
}

static void find_slow(const hb_grid *grid, const double *v, const double *middle,
                      const double *coarse, double *slow, double *before, double *scratch)
{
    const hb_mesh *m = grid->mesh;
    const double top = hb_mesh_top(&m[2], coarse);
    for (size_t i = 0; i < m[2].size; i++) {
        const double b = middle[same_node(&m[1], &m[2], 2, i)];
        slow[i] = fabs(v[same_node(&m[0], &m[2], 4, i)] - b);
        before[i] = fabs(b - coarse[i]);
    }
    for (int pass = 0; pass < 2; pass++) {
        spread_maximum(&m[2], 1, slow, scratch);
        spread_maximum(&m[2], 1, before, scratch);
    }
    for (size_t i = 0; i < m[2].size; i++) {
        const double first = slow[i], q = first / fmax(before[i], DBL_MIN);
        const double least = grid->pulses && grid->peclet > PULSE_FIRST_ORDER ? 0.5 : 0.25;
        const double sure = q > SECOND_ORDER ? fmin(fmax(q, least), MOST_RATIO) : least;
        const int tail = coarse[i] < top - TAIL;
        slow[i] = tail && !grid->stationary ? first * first / LARGE : 0;
        if (asks_order(grid) || (tail && first > MOST_APART))
            slow[i] += first * (sure / (1 - sure) - 1.0 / 3);
        if (q > MOST_RATIO && first > MOST_APART && asks_order(grid)) slow[i] = INFINITY;
    }
}

static void add_slow(hb_grid *grid, int level, const double *slow)
{
    const hb_mesh *mesh = &grid->mesh[2];
    const size_t d = (size_t)mesh->dim;
    for (size_t i = 0; i < mesh->size; i++) {
        grid->v_error[level][i] += slow[i];
        for (size_t a = 0; a < d; a++)
            grid->slope_error[level][i * d + a] += slow[i] / spacing_at(mesh, (int)a, i);
    }
}

/* One dimension: whether cells inside the core region, v above `least`, are much smaller than
 * others on both sides. */
static int has_narrow_feature(const hb_mesh *mesh, const double *v, double least)
{
    double smallest = INFINITY, left = 0, right = 0;
    int at = 0;
    if (mesh->dim > 1) return 0;
    for (int k = 0; k + 1 < mesh->nodes[0]; k++)
        if (v[k] > least && hb_mesh_spacing(mesh, 0, k) < smallest)
            smallest = hb_mesh_spacing(mesh, 0, at = k);
    for (int k = 0; k + 1 < mesh->nodes[0]; k++) {
        if (!(v[k] > least)) continue;
        if (k < at) left = fmax(left, hb_mesh_spacing(mesh, 0, k));
        if (k > at) right = fmax(right, hb_mesh_spacing(mesh, 0, k));
    }
    return fmin(left, right) > UNEVEN * smallest;
}

/* What the meshes lose at a narrow feature moves v beyond it by a constant, for which D may pass
 * through 0 on a whole side. So no node reports less than the largest of the core region. */
static void hold_largest(const hb_grid *grid, const double *v, double *v_error, double *slope)
{
    const hb_mesh *fine = &grid->mesh[0], *mesh = &grid->mesh[2];
    const double top = hb_mesh_top(fine, v);
    double largest = 0,
           width = 0; /* width: where v is within 1/2 of its top, two standard deviations */
    if (!has_narrow_feature(fine, v, top - TAIL)) return;
    for (size_t i = 0; i < mesh->size; i++)
        if (v[same_node(fine, mesh, 4, i)] > top - TAIL) largest = fmax(largest, v_error[i]);
    for (size_t i = 0; i + 1 < fine->size; i++)
        if (v[i] > top - 0.5) width += hb_mesh_spacing(fine, 0, (int)i);
    for (size_t i = 0; i < mesh->size; i++) {
        v_error[i] = fmax(v_error[i], largest);
        slope[i] = fmax(slope[i], 2 * largest / width);
    }
}

/* v = a + (a - b)/3 + D/15 at the nodes of the finest mesh; middle holds b, coarse holds c;
 * scratch[mesh[0].size] holds three arrays of the coarsest mesh. */
static hb_status extrapolate(hb_grid *grid, int level, double *v, double *middle, double *coarse,
                             double *scratch)
{
    const hb_mesh *m = grid->mesh;
    double *first = grid->v_error[level], *second = scratch, *factors = scratch + m[2].size;
    for (size_t i = 0; i < m[2].size; i++) {
        const double a = v[same_node(&m[0], &m[2], 4, i)];
        const double b = middle[same_node(&m[1], &m[2], 2, i)], c = coarse[i];
        coarse[i] = a + (a - b) / 3 - (b + (b - c) / 3);
        first[i] = fabs(a - b) / 3;
        second[i] = fabs(coarse[i]) / 15;
    }
    ratio_factors(&m[2], first, second, scratch + 2 * m[2].size, factors);
    for (size_t i = 0; i < m[2].size && grid->peclet > DOUBLED; i++) factors[i] *= 2;
    difference_errors(&m[2], coarse, factors, grid->v_error[level], grid->slope_error[level]);
    hold_largest(grid, v, grid->v_error[level], grid->slope_error[level]);
    for (size_t i = 0; i < m[1].size; i++)
        middle[i] = (v[same_node(&m[0], &m[1], 2, i)] - middle[i]) / 3;
    HB_TRY(hb_spline_fit(grid->context, &m[1], middle));
    HB_TRY(hb_spline_fit(grid->context, &m[2], coarse));
    prolong(&m[0], &m[1], middle, 1, v);
    prolong(&m[0], &m[2], coarse, 1.0 / 15, v);
    return HB_OK;
}

/* With breaks of the drift between the nodes the error is no series in h^2. For jumps v is that
 * of the finest mesh and the error is the larger of |a - b| and |b - c|/2; for kinks one
 * extrapolation is made and a third of that is reported. */
static hb_status compare_meshes(hb_grid *grid, int level, double *v, double *middle, double *coarse,
                                double *scratch)
{
    const hb_mesh *m = grid->mesh;
    const size_t d = (size_t)m[0].dim;
    const double part = grid->flaws.jumps ? 1 : 1.0 / 3;
    for (size_t i = 0; i < m[2].size; i++) {
        const double a = v[same_node(&m[0], &m[2], 4, i)];
        const double b = middle[same_node(&m[1], &m[2], 2, i)], c = coarse[i];
        grid->v_error[level][i] = part * fmax(fabs(a - b), fabs(b - c) / 2);
    }
    for (int pass = 0; pass < 2; pass++) spread_maximum(&m[2], 1, grid->v_error[level], scratch);
    for (size_t k = 0; k < m[2].size * d; k++)
        grid->slope_error[level][k] =
            grid->v_error[level][k / d] / spacing_at(&m[2], (int)(k % d), k / d);
    for (size_t i = 0; i < m[1].size; i++)
        middle[i] = (v[same_node(&m[0], &m[1], 2, i)] - middle[i]) / 3;
    if (grid->flaws.jumps) return HB_OK;
    HB_TRY(hb_spline_fit(grid->context, &m[1], middle));
    prolong(&m[0], &m[1], middle, 1, v);
    return HB_OK;
}

static hb_status combine_level(hb_grid *grid, int level, double *v, double *middle, double *coarse,
                               double *scratch)
{
    const size_t d = (size_t)grid->info.dim;
    const int broken = grid->flaws.jumps || grid->flaws.kinks;
    HB_TRY((broken ? compare_meshes : extrapolate)(grid, level, v, middle, coarse, scratch));
    HB_TRY(interpolation_errors(grid, level, v, middle, scratch));
    spread_maximum(&grid->mesh[2], 1, grid->v_error[level], scratch);
    spread_maximum(&grid->mesh[2], d, grid->slope_error[level], scratch);
    add_time_errors(grid, level, v);
    return hb_spline_fit(grid->context, &grid->mesh[0], v);
}

/* |F_a(x + 2h e) - F_a(x - 2h e)| of the coarsest mesh, where an argument of a break changes
 * sign in between, along any axis e. */
static hb_status jump_at(hb_grid *grid, const hb_problem *problem, double tau, size_t node,
                         double *arguments, double *jump)
{
    const hb_mesh *mesh = &grid->mesh[2];
    const size_t d = (size_t)mesh->dim, n = (size_t)hb_problem_facts(problem)->n_breaks;
    for (size_t a = 0; a < d; a++) jump[a] = 0;
    for (size_t b = 0; b < d; b++) {
        double x[6], F[6];
        const double reach = 2 * hb_mesh_spacing(mesh, (int)b, 0);
        int cut = 0;
        hb_mesh_point(mesh, node, x);
        hb_mesh_point(mesh, node, x + d);
        x[b] -= reach;
        x[d + b] += reach;
        HB_TRY(hb_problem_break_values(grid->context, problem, tau, 2, x, arguments));
        for (size_t k = 0; k < n; k++) cut |= !(arguments[k] * arguments[n + k] > 0);
        if (!cut) continue;
        HB_TRY(hb_problem_drift(grid->context, problem, 2, x, tau, F, NULL, NULL, NULL));
        for (size_t a = 0; a < d; a++) jump[a] = fmax(jump[a], fabs(F[d + a] - F[a]));
    }
    return HB_OK;
}

hb_status hb_grid_jump_errors(hb_grid *grid, const hb_problem *problem, int level)
{
    const hb_mesh *mesh = &grid->mesh[2];
    const size_t d = (size_t)mesh->dim, n = (size_t)hb_problem_facts(problem)->n_breaks;
    hb_status status = HB_OK;
    void *memory;
    if (!grid->flaws.jumps) return HB_OK;
    HB_TRY(hb_allocate(grid->context, 2 * n, sizeof(double), &memory));
    for (size_t i = 0; i < mesh->size && status == HB_OK; i++) {
        double jump[3];
        status = jump_at(grid, problem, grid->tau[level], i, memory, jump);
        for (size_t a = 0; a < d && status == HB_OK; a++) {
            grid->slope_error[level][i * d + a] += jump[a];
            grid->v_error[level][i] += jump[a] * grid->mesh[0].h[a] / 8;
        }
    }
    hb_release(grid->context, memory);
    return status;
}

hb_status hb_grid_combine(hb_grid *grid, int level, double *middle, double *coarse)
{
    void *scratch, *slow = NULL; // (mesh[0].size), also holds (mesh[2].size, dim)
    HB_TRY(hb_allocate(grid->context, grid->mesh[0].size, sizeof(double), &scratch));
    hb_status status = HB_OK;
    if (asks_order(grid) || !(grid->flaws.jumps || grid->flaws.kinks))
        status = hb_allocate(grid->context, grid->mesh[2].size, sizeof(double), &slow);
    if (slow)
        find_slow(grid, grid->v[level], middle, coarse, slow, scratch,
                  (double *)scratch + grid->mesh[2].size);
    if (status == HB_OK)
        status = combine_level(grid, level, grid->v[level], middle, coarse, scratch);
    if (status == HB_OK && slow) add_slow(grid, level, slow);
    hb_release(grid->context, slow);
    hb_release(grid->context, scratch);
    return status;
}
