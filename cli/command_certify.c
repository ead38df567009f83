/* heatball certify: how far a score is from solving its equation, where, and by which test.
 *
 *     MODEL or --score, --data -> lines, and with -o DIR a page with figures and a JSON file
 * The score is that of a model file, or of a Python function that a process of its own computes
 * (script_score.c). Rows of a file are those that the score has not seen: of a model's own file
 * the ones that `train` held out, found again from its seed, and then the others are its
 * training rows. Of a named set rows are drawn, and its exact score is known. The lines are the
 * library's (heatball/certify.h). */
#include "command_train.h"
#include "commands.h"
#include "problem_options.h"
#include "script_score.h"

#include <heatball/certify.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

static const double HELD_OUT = 0.1;
enum { DRAWS = 2000 };
static const double GRACE = 0.1; /* seconds that a script has beyond the library's limit */
static const uint64_t FIRST_DRAW = UINT64_C(1)
                                   << 40; /* far from those of a training, whatever the seeds */

typedef struct hb_certify_values {
    const char *model, *score, *python, *data, *training, *drift, *initial, *directory;
    hb_texts params;
    hb_reals tau;
    hb_certify_settings settings;
    double held_out;
    int label, json, exit_code;
} hb_certify_values;

#define VALUES hb_certify_values
static const hb_option certify_options[] = {
    HB_OPTION_HEADING("Score"),
    HB_OPTION(TEXT, NULL, "MODEL", model, "a model file of heatball train; or --score",
              .rules = HB_OPTION_POSITIONAL),
    HB_OPTION(TEXT, "score", "MODULE:FUNCTION", score,
              "instead of a model: a Python function f(x, tau) of a module or of FILE.py that "
              "returns a score of shape (n, dim) or a log-density of shape (n,)"),
    HB_OPTION(TEXT, "python", "PROGRAM", python, "the interpreter of --score",
              .fallback = "python3"),
    HB_OPTION(INTEGER, "label", "K", label, "the class, of a model with labels; -1: none",
              .min = -1, .max = 1e9, .fallback = "-1"),
    HB_OPTION_HEADING("Data"),
    HB_OPTION(TEXT, "data", "NAME|FILE", data,
              "a set of heatball data list, or a .npy or .csv file of rows",
              .rules = HB_OPTION_REQUIRED),
    HB_OPTION(REAL, "held-out", "F", held_out,
              "of a model: fraction of the rows of the file that train held out; 1 for a file of "
              "which it has seen nothing; default: 0.1",
              .max = 1, .rules = HB_OPTION_ABOVE),
    HB_OPTION(TEXT, "training", "FILE", training,
              "rows that the score was made from, for the test of memorisation"),
    HB_OPTION_HEADING("Process"),
    HB_OPTION_SETTING(hb_certify, "process", NULL, process, .rules = HB_OPTION_OPEN),
    HB_OPTION(TEXT, "drift", "F", drift,
              "a process with this drift, dx = F dtau + sqrt(2) dW, instead of --process; "
              "components by commas"),
    HB_OPTION(TEXTS, "param", "NAME=VALUE", params,
              "a number in --drift; may be given several times"),
    HB_OPTION(TEXT, "initial", "DENSITY", initial,
              "the distribution of the rows under --drift, as in heatball solve: the truth at "
              "points is solved from it"),
    HB_OPTION_SETTING(
        hb_certify, "tau-min", "T", tau_min, .rules = HB_OPTION_OPEN,
        .help = "the smallest tau at which the score is known; default: the model's, or 0.001"),
    HB_OPTION_SETTING(hb_certify, "tau-max", "T", tau_max, .rules = HB_OPTION_OPEN,
                      .help = "the largest; default: the model's, or 3"),
    HB_OPTION_HEADING("Tests"),
    HB_OPTION(REALS, "tau", "LIST", tau,
              "tau at which the score is tested, rising; default: those of 0.02, 0.1, 0.3, 1 that "
              "it is known for",
              .max = 1e6, .rules = HB_OPTION_ABOVE),
    HB_OPTION_SETTING(hb_certify, "tolerance", "E", tolerance, .rules = 0),
    HB_OPTION_SETTING(hb_certify, "level", "P", level, .rules = 0),
    HB_OPTION_SETTING(hb_certify, "rows", "N", rows, .rules = 0),
    HB_OPTION_SETTING(hb_certify, "pairs", "N", pairs, .rules = 0),
    HB_OPTION_SETTING(hb_certify, "time-fraction", "F", time_fraction, .rules = 0,
                      .old = "radius-share"),
    HB_OPTION_SETTING(hb_certify, "flow-samples", "N", flow_samples, .rules = 0, .old = "samples"),
    HB_OPTION_HEADING("Running"),
    HB_OPTION_SETTING(hb_certify, "max-time", "SECONDS", max_time, .rules = 0),
    HB_OPTION_SETTING(hb_certify, "seed", "S", seed, .rules = 0),
    HB_OPTION_HEADING("Output"),
    HB_OPTION_JSON,
    HB_OPTION(FLAG, "exit-code", NULL, exit_code,
              "exit with 1 when the certificate has not passed: a line fails, or --max-time ended "
              "it before all lines were measured"),
    HB_OPTION(TEXT, NULL, "DIR", directory,
              "the directory, made when it is not there, for the page certificate.html, "
              "certificate.json and the figures",
              .letter = 'o'),
    {0}};

