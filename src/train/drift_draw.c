/* Rows, targets and anchors of a step with a user's drift.
 *
 * The last transition of a path, over the lag D = 2h, is a symmetric step of weak order 2 (G.
 * Strang, SIAM J. Numer. Anal. 5, 1968): with phi_h the flow of dx/dt = F,
 *     y = phi_h(x) + sqrt(2D) e,     z = phi_h(y).
 * Given paths x_j (of the pool: phi_h(x_j) = f_j), y has the density sum_j N(y; f_j, 2D I), the
 * same isotropic noise for all, and z that of y carried by phi_h, so its score is
 *     s_z = A^-T (s_y - grad ln det A),     A = d phi_h/dy,     s_y = (f* - y)/(2D),
 * f* the row's own f_j, or the mean of M of them weighted with exp(-|y - f_j|^2/4D) (the targets
 * with less noise of denoise_target.c). With J and grad div F at the midpoint phi_{h/2}(y),
 *     A = e^{hJ},    A^-T grad ln det A = h e^{-hJ'/2} grad div F,
 * up to h^3, as the step itself. Rows go in groups of HB_POOL_GROUP that share a level of tau and
 * the paths of their targets. Anchors: f_j with noise of variance 2D + spread^2 b, then phi_h.
 * A number to reproduce: F = -x: s_z = e^h s_y. */
#include "train/drift_pool.h"
#include "train/trainer.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum { SERIES = 6 };

typedef struct drift_scratch {
    size_t most;           /* paths of a target, a multiple of HB_SOFTMAX_GROUP; 0: the row's own */
    double *y, *end;       // (rows, dim): before and after the flow
    double *flow;          // (3, rows, dim)
    double *slope, *bend;  // (rows, dim): s_y, then s_z; grad div F
    double *jacobian;      // (rows, dim, dim)
    double *term;          // (2, dim)
    float *y_float, *mean; // (rows, dim)
    float *weight;         // (HB_POOL_GROUP, most)
} drift_scratch;

static hb_status drift_create_micro_batch(hb_micro_batch *micro)
{
    const hb_trainer *trainer = micro->trainer;
    const size_t d = (size_t)trainer->model->info.dim;
    const size_t n = micro->count > micro->anchors ? micro->count : micro->anchors;
    drift_scratch *work, made = {0};
    const size_t asked = (size_t)trainer->settings.target_rows, members = trainer->pool->members;
    if (asked > 0) {
        const size_t most = (asked + HB_SOFTMAX_GROUP - 1) / HB_SOFTMAX_GROUP * HB_SOFTMAX_GROUP;
        made.most = most < members ? most : members;
    }
    HB_TRY(HB_WORKSPACE(
        trainer->context, &micro->drawing_work, HB_ARRAY(work, 1), HB_ARRAY(made.y, n * d),
        HB_ARRAY(made.end, n * d), HB_ARRAY(made.slope, n * d), HB_ARRAY(made.bend, n * d),
        HB_ARRAY(made.flow, 3 * n * d), HB_ARRAY(made.jacobian, n * d * d),
        HB_ARRAY(made.term, 2 * d), HB_ARRAY(made.y_float, n * d), HB_ARRAY(made.mean, n * d),
        HB_ARRAY(made.weight, HB_POOL_GROUP * made.most)));
    *work = made;
    micro->drawing = work;
    return HB_OK;
}

/* ---- along the flow ---- */

/* v becomes e^{-hJ'} v by its series; J' is the transpose of (d, d). */
static void drift_back_along(size_t d, const double *jacobian, double h, double *v, double *scratch)
{
    double *term = scratch, *next = scratch + d;
    memcpy(term, v, d * sizeof *v);
    for (int k = 1; k <= SERIES; k++) {
        for (size_t i = 0; i < d; i++) {
            next[i] = 0;
            for (size_t j = 0; j < d; j++) next[i] -= h / k * jacobian[j * d + i] * term[j];
        }
        memcpy(term, next, d * sizeof *term);
        for (size_t i = 0; i < d; i++) v[i] += term[i];
    }
}

