/* Few training images: does a constraint keep a network from memorising them?
 *
 * 300, 1000, 3000, 10000 and all training images but those of a validation set, without labels; for
 * each of them and each seed, which has images of its own as far as there are any, three trainings
 * with the same network and steps:
 *     dsm      and, from the same training, dsm stopped in time
 *     fp, hb   with the weights of their recipes
 * The held-out denoising loss is taken at four tau over test images. "Stopped in time" is generous:
 * the validation images, which no training has, choose one stopping time for each tau; digits are
 * those of the model that was best at tau 0.1. Digits are made by Heun's method and judged as all
 * others are, near copies being those of the images that the network was trained on.
 *
 * A training is a part (mnist_parts.c), 1000 images first, so that a run that is stopped early has
 * the comparison that counts. Must reproduce: after enough steps on 1000 images the loss of dsm at
 * tau 0.1 has risen by half above its least (docs/paper/mnist.md). */
#include "mnist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PIXELS = MNIST_SIDE * MNIST_SIDE,
    STOP_TAU = 1, /* digits of the stopped model: tau 0.1 */
    OFTEN =
        5 /* looks in the place of one at the beginning, where very few images are learnt best */
};

const char *const hb_few_names[FEW_METHODS] = {"dsm", "dsm-stopped", "fp", "hb"};

/* ---- which images ---- */

static size_t validation_rows(const hb_mnist *m)
{
    const size_t most = m->train.count / 4;
    return m->size.few_validation < most ? m->size.few_validation : most;
}

size_t hb_mnist_few_rows(const hb_mnist *m, int size, int seed, size_t *first)
{
    const size_t all = m->train.count - validation_rows(m);
    const size_t rows = m->size.few_images[size] < all ? m->size.few_images[size] : all;
    const size_t apart = all / (size_t)m->size.few_seeds * (size_t)seed;
    *first = apart + rows <= all ? apart : all - rows;
    return rows;
}

int hb_mnist_few_done(const hb_mnist *m, int size, int seed)
{
    return m->few && seed < m->size.few_seeds && m->size.few_images[size] > 0 &&
           !isnan(m->few[seed][size][FEW_HB].value[MNIST_LOSS_AT]);
}

int hb_mnist_few_mean(const hb_mnist *m, int size, int method, int value, double out[3])
{
    int n = 0;
    out[0] = 0;
    out[1] = INFINITY;
    out[2] = -INFINITY;
    for (int seed = 0; seed < m->size.few_seeds; seed++) {
        if (!hb_mnist_few_done(m, size, seed)) continue;
        const double x = m->few[seed][size][method].value[value];
        out[0] += x;
        out[1] = fmin(out[1], x);
        out[2] = fmax(out[2], x);
        n++;
    }
    out[0] /= n;
    return n;
}

/* ---- a training ---- */

static void few_settings(const hb_mnist *m, int method, int seed, hb_train_settings *out)
{
    static const int loss[FEW_METHODS] = {HB_LOSS_DSM, HB_LOSS_DSM, HB_LOSS_FP, HB_LOSS_HB};
    hb_train_settings_default(sizeof *out, out);
    out->loss = loss[method];
    out->width = m->size.few_width;
    out->batch = 128;
    out->steps = m->size.few_steps;
    out->tau_min = 0.02;
    out->standardise = HB_STANDARDISE_COMMON;
    out->target_rows = 0;
    out->image_height = out->image_width = MNIST_SIDE;
    out->pixel_high = 1;
    out->seed = m->size.seed + (uint64_t)seed;
}

/* What is seen of dsm while it is trained. */
typedef struct hb_few_watch {
    hb_mnist *m;
    hb_status status;
    double least[MNIST_TAUS]; /* validation loss so far */
    double *stopped;          /* values: the test loss at those times, and the times */
    const char *path;         /* of the model that was best at STOP_TAU */
    double seconds;           /* of the looks */
} hb_few_watch;

static hb_status look(hb_few_watch *w, const hb_model *model, uint64_t step)
{
    hb_mnist *m = w->m;
    const size_t n = validation_rows(m);
    double now[MNIST_TAUS], test[MNIST_TAUS];
    HB_TRY(hb_mnist_loss_at(m, model, n, m->train.pixels + (m->train.count - n) * PIXELS, now));
    HB_TRY(hb_mnist_loss_at(m, model, m->size.held < m->test.count ? m->size.held : m->test.count,
                            m->test.pixels, test));
    for (int t = 0; t < MNIST_TAUS; t++) {
        if (!(now[t] < w->least[t])) continue;
        w->least[t] = now[t];
        w->stopped[MNIST_LOSS_AT + t] = test[t];
        w->stopped[MNIST_STOP_AT + t] = (double)step;
        if (t == STOP_TAU) HB_TRY(hb_model_save(m->context, model, w->path));
    }
    return HB_OK;
}

