/* Does the score know its training rows better than rows of the same distribution that it has not
 * seen?
 *
 * The exact score of the training rows themselves,
 *     s_T(x) = sum_j w_j t(x | x_j),    w_j ~ p(x | x_j),
 * is what a network that has memorised them has. A score that has gone the fraction m of the way
 * from the true one to it, s = s* + m (s_T - s*), has at noised rows that were held out, with the
 * score t of their transition,
 *     E[(s - t).(s_T - s)]/E|s_T - s|^2 = m/(1 - m):     memorisation is m, or, below 0, this
 *     ratio.
 * For the true score the first mean is 0, since s_T does not depend on the held-out rows: an
 * unbiased test, one-sided, over rows; and it is linear in t, so that its noise is far below that
 * of the difference of two losses. Products are those of whitened noise, L'(s - t).L'(s_T - s).
 * Where s is s_T but for rounding there is nothing to test: m is 1. Of a drift whose transition is
 * not known the test is by Hyvarinen's loss |s|^2 + 2 div s, which has the same mean over training
 * rows and over held-out ones unless s knows the former; its value is the difference over E|s|^2. A
 * number to reproduce: s = s_T has the value 1. */
#include "base/linear_algebra.h"
#include "base/parallel.h"
#include "certify/certify_run.h"

#include <math.h>

enum { NOISES = 2 };
static const double SAME = 1e-6; /* of |s_T - s| to |s_T| */

/* ---- the score of the training rows ---- */

typedef struct memory_run {
    const hb_certify_run *run;
    const hb_certify_rows *rows;
    double *centres;            // (n_training, dim): whitened
    double *along, *size, *all; // (n): (s - t).(s_T - s), |s_T - s|^2, |s_T|^2
    double *y, *memory;         // (threads, dim)
    double *weights;            // (threads, n_training)
    hb_workspace work;
} memory_run;

/* L' s_T(x) = sum_j w_j (c_j - y), y and c_j whitened, into memory (dim). */
static void memory_score(const memory_run *r, const double *x, double *y, double *weights,
                         double *memory)
{
    const size_t d = r->run->dim, m = (size_t)r->run->settings.n_training;
    double most = -INFINITY, sum = 0;
    hb_certify_whiten(r->rows->level, d, x, y);
    for (size_t j = 0; j < m; j++) {
        weights[j] = -hb_distance2(d, y, r->centres + j * d) / 2;
        most = fmax(most, weights[j]);
    }
    for (size_t j = 0; j < m; j++) sum += weights[j] = exp(weights[j] - most);
    for (size_t k = 0; k < d; k++) memory[k] = -y[k];
    for (size_t j = 0; j < m; j++) hb_axpy(d, weights[j] / sum, r->centres + j * d, memory);
}

static hb_status memory_measure_row(void *user, size_t i, int thread)
{
    const memory_run *r = user;
    const size_t d = r->run->dim, m = (size_t)r->run->settings.n_training, at = (size_t)thread;
    const double *L = r->rows->level->L;
    double *memory = r->memory + at * d;
    if (thread == 0) HB_TRY(hb_certify_listen(r->run->context));
    r->along[i] = r->size[i] = r->all[i] = 0;
    for (size_t k = 0; k < NOISES; k++) {
        const double *s = r->rows->score[k] + i * d, *t = r->rows->target[k] + i * d;
        memory_score(r, r->rows->x[k] + i * d, r->y + at * d, r->weights + at * m, memory);
        for (size_t j = 0; j < d; j++) {
            double own = 0, aim = 0; /* L's, L't */
            for (size_t l = j; l < d; l++) {
                own += L[l * d + j] * s[l];
                aim += L[l * d + j] * t[l];
            }
            r->along[i] += (own - aim) * (memory[j] - own) / NOISES;
            r->size[i] += (memory[j] - own) * (memory[j] - own) / NOISES;
            r->all[i] += memory[j] * memory[j] / NOISES;
        }
    }
    return HB_OK;
}

static hb_status memory_place_centres(const memory_run *r)
{
    const size_t d = r->run->dim, m = (size_t)r->run->settings.n_training;
    for (size_t j = 0; j < m; j++) {
        hb_certify_centre(r->rows->level, d, r->run->settings.training + j * d, r->y);
        hb_certify_whiten(r->rows->level, d, r->y, r->centres + j * d);
        HB_TRY(hb_certify_listen(r->run->context));
    }
    return HB_OK;
}

