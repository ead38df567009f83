/* The box of a stationary density, from the problem alone.
 *
 * PARTICLES paths dX = F dtau + sqrt(2) dW (Euler-Maruyama, tamed as in grid_box.c) start from N(0, s^2) about the origin
 * with s = 0.1, 0.3, 1, 3 and, where the problem has one, from its initial density. They go in phases, each twice as
 * long as the one before, until mean and spread settle; the step follows the drift's Jacobian. Paths that go on
 * spreading say that the mass escapes. Nearly all of them at the end, and a little more, are the inner box. Then the noise is made INFLATION
 * times larger: where these paths come, the density is down by 55 (d = 1), 40, 20 (d = 3) or so, as grid_box.c explains. Wells that no path
 * reached are not seen.
 *
 * The width along an axis, which sets the number of points, is the least of the deviation and
 * (E max(0, -d_a F_a)/D_aa)^-1/2, to which a stable drift squeezes; where the noise is a tensor, with its D_aa (1 else) and
 * the lengths of tensor_noise.h. */
#include "grid/stationary_box.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "grid/tensor_noise.h"
#include "grid/tensor_scheme.h"
#include "problem/noise.h"
#include "random/streams.h"

#include <heatball/random.h>
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

static const double SETTLED = 0.1;                 /* change of mean and spread, in spreads */
static const double STEP = 0.1;                    /* of 1/|Jacobian| */
static const double FAR = 1e9;                     /* |x| that no path should reach */
static const double INFLATION[] = {2.2, 1.8, 1.2}; /* of the noise, by dimension */
/* Spreads, of the kicks of noise that grows: of the cloud itself, and of that with more noise. */
static const double GENTLE = 2, FREE = 12;
static const double MOST_OUT = 6; /* spans of the inner box that the walls may lie out */
static const double BEYOND = 0.1; /* of the span between them, added at each end */
static const double COARSER = 4;  /* cells outside the inner box, against those in it */
static const double MARGIN = 0.5; /* beyond an asked point, in deviations */
static const double FAR_SPANS = 2, FAR_DRIFT = 20; /* as in grid_box.c */

typedef struct cloud {
    hb_context *context;
    const hb_problem *problem;
    size_t d;
    uint64_t drawn; /* normals so far */
    double step;    /* in tau, and how many the last phase had */
    int steps;
    double *x, *F;       // (PARTICLES, d)
    size_t columns;      /* of the noise */
    double *normals;     // (PARTICLES, columns or d)
    int tensor;          /* the noise is no scalar: tau = t */
    double *before;      // (PARTICLES, d)
    double *G, *D;       // (PARTICLES, d, columns), (PARTICLES, d, d); of a tensor
    double diffusion[3]; /* the mean of D_aa; 1 for a scalar */
    double *jacobian;    // (PARTICLES, d, d)
    double *sizes;       // (PARTICLES)
    double mean[3], deviation[3];
    double least[3], most[3], most_drift; /* since they were reset */
} cloud;

/* ---- paths ------------------------------------------------------------------------------------ */

static hb_status draw(cloud *c)
{
    const size_t n = PARTICLES * (c->columns > c->d ? c->columns : c->d);
    HB_TRY(hb_random_normal(c->context, 1, HB_STREAM_GRID_BOX, c->drawn, n, c->normals));
    c->drawn += n;
    return HB_OK;
}

static hb_status start(cloud *c)
{
    static const double scales[] = {0.1, 0.3, 1, 3};
    const int has_initial = hb_problem_initial_kind(c->problem) != HB_INITIAL_KIND_NONE;
    HB_TRY(draw(c));
    for (size_t i = 0; i < PARTICLES * c->d; i++) c->x[i] = scales[i / c->d % 4] * c->normals[i];
    if (!has_initial) return HB_OK;
    return hb_problem_initial_sample(c->context, c->problem, 1, 0, PARTICLES / 4, c->x);
}

