/* What the paper says about its bistable process, beside what the rows show. Each verdict is a
 * condition on the numbers; the sentences only report them.
 *
 * The paper names no start, so a claim about sizes must hold for both starts against the exact score
 * at t = 1. */
#include "bistable.h"

#include <math.h>

#define NEAR_ZERO 1e-6 /* what "near-zero core error" is held to */
#define FACTOR 10.0    /* "by a factor of about 10" */

static const hb_bistable_error *error_of(const hb_bistable_result *result,
                                         hb_bistable_method method, hb_bistable_start start,
                                         hb_bistable_reference reference)
{
    return &hb_bistable_find(result, method, start, reference)->error;
}

static double exact_mse(const hb_bistable_result *result, hb_bistable_method method, int start,
                        hb_bistable_region region)
{
    return error_of(result, method, (hb_bistable_start)start, BISTABLE_TO_EXACT)->mse[region];
}

static void claim_reduction(json_t *claims, const hb_bistable_result *result)
{
    int holds = 1;
    double least = INFINITY, grid = 0;
    for (int start = 0; start < BISTABLE_STARTS; start++) {
        const double ratio = exact_mse(result, BISTABLE_DSM, start, BISTABLE_OVERALL) /
                             exact_mse(result, BISTABLE_BALL, start, BISTABLE_OVERALL);
        holds &= ratio >= FACTOR;
        least = fmin(least, ratio);
        grid = fmax(grid, exact_mse(result, BISTABLE_GRID, start, BISTABLE_OVERALL));
    }
    hb_study_claim(claims, "bistable/reduction", holds ? HB_HOLDS : HB_FAILS,
                   HB_FILL(exact_mse(result, BISTABLE_DSM, 0, BISTABLE_OVERALL),
                           exact_mse(result, BISTABLE_BALL, 0, BISTABLE_OVERALL),
                           exact_mse(result, BISTABLE_DSM, 1, BISTABLE_OVERALL),
                           exact_mse(result, BISTABLE_BALL, 1, BISTABLE_OVERALL), least, grid,
                           BISTABLE_PATHS));
}

static void claim_core(json_t *claims, const hb_bistable_result *result)
{
    const double stationary = exact_mse(result, BISTABLE_BALL, 0, BISTABLE_CORE);
    const double gaussian = exact_mse(result, BISTABLE_BALL, 1, BISTABLE_CORE);
    hb_study_claim(claims, "bistable/core",
                   fmax(stationary, gaussian) <= NEAR_ZERO ? HB_HOLDS : HB_FAILS,
                   HB_FILL(stationary, gaussian, exact_mse(result, BISTABLE_DSM, 0, BISTABLE_CORE),
                           exact_mse(result, BISTABLE_DSM, 1, BISTABLE_CORE), NEAR_ZERO));
}

/* Bias that more data would not remove against the whole error near the saddle. */
static void claim_saddle(json_t *claims, const hb_bistable_result *result)
{
    const hb_bistable_saddle *a = &result->cases[0].saddle, *b = &result->cases[1].saddle;
    const double structural = fmax(a->limit_bias2 / a->mse, b->limit_bias2 / b->mse);
    const double bias = fmin(a->bias2 / a->mse, b->bias2 / b->mse);
    hb_study_claim(claims, "bistable/saddle", hb_study_verdict(structural >= 0.5, bias >= 0.5),
                   HB_FILL(BISTABLE_SADDLE, a->mse, b->mse, a->bias2, b->bias2, a->variance,
                           b->variance, a->limit_bias2, b->limit_bias2, 100 * structural));
}

