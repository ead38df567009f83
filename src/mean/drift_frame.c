/* Heat balls for a process with a drift, by values of ln u alone.
 *
 * In the frame that moves with the drift's value and its isotropic slope at the anchor, b = F(x0)
 * and a = div F(x0)/d,
 *     theta = (e^{2as} - 1)/(2a),   x = x0 + e^{-as} y - b (1 - e^{-as})/a,   U(y,theta) = e^{-ads}
 * u(x, tau0 - s) solves the heat equation, backward in theta, with the drift e^{-as} f~, f~ = F - b
 * - a (x - x0), which vanishes at the anchor and is of second order in one dimension. The mean
 * value of U over the ball of radius r, with its drift term moved onto the kernel
 * (docs/explanation/mean-value.md), is
 *     u0 = E_kappa[U] - r E[ (arm.e^{-as} f~) U ],       E: over the slope or the gradient measure,
 * an average of values of u with signed weights. U/u0 = exp(v + shift - v0), shift = -ads.
 * S = e^{-as} grad v of ln U has the source |S|^2 - e^{-as} f~.S - div_y(e^{-as} f~):
 *     S_0 = E_kappa[S] + r E[ arm (|S|^2 - e^{-as} f~.S - e^{-2as}(div F - ad)) ].
 * E over kappa of y.h/2 is the second average for a linear h, in every dimension: E[arm.y] =
 * E_kappa|y|^2/2. So nodes of kappa can serve both where degree 3 is enough. F may depend on tau.
 * docs/explanation/losses.md, "A nonlinear drift". A number to reproduce: F = -x has f~ = 0, the weights of the
 * second part vanish, and theta of tau0 = 0.5 is (1 - 1/e)/2 = 0.3160603. */
#include "mean/drift_frame.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "mean/ball_rule.h"

#include <math.h>

static const double REACH =
    0.2; /* of a ball's time, in 1/|J|: beyond, a drift bends too much for few nodes */

double hb_drift_frame_time(double growth, double tau0)
{
    const double q = 2 * growth * tau0;
    return fabs(q) < 1e-9 ? tau0 : tau0 * expm1(q) / q;
}

/* F (n, dim) and its divergence (n), NULL: not wanted, at n points with a tau each; HB_ERROR_DOMAIN
 * for a value that is not finite. */
static hb_status drift_frame_drift_at(hb_context *alone, const hb_problem *problem, size_t n,
                                      const double *x, const double *tau, double *F,
                                      double *divergence)
{
    const size_t d = (size_t)hb_problem_dim(problem);
    if (hb_problem_is_autonomous(problem))
        return hb_problem_drift(alone, problem, n, x, 0, F, divergence, NULL, NULL);
    HB_TRY(hb_problem_drift_each(alone, problem, n, x, tau, F, divergence, NULL, NULL));
    HB_CHECK(alone, hb_all_finite(n * d, F) && (!divergence || hb_all_finite(n, divergence)),
             HB_ERROR_DOMAIN, "the drift is not finite at a node of a ball");
    return HB_OK;
}

/* Lag, e^{-as} and (1 - e^{-as})/a of a node at theta. */
static void drift_frame_of_theta(double a, double theta, double *s, double *decay, double *push)
{
    const double q = 2 * a * theta;
    *s = fabs(q) < 1e-9 ? theta : theta * log1p(q) / q;
    *decay = exp(-a * *s);
    *push = fabs(q) < 1e-9 ? *s : -expm1(-a * *s) / a;
}

/* Node i at node j of the unit ball; returns e^{-as}. */
static double drift_frame_node(const hb_drift_frame *f, const hb_ball_nodes *unit, size_t j,
                               size_t i, const hb_drift_nodes *out)
{
    double s, decay, push;
    drift_frame_of_theta(f->growth, f->radius * f->radius * unit->s[j], &s, &decay, &push);
    for (size_t k = 0; k < f->dim; k++)
        out->z[i * f->dim + k] =
            f->x0[k] + decay * f->radius * unit->y[j * f->dim + k] - push * f->drift[k];
    out->tau[i] = f->tau0 - s;
    out->shift[i] = -f->growth * (double)f->dim * s;
    return decay;
}

