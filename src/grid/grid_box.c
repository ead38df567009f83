/* The box of a grid, from the problem alone.
 *
 * PARTICLES draws of the initial density move by dX = F dtau + sqrt(2) dW (Euler-Maruyama, the drift
 * tamed to F dtau/(1 + |F| dtau)). Their means m(tau) and deviations s(tau) give the walls
 *     m + DEVIATIONS s    at which a Gaussian is 55 (d = 1), 45, 32 (d = 3) below its maximum,
 * or, when it is nearer, the place where the drift alone has paid for BARRIER: a path that climbs
 * against F costs at least the integral of -F, since (x' - F)^2/4 >= -F x'. The box also holds all
 * particles, the initial box and the asked points with a margin, because the layer at a wall without
 * flux is no part of the answer on the whole space.
 *
 * The width along an axis, which sets the number of points, is the least of the deviations, the Fisher
 * length (E (d_a ln u0)^2)^-1/2, and (E max(0, -d_a F_a))^-1/2, to which a stable drift squeezes. */
#include "grid/grid_box.h"
#include "base/context.h"
#include "base/memory.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum { PARTICLES = 2000, STEPS = 256, RAYS = 64, MAX_MARCH = 400 };

#define BOX_STREAM (UINT64_C(3) << 62 | UINT64_C(0x67726964)) /* "grid" */

static const double DEVIATIONS[] = {10.5, 9.5, 8}; /* by dimension */
static const double BARRIER = 50;
static const double MARGIN = 0.5; /* beyond an asked point, in deviations */

typedef struct cloud {
    hb_context *context;
    const hb_problem *problem;
    size_t d;
    double tau_end;
    double *x;                        // (PARTICLES, d)
    double *F;                        // (PARTICLES, d)
    double *normals;                  // (PARTICLES, d)
    double *jacobian;                 // (PARTICLES, d, d)
    double least[3], most[3];         /* of the particles, over time */
    double wall_low[3], wall_high[3]; /* m -+ DEVIATIONS s, over time */
    double least_deviation[3], most_deviation[3];
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
        c->wall_low[a] = fmin(c->wall_low[a], mean - DEVIATIONS[c->d - 1] * deviation);
        c->wall_high[a] = fmax(c->wall_high[a], mean + DEVIATIONS[c->d - 1] * deviation);
    }
}

static hb_status move(cloud *c, int step)
{
    const double dt = c->tau_end / STEPS;
    const size_t n = PARTICLES * c->d;
    HB_TRY(hb_problem_drift(c->context, c->problem, step * dt, PARTICLES, c->x, c->F, NULL, NULL,
                            NULL));
    HB_TRY(hb_random_normal(c->context, 1, BOX_STREAM, (uint64_t)step * n, n, c->normals));
    for (size_t i = 0; i < n; i++) {
        c->x[i] += c->F[i] * dt / (1 + fabs(c->F[i]) * dt) + sqrt(2 * dt) * c->normals[i];
    }
    return HB_OK;
}

static hb_status follow(cloud *c)
{
    HB_TRY(hb_problem_initial_sample(c->context, c->problem, 1, 0, PARTICLES, c->x));
    for (size_t a = 0; a < c->d; a++) {
        c->least[a] = c->wall_low[a] = c->least_deviation[a] = INFINITY;
        c->most[a] = c->wall_high[a] = c->most_deviation[a] = -INFINITY;
    }
    observe(c);
    for (int step = 0; step < STEPS; step++) {
        HB_TRY(move(c, step));
        observe(c);
    }
    return HB_OK;
}

/* How strongly the drift pushes inward at the coordinate w of an axis: the weakest push at RAYS
 * particles moved there, at the start, the middle and the end; negative when it pushes outward. */
static hb_status inward_push(cloud *c, size_t axis, int sign, double w, double *push)
{
    double x[RAYS * 3], F[RAYS * 3]; // (RAYS, d)
    for (size_t i = 0; i < RAYS; i++) {
        memcpy(x + i * c->d, c->x + i * (PARTICLES / RAYS) * c->d, c->d * sizeof(double));
        x[i * c->d + axis] = w;
    }
    *push = INFINITY;
    for (int k = 0; k < 3; k++) {
        HB_TRY(hb_problem_drift(c->context, c->problem, 0.5 * k * c->tau_end, RAYS, x, F, NULL,
                                NULL, NULL));
        for (size_t i = 0; i < RAYS; i++) *push = fmin(*push, -sign * F[i * c->d + axis]);
    }
    return HB_OK;
}

