/* The options of `heatball generate`, and the settings that they make.
 *
 * Kinds, ranges and defaults are those of the library (hb_generate_setting), but for the steps of Heun's method: 50
 * instead of 500, since each is of order 2 and costs two evaluations, and for the last step of a model of
 * images: the mean, since pixels have no width of their own (docs/generation.md). */
#include "generate.h"

#include <math.h>

enum { STEPS_HEUN = 50, CLIP_NO = 0 };

static const char *const clip_names[] = {"no", "yes", NULL};

#define VALUES hb_generate_values
#define SETTING(option, value, member)                                                             \
    HB_OPTION_SETTING(hb_generate, option, value, member, .rules = 0)
/* The default is not filled in, so that one sees whether it was given; with a help text of its own. */
#define TOLD(option, value, member, ...)                                                           \
    HB_OPTION_SETTING(hb_generate, option, value, member, .rules = HB_OPTION_OPEN,                 \
                      .help = __VA_ARGS__)

const hb_option hb_generate_options[] = {
    HB_OPTION(TEXT, NULL, "MODEL", model, "a model file, as heatball train writes it",
              .rules = HB_OPTION_REQUIRED | HB_OPTION_POSITIONAL),
    HB_OPTION(UNSIGNED, NULL, "N", n, "number of samples", .letter = 'n',
              .rules = HB_OPTION_REQUIRED, .min = 1, .max = 1e12),
    SETTING("solver", NULL, solver),
    TOLD("n-steps", "K", n_steps, "steps of sde and heun; default: 500 of sde and 50 of heun"),
    SETTING("n-correct", "K", n_correct),
    SETTING("snr", "R", snr),
    HB_OPTION_SETTING(hb_generate, "det-tau", "T", det_tau, .max = 1e6),
    TOLD("denoise", NULL, denoise,
         "what is done with the noise that is left at the end: nothing, the mean of what it may "
         "hide, or a last step of the ODE; default: mean for a model of images, flow for others"),
    HB_OPTION(
        CHOICE, "clip", NULL, clip,
        "images: keep the mean that every step heads for between black and white; default: yes",
        .choices = clip_names),
    TOLD("tau-min", "T", tau_min,
         "the tau at which the way ends; default: the least that the model was trained at"),
    SETTING("tolerance", "E", tolerance),
    HB_OPTION(INTEGER, "label", "L", label,
              "the class of all samples, of a model that has classes; -1: none", .min = -1,
              .max = 1000000, .fallback = "-1"),
    HB_OPTION(FLAG, "each-label", NULL, each_label,
              "sample 0 has class 0, the next one class 1, and so on, around and around"),
    HB_OPTION(UNSIGNED, "first", "I", first,
              "index of the first sample, to continue where another file ended", .fallback = "0"),
    SETTING("seed", "S", seed),
    HB_OPTION(INTEGER, "columns", "K", columns,
              "pictures of images: how many in a row; default: about as many as rows", .min = 1,
              .max = 1000),
    HB_OPTION(TEXT, "real", "NAME|FILE", real,
              "pictures of images: odd rows show real test images of this set, even rows samples"),
    HB_OPTION(REALS, "grey", "LOW,HIGH", grey,
              "images: the values that are drawn black and white; default: 0,1"),
    HB_OPTION_JSON,
    HB_OPTION(TEXT, NULL, "FILE", path,
              "the file to write, .npy, .csv or .png by its name; a .png shows two-dimensional "
              "samples as dots, and square images of 64 pixels or more on a grid",
              .letter = 'o', .rules = HB_OPTION_REQUIRED | HB_OPTION_WRITES | HB_OPTION_FIGURE),
    HB_OPTION(TEXT, "plot", "FILE", plot,
              "draw the samples of a two-dimensional model into this file too, .svg, .png or .pdf "
              "by its name",
              .rules = HB_OPTION_FIGURE),
    {0}};

void hb_generate_options_apply(const hb_generate_values *v, const hb_model_info *info,
                               hb_generate_settings *s)
{
    hb_generate_settings_default(sizeof *s, s);
    s->tau_min = info->tau_min;
    s->tau_max = info->tau_max;
    if (info->image_height > 0) s->denoise = HB_DENOISE_MEAN;
    hb_options_settings(hb_generate_options, v, s);
    if (!v->settings.n_steps && s->solver == HB_SOLVER_HEUN) s->n_steps = STEPS_HEUN;
    if (v->clip == CLIP_NO) s->low = -INFINITY, s->high = INFINITY;
}
