/* walk/walk_bridge.h: steps towards a start that is a single point. */
#ifndef HB_WALK_WALK_BRIDGE_H
#define HB_WALK_WALK_BRIDGE_H

#include "walk/walk_steps.h"

/* A step of lag s < left in the frame E, view->spread from x: the normals g[d] of a walk that arrives at shared->place,
 * instead of the view's; ln W, slope, tangent and turn of the walk follow. 0: the walk is lost. work: as for
 * hb_walk_frame. */
int hb_walk_bridge(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view, double s,
                   const double *E, double *g, double *work);

#endif
