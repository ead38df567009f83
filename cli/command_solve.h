/* cli/command_solve.h: what `heatball solve` reads, prints, writes and draws. */
#pragma once

#include "points.h"
#include "session.h"

#include <jansson.h>

#include <heatball/plot.h>
#include <heatball/solve.h>

typedef struct hb_times_given {
    size_t n;
    const double *values; // (n)
    double *own;          /* what was typed, owned; NULL: the problem's */
    double span;          /* the largest finite one, else inf; NaN: nothing was typed */
} hb_times_given;

/* Reads "0.1,0.5", "0:2:0.1" or "inf"; NULL is fine. HB_ERROR_ARGUMENT for another text. */
hb_status hb_times_option(hb_session *session, const char *text, hb_times_given *out);
/* Where nothing was typed: the times of the problem. */
void hb_times_of_problem(const hb_problem *problem, hb_times_given *times);
void hb_times_settings(const hb_times_given *times, hb_solve_settings *settings);
void hb_times_release(hb_session *session, hb_times_given *times);

typedef struct hb_user_paths {
    double *values; // (paths, times, dim), the library's
    hb_points times;
} hb_user_paths;

/* Reads FILE.npy, an array [path][time][dim] ([path][time] for dim 1), and the times: a list, a
 * file, or NULL for times evenly from 0 to time. Fills the settings, which point into out.
 * Destroy in either case. */
hb_status hb_user_paths_read(hb_session *session, const char *path, const char *times, int dim,
                             double time, hb_sampling_settings *settings, hb_user_paths *out);
void hb_user_paths_destroy(hb_session *session, hb_user_paths *paths);

typedef struct hb_solve_shown {
    const hb_points *points;
    uint64_t seed;
    const char *path; /* of -o; NULL: none */
    int json, full;   /* all digits in a table */
    json_t *problem;  /* configuration.h */
    const char *line; /* the same for tables and .csv */
} hb_solve_shown;

/* The columns of a solution in the order of hb_column: errors have a suffix. */
enum { HB_SOLVE_COLUMNS = HB_COLUMN_ENTROPY_DENSITY_ERROR + 1 };
typedef struct hb_solve_column {
    const char *name, *suffix; /* suffix may be NULL */
    int is_vector;
} hb_solve_column;
extern const hb_solve_column hb_solve_columns[HB_SOLVE_COLUMNS];

/* HB_ERROR_ARGUMENT unless path (NULL is fine) ends in .csv, .npy or .npz. */
hb_status hb_solve_check_path(hb_session *session, const char *path);
hb_status hb_solve_show(hb_session *session, const hb_solve_shown *shown,
                        const hb_solution *solution);

/* One of the methods that were tried. */
typedef struct hb_solve_try {
    const char *name;
    hb_solution *solution; /* NULL: it does not apply */
    char reason[400];      /* then */
    double seconds;
} hb_solve_try;

/* One block per point, one row per method. */
hb_status hb_solve_show_tries(hb_session *session, const hb_solve_shown *shown, int n,
                              const hb_solve_try *tries);

hb_status hb_solve_write_npz(hb_session *session, const hb_points *points,
                             const hb_solution *solution, const char *path);

/* HB_ERROR_ARGUMENT unless path ends in .svg, .png or .pdf, or for several times in .gif or
 * .html; dim is 1 or 2, and in the plane the method (hb_method) has a grid and several times are
 * a film. */
hb_status hb_solve_figure_check(hb_session *session, const char *path, int dim, int method,
                                size_t n_times);
/* Draws the solution over the core region of the density and the points; the points are marked.
 * Where the solution has no grid, 1-D figures show the points with their errors, and those of the
 * plane are refused, HB_ERROR_UNAVAILABLE. */
hb_status hb_solve_figure_write(hb_session *session, const hb_problem *problem,
                                const hb_points *points, const hb_solution *solution,
                                const char *path);

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

/* Values below this depth under the largest ln u are beyond the core region. For a standard normal
 * CORE = 10 gives |x| < sqrt(20) = 4.5. */
#define HB_SCENE_CORE 10.0

/* Whether values between the points are known at this time: from a grid, or at time 0 from the
 * initial density. */
int hb_scene_is_known(const hb_scene *scene, size_t k);
/* Sets the window of all times: the core region of each, and the points. */
hb_status hb_scene_find_window(hb_scene *scene);
/* v, its gradient and their errors at x[n][dim] and time k; NaN outside the box of the grid. All
 * outputs are needed. */
hb_status hb_scene_evaluate(const hb_scene *scene, size_t k, size_t n, const double *x, double *v,
                            double *v_se, double *score, double *score_se);
/* Point k of a regular lattice of n points per axis over the window, x fastest. */
void hb_scene_lattice_point(const hb_window *w, int dim, int n, int k, double *x);

/* The two kinds of figures. A picture of all times, or an animation; the end of the path says
 * which. */
hb_status hb_scene_draw_line(const hb_scene *scene, const char *path);
hb_status hb_scene_draw_plane(const hb_scene *scene, const char *path);

/* Whether the name is that of an animation. */
int hb_scene_is_animation(const char *path);
/* Writes an animation: a figure of panels (rows x 1) of this size for each time, which `draw`
 * fills. */
typedef struct hb_scene_frames {
    int rows, height, width;
    const char *title;
    hb_status (*draw)(const hb_scene *scene, size_t k, hb_figure *figure, void *user);
    void *user;
} hb_scene_frames;
hb_status hb_scene_animate(const hb_scene *scene, const hb_scene_frames *frames, const char *path);
