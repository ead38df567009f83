/* A model: made, asked and destroyed.
 *
 * Points x are carried to z = (x - shift)/scale and results back: a score of x is the score of z
 * over scale, a log-density that of z minus dim ln scale. Points go in blocks of BLOCK rows, one
 * task each on a tape of its thread, so the number of threads changes no bit. A number to
 * reproduce: a model of a Gaussian whose network gives 0 has the Gaussian's own score. */
#include "base/context.h"
#include "base/parallel.h"
#include "net/model_parts.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 256, MAX_FEATURES = 256, MAX_CLASSES = 4096, MAX_MODEL_DIM = 16384 };

/* ---- made and destroyed -----------------------------------------------------------------------
 */

static hb_status check_info(hb_context *context, const hb_model_info *info)
{
    HB_CHECK(context, info->dim >= 1 && info->dim <= MAX_MODEL_DIM, HB_ERROR_ARGUMENT,
             "dim is %d; it must be 1 to %d", info->dim, MAX_MODEL_DIM);
    HB_CHECK(context, info->classes >= 0 && info->classes <= MAX_CLASSES, HB_ERROR_ARGUMENT,
             "classes is %d; it must be 0 to %d", info->classes, MAX_CLASSES);
    HB_CHECK(context,
             info->head == HB_HEAD_SCORE || info->head == HB_HEAD_ENERGY ||
                 info->head == HB_HEAD_HELMHOLTZ,
             HB_ERROR_ARGUMENT, "head is %d; it must be one of hb_head", info->head);
    HB_CHECK(context, info->head != HB_HEAD_HELMHOLTZ || info->dim == 2, HB_ERROR_ARGUMENT,
             "the helmholtz head needs data in 2 dimensions; these have %d", info->dim);
    HB_CHECK(context, info->process == HB_PROCESS_OU || info->process == HB_PROCESS_VE,
             HB_ERROR_ARGUMENT, "process is %d; a model is made for HB_PROCESS_OU or HB_PROCESS_VE",
             info->process);
    HB_CHECK(context, info->time_features >= 1 && info->time_features <= MAX_FEATURES,
             HB_ERROR_ARGUMENT, "time_features is %d; it must be 1 to %d", info->time_features,
             MAX_FEATURES);
    HB_CHECK(context, info->tau_min > 0 && info->tau_max > info->tau_min && info->tau_max <= 100,
             HB_ERROR_ARGUMENT,
             "tau_min is %g and tau_max is %g; they must be 0 < tau_min < tau_max <= 100",
             info->tau_min, info->tau_max);
    return HB_OK;
}

static hb_status create_parts(hb_model *model)
{
    const hb_model_info *info = &model->info;
    const size_t d = (size_t)info->dim;
    const hb_net_shape shape = {.inputs = hb_model_inputs_count(model),
                                .outputs = info->head == HB_HEAD_ENERGY  ? 1
                                           : info->head == HB_HEAD_SCORE ? info->dim
                                                                         : 2,
                                .width = info->width,
                                .depth = info->depth,
                                .residual = info->residual};
    HB_TRY(hb_net_create(model->context, &shape, &model->net));
    model->info.parameters = hb_net_parameters(model->net);
    HB_TRY(hb_workspace_create(model->context,
                               3 * hb_workspace_need(d, sizeof(double)) +
                                   hb_workspace_need(d * d, sizeof(float)) +
                                   hb_workspace_need(model->info.parameters, sizeof(float)),
                               &model->work));
    model->shift = hb_workspace_take(&model->work, d, sizeof(double));
    model->mean = hb_workspace_take(&model->work, d, sizeof(double));
    model->variance = hb_workspace_take(&model->work, d, sizeof(double));
    model->axes = hb_workspace_take(&model->work, d * d, sizeof(float));
    model->parameters = hb_workspace_take(&model->work, model->info.parameters, sizeof(float));
    return HB_OK;
}

