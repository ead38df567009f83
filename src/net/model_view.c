/* A model asked: score, log-density, field, and the view that judges take.
 *
 * Points x are carried to z = (x - shift)/scale and results back: a score of x is the score of z
 * over scale, a log-density that of z minus sum ln scale. Points go in blocks of BLOCK rows, one
 * task each on a tape of its thread; samples in blocks of SAMPLE_BLOCK, so that few of them keep more
 * than one thread busy. A row is alone in the products (net_product.c), so neither the threads nor the
 * rows that it is asked with change a bit of its answer.
 * A number to reproduce: a model of a Gaussian whose network gives 0 has the Gaussian's own
 * score. */
#include "base/context.h"
#include "base/parallel.h"
#include "net/model_parts.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 256, SAMPLE_BLOCK = 64 };

/* ---- rooms of the threads ---- */

typedef struct view_room {
    hb_model_tape *tape;
    double *z;        // (block, dim)
    hb_clock *clock;  // (block)
    int *labels;      // (block)
    float *w, *score; // (block), (block, dim)
    float *scratch;   // (2, block, dim)
} view_room;

struct hb_model_asker {
    hb_context *context;
    const hb_model *model;
    size_t block, threads;
    view_room *rooms; // (threads)
    hb_workspace work;
};

static hb_status create_room(hb_model_asker *asker, hb_model_want want, view_room *room)
{
    const size_t block = asker->block, d = (size_t)asker->model->info.dim;
    hb_workspace *work = &asker->work;
    room->z = hb_workspace_take(work, block * d, sizeof(double));
    room->clock = hb_workspace_take(work, block, sizeof(hb_clock));
    room->labels = hb_workspace_take(work, block, sizeof(int));
    room->w = hb_workspace_take(work, block, sizeof(float));
    room->score = hb_workspace_take(work, block * d, sizeof(float));
    room->scratch = hb_workspace_take(work, 2 * block * d, sizeof(float));
    return hb_model_tape_create(asker->context, asker->model, want, block, &room->tape);
}

static hb_status create_rooms(hb_model_asker *asker, hb_model_want want)
{
    const size_t block = asker->block, d = (size_t)asker->model->info.dim;
    const size_t threads = asker->threads;
    const size_t bytes =
        hb_workspace_need(block * d, sizeof(double)) + hb_workspace_need(block, sizeof(hb_clock)) +
        hb_workspace_need(block, sizeof(int)) + hb_workspace_need(block, sizeof(float)) +
        hb_workspace_need(block * d, sizeof(float)) +
        hb_workspace_need(2 * block * d, sizeof(float));
    HB_TRY(hb_workspace_create(asker->context,
                               hb_workspace_need(threads, sizeof(view_room)) + threads * bytes,
                               &asker->work));
    asker->rooms = hb_workspace_take(&asker->work, threads, sizeof(view_room));
    memset(asker->rooms, 0, threads * sizeof(view_room));
    for (size_t t = 0; t < threads; t++) HB_TRY(create_room(asker, want, &asker->rooms[t]));
    return HB_OK;
}

/* For at most `most` rows at a time. */
static hb_status create_asker(hb_context *context, const hb_model *model, hb_model_want want,
                              size_t block, size_t most, hb_model_asker **out)
{
    void *memory;
    const size_t blocks = (most + block - 1) / block, threads = (size_t)context->threads;
    *out = NULL;
    HB_TRY(hb_allocate(context, 1, sizeof(hb_model_asker), &memory));
    hb_model_asker *asker = memory;
    *asker = (hb_model_asker){.context = context,
                              .model = model,
                              .block = block,
                              .threads = blocks < threads ? blocks : threads};
    const hb_status status = create_rooms(asker, want);
    if (status != HB_OK)
        hb_model_asker_destroy(asker);
    else
        *out = asker;
    return status;
}

hb_status hb_model_asker_create(hb_context *context, const hb_model *model, size_t most_rows,
                                hb_model_asker **out)
{
    return create_asker(context, model, HB_WANT_SCORE, SAMPLE_BLOCK, most_rows, out);
}

