/* The table: digits of the main model for every det_tau, n_correct and n_steps, judged.
 *
 * Image i of a cell is a function of the model, the cell's settings and i. All cells have the same
 * seed: they start from the same noise, so that differences between cells are smaller than the
 * errors of the cells. Classes, where the model has them, are those of training images in a fixed
 * order, so that they come in the shares of the data; without the data each class in turn. */
#include "mnist.h"

#include <math.h>
#include <stdlib.h>

enum { PIXELS = MNIST_SIDE * MNIST_SIDE };
/* Of the corrector; the paper gives none. The usual 0.16 lets hundreds of Langevin steps bring the
 * samples to the law of an imperfect score, with less ink (docs/paper/mnist.md). */
#define SNR 0.05

static int label_of(const hb_mnist *m, const hb_model_info *info, uint64_t i)
{
    if (!m->present || !m->train.labels) return (int)(i % (uint64_t)info->classes);
    return m->train.labels[(i * 7919 + 13) % m->train.count];
}

hb_status hb_mnist_generate(hb_mnist *m, const hb_model *model,
                            const hb_generate_settings *settings, uint64_t first, size_t n,
                            double *x, int *labels)
{
    hb_model_info info;
    hb_model_info_get(model, sizeof info, &info);
    for (size_t i = 0; i < n; i++)
        labels[i] = info.classes > 0 ? label_of(m, &info, first + i) : -1;
    HB_TRY(hb_model_generate(m->context, model, settings, first, n,
                             info.classes > 0 ? labels : NULL, x));
    if (!(info.pixel_high > info.pixel_low)) return HB_OK;
    const double range = info.pixel_high - info.pixel_low;
    for (size_t i = 0; i < n * PIXELS; i++) x[i] = (x[i] - info.pixel_low) / range;
    return HB_OK;
}

void hb_mnist_cell_settings(const hb_mnist *m, const hb_mnist_cell *cell, hb_generate_settings *out)
{
    hb_generate_settings_default(sizeof *out, out);
    out->det_tau = cell->det_tau;
    out->n_correct = cell->n_correct;
    out->n_steps = cell->n_steps;
    out->denoise = HB_DENOISE_MEAN;
    out->snr = SNR;
    out->seed = m->size.seed;
}

static hb_status make_and_judge(hb_mnist *m, hb_mnist_cell *cell)
{
    hb_generate_settings settings;
    const size_t n = cell->images;
    hb_mnist_cell_settings(m, cell, &settings);
    double *x;
    HB_TRY(HB_STUDY_NEW(m->context, x, n * (PIXELS + 1)));
    int *labels = (int *)(x + n * PIXELS);
    hb_status status = hb_mnist_generate(m, m->model, &settings, 0, n, x, labels);
    if (status == HB_OK)
        status = hb_mnist_judge(m, n, x, m->info.classes > 0 ? labels : NULL, cell->value);
    free(x);
    return status;
}

static hb_status do_cell(hb_mnist *m, hb_mnist_cell *cell)
{
    char name[64], fingerprint[768];
    json_t *values;
    hb_generate_settings s;
    hb_mnist_cell_settings(m, cell, &s);
    snprintf(name, sizeof name, "cell-%.2f-%d-%d", cell->det_tau, cell->n_correct, cell->n_steps);
    snprintf(fingerprint, sizeof fingerprint,
             "mnist-2 %s %s cell model=%s data=%s det_tau=%g n_correct=%d n_steps=%d snr=%g "
             "denoise=%d clip=1 seed=%llu images=%zu real=%zu held=%zu classifier=%d,%d",
             hb_version(), hb_context_isa(m->context), m->model_mark,
             m->present ? m->data_mark : "none", cell->det_tau, cell->n_correct, cell->n_steps,
             s.snr, s.denoise, (unsigned long long)s.seed, cell->images, m->size.real, m->size.held,
             m->size.classifier_epochs, m->size.classifier_width);
    HB_TRY(hb_mnist_part_read(m, name, fingerprint, &values));
    if (values) {
        hb_mnist_values_read(values, cell->value);
        json_decref(values);
        return HB_OK;
    }
    HB_TRY(make_and_judge(m, cell));
    return hb_mnist_part_write(m, name, fingerprint, hb_mnist_values_json(cell->value));
}

hb_status hb_mnist_fill_table(hb_mnist *m)
{
    for (int i = 0; i < MNIST_CELLS; i++) {
        for (int k = 0; k < MNIST_VALUES; k++) m->cells[i].value[k] = NAN;
        if (!m->model || m->cells[i].images == 0) continue;
        hb_mnist_progress_step(m->progress, hb_mnist_cost_cell(&m->cells[i]));
        HB_TRY(do_cell(m, &m->cells[i]));
    }
    return HB_OK;
}
