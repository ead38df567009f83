/* Differences of the potential: V(x) - V(a), F = -grad V.
 *
 * With a potential typed as text: its program, divided by g^2/2. Without:
 *     V(x) - V(a) = - int_0^1 F(a + s (x - a)).(x - a) ds
 * by Gauss's rule with 12 nodes on 1, 2, 4, ... pieces until two sums agree to 1e-12; it is exact
 * for polynomials up to degree 23. A number to reproduce: F = 2 (x - x^3) from 0 to 1.6 has rise
 * 1.6^4/2 - 1.6^2 = 0.7168. */
#include "problem/potential_rise.h"
#include "base/context.h"
#include "base/memory.h"
#include "problem/problem_parts.h"

#include <math.h>
#include <string.h>

enum { NODES = 12, MAX_PIECES = 128, ROWS = MAX_PIECES * NODES, TOGETHER = ROWS / (3 * NODES) };

static const double AGREEMENT = 1e-12;

static hb_status program_rise(hb_context *context, const hb_problem *problem, size_t n,
                              const double *from, const double *x, double *rise)
{
    double rate;
    void *start; // (n): V(from)
    HB_TRY(hb_time_change_rate(context, problem->change, 0, &rate));
    HB_TRY(hb_allocate(context, n ? n : 1, sizeof(double), &start));
    hb_status status = hb_program_run(context, problem->drift.potential, n, from, 0, start);
    if (status == HB_OK) status = hb_program_run(context, problem->drift.potential, n, x, 0, rise);
    for (size_t i = 0; i < n && status == HB_OK; i++)
        rise[i] = (rise[i] - ((double *)start)[i]) / rate;
    hb_release(context, start);
    return status;
}

/* Gauss's rule on (0, 1): the nodes above 1/2, and the weights, of which the mirrored ones have the
 * same. */
static const double NODE[NODES / 2] = {0.5626167042557344, 0.6839157494990901, 0.7936589771433087,
                                       0.8849513370971523, 0.9520586281852375, 0.9907803171233596};
static const double WEIGHT[NODES / 2] = {0.12457352290670134, 0.11674626826917732,
                                         0.10158371336153282, 0.08003916427167306,
                                         0.05346966299765944, 0.02358766819325601};

typedef struct line_scratch {
    double *at, *F; // (ROWS, d) each
    double *tau;    // (ROWS), zeros
} line_scratch;

static double node_of(size_t k)
{
    return k % 2 ? 1 - NODE[k / 2] : NODE[k / 2];
}

static void place_nodes(size_t d, const double *from, const double *x, size_t pieces, double *at)
{
    for (size_t piece = 0; piece < pieces; piece++)
        for (size_t k = 0; k < NODES; k++) {
            const double s = ((double)piece + node_of(k)) / (double)pieces;
            double *row = at + (piece * NODES + k) * d;
            for (size_t j = 0; j < d; j++) row[j] = from[j] + s * (x[j] - from[j]);
        }
}

static double line_sum(size_t d, const double *from, const double *x, size_t pieces,
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

static int agree(double rise, double before)
{
    return fabs(rise - before) <= AGREEMENT * (1 + fabs(before));
}

/* One and two pieces have given before and *rise; more of them until two sums agree. */
static hb_status refine(hb_context *context, const hb_problem *problem, const line_scratch *scratch,
                        const double *from, const double *x, double before, double *rise)
{
    const size_t d = (size_t)problem->dim;
    for (size_t pieces = 4; !agree(*rise, before); pieces *= 2) {
        if (pieces > MAX_PIECES || !isfinite(*rise)) {
            *rise = NAN;
            return HB_OK;
        }
        before = *rise;
        place_nodes(d, from, x, pieces, scratch->at);
        HB_TRY(hb_problem_drift_each(context, problem, pieces * NODES, scratch->at, scratch->tau,
                                     scratch->F, NULL, NULL, NULL));
        *rise = line_sum(d, from, x, pieces, scratch->F);
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
        place_nodes(d, from + i * d, x + i * d, 1, scratch->at + i * width);
        place_nodes(d, from + i * d, x + i * d, 2, scratch->at + i * width + NODES * d);
    }
    HB_TRY(hb_problem_drift_each(context, problem, n * 3 * NODES, scratch->at, scratch->tau,
                                 scratch->F, NULL, NULL, NULL));
    for (size_t i = 0; i < n; i++) {
        before[i] = line_sum(d, from + i * d, x + i * d, 1, scratch->F + i * width);
        rise[i] = line_sum(d, from + i * d, x + i * d, 2, scratch->F + i * width + NODES * d);
    }
    for (size_t i = 0; i < n; i++)
        HB_TRY(refine(context, problem, scratch, from + i * d, x + i * d, before[i], rise + i));
    return HB_OK;
}

hb_status hb_potential_rise(hb_context *context, const hb_problem *problem, size_t n,
                            const double *from, const double *x, double *rise)
{
    if (problem->drift.potential) return program_rise(context, problem, n, from, x, rise);
    const size_t d = (size_t)problem->dim;
    line_scratch scratch;
    void *memory;
    HB_TRY(hb_allocate(context, ROWS * (2 * d + 1), sizeof(double), &memory));
    scratch.at = memory;
    scratch.F = scratch.at + ROWS * d;
    scratch.tau = scratch.F + ROWS * d;
    memset(scratch.tau, 0, ROWS * sizeof(double));
    hb_status status = HB_OK;
    for (size_t i = 0; i < n && status == HB_OK; i += TOGETHER)
        status = rise_together(context, problem, &scratch, n - i < TOGETHER ? n - i : TOGETHER,
                               from + i * d, x + i * d, rise + i);
    hb_release(context, memory);
    return status;
}
