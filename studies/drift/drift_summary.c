/* Ratios of two methods over processes and seeds, numbers for the page, drift.json and the printed
 * table.
 *
 * Methods are compared seed by seed: with e the error of a run,
 *     l(problem, seed) = ln e(method) - ln e(other),
 * a ratio is exp of the mean of l over problems and seeds, its standard error that of the means
 * over problems from seed to seed, its spread the standard deviation over problems of the means
 * over seeds. */
#include "drift.h"

#include <math.h>
#include <string.h>

int hb_drift_has(const hb_comparison *result, int problem)
{
    return hb_drift_size_of(result)->problems >> problem & 1;
}

/* ---- ratios ---- */

/* Mean and, from two values on, the standard deviation of n numbers. */
static double mean_of(int n, const double *x, double *deviation)
{
    double sum = 0, square = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    for (int i = 0; i < n; i++) square += pow(x[i] - sum / n, 2);
    *deviation = n > 1 ? sqrt(square / (n - 1)) : NAN;
    return sum / n;
}

hb_drift_ratio hb_drift_compare(const hb_comparison *result, int problem, int method, int other,
                                int value)
{
    enum { MOST = 1000 };
    double by_problem[DRIFT_PROBLEMS] = {0}, by_seed[MOST] = {0}, of_problems;
    const int seeds =
        hb_drift_size_of(result)->seeds < MOST ? hb_drift_size_of(result)->seeds : MOST;
    hb_drift_ratio ratio = {.least = INFINITY, .most = 0};
    for (int p = 0; p < DRIFT_PROBLEMS; p++) {
        if (!hb_drift_has(result, p) || (problem >= 0 && p != problem)) continue;
        for (int s = 0; s < seeds; s++) {
            const hb_trial *a = hb_compare_at(result, p, method, s),
                           *b = hb_compare_at(result, p, other, s);
            const double log_ratio = log(a->value[value] / b->value[value]);
            by_problem[ratio.n] += log_ratio / seeds;
            by_seed[s] += log_ratio;
        }
        ratio.least = fmin(ratio.least, exp(by_problem[ratio.n]));
        ratio.most = fmax(ratio.most, exp(by_problem[ratio.n]));
        ratio.n++;
    }
    for (int s = 0; s < seeds; s++) by_seed[s] /= ratio.n;
    ratio.mean = exp(mean_of(seeds, by_seed, &ratio.se));
    ratio.se /= sqrt(seeds);
    mean_of(ratio.n, by_problem, &of_problems);
    ratio.spread = of_problems;
    return ratio;
}

/* ---- numbers for formulas ---- */

/* The k-th problem that was run; DRIFT_PROBLEMS: there is none. */
static int drift_run_problem(const hb_comparison *result, int first, int last, int k)
{
    int p = first;
    while (p < last && (!hb_drift_has(result, p) || k-- > 0)) p++;
    return p;
}

/* ratio, ratio_se, .. (problem or -1, method, other, value) */
static int drift_find_ratio(const hb_comparison *result, const char *name, const int *k,
                            hb_value *out)
{
    static const hb_field_of fields[] = {HB_FIELD_AS(hb_drift_ratio, mean, "ratio"),
                                         HB_FIELD_AS(hb_drift_ratio, se, "ratio_se"),
                                         HB_FIELD_AS(hb_drift_ratio, spread, "ratio_spread"),
                                         HB_FIELD_AS(hb_drift_ratio, least, "ratio_least"),
                                         HB_FIELD_AS(hb_drift_ratio, most, "ratio_most")};
    if (strncmp(name, "ratio", 5) != 0) return 0;
    const hb_drift_ratio r = hb_drift_compare(result, k[0], k[1], k[2], k[3]);
    return hb_study_field(HB_COUNT(fields), fields, &r, name, 0, out);
}

/* Mean over seeds of a model's density at point k of the line. */
static double drift_mean_line(const hb_comparison *result, int problem, int method, int k)
{
    double sum = 0;
    for (int s = 0; s < result->seeds; s++)
        sum += hb_drift_line_of(hb_compare_at(result, problem, method, s))[k];
    return sum / result->seeds;
}

