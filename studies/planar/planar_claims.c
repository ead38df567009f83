/* What the paper says about its planar study, beside what the numbers show. Each verdict is a condition
 * on the means over seeds; the sentences only report them.
 *
 * Two methods that were run with different numbers of seeds are compared over the seeds that both
 * have. hb has averaged targets, the paper's dsm and fp have not: every comparison of hb with them
 * stands beside the same one with dsm-targets and fp-targets, which shows the constraint alone. */
#include "planar.h"

#include <math.h>
#include <string.h>

#define REPEATED 2.0     /* within this factor of the paper's number */
#define WITHIN_FLOOR 2.0 /* MMD in units of real against real */
#define DISTORTS 1.1     /* an error larger by this factor counts as a distortion */

enum { AT = PLANAR_ERROR + PLANAR_REGIONS * PLANAR_TAU_TABLE, LOW = AT + 1 };

static double ratio(const hb_planar_result *result, int set, int method, int other, int value)
{
    return hb_planar_common_mean(result, set, method, other, value) /
           hb_planar_common_mean(result, set, other, method, value);
}

typedef struct comparison { /* of a method with another, over the sets */
    int sets, below;
    double geometric, least, most; /* mean, least and largest ratio */
    int worst;                     /* the set of the largest */
} comparison;

static comparison compare(const hb_planar_result *result, int method, int other, int value)
{
    comparison c = {.least = INFINITY, .most = -INFINITY, .worst = -1};
    double logs = 0;
    for (int set = 0; set < PLANAR_SETS; set++) {
        const double r = ratio(result, set, method, other, value);
        if (!hb_planar_has(result, set) || isnan(r)) continue;
        c.sets++;
        c.below += r < 1;
        logs += log(r);
        c.least = fmin(c.least, r);
        if (r > c.most) c.worst = set;
        c.most = fmax(c.most, r);
    }
    c.geometric = exp(logs / c.sets);
    return c;
}

static const char *set_name(int set)
{
    return set >= 0 ? hb_planar_sets[set].name : "none";
}

static void claim_table(json_t *claims, const hb_planar_result *result)
{
    double least = INFINITY, most = 0, near = INFINITY, far = 0;
    int sets = 0, worst = -1;
    for (int set = 0; set < PLANAR_SETS; set++) {
        const double *paper = hb_planar_sets[set].paper;
        if (!hb_planar_has(result, set) || isnan(paper[0])) continue;
        const double ours = hb_planar_error(result, set, PLANAR_HB, 0);
        const double factor = fmin(paper[0], fmin(paper[1], paper[2])) / ours;
        for (int m = 0; m < PLANAR_PAPER_METHODS; m++) {
            const double here = hb_planar_error(result, set, hb_planar_paper_methods[m], 0);
            near = fmin(near, paper[m] / here);
            far = fmax(far, paper[m] / here);
        }
        if (factor < least) worst = set;
        least = fmin(least, factor);
        most = fmax(most, ours);
        sets++;
    }
    hb_study_claim(
        claims, "planar/table", NULL,
        hb_study_text(
            "hb at most %.2g on %d sets; below the best of the paper's row by a factor of "
            "at least %.0f (%s); dsm, fp and hb are %.0f to %.0f times below their own numbers",
            most, sets, least, set_name(worst), near, far),
        near >= 1 / REPEATED && far <= REPEATED ? HB_HOLDS
        : near >= 1                             ? HB_HOLDS_CORRECTED
                                                : HB_FAILS,
        NULL);
}

