/* stationary: the density that a gradient drift does not change.
 *
 * For f = -grad V and constant g the density exp(-V/(g^2/2)) does not change in time, and its score
 * is the normalised drift F itself. ln u up to a constant comes from
 *     a potential:         -V(x)/(g^2/2)
 *     d = 1:               int F dx on adaptive panels (stationary_density.c)
 *     d = 2, 3:            the line integral int_0^1 F(s x).x ds from the origin, by Gauss rules of
 *                          16 nodes on 1, 2, 4, ... pieces until two agree to 1e-13
 * The constant is found in box_density.c. H. Risken, The Fokker-Planck Equation, 1989, section 5.2.
 * A number to reproduce: f = -1.7 x, g = 1 has variance 1/3.4. */
#include "ball/quadrature.h"
#include "base/context.h"
#include "problem/stationary_density.h"

#include <math.h>

enum { GAUSS = 16, MAX_PIECES = 256 };

/* ---- the line integral in d = 2, 3 ---------------------------------------------------------- */

/* int_0^1 F(s x).x ds on `pieces` pieces. */
static hb_status stationary_line_sum(hb_context *context, const hb_problem *problem,
                                     const double *x, int pieces, const double *nodes,
                                     const double *weights, double *sum)
{
    const int d = problem->dim;
    double at[GAUSS * 3], F[GAUSS * 3];
    *sum = 0;
    for (int piece = 0; piece < pieces; piece++) {
        for (int k = 0; k < GAUSS * d; k++) at[k] = (piece + nodes[k / d]) / pieces * x[k % d];
        HB_TRY(hb_problem_drift(context, problem, GAUSS, at, 0, F, NULL, NULL, NULL));
        for (int k = 0; k < GAUSS * d; k++) *sum += weights[k / d] / pieces * F[k] * x[k % d];
    }
    return HB_OK;
}

static hb_status stationary_line_integrals(hb_context *context, const hb_problem *problem, size_t n,
                                           const double *x, double *integral)
{
    double nodes[GAUSS], weights[GAUSS];
    HB_TRY(hb_quadrature_beta(context, 1, 1, GAUSS, nodes, weights));
    for (size_t i = 0; i < n; i++) {
        const double *point = x + i * (size_t)problem->dim;
        double before = NAN;
        HB_TRY(stationary_line_sum(context, problem, point, 1, nodes, weights, integral + i));
        for (int pieces = 2; !(fabs(integral[i] - before) <= 1e-13 * (1 + fabs(before)));
             pieces *= 2) {
            char text[HB_POINT_TEXT];
            HB_CHECK(context, pieces <= MAX_PIECES, HB_ERROR_NUMERICAL,
                     "the potential of the drift was not found at x = %s: its line integral from "
                     "the origin does not converge",
                     hb_point_text(problem->dim, point, text));
            before = integral[i];
            HB_TRY(
                stationary_line_sum(context, problem, point, pieces, nodes, weights, integral + i));
        }
    }
    return HB_OK;
}

/* ---- stationary ----------------------------------------------------------------------------- */

static hb_status minus_potential(hb_context *context, const hb_problem *problem, size_t n,
                                 const double *x, double *log_density)
{
    double rate;
    HB_TRY(hb_time_change_rate(context, problem->change, 0, &rate));
    HB_TRY(hb_program_run(context, problem->drift.potential, n, x, 0, log_density));
    for (size_t i = 0; i < n; i++) log_density[i] /= -rate;
    return HB_OK;
}

static hb_status stationary_raw(hb_context *context, const hb_problem *problem, size_t n,
                                const double *x, double *log_density, double *gradient)
{
    if (gradient) HB_TRY(hb_problem_drift(context, problem, n, x, 0, gradient, NULL, NULL, NULL));
    return (problem->drift.potential ? minus_potential : stationary_line_integrals)(
        context, problem, n, x, log_density);
}

static hb_status stationary_check(hb_context *context, const hb_initial_text *text,
                                  const hb_problem *problem)
{
    const hb_drift *drift = &problem->drift;
    HB_CHECK(context, !text->arguments || !text->arguments[0], HB_ERROR_ARGUMENT,
             "stationary takes no arguments; it was given '%.40s'", text->arguments);
    HB_CHECK(
        context, drift->facts.gradient, HB_ERROR_ARGUMENT,
        "initial is stationary, but the drift is not known to be a gradient; give a potential");
    HB_CHECK(context, hb_time_change_is_constant(problem->change) && drift->facts.autonomous,
             HB_ERROR_ARGUMENT,
             "initial is stationary, but the %s depends on t; drift and noise must not",
             drift->facts.autonomous ? "noise" : "drift");
    HB_CHECK(context, problem->dim <= 3, HB_ERROR_ARGUMENT,
             "initial is stationary and dim is %d; it is normalised numerically, in dim 1 to 3",
             problem->dim);
    return HB_OK;
}

static hb_status stationary_create(const hb_initial_text *text, hb_problem *problem)
{
    hb_context *context = text->context;
    hb_stationary_line *s;
    HB_TRY(stationary_check(context, text, problem));
    HB_TRY(hb_initial_data(context, problem, sizeof *s, &s));
    if (problem->dim == 1 && !problem->drift.potential)
        return hb_stationary_line_create(context, problem, 0, problem, s);
    s->box = (hb_box_density){.problem = problem,
                              .raw = stationary_raw,
                              .what = "stationary density",
                              .graph = problem->drift.graph,
                              .n_nodes = problem->dim,
                              .nodes = problem->drift.components};
    if (problem->dim == 1) HB_TRY(hb_box_density_features(context, problem, 0, &s->box));
    HB_TRY(hb_box_density_find(context, &s->box));
    if (problem->dim == 1) HB_TRY(hb_box_density_features(context, problem, 0, &s->box));
    return hb_box_density_create(context, &s->box);
}

static void stationary_destroy(hb_context *context, void *data)
{
    hb_panels_destroy(context, ((hb_stationary_line *)data)->path);
    hb_box_density_destroy(context, data);
}

const hb_initial_ops hb_initial_stationary = {
    HB_INITIAL_TEXT("stationary", "stationary", stationary_create),
    .kind = HB_INITIAL_KIND_STATIONARY, .facts = {.smooth = 1}, .destroy = stationary_destroy,
    HB_BOX_DENSITY_OPS};