hb_status hb_model_create(hb_context *context, const hb_model_info *info, hb_model **out)
{
    void *memory;
    *out = NULL;
    HB_TRY(check_info(context, info));
    HB_TRY(hb_allocate(context, 1, sizeof(hb_model), &memory));
    hb_model *model = memory;
    *model = (hb_model){.context = context, .info = *info, .scale = 1, .spread = 1};
    const hb_status status = create_parts(model);
    if (status != HB_OK)
        hb_model_destroy(model);
    else
        *out = model;
    return status;
}

void hb_model_destroy(hb_model *model)
{
    if (!model) return;
    hb_net_destroy(model->net);
    hb_workspace_destroy(&model->work);
    hb_release(model->context, model);
}

void hb_model_info_get(const hb_model *model, hb_model_info *out)
{
    *out = model->info;
    out->scale = model->scale;
}

/* ---- asked ------------------------------------------------------------------------------------
 */

typedef struct asked_room {
    hb_model_tape *tape;
    double *z;        // (BLOCK, dim)
    hb_clock *clock;  // (BLOCK)
    float *w, *score; // (BLOCK), (BLOCK, dim)
    float *scratch;   // (2, BLOCK, dim)
} asked_room;

typedef struct asked {
    const hb_model *model;
    size_t n;
    const double *x, *tau;
    const int *labels;
    double *score, *log_density; // either NULL
    asked_room *rooms;           // (threads)
} asked;

static hb_status create_rooms(hb_context *context, asked *job, size_t threads, hb_workspace *work)
{
    const size_t d = (size_t)job->model->info.dim;
    const size_t bytes =
        hb_workspace_need(BLOCK * d, sizeof(double)) + hb_workspace_need(BLOCK, sizeof(hb_clock)) +
        hb_workspace_need(BLOCK, sizeof(float)) + hb_workspace_need(BLOCK * d, sizeof(float)) +
        hb_workspace_need(2 * BLOCK * d, sizeof(float));
    HB_TRY(hb_workspace_create(
        context, hb_workspace_need(threads, sizeof(asked_room)) + threads * bytes, work));
    job->rooms = hb_workspace_take(work, threads, sizeof(asked_room));
    memset(job->rooms, 0, threads * sizeof(asked_room));
    for (size_t t = 0; t < threads; t++) {
        asked_room *room = &job->rooms[t];
        room->z = hb_workspace_take(work, BLOCK * d, sizeof(double));
        room->clock = hb_workspace_take(work, BLOCK, sizeof(hb_clock));
        room->w = hb_workspace_take(work, BLOCK, sizeof(float));
        room->score = hb_workspace_take(work, BLOCK * d, sizeof(float));
        room->scratch = hb_workspace_take(work, 2 * BLOCK * d, sizeof(float));
        HB_TRY(hb_model_tape_create(
            context, job->model, job->score ? HB_WANT_SCORE : HB_WANT_VALUES, BLOCK, &room->tape));
    }
    return HB_OK;
}

static hb_status ask_block(void *user, size_t index, int thread)
{
    const asked *job = user;
    const hb_model *model = job->model;
    const asked_room *room = &job->rooms[thread];
    const size_t d = (size_t)model->info.dim, first = index * BLOCK;
    const size_t n = job->n - first < BLOCK ? job->n - first : BLOCK;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < d; j++)
            room->z[i * d + j] = (job->x[(first + i) * d + j] - model->shift[j]) / model->scale;
        hb_model_clock(model, job->tau[first + i], &room->clock[i]);
    }
    const hb_points points = {n, room->z, room->clock, job->labels ? job->labels + first : NULL};
    HB_TRY(hb_model_tape_forward(room->tape, model->parameters, &points, room->w, room->score));
    for (size_t i = 0; job->score && i < n * d; i++)
        job->score[first * d + i] = (double)room->score[i] / model->scale;
    if (!job->log_density) return HB_OK;
    double *value = job->log_density + first;
    HB_TRY(hb_model_reference(model, &points, room->scratch, value, NULL));
    for (size_t i = 0; i < n; i++) value[i] += (double)room->w[i] - (double)d * log(model->scale);
    return HB_OK;
}

