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
    hb_study_claim(
        claims, "identities/time-change", NULL,
        hb_study_text("dx = −1.3 x dt + e^{0.3t} dW at t = 1: solved in τ, ln u is off by %.1e and "
                      "the score by %.1e from the closed form; residual of the closed form %.1e, "
                      "with f in the place of F %.2f",
                      hb_identities_off(list, "time_change", "log density"),
                      hb_identities_off(list, "time_change", "score"),
                      hb_identities_most(list, "time_change", "residual"), wrong),
        holds ? HB_HOLDS : HB_FAILS, NULL);
}

static void claim_helmholtz(const hb_identities *list, json_t *claims)
{
    const double distance = hb_identities_value(list, "helmholtz", "distance of the parts", 2, 256);
    const double slope = hb_identities_slope(list, "helmholtz", "distance of the parts");
    const hb_identity *mass = hb_identities_find(list, "helmholtz", "rotation mass", 2, 256);
    const double exchanged = hb_identities_value(list, "helmholtz", "exchanged", 2, 256);
    const int holds = hb_identities_agree(list, "helmholtz", "separated") && slope < -0.8 &&
                      distance < 0.01 && exchanged > 0.1;
    hb_study_claim(
        claims, "identities/helmholtz", NULL,
        hb_study_text("a planar drift with known parts on 256 × 256 points: rotation found within "
                      "%.1e of its maximum (order h^%.2f), rotation mass %.5f, known %.5f; the two "
                      "sources add up to %.0e of the largest, and miss by %.2f with the parts "
                      "exchanged",
                      distance, -slope, mass->value, mass->exact,
                      hb_identities_off(list, "helmholtz", "separated"), exchanged),
        holds ? HB_HOLDS : HB_FAILS,
        hb_study_text("The parts are found with an error that falls with the spacing, and only the "
                      "divergence-free one may lose its divergence term: its transport is %.0f %% "
                      "of the source here.",
                      100 * hb_identities_value(list, "helmholtz", "transport part", 2, 256)));
}

static void claim_window(const hb_identities *list, json_t *claims)
{
    const int holds = hb_identities_agree(list, "window", "paper") &&
                      hb_identities_agree(list, "gradient", "norm");
    hb_study_claim(
        claims, "identities/window", NULL,
        hb_study_text("K = 1, θ = 0.9: T₀ = %.4f, %.5f, %.6f for d = 2, 100, 1000; √t ∫|∇Φ| drawn "
                      "is C_d within %.1f standard errors, d = 1 to 100",
                      hb_identities_value(list, "window", "paper", 2, NAN),
                      hb_identities_value(list, "window", "paper", 100, NAN),
                      hb_identities_value(list, "window", "paper", 1000, NAN),
                      hb_identities_errors(list, "gradient", "norm")),
        holds ? HB_HOLDS : HB_FAILS, NULL);
}

static void claim_dimension(const hb_identities *list, json_t *claims)
{
    const double paper = 1000 * hb_identities_value(list, "window", "paper", 1000, NAN);
    const double sharp = hb_identities_value(list, "window", "sharp", 1000, NAN);
    const int constant = sharp == hb_identities_value(list, "window", "sharp", 1, NAN) &&
                         hb_identities_agree(list, "gradient", "one direction");
    const int shrinks = fabs(paper / (0.5 * 0.9 * 0.9) - 1) < 0.01;
    hb_study_claim(
        claims, "identities/dimension", NULL,
        hb_study_text("with C_d: d T₀ = %.4f at d = 1000, limit θ²/2K² = %.3f; with the sharp "
                      "constant 1/√π: T₀ = %.4f in every dimension",
                      paper, 0.5 * 0.9 * 0.9, sharp),
        shrinks && !constant ? HB_HOLDS : HB_FAILS,
        hb_study_text("The shrinking is a property of the constant, not of the equation: in one "
                      "direction the gradient of the kernel has the mass 1/√(πt) whatever d is "
                      "(drawn: within %.1f standard errors).",
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
    hb_study_claim(
        claims, "identities/bounds", NULL,
        hb_study_text("F = −1.2 sin x from a constant, τ up to %g: max ln(u/m₀) is %.3f of Cτ at τ "
                      "= %.2g and %.3f of it at the end; both bounds hold at all %zu times",
                      n ? rows[n - 1]->at : NAN, first, n ? rows[0]->at : NAN,
                      n ? rows[n - 1]->value / rows[n - 1]->exact : NAN, n),
        inside ? HB_HOLDS_CORRECTED : HB_FAILS, NULL);
}

void hb_identities_claims_setup(const hb_identities *list, json_t *claims)
{
    claim_time_change(list, claims);
    claim_helmholtz(list, claims);
    claim_window(list, claims);
    claim_dimension(list, claims);
    claim_bounds(list, claims);
}
