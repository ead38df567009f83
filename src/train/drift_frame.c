/* Heat balls for a process with a drift, by values of ln u alone.
 *
 * In the frame that moves with the drift's value and its isotropic slope at the anchor, b = F(x0)
 * and a = div F(x0)/d,
 *     theta = (e^{2as} - 1)/(2a),   x = x0 + e^{-as} y - b (1 - e^{-as})/a,   U(y,theta) = e^{-ads}
 * u(x, tau0 - s) solves the heat equation, backward in theta, with the drift e^{-as} f~, f~ = F - b
 * - a (x - x0), which vanishes at the anchor and is of second order in one dimension. The mean
 * value of U over the ball of radius r, with its drift term moved onto the kernel
 * (docs/mean-value.md), is
 *     u0 = E_kappa[U] - r E[ (arm.e^{-as} f~) U ],       E: over the slope or the gradient measure,
 * an average of values of u with signed weights. U/u0 = exp(v + shift - v0), shift = -ads.
 * E over kappa of y.h/2 is the second average for a linear h, in every dimension: E[arm.y] =
 * E_kappa|y|^2/2. So nodes of kappa can serve both where degree 3 is enough.
 * docs/losses.md, "A nonlinear drift". A number to reproduce: F = -x has f~ = 0, the weights of the
 * second part vanish, and theta of tau0 = 0.5 is (1 - 1/e)/2 = 0.3160603. */
#include "train/drift_frame.h"
#include "base/context.h"

#include <math.h>

static const double LEAST = 0.2;

double hb_drift_frame_time(double growth, double tau0)
{
    const double q = 2 * growth * tau0;
    return fabs(q) < 1e-9 ? tau0 : tau0 * expm1(q) / q;
}

/* Lag, e^{-as} and (1 - e^{-as})/a of a node at theta. */
static void of_theta(double a, double theta, double *s, double *decay, double *push)
{
    const double q = 2 * a * theta;
    *s = fabs(q) < 1e-9 ? theta : theta * log1p(q) / q;
    *decay = exp(-a * *s);
    *push = fabs(q) < 1e-9 ? *s : -expm1(-a * *s) / a;
}

/* Node i at cloud node j; returns e^{-as}. */
static double place(const hb_drift_frame *f, const hb_cloud *cloud, size_t j, size_t i,
                    const hb_drift_nodes *out)
{
    double s, decay, push;
    of_theta(f->growth, f->radius * f->radius * cloud->s[j], &s, &decay, &push);
    for (size_t k = 0; k < f->dim; k++)
        out->z[i * f->dim + k] =
            f->x0[k] + decay * f->radius * cloud->y[j * f->dim + k] - push * f->drift[k];
    out->tau[i] = f->tau0 - s;
    out->shift[i] = -f->growth * (double)f->dim * s;
    return decay;
}

/* arm_j.(F - b - a (x - x0)) at the node z. */
static double along_arm(const hb_drift_frame *f, const double *arm, const double *z,
                        const double *F)
{
    double along = 0;
    for (size_t k = 0; k < f->dim; k++)
        along += arm[k] * (F[k] - f->drift[k] - f->growth * (z[k] - f->x0[k]));
    return along;
}

/* The nodes of `value` with the weights of both averages. */
static hb_status place_shared(hb_context *alone, const hb_drift_frame *f, const hb_cloud *value,
                              size_t n, double *F, const hb_drift_nodes *out)
{
    const size_t d = f->dim;
    for (size_t j = 0; j < n; j++) out->weight[j] = f->radius / 2 * place(f, value, j, j, out);
    HB_TRY(hb_problem_drift(alone, f->problem, n, out->z, 0, F, NULL, NULL, NULL));
    for (size_t j = 0; j < n; j++) {
        const double turn = along_arm(f, value->y + j * d, out->z + j * d, F + j * d);
        out->weight[j] = value->weight[j] * (1 - out->weight[j] * turn);
    }
    return HB_OK;
}

hb_status hb_drift_frame_place(hb_context *alone, const hb_drift_frame *f, const hb_cloud *value,
                               size_t n_value, const hb_cloud *arm, size_t n_arm, double *F,
                               const hb_drift_nodes *out)
{
    const size_t d = f->dim;
    if (!arm) return place_shared(alone, f, value, n_value, F, out);
    for (size_t j = 0; j < n_value; j++) {
        place(f, value, j, j, out);
        out->weight[j] = value->weight ? value->weight[j] : 1 / (double)n_value;
    }
    for (size_t j = 0; j < n_arm; j++)
        out->weight[n_value + j] = -f->radius * place(f, arm, j, n_value + j, out) *
                                   (arm->weight ? arm->weight[j] : 1 / (double)n_arm);
    HB_TRY(
        hb_problem_drift(alone, f->problem, n_arm, out->z + n_value * d, 0, F, NULL, NULL, NULL));
    for (size_t j = 0; j < n_arm; j++)
        out->weight[n_value + j] *=
            along_arm(f, arm->arm + j * d, out->z + (n_value + j) * d, F + j * d);
    return HB_OK;
}

double hb_minus_log(double Q, double *slope)
{
    *slope = -1 / fmax(Q, LEAST);
    return Q >= LEAST ? -log(Q) : -log(LEAST) + (LEAST - Q) / LEAST;
}