/* Processor time of all threads. */
static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int watch(void *user, const hb_model *model, uint64_t step, double loss)
{
    (void)loss;
    hb_few_watch *w = user;
    const uint64_t every = w->m->size.few_watch;
    if (step > 2 * every && step % every && step < w->m->size.few_steps) return 0;
    const double start = processor_seconds();
    w->status = look(w, model, step);
    w->seconds += processor_seconds() - start;
    return w->status != HB_OK;
}

/* ---- judging ---- */

/* Digits of a model, judged; the held-out loss at every tau unless stopping has chosen it. */
static hb_status judge(hb_mnist *m, const hb_model *model, size_t rows, const double *train,
                       int with_loss, hb_few_row *row)
{
    double kept[MNIST_VALUES];
    const size_t n = m->size.few_made, held = m->size.held;
    hb_generate_settings settings;
    hb_generate_settings_default(sizeof settings, &settings);
    settings.solver = HB_SOLVER_HEUN;
    settings.n_steps = m->size.compare_steps;
    settings.denoise = HB_DENOISE_MEAN;
    settings.seed = m->size.seed;
    memcpy(kept, row->value, sizeof kept);
    double *x;
    HB_TRY(HB_STUDY_NEW(m->context, x, n * (PIXELS + 1)));
    hb_status status = hb_mnist_generate(m, model, &settings, 0, n, x, (int *)(x + n * PIXELS));
    if (status == HB_OK) status = hb_mnist_judge_against(m, n, x, NULL, rows, train, row->value);
    for (size_t i = 0; status == HB_OK && i < MNIST_FEW_SHOWN * PIXELS; i++)
        row->shown[i] = (unsigned char)(i < n * PIXELS ? lrint(255 * x[i]) : 0);
    free(x);
    for (int k = MNIST_LOSS_AT; k < MNIST_VALUES; k++) row->value[k] = kept[k];
    if (status != HB_OK || !with_loss) return status;
    return hb_mnist_loss_at(m, model, held < m->test.count ? held : m->test.count, m->test.pixels,
                            row->value + MNIST_LOSS_AT);
}

static hb_status train_method(hb_mnist *m, int method, int seed, size_t rows, const double *train,
                              hb_few_watch *stopping, hb_few_row *row)
{
    hb_train_settings settings;
    hb_model *model;
    few_settings(m, method, seed, &settings);
    if (stopping) {
        settings.watch = watch;
        settings.watch_user = stopping;
        settings.watch_every = m->size.few_watch / OFTEN;
    }
    const double start = processor_seconds();
    const hb_status status = hb_train(m->context, &settings, PIXELS, 0, rows, train, NULL, &model);
    if (stopping) HB_TRY(stopping->status);
    HB_TRY(status);
    row->seconds = processor_seconds() - start - (stopping ? stopping->seconds : 0);
    const hb_status judged = judge(m, model, rows, train, 1, row);
    hb_model_destroy(model);
    return judged;
}

/* dsm, and the same stopped in time. */
static hb_status train_dsm(hb_mnist *m, int seed, size_t rows, const double *train, hb_few_row *few)
{
    char *path;
    hb_model *model;
    hb_few_watch stopping = {.m = m, .stopped = few[FEW_STOPPED].value};
    for (int t = 0; t < MNIST_TAUS; t++) stopping.least[t] = INFINITY;
    HB_TRY(hb_study_path(m->context, m->parts, "few-stopped.safetensors", &path));
    stopping.path = path;
    hb_status status = train_method(m, FEW_DSM, seed, rows, train, &stopping, &few[FEW_DSM]);
    if (status == HB_OK) status = hb_model_load(m->context, path, &model);
    if (status == HB_OK) {
        status = judge(m, model, rows, train, 0, &few[FEW_STOPPED]);
        hb_model_destroy(model);
    }
    unlink(path);
    free(path);
    return status;
}

/* ---- a part ---- */

static void print_part(const hb_mnist *m, size_t rows, size_t first, int seed, char text[1024])
{
    const hb_mnist_size *s = &m->size;
    snprintf(text, 1024,
             "mnist-few-2 %s %s data=%s rows=%zu first=%zu width=%d steps=%llu watch=%llu "
             "validation=%zu made=%zu heun=%d real=%zu held=%zu classifier=%d,%d seed=%llu+%d",
             hb_version(), hb_context_isa(m->context), m->data_mark, rows, first, s->few_width,
             (unsigned long long)s->few_steps, (unsigned long long)s->few_watch, validation_rows(m),
             s->few_made, s->compare_steps, s->real, s->held, s->classifier_epochs,
             s->classifier_width, (unsigned long long)s->seed, seed);
}

