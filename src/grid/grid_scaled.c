/* An initial condition that is a point: a grid in coordinates that grow with the density.
 *
 * With x = x0 + s(tau) xi and dsigma = dtau/s^2 the density U = s^d u of xi solves the same
 * equation with
 *     F' = s F(x0 + s xi, tau) - s s' xi.     Two choices, the first for k = infinity:
 *     s^2 = 2 tau,                  s s' = 1,           e^2sigma = tau/tau_0
 *     s^2 = 2k (1 - e^(-tau/k)),  s s' = e^(-tau/k), e^2sigma = (e^(tau/k) - 1)/(e^(tau_0/k) - 1)
 * Near tau = 0 F' is -xi, whose stationary density N(0,1) is the heat kernel; so the grid starts
 * at tau_0 = 1e-12 tau from N(s_0 F(x0)/2, 1), which moves ln u by less than 1e-10. k lets s
 * follow the width of the density, which 512 trajectories tell. In xi all breaks of the drift
 * move: kinks raise reported errors (grid_extrapolate.c), jumps are refused. Where the drift
 * breaks, or holds the density in a much smaller box, xi ends at tau/64 .. tau/4, the first at
 * which a grid in x has cells small enough, and that grid goes on; the errors of the first are
 * added to its own. A number to reproduce: Brownian motion, t = 1e-4, has ln u = -ln(2 pi t)/2
 * in x0. */
#include "base/context.h"
#include "base/memory.h"
#include "grid/grid_kept.h"
#include "grid/grid_solve.h"
#include "path/ensemble.h"
#include "problem/drift_facts.h"
#include "problem/initial/initial_average.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PARTICLES = 512, STEPS = 128, RINGS = 9 };

static const double FIRST = 1e-12; /* tau_0, of the end */
static const double GROWS =
    0.8; /* of the variance without a drift, from which on s does not stop */

static const double SECOND[] = {1.0 / 64, 1.0 / 32, 1.0 / 16, 1.0 / 8,
                                1.0 / 4}; /* tau of a second grid, of the end */
static const double XI_REACH = 10;        /* of a box in xi */
static const double SMALLER = 0.6;        /* of that box, which a second grid is worth */
static const double RING = 2; /* of depth, in which the errors of the first grid are gathered */
static const double CLOSE = 8;

/* ---- size and time ---- */

double hb_scaling_size(const hb_grid_scaling *z, double tau)
{
    return sqrt(isinf(z->knee) ? 2 * tau : -2 * z->knee * expm1(-tau / z->knee));
}

/* s s' */
static double scaling_growth(const hb_grid_scaling *z, double tau)
{
    return isinf(z->knee) ? 1 : exp(-tau / z->knee);
}

/* ln(e^y - 1) */
static double log_expm1(double y)
{
    return y + log(-expm1(-y));
}

double hb_scaling_sigma(const hb_grid_scaling *z, double tau)
{
    if (tau == z->tau_end && z->sigma_end > 0) return z->sigma_end;
    if (isinf(z->knee)) return 0.5 * log(tau / z->tau_start);
    return 0.5 * (log_expm1(tau / z->knee) - log_expm1(z->tau_start / z->knee));
}

static double scaling_tau(const hb_grid_scaling *z, double sigma)
{
    if (sigma >= z->sigma_end) return z->tau_end;
    if (isinf(z->knee)) return fmin(z->tau_start * exp(2 * sigma), z->tau_end);
    const double q = 2 * sigma + log_expm1(z->tau_start / z->knee);
    const double y = q > 30 ? q + log1p(exp(-q)) : log1p(exp(q));
    return fmin(z->knee * y, z->tau_end);
}

/* ---- how wide the density becomes ---- */

/* The geometric mean over the axes of the variance at the end, of particles that start in x0;
 * NaN where they come to places without a drift. */
