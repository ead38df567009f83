/* Is the score a gradient? The antisymmetric part A = (J - J')/2 of its Jacobian, at noised rows.
 *
 *     curl = sqrt(E|A|^2/E|J|^2)        (Frobenius norms): 0 for a gradient, 1 for a rotation
 * J is a central difference (metrics/curl.c) with the step h = hb_certify_step times the noise, and
 * again with 2h. Where the field is a gradient what is left of A comes from the step and from
 * rounding, and the two A differ by as much: with D = A_2h - A_h, |A_h|^2 - SAFETY |D|^2 is below 0
 * in the mean for every smooth gradient. Its mean over the rows, less tolerance^2 |J|^2, is tested,
 * one-sided. So the true score passes surely, not at a level.
 * A number to reproduce: (1 + 0.05 Q) s, Q the turn by 90 degrees, s = -x in two dimensions:
 * curl = 0.05/sqrt(1.0025). */
#include "certify/certify_run.h"
#include "metrics/curl.h"

#include <math.h>

enum { POINTS = 500, DIRECTIONS = 8 };
static const double SAFETY = 8; /* chosen: |D|^2 is 9 |A_h|^2 for a smooth gradient */

typedef struct curl_field {
    const hb_certify_run *run;
    double tau;
} curl_field;

static hb_status curl_score(void *user, size_t first, size_t n, const double *x, double *s)
{
    const curl_field *field = user;
    (void)first;
    return hb_certify_score_at(field->run, n, x, field->tau, s);
}

static void curl_write_line(const hb_certify_run *run, const hb_certify_rows *rows, size_t n,
                            const hb_jacobian *j)
{
    const double tolerance = run->settings.tolerance;
    const hb_estimate turn = hb_estimate_ratio(n, j->rotation, j->size);
    char where[120];
    hb_certify_where_most(run, rows, n, j->rotation, sizeof where, where);
    double change = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        change += SAFETY * j->change[i];
        size += j->size[i];
        j->rotation[i] -= SAFETY * j->change[i] + tolerance * tolerance * j->size[i];
    }
    const double value = sqrt(turn.value),
                 error = sqrt(turn.value + turn.error + change / size) - value;
    hb_line *line = hb_certificate_add(run->out, "curl", rows->level->tau, value, error,
                                       hb_estimate_p_above(hb_estimate_mean(n, j->rotation), n, 0));
    hb_line_say(line->good, "the score is a gradient to %.2g %% of its Jacobian",
                100 * (value + error));
    hb_line_say(line->bad,
                "the score turns: (%.3g ± %.2g) %% of its Jacobian is a rotation, most %s",
                100 * value, 100 * error, where);
}

hb_status hb_certify_curl(const hb_certify_run *run, const hb_certify_rows *rows)
{
    const size_t n = rows->n < POINTS ? rows->n : POINTS, d = run->dim;
    if (d == 1) return HB_OK; /* every function of one variable is a derivative */
    curl_field field = {run, rows->level->tau};
    hb_jacobian j = {.context = run->context,
                     .dim = d,
                     .probes = d <= HB_CERTIFY_AXES ? d : DIRECTIONS,
                     .seed = run->settings.seed,
                     .stream = hb_certify_stream(rows->level->index, HB_USE_DIRECTIONS),
                     .step = hb_certify_step * rows->level->width,
                     .field = curl_score,
                     .user = &field};
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(run->context, &work, HB_ARRAY(j.rotation, n), HB_ARRAY(j.size, n),
                        HB_ARRAY(j.change, n)));
    const hb_status status = hb_jacobian_norms(&j, n, rows->x[0]);
    if (status == HB_OK) curl_write_line(run, rows, n, &j);
    hb_workspace_destroy(&work);
    return status;
}
