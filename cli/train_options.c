/* The options of `heatball train`: their table, which of them exclude each other, and the settings
 * that they become.
 *
 * Defaults that the table prints are those of hb_train_settings_default (docs/training.md;
 * tests/test_cli_train.py compares them). An option of one method is refused with another one: a
 * run that silently ignores half of its command line is worth nothing. */
#include "train_options.h"
#include "plot_path.h"
#include "points.h"

#include <math.h>

const char *const hb_train_heads[] = {"score", "energy", "helmholtz", NULL};
const char *const hb_train_processes[] = {"ou", "ve", NULL};
const char *const hb_train_standardise[] = {[HB_STANDARDISE_NO] = "no",
                                            [HB_STANDARDISE_COMMON] = "common",
                                            [HB_STANDARDISE_AXIS] = "axis",
                                            NULL};
static const hb_head heads[] = {HB_HEAD_SCORE, HB_HEAD_ENERGY, HB_HEAD_HELMHOLTZ};
static const hb_process processes[] = {HB_PROCESS_OU, HB_PROCESS_VE};

#define AT(field) .offset = offsetof(hb_train_values, field)

const hb_option hb_train_options[] = {
    {.name = "data",
     .kind = HB_OPTION_TEXT,
     .placeholder = "NAME|FILE",
     .help = "a set of heatball data list, a .npy or .csv file of rows, or a file or directory of "
             "images in the IDX format",
     .rules = HB_OPTION_REQUIRED,
     AT(data)},
    {.name = "method",
     .kind = HB_OPTION_CHOICE,
     .help = "the loss: denoising score matching alone, with the Fokker-Planck residual, with the "
             "heat-ball residual, or with the paper's heat-ball loss as printed",
     .names = hb_loss_names,
     .rules = HB_OPTION_REQUIRED,
     AT(method)},
    {.name = "head",
     .kind = HB_OPTION_CHOICE,
     .help = "what the network gives: the score, ln u with the score as its gradient, or (plane "
             "only) a gradient and a rotation",
     .choices = hb_train_heads,
     .fallback = "energy",
     AT(head)},
    {.name = "process",
     .kind = HB_OPTION_CHOICE,
     .help = "the process that makes noise of the data: Ornstein-Uhlenbeck or variance-exploding; "
             "ou when neither this nor --drift is given",
     .choices = hb_train_processes,
     AT(process)},
    {.name = "drift",
     .kind = HB_OPTION_TEXT,
     .placeholder = "EXPR",
     .help = "instead of --process: F(x) of dx = F dtau + sqrt(2) dW, components separated by "
             "commas, in x1 .. xd, pi and parameters",
     AT(drift)},
    {.name = "param",
     .kind = HB_OPTION_TEXTS,
     .placeholder = "NAME=VALUE",
     .help = "a named number of --drift, as a=2; may be given several times",
     AT(params)},
    {.name = "rows",
     .kind = HB_OPTION_UNSIGNED,
     .placeholder = "N",
     .help = "draws of a named set to train on; without it 2000",
     .min = 2,
     .max = 1e9,
     AT(rows)},
    {.name = "held-out",
     .kind = HB_OPTION_REAL,
     .placeholder = "SHARE",
     .help = "share of the rows of a file that is kept for heatball evaluate; without it 0.1",
     .max = 1,
     .rules = HB_OPTION_BELOW,
     AT(held_out)},
    {.name = "standardise",
     .kind = HB_OPTION_CHOICE,
     .help =
         "shift the data to mean 0 and scale them: axis, each column to variance 1; common, all "
         "columns by one number, to variance 1 on average; no, as they are; without it axis for "
         "a file of rows, common for images, no for a named set and with --drift",
     .choices = hb_train_standardise,
     AT(standardise)},
    {.name = "labels",
     .kind = HB_OPTION_TEXT,
     .placeholder = "FILE",
     .help = "a .npy or .csv file with the class of each row, 0, 1, ..",
     AT(labels)},
    HB_IMAGE_OPTIONS(offsetof(hb_train_values, images)),
    {.name = "epochs",
     .kind = HB_OPTION_INTEGER,
     .placeholder = "E",
     .help = "times that every row is seen; without it and --steps 600",
     .min = 1,
     .max = 1e9,
     AT(epochs)},
    {.name = "steps",
     .kind = HB_OPTION_UNSIGNED,
     .placeholder = "K",
     .help = "steps of the optimiser, instead of --epochs",
     .min = 1,
     .max = 1e15,
     AT(steps)},
    {.name = "max-time",
     .kind = HB_OPTION_REAL,
     .placeholder = "SECONDS",
     .help = "end after so many seconds of training, if the steps have not ended it; 0: never",
     .max = 1e12,
     .fallback = "0",
     AT(max_time)},
    {.name = "batch",
     .kind = HB_OPTION_INTEGER,
     .placeholder = "N",
     .help = "rows of a step",
     .min = 1,
     .max = 1048576,
     .fallback = "256",
     AT(batch)},
    {.name = "width",
     .kind = HB_OPTION_INTEGER,
     .placeholder = "N",
     .help = "width of the hidden layers",
     .min = 1,
     .max = 65536,
     .fallback = "256",
     AT(width)},
    {.name = "depth",
     .kind = HB_OPTION_INTEGER,
     .placeholder = "N",
     .help = "number of hidden layers",
     .min = 1,
     .max = 1000,
     .fallback = "3",
     AT(depth)},
    {.name = "residual",
     .kind = HB_OPTION_FLAG,
     .help = "add the input of a hidden layer to its output",
     AT(residual)},
    {.name = "half",
     .kind = HB_OPTION_FLAG,
     .help = "round the weights at the end to 16 bits: a file of half the size",
     AT(half)},
    {.name = "lr",
     .kind = HB_OPTION_REAL,
     .placeholder = "RATE",
     .help = "peak learning rate of Adam, with a cosine to 0",
     .max = 10,
     .rules = HB_OPTION_ABOVE,
     .fallback = "0.002",
     AT(lr)},
    {.name = "ema",
     .kind = HB_OPTION_REAL,
     .placeholder = "DECAY",
     .help = "decay of the averaged weights, which are what the model has",
     .max = 1,
     .rules = HB_OPTION_BELOW,
     .fallback = "0.998",
     AT(ema)},
    {.name = "clip",
     .kind = HB_OPTION_REAL,
     .placeholder = "NORM",
     .help = "largest norm of a gradient; 0: none",
     .max = 1e30,
     .fallback = "1",
     AT(clip)},
    {.name = "tau-min",
     .kind = HB_OPTION_REAL,
     .placeholder = "T",
     .help = "smallest tau of the training",
     .max = 1e6,
     .rules = HB_OPTION_ABOVE,
     .fallback = "0.001",
     AT(tau_min)},
    {.name = "tau-max",
     .kind = HB_OPTION_REAL,
     .placeholder = "T",
     .help = "largest tau of the training",
     .max = 1e6,
     .rules = HB_OPTION_ABOVE,
     .fallback = "3",
     AT(tau_max)},
    {.name = "tau-focus",
     .kind = HB_OPTION_REAL,
     .placeholder = "F",
     .help = "more rows around the middle of ln tau, 1/(1-F) times as many there",
     .max = 0.9,
     .fallback = "0",
     AT(tau_focus)},
    HB_OPTION_SEED(hb_train_values, seed, "42"),
    {.name = "radius-share",
     .kind = HB_OPTION_REAL,
     .placeholder = "F",
     .help = "hb: share f of the time before an anchor that its ball reaches back, r^2 = 4 pi f "
             "tau; without it 0.4 in up to 3 dimensions, else 2/d",
     .max = 1,
     .rules = HB_OPTION_ABOVE | HB_OPTION_BELOW,
     AT(radius_share)},
    {.name = "sigma-max",
     .kind = HB_OPTION_REAL,
     .placeholder = "S",
     .help = "hb-paper: largest sigma of the unit ball that is used; without it 1/(4 pi)",
     .min = 1e-3,
     .max = 0.0796,
     .rules = HB_OPTION_ABOVE,
     AT(sigma_max)},
    {.name = "hb-weight",
     .kind = HB_OPTION_REAL,
     .placeholder = "W",
     .help = "weight of the constraint of fp, hb or hb-paper; without it that of its recipe",
     .max = 1e9,
     AT(weight)},
    {.name = "anchors",
     .kind = HB_OPTION_INTEGER,
     .placeholder = "N",
     .help = "points of a step where the constraint is taken; without it 64",
     .min = 1,
     .max = 1048576,
     AT(anchors)},
    {.name = "nodes",
     .kind = HB_OPTION_INTEGER,
     .placeholder = "N",
     .help = "antithetic pairs of a ball above 3 dimensions, or probes of fp there; without it 8",
     .min = 1,
     .max = 4096,
     AT(nodes)},
    {.name = "target-rows",
     .kind = HB_OPTION_INTEGER,
     .placeholder = "N",
     .help =
         "rows that a denoising target is the mean over, 0 for the row itself; -1: 512 for hb, 0 "
         "for the others",
     .min = -1,
     .max = 1048576,
     .fallback = "-1",
     AT(target_rows)},
    {.name = "checkpoint-every",
     .kind = HB_OPTION_INTEGER,
     .placeholder = "E",
     .help = "keep a checkpoint, -o with .ckpt at its end, and renew it after so many epochs",
     .min = 1,
     .max = 1e9,
     AT(checkpoint_every)},
    {.name = "resume",
     .kind = HB_OPTION_FLAG,
     .help = "go on from the checkpoint if it is there; start anew if not",
     AT(resume)},
    {.letter = 'o',
     .kind = HB_OPTION_TEXT,
     .placeholder = "MODEL",
     .help = "the file for the model, a name that ends in .safetensors",
     .rules = HB_OPTION_REQUIRED | HB_OPTION_WRITES,
     AT(path)},
    {.name = "log",
     .kind = HB_OPTION_TEXT,
     .placeholder = "FILE.csv",
     .help = "write the losses during the training into this file",
     .rules = HB_OPTION_WRITES,
     AT(log)},
    {.name = "plot",
     .kind = HB_OPTION_TEXT,
     .placeholder = "FILE",
     .help = "draw the losses during the training into this file, .svg, .png or .pdf by its name",
     .rules = HB_OPTION_FIGURE,
     AT(plot)},
    HB_OPTION_JSON(hb_train_values, json),
    {0}};

