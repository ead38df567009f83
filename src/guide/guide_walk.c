/* Walks back from a point along the score of a network, with weights that make their mean exact.
 *
 * The chain of Euler steps h of dx = F dtau + sqrt(2) dW from u0 has at tau = n h the density
 * u_h(x). For any vector field s, walks y = x + h B + sqrt(2h) e, B = 2 s(x,tau) - F(x), from x
 * back to tau = 0 give it as a mean,
 *     u_h(x) = E[e^w],   w = ln u0(x_0) + sum_k (|e_k|^2/2 - |x_k - x_{k-1} - h
 *                        F(x_{k-1})|^2/(4h)),
 * forward transition over backward one. With s the score w does not vary but for the steps. s is
 * the network's, below tau_min a mean of it there and of the start's. No step is longer
 * than 2 sqrt(2 d h), which does not change the mean. Nothing may keep walks from places that the
 * initial density reaches: what comes from there would be the value of rare walks. The steps end at
 * tau (k/n)^1.5: in a steep tail, where walks are at early times only, long steps give heavy
 * weights.
 *
 * The gradient: walks from x +- r e_j with the same e. u_h - u is O(h); the same walks with half
 * the steps (two e are one) give u_2h, and 2 u_h - u_2h is the mean. LEFT of the difference is a
 * part of the errors (accumulator.c).
 *
 * Must reproduce, with any network: F = -x from N(0,1), tau 0.5, x = 0: the mean of e^w is 1/sqrt(2
 * pi) = 0.398942 for h -> 0 (tests/python/test_solve_network.py has it in four dimensions). */
#include "base/linear_algebra.h"
#include "guide/guide.h"
#include "random/streams.h"
#include "sampling/accumulator.h"

#include <heatball/random.h>

#include <math.h>
#include <string.h>

static const double GRADING = 1.5;
static const double LEFT = 0.25; /* of u_h - u_2h, reported as the error of the extrapolation */

static size_t guide_rows(const hb_guide *guide)
{
    return guide->walks * guide->copies;
}

/* score[rows][dim] at tau. */
static hb_status guide_score(hb_guide *g, double tau)
{
    const size_t rows = guide_rows(g), d = (size_t)g->dim;
    const double part = fmin(tau / g->tau_min, 1);
    for (size_t i = 0; i < rows; i++) g->times[i] = fmax(tau, g->tau_min);
    HB_TRY(hb_model_score(g->context, g->model, rows, g->x, g->times, NULL, g->score));
    if (part >= 1) return HB_OK;
    HB_TRY(hb_problem_initial(g->context, g->problem, rows, g->x, g->times, g->start));
    for (size_t i = 0; i < rows * d; i++)
        g->score[i] = part * g->score[i] + (isfinite(g->start[i]) ? (1 - part) * g->start[i] : 0);
    return HB_OK;
}

/* B of one row in the place of its score. */
static void guide_turn_back(const hb_guide *g, double h, const double *drift, double *score)
{
    const size_t d = (size_t)g->dim;
    for (size_t k = 0; k < d; k++) score[k] = 2 * score[k] - drift[k];
    const double most = 8 * (double)d / h, size = hb_dot(d, score, score);
    if (size > most)
        for (size_t k = 0; k < d; k++) score[k] *= sqrt(most / size);
}

/* tau after k of the steps. */
static double guide_time(const hb_guide *g, int k)
{
    return g->tau * pow((double)k / g->steps, GRADING);
}

/* All rows back from x to next, by h, which is that of `stride` steps, 1 or 2, below the k-th. */
static void guide_step_back(hb_guide *g, int k, int stride, double h, double *w)
{
    const size_t rows = guide_rows(g), d = (size_t)g->dim, m = g->walks;
    const double *noise = g->noise + (size_t)(g->steps - k) * m * d;
    double parts[2] = {1, 0};
    for (int q = 0; q < stride; q++)
        parts[q] = sqrt((guide_time(g, k - q) - guide_time(g, k - q - 1)) / h);
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        guide_turn_back(g, h, g->drift + i * d, g->score + i * d);
        for (size_t j = 0; j < d; j++) {
            double e = 0;
            for (int q = 0; q < stride; q++) e += parts[q] * noise[((size_t)q * m + i % m) * d + j];
            sum += e * e;
            g->next[i * d + j] = g->x[i * d + j] + h * g->score[i * d + j] + sqrt(2 * h) * e;
        }
        w[i] += sum / 2;
    }
}

static hb_status guide_drift(hb_guide *g, const double *x)
{
    const size_t rows = guide_rows(g);
    for (size_t i = 0; i < rows; i++) g->times[i] = 0;
    return hb_problem_drift_each(g->context, g->problem, rows, x, g->times, g->drift, NULL, NULL,
                                 NULL);
}

