/* Densities that are known in closed form: two isotropic Gaussians carried by a linear drift.
 *
 * F = -a x + omega (-x2, x1, 0, ..) contracts at the rate a and turns the first two coordinates.
 * An isotropic Gaussian N(m, c I) stays one, since a turn does not change it:
 *     mean = e^(-a tau) R(omega tau) m,     variance = e^(-2 a tau) c + (1 - e^(-2 a tau))/a .
 * A sum of two is not Gaussian, so its ln u is no polynomial and no rule integrates it by luck.
 * With every variance times k the density solves du/dtau = k Lap u - div(F u) instead, hence its
 * residuals at a point are known: (k-1) Lap u for u, (k-1) Lap u/u for ln u, (k-1)(1 + ln u) Lap u
 * for u ln u.
 *
 * Must reproduce: N(0, I) in the plane under F = -x has ln u = -1.8378771 at 0 at every tau. */
#include "identities.h"

#include <math.h>

/* Numbers without a pattern, so that nothing cancels by symmetry. */
hb_identity_field hb_identities_mixture(int dim, double omega, double spoil)
{
    hb_identity_field f = {.dim = dim,
                           .terms = 2,
                           .rate = 0.83,
                           .omega = omega,
                           .spoil = spoil,
                           .weight = {0.62, 0.38},
                           .variance = {0.41, 0.73}};
    for (int i = 0; i < dim; i++) {
        f.mean[0][i] = 0.9 * cos(1.7 * i + 0.4);
        f.mean[1][i] = -1.1 * cos(0.6 * i - 0.3);
    }
    return f;
}

hb_identity_field hb_identities_stationary(int dim)
{
    return (hb_identity_field){
        .dim = dim, .terms = 1, .rate = 1, .spoil = 1, .weight = {1}, .variance = {1}};
}

/* x minus the mean of a term at tau. */
static void from_mean(const hb_identity_field *f, int term, const double *x, double tau, double *y)
{
    const double *m = f->mean[term], shrink = exp(-f->rate * tau);
    for (int i = 0; i < f->dim; i++) y[i] = x[i] - shrink * m[i];
    if (f->omega == 0 || f->dim < 2) return;
    const double c = cos(f->omega * tau), s = sin(f->omega * tau);
    y[0] = x[0] - shrink * (c * m[0] - s * m[1]);
    y[1] = x[1] - shrink * (s * m[0] + c * m[1]);
}

double hb_identities_log_density(const hb_identity_field *f, const double *x, double tau,
                                 double *gradient, double *laplacian)
{
    const double decay = exp(-2 * f->rate * tau);
    double y[IDENTITIES_TERMS][IDENTITIES_DIM], v[IDENTITIES_TERMS], s[IDENTITIES_TERMS];
    double square[IDENTITIES_TERMS] = {0}, top = -INFINITY, sum = 0;
    for (int k = 0; k < f->terms; k++) {
        from_mean(f, k, x, tau, y[k]);
        for (int i = 0; i < f->dim; i++) square[k] += y[k][i] * y[k][i];
        s[k] = f->spoil * (decay * f->variance[k] + (1 - decay) / f->rate);
        v[k] = log(f->weight[k]) - 0.5 * (square[k] / s[k] + f->dim * log(2 * M_PI * s[k]));
        top = fmax(top, v[k]);
    }
    for (int k = 0; k < f->terms; k++) sum += exp(v[k] - top);
    for (int i = 0; gradient && i < f->dim; i++) gradient[i] = 0;
    if (laplacian) *laplacian = 0;
    for (int k = 0; k < f->terms; k++) {
        const double share = exp(v[k] - top) / sum;
        for (int i = 0; gradient && i < f->dim; i++) gradient[i] -= share * y[k][i] / s[k];
        if (laplacian) *laplacian += share * (square[k] / s[k] - f->dim) / s[k];
    }
    return top + log(sum);
}

static int evaluate(void *user, size_t n, const double *x, const double *tau, double *v,
                    double *gradient)
{
    const hb_identity_field *f = user;
    for (size_t i = 0; i < n; i++) {
        const size_t row = i * (size_t)f->dim;
        v[i] =
            hb_identities_log_density(f, x + row, tau[i], gradient ? gradient + row : NULL, NULL);
    }
    return 0;
}

hb_field hb_identities_as_field(hb_identity_field *field)
{
    return (hb_field){field->dim, 0, 5, evaluate, field};
}

hb_status hb_identities_problem(hb_context *context, const hb_identity_field *field,
                                hb_problem **out)
{
    static const char *const names[] = {"a", "w"};
    const double values[] = {field->rate, field->omega};
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = field->dim;
    settings.drift = field->omega == 0 ? "-a*x[i]" : "-a*x1 - w*x2, -a*x2 + w*x1";
    settings.noise = "sqrt(2)";
    settings.n_parameters = 2;
    settings.parameter_names = names;
    settings.parameter_values = values;
    return hb_problem_create(context, &settings, out);
}
