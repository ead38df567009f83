/* Walks in lockstep: the drift is evaluated for all walks of a block in one call.
 *
 * One sweep: evaluate the drift at the walks; apply the corrections of their last events; probe the
 * drift beside each walk, 3 standard deviations of a step away along the last draw, which gives its
 * next rate; let walks that are near tau = 0 leave the gauge or the reversed walk; draw; step;
 * finish. Draws are numbers of streams that belong to a step, so a walk's draws do not depend on
 * other walks. The gauge and the reversed walk are used where rate left >= finish (1 or 2), rate
 * that of the parametrix with multiplier 2; the last step is always a parametrix step, which the
 * initial density closes (initial_average.h) or which is drawn as an antithetic pair. Of walks with
 * more than `far` steps before them half end, and the others count double. A walk is lost when its
 * drift or its weight is not finite, or after MOST_STEPS steps. Must reproduce: the same bits for
 * any number of walks that step together. */
#include "bridge/bridge.h"
#include "problem/initial/initial_average.h"
#include "random/fill.h"
#include "random/streams.h"
#include "walk/lockstep.h"
#include "walk/walk_constants.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 4000 };

static const hb_walk_ops *const OPS[] = {[HB_WALK_PARAMETRIX] = &hb_walk_parametrix,
                                         [HB_WALK_GAUGE] = &hb_walk_gauge,
                                         [HB_WALK_BALL] = &hb_walk_ball,
                                         [HB_WALK_REVERSED] = &hb_walk_reversed,
                                         [HB_WALK_BRIDGE] = &hb_walk_bridge};

/* ---- memory --------------------------------------------------------------------------------- */

/* In large dimensions fewer walks step together: their Jacobians must fit. */
enum { JACOBIAN_DOUBLES = 1 << 21, LEAST_TOGETHER = 8 };

static hb_status lockstep_create_arrays(hb_lockstep *b)
{
    const size_t all = HB_WALK_BLOCK, n = b->base.together, d = b->base.shared.d;
    return HB_WORKSPACE(
        b->base.context, &b->work, HB_ARRAY(b->rows, n * hb_walk_row_size(&b->base.shared)),
        HB_ARRAY(b->x, n * d), HB_ARRAY(b->tau, n), HB_ARRAY(b->F, n * d),
        HB_ARRAY(b->divergence, n), HB_ARRAY(b->grad_divergence, n * d),
        HB_ARRAY(b->jacobian, n * d * d), HB_ARRAY(b->probe, 2 * n * d),
        HB_ARRAY(b->probe_tau, 2 * n), HB_ARRAY(b->probe_F, 2 * n * d),
        HB_ARRAY(b->probe_divergence, 2 * n), HB_ARRAY(b->reach, n),
        HB_ARRAY(b->normals, all * hb_walk_ball_normals(d)), HB_ARRAY(b->uniforms, all),
        HB_ARRAY(b->rise, n), HB_ARRAY(b->ends, 2 * n * d), HB_ARRAY(b->end_log, 2 * n),
        HB_ARRAY(b->end_slope, 2 * n * d), HB_ARRAY(b->spread, hb_walk_matrix(&b->base.shared)),
        HB_ARRAY(b->step_work, hb_walk_step_work(&b->base.shared)),
        HB_ARRAY(b->average_work, hb_initial_average_work(b->base.shared.problem) + d),
        HB_ARRAY(b->base.size, all), HB_ARRAY(b->base.slope, all * d));
}

hb_status hb_walk_block_create(hb_context *context, const hb_walk_problem *shared,
                               hb_walk_block **out)
{
    const size_t all = HB_WALK_BLOCK, fit = JACOBIAN_DOUBLES / (shared->d * shared->d);
    *out = NULL;
    hb_lockstep *b;
    HB_TRY(HB_NEW_CLEARED(context, b, 1));
    b->base.context = context;
    b->base.shared = *shared;
    b->base.together = fit < LEAST_TOGETHER ? LEAST_TOGETHER : fit < all ? fit : all;
    hb_status status = lockstep_create_arrays(b);
    if (status == HB_OK) status = hb_bridges_create(&b->base);
    if (status == HB_OK)
        *out = &b->base;
    else
        hb_walk_block_destroy(&b->base);
    return status;
}

void hb_walk_block_destroy(hb_walk_block *block)
{
    if (!block) return;
    hb_bridges_destroy(block);
    hb_workspace_destroy(&((hb_lockstep *)block)->work);
    hb_release(block->context, block);
}

