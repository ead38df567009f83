/* A start that is a single point: the grid of coordinates that grow with the density.
 *
 * With x = x0 + s(tau) xi and the clock dsigma = dtau/s^2 the density U = s^d u of xi solves the same equation,
 *     dU/dsigma = Lap U - div(F' U),     F' = s F(x0 + s xi, tau) - s s' xi,
 * for any s. Two choices, with k = infinity the first:
 *     s^2 = 2 tau,                     s s' = 1,              sigma = ln(tau/tau_0)/2
 *     s^2 = 2k (1 - e^(-tau/k)),       s s' = e^(-tau/k),     sigma = ln[(e^(tau/k) - 1)/(e^(tau_0/k) - 1)]/2
 * Near tau = 0 F' is -xi, whose stationary density N(0,1) is the heat kernel; so the grid starts at tau_0 = 1e-12 tau
 * from N(s_0 F(x0)/2, 1), the kernel moved by the drift, and nothing happens until the drift is felt. What is left out
 * at tau_0 is of relative order tau_0 dF/dx in the variance and moves ln u by less than 1e-10. k is chosen such that s
 * follows the width of the density, which 512 trajectories tell.
 * In xi all breaks of the drift move: kinks make the grid claim more (grid_extrapolate.c), jumps are refused. And a
 * drift that holds the density together makes a box in xi, which is wide at first, far too wide in the end. In both cases
 * the way in xi ends at tau/64, tau/32, .. or tau/4, the first at which a grid in x has cells small enough for the density
 * there, and such a grid goes on; the errors of the first are added to its own.
 * A number to reproduce: Brownian motion, t = 1e-4, has ln u = -ln(2 pi t)/2 in x0. */
#include "grid/grid_zoom.h"
#include "base/context.h"
#include "base/memory.h"
#include "grid/grid_kept.h"
#include "problem/drift_facts.h"
#include "problem/initial/initial_average.h"
#include "random/streams.h"

#include <heatball/random.h>
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

/* ---- size and clock ---- */

double hb_zoom_size(const hb_grid_zoom *z, double tau)
{
    return sqrt(isinf(z->knee) ? 2 * tau : -2 * z->knee * expm1(-tau / z->knee));
}

/* s s' */
static double growth(const hb_grid_zoom *z, double tau)
{
    return isinf(z->knee) ? 1 : exp(-tau / z->knee);
}

/* ln(e^y - 1) */
static double log_expm1(double y)
{
    return y + log(-expm1(-y));
}

double hb_zoom_sigma(const hb_grid_zoom *z, double tau)
{
    if (tau == z->tau_end && z->sigma_end > 0) return z->sigma_end;
    if (isinf(z->knee)) return 0.5 * log(tau / z->tau_start);
    return 0.5 * (log_expm1(tau / z->knee) - log_expm1(z->tau_start / z->knee));
}

double hb_zoom_tau(const hb_grid_zoom *z, double sigma)
{
    if (sigma >= z->sigma_end) return z->tau_end;
    if (isinf(z->knee)) return fmin(z->tau_start * exp(2 * sigma), z->tau_end);
    const double q = 2 * sigma + log_expm1(z->tau_start / z->knee);
    const double y = q > 30 ? q + log1p(exp(-q)) : log1p(exp(q));
    return fmin(z->knee * y, z->tau_end);
}

/* ---- how wide the density becomes ---- */

/* The geometric mean over the axes of the variance at the end, of a cloud that starts in x0. */
static hb_status spread(hb_context *context, const hb_grid_zoom *z, double *variance)
{
    const size_t d = z->d, n = PARTICLES * d;
    const double dt = z->tau_end / STEPS;
    void *memory;
    HB_TRY(hb_allocate(context, 3 * n + PARTICLES, sizeof(double), &memory));
    double *x = memory, *F = x + n, *normals = F + n, *tau = normals + n;
    hb_status status = HB_OK;
    for (size_t i = 0; i < n; i++) x[i] = z->place[i % d];
    for (int step = 0; step < STEPS && status == HB_OK; step++) {
        for (size_t i = 0; i < PARTICLES; i++) tau[i] = step * dt;
        status = hb_problem_drift_each(context, z->problem, PARTICLES, x, tau, F, NULL, NULL, NULL);
        if (status == HB_OK)
            status =
                hb_random_normal(context, 1, HB_STREAM_GRID_BOX, (uint64_t)step * n, n, normals);
        for (size_t i = 0; i < n && status == HB_OK; i++)
            x[i] += F[i] * dt / (1 + fabs(F[i]) * dt) + sqrt(2 * dt) * normals[i];
    }
    double sum = 0;
    for (size_t a = 0; a < d; a++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < PARTICLES; i++) mean += x[i * d + a] / PARTICLES;
        for (size_t i = 0; i < PARTICLES; i++)
            squares += (x[i * d + a] - mean) * (x[i * d + a] - mean) / PARTICLES;
        sum += log(squares) / (double)d;
    }
    *variance = exp(sum);
    hb_release(context, memory);
    return status;
}