static void observe(cloud *c)
{
    for (size_t a = 0; a < c->d; a++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < PARTICLES; i++) sum += c->x[i * c->d + a];
        c->mean[a] = sum / PARTICLES;
        for (size_t i = 0; i < PARTICLES; i++)
            squares += (c->x[i * c->d + a] - c->mean[a]) * (c->x[i * c->d + a] - c->mean[a]);
        c->deviation[a] = sqrt(squares / PARTICLES);
    }
}

/* The mean of D_aa over the middle of the particles: tails of a noise that grows do not count. */
static hb_status find_diffusion(cloud *c)
{
    const size_t d = c->d;
    for (size_t a = 0; a < d; a++) c->diffusion[a] = 1;
    if (!c->tensor) return HB_OK;
    HB_TRY(hb_problem_diffusion(c->context, c->problem, PARTICLES, c->x, 0, c->D, NULL));
    for (size_t a = 0; a < d; a++) {
        for (size_t i = 0; i < PARTICLES; i++) c->sizes[i] = c->D[(i * d + a) * d + a];
        hb_sort(PARTICLES, c->sizes);
        c->diffusion[a] = fmax(c->sizes[PARTICLES / 2], 1e-300);
    }
    return HB_OK;
}

/* A step that follows the drift where most particles are. */
static hb_status choose_step(cloud *c)
{
    const size_t d = c->d;
    HB_TRY(hb_problem_drift(c->context, c->problem, PARTICLES, c->x, 0, NULL, NULL, NULL,
                            c->jacobian));
    for (size_t i = 0; i < PARTICLES; i++) c->sizes[i] = hb_matrix_norm(d, c->jacobian + i * d * d);
    hb_sort(PARTICLES, c->sizes);
    c->step = STEP / fmax(c->sizes[PARTICLES / 2], 1e-300);
    double slowest = 0;
    HB_TRY(find_diffusion(c));
    for (size_t a = 0; a < d; a++)
        slowest = fmax(slowest, c->deviation[a] * c->deviation[a] / c->diffusion[a]);
    c->step = fmin(c->step, STEP * slowest);
    return HB_OK;
}

static hb_status escape(const cloud *c)
{
    if (c->tensor)
        return hb_fail(c->context, HB_ERROR_ARGUMENT,
                       "there is no stationary density, or its tails are too heavy for a grid: "
                       "paths keep spreading; ask for %s",
                       c->d == 1 ? "the method auto or a finite time" : "a finite time");
    return hb_fail(c->context, HB_ERROR_ARGUMENT,
                   "there is no stationary density: nothing holds the mass together, paths keep "
                   "spreading; ask for a finite time");
}

/* Noise that grows with x would throw particles out: a kick k goes k/(1 + (k/(r s))^2) far, s the spread. */
static hb_status kick_gently(cloud *c, double size, double reach)
{
    memcpy(c->before, c->x, PARTICLES * c->d * sizeof *c->x);
    HB_TRY(hb_tensor_kick(c->context, c->problem, PARTICLES, 0, size, c->normals, c->G, c->x));
    for (size_t i = 0; i < PARTICLES * c->d; i++) {
        const double kick = c->x[i] - c->before[i], part = kick / (reach * c->deviation[i % c->d]);
        c->x[i] = c->before[i] + kick / (1 + part * part);
    }
    return HB_OK;
}

static hb_status move(cloud *c, double step, double inflation)
{
    HB_TRY(hb_problem_drift(c->context, c->problem, PARTICLES, c->x, 0, c->F, NULL, NULL, NULL));
    HB_TRY(draw(c));
    const double kick = c->tensor ? 0 : inflation * sqrt(2 * step);
    if (c->tensor) HB_TRY(kick_gently(c, inflation * sqrt(step), inflation > 1 ? FREE : GENTLE));
    for (size_t i = 0; i < PARTICLES * c->d; i++) {
        c->most_drift = fmax(c->most_drift, fabs(c->F[i]));
        c->x[i] += c->F[i] * step / (1 + fabs(c->F[i]) * step) + kick * c->normals[i];
        if (!(fabs(c->x[i]) < FAR)) return escape(c);
        const size_t a = i % c->d;
        c->least[a] = fmin(c->least[a], c->x[i]);
        c->most[a] = fmax(c->most[a], c->x[i]);
    }
    return HB_OK;
}

