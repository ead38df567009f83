/* Sections 4.5 and 5.1 of the paper: its loss at the truth, the bias of a squared average, and the
 * direction of the ring's score.
 *
 * The density N(0, I) is stationary for F = -x: v = -|x|^2/2 + const and h_v = d everywhere. So
 * with draws (z, sigma) of kappa, one term of v(x0) - mean of v(x0 - z) is e = |z|^2/2 - x0.z,
 * with the mean
 *     E e = E|z|^2/2 = d C1/4,
 * which is what the loss without the source leaves at the truth; with the source it is 0. The
 * variance is Var e = Var|z|^2/4 + |x0|^2 E|z|^2/d, and E|z|^2 = d C1/2,
 *     E|z|^4 = (d/2 pi)^2 (n+1)/(n+3) Gamma(n+4)/Gamma(n+2) n^(n+2)/(n+2)^(n+4),       n = d/2,
 * since |z|^2 = 2 d sigma L t with L ~ Gamma(n+2, n) and t ~ Beta(n+1, 1). The square of an
 * average of N terms has the mean (E e)^2 + Var e/N; the product of two averages of N/2 terms each
 * has the mean (E e)^2.
 *
 * Must reproduce: d C1/4 = 0.0198944 in the plane, 0.392 in d = 16. */
#include "identities.h"

#include <heatball/data.h>
#include <math.h>
#include <stdlib.h>

static const double ANCHOR = 0.3; /* every coordinate of x0 */

/* n terms |z|^2/2 - x0.z. */
static hb_status draw_terms(hb_identities *list, int dim, uint64_t seed, size_t n, double *terms)
{
    enum { BATCH = 1024 };
    const size_t d = (size_t)dim;
    double *z; // (BATCH, dim)
    HB_TRY(HB_STUDY_NEW(list->context, z, BATCH * d));
    hb_status status = HB_OK;
    for (size_t first = 0; first < n && status == HB_OK; first += BATCH) {
        status =
            hb_ball_sample(list->context, HB_MEASURE_KAPPA, dim, 0, seed, first, BATCH, 1, z, NULL);
        for (size_t i = 0; i < BATCH && status == HB_OK; i++) {
            double e = 0;
            for (size_t k = 0; k < d; k++) e += z[i * d + k] * (0.5 * z[i * d + k] - ANCHOR);
            terms[first + i] = e;
        }
    }
    free(z);
    return status;
}

static void mean_and_error(size_t n, const double *values, double *mean, double *error)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++) sum += values[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) square += (values[i] - *mean) * (values[i] - *mean);
    *error = sqrt(square / ((double)n * ((double)n - 1)));
}

/* ---- correction 1 ---- */

static hb_status measure_literal(hb_identities *list, int dim, size_t n, double *terms)
{
    hb_ball_constants c;
    double mean, error;
    HB_TRY(hb_ball_constants_get(list->context, dim, 0, sizeof c, &c));
    HB_TRY(draw_terms(list, dim, list->seed + 2, n, terms));
    mean_and_error(n, terms, &mean, &error);
    HB_TRY(
        hb_identities_put(list, "literal", "without source", dim, 1, mean, dim * c.C1 / 4, error));
    return hb_identities_put(list, "literal", "with source", dim, 1, mean - c.C1 / 4 * dim, 0,
                             error);
}

