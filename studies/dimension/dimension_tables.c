/* The tables of the page: ratios by dimension and tau, at equal steps and at equal seconds; by rows; the
 * errors themselves; likelihoods; the families. A cell of a ratio is the geometric mean and its standard
 * error. */
#include "dimension.h"

#include <math.h>

static void add(json_t *row, json_t *cell)
{
    json_array_append_new(row, cell);
}

static json_t *start_row(json_t *rows, int dim)
{
    json_t *row = json_array();
    json_array_append_new(rows, row);
    add(row, hb_study_text("%d", dim));
    return row;
}

typedef struct pair {
    int method, other;
    const char *name;
} pair;

/* A row for each dimension and pair, a column for each tau, low density. */
static json_t *ratio_rows(const hb_comparison *result, size_t n, const pair *pairs)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    json_t *rows = json_array();
    for (size_t p = 0; p < n; p++)
        for (int d = 0; d < size->n_dims; d++) {
            json_t *row = start_row(rows, size->dim[d]);
            add(row, json_string(pairs[p].name));
            for (int k = 0; k < DIMENSION_TAUS; k++)
                add(row, hb_compare_ratio_text(hb_dimension_compare(
                             result, d, hb_dimension_largest(size), pairs[p].method, pairs[p].other,
                             hb_dimension_low(k))));
        }
    return rows;
}

static void table_steps(json_t *root, const hb_comparison *result)
{
    static const pair pairs[] = {{DIMENSION_HB, DIMENSION_DSM_TARGETS, "HB : DSM, same targets"},
                                 {DIMENSION_FP, DIMENSION_DSM_TARGETS, "FP : DSM, same targets"},
                                 {DIMENSION_HB, DIMENSION_FP, "HB : FP"},
                                 {DIMENSION_DSM, DIMENSION_DSM_TARGETS, "DSM : DSM with targets"}};
    const hb_dimension_size *size = hb_dimension_size_of(result);
    hb_study_table(root, "dimension_steps", ratio_rows(result, sizeof pairs / sizeof *pairs, pairs),
                   HB_FILL(size->rows[hb_dimension_largest(size)], size->steps, size->width,
                           DIMENSION_FAMILIES, size->seeds));
}

static void table_seconds(json_t *root, const hb_comparison *result)
{
    static const pair pairs[] = {{DIMENSION_HB, DIMENSION_DSM_TIME, "HB : DSM, same targets"},
                                 {DIMENSION_FP_TIME, DIMENSION_DSM_TIME, "FP : DSM, same targets"},
                                 {DIMENSION_HB, DIMENSION_FP_TIME, "HB : FP"}};
    const hb_dimension_size *size = hb_dimension_size_of(result);
    char steps[200] = "";
    size_t used = 0;
    for (int d = 0; d < size->n_dims && used < sizeof steps; d++) {
        const double hb = hb_dimension_step_cost(size->dim[d], DIMENSION_HB);
        used += (size_t)snprintf(
            steps + used, sizeof steps - used, "%s%.2f and %.2f at d = %d", d ? ", " : "",
            hb / hb_dimension_step_cost(size->dim[d], DIMENSION_DSM_TARGETS),
            hb / hb_dimension_step_cost(size->dim[d], DIMENSION_FP), size->dim[d]);
    }
    hb_study_table(root, "dimension_seconds",
                   ratio_rows(result, sizeof pairs / sizeof *pairs, pairs), HB_WORDS((steps), 0));
}

static void table_rows(json_t *root, const hb_comparison *result)
{
    static const pair pairs[] = {{DIMENSION_HB, DIMENSION_DSM_TARGETS, "HB : DSM, same targets"},
                                 {DIMENSION_FP, DIMENSION_DSM_TARGETS, "FP : DSM, same targets"},
                                 {DIMENSION_HB, DIMENSION_FP, "HB : FP"}};
    const hb_dimension_size *size = hb_dimension_size_of(result);
    json_t *rows = json_array();
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
        for (int d = 0; d < size->n_dims; d++) {
            json_t *row = start_row(rows, size->dim[d]);
            add(row, json_string(pairs[p].name));
            for (int r = 0; r < size->n_rows; r++)
                add(row, hb_compare_ratio_text(
                             hb_dimension_compare(result, d, r, pairs[p].method, pairs[p].other,
                                                  hb_dimension_low(DIMENSION_TABLE_TAU))));
        }
    json_t *table = hb_study_table(root, "dimension_rows", rows, NULL);
    for (int r = 0; r < size->n_rows; r++)
        json_array_append_new(json_object_get(table, "columns"),
                              hb_study_text("%d rows", size->rows[r]));
}

static void table_errors(json_t *root, const hb_comparison *result)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    json_t *rows = json_array();
    for (int d = 0; d < size->n_dims; d++)
        for (int r = 0; r < size->n_rows; r++) {
            json_t *row = start_row(rows, size->dim[d]);
            add(row, hb_study_text("%d", size->rows[r]));
            for (int k = 0; k < DIMENSION_TAUS; k++) {
                const int low = hb_dimension_low(k);
                add(row,
                    hb_study_text(
                        "%.3g / %.3g",
                        exp(hb_dimension_compare(result, d, r, DIMENSION_DSM_TARGETS, -1, low - 1)
                                .mean),
                        exp(hb_dimension_compare(result, d, r, DIMENSION_DSM_TARGETS, -1, low)
                                .mean)));
            }
        }
    hb_study_table(root, "dimension_errors", rows, NULL);
}

static void table_likelihood(json_t *root, const hb_comparison *result)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    json_t *rows = json_array();
    for (int d = 0; d < size->n_dims; d++)
        for (int r = 0; r < size->n_rows; r++) {
            json_t *row = start_row(rows, size->dim[d]);
            add(row, hb_study_text("%d", size->rows[r]));
            for (int m = DIMENSION_DSM; m <= DIMENSION_HB; m++)
                add(row, hb_compare_mean_text(
                             hb_dimension_compare(result, d, r, m, -1, DIMENSION_EXCESS)));
            add(row, hb_compare_mean_text(hb_dimension_compare(
                         result, d, r, DIMENSION_HB, DIMENSION_DSM_TARGETS, DIMENSION_EXCESS)));
        }
    hb_study_table(root, "dimension_likelihood", rows, HB_FILL(size->test));
}

static void table_families(json_t *root)
{
    json_t *rows = json_array();
    for (int f = 0; f < DIMENSION_FAMILIES; f++) {
        json_t *row = json_array();
        json_array_append_new(rows, row);
        add(row, json_string(hb_dimension_families[f]));
        add(row, json_string(hb_dimension_describe(f)));
    }
    hb_study_table(root, "dimension_families", rows, NULL);
}

void hb_dimension_tables(json_t *root, const hb_comparison *result)
{
    hb_dimension_map(root, result);
    table_steps(root, result);
    table_seconds(root, result);
    table_rows(root, result);
    table_errors(root, result);
    table_likelihood(root, result);
    table_families(root);
}
