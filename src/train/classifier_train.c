/* Training a classifier: cross-entropy, images moved at random, Adam.
 *
 *     loss = -mean ln p[label],   d loss/d l_c = (p_c - [c = label])/rows
 * A step's rows are the next of the epoch's random order, cut into micro-batches of
 * MICRO_BATCH_ROWS whatever the threads; micro-batches' gradients are added in order, so threads
 * change no bit. A row that is a square image is moved by (u, v) pixels, u and v uniform on
 * [-shift, shift] by (seed, step, row): the class does not change, and the network cannot learn
 * pixels by heart. The result is the average of the weights over the last steps. Adam:
 * net/optimiser.h. Numbers to reproduce: the first loss is ln classes (the last layer starts at 0);
 * two normals a distance 2a apart give the error Phi(-a) of Bayes
 * (tests/train/test_classifier.c). */
#define SETTINGS hb_classifier_settings
#include "base/parallel.h"
#include "base/setting_rows.h"
#include "base/team_tasks.h"
#include "metrics/neighbours.h"
#include "net/optimiser.h"
#include "random/streams.h"
#include "train/classifier.h"

#include <heatball/data.h>
#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum { MICRO_BATCH_ROWS = 128, MAX_BATCH = 1 << 16, IMAGE_DIM = 64 };

typedef struct class_trainer class_trainer;

/* The rows of a step that one task takes. */
typedef struct class_micro_batch {
    hb_context alone; /* a child of one thread: for calls from a task */
    class_trainer *trainer;
    size_t first, count;
    hb_net_tape *tape;
    double *moved, *uniform, *p; // (count, dim), (count, 2), (classes)
    float *input;                // (count, dim)
    float *logits, *cotangent;   // (count, classes)
    int *labels;                 // (count)
    float *gradient;             // (parameters)
    hb_workspace work;
} class_micro_batch;

struct class_trainer {
    hb_context *context;
    hb_classifier_settings settings;
    hb_classifier *classifier;
    size_t n, dim, classes, side; /* side 0: rows are not moved */
    const double *x;              // (n, dim)
    const int *labels;            // (n)
    size_t *order;                // (n)
    uint64_t steps, steps_per_epoch;
    size_t n_micro_batches;
    class_micro_batch *micro_batches; // (n_micro_batches)
    hb_adam_settings adam;
    hb_adam_state state;
    float *gradient; // (parameters)
    hb_workspace work;
};

static const hb_setting settings_table[] = {
    NUMBER(width, RESULT, 256, 0, 0, "width of the hidden layers"),
    NUMBER(depth, RESULT, 2, 0, 0, "number of hidden layers"),
    NUMBER(epochs, RESULT, 20, 1, 1000000, "times that every row is seen"),
    NUMBER(batch, RESULT, 256, 1, MAX_BATCH, "rows of a step"),
    NUMBER(rate, RESULT | ABOVE, 2e-3, 0, 10, "peak learning rate of Adam, with a cosine to 0"),
    NUMBER(ema, RESULT | BELOW, 0.998, 0, 1, "decay of the averaged weights"),
    NUMBER(shift, RESULT, NAN, 0, 1000, "pixels by which a square image is moved at most"),
    NUMBER(seed, RESULT, 42, 0, 0, "seed of the random numbers"),
    {0}};
SETTING_FUNCTIONS(classifier, settings_table)

/* ---- the loss ---- */

double hb_cross_entropy(size_t n, size_t classes, const float *logits, const int *labels,
                        double weight, double *scratch, float *cotangent)
{
    double loss = 0;
    for (size_t i = 0; i < n; i++) {
        const float *l = logits + i * classes;
        const size_t label = (size_t)labels[i];
        loss += hb_softmax(classes, l, scratch) - (double)l[label];
        scratch[label] -= 1;
        for (size_t c = 0; c < classes; c++)
            cotangent[i * classes + c] = (float)(weight * scratch[c]);
    }
    return loss;
}

