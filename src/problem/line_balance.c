/* The stationary density of dx = f(x) dt + g(x) dW in one dimension, for any noise (Ito; D =
 * g^2/2).
 *
 * Its current f u - (D u)' is 0, so (ln u)' = W = (f - D')/D. In s with x = sinh s heavy tails fall
 * exponentially:
 *     (ln u_s)' = W(sinh s) cosh s + tanh s,     ln u = ln u_s - ln cosh s
 * is a problem with noise sqrt(2), whose stationary density stationary_density.c forms. Where g is
 * 0 what lies on the two sides may never meet, and where g jumps D' does not show it: both are
 * refused, by interval arithmetic on PIECES pieces of the part of the line that has the mass. H.
 * Risken, The Fokker-Planck Equation, 1989, section 5.2.
 * A number to reproduce: f = -x, g = sqrt(1 + x^2) has u(0) = 1/2: u = (1 + x^2)^-3/2/2. */
#include "problem/line_balance.h"
#include "base/context.h"
#include "base/memory.h"
#include "problem/problem_parts.h"
#include "problem/stationary_density.h"

#include <float.h>
#include <math.h>

enum { PIECES = 4096 };
static const double NEAR = 3; /* |s| where zeros of the noise are looked for when all else fails */
static const double BEYOND = 4;    /* of the box, where zeros of the noise are looked for too */
static const double ESCAPE = 1e-3; /* of kappa */
static const double ROUNDING = 64 * DBL_EPSILON;

struct hb_line_balance {
    hb_drift slope; /* (ln u_s)', of s */
    hb_drift size;  /* D, of s: its breaks and ranges */
};

/* ---- made and destroyed ---- */

static hb_status balance_compile(hb_context *context, hb_graph *graph, hb_node node, hb_drift *out)
{
    hb_node own;
    out->dim = 1;
    HB_TRY(hb_graph_extract(context, graph, node, &out->graph, &own));
    return hb_drift_compile(context, &own, out);
}

static hb_status balance_build(hb_context *context, hb_graph *graph, hb_node f, int m,
                               const hb_node *G, hb_line_balance *out)
{
    hb_node D = hb_build_constant(graph, 0), slope, nodes[2];
    const hb_node s = hb_build_variable(graph, 1);
    for (int k = 0; k < m; k++)
        D = hb_build_add(graph, D,
                         hb_build_scaled(graph, 0.5, hb_build_multiply(graph, G[k], G[k])));
    HB_TRY(hb_graph_finish(graph, D, &D));
    HB_TRY(hb_graph_derivative(graph, D, 1, &slope));
    nodes[0] = hb_build_divide(graph, hb_build_subtract(graph, f, slope), D);
    nodes[1] = D;
    HB_TRY(hb_graph_finish(graph, nodes[0], &nodes[0]));
    const hb_node x = hb_build_unary(graph, HB_OP_SINH, s);
    HB_TRY(hb_graph_substitute(graph, 2, nodes, &x, hb_build_variable(graph, 0), graph, nodes));
    nodes[0] = hb_build_add(
        graph, hb_build_multiply(graph, nodes[0], hb_build_unary(graph, HB_OP_COSH, s)),
        hb_build_unary(graph, HB_OP_TANH, s));
    HB_TRY(hb_graph_finish(graph, nodes[0], &nodes[0]));
    HB_TRY(balance_compile(context, graph, nodes[0], &out->slope));
    return balance_compile(context, graph, nodes[1], &out->size);
}

hb_status hb_line_balance_create(hb_context *context, hb_graph *graph, hb_node f, int m,
                                 const hb_node *G, hb_line_balance **out)
{
    HB_TRY(HB_NEW_CLEARED(context, *out, 1));
    return balance_build(context, graph, f, m, G, *out);
}

void hb_line_balance_destroy(hb_context *context, hb_line_balance *balance)
{
    if (!balance) return;
    hb_drift_destroy(context, &balance->slope);
    hb_drift_destroy(context, &balance->size);
    hb_release(context, balance);
}

/* ---- the density ---- */

int hb_problem_has_balance(const hb_problem *problem)
{
    return problem->noise_matrix.balance != NULL;
}

/* The problem in s, which shares all but its drift with the one in x. */
static hb_problem in_s(const hb_problem *problem, const hb_drift *drift)
{
    hb_problem out = *problem;
    out.drift = *drift;
    out.noise_matrix = (hb_matrix_noise){0};
    out.initial = (hb_initial){0};
    return out;
}

static hb_status refuse_zero(hb_context *context, double s)
{
    return hb_fail(context, HB_ERROR_ARGUMENT,
                   "time is inf, but the noise vanishes near x = %.4g, or may do so; what lies on "
                   "the two sides may never meet: give a finite time",
                   fabs(s) < 1e-2 ? s : sinh(s));
}

