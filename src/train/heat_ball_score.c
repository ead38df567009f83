/* The heat-ball loss for scores that are no gradient of a network (heads score and helmholtz):
 * values only again.
 *
 * In the frame without drift (mean/ball_place.c) S = grad_y ln p~ = a s satisfies, on the ball
 * behind an anchor,
 *     S_0 = E_kappa[S] + r E[arm |S|^2]
 * (docs/explanation/mean-value.md; the arm is z of the slope measure), and so does S_ref. For q = S - S_ref the
 * residual
 *     R = q_0 - E_kappa[q] - r E[arm (2 S_ref.q + |q|^2)]
 * has no derivative of the network, and is 0 at q = 0. Scaled, rho = R sqrt(2 s_0)/(pi f C1) in
 * each coordinate; loss: weight * mean of (b/dim) sum_i huber(rho_i). It asks for more than a
 * residual of ln p: a rotation is no solution.
 *
 * One set of nodes serves both averages, with arms y/2 (mean/ball_rule.h). A number to reproduce:
 * as the balls shrink rho tends to b^(3/2)/2 times the residual of fokker_planck_score.c, for a
 * score that is a gradient (tests/train/test_losses.c). */
#include "base/linear_algebra.h"
#include "train/ball_rows.h"

#include <string.h>

/* Rows: the anchors; then for each anchor its nodes. */
typedef struct vector_scratch {
    hb_scratch own;
    hb_ball_rows at;
    float *score, *cotangent; // (rows, dim)
    double *arm;              // (rows, dim): r times the arm of every node
    double *residual, *pull;  // (dim)
} vector_scratch;

/* ---- made and destroyed ---- */

static hb_status score_ball_create(hb_micro_batch *micro)
{
    hb_trainer *trainer = micro->trainer;
    const size_t d = (size_t)trainer->model->info.dim;
    vector_scratch *work;
    size_t rows;
    HB_TRY(hb_ball_scratch_create(micro, sizeof *work, HB_WANT_SCORE, &rows, &work));
    if (rows == 0) return HB_OK;
    work->at.rows = rows;
    return HB_WORKSPACE(trainer->context, &work->own.arrays, HB_BALL_ROWS(micro, work->at, rows, d),
                        HB_ARRAY(work->score, rows * d), HB_ARRAY(work->cotangent, rows * d),
                        HB_ARRAY(work->arm, rows * d), HB_ARRAY(work->residual, d),
                        HB_ARRAY(work->pull, d));
}

/* The first row of anchor i's nodes. */
static size_t score_ball_first_row(const hb_micro_batch *micro, size_t i)
{
    const hb_ball_common *common = micro->trainer->common;
    return micro->anchors + i * common->nodes;
}

/* ---- the residual ---- */

/* R (dim) of anchor i. */
static void score_ball_residual(const hb_micro_batch *micro, const vector_scratch *work, size_t i,
                                double *R)
{
    const hb_ball_common *common = micro->trainer->common;
    const size_t d = (size_t)micro->trainer->model->info.dim;
    const float *reference = hb_model_tape_reference(work->own.tape), *score = work->score;
    const double a0 = work->at.level[i].a;
    for (size_t k = 0; k < d; k++) R[k] = a0 * (double)(score[i * d + k] - reference[i * d + k]);
    size_t row = score_ball_first_row(micro, i);
    for (size_t j = 0; j < common->nodes; j++, row++) {
        const double a = work->at.level[row].a, *arm = work->arm + row * d;
        const float *s = score + row * d, *s_ref = reference + row * d;
        double h = 0; /* |S|^2 - |S_ref|^2 */
        for (size_t k = 0; k < d; k++)
            h += a * a * (double)(s[k] - s_ref[k]) * (double)(s[k] + s_ref[k]);
        for (size_t k = 0; k < d; k++)
            R[k] -= work->at.weight[row] * (a * (double)(s[k] - s_ref[k]) + arm[k] * h);
    }
}

/* Adds pull = dL/dR times the derivatives of R to the cotangents of the scores. */
static void score_ball_pull_nodes(const hb_micro_batch *micro, vector_scratch *work, size_t i,
                                  const double *pull)
{
    const hb_ball_common *common = micro->trainer->common;
    const size_t d = (size_t)micro->trainer->model->info.dim;
    float *to = work->cotangent;
    for (size_t k = 0; k < d; k++) to[i * d + k] += (float)(work->at.level[i].a * pull[k]);
    size_t row = score_ball_first_row(micro, i);
    for (size_t j = 0; j < common->nodes; j++, row++) {
        const double a = work->at.level[row].a;
        const double along = 2 * a * a * hb_dot(d, work->arm + row * d, pull);
        for (size_t k = 0; k < d; k++)
            to[row * d + k] -= (float)(work->at.weight[row] *
                                       (a * pull[k] + along * (double)work->score[row * d + k]));
    }
}

static void score_ball_add_anchor(hb_micro_batch *micro, vector_scratch *work, size_t i)
{
    const hb_trainer *trainer = micro->trainer;
    const size_t d = (size_t)trainer->model->info.dim;
    const hb_noise_level *c = &work->at.level[i];
    const double share = 1 / ((double)d * trainer->settings.anchors);
    const double factor = trainer->settings.weight * trainer->ramp * c->b * share;
    const double scale = work->at.scale[i];
    score_ball_residual(micro, work, i, work->residual);
    for (size_t k = 0; k < d; k++) {
        double slope;
        const double rho = scale * work->residual[k];
        micro->losses[HB_LOSS_RESIDUAL2] += share * rho * rho;
        micro->losses[HB_LOSS_OF_CONSTRAINT] += factor * hb_huber(rho, &slope);
        work->pull[k] = factor * slope * scale;
    }
    score_ball_pull_nodes(micro, work, i, work->pull);
}

static hb_status score_ball_add(hb_micro_batch *micro)
{
    const hb_model *model = micro->trainer->model;
    vector_scratch *work = micro->scratch;
    const size_t d = (size_t)model->info.dim;
    const hb_balls_values arms = {.arm = work->arm + micro->anchors * d};
    HB_TRY(hb_ball_rows_place(micro, NULL, NULL, &arms, &work->at));
    const hb_points points = {work->at.rows, work->at.z, work->at.level, work->at.labels};
    HB_TRY(hb_model_tape_forward(work->own.tape, model->parameters, &points, NULL, work->score));
    memset(work->cotangent, 0, points.n * (size_t)model->info.dim * sizeof(float));
    for (size_t i = 0; i < micro->anchors; i++) score_ball_add_anchor(micro, work, i);
    return hb_model_tape_backward(work->own.tape, model->parameters, NULL, work->cotangent, 1,
                                  micro->gradient);
}

const hb_constraint hb_constraint_hb_score =
    HB_BALL_CONSTRAINT(score_ball, 1.2, hb_ball_prepare, 0.05, 2);