static hb_status scaling_spread(hb_context *context, const hb_grid_scaling *z, double *variance)
{
    const double step = z->tau_end / STEPS;
    double mean[3], of_axis[3], sum = 0;
    hb_ensemble paths;
    hb_status status = hb_ensemble_create(context, z->problem, PARTICLES, &paths);
    for (size_t i = 0; i < PARTICLES * z->d && status == HB_OK; i++)
        paths.x[i] = z->place[i % z->d];
    for (int k = 0; k < STEPS && status == HB_OK; k++) {
        const hb_ensemble_move move = {
            .tau = k * step, .step = step, .inflation = 1, .first = (uint64_t)k * paths.per_draw};
        status = hb_ensemble_step(&paths, &move);
    }
    if (status == HB_OK) hb_ensemble_moments(&paths, mean, of_axis);
    for (size_t a = 0; a < z->d && status == HB_OK; a++) sum += log(of_axis[a]) / (double)z->d;
    *variance = status == HB_OK ? exp(sum) : (double)NAN;
    hb_ensemble_destroy(&paths);
    return status == HB_ERROR_DOMAIN ? HB_OK : status;
}

/* k with 2k (1 - e^(-tau/k)) = variance. */
static hb_status scaling_choose_knee(hb_context *context, hb_grid_scaling *z)
{
    double variance;
    HB_TRY(scaling_spread(context, z, &variance));
    z->knee = INFINITY;
    if (!(variance < GROWS * 2 * z->tau_end)) return HB_OK;
    double low = 0.1 * variance, high = 10 * z->tau_end;
    for (int step = 0; step < 60; step++) {
        z->knee = sqrt(low * high);
        const double size = hb_scaling_size(z, z->tau_end);
        *(size * size < variance ? &low : &high) = z->knee;
    }
    return HB_OK;
}

/* ---- the problem in xi ---- */

typedef struct scaled_drift {
    const hb_grid_scaling *scaling;
    hb_context context; /* the callback is called by one thread at a time */
} scaled_drift;

/* F' and its Jacobian of one point, in the place of F and J. */
static void scaled_drift_point(size_t d, double size, double grows, const double *xi, double *F,
                               double *jacobian)
{
    for (size_t a = 0; a < d; a++) F[a] = size * F[a] - grows * xi[a];
    for (size_t k = 0; jacobian && k < d * d; k++)
        jacobian[k] = size * size * jacobian[k] - (k / d == k % d ? grows : 0);
}

static int scaled_drift_evaluate(void *user, size_t n, const double *xi, const double *sigma,
                                 double *F, double *jacobian)
{
    enum { BLOCK = 256 };
    scaled_drift *own = user;
    const hb_grid_scaling *z = own->scaling;
    const size_t d = z->d;
    double x[BLOCK * 3], tau[BLOCK], size[BLOCK], grows[BLOCK];
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t count = n - first < BLOCK ? n - first : BLOCK;
        for (size_t i = 0; i < count; i++) {
            const int same = i > 0 && sigma[first + i] == sigma[first + i - 1];
            tau[i] = same ? tau[i - 1] : scaling_tau(z, sigma[first + i]);
            size[i] = same ? size[i - 1] : hb_scaling_size(z, tau[i]);
            grows[i] = same ? grows[i - 1] : scaling_growth(z, tau[i]);
            for (size_t a = 0; a < d; a++)
                x[i * d + a] = z->place[a] + size[i] * xi[(first + i) * d + a];
        }
        if (hb_problem_drift_each(&own->context, z->problem, count, x, tau, F + first * d, NULL,
                                  NULL, jacobian ? jacobian + first * d * d : NULL) != HB_OK)
            return 1;
        for (size_t i = 0; i < count; i++)
            scaled_drift_point(d, size[i], grows[i], xi + (first + i) * d, F + (first + i) * d,
                               jacobian ? jacobian + (first + i) * d * d : NULL);
    }
    return 0;
}

static hb_status scaled_problem_create(hb_context *context, scaled_drift *own, hb_problem **out)
{
    const hb_grid_scaling *z = own->scaling;
    const double size = hb_scaling_size(z, z->tau_start), tau = 0;
    double F[3];
    char initial[160];
    hb_problem_settings settings;
    HB_TRY(hb_problem_drift(context, z->problem, 1, z->place, tau, F, NULL, NULL, NULL));
    size_t used = (size_t)snprintf(initial, sizeof initial, "gaussian(var=1, mean=");
    for (size_t a = 0; a < z->d; a++)
        used +=
            (size_t)snprintf(initial + used, sizeof initial - used, "%.17g ", 0.5 * size * F[a]);
    snprintf(initial + used, sizeof initial - used, ")");
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = (int)z->d;
    settings.drift_callback = scaled_drift_evaluate;
    settings.drift_has_jacobian = 1;
    settings.drift_user = own;
    settings.noise = "1.4142135623730951"; /* so that sigma is its own time */
    settings.initial = initial;
    settings.time = z->sigma_end;
    return hb_problem_create(context, &settings, out);
}

