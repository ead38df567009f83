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
#include "train/drift_terms.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum { SMALL_DIM = 3 };

typedef struct residual_room {
    hb_net_tape *jets, *slopes; /* slopes: dim > 3 only */
    hb_workspace work;
    size_t directions, inputs;
    float *input;                   // (channels, anchors, inputs)
    float *output, *cotangent;      // (channels, anchors)
    float *value;                   // (anchors)
    float *slope, *slope_cotangent; // (anchors, inputs)
    float *reference, *scratch;     // (anchors, dim), (2, anchors, dim)
    double *drift, *source;         // (anchors, dim), (anchors): F, e_ref
    uint32_t *words;                // (directions, dim)
} residual_room;

/* Channels of the jets: value, directions, ln tau, Laplacian over the directions. */
static size_t channels_of(const residual_room *room)
{
    return room->directions + 3;
}

static void destroy(hb_shard *shard)
{
    residual_room *room = shard->room;
    hb_net_tape_destroy(room->jets);
    hb_net_tape_destroy(room->slopes);
    hb_workspace_destroy(&room->work);
    hb_release(shard->trainer->context, room);
    shard->room = NULL;
}

static hb_status create_arrays(hb_shard *shard, residual_room *room)
{
    const size_t m = shard->anchors, d = (size_t)shard->trainer->model->info.dim;
    const size_t channels = channels_of(room), in = room->inputs;
    return HB_WORKSPACE(
        shard->trainer->context, &room->work, HB_ARRAY(room->input, channels * m * in),
        HB_ARRAY(room->output, channels * m), HB_ARRAY(room->cotangent, channels * m),
        HB_ARRAY(room->value, m), HB_ARRAY(room->slope, m * in),
        HB_ARRAY(room->slope_cotangent, m * in), HB_ARRAY(room->reference, m * d),
        HB_ARRAY(room->scratch, 2 * m * d), HB_ARRAY(room->words, room->directions * d),
        HB_ARRAY(room->drift, m * d), HB_ARRAY(room->source, m));
}

static hb_status create(hb_shard *shard)
{
    const hb_trainer *trainer = shard->trainer;
    const int dim = trainer->model->info.dim, exact = dim <= SMALL_DIM;
    residual_room *room;
    HB_TRY(hb_room_create(shard, sizeof *room, &room));
    room->inputs = (size_t)hb_model_inputs_count(trainer->model);
    room->directions = (size_t)(exact ? dim : trainer->settings.nodes);
    if (shard->anchors == 0) return HB_OK;
    HB_TRY(create_arrays(shard, room));
    const hb_net_jets jets = {.first = (int)room->directions + 1,
                              .laplacian = (int)room->directions};
    const hb_net *net = trainer->model->net;
    HB_TRY(hb_net_tape_create(&shard->alone, net, &jets, shard->anchors, &room->jets));
    if (exact) return HB_OK;
    return hb_net_slope_tape_create(&shard->alone, net, shard->anchors, &room->slopes);
}

/* Direction k of the inputs: a coordinate, or random signs (the same for all anchors of the shard).
 */
static void fill_direction(const hb_shard *shard, const residual_room *room, size_t k, float *input)
{
    const hb_model *model = shard->trainer->model;
    const size_t d = (size_t)model->info.dim, m = shard->anchors;
    if (!room->slopes) {
        hb_model_inputs_along(model, m, (int)k, input);
        return;
    }
    memset(input, 0, m * room->inputs * sizeof *input);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < d; j++)
            input[i * room->inputs + j] = room->words[k * d + j] >> 31 ? 1.0f : -1.0f;
}

static hb_status fill_inputs(hb_shard *shard, residual_room *room, const hb_points *points)
{
    const hb_trainer *trainer = shard->trainer;
    const size_t channel = points->n * room->inputs;
    const size_t d = (size_t)trainer->model->info.dim, words = room->directions * d;
    if (room->slopes)
        HB_TRY(hb_random_words(
            &shard->alone, trainer->settings.seed, HB_STREAM_TRAIN + HB_STREAM_CLOUD,
            (trainer->state.step * trainer->n_shards + (uint64_t)(shard - trainer->shards)) * words,
            words, room->words));
    hb_model_inputs(trainer->model, points, room->input);
    for (size_t k = 0; k < room->directions; k++)
        fill_direction(shard, room, k, room->input + (1 + k) * channel);
    hb_model_inputs_log_tau(trainer->model, points, room->input,
                            room->input + (1 + room->directions) * channel);
    memset(room->input + (2 + room->directions) * channel, 0, channel * sizeof(float));
    return HB_OK;
}

