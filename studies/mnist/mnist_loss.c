/* The held-out denoising loss of a model, E |sqrt(b) s + e|^2/dim over images that it has not seen:
 * its minimiser is the exact score, so that less is better without any doubt. Over test images and
 * tau, log-uniform and stratified, for all tau and by bands; or over given images at given tau.
 *
 * Must reproduce: the score of pure noise, s = -z, has the loss 0 as tau grows (a digit is gone at
 * tau 5). */
#include "mnist.h"

#include <heatball/random.h>
#include <math.h>
#include <stdlib.h>

enum { PIXELS = MNIST_SIDE * MNIST_SIDE };
#define LOSS_STREAM UINT64_C(77) /* of the noise */

const double hb_mnist_bands[MNIST_BANDS + 1] = {5e-3, 0.03, 0.15, 0.6, 3};
const double hb_mnist_taus[MNIST_TAUS] = {0.05, 0.1, 0.3, 1};

typedef struct loss_scratch {
    double *x, *noise, *score, *square, *zero; // (n, PIXELS) three times, (n), (2, PIXELS)
} loss_scratch;

/* Row i gets the image i with noise of tau[i]. */
static void disturb(const hb_model_info *info, size_t n, const double *pixels, const double *tau,
                    loss_scratch *r)
{
    const int ou = info->process == HB_PROCESS_OU;
    for (size_t i = 0; i < n; i++) {
        const double a = ou ? exp(-tau[i]) : 1, b = ou ? 1 - a * a : 2 * tau[i];
        for (size_t k = 0; k < PIXELS; k++) {
            const double shift = -info->scale * r->zero[k];
            const double z = (pixels[i * PIXELS + k] - shift) / info->scale;
            r->x[i * PIXELS + k] =
                shift + info->scale * (a * z + sqrt(b) * r->noise[i * PIXELS + k]);
        }
    }
}

/* square[i]: the loss of row i. */
static void measure(const hb_model_info *info, size_t n, const double *tau, loss_scratch *r)
{
    for (size_t i = 0; i < n; i++) {
        const double b = info->process == HB_PROCESS_OU ? -expm1(-2 * tau[i]) : 2 * tau[i];
        r->square[i] = 0;
        for (size_t k = i * PIXELS; k < (i + 1) * PIXELS; k++) {
            const double away = sqrt(b) * info->scale * r->score[k] + r->noise[k];
            r->square[i] += away * away / PIXELS;
        }
    }
}

/* square[n]: of the images with noise of tau[n]; noise from the place `first` of its stream on. */
static hb_status row_losses(hb_mnist *m, const hb_model *model, size_t n, const double *pixels,
                            const int *labels, const double *tau, uint64_t first, double *square)
{
    hb_model_info info;
    hb_model_info_get(model, sizeof info, &info);
    double *at;
    HB_TRY(HB_STUDY_NEW(m->context, at, 3 * n * PIXELS + 2 * PIXELS));
    loss_scratch r = {at, at + n * PIXELS, at + 2 * n * PIXELS, square, at + 3 * n * PIXELS};
    hb_model_standardise(model, 1, r.zero + PIXELS, r.zero); /* of black: -shift/scale */
    hb_status status = hb_random_normal(m->context, m->size.seed, LOSS_STREAM, first * PIXELS,
                                        n * PIXELS, r.noise);
    if (status == HB_OK) {
        disturb(&info, n, pixels, tau, &r);
        status =
            hb_model_score(m->context, model, n, r.x, tau, info.classes ? labels : NULL, r.score);
    }
    if (status == HB_OK) measure(&info, n, tau, &r);
    free(at);
    return status;
}

static void average_loss(size_t n, const double *tau, const double *square, double *value)
{
    double sum[MNIST_BANDS] = {0}, count[MNIST_BANDS] = {0}, all = 0;
    for (size_t i = 0; i < n; i++) {
        int band = 0;
        while (band < MNIST_BANDS - 1 && tau[i] >= hb_mnist_bands[band + 1]) band++;
        sum[band] += square[i];
        count[band] += 1;
        all += square[i] / (double)n;
    }
    value[MNIST_LOSS] = all;
    for (int band = 0; band < MNIST_BANDS; band++)
        value[MNIST_LOSS_BAND + band] = sum[band] / count[band];
}

hb_status hb_mnist_judge_loss(hb_mnist *m, const hb_model *model, double value[MNIST_VALUES])
{
    void *memory;
    const size_t n = m->size.held < m->test.count ? m->size.held : m->test.count;
    const double low = log(hb_mnist_bands[0]), high = log(hb_mnist_bands[MNIST_BANDS]);
    HB_TRY(hb_study_allocate(m->context, 2 * n, sizeof(double), &memory));
    double *tau = memory, *square = tau + n;
    for (size_t i = 0; i < n; i++) {
        /* parts in an order that has nothing to do with that of the images */
        const size_t part = (i * 7919 + 5) % n;
        tau[i] = exp(low + (high - low) * ((double)part + 0.5) / (double)n);
    }
    const hb_status status =
        row_losses(m, model, n, m->test.pixels, m->test.labels, tau, 0, square);
    if (status == HB_OK) average_loss(n, tau, square, value);
    free(memory);
    return status;
}

hb_status hb_mnist_loss_at(hb_mnist *m, const hb_model *model, size_t n, const double *pixels,
                           double loss[MNIST_TAUS])
{
    void *memory;
    HB_TRY(hb_study_allocate(m->context, 2 * n, sizeof(double), &memory));
    double *tau = memory, *square = tau + n;
    hb_status status = HB_OK;
    for (int t = 0; t < MNIST_TAUS && status == HB_OK; t++) {
        for (size_t i = 0; i < n; i++) tau[i] = hb_mnist_taus[t];
        status = row_losses(m, model, n, pixels, NULL, tau, (uint64_t)t * n, square);
        loss[t] = 0;
        for (size_t i = 0; i < n; i++) loss[t] += square[i] / (double)n;
    }
    free(memory);
    return status;
}
