/* Densities that are known up to a factor, d <= 3: where the mass is, how much, and draws.
 *
 * Where. A cube around the origin doubles until the log-density l on its faces is DROP below its
 * peak, up to 2^24. Then it shrinks to the lattice points within DROP of the peak, again and again.
 * d = 1: features of the drift (features.c) that reach so far belong to it.
 * How much. d = 1: exp(l - peak) on adaptive panels. d = 2, 3: the midpoint rule (L. N. Trefethen,
 * J. A. C. Weideman, SIAM Review 56, 2014), doubled until steady to 1e-12, its cells as small as
 * the narrowest part of the formula, or the density is refused.
 * Draws. d = 1: the inverse of the panels' integral. d = 2, 3: rejection in a cell that is chosen
 * by a bound, the largest corner times e^MARGIN. Attempt a of draw i uses uniforms i (d+2) .. of
 * stream a.
 * A number to reproduce: l = -x^2/2 has the total sqrt(2 pi). */
#include "base/context.h"
#include "base/memory.h"
#include "problem/initial/initial_ops.h"
#include "random/choose.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum { MAX_ATTEMPTS = 10000, MOST_PROBES = 2048 };

static const double DROP = 40, MARGIN = 0.1, FARTHEST = 0x1p24;
static const double NARROW = 1.0 / 32; /* cells of features against the box */

/* By dimension: points of the search, first and last of the sum, cells of the draws. */
static const int SEARCH[4] = {0, 129, 41, 21}, FIRST[4] = {0, 0, 48, 32},
                 LAST[4] = {0, 0, 1536, 128}, CELLS[4] = {0, 0, 256, 64},
                 DEPTH[4] = {0, 0, 10, 7}; /* 2^DEPTH <= LAST */

static hb_status box_evaluate(hb_context *context, const hb_box_density *box, size_t n,
                              const double *x, double *l)
{
    const int d = box->problem->dim;
    HB_TRY(box->raw(context, box->problem, n, x, l, NULL));
    for (size_t i = 0; i < n; i++) {
        char text[HB_POINT_TEXT];
        HB_CHECK(context, !isnan(l[i]) && l[i] < INFINITY, HB_ERROR_NUMERICAL,
                 "the initial log-density is %g at x = %s; it must be finite or -inf",
                 hb_printable(l[i]), hb_point_text(d, x + i * (size_t)d, text));
    }
    return HB_OK;
}

static size_t lattice_size(int d, int m)
{
    size_t size = 1;
    for (int j = 0; j < d; j++) size *= (size_t)m;
    return size;
}

/* l[m^d] at the lattice of the box: its corners among the points (centred = 0), or the centres of m
 * cells a side (centred = 1). The last axis runs fastest. */
static hb_status box_tabulate(hb_context *context, const hb_box_density *box, int m, int centred,
                              double *l)
{
    const int d = box->problem->dim;
    const double *low = box->low, *high = box->high;
    double *x; // (m, d): one line along the last axis
    HB_TRY(HB_NEW(context, x, (size_t)m * (size_t)d));
    hb_status status = HB_OK;
    const double shift = centred ? 0.5 : 0, intervals = centred ? m : m - 1;
    for (size_t line = 0; line < lattice_size(d, m) / (size_t)m && status == HB_OK; line++) {
        for (int k = 0; k < m; k++) {
            size_t rest = line;
            for (int j = d - 1; j >= 0; j--) {
                const int index = j == d - 1 ? k : (int)(rest % (size_t)m);
                if (j < d - 1) rest /= (size_t)m;
                x[k * d + j] = low[j] + (high[j] - low[j]) * (index + shift) / intervals;
            }
        }
        status = box_evaluate(context, box, (size_t)m, x, l + line * (size_t)m);
    }
    hb_release(context, x);
    return status;
}

/* ---- where ---------------------------------------------------------------------------------- */

static int on_face(size_t index, int d, int m)
{
    int face = 0;
    for (int j = 0; j < d; j++, index /= (size_t)m) {
        const size_t k = index % (size_t)m;
        face |= k == 0 || k + 1 == (size_t)m;
    }
    return face;
}