/* ---- checked ---- */

static hb_status refuse(hb_session *session, const char *text)
{
    return hb_session_fail(session, HB_ERROR_ARGUMENT, "%s", text);
}

/* An option that only some methods look at. */
static hb_status check_for(hb_session *session, const hb_train_values *v, int given, int needed,
                           const char *option, const char *methods)
{
    if (!given || needed) return HB_OK;
    return hb_session_fail(session, HB_ERROR_ARGUMENT, "%s is for --method %s; --method is %s",
                           option, methods, hb_loss_names()[v->method]);
}

static hb_status check_method(hb_session *session, const hb_train_values *v)
{
    const int loss = v->method, constraint = loss != HB_LOSS_DSM;
    char constrained[100];
    hb_options_join(hb_loss_names() + 1, sizeof constrained, constrained);
    const struct {
        int given, needed;
        const char *option, *methods;
    } rules[] = {{!isnan(v->radius_share), loss == HB_LOSS_HB, "--radius-share", "hb"},
                 {!isnan(v->sigma_max), loss == HB_LOSS_HB_PAPER, "--sigma-max", "hb-paper"},
                 {!isnan(v->weight), constraint, "--hb-weight", constrained},
                 {v->anchors > 0, constraint, "--anchors", constrained},
                 {v->nodes > 0, constraint, "--nodes", constrained}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        HB_TRY(check_for(session, v, rules[i].given, rules[i].needed, rules[i].option,
                         rules[i].methods));
    return HB_OK;
}

hb_status hb_train_options_check(hb_session *session, const hb_train_values *v)
{
    if (v->drift && v->process >= 0)
        return refuse(session, "--process and --drift are both given; give one of them");
    if (v->params.n && !v->drift)
        return refuse(session, "--param is given without --drift; give both");
    if (v->epochs && v->steps)
        return refuse(session, "--epochs and --steps are both given; give one of them");
    if (!hb_points_has_extension(v->path, ".safetensors"))
        return hb_session_fail(session, HB_ERROR_ARGUMENT,
                               "-o is %.200s; the name must end in .safetensors", v->path);
    if (v->log && !hb_points_has_extension(v->log, ".csv"))
        return hb_session_fail(session, HB_ERROR_ARGUMENT,
                               "--log is %.200s; the name must end in .csv", v->log);
    HB_TRY(hb_plot_path_check(session, v->plot));
    return check_method(session, v);
}

/* ---- settings ---- */

void hb_train_options_settings(const hb_train_values *v, int own_data, int images,
                               hb_train_settings *out)
{
    hb_train_settings_default(out);
    out->loss = v->method;
    out->head = heads[v->head];
    out->process = v->drift          ? HB_PROCESS_DRIFT
                   : v->process >= 0 ? processes[v->process]
                                     : HB_PROCESS_OU;
    out->width = v->width;
    out->depth = v->depth;
    out->residual = v->residual;
    out->half = v->half;
    if (v->epochs) out->epochs = v->epochs;
    out->steps = v->steps;
    out->batch = v->batch;
    out->max_time = v->max_time;
    out->rate = v->lr;
    out->ema = v->ema;
    out->clip = v->clip;
    out->tau_min = v->tau_min;
    out->tau_max = v->tau_max;
    out->tau_focus = v->tau_focus;
    out->weight = v->weight;
    out->ball_share = v->radius_share;
    if (!isnan(v->sigma_max)) out->sigma_max = v->sigma_max;
    if (v->anchors) out->anchors = v->anchors;
    if (v->nodes) out->nodes = v->nodes;
    out->target_rows = v->target_rows;
    out->standardise = v->standardise >= 0     ? v->standardise
                       : !own_data || v->drift ? HB_STANDARDISE_NO
                       : images                ? HB_STANDARDISE_COMMON
                                               : HB_STANDARDISE_AXIS;
    out->seed = v->seed;
    out->checkpoint_every = v->checkpoint_every;
    out->resume = v->resume;
}