/* arm_j.(F - b - a (x - x0)) at the node z. */
static double drift_frame_along_arm(const hb_drift_frame *f, const double *arm, const double *z,
                                    const double *F)
{
    double along = 0;
    for (size_t k = 0; k < f->dim; k++)
        along += arm[k] * (F[k] - f->drift[k] - f->growth * (z[k] - f->x0[k]));
    return along;
}

/* The nodes of `value` with the weights of both averages. */
static hb_status drift_frame_place_shared(hb_context *alone, const hb_drift_frame *f,
                                          const hb_ball_nodes *value, size_t n, double *F,
                                          const hb_drift_nodes *out)
{
    const size_t d = f->dim;
    for (size_t j = 0; j < n; j++)
        out->weight[j] = f->radius / 2 * drift_frame_node(f, value, j, j, out);
    HB_TRY(drift_frame_drift_at(alone, f->problem, n, out->z, out->tau, F, NULL));
    for (size_t j = 0; j < n; j++) {
        const double turn = drift_frame_along_arm(f, value->y + j * d, out->z + j * d, F + j * d);
        out->weight[j] = value->weight[j] * (1 - out->weight[j] * turn);
    }
    return HB_OK;
}

hb_status hb_drift_frame_place(hb_context *alone, const hb_drift_frame *f,
                               const hb_ball_nodes *value, size_t n_value, const hb_ball_nodes *arm,
                               size_t n_arm, double *F, const hb_drift_nodes *out)
{
    const size_t d = f->dim;
    if (!arm) return drift_frame_place_shared(alone, f, value, n_value, F, out);
    for (size_t j = 0; j < n_value; j++) {
        drift_frame_node(f, value, j, j, out);
        out->weight[j] = value->weight ? value->weight[j] : 1 / (double)n_value;
    }
    for (size_t j = 0; j < n_arm; j++)
        out->weight[n_value + j] = -f->radius * drift_frame_node(f, arm, j, n_value + j, out) *
                                   (arm->weight ? arm->weight[j] : 1 / (double)n_arm);
    HB_TRY(drift_frame_drift_at(alone, f->problem, n_arm, out->z + n_value * d, out->tau + n_value,
                                F, NULL));
    for (size_t j = 0; j < n_arm; j++)
        out->weight[n_value + j] *=
            drift_frame_along_arm(f, arm->arm + j * d, out->z + (n_value + j) * d, F + j * d);
    return HB_OK;
}

/* The terms of node i with F and div F there; decay = e^{-as}. */
static void drift_frame_place_terms(const hb_drift_frame *f, size_t i, const double *z,
                                    const double *F, double divergence, double decay,
                                    const hb_drift_arms *out)
{
    if (out->factor) out->factor[i] = decay;
    if (out->rate) out->rate[i] = decay * decay * (divergence - f->growth * (double)f->dim);
    for (size_t k = 0; k < f->dim && out->turn; k++)
        out->turn[i * f->dim + k] = decay * (F[k] - f->drift[k] - f->growth * (z[k] - f->x0[k]));
}

/* The same nodes for scores; both rules have weights. F, divergence: scratch (n, dim), (n). */
static hb_status drift_frame_place_arms(hb_context *alone, const hb_drift_frame *f,
                                        const hb_ball_nodes *value, const hb_ball_nodes *arm,
                                        double *F, double *divergence, const hb_drift_nodes *nodes,
                                        const hb_drift_arms *out)
{
    const size_t d = f->dim, n = value->n, m = n + (arm ? arm->n : 0);
    for (size_t i = 0; i < m; i++) {
        const hb_ball_nodes *unit = i < n ? value : arm;
        const size_t j = i < n ? i : i - n;
        const int armed = !arm || i >= n;
        drift_frame_node(f, unit, j, i, nodes);
        nodes->weight[i] = i < n ? value->weight[j] : 0;
        if (out->arm_weight) out->arm_weight[i] = armed ? unit->weight[j] : 0;
        for (size_t k = 0; k < d && out->arm; k++)
            out->arm[i * d + k] = !armed ? 0
                                  : arm  ? f->radius * arm->arm[j * d + k]
                                         : f->radius / 2 * value->y[j * d + k];
    }
    HB_TRY(drift_frame_drift_at(alone, f->problem, m, nodes->z, nodes->tau, F, divergence));
    for (size_t i = 0; i < m; i++)
        drift_frame_place_terms(f, i, nodes->z + i * d, F + i * d, divergence[i],
                                exp(nodes->shift[i] / (double)d), out);
    return HB_OK;
}

