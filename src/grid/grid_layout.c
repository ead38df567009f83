/* Where the nodes go: a joint on each break of the drift, and small cells where it varies fast.
 *
 * Breaks. F is not smooth where an argument is 0 (problem/drift_facts.h). Arguments of one
 * coordinate that do not move in time have their roots on planes x_a = c, found by bisection with
 * interval arithmetic: an interval whose range excludes 0 is dropped, what is left at ROOT_SIZE of
 * the box is a root. Each becomes a joint, a node of all three meshes: u is smooth on both sides,
 * and the error stays even in h. Narrow features, one dimension. A cell of the coarsest mesh is
 * divided when F at SAMPLES points (and TIMES times) shows that its integral by two Gauss points is
 * off by more than FINE, or that it bends over the cell by more than BEND, or by BEND of F itself
 * where |F| h > 1. When interval arithmetic allows F to leave the hull of the samples, the halves
 * are looked at: a bump between the samples is found however narrow it is. Runs of equal cells
 * become pieces. For callbacks there are samples only.
 *
 * Must reproduce: -sign(x - 0.3) on [-7, 7] is two pieces that meet at 0.3. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "grid/grid_box.h"
#include "problem/drift_facts.h"
#include "problem/time_cuts.h"

#include <math.h>

enum {
    MOST_ROOTS = 40,
    MOST_BOXES = 200000, /* intervals that are looked at for roots */
    LEAST_CELLS = 32,    /* of a piece */
    SAMPLES = 17,
    TIMES = 33,
    DEEPEST = 26,
    MOST_LEAVES = 8192,
    MOST_LOOKS = 60000,
    MOST_CELLS = 1 << 17
};

static const double ROOT_SIZE = 1e-13;
static const double FINE = 1e-4;
static const double BEND = 0.05;
static const double EXCESS =
    2; /* of a range over the samples' hull, in its widths, that is looked into */

typedef struct layout {
    hb_context *context;
    const hb_problem *problem;
    const hb_drift_facts *facts;
    double tau_end;
    int dim, axis;
    const double *low, *high;
    hb_interval *box;       // (3)
    hb_interval *arguments; // (n_breaks)
    double joints[MOST_ROOTS];
    int n_joints;
    int boxes, looks;
    hb_layout_flaws *flaws;
} layout;

/* ---- roots ---- */

static hb_status layout_argument_range(layout *l, int k, double low, double high, hb_interval *out)
{
    for (int a = 0; a < l->dim; a++) l->box[a] = (hb_interval){l->low[a], l->high[a]};
    l->box[l->axis] = (hb_interval){low, high};
    HB_TRY(hb_problem_ranges(l->context, l->problem, l->box, (hb_interval){0, l->tau_end}, NULL,
                             l->arguments));
    *out = l->arguments[k];
    return HB_OK;
}

static void layout_flaw(layout *l, int k)
{
    if (l->facts->breaks[k].kind == HB_BREAK_KINK)
        l->flaws->kinks = 1;
    else
        l->flaws->jumps = 1;
}

static int layout_keep_root(layout *l, double x, double close)
{
    for (int i = 0; i < l->n_joints; i++)
        if (fabs(l->joints[i] - x) <= close) return 1;
    if (l->n_joints == MOST_ROOTS) return 0;
    l->joints[l->n_joints++] = x;
    return 1;
}

/* Roots of argument k within [low, high], by halving; *whole is 0 when there are too many. */
static hb_status layout_find_roots(layout *l, int k, double low, double high, double least,
                                   int *whole)
{
    hb_interval range;
    if (!*whole) return HB_OK;
    HB_TRY(layout_argument_range(l, k, low, high, &range));
    if (range.low > 0 || range.high < 0) return HB_OK;
    *whole = ++l->boxes < MOST_BOXES;
    const double middle = 0.5 * (low + high);
    if (high - low <= least) {
        *whole = *whole && layout_keep_root(l, middle, 16 * least);
        return HB_OK;
    }
    HB_TRY(layout_find_roots(l, k, low, middle, least, whole));
    return layout_find_roots(l, k, middle, high, least, whole);
}

