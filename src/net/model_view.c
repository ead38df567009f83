/* A model asked: score, log-density, field, and the view that judges take.
 *
 * Points x are carried to z = (x - shift)/scale and results back: a score of x is the score of z
 * over scale, a log-density that of z minus sum ln scale; of an SDE as typed both go through its
 * frame, outside of whose domain the log-density is -inf and there is no score. Points go in blocks
 * of BLOCK rows, one task each on a tape of its thread; samples in blocks of SAMPLE_BLOCK, so that
 * few of them keep more than one thread busy. A row is alone in the products (net_product.c), so
 * neither the threads nor the rows that it is asked with change a bit of its answer.
 * A number to reproduce: a model of a Gaussian whose network gives 0 has the Gaussian's own
 * score. */
#include "base/context.h"
#include "base/parallel.h"
#include "net/model_parts.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 256, SAMPLE_BLOCK = 64 };

/* ---- what the threads work in ---- */

typedef struct view_scratch {
    hb_model_tape *tape;
    double *z;             // (block, dim)
    hb_noise_level *level; // (block)
    int *labels;           // (block)
    float *w, *score;      // (block), (block, dim)
    float *scratch;        // (2, block, dim)
} view_scratch;

struct hb_scorer {
    hb_context *context;
    const hb_model *model;
    size_t block, threads;
    view_scratch *of_thread; // (threads)
    hb_workspace work;
};

static hb_status view_create_scratch(hb_scorer *scorer, hb_model_want want)
{
    const size_t block = scorer->block, d = (size_t)scorer->model->info.dim;
    hb_context *context = scorer->context;
    HB_TRY(HB_WORKSPACE_EACH(
        context, &scorer->work, scorer->of_thread, scorer->threads,
        HB_MEMBER(view_scratch, z, block * d), HB_MEMBER(view_scratch, level, block),
        HB_MEMBER(view_scratch, labels, block), HB_MEMBER(view_scratch, w, block),
        HB_MEMBER(view_scratch, score, block * d),
        HB_MEMBER(view_scratch, scratch, 2 * block * d)));
    for (size_t t = 0; t < scorer->threads; t++)
        HB_TRY(
            hb_model_tape_create(context, scorer->model, want, block, &scorer->of_thread[t].tape));
    return HB_OK;
}

/* For at most `most` rows at a time. */
static hb_status view_create_scorer(hb_context *context, const hb_model *model, hb_model_want want,
                                    size_t block, size_t most, hb_scorer **out)
{
    const size_t blocks = (most + block - 1) / block, threads = (size_t)context->threads;
    *out = NULL;
    hb_scorer *scorer;
    HB_TRY(HB_NEW(context, scorer, 1));
    *scorer = (hb_scorer){.context = context,
                          .model = model,
                          .block = block,
                          .threads = blocks < threads ? blocks : threads};
    const hb_status status = view_create_scratch(scorer, want);
    if (status != HB_OK) hb_scorer_destroy(scorer);
    *out = status == HB_OK ? scorer : NULL;
    return status;
}

hb_status hb_scorer_create(hb_context *context, const hb_model *model, size_t most_rows,
                           hb_scorer **out)
{
    return view_create_scorer(context, model, HB_WANT_SCORE, SAMPLE_BLOCK, most_rows, out);
}

void hb_scorer_destroy(hb_scorer *scorer)
{
    if (!scorer) return;
    for (size_t t = 0; scorer->of_thread && t < scorer->threads; t++)
        hb_model_tape_destroy(scorer->of_thread[t].tape);
    hb_workspace_destroy(&scorer->work);
    hb_release(scorer->context, scorer);
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
    const hb_scorer *scorer;
} question;

/* Rows first .. first+n-1 into the thread's scratch. */
static void view_enter(const question *q, const view_scratch *own, size_t first, size_t n)
{
    const size_t d = (size_t)q->model->info.dim;
    if (q->of_z)
        memcpy(own->z, q->x + first * d, n * d * sizeof *own->z);
    else
        hb_model_standardise(q->model, n, q->x + first * d, own->z);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && q->tau_step == 0)
            own->level[i] = own->level[0];
        else
            hb_model_level(q->model, q->tau[(first + i) * q->tau_step], &own->level[i]);
        own->labels[i] = q->labels ? q->labels[(first + i) * q->label_step] : -1;
    }
}

/* Log-densities from z to x. A row that is outside has z of NaN. */
static void view_leave_frame(const question *q, const view_scratch *own, size_t first, size_t n,
                             double *value)
{
    const size_t d = (size_t)q->model->info.dim;
    for (size_t i = 0; i < n; i++) {
        double volume;
        hb_model_volume(q->model, 1, own->z + i * d, &volume);
        value[i] -= volume;
        if (hb_model_is_outside(q->model, q->x + (first + i) * d)) value[i] = -INFINITY;
    }
}