/* ---- rows of a step ---- */

/* Where coordinate i of a moved image comes from: pixels *at and *at + 1 with weights 1 - part and
 * part. */
static double class_source(size_t i, double move, size_t side, size_t *at)
{
    const double place = fmin(fmax((double)i - move, 0), (double)(side - 1));
    *at = (size_t)place < side - 1 ? (size_t)place : side - 2;
    return place - (double)*at;
}

void hb_move_image(size_t side, const double *image, double down, double right, double *moved)
{
    for (size_t i = 0; i < side; i++) {
        size_t row;
        const double v = class_source(i, down, side, &row);
        for (size_t j = 0; j < side; j++) {
            size_t column;
            const double u = class_source(j, right, side, &column);
            const double *near = image + row * side + column, *next = near + side;
            moved[i * side + j] =
                (1 - v) * ((1 - u) * near[0] + u * near[1]) + v * ((1 - u) * next[0] + u * next[1]);
        }
    }
}

static hb_status class_draw_rows(class_micro_batch *micro)
{
    const class_trainer *t = micro->trainer;
    const size_t batch = (size_t)t->settings.batch;
    const uint64_t step = t->state.step, in_epoch = step % t->steps_per_epoch;
    const double reach = t->settings.shift;
    if (t->side)
        HB_TRY(hb_random_uniform(&micro->alone, t->settings.seed, HB_STREAM_CLASSIFIER,
                                 2 * (step * batch + micro->first), 2 * micro->count,
                                 micro->uniform));
    for (size_t i = 0; i < micro->count; i++) {
        const size_t row = t->order[(in_epoch * batch + micro->first + i) % t->n];
        const double *x = t->x + row * t->dim, *u = micro->uniform + 2 * i;
        if (t->side)
            hb_move_image(t->side, x, reach * (2 * u[0] - 1), reach * (2 * u[1] - 1),
                          micro->moved + i * t->dim);
        else
            memcpy(micro->moved + i * t->dim, x, t->dim * sizeof *x);
        micro->labels[i] = t->labels[row];
    }
    hb_classifier_standardise(t->classifier, micro->count, micro->moved, micro->input);
    return HB_OK;
}

static hb_status class_step_micro_batch(class_micro_batch *micro)
{
    const class_trainer *t = micro->trainer;
    const float *parameters = t->classifier->parameters;
    HB_TRY(class_draw_rows(micro));
    HB_TRY(hb_net_forward(micro->tape, parameters, micro->count, micro->input, micro->logits));
    hb_cross_entropy(micro->count, t->classes, micro->logits, micro->labels,
                     1 / (double)t->settings.batch, micro->p, micro->cotangent);
    return hb_net_backward(micro->tape, parameters, micro->cotangent, 0, micro->gradient, NULL);
}

static hb_status class_micro_batch_task(void *user, size_t index, int thread)
{
    (void)thread;
    class_trainer *t = user;
    return hb_context_adopt(t->context, &t->micro_batches[index].alone,
                            class_step_micro_batch(&t->micro_batches[index]));
}

/* ---- the loop ---- */

static hb_status class_step(hb_context *quiet, class_trainer *t)
{
    const size_t parameters = hb_net_parameters(t->classifier->net);
    const uint64_t epoch = t->state.step / t->steps_per_epoch;
    if (t->state.step % t->steps_per_epoch == 0)
        HB_TRY(hb_data_split(t->context,
                             t->settings.seed ^ UINT64_C(0x9e3779b97f4a7c15) * (epoch + 1), t->n,
                             t->order));
    HB_TRY(hb_net_prepare(quiet, t->classifier->net, t->classifier->parameters));
    HB_TRY(hb_parallel_for(quiet, "classifier", t->n_micro_batches, class_micro_batch_task, t));
    memcpy(t->gradient, t->micro_batches[0].gradient, parameters * sizeof(float));
    for (size_t s = 1; s < t->n_micro_batches; s++)
        for (size_t i = 0; i < parameters; i++) t->gradient[i] += t->micro_batches[s].gradient[i];
    return hb_adam_step(t->context, &t->adam, parameters, t->gradient, t->classifier->parameters,
                        &t->state, NULL);
}

