/* The options of `heatball generate`, and the settings that they make.
 *
 * Defaults are those of the library (hb_generate_settings_default), but for the steps of Heun's method: 50
 * instead of 500, since each is of order 2 and costs two evaluations, and for the last step of a model of
 * images: the mean, since pixels have no width of their own (docs/generation.md). */
#include "generate_options.h"

#include <math.h>

enum { STEPS_SDE = 500, STEPS_HEUN = 50, CLIP_NO = 0 };

const char *const hb_generate_solvers[] = {"sde", "ode", "heun", NULL};
static const hb_solver solver_codes[] = {HB_SOLVER_SDE, HB_SOLVER_ODE, HB_SOLVER_HEUN};
const char *const hb_generate_denoises[] = {"none", "mean", "flow", NULL};
static const char *const clip_names[] = {"no", "yes", NULL};
static const hb_denoise denoise_codes[] = {HB_DENOISE_NONE, HB_DENOISE_MEAN, HB_DENOISE_FLOW};

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
    {.name = "solver",
     .kind = HB_OPTION_CHOICE,
     .help =
         "the reverse-time SDE, the probability-flow ODE with adaptive steps, or the same ODE by "
         "Heun's method on EDM's grid",
     .choices = hb_generate_solvers,
     .fallback = "sde",
     .offset = offsetof(hb_generate_values, solver)},
    {.name = "n-steps",
     .kind = HB_OPTION_INTEGER,
     .placeholder = "K",
     .help = "steps of sde and heun; without it, 500 of sde and 50 of heun",
     .min = 1,
     .max = 1000000,
     .offset = offsetof(hb_generate_values, n_steps)},
    {.name = "n-correct",
     .kind = HB_OPTION_INTEGER,
     .placeholder = "K",
     .help = "sde: Langevin steps after each step",
     .min = 0,
     .max = 4000,
     .fallback = "1",
     .offset = offsetof(hb_generate_values, n_correct)},
    {.name = "snr",
     .kind = HB_OPTION_REAL,
     .placeholder = "R",
     .help = "sde: size of a Langevin step, 2 R^2 times the noise's variance",
     .max = 1,
     .rules = HB_OPTION_BELOW,
     .fallback = "0.16",
     .offset = offsetof(hb_generate_values, snr)},
    {.name = "det-tau",
     .kind = HB_OPTION_REAL,
     .placeholder = "T",
     .help = "sde: from this tau on the way is that of the ODE, without noise; 0: never",
     .max = 1e6,
     .fallback = "0.15",
     .offset = offsetof(hb_generate_values, det_tau)},
    {.name = "denoise",
     .kind = HB_OPTION_CHOICE,
     .help = "what is done with the noise that is left at the end: nothing, the mean of what it "
             "may hide, or a last step of the ODE; without it, mean for a model of images, flow "
             "for others",
     .choices = hb_generate_denoises,
     .offset = offsetof(hb_generate_values, denoise)},
    {.name = "clip",
     .kind = HB_OPTION_CHOICE,
     .help = "images: keep the mean that every step heads for between black and white; without it, "
             "yes",
     .choices = clip_names,
     .offset = offsetof(hb_generate_values, clip)},
    {.name = "tau-min",
     .kind = HB_OPTION_REAL,
     .placeholder = "T",
     .help = "the tau at which the way ends; without it, the least that the model was trained at",
     .max = 1e6,
     .rules = HB_OPTION_ABOVE,
     .offset = offsetof(hb_generate_values, tau_min)},
    {.name = "tolerance",
     .kind = HB_OPTION_REAL,
     .placeholder = "E",
     .help = "ode: error of a step in every coordinate",
     .min = 1e-12,
     .max = 0.1,
     .fallback = "1e-5",
     .offset = offsetof(hb_generate_values, tolerance)},
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
    HB_OPTION_SEED(hb_generate_values, seed, "1"),
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
    hb_generate_settings_default(s);
    s->solver = solver_codes[v->solver];
    s->n_steps = v->n_steps ? v->n_steps : s->solver == HB_SOLVER_HEUN ? STEPS_HEUN : STEPS_SDE;
    s->n_correct = v->n_correct;
    s->snr = v->snr;
    s->det_tau = v->det_tau;
    s->denoise = v->denoise >= 0          ? denoise_codes[v->denoise]
                 : info->image_height > 0 ? HB_DENOISE_MEAN
                                          : HB_DENOISE_FLOW;
    if (v->clip == CLIP_NO) s->low = -INFINITY, s->high = INFINITY;
    s->tau_min = isnan(v->tau_min) ? info->tau_min : v->tau_min;
    s->tau_max = info->tau_max;
    s->tolerance = v->tolerance;
    s->seed = v->seed;
}
