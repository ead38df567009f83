/* Denoising targets with less noise.
 *
 * The target of denoising score matching at z is -e/sqrt(b) of the one row z_0 that z was made
 * from. Any row of the data could have made it; the mean over all of them, weighted with how likely
 * they did,
 *     e* = sum_j w_j (z - a x_j)/sqrt(b),     w_j prop. to exp(-|z - a x_j|^2/(2b)),
 * is E[e | z], so the loss keeps its minimiser and loses the variance of e given z. With M < n
 * rows, the micro-batch's own rows among them, it is the stable target of Y. Xu, S. Tong, T.
 * Jaakkola, ICLR 2023, whose bias falls as 1/M; M = n is exact. With labels only rows of the same
 * label count. Both sums over rows are matrix products (float). A number to reproduce: two rows x =
 * -1, 1, a = 1, z = 0: e* = 0 whatever b is. */
#include "train/trainer.h"

#include <math.h>
#include <string.h>

typedef struct target_scratch {
    size_t most, stride; /* rows of data; rounded up for the kernels */
    float *rows;         // (stride, dim): 0 beyond `most`
    float *half_squares; // (stride): |x|^2/2
    int *labels;         // (most)
    float *weight;       // (count, stride): first z.x
    float *z, *mean;     // (count, dim)
} target_scratch;

hb_status hb_target_create(hb_micro_batch *micro)
{
    const hb_trainer *trainer = micro->trainer;
    const size_t d = (size_t)trainer->model->info.dim, count = micro->count;
    size_t most = (size_t)trainer->settings.target_rows > count
                      ? (size_t)trainer->settings.target_rows
                      : count;
    if (most > trainer->n) most = trainer->n;
    const size_t stride = (most + HB_SOFTMAX_GROUP - 1) / HB_SOFTMAX_GROUP * HB_SOFTMAX_GROUP;
    if ((size_t)trainer->settings.target_rows == 0) return HB_OK;
    target_scratch *work, made = {.most = most, .stride = stride};
    HB_TRY(HB_WORKSPACE(trainer->context, &micro->drawing_work, HB_ARRAY(work, 1),
                        HB_ARRAY(made.rows, stride * d), HB_ARRAY(made.half_squares, stride),
                        HB_ARRAY(made.labels, most), HB_ARRAY(made.weight, count * stride),
                        HB_ARRAY(made.z, count * d), HB_ARRAY(made.mean, count * d)));
    memset(made.rows, 0, stride * d * sizeof(float));
    for (size_t j = 0; j < stride; j++) made.half_squares[j] = INFINITY; /* of weight 0 */
    *work = made;
    micro->drawing = work;
    return HB_OK;
}

/* The window of the epoch's order that opens with the micro-batch's own rows. */
static void target_gather(const hb_micro_batch *micro, target_scratch *work)
{
    const hb_trainer *trainer = micro->trainer;
    const size_t d = (size_t)trainer->model->info.dim;
    const uint64_t first =
        trainer->state.step % trainer->steps_per_epoch * (uint64_t)trainer->settings.batch +
        micro->first;
    for (size_t j = 0; j < work->most; j++) {
        const size_t row = trainer->order[(first + j) % trainer->n];
        double sum = 0;
        for (size_t k = 0; k < d; k++) {
            const double x = trainer->z[row * d + k];
            work->rows[j * d + k] = (float)x;
            sum += x * x;
        }
        work->half_squares[j] = (float)(sum / 2);
        if (trainer->labels) work->labels[j] = trainer->labels[row];
    }
}

/* Row i: z.x becomes -|z - a x|^2/(2b) + |z|^2/(2b), then w. */
static void target_weigh(const hb_micro_batch *micro, target_scratch *work, size_t i)
{
    const hb_noise_level *c = &micro->rows.level[i];
    const int label = micro->rows.labels ? micro->rows.labels[i] : -1;
    const float by_product = (float)(c->a / c->b), by_square = (float)(c->a * c->a / c->b);
    float *restrict weight = work->weight + i * work->stride;
    const float *restrict half_squares = work->half_squares;
    for (size_t j = 0; j < work->stride; j++)
        weight[j] = by_product * weight[j] - by_square * half_squares[j];
    for (size_t j = 0; label >= 0 && j < work->most; j++)
        if (work->labels[j] != label) weight[j] = -INFINITY;
    hb_net_kernels_of(micro->alone.isa)->softmax(work->stride, weight);
}

hb_status hb_target_average(hb_micro_batch *micro)
{
    const size_t d = (size_t)micro->trainer->model->info.dim;
    target_scratch *work = micro->drawing;
    if (!work) return HB_OK;
    hb_rows *rows = &micro->rows;
    const hb_net_layer products = {.in = d, .out = work->stride};
    target_gather(micro, work);
    for (size_t i = 0; i < rows->n * d; i++) work->z[i] = (float)rows->z[i];
    HB_TRY(hb_net_to_outputs(&micro->alone, &products, rows->n, work->rows, work->z, work->weight));
    for (size_t i = 0; i < rows->n; i++) target_weigh(micro, work, i);
    HB_TRY(hb_net_to_inputs(&micro->alone, &products, rows->n, work->rows, work->weight, 0,
                            work->mean));
    for (size_t i = 0; i < rows->n; i++) {
        const hb_noise_level *c = &rows->level[i];
        for (size_t k = i * d; k < (i + 1) * d; k++)
            rows->noise[k] = (float)((rows->z[k] - c->a * (double)work->mean[k]) / sqrt(c->b));
    }
    return HB_OK;
}
