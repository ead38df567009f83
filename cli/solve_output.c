/* What `heatball solve` prints.
 *
 * One method: a line that begins with # and says what was done and of which kind the errors are, a
 * line with the options, a table with one row per point, and below it one line for each point whose
 * errors cannot be trusted; such errors are inf in the table and null in JSON. Where kinds differ,
 * the table has a column of them, and .csv and JSON always have it. Several methods: the same lines for each of them, then a table for
 * each point with one row per method. */
#include "command_solve.h"
#include "rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { N_COLUMNS = HB_SOLVE_COLUMNS, MOST_TRIES = 8 };

static const char ERROR[] = "_error";
const hb_solve_column hb_solve_columns[N_COLUMNS] = {
    {"density", NULL, 0},         {"density", ERROR, 0},        {"log_density", NULL, 0},
    {"log_density", ERROR, 0},    {"score", NULL, 1},           {"score", ERROR, 1},
    {"entropy_density", NULL, 0}, {"entropy_density", ERROR, 0}};

/* The rows of a solution: t where there are several times, x, its columns, and the kind of its
 * errors. */
typedef struct shown_rows {
    hb_rows rows;
    hb_rows_column columns[N_COLUMNS + 3];
    double *repeated;   /* t (rows), x (rows, dim), of several times; owned */
    const char **kinds; // (rows), owned
} shown_rows;

/* Column c of values, followed by its errors at `errors`. */
static hb_rows_column column_of(int c, int dim, const double *values, const double *errors)
{
    const hb_solve_column *column = &hb_solve_columns[c];
    return (hb_rows_column){.name = column->name,
                            .suffix = column->suffix,
                            .width = column->is_vector ? dim : 0,
                            .values = values,
                            .errors = column->suffix ? values : errors};
}

/* t and x of every row. */
static hb_status repeat_points(const hb_points *points, const hb_solution *solution,
                               shown_rows *out)
{
    const size_t d = (size_t)points->dim, n_times = hb_solution_n_times(solution);
    const size_t size = points->n * d, n = n_times * points->n;
    double *t = out->repeated = malloc(n * (1 + d) * sizeof *t);
    if (!t) return HB_ERROR_MEMORY;
    for (size_t k = 0; k < n_times; k++) {
        for (size_t i = 0; i < points->n; i++) t[k * points->n + i] = hb_solution_time(solution, k);
        memcpy(t + n + k * size, points->x, size * sizeof *t);
    }
    out->columns[0] = (hb_rows_column){.name = "t", .values = t};
    out->columns[1] = (hb_rows_column){.name = "x", .width = points->dim, .values = t + n};
    return HB_OK;
}

static size_t count_rows(const hb_solution *solution)
{
    return hb_solution_n_times(solution) * hb_solution_size(solution);
}

static void rows_release(shown_rows *rows)
{
    free(rows->repeated);
    free(rows->kinds);
}

/* Release in either case. */
static hb_status rows_of(const hb_solve_shown *shown, const hb_solution *solution, shown_rows *out)
{
    const hb_points *points = shown->points;
    const int several = hb_solution_n_times(solution) > 1;
    const size_t n = count_rows(solution);
    *out =
        (shown_rows){.rows = {n, N_COLUMNS + 2 + several, out->columns, shown->full, shown->line},
                     .kinds = malloc(n * sizeof *out->kinds)};
    if (!out->kinds) return HB_ERROR_MEMORY;
    for (size_t i = 0; i < n; i++) out->kinds[i] = hb_solution_error_kind(solution, i);
    out->columns[0] = (hb_rows_column){.name = "x", .width = points->dim, .values = points->x};
    for (int c = 0; c < N_COLUMNS; c++)
        out->columns[c + 1 + several] =
            column_of(c, points->dim, hb_solution_values(solution, (hb_column)c),
                      hb_solution_values(solution, (hb_column)(c + 1)));
    out->columns[N_COLUMNS + 1 + several] =
        (hb_rows_column){.name = "error_kind", .texts = out->kinds};
    return several ? repeat_points(points, solution, out) : HB_OK;
}