static double box_largest(size_t n, const double *l)
{
    double peak = -INFINITY;
    for (size_t i = 0; i < n; i++) peak = fmax(peak, l[i]);
    return peak;
}

static hb_status box_grow(hb_context *context, hb_box_density *box, double *l)
{
    const int d = box->problem->dim, m = SEARCH[d];
    const size_t size = lattice_size(d, m);
    for (double half = 1; half <= FARTHEST; half *= 2) {
        for (int j = 0; j < d; j++) box->low[j] = -(box->high[j] = half);
        HB_TRY(box_tabulate(context, box, m, 0, l));
        const double peak = box_largest(size, l);
        double face = -INFINITY;
        for (size_t i = 0; i < size; i++)
            if (on_face(i, d, m)) face = fmax(face, l[i]);
        if (peak > -INFINITY && face < peak - DROP) return HB_OK;
    }
    return hb_fail(context, HB_ERROR_ARGUMENT,
                   "the %s does not normalise: it does not fall by e^-%g within |x| < %g",
                   box->what, DROP, FARTHEST);
}

/* What features hold: their largest l, up to 2, and the hull of those near it. */
typedef struct probe {
    double peak, low, high;
} probe;

/* l at a border and at the middle of its cell; -inf where the drift is not finite outside. */
static hb_status probe_cell(hb_context *context, const hb_box_density *box, int k, double *l)
{
    const double *border = box->features.borders + k;
    const double x[2] = {border[0], 0.5 * (border[0] + border[1])};
    l[0] = l[1] = -INFINITY;
    if (!(fabs(x[0]) < FARTHEST && fabs(x[1]) < FARTHEST)) return HB_OK;
    const hb_status status = box_evaluate(context, box, 2, x, l);
    if (status == HB_OK || status == HB_ERROR_INTERRUPTED || status == HB_ERROR_MEMORY)
        return status;
    if (x[0] >= box->low[0] && x[1] <= box->high[0]) return status;
    l[0] = l[1] = -INFINITY;
    return HB_OK;
}

/* From probe k, where l is above `least`, to where it is not, by steps that grow. */
static hb_status box_leave(hb_context *context, const hb_box_density *box, int k, double side,
                           double least, double *end)
{
    const double *border = box->features.borders + k / 2;
    double step = 0.5 * side * (border[1] - border[0]), l = INFINITY;
    *end = border[0] + (k % 2) * fabs(step);
    for (; l >= least && fabs(*end) < FARTHEST; step *= 1.5) {
        *end += step;
        HB_TRY(box_evaluate(context, box, 1, end, &l));
    }
    return HB_OK;
}

/* In the box only narrow cells are probed; outside only where l rises again. */
static hb_status probe_features(hb_context *context, const hb_box_density *box, double lattice_peak,
                                probe *out)
{
    const hb_features *features = &box->features;
    const double low = box->low[0], high = box->high[0], narrow = NARROW * (high - low);
    const int n = features->n < MOST_PROBES ? features->n : 0;
    double l[2 * MOST_PROBES];
    *out = (probe){-INFINITY, INFINITY, -INFINITY};
    for (int k = 0; k < n; k++) {
        const double a = features->borders[k], b = features->borders[k + 1];
        l[2 * k] = l[2 * k + 1] = -INFINITY;
        if (a >= low && b <= high ? b - a > narrow : a > box->reach.high || b < box->reach.low)
            continue;
        HB_TRY(probe_cell(context, box, k, l + 2 * k));
        out->peak = fmax(out->peak, fmax(l[2 * k], l[2 * k + 1]));
    }
    const double least = fmax(out->peak, lattice_peak) - DROP;
    int first = 2 * n, last = -1;
    for (int k = 0; k < 2 * n; k++) {
        if (!(l[k] >= least)) continue;
        first = k < first ? k : first;
        last = k;
    }
    if (last < 0) return HB_OK;
    HB_TRY(box_leave(context, box, first, -1, least, &out->low));
    return box_leave(context, box, last, 1, least, &out->high);
}

