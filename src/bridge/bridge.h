/* bridge/bridge.h: whole walks at once, as Brownian bridges in the gauge that are seen at a few
 * times; and steps of walks that must arrive at a point. */
#pragma once

#include "bridge/walk_ops.h"

/* The memory of bridges, in b->bridges; nothing where shared->gauge is NULL. */
hb_status hb_bridges_create(hb_walk_block *b);
void hb_bridges_destroy(hb_walk_block *b);
/* Ends of the last bridges, (n, d). */
const double *hb_bridge_ends(const hb_walk_block *b);
/* ends[2][d]: means and variances of ends, fitted to the weighted ends of walks of this seed. *fit:
 * 0 when ends weigh more the farther they are, so that bridges may have no variance. */
hb_status hb_bridge_fit_ends(hb_walk_block *b, const double *x0, uint64_t seed, double *ends,
                             int *fit);

/* A step of lag s < left in the frame E, view->spread from x: the normals g[d] of a walk that
 * arrives at shared->place, instead of the view's; ln W, slope, tangent and turn of the walk
 * follow. 0: the walk is lost. work: as for hb_walk_frame. */
int hb_bridge_step(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view, double s,
                   const double *E, double *g, double *work);