static void reset(cloud *c)
{
    for (size_t a = 0; a < c->d; a++) {
        c->least[a] = INFINITY;
        c->most[a] = -INFINITY;
    }
}

/* Until mean and spread settle. */
static hb_status settle(cloud *c)
{
    double mean[3], deviation[3], growth = 0;
    int settled = 0;
    HB_TRY(start(c));
    observe(c);
    for (int phase = 0; phase < PHASES && settled < 2; phase++) {
        memcpy(mean, c->mean, sizeof mean);
        memcpy(deviation, c->deviation, sizeof deviation);
        HB_TRY(choose_step(c));
        c->steps = FIRST_STEPS << phase;
        reset(c);
        for (int k = 0; k < c->steps; k++) HB_TRY(move(c, c->step, 1));
        observe(c);
        double change = growth = 0;
        for (size_t a = 0; a < c->d; a++) {
            const double size = fmin(deviation[a], c->deviation[a]);
            change = fmax(change, fabs(c->mean[a] - mean[a]) / size);
            change = fmax(change, fabs(c->deviation[a] - deviation[a]) / size);
            growth = fmax(growth, c->deviation[a] / deviation[a]);
        }
        settled = change < SETTLED ? settled + 1 : 0;
    }
    return settled || growth < 1.3 ? HB_OK : escape(c);
}

static hb_status find_widths(cloud *c, hb_grid_box *box)
{
    double lengths[3] = {INFINITY, INFINITY, INFINITY};
    HB_TRY(hb_problem_drift(c->context, c->problem, PARTICLES, c->x, 0, NULL, NULL, NULL,
                            c->jacobian));
    HB_TRY(find_diffusion(c));
    if (c->tensor) hb_tensor_lengths(PARTICLES, (int)c->d, c->x, lengths);
    for (size_t a = 0; a < c->d; a++) {
        double squeeze = 0;
        for (size_t i = 0; i < PARTICLES; i++)
            squeeze += fmax(0, -c->jacobian[(i * c->d + a) * c->d + a]) / PARTICLES;
        box->width[a] = fmin(c->deviation[a], sqrt(c->diffusion[a] / fmax(squeeze, 1e-300)));
        box->width[a] = fmin(box->width[a], lengths[a]);
        for (size_t i = 0; i < PARTICLES; i++) c->sizes[i] = c->x[i * c->d + a];
        hb_sort(PARTICLES, c->sizes);
        const double low = c->sizes[RARE], high = c->sizes[PARTICLES - 1 - RARE];
        box->inner_low[a] = low - BEYOND * (high - low);
        box->inner_high[a] = high + BEYOND * (high - low);
    }
    return HB_OK;
}

/* ---- the inflated cloud ----------------------------------------------------------------------- */

/* Where paths with more noise come, as in grid_box.c. Where the drift is not finite
 * that far out, the hull so far stays; so it does at MOST_OUT spans of the inner box. */
static hb_status inflate(cloud *c, hb_grid_box *box)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): dim is 1 to 3 here */
    const double inflation = INFLATION[c->d - 1];
    const int steps = c->steps < LEAST_STEPS ? LEAST_STEPS : c->steps;
    hb_status status = HB_OK;
    c->most_drift = 0;
    for (int k = 0; k < steps && status == HB_OK; k++) {
        if (2 * k == steps || k == 0) reset(c);
        status = move(c, c->step, inflation);
    }
    if (status != HB_OK && status != HB_ERROR_DOMAIN && status != HB_ERROR_ARGUMENT) return status;
    for (size_t a = 0; a < c->d; a++) {
        const double most = MOST_OUT * (box->inner_high[a] - box->inner_low[a]);
        box->low[a] = fmax(fmin(c->least[a], box->inner_low[a]), box->inner_low[a] - most);
        box->high[a] = fmin(fmax(c->most[a], box->inner_high[a]), box->inner_high[a] + most);
    }
    return HB_OK;
}