/* Observation 1, at equal steps, as published: dsm and fp without averaged targets. */
static void claim_low(json_t *claims, const hb_planar_result *result)
{
    const comparison hb = compare(result, PLANAR_HB, PLANAR_DSM, LOW);
    const comparison fp = compare(result, PLANAR_FP, PLANAR_DSM, LOW);
    const comparison both = compare(result, PLANAR_HB, PLANAR_FP, LOW);
    const int improves = hb.below * 8 >= 6 * hb.sets && both.below * 8 >= 6 * both.sets;
    hb_study_claim(
        claims, "planar/low-density", NULL,
        hb_study_text("equal steps, ratio of the error to dsm's: hb ×%.2f (%.2f to %.2f), below on "
                      "%d of %d sets; fp ×%.2f (%.2f to %.2f), below on %d; hb to fp ×%.2f, below "
                      "on %d of %d",
                      hb.geometric, hb.least, hb.most, hb.below, hb.sets, fp.geometric, fp.least,
                      fp.most, fp.below, both.geometric, both.below, both.sets),
        !improves                       ? HB_FAILS
        : fp.below < fp.sets - fp.below ? HB_HOLDS
                                        : HB_HOLDS_CORRECTED,
        hb_study_text(
            "Geometric means over the sets. hb has averaged targets, dsm and fp have none: what "
            "the "
            "constraint alone gives is the next claim. That FP-Diffusion harms the tails is %s "
            "here: with its derivatives exact, its residual scaled and its weight chosen like "
            "hb's, it is below dsm on %d of %d sets.",
            fp.below < fp.sets - fp.below ? "seen" : "not seen", fp.below, fp.sets));
}

/* The same with the same targets: the constraint alone. */
static void claim_low_targets(json_t *claims, const hb_planar_result *result)
{
    const comparison targets = compare(result, PLANAR_DSM_TARGETS, PLANAR_DSM, LOW);
    const comparison dsm = compare(result, PLANAR_HB, PLANAR_DSM_TARGETS, LOW);
    const comparison fp = compare(result, PLANAR_HB, PLANAR_FP_TARGETS, LOW);
    const comparison own = compare(result, PLANAR_FP_TARGETS, PLANAR_DSM_TARGETS, LOW);
    const int over_dsm = dsm.below * 8 >= 6 * dsm.sets, over_fp = fp.below * 8 >= 6 * fp.sets;
    hb_study_claim(
        claims, "planar/low-density-targets", NULL,
        hb_study_text("equal steps: the targets alone, dsm-targets to dsm, ×%.2f; the constraint "
                      "alone, hb to dsm-targets, ×%.2f (%.2f to %.2f), below on %d of %d sets; fp "
                      "with the same targets to dsm-targets ×%.2f, below on %d; hb to fp with the "
                      "same targets ×%.2f (%.2f to %.2f), below on %d",
                      targets.geometric, dsm.geometric, dsm.least, dsm.most, dsm.below, dsm.sets,
                      own.geometric, own.below, fp.geometric, fp.least, fp.most, fp.below),
        over_dsm && over_fp ? HB_HOLDS
        : over_dsm          ? HB_HOLDS_CORRECTED
                            : HB_FAILS,
        hb_study_text("Holds when hb is below both on three quarters of the sets, with a "
                      "correction when it is below dsm alone. %s",
                      over_dsm && over_fp ? "It is below both."
                      : over_dsm          ? "FP-Diffusion with the same targets is as good."
                                          : "The constraint adds nothing to the targets."));
}

static void claim_time(json_t *claims, const hb_planar_result *result)
{
    const comparison dsm = compare(result, PLANAR_HB, PLANAR_DSM_TIME, LOW);
    const comparison fp = compare(result, PLANAR_HB, PLANAR_FP_TIME, LOW);
    const comparison dsm_all = compare(result, PLANAR_HB, PLANAR_DSM_TIME, AT);
    const comparison fp_all = compare(result, PLANAR_HB, PLANAR_FP_TIME, AT);
    const int over_dsm = dsm.below * 2 > dsm.sets, over_fp = fp.below * 2 > fp.sets;
    hb_study_claim(
        claims, "planar/equal-time", NULL,
        hb_study_text(
            "all with the same averaged targets: hb to dsm with %.2f times the steps: ×%.2f in the "
            "low-density region (below on %d of %d sets), ×%.2f everywhere (%d); hb to fp with "
            "%.2f times the steps: ×%.2f (%d) and ×%.2f (%d)",
            hb_planar_recipes[PLANAR_HB].cost / hb_planar_recipes[PLANAR_DSM_TIME].cost,
            dsm.geometric, dsm.below, dsm.sets, dsm_all.geometric, dsm_all.below,
            hb_planar_recipes[PLANAR_HB].cost / hb_planar_recipes[PLANAR_FP_TIME].cost,
            fp.geometric, fp.below, fp_all.geometric, fp_all.below),
        over_dsm && over_fp   ? HB_HOLDS
        : over_dsm || over_fp ? HB_HOLDS_CORRECTED
                              : HB_FAILS,
        hb_study_text(
            "hb %s dsm and %s fp in the low-density region on most sets when all have the "
            "same targets and the same time, by constant costs of a step that were measured at "
            "width 256. Over the seeds that all have.",
            over_dsm ? "stays below" : "does not stay below", over_fp ? "below" : "not below"));
}

