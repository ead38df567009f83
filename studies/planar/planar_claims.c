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

static double ratio(const hb_comparison *result, int set, int method, int other, int value)
{
    return hb_compare_common(result, set, method, other, value) /
           hb_compare_common(result, set, other, method, value);
}

typedef struct comparison { /* of a method with another, over the sets */
    int sets, below;
    double geometric, least, most; /* mean, least and largest ratio */
    int worst;                     /* the set of the largest */
} comparison;

static comparison compare(const hb_comparison *result, int method, int other, int value)
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

static void claim_table(json_t *claims, const hb_comparison *result)
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
    hb_study_claim(claims, "planar/table",
                   hb_study_verdict(near >= 1 / REPEATED && far <= REPEATED, near >= 1),
                   HB_WORDS((set_name(worst)), most, sets, least, near, far));
}

/* Observation 1, at equal steps, as published: dsm and fp without averaged targets. */
static void claim_low(json_t *claims, const hb_comparison *result)
{
    const comparison hb = compare(result, PLANAR_HB, PLANAR_DSM, LOW);
    const comparison fp = compare(result, PLANAR_FP, PLANAR_DSM, LOW);
    const comparison both = compare(result, PLANAR_HB, PLANAR_FP, LOW);
    const int improves = hb.below * 8 >= 6 * hb.sets && both.below * 8 >= 6 * both.sets;
    hb_study_claim(claims, "planar/low-density",
                   hb_study_verdict(improves && fp.below < fp.sets - fp.below, improves),
                   HB_FILL(hb.geometric, hb.least, hb.most, hb.below, hb.sets, fp.geometric,
                           fp.least, fp.most, fp.below, both.geometric, both.below, both.sets,
                           fp.below < fp.sets - fp.below, fp.below, fp.sets));
}

/* The same with the same targets: the constraint alone. */
static void claim_low_targets(json_t *claims, const hb_comparison *result)
{
    const comparison targets = compare(result, PLANAR_DSM_TARGETS, PLANAR_DSM, LOW);
    const comparison dsm = compare(result, PLANAR_HB, PLANAR_DSM_TARGETS, LOW);
    const comparison fp = compare(result, PLANAR_HB, PLANAR_FP_TARGETS, LOW);
    const comparison own = compare(result, PLANAR_FP_TARGETS, PLANAR_DSM_TARGETS, LOW);
    const int over_dsm = dsm.below * 8 >= 6 * dsm.sets, over_fp = fp.below * 8 >= 6 * fp.sets;
    hb_study_claim(claims, "planar/low-density-targets",
                   hb_study_verdict(over_dsm && over_fp, over_dsm),
                   HB_FILL(targets.geometric, dsm.geometric, dsm.least, dsm.most, dsm.below,
                           dsm.sets, own.geometric, own.below, fp.geometric, fp.least, fp.most,
                           fp.below, over_dsm ? 1 + over_fp : 0));
}

static void claim_time(json_t *claims, const hb_comparison *result)
{
    const comparison dsm = compare(result, PLANAR_HB, PLANAR_DSM_TIME, LOW);
    const comparison fp = compare(result, PLANAR_HB, PLANAR_FP_TIME, LOW);
    const comparison dsm_all = compare(result, PLANAR_HB, PLANAR_DSM_TIME, AT);
    const comparison fp_all = compare(result, PLANAR_HB, PLANAR_FP_TIME, AT);
    const int over_dsm = dsm.below * 2 > dsm.sets, over_fp = fp.below * 2 > fp.sets;
    hb_study_claim(
        claims, "planar/equal-time", hb_study_verdict(over_dsm && over_fp, over_dsm || over_fp),
        HB_FILL(hb_planar_recipes[PLANAR_HB].cost / hb_planar_recipes[PLANAR_DSM_TIME].cost,
                dsm.geometric, dsm.below, dsm.sets, dsm_all.geometric, dsm_all.below,
                hb_planar_recipes[PLANAR_HB].cost / hb_planar_recipes[PLANAR_FP_TIME].cost,
                fp.geometric, fp.below, fp_all.geometric, fp_all.below, over_dsm, over_fp));
}