static void claim_tail(json_t *claims, const hb_bistable_result *result)
{
    double dsm[2], limit[2];
    int large = 1, starved = 1;
    for (int start = 0; start < BISTABLE_STARTS; start++) {
        dsm[start] = exact_mse(result, BISTABLE_DSM, start, BISTABLE_TAIL);
        limit[start] = exact_mse(result, BISTABLE_DSM_LIMIT, start, BISTABLE_TAIL);
        large &= dsm[start] >= FACTOR * exact_mse(result, BISTABLE_DSM, start, BISTABLE_CORE);
        starved &= limit[start] < 0.5 * dsm[start];
    }
    hb_study_claim(claims, "bistable/tail", hb_study_verdict(large && starved, large),
                   HB_FILL(dsm[0], dsm[1], limit[0], limit[1], BISTABLE_PATHS,
                           result->cases[0].farthest, result->cases[1].farthest, starved));
}

static void claim_noise(json_t *claims, const hb_bistable_result *result)
{
    double best[2], ball[2];
    for (int start = 0; start < BISTABLE_STARTS; start++) {
        best[start] = exact_mse(result, BISTABLE_DSM_BEST, start, BISTABLE_OVERALL);
        ball[start] = exact_mse(result, BISTABLE_BALL, start, BISTABLE_OVERALL);
    }
    const hb_bistable_case *c = result->cases;
    hb_study_claim(
        claims, "bistable/noise", best[0] > ball[0] && best[1] > ball[1] ? HB_HOLDS : HB_FAILS,
        HB_FILL(best[0], hb_bistable_noises[c[0].best_noise], hb_bistable_widths[c[0].best_width],
                best[1], hb_bistable_noises[c[1].best_noise], hb_bistable_widths[c[1].best_width],
                ball[0], ball[1], BISTABLE_NOISES, BISTABLE_WIDTHS));
}

static void claim_reference(json_t *claims, const hb_bistable_result *result)
{
    const hb_bistable_error *gap =
        error_of(result, BISTABLE_LONG_TIME, BISTABLE_GAUSSIAN, BISTABLE_TO_EXACT);
    const hb_bistable_error *mixed =
        error_of(result, BISTABLE_BALL, BISTABLE_GAUSSIAN, BISTABLE_TO_STATIONARY);
    const hb_bistable_error *own =
        error_of(result, BISTABLE_BALL, BISTABLE_GAUSSIAN, BISTABLE_TO_EXACT);
    hb_study_claim(
        claims, "bistable/reference",
        gap->mse[BISTABLE_OVERALL] > own->mse[BISTABLE_OVERALL] ? HB_HOLDS_CORRECTED : HB_HOLDS,
        HB_FILL(gap->mse[BISTABLE_OVERALL], gap->mse[BISTABLE_CORE], gap->mse[BISTABLE_TAIL],
                own->mse[BISTABLE_OVERALL], mixed->mse[BISTABLE_OVERALL]));
}

static void claim_regions(json_t *claims, const hb_bistable_result *result)
{
    const hb_bistable_row *row =
        hb_bistable_find(result, BISTABLE_DSM, BISTABLE_GAUSSIAN, BISTABLE_TO_STATIONARY);
    const double implied = (row->paper[BISTABLE_CORE] + 2 * row->paper[BISTABLE_TAIL]) / 3;
    const double share = (row->paper[BISTABLE_TAIL] - row->paper[BISTABLE_OVERALL]) /
                         (row->paper[BISTABLE_TAIL] - row->paper[BISTABLE_CORE]);
    hb_study_claim(claims, "bistable/regions",
                   fabs(implied / row->paper[BISTABLE_OVERALL] - 1) < 0.01 ? HB_HOLDS
                                                                           : HB_HOLDS_CORRECTED,
                   HB_FILL(implied, 100 * share, 1 / share, 1 / share, BISTABLE_POINTS));
}

json_t *hb_bistable_claims(const hb_bistable_result *result)
{
    json_t *claims = json_array();
    claim_reduction(claims, result);
    claim_core(claims, result);
    claim_saddle(claims, result);
    claim_tail(claims, result);
    claim_noise(claims, result);
    claim_reference(claims, result);
    claim_regions(claims, result);
    return claims;
}
