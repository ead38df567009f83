/* What trajectories that are too rare to be seen may change.
 *
 * In the tail hardly one of N trajectories comes near the point at a node of the correction: it is
 * 0 only because nobody came, and the spread that was seen says nothing about it. What it would
 * vary by can be told: with c the node's correction at x in units of q, weight w, and u, S the
 * pilot's density and score,
 *     variance of its mean, relative      w^2 E[c^2 q]/(N u),
 *     trajectories that count at the node  N u/E[q],
 * E over eta ~ N(m, I), S = (L^-1 E)' m, exact for Gaussian densities and linear drifts but for the
 * covariance. The variances are added over the nodes at which fewer than SEEN trajectories count;
 * for the score likewise with r_k = (L^-1 E)'(phi - (phi.eta) eta) - S c. Heat balls, which look at
 * wide lags, are left out.
 * Must reproduce: a linear drift adds nothing, c = 0. */
#include "base/context.h"
#include "particle/particle_pilot.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { DRAWS = 64 };

static const double SEEN = 30;     /* trajectories that count, below which a node is not seen */
static const double FURTHEST = 12; /* of m */

typedef struct unseen {
    const hb_particle_kernel *kernel;
    const hb_particle_node *node;
    const double *score;
    double *eta, *x, *F, *tau; // (DRAWS, d) three times, (DRAWS)
    double *m, *phi, *f;       // (d) each
    double *sums;              // (1 + d): E[c^2 q], E[r^2 q], over u
    double *square;            // (d, d)
} unseen;

size_t hb_unseen_work(size_t d)
{
    return DRAWS * (3 * d + 1) + 4 * d + 1 + d * d + d;
}

/* m with (L^-1 E)' m = S; 0 where that has no solution or lies too far for it to be believed. */
static int unseen_middle_of(unseen *w, size_t d)
{
    lapack_int *pivot = (lapack_int *)(w->square + d * d);
    double size = 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) w->square[i * d + j] = w->node->lower[j * d + i];
    memcpy(w->m, w->score, d * sizeof *w->m);
    if (LAPACKE_dgesv(LAPACK_ROW_MAJOR, (int)d, 1, w->square, (int)d, pivot, w->m, 1) != 0)
        return 0;
    for (size_t i = 0; i < d; i++) size += w->m[i] * w->m[i];
    return sqrt(size) < FURTHEST;
}

/* f = F - b - A(x - x0) and phi = L^-1 f; returns phi . eta. */
static double rest_at(unseen *w, size_t d, const double *x, const double *F, const double *eta)
{
    const hb_particle_anchor *anchor = &w->kernel->anchor;
    double along = 0;
    for (size_t j = 0; j < d; j++) {
        w->f[j] = F[j] - anchor->b[j];
        for (size_t k = 0; k < d; k++) w->f[j] -= anchor->A[j * d + k] * (x[k] - anchor->x0[k]);
    }
    for (size_t i = 0; i < d; i++) {
        w->phi[i] = 0;
        for (size_t j = 0; j <= i; j++) w->phi[i] += w->node->whiten[i * d + j] * w->f[j];
        along += w->phi[i] * eta[i];
    }
    return along;
}

/* Adds c^2 q and r^2 q of one place. */
static void unseen_add_place(unseen *w, size_t d, const double *x, const double *F,
                             const double *eta, double q)
{
    const double along = rest_at(w, d, x, F, eta);
    if (!isfinite(along)) return;
    w->sums[0] += along * along * q;
    for (size_t k = 0; k < d; k++) {
        double r = w->score[k] * along;
        for (size_t i = 0; i < d; i++)
            r += w->node->lower[i * d + k] * (w->phi[i] - along * eta[i]);
        w->sums[1 + k] += r * r * q;
    }
}

static void make_places(unseen *w, size_t d)
{
    for (size_t n = 0; n < DRAWS; n++) {
        double *eta = w->eta + n * d;
        for (size_t k = 0; k < d; k++) eta[k] += w->m[k];
        hb_node_place(w->node, d, eta, 1, w->x + n * d);
    }
}

/* Adds what one node owes to out (1 + d). */
static hb_status unseen_add_node(const hb_particle_task *task, hb_context *alone, unseen *w,
                                 double log_u, double samples, double *out)
{
    const size_t d = task->dim;
    const hb_particle_node *node = w->node;
    double count = 0;
    HB_TRY(hb_random_normal(alone, task->seed, HB_STREAM_UNSEEN, 0, DRAWS * d, w->eta));
    make_places(w, d);
    for (size_t n = 0; n < DRAWS; n++) w->tau[n] = fmax(task->tau - node->lag, 0);
    HB_TRY(
        hb_problem_drift_each(alone, task->problem, DRAWS, w->x, w->tau, w->F, NULL, NULL, NULL));
    memset(w->sums, 0, (1 + d) * sizeof *w->sums);
    for (size_t n = 0; n < DRAWS; n++) {
        const double *eta = w->eta + n * d;
        double squares = 0;
        for (size_t k = 0; k < d; k++) squares += eta[k] * eta[k];
        const double q = exp(node->log_norm - 0.5 * squares - log_u) / DRAWS;
        count += q;
        unseen_add_place(w, d, w->x + n * d, w->F + n * d, eta, q);
    }
    if (count < samples / SEEN) return HB_OK; /* it is seen */
    for (size_t k = 0; k < 1 + d; k++)
        out[k] = hypot(out[k], node->weight[0] * sqrt(w->sums[k] / samples));
    return HB_OK;
}

hb_status hb_unseen_errors(const hb_particle_task *task, hb_context *alone,
                           const hb_particle_kernel *kernel, double log_u, const double *score,
                           double samples, double *out, double *work)
{
    const size_t d = task->dim;
    unseen w = {.kernel = kernel, .score = score, .eta = work};
    w.x = w.eta + DRAWS * d, w.F = w.x + DRAWS * d, w.tau = w.F + DRAWS * d;
    w.m = w.tau + DRAWS, w.phi = w.m + d, w.f = w.phi + d, w.sums = w.f + d;
    w.square = w.sums + 1 + d;
    memset(out, 0, (1 + d) * sizeof *out);
    if (!kernel->corrected || kernel->lift || !isfinite(log_u)) return HB_OK;
    for (size_t k = 0; k < d; k++)
        if (!isfinite(score[k])) return HB_OK;
    for (int j = kernel->n_main; j < kernel->n; j++) {
        w.node = kernel->nodes + j;
        if (w.node->weight[0] == 0 || !unseen_middle_of(&w, d)) continue;
        HB_TRY(unseen_add_node(task, alone, &w, log_u, samples, out));
    }
    return HB_OK;
}
