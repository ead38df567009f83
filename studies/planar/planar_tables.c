/* The tables of the page, from the means over seeds: the paper's columns stand beside ours.
 *
 * A cell is the mean and, from two seeds on, its standard error. Two methods with different numbers of
 * seeds stand in one table with their own means; where they are compared with each other (equal time)
 * the mean is over the seeds that both have. DSM and FP stand in every table twice, as published and
 * with HB's averaged targets ("same targets"), so that HB is never credited with what its targets do. */
#include "planar.h"

#include <math.h>
#include <string.h>

enum { AT = PLANAR_ERROR + PLANAR_REGIONS * PLANAR_TAU_TABLE, LOW = AT + 1 };

static void add(json_t *row, json_t *cell)
{
    json_array_append_new(row, cell);
}

static json_t *start_row(json_t *rows, int set)
{
    json_t *row = json_array();
    json_array_append_new(rows, row);
    add(row, json_string(hb_planar_sets[set].name));
    return row;
}

static json_t *empty(void)
{
    return json_string("");
}

static json_t *number(int digits, double value)
{
    return isnan(value) ? empty() : hb_study_text("%.*g", digits, value);
}

/* A number of the paper, with its four decimals. */
static json_t *printed(double value)
{
    return isnan(value) ? empty() : hb_study_text("%.4f", value);
}

static json_t *mean_cell(const hb_comparison *result, int set, int method, int value)
{
    return hb_compare_mean_text(hb_compare_mean(result, set, method, value));
}

/* Cells of the first methods, up to the last. */
static void add_means(json_t *row, const hb_comparison *result, int set, int last, int value)
{
    for (int m = PLANAR_DSM; m <= last; m++) add(row, mean_cell(result, set, m, value));
}

/* HB / FP against DSM, in percent, as the paper writes them. */
static json_t *change_cell(double hb, double fp)
{
    return isnan(hb) || isnan(fp) ? empty() : hb_study_text("%+.1f %% / %+.1f %%", hb, fp);
}

static double change(const hb_comparison *result, int set, int method, int value)
{
    return 100 * (hb_compare_value(result, set, method, value) /
                      hb_compare_value(result, set, PLANAR_DSM, value) -
                  1);
}

static json_t *our_change(const hb_comparison *result, int set, int value)
{
    return change_cell(change(result, set, PLANAR_HB, value),
                       change(result, set, PLANAR_FP, value));
}

/* ---- 5.1: errors ---- */

static void table_results(json_t *root, const hb_comparison *result)
{
    json_t *rows = json_array();
    for (int set = 0; set < PLANAR_SETS; set++) {
        if (!hb_planar_has(result, set)) continue;
        const hb_planar_set *s = &hb_planar_sets[set];
        json_t *row = start_row(rows, set);
        add_means(row, result, set, PLANAR_HB, AT);
        add(row, mean_cell(result, set, PLANAR_HB, PLANAR_FLOOR));
        for (int m = 0; m < PLANAR_PAPER_METHODS; m++) add(row, printed(s->paper[m]));
        add(row, our_change(result, set, AT));
        add(row, change_cell(s->paper_global[0], s->paper_global[1]));
        const double best = fmin(s->paper[0], fmin(s->paper[1], s->paper[2]));
        add(row, number(3, best / hb_planar_error(result, set, PLANAR_HB, 0)));
    }
    hb_study_table(
        root, "planar_results", rows,
        HB_FILL(hb_planar_size_of(result)->seeds, hb_planar_size_of(result)->seeds == 1));
}

