/* Differences of the potential: V(x) - V(a), F = -grad V.
 *
 * With a potential typed as text: its program, divided by g^2/2. Without:
 *     V(x) - V(a) = - int_0^1 F(a + s (x - a)).(x - a) ds
 * by Gauss's rule with 12 nodes on 1, 2, 4, ... pieces until two sums agree to 1e-12. They also
 * agree where all nodes miss the same narrow part of F. So, where F_i depends on x_i alone, V_i is
 * kept at the borders B_i of cells on which nothing is hidden (features.c), and
 *     V(x) - V(a) = sum_i V_i(B_i(x)) - V_i(B_i(a)) + rise from B(x) to x - rise from B(a) to a.
 * Numbers to reproduce: F = 2 (x - x^3) from 0 to 1.6 has rise 0.7168; F = 10 tanh(5x - 1) from
 * -559.7 to 0.3 has 5597.373476624964. */
#include "problem/potential_rise.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "problem/drift_facts.h"
#include "problem/problem_parts.h"

#include <math.h>
#include <string.h>

enum { MOST_AXES = 64 };
enum { NODES = 12, MAX_PIECES = 128, ROWS = MAX_PIECES * NODES, TOGETHER = ROWS / (3 * NODES) };

static const double AGREEMENT = 1e-12;

static hb_status program_rise(hb_context *context, const hb_problem *problem, size_t n,
                              const double *from, const double *x, double *rise)
{
    double rate;
    double *start; // (n): V(from)
    HB_TRY(hb_time_change_rate(context, problem->change, 0, &rate));
    HB_TRY(HB_NEW(context, start, n));
    hb_status status = hb_program_run(context, problem->drift.potential, n, from, 0, start);
    if (status == HB_OK) status = hb_program_run(context, problem->drift.potential, n, x, 0, rise);
    for (size_t i = 0; i < n && status == HB_OK; i++) rise[i] = (rise[i] - start[i]) / rate;
    hb_release(context, start);
    return status;
}

/* Gauss's rule on (0, 1): the nodes above 1/2, and the weights, also of the mirrored nodes. */
static const double NODE[NODES / 2] = {0.5626167042557344, 0.6839157494990901, 0.7936589771433087,
                                       0.8849513370971523, 0.9520586281852375, 0.9907803171233596};
static const double WEIGHT[NODES / 2] = {0.12457352290670134, 0.11674626826917732,
                                         0.10158371336153282, 0.08003916427167306,
                                         0.05346966299765944, 0.02358766819325601};

typedef struct line_scratch {
    double *at, *F; // (ROWS, d) each
    double *tau;    // (ROWS), zeros
} line_scratch;

static double rise_node(size_t k)
{
    return k % 2 ? 1 - NODE[k / 2] : NODE[k / 2];
}

static void rise_place_nodes(size_t d, const double *from, const double *x, size_t pieces,
                             double *at)
{
    for (size_t piece = 0; piece < pieces; piece++)
        for (size_t k = 0; k < NODES; k++) {
            const double s = ((double)piece + rise_node(k)) / (double)pieces;
            double *row = at + (piece * NODES + k) * d;
            for (size_t j = 0; j < d; j++) row[j] = from[j] + s * (x[j] - from[j]);
        }
}

static double rise_sum(size_t d, const double *from, const double *x, size_t pieces,
                       const double *F)
{
    double sum = 0;
    for (size_t piece = 0; piece < pieces; piece++)
        for (size_t k = 0; k < NODES; k++) {
            const double *row = F + (piece * NODES + k) * d;
            double along = 0;
            for (size_t j = 0; j < d; j++) along += row[j] * (x[j] - from[j]);
            sum -= WEIGHT[k / 2] * along;
        }
    return sum / (double)pieces;
}

static int rise_agrees(double rise, double before)
{
    return fabs(rise - before) <= AGREEMENT * (1 + fabs(before));
}