/* ---- the ball of an anchor ---- */

hb_status hb_ball_drift_at(const hb_balls *balls, size_t n, const double *x, const double *tau,
                           hb_ball_scratch *scratch)
{
    const hb_problem *drift = balls->settings.drift;
    const size_t d = balls->dim;
    if (hb_problem_is_autonomous(drift))
        return hb_problem_drift(&scratch->alone, drift, n, x, 0, scratch->drift0,
                                scratch->divergence0, NULL, scratch->jacobian0);
    HB_TRY(hb_problem_drift_each(&scratch->alone, drift, n, x, tau, scratch->drift0,
                                 scratch->divergence0, NULL, scratch->jacobian0));
    HB_CHECK(&scratch->alone,
             hb_all_finite(n * d, scratch->drift0) && hb_all_finite(n, scratch->divergence0) &&
                 hb_all_finite(n * d * d, scratch->jacobian0),
             HB_ERROR_DOMAIN, "the drift is not finite at an anchor");
    return HB_OK;
}

/* r^2 = 4 pi min(f theta_0, REACH/|J|). */
static hb_drift_frame frame_of(const hb_balls *balls, const hb_ball_anchor *anchor,
                               const hb_ball_scratch *scratch)
{
    const size_t d = balls->dim, i = anchor->local;
    hb_drift_frame f = {.problem = balls->settings.drift,
                        .dim = d,
                        .x0 = anchor->x0,
                        .drift = scratch->drift0 + i * d,
                        .tau0 = anchor->tau0,
                        .growth = scratch->divergence0[i] / (double)d};
    const double time = hb_drift_frame_time(f.growth, f.tau0);
    const double size = hb_matrix_norm(d, scratch->jacobian0 + i * d * d);
    f.radius = sqrt(4 * M_PI * fmin(balls->settings.time_fraction * time, REACH / size));
    return f;
}

hb_status hb_ball_place_drift(const hb_balls *balls, const hb_ball_anchor *anchor,
                              hb_ball_scratch *scratch)
{
    const hb_balls_values *out = &anchor->out;
    const hb_drift_nodes nodes = {out->x, out->tau, out->shift, out->weight};
    const hb_drift_arms arms = {out->arm, out->arm_weight, out->factor, out->drift, out->rate};
    const hb_ball_nodes *value, *arm;
    const hb_drift_frame f = frame_of(balls, anchor, scratch);
    HB_TRY(hb_ball_rule_nodes(balls, anchor->number, scratch, &value, &arm));
    const int score = balls->settings.kind == HB_BALLS_KIND_SCORE;
    if (score)
        HB_TRY(drift_frame_place_arms(&scratch->alone, &f, value, arm, scratch->F,
                                      scratch->divergence, &nodes, &arms));
    else
        HB_TRY(hb_drift_frame_place(&scratch->alone, &f, value, value->n, arm, arm ? arm->n : 0,
                                    scratch->F, &nodes));
    const double half_noise = fmin(hb_drift_frame_time(f.growth, f.tau0), f.tau0);
    if (out->factor0) *out->factor0 = 1;
    if (out->radius) *out->radius = f.radius;
    if (out->noise) *out->noise = 2 * half_noise;
    if (out->scale)
        *out->scale =
            4 * half_noise / (balls->C1 * f.radius * f.radius) * (score ? sqrt(2 * half_noise) : 1);
    return HB_OK;
}