/* The box of the points within DROP of the peak, one step more, and features; *shrunk: by much. */
static void box_tighten(hb_box_density *box, int d, int m, const double *l, const probe *features,
                        int *shrunk)
{
    const double least = fmax(box_largest(lattice_size(d, m), l), features->peak) - DROP;
    const double before = box->high[0] - box->low[0];
    int first[3] = {m, m, m}, last[3] = {-1, -1, -1};
    for (size_t i = 0; i < lattice_size(d, m); i++) {
        if (l[i] < least) continue;
        size_t rest = i;
        for (int j = d - 1; j >= 0; j--, rest /= (size_t)m) {
            const int k = (int)(rest % (size_t)m);
            first[j] = k < first[j] ? k : first[j];
            last[j] = k > last[j] ? k : last[j];
        }
    }
    *shrunk = 0;
    for (int j = 0; j < d; j++) {
        const double low = box->low[j], step = (box->high[j] - low) / (m - 1);
        const int from = first[j] > 0 ? first[j] - 1 : 0,
                  to = last[j] < m - 1 ? last[j] + 1 : m - 1;
        *shrunk |= to >= from && 10 * (to - from) < 9 * (m - 1);
        box->high[j] = to < from ? -INFINITY : low + to * step;
        box->low[j] = to < from ? INFINITY : low + from * step;
    }
    if (!(features->low < features->high)) return;
    box->low[0] = fmin(box->low[0], features->low);
    box->high[0] = fmax(box->high[0], features->high);
    *shrunk &= box->high[0] - box->low[0] < 0.9 * before;
}

hb_status hb_box_density_find(hb_context *context, hb_box_density *box)
{
    const int d = box->problem->dim, m = SEARCH[d];
    double *l; // (m^d)
    HB_TRY(HB_NEW(context, l, lattice_size(d, m)));
    probe features = {-INFINITY, INFINITY, -INFINITY};
    hb_status status = box_grow(context, box, l);
    if (status == HB_OK && d == 1)
        status = probe_features(context, box, box_largest(lattice_size(d, m), l), &features);
    for (int shrunk = 1; shrunk && status == HB_OK;) {
        box_tighten(box, d, m, l, &features, &shrunk);
        status = box_tabulate(context, box, m, 0, l);
        box->peak = fmax(box_largest(lattice_size(d, m), l), features.peak);
    }
    hb_release(context, l);
    return status;
}

/* ---- how much ------------------------------------------------------------------------------- */

static hb_status density_on_line(void *user, size_t n, const double *x, double *density)
{
    const hb_box_density *box = user;
    HB_TRY(box_evaluate(box->problem->context, box, n, x, density));
    for (size_t i = 0; i < n; i++) density[i] = exp(density[i] - box->peak);
    return HB_OK;
}

static hb_status total_on_line(hb_context *context, hb_box_density *box)
{
    const hb_panels_settings settings = {.function = density_on_line,
                                         .user = box,
                                         .scale = 1,
                                         .name = "the initial density",
                                         .variable = "x1",
                                         .features = &box->features};
    HB_TRY(hb_panels_create(context, &settings, box->low[0], box->high[0], &box->cumulative));
    box->log_total = box->peak + log(hb_panels_total(box->cumulative));
    return HB_OK;
}

static hb_status midpoint_sum(hb_context *context, const hb_box_density *box, int m, double *l,
                              double *sum)
{
    const int d = box->problem->dim;
    HB_TRY(box_tabulate(context, box, m, 1, l));
    double cell = 1;
    for (int j = 0; j < d; j++) cell *= (box->high[j] - box->low[j]) / m;
    *sum = 0;
    for (size_t i = 0; i < lattice_size(d, m); i++) *sum += exp(l[i] - box->peak);
    *sum *= cell;
    return HB_OK;
}

/* Points a side that see all of the formula, if one is known (features.c). */
static hb_status find_least(hb_context *context, const hb_box_density *box, int *least)
{
    const int d = box->problem->dim;
    hb_interval x[3];
    int depth;
    *least = 0;
    if (!box->graph) return HB_OK;
    for (int a = 0; a < d; a++) x[a] = (hb_interval){box->low[a], box->high[a]};
    HB_TRY(hb_features_depth(context, box->graph, box->n_nodes, box->nodes, x, DEPTH[d], &depth));
    HB_CHECK(
        context, depth <= DEPTH[d], HB_ERROR_NUMERICAL,
        "the %s was not normalised: parts of its formula are too narrow for %d points a side%s",
        box->what, LAST[d],
        box->steady > 0 ? "; a mixture of Gaussians may have components of any width" : "");
    *least = 1 << depth;
    return HB_OK;
}

