/* Log-densities: do the losses learn the weights of modes that are far apart?
 *
 * Denoising score matching learns grad ln p, and where no data lie nothing of it: at small tau the
 * difference of ln p between two modes is free. At large tau modes overlap; the Fokker-Planck
 * equation, as a constraint at points (fp) or over heat balls (hb), carries their weights down.
 * dsm-targets, fp and hb have the same averaged targets, so that hb : dsm-targets is what the
 * constraint brings. dsm-time is dsm-targets with steps * cost(hb)/cost(dsm-targets) steps, by the
 * constants below, so that every byte can be repeated. Trials are done seed by seed, so that a
 * study that was stopped makes its page from K finished seeds with --seeds K --resume.
 *
 * Must reproduce (docs/explanation/losses.md, other mixtures): errors of log mode weights of dsm above 0.3 and
 * of hb below 0.1 at small tau. */
#include "density.h"

#include <math.h>
#include <string.h>

/* ---- the plan ---- */

enum { ROWS = 20000 };

const double hb_density_taus[DENSITY_TAUS] = {DENSITY_TAU_MIN, 0.005, 0.02, 0.05, 0.2};

const hb_recipe hb_density_recipes[DENSITY_METHODS] = {
    {"dsm", "DSM, targets of one row", 4, HB_LOSS_DSM, HB_HEAD_ENERGY, 0, -1, 0, 0, 1},
    {"dsm-targets", "DSM, averaged targets", 1, HB_LOSS_DSM, HB_HEAD_ENERGY, 512, -1, 0, 0, 1},
    {"fp", "FP, averaged targets", 3, HB_LOSS_FP, HB_HEAD_ENERGY, 512, -1, 0, 0, 1},
    {"hb", "HB, averaged targets", 0, HB_LOSS_HB, HB_HEAD_ENERGY, 512, -1, 0, 0, 1},
    {"dsm-time", "DSM, equal seconds", 5, HB_LOSS_DSM, HB_HEAD_ENERGY, 512, DENSITY_HB, 0, 0, 1},
    {"em", "Gaussian mixture by EM", 2, -1, -1, 0, -1, 0, 0, 1},
    {"kde", "kernel estimate", 7, -1, -1, 0, -1, 0, 0, 1}};

static const double THREE[] = {0.15, 0.6, 0.25}, UNEQUAL[] = {0.02, 0.28, 0.7},
                    WIDTHS[] = {0.5, 1, 1.5}, TWO[] = {0.2, 0.8};

// clang-format off
const hb_density_set hb_density_sets[DENSITY_SETS] = {
    {"apart", 2, ROWS, 3, 4.3, THREE, NULL},    {"apart", 4, ROWS, 3, 6.2, THREE, NULL},
    {"apart", 8, ROWS, 3, 8.8, THREE, NULL},    {"apart", 16, ROWS, 3, 11.5, THREE, NULL},
    {"apart", 32, ROWS, 3, 15, THREE, NULL},    {"apart", 64, ROWS, 3, 21, THREE, NULL},
    {"overlap", 2, ROWS, 3, 2.5, THREE, NULL},  {"overlap", 8, ROWS, 3, 2.5, THREE, NULL},
    {"overlap", 32, ROWS, 3, 2.5, THREE, NULL}, {"unequal", 2, ROWS, 3, 5, UNEQUAL, WIDTHS},
    {"unequal", 8, ROWS, 3, 8.8, UNEQUAL, WIDTHS}, {"unequal", 32, ROWS, 3, 15, UNEQUAL, WIDTHS},
    {"ten", 8, ROWS, 10, 8.8, NULL, NULL},      {"ten", 32, ROWS, 10, 15, NULL, NULL},
    {"fifty", 2, ROWS, 50, 20, NULL, NULL},     {"fifty", 16, ROWS, 50, 11.5, NULL, NULL},
    {"outliers", 8, ROWS, 0, 0, NULL, NULL},    {"two_moon", 2, 8000, 0, 0, NULL, NULL},
    {"ring", 2, 8000, 0, 0, NULL, NULL},        {"two_spiral", 2, 8000, 0, 0, NULL, NULL},
    {"pinwheel", 2, 8000, 0, 0, NULL, NULL},    {"two", 2, ROWS, 2, 14.142135623730951, TWO, NULL},
    {"muller", 2, 100000, 0, 0, NULL, NULL}};
