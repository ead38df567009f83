/* Backward walks: u, its logarithm, its score at single points, in any dimension, without a time
 * step's error.
 *
 * docs/walks.md has the derivation; walk_parametrix.c, walk_gauge.c, walk_reversed.c the steps,
 * walk_block.c the lockstep. This file decides how to walk, and counts.
 *
 * Per point, a pilot tries the plans below with up to 1024 walks of its own seed each, and keeps
 * the one with the smallest variance/mean^2 x steps; a plan with longer steps must be better by
 * PREFERENCE, since few walks show the rare large weights of long steps too seldom, and the
 * reversed walk with p = 1 by WHOLE: bistable drift, tau = 0.5, x = 1.6, 8192 walks, 200 seeds, it is
 * off by up to 19 % with claimed errors of 0.8 %, p = 3/4 by up to 2.7 %. The pilot also gives
 * log_scale. Its walks do not enter the estimate, so the choice makes no bias.
 *
 * A round is WALKS_PER_ROUND walks per wanted point. A task is one block of one point; the tallies
 * of the blocks are merged in the order of their index.
 * A number to reproduce: F = -x, u0 = N(1, 0.5), tau = 0.5, x = 0.7 has u = 0.4392625993098471. */
#include "walk/walk_estimator.h"
#include "base/checksum.h"
#include "base/context.h"
#include "base/memory.h"
#include "base/team_tasks.h"
#include "problem/drift_facts.h"
#include "problem/initial/initial_average.h"
#include "problem/noise.h"
#include "walk/march_guide.h"
#include "walk/walk_block.h"
#include "walk/walk_hidden.h"
#include "walk/walk_linear.h"
#include "walk/walk_march.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WALKS_PER_ROUND = 8192,
    BLOCKS = WALKS_PER_ROUND / HB_WALK_BLOCK,
    PILOT_BLOCKS = 2,
    LINE = 1024,            /* places on a line that is looked along for steep parts */
    LEAST_ROUND = 32,       /* walks of a round, where the time is short */
    BANDS = 20,             /* half standard deviations on each side of the ends of walks */
    PULSE_POINTS = 64,      /* at which pulses in t are looked at */
    STIFF_DIM = 8,          /* up to here gradients are looked at for stiff parts */
    REVERSED_PLANS = 4,     /* the first plans of a list for gradients */
    FULL_FRAME_DIM = 12,    /* up to here the frame is a matrix: d^3 operations a step */
    GRADIENT_FRAME_DIM = 3, /* the same for gradients, whose steps need it less */
    LINEAR_FRAMES = 3,      /* the last plans of a list */
    MOST_PLANS = 12
};
static const double PREFERENCE = 0.75, WHOLE = 0.3;
static const double HOPELESS = 8;
static const double GOOD_MARCH = 1; /* relative variance times cost */
static const double STEEPEST = 150; /* |dF/dx| tau of a drift with kinks, for walks */
static const double STIFF = 15;     /* the same of a smooth gradient, for all but reversed walks */
static const double MOST_PULSE = 2; /* in the exponent of a weight */
static const double FAR = -40;      /* ln u, of walks to a point under a stiff gradient */
static const double ROUNDING = 2e-15;  /* of a sum in ln W */
static const double MOST_HIDDEN = 0.1; /* of ln u */
static const double UNREACHED = 4, LEAST_PART = 3e-4;
static const double BESIDE = 7, UNSEEN = 1e-5; /* of the way to a point; of what no walk may see */
static const double ROUND_PART = 0.2;          /* of the time that is left, for one round */
static const double FEW_PART = 0.2; /* of the pilot's time, for a few walks where nothing ended */
static const double REST = 0.4; /* of the whole time, that is left for rounds after all trials */
static const double MOST_GROWTH = 1e6; /* of a linear drift, over the way, where ends are drawn */
static const double LARGEST = 300;     /* ln of the largest value that is counted, over the scale */
static const uint64_t PILOT_SALT = UINT64_C(0x9e3779b97f4a7c15);

typedef struct walk_estimator {
    hb_context *context;
    hb_walk_problem shared;
    hb_walk_linear linear;
    hb_gauge_formula *gauge; /* that of shared */
    int breaks;     /* the drift or the start has kinks or jumps, and nothing is in closed form */
    int far;        /* errors hold rounding, narrow parts, and that some points are far in a tail */
    int closed;     /* nothing is drawn: values and errors are these */
    double *values; // (n, 1 + d): ln u, score
    double *errors; // (n, 1 + d)
    uint64_t seed;
    size_t n;
    const double *points; // (n, d)
    double *log_scale;    // (n)
    hb_walk_plan *plans;  // (n)
    double *guides;       // (n, 2, d): where marches end
    int n_threads;
    hb_context *alone;       // (n_threads)
    hb_walk_block **blocks;  // (n_threads)
    double *counted;         // (n_threads, HB_WALK_BLOCK, 1 + d)
    double *parts;           // (n, BLOCKS, tally)
    uint64_t round;          /* that is under way */
    size_t walks;            /* of a round, at each point */
    double begin;            /* of hb_seconds: when the pilot began */
    const double *deadline;  /* the context's */
    double *seconds;         // (n): of one walk, in the pilot
    unsigned char *unserved; // (n): no plan was tried to its end in the time
    unsigned char *stiff;    // (n): only reversed walks see all of a steep well
    hb_hidden *hidden;       // (n)
    const unsigned char *wanted;
    hb_workspace work;
} walk_estimator;

/* ---- one block ------------------------------------------------------------------------------ */

