/* Estimates that are no networks: a Gaussian mixture by EM, a kernel estimate.
 *
 * EM (Dempster, Laird, Rubin 1977) with full covariances: with r_ik the probability of component k
 * given row i and N_k = sum_i r_ik,
 *     w_k = N_k/n,   m_k = sum_i r_ik x_i/N_k,   C_k = (sum_i r_ik (x_i-m_k)(x_i-m_k)' + F I)/N_k,
 * F = 0.01, a floor for components of few rows. It starts at centres of k-means++ (Arthur,
 * Vassilvitskii 2007) with one isotropic variance, the first with 4, for outliers, and ends when
 * the mean log-likelihood grows by less than 5e-4, after 60 iterations at the latest. 3, 5, 10, 20,
 * 40, 80 components (up to 20 in 32 dimensions, 10 in 64) are tried until the likelihood of the
 * last tenth of the rows falls twice. Kernel estimate: u(x) = mean_i N(x; x_i, h^2 I), h the best
 * of 24 by the leave-one-out likelihood of 400 rows. At tau both have centres a m_k and covariances
 * a^2 C_k + b I. Uniforms of stream (7 << 32) + k. */
#include "density.h"

#include <heatball/model.h>
#include <heatball/random.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 60, MOST_ROWS = 20000, STARTS = 4000, WIDTHS = 24, LEFT_OUT = 400 };
static const double FLOOR = 0.01, ENOUGH = 5e-4;

typedef struct em_state {
    size_t d, k, n;
    const double *x;                            // (n, d)
    double *weight, *mean, *covariance, *r, *y; // (k), (k, d), (k, d, d), (k, n), (d)
} em_state;

/* Centres by k-means++ among the first rows; one variance: the mean square distance to them. */
static hb_status em_start(hb_context *context, uint64_t seed, em_state *s)
{
    const size_t d = s->d, n = s->n < STARTS ? s->n : STARTS;
    double *u = s->weight, *nearest = s->r, sum = 0;
    HB_TRY(hb_random_uniform(context, seed, (UINT64_C(7) << 32) + s->k, 0, s->k, u));
    for (size_t i = 0; i < n; i++) nearest[i] = INFINITY;
    for (size_t k = 0; k < s->k; k++) {
        size_t at = k ? 0 : (size_t)(u[0] * (double)n);
        for (double left = u[k] * sum; k && at + 1 < n && (left -= nearest[at]) > 0;) at++;
        memcpy(s->mean + d * k, s->x + d * at, d * sizeof(double));
        sum = 0;
        for (size_t i = 0; i < n; i++) {
            double square = 0;
            for (size_t j = 0; j < d; j++) square += pow(s->x[d * i + j] - s->mean[d * k + j], 2);
            sum += nearest[i] = fmin(nearest[i], square);
        }
    }
    for (size_t k = 0; k < s->k; k++) s->weight[k] = 1.0 / (double)s->k;
    for (size_t k = 0; k < s->k * d; k++)
        s->covariance[d * k + k % d] = k < d ? 4 : sum / (double)(n * d) + FLOOR;
    return HB_OK;
}

/* Probabilities of the components; the mean log-likelihood. */
static hb_status em_expect(hb_context *context, em_state *s, double *likelihood)
{
    hb_status status = HB_OK;
    for (size_t k = 0; k < s->k && status == HB_OK; k++) {
        hb_mixture *one = NULL;
        status = hb_mixture_create(context, (int)s->d, 1, &s->weight[k], s->mean + s->d * k,
                                   s->covariance + s->d * s->d * k, &one);
        if (status == HB_OK)
            status =
                hb_mixture_score(context, one, HB_PROCESS_OU, s->n, s->x, 0, s->r + s->n * k, NULL);
        hb_mixture_destroy(one);
    }
    *likelihood = 0;
    for (size_t i = 0; i < s->n; i++) {
        double *r = s->r + i, top = -INFINITY, sum = 0;
        for (size_t k = 0; k < s->k; k++) top = fmax(top, r[s->n * k] += log(s->weight[k]));
        for (size_t k = 0; k < s->k; k++)
            sum += r[s->n * k] = r[s->n * k] - top > -30 ? exp(r[s->n * k] - top) : 0;
        for (size_t k = 0; k < s->k; k++) r[s->n * k] /= sum;
        *likelihood += (top + log(sum)) / (double)s->n;
    }
    return status;
}

static void em_maximise(em_state *s, size_t k)
{
    const size_t d = s->d;
    const double *r = s->r + s->n * k;
    double *mean = s->mean + d * k, *C = s->covariance + d * d * k, *y = s->y, count = 1e-10;
    memset(mean, 0, d * sizeof *mean);
    memset(C, 0, d * d * sizeof *C);
    for (size_t i = 0; i < s->n; i++) {
        count += r[i];
        for (size_t j = 0; j < d; j++) mean[j] += r[i] * s->x[d * i + j];
    }
    for (size_t j = 0; j < d; j++) mean[j] /= count;
    for (size_t i = 0; i < s->n; i++) {
        if (r[i] < 1e-12) continue;
        for (size_t j = 0; j < d; j++) y[j] = s->x[d * i + j] - mean[j];
        for (size_t j = 0; j < d; j++)
            for (size_t c = 0; c < d; c++) C[d * j + c] += r[i] * y[j] * y[c];
    }
    for (size_t j = 0; j < d; j++) C[d * j + j] += FLOOR;
    for (size_t j = 0; j < d * d; j++) C[j] /= count;
    s->weight[k] = count / (double)s->n;
}

