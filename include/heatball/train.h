/* heatball/train.h: learning a score: denoising score matching, FP-Diffusion, the heat-ball loss.
 * First tier: for users.
 *
 *     dsm       E |sqrt(b) s(z_tau,tau) + noise|^2/dim,   z_tau = a z_0 + sqrt(b) noise
 *     fp        dsm + weight * the pointwise Fokker-Planck residual (score head: its vector form)
 *     hb        dsm + weight * the heat-ball residual, values only, in coordinates without drift
 *     hb-paper  dsm + weight * the paper's loss as printed, without its source
 * docs/explanation/losses.md has the formulas, docs/explanation/training.md the loop. */
#ifndef HEATBALL_TRAIN_H
#define HEATBALL_TRAIN_H

#include <heatball/model.h>
#include <heatball/problem.h>
#include <heatball/settings.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hb_loss { HB_LOSS_DSM, HB_LOSS_FP, HB_LOSS_HB, HB_LOSS_HB_PAPER } hb_loss;
/* All losses by name, in the order of their values: "dsm", "fp", "hb", "hb-paper", NULL. */
HB_API const char *const *hb_loss_names(void);

/* Called while training; loss is its mean over about the last 50 steps; model has the averaged
 * weights of the moment and lives until the call returns. A non-zero return ends the training as an
 * interrupt does. */
typedef int (*hb_train_watch)(void *user, const hb_model *model, uint64_t step, double loss);

typedef struct hb_train_settings {
    size_t size; /* set by hb_train_settings_default */
    int loss;    /* hb_loss; default HB_LOSS_HB */
    int head;    /* hb_head; default HB_HEAD_ENERGY */
    int process; /* hb_process; default HB_PROCESS_OU */
    /* HB_PROCESS_DRIFT: dx = F(x) dtau + sqrt(2) dW with the drift of this problem (of text or a
     * problem file, without t; its initial density does not count), or its SDE (as_typed). Kept by
     * the model as text. */
    const hb_problem *drift;
    int width, depth, skip, time_features; /* 256, 3, 0, 8 */
    int epochs;                            /* 600 */
    int batch;                             /* 256 */
    uint64_t steps;          /* instead of epochs; 0 (default): epochs * ceil(n/batch) */
    double max_time;         /* seconds of training after which it ends; 0 (default): none */
    double rate;             /* peak learning rate, with a cosine to 0; 2e-3 */
    double ema;              /* decay of the averaged weights; 0.998 */
    double clip_gradient;    /* largest norm of the gradient; 0: none; default 1 */
    double tau_min, tau_max; /* 1e-3, 3; log-uniform */
    double tau_focus;        /* more rows around the middle of ln tau: 0 (default) to 0.9 */
    double weight;           /* of the constraint; NaN (default): of the loss's own recipe */
    double warmup, ramp;     /* fractions of the steps without constraint, then rising; 0.1, 0.3 */
    double
        time_fraction; /* f: r^2 = 4 pi f s0; NaN (default): by dim, docs/explanation/losses.md */
    double sigma_max;  /* hb-paper: sigma in [1e-3, sigma_max] of the unit ball; 1/(4 pi) */
    int anchors;       /* of the constraint, per step; 0 (default): 64, of hb by dim */
    /* anchors are data with (1 + spread^2) times the noise's variance; NaN (default): 1, and 0
     * above 64 dimensions */
    double anchor_spread;
    int nodes; /* probes of fp where dim > 3, nodes of a ball around its centre where dim > 64; 8 */
    /* Rows of data that a denoising target is the mean over (docs/explanation/losses.md); 0: the row itself; -1
     * (default): of the loss's own recipe, 512 for hb with dim <= 64, else 0. */
    int target_rows;
    /* hb_standardise: the data's shift and scales; BY_KIND is the default */
    int standardise;
    double label_dropout; /* fraction of rows that are shown without their label; 0.1 */
    uint64_t seed;        /* 42 */
    /* Of rows that are images, for the model to keep: sides with height*width = dim, and the values
     * of black and white, low < high; 0 (default): not images. */
    int image_height, image_width;
    double pixel_low, pixel_high;
    /* Names of the columns of the data for the model to keep, dim texts, each ended by a zero, one
     * after the other (as hb_data_read_named gives them), UTF-8, each of at most 200 bytes; NULL
     * (default): none. */
    const char *columns;
    int half;               /* 1: round the weights of the result to 16 bits; 0 (default) */
    const char *checkpoint; /* file; NULL (default): none */
    int checkpoint_every;   /* epochs; 0 (default): at the end or an interrupt only */
    int resume;             /* resume from `checkpoint` if it is there */
    const char *log;        /* .csv of step, losses, norm, rate, seconds; NULL (default): none */
    /* Called every watch_every steps and after the last; NULL (default): never. Does not change
     * the weights; not part of a checkpoint. */
    hb_train_watch watch;
    void *watch_user;
    uint64_t watch_every;
    /* Smallest tau of the points where the constraint is taken, half as dense below 0.02; 0
     * (default): tau_min, and 0.02 with a head other than energy. */
    double anchor_tau_min;
    /* The constraint is taken in every so many-th step only, with so many times its weight; 0
     * (default): of the loss's own recipe. */
    int constraint_every;
    /* 1: of HB_PROCESS_DRIFT, the process is dx = f dt + G dW with drift and noise of the problem
     * as they are typed: data and all that the model gives are in x, and its tau is t. G may be
     * what a change of coordinates makes one number (docs/reference/which-sdes.md), without t. 0 (default):
     * dx = F dtau + sqrt(2) dW with the normalised drift. */
    int as_typed;
} hb_train_settings;

HB_API void hb_train_settings_default(size_t size, hb_train_settings *settings);
/* Row `index` of the table of these fields, in their order; NULL behind the last. */
HB_API const hb_setting *hb_train_setting(size_t index);
/* data[n][dim], n >= 2, finite; labels[n] 0 .. classes-1 (may be NULL with classes 0). The model
 * has the averaged weights. The same data, settings and kind of processor give bit-identical
 * weights on any number of threads, and in one run or resumed. HB_ERROR_NUMERICAL names the
 * step when a gradient is not finite; HB_ERROR_INTERRUPTED when the progress callback asks to stop:
 * the checkpoint is written first. */
HB_API hb_status hb_train(hb_context *context, const hb_train_settings *settings, int dim,
                          int classes, size_t n, const double *data, const int *labels,
                          hb_model **out);

/* Whether the noise at the model's tau_max joins the modes of the data x[n][dim] (OU and VE; 0
 * under a drift). gap: the widest gap between two groups of samples, over the standard deviation of
 * that noise. *tau is the smallest tau_max at which it is 6: a training with a smaller one cannot
 * determine the relative weights of the groups. */
HB_API hb_status hb_model_mode_gap(hb_context *context, const hb_model *model, size_t n,
                                   const double *x, double *gap, double *tau);

#ifdef __cplusplus
}
#endif
#endif
