/* What a problem allows walks to do, and the plans that compete for each of its points.
 *
 * Walks of many steps go along isotropic frames: the noise must be a number, or the drift linear.
 * Gradients that do not depend on tau have reversed walks, the gauge and bridges; docs/explanation/walks.md has
 * all plans.
 * A number to reproduce: a pulse of the drift that moves x by a within w is worth a/sqrt(w) in the
 * exponent of a weight, and above MOST_PULSE it is refused. */
#include "problem/drift_facts.h"
#include "problem/initial/initial_average.h"
#include "problem/noise.h"
#include "walk/walk_constants.h"
#include "walk/walk_parts.h"

enum {
    FULL_FRAME_DIM = 12,    /* up to here the frame is a matrix: d^3 operations a step */
    GRADIENT_FRAME_DIM = 3, /* the same for gradients, whose steps need it less */
    PULSE_POINTS = 64       /* at which pulses in t are looked at */
};

/* From short steps to long ones: all for gradients, three for others, one for linear drifts. */
static const hb_walk_plan PLANS[] = {
    {.kind = HB_WALK_REVERSED, .part = 0.75, .rate_multiplier = 8, .finish = 2},
    {.kind = HB_WALK_REVERSED, .part = 1, .rate_multiplier = 8, .finish = 2},
    {.kind = HB_WALK_REVERSED, .part = 0.75, .rate_multiplier = 4, .finish = 2},
    {.kind = HB_WALK_REVERSED, .part = 1, .rate_multiplier = 4, .finish = 2},
    {.kind = HB_WALK_BALL, .rate_multiplier = 8},
    {.kind = HB_WALK_GAUGE, .rate_multiplier = 12},
    {.kind = HB_WALK_GAUGE, .rate_multiplier = 8},
    {.rate_multiplier = 4},
    {.rate_multiplier = 2},
    {.rate_multiplier = 1}};

/* From many times to few. */
static const hb_walk_plan BRIDGE_PLANS[] = {
    {.kind = HB_WALK_BRIDGE, .points = HB_BRIDGE_POINTS, .repeat = 0.1},
    {.kind = HB_WALK_BRIDGE, .points = HB_BRIDGE_POINTS / 2, .repeat = 0.1},
    {.kind = HB_WALK_BRIDGE, .points = HB_BRIDGE_POINTS / 4, .repeat = 0.1},
    {.kind = HB_WALK_BRIDGE, .points = HB_BRIDGE_POINTS / 8, .repeat = 0.2}};

const hb_walk_plan *hb_walks_plans(const hb_walk_problem *shared, int *n)
{
    const int all = sizeof PLANS / sizeof *PLANS;
    *n = shared->linear ? 1 : shared->gradient ? all : HB_FRAME_PLANS;
    return PLANS + all - *n;
}

const hb_walk_plan *hb_walks_bridge_plans(int *n)
{
    *n = sizeof BRIDGE_PLANS / sizeof *BRIDGE_PLANS;
    return BRIDGE_PLANS;
}

int hb_walk_is_bridge(const hb_walk_plan *plan)
{
    return plan->kind == HB_WALK_BRIDGE;
}

/* Ends can be drawn through the frame of the whole path: beyond, mixed coordinates lose digits. */
static int is_sound(const hb_walk_linear *linear)
{
    double most = 0;
    for (size_t k = 0; linear->backward.fine && k < linear->d * linear->d; k++)
        most = fmax(most, fabs(linear->backward.fine[k]));
    return linear->backward.fine && (linear->diagonal || most < MOST_GROWTH);
}

/* Walks of many steps go along heat balls and isotropic frames. */
static hb_status plan_check_noise(const hb_walks *w, const hb_problem *problem)
{
    const hb_noise_kind kind = hb_problem_noise_kind(problem);
    if (kind == HB_NOISE_SCALAR || (kind == HB_NOISE_MATRIX && w->shared.linear)) return HB_OK;
    const char *why = kind == HB_NOISE_FIELD          ? "a noise that depends on x"
                      : hb_problem_is_linear(problem) ? "this start under a noise that is a matrix"
                                                      : "a noise that is a matrix, unless the "
                                                        "drift is linear";
    return hb_fail(w->context, HB_ERROR_ARGUMENT, "walks are not made for %s; take the method %s",
                   why, kind == HB_NOISE_FIELD ? "grid" : "particles");
}

