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
    hb_study_claim(
        claims, "bistable/reduction", NULL,
        hb_study_text("stationary start %.3g to %.2g; Gaussian start %.3g to %.2g",
                      exact_mse(result, BISTABLE_DSM, 0, BISTABLE_OVERALL),
                      exact_mse(result, BISTABLE_BALL, 0, BISTABLE_OVERALL),
                      exact_mse(result, BISTABLE_DSM, 1, BISTABLE_OVERALL),
                      exact_mse(result, BISTABLE_BALL, 1, BISTABLE_OVERALL)),
        holds ? HB_HOLDS : HB_FAILS,
        hb_study_text("The factor is at least %.2g. The comparison is not like for like, as the "
                      "paper says: the heat-ball average is taken over a Fokker–Planck solution "
                      "on a grid, whose own score has error %.2g; DSM sees %d samples.",
                      least, grid, BISTABLE_PATHS));
}

static void claim_core(json_t *claims, const hb_bistable_result *result)
{
    const double stationary = exact_mse(result, BISTABLE_BALL, 0, BISTABLE_CORE);
    const double gaussian = exact_mse(result, BISTABLE_BALL, 1, BISTABLE_CORE);
    hb_study_claim(claims, "bistable/core", NULL,
                   hb_study_text("%.2g and %.2g; DSM %.3g and %.3g (stationary and Gaussian start)",
                                 stationary, gaussian,
                                 exact_mse(result, BISTABLE_DSM, 0, BISTABLE_CORE),
                                 exact_mse(result, BISTABLE_DSM, 1, BISTABLE_CORE)),
                   fmax(stationary, gaussian) <= NEAR_ZERO ? HB_HOLDS : HB_FAILS,
                   hb_study_text("Held to %g.", NEAR_ZERO));
}

/* Bias that more data would not remove against the whole error near the saddle. */
static void claim_saddle(json_t *claims, const hb_bistable_result *result)
{
    const hb_bistable_saddle *a = &result->cases[0].saddle, *b = &result->cases[1].saddle;
    const double structural = fmax(a->limit_bias2 / a->mse, b->limit_bias2 / b->mse);
    const double bias = fmin(a->bias2 / a->mse, b->bias2 / b->mse);
    hb_study_claim(
        claims, "bistable/saddle", NULL,
        hb_study_text("|x| ≤ %g: error %.3g and %.3g, of which bias² %.2g and %.2g, variance %.2g "
                      "and %.2g; with infinite data %.2g and %.2g (stationary and Gaussian start)",
                      BISTABLE_SADDLE, a->mse, b->mse, a->bias2, b->bias2, a->variance, b->variance,
                      a->limit_bias2, b->limit_bias2),
        structural >= 0.5 ? HB_HOLDS
        : bias >= 0.5     ? HB_HOLDS_CORRECTED
                          : HB_FAILS,
        hb_study_text(
            "The bias that stays with infinite data is at most %.2g %% of the error there; "
            "the rest comes from finitely many samples and the bandwidth of the "
            "regression. At x = 0 itself both starts are symmetric and the bias is zero.",
            100 * structural));
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
    hb_study_claim(
        claims, "bistable/tail", NULL,
        hb_study_text("%.3g and %.3g in the tail; %.3g and %.3g with infinitely many samples "
                      "(stationary and Gaussian start)",
                      dsm[0], dsm[1], limit[0], limit[1]),
        !large    ? HB_FAILS
        : starved ? HB_HOLDS
                  : HB_HOLDS_CORRECTED,
        hb_study_text(
            "The farthest of %d ends lies at |x| = %.2f and %.2f on average; beyond it nothing "
            "is known. %s",
            BISTABLE_PATHS, result->cases[0].farthest, result->cases[1].farthest,
            starved
                ? "With infinitely many samples most of the error goes away."
                : "But more samples would not help: the noise alone takes the score of the noisy "
                  "density that far from the score of p."));
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
        claims, "bistable/noise", NULL,
        hb_study_text(
            "best %.3g (stationary start: σ = %g, %g times the rule's bandwidth) and %.3g "
            "(Gaussian start: σ = %g, %g times); heat ball %.2g and %.2g",
            best[0], hb_bistable_noises[c[0].best_noise], hb_bistable_widths[c[0].best_width],
            best[1], hb_bistable_noises[c[1].best_noise], hb_bistable_widths[c[1].best_width],
            ball[0], ball[1]),
        best[0] > ball[0] && best[1] > ball[1] ? HB_HOLDS : HB_FAILS,
        hb_study_text(
            "Noise and bandwidth were chosen with the exact score known, from %d noises and "
            "%d bandwidths.",
            BISTABLE_NOISES, BISTABLE_WIDTHS));
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
        claims, "bistable/reference", NULL,
        hb_study_text(
            "Gaussian start: the two scores differ by %.3g overall (core %.2g, tail %.3g); "
            "the heat ball is off by %.2g from the exact score and by %.3g from the "
            "stationary one",
            gap->mse[BISTABLE_OVERALL], gap->mse[BISTABLE_CORE], gap->mse[BISTABLE_TAIL],
            own->mse[BISTABLE_OVERALL], mixed->mse[BISTABLE_OVERALL]),
        gap->mse[BISTABLE_OVERALL] > own->mse[BISTABLE_OVERALL] ? HB_HOLDS_CORRECTED : HB_HOLDS,
        NULL);
}

static void claim_regions(json_t *claims, const hb_bistable_result *result)
{
    const hb_bistable_row *row =
        hb_bistable_find(result, BISTABLE_DSM, BISTABLE_GAUSSIAN, BISTABLE_TO_STATIONARY);
    const double implied = (row->paper[BISTABLE_CORE] + 2 * row->paper[BISTABLE_TAIL]) / 3;
    const double share = (row->paper[BISTABLE_TAIL] - row->paper[BISTABLE_OVERALL]) /
                         (row->paper[BISTABLE_TAIL] - row->paper[BISTABLE_CORE]);
    hb_study_claim(
        claims, "bistable/regions", NULL,
        hb_study_text("a third of 1.15 and two thirds of 8.15 make %.2f", implied),
        fabs(implied / row->paper[BISTABLE_OVERALL] - 1) < 0.01 ? HB_HOLDS : HB_HOLDS_CORRECTED,
        hb_study_text("The paper's three numbers fit a core that is %.0f %% of the range, [−%.2f, "
                      "%.2f], not [−3, 3]. Here the mean is over %d even points of [−3, 3].",
                      100 * share, 1 / share, 1 / share, BISTABLE_POINTS));
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