/* Of two arguments, the first a problem: its line, and what the truth claims. */
static int drift_find_line(const hb_comparison *result, const char *name, const int *k,
                           hb_value *out)
{
    static const hb_field_of of_process[] = {HB_FIELD_AS(hb_drift_process, from, "line_from"),
                                             HB_FIELD_AS(hb_drift_process, to, "line_to")};
    static const hb_field_of of_truth[] = {HB_FIELD_OF(hb_drift_truth, claimed),
                                           HB_FIELD_AS(hb_drift_truth, line, "exact"),
                                           HB_FIELD_AS(hb_drift_truth, line_error, "exact_error")};
    const hb_drift_process *p = &hb_drift_processes[k[0]];
    const double length = hypot(p->to[0] - p->from[0], p->to[1] - p->from[1]);
    const size_t at = (size_t)k[1];
    if (strcmp(name, "place") == 0) out->number = length * (k[1] / (DRIFT_LINE - 1.0) - 0.5);
    return strcmp(name, "place") == 0 ||
           hb_study_field(HB_COUNT(of_process), of_process, p, name, at, out) ||
           hb_study_field(HB_COUNT(of_truth), of_truth, &hb_drift_truths_of(result)[k[0]], name, at,
                          out);
}

/* Lists: problems; the same and -1 for their mean; the rotating double well and the Mueller-like
 * potential, whose densities are drawn. */
static int drift_find_item(const hb_comparison *result, const char *name, int k, hb_value *out)
{
    const int lines = strcmp(name, "lines") == 0;
    const int p = drift_run_problem(result, lines, lines ? 3 : DRIFT_PROBLEMS, k);
    int n = 0;
    for (int i = 0; i < DRIFT_PROBLEMS; i++) n += hb_drift_has(result, i);
    out->number = p;
    if (lines) return p < 3;
    if (strcmp(name, "problems") == 0) return p < DRIFT_PROBLEMS;
    if (k == n) out->number = -1;
    return k <= n;
}

int hb_drift_find(const hb_comparison *result, const char *name, int n, const hb_value *v,
                  hb_value *out)
{
    int k[4] = {0};
    for (int i = 0; i < n && i < 4; i++) k[i] = (int)v[i].number;
    if (n == 4) return drift_find_ratio(result, name, k, out);
    if (n == 3 && strcmp(name, "density") == 0)
        return hb_value_set(out, drift_mean_line(result, k[0], k[1], k[2]));
    if (n == 2) return drift_find_line(result, name, k, out);
    if (n != 1) return 0;
    if (strcmp(name, "title") == 0)
        out->text = k[0] < 0 ? "geometric mean" : hb_drift_processes[k[0]].title;
    else if (strcmp(name, "tau") == 0)
        out->number = hb_drift_taus[k[0]];
    else if (strcmp(name, "lines") == 0 || strncmp(name, "problems", 8) == 0)
        return drift_find_item(result, name, k[0], out);
    else
        return 0;
    return 1;
}

/* ---- drift.json ---- */

json_t *hb_drift_settings_json(const hb_comparison *result)
{
    const hb_drift_size *size = hb_drift_size_of(result);
    json_t *taus = json_array();
    for (int k = 0; k < DRIFT_TAUS; k++) json_array_append_new(taus, json_real(hb_drift_taus[k]));
    return json_pack("{s:i,s:i,s:i,s:i,s:I,s:i,s:f,s:I,s:I,s:I,s:o}", "seeds", size->seeds, "rows",
                     size->rows, "width", size->width, "depth", 3, "steps", (json_int_t)size->steps,
                     "batch", 256, "tau_max", size->tau_max, "judge_draws", (json_int_t)size->judge,
                     "residual_draws", (json_int_t)size->anchors, "residual_pairs",
                     (json_int_t)size->pairs, "taus", taus);
}