static hb_status total_in_box(hb_context *context, hb_box_density *box)
{
    const int d = box->problem->dim;
    double before = NAN, sum = NAN, change = INFINITY;
    int least;
    HB_TRY(find_least(context, box, &least));
    for (int m = FIRST[d]; m <= LAST[d] && (change > 1e-12 || m <= least); m *= 2) {
        double *l; // (m^d)
        HB_TRY(HB_NEW(context, l, lattice_size(d, m)));
        const hb_status status = midpoint_sum(context, box, m, l, &sum);
        hb_release(context, l);
        HB_TRY(status);
        if (before > 0) change = fabs(sum / before - 1);
        before = sum;
    }
    HB_CHECK(
        context,
        change<
            (box->steady > 0 ? box->steady : 1e-4), HB_ERROR_NUMERICAL,
            "the initial density was not normalised: %d points a side change its integral by %.1e; "
            "it must be smooth and fall fast%s",
            LAST[d], change, box->steady> 0
            ? "; a product of densities in one coordinate each may have kinks, jumps and heavy "
              "tails"
            : "");
    box->log_total = box->peak + log(sum);
    box->log_total_error = change;
    return HB_OK;
}

/* ---- draws ---------------------------------------------------------------------------------- */

/* ln of the bound on the cell: its largest corner and the margin. */
static double cell_bound(int d, int cells, const double *l, size_t cell)
{
    const size_t m = (size_t)cells + 1;
    size_t corner = 0, stride = 1, strides[3] = {0};
    for (int j = d - 1; j >= 0; j--, cell /= (size_t)cells, stride *= m) {
        corner += cell % (size_t)cells * stride;
        strides[j] = stride;
    }
    double bound = -INFINITY;
    for (int k = 0; k < 1 << d; k++) {
        size_t at = corner;
        for (int j = 0; j < d; j++) at += (k >> j & 1) ? strides[j] : 0;
        bound = fmax(bound, l[at]);
    }
    return bound + MARGIN;
}

static hb_status build_table(hb_context *context, hb_box_density *box)
{
    const int d = box->problem->dim, cells = box->cells = CELLS[d];
    const size_t n = lattice_size(d, cells);
    double *corners; // ((cells + 1)^d)
    HB_TRY(HB_NEW(context, box->table, n));
    HB_TRY(HB_NEW(context, corners, lattice_size(d, cells + 1)));
    const hb_status status = box_tabulate(context, box, cells + 1, 0, corners);
    double sum = 0;
    for (size_t i = 0; i < n && status == HB_OK; i++)
        box->table[i] = sum += exp(cell_bound(d, cells, corners, i) - box->peak);
    hb_release(context, corners);
    return status;
}

static hb_status draw_in_box(hb_context *context, const hb_box_density *box, uint64_t seed,
                             uint64_t index, double *x)
{
    const int d = box->problem->dim, cells = box->cells;
    const size_t width = (size_t)d + 2, n = lattice_size(d, cells);
    double u[5], l; // cell, acceptance, place
    for (uint64_t attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        HB_TRY(hb_random_uniform(context, seed, HB_STREAM_START_ATTEMPT | attempt, index * width,
                                 width, u));
        const size_t cell = hb_random_choose(n, box->table, u[0] * box->table[n - 1]);
        size_t rest = cell;
        for (int j = d - 1; j >= 0; j--, rest /= (size_t)cells) {
            const double step = (box->high[j] - box->low[j]) / cells;
            x[j] = box->low[j] + step * ((double)(rest % (size_t)cells) + u[2 + j]);
        }
        HB_TRY(box_evaluate(context, box, 1, x, &l));
        const double bound = box->table[cell] - (cell ? box->table[cell - 1] : 0);
        if (u[1] * bound <= exp(l - box->peak)) return HB_OK;
    }
    return hb_fail(context, HB_ERROR_NUMERICAL,
                   "no draw of the initial density was accepted in %d attempts; it must be smooth",
                   MAX_ATTEMPTS);
}