/* A row that the flow threw far away stays where it was: it is far outside the data. */
static int drift_keep_row(size_t d, const double *y, double *end)
{
    for (size_t j = 0; j < d; j++)
        if (!(fabs(end[j]) <= 1e3 * (1 + fabs(y[j])))) {
            memcpy(end, y, d * sizeof *end);
            return 0;
        }
    return 1;
}

/* end = phi_h(y) for rows first .. first+n-1, all of one level; J and grad div F at the midpoint
 * when `slopes`. */
static hb_status drift_flow_rows(hb_micro_batch *micro, size_t first, size_t n, double h,
                                 int slopes)
{
    const hb_trainer *trainer = micro->trainer;
    const hb_problem *drift = trainer->settings.drift;
    drift_scratch *work = micro->drawing;
    const size_t d = (size_t)trainer->model->info.dim;
    double *end = work->end + first * d;
    memcpy(end, work->y + first * d, n * d * sizeof *end);
    HB_TRY(hb_drift_flow(&micro->alone, drift, n, d, h / 2, end, work->flow));
    if (slopes)
        HB_TRY(hb_drift_at(&micro->alone, drift, n, end, NULL, NULL, work->bend + first * d,
                           work->jacobian + first * d * d));
    HB_TRY(hb_drift_flow(&micro->alone, drift, n, d, h / 2, end, work->flow));
    for (size_t i = first; i < first + n; i++)
        drift_keep_row(d, work->y + i * d, work->end + i * d);
    return HB_OK;
}

/* s_y of row i to s_z. */
static void drift_carry_score(drift_scratch *work, size_t d, size_t i, double h)
{
    double *slope = work->slope + i * d, *bend = work->bend + i * d;
    const double *jacobian = work->jacobian + i * d * d;
    drift_back_along(d, jacobian, h, slope, work->term);
    drift_back_along(d, jacobian, h / 2, bend, work->term);
    for (size_t j = 0; j < d; j++) slope[j] -= h * bend[j];
}

/* ---- rows ---- */

/* Where group g of `groups` stands: its level and the first of its paths. */
typedef struct hb_group {
    size_t level, first;
} hb_group;

static hb_status drift_draw_group(hb_micro_batch *micro, int stream, size_t g, size_t groups,
                                  size_t window, hb_group *out)
{
    const hb_trainer *trainer = micro->trainer;
    double u[2];
    HB_TRY(hb_random_uniform(&micro->alone, trainer->settings.seed,
                             HB_STREAM_TRAIN + (uint64_t)stream,
                             2 * (trainer->state.step * groups + g), 2, u));
    const double part = ((double)g + u[0]) / (double)groups;
    out->level = (size_t)(part * HB_POOL_LEVELS);
    if (out->level >= HB_POOL_LEVELS) out->level = HB_POOL_LEVELS - 1;
    out->first = (size_t)(u[1] * (double)(trainer->pool->members - window + 1));
    return HB_OK;
}

/* f* of the n rows from `first` on over the group's paths, into work->mean. */
static hb_status drift_average(hb_micro_batch *micro, const hb_group *group, size_t first, size_t n)
{
    drift_scratch *work = micro->drawing;
    const hb_pool *pool = micro->trainer->pool;
    const size_t d = (size_t)micro->trainer->model->info.dim, most = work->most;
    const size_t at = group->level * pool->members + group->first;
    const float per = (float)(1 / (2 * pool->lag[group->level]));
    const float *from = pool->from + at * d, *half = pool->half_squares + at;
    const hb_net_layer products = {.in = d, .out = most};
    HB_TRY(hb_net_to_outputs(&micro->alone, &products, n, from, work->y_float + first * d,
                             work->weight));
    for (size_t i = 0; i < n; i++) {
        const int label = micro->rows.labels ? micro->rows.labels[first + i] : -1;
        float *restrict weight = work->weight + i * most;
        for (size_t j = 0; j < most; j++) weight[j] = per * (weight[j] - half[j]);
        for (size_t j = 0; label >= 0 && j < most; j++)
            if (pool->member_labels[group->first + j] != label) weight[j] = -INFINITY;
        hb_net_kernels_of(micro->alone.isa)->softmax(most, weight);
    }
    return hb_net_to_inputs(&micro->alone, &products, n, from, work->weight, 0,
                            work->mean + first * d);
}

