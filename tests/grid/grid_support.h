/* What the tests of the grid share: problems, and linear drifts with their exact Gaussians (the mean and
 * covariance equations solved by Runge-Kutta), compared with what a grid says and claims. */
#ifndef HB_TESTS_GRID_SUPPORT_H
#define HB_TESTS_GRID_SUPPORT_H

#include "support.h"

static inline hb_problem *make_problem(hb_context *context, const char *drift, const char *noise,
                                       const char *initial)
{
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.drift = drift;
    settings.noise = noise;
    settings.initial = initial;
    settings.time = 3;
    hb_problem *problem;
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    return problem;
}

/* Awkward numbers in [-1, 1]. */
static inline double jitter(int k)
{
    return sin(2.385 * k + 0.71 * k * k);
}

/* f = s(t) A x, g(t) = g0 + g1 t, start N(m0, c0 I). */
typedef struct linear {
    int dim;
    double A[3][3], wobble; /* s(t) = 1 + wobble sin(t) */
    double g0, g1;
    double m0[3], c0;
} linear;

/* y = (mean (dim), covariance (dim x dim)); its rate. */
static inline void moment_rate(const linear *l, double t, const double *y, double *rate)
{
    const int d = l->dim;
    const double s = 1 + l->wobble * sin(t), g = l->g0 + l->g1 * t;
    const double *C = y + d;
    for (int a = 0; a < d; a++) {
        rate[a] = 0;
        for (int b = 0; b < d; b++) rate[a] += s * l->A[a][b] * y[b];
        for (int b = 0; b < d; b++) {
            double sum = a == b ? g * g : 0;
            for (int k = 0; k < d; k++)
                sum += s * (l->A[a][k] * C[k * d + b] + l->A[b][k] * C[a * d + k]);
            rate[d + a * d + b] = sum;
        }
    }
}

static inline void moments(const linear *l, double t_end, double *y)
{
    const int d = l->dim, n = d + d * d, steps = 2000;
    memset(y, 0, (size_t)n * sizeof *y);
    for (int a = 0; a < d; a++) {
        y[a] = l->m0[a];
        y[d + a * d + a] = l->c0;
    }
    const double h = t_end / steps;
    for (int k = 0; k < steps; k++) {
        double r[4][12], z[12];
        moment_rate(l, k * h, y, r[0]);
        for (int i = 0; i < n; i++) z[i] = y[i] + 0.5 * h * r[0][i];
        moment_rate(l, (k + 0.5) * h, z, r[1]);
        for (int i = 0; i < n; i++) z[i] = y[i] + 0.5 * h * r[1][i];
        moment_rate(l, (k + 0.5) * h, z, r[2]);
        for (int i = 0; i < n; i++) z[i] = y[i] + h * r[2][i];
        moment_rate(l, (k + 1) * h, z, r[3]);
        for (int i = 0; i < n; i++) y[i] += h / 6 * (r[0][i] + 2 * r[1][i] + 2 * r[2][i] + r[3][i]);
    }
}

/* ln N(x; m, C), its gradient, and the factor L of C = L L^T (d <= 3). */
static inline double gaussian(int d, const double *y, const double *x, double *gradient,
                              double L[3][3])
{
    const double *C = y + d;
    double z[3], v = -0.5 * d * log(2 * M_PI);
    for (int a = 0; a < d; a++)
        for (int b = 0; b <= a; b++) {
            double sum = C[a * d + b];
            for (int k = 0; k < b; k++) sum -= L[a][k] * L[b][k];
            L[a][b] = a == b ? sqrt(sum) : sum / L[b][b];
        }
    for (int a = 0; a < d; a++) {
        z[a] = x[a] - y[a];
        for (int k = 0; k < a; k++) z[a] -= L[a][k] * z[k];
        z[a] /= L[a][a];
        v -= 0.5 * z[a] * z[a] + log(L[a][a]);
    }
    for (int a = d - 1; a >= 0; a--) {
        gradient[a] = -z[a];
        for (int k = a + 1; k < d; k++) gradient[a] -= L[k][a] * gradient[k];
        gradient[a] /= L[a][a];
    }
    return v;
}

typedef struct score_card {
    int points, v_covered, slope_covered, slopes;
    double v_worst, slope_worst,
        claim_worst; /* in the bulk, of v; relative to 1 + |S| for slopes */
} score_card;