static hb_status view_answer_block(void *user, size_t index, int thread)
{
    const question *q = user;
    const hb_model *model = q->model;
    const view_scratch *own = &q->scorer->of_thread[thread];
    const size_t d = (size_t)model->info.dim, block = q->scorer->block, first = index * block;
    const size_t n = q->n - first < block ? q->n - first : block;
    const double log_scale = q->of_z ? 0 : model->log_scale;
    const hb_transform *frame = q->of_z ? NULL : hb_model_transform(model);
    const hb_points points = {n, own->z, own->level, own->labels};
    view_enter(q, own, first, n);
    HB_TRY(hb_model_tape_forward(own->tape, model->parameters, &points, own->w, own->score));
    for (size_t i = 0; q->score && i < n * d; i++)
        q->score[first * d + i] = (double)own->score[i] / (q->of_z ? 1 : model->scale[i % d]);
    if (frame && q->score)
        HB_TRY(hb_transform_score(model->context, frame, 0, n, q->x + first * d,
                                  q->score + first * d, NULL));
    if (!q->log_density) return HB_OK;
    double *value = q->log_density + first;
    HB_TRY(hb_model_reference(model, &points, own->scratch, value, NULL));
    for (size_t i = 0; i < n; i++) value[i] += (double)own->w[i] - log_scale;
    if (frame) view_leave_frame(q, own, first, n, value);
    return HB_OK;
}

static hb_status view_answer(hb_context *context, const hb_scorer *scorer, question *q)
{
    q->scorer = scorer;
    return hb_parallel_for(context, "model", (q->n + scorer->block - 1) / scorer->block,
                           view_answer_block, q);
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

static hb_status view_ask(hb_context *context, question *q)
{
    hb_scorer *scorer;
    HB_CHECK(context, q->model, HB_ERROR_ARGUMENT, "the model is NULL");
    HB_CHECK(context, q->n == 0 || (q->x && q->tau), HB_ERROR_ARGUMENT, "x or tau is NULL");
    if (q->n == 0) return HB_OK;
    HB_TRY(hb_model_check_points(context, q->model, q->tau_step ? q->n : 1, q->tau, q->labels));
    HB_TRY(view_create_scorer(context, q->model, q->score ? HB_WANT_SCORE : HB_WANT_VALUES, BLOCK,
                              q->n, &scorer));
    const hb_status status = view_answer(context, scorer, q);
    hb_scorer_destroy(scorer);
    return status;
}

static question view_rows(const hb_model *model, size_t n, const double *x, const double *tau,
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
    return hb_model_log_density_of_z(context, model, n, z, tau, labels, NULL, score);
}

hb_status hb_model_log_density_of_z(hb_context *context, const hb_model *model, size_t n,
                                    const double *z, const double *tau, const int *labels,
                                    double *log_density, double *gradient)
{
    question q = view_rows(model, n, z, tau, labels);
    q.of_z = 1;
    q.score = gradient;
    q.log_density = log_density;
    return view_ask(context, &q);
}

hb_status hb_model_score(hb_context *context, const hb_model *model, size_t n, const double *x,
                         const double *tau, const int *labels, double *score)
{
    HB_CHECK(context, score || n == 0, HB_ERROR_ARGUMENT, "score is NULL");
    question q = view_rows(model, n, x, tau, labels);
    q.score = score;
    return view_ask(context, &q);
}

hb_status hb_model_log_density(hb_context *context, const hb_model *model, size_t n,
                               const double *x, const double *tau, const int *labels,
                               double *log_density, double *gradient)
{
    HB_CHECK(context, log_density || n == 0, HB_ERROR_ARGUMENT, "log_density is NULL");
    HB_CHECK(context, model, HB_ERROR_ARGUMENT, "the model is NULL");
    HB_CHECK(context, model->info.head == HB_HEAD_ENERGY, HB_ERROR_ARGUMENT,
             "only a model with the energy head has a log-density");
    question q = view_rows(model, n, x, tau, labels);
    q.score = gradient;
    q.log_density = log_density;
    return view_ask(context, &q);
}

hb_status hb_scorer_scores(const hb_scorer *scorer, size_t n, const double *z, double tau,
                           const int *labels, double *score)
{
    question q = {.model = scorer->model,
                  .n = n,
                  .x = z,
                  .tau = &tau,
                  .labels = labels,
                  .label_step = 1,
                  .of_z = 1,
                  .score = score};
    return view_answer(scorer->context, scorer, &q);
}

/* ---- as a score and as a field ---- */

int hb_model_view_score(void *view, size_t n, const double *x, double tau, double *score)
{
    const hb_model_view *v = view;
    if (!v) return 1;
    question q = {
        .model = v->model, .n = n, .x = x, .tau = &tau, .labels = &v->label, .score = score};
    return view_ask(v->context, &q) != HB_OK;
}

/* Called from several threads at once: each call works alone, on a context of its own. */
static int view_field(void *user, size_t n, const double *z, const double *tau, double *v,
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
    return view_ask(&alone, &q) != HB_OK;
}

hb_status hb_model_field(hb_context *context, const hb_model *model, hb_field *out)
{
    HB_CHECK(context, model && out, HB_ERROR_ARGUMENT, "the model or the output is NULL");
    HB_CHECK(context, model->info.head == HB_HEAD_ENERGY, HB_ERROR_ARGUMENT,
             "only a model with the energy head is a field");
    *out = (hb_field){.dim = model->info.dim,
                      .tau_min = model->info.tau_min,
                      .tau_max = model->info.tau_max,
                      .evaluate = view_field,
                      .user = (void *)(uintptr_t)model};
    return HB_OK;
}
