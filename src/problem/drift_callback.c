/* A drift that is a function of the user's: its derivatives by differences where it gives none.
 *
 * Central differences D(h) = (f(x+h) - f(x-h))/2h, extrapolated twice (L. F. Richardson, 1911):
 *     E(h) = (4 D(h/2) - D(h))/3,     f'(x) = (16 E(h/2) - E(h))/15 + O(h^6 f^(7)/322560)
 * with h = 2^-6 max(1, |x_j|): for functions that vary on the scale 1 a Jacobian df_i/dx_j made so
 * is right to about 1e-13. The gradient of the divergence differentiates the divergence in the same
 * way, also when that is itself a difference, and about 1e-11 is left. Of a gradient, J = J', so
 * grad div f = Lap f: second differences of the same 1 + 6 d values give it, where a general drift
 * needs 36 d^2 of them. All shifted points of a block go to the callback in one call; each point
 * has its time.
 * A number to reproduce: f = sin at x = 0.8 gives cos(0.8) to 1e-12. */
#include "base/context.h"
#include "base/memory.h"
#include "problem/problem_parts.h"

#include <math.h>
#include <string.h>

enum {
    SHIFTS = 6,
    ALL_FACTS = HB_DRIFT_FACT_AUTONOMOUS | HB_DRIFT_FACT_LINEAR | HB_DRIFT_FACT_GRADIENT |
                HB_DRIFT_FACT_REENTRANT
};

static const double STEP = 0x1p-6;

hb_status hb_drift_from_callback(hb_context *context, const hb_problem_settings *settings, int dim,
                                 hb_drift *drift)
{
    HB_TRY(HB_NEW_CLEARED(context, drift->values, 2));
    if (!(settings->drift_facts & HB_DRIFT_FACT_REENTRANT)) {
        HB_TRY(HB_NEW(context, drift->lock, 1));
        omp_init_lock(drift->lock);
    }
    drift->dim = dim;
    HB_CHECK(
        context, (settings->drift_facts & ~ALL_FACTS) == 0, HB_ERROR_ARGUMENT,
        "drift_facts is %d; it must be a sum of autonomous 1, linear 2, gradient 4 and reentrant 8",
        settings->drift_facts);
    drift->facts = (hb_drift_facts){.steady = 0};
    drift->facts.autonomous = (settings->drift_facts & HB_DRIFT_FACT_AUTONOMOUS) != 0;
    drift->facts.affine = (settings->drift_facts & HB_DRIFT_FACT_LINEAR) != 0;
    drift->facts.gradient = dim == 1 || (settings->drift_facts & HB_DRIFT_FACT_GRADIENT);
    drift->callback = settings->drift_callback;
    drift->has_jacobian = settings->drift_has_jacobian;
    drift->user = settings->drift_user;
    return HB_OK;
}

/* At n points, `asked` of which are no shifts. */
static hb_status callback_call(hb_context *context, const hb_drift *drift, const double *t,
                               size_t n, size_t asked, const double *x, double *f, double *jacobian)
{
    if (drift->lock) omp_set_lock(drift->lock);
    const int failure = drift->callback(drift->user, n, x, t, f, jacobian);
    if (drift->lock) omp_unset_lock(drift->lock);
#pragma omp atomic
    drift->values[0] += asked;
#pragma omp atomic
    drift->values[1] += n - asked;
    HB_CHECK(context, failure == 0, HB_ERROR_CALLBACK,
             "the callback for the drift returned %d at t = %g; 0 means success", failure, *t);
    return HB_OK;
}

/* shifted[d][6][d]: x with coordinate j moved by +-h, +-h/2, +-h/4; times[d][6]: t. */
static void shift_point(size_t d, const double *x, double t, double *shifted, double *times)
{
    static const double moves[SHIFTS] = {1, -1, 0.5, -0.5, 0.25, -0.25};
    for (size_t k = 0; k < d * SHIFTS; k++) times[k] = t;
    for (size_t j = 0; j < d; j++)
        for (int k = 0; k < SHIFTS; k++, shifted += d) {
            memcpy(shifted, x, d * sizeof *x);
            shifted[j] += moves[k] * STEP * fmax(1, fabs(x[j]));
        }
}

