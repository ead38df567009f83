/* Curl mass of a vector field in any dimension: how far its Jacobian is from symmetric.
 *
 *     curl = E |J - J^T|^2 / (4 E |J|^2)          (Frobenius norms, E over the given points)
 * is the share of the antisymmetric part of J: 0 for a gradient, 1 for a rotation. J v comes from central
 * differences (s(x + e v) - s(x - e v))/(2 e). With v along all axes J is known in full. In large dimension
 * a few independent normal directions v_1 .. v_P do:
 *     E |J v_a|^2 = |J|^2,    E (v_a.J v_b - v_b.J v_a)^2 = |J - J^T|^2   (a != b).
 * The error is that of a ratio of means over the points, A/B: the spread of A_i - curl B_i over the mean B.
 * The step e is STEP of the root mean square deviation of the points: small against what a score varies
 * on, large against the rounding of a network in single precision.
 * A number to reproduce: s = (x + 2y, -y) has J = (1 2; 0 -1), curl = 8/(4 * 6) = 1/3. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "random/streams.h"

#include <heatball/metrics.h>
#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum { BATCH_DOUBLES = 1 << 18, LEAST_POINTS = 2 };
static const double STEP = 1e-3;

typedef struct curl_run {
    hb_context *context;
    size_t dim, probes, points; /* points: of a batch */
    int along_axes;
    double step, tau;
    uint64_t seed;
    hb_score_callback score;
    void *user;
    hb_workspace work;
    double *directions; // (points, probes, dim), random probes only
    double *x, *s;      // (points, probes, 2, dim)
    double *columns;    // (probes, dim): J v of one point
} curl_run;

/* Root mean square deviation of a coordinate from its mean. */
static double deviation(size_t n, size_t d, const double *x)
{
    double total = 0;
    for (size_t j = 0; j < d; j++) {
        double mean = 0;
        for (size_t i = 0; i < n; i++) mean += x[i * d + j] / (double)n;
        for (size_t i = 0; i < n; i++) total += (x[i * d + j] - mean) * (x[i * d + j] - mean);
    }
    return sqrt(total / (double)(n * d));
}

static const double *direction_of(const curl_run *run, size_t point, size_t probe)
{
    return run->directions + (point * run->probes + probe) * run->dim;
}

/* x + e v and x - e v for all probes of `count` points. */
static hb_status place_points(const curl_run *run, size_t first, size_t count, const double *x)
{
    const size_t d = run->dim, size = run->probes * d;
    if (!run->along_axes)
        HB_TRY(hb_random_normal(run->context, run->seed, HB_STREAM_CURL, first * size, count * size,
                                run->directions));
    for (size_t i = 0; i < count; i++)
        for (size_t p = 0; p < run->probes; p++) {
            double *ahead = run->x + (i * run->probes + p) * 2 * d, *behind = ahead + d;
            for (size_t j = 0; j < d; j++) {
                const double v = run->along_axes ? j == p : direction_of(run, i, p)[j];
                ahead[j] = x[(first + i) * d + j] + run->step * v;
                behind[j] = x[(first + i) * d + j] - run->step * v;
            }
        }
    return HB_OK;
}

/* |J - J^T|^2 and |J|^2 at point i of the batch, in full or by their unbiased estimates. */
static void jacobian_norms(const curl_run *run, size_t i, double *asymmetry, double *size)
{
    const size_t d = run->dim, probes = run->probes;
    const double *s = run->s + i * probes * 2 * d;
    for (size_t p = 0; p < probes; p++)
        for (size_t j = 0; j < d; j++)
            run->columns[p * d + j] = (s[2 * p * d + j] - s[(2 * p + 1) * d + j]) / (2 * run->step);
    *asymmetry = *size = 0;
    for (size_t a = 0; a < probes; a++) {
        const double *Jv = run->columns + a * d;
        *size += hb_dot(d, Jv, Jv);
        for (size_t b = 0; b < a; b++) {
            const double *Jw = run->columns + b * d;
            const double away = run->along_axes ? Jv[b] - Jw[a]
                                                : hb_dot(d, direction_of(run, i, b), Jv) -
                                                      hb_dot(d, direction_of(run, i, a), Jw);
            *asymmetry += away * away;
        }
    }
    const double pairs = 0.5 * (double)probes * (double)(probes - 1);
    *asymmetry *= run->along_axes ? 2 : 1 / pairs;
    if (!run->along_axes) *size /= (double)probes;
}

static hb_status measure(const curl_run *run, size_t n, const double *x, double *asymmetry,
                         double *size)
{
    for (size_t first = 0; first < n; first += run->points) {
        const size_t count = n - first < run->points ? n - first : run->points;
        const size_t values = count * run->probes * 2;
        HB_TRY(place_points(run, first, count, x));
        HB_CHECK(run->context, run->score(run->user, values, run->x, run->tau, run->s) == 0,
                 HB_ERROR_CALLBACK, "the field to be evaluated reported an error");
        for (size_t i = 0; i < values * run->dim; i++)
            HB_CHECK(run->context, isfinite(run->s[i]), HB_ERROR_NUMERICAL,
                     "the field to be evaluated is %g near point %zu", run->s[i],
                     first + i / (run->probes * 2 * run->dim) + 1);
        for (size_t i = 0; i < count; i++)
            jacobian_norms(run, i, asymmetry + first + i, size + first + i);
    }
    return HB_OK;
}

/* A/B with A_i = asymmetry/4, B_i = size, and its error. */
static void ratio(size_t n, const double *asymmetry, const double *size, double *curl, double *se)
{
    double A = 0, B = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        A += asymmetry[i] / 4;
        B += size[i];
    }
    *curl = B > 0 ? A / B : 0;
    for (size_t i = 0; i < n; i++) {
        const double away = asymmetry[i] / 4 - *curl * size[i];
        squares += away * away;
    }
    *se = B > 0 ? sqrt(squares * (double)n / ((double)n - 1)) / B : 0;
}

static hb_status allocate_run(curl_run *run)
{
    const size_t d = run->dim, batch = run->points * run->probes * d;
    return HB_WORKSPACE(run->context, &run->work, HB_ARRAY(run->columns, run->probes * d),
                        HB_ARRAY(run->x, 2 * batch), HB_ARRAY(run->s, 2 * batch),
                        HB_ARRAY(run->directions, batch));
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
    const int along_axes = probes == 0 || probes >= dim;
    const size_t d = (size_t)dim, used = along_axes ? d : (size_t)probes;
    const size_t fits = BATCH_DOUBLES / (2 * used * d), points = fits < 1 ? 1 : fits < n ? fits : n;
    curl_run run = {.context = context,
                    .dim = d,
                    .probes = used,
                    .points = points,
                    .along_axes = along_axes,
                    .step = STEP * deviation(n, d, x),
                    .tau = tau,
                    .seed = seed,
                    .score = score,
                    .user = user};
    HB_CHECK(context, run.step > 0 && isfinite(run.step), HB_ERROR_ARGUMENT,
             "the points have the standard deviation %g; they must be finite and differ",
             run.step / STEP);
    void *norms;
    HB_TRY(hb_allocate(context, 2 * n, sizeof(double), &norms));
    double *asymmetry = norms, *size = asymmetry + n; // (n) each
    hb_status status = allocate_run(&run);
    if (status == HB_OK) status = measure(&run, n, x, asymmetry, size);
    double value, error;
    if (status == HB_OK) {
        ratio(n, asymmetry, size, &value, &error);
        if (curl) *curl = value;
        if (curl_se) *curl_se = error;
    }
    hb_workspace_destroy(&run.work);
    hb_release(context, norms);
    return status;
}
