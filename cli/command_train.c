/* heatball train: a score network from data.
 *
 *     data -> rows to train on -> hb_train -> MODEL.safetensors, with log, figure and summary
 * MODEL.ckpt stands beside the model while it is trained: an interrupt (or --checkpoint-every)
 * writes it, --resume goes on from it, to the same bytes that a run without a stop gives. A run
 * that asked for neither removes it at its end. All files are opened for a moment before the
 * first step, so that a name that cannot be written is refused at once and not after hours.
 * Final losses are means over the last tenth of the log. */
#include "command_train.h"
#include "commands.h"
#include "density_line.h"
#include "plot_path.h"
#include "problem_options.h"
#include "report.h"

#include <heatball/file.h>
#include <heatball/team.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMED_ROWS = 2000, MOST_CHECKED_DIM = 64 };
static const double HELD_OUT = 0.1;

typedef struct training {
    hb_session *session;
    const hb_train_values *v;
    hb_train_data data;
    hb_problem *drift;
    hb_train_settings settings;
    char *checkpoint, *log_path; /* names */
    uint64_t step, steps;        /* the last one seen, of how many */
    uint64_t per_epoch;          /* steps of an epoch */
    hb_model *model;
    hb_model_info info;
    size_t log_rows;
    double *log;            // (log_rows, HB_LOG_WIDTH)
    hb_density_check check; /* rows 0: none */
} training;

/* ---- before the first step ---- */

static hb_status train_read_images(training *t)
{
    const hb_train_values *v = t->v;
    hb_images images = {0};
    HB_REFUSE_IF(t->session, v->rows || v->labels || !isnan(v->held_out),
                 "%s is not for images; --data is %.200s%s",
                 v->rows     ? "-n"
                 : v->labels ? "--labels"
                             : "--held-out",
                 v->data, v->rows ? ": --limit takes the first of them" : "");
    hb_status status =
        hb_image_options_load(t->session, &v->images, v->data, v->settings.seed, &images);
    if (status == HB_OK) status = hb_train_data_images(v->data, &images, &t->data);
    hb_images_destroy(hb_session_context(t->session), &images);
    return status;
}

static hb_status train_read_data(training *t)
{
    const hb_train_values *v = t->v;
    if (hb_image_options_is(v->data)) return train_read_images(t);
    const hb_status refused = hb_image_options_refuse(t->session, &v->images, v->data);
    if (refused != HB_OK) return refused;
    if (!hb_train_data_is_file(v->data)) {
        HB_REFUSE_IF(t->session, v->labels || !isnan(v->held_out),
                     "%s is for rows of a file; --data is %.80s",
                     v->labels ? "--labels" : "--held-out", v->data);
        return hb_train_data_named(t->session, v->data, v->rows ? v->rows : NAMED_ROWS,
                                   v->settings.seed, &t->data);
    }
    HB_REFUSE_IF(t->session, v->rows, "-n is for a named set; --data is %.200s", v->data);
    const double fraction = isnan(v->held_out) ? HELD_OUT : v->held_out;
    const hb_status status =
        hb_train_data_read(t->session, v->data, v->labels, fraction, v->settings.seed, &t->data);
    HB_REFUSE_IF(
        t->session, status == HB_OK && t->data.n < 2,
        "--held-out is %g, which leaves %zu of %zu rows to train on; at least 2 are needed",
        fraction, t->data.n, t->data.n + t->data.held);
    return status;
}

/* Few rows for so many dimensions: the network learns them by heart. */
static void train_note_few(const training *t)
{
    const int enough = t->data.dim < 10 ? 50 : t->data.dim < 100 ? 5 * t->data.dim : 500;
    if (t->data.n >= (size_t)enough || hb_session_quiet(t->session)) return;
    hb_session_clear(t->session);
    fprintf(stderr,
            "heatball train: note: %zu rows in %d dimension%s are few, and the model will mostly "
            "repeat them; give at least %d\n",
            t->data.n, t->data.dim, t->data.dim > 1 ? "s" : "", enough);
}