/* What a run holds. */
typedef struct certify_run {
    hb_session *session;
    const hb_certify_values *v;
    hb_certify_settings settings;
    hb_model *model;
    hb_model_info info;
    hb_train_data data, training;
    double *draws; // (DRAWS, dim) of a named set
    hb_problem *problem;
    hb_script *script;
    hb_certificate *certificate;
    double limit; /* of hb_session_now; 0: none */
    int dim;
    size_t n;
    const double *x; // (n, dim): rows that the score has not seen
} certify_run;

/* ---- what goes together ---- */

static hb_status certify_check_options(hb_session *session, const hb_certify_values *v)
{
    HB_REFUSE_IF(session, !v->model == !v->score,
                 v->model ? "MODEL and --score are both given; give one of them"
                          : "there is neither a MODEL nor --score");
    HB_REFUSE_IF(session, v->score && !isnan(v->held_out),
                 "--held-out is for a model; with --score all rows of --data count as held out");
    HB_REFUSE_IF(session, v->score && v->label >= 0, "--label is for a model");
    HB_REFUSE_IF(session, v->model && v->settings.process >= 0,
                 "--process is for --score; a model has its own");
    HB_REFUSE_IF(session,
                 v->drift && v->settings.process >= 0 && v->settings.process != HB_PROCESS_DRIFT,
                 "--drift and --process are both given; give one of them");
    HB_REFUSE_IF(session, !v->drift && v->settings.process == HB_PROCESS_DRIFT,
                 "--process is drift; give --drift");
    HB_REFUSE_IF(session, !v->drift && (v->initial || v->params.n > 0), "%s goes with --drift",
                 v->initial ? "--initial" : "--param");
    HB_REFUSE_IF(session, !hb_train_data_is_file(v->data) && !isnan(v->held_out),
                 "--held-out is for rows of a file; --data is %.80s", v->data);
    return HB_OK;
}

/* The files of the page must not be ones that are read, nor of anybody else; the library refuses
 * the same at the end, when the run is lost. */
static hb_status certify_check_files(hb_session *session, const char *directory)
{
    int ours = 0;
    const char *name;
    for (size_t k = 0; directory && (name = hb_certificate_file(k)); k++) {
        char path[4096];
        struct stat found;
        const int n = snprintf(path, sizeof path, "%s/%s", directory, name);
        const int there = lstat(path, &found) == 0, figure = k >= 2;
        if (k == 0) ours = there; /* an earlier page, which is replaced */
        if (there && !ours)
            return hb_session_refuse(session,
                                     "-o: %.300s would be replaced, but the directory has no "
                                     "certificate.json and so is not that of a certificate; choose "
                                     "another directory",
                                     path);
        if (n < (int)sizeof path && (!figure || (k - 2) % 3 == 0))
            HB_TRY(hb_session_writes(session, "-o", path, figure));
    }
    return HB_OK;
}

/* ---- rows ---- */

static hb_status certify_draw_rows(certify_run *run)
{
    HB_TRY(hb_train_data_named(run->session, run->v->data, 0, run->settings.seed, &run->data));
    run->dim = run->data.dim;
    run->draws = malloc((size_t)DRAWS * (size_t)run->dim * sizeof *run->draws);
    if (!run->draws) return HB_ERROR_MEMORY;
    run->x = run->draws;
    run->n = DRAWS;
    run->settings.truth = run->data.set;
    return hb_mixture_sample(hb_session_context(run->session), run->data.set, run->settings.seed,
                             FIRST_DRAW, DRAWS, run->draws, NULL);
}

