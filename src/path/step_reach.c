/* Does a step of a trajectory jump over a part of the drift?
 *
 * A step h of dX = F dtau + sqrt(2) dW moves a path by about b = sqrt(2h). A bump of F that is
 * narrower is hit by few steps or none, and steps h and 2h miss it alike. Interval arithmetic sees
 * it: with R_i the width of the range of F_i on the box |y - x| <= r, r = REACH b, and J the
 * Jacobian at x,
 *     ratio = max_i h (R_i - 2 r sum_j |J_ij|)/(b LIMIT)
 * compares what F may do beyond its linear part with the noise of the step. Ranges that are
 * infinite say nothing. A part whose place depends on x and t may also pass x within a step: then r
 * is 0 and tau an interval, halved down to the step where the ratio is above its limit.
 * A number to reproduce: a bump 6620 exp(-((x - 0.152)/1.68e-5)^2) with h = 0.01 has the ratio 936
 * at x = 0. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "path/trajectories.h"
#include "problem/drift_facts.h"

#include <math.h>

static const double REACH = 1.5, LIMIT = 0.5, LEAST = 0.1;
static const double STEP_LIMIT = 0.5; /* h |J| of trajectories */

typedef struct place {
    size_t d;
    double h, r;
    const double *J;
    const hb_interval *box;
    hb_interval *F;
} place;

static double ratio_at(size_t d, double h, double r, const hb_interval *F, const double *J)
{
    double largest = 0;
    for (size_t i = 0; i < d; i++) {
        double linear = 0;
        for (size_t j = 0; j < d; j++) linear += fabs(J[i * d + j]);
        const double ratio = h * (F[i].high - F[i].low - 2 * r * linear) / (LIMIT * sqrt(2 * h));
        if (isfinite(ratio)) largest = fmax(largest, ratio);
    }
    return largest;
}

/* The ratio in the box of half side r, at the worst of the steps h in the interval. */
static hb_status worst_step(hb_context *context, const hb_problem *problem, const place *p,
                            hb_interval tau, double *worst)
{
    double ratio;
    HB_TRY(hb_problem_ranges(context, problem, p->box, tau, p->F, NULL));
    ratio = ratio_at(p->d, p->h, p->r, p->F, p->J);
    if (!(ratio > LEAST) || tau.high - tau.low <= p->h) {
        *worst = fmax(*worst, ratio);
        return HB_OK;
    }
    const double middle = 0.5 * (tau.low + tau.high);
    HB_TRY(worst_step(context, problem, p, (hb_interval){tau.low, middle}, worst));
    return worst_step(context, problem, p, (hb_interval){middle, tau.high}, worst);
}

hb_status hb_step_reach(hb_context *context, const hb_problem *problem, hb_interval times,
                        double step, size_t n, size_t stride, const double *x, double *ratio)
{
    const size_t d = (size_t)hb_problem_dim(problem);
    const double tau = times.high, reach = times.low < tau ? 0 : REACH;
    hb_interval *box, *F;
    double *J, *drift;
    hb_workspace work;
    *ratio = 0;
    if (!hb_problem_facts(problem)->is_formula) return HB_OK;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(box, d), HB_ARRAY(F, d), HB_ARRAY(J, d * d),
                        HB_ARRAY(drift, d)));
    hb_status status = HB_OK;
    for (size_t p = 0; p < n && status == HB_OK; p += stride) {
        status = hb_problem_drift_each(context, problem, 1, x + p * d, &tau, drift, NULL, NULL, J);
        const double slope = hb_matrix_norm(d, J);
        if (status != HB_OK || !isfinite(slope)) continue;
        const double h = fmin(step, STEP_LIMIT / fmax(slope, 1e-300)), r = reach * sqrt(2 * h);
        for (size_t k = 0; k < d; k++) box[k] = (hb_interval){x[p * d + k] - r, x[p * d + k] + r};
        const place here = {d, h, r, J, box, F};
        status = worst_step(context, problem, &here, times, ratio);
    }
    hb_workspace_destroy(&work);
    return status;
}