/* A file that cannot be written is noticed here. */
static hb_status train_probe(training *t, const char *path)
{
    hb_writer *writer;
    if (!path) return HB_OK;
    const hb_status status = hb_writer_create(hb_session_context(t->session), path, &writer);
    if (status == HB_OK) hb_writer_abort(writer);
    return status;
}

/* path with `end` instead of its last `cut` letters; NULL: no memory. */
static char *other_name(const char *path, size_t cut, const char *end)
{
    const size_t stem = strlen(path) - cut, size = stem + strlen(end) + 1;
    char *name = malloc(size);
    if (name) snprintf(name, size, "%.*s%s", (int)stem, path, end);
    return name;
}

static hb_status train_name_files(training *t)
{
    const hb_train_values *v = t->v;
    char end[64];
    long process = (long)getpid(); /* that writes it */
    HB_TRY(hb_context_agree(hb_session_context(t->session), sizeof process, &process));
    snprintf(end, sizeof end, ".tmp-%ld.log.csv", process);
    t->checkpoint = other_name(v->path, strlen(".safetensors"), ".ckpt");
    t->log_path = v->log ? other_name(v->log, 0, "") : other_name(v->path, 0, end);
    if (!t->checkpoint || !t->log_path) return HB_ERROR_MEMORY;
    return hb_session_writes(t->session, "-o", t->checkpoint, 0);
}

static hb_status train_probe_files(training *t)
{
    const hb_train_values *v = t->v;
    hb_status status = train_probe(t, v->path);
    if (status == HB_OK) status = train_probe(t, t->checkpoint);
    if (status == HB_OK) status = train_probe(t, t->log_path);
    if (status == HB_OK) status = train_probe(t, v->plot);
    if (status != HB_OK || v->settings.resume || access(t->checkpoint, F_OK) != 0) return status;
    if (!hb_session_quiet(t->session))
        fprintf(stderr,
                "heatball train: note: %s is of an earlier run and will be replaced; --resume "
                "would continue from it\n",
                t->checkpoint);
    return HB_OK;
}

/* ---- the training ---- */

static int train_progress(void *user, const hb_model *model, uint64_t step, double loss)
{
    training *t = user;
    const double batch = t->settings.batch;
    (void)model;
    t->step = step;
    hb_session_detail(t->session, "epoch %" PRIu64 " of %" PRIu64 ", loss %.4g",
                      (step + t->per_epoch - 1) / t->per_epoch,
                      (t->steps + t->per_epoch - 1) / t->per_epoch, loss);
    return hb_session_progress(t->session, batch * (double)step, batch * (double)t->steps) != HB_OK;
}

/* hb_train writes the checkpoint after a step, not before the first one; --resume may have found
 * an older one. */
static hb_status train_interrupted(training *t)
{
    const hb_status status = HB_ERROR_INTERRUPTED;
    if (t->step > 0)
        return hb_session_fail(t->session, status,
                               "interrupted after step %" PRIu64 " of %" PRIu64
                               "; the same command with --resume continues from %.200s",
                               t->step, t->steps, t->checkpoint);
    if (t->v->settings.resume && t->checkpoint && access(t->checkpoint, F_OK) == 0)
        return hb_session_fail(
            t->session, status,
            "interrupted before the first new step; the same command continues from %.200s",
            t->checkpoint);
    return hb_session_fail(t->session, status,
                           "interrupted before the first step; nothing is trained yet, and the "
                           "same command begins anew");
}

static hb_status train_run(training *t)
{
    hb_train_settings *s = &t->settings;
    t->per_epoch = (t->data.n + (size_t)s->batch - 1) / (size_t)s->batch;
    t->steps = s->steps ? s->steps : (uint64_t)s->epochs * t->per_epoch;
    s->drift = t->drift;
    s->image_height = t->data.image_height;
    s->image_width = t->data.image_width;
    s->pixel_low = t->data.pixel_low;
    s->pixel_high = t->data.pixel_high;
    s->columns = t->data.columns;
    s->checkpoint = t->checkpoint;
    s->log = t->log_path;
    s->watch = train_progress;
    s->watch_user = t;
    s->watch_every = 1;
    hb_session_count(t->session, "training", "rows");
    const hb_status status =
        hb_train(hb_session_context(t->session), s, t->data.dim, t->data.classes, t->data.n,
                 t->data.x, t->data.labels, &t->model);
    if (status == HB_OK) hb_model_info_get(t->model, sizeof t->info, &t->info);
    return status;
}

