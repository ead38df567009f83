/* The divergence of a model's score, for likelihoods.
 *
 *     div s = -sum_r 1/V_r + the network's part,      V_r = a^2 variance_r + b
 *     energy, helmholtz   (k/sigma^2) Lap N_1          (a rotation has no divergence)
 *     score               (k/(sqrt(b) sigma)) sum_i dN_i/dx^_i;  in the data's axes (model_axes.c)
 *                         sum_r out_r into_r dN_r/dx^_r
 * Directions q_1 .. q_p: all coordinates (exact), or probes of random signs, for which E[q^T J q] =
 * trace J (M. F. Hutchinson, Communications in Statistics 18, 1989). Both sums are of second
 * derivatives along the directions, which is the network's Laplacian channel, or of q.dN/dq.
 *
 * The divergence by x of the score of x is sum_j w_j^2 dS_j/dz_j, w_j = 1/scale_j, S the score of
 * z: the same sums along the directions w q, which in the data's axes are axes (w q); the reference
 * gives -sum_r (sum_j axes_rj^2 w_j^2)/V_r. A rotation then has the divergence (k/sigma^2)(w_1^2 -
 * w_2^2) d^2N_2/dx^_1 dx^_2, and the helmholtz head, of two coordinates, takes both of them
 * whatever the probes. With one scale for all columns it is the divergence by z over its square.
 * Through a frame (problem/transform/transform.c) the directions are q_i = L^-1 e_i/b_i(x_i), of
 * row x, and the reference gives -sum_r (sum_i (L^-T axis_r)_i^2/b_i^2)/V_r; a rotation has
 * (k/sigma^2) ((W_11 - W_22) d^2N_2/dx^_1 dx^_2 + W_12 (d^2N_2/dx^_2^2 - d^2N_2/dx^_1^2)), W =
 * sum_i q_i q_i'; then sum_i (s_i b_i' + b_i'')/b_i is taken off. A number to reproduce: the
 * standard normal under OU has div s = -dim. */
#include "base/context.h"
#include "base/parallel.h"
#include "net/model_parts.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum { CHANNEL_ROWS = 1024, MOST_PROBES = 16384 };

typedef struct probe_scratch {
    hb_net_tape *tape;
    double *z;             // (block, dim)
    double *direction;     // (dim)
    double *weight;        // (dim): 1/b of a row, under a frame
    hb_noise_level *level; // (block)
    float *input, *output; // (channels, block, inputs), (channels, block, outputs)
    uint32_t *words;       // (block, probes, dim)
    float *scratch;        // (2, block, dim)
    float *into, *out;     // (block, dim): scales in the data's axes
} probe_scratch;

typedef struct probe_job {
    hb_context *context, alone;
    const hb_model *model;
    size_t n, block, directions, channels, inputs, outputs;
    int probes;
    uint64_t seed;
    int of_z;
    const double *weight;      // (dim): w, or NULL: 1
    const hb_transform *frame; /* NULL: none */
    const double *axes;        // (dim, dim): axis_r, or L^-T axis_r; with weight or frame
    const double *score;       // (n, dim): of x, under a frame
    const double *x, *tau;
    const int *labels;
    const uint64_t *keys; // (n): from which the probes of a row follow; NULL: from its number
    double *divergence;
    probe_scratch *of_thread; // (threads)
} probe_job;

/* Whether the mixed derivative of a rotation is needed. */
static int divergence_mixes(const probe_job *job)
{
    return (job->weight || job->frame) && job->model->info.head == HB_HEAD_HELMHOLTZ;
}

static hb_net_jets divergence_jets(const probe_job *job)
{
    static const int both[3][2] = {{0, 1}, {0, 0}, {1, 1}};
    const int p = (int)job->directions;
    return (hb_net_jets){.first = p,
                         .pairs = !divergence_mixes(job) ? 0
                                  : job->frame           ? 3
                                                         : 1,
                         .pair = divergence_mixes(job) ? both : NULL,
                         .laplacian = job->model->info.head == HB_HEAD_SCORE ? 0 : p};
}

