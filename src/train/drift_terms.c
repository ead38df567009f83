/* The drift at points, and the Fokker-Planck residual of the reference (trainer.h).
 *
 * OU and VE have F = c z with c = -1 or 0, and v_ref solves their equation. With a user's drift
 * v_ref = ln N(z; m, V along fixed axes) is made of moments and solves nothing. With p_r =
 * axis_r.(z - m), s_r = -p_r/V_r, and ' the derivative by ln tau, along the axes
 *     d_tau v = (1/tau) sum_r ( -l_r/2 + p_r m'_r/V_r + p_r^2 l_r/(2 V_r) ),     l_r = (ln V_r)',
 *     Lap v = -sum_r 1/V_r,       |grad v|^2 = sum_r s_r^2,
 * and the gradient of the residual is, with J = dF/dz,
 *     (1/tau) (m'_r + p_r l_r)/V_r - 2 p_r/V_r^2 - F_r/V_r   back from the axes, + J' s + grad div
 * F. A number to reproduce: F = -z with the exact moments of OU has residual 0. */
#include "train/trainer.h"

#include <string.h>

hb_status hb_linear_terms(hb_context *alone, const hb_trainer *trainer, const hb_points *points,
                          double *F, double *jacobian, double *left)
{
    const size_t d = (size_t)trainer->model->info.dim;
    const double c = trainer->model->info.process == HB_PROCESS_OU ? -1 : 0;
    (void)alone;
    memset(left, 0, points->n * (jacobian ? d : 1) * sizeof *left);
    for (size_t i = 0; i < points->n * d; i++) F[i] = c * points->z[i];
    if (!jacobian) return HB_OK;
    memset(jacobian, 0, points->n * d * d * sizeof *jacobian);
    for (size_t i = 0; i < points->n; i++)
        for (size_t j = 0; j < d; j++) jacobian[(i * d + j) * d + j] = c;
    return HB_OK;
}

/* A point along axis r. */
typedef struct axis_terms {
    double p, mean_rate, drift, variance, log_rate;
} axis_terms;

static axis_terms terms_along_axis(const hb_model *model, const hb_points *points, size_t i,
                                   size_t r, const double *F)
{
    const size_t d = (size_t)model->info.dim;
    const hb_noise_level *c = &points->level[i];
    axis_terms t = {.variance = hb_model_variance(model, c, r),
                    .log_rate = hb_model_log_variance_rate(model, c, r)};
    for (size_t j = 0; j < d; j++) {
        const double axis = (double)model->axes[r * d + j];
        t.p += axis * (points->z[i * d + j] - hb_model_mean(model, c, j));
        t.mean_rate += axis * hb_model_mean_rate(model, c, j);
        t.drift += axis * F[i * d + j];
    }
    return t;
}

static void terms_add_scalar(const hb_model *model, const hb_points *points, const double *F,
                             double *left)
{
    const size_t d = (size_t)model->info.dim;
    for (size_t i = 0; i < points->n; i++)
        for (size_t r = 0; r < d; r++) {
            const axis_terms t = terms_along_axis(model, points, i, r, F);
            const double V = t.variance, s = -t.p / V, tau = points->level[i].tau;
            left[i] += (-t.log_rate / 2 - s * t.mean_rate - s * t.p * t.log_rate / 2) / tau +
                       1 / V - s * s + t.drift * s;
        }
}

static void terms_add_vector(const hb_model *model, const hb_points *points, const double *F,
                             const double *jacobian, double *left)
{
    const size_t d = (size_t)model->info.dim;
    for (size_t i = 0; i < points->n; i++)
        for (size_t r = 0; r < d; r++) {
            const axis_terms t = terms_along_axis(model, points, i, r, F);
            const double V = t.variance, s = -t.p / V, tau = points->level[i].tau;
            const double along =
                (t.mean_rate + t.p * t.log_rate) / (V * tau) + 2 * s / V - t.drift / V;
            const float *axis = model->axes + r * d;
            for (size_t j = 0; j < d; j++) {
                double turned = 0; /* (J' axis)_j */
                for (size_t k = 0; k < d; k++)
                    turned += jacobian[(i * d + k) * d + j] * (double)axis[k];
                left[i * d + j] += along * (double)axis[j] + s * turned;
            }
        }
}

hb_status hb_drift_terms(hb_context *alone, const hb_trainer *trainer, const hb_points *points,
                         double *F, double *jacobian, double *left)
{
    HB_TRY(hb_problem_drift(alone, trainer->settings.drift, points->n, points->z, 0, F,
                            jacobian ? NULL : left, jacobian ? left : NULL, jacobian));
    if (jacobian)
        terms_add_vector(trainer->model, points, F, jacobian, left);
    else
        terms_add_scalar(trainer->model, points, F, left);
    return HB_OK;
}
