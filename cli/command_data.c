/* heatball data: the planar sets, listed, shown and drawn into files.
 *
 *     list           every set in one line
 *     show NAME      its components, mean and covariance; --plot: density and draws
 *     export NAME    N draws into a .npy or .csv file
 * Sets are Gaussian mixtures, so that --tau gives the exact law after the OU or VE process has run. Draw i
 * is a function of (set, tau, seed, i) alone. The ring has variance 3.1394 along both axes. */
#include "commands.h"
#include "data_figure.h"
#include "plot_path.h"
#include "points.h"
#include "report.h"
#include "rows.h"

#include <heatball/data.h>
#include <heatball/file.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_ROWS = 65536, SHOWN_COMPONENTS = 8 };
enum { ACTION_LIST, ACTION_SHOW, ACTION_EXPORT };

typedef struct data_values {
    int action, process, json;
    const char *name, *path, *plot;
    uint64_t n, seed;
    double tau;
} data_values;

static const char *const action_names[] = {"list", "show", "export", NULL};
static const char *const process_names[] = {"ou", "ve", NULL};
static const hb_process process_codes[] = {HB_PROCESS_OU, HB_PROCESS_VE};

static const hb_option data_options[] = {
    {.kind = HB_OPTION_CHOICE,
     .placeholder = "ACTION",
     .help = "what to do: list the sets, show one, or export draws of one",
     .choices = action_names,
     .rules = HB_OPTION_REQUIRED | HB_OPTION_POSITIONAL,
     .offset = offsetof(data_values, action)},
    {.kind = HB_OPTION_TEXT,
     .placeholder = "NAME",
     .help = "the name of a set, for show and export",
     .rules = HB_OPTION_POSITIONAL,
     .offset = offsetof(data_values, name)},
    {.letter = 'n',
     .kind = HB_OPTION_UNSIGNED,
     .placeholder = "N",
     .help = "number of rows to export",
     .min = 1,
     .max = 1e15,
     .offset = offsetof(data_values, n)},
    {.name = "process",
     .kind = HB_OPTION_CHOICE,
     .help = "the process that makes noise of the data: Ornstein-Uhlenbeck or variance-exploding",
     .choices = process_names,
     .fallback = "ou",
     .offset = offsetof(data_values, process)},
    {.name = "tau",
     .kind = HB_OPTION_REAL,
     .placeholder = "T",
     .help = "show or export the set after the process has run this long",
     .max = 1e6,
     .fallback = "0",
     .offset = offsetof(data_values, tau)},
    HB_OPTION_SEED(data_values, seed, "42"),
    HB_OPTION_JSON(data_values, json),
    {.letter = 'o',
     .kind = HB_OPTION_TEXT,
     .placeholder = "FILE",
     .help = "the file to export to, .npy or .csv by its name",
     .offset = offsetof(data_values, path)},
    {.name = "plot",
     .kind = HB_OPTION_TEXT,
     .placeholder = "FILE",
     .help = "with show: draw density and draws into this file, .svg, .png or .pdf by its name",
     .offset = offsetof(data_values, plot)},
    {0}};

/* ---- checks ---- */

static hb_status refuse(hb_session *session, const char *text)
{
    return hb_session_fail(session, HB_ERROR_ARGUMENT, "%s", text);
}

static hb_status check_values(hb_session *session, const data_values *v)
{
    if (v->action == ACTION_LIST && v->name) return refuse(session, "list takes no NAME");
    if (v->action != ACTION_LIST && !v->name)
        return refuse(session, "NAME is missing; heatball data list prints the sets");
    if (v->action == ACTION_EXPORT && (v->n == 0 || !v->path))
        return refuse(session, "export needs -n N and -o FILE");
    if (v->action != ACTION_EXPORT && (v->n > 0 || v->path))
        return refuse(session, "-n and -o are for export");
    if (v->action != ACTION_SHOW && v->plot) return refuse(session, "--plot is for show");
    if (v->path && hb_rows_check_path(session, v->path) != HB_OK) return HB_ERROR_ARGUMENT;
    return hb_plot_path_check(session, v->plot, NULL);
}

/* ---- list ---- */

static hb_status list_sets(hb_session *session, const data_values *v)
{
    hb_context *context = hb_session_context(session);
    json_t *list = v->json ? json_array() : NULL;
    if (!v->json) printf("%-16s  %10s  %5s  %s\n", "name", "components", "parts", "what it is");
    for (const char *const *name = hb_data_names(); *name; name++) {
        hb_mixture *mixture;
        const hb_status status = hb_mixture_named(context, *name, &mixture);
        if (status != HB_OK) return status;
        const size_t count = hb_mixture_count(mixture);
        const int parts = hb_mixture_modes(mixture, NULL);
        if (v->json)
            json_array_append_new(list, json_pack("{s:s, s:i, s:I, s:i, s:s}", "name", *name, "dim",
                                                  2, "components", (json_int_t)count, "parts",
                                                  parts, "description", hb_data_describe(*name)));
        else
            printf("%-16s  %10zu  %5d  %s\n", *name, count, parts, hb_data_describe(*name));
        hb_mixture_destroy(mixture);
    }
    return v->json ? hb_rows_print_json(json_pack("{s:o}", "sets", list), stdout) : HB_OK;
}

