/* metrics/columns.h: points packed for the vector kernels of distances.
 *
 * Piece p holds points p*width .. p*width + width - 1 as columns, (dim, width), so that a piece
 * stays in the cache while many rows go over it and neighbouring pages follow each other. Columns
 * beyond the last point are infinite: their distance to every point is infinite. */
#pragma once

#include "base/memory.h"

typedef struct hb_columns {
    size_t n, dim, width, pieces; /* width: a multiple of HB_MMD_LANES */
    double *values;               // (pieces, dim, width)
} hb_columns;

/* n points of dim coordinates; values not there yet. */
hb_columns hb_columns_plan(size_t n, size_t dim);
/* Its values in the table of a workspace. */
#define HB_COLUMNS(columns)                                                                        \
    HB_ARRAY((columns).values, (columns).pieces *(columns).dim *(columns).width)
void hb_columns_pack(const double *x, const hb_columns *columns);
/* Piece p, (dim, width). */
static inline const double *hb_columns_piece(const hb_columns *columns, size_t p)
{
    return columns->values + p * columns->dim * columns->width;
}
