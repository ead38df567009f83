/* ln u(x,tau) and the score of a Gaussian mixture at points that have a tau each.
 *
 * Neighbours with the same tau are one call of hb_mixture_score, whose value at a point does not depend on the other
 * points: the bits are those of one call for each tau. A task is ROWS points, on one thread.
 * A number to reproduce: N(0, 1) stays N(0, 1) under OU; at x = 2 ln u = -2.9189385332046727. */
#include "base/context.h"
#include "base/parallel.h"
#include "data/mixture.h"

#include <math.h>

enum { ROWS = 512 };
static const double FARTHEST = 1e100;

typedef struct each_run {
    hb_context *context;
    const hb_mixture *mixture;
    hb_process process;
    size_t n;
    const double *x, *tau;       // (n, dim), (n)
    double *log_density, *score; // (n), (n, dim), or NULL
} each_run;

static hb_status score_rows(void *user, size_t index, int thread)
{
    const each_run *run = user;
    const size_t d = (size_t)run->mixture->dim;
    const size_t left = run->n - index * ROWS, last = index * ROWS + (left < ROWS ? left : ROWS);
    hb_context alone = hb_context_child(run->context, 1);
    (void)thread;
    for (size_t i = index * ROWS, n; i < last; i += n) {
        for (n = 1; i + n < last && run->tau[i + n] == run->tau[i];) n++;
        const hb_status status = hb_mixture_score(
            &alone, run->mixture, run->process, n, run->x + i * d, run->tau[i],
            run->log_density ? run->log_density + i : NULL, run->score ? run->score + i * d : NULL);
        HB_TRY(hb_context_adopt(run->context, &alone, status));
    }
    return HB_OK;
}

hb_status hb_mixture_score_each(hb_context *context, const hb_mixture *mixture, hb_process process,
                                size_t n, const double *x, const double *tau, double *log_density,
                                double *score)
{
    HB_CHECK(context, mixture && ((x && tau) || n == 0), HB_ERROR_ARGUMENT,
             "mixture, x or tau is NULL");
    const size_t d = (size_t)mixture->dim;
    for (size_t i = 0; i < n * d; i++)
        HB_CHECK(context, fabs(x[i]) < FARTHEST, HB_ERROR_ARGUMENT,
                 "coordinate %zu of point %zu is %g; it must be below 1e100 in size", i % d + 1,
                 i / d + 1, x[i]);
    each_run run = {context, mixture, process, n, x, tau, log_density, score};
    return hb_parallel_for(context, "mixture", (n + ROWS - 1) / ROWS, score_rows, &run);
}
