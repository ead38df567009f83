/* What sections 4.1, 4.5 and 5.1 of the paper say, beside what the rows show: here are most of the
 * corrections. Verdicts as in identities_claims.c. Where a statement fails as it stands and holds
 * when it is corrected, both are measured. */
#include "identities.h"

#include <math.h>

static void claim_orientation(const hb_identities *list, json_t *claims)
{
    const int backward = hb_identities_agree(list, "orientation", "polynomial, backward") &&
                         hb_identities_agree(list, "orientation", "exponential, backward");
    const hb_identity *plane =
        hb_identities_find(list, "orientation", "polynomial, forward", 2, NAN);
    const int forward = fabs(plane->value) <= IDENTITIES_AGREE * plane->error;
    hb_study_claim(
        claims, "identities/orientation",
        forward    ? HB_HOLDS
        : backward ? HB_HOLDS_CORRECTED
                   : HB_FAILS,
        HB_FILL(hb_identities_errors(list, "orientation", "polynomial, backward"), plane->value,
                plane->error,
                hb_identities_value(list, "orientation", "polynomial, forward", 16, NAN),
                plane->exact,
                hb_identities_find(list, "orientation", "polynomial, forward", 16, NAN)->exact));
}

static void claim_truncation(const hb_identities *list, json_t *claims)
{
    const hb_identity *cut = hb_identities_find(list, "truncation", "truncated", 2, 0.04);
    const int exact = fabs(cut->value - 1) <= IDENTITIES_AGREE * cut->error;
    const int right = hb_identities_agree(list, "truncation", "smaller ball") &&
                      hb_identities_agree(list, "truncation", "truncated");
    hb_study_claim(claims, "identities/truncation",
                   exact   ? HB_HOLDS
                   : right ? HB_HOLDS_CORRECTED
                           : HB_FAILS,
                   HB_FILL(hb_identities_find(list, "truncation", "truncated", 2, 0.0796)->exact,
                           hb_identities_find(list, "truncation", "truncated", 2, 0.05)->exact,
                           cut->exact, hb_identities_errors(list, "truncation", "truncated"),
                           hb_identities_value(list, "truncation", "radius", 2, 0.0796),
                           hb_identities_value(list, "truncation", "radius", 2, 0.05),
                           hb_identities_value(list, "truncation", "radius", 2, 0.04)));
}

static void claim_literal(const hb_identities *list, json_t *claims)
{
    const hb_identity *plane = hb_identities_find(list, "literal", "without source", 2, NAN);
    const hb_identity *many = hb_identities_find(list, "literal", "without source", 16, NAN);
    const int zero = fabs(plane->value) <= IDENTITIES_AGREE * plane->error &&
                     fabs(many->value) <= IDENTITIES_AGREE * many->error;
    hb_study_claim(claims, "identities/literal", zero ? HB_HOLDS : HB_FAILS,
                   HB_FILL(plane->value, plane->error, many->value, many->error, plane->exact,
                           many->exact, hb_identities_errors(list, "literal", "with source")));
}

static void claim_bias(const hb_identities *list, json_t *claims)
{
    const hb_identity *few = hb_identities_find(list, "bias", "square", 16, 4);
    const hb_identity *many = hb_identities_find(list, "bias", "square", 16, 256);
    const int zero = fabs(few->value) <= IDENTITIES_AGREE * few->error;
    const int fixed =
        hb_identities_agree(list, "bias", "product") && hb_identities_agree(list, "bias", "square");
    hb_study_claim(claims, "identities/bias",
                   zero    ? HB_HOLDS
                   : fixed ? HB_HOLDS_CORRECTED
                           : HB_FAILS,
                   HB_FILL(few->value, many->value, hb_identities_errors(list, "bias", "square"),
                           hb_identities_errors(list, "bias", "product")));
}

static void claim_scaling(const hb_identities *list, json_t *claims)
{
    const double raw = hb_identities_value(list, "unscaled", "v", 2, 1.6) /
                       hb_identities_value(list, "unscaled", "v", 2, 0.1);
    const double scaled = hb_identities_value(list, "limit", "v", 2, 1.6) /
                          hb_identities_value(list, "limit", "v", 2, 0.1);
    const int same = fabs(raw - 1) < 0.1, fixed = fabs(scaled - 1) < 0.1;
    hb_study_claim(claims, "identities/scaling",
                   same    ? HB_HOLDS
                   : fixed ? HB_HOLDS_CORRECTED
                           : HB_FAILS,
                   HB_FILL(raw, scaled));
}

static void claim_ring(const hb_identities *list, json_t *claims)
{
    const double tangential = hb_identities_most(list, "ring", "tangential");
    hb_study_claim(claims, "identities/ring", tangential > 0.99 ? HB_HOLDS : HB_FAILS,
                   HB_FILL(tangential));
}

void hb_identities_claims_loss(const hb_identities *list, json_t *claims)
{
    claim_orientation(list, claims);
    claim_literal(list, claims);
    claim_bias(list, claims);
    claim_scaling(list, claims);
    claim_truncation(list, claims);
    claim_ring(list, claims);
}
