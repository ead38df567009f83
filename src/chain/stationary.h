/* chain/stationary.h: stationary densities on a grid: the box, the meshes, the solution. */
#pragma once

#include "grid/grid_request.h"

/* As hb_grid_box_choose, for tau = infinity. HB_ERROR_ARGUMENT when the mass escapes. */
hb_status hb_chain_box(hb_context *context, const hb_problem *problem, size_t n_at,
                       const double *at, hb_grid_box *out);
/* Moves the boundaries of the box inward, under tensor noise in d = 2, 3, to where the null
 * vector of a coarse mesh is deep. The points at[n_at][dim] that the box holds stay in it with a
 * margin. */
hb_status hb_chain_trim(hb_context *context, const hb_problem *problem, size_t n_at,
                        const double *at, hb_grid_box *box);
/* An axis of the box with `cells` cells in its inner part and coarser ones outside; even ones
 * where that is no gain. */
hb_axis hb_chain_axis(const hb_grid_box *box, int axis, int cells);

typedef struct hb_chain_task {
    hb_grid *grid;
    const hb_problem *problem;
    double core[3]; /* a point where the density is not too small */
    double raised;  /* of a tensor: the least depth where its chain was changed */
    int uneven;     /* of a tensor: the directions of its chain change with kinks */
    double beyond;  /* the mass that may lie beyond the boundary */
} hb_chain_task;

/* v with rate 0 and mass 1 on the grid's three meshes: out[mesh][size]; sets info.relaxation,
 * the grid's tolerance, which bounds what is left of the rates, and what is found out about the
 * chain. */
hb_status hb_chain_meshes(hb_chain_task *stationary, double *const out[HB_GRID_MESHES]);
/* Bytes that this takes. */
double hb_chain_bytes(const hb_grid *grid);
