/* The three heads of a model as a score, forward and backward.
 *
 *     energy     s = grad v_ref + (k/sigma) dN/dx^: the slope of a scalar network
 *     score      s = grad v_ref + (k/sqrt(b)) N, N of dim outputs; above 3 dimensions in the data's
 *                axes (model_axes.c)
 *     helmholtz  s = grad v_ref + (k/sigma) (dN_1/dx + dN_2/dy, dN_1/dy - dN_2/dx),
 *                a gradient and a rotation, by first derivatives along both coordinates
 * 1/sqrt(b) is the size of a score that resolves the noise. The backward pass multiplies the
 * score's cotangent by the same factor and hands it to the network's.
 * A number to reproduce: with the last layer's weights and bias 0 the score is grad v_ref. */
#include "base/context.h"
#include "net/model_parts.h"

#include <math.h>
#include <string.h>

struct hb_model_tape {
    hb_context *context;
    const hb_model *model;
    hb_model_want want;
    size_t capacity, rows; /* rows that fit, and of the last forward pass */
    size_t inputs, outputs, channels;
    hb_net_tape *net;
    hb_workspace work;
    double *factor, *k;               // (rows): of the score's part, of the value
    float *input;                     // (channels, rows, inputs)
    float *output, *output_cotangent; // (channels, rows, outputs)
    float *slope, *slope_cotangent;   // (rows, inputs)
    float *scratch, *reference;       // (2, rows, dim), (rows, dim)
    float *into, *out;                // (rows, dim): scales in the data's axes
};

static int tape_uses_slope(const hb_model_tape *tape)
{
    return tape->want == HB_WANT_SCORE && tape->model->info.head == HB_HEAD_ENERGY;
}

static hb_status tape_create_net(hb_model_tape *tape)
{
    const hb_model *model = tape->model;
    if (tape_uses_slope(tape))
        return hb_net_slope_tape_create(tape->context, model->net, tape->capacity, &tape->net);
    const hb_net_jets jets = {.first = model->info.head == HB_HEAD_HELMHOLTZ ? 2 : 0};
    tape->channels = (size_t)hb_net_channels(&jets);
    return hb_net_tape_create(tape->context, model->net, &jets, tape->capacity, &tape->net);
}

static hb_status tape_create_arrays(hb_model_tape *tape)
{
    const size_t rows = tape->capacity, d = (size_t)tape->model->info.dim;
    const size_t in = tape->channels * rows * tape->inputs;
    const size_t out = tape->channels * rows * tape->outputs;
    return HB_WORKSPACE(tape->context, &tape->work, HB_ARRAY(tape->factor, rows),
                        HB_ARRAY(tape->k, rows), HB_ARRAY(tape->input, in),
                        HB_ARRAY(tape->output, out), HB_ARRAY(tape->output_cotangent, out),
                        HB_ARRAY(tape->slope, rows * tape->inputs),
                        HB_ARRAY(tape->slope_cotangent, rows * tape->inputs),
                        HB_ARRAY(tape->scratch, 2 * rows * d), HB_ARRAY(tape->reference, rows * d),
                        HB_ARRAY(tape->into, rows * d), HB_ARRAY(tape->out, rows * d));
}

hb_status hb_model_tape_create(hb_context *context, const hb_model *model, hb_model_want want,
                               size_t rows, hb_model_tape **out)
{
    HB_CHECK(context, want == HB_WANT_SCORE || model->info.head == HB_HEAD_ENERGY,
             HB_ERROR_ARGUMENT, "only the energy head has a log-density");
    hb_model_tape *tape;
    HB_TRY(HB_NEW(context, tape, 1));
    *tape = (hb_model_tape){.context = context,
                            .model = model,
                            .want = want,
                            .capacity = rows,
                            .inputs = (size_t)hb_model_inputs_count(model),
                            .outputs = (size_t)hb_net_shape_of(model->net)->outputs,
                            .channels = 1};
    hb_status status = tape_create_net(tape);
    if (status == HB_OK) status = tape_create_arrays(tape);
    if (status != HB_OK) hb_model_tape_destroy(tape);
    *out = status == HB_OK ? tape : NULL;
    return status;
}

void hb_model_tape_destroy(hb_model_tape *tape)
{
    if (!tape) return;
    hb_net_tape_destroy(tape->net);
    hb_workspace_destroy(&tape->work);
    hb_release(tape->context, tape);
}

const float *hb_model_tape_reference(const hb_model_tape *tape)
{
    return tape->reference;
}

/* ---- the score from the network's outputs, and back ---- */

/* Where output o of the channel c of row i is. */
static size_t tape_place(const hb_model_tape *tape, size_t n, size_t c, size_t i, size_t o)
{
    return (c * n + i) * tape->outputs + o;
}

static void tape_score_of_row(const hb_model_tape *tape, size_t n, size_t i, float *score)
{
    const size_t d = (size_t)tape->model->info.dim;
    const float *reference = tape->reference + i * d, *out = tape->output;
    const float f = (float)tape->factor[i];
    if (tape->model->info.head == HB_HEAD_HELMHOLTZ) {
        score[0] = reference[0] +
                   f * (out[tape_place(tape, n, 1, i, 0)] + out[tape_place(tape, n, 2, i, 1)]);
        score[1] = reference[1] +
                   f * (out[tape_place(tape, n, 2, i, 0)] - out[tape_place(tape, n, 1, i, 1)]);
        return;
    }
    const float *part = tape_uses_slope(tape) ? tape->slope + i * tape->inputs : out + i * d;
    for (size_t j = 0; j < d; j++) score[j] = reference[j] + f * part[j];
}