/* The one kind of all errors; NULL: they differ. */
static const char *common_kind(const hb_solution *solution)
{
    const char *kind = hb_solution_error_kind(solution, 0);
    for (size_t i = 1; i < count_rows(solution); i++)
        if (strcmp(kind, hb_solution_error_kind(solution, i)) != 0) return NULL;
    return kind;
}

/* ---- what goes with the numbers ---- */

static void print_warnings(const hb_solution *solution)
{
    const size_t n = hb_solution_size(solution);
    const int several = hb_solution_n_times(solution) > 1;
    for (size_t i = 0; i < count_rows(solution); i++) {
        if (!hb_solution_warning(solution, i)) continue;
        printf("# ");
        if (several) printf("time %.9g, ", hb_solution_time(solution, i / n));
        printf("point %zu, %s: %s\n", i % n + 1, hb_solution_point_method(solution, i),
               hb_solution_warning(solution, i));
    }
}

static json_t *json_warnings(const hb_solution *solution)
{
    json_t *list = json_array();
    const size_t n = hb_solution_size(solution);
    for (size_t i = 0; list && i < count_rows(solution); i++) {
        if (!hb_solution_warning(solution, i)) continue;
        json_t *one = json_pack("{s:I, s:s}", "point", (json_int_t)(i % n) + 1, "text",
                                hb_solution_warning(solution, i));
        if (one && hb_solution_n_times(solution) > 1)
            json_object_set_new(one, "t", json_real(hb_solution_time(solution, i / n)));
        json_array_append_new(list, one);
    }
    return list;
}

/* Adds "warnings", and "methods" and "samples" of the points where sampling gave them. */
static void json_add_marks(json_t *object, const hb_solution *solution)
{
    const size_t n = count_rows(solution);
    int sampled = 0;
    for (size_t i = 0; i < n; i++) sampled |= hb_solution_samples(solution, i) > 0;
    json_object_set_new(object, "warnings", json_warnings(solution));
    if (!sampled) return;
    json_t *methods = json_array(), *samples = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(methods, json_string(hb_solution_point_method(solution, i)));
        json_array_append_new(samples, json_integer((json_int_t)hb_solution_samples(solution, i)));
    }
    json_object_set_new(object, "methods", methods);
    json_object_set_new(object, "samples", samples);
}

/* ---- one method ---- */

/* "time" and "tau": numbers, or lists of them. */
static void json_add_times(json_t *object, const hb_solution *solution)
{
    const size_t n = hb_solution_n_times(solution);
    json_t *times = json_array(), *taus = json_array();
    for (size_t k = 0; k < n; k++) {
        json_array_append_new(times, hb_rows_time_json(hb_solution_time(solution, k)));
        json_array_append_new(taus, hb_rows_time_json(hb_solution_time_tau(solution, k)));
    }
    json_object_set(object, "time", n > 1 ? times : json_array_get(times, 0));
    json_object_set(object, "tau", n > 1 ? taus : json_array_get(taus, 0));
    json_decref(times);
    json_decref(taus);
}

/* What a run is of: "problem", "time", "tau", "seed" and "dim". */
static void json_add_run(json_t *object, const hb_solve_shown *shown, const hb_solution *solution)
{
    json_object_set(object, "problem", shown->problem);
    json_add_times(object, solution);
    hb_rows_put_seed(object, shown->seed);
    json_object_set_new(object, "dim", json_integer(shown->points->dim));
}

static hb_status solution_print_json(const hb_solve_shown *shown, const hb_rows *rows,
                                     const hb_solution *solution)
{
    json_t *object = json_pack("{s:s, s:s}", "method", hb_solution_method(solution), "note",
                               hb_solution_note(solution));
    if (object) json_add_run(object, shown, solution);
    if (object) json_add_marks(object, solution);
    if (object && shown->path) json_object_set_new(object, "file", json_string(shown->path));
    if (object && !shown->path) json_object_set_new(object, "points", hb_rows_json(rows));
    return hb_rows_print_json(object, stdout);
}

