/* Where walks end.
 *
 * The last step of a walk is a Gaussian N(m, C) whose mean of the initial density is wanted. Sums
 * of Gaussians, and uniform densities under a diagonal C, have it in closed form; for others a pair
 * m +- L g is drawn, C = L L'. The value of the walk is W times that, and its slope
 *     d ln W/dx0 + tangent' (gradient of the logarithm at the end).
 * A number to reproduce: W = 1, m = 0, C = 1 and the start N(0,1) give 0.28209479177387814. */
#include "problem/initial/initial_average.h"
#include "walk/lockstep.h"
#include "walk/walk_constants.h"

#include <math.h>
#include <string.h>

void hb_lockstep_store(hb_lockstep *b, const hb_walk *walk, double size, const double *slope)
{
    const size_t d = b->base.shared.d, k = walk->number;
    b->base.size[k] = size;
    b->base.sign[k] = walk->sign;
    b->base.lost[k] = b->base.outlier[k] = 0;
    memcpy(b->base.slope + k * d, slope, d * sizeof *slope);
}

void hb_lockstep_lose(hb_lockstep *b, const hb_walk *walk)
{
    const size_t d = b->base.shared.d, k = walk->number;
    b->base.size[k] = -INFINITY;
    b->base.sign[k] = 1;
    b->base.lost[k] = 1;
    b->base.outlier[k] = 0;
    memset(b->base.slope + k * d, 0, d * sizeof *b->base.slope);
}

/* The square of how far, in deviations of the last Gaussian N(m, C), its product with u0 has its
 * mean: m + C gamma, gamma the gradient of ln E[u0] by m; so gamma'C gamma. */
static double distance2(const hb_lockstep *b, const double *gamma)
{
    const size_t d = b->base.shared.d;
    double sum = 0;
    for (size_t i = 0; i < d; i++) {
        if (!b->base.shared.full_frame) sum += b->spread[i] * gamma[i] * gamma[i];
        for (size_t j = 0; b->base.shared.full_frame && j < d; j++)
            sum += gamma[i] * b->spread[i * d + j] * gamma[j];
    }
    return sum;
}

static void end_closed(hb_lockstep *b, hb_walk *walk)
{
    const hb_walk_row row = hb_walk_row_of(&b->base.shared, walk->row);
    const hb_gaussian gaussian = {.mean = row.x,
                                  .variance = b->base.shared.full_frame ? NULL : b->spread,
                                  .covariance = b->base.shared.full_frame ? b->spread : NULL};
    double log_value, *gradient = b->average_work + hb_initial_average_work(b->base.shared.problem);
    hb_initial_average(b->base.shared.problem, &gaussian, b->average_work, &log_value, gradient);
    if (isnan(log_value)) {
        hb_lockstep_lose(b, walk);
        return;
    }
    hb_walk_pull(&b->base.shared, row.tangent, 1, gradient, row.slope);
    hb_lockstep_store(b, walk, walk->log_weight + log_value, row.slope);
    b->base.outlier[walk->number] =
        b->base.shared.place ? walk->outlier
                             : !b->base.shared.linear &&
                                   distance2(b, gradient) > OUTLIER_DISTANCE * OUTLIER_DISTANCE;
}

/* mean +- L g, C = L L' in b->spread; 0 when there is no L. */
static int end_place_ends(const hb_lockstep *b, const double *mean, const double *g, double *ends)
{
    const size_t d = b->base.shared.d;
    double *L = b->spread;
    if (b->base.shared.full_frame &&
        !(b->base.shared.semidefinite ? hb_cholesky_semidefinite : hb_cholesky)(d, L))
        return 0;
    for (size_t i = 0; i < d; i++) {
        double y = b->base.shared.full_frame ? 0 : sqrt(L[i]) * g[i];
        for (size_t j = 0; b->base.shared.full_frame && j <= i; j++) y += L[i * d + j] * g[j];
        ends[i] = mean[i] + y;
        ends[d + i] = mean[i] - y;
    }
    return hb_all_finite(2 * d, ends);
}

void hb_lockstep_end(hb_lockstep *b, size_t i, const double *g)
{
    hb_walk *walk = b->walks + i;
    if (b->base.shared.closed_form)
        end_closed(b, walk);
    else if (end_place_ends(b, walk->row, g, b->ends + 2 * b->n_leaving * b->base.shared.d))
        b->leaving[b->n_leaving++] = i;
    else
        walk->lost = 1;
}

/* The pairs of ends of the leaving walks are in b->ends, in their order. */
hb_status hb_lockstep_end_drawn(hb_lockstep *b)
{
    const size_t d = b->base.shared.d;
    if (b->n_leaving == 0) return HB_OK;
    HB_TRY(hb_walk_initial(b->base.context, b->base.shared.problem, 2 * b->n_leaving, b->ends,
                           b->end_log, b->end_slope));
    for (size_t k = 0; k < b->n_leaving; k++) {
        const hb_walk *walk = b->walks + b->leaving[k];
        const hb_walk_row row = hb_walk_row_of(&b->base.shared, walk->row);
        const double *v = b->end_log + 2 * k, top = fmax(v[0], v[1]);
        if (isnan(v[0]) || isnan(v[1]) || top == INFINITY) {
            hb_lockstep_lose(b, walk);
            continue;
        }
        const double sum = top > -INFINITY ? exp(v[0] - top) + exp(v[1] - top) : 0;
        for (size_t side = 0; side < 2 && sum > 0; side++)
            if (v[side] > -INFINITY)
                hb_walk_pull(&b->base.shared, row.tangent, exp(v[side] - top) / sum,
                             b->end_slope + (2 * k + side) * d, row.slope);
        hb_lockstep_store(b, walk, walk->log_weight + top + log(0.5 * sum), row.slope);
    }
    return HB_OK;
}