/* A seed of the point's own: seed, salt and coordinates by FNV-1a on words, mixed. */
static uint64_t point_seed(uint64_t seed, uint64_t salt, size_t d, const double *x)
{
    uint64_t hash = HB_CHECKSUM_START ^ seed;
    for (size_t k = 0; k < d + 1; k++) {
        uint64_t bits = salt;
        const double coordinate = k < d ? x[k] + 0.0 : 0; // -0 is 0
        if (k < d) memcpy(&bits, &coordinate, sizeof bits);
        hash = (hash ^ bits) * HB_CHECKSUM_FACTOR;
        hash ^= hash >> 29;
    }
    hash *= UINT64_C(0xbf58476d1ce4e5b9);
    return hash ^ hash >> 32;
}

/* The same into a tally, over e^scale. */
static void count_block(const walk_estimator *w, int thread, size_t n, double scale, double *tally)
{
    const size_t d = w->shared.d;
    double *a = w->counted + (size_t)thread * HB_WALK_BLOCK * (1 + d), *b = a + n;
    double lost = 0, stray = 0;
    for (size_t i = 0; i < n; i++) {
        const hb_walk_result result = hb_walk_block_result(w->blocks[thread], i);
        a[i] = result.sign * exp(fmin(result.size - scale, LARGEST));
        for (size_t k = 0; k < d; k++) b[i * d + k] = a[i] == 0 ? 0 : a[i] * result.slope[k];
        lost += result.lost;
        if (result.stray) stray += fabs(a[i]);
    }
    hb_tally_add((int)d, tally, n, a, b);
    hb_tally_lose(tally, lost);
    hb_tally_stray(tally, stray);
}

/* ---- linear drifts with a closed form ------------------------------------------------------- */

static hb_status closed_task(void *user, size_t i, int thread)
{
    walk_estimator *w = user;
    const size_t d = w->shared.d;
    void *memory;
    (void)thread;
    HB_TRY(hb_allocate(w->context, 2 * (1 + d) + hb_walk_linear_work(&w->linear), sizeof(double),
                       &memory));
    double *other = memory;
    hb_walk_linear_value(&w->linear, w->points + i * d, w->values + i * (1 + d),
                         w->errors + i * (1 + d), other, other + 2 * (1 + d));
    hb_release(w->context, memory);
    w->plans[i] = (hb_walk_plan){.finesse = 1};
    const double v = w->values[i * (1 + d)];
    w->log_scale[i] = isfinite(v) ? v : 0;
    return HB_OK;
}

/* All walks are the same: a block of them stands for any number. */
static hb_status add_closed(void *self, uint64_t k, const unsigned char *wanted, double *tallies)
{
    walk_estimator *w = self;
    const size_t d = w->shared.d, size = hb_tally_size((int)d);
    double *a = w->counted, *b = a + HB_WALK_BLOCK;
    (void)k;
    for (size_t i = 0; i < w->n; i++) {
        if (!wanted[i]) continue;
        const double *value = w->values + i * (1 + d);
        for (size_t j = 0; j < HB_WALK_BLOCK; j++) {
            a[j] = isfinite(value[0]);
            for (size_t m = 0; m < d; m++) b[j * d + m] = a[j] > 0 ? value[1 + m] : 0;
        }
        hb_tally_add((int)d, tallies + i * size, HB_WALK_BLOCK, a, b);
        if (isnan(value[0])) hb_tally_lose(tallies + i * size, HB_WALK_BLOCK);
    }
    return hb_team_progress(w->context, "walks", 1, 1);
}

/* ---- the pilot ------------------------------------------------------------------------------ */

/* From short steps to long ones. */
static int plans_of(const hb_walk_problem *shared, hb_walk_plan *plans)
{
    int n = 0;
    if (shared->linear) {
        plans[n++] = (hb_walk_plan){.finesse = 1};
        return n;
    }
    if (shared->gradient) {
        for (int k = 0; k < REVERSED_PLANS; k++)
            plans[n++] = (hb_walk_plan){.way = HB_WALK_REVERSED,
                                        .part = k % 2 ? 1 : 0.75,
                                        .finesse = k < 2 ? 8 : 4,
                                        .finish = 2};
        plans[n++] = (hb_walk_plan){.way = HB_WALK_BALL, .finesse = 8};
        plans[n++] = (hb_walk_plan){.way = HB_WALK_GAUGE, .finesse = 12};
        plans[n++] = (hb_walk_plan){.way = HB_WALK_GAUGE, .finesse = 8};
    }
    for (int k = 0; k < LINEAR_FRAMES; k++)
        plans[n++] = (hb_walk_plan){.finesse = (double[]){4, 2, 1}[k]};
    return n;
}

/* From many points to few; ends: those of hb_march_guide. */
static int marches_of(const double *end, hb_walk_plan *plans)
{
    int n = 0;
    for (int points = HB_MARCH_POINTS; points > 1; points /= 2)
        plans[n++] = (hb_walk_plan){
            .way = HB_WALK_MARCH, .points = points, .again = points > 2 ? 0.1 : 0.2, .end = end};
    return n;
}

/* The same of led marches; range: that of hb_led_range. */
static int led_of(const double *range, hb_walk_plan *plans)
{
    int n = 0;
    for (int points = HB_LED_POINTS; points >= 16; points /= 2)
        plans[n++] = (hb_walk_plan){.way = HB_WALK_LED, .points = points, .end = range};
    return n;
}

static int is_march(const hb_walk_plan *plan)
{
    return plan->way == HB_WALK_MARCH || plan->way == HB_WALK_LED;
}

/* ln of the mean size of the walks in the block. */
static double mean_size(const hb_walk_block *block, size_t n)
{
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) top = fmax(top, hb_walk_block_result(block, i).size);
    if (!(top > -INFINITY)) return 0;
    for (size_t i = 0; i < n; i++) sum += exp(hb_walk_block_result(block, i).size - top);
    return top + log(sum / (double)n);
}