/* The wall on one side (sign +1: high). A drift that is not finite further out ends the march. */
static double find_wall(cloud *c, size_t axis, int sign)
{
    const double from = sign > 0 ? c->most[axis] : c->least[axis];
    const double gaussian = sign > 0 ? c->wall_high[axis] : c->wall_low[axis];
    const double step = sign * fabs(gaussian - from) / MAX_MARCH;
    double paid = 0;
    for (int k = 1; k <= MAX_MARCH; k++) {
        double push;
        const double w = from + (k - 0.5) * step;
        if (inward_push(c, axis, sign, w, &push) != HB_OK) return from + (k - 1) * step;
        paid += fmax(push, 0) * fabs(step);
        if (paid >= BARRIER) return from + k * step;
    }
    return gaussian;
}

static void hold(size_t axis, double x, double margin, hb_grid_box *box)
{
    box->low[axis] = fmin(box->low[axis], x - margin);
    box->high[axis] = fmax(box->high[axis], x + margin);
}

static hb_status set_walls(cloud *c, size_t n_at, const double *at, hb_grid_box *box)
{
    double low[3], high[3];
    HB_TRY(hb_problem_initial_box(c->context, c->problem, low, high));
    for (size_t a = 0; a < c->d; a++) {
        box->low[a] = find_wall(c, a, -1);
        box->high[a] = find_wall(c, a, +1);
        hold(a, low[a], 0, box);
        hold(a, high[a], 0, box);
        for (size_t i = 0; i < n_at; i++)
            hold(a, at[i * c->d + a], MARGIN * c->most_deviation[a], box);
    }
    return HB_OK;
}

static hb_status set_widths(cloud *c, hb_grid_box *box)
{
    double *gradient = c->F; // (PARTICLES, d)
    HB_TRY(hb_problem_drift(c->context, c->problem, c->tau_end, PARTICLES, c->x, NULL, NULL, NULL,
                            c->jacobian));
    double squeeze[3] = {0};
    for (size_t i = 0; i < PARTICLES; i++)
        for (size_t a = 0; a < c->d; a++)
            squeeze[a] += fmax(0, -c->jacobian[(i * c->d + a) * c->d + a]) / PARTICLES;
    HB_TRY(hb_problem_initial_sample(c->context, c->problem, 1, 0, PARTICLES, c->x));
    HB_TRY(hb_problem_initial(c->context, c->problem, PARTICLES, c->x, c->normals, gradient));
    for (size_t a = 0; a < c->d; a++) {
        double fisher = 0;
        for (size_t i = 0; i < PARTICLES; i++)
            fisher += gradient[i * c->d + a] * gradient[i * c->d + a] / PARTICLES;
        box->width[a] = c->least_deviation[a];
        if (fisher > 0) box->width[a] = fmin(box->width[a], 1 / sqrt(fisher));
        if (squeeze[a] * c->tau_end > 1) box->width[a] = fmin(box->width[a], 1 / sqrt(squeeze[a]));
    }
    return HB_OK;
}

hb_status hb_grid_box_choose(hb_context *context, const hb_problem *problem, double tau_end,
                             size_t n_at, const double *at, hb_grid_box *out)
{
    memset(out, 0, sizeof *out);
    const size_t d = (size_t)hb_problem_dim(problem), n = PARTICLES * d;
    cloud c = {.context = context, .problem = problem, .d = d, .tau_end = tau_end};
    hb_workspace work;
    HB_TRY(hb_workspace_create(context,
                               3 * hb_workspace_need(n, sizeof(double)) +
                                   hb_workspace_need(n * d, sizeof(double)),
                               &work));
    c.x = hb_workspace_take(&work, n, sizeof(double));
    c.F = hb_workspace_take(&work, n, sizeof(double));
    c.normals = hb_workspace_take(&work, n, sizeof(double));
    c.jacobian = hb_workspace_take(&work, n * d, sizeof(double));
    hb_status status = follow(&c);
    if (status == HB_OK) status = set_walls(&c, n_at, at, out);
    if (status == HB_OK) status = set_widths(&c, out);
    hb_workspace_destroy(&work);
    return status;
}
