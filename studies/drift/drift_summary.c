/* Means over seeds, ratios of two methods, drift.json and the printed table.
 *
 * Methods are compared seed by seed: with e the error of a run,
 *     l(problem, seed) = ln e(method) - ln e(other),
 * a ratio is exp of the mean of l over problems and seeds, its standard error that of the means over
 * problems from seed to seed, its spread the standard deviation over problems of the means over seeds. */
#include "drift.h"

#include <math.h>

/* ---- means ---- */

static void average_one(const hb_drift_result *result, int problem, int method, hb_drift_mean *mean)
{
    double square[DRIFT_VALUES] = {0}, seconds = 0;
    int timed = 0;
    *mean = (hb_drift_mean){0};
    for (size_t i = 0; i < result->n; i++) {
        const hb_drift_run *run = &result->runs[i];
        if (run->problem != problem || run->method != method) continue;
        mean->n++;
        timed += run->seconds > 0;
        seconds += run->seconds;
        for (int k = 0; k < DRIFT_VALUES; k++) {
            mean->mean[k] += run->value[k];
            square[k] += run->value[k] * run->value[k];
        }
    }
    const double n = mean->n;
    for (int k = 0; k < DRIFT_VALUES && mean->n > 0; k++) {
        mean->mean[k] /= n;
        mean->se[k] = mean->n > 1
                          ? sqrt(fmax(0, square[k] / n - mean->mean[k] * mean->mean[k]) / (n - 1))
                          : NAN;
    }
    mean->seconds = timed > 0 ? seconds / timed : 0;
}

void hb_drift_average(hb_drift_result *result)
{
    for (int problem = 0; problem < DRIFT_PROBLEMS; problem++)
        for (int method = 0; method < DRIFT_METHODS; method++)
            average_one(result, problem, method, &result->mean[problem][method]);
}

int hb_drift_has(const hb_drift_result *result, int problem)
{
    return result->size.problems >> problem & 1;
}

/* ---- ratios ---- */

static const hb_drift_run *find(const hb_drift_result *result, int problem, int method, int seed)
{
    for (size_t i = 0; i < result->n; i++)
        if (result->runs[i].problem == problem && result->runs[i].method == method &&
            result->runs[i].seed_index == seed)
            return &result->runs[i];
    return NULL;
}

/* Mean and, from two values on, the standard deviation of n numbers. */
static double mean_of(int n, const double *x, double *deviation)
{
    double sum = 0, square = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    for (int i = 0; i < n; i++) square += pow(x[i] - sum / n, 2);
    *deviation = n > 1 ? sqrt(square / (n - 1)) : NAN;
    return sum / n;
}

hb_drift_ratio hb_drift_compare(const hb_drift_result *result, int problem, int method, int other,
                                int value)
{
    enum { MOST = 1000 };
    double by_problem[DRIFT_PROBLEMS] = {0}, by_seed[MOST] = {0}, of_problems;
    const int seeds = result->size.seeds < MOST ? result->size.seeds : MOST;
    hb_drift_ratio ratio = {.least = INFINITY, .most = 0};
    for (int p = 0; p < DRIFT_PROBLEMS; p++) {
        if (!hb_drift_has(result, p) || (problem >= 0 && p != problem)) continue;
        for (int s = 0; s < seeds; s++) {
            const hb_drift_run *a = find(result, p, method, s), *b = find(result, p, other, s);
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

/* ---- drift.json ---- */

json_t *hb_drift_settings_json(const hb_drift_size *size)
{
    json_t *taus = json_array();
    for (int k = 0; k < DRIFT_TAUS; k++) json_array_append_new(taus, json_real(hb_drift_taus[k]));
    return json_pack("{s:i,s:i,s:i,s:i,s:I,s:i,s:f,s:I,s:I,s:I,s:o}", "seeds", size->seeds, "rows",
                     size->rows, "width", size->width, "depth", 3, "steps", (json_int_t)size->steps,
                     "batch", 256, "tau_max", size->tau_max, "judge_draws", (json_int_t)size->judge,
                     "residual_draws", (json_int_t)size->anchors, "residual_pairs",
                     (json_int_t)size->pairs, "taus", taus);
}

static json_t *method_json(const hb_drift_result *result, int problem, int method)
{
    const hb_drift_mean *mean = &result->mean[problem][method];
    char buffer[32];
    json_t *values = json_object();
    for (int i = 0; i < DRIFT_VALUES; i++)
        json_object_set_new(values, hb_drift_value_name(i, buffer),
                            json_pack("{s:o,s:o}", "mean", hb_study_number(mean->mean[i]), "se",
                                      hb_study_number(mean->se[i])));
    return json_pack("{s:s,s:i,s:I,s:o}", "method", hb_drift_recipes[method].name, "seeds", mean->n,
                     "steps", (json_int_t)find(result, problem, method, 0)->steps, "values",
                     values);
}

json_t *hb_drift_rows_json(const hb_drift_result *result)
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
            json_array_append_new(claimed, hb_study_number(result->truth[p].claimed[k]));
        json_array_append_new(
            problems, json_pack("{s:s,s:i,s:o,s:o,s:o}", "problem", hb_drift_processes[p].name,
                                "dim", hb_drift_processes[p].dim, "claimed_error_of_truth", claimed,
                                "step_costs", costs, "methods", methods));
    }
    return problems;
}

/* ---- the printed table ---- */

static void print_row(FILE *table, const hb_drift_result *result, int problem, int method)
{
    const hb_drift_mean *mean = &result->mean[problem][method];
    const uint64_t steps = find(result, problem, method, 0)->steps;
    hb_study_print(table, "%-10s %-12s %6llu", method == 0 ? hb_drift_processes[problem].name : "",
                   hb_drift_recipes[method].name, (unsigned long long)steps);
    for (int k = 0; k < DRIFT_TAUS; k++)
        hb_study_print(table, " | %8.3g %8.3g", mean->mean[DRIFT_ERROR + DRIFT_REGIONS * k],
                       mean->mean[DRIFT_ERROR + DRIFT_REGIONS * k + 1]);
    hb_study_print(table, " | %8.3g", mean->mean[DRIFT_RESIDUAL + DRIFT_TAU_TABLE]);
    if (mean->seconds > 0)
        hb_study_print(table, " | %.3g\n", 1e3 * mean->seconds / (double)steps);
    else
        hb_study_print(table, " |\n");
}

static void print_truth(FILE *table, const hb_drift_result *result, int problem)
{
    const double *claimed = result->truth[problem].claimed;
    hb_study_print(table, "%-10s %-12s %6s", "", "(exact)", "");
    for (int k = 0; k < DRIFT_TAUS; k++) hb_study_print(table, " | %8.1g %8s", claimed[k], "");
    hb_study_print(table, " |\n");
}

void hb_drift_print(FILE *table, const hb_drift_result *result)
{
    const hb_drift_size *size = &result->size;
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
