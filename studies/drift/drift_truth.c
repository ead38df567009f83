/* Draws of the density at tau = 0.1, 0.3 and 1, and the exact score there.
 *
 * Draws: paths from the start by Heun's scheme with steps of 1/400, of weak order 2. Their error
 * only weights the places a little differently at which scores are compared.
 *
 * Score: in the plane the grid (three meshes, extrapolated, with an error), kept from tau = 0.1 on.
 * For the wells the grid on the line: with q = R x,
 *     ln u(x,tau) = sum_i v(q_i,tau),     grad ln u = R' (v'(q_1), .., v'(q_d)),
 * and the squares of the errors add up. claimed: the mean over the draws of |error|^2, to be far
 * below what is measured with it.
 *
 * A number to reproduce: the mean of |grad ln u|^2 + Lap ln u over the draws is 0, for every
 * density. */
#include "drift.h"

#include <heatball/grid.h>
#include <heatball/random.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 400, STREAM = 41 };
#define FIRST_JUDGE (UINT64_C(1) << 32) /* of the start's draws: no training has them */

/* ---- draws ---- */

/* One step of all n paths; scratch: (3, n, dim). */
static hb_status heun(hb_context *context, const hb_problem *problem, uint64_t seed, int step,
                      size_t n, size_t d, double *x, double *scratch)
{
    const double h = 1.0 / STEPS, root = sqrt(2 * h);
    double *noise = scratch, *F = noise + n * d, *ahead = F + n * d;
    HB_TRY(hb_random_normal(context, seed, STREAM, (uint64_t)step * n * d, n * d, noise));
    HB_TRY(hb_problem_drift(context, problem, n, x, 0, F, NULL, NULL, NULL));
    for (size_t i = 0; i < n * d; i++) {
        ahead[i] = x[i] + h * F[i] + root * noise[i];
        x[i] += 0.5 * h * F[i] + root * noise[i];
    }
    HB_TRY(hb_problem_drift(context, problem, n, ahead, 0, F, NULL, NULL, NULL));
    for (size_t i = 0; i < n * d; i++) x[i] += 0.5 * h * F[i];
    return HB_OK;
}

/* x: (taus, n, dim). */
static hb_status draw(hb_context *context, const hb_problem *problem, uint64_t seed, size_t n,
                      size_t d, double *x)
{
    double *at;
    HB_TRY(HB_STUDY_NEW(context, at, 4 * n * d));
    hb_status status = hb_problem_initial_sample(context, problem, seed, FIRST_JUDGE, n, at);
    for (int step = 0, k = 0; k < DRIFT_TAUS && status == HB_OK; step++) {
        status = heun(context, problem, seed, step, n, d, at, at + n * d);
        if (step + 1 == (int)lround(hb_drift_taus[k] * STEPS))
            memcpy(x + (size_t)k++ * n * d, at, n * d * sizeof *x);
    }
    free(at);
    return status;
}

/* ---- scores ---- */

static hb_status solve(hb_context *context, const hb_problem *problem, size_t n, const double *at,
                       hb_grid **out)
{
    hb_grid_settings settings;
    hb_grid_settings_default(sizeof settings, &settings);
    settings.keep_from = hb_drift_taus[0];
    return hb_grid_solve(context, problem, &settings, n, at, hb_drift_taus[DRIFT_TAUS - 1], out);
}

/* v (n), score and error (n, dim) of the plane. */
static hb_status planar_score(hb_context *context, const hb_grid *grid, size_t n, const double *x,
                              double tau, double *v, double *score, double *error)
{
    return hb_grid_evaluate(context, grid, n, x, tau, v, NULL, score, error);
}

/* The same of the wells; scratch: (4, n): coordinate, v, v', its error. */
static hb_status wells_score(hb_context *context, const hb_grid *grid, size_t n, size_t d,
                             const double *R, const double *x, double tau, double *v, double *score,
                             double *error, double *scratch)
{
    double *q = scratch, *part = q + n, *slope = part + n, *miss = slope + n;
    memset(v, 0, n * sizeof *v);
    memset(score, 0, n * d * sizeof *score);
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < n; j++) {
            q[j] = 0;
            for (size_t k = 0; k < d; k++) q[j] += R[i * d + k] * x[j * d + k];
        }
        HB_TRY(hb_grid_evaluate(context, grid, n, q, tau, part, NULL, slope, miss));
        for (size_t j = 0; j < n; j++) {
            v[j] += part[j];
            error[j * d + i] = miss[j];
            for (size_t k = 0; k < d; k++) score[j * d + k] += R[i * d + k] * slope[j];
        }
    }
    return HB_OK;
}

/* The largest coordinate |q| that a draw has: the line's grid must hold it. */
static double reach_of(size_t count, size_t d, const double *x)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        double square = 0;
        for (size_t k = 0; k < d; k++) square += x[i * d + k] * x[i * d + k];
        most = fmax(most, square);
    }
    return fmin(sqrt(most), 6);
}