static hb_status em_fit(hb_context *context, uint64_t seed, int dim, int count, size_t n,
                        const double *x, hb_mixture **out)
{
    const size_t d = (size_t)dim, k = (size_t)count;
    double before = -INFINITY, now = 0;
    void *memory;
    HB_TRY(hb_study_allocate(context, k * (1 + d + d * d) + n * k + d, sizeof(double), &memory));
    em_state s = {.d = d, .k = k, .n = n, .x = x, .weight = memory};
    s.mean = s.weight + k;
    s.covariance = s.mean + k * d;
    s.r = s.covariance + k * d * d;
    s.y = s.r + n * k;
    hb_status status = em_start(context, seed, &s);
    for (int step = 0; step < ITERATIONS && status == HB_OK; step++, before = now) {
        status = em_expect(context, &s, &now);
        for (size_t c = 0; c < k && status == HB_OK; c++) em_maximise(&s, c);
        if (status == HB_OK) status = hb_context_progress(context, "em", step, ITERATIONS);
        if (!(now - before > ENOUGH)) break;
    }
    if (status == HB_OK)
        status = hb_mixture_create(context, dim, k, s.weight, s.mean, s.covariance, out);
    free(memory);
    return status;
}

hb_status hb_density_fit_em(hb_context *context, uint64_t seed, size_t n, const double *x,
                            hb_density_estimate *out)
{
    static const int counts[] = {3, 5, 10, 20, 40, 80};
    const size_t rows = n < MOST_ROWS ? n : MOST_ROWS, held = rows / 10, fitted = rows - held;
    int falls = 0, most = out->dim >= 64 ? 10 : out->dim >= 32 ? 20 : 80;
    double best = -INFINITY, sum = 0;
    void *v;
    hb_status status = hb_study_allocate(context, held, sizeof(double), &v);
    for (size_t i = 0; i < HB_COUNT(counts) && falls < 2 && status == HB_OK; i++) {
        if (counts[i] > most) break;
        hb_mixture *mixture = NULL;
        status = em_fit(context, seed, out->dim, counts[i], fitted, x, &mixture);
        if (status == HB_OK)
            status = hb_mixture_score(context, mixture, HB_PROCESS_OU, held,
                                      x + fitted * (size_t)out->dim, 0, v, NULL);
        sum = 0;
        for (size_t k = 0; k < held; k++) sum += ((double *)v)[k];
        hb_mixture_destroy(sum > best ? out->mixture : mixture);
        falls = sum > best ? 0 : falls + 1;
        if (sum > best) out->mixture = mixture, best = sum;
    }
    free(v);
    return status;
}

/* ln sum_i exp(-|x - a x_i|^2/(2 variance)) without row `but`, for n variances. */
static void kernel_sums(const hb_density_estimate *e, const double *x, double a, size_t but,
                        size_t n, const double *variance, double *out)
{
    double least = INFINITY, *square = e->square;
    memset(square, 0, e->n * sizeof *square);
    for (size_t j = 0; j < (size_t)e->dim; j++) {
        const double *row = e->rows + e->n * j;
        for (size_t i = 0; i < e->n; i++) square[i] += (x[j] - a * row[i]) * (x[j] - a * row[i]);
    }
    if (but < e->n) square[but] = INFINITY;
    for (size_t i = 0; i < e->n; i++) least = fmin(least, square[i]);
    for (size_t k = 0; k < n; k++) {
        double sum = 0;
        for (size_t i = 0; i < e->n; i++) {
            const double t = 0.5 * (square[i] - least) / variance[k];
            sum += t < 35 ? exp(-t) : 0;
        }
        out[k] = log(sum) - 0.5 * least / variance[k];
    }
}

hb_status hb_density_fit_kde(hb_context *context, size_t n, const double *x,
                             hb_density_estimate *out)
{
    const size_t rows = n < MOST_ROWS ? n : MOST_ROWS, d = (size_t)out->dim;
    double variance[WIDTHS], sums[WIDTHS], total[WIDTHS] = {0};
    HB_TRY(HB_STUDY_NEW(context, out->rows, (d + 1) * rows));
    out->n = rows;
    out->square = out->rows + d * rows;
    for (size_t i = 0; i < rows * d; i++) out->rows[rows * (i % d) + i / d] = x[i];
    for (int k = 0; k < WIDTHS; k++) variance[k] = pow(0.01 * pow(1.25, k), 2);
    for (size_t i = 0; i < LEFT_OUT && i < rows; i++) {
        kernel_sums(out, x + d * i, 1, i, WIDTHS, variance, sums);
        for (int k = 0; k < WIDTHS; k++) total[k] += sums[k] - 0.5 * (double)d * log(variance[k]);
    }
    int best = 0;
    for (int k = 1; k < WIDTHS; k++) best = total[k] > total[best] ? k : best;
    out->variance = variance[best];
    return HB_OK;
}

hb_status hb_density_at(hb_context *context, const hb_density_estimate *e, size_t n,
                        const double *x, double tau, double *v, double *score)
{
    if (e->mixture)
        return hb_mixture_score(context, e->mixture, HB_PROCESS_OU, n, x, tau, v, score);
    const size_t d = (size_t)e->dim;
    const double a = exp(-tau), variance = a * a * e->variance - expm1(-2 * tau);
    void *taus;
    HB_TRY(hb_study_allocate(context, n, sizeof(double), &taus));
    for (size_t i = 0; i < n; i++) {
        ((double *)taus)[i] = tau;
        if (e->model) continue;
        kernel_sums(e, x + d * i, a, e->n, 1, &variance, &v[i]);
        v[i] -= log((double)e->n) + 0.5 * (double)d * log(2 * M_PI * variance);
        for (size_t j = 0; j < d && score; j++) score[d * i + j] = NAN; /* not needed */
    }
    const hb_status status =
        e->model ? hb_model_log_density(context, e->model, n, x, taus, NULL, v, score) : HB_OK;
    free(taus);
    return status;
}
