/* Integrals over a heat ball by brute force: the slow oracle of the ball's closed forms.
 *
 *     int over E_r of f(|y|, s) dy ds,   s = r^2 e^-L/(4 pi),  |y| = R(s) x,  L = v^2
 *     = int_0^inf 2v dv int_0^1 dx  s area(d) R^d x^(d-1) f(R x, s)
 * by composite 8-point Gauss-Legendre rules in v and x; area(d) is that of the unit sphere of
 * R^d. */
#ifndef HB_TESTS_BALL_INTEGRAL_H
#define HB_TESTS_BALL_INTEGRAL_H

#include <math.h>

typedef double (*radial_function)(void *user, double length, double s);

/* numpy.polynomial.legendre.leggauss(8), positive half */
static const double LEGENDRE_NODE[4] = {0.18343464249564978, 0.52553240991632899,
                                        0.79666647741362673, 0.96028985649753618};
static const double LEGENDRE_WEIGHT[4] = {0.36268378337836199, 0.31370664587788727,
                                          0.22238103445337445, 0.10122853629037627};

/* Node and weight i of n panels of 8 on [0, end], i = 0 .. 8n-1. */
static inline double panel_node(int i, int n, double end, double *weight)
{
    const int j = i % 8, half = j < 4 ? j : j - 4;
    const double width = end / n, sign = j < 4 ? -1 : 1;
    *weight = 0.5 * width * LEGENDRE_WEIGHT[half];
    return width * (i / 8 + 0.5 + 0.5 * sign * LEGENDRE_NODE[half]);
}

static inline double ball_integral(int dim, double radius, radial_function f, void *user)
{
    enum { PANELS_V = 120, PANELS_X = 30 };
    const double area = 2 * pow(M_PI, 0.5 * dim) / tgamma(0.5 * dim);
    double sum = 0, weight_v, weight_x;
    for (int i = 0; i < 8 * PANELS_V; i++) {
        const double v = panel_node(i, PANELS_V, 13, &weight_v);
        const double s = radius * radius * exp(-v * v) / (4 * M_PI);
        const double R = sqrt(2 * dim * s) * v;
        double shell = 0;
        for (int j = 0; j < 8 * PANELS_X; j++) {
            const double x = panel_node(j, PANELS_X, 1, &weight_x);
            shell += weight_x * pow(x, dim - 1) * f(user, R * x, s);
        }
        sum += weight_v * 2 * v * s * area * pow(R, dim) * shell;
    }
    return sum;
}

#endif