/* The nearest short decimal, when it is within the root's accuracy: 0.3 rather than
 * 0.3000000000000004. */
static double layout_tidy(double x, double close)
{
    for (double unit = 1; unit <= 1e9; unit *= 10)
        if (fabs(round(x * unit) / unit - x) <= close) return round(x * unit) / unit;
    return x;
}

static hb_status layout_find_joints(layout *l)
{
    const double low = l->low[l->axis], high = l->high[l->axis], least = ROOT_SIZE * (high - low);
    l->n_joints = 0;
    for (int k = 0; k < l->facts->n_breaks; k++) {
        const hb_drift_break *b = &l->facts->breaks[k];
        if (b->axis != l->axis + 1 || b->moves || b->kind == HB_BREAK_POLE) continue;
        const int before = l->n_joints;
        int whole = 1;
        l->boxes = 0;
        HB_TRY(layout_find_roots(l, k, low, high, least, &whole));
        if (whole) continue;
        l->n_joints = before;
        layout_flaw(l, k);
    }
    for (int i = 0; i < l->n_joints; i++) l->joints[i] = layout_tidy(l->joints[i], 32 * least);
    hb_sort((size_t)l->n_joints, l->joints);
    return HB_OK;
}

/* Breaks that no joint can hold, but for those that are 0 nowhere in the box. */
static hb_status layout_find_flaws(layout *l)
{
    for (int k = 0; k < l->facts->n_breaks; k++) {
        const hb_drift_break *b = &l->facts->breaks[k];
        hb_interval range;
        if (b->kind == HB_BREAK_POLE || (b->axis && !b->moves)) continue;
        HB_TRY(layout_argument_range(l, k, l->low[l->axis], l->high[l->axis], &range));
        if (range.low <= 0 && range.high >= 0) layout_flaw(l, k);
    }
    return HB_OK;
}

/* ---- narrow features in one dimension ---- */

typedef struct leaves {
    layout *l;
    double *ends;  // (MOST_LEAVES): the upper end of each
    int *depth;    // (MOST_LEAVES)
    double *x, *F; // (SAMPLES + 2, times) each
    double *tau;
    double time[2 * TIMES]; /* at which F is looked at, and how many */
    int times;
    int n, full;
} leaves;

/* 1: the samples say that the cell is too large. hull gets what they took. */
static hb_status leaves_look(leaves *s, double low, double high, int *large, hb_interval *hull)
{
    const double h = high - low;
    enum { ROW = SAMPLES + 2 };
    for (int i = 0; i < s->times; i++)
        for (int k = 0; k < ROW; k++) {
            const double part =
                k < SAMPLES ? (double)k / (SAMPLES - 1) : hb_mesh_gauss[k - SAMPLES];
            /* the ends from within: they may be jumps */
            s->x[i * ROW + k] = low + h * fmin(fmax(part, 1e-9), 1 - 1e-9);
            s->tau[i * ROW + k] = s->time[i];
        }
    HB_TRY(hb_problem_drift_each(s->l->context, s->l->problem, (size_t)(s->times * ROW), s->x,
                                 s->tau, s->F, NULL, NULL, NULL));
    *large = 0;
    *hull = (hb_interval){INFINITY, -INFINITY};
    for (int i = 0; i < s->times; i++) {
        const double *F = s->F + i * ROW;
        double sum = 0; /* Simpson's rule */
        for (int k = 0; k < SAMPLES; k++) {
            sum += F[k] * (k == 0 || k == SAMPLES - 1 ? 1 : k % 2 ? 4 : 2);
            hull->low = fmin(hull->low, F[k]);
            hull->high = fmax(hull->high, F[k]);
        }
        const double by_two = 0.5 * h * (F[SAMPLES] + F[SAMPLES + 1]);
        const double bend = h * fabs(F[SAMPLES / 2] - 0.5 * (F[0] + F[SAMPLES - 1]));
        const double carried = fmax(1, h * fabs(F[SAMPLES / 2]));
        *large |= fabs(by_two - h * sum / (3 * (SAMPLES - 1))) > FINE || bend > BEND * carried;
    }
    return HB_OK;
}