/* A march has no other to fall back to, when its tail shows later. */
static int is_doubted(const hb_tally_answer *answer)
{
    return answer->doubt != HB_TALLY_FINE || answer->score_doubt != HB_TALLY_FINE;
}

/* Relative variance of a plan times its steps; infinite when the mean is not above 0. A plan that
 * is far behind after its first block is not looked at further. */
static hb_status try_plan(const walk_estimator *w, int thread, const hb_walk_plan *plan, size_t i,
                          double best, double *cost, double *scale)
{
    const size_t d = w->shared.d;
    const double *x0 = w->points + i * d;
    const uint64_t seed = point_seed(w->seed, PILOT_SALT, d, x0);
    double *tally = w->parts + i * BLOCKS * hb_tally_size((int)d), steps = 0, total = 0;
    double *score = tally + hb_tally_size((int)d);
    hb_tally_clear((int)d, tally);
    hb_tally_answer answer;
    *cost = 0;
    for (uint64_t k = 0; k < PILOT_BLOCKS && *cost <= HOPELESS * best; k++) {
        HB_TRY(hb_walk_block_run(w->blocks[thread], plan, x0, seed, k * HB_WALK_BLOCK,
                                 HB_WALK_BLOCK, &steps));
        if (k == 0) *scale = mean_size(w->blocks[thread], HB_WALK_BLOCK);
        count_block(w, thread, HB_WALK_BLOCK, *scale, tally);
        total += steps;
        hb_tally_answer_of((int)d, tally, *scale, &answer, score, score + d);
        *cost = answer.relative * answer.relative * total; // of a walk, relative variance x steps
        if (answer.doubt == HB_TALLY_STRAY || (is_march(plan) && is_doubted(&answer)))
            *cost = INFINITY;
    }
    return HB_OK;
}

/* When the pilot of a point must have ended: its share of the time. */
static double pilot_end(const walk_estimator *w)
{
    if (!w->deadline) return INFINITY;
    return fmin(*w->deadline,
                hb_seconds() + (*w->deadline - w->begin) * w->n_threads / (double)w->n);
}

static void take_plan(walk_estimator *w, size_t i, const hb_walk_plan *plan, double scale,
                      double seconds)
{
    w->unserved[i] = 0;
    w->plans[i] = *plan;
    w->log_scale[i] = scale;
    w->seconds[i] = seconds;
}

/* Where no plan was tried to its end: the one with the fewest steps that a few walks end with. */
static hb_status try_few(walk_estimator *w, int thread, size_t i, int n, const hb_walk_plan *plans)
{
    const double *x0 = w->points + i * w->shared.d;
    const uint64_t seed = point_seed(w->seed, PILOT_SALT, w->shared.d, x0);
    for (int k = n; k-- > 0 && w->unserved[i];) {
        double steps;
        const double now = hb_seconds();
        const hb_status status =
            hb_walk_block_run(w->blocks[thread], plans + k, x0, seed, 0, LEAST_ROUND, &steps);
        if (status == HB_ERROR_INTERRUPTED) return HB_OK;
        HB_TRY(status);
        const double scale = mean_size(w->blocks[thread], LEAST_ROUND);
        take_plan(w, i, plans + k, scale, (hb_seconds() - now) / LEAST_ROUND);
    }
    return HB_OK;
}

/* What a pilot has found so far. */
typedef struct pilot {
    size_t i;
    int thread;
    double end, until; /* of hb_seconds: of the pilot, of the plan that is tried */
    double best;       /* cost */
} pilot;

/* Where the time is limited, each plan has half of what is left of it; one that does not end is left out. */
static hb_status try_list(walk_estimator *w, pilot *p, int n, const hb_walk_plan *plans)
{
    for (int k = 0; k < n; k++) {
        double cost, scale = 0;
        const double now = hb_seconds();
        p->until = now + 0.5 * (p->end - now);
        const hb_status status = try_plan(w, p->thread, plans + k, p->i, p->best, &cost, &scale);
        if (status == HB_ERROR_INTERRUPTED) continue;
        HB_TRY(status);
        if (is_march(plans + k) && cost == INFINITY) continue;
        if (w->unserved[p->i] || cost < (plans[k].part == 1 ? WHOLE : PREFERENCE) * p->best) {
            p->best = cost;
            take_plan(w, p->i, plans + k, scale,
                      (hb_seconds() - now) / (PILOT_BLOCKS * HB_WALK_BLOCK));
        }
    }
    return HB_OK;
}

static const double RARE_START = 100; /* weight of a walk that ends in the peak of the start */

static int is_hidden(double effect)
{
    return !(effect < MOST_HIDDEN);
}

/* Marches; the best of them is taken, if there is one. */
static hb_status try_marches(walk_estimator *w, pilot *p)
{
    hb_walk_plan plans[MOST_PLANS];
    const size_t d = w->shared.d;
    const double *x0 = w->points + p->i * d;
    double *guide = w->guides + p->i * 2 * d;
    int fit;
    if (!w->shared.gauge || is_hidden(w->hidden[p->i].marches)) return HB_OK;
    p->until = hb_seconds() + 0.5 * (p->end - hb_seconds());
    const hb_status status = hb_march_guide(w->blocks[p->thread], &w->shared, x0,
                                            point_seed(w->seed, PILOT_SALT, d, x0), guide, &fit);
    if (status == HB_ERROR_INTERRUPTED) return HB_OK;
    HB_TRY(status);
    return fit ? try_list(w, p, marches_of(guide, plans), plans) : HB_OK;
}