/* k with 2k (1 - e^(-tau/k)) = variance. */
static hb_status choose_knee(hb_context *context, hb_grid_zoom *z)
{
    double variance;
    HB_TRY(spread(context, z, &variance));
    z->knee = INFINITY;
    if (!(variance < GROWS * 2 * z->tau_end)) return HB_OK;
    double low = 0.1 * variance, high = 10 * z->tau_end;
    for (int step = 0; step < 60; step++) {
        z->knee = sqrt(low * high);
        const double size = hb_zoom_size(z, z->tau_end);
        *(size * size < variance ? &low : &high) = z->knee;
    }
    return HB_OK;
}

/* ---- the problem in xi ---- */

typedef struct zoomed_drift {
    const hb_grid_zoom *zoom;
    hb_context context; /* the callback is called by one thread at a time */
} zoomed_drift;

/* F' and its Jacobian of one point, in the place of F and J. */
static void scale_drift(size_t d, double size, double grows, const double *xi, double *F,
                        double *jacobian)
{
    for (size_t a = 0; a < d; a++) F[a] = size * F[a] - grows * xi[a];
    for (size_t k = 0; jacobian && k < d * d; k++)
        jacobian[k] = size * size * jacobian[k] - (k / d == k % d ? grows : 0);
}

static int drift_in_xi(void *user, size_t n, const double *xi, const double *sigma, double *F,
                       double *jacobian)
{
    enum { BLOCK = 256 };
    zoomed_drift *own = user;
    const hb_grid_zoom *z = own->zoom;
    const size_t d = z->d;
    double x[BLOCK * 3], tau[BLOCK], size[BLOCK], grows[BLOCK];
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t count = n - first < BLOCK ? n - first : BLOCK;
        for (size_t i = 0; i < count; i++) {
            const int same = i > 0 && sigma[first + i] == sigma[first + i - 1];
            tau[i] = same ? tau[i - 1] : hb_zoom_tau(z, sigma[first + i]);
            size[i] = same ? size[i - 1] : hb_zoom_size(z, tau[i]);
            grows[i] = same ? grows[i - 1] : growth(z, tau[i]);
            for (size_t a = 0; a < d; a++)
                x[i * d + a] = z->place[a] + size[i] * xi[(first + i) * d + a];
        }
        if (hb_problem_drift_each(&own->context, z->problem, count, x, tau, F + first * d, NULL,
                                  NULL, jacobian ? jacobian + first * d * d : NULL) != HB_OK)
            return 1;
        for (size_t i = 0; i < count; i++)
            scale_drift(d, size[i], grows[i], xi + (first + i) * d, F + (first + i) * d,
                        jacobian ? jacobian + (first + i) * d * d : NULL);
    }
    return 0;
}

static hb_status create_problem(hb_context *context, zoomed_drift *own, hb_problem **out)
{
    const hb_grid_zoom *z = own->zoom;
    const double size = hb_zoom_size(z, z->tau_start), tau = 0;
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
    settings.drift_callback = drift_in_xi;
    settings.drift_has_jacobian = 1;
    settings.drift_user = own;
    settings.noise = "1.4142135623730951"; /* so that sigma is its own time */
    settings.initial = initial;
    settings.time = z->sigma_end;
    return hb_problem_create(context, &settings, out);
}

/* ---- what breaks ---- */

hb_status hb_zoom_flaws(hb_context *context, const hb_grid_zoom *z, const double *low,
                        const double *high, hb_layout_flaws *flaws)
{
    const hb_drift_facts *facts = hb_problem_facts(z->problem);
    const double size = hb_zoom_size(z, z->tau_end);
    hb_interval box[3];
    void *memory;
    if (facts->n_breaks == 0) return HB_OK;
    for (size_t a = 0; a < z->d; a++)
        box[a] = (hb_interval){z->place[a] + size * low[a], z->place[a] + size * high[a]};
    HB_TRY(hb_allocate(context, (size_t)facts->n_breaks, sizeof(hb_interval), &memory));
    const hb_interval *arguments = memory;
    hb_status status =
        hb_problem_ranges(context, z->problem, box, (hb_interval){0, z->tau_end}, NULL, memory);
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
    hb_release(context, memory);
    return status;
}

/* ---- the grid ---- */

typedef struct asked {
    hb_grid_settings settings;
    size_t n;
    double *at; // (n, d): in xi
} asked;