static hb_status divergence_create_scratch(hb_context *context, probe_job *job, size_t threads,
                                           hb_workspace *work)
{
    const size_t d = (size_t)job->model->info.dim, rows = job->channels * job->block;
    const hb_net_jets jets = divergence_jets(job);
    const size_t block = job->block;
    HB_TRY(HB_WORKSPACE_EACH(
        context, work, job->of_thread, threads, HB_MEMBER(probe_scratch, z, block * d),
        HB_MEMBER(probe_scratch, direction, d), HB_MEMBER(probe_scratch, weight, d),
        HB_MEMBER(probe_scratch, level, block), HB_MEMBER(probe_scratch, input, rows * job->inputs),
        HB_MEMBER(probe_scratch, output, rows * job->outputs),
        HB_MEMBER(probe_scratch, words, block * job->directions * d),
        HB_MEMBER(probe_scratch, scratch, 2 * block * d), HB_MEMBER(probe_scratch, into, block * d),
        HB_MEMBER(probe_scratch, out, block * d)));
    for (size_t t = 0; t < threads; t++)
        HB_TRY(hb_net_tape_create(context, job->model->net, &jets, block, &job->of_thread[t].tape));
    return HB_OK;
}

/* Direction q (dim) becomes w q, and in the data's axes axes (w q); scratch (dim). */
static void divergence_weigh(const probe_job *job, float *q, double *scratch)
{
    const hb_model *model = job->model;
    const size_t d = (size_t)model->info.dim;
    for (size_t j = 0; j < d; j++) scratch[j] = job->weight[j] * (double)q[j];
    for (size_t r = 0; r < d; r++) {
        double sum = scratch[r];
        if (hb_model_in_axes(model)) {
            sum = 0;
            for (size_t j = 0; j < d; j++) sum += (double)model->axes[r * d + j] * scratch[j];
        }
        q[r] = (float)sum;
    }
}

/* Direction q (dim) of x at a row x becomes one of y; scratch (dim). */
static void divergence_enter_frame(const probe_job *job, const double *x, float *q, double *scratch)
{
    const size_t d = (size_t)job->model->info.dim;
    for (size_t j = 0; j < d; j++) scratch[j] = (double)q[j];
    hb_transform_vector_to_y(job->frame, x, scratch);
    for (size_t j = 0; j < d; j++) q[j] = (float)scratch[j];
}

/* words (n, probes, dim) of rows first .. */
static hb_status divergence_draw_probes(probe_job *job, size_t first, size_t n, uint32_t *words)
{
    const size_t size = job->directions * (size_t)job->model->info.dim;
    if (!job->keys)
        return hb_random_words(&job->alone, job->seed, HB_STREAM_DIVERGENCE, first * size, n * size,
                               words);
    for (size_t i = 0; i < n; i++)
        HB_TRY(hb_random_words(&job->alone, job->seed, HB_STREAM_DIVERGENCE,
                               job->keys[first + i] % (UINT64_MAX / size) * size, size,
                               words + i * size));
    return HB_OK;
}

/* The channels of the directions; those of point i depend on (seed, i) alone. */
static hb_status divergence_fill_directions(probe_job *job, probe_scratch *own, size_t first,
                                            size_t n)
{
    const size_t d = (size_t)job->model->info.dim, p = job->directions, in = job->inputs;
    if (job->probes > 0) HB_TRY(divergence_draw_probes(job, first, n, own->words));
    for (size_t k = 0; k < p; k++) {
        float *channel = own->input + (1 + k) * n * in;
        if (job->probes == 0) {
            hb_model_inputs_along(job->model, n, (int)k, channel);
            continue;
        }
        memset(channel, 0, n * in * sizeof *channel);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < d; j++)
                channel[i * in + j] = own->words[(i * p + k) * d + j] >> 31 ? 1.0f : -1.0f;
    }
    for (size_t k = 0; job->weight && k < p; k++)
        for (size_t i = 0; i < n; i++)
            divergence_weigh(job, own->input + ((1 + k) * n + i) * in, own->direction);
    for (size_t k = 0; job->frame && k < p; k++)
        for (size_t i = 0; i < n; i++)
            divergence_enter_frame(job, job->x + (first + i) * d,
                                   own->input + ((1 + k) * n + i) * in, own->direction);
    memset(own->input + (1 + p) * n * in, 0, (job->channels - 1 - p) * n * in * sizeof(float));
    return HB_OK;
}