/* ---- points ----------------------------------------------------------------------------------- */

static hb_status hold_points(const cloud *c, size_t n_at, const double *at, hb_grid_box *box)
{
    const hb_grid_box hull = *box;
    for (size_t i = 0; i < n_at; i++) {
        const double *x = at + i * c->d;
        double F[3];
        int far = 0;
        HB_TRY(hb_problem_drift(c->context, c->problem, 1, x, 0, F, NULL, NULL, NULL));
        for (size_t a = 0; a < c->d; a++) {
            const double span = hull.high[a] - hull.low[a];
            const double out = fmax(hull.low[a] - x[a], x[a] - hull.high[a]);
            far |= out > FAR_SPANS * span ||
                   (out > 0 && !(fabs(F[a]) <= FAR_DRIFT * (c->most_drift + 1 / span)));
        }
        box->far += (size_t)far;
        for (size_t a = 0; a < c->d && !far; a++) {
            box->low[a] = fmin(box->low[a], x[a] - MARGIN * c->deviation[a]);
            box->high[a] = fmax(box->high[a], x[a] + MARGIN * c->deviation[a]);
        }
    }
    return HB_OK;
}

static hb_status choose(cloud *c, size_t n_at, const double *at, hb_grid_box *box)
{
    HB_TRY(settle(c));
    HB_TRY(find_widths(c, box));
    HB_TRY(inflate(c, box));
    return hold_points(c, n_at, at, box);
}

hb_status hb_grid_box_stationary(hb_context *context, const hb_problem *problem, size_t n_at,
                                 const double *at, hb_grid_box *out)
{
    memset(out, 0, sizeof *out);
    const size_t d = (size_t)hb_problem_dim(problem), n = PARTICLES * d;
    cloud c = {.context = context, .problem = problem, .d = d};
    hb_workspace work;
    c.columns = hb_tensor_columns(problem);
    c.tensor = hb_tensor_is_needed(problem);
    const size_t m = c.columns > d ? c.columns : d;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(c.x, n), HB_ARRAY(c.F, n),
                        HB_ARRAY(c.normals, PARTICLES * m), HB_ARRAY(c.jacobian, n * d),
                        HB_ARRAY(c.G, n * m), HB_ARRAY(c.D, n * d), HB_ARRAY(c.before, n),
                        HB_ARRAY(c.sizes, PARTICLES)));
    const hb_status status = choose(&c, n_at, at, out);
    hb_workspace_destroy(&work);
    return status;
}

/* ---- the axis --------------------------------------------------------------------------------- */

static void add_piece(hb_axis *axis, int cells, double to)
{
    const int p = axis->pieces++;
    axis->first[p + 1] = axis->first[p] + (cells + 3) / 4 * 4;
    axis->joint[p + 1] = to;
}

/* Cells of a piece of this length outside, next to cells of length h. */
static int outer_cells(double length, double h)
{
    return (int)fmin(fmax(ceil(length / (COARSER * h)), PIECE), 2 * PIECE);
}

hb_axis hb_grid_graded_axis(const hb_grid_box *box, int axis, int cells)
{
    const double low = box->low[axis], high = box->high[axis];
    const double from = box->inner_low[axis], to = box->inner_high[axis], h = (to - from) / cells;
    if (!(from > low + PIECE * h && to < high - PIECE * h)) return hb_axis_even(cells, low, high);
    hb_axis out = {.joint = {low}};
    const double step = PIECE * COARSER * h;
    if (from - low > 2 * step) add_piece(&out, PIECE, from - step);
    add_piece(&out, outer_cells(from - out.joint[out.pieces], h), from);
    add_piece(&out, cells, to);
    if (high - to > 2 * step) add_piece(&out, PIECE, to + step);
    add_piece(&out, outer_cells(high - out.joint[out.pieces], h), high);
    return out;
}