/* What is asked in x and tau, in xi and sigma. */
static hb_status ask(hb_context *context, const hb_grid_zoom *z, const hb_grid_settings *settings,
                     size_t n_at, const double *at, asked *out)
{
    const size_t d = z->d;
    const int kept = !isnan(settings->keep_from);
    const double size = hb_zoom_size(z, z->tau_end);
    out->settings = *settings;
    HB_CHECK(context, !kept || settings->keep_from > z->tau_start, HB_ERROR_ARGUMENT,
             "keep_from is tau = %g; an initial condition that is a point has no density at tau = "
             "0, so it must "
             "be above %.3g",
             settings->keep_from, z->tau_start);
    if (kept) out->settings.keep_from = hb_zoom_sigma(z, settings->keep_from);
    for (size_t a = 0; a < d; a++) {
        out->settings.low[a] = (settings->low[a] - z->place[a]) / size;
        out->settings.high[a] = (settings->high[a] - z->place[a]) / size;
        HB_CHECK(context, !(out->settings.low[a] > -7) && !(out->settings.high[a] < 7),
                 HB_ERROR_ARGUMENT,
                 "the box of axis %zu is [%g, %g]; a grid that grows from the point %g must reach "
                 "from %g to %g",
                 a + 1, settings->low[a], settings->high[a], z->place[a], z->place[a] - 7 * size,
                 z->place[a] + 7 * size);
    }
    void *memory;
    HB_TRY(hb_allocate(context, 2 * n_at * d + 1, sizeof(double), &memory));
    out->at = memory;
    out->n = kept ? 2 * n_at : n_at;
    const double before = kept ? hb_zoom_size(z, settings->keep_from) : size;
    for (size_t i = 0; i < out->n * d; i++)
        out->at[i] = (at[i % (n_at * d)] - z->place[i % d]) / (i < n_at * d ? size : before);
    return HB_OK;
}

/* The grid in xi as one in x; it becomes the inner one's owner. */
static hb_status wrap(hb_context *context, const hb_grid_zoom *z, hb_grid *inner, hb_grid **out)
{
    void *memory;
    const hb_status status =
        hb_allocate(context, 1, sizeof(hb_grid) + sizeof(hb_grid_zoom), &memory);
    if (status != HB_OK) {
        hb_grid_destroy(inner);
        return status;
    }
    hb_grid *grid = memset(memory, 0, sizeof(hb_grid));
    hb_grid_zoom *kept = (hb_grid_zoom *)(grid + 1);
    const double size = hb_zoom_size(z, z->tau_end);
    *kept = *z;
    kept->problem = NULL; /* it need not live as long */
    grid->context = context;
    grid->inner = inner;
    grid->zoom = kept;
    grid->info = inner->info;
    grid->info.tau = z->tau_end;
    grid->n_levels = inner->n_levels;
    grid->tau[0] = inner->n_levels > 1 ? hb_zoom_tau(z, inner->tau[0]) : z->tau_end;
    for (size_t a = 0; a < z->d; a++) {
        grid->info.low[a] = z->place[a] + size * inner->info.low[a];
        grid->info.high[a] = z->place[a] + size * inner->info.high[a];
    }
    *out = grid;
    return HB_OK;
}

static hb_status solve(hb_context *context, const hb_grid_zoom *z, const asked *what, hb_grid **out)
{
    hb_problem *problem = NULL;
    hb_grid *inner = NULL;
    zoomed_drift own = {.zoom = z, .context = hb_context_child(context, 1)};
    HB_TRY(create_problem(context, &own, &problem));
    double sigma_end;
    hb_status status = hb_problem_tau_of_t(context, problem, z->sigma_end, &sigma_end);
    if (status == HB_OK)
        status = hb_grid_solve_within(context, problem, &what->settings, what->n, what->at,
                                      sigma_end, NULL, z, &inner);
    hb_problem_destroy(problem);
    if (status == HB_ERROR_DOMAIN || status == HB_ERROR_CALLBACK)
        status = hb_fail(
            context, HB_ERROR_NUMERICAL,
            "the drift has no value somewhere in the box that a grid needs around the initial "
            "point; the methods particles and walk may answer");
    return status == HB_OK ? wrap(context, z, inner, out) : status;
}

/* The whole way in xi. */
static hb_status solve_in_xi(hb_context *context, const hb_problem *problem,
                             const hb_grid_settings *settings, size_t n_at, const double *at,
                             double tau_end, hb_grid **out)
{
    hb_grid_zoom z = {.problem = problem,
                      .d = (size_t)hb_problem_dim(problem),
                      .tau_start = FIRST * tau_end,
                      .tau_end = tau_end};
    asked what = {0};
    memcpy(z.place, hb_problem_initial_place(problem), z.d * sizeof(double));
    HB_TRY(choose_knee(context, &z));
    z.sigma_end = hb_zoom_sigma(&z, tau_end);
    hb_status status = ask(context, &z, settings, n_at, at, &what);
    if (status == HB_OK) status = solve(context, &z, &what, out);
    hb_release(context, what.at);
    return status;
}