/* The residual of anchor i, its part of the loss, and the cotangents of everything it was made
 * from. */
static void add_anchor(hb_shard *shard, residual_room *room, const hb_points *points, size_t i)
{
    const hb_trainer *trainer = shard->trainer;
    const hb_clock *c = &points->clock[i];
    const size_t d = (size_t)trainer->model->info.dim, m = points->n, p = room->directions;
    const double per_direction = room->slopes ? 1 / (double)p : 1;
    const double first = c->k / c->sigma, second = per_direction * c->k / (c->sigma * c->sigma);
    const float *N = room->output;
    double e = room->source[i] +
               (c->k_rate * (double)N[i] + c->k * (double)N[(1 + p) * m + i]) / c->tau -
               second * (double)N[(2 + p) * m + i];
    for (size_t j = 0; j < d; j++) {
        const float N_j = room->slopes ? room->slope[i * room->inputs + j] : N[(1 + j) * m + i];
        const double w_j = first * (double)N_j, F_j = room->drift[i * d + j];
        e -= w_j * (w_j + 2 * (double)room->reference[i * d + j] - F_j);
    }
    double slope;
    const double factor = trainer->weight * trainer->ramp * c->b / trainer->settings.anchors;
    const double scale = 0.5 * c->b * hb_anchor_trust(shard, i), rho = scale * e;
    shard->losses[HB_LOSS_OF_CONSTRAINT] += factor * hb_huber(rho, &slope);
    shard->losses[HB_LOSS_RESIDUAL2] += rho * rho / trainer->settings.anchors;
    const double pull = factor * slope * scale; /* dL/de */
    float *C = room->cotangent;
    C[i] = (float)(pull * c->k_rate / c->tau);
    C[(1 + p) * m + i] = (float)(pull * c->k / c->tau);
    C[(2 + p) * m + i] = (float)(-pull * second);
    for (size_t j = 0; j < p && room->slopes; j++) C[(1 + j) * m + i] = 0;
    for (size_t j = 0; j < d; j++) {
        const float N_j = room->slopes ? room->slope[i * room->inputs + j] : N[(1 + j) * m + i];
        const double F_j = room->drift[i * d + j];
        const double by_w_j = -2 * (first * (double)N_j + (double)room->reference[i * d + j]) + F_j;
        float *to =
            room->slopes ? &room->slope_cotangent[i * room->inputs + j] : &C[(1 + j) * m + i];
        *to = (float)(pull * first * by_w_j);
    }
}

static hb_status add(hb_shard *shard)
{
    const hb_model *model = shard->trainer->model;
    residual_room *room = shard->room;
    const hb_rows *anchor = &shard->anchor;
    const hb_points points = {anchor->n, anchor->z, anchor->clock, anchor->labels};
    const float *parameters = model->parameters;
    HB_TRY(fill_inputs(shard, room, &points));
    HB_TRY(hb_net_forward(room->jets, parameters, points.n, room->input, room->output));
    if (room->slopes) {
        memset(room->slope_cotangent, 0, points.n * room->inputs * sizeof(float));
        HB_TRY(hb_net_slope(room->slopes, parameters, points.n, room->input, room->value,
                            room->slope));
    }
    HB_TRY(hb_model_reference(model, &points, room->scratch, NULL, room->reference));
    HB_TRY(hb_drift_sources(&shard->alone, shard->trainer, &points, room->drift, room->source));
    for (size_t i = 0; i < points.n; i++) add_anchor(shard, room, &points, i);
    HB_TRY(hb_net_backward(room->jets, parameters, room->cotangent, shard->gradient, NULL));
    if (!room->slopes) return HB_OK;
    return hb_net_slope_backward(room->slopes, parameters, NULL, room->slope_cotangent,
                                 shard->gradient);
}

static const hb_constraint fp = {.weight = 5, .create = create, .add = add, .destroy = destroy};
const hb_loss_law hb_loss_fp = {.energy = &fp, .other = &hb_constraint_fp_score};