/* ---- show ---- */

/* The set at tau: weights, means and covariances of its components, and of the whole. */
typedef struct set_table {
    size_t n;
    double *weight, *mean, *covariance; // (n), (n, 2), (n, 4)
    double whole_mean[2], whole_covariance[4];
} set_table;

/* N(m, C) becomes N(a m, a^2 C + b I). */
static void carry(const data_values *v, double *mean, double *covariance)
{
    const int ou = process_codes[v->process] == HB_PROCESS_OU;
    const double a = ou ? exp(-v->tau) : 1, b = ou ? -expm1(-2 * v->tau) : 2 * v->tau;
    for (int i = 0; i < 2; i++) mean[i] *= a;
    for (int i = 0; i < 4; i++) covariance[i] = a * a * covariance[i] + (i % 3 == 0 ? b : 0);
}

static hb_status fill_table(hb_context *context, const data_values *v, const hb_mixture *mixture,
                            set_table *t)
{
    t->n = hb_mixture_count(mixture);
    t->weight = malloc(7 * t->n * sizeof(double));
    if (!t->weight) return HB_ERROR_MEMORY;
    t->mean = t->weight + t->n;
    t->covariance = t->mean + 2 * t->n;
    for (size_t k = 0; k < t->n; k++) {
        const hb_status status = hb_mixture_component(context, mixture, k, &t->weight[k],
                                                      &t->mean[2 * k], &t->covariance[4 * k]);
        if (status != HB_OK) return status;
        carry(v, &t->mean[2 * k], &t->covariance[4 * k]);
    }
    hb_mixture_moments(mixture, t->whole_mean, t->whole_covariance);
    carry(v, t->whole_mean, t->whole_covariance);
    return HB_OK;
}

static json_t *real_list(int n, const double *values)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(list, json_real(values[i]));
    return list;
}

static hb_status show_json(const data_values *v, const hb_mixture *mixture, const set_table *t,
                           const hb_rows *rows)
{
    json_t *object = json_pack(
        "{s:s, s:s, s:i, s:s, s:f, s:i, s:o, s:o, s:o}", "name", v->name, "description",
        hb_data_describe(v->name), "dim", 2, "process", process_names[v->process], "tau", v->tau,
        "parts", hb_mixture_modes(mixture, NULL), "mean", real_list(2, t->whole_mean), "covariance",
        real_list(4, t->whole_covariance), "components", hb_rows_json(rows));
    if (object && v->plot) json_object_set_new(object, "plot", json_string(v->plot));
    return hb_rows_print_json(object, stdout);
}

static hb_status show_table(hb_session *session, const data_values *v, const hb_mixture *mixture,
                            const set_table *t)
{
    const hb_rows_column columns[] = {{.name = "weight", .values = t->weight},
                                      {.name = "mean", .width = 2, .values = t->mean},
                                      {.name = "covariance", .width = 4, .values = t->covariance}};
    hb_rows rows = {t->n, 3, columns};
    hb_session_clear(session);
    if (v->json) return show_json(v, mixture, t, &rows);
    const double *m = t->whole_mean, *C = t->whole_covariance;
    printf("%s: %s\n", v->name, hb_data_describe(v->name));
    printf("process %s, tau %.9g, parts %d, components %zu\n", process_names[v->process], v->tau,
           hb_mixture_modes(mixture, NULL), t->n);
    printf("mean %.6g %.6g, covariance %.6g %.6g; %.6g %.6g\n", m[0], m[1], C[0], C[1], C[2], C[3]);
    if (t->n <= SHOWN_COMPONENTS)
        hb_rows_print(&rows, stdout);
    else if (!hb_session_quiet(session))
        printf("# --json prints all %zu components\n", t->n);
    if (v->plot && !hb_session_quiet(session)) printf("%s: density and draws\n", v->plot);
    return HB_OK;
}

static hb_status show_set(hb_session *session, const data_values *v, const hb_mixture *mixture)
{
    set_table table = {0};
    hb_status status = fill_table(hb_session_context(session), v, mixture, &table);
    if (status == HB_OK && v->plot)
        status = hb_data_figure_write(session, v->name, mixture, process_codes[v->process], v->tau,
                                      v->seed, v->plot);
    if (status == HB_OK) status = show_table(session, v, mixture, &table);
    free(table.weight);
    return status;
}