/* ---- what breaks ---- */

hb_status hb_scaling_flaws(hb_context *context, const hb_grid_scaling *z, const double *low,
                           const double *high, hb_layout_flaws *flaws)
{
    const hb_drift_facts *facts = hb_problem_facts(z->problem);
    const double size = hb_scaling_size(z, z->tau_end);
    hb_interval box[3];
    hb_interval *arguments;
    if (facts->n_breaks == 0) return HB_OK;
    for (size_t a = 0; a < z->d; a++)
        box[a] = (hb_interval){z->place[a] + size * low[a], z->place[a] + size * high[a]};
    HB_TRY(HB_NEW(context, arguments, (size_t)facts->n_breaks));
    hb_status status =
        hb_problem_ranges(context, z->problem, box, (hb_interval){0, z->tau_end}, NULL, arguments);
    for (int k = 0; k < facts->n_breaks && status == HB_OK; k++) {
        if (arguments[k].low > 0 || arguments[k].high < 0) continue;
        if (facts->breaks[k].kind == HB_BREAK_JUMP)
            status =
                hb_fail(context, HB_ERROR_NUMERICAL,
                        "the initial condition is a point and the drift jumps, which no node of a "
                        "grid that "
                        "grows from a point can follow; the methods particles and walk answer");
        flaws->kinks |= facts->breaks[k].kind == HB_BREAK_KINK;
    }
    hb_release(context, arguments);
    return status;
}

/* ---- the grid ---- */

/* The request in xi and sigma, of one in x and tau; what.at is to be released. */
static hb_status scaled_request(const hb_grid_scaling *z, const hb_grid_request *r,
                                hb_grid_request *out)
{
    const hb_grid_settings *given = &r->settings;
    const size_t d = z->d, n = r->n_at;
    const int kept = !isnan(given->keep_from);
    const double size = hb_scaling_size(z, z->tau_end);
    *out = *r;
    out->at = NULL;
    HB_CHECK(r->context, !kept || given->keep_from > z->tau_start, HB_ERROR_ARGUMENT,
             "keep_from is tau = %g; an initial condition that is a point has no density at tau = "
             "0, so it must be above %.3g",
             given->keep_from, z->tau_start);
    if (kept) out->settings.keep_from = hb_scaling_sigma(z, given->keep_from);
    for (size_t a = 0; a < d; a++) {
        out->settings.low[a] = (given->low[a] - z->place[a]) / size;
        out->settings.high[a] = (given->high[a] - z->place[a]) / size;
        HB_CHECK(r->context, !(out->settings.low[a] > -7) && !(out->settings.high[a] < 7),
                 HB_ERROR_ARGUMENT,
                 "the box of axis %zu is [%g, %g]; a grid that grows from the point %g must reach "
                 "from %g to %g",
                 a + 1, given->low[a], given->high[a], z->place[a], z->place[a] - 7 * size,
                 z->place[a] + 7 * size);
    }
    double *xi;
    HB_TRY(HB_NEW(r->context, xi, 2 * n * d + 1));
    out->n_at = kept ? 2 * n : n;
    const double before = kept ? hb_scaling_size(z, given->keep_from) : size;
    for (size_t i = 0; i < out->n_at * d; i++)
        xi[i] = (r->at[i % (n * d)] - z->place[i % d]) / (i < n * d ? size : before);
    out->at = xi;
    return HB_OK;
}

/* The grid in xi as one in x; it becomes the inner one's owner. */
static hb_status scaled_wrap(hb_context *context, const hb_grid_scaling *z, hb_grid *inner,
                             hb_grid **out)
{
    void *memory;
    const hb_status status =
        hb_allocate(context, 1, sizeof(hb_grid) + sizeof(hb_grid_scaling), &memory);
    if (status != HB_OK) {
        hb_grid_destroy(inner);
        return status;
    }
    hb_grid *grid = memset(memory, 0, sizeof(hb_grid));
    hb_grid_scaling *kept = (hb_grid_scaling *)(grid + 1);
    const double size = hb_scaling_size(z, z->tau_end);
    *kept = *z;
    kept->problem = NULL; /* it need not live as long */
    grid->context = context;
    grid->inner = inner;
    grid->scaling = kept;
    grid->info = inner->info;
    grid->info.tau = z->tau_end;
    grid->n_levels = inner->n_levels;
    grid->tau[0] = inner->n_levels > 1 ? scaling_tau(z, inner->tau[0]) : z->tau_end;
    for (size_t a = 0; a < z->d; a++) {
        grid->info.low[a] = z->place[a] + size * inner->info.low[a];
        grid->info.high[a] = z->place[a] + size * inner->info.high[a];
    }
    *out = grid;
    return HB_OK;
}

