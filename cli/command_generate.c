/* heatball generate: samples from a model, into a table or a picture.
 *
 * Sample i is a function of (model, settings, seed, i) alone: the same bytes on any number of
 * threads, and files of --first 0, k, 2k ... put together are one long file. Samples are made in
 * chunks of CHUNK rows and streamed, so that memory does not grow with N; a picture keeps what
 * it shows. Everything that can be refused is refused before the first sample is made. A model
 * whose network gives 0 generates the Gaussian of its data. */
#include "command_generate.h"
#include "commands.h"
#include "plot_path.h"
#include "points.h"
#include "report.h"
#include "rows.h"

#include <heatball/team.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- options ----
 * Kinds, ranges and defaults are those of the library (hb_generate_setting), but for the steps
 * of Heun's method: 50 instead of 500, since each is of order 2 and costs two evaluations, and
 * for the last step of a model of images: the mean, since pixels have no width of their own
 * (docs/explanation/generation.md). */

typedef struct hb_generate_values {
    const char *model, *path, *plot, *real;
    hb_generate_settings settings; /* of those that are options */
    uint64_t n, first;
    int clip, label, each_label, columns, json;
    hb_reals grey;
} hb_generate_values;

enum { CHUNK = 16384, STEPS_HEUN = 50, CLIP_NO = 0 };

static const char *const clip_names[] = {"no", "yes", NULL};

#define VALUES hb_generate_values
#define SETTING(option, value, member)                                                             \
    HB_OPTION_SETTING(hb_generate, option, value, member, .rules = 0)
/* The default is not filled in, so that one sees whether it was given; with a help text of its
 * own. */
#define TOLD(option, value, member, ...)                                                           \
    HB_OPTION_SETTING(hb_generate, option, value, member, .rules = HB_OPTION_OPEN,                 \
                      .help = __VA_ARGS__)

static const hb_option generate_options[] = {
    HB_OPTION_HEADING("Model and samples"),
    HB_OPTION(TEXT, NULL, "MODEL", model, "a model file, as heatball train writes it",
              .rules = HB_OPTION_REQUIRED | HB_OPTION_POSITIONAL),
    HB_OPTION(UNSIGNED, NULL, "N", n, "number of samples", .letter = 'n',
              .rules = HB_OPTION_REQUIRED, .min = 1, .max = 1e12),
    HB_OPTION(UNSIGNED, "first", "I", first,
              "index of the first sample, to continue where another file ended", .fallback = "0"),
    HB_OPTION(INTEGER, "label", "L", label,
              "the class of all samples, of a model that has classes; -1: none", .min = -1,
              .max = 1000000, .fallback = "-1"),
    HB_OPTION(FLAG, "each-label", NULL, each_label,
              "sample 0 has class 0, the next one class 1, and so on, around and around"),
    SETTING("seed", "S", seed),
    HB_OPTION_HEADING("Solver"),
    SETTING("solver", NULL, solver),
    TOLD("n-steps", "K", n_steps, "steps of sde and heun; default: 500 of sde and 50 of heun"),
    SETTING("n-correct", "K", n_correct),
    SETTING("snr", "R", snr),
    HB_OPTION_SETTING(hb_generate, "det-tau", "T", det_tau, .max = 1e6),
    TOLD("tau-min", "T", tau_min,
         "the tau at which the way ends; default: the least that the model was trained at"),
    HB_OPTION_SETTING(hb_generate, "ode-tolerance", "E", ode_tolerance, .rules = 0,
                      .old = "tolerance"),
    TOLD("denoise", NULL, denoise,
         "what is done with the noise that is left at the end: nothing, the mean of what it may "
         "hide, or a last step of the ODE; default: mean for a model of images, flow for others"),
    HB_OPTION(
        CHOICE, "clip", NULL, clip,
        "images: keep the mean that every step heads for between black and white; default: yes",
        .choices = clip_names),
    HB_OPTION_HEADING("Output"),
    HB_OPTION(TEXT, NULL, "FILE", path,
              "the file to write, .npy, .csv or .png by its name; a .png shows two-dimensional "
              "samples as dots, and square images of 64 pixels or more on a grid",
              .letter = 'o', .rules = HB_OPTION_REQUIRED | HB_OPTION_WRITES | HB_OPTION_FIGURE),
    HB_OPTION(TEXT, "plot", "FILE", plot,
              "draw the samples of a two-dimensional model into this file too, .svg, .png or .pdf "
              "by its name",
              .rules = HB_OPTION_FIGURE),
    HB_OPTION(INTEGER, "columns", "K", columns,
              "pictures of images: how many in a row; default: about as many as rows", .min = 1,
              .max = 1000),
    HB_OPTION(TEXT, "real", "NAME|FILE", real,
              "pictures of images: odd rows show real test images of this set, even rows samples"),
    HB_OPTION(REALS, "grey", "LOW,HIGH", grey,
              "images: the values that are drawn black and white; default: 0,1"),
    HB_OPTION_JSON,
    {0}};

