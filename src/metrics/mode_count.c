/* Which modes of a mixture a sample reaches.
 *
 * A row belongs to the component k that most likely made it, the largest w_k N(x; m_k, C_k), if it
 * lies within REACH = sqrt(dim) + 3 deviations of it, |C_k^-1/2 (x - m_k)| <= REACH; else it is an
 * outlier. The length of a normal vector is sqrt(dim) give or take 0.7, so REACH leaves out few
 * good rows in any dimension. A mode is found when it has at least a tenth of the rows that its
 * weight promises. A number to reproduce: in the plane exp(-(sqrt 2 + 3)^2/2) = 5.85e-5 of a
 * Gaussian's rows are outliers. */
#include "base/context.h"
#include "data/mixture.h"

#include <heatball/metrics.h>
#include <math.h>
#include <string.h>

static const double FOUND_SHARE = 0.1;

static void mode_count_rows(const hb_mixture *truth, size_t n, const size_t *component,
                            const double *squares, size_t *counts, size_t *outliers)
{
    const double reach = sqrt((double)truth->dim) + 3;
    *outliers = 0;
    memset(counts, 0, (size_t)truth->modes * sizeof *counts);
    for (size_t i = 0; i < n; i++)
        if (squares[i] <= reach * reach)
            counts[truth->mode_of[component[i]]]++;
        else
            ++*outliers;
}

static int mode_count_found(const hb_mixture *truth, size_t n, const size_t *counts)
{
    int found = 0;
    for (int mode = 0; mode < truth->modes; mode++) {
        double weight = 0;
        for (size_t k = 0; k < truth->count; k++)
            if (truth->mode_of[k] == mode) weight += truth->weight[k];
        const double needed = FOUND_SHARE * weight * (double)n;
        found += counts[mode] > 0 && (double)counts[mode] >= needed;
    }
    return found;
}

hb_status hb_judge_modes(hb_context *context, const hb_mixture *truth, size_t n, const double *x,
                         size_t *counts, size_t *outliers, int *found)
{
    HB_CHECK(context, truth && (x || n == 0), HB_ERROR_ARGUMENT, "truth or x is NULL");
    const size_t modes = (size_t)truth->modes;
    size_t outside;
    hb_workspace work;
    size_t *held, *component;
    double *squares;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(held, modes), HB_ARRAY(component, n),
                        HB_ARRAY(squares, n)));
    const hb_status status = hb_mixture_nearest(context, truth, n, x, component, squares);
    if (status == HB_OK) {
        mode_count_rows(truth, n, component, squares, held, &outside);
        if (counts) memcpy(counts, held, modes * sizeof *counts);
        if (outliers) *outliers = outside;
        if (found) *found = mode_count_found(truth, n, held);
    }
    hb_workspace_destroy(&work);
    return status;
}