/* Marches about the likeliest way. */
static hb_status try_led(walk_estimator *w, pilot *p)
{
    hb_walk_plan plans[MOST_PLANS];
    double *range = w->guides + p->i * 2 * w->shared.d;
    int fit;
    if (w->shared.d > 1 || is_hidden(w->hidden[p->i].marches)) return HB_OK;
    p->until = hb_seconds() + 0.5 * (p->end - hb_seconds());
    const hb_status status = hb_led_range(w->blocks[p->thread], w->points + p->i, range, &fit);
    if (status == HB_ERROR_INTERRUPTED) return HB_OK;
    HB_TRY(status);
    return fit ? try_list(w, p, led_of(range, plans), plans) : HB_OK;
}

/* Plans other than marches are chosen as if there were none, and the march that was found is kept where none is better. */
static hb_status try_others(walk_estimator *w, pilot *p, int n, const hb_walk_plan *plans)
{
    const int served = !w->unserved[p->i];
    const hb_walk_plan march = w->plans[p->i];
    const double cost = p->best, scale = w->log_scale[p->i], seconds = w->seconds[p->i];
    w->unserved[p->i] = 1;
    p->best = INFINITY;
    HB_TRY(try_list(w, p, n, plans));
    if (served && (w->unserved[p->i] || cost <= p->best))
        take_plan(w, p->i, &march, scale, seconds);
    return HB_OK;
}

/* Where a march is good, and better than a plan of the linear frame, the rest, which costs more than all walks may, is not
 * tried. Under a stiff gradient there are reversed walks and led marches alone. Where steps jump over a narrow part of
 * the drift, marches that know the potential and see all of Q are the only walks that are exact. */
static hb_status try_plans(walk_estimator *w, size_t i, int thread)
{
    hb_walk_plan plans[MOST_PLANS];
    const int n = plans_of(&w->shared, plans);
    pilot p = {.i = i, .thread = thread, .end = pilot_end(w), .best = INFINITY};
    w->unserved[i] = 1;
    w->alone[thread].deadline = &p.until;
    const int exact = is_hidden(w->hidden[i].steps) && !is_hidden(w->hidden[i].marches);
    if (exact) {
        if (!w->stiff[i]) HB_TRY(try_marches(w, &p));
        if (w->unserved[i]) HB_TRY(try_led(w, &p));
        if (!w->unserved[i]) return HB_OK;
    }
    if (w->stiff[i]) {
        HB_TRY(try_led(w, &p));
        if (p.best >= GOOD_MARCH) HB_TRY(try_others(w, &p, REVERSED_PLANS, plans));
        if (!w->unserved[i]) return HB_OK;
    }
    HB_TRY(try_marches(w, &p));
    if (w->unserved[i]) HB_TRY(try_led(w, &p));
    if (p.best < GOOD_MARCH) {
        HB_TRY(try_list(w, &p, 1, plans + n - LINEAR_FRAMES + 1));
        if (is_march(w->plans + i)) return HB_OK;
    }
    HB_TRY(try_others(w, &p, n, plans));
    p.until = p.end + FEW_PART * (p.end - w->begin);
    return w->unserved[i] ? try_few(w, thread, i, n, plans) : HB_OK;
}

static hb_status pilot_task(void *user, size_t i, int thread)
{
    walk_estimator *w = user;
    hb_context *alone = w->alone + thread;
    const hb_status status = hb_context_adopt(w->context, alone, try_plans(w, i, thread));
    alone->deadline = w->deadline;
    return status;
}

/* The tasks look at the time themselves. */
static hb_status run_pilot(walk_estimator *w)
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
                            {w->guides, w->shared.gauge ? 2 * w->shared.d * sizeof(double) : 0, 0}};
    const hb_status status = hb_team_for(w->context, "pilot walks", w->n,
                                         w->closed ? closed_task : pilot_task, w, 7, left);
    w->context->deadline = w->deadline;
    return status;
}

/* Where the time is limited: a round that would take more than a part of what is left has fewer walks. */
static hb_status choose_round(walk_estimator *w, double max_time)
{
    double seconds = 0;
    w->walks = WALKS_PER_ROUND;
    if (!w->context->deadline || w->closed) return HB_OK;
    for (size_t i = 0; i < w->n; i++) seconds += w->unserved[i] ? 0 : w->seconds[i];
    const double left = fmax(*w->deadline - hb_seconds(), 0) + REST * max_time;
    const double workers = w->n_threads * (double)hb_context_ranks(w->context);
    while (w->walks > LEAST_ROUND && seconds * (double)w->walks / workers > ROUND_PART * left)
        w->walks /= 2;
    return hb_context_agree(w->context, sizeof w->walks, &w->walks);
}

static int resize(void *self, uint64_t walks)
{
    walk_estimator *w = self;
    if (w->closed) return walks == 1;
    if (walks < LEAST_ROUND || walks > WALKS_PER_ROUND || (walks & (walks - 1))) return 0;
    w->walks = (size_t)walks;
    return 1;
}

/* ---- rounds --------------------------------------------------------------------------------- */

/* Blocks of a round, and walks of a block. */
static size_t blocks_of(const walk_estimator *w)
{
    return w->walks > HB_WALK_BLOCK ? w->walks / HB_WALK_BLOCK : 1;
}

static hb_status block_task(void *user, size_t index, int thread)
{
    const walk_estimator *w = user;
    const size_t blocks = blocks_of(w), n = w->walks / blocks;
    const size_t d = w->shared.d, i = index / blocks, block = index % blocks;
    const double *x0 = w->points + i * d;
    double *tally = w->parts + index * hb_tally_size((int)d), steps;
    if (!w->wanted[i]) return HB_OK;
    hb_tally_clear((int)d, tally);
    if (w->unserved[i]) return HB_OK; /* no plan ended in its time */
    hb_walk_plan plan = w->plans[i];
    plan.end = w->guides + i * 2 * d; /* the plan may be another process's */
    const hb_status status =
        hb_walk_block_run(w->blocks[thread], &plan, x0, point_seed(w->seed, 0, d, x0),
                          w->round * w->walks + block * n, n, &steps);
    if (status == HB_OK) count_block(w, thread, n, w->log_scale[i], tally);
    return hb_context_adopt(w->context, w->alone + thread, status);
}

