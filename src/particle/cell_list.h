/* particle/cell_list.h: particles sorted into cells, so that those near a point are found. */
#pragma once

#include <heatball/base.h>

enum { HB_CELL_AXES = 3 };

typedef struct hb_cell_list {
    size_t dim, n; /* n particles are kept: those with finite coordinates */
    size_t axes, cells[HB_CELL_AXES];
    double low[HB_CELL_AXES], scale[HB_CELL_AXES]; /* cell = (x - low) scale, clamped */
    uint32_t *start; // (cells + 1): cell c holds particles start[c] .. start[c+1]-1
    double *x, *F;   // (n, dim) sorted; F as it came with x, NULL for none
    uint32_t *owner; // (n): the batch of each
} hb_cell_list;

/* Of start, for n particles. */
size_t hb_cell_list_starts(size_t n);
/* out comes with its arrays: x, F (n, dim), owner (n), start (hb_cell_list_starts). x, F: (n, dim),
 * F and that of out NULL for none; particle i belongs to batch i / batch_size. scratch: (n). */
void hb_cell_list_build(size_t n, size_t dim, const double *x, const double *F, size_t batch_size,
                        uint32_t *scratch, hb_cell_list *out);

/* A run of particles first .. last-1. */
typedef struct hb_cell_run {
    size_t first, last;
} hb_cell_run;

/* Calls visit for runs that together hold every particle with |x_k - centre_k| <= half_k on the
 * first axes, in a fixed order. centre: (dim), half: (dim). */
typedef void (*hb_cell_visit)(void *user, hb_cell_run run);
void hb_cell_list_visit(const hb_cell_list *list, const double *centre, const double *half,
                        hb_cell_visit visit, void *user);
