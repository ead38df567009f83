/* The heat-ball loss for the energy head and a user's drift: values of the network and of F only.
 *
 * At an anchor the nodes of mean/drift_frame.c give, for v = v_ref + w,
 *     Q = sum_j W_j exp(v_j + shift_j - v_0),    R = -ln Q (its tangent below 0.2),
 * 1 and 0 at any solution. W_j are signed: those of kappa, and those that carry what the frame
 * leaves of F. r^2 = 4 pi theta with
 *     theta = min(f theta_0, REACH/|J|),   theta_0: the anchor's time in its frame, |J|: of the
 * Jacobian there (its largest row): beyond, the drift bends too much for so few nodes. The scaled
 * residual
 *     rho = (b/2) R 4/(C1 r^2)
 * tends to b/2 times the pointwise residual as the ball shrinks; loss: weight * mean of b
 * huber(rho). v_ref is no solution, so nothing is left out. dR/dv_j = R'(Q) W_j e^{...}, dR/dv_0 =
 * -Q R'(Q).
 *
 * The 2 dim nodes of kappa serve both averages (mean/ball_rule.h).
 * A number to reproduce: F = -x with its stationary density, v = -|x|^2/2, has rho = 0. */
#include "train/ball_rows.h"

#include <math.h>

static const double MOST_EXPONENT = 60;

/* Rows: the anchors, then for each anchor its nodes. */
typedef struct drift_balls_scratch {
    hb_scratch own;
    hb_ball_rows at;
    hb_row_values net;
    double *to_scaled; // (anchors): rho/R
} drift_balls_scratch;

/* ---- made and destroyed ---- */

static hb_status drift_ball_prepare(hb_trainer *trainer)
{
    HB_CHECK(trainer->context, trainer->model->info.head == HB_HEAD_ENERGY, HB_ERROR_ARGUMENT,
             "the hb loss of a drift needs the energy head");
    return hb_ball_prepare(trainer);
}

static hb_status drift_ball_create(hb_micro_batch *micro)
{
    const size_t d = (size_t)micro->trainer->model->info.dim;
    drift_balls_scratch *work;
    size_t rows;
    HB_TRY(hb_ball_scratch_create(micro, sizeof *work, HB_WANT_VALUES, &rows, &work));
    if (rows == 0) return HB_OK;
    work->at.rows = rows;
    return HB_WORKSPACE(micro->trainer->context, &work->own.arrays,
                        HB_BALL_ROWS(micro, work->at, rows, d), HB_ROW_VALUES(work->net, rows, d),
                        HB_ARRAY(work->to_scaled, micro->anchors));
}

/* ---- the residual ---- */

/* W_j U_j/u_0 of node j; anchor i. */
static double drift_ball_part_of(const drift_balls_scratch *work, size_t i, size_t j)
{
    const double e = work->net.v[j] + work->at.shift[j] - work->net.v[i];
    return work->at.weight[j] * exp(fmin(e, MOST_EXPONENT));
}

/* rho of anchor i over the nodes from `row` on; slope: d rho/dQ, *Q: the sum. */
static double drift_ball_residual(const drift_balls_scratch *work, size_t i, size_t row, size_t n,
                                  double *Q, double *slope)
{
    *Q = 0;
    for (size_t j = row; j < row + n; j++) *Q += drift_ball_part_of(work, i, j);
    const double rho = work->to_scaled[i] * hb_minus_log(*Q, slope);
    *slope *= work->to_scaled[i];
    return rho;
}

/* Adds `pull` = dL/dQ times the derivatives of Q to the cotangents. */
static void drift_ball_pull_nodes(drift_balls_scratch *work, size_t i, size_t row, size_t n,
                                  double Q, double pull)
{
    work->net.cotangent[i] -= (float)(pull * Q);
    for (size_t j = row; j < row + n; j++)
        work->net.cotangent[j] += (float)(pull * drift_ball_part_of(work, i, j));
}

static void drift_ball_add_anchor(hb_micro_batch *micro, drift_balls_scratch *work, size_t i,
                                  double factor)
{
    const hb_ball_common *common = micro->trainer->common;
    const size_t n = common->nodes, first = micro->anchors + i * n;
    double Q, slope, of_square;
    const double rho = drift_ball_residual(work, i, first, n, &Q, &slope);
    micro->losses[HB_LOSS_RESIDUAL2] += rho * rho / micro->trainer->settings.anchors;
    micro->losses[HB_LOSS_OF_CONSTRAINT] += factor * hb_huber(rho, &of_square);
    drift_ball_pull_nodes(work, i, first, n, Q, factor * of_square * slope);
}

static hb_status drift_ball_add(hb_micro_batch *micro)
{
    const hb_trainer *trainer = micro->trainer;
    drift_balls_scratch *work = micro->scratch;
    const hb_ball_common *common = trainer->common;
    HB_TRY(hb_ball_rows_place(micro, NULL, NULL, NULL, &work->at));
    for (size_t i = 0; i < micro->anchors; i++) {
        const double r = work->at.radius[i], b = micro->anchor.level[i].b;
        work->to_scaled[i] = micro->anchor.weight[i] * 2 * b / (common->C1 * r * r);
    }
    const hb_points points = {work->at.rows, work->at.z, work->at.level, work->at.labels};
    HB_TRY(hb_row_values_forward(micro, &points, &work->net));
    for (size_t i = 0; i < points.n; i++) work->net.v[i] += (double)work->net.w[i];
    const double share = trainer->settings.weight * trainer->ramp / trainer->settings.anchors;
    for (size_t i = 0; i < micro->anchors; i++)
        drift_ball_add_anchor(micro, work, i, share * micro->anchor.level[i].b);
    return hb_row_values_backward(micro, &work->net);
}

const hb_constraint hb_constraint_hb_drift =
    HB_BALL_CONSTRAINT(drift_ball, 2, drift_ball_prepare, 0.05, 2);
