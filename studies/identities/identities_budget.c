/* Section 2.3 of the paper: how long a solution exists for certain, and between what bounds it
 * lies.
 *
 * The window. Lambda(T) = K sqrt(T)(sqrt(T) + 2c), T0 from Lambda(T0) = theta. The paper takes for
 * c the mass of the norm of the heat kernel's gradient, sqrt(t) E|Y|/(2t) = C_d with Y ~ N(0, 2t
 * I), which grows like sqrt(d/2); but a gradient at a point has one direction e, and sqrt(t)
 * E|e.Y|/(2t) = 1/sqrt(pi) in every dimension. Both means are drawn here. T0 with C_d falls like
 * theta^2/(2 d K^2).
 *
 * The bounds m e^(-C tau) <= u <= M e^(C tau) need an initial density that stays above some m > 0
 * on all of R^d. No probability density does. So the equation is solved here for F = -a sin x from
 * exp(-(x/8 pi)^16), which is a constant m = M to 1e-14 on the period around 0, and looked at
 * there; what comes from beyond the plateau is below 1e-7. u/m tends to exp(a cos x)/I_0(a).
 *
 * Must reproduce: T0 = 0.291146 for K = 1, theta = 0.9 with 1/sqrt(pi). */
#include "identities.h"

#include <heatball/budget.h>
#include <heatball/grid.h>
#include <heatball/random.h>
#include <math.h>
#include <stdlib.h>

/* ---- the window ---- */

enum { BATCH = 4096 };
static const uint64_t GRADIENT_STREAM = UINT64_C(23850);

/* Means of |e.Y|/2 and |Y|/2 over draws of Y ~ N(0, 2 I), with standard errors. */
static hb_status draw_gradients(hb_identities *list, int dim, size_t draws)
{
    const size_t d = (size_t)dim;
    double one[2] = {0, 0}, all[2] = {0, 0};
    double *y; // (BATCH, dim)
    HB_TRY(HB_STUDY_NEW(list->context, y, BATCH * d));
    hb_status status = HB_OK;
    for (size_t first = 0; first < draws && status == HB_OK; first += BATCH) {
        status = hb_random_normal(list->context, list->seed, GRADIENT_STREAM + d, first * d,
                                  BATCH * d, y);
        for (size_t i = 0; i < BATCH && status == HB_OK; i++) {
            double square = 0;
            for (size_t k = 0; k < d; k++) square += y[i * d + k] * y[i * d + k];
            const double e = fabs(y[i * d]) / M_SQRT2, norm = sqrt(square / 2);
            one[0] += e, one[1] += e * e, all[0] += norm, all[1] += norm * norm;
        }
    }
    free(y);
    if (status != HB_OK) return status;
    const double n = (double)draws, one_mean = one[0] / n, all_mean = all[0] / n;
    hb_ball_constants c;
    HB_TRY(hb_ball_constants_get(list->context, dim, 0, sizeof c, &c));
    HB_TRY(hb_identities_put(list, "gradient", "one direction", dim, NAN, one_mean, 1 / sqrt(M_PI),
                             sqrt((one[1] / n - one_mean * one_mean) / n)));
    return hb_identities_put(list, "gradient", "norm", dim, NAN, all_mean, c.C_d,
                             sqrt((all[1] / n - all_mean * all_mean) / n));
}

/* The closed form of T0 with the constant c, K = 1. */
static double window_of(double c, double theta)
{
    return pow(theta / (sqrt(c * c + theta) + c), 2);
}