static hb_status scaled_solve(const hb_grid_scaling *z, hb_grid_request *request, hb_grid **out)
{
    hb_context *context = request->context;
    hb_problem *problem = NULL;
    hb_grid *inner = NULL;
    scaled_drift own = {.scaling = z, .context = hb_context_child(context, 1)};
    HB_TRY(scaled_problem_create(context, &own, &problem));
    request->problem = problem;
    hb_status status = hb_problem_tau_of_t(context, problem, z->sigma_end, &request->tau_end);
    if (status == HB_OK) status = hb_grid_solve_within(request, NULL, z, &inner);
    hb_problem_destroy(problem);
    if (status == HB_ERROR_DOMAIN || status == HB_ERROR_CALLBACK)
        status = hb_fail(
            context, HB_ERROR_NUMERICAL,
            "the drift has no value somewhere in the box that a grid needs around the initial "
            "point; the methods particles and walk may answer");
    if (!inner) return status != HB_OK ? status : HB_ERROR_NUMERICAL;
    return scaled_wrap(context, z, inner, out);
}

/* All of the time in xi. */
static hb_status scaled_solve_all(const hb_grid_request *r, hb_grid **out)
{
    hb_grid_scaling z = {.problem = r->problem,
                         .d = (size_t)hb_problem_dim(r->problem),
                         .tau_start = FIRST * r->tau_end,
                         .tau_end = r->tau_end};
    hb_grid_request in_xi;
    memcpy(z.place, hb_problem_initial_place(r->problem), z.d * sizeof(double));
    HB_TRY(scaling_choose_knee(r->context, &z));
    z.sigma_end = hb_scaling_sigma(&z, r->tau_end);
    hb_status status = scaled_request(&z, r, &in_xi);
    if (status == HB_OK) status = scaled_solve(&z, &in_xi, out);
    hb_release(r->context, (void *)(uintptr_t)in_xi.at);
    return status;
}

/* ---- two grids ---- */

/* About where the density is at a tau that is small. */
static hb_status scaled_describe(hb_context *context, const hb_problem *problem, double tau,
                                 hb_grid_from *out)
{
    const size_t d = (size_t)hb_problem_dim(problem);
    const double *place = hb_problem_initial_place(problem);
    double F[3];
    HB_TRY(hb_problem_drift(context, problem, 1, place, 0, F, NULL, NULL, NULL));
    *out = (hb_grid_from){.tau = tau, .width = sqrt(2 * tau)};
    for (size_t a = 0; a < d; a++) out->place[a] = place[a] + tau * F[a];
    return HB_OK;
}

/* Whether a grid in x is to go on from a tau; *from: from which. It is where the drift breaks,
 * or holds the density in a box much smaller than that of xi, and a grid can follow what is
 * there at that tau. */
static hb_status scaled_choose_second(const hb_grid_request *r, hb_grid_from *from, int *yes)
{
    const int dim = hb_problem_dim(r->problem);
    const hb_grid_settings *s = &r->settings;
    *yes = 0;
    for (size_t k = 0; k < sizeof SECOND / sizeof *SECOND; k++) {
        const double tau = SECOND[k] * r->tau_end, reach = XI_REACH * sqrt(2 * r->tau_end);
        hb_grid_box box;
        double small = 0;
        if (!isnan(s->keep_from) && s->keep_from <= tau) break;
        HB_TRY(scaled_describe(r->context, r->problem, tau, from));
        HB_TRY(hb_grid_box_choose(r->context, r->problem, from, 0.5, 0, r->tau_end, r->n_at, r->at,
                                  &box));
        for (int a = 0; a < dim; a++) small = fmax(small, (box.high[a] - box.low[a]) / (2 * reach));
        if (hb_problem_facts(r->problem)->n_breaks == 0 && small > SMALLER) return HB_OK;
        *yes = hb_grid_fits(dim, s->points, &box);
        if (*yes) return HB_OK;
    }
    return HB_OK;
}

