/* heatball solve: density, log-density, score and entropy density of dx = f dt + G dW at points.
 *
 * The options make an hb_problem and settings, hb_solve does the rest, and solve_output.c shows
 * the columns. --method all calls hb_solve once for each method; what refuses is named with its
 * reason. The bistable drift x - x^3 from N(0,1) to t = 1 has ln u(0) = -1.396345. */
#include "command_solve.h"
#include "commands.h"
#include "problem_options.h"

#include <inttypes.h>
#include <string.h>

typedef struct solve_values {
    hb_problem_values problem;
    int method, json, precision, resume;
    hb_earlier from;
    uint64_t training;
    double radius, stderr_density, stderr_score, max_time, save_every;
    const char *path, *plot, *paths, *path_times, *state;
} solve_values;

enum { MOST_METHODS = 16 };

/* The methods of the library, and "all". */
static const char *const *method_names(void)
{
    static const char *names[MOST_METHODS + 2];
    int n = 0;
    for (const char *const *name = hb_method_names(); *name && n < MOST_METHODS; name++)
        names[n++] = *name;
    names[n] = "all";
    return names;
}

/* Of 0.2: walks along the score of a trained network. */
static const char *const old_methods[] = {"network", "guided", NULL};

static const char *const precision_names[] = {"error", "full", NULL};

enum { ALL = -1 }; /* beside hb_method */

static int method_code(const solve_values *v)
{
    const hb_method_description *info = hb_method_info(v->method);
    return info ? info->method : ALL;
}

#define VALUES solve_values
static const hb_option solve_options[] = {
    HB_OPTION_HEADING("Problem"),
    HB_PROBLEM_EQUATION,
    HB_OPTION(
        EARLIER, "from", "FILE", from,
        "run again what this .csv of -o or this output of --json holds; other options replace "
        "those of the file",
        .rules = HB_OPTION_APART),
    HB_OPTION_HEADING("Points and times"),
    HB_PROBLEM_PLACES(HB_PROBLEM_TIMES),
    HB_OPTION_HEADING("Method"),
    HB_OPTION(
        CHOICE, "method", NULL, method,
        "how to solve: on a grid (dimension 1 to 3), by particles or walks (any dimension), "
        "by averages over heat balls on the grid's solution, by walks along a "
        "fitted log-density (guided); auto chooses, all runs every one of the others that applies",
        .names = method_names, .fallback = "auto", .old_choices = old_methods),
    HB_PROBLEM_GRID,
    HB_OPTION(REAL, "radius", "R", radius,
              "radius of the heat balls of meanvalue and particles; default: chosen",
              .max = INFINITY, .rules = HB_OPTION_ABOVE),
    HB_PROBLEM_BALL,
    HB_OPTION(UNSIGNED, "training-steps", "N", training, "no effect", .rules = HB_OPTION_HIDDEN,
              .old = "training", .gone = "--method guided fits its log-density without training"),
    HB_OPTION(TEXT, "paths", "FILE.npy", paths,
              "particles from these trajectories, an array [path][time][dim]"),
    HB_OPTION(TEXT, "path-times", "LIST|FILE", path_times,
              "times of --paths, separated by commas or in a file; default: evenly from 0 to T"),
    HB_OPTION_HEADING("Accuracy and time"),
    HB_PROBLEM_SAMPLES,
    HB_OPTION(REAL, "stderr", "E", stderr_density,
              "sample until density_error/density is at most this at every point", .max = INFINITY,
              .rules = HB_OPTION_ABOVE),
    HB_OPTION(REAL, "stderr-score", "E", stderr_score,
              "sample until the score's error is at most this, relative to the score",
              .max = INFINITY, .rules = HB_OPTION_ABOVE),
    HB_OPTION(REAL, "max-time", "S", max_time,
              "end trials, rounds and the grid after so many seconds", .max = INFINITY,
              .rules = HB_OPTION_ABOVE),
    HB_OPTION_HEADING("Output"),
    HB_OPTION_JSON,
    HB_OPTION(
        CHOICE, "precision", NULL, precision,
        "digits of the printed table: two more than the error justifies, or all (full); files "
        "and --json have all",
        .choices = precision_names, .fallback = "error", .rules = HB_OPTION_APART),
    HB_OPTION(TEXT, NULL, "FILE", path,
              "write the rows to this file, .csv or .npy by its name, or named arrays to a .npz",
              .letter = 'o', .rules = HB_OPTION_WRITES),
    HB_OPTION(
        TEXT, "plot", "FILE", plot,
        "draw the solution, dimension 1 or 2, into this .svg, .png or .pdf file, of several times "
        "also as an animation, .gif or .html; the numbers behind it stay beside it as .plot.csv",
        .rules = HB_OPTION_FIGURE),
    HB_OPTION_HEADING("Running"),
    HB_PROBLEM_SEED,
    HB_OPTION(TEXT, "state", "FILE", state, "keep the state of the sampling in this file",
              .rules = HB_OPTION_WRITES),
    HB_OPTION(REAL, "save-every", "SECONDS", save_every,
              "write the state so often at least; more often at the start", .max = INFINITY,
              .rules = HB_OPTION_ABOVE | HB_OPTION_APART),
    HB_OPTION(FLAG, "resume", NULL, resume, "resume from the state file if it is there"),
    {0}};

