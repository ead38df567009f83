/* The trainings: the main model, and dsm, fp and hb beside each other.
 *
 * A finished model lies in parts/NAME.safetensors, its mark in parts/NAME-model.json; one that is
 * under way in a checkpoint, renewed after every epoch, whose name has a sum of the settings in it,
 * so that --resume never meets one of another run. The weights are the same bytes for every number
 * of threads, and in one run or resumed. */
#include "mnist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIXELS = MNIST_SIDE * MNIST_SIDE };

static void print_settings(const hb_mnist *m, const hb_train_settings *s, size_t rows,
                           char text[1024])
{
    snprintf(text, 1024,
             "mnist-2 %s %s model data=%s rows=%zu loss=%d head=%d process=%d width=%d depth=%d "
             "residual=%d time_features=%d epochs=%d steps=%llu batch=%d rate=%.17g ema=%.17g "
             "clip=%.17g tau_min=%.17g tau_max=%.17g focus=%.17g half=%d weight=%.17g "
             "ball_share=%.17g anchors=%d spread=%.17g nodes=%d target_rows=%d label_dropout=%.17g "
             "seed=%llu",
             hb_version(), hb_context_isa(m->context), m->data_mark, rows, s->loss, s->head,
             s->process, s->width, s->depth, s->skip, s->time_features, s->epochs,
             (unsigned long long)s->steps, s->batch, s->rate, s->ema, s->clip_gradient, s->tau_min,
             s->tau_max, s->tau_focus, s->half, s->weight, s->time_fraction, s->anchors,
             s->anchor_spread, s->nodes, s->target_rows, s->label_dropout,
             (unsigned long long)s->seed);
}

static hb_status train(hb_mnist *m, const char *name, const char *fingerprint,
                       hb_train_settings settings, size_t rows, const char *path, hb_model **model)
{
    char file[128], mark[96], *checkpoint;
    snprintf(file, sizeof file, "%s-%016llx.ckpt", name,
             (unsigned long long)hb_mnist_sum(strlen(fingerprint), fingerprint, 0));
    HB_TRY(hb_study_path(m->context, m->parts, file, &checkpoint));
    if (!m->settings->resume) unlink(checkpoint);
    settings.checkpoint = checkpoint;
    settings.checkpoint_every = 1;
    settings.resume = 1;
    hb_status status = hb_train(m->context, &settings, PIXELS, m->train.classes, rows,
                                m->train.pixels, m->train.labels, model);
    if (status == HB_OK) status = hb_model_save(m->context, *model, path);
    if (status == HB_OK) status = hb_mnist_mark_file(m, path, mark);
    if (status == HB_OK) {
        snprintf(file, sizeof file, "%s-model", name);
        status = hb_mnist_part_write(m, file, fingerprint, json_pack("{s:s}", "mark", mark));
    }
    if (status == HB_OK) unlink(checkpoint);
    free(checkpoint);
    return status;
}

/* Is the file there that the finished part speaks of? */
static int is_whole(hb_mnist *m, const char *path, const json_t *values)
{
    char mark[96];
    const char *wanted = json_string_value(json_object_get(values, "mark"));
    return wanted && access(path, R_OK) == 0 && hb_mnist_mark_file(m, path, mark) == HB_OK &&
           strcmp(mark, wanted) == 0;
}

static hb_status read_or_train(hb_mnist *m, const char *name, const char *fingerprint,
                               const hb_train_settings *settings, size_t rows, const char *path,
                               hb_model **model)
{
    char part[64];
    json_t *values;
    snprintf(part, sizeof part, "%s-model", name);
    HB_TRY(hb_mnist_part_read(m, part, fingerprint, &values));
    const int whole = is_whole(m, path, values);
    json_decref(values);
    if (whole) return hb_model_load(m->context, path, model);
    return train(m, name, fingerprint, *settings, rows, path, model);
}

/* ---- the main model ---- */

static hb_status load_kept(hb_mnist *m)
{
    HB_TRY(hb_model_load(m->context, m->model_path, &m->model));
    hb_model_info_get(m->model, sizeof m->info, &m->info);
    if (m->info.dim != PIXELS || m->info.image_height != MNIST_SIDE)
        return hb_study_fail(m->context, HB_ERROR_FORMAT,
                             "%.300s is not a model of images of %d by %d pixels", m->model_path,
                             MNIST_SIDE, MNIST_SIDE);
    m->kept = 1;
    return hb_mnist_mark_file(m, m->model_path, m->model_mark);
}

