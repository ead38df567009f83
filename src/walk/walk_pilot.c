/* The pilot run of walks: how to walk from each point.
 *
 * Plans are tried with up to 1024 walks of a seed of their own each; the one with the least
 * variance/mean^2 x steps is kept. A plan with longer steps must be better by PREFERENCE, since few
 * walks show the rare large weights of long steps too seldom, and the reversed walk with p = 1 by
 * WHOLE_PREFERENCE: bistable drift, tau = 0.5, x = 1.6, 8192 walks, 200 seeds, it is off by up to
 * 19 % with reported errors of 0.8 %, p = 3/4 by up to 2.7 %. The pilot run also gives log_scale.
 * Its walks do not enter the estimate, so the choice makes no bias. Linear drifts with a closed
 * form need none: F = -x, u0 = N(1, 0.5), tau = 0.5, x = 0.7 has u = 0.4392625993098471. */
#include "base/team_tasks.h"
#include "walk/walk_constants.h"
#include "walk/walk_parts.h"

enum { PILOT_BLOCKS = 2 };

/* What a pilot run has found so far. */
typedef struct pilot {
    size_t i;
    int thread;
    double end, until; /* of hb_seconds: of the pilot run, of the plan that is tried */
    double best;       /* cost */
} pilot;

/* ln of the mean size of the walks in the block. */
static double mean_size(const hb_walk_block *block, size_t n)
{
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) top = fmax(top, hb_walk_block_result(block, i).size);
    if (!(top > -INFINITY)) return 0;
    for (size_t i = 0; i < n; i++) sum += exp(hb_walk_block_result(block, i).size - top);
    return top + log(sum / (double)n);
}

/* Bridges have no others to fall back to, when their tail shows later. */
static int pilot_is_flagged(const hb_walk_plan *plan, const hb_answer *answer)
{
    return answer->flag == HB_FLAG_OUTLIERS ||
           (hb_walk_is_bridge(plan) &&
            (answer->flag != HB_FLAG_NONE || answer->score_flag != HB_FLAG_NONE));
}

/* Relative variance of a plan times its steps; infinite when the mean is not above 0. A plan that
 * is far behind after its first block is not looked at further. */
static hb_status pilot_plan(const hb_walks *w, const pilot *p, const hb_walk_plan *plan,
                            double *cost, double *scale)
{
    const int dim = (int)w->shared.d;
    double *sums = w->parts + p->i * HB_ROUND_BLOCKS * hb_accumulator_size(dim), steps = 0;
    double *score = sums + hb_accumulator_size(dim), total = 0;
    hb_accumulator_clear(dim, sums);
    hb_answer answer;
    *cost = 0;
    for (uint64_t k = 0; k < PILOT_BLOCKS && *cost <= HOPELESS * p->best; k++) {
        HB_TRY(hb_walks_run(w, p->thread, p->i, plan, 1, k * HB_WALK_BLOCK, HB_WALK_BLOCK, &steps));
        if (k == 0) *scale = mean_size(w->blocks[p->thread], HB_WALK_BLOCK);
        hb_walks_count(w, p->thread, HB_WALK_BLOCK, *scale, sums);
        total += steps;
        hb_accumulator_answer(dim, sums, *scale, &answer, score, score + dim);
        *cost = answer.relative * answer.relative * total; // of a walk, relative variance x steps
        if (pilot_is_flagged(plan, &answer)) *cost = INFINITY;
    }
    return HB_OK;
}

/* When the pilot run of a point must have ended: its part of the time. */
static double pilot_end(const hb_walks *w)
{
    if (!w->deadline) return INFINITY;
    return fmin(*w->deadline,
                hb_seconds() + (*w->deadline - w->begin) * w->n_threads / (double)w->n);
}

static void take_plan(hb_walks *w, size_t i, const hb_walk_plan *plan, double scale, double seconds)
{
    w->unserved[i] = 0;
    w->plans[i] = *plan;
    w->log_scale[i] = scale;
    w->seconds[i] = seconds;
}

/* Where no plan was tried to its end: the one with the fewest steps that a few walks end with. */
static hb_status pilot_few(hb_walks *w, const pilot *p, int n, const hb_walk_plan *plans)
{
    for (int k = n; k-- > 0 && w->unserved[p->i];) {
        double steps;
        const double now = hb_seconds();
        const hb_status status =
            hb_walks_run(w, p->thread, p->i, plans + k, 1, 0, HB_LEAST_ROUND, &steps);
        if (status == HB_ERROR_INTERRUPTED) return HB_OK;
        HB_TRY(status);
        const double scale = mean_size(w->blocks[p->thread], HB_LEAST_ROUND);
        take_plan(w, p->i, plans + k, scale, (hb_seconds() - now) / HB_LEAST_ROUND);
    }
    return HB_OK;
}

/* Each plan has half of the time that is left, if that is limited; else it is left out. */
static hb_status pilot_list(hb_walks *w, pilot *p, int n, const hb_walk_plan *plans)
{
    for (int k = 0; k < n; k++) {
        double cost, scale = 0;
        const double now = hb_seconds();
        p->until = now + 0.5 * (p->end - now);
        const hb_status status = pilot_plan(w, p, plans + k, &cost, &scale);
        if (status == HB_ERROR_INTERRUPTED) continue;
        HB_TRY(status);
        if (hb_walk_is_bridge(plans + k) && cost == INFINITY) continue;
        if (w->unserved[p->i] ||
            cost < (plans[k].part == 1 ? WHOLE_PREFERENCE : PREFERENCE) * p->best) {
            p->best = cost;
            take_plan(w, p->i, plans + k, scale,
                      (hb_seconds() - now) / (PILOT_BLOCKS * HB_WALK_BLOCK));
        }
    }
    return HB_OK;
}