static json_t *part_json(int first, int count, const hb_few_row few[FEW_METHODS])
{
    json_t *root = json_object();
    for (int k = first; k < first + count; k++) {
        json_t *shown = json_array();
        for (size_t i = 0; i < sizeof few[k].shown; i++)
            json_array_append_new(shown, json_integer(few[k].shown[i]));
        json_object_set_new(
            root, hb_few_names[k],
            json_pack("{s:o,s:o}", "values", hb_mnist_values_json(few[k].value), "shown", shown));
    }
    return root;
}

static void read_part(const json_t *values, int first, int count, hb_few_row few[FEW_METHODS])
{
    for (int k = first; k < first + count; k++) {
        const json_t *row = json_object_get(values, hb_few_names[k]);
        const json_t *shown = json_object_get(row, "shown");
        hb_mnist_values_read(json_object_get(row, "values"), few[k].value);
        for (size_t i = 0; i < sizeof few[k].shown; i++)
            few[k].shown[i] = (unsigned char)json_integer_value(json_array_get(shown, i));
    }
}

static double few_cost(const hb_mnist *m, int method)
{
    static const double cost[FEW_METHODS] = {1, 0, 2, 2};
    hb_train_settings settings;
    few_settings(m, method, 0, &settings);
    return hb_mnist_cost_training(&settings, 0, cost[method]) + 2;
}

/* A training of a size and seed; dsm gives two rows. */
static hb_status do_part(hb_mnist *m, int size, int seed, int method)
{
    char name[64], fingerprint[1024];
    json_t *values;
    size_t first;
    const size_t rows = hb_mnist_few_rows(m, size, seed, &first);
    const double *train = m->train.pixels + first * PIXELS;
    hb_few_row *few = m->few[seed][size];
    const int count = method == FEW_DSM ? 2 : 1;
    snprintf(name, sizeof name, "few-%zu-%d-%s", m->size.few_images[size], seed,
             hb_few_names[method]);
    print_part(m, rows, first, seed, fingerprint);
    HB_TRY(hb_mnist_part_read(m, name, fingerprint, &values));
    if (values) {
        read_part(values, method, count, few);
        json_decref(values);
        return HB_OK;
    }
    hb_mnist_progress_step(m->progress, few_cost(m, method));
    if (method == FEW_DSM)
        HB_TRY(train_dsm(m, seed, rows, train, few));
    else
        HB_TRY(train_method(m, method, seed, rows, train, NULL, &few[method]));
    return hb_mnist_part_write(m, name, fingerprint, part_json(method, count, few));
}

static hb_status do_parts(hb_mnist *m, int size, int seed)
{
    HB_TRY(do_part(m, size, seed, FEW_DSM));
    HB_TRY(do_part(m, size, seed, FEW_FP));
    return do_part(m, size, seed, FEW_HB);
}

double hb_mnist_few_cost(const hb_mnist *m)
{
    double total = 0;
    for (int size = 0; size < MNIST_FEW_SIZES; size++)
        for (int k = 0; k < FEW_METHODS; k++)
            if (m->size.few_images[size] > 0 && k != FEW_STOPPED)
                total += m->size.few_seeds * few_cost(m, k);
    return total;
}

hb_status hb_mnist_few(hb_mnist *m)
{
    if (!m->present) return HB_OK;
    HB_TRY(HB_STUDY_NEW(m->context, m->few, (size_t)m->size.few_seeds)); /* released with m */
    for (int seed = 0; seed < m->size.few_seeds; seed++)
        for (int i = 0; i < MNIST_FEW_SIZES * FEW_METHODS; i++) {
            hb_few_row *row = &m->few[seed][i / FEW_METHODS][i % FEW_METHODS];
            row->seconds = NAN;
            for (int k = 0; k < MNIST_VALUES; k++) row->value[k] = NAN;
        }
    for (int seed = 0; seed < m->size.few_seeds; seed++) HB_TRY(do_parts(m, 0, seed));
    for (int seed = 0; seed < m->size.few_seeds; seed++)
        for (int size = 1; size < MNIST_FEW_SIZES; size++)
            if (m->size.few_images[size] > 0) HB_TRY(do_parts(m, size, seed));
    return HB_OK;
}