static void memory_write_line(const memory_run *r)
{
    const size_t n = r->rows->n;
    const double tolerance = r->run->settings.tolerance;
    const hb_estimate e = hb_estimate_ratio(n, r->along, r->size);
    const double size = hb_estimate_mean(n, r->size).value, all = hb_estimate_mean(n, r->all).value;
    const double off = e.value > 0 ? e.value / (1 + e.value) : e.value;
    const double error = e.error / ((1 + fmax(e.value, 0)) * (1 + fmax(e.value, 0)));
    hb_line *line = hb_certificate_add(
        r->run->out, "memorisation", r->rows->level->tau, off, error,
        hb_estimate_p_above(e, n, tolerance < 1 ? tolerance / (1 - tolerance) : 1e300));
    if (size <= SAME * SAME * all) {
        line->value = 1;
        line->error = line->p_value = NAN;
        line->verdict = HB_VERDICT_FAILS;
        hb_line_say(line->bad, "this is the score of the training rows themselves");
        return;
    }
    hb_line_say(line->good, "not on the way to the score of the training rows: (%.2g ± %.2g) %%",
                100 * off, 100 * error);
    hb_line_say(line->bad,
                "memorised: (%.3g ± %.2g) %% of the way to the score of the training rows, which "
                "repeats them",
                100 * off, 100 * error);
}

static hb_status memory_by_score(const hb_certify_run *run, const hb_certify_rows *rows)
{
    const size_t n = rows->n, d = run->dim, m = (size_t)run->settings.n_training;
    const size_t threads = (size_t)hb_context_threads(run->context);
    memory_run r = {.run = run, .rows = rows};
    HB_TRY(HB_WORKSPACE(run->context, &r.work, HB_ARRAY(r.centres, m * d), HB_ARRAY(r.along, n),
                        HB_ARRAY(r.size, n), HB_ARRAY(r.all, n), HB_ARRAY(r.y, threads * d),
                        HB_ARRAY(r.memory, threads * d), HB_ARRAY(r.weights, threads * m)));
    hb_status status = memory_place_centres(&r);
    if (status == HB_OK) status = hb_parallel_for(run->context, NULL, n, memory_measure_row, &r);
    if (status == HB_OK) memory_write_line(&r);
    hb_workspace_destroy(&r.work);
    return status;
}

/* ---- by Hyvarinen's loss ---- */

static void memory_write_gap(const hb_certify_run *run, const hb_certify_rows *rows, size_t m,
                             const double *held, const double *trained, double size)
{
    const hb_estimate h = hb_estimate_mean(rows->n, held), t = hb_estimate_mean(m, trained);
    hb_estimate e = hb_estimate_difference(h, t);
    e.value /= size;
    e.error /= size;
    hb_line *line = hb_certificate_add(
        run->out, "memorisation", rows->level->tau, e.value, e.error,
        hb_estimate_p_above(e, rows->n < m ? rows->n : m, run->settings.tolerance));
    hb_line_say(line->good,
                "training rows fit no better than others: by (%.2g ± %.2g) %% of E|s|^2",
                100 * e.value, 100 * e.error);
    hb_line_say(line->bad,
                "memorised: training rows fit better than others by (%.3g ± %.2g) %% of E|s|^2",
                100 * e.value, 100 * e.error);
}

static hb_status memory_by_loss(const hb_certify_run *run, const hb_certify_rows *rows)
{
    const hb_certify_settings *settings = &run->settings;
    const size_t n = rows->n, d = run->dim;
    const size_t m = settings->n_training < settings->rows ? (size_t)settings->n_training
                                                           : (size_t)settings->rows;
    hb_workspace work;
    double *x, *s, *trained, *held, size = 0; // (m, dim), (m, dim), (m), (n)
    HB_TRY(HB_WORKSPACE(run->context, &work, HB_ARRAY(x, m * d), HB_ARRAY(s, m * d),
                        HB_ARRAY(trained, m), HB_ARRAY(held, n)));
    hb_status status = hb_certify_carry(run, rows->level, HB_USE_NOISE_TRAINING, 0, m,
                                        settings->training, x, NULL);
    if (status == HB_OK) status = hb_certify_score_at(run, m, x, rows->level->tau, s);
    if (status == HB_OK)
        status = hb_certify_divergence(run, rows->level->index, m, x, rows->level->tau,
                                       rows->level->width, trained);
    for (size_t i = 0; i < m && status == HB_OK; i++)
        trained[i] = 2 * trained[i] + hb_dot(d, s + i * d, s + i * d);
    for (size_t i = 0; i < n; i++) {
        const double square = hb_dot(d, rows->score[0] + i * d, rows->score[0] + i * d);
        held[i] = 2 * rows->divergence[0][i] + square;
        size += square / (double)n;
    }
    if (status == HB_OK) memory_write_gap(run, rows, m, held, trained, size);
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_certify_memory(const hb_certify_run *run, const hb_certify_rows *rows)
{
    if (!run->settings.training) return HB_OK; /* said once, without a tau */
    return rows->level->gaussian ? memory_by_score(run, rows) : memory_by_loss(run, rows);
}
