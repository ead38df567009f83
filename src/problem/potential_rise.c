/* Differences of the potential: V(x) - V(a), F = -grad V.
 *
 * With a potential typed as text: its program, divided by g^2/2. Without:
 *     V(x) - V(a) = - int_0^1 F(a + s (x - a)).(x - a) ds
 * by Gauss's rule with 12 nodes on 1, 2, 4, ... pieces until two sums agree to 1e-12; it is exact
 * for polynomials up to degree 23. A number to reproduce: F = 2 (x - x^3) from 0 to 1.6 has rise
 * 1.6^4/2 - 1.6^2 = 0.7168. */
#include "problem/potential_rise.h"
#include "ball/quadrature.h"
#include "base/context.h"
#include "base/memory.h"
#include "problem/problem_parts.h"

#include <math.h>
#include <string.h>

enum { NODES = 12, MAX_PIECES = 128 };

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

typedef struct line_rule {
    double node[NODES], weight[NODES];
    const double *from; // (d)
    double *at, *F;     // (MAX_PIECES NODES, d) each
    double *tau;        // (MAX_PIECES NODES), zeros
} line_rule;

static hb_status line_sum(hb_context *context, const hb_problem *problem, const line_rule *rule,
                          const double *x, size_t pieces, double *sum)
{
    const size_t d = (size_t)problem->dim, n = pieces * NODES;
    for (size_t k = 0; k < n * d; k++) {
        const double s = ((double)(k / d / NODES) + rule->node[k / d % NODES]) / (double)pieces;
        rule->at[k] = rule->from[k % d] + s * (x[k % d] - rule->from[k % d]);
    }
    HB_TRY(
        hb_problem_drift_each(context, problem, n, rule->at, rule->tau, rule->F, NULL, NULL, NULL));
    *sum = 0;
    for (size_t k = 0; k < n * d; k++)
        *sum -= rule->weight[k / d % NODES] / (double)pieces * rule->F[k] *
                (x[k % d] - rule->from[k % d]);
    return HB_OK;
}

static hb_status line_rise(hb_context *context, const hb_problem *problem, const line_rule *rule,
                           const double *x, double *rise)
{
    double before = NAN;
    HB_TRY(line_sum(context, problem, rule, x, 1, rise));
    for (size_t pieces = 2; !(fabs(*rise - before) <= AGREEMENT * (1 + fabs(before)));
         pieces *= 2) {
        if (pieces > MAX_PIECES || !isfinite(*rise)) {
            *rise = NAN;
            return HB_OK;
        }
        before = *rise;
        HB_TRY(line_sum(context, problem, rule, x, pieces, rise));
    }
    return HB_OK;
}

hb_status hb_potential_rise(hb_context *context, const hb_problem *problem, size_t n,
                            const double *from, const double *x, double *rise)
{
    if (problem->drift.potential) return program_rise(context, problem, n, from, x, rise);
    const size_t d = (size_t)problem->dim, most = (size_t)MAX_PIECES * NODES;
    line_rule rule;
    void *memory;
    HB_TRY(hb_quadrature_beta(context, 1, 1, NODES, rule.node, rule.weight));
    HB_TRY(hb_allocate(context, most * (2 * d + 1), sizeof(double), &memory));
    rule.at = memory;
    rule.F = rule.at + most * d;
    rule.tau = rule.F + most * d;
    memset(rule.tau, 0, most * sizeof(double));
    hb_status status = HB_OK;
    for (size_t i = 0; i < n && status == HB_OK; i++) {
        rule.from = from + i * d;
        status = line_rise(context, problem, &rule, x + i * d, rise + i);
    }
    hb_release(context, memory);
    return status;
}
