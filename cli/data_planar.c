/* heatball data show and export of a planar set.
 *
 *     show NAME      its components, mean and covariance; --plot: density and draws
 *     export NAME    N draws into a .npy or .csv file
 * Sets are Gaussian mixtures, so that --tau gives the exact distribution under the OU or VE
 * process. Draw i is a function of (set, tau, seed, i) alone. The ring has variance 3.1394 along
 * both axes. */
#include "command_data.h"
#include "plot_path.h"
#include "report.h"
#include "rows.h"
#include "study.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { CHUNK_ROWS = 65536, SHOWN_COMPONENTS = 8 };

const char *const hb_data_process_names[] = {"ou", "ve", NULL};

static hb_process process_of(const hb_data_values *v)
{
    return v->process ? HB_PROCESS_VE : HB_PROCESS_OU;
}

/* ---- by name ---- */

/* `rng` is at distance 1 from ring. */
hb_status hb_named_set_open(hb_session *session, const char *name, hb_mixture **out)
{
    hb_context *context = hb_session_context(session);
    const hb_status status = hb_mixture_named(context, name, out);
    if (status != HB_ERROR_ARGUMENT) return status;
    const char *nearest = hb_options_nearest(name, hb_data_names());
    if (!nearest) return status;
    return hb_session_fail(session, status, "%s (did you mean %s?)", hb_context_message(context),
                           nearest);
}

/* ---- the figure: the density as colours on N_SIDE x N_SIDE points, and N_DRAWS draws ---- */

enum { N_SIDE = 201, N_DRAWS = 2000, N_POINTS = N_SIDE * N_SIDE };
/* The window is [-HALF, HALF]^2, or REACH standard deviations at tau where that is more. The
 * second panel has no key of colours; it is STRETCH times as wide, so that lengths look the same
 * in both. */
static const double HALF = 4.2, REACH = 2.3, STRETCH = 1.26;

typedef struct data_picture {
    double x[N_POINTS][2], density[N_POINTS];
    double draws[N_DRAWS][2], along[2][N_DRAWS];
} data_picture;

/* The variance at tau: e^-2tau C + 1 - e^-2tau (ou), C + 2 tau (ve). */
static double picture_half_side(const hb_data_values *v, const hb_mixture *mixture)
{
    double mean[2], C[2][2], half = HALF;
    hb_mixture_moments(mixture, mean, C[0]);
    for (int i = 0; i < 2; i++) {
        const double variance = process_of(v) == HB_PROCESS_VE
                                    ? C[i][i] + 2 * v->tau
                                    : exp(-2 * v->tau) * C[i][i] - expm1(-2 * v->tau);
        half = fmax(half, fabs(mean[i]) + REACH * sqrt(variance));
    }
    return half;
}

static hb_status picture_fill(hb_context *context, const hb_data_values *v,
                              const hb_mixture *mixture, double half, data_picture *p)
{
    const hb_process process = process_of(v);
    for (int k = 0; k < N_POINTS; k++) {
        p->x[k][0] = half * (2.0 * (k % N_SIDE) / (N_SIDE - 1) - 1);
        p->x[k][1] = half * (2.0 * (k / N_SIDE) / (N_SIDE - 1) - 1);
    }
    HB_TRY(
        hb_mixture_score(context, mixture, process, N_POINTS, p->x[0], v->tau, p->density, NULL));
    HB_TRY(hb_mixture_sample_at(context, mixture, process, v->seed, 0, N_DRAWS, v->tau, p->draws[0],
                                NULL));
    for (int k = 0; k < N_POINTS; k++) p->density[k] = exp(p->density[k]);
    for (int i = 0; i < N_DRAWS; i++)
        for (int axis = 0; axis < 2; axis++) p->along[axis][i] = p->draws[i][axis];
    return HB_OK;
}

static hb_status picture_panel(hb_figure *figure, const char *title, double half, double stretch)
{
    hb_panel_settings panel = hb_study_panel(title, "{/:Italic x}_1", "{/:Italic x}_2");
    hb_study_panel_range(&panel, -half * stretch, half * stretch, -half, half);
    return hb_figure_panel(figure, &panel);
}

static hb_status picture_draw(hb_figure *figure, const hb_data_values *v, double half,
                              const data_picture *p)
{
    char plain[100], title[200];
    const hb_lattice lattice = {N_SIDE, N_SIDE, -half, half, -half, half};
    hb_figure_plain(v->name, sizeof plain, plain);
    snprintf(title, sizeof title, "%s: density at {/Symbol t} = %.4g", plain, v->tau);
    HB_TRY(picture_panel(figure, title, half, 1));
    HB_TRY(hb_figure_image(figure, &lattice, "density {/:Italic u}", p->density));
    snprintf(title, sizeof title, "%s: %d draws, seed %" PRIu64, plain, N_DRAWS, v->seed);
    HB_TRY(picture_panel(figure, title, half, STRETCH));
    return hb_figure_series(figure, HB_STYLE_DOTS, 0, N_DRAWS, NULL, p->along[0], p->along[1], NULL,
                            NULL);
}

