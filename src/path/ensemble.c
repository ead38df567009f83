/* Tamed Euler trajectories side by side.
 *
 * dX = F dtau + sqrt(2) dW, or dX = f dt + G(x,t) dW (Ito) where the noise is a tensor, by
 *     x += F h/(1 + |F| h) + inflation sqrt(2 h) N(0,1),
 * all draws from one seed, so that a box does not depend on the seed of the user. A correlated
 * ensemble is thinner than its standard deviations along the axes: for a Gaussian of covariance C
 * the length along axis a is that of the conditional distribution, (C^-1)_aa^-1/2.
 *
 * M. Hutzenthaler, A. Jentzen, P. E. Kloeden, Ann. Appl. Probab. 22, 2012 (taming). A number to
 * reproduce: variances 1 and correlation 0.6 give the lengths sqrt(1 - 0.36) = 0.8. */
#include "path/ensemble.h"
#include "base/context.h"
#include "problem/noise.h"
#include "problem/problem_parts.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum { SEED = 1 };

hb_status hb_ensemble_create(hb_context *context, const hb_problem *problem, size_t n,
                             hb_ensemble *out)
{
    const size_t d = (size_t)hb_problem_dim(problem);
    const int tensor = hb_problem_noise_kind(problem) != HB_NOISE_SCALAR;
    const size_t columns = tensor ? (size_t)hb_problem_noise_columns(problem) : d;
    *out = (hb_ensemble){.context = context,
                         .problem = problem,
                         .n = n,
                         .d = d,
                         .columns = columns,
                         .tensor = tensor,
                         .per_draw = n * (columns > d ? columns : d)};
    return HB_WORKSPACE(context, &out->work, HB_ARRAY(out->x, n * d), HB_ARRAY(out->F, n * d),
                        HB_ARRAY(out->normals, out->per_draw),
                        HB_ARRAY(out->G, tensor ? n * d * columns : 0),
                        HB_ARRAY(out->previous, tensor ? n * d : 0));
}

void hb_ensemble_destroy(hb_ensemble *e)
{
    hb_workspace_destroy(&e->work);
}

hb_status hb_ensemble_draw(hb_ensemble *e, uint64_t first)
{
    return hb_random_normal(e->context, SEED, HB_STREAM_GRID_BOX, first, e->per_draw, e->normals);
}

/* x += size G(x,t) normals */
static hb_status ensemble_add_noise(hb_ensemble *e, double t, double size)
{
    const size_t d = e->d, m = e->columns;
    const int same = hb_problem_noise_kind(e->problem) == HB_NOISE_MATRIX;
    HB_TRY(hb_problem_noise_factor(e->context, e->problem, same ? 1 : e->n, same ? NULL : e->x, t,
                                   e->G));
    for (size_t k = 0; k < (same ? 1 : e->n) * d * m; k++) {
        char text[HB_POINT_TEXT];
        HB_CHECK(e->context, isfinite(e->G[k]), HB_ERROR_DOMAIN,
                 "the noise is %g at x = %s, t = %g; it must be finite wherever paths may come",
                 isnan(e->G[k]) ? (double)NAN : e->G[k],
                 hb_point_text((int)d, e->x + k / (d * m) * d, text), t);
    }
    for (size_t i = 0; i < e->n; i++)
        for (size_t a = 0; a < d; a++) {
            const double *row = e->G + ((same ? 0 : i) * d + a) * m;
            for (size_t k = 0; k < m; k++) e->x[i * d + a] += size * row[k] * e->normals[i * m + k];
        }
    return HB_OK;
}

hb_status hb_ensemble_step(hb_ensemble *e, const hb_ensemble_move *move)
{
    const double h = move->step, noise = e->tensor ? 0 : move->inflation * sqrt(2 * h);
    const size_t size = e->n * e->d;
    HB_TRY(hb_problem_drift(e->context, e->problem, e->n, e->x, move->tau, e->F, NULL, NULL, NULL));
    HB_TRY(hb_ensemble_draw(e, move->first));
    if (e->tensor) {
        memcpy(e->previous, e->x, size * sizeof *e->x);
        HB_TRY(ensemble_add_noise(e, move->tau, move->inflation * sqrt(h)));
    }
    for (size_t i = 0; i < size && e->tensor && move->reach; i++) {
        const double change = e->x[i] - e->previous[i], part = change / move->reach[i % e->d];
        e->x[i] = e->previous[i] + change / (1 + part * part);
    }
    for (size_t i = 0; i < size; i++)
        e->x[i] += e->F[i] * h / (1 + fabs(e->F[i]) * h) + noise * e->normals[i];
    return HB_OK;
}

void hb_ensemble_moments(const hb_ensemble *e, double *mean, double *variance)
{
    const double n = (double)e->n;
    for (size_t a = 0; a < e->d; a++) {
        double sum = 0, squares = 0;
        for (size_t i = a; i < e->n * e->d; i += e->d) sum += e->x[i];
        mean[a] = sum / n;
        for (size_t i = a; i < e->n * e->d; i += e->d)
            squares += (e->x[i] - mean[a]) * (e->x[i] - mean[a]);
        variance[a] = squares / n;
    }
}

static double ensemble_determinant(int d, double C[3][3])
{
    if (d == 1) return C[0][0];
    if (d == 2) return C[0][0] * C[1][1] - C[0][1] * C[1][0];
    return C[0][0] * (C[1][1] * C[2][2] - C[1][2] * C[2][1]) -
           C[0][1] * (C[1][0] * C[2][2] - C[1][2] * C[2][0]) +
           C[0][2] * (C[1][0] * C[2][1] - C[1][1] * C[2][0]);
}

/* The determinant of C without row and column a. */
static double ensemble_minor(int d, double C[3][3], int a)
{
    double rest[3][3];
    for (int i = 0, k = 0; i < d; i++) {
        if (i == a) continue;
        for (int j = 0, l = 0; j < d; j++)
            if (j != a) rest[k][l++] = C[i][j];
        k++;
    }
    return d == 1 ? 1 : ensemble_determinant(d - 1, rest);
}

void hb_ensemble_lengths(size_t n, int dim, const double *x, double *lengths)
{
    const size_t d = (size_t)dim;
    double mean[3] = {0}, C[3][3] = {{0}};
    for (size_t i = 0; i < n * d; i++) mean[i % d] += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < d; a++)
            for (size_t b = 0; b < d; b++)
                C[a][b] += (x[i * d + a] - mean[a]) * (x[i * d + b] - mean[b]) / (double)n;
    const double whole = ensemble_determinant(dim, C);
    for (int a = 0; a < dim; a++) {
        const double square = whole / ensemble_minor(dim, C, a);
        lengths[a] = sqrt(square > 1e-8 * C[a][a] ? square : C[a][a]);
    }
}
