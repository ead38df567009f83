/* The map: for each dimension and number of rows, which loss has the lowest error.
 *
 * The best is that of the lowest geometric mean. It is named alone when every other one is above it
 * by more than two standard errors of the paired difference; else nothing is told, and those that
 * are not are listed. */
#include "dimension.h"

#include <math.h>
#include <string.h>

#define BEYOND 2.0 /* standard errors */

typedef struct verdict {
    int best, second, tied, n; /* tied: how many the best cannot be told from */
    char names[96];            /* of the best and those */
    hb_mean difference;        /* of the best and the second best */
} verdict;

static verdict judge(const hb_comparison *result, int d, int r, int n, const int *methods,
                     int value)
{
    verdict v = {.best = -1, .second = -1, .n = n};
    double level[DIMENSION_METHODS];
    for (int i = 0; i < n; i++) {
        level[i] = hb_dimension_compare(result, d, r, methods[i], -1, value).mean;
        if (v.best < 0 || level[i] < level[v.best]) v.best = i;
    }
    for (int i = 0; i < n; i++)
        if (i != v.best && (v.second < 0 || level[i] < level[v.second])) v.second = i;
    size_t used = 0;
    for (int i = 0; i < n; i++) {
        const hb_mean gap = hb_dimension_compare(result, d, r, methods[i], methods[v.best], value);
        const int beyond = i != v.best && gap.mean > BEYOND * gap.se; /* false where se is NaN */
        if (beyond) continue;
        v.tied += i != v.best;
        if (used < sizeof v.names)
            used += (size_t)snprintf(v.names + used, sizeof v.names - used, "%s%s",
                                     used ? ", " : "", hb_dimension_recipes[methods[i]].name);
    }
    v.difference = hb_dimension_compare(result, d, r, methods[v.best], methods[v.second], value);
    v.best = methods[v.best];
    v.second = methods[v.second];
    return v;
}

static json_t *cell_text(const verdict *v, int value)
{
    if (v->tied > 0 && v->tied == v->n - 1) return json_string("none");
    if (v->tied > 0) return hb_study_text("none (%s)", v->names);
    if (value == DIMENSION_EXCESS)
        return hb_study_text("%s −%.2g nats", hb_dimension_recipes[v->best].name,
                             -v->difference.mean);
    return hb_study_text("%s ×%.2f", hb_dimension_recipes[v->best].name, exp(v->difference.mean));
}

/* One cell, as text for the table and as an entry of the list. */
static void add_cell(json_t *row, json_t *list, const hb_comparison *result, int d, int r, int n,
                     const int *methods, int value)
{
    const verdict v = judge(result, d, r, n, methods, value);
    char buffer[32];
    json_array_append_new(row, cell_text(&v, value));
    json_array_append_new(
        list, json_pack("{s:i,s:i,s:s,s:s,s:s,s:s,s:s,s:b,s:o,s:o}", "dim",
                        hb_dimension_size_of(result)->dim[d], "rows",
                        hb_dimension_size_of(result)->rows[r], "at",
                        methods[0] == DIMENSION_DSM ? "equal steps" : "equal seconds", "quantity",
                        value == DIMENSION_EXCESS ? "excess_nats"
                                                  : hb_dimension_value_name(value, buffer),
                        "lowest", hb_dimension_recipes[v.best].name, "second",
                        hb_dimension_recipes[v.second].name, "not_told_apart", v.names, "clear",
                        v.tied == 0, "log_ratio", hb_study_number(v.difference.mean), "se",
                        hb_study_number(v.difference.se)));
}

static void add_row(json_t *rows, json_t *list, const hb_comparison *result, int d, int r, int n,
                    const int *methods)
{
    json_t *row = json_array();
    json_array_append_new(rows, row);
    json_array_append_new(row, hb_study_text("%d", hb_dimension_size_of(result)->dim[d]));
    json_array_append_new(row, hb_study_text("%d", hb_dimension_size_of(result)->rows[r]));
    for (int k = 0; k < DIMENSION_TAUS; k++)
        add_cell(row, list, result, d, r, n, methods, hb_dimension_low(k));
    add_cell(row, list, result, d, r, n, methods, DIMENSION_EXCESS);
}

void hb_dimension_map(json_t *root, const hb_comparison *result)
{
    static const int steps[] = {DIMENSION_DSM, DIMENSION_DSM_TARGETS, DIMENSION_FP, DIMENSION_HB};
    static const int seconds[] = {DIMENSION_DSM_TIME, DIMENSION_FP_TIME, DIMENSION_HB};
    const hb_dimension_size *size = hb_dimension_size_of(result);
    json_t *list = json_array(), *rows = json_array(), *time_rows = json_array();
    for (int d = 0; d < size->n_dims; d++) {
        for (int r = 0; r < size->n_rows; r++) add_row(rows, list, result, d, r, 4, steps);
        add_row(time_rows, list, result, d, hb_dimension_largest(size), 3, seconds);
    }
    json_object_set_new(root, "map", list);
    hb_study_table(root, "dimension_map", rows, NULL);
    hb_study_table(root, "dimension_map_seconds", time_rows, NULL);
}
