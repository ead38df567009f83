/* What the discrepancy of two samples is when they have the same distribution.
 *
 * The biased mmd of samples of n and m rows is about sqrt(E k(a,a') variance (1/n + 1/m)), not 0,
 * so a generated sample can only be held against real rows compared with real rows in the same
 * numbers. Time t takes the first n rows of a and the first m of b in orders that depend on (seed,
 * t); the mean and the 95 % quantile over the times are the floor and its upper bound. Rows of a
 * and of b should be disjoint. A number to reproduce: for equal distributions the mean of mmd2 is
 * 0. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "base/sized.h"
#include "base/team_tasks.h"
#include "metrics/neighbours.h"

#include <heatball/metrics.h>
#include <string.h>

enum { LEAST_ROWS = 4, LEAST_TIMES = 20, MOST_TIMES = 100000 };

/* `count` of the rows of x (n, dim), in the order of (seed, time, side). */
static hb_status floor_choose_rows(hb_context *context, size_t n, size_t dim, const double *x,
                                   uint64_t seed, uint64_t draw, size_t count, size_t *order,
                                   double *chosen)
{
    HB_TRY(hb_data_split(context, seed ^ UINT64_C(0x9e3779b97f4a7c15) * (draw + 1), n, order));
    for (size_t i = 0; i < count; i++)
        memcpy(chosen + i * dim, x + order[i] * dim, dim * sizeof *chosen);
    return HB_OK;
}

/* The mean of values (times), which are sorted, and their 95 % quantile. */
static void floor_summarise(int times, double *values, double *mean, double *upper)
{
    double sum = 0;
    for (int i = 0; i < times; i++) sum += values[i];
    *mean = sum / times;
    hb_sort((size_t)times, values);
    *upper = hb_judge_quantile((size_t)times, values, 0.95);
}

typedef struct floor_run {
    size_t dim, n_a, n_b, n, m;
    const double *a, *b; // (n_a, dim), (n_b, dim)
    int times, single;
    uint64_t seed;
    double *x, *y;      // (n, dim), (m, dim)
    size_t *order;      // (max(n_a, n_b))
    double *mmd, *mmd2; // (times)
} floor_run;

static hb_status floor_repeat(hb_context *context, const floor_run *run)
{
    hb_context quiet = hb_context_child(context, 0);
    for (int t = 0; t < run->times; t++) {
        const uint64_t draw = 2 * (uint64_t)t;
        hb_mmd found;
        HB_TRY(floor_choose_rows(context, run->n_a, run->dim, run->a, run->seed, draw, run->n,
                                 run->order, run->x));
        HB_TRY(floor_choose_rows(context, run->n_b, run->dim, run->b, run->seed, draw + 1, run->m,
                                 run->order, run->y));
        HB_TRY(hb_context_adopt(context, &quiet,
                                hb_judge_mmd(&quiet, (int)run->dim, run->single, run->n, run->m,
                                             run->x, run->y, sizeof found, &found)));
        run->mmd[t] = found.mmd;
        run->mmd2[t] = found.mmd2;
        HB_TRY(hb_team_progress(context, "floor", t + 1, run->times));
    }
    return HB_OK;
}

static hb_status floor_measure(hb_context *context, floor_run *run, hb_mmd_floor *out)
{
    const size_t most = run->n_a > run->n_b ? run->n_a : run->n_b;
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(run->x, run->n * run->dim),
                        HB_ARRAY(run->y, run->m * run->dim), HB_ARRAY(run->order, most),
                        HB_ARRAY(run->mmd, (size_t)run->times),
                        HB_ARRAY(run->mmd2, (size_t)run->times)));
    const hb_status status = floor_repeat(context, run);
    if (status == HB_OK) {
        floor_summarise(run->times, run->mmd, &out->mmd, &out->mmd_upper);
        floor_summarise(run->times, run->mmd2, &out->mmd2, &out->mmd2_upper);
    }
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_judge_mmd_floor(hb_context *context, int dim, int single, int times, uint64_t seed,
                             size_t n_a, size_t n_b, size_t n, size_t m, const double *a,
                             const double *b, size_t size, hb_mmd_floor *out)
{
    HB_SIZED_CHECK(context, hb_mmd_floor, size, out);
    HB_TRY(hb_judge_check_rows(context, "a", LEAST_ROWS, n_a, dim, a));
    HB_TRY(hb_judge_check_rows(context, "b", LEAST_ROWS, n_b, dim, b));
    HB_CHECK(context, n >= LEAST_ROWS && n <= n_a, HB_ERROR_ARGUMENT,
             "n is %zu; it must be %d to the %zu rows of a", n, LEAST_ROWS, n_a);
    HB_CHECK(context, m >= LEAST_ROWS && m <= n_b, HB_ERROR_ARGUMENT,
             "m is %zu; it must be %d to the %zu rows of b", m, LEAST_ROWS, n_b);
    HB_CHECK(context, times >= LEAST_TIMES && times <= MOST_TIMES, HB_ERROR_ARGUMENT,
             "times is %d; it must be %d to %d", times, LEAST_TIMES, MOST_TIMES);
    floor_run run = {.dim = (size_t)dim,
                     .n_a = n_a,
                     .n_b = n_b,
                     .n = n,
                     .m = m,
                     .a = a,
                     .b = b,
                     .times = times,
                     .single = single,
                     .seed = seed};
    hb_mmd_floor found;
    HB_TRY(floor_measure(context, &run, &found));
    HB_SIZED_WRITE(found, size, out);
    return HB_OK;
}