void hb_model_asker_destroy(hb_model_asker *asker)
{
    if (!asker) return;
    for (size_t t = 0; asker->rooms && t < asker->threads; t++)
        hb_model_tape_destroy(asker->rooms[t].tape);
    hb_workspace_destroy(&asker->work);
    hb_release(asker->context, asker);
}

/* ---- questions ---- */

typedef struct question {
    const hb_model *model;
    size_t n;
    const double *x, *tau;       // (n, dim), (n) or, with tau_step 0, (1)
    const int *labels;           // (n) or, with label_step 0, (1); NULL: no class
    size_t tau_step, label_step; /* 1, or 0: one for all rows */
    int of_z;                    /* x is z, and the results are those of z */
    double *score, *log_density; // either NULL
    const hb_model_asker *asker;
} question;

/* Rows first .. first+n-1 into the room. */
static void enter(const question *q, const view_room *room, size_t first, size_t n)
{
    const size_t d = (size_t)q->model->info.dim;
    if (q->of_z)
        memcpy(room->z, q->x + first * d, n * d * sizeof *room->z);
    else
        hb_model_standardise(q->model, n, q->x + first * d, room->z);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && q->tau_step == 0)
            room->clock[i] = room->clock[0];
        else
            hb_model_clock(q->model, q->tau[(first + i) * q->tau_step], &room->clock[i]);
        room->labels[i] = q->labels ? q->labels[(first + i) * q->label_step] : -1;
    }
}

static hb_status answer_block(void *user, size_t index, int thread)
{
    const question *q = user;
    const hb_model *model = q->model;
    const view_room *room = &q->asker->rooms[thread];
    const size_t d = (size_t)model->info.dim, block = q->asker->block, first = index * block;
    const size_t n = q->n - first < block ? q->n - first : block;
    const double log_scale = q->of_z ? 0 : model->log_scale;
    const hb_points points = {n, room->z, room->clock, room->labels};
    enter(q, room, first, n);
    HB_TRY(hb_model_tape_forward(room->tape, model->parameters, &points, room->w, room->score));
    for (size_t i = 0; q->score && i < n * d; i++)
        q->score[first * d + i] = (double)room->score[i] / (q->of_z ? 1 : model->scale[i % d]);
    if (!q->log_density) return HB_OK;
    double *value = q->log_density + first;
    HB_TRY(hb_model_reference(model, &points, room->scratch, value, NULL));
    for (size_t i = 0; i < n; i++) value[i] += (double)room->w[i] - log_scale;
    return HB_OK;
}

static hb_status answer(hb_context *context, const hb_model_asker *asker, question *q)
{
    q->asker = asker;
    return hb_parallel_for(context, "model", (q->n + asker->block - 1) / asker->block, answer_block,
                           q);
}

hb_status hb_model_check_labels(hb_context *context, const hb_model *model, size_t n,
                                const int *labels)
{
    for (size_t i = 0; labels && i < n; i++)
        HB_CHECK(context, labels[i] >= -1 && labels[i] < model->info.classes, HB_ERROR_ARGUMENT,
                 "the label of point %zu is %d; it must be -1 to %d", i + 1, labels[i],
                 model->info.classes - 1);
    return HB_OK;
}

hb_status hb_model_check_points(hb_context *context, const hb_model *model, size_t n,
                                const double *tau, const int *labels)
{
    for (size_t i = 0; i < n; i++)
        HB_CHECK(context, tau[i] > 0 && tau[i] <= 1e6, HB_ERROR_ARGUMENT,
                 "tau of point %zu is %g; it must be positive, at most 1e6", i + 1, tau[i]);
    return hb_model_check_labels(context, model, n, labels);
}

