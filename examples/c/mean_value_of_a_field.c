/* Density, log-density and score from heat-ball averages of a field, and the residual of a wrong
 * one.
 *
 * dx = -x dt + sqrt(2) dW started from N(1, 0.4) in one dimension: tau = t, F = -x, and u is the
 * Gaussian with mean e^-tau and variance s = 1 - 0.6 e^(-2 tau). The field below multiplies s by k;
 * for k = 1 it solves the Fokker-Planck equation and the averages return its own values for any
 * radius; for k = 1.1 the residual tends to 0.1 (|grad v|^2 - 1/(k s)).
 *
 *     cc mean_value_of_a_field.c $(pkg-config --cflags --libs heatball) -lm && ./a.out */
#include <heatball/estimate.h>

#include <math.h>
#include <stdio.h>

static const double TWO_PI = 6.283185307179586;

static double variance(double tau, double k)
{
    return k * (1 - 0.6 * exp(-2 * tau));
}

/* v = ln u and dv/dx at n points; user points to k. */
static int gaussian(void *user, size_t n, const double *x, const double *tau, double *v,
                    double *gradient)
{
    for (size_t i = 0; i < n; i++) {
        const double s = variance(tau[i], *(const double *)user), y = x[i] - exp(-tau[i]);
        v[i] = -0.5 * (y * y / s + log(TWO_PI * s));
        if (gradient) gradient[i] = -y / s;
    }
    return 0;
}

static hb_status show(hb_context *context, const hb_problem *problem)
{
    double k = 1;
    const hb_field field = {1, 0, 2, gaussian, &k};
    const double x[3] = {-1.5, 0.3, 2.0}, tau0 = 0.5;
    double v[3], v_se[3], score[3], score_se[3], radius[3];
    hb_mean_values out = {.size = sizeof out,
                          .v = v,
                          .v_se = v_se,
                          .score = score,
                          .score_se = score_se,
                          .radius = radius};
    hb_status status = hb_mean_value(context, problem, &field, NULL, 3, x, tau0, &out);
    if (status != HB_OK) return status;
    printf("    x   radius   log-density (exact)               score (exact)\n");
    for (int i = 0; i < 3; i++) {
        double exact, slope;
        gaussian(&k, 1, x + i, &tau0, &exact, &slope);
        printf("%5.1f   %6.3f   %.5f +- %.5f (%.5f)   %.5f +- %.5f (%.5f)\n", x[i], radius[i], v[i],
               v_se[i], exact, score[i], score_se[i], slope);
    }
    const double radii[3] = {0.8, 0.4, 0.2};
    double scaled[3], error[3], value, slope;
    k = 1.1;
    status = hb_mean_residual(
        context, problem, &field, NULL, 1, 3, x + 1, tau0, radii,
        &(hb_residual_values){sizeof(hb_residual_values), NULL, NULL, scaled, error});
    if (status != HB_OK) return status;
    gaussian(&k, 1, x + 1, &tau0, &value, &slope);
    printf("scaled residual of the wrong field at x = 0.3; limit %.6f\n",
           0.1 * (slope * slope - 1 / variance(tau0, k)));
    for (int j = 0; j < 3; j++) printf("r = %.1f   %.6f +- %.1e\n", radii[j], scaled[j], error[j]);
    return HB_OK;
}

int main(void)
{
    hb_context *context = NULL;
    hb_problem *problem = NULL;
    hb_status status = hb_context_create(NULL, &context);
    if (status == HB_OK)
        status = hb_problem_parse(context, "-x", "sqrt(2)", "gaussian(mean=1, var=0.4)", &problem);
    if (status == HB_OK) status = show(context, problem);
    if (status != HB_OK) fprintf(stderr, "%s\n", hb_context_message(context));
    hb_problem_destroy(problem);
    hb_context_destroy(context);
    return status != HB_OK;
}