static json_t *method_json(const hb_comparison *result, int problem, int method)
{
    return json_pack("{s:s,s:i,s:I,s:o}", "method", hb_drift_recipes[method].name, "seeds",
                     result->seeds, "steps",
                     (json_int_t)hb_compare_at(result, problem, method, 0)->steps, "values",
                     hb_compare_values_json(result, problem, method));
}

json_t *hb_drift_rows_json(const hb_comparison *result)
{
    json_t *problems = json_array();
    for (int p = 0; p < DRIFT_PROBLEMS; p++) {
        if (!hb_drift_has(result, p)) continue;
        json_t *methods = json_array(), *claimed = json_array(), *costs = json_object();
        for (int m = 0; m < DRIFT_METHODS; m++) {
            json_array_append_new(methods, method_json(result, p, m));
            json_object_set_new(costs, hb_drift_recipes[m].name,
                                json_real(hb_drift_processes[p].cost[m]));
        }
        for (int k = 0; k < DRIFT_TAUS; k++)
            json_array_append_new(claimed,
                                  hb_study_number(hb_drift_truths_of(result)[p].claimed[k]));
        json_array_append_new(
            problems, json_pack("{s:s,s:i,s:o,s:o,s:o}", "problem", hb_drift_processes[p].name,
                                "dim", hb_drift_processes[p].dim, "claimed_error_of_truth", claimed,
                                "step_costs", costs, "methods", methods));
    }
    return problems;
}

/* ---- the printed table ---- */

static void print_row(FILE *table, const hb_comparison *result, int problem, int method)
{
    const uint64_t steps = hb_compare_at(result, problem, method, 0)->steps;
    const double seconds = hb_compare_seconds(result, problem, 1, method);
    hb_study_print(table, "%-10s %-12s %6llu", method == 0 ? hb_drift_processes[problem].name : "",
                   hb_drift_recipes[method].name, (unsigned long long)steps);
    for (int k = 0; k < DRIFT_TAUS; k++)
        hb_study_print(
            table, " | %8.3g %8.3g",
            hb_compare_value(result, problem, method, DRIFT_ERROR + DRIFT_REGIONS * k),
            hb_compare_value(result, problem, method, DRIFT_ERROR + DRIFT_REGIONS * k + 1));
    hb_study_print(table, " | %8.3g",
                   hb_compare_value(result, problem, method, DRIFT_RESIDUAL + DRIFT_TAU_TABLE));
    if (seconds > 0)
        hb_study_print(table, " | %.3g\n", 1e3 * seconds / (double)steps);
    else
        hb_study_print(table, " |\n");
}

static void print_truth(FILE *table, const hb_comparison *result, int problem)
{
    const double *claimed = hb_drift_truths_of(result)[problem].claimed;
    hb_study_print(table, "%-10s %-12s %6s", "", "(exact)", "");
    for (int k = 0; k < DRIFT_TAUS; k++) hb_study_print(table, " | %8.1g %8s", claimed[k], "");
    hb_study_print(table, " |\n");
}

void hb_drift_print(FILE *table, const hb_comparison *result)
{
    const hb_drift_size *size = hb_drift_size_of(result);
    hb_study_print(
        table,
        "drift: error of the score against the exact one at tau = 0.1, 0.3, 1: all draws "
        "and the fifth with the lowest density, mean over %d seed%s from %llu\n"
        "%d rows of the start, %llu steps of 256, width %d; residual: rms of the scaled "
        "R_r at tau = 0.3; (exact): the error that the exact score claims;\nms/step: "
        "processor time of a training done now\n"
        "%-10s %-12s %6s | %-17s | %-17s | %-17s | %-8s | %s\n",
        size->seeds, size->seeds == 1 ? "" : "s", (unsigned long long)size->seed, size->rows,
        (unsigned long long)size->steps, size->width, "process", "method", "steps",
        "tau 0.1  all low", "tau 0.3", "tau 1", "residual", "ms/step");
    for (int p = 0; p < DRIFT_PROBLEMS; p++) {
        if (!hb_drift_has(result, p)) continue;
        for (int m = 0; m < DRIFT_METHODS; m++) print_row(table, result, p, m);
        print_truth(table, result, p);
    }
}
