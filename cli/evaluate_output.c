/* An evaluation as a table with a few lines below, or as JSON.
 *
 * One number for the curl and one for the residual stand for all tau: with k of them
 *     curl = mean curl_i,  error sqrt(sum se_i^2)/k;  residual^2 = mean R_i^2 (own or first radius)
 * Points at different tau are independent, so the errors add in squares; the error of R^2 is 2 R
 * se, or se^2 where R is 0 (evaluate_measure.c). */
#include "command_evaluate.h"
#include "density_line.h"
#include "rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef struct whole {
    double value, se;
} whole;

static size_t radii_of(const hb_evaluate_plan *plan)
{
    return plan->n_radii ? plan->n_radii : 1;
}

static whole curl_of(const hb_evaluate_plan *plan, const hb_evaluation *e)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < plan->n_tau; i++) {
        sum += e->curl[i];
        squares += e->curl_se[i] * e->curl_se[i];
    }
    return (whole){sum / (double)plan->n_tau, sqrt(squares) / (double)plan->n_tau};
}

static whole residual_of(const hb_evaluate_plan *plan, const hb_evaluation *e)
{
    double sum = 0, squares = 0, n = 0;
    for (size_t i = 0; i < plan->n_tau; i++) {
        const hb_evaluate_residual *r = &e->residual[i * radii_of(plan)];
        if (isnan(r->residual)) continue;
        const double R = r->residual, se = r->residual_se, error = R > 0 ? 2 * R * se : se * se;
        sum += R * R;
        squares += error * error;
        n++;
    }
    const double root = sqrt(sum / n), error = sqrt(squares) / n;
    return (whole){root, root > 0 ? error / (2 * root) : sqrt(error)};
}

/* ---- the table ---- */

/* A quantity of the table: its values and errors at each tau, and why it is missing. */
typedef struct quantity {
    const char *name;
    const double *value, *se; /* se NULL: none */
    size_t stride;            /* from a tau to the next */
    const char *missing;
} quantity;

enum { QUANTITIES = 6, JSON_COLUMNS = 2 * QUANTITIES, CELL = 40 };
enum { SCORE = sizeof(hb_score_error) / sizeof(double) };

static hb_rows_column tau_column(const hb_evaluation *e)
{
    return (hb_rows_column){.name = "tau", .values = &e->score->tau, .stride = SCORE};
}

static void quantities_of(const hb_evaluate_plan *plan, const hb_evaluation *e,
                          quantity out[QUANTITIES])
{
    const hb_score_error *s = e->score;
    const hb_evaluate_residual *r = e->residual;
    const size_t step = radii_of(plan) * sizeof *r / sizeof(double);
    const quantity all[QUANTITIES] = {
        {"mse", &s->all, &s->all_se, SCORE, e->no_score},
        {"mse_low", &s->low, &s->low_se, SCORE, e->no_score},
        {"mse_high", &s->high, &s->high_se, SCORE, e->no_score},
        {"mse_grid", &s->grid, NULL, SCORE, e->no_score},
        {"curl", e->curl, e->curl_se, 1, e->no_points},
        {"residual", &r->residual, &r->residual_se, step, e->no_residual}};
    for (int k = 0; k < QUANTITIES; k++) out[k] = all[k];
}

/* All columns, as numbers. */
static json_t *tau_list(const hb_evaluate_plan *plan, const hb_evaluation *e)
{
    quantity q[QUANTITIES];
    hb_rows_column column[JSON_COLUMNS] = {tau_column(e)};
    int n = 1;
    quantities_of(plan, e, q);
    for (int k = 0; k < QUANTITIES; k++) {
        column[n++] =
            (hb_rows_column){.name = q[k].name, .values = q[k].value, .stride = q[k].stride};
        if (q[k].se)
            column[n++] = (hb_rows_column){
                .name = q[k].name, .suffix = "_se", .values = q[k].se, .stride = q[k].stride};
    }
    const hb_rows rows = {.n = plan->n_tau, .n_columns = n, .columns = column};
    return hb_rows_json(&rows);
}