static void table_low(json_t *root, const hb_comparison *result)
{
    json_t *rows = json_array();
    for (int set = 0; set < PLANAR_SETS; set++) {
        if (!hb_planar_has(result, set)) continue;
        json_t *row = start_row(rows, set);
        add_means(row, result, set, PLANAR_HB_PAPER, LOW);
        add(row, mean_cell(result, set, PLANAR_HB, PLANAR_FLOOR_LOW));
        add(row, our_change(result, set, LOW));
        add(row, change_cell(hb_planar_sets[set].paper_low[0], hb_planar_sets[set].paper_low[1]));
    }
    hb_study_table(root, "planar_low", rows,
                   HB_FILL(hb_planar_size_of(result)->watch, hb_planar_size_of(result)->judge));
}

/* The two steps from DSM to HB, and FP with the same first one. */
static void table_gains(json_t *root, const hb_comparison *result)
{
    static const int pairs[][2] = {{PLANAR_DSM_TARGETS, PLANAR_DSM},
                                   {PLANAR_HB, PLANAR_DSM_TARGETS},
                                   {PLANAR_FP_TARGETS, PLANAR_DSM_TARGETS},
                                   {PLANAR_HB, PLANAR_FP_TARGETS}};
    json_t *rows = json_array();
    for (int set = 0; set < PLANAR_SETS; set++) {
        if (!hb_planar_has(result, set)) continue;
        json_t *row = start_row(rows, set);
        for (int low = 0; low < 2; low++)
            for (int i = 0; i < 4; i++)
                add(row, hb_compare_ratio_text(hb_compare_logs(result, set, 1, pairs[i][0],
                                                               pairs[i][1], low ? LOW : AT)));
    }
    hb_study_table(root, "planar_gains", rows, HB_FILL(hb_planar_size_of(result)->seeds));
}

static void table_time(json_t *root, const hb_comparison *result)
{
    static const int methods[] = {PLANAR_DSM_TIME, PLANAR_FP_TIME, PLANAR_HB};
    json_t *rows = json_array();
    int seeds = 0;
    for (int set = 0; set < PLANAR_SETS; set++) {
        if (!hb_planar_has(result, set)) continue;
        seeds = hb_compare_mean(result, set, PLANAR_DSM_TIME, 0).n;
        json_t *row = start_row(rows, set);
        double low[3];
        for (int i = 0; i < 3; i++) {
            add(row, number(3, hb_compare_common(result, set, methods[i], PLANAR_DSM_TIME, AT)));
            low[i] = hb_compare_common(result, set, methods[i], PLANAR_DSM_TIME, LOW);
        }
        for (int i = 0; i < 3; i++) add(row, number(3, low[i]));
        add(row, hb_study_text("×%.2f, ×%.2f", low[2] / low[0], low[2] / low[1]));
    }
    hb_study_table(
        root, "planar_time", rows,
        HB_FILL(hb_planar_recipes[PLANAR_HB].cost / hb_planar_recipes[PLANAR_DSM_TIME].cost,
                hb_planar_recipes[PLANAR_HB].cost / hb_planar_recipes[PLANAR_FP_TIME].cost, seeds));
}

/* ---- 5.1 and B: fields, samples, residual ---- */

static void table_rotation(json_t *root, const hb_comparison *result)
{
    json_t *rows = json_array();
    for (int set = 0; set < PLANAR_SETS; set++) {
        if (!hb_planar_has(result, set)) continue;
        json_t *row = start_row(rows, set);
        add(row, json_string(hb_planar_sets[set].mixture ? "mixture" : "curve"));
        add(row, mean_cell(result, set, PLANAR_HB_HELMHOLTZ, PLANAR_ROTATION));
        add(row, mean_cell(result, set, PLANAR_DSM_SCORE, PLANAR_ROTATION));
        add(row, number(2, hb_compare_value(result, set, PLANAR_HB, PLANAR_ROTATION_EXACT)));
        add(row, mean_cell(result, set, PLANAR_HB_HELMHOLTZ, PLANAR_CURL));
        add(row, mean_cell(result, set, PLANAR_DSM_SCORE, PLANAR_CURL));
    }
    hb_study_table(root, "planar_rotation", rows, NULL);
}

