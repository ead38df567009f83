/* What section 3 of the paper says about heat balls and mean values, beside what the rows show:
 * volume, constants, J(r), the sources, the limit r -> 0. Verdicts as in identities_claims.c. */
#include "identities.h"

#include <math.h>

static void claim_volume(const hb_identities *list, json_t *claims)
{
    static const hb_claim claim = {.id = "volume",
                                   .statement = "The heat ball has the volume |E_r| = c_d r^{d+2}.",
                                   .table = "identities_constants",
                                   .place = "3.1 Proposition (volume of the heat ball)"};
    const int holds = hb_identities_agree(list, "drawn", "volume") &&
                      hb_identities_agree(list, "drawn", "volume, larger r") &&
                      hb_identities_agree(list, "integral", "volume");
    hb_study_claim(
        claims, &claim, json_string("c_d > 0; no formula given"),
        hb_study_text(
            "c_d = (1 + 2/d)^{−d/2}/(4π(d/2 + 1)), %.6f at d = 2: drawn within %.1f "
            "standard errors at r = 1 and %.1f at r = (d+3)/(d+2), d = 1 to 64; by quadrature "
            "within %.0e",
            hb_identities_value(list, "integral", "volume", 2, NAN),
            hb_identities_errors(list, "drawn", "volume"),
            hb_identities_errors(list, "drawn", "volume, larger r"),
            hb_identities_off(list, "integral", "volume")),
        holds ? HB_HOLDS : HB_FAILS,
        json_string("Uniform points of a cylinder around both balls count their volumes."));
}

static void claim_mass(const hb_identities *list, json_t *claims)
{
    static const hb_claim claim = {.id = "mass",
                                   .statement = "∬_{E₁} |y|²/s² = 4 in every dimension.",
                                   .table = "identities_constants",
                                   .place = "3.2 Lemma (boundary value)"};
    hb_study_claim(claims, &claim, json_string("4"),
                   hb_study_text("4 within %.0e, d = 1 to 64, by quadrature",
                                 hb_identities_off(list, "integral", "mass")),
                   hb_identities_agree(list, "integral", "mass") ? HB_HOLDS : HB_FAILS,
                   json_string("The integral over the ball is one over time alone, which the "
                               "trapezoid rule gives to rounding."));
}

static void claim_monotone(const hb_identities *list, json_t *claims)
{
    static const hb_claim claim = {
        .id = "monotone",
        .statement = "J'(r) = 0 and J(r) → 4u(x₀,τ₀) as r → 0: J(r) = 4u(x₀,τ₀) for every r.",
        .figure = "identities_mean_value",
        .place = "3.2 Lemmas (monotonicity, boundary value)"};
    const double without = fmin(hb_identities_off(list, "J", "OU, without source"),
                                hb_identities_off(list, "J", "bistable, without source"));
    const int holds = hb_identities_agree(list, "J", "OU") &&
                      hb_identities_agree(list, "J", "bistable") && without > 0.01;
    hb_study_claim(
        claims, &claim, json_string("J(r) = 4u(x₀,τ₀)"),
        hb_study_text(
            "J/4u − 1 is at most %.1e for a mixture under Ornstein–Uhlenbeck and %.1e for "
            "the bistable process, within %.1f of their errors; without the source term "
            "up to %.2f and %.2f",
            hb_identities_off(list, "J", "OU"), hb_identities_off(list, "J", "bistable"),
            fmax(hb_identities_errors(list, "J", "OU"),
                 hb_identities_errors(list, "J", "bistable")),
            hb_identities_off(list, "J", "OU, without source"),
            hb_identities_off(list, "J", "bistable, without source")),
        holds ? HB_HOLDS : HB_FAILS,
        json_string("Ten radii up to 95 % of the largest that fits, closed-form and grid "
                    "solutions."));
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
    static const hb_claim claim = {
        .id = "sources",
        .statement = "u, ln u, u ln u equal their averages over the heat ball plus that of their "
                     "sources h_u, h_v, h_w, for every point and radius.",
        .figure = "identities_mean_value",
        .table = "identities_sources",
        .place = "3.3 Theorem (mean-value hierarchy)"};
    const double worst = fmax(hb_identities_errors(list, "source u", NULL),
                              fmax(hb_identities_errors(list, "source v", NULL),
                                   hb_identities_errors(list, "source w", NULL)));
    const double power = least_power(list);
    const int holds =
        worst <= IDENTITIES_AGREE && power > 0.1 && hb_identities_agree(list, "own rule", NULL);
    hb_study_claim(
        claims, &claim, json_string("exact"),
        hb_study_text("scaled residuals of four solutions, 4 points, 3 radii: all within %.1f of "
                      "their errors; in the plane at most %.0e (u), %.0e (ln u), %.0e (u ln u), "
                      "beside %.1f or more with a term left out",
                      worst, hb_identities_off(list, "own rule", "u"),
                      hb_identities_off(list, "own rule", "v"),
                      hb_identities_off(list, "own rule", "w"), power),
        holds ? HB_HOLDS : HB_FAILS,
        json_string("The residual is the average of what a source lacks, so a missing term shows "
                    "at its full size."));
}

