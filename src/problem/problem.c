/* A problem: drift, noise, initial density and time span, checked and compiled once.
 *
 * Order of the checks: exactly one way to give the drift, the dimension, the noise (g > 0 on [0,
 * time]), the drift, the initial density, and last the drift at PROBES draws of it: a drift that is
 * not finite where the mass is would fail in every method, later and less clearly. After creation
 * nothing changes any more, so threads share a problem freely.
 * A number to reproduce: "x1 - x1^3" with g = 1 has dim 1 and F(2) = -12. */
#include "base/context.h"
#include "base/memory.h"
#include "base/sized.h"
#include "problem/initial/initial_ops.h"
#include "problem/noise_text.h"
#include "problem/problem_text.h"
#include "problem/transform/transform.h"

#include <heatball/ball.h>
#include <math.h>
#include <string.h>

enum { PROBES = 64 };

void hb_problem_settings_default(size_t size, hb_problem_settings *settings)
{
    const hb_problem_settings defaults = {.time = NAN};
    hb_sized_default(sizeof defaults, &defaults, size, settings);
}

/* ---- creation, part by part ----------------------------------------------------------------- */

static hb_status check_dim(hb_context *context, const hb_problem_settings *s, int *dim)
{
    const int ways = (s->drift != NULL) + (s->potential != NULL) + (s->drift_callback != NULL);
    HB_CHECK(context, ways == 1, HB_ERROR_ARGUMENT,
             "%s; give one of drift, potential and a callback for the drift",
             ways ? "the drift is given more than once" : "the drift is missing");
    HB_CHECK(context, s->drift_callback || s->drift_facts == 0, HB_ERROR_ARGUMENT,
             "facts are declared for a drift that is text; they are read off its formula");
    HB_CHECK(context, !(s->initial && s->initial_callback), HB_ERROR_ARGUMENT,
             "the initial density is given as text and as a callback; give one");
    *dim = s->dim;
    if (s->dim == 0 && s->drift) {
        char *pieces;
        HB_TRY(hb_graph_split(context, s->drift, dim, &pieces));
        hb_release(context, pieces);
    }
    HB_CHECK(context, s->dim != 0 || s->drift, HB_ERROR_ARGUMENT,
             "dim is 0; a %s needs dim, 1 to %d", s->potential ? "potential" : "callback",
             HB_MAX_DIM);
    HB_CHECK(context, *dim >= 1 && *dim <= HB_MAX_DIM, HB_ERROR_ARGUMENT,
             "dim is %d; it must be 1 to %d", *dim, HB_MAX_DIM);
    return HB_OK;
}

static hb_status problem_noise_at(void *user, size_t n, const double *t, double *g)
{
    const hb_problem *problem = user;
    return hb_program_run_times(problem->context, problem->noise, n, NULL, t, 1, g);
}

double hb_problem_span(const hb_problem *problem)
{
    return problem->time == INFINITY ? 1 : problem->time;
}

hb_status hb_problem_compile_noise(hb_context *context, hb_node g, hb_problem *problem)
{
    HB_TRY(hb_program_compile(problem->noise_graph, 1, &g, &problem->noise));
    HB_TRY(hb_range_tape_create(context, problem->noise_graph, 1, &g, &problem->noise_ranges));
    HB_TRY(hb_time_cuts_add(context, problem->noise_graph, 1, &g, hb_problem_span(problem),
                            &problem->cuts));
    return hb_time_change_create(
        context, problem_noise_at, problem, !hb_graph_depends(problem->noise_graph, g, 0),
        hb_problem_span(problem), problem->cuts.n, problem->cuts.t, &problem->change);
}

/* One g(t), as typed. */
static hb_status create_noise(hb_context *context, const hb_problem_settings *s,
                              hb_problem *problem)
{
    hb_node g;
    HB_TRY(hb_graph_create(context, 1, &problem->noise_graph));
    HB_TRY(hb_drift_parameters(context, s, problem->noise_graph));
    HB_TRY(hb_graph_parse(problem->noise_graph, s->noise ? s->noise : "1", "noise", 0, &g));
    return hb_problem_compile_noise(context, g, problem);
}