static void leaves_add(leaves *s, double high, int depth)
{
    s->full |= s->n == MOST_LEAVES;
    if (s->full) return;
    s->ends[s->n] = high;
    s->depth[s->n++] = depth;
}

/* Whether a jump that moves may be in the cell at some time; no division would follow it. */
static int layout_has_moving_jump(const layout *l)
{
    for (int k = 0; k < l->facts->n_breaks; k++)
        if (l->facts->breaks[k].moves && l->facts->breaks[k].kind == HB_BREAK_JUMP &&
            l->arguments[k].low <= 0 && l->arguments[k].high >= 0)
            return 1;
    return 0;
}

/* Appends the leaves of [low, high]; *divided is 1 when the samples of some part asked for it. */
static hb_status leaves_divide(leaves *s, double low, double high, int depth, int *divided)
{
    hb_interval hull, x = {low, high}, F = {0, 0};
    const int before = s->n;
    int large, parts[2] = {0, 0};
    HB_TRY(leaves_look(s, low, high, &large, &hull));
    if (s->l->facts->is_formula)
        HB_TRY(hb_problem_ranges(s->l->context, s->l->problem, &x, (hb_interval){0, s->l->tau_end},
                                 &F, s->l->arguments));
    if (layout_has_moving_jump(s->l)) {
        leaves_add(s, high, depth);
        *divided = 0;
        return HB_OK;
    }
    const double excess = fmax(hull.low - F.low, F.high - hull.high);
    const int suspicious = s->l->facts->is_formula && excess * (high - low) > BEND &&
                           excess > EXCESS * (hull.high - hull.low);
    *divided = large;
    if ((!large && !suspicious) || depth == DEEPEST || ++s->l->looks > MOST_LOOKS) {
        s->l->flaws->unresolved |= large || suspicious;
        leaves_add(s, high, depth);
        return HB_OK;
    }
    const double middle = 0.5 * (low + high);
    HB_TRY(leaves_divide(s, low, middle, depth + 1, &parts[0]));
    HB_TRY(leaves_divide(s, middle, high, depth + 1, &parts[1]));
    *divided |= parts[0] | parts[1];
    if (*divided) return HB_OK;
    s->n = before; /* a false alarm */
    leaves_add(s, high, depth);
    return HB_OK;
}

/* ---- pieces ---- */

/* Ends a piece at x with at least `coarse` cells of the coarsest mesh. */
static void layout_add_piece(hb_axis *axis, double x, int coarse)
{
    const int p = axis->pieces, cells = 4 * coarse < LEAST_CELLS ? LEAST_CELLS : 4 * coarse;
    if (p > 0 && axis->pieces == HB_MESH_PIECES) return;
    axis->joint[p + 1] = x;
    axis->first[p + 1] = axis->first[p] + cells;
    axis->pieces = p + 1;
}

static int layout_count_cells(double low, double high, double spacing)
{
    const double cells = ceil((high - low) / (4 * spacing) * (1 - 1e-12));
    return cells < 1 ? 1 : cells > MOST_CELLS ? MOST_CELLS : (int)cells;
}

/* Leaves of one stretch between joints; a piece for each run of depths that agree to an even
 * number. */
static void leaves_add_runs(const leaves *s, double low, hb_axis *axis)
{
    double start = low;
    for (int i = 0; i < s->n;) {
        const int depth = (s->depth[i] + 1) / 2 * 2;
        int last = i, smallest = s->depth[i];
        while (last + 1 < s->n && (s->depth[last + 1] + 1) / 2 * 2 == depth) {
            last++;
            if (s->depth[last] > smallest) smallest = s->depth[last];
        }
        double least = INFINITY;
        for (int k = i; k <= last; k++)
            least = fmin(least, s->ends[k] - (k ? s->ends[k - 1] : low));
        layout_add_piece(axis, s->ends[last], layout_count_cells(start, s->ends[last], least / 4));
        start = s->ends[last];
        i = last + 1;
    }
}

