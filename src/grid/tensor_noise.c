/* Steps of particles with the noise G(x,t), and how thin their cloud is.
 *
 * dX = f dt + G dW (Ito, Euler-Maruyama): the noise is taken before the step. A correlated cloud is thinner
 * than its deviations along the axes say: for a Gaussian of covariance C the length that a grid must
 * resolve along axis a is that of the conditional law, (C^-1)_aa^-1/2.
 *
 * A number to reproduce: deviations 1 and correlation 0.6 give the lengths sqrt(1 - 0.36) = 0.8. */
#include "grid/tensor_noise.h"
#include "base/context.h"
#include "grid/grid_mesh.h"
#include "problem/noise.h"

#include <math.h>
#include <string.h>

size_t hb_tensor_columns(const hb_problem *problem)
{
    if (hb_problem_noise_kind(problem) == HB_NOISE_SCALAR) return (size_t)hb_problem_dim(problem);
    return (size_t)hb_problem_noise_columns(problem);
}

hb_status hb_tensor_kick(hb_context *context, const hb_problem *problem, size_t n, double t,
                         double size, const double *normals, double *G, double *x)
{
    const size_t d = (size_t)hb_problem_dim(problem), m = hb_tensor_columns(problem);
    const int matrix = hb_problem_noise_kind(problem) == HB_NOISE_MATRIX;
    HB_TRY(hb_problem_noise_factor(context, problem, matrix ? 1 : n, matrix ? NULL : x, t, G));
    for (size_t k = 0; k < (matrix ? 1 : n) * d * m; k++) {
        char text[100];
        HB_CHECK(context, isfinite(G[k]), HB_ERROR_DOMAIN,
                 "the noise is %g at x = %s, t = %g; it must be finite wherever paths may come",
                 isnan(G[k]) ? (double)NAN : G[k],
                 hb_mesh_place_text((int)d, x + k / (d * m) * d, sizeof text, text), t);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < d; a++) {
            const double *row = G + ((matrix ? 0 : i) * d + a) * m;
            for (size_t k = 0; k < m; k++) x[i * d + a] += size * row[k] * normals[i * m + k];
        }
    return HB_OK;
}

static double determinant(int d, double C[3][3])
{
    if (d == 1) return C[0][0];
    if (d == 2) return C[0][0] * C[1][1] - C[0][1] * C[1][0];
    return C[0][0] * (C[1][1] * C[2][2] - C[1][2] * C[2][1]) -
           C[0][1] * (C[1][0] * C[2][2] - C[1][2] * C[2][0]) +
           C[0][2] * (C[1][0] * C[2][1] - C[1][1] * C[2][0]);
}

/* The determinant of C without row and column a. */
static double minor_of(int d, double C[3][3], int a)
{
    double rest[3][3];
    for (int i = 0, k = 0; i < d; i++) {
        if (i == a) continue;
        for (int j = 0, l = 0; j < d; j++)
            if (j != a) rest[k][l++] = C[i][j];
        k++;
    }
    return d == 1 ? 1 : determinant(d - 1, rest);
}

void hb_tensor_lengths(size_t n, int dim, const double *x, double *lengths)
{
    const size_t d = (size_t)dim;
    double mean[3] = {0}, C[3][3] = {{0}};
    for (size_t i = 0; i < n * d; i++) mean[i % d] += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < d; a++)
            for (size_t b = 0; b < d; b++)
                C[a][b] += (x[i * d + a] - mean[a]) * (x[i * d + b] - mean[b]) / (double)n;
    const double whole = determinant(dim, C);
    for (int a = 0; a < dim; a++) {
        const double square = whole / minor_of(dim, C, a);
        lengths[a] = sqrt(square > 1e-8 * C[a][a] ? square : C[a][a]);
    }
}