/* Theorem dsm-limit: the constraint holds at the minimiser of DSM, so it must not distort. */
static void claim_limit(json_t *claims, const hb_planar_result *result)
{
    comparison worst = {.most = -INFINITY, .worst = -1};
    double tau = NAN, geometric[PLANAR_TAUS];
    for (int k = 0; k < PLANAR_TAUS; k++) {
        const comparison c =
            compare(result, PLANAR_HB, PLANAR_DSM_TARGETS, PLANAR_ERROR + PLANAR_REGIONS * k);
        geometric[k] = c.geometric;
        if (c.most <= worst.most) continue;
        worst = c;
        tau = hb_planar_taus[k];
    }
    hb_study_claim(
        claims, "planar/no-distortion", NULL,
        hb_study_text("hb to dsm-targets (hb without the constraint), everywhere: ×%.2f, ×%.2f, "
                      "×%.2f, ×%.2f at τ = 0.1, 0.3, 0.5, 0.8; at worst ×%.2f (%s, τ = %g)",
                      geometric[0], geometric[1], geometric[2], geometric[3], worst.most,
                      set_name(worst.worst), tau),
        worst.most <= DISTORTS ? HB_HOLDS
        : geometric[1] <= 1    ? HB_HOLDS_CORRECTED
                               : HB_FAILS,
        NULL);
}

static double mean_over(const hb_planar_result *result, int mixture, int method, int value)
{
    double sum = 0;
    int n = 0;
    for (int set = 0; set < PLANAR_SETS; set++)
        if (hb_planar_has(result, set) && hb_planar_sets[set].mixture == mixture) {
            sum += hb_planar_value(result, set, method, value);
            n++;
        }
    return sum / n;
}

/* Observation 2. */
static void claim_helmholtz(json_t *claims, const hb_planar_result *result)
{
    const double mixture = mean_over(result, 1, PLANAR_HB_HELMHOLTZ, PLANAR_ROTATION);
    const double curve = mean_over(result, 0, PLANAR_HB_HELMHOLTZ, PLANAR_ROTATION);
    const double plain_mixture = mean_over(result, 1, PLANAR_DSM_SCORE, PLANAR_ROTATION);
    const double plain_curve = mean_over(result, 0, PLANAR_DSM_SCORE, PLANAR_ROTATION);
    const double exact = fmax(mean_over(result, 1, PLANAR_HB, PLANAR_ROTATION_EXACT),
                              mean_over(result, 0, PLANAR_HB, PLANAR_ROTATION_EXACT));
    const double most = fmax(fmax(mixture, curve), fmax(plain_mixture, plain_curve));
    hb_study_claim(
        claims, "planar/helmholtz", NULL,
        hb_study_text(
            "rotational share of |s|² on [−3, 3]² at τ = 0.5: hb-helmholtz %.2g (mixtures) "
            "and %.2g (curves), dsm-score %.2g and %.2g, the exact score %.1g",
            mixture, curve, plain_mixture, plain_curve, exact),
        curve > 2 * mixture && most > 0.05 ? HB_HOLDS
        : most > 2 * exact                 ? HB_HOLDS_CORRECTED
                                           : HB_FAILS,
        hb_study_text(
            "The rotation that is there is an error of the estimate, as the paper says: at most "
            "%.2g of the field. A network that is a gradient (all energy heads here) has none.",
            most));
}