/* From the differences with h, h/2, h/4. */
static double callback_extrapolate(const double D[SHIFTS / 2])
{
    const double coarse = D[1] + (D[1] - D[0]) / 3, fine = D[2] + (D[2] - D[1]) / 3;
    return fine + (fine - coarse) / 15;
}

/* The derivative by coordinate j from the values at its six shifts; x are those coordinates. */
double hb_richardson(const double x[SHIFTS], const double y[SHIFTS])
{
    double D[SHIFTS / 2];
    for (int k = 0; k < SHIFTS / 2; k++)
        D[k] = (y[2 * k] - y[2 * k + 1]) / (x[2 * k] - x[2 * k + 1]);
    return callback_extrapolate(D);
}

/* The second derivative, with the value y0 at x0. */
static double second_derivative(double x0, double y0, const double x[SHIFTS],
                                const double y[SHIFTS])
{
    double D[SHIFTS / 2];
    for (int k = 0; k < SHIFTS / 2; k++) {
        const double right = x[2 * k], left = x[2 * k + 1];
        D[k] = 2 * ((y[2 * k] - y0) / (right - x0) - (y0 - y[2 * k + 1]) / (x0 - left)) /
               (right - left);
    }
    return callback_extrapolate(D);
}

/* From the values f[1 + 6 d][d] at a point and its shifts, at[1 + 6 d][d]; grad div f = Lap f. */
static void callback_combine(size_t d, const double *at, const double *f, size_t point,
                             const hb_drift_values *out)
{
    double divergence = 0;
    if (out->f) memcpy(out->f + point * d, f, d * sizeof *f);
    if (out->grad_divergence) memset(out->grad_divergence + point * d, 0, d * sizeof *f);
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < d; i++) {
            double x[SHIFTS], y[SHIFTS];
            if (i != j && !out->jacobian && !out->grad_divergence) continue;
            for (size_t k = 0; k < SHIFTS; k++) {
                x[k] = at[(1 + j * SHIFTS + k) * d + j];
                y[k] = f[(1 + j * SHIFTS + k) * d + i];
            }
            const double slope = hb_richardson(x, y);
            if (i == j) divergence += slope;
            if (out->jacobian) out->jacobian[(point * d + i) * d + j] = slope;
            if (out->grad_divergence)
                out->grad_divergence[point * d + i] += second_derivative(at[j], f[i], x, y);
        }
    if (out->divergence) out->divergence[point] = divergence;
}

/* A point and its 6 d shifts, of all points of a block in one call. */
static hb_status by_differences(hb_context *context, const hb_drift *drift, const double *t,
                                size_t n, const double *x, const hb_drift_values *out)
{
    const size_t d = (size_t)drift->dim, rows = 1 + SHIFTS * d, each = rows * d;
    const size_t block = hb_drift_rows(n, each);
    double *at; // (block, 1 + 6 d, d)
    HB_TRY(HB_NEW(context, at, block * (2 * each + rows)));
    double *f = at + block * each;    // the same
    double *times = f + block * each; // (block, 1 + 6 d)
    hb_status status = HB_OK;
    for (size_t first = 0; first < n && status == HB_OK; first += block) {
        const size_t count = n - first < block ? n - first : block;
        for (size_t i = 0; i < count; i++) {
            memcpy(at + i * each, x + (first + i) * d, d * sizeof *x);
            times[i * rows] = t[first + i];
            shift_point(d, x + (first + i) * d, t[first + i], at + i * each + d,
                        times + i * rows + 1);
        }
        status = callback_call(context, drift, times, count * rows, count, at, f, NULL);
        for (size_t i = 0; i < count && status == HB_OK; i++)
            callback_combine(d, at + i * each, f + i * each, first + i, out);
    }
    hb_release(context, at);
    return status;
}