/* The settings for a model, with its range of tau where none is given. */
static void generate_settings(const hb_generate_values *v, const hb_model_info *info,
                              hb_generate_settings *s)
{
    hb_generate_settings_default(sizeof *s, s);
    s->tau_min = info->tau_min;
    s->tau_max = info->tau_max;
    if (info->image_height > 0) s->denoise = HB_DENOISE_MEAN;
    hb_options_settings(generate_options, v, s);
    if (!v->settings.n_steps && s->solver == HB_SOLVER_HEUN) s->n_steps = STEPS_HEUN;
    if (v->clip == CLIP_NO) s->low = -INFINITY, s->high = INFINITY;
}

/* A run: the model, and where its samples go. */
typedef struct generation {
    hb_session *session;
    const hb_generate_values *v;
    hb_model *model;
    hb_model_info info;
    hb_generate_settings settings;
    int is_table;      /* -o is .npy or .csv */
    int keep;          /* all samples are kept, for a picture */
    hb_writer *writer; /* of a table */
    size_t chunk;
    int *labels;  // (chunk)
    double *x;    // (n, dim) when kept, else (chunk, dim)
    double *real; // (n, dim): real images beside them, or NULL
    double seconds;
} generation;

/* ---- checks ---- */

static hb_status generate_check_names(const generation *g)
{
    const hb_generate_values *v = g->v;
    HB_REFUSE_IF(g->session, !g->is_table && !hb_points_has_extension(v->path, ".png"),
                 "-o is %.200s; the name must end in .npy, .csv or .png", v->path);
    HB_REFUSE_IF(g->session,
                 v->grey.n > 0 && (v->grey.n != 2 || !(v->grey.values[0] < v->grey.values[1])),
                 "--grey takes two numbers LOW,HIGH with LOW below HIGH");
    return hb_plot_path_check(g->session, v->plot);
}

static hb_status generate_check_pictures(const generation *g)
{
    const hb_generate_values *v = g->v;
    const int dim = g->info.dim;
    int height, width;
    hb_generate_image_sides(&g->info, &height, &width);
    const char *given = v->grey.n > 0 ? "--grey"
                        : v->columns  ? "--columns"
                        : v->real     ? "--real"
                                      : NULL;
    HB_REFUSE_IF(g->session, v->plot && dim != 2,
                 "--plot draws two-dimensional samples; those of this model have %d numbers", dim);
    HB_REFUSE_IF(g->session, !g->is_table && dim != 2 && !height,
                 "-o is %.200s; a .png shows two-dimensional samples or square images of 64 pixels "
                 "or more, those of this model have %d numbers: write .npy or .csv",
                 v->path, dim);
    HB_REFUSE_IF(g->session, given && (g->is_table || !height),
                 "%s is for pictures of images (-o FILE.png)", given);
    return HB_OK;
}

static hb_status generate_check_model(const generation *g)
{
    const hb_model_info *info = &g->info;
    const uint64_t most = INT64_MAX / ((uint64_t)info->dim * sizeof(double));
    const int drift = info->process == HB_PROCESS_DRIFT;
    HB_REFUSE_IF(g->session, drift && (g->v->label >= 0 || g->v->each_label),
                 "%.200s was trained with --drift; it keeps where paths of all classes ended, and "
                 "takes no --label or --each-label",
                 g->v->model);
    HB_REFUSE_IF(g->session, drift && g->v->clip >= 0,
                 "--clip is for the processes ou and ve; %.200s was trained with --drift",
                 g->v->model);
    HB_REFUSE_IF(g->session, g->v->clip >= 0 && info->image_height == 0,
                 "--clip is for models of images; this is none");
    HB_REFUSE_IF(g->session, g->v->each_label && g->v->label >= 0,
                 "--label and --each-label exclude each other");
    HB_REFUSE_IF(g->session, g->v->each_label && info->classes == 0,
                 "--each-label needs classes; the model was trained without labels");
    HB_REFUSE_IF(g->session, g->v->label >= info->classes && info->classes == 0,
                 "--label is %d; the model was trained without labels", g->v->label);
    HB_REFUSE_IF(g->session, g->v->label >= info->classes,
                 "--label is %d; the model has the classes 0 to %d, or -1: none", g->v->label,
                 info->classes - 1);
    HB_REFUSE_IF(g->session, g->v->n > most,
                 "-n is %" PRIu64 "; with %d columns a file holds at most %" PRIu64 " rows",
                 g->v->n, info->dim, most);
    return generate_check_pictures(g);
}

