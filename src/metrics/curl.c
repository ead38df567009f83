/* Curl mass of a vector field in any dimension: how far its Jacobian is from symmetric.
 *
 *     curl = E |J - J^T|^2 / (4 E |J|^2)          (Frobenius norms, E over the given points)
 * is the fraction of the antisymmetric part of J: 0 for a gradient, 1 for a rotation. J v comes
 * from central differences (s(x + e v) - s(x - e v))/(2 e). With v along all axes J is known in
 * full. In large dimension a few independent normal directions v_1 .. v_P do:
 *     E |J v_a|^2 = |J|^2,    E (v_a.J v_b - v_b.J v_a)^2 = |J - J^T|^2   (a != b).
 * The error is that of a ratio of means over the points, A/B: the spread of A_i - curl B_i over the
 * mean B. The step e is STEP of the root mean square deviation of the points: small against what a
 * score varies on, large against the rounding of a network in single precision.
 * A number to reproduce: s = (x + 2y, -y) has J = (1 2; 0 -1), curl = 8/(4 * 6) = 1/3. */
#include "metrics/curl.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "random/streams.h"

#include <heatball/metrics.h>
#include <heatball/random.h>
#include <math.h>

enum { BATCH_DOUBLES = 1 << 18, LEAST_POINTS = 2 };
static const double STEP = 1e-3; /* chosen: see above */

/* ---- norms of Jacobians ---- */

typedef struct jacobian_batch {
    const hb_jacobian *of;
    size_t sides;       /* of a direction: +h, -h, and +2h, -2h with `change` */
    double *directions; // (points, probes, dim)
    double *x, *s;      // (points, probes, sides, dim)
    double *J;          // (2, probes, dim): J v of one point, by h and by 2h
} jacobian_batch;

/* The directions of `count` points, and the field at all sides. */
static hb_status jacobian_evaluate(const jacobian_batch *b, size_t first, size_t count,
                                   const double *x)
{
    static const double offsets[] = {1, -1, 2, -2};
    const hb_jacobian *j = b->of;
    const size_t d = j->dim, size = j->probes * d;
    if (j->probes < d)
        HB_TRY(hb_random_normal(j->context, j->seed, j->stream, first * size, count * size,
                                b->directions));
    for (size_t i = 0; j->probes == d && i < count * size; i++)
        b->directions[i] = i % d == i / d % d;
    for (size_t i = 0; i < count * j->probes; i++)
        for (size_t o = 0; o < b->sides; o++)
            for (size_t k = 0; k < d; k++)
                b->x[(b->sides * i + o) * d + k] = x[(first + i / j->probes) * d + k] +
                                                   offsets[o] * j->step * b->directions[i * d + k];
    return j->field(j->user, first, b->sides * count * j->probes, b->x, b->s);
}

/* v_b.J v_a - v_a.J v_b */
static double jacobian_asymmetry(size_t d, const double *v, const double *J, size_t a, size_t b)
{
    return hb_dot(d, v + b * d, J + a * d) - hb_dot(d, v + a * d, J + b * d);
}

/* Norms at point i of a batch, number `at` of all. */
static void jacobian_measure(const jacobian_batch *batch, size_t i, size_t at)
{
    const hb_jacobian *j = batch->of;
    const size_t d = j->dim, P = j->probes, sides = batch->sides;
    const double *v = batch->directions + i * P * d;
    double *J = batch->J, *K = J + P * d, rotation = 0, change = 0, size = 0;
    for (size_t k = 0; k < P * d; k++) {
        const double *s = batch->s + (i * P + k / d) * sides * d + k % d;
        J[k] = (s[0] - s[d]) / (2 * j->step);
        if (sides == 4) K[k] = (s[2 * d] - s[3 * d]) / (4 * j->step);
    }
    for (size_t a = 0; a < P; a++) {
        size += hb_dot(d, J + a * d, J + a * d);
        for (size_t b = 0; b < a; b++) {
            const double near = jacobian_asymmetry(d, v, J, a, b);
            rotation += near * near;
            if (sides != 4) continue;
            const double away = near - jacobian_asymmetry(d, v, K, a, b);
            change += away * away;
        }
    }
    /* |A|^2 is half the sum over a < b of (J_ab - J_ba)^2 */
    const double pairs = 0.5 * (double)P * (double)(P - 1), scale = P == d ? 0.5 : 0.25 / pairs;
    j->rotation[at] = rotation * scale;
    j->size[at] = P == d ? size : size / (double)P;
    if (j->change) j->change[at] = change * scale;
}

