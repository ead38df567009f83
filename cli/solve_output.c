/* What `heatball solve` prints.
 *
 * One method: a line that begins with # and says what was done, a table with one row per point, and below
 * it one line for each point whose errors cannot be trusted; such errors are inf in the table and null in
 * JSON. Several methods: the same lines for each of them, then a table for each point with one row per
 * method. */
#include "solve_output.h"
#include "rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { N_COLUMNS = 8, MOST_TRIES = 8 };

static const struct {
    const char *name, *suffix;
    hb_column column;
    int is_vector;
} parts[N_COLUMNS] = {{"density", NULL, HB_COLUMN_DENSITY, 0},
                      {"density", "_se", HB_COLUMN_DENSITY_SE, 0},
                      {"log_density", NULL, HB_COLUMN_LOG_DENSITY, 0},
                      {"log_density", "_se", HB_COLUMN_LOG_DENSITY_SE, 0},
                      {"score", NULL, HB_COLUMN_SCORE, 1},
                      {"score", "_se", HB_COLUMN_SCORE_SE, 1},
                      {"entropy_density", NULL, HB_COLUMN_ENTROPY_DENSITY, 0},
                      {"entropy_density", "_se", HB_COLUMN_ENTROPY_DENSITY_SE, 0}};

static hb_rows rows_of(const hb_points *points, const hb_solution *solution,
                       hb_rows_column columns[N_COLUMNS + 1])
{
    columns[0] = (hb_rows_column){"x", NULL, points->dim, points->x, NULL};
    for (int c = 0; c < N_COLUMNS; c++)
        columns[c + 1] =
            (hb_rows_column){parts[c].name, parts[c].suffix, parts[c].is_vector ? points->dim : 0,
                             hb_solution_values(solution, parts[c].column), NULL};
    return (hb_rows){points->n, N_COLUMNS + 1, columns};
}

/* ---- what goes with the numbers ---- */

static void print_warnings(const hb_solution *solution)
{
    for (size_t i = 0; i < hb_solution_size(solution); i++)
        if (hb_solution_warning(solution, i))
            printf("# point %zu, %s: %s\n", i + 1, hb_solution_point_method(solution, i),
                   hb_solution_warning(solution, i));
}

static json_t *json_warnings(const hb_solution *solution)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < hb_solution_size(solution); i++)
        if (hb_solution_warning(solution, i))
            json_array_append_new(list, json_pack("{s:I, s:s}", "point", (json_int_t)i + 1, "text",
                                                  hb_solution_warning(solution, i)));
    return list;
}

/* Adds "warnings", and "methods" and "samples" of the points where sampling gave them. */
static void add_marks(json_t *object, const hb_solution *solution)
{
    const size_t n = hb_solution_size(solution);
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

static hb_status print_json(const hb_solve_shown *shown, const hb_rows *rows,
                            const hb_solution *solution)
{
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:o, s:I, s:i}", "method", hb_solution_method(solution), "note",
        hb_solution_note(solution), "time", hb_rows_time_json(shown->time), "tau",
        hb_rows_time_json(shown->tau), "seed", (json_int_t)shown->seed, "dim", shown->points->dim);
    if (object) add_marks(object, solution);
    if (object && shown->path) json_object_set_new(object, "file", json_string(shown->path));
    if (object && !shown->path) json_object_set_new(object, "points", hb_rows_json(rows));
    return hb_rows_print_json(object, stdout);
}

hb_status hb_solve_show(hb_session *session, const hb_solve_shown *shown,
                        const hb_solution *solution)
{
    hb_rows_column columns[N_COLUMNS + 1];
    const hb_rows rows = rows_of(shown->points, solution, columns);
    const int quiet = hb_session_quiet(session);
    hb_session_clear(session);
    if (shown->path) HB_TRY(hb_rows_write(session, &rows, shown->path));
    if (shown->json) return print_json(shown, &rows, solution);
    if (shown->path && quiet) return HB_OK;
    if (shown->path) printf("%s: %zu points\n", shown->path, shown->points->n);
    if (!quiet)
        printf("# %s, time %.9g, tau %.9g, seed %" PRIu64 ": %s\n", hb_solution_method(solution),
               shown->time, shown->tau, shown->seed, hb_solution_note(solution));
    if (!shown->path) hb_rows_print(&rows, stdout);
    print_warnings(solution);
    return HB_OK;
}

/* ---- several methods ---- */

