/* What simulated paths tell a training with a user's drift before it begins: the size of the
 * drift's Jacobian, the moments and the range of the process, and draws at tau_max.
 *
 * At KNOTS values of tau, evenly spaced in ln tau from tau_min/4 to tau_max, from PATHS paths: the
 * mean m, the variances V_r along the axes of the data's covariance, and their rates from
 *     dm/dtau = E F,     dV_r/dtau = 2 + 2 cov((axis_r.F), (axis_r.x)),
 * which Ito's formula gives without the noise of a difference. A number to reproduce: F = -x has
 * dV/dtau = 2 - 2V. */
#include "base/linear_algebra.h"
#include "train/drift_pool.h"

#include <math.h>
#include <string.h>

enum { KNOTS = 33, PATHS = 4096, LEAST_PATHS = 512, PILOTS = 256, PILOT_TIMES = 16 };
enum { MOST_VALUES = 1 << 25 }; /* of all paths at all knots */

static const double STEP = 0.06; /* Heun's, in 1/|J| */
static const double DETAIL = 1;  /* S in 1/|J|: F = -x/V has the distribution N(0, V) */
/* Numbers of these paths, which no generation of the pool reaches. */
static const uint64_t PILOT_FIRST = UINT64_C(1) << 48, PATH_FIRST = UINT64_C(3) << 48;

hb_status hb_pool_drift_size(hb_trainer *trainer)
{
    const size_t d = (size_t)trainer->model->info.dim, n = PILOTS;
    const double end = trainer->settings.tau_max;
    double times[PILOT_TIMES], sum = 0, squares = 0;
    hb_workspace work;
    for (int k = 0; k < PILOT_TIMES; k++) times[k] = end * k / (PILOT_TIMES - 1);
    double *x, *jacobian, *F;
    HB_TRY(HB_WORKSPACE(trainer->context, &work, HB_ARRAY(x, PILOT_TIMES * n * d),
                        HB_ARRAY(jacobian, d * d), HB_ARRAY(F, d)));
    hb_status status = hb_pool_paths(trainer, end / 256, PILOT_TIMES, times, PILOT_FIRST, n, x);
    for (size_t i = 0; i < PILOT_TIMES * n && status == HB_OK; i++) {
        status = hb_problem_drift(trainer->context, trainer->settings.drift, 1, x + i * d, 0, F,
                                  NULL, NULL, jacobian);
        if (status != HB_OK) break;
        sum += pow(hb_matrix_norm(d, jacobian), 4);
        for (size_t j = 0; j < d; j++) squares += F[j] * F[j];
    }
    trainer->pool->size = fmax(sqrt(sqrt(sum / (double)(PILOT_TIMES * n))), 1e-3 / end);
    trainer->pool->strength = fmax(squares / (double)(PILOT_TIMES * n), 1e-300);
    hb_workspace_destroy(&work);
    return status;
}

/* Along axis r: p = axis.(x - m) and q = axis.(F - E F) of one path. */
static void reference_along_axis(const hb_model *model, size_t r, const double *x, const double *F,
                                 const double *mean, double *p, double *q)
{
    const size_t d = (size_t)model->info.dim;
    *p = *q = 0;
    for (size_t j = 0; j < d; j++) {
        *p += (double)model->axes[r * d + j] * (x[j] - mean[j]);
        *q += (double)model->axes[r * d + j] * F[j];
    }
}

/* A knot of the model's table from n paths x (n, d) at tau and F there. */
static void reference_write_knot(const hb_model *model, double tau, size_t n, const double *x,
                                 const double *F, double *knot)
{
    const size_t d = (size_t)model->info.dim, columns = 2 * d + 1;
    double *mean = knot, *rate = knot + columns, spread = 0, spread_rate = 0;
    memset(knot, 0, 2 * columns * sizeof *knot);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            mean[j] += x[i * d + j] / (double)n;
            rate[j] += tau * F[i * d + j] / (double)n;
        }
    for (size_t r = 0; r < d; r++) {
        double variance = 0, covariance = 0;
        for (size_t i = 0; i < n; i++) {
            double p, q;
            reference_along_axis(model, r, x + i * d, F + i * d, mean, &p, &q);
            variance += p * p / (double)n;
            covariance += p * q / (double)n;
        }
        const double variance_rate = tau * (2 + 2 * covariance);
        spread += variance / (double)d;
        spread_rate += variance_rate / (double)d;
        knot[d + r] = log(variance);
        rate[d + r] = variance_rate / variance;
    }
    knot[2 * d] = log(spread);
    rate[2 * d] = spread_rate / spread;
}

/* Least and largest coordinates of n paths x (n, d), into range (2, d). */
static void reference_write_range(size_t n, size_t d, const double *x, double *range)
{
    memcpy(range, x, d * sizeof *x);
    memcpy(range + d, x, d * sizeof *x);
    for (size_t i = 0; i < n * d; i++) {
        range[i % d] = fmin(range[i % d], x[i]);
        range[d + i % d] = fmax(range[d + i % d], x[i]);
    }
}

static hb_status reference_set(hb_trainer *trainer, size_t n, double *x, double *F, double *table,
                               double *range, float *ends)
{
    hb_model *model = trainer->model;
    const size_t d = (size_t)model->info.dim, kept = n < HB_MOST_ENDS ? n : HB_MOST_ENDS;
    const double first = log(trainer->settings.tau_min / 4);
    const double step = (log(trainer->settings.tau_max) - first) / (KNOTS - 1);
    double times[KNOTS];
    for (int k = 0; k < KNOTS; k++) times[k] = exp(first + step * k);
    HB_TRY(hb_pool_paths(trainer, STEP / trainer->pool->size, KNOTS, times, PATH_FIRST, n, x));
    for (size_t k = 0; k < KNOTS; k++) {
        const double *at = x + k * n * d;
        HB_TRY(hb_problem_drift(trainer->context, trainer->settings.drift, n, at, 0, F, NULL, NULL,
                                NULL));
        reference_write_knot(model, times[k], n, at, F, table + k * 2 * (2 * d + 1));
        reference_write_range(n, d, at, range + k * 2 * d);
    }
    for (size_t i = 0; i < kept * d; i++) ends[i] = (float)x[(KNOTS - 1) * n * d + i];
    const double spread = exp(table[(KNOTS - 1) * 2 * (2 * d + 1) + 2 * d]);
    const double numbers[3] = {first, step, fmin(spread, DETAIL / trainer->pool->size)};
    HB_TRY(hb_model_set_flow(trainer->context, model, hb_problem_text(trainer->settings.drift),
                             numbers, KNOTS, table, kept, ends));
    return hb_model_set_range(trainer->context, model, range);
}

hb_status hb_pool_set_reference(hb_trainer *trainer)
{
    const size_t d = (size_t)trainer->model->info.dim, fit = MOST_VALUES / (KNOTS * d);
    const size_t n = fit > PATHS ? PATHS : fit < LEAST_PATHS ? LEAST_PATHS : fit;
    const size_t columns = 2 * d + 1;
    hb_workspace work;
    double *x, *F, *table, *range;
    float *ends;
    HB_TRY(HB_WORKSPACE(trainer->context, &work, HB_ARRAY(x, KNOTS * n * d), HB_ARRAY(F, n * d),
                        HB_ARRAY(table, KNOTS * 2 * columns), HB_ARRAY(range, KNOTS * 2 * d),
                        HB_ARRAY(ends, n * d)));
    const hb_status status = reference_set(trainer, n, x, F, table, range, ends);
    hb_workspace_destroy(&work);
    return status;
}