static hb_status ask(hb_context *context, question *q)
{
    hb_model_asker *asker;
    HB_CHECK(context, q->model, HB_ERROR_ARGUMENT, "the model is NULL");
    HB_CHECK(context, q->n == 0 || (q->x && q->tau), HB_ERROR_ARGUMENT, "x or tau is NULL");
    if (q->n == 0) return HB_OK;
    HB_TRY(hb_model_check_points(context, q->model, q->tau_step ? q->n : 1, q->tau, q->labels));
    HB_TRY(create_asker(context, q->model, q->score ? HB_WANT_SCORE : HB_WANT_VALUES, BLOCK, q->n,
                        &asker));
    const hb_status status = answer(context, asker, q);
    hb_model_asker_destroy(asker);
    return status;
}

static question at_rows(const hb_model *model, size_t n, const double *x, const double *tau,
                        const int *labels)
{
    return (question){.model = model,
                      .n = n,
                      .x = x,
                      .tau = tau,
                      .labels = labels,
                      .tau_step = 1,
                      .label_step = 1};
}

hb_status hb_model_score_of_z(hb_context *context, const hb_model *model, size_t n, const double *z,
                              const double *tau, const int *labels, double *score)
{
    question q = at_rows(model, n, z, tau, labels);
    q.of_z = 1;
    q.score = score;
    return ask(context, &q);
}

hb_status hb_model_score(hb_context *context, const hb_model *model, size_t n, const double *x,
                         const double *tau, const int *labels, double *score)
{
    HB_CHECK(context, score || n == 0, HB_ERROR_ARGUMENT, "score is NULL");
    question q = at_rows(model, n, x, tau, labels);
    q.score = score;
    return ask(context, &q);
}

hb_status hb_model_log_density(hb_context *context, const hb_model *model, size_t n,
                               const double *x, const double *tau, const int *labels,
                               double *log_density, double *gradient)
{
    HB_CHECK(context, log_density || n == 0, HB_ERROR_ARGUMENT, "log_density is NULL");
    HB_CHECK(context, model, HB_ERROR_ARGUMENT, "the model is NULL");
    HB_CHECK(context, model->info.head == HB_HEAD_ENERGY, HB_ERROR_ARGUMENT,
             "only a model with the energy head has a log-density");
    question q = at_rows(model, n, x, tau, labels);
    q.score = gradient;
    q.log_density = log_density;
    return ask(context, &q);
}

hb_status hb_model_asker_score(const hb_model_asker *asker, size_t n, const double *z, double tau,
                               const int *labels, double *score)
{
    question q = {.model = asker->model,
                  .n = n,
                  .x = z,
                  .tau = &tau,
                  .labels = labels,
                  .label_step = 1,
                  .of_z = 1,
                  .score = score};
    return answer(asker->context, asker, &q);
}

/* ---- as a score and as a field ---- */

int hb_model_view_score(void *view, size_t n, const double *x, double tau, double *score)
{
    const hb_model_view *v = view;
    question q = {
        .model = v->model, .n = n, .x = x, .tau = &tau, .labels = &v->label, .score = score};
    return ask(v->context, &q) != HB_OK;
}

/* Called from several threads at once: each call works alone, on a context of its own. */
static int field_callback(void *user, size_t n, const double *z, const double *tau, double *v,
                          double *gradient)
{
    const hb_model *model = user;
    hb_context alone = hb_context_child(model->context, 1);
    question q = {.model = model,
                  .n = n,
                  .x = z,
                  .tau = tau,
                  .tau_step = 1,
                  .of_z = 1,
                  .score = gradient,
                  .log_density = v};
    return ask(&alone, &q) != HB_OK;
}

hb_status hb_model_field(hb_context *context, const hb_model *model, hb_field *out)
{
    HB_CHECK(context, model && out, HB_ERROR_ARGUMENT, "the model or the output is NULL");
    HB_CHECK(context, model->info.head == HB_HEAD_ENERGY, HB_ERROR_ARGUMENT,
             "only a model with the energy head is a field");
    *out = (hb_field){.dim = model->info.dim,
                      .tau_min = model->info.tau_min,
                      .tau_max = model->info.tau_max,
                      .evaluate = field_callback,
                      .user = (void *)(uintptr_t)model};
    return HB_OK;
}
