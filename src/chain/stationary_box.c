/* The box of a stationary density, from the problem alone.
 *
 * PARTICLES tamed Euler paths (path/ensemble.c) start from N(0, s^2) about the origin with s = 0.1,
 * 0.3, 1, 3 and, where the problem has one, from its initial density. They go in phases, each twice
 * as long as the one before, until mean and spread no longer change; the step follows the drift's
 * Jacobian. Paths that keep spreading say that the mass escapes. Nearly all of them at the end, and
 * a little more, are the inner box. Then the noise is made INFLATION times larger: where these
 * paths come, the density is down by 55 (d = 1), 40, 20 (d = 3) or so, as grid_box.c explains.
 * Wells that no path reached are not seen.
 *
 * The width along an axis, which sets the number of points, is the least of the standard
 * deviation and (E max(0, -d_a F_a)/D_aa)^-1/2, to which a stable drift squeezes; where the
 * noise is a tensor, with its D_aa (1 else) and the lengths of path/ensemble.h. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "chain/stationary.h"
#include "path/ensemble.h"
#include "problem/noise.h"

#include <math.h>
#include <string.h>

enum {
    PIECE = 32, /* cells of a piece at least: its coarsest mesh has a spline */
    PARTICLES = 1024,
    RARE = 2, /* particles at each end that the inner box may leave out */
    FIRST_STEPS = 128,
    PHASES = 7,
    LEAST_STEPS = 1024
};

static const double STEADY = 0.1; /* change of mean and spread, in spreads, at which phases end */
static const double STEP = 0.1;   /* of 1/|Jacobian| */
static const double FAR = 1e9;    /* |x| that no path should reach */
static const double INFLATION[] = {2.2, 1.8, 1.2}; /* of the noise, by dimension */
/* Spreads that tensor noise may go in a step: of the ensemble itself, and of the inflated one. */
static const double GENTLE = 2, FREE = 12;
static const double MOST_OUT = 6; /* spans of the inner box that the boundaries may lie out */
static const double BEYOND = 0.1; /* of the span between them, added at each end */
static const double COARSER = 4;  /* cells outside the inner box, against those in it */

typedef struct stationary_search {
    hb_context *context;
    const hb_problem *problem;
    size_t d;
    uint64_t drawn; /* normals so far */
    double step;    /* in tau */
    int steps;      /* of the last phase */
    hb_ensemble paths;
    double *D, *jacobian; // (PARTICLES, d, d) each
    double *sizes;        // (PARTICLES)
    double diffusion[3];  /* the median of D_aa; 1 for a scalar */
    double mean[3], deviation[3];
    double least[3], most[3], most_drift; /* since they were reset */
} stationary_search;

/* ---- paths ---- */

static void stationary_observe(stationary_search *s)
{
    double variance[3];
    hb_ensemble_moments(&s->paths, s->mean, variance);
    for (size_t a = 0; a < s->d; a++) s->deviation[a] = sqrt(variance[a]);
}

static hb_status stationary_begin(stationary_search *s)
{
    static const double scales[] = {0.1, 0.3, 1, 3};
    double *x = s->paths.x;
    HB_TRY(hb_ensemble_draw(&s->paths, 0));
    s->drawn = s->paths.per_draw;
    for (size_t i = 0; i < PARTICLES * s->d; i++) x[i] = scales[i / s->d % 4] * s->paths.normals[i];
    if (hb_problem_initial_kind(s->problem) != HB_INITIAL_KIND_NONE)
        HB_TRY(hb_problem_initial_sample(s->context, s->problem, 1, 0, PARTICLES / 4, x));
    stationary_observe(s);
    return HB_OK;
}

/* The median of D_aa over the particles: tails of a noise that grows do not count. */
static hb_status stationary_diffusion(stationary_search *s)
{
    const size_t d = s->d;
    for (size_t a = 0; a < d; a++) s->diffusion[a] = 1;
    if (!s->paths.tensor) return HB_OK;
    HB_TRY(hb_problem_diffusion(s->context, s->problem, PARTICLES, s->paths.x, 0, s->D, NULL));
    for (size_t a = 0; a < d; a++) {
        for (size_t i = 0; i < PARTICLES; i++) s->sizes[i] = s->D[(i * d + a) * d + a];
        hb_sort(PARTICLES, s->sizes);
        s->diffusion[a] = fmax(s->sizes[PARTICLES / 2], 1e-300);
    }
    return HB_OK;
}

