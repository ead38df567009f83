/* Sections 3.1 and 4.1 of the paper: size and constants of the heat ball, the orientation of the
 * Watson identity, and what truncating sigma does.
 *
 * Constants. With R(sigma)^2 = -2 d sigma ln(4 pi sigma) and S the area of the unit sphere,
 * integrals over the ball are integrals of R^p sigma^b over sigma alone:
 *     |E_1| = S/d I(d, 0),              4 = S/(d+2) I(d+2, -2),
 *     C1 = S/(d+2) I(d+2, -1),          C2 = S/(d+4) I(d+4, -2),
 * done with sigma = e^-L/(4 pi), L = e^x by the trapezoid rule, which converges faster than any
 * power. The same integrals, and C3 = d int psi, are drawn: uniform points of the cylinder around
 * a larger ball.
 *
 * Orientation. p = |x|^2 + 2 d tau is caloric. Over (-z, -sigma) its mean under kappa is 0; over
 * (+z, +sigma) it is E|z|^2 + 2 d E sigma = d C1.
 *
 * Truncation. Under kappa, E|z|^2 = 2 d E sigma; that is what makes the mean of a caloric function
 * right. With sigma cut to [sigma_min, sigma_max] the quotient D = E|z|^2/(2 d E sigma) is no
 * longer 1: the average then belongs to dw/dtau = D Lap w. The ball of radius r = sqrt(4 pi
 * sigma_max) has the same reach and D = 1.
 *
 * Must reproduce: |E_1| = 0.0198944 in the plane. */
#include "identities.h"

#include <heatball/random.h>
#include <math.h>
#include <stdlib.h>

/* ---- 3.1 ---- */

/* ln of the integral of sigma^b R^p over (0, 1/(4 pi)). */
static double log_power_integral(int dim, double p, double b)
{
    double sum = 0, top = -INFINITY, logs[1200];
    for (int i = 0; i < 1200; i++) {
        const double x = -36 + 0.04 * i, L = exp(x), log_sigma = -L - log(4 * M_PI);
        logs[i] = (b + 1) * log_sigma + 0.5 * p * (log(2 * dim) + log_sigma + x) + x;
        top = fmax(top, logs[i]);
    }
    for (int i = 0; i < 1200; i++) sum += exp(logs[i] - top);
    return top + log(0.04 * sum);
}

