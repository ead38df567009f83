/* walk/walk_linear.h: densities under linear drifts, without a draw. */
#pragma once

#include <heatball/problem.h>

/* Frames of linear_path.h over the whole path, (hb_linear_path_size) each; NULL: none. */
typedef struct hb_linear_frames {
    const double *fine, *rough;
    const double *shaken; /* of a noise matrix: `fine`, changed by rounding, some after another */
} hb_linear_frames;

typedef struct hb_walk_linear {
    const hb_problem *problem;
    size_t d;
    hb_linear_frames backward, forward;
    int diagonal; /* each coordinate goes its own path */
    void *memory;
} hb_walk_linear;

/* No frame at all when the drift is not linear, or leaves the doubles. */
hb_status hb_walk_linear_find(hb_context *context, const hb_problem *problem, double tau,
                              hb_walk_linear *out);
void hb_walk_linear_clear(hb_context *context, hb_walk_linear *linear);
/* 1 when the density is known without a draw. */
int hb_walk_linear_is_closed(const hb_walk_linear *linear);

/* value: ln u and the score, error: theirs, (1 + d); other: (2, 1 + d); an infinite error: none. */
size_t hb_walk_linear_work(const hb_walk_linear *linear);
void hb_walk_linear_value(const hb_walk_linear *linear, const double *x, double *value,
                          double *error, double *other, double *work);
