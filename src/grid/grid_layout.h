/* grid/grid_layout.h: where the nodes of a grid go: on breaks of the drift, and closer where it
 * varies. */
#ifndef HB_GRID_GRID_LAYOUT_H
#define HB_GRID_GRID_LAYOUT_H

#include "grid/grid_box.h"
#include "grid/grid_mesh.h"

/* What the drift does that no mesh of this layout follows. */
typedef struct hb_layout_flaws {
    int jumps; /* it jumps between nodes: across slanted or moving surfaces, or too many of them */
    int kinks; /* it has kinks between nodes */
    int unresolved; /* it varies within a cell more than any mesh that fits can follow */
} hb_layout_flaws;

/* axes[d] for about cells[d] cells (multiples of 4) in the box. */
hb_status hb_grid_layout(hb_context *context, const hb_problem *problem, double tau_end,
                         const double *low, const double *high, const int *cells, hb_axis *axes,
                         hb_layout_flaws *flaws);

#endif