static void claim_ring(json_t *claims, const hb_planar_result *result)
{
    int ring = 0;
    while (strcmp(hb_planar_sets[ring].name, "ring") != 0) ring++;
    if (!hb_planar_has(result, ring)) return;
    const double exact = hb_planar_value(result, ring, PLANAR_HB, PLANAR_TANGENTIAL_EXACT);
    hb_study_claim(
        claims, "planar/ring", NULL,
        hb_study_text("tangential share of |s|² at τ = 0.3: exact %.1g; learned by dsm %.1g, fp "
                      "%.1g, both with averaged targets %.1g and %.1g, hb %.1g",
                      exact, hb_planar_value(result, ring, PLANAR_DSM, PLANAR_TANGENTIAL),
                      hb_planar_value(result, ring, PLANAR_FP, PLANAR_TANGENTIAL),
                      hb_planar_value(result, ring, PLANAR_DSM_TARGETS, PLANAR_TANGENTIAL),
                      hb_planar_value(result, ring, PLANAR_FP_TARGETS, PLANAR_TANGENTIAL),
                      hb_planar_value(result, ring, PLANAR_HB, PLANAR_TANGENTIAL)),
        exact > 0.5 ? HB_HOLDS : HB_FAILS, NULL);
}

static void claim_residual(json_t *claims, const hb_planar_result *result)
{
    const int value = PLANAR_RESIDUAL + PLANAR_TAU_TABLE;
    const comparison dsm = compare(result, PLANAR_HB, PLANAR_DSM, value);
    const comparison dsm_same = compare(result, PLANAR_HB, PLANAR_DSM_TARGETS, value);
    const comparison fp = compare(result, PLANAR_HB, PLANAR_FP, value);
    const comparison fp_same = compare(result, PLANAR_HB, PLANAR_FP_TARGETS, value);
    const comparison paper = compare(result, PLANAR_HB, PLANAR_HB_PAPER, value);
    int lowest = 0, rises = 0, runs = 0;
    for (size_t i = 0; i < result->n; i++) {
        const hb_planar_run *run = &result->runs[i];
        if (run->method > PLANAR_HB) continue;
        rises += run->curve[PLANAR_MOMENTS - 1].residual > run->curve[0].residual;
        runs++;
    }
    for (int set = 0; set < PLANAR_SETS; set++) {
        if (!hb_planar_has(result, set)) continue;
        int is_lowest = 1;
        for (int m = PLANAR_DSM; m <= PLANAR_HB_PAPER; m++)
            if (m != PLANAR_HB && ratio(result, set, PLANAR_HB, m, value) >= 1) is_lowest = 0;
        lowest += is_lowest;
    }
    hb_study_claim(
        claims, "planar/residual", NULL,
        hb_study_text(
            "rms of the scaled residual at τ = 0.3, final, ratio of hb to dsm ×%.3f (below "
            "on %d of %d sets), with the same targets ×%.3f (%d), to fp ×%.2f (%d), with the same "
            "targets ×%.2f (%d), to hb-paper ×%.3f (%d); the lowest of all six on %d sets; it "
            "rises from the first to the last moment in %d of %d runs of dsm, fp and hb",
            dsm.geometric, dsm.below, dsm.sets, dsm_same.geometric, dsm_same.below, fp.geometric,
            fp.below, fp_same.geometric, fp_same.below, paper.geometric, paper.below, lowest, rises,
            runs),
        lowest < dsm.sets && dsm.below < dsm.sets ? HB_FAILS
        : lowest == dsm.sets && rises == runs     ? HB_HOLDS
                                                  : HB_HOLDS_CORRECTED,
        NULL);
}

