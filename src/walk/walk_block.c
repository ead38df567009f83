/* Walks in lockstep: the drift is evaluated for all walks of a block in one call.
 *
 * One sweep: evaluate the drift where the walks are; settle what their last clocks have rung for;
 * probe the drift at two points beside each walk, which gives the rate of its next clock; let walks
 * that are near enough to tau = 0 leave the gauge or the reversed walk; draw; step; finish. Walks
 * that end leave the block, and the last one takes their slot. Draws are numbers of streams that
 * belong to a step: normals (walk) d .. and one uniform (walk), so a walk's draws do not depend on
 * other walks.
 *
 * The probes stand 3 standard deviations of a step of length 1/rate away, in the direction of the
 * last draw, which is as good as a new one and depends on the past only.
 *
 * The gauge and the reversed walk are used where rate left >= finish (1 or 2), rate that of the
 * parametrix with finesse 2; their steps never go nearer to tau = 0 than half of that, so that the
 * last step is always a parametrix step, which the initial density closes
 * (problem/initial_average.h) or which is drawn as an antithetic pair.
 *
 * A walk that has more than FAR steps before it has run away, where u is next to nothing; then half
 * of such walks end, and the others count double. A walk is lost when its drift or its weight is
 * not finite, or after MOST_STEPS steps. */
#include "problem/potential_rise.h"
#include "random/fill.h"
#include "random/streams.h"
#include "walk/walk_scratch.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 4000 };

static const double PROBE_REACH = 3;               /* standard deviations */
static const double FIRST_RATE = 8;                /* of the first probes, over tau0 */
static const double FAR = 64, FAR_IN_GAUGE = 2000; /* rate left where roulette is played */
static const double FINISH_FINESSE = 2; /* of the parametrix that finishes a gauge walk */
static const double BLIND_FACTOR = 4;   /* on the rate where a probe sees no finite drift */

/* ---- the drift ------------------------------------------------------------------------------ */

static hb_walk_row row_of(const hb_walk_block *b, size_t i)
{
    return hb_walk_row_of(&b->shared, b->walks[i].row);
}

static hb_walk_view view_of(const hb_walk_block *b, size_t i)
{
    const size_t d = b->shared.d, number = b->walks[i].number;
    return (hb_walk_view){.F = b->F + i * d,
                          .divergence = b->divergence + i,
                          .grad_divergence = b->grad_divergence + i * d,
                          .jacobian = b->jacobian + i * d * d,
                          .reach = b->reach[i],
                          .probe_F = b->probe_F + 2 * i * d,
                          .probe_divergence = b->probe_divergence + 2 * i,
                          .normals = b->normals + number * b->n_normals,
                          .uniform = b->uniforms[number],
                          .work = b->step_work};
}

static hb_status evaluate(hb_walk_block *b, int gauge)
{
    const size_t d = b->shared.d;
    for (size_t i = 0; i < b->live; i++) {
        const double *x = b->walks[i].row; // its first array
        for (size_t k = 0; k < d; k++) b->x[i * d + k] = x[k];
        b->tau[i] = b->walks[i].left;
    }
    const int line = d == 1 && gauge; // the divergence is the Jacobian
    HB_TRY(hb_problem_drift_each(&b->context, b->shared.problem, b->live, b->x, b->tau, b->F,
                                 gauge ? b->divergence : NULL, gauge ? b->grad_divergence : NULL,
                                 line ? NULL : b->jacobian));
    if (line) memcpy(b->jacobian, b->divergence, b->live * sizeof(double));
    return HB_OK;
}

static int sees(const hb_walk_block *b, size_t i, int gauge)
{
    const size_t d = b->shared.d;
    return hb_all_finite(d, b->F + i * d) && hb_all_finite(d * d, b->jacobian + i * d * d) &&
           (!gauge || (isfinite(b->divergence[i]) && hb_all_finite(d, b->grad_divergence + i * d)));
}

static int sees_probes(const hb_walk_block *b, size_t i, int gauge)
{
    const size_t d = b->shared.d;
    return hb_all_finite(2 * d, b->probe_F + 2 * i * d) &&
           (!gauge || hb_all_finite(2, b->probe_divergence + 2 * i));
}

