/* Cuts of the time span around narrow features of drift and noise.
 *
 * features.c cuts [0, T] into cells on which no function of the formulas hides anything. Cells
 * shorter than NARROW T are cut into PARTS pieces, and pieces beside them grow by 2 until they are
 * CALM T long. Without narrow cells there are no cuts. Functions of t alone are searched: what
 * depends on x too moves past every path like a feature in x (step_reach.c).
 * A number to reproduce: exp(-((t - 0.3)/1e-4)^2) on [0, 0.5] has about 40 cuts, exp(-t) on [0,
 * 5] none. */
#include "problem/time_cuts.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "formula/features.h"
#include "problem/problem_parts.h"

enum { PARTS = 4 };

static const double NARROW = 1.0 / 24, CALM = 1.0 / 64;
static const double UNIT = 1.0 / 32; /* of the whole tau: two of the longest steps of paths */
static const double APART = 1e-13;   /* of the span: closer cuts are one */

static hb_status cuts_put(hb_context *context, double t, hb_time_cuts *cuts)
{
    HB_TRY(HB_GROW(context, cuts->t, cuts->n, cuts->capacity));
    cuts->t[cuts->n++] = t;
    return HB_OK;
}

/* From a border on, pieces that grow, to where the wide cell beside it ends. */
static hb_status cuts_grow(hb_context *context, double border, double piece, double end,
                           double calm, hb_time_cuts *cuts)
{
    const double sign = end < border ? -1 : 1;
    for (double gone = 0; gone + 3 * piece < fabs(end - border) && piece < calm;) {
        piece *= 2;
        gone += piece;
        HB_TRY(cuts_put(context, border + sign * gone, cuts));
    }
    return HB_OK;
}

static hb_status cuts_around_cells(hb_context *context, const hb_features *cells, double span,
                                   hb_time_cuts *cuts)
{
    const double *border = cells->borders;
    for (int k = 0; k < cells->n; k++) {
        const double low = border[k], high = border[k + 1], piece = (high - low) / PARTS;
        if (!(high - low < NARROW * span)) continue;
        for (int j = 0; j <= PARTS; j++) HB_TRY(cuts_put(context, low + j * piece, cuts));
        if (k > 0) HB_TRY(cuts_grow(context, low, piece, border[k - 1], CALM * span, cuts));
        if (k + 1 < cells->n)
            HB_TRY(cuts_grow(context, high, piece, border[k + 2], CALM * span, cuts));
    }
    return HB_OK;
}

hb_status hb_time_cuts_add(hb_context *context, const hb_graph *graph, int n, const hb_node *nodes,
                           double span, hb_time_cuts *cuts)
{
    hb_features cells;
    int moves = 0, kept = 0;
    for (int k = 0; k < n; k++) moves |= hb_graph_depends(graph, nodes[k], 0);
    if (!moves || !(span > 0 && isfinite(span))) return HB_OK;
    HB_TRY(hb_features_find(context, graph, n, nodes, 0, NULL, (hb_interval){0, span}, &cells));
    cuts->moving |= !cells.complete;
    const hb_status status = cuts_around_cells(context, &cells, span, cuts);
    hb_features_destroy(context, &cells);
    HB_TRY(status);
    if (cuts->n > 0) hb_sort((size_t)cuts->n, cuts->t);
    for (int k = 0; k < cuts->n; k++)
        if (cuts->t[k] - (kept ? cuts->t[kept - 1] : 0) > APART * span &&
            cuts->t[k] < (1 - APART) * span)
            cuts->t[kept++] = cuts->t[k];
    cuts->n = kept;
    return HB_OK;
}

hb_status hb_time_cuts_map(hb_context *context, const hb_time_change *change, double span,
                           hb_time_cuts *cuts)
{
    int kept = 0;
    double end;
    if (cuts->n == 0) return HB_OK;
    HB_TRY(HB_NEW(context, cuts->tau, (size_t)cuts->n));
    HB_TRY(hb_time_change_tau(context, change, span, &end));
    cuts->unit = UNIT * end;
    for (int k = 0; k < cuts->n; k++) {
        double tau;
        HB_TRY(hb_time_change_tau(context, change, cuts->t[k], &tau));
        if (!(tau - (kept ? cuts->tau[kept - 1] : 0) > 1e-15 * tau && tau < end)) continue;
        cuts->t[kept] = cuts->t[k];
        cuts->tau[kept++] = tau;
    }
    cuts->n = kept;
    return HB_OK;
}

/* ---- questions ---- */

const hb_time_cuts *hb_problem_cuts(const hb_problem *problem)
{
    return &problem->cuts;
}

double hb_cuts_after(const hb_time_cuts *cuts, double tau, double end)
{
    const int k = hb_sorted_until(cuts->n, cuts->tau, tau);
    return k < cuts->n ? fmin(cuts->tau[k], end) : end;
}

double hb_cuts_before(const hb_time_cuts *cuts, double tau)
{
    int k = hb_sorted_until(cuts->n, cuts->tau, tau);
    if (k > 0 && !(cuts->tau[k - 1] < tau)) k--;
    return k > 0 ? cuts->tau[k - 1] : 0;
}

double hb_cuts_worth(const hb_time_cuts *cuts, double from, double to)
{
    const int k = hb_sorted_until(cuts->n, cuts->tau, from);
    const double low = k ? cuts->tau[k - 1] : 0, high = k < cuts->n ? cuts->tau[k] : INFINITY;
    return (to - from) * fmax(1, cuts->unit / (high - low));
}

int hb_cuts_sample(const hb_time_cuts *cuts, double end, int even, double *tau)
{
    const int inside = hb_sorted_until(cuts->n, cuts->tau, end);
    const int stride = inside > even ? 1 + (inside - 1) / (even > 0 ? even : 1) : 1;
    int n = even;
    for (int k = 0; k < even; k++) tau[k] = even > 1 ? end * k / (even - 1) : 0;
    for (int k = inside % stride / 2; k < inside; k += stride) tau[n++] = cuts->tau[k];
    return n;
}