/* ---- samples ---- */

/* The names of the model's columns, else x_1, x_2, .. */
static const char *generate_column_name(const void *model, int i, char text[HB_ROWS_NAME])
{
    const char *own = hb_model_column_name(model, i);
    return own ? own : hb_rows_x(NULL, i, text);
}

static hb_status generate_start_table(generation *g)
{
    HB_TRY(hb_writer_create(hb_session_context(g->session), g->v->path, &g->writer));
    return hb_rows_begin(g->writer, g->v->path, HB_DTYPE_F64, g->v->n, g->info.dim,
                         generate_column_name, g->model);
}

/* What a model of images gives becomes 0 black .. 1 white. */
static void to_pixels(const hb_model_info *info, size_t n, double *x)
{
    const double low = info->pixel_low, range = info->pixel_high - low;
    if (info->image_height == 0 || (low == 0 && range == 1)) return;
    for (size_t i = 0; i < n * (size_t)info->dim; i++) x[i] = (x[i] - low) / range;
}

/* The classes of samples first .. first+n-1; NULL: none is asked for. */
static const int *generate_labels(generation *g, uint64_t first, size_t n)
{
    const hb_generate_values *v = g->v;
    for (size_t i = 0; i < n; i++)
        g->labels[i] = v->each_label ? (int)((first + i) % (uint64_t)g->info.classes) : v->label;
    return v->each_label || v->label >= 0 ? g->labels : NULL;
}

/* One chunk shows the library's own progress; many are counted here. */
static hb_status generate_samples(generation *g)
{
    const hb_generate_values *v = g->v;
    const double start = hb_session_now();
    hb_status status = HB_OK;
    if (v->n > g->chunk) hb_session_count(g->session, "generating", "samples");
    for (uint64_t done = 0; status == HB_OK && done < v->n;) {
        const size_t n = v->n - done < g->chunk ? (size_t)(v->n - done) : g->chunk;
        double *x = g->x + (g->keep ? done * (uint64_t)g->info.dim : 0);
        const int *labels = generate_labels(g, v->first + done, n);
        status = hb_model_generate(hb_session_context(g->session), g->model, &g->settings,
                                   v->first + done, n, labels, x);
        if (status == HB_OK) to_pixels(&g->info, n, x);
        if (status == HB_OK && g->is_table)
            status = hb_rows_append(g->writer, v->path, HB_DTYPE_F64, n, g->info.dim, x);
        done += n;
        if (status == HB_OK && v->n > g->chunk)
            status = hb_context_settle(hb_session_context(g->session),
                                       hb_session_progress(g->session, (double)done, (double)v->n));
    }
    g->seconds = hb_session_now() - start;
    return status;
}

static hb_status generate_pictures(const generation *g)
{
    static const double black_white[] = {0, 1};
    const hb_generate_values *v = g->v;
    const double *grey = v->grey.n ? v->grey.values : black_white;
    const hb_generate_picture picture = {.model = g->model,
                                         .name = v->model,
                                         .label = v->label,
                                         .tau = g->settings.tau_min,
                                         .seed = v->settings.seed,
                                         .n = (size_t)v->n,
                                         .x = g->x,
                                         .columns = v->columns,
                                         .real = g->real};
    hb_status status = HB_OK;
    if (v->plot) status = hb_generate_scatter_write(g->session, &picture, v->plot);
    if (status != HB_OK || g->is_table) return status;
    if (g->info.dim == 2) return hb_generate_scatter_write(g->session, &picture, v->path);
    return hb_generate_images_write(g->session, &picture, grey[0], grey[1], v->path);
}

static hb_status generate_allocate(generation *g)
{
    const uint64_t n = g->v->n;
    g->chunk = n < CHUNK ? (size_t)n : CHUNK;
    g->keep = g->v->plot || !g->is_table;
    const size_t rows = g->keep ? (size_t)n : g->chunk;
    g->labels = malloc(g->chunk * sizeof *g->labels);
    g->x = malloc(rows * (size_t)g->info.dim * sizeof *g->x);
    return g->labels && g->x ? HB_OK : HB_ERROR_MEMORY;
}

/* The table is complete before a picture is begun: a missing gnuplot costs no samples. */
static hb_status generate_files(generation *g)
{
    hb_status status = generate_allocate(g);
    if (status == HB_OK && g->is_table) status = generate_start_table(g);
    if (status == HB_OK) status = generate_samples(g);
    status = hb_writer_close(g->writer, status);
    if (status == HB_ERROR_INTERRUPTED)
        return hb_session_fail(g->session, status, "interrupted; %.200s is not written",
                               g->v->path);
    return status == HB_OK ? generate_pictures(g) : status;
}