/* x +- reach direction, at the tau where a step of that reach would end. */
static void place_probes(hb_walk_block *b)
{
    const size_t d = b->shared.d;
    for (size_t i = 0; i < b->live; i++) {
        const hb_walk *walk = b->walks + i;
        const hb_walk_row row = row_of(b, i);
        const double lag = hb_walk_least(walk->left, 1 / walk->rate),
                     reach = PROBE_REACH * sqrt(2 * lag);
        b->reach[i] = reach;
        for (int side = 0; side < 2; side++) {
            b->probe_tau[2 * i + (size_t)side] = walk->left - lag;
            for (size_t k = 0; k < d; k++)
                b->probe[(2 * i + (size_t)side) * d + k] =
                    row.x[k] + (side ? -reach : reach) * row.direction[k];
        }
    }
}

static hb_status probe(hb_walk_block *b, int gauge)
{
    if (b->shared.linear) return HB_OK;
    place_probes(b);
    HB_TRY(hb_problem_drift_each(&b->context, b->shared.problem, 2 * b->live, b->probe,
                                 b->probe_tau, b->probe_F, gauge ? b->probe_divergence : NULL, NULL,
                                 NULL));
    for (size_t i = 0; i < b->live; i++) {
        const hb_walk_view view = view_of(b, i);
        b->walks[i].pace = sees_probes(b, i, gauge)
                               ? hb_parametrix_pace(&b->shared, b->walks + i, &view)
                               : INFINITY;
    }
    return HB_OK;
}

/* ---- draws ---------------------------------------------------------------------------------- */

/* Those of one step: for the whole block, or one by one when few walks are left. The same bits. */
static void draw(hb_walk_block *b, uint64_t seed, uint64_t first, size_t offset, size_t n,
                 uint64_t step)
{
    const size_t width = b->n_normals;
    const hb_vector_kernels *kernels = hb_vector_kernels_of(b->context.isa);
    const uint64_t stream = HB_STREAM_WALKS | 2 * step;
    if (4 * b->live > n) {
        hb_fill_normal(kernels, seed, stream, (first + offset) * width, n * width,
                       b->normals + offset * width);
        hb_fill_uniform(kernels, seed, stream + 1, first + offset, n, b->uniforms + offset);
        return;
    }
    for (size_t i = 0; i < b->live; i++) {
        const size_t k = b->walks[i].number;
        hb_fill_normal(kernels, seed, stream, (first + k) * width, width, b->normals + k * width);
        hb_fill_uniform(kernels, seed, stream + 1, first + k, 1, b->uniforms + k);
    }
}

/* The direction of the next probes, of length sqrt(d). */
static void keep_direction(size_t d, const double *normals, double *direction)
{
    const double scale = sqrt((double)d / hb_dot(d, normals, normals));
    for (size_t k = 0; k < d; k++) direction[k] = scale * normals[k];
}

/* ---- a sweep -------------------------------------------------------------------------------- */

static void settle(hb_walk_block *b, size_t i, int gauge)
{
    hb_walk *walk = b->walks + i;
    const hb_walk_view view = view_of(b, i);
    walk->lost |= !sees(b, i, gauge) || walk->steps >= MOST_STEPS;
    if (walk->lost) return;
    if (walk->pending == HB_PENDING_PARAMETRIX) hb_parametrix_settle(&b->shared, walk, &view);
    if (walk->pending == HB_PENDING_GAUGE) hb_gauge_settle(&b->shared, walk, &view);
    if (walk->pending == HB_PENDING_REVERSED) hb_reversed_settle(&b->shared, walk, &view);
    walk->pending = HB_PENDING_NOTHING;
    walk->lost |= isnan(walk->log_weight) || walk->log_weight == INFINITY;
}

/* From u to f = e^{part V} u: W e^{-part V(x)}; the other end of the difference comes when f is
 * left. */
static void enter(hb_walk_block *b, size_t i, const hb_walk_plan *plan)
{
    const hb_walk_row row = row_of(b, i);
    hb_walk *walk = b->walks + i;
    walk->way = plan->way;
    walk->part = plan->way == HB_WALK_GAUGE ? 0.5 : plan->part;
    memcpy(row.entry, row.x, b->shared.d * sizeof(double));
    hb_walk_pull(&b->shared, row.tangent, walk->part, b->F + i * b->shared.d, row.slope);
}

