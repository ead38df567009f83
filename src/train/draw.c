/* What a step is taken at: rows of data, tau, noise.
 *
 *     z = a z_0 + sqrt(b) e,   ln tau uniform on [ln tau_min, ln tau_max]
 * Row i of a batch of B has ln tau in the i-th of B equal parts: uniform still, with less variance.
 * With a focus F the part p of the range becomes p + F sin(2 pi p)/(2 pi): 1/(1 - F) times as many
 * rows around the middle of the range, 1/(1 + F) times as many at its ends.
 * z_0 goes through the data in a new random order in each epoch; the last batch of an epoch goes on
 * at its beginning. Anchors of a constraint are rows of data drawn at random with more noise, z = a
 * z_0 + sqrt((1 + spread^2) b) e; of fp and hb up to 64 dimensions they are half as dense in ln tau
 * below 0.02. Every number is a function of (seed, step, row), so a run can resume anywhere. Must
 * reproduce: draws of step 7 alone are those of step 7 in a run (tests/train/test_train.c). */
#include "train/trainer.h"

#include <heatball/random.h>
#include <math.h>

enum { SMALL_DIM = 3 };

/* A new order of the data when the step opens an epoch. */
static hb_status draw_order(hb_trainer *trainer)
{
    const uint64_t epoch = trainer->state.step / trainer->steps_per_epoch;
    if (trainer->order_epoch == epoch + 1) return HB_OK;
    trainer->order_epoch = epoch + 1;
    const uint64_t seed = trainer->settings.seed ^ UINT64_C(0x9e3779b97f4a7c15) * (epoch + 1);
    return hb_data_split(trainer->context, seed, trainer->n, trainer->order);
}

/* ln tau at a part in [0, 1) of the range [low, high]: uniform, but of another density below
 * HB_ANCHOR_TAU. */
static double draw_level(double low, double high, double density, double part)
{
    const double middle = fmin(log(HB_ANCHOR_TAU), high), below = middle - low;
    if (density == 1 || below <= 0) return low + (high - low) * part;
    const double x = part * (density * below + high - middle);
    return x < density * below ? low + x / density : middle + (x - density * below);
}

/* ln tau of rows first .. first+n-1 of a step with `total` of them. */
hb_status hb_draw_levels(hb_micro_batch *micro, int stream, size_t first, size_t total,
                         hb_rows *rows)
{
    const hb_trainer *trainer = micro->trainer;
    const hb_train_settings *s = &trainer->settings;
    const int anchors = stream == HB_STREAM_ANCHOR_TAU;
    const double low = log(anchors ? s->anchor_tau_min : s->tau_min), high = log(s->tau_max);
    const double focus = anchors ? 0 : s->tau_focus;
    const double density = anchors ? trainer->anchor_density : 1;
    HB_TRY(hb_random_uniform(&micro->alone, trainer->settings.seed,
                             HB_STREAM_TRAIN + (uint64_t)stream,
                             trainer->state.step * total + first, rows->n, micro->uniform));
    for (size_t i = 0; i < rows->n; i++) {
        double part = ((double)(first + i) + micro->uniform[i]) / (double)total;
        if (focus > 0) part += focus * sin(2 * M_PI * part) / (2 * M_PI);
        hb_model_level(trainer->model, exp(draw_level(low, high, density, part)), &rows->level[i]);
    }
    return HB_OK;
}

/* z of one row from the data's row and its noise. */
static void draw_place_row(const hb_trainer *trainer, size_t row, double reach, size_t i,
                           hb_rows *rows)
{
    const size_t d = (size_t)trainer->model->info.dim;
    const hb_noise_level *c = &rows->level[i];
    const double spread = reach * sqrt(c->b);
    rows->root[i] = sqrt(c->b);
    rows->weight[i] = 1;
    for (size_t j = 0; j < d; j++)
        rows->z[i * d + j] =
            c->a * trainer->z[row * d + j] + spread * (double)rows->noise[i * d + j];
    if (rows->labels) rows->labels[i] = trainer->labels[row];
}

hb_status hb_draw_noise(hb_micro_batch *micro, int stream, size_t first, size_t total,
                        hb_rows *rows)
{
    const hb_trainer *trainer = micro->trainer;
    const size_t d = (size_t)trainer->model->info.dim;
    return hb_random_normal_f32(
        &micro->alone, trainer->settings.seed, HB_STREAM_TRAIN + (uint64_t)stream,
        (trainer->state.step * total + first) * d, rows->n * d, rows->noise);
}

static hb_status draw_rows(hb_micro_batch *micro)
{
    const hb_trainer *trainer = micro->trainer;
    const size_t batch = (size_t)trainer->settings.batch;
    const uint64_t step = trainer->state.step, in_epoch = step % trainer->steps_per_epoch;
    hb_rows *rows = &micro->rows;
    HB_TRY(hb_draw_levels(micro, HB_STREAM_TAU, micro->first, batch, rows));
    HB_TRY(hb_draw_noise(micro, HB_STREAM_NOISE, micro->first, batch, rows));
    for (size_t i = 0; i < rows->n; i++)
        draw_place_row(trainer, trainer->order[(in_epoch * batch + micro->first + i) % trainer->n],
                       1, i, rows);
    for (size_t i = 0; i < rows->n && trainer->model->info.dim > SMALL_DIM; i++)
        rows->weight[i] = 1 / hb_model_data_share(trainer->model, &rows->level[i]);
    if (!rows->labels) return hb_target_average(micro);
    HB_TRY(hb_random_uniform(&micro->alone, trainer->settings.seed,
                             HB_STREAM_TRAIN + HB_STREAM_LABEL, step * batch + micro->first,
                             rows->n, micro->uniform));
    for (size_t i = 0; i < rows->n; i++)
        if (micro->uniform[i] < trainer->settings.label_dropout) rows->labels[i] = -1;
    return hb_target_average(micro);
}

static hb_status draw_anchors(hb_micro_batch *micro)
{
    const hb_trainer *trainer = micro->trainer;
    const size_t total = (size_t)trainer->settings.anchors, first = micro->first_anchor;
    const double spread = trainer->settings.anchor_spread, reach = sqrt(1 + spread * spread);
    hb_rows *rows = &micro->anchor;
    HB_TRY(hb_draw_levels(micro, HB_STREAM_ANCHOR_TAU, first, total, rows));
    HB_TRY(hb_draw_noise(micro, HB_STREAM_ANCHOR_NOISE, first, total, rows));
    HB_TRY(hb_random_uniform(&micro->alone, trainer->settings.seed,
                             HB_STREAM_TRAIN + HB_STREAM_ANCHOR_ROW,
                             trainer->state.step * total + first, rows->n, micro->uniform));
    for (size_t i = 0; i < rows->n; i++)
        draw_place_row(trainer, (size_t)(micro->uniform[i] * (double)trainer->n), reach, i, rows);
    return HB_OK;
}

const hb_row_source hb_rows_of_data = {.weight = 1,
                                       .create_micro_batch = hb_target_create,
                                       .begin = draw_order,
                                       .rows = draw_rows,
                                       .anchors = draw_anchors,
                                       .terms = hb_linear_terms};