/* A frame keeps the drift of its beginning. Over a piece of length h between cuts the change of F
 * is worth |dF| sqrt(2h) in the exponent of a weight, which no number of walks averages: about
 * a/sqrt(w) for a pulse that moves x by a within w. Looked at for a walk that stays at x. */
static hb_status check_pulses(const hb_walks *w)
{
    const size_t d = w->shared.d, stride = 1 + w->n / PULSE_POINTS;
    const hb_time_cuts *cuts = w->shared.cuts;
    void *memory;
    if (!cuts) return HB_OK;
    HB_TRY(hb_allocate(w->context, 2 * d, sizeof(double), &memory));
    double *F = memory, worst = 0; // (2, d)
    hb_status status = HB_OK;
    for (size_t i = 0; i < w->n && status == HB_OK; i += stride) {
        double sum = 0;
        for (int k = 0; k < cuts->n && cuts->tau[k] < w->shared.tau && status == HB_OK; k++) {
            double most = 0, *now = F + (size_t)(k % 2) * d, *before = F + (size_t)(1 - k % 2) * d;
            status = hb_problem_drift_each(w->context, w->shared.problem, 1, w->points + i * d,
                                           cuts->tau + k, now, NULL, NULL, NULL);
            for (size_t a = 0; a < d && k > 0; a++) most = fmax(most, fabs(now[a] - before[a]));
            if (k > 0) sum += most * sqrt(2 * (cuts->tau[k] - cuts->tau[k - 1]));
        }
        worst = fmax(worst, sum);
    }
    hb_release(w->context, memory);
    HB_TRY(status);
    HB_CHECK(w->context, worst <= MOST_PULSE, HB_ERROR_ARGUMENT,
             "the drift has a narrow pulse in t that is too strong for walks; take the method %s",
             d <= 3 ? "particles or grid" : "particles");
    return HB_OK;
}

/* A uniform start is averaged in closed form under diagonal frames only; and its gradient, a spike
 * at the boundary, is had in closed form only. */
hb_status hb_walks_describe(hb_walks *w, const hb_problem *problem, double tau)
{
    const size_t d = (size_t)hb_problem_dim(problem);
    const int uniform = hb_problem_initial_facts(problem)->box;
    hb_walk_problem *shared = &w->shared;
    HB_TRY(hb_walk_linear_find(w->context, problem, tau, &w->linear));
    const int diagonal = w->linear.diagonal;
    w->closed = hb_walk_linear_is_closed(&w->linear);
    *shared = (hb_walk_problem){
        .problem = problem, .d = d, .tau = tau, .place = hb_problem_initial_place(problem)};
    shared->linear = w->closed || (is_sound(&w->linear) && (!uniform || diagonal));
    shared->exact = shared->linear ? w->linear.backward.fine : NULL;
    shared->cuts =
        shared->linear || hb_problem_cuts(problem)->n == 0 ? NULL : hb_problem_cuts(problem);
    shared->gradient = !shared->linear && hb_problem_is_gradient(problem) &&
                       hb_problem_is_autonomous(problem) &&
                       hb_problem_facts(problem)->n_breaks == 0;
    w->breaks = !w->closed && (hb_problem_facts(problem)->n_breaks > 0 ||
                               hb_problem_initial_facts(problem)->broken);
    const size_t most = shared->gradient ? GRADIENT_FRAME_DIM : FULL_FRAME_DIM;
    shared->full_frame = d > 1 && !uniform && !diagonal && (shared->linear || d <= most);
    shared->closed_form = hb_initial_average_is_closed(problem, !shared->full_frame);
    shared->semidefinite = hb_problem_noise_kind(problem) == HB_NOISE_MATRIX;
    HB_TRY(plan_check_noise(w, problem));
    HB_TRY(check_pulses(w));
    if (shared->gradient) HB_TRY(hb_gauge_formula_create(w->context, problem, &w->gauge));
    shared->gauge = w->gauge;
    return HB_OK;
}
