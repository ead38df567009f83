/* The paper's verification on a bistable process (its last appendix), against both references.
 *
 * dX = (X - X^3) dt + dW has the stationary density p ~ exp(x^2 - x^4/2) and the stationary score
 * 2x - 2x^3. The paper estimates the score at t = 1 by denoising score matching (10^4 trajectories,
 * noise 0.15) and by the heat-ball representation (r = 0.3), and compares both with the stationary
 * score, without naming the start. At t = 1 that is the right answer only for a stationary start.
 * So the table here has two starts, stationary and gaussian(mean=0, var=1), and two references, the
 * stationary score and the exact score at t = 1.
 *
 * Must reproduce: heat ball below 1e-3 overall (the paper: 0.54), DSM near 5 (the paper: 5.20). */
#include "bistable.h"

#include <heatball/file.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DRIFT "x1 - x1^3"

const char *const hb_bistable_start_names[BISTABLE_STARTS] = {"stationary", "gaussian"};
const char *const hb_bistable_initial[BISTABLE_STARTS] = {"stationary", "gaussian(mean=0, var=1)"};
const char *const hb_bistable_reference_names[BISTABLE_REFERENCES] = {"stationary", "exact"};
const char *const hb_bistable_method_names[BISTABLE_METHODS] = {
    "dsm", "dsm-best", "dsm-limit", "heat-ball", "heat-ball-cubature", "grid", "stationary-score"};
static const char *const REGIONS[BISTABLE_REGIONS] = {"overall", "core", "tail"};

/* ---- sizes ---- */

static hb_bistable_size choose_size(const hb_study_settings *settings)
{
    hb_bistable_size size = {.seed = settings->seed,
                             .runs = 8,
                             .pairs = 2000,
                             .sweep_pairs = 2000,
                             .degree = 8,
                             .cells = 2000,
                             .wide_cells = 3000};
    if (settings->quick) {
        size.runs = 3;
        size.pairs = 500;
        size.sweep_pairs = 500;
        size.cells = 1000;
        size.wide_cells = 1500;
    }
    if (settings->seeds > 0) size.runs = settings->seeds;
    return size;
}

/* ---- files ---- */

static hb_status write_row(hb_writer *writer, const void *user, size_t i)
{
    const hb_bistable_row *row = (const hb_bistable_row *)user + i;
    const hb_bistable_error *e = &row->error;
    const double numbers[] = {e->mse[0],     e->se[0],      e->mse[1],    e->se[1],
                              e->mse[2],     e->se[2],      row->claimed, row->paper[0],
                              row->paper[1], row->paper[2], row->runs};
    HB_TRY(hb_writer_printf(writer, "%s,%s,%s,", hb_bistable_method_names[row->method],
                            hb_bistable_start_names[row->start],
                            hb_bistable_reference_names[row->reference]));
    return hb_study_write_numbers(writer, sizeof numbers / sizeof *numbers, numbers);
}

static json_t *row_json(const hb_bistable_row *row)
{
    json_t *object = json_pack("{s:s,s:s,s:s,s:i}", "method", hb_bistable_method_names[row->method],
                               "start", hb_bistable_start_names[row->start], "reference",
                               hb_bistable_reference_names[row->reference], "runs", row->runs);
    for (int region = 0; region < BISTABLE_REGIONS; region++)
        json_object_set_new(object, REGIONS[region],
                            json_pack("{s:o,s:o,s:o}", "mse",
                                      hb_study_number(row->error.mse[region]), "se",
                                      hb_study_number(row->error.se[region]), "paper",
                                      hb_study_number(row->paper[region])));
    json_object_set_new(object, "claimed", hb_study_number(row->claimed));
    return object;
}

static json_t *grid_json(const hb_grid_info *info)
{
    return json_pack("{s:i,s:f,s:f,s:f,s:f,s:i}", "cells", info->points[0], "low", info->low[0],
                     "high", info->high[0], "mass_error", info->mass_error, "boundary_log",
                     info->boundary_log, "steps", info->steps);
}

static json_t *noise_json(const hb_bistable_case *c)
{
    json_t *list = json_array();
    for (int i = 0; i < BISTABLE_NOISES; i++)
        for (int width = 0; width < BISTABLE_WIDTHS; width++)
            json_array_append_new(list,
                                  json_pack("{s:f,s:f,s:o,s:o,s:o}", "noise", hb_bistable_noises[i],
                                            "bandwidth_factor", hb_bistable_widths[width],
                                            "overall", hb_study_number(c->noise[i].mse[width]),
                                            "overall_se", hb_study_number(c->noise[i].se[width]),
                                            "limit", hb_study_number(c->noise[i].limit)));
    return list;
}

