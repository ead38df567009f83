/* What the tests of the generate room share: settings, and a Gaussian in the plane and one on a line
 * with their scores in closed form. */
#ifndef HB_TESTS_GENERATE_SUPPORT_H
#define HB_TESTS_GENERATE_SUPPORT_H

#include "generate/reverse.h"
#include "support.h"

static inline void *take(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    assert_non_null(memory);
    return memory;
}

/* The defaults of hb_generate, with the range of tau that it takes. */
static inline hb_generate_settings defaults(void)
{
    hb_generate_settings s;
    hb_generate_settings_default(sizeof s, &s);
    s.tau_min = HB_TAU_MIN;
    s.tau_max = HB_TAU_MAX;
    return s;
}

/* ---- a Gaussian in the plane, by its axes ---- */

static const double ANGLE = 0.7, MEAN[2] = {0.8, -1.3}, LAMBDA[2] = {2.385, 0.03};

static inline void gaussian_covariance(double C[4])
{
    const double c = cos(ANGLE), s = sin(ANGLE);
    C[0] = c * c * LAMBDA[0] + s * s * LAMBDA[1];
    C[3] = s * s * LAMBDA[0] + c * c * LAMBDA[1];
    C[1] = C[2] = c * s * (LAMBDA[0] - LAMBDA[1]);
}

/* Coordinates along the axes, and back. */
static inline void turn(const double *x, double sign, double *out)
{
    const double c = cos(ANGLE), s = sign * sin(ANGLE), first = c * x[0] + s * x[1];
    out[1] = -s * x[0] + c * x[1];
    out[0] = first;
}

static inline double a_of(int process, double tau)
{
    return process == HB_PROCESS_OU ? exp(-tau) : 1;
}

static inline double b_of(int process, double tau)
{
    return process == HB_PROCESS_OU ? 1 - exp(-2 * tau) : 2 * tau;
}

/* Score and divergence of the Gaussian at tau; user: the process. */
static inline int gaussian_divergence(void *user, size_t n, const double *x, double tau,
                                      double *score, double *divergence)
{
    const int process = *(const int *)user;
    const double a = a_of(process, tau), b = b_of(process, tau);
    for (size_t i = 0; i < n; i++) {
        double away[2] = {x[2 * i] - a * MEAN[0], x[2 * i + 1] - a * MEAN[1]}, along[2];
        turn(away, 1, along);
        for (int j = 0; j < 2; j++) along[j] /= -(a * a * LAMBDA[j] + b);
        turn(along, -1, score + 2 * i);
        if (divergence) divergence[i] = -1 / (a * a * LAMBDA[0] + b) - 1 / (a * a * LAMBDA[1] + b);
    }
    return 0;
}

static inline int gaussian_score(void *user, size_t n, const double *x, double tau, double *score)
{
    return gaussian_divergence(user, n, x, tau, score, NULL);
}

static inline double variance_in_frame(int process, double tau, int axis)
{
    const double a = a_of(process, tau);
    return LAMBDA[axis] + b_of(process, tau) / (a * a);
}

static inline hb_generate_settings gaussian_settings(int solver, int process, double *C)
{
    hb_generate_settings s = defaults();
    gaussian_covariance(C);
    s.solver = solver;
    s.process = process;
    s.denoise = HB_DENOISE_NONE;
    s.mean = MEAN;
    s.covariance = C;
    s.seed = 2385;
    return s;
}

/* ---- a Gaussian on a line ---- */

typedef struct line_data {
    double mean, variance;
    int process;
} line_data;

static inline int line_score(void *user, size_t n, const double *x, double tau, double *score)
{
    const line_data *data = user;
    const double a = a_of(data->process, tau), b = b_of(data->process, tau);
    for (size_t i = 0; i < n; i++)
        score[i] = -(x[i] - a * data->mean) / (a * a * data->variance + b);
    return 0;
}

#endif
