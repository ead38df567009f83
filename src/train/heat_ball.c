/* The heat-ball loss for the energy head: values of the network only.
 *
 * OU and VE are the heat equation in y = z/a, s = b/(2 a^2): p~(y,s) = a^d p(z,tau) solves dp~/ds =
 * Lap p~, so that p~ at an anchor is its kappa average over the heat ball of radius r behind it,
 * without any source. With v = v_ref + w and v_ref an exact solution (net/model_reference.c), for
 * nodes j of weights omega_j,
 *     R = w_0 - ln( sum_j omega_j e^(a_j + w_j) / sum_j omega_j e^(a_j) ),
 *     a_j = v~_ref(j) - v~_ref(0),
 * which is 0 at w = 0 whatever the nodes. r^2 = 4 pi f s_0. The scaled residual
 *     rho = R 4 s_0/(C1 r^2) = R/(pi f C1)
 * tends to b/2 times the pointwise Fokker-Planck residual as f -> 0. Loss: weight * mean of b
 * huber(rho), with b no less than at tau = 0.02 (hb_anchor_weight). dR/dw_0 = 1,
 * dR/dw_j = -(share of node j in the sum above).
 *
 * Nodes: heatball/balls.h; balls are small, since what is of parabolic degree 4 is not exact. Above
 * 64 dimensions: few directions, with a_j = 0 (mean/ball_directions.c). docs/explanation/losses.md.
 * A number to reproduce: in the plane with f = 0.03, rho = 266.67 R. */
#include "mean/ball_rule.h"
#include "train/ball_rows.h"

#include <math.h>

/* Rows: the anchors, then for each anchor its nodes. */
typedef struct ball_scratch {
    hb_scratch own;
    hb_ball_rows at;
    hb_row_values net;  /* v: v~_ref */
    double *share;      // (nodes)
    hb_ball_slopes few; /* many dimensions */
} ball_scratch;

/* ---- made and destroyed ---- */

/* Few directions in the place of all nodes. */
static int heat_ball_has_few(const hb_trainer *trainer)
{
    return trainer->model->info.dim > HB_BALL_MOST_DIM;
}

static hb_status heat_ball_prepare(hb_trainer *trainer)
{
    return heat_ball_has_few(trainer) ? hb_ball_prepare_directions(trainer)
                                      : hb_ball_prepare(trainer);
}

static hb_status heat_ball_create(hb_micro_batch *micro)
{
    const hb_trainer *trainer = micro->trainer;
    const hb_ball_common *common = trainer->common;
    const size_t d = (size_t)trainer->model->info.dim, m = micro->anchors, nodes = common->nodes;
    const size_t inputs = (size_t)hb_model_inputs_count(trainer->model);
    ball_scratch *work;
    size_t rows;
    HB_TRY(hb_ball_scratch_create(micro, sizeof *work, HB_WANT_VALUES, &rows, &work));
    if (rows == 0) return HB_OK;
    work->at.rows = rows;
    HB_TRY(HB_WORKSPACE(trainer->context, &work->own.arrays, HB_BALL_ROWS(micro, work->at, rows, d),
                        HB_ROW_VALUES(work->net, rows, d), HB_ARRAY(work->share, nodes),
                        HB_BALL_SLOPES(work->few, heat_ball_has_few(trainer), m, inputs, d)));
    return heat_ball_has_few(trainer) ? hb_ball_slopes_create(micro) : HB_OK;
}

/* ---- the residual ---- */

/* R of anchor i over the n nodes from `row` on; share[j] = -dR/dw_j. */
static double heat_ball_residual(const ball_scratch *work, size_t i, size_t row, size_t n,
                                 double *share)
{
    const double *weight = work->at.weight + row, base = work->net.v[i];
    double most = -INFINITY, sum = 0, sum_reference = 0;
    for (size_t j = 0; j < n; j++) {
        share[j] = work->net.v[row + j] - base;
        most = fmax(most, share[j] + fmax(0, (double)work->net.w[row + j]));
    }
    for (size_t j = 0; j < n; j++) {
        sum_reference += weight[j] * exp(share[j] - most);
        share[j] = weight[j] * exp(share[j] - most + (double)work->net.w[row + j]);
        sum += share[j];
    }
    for (size_t j = 0; j < n; j++) share[j] /= sum;
    return (double)work->net.w[i] - log(sum / sum_reference);
}

/* Adds `pull` = dL/dR times the derivatives of R to the cotangents. */
static void heat_ball_pull_nodes(ball_scratch *work, size_t i, size_t row, size_t n,
                                 const double *share, double pull)
{
    work->net.cotangent[i] += (float)pull;
    for (size_t j = 0; j < n; j++) work->net.cotangent[row + j] += (float)(-pull * share[j]);
}

/* factor * huber(rho) of anchor i. */
static void heat_ball_add_ball(hb_micro_batch *micro, ball_scratch *work, size_t i, double factor)
{
    const hb_ball_common *common = micro->trainer->common;
    const size_t n = common->nodes, row = micro->anchors + i * n;
    const double scale = work->at.scale[i];
    double slope;
    const double rho = scale * heat_ball_residual(work, i, row, n, work->share);
    micro->losses[HB_LOSS_OF_CONSTRAINT] += factor * hb_huber(rho, &slope);
    micro->losses[HB_LOSS_RESIDUAL2] += rho * rho / micro->trainer->settings.anchors;
    heat_ball_pull_nodes(work, i, row, n, work->share, factor * slope * scale);
}

static hb_status heat_ball_add(hb_micro_batch *micro)
{
    const hb_trainer *trainer = micro->trainer;
    ball_scratch *work = micro->scratch;
    const int few = heat_ball_has_few(trainer);
    if (few) HB_TRY(hb_ball_slopes_look(micro, &work->few));
    HB_TRY(hb_ball_rows_place(micro, few ? work->few.ahead : NULL, few ? work->few.behind : NULL,
                              NULL, &work->at));
    const hb_points points = {work->at.rows, work->at.z, work->at.level, work->at.labels};
    HB_TRY(hb_row_values_forward(micro, &points, &work->net));
    for (size_t i = 0; i < points.n; i++)
        work->net.v[i] =
            few ? 0 : work->net.v[i] + trainer->model->info.dim * log(points.level[i].a);
    const double share = trainer->settings.weight * trainer->ramp / trainer->settings.anchors;
    for (size_t i = 0; i < micro->anchors; i++) {
        const hb_noise_level *c = &micro->anchor.level[i];
        heat_ball_add_ball(micro, work, i, share * hb_anchor_weight(c, trainer->model->info.dim));
    }
    return hb_row_values_backward(micro, &work->net);
}

static const hb_constraint hb = HB_BALL_CONSTRAINT(heat_ball, 2, heat_ball_prepare, 0.3, 64);
const hb_loss_ops hb_loss_hb = {
    .energy = &hb, .other = &hb_constraint_hb_score, .drift = &hb_constraint_hb_drift};
