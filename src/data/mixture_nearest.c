/* The component of a mixture that most likely made each row.
 *
 * It is the k with the largest ln w_k - ln det(C_k)/2 - |y_k|^2/2, where y_k are the deviations of
 * x from m_k along the axes of C_k, in units of their standard deviations. The first two terms are
 * made once. A number to reproduce: half N(-1, 1) and half N(1, 1): rows below 0 come from the
 * first. */
#include "base/context.h"
#include "base/parallel.h"
#include "data/mixture.h"

#include <math.h>

enum { ROWS = 256 };

typedef struct nearest_run {
    const hb_mixture *mixture;
    size_t n;
    const double *x;      // (n, dim)
    const double *offset; // (count): ln w_k - ln det(C_k)/2
    size_t *component;    // (n)
    double *squares;      // (n)
} nearest_run;

static double squared_deviations(const hb_mixture *mixture, size_t k, const double *x)
{
    const size_t d = (size_t)mixture->dim;
    const double *mean = mixture->mean + k * d;
    double squares = 0;
    for (size_t r = 0; r < d; r++) {
        const double *axis = mixture->axes + (k * d + r) * d;
        double along = 0;
        for (size_t j = 0; j < d; j++) along += axis[j] * (x[j] - mean[j]);
        squares += along * along / mixture->variance[k * d + r];
    }
    return squares;
}

static hb_status find_rows(void *user, size_t index, int thread)
{
    (void)thread;
    const nearest_run *run = user;
    const size_t first = index * ROWS, last = run->n - first < ROWS ? run->n : first + ROWS;
    for (size_t i = first; i < last; i++) {
        double best = -INFINITY;
        run->component[i] = 0;
        run->squares[i] = INFINITY;
        for (size_t k = 0; k < run->mixture->count; k++) {
            const double s =
                squared_deviations(run->mixture, k, run->x + i * (size_t)run->mixture->dim);
            if (!(run->offset[k] - 0.5 * s > best)) continue;
            best = run->offset[k] - 0.5 * s;
            run->component[i] = k;
            run->squares[i] = s;
        }
    }
    return HB_OK;
}

hb_status hb_mixture_nearest(hb_context *context, const hb_mixture *mixture, size_t n,
                             const double *x, size_t *component, double *squares)
{
    const size_t d = (size_t)mixture->dim;
    double *offset;
    HB_TRY(HB_NEW(context, offset, mixture->count));
    for (size_t k = 0; k < mixture->count; k++) {
        offset[k] = log(mixture->weight[k]);
        for (size_t r = 0; r < d; r++) offset[k] -= 0.5 * log(mixture->variance[k * d + r]);
    }
    nearest_run run = {mixture, n, x, offset, component, squares};
    const hb_status status =
        hb_parallel_for(context, "modes", (n + ROWS - 1) / ROWS, find_rows, &run);
    hb_release(context, offset);
    return status;
}