/* ---- after the last step ---- */

static hb_status train_read_log(training *t)
{
    int axes;
    uint64_t shape[4];
    HB_TRY(hb_table_read(hb_session_context(t->session), t->log_path, &axes, shape, &t->log));
    t->log_rows = (size_t)shape[0];
    return HB_OK;
}

/* The mean of a column over the last tenth of the log; NaN without rows. */
static double train_final_mean(const training *t, int column)
{
    const size_t count = (t->log_rows + 9) / 10;
    double sum = 0;
    for (size_t i = t->log_rows - count; i < t->log_rows; i++)
        sum += t->log[i * HB_LOG_WIDTH + (size_t)column];
    return sum / (double)count;
}

static double train_seconds(const training *t)
{
    return t->log_rows ? t->log[t->log_rows * HB_LOG_WIDTH - 1] : NAN;
}

static double train_rows_per_second(const training *t)
{
    return (double)t->info.steps * t->settings.batch / train_seconds(t);
}

static hb_status train_draw(training *t)
{
    char name[120], title[200];
    if (!t->v->plot) return HB_OK;
    const char *slash = strrchr(t->data.name, '/');
    hb_figure_plain(slash ? slash + 1 : t->data.name, sizeof name, name);
    snprintf(title, sizeof title, "training on %s by %s", name, t->info.loss);
    return hb_train_figure_write(t->session, title, t->log_rows, t->log, t->v->plot);
}

/* How well the network of hb is a density by itself. A check that fails leaves no line. */
static hb_status train_check_density(training *t)
{
    hb_context *context = hb_session_context(t->session);
    if (t->settings.loss != HB_LOSS_HB || t->settings.head != HB_HEAD_ENERGY ||
        t->data.dim > MOST_CHECKED_DIM || (hb_session_quiet(t->session) && !t->v->json))
        return HB_OK;
    hb_session_count(t->session, "checking the density", "samples");
    const hb_status status = hb_model_density_check(context, t->model, NULL, 0, -1, sizeof t->check,
                                                    &t->check, NULL, NULL);
    if (status != HB_ERROR_NUMERICAL && status != HB_ERROR_ARGUMENT) return status;
    t->check.rows = 0;
    return HB_OK;
}

/* Weights of modes that the noise at tau_max does not join are free. */
static hb_status train_check_modes(training *t)
{
    char note[240];
    double gap, tau;
    if (t->settings.head != HB_HEAD_ENERGY) return HB_OK;
    HB_TRY(hb_model_mode_gap(hb_session_context(t->session), t->model, t->data.n, t->data.x, &gap,
                             &tau));
    if (!(tau > t->info.tau_max)) return HB_OK;
    snprintf(note, sizeof note,
             "the data have groups %.3g standard deviations of the noise at tau_max apart; their "
             "relative weights are not determined: take --tau-max %.3g or more",
             gap, tau);
    hb_session_note(t->session, note);
    return HB_OK;
}

/* In which the noise of --noise is sqrt(2); NULL: it is. */
static const char *train_coordinates(const training *t)
{
    return hb_problem_frame(hb_model_problem(t->model));
}