/* One and two pieces have given before and *rise; more of them until two sums agree. */
static hb_status rise_refine(hb_context *context, const hb_problem *problem,
                             const line_scratch *scratch, const double *from, const double *x,
                             double before, double *rise)
{
    const size_t d = (size_t)problem->dim;
    for (size_t pieces = 4; !rise_agrees(*rise, before); pieces *= 2) {
        if (pieces > MAX_PIECES || !isfinite(*rise)) {
            *rise = NAN;
            return HB_OK;
        }
        before = *rise;
        rise_place_nodes(d, from, x, pieces, scratch->at);
        HB_TRY(hb_problem_drift_each(context, problem, pieces * NODES, scratch->at, scratch->tau,
                                     scratch->F, NULL, NULL, NULL));
        *rise = rise_sum(d, from, x, pieces, scratch->F);
    }
    return HB_OK;
}

/* n <= TOGETHER lines: one and two pieces of all in one call. */
static hb_status rise_together(hb_context *context, const hb_problem *problem,
                               const line_scratch *scratch, size_t n, const double *from,
                               const double *x, double *rise)
{
    const size_t d = (size_t)problem->dim, width = 3 * NODES * d;
    double before[TOGETHER];
    for (size_t i = 0; i < n; i++) {
        rise_place_nodes(d, from + i * d, x + i * d, 1, scratch->at + i * width);
        rise_place_nodes(d, from + i * d, x + i * d, 2, scratch->at + i * width + NODES * d);
    }
    HB_TRY(hb_problem_drift_each(context, problem, n * 3 * NODES, scratch->at, scratch->tau,
                                 scratch->F, NULL, NULL, NULL));
    for (size_t i = 0; i < n; i++) {
        before[i] = rise_sum(d, from + i * d, x + i * d, 1, scratch->F + i * width);
        rise[i] = rise_sum(d, from + i * d, x + i * d, 2, scratch->F + i * width + NODES * d);
    }
    for (size_t i = 0; i < n; i++)
        HB_TRY(
            rise_refine(context, problem, scratch, from + i * d, x + i * d, before[i], rise + i));
    return HB_OK;
}

static hb_status rise_all(hb_context *context, const hb_problem *problem, size_t n,
                          const double *from, const double *x, double *rise)
{
    const size_t d = (size_t)problem->dim;
    line_scratch scratch;
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(scratch.at, ROWS * d),
                        HB_ARRAY(scratch.F, ROWS * d), HB_ARRAY(scratch.tau, ROWS)));
    memset(scratch.tau, 0, ROWS * sizeof(double));
    hb_status status = HB_OK;
    for (size_t i = 0; i < n && status == HB_OK; i += TOGETHER)
        status = rise_together(context, problem, &scratch, n - i < TOGETHER ? n - i : TOGETHER,
                               from + i * d, x + i * d, rise + i);
    hb_workspace_destroy(&work);
    return status;
}

/* ---- cells of the axes ---- */

struct hb_potential_cells {
    hb_context *context;
    hb_features axes[MOST_AXES];
    double least;         /* length of a cell */
    double *V[MOST_AXES]; // (cells + 1) each, at the borders; the outermost are not known
};

/* The cell that holds s; the outermost ones have no end. */
static int rise_cell(const hb_features *f, double s)
{
    const int until = hb_sorted_until(f->n, f->borders, s);
    return until > 0 ? until - 1 : 0;
}

/* V at the borders, from the first of them above 0 both ways. */
static hb_status find_borders(hb_context *context, const hb_problem *problem, size_t axis,
                              hb_potential_cells *c)
{
    const hb_features *cells = c->axes + axis;
    const int n = cells->n, above = rise_cell(cells, 0) + 1, first = above < n ? above : n - 1;
    double from[MOST_AXES] = {0}, to[MOST_AXES] = {0}, rise;
    HB_TRY(HB_NEW(context, c->V[axis], (size_t)n + 1));
    double *V = c->V[axis];
    for (int k = 0; k <= n; k++) V[k] = k == first ? 0 : NAN;
    for (int step = -1; step <= 1; step += 2)
        for (int k = first; k + step > 0 && k + step < n; k += step) {
            from[axis] = cells->borders[k];
            to[axis] = cells->borders[k + step];
            HB_TRY(rise_all(context, problem, 1, from, to, &rise));
            V[k + step] = V[k] + rise;
        }
    return HB_OK;
}

