/* guide/guide.h: a network that knows about where a problem's paths came from, and walks along it. */
#ifndef HB_GUIDE_GUIDE_H
#define HB_GUIDE_GUIDE_H

#include "base/memory.h"

#include <heatball/guide.h>

typedef struct hb_guide {
    hb_context *context;
    const hb_problem *problem;
    hb_model *model;
    int dim, steps; /* steps of a walk */
    size_t walks;
    uint64_t seed;
    double tau, tau_min; /* of the walk; where the model begins */
    double far;          /* |F|^2 beyond which the network is not believed against the drift */
    double reach;        /* of the differences that give gradients */
    double *x, *drift, *next, *score, *start; // (rows, dim), rows = walks (2 dim + 1)
    double *times, *w, *coarse;               // (rows)
    double *noise;                            // (steps, walks, dim)
    double *a, *b, *da, *db;                  // (walks), (walks, dim)
    hb_workspace work;
} hb_guide;

/* Rows of the arrays of a walk: the point itself and one to either side along each axis. */
size_t hb_guide_rows(const hb_guide *guide);
hb_status hb_guide_create(hb_context *context, const hb_problem *problem,
                          const hb_guide_settings *settings, double tau, hb_guide *out);
void hb_guide_destroy(hb_guide *guide);
/* Adds the walks number `use` (0: those that are averaged, 1: those that decide about doubts) from point number
 * `place` at x to the tally; units are divided by e^log_scale. With a NULL tally only *log_scale is set. */
hb_status hb_guide_walk(hb_guide *guide, const double *x, uint64_t place, int use,
                        double *log_scale, double *tally);

#endif
