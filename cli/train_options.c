/* The options of `heatball train`: their table, which of them exclude each other, and the settings
 * that they become.
 *
 * Kinds, ranges, defaults and most help are those of the library's table of settings
 * (hb_train_setting); here are the names and places. An option of one method is refused with
 * another one: a run that silently ignores half of its command line is worth nothing. */
#include "command_train.h"
#include "plot_path.h"
#include "points.h"
#include "problem_options.h"

#include <math.h>

static const char *const processes[] = {"ou", "ve", NULL};

#define VALUES hb_train_values
#define SETTING(option, value, member)                                                             \
    HB_OPTION_SETTING(hb_train, option, value, member, .rules = 0)
/* The default is not filled in: one must see whether it was given. */
#define OPEN(option, value, member)                                                                \
    HB_OPTION_SETTING(hb_train, option, value, member, .rules = HB_OPTION_OPEN)
/* The same of an option that had another name. */
#define RENAMED(option, before, value, member, rule)                                               \
    HB_OPTION_SETTING(hb_train, option, value, member, .rules = (rule), .old = (before))
/* OPEN with a help text of its own. */
#define TOLD(option, value, member, ...)                                                           \
    HB_OPTION_SETTING(hb_train, option, value, member, .rules = HB_OPTION_OPEN, .help = __VA_ARGS__)