static hb_status train_main(hb_mnist *m)
{
    char fingerprint[1024], *path;
    hb_train_settings settings;
    hb_mnist_main_settings(&m->size, &settings);
    print_settings(m, &settings, m->train.count, fingerprint);
    HB_TRY(hb_study_path(m->context, m->parts, "mnist16.safetensors", &path));
    hb_status status =
        read_or_train(m, "mnist16", fingerprint, &settings, m->train.count, path, &m->model);
    if (status == HB_OK) status = hb_mnist_mark_file(m, path, m->model_mark);
    if (status == HB_OK) hb_model_info_get(m->model, sizeof m->info, &m->info);
    snprintf(m->model_path, sizeof m->model_path, "%s", path);
    free(path);
    return status;
}

hb_status hb_mnist_prepare_model(hb_mnist *m)
{
    if (m->size.quick || !m->present) hb_mnist_find_model(sizeof m->model_path, m->model_path);
    if (m->model_path[0]) return load_kept(m);
    if (!m->present) return HB_OK;
    hb_train_settings settings;
    hb_mnist_main_settings(&m->size, &settings);
    hb_mnist_progress_step(m->progress, hb_mnist_cost_training(&settings, m->train.count, 1));
    return train_main(m);
}

/* ---- methods ---- */

static hb_status judge_method(hb_mnist *m, const hb_model *model, double *value)
{
    const size_t n = m->size.compare_images;
    hb_generate_settings settings;
    hb_generate_settings_default(sizeof settings, &settings);
    settings.solver = HB_SOLVER_HEUN;
    settings.n_steps = m->size.compare_steps;
    settings.denoise = HB_DENOISE_MEAN;
    settings.seed = m->size.seed;
    double *x;
    HB_TRY(HB_STUDY_NEW(m->context, x, n * (PIXELS + 1)));
    int *labels = (int *)(x + n * PIXELS);
    hb_status status = hb_mnist_generate(m, model, &settings, 0, n, x, labels);
    if (status == HB_OK) status = hb_mnist_judge(m, n, x, labels, value);
    if (status == HB_OK) status = hb_mnist_judge_loss(m, model, value);
    free(x);
    return status;
}

static hb_status train_and_judge(hb_mnist *m, int method, const char *fingerprint,
                                 const hb_train_settings *settings, size_t rows)
{
    char file[64], *path;
    const char *name = hb_mnist_recipes[method].name;
    hb_model *model = NULL;
    snprintf(file, sizeof file, "%s.safetensors", name);
    HB_TRY(hb_study_path(m->context, m->parts, file, &path));
    hb_status status = read_or_train(m, name, fingerprint, settings, rows, path, &model);
    if (status == HB_OK) status = judge_method(m, model, m->method[method]);
    hb_model_destroy(model);
    free(path);
    return status;
}

static hb_status do_method(hb_mnist *m, int method, const hb_train_settings *settings, size_t rows)
{
    char fingerprint[1024], judged[1536];
    const char *name = hb_mnist_recipes[method].name;
    json_t *values;
    print_settings(m, settings, rows, fingerprint);
    snprintf(judged, sizeof judged,
             "%s; judged by images=%zu steps=%d real=%zu held=%zu classifier=%d,%d", fingerprint,
             m->size.compare_images, m->size.compare_steps, m->size.real, m->size.held,
             m->size.classifier_epochs, m->size.classifier_width);
    HB_TRY(hb_mnist_part_read(m, name, judged, &values));
    if (values) {
        hb_mnist_values_read(values, m->method[method]);
        json_decref(values);
        return HB_OK;
    }
    HB_TRY(train_and_judge(m, method, fingerprint, settings, rows));
    return hb_mnist_part_write(m, name, judged, hb_mnist_values_json(m->method[method]));
}

hb_status hb_mnist_compare_methods(hb_mnist *m)
{
    for (int method = 0; method < MNIST_METHODS; method++) {
        for (int k = 0; k < MNIST_VALUES; k++) m->method[method][k] = NAN;
        if (!m->present) continue;
        const size_t rows =
            m->size.compare_rows < m->train.count ? m->size.compare_rows : m->train.count;
        hb_train_settings settings;
        hb_mnist_method_settings(&m->size, rows, method, &settings);
        hb_mnist_progress_step(
            m->progress, hb_mnist_cost_training(&settings, rows, hb_mnist_recipes[method].cost));
        HB_TRY(do_method(m, method, &settings, rows));
        m->method_steps[method] = settings.steps;
    }
    return HB_OK;
}