hb_status hb_model_check_points(hb_context *context, const hb_model *model, size_t n,
                                const double *tau, const int *labels)
{
    for (size_t i = 0; i < n; i++) {
        HB_CHECK(context, tau[i] > 0 && tau[i] <= 1e6, HB_ERROR_ARGUMENT,
                 "tau of point %zu is %g; it must be positive, at most 1e6", i + 1, tau[i]);
        HB_CHECK(context, !labels || (labels[i] >= -1 && labels[i] < model->info.classes),
                 HB_ERROR_ARGUMENT, "the label of point %zu is %d; it must be -1 to %d", i + 1,
                 labels[i], model->info.classes - 1);
    }
    return HB_OK;
}

static hb_status ask(hb_context *context, asked *job)
{
    HB_CHECK(context, job->model, HB_ERROR_ARGUMENT, "the model is NULL");
    HB_CHECK(context, job->n == 0 || (job->x && job->tau), HB_ERROR_ARGUMENT, "x or tau is NULL");
    HB_TRY(hb_model_check_points(context, job->model, job->n, job->tau, job->labels));
    const size_t blocks = (job->n + BLOCK - 1) / BLOCK;
    const size_t most = (size_t)context->threads, threads = blocks < most ? blocks : most;
    hb_workspace work = {0};
    if (job->n == 0) return HB_OK;
    hb_status status = create_rooms(context, job, threads, &work);
    if (status == HB_OK) status = hb_parallel_for(context, "model", blocks, ask_block, job);
    for (size_t t = 0; job->rooms && t < threads; t++) hb_model_tape_destroy(job->rooms[t].tape);
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_model_score(hb_context *context, const hb_model *model, size_t n, const double *x,
                         const double *tau, const int *labels, double *score)
{
    HB_CHECK(context, score || n == 0, HB_ERROR_ARGUMENT, "score is NULL");
    asked job = {.model = model, .n = n, .x = x, .tau = tau, .labels = labels, .score = score};
    return ask(context, &job);
}

hb_status hb_model_log_density(hb_context *context, const hb_model *model, size_t n,
                               const double *x, const double *tau, const int *labels,
                               double *log_density, double *gradient)
{
    HB_CHECK(context, log_density || n == 0, HB_ERROR_ARGUMENT, "log_density is NULL");
    HB_CHECK(context, model && model->info.head == HB_HEAD_ENERGY, HB_ERROR_ARGUMENT,
             "only a model with the energy head has a log-density");
    asked job = {.model = model,
                 .n = n,
                 .x = x,
                 .tau = tau,
                 .labels = labels,
                 .score = gradient,
                 .log_density = log_density};
    return ask(context, &job);
}

/* Called from several threads at once: each call works alone, on a context of its own. */
static int field_callback(void *user, size_t n, const double *x, const double *tau, double *v,
                          double *gradient)
{
    const hb_model *model = user;
    hb_context alone = *model->context;
    alone.threads = 1;
    alone.settings.progress = NULL;
    return hb_model_log_density(&alone, model, n, x, tau, NULL, v, gradient) != HB_OK;
}

hb_status hb_model_field(hb_context *context, const hb_model *model, hb_field *out)
{
    HB_CHECK(context, model && model->info.head == HB_HEAD_ENERGY, HB_ERROR_ARGUMENT,
             "only a model with the energy head is a field");
    HB_CHECK(context, model->scale == 1, HB_ERROR_ARGUMENT,
             "the model's data were scaled by %g; its tau is not that of a field of x",
             model->scale);
    *out = (hb_field){.dim = model->info.dim,
                      .tau_min = model->info.tau_min,
                      .tau_max = model->info.tau_max,
                      .evaluate = field_callback,
                      .user = (void *)(uintptr_t)model};
    return HB_OK;
}
