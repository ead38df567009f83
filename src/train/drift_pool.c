/* The pool of paths that a training with a user's drift draws its rows from.
 *
 * A sample at tau_k is made from a path at tau_k - lag_k, whose last transition has a known density
 * (drift_draw.c). The lag is
 *     lag_k = min(tau_k, LAG/|J|),       |J|: the size of the drift's Jacobian along the paths:
 * for small tau the whole way, from the data, as for OU; else as long as one symmetric step of weak
 * order 2 is accurate, since the noise of the targets falls with the lag. Paths are simulated by
 * Heun's scheme (particle/trajectories.c) from rows of data, MEMBERS at a time, and again after
 * every REFRESH steps. Path i of generation g is path g MEMBERS + i of the run, so a resumed run
 * makes the same. A number to reproduce: F = -x has |J| = 1. */
#include "train/drift_pool.h"
#include "base/parallel.h"
#include "path/trajectories.h"

#include <math.h>
#include <string.h>

enum { MEMBERS = 4096, LEAST_MEMBERS = 512, REFRESH = 250, CHUNK = 256, MOST_FLOATS = 1 << 26 };

static const double LAG = 0.3, STEP = 0.06; /* of a transition and of Heun's step, in 1/|J| */

/* ---- paths ---- */

typedef struct path_job {
    hb_trainer *trainer;
    hb_path_plan plan;
    uint64_t first;
    size_t n;
    double *x; // (n_times, n, dim)
    size_t *lost;
} path_job;

/* Rows that are not finite become copies of the next one that is; returns how many. */
static size_t pool_mend(size_t n, size_t d, double *x)
{
    size_t lost = 0, good = n;
    for (size_t i = 2 * n; i-- > 0;) { /* twice round, so that the last rows find the first */
        double *row = x + i % n * d;
        int finite = 1;
        for (size_t k = 0; k < d; k++) finite &= isfinite(row[k]) != 0;
        if (finite)
            good = i % n;
        else if (good < n)
            memcpy(row, x + good * d, d * sizeof *row);
        lost += !finite && i >= n;
    }
    return lost;
}

static hb_status pool_path_task(void *user, size_t index, int thread)
{
    (void)thread;
    path_job *job = user;
    const size_t first = index * CHUNK, d = job->plan.dim;
    const size_t n = job->n - first < CHUNK ? job->n - first : CHUNK;
    hb_context alone = hb_context_child(job->trainer->context, 1);
    HB_TRY(hb_context_adopt(job->trainer->context, &alone,
                            hb_paths_simulate(&alone, &job->plan, job->first + first, n, job->n,
                                              job->x + first * d, NULL)));
    job->lost[index] = 0;
    for (size_t k = 0; k < job->plan.n_times; k++)
        job->lost[index] += pool_mend(n, d, job->x + (k * job->n + first) * d);
    return HB_OK;
}

hb_status hb_pool_paths(hb_trainer *trainer, double step, size_t n_times, const double *times,
                        uint64_t first, size_t n, double *x)
{
    const size_t chunks = (n + CHUNK - 1) / CHUNK;
    void *lost;
    HB_TRY(hb_allocate(trainer->context, chunks, sizeof(size_t), &lost));
    path_job job = {.trainer = trainer, .first = first, .n = n, .x = x, .lost = lost};
    job.plan = (hb_path_plan){.problem = trainer->settings.drift,
                              .seed = trainer->settings.seed,
                              .start = trainer->pool->start,
                              .n_start = trainer->n,
                              .dim = (size_t)trainer->model->info.dim,
                              .n_times = n_times,
                              .times = times,
                              .step = step};
    const hb_status status = hb_parallel_for(trainer->context, NULL, chunks, pool_path_task, &job);
    size_t all = 0;
    for (size_t i = 0; i < chunks && status == HB_OK; i++) all += job.lost[i];
    hb_release(trainer->context, lost);
    HB_TRY(status);
    HB_CHECK(trainer->context, all * 100 <= n * n_times, HB_ERROR_NUMERICAL,
             "the drift carries %.3g %% of the paths away before tau = %g; take a smaller tau_max",
             100 * (double)all / (double)(n * n_times), times[n_times - 1]);
    return HB_OK;
}