/* ---- the drift ------------------------------------------------------------------------------ */

static hb_walk_row lockstep_row_of(const hb_lockstep *b, size_t i)
{
    return hb_walk_row_of(&b->base.shared, b->walks[i].row);
}

/* Inlined by force: made for every step of every walk, and few of its fields are looked at. */
static inline __attribute__((always_inline)) hb_walk_view lockstep_view_of(const hb_lockstep *b,
                                                                           size_t i)
{
    const size_t d = b->base.shared.d, number = b->walks[i].number;
    return (hb_walk_view){.F = b->F + i * d,
                          .divergence = b->divergence + i,
                          .grad_divergence = b->grad_divergence + i * d,
                          .jacobian = b->jacobian + i * d * d,
                          .reach = b->reach[i],
                          .probe_F = b->probe_F + 2 * i * d,
                          .probe_divergence = b->probe_divergence + 2 * i,
                          .normals = b->normals + number * b->n_normals,
                          .uniform = b->uniforms[number],
                          .spread = b->spread,
                          .work = b->step_work};
}

/* Ways other than the parametrix need more of the drift. */
static int uses_gradient(const hb_lockstep *b)
{
    return b->base.plan->kind != HB_WALK_PARAMETRIX;
}

static hb_status lockstep_evaluate(hb_lockstep *b)
{
    const size_t d = b->base.shared.d;
    const int gauge = uses_gradient(b);
    for (size_t i = 0; i < b->live; i++) {
        const double *x = b->walks[i].row; // its first array
        for (size_t k = 0; k < d; k++) b->x[i * d + k] = x[k];
        b->tau[i] = b->walks[i].left;
        if (b->base.shared.cuts) b->walks[i].stop = hb_cuts_before(b->base.shared.cuts, b->tau[i]);
    }
    const int line = d == 1 && gauge; // the divergence is the Jacobian
    HB_TRY(hb_problem_drift_each(b->base.context, b->base.shared.problem, b->live, b->x, b->tau,
                                 b->F, gauge ? b->divergence : NULL,
                                 gauge ? b->grad_divergence : NULL, line ? NULL : b->jacobian));
    if (line) memcpy(b->jacobian, b->divergence, b->live * sizeof(double));
    return HB_OK;
}

static int lockstep_sees(const hb_lockstep *b, size_t i)
{
    const size_t d = b->base.shared.d;
    return hb_all_finite(d, b->F + i * d) && hb_all_finite(d * d, b->jacobian + i * d * d) &&
           (!uses_gradient(b) ||
            (isfinite(b->divergence[i]) && hb_all_finite(d, b->grad_divergence + i * d)));
}

static int sees_probes(const hb_lockstep *b, size_t i)
{
    const size_t d = b->base.shared.d;
    return hb_all_finite(2 * d, b->probe_F + 2 * i * d) &&
           (!uses_gradient(b) || hb_all_finite(2, b->probe_divergence + 2 * i));
}

