/* The Fokker-Planck residual (C.-H. Lai et al., FP-Diffusion, ICML 2023) for the energy head, with
 * exact derivatives.
 *
 * v = v_ref + w, F the normalised drift (-z for OU, 0 for VE, or the user's):
 *     e = d_tau v - Lap v - |grad v|^2 + F.grad v + div F
 *       = e_ref + d_tau w - Lap w - |grad w|^2 - (2 grad v_ref - F).grad w,
 *     e_ref: the same of v_ref, which is 0 for OU and VE (drift_terms.c)
 *     rho = (b/2) e,  loss = weight * mean of b huber(rho):
 * the limit of the heat-ball loss as the ball shrinks (heat_ball.c), with the same weights. w = k
 * N(x^, ln tau): d_i w = (k/sigma) N_i, Lap w = (k/sigma^2) N_L, d_tau w = (k' N + k N_t)/tau with
 * ' and t by ln tau. dim <= 3: N_i, N_t, N_L are channels of one pass. Above: N_L is the mean of
 * second derivatives along random signs (Hutchinson), and N_i the slope by reverse mode. A number
 * to reproduce: w = 0 gives e = 0 exactly, with OU and VE. */
#include "train/trainer.h"

#include <heatball/random.h>
#include <string.h>

enum { SMALL_DIM = 3 };

typedef struct residual_scratch {
    hb_scratch own; /* slopes: dim > 3 only */
    size_t directions, inputs;
    float *input;                   // (channels, anchors, inputs)
    float *output, *cotangent;      // (channels, anchors)
    float *value;                   // (anchors)
    float *slope, *slope_cotangent; // (anchors, inputs)
    float *reference, *scratch;     // (anchors, dim), (2, anchors, dim)
    double *drift, *source;         // (anchors, dim), (anchors): F, e_ref
    uint32_t *words;                // (directions, dim)
} residual_scratch;

/* Channels of the jets: value, directions, ln tau, Laplacian over the directions. */
static size_t fp_channels_of(const residual_scratch *work)
{
    return work->directions + 3;
}

static hb_status fp_create_arrays(hb_micro_batch *micro, residual_scratch *work)
{
    const size_t m = micro->anchors, d = (size_t)micro->trainer->model->info.dim;
    const size_t channels = fp_channels_of(work), in = work->inputs;
    return HB_WORKSPACE(
        micro->trainer->context, &work->own.arrays, HB_ARRAY(work->input, channels * m * in),
        HB_ARRAY(work->output, channels * m), HB_ARRAY(work->cotangent, channels * m),
        HB_ARRAY(work->value, m), HB_ARRAY(work->slope, m * in),
        HB_ARRAY(work->slope_cotangent, m * in), HB_ARRAY(work->reference, m * d),
        HB_ARRAY(work->scratch, 2 * m * d), HB_ARRAY(work->words, work->directions * d),
        HB_ARRAY(work->drift, m * d), HB_ARRAY(work->source, m));
}

static hb_status fp_create(hb_micro_batch *micro)
{
    const hb_trainer *trainer = micro->trainer;
    const int dim = trainer->model->info.dim, exact = dim <= SMALL_DIM;
    residual_scratch *work;
    HB_TRY(hb_scratch_create(micro, sizeof *work, HB_WANT_VALUES, 0, &work));
    work->inputs = (size_t)hb_model_inputs_count(trainer->model);
    work->directions = (size_t)(exact ? dim : trainer->settings.nodes);
    if (micro->anchors == 0) return HB_OK;
    HB_TRY(fp_create_arrays(micro, work));
    const hb_net_jets jets = {.first = (int)work->directions + 1,
                              .laplacian = (int)work->directions};
    const hb_net *net = trainer->model->net;
    HB_TRY(hb_net_tape_create(&micro->alone, net, &jets, micro->anchors, &work->own.jets));
    if (exact) return HB_OK;
    return hb_net_slope_tape_create(&micro->alone, net, micro->anchors, &work->own.slopes);
}

/* Direction k of the inputs: a coordinate, or random signs (the same for all anchors of the
 * micro-batch). */
static void fp_fill_direction(const hb_micro_batch *micro, const residual_scratch *work, size_t k,
                              float *input)
{
    const hb_model *model = micro->trainer->model;
    const size_t d = (size_t)model->info.dim, m = micro->anchors;
    if (!work->own.slopes) {
        hb_model_inputs_along(model, m, (int)k, input);
        return;
    }
    memset(input, 0, m * work->inputs * sizeof *input);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < d; j++)
            input[i * work->inputs + j] = work->words[k * d + j] >> 31 ? 1.0f : -1.0f;
}

