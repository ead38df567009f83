/* heatball budget: how long the mean-value hierarchy is guaranteed for a drift, and within what
 * bounds.
 *
 * With A = sup|F|, C = sup|div F| and K = A + C, Lambda(T) = K sqrt(T) (sqrt(T) + 2 c) <= theta
 * gives a unique solution on [0, T]; c is 1/sqrt(pi) (sharp) or the paper's C_d. For K = 1, theta =
 * 0.9 and the sharp c the root is sqrt(T0) = -c + sqrt(c^2 + theta), T0 = 0.291148. */
#include "commands.h"
#include "report.h"

#include <heatball/ball.h>
#include <heatball/budget.h>
#include <math.h>

typedef struct budget_values {
    int dim, json;
    double drift_sup, div_sup, theta, u0_min, u0_max, u0_grad, tau;
} budget_values;

#define VALUES budget_values
static const hb_option budget_options[] = {
    HB_OPTION(INTEGER, "dim", "D", dim, "dimension", .min = 1, .max = HB_MAX_DIM,
              .rules = HB_OPTION_REQUIRED),
    HB_OPTION(REAL, "drift-sup", "A", drift_sup, "supremum of |F|, the drift divided by g^2/2",
              .max = INFINITY, .rules = HB_OPTION_REQUIRED),
    HB_OPTION(REAL, "div-sup", "C", div_sup, "supremum of |div F|", .max = INFINITY,
              .rules = HB_OPTION_REQUIRED),
    HB_OPTION(REAL, "theta", "THETA", theta, "contraction factor that is still accepted", .max = 1,
              .rules = HB_OPTION_ABOVE | HB_OPTION_BELOW, .fallback = "0.9"),
    HB_OPTION(REAL, "u0-min", "m", u0_min, "infimum of the initial density, for the bounds",
              .max = INFINITY, .rules = HB_OPTION_ABOVE),
    HB_OPTION(REAL, "u0-max", "M", u0_max, "supremum of the initial density, for the bounds",
              .max = INFINITY, .rules = HB_OPTION_ABOVE),
    HB_OPTION(REAL, "u0-grad", "S", u0_grad,
              "supremum of the length of its gradient, for the bounds", .max = INFINITY),
    HB_OPTION(REAL, "tau", "TAU", tau,
              "time tau at which to evaluate; default: the end T0 of the window", .max = INFINITY,
              .rules = HB_OPTION_ABOVE, .old = "at"),
    HB_OPTION_JSON,
    {0}};

static int has_initial(const budget_values *v)
{
    return !isnan(v->u0_min) && !isnan(v->u0_max) && !isnan(v->u0_grad);
}

/* The bounds need all three numbers of the initial density; names the first that is missing. */
static hb_status check_initial(hb_session *session, const budget_values *v)
{
    if (has_initial(v) || (isnan(v->u0_min) && isnan(v->u0_max) && isnan(v->u0_grad))) return HB_OK;
    const char *missing = isnan(v->u0_min)   ? "--u0-min"
                          : isnan(v->u0_max) ? "--u0-max"
                                             : "--u0-grad";
    return hb_session_refuse(
        session, "%s is missing; the bounds need --u0-min, --u0-max and --u0-grad together",
        missing);
}

