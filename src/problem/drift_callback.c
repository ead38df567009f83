/* A drift that is a function of the user's: its derivatives by differences where it gives none.
 *
 * Central differences D(h) = (f(x+h) - f(x-h))/2h, extrapolated twice (L. F. Richardson, 1911):
 *     E(h) = (4 D(h/2) - D(h))/3,     f'(x) = (16 E(h/2) - E(h))/15 + O(h^6 f^(7)/322560)
 * with h = 2^-6 max(1, |x_j|): for functions that vary on the scale 1 a Jacobian df_i/dx_j made so is
 * right to about 1e-13. The gradient of the divergence differentiates the divergence in the same way,
 * also when that is itself a difference, and about 1e-11 is left.
 * All shifted points of a block go to the callback in one call; each point has its time.
 * A number to reproduce: f = sin at x = 0.8 gives cos(0.8) to 1e-12. */
#include "base/context.h"
#include "base/memory.h"
#include "problem/problem_parts.h"

#include <math.h>
#include <string.h>

enum {
    SHIFTS = 6,
    BLOCK_DOUBLES = 1 << 14,
    ALL_FACTS = HB_DRIFT_FACT_AUTONOMOUS | HB_DRIFT_FACT_LINEAR | HB_DRIFT_FACT_GRADIENT
};

static const double STEP = 0x1p-6;