/* Where the callback gives it. */
static hb_status by_jacobian(hb_context *context, const hb_drift *drift, const double *t, size_t n,
                             const double *x, const hb_drift_values *out)
{
    const size_t d = (size_t)drift->dim, block = hb_drift_rows(n, d * (d + 1));
    double *spare; // (block, d)
    HB_TRY(HB_NEW(context, spare, block * d * (d + 1)));
    double *own = spare + block * d; // (block, d, d)
    hb_status status = HB_OK;
    for (size_t first = 0; first < n && status == HB_OK; first += block) {
        const size_t count = n - first < block ? n - first : block;
        double *J = out->jacobian ? out->jacobian + first * d * d : own;
        status = callback_call(context, drift, t + first, count, count, x + first * d,
                               out->f ? out->f + first * d : spare, J);
        for (size_t i = 0; i < count && out->divergence; i++) {
            out->divergence[first + i] = 0;
            for (size_t j = 0; j < d; j++) out->divergence[first + i] += J[(i * d + j) * d + j];
        }
    }
    hb_release(context, spare);
    return status;
}

static hb_status callback_first_order(hb_context *context, const hb_drift *drift, const double *t,
                                      size_t n, const double *x, const hb_drift_values *out)
{
    return (drift->has_jacobian ? by_jacobian : by_differences)(context, drift, t, n, x, out);
}

static hb_status gradient_of_divergence(hb_context *context, const hb_drift *drift, const double *t,
                                        size_t n, const double *x, double *gradient)
{
    const size_t d = (size_t)drift->dim, each = SHIFTS * d;
    const size_t block = hb_drift_rows(n, each * (d + 2));
    double *shifted; // (block, d, 6, d)
    HB_TRY(HB_NEW(context, shifted, block * each * (d + 2)));
    double *divergence = shifted + block * each * d; // (block, d, 6)
    double *times = divergence + block * each;       // (block, d, 6)
    const hb_drift_values wanted = {.divergence = divergence};
    hb_status status = HB_OK;
    for (size_t first = 0; first < n && status == HB_OK; first += block) {
        const size_t count = n - first < block ? n - first : block;
        for (size_t i = 0; i < count; i++)
            shift_point(d, x + (first + i) * d, t[first + i], shifted + i * each * d,
                        times + i * each);
        status = callback_first_order(context, drift, times, count * each, shifted, &wanted);
        for (size_t i = 0; i < count * d && status == HB_OK; i++) { /* point i/d, coordinate i%d */
            double place[SHIFTS];
            for (size_t k = 0; k < SHIFTS; k++) place[k] = shifted[(i * SHIFTS + k) * d + i % d];
            gradient[first * d + i] = hb_richardson(place, divergence + i * SHIFTS);
        }
    }
    hb_release(context, shifted);
    return status;
}

static hb_status callback_evaluate(hb_context *context, const hb_drift *drift, const double *t,
                                   size_t n, const double *x, const hb_drift_values *out)
{
    const int once = drift->facts.gradient && !drift->has_jacobian; /* grad div f = Lap f */
    hb_drift_values wanted = *out;
    if (!once) wanted.grad_divergence = NULL;
    if (wanted.divergence || wanted.jacobian || wanted.grad_divergence)
        HB_TRY(callback_first_order(context, drift, t, n, x, &wanted));
    else if (out->f)
        HB_TRY(callback_call(context, drift, t, n, n, x, out->f, NULL));
    if (!out->grad_divergence || once) return HB_OK;
    return gradient_of_divergence(context, drift, t, n, x, out->grad_divergence);
}

int hb_drift_by_differences(const hb_drift *drift)
{
    return drift->values && drift->values[1] > drift->values[0];
}

hb_status hb_drift_callback_evaluate(hb_context *context, const hb_drift *drift, const double *t,
                                     size_t t_step, size_t n, const double *x,
                                     const hb_drift_values *out)
{
    if (n == 0) return HB_OK;
    if (t_step) return callback_evaluate(context, drift, t, n, x, out);
    double *times; // (n)
    HB_TRY(HB_NEW(context, times, n));
    for (size_t i = 0; i < n; i++) times[i] = *t;
    const hb_status status = callback_evaluate(context, drift, times, n, x, out);
    hb_release(context, times);
    return status;
}