static hb_status solve_for(hb_context *context, int problem, const hb_problem *process, size_t n,
                           const double *x, hb_grid **grid)
{
    const size_t d = (size_t)hb_drift_processes[problem].dim;
    hb_problem *well = NULL;
    if (d == 2) return solve(context, process, DRIFT_TAUS * n, x, grid);
    const double reach = reach_of(DRIFT_TAUS * n, d, x), ends[2] = {-reach, reach};
    hb_status status = hb_drift_well(context, &well);
    if (status == HB_OK) status = solve(context, well, 2, ends, grid);
    hb_problem_destroy(well);
    return status;
}

/* ---- regions, errors, the line ---- */

static hb_status mark_low(hb_context *context, size_t n, const double *v, char *low)
{
    void *memory;
    HB_TRY(hb_study_allocate(context, n, sizeof(double), &memory));
    double *sorted = memcpy(memory, v, n * sizeof *v);
    qsort(sorted, n, sizeof *sorted, hb_study_by_value);
    for (size_t i = 0; i < n; i++) low[i] = v[i] < sorted[n / 5];
    free(memory);
    return HB_OK;
}

void hb_drift_line(int problem, double *x)
{
    const hb_drift_process *p = &hb_drift_processes[problem];
    for (int k = 0; k < DRIFT_LINE; k++)
        for (int c = 0; c < 2; c++)
            x[2 * k + c] = p->from[c] + (p->to[c] - p->from[c]) * k / (DRIFT_LINE - 1);
}

/* scratch: (n) v, (n, dim) errors, (4, n). */
static hb_status fill_tau(hb_context *context, int problem, const hb_grid *grid, int k,
                          double *scratch, hb_drift_truth *out)
{
    const size_t n = out->n, d = (size_t)hb_drift_processes[problem].dim;
    const double *x = out->x + (size_t)k * n * d;
    double *score = out->score + (size_t)k * n * d, *v = scratch, *error = v + n;
    double R[DRIFT_MOST_DIM * DRIFT_MOST_DIM], sum = 0;
    if (d == 2)
        HB_TRY(planar_score(context, grid, n, x, hb_drift_taus[k], v, score, error));
    else {
        HB_TRY(hb_drift_rotation(context, (int)d, R));
        HB_TRY(wells_score(context, grid, n, d, R, x, hb_drift_taus[k], v, score, error,
                           error + n * d));
    }
    for (size_t i = 0; i < n * d; i++) sum += error[i] * error[i];
    out->claimed[k] = sum / (double)n;
    return mark_low(context, n, v, out->low + (size_t)k * n);
}

static hb_status fill(hb_context *context, const hb_drift_size *size, int problem,
                      const hb_problem *process, double *scratch, hb_drift_truth *out)
{
    const size_t d = (size_t)hb_drift_processes[problem].dim;
    hb_grid *grid = NULL;
    HB_TRY(draw(context, process, size->seed, out->n, d, out->x));
    HB_TRY(solve_for(context, problem, process, out->n, out->x, &grid));
    hb_status status = HB_OK;
    for (int k = 0; k < DRIFT_TAUS && status == HB_OK; k++)
        status = fill_tau(context, problem, grid, k, scratch, out);
    if (status == HB_OK && d == 2) {
        double at[2 * DRIFT_LINE];
        hb_drift_line(problem, at);
        status = hb_grid_evaluate(context, grid, DRIFT_LINE, at, hb_drift_taus[DRIFT_TAU_TABLE],
                                  out->line, out->line_error, NULL, NULL);
    }
    hb_grid_destroy(grid);
    return status;
}

hb_status hb_drift_find_truth(hb_context *context, const hb_drift_size *size, int problem,
                              hb_drift_truth *out)
{
    const size_t n = size->judge, d = (size_t)hb_drift_processes[problem].dim;
    void *memory, *scratch;
    hb_problem *process = NULL;
    *out = (hb_drift_truth){.n = n};
    HB_TRY(hb_study_allocate(context, DRIFT_TAUS * n * (2 * d + 1), sizeof(double), &memory));
    out->x = memory;
    out->score = out->x + DRIFT_TAUS * n * d;
    out->low = (char *)(out->score + DRIFT_TAUS * n * d);
    HB_TRY(hb_study_allocate(context, n * (d + 5), sizeof(double), &scratch));
    hb_status status = hb_drift_problem(context, problem, &process);
    if (status == HB_OK) status = fill(context, size, problem, process, scratch, out);
    hb_problem_destroy(process);
    free(scratch);
    return status;
}

void hb_drift_truth_release(hb_drift_truth *truth)
{
    free(truth->x);
    *truth = (hb_drift_truth){0};
}