static void print_cell(const quantity *q, size_t i, char *out)
{
    const double value = q->value[i * q->stride];
    if (isnan(value))
        snprintf(out, CELL, "-");
    else if (q->se)
        snprintf(out, CELL, "%.3g +- %.1g", value, q->se[i * q->stride]);
    else
        snprintf(out, CELL, "%.3g", value);
}

/* The columns that were measured, as value +- error. */
static hb_status print_table(const hb_evaluate_plan *plan, const hb_evaluation *e)
{
    const size_t n = plan->n_tau;
    quantity q[QUANTITIES];
    hb_rows_column column[1 + QUANTITIES] = {tau_column(e)};
    int used = 1;
    const char **texts = malloc(QUANTITIES * n * (sizeof *texts + CELL)); // (QUANTITIES, n)
    if (!texts) return HB_ERROR_MEMORY;
    char *cell = (char *)(texts + QUANTITIES * n);
    quantities_of(plan, e, q);
    for (size_t k = 0; k < QUANTITIES; k++) {
        if (q[k].missing) continue;
        for (size_t i = 0; i < n; i++, cell += CELL) {
            print_cell(&q[k], i, cell);
            texts[k * n + i] = cell;
        }
        column[used++] = (hb_rows_column){.name = q[k].name, .texts = texts + k * n};
    }
    const hb_rows rows = {.n = n, .n_columns = used, .columns = column};
    hb_rows_print(&rows, stdout);
    free(texts);
    return HB_OK;
}

/* ---- JSON ---- */

static void put_text(json_t *object, const char *key, const char *text)
{
    if (text) json_object_set_new(object, key, json_string(text));
}

static json_t *residual_list(const hb_evaluate_plan *plan, const hb_evaluation *e)
{
    json_t *list = json_array();
    for (size_t i = 0; !e->no_residual && i < plan->n_tau * radii_of(plan); i++) {
        const hb_evaluate_residual *r = &e->residual[i];
        json_t *row = json_object();
        hb_rows_put(row, "tau", r->tau);
        hb_rows_put(row, "radius", r->radius);
        hb_rows_put(row, "residual", r->residual);
        hb_rows_put(row, "residual_se", r->residual_se);
        hb_rows_put(row, "scaled", r->scaled);
        hb_rows_put(row, "scaled_se", r->scaled_se);
        json_array_append_new(list, row);
    }
    return list;
}

/* A list of names, or null. */
static json_t *name_list(const hb_model *model, int dim)
{
    json_t *list = hb_model_column_name(model, 0) ? json_array() : json_null();
    for (int j = 0; hb_model_column_name(model, 0) && j < dim; j++)
        json_array_append_new(list, json_string(hb_model_column_name(model, j)));
    return list;
}

static void put_direct(json_t *object, const hb_evaluation *e)
{
    const char *key;
    double value;
    hb_rows_put(object, "nll_direct", e->check.rows ? e->direct : NAN);
    hb_rows_put(object, "nll_direct_se", e->check.rows ? e->direct_se : NAN);
    for (int i = 0; (key = hb_density_line_key(&e->check, i, &value)); i++)
        hb_rows_put(object, key, value);
    put_text(object, "nll_direct_reason", *e->no_direct ? e->no_direct : NULL);
}