const hb_option hb_train_options[] = {
    HB_OPTION_HEADING("Data"),
    HB_OPTION(TEXT, "data", "NAME|FILE", data,
              "a set of heatball data list, a .npy or .csv file of rows, or a file or directory of "
              "images in the IDX format",
              .rules = HB_OPTION_REQUIRED),
    HB_OPTION(UNSIGNED, NULL, "N", rows, "draws of a named set to train on; default: 2000",
              .letter = 'n', .old = "rows", .min = 2, .max = 1e9),
    HB_OPTION(REAL, "held-out", "F", held_out,
              "fraction of the rows of a file that is kept for heatball evaluate; default: 0.1",
              .rules = HB_OPTION_BELOW, .max = 1),
    TOLD("standardise", NULL, standardise,
         "shift the data to mean 0 and scale them: axis, each column to variance 1; auto or maps, "
         "the same behind a logarithm, arsinh or logit of each column with heavy tails or bounds, "
         "chosen from the data as by ScoreDensity of Python; common, "
         "all columns by one number, to variance 1 on average; no, as they are; default: axis for "
         "a file of rows, common for images, no for a named set and with --drift"),
    HB_OPTION(TEXT, "labels", "FILE", labels,
              "a .npy or .csv file with the class of each row, 0, 1, .."),
    HB_OPTION(CHOICE, "part", NULL, images.part, "images: the part of the set; default: train",
              .choices = hb_data_part_names),
    HB_OPTION(INTEGER, "resize", "N", images.resize,
              "images: make them N by N pixels; default: as in the file", .min = 1, .max = 128),
    HB_OPTION(CHOICE, "resample", NULL, images.resample,
              "images: how --resize makes a pixel; default: area",
              .choices = hb_data_resample_names),
    HB_OPTION(CHOICE, "binarize", NULL, images.binarize,
              "images: make pixels black or white; default: none",
              .choices = hb_data_binarize_names),
    HB_OPTION(FLAG, "dequantise", NULL, images.dequantise,
              "images: spread each of the 256 grey values over its own interval at random"),
    HB_OPTION(UNSIGNED, "limit", "N", images.limit,
              "images: only the first N of them; default: all", .min = 2, .max = 1e9),
    HB_OPTION_HEADING("Process"),
    TOLD("process", NULL, process,
         "the process that makes noise of the data: Ornstein-Uhlenbeck or variance-exploding; "
         "default: ou, without --drift",
         .choices = processes),
    HB_OPTION(TEXT, "drift", "EXPR", drift,
              "instead of --process: F(x) of dx = F dtau + sqrt(2) dW, components separated by "
              "commas, in x1 .. xd, pi and parameters"),
    HB_OPTION(TEXT, "noise", "EXPR", noise,
              "with --drift: G(x) of dx = F dtau + G dW instead of sqrt(2): one formula for all "
              "axes, one for each by commas, or the rows of a matrix by semicolons; what a change "
              "of coordinates makes one number, as 0.2*x[i]"),
    HB_OPTION(CHOICE, "convention", NULL, convention,
              "how noise that depends on x is meant; default: ito", .choices = hb_convention_names),
    HB_OPTION(TEXTS, "param", "NAME=VALUE", params,
              "a named number of --drift and --noise, as a=2; may be given several times"),
    SETTING("tau-min", "T", tau_min),
    SETTING("tau-max", "T", tau_max),
    SETTING("tau-focus", "F", tau_focus),
    HB_OPTION_HEADING("Network"),
    SETTING("head", NULL, head),
    SETTING("width", "N", width),
    SETTING("depth", "N", depth),
    RENAMED("skip", "residual", NULL, skip, 0),
    HB_OPTION_HEADING("Loss"),
    RENAMED("loss", "method", NULL, loss, 0),
    RENAMED("weight", "hb-weight", "W", weight, HB_OPTION_OPEN),
    RENAMED("time-fraction", "radius-share", "F", time_fraction, HB_OPTION_OPEN),
    OPEN("sigma-max", "S", sigma_max),
    OPEN("anchors", "N", anchors),
    OPEN("nodes", "N", nodes),
    OPEN("anchor-tau-min", "T", anchor_tau_min),
    OPEN("constraint-every", "K", constraint_every),
    SETTING("target-rows", "N", target_rows),
    HB_OPTION_HEADING("Run"),
    TOLD("epochs", "E", epochs, "times that every row is seen; default, without --steps: 600"),
    TOLD("steps", "K", steps, "steps of the optimiser, instead of --epochs", .min = 1, .max = 1e15),
    SETTING("max-time", "SECONDS", max_time),
    SETTING("batch", "N", batch),
    RENAMED("rate", "lr", "RATE", rate, 0),
    SETTING("ema", "DECAY", ema),
    RENAMED("clip-gradient", "clip", "NORM", clip_gradient, 0),
    SETTING("seed", "S", seed),
    TOLD("checkpoint-every", "E", checkpoint_every,
         "keep a checkpoint, -o with .ckpt at its end, and renew it after so many epochs", .min = 1,
         .max = 1e9),
    SETTING("resume", NULL, resume),
    HB_OPTION_HEADING("Output"),
    HB_OPTION(TEXT, NULL, "MODEL", path, "the file for the model, a name that ends in .safetensors",
              .letter = 'o', .rules = HB_OPTION_REQUIRED | HB_OPTION_WRITES),
    SETTING("half", NULL, half),
    HB_OPTION(TEXT, "log", "FILE.csv", log, "write the losses during the training into this file",
              .rules = HB_OPTION_WRITES),
    HB_OPTION(TEXT, "plot", "FILE", plot,
              "draw the losses during the training into this file, .svg, .png or .pdf by its name",
              .rules = HB_OPTION_FIGURE),
    HB_OPTION_JSON,
    {0}};

/* ---- checked ---- */

/* An option that only some methods look at. */
static hb_status check_for(hb_session *session, const hb_train_values *v, int given, int needed,
                           const char *option, const char *methods)
{
    if (!given || needed) return HB_OK;
    return hb_session_refuse(session, "%s is for --loss %s; --loss is %s", option, methods,
                             hb_loss_names()[v->settings.loss]);
}