/* The largest errors of the first grid in rings of depth RING each, |xi|^2/2 being the depth. */
typedef struct ring_errors {
    double v[RINGS], slope[RINGS];
} ring_errors;

static hb_status ring_errors_of(hb_context *context, const hb_grid *first, ring_errors *out)
{
    enum { PER_AXIS = 33 };
    const int d = first->info.dim, line = PER_AXIS,
              n = d == 1   ? line
                  : d == 2 ? line * line
                           : line * line * line;
    const double reach = sqrt(2 * RING * RINGS) * 0.999,
                 size = hb_scaling_size(first->scaling, first->info.tau);
    memset(out, 0, sizeof *out);
    for (int i = 0; i < n; i++) {
        double x[3], slopes[3], depth = 0, v, e;
        for (int a = 0, rest = i; a < d; a++, rest /= line) {
            const double xi = reach * (2.0 * (rest % line) / (line - 1) - 1);
            x[a] = first->scaling->place[a] + size * xi;
            depth += xi * xi / 2;
        }
        const int ring = (int)(depth / RING);
        if (ring >= RINGS) continue;
        HB_TRY(hb_grid_evaluate(context, first, 1, x, first->info.tau, &v, &e, NULL, slopes));
        out->v[ring] = fmax(out->v[ring], e);
        for (int a = 0; a < d; a++) out->slope[ring] = fmax(out->slope[ring], slopes[a]);
    }
    return HB_OK;
}

/* The equation is linear and keeps signs: a relative error e of u in one ring moves u by no more
 * than e times what comes from there. That is at most all of u, and at most the mass of the
 * ring, e^-depth, times CLOSE times the top of u. */
static void add_ring_errors(hb_grid *grid, const ring_errors *errors)
{
    const hb_mesh *mesh = &grid->mesh[2];
    const size_t d = (size_t)grid->info.dim;
    for (int k = 0; k < grid->n_levels; k++) {
        double top = -INFINITY;
        for (size_t i = 0; i < 2 * mesh->size; i++) {
            double x[3], v = 0, more = 0, steeper = 0;
            const size_t node = i % mesh->size;
            hb_spline_place place;
            hb_mesh_point(mesh, node, x);
            hb_spline_locate(&grid->mesh[0], x, &place);
            v = hb_spline_value(&grid->mesh[0], grid->v[k], &place, NULL);
            if (i < mesh->size) top = fmax(top, v); /* the first time round */
            if (i < mesh->size) continue;
            for (int r = 0; r < RINGS; r++) {
                const double part = fmin(1, CLOSE * exp(top - v - r * RING));
                more += part * errors->v[r];
                steeper += part * errors->slope[r];
            }
            grid->v_error[k][node] += more;
            for (size_t a = 0; a < d; a++) grid->slope_error[k][node * d + a] += steeper;
        }
    }
}

static hb_status scaled_solve_twice(const hb_grid_request *r, hb_grid_from from, hb_grid **out)
{
    hb_grid_request early = {.context = r->context, .problem = r->problem, .tau_end = from.tau};
    hb_grid *first = NULL;
    hb_field field;
    ring_errors errors;
    hb_grid_settings_default(sizeof early.settings, &early.settings);
    early.settings.tolerance = r->settings.tolerance;
    early.settings.max_time = r->settings.max_time;
    HB_TRY(scaled_solve_all(&early, &first));
    hb_grid_field(first, &field);
    from.field = &field;
    hb_status status = ring_errors_of(r->context, first, &errors);
    if (status == HB_OK) status = hb_grid_solve_within(r, &from, NULL, out);
    if (status == HB_OK) {
        add_ring_errors(*out, &errors);
        (*out)->info.steps += first->info.steps;
    }
    hb_grid_destroy(first);
    return status;
}

hb_status hb_grid_solve_scaled(const hb_grid_request *r, hb_grid **out)
{
    hb_grid_from from = {0};
    int twice = 0;
    HB_TRY(scaled_choose_second(r, &from, &twice));
    return twice ? scaled_solve_twice(r, from, out) : scaled_solve_all(r, out);
}