/* ---- two grids ---- */

/* About where the density is at a tau that is small. */
static hb_status describe(hb_context *context, const hb_problem *problem, double tau,
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

/* Whether a grid in x is to go on from a tau; *tau: from which. It is where the drift breaks, or holds the density in a
 * box much smaller than that of xi, and a grid can follow what is there at that tau. */
static hb_status choose_second(hb_context *context, const hb_problem *problem,
                               const hb_grid_settings *settings, size_t n_at, const double *at,
                               double tau_end, hb_grid_from *from, int *yes)
{
    const int dim = hb_problem_dim(problem);
    const hb_drift_facts *facts = hb_problem_facts(problem);
    *yes = 0;
    for (size_t k = 0; k < sizeof SECOND / sizeof *SECOND; k++) {
        hb_grid_box box;
        double small = 0;
        if (!isnan(settings->keep_from) && settings->keep_from <= SECOND[k] * tau_end) break;
        HB_TRY(describe(context, problem, SECOND[k] * tau_end, from));
        HB_TRY(hb_grid_box_choose(context, problem, from, 0.5, 0, tau_end, n_at, at, &box));
        for (int a = 0; a < dim; a++)
            small = fmax(small, (box.high[a] - box.low[a]) / (2 * XI_REACH * sqrt(2 * tau_end)));
        if (facts->n_breaks == 0 && small > SMALLER) return HB_OK;
        *yes = hb_grid_fits(dim, settings->points, &box);
        if (*yes) return HB_OK;
    }
    return HB_OK;
}

/* The largest errors of the first grid in rings of depth RING each, |xi|^2/2 being the depth. */
typedef struct ring_errors {
    double v[RINGS], slope[RINGS];
} ring_errors;

static hb_status first_errors(hb_context *context, const hb_grid *first, ring_errors *out)
{
    enum { PER_AXIS = 33 };
    const int d = first->info.dim, line = PER_AXIS,
              n = d == 1   ? line
                  : d == 2 ? line * line
                           : line * line * line;
    const double reach = sqrt(2 * RING * RINGS) * 0.999,
                 size = hb_zoom_size(first->zoom, first->info.tau);
    memset(out, 0, sizeof *out);
    for (int i = 0; i < n; i++) {
        double x[3], slopes[3], depth = 0, v, e;
        for (int a = 0, rest = i; a < d; a++, rest /= line) {
            const double xi = reach * (2.0 * (rest % line) / (line - 1) - 1);
            x[a] = first->zoom->place[a] + size * xi;
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

/* The equation is linear and keeps signs: a relative error e of u in one ring moves u by no more than e times what comes
 * from there. That is at most all of u, and at most the mass of the ring, e^-depth, times CLOSE times the top of u. */
static void add_first_errors(hb_grid *grid, const ring_errors *errors)
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
                const double share = fmin(1, CLOSE * exp(top - v - r * RING));
                more += share * errors->v[r];
                steeper += share * errors->slope[r];
            }
            grid->v_error[k][node] += more;
            for (size_t a = 0; a < d; a++) grid->slope_error[k][node * d + a] += steeper;
        }
    }
}

static hb_status solve_twice(hb_context *context, const hb_problem *problem,
                             const hb_grid_settings *settings, size_t n_at, const double *at,
                             double tau_end, hb_grid_from *from, hb_grid **out)
{
    hb_grid_settings early;
    hb_grid *first = NULL;
    hb_field field;
    ring_errors errors;
    hb_grid_settings_default(sizeof early, &early);
    early.tolerance = settings->tolerance;
    early.max_time = settings->max_time;
    HB_TRY(solve_in_xi(context, problem, &early, 0, NULL, from->tau, &first));
    hb_grid_field(first, &field);
    from->field = &field;
    hb_status status = first_errors(context, first, &errors);
    if (status == HB_OK)
        status =
            hb_grid_solve_within(context, problem, settings, n_at, at, tau_end, from, NULL, out);
    if (status == HB_OK) {
        add_first_errors(*out, &errors);
        (*out)->info.steps += first->info.steps;
    }
    hb_grid_destroy(first);
    return status;
}

hb_status hb_grid_solve_zoom(hb_context *context, const hb_problem *problem,
                             const hb_grid_settings *settings, size_t n_at, const double *at,
                             double tau_end, hb_grid **out)
{
    hb_grid_from from;
    int twice = 0;
    HB_TRY(choose_second(context, problem, settings, n_at, at, tau_end, &from, &twice));
    if (twice) return solve_twice(context, problem, settings, n_at, at, tau_end, &from, out);
    return solve_in_xi(context, problem, settings, n_at, at, tau_end, out);
}