/* Rows first .. first+n-1 of the micro-batch, all of one group; own: the first of them in the
 * group. */
static hb_status drift_draw_rows_of_group(hb_micro_batch *micro, const hb_group *group,
                                          size_t first, size_t n, size_t own)
{
    const hb_trainer *trainer = micro->trainer;
    const hb_pool *pool = trainer->pool;
    drift_scratch *work = micro->drawing;
    hb_rows *rows = &micro->rows;
    const size_t d = (size_t)trainer->model->info.dim;
    const double lag = pool->lag[group->level], reach = sqrt(2 * lag);
    const int plain = work->most == 0 && !trainer->constraint;
    const float *from = pool->from + (group->level * pool->members + group->first + own) * d;
    for (size_t i = 0; i < n * d; i++) {
        const size_t to = first * d + i;
        work->y[to] = (double)from[i] + reach * (double)rows->noise[to];
        work->y_float[to] = (float)work->y[to];
        work->mean[to] = from[i];
    }
    for (size_t i = 0; i < n; i++) {
        hb_model_level(trainer->model, pool->tau[group->level], &rows->level[first + i]);
        rows->weight[first + i] = 1;
        rows->root[first + i] = plain ? reach : sqrt(rows->level[first + i].b);
    }
    if (work->most > 0) HB_TRY(drift_average(micro, group, first, n));
    HB_TRY(drift_flow_rows(micro, first, n, lag / 2, 1));
    for (size_t i = first * d; i < (first + n) * d; i++) {
        work->slope[i] = ((double)work->mean[i] - work->y[i]) / (2 * lag);
        rows->z[i] = work->end[i];
    }
    for (size_t i = first; i < first + n; i++) {
        drift_carry_score(work, d, i, lag / 2);
        for (size_t j = i * d; j < (i + 1) * d; j++)
            rows->noise[j] = (float)(-rows->root[i] * work->slope[j]);
    }
    return HB_OK;
}

/* Labels are those of the rows' own paths, some dropped; they are needed before the targets. */
static hb_status drift_draw_labels(hb_micro_batch *micro, const hb_group *group, size_t first,
                                   size_t n, size_t own)
{
    const hb_trainer *trainer = micro->trainer;
    const size_t batch = (size_t)trainer->settings.batch;
    if (!micro->rows.labels) return HB_OK;
    HB_TRY(
        hb_random_uniform(&micro->alone, trainer->settings.seed, HB_STREAM_TRAIN + HB_STREAM_LABEL,
                          trainer->state.step * batch + micro->first + first, n, micro->uniform));
    for (size_t i = 0; i < n; i++)
        micro->rows.labels[first + i] = micro->uniform[i] < trainer->settings.label_dropout
                                            ? -1
                                            : trainer->pool->member_labels[group->first + own + i];
    return HB_OK;
}

