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
 * (problem/initial/initial_average.h) or which is drawn as an antithetic pair.
 *
 * A walk that has more than FAR steps before it has run away, where u is next to nothing; then half
 * of such walks end, and the others count double. A walk is lost when its drift or its weight is
 * not finite, or after MOST_STEPS steps. */
#include "problem/initial/initial_average.h"
#include "random/fill.h"
#include "random/streams.h"
#include "walk/walk_march.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 4000 };

static const double PROBE_REACH = 3;    /* standard deviations */
static const double FIRST_RATE = 8;     /* of the first probes, over tau0 */
static const double FINISH_FINESSE = 2; /* of the parametrix that finishes a gauge walk */
static const double BLIND_FACTOR = 4;   /* on the rate where a probe sees no finite drift */

static const hb_walk_law *const LAWS[] = {[HB_WALK_PARAMETRIX] = &hb_walk_parametrix,
                                          [HB_WALK_GAUGE] = &hb_walk_gauge,
                                          [HB_WALK_BALL] = &hb_walk_ball,
                                          [HB_WALK_REVERSED] = &hb_walk_reversed,
                                          [HB_WALK_MARCH] = &hb_walk_march,
                                          [HB_WALK_LED] = &hb_walk_led};

/* ---- memory --------------------------------------------------------------------------------- */

/* In large dimensions fewer walks step together: their Jacobians must fit. */
enum { JACOBIAN_DOUBLES = 1 << 21, LEAST_TOGETHER = 8 };

static hb_status create_arrays(hb_walk_block *b)
{
    const size_t all = HB_WALK_BLOCK, n = b->together, d = b->shared.d;
    return HB_WORKSPACE(
        b->context, &b->work, HB_ARRAY(b->rows, n * hb_walk_row_size(&b->shared)),
        HB_ARRAY(b->x, n * d), HB_ARRAY(b->tau, n), HB_ARRAY(b->F, n * d),
        HB_ARRAY(b->divergence, n), HB_ARRAY(b->grad_divergence, n * d),
        HB_ARRAY(b->jacobian, n * d * d), HB_ARRAY(b->probe, 2 * n * d),
        HB_ARRAY(b->probe_tau, 2 * n), HB_ARRAY(b->probe_F, 2 * n * d),
        HB_ARRAY(b->probe_divergence, 2 * n), HB_ARRAY(b->reach, n),
        HB_ARRAY(b->normals, all * hb_walk_ball_normals(d)), HB_ARRAY(b->uniforms, all),
        HB_ARRAY(b->rise, n), HB_ARRAY(b->ends, 2 * n * d), HB_ARRAY(b->end_log, 2 * n),
        HB_ARRAY(b->end_slope, 2 * n * d), HB_ARRAY(b->spread, hb_walk_matrix(&b->shared)),
        HB_ARRAY(b->step_work, hb_walk_step_work(&b->shared)),
        HB_ARRAY(b->average_work, hb_initial_average_work(b->shared.problem) + d),
        HB_ARRAY(b->size, all), HB_ARRAY(b->slope, all * d));
}

hb_status hb_walk_block_create(hb_context *context, const hb_walk_problem *shared,
                               hb_walk_block **out)
{
    const size_t all = HB_WALK_BLOCK, fit = JACOBIAN_DOUBLES / (shared->d * shared->d);
    void *memory;
    *out = NULL;
    HB_TRY(hb_allocate(context, 1, sizeof(hb_walk_block), &memory));
    hb_walk_block *b = memset(memory, 0, sizeof *b);
    b->context = context;
    b->shared = *shared;
    b->together = fit < LEAST_TOGETHER ? LEAST_TOGETHER : fit < all ? fit : all;
    hb_status status = create_arrays(b);
    if (status == HB_OK) status = hb_march_create(b);
    if (status == HB_OK) status = hb_led_create(b);
    if (status != HB_OK) hb_walk_block_destroy(b);
    *out = status == HB_OK ? b : NULL;
    return status;
}

void hb_walk_block_destroy(hb_walk_block *block)
{
    if (!block) return;
    hb_march_destroy(block);
    hb_led_destroy(block);
    hb_workspace_destroy(&block->work);
    hb_release(block->context, block);
}

hb_walk_result hb_walk_block_result(const hb_walk_block *block, size_t i)
{
    return (hb_walk_result){block->size[i], block->slope + i * block->shared.d, block->sign[i],
                            block->lost[i], block->stray[i]};
}

/* ---- the drift ------------------------------------------------------------------------------ */

