/* The box of a grid, from the problem alone.
 *
 * PARTICLES draws of the initial density move by dX = F dtau + sqrt(2) dW (Euler-Maruyama, the drift
 * tamed to F dtau/(1 + |F| dtau), in steps that see narrow pulses in t). A second cloud has its noise and its initial width INFLATION times
 * larger. By large deviations (Freidlin and Wentzell) u ~ exp(-I) with an action I that both clouds share
 * up to the factor INFLATION^2: where the second cloud's farthest particles come, about e^-7.5 of its
 * maximum for 2000 of them over many steps, the density itself is down by 7.5 INFLATION^2 = 57 (d = 1),
 * 45, 33 (d = 3). The box is the hull of that cloud in the second half of the time, of the first cloud at
 * all times, of the initial box, and of the asked points with a margin, because the layer at a wall
 * without flux is no part of the answer on the whole space. (A path that leaves the box early and comes
 * back brings e^-I of the mass with it, which is nothing.)
 *
 * The width along an axis, which sets the number of points, is the least of the deviations over time,
 * the Fisher length (E (d_a ln u0)^2)^-1/2, and (E max(0, -d_a F_a))^-1/2, to which a stable drift
 * squeezes. */
#include "grid/grid_box.h"
#include "base/context.h"
#include "base/memory.h"
#include "grid/tensor_noise.h"
#include "grid/tensor_scheme.h"
#include "problem/time_cuts.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum { PARTICLES = 2000, STEPS = 256, MOST_STEPS = 4096, PIECE_STEPS = 8 };

static const double INFLATION[] = {2.75, 2.45, 2.1};       /* by dimension */
static const double TENSOR_INFLATION[] = {2.75, 2.1, 1.9}; /* whose corners cost more */
static const double SHRINK = 0.85;                         /* of the inflation, for heavy tails */
static const double MOST_WIDTHS[] = {1024, 51, 24};        /* of a box, under tensor noise */
static const double FAR_SPANS = 2;                         /* of the box without points */
static const double FAR_DRIFT = 20;                        /* of the largest drift in that box */
static const double REACH = 7.5;                           /* of a start's box, in its widths */
static const double MARGIN = 0.5; /* beyond an asked point, in deviations */

typedef struct cloud {
    hb_context *context;
    const hb_problem *problem;
    size_t d;
    const hb_grid_from *from; /* NULL: the initial density, at tau = 0 */
    int steps;
    double *tau; // (steps + 1), of steps of different lengths; NULL: they are even
    double late; /* part of the way after which the far cloud counts */
    double tau_end;
    double *x;                                    // (PARTICLES, d)
    double *F;                                    // (PARTICLES, d)
    double *normals;                              // (PARTICLES, drawn)
    size_t drawn;                                 /* the columns of the noise, at least d */
    int tensor;                                   /* the noise is no scalar */
    double *G;                                    // (PARTICLES, d, columns); of a tensor
    double *jacobian;                             // (PARTICLES, d, d)
    double least[3], most[3];                     /* of the particles, over time */
    double least_deviation[3], most_deviation[3]; /* over time */
    double most_drift;                            /* of the inflated cloud */
    int stopped;                                  /* it came where drift or noise is not finite */
} cloud;

static void observe(cloud *c)
{
    for (size_t a = 0; a < c->d; a++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < PARTICLES; i++) {
            const double x = c->x[i * c->d + a];
            c->least[a] = fmin(c->least[a], x);
            c->most[a] = fmax(c->most[a], x);
            sum += x;
        }
        const double mean = sum / PARTICLES;
        for (size_t i = 0; i < PARTICLES; i++)
            squares += (c->x[i * c->d + a] - mean) * (c->x[i * c->d + a] - mean);
        const double deviation = sqrt(squares / PARTICLES);
        c->least_deviation[a] = fmin(c->least_deviation[a], deviation);
        c->most_deviation[a] = fmax(c->most_deviation[a], deviation);
    }
}

/* A correlated cloud is thinner than its deviations. */
static void observe_lengths(cloud *c)
{
    double lengths[3];
    hb_tensor_lengths(PARTICLES, (int)c->d, c->x, lengths);
    for (size_t a = 0; a < c->d; a++)
        c->least_deviation[a] = fmin(c->least_deviation[a], lengths[a]);
}

/* Draws of one step; step -1 is the start's. */
static hb_status draw(cloud *c, int step)
{
    const size_t n = PARTICLES * c->drawn;
    return hb_random_normal(c->context, 1, HB_STREAM_GRID_BOX, (uint64_t)(step + 1) * n, n,
                            c->normals);
}

static double begin_of(const cloud *c)
{
    return c->from ? c->from->tau : 0;
}