void hb_potential_cells_destroy(hb_potential_cells *cells)
{
    if (!cells) return;
    for (size_t i = 0; i < MOST_AXES; i++) {
        hb_features_destroy(cells->context, cells->axes + i);
        hb_release(cells->context, cells->V[i]);
    }
    hb_release(cells->context, cells);
}

hb_status hb_potential_cells_create(hb_context *context, const hb_problem *problem,
                                    hb_potential_cells **out)
{
    hb_potential_cells *c;
    int cut = 0;
    *out = NULL;
    if (problem->drift.potential || !problem->drift.facts.separable || problem->dim > MOST_AXES)
        return HB_OK;
    HB_TRY(HB_NEW_CLEARED(context, c, 1));
    c->context = context;
    c->least = INFINITY;
    hb_status status = HB_OK;
    for (int i = 0; i < problem->dim && status == HB_OK; i++) {
        status = hb_problem_features(context, problem, i, NULL, c->axes + i);
        if (status != HB_OK || c->axes[i].n < 2) continue;
        status = find_borders(context, problem, (size_t)i, c);
        for (int k = 1; k < c->axes[i].n - 1; k++)
            c->least = fmin(c->least, c->axes[i].borders[k + 1] - c->axes[i].borders[k]);
        cut = 1;
    }
    if (status == HB_OK && cut)
        *out = c;
    else
        hb_potential_cells_destroy(c);
    return status;
}

double hb_potential_cells_least(const hb_potential_cells *cells)
{
    return cells ? cells->least : INFINITY;
}

/* V at the border of the cell that is nearer to 0, which is written to *border. */
static double border_value(const hb_features *axis, const double *V, int cell, double *border)
{
    const int k = fabs(axis->borders[cell]) < fabs(axis->borders[cell + 1]) ? cell : cell + 1;
    *border = axis->borders[k];
    return V[k];
}

/* The part of the rise known at borders; left is that from a to x less that from b to `from`. */
static double rise_split(const hb_potential_cells *cells, size_t d, const double *from,
                         const double *x, double *a, double *b)
{
    double rise = 0;
    memcpy(a, from, d * sizeof *a);
    memcpy(b, from, d * sizeof *b);
    for (size_t i = 0; i < d; i++) {
        const hb_features *axis = cells->axes + i;
        if (!cells->V[i]) continue;
        const int here = rise_cell(axis, x[i]), there = rise_cell(axis, from[i]);
        if (here == there) continue;
        rise += border_value(axis, cells->V[i], here, a + i);
        rise -= border_value(axis, cells->V[i], there, b + i);
    }
    return rise;
}

hb_status hb_potential_rise(hb_context *context, const hb_problem *problem,
                            const hb_potential_cells *cells, size_t n, const double *from,
                            const double *x, double *rise)
{
    const size_t d = (size_t)problem->dim;
    double *a, *b, *known, *rest; // (n, d), (n, d), (n), (n)
    hb_workspace work;
    if (problem->drift.potential) return program_rise(context, problem, n, from, x, rise);
    if (!cells) return rise_all(context, problem, n, from, x, rise);
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(a, n * d), HB_ARRAY(b, n * d), HB_ARRAY(known, n),
                        HB_ARRAY(rest, n)));
    for (size_t i = 0; i < n; i++)
        known[i] = rise_split(cells, d, from + i * d, x + i * d, a + i * d, b + i * d);
    hb_status status = rise_all(context, problem, n, a, x, rise);
    if (status == HB_OK) status = rise_all(context, problem, n, b, from, rest);
    for (size_t i = 0; i < n && status == HB_OK; i++) rise[i] += known[i] - rest[i];
    hb_workspace_destroy(&work);
    return status;
}
