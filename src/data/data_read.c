/* The user's own rows: read from a file, checked, and put in an order that is the same for every
 * run.
 *
 * A network that trains on a nan learns nothing and says nothing, so every number is looked at here
 * and the first that is not finite is named. The order of hb_data_split is a shuffle (Fisher and
 * Yates, in Durstenfeld's form): for i = n-1 .. 1 swap places i and floor(U_i (i+1)), U_i draw i of
 * one stream. A number to reproduce: every row is in each place with probability 1/n. */
#include "base/context.h"
#include "random/streams.h"

#include <heatball/data.h>
#include <heatball/file.h>
#include <heatball/random.h>
#include <limits.h>
#include <math.h>

enum { LEAST_ROWS = 2, DRAW_BLOCK = 1024 };

static hb_status check_shape(hb_context *context, const char *path, int n_axes,
                             const uint64_t *shape)
{
    HB_CHECK(context, n_axes == 2, HB_ERROR_FORMAT,
             "%.200s has %d %s; data must have 2, rows and columns (reshape it to (rows, columns))",
             path, n_axes, n_axes == 1 ? "axis" : "axes");
    HB_CHECK(context, shape[1] >= 1 && shape[1] <= INT_MAX, HB_ERROR_FORMAT,
             "%.200s has %llu columns; data must have 1 to %d", path, (unsigned long long)shape[1],
             INT_MAX);
    HB_CHECK(context, shape[0] >= LEAST_ROWS, HB_ERROR_FORMAT,
             "%.200s has %llu %s; data must have at least %d", path, (unsigned long long)shape[0],
             shape[0] == 1 ? "row" : "rows", LEAST_ROWS);
    return HB_OK;
}

static hb_status check_finite(hb_context *context, const char *path, size_t rows, size_t columns,
                              const double *x)
{
    for (size_t i = 0; i < rows * columns; i++)
        HB_CHECK(context, isfinite(x[i]), HB_ERROR_FORMAT,
                 "%.200s has %s in row %zu, column %zu; data must be finite numbers", path,
                 isnan(x[i]) ? "nan" : "inf", i / columns + 1, i % columns + 1);
    return HB_OK;
}

hb_status hb_data_read(hb_context *context, const char *path, int *dim, size_t *n, double **x)
{
    return hb_data_read_named(context, path, dim, n, x, NULL);
}

hb_status hb_data_read_named(hb_context *context, const char *path, int *dim, size_t *n, double **x,
                             char **names)
{
    int n_axes;
    uint64_t shape[4];
    double *values = NULL;
    HB_CHECK(context, path && n && dim && x, HB_ERROR_ARGUMENT, "path, n, dim or x is NULL");
    HB_TRY(hb_table_read_named(context, path, &n_axes, shape, &values, names));
    hb_status status = check_shape(context, path, n_axes, shape);
    if (status == HB_OK)
        status = check_finite(context, path, (size_t)shape[0], (size_t)shape[1], values);
    if (status != HB_OK) {
        hb_context_release(context, values);
        if (names) hb_context_release(context, *names);
        if (names) *names = NULL;
        return status;
    }
    *n = (size_t)shape[0];
    *dim = (int)shape[1];
    *x = values;
    return HB_OK;
}

hb_status hb_data_split(hb_context *context, uint64_t seed, size_t n, size_t *order)
{
    HB_CHECK(context, order || n == 0, HB_ERROR_ARGUMENT, "order is NULL");
    double draws[DRAW_BLOCK];
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t i = n; i-- > 1;) {
        const size_t offset = i % DRAW_BLOCK;
        if (offset == DRAW_BLOCK - 1 || i == n - 1)
            HB_TRY(
                hb_random_uniform(context, seed, HB_STREAM_ORDER, i - offset, offset + 1, draws));
        const size_t j = (size_t)(draws[offset] * ((double)i + 1));
        const size_t held = order[i];
        order[i] = order[j];
        order[j] = held;
    }
    return HB_OK;
}
