/* ln u(x,tau) and the score of a Gaussian mixture under OU and VE, at many points.
 *
 * A component N(m, C) becomes N(a m, a^2 C + b I), with a = e^-tau, b = 1 - e^-2tau (OU) or a = 1,
 * b = 2 tau (VE). In the axes of C that is diagonal, so
 *     A_k = diag(1/sqrt(a^2 lambda_r + b)) axes,    c_k = ln w_k - (d ln 2 pi + sum_r ln(..))/2
 * are made once per call and the kernels (mixture_kernels.c) do the rest. Points go in blocks of
 * BLOCK columns, one task each, so that threads change no bit. A number to reproduce: N(0, 1) stays
 * N(0, 1) under OU; at x = 2 ln u = -2.9189385332046727. */
#include "base/context.h"
#include "base/parallel.h"
#include "data/mixture.h"
#include "data/mixture_kernels.h"

#include <math.h>

enum { BLOCK = 512, SMALL_BLOCK_DOUBLES = 32768 };
enum { EACH_ROWS = 512 }; /* of a task */
static const double FARTHEST = 1e100;

typedef struct score_run {
    hb_packed_mixture packed;
    hb_mixture_kernel kernel;
    hb_context *context;
    size_t n, block;
    const double *x;             // (n, dim)
    double *log_density, *score; // (n), (n, dim), or NULL
    double *scratch;             // (threads, scratch_size)
    size_t scratch_size;
} score_run;

static void mixture_pack(const hb_mixture *mixture, const hb_transition *t, double *components)
{
    const size_t d = (size_t)mixture->dim;
    for (size_t k = 0; k < mixture->count; k++) {
        double *c = components + k * hb_packed_size(d), *A = c + 1 + d;
        c[0] = log(mixture->weight[k]) - 0.5 * (double)d * log(2 * M_PI);
        for (size_t j = 0; j < d; j++) c[1 + j] = t->a * mixture->mean[k * d + j];
        for (size_t r = 0; r < d; r++) {
            const double variance = t->a * t->a * mixture->variance[k * d + r] + t->b;
            const double *axis = mixture->axes + (k * d + r) * d;
            c[0] -= 0.5 * log(variance);
            for (size_t j = 0; j < d; j++) A[r * d + j] = axis[j] / sqrt(variance);
        }
    }
}

/* Columns from rows; the places beyond count repeat the last point. */
static hb_status mixture_take_columns(const score_run *run, size_t first, size_t count,
                                      double *columns)
{
    const size_t d = run->packed.dim;
    for (size_t i = 0; i < run->block; i++) {
        const size_t row = first + (i < count ? i : count - 1);
        for (size_t j = 0; j < d; j++) {
            const double value = run->x[row * d + j];
            HB_CHECK(run->context, fabs(value) < FARTHEST, HB_ERROR_ARGUMENT,
                     "coordinate %zu of point %zu is %g; it must be below 1e100 in size", j + 1,
                     row + 1, value);
            columns[j * run->block + i] = value;
        }
    }
    return HB_OK;
}

static hb_status score_block(void *user, size_t index, int thread)
{
    const score_run *run = user;
    const size_t d = run->packed.dim, block = run->block, first = index * block;
    const size_t count = run->n - first < block ? run->n - first : block;
    double *columns = run->scratch + (size_t)thread * run->scratch_size; // (d, block)
    double *gradient = columns + d * block;                              // (d, block)
    double *largest = gradient + d * block, *sum = largest + block, *scratch = sum + block;
    HB_TRY(mixture_take_columns(run, first, count, columns));
    run->kernel(&run->packed, block, columns, scratch, largest, sum, run->score ? gradient : NULL);
    for (size_t i = 0; run->log_density && i < count; i++)
        run->log_density[first + i] = largest[i] + log(sum[i]);
    for (size_t i = 0; run->score && i < count; i++)
        for (size_t j = 0; j < d; j++) run->score[(first + i) * d + j] = gradient[j * block + i];
    return HB_OK;
}

static size_t round_to_lanes(size_t n)
{
    return (n + HB_MIXTURE_LANES - 1) / HB_MIXTURE_LANES * HB_MIXTURE_LANES;
}

/* Points per block: few when there are few points, or when a point is long. */
static size_t block_size(size_t n, size_t d)
{
    const size_t most =
        BLOCK * d <= SMALL_BLOCK_DOUBLES ? BLOCK : round_to_lanes(SMALL_BLOCK_DOUBLES / d);
    return n < most ? round_to_lanes(n) : most;
}

hb_status hb_mixture_score(hb_context *context, const hb_mixture *mixture, hb_process process,
                           size_t n, const double *x, double tau, double *log_density,
                           double *score)
{
    hb_transition transition;
    HB_CHECK(context, mixture && (x || n == 0), HB_ERROR_ARGUMENT, "mixture or x is NULL");
    HB_TRY(hb_transition_of(context, process, tau, &transition));
    if (n == 0) return HB_OK;
    const size_t d = (size_t)mixture->dim, count = mixture->count, block = block_size(n, d);
    const size_t threads = (size_t)context->threads;
    score_run run = {.kernel = *hb_mixture_kernel_of(context->isa),
                     .context = context,
                     .n = n,
                     .block = block,
                     .x = x,
                     .log_density = log_density,
                     .score = score,
                     .scratch_size = (2 * d + 2) * block + hb_mixture_scratch(d, count)};
    hb_workspace work;
    double *components;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(components, count * hb_packed_size(d)),
                        HB_ARRAY(run.scratch, threads * run.scratch_size)));
    mixture_pack(mixture, &transition, components);
    run.packed = (hb_packed_mixture){.dim = d, .count = count, .components = components};
    const hb_status status =
        hb_parallel_for(context, "mixture", (n + block - 1) / block, score_block, &run);
    hb_workspace_destroy(&work);
    return status;
}

/* ---- a tau for each point ---- */

/* Neighbours with the same tau are one call of hb_mixture_score, whose value at a point does not
 * depend on the other points: the results are those of one call for each tau. */
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
    const size_t left = run->n - index * EACH_ROWS,
                 last = index * EACH_ROWS + (left < EACH_ROWS ? left : EACH_ROWS);
    hb_context alone = hb_context_child(run->context, 1);
    (void)thread;
    for (size_t i = index * EACH_ROWS, n; i < last; i += n) {
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
    return hb_parallel_for(context, "mixture", (n + EACH_ROWS - 1) / EACH_ROWS, score_rows, &run);
}
