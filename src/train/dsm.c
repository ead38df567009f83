/* Denoising score matching (P. Vincent, A connection between score matching and denoising
 * autoencoders, Neural Computation 23, 2011), for every head:
 *     L = mean over rows of |sqrt(b) s(z,tau) + e|^2/dim,   z = a z_0 + sqrt(b) e,
 * since grad ln p(z | z_0) = -e/sqrt(b), weighted with the variance b of the noise. Its minimiser
 * is the score of the noisy data. From it dL/ds = 2 sqrt(b) (sqrt(b) s + e)/(dim B). Above 3
 * dimensions a row of data counts 1/g (draw.c), g what the Gaussian reference alone leaves at its
 * tau (net/model_axes.c): every tau then starts with a loss of 1, where it fell as g to a hundredth
 * at those tau where the shape of an image is decided. A number to reproduce: s = 0 gives L = 1 on
 * average in the plane. */
#include "train/trainer.h"

hb_status hb_dsm_add(hb_micro_batch *micro)
{
    const hb_trainer *trainer = micro->trainer;
    const size_t d = (size_t)trainer->model->info.dim;
    const double per_number = 1 / ((double)d * trainer->settings.batch);
    const hb_rows *rows = &micro->rows;
    const float *parameters = trainer->model->parameters;
    const hb_points points = {rows->n, rows->z, rows->level, rows->labels};
    HB_TRY(hb_model_tape_forward(micro->tape, parameters, &points, NULL, micro->score));
    double sum = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const double root = rows->root[i], share = per_number * rows->weight[i];
        for (size_t j = i * d; j < (i + 1) * d; j++) {
            const double miss = root * (double)micro->score[j] + (double)rows->noise[j];
            sum += share * miss * miss;
            micro->score_cotangent[j] = (float)(2 * share * root * miss);
        }
    }
    micro->losses[HB_LOSS_OF_DSM] += sum;
    return hb_model_tape_backward(micro->tape, parameters, NULL, micro->score_cotangent, 0,
                                  micro->gradient);
}

const hb_loss_ops hb_loss_dsm = {NULL, NULL, NULL};
