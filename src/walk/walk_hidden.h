/* walk/walk_hidden.h: parts of the drift that are too narrow for walks to see. */
#ifndef HB_WALK_WALK_HIDDEN_H
#define HB_WALK_WALK_HIDDEN_H

#include "walk/walk_block.h"

enum { HB_HIDDEN_DIM = 16 }; /* beyond, nothing is searched */

/* By how much ln u at x0 may be off since walks jump over narrow parts of the drift: of walks in steps, and of marches, which
 * only look at the potential Q. 0: nothing narrow is there, or nothing is known, as of callbacks. */
typedef struct hb_hidden {
    double steps, marches;
} hb_hidden;

hb_status hb_walk_hidden(hb_context *context, const hb_walk_problem *shared, const double *x0,
                         hb_hidden *out);

#endif
