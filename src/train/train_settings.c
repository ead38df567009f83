/* The settings of a training, once: names, defaults, ranges and meaning of all fields of
 * hb_train_settings, in their order. Checks, checkpoints, the options of `heatball train` and the
 * keywords of Python follow from these rows.
 *
 * RESULT: the weights depend on the field, so a checkpoint of another value is refused. ASIDE: they
 * do not, or the checkpoint has it in another form (the drift, the steps of the epochs). A field
 * without a row is found by tests/python/test_settings.py. */
#define SETTINGS hb_train_settings
#include "base/setting_rows.h"
#include "net/model_file.h"
#include "train/trainer.h"

#include <math.h>

enum { MOST_ROWS = 1 << 20 };

static const char *const *standardise_names(void)
{
    static const char *const names[] = {
        [HB_STANDARDISE_NO] = "no",     [HB_STANDARDISE_COMMON] = "common",
        [HB_STANDARDISE_AXIS] = "axis", [HB_STANDARDISE_MAPS] = "maps",
        [HB_STANDARDISE_AUTO] = "auto", NULL};
    return names;
}

static const hb_setting rows[] = {
    CHOICE(loss, RESULT, HB_LOSS_HB, "hb", hb_loss_names,
           "the loss: denoising score matching alone, with the Fokker-Planck residual, with the "
           "heat-ball residual, or with the paper's heat-ball loss as printed; the residuals make "
           "log-densities normalised and the weights of modes right, and keep a network from "
           "memorising few samples; the score gains in low density for tau of 0.1 and more"),
    CHOICE(head, RESULT, HB_HEAD_ENERGY, "energy", hb_head_names,
           "what the network gives: the score, ln u with the score as its gradient, or (two "
           "dimensions) a gradient and a rotation"),
    CHOICE(process, RESULT, HB_PROCESS_OU, "ou", hb_process_names,
           "the process that makes noise of the data"),
    POINTER(drift, "F(x) of dx = F dtau + sqrt(2) dW"),
    NUMBER(width, RESULT, 256, 1, 65536, "width of the hidden layers"),
    NUMBER(depth, RESULT, 3, 1, 1000, "number of hidden layers"),
    FLAG(skip, RESULT, "add the input of a hidden layer to its output"),
    NUMBER(time_features, RESULT, 8, 1, 256, "numbers that ln tau is given to the network as"),
    NUMBER(epochs, ASIDE, 600, 1, 1e9, "times that every row is seen"),
    NUMBER(batch, RESULT, 256, 1, MOST_ROWS, "rows of a step"),
    NUMBER(steps, RESULT, 0, 0, 0, "steps of the optimiser, instead of epochs"),
    NUMBER(max_time, ASIDE, 0, 0, 1e12,
           "end after so many seconds of training, if the steps have not ended it; 0: never"),
    NUMBER(rate, RESULT | ABOVE, 0.002, 0, 10, "peak learning rate of Adam, with a cosine to 0"),
    NUMBER(ema, RESULT | BELOW, 0.998, 0, 1,
           "decay of the averaged weights, which are what the model has"),
    NUMBER(clip_gradient, RESULT, 1, 0, 1e30, "largest norm of a gradient; 0: none"),
    NUMBER(tau_min, RESULT | ABOVE, 0.001, 0, 1e6, "smallest tau of the training"),
    NUMBER(tau_max, RESULT | ABOVE, 3, 0, 1e6, "largest tau of the training"),
    NUMBER(tau_focus, RESULT, 0, 0, 0.9,
           "more rows around the middle of ln tau, 1/(1-F) times as many there"),
    NUMBER(weight, RESULT, NAN, 0, 1e9,
           "weight of the constraint of fp, hb or hb-paper; default: that of its recipe"),
    NUMBER(warmup, RESULT, 0.1, 0, 1, "fraction of the steps without the constraint"),
    NUMBER(ramp, RESULT, 0.3, 0, 1, "fraction of the steps over which its weight then rises"),
    NUMBER(time_fraction, RESULT | ABOVE | BELOW, NAN, 0, 1,
           "hb: fraction f of the time before an anchor that its ball reaches back, r^2 = 4 pi f "
           "tau; default: 0.16/d but at most 0.03, and 0.128/d above 64 dimensions"),
    SHOWN(sigma_max, RESULT | ABOVE, "1/(4 pi)", 1 / (4 * M_PI), 1e-3, 0.0796,
          "hb-paper: largest sigma of the unit ball that is used"),
    NUMBER(
        anchors, RESULT, 0, 0, MOST_ROWS,
        "points of a step where the constraint is taken; 0: 64, but for hb in up to 64 dimensions "
        "576/(2d+1) at most, and not below 16 or 1040/(2d+1), above 64, or 2 with a head other "
        "than energy; with those below tau = 0.02 on top"),
    NUMBER(anchor_spread, RESULT, NAN, 0, 100,
           "anchors are data with 1 + spread^2 times the noise's variance; default: 1, and 0 "
           "above 64 dimensions"),
    NUMBER(nodes, RESULT, 8, 1, 4096,
           "probes of fp above 3 dimensions, nodes of a ball of hb around its centre above 64"),
    NUMBER(target_rows, RESULT, -1, -1, MOST_ROWS,
           "rows that a denoising target is the mean over, 0 for the row itself; -1: 512 for hb in "
           "up to 64 dimensions, else 0"),
    CHOICE(standardise, RESULT, HB_STANDARDISE_BY_KIND, "by their kind", standardise_names,
           "shift the data to mean 0 and scale them"),
    NUMBER(label_dropout, RESULT, 0.1, 0, 1, "fraction of rows that are shown without their label"),
    NUMBER(seed, RESULT, 42, 0, 0,
           "seed of the random numbers; the same seed gives bit-identical results"),
    NUMBER(image_height, ASIDE, 0, 0, 0, "rows of pixels of an image; 0: the data are not images"),
    NUMBER(image_width, ASIDE, 0, 0, 0, "pixels of a row of an image"),
    NUMBER(pixel_low, ASIDE, 0, 0, 0, "value of black"),
    NUMBER(pixel_high, ASIDE, 0, 0, 0, "value of white"),
    POINTER(columns, "names of the columns of the data"),
    FLAG(half, ASIDE, "round the weights at the end to 16 bits: a file of half the size"),
    POINTER(checkpoint, "the file that keeps the state"),
    NUMBER(checkpoint_every, ASIDE, 0, 0, 1e9, "epochs between two checkpoints; 0: none between"),
    FLAG(resume, ASIDE, "resume from the checkpoint if it is there; start anew if not"),
    POINTER(log, "a .csv file of the losses during the training"),
    POINTER(watch, "called during the training"),
    POINTER(watch_user, "handed to watch"),
    NUMBER(watch_every, ASIDE, 0, 0, 0, "steps between two calls of watch"),
    NUMBER(anchor_tau_min, RESULT, 0, 0, 1e6,
           "smallest tau of the anchors, which are half as dense below 0.02; 0: tau_min, and 0.02 "
           "with "
           "a head other than energy"),
    NUMBER(constraint_every, RESULT, 0, 0, 1e6,
           "take the constraint in every K-th step only, with K times its weight; 0: 1, above 16 "
           "dimensions 4 for fp and hb"),
    FLAG(as_typed, ASIDE,
         "the process is the SDE of the drift's problem, with its noise and in its time"),
    {0}};

SETTING_FUNCTIONS(train, rows)

/* With steps the epochs do not count. */
hb_status hb_train_settings_check(hb_context *context, hb_train_settings *s)
{
    if (s->steps > 0) s->epochs = 1;
    HB_TRY(hb_setting_rows_check(context, rows, s));
    HB_CHECK(context, s->anchor_tau_min < s->tau_max, HB_ERROR_ARGUMENT,
             "anchor_tau_min is %g; it must be below tau_max, which is %g", s->anchor_tau_min,
             s->tau_max);
    HB_CHECK(context, !s->resume || s->checkpoint, HB_ERROR_ARGUMENT,
             "resume needs the name of a checkpoint");
    return HB_OK;
}

size_t hb_train_settings_print(const hb_train_settings *settings, size_t size, char *out)
{
    return hb_setting_rows_print(rows, settings, size, out);
}