static hb_status add_round(void *self, uint64_t k, const unsigned char *wanted, double *tallies)
{
    walk_estimator *w = self;
    const int dim = (int)w->shared.d;
    const size_t size = hb_tally_size(dim);
    w->round = k;
    w->wanted = wanted;
    const size_t blocks = blocks_of(w);
    const hb_left left = {w->parts, size * sizeof *w->parts, 0};
    HB_TRY(hb_team_for(w->context, "walks", w->n * blocks, block_task, w, 1, &left));
    for (size_t i = 0; i < w->n; i++)
        for (size_t block = 0; wanted[i] && block < blocks; block++)
            hb_tally_merge(dim, tallies + i * size, w->parts + (i * blocks + block) * size);
    return HB_OK;
}

/* As many walks as a round: a quarter of them misses tails that the averaged ones are off by. */
static hb_status watch_round(void *self, uint64_t k, const unsigned char *wanted, double *tallies)
{
    return add_round(self, HB_WATCH_FIRST + k, wanted, tallies);
}

/* ---- kinks and jumps ------------------------------------------------------------------------ */

/* Where F jumps, its Jacobian lacks a part that the derivative of a walk's weight needs. Steps for gradients
 * use div F and its gradient, which lack such parts at kinks too: they are for smooth drifts only. */
static int jumps(const hb_problem *problem)
{
    const hb_drift_facts *facts = hb_problem_facts(problem);
    int found = 0;
    for (int k = 0; k < facts->n_breaks; k++) found |= facts->breaks[k].kind != HB_BREAK_KINK;
    return found;
}

/* The largest entry of the Jacobian on lines along the axes through x0, as far as a walk goes without a
 * drift. scratch: (LINE, d), (LINE), (LINE, d, d), (LINE, d) */
static hb_status steepest(const walk_estimator *w, const double *x0, double *scratch, double *most)
{
    const size_t d = w->shared.d;
    const double tau = w->shared.tau, reach = 4 * sqrt(2 * tau);
    double *x = scratch, *times = x + LINE * d, *jacobian = times + LINE,
           *F = jacobian + LINE * d * d;
    *most = 0;
    for (size_t axis = 0; axis < d; axis++) {
        for (size_t k = 0; k < LINE; k++) {
            memcpy(x + k * d, x0, d * sizeof *x);
            x[k * d + axis] += reach * (2 * ((double)k + 0.5) / LINE - 1);
            times[k] = tau * (double)(k * 37 % LINE) / LINE;
        }
        HB_TRY(hb_problem_drift_each(w->context, w->shared.problem, LINE, x, times, F, NULL, NULL,
                                     jacobian));
        for (size_t k = 0; k < LINE * d * d; k++)
            if (isfinite(jacobian[k])) *most = fmax(*most, fabs(jacobian[k]));
    }
    return HB_OK;
}

/* Walks that are led to a point hardly leave the way there: what the drift does beyond a kink beside it may be seen by
 * none of them. 1: a break may be within BESIDE deviations of the way from x0. */
static hb_status is_beside(const walk_estimator *w, const double *x0, int *yes)
{
    const hb_problem *problem = w->shared.problem;
    const hb_drift_facts *facts = hb_problem_facts(problem);
    const size_t d = w->shared.d, n = (size_t)facts->n_breaks;
    const double *place = w->shared.place, reach = BESIDE * sqrt(2 * w->shared.tau);
    void *memory;
    if (!place || n == 0) return HB_OK;
    HB_TRY(hb_allocate(w->context, d + n, sizeof(hb_interval), &memory));
    hb_interval *box = memory, *arguments = box + d;
    for (size_t k = 0; k < d; k++)
        box[k] = (hb_interval){fmin(x0[k], place[k]) - reach, fmax(x0[k], place[k]) + reach};
    const hb_status status = hb_problem_ranges(w->context, problem, box,
                                               (hb_interval){0, w->shared.tau}, NULL, arguments);
    for (size_t k = 0; k < n && status == HB_OK; k++)
        *yes |= arguments[k].low <= 0 && arguments[k].high >= 0;
    hb_release(w->context, memory);
    return status;
}

/* Near kinks that are steep, what counts may sit in walks that are too rare to be seen. */
static hb_status doubt_breaks(walk_estimator *w)
{
    const size_t d = w->shared.d;
    const int no_score =
        jumps(w->shared.problem) || hb_problem_initial_facts(w->shared.problem)->jumps;
    void *memory;
    HB_TRY(hb_allocate(w->context, LINE * (d * d + 2 * d + 1), sizeof(double), &memory));
    hb_status status = HB_OK;
    for (size_t i = 0; i < w->n && status == HB_OK; i++) {
        double most, *error = w->errors + i * (1 + d);
        int beside = hb_problem_initial_facts(w->shared.problem)->broken;
        status = steepest(w, w->points + i * d, memory, &most);
        if (status == HB_OK) status = is_beside(w, w->points + i * d, &beside);
        const int steep = most * w->shared.tau > STEEPEST;
        error[0] = steep ? INFINITY : beside ? UNSEEN : 0;
        for (size_t k = 0; k < d; k++)
            error[1 + k] = steep || no_score ? INFINITY : error[0] / sqrt(2 * w->shared.tau);
    }
    hb_release(w->context, memory);
    return status;
}

/* A walk back that is led by a frame or by a potential goes straight to where the density at x0 seems to come from. Where
 * a well is so steep that falling into it and climbing out again is likelier, that is seen by none of many walks:
 * drift -0.7 x + 16.8 q/(1 + q^2), q = -2.545 x - 0.966, noise 0.841, t = 0.92, x = 0.186: 40 % off with a claimed
 * error of 0.4 %. Reversed walks follow the drift, and say when they cannot tell. */