static hb_status integrate_constants(hb_identities *list, const hb_ball_constants *c)
{
    const int d = c->dim;
    const double log_sphere = M_LN2 + 0.5 * d * log(M_PI) - lgamma(0.5 * d);
    const double C1 = exp(log_sphere + log_power_integral(d, d + 2, -1)) / (d + 2);
    const double C2 = exp(log_sphere + log_power_integral(d, d + 4, -2)) / (d + 4);
    const hb_identity rows[] = {
        {"integral", "volume", d, NAN, exp(log_sphere + log_power_integral(d, d, 0)) / d, c->volume,
         1e-11 * c->volume},
        {"integral", "mass", d, NAN, exp(log_sphere + log_power_integral(d, d + 2, -2)) / (d + 2),
         4, 1e-11},
        {"integral", "C1", d, NAN, C1, c->C1, 1e-11},
        {"integral", "C2/(2 d C1)", d, NAN, C2 / (2 * d * C1), 1, 1e-11}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        HB_TRY(hb_identities_add(list, &rows[i]));
    return HB_OK;
}

enum { BATCH = 4096 };
static const uint64_t CYLINDER_STREAM = UINT64_C(31001);

/* The radius r of a second ball, chosen so that r^(d+2) is near e in every dimension. */
static double outer_radius(int dim)
{
    return 1 + 1 / (dim + 2.0);
}

/* What is averaged over the cylinder around E_r: the volumes of E_1 and E_r, and integrals over
 * E_1. */
enum { V_ONE, V_OUTER, I_C1, I_C2, I_C3, I_RATIO2, I_RATIO3, INTEGRALS };

static void integrands(int dim, double y2, double s, double out[INTEGRALS])
{
    const int inside = hb_ball_contains(dim, 1, y2, s);
    out[V_ONE] = inside;
    out[V_OUTER] = hb_ball_contains(dim, outer_radius(dim), y2, s);
    out[I_C1] = inside ? y2 / s : 0;
    out[I_C2] = inside ? y2 * y2 / (s * s) : 0;
    out[I_C3] = inside ? dim * hb_ball_psi(dim, 1, y2, s) : 0;
    out[I_RATIO2] = out[I_C2] - 2 * dim * out[I_C1];
    out[I_RATIO3] = out[I_C3] - 0.5 * out[I_C1];
}

/* Sums and sums of squares over uniform draws; |y|^2 = (r_max r)^2 U^(2/d). */
static hb_status draw_cylinder(hb_identities *list, const hb_ball_constants *c, size_t draws,
                               double sum[INTEGRALS], double square[INTEGRALS])
{
    const int d = c->dim;
    const double r = outer_radius(d), top2 = pow(c->r_max * r, 2), span = r * r / (4 * M_PI);
    double uniform[2 * BATCH], value[INTEGRALS];
    for (int k = 0; k < INTEGRALS; k++) sum[k] = square[k] = 0;
    for (size_t first = 0; first < draws; first += BATCH) {
        HB_TRY(hb_random_uniform(list->context, list->seed, CYLINDER_STREAM + (uint64_t)d,
                                 2 * first, 2 * BATCH, uniform));
        for (int i = 0; i < BATCH; i++) {
            integrands(d, top2 * pow(uniform[2 * i], 2.0 / d), span * uniform[2 * i + 1], value);
            for (int k = 0; k < INTEGRALS; k++) {
                sum[k] += value[k];
                square[k] += value[k] * value[k];
            }
        }
    }
    return HB_OK;
}

static hb_status draw_constants(hb_identities *list, const hb_ball_constants *c)
{
    static const char *const items[INTEGRALS] = {"volume", "volume, larger r", "C1",       "C2",
                                                 "C3",     "C2 - 2 d C1",      "C3 - C1/2"};
    const size_t draws = list->quick ? 1 << 16 : 1 << 20;
    const double r = outer_radius(c->dim), larger = pow(r, c->dim + 2);
    const double all = c->cylinder_volume * larger, n = (double)draws;
    const double exact[INTEGRALS] = {c->volume, c->volume * larger, c->C1, c->C2, c->C3, 0, 0};
    double sum[INTEGRALS], square[INTEGRALS];
    HB_TRY(draw_cylinder(list, c, draws, sum, square));
    for (int k = 0; k < INTEGRALS; k++) {
        const double mean = sum[k] / n, variance = square[k] / n - mean * mean;
        HB_TRY(hb_identities_put(list, "drawn", items[k], c->dim, k == V_OUTER ? r : 1, all * mean,
                                 exact[k], all * sqrt(variance / n)));
    }
    return HB_OK;
}

hb_status hb_identities_geometry(hb_identities *list)
{
    static const int dims[] = {1, 2, 3, 8, 16, 64};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        hb_ball_constants c;
        HB_TRY(hb_ball_constants_get(list->context, dims[i], 0, sizeof c, &c));
        HB_TRY(integrate_constants(list, &c));
        HB_TRY(draw_constants(list, &c));
    }
    return HB_OK;
}

/* ---- draws of kappa ---- */

typedef struct kappa_draws {
    size_t n;
    double *z, *sigma; // (n, dim), (n)
} kappa_draws;

static hb_status draw_kappa(hb_identities *list, int dim, double radius, uint64_t seed,
                            kappa_draws *out)
{
    void *memory;
    const size_t n = list->quick ? 1 << 15 : 1 << 18;
    HB_TRY(hb_study_allocate(list->context, n * ((size_t)dim + 1), sizeof(double), &memory));
    *out = (kappa_draws){n, memory, (double *)memory + n * (size_t)dim};
    hb_status status = hb_ball_sample(list->context, HB_MEASURE_KAPPA, dim, 0, seed, 0, n, radius,
                                      out->z, out->sigma);
    if (status != HB_OK) free(memory);
    return status;
}

static double norm2(const kappa_draws *draws, int dim, size_t i)
{
    double sum = 0;
    for (int k = 0; k < dim; k++) sum += pow(draws->z[i * (size_t)dim + (size_t)k], 2);
    return sum;
}

/* ---- 4.1, orientation ---- */