static hb_walk_row row_of(const hb_walk_block *b, size_t i)
{
    return hb_walk_row_of(&b->shared, b->walks[i].row);
}

/* Inlined by force: it is made for every step of every walk, and few of its fields are looked at. */
static inline __attribute__((always_inline)) hb_walk_view view_of(const hb_walk_block *b, size_t i)
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
                          .spread = b->spread,
                          .work = b->step_work};
}

/* Ways other than the parametrix need more of the drift. */
static int uses_gradient(const hb_walk_block *b)
{
    return b->plan->way != HB_WALK_PARAMETRIX;
}

static hb_status evaluate(hb_walk_block *b)
{
    const size_t d = b->shared.d;
    const int gauge = uses_gradient(b);
    for (size_t i = 0; i < b->live; i++) {
        const double *x = b->walks[i].row; // its first array
        for (size_t k = 0; k < d; k++) b->x[i * d + k] = x[k];
        b->tau[i] = b->walks[i].left;
        if (b->shared.cuts) b->walks[i].stop = hb_cuts_before(b->shared.cuts, b->tau[i]);
    }
    const int line = d == 1 && gauge; // the divergence is the Jacobian
    HB_TRY(hb_problem_drift_each(b->context, b->shared.problem, b->live, b->x, b->tau, b->F,
                                 gauge ? b->divergence : NULL, gauge ? b->grad_divergence : NULL,
                                 line ? NULL : b->jacobian));
    if (line) memcpy(b->jacobian, b->divergence, b->live * sizeof(double));
    return HB_OK;
}

static int sees(const hb_walk_block *b, size_t i)
{
    const size_t d = b->shared.d;
    return hb_all_finite(d, b->F + i * d) && hb_all_finite(d * d, b->jacobian + i * d * d) &&
           (!uses_gradient(b) ||
            (isfinite(b->divergence[i]) && hb_all_finite(d, b->grad_divergence + i * d)));
}

static int sees_probes(const hb_walk_block *b, size_t i)
{
    const size_t d = b->shared.d;
    return hb_all_finite(2 * d, b->probe_F + 2 * i * d) &&
           (!uses_gradient(b) || hb_all_finite(2, b->probe_divergence + 2 * i));
}

