/* The same equation on the meshes h, 2h and 4h.
 *
 * In d = 1, 2 side by side: the runs share nothing but the problem, so that each may have a thread;
 * the calling thread takes the finest, which needs the most time, another one the two coarser ones.
 * (Threads within such a mesh would have to meet after every pass of some ten microseconds, tens of
 * thousands of times.) In d = 3, where the finest mesh is nearly all of the work, one after the
 * other, and the threads share every pass (fitted_scheme.c). Bits are the same. All memory is taken
 * before and given back after. Each run has a context of its own for its message; the one of the
 * finest mesh that failed is kept.
 *
 * A fourth run has the mesh 4h in a wider box (boundary_errors.c). Where it alone fails the others
 * go on without it.
 *
 * Progress counts the sizes of the meshes, and is reported by the calling thread alone. */
#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "grid/grid_solve.h"
#include "grid/krylov_solver.h"
#include "grid/time_stepper.h"

#include <math.h>
#include <stdatomic.h>

typedef struct mesh_runs mesh_runs;

typedef struct mesh_run {
    mesh_runs *all;
    int calls_back; /* runs on the calling thread */
    hb_context context;
    hb_status status;
    double part_of_all;  /* of the whole work */
    _Atomic double part; /* of its own that is done */
    atomic_int taken;
    void *start; // (size)
    hb_scheme *scheme;
    hb_stepper *stepper;
    double *const *out;
} mesh_run;

struct mesh_runs {
    hb_grid *grid;
    atomic_int stop;
    mesh_run run[HB_GRID_RUNS];
    int runs; /* 3, or 4 with a wider box */
};

/* Past the deadline the run fails with how far it came. */
static void mesh_run_check_deadline(mesh_run *run)
{
    mesh_runs *all = run->all;
    if (!(hb_seconds() > all->grid->deadline) || all->stop) return;
    run->status =
        hb_fail(&run->context, HB_ERROR_NUMERICAL,
                "the grid was at %.0f %% of its time when the %g s of max_time were over; "
                "give it more time or fewer points",
                100 * run->part, all->grid->max_time);
    all->stop = 1;
}

/* The stepper's report: non-zero asks it to stop. */
static int mesh_run_report(void *user, double part)
{
    mesh_run *run = user;
    mesh_runs *all = run->all;
    run->part = part;
    mesh_run_check_deadline(run);
    if (run->calls_back && !all->stop) {
        double done = 0;
        for (int m = 0; m < all->runs; m++) done += all->run[m].part_of_all * all->run[m].part;
        run->status =
            hb_progress(&run->context,
                        all->grid->grown ? "Fokker-Planck grid, larger box" : "Fokker-Planck grid",
                        fmin(done, 1), 1);
        if (run->status != HB_OK) all->stop = 1;
    }
    return all->stop;
}

static hb_status mesh_run_prepare(mesh_runs *all, int m, const hb_problem *problem,
                                  const hb_start_plan *plan, double *log_mass)
{
    hb_grid *grid = all->grid;
    mesh_run *run = &all->run[m];
    const hb_mesh *mesh = &grid->mesh[m];
    hb_stepper_settings settings = {.tolerance = grid->strict * grid->tolerance,
                                    .tau_end = grid->tau[grid->n_levels - 1],
                                    .cuts = hb_problem_cuts(problem),
                                    .report = mesh_run_report,
                                    .user = run};
    double sizes = 0;
    for (int k = 0; k < all->runs; k++) sizes += (double)grid->mesh[k].size;
    if (grid->least_steps > 0) settings.longest = settings.tau_end / grid->least_steps;
    settings.graded = grid->listed; /* each level as if it were the end */
    run->all = all;
    run->part_of_all = (double)mesh->size / sizes;
    run->context = hb_context_child(grid->context, 0);
    run->context.settings.progress = grid->context->settings.progress;
    HB_TRY(hb_allocate(&run->context, mesh->size, sizeof(double), &run->start));
    HB_TRY(hb_grid_start(&run->context, problem, mesh, plan, log_mass, run->start,
                         &settings.tau_start));
    HB_TRY(hb_scheme_create(&run->context, problem, mesh, grid->flaws.jumps || grid->flaws.kinks,
                            &run->scheme));
    hb_scheme_adapt_start(run->scheme, run->start, &settings.tau_start);
    return hb_stepper_create(&run->context, run->scheme, &settings, run->start, &run->stepper);
}