static hb_status check_method(hb_session *session, const hb_train_values *v)
{
    const hb_train_settings *s = &v->settings;
    const int loss = s->loss, constraint = loss != HB_LOSS_DSM;
    char constrained[100];
    hb_options_join(hb_loss_names() + 1, sizeof constrained, constrained);
    const struct {
        int given, needed;
        const char *option, *methods;
    } rules[] = {{!isnan(s->time_fraction), loss == HB_LOSS_HB, "--time-fraction", "hb"},
                 {!isnan(s->sigma_max), loss == HB_LOSS_HB_PAPER, "--sigma-max", "hb-paper"},
                 {!isnan(s->weight), constraint, "--weight", constrained},
                 {s->anchors > 0, constraint, "--anchors", constrained},
                 {s->nodes > 0, constraint, "--nodes", constrained},
                 {s->anchor_tau_min > 0, constraint, "--anchor-tau-min", constrained},
                 {s->constraint_every > 0, constraint, "--constraint-every", constrained}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        HB_TRY(check_for(session, v, rules[i].given, rules[i].needed, rules[i].option,
                         rules[i].methods));
    return HB_OK;
}

hb_status hb_train_options_check(hb_session *session, const hb_train_values *v)
{
    HB_REFUSE_IF(session, v->drift && v->settings.process >= 0,
                 "--process and --drift are both given; give one of them");
    HB_REFUSE_IF(session, v->params.n && !v->drift, "--param is given without --drift; give both");
    HB_REFUSE_IF(session, v->noise && !v->drift, "--noise is given without --drift; give both");
    HB_REFUSE_IF(session, v->convention >= 0 && !v->noise,
                 "--convention is given without --noise; give both");
    HB_REFUSE_IF(session, v->settings.epochs && v->settings.steps,
                 "--epochs and --steps are both given; give one of them");
    HB_REFUSE_IF(session, !hb_points_has_extension(v->path, ".safetensors"),
                 "-o is %.200s; the name must end in .safetensors", v->path);
    HB_REFUSE_IF(session, v->log && !hb_points_has_extension(v->log, ".csv"),
                 "--log is %.200s; the name must end in .csv", v->log);
    HB_TRY(hb_plot_path_check(session, v->plot));
    return check_method(session, v);
}

/* ---- settings ---- */

void hb_train_options_settings(const hb_train_values *v, int own_data, int images,
                               hb_train_settings *out)
{
    hb_train_settings_default(sizeof *out, out);
    hb_options_settings(hb_train_options, v, out);
    if (v->drift) out->process = HB_PROCESS_DRIFT;
    out->as_typed = v->noise != NULL;
    if (out->standardise == HB_STANDARDISE_BY_KIND)
        out->standardise = !own_data || v->drift ? HB_STANDARDISE_NO
                           : images              ? HB_STANDARDISE_COMMON
                                                 : HB_STANDARDISE_AXIS;
}

/* ---- images as data ---- */

int hb_image_options_is(const char *data)
{
    return !hb_points_is_table(data) && hb_data_images_is(data);
}

hb_status hb_image_options_refuse(hb_session *session, const hb_image_values *v, const char *data)
{
    const char *given = v->part >= 0       ? "--part"
                        : v->resize        ? "--resize"
                        : v->resample >= 0 ? "--resample"
                        : v->binarize >= 0 ? "--binarize"
                        : v->dequantise    ? "--dequantise"
                        : v->limit         ? "--limit"
                                           : NULL;
    if (!given) return HB_OK;
    return hb_session_refuse(session, "%s is for images; --data is %.200s", given, data);
}

hb_status hb_image_options_load(hb_session *session, const hb_image_values *v, const char *data,
                                uint64_t seed, hb_images *out)
{
    hb_context *context = hb_session_context(session);
    hb_images_settings settings;
    hb_images_settings_default(sizeof settings, &settings);
    settings.limit = (size_t)v->limit;
    settings.resize = v->resize;
    settings.seed = seed;
    if (v->resample >= 0) settings.resample = v->resample;
    if (v->binarize >= 0) settings.binarize = v->binarize;
    HB_REFUSE_IF(session, v->dequantise && settings.binarize != HB_BINARIZE_NONE,
                 "--dequantise and --binarize are both given; give one of them");
    const hb_part part = v->part == 1 ? HB_PART_TEST : HB_PART_TRAIN;
    const hb_status status = hb_images_load(context, &settings, part, data, sizeof *out, out);
    if (status != HB_OK || !v->dequantise) return status;
    out->low = 0.5 / 256;
    out->high = 255.5 / 256;
    return hb_images_dequantise(context, seed, 0,
                                out->count * (size_t)out->height * (size_t)out->width, out->pixels);
}