static hb_status train_print_json(const training *t)
{
    const hb_train_values *v = t->v;
    hb_report *report = hb_report_create();
    hb_report_text(report, "file", v->path, "");
    hb_report_text(report, "data", v->data, "");
    hb_report_unsigned(report, "rows", t->data.n, "");
    hb_report_unsigned(report, "held_out", t->data.held, "");
    hb_report_integer(report, "dim", t->data.dim, "");
    hb_report_integer(report, "classes", t->data.classes, "");
    if (t->data.image_height) {
        hb_report_integer(report, "image_height", t->data.image_height, "");
        hb_report_integer(report, "image_width", t->data.image_width, "");
    }
    hb_report_text(report, "loss", t->info.loss, "");
    hb_report_text(report, "head", HB_OPTION_NAME(hb_train, &t->settings, head), "");
    hb_report_text(report, "process", HB_OPTION_NAME(hb_train, &t->settings, process), "");
    if (train_coordinates(t)) hb_report_text(report, "coordinates", train_coordinates(t), "");
    hb_report_text(report, "standardise", HB_OPTION_NAME(hb_train, &t->settings, standardise), "");
    if (*hb_model_maps(t->model)) hb_report_text(report, "maps", hb_model_maps(t->model), "");
    hb_report_real(report, "scale", t->info.scale, "");
    hb_report_unsigned(report, "parameters", t->info.parameters, "");
    hb_report_unsigned(report, "seed", v->settings.seed, "");
    hb_report_unsigned(report, "steps", t->info.steps, "");
    hb_report_real(report, "seconds", train_seconds(t), "");
    hb_report_real(report, "rows_per_second", train_rows_per_second(t), "");
    hb_report_real(report, "final_loss", train_final_mean(t, HB_LOG_LOSS), "");
    hb_report_real(report, "dsm", train_final_mean(t, HB_LOG_DSM), "");
    hb_report_real(report, "constraint", train_final_mean(t, HB_LOG_CONSTRAINT), "");
    hb_report_real(report, "residual", train_final_mean(t, HB_LOG_RESIDUAL), "");
    const char *key;
    double value;
    for (int i = 0; t->check.rows && (key = hb_density_line_key(&t->check, i, &value)); i++)
        hb_report_real(report, key, value, "");
    if (v->log) hb_report_text(report, "log", v->log, "");
    if (v->plot) hb_report_text(report, "plot", v->plot, "");
    return hb_report_finish(report, 1);
}

static hb_status train_print(training *t)
{
    const hb_train_values *v = t->v;
    hb_session_clear(t->session);
    if (v->json) return train_print_json(t);
    if (hb_session_quiet(t->session)) return HB_OK;
    printf("data: %zu rows of %s in %d dimension%s", t->data.n, t->data.name, t->data.dim,
           t->data.dim == 1 ? "" : "s");
    if (t->data.held) printf(", %zu held out", t->data.held);
    if (t->data.classes) printf(", %d classes", t->data.classes);
    if (t->settings.standardise)
        printf(", standardised (%s)", HB_OPTION_NAME(hb_train, &t->settings, standardise));
    printf("\n");
    if (*hb_model_maps(t->model)) printf("columns: %s\n", hb_model_maps(t->model));
    printf("training: %s, %s head, process %s, %zu parameters, seed %" PRIu64 "\n", t->info.loss,
           HB_OPTION_NAME(hb_train, &t->settings, head),
           HB_OPTION_NAME(hb_train, &t->settings, process), t->info.parameters, v->settings.seed);
    if (train_coordinates(t)) printf("process: %s; tau is its time t\n", train_coordinates(t));
    printf("steps: %" PRIu64 " of %d rows in %.2f s, %s rows/s\n", t->info.steps, t->settings.batch,
           train_seconds(t), hb_report_quantity(train_rows_per_second(t)).text);
    printf("losses at the end: %.4g denoising", train_final_mean(t, HB_LOG_DSM));
    if (t->settings.loss != HB_LOSS_DSM) {
        const double constraint =
            train_final_mean(t, HB_LOG_CONSTRAINT); /* below 0 by its noise alone */
        printf(" %c %.4g constraint (scaled residual %.4g)", constraint < 0 ? '-' : '+',
               fabs(constraint), train_final_mean(t, HB_LOG_RESIDUAL));
    }
    printf("\n");
    if (t->check.rows) hb_density_line_print(&t->check);
    printf("%s: the model", v->path);
    if (v->log) printf("; %s: the log", v->log);
    printf("%s%s%s\n", v->plot ? "; " : "", v->plot ? v->plot : "", v->plot ? ": the losses" : "");
    return HB_OK;
}