// clang-format on

/* Milliseconds of processor time of a step, the mean over 250: one thread, width 96, batch 256,
 * 20000 rows, the least of six, Zen 4. To be renewed when a loss gets cheaper. */
static const double STEP_COSTS[][1 + DENSITY_METHODS] = { // d, then a number for each method
    {2, 0.7, 0.92, 1.68, 1.85, 0.92},   {4, 0.81, 1.2, 2.5, 2.39, 1.2},
    {8, 0.92, 1.15, 2.48, 1.97, 1.15},  {16, 0.79, 1.1, 2.51, 2.09, 1.1},
    {32, 0.95, 1.52, 1.81, 1.88, 1.52}, {64, 1.47, 2.26, 2.71, 3.14, 2.26}};

// clang-format off
static hb_density_size choose_size(const hb_study_settings *settings)
{
    hb_density_size size = {.seed = settings->seed, .sets = (1 << DENSITY_SETS) - 1,
        .seeds = 5, .steps = 4000, .width = 96, .rows = 100000, .judge = 2000, .test = 256,
        .check = 256, .lattice = 201, .chains = 1000, .moves = 400};
    if (settings->quick) /* apart in 2 and 8 dimensions, two, muller */
        size = (hb_density_size){.seed = settings->seed, .sets = 1 | 1 << 2 | 3 << DENSITY_TWO,
            .seeds = 1, .steps = 250, .width = 32, .rows = 2000, .judge = 500, .test = 32,
            .check = 80, .lattice = 81, .chains = 100, .moves = 100};
    if (settings->seeds > 0) size.seeds = settings->seeds;
    return size;
}

