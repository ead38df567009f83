/* Densities from trajectories without smoothing bias, as a method; any dimension.
 *
 *     one noise g(t)     kernels over a heat ball behind each point; particle/particle_estimator.h
 *     noise matrix G(t)  the kernel of a short lag, for degenerate noise too; at t = inf averaged
 *                        along long trajectories; particle/lag_estimator.h
 * A number to reproduce: "y, -x^3" with the noise "0, 1" is solved by the second. */
#include "lag/lag_estimator.h"
#include "particle/particle_estimator.h"
#include "solve/solve_parts.h"

enum { USUAL_TRAJECTORIES = 32768 };
enum {
    SETTINGS = HB_SOLVE_SETTING_SAMPLES | HB_SOLVE_SETTING_LIFT | HB_SOLVE_SETTING_RADIUS |
               HB_SOLVE_SETTING_STDERR | HB_SOLVE_SETTING_STDERR_SCORE | HB_SOLVE_SETTING_MAX_TIME |
               HB_SOLVE_SETTING_STATE | HB_SOLVE_SETTING_PATHS
};

static const char *particles_serves(const hb_solve_facts *facts)
{
    if (facts->noise == HB_NOISE_FIELD) return HB_REASON_FIELD;
    return facts->noise == HB_NOISE_MATRIX ? "the noise is a matrix" : NULL;
}

/* Where walks are exact, only after them. */
static int particles_rank(const hb_solve_facts *facts)
{
    return facts->linear && facts->start_moves && !facts->own_paths ? 4 : 3;
}

static hb_status particles_estimator(hb_context *context, const hb_solve_task *task, double tau,
                                     hb_estimator *out)
{
    const hb_sampling_settings *s = &task->settings->sampling;
    HB_TRY(hb_particle_estimator(context, task->problem, tau, s, task->n, task->points, out));
    out->usual = s->n_paths ? s->n_paths : USUAL_TRAJECTORIES;
    return HB_OK;
}

const hb_method_ops hb_method_particles = {
    .info = {.name = "particles",
             .summary =
                 "trajectories, and densities from them without smoothing bias; any dimension",
             .method = HB_METHOD_PARTICLES,
             .reads = SETTINGS},
    .times = HB_TIME_FINITE,
    .errors = HB_ERRORS_STANDARD,
    .serves = particles_serves,
    .rank_of = particles_rank,
    .estimator = particles_estimator};

/* ---- noise matrices ---- */

static const char *lag_serves(const hb_solve_facts *facts)
{
    if (facts->noise == HB_NOISE_FIELD) return HB_REASON_FIELD;
    if (facts->noise != HB_NOISE_MATRIX) return "the noise is no matrix";
    return facts->own_paths ? "trajectories of your own cannot be used where the noise is a matrix"
                            : NULL;
}

static hb_status lag_estimator(hb_context *context, const hb_solve_task *task, double tau,
                               hb_estimator *out)
{
    const hb_sampling_settings *s = &task->settings->sampling;
    const int stationary = task->facts->time == HB_TIME_STATIONARY;
    HB_TRY(stationary
               ? hb_lag_stationary(context, task->problem, s, task->n, task->points, out)
               : hb_lag_estimator(context, task->problem, tau, s, task->n, task->points, out));
    out->usual = stationary ? HB_LAG_USUAL : USUAL_TRAJECTORIES;
    return HB_OK;
}

const hb_method_ops hb_method_lag = {
    .info = {.name = "particles", .method = HB_METHOD_PARTICLES, .reads = SETTINGS},
    .times = HB_TIME_POSITIVE,
    .errors = HB_ERRORS_STANDARD,
    .serves = lag_serves,
    .rank = 4,
    .estimator = lag_estimator};
