/* The divergence of a model's score, for likelihoods.
 *
 *     div s = -sum_r 1/V_r + the network's part,      V_r = a^2 variance_r + b
 *     energy, helmholtz   (k/sigma^2) Lap N_1          (a rotation has no divergence)
 *     score               (k/(sqrt(b) sigma)) sum_i dN_i/dx^_i;  in the data's axes (model_axes.c)
 *                         sum_r out_r into_r dN_r/dx^_r
 * Directions q_1 .. q_p: all coordinates (exact), or probes of random signs, for which E[q^T J q] =
 * trace J (M. F. Hutchinson, Communications in Statistics 18, 1989). Both sums are of second
 * derivatives along the directions, which is the network's Laplacian channel, or of q.dN/dq. A
 * number to reproduce: the standard normal under OU has div s = -dim. */
#include "base/context.h"
#include "base/parallel.h"
#include "net/model_parts.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum { CHANNEL_ROWS = 1024, MOST_PROBES = 16384 };

/* Streams of probes: the library's own. */
#define PROBE_STREAM (UINT64_C(15) << 60 | UINT64_C(0x64697620) << 8) /* "div " */

typedef struct probe_room {
    hb_net_tape *tape;
    double *z;             // (block, dim)
    hb_clock *clock;       // (block)
    float *input, *output; // (channels, block, inputs), (channels, block, outputs)
    uint32_t *words;       // (block, probes, dim)
    float *scratch;        // (2, block, dim)
    float *into, *out;     // (block, dim): scales in the data's axes
} probe_room;

typedef struct probe_job {
    hb_context *context, alone;
    const hb_model *model;
    size_t n, block, directions, channels, inputs, outputs;
    int probes;
    uint64_t seed;
    const double *x, *tau;
    const int *labels;
    double *divergence;
    probe_room *rooms; // (threads)
} probe_job;

static hb_net_jets jets_of(const probe_job *job)
{
    const int p = (int)job->directions;
    return (hb_net_jets){.first = p, .laplacian = job->model->info.head == HB_HEAD_SCORE ? 0 : p};
}

static size_t room_bytes(const probe_job *job)
{
    const size_t d = (size_t)job->model->info.dim, rows = job->channels * job->block;
    return hb_workspace_need(job->block * d, sizeof(double)) +
           hb_workspace_need(job->block, sizeof(hb_clock)) +
           hb_workspace_need(rows * job->inputs, sizeof(float)) +
           hb_workspace_need(rows * job->outputs, sizeof(float)) +
           hb_workspace_need(job->block * job->directions * d, sizeof(uint32_t)) +
           hb_workspace_need(2 * job->block * d, sizeof(float)) +
           2 * hb_workspace_need(job->block * d, sizeof(float));
}

static hb_status create_rooms(hb_context *context, probe_job *job, size_t threads,
                              hb_workspace *work)
{
    const size_t d = (size_t)job->model->info.dim, rows = job->channels * job->block;
    const hb_net_jets jets = jets_of(job);
    HB_TRY(hb_workspace_create(
        context, hb_workspace_need(threads, sizeof(probe_room)) + threads * room_bytes(job), work));
    job->rooms = hb_workspace_take(work, threads, sizeof(probe_room));
    memset(job->rooms, 0, threads * sizeof(probe_room));
    for (size_t t = 0; t < threads; t++) {
        probe_room *room = &job->rooms[t];
        room->z = hb_workspace_take(work, job->block * d, sizeof(double));
        room->clock = hb_workspace_take(work, job->block, sizeof(hb_clock));
        room->input = hb_workspace_take(work, rows * job->inputs, sizeof(float));
        room->output = hb_workspace_take(work, rows * job->outputs, sizeof(float));
        room->words = hb_workspace_take(work, job->block * job->directions * d, sizeof(uint32_t));
        room->scratch = hb_workspace_take(work, 2 * job->block * d, sizeof(float));
        room->into = hb_workspace_take(work, job->block * d, sizeof(float));
        room->out = hb_workspace_take(work, job->block * d, sizeof(float));
        HB_TRY(hb_net_tape_create(context, job->model->net, &jets, job->block, &room->tape));
    }
    return HB_OK;
}

/* The channels of the directions; those of point i depend on (seed, i) alone. */
static hb_status fill_directions(probe_job *job, probe_room *room, size_t first, size_t n)
{
    const size_t d = (size_t)job->model->info.dim, p = job->directions, in = job->inputs;
    if (job->probes > 0)
        HB_TRY(hb_random_words(&job->alone, job->seed, PROBE_STREAM, first * p * d, n * p * d,
                               room->words));
    for (size_t k = 0; k < p; k++) {
        float *channel = room->input + (1 + k) * n * in;
        if (job->probes == 0) {
            hb_model_inputs_along(job->model, n, (int)k, channel);
            continue;
        }
        memset(channel, 0, n * in * sizeof *channel);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < d; j++)
                channel[i * in + j] = room->words[(i * p + k) * d + j] >> 31 ? 1.0f : -1.0f;
    }
    if (job->channels > 1 + p) memset(room->input + (1 + p) * n * in, 0, n * in * sizeof(float));
    return HB_OK;
}

/* The value channel, and where the network works in the data's axes the directions as x^ moves. */
static hb_status fill_values(const hb_model *model, const hb_points *points, probe_room *room)
{
    hb_model_inputs(model, points, room->input);
    if (!hb_model_in_axes(model)) return HB_OK;
    HB_TRY(hb_model_reference(model, points, room->scratch, NULL, NULL));
    hb_model_axes_inputs(model, points, room->scratch + points->n * (size_t)model->info.dim,
                         room->input, room->into, room->out);
    return HB_OK;
}