/* The value channel, and where the network works in the data's axes the directions as x^ moves. */
static hb_status divergence_fill_values(const hb_model *model, const hb_points *points,
                                        probe_scratch *own)
{
    hb_model_inputs(model, points, own->input);
    if (!hb_model_in_axes(model)) return HB_OK;
    HB_TRY(hb_model_reference(model, points, own->scratch, NULL, NULL));
    hb_model_axes_inputs(model, points, own->scratch + points->n * (size_t)model->info.dim,
                         own->input, own->into, own->out);
    return HB_OK;
}

static void divergence_scale_directions(const probe_job *job, probe_scratch *own, size_t n)
{
    const size_t d = (size_t)job->model->info.dim, in = job->inputs;
    for (size_t k = 0; k < job->directions; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < d; j++)
                own->input[((1 + k) * n + i) * in + j] *= own->into[i * d + j];
}

/* The same under a frame: H = Q^-T H_q Q^-1 from the channels H_q of 12, 11 and 22, Q = (q_1,
 * q_2). */
static double divergence_frame_rotation(const probe_job *job, const probe_scratch *own, size_t n,
                                        size_t i)
{
    const float *q1 = own->input + (n + i) * job->inputs, *q2 = q1 + n * job->inputs;
    const double a = (double)q1[0], c = (double)q1[1], b = (double)q2[0], e = (double)q2[1];
    double h[3];
    for (size_t k = 0; k < 3; k++) h[k] = (double)own->output[((3 + k) * n + i) * 2 + 1];
    const double det = a * e - b * c, inverse[2][2] = {{e / det, -b / det}, {-c / det, a / det}};
    double H[3]; /* 11, 12, 22 */
    for (int k = 0; k < 3; k++) {
        const int r = k / 2, s = (k + 1) / 2;
        H[k] = inverse[0][r] * inverse[0][s] * h[1] + inverse[1][r] * inverse[1][s] * h[2] +
               (inverse[0][r] * inverse[1][s] + inverse[1][r] * inverse[0][s]) * h[0];
    }
    return (a * a + b * b - c * c - e * e) * H[1] + (a * c + b * e) * (H[2] - H[0]);
}

/* (w_1^2 - w_2^2) d^2N_2/dx^_1 dx^_2; the channel has it times w_1 w_2. */
static double divergence_rotation(const probe_job *job, const probe_scratch *own, size_t n,
                                  size_t i)
{
    if (job->frame) return divergence_frame_rotation(job, own, n, i);
    const double w1 = job->weight[0], w2 = job->weight[1];
    return (w1 / w2 - w2 / w1) * (double)own->output[((1 + job->directions) * n + i) * 2 + 1];
}

/* -div of the reference's score along the axes of x, over the same weights. */
static double divergence_reference(const probe_job *job, const probe_scratch *own, size_t row,
                                   const hb_noise_level *c)
{
    const size_t d = (size_t)job->model->info.dim;
    const double *weight = job->frame ? own->weight : job->weight;
    double sum = 0;
    for (size_t j = 0; job->frame && j < d; j++) {
        double noise, slope;
        hb_axis_noise(&job->frame->axes[j], job->x[row * d + j], &noise, &slope);
        own->weight[j] = 1 / noise;
    }
    for (size_t r = 0; r < d; r++) {
        double part = weight ? 0 : 1;
        for (size_t j = 0; weight && j < d; j++) {
            const double along = job->axes[r * d + j] * weight[j];
            part += along * along;
        }
        sum += part / hb_model_variance(job->model, c, r);
    }
    return sum;
}

