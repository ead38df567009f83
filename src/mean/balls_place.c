/* The balls behind many anchors (heatball/balls.h): checks, memory, threads, the reference's terms.
 *
 * With a reference the weighted mean of e^(v_ref) over the nodes is divided out,
 *     shift_j += v_ref(j) - v_ref(0) - ln sum_i weight_i exp(shift_i + v_ref(i) - v_ref(0)),
 * so that R is 0 at w = 0 whatever the nodes. Anchors are alone: what is random follows from the
 * number of each. A number to reproduce: OU with the reference N(0, 1), stationary: shift_j =
 * -(x_j^2 - x_0^2)/2 but for the same constant. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/sized.h"
#include "mean/ball_rule.h"

#include <math.h>

enum { BLOCK_DOUBLES = 1 << 15 }; /* coordinates of the nodes of a task's anchors */

static const double MOST_TAU = 300; /* of OU: e^(2 tau) is a number */

typedef struct place_run {
    hb_context *context;
    const hb_balls *balls;
    uint64_t first;
    size_t n, block;
    const double *x, *tau, *slope, *reference_slope;
    hb_balls_values out;
} place_run;

static hb_status check_anchors(hb_context *context, const hb_balls *balls, size_t n,
                               const double *x, const double *tau)
{
    const size_t d = balls->dim;
    HB_CHECK(context, n == 0 || (x && tau), HB_ERROR_ARGUMENT, "%s is NULL", x ? "tau" : "x");
    for (size_t i = 0; i < n; i++) {
        HB_CHECK(context, tau[i] > 0 && isfinite(tau[i]), HB_ERROR_ARGUMENT,
                 "tau of anchor %zu is %g; it must be above 0", i + 1, tau[i]);
        HB_CHECK(context, balls->settings.process != HB_PROCESS_OU || tau[i] <= MOST_TAU,
                 HB_ERROR_ARGUMENT, "tau of anchor %zu is %g; under ou it must be at most %g",
                 i + 1, tau[i], MOST_TAU);
        HB_CHECK(context, hb_all_finite(d, x + i * d), HB_ERROR_ARGUMENT,
                 "anchor %zu has a coordinate that is not finite", i + 1);
    }
    return HB_OK;
}

static hb_status place_create_scratch(const place_run *run, hb_ball_scratch *out)
{
    const hb_balls *balls = run->balls;
    const hb_balls_settings *s = &balls->settings;
    const size_t d = balls->dim, m = balls->nodes, pairs = (size_t)s->pairs, drawn = 2 * pairs;
    const int drift = s->process == HB_PROCESS_DRIFT, reference = balls->reference.dim > 0;
    const int armed = balls->n_arm > 0;
    const size_t turned = s->degree > 0 && d > HB_BALL_MOST_DIM ? m : drawn;
    *out = (hb_ball_scratch){.alone = hb_context_child(run->context, 1), .moments.tau = NAN};
    return HB_WORKSPACE(
        &out->alone, &out->arrays, HB_ARRAY_IF(turned > 0, out->value.y, turned * d),
        HB_ARRAY_IF(drawn > 0, out->value.s, drawn),
        HB_ARRAY_IF(drawn > 0, out->value.weight, drawn),
        HB_ARRAY_IF(drawn > 0 && armed, out->arm.y, drawn * d),
        HB_ARRAY_IF(drawn > 0 && armed, out->arm.s, drawn),
        HB_ARRAY_IF(drawn > 0 && armed, out->arm.arm, drawn * d),
        HB_ARRAY_IF(drawn > 0, out->draw.z, pairs * d),
        HB_ARRAY_IF(drawn > 0, out->draw.sigma, pairs),
        HB_ARRAY_IF(drawn > 0, out->draw.uniform, pairs), HB_ARRAY_IF(!run->out.x, out->x, m * d),
        HB_ARRAY_IF(!run->out.tau, out->tau, m), HB_ARRAY_IF(!run->out.weight, out->weight, m),
        HB_ARRAY_IF(!run->out.shift, out->shift, m),
        HB_ARRAY_IF(drift || reference, out->F, (drift ? m : 1) * d),
        HB_ARRAY_IF(drift, out->divergence, m),
        HB_ARRAY_IF(s->directions > 0, out->basis, (1 + (size_t)s->directions) * d),
        HB_ARRAY_IF(drift, out->drift0, run->block * d),
        HB_ARRAY_IF(drift, out->divergence0, run->block),
        HB_ARRAY_IF(drift, out->jacobian0, run->block * d * d),
        HB_ARRAY_IF(reference, out->moments.mean, d),
        HB_ARRAY_IF(reference, out->moments.axes, d * d),
        HB_ARRAY_IF(reference, out->moments.variance, d),
        HB_ARRAY_IF(reference, out->moments.work, drift ? HB_BALL_MOMENTS_WORK(d) : 1));
}

/* Where the ball of anchor i goes. */
static hb_ball_anchor anchor_of(const place_run *run, size_t i, const hb_ball_scratch *scratch)
{
    const size_t d = run->balls->dim, m = run->balls->nodes;
    const int score = run->balls->settings.kind == HB_BALLS_KIND_SCORE;
    const hb_balls_values *all = &run->out;
    const size_t of_reference = score ? d : 1;
#define PART(array, width) (all->array ? all->array + i * (width) : NULL)
    hb_ball_anchor anchor = {.number = run->first + i,
                             .x0 = run->x + i * d,
                             .tau0 = run->tau[i],
                             .slope = run->slope ? run->slope + i * d : NULL,
                             .reference_slope =
                                 run->reference_slope ? run->reference_slope + i * d : NULL,
                             .out = {.x = all->x ? all->x + i * m * d : scratch->x,
                                     .tau = all->tau ? all->tau + i * m : scratch->tau,
                                     .weight = all->weight ? all->weight + i * m : scratch->weight,
                                     .shift = all->shift ? all->shift + i * m : scratch->shift,
                                     .scale = PART(scale, 1),
                                     .radius = PART(radius, 1),
                                     .noise = PART(noise, 1),
                                     .reference = PART(reference, m * of_reference),
                                     .reference0 = PART(reference0, of_reference)}};
    if (!score) return anchor;
    anchor.out.arm = PART(arm, m * d);
    anchor.out.arm_weight = PART(arm_weight, m);
    anchor.out.factor = PART(factor, m);
    anchor.out.factor0 = PART(factor0, 1);
    anchor.out.drift = PART(drift, m * d);
    anchor.out.rate = PART(rate, m);
#undef PART
    return anchor;
}