static void add_window(hb_report *report, const budget_values *v, const hb_budget *b)
{
    hb_report_integer(report, "dim", v->dim, "dimension d");
    hb_report_real(report, "drift_sup", v->drift_sup, "A = sup|F|");
    hb_report_real(report, "div_sup", v->div_sup, "C = sup|div F|");
    hb_report_real(report, "theta", v->theta, "largest Lambda that is accepted");
    hb_report_real(report, "C_d", b->C_d, "Gamma((d+1)/2)/Gamma(d/2), the paper's constant");
    hb_report_real(report, "C_sharp", b->C_sharp, "1/sqrt(pi), the sharp constant");
    hb_report_real(report, "T0", b->T0, "Lambda(T0) = theta: end of the guaranteed window");
    hb_report_real(report, "T0_paper", b->T0_paper, "the same by the paper's constant");
    hb_report_real(report, "T", b->T, "time of the lines below");
    hb_report_real(report, "K", b->K, "A + C");
    hb_report_real(report, "Lambda", b->Lambda, "K sqrt(T) (sqrt(T) + 2 C_sharp)");
    hb_report_real(report, "Lambda_paper", b->Lambda_paper, "K sqrt(T) (sqrt(T) + 2 C_d)");
    hb_report_boolean(report, "inside", b->inside, "Lambda <= theta");
    hb_report_boolean(report, "inside_paper", b->inside_paper, "Lambda_paper <= theta");
    if (isnan(v->tau)) return;
    hb_report_real(report, "K_for_T", b->K_for_T, "largest K with Lambda(T) <= theta");
    hb_report_real(report, "K_for_T_paper", b->K_for_T_paper, "the same by the paper's constant");
}

static void add_bounds(hb_report *report, const hb_budget *b)
{
    hb_report_real(report, "u_lower", b->u_lower, "lower bound of u at T");
    hb_report_real(report, "u_upper", b->u_upper, "upper bound of u at T");
    hb_report_real(report, "v_bound", b->v_bound, "bound of |ln u|");
    hb_report_real(report, "w_bound", b->w_bound, "bound of |u ln u|");
    hb_report_real(report, "radius", b->radius, "bound of sup|u| + sup|grad u|");
    hb_report_real(report, "radius_paper", b->radius_paper, "the same by the paper's constant");
    hb_report_real(report, "score_bound", b->score_bound, "bound of the score |grad ln u|");
    hb_report_real(report, "score_bound_paper", b->score_bound_paper,
                   "the same by the paper's constant");
}

static hb_status run_budget(hb_session *session, const void *values)
{
    const budget_values *v = values;
    HB_TRY(check_initial(session, v));
    hb_budget_settings settings;
    hb_budget_settings_default(sizeof settings, &settings);
    settings.dim = v->dim;
    settings.drift_sup = v->drift_sup;
    settings.div_sup = v->div_sup;
    settings.theta = v->theta;
    settings.u0_min = v->u0_min;
    settings.u0_max = v->u0_max;
    settings.u0_grad = v->u0_grad;
    settings.tau = v->tau;
    hb_budget budget;
    HB_TRY(hb_budget_compute(hb_session_context(session), &settings, sizeof budget, &budget));
    hb_report *report = hb_report_create();
    add_window(report, v, &budget);
    if (has_initial(v)) add_bounds(report, &budget);
    return hb_report_finish(report, v->json);
}

const hb_command hb_command_budget = {
    .name = "budget",
    .summary = "bound the time up to which a drift is well-posed, and its solution",
    .text =
        "For du/dtau = Lap u - div(F u) with A = sup|F| and C = sup|div F|, prints the window [0, "
        "T0] on which the mean-value hierarchy has a unique solution, by the sharp constant "
        "1/sqrt(pi) and by the paper's C_d. With --tau it also prints the largest drift budget K = "
        "A + C for that time; with the three --u0 options it prints bounds of u, ln u, u ln u and "
        "the score. A bound that is not guaranteed is - in the table and null in JSON.",
    .examples = {"heatball budget --dim 2 --drift-sup 1.5 --div-sup 0.5",
                 "heatball budget --dim 2 --drift-sup 1.5 --div-sup 0.5 --tau 0.02",
                 "heatball budget --dim 2 --drift-sup 1.5 --div-sup 0.5 --u0-min 0.05 --u0-max 0.4 "
                 "--u0-grad 0.3 --tau 0.02"},
    .options = budget_options,
    .size = sizeof(budget_values),
    .run = run_budget,
    .alone = 1};