/* The calling thread takes the finest mesh that is left, others prefer the coarser ones. */
static hb_status mesh_run_task(void *user, size_t index, int thread)
{
    mesh_runs *all = user;
    int m = thread == 0 ? 0 : 1;
    (void)index; /* there are as many tasks as runs */
    while (atomic_exchange(&all->run[m].taken, 1)) m = (m + 1) % all->runs;
    mesh_run *run = &all->run[m];
    run->calls_back = thread == 0;
    const hb_status status =
        hb_stepper_run(run->stepper, all->grid->n_levels, all->grid->tau, run->out);
    if (run->status == HB_OK) run->status = status;
    if (status != HB_OK && m < HB_GRID_MESHES) all->stop = 1;
    return HB_OK; /* kept in the run, so that the finest one's failure is told */
}

/* The failure of the finest mesh that failed by itself, not because another one did. */
static hb_status mesh_runs_outcome(mesh_runs *all)
{
    hb_status status = HB_OK;
    for (int m = all->runs - 1; m >= 0; m--) {
        const mesh_run *run = &all->run[m];
        if (m == HB_GRID_MESHES && run->status != HB_OK) all->grid->mesh[m].size = 0;
        if (m == HB_GRID_MESHES && !all->stop) continue;
        if (run->status == HB_OK) continue;
        if (status != HB_OK && run->status == HB_ERROR_INTERRUPTED &&
            (!run->calls_back || status == HB_ERROR_NUMERICAL))
            continue;
        status = hb_context_adopt(all->grid->context, &run->context, run->status);
    }
    return status;
}

hb_status hb_grid_run_meshes(hb_grid *grid, const hb_problem *problem, const hb_start_plan *plan,
                             double *const *const out[HB_GRID_RUNS])
{
    mesh_runs all = {.grid = grid, .runs = HB_GRID_MESHES + (grid->mesh[HB_GRID_MESHES].size > 0)};
    double log_mass = NAN;
    hb_status status = HB_OK;
    for (int m = 0; m < all.runs && status == HB_OK; m++) {
        all.run[m].out = out[m];
        status = mesh_run_prepare(&all, m, problem, plan, &log_mass);
        if (m < HB_GRID_MESHES) {
            status = hb_context_adopt(grid->context, &all.run[m].context, status);
        } else if (status != HB_OK) { /* the drift may end in the wider box */
            grid->mesh[m].size = 0;
            all.runs = HB_GRID_MESHES;
            status = HB_OK;
        }
    }
    if (status == HB_OK && grid->mesh[0].dim < 3)
        status = hb_parallel_for(grid->context, NULL, (size_t)all.runs, mesh_run_task, &all);
    for (int m = 0; m < all.runs && status == HB_OK && grid->mesh[0].dim == 3; m++)
        status = mesh_run_task(&all, (size_t)m, 0);
    if (status == HB_OK) status = mesh_runs_outcome(&all);
    for (int m = 0; m < HB_GRID_RUNS; m++) {
        grid->info.steps += hb_stepper_steps(all.run[m].stepper);
        hb_stepper_destroy(all.run[m].stepper);
        hb_scheme_destroy(all.run[m].scheme);
        hb_release(grid->context, all.run[m].start);
    }
    return status;
}

/* Of a node: v, CVODE's vectors, the coefficients of the scheme, and in d = 2, 3 the Jacobian
 * and the directions of GMRES in float. */
double hb_run_bytes(const hb_mesh *mesh, int tensor)
{
    enum { VECTORS = 18 };
    const int d = mesh->dim, own = tensor ? 8 * d + d * d + 3 : 2 * d + 1;
    const int floats = d == 1 ? 0 : 2 * d + 2 + 2 * HB_KRYLOV_MOST;
    const int doubles = 1 + VECTORS + own + (d == 1 ? 3 : 0);
    return (double)mesh->size *
           (double)((size_t)doubles * sizeof(double) + (size_t)floats * sizeof(float));
}

double hb_grid_run_bytes(const hb_grid *grid)
{
    double bytes = 0;
    for (int m = 0; m < HB_GRID_RUNS && grid->mesh[m].size > 0; m++)
        bytes += hb_run_bytes(&grid->mesh[m], grid->tensor);
    return bytes;
}