// clang-format on
static void density_plan(hb_comparison *result)
{
    const hb_density_size *size = hb_density_size_of(result);
    for (int i = 0; i < result->seeds * DENSITY_SETS * DENSITY_METHODS; i++) {
        const int method = i % DENSITY_METHODS, set = i / DENSITY_METHODS % DENSITY_SETS;
        const double *cost = STEP_COSTS[0], dim = hb_density_sets[set].dim;
        while (cost[0] < dim) cost += 1 + DENSITY_METHODS;
        const double more =
            method == DENSITY_DSM_TIME ? cost[1 + DENSITY_HB] / cost[1 + method] : 1;
        const double steps = method < DENSITY_EM ? round(size->steps * more) : 1;
        if (hb_density_has(result, set)) /* milliseconds, with those of judging */
            hb_compare_add(result, set, method, i / DENSITY_METHODS / DENSITY_SETS, steps,
                           steps * cost[1 + method] + 8 * (double)size->test * (1 + 0.03 * dim));
    }
}

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
    snprintf(
        text, n,
        "set=%s dim=%d distance=%g method=%s seed=%llu loss=%d target_rows=%d steps=%llu rate=2 "
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

/* Those of the sets from .. to - 1 that were run. */
static int find_list(const hb_comparison *result, int from, int to, int k, hb_value *out)
{
    while (from < to && (!hb_density_has(result, from) || k-- > 0)) from++;
    out->number = from;
    return from < to;
}

/* Mean over seeds of point k of the path; of the truth from DENSITY_LINE on. */
static double mean_line(const hb_comparison *result, int set, int method, int k)
{
    double sum = 0;
    for (int s = 0; s < result->seeds; s++)
        sum += hb_density_line_of(hb_compare_at(result, set, method, s))[k];
    return sum / result->seeds;
}

static int density_find(const hb_comparison *result, const char *name, int n, const hb_value *v,
                        hb_value *out)
{
    const int k = n > 0 ? (int)v[0].number : 0;
    if (n == 1 && strcmp(name, "sets") == 0) return find_list(result, 0, DENSITY_SETS, k, out);
    if (n == 1 && strcmp(name, "aparts") == 0) return find_list(result, 0, 6, k, out);
    if (n == 1 && strcmp(name, "others") == 0) return find_list(result, 6, 16, k, out);
    if (n == 1 && strcmp(name, "wells") == 0) return find_list(result, 21, 23, k, out);
    if (n == 1 && strcmp(name, "dim") == 0)
        out->number = hb_density_sets[k].dim;
    else if (n == 1 && strcmp(name, "set") == 0)
        out->text = hb_density_sets[k].family;
    else if (n == 3 && strcmp(name, "line") == 0)
        out->number = mean_line(result, k, (int)v[1].number, (int)v[2].number);
    else
        return 0;
    return 1;
}

static json_t *density_settings(const hb_comparison *result)
{
    const hb_density_size *size = hb_density_size_of(result);
    return json_pack("{s:i,s:i,s:i,s:i,s:I,s:I,s:I}", "seeds", size->seeds, "steps", size->steps,
                     "width", size->width, "most_rows", size->rows, "judge_draws",
                     (json_int_t)size->judge, "test_rows", (json_int_t)size->test, "check_samples",
                     (json_int_t)size->check);
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
    static const int shown[] = {DENSITY_WEIGHTS, DENSITY_MEAN,     DENSITY_SD,
                                DENSITY_NLL_ODE, DENSITY_NLL_PASS, DENSITY_NLL_EXACT};
    hb_study_print(table,
                   "density at tau = 0.001, means over seeds: error of log mode weights, mean "
                   "and sd of v - ln p, nll by the ODE, by one pass, exact; processor time\n");
    for (int i = 0; i < DENSITY_SETS * DENSITY_METHODS; i++) {
        const int s = i / DENSITY_METHODS, m = i % DENSITY_METHODS;
        if (!hb_density_has(result, s)) continue;
        hb_study_print(table, "%-10s %2d %-11s", hb_density_sets[s].family, hb_density_sets[s].dim,
                       hb_density_recipes[m].name);
        for (size_t k = 0; k < HB_COUNT(shown); k++)
            hb_study_print(table, " %7.3g", hb_compare_value(result, s, m, shown[k]));
        hb_study_print(table, " | %.3g s\n", hb_compare_seconds(result, s, 1, m));
    }
}

static const hb_field_of FIELDS[] = {
    HB_FIELD_OF(hb_density_size, seeds), HB_FIELD_OF(hb_density_size, steps),
    HB_FIELD_OF(hb_density_size, width), HB_FIELD_OF(hb_density_size, rows)};

// clang-format off
static const hb_compared density_compared = {
    .study = &hb_density_study, .format = "density-1", .folder = "trials",
    .columns = "set,dim,method,seed,steps,quantity,value", .in_order = 1, .n_sets = DENSITY_SETS,
    .n_methods = DENSITY_METHODS, .recipes = hb_density_recipes, .n_values = DENSITY_VALUES,
    .n_more = 2 * DENSITY_LINE, .value_name = hb_density_value_name, .set_name = density_set_name,
    .describe = density_describe, .plan = density_plan, .run = hb_density_do,
    .put = density_put, .take = density_take, .print = density_print,
    .settings = density_settings, .results = density_results, .n_fields = HB_COUNT(FIELDS),
    .fields = FIELDS, .find = density_find};
// clang-format on

static hb_status run_density(hb_context *context, const hb_study_settings *settings, FILE *table)
{
    const hb_density_size size = choose_size(settings), full = choose_size(&(hb_study_settings){0});
    hb_comparison result = {&density_compared, &size, .full = &full, .seeds = size.seeds};
    result.first_seed = size.seed;
    return hb_compare_study(context, settings, table, &result);
}

const hb_study hb_density_study = {
    "density", "Log-densities of score networks: weights of modes and likelihoods by one pass",
    run_density};