/* Compares at n points x = m + r L e, with e awkward directions and r up to `reach` deviations. */
static inline score_card compare(hb_context *context, const hb_grid *grid, const linear *l,
                                 double t, double tau, int n, double reach)
{
    score_card card = {0};
    double y[12], L[3][3];
    const int d = l->dim;
    moments(l, t, y);
    for (int k = 0; k < n; k++) {
        double x[3], e[3], v, v_error, S[3], S_error[3], exact_S[3], norm = 0;
        gaussian(d, y, y, exact_S, L);
        for (int a = 0; a < d; a++) e[a] = jitter(7 * k + a + 1), norm += e[a] * e[a];
        for (int a = 0; a < d; a++) {
            x[a] = y[a];
            for (int b = 0; b <= a; b++)
                x[a] += L[a][b] * e[b] / sqrt(norm) * reach * (k + 0.5) / n;
        }
        const double exact = gaussian(d, y, x, exact_S, L);
        assert_ok(context, hb_grid_evaluate(context, grid, 1, x, tau, &v, &v_error, S, S_error));
        card.points++;
        card.v_covered += fabs(v - exact) <= v_error;
        card.v_worst = fmax(card.v_worst, fabs(v - exact));
        card.claim_worst = fmax(card.claim_worst, v_error);
        for (int a = 0; a < d; a++) {
            card.slopes++;
            card.slope_covered += fabs(S[a] - exact_S[a]) <= S_error[a];
            card.slope_worst =
                fmax(card.slope_worst, fabs(S[a] - exact_S[a]) / (1 + fabs(exact_S[a])));
        }
    }
    return card;
}

static inline hb_grid *solve(hb_context *context, const hb_problem *problem, double t, int points,
                             double tolerance, double keep_from)
{
    hb_grid_settings settings;
    hb_grid_settings_default(sizeof settings, &settings);
    for (int a = 0; a < 3; a++) settings.points[a] = points;
    settings.tolerance = tolerance;
    settings.keep_from = keep_from;
    hb_grid *grid;
    assert_ok(context, hb_grid_solve(context, problem, &settings, 0, NULL, t, &grid));
    return grid;
}

static inline double end_of(const hb_grid *grid)
{
    hb_grid_info info;
    hb_grid_info_get(grid, sizeof info, &info);
    return info.tau;
}

static inline void assert_card(score_card card, double v, double slope)
{
    if (!(card.v_worst <= v && card.slope_worst <= slope && card.claim_worst <= 200 * v &&
          card.v_covered >= 0.95 * card.points && card.slope_covered >= 0.95 * card.slopes))
        fail_msg("v off by %.2e (claimed %.2e, %d of %d honest), slopes by %.2e (%d of %d honest)",
                 card.v_worst, card.claim_worst, card.v_covered, card.points, card.slope_worst,
                 card.slope_covered, card.slopes);
}

static const linear ou_1 = {.dim = 1, .A = {{-1.13}}, .g0 = 0.9, .m0 = {0.7}, .c0 = 0.31};
static const linear rotating = {
    .dim = 2, .A = {{-1.0, 2.3}, {-1.7, -0.6}}, .g0 = 1.1, .m0 = {0.6, -0.4}, .c0 = 0.43};
static const linear ou_3 = {.dim = 3,
                            .A = {{-1.0, 0.4, 0}, {-0.4, -0.8, 0.2}, {0, 0, -1.2}},
                            .g0 = 1.2,
                            .m0 = {0.3, -0.2, 0.1},
                            .c0 = 0.5};
static const linear forced = {
    .dim = 1, .A = {{-0.8}}, .wobble = 0.5, .g0 = 1, .g1 = 0.3, .m0 = {-0.5}, .c0 = 0.4};

static inline hb_problem *problem_1(hb_context *context)
{
    return make_problem(context, "-1.13*x", "0.9", "gaussian(mean=0.7,var=0.31)");
}

static inline hb_problem *problem_2(hb_context *context)
{
    return make_problem(context, "-x + 2.3*y, -1.7*x - 0.6*y", "1.1",
                        "gaussian(mean=0.6 -0.4,var=0.43)");
}

#endif