/* ---- what the options ask for ---- */

static hb_status solve_check_all(hb_session *session, const solve_values *v)
{
    const struct {
        const char *name, *value;
    } alone[] = {{"-o", v->path}, {"--plot", v->plot}, {"--state", v->state}};
    if (method_code(v) != ALL) return HB_OK;
    for (int k = 0; k < 3; k++)
        HB_REFUSE_IF(session, alone[k].value,
                     "%s is for one method; --method all prints a table or --json", alone[k].name);
    return HB_OK;
}

/* What auto chose may not use an option either; that is known afterwards, and said. */
static void solve_note_unused(hb_session *session, const solve_values *v,
                              const hb_solution *solution)
{
    if (method_code(v) != HB_METHOD_AUTO || hb_session_quiet(session)) return;
    const char *unused = hb_solution_unread(solution);
    if (!unused) return;
    hb_session_clear(session);
    fprintf(stderr, "heatball solve: note: --%s has no effect on the method that was chosen, %s\n",
            unused, hb_solution_method(solution));
}

/* A file may have options that another method read; those of the line must have an effect. */
static hb_status solve_check_typed(hb_session *session, const solve_values *v)
{
    static const char *const names[] = {/* by the bits of hb_solve_setting */
                                        "cells",    "box",    "degree", "samples",
                                        "lift",     "radius", "stderr", "stderr-score",
                                        "max-time", "state",  "paths"};
    const hb_method_description *info = hb_method_info(v->method);
    for (unsigned k = 0; v->from.path && info && k < sizeof names / sizeof *names; k++)
        HB_REFUSE_IF(session,
                     !(info->reads >> k & 1) && (json_object_get(v->from.typed, names[k]) ||
                                                 (v->state && strcmp(names[k], "state") == 0)),
                     "--%s has no effect on the method %s; leave it out", names[k], info->name);
    return HB_OK;
}

static hb_status solve_check_options(hb_session *session, const solve_values *v)
{
    HB_TRY(solve_check_typed(session, v));
    HB_REFUSE_IF(session, !isnan(v->save_every) && !v->state,
                 "--save-every is given without --state; give the file");
    HB_REFUSE_IF(session, v->resume && !v->state,
                 "--resume is given without --state; give the file");
    return solve_check_all(session, v);
}

static double zero_if_nan(double value)
{
    return isnan(value) ? 0 : value;
}

static void solve_fill_sampling(const solve_values *v, hb_solve_parts *settings)
{
    settings->mean.radius = settings->sampling.radius = zero_if_nan(v->radius);
    settings->sampling.density_error = zero_if_nan(v->stderr_density);
    settings->sampling.score_error = zero_if_nan(v->stderr_score);
    settings->sampling.max_time = zero_if_nan(v->max_time);
    settings->sampling.state = v->state;
    settings->sampling.save_every = zero_if_nan(v->save_every);
    settings->sampling.resume = v->resume;
}

/* ---- solving ---- */