static void tape_cotangent_of_row(hb_model_tape *tape, size_t n, size_t i, const float *score)
{
    const size_t d = (size_t)tape->model->info.dim;
    float *out = tape->output_cotangent;
    const float f = (float)tape->factor[i];
    if (tape->model->info.head == HB_HEAD_HELMHOLTZ) {
        out[tape_place(tape, n, 0, i, 0)] = out[tape_place(tape, n, 0, i, 1)] = 0;
        out[tape_place(tape, n, 1, i, 0)] = out[tape_place(tape, n, 2, i, 1)] = f * score[0];
        out[tape_place(tape, n, 2, i, 0)] = f * score[1];
        out[tape_place(tape, n, 1, i, 1)] = -f * score[1];
        return;
    }
    float *part = tape_uses_slope(tape) ? tape->slope_cotangent + i * tape->inputs : out + i * d;
    for (size_t j = 0; j < d; j++) part[j] = f * score[j];
}

static void tape_note_factors(hb_model_tape *tape, const hb_points *points)
{
    const int by_noise = tape->model->info.head == HB_HEAD_SCORE;
    for (size_t i = 0; i < points->n; i++) {
        const hb_noise_level *c = &points->level[i];
        tape->k[i] = c->k;
        tape->factor[i] = c->k / (by_noise ? sqrt(c->b) : c->sigma);
    }
}

static hb_status tape_forward_in_axes(hb_model_tape *tape, const float *parameters,
                                      const hb_points *points, float *score)
{
    const hb_model *model = tape->model;
    const size_t n = points->n, d = (size_t)model->info.dim;
    HB_TRY(hb_model_reference(model, points, tape->scratch, NULL, tape->reference));
    hb_model_inputs(model, points, tape->input);
    hb_model_axes_inputs(model, points, tape->scratch + n * d, tape->input, tape->into, tape->out);
    HB_TRY(hb_net_forward(tape->net, parameters, n, tape->input, tape->output));
    memcpy(score, tape->reference, n * d * sizeof *score);
    return hb_model_axes_add(model, n, tape->out, tape->output, tape->scratch, score);
}

hb_status hb_model_tape_forward(hb_model_tape *tape, const float *parameters,
                                const hb_points *points, float *w, float *score)
{
    const hb_model *model = tape->model;
    const size_t n = points->n, d = (size_t)model->info.dim;
    HB_CHECK(tape->context, n <= tape->capacity, HB_ERROR_ARGUMENT,
             "a tape for %zu rows was given %zu", tape->capacity, n);
    tape->rows = n;
    if (hb_model_in_axes(model)) return tape_forward_in_axes(tape, parameters, points, score);
    tape_note_factors(tape, points);
    hb_model_inputs(model, points, tape->input);
    for (size_t c = 1; c < tape->channels; c++)
        hb_model_inputs_along(model, n, (int)c - 1, tape->input + c * n * tape->inputs);
    if (tape_uses_slope(tape))
        HB_TRY(hb_net_slope(tape->net, parameters, n, tape->input, tape->output, tape->slope));
    else
        HB_TRY(hb_net_forward(tape->net, parameters, n, tape->input, tape->output));
    for (size_t i = 0; w && i < n; i++) w[i] = (float)tape->k[i] * tape->output[i];
    if (tape->want != HB_WANT_SCORE) return HB_OK;
    HB_TRY(hb_model_reference(model, points, tape->scratch, NULL, tape->reference));
    for (size_t i = 0; i < n; i++) tape_score_of_row(tape, n, i, score + i * d);
    return HB_OK;
}

hb_status hb_model_tape_backward(hb_model_tape *tape, const float *parameters,
                                 const float *w_cotangent, const float *score_cotangent, int add,
                                 float *gradient)
{
    const size_t n = tape->rows, d = (size_t)tape->model->info.dim;
    if (hb_model_in_axes(tape->model)) {
        HB_TRY(hb_model_axes_cotangent(tape->model, n, tape->out, score_cotangent,
                                       tape->output_cotangent));
        return hb_net_backward(tape->net, parameters, tape->output_cotangent, add, gradient, NULL);
    }
    if (!add && tape_uses_slope(tape))
        memset(gradient, 0, tape->model->info.parameters * sizeof *gradient);
    if (tape_uses_slope(tape)) memset(tape->slope_cotangent, 0, n * tape->inputs * sizeof(float));
    for (size_t i = 0; score_cotangent && i < n; i++)
        tape_cotangent_of_row(tape, n, i, score_cotangent + i * d);
    for (size_t i = 0; w_cotangent && i < n; i++)
        tape->output_cotangent[i] = (float)tape->k[i] * w_cotangent[i];
    if (tape_uses_slope(tape))
        return hb_net_slope_backward(tape->net, parameters,
                                     w_cotangent ? tape->output_cotangent : NULL,
                                     tape->slope_cotangent, gradient);
    return hb_net_backward(tape->net, parameters, tape->output_cotangent, add, gradient, NULL);
}
