/* Log-densities: do the losses learn the weights of modes that are far apart?
 *
 * Denoising score matching learns grad ln p, and where no data lie nothing of it: at small tau the
 * difference of ln p between two modes is free. At large tau modes overlap; the Fokker-Planck
 * equation, as a constraint at points (fp) or over heat balls (hb), carries their weights down.
 * Networks of four losses, a Gaussian mixture by EM and a kernel estimate are compared by their
 * log-densities on data whose density is known. Trials are done seed by seed, so that a study that
 * was stopped makes its page from K finished seeds with --seeds K --resume.
 *
 * Must reproduce (docs/losses.md, other mixtures): errors of log mode weights of dsm above 0.3 and
 * of hb below 0.1 at small tau. */
#include "density.h"

#include <math.h>
#include <string.h>

/* ---- trials ---- */

static void density_set_name(const hb_comparison *result, int set, char separator, char name[48])
{
    (void)result;
    snprintf(name, 48, "%s%c%d", hb_density_sets[set].family, separator, hb_density_sets[set].dim);
}

static void density_describe(const hb_comparison *result, const hb_trial *trial, size_t n,
                             char *text)
{
    const hb_density_size *size = hb_density_size_of(result);
    const hb_recipe *recipe = &hb_density_recipes[trial->method];
    const hb_density_set *set = &hb_density_sets[trial->set];
    snprintf(text, n,
             "set=%s dim=%d distance=%g method=%s seed=%llu loss=%d target_rows=%d steps=%llu "
             "width=%d rows=%d judge=%zu test=%zu check=%zu lattice=%d chains=%d moves=%d",
             set->family, set->dim, set->distance, recipe->name, (unsigned long long)trial->seed,
             recipe->loss, recipe->target_rows, (unsigned long long)trial->steps, size->width,
             set->rows < size->rows ? set->rows : size->rows, size->judge, size->test, size->check,
             size->lattice, size->chains, size->moves);
}

static void density_put(json_t *root, const hb_trial *trial)
{
    const double *line = hb_density_line_of(trial);
    json_t *list = json_array();
    for (int k = 0; k < 2 * DENSITY_LINE && !isnan(line[0]); k++)
        json_array_append_new(list, hb_study_number(line[k]));
    json_object_set_new(root, "line", list);
}

static int density_take(const hb_comparison *result, const json_t *root, hb_trial *trial)
{
    (void)result;
    const json_t *list = json_object_get(root, "line");
    for (size_t k = 0; k < 2 * DENSITY_LINE; k++)
        hb_density_line_of(trial)[k] = hb_cells_number(json_array_get(list, k));
    return 1;
}

/* ---- numbers for formulas ---- */

/* Mean over seeds of point k of the path; of the truth from DENSITY_LINE on. */
static double mean_line(const hb_comparison *result, int set, int method, int k)
{
    double sum = 0;
    for (int s = 0; s < result->seeds; s++)
        sum += hb_density_line_of(hb_compare_at(result, set, method, s))[k];
    return sum / result->seeds;
}

static int find_of_one(const hb_comparison *result, const char *name, int k, hb_value *out)
{
    static const struct {
        const char *name;
        int first, last;
    } lists[] = {{"sets", 0, DENSITY_SETS},
                 {"aparts", 0, DENSITY_APART},
                 {"others", DENSITY_APART, DENSITY_MIXTURES},
                 {"wells", DENSITY_TWO, DENSITY_SETS}};
    for (size_t i = 0; i < HB_COUNT(lists); i++)
        if (strcmp(name, lists[i].name) == 0) { /* the k-th of those that were run */
            int s = lists[i].first;
            while (s < lists[i].last && (!hb_density_has(result, s) || k-- > 0)) s++;
            out->number = s;
            return s < lists[i].last;
        }
    if (strcmp(name, "dim") == 0)
        out->number = hb_density_sets[k].dim;
    else if (strcmp(name, "set") == 0)
        out->text = hb_density_sets[k].family;
    else if (strcmp(name, "tau") == 0)
        out->number = hb_density_taus[k];
    else
        return 0;
    return 1;
}

static int density_find(const hb_comparison *result, const char *name, int n, const hb_value *v,
                        hb_value *out)
{
    int k[3] = {0};
    for (int i = 0; i < n && i < 3; i++) k[i] = (int)v[i].number;
    if (n == 1) return find_of_one(result, name, k[0], out);
    if (n == 3 && strcmp(name, "line") == 0)
        out->number = mean_line(result, k[0], k[1], k[2]);
    else if (n == 0 && strncmp(name, "set_", 4) == 0) /* set_two, set_fifty16: by name */
        for (int s = 0; s < DENSITY_SETS; s++) {
            char buffer[48];
            snprintf(buffer, sizeof buffer, "%s%d", hb_density_sets[s].family,
                     hb_density_sets[s].dim);
            if (strcmp(name + 4, buffer) == 0) out->number = s;
        }
    else
        return 0;
    return 1;
}

