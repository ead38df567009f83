/* What section 3 of the paper says about heat balls and mean values, beside what the rows show:
 * volume, constants, J(r), the sources, the limit r -> 0. Verdicts as in identities_claims.c. */
#include "identities.h"

#include <math.h>

static void claim_volume(const hb_identities *list, json_t *claims)
{
    const int holds = hb_identities_agree(list, "drawn", "volume") &&
                      hb_identities_agree(list, "drawn", "volume, larger r") &&
                      hb_identities_agree(list, "integral", "volume");
    hb_study_claim(claims, "identities/volume", holds ? HB_HOLDS : HB_FAILS,
                   HB_FILL(hb_identities_value(list, "integral", "volume", 2, NAN),
                           hb_identities_errors(list, "drawn", "volume"),
                           hb_identities_errors(list, "drawn", "volume, larger r"),
                           hb_identities_off(list, "integral", "volume")));
}

static void claim_mass(const hb_identities *list, json_t *claims)
{
    hb_study_claim(claims, "identities/mass",
                   hb_identities_agree(list, "integral", "mass") ? HB_HOLDS : HB_FAILS,
                   HB_FILL(hb_identities_off(list, "integral", "mass")));
}

static void claim_monotone(const hb_identities *list, json_t *claims)
{
    const double without = fmin(hb_identities_off(list, "J", "OU, without source"),
                                hb_identities_off(list, "J", "bistable, without source"));
    const int holds = hb_identities_agree(list, "J", "OU") &&
                      hb_identities_agree(list, "J", "bistable") && without > 0.01;
    hb_study_claim(claims, "identities/monotone", holds ? HB_HOLDS : HB_FAILS,
                   HB_FILL(hb_identities_off(list, "J", "OU"),
                           hb_identities_off(list, "J", "bistable"),
                           fmax(hb_identities_errors(list, "J", "OU"),
                                hb_identities_errors(list, "J", "bistable")),
                           hb_identities_off(list, "J", "OU, without source"),
                           hb_identities_off(list, "J", "bistable, without source")));
}

/* The smallest, over the terms left out, of the largest residual that this leaves. */
static double least_power(const hb_identities *list)
{
    static const char *const items[] = {"u without u div F",   "u without F.grad u",
                                        "v without |grad v|²", "v without F.grad v",
                                        "v without div F",     "w without u|grad v|²"};
    double least = INFINITY;
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        const double off = hb_identities_off(list, "wrong source", items[i]);
        least = fmin(least, isfinite(off) ? off : 0); /* a missing number has no power */
    }
    return least;
}

static void claim_sources(const hb_identities *list, json_t *claims)
{
    const double worst = fmax(hb_identities_errors(list, "source u", NULL),
                              fmax(hb_identities_errors(list, "source v", NULL),
                                   hb_identities_errors(list, "source w", NULL)));
    const double power = least_power(list);
    const int holds =
        worst <= IDENTITIES_AGREE && power > 0.1 && hb_identities_agree(list, "own rule", NULL);
    hb_study_claim(claims, "identities/sources", holds ? HB_HOLDS : HB_FAILS,
                   HB_FILL(worst, hb_identities_off(list, "own rule", "u"),
                           hb_identities_off(list, "own rule", "v"),
                           hb_identities_off(list, "own rule", "w"), power));
}

static void claim_entropy(const hb_identities *list, json_t *claims)
{
    const hb_identity *rows[IDENTITIES_MOST];
    const size_t n = hb_identities_select(list, "entropy", "|w|", rows);
    int grows = n > 0;
    for (size_t i = 1; i < n; i++) grows &= rows[i]->value > rows[i - 1]->value;
    hb_study_claim(claims, "identities/entropy", grows ? HB_HOLDS : HB_FAILS,
                   HB_FILL(hb_identities_value(list, "entropy", "|w|", 2, 0),
                           hb_identities_value(list, "entropy", "|w|", 2, 2),
                           hb_identities_value(list, "entropy", "|w|", 2, 4),
                           hb_identities_value(list, "entropy", "|w|/u", 2, 0),
                           hb_identities_value(list, "entropy", "|w|/u", 2, 2),
                           hb_identities_value(list, "entropy", "|w|/u", 2, 4)));
}

static void claim_score(const hb_identities *list, json_t *claims)
{
    const int holds = hb_identities_agree(list, "score", "as written") &&
                      hb_identities_agree(list, "source s", NULL);
    hb_study_claim(claims, "identities/score", holds ? HB_HOLDS : HB_FAILS,
                   HB_FILL(hb_identities_off(list, "score", "as written"),
                           hb_identities_errors(list, "source s", NULL)));
}

static void claim_constants(const hb_identities *list, json_t *claims)
{
    const int holds = hb_identities_agree(list, "integral", "C2/(2 d C1)") &&
                      hb_identities_agree(list, "integral", "C1") &&
                      hb_identities_agree(list, "drawn", "C2 - 2 d C1") &&
                      hb_identities_agree(list, "drawn", "C3 - C1/2");
    hb_study_claim(claims, "identities/constants", holds ? HB_HOLDS : HB_FAILS,
                   HB_FILL(hb_identities_off(list, "integral", "C2/(2 d C1)"),
                           hb_identities_errors(list, "drawn", "C2 - 2 d C1"),
                           hb_identities_errors(list, "drawn", "C3 - C1/2"),
                           hb_identities_value(list, "integral", "C1", 2, NAN)));
}

static void claim_limit(const hb_identities *list, json_t *claims)
{
    const double slope[] = {hb_identities_slope(list, "limit", "u"),
                            hb_identities_slope(list, "limit", "v"),
                            hb_identities_slope(list, "limit", "w")};
    int holds = 1;
    for (int q = 0; q < 3; q++) holds &= slope[q] > 1.8 && slope[q] < 2.2;
    const hb_identity *row = hb_identities_find(list, "limit", "v", 2, 0.05);
    hb_study_claim(claims, "identities/limit", holds ? HB_HOLDS : HB_FAILS,
                   HB_FILL(row->value, row->exact, slope[0], slope[1], slope[2]));
}

static void claim_feasible(const hb_identities *list, json_t *claims)
{
    hb_study_claim(claims, "identities/feasible",
                   hb_identities_agree(list, "feasible", "v") ? HB_HOLDS : HB_FAILS,
                   HB_FILL(hb_identities_off(list, "feasible", "v"),
                           hb_identities_errors(list, "feasible", "v")));
}

void hb_identities_claims_ball(const hb_identities *list, json_t *claims)
{
    claim_volume(list, claims);
    claim_mass(list, claims);
    claim_monotone(list, claims);
    claim_sources(list, claims);
    claim_entropy(list, claims);
    claim_score(list, claims);
    claim_constants(list, claims);
    claim_limit(list, claims);
    claim_feasible(list, claims);
}