/* And back to u: ln W += part (V(x) - V(entry)) for all that leave. */
static hb_status leave(hb_walk_block *b)
{
    const size_t d = b->shared.d;
    if (b->n_leaving == 0) return HB_OK;
    double *from = b->ends + b->together * d; // (n_leaving, d), and where they are now in b->ends
    for (size_t k = 0; k < b->n_leaving; k++) {
        const hb_walk_row row = row_of(b, b->leaving[k]);
        memcpy(b->ends + k * d, row.x, d * sizeof(double));
        memcpy(from + k * d, row.entry, d * sizeof(double));
    }
    HB_TRY(hb_potential_rise(&b->context, b->shared.problem, b->n_leaving, from, b->ends, b->rise));
    for (size_t k = 0; k < b->n_leaving; k++) {
        hb_walk *walk = b->walks + b->leaving[k];
        const hb_walk_row row = row_of(b, b->leaving[k]);
        walk->way = HB_WALK_PARAMETRIX;
        walk->log_weight += walk->part * b->rise[k];
        walk->lost |= !isfinite(b->rise[k]);
        hb_walk_pull(&b->shared, row.tangent, -walk->part, b->F + b->leaving[k] * d, row.slope);
    }
    return HB_OK;
}

/* Rate left below which the parametrix goes to the end. */
static double finish_of(const hb_walk_plan *plan)
{
    return plan->finish > 0 ? plan->finish : 1;
}

/* Rate of the parametrix that would finish this walk. */
static double finish_rate(const hb_walk_block *b, size_t i)
{
    return hb_parametrix_rate(&b->shared, b->walks + i, FINISH_FINESSE);
}

/* Near tau = 0 the parametrix takes over; a jump to a steep place ends that. */
static hb_status choose_ways(hb_walk_block *b, const hb_walk_plan *plan)
{
    const double finish = finish_of(plan);
    b->n_leaving = 0;
    for (size_t i = 0; i < b->live; i++) {
        const hb_walk *walk = b->walks + i;
        if (walk->lost) continue;
        const double clocks = finish_rate(b, i) * walk->left;
        if (walk->way != HB_WALK_PARAMETRIX && clocks < finish) b->leaving[b->n_leaving++] = i;
        if (walk->way == HB_WALK_PARAMETRIX && clocks >= finish) enter(b, i, plan);
    }
    return leave(b);
}

static double rate_of(hb_walk_block *b, size_t i, const hb_walk_plan *plan)
{
    hb_walk *walk = b->walks + i;
    const hb_walk_view view = view_of(b, i);
    if (b->shared.linear) return 0;
    if (walk->way == HB_WALK_GAUGE) walk->seen = hb_gauge_reference(&b->shared, walk, &view);
    if (walk->pace == INFINITY) return BLIND_FACTOR * walk->rate;
    if (walk->way == HB_WALK_GAUGE) return hb_gauge_rate(&b->shared, walk, plan->finesse);
    if (walk->way == HB_WALK_REVERSED)
        return hb_reversed_rate(&b->shared, walk, &view, plan->finesse);
    return hb_parametrix_rate(&b->shared, walk, plan->way ? FINISH_FINESSE : plan->finesse);
}

/* Russian roulette: half of the walks end with the value 0, the others count double. What is left
 * of the uniform is a uniform again. */
static int survives(hb_walk *walk, double *uniform)
{
    if (*uniform < 0.5) return 0;
    *uniform = 2 * *uniform - 1;
    walk->log_weight += M_LN2;
    return *uniform > 0;
}

