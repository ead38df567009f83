/* An ensemble: trajectories are made batch by batch, on any thread, then sorted time by time into
 * cell lists. Both are tasks by index, so the number of threads changes no bit. A trajectory is
 * lost when it, or its drift, is not finite at one of the times. */
#include "particle/particle_ensemble.h"
#include "base/context.h"
#include "base/team_tasks.h"

#include <math.h>
#include <string.h>

enum { TOGETHER = 512 }; /* trajectories that move together, about */

void hb_particle_ensemble_destroy(hb_particle_ensemble *ensemble)
{
    hb_context *context = ensemble->context;
    if (!context) return;
    hb_release(context, ensemble->plan.transitions);
    hb_workspace_destroy(&ensemble->work);
    *ensemble = (hb_particle_ensemble){0};
}

/* Lists (1 + twins, times), and behind their arrays those of all lists. */
static hb_status ensemble_create_arrays(hb_particle_ensemble *s)
{
    const size_t d = s->plan.dim, times = s->plan.n_times, paths = s->batches * s->batch_size;
    const size_t rows = times * paths * d, copies = s->twins ? 2 : 1, lists = copies * times;
    const size_t starts = hb_cell_list_starts(paths),
                 threads = (size_t)hb_context_threads(s->context);
    double *kept, *x, *F = NULL;
    uint32_t *owner, *start;
    HB_TRY(HB_WORKSPACE(
        s->context, &s->work, HB_ARRAY(s->alone, threads), HB_ARRAY(kept, times),
        HB_ARRAY(s->column, times), HB_ARRAY(s->lost, s->batches), HB_ARRAY(s->x[0], rows),
        HB_ARRAY_IF(s->twins, s->x[1], rows), HB_ARRAY_IF(s->with_drift, s->F[0], rows),
        HB_ARRAY_IF(s->with_drift && s->twins, s->F[1], rows), HB_ARRAY(s->lists[0], times),
        HB_ARRAY_IF(s->twins, s->lists[1], times), HB_ARRAY(s->cells, times * paths),
        HB_ARRAY(x, copies * rows), HB_ARRAY_IF(s->with_drift, F, copies * rows),
        HB_ARRAY(owner, lists * paths), HB_ARRAY(start, lists * starts)));
    for (size_t k = 0; k < threads; k++) s->alone[k] = hb_context_child(s->context, 1);
    for (size_t i = 0; i < lists; i++)
        s->lists[i / times][i % times] = (hb_cell_list){.x = x + i * paths * d,
                                                        .F = F ? F + i * paths * d : NULL,
                                                        .owner = owner + i * paths,
                                                        .start = start + i * starts};
    s->plan.times = memcpy(kept, s->plan.times, times * sizeof *kept);
    return HB_OK;
}

/* The columns of the user's array that hold the plan's times. */
static hb_status find_columns(hb_context *context, hb_particle_ensemble *ensemble)
{
    for (size_t k = 0; k < ensemble->plan.n_times && ensemble->given.n_paths > 0; k++) {
        size_t column = 0;
        while (column < ensemble->given.n_times &&
               ensemble->given.tau[column] != ensemble->plan.times[k])
            column++;
        HB_CHECK(context, column < ensemble->given.n_times, HB_ERROR_ARGUMENT,
                 "tau = %g is not among the times of the trajectories", ensemble->plan.times[k]);
        ensemble->column[k] = column;
    }
    return HB_OK;
}

hb_status hb_particle_ensemble_create(hb_context *context, const hb_path_plan *plan,
                                      const hb_given_paths *given, size_t batches,
                                      size_t batch_size, int twins, int with_drift,
                                      hb_particle_ensemble *out)
{
    *out = (hb_particle_ensemble){.context = context, .plan = *plan, .twins = twins};
    out->batches = batches, out->batch_size = batch_size, out->with_drift = with_drift;
    out->plan.transitions = NULL;
    if (given) out->given = *given;
    hb_status status = ensemble_create_arrays(out);
    if (status == HB_OK) status = find_columns(context, out);
    if (status == HB_OK && !given) status = hb_path_transitions(context, &out->plan);
    if (status != HB_OK) hb_particle_ensemble_destroy(out);
    return status;
}

/* ---- filling ---- */

static void copy_given(const hb_particle_ensemble *ensemble, size_t first, size_t n, size_t stride,
                       double *x)
{
    const size_t d = ensemble->plan.dim, row = ensemble->given.n_times * d;
    for (size_t k = 0; k < ensemble->plan.n_times; k++)
        for (size_t i = 0; i < n; i++)
            memcpy(x + (k * stride + i) * d,
                   ensemble->given.paths + (first + i) * row + ensemble->column[k] * d,
                   d * sizeof(double));
}

