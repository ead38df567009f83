/* Is the score a gradient? The antisymmetric part A = (J - J')/2 of its Jacobian, at noised rows.
 *
 *     curl = sqrt(E|A|^2/E|J|^2)        (Frobenius norms): 0 for a gradient, 1 for a rotation
 * J along an axis or a random direction is a central difference with the step h = hb_certify_step times the noise, and
 * again with 2h. Where the field is a gradient what is left of A comes from the step and from rounding, and the two A
 * differ by as much: with D = A_2h - A_h, |A_h|^2 - SAFETY |D|^2 is below 0 in the mean for every smooth gradient. Its mean
 * over the rows, less tolerance^2 |J|^2, is tested, one-sided. So the true score passes surely, not at a level.
 * Of P < dim normal directions v_a: E|J v|^2 = |J|^2 and E(v_a.J v_b - v_b.J v_a)^2 = 4 |A|^2.
 * A number to reproduce: (1 + 0.05 Q) s, Q the turn by 90 degrees, s = -x in the plane: curl = 0.05/sqrt(1.0025). */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "certify/certify_run.h"

#include <heatball/random.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 500, DIRECTIONS = 8, BATCH = 1 << 18 };
static const double SAFETY = 8;

typedef struct curl_run {
    const hb_certify_run *run;
    const hb_certify_rows *rows;
    size_t probes, points; /* points: of a batch */
    int axes;
    double step;
    double *directions;          // (points, probes, dim)
    double *x, *s;               // (points, probes, 4, dim): +h, -h, +2h, -2h
    double *J;                   // (2, probes, dim): by h and by 2h
    double *turn, *noise, *size; // (n): |A|^2, |D|^2, |J|^2
    hb_workspace work;
} curl_run;

static hb_status place(const curl_run *r, size_t first, size_t count)
{
    static const double offsets[] = {1, -1, 2, -2};
    const size_t d = r->run->dim, size = r->probes * d;
    if (!r->axes)
        HB_TRY(hb_random_normal(r->run->context, r->run->settings.seed,
                                hb_certify_stream(r->rows->level->index, HB_USE_DIRECTIONS),
                                first * size, count * size, r->directions));
    for (size_t i = 0; r->axes && i < count * size; i++)
        r->directions[i] = i % d == i / d % r->probes;
    for (size_t i = 0; i < count * r->probes; i++)
        for (size_t o = 0; o < 4; o++)
            for (size_t j = 0; j < d; j++)
                r->x[(4 * i + o) * d + j] = r->rows->x[0][(first + i / r->probes) * d + j] +
                                            offsets[o] * r->step * r->directions[i * d + j];
    return hb_certify_score_at(r->run, 4 * count * r->probes, r->x, r->rows->level->tau, r->s);
}

/* Norms at point i of a batch, number `at` of all. */
static void norms(const curl_run *r, size_t i, size_t at)
{
    const size_t d = r->run->dim, P = r->probes;
    const double *v = r->directions + i * P * d;
    double *J = r->J, *K = r->J + P * d, turn = 0, noise = 0, size = 0;
    for (size_t p = 0; p < P; p++)
        for (size_t j = 0; j < d; j++) {
            const double *s = r->s + (i * P + p) * 4 * d + j;
            J[p * d + j] = (s[0] - s[d]) / (2 * r->step);
            K[p * d + j] = (s[2 * d] - s[3 * d]) / (4 * r->step);
            size += J[p * d + j] * J[p * d + j];
        }
    for (size_t a = 0; a < P; a++)
        for (size_t b = 0; b < a; b++) {
            const double near = hb_dot(d, v + b * d, J + a * d) - hb_dot(d, v + a * d, J + b * d);
            const double far = hb_dot(d, v + b * d, K + a * d) - hb_dot(d, v + a * d, K + b * d);
            turn += near * near;
            noise += (near - far) * (near - far);
        }
    /* |A|^2 is half the sum over a < b of (J_ab - J_ba)^2 */
    const double pairs = 0.5 * (double)P * (double)(P - 1), scale = r->axes ? 0.5 : 0.25 / pairs;
    r->turn[at] = turn * scale;
    r->noise[at] = noise * scale;
    r->size[at] = r->axes ? size : size / (double)P;
}

static void write_line(curl_run *r, size_t n)
{
    const double tolerance = r->run->settings.tolerance;
    const hb_estimate share = hb_estimate_ratio(n, r->turn, r->size);
    size_t worst = 0;
    char where[120];
    for (size_t i = 1; i < n; i++)
        if (r->turn[i] > r->turn[worst]) worst = i;
    hb_certify_where(r->run, r->rows->x[0] + worst * r->run->dim, sizeof where, where);
    double noise = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        noise += SAFETY * r->noise[i];
        size += r->size[i];
        r->turn[i] -= SAFETY * r->noise[i] + tolerance * tolerance * r->size[i];
    }
    hb_line *line = hb_certificate_add(r->run->out, "curl", r->rows->level->tau);
    line->value = sqrt(share.value);
    line->error = sqrt(share.value + share.error + noise / size) - line->value;
    line->p_value = hb_estimate_p_above(hb_estimate_mean(n, r->turn), n, 0);
    snprintf(line->good, sizeof line->good, "the score is a gradient to %.2g %% of its Jacobian",
             100 * (line->value + line->error));
    snprintf(line->bad, sizeof line->bad,
             "the score turns: (%.3g ± %.2g) %% of its Jacobian is a rotation, most %s",
             100 * line->value, 100 * line->error, where);
}

hb_status hb_certify_curl(const hb_certify_run *run, const hb_certify_rows *rows)
{
    const size_t n = rows->n < POINTS ? rows->n : POINTS, d = run->dim;
    curl_run r = {.run = run,
                  .rows = rows,
                  .axes = d <= HB_CERTIFY_AXES,
                  .step = hb_certify_step * rows->level->width};
    if (d == 1) return HB_OK; /* every function on a line is a derivative */
    r.probes = r.axes ? d : DIRECTIONS;
    const size_t fits = BATCH / (4 * r.probes * d), m = fits < 1 ? 1 : fits < n ? fits : n;
    HB_TRY(HB_WORKSPACE(run->context, &r.work, HB_ARRAY(r.directions, m * r.probes * d),
                        HB_ARRAY(r.x, 4 * m * r.probes * d), HB_ARRAY(r.s, 4 * m * r.probes * d),
                        HB_ARRAY(r.J, 2 * r.probes * d), HB_ARRAY(r.turn, n), HB_ARRAY(r.noise, n),
                        HB_ARRAY(r.size, n)));
    hb_status status = HB_OK;
    for (size_t first = 0; first < n && status == HB_OK; first += m) {
        const size_t count = n - first < m ? n - first : m;
        status = place(&r, first, count);
        for (size_t i = 0; i < count && status == HB_OK; i++) norms(&r, i, first + i);
    }
    if (status == HB_OK) write_line(&r, n);
    hb_workspace_destroy(&r.work);
    return status;
}
