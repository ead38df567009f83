/* The paper's heat-ball loss as printed:
 *     L = mean over anchors of ( v(x_0,tau_0) - (1/N) sum_i v(x_0 - z_i, tau_0 - sigma_i) )^2,
 * (z, sigma) drawn from kappa on the unit ball with sigma truncated to [sigma_min, sigma_max],
 * sigma_min = 1e-3. It has no source, so the true v = ln u does not make it 0: in the plane, for OU
 * and its stationary density, the bracket is off by 0.020. It is here for the paper's rows only.
 * What the paper leaves open: N is 2 * nodes; anchors with tau_0 <= sigma_max + tau_min, whose ball
 * would leave the domain, take no part; draws outside the truncation are dropped, and N is the
 * number of those kept. A number to reproduce: OU, N(0, I) in the plane, r = 1: v - E v = -E|z|^2/2
 * + ..., see tests/train/test_losses.c. */
#include "train/ball_rows.h"

#include <heatball/ball.h>

static const double SIGMA_MIN = 1e-3;

typedef struct paper_scratch {
    hb_scratch own;
    size_t draws;           /* of one anchor, before truncation */
    double *draw_z, *sigma; // (draws, dim), (draws)
    hb_ball_rows at;
    hb_row_values net;
    size_t *first, *count; // (anchors): rows of the nodes; count 0: no part
} paper_scratch;

static hb_status paper_prepare(hb_trainer *trainer)
{
    HB_CHECK(trainer->context, trainer->model->info.head == HB_HEAD_ENERGY, HB_ERROR_ARGUMENT,
             "the hb-paper loss needs the energy head");
    HB_CHECK(trainer->context, !trainer->settings.drift, HB_ERROR_ARGUMENT,
             "the hb-paper loss has no drift; it needs the process ou or ve");
    HB_CHECK(trainer->context, trainer->settings.tau_max > trainer->settings.sigma_max,
             HB_ERROR_ARGUMENT, "tau_max is %g; the hb-paper loss needs it above sigma_max, %g",
             trainer->settings.tau_max, trainer->settings.sigma_max);
    return HB_OK;
}

static hb_status paper_create(hb_micro_batch *micro)
{
    hb_context *context = micro->trainer->context;
    const size_t d = (size_t)micro->trainer->model->info.dim, m = micro->anchors;
    const size_t draws = 2 * (size_t)micro->trainer->settings.nodes, rows = m * (1 + draws);
    paper_scratch *work;
    HB_TRY(hb_scratch_create(micro, sizeof *work, HB_WANT_VALUES, rows, &work));
    work->draws = draws;
    if (m == 0) return HB_OK;
    return HB_WORKSPACE(context, &work->own.arrays, HB_ARRAY(work->draw_z, draws * d),
                        HB_ARRAY(work->sigma, draws), HB_BALL_ROWS(micro, work->at, rows, d),
                        HB_ROW_VALUES(work->net, rows, d), HB_ARRAY(work->first, m),
                        HB_ARRAY(work->count, m));
}

static void paper_place(const hb_micro_batch *micro, paper_scratch *work, size_t i, const double *z,
                        double sigma, size_t row)
{
    const size_t d = (size_t)micro->trainer->model->info.dim;
    for (size_t k = 0; k < d; k++)
        work->at.z[row * d + k] = micro->anchor.z[i * d + k] - (z ? z[k] : 0);
    hb_model_level(micro->trainer->model, micro->anchor.level[i].tau - sigma, &work->at.level[row]);
    if (work->at.labels) work->at.labels[row] = micro->anchor.labels[i];
}

/* Nodes of anchor i from `row` on; returns the row behind them in *row. */
static hb_status paper_place_nodes(hb_micro_batch *micro, paper_scratch *work, size_t i,
                                   size_t *row)
{
    const hb_trainer *trainer = micro->trainer;
    const hb_train_settings *s = &trainer->settings;
    const size_t d = (size_t)trainer->model->info.dim;
    const uint64_t index = trainer->state.step * (uint64_t)s->anchors + micro->first_anchor + i;
    work->first[i] = *row;
    work->count[i] = 0;
    if (micro->anchor.level[i].tau <= s->sigma_max + s->tau_min) return HB_OK;
    HB_TRY(hb_ball_sample(&micro->alone, HB_MEASURE_KAPPA, (int)d, 0, s->seed, index * work->draws,
                          work->draws, 1, work->draw_z, work->sigma));
    for (size_t j = 0; j < work->draws; j++) {
        if (work->sigma[j] < SIGMA_MIN || work->sigma[j] > s->sigma_max) continue;
        paper_place(micro, work, i, work->draw_z + j * d, work->sigma[j], (*row)++);
        work->count[i]++;
    }
    return HB_OK;
}

static void paper_add_anchor(hb_micro_batch *micro, paper_scratch *work, size_t i)
{
    const hb_trainer *trainer = micro->trainer;
    const size_t first = work->first[i], n = work->count[i];
    if (n == 0) return;
    const double factor = trainer->settings.weight * trainer->ramp / trainer->settings.anchors;
    double residual = work->net.v[i];
    for (size_t j = first; j < first + n; j++) residual -= work->net.v[j] / (double)n;
    micro->losses[HB_LOSS_OF_CONSTRAINT] += factor * residual * residual;
    micro->losses[HB_LOSS_RESIDUAL2] += residual * residual / trainer->settings.anchors;
    work->net.cotangent[i] = (float)(2 * factor * residual);
    for (size_t j = first; j < first + n; j++)
        work->net.cotangent[j] = (float)(-2 * factor * residual / (double)n);
}

static hb_status paper_add(hb_micro_batch *micro)
{
    paper_scratch *work = micro->scratch;
    size_t rows = micro->anchors;
    for (size_t i = 0; i < micro->anchors; i++) {
        paper_place(micro, work, i, NULL, 0, i);
        HB_TRY(paper_place_nodes(micro, work, i, &rows));
    }
    const hb_points points = {rows, work->at.z, work->at.level, work->at.labels};
    HB_TRY(hb_row_values_forward(micro, &points, &work->net));
    for (size_t i = 0; i < rows; i++) work->net.v[i] += (double)work->net.w[i];
    for (size_t i = 0; i < micro->anchors; i++) paper_add_anchor(micro, work, i);
    return hb_row_values_backward(micro, &work->net);
}

static const hb_constraint paper = {.weight = 1,
                                    .most_weight = 1,
                                    .prepare = paper_prepare,
                                    .create = paper_create,
                                    .add = paper_add};
const hb_loss_ops hb_loss_hb_paper = {.energy = &paper, .other = &paper};
