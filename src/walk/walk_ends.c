/* Where walks end, and the memory that they live in.
 *
 * The last step of a walk is a Gaussian N(m, C) whose mean of the initial density is wanted. Sums
 * of Gaussians, and uniform densities under a diagonal C, have it in closed form; for others a pair
 * m +- L g is drawn, C = L L'. The value of the walk is W times that, and its slope
 *     d ln W/dx0 + tangent' (gradient of the logarithm at the end).
 * A number to reproduce: W = 1, m = 0, C = 1 and the start N(0,1) give 0.28209479177387814. */
#include "problem/initial_average.h"
#include "walk/walk_scratch.h"

#include <math.h>
#include <string.h>

/* ---- memory --------------------------------------------------------------------------------- */

size_t hb_walk_row_size(const hb_walk_problem *shared)
{
    const size_t d = shared->d, matrix = shared->full_frame ? d * d : d;
    return 6 * d + 2 * matrix;
}

size_t hb_walk_step_work(const hb_walk_problem *shared)
{
    const size_t d = shared->d, matrix = shared->full_frame ? d * d : d;
    return matrix + 2 * d + (shared->full_frame ? 6 * d * d : d);
}

/* In large dimensions fewer walks step together: their Jacobians must fit. */
enum { JACOBIAN_DOUBLES = 1 << 21, LEAST_TOGETHER = 8 };
/* A closed form that stands for places this many deviations away knows nothing of the drift there: of
 * 10^5 walks none comes so far. */
static const double FAR = 4;

typedef struct wish {
    double **array;
    size_t doubles;
} wish;

hb_status hb_walk_block_create(hb_context *context, const hb_walk_problem *shared,
                               hb_walk_block **out)
{
    const size_t all = HB_WALK_BLOCK, d = shared->d, fit = JACOBIAN_DOUBLES / (d * d);
    const size_t n = fit < LEAST_TOGETHER ? LEAST_TOGETHER : fit < all ? fit : all;
    void *memory;
    HB_TRY(hb_allocate(context, 1, sizeof(hb_walk_block), &memory));
    hb_walk_block *b = memory;
    memset(b, 0, sizeof *b);
    *out = b;
    b->context = *context;
    b->context.threads = 1;
    b->context.settings.progress = NULL;
    b->shared = *shared;
    b->together = n;
    b->matrix = shared->full_frame ? d * d : d;
    const wish wishes[] = {{&b->rows, n * hb_walk_row_size(shared)},
                           {&b->x, n * d},
                           {&b->tau, n},
                           {&b->F, n * d},
                           {&b->divergence, n},
                           {&b->grad_divergence, n * d},
                           {&b->jacobian, n * d * d},
                           {&b->probe, 2 * n * d},
                           {&b->probe_tau, 2 * n},
                           {&b->probe_F, 2 * n * d},
                           {&b->probe_divergence, 2 * n},
                           {&b->reach, n},
                           {&b->normals, all * hb_walk_ball_normals(d)},
                           {&b->uniforms, all},
                           {&b->rise, n},
                           {&b->ends, 2 * n * d},
                           {&b->end_log, 2 * n},
                           {&b->end_slope, 2 * n * d},
                           {&b->spread, b->matrix},
                           {&b->step_work, hb_walk_step_work(shared)},
                           {&b->average_work, hb_initial_average_work(shared->problem) + d},
                           {&b->size, all},
                           {&b->slope, all * d}};
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++)
        bytes = hb_workspace_add(bytes, hb_workspace_need(wishes[i].doubles, sizeof(double)));
    const hb_status status = hb_workspace_create(context, bytes, &b->work);
    for (size_t i = 0; status == HB_OK && i < sizeof wishes / sizeof *wishes; i++)
        *wishes[i].array = hb_workspace_take(&b->work, wishes[i].doubles, sizeof(double));
    if (status != HB_OK) {
        hb_walk_block_destroy(b);
        *out = NULL;
    }
    return status;
}

void hb_walk_block_destroy(hb_walk_block *block)
{
    if (!block) return;
    hb_context context = block->context;
    hb_workspace_destroy(&block->work);
    hb_release(&context, block);
}

void hb_walk_block_until(hb_walk_block *block, const double *deadline)
{
    block->context.deadline = deadline;
}

const char *hb_walk_block_message(const hb_walk_block *block)
{
    return block->context.message;
}

hb_walk_result hb_walk_block_result(const hb_walk_block *block, size_t i)
{
    return (hb_walk_result){block->size[i], block->slope + i * block->shared.d, block->sign[i],
                            block->lost[i], block->stray[i]};
}

/* ---- ends ----------------------------------------------------------------------------------- */

