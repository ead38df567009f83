/* Claims: how the heat-ball loss compares on nonlinear drifts. The thresholds are this project's own; the
 * paper trains no network on a nonlinear drift. Each verdict is a condition on a geometric mean over processes
 * and seeds. */
#include "drift.h"

#include <math.h>

typedef struct bound {
    hb_claim claim;
    int other;
    double most;
} bound;

#define CLAIM(word, text)                                                                          \
    {                                                                                              \
        .id = (word), .statement = (text), .figure = "drift_errors", .table = "drift_ratios",      \
        .place = "5 Nonlinear drifts"                                                              \
    }

static const bound BOUNDS[] = {
    {CLAIM("dsm",
           "On nonlinear drifts the heat-ball loss, as it is by default, has at most a quarter "
           "of the error of denoising score matching (τ = 0.3, equal steps)."),
     DRIFT_DSM, 0.25},
    {CLAIM("dsm-targets", "With the same averaged targets for both, the constraint alone still "
                          "halves the error (τ = 0.3, equal steps)."),
     DRIFT_DSM_TARGETS, 0.5},
    {CLAIM("fp", "It has at most 0.8 of the error of the pointwise residual with the same targets "
                 "(τ = 0.3, equal steps)."),
     DRIFT_FP, 0.8},
    {CLAIM("fp-time", "It has at most 0.9 of the error of the pointwise residual that is given the "
                      "same time (τ = 0.3)."),
     DRIFT_FP_TIME, 0.9},
    {CLAIM("dsm-time", "It is not behind denoising score matching with the same targets that is "
                       "given the same time (τ = 0.3)."),
     DRIFT_DSM_TIME, 1}};

static void add_claim(json_t *claims, const hb_drift_result *result, const bound *b)
{
    const int value = DRIFT_ERROR + DRIFT_REGIONS * DRIFT_TAU_TABLE;
    const hb_drift_ratio all = hb_drift_compare(result, -1, DRIFT_HB, b->other, value);
    const hb_drift_ratio low = hb_drift_compare(result, -1, DRIFT_HB, b->other, value + 1);
    char error[32] = "";
    if (!isnan(all.se)) snprintf(error, sizeof error, " ± %.2f", all.mean * all.se);
    hb_study_claim(
        claims, &b->claim, hb_study_text("not measured; asked for here: at most %g", b->most),
        hb_study_text("×%.2f%s of %s (by process %.2f to %.2f); in low density ×%.2f", all.mean,
                      error, hb_drift_recipes[b->other].name, all.least, all.most, low.mean),
        all.mean <= b->most ? HB_HOLDS : HB_FAILS,
        hb_study_text("Holds when the geometric mean over %d process%s and %d seed%s is "
                      "at most %g.",
                      all.n, all.n == 1 ? "" : "es", result->size.seeds,
                      result->size.seeds == 1 ? "" : "s", b->most));
}

json_t *hb_drift_claims(const hb_drift_result *result)
{
    json_t *claims = json_array();
    for (size_t i = 0; i < sizeof BOUNDS / sizeof *BOUNDS; i++)
        add_claim(claims, result, &BOUNDS[i]);
    return claims;
}
