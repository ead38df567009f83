/* heatball residual: how well the solution of a problem, or a model, satisfies the mean-value
 * identity.
 *
 * R_r = F - E_kappa[F] - (C1 r^2/4) E_source[h_F] for F = u, ln u or u ln u at each point and
 * radius; it is zero for an exact solution. 4 R_r/(C1 r^2), the scaled residual, tends to the
 * residual of the differential equation as r goes to 0; C1 = 0.0204196 in one dimension.
 *
 * A model with the energy head is ln u of its process, dz = F dtau + sqrt(2) dW with F = -z
 * (ou), 0 (ve) or the drift that it was trained with, in its coordinates z = (x - shift)/scale,
 * in which the radii and tau are measured. ln u changes by a constant from z to x, the residual
 * does not. */
#include "commands.h"
#include "problem_options.h"
#include "rows.h"

#include <heatball/model.h>
#include <heatball/train.h>
#include <inttypes.h>
#include <stdlib.h>

typedef struct residual_values {
    hb_problem_values problem;
    hb_reals radii;
    double tau;
    int quantity, json;
    const char *path, *model;
} residual_values;

static const char *const quantity_names[] = {"u", "v", "w", NULL};
static const hb_quantity quantity_codes[] = {HB_QUANTITY_U, HB_QUANTITY_V, HB_QUANTITY_W};

#define VALUES residual_values
static const hb_option residual_options[] = {
    HB_OPTION(TEXT, "model", "FILE", model, "a model file (energy head) instead of a problem"),
    HB_OPTION(REAL, "tau", "T", tau, "of a model: the tau of the points; required with --model",
              .max = 1e6, .rules = HB_OPTION_ABOVE),
    HB_PROBLEM_EQUATION,
    HB_PROBLEM_PLACES(HB_PROBLEM_TIME),
    HB_PROBLEM_SAMPLES,
    HB_PROBLEM_BALL,
    HB_PROBLEM_SEED,
    HB_PROBLEM_GRID,
    HB_OPTION(REALS, "radii", "LIST", radii, "radii of the heat balls", .max = INFINITY,
              .rules = HB_OPTION_REQUIRED | HB_OPTION_ABOVE),
    HB_OPTION(CHOICE, "quantity", NULL, quantity, "of the density u, of v = ln u or of w = u ln u",
              .choices = quantity_names, .fallback = "v"),
    HB_OPTION_JSON,
    HB_OPTION(TEXT, NULL, "FILE", path, "write the rows to this file, .csv or .npy by its name",
              .letter = 'o', .rules = HB_OPTION_WRITES),
    {0}};

/* Where draws are asked for, draws are taken: up to three dimensions a rule is the default. */
static hb_status residual_settings(hb_session *session, const hb_problem_values *v,
                                   const hb_problem *problem, hb_solve_parts *out)
{
    HB_REFUSE_IF(session, v->samples > 0 && v->degree > 0,
                 "--samples has no effect on --degree; leave one of them out");
    const hb_status status = hb_problem_fill_settings(session, v, problem, out);
    if (v->samples > 0) out->mean.degree = -1;
    return status;
}

/* One row per point and radius; one block holds the columns. */
typedef struct residual_table {
    size_t n;
    double *x, *radius; // (n, dim), owns the block; (n)
    hb_residual_values values;
} residual_table;

static hb_status residual_create_table(const hb_points *points, const hb_reals *radii,
                                       residual_table *out)
{
    const size_t n = points->n * radii->n, dim = (size_t)points->dim;
    *out = (residual_table){.n = n, .x = malloc(n * (dim + 5) * sizeof(double))};
    if (!out->x) return HB_ERROR_MEMORY;
    double *at = out->radius = out->x + n * dim;
    out->values =
        (hb_residual_values){sizeof out->values, at + n, at + 2 * n, at + 3 * n, at + 4 * n};
    for (size_t i = 0; i < n; i++) {
        out->radius[i] = radii->values[i % radii->n];
        for (size_t k = 0; k < dim; k++) out->x[i * dim + k] = points->x[i / radii->n * dim + k];
    }
    return HB_OK;
}

static hb_status residual_print_json(const residual_values *v, const hb_rows *rows, double time,
                                     double tau, int dim)
{
    json_t *object =
        json_pack("{s:s, s:o, s:I, s:i}", "quantity", quantity_names[v->quantity], "tau",
                  hb_rows_time_json(tau), "seed", (json_int_t)v->problem.seed, "dim", dim);
    if (object && !v->model) json_object_set_new(object, "time", hb_rows_time_json(time));
    if (object && v->model) json_object_set_new(object, "model", json_string(v->model));
    if (object && v->path) json_object_set_new(object, "file", json_string(v->path));
    if (object && !v->path) json_object_set_new(object, "points", hb_rows_json(rows));
    return hb_rows_print_json(object, stdout);
}