static hb_status fp_fill_inputs(hb_micro_batch *micro, residual_scratch *work,
                                const hb_points *points)
{
    const hb_trainer *trainer = micro->trainer;
    const size_t channel = points->n * work->inputs;
    const size_t d = (size_t)trainer->model->info.dim, words = work->directions * d;
    if (work->own.slopes)
        HB_TRY(hb_random_words(&micro->alone, trainer->settings.seed,
                               HB_STREAM_TRAIN + HB_STREAM_CLOUD,
                               (trainer->state.step * trainer->n_micro_batches +
                                (uint64_t)(micro - trainer->micro_batches)) *
                                   words,
                               words, work->words));
    hb_model_inputs(trainer->model, points, work->input);
    for (size_t k = 0; k < work->directions; k++)
        fp_fill_direction(micro, work, k, work->input + (1 + k) * channel);
    hb_model_inputs_log_tau(trainer->model, points, work->input,
                            work->input + (1 + work->directions) * channel);
    memset(work->input + (2 + work->directions) * channel, 0, channel * sizeof(float));
    return HB_OK;
}

/* The residual of anchor i, its part of the loss, and the cotangents of everything it was made
 * from. */
static void fp_add_anchor(hb_micro_batch *micro, residual_scratch *work, const hb_points *points,
                          size_t i)
{
    const hb_trainer *trainer = micro->trainer;
    const hb_noise_level *c = &points->level[i];
    const size_t d = (size_t)trainer->model->info.dim, m = points->n, p = work->directions;
    const double per_direction = work->own.slopes ? 1 / (double)p : 1;
    const double first = c->k / c->sigma, second = per_direction * c->k / (c->sigma * c->sigma);
    const float *N = work->output;
    double e = work->source[i] +
               (c->k_rate * (double)N[i] + c->k * (double)N[(1 + p) * m + i]) / c->tau -
               second * (double)N[(2 + p) * m + i];
    for (size_t j = 0; j < d; j++) {
        const float N_j = work->own.slopes ? work->slope[i * work->inputs + j] : N[(1 + j) * m + i];
        const double w_j = first * (double)N_j, F_j = work->drift[i * d + j];
        e -= w_j * (w_j + 2 * (double)work->reference[i * d + j] - F_j);
    }
    double slope;
    const double counts = hb_anchor_weight(c, (int)d);
    const double factor =
        trainer->settings.weight * trainer->ramp * counts / trainer->settings.anchors;
    const double scale = 0.5 * c->b * micro->anchor.weight[i], rho = scale * e;
    micro->losses[HB_LOSS_OF_CONSTRAINT] += factor * hb_huber(rho, &slope);
    micro->losses[HB_LOSS_RESIDUAL2] += rho * rho / trainer->settings.anchors;
    const double pull = factor * slope * scale; /* dL/de */
    float *C = work->cotangent;
    C[i] = (float)(pull * c->k_rate / c->tau);
    C[(1 + p) * m + i] = (float)(pull * c->k / c->tau);
    C[(2 + p) * m + i] = (float)(-pull * second);
    for (size_t j = 0; j < p && work->own.slopes; j++) C[(1 + j) * m + i] = 0;
    for (size_t j = 0; j < d; j++) {
        const float N_j = work->own.slopes ? work->slope[i * work->inputs + j] : N[(1 + j) * m + i];
        const double F_j = work->drift[i * d + j];
        const double by_w_j = -2 * (first * (double)N_j + (double)work->reference[i * d + j]) + F_j;
        float *to =
            work->own.slopes ? &work->slope_cotangent[i * work->inputs + j] : &C[(1 + j) * m + i];
        *to = (float)(pull * first * by_w_j);
    }
}

static hb_status fp_add(hb_micro_batch *micro)
{
    const hb_model *model = micro->trainer->model;
    residual_scratch *work = micro->scratch;
    const hb_rows *anchor = &micro->anchor;
    const hb_points points = {anchor->n, anchor->z, anchor->level, anchor->labels};
    const float *parameters = model->parameters;
    HB_TRY(fp_fill_inputs(micro, work, &points));
    HB_TRY(hb_net_forward(work->own.jets, parameters, points.n, work->input, work->output));
    if (work->own.slopes) {
        memset(work->slope_cotangent, 0, points.n * work->inputs * sizeof(float));
        HB_TRY(hb_net_slope(work->own.slopes, parameters, points.n, work->input, work->value,
                            work->slope));
    }
    HB_TRY(hb_model_reference(model, &points, work->scratch, NULL, work->reference));
    HB_TRY(micro->trainer->source->terms(&micro->alone, micro->trainer, &points, work->drift, NULL,
                                         work->source));
    for (size_t i = 0; i < points.n; i++) fp_add_anchor(micro, work, &points, i);
    HB_TRY(hb_net_backward(work->own.jets, parameters, work->cotangent, 1, micro->gradient, NULL));
    if (!work->own.slopes) return HB_OK;
    return hb_net_slope_backward(work->own.slopes, parameters, NULL, work->slope_cotangent,
                                 micro->gradient);
}

static const hb_constraint fp = {.weight = 2,
                                 .most_weight = 1,
                                 .spares_small_tau = 1,
                                 .many = {0.3, 64, 4},
                                 .create = fp_create,
                                 .add = fp_add};
const hb_loss_ops hb_loss_fp = {.energy = &fp, .other = &hb_constraint_fp_score};