static int leaves_runs(const leaves *s)
{
    int runs = s->n > 0;
    for (int i = 1; i < s->n; i++) runs += (s->depth[i] + 1) / 2 != (s->depth[i - 1] + 1) / 2;
    return runs;
}

static hb_status leaves_divide_stretch(leaves *s, double low, double high, double spacing)
{
    const int cells = layout_count_cells(low, high, spacing);
    int divided;
    s->n = 0;
    for (int k = 0; k < cells; k++)
        HB_TRY(leaves_divide(s, low + (high - low) * k / cells,
                             low + (high - low) * (k + 1) / cells, 0, &divided));
    return HB_OK;
}

/* One axis from its joints; in one dimension with the features between them. */
static hb_status layout_axis(layout *l, leaves *s, double spacing, hb_axis *axis)
{
    *axis = (hb_axis){.joint = {l->low[l->axis]}};
    double low = l->low[l->axis];
    for (int i = 0; i <= l->n_joints; i++) {
        const double high = i < l->n_joints ? l->joints[i] : l->high[l->axis];
        if (!(high > low)) continue;
        if (s) {
            HB_TRY(leaves_divide_stretch(s, low, high, spacing));
            if (s->full || axis->pieces + leaves_runs(s) + l->n_joints - i > HB_MESH_PIECES) {
                l->flaws->unresolved = 1;
                layout_add_piece(axis, high, layout_count_cells(low, high, spacing));
            } else {
                leaves_add_runs(s, low, axis);
            }
        } else {
            layout_add_piece(axis, high, layout_count_cells(low, high, spacing));
        }
        low = high;
    }
    return HB_OK;
}

static hb_status layout_lay(layout *l, const int *cells, leaves *s, hb_axis *axes)
{
    for (l->axis = 0; l->axis < l->dim; l->axis++) {
        const double low = l->low[l->axis], high = l->high[l->axis];
        hb_axis *axis = &axes[l->axis];
        HB_TRY(layout_find_joints(l));
        HB_TRY(layout_axis(l, l->dim == 1 ? s : NULL, (high - low) / cells[l->axis], axis));
        const int all = axis->first[axis->pieces];
        if (axis->pieces == 1 && all <= cells[l->axis]) /* nothing asks for another mesh */
            *axis = hb_axis_even(cells[l->axis], low, high);
        HB_CHECK(l->context, all <= MOST_CELLS, HB_ERROR_NUMERICAL,
                 "the drift varies so fast that axis %d would need %d cells; a grid takes %d",
                 l->axis + 1, all, MOST_CELLS);
    }
    l->axis = 0;
    return layout_find_flaws(l);
}

hb_status hb_grid_layout(hb_context *context, const hb_problem *problem, double tau_end,
                         const double *low, const double *high, const int *cells, hb_axis *axes,
                         hb_layout_flaws *flaws)
{
    const hb_drift_facts *facts = hb_problem_facts(problem);
    hb_workspace work;
    const size_t samples = (SAMPLES + 2) * 2 * TIMES;
    layout l = {.context = context,
                .problem = problem,
                .facts = facts,
                .tau_end = tau_end,
                .dim = hb_problem_dim(problem),
                .low = low,
                .high = high,
                .flaws = flaws};
    leaves s = {.l = &l};
    s.times =
        hb_cuts_sample(hb_problem_cuts(problem), tau_end,
                       facts->autonomous && hb_problem_is_autonomous(problem) ? 1 : TIMES, s.time);
    *flaws = (hb_layout_flaws){0};
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(l.box, (size_t)facts->n_breaks + 3),
                        HB_ARRAY(s.x, samples), HB_ARRAY(s.F, samples), HB_ARRAY(s.tau, samples),
                        HB_ARRAY(s.ends, MOST_LEAVES), HB_ARRAY(s.depth, MOST_LEAVES)));
    l.arguments = l.box + 3;
    const hb_status status = layout_lay(&l, cells, &s, axes);
    hb_workspace_destroy(&work);
    return status;
}