/* ---- the command ---- */

/* In few dimensions the points of a residual are all that there are, and their number is no
 * choice. */
static hb_status train_check_nodes(const training *t)
{
    const int loss = t->v->settings.loss, most = loss == HB_LOSS_HB   ? 64
                                                 : loss == HB_LOSS_FP ? 3
                                                                      : 0;
    if (t->v->settings.nodes <= 0 || t->data.dim > most) return HB_OK;
    return hb_session_refuse(t->session,
                             "--nodes has no effect on --loss %s in up to %d dimensions; the "
                             "data have %d: leave it out, or give --anchors",
                             hb_loss_names()[loss], most, t->data.dim);
}

static hb_status run_training(training *t)
{
    const hb_train_values *v = t->v;
    hb_status status = hb_train_options_check(t->session, v);
    if (status == HB_OK) status = train_name_files(t);
    if (status == HB_OK) status = train_read_data(t);
    if (status == HB_OK) status = train_check_nodes(t);
    if (status == HB_OK && v->drift)
        status = hb_problem_of_drift(t->session, v->drift, v->noise, v->convention, &v->params,
                                     t->data.dim, NULL, &t->drift);
    if (status == HB_OK) status = train_probe_files(t);
    hb_session_inputs_end(t->session);
    hb_train_options_settings(v, !t->data.set, t->data.image_height > 0, &t->settings);
    if (status == HB_OK) status = train_run(t);
    if (status == HB_ERROR_INTERRUPTED) return train_interrupted(t);
    if (status == HB_OK) status = hb_model_save(hb_session_context(t->session), t->model, v->path);
    if (status == HB_OK) /* all ranks have read it before it is removed */
        status = hb_context_settle(hb_session_context(t->session), train_read_log(t));
    if (status == HB_OK && !v->settings.checkpoint_every && !v->settings.resume)
        unlink(t->checkpoint);
    if (status == HB_OK) status = train_draw(t);
    if (status == HB_OK) train_note_few(t);
    if (status == HB_OK) status = train_check_modes(t);
    if (status == HB_OK) status = train_check_density(t);
    return status == HB_OK ? train_print(t) : status;
}

static hb_status run_train(hb_session *session, const void *values)
{
    training t = {.session = session, .v = values};
    const hb_status status = run_training(&t);
    if (t.log_path && !t.v->log) unlink(t.log_path);
    if (t.log) hb_context_release(hb_session_context(session), t.log);
    hb_model_destroy(t.model);
    hb_problem_destroy(t.drift);
    hb_train_data_destroy(&t.data);
    free(t.checkpoint);
    free(t.log_path);
    return status;
}

const hb_command hb_command_train = {
    .name = "train",
    .summary = "train a score network on a data set or on a file of samples",
    .text =
        "Trains a network for the score of data under a process that turns them into noise, by "
        "denoising score matching alone or with a constraint: the Fokker-Planck residual or the "
        "heat-ball residual. The model file has all that generate, evaluate and helmholtz need. "
        "The same data, options and kind of processor give bit-identical results on any number of "
        "threads. An interrupted run writes a checkpoint, the name of the model with .ckpt at its "
        "end. --resume continues from it; the result is bit-identical to a run without a stop.",
    .examples =
        {"heatball train --data ring --loss hb --epochs 20 --width 64 -o ring.safetensors",
         "heatball train --data ring --loss hb --epochs 20 --width 64 -o ring.safetensors "
         "--plot ring.svg",
         "heatball data export ring -n 2000 -o rows.npy",
         "heatball train --data rows.npy --loss hb --epochs 20 --width 64 --log losses.csv -o "
         "rows.safetensors"},
    .options = hb_train_options,
    .size = sizeof(hb_train_values),
    .run = run_train};