static json_t *radius_json(const hb_bistable_case *c)
{
    json_t *list = json_array();
    for (int lift = 0; lift < BISTABLE_LIFTS; lift++)
        for (int i = 0; i < BISTABLE_RADII; i++) {
            const hb_bistable_radius_point *p = &c->radius[lift][i];
            json_array_append_new(
                list, json_pack("{s:f,s:i,s:o,s:o,s:o,s:o,s:o}", "radius", p->radius, "lift",
                                p->lift, "overall", hb_study_number(p->mse), "overall_se",
                                hb_study_number(p->mse_se), "claimed", hb_study_number(p->claimed),
                                "cubature", hb_study_number(p->cubature), "cubature_claimed",
                                hb_study_number(p->cubature_claimed)));
        }
    return list;
}

static json_t *case_json(const hb_bistable_case *c, int start)
{
    const hb_bistable_saddle *s = &c->saddle;
    json_t *object =
        json_pack("{s:s,s:s,s:o,s:o,s:o,s:o,s:{s:f,s:f},s:{s:f,s:o,s:o,s:o,s:o},s:o}", "start",
                  hb_bistable_start_names[start], "initial", hb_bistable_initial[start],
                  "field_grid", grid_json(&c->field), "reference_grid", grid_json(&c->reference),
                  "bandwidth", hb_study_number(c->bandwidth), "farthest_end",
                  hb_study_number(c->farthest), "best", "noise", hb_bistable_noises[c->best_noise],
                  "bandwidth_factor", hb_bistable_widths[c->best_width], "saddle", "up_to",
                  BISTABLE_SADDLE, "mse", hb_study_number(s->mse), "bias2",
                  hb_study_number(s->bias2), "variance", hb_study_number(s->variance),
                  "limit_bias2", hb_study_number(s->limit_bias2), "noise", noise_json(c));
    if (start == BISTABLE_GAUSSIAN) json_object_set_new(object, "radius", radius_json(c));
    return object;
}

static json_t *settings_json(const hb_bistable_size *size)
{
    return json_pack("{s:s,s:s,s:f,s:i,s:i,s:i,s:f,s:f,s:I,s:I,s:i,s:i}", "drift", DRIFT, "noise",
                     "1", "time", BISTABLE_TIME, "points", BISTABLE_POINTS, "trajectories",
                     BISTABLE_PATHS, "steps", BISTABLE_STEPS, "dsm_noise", BISTABLE_NOISE, "radius",
                     BISTABLE_RADIUS, "pairs", (json_int_t)size->pairs, "sweep_pairs",
                     (json_int_t)size->sweep_pairs, "degree", size->degree, "runs", size->runs);
}

/* ---- numbers for the page ---- */

/* Of a start, or of an index. */
static int bistable_find_one(const hb_bistable_result *result, const char *name, size_t k,
                             hb_value *out)
{
    static const hb_field_of of_case[] = {
        HB_FIELD_OF(hb_bistable_case, farthest),
        HB_FIELD_OF(hb_bistable_case, best_noise),
        HB_FIELD_OF(hb_bistable_case, best_width),
        HB_FIELD_AS(hb_bistable_case, saddle.mse, "saddle_mse"),
        HB_FIELD_AS(hb_bistable_case, saddle.bias2, "bias2"),
        HB_FIELD_AS(hb_bistable_case, saddle.variance, "variance"),
        HB_FIELD_AS(hb_bistable_case, saddle.limit_bias2, "limit_bias2")};
    if (strcmp(name, "x") == 0) return hb_value_set(out, result->x[k]);
    if (strcmp(name, "noise") == 0) return hb_value_set(out, hb_bistable_noises[k]);
    if (strcmp(name, "width") == 0) return hb_value_set(out, hb_bistable_widths[k]);
    if (strcmp(name, "radius") == 0) return hb_value_set(out, hb_bistable_radii[k]);
    if (strcmp(name, "lift") == 0) return hb_value_set(out, hb_bistable_lifts[k]);
    return hb_study_field(HB_COUNT(of_case), of_case, &result->cases[k], name, 0, out);
}