static void scale_directions(const probe_job *job, probe_room *room, size_t n)
{
    const size_t d = (size_t)job->model->info.dim, in = job->inputs;
    for (size_t k = 0; k < job->directions; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < d; j++)
                room->input[((1 + k) * n + i) * in + j] *= room->into[i * d + j];
}

/* The same trace where the network works in the data's axes; directions are scaled by `into`. */
static double trace_in_axes(const probe_job *job, const probe_room *room, size_t n, size_t i)
{
    const size_t d = (size_t)job->model->info.dim;
    double sum = 0;
    for (size_t k = 0; k < job->directions; k++)
        for (size_t j = 0; j < d; j++)
            sum += (double)room->input[((1 + k) * n + i) * job->inputs + j] *
                   (double)room->output[((1 + k) * n + i) * d + j] * (double)room->out[i * d + j] /
                   (double)room->into[i * d + j];
    return sum;
}

/* Sum over directions of q^T J q of the network, in its own coordinates x^. */
static double trace_of_row(const probe_job *job, const probe_room *room, size_t n, size_t i)
{
    const size_t d = (size_t)job->model->info.dim, p = job->directions;
    if (job->model->info.head != HB_HEAD_SCORE)
        return (double)room->output[((1 + p) * n + i) * job->outputs];
    double sum = 0;
    for (size_t k = 0; k < p; k++)
        for (size_t j = 0; j < d; j++)
            sum += (double)room->input[((1 + k) * n + i) * job->inputs + j] *
                   (double)room->output[((1 + k) * n + i) * d + j];
    return sum;
}

static double divergence_of_row(const probe_job *job, const probe_room *room, size_t n, size_t i)
{
    const hb_model *model = job->model;
    const hb_clock *c = &room->clock[i];
    const double size = model->info.head == HB_HEAD_SCORE ? sqrt(c->b) : c->sigma;
    const double per = job->probes > 0 ? 1.0 / job->probes : 1;
    double sum = hb_model_in_axes(model)
                     ? per * trace_in_axes(job, room, n, i)
                     : per * c->k / (size * c->sigma) * trace_of_row(job, room, n, i);
    for (int r = 0; r < model->info.dim; r++) sum -= 1 / hb_model_variance(model, c, (size_t)r);
    return sum / (model->scale * model->scale);
}

static hb_status probe_block(void *user, size_t index, int thread)
{
    probe_job *job = user;
    const hb_model *model = job->model;
    probe_room *room = &job->rooms[thread];
    const size_t d = (size_t)model->info.dim, first = index * job->block;
    const size_t n = job->n - first < job->block ? job->n - first : job->block;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < d; j++)
            room->z[i * d + j] = (job->x[(first + i) * d + j] - model->shift[j]) / model->scale;
        hb_model_clock(model, job->tau[first + i], &room->clock[i]);
    }
    const hb_points points = {n, room->z, room->clock, job->labels ? job->labels + first : NULL};
    HB_TRY(fill_values(model, &points, room));
    HB_TRY(fill_directions(job, room, first, n));
    if (hb_model_in_axes(model)) scale_directions(job, room, n);
    HB_TRY(hb_net_forward(room->tape, model->parameters, n, room->input, room->output));
    for (size_t i = 0; i < n; i++) job->divergence[first + i] = divergence_of_row(job, room, n, i);
    return HB_OK;
}

static hb_status run(hb_context *context, probe_job *job)
{
    const size_t blocks = (job->n + job->block - 1) / job->block, most = (size_t)context->threads;
    const size_t threads = blocks < most ? blocks : most;
    hb_workspace work = {0};
    hb_status status = create_rooms(context, job, threads, &work);
    if (status == HB_OK) status = hb_parallel_for(context, "divergence", blocks, probe_block, job);
    for (size_t t = 0; job->rooms && t < threads; t++) hb_net_tape_destroy(job->rooms[t].tape);
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_model_divergence(hb_context *context, const hb_model *model, size_t n, const double *x,
                              const double *tau, const int *labels, int probes, uint64_t seed,
                              double *score, double *divergence)
{
    HB_CHECK(context, model && (n == 0 || (x && tau && divergence)), HB_ERROR_ARGUMENT,
             "the model, x, tau or divergence is NULL");
    HB_CHECK(context, probes >= 0 && probes <= MOST_PROBES, HB_ERROR_ARGUMENT,
             "probes is %d; it must be 0 (exact) to %d", probes, MOST_PROBES);
    HB_TRY(hb_model_check_points(context, model, n, tau, labels));
    if (score) HB_TRY(hb_model_score(context, model, n, x, tau, labels, score));
    if (n == 0) return HB_OK;
    probe_job job = {.context = context,
                     .alone = *context,
                     .model = model,
                     .n = n,
                     .probes = probes,
                     .seed = seed,
                     .x = x,
                     .tau = tau,
                     .labels = labels,
                     .divergence = divergence};
    job.alone.threads = 1;
    job.alone.settings.progress = NULL;
    job.directions = (size_t)(probes > 0 ? probes : model->info.dim);
    const hb_net_jets jets = jets_of(&job);
    job.channels = (size_t)hb_net_channels(&jets);
    job.block = CHANNEL_ROWS / job.channels > 0 ? CHANNEL_ROWS / job.channels : 1;
    job.inputs = (size_t)hb_model_inputs_count(model);
    job.outputs = (size_t)hb_net_shape_of(model->net)->outputs;
    return run(context, &job);
}