static hb_status residual_show(hb_session *session, const residual_values *v, int dim, double time,
                               double tau, const residual_table *table)
{
    const hb_rows_column columns[] = {
        {.name = "x", .width = dim, .values = table->x},
        {.name = "radius", .values = table->radius},
        {.name = "residual", .values = table->values.residual},
        {.name = "residual", .suffix = "_error", .values = table->values.residual_se},
        {.name = "scaled", .values = table->values.scaled},
        {.name = "scaled", .suffix = "_error", .values = table->values.scaled_se},
    };
    const hb_rows rows = {
        .n = table->n, .n_columns = sizeof columns / sizeof *columns, .columns = columns};
    hb_session_clear(session);
    if (v->path) HB_TRY(hb_rows_write(session, &rows, v->path));
    if (v->json) return residual_print_json(v, &rows, time, tau, dim);
    if (v->path && hb_session_quiet(session)) return HB_OK;
    if (v->path) printf("%s: %zu rows\n", v->path, table->n);
    if (!hb_session_quiet(session) && v->model)
        printf("# residual of v, %s, tau %.9g, seed %" PRIu64 "\n", v->model, tau, v->problem.seed);
    else if (!hb_session_quiet(session))
        printf("# residual of %s, time %.9g, tau %.9g, seed %" PRIu64 "\n",
               quantity_names[v->quantity], time, tau, v->problem.seed);
    if (!v->path) hb_rows_print(&rows, stdout);
    return HB_OK;
}

static hb_status residual_compute(hb_session *session, const residual_values *v,
                                  const hb_problem *problem, const hb_points *points,
                                  residual_table *table)
{
    hb_context *context = hb_session_context(session);
    hb_solve_parts settings;
    HB_TRY(residual_settings(session, &v->problem, problem, &settings));
    settings.mean.quantity = quantity_codes[v->quantity];
    const double time = isnan(v->problem.time) ? hb_problem_time(problem) : v->problem.time;
    double tau = INFINITY;
    if (time != INFINITY) HB_TRY(hb_problem_tau_of_t(context, problem, time, &tau));
    HB_TRY(hb_solve_residual(context, problem, hb_solve_parts_link(&settings), points->n,
                             (int)v->radii.n, points->x, v->radii.values, &table->values));
    return residual_show(session, v, points->dim, time, tau, table);
}

/* ---- of a problem ---- */

static hb_status residual_of_problem(hb_session *session, const residual_values *v)
{
    hb_problem *problem = NULL;
    hb_points points = {0};
    residual_table table = {0};
    HB_REFUSE_IF(session, !isnan(v->tau), "--tau is for a model; a problem takes --time");
    hb_status status = hb_problem_from_options(session, &v->problem, &problem);
    if (status == HB_OK)
        status = hb_points_read(session, v->problem.at, hb_problem_dim(problem), &points);
    if (status == HB_OK) status = residual_create_table(&points, &v->radii, &table);
    if (status == HB_OK) status = residual_compute(session, v, problem, &points, &table);
    free(table.x);
    hb_points_destroy(&points);
    hb_problem_destroy(problem);
    return status;
}

/* ---- of a model ---- */

static hb_status residual_check_model(hb_session *session, const residual_values *v)
{
    const hb_problem_values *p = &v->problem;
    HB_REFUSE_IF(
        session,
        p->problem || p->noise || p->initial || p->dim > 0 || !isnan(p->time) || p->points > 0 ||
            p->box,
        "--model has its own process; it goes with --tau, --at, --radii, --samples, --lift, "
        "--degree and --seed alone, and with --drift and --param when it was trained so");
    HB_REFUSE_IF(session, isnan(v->tau), "--tau is missing; --model needs it");
    HB_REFUSE_IF(session, quantity_codes[v->quantity] != HB_QUANTITY_V,
                 "--quantity is %s; of a model it must be v, its log-density",
                 quantity_names[v->quantity]);
    return HB_OK;
}

/* The model's process as a problem in z: *out; *made is to be destroyed. */
static hb_status residual_process(hb_session *session, const residual_values *v,
                                  const hb_model *model, const hb_problem **out, hb_problem **made)
{
    const hb_problem_values *p = &v->problem;
    hb_model_info info;
    hb_model_info_get(model, sizeof info, &info);
    HB_REFUSE_IF(session, info.head != HB_HEAD_ENERGY,
                 "%.200s has the %s head; only the energy head has a log-density", v->model,
                 HB_OPTION_NAME(hb_train, &info, head));
    const int nonlinear = info.process == HB_PROCESS_DRIFT;
    const int typed = hb_problem_frame(hb_model_problem(model)) != NULL;
    HB_REFUSE_IF(session, (p->drift || p->params.n > 0) && (!nonlinear || typed),
                 nonlinear ? "%.200s keeps its drift and its noise; leave out --drift"
                           : "%.200s was trained without --drift; leave it out",
                 v->model);
    *out = hb_model_problem(model);
    if (nonlinear && !p->drift && p->params.n == 0) return HB_OK;
    const char *drift = nonlinear ? p->drift : info.process == HB_PROCESS_OU ? "-x[i]" : "0*x[i]";
    HB_REFUSE_IF(session, !drift, "--param is given without --drift; give both or none");
    const hb_status status =
        hb_problem_of_drift(session, drift, NULL, -1, &p->params, info.dim, NULL, made);
    *out = *made;
    return status;
}

