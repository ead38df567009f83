/* A swarm: trajectories are made batch by batch, on any thread, then sorted time by time into cell lists.
 * Both are tasks by index, so the number of threads changes no bit. A trajectory is lost when it, or
 * its drift, is not finite at one of the times. */
#include "particle/particle_swarm.h"
#include "base/context.h"
#include "base/parallel.h"

#include <math.h>
#include <string.h>

enum { TOGETHER = 512 }; /* trajectories that move together, about */

hb_status hb_swarm_rooms(hb_context *context, hb_context **out)
{
    const size_t threads = (size_t)hb_context_threads(context);
    void *memory;
    HB_TRY(hb_allocate(context, threads, sizeof(hb_context), &memory));
    *out = memory;
    for (size_t k = 0; k < threads; k++) {
        (*out)[k] = *context;
        (*out)[k].threads = 1;
        (*out)[k].settings.progress = NULL;
    }
    return HB_OK;
}

void hb_swarm_destroy(hb_swarm *swarm)
{
    hb_context *context = swarm->context;
    if (!context) return;
    hb_release(context, swarm->plan.transitions);
    hb_release(context, swarm->rooms);
    hb_workspace_destroy(&swarm->work);
    *swarm = (hb_swarm){0};
}

static size_t bytes_of(const hb_swarm *swarm)
{
    const size_t d = swarm->plan.dim, times = swarm->plan.n_times;
    const size_t paths = swarm->batches * swarm->batch_size;
    const size_t rows = hb_workspace_need(times * paths * d, sizeof(double));
    const size_t one = rows * (swarm->with_drift ? 2 : 1) +
                       hb_workspace_need(times, sizeof(hb_cell_list)) +
                       times * hb_cell_list_need(paths, d, swarm->with_drift);
    return one * (swarm->twins ? 2 : 1) + 2 * hb_workspace_need(times, sizeof(double)) +
           hb_workspace_need(swarm->batches, sizeof(double)) +
           times * hb_workspace_need(paths, sizeof(uint32_t));
}

static void carve(hb_swarm *swarm)
{
    const size_t d = swarm->plan.dim, times = swarm->plan.n_times;
    const size_t paths = swarm->batches * swarm->batch_size;
    double *kept = hb_workspace_take(&swarm->work, times, sizeof(double));
    memcpy(kept, swarm->plan.times, times * sizeof *kept);
    swarm->plan.times = kept;
    swarm->column = hb_workspace_take(&swarm->work, times, sizeof(size_t));
    swarm->lost = hb_workspace_take(&swarm->work, swarm->batches, sizeof(double));
    for (int k = 0; k <= swarm->twins; k++) {
        swarm->x[k] = hb_workspace_take(&swarm->work, times * paths * d, sizeof(double));
        if (swarm->with_drift)
            swarm->F[k] = hb_workspace_take(&swarm->work, times * paths * d, sizeof(double));
        swarm->lists[k] = hb_workspace_take(&swarm->work, times, sizeof(hb_cell_list));
    }
}

/* The columns of the user's array that hold the plan's times. */
static hb_status find_columns(hb_context *context, hb_swarm *swarm)
{
    for (size_t k = 0; k < swarm->plan.n_times && swarm->given.n_paths > 0; k++) {
        size_t column = 0;
        while (column < swarm->given.n_times && swarm->given.tau[column] != swarm->plan.times[k])
            column++;
        HB_CHECK(context, column < swarm->given.n_times, HB_ERROR_ARGUMENT,
                 "tau = %g is not among the times of the trajectories", swarm->plan.times[k]);
        swarm->column[k] = column;
    }
    return HB_OK;
}

hb_status hb_swarm_create(hb_context *context, const hb_path_plan *plan,
                          const hb_given_paths *given, size_t batches, size_t batch_size, int twins,
                          int with_drift, hb_swarm *out)
{
    *out = (hb_swarm){.context = context, .plan = *plan, .twins = twins};
    out->batches = batches, out->batch_size = batch_size, out->with_drift = with_drift;
    out->plan.transitions = NULL;
    if (given) out->given = *given;
    hb_status status = hb_swarm_rooms(context, &out->rooms);
    if (status == HB_OK) status = hb_workspace_create(context, bytes_of(out), &out->work);
    if (status == HB_OK) {
        carve(out);
        status = find_columns(context, out);
    }
    if (status == HB_OK && !given) status = hb_path_transitions(context, &out->plan);
    if (status != HB_OK) hb_swarm_destroy(out);
    return status;
}

/* ---- filling ------------------------------------------------------------------------------------- */

static void copy_given(const hb_swarm *swarm, size_t first, size_t n, size_t stride, double *x)
{
    const size_t d = swarm->plan.dim, row = swarm->given.n_times * d;
    for (size_t k = 0; k < swarm->plan.n_times; k++)
        for (size_t i = 0; i < n; i++)
            memcpy(x + (k * stride + i) * d,
                   swarm->given.paths + (first + i) * row + swarm->column[k] * d,
                   d * sizeof(double));
}