hb_status hb_drift_from_callback(hb_context *context, const hb_problem_settings *settings, int dim,
                                 hb_drift *drift)
{
    void *lock;
    HB_TRY(hb_allocate(context, 1, sizeof(omp_lock_t), &lock));
    drift->lock = lock;
    omp_init_lock(drift->lock);
    drift->dim = dim;
    HB_CHECK(context, (settings->drift_facts & ~ALL_FACTS) == 0, HB_ERROR_ARGUMENT,
             "drift_facts is %d; it must be a sum of autonomous 1, linear 2 and gradient 4",
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

static hb_status call(hb_context *context, const hb_drift *drift, const double *t, size_t n,
                      const double *x, double *f, double *jacobian)
{
    omp_set_lock(drift->lock);
    const int failure = drift->callback(drift->user, n, x, t, f, jacobian);
    omp_unset_lock(drift->lock);
    HB_CHECK(context, failure == 0, HB_ERROR_CALLBACK,
             "the callback for the drift returned %d at t = %g; 0 means success", failure, *t);
    return HB_OK;
}

/* shifted[d][6][d]: x with its coordinate j moved by +h, -h, +h/2, -h/2, +h/4, -h/4. times[d][6]: t. */
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

/* The derivative by coordinate j from the values at its six shifts; x are those coordinates. */
double hb_richardson(const double x[SHIFTS], const double y[SHIFTS])
{
    double D[SHIFTS / 2];
    for (int k = 0; k < SHIFTS / 2; k++)
        D[k] = (y[2 * k] - y[2 * k + 1]) / (x[2 * k] - x[2 * k + 1]);
    const double coarse = D[1] + (D[1] - D[0]) / 3, fine = D[2] + (D[2] - D[1]) / 3;
    return fine + (fine - coarse) / 15;
}

/* jacobian[d][d] from shifted[d][6][d] and f[d][6][d] there. */
static void combine_jacobian(size_t d, const double *shifted, const double *f, double *jacobian)
{
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < d; i++) {
            double x[SHIFTS], y[SHIFTS];
            for (size_t k = 0; k < SHIFTS; k++) {
                x[k] = shifted[(j * SHIFTS + k) * d + j];
                y[k] = f[(j * SHIFTS + k) * d + i];
            }
            jacobian[i * d + j] = hb_richardson(x, y);
        }
}

static size_t points_per_block(size_t n, size_t doubles)
{
    const size_t points = doubles < BLOCK_DOUBLES ? BLOCK_DOUBLES / doubles : 1;
    return n < points ? n : points;
}

static hb_status jacobian_by_differences(hb_context *context, const hb_drift *drift,
                                         const double *t, size_t n, const double *x,
                                         double *jacobian)
{
    const size_t d = (size_t)drift->dim, each = SHIFTS * d * d;
    const size_t block = points_per_block(n, each);
    void *memory;
    HB_TRY(hb_allocate(context, block * SHIFTS * d * (2 * d + 1), sizeof(double), &memory));
    double *shifted = memory;           // (block, d, 6, d)
    double *f = shifted + block * each; // the same
    double *times = f + block * each;   // (block, d, 6)
    hb_status status = HB_OK;
    for (size_t first = 0; first < n && status == HB_OK; first += block) {
        const size_t count = n - first < block ? n - first : block;
        for (size_t i = 0; i < count; i++)
            shift_point(d, x + (first + i) * d, t[first + i], shifted + i * each,
                        times + i * d * SHIFTS);
        status = call(context, drift, times, count * d * SHIFTS, shifted, f, NULL);
        for (size_t i = 0; i < count && status == HB_OK; i++)
            combine_jacobian(d, shifted + i * each, f + i * each, jacobian + (first + i) * d * d);
    }
    hb_release(context, memory);
    return status;
}

/* f (may be NULL) and jacobian. */
static hb_status value_and_jacobian(hb_context *context, const hb_drift *drift, const double *t,
                                    size_t n, const double *x, double *f, double *jacobian)
{
    if (!drift->has_jacobian) {
        if (f) HB_TRY(call(context, drift, t, n, x, f, NULL));
        return jacobian_by_differences(context, drift, t, n, x, jacobian);
    }
    if (f) return call(context, drift, t, n, x, f, jacobian);
    void *unused;
    HB_TRY(hb_allocate(context, n * (size_t)drift->dim, sizeof(double), &unused));
    const hb_status status = call(context, drift, t, n, x, unused, jacobian);
    hb_release(context, unused);
    return status;
}

/* divergence = trace of the Jacobian; f may be NULL. */
static hb_status divergence_of(hb_context *context, const hb_drift *drift, const double *t,
                               size_t n, const double *x, double *f, double *divergence)
{
    const size_t d = (size_t)drift->dim, block = points_per_block(n, d * d);
    void *memory;
    HB_TRY(hb_allocate(context, block * d * d, sizeof(double), &memory));
    const double *jacobian = memory; // (block, d, d)
    hb_status status = HB_OK;
    for (size_t first = 0; first < n && status == HB_OK; first += block) {
        const size_t count = n - first < block ? n - first : block;
        status = value_and_jacobian(context, drift, t + first, count, x + first * d,
                                    f ? f + first * d : NULL, memory);
        for (size_t i = 0; i < count && status == HB_OK; i++) {
            divergence[first + i] = 0;
            for (size_t j = 0; j < d; j++) divergence[first + i] += jacobian[i * d * d + j * d + j];
        }
    }
    hb_release(context, memory);
    return status;
}

static hb_status gradient_of_divergence(hb_context *context, const hb_drift *drift, const double *t,
                                        size_t n, const double *x, double *gradient)
{
    const size_t d = (size_t)drift->dim;
    void *memory;
    HB_TRY(hb_allocate(context, SHIFTS * d * (d + 2), sizeof(double), &memory));
    double *shifted = memory;                      // (d, 6, d)
    double *divergence = shifted + SHIFTS * d * d; // (d, 6)
    double *times = divergence + SHIFTS * d;       // (d, 6)
    hb_status status = HB_OK;
    for (size_t i = 0; i < n && status == HB_OK; i++) {
        shift_point(d, x + i * d, t[i], shifted, times);
        status = divergence_of(context, drift, times, SHIFTS * d, shifted, NULL, divergence);
        for (size_t j = 0; j < d && status == HB_OK; j++) {
            double place[SHIFTS];
            for (size_t k = 0; k < SHIFTS; k++) place[k] = shifted[(j * SHIFTS + k) * d + j];
            gradient[i * d + j] = hb_richardson(place, divergence + j * SHIFTS);
        }
    }
    hb_release(context, memory);
    return status;
}

static hb_status evaluate(hb_context *context, const hb_drift *drift, const double *t, size_t n,
                          const double *x, double *f, double *divergence, double *grad_divergence,
                          double *jacobian)
{
    if (divergence)
        HB_TRY(divergence_of(context, drift, t, n, x, f, divergence));
    else if (f && !jacobian)
        HB_TRY(call(context, drift, t, n, x, f, NULL));
    if (jacobian)
        HB_TRY(value_and_jacobian(context, drift, t, n, x, divergence ? NULL : f, jacobian));
    if (grad_divergence) HB_TRY(gradient_of_divergence(context, drift, t, n, x, grad_divergence));
    return HB_OK;
}

hb_status hb_drift_callback_evaluate(hb_context *context, const hb_drift *drift, const double *t,
                                     size_t t_step, size_t n, const double *x, double *f,
                                     double *divergence, double *grad_divergence, double *jacobian)
{
    if (n == 0) return HB_OK;
    if (t_step) return evaluate(context, drift, t, n, x, f, divergence, grad_divergence, jacobian);
    void *memory;
    HB_TRY(hb_allocate(context, n, sizeof(double), &memory));
    double *times = memory; // (n)
    for (size_t i = 0; i < n; i++) times[i] = *t;
    const hb_status status =
        evaluate(context, drift, times, n, x, f, divergence, grad_divergence, jacobian);
    hb_release(context, memory);
    return status;
}
