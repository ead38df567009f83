/* heatball/budget.h: how long the mean-value hierarchy is guaranteed, and within what bounds.
 * Second tier: for bindings and tools.
 *
 * For du/dtau = Lap u - div(F u) with A = sup|F| and C = sup|div F| on [0,T] (in tau), K = A + C
 * and Lambda(T) = K sqrt(T) (sqrt(T) + 2 c), a unique solution exists on [0,T] when Lambda(T) <=
 * theta < 1 (the paper's Theorem on local well-posedness). c bounds |grad e^{t Lap} g| <= c
 * t^(-1/2) sup|g|: the paper takes C_d = Gamma((d+1)/2)/Gamma(d/2), which grows like sqrt(d/2); the
 * sharp constant is 1/sqrt(pi) in every dimension. Both are reported, the sharp one is the default.
 * docs/explanation/well-posedness.md derives it. */
#ifndef HEATBALL_BUDGET_H
#define HEATBALL_BUDGET_H

#include <heatball/settings.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_budget_settings {
    size_t size; /* set by hb_budget_settings_default */
    int dim;
    double drift_sup; /* A >= 0 */
    double div_sup;   /* C >= 0 */
    double theta;     /* in (0,1); default 0.9 */
    /* When A and C depend on T: fills A(T), C(T), both nondecreasing in T; a non-zero return is an
     * error. NULL (default): the constants above. */
    int (*sup)(void *user, double T, double *drift_sup, double *div_sup);
    void *sup_user;
    double u0_min, u0_max, u0_grad; /* of the initial density; NaN (default): not given */
    double tau;                     /* the time at which to evaluate; NaN (default): not given */
} hb_budget_settings;

typedef struct hb_budget {
    double C_d, C_sharp;
    double T0, T0_paper;           /* Lambda(T0) = theta; infinite when K = 0 */
    double T;                      /* `tau`, or T0 when no time is given */
    double K;                      /* A(T) + C(T) */
    double Lambda, Lambda_paper;   /* Lambda(T) by both constants */
    double K_for_T, K_for_T_paper; /* largest K with Lambda(T) <= theta; NaN without `tau` */
    int inside, inside_paper;      /* Lambda(T) <= theta */
    /* Bounds at T when u0_min, u0_max, u0_grad are given, else NaN: */
    double u_lower, u_upper;     /* two-sided bounds of u */
    double v_bound, w_bound;     /* sup|ln u|, sup|u ln u| */
    double radius, radius_paper; /* sup|u| + sup|grad u| <= (M + S)/(1 - Lambda(T)); NaN outside */
    double score_bound, score_bound_paper; /* sup|grad ln u|; NaN when T is outside the window */
} hb_budget;

HB_API void hb_budget_settings_default(size_t size, hb_budget_settings *settings);
HB_API const hb_setting *hb_budget_setting(size_t index); /* as hb_train_setting */
HB_API hb_status hb_budget_compute(hb_context *context, const hb_budget_settings *settings,
                                   size_t size, hb_budget *out);

#ifdef __cplusplus
}
#endif
#endif