/* The Jacobian of the drift and the diffusion at the particles. */
static hb_status stationary_coefficients(stationary_search *s)
{
    HB_TRY(hb_problem_drift(s->context, s->problem, PARTICLES, s->paths.x, 0, NULL, NULL, NULL,
                            s->jacobian));
    return stationary_diffusion(s);
}

/* A step that follows the drift where most particles are. */
static hb_status stationary_choose_step(stationary_search *s)
{
    const size_t d = s->d;
    double slowest = 0;
    HB_TRY(stationary_coefficients(s));
    for (size_t a = 0; a < d; a++)
        slowest = fmax(slowest, s->deviation[a] * s->deviation[a] / s->diffusion[a]);
    for (size_t i = 0; i < PARTICLES; i++) s->sizes[i] = hb_matrix_norm(d, s->jacobian + i * d * d);
    hb_sort(PARTICLES, s->sizes);
    s->step = fmin(STEP / fmax(s->sizes[PARTICLES / 2], 1e-300), STEP * slowest);
    return HB_OK;
}

static hb_status stationary_escapes(const stationary_search *s)
{
    if (s->paths.tensor)
        return hb_fail(s->context, HB_ERROR_ARGUMENT,
                       "there is no stationary density, or its tails are too heavy for a grid: "
                       "paths keep spreading; ask for %s",
                       s->d == 1 ? "the method auto or a finite time" : "a finite time");
    return hb_fail(s->context, HB_ERROR_ARGUMENT,
                   "there is no stationary density: nothing holds the mass together, paths keep "
                   "spreading; ask for a finite time");
}

/* Tensor noise that grows with x would throw particles out: a step has a reach in spreads. */
static hb_status stationary_move(stationary_search *s, double inflation)
{
    double reach[3] = {0};
    for (size_t a = 0; a < s->d; a++) reach[a] = (inflation > 1 ? FREE : GENTLE) * s->deviation[a];
    const hb_ensemble_move move = {
        .step = s->step, .inflation = inflation, .first = s->drawn, .reach = reach};
    HB_TRY(hb_ensemble_step(&s->paths, &move));
    s->drawn += s->paths.per_draw;
    for (size_t i = 0; i < PARTICLES * s->d; i++) {
        const double x = s->paths.x[i];
        const size_t a = i % s->d;
        s->most_drift = fmax(s->most_drift, fabs(s->paths.F[i]));
        if (!(fabs(x) < FAR)) return stationary_escapes(s);
        s->least[a] = fmin(s->least[a], x);
        s->most[a] = fmax(s->most[a], x);
    }
    return HB_OK;
}

/* Until mean and spread no longer change. */
static hb_status stationary_relax(stationary_search *s)
{
    double growth = 0;
    int steady = 0;
    HB_TRY(stationary_begin(s));
    for (int phase = 0; phase < PHASES && steady < 2; phase++) {
        const stationary_search before = *s;
        double change = growth = 0;
        HB_TRY(stationary_choose_step(s));
        s->steps = FIRST_STEPS << phase;
        for (int k = 0; k < s->steps; k++) HB_TRY(stationary_move(s, 1));
        stationary_observe(s);
        for (size_t a = 0; a < s->d; a++) {
            const double size = fmin(before.deviation[a], s->deviation[a]);
            change = fmax(change, fabs(s->mean[a] - before.mean[a]) / size);
            change = fmax(change, fabs(s->deviation[a] - before.deviation[a]) / size);
            growth = fmax(growth, s->deviation[a] / before.deviation[a]);
        }
        steady = change < STEADY ? steady + 1 : 0;
    }
    return steady || growth < 1.3 ? HB_OK : stationary_escapes(s);
}

static hb_status stationary_widths(stationary_search *s, hb_grid_box *box)
{
    const size_t d = s->d;
    double lengths[3] = {INFINITY, INFINITY, INFINITY};
    HB_TRY(stationary_coefficients(s));
    if (s->paths.tensor) hb_ensemble_lengths(PARTICLES, (int)d, s->paths.x, lengths);
    for (size_t a = 0; a < d; a++) {
        double squeeze = 0;
        for (size_t i = 0; i < PARTICLES; i++) {
            squeeze += fmax(0, -s->jacobian[(i * d + a) * d + a]) / PARTICLES;
            s->sizes[i] = s->paths.x[i * d + a];
        }
        box->width[a] = fmin(s->deviation[a], sqrt(s->diffusion[a] / fmax(squeeze, 1e-300)));
        box->width[a] = fmin(box->width[a], lengths[a]);
        hb_sort(PARTICLES, s->sizes);
        const double low = s->sizes[RARE], high = s->sizes[PARTICLES - 1 - RARE];
        box->inner_low[a] = low - BEYOND * (high - low);
        box->inner_high[a] = high + BEYOND * (high - low);
    }
    return HB_OK;
}