static hb_status class_loop(class_trainer *t)
{
    hb_context quiet = hb_context_child(t->context, 0);
    while (t->state.step < t->steps) {
        HB_TRY(hb_context_adopt(t->context, &quiet, class_step(&quiet, t)));
        HB_TRY(hb_team_progress(t->context, "classifier", (double)t->state.step, (double)t->steps));
    }
    memcpy(t->classifier->parameters, t->state.average,
           hb_net_parameters(t->classifier->net) * sizeof(float));
    return hb_net_prepare(t->context, t->classifier->net, t->classifier->parameters);
}

/* ---- made ready ---- */

static hb_status class_check_rows(hb_context *context, int dim, size_t n, const double *x,
                                  int classes, const int *labels)
{
    HB_CHECK(context, dim >= 1 && dim <= 65536, HB_ERROR_ARGUMENT,
             "dim is %d; it must be 1 to 65536", dim);
    HB_CHECK(context, classes >= 2 && classes <= 65536, HB_ERROR_ARGUMENT,
             "classes is %d; it must be 2 to 65536", classes);
    HB_CHECK(context, labels, HB_ERROR_ARGUMENT, "labels is NULL");
    HB_TRY(hb_judge_check_rows(context, "x", 2, n, dim, x));
    for (size_t i = 0; i < n; i++)
        HB_CHECK(context, labels[i] >= 0 && labels[i] < classes, HB_ERROR_ARGUMENT,
                 "the label of row %zu is %d; it must be 0 to %d", i + 1, labels[i], classes - 1);
    return HB_OK;
}

/* The side of square images, when they are to be moved. */
static hb_status class_choose_shift(class_trainer *t)
{
    const size_t side = (size_t)(sqrt((double)t->dim) + 0.5);
    const int square = side * side == t->dim && side >= 2;
    double *shift = &t->settings.shift;
    if (isnan(*shift)) *shift = square && t->dim >= IMAGE_DIM ? 1 : 0;
    HB_CHECK(t->context, *shift == 0 || square, HB_ERROR_ARGUMENT,
             "shift is %g, but %zu columns are no square image; shift must be 0", *shift, t->dim);
    t->side = *shift > 0 ? side : 0;
    return HB_OK;
}

static void class_find_scale(const class_trainer *t)
{
    double *shift = t->classifier->shift, squares = 0;
    for (size_t i = 0; i < t->n * t->dim; i++) shift[i % t->dim] += t->x[i];
    for (size_t j = 0; j < t->dim; j++) shift[j] /= (double)t->n;
    for (size_t i = 0; i < t->n * t->dim; i++) {
        const double away = t->x[i] - shift[i % t->dim];
        squares += away * away;
    }
    const double scale = sqrt(squares / ((double)t->n * (double)t->dim));
    t->classifier->scale = scale > 0 ? scale : 1;
}

static hb_status class_create_micro_batch(class_trainer *t, size_t index, class_micro_batch *micro)
{
    const size_t batch = (size_t)t->settings.batch, dim = t->dim, classes = t->classes;
    const size_t parameters = hb_net_parameters(t->classifier->net);
    const size_t first = index * MICRO_BATCH_ROWS;
    const size_t n = batch - first < MICRO_BATCH_ROWS ? batch - first : MICRO_BATCH_ROWS;
    micro->alone = hb_context_child(t->context, 1);
    micro->trainer = t;
    micro->first = first;
    micro->count = n;
    HB_TRY(HB_WORKSPACE(t->context, &micro->work, HB_ARRAY(micro->moved, n * dim),
                        HB_ARRAY(micro->uniform, 2 * n), HB_ARRAY(micro->p, classes),
                        HB_ARRAY(micro->input, n * dim), HB_ARRAY(micro->logits, n * classes),
                        HB_ARRAY(micro->cotangent, n * classes), HB_ARRAY(micro->labels, n),
                        HB_ARRAY(micro->gradient, parameters)));
    const hb_net_jets jets = {0};
    return hb_net_tape_create(&micro->alone, t->classifier->net, &jets, n, &micro->tape);
}

