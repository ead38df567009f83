/* Closed-form fields: Gaussians and mixtures carried by a linear drift.
 *
 * In cumulative variance tau the drift is F_i = -a_i x_i, plus a rotation omega (-x2, x1) of the first
 * two coordinates (a_1 = a_2 then), so dx = F dtau + sqrt(2) dW. With x' = x turned back by the angle
 * omega tau, a start N(m, diag c) stays Gaussian and diagonal in x':
 *     mean_i = e^(-a_i tau) m_i,   variance_i = e^(-2 a_i tau) c_i + (1 - e^(-2 a_i tau))/a_i .
 * Sums of such densities are carried term by term. `spoil` = k multiplies every variance: such a field
 * solves du/dtau = k Lap u - div(F u) instead, so its pointwise residuals are known: (k-1) Lap u for u,
 * (k-1) (Lap v + |grad v|^2) for v, and (k-1) (1+v) Lap u for w. */
#ifndef HB_TESTS_EXACT_FIELDS_H
#define HB_TESTS_EXACT_FIELDS_H

#include <heatball/field.h>
#include <math.h>
#include <stdio.h>

enum { EXACT_DIM = 16, EXACT_TERMS = 3 };

typedef struct exact_field {
    int dim, terms;
    double a[EXACT_DIM], omega, spoil;
    double weight[EXACT_TERMS];
    double mean[EXACT_TERMS][EXACT_DIM], variance[EXACT_TERMS][EXACT_DIM]; /* at tau = 0 */
} exact_field;

/* x turned by the angle: out = R(angle) x in the first two coordinates. */
static inline void exact_turn(const exact_field *f, double angle, const double *x, double *out)
{
    for (int i = 0; i < f->dim; i++) out[i] = x[i];
    if (f->omega == 0 || f->dim < 2) return;
    out[0] = cos(angle) * x[0] - sin(angle) * x[1];
    out[1] = sin(angle) * x[0] + cos(angle) * x[1];
}

static inline double exact_variance(const exact_field *f, int term, int i, double tau)
{
    const double decay = exp(-2 * f->a[i] * tau);
    return f->spoil * (decay * f->variance[term][i] + (1 - decay) / f->a[i]);
}

/* ln(weight * Gaussian) of one term at x' and its gradient. */
static inline double exact_term(const exact_field *f, int term, const double *x, double tau,
                                double *gradient)
{
    double v = log(f->weight[term]);
    for (int i = 0; i < f->dim; i++) {
        const double s = exact_variance(f, term, i, tau);
        const double y = x[i] - exp(-f->a[i] * tau) * f->mean[term][i];
        v -= 0.5 * (y * y / s + log(2 * M_PI * s));
        gradient[i] = -y / s;
    }
    return v;
}

static inline double exact_point(const exact_field *f, const double *x, double tau,
                                 double *gradient)
{
    double turned[EXACT_DIM], v[EXACT_TERMS], g[EXACT_TERMS][EXACT_DIM], sum = 0, top = -INFINITY;
    exact_turn(f, -f->omega * tau, x, turned);
    for (int k = 0; k < f->terms; k++) top = fmax(top, v[k] = exact_term(f, k, turned, tau, g[k]));
    for (int k = 0; k < f->terms; k++) sum += exp(v[k] - top);
    for (int i = 0; i < f->dim; i++) {
        turned[i] = 0;
        for (int k = 0; k < f->terms; k++) turned[i] += exp(v[k] - top) / sum * g[k][i];
    }
    if (gradient) exact_turn(f, f->omega * tau, turned, gradient);
    return top + log(sum);
}

/* An hb_field_callback; user is an exact_field. */
static inline int exact_evaluate(void *user, size_t n, const double *x, const double *tau,
                                 double *v, double *gradient)
{
    const exact_field *f = user;
    for (size_t k = 0; k < n; k++) {
        const size_t row = k * (size_t)f->dim;
        v[k] = exact_point(f, x + row, tau[k], gradient ? gradient + row : NULL);
    }
    return 0;
}

static inline hb_field exact_as_field(exact_field *f)
{
    return (hb_field){f->dim, 0, 5, exact_evaluate, f};
}

/* One Gaussian: a_i = a (1 + i tilt), mean and variance vary with i. */
static inline exact_field exact_gaussian(int dim, double a, double tilt, double omega)
{
    exact_field f = {.dim = dim, .terms = 1, .omega = omega, .spoil = 1, .weight = {1}};
    for (int i = 0; i < dim; i++) {
        f.a[i] = a * (1 + tilt * i);
        f.mean[0][i] = 0.4 - 0.13 * (i % 5);
        f.variance[0][i] = 0.8 + 0.17 * (i % 3);
    }
    return f;
}

/* Three Gaussians with different means and variances. */
static inline exact_field exact_mixture(int dim, double a, double omega)
{
    exact_field f = exact_gaussian(dim, a, 0, omega);
    const double weight[EXACT_TERMS] = {0.5, 0.3, 0.2};
    f.terms = EXACT_TERMS;
    for (int k = 0; k < EXACT_TERMS; k++) {
        f.weight[k] = weight[k];
        for (int i = 0; i < dim; i++) {
            f.mean[k][i] = 1.7 * cos(2.1 * k + 0.9 * i);
            f.variance[k][i] = 0.35 + 0.2 * k;
        }
    }
    return f;
}

/* The drift as text, each component times factor ("1", "(1+t)"). */
static inline void exact_drift_text(const exact_field *f, const char *factor, size_t size,
                                    char *text)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < f->dim && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s(-%.17g*x%d", i ? ", " : "", f->a[i],
                                 i + 1);
        if (f->omega != 0 && i < 2 && used < size)
            used += (size_t)snprintf(text + used, size - used, " %c %.17g*x%d", i ? '+' : '-',
                                     f->omega, 2 - i);
        if (used < size) used += (size_t)snprintf(text + used, size - used, ")*%s", factor);
    }
}

#endif