/* Where paths with more noise come, as in grid_box.c. Where the drift is not finite that far
 * out, the hull so far stays; so it does at MOST_OUT spans of the inner box. */
static hb_status stationary_inflate(stationary_search *s, hb_grid_box *box)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): dim is 1 to 3 here */
    const double inflation = INFLATION[s->d - 1];
    const int steps = s->steps < LEAST_STEPS ? LEAST_STEPS : s->steps;
    hb_status status = HB_OK;
    s->most_drift = 0;
    for (int k = 0; k < steps && status == HB_OK; k++) {
        for (size_t a = 0; a < s->d && (2 * k == steps || k == 0); a++) {
            s->least[a] = INFINITY;
            s->most[a] = -INFINITY;
        }
        status = stationary_move(s, inflation);
    }
    if (status != HB_OK && status != HB_ERROR_DOMAIN && status != HB_ERROR_ARGUMENT) return status;
    for (size_t a = 0; a < s->d; a++) {
        const double most = MOST_OUT * (box->inner_high[a] - box->inner_low[a]);
        box->low[a] = fmax(fmin(s->least[a], box->inner_low[a]), box->inner_low[a] - most);
        box->high[a] = fmin(fmax(s->most[a], box->inner_high[a]), box->inner_high[a] + most);
    }
    return HB_OK;
}

static hb_status stationary_find(stationary_search *s, size_t n_at, const double *at,
                                 hb_grid_box *box)
{
    HB_TRY(stationary_relax(s));
    HB_TRY(stationary_widths(s, box));
    HB_TRY(stationary_inflate(s, box));
    const hb_box_points points = {n_at, at, 0, s->most_drift, s->deviation};
    for (size_t i = 0; i < n_at; i++) { /* a point without a drift is refused */
        double F[3];
        HB_TRY(hb_problem_drift(s->context, s->problem, 1, at + i * s->d, 0, F, NULL, NULL, NULL));
    }
    return hb_grid_box_hold(s->context, s->problem, &points, box);
}

hb_status hb_chain_box(hb_context *context, const hb_problem *problem, size_t n_at,
                       const double *at, hb_grid_box *out)
{
    memset(out, 0, sizeof *out);
    const size_t d = (size_t)hb_problem_dim(problem), n = PARTICLES * d;
    stationary_search s = {.context = context, .problem = problem, .d = d};
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(s.jacobian, n * d), HB_ARRAY(s.D, n * d),
                        HB_ARRAY(s.sizes, PARTICLES)));
    hb_status status = hb_ensemble_create(context, problem, PARTICLES, &s.paths);
    if (status == HB_OK) status = stationary_find(&s, n_at, at, out);
    hb_ensemble_destroy(&s.paths);
    hb_workspace_destroy(&work);
    return status;
}

/* ---- the axis ---- */

static void axis_add_piece(hb_axis *axis, int cells, double to)
{
    const int p = axis->pieces++;
    axis->first[p + 1] = axis->first[p] + (cells + 3) / 4 * 4;
    axis->joint[p + 1] = to;
}

/* Cells of a piece of this length outside, next to cells of length h. */
static int axis_outer_cells(double length, double h)
{
    return (int)fmin(fmax(ceil(length / (COARSER * h)), PIECE), 2 * PIECE);
}

hb_axis hb_chain_axis(const hb_grid_box *box, int axis, int cells)
{
    const double low = box->low[axis], high = box->high[axis];
    const double from = box->inner_low[axis], to = box->inner_high[axis], h = (to - from) / cells;
    if (!(from > low + PIECE * h && to < high - PIECE * h)) return hb_axis_even(cells, low, high);
    hb_axis out = {.joint = {low}};
    const double step = PIECE * COARSER * h;
    if (from - low > 2 * step) axis_add_piece(&out, PIECE, from - step);
    axis_add_piece(&out, axis_outer_cells(from - out.joint[out.pieces], h), from);
    axis_add_piece(&out, cells, to);
    if (high - to > 2 * step) axis_add_piece(&out, PIECE, to + step);
    axis_add_piece(&out, axis_outer_cells(high - out.joint[out.pieces], h), high);
    return out;
}