static hb_status find_stiff(walk_estimator *w)
{
    const size_t d = w->shared.d;
    void *memory;
    if (!w->shared.gradient || d > STIFF_DIM) return HB_OK;
    HB_TRY(hb_allocate(w->context, LINE * (d * d + 2 * d + 1), sizeof(double), &memory));
    hb_status status = HB_OK;
    for (size_t i = 0; i < w->n && status == HB_OK; i++) {
        double most = 0;
        status = steepest(w, w->points + i * d, memory, &most);
        w->stiff[i] = most * w->shared.tau > STIFF;
    }
    hb_release(w->context, memory);
    return status;
}

/* Whether walks, whose ends are spread over b = sqrt(2 tau), meet the peak of the initial density too rarely: one that does
 * counts for b sqrt(2 pi) max u others on each axis. */
static int start_is_hidden(const walk_estimator *w)
{
    double weight = 0;
    for (int a = 0; a < (int)w->shared.d; a++) {
        const double most = hb_problem_initial_most(w->shared.problem, a);
        weight += fmax(0, most + 0.5 * log(4 * M_PI * w->shared.tau));
    }
    return weight > log(RARE_START);
}

/* Under a linear drift walks end at N(m, C). Adds to *part which part of E[u0] comes along an
 * axis from beyond UNREACHED
 * standard deviations, where one walk in 16000 ends: a start that rises steeply there has its
 * mass unseen. */
static hb_status add_unreached(const walk_estimator *w, const double *x, size_t axis, double *part)
{
    const size_t d = w->shared.d;
    const double *E = w->shared.exact + axis * d, *n = w->shared.exact + 2 * d * d;
    const double s = sqrt(w->shared.exact[d * d + axis * (d + 1)]);
    double mean = n[axis], sum = 0, far = 0;
    for (size_t k = 0; k < d; k++) mean += E[k] * x[k];
    for (int band = -BANDS; band < BANDS; band++) {
        const double low = mean + 0.5 * band * s, away = fabs(0.5 * band + 0.25);
        double log_mass = -INFINITY;
        int known;
        HB_TRY(hb_problem_initial_axis_mass(w->context, w->shared.problem, (int)axis, low,
                                            low + 0.5 * s, &known, &log_mass));
        if (!known) return HB_OK;
        const double value = exp(log_mass - away * away / 2);
        sum += value;
        if (away > UNREACHED) far += value;
    }
    if (far > LEAST_PART * sum) *part += far / sum;
    return HB_OK;
}

static hb_status find_unreached(walk_estimator *w)
{
    if (!w->shared.exact || w->closed) return HB_OK;
    for (size_t i = 0; i < w->n; i++) {
        double part = 0;
        for (size_t a = 0; a < w->shared.d; a++)
            HB_TRY(add_unreached(w, w->points + i * w->shared.d, a, &part));
        w->hidden[i] = (hb_hidden){.steps = part, .marches = part};
    }
    return HB_OK;
}

/* Narrow parts of the start and of the drift. Walks whose only step is exact have none of the
 * drift's. */
static hb_status find_hidden(walk_estimator *w)
{
    hb_status status = HB_OK;
    const int start = start_is_hidden(w);
    for (size_t i = 0; i < w->n && start; i++)
        w->hidden[i] = (hb_hidden){.steps = INFINITY, .marches = INFINITY};
    if (start) return HB_OK;
    if (w->shared.linear) return find_unreached(w);
    for (size_t i = 0; i < w->n && status == HB_OK; i++)
        status = hb_walk_hidden(w->context, &w->shared, w->points + i * w->shared.d, w->hidden + i);
    return status;
}

/* What they may have done, by the plan that was taken. */
static void doubt_hidden(walk_estimator *w)
{
    const size_t row = 1 + w->shared.d;
    const double away = w->shared.linear ? UNREACHED + 2 : 1; /* deviations, as in the score */
    for (size_t i = 0; i < w->n; i++) {
        const double effect = is_march(w->plans + i) ? w->hidden[i].marches : w->hidden[i].steps;
        double *error = w->errors + i * row;
        if (!(effect > 0)) continue;
        error[0] += is_hidden(effect) ? INFINITY : effect;
        for (size_t k = 1; k < row; k++)
            error[k] += is_hidden(effect) ? INFINITY : away * effect / sqrt(2 * w->shared.tau);
        w->far = 1;
    }
}

/* Walks that are led to a point go the straight way too, reversed or not: far in a tail one through a well beside it may
 * be likelier by orders of magnitude, and is seen by none. Where walks to a point do not vary, the sums in ln W, of
 * |x0 - y|^2/4tau + tau |F|^2/4 at most, are rounded: that is then all of the error. */
static hb_status doubt_far(walk_estimator *w)
{
    const size_t d = w->shared.d, row = 1 + d;
    const double tau = w->shared.tau, *place = w->shared.place;
    void *memory;
    if (!place) return HB_OK;
    HB_TRY(hb_allocate(w->context, d, sizeof(double), &memory));
    double *F = memory;
    hb_status status = HB_OK;
    for (size_t i = 0; i < w->n && status == HB_OK; i++) {
        const double *x = w->points + i * d;
        double squares = 0;
        status =
            hb_problem_drift_each(w->context, w->shared.problem, 1, x, &tau, F, NULL, NULL, NULL);
        for (size_t k = 0; k < d && status == HB_OK; k++)
            squares += (x[k] - place[k]) * (x[k] - place[k]) / (4 * tau) + tau * F[k] * F[k] / 4;
        const int lost = w->stiff[i] && w->log_scale[i] <= FAR;
        w->errors[i * row] = ROUNDING * squares;
        for (size_t k = 0; k < row && lost; k++) w->errors[i * row + k] = INFINITY;
        w->far = 1;
    }
    hb_release(w->context, memory);
    return status;
}

