/* Claims: how the heat-ball loss compares on nonlinear drifts. The thresholds are this project's own; the
 * paper trains no network on a nonlinear drift. Each verdict is a condition on a geometric mean over processes
 * and seeds. */
#include "drift.h"

#include <math.h>

static const struct bound {
    const char *claim;
    int other;
    double most;
} BOUNDS[] = {{"drift/dsm", DRIFT_DSM, 0.25},
              {"drift/dsm-targets", DRIFT_DSM_TARGETS, 0.5},
              {"drift/fp", DRIFT_FP, 0.8},
              {"drift/fp-time", DRIFT_FP_TIME, 0.9},
              {"drift/dsm-time", DRIFT_DSM_TIME, 1}};

static void add_claim(json_t *claims, const hb_comparison *result, const struct bound *b)
{
    const int value = DRIFT_ERROR + DRIFT_REGIONS * DRIFT_TAU_TABLE;
    const hb_drift_ratio all = hb_drift_compare(result, -1, DRIFT_HB, b->other, value);
    const hb_drift_ratio low = hb_drift_compare(result, -1, DRIFT_HB, b->other, value + 1);
    char error[32] = "";
    if (!isnan(all.se)) snprintf(error, sizeof error, " ± %.2f", all.mean * all.se);
    hb_study_claim(claims, b->claim, all.mean <= b->most ? HB_HOLDS : HB_FAILS,
                   HB_WORDS((error, hb_drift_recipes[b->other].name), b->most, all.mean, all.least,
                            all.most, low.mean, all.n, hb_drift_size_of(result)->seeds, b->most));
}

json_t *hb_drift_claims(const hb_comparison *result)
{
    json_t *claims = json_array();
    for (size_t i = 0; i < sizeof BOUNDS / sizeof *BOUNDS; i++)
        add_claim(claims, result, &BOUNDS[i]);
    return claims;
}
