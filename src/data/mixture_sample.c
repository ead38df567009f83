/* Draws of a Gaussian mixture, now or at a later tau.
 *
 * Draw i takes the component k with cumulative[k-1] < U <= cumulative[k] and
 *     x = a m_k + sum_r sqrt(a^2 lambda_r + b) z_r axis_r
 * with z_r the normals i d .. i d + d-1 of one stream and U number i of another: a function of
 * (seed, i), whatever the threads. By the rule of variances this is exactly the distribution at
 * tau, without a path. A number to reproduce: half N(-1, 0.25) and half N(1, 0.25): variance 1.25,
 * 4th moment 2.6875. */
#include "base/context.h"
#include "base/parallel.h"
#include "data/mixture.h"
#include "random/choose.h"
#include "random/fill.h"
#include "random/streams.h"

#include <math.h>

enum { NORMALS, CHOICES };

enum { ROWS = 1024, BLOCK_DOUBLES = 65536 };

typedef struct draw_run {
    const hb_mixture *mixture;
    const hb_vector_kernels *kernels;
    hb_transition transition;
    uint64_t seed, stream, first;
    size_t n, rows;
    double *x;       // (n, dim)
    int *component;  // (n), or NULL
    double *scratch; // (threads, rows, 1 + dim)
} draw_run;

static void mixture_place(const draw_run *run, size_t k, const double *z, double *x)
{
    const hb_mixture *mixture = run->mixture;
    const size_t d = (size_t)mixture->dim;
    const double a = run->transition.a, b = run->transition.b;
    for (size_t j = 0; j < d; j++) x[j] = a * mixture->mean[k * d + j];
    for (size_t r = 0; r < d; r++) {
        const double length = sqrt(a * a * mixture->variance[k * d + r] + b) * z[r];
        const double *axis = mixture->axes + (k * d + r) * d;
        for (size_t j = 0; j < d; j++) x[j] += length * axis[j];
    }
}

static hb_status draw_rows(void *user, size_t index, int thread)
{
    const draw_run *run = user;
    const size_t d = (size_t)run->mixture->dim, start = index * run->rows;
    const size_t count = run->n - start < run->rows ? run->n - start : run->rows;
    double *choice = run->scratch + (size_t)thread * run->rows * (1 + d); // (rows)
    double *z = choice + run->rows;                                       // (rows, d)
    const uint64_t row = run->first + start;
    hb_fill_uniform(run->kernels, run->seed, run->stream | CHOICES, row, count, choice);
    hb_fill_normal(run->kernels, run->seed, run->stream | NORMALS, row * d, count * d, z);
    for (size_t i = 0; i < count; i++) {
        const size_t k = hb_random_choose(run->mixture->count, run->mixture->cumulative, choice[i]);
        mixture_place(run, k, z + i * d, run->x + (start + i) * d);
        if (run->component) run->component[start + i] = (int)k;
    }
    return HB_OK;
}

hb_status hb_mixture_draw(hb_context *context, const hb_mixture *mixture, int use,
                          hb_process process, double tau, uint64_t seed, uint64_t first, size_t n,
                          double *x, int *component)
{
    HB_CHECK(context, mixture && (x || n == 0), HB_ERROR_ARGUMENT, "mixture or x is NULL");
    draw_run run = {.mixture = mixture,
                    .kernels = hb_vector_kernels_of(context->isa),
                    .seed = seed,
                    .stream = HB_STREAM_MIXTURE | (uint64_t)use << 1,
                    .first = first,
                    .n = n,
                    .x = x,
                    .component = component};
    HB_TRY(hb_transition_of(context, process, tau, &run.transition));
    const size_t d = (size_t)mixture->dim;
    HB_CHECK(context, first <= UINT64_MAX / d && n <= UINT64_MAX / d - first, HB_ERROR_ARGUMENT,
             "first is %llu; (first + n) times dim must be below 2^64", (unsigned long long)first);
    run.rows = ROWS * d <= BLOCK_DOUBLES ? ROWS : BLOCK_DOUBLES / d + 1;
    void *scratch;
    HB_TRY(hb_allocate(context, (size_t)context->threads * run.rows * (1 + d), sizeof(double),
                       &scratch));
    run.scratch = scratch;
    const hb_status status =
        hb_parallel_for(context, "drawing", (n + run.rows - 1) / run.rows, draw_rows, &run);
    hb_release(context, scratch);
    return status;
}

hb_status hb_mixture_sample_at(hb_context *context, const hb_mixture *mixture, hb_process process,
                               uint64_t seed, uint64_t first, size_t n, double tau, double *x,
                               int *component)
{
    return hb_mixture_draw(context, mixture, HB_DRAW_DATA, process, tau, seed, first, n, x,
                           component);
}

hb_status hb_mixture_sample(hb_context *context, const hb_mixture *mixture, uint64_t seed,
                            uint64_t first, size_t n, double *x, int *component)
{
    return hb_mixture_sample_at(context, mixture, HB_PROCESS_VE, seed, first, n, 0, x, component);
}