hb_status hb_drift_at(hb_context *context, const hb_problem *drift, size_t n, const double *x,
                      double *F, double *divergence, double *grad_divergence, double *jacobian)
{
    static const double zero[CHUNK]; /* F has no tau, but each point is asked for one */
    const size_t d = (size_t)hb_problem_dim(drift);
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t rows = n - first < CHUNK ? n - first : CHUNK;
        HB_TRY(hb_problem_drift_each(context, drift, rows, x + first * d, zero,
                                     F ? F + first * d : NULL,
                                     divergence ? divergence + first : NULL,
                                     grad_divergence ? grad_divergence + first * d : NULL,
                                     jacobian ? jacobian + first * d * d : NULL));
    }
    return HB_OK;
}

hb_status hb_drift_flow(hb_context *context, const hb_problem *drift, size_t n, size_t dim,
                        double h, double *x, double *scratch)
{
    static const double ahead[4] = {0, 0.5, 0.5, 1}, weight[4] = {1, 2, 2, 1};
    const size_t count = n * dim;
    double *slope = scratch, *sum = slope + count, *moved = sum + count;
    memset(sum, 0, count * sizeof *sum);
    for (int stage = 0; stage < 4; stage++) {
        for (size_t i = 0; i < count; i++)
            moved[i] = stage ? x[i] + ahead[stage] * h * slope[i] : x[i];
        HB_TRY(hb_drift_at(context, drift, n, moved, slope, NULL, NULL, NULL));
        for (size_t i = 0; i < count; i++) sum[i] += h / 6 * weight[stage] * slope[i];
    }
    for (size_t i = 0; i < count; i++) x[i] += sum[i];
    return HB_OK;
}

/* ---- the pool ---- */

static hb_status pool_create_arrays(hb_trainer *trainer, hb_pool *pool)
{
    const size_t d = (size_t)trainer->model->info.dim, n = trainer->n;
    const size_t fit = MOST_FLOATS / (HB_POOL_LEVELS * (d + 1));
    size_t members = fit < MEMBERS ? fit : MEMBERS;
    if (members < LEAST_MEMBERS) members = LEAST_MEMBERS;
    pool->members = members = members / CHUNK * CHUNK;
    int *labels, *member_labels;
    HB_TRY(HB_WORKSPACE(trainer->context, &pool->work, HB_ARRAY(pool->start, n * d),
                        HB_ARRAY(labels, n), HB_ARRAY(pool->from, HB_POOL_LEVELS * members * d),
                        HB_ARRAY(pool->half_squares, HB_POOL_LEVELS * members),
                        HB_ARRAY(member_labels, members)));
    pool->labels = trainer->labels ? labels : NULL;
    pool->member_labels = trainer->labels ? member_labels : NULL;
    HB_TRY(hb_data_split(trainer->context, trainer->settings.seed, n, trainer->order));
    for (size_t i = 0; i < n; i++) {
        memcpy(pool->start + i * d, trainer->z + trainer->order[i] * d, d * sizeof(double));
        if (pool->labels) pool->labels[i] = trainer->labels[trainer->order[i]];
    }
    return HB_OK;
}

static void pool_choose_lags(const hb_trainer *trainer, hb_pool *pool)
{
    const double low = log(trainer->settings.tau_min), high = log(trainer->settings.tau_max);
    const double most = LAG / pool->size;
    for (size_t k = 0; k < HB_POOL_LEVELS; k++) {
        pool->tau[k] = exp(low + (high - low) * (double)k / (HB_POOL_LEVELS - 1));
        pool->lag[k] = fmin(pool->tau[k], most);
    }
}