/* Of trajectories offset .. offset+n-1 of the fill. */
static hb_status snapshot_drift(hb_swarm *swarm, hb_context *room, int twin, size_t offset,
                                size_t n)
{
    const size_t d = swarm->plan.dim;
    const size_t paths = swarm->filled * swarm->batch_size;
    void *memory;
    HB_TRY(hb_allocate(room, n, sizeof(double), &memory));
    double *tau = memory;
    hb_status status = HB_OK;
    for (size_t k = 0; k < swarm->plan.n_times && status == HB_OK; k++) {
        const size_t at = (k * paths + offset) * d;
        for (size_t i = 0; i < n; i++) tau[i] = swarm->plan.times[k];
        status = hb_problem_drift_each(room, swarm->plan.problem, n, swarm->x[twin] + at, tau,
                                       swarm->F[twin] + at, NULL, NULL, NULL);
    }
    hb_release(room, memory);
    return status;
}

static double count_lost(const hb_swarm *swarm, size_t offset)
{
    const size_t d = swarm->plan.dim, paths = swarm->filled * swarm->batch_size;
    double lost = 0;
    for (size_t i = 0; i < swarm->batch_size; i++) {
        int finite = 1;
        for (size_t k = 0; k < swarm->plan.n_times; k++)
            for (size_t j = 0; j < d; j++) {
                const size_t at = (k * paths + offset + i) * d + j;
                finite &= isfinite(swarm->x[0][at]) && (!swarm->F[0] || isfinite(swarm->F[0][at]));
            }
        lost += !finite;
    }
    return lost;
}

/* Batches that are made together: a drift is asked for at many points at once, which matters most where it
 * is a function of the user. A function of the batch alone, so that threads change nothing. */
static size_t group_of(const hb_swarm *swarm)
{
    return swarm->batch_size < TOGETHER ? TOGETHER / swarm->batch_size : 1;
}

static hb_status make_group(void *user, size_t index, int thread)
{
    hb_swarm *swarm = user;
    hb_context *room = swarm->rooms + thread;
    const size_t group = group_of(swarm), from = index * group;
    const size_t to = from + group < swarm->filled ? from + group : swarm->filled;
    const size_t n = (to - from) * swarm->batch_size, paths = swarm->filled * swarm->batch_size;
    const size_t offset = from * swarm->batch_size, at = offset * swarm->plan.dim;
    const uint64_t first = swarm->first + offset;
    hb_status status = HB_OK;
    if (swarm->given.n_paths)
        copy_given(swarm, first, n, paths, swarm->x[0] + at);
    else
        status = hb_paths_simulate(room, &swarm->plan, first, n, paths, swarm->x[0] + at,
                                   swarm->twins ? swarm->x[1] + at : NULL);
    for (int k = 0; k <= swarm->twins && swarm->with_drift && status == HB_OK; k++)
        status = snapshot_drift(swarm, room, k, offset, n);
    if (status != HB_OK) return hb_fail(swarm->context, status, "%s", room->message);
    for (size_t batch = from; batch < to; batch++)
        swarm->lost[batch] = count_lost(swarm, batch * swarm->batch_size);
    return HB_OK;
}

static hb_status sort_snapshot(void *user, size_t index, int thread)
{
    (void)thread;
    hb_swarm *swarm = user;
    const size_t d = swarm->plan.dim, most = swarm->batches * swarm->batch_size;
    const size_t n = swarm->filled * swarm->batch_size, times = swarm->plan.n_times;
    const size_t scratch = hb_workspace_need(most, sizeof(uint32_t));
    const size_t list = hb_cell_list_need(most, d, swarm->with_drift);
    unsigned char *memory = swarm->work.memory + swarm->work.used + index * scratch;
    for (int k = 0; k <= swarm->twins; k++)
        hb_cell_list_build(n, d, swarm->x[k] + index * n * d,
                           swarm->with_drift ? swarm->F[k] + index * n * d : NULL,
                           swarm->batch_size,
                           swarm->work.memory + swarm->work.used + times * scratch +
                               ((size_t)k * times + index) * list,
                           (uint32_t *)(void *)memory, swarm->lists[k] + index);
    return HB_OK;
}

hb_status hb_swarm_fill(hb_swarm *swarm, uint64_t first, size_t batches)
{
    swarm->first = first;
    swarm->filled = batches;
    const size_t group = group_of(swarm);
    HB_TRY(hb_parallel_for(swarm->context, "trajectories", (batches + group - 1) / group,
                           make_group, swarm));
    return hb_parallel_for(swarm->context, "sorting", swarm->plan.n_times, sort_snapshot, swarm);
}