/* x +- reach direction, at the tau where a step of that reach would end. */
static void place_probes(hb_lockstep *b)
{
    const size_t d = b->base.shared.d;
    for (size_t i = 0; i < b->live; i++) {
        const hb_walk *walk = b->walks + i;
        const hb_walk_row row = lockstep_row_of(b, i);
        const double lag = hb_walk_least(walk->left - walk->stop, 1 / walk->rate),
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

static hb_status lockstep_probe(hb_lockstep *b)
{
    if (b->base.shared.linear) return HB_OK;
    place_probes(b);
    HB_TRY(hb_problem_drift_each(b->base.context, b->base.shared.problem, 2 * b->live, b->probe,
                                 b->probe_tau, b->probe_F,
                                 uses_gradient(b) ? b->probe_divergence : NULL, NULL, NULL));
    for (size_t i = 0; i < b->live; i++) {
        const hb_walk_view view = lockstep_view_of(b, i);
        b->walks[i].base_rate = sees_probes(b, i)
                                    ? hb_parametrix_base_rate(&b->base.shared, b->walks + i, &view)
                                    : INFINITY;
    }
    return HB_OK;
}

/* ---- draws ---------------------------------------------------------------------------------- */

/* Those of one step: for the whole block, or one by one when few walks are left. The same bits. */
static void lockstep_draw(hb_lockstep *b, size_t offset, size_t n, uint64_t step)
{
    const size_t width = b->n_normals;
    const uint64_t seed = b->base.seed, first = b->base.first;
    const hb_vector_kernels *kernels = hb_vector_kernels_of(b->base.context->isa);
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

static void lockstep_apply_correction(hb_lockstep *b, size_t i)
{
    hb_walk *walk = b->walks + i;
    walk->lost |= !lockstep_sees(b, i) || walk->steps >= MOST_STEPS;
    if (walk->lost) return;
    if (walk->pending) {
        const hb_walk_view view = lockstep_view_of(b, i);
        walk->pending->apply_correction(&b->base.shared, walk, &view);
    }
    walk->pending = NULL;
    walk->lost |= isnan(walk->log_weight) || walk->log_weight == INFINITY;
}

/* From u to f = e^{part V} u: W e^{-part V(x)}; the rest comes when f is left. */
static void lockstep_enter(hb_lockstep *b, size_t i)
{
    const hb_walk_row row = lockstep_row_of(b, i);
    hb_walk *walk = b->walks + i;
    walk->ops = OPS[b->base.plan->kind];
    walk->part = walk->ops->part > 0 ? walk->ops->part : b->base.plan->part;
    memcpy(row.entry, row.x, b->base.shared.d * sizeof(double));
    hb_walk_pull(&b->base.shared, row.tangent, walk->part, b->F + i * b->base.shared.d, row.slope);
}

/* And back to u: ln W += part (V(x) - V(entry)) for all that leave. */
static hb_status lockstep_leave(hb_lockstep *b)
{
    const size_t d = b->base.shared.d;
    if (b->n_leaving == 0) return HB_OK;
    double *from =
        b->ends + b->base.together * d; // (n_leaving, d), and where they are now in b->ends
    for (size_t k = 0; k < b->n_leaving; k++) {
        const hb_walk_row row = lockstep_row_of(b, b->leaving[k]);
        memcpy(b->ends + k * d, row.x, d * sizeof(double));
        memcpy(from + k * d, row.entry, d * sizeof(double));
    }
    HB_TRY(hb_gauge_formula_rise(b->base.context, b->base.shared.gauge, b->base.shared.problem,
                                 b->n_leaving, from, b->ends, b->rise));
    for (size_t k = 0; k < b->n_leaving; k++) {
        hb_walk *walk = b->walks + b->leaving[k];
        const hb_walk_row row = lockstep_row_of(b, b->leaving[k]);
        walk->ops = &hb_walk_parametrix;
        walk->log_weight += walk->part * b->rise[k];
        walk->lost |= !isfinite(b->rise[k]);
        hb_walk_pull(&b->base.shared, row.tangent, -walk->part, b->F + b->leaving[k] * d,
                     row.slope);
    }
    return HB_OK;
}

/* Rate left below which the parametrix goes to the end. */
static double finish_of(const hb_walk_plan *plan)
{
    return plan->finish > 0 ? plan->finish : 1;
}

/* Rate of the parametrix that would finish this walk. */
static double finish_rate(const hb_lockstep *b, size_t i)
{
    return hb_parametrix_rate(&b->base.shared, b->walks + i, FINISH_MULTIPLIER);
}

/* Near tau = 0 the parametrix takes over; a jump to a steep place ends that. */
static hb_status choose_ways(hb_lockstep *b)
{
    const double finish = finish_of(b->base.plan);
    if (!uses_gradient(b)) return HB_OK;
    b->n_leaving = 0;
    for (size_t i = 0; i < b->live; i++) {
        const hb_walk *walk = b->walks + i;
        if (walk->lost) continue;
        const double events = finish_rate(b, i) * walk->left;
        const int finishing = walk->ops == &hb_walk_parametrix;
        if (!finishing && events < finish) b->leaving[b->n_leaving++] = i;
        if (finishing && events >= finish) lockstep_enter(b, i);
    }
    return lockstep_leave(b);
}

/* A kind of step looks at the drift also where its probes see nothing. */
static double lockstep_rate_of(const hb_lockstep *b, hb_walk *walk, hb_walk_view *view)
{
    if (b->base.shared.linear) return 0;
    const int finishing = uses_gradient(b) && walk->ops == &hb_walk_parametrix;
    view->rate_multiplier = finishing ? FINISH_MULTIPLIER : b->base.plan->rate_multiplier;
    const double rate = walk->ops->rate(&b->base.shared, walk, view);
    return walk->base_rate == INFINITY ? BLIND_FACTOR * walk->rate : rate;
}

/* Russian roulette: half of the walks end with the value 0, the others count double. What is left
 * of the uniform is a uniform again. */
static int lockstep_survives(hb_walk *walk, double *uniform)
{
    if (*uniform < 0.5) return 0;
    *uniform = 2 * *uniform - 1;
    walk->log_weight += M_LN2;
    return *uniform > 0;
}

/* One step of walk i; 1 when it has ended. */
static int lockstep_step(hb_lockstep *b, size_t i)
{
    hb_walk *walk = b->walks + i;
    hb_walk_view view = lockstep_view_of(b, i);
    const hb_walk_row row = lockstep_row_of(b, i);
    if (walk->lost) {
        hb_lockstep_lose(b, walk);
        return 1;
    }
    view.rate = lockstep_rate_of(b, walk, &view);
    walk->steps++;
    if (view.rate * (walk->left - walk->stop) > walk->ops->far &&
        !lockstep_survives(walk, &view.uniform)) {
        hb_lockstep_store(b, walk, -INFINITY, row.slope);
        return 1;
    }
    view.most = walk->left - 0.5 * finish_of(b->base.plan) / finish_rate(b, i);
    const int last = walk->ops->step(&b->base.shared, walk, &view);
    keep_direction(b->base.shared.d, view.normals, row.direction);
    if (last && !walk->lost) hb_lockstep_end(b, i, view.normals);
    if (walk->lost) hb_lockstep_lose(b, walk);
    return last || walk->lost;
}

/* Ended walks leave; rows stay where they are, and change hands. */
static void lockstep_compact(hb_lockstep *b, const unsigned char *ended)
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

static void lockstep_start(hb_lockstep *b, const double *x0, size_t offset, size_t n)
{
    const size_t d = b->base.shared.d, width = hb_walk_row_size(&b->base.shared);
    const hb_walk_ops *ops = OPS[b->base.plan->kind];
    b->live = n;
    b->n_normals = ops->normals ? ops->normals(d) : d;
    memset(b->rows, 0, n * width * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        b->walks[i] = (hb_walk){.number = offset + i,
                                .ops = &hb_walk_parametrix,
                                .sign = 1,
                                .left = b->base.shared.tau,
                                .rate = FIRST_RATE / b->base.shared.tau,
                                .row = b->rows + i * width};
        const hb_walk_row row = lockstep_row_of(b, i);
        memcpy(row.x, x0, d * sizeof *x0);
        for (size_t k = 0; k < d; k++) {
            row.direction[k] = 1;
            row.tangent[b->base.shared.full_frame ? k * d + k : k] = 1;
        }
    }
}

/* Until all have ended. */
static hb_status lockstep_sweep(hb_lockstep *b, size_t offset, size_t count, double *steps)
{
    for (uint64_t number = 0; b->live > 0; number++) {
        unsigned char ended[HB_WALK_BLOCK] = {0};
        if (hb_is_late(b->base.context)) return hb_fail_late(b->base.context);
        HB_TRY(lockstep_evaluate(b));
        for (size_t i = 0; i < b->live; i++) lockstep_apply_correction(b, i);
        *steps += (double)b->live;
        HB_TRY(lockstep_probe(b));
        HB_TRY(choose_ways(b));
        lockstep_draw(b, offset, count, number);
        b->n_leaving = 0;
        for (size_t i = 0; i < b->live; i++) ended[i] = (unsigned char)lockstep_step(b, i);
        HB_TRY(hb_lockstep_end_drawn(b));
        lockstep_compact(b, ended);
    }
    return HB_OK;
}

hb_status hb_walk_block_run(hb_walk_block *block, const hb_walk_plan *plan, const double *x0,
                            uint64_t seed, uint64_t first, size_t n, double *steps)
{
    hb_lockstep *b = (hb_lockstep *)block;
    block->plan = plan, block->seed = seed, block->first = first;
    *steps = 0;
    for (size_t offset = 0; offset < n; offset += block->together) {
        const size_t count = n - offset < block->together ? n - offset : block->together;
        if (hb_is_late(block->context)) return hb_fail_late(block->context);
        if (OPS[plan->kind]->run) {
            HB_TRY(OPS[plan->kind]->run(block, x0, offset, count, steps));
            continue;
        }
        lockstep_start(b, x0, offset, count);
        HB_TRY(lockstep_sweep(b, offset, count, steps));
    }
    return HB_OK;
}
