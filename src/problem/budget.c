/* The drift budget: up to what time T0 a drift is small enough, and what bounds hold until then.
 *
 * For du/dtau = Lap u - div(F u), with A = sup|F| and C = sup|div F| on [0,T] and K = A + C, the
 * map whose fixed point is the solution contracts by Lambda(T) = K sqrt(T) (sqrt(T) + 2c), where c
 * bounds the gradient of the heat flow, |grad e^{t Lap} g| <= c t^(-1/2) sup|g|: C_d in the paper,
 * 1/sqrt(pi) when sharp. Lambda(T0) = theta has for constant K the solution sqrt(T0) = sqrt(c^2 +
 * theta/K) - c = (theta/K) / (sqrt(c^2 + theta/K) + c), the second form without cancellation. When
 * A and C depend on T, Lambda is still nondecreasing, and T0 = sup{T: Lambda(T) <= theta} is found
 * by bisection. Bounds: the paper's Theorem on local well-posedness; docs/explanation/well-posedness.md derives
 * them.
 * A number to reproduce: d = 1, K = 1, theta = 0.9 give T0 = 0.291147843807569 by both
 * constants. */
#define SETTINGS hb_budget_settings
#include <heatball/ball.h>
#include <heatball/budget.h>

#include "base/context.h"
#include "base/setting_rows.h"

#include <math.h>

/* A and C on [0,T]. */
typedef struct suprema {
    double T, A, C;
} suprema;

#define FINITE "finite and at least 0"
static const hb_setting settings_table[] = {
    NUMBER(dim, RESULT, 1, 0, 0, "dimension"),
    TOLD(drift_sup, RESULT | BELOW, 0, 0, INFINITY, FINITE, "sup |F|"),
    TOLD(div_sup, RESULT | BELOW, 0, 0, INFINITY, FINITE, "sup |div F|"),
    TOLD(theta, RESULT | ABOVE | BELOW, 0.9, 0, 1, "strictly between 0 and 1", "Lambda(T0)"),
    POINTER(sup, "both as functions of T"),
    POINTER(sup_user, "handed to sup"),
    TOLD(u0_min, RESULT | ABOVE | BELOW, NAN, 0, INFINITY, "positive and finite", "min u0"),
    TOLD(u0_max, RESULT | ABOVE | BELOW, NAN, 0, INFINITY, "positive and finite", "sup u0"),
    TOLD(u0_grad, RESULT | BELOW, NAN, 0, INFINITY, FINITE, "sup |grad u0|"),
    TOLD(tau, RESULT | BELOW, NAN, 0, INFINITY, FINITE, "tau at which to evaluate"),
    {0}};
SETTING_FUNCTIONS(budget, settings_table)

static hb_status budget_check(hb_context *context, hb_budget_settings *s)
{
    const int given = !isnan(s->u0_min) + !isnan(s->u0_max) + !isnan(s->u0_grad);
    if (s->sup) s->drift_sup = s->div_sup = 0; /* not used */
    HB_TRY(hb_setting_rows_check(context, settings_table, s));
    HB_CHECK(context, given == 0 || given == 3, HB_ERROR_ARGUMENT,
             "%d of u0_min, u0_max and u0_grad are given; give all three or none", given);
    HB_CHECK(context, given == 0 || s->u0_max >= s->u0_min, HB_ERROR_ARGUMENT,
             "u0_max is %g; it must be finite and at least u0_min = %g", s->u0_max, s->u0_min);
    return HB_OK;
}

/* ---- Lambda and its root -------------------------------------------------------------------- */

static hb_status suprema_at(hb_context *context, const hb_budget_settings *s, double T,
                            suprema *out)
{
    *out = (suprema){.T = T, .A = s->drift_sup, .C = s->div_sup};
    if (!s->sup) return HB_OK;
    out->A = out->C = NAN; // a callback that fills nothing is caught below
    const int failure = s->sup(s->sup_user, T, &out->A, &out->C);
    HB_CHECK(context, failure == 0, HB_ERROR_CALLBACK,
             "the callback for the suprema of the drift returned %d at T = %g; 0 means success",
             failure, T);
    HB_CHECK(context, out->A >= 0 && out->C >= 0, HB_ERROR_ARGUMENT,
             "the callback gave drift_sup = %g and div_sup = %g at T = %g; both must be at least 0",
             out->A, out->C, T);
    return HB_OK;
}

static hb_status check_order(hb_context *context, const suprema *low, const suprema *high)
{
    HB_CHECK(context, low->A <= high->A && low->C <= high->C, HB_ERROR_ARGUMENT,
             "the callback gave drift_sup, div_sup = %g, %g at T = %g but %g, %g at T = %g; "
             "neither may decrease",
             low->A, low->C, low->T, high->A, high->C, high->T);
    return HB_OK;
}

static double lambda(const suprema *sup, double c)
{
    const double K = sup->A + sup->C;
    return K == 0 ? 0 : K * sqrt(sup->T) * (sqrt(sup->T) + 2 * c);
}

static double window_of_constant(double theta, double K, double c)
{
    const double x = theta / K;
    if (isinf(x)) return INFINITY;
    const double root = x / (sqrt(c * c + x) + c);
    return root * root;
}