/* ---- what is said ---- */

static hb_status generate_print_json(const generation *g)
{
    const hb_generate_values *v = g->v;
    const hb_generate_settings *s = &g->settings;
    const int sde = s->solver == HB_SOLVER_SDE, ode = s->solver == HB_SOLVER_ODE;
    hb_report *report = hb_report_create();
    hb_report_text(report, "file", v->path, "");
    hb_report_text(report, "model", v->model, "");
    hb_report_unsigned(report, "rows", v->n, "");
    hb_report_integer(report, "columns", g->info.dim, "");
    hb_report_text(report, "process", HB_OPTION_NAME(hb_generate, &g->info, process), "");
    hb_report_text(report, "solver", HB_OPTION_NAME(hb_generate, &g->settings, solver), "");
    if (!ode) hb_report_integer(report, "n_steps", s->n_steps, "");
    if (sde) hb_report_integer(report, "n_correct", s->n_correct, "");
    if (sde) hb_report_real(report, "snr", s->snr, "");
    if (sde) hb_report_real(report, "det_tau", s->det_tau, "");
    if (ode) hb_report_real(report, "ode_tolerance", s->ode_tolerance, "");
    hb_report_text(report, "denoise", HB_OPTION_NAME(hb_generate, s, denoise), "");
    if (g->info.image_height > 0)
        hb_report_boolean(report, "clip", isnan(s->low) && g->info.process != HB_PROCESS_DRIFT, "");
    hb_report_real(report, "tau_min", s->tau_min, "");
    hb_report_real(report, "tau_max", s->tau_max, "");
    if (v->label >= 0) hb_report_integer(report, "label", v->label, "");
    if (v->each_label) hb_report_text(report, "label", "each", "");
    hb_report_unsigned(report, "seed", v->settings.seed, "");
    hb_report_unsigned(report, "first", v->first, "");
    if (v->plot) hb_report_text(report, "plot", v->plot, "");
    hb_report_real(report, "seconds", g->seconds, "");
    hb_report_real(report, "samples_per_second", (double)v->n / g->seconds, "");
    return hb_report_finish(report, 1);
}

static hb_status generate_print(const generation *g)
{
    const hb_generate_values *v = g->v;
    hb_session_clear(g->session);
    if (v->json) return generate_print_json(g);
    if (hb_session_quiet(g->session)) return HB_OK;
    printf("%s: %" PRIu64 " samples of dimension %d by %s, seed %" PRIu64
           ", %.3g s, %s samples/s\n",
           v->path, v->n, g->info.dim, HB_OPTION_NAME(hb_generate, &g->settings, solver),
           v->settings.seed, g->seconds, hb_report_quantity((double)v->n / g->seconds).text);
    if (v->plot) printf("%s: the samples\n", v->plot);
    return HB_OK;
}

static hb_status run_generate(hb_session *session, const void *values)
{
    const hb_generate_values *v = values;
    generation g = {.session = session, .v = v, .is_table = hb_points_is_table(v->path)};
    HB_TRY(generate_check_names(&g));
    HB_TRY(hb_model_load(hb_session_context(session), v->model, &g.model));
    hb_model_info_get(g.model, sizeof g.info, &g.info);
    generate_settings(v, &g.info, &g.settings);
    hb_status status = generate_check_model(&g);
    if (status == HB_OK && v->real)
        status =
            hb_generate_real_images(session, v->real, &g.info, v->label, (size_t)v->n, &g.real);
    if (status == HB_OK) status = generate_files(&g);
    if (status == HB_OK) status = generate_print(&g);
    free(g.x);
    free(g.labels);
    free(g.real);
    hb_model_destroy(g.model);
    return status;
}

const hb_command hb_command_generate = {
    .name = "generate",
    .summary = "draw samples from a trained model into a table or a picture",
    .text =
        "Draws samples from a model by running its process backward, from noise or, of a drift, "
        "from where the paths of its training ended, with the model's score, and writes them in "
        "the units of its data, as rows x_1 .. x_D or as a picture. Sample i depends on the model, "
        "the options and i alone: not on the number of threads, and samples 0 .. N-1 are the same "
        "in one file or in several with --first. The file appears whole or not at all.",
    .examples = {"heatball train --data ring --loss hb --epochs 20 --width 64 -o ring.safetensors",
                 "heatball generate ring.safetensors -n 2000 -o ring.npy",
                 "heatball generate ring.safetensors -n 2000 --plot ring.svg -o ring.npy",
                 "heatball generate ring.safetensors -n 2000 --solver heun -o heun.csv"},
    .options = generate_options,
    .size = sizeof(hb_generate_values),
    .run = run_generate};