static double fewest_modes(const hb_comparison *result, int set, int method)
{
    double least = INFINITY;
    for (size_t i = 0; i < result->n; i++)
        if (result->trials[i].set == set && result->trials[i].method == method)
            least = fmin(least, result->trials[i].value[PLANAR_MODES_FOUND]);
    return least;
}

/* Of the five main methods, in their order. */
static json_t *modes_cell(const hb_comparison *result, int set)
{
    double least[PLANAR_MAIN];
    for (int m = 0; m < PLANAR_MAIN; m++) least[m] = fewest_modes(result, set, m);
    return hb_study_text("%g, %g, %g, %g, %g of %g", least[PLANAR_DSM], least[PLANAR_DSM_TARGETS],
                         least[PLANAR_FP], least[PLANAR_FP_TARGETS], least[PLANAR_HB],
                         hb_compare_value(result, set, PLANAR_HB, PLANAR_MODES));
}

static void table_generation(json_t *root, const hb_comparison *result)
{
    json_t *rows = json_array();
    for (int set = 0; set < PLANAR_SETS; set++) {
        if (!hb_planar_has(result, set)) continue;
        json_t *row = start_row(rows, set);
        add(row, mean_cell(result, set, PLANAR_HB, PLANAR_MMD));
        add(row, mean_cell(result, set, PLANAR_HB, PLANAR_MMD_FLOOR));
        add(row, printed(hb_planar_sets[set].paper_mmd));
        for (int m = 0; m < PLANAR_MAIN; m++) add(row, number(3, hb_planar_units(result, set, m)));
        add(row, modes_cell(result, set));
        add(row, hb_study_text("%.2f %%",
                               100 * hb_compare_value(result, set, PLANAR_HB, PLANAR_OUTLIERS)));
    }
    hb_study_table(root, "planar_generation", rows, HB_FILL(hb_planar_size_of(result)->samples));
}

static void table_residual(json_t *root, const hb_comparison *result)
{
    const int at = PLANAR_RESIDUAL + PLANAR_TAU_TABLE;
    json_t *rows = json_array();
    for (int set = 0; set < PLANAR_SETS; set++) {
        if (!hb_planar_has(result, set)) continue;
        const int elongated = strcmp(hb_planar_sets[set].name, "elongated_gmm") == 0;
        json_t *row = start_row(rows, set);
        add_means(row, result, set, PLANAR_HB_PAPER, at);
        add(row, mean_cell(result, set, PLANAR_DSM, PLANAR_RESIDUAL_RAW));
        add(row, mean_cell(result, set, PLANAR_HB, PLANAR_RESIDUAL_RAW));
        add(row, json_string(elongated ? "1.4e-4" : ""));
        add(row, json_string(elongated ? "3e-5" : ""));
    }
    hb_study_table(root, "planar_residuals", rows, HB_FILL(hb_planar_size_of(result)->anchors));
}

static void table_taus(json_t *root, const hb_comparison *result, const char *name, int region)
{
    json_t *rows = json_array();
    for (int set = 0; set < PLANAR_SETS; set++)
        for (int k = 0; k < PLANAR_TAUS && hb_planar_has(result, set); k++) {
            json_t *row = start_row(rows, set);
            add(row, hb_study_text("%g", hb_planar_taus[k]));
            add_means(row, result, set, PLANAR_HB_PAPER,
                      PLANAR_ERROR + PLANAR_REGIONS * k + region);
        }
    hb_study_table(root, name, rows, NULL);
}

void hb_planar_tables(json_t *root, const hb_comparison *result)
{
    hb_planar_table_parameters(root, result);
    hb_planar_table_open(root, result);
    table_results(root, result);
    table_low(root, result);
    table_gains(root, result);
    table_time(root, result);
    table_rotation(root, result);
    table_generation(root, result);
    table_residual(root, result);
    table_taus(root, result, "planar_taus", 0);
    table_taus(root, result, "planar_taus_low", 1);
}