hb_status hb_jacobian_norms(const hb_jacobian *jacobian, size_t n, const double *x)
{
    jacobian_batch b = {.of = jacobian, .sides = jacobian->change ? 4 : 2};
    const size_t values = jacobian->probes * jacobian->dim,
                 fits = BATCH_DOUBLES / (b.sides * values);
    const size_t points = fits < 1 ? 1 : fits < n ? fits : n;
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(jacobian->context, &work, HB_ARRAY(b.directions, points * values),
                        HB_ARRAY(b.x, b.sides * points * values),
                        HB_ARRAY(b.s, b.sides * points * values), HB_ARRAY(b.J, 2 * values)));
    hb_status status = HB_OK;
    for (size_t first = 0; first < n && status == HB_OK; first += points) {
        const size_t count = n - first < points ? n - first : points;
        status = jacobian_evaluate(&b, first, count, x);
        for (size_t i = 0; i < count && status == HB_OK; i++) jacobian_measure(&b, i, first + i);
    }
    hb_workspace_destroy(&work);
    return status;
}

/* ---- the curl of a caller's field ---- */

typedef struct curl_field {
    const hb_jacobian *jacobian;
    double tau;
    hb_score_callback score;
    void *user;
} curl_field;

static hb_status curl_ask(void *user, size_t first, size_t n, const double *x, double *s)
{
    const curl_field *f = user;
    const hb_jacobian *j = f->jacobian;
    HB_CHECK(j->context, f->score(f->user, n, x, f->tau, s) == 0, HB_ERROR_CALLBACK,
             "the field to be evaluated reported an error");
    for (size_t i = 0; i < n * j->dim; i++)
        HB_CHECK(j->context, isfinite(s[i]), HB_ERROR_NUMERICAL,
                 "the field to be evaluated is %g near point %zu", s[i],
                 first + i / (j->probes * 2 * j->dim) + 1);
    return HB_OK;
}

/* Root mean square deviation of a coordinate from its mean. */
static double curl_deviation(size_t n, size_t d, const double *x)
{
    double total = 0;
    for (size_t j = 0; j < d; j++) {
        double mean = 0;
        for (size_t i = 0; i < n; i++) mean += x[i * d + j] / (double)n;
        for (size_t i = 0; i < n; i++) total += (x[i * d + j] - mean) * (x[i * d + j] - mean);
    }
    return sqrt(total / (double)(n * d));
}

/* sum A/sum B of A_i = |A|^2, B_i = |J|^2, and its error. */
static void curl_ratio(size_t n, const double *rotation, const double *size, double *curl,
                       double *se)
{
    double A = 0, B = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        A += rotation[i];
        B += size[i];
    }
    const double ratio = B > 0 ? A / B : 0;
    for (size_t i = 0; i < n; i++) {
        const double away = rotation[i] - ratio * size[i];
        squares += away * away;
    }
    if (curl) *curl = ratio;
    if (se) *se = B > 0 ? sqrt(squares * (double)n / ((double)n - 1)) / B : 0;
}

hb_status hb_judge_curl(hb_context *context, int dim, int probes, uint64_t seed, size_t n,
                        const double *x, double tau, hb_score_callback score, void *user,
                        double *curl, double *curl_se)
{
    HB_CHECK(context, dim >= 2, HB_ERROR_ARGUMENT,
             "dim is %d; only a field of 2 or more dimensions can turn", dim);
    HB_CHECK(context, n >= LEAST_POINTS && x, HB_ERROR_ARGUMENT,
             "n is %zu; the curl needs at least %d points", n, LEAST_POINTS);
    HB_CHECK(context, probes == 0 || probes >= 2, HB_ERROR_ARGUMENT,
             "probes is %d; it must be 0 (the whole Jacobian) or 2 and more", probes);
    const double deviation = curl_deviation(n, (size_t)dim, x);
    HB_CHECK(context, deviation > 0 && isfinite(deviation), HB_ERROR_ARGUMENT,
             "the points have the standard deviation %g; they must be finite and differ",
             deviation);
    hb_jacobian j = {.context = context,
                     .dim = (size_t)dim,
                     .probes = (size_t)(probes == 0 || probes >= dim ? dim : probes),
                     .seed = seed,
                     .stream = HB_STREAM_CURL,
                     .step = STEP * deviation,
                     .field = curl_ask};
    curl_field field = {&j, tau, score, user};
    j.user = &field;
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(j.rotation, n), HB_ARRAY(j.size, n)));
    const hb_status status = hb_jacobian_norms(&j, n, x);
    if (status == HB_OK) curl_ratio(n, j.rotation, j.size, curl, curl_se);
    hb_workspace_destroy(&work);
    return status;
}