static void claim_entropy(const hb_identities *list, json_t *claims)
{
    static const hb_claim claim = {
        .id = "entropy",
        .statement = "w = u ln u is larger where u is smaller and so emphasises the tails.",
        .place = "3.3 Theorem (mean-value hierarchy), weighting"};
    const hb_identity *rows[IDENTITIES_MOST];
    const size_t n = hb_identities_select(list, "entropy", "|w|", rows);
    int grows = n > 0;
    for (size_t i = 1; i < n; i++) grows &= rows[i]->value > rows[i - 1]->value;
    hb_study_claim(
        claims, &claim, json_string("no number given"),
        hb_study_text("N(0, I) in the plane: |u ln u| = %.4f at 0, %.4f at |x| = 2, %.4f at |x| = "
                      "4; |ln u| = %.2f, %.2f, %.2f",
                      hb_identities_value(list, "entropy", "|w|", 2, 0),
                      hb_identities_value(list, "entropy", "|w|", 2, 2),
                      hb_identities_value(list, "entropy", "|w|", 2, 4),
                      hb_identities_value(list, "entropy", "|w|/u", 2, 0),
                      hb_identities_value(list, "entropy", "|w|/u", 2, 2),
                      hb_identities_value(list, "entropy", "|w|/u", 2, 4)),
        grows ? HB_HOLDS : HB_FAILS,
        json_string("|u ln u| is largest at u = 1/e and goes to 0 with u; what grows in the tails "
                    "is |ln u| alone."));
}

static void claim_score(const hb_identities *list, json_t *claims)
{
    static const hb_claim claim = {
        .id = "score",
        .statement = "The score has the same representation, with the source ∇h_v, or with the "
                     "derivative moved onto ψ.",
        .table = "identities_sources",
        .place = "3.3 Corollary (score representation)"};
    const int holds = hb_identities_agree(list, "score", "as written") &&
                      hb_identities_agree(list, "source s", NULL);
    hb_study_claim(
        claims, &claim, json_string("exact"),
        hb_study_text("as written, with ∇h_v: off by %.0e; with the derivative on ψ: scaled "
                      "residuals of all four solutions within %.1f of their errors",
                      hb_identities_off(list, "score", "as written"),
                      hb_identities_errors(list, "source s", NULL)),
        holds ? HB_HOLDS : HB_FAILS,
        json_string("Both forms agree with the exact score; the second needs no derivative of "
                    "h_v."));
}

static void claim_constants(const hb_identities *list, json_t *claims)
{
    static const hb_claim claim = {.id = "constants",
                                   .statement = "C₂ = 2d C₁ and C₃ = C₁/2.",
                                   .table = "identities_constants",
                                   .place = "3.4 Lemma (heat-ball expansion)"};
    const int holds = hb_identities_agree(list, "integral", "C2/(2 d C1)") &&
                      hb_identities_agree(list, "integral", "C1") &&
                      hb_identities_agree(list, "drawn", "C2 - 2 d C1") &&
                      hb_identities_agree(list, "drawn", "C3 - C1/2");
    hb_study_claim(
        claims, &claim, json_string("C₂ = 2d C₁, C₃ = C₁/2"),
        hb_study_text("C₂/(2d C₁) = 1 within %.0e by quadrature; C₂ − 2d C₁ and C₃ − C₁/2, drawn, "
                      "are 0 within %.1f and %.1f standard errors, d = 1 to 64; C₁ = %.7f at d = 2",
                      hb_identities_off(list, "integral", "C2/(2 d C1)"),
                      hb_identities_errors(list, "drawn", "C2 - 2 d C1"),
                      hb_identities_errors(list, "drawn", "C3 - C1/2"),
                      hb_identities_value(list, "integral", "C1", 2, NAN)),
        holds ? HB_HOLDS : HB_FAILS, json_string("With C₁ = (d/(d+2))^{d/2+2}/π in closed form."));
}

static void claim_limit(const hb_identities *list, json_t *claims)
{
    static const hb_claim claim = {
        .id = "limit",
        .statement = "(4/(C₁r²)) R_r tends to the pointwise Fokker–Planck residual as r → 0.",
        .figure = "identities_mean_value",
        .table = "identities_limit",
        .place = "3.4 Theorem (residual limit), part (i)"};
    const double slope[] = {hb_identities_slope(list, "limit", "u"),
                            hb_identities_slope(list, "limit", "v"),
                            hb_identities_slope(list, "limit", "w")};
    int holds = 1;
    for (int q = 0; q < 3; q++) holds &= slope[q] > 1.8 && slope[q] < 2.2;
    const hb_identity *row = hb_identities_find(list, "limit", "v", 2, 0.05);
    hb_study_claim(
        claims, &claim, json_string("o(1) as r → 0"),
        hb_study_text("a field with the diffusion 1.3 in place of 1: %.6f at r = 0.05, pointwise "
                      "%.6f; the difference falls like r^%.2f (u), r^%.2f (ln u), r^%.2f (u ln u)",
                      row->value, row->exact, slope[0], slope[1], slope[2]),
        holds ? HB_HOLDS : HB_FAILS,
        json_string("The limit is reached with order r², and needs no second derivative of the "
                    "field."));
}

static void claim_feasible(const hb_identities *list, json_t *claims)
{
    static const hb_claim claim = {.id = "feasible",
                                   .statement = "The true ln u has R_r[ln u] = 0 at every scale r.",
                                   .table = "identities_sources",
                                   .place = "3.4 Theorem (residual limit), part (ii)"};
    hb_study_claim(
        claims, &claim, json_string("0"),
        hb_study_text("scaled residual at most %.0e, within %.1f of its error, for r = 0.05 to 3.2",
                      hb_identities_off(list, "feasible", "v"),
                      hb_identities_errors(list, "feasible", "v")),
        hb_identities_agree(list, "feasible", "v") ? HB_HOLDS : HB_FAILS,
        json_string("Here R_r has its source; without it see the literal loss."));
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
