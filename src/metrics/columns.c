/* Points packed in pieces of columns, for the kernels of distances.
 *
 * A piece has as many columns as fit into PIECE_DOUBLES numbers, at least HB_MMD_LANES, at most
 * what there is: value j of point i is at [i / width][j][i % width]. */
#include "metrics/columns.h"
#include "metrics/distance_kernels.h"

#include <math.h>

enum { PIECE_DOUBLES = 8192 };

hb_columns hb_columns_plan(size_t n, size_t dim)
{
    const size_t lanes = HB_MMD_LANES, all = (n + lanes - 1) / lanes * lanes;
    const size_t fits = PIECE_DOUBLES / dim / lanes * lanes;
    size_t width = fits ? fits : lanes;
    if (width > all) width = all;
    return (hb_columns){n, dim, width, (n + width - 1) / width, NULL};
}

void hb_columns_pack(const double *x, const hb_columns *columns)
{
    const size_t dim = columns->dim, width = columns->width;
    for (size_t i = 0; i < columns->pieces * width; i++) {
        double *column = columns->values + i / width * dim * width + i % width;
        for (size_t j = 0; j < dim; j++)
            column[j * width] = i < columns->n ? x[i * dim + j] : INFINITY;
    }
}
