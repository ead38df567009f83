/* cli/solve_scene.h: what a figure of a solution shows: its window, and values anywhere in it at each time. */
#ifndef HB_CLI_SOLVE_SCENE_H
#define HB_CLI_SOLVE_SCENE_H

#include "points.h"

#include <heatball/plot.h>
#include <heatball/solve.h>

typedef struct hb_window {
    double low[2], high[2];
} hb_window;

typedef struct hb_scene {
    hb_context *context;
    const hb_problem *problem;
    const hb_points *points;
    const hb_solution *solution;
    size_t n_times;
    hb_window window;
} hb_scene;

/* Values below this depth under the largest ln u are beyond the bulk. For a standard normal BULK = 10 gives
 * |x| < sqrt(20) = 4.5. */
#define HB_SCENE_BULK 10.0

/* Whether values between the points are known at this time: from a grid, or at time 0 from the initial density. */
int hb_scene_is_known(const hb_scene *scene, size_t k);
/* Sets the window of all times: the bulk of each, and the points. */
hb_status hb_scene_find_window(hb_scene *scene);
/* v, its gradient and their errors at x[n][dim] and time k; NaN outside the box of the grid. All outputs are needed. */
hb_status hb_scene_evaluate(const hb_scene *scene, size_t k, size_t n, const double *x, double *v,
                            double *v_se, double *score, double *score_se);
/* Point k of a regular lattice of n points per axis over the window, x fastest. */
void hb_scene_lattice_point(const hb_window *w, int dim, int n, int k, double *x);

/* The two kinds of figures. A picture of all times, or a film; path's ending says which. */
hb_status hb_scene_draw_line(const hb_scene *scene, const char *path);
hb_status hb_scene_draw_plane(const hb_scene *scene, const char *path);

/* Writes n figures, one for each time, as a film. */
hb_status hb_scene_write_film(const hb_scene *scene, hb_figure **frames, const char *title,
                              const char *path);

#endif
