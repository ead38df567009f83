/* The median distance among rows: the width of the discrepancy's kernel.
 *
 * Up to MEDIAN_ROWS rows, evenly spaced, give n (n-1)/2 squared distances; the median is found by
 * partitioning around a pivot (C. A. R. Hoare, Find, 1961), which takes time linear in their number
 * where sorting took most of the time of a discrepancy. Of an even number it is the mean of the
 * middle two distances.
 * A number to reproduce: the rows 0, 1, 4, 7 on a line have distances 1 3 3 4 6 7, median 3.5. */
#include "base/context.h"
#include "metrics/columns.h"
#include "metrics/distance_kernels.h"
#include "metrics/neighbours.h"

#include <math.h>
#include <string.h>

enum { MEDIAN_ROWS = 1000 };

static void median_swap(double *a, double *b)
{
    const double kept = *a;
    *a = *b;
    *b = kept;
}

/* Orders v (n) so that v[k] is what it would be if all were sorted, none before it is larger and
 * none after it is smaller. */
static void median_place_rank(size_t n, double *v, size_t k)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        const double pivot = v[low + (high - low) / 2];
        size_t i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i > j) break;
            median_swap(&v[i++], &v[j]);
            if (j == 0) break;
            j--;
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            return;
    }
}

static double median_middle(size_t n, double *squares)
{
    median_place_rank(n, squares, n / 2);
    double below = squares[n / 2];
    if (n % 2 == 0) {
        below = squares[0];
        for (size_t i = 1; i < n / 2; i++) below = fmax(below, squares[i]);
    }
    return 0.5 * (sqrt(below) + sqrt(squares[n / 2]));
}

/* All pairs of rows (n, dim), which are also packed; scratch (columns->width). */
static void median_pair_distances(hb_context *context, const double *rows,
                                  const hb_columns *columns, double *scratch, double *squares)
{
    const hb_distance_kernel kernel = *hb_distance_kernel_of(context->isa);
    const size_t dim = columns->dim, width = columns->width;
    for (size_t i = 1; i < columns->n; i++)
        for (size_t start = 0; start < i; start += width) {
            const size_t count = i - start < width ? i - start : width;
            kernel(dim, rows + i * dim, width, hb_columns_piece(columns, start / width), scratch);
            memcpy(squares, scratch, count * sizeof *squares);
            squares += count;
        }
}

hb_status hb_judge_median_distance(hb_context *context, size_t dim, size_t m, const double *y,
                                   double *out)
{
    const size_t n = m < MEDIAN_ROWS ? m : MEDIAN_ROWS, pairs = n * (n - 1) / 2;
    hb_columns columns = hb_columns_plan(n, dim);
    hb_workspace work;
    double *rows, *squares, *scratch;
    HB_TRY(HB_WORKSPACE(context, &work, HB_COLUMNS(columns), HB_ARRAY(rows, n * dim),
                        HB_ARRAY(squares, pairs), HB_ARRAY(scratch, columns.width)));
    for (size_t i = 0; i < n; i++) memcpy(rows + i * dim, y + i * m / n * dim, dim * sizeof *rows);
    hb_columns_pack(rows, &columns);
    median_pair_distances(context, rows, &columns, scratch, squares);
    *out = median_middle(pairs, squares);
    hb_workspace_destroy(&work);
    HB_CHECK(
        context, *out > 0, HB_ERROR_ARGUMENT,
        "half of the rows of y are equal, so that their median distance is 0; the kernel needs a "
        "width above 0");
    return HB_OK;
}