/* Where there are cuts: even steps, and PIECE_STEPS at least in each piece. Makes the tau of as many steps as there are. */
static hb_status lay_steps(cloud *c)
{
    const hb_time_cuts *cuts = hb_problem_cuts(c->problem);
    const double begin = begin_of(c), even = (c->tau_end - begin) / c->steps;
    const size_t most = (size_t)c->steps + (size_t)(PIECE_STEPS + 1) * ((size_t)cuts->n + 1) + 1;
    void *memory;
    if (!(hb_cuts_after(cuts, begin, c->tau_end) < c->tau_end)) return HB_OK;
    HB_TRY(hb_allocate(c->context, most, sizeof(double), &memory));
    c->tau = memory;
    c->tau[c->steps = 0] = begin;
    for (double low = begin, high; low < c->tau_end; low = high) {
        high = hb_cuts_after(cuts, low, c->tau_end);
        const int steps = (int)fmax(ceil((high - low) / even), high < c->tau_end ? PIECE_STEPS : 1);
        for (int k = 1; k <= steps; k++)
            c->tau[++c->steps] = k < steps ? low + (high - low) * k / steps : high;
    }
    return HB_OK;
}

static hb_status move(cloud *c, int step, double inflation)
{
    const double even = (c->tau_end - begin_of(c)) / c->steps,
                 tau = c->tau ? c->tau[step] : begin_of(c) + step * even,
                 dt = c->tau ? c->tau[step + 1] - tau : even;
    HB_TRY(hb_problem_drift(c->context, c->problem, PARTICLES, c->x, tau, c->F, NULL, NULL, NULL));
    HB_TRY(draw(c, step));
    const double kick = c->tensor ? 0 : inflation * sqrt(2 * dt);
    if (c->tensor)
        HB_TRY(hb_tensor_kick(c->context, c->problem, PARTICLES, c->tau ? tau : step * even,
                              inflation * sqrt(dt), c->normals, c->G, c->x));
    for (size_t i = 0; i < PARTICLES * c->d; i++)
        c->x[i] += c->F[i] * dt / (1 + fabs(c->F[i]) * dt) + kick * c->normals[i];
    return HB_OK;
}

/* Starts anew: the particles at tau = 0, nothing observed yet. */
static hb_status start(cloud *c)
{
    for (size_t a = 0; a < c->d; a++) {
        c->least[a] = c->least_deviation[a] = INFINITY;
        c->most[a] = c->most_deviation[a] = -INFINITY;
    }
    if (!c->from) return hb_problem_initial_sample(c->context, c->problem, 1, 0, PARTICLES, c->x);
    HB_TRY(draw(c, c->steps));
    for (size_t i = 0; i < PARTICLES * c->d; i++)
        c->x[i] = c->from->place[i % c->d] + c->from->width * c->normals[i];
    return HB_OK;
}

/* The Fisher length of the initial density at the particles' start, or the deviation without one. */
static hb_status initial_widths(cloud *c, double *width)
{
    for (size_t a = 0; a < c->d && c->from; a++) width[a] = c->from->width;
    if (c->from) return HB_OK;
    HB_TRY(hb_problem_initial(c->context, c->problem, PARTICLES, c->x, c->normals, c->F));
    for (size_t a = 0; a < c->d; a++) {
        double fisher = 0;
        for (size_t i = 0; i < PARTICLES; i++)
            fisher += c->F[i * c->d + a] * c->F[i * c->d + a] / PARTICLES;
        width[a] = fisher > 0 ? fmin(1 / sqrt(fisher), c->least_deviation[a]) : 0;
    }
    return HB_OK;
}

/* The cloud itself: widths[d] of the start, and box->width of all times. */
static hb_status follow(cloud *c, double *widths, hb_grid_box *box)
{
    HB_TRY(start(c));
    observe(c);
    HB_TRY(initial_widths(c, widths));
    for (int step = 0; step < c->steps; step++) {
        HB_TRY(move(c, step, 1));
        observe(c);
        if (c->tensor) observe_lengths(c);
    }
    HB_TRY(hb_problem_drift(c->context, c->problem, PARTICLES, c->x, c->tau_end, NULL, NULL, NULL,
                            c->jacobian));
    for (size_t a = 0; a < c->d; a++) {
        double squeeze = 0;
        for (size_t i = 0; i < PARTICLES; i++)
            squeeze += fmax(0, -c->jacobian[(i * c->d + a) * c->d + a]) / PARTICLES;
        box->width[a] = c->least_deviation[a];
        if (widths[a] > 0) box->width[a] = fmin(box->width[a], widths[a]);
        if (squeeze * c->tau_end > 1 && !c->tensor)
            box->width[a] = fmin(box->width[a], 1 / sqrt(squeeze));
    }
    return HB_OK;
}

/* The inflated cloud: its hull in the second half. Where the drift is not finite that far out, the hull so far stays. */
static hb_status follow_inflated(cloud *c, double inflation, const double *widths)
{
    const double added = sqrt(inflation * inflation - 1);
    HB_TRY(start(c));
    HB_TRY(draw(c, -1));
    for (size_t i = 0; i < PARTICLES * c->d; i++)
        c->x[i] += added * widths[i % c->d] * c->normals[i];
    for (int step = 0; step < c->steps; step++) {
        const hb_status status = move(c, step, inflation);
        c->stopped = status == HB_ERROR_DOMAIN;
        if (c->stopped) return HB_OK;
        HB_TRY(status);
        for (size_t i = 0; i < PARTICLES * c->d; i++)
            c->most_drift = fmax(c->most_drift, fabs(c->F[i]));
        const double done = c->tau ? c->tau[step] - begin_of(c) : step,
                     whole = c->tau ? c->tau_end - begin_of(c) : c->steps;
        if (done >= c->late * whole) observe(c);
    }
    return HB_OK;
}