/* Theorem dsm-limit: the constraint holds at the minimiser of DSM, so it must not distort. */
static void claim_limit(json_t *claims, const hb_comparison *result)
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
    hb_study_claim(claims, "planar/no-distortion",
                   hb_study_verdict(worst.most <= DISTORTS, geometric[1] <= 1),
                   HB_WORDS((set_name(worst.worst)), geometric[0], geometric[1], geometric[2],
                            geometric[3], worst.most, tau));
}

static double mean_over(const hb_comparison *result, int mixture, int method, int value)
{
    double sum = 0;
    int n = 0;
    for (int set = 0; set < PLANAR_SETS; set++)
        if (hb_planar_has(result, set) && hb_planar_sets[set].mixture == mixture) {
            sum += hb_compare_value(result, set, method, value);
            n++;
        }
    return sum / n;
}

/* Observation 2. */
static void claim_helmholtz(json_t *claims, const hb_comparison *result)
{
    const double mixture = mean_over(result, 1, PLANAR_HB_HELMHOLTZ, PLANAR_ROTATION);
    const double curve = mean_over(result, 0, PLANAR_HB_HELMHOLTZ, PLANAR_ROTATION);
    const double plain_mixture = mean_over(result, 1, PLANAR_DSM_SCORE, PLANAR_ROTATION);
    const double plain_curve = mean_over(result, 0, PLANAR_DSM_SCORE, PLANAR_ROTATION);
    const double exact = fmax(mean_over(result, 1, PLANAR_HB, PLANAR_ROTATION_EXACT),
                              mean_over(result, 0, PLANAR_HB, PLANAR_ROTATION_EXACT));
    const double most = fmax(fmax(mixture, curve), fmax(plain_mixture, plain_curve));
    hb_study_claim(claims, "planar/helmholtz",
                   hb_study_verdict(curve > 2 * mixture && most > 0.05, most > 2 * exact),
                   HB_FILL(mixture, curve, plain_mixture, plain_curve, exact, most));
}

static void claim_ring(json_t *claims, const hb_comparison *result)
{
    int ring = 0;
    while (strcmp(hb_planar_sets[ring].name, "ring") != 0) ring++;
    if (!hb_planar_has(result, ring)) return;
    const double exact = hb_compare_value(result, ring, PLANAR_HB, PLANAR_TANGENTIAL_EXACT);
    hb_study_claim(claims, "planar/ring", exact > 0.5 ? HB_HOLDS : HB_FAILS,
                   HB_FILL(exact, hb_compare_value(result, ring, PLANAR_DSM, PLANAR_TANGENTIAL),
                           hb_compare_value(result, ring, PLANAR_FP, PLANAR_TANGENTIAL),
                           hb_compare_value(result, ring, PLANAR_DSM_TARGETS, PLANAR_TANGENTIAL),
                           hb_compare_value(result, ring, PLANAR_FP_TARGETS, PLANAR_TANGENTIAL),
                           hb_compare_value(result, ring, PLANAR_HB, PLANAR_TANGENTIAL)));
}

