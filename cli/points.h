/* cli/points.h: points and boxes as one types them.
 *
 *     --at "1,2; 0,1"        coordinates by commas, points by semicolons
 *     --at "-3:3:101, 0.5"   a mesh: each axis first:last:count or a number, the last fastest
 *     --at points.npy        an array [n][dim], or [n] for dim = 1; .csv likewise
 *     --box "-4 4, -2 2"     low and high by a blank, axes by commas; one pair for all */
#pragma once

#include "session.h"

typedef struct hb_points {
    size_t n;
    int dim;
    double *x;    // (n, dim)
    size_t *mesh; // (dim), points of each axis of a mesh; NULL: it is none
} hb_points;

/* HB_ERROR_ARGUMENT, with the point that is wrong: a number that is none or not finite, another
 * count of coordinates than dim, no point. Destroy in either case. */
hb_status hb_points_read(hb_session *session, const char *text, int dim, hb_points *out);
void hb_points_destroy(hb_points *points);

/* Numbers by commas, or a file of them: x[n], dim 1. `option` names them in a refusal. */
hb_status hb_points_list(hb_session *session, const char *option, const char *text, hb_points *out);

/* low[dim] and high[dim]; dim is at most 3. */
hb_status hb_points_box(hb_session *session, const char *text, int dim, double *low, double *high);

/* Whether path ends in extension (".npy") and is more than that. */
int hb_points_has_extension(const char *path, const char *extension);
int hb_points_is_table(const char *path); /* .npy or .csv */
