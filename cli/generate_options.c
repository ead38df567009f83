/* The options of `heatball generate`, and the settings that they make.
 *
 * Kinds, ranges and defaults are those of the library (hb_generate_setting), but for the steps of Heun's method: 50
 * instead of 500, since each is of order 2 and costs two evaluations, and for the last step of a model of
 * images: the mean, since pixels have no width of their own (docs/generation.md). */
#include "generate_options.h"

#include <math.h>

enum { STEPS_HEUN = 50, CLIP_NO = 0 };

static const char *const clip_names[] = {"no", "yes", NULL};

#define OF(member) HB_OPTION_BY(hb_generate, member)
#define SETTING(option, value, member) HB_OPTION_SETTING(hb_generate, option, value, 0, member)

const hb_option hb_generate_options[] = {
    {.kind = HB_OPTION_TEXT,
     .placeholder = "MODEL",
     .help = "a model file, as heatball train writes it",
     .rules = HB_OPTION_REQUIRED | HB_OPTION_POSITIONAL,
     .offset = offsetof(hb_generate_values, model)},
    {.letter = 'n',
     .kind = HB_OPTION_UNSIGNED,
     .placeholder = "N",
     .help = "number of samples",
     .min = 1,
     .max = 1e12,
     .rules = HB_OPTION_REQUIRED,
     .offset = offsetof(hb_generate_values, n)},
    SETTING("solver", NULL, solver),
    {.name = "n-steps",
     .placeholder = "K",
     .help = "steps of sde and heun; without it, 500 of sde and 50 of heun",
     .rules = HB_OPTION_OPEN,
     OF(n_steps)},
    SETTING("n-correct", "K", n_correct),
    SETTING("snr", "R", snr),
    {.name = "det-tau", .placeholder = "T", .max = 1e6, OF(det_tau)},
    {.name = "denoise",
     .help = "what is done with the noise that is left at the end: nothing, the mean of what it "
             "may hide, or a last step of the ODE; without it, mean for a model of images, flow "
             "for others",
     .rules = HB_OPTION_OPEN,
     OF(denoise)},
    {.name = "clip",
     .kind = HB_OPTION_CHOICE,
     .help = "images: keep the mean that every step heads for between black and white; without it, "
             "yes",
     .choices = clip_names,
     .offset = offsetof(hb_generate_values, clip)},
    {.name = "tau-min",
     .placeholder = "T",
     .help = "the tau at which the way ends; without it, the least that the model was trained at",
     .rules = HB_OPTION_OPEN,
     OF(tau_min)},
    SETTING("tolerance", "E", tolerance),
    {.name = "label",
     .kind = HB_OPTION_INTEGER,
     .placeholder = "L",
     .help = "the class of all samples, of a model that has classes; -1: none",
     .min = -1,
     .max = 1000000,
     .fallback = "-1",
     .offset = offsetof(hb_generate_values, label)},
    {.name = "each-label",
     .kind = HB_OPTION_FLAG,
     .help = "sample 0 has class 0, the next one class 1, and so on, around and around",
     .offset = offsetof(hb_generate_values, each_label)},
    {.name = "first",
     .kind = HB_OPTION_UNSIGNED,
     .placeholder = "I",
     .help = "index of the first sample, to go on where another file ended",
     .fallback = "0",
     .offset = offsetof(hb_generate_values, first)},
    SETTING("seed", "S", seed),
    {.name = "columns",
     .kind = HB_OPTION_INTEGER,
     .placeholder = "K",
     .help = "pictures of images: how many in a row; without it about as many as rows",
     .min = 1,
     .max = 1000,
     .offset = offsetof(hb_generate_values, columns)},
    {.name = "real",
     .kind = HB_OPTION_TEXT,
     .placeholder = "NAME|FILE",
     .help = "pictures of images: odd rows show real test images of this set, even rows samples",
     .offset = offsetof(hb_generate_values, real)},
    {.name = "grey",
     .kind = HB_OPTION_REALS,
     .placeholder = "LOW,HIGH",
     .help = "images: the values that are drawn black and white; without it, 0,1",
     .offset = offsetof(hb_generate_values, grey)},
    HB_OPTION_JSON(hb_generate_values, json),
    {.letter = 'o',
     .kind = HB_OPTION_TEXT,
     .placeholder = "FILE",
     .help = "the file to write, .npy, .csv or .png by its name; a .png shows samples of the plane "
             "as dots, "
             "and square images of 64 pixels or more on a grid",
     .rules = HB_OPTION_REQUIRED | HB_OPTION_WRITES | HB_OPTION_FIGURE,
     .offset = offsetof(hb_generate_values, path)},
    {.name = "plot",
     .kind = HB_OPTION_TEXT,
     .placeholder = "FILE",
     .help = "draw the samples of a model of the plane into this file too, .svg, .png or .pdf by "
             "its name",
     .rules = HB_OPTION_FIGURE,
     .offset = offsetof(hb_generate_values, plot)},
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
