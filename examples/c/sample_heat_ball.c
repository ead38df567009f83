/* The value of a caloric function at a point: its mean over a heat ball, with the standard error.
 *
 * theta(x,tau) = exp(a.x + |a|^2 tau) solves d theta/d tau = Lap theta. Its value at (x0, tau0) is
 * the mean of theta(x0 + r z, tau0 - r^2 sigma) over draws (z, sigma) of the Watson measure kappa;
 * r^2 must be below 4 pi tau0, so that the ball stays in tau > 0. Here a = (0.5, -0.3, 0.2).
 *
 *     cc sample_heat_ball.c $(pkg-config --cflags --libs heatball) -lm && ./a.out 100000 */
#include <heatball/heatball.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIM = 3 };

static const double slope[DIM] = {0.5, -0.3, 0.2};

static double theta(const double *x, double tau)
{
    double exponent = 0;
    for (int i = 0; i < DIM; i++) exponent += slope[i] * x[i] + slope[i] * slope[i] * tau;
    return exp(exponent);
}

/* Mean of theta over the n draws around (x0, tau0), and its standard error. */
static void average(size_t n, const double *z, const double *sigma, const double *x0, double tau0,
                    double *mean, double *error)
{
    double sum = 0, squares = 0;
    for (size_t k = 0; k < n; k++) {
        double x[DIM];
        for (int i = 0; i < DIM; i++) x[i] = x0[i] + z[k * DIM + (size_t)i];
        const double value = theta(x, tau0 - sigma[k]);
        sum += value;
        squares += value * value;
    }
    *mean = sum / (double)n;
    *error = sqrt((squares / (double)n - *mean * *mean) / (double)(n - 1));
}

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    const double x0[DIM] = {0.1, 0.2, 0.3}, tau0 = 0.5,
                 radius = 2.0;               /* r^2 = 4 < 4 pi tau0 = 6.28 */
    double *z = malloc(n * DIM * sizeof *z); // (n, DIM)
    double *sigma = malloc(n * sizeof *sigma);
    hb_context *context = NULL;
    int code = 1;
    if (n < 2 || !z || !sigma || hb_context_create(NULL, &context) != HB_OK) {
        fprintf(stderr, "usage: sample_heat_ball [N], N from 2 to what fits into memory\n");
    } else if (hb_ball_sample(context, HB_MEASURE_KAPPA, DIM, 0, 1, 0, n, radius, z, sigma) !=
               HB_OK) {
        fprintf(stderr, "%s\n", hb_context_message(context));
    } else {
        double mean, error;
        average(n, z, sigma, x0, tau0, &mean, &error);
        printf("mean over the heat ball  %.6f +- %.6f  (%zu draws)\n", mean, error, n);
        printf("exact value              %.6f\n", theta(x0, tau0));
        code = 0;
    }
    hb_context_destroy(context);
    free(sigma);
    free(z);
    return code;
}
