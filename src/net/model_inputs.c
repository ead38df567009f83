/* The level of a model and the network's inputs.
 *
 *     OU  a = e^-tau,  b = 1 - e^-2tau,  k = e^-2tau
 *     VE  a = 1,       b = 2 tau,        k = 1/(1 + 2 tau/spread)
 *     a user's drift   b = 2 tau/(1 + 2 tau/S), S of train/drift_reference.c; k = 1, since nothing
 *     need fade; mean and sigma from the moments of model_drift.c. b is the scale of the smallest
 *     details at tau, and a weight in losses; db = b^2/(2 tau).
 *     sigma^2 = a^2 spread + b = trace(C_tau)/dim,           spread = trace(C)/dim
 * so x^ = (z - a m)/sigma has variance 1 at every tau. k is the rate at which anything that is not
 * Gaussian fades at least (third cumulants of the standardised density fade as its power 3/2).
 * By ln tau:
 *     da = -a tau (OU),   d ln sigma = (a da spread + db/2)/sigma^2,
 *     d x^ = -m da/sigma - x^ d ln sigma.
 *
 * Features of l = ln tau, F of them: with q = (l - l_0)/(l_1 - l_0) in [0, 1],
 *     phi_1 = sqrt(3) (2q - 1),   phi_j = sqrt(2) cos((j-1) pi q),  j = 2 .. F,
 * of variance 1 when ln tau is uniform. l_0 = ln(tau_min/4), since a heat ball
 * around an anchor at tau_min reaches below it; outside [l_0, l_1] the features stay as at the end.
 * A number to reproduce: OU, spread 1: sigma = 1 at every tau. */
#include "net/model_parts.h"

#include <math.h>
#include <string.h>

static const double BELOW_TAU_MIN = 4;

/* The level of a user's drift. */
static void inputs_drift_level(const hb_model *model, double tau, hb_noise_level *out)
{
    const hb_model_flow *flow = &model->flow;
    const size_t spread = flow->columns - 1;
    *out =
        (hb_noise_level){.tau = tau, .a = 1, .b = 2 * tau / (1 + 2 * tau / flow->detail), .k = 1};
    hb_model_flow_level(flow, tau, out);
    out->sigma = exp(0.5 * hb_model_column(model, out, out->value, spread));
    out->log_sigma_rate = 0.5 * hb_model_column(model, out, out->rate, spread);
}

double hb_model_noise_rate(const hb_model *model, const hb_noise_level *c)
{
    if (model->flow.knots > 0) return c->b * c->b / (2 * c->tau);
    return 2 * c->tau * (model->info.process == HB_PROCESS_OU ? c->a * c->a : 1);
}

void hb_model_level(const hb_model *model, double tau, hb_noise_level *out)
{
    if (model->flow.knots > 0) {
        inputs_drift_level(model, tau, out);
        return;
    }
    const int ou = model->info.process == HB_PROCESS_OU;
    const double spread = model->spread;
    const double a = ou ? exp(-tau) : 1, b = ou ? -expm1(-2 * tau) : 2 * tau;
    const double k = ou ? a * a : 1 / (1 + 2 * tau / spread);
    const double sigma2 = a * a * spread + b;
    const double a_rate = ou ? -a * tau : 0, b_rate = 2 * tau * (ou ? a * a : 1);
    *out = (hb_noise_level){.tau = tau,
                            .a = a,
                            .b = b,
                            .sigma = sqrt(sigma2),
                            .k = k,
                            .a_rate = a_rate,
                            .k_rate = ou ? -2 * tau * k : -2 * tau / spread * k * k,
                            .log_sigma_rate = (a * a_rate * spread + b_rate / 2) / sigma2};
}

int hb_model_inputs_count(const hb_model *model)
{
    return model->info.dim + model->info.time_features + model->info.classes;
}

/* phi and its derivative by ln tau, either NULL. */
static void time_features(const hb_model_info *info, double tau, float *phi, float *rate)
{
    const double low = log(info->tau_min / BELOW_TAU_MIN), span = log(info->tau_max) - low;
    const double place = (log(tau) - low) / span;
    const double q = place < 0 ? 0 : place > 1 ? 1 : place, inside = q == place;
    const double c1 = cos(M_PI * q), s1 = rate ? sin(M_PI * q) : 0;
    double c = 1, s = 0, c_before = c1, s_before = -s1; /* cos and sin of j pi q, j = 0 */
    for (int j = 0; j < info->time_features; j++) {
        if (phi) phi[j] = (float)(j == 0 ? sqrt(3) * (2 * q - 1) : M_SQRT2 * c);
        if (rate)
            rate[j] = (float)(inside / span * (j == 0 ? 2 * sqrt(3) : -M_SQRT2 * j * M_PI * s));
        const double c_next = 2 * c1 * c - c_before, s_next = 2 * c1 * s - s_before;
        c_before = c;
        s_before = s;
        c = c_next;
        s = s_next;
    }
}

void hb_model_inputs(const hb_model *model, const hb_points *points, float *input)
{
    const hb_model_info *info = &model->info;
    const size_t d = (size_t)info->dim, inputs = (size_t)hb_model_inputs_count(model);
    for (size_t i = 0; i < points->n; i++) {
        const hb_noise_level *c = &points->level[i];
        const double *z = points->z + i * d, per_sigma = 1 / c->sigma;
        float *row = input + i * inputs, *labels = row + d + info->time_features;
        for (size_t j = 0; j < d; j++)
            row[j] = (float)((z[j] - hb_model_mean(model, c, j)) * per_sigma);
        if (i > 0 && c->tau == c[-1].tau)
            memcpy(row + d, row + d - inputs, (size_t)info->time_features * sizeof *row);
        else
            time_features(info, c->tau, row + d, NULL);
        memset(labels, 0, (size_t)info->classes * sizeof *labels);
        if (points->labels && points->labels[i] >= 0) labels[points->labels[i]] = 1;
    }
}

void hb_model_inputs_along(const hb_model *model, size_t n, int k, float *input)
{
    const size_t inputs = (size_t)hb_model_inputs_count(model);
    memset(input, 0, n * inputs * sizeof *input);
    for (size_t i = 0; i < n; i++) input[i * inputs + (size_t)k] = 1;
}

void hb_model_inputs_log_tau(const hb_model *model, const hb_points *points, const float *values,
                             float *input)
{
    const hb_model_info *info = &model->info;
    const size_t d = (size_t)info->dim, inputs = (size_t)hb_model_inputs_count(model);
    for (size_t i = 0; i < points->n; i++) {
        const hb_noise_level *c = &points->level[i];
        float *row = input + i * inputs, *labels = row + d + info->time_features;
        for (size_t j = 0; j < d; j++)
            row[j] = (float)(-hb_model_mean_rate(model, c, j) / c->sigma -
                             (double)values[i * inputs + j] * c->log_sigma_rate);
        time_features(info, c->tau, NULL, row + d);
        memset(labels, 0, (size_t)info->classes * sizeof *labels);
    }
}