static hb_status check_breaks(hb_context *context, const hb_line_balance *balance)
{
    const hb_drift_facts *facts = &balance->size.facts;
    for (int k = 0; k < facts->n_breaks; k++)
        HB_CHECK(context, facts->breaks[k].kind == HB_BREAK_KINK, HB_ERROR_ARGUMENT,
                 "time is inf, but the noise %s; give a finite time, or make it smooth, as "
                 "tanh(20*x) for sign(x)",
                 facts->breaks[k].kind == HB_BREAK_JUMP ? "jumps"
                                                        : "is not defined or infinite somewhere");
    return HB_OK;
}

/* D must be above 0 between low and high. */
static hb_status balance_check_size(hb_context *context, const hb_problem *size, double low,
                                    double high)
{
    for (int k = 0; k < PIECES; k++) {
        const hb_interval s = {low + (high - low) * k / PIECES,
                               low + (high - low) * (k + 1) / PIECES};
        hb_interval D;
        HB_TRY(hb_problem_ranges(context, size, &s, (hb_interval){0, 0}, &D, NULL));
        if (!(D.low > 0)) return refuse_zero(context, 0.5 * (s.low + s.high));
    }
    return HB_OK;
}

/* Where the scale int exp(-int f/D dx) dx ends at a finite value paths run away to infinity and
 * do not come back. In s its slope grows like e^(kappa s), kappa = tanh s - (f/D) cosh s. */
static hb_status check_return(hb_context *context, const hb_problem *line, const hb_problem *size,
                              double s, int upper)
{
    double slope, D, growth;
    HB_TRY(hb_problem_drift(context, line, 1, &s, 0, &slope, NULL, NULL, NULL));
    HB_TRY(hb_problem_drift(context, size, 1, &s, 0, &D, NULL, NULL, &growth));
    const double kappa = 2 * tanh(s) - slope - growth / D;
    HB_CHECK(context, (upper ? kappa : -kappa) > -ESCAPE, HB_ERROR_ARGUMENT,
             "there is no stationary density: the noise carries paths to infinity and none comes "
             "back; ask for a finite time");
    return HB_OK;
}

static hb_status balance_evaluate(hb_context *context, const hb_stationary *density, size_t n,
                                  const double *x, double *log_density, double *error,
                                  double *score, double *score_error)
{
    for (size_t i = 0; i < n; i++) {
        const double s = asinh(x[i]), stretch = hypot(1, x[i]); /* cosh s */
        const double near[3] = {s, s * (1 - 4 * DBL_EPSILON), s * (1 + 4 * DBL_EPSILON)};
        double values[3], errors[3], slopes[3];
        const hb_status status =
            hb_stationary_evaluate(context, density, 3, near, values, errors, slopes);
        const double slope = slopes[0],
                     moved = fmax(fabs(slopes[1] - slope), fabs(slopes[2] - slope));
        HB_CHECK(context, status != HB_ERROR_DOMAIN, HB_ERROR_ARGUMENT,
                 "point %zu, x = %g, is too far out: numbers end before the density there", i + 1,
                 x[i]);
        HB_TRY(status);
        log_density[i] = values[0] - log(stretch);
        error[i] = errors[0] + ROUNDING * fabs(slope * s);
        score[i] = (slope - x[i] / stretch) / stretch;
        score_error[i] = (ROUNDING * (fabs(slope) + 1) + moved) / stretch; /* s is rounded */
    }
    return HB_OK;
}

hb_status hb_problem_balance(hb_context *context, const hb_problem *problem, size_t n,
                             const double *x, double *log_density, double *error, double *score,
                             double *score_error, int *flagged)
{
    const hb_line_balance *balance = problem->noise_matrix.balance;
    const hb_problem line = in_s(problem, &balance->slope), size = in_s(problem, &balance->size);
    double low, high, at_zero, none = 0;
    hb_stationary *density;
    HB_TRY(check_breaks(context, balance));
    HB_TRY(hb_problem_drift(context, &size, 1, &none, 0, &at_zero, NULL, NULL, NULL));
    if (!(at_zero > 0)) return refuse_zero(context, 0);
    hb_status status = hb_stationary_create(context, &line, &density);
    if (status == HB_ERROR_DOMAIN || status == HB_ERROR_NUMERICAL) {
        HB_TRY(balance_check_size(context, &size, -NEAR, NEAR));
        return hb_fail(context, HB_ERROR_ARGUMENT,
                       "there is no stationary density that could be formed: the noise vanishes "
                       "somewhere, or the density falls off so slowly that numbers end before it; "
                       "give a finite time");
    }
    HB_TRY(status);
    hb_stationary_box(density, &low, &high);
    *flagged = hb_stationary_is_flagged(density);
    /* Beyond a zero of D there may be another stationary density. */
    const double around = asinh(BEYOND * fmax(sinh(fabs(low)), sinh(fabs(high))));
    status = balance_check_size(context, &size, -around, around);
    if (status == HB_OK) status = check_return(context, &line, &size, low, 0);
    if (status == HB_OK) status = check_return(context, &line, &size, high, 1);
    if (status == HB_OK)
        status = balance_evaluate(context, density, n, x, log_density, error, score, score_error);
    hb_stationary_destroy(context, density);
    return status;
}