/* Means of p = |x|^2 + 2 d tau and of q = exp(1.7 x1 + 1.7^2 tau) at sign * (z, sigma). */
static hb_status orient(hb_identities *list, const hb_ball_constants *c, const kappa_draws *draws,
                        double sign)
{
    const double a = 1.7, n = (double)draws->n;
    double sum[2] = {0, 0}, square[2] = {0, 0};
    for (size_t i = 0; i < draws->n; i++) {
        const double tau = sign * draws->sigma[i], x1 = sign * draws->z[i * (size_t)c->dim];
        const double value[2] = {norm2(draws, c->dim, i) + 2 * c->dim * tau,
                                 exp(a * x1 + a * a * tau)};
        for (int k = 0; k < 2; k++) sum[k] += value[k], square[k] += value[k] * value[k];
    }
    for (int k = 0; k < 2; k++) {
        const double mean = sum[k] / n, error = sqrt((square[k] / n - mean * mean) / n);
        const double exact = k == 0 ? (sign > 0 ? c->dim * c->C1 : 0) : sign > 0 ? NAN : 1;
        const char *item = k == 0     ? sign > 0 ? "polynomial, forward" : "polynomial, backward"
                           : sign > 0 ? "exponential, forward"
                                      : "exponential, backward";
        HB_TRY(hb_identities_put(list, "orientation", item, c->dim, NAN, mean, exact, error));
    }
    return HB_OK;
}

hb_status hb_identities_orientation(hb_identities *list)
{
    static const int dims[] = {1, 2, 3, 8, 16};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        hb_ball_constants c;
        kappa_draws draws;
        HB_TRY(hb_ball_constants_get(list->context, dims[i], 0, sizeof c, &c));
        HB_TRY(draw_kappa(list, dims[i], 1, list->seed, &draws));
        hb_status status = orient(list, &c, &draws, -1);
        if (status == HB_OK) status = orient(list, &c, &draws, 1);
        free(draws.z);
        HB_TRY(status);
    }
    return HB_OK;
}

/* ---- 4.1 and 5.1, truncation ---- */

static const double SIGMA_MIN = 1e-3;

/* D = E|z|^2/(2 d E sigma) over sigma in [SIGMA_MIN, sigma_max] by Simpson's rule in L: the
 * density of L is L^(d/2+1) e^(-dL/2), |z|^2 = 2 d sigma L t and E t = (d+2)/(d+4). */
static double truncated_diffusion(int d, double sigma_max)
{
    enum { STEPS = 20000 };
    const double low = fmax(0, -log(4 * M_PI * sigma_max)), high = -log(4 * M_PI * SIGMA_MIN);
    double over = 0, under = 0;
    for (int i = 0; i <= STEPS; i++) {
        const double L = low + (high - low) * i / STEPS;
        const double weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        const double density = weight * pow(L, 0.5 * d + 1) * exp(-(0.5 * d + 1) * L);
        over += density * L * (d + 2) / (d + 4);
        under += density;
    }
    return over / under;
}

/* Mean of |z|^2/(2d) over mean of sigma, of the draws with sigma in the range, and its standard
 * error. */
static void drawn_diffusion(const kappa_draws *draws, int dim, double low, double high,
                            double *ratio, double *error)
{
    double over = 0, under = 0, square = 0;
    for (size_t i = 0; i < draws->n; i++) {
        if (draws->sigma[i] < low || draws->sigma[i] > high) continue;
        over += norm2(draws, dim, i) / (2 * dim);
        under += draws->sigma[i];
    }
    *ratio = over / under;
    for (size_t i = 0; i < draws->n; i++)
        if (draws->sigma[i] >= low && draws->sigma[i] <= high)
            square += pow(norm2(draws, dim, i) / (2 * dim) - *ratio * draws->sigma[i], 2);
    *error = sqrt(square) / under;
}

hb_status hb_identities_truncation(hb_identities *list)
{
    static const double sigma_max[] = {0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.0796};
    for (size_t i = 0; i < sizeof sigma_max / sizeof *sigma_max; i++) {
        const double r = sqrt(4 * M_PI * sigma_max[i]), at = sigma_max[i];
        double ratio[2], error[2];
        for (int right = 0; right < 2; right++) {
            kappa_draws draws;
            HB_TRY(draw_kappa(list, 2, right ? r : 1, list->seed + 100 + i, &draws));
            drawn_diffusion(&draws, 2, right ? 0 : SIGMA_MIN, right ? 1 : at, &ratio[right],
                            &error[right]);
            free(draws.z);
        }
        const hb_identity rows[] = {
            {"truncation", "truncated", 2, at, ratio[0], truncated_diffusion(2, at), error[0]},
            {"truncation", "smaller ball", 2, at, ratio[1], 1, error[1]},
            {"truncation", "radius", 2, at, r, NAN, 0}};
        for (int k = 0; k < 3; k++) HB_TRY(hb_identities_add(list, &rows[k]));
    }
    return HB_OK;
}