static hb_status drift_draw_rows(hb_micro_batch *micro)
{
    const hb_trainer *trainer = micro->trainer;
    const size_t batch = (size_t)trainer->settings.batch;
    const size_t groups = (batch + HB_POOL_GROUP - 1) / HB_POOL_GROUP;
    const size_t most = ((const drift_scratch *)micro->drawing)->most;
    const size_t window = most > HB_POOL_GROUP ? most : HB_POOL_GROUP;
    HB_TRY(hb_draw_noise(micro, HB_STREAM_NOISE, micro->first, batch, &micro->rows));
    for (size_t i = 0, n; i < micro->count; i += n) {
        const size_t row = micro->first + i, own = row % HB_POOL_GROUP;
        hb_group group;
        n = HB_POOL_GROUP - own < micro->count - i ? HB_POOL_GROUP - own : micro->count - i;
        HB_TRY(drift_draw_group(micro, HB_STREAM_TAU, row / HB_POOL_GROUP, groups, window, &group));
        HB_TRY(drift_draw_labels(micro, &group, i, n, own));
        HB_TRY(drift_draw_rows_of_group(micro, &group, i, n, own));
    }
    return HB_OK;
}

/* ---- anchors ---- */

/* A residual counts 1/(1 + |F|^2/(30 mean |F|^2)) of itself, less where the drift is strong. */
static hb_status drift_weigh_anchors(hb_micro_batch *micro)
{
    const size_t d = (size_t)micro->trainer->model->info.dim;
    drift_scratch *work = micro->drawing;
    const hb_rows *rows = &micro->anchor;
    HB_TRY(hb_problem_drift(&micro->alone, micro->trainer->settings.drift, rows->n, rows->z, 0,
                            work->flow, NULL, NULL, NULL));
    for (size_t i = 0; i < rows->n; i++) {
        double square = 0;
        for (size_t j = i * d; j < (i + 1) * d; j++) square += work->flow[j] * work->flow[j];
        rows->weight[i] = 1 / (1 + square / (30 * micro->trainer->pool->strength));
    }
    return HB_OK;
}

static hb_status drift_draw_anchors(hb_micro_batch *micro)
{
    const hb_trainer *trainer = micro->trainer;
    const hb_pool *pool = trainer->pool;
    const size_t total = (size_t)trainer->settings.anchors, d = (size_t)trainer->model->info.dim;
    const double spread = trainer->settings.anchor_spread;
    drift_scratch *work = micro->drawing;
    hb_rows *rows = &micro->anchor;
    HB_TRY(hb_draw_levels(micro, HB_STREAM_ANCHOR_TAU, micro->first_anchor, total, rows));
    HB_TRY(hb_draw_noise(micro, HB_STREAM_ANCHOR_NOISE, micro->first_anchor, total, rows));
    HB_TRY(hb_random_uniform(
        &micro->alone, trainer->settings.seed, HB_STREAM_TRAIN + HB_STREAM_ANCHOR_ROW,
        trainer->state.step * total + micro->first_anchor, rows->n, micro->uniform));
    for (size_t i = 0, k = 0; i < rows->n; i++) {
        const hb_noise_level *c = &rows->level[i];
        while (k + 1 < HB_POOL_LEVELS && pool->tau[k + 1] <= c->tau) k++; /* tau rises */
        const size_t member = (size_t)(micro->uniform[i] * (double)pool->members);
        const float *from = pool->from + (k * pool->members + member) * d;
        const double reach = sqrt(2 * pool->lag[k] + spread * spread * c->b);
        for (size_t j = 0; j < d; j++)
            work->y[i * d + j] = (double)from[j] + reach * (double)rows->noise[i * d + j];
        if (rows->labels) rows->labels[i] = pool->member_labels[member];
        HB_TRY(drift_flow_rows(micro, i, 1, pool->lag[k] / 2, 0));
    }
    memcpy(rows->z, work->end, rows->n * d * sizeof *rows->z);
    return drift_weigh_anchors(micro);
}

/* weight: b, whose cube weights a residual, is small where a user's drift is fast (models.md) */
const hb_row_source hb_rows_of_drift = {.weight = 6,
                                        .falls_from = 2,
                                        .create = hb_pool_create,
                                        .destroy = hb_pool_destroy,
                                        .create_micro_batch = drift_create_micro_batch,
                                        .begin = hb_pool_refresh,
                                        .rows = drift_draw_rows,
                                        .anchors = drift_draw_anchors,
                                        .terms = hb_drift_terms};