typedef struct solve_task {
    hb_problem *problem;
    hb_points points;
    hb_times_given times;
    hb_user_paths paths;
    hb_solve_parts settings;
    hb_solve_shown shown;
    json_t *configuration;
    char *line; /* with it, for tables and .csv */
} solve_task;

static hb_status solve_interrupted(hb_session *session, const solve_values *v, hb_status status)
{
    if (status != HB_ERROR_INTERRUPTED || !v->state) return status;
    return hb_session_fail(session, status, "%s", hb_context_message(hb_session_context(session)));
}

/* ---- what a file needs to run again ---- */

/* "0.5,1" */
static json_t *times_json(const hb_times_given *times)
{
    char *text = malloc(times->n * HB_CONFIGURATION_NUMBER), *to = text;
    for (size_t k = 0; text && k < times->n; k++, to += strlen(to)) {
        if (k > 0) *to++ = ',';
        hb_configuration_number(times->values[k], to);
    }
    json_t *out = json_string(text);
    free(text);
    return out;
}

/* The lines of hb_problem_text: dim, drift or potential, noise, at times convention, and
 * parameters. */
static void add_equation(const char *text, json_t *object)
{
    json_t *params = json_array();
    for (int k = 0; text && *text; k++) {
        const char *const keys[] = {"dim", *text == 'd' ? "drift" : "potential", "noise",
                                    "convention"};
        const size_t key = strcspn(text, "=") + 1, line = strcspn(text, "\n");
        char number[HB_CONFIGURATION_NUMBER];
        hb_configuration_number(strtod(text + key, NULL), number);
        if (k < 3 || (k == 3 && strncmp(text, "convention=s", 12) == 0))
            json_object_set_new(object, keys[k], json_stringn(text + key, line - key));
        else
            json_array_append_new(params, json_sprintf("%.*s%s", (int)key, text, number));
        text += line + (text[line] == '\n');
    }
    if (!json_object_get(object, "convention"))
        json_object_set_new(object, "convention", json_string("ito"));
    if (json_array_size(params) > 0) json_object_set(object, "param", params);
    json_decref(params);
}

/* All that was asked for, with the content of a problem file. */
static json_t *solve_configuration(const solve_values *v, const solve_task *task)
{
    json_t *object = json_copy(v->from.object);
    const char *initial = hb_problem_initial_text(task->problem);
    const int typed = task->times.own && task->times.values == task->times.own;
    add_equation(hb_problem_text(task->problem), object);
    if (initial) json_object_set_new(object, "initial", json_string(initial));
    json_object_set_new(object, "time",
                        typed ? json_string(v->problem.times) : times_json(&task->times));
    json_object_set_new(object, "method", json_string(method_names()[v->method]));
    json_object_set_new(object, "seed", json_sprintf("%" PRIu64, v->problem.seed));
    json_object_set_new(object, "heatball", json_string(hb_version()));
    return object;
}

/* A picture of two dimensions shows a grid; where auto took none, one is solved for it. */
static hb_status solve_draw(hb_session *session, const solve_values *v, const solve_task *task,
                            const hb_solution *solution)
{
    hb_solution *grid = NULL;
    const size_t last = hb_solution_n_times(solution) - 1;
    double low[3], high[3];
    if (task->points.dim == 2 && method_code(v) == HB_METHOD_AUTO &&
        hb_solution_time(solution, last) > 0 &&
        hb_solution_box(solution, last, low, high) != HB_OK) {
        hb_solve_parts settings = task->settings;
        settings.all.method = HB_METHOD_GRID;
        settings.all.ignore_unread = 1;
        if (hb_solve(hb_session_context(session), task->problem, hb_solve_parts_link(&settings),
                     task->points.n, task->points.x, &grid) == HB_ERROR_INTERRUPTED)
            return HB_ERROR_INTERRUPTED;
    }
    const hb_status status = hb_solve_figure_write(session, task->problem, &task->points,
                                                   grid ? grid : solution, v->plot);
    hb_solution_destroy(grid);
    return status;
}