/* Sum over directions of q^T J q of the network, in its own coordinates x^. Where these are the
 * data's axes, directions are scaled by `into`, outputs by `out`. */
static double divergence_trace(const probe_job *job, const probe_scratch *own, size_t n, size_t i)
{
    const size_t d = (size_t)job->model->info.dim, p = job->directions;
    if (job->model->info.head != HB_HEAD_SCORE)
        return (double)own->output[((job->channels - 1) * n + i) * job->outputs] +
               (divergence_mixes(job) ? divergence_rotation(job, own, n, i) : 0);
    const int axes = hb_model_in_axes(job->model);
    double sum = 0;
    for (size_t k = 0; k < p; k++)
        for (size_t j = 0; j < d; j++) {
            const double along = (double)own->input[((1 + k) * n + i) * job->inputs + j] *
                                 (double)own->output[((1 + k) * n + i) * d + j];
            sum +=
                axes ? along * (double)own->out[i * d + j] / (double)own->into[i * d + j] : along;
        }
    return sum;
}

static double divergence_of_row(const probe_job *job, const probe_scratch *own, size_t first,
                                size_t n, size_t i)
{
    const hb_model *model = job->model;
    const hb_noise_level *c = &own->level[i];
    const double size = model->info.head == HB_HEAD_SCORE ? sqrt(c->b) : c->sigma;
    const double per = job->probes > 0 ? 1.0 / job->probes : 1;
    const double factor = hb_model_in_axes(model) ? per : per * c->k / (size * c->sigma);
    double sum = factor * divergence_trace(job, own, n, i);
    sum -= divergence_reference(job, own, first + i, c);
    if (job->frame) {
        const size_t at = (first + i) * (size_t)model->info.dim;
        return sum - hb_transform_bend(job->frame, job->x + at, job->score + at);
    }
    return job->of_z || job->weight ? sum : sum / (model->scale[0] * model->scale[0]);
}

static hb_status divergence_block(void *user, size_t index, int thread)
{
    probe_job *job = user;
    const hb_model *model = job->model;
    probe_scratch *own = &job->of_thread[thread];
    const size_t d = (size_t)model->info.dim, first = index * job->block;
    const size_t n = job->n - first < job->block ? job->n - first : job->block;
    if (job->of_z)
        memcpy(own->z, job->x + first * d, n * d * sizeof *own->z);
    else
        hb_model_standardise(model, n, job->x + first * d, own->z);
    for (size_t i = 0; i < n; i++) hb_model_level(model, job->tau[first + i], &own->level[i]);
    const hb_points points = {n, own->z, own->level, job->labels ? job->labels + first : NULL};
    HB_TRY(divergence_fill_values(model, &points, own));
    HB_TRY(divergence_fill_directions(job, own, first, n));
    if (hb_model_in_axes(model)) divergence_scale_directions(job, own, n);
    HB_TRY(hb_net_forward(own->tape, model->parameters, n, own->input, own->output));
    for (size_t i = 0; i < n; i++)
        job->divergence[first + i] = divergence_of_row(job, own, first, n, i);
    return HB_OK;
}

static hb_status divergence_run(hb_context *context, probe_job *job)
{
    const size_t blocks = (job->n + job->block - 1) / job->block, most = (size_t)context->threads;
    const size_t threads = blocks < most ? blocks : most;
    hb_workspace work = {0};
    hb_status status = divergence_create_scratch(context, job, threads, &work);
    if (status == HB_OK)
        status = hb_parallel_for(context, "divergence", blocks, divergence_block, job);
    for (size_t t = 0; job->of_thread && t < threads; t++)
        hb_net_tape_destroy(job->of_thread[t].tape);
    hb_workspace_destroy(&work);
    return status;
}