static hb_status certify_read_rows(certify_run *run)
{
    const hb_certify_values *v = run->v;
    const double fraction = run->script || v->score ? 1
                            : isnan(v->held_out)    ? HELD_OUT
                                                    : v->held_out;
    HB_TRY(hb_train_data_read(run->session, v->data, NULL, fraction, run->info.seed, &run->data));
    run->dim = run->data.dim;
    run->x = run->data.x + run->data.n * (size_t)run->dim;
    run->n = run->data.held;
    if (run->data.n > 0 && !v->training) {
        run->settings.training = run->data.x;
        run->settings.n_training = run->data.n;
    }
    return HB_OK;
}

static hb_status certify_read_training(certify_run *run)
{
    const char *path = run->v->training;
    if (!path) return HB_OK;
    HB_TRY(hb_train_data_read(run->session, path, NULL, 1, 0, &run->training));
    HB_REFUSE_IF(run->session, run->training.dim != run->dim,
                 "%.150s has %d columns; the rows of %.150s have %d", path, run->training.dim,
                 run->v->data, run->dim);
    run->settings.training = run->training.x;
    run->settings.n_training = run->training.held;
    return HB_OK;
}

/* Fewer than the library needs for a part of a test is said here, where it is known what to do. */
static hb_status certify_check_rows(certify_run *run)
{
    enum { LEAST = 100 };
    HB_REFUSE_IF(run->session, run->model && run->info.dim != run->dim,
                 "%.150s has %d column%s; %.150s was trained on %d", run->v->data, run->dim,
                 run->dim == 1 ? "" : "s", run->v->model, run->info.dim);
    HB_REFUSE_IF(run->session, run->n < LEAST && run->model && run->data.n > 0,
                 "%.150s has %zu rows that the model has not seen, a fraction of %g; a certificate "
                 "needs %d. With a file of new rows give --held-out 1",
                 run->v->data, run->n, isnan(run->v->held_out) ? HELD_OUT : run->v->held_out,
                 LEAST);
    if (run->settings.n_training < LEAST && !run->v->training) {
        run->settings.training = NULL;
        run->settings.n_training = 0;
    }
    return HB_OK;
}

/* ---- the score ---- */

/* What is left of --max-time for the library. */
static void certify_limit(certify_run *run)
{
    if (run->limit > 0) run->settings.max_time = fmax(run->limit - hb_session_now(), 1e-3);
}

static hb_status certify_model(certify_run *run)
{
    certify_limit(run);
    return hb_certify_model(hb_session_context(run->session), run->model, &run->settings,
                            run->v->label, run->n, run->x, &run->certificate);
}

static hb_status certify_script(certify_run *run)
{
    hb_certify_settings *s = &run->settings;
    int is_density;
    const double tau = s->tau ? s->tau[0] : !isnan(s->tau_max) ? s->tau_max : 0.1;
    HB_TRY(hb_script_open(run->session, run->v->python, run->v->score, run->dim, run->x, tau,
                          run->limit > 0 ? run->limit + GRACE : 0, &is_density, &run->script));
    certify_limit(run);
    s->log_density = is_density ? hb_script_ask : NULL;
    const hb_status status =
        hb_certify(hb_session_context(run->session), s, run->dim, run->n, run->x,
                   is_density ? NULL : hb_script_ask, run->script, &run->certificate);
    if (status != HB_OK && hb_session_stops(run->session, NULL, 0, 0)) return HB_ERROR_INTERRUPTED;
    if (status != HB_OK && hb_script_message(run->script)[0])
        return hb_session_fail(run->session, status, "--score: %s", hb_script_message(run->script));
    return status;
}

static hb_status certify_open_problem(certify_run *run)
{
    const hb_certify_values *v = run->v;
    if (!v->drift) return HB_OK;
    HB_TRY(hb_problem_of_drift(run->session, v->drift, NULL, -1, &v->params, run->dim, v->initial,
                               &run->problem));
    run->settings.drift = run->problem;
    run->settings.process = HB_PROCESS_DRIFT;
    return HB_OK;
}

/* ---- what is shown ---- */

static const char *const verdict_names[] = {"holds", "FAILS", "-"};

static void certify_print_number(double value, int width)
{
    char text[24] = "";
    if (!isnan(value)) snprintf(text, sizeof text, "%.3g", value);
    printf("  %*s", width, text);
}