static void put_samples(json_t *object, int dim, const hb_evaluation *e)
{
    const int some = !e->no_mmd;
    hb_rows_put(object, "mmd", some ? e->mmd.mmd : NAN);
    hb_rows_put(object, "mmd_floor", some ? e->floor.mmd : NAN);
    hb_rows_put(object, "mmd2", some ? e->mmd.mmd2 : NAN);
    hb_rows_put(object, "mmd2_se", some ? e->mmd.mmd2_se : NAN);
    hb_rows_put(object, "mmd2_floor", some ? e->floor.mmd2 : NAN);
    hb_rows_put(object, "mmd2_floor_se", some ? e->floor.mmd2_se : NAN);
    hb_rows_put(object, "bandwidth", some ? e->mmd.bandwidth : NAN);
    json_t *distances = json_array();
    for (int j = 0; e->kolmogorov && j < dim; j++)
        json_array_append_new(distances, json_real(e->kolmogorov[j]));
    json_object_set_new(object, "kolmogorov", distances);
    hb_rows_put(object, "kolmogorov_floor", e->kolmogorov ? e->kolmogorov_floor : NAN);
    hb_rows_put_count(object, "generated", e->generated);
    hb_rows_put_count(object, "real", e->real);
    put_text(object, "mmd_reason", e->no_mmd);
    json_t *counts = json_array();
    for (int k = 0; k < e->modes; k++)
        json_array_append_new(counts, json_integer((json_int_t)e->counts[k]));
    json_object_set_new(object, "modes", e->modes ? json_integer(e->found) : json_null());
    json_object_set_new(object, "modes_true", e->modes ? json_integer(e->modes) : json_null());
    json_object_set_new(object, "mode_counts", counts);
    json_object_set_new(object, "outliers",
                        e->modes ? json_integer((json_int_t)e->outliers) : json_null());
    put_text(object, "modes_reason", e->no_modes);
    hb_rows_put(object, "nll", e->nll);
    hb_rows_put(object, "nll_se", e->nll_se);
    hb_rows_put(object, "nll_bits", e->nll / M_LN2);
    hb_rows_put(object, "nll_exact", e->nll_exact);
    hb_rows_put_count(object, "nll_rows", e->nll_rows);
    put_text(object, "nll_reason", e->no_nll);
    put_direct(object, e);
}

static json_t *json_of(const char *model, const char *plot, const hb_evaluate_plan *plan,
                       const hb_evaluation *e)
{
    const whole curl = curl_of(plan, e), residual = residual_of(plan, e);
    json_t *object = json_object();
    put_text(object, "model", model);
    put_text(object, "data", plan->data->name);
    hb_model_info info;
    hb_model_info_get(plan->model, sizeof info, &info);
    put_text(object, "loss", info.loss);
    hb_rows_put_count(object, "dim", (size_t)info.dim);
    hb_rows_put(object, "scale", info.scale);
    hb_rows_put_count(object, "held_out", plan->data->held);
    put_text(object, "held_out_reason", plan->data->why);
    hb_rows_put_seed(object, plan->seed);
    json_object_set_new(object, "tau", tau_list(plan, e));
    put_text(object, "mse_reason", e->no_score);
    hb_rows_put(object, "curl", curl.value);
    hb_rows_put(object, "curl_se", curl.se);
    put_text(object, "curl_reason", e->no_points);
    hb_rows_put(object, "residual", residual.value);
    hb_rows_put(object, "residual_se", residual.se);
    put_text(object, "residual_reason", e->no_residual);
    json_object_set_new(object, "residuals", residual_list(plan, e));
    json_object_set_new(object, "columns", name_list(plan->model, info.dim));
    put_samples(object, info.dim, e);
    put_text(object, "plot", plot);
    return object;
}

/* ---- text ---- */

static void print_radii(const hb_evaluate_plan *plan, const hb_evaluation *e)
{
    if (e->no_residual || plan->n_radii < 2) return;
    for (size_t i = 0; i < plan->n_tau * plan->n_radii; i++) {
        const hb_evaluate_residual *r = &e->residual[i];
        if (isnan(r->residual))
            printf("residual at tau %.6g, radius %.6g: the ball leaves the model's tau\n", r->tau,
                   r->radius);
        else
            printf("residual at tau %.6g, radius %.6g: %.4g +- %.2g, scaled %.4g +- %.2g\n", r->tau,
                   r->radius, r->residual, r->residual_se, r->scaled, r->scaled_se);
    }
}

/* Column j by the name that the model has for it, else by its number, from 1. */
static void print_column(const hb_model *model, int j)
{
    const char *name = hb_model_column_name(model, j);
    if (name && name[0])
        printf(" (%s)", name);
    else
        printf(" (column %d)", j + 1);
}

