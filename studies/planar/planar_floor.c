/* The floor of a score error: what the finite number of rows leaves even to perfect training.
 *
 * Denoising score matching on n rows x_j has its minimum at the score of
 *     u_n(x, tau) = mean_j N(x; a x_j, b),   a = e^-tau, b = 1 - e^-2tau,
 * not at that of the density the rows were drawn from. The constraint cannot tell the two apart: ln
 * u_n satisfies it too. The error of that score falls as 1/n. */
#include "planar.h"

#include <math.h>

static void score_of_rows(size_t n, const double *row, const double *x, double tau, double score[2])
{
    const double a = exp(-tau), b = -expm1(-2 * tau);
    double sum = 0, least = INFINITY;
    score[0] = score[1] = 0;
    for (size_t i = 0; i < n; i++) {
        const double u = a * row[2 * i] - x[0], v = a * row[2 * i + 1] - x[1];
        least = fmin(least, (u * u + v * v) / (2 * b));
    }
    for (size_t i = 0; i < n; i++) {
        const double u = a * row[2 * i] - x[0], v = a * row[2 * i + 1] - x[1];
        const double weight = exp(least - (u * u + v * v) / (2 * b));
        sum += weight;
        score[0] += weight * u / b;
        score[1] += weight * v / b;
    }
    score[0] /= sum;
    score[1] /= sum;
}

void hb_planar_floor(size_t rows, const double *data, double tau, size_t n, const double *x,
                     const double *exact, const char *low, double *error_all, double *error_low)
{
    size_t n_low = 0;
    *error_all = *error_low = 0;
    for (size_t i = 0; i < n; i++) {
        double s[2];
        score_of_rows(rows, data, x + 2 * i, tau, s);
        const double e = pow(s[0] - exact[2 * i], 2) + pow(s[1] - exact[2 * i + 1], 2);
        *error_all += e;
        *error_low += low[i] ? e : 0;
        n_low += low[i] != 0;
    }
    *error_all /= (double)n;
    *error_low /= (double)n_low;
}