/* "time 1, tau 0.5", or "5 times from 0 to 1, tau 0 to 0.5" in the order in which they were
 * asked for. */
static void print_times(const hb_solution *solution)
{
    const size_t n = hb_solution_n_times(solution);
    const double time = hb_solution_time(solution, n - 1), tau = hb_solution_tau(solution);
    if (n == 1)
        printf("time %.9g, tau %.9g", time, tau);
    else
        printf("%zu times from %.9g to %.9g, tau %.9g to %.9g", n, hb_solution_time(solution, 0),
               time, hb_solution_time_tau(solution, 0), tau);
}

static hb_status solution_show(hb_session *session, const hb_solve_shown *shown,
                               const hb_rows *rows, const hb_solution *solution)
{
    const int quiet = hb_session_quiet(session);
    const size_t n_times = hb_solution_n_times(solution);
    const char *kind = common_kind(solution);
    hb_session_clear(session);
    if (shown->path && hb_points_has_extension(shown->path, ".npz"))
        HB_TRY(hb_solve_write_npz(session, shown->points, solution, shown->path));
    else if (shown->path)
        HB_TRY(hb_rows_write(session, rows, shown->path));
    if (shown->json) return solution_print_json(shown, rows, solution);
    if (shown->path && quiet) return HB_OK;
    if (shown->path) printf("%s: %zu points", shown->path, shown->points->n);
    if (shown->path && n_times > 1) printf(" at %zu times", n_times);
    if (shown->path) printf("\n");
    if (!quiet) {
        printf("# %s, ", hb_solution_method(solution));
        print_times(solution);
        printf(", seed %" PRIu64 ": %s; errors: %s%s\n", shown->seed, hb_solution_note(solution),
               kind ? kind : "of several kinds, see error_kind",
               kind && strcmp(kind, "standard error") == 0 ? " (68 %)" : "");
        if (!shown->path) printf("%s\n", shown->line);
    }
    const hb_rows table = {rows->n, rows->n_columns - (kind != NULL), rows->columns, rows->full,
                           NULL};
    if (!shown->path) hb_rows_print(&table, stdout);
    print_warnings(solution);
    return HB_OK;
}

hb_status hb_solve_show(hb_session *session, const hb_solve_shown *shown,
                        const hb_solution *solution)
{
    shown_rows rows;
    hb_status status = rows_of(shown, solution, &rows);
    if (status == HB_OK) status = solution_show(session, shown, &rows.rows, solution);
    rows_release(&rows);
    return status;
}

hb_status hb_solve_check_path(hb_session *session, const char *path)
{
    if (!path || hb_points_has_extension(path, ".npz")) return HB_OK;
    if (hb_points_is_table(path)) return HB_OK;
    return hb_session_refuse(session, "-o is %.200s; the name must end in .csv, .npy or .npz",
                             path);
}

/* ---- several methods ---- */

/* The values of a row of all methods that apply: one column per part, (n, width). */
static hb_status tries_gather(size_t row, int dim, int n, const hb_solve_try *tries, double **out)
{
    const size_t d = (size_t)dim, rows = (size_t)n;
    double *at = *out = malloc(rows * (6 + 2 * d) * sizeof *at);
    if (!at) return HB_ERROR_MEMORY;
    for (int c = 0; c < N_COLUMNS; c++)
        for (size_t k = 0; k < rows; k++) {
            const size_t width = hb_solve_columns[c].is_vector ? d : 1;
            memcpy(at, hb_solution_values(tries[k].solution, (hb_column)c) + row * width,
                   width * sizeof *at);
            at += width;
        }
    return HB_OK;
}