hb_status hb_identities_literal(hb_identities *list)
{
    static const int dims[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
    const size_t n = list->quick ? 1 << 15 : 1 << 20;
    void *memory;
    HB_TRY(hb_study_allocate(list->context, n, sizeof(double), &memory));
    hb_status status = HB_OK;
    for (size_t i = 0; i < sizeof dims / sizeof *dims && status == HB_OK; i++)
        status = measure_literal(list, dims[i], dims[i] > 16 ? n / 8 : n, memory);
    free(memory);
    return status;
}

/* ---- correction 2 ---- */

enum { BIAS_DIM = 16 };

/* Var(|z|^2/2 - x0.z) under kappa. */
static double term_variance(const hb_ball_constants *c)
{
    const double d = c->dim, n = d / 2, mean = d * c->C1 / 2;
    const double fourth = pow(d / (2 * M_PI), 2) * (n + 1) / (n + 3) * (n + 3) * (n + 2) *
                          exp((n + 2) * log(n) - (n + 4) * log(n + 2));
    return (fourth - mean * mean) / 4 + ANCHOR * ANCHOR * mean;
}

/* Squares of means over groups of `size` terms, and products of the means of their halves. */
static hb_status group_terms(hb_identities *list, size_t n, const double *terms, size_t size,
                             double offset, double variance, double *work)
{
    const size_t groups = n / size;
    double *square = work, *product = work + groups, mean, error;
    for (size_t g = 0; g < groups; g++) {
        double half[2] = {0, 0};
        for (size_t i = 0; i < size; i++)
            half[i >= size / 2] += (terms[g * size + i] - offset) / ((double)size / 2);
        square[g] = 0.25 * (half[0] + half[1]) * (half[0] + half[1]);
        product[g] = half[0] * half[1];
    }
    mean_and_error(groups, square, &mean, &error);
    HB_TRY(hb_identities_put(list, "bias", "square", BIAS_DIM, (double)size, mean,
                             variance / (double)size, error));
    mean_and_error(groups, product, &mean, &error);
    return hb_identities_put(list, "bias", "product", BIAS_DIM, (double)size, mean, 0, error);
}

hb_status hb_identities_bias(hb_identities *list)
{
    const size_t n = list->quick ? 1 << 16 : 1 << 19;
    void *memory;
    hb_ball_constants c;
    HB_TRY(hb_ball_constants_get(list->context, BIAS_DIM, 0, sizeof c, &c));
    HB_TRY(hb_study_allocate(list->context, 2 * n, sizeof(double), &memory));
    double *terms = memory, *work = terms + n;
    hb_status status = draw_terms(list, BIAS_DIM, list->seed + 3, n, terms);
    for (size_t size = 4; size <= 256 && status == HB_OK; size *= 2)
        status = group_terms(list, n, terms, size, BIAS_DIM * c.C1 / 4, term_variance(&c), work);
    free(memory);
    return status;
}

/* ---- correction 6 ---- */

enum { RING_DRAWS = 20000 };

/* Share of the mean of |score|^2 along the circle, with the standard error of the quotient. */
static hb_status tangential_share(hb_identities *list, const hb_mixture *ring, double tau,
                                  double *memory)
{
    const size_t n = RING_DRAWS;
    double *x = memory, *score = x + 2 * n, along = 0, all = 0, square = 0;
    HB_TRY(
        hb_mixture_sample_at(list->context, ring, HB_PROCESS_OU, list->seed, 0, n, tau, x, NULL));
    HB_TRY(hb_mixture_score(list->context, ring, HB_PROCESS_OU, n, x, tau, NULL, score));
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++) {
            const double *p = x + 2 * i, *s = score + 2 * i;
            const double turn = p[0] * s[1] - p[1] * s[0];
            const double t = turn * turn / (p[0] * p[0] + p[1] * p[1]);
            const double total = s[0] * s[0] + s[1] * s[1];
            if (pass == 0)
                along += t, all += total;
            else
                square += pow(t - along / all * total, 2);
        }
    const double share = along / all, error = sqrt(square) / all;
    HB_TRY(hb_identities_put(list, "ring", "tangential", 2, tau, share, NAN, error));
    return hb_identities_put(list, "ring", "radial", 2, tau, 1 - share, NAN, error);
}

hb_status hb_identities_ring(hb_identities *list)
{
    static const double taus[] = {0, 0.1, 0.3, 0.5, 0.8};
    hb_mixture *ring;
    void *memory = NULL;
    HB_TRY(hb_mixture_named(list->context, "ring", &ring));
    hb_status status = hb_study_allocate(list->context, 4 * RING_DRAWS, sizeof(double), &memory);
    for (size_t i = 0; i < sizeof taus / sizeof *taus && status == HB_OK; i++)
        status = tangential_share(list, ring, taus[i], memory);
    free(memory);
    hb_mixture_destroy(ring);
    return status;
}