/* z[n][dim] of the points; those outside of the domain of the process are refused. */
static hb_status residual_standardise(hb_session *session, const hb_model *model,
                                      const hb_points *points, double *z)
{
    const size_t d = (size_t)points->dim;
    hb_model_standardise(model, points->n, points->x, z);
    for (size_t i = 0; i < points->n * d; i++)
        HB_REFUSE_IF(
            session, isnan(z[i]) && !isnan(points->x[i]),
            "point %zu is outside of the domain of the model's process, where its noise vanishes",
            i / d + 1);
    return HB_OK;
}

static hb_status residual_compute_model(hb_session *session, const residual_values *v,
                                        const hb_model *model, const hb_problem *problem,
                                        const hb_points *points, residual_table *table)
{
    hb_context *context = hb_session_context(session);
    hb_solve_parts settings;
    hb_field field;
    double *z = malloc(points->n * (size_t)points->dim * sizeof *z); // (n, dim)
    if (!z) return HB_ERROR_MEMORY;
    hb_status status = residual_standardise(session, model, points, z);
    if (status == HB_OK) status = residual_settings(session, &v->problem, problem, &settings);
    if (status == HB_OK) status = hb_model_field(context, model, &field);
    if (status == HB_OK)
        status = hb_mean_residual(context, problem, &field, &settings.mean, points->n,
                                  (int)v->radii.n, z, v->tau, v->radii.values, &table->values);
    free(z);
    return status == HB_OK ? residual_show(session, v, points->dim, v->tau, v->tau, table) : status;
}

static hb_status residual_of_model(hb_session *session, const residual_values *v)
{
    hb_model *model = NULL;
    hb_problem *made = NULL;
    const hb_problem *problem = NULL;
    hb_points points = {0};
    residual_table table = {0};
    hb_status status = residual_check_model(session, v);
    if (status == HB_OK) status = hb_model_load(hb_session_context(session), v->model, &model);
    if (status == HB_OK) status = residual_process(session, v, model, &problem, &made);
    if (status == HB_OK)
        status = hb_points_read(session, v->problem.at, hb_problem_dim(problem), &points);
    if (status == HB_OK) status = residual_create_table(&points, &v->radii, &table);
    if (status == HB_OK)
        status = residual_compute_model(session, v, model, problem, &points, &table);
    free(table.x);
    hb_points_destroy(&points);
    hb_problem_destroy(made);
    hb_model_destroy(model);
    return status;
}

static hb_status run_residual(hb_session *session, const void *values)
{
    const residual_values *v = values;
    HB_TRY(hb_rows_check_path(session, v->path));
    return v->model ? residual_of_model(session, v) : residual_of_problem(session, v);
}

const hb_command hb_command_residual = {
    .name = "residual",
    .summary = "print the mean-value residual of a solution or of a model",
    .text = "Solves a problem on a grid, as heatball solve does, or takes a trained model, and "
            "prints at each point and radius the mean-value residual R = F - E_kappa[F] - (C1 "
            "r^2/4) E_source[h_F] of F = u, ln u or u ln u (of a model: its log-density), which is "
            "zero for an exact solution, and scaled = 4 R/(C1 r^2), which tends to the residual of "
            "the differential equation as r goes to 0. Columns are x_1 .., radius, residual, "
            "residual_error, scaled, scaled_error.",
    .examples =
        {"heatball residual --drift \"x1 - x1^3\" --noise 1 --initial "
         "\"gaussian(mean=0,var=1)\" --time 1 --at \"-1;0.5\" --radii 0.1,0.2,0.4 --degree 7",
         "heatball residual --drift \"x - x^3\" --initial \"gaussian(mean=0,var=1)\" --time 0.5 "
         "--at=-2:2:9 --radii 0.2 -o residuals.csv",
         "heatball residual --drift \"y, -x - y\" --noise 0.7 --initial \"gaussian(mean=0 "
         "0,var=0.5)\" --time 1 --at \"0,0; 1,0.5\" --radii 0.1,0.3 --quantity u"},
    .options = residual_options,
    .size = sizeof(residual_values),
    .run = run_residual,
    .alone = 1};