/* Of (start, point), (method, region), (start, noise), (lift, radius). */
static int bistable_find_two(const hb_bistable_result *result, const char *name, const size_t *k,
                             hb_value *out)
{
    static const hb_field_of of_case[] = {HB_FIELD_OF(hb_bistable_case, start_density),
                                          HB_FIELD_OF(hb_bistable_case, density),
                                          HB_FIELD_OF(hb_bistable_case, exact)};
    static const hb_field_of of_radius[] = {
        HB_FIELD_AS(hb_bistable_radius_point, mse, "ball_mse"),
        HB_FIELD_AS(hb_bistable_radius_point, mse_se, "ball_mse_se"),
        HB_FIELD_AS(hb_bistable_radius_point, claimed, "ball_claimed"),
        HB_FIELD_AS(hb_bistable_radius_point, cubature, "ball_cubature"),
        HB_FIELD_AS(hb_bistable_radius_point, cubature_claimed, "ball_cubature_claimed")};
    if (strcmp(name, "stationary") == 0) return hb_value_set(out, result->stationary[k[1]]);
    if (strcmp(name, "paper_error") == 0)
        return hb_value_set(out,
                            hb_bistable_find(result, (hb_bistable_method)k[0], 0, 0)->paper[k[1]]);
    if (strcmp(name, "noise_limit") == 0)
        return hb_value_set(out, result->cases[k[0]].noise[k[1]].limit);
    if (strncmp(name, "ball_", 5) == 0)
        return hb_study_field(HB_COUNT(of_radius), of_radius,
                              &result->cases[BISTABLE_GAUSSIAN].radius[k[0]][k[1]], name, 0, out);
    return hb_study_field(HB_COUNT(of_case), of_case, &result->cases[k[0]], name, k[1], out);
}

static int bistable_find(const void *of, const char *name, int n, const hb_value *v, hb_value *out)
{
    static const hb_field_of of_size[] = {
        HB_FIELD_OF(hb_bistable_size, runs), HB_FIELD_OF(hb_bistable_size, pairs),
        HB_FIELD_OF(hb_bistable_size, cells), HB_FIELD_OF(hb_bistable_size, wide_cells)};
    const hb_bistable_result *result = of;
    const int full = strncmp(name, "full_", 5) == 0;
    size_t k[4] = {0};
    for (int i = 0; i < n && i < 4; i++) k[i] = (size_t)v[i].number;
    const hb_bistable_case *c = &result->cases[k[0]];
    if (n == 0)
        return hb_study_field(HB_COUNT(of_size), of_size, full ? &result->full : &result->size,
                              name + 5 * full, 0, out);
    if (n == 1) return bistable_find_one(result, name, k[0], out);
    if (n == 2) return bistable_find_two(result, name, k, out);
    if (strcmp(name, "score") == 0) return hb_value_set(out, c->curves[k[1]].score[k[2]]);
    if (strcmp(name, "noise_mse") == 0) return hb_value_set(out, c->noise[k[1]].mse[k[2]]);
    if (strcmp(name, "noise_se") == 0) return hb_value_set(out, c->noise[k[1]].se[k[2]]);
    if (n < 4) return 0;
    const hb_bistable_error *error =
        &hb_bistable_find(result, (hb_bistable_method)k[0], (hb_bistable_start)k[1],
                          (hb_bistable_reference)k[2])
             ->error;
    return hb_value_set(out, strcmp(name, "mse") == 0 ? error->mse[k[3]] : error->se[k[3]]);
}

static json_t *results_json(const hb_study_settings *settings, const hb_bistable_result *result)
{
    json_t *root = hb_study_begin(&hb_bistable_study, settings);
    json_t *rows = json_array(), *cases = json_array();
    for (int i = 0; i < BISTABLE_ROWS; i++) json_array_append_new(rows, row_json(&result->rows[i]));
    for (int start = 0; start < BISTABLE_STARTS; start++)
        json_array_append_new(cases, case_json(&result->cases[start], start));
    json_object_set_new(root, "settings", settings_json(&result->size));
    json_object_set_new(root, "rows", rows);
    json_object_set_new(root, "cases", cases);
    return root;
}

/* ---- the table ---- */

/* Value and standard error, in the width of three columns. */
static void print_error(FILE *table, const hb_bistable_row *row, int region)
{
    char text[32] = "";
    if (!isnan(row->error.se[region])) snprintf(text, sizeof text, "+-%.1e", row->error.se[region]);
    hb_study_print(table, " | %9.3g %-9s", row->error.mse[region], text);
    if (isnan(row->paper[region]))
        hb_study_print(table, " %6s", "");
    else
        hb_study_print(table, " %6.4g", row->paper[region]);
}