/* The columns that are farthest from the data, at most MOST_COLUMNS of them, the farthest first. */
static void print_columns(const hb_model *model, int dim, const hb_evaluation *e)
{
    enum { MOST_COLUMNS = 8 };
    int above = 0, order[MOST_COLUMNS], n = 0;
    if (!e->kolmogorov) return;
    for (int j = 0; j < dim; j++) {
        int k = n < MOST_COLUMNS ? n++ : n;
        above += e->kolmogorov[j] > e->kolmogorov_floor;
        for (; k > 0 && e->kolmogorov[order[k - 1]] < e->kolmogorov[j]; k--)
            if (k < MOST_COLUMNS) order[k] = order[k - 1];
        if (k < MOST_COLUMNS) order[k] = j;
    }
    printf("columns: Kolmogorov distance of generated and real rows, floor %.3g:",
           e->kolmogorov_floor);
    for (int k = 0; k < n; k++) {
        printf("%s %.3g", k ? "," : "", e->kolmogorov[order[k]]);
        print_column(model, order[k]);
    }
    printf("%s; %d of %d above the floor\n", n < dim ? ", .." : "", above, dim);
}

static void print_modes(const hb_evaluation *e)
{
    if (!e->modes) return;
    printf("modes: %d of %d found, counts", e->found, e->modes);
    for (int k = 0; k < e->modes; k++) printf("%s %zu", k ? "," : "", e->counts[k]);
    printf("; %zu outliers\n", e->outliers);
}

static void print_samples(const hb_model *model, int dim, const hb_evaluation *e)
{
    if (e->no_mmd)
        printf("mmd, nll: none, since %s\n", e->no_mmd);
    else
        printf("mmd: %.4g, real against real %.4g (%zu generated, %zu real rows; squares %.3g +- "
               "%.2g and %.3g +- %.2g)\n",
               e->mmd.mmd, e->floor.mmd, e->generated, e->real, e->mmd.mmd2, e->mmd.mmd2_se,
               e->floor.mmd2, e->floor.mmd2_se);
    print_columns(model, dim, e);
    print_modes(e);
    if (!e->no_mmd && e->no_nll) printf("nll: none, since %s\n", e->no_nll);
    if (!e->nll_rows) return;
    printf("nll: %.5g +- %.2g nats per dimension, %.5g bits, of %zu rows", e->nll, e->nll_se,
           e->nll / M_LN2, e->nll_rows);
    if (isfinite(e->nll_exact)) printf("; of the set itself %.5g nats", e->nll_exact);
    printf("\n");
    if (*e->no_direct) printf("nll from one pass: none, since %s\n", e->no_direct);
    if (!e->check.rows) return;
    printf("nll from one pass: %.5g +- %.2g nats per dimension; ", e->direct, e->direct_se);
    hb_density_line_print(&e->check);
}

static hb_status print_text(hb_session *session, const char *model, const char *plot,
                            const hb_evaluate_plan *plan, const hb_evaluation *e)
{
    hb_model_info info;
    hb_model_info_get(plan->model, sizeof info, &info);
    if (!hb_session_quiet(session)) {
        printf("# %s: %s, %" PRIu64 " steps, against %s, seed %" PRIu64 "\n", model, info.loss,
               info.steps, plan->data->name, plan->seed);
        if (e->no_score) printf("# no error of the score: %s\n", e->no_score);
        if (e->no_residual) printf("# no residual: %s\n", e->no_residual);
    }
    const hb_status status = print_table(plan, e);
    print_radii(plan, e);
    if (plan->data->why)
        printf("rows: %zu of %zu held out: %s\n", plan->data->held,
               plan->data->n + plan->data->held, plan->data->why);
    print_samples(plan->model, info.dim, e);
    if (plot && !hb_session_quiet(session)) printf("%s: error against tau\n", plot);
    return status;
}

hb_status hb_evaluate_print(hb_session *session, const char *model, const char *plot,
                            const hb_evaluate_plan *plan, const hb_evaluation *e, int json)
{
    hb_session_clear(session);
    if (json) return hb_rows_print_json(json_of(model, plot, plan, e), stdout);
    return print_text(session, model, plot, plan, e);
}