/* The best plan of bridges is taken, if there is one. */
static hb_status pilot_bridges(hb_walks *w, pilot *p)
{
    const size_t d = w->shared.d;
    const double *x0 = w->points + p->i * d;
    double *ends = w->ends + p->i * 2 * d;
    int fit, n;
    if (!w->shared.gauge || hb_walks_is_hidden(w->hidden[p->i].bridges)) return HB_OK;
    p->until = hb_seconds() + 0.5 * (p->end - hb_seconds());
    const hb_status status =
        hb_bridge_fit_ends(w->blocks[p->thread], x0, hb_walks_pilot_seed(w, p->i), ends, &fit);
    if (status == HB_ERROR_INTERRUPTED) return HB_OK;
    HB_TRY(status);
    const hb_walk_plan *plans = hb_walks_bridge_plans(&n);
    return fit ? pilot_list(w, p, n, plans) : HB_OK;
}

/* Others are chosen as if there were no bridges; a bridge is kept where none is better. */
static hb_status pilot_others(hb_walks *w, pilot *p, int n, const hb_walk_plan *plans)
{
    const int served = !w->unserved[p->i];
    const hb_walk_plan bridge = w->plans[p->i];
    const double cost = p->best, scale = w->log_scale[p->i], seconds = w->seconds[p->i];
    w->unserved[p->i] = 1;
    p->best = INFINITY;
    HB_TRY(pilot_list(w, p, n, plans));
    if (served && (w->unserved[p->i] || cost <= p->best))
        take_plan(w, p->i, &bridge, scale, seconds);
    return HB_OK;
}

/* Where a bridge is good, and better than a plan of the linear frame, the rest, which costs more
 * than all walks may, is not tried. Under a stiff gradient there are reversed walks alone. Where
 * steps jump over a narrow part of the drift, bridges that know the potential and see all of Q are
 * the only walks that are exact. */
static hb_status pilot_point(hb_walks *w, size_t i, int thread)
{
    int n;
    const hb_walk_plan *plans = hb_walks_plans(&w->shared, &n);
    pilot p = {.i = i, .thread = thread, .end = pilot_end(w), .best = INFINITY};
    w->unserved[i] = 1;
    w->alone[thread].deadline = &p.until;
    if (w->stiff[i]) {
        HB_TRY(pilot_list(w, &p, HB_REVERSED_PLANS, plans));
        if (!w->unserved[i]) return HB_OK;
    }
    HB_TRY(pilot_bridges(w, &p));
    if (hb_walks_is_hidden(w->hidden[i].steps) && !w->unserved[i]) return HB_OK;
    if (p.best < GOOD_BRIDGE) {
        HB_TRY(pilot_list(w, &p, 1, plans + n - HB_FRAME_PLANS + 1));
        if (hb_walk_is_bridge(w->plans + i)) return HB_OK;
    }
    HB_TRY(pilot_others(w, &p, n, plans));
    p.until = p.end + FEW_PART * (p.end - w->begin);
    return w->unserved[i] ? pilot_few(w, &p, n, plans) : HB_OK;
}

static hb_status pilot_task(void *user, size_t i, int thread)
{
    hb_walks *w = user;
    hb_context *alone = w->alone + thread;
    const hb_status status = hb_context_adopt(w->context, alone, pilot_point(w, i, thread));
    alone->deadline = w->deadline;
    return status;
}

static hb_status closed_task(void *user, size_t i, int thread)
{
    hb_walks *w = user;
    const size_t d = w->shared.d;
    double *other;
    (void)thread;
    HB_TRY(HB_NEW(w->context, other, 2 * (1 + d) + hb_walk_linear_work(&w->linear)));
    hb_walk_linear_value(&w->linear, w->points + i * d, w->values + i * (1 + d),
                         w->errors + i * (1 + d), other, other + 2 * (1 + d));
    hb_release(w->context, other);
    w->plans[i] = (hb_walk_plan){.rate_multiplier = 1};
    const double v = w->values[i * (1 + d)];
    w->log_scale[i] = isfinite(v) ? v : 0;
    return HB_OK;
}

/* The tasks look at the time themselves. */
hb_status hb_walks_pilot(hb_walks *w)
{
    w->deadline = w->context->deadline;
    w->begin = hb_seconds();
    w->context->deadline = NULL;
    const size_t row = (1 + w->shared.d) * sizeof(double);
    const hb_left left[] = {{w->plans, sizeof *w->plans, 0},
                            {w->log_scale, sizeof *w->log_scale, 0},
                            {w->seconds, sizeof *w->seconds, 0},
                            {w->unserved, sizeof *w->unserved, 0},
                            {w->values, w->closed ? row : 0, 0},
                            {w->errors, w->closed ? row : 0, 0},
                            {w->ends, w->shared.gauge ? 2 * w->shared.d * sizeof(double) : 0, 0}};
    const hb_status status = hb_team_for(w->context, "pilot walks", w->n,
                                         w->closed ? closed_task : pilot_task, w, 7, left);
    w->context->deadline = w->deadline;
    return status;
}