/* Draws and prints the solution, and destroys it. */
static hb_status solve_show_one(hb_session *session, const solve_values *v, solve_task *task,
                                hb_solution *solution)
{
    hb_status status = HB_OK;
    solve_note_unused(session, v, solution);
    if (v->plot) status = solve_draw(session, v, task, solution);
    if (status == HB_OK || status == HB_ERROR_UNAVAILABLE) {
        const hb_status result = hb_solve_show(session, &task->shown, solution);
        if (result != HB_OK) status = result;
    }
    hb_solution_destroy(solution);
    return status;
}

static hb_status solve_try_method(hb_session *session, const solve_task *task, int method,
                                  hb_solve_try *out)
{
    hb_context *context = hb_session_context(session);
    const double start = hb_session_now();
    hb_solve_parts settings = task->settings;
    settings.all.method = method;
    settings.all.ignore_unread = 1;
    const hb_status status = hb_solve(context, task->problem, hb_solve_parts_link(&settings),
                                      task->points.n, task->points.x, &out->solution);
    out->seconds = hb_session_now() - start;
    if (status != HB_OK)
        snprintf(out->reason, sizeof out->reason, "%s", hb_session_message(session, status));
    return status;
}

/* Fails with the first refusal when no method applies, and when it is stopped. */
static hb_status solve_all(hb_session *session, solve_task *task)
{
    hb_solve_try tries[MOST_METHODS] = {0};
    const hb_method_description *info;
    hb_status first = HB_OK, status = HB_OK;
    int n = 0, n_good = 0;
    for (; (info = hb_method_info(n + 1)) && status != HB_ERROR_INTERRUPTED; n++) {
        tries[n].name = info->name;
        status = solve_try_method(session, task, info->method, &tries[n]);
        if (status != HB_OK && first == HB_OK) first = status;
        n_good += status == HB_OK;
    }
    if (status != HB_ERROR_INTERRUPTED)
        status = n_good > 0 ? hb_solve_show_tries(session, &task->shown, n, tries)
                            : hb_session_fail(session, first, "%s", tries[0].reason);
    for (int k = 0; k < n; k++) hb_solution_destroy(tries[k].solution);
    return status;
}

/* Trajectories of the user, and a state, are of one time. */
static hb_status solve_check_times(hb_session *session, const solve_values *v,
                                   const solve_task *task)
{
    if (task->times.n == 1 || (!v->paths && !v->state)) return HB_OK;
    return hb_session_refuse(session, "%s is for one time, and there are %zu; give one",
                             v->paths ? "--paths" : "--state", task->times.n);
}

/* A picture of a point at time 0 cannot be drawn: the first positive time opens it. */
static void solve_skip_point(hb_session *session, const solve_values *v, solve_task *task)
{
    hb_times_given *times = &task->times;
    if (!v->plot || times->n < 2 || times->values[0] != 0 ||
        hb_problem_initial_kind(task->problem) != HB_INITIAL_KIND_POINT)
        return;
    times->values++;
    times->n--;
    if (!hb_session_quiet(session))
        fprintf(stderr,
                "heatball solve: note: a point has no density at time 0; the first time is %g\n",
                times->values[0]);
}

static hb_status solve_read(hb_session *session, const solve_values *v, solve_task *task)
{
    hb_problem_values own = v->problem;
    HB_TRY(hb_solve_check_path(session, v->path));
    HB_TRY(solve_check_options(session, v));
    if (v->from.path) HB_TRY(hb_session_reads(session, v->from.path));
    HB_TRY(hb_times_option(session, v->problem.times, &task->times));
    own.time = task->times.span;
    hb_session_limit(session, zero_if_nan(v->max_time));
    const double start = hb_session_now();
    const hb_status made = hb_problem_from_options(session, &own, &task->problem);
    hb_session_limit(session, 0);
    if (made == HB_ERROR_INTERRUPTED && hb_session_now() - start > v->max_time)
        return hb_session_fail(session, made,
                               "the problem was not read within the %g s of --max-time; give more "
                               "time, or simpler formulas",
                               v->max_time);
    HB_TRY(made);
    hb_times_of_problem(task->problem, &task->times);
    solve_skip_point(session, v, task);
    const int dim = hb_problem_dim(task->problem), method = method_code(v);
    HB_TRY(solve_check_times(session, v, task));
    HB_TRY(hb_solve_figure_check(session, v->plot, dim, method, task->times.n));
    HB_TRY(hb_points_read(session, v->problem.at, dim, &task->points));
    HB_TRY(hb_problem_fill_settings(session, &own, task->problem, &task->settings));
    hb_times_settings(&task->times, &task->settings.all);
    solve_fill_sampling(v, &task->settings);
    task->settings.all.method = method;
    task->settings.all.ignore_unread = v->from.path != NULL;
    task->configuration = solve_configuration(v, task);
    task->line = hb_configuration_line(task->configuration);
    if (!task->line) return HB_ERROR_MEMORY;
    task->shown = (hb_solve_shown){.points = &task->points,
                                   .problem = task->configuration,
                                   .line = task->line,
                                   .full = v->precision,
                                   .seed = v->problem.seed,
                                   .path = v->path,
                                   .json = v->json};
    HB_TRY(hb_user_paths_read(session, v->paths, v->path_times, dim,
                              task->times.values[task->times.n - 1], &task->settings.sampling,
                              &task->paths));
    hb_session_inputs_end(session);
    return HB_OK;
}