static void claim_samples(json_t *claims, const hb_planar_result *result)
{
    double most[PLANAR_METHODS] = {0}, poorest = INFINITY;
    int missing[PLANAR_METHODS] = {0}, worst = -1;
    for (size_t i = 0; i < result->n; i++)
        missing[result->runs[i].method] +=
            result->runs[i].value[PLANAR_MODES_FOUND] < result->runs[i].value[PLANAR_MODES];
    for (int set = 0; set < PLANAR_SETS; set++)
        for (int m = 0; m < PLANAR_METHODS && hb_planar_has(result, set); m++) {
            const double units = hb_planar_value(result, set, m, PLANAR_MMD) /
                                 hb_planar_value(result, set, m, PLANAR_MMD_FLOOR);
            if (m == PLANAR_HB && units > most[m]) worst = set;
            most[m] = fmax(most[m], units);
            if (m == PLANAR_HB)
                poorest = fmin(poorest, hb_planar_value(result, set, m, PLANAR_POOREST));
        }
    const int fine = most[PLANAR_HB] <= WITHIN_FLOOR && missing[PLANAR_HB] == 0;
    const int free_of_it = PLANAR_DSM_TARGETS; /* hb without the constraint */
    const int collapses = missing[free_of_it] > 0 || most[free_of_it] > WITHIN_FLOOR;
    hb_study_claim(
        claims, "planar/samples", NULL,
        hb_study_text(
            "largest MMD of a set, in units of real against real: hb %.2f (%s), dsm-targets (hb "
            "without the constraint) %.2f, dsm %.2f, fp %.2f, fp-targets %.2f; runs that miss a "
            "mode: %d, %d, %d, %d, %d; poorest mode of hb: %.2f of its share",
            most[PLANAR_HB], set_name(worst), most[free_of_it], most[PLANAR_DSM], most[PLANAR_FP],
            most[PLANAR_FP_TARGETS], missing[PLANAR_HB], missing[free_of_it], missing[PLANAR_DSM],
            missing[PLANAR_FP], missing[PLANAR_FP_TARGETS], poorest),
        !fine       ? HB_FAILS
        : collapses ? HB_HOLDS
                    : HB_HOLDS_CORRECTED,
        hb_study_text("%s", collapses
                                ? "The variant without the constraint is worse."
                                : "The samples are good, but those of the variant without the "
                                  "constraint are as good: nothing collapses."));
}

static void claim_paper_loss(json_t *claims, const hb_planar_result *result)
{
    double all[PLANAR_TAUS], low[PLANAR_TAUS];
    for (int k = 0; k < PLANAR_TAUS; k++) {
        const int value = PLANAR_ERROR + PLANAR_REGIONS * k;
        all[k] = compare(result, PLANAR_HB_PAPER, PLANAR_DSM, value).geometric;
        low[k] = compare(result, PLANAR_HB_PAPER, PLANAR_DSM, value + 1).geometric;
    }
    const comparison own = compare(result, PLANAR_HB_PAPER, PLANAR_HB, LOW);
    const comparison dsm = compare(result, PLANAR_HB_PAPER, PLANAR_DSM, LOW);
    hb_study_claim(/* "preserves": at most DISTORTS times dsm's */
                   claims, "planar/hb-paper", NULL,
                   hb_study_text(
                       "hb-paper to dsm, everywhere / low density: ×%.2f / ×%.2f, ×%.2f / ×%.2f, "
                       "×%.2f / ×%.2f, ×%.2f / ×%.2f at τ = 0.1, 0.3, 0.5, 0.8; at 0.3 in low "
                       "density "
                       "above dsm on %d of %d sets, above hb on %d (×%.1f)",
                       all[0], low[0], all[1], low[1], all[2], low[2], all[3], low[3],
                       dsm.sets - dsm.below, dsm.sets, own.sets - own.below, own.geometric),
                   dsm.most <= DISTORTS ? HB_HOLDS
                   : dsm.geometric <= 1 ? HB_HOLDS_CORRECTED
                                        : HB_FAILS,
                   NULL);
}

json_t *hb_planar_claims(const hb_planar_result *result)
{
    json_t *claims = json_array();
    claim_table(claims, result);
    claim_low(claims, result);
    claim_low_targets(claims, result);
    claim_time(claims, result);
    claim_limit(claims, result);
    claim_helmholtz(claims, result);
    claim_ring(claims, result);
    claim_residual(claims, result);
    claim_samples(claims, result);
    claim_paper_loss(claims, result);
    hb_planar_open_claims(claims, result);
    return claims;
}