static void claim_residual(json_t *claims, const hb_comparison *result)
{
    const int value = PLANAR_RESIDUAL + PLANAR_TAU_TABLE;
    const comparison dsm = compare(result, PLANAR_HB, PLANAR_DSM, value);
    const comparison dsm_same = compare(result, PLANAR_HB, PLANAR_DSM_TARGETS, value);
    const comparison fp = compare(result, PLANAR_HB, PLANAR_FP, value);
    const comparison fp_same = compare(result, PLANAR_HB, PLANAR_FP_TARGETS, value);
    const comparison paper = compare(result, PLANAR_HB, PLANAR_HB_PAPER, value);
    int lowest = 0, rises = 0, runs = 0;
    for (size_t i = 0; i < result->n; i++) {
        const hb_trial *run = &result->trials[i];
        if (run->method > PLANAR_HB) continue;
        rises +=
            hb_planar_curve(run)[PLANAR_MOMENTS - 1].residual > hb_planar_curve(run)[0].residual;
        runs++;
    }
    for (int set = 0; set < PLANAR_SETS; set++) {
        if (!hb_planar_has(result, set)) continue;
        int is_lowest = 1;
        for (int m = PLANAR_DSM; m <= PLANAR_HB_PAPER; m++)
            if (m != PLANAR_HB && ratio(result, set, PLANAR_HB, m, value) >= 1) is_lowest = 0;
        lowest += is_lowest;
    }
    hb_study_claim(claims, "planar/residual",
                   lowest < dsm.sets && dsm.below < dsm.sets ? HB_FAILS
                   : lowest == dsm.sets && rises == runs     ? HB_HOLDS
                                                             : HB_HOLDS_CORRECTED,
                   HB_FILL(dsm.geometric, dsm.below, dsm.sets, dsm_same.geometric, dsm_same.below,
                           fp.geometric, fp.below, fp_same.geometric, fp_same.below,
                           paper.geometric, paper.below, lowest, rises, runs));
}

static void claim_samples(json_t *claims, const hb_comparison *result)
{
    double most[PLANAR_METHODS] = {0}, poorest = INFINITY;
    int missing[PLANAR_METHODS] = {0}, worst = -1;
    for (size_t i = 0; i < result->n; i++)
        missing[result->trials[i].method] +=
            result->trials[i].value[PLANAR_MODES_FOUND] < result->trials[i].value[PLANAR_MODES];
    for (int set = 0; set < PLANAR_SETS; set++)
        for (int m = 0; m < PLANAR_METHODS && hb_planar_has(result, set); m++) {
            const double units = hb_planar_units(result, set, m);
            if (m == PLANAR_HB && units > most[m]) worst = set;
            most[m] = fmax(most[m], units);
            if (m == PLANAR_HB)
                poorest = fmin(poorest, hb_compare_value(result, set, m, PLANAR_POOREST));
        }
    const int fine = most[PLANAR_HB] <= WITHIN_FLOOR && missing[PLANAR_HB] == 0;
    const int free_of_it = PLANAR_DSM_TARGETS; /* hb without the constraint */
    const int collapses = missing[free_of_it] > 0 || most[free_of_it] > WITHIN_FLOOR;
    hb_study_claim(claims, "planar/samples", hb_study_verdict(fine && collapses, fine),
                   HB_WORDS((set_name(worst)), most[PLANAR_HB], most[free_of_it], most[PLANAR_DSM],
                            most[PLANAR_FP], most[PLANAR_FP_TARGETS], missing[PLANAR_HB],
                            missing[free_of_it], missing[PLANAR_DSM], missing[PLANAR_FP],
                            missing[PLANAR_FP_TARGETS], poorest, collapses));
}

static void claim_paper_loss(json_t *claims, const hb_comparison *result)
{
    double all[PLANAR_TAUS], low[PLANAR_TAUS];
    for (int k = 0; k < PLANAR_TAUS; k++) {
        const int value = PLANAR_ERROR + PLANAR_REGIONS * k;
        all[k] = compare(result, PLANAR_HB_PAPER, PLANAR_DSM, value).geometric;
        low[k] = compare(result, PLANAR_HB_PAPER, PLANAR_DSM, value + 1).geometric;
    }
    const comparison own = compare(result, PLANAR_HB_PAPER, PLANAR_HB, LOW);
    const comparison dsm = compare(result, PLANAR_HB_PAPER, PLANAR_DSM, LOW);
    hb_study_claim(claims, "planar/hb-paper",
                   hb_study_verdict(dsm.most <= DISTORTS, dsm.geometric <= 1),
                   HB_FILL(all[0], low[0], all[1], low[1], all[2], low[2], all[3], low[3],
                           dsm.sets - dsm.below, dsm.sets, own.sets - own.below, own.geometric));
}

json_t *hb_planar_claims(const hb_comparison *result)
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
