/* heatball solve: density, log-density, score and entropy density of dx = f dt + g dW at points.
 *
 * The options make an hb_problem and settings, hb_solve does the rest, and the columns go out as a
 * table, as JSON or into a file. The bistable drift x - x^3 from N(0,1) to t = 1 has ln u(0) = -1.187... */
#include "commands.h"
#include "problem_options.h"
#include "rows.h"
#include "solve_figure.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct solve_values {
    hb_problem_values problem;
    int method, json;
    double radius;
    const char *path, *plot;
} solve_values;

static const char *const method_names[] = {"auto", "grid", "meanvalue", NULL};
static const hb_method method_codes[] = {HB_METHOD_AUTO, HB_METHOD_GRID, HB_METHOD_MEANVALUE};

static const hb_option solve_options[] = {
    HB_PROBLEM_OPTIONS(solve_values, problem),
    {.name = "method",
     .kind = HB_OPTION_CHOICE,
     .help = "how to solve: auto takes the grid, which exists for dimension 1 to 3; meanvalue "
             "averages over heat balls on the grid's solution",
     .choices = method_names,
     .fallback = "auto",
     .offset = offsetof(solve_values, method)},
    {.name = "radius",
     .kind = HB_OPTION_REAL,
     .placeholder = "R",
     .help = "radius of the heat balls of meanvalue; without it, chosen",
     .max = INFINITY,
     .rules = HB_OPTION_ABOVE,
     .offset = offsetof(solve_values, radius)},
    HB_OPTION_JSON(solve_values, json),
    {.letter = 'o',
     .kind = HB_OPTION_TEXT,
     .placeholder = "FILE",
     .help = "write the rows to this file, .csv or .npy by its name",
     .offset = offsetof(solve_values, path)},
    {.name = "plot",
     .kind = HB_OPTION_TEXT,
     .placeholder = "FILE",
     .help = "draw the solution, dimension 1 or 2, into this .svg, .png or .pdf file; the numbers "
             "behind it stay beside it as .csv",
     .offset = offsetof(solve_values, plot)},
    {0}};

enum { N_COLUMNS = 9 };

static hb_rows rows_of(const hb_points *points, const hb_solution *solution,
                       hb_rows_column columns[N_COLUMNS])
{
    static const struct {
        const char *name, *suffix;
        hb_column column;
        int is_vector;
    } parts[] = {{"density", NULL, HB_DENSITY, 0},
                 {"density", "_se", HB_DENSITY_SE, 0},
                 {"log_density", NULL, HB_LOG_DENSITY, 0},
                 {"log_density", "_se", HB_LOG_DENSITY_SE, 0},
                 {"score", NULL, HB_SCORE, 1},
                 {"score", "_se", HB_SCORE_SE, 1},
                 {"entropy_density", NULL, HB_ENTROPY_DENSITY, 0},
                 {"entropy_density", "_se", HB_ENTROPY_DENSITY_SE, 0}};
    columns[0] = (hb_rows_column){"x", NULL, points->dim, points->x};
    for (int c = 1; c < N_COLUMNS; c++)
        columns[c] = (hb_rows_column){parts[c - 1].name, parts[c - 1].suffix,
                                      parts[c - 1].is_vector ? points->dim : 0,
                                      hb_solution_values(solution, parts[c - 1].column)};
    return (hb_rows){points->n, N_COLUMNS, columns};
}

static hb_status print_json(const solve_values *v, const hb_rows *rows, double time,
                            const hb_solution *solution)
{
    json_t *object =
        json_pack("{s:s, s:s, s:f, s:f, s:I, s:i}", "method", hb_solution_method(solution), "note",
                  hb_solution_note(solution), "time", time, "tau", hb_solution_tau(solution),
                  "seed", (json_int_t)v->problem.seed, "dim", hb_solution_dim(solution));
    if (object && v->path) json_object_set_new(object, "file", json_string(v->path));
    if (object && !v->path) json_object_set_new(object, "points", hb_rows_json(rows));
    return hb_rows_print_json(object, stdout);
}

static hb_status show(hb_session *session, const solve_values *v, const hb_points *points,
                      double time, const hb_solution *solution)
{
    hb_rows_column columns[N_COLUMNS];
    const hb_rows rows = rows_of(points, solution, columns);
    hb_session_clear(session);
    if (v->path) {
        hb_status status = hb_rows_write(session, &rows, v->path);
        if (status != HB_OK) return status;
    }
    if (v->json) return print_json(v, &rows, time, solution);
    if (v->path && hb_session_quiet(session)) return HB_OK;
    if (v->path) printf("%s: %zu points\n", v->path, points->n);
    if (!hb_session_quiet(session))
        printf("# %s, time %.9g, tau %.9g, seed %" PRIu64 ": %s\n", hb_solution_method(solution),
               time, hb_solution_tau(solution), v->problem.seed, hb_solution_note(solution));
    if (!v->path) hb_rows_print(&rows, stdout);
    return HB_OK;
}

static hb_status solve_problem(hb_session *session, const solve_values *v,
                               const hb_problem *problem, const hb_points *points)
{
    hb_solve_settings settings;
    hb_status status = hb_problem_fill_settings(session, &v->problem, problem, &settings);
    if (status != HB_OK) return status;
    settings.method = method_codes[v->method];
    if (!isnan(v->radius)) settings.mean.radius = v->radius;
    const double time = isnan(v->problem.time) ? hb_problem_time(problem) : v->problem.time;
    hb_solution *solution;
    status =
        hb_solve(hb_session_context(session), problem, &settings, points->n, points->x, &solution);
    if (status != HB_OK) return status;
    if (v->plot)
        status = hb_solve_figure_write(session, problem, &settings, points, solution, v->plot);
    if (status == HB_OK || status == HB_ERROR_UNAVAILABLE) {
        const hb_status shown = show(session, v, points, time, solution);
        if (shown != HB_OK) status = shown;
    }
    hb_solution_destroy(solution);
    return status;
}

static hb_status run_solve(hb_session *session, const void *values)
{
    const solve_values *v = values;
    hb_problem *problem = NULL;
    hb_points points = {0};
    hb_status status = hb_rows_check_path(session, v->path);
    if (status == HB_OK) status = hb_problem_from_options(session, &v->problem, &problem);
    if (status == HB_OK)
        status = hb_solve_figure_check(session, v->plot, v->path, hb_problem_dim(problem));
    if (status == HB_OK)
        status = hb_points_read(session, v->problem.at, hb_problem_dim(problem), &points);
    if (status == HB_OK)
        status = hb_problem_judge(session, solve_problem(session, v, problem, &points));
    hb_points_destroy(&points);
    hb_problem_destroy(problem);
    return status;
}

const hb_command hb_command_solve = {
    .name = "solve",
    .summary = "solve an SDE: density, log-density, score and entropy density at points",
    .text = "For dx = f(x,t) dt + g(t) dW from an initial density, prints the density u at time T, "
            "ln u, "
            "the score grad ln u and u ln u at the given points, each with an error. The problem "
            "comes from a problem file or from --drift, --noise and --initial. A line that begins "
            "with # says what was done; columns are x_1 .., density, density_se, log_density, "
            "log_density_se, score_1 .., score_1_se .., entropy_density, entropy_density_se.",
    .example =
        "heatball solve --drift \"x1 - x1^3\" --noise 1 --initial \"gaussian(mean=0,var=1)\" "
        "--time 1 --at \"-2.5;-1;0;0.5;2.5\"",
    .options = solve_options,
    .size = sizeof(solve_values),
    .run = run_solve};