/* ---- results ---- */

static json_t *density_settings(const hb_comparison *result)
{
    const hb_density_size *size = hb_density_size_of(result);
    json_t *more = json_object(); /* steps of dsm-time in units of the others */
    for (int dim = 2; dim <= 64; dim *= 2)
        json_object_set_new(more, (char[]){(char)('0' + dim / 10), (char)('0' + dim % 10), 0},
                            json_real(hb_density_step_cost(dim, DENSITY_HB) /
                                      hb_density_step_cost(dim, DENSITY_DSM_TARGETS)));
    return json_pack("{s:o,s:i,s:i,s:i,s:i,s:I,s:I,s:I}", "time_by_dim", more, "seeds", size->seeds,
                     "steps", size->steps, "width", size->width, "most_rows", size->rows,
                     "judge_draws", (json_int_t)size->judge, "test_rows", (json_int_t)size->test,
                     "check_samples", (json_int_t)size->check);
}

static void density_results(json_t *root, const hb_comparison *result)
{
    json_t *rows = json_array();
    for (int s = 0; s < DENSITY_SETS; s++)
        for (int m = 0; m < DENSITY_METHODS && hb_density_has(result, s); m++)
            json_array_append_new(
                rows, json_pack("{s:s,s:i,s:s,s:I,s:o}", "set", hb_density_sets[s].family, "dim",
                                hb_density_sets[s].dim, "method", hb_density_recipes[m].name,
                                "steps", (json_int_t)hb_compare_at(result, s, m, 0)->steps,
                                "values", hb_compare_values_json(result, s, m)));
    json_object_set_new(root, "rows", rows);
    json_object_set_new(root, "claims", json_array());
}

static void density_print(FILE *table, const hb_comparison *result)
{
    static const int shown[] = {DENSITY_WEIGHTS, DENSITY_MEAN,     DENSITY_SD,       DENSITY_SCORE,
                                DENSITY_NLL_ODE, DENSITY_NLL_PASS, DENSITY_NLL_EXACT};
    hb_study_print(table,
                   "density: errors at tau = 0.001, nats, mean over %d seeds; processor time\n"
                   "set         d method      weights    mean      sd   score nll:ode    pass"
                   "   exact\n",
                   result->seeds);
    for (int s = 0; s < DENSITY_SETS; s++)
        for (int m = 0; m < DENSITY_METHODS && hb_density_has(result, s); m++) {
            hb_study_print(table, "%-10s %2d %-11s", hb_density_sets[s].family,
                           hb_density_sets[s].dim, hb_density_recipes[m].name);
            for (size_t i = 0; i < HB_COUNT(shown); i++)
                hb_study_print(table, " %7.3g", hb_compare_value(result, s, m, shown[i]));
            hb_study_print(table, " | %.3g s\n", hb_compare_seconds(result, s, 1, m));
        }
}

static const hb_field_of FIELDS[] = {
    HB_FIELD_OF(hb_density_size, seeds), HB_FIELD_OF(hb_density_size, steps),
    HB_FIELD_OF(hb_density_size, width), HB_FIELD_OF(hb_density_size, rows)};

// clang-format off
const hb_compared hb_density_compared = {
    .study = &hb_density_study, .format = "density-1", .folder = "trials",
    .columns = "set,dim,method,seed,steps,quantity,value", .in_order = 1, .n_sets = DENSITY_SETS,
    .n_methods = DENSITY_METHODS, .recipes = hb_density_recipes, .n_values = DENSITY_VALUES,
    .n_more = 2 * DENSITY_LINE, .value_name = hb_density_value_name, .set_name = density_set_name,
    .describe = density_describe, .plan = hb_density_plan, .run = hb_density_do,
    .put = density_put, .take = density_take, .print = density_print,
    .settings = density_settings, .results = density_results, .n_fields = HB_COUNT(FIELDS),
    .fields = FIELDS, .find = density_find};
// clang-format on

static hb_status run_density(hb_context *context, const hb_study_settings *settings, FILE *table)
{
    const hb_density_size size = hb_density_choose_size(settings),
                          full = hb_density_choose_size(&(hb_study_settings){0});
    hb_comparison result = {&hb_density_compared, &size, .full = &full, .seeds = size.seeds};
    result.first_seed = size.seed;
    return hb_compare_study(context, settings, table, &result);
}

const hb_study hb_density_study = {
    "density", "Log-densities of score networks: weights of modes and likelihoods by one pass",
    run_density};