/* Drift and noise, in the coordinates in which the problem is solved. */
static hb_status create_motion(hb_context *context, const hb_problem_settings *s,
                               hb_problem *problem)
{
    problem->time = isnan(s->time) ? 1 : s->time;
    HB_CHECK(context, !(s->noise && s->noise_callback), HB_ERROR_ARGUMENT,
             "the noise is given as text and as a callback; give one");
    HB_CHECK(context,
             s->convention >= HB_CONVENTION_UNSET && s->convention <= HB_CONVENTION_STRATONOVICH,
             HB_ERROR_ARGUMENT, "convention is %d; it must be one of hb_convention", s->convention);
    if (problem->unit ||
        (!s->noise_callback && !hb_noise_text_is_plain(context, s->noise, s->n_parameters,
                                                       s->parameter_names, s->parameter_values)))
        return hb_problem_build_transformed(context, s, problem);
    if (s->noise_callback)
        HB_TRY(hb_noise_from_callback(context, s, problem));
    else
        HB_TRY(create_noise(context, s, problem));
    return (s->drift_callback ? hb_drift_from_callback
                              : hb_drift_from_text)(context, s, problem->dim, &problem->drift);
}

/* The noise has added its own. */
static hb_status create_cuts(hb_context *context, hb_problem *problem)
{
    const double span = hb_problem_span(problem);
    if (!problem->drift.callback)
        HB_TRY(hb_time_cuts_add(context, problem->drift.graph, problem->dim,
                                problem->drift.components, span, &problem->cuts));
    return hb_time_cuts_map(context, problem->change, span, &problem->cuts);
}

static hb_status create_start(hb_context *context, const hb_problem_settings *s,
                              hb_problem *problem)
{
    if (s->initial) return hb_initial_parse(context, s, problem);
    if (!s->initial_callback) return HB_OK;
    return hb_initial_from_callback(context, s->initial_callback, s->initial_user, problem);
}

/* `stationary` is made from the drift, in whatever coordinates that is. */
static int is_stationary(const hb_problem_settings *s)
{
    return s->initial && strncmp(s->initial + strspn(s->initial, " \t\r\n"), "stationary", 10) == 0;
}

/* The start in x, for a noise that may need a transform. */
static hb_status create_outside(hb_context *context, const hb_problem_settings *s,
                                hb_problem *problem)
{
    const int transformed =
        !s->noise_callback && !hb_noise_text_is_plain(context, s->noise, s->n_parameters,
                                                      s->parameter_names, s->parameter_values);
    if (!transformed || is_stationary(s) || (!s->initial && !s->initial_callback)) return HB_OK;
    HB_TRY(HB_NEW_CLEARED(context, problem->outside, 1));
    problem->outside->context = context;
    problem->outside->dim = problem->dim;
    return create_start(context, s, problem->outside);
}

static hb_status create_initial(hb_context *context, const hb_problem_settings *s,
                                hb_problem *problem)
{
    if (problem->transform && problem->outside) return hb_initial_enter_transform(context, problem);
    hb_problem_destroy(problem->outside);
    problem->outside = NULL;
    HB_CHECK(context, problem->noise_matrix.kind == HB_NOISE_SCALAR || !is_stationary(s),
             HB_ERROR_ARGUMENT,
             "initial is stationary, but the noise is not one for all directions; `--time inf` "
             "may know the stationary density");
    return create_start(context, s, problem);
}

/* The drift must be finite where the initial mass is. */
static hb_status problem_check_drift(hb_context *context, const hb_problem *problem)
{
    const size_t d = (size_t)problem->dim;
    if (!problem->initial.ops || !problem->initial.ops->draw) return HB_OK;
    double *x; // (PROBES, d), and F the same
    HB_TRY(HB_NEW(context, x, 2 * PROBES * d));
    hb_status status = hb_problem_initial_sample(context, problem, 1, 0, PROBES, x);
    if (status == HB_OK)
        status = hb_problem_drift(context, problem, PROBES, x, 0, x + PROBES * d, NULL, NULL, NULL);
    hb_release(context, x);
    /* At creation this is a wrong problem, not a failed computation. */
    return status == HB_ERROR_DOMAIN ? HB_ERROR_ARGUMENT : status;
}