/* Noise that grows with x has heavy tails, and the larger cloud goes where no even mesh can follow: it is made
 * smaller until the hull is at most MOST_WIDTHS of its widths long, and drift and noise are finite on it. What the walls then do is counted among
 * the errors (tensor_doubt.c). */
static hb_status follow_tails(cloud *c, const double *widths, const hb_grid_box *box)
{
    double inflation = c->tensor ? TENSOR_INFLATION[c->d - 1] : INFLATION[c->d - 1];
    for (int wide = 1; wide && inflation > 1; inflation *= SHRINK) {
        HB_TRY(follow_inflated(c, inflation, widths));
        wide = c->tensor && c->stopped;
        for (size_t a = 0; a < c->d; a++)
            wide |= c->tensor && c->most[a] - c->least[a] > MOST_WIDTHS[c->d - 1] * box->width[a];
    }
    return HB_OK;
}

static void hold(hb_grid_box *box, size_t axis, double x, double margin)
{
    box->low[axis] = fmin(box->low[axis], x - margin);
    box->high[axis] = fmax(box->high[axis], x + margin);
}

/* A point that lies FAR_SPANS box widths away, or where the drift is FAR_DRIFT times that of the inflated
 * cloud, is left out: a mesh that reached there would spend all its time on a density of e^-1000. */
static int is_far(const cloud *c, const hb_grid_box *hull, const double *x, const double *F)
{
    for (size_t a = 0; a < c->d; a++) {
        const double span = hull->high[a] - hull->low[a];
        const double out = fmax(hull->low[a] - x[a], x[a] - hull->high[a]);
        if (out <= 0) continue;
        if (out > FAR_SPANS * span || !(fabs(F[a]) <= FAR_DRIFT * (c->most_drift + 1 / span)))
            return 1;
    }
    return 0;
}

static hb_status hold_points(const cloud *c, size_t n_at, const double *at, const double *margin,
                             hb_grid_box *box)
{
    const hb_grid_box hull = *box;
    for (size_t i = 0; i < n_at; i++) {
        const double tau = c->tau_end, *x = at + i * c->d;
        double F[3];
        HB_TRY(hb_problem_drift_each(c->context, c->problem, 1, x, &tau, F, NULL, NULL, NULL));
        if (is_far(c, &hull, x, F)) {
            box->far++;
            continue;
        }
        for (size_t a = 0; a < c->d; a++) hold(box, a, x[a], margin[a]);
    }
    return HB_OK;
}

static hb_status choose(cloud *c, size_t n_at, const double *at, hb_grid_box *box)
{
    double low[3], high[3], widths[3] = {0}, margin[3] = {0};
    if (!c->from) HB_TRY(hb_problem_initial_box(c->context, c->problem, low, high));
    for (size_t a = 0; a < c->d && c->from; a++) {
        low[a] = c->from->place[a] - REACH * c->from->width;
        high[a] = c->from->place[a] + REACH * c->from->width;
    }
    HB_TRY(follow(c, widths, box));
    for (size_t a = 0; a < c->d; a++) {
        margin[a] = MARGIN * c->most_deviation[a];
        box->low[a] = fmin(c->least[a], low[a]);
        box->high[a] = fmax(c->most[a], high[a]);
    }
    HB_TRY(follow_tails(c, widths, box));
    for (size_t a = 0; a < c->d; a++) {
        box->low[a] = fmin(box->low[a], c->least[a]);
        box->high[a] = fmax(box->high[a], c->most[a]);
    }
    return hold_points(c, n_at, at, margin, box);
}

hb_status hb_grid_box_choose(hb_context *context, const hb_problem *problem,
                             const hb_grid_from *from, double late, double step, double tau_end,
                             size_t n_at, const double *at, hb_grid_box *out)
{
    memset(out, 0, sizeof *out);
    const size_t d = (size_t)hb_problem_dim(problem), n = PARTICLES * d;
    cloud c = {.context = context,
               .problem = problem,
               .d = d,
               .from = from,
               .steps = STEPS,
               .late = late,
               .tau_end = tau_end};
    if (step > 0) c.steps = (int)fmin(fmax(ceil(tau_end / step), STEPS), MOST_STEPS);
    hb_workspace work;
    const size_t columns = hb_tensor_columns(problem), m = columns > d ? columns : d;
    c.drawn = m;
    c.tensor = hb_tensor_is_needed(problem);
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(c.x, n), HB_ARRAY(c.F, n),
                        HB_ARRAY(c.normals, PARTICLES * m), HB_ARRAY(c.jacobian, n * d),
                        HB_ARRAY(c.G, PARTICLES * d * m)));
    hb_status status = lay_steps(&c);
    if (status == HB_OK) status = choose(&c, n_at, at, out);
    hb_release(context, c.tau);
    hb_workspace_destroy(&work);
    return status;
}
