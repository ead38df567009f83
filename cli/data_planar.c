/* heatball data show and export of a planar set.
 *
 *     show NAME      its components, mean and covariance; --plot: density and draws
 *     export NAME    N draws into a .npy or .csv file
 * Sets are Gaussian mixtures, so that --tau gives the exact law after the OU or VE process has run. Draw i
 * is a function of (set, tau, seed, i) alone. The ring has variance 3.1394 along both axes. */
#include "data_planar.h"
#include "data_figure.h"
#include "points.h"
#include "report.h"
#include "rows.h"

#include <heatball/file.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { CHUNK_ROWS = 65536, SHOWN_COMPONENTS = 8 };

const char *const hb_data_process_names[] = {"ou", "ve", NULL};

static hb_process process_of(const hb_data_values *v)
{
    return v->process ? HB_PROCESS_VE : HB_PROCESS_OU;
}

/* ---- show ---- */

/* The set at tau: weights, means and covariances of its components, and of the whole. */
typedef struct set_table {
    size_t n;
    double *weight, *mean, *covariance; // (n), (n, 2), (n, 4)
    double whole_mean[2], whole_covariance[4];
} set_table;

/* N(m, C) becomes N(a m, a^2 C + b I). */
static void carry(const hb_data_values *v, double *mean, double *covariance)
{
    const int ou = process_of(v) == HB_PROCESS_OU;
    const double a = ou ? exp(-v->tau) : 1, b = ou ? -expm1(-2 * v->tau) : 2 * v->tau;
    for (int i = 0; i < 2; i++) mean[i] *= a;
    for (int i = 0; i < 4; i++) covariance[i] = a * a * covariance[i] + (i % 3 == 0 ? b : 0);
}

static hb_status fill_table(hb_context *context, const hb_data_values *v, const hb_mixture *mixture,
                            set_table *t)
{
    t->n = hb_mixture_count(mixture);
    t->weight = malloc(7 * t->n * sizeof(double));
    if (!t->weight) return HB_ERROR_MEMORY;
    t->mean = t->weight + t->n;
    t->covariance = t->mean + 2 * t->n;
    for (size_t k = 0; k < t->n; k++) {
        HB_TRY(hb_mixture_component(context, mixture, k, &t->weight[k], &t->mean[2 * k],
                                    &t->covariance[4 * k]));
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

static hb_status show_json(const hb_data_values *v, const hb_mixture *mixture, const set_table *t,
                           const hb_rows *rows)
{
    json_t *object = json_pack(
        "{s:s, s:s, s:i, s:s, s:f, s:i, s:o, s:o, s:o}", "name", v->name, "description",
        hb_data_describe(v->name), "dim", 2, "process", hb_data_process_names[v->process], "tau",
        v->tau, "parts", hb_mixture_modes(mixture, NULL), "mean", real_list(2, t->whole_mean),
        "covariance", real_list(4, t->whole_covariance), "components", hb_rows_json(rows));
    if (object && v->plot) json_object_set_new(object, "plot", json_string(v->plot));
    return hb_rows_print_json(object, stdout);
}

static hb_status show_table(hb_session *session, const hb_data_values *v, const hb_mixture *mixture,
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
    printf("process %s, tau %.9g, parts %d, components %zu\n", hb_data_process_names[v->process],
           v->tau, hb_mixture_modes(mixture, NULL), t->n);
    printf("mean %.6g %.6g, covariance %.6g %.6g; %.6g %.6g\n", m[0], m[1], C[0], C[1], C[2], C[3]);
    if (t->n <= SHOWN_COMPONENTS)
        hb_rows_print(&rows, stdout);
    else if (!hb_session_quiet(session))
        printf("# --json prints all %zu components\n", t->n);
    if (v->plot && !hb_session_quiet(session)) printf("%s: density and draws\n", v->plot);
    return HB_OK;
}

hb_status hb_data_planar_show(hb_session *session, const hb_data_values *v,
                              const hb_mixture *mixture)
{
    set_table table = {0};
    hb_status status = fill_table(hb_session_context(session), v, mixture, &table);
    if (status == HB_OK && v->plot)
        status = hb_data_figure_write(session, v->name, mixture, process_of(v), v->tau, v->seed,
                                      v->plot);
    if (status == HB_OK) status = show_table(session, v, mixture, &table);
    free(table.weight);
    return status;
}

/* ---- export ---- */

static hb_status write_header(hb_writer *writer, const hb_data_values *v)
{
    static const char *const columns[] = {"x_1", "x_2"};
    const uint64_t shape[] = {v->n, 2};
    if (hb_points_has_extension(v->path, ".csv")) {
        const hb_status status = hb_writer_csv_begin(writer, HB_DTYPE_F64, v->n, 2);
        return status == HB_OK ? hb_writer_csv_header(writer, 2, columns) : status;
    }
    return hb_writer_npy_begin(writer, HB_DTYPE_F64, 2, shape);
}

static hb_status write_rows(hb_session *session, hb_writer *writer, const hb_data_values *v,
                            const hb_mixture *mixture, double *x)
{
    hb_context *context = hb_session_context(session);
    hb_status status = write_header(writer, v);
    hb_session_count(session, "drawing", "rows");
    for (uint64_t done = 0; status == HB_OK && done < v->n;) {
        const size_t n = v->n - done < CHUNK_ROWS ? (size_t)(v->n - done) : CHUNK_ROWS;
        status = hb_mixture_sample_at(context, mixture, process_of(v), v->seed, done, n, v->tau, x,
                                      NULL);
        if (status == HB_OK)
            status = hb_points_has_extension(v->path, ".csv")
                         ? hb_writer_csv_rows(writer, HB_DTYPE_F64, n, 2, x)
                         : hb_writer_write(writer, 2 * n * sizeof *x, x);
        done += n;
        if (status == HB_OK) status = hb_session_progress(session, (double)done, (double)v->n);
    }
    return status;
}

static hb_status print_export_json(const hb_data_values *v)
{
    hb_report *report = hb_report_create();
    hb_report_text(report, "file", v->path, "");
    hb_report_text(report, "name", v->name, "");
    hb_report_unsigned(report, "rows", v->n, "");
    hb_report_integer(report, "columns", 2, "");
    hb_report_text(report, "process", hb_data_process_names[v->process], "");
    hb_report_real(report, "tau", v->tau, "");
    hb_report_unsigned(report, "seed", v->seed, "");
    const hb_status status = hb_report_print(report, 1, stdout);
    hb_report_destroy(report);
    return status;
}

static hb_status print_export(hb_session *session, const hb_data_values *v)
{
    hb_session_clear(session);
    if (v->json) return print_export_json(v);
    if (!hb_session_quiet(session))
        printf("%s: %" PRIu64 " rows of %s, tau %.9g, seed %" PRIu64 "\n", v->path, v->n, v->name,
               v->tau, v->seed);
    return HB_OK;
}

hb_status hb_data_planar_export(hb_session *session, const hb_data_values *v,
                                const hb_mixture *mixture)
{
    hb_writer *writer;
    double *x = malloc(2 * CHUNK_ROWS * sizeof *x); // (CHUNK_ROWS, 2)
    if (!x) return HB_ERROR_MEMORY;
    hb_status status = hb_writer_create(hb_session_context(session), v->path, &writer);
    if (status == HB_OK)
        status = hb_writer_close(writer, write_rows(session, writer, v, mixture, x));
    free(x);
    return status == HB_OK ? print_export(session, v) : status;
}