void hb_walk_store(hb_walk_block *b, const hb_walk *walk, double size, const double *slope)
{
    const size_t d = b->shared.d, k = walk->number;
    b->size[k] = size;
    b->sign[k] = walk->sign;
    b->lost[k] = b->stray[k] = 0;
    memcpy(b->slope + k * d, slope, d * sizeof *slope);
}

void hb_walk_lose(hb_walk_block *b, const hb_walk *walk)
{
    const size_t d = b->shared.d, k = walk->number;
    b->size[k] = -INFINITY;
    b->sign[k] = 1;
    b->lost[k] = 1;
    b->stray[k] = 0;
    memset(b->slope + k * d, 0, d * sizeof *b->slope);
}

/* The square of how far, in deviations of the last Gaussian N(m, C), its product with u0 has its mean:
 * m + C gamma, gamma the gradient of ln E[u0] by m; so gamma'C gamma. */
static double distance2(const hb_walk_block *b, const double *gamma)
{
    const size_t d = b->shared.d;
    double sum = 0;
    for (size_t i = 0; i < d; i++) {
        if (!b->shared.full_frame) sum += b->spread[i] * gamma[i] * gamma[i];
        for (size_t j = 0; b->shared.full_frame && j < d; j++)
            sum += gamma[i] * b->spread[i * d + j] * gamma[j];
    }
    return sum;
}

void hb_walk_finish_closed(hb_walk_block *b, hb_walk *walk)
{
    const hb_walk_row row = hb_walk_row_of(&b->shared, walk->row);
    const hb_bell bell = {.mean = row.x,
                          .variance = b->shared.full_frame ? NULL : b->spread,
                          .covariance = b->shared.full_frame ? b->spread : NULL};
    double log_value, *gradient = b->average_work + hb_initial_average_work(b->shared.problem);
    hb_initial_average(b->shared.problem, &bell, b->average_work, &log_value, gradient);
    if (isnan(log_value)) {
        hb_walk_lose(b, walk);
        return;
    }
    hb_walk_pull(&b->shared, row.tangent, 1, gradient, row.slope);
    hb_walk_store(b, walk, walk->log_weight + log_value, row.slope);
    b->stray[walk->number] = !b->shared.linear && distance2(b, gradient) > FAR * FAR;
}

/* mean +- L g, C = L L' in b->spread; 0 when there is no L. */
int hb_walk_place_ends(const hb_walk_block *b, const double *mean, const double *g, double *ends)
{
    const size_t d = b->shared.d;
    double *L = b->spread;
    if (b->shared.full_frame && !hb_cholesky(d, L)) return 0;
    for (size_t i = 0; i < d; i++) {
        double y = b->shared.full_frame ? 0 : sqrt(L[i]) * g[i];
        for (size_t j = 0; b->shared.full_frame && j <= i; j++) y += L[i * d + j] * g[j];
        ends[i] = mean[i] + y;
        ends[d + i] = mean[i] - y;
    }
    return hb_all_finite(2 * d, ends);
}

/* The pairs of ends of the leaving walks are in b->ends, in their order. */
hb_status hb_walk_finish_drawn(hb_walk_block *b)
{
    const size_t d = b->shared.d;
    hb_status status;
    if (b->n_leaving == 0) return HB_OK;
    if (!hb_problem_initial_facts(b->shared.problem)->serial) {
        status = hb_problem_initial(&b->context, b->shared.problem, 2 * b->n_leaving, b->ends,
                                    b->end_log, b->end_slope);
    } else {
#pragma omp critical(hb_walk_initial)
        status = hb_problem_initial(&b->context, b->shared.problem, 2 * b->n_leaving, b->ends,
                                    b->end_log, b->end_slope);
    }
    HB_TRY(status);
    for (size_t k = 0; k < b->n_leaving; k++) {
        const hb_walk *walk = b->walks + b->leaving[k];
        const hb_walk_row row = hb_walk_row_of(&b->shared, walk->row);
        const double *v = b->end_log + 2 * k, top = fmax(v[0], v[1]);
        if (isnan(v[0]) || isnan(v[1]) || top == INFINITY) {
            hb_walk_lose(b, walk);
            continue;
        }
        const double sum = top > -INFINITY ? exp(v[0] - top) + exp(v[1] - top) : 0;
        for (size_t side = 0; side < 2 && sum > 0; side++)
            if (v[side] > -INFINITY)
                hb_walk_pull(&b->shared, row.tangent, exp(v[side] - top) / sum,
                             b->end_slope + (2 * k + side) * d, row.slope);
        hb_walk_store(b, walk, walk->log_weight + top + log(0.5 * sum), row.slope);
    }
    return HB_OK;
}