/* The values of point i of all methods that apply: one column per part, (n, width). */
static hb_status gather(size_t point, int dim, int n, const hb_solve_try *tries, double **out)
{
    const size_t d = (size_t)dim, rows = (size_t)n;
    double *at = *out = malloc(rows * (6 + 2 * d) * sizeof *at);
    if (!at) return HB_ERROR_MEMORY;
    for (int c = 0; c < N_COLUMNS; c++)
        for (size_t k = 0; k < rows; k++) {
            const size_t width = parts[c].is_vector ? d : 1;
            memcpy(at, hb_solution_values(tries[k].solution, parts[c].column) + point * width,
                   width * sizeof *at);
            at += width;
        }
    return HB_OK;
}

static hb_status print_block(const hb_points *points, size_t point, int n,
                             const hb_solve_try *tries)
{
    double *values, seconds[MOST_TRIES];
    const char *names[MOST_TRIES];
    hb_rows_column columns[N_COLUMNS + 2] = {{"method", NULL, 0, NULL, names}};
    if (gather(point, points->dim, n, tries, &values) != HB_OK) return HB_ERROR_MEMORY;
    const double *at = values;
    for (int c = 0; c < N_COLUMNS; c++) {
        const int width = parts[c].is_vector ? points->dim : 0;
        columns[c + 1] = (hb_rows_column){parts[c].name, parts[c].suffix, width, at, NULL};
        at += (size_t)n * (size_t)(width ? width : 1);
    }
    for (int k = 0; k < n; k++) {
        names[k] = tries[k].name;
        seconds[k] = (double)(long)(1000 * tries[k].seconds + 0.5) / 1000;
    }
    columns[N_COLUMNS + 1] = (hb_rows_column){"seconds", NULL, 0, seconds, NULL};
    printf("point %zu: x =", point + 1);
    for (int k = 0; k < points->dim; k++)
        printf("%s %.9g", k ? "," : "", points->x[point * (size_t)points->dim + (size_t)k]);
    printf("\n");
    const hb_rows rows = {(size_t)n, N_COLUMNS + 2, columns};
    hb_rows_print(&rows, stdout);
    free(values);
    return HB_OK;
}

static json_t *json_try(const hb_points *points, const hb_solve_try *t)
{
    if (!t->solution) return json_pack("{s:s, s:s}", "method", t->name, "reason", t->reason);
    hb_rows_column columns[N_COLUMNS + 1];
    const hb_rows rows = rows_of(points, t->solution, columns);
    json_t *object = json_pack("{s:s, s:s, s:f}", "method", t->name, "note",
                               hb_solution_note(t->solution), "seconds", t->seconds);
    if (!object) return NULL;
    add_marks(object, t->solution);
    json_object_set_new(object, "points", hb_rows_json(&rows));
    return object;
}

static hb_status print_tries_json(const hb_solve_shown *shown, int n, const hb_solve_try *tries)
{
    json_t *list = json_array();
    for (int k = 0; list && k < n; k++)
        json_array_append_new(list, json_try(shown->points, &tries[k]));
    return hb_rows_print_json(
        json_pack("{s:s, s:o, s:o, s:I, s:i, s:o}", "method", "all", "time",
                  hb_rows_time_json(shown->time), "tau", hb_rows_time_json(shown->tau), "seed",
                  (json_int_t)shown->seed, "dim", shown->points->dim, "tried", list),
        stdout);
}

hb_status hb_solve_show_tries(hb_session *session, const hb_solve_shown *shown, int n,
                              const hb_solve_try *tries)
{
    hb_solve_try good[MOST_TRIES];
    int n_good = 0;
    hb_session_clear(session);
    if (shown->json) return print_tries_json(shown, n, tries);
    if (!hb_session_quiet(session))
        printf("# all, time %.9g, tau %.9g, seed %" PRIu64 "\n", shown->time, shown->tau,
               shown->seed);
    for (int k = 0; k < n; k++) {
        if (tries[k].solution) good[n_good++] = tries[k];
        if (hb_session_quiet(session)) continue;
        printf("# %s%s: %s\n", tries[k].name, tries[k].solution ? "" : " does not apply",
               tries[k].solution ? hb_solution_note(tries[k].solution) : tries[k].reason);
    }
    hb_status status = HB_OK;
    for (size_t i = 0; i < shown->points->n && status == HB_OK; i++)
        status = print_block(shown->points, i, n_good, good);
    for (int k = 0; k < n_good; k++) print_warnings(good[k].solution);
    return status;
}