hb_status hb_identities_window(hb_identities *list)
{
    static const int dims[] = {1, 2, 4, 10, 32, 100, 316, 1000};
    const double theta = 0.9;
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        hb_budget_settings settings;
        hb_budget budget;
        hb_budget_settings_default(sizeof settings, &settings);
        settings.dim = dims[i];
        settings.drift_sup = 0.8;
        settings.div_sup = 0.2;
        settings.theta = theta;
        HB_TRY(hb_budget_compute(list->context, &settings, sizeof budget, &budget));
        const double c = exp(lgamma(0.5 * (dims[i] + 1)) - lgamma(0.5 * dims[i]));
        const double paper = window_of(c, theta), sharp = window_of(1 / sqrt(M_PI), theta);
        HB_TRY(hb_identities_put(list, "window", "paper", dims[i], NAN, budget.T0_paper, paper,
                                 1e-11));
        HB_TRY(hb_identities_put(list, "window", "sharp", dims[i], NAN, budget.T0, sharp, 1e-11));
        if (dims[i] <= 100 && dims[i] % 10 != 4)
            HB_TRY(draw_gradients(list, dims[i], list->quick ? 1 << 14 : 1 << 17));
    }
    return HB_OK;
}

/* ---- the bounds ---- */

enum { TIMES = 24, POINTS = 65 };
static const double A = 1.2, EDGE = 8 * M_PI, TAU_END = 5;

/* I_0 by its integral, which the trapezoid rule gives to rounding. */
static double bessel_i0(double a)
{
    double sum = 0;
    for (int i = 0; i < 64; i++) sum += exp(a * cos(2 * M_PI * i / 64)) / 64;
    return sum;
}

static hb_status scan_times(hb_identities *list, const hb_grid *grid, double constant)
{
    double x[POINTS], v[POINTS], error[POINTS];
    for (int i = 0; i < POINTS; i++) x[i] = 2 * M_PI * i / (POINTS - 1) - M_PI;
    for (int k = 0; k < TIMES; k++) {
        const double tau = 0.04 * pow(TAU_END / 0.04, k / (TIMES - 1.0));
        const double now = k + 1 == TIMES ? TAU_END : tau;
        HB_TRY(hb_grid_evaluate(list->context, grid, POINTS, x, now, v, error, NULL, NULL));
        double high = -INFINITY, low = INFINITY, most = 0;
        for (int i = 0; i < POINTS; i++) {
            high = fmax(high, v[i] - constant);
            low = fmin(low, v[i] - constant);
            most = fmax(most, error[i]);
        }
        HB_TRY(hb_identities_put(list, "bounds", "highest", 1, now, high, A * now, most));
        HB_TRY(hb_identities_put(list, "bounds", "lowest", 1, now, low, -A * now, most));
    }
    for (int i = 0; i < POINTS; i += 8)
        HB_TRY(hb_identities_put(list, "bounds", "limit", 1, x[i], v[i] - constant,
                                 A * cos(x[i]) - log(bessel_i0(A)), 2e-2));
    return HB_OK;
}

/* ln u0 up to a constant: flat to 1e-14 within one period of 0. */
static int plateau(void *user, size_t n, const double *x, double *log_density, double *gradient)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        log_density[i] = -pow(x[i] / EDGE, 16);
        if (gradient) gradient[i] = -16 / EDGE * pow(x[i] / EDGE, 15);
    }
    return 0;
}

hb_status hb_identities_bounds(hb_identities *list)
{
    hb_problem *problem;
    hb_grid *grid;
    hb_grid_settings settings;
    hb_problem_settings how;
    hb_problem_settings_default(sizeof how, &how);
    how.drift = "-1.2*sin(x)";
    how.noise = "sqrt(2)";
    how.initial_callback = plateau;
    how.time = TAU_END;
    HB_TRY(hb_problem_create(list->context, &how, &problem));
    hb_grid_settings_default(sizeof settings, &settings);
    settings.points[0] = list->quick ? 2048 : 4096;
    settings.keep_from = 0.04;
    const double centre = 0;
    double top;
    hb_status status = hb_problem_initial(list->context, problem, 1, &centre, &top, NULL);
    if (status == HB_OK)
        status = hb_grid_solve(list->context, problem, &settings, 0, NULL, TAU_END, &grid);
    if (status == HB_OK) {
        status = scan_times(list, grid, top);
        hb_grid_destroy(grid);
    }
    hb_problem_destroy(problem);
    return status;
}
