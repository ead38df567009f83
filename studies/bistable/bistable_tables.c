/* The bistable study's table of the page, the paper's numbers beside both starts and both references,
 * and what --quick has less of. */
#include "bistable.h"

#include <math.h>

static const char *const METHODS[BISTABLE_METHODS] = {"DSM, noise 0.15",
                                                      "DSM, best noise and bandwidth",
                                                      "DSM, noise 0.15, infinite data",
                                                      "heat ball, r = 0.3, Monte Carlo",
                                                      "heat ball, r = 0.3, cubature",
                                                      "grid solution, no ball",
                                                      "stationary score"};

static const char *const REGIONS[BISTABLE_REGIONS] = {"overall", "core, |x| < 1", "tail, |x| ≥ 1"};

static json_t *error_text(const hb_bistable_row *row, hb_bistable_region region)
{
    const double value = row->error.mse[region], se = row->error.se[region];
    return isnan(se) ? hb_study_text("%.3g", value) : hb_study_text("%.3g ± %.2g", value, se);
}

/* The paper has rows for DSM and for the heat ball, whose core error it gives as about 0. */
static json_t *paper_text(const hb_bistable_row *row, hb_bistable_region region)
{
    const double value = row->paper[region];
    return isnan(value) ? json_string("") : hb_study_text("%s%.5g", value > 0 ? "" : "≈ ", value);
}

static json_t *table_row(const hb_bistable_result *result, hb_bistable_method method,
                         hb_bistable_region region)
{
    const hb_bistable_row *stationary =
        hb_bistable_find(result, method, BISTABLE_STATIONARY, BISTABLE_TO_STATIONARY);
    const hb_bistable_row *mixed =
        hb_bistable_find(result, method, BISTABLE_GAUSSIAN, BISTABLE_TO_STATIONARY);
    const hb_bistable_row *exact =
        hb_bistable_find(result, method, BISTABLE_GAUSSIAN, BISTABLE_TO_EXACT);
    return json_pack("[s,s,o,o,o,o]", REGIONS[region], METHODS[method],
                     paper_text(stationary, region), error_text(stationary, region),
                     error_text(mixed, region), error_text(exact, region));
}

void hb_bistable_table(json_t *root, const hb_bistable_result *result)
{
    json_t *rows = json_array();
    for (int region = 0; region < BISTABLE_REGIONS; region++)
        for (int method = 0; method < BISTABLE_METHODS; method++)
            json_array_append_new(
                rows, table_row(result, (hb_bistable_method)method, (hb_bistable_region)region));
    hb_study_table(root, "bistable_errors", rows, HB_FILL(BISTABLE_POINTS, result->size.runs));
}

void hb_bistable_shortened(json_t *root, const hb_bistable_size *quick,
                           const hb_bistable_size *full)
{
    hb_study_shortened(root, "bistable",
                       HB_FILL(quick->runs, full->runs, quick->pairs, full->pairs, quick->cells,
                               quick->wide_cells, full->cells, full->wide_cells));
}