static hb_status problem_build(hb_context *context, const hb_problem_settings *s,
                               hb_problem *problem)
{
    problem->context = context;
    HB_TRY(check_dim(context, s, &problem->dim));
    HB_TRY(create_outside(context, s, problem));
    HB_TRY(create_motion(context, s, problem));
    HB_TRY(create_cuts(context, problem));
    if (s->drift_callback)
        HB_TRY(hb_drift_check_facts(context, &problem->drift, hb_problem_span(problem)));
    HB_TRY(hb_problem_write_text(context, s, problem));
    problem->inside = NULL;
    HB_TRY(create_initial(context, s, problem));
    return problem_check_drift(context, problem);
}

hb_status hb_problem_create_as(hb_context *context, const hb_problem_settings *settings, int unit,
                               const double *inside, hb_problem **out)
{
    HB_CHECK(context, out, HB_ERROR_ARGUMENT, "the output of a problem is NULL");
    *out = NULL;
    hb_problem_settings chosen;
    HB_SIZED_READ(context, hb_problem_settings, settings, &chosen);
    hb_problem *problem;
    HB_TRY(HB_NEW_CLEARED(context, problem, 1));
    problem->unit = unit;
    problem->inside = inside;
    const hb_status status = problem_build(context, &chosen, problem);
    if (status != HB_OK) {
        hb_problem_destroy(problem);
        return status;
    }
    *out = problem;
    return HB_OK;
}

hb_status hb_problem_create(hb_context *context, const hb_problem_settings *settings,
                            hb_problem **out)
{
    return hb_problem_create_as(context, settings, 0, NULL, out);
}

hb_status hb_problem_parse(hb_context *context, const char *drift, const char *noise,
                           const char *initial, hb_problem **out)
{
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.drift = drift;
    settings.noise = noise;
    settings.initial = initial;
    return hb_problem_create(context, &settings, out);
}

void hb_problem_destroy(hb_problem *problem)
{
    if (!problem) return;
    hb_context *context = problem->context;
    hb_problem_destroy(problem->outside);
    hb_initial_destroy(context, &problem->initial);
    hb_noise_destroy(context, &problem->noise_matrix);
    hb_transform_destroy(context, problem->transform);
    hb_drift_destroy(context, &problem->drift);
    hb_time_change_destroy(context, problem->change);
    hb_release(context, problem->cuts.t);
    hb_release(context, problem->cuts.tau);
    hb_release(context, problem->times);
    hb_program_destroy(problem->noise);
    hb_range_tape_destroy(context, problem->noise_ranges);
    hb_graph_destroy(problem->noise_graph);
    hb_release(context, problem->text);
    hb_release(context, problem->initial_text);
    hb_release(context, problem);
}

/* ---- questions ------------------------------------------------------------------------------ */

int hb_problem_dim(const hb_problem *problem)
{
    return problem ? problem->dim : 0;
}

double hb_problem_time(const hb_problem *problem)
{
    return problem ? problem->time : 0;
}

int hb_problem_is_gradient(const hb_problem *problem)
{
    return problem && problem->drift.facts.gradient;
}

int hb_problem_is_autonomous(const hb_problem *problem)
{
    return problem && problem->drift.facts.autonomous &&
           hb_time_change_is_constant(problem->change);
}

int hb_problem_is_linear(const hb_problem *problem)
{
    return problem && problem->drift.facts.affine;
}

hb_status hb_problem_tau_of_t(hb_context *context, const hb_problem *problem, double t, double *tau)
{
    HB_CHECK(context, problem && tau, HB_ERROR_ARGUMENT, "the problem or tau is NULL");
    return hb_time_change_tau(context, problem->change, t, tau);
}

hb_status hb_problem_t_of_tau(hb_context *context, const hb_problem *problem, double tau, double *t)
{
    HB_CHECK(context, problem && t, HB_ERROR_ARGUMENT, "the problem or t is NULL");
    return hb_time_change_t(context, problem->change, tau, t);
}
