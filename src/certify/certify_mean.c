/* E[s] = 0: Stein's identity for constant fields.
 *
 * u = s - c t has the mean E[s - s*] for every c; c = E[s.t]/E|t|^2 has the least noise, which
 * falls from E|s|^2 to E|s|^2 (1 - c). With the covariance C of the rows' means over their noises,
 * n E[u]' C^-1 E[u] (n - d)/(n - 1) is nearly chi squared with dim degrees (Hotelling, 1931) where
 * n >= ENOUGH dim; with fewer rows the sum over i != j of u_i.u_j, each column over its deviation,
 * is tested by random signs. A number to reproduce: rows N(0, 1) under OU and s = -x + 0.1: the
 * mean is 0.1 of the size of the scores, 0.995. */
#include "base/linear_algebra.h"
#include "certify/certify_run.h"

#include <math.h>
#include <string.h>

enum { ENOUGH = 50 };

/* The c of least noise; 0 where the transition is not known. */
double hb_certify_mix(const hb_certify_run *run, const hb_certify_rows *rows)
{
    const size_t size = rows->n * run->dim;
    double above = 0, below = 0;
    if (!rows->level->gaussian) return 0;
    for (int k = 0; k < HB_CERTIFY_NOISES; k++) {
        above += hb_dot(size, rows->score[k], rows->target[k]);
        below += hb_dot(size, rows->target[k], rows->target[k]);
    }
    return below > 0 ? fmin(fmax(above / below, 0), 1) : 0;
}

/* Means u (n, dim), their mean (dim), and the mean square of s. */
static double mean_fill(const hb_certify_run *run, const hb_certify_rows *rows, double *u,
                        double *mean)
{
    const size_t n = rows->n, d = run->dim;
    const double c = hb_certify_mix(run, rows);
    double square = 0;
    memset(mean, 0, d * sizeof *mean);
    for (size_t i = 0; i < n * d; i++) {
        u[i] = 0;
        for (int k = 0; k < HB_CERTIFY_NOISES; k++) {
            const double s = rows->score[k][i];
            u[i] += (c > 0 ? s - c * rows->target[k][i] : s) / HB_CERTIFY_NOISES;
            square += s * s / (HB_CERTIFY_NOISES * (double)n);
        }
        mean[i % d] += u[i] / (double)n;
    }
    return square;
}

/* n E[u]' C^-1 E[u]; C (d, d) and y (d) are scratch. */
static double mean_hotelling(size_t n, size_t d, const double *u, const double *mean, double *C,
                             double *y)
{
    memset(C, 0, d * d * sizeof *C);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            for (size_t k = 0; k <= j; k++)
                C[j * d + k] +=
                    (u[i * d + j] - mean[j]) * (u[i * d + k] - mean[k]) / (double)(n - 1);
    if (!hb_cholesky(d, C)) return NAN;
    for (size_t j = 0; j < d; j++) y[j] = (mean[j] - hb_dot(j, C + j * d, y)) / C[j * d + j];
    return (double)n * hb_dot(d, y, y);
}

/* Columns over their deviations, and all products of rows. */
static hb_status mean_by_signs(const hb_certify_run *run, const hb_certify_rows *rows, double *u,
                               const double *mean, double shift, double *p_value)
{
    const size_t n = rows->n, d = run->dim;
    for (size_t j = 0; j < d; j++) {
        double variance = 0;
        for (size_t i = 0; i < n; i++)
            variance += (u[i * d + j] - mean[j]) * (u[i * d + j] - mean[j]);
        const double deviation = sqrt(variance / (double)(n - 1));
        for (size_t i = 0; i < n && deviation > 0; i++) u[i * d + j] /= deviation;
    }
    double *K; // (n, n)
    HB_TRY(HB_NEW(run->context, K, n * n));
    hb_signs found = {.p_value = 1};
    hb_status status = HB_OK;
    for (size_t i = 0; i < n && status == HB_OK; i++) {
        for (size_t j = 0; j <= i; j++) K[i * n + j] = hb_dot(d, u + i * d, u + j * d);
        status = hb_certify_listen(run->context);
    }
    if (status == HB_OK)
        status = hb_signs_test(run->context, 0, run->settings.seed,
                               hb_certify_stream(rows->level->index, HB_USE_MEAN_SIGNS), n, K,
                               shift, &found);
    *p_value = found.p_value;
    hb_release(run->context, K);
    return status;
}

static void mean_write_line(const hb_certify_run *run, const hb_certify_rows *rows, double off,
                            double error, double p_value)
{
    hb_line *line =
        hb_certificate_add(run->out, "stein mean", rows->level->tau, off, error, p_value);
    hb_line_say(line->good, "the mean of the scores is 0: (%.2g ± %.2g) %% of their size",
                100 * off, 100 * error);
    hb_line_say(
        line->bad,
        "the scores have a mean, (%.3g ± %.2g) %% of their size: they push all rows one way",
        100 * off, 100 * error);
}

hb_status hb_certify_mean(const hb_certify_run *run, const hb_certify_rows *rows)
{
    const size_t n = rows->n, d = run->dim, small = n >= ENOUGH * d;
    const double tolerance = run->settings.tolerance;
    hb_workspace work;
    double *u, *mean, *C, *y, p_value = 1;
    HB_TRY(HB_WORKSPACE(run->context, &work, HB_ARRAY(u, n * d), HB_ARRAY(mean, d),
                        HB_ARRAY(C, small ? d * d : 1), HB_ARRAY(y, d)));
    const double square = mean_fill(run, rows, u, mean), off = hb_norm(d, mean) / sqrt(square);
    double variance = 0;
    for (size_t i = 0; i < n * d; i++) variance += (u[i] - mean[i % d]) * (u[i] - mean[i % d]);
    const double error = sqrt(variance / ((double)n * (double)(n - 1)) / square);
    hb_status status = HB_OK;
    if (small) {
        const double T2 = mean_hotelling(n, d, u, mean, C, y) * (double)(n - d) / (double)(n - 1);
        const double z = fmax(0, sqrt(T2) - tolerance / (error / sqrt((double)d)));
        p_value = isnan(T2) ? 1 : hb_chi2_tail((double)d, z * z);
    } else {
        const double accepted = tolerance / error * (double)n; /* of a mean of this size */
        status = mean_by_signs(run, rows, u, mean, accepted * accepted / (double)n * (double)d,
                               &p_value);
    }
    if (status == HB_OK) mean_write_line(run, rows, off, error, p_value);
    hb_workspace_destroy(&work);
    return status;
}