static hb_status tries_print_block(const hb_solve_shown *shown, size_t row, int n,
                                   const hb_solve_try *tries)
{
    const hb_points *points = shown->points;
    const size_t point = row % points->n;
    double *values, seconds[MOST_TRIES];
    const char *names[MOST_TRIES], *kinds[MOST_TRIES];
    hb_rows_column columns[N_COLUMNS + 3] = {{.name = "method", .texts = names}};
    if (tries_gather(row, points->dim, n, tries, &values) != HB_OK) return HB_ERROR_MEMORY;
    const double *at = values;
    for (int c = 0; c < N_COLUMNS; c++) {
        const size_t size = (size_t)n * (hb_solve_columns[c].is_vector ? (size_t)points->dim : 1);
        columns[c + 1] = column_of(c, points->dim, at, at + size);
        at += size;
    }
    for (int k = 0; k < n; k++) {
        names[k] = tries[k].name;
        kinds[k] = hb_solution_error_kind(tries[k].solution, row);
        seconds[k] = (double)(long)(1000 * tries[k].seconds + 0.5) / 1000;
    }
    columns[N_COLUMNS + 1] = (hb_rows_column){.name = "error_kind", .texts = kinds};
    columns[N_COLUMNS + 2] = (hb_rows_column){.name = "seconds", .values = seconds};
    if (hb_solution_n_times(tries[0].solution) > 1)
        printf("time %.9g, ", hb_solution_time(tries[0].solution, row / points->n));
    printf("point %zu: x =", point + 1);
    for (int k = 0; k < points->dim; k++)
        printf("%s %.9g", k ? "," : "", points->x[point * (size_t)points->dim + (size_t)k]);
    printf("\n");
    const hb_rows rows = {(size_t)n, N_COLUMNS + 3, columns, shown->full, NULL};
    hb_rows_print(&rows, stdout);
    free(values);
    return HB_OK;
}

static json_t *json_try(const hb_solve_shown *shown, const hb_solve_try *t)
{
    if (!t->solution) return json_pack("{s:s, s:s}", "method", t->name, "reason", t->reason);
    shown_rows rows;
    json_t *object = json_pack("{s:s, s:s, s:f}", "method", t->name, "note",
                               hb_solution_note(t->solution), "seconds", t->seconds);
    if (!object) return NULL;
    json_add_marks(object, t->solution);
    if (rows_of(shown, t->solution, &rows) == HB_OK)
        json_object_set_new(object, "points", hb_rows_json(&rows.rows));
    rows_release(&rows);
    return object;
}

static const hb_solution *any_solution(int n, const hb_solve_try *tries)
{
    for (int k = 0; k < n; k++)
        if (tries[k].solution) return tries[k].solution;
    return NULL;
}

static hb_status print_tries_json(const hb_solve_shown *shown, int n, const hb_solve_try *tries)
{
    json_t *list = json_array();
    for (int k = 0; list && k < n; k++) json_array_append_new(list, json_try(shown, &tries[k]));
    json_t *object = json_pack("{s:s}", "method", "all");
    if (object) json_add_run(object, shown, any_solution(n, tries));
    if (object) json_object_set_new(object, "tried", list);
    return hb_rows_print_json(object, stdout);
}

hb_status hb_solve_show_tries(hb_session *session, const hb_solve_shown *shown, int n,
                              const hb_solve_try *tries)
{
    hb_solve_try good[MOST_TRIES];
    int n_good = 0;
    hb_session_clear(session);
    if (shown->json) return print_tries_json(shown, n, tries);
    if (!hb_session_quiet(session)) {
        printf("# all, ");
        print_times(any_solution(n, tries));
        printf(", seed %" PRIu64 "\n%s\n", shown->seed, shown->line);
    }
    for (int k = 0; k < n; k++) {
        if (tries[k].solution) good[n_good++] = tries[k];
        if (hb_session_quiet(session)) continue;
        printf("# %s%s: %s\n", tries[k].name, tries[k].solution ? "" : " does not apply",
               tries[k].solution ? hb_solution_note(tries[k].solution) : tries[k].reason);
    }
    hb_status status = HB_OK;
    for (size_t i = 0; i < count_rows(any_solution(n, tries)) && status == HB_OK; i++)
        status = tries_print_block(shown, i, n_good, good);
    for (int k = 0; k < n_good; k++) print_warnings(good[k].solution);
    return status;
}