/* Grids have no tasks for many processes. */
static int solve_is_on_grid(const solve_task *task)
{
    const int method = task->settings.all.method;
    if (method == HB_METHOD_AUTO)
        return hb_problem_dim(task->problem) <= 3 && !task->settings.sampling.paths;
    return method == ALL || hb_method_of(method)->on_grid;
}

static hb_status solve_and_show(hb_session *session, const solve_values *v, solve_task *task)
{
    hb_solution *solution;
    if (task->settings.all.method == ALL) return solve_all(session, task);
    const hb_status status =
        hb_solve(hb_session_context(session), task->problem, hb_solve_parts_link(&task->settings),
                 task->points.n, task->points.x, &solution);
    return status == HB_OK ? solve_show_one(session, v, task, solution)
                           : solve_interrupted(session, v, status);
}

static hb_status run_solve(hb_session *session, const void *values)
{
    const solve_values *v = values;
    solve_task task = {0};
    hb_status status = solve_read(session, v, &task);
    if (status == HB_OK && solve_is_on_grid(&task)) {
        if (hb_session_alone(session, "the grid")) status = solve_and_show(session, v, &task);
        status = hb_session_together(session, status);
    } else if (status == HB_OK) {
        status = solve_and_show(session, v, &task);
    }
    hb_user_paths_destroy(session, &task.paths);
    hb_points_destroy(&task.points);
    hb_times_release(session, &task.times);
    hb_problem_destroy(task.problem);
    json_decref(task.configuration);
    free(task.line);
    return status;
}

const hb_command hb_command_solve = {
    .name = "solve",
    .summary = "solve an SDE: density, score and entropy density at points",
    .text =
        "For dx = f(x,t) dt + G(x,t) dW from an initial density, prints the density u at time T, "
        "ln u, the score grad ln u and u ln u at the given points, each with an error. The problem "
        "comes from a problem file or from --drift, --noise and --initial. A line that begins with "
        "# says what was done and what the errors are: standard error (68 %), error estimate or "
        "bound. Columns are x_1 .., density, density_error, log_density, log_density_error, "
        "score_1 .., score_1_error .., entropy_density, entropy_density_error. An error that "
        "cannot be trusted is inf, and a line below the table says why. With several times there "
        "is a row for each time and point, and t is the first column. The line '# problem:' has "
        "all options, and so have files; --from runs them again.",
    .examples =
        {"heatball solve --drift \"x1 - x1^3\" --noise 1 --initial "
         "\"gaussian(mean=0,var=1)\" --time 1 --at \"-2.5;-1;0;0.5;2.5\"",
         "heatball solve --drift \"x - x^3\" --initial \"point(0)\" --time 0.1,0.5,1 --at=-3:3:61 "
         "-o wells.csv --plot wells.svg",
         "heatball solve --drift \"a*sin(x[i])\" --param a=2 --dim 5 --initial "
         "\"gaussian(mean=0,var=1)\" --time 0.5 --at 0,0,0,0,0 --stderr 0.01"},
    .options = solve_options,
    .size = sizeof(solve_values),
    .run = run_solve};