/* One step of walk i; 1 when it has ended. */
static int step(hb_walk_block *b, size_t i, const hb_walk_plan *plan)
{
    hb_walk *walk = b->walks + i;
    hb_walk_view view = view_of(b, i);
    const hb_walk_row row = row_of(b, i);
    int last = 0;
    if (walk->lost) {
        hb_walk_lose(b, walk);
        return 1;
    }
    const double rate = rate_of(b, i, plan);
    walk->steps++;
    if (rate * walk->left > (walk->way == HB_WALK_PARAMETRIX ? FAR : FAR_IN_GAUGE) &&
        !survives(walk, &view.uniform)) {
        hb_walk_store(b, walk, -INFINITY, row.slope);
        return 1;
    }
    const double most = walk->left - 0.5 * finish_of(plan) / finish_rate(b, i);
    if (walk->way == HB_WALK_GAUGE) {
        (plan->balls ? hb_ball_step : hb_gauge_step)(&b->shared, walk, &view, rate, most);
    } else if (walk->way == HB_WALK_REVERSED) {
        hb_reversed_step(&b->shared, walk, &view, rate, most, b->spread);
    } else {
        last = hb_parametrix_step(&b->shared, walk, &view, rate, b->spread);
    }
    keep_direction(b->shared.d, view.normals, row.direction);
    if (last && !walk->lost && b->shared.closed_form) hb_walk_finish_closed(b, walk);
    if (last && !walk->lost && !b->shared.closed_form) {
        walk->lost |=
            !hb_walk_place_ends(b, row.x, view.normals, b->ends + 2 * b->n_leaving * b->shared.d);
        if (!walk->lost) b->leaving[b->n_leaving++] = i;
    }
    if (walk->lost) hb_walk_lose(b, walk);
    return last || walk->lost;
}

/* Ended walks leave; rows stay where they are, and change hands. */
static void compact(hb_walk_block *b, const unsigned char *ended)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->live; i++) {
        if (ended[i]) continue;
        if (i > kept) {
            const hb_walk moved = b->walks[i];
            b->walks[i] = b->walks[kept];
            b->walks[kept] = moved;
        }
        kept++;
    }
    b->live = kept;
}

static hb_status sweep(hb_walk_block *b, const hb_walk_plan *plan, uint64_t seed, uint64_t first,
                       size_t offset, size_t n, uint64_t number)
{
    unsigned char ended[HB_WALK_BLOCK] = {0};
    if (plan->way != HB_WALK_PARAMETRIX) HB_TRY(choose_ways(b, plan));
    draw(b, seed, first, offset, n, number);
    b->n_leaving = 0;
    for (size_t i = 0; i < b->live; i++) ended[i] = (unsigned char)step(b, i, plan);
    HB_TRY(hb_walk_finish_drawn(b));
    compact(b, ended);
    return HB_OK;
}

static void start(hb_walk_block *b, const hb_walk_plan *plan, const double *x0, size_t offset,
                  size_t n)
{
    const size_t d = b->shared.d, width = hb_walk_row_size(&b->shared);
    b->live = n;
    b->n_normals = plan->balls ? hb_walk_ball_normals(d) : d;
    memset(b->rows, 0, n * width * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        b->walks[i] = (hb_walk){.number = offset + i,
                                .way = HB_WALK_PARAMETRIX,
                                .sign = 1,
                                .left = b->shared.tau,
                                .rate = FIRST_RATE / b->shared.tau,
                                .row = b->rows + i * width};
        const hb_walk_row row = row_of(b, i);
        memcpy(row.x, x0, d * sizeof *x0);
        for (size_t k = 0; k < d; k++) {
            row.direction[k] = 1;
            row.tangent[b->shared.full_frame ? k * d + k : k] = 1;
        }
    }
}

/* Walks offset .. offset+n-1 of the block, n <= b->together. */
static hb_status run_together(hb_walk_block *b, const hb_walk_plan *plan, const double *x0,
                              uint64_t seed, uint64_t first, size_t offset, size_t n, double *steps)
{
    start(b, plan, x0, offset, n);
    for (uint64_t number = 0; b->live > 0; number++) {
        if (hb_is_late(&b->context)) return hb_fail_late(&b->context);
        HB_TRY(evaluate(b, plan->way != HB_WALK_PARAMETRIX));
        for (size_t i = 0; i < b->live; i++) settle(b, i, plan->way != HB_WALK_PARAMETRIX);
        *steps += (double)b->live;
        HB_TRY(probe(b, plan->way != HB_WALK_PARAMETRIX));
        HB_TRY(sweep(b, plan, seed, first, offset, n, number));
    }
    return HB_OK;
}

hb_status hb_walk_block_run(hb_walk_block *b, const hb_walk_plan *plan, const double *x0,
                            uint64_t seed, uint64_t first, size_t n, double *steps)
{
    *steps = 0;
    for (size_t offset = 0; offset < n; offset += b->together) {
        const size_t count = n - offset < b->together ? n - offset : b->together;
        HB_TRY(run_together(b, plan, x0, seed, first, offset, count, steps));
    }
    return HB_OK;
}
