/* Stein's identity at noised rows, for the fields s and x - m.
 *
 * Let s* be the true score at tau and x = x(tau) of a held-out row. For every field phi
 *     E[s*.phi] = -E[div phi]  (Stein),      E[s*.phi] = E[t.phi],
 * t the score of the transition from the row (certify_noise.c), whose mean at given x is s*. So
 *     B = s.phi + div phi,     A = (s - t).phi
 * both have the mean E[(s - s*).phi], 0 for the true score. Their difference has mean 0 whatever s
 * is, and B + c (A - B) with the c of least variance is better than either: at large tau A has
 * nearly no noise, at small tau B has less.
 *     stein scale   phi = s:      E[(s - s*).s]/E|s|^2 = 1 - k, k s the multiple of s that is
 *     nearest to s* in the mean
 *                                 square: s is too large by 1/k - 1
 *     stein width   phi = x - m:  E[(s - s*).(x - m)]/dim, m the mean: s pulls too little (> 0) or
 *     too much (< 0) to the
 *                                 middle
 * All noises of a row, pairs of e and -e, are one value of the mean over rows, which are
 * independent. A number to reproduce: rows N(0, 1) under OU and s = -1.05 x: 1 - k = 1 - 1/1.05 =
 * 0.0476, width -0.05. */
#include "base/linear_algebra.h"
#include "certify/certify_run.h"

#include <math.h>
#include <string.h>

typedef struct stein_run {
    const hb_certify_run *run;
    const hb_certify_rows *rows;
    double *mean;                  // (dim): of x
    double *stein, *target, *size; // (n): B, A and what the effect is relative to
    hb_workspace work;
} stein_run;

static void stein_mean(const stein_run *r)
{
    const size_t n = r->rows->n, d = r->run->dim;
    memset(r->mean, 0, d * sizeof *r->mean);
    for (int k = 0; k < HB_CERTIFY_NOISES; k++)
        for (size_t i = 0; i < n; i++)
            hb_axpy(d, 1 / (HB_CERTIFY_NOISES * (double)n), r->rows->x[k] + i * d, r->mean);
}

/* B, A and size of the rows, for phi = s or phi = x - m. */
static void stein_fill(const stein_run *r, int scale)
{
    const size_t n = r->rows->n, d = r->run->dim;
    for (size_t i = 0; i < n; i++) {
        r->stein[i] = r->target[i] = r->size[i] = 0;
        for (int k = 0; k < HB_CERTIFY_NOISES; k++) {
            const double *s = r->rows->score[k] + i * d, *t = r->rows->target[k] + i * d;
            const double *x = r->rows->x[k] + i * d;
            double along = 0, aim = 0;
            for (size_t j = 0; j < d; j++) {
                const double phi = scale ? s[j] : x[j] - r->mean[j];
                along += s[j] * phi;
                aim += (s[j] - t[j]) * phi;
            }
            const double divergence = scale ? r->rows->divergence[k][i] : (double)d;
            r->stein[i] += (along + divergence) / HB_CERTIFY_NOISES;
            r->target[i] += aim / HB_CERTIFY_NOISES;
            r->size[i] += (scale ? along : (double)d) / HB_CERTIFY_NOISES;
        }
    }
    if (!r->rows->level->gaussian) return;
    const double c = hb_estimate_mix(n, r->stein, r->target);
    for (size_t i = 0; i < n; i++) r->stein[i] += c * (r->target[i] - r->stein[i]);
}

static void stein_write_scale(const stein_run *r)
{
    stein_fill(r, 1);
    const hb_estimate e = hb_estimate_ratio(r->rows->n, r->stein, r->size);
    const double k = 1 - e.value, off = 1 / k - 1, error = e.error / (k * k);
    hb_line *line = hb_certificate_add(r->run->out, "stein scale", r->rows->level->tau,
                                       k > 0 ? off : e.value, k > 0 ? error : e.error,
                                       hb_estimate_p(e, r->rows->n, r->run->settings.tolerance));
    hb_line_say(line->good, "scores have the right size to (%.2g ± %.2g) %%", 100 * line->value,
                100 * line->error);
    if (k > 0)
        hb_line_say(line->bad, "scores are (%.3g ± %.2g) %% too %s", 100 * fabs(off), 100 * error,
                    off > 0 ? "large" : "small");
    else
        hb_line_say(line->bad,
                    "scores point away from where the rows are: E[div s + |s|^2] is %.2g ± %.2g of "
                    "E|s|^2",
                    e.value, e.error);
}

static void stein_write_width(const stein_run *r)
{
    stein_fill(r, 0);
    const hb_estimate e = hb_estimate_ratio(r->rows->n, r->stein, r->size);
    hb_line *line =
        hb_certificate_add(r->run->out, "stein width", r->rows->level->tau, e.value, e.error,
                           hb_estimate_p(e, r->rows->n, r->run->settings.tolerance));
    hb_line_say(line->good, "the pull towards the middle is right to (%.2g ± %.2g) %%",
                100 * e.value, 100 * e.error);
    hb_line_say(line->bad, "the pull towards the middle of the rows is (%.3g ± %.2g) %% too %s",
                100 * fabs(e.value), 100 * e.error, e.value > 0 ? "weak" : "strong");
}

hb_status hb_certify_stein(const hb_certify_run *run, const hb_certify_rows *rows)
{
    stein_run r = {.run = run, .rows = rows};
    HB_TRY(HB_WORKSPACE(run->context, &r.work, HB_ARRAY(r.mean, run->dim),
                        HB_ARRAY(r.stein, rows->n), HB_ARRAY(r.target, rows->n),
                        HB_ARRAY(r.size, rows->n)));
    stein_mean(&r);
    stein_write_scale(&r);
    stein_write_width(&r);
    hb_workspace_destroy(&r.work);
    return HB_OK;
}
