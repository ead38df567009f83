/* Gauge steps on heat balls: steps whose length is bounded, for potentials that grow steeply.
 *
 * With psi, Q and the reference of walk_gauge.c, R = Q0 + q.(x' - x) + h s - Q(x') and
 *     U(y,s) = e^{-phi} psi(x + y + q s^2, tau - s), phi = Q0 s + h s^2/2 + s q.y + (2/3)|q|^2 s^3,
 * the mean-value identity of the heat ball of radius r in D = d + lift dimensions
 * (docs/explanation/heat-ball.md) is
 *     psi(x,tau) = E_kappa[U] + int G_r R U,    G_r of total M = C1 r^2/4.
 * A step draws from (1 - a) kappa + a G_r/M and has the factor e^{-phi} (1 + p R)/(1 - a + a p/M),
 *     p = G_r/kappa = 4 s^2/|y_D|^2 (e^E - 1 - E),   E = ln(r^D Phi),
 * at most 1 + B M when |R| <= B on the ball and a = B M/(1 + B M). Draws as in docs/explanation/samplers.md.
 * A number to reproduce: D = 3, r = 1: mean lag 0.0532573/4 and |y| at most 0.419. */
#include "walk/walk_steps.h"

#include <math.h>

/* The ball is one of d + lift dimensions. */
static size_t lift_of(size_t d)
{
    return d < 3 ? 3 - d : 0;
}

size_t hb_walk_ball_normals(size_t d)
{
    return d + lift_of(d) + 4;
}

/* 4 times the mean lag under kappa of the unit ball. */
static double mean_lag_constant(double D)
{
    return exp((0.5 * D + 2) * log(D / (D + 2))) / M_PI;
}

typedef struct ball_draw {
    double lag, length; /* s, |y_D| */
    double fraction;    /* p = G_r/kappa */
} ball_draw;

/* uniform < a: G_r with radius r sqrt(uniform/a); else kappa. */
static ball_draw draw_ball(size_t D, double r, double a, double uniform, const double *g)
{
    const double n = (double)D, all = hb_dot(D + 4, g, g);
    const int source = uniform < a;
    const double radius2 = source ? r * r * uniform / a : r * r;
    const double lag = radius2 * exp(-all / (source ? n + 2 : n)) / (4 * M_PI);
    const double length2 =
        source ? 2 * n / (n + 2) * lag * hb_dot(D, g, g) : 2 * lag * hb_dot(D + 2, g, g);
    const double E = fmax(0, -0.5 * n * log(4 * M_PI * lag / (r * r)) - length2 / (4 * lag));
    const double rise = E < 1e-4 ? E * E * (0.5 + E / 6) : expm1(E) - E;
    return (ball_draw){lag, sqrt(length2), 4 * lag * lag / length2 * rise};
}

static int ball_step(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view)
{
    const size_t d = shared->d, D = d + lift_of(d);
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    const hb_walk_reference reference = walk->seen;
    const double *q = row.gradient, C1 = mean_lag_constant((double)D);
    const double r2 = fmin(4 / (C1 * view->rate), 4 * M_PI * view->most), M = 0.25 * C1 * r2;
    const double reach2 = r2 * (double)D / (2 * M_PI * M_E),
                 bound = 0.5 * reference.curvature * reach2;
    const double a = bound * M / (1 + bound * M);
    const ball_draw drawn = draw_ball(D, sqrt(r2), a, view->uniform, view->normals);
    const double s = drawn.lag,
                 scale = drawn.length / sqrt(hb_dot(D, view->normals, view->normals));
    double along = 0, steep = 0; // q.y, |q|^2
    for (size_t i = 0; i < d; i++) {
        const double y = scale * view->normals[i];
        row.x[i] += y + q[i] * s * s;
        along += q[i] * y;
        steep += q[i] * q[i];
    }
    hb_walk_pull(shared, row.tangent, -s, q, row.slope);
    walk->log_weight -= reference.value * s + 0.5 * reference.heat * s * s + s * along +
                        2. / 3 * steep * s * s * s + log(1 - a + a * drawn.fraction / M);
    walk->left -= s;
    walk->rate = view->rate;
    walk->reference = reference.value + along + steep * s * s + reference.heat * s;
    walk->factor = drawn.fraction;
    walk->pending = &hb_walk_ball;
    return 0;
}

const hb_walk_ops hb_walk_ball = {.far = 2000,
                                  .part = 0.5,
                                  .normals = hb_walk_ball_normals,
                                  .rate = hb_gauge_rate,
                                  .step = ball_step,
                                  .apply_correction = hb_gauge_apply_correction};