static hb_status certify_print(const certify_run *run)
{
    hb_context *context = hb_session_context(run->session);
    const size_t n = hb_certificate_size(run->certificate);
    if (!hb_session_quiet(run->session))
        printf("%-16s  %6s  %9s  %9s  %9s  %-5s\n", "# line", "tau", "value", "error", "p", "");
    for (size_t i = 0; i < n; i++) {
        hb_certificate_line line;
        HB_TRY(hb_certificate_line_get(context, run->certificate, i, sizeof line, &line));
        printf("%-16s", line.name);
        certify_print_number(line.tau, 6);
        certify_print_number(line.value, 9);
        certify_print_number(line.error, 9);
        certify_print_number(line.p_value, 9);
        printf("  %-5s  %s\n", verdict_names[line.verdict], line.text);
    }
    printf("%s\n", hb_certificate_summary(run->certificate));
    return HB_OK;
}

static hb_status certify_show(const certify_run *run)
{
    hb_context *context = hb_session_context(run->session);
    const hb_certify_values *v = run->v;
    hb_session_inputs_end(run->session);
    if (v->directory) HB_TRY(hb_certificate_save(context, run->certificate, v->directory));
    hb_session_clear(run->session);
    if (!v->json) {
        HB_TRY(certify_print(run));
        if (v->directory && !hb_session_quiet(run->session))
            printf("%s/certificate.html\n", v->directory);
        return HB_OK;
    }
    char *text;
    HB_TRY(hb_certificate_json(context, run->certificate, &text));
    fputs(text, stdout);
    hb_context_release(context, text);
    return HB_OK;
}

/* ---- the command ---- */

static hb_status certify_prepare(certify_run *run)
{
    const hb_certify_values *v = run->v;
    run->settings.tau = v->tau.values;
    run->settings.n_tau = v->tau.n;
    run->settings.name = v->model ? v->model : v->score;
    run->settings.data_name = v->data;
    HB_TRY(certify_check_options(run->session, v));
    HB_TRY(certify_check_files(run->session, v->directory));
    if (v->model) {
        HB_TRY(hb_model_load(hb_session_context(run->session), v->model, &run->model));
        hb_model_info_get(run->model, sizeof run->info, &run->info);
    }
    HB_TRY(hb_train_data_is_file(v->data) ? certify_read_rows(run) : certify_draw_rows(run));
    HB_TRY(certify_read_training(run));
    HB_TRY(certify_check_rows(run));
    return certify_open_problem(run);
}

static hb_status run_certify(hb_session *session, const void *values)
{
    certify_run run = {.session = session, .v = values};
    hb_certify_settings_default(sizeof run.settings, &run.settings);
    hb_options_settings(certify_options, values, &run.settings);
    const double limit = run.settings.max_time;
    hb_session_limit(session, limit);
    run.limit = limit > 0 ? hb_session_now() + limit : 0;
    hb_status status = certify_prepare(&run);
    hb_session_limit(session, 0);
    if (status == HB_ERROR_INTERRUPTED && limit > 0 && hb_session_now() > run.limit)
        status = hb_session_fail(session, status,
                                 "the rows were not read within the %g s of --max-time", limit);
    if (status == HB_OK) status = run.model ? certify_model(&run) : certify_script(&run);
    if (status == HB_OK) status = certify_show(&run);
    if (status == HB_OK && run.v->exit_code && !hb_certificate_passed(run.certificate))
        status = hb_session_fail(session, HB_ERROR_NUMERICAL, "%s",
                                 hb_certificate_summary(run.certificate));
    hb_certificate_destroy(run.certificate);
    hb_script_close(run.script);
    hb_problem_destroy(run.problem);
    hb_train_data_destroy(&run.data);
    hb_train_data_destroy(&run.training);
    hb_model_destroy(run.model);
    free(run.draws);
    return status;
}

const hb_command hb_command_certify = {
    .name = "certify",
    .summary = "test a score against its equation and against held-out samples",
    .text =
        "Tests the score of a model or of a Python function. Every line is a number that is 0 "
        "for the score of the true distribution of the rows, with an error, a p-value and a "
        "verdict in words: the residual of the heat-ball identity, Stein's identity (size, "
        "width, mean, and locally), the curl, memorisation, the truth at points where it is "
        "known, at each tau; samples and likelihoods. All verdicts together have the level P "
        "(Holm). The exit code is 0 whether the score passes or not, unless --exit-code is given.",
    .examples = {"heatball train --data ring --loss hb --epochs 20 --width 64 -o ring.safetensors",
                 "heatball certify ring.safetensors --data ring",
                 "heatball certify ring.safetensors --data ring --tau 0.1,0.5 -o certificate",
                 "echo \"def score(x, tau): return -x\" > gauss.py",
                 "heatball certify --score gauss.py:score --data ring --tau 0.1"},
    .options = certify_options,
    .size = sizeof(hb_certify_values),
    .run = run_certify,
    .alone = 1};
