/* A linear drift in the plane whose law is known at every tau: F = -A x, A not symmetric. A mixture of
 * Gaussians stays one, and part k goes to
 *     m_k(tau) = E m_k,   C_k(tau) = E C_k E^T + P - E P E^T,      E = e^{-A tau},  A P + P A^T = 2 I,
 * and in the plane, with A = t/2 + B, B^2 = -w^2,
 *     E = e^{-t tau/2} (cos(w tau) - sin(w tau) B/w),
 *     P = (det(A) + (A - t)(A - t)^T)/(t det A)                   (C. W. Gardiner, Handbook, 4.4.6).
 * So score, divergence, density and moments are known at every tau. */
#ifndef HB_TESTS_LINEAR_PROCESS_H
#define HB_TESTS_LINEAR_PROCESS_H

#include "generate_support.h"

enum { PARTS = 2 };
static const double A[4] = {1.2, 0.9, -0.7, 0.5};
static const double SHARE[PARTS] = {0.615, 0.385};
static const double START[PARTS][2] = {{1.7, -0.6}, {-1.1, 0.9}};
static const double WIDTH[PARTS][3] = {{0.11, 0.03, 0.2}, {0.09, -0.02, 0.05}}; /* xx, xy, yy */
static const char *const DRIFT = "-1.2*x - 0.9*y, 0.7*x - 0.5*y";
static const double T = 0.9;

static inline hb_problem *make_problem(hb_context *context, int dim, const char *text)
{
    hb_problem_settings settings;
    hb_problem *problem;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = dim;
    settings.drift = text;
    settings.noise = "sqrt(2)";
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    return problem;
}

/* ---- the mixture at tau ---- */

typedef struct part {
    double mean[2], C[3], inverse[3], log_weight;
} part;

/* M C M^T of a symmetric C = {xx, xy, yy}. */
static inline void sandwich(const double M[4], const double C[3], double out[3])
{
    const double r[4] = {M[0] * C[0] + M[1] * C[1], M[0] * C[1] + M[1] * C[2],
                         M[2] * C[0] + M[3] * C[1], M[2] * C[1] + M[3] * C[2]};
    out[0] = r[0] * M[0] + r[1] * M[1];
    out[1] = r[0] * M[2] + r[1] * M[3];
    out[2] = r[2] * M[2] + r[3] * M[3];
}

static inline void stationary_covariance(double P[3])
{
    const double t = A[0] + A[3], det = A[0] * A[3] - A[1] * A[2], one[3] = {1, 0, 1};
    const double B[4] = {A[0] - t, A[1], A[2], A[3] - t};
    sandwich(B, one, P);
    for (int i = 0; i < 3; i++) P[i] = (det * one[i] + P[i]) / (t * det);
}

static inline void propagator(double tau, double E[4])
{
    const double t = A[0] + A[3], B[4] = {A[0] - t / 2, A[1], A[2], A[3] - t / 2};
    const double w = sqrt(B[0] * B[3] - B[1] * B[2]), c = cos(w * tau), s = sin(w * tau) / w;
    for (int i = 0; i < 4; i++) E[i] = exp(-t * tau / 2) * (c * (i % 3 == 0) - s * B[i]);
}

static inline void parts_at(double tau, part out[PARTS])
{
    double E[4], P[3], gone[3];
    propagator(tau, E);
    stationary_covariance(P);
    sandwich(E, P, gone);
    for (int k = 0; k < PARTS; k++) {
        part *p = &out[k];
        sandwich(E, WIDTH[k], p->C);
        for (int i = 0; i < 3; i++) p->C[i] += P[i] - gone[i];
        for (int i = 0; i < 2; i++)
            p->mean[i] = E[2 * i] * START[k][0] + E[2 * i + 1] * START[k][1];
        const double det = p->C[0] * p->C[2] - p->C[1] * p->C[1];
        p->inverse[0] = p->C[2] / det;
        p->inverse[1] = -p->C[1] / det;
        p->inverse[2] = p->C[0] / det;
        p->log_weight = log(SHARE[k] / (2 * M_PI * sqrt(det)));
    }
}

