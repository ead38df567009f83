/* What section 2 of the paper says, beside what the rows show. Each verdict is a condition on the
 * measured numbers; the sentences only report them. A number agrees with what it must be when they
 * differ by at most 5 errors of the measurement. */
#include "identities.h"

#include <math.h>

static void claim_time_change(const hb_identities *list, json_t *claims)
{
    const double wrong = hb_identities_most(list, "time_change", "residual with f");
    const int holds = hb_identities_agree(list, "time_change", "tau") &&
                      hb_identities_agree(list, "time_change", "log density") &&
                      hb_identities_agree(list, "time_change", "score") &&
                      hb_identities_agree(list, "time_change", "residual") && wrong > 0.1;
    hb_study_claim(claims, "identities/time-change", holds ? HB_HOLDS : HB_FAILS,
                   HB_FILL(hb_identities_off(list, "time_change", "log density"),
                           hb_identities_off(list, "time_change", "score"),
                           hb_identities_most(list, "time_change", "residual"), wrong));
}

static void claim_helmholtz(const hb_identities *list, json_t *claims)
{
    const double distance = hb_identities_value(list, "helmholtz", "distance of the parts", 2, 256);
    const double slope = hb_identities_slope(list, "helmholtz", "distance of the parts");
    const hb_identity *mass = hb_identities_find(list, "helmholtz", "rotation mass", 2, 256);
    const double exchanged = hb_identities_value(list, "helmholtz", "exchanged", 2, 256);
    const int holds = hb_identities_agree(list, "helmholtz", "separated") && slope < -0.8 &&
                      distance < 0.01 && exchanged > 0.1;
    hb_study_claim(claims, "identities/helmholtz", holds ? HB_HOLDS : HB_FAILS,
                   HB_FILL(distance, -slope, mass->value, mass->exact,
                           hb_identities_off(list, "helmholtz", "separated"), exchanged,
                           100 * hb_identities_value(list, "helmholtz", "transport part", 2, 256)));
}

static void claim_window(const hb_identities *list, json_t *claims)
{
    const int holds = hb_identities_agree(list, "window", "paper") &&
                      hb_identities_agree(list, "gradient", "norm");
    hb_study_claim(claims, "identities/window", holds ? HB_HOLDS : HB_FAILS,
                   HB_FILL(hb_identities_value(list, "window", "paper", 2, NAN),
                           hb_identities_value(list, "window", "paper", 100, NAN),
                           hb_identities_value(list, "window", "paper", 1000, NAN),
                           hb_identities_errors(list, "gradient", "norm")));
}

static void claim_dimension(const hb_identities *list, json_t *claims)
{
    const double paper = 1000 * hb_identities_value(list, "window", "paper", 1000, NAN);
    const double sharp = hb_identities_value(list, "window", "sharp", 1000, NAN);
    const int constant = sharp == hb_identities_value(list, "window", "sharp", 1, NAN) &&
                         hb_identities_agree(list, "gradient", "one direction");
    const int shrinks = fabs(paper / (0.5 * 0.9 * 0.9) - 1) < 0.01;
    hb_study_claim(claims, "identities/dimension", shrinks && !constant ? HB_HOLDS : HB_FAILS,
                   HB_FILL(paper, 0.5 * 0.9 * 0.9, sharp,
                           hb_identities_errors(list, "gradient", "one direction")));
}

/* Largest excess of ±ln(u/m) over C tau, and the largest |ln(u/m)|/(C tau) at the first time. */
static double excess(const hb_identities *list, const char *item, double sign)
{
    const hb_identity *rows[IDENTITIES_MOST];
    const size_t n = hb_identities_select(list, "bounds", item, rows);
    double largest = n ? -INFINITY : NAN;
    for (size_t i = 0; i < n; i++) {
        const double over = sign * (rows[i]->value - rows[i]->exact) - 5 * rows[i]->error;
        largest = isnan(over) ? INFINITY : fmax(largest, over);
    }
    return largest;
}

static void claim_bounds(const hb_identities *list, json_t *claims)
{
    const hb_identity *rows[IDENTITIES_MOST];
    const size_t n = hb_identities_select(list, "bounds", "highest", rows);
    const double first = n ? rows[0]->value / rows[0]->exact : NAN;
    const int inside = excess(list, "highest", 1) <= 0 && excess(list, "lowest", -1) <= 0 &&
                       hb_identities_agree(list, "bounds", "limit");
    hb_study_claim(claims, "identities/bounds", inside ? HB_HOLDS_CORRECTED : HB_FAILS,
                   HB_FILL(n ? rows[n - 1]->at : NAN, first, n ? rows[0]->at : NAN,
                           n ? rows[n - 1]->value / rows[n - 1]->exact : NAN, n));
}

void hb_identities_claims_setup(const hb_identities *list, json_t *claims)
{
    claim_time_change(list, claims);
    claim_helmholtz(list, claims);
    claim_window(list, claims);
    claim_dimension(list, claims);
    claim_bounds(list, claims);
}