/* T = high->T = 2 low->T with Lambda(low) <= theta < Lambda(high), by doubling or halving from 1;
 * low->T is infinite when Lambda never passes theta. */
static hb_status budget_bracket(hb_context *context, const hb_budget_settings *s, double c,
                                suprema *low, suprema *high)
{
    HB_TRY(suprema_at(context, s, 1, low));
    *high = *low;
    while (lambda(low, c) > s->theta) {
        *high = *low;
        HB_CHECK(
            context, low->T > 1e-300, HB_ERROR_NUMERICAL,
            "Lambda(T) stays above theta = %g down to T = %g; the suprema must be finite near 0",
            s->theta, low->T);
        HB_TRY(suprema_at(context, s, low->T / 2, low));
        HB_TRY(check_order(context, low, high));
    }
    while (lambda(high, c) <= s->theta) {
        *low = *high;
        if (low->T > 1e300) low->T = INFINITY;
        if (isinf(low->T)) return HB_OK;
        HB_TRY(suprema_at(context, s, 2 * low->T, high));
        HB_TRY(check_order(context, low, high));
    }
    return HB_OK;
}

/* T0 = sup{T: Lambda(T) <= theta} */
static hb_status budget_window(hb_context *context, const hb_budget_settings *s, double c,
                               double *out)
{
    suprema low, high, middle;
    *out = window_of_constant(s->theta, s->drift_sup + s->div_sup, c);
    if (!s->sup) return HB_OK;
    HB_TRY(budget_bracket(context, s, c, &low, &high));
    while (isfinite(low.T) && high.T - low.T > 1e-15 * high.T) {
        HB_TRY(suprema_at(context, s, 0.5 * (low.T + high.T), &middle));
        HB_TRY(check_order(context, &low, &middle));
        HB_TRY(check_order(context, &middle, &high));
        *(lambda(&middle, c) <= s->theta ? &low : &high) = middle;
    }
    *out = low.T;
    return HB_OK;
}

/* ---- bounds --------------------------------------------------------------------------------- */

static void fill_bounds(const hb_budget_settings *s, const suprema *sup, hb_budget *b)
{
    const double growth = sup->C == 0 ? 0 : sup->C * sup->T; // 0 also for T = infinity
    const double v0 = fmax(fabs(log(s->u0_min)), fabs(log(s->u0_max)));
    const double data = s->u0_max + s->u0_grad;
    b->u_lower = s->u0_min * exp(-growth);
    b->u_upper = s->u0_max * exp(growth);
    b->v_bound = v0 + growth;
    b->w_bound = b->u_upper * b->v_bound;
    if (b->inside) b->radius = data / (1 - b->Lambda);
    if (b->inside_paper) b->radius_paper = data / (1 - b->Lambda_paper);
    b->score_bound = b->radius / b->u_lower;
    b->score_bound_paper = b->radius_paper / b->u_lower;
}

static void fill_lambda(const hb_budget_settings *s, const suprema *sup, hb_budget *b)
{
    const double root = sqrt(sup->T);
    b->T = sup->T;
    b->K = sup->A + sup->C;
    b->Lambda = lambda(sup, b->C_sharp);
    b->Lambda_paper = lambda(sup, b->C_d);
    b->inside = b->T <= b->T0; // Lambda is nondecreasing; free of rounding at T = T0
    b->inside_paper = b->T <= b->T0_paper;
    b->K_for_T = b->K_for_T_paper = NAN;
    if (isnan(s->tau)) return;
    b->K_for_T = s->theta / (root * (root + 2 * b->C_sharp));
    b->K_for_T_paper = s->theta / (root * (root + 2 * b->C_d));
}

hb_status hb_budget_compute(hb_context *context, const hb_budget_settings *given, size_t size,
                            hb_budget *out)
{
    HB_SIZED_CHECK(context, hb_budget, size, out);
    hb_budget_settings chosen, *settings = &chosen;
    HB_SIZED_READ(context, hb_budget_settings, given, settings);
    hb_ball_constants constants;
    HB_TRY(hb_ball_constants_get(context, settings->dim, 0, sizeof constants, &constants));
    HB_TRY(budget_check(context, settings));
    hb_budget b = {.C_d = constants.C_d, .C_sharp = constants.C_sharp};
    b.u_lower = b.u_upper = b.v_bound = b.w_bound = NAN;
    b.radius = b.radius_paper = b.score_bound = b.score_bound_paper = NAN;
    HB_TRY(budget_window(context, settings, b.C_sharp, &b.T0));
    HB_TRY(budget_window(context, settings, b.C_d, &b.T0_paper));
    suprema sup = {.T = INFINITY}; // T0 is infinite only when A and C are 0
    const double T = isnan(settings->tau) ? b.T0 : settings->tau;
    if (isfinite(T)) HB_TRY(suprema_at(context, settings, T, &sup));
    fill_lambda(settings, &sup, &b);
    if (!isnan(settings->u0_min)) fill_bounds(settings, &sup, &b);
    HB_SIZED_WRITE(b, size, out);
    return HB_OK;
}