hb_status hb_pool_create(hb_trainer *trainer)
{
    const hb_problem *drift = trainer->settings.drift;
    HB_CHECK(trainer->context, drift, HB_ERROR_ARGUMENT,
             "the process is HB_PROCESS_DRIFT, but there is no drift");
    HB_TRY(hb_model_check_drift(trainer->context, drift, trainer->own != NULL,
                                trainer->model->info.dim));
    HB_CHECK(trainer->context, !trainer->settings.standardise, HB_ERROR_ARGUMENT,
             "the data cannot be standardised: the drift is given in their units");
    HB_CHECK(trainer->context, trainer->settings.tau_focus == 0, HB_ERROR_ARGUMENT,
             "tau_focus is %g; with a drift it must be 0", trainer->settings.tau_focus);
    HB_TRY(HB_NEW_CLEARED(trainer->context, trainer->pool, 1));
    hb_pool *pool = trainer->pool;
    HB_TRY(pool_create_arrays(trainer, pool));
    HB_TRY(hb_pool_drift_size(trainer));
    pool_choose_lags(trainer, pool);
    return hb_pool_set_reference(trainer);
}

void hb_pool_destroy(hb_trainer *trainer)
{
    if (!trainer->pool) return;
    hb_workspace_destroy(&trainer->pool->work);
    hb_release(trainer->context, trainer->pool);
    trainer->pool = NULL;
}

typedef struct level_job {
    hb_trainer *trainer;
    double *x; // (levels, members, dim)
} level_job;

/* The first half of the last step: along the drift over half the lag. */
static hb_status pool_level_task(void *user, size_t k, int thread)
{
    (void)thread;
    const level_job *job = user;
    hb_pool *pool = job->trainer->pool;
    const size_t d = (size_t)job->trainer->model->info.dim, members = pool->members;
    hb_context alone = hb_context_child(job->trainer->context, 1);
    double *x = job->x + k * members * d;
    float *from = pool->from + k * members * d, *half = pool->half_squares + k * members;
    void *scratch;
    HB_TRY(hb_allocate(job->trainer->context, 3 * members * d, sizeof(double), &scratch));
    const hb_status status = hb_drift_flow(&alone, job->trainer->settings.drift, members, d,
                                           pool->lag[k] / 2, x, scratch);
    hb_release(job->trainer->context, scratch);
    HB_TRY(hb_context_adopt(job->trainer->context, &alone, status));
    pool_mend(members, d, x);
    for (size_t i = 0; i < members; i++) {
        double sum = 0;
        for (size_t j = 0; j < d; j++) {
            from[i * d + j] = (float)x[i * d + j];
            sum += x[i * d + j] * x[i * d + j];
        }
        half[i] = (float)(sum / 2);
    }
    return HB_OK;
}

hb_status hb_pool_refresh(hb_trainer *trainer)
{
    hb_pool *pool = trainer->pool;
    const uint64_t generation = trainer->state.step / REFRESH;
    const size_t d = (size_t)trainer->model->info.dim, members = pool->members;
    if (pool->generation == generation + 1) return HB_OK;
    pool->generation = generation + 1;
    double times[HB_POOL_LEVELS];
    for (size_t k = 0; k < HB_POOL_LEVELS; k++) times[k] = pool->tau[k] - pool->lag[k];
    void *x;
    HB_TRY(hb_allocate(trainer->context, HB_POOL_LEVELS * members * d, sizeof(double), &x));
    const uint64_t first = generation * members;
    level_job job = {trainer, x};
    hb_status status =
        hb_pool_paths(trainer, STEP / pool->size, HB_POOL_LEVELS, times, first, members, x);
    if (status == HB_OK)
        status = hb_parallel_for(trainer->context, NULL, HB_POOL_LEVELS, pool_level_task, &job);
    hb_release(trainer->context, x);
    for (size_t i = 0; pool->member_labels && i < members; i++)
        pool->member_labels[i] = pool->labels[(first + i) % trainer->n];
    return status;
}