/* ---- creation ------------------------------------------------------------------------------- */

static void destroy(void *self)
{
    walk_estimator *w = self;
    if (!w) return;
    for (int t = 0; w->blocks && t < w->n_threads; t++) hb_walk_block_destroy(w->blocks[t]);
    hb_workspace_destroy(&w->work);
    hb_walk_linear_clear(w->context, &w->linear);
    hb_gauge_formula_destroy(w->gauge);
    hb_release(w->context, w);
}

/* Ends can be drawn through the frame of the whole way: beyond, coordinates that are mixed lose their
 * digits. */
static int is_sound(const hb_walk_linear *linear)
{
    double most = 0;
    for (size_t k = 0; linear->backward && k < linear->d * linear->d; k++)
        most = fmax(most, fabs(linear->backward[k]));
    return linear->backward && (linear->diagonal || most < MOST_GROWTH);
}

/* Walks of many steps go along heat balls and isotropic frames. */
static hb_status check_noise(const walk_estimator *w, const hb_problem *problem)
{
    const hb_noise_kind kind = hb_problem_noise_kind(problem);
    if (kind == HB_NOISE_SCALAR || (kind == HB_NOISE_MATRIX && w->shared.linear)) return HB_OK;
    const char *why = kind == HB_NOISE_FIELD          ? "a noise that depends on x"
                      : hb_problem_is_linear(problem) ? "this start under a noise that is a matrix"
                                                      : "a noise that is a matrix, unless the "
                                                        "drift is linear";
    return hb_fail(w->context, HB_ERROR_ARGUMENT, "walks are not made for %s; take the method %s",
                   why, kind == HB_NOISE_FIELD ? "grid" : "particles");
}

/* A frame keeps the drift of its beginning. Over a piece of length h between cuts the rest, by which F changes there, is
 * worth |dF| sqrt(2h) in the exponent of a weight: of a pulse that moves x by a within w about a/sqrt(w), which no number
 * of walks averages. The sum for a walk that stays where it is is looked at. */
static hb_status check_pulses(const walk_estimator *w)
{
    const size_t d = w->shared.d, stride = 1 + w->n / PULSE_POINTS;
    const hb_time_cuts *cuts = w->shared.cuts;
    void *memory;
    if (!cuts) return HB_OK;
    HB_TRY(hb_allocate(w->context, 2 * d, sizeof(double), &memory));
    double *F = memory, worst = 0; // (2, d)
    hb_status status = HB_OK;
    for (size_t i = 0; i < w->n && status == HB_OK; i += stride) {
        double sum = 0;
        for (int k = 0; k < cuts->n && cuts->tau[k] < w->shared.tau && status == HB_OK; k++) {
            double most = 0, *now = F + (size_t)(k % 2) * d, *before = F + (size_t)(1 - k % 2) * d;
            status = hb_problem_drift_each(w->context, w->shared.problem, 1, w->points + i * d,
                                           cuts->tau + k, now, NULL, NULL, NULL);
            for (size_t a = 0; a < d && k > 0; a++) most = fmax(most, fabs(now[a] - before[a]));
            if (k > 0) sum += most * sqrt(2 * (cuts->tau[k] - cuts->tau[k - 1]));
        }
        worst = fmax(worst, sum);
    }
    hb_release(w->context, memory);
    HB_TRY(status);
    HB_CHECK(w->context, worst <= MOST_PULSE, HB_ERROR_ARGUMENT,
             "the drift has a narrow pulse in t that is too strong for walks; take the method %s",
             d <= 3 ? "particles or grid" : "particles");
    return HB_OK;
}

/* A uniform start is averaged in closed form under diagonal frames only; and its gradient, a spike
 * at the walls, is had in closed form only. */
static hb_status describe(walk_estimator *w, const hb_problem *problem, double tau)
{
    const size_t d = (size_t)hb_problem_dim(problem);
    const int uniform = hb_problem_initial_facts(problem)->box;
    hb_walk_problem *shared = &w->shared;
    HB_TRY(hb_walk_linear_find(w->context, problem, tau, &w->linear));
    const int diagonal = w->linear.diagonal;
    w->closed = hb_walk_linear_is_closed(&w->linear);
    *shared = (hb_walk_problem){
        .problem = problem, .d = d, .tau = tau, .place = hb_problem_initial_place(problem)};
    shared->linear = w->closed || (is_sound(&w->linear) && (!uniform || diagonal));
    shared->exact = shared->linear ? w->linear.backward : NULL;
    shared->cuts =
        shared->linear || hb_problem_cuts(problem)->n == 0 ? NULL : hb_problem_cuts(problem);
    shared->gradient = !shared->linear && hb_problem_is_gradient(problem) &&
                       hb_problem_is_autonomous(problem) &&
                       hb_problem_facts(problem)->n_breaks == 0;
    w->breaks = !w->closed && (hb_problem_facts(problem)->n_breaks > 0 ||
                               hb_problem_initial_facts(problem)->broken);
    const size_t most = shared->gradient ? GRADIENT_FRAME_DIM : FULL_FRAME_DIM;
    shared->full_frame = d > 1 && !uniform && !diagonal && (shared->linear || d <= most);
    shared->closed_form = hb_initial_average_is_closed(problem, !shared->full_frame);
    shared->semidefinite = hb_problem_noise_kind(problem) == HB_NOISE_MATRIX;
    HB_TRY(check_noise(w, problem));
    HB_TRY(check_pulses(w));
    if (shared->gradient) HB_TRY(hb_gauge_formula_create(w->context, problem, &w->gauge));
    shared->gauge = w->gauge;
    return HB_OK;
}