static hb_status draw_one(hb_context *context, const hb_box_density *box, uint64_t seed,
                          uint64_t index, double *x)
{
    if (box->problem->dim > 1) return draw_in_box(context, box, seed, index, x);
    double u;
    HB_TRY(hb_random_uniform(context, seed, HB_STREAM_START_ATTEMPT, index, 1, &u));
    return hb_panels_inverse(context, box->cumulative, u * hb_panels_total(box->cumulative), x);
}

hb_status hb_box_density_draw(hb_context *context, const hb_problem *problem, uint64_t seed,
                              uint64_t first, size_t n, double *x)
{
    const size_t d = (size_t)problem->dim;
    for (size_t i = 0; i < n; i++)
        HB_TRY(draw_one(context, problem->initial.data, seed, first + i, x + i * d));
    return HB_OK;
}

/* box->reach: between the outermost cells on which F drives outward. Beyond them l falls. */
static hb_status find_reach(hb_context *context, const hb_problem *problem, int axis,
                            hb_box_density *box)
{
    const hb_features *features = &box->features;
    const size_t d = (size_t)problem->dim;
    double *x; // (d), and F the same
    HB_TRY(HB_NEW_CLEARED(context, x, 2 * d));
    double *F = x + d;
    hb_status status = HB_OK;
    for (int k = 0; k < features->n && status == HB_OK; k++) {
        const double a = features->borders[k], b = features->borders[k + 1];
        x[axis] = 0.5 * (a + b);
        status = hb_problem_drift(context, problem, 1, x, 0, F, NULL, NULL, NULL);
        if (status == HB_ERROR_DOMAIN) status = HB_OK; // not finite there
        if (F[axis] > 0) box->reach.high = fmax(box->reach.high, b);
        if (F[axis] < 0) box->reach.low = fmin(box->reach.low, a);
    }
    hb_release(context, x);
    return status;
}

hb_status hb_box_density_features(hb_context *context, const hb_problem *problem, int axis,
                                  hb_box_density *box)
{
    double rate;
    const int again = box->features.n > 0;
    const hb_interval all = {-INFINITY, INFINITY}, inside = {box->low[0], box->high[0]};
    if (!problem->drift.graph || (again && box->features.complete)) return HB_OK;
    hb_features_destroy(context, &box->features);
    HB_TRY(hb_time_change_rate(context, problem->change, 0, &rate));
    HB_TRY(hb_features_of_drift(context, problem->drift.graph, problem->drift.components[axis],
                                1 / rate, axis + 1, again ? inside : all, &box->features));
    return again ? HB_OK : find_reach(context, problem, axis, box);
}

/* ---- the whole ------------------------------------------------------------------------------ */

hb_status hb_box_density_create(hb_context *context, hb_box_density *box)
{
    if (box->problem->dim == 1) return total_on_line(context, box);
    HB_TRY(total_in_box(context, box));
    return build_table(context, box);
}

void hb_box_density_clear(hb_context *context, hb_box_density *box)
{
    hb_panels_destroy(context, box->cumulative);
    hb_features_destroy(context, &box->features);
    hb_release(context, box->table);
}

void hb_box_density_destroy(hb_context *context, void *data)
{
    hb_box_density_clear(context, data);
    hb_release(context, data);
}

hb_status hb_box_density_evaluate(hb_context *context, const hb_problem *problem, size_t n,
                                  const double *x, double *log_density, double *gradient)
{
    const hb_box_density *box = problem->initial.data;
    HB_TRY(box->raw(context, problem, n, x, log_density, gradient));
    for (size_t i = 0; i < n; i++) log_density[i] -= box->log_total;
    return HB_OK;
}

void hb_box_density_box(const hb_problem *problem, double *low, double *high)
{
    const hb_box_density *box = problem->initial.data;
    memcpy(low, box->low, (size_t)problem->dim * sizeof *low);
    memcpy(high, box->high, (size_t)problem->dim * sizeof *high);
}