static hb_status picture_write(hb_context *context, const hb_data_values *v,
                               const hb_mixture *mixture)
{
    const double half = picture_half_side(v, mixture);
    hb_figure *figure = NULL;
    data_picture *p = malloc(sizeof *p);
    if (!p) return HB_ERROR_MEMORY;
    hb_status status = picture_fill(context, v, mixture, half, p);
    if (status == HB_OK) status = hb_figure_create(context, 1, 2, 520, 640, &figure);
    if (status == HB_OK) status = picture_draw(figure, v, half, p);
    status = hb_plot_path_write(figure, status, v->plot);
    free(p);
    return status;
}

/* ---- show ---- */

/* The set at tau: weights, means and covariances of its components, and of the whole. */
typedef struct set_table {
    size_t n;
    double *weight, *mean, *covariance; // (n), (n, 2), (n, 4)
    double whole_mean[2], whole_covariance[4];
} set_table;

/* N(m, C) becomes N(a m, a^2 C + b I). */
static void set_at_tau(const hb_data_values *v, double *mean, double *covariance)
{
    const int ou = process_of(v) == HB_PROCESS_OU;
    const double a = ou ? exp(-v->tau) : 1, b = ou ? -expm1(-2 * v->tau) : 2 * v->tau;
    for (int i = 0; i < 2; i++) mean[i] *= a;
    for (int i = 0; i < 4; i++) covariance[i] = a * a * covariance[i] + (i % 3 == 0 ? b : 0);
}

static hb_status set_fill(hb_context *context, const hb_data_values *v, const hb_mixture *mixture,
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
        set_at_tau(v, &t->mean[2 * k], &t->covariance[4 * k]);
    }
    hb_mixture_moments(mixture, t->whole_mean, t->whole_covariance);
    set_at_tau(v, t->whole_mean, t->whole_covariance);
    return HB_OK;
}

static json_t *json_reals(int n, const double *values)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(list, json_real(values[i]));
    return list;
}

static hb_status set_show_json(const hb_data_values *v, const hb_mixture *mixture,
                               const set_table *t, const hb_rows *rows)
{
    json_t *object = json_pack(
        "{s:s, s:s, s:i, s:s, s:f, s:i, s:o, s:o, s:o}", "name", v->name, "description",
        hb_data_describe(v->name), "dim", 2, "process", hb_data_process_names[v->process], "tau",
        v->tau, "parts", hb_mixture_modes(mixture, NULL), "mean", json_reals(2, t->whole_mean),
        "covariance", json_reals(4, t->whole_covariance), "components", hb_rows_json(rows));
    if (object && v->plot) json_object_set_new(object, "plot", json_string(v->plot));
    return hb_rows_print_json(object, stdout);
}

static hb_status set_show(hb_session *session, const hb_data_values *v, const hb_mixture *mixture,
                          const set_table *t)
{
    const hb_rows_column columns[] = {{.name = "weight", .values = t->weight},
                                      {.name = "mean", .width = 2, .values = t->mean},
                                      {.name = "covariance", .width = 4, .values = t->covariance}};
    hb_rows rows = {.n = t->n, .n_columns = 3, .columns = columns};
    hb_session_clear(session);
    if (v->json) return set_show_json(v, mixture, t, &rows);
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
    hb_status status = set_fill(hb_session_context(session), v, mixture, &table);
    if (status == HB_OK && v->plot) status = picture_write(hb_session_context(session), v, mixture);
    if (status == HB_OK) status = set_show(session, v, mixture, &table);
    free(table.weight);
    return status;
}

/* ---- export ---- */

static hb_status set_write_rows(hb_session *session, hb_writer *writer, const hb_data_values *v,
                                const hb_mixture *mixture, double *x)
{
    hb_context *context = hb_session_context(session);
    hb_status status = hb_rows_begin(writer, v->path, HB_DTYPE_F64, v->n, 2, hb_rows_x, NULL);
    hb_session_count(session, "drawing", "rows");
    for (uint64_t done = 0; status == HB_OK && done < v->n;) {
        const size_t n = v->n - done < CHUNK_ROWS ? (size_t)(v->n - done) : CHUNK_ROWS;
        status = hb_mixture_sample_at(context, mixture, process_of(v), v->seed, done, n, v->tau, x,
                                      NULL);
        if (status == HB_OK) status = hb_rows_append(writer, v->path, HB_DTYPE_F64, n, 2, x);
        done += n;
        if (status == HB_OK) status = hb_session_progress(session, (double)done, (double)v->n);
    }
    return status;
}

static hb_status set_print_json(const hb_data_values *v)
{
    hb_report *report = hb_report_create();
    hb_report_text(report, "file", v->path, "");
    hb_report_text(report, "name", v->name, "");
    hb_report_unsigned(report, "rows", v->n, "");
    hb_report_integer(report, "columns", 2, "");
    hb_report_text(report, "process", hb_data_process_names[v->process], "");
    hb_report_real(report, "tau", v->tau, "");
    hb_report_unsigned(report, "seed", v->seed, "");
    return hb_report_finish(report, 1);
}

static hb_status set_print(hb_session *session, const hb_data_values *v)
{
    hb_session_clear(session);
    if (v->json) return set_print_json(v);
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
        status = hb_writer_close(writer, set_write_rows(session, writer, v, mixture, x));
    free(x);
    return status == HB_OK ? set_print(session, v) : status;
}
