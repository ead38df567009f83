/* The benchmark's formulas in C: plain loops over points, restrict so that the compiler is free. */
#include "peer_formulas.h"

#include <math.h>

void c_bistable(size_t n, const double *restrict x, double t, double *restrict out)
{
    (void)t;
    for (size_t i = 0; i < n; i++) out[i] = x[i] - x[i] * x[i] * x[i];
}

void c_van_der_pol(size_t n, const double *restrict x, double t, double *restrict out)
{
    const double mu = 2.385;
    (void)t;
    for (size_t i = 0; i < n; i++) {
        const double p = x[2 * i], q = x[2 * i + 1];
        out[2 * i] = q;
        out[2 * i + 1] = mu * (1 - p * p) * q - p;
    }
}

void c_functions(size_t n, const double *restrict x, double t, double *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        const double p = x[2 * i], q = x[2 * i + 1];
        out[i] = exp(-(p * p + q * q) / 2) * sin(3 * p + t) - q;
    }
}

void c_chain(size_t n, const double *restrict x, double t, double *restrict out)
{
    const double k = 0.31;
    (void)t;
    for (size_t i = 0; i < n; i++) {
        const double *p = x + CHAIN_DIM * i;
        for (int j = 0; j < CHAIN_DIM; j++) {
            const double left = p[j > 0 ? j - 1 : 0], right = p[j + 1 < CHAIN_DIM ? j + 1 : j];
            out[CHAIN_DIM * i + (size_t)j] =
                p[j] - p[j] * p[j] * p[j] + k * (left - 2 * p[j] + right);
        }
    }
}