static hb_status create_arrays(walk_estimator *w)
{
    const size_t d = w->shared.d, n = w->n, threads = (size_t)hb_context_threads(w->context);
    HB_TRY(HB_WORKSPACE(w->context, &w->work, HB_ARRAY(w->log_scale, n), HB_ARRAY(w->plans, n),
                        HB_ARRAY(w->values, n * (1 + d)), HB_ARRAY(w->errors, n * (1 + d)),
                        HB_ARRAY(w->seconds, n), HB_ARRAY(w->unserved, n), HB_ARRAY(w->stiff, n),
                        HB_ARRAY(w->hidden, n), HB_ARRAY(w->guides, n * 2 * d),
                        HB_ARRAY_IF(!w->closed, w->parts, n * BLOCKS * hb_tally_size((int)d)),
                        HB_ARRAY(w->counted, threads * HB_WALK_BLOCK * (1 + d)),
                        HB_ARRAY(w->alone, threads), HB_ARRAY(w->blocks, threads)));
    memset(w->log_scale, 0, n * sizeof *w->log_scale);
    memset(w->plans, 0, n * sizeof *w->plans);
    memset(w->unserved, 0, n);
    memset(w->stiff, 0, n);
    memset(w->hidden, 0, n * sizeof *w->hidden);
    memset(w->errors, 0, n * (1 + d) * sizeof *w->errors);
    memset((void *)w->blocks, 0, threads * sizeof *w->blocks);
    w->n_threads = (int)threads;
    for (size_t t = 0; t < threads && !w->closed; t++) {
        w->alone[t] = hb_context_child(w->context, 1);
        HB_TRY(hb_context_adopt(w->context, w->alone + t,
                                hb_walk_block_create(w->alone + t, &w->shared, w->blocks + t)));
    }
    return HB_OK;
}

static void write_note(const walk_estimator *w, char *note, size_t size)
{
    size_t ways[] = {[HB_WALK_PARAMETRIX] = 0, [HB_WALK_GAUGE] = 0, [HB_WALK_BALL] = 0,
                     [HB_WALK_REVERSED] = 0,   [HB_WALK_MARCH] = 0, [HB_WALK_LED] = 0};
    for (size_t i = 0; i < w->n; i++) ways[w->plans[i].way] += !w->unserved[i];
    const size_t gauge = ways[HB_WALK_GAUGE] + ways[HB_WALK_BALL];
    const char *frame = w->shared.linear       ? "the drift is linear: one exact step"
                        : w->shared.full_frame ? "parametrix in the linear frame"
                        : w->shared.d == 1     ? "parametrix in the linear frame"
                                               : "parametrix in the diagonal frame";
    const size_t led = ways[HB_WALK_LED];
    const int all = ways[HB_WALK_MARCH] + led == w->n && w->n > 0; /* have no steps */
    int used = snprintf(note, size, "%s", all ? "no drift but a potential" : frame);
    if (ways[HB_WALK_REVERSED] > 0)
        used += snprintf(note + used, size - (size_t)used, ", reversed at %zu of %zu points",
                         ways[HB_WALK_REVERSED], w->n);
    if (gauge > 0)
        used +=
            snprintf(note + used, size - (size_t)used, ", gauge at %zu of %zu points", gauge, w->n);
    if (ways[HB_WALK_MARCH] > 0)
        used += snprintf(note + used, size - (size_t)used,
                         ", Brownian bridges at %zu of %zu points", ways[HB_WALK_MARCH], w->n);
    if (led > 0)
        used += snprintf(note + used, size - (size_t)used,
                         ", bridges about the most probable path at %zu of %zu points", led, w->n);
    if (!all)
        used += snprintf(note + used, size - (size_t)used, "; %s",
                         w->closed || w->shared.closed_form ? "the last step in closed form"
                                                            : "the last step drawn");
}

hb_status hb_walk_estimator(hb_context *context, const hb_problem *problem, double tau,
                            const hb_sampling_settings *settings, size_t n, const double *points,
                            hb_estimator *out)
{
    void *memory;
    HB_CHECK(context, tau > 0 && isfinite(tau), HB_ERROR_ARGUMENT,
             "tau is %g; walks need it above 0", tau);
    HB_TRY(hb_allocate(context, 1, sizeof(walk_estimator), &memory));
    walk_estimator *w = memory;
    *w = (walk_estimator){.context = context, .seed = settings->seed, .n = n, .points = points};
    hb_status status = describe(w, problem, tau);
    if (status == HB_OK) status = create_arrays(w);
    if (status == HB_OK) status = find_stiff(w);
    if (status == HB_OK) status = find_hidden(w);
    if (status == HB_OK) status = run_pilot(w);
    if (status == HB_OK) status = choose_round(w, settings->max_time);
    if (status == HB_OK && w->shared.gradient) status = doubt_far(w);
    if (status == HB_OK && w->breaks) status = doubt_breaks(w);
    if (status == HB_OK && !w->closed) doubt_hidden(w);
    if (status != HB_OK) {
        destroy(w);
        return status;
    }
    *out = (hb_estimator){.self = w,
                          .name = "walk",
                          .unit = "walks",
                          .samples_per_round = w->closed ? 1 : w->walks,
                          .rounds = w->closed ? 1 : UINT64_MAX / WALKS_PER_ROUND / w->shared.d / 2,
                          .unserved = w->unserved,
                          .resize = resize,
                          .exact = w->closed,
                          .log_scale = w->log_scale,
                          .known_error = w->closed || w->breaks || w->far ? w->errors : NULL,
                          .round = w->closed ? add_closed : add_round,
                          .watch = w->closed ? NULL : watch_round,
                          .watch_parts = 1,
                          .destroy = destroy};
    write_note(w, out->note, sizeof out->note);
    return HB_OK;
}