/* Of trajectories offset .. offset+n-1 of the fill. */
static hb_status snapshot_drift(hb_particle_ensemble *ensemble, hb_context *alone, int twin,
                                size_t offset, size_t n)
{
    const size_t d = ensemble->plan.dim;
    const size_t paths = ensemble->filled * ensemble->batch_size;
    double *tau;
    HB_TRY(HB_NEW(alone, tau, n));
    hb_status status = HB_OK;
    for (size_t k = 0; k < ensemble->plan.n_times && status == HB_OK; k++) {
        const size_t at = (k * paths + offset) * d;
        for (size_t i = 0; i < n; i++) tau[i] = ensemble->plan.times[k];
        status = hb_problem_drift_each(alone, ensemble->plan.problem, n, ensemble->x[twin] + at,
                                       tau, ensemble->F[twin] + at, NULL, NULL, NULL);
    }
    hb_release(alone, tau);
    return status;
}

static double count_lost(const hb_particle_ensemble *ensemble, size_t offset)
{
    const size_t d = ensemble->plan.dim, paths = ensemble->filled * ensemble->batch_size;
    double lost = 0;
    for (size_t i = 0; i < ensemble->batch_size; i++) {
        int finite = 1;
        for (size_t k = 0; k < ensemble->plan.n_times; k++)
            for (size_t j = 0; j < d; j++) {
                const size_t at = (k * paths + offset + i) * d + j;
                finite &= isfinite(ensemble->x[0][at]) &&
                          (!ensemble->F[0] || isfinite(ensemble->F[0][at]));
            }
        lost += !finite;
    }
    return lost;
}

/* Batches that are made together: a drift of the user is asked for at many points at once. A
 * function of the batch alone, so that threads change nothing. */
static size_t ensemble_group_of(const hb_particle_ensemble *ensemble)
{
    return ensemble->batch_size < TOGETHER ? TOGETHER / ensemble->batch_size : 1;
}

static hb_status ensemble_make_group(void *user, size_t index, int thread)
{
    hb_particle_ensemble *ensemble = user;
    hb_context *alone = ensemble->alone + thread;
    const size_t group = ensemble_group_of(ensemble), from = index * group;
    const size_t to = from + group < ensemble->filled ? from + group : ensemble->filled;
    const size_t n = (to - from) * ensemble->batch_size,
                 paths = ensemble->filled * ensemble->batch_size;
    const size_t offset = from * ensemble->batch_size, at = offset * ensemble->plan.dim;
    const uint64_t first = ensemble->first + offset;
    hb_status status = HB_OK;
    if (ensemble->given.n_paths)
        copy_given(ensemble, first, n, paths, ensemble->x[0] + at);
    else
        status = hb_paths_simulate(alone, &ensemble->plan, first, n, paths, ensemble->x[0] + at,
                                   ensemble->twins ? ensemble->x[1] + at : NULL);
    for (int k = 0; k <= ensemble->twins && ensemble->with_drift && status == HB_OK; k++)
        status = snapshot_drift(ensemble, alone, k, offset, n);
    HB_TRY(hb_context_adopt(ensemble->context, alone, status));
    for (size_t batch = from; batch < to; batch++)
        ensemble->lost[batch] = count_lost(ensemble, batch * ensemble->batch_size);
    return HB_OK;
}

static hb_status sort_snapshot(void *user, size_t index, int thread)
{
    (void)thread;
    hb_particle_ensemble *ensemble = user;
    const size_t d = ensemble->plan.dim, n = ensemble->filled * ensemble->batch_size;
    for (int k = 0; k <= ensemble->twins; k++)
        hb_cell_list_build(n, d, ensemble->x[k] + index * n * d,
                           ensemble->with_drift ? ensemble->F[k] + index * n * d : NULL,
                           ensemble->batch_size, ensemble->cells + index * n,
                           ensemble->lists[k] + index);
    return HB_OK;
}

/* Over the ranks of a team: a group leaves its trajectories in the snapshots of all times. */
static hb_status make_trajectories(hb_particle_ensemble *ensemble)
{
    const size_t group = ensemble_group_of(ensemble), times = ensemble->plan.n_times;
    const size_t row = ensemble->plan.dim * sizeof(double);
    const size_t paths = ensemble->filled * ensemble->batch_size,
                 bytes = group * ensemble->batch_size * row;
    size_t n = 0;
    hb_left *left;
    HB_TRY(HB_NEW(ensemble->context, left, 4 * times + 1));
    double *arrays[] = {ensemble->x[0], ensemble->x[1], ensemble->F[0], ensemble->F[1]};
    for (size_t a = 0; a < 4; a++)
        for (size_t k = 0; k < times && arrays[a]; k++)
            left[n++] = (hb_left){arrays[a] + k * paths * ensemble->plan.dim, bytes, paths * row};
    left[n++] =
        (hb_left){ensemble->lost, group * sizeof(double), ensemble->filled * sizeof(double)};
    const hb_status status =
        hb_team_for(ensemble->context, "trajectories", (ensemble->filled + group - 1) / group,
                    ensemble_make_group, ensemble, n, left);
    hb_release(ensemble->context, left);
    return status;
}

hb_status hb_particle_ensemble_fill(hb_particle_ensemble *ensemble, uint64_t first, size_t batches)
{
    ensemble->first = first;
    ensemble->filled = batches;
    HB_TRY(make_trajectories(ensemble));
    return hb_parallel_for(ensemble->context, "sorting", ensemble->plan.n_times, sort_snapshot,
                           ensemble);
}
