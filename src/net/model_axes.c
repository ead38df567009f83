/* The score head above 3 dimensions: its network works in the data's principal axes.
 *
 * With p = axes (z - a m) and V_r = a^2 variance_r + b, the fraction of the data in the variance
 * along axis r is g_r = a^2 variance_r/V_r. For any data the noise e = (z - a z_0)/sqrt(b), seen
 * along axis r, has variance 1, of which the Gaussian reference explains 1 - g_r and leaves g_r. So
 *     x^_r = p_r sqrt(g_r/(g V_r)),                     g = mean of g_r
 *     s    = grad v_ref + axes^T (sqrt(g_r/b) N_r)
 * make every number that the network has to give of variance 1, at every tau; what has no data in
 * it, dark corners and details below the noise, fades from its inputs and its outputs. Images need
 * this: the variances of 16 x 16 digits go over ten decades, and a network that sees them in one
 * scale learns the strong axes first and the noise in the weak ones late. g itself is what
 * denoising score matching has left with the reference alone. The idea of unit variances at each
 * noise level is that of T. Karras et al., NeurIPS 2022, who have one scale for all axes. Numbers
 * to reproduce: OU, variance 1 along all axes: g = e^-2tau, x^ = p. */
#include "net/model_parts.h"
#include "net/net_tape.h"

#include <math.h>
#include <string.h>

enum { SMALL_DIM = 3 };

int hb_model_in_axes(const hb_model *model)
{
    return model->info.head == HB_HEAD_SCORE && model->info.dim > SMALL_DIM &&
           model->flow.knots == 0;
}

double hb_model_data_share(const hb_model *model, const hb_noise_level *c)
{
    double sum = 0;
    for (int r = 0; r < model->info.dim; r++) {
        const double of_data = c->a * c->a * model->variance[r];
        sum += of_data / (of_data + c->b);
    }
    return sum / model->info.dim;
}

/* into (dim): of p_r in x^_r; out (dim): of N_r in the score along axis r. */
static void axis_scales(const hb_model *model, const hb_noise_level *c, float *into, float *out)
{
    const double per_share = 1 / hb_model_data_share(model, c), per_noise = 1 / c->b;
    for (int r = 0; r < model->info.dim; r++) {
        const double of_data = c->a * c->a * model->variance[r], V = of_data + c->b;
        const double g = of_data / V;
        into[r] = (float)sqrt(g * per_share / V);
        out[r] = (float)sqrt(g * per_noise);
    }
}

void hb_model_axes_inputs(const hb_model *model, const hb_points *points, const float *slope,
                          float *input, float *into, float *out)
{
    const size_t d = (size_t)model->info.dim, inputs = (size_t)hb_model_inputs_count(model);
    for (size_t i = 0; i < points->n; i++) {
        const hb_noise_level *c = &points->level[i];
        const double a2 = c->a * c->a;
        if (i > 0 && c->tau == points->level[i - 1].tau) { /* all rows of a step of generation */
            memcpy(into + i * d, into + (i - 1) * d, d * sizeof *into);
            memcpy(out + i * d, out + (i - 1) * d, d * sizeof *out);
        } else {
            axis_scales(model, c, into + i * d, out + i * d);
        }
        for (size_t r = 0; r < d; r++) {
            const double p = -(double)slope[i * d + r] * (a2 * model->variance[r] + c->b);
            input[i * inputs + r] = (float)(p * (double)into[i * d + r]);
        }
    }
}

hb_status hb_model_axes_add(const hb_model *model, size_t n, const float *out, const float *output,
                            float *scratch, float *score)
{
    const size_t d = (size_t)model->info.dim;
    const hb_net_layer rotation = {.in = d, .out = d};
    for (size_t i = 0; i < n * d; i++) scratch[i] = out[i] * output[i];
    return hb_net_to_inputs(model->context, &rotation, n, model->axes, scratch, 1, score);
}

hb_status hb_model_axes_cotangent(const hb_model *model, size_t n, const float *out,
                                  const float *score, float *output)
{
    const size_t d = (size_t)model->info.dim;
    const hb_net_layer rotation = {.in = d, .out = d};
    HB_TRY(hb_net_to_outputs(model->context, &rotation, n, model->axes, score, output));
    for (size_t i = 0; i < n * d; i++) output[i] *= out[i];
    return HB_OK;
}