/* x +- reach direction, at the tau where a step of that reach would end. */
static void place_probes(hb_walk_block *b)
{
    const size_t d = b->shared.d;
    for (size_t i = 0; i < b->live; i++) {
        const hb_walk *walk = b->walks + i;
        const hb_walk_row row = row_of(b, i);
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

static hb_status probe(hb_walk_block *b)
{
    if (b->shared.linear) return HB_OK;
    place_probes(b);
    HB_TRY(hb_problem_drift_each(b->context, b->shared.problem, 2 * b->live, b->probe, b->probe_tau,
                                 b->probe_F, uses_gradient(b) ? b->probe_divergence : NULL, NULL,
                                 NULL));
    for (size_t i = 0; i < b->live; i++) {
        const hb_walk_view view = view_of(b, i);
        b->walks[i].base_rate =
            sees_probes(b, i) ? hb_parametrix_base_rate(&b->shared, b->walks + i, &view) : INFINITY;
    }
    return HB_OK;
}

/* ---- draws ---------------------------------------------------------------------------------- */

/* Those of one step: for the whole block, or one by one when few walks are left. The same bits. */
static void draw(hb_walk_block *b, size_t offset, size_t n, uint64_t step)
{
    const size_t width = b->n_normals;
    const uint64_t seed = b->seed, first = b->first;
    const hb_vector_kernels *kernels = hb_vector_kernels_of(b->context->isa);
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

static void settle(hb_walk_block *b, size_t i)
{
    hb_walk *walk = b->walks + i;
    walk->lost |= !sees(b, i) || walk->steps >= MOST_STEPS;
    if (walk->lost) return;
    if (walk->owing) {
        const hb_walk_view view = view_of(b, i);
        walk->owing->settle(&b->shared, walk, &view);
    }
    walk->owing = NULL;
    walk->lost |= isnan(walk->log_weight) || walk->log_weight == INFINITY;
}

/* From u to f = e^{part V} u: W e^{-part V(x)}; the other end of the difference comes when f is
 * left. */
static void enter(hb_walk_block *b, size_t i)
{
    const hb_walk_row row = row_of(b, i);
    hb_walk *walk = b->walks + i;
    walk->way = LAWS[b->plan->way];
    walk->part = walk->way->part > 0 ? walk->way->part : b->plan->part;
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
    HB_TRY(hb_gauge_formula_rise(b->context, b->shared.gauge, b->shared.problem, b->n_leaving, from,
                                 b->ends, b->rise));
    for (size_t k = 0; k < b->n_leaving; k++) {
        hb_walk *walk = b->walks + b->leaving[k];
        const hb_walk_row row = row_of(b, b->leaving[k]);
        walk->way = &hb_walk_parametrix;
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
static hb_status choose_ways(hb_walk_block *b)
{
    const double finish = finish_of(b->plan);
    if (!uses_gradient(b)) return HB_OK;
    b->n_leaving = 0;
    for (size_t i = 0; i < b->live; i++) {
        const hb_walk *walk = b->walks + i;
        if (walk->lost) continue;
        const double clocks = finish_rate(b, i) * walk->left;
        const int finishing = walk->way == &hb_walk_parametrix;
        if (!finishing && clocks < finish) b->leaving[b->n_leaving++] = i;
        if (finishing && clocks >= finish) enter(b, i);
    }
    return leave(b);
}

/* A law looks at the drift also where its probes see nothing. */
static double rate_of(const hb_walk_block *b, hb_walk *walk, hb_walk_view *view)
{
    if (b->shared.linear) return 0;
    const int finishing = uses_gradient(b) && walk->way == &hb_walk_parametrix;
    view->finesse = finishing ? FINISH_FINESSE : b->plan->finesse;
    const double rate = walk->way->rate(&b->shared, walk, view);
    return walk->base_rate == INFINITY ? BLIND_FACTOR * walk->rate : rate;
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
static int step(hb_walk_block *b, size_t i)
{
    hb_walk *walk = b->walks + i;
    hb_walk_view view = view_of(b, i);
    const hb_walk_row row = row_of(b, i);
    if (walk->lost) {
        hb_walk_lose(b, walk);
        return 1;
    }
    view.rate = rate_of(b, walk, &view);
    walk->steps++;
    if (view.rate * (walk->left - walk->stop) > walk->way->far && !survives(walk, &view.uniform)) {
        hb_walk_store(b, walk, -INFINITY, row.slope);
        return 1;
    }
    view.most = walk->left - 0.5 * finish_of(b->plan) / finish_rate(b, i);
    const int last = walk->way->step(&b->shared, walk, &view);
    keep_direction(b->shared.d, view.normals, row.direction);
    if (last && !walk->lost) hb_walk_end(b, i, view.normals);
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

static void start(hb_walk_block *b, const double *x0, size_t offset, size_t n)
{
    const size_t d = b->shared.d, width = hb_walk_row_size(&b->shared);
    const hb_walk_law *law = LAWS[b->plan->way];
    b->live = n;
    b->n_normals = law->normals ? law->normals(d) : d;
    memset(b->rows, 0, n * width * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        b->walks[i] = (hb_walk){.number = offset + i,
                                .way = &hb_walk_parametrix,
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

/* Until all have ended. */
static hb_status sweep(hb_walk_block *b, size_t offset, size_t count, double *steps)
{
    for (uint64_t number = 0; b->live > 0; number++) {
        unsigned char ended[HB_WALK_BLOCK] = {0};
        if (hb_is_late(b->context)) return hb_fail_late(b->context);
        HB_TRY(evaluate(b));
        for (size_t i = 0; i < b->live; i++) settle(b, i);
        *steps += (double)b->live;
        HB_TRY(probe(b));
        HB_TRY(choose_ways(b));
        draw(b, offset, count, number);
        b->n_leaving = 0;
        for (size_t i = 0; i < b->live; i++) ended[i] = (unsigned char)step(b, i);
        HB_TRY(hb_walk_end_drawn(b));
        compact(b, ended);
    }
    return HB_OK;
}

hb_status hb_walk_block_run(hb_walk_block *b, const hb_walk_plan *plan, const double *x0,
                            uint64_t seed, uint64_t first, size_t n, double *steps)
{
    const hb_walk_law *law = LAWS[plan->way];
    b->plan = plan, b->seed = seed, b->first = first;
    *steps = 0;
    for (size_t offset = 0; offset < n; offset += b->together) {
        const size_t count = n - offset < b->together ? n - offset : b->together;
        if (hb_is_late(b->context)) return hb_fail_late(b->context);
        if (law->run) {
            HB_TRY(law->run(b, x0, offset, count, steps));
            continue;
        }
        start(b, x0, offset, count);
        HB_TRY(sweep(b, offset, count, steps));
    }
    return HB_OK;
}