/* v_ref, or the gradient, at node j, -1: at the anchor, into where it is wanted. */
static hb_status reference_at(const hb_balls *balls, const hb_ball_anchor *anchor, size_t j,
                              int at_anchor, hb_ball_scratch *scratch, double *value)
{
    const size_t d = balls->dim;
    const hb_balls_values *out = &anchor->out;
    const double *x = at_anchor ? anchor->x0 : out->x + j * d;
    const int score = balls->settings.kind == HB_BALLS_KIND_SCORE;
    double *wanted = at_anchor ? out->reference0 : out->reference;
    if (wanted && !at_anchor) wanted += j * (score ? d : 1);
    HB_TRY(hb_ball_moments_at(&scratch->alone, &balls->reference,
                              at_anchor ? anchor->tau0 : out->tau[j], &scratch->moments));
    *value = hb_ball_moments_log(&scratch->moments, d, x, score ? wanted : NULL);
    if (wanted && !score) *wanted = *value;
    return HB_OK;
}

static hb_status add_reference(const hb_balls *balls, const hb_ball_anchor *anchor,
                               hb_ball_scratch *scratch)
{
    const hb_balls_values *out = &anchor->out;
    const int divided =
        balls->settings.kind == HB_BALLS_KIND_LOG_DENSITY && !balls->settings.directions;
    double base, value, most = -INFINITY, sum = 0;
    HB_TRY(reference_at(balls, anchor, 0, 1, scratch, &base));
    for (size_t j = 0; j < balls->nodes; j++) {
        HB_TRY(reference_at(balls, anchor, j, 0, scratch, &value));
        if (divided) out->shift[j] += value - base;
        most = fmax(most, out->shift[j]);
    }
    if (!divided) return HB_OK;
    for (size_t j = 0; j < balls->nodes; j++) sum += out->weight[j] * exp(out->shift[j] - most);
    HB_CHECK(&scratch->alone, sum > 0, HB_ERROR_NUMERICAL,
             "the reference has no positive mean over a ball; take a smaller share");
    for (size_t j = 0; j < balls->nodes; j++) out->shift[j] -= most + log(sum);
    return HB_OK;
}

static hb_status place_anchor(const hb_balls *balls, const hb_ball_anchor *anchor,
                              hb_ball_scratch *scratch)
{
    if (balls->settings.directions)
        HB_TRY(hb_ball_place_directions(balls, anchor, scratch));
    else if (balls->settings.process == HB_PROCESS_DRIFT)
        HB_TRY(hb_ball_place_drift(balls, anchor, scratch));
    else
        HB_TRY(hb_ball_place_linear(balls, anchor, scratch));
    return balls->reference.dim > 0 ? add_reference(balls, anchor, scratch) : HB_OK;
}

static hb_status place_anchors(const place_run *run, size_t first, size_t n,
                               hb_ball_scratch *scratch)
{
    const hb_balls *balls = run->balls;
    if (balls->settings.process == HB_PROCESS_DRIFT)
        HB_TRY(hb_ball_drift_at(balls, n, run->x + first * balls->dim, run->tau + first, scratch));
    for (size_t i = 0; i < n; i++) {
        hb_ball_anchor anchor = anchor_of(run, first + i, scratch);
        anchor.local = i;
        HB_TRY(place_anchor(balls, &anchor, scratch));
    }
    return HB_OK;
}

static hb_status place_block(void *user, size_t index, int thread)
{
    const place_run *run = user;
    const size_t first = index * run->block, left = run->n - first;
    hb_ball_scratch scratch;
    (void)thread;
    hb_status status = place_create_scratch(run, &scratch);
    if (status == HB_OK)
        status = place_anchors(run, first, left < run->block ? left : run->block, &scratch);
    hb_workspace_destroy(&scratch.arrays);
    return hb_context_adopt(run->context, &scratch.alone, status);
}

hb_status hb_balls_place(hb_context *context, const hb_balls *balls, uint64_t first, size_t n,
                         const double *x, const double *tau, const double *slope,
                         const double *reference_slope, hb_balls_values *out)
{
    HB_CHECK(context, balls, HB_ERROR_ARGUMENT, "balls is NULL");
    HB_CHECK(context, out, HB_ERROR_ARGUMENT, "out is NULL");
    place_run run = {.context = context,
                     .balls = balls,
                     .first = first,
                     .n = n,
                     .x = x,
                     .tau = tau,
                     .slope = slope,
                     .reference_slope = reference_slope};
    HB_TRY(
        hb_sized_read(context, "hb_balls_values", sizeof run.out, sizeof run.out, out, &run.out));
    HB_TRY(check_anchors(context, balls, n, x, tau));
    const size_t doubles = balls->nodes * balls->dim;
    run.block = doubles < BLOCK_DOUBLES ? BLOCK_DOUBLES / doubles : 1;
    return hb_parallel_for(context, NULL, (n + run.block - 1) / run.block, place_block, &run);
}