/* The job of checked arguments, ready but for its scratch. */
static hb_status divergence_measure(hb_context *context, probe_job *job)
{
    const hb_model *model = job->model;
    if (divergence_mixes(job)) job->probes = 0;
    job->context = context;
    job->alone = hb_context_child(context, 1);
    job->directions = (size_t)(job->probes > 0 ? job->probes : model->info.dim);
    const hb_net_jets jets = divergence_jets(job);
    job->channels = (size_t)hb_net_channels(&jets);
    job->block = CHANNEL_ROWS / job->channels > 0 ? CHANNEL_ROWS / job->channels : 1;
    job->inputs = (size_t)hb_model_inputs_count(model);
    job->outputs = (size_t)hb_net_shape_of(model->net)->outputs;
    return divergence_run(context, job);
}

static hb_status divergence_check(hb_context *context, const probe_job *job)
{
    HB_CHECK(context, job->model && (job->n == 0 || (job->x && job->tau && job->divergence)),
             HB_ERROR_ARGUMENT, "the model, x, tau or divergence is NULL");
    HB_CHECK(context, job->probes >= 0 && job->probes <= MOST_PROBES, HB_ERROR_ARGUMENT,
             "probes is %d; it must be 0 (exact) to %d", job->probes, MOST_PROBES);
    return hb_model_check_points(context, job->model, job->n, job->tau, job->labels);
}

hb_status hb_model_divergence_of_z(hb_context *context, const hb_model *model, size_t n,
                                   const double *z, const double *tau, const int *labels,
                                   const uint64_t *keys, int probes, uint64_t seed, double *score,
                                   double *divergence)
{
    probe_job job = {.model = model,
                     .n = n,
                     .probes = probes,
                     .seed = seed,
                     .of_z = 1,
                     .x = z,
                     .tau = tau,
                     .labels = labels,
                     .keys = keys,
                     .divergence = divergence};
    HB_TRY(divergence_check(context, &job));
    if (score) HB_TRY(hb_model_score_of_z(context, model, n, z, tau, labels, score));
    return n == 0 ? HB_OK : divergence_measure(context, &job);
}

/* The same by x; score (n, dim) NULL: not wanted. */
static hb_status divergence_measure_of_x(hb_context *context, probe_job *job, double *score)
{
    const hb_model *model = job->model;
    const hb_transform *frame = job->frame = hb_model_transform(model);
    const size_t d = (size_t)model->info.dim;
    int common = 1;
    for (size_t j = 0; j < d; j++) common &= model->scale[j] == model->scale[0];
    if (!frame && common) return divergence_measure(context, job);
    hb_workspace work;
    double *weight, *axes, *own = score; // (dim), (dim, dim), (n, dim)
    hb_status status = HB_OK;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(weight, d), HB_ARRAY(axes, d * d),
                        HB_ARRAY_IF(frame && !score, own, job->n * d)));
    for (size_t j = 0; j < d; j++) weight[j] = 1 / model->scale[j];
    for (size_t k = 0; k < d * d; k++) axes[k] = (double)model->axes[k];
    for (size_t r = 0; frame && r < d; r++) hb_transform_covector_to_z(frame, axes + r * d);
    job->weight = frame ? NULL : weight;
    job->axes = axes;
    job->score = own;
    if (frame && !score)
        status = hb_model_score(context, model, job->n, job->x, job->tau, job->labels, own);
    if (status == HB_OK) status = divergence_measure(context, job);
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_model_divergence(hb_context *context, const hb_model *model, int probes, uint64_t seed,
                              size_t n, const double *x, const double *tau, const int *labels,
                              double *score, double *divergence)
{
    probe_job job = {.model = model,
                     .n = n,
                     .probes = probes,
                     .seed = seed,
                     .x = x,
                     .tau = tau,
                     .labels = labels,
                     .divergence = divergence};
    HB_TRY(divergence_check(context, &job));
    if (score) HB_TRY(hb_model_score(context, model, n, x, tau, labels, score));
    return n == 0 ? HB_OK : divergence_measure_of_x(context, &job, score);
}
