/* Does the score know its training rows better than rows of the same law that it has not seen?
 *
 * The loss of denoising at noised rows, |s - t|^2 (t the score of the transition), has the same mean over training rows and
 * over held-out ones when s does not depend on which rows were drawn; a score that has memorised has less over its own. The
 * exact score of the training rows themselves,
 *     s_T(x) = sum_j w_j t(x | x_j),    w_j ~ p(x | x_j),
 * is what a network that has memorised them all has. With gap = E_held |s - t|^2 - E_trained |s - t|^2,
 *     memorisation = gap(s)/gap(s_T):   0: nothing, 1: all,
 * tested one-sided by the two means over rows. Of a drift whose transition is not known the loss is Hyvarinen's,
 * |s|^2 + 2 div s, which has the same gap, and s_T is not known: the value is then the gap over E|s|^2.
 * A number to reproduce: s = s_T has the value 1. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "certify/certify_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct memory_run {
    const hb_certify_run *run;
    const hb_certify_rows *rows;
    size_t n_t;                                  /* training rows that are carried */
    double *x, *t, *s;                           // (n_t, dim)
    double *divergence;                          // (n_t)
    double *centres;                             // (n_training, dim): whitened
    double *held, *trained, *held_T, *trained_T; // (n), (n_t): losses of s and of s_T
    double *y;                                   // (dim)
    double *weights;                             // (n_training)
    hb_workspace work;
} memory_run;

/* |s - t|^2 with the noise whitened: |L'(s - t)|^2. */
static double whitened_loss(const hb_certify_level *level, size_t d, const double *s,
                            const double *t)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++) {
        double along = 0;
        for (size_t k = j; k < d; k++) along += level->L[k * d + j] * (s[k] - t[k]);
        sum += along * along;
    }
    return sum;
}

/* L' s_T(x) = sum_j w_j (c_j - y), y and c_j whitened; its loss against e = -L' t. */
static double memory_loss(const memory_run *r, const double *x, const double *t)
{
    const hb_certify_level *level = r->rows->level;
    const size_t d = r->run->dim, m = (size_t)r->run->settings.n_training;
    double most = -INFINITY, sum = 0, loss = 0;
    hb_certify_whiten(level, d, x, r->y);
    for (size_t j = 0; j < m; j++) {
        double square = 0;
        for (size_t k = 0; k < d; k++) {
            const double away = r->y[k] - r->centres[j * d + k];
            square += away * away;
        }
        r->weights[j] = -square / 2;
        most = fmax(most, r->weights[j]);
    }
    for (size_t j = 0; j < m; j++) sum += r->weights[j] = exp(r->weights[j] - most);
    for (size_t k = 0; k < d; k++) {
        double mean = 0, aim = 0;
        for (size_t j = 0; j < m; j++)
            mean += r->weights[j] / sum * (r->centres[j * d + k] - r->y[k]);
        for (size_t l = k; l < d; l++) aim += level->L[l * d + k] * t[l];
        loss += (mean - aim) * (mean - aim);
    }
    return loss;
}

static void place_centres(const memory_run *r)
{
    const hb_certify_level *level = r->rows->level;
    const size_t d = r->run->dim, m = (size_t)r->run->settings.n_training;
    for (size_t j = 0; j < m; j++) {
        hb_certify_centre(level, d, r->run->settings.training + j * d, r->y);
        hb_certify_whiten(level, d, r->y, r->centres + j * d);
    }
}

static void fill_losses(const memory_run *r)
{
    const hb_certify_rows *rows = r->rows;
    const size_t n = rows->n, d = r->run->dim;
    const int known = rows->level->gaussian;
    if (known) place_centres(r);
    for (size_t i = 0; i < n; i++) {
        const double *s = rows->score[0] + i * d, *t = rows->target[0] + i * d;
        r->held[i] = known ? whitened_loss(rows->level, d, s, t)
                           : hb_dot(d, s, s) + 2 * rows->divergence[0][i];
        r->held_T[i] = known ? memory_loss(r, rows->x[0] + i * d, t) : hb_dot(d, s, s);
    }
    for (size_t i = 0; i < r->n_t; i++) {
        const double *s = r->s + i * d, *t = r->t + i * d;
        r->trained[i] =
            known ? whitened_loss(rows->level, d, s, t) : hb_dot(d, s, s) + 2 * r->divergence[i];
        r->trained_T[i] = known ? memory_loss(r, r->x + i * d, t) : 0;
    }
}

static void write_line(const memory_run *r)
{
    const hb_certify_rows *rows = r->rows;
    const double tau = rows->level->tau;
    const hb_estimate held = hb_estimate_mean(rows->n, r->held);
    const hb_estimate trained = hb_estimate_mean(r->n_t, r->trained);
    const double all =
        hb_estimate_mean(rows->n, r->held_T).value - hb_estimate_mean(r->n_t, r->trained_T).value;
    const hb_estimate e = {(held.value - trained.value) / all,
                           hypot(held.error, trained.error) / fabs(all)};
    hb_line *line = hb_certificate_add(r->run->out, "memorisation", tau);
    line->value = e.value;
    line->error = e.error;
    line->p_value = all > 0 ? hb_estimate_p_above(e, rows->n, r->run->settings.tolerance) : 1;
    snprintf(line->good, sizeof line->good,
             "training rows fit no better than others: (%.2g ± %.2g) %% of the way to the score of "
             "the training rows",
             100 * e.value, 100 * e.error);
    snprintf(
        line->bad, sizeof line->bad,
        "training rows fit better than others: (%.3g ± %.2g) %% of the way to the score of the "
        "training rows, which repeats them",
        100 * e.value, 100 * e.error);
}

hb_status hb_certify_memory(const hb_certify_run *run, const hb_certify_rows *rows)
{
    const hb_certify_settings *s = &run->settings;
    const size_t d = run->dim, m = (size_t)s->n_training;
    if (!s->training) return HB_OK; /* said once, without a tau */
    memory_run r = {.run = run, .rows = rows, .n_t = m < s->rows ? m : (size_t)s->rows};
    HB_TRY(HB_WORKSPACE(run->context, &r.work, HB_ARRAY(r.x, r.n_t * d), HB_ARRAY(r.t, r.n_t * d),
                        HB_ARRAY(r.s, r.n_t * d), HB_ARRAY(r.divergence, r.n_t),
                        HB_ARRAY(r.centres, m * d), HB_ARRAY(r.held, rows->n),
                        HB_ARRAY(r.held_T, rows->n), HB_ARRAY(r.trained, r.n_t),
                        HB_ARRAY(r.trained_T, r.n_t), HB_ARRAY(r.y, d), HB_ARRAY(r.weights, m)));
    hb_status status =
        hb_certify_carry(run, rows->level, HB_USE_NOISE_TRAINING, 0, r.n_t, s->training, r.x, r.t);
    if (status == HB_OK) status = hb_certify_score_at(run, r.n_t, r.x, rows->level->tau, r.s);
    if (status == HB_OK && !rows->level->gaussian)
        status = hb_certify_divergence(run, rows->level->index, r.n_t, r.x, rows->level->tau,
                                       rows->level->width, r.divergence);
    if (status == HB_OK) {
        fill_losses(&r);
        write_line(&r);
    }
    hb_workspace_destroy(&r.work);
    return status;
}