/* The walk point itself, then to the right and to the left along each axis: copy c of walk i is row
 * c m + i. */
static void guide_start_rows(hb_guide *g, const double *x)
{
    const size_t rows = guide_rows(g), d = (size_t)g->dim;
    for (size_t i = 0; i < rows; i++) {
        const size_t copy = i / g->walks;
        memcpy(g->x + i * d, x, d * sizeof *x);
        if (copy > 0) g->x[i * d + (copy - 1) / 2] += copy % 2 ? g->reach : -g->reach;
    }
}

/* w[rows] of walks from x in steps/stride steps. */
static hb_status guide_weigh(hb_guide *g, const double *x, int stride, double *w)
{
    const size_t rows = guide_rows(g), d = (size_t)g->dim;
    guide_start_rows(g, x);
    memset(w, 0, rows * sizeof *w);
    HB_TRY(guide_drift(g, g->x));
    for (int k = g->steps; k > 0; k -= stride) {
        const double h = guide_time(g, k) - guide_time(g, k - stride);
        HB_TRY(guide_score(g, guide_time(g, k)));
        guide_step_back(g, k, stride, h, w);
        HB_TRY(guide_drift(g, g->next));
        for (size_t i = 0; i < rows; i++) {
            double sum = 0;
            for (size_t j = i * d; j < (i + 1) * d; j++)
                sum += pow(g->x[j] - g->next[j] - h * g->drift[j], 2);
            w[i] -= sum / (4 * h);
        }
        memcpy(g->x, g->next, rows * d * sizeof *g->x);
    }
    HB_TRY(hb_problem_initial(g->context, g->problem, rows, g->x, g->times, NULL));
    for (size_t i = 0; i < rows; i++) w[i] += g->times[i];
    return HB_OK;
}

static double guide_unit(double w, double log_scale)
{
    const double a = exp(w - log_scale);
    return isnan(a) ? 0 : a;
}

/* a[walks], b[walks][dim] of weights. */
static void guide_values(const hb_guide *g, const double *w, double log_scale, double *a, double *b)
{
    const size_t m = g->walks, d = (size_t)g->dim;
    for (size_t i = 0; i < m; i++) {
        a[i] = guide_unit(w[i], log_scale);
        for (size_t k = 0; k < d; k++)
            b[i * d + k] = (guide_unit(w[(2 * k + 1) * m + i], log_scale) -
                            guide_unit(w[(2 * k + 2) * m + i], log_scale)) /
                           (2 * g->reach);
    }
}

static hb_status guide_draw(hb_guide *g, hb_guide_use use, uint64_t place)
{
    const size_t draws = (size_t)g->steps * g->walks * (size_t)g->dim;
    return hb_random_normal(g->context, g->seed, HB_STREAM_GUIDE + (uint64_t)use, place * draws,
                            draws, g->noise);
}

hb_status hb_guide_scale(hb_guide *g, const double *x, uint64_t place, double *log_scale)
{
    *log_scale = -INFINITY;
    g->copies = 1;
    HB_TRY(guide_draw(g, HB_GUIDE_PILOT, place));
    HB_TRY(guide_weigh(g, x, 1, g->w));
    for (size_t i = 0; i < g->walks; i++) *log_scale = fmax(*log_scale, g->w[i]);
    if (!isfinite(*log_scale)) *log_scale = 0;
    return HB_OK;
}

/* fine becomes 2 fine - coarse, coarse the reported part of their difference. */
static void guide_extrapolate(size_t n, double *fine, double *coarse)
{
    for (size_t i = 0; i < n; i++) {
        const double change = fine[i] - coarse[i];
        fine[i] += change;
        coarse[i] = LEFT * change;
    }
}

hb_status hb_guide_walk(hb_guide *g, const double *x, uint64_t place, hb_guide_use use,
                        double log_scale, double *sums)
{
    const size_t m = g->walks, d = (size_t)g->dim;
    g->copies = 2 * d + 1;
    HB_TRY(guide_draw(g, use, place));
    HB_TRY(guide_weigh(g, x, 1, g->w));
    HB_TRY(guide_weigh(g, x, 2, g->coarse));
    guide_values(g, g->w, log_scale, g->a, g->b);
    guide_values(g, g->coarse, log_scale, g->da, g->db);
    guide_extrapolate(m, g->a, g->da);
    guide_extrapolate(m * d, g->b, g->db);
    hb_accumulator_add(g->dim, sums, m, g->a, g->b);
    hb_accumulator_differ(g->dim, sums, m, g->da, g->db);
    return HB_OK;
}