/* ---- export ---- */

static hb_status write_header(hb_writer *writer, const data_values *v)
{
    static const char *const columns[] = {"x_1", "x_2"};
    const uint64_t shape[] = {v->n, 2};
    if (hb_points_has_extension(v->path, ".csv")) return hb_csv_header(writer, 2, columns);
    return hb_npy_begin(writer, HB_F64, 2, shape);
}

static hb_status write_rows(hb_session *session, hb_writer *writer, const data_values *v,
                            const hb_mixture *mixture, double *x)
{
    hb_context *context = hb_session_context(session);
    hb_status status = write_header(writer, v);
    hb_session_count(session, "drawing", "rows");
    for (uint64_t done = 0; status == HB_OK && done < v->n;) {
        const size_t n = v->n - done < CHUNK_ROWS ? (size_t)(v->n - done) : CHUNK_ROWS;
        status = hb_mixture_sample_at(context, mixture, process_codes[v->process], v->tau, v->seed,
                                      done, n, x, NULL);
        if (status == HB_OK)
            status = hb_points_has_extension(v->path, ".csv")
                         ? hb_csv_rows(writer, HB_F64, n, 2, x)
                         : hb_writer_write(writer, x, 2 * n * sizeof *x);
        done += n;
        if (status == HB_OK) status = hb_session_progress(session, (double)done, (double)v->n);
    }
    return status;
}

static hb_status print_export_json(const data_values *v)
{
    hb_report *report = hb_report_create();
    hb_report_text(report, "file", v->path, "");
    hb_report_text(report, "name", v->name, "");
    hb_report_unsigned(report, "rows", v->n, "");
    hb_report_integer(report, "columns", 2, "");
    hb_report_text(report, "process", process_names[v->process], "");
    hb_report_real(report, "tau", v->tau, "");
    hb_report_unsigned(report, "seed", v->seed, "");
    const hb_status status = hb_report_print(report, 1, stdout);
    hb_report_destroy(report);
    return status;
}

static hb_status print_export(hb_session *session, const data_values *v)
{
    hb_session_clear(session);
    if (v->json) return print_export_json(v);
    if (!hb_session_quiet(session))
        printf("%s: %" PRIu64 " rows of %s, tau %.9g, seed %" PRIu64 "\n", v->path, v->n, v->name,
               v->tau, v->seed);
    return HB_OK;
}

static hb_status export_set(hb_session *session, const data_values *v, const hb_mixture *mixture)
{
    hb_writer *writer;
    double *x = malloc(2 * CHUNK_ROWS * sizeof *x); // (CHUNK_ROWS, 2)
    if (!x) return HB_ERROR_MEMORY;
    hb_status status = hb_writer_create(hb_session_context(session), v->path, &writer);
    if (status == HB_OK) {
        status = write_rows(session, writer, v, mixture, x);
        if (status == HB_OK)
            status = hb_writer_commit(writer);
        else
            hb_writer_abort(writer);
    }
    free(x);
    return status == HB_OK ? print_export(session, v) : status;
}

/* ---- the command ---- */

static hb_status refuse_name(hb_session *session, const char *name, hb_status status)
{
    size_t n = 0;
    while (hb_data_names()[n]) n++;
    const char *nearest = hb_options_nearest(name, n, hb_data_names());
    if (!nearest) return status;
    return hb_session_fail(session, status, "%s (did you mean %s?)",
                           hb_context_message(hb_session_context(session)), nearest);
}

static hb_status run_data(hb_session *session, const void *values)
{
    const data_values *v = values;
    hb_mixture *mixture = NULL;
    hb_status status = check_values(session, v);
    if (status != HB_OK) return status;
    if (v->action == ACTION_LIST) return list_sets(session, v);
    status = hb_mixture_named(hb_session_context(session), v->name, &mixture);
    if (status != HB_OK) return refuse_name(session, v->name, status);
    status =
        v->action == ACTION_SHOW ? show_set(session, v, mixture) : export_set(session, v, mixture);
    hb_mixture_destroy(mixture);
    return status;
}

const hb_command hb_command_data = {
    .name = "data",
    .summary = "list the planar sets, show one, or export draws of one",
    .text = "Lists the sets of the plane that come with heatball, shows the parameters of one, or "
            "exports independent draws of one. Each is a Gaussian mixture, so that its law under "
            "the Ornstein-Uhlenbeck and the variance-exploding process is exact at every tau. "
            "Columns of an exported file are x_1, x_2.",
    .example = "heatball data export two_moon -n 2000 --seed 7 -o moons.npy",
    .options = data_options,
    .size = sizeof(data_values),
    .run = run_data};