/* ln u, its gradient and Laplacian at x. */
static inline double mixture_at(const part parts[PARTS], const double *x, double *gradient,
                                double *laplacian)
{
    double sum = 0, g[2] = {0}, trace = 0;
    for (int k = 0; k < PARTS; k++) {
        const part *p = &parts[k];
        const double a = x[0] - p->mean[0], b = x[1] - p->mean[1];
        const double u = -(p->inverse[0] * a + p->inverse[1] * b);
        const double v = -(p->inverse[1] * a + p->inverse[2] * b);
        const double weight = exp(p->log_weight + (u * a + v * b) / 2);
        sum += weight;
        g[0] += weight * u;
        g[1] += weight * v;
        trace += weight * (u * u + v * v - p->inverse[0] - p->inverse[2]);
    }
    for (int j = 0; j < 2 && gradient; j++) gradient[j] = g[j] / sum;
    if (laplacian) *laplacian = trace / sum - (g[0] * g[0] + g[1] * g[1]) / (sum * sum);
    return log(sum);
}

static inline int exact_divergence(void *user, size_t n, const double *x, double tau, double *score,
                                   double *divergence)
{
    part parts[PARTS];
    (void)user;
    parts_at(tau, parts);
    for (size_t i = 0; i < n; i++)
        mixture_at(parts, x + 2 * i, score + 2 * i, divergence ? divergence + i : NULL);
    return 0;
}

static inline int exact_score(void *user, size_t n, const double *x, double tau, double *score)
{
    return exact_divergence(user, n, x, tau, score, NULL);
}

static inline int exact_end(void *user, size_t n, const double *x, double *log_density)
{
    part parts[PARTS];
    (void)user;
    parts_at(T, parts);
    for (size_t i = 0; i < n; i++) log_density[i] = mixture_at(parts, x + 2 * i, NULL, NULL);
    return 0;
}

/* Draws of the mixture at tau: the part by its share of the index, so that shares are exact. */
static inline void exact_draws(hb_context *context, double tau, uint64_t stream, size_t n,
                               double *x)
{
    part parts[PARTS];
    parts_at(tau, parts);
    assert_ok(context, hb_random_normal(context, 3, stream, 0, 2 * n, x));
    for (size_t i = 0; i < n; i++) {
        const part *p = &parts[(double)(i * 7 % n) >= SHARE[0] * (double)n];
        const double l = sqrt(p->C[0]), m = p->C[1] / l, z = x[2 * i];
        x[2 * i + 1] = p->mean[1] + m * z + sqrt(p->C[2] - m * m) * x[2 * i + 1];
        x[2 * i] = p->mean[0] + l * z;
    }
}

/* Mean and covariance of the mixture at tau: x, y, xx, xy, yy. */
static inline void exact_moments(double tau, double out[5])
{
    part parts[PARTS];
    parts_at(tau, parts);
    memset(out, 0, 5 * sizeof *out);
    for (int k = 0; k < PARTS; k++)
        for (int j = 0; j < 2; j++) out[j] += SHARE[k] * parts[k].mean[j];
    for (int k = 0; k < PARTS; k++) {
        const double a = parts[k].mean[0] - out[0], b = parts[k].mean[1] - out[1];
        out[2] += SHARE[k] * (parts[k].C[0] + a * a);
        out[3] += SHARE[k] * (parts[k].C[1] + a * b);
        out[4] += SHARE[k] * (parts[k].C[2] + b * b);
    }
}

/* Moments of rows against the exact ones: 5 standard errors, and a part of the method's own error. */
static inline void assert_moments(size_t n, const double *x, double tau, double own)
{
    double exact[5], sum[5] = {0}, squares[5] = {0};
    exact_moments(tau, exact);
    for (size_t i = 0; i < n; i++) {
        const double a = x[2 * i] - exact[0], b = x[2 * i + 1] - exact[1];
        const double value[5] = {x[2 * i], x[2 * i + 1], a * a, a * b, b * b};
        for (int k = 0; k < 5; k++) {
            sum[k] += value[k] / (double)n;
            squares[k] += value[k] * value[k] / (double)n;
        }
    }
    for (int k = 0; k < 5; k++) {
        const double error = sqrt((squares[k] - sum[k] * sum[k]) / (double)n);
        assert_near(sum[k], exact[k], 5 * error + own * fabs(exact[k]));
    }
}

#endif
