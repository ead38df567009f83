/* The monotonicity functional of the paper,
 *     J(r) = r^-D int_{E_r} u |y|^2/s^2 + int_0^r 4D rho^-(D+1) int_{E_rho} h_u psi_rho,
 * psi_rho = ln(rho^D Phi), h_u = -div(F u). With y = rho z, s = rho^2 sigma the first part is 4
 * E_kappa[u], since kappa = |z|^2/(4 sigma^2), and the second 4 D int_0^r rho int_{E_1} psi_0 h_u,
 * which is C1 r^2 E_source[h_u]: the source measure psi_0 has mass C1/(2D), and rho/(r^2/2) is the
 * density of r sqrt(U). So J is four times the average of u, and J(r) = 4 u(x0, tau0) for every r
 * exactly when u solves the equation. All radii share their draws.
 *
 * A number to reproduce: F = -x, u the standard normal density: J(r) = 1.5957691 at x0 = 0. */
#include "base/context.h"
#include "mean/averages.h"

#include <math.h>

hb_status hb_mean_monotonicity(hb_context *context, const hb_problem *problem,
                               const hb_field *field, const hb_mean_settings *settings, int n_radii,
                               const double *x, double tau0, const double *radii, double *J,
                               double *J_se)
{
    HB_CHECK(context, n_radii >= 0, HB_ERROR_ARGUMENT, "n_radii is %d; it must be at least 0",
             n_radii);
    HB_CHECK(context, (radii && J) || n_radii == 0, HB_ERROR_ARGUMENT, "%s is NULL",
             radii ? "J" : "radii");
    hb_anchors anchors;
    hb_status status = hb_anchors_create(context, problem, field, settings, tau0, 1, x, &anchors);
    const int degree = anchors.settings.degree > 0 ? anchors.settings.degree : 0;
    const hb_average_wish wish = {.values = 1, .degree = degree};
    for (int j = 0; j < n_radii && status == HB_OK; j++)
        status = hb_anchors_check_radius(&anchors, radii[j]);
    for (int j = 0; j < n_radii && status == HB_OK; j++) {
        double mean[HB_COLUMNS], error[HB_COLUMNS];
        anchors.radius[0] = radii[j];
        status = hb_averages(&anchors, &wish, mean, error);
        if (status != HB_OK) break;
        J[j] = 4 * exp(anchors.v[0]) * (1 + mean[HB_COLUMN_U]);
        if (J_se) J_se[j] = 4 * exp(anchors.v[0]) * error[HB_COLUMN_U];
    }
    hb_anchors_destroy(&anchors);
    return status;
}