static hb_status class_create_arrays(class_trainer *t)
{
    const size_t parameters = hb_net_parameters(t->classifier->net);
    HB_TRY(HB_WORKSPACE(t->context, &t->work, HB_ARRAY(t->gradient, parameters),
                        HB_ARRAY(t->state.first, parameters), HB_ARRAY(t->state.second, parameters),
                        HB_ARRAY(t->state.average, parameters), HB_ARRAY(t->order, t->n),
                        HB_ARRAY(t->micro_batches, t->n_micro_batches)));
    memset(t->micro_batches, 0, t->n_micro_batches * sizeof(class_micro_batch));
    for (size_t s = 0; s < t->n_micro_batches; s++)
        HB_TRY(class_create_micro_batch(t, s, &t->micro_batches[s]));
    return HB_OK;
}

static hb_status class_prepare(class_trainer *t)
{
    const hb_classifier_settings *s = &t->settings;
    const size_t batch = (size_t)s->batch;
    const hb_net_shape shape = {(int)t->dim, (int)t->classes, s->width, s->depth, 0};
    HB_TRY(class_choose_shift(t));
    HB_TRY(hb_classifier_create(t->context, &shape, &t->classifier));
    /* the last layer starts at 0: all classes are equally likely */
    HB_TRY(
        hb_net_initialise(t->context, t->classifier->net, s->seed, 0, t->classifier->parameters));
    class_find_scale(t);
    t->n_micro_batches = (batch + MICRO_BATCH_ROWS - 1) / MICRO_BATCH_ROWS;
    t->steps_per_epoch = (t->n + batch - 1) / batch;
    t->steps = (uint64_t)s->epochs * t->steps_per_epoch;
    hb_adam_settings_default(&t->adam);
    t->adam.rate = s->rate;
    t->adam.ema = s->ema;
    t->adam.steps = t->steps;
    t->adam.warmup = t->steps / 10 < 100 ? t->steps / 10 : 100;
    return class_create_arrays(t);
}

static void class_discard(class_trainer *t)
{
    for (size_t s = 0; t->micro_batches && s < t->n_micro_batches; s++) {
        hb_net_tape_destroy(t->micro_batches[s].tape);
        hb_workspace_destroy(&t->micro_batches[s].work);
    }
    hb_workspace_destroy(&t->work);
    hb_classifier_destroy(t->classifier);
}

hb_status hb_classifier_train(hb_context *context, const hb_classifier_settings *settings, int dim,
                              int classes, size_t n, const double *x, const int *labels,
                              hb_classifier **out)
{
    HB_CHECK(context, out, HB_ERROR_ARGUMENT, "the output of the training is NULL");
    *out = NULL;
    class_trainer t = {.context = context, .n = n, .x = x, .labels = labels};
    HB_SIZED_READ(context, hb_classifier_settings, settings, &t.settings);
    HB_TRY(class_check_rows(context, dim, n, x, classes, labels));
    HB_TRY(hb_setting_rows_check(context, settings_table, &t.settings));
    t.dim = (size_t)dim;
    t.classes = (size_t)classes;
    hb_status status = class_prepare(&t);
    if (status == HB_OK) status = class_loop(&t);
    if (status == HB_OK) {
        *out = t.classifier;
        t.classifier = NULL;
    }
    class_discard(&t);
    return status;
}