static void print_rows(FILE *table, const hb_bistable_result *result)
{
    const hb_bistable_size *size = &result->size;
    hb_study_print(table,
                   "bistable: dX = (X - X^3) dt + dW, score at t = 1: mean squared error over %d "
                   "points of [-3, 3]\n"
                   "DSM: %d trajectories, noise %g; heat ball: r = %g, %llu pairs, cubature degree "
                   "%d; %d runs, seed %llu\n",
                   BISTABLE_POINTS, BISTABLE_PATHS, BISTABLE_NOISE, BISTABLE_RADIUS,
                   (unsigned long long)size->pairs, size->degree, size->runs,
                   (unsigned long long)size->seed);
    for (int i = 0; i < BISTABLE_ROWS; i++) {
        const hb_bistable_row *row = &result->rows[i];
        if (row->start == BISTABLE_STATIONARY && row->reference == BISTABLE_TO_EXACT)
            continue; /* the same score, the same rows */
        if (row->method == 0)
            hb_study_print(
                table, "\nstart %s, against the %s\n%-18s | %-26s | %-26s | %-26s | claimed\n",
                hb_bistable_initial[row->start],
                row->reference == BISTABLE_TO_EXACT ? "exact score at t = 1"
                                                    : "stationary score 2x - 2x^3",
                "method", "overall, error, paper", "core |x| < 1, paper", "tail |x| >= 1, paper");
        hb_study_print(table, "%-18s", hb_bistable_method_names[row->method]);
        for (int region = 0; region < BISTABLE_REGIONS; region++) print_error(table, row, region);
        if (isnan(row->claimed))
            hb_study_print(table, " |\n");
        else
            hb_study_print(table, " | %.2g\n", row->claimed);
    }
}

/* ---- the run ---- */

hb_status hb_bistable_progress(hb_context *context, hb_bistable_result *result, double points)
{
    const double sweep = BISTABLE_LIFTS * BISTABLE_RADII * BISTABLE_SWEEP_POINTS;
    const double total = result->size.runs * (4.0 * BISTABLE_POINTS + sweep); /* DSM as the ball */
    result->done += points;
    return hb_context_progress(context, "bistable", fmin(1, result->done / total), 1);
}

static hb_status run_start(hb_context *context, hb_bistable_start start,
                           hb_bistable_density *density, hb_bistable_result *result)
{
    hb_problem *problem;
    HB_TRY(hb_problem_parse(context, DRIFT, "1", hb_bistable_initial[start], &problem));
    hb_status status = hb_context_progress(context, "bistable", 0.3 * start, 1);
    if (status == HB_OK) status = hb_bistable_ball(context, problem, start, density, result);
    if (status == HB_OK) status = hb_context_progress(context, "bistable", 0.15 + 0.7 * start, 1);
    if (status == HB_OK) status = hb_bistable_dsm(context, problem, start, density, result);
    hb_problem_destroy(problem);
    return status;
}

static hb_status run_all(hb_context *context, hb_bistable_result *result)
{
    double *values;
    HB_TRY(HB_STUDY_NEW(context, values, 2 * BISTABLE_FINE));
    hb_bistable_density density = {BISTABLE_FINE, values, values + BISTABLE_FINE};
    for (int i = 0; i < BISTABLE_FINE; i++)
        density.x[i] = BISTABLE_BOX * (2.0 * i / (BISTABLE_FINE - 1) - 1);
    for (int i = 0; i < BISTABLE_POINTS; i++) {
        const double x = (i - BISTABLE_POINTS / 2) / 100.0;
        result->x[i] = x;
        result->stationary[i] = 2 * x - 2 * x * x * x;
    }
    hb_status status = HB_OK;
    for (int start = 0; start < BISTABLE_STARTS && status == HB_OK; start++)
        status = run_start(context, start, &density, result);
    free(values);
    return status;
}

static hb_status run_bistable(hb_context *context, const hb_study_settings *settings, FILE *table)
{
    HB_TRY(hb_study_make_directory(context, settings->directory));
    hb_bistable_result *result;
    HB_TRY(HB_STUDY_NEW(context, result, 1));
    hb_study_settings full = *settings;
    full.quick = 0;
    result->size = choose_size(settings);
    result->full = choose_size(&full);
    hb_status status = run_all(context, result);
    if (status == HB_OK) {
        hb_bistable_rows(result);
        print_rows(table, result);
        status = hb_study_write_csv(context, settings->directory, "bistable.csv",
                                    "method,start,reference,overall,overall_se,core,core_se,tail,"
                                    "tail_se,claimed,paper_overall,paper_core,paper_tail,runs",
                                    BISTABLE_ROWS, write_row, result->rows);
    }
    const hb_numbers numbers = {context, "bistable", result, bistable_find};
    if (status == HB_OK)
        status = hb_study_finish(&numbers, settings, table, results_json(settings, result));
    hb_bistable_release_curves(result);
    free(result);
    return status;
}

const hb_study hb_bistable_study = {"bistable", "The score of a bistable process at t = 1",
                                    run_bistable};
