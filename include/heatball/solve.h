/* heatball/solve.h: density, log-density, score and entropy density at points, from one call.
 * First tier: for users.
 *
 *     hb_solution *s;
 *     HB_TRY(hb_solve(ctx, problem, NULL, n, points, &s));            points[n][dim]
 *     const double *v = hb_solution_values(s, HB_COLUMN_LOG_DENSITY);     [n]
 *     const double *score = hb_solution_values(s, HB_COLUMN_SCORE);       [n][dim]
 *     const double *error = hb_solution_values(s, HB_COLUMN_SCORE_ERROR);    [n][dim]
 *     hb_solution_destroy(s);
 *
 * What is asked: hb_solve_settings, by default the problem's own time by the method auto.
 *     .time, .times   one time, several, or INFINITY: the stationary density
 *     .method         hb_method; hb_method_info(i) describes each and says which settings it reads.
 *                     A setting that the method does not read is refused, in words
 *     .grid           grid.h: cells, box, tolerance            of grid and meanvalue
 *     .mean           estimate.h: radius, degree, samples      of meanvalue
 *     .sampling       samples, wanted errors, time limit, state file    of particles, walk, guided
 * What is answered: hb_solution. Rows are times by points; each of the four quantities has a column
 * and an error column (hb_column). hb_solution_method and _note say what was done,
 * hb_solution_warning why an error is infinite, hb_solution_point_method who answered at a point.
 * hb_solution_error_kind says what the errors of a row are: a standard error, an error estimate, or
 * a bound.
 * A solution by a grid can be evaluated elsewhere: hb_solution_evaluate, hb_solution_box.
 * hb_solve_residual tests a grid solution by the mean-value identity. docs/howto/choosing-a-method.md. */
#ifndef HEATBALL_SOLVE_H
#define HEATBALL_SOLVE_H

#include <heatball/estimate.h>
#include <heatball/grid.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hb_method {
    HB_METHOD_AUTO,
    HB_METHOD_GRID,
    HB_METHOD_MEANVALUE,
    HB_METHOD_PARTICLES,
    HB_METHOD_WALK,
    HB_METHOD_GUIDED
} hb_method;

/* Settings that not every method reads; bits. */
typedef enum hb_solve_setting {
    HB_SOLVE_SETTING_POINTS = 1,         /* grid.points */
    HB_SOLVE_SETTING_BOX = 2,            /* grid.low, grid.high */
    HB_SOLVE_SETTING_DEGREE = 4,         /* mean.degree */
    HB_SOLVE_SETTING_SAMPLES = 8,        /* sampling.samples, mean.samples */
    HB_SOLVE_SETTING_LIFT = 16,          /* sampling.lift, mean.lift */
    HB_SOLVE_SETTING_RADIUS = 32,        /* sampling.radius, mean.radius */
    HB_SOLVE_SETTING_STDERR = 64,        /* sampling.density_error */
    HB_SOLVE_SETTING_STDERR_SCORE = 128, /* sampling.score_error */
    HB_SOLVE_SETTING_MAX_TIME = 256,     /* sampling.max_time */
    HB_SOLVE_SETTING_STATE = 512,        /* sampling.state */
    HB_SOLVE_SETTING_PATHS = 1024        /* sampling.paths */
} hb_solve_setting;

/* A method as the table of the library describes it. */
typedef struct hb_method_description {
    int method;          /* its value in hb_solve_settings */
    const char *name;    /* as it is typed */
    const char *summary; /* one line */
    unsigned reads;      /* hb_solve_setting; a given setting that is not read is refused */
    int on_grid;         /* 1: solutions have a grid (hb_solution_grid) */
} hb_method_description;

/* Method number index, from 0 (auto), and the method of this value; NULL where there is none. */
HB_API const hb_method_description *hb_method_info(int index);
HB_API const hb_method_description *hb_method_of(int method);
/* Their names in the order of the index, ending with NULL. */
HB_API const char *const *hb_method_names(void);

/* Of the methods that sample, particles and walks. Sampling goes in rounds. It ends when every
 * point has its samples and, if errors are wanted, has met them; or when the time is spent: then
 * the note names the points that have not. A point whose errors cannot be trusted is given up at 16
 * times the default number of samples, unless there is a limit on the time. */
typedef struct hb_sampling_settings {
    size_t size; /* set by hb_sampling_settings_default */
    /* walks per point, or trajectories, rounded up to whole rounds; 0 (default): 100000 walks
     * (16384 of guided), 32768 trajectories; with a wanted error at least so many, and for 0 at least a
     * tenth of these */
    uint64_t samples;
    double density_error; /* wanted error of density/density at every point; 0 (default): none */
    /* wanted |error of score|/|score| at every point, where |score| is replaced by 1/sqrt(2 tau) when
     * that is larger; 0 (default): none */
    double score_error;
    /* seconds of trials and rounds; what is under way then is dropped, and a point without a
     * complete round is NaN with a warning; 0 (default): no limit */
    double max_time;
    double radius; /* of the heat ball of particles; 0 (default): chosen */
    int lift;      /* of that ball; -1 (default): chosen */
    uint64_t seed; /* default 1 */
    /* file that holds the state of the sampling, written at the end, when it is interrupted, after
     * the first round, and then after 1, 2, 4 ... seconds up to every save_every; NULL (default):
     * none. A file that is there and is no state is not overwritten */
    const char *state;
    double save_every; /* seconds; 0 (default): 60 */
    /* resume from `state` if it is there; with the same number of rounds the result is
     * bit-identical to one without the interruption */
    int resume;
    /* Trajectories of the user instead of simulated ones, for particles:
     * paths[n_paths][n_times][dim] at the times path_times[n_times] (t, rising, the last one the
     * requested time). */
    size_t n_paths, n_times;
    const double *paths, *path_times;
} hb_sampling_settings;

HB_API void hb_sampling_settings_default(size_t size, hb_sampling_settings *settings);

typedef struct hb_solve_settings {
    size_t size; /* set by hb_solve_settings_default */
    int method;  /* hb_method; default HB_METHOD_AUTO */
    /* t at which to solve; NaN (default): the problem's own; INFINITY: the stationary density, for
     * which the problem needs no initial one (docs/explanation/stationary.md) */
    double time;
    /* of meanvalue; NULL (default): its defaults, and likewise below */
    const hb_mean_settings *mean;
    const hb_grid_settings *grid;
    const hb_sampling_settings *sampling;
    /* Several times in one solve, in any order, at most HB_MOST_TIMES, instead of `time`; then
     * `time` is NaN. The grid integrates once and keeps its solution at each of them; methods that
     * sample do so for each time. */
    size_t n_times;      /* default 0 */
    const double *times; /* [n_times]; NULL (default): the one `time` */
    int ignore_unread;   /* 0 (default): a setting that the method does not read is refused */
} hb_solve_settings;

typedef struct hb_solution hb_solution;

/* Columns of a solution; score and its error have dim values per point. A solution has a row for
 * each time and point, the rows of a time together: row = time * size + point. With one time, rows
 * are points. */
typedef enum hb_column {
    HB_COLUMN_DENSITY,
    HB_COLUMN_DENSITY_ERROR,
    HB_COLUMN_LOG_DENSITY,
    HB_COLUMN_LOG_DENSITY_ERROR,
    HB_COLUMN_SCORE,
    HB_COLUMN_SCORE_ERROR,
    HB_COLUMN_ENTROPY_DENSITY,
    HB_COLUMN_ENTROPY_DENSITY_ERROR
} hb_column;

HB_API void hb_solve_settings_default(size_t size, hb_solve_settings *settings);
/* points is [n][dim]. auto takes the grid for dim 1 to 3; where that does not fit or fails, and
 * above, particles and walks, each where it is better (docs/reference/commands/solve.md has the rule); with
 * paths, particles. Where the density is below the range of double it is 0, and its logarithm is
 * right. */
HB_API hb_status hb_solve(hb_context *context, const hb_problem *problem,
                          const hb_solve_settings *settings, size_t n, const double *points,
                          hb_solution **out);
HB_API void hb_solution_destroy(hb_solution *solution);
HB_API size_t hb_solution_size(const hb_solution *solution); /* the number of points */
HB_API int hb_solution_dim(const hb_solution *solution);
HB_API double hb_solution_tau(const hb_solution *solution); /* at the last of the times */
/* The times in the order of the request, and tau at each; NaN beyond their number. */
HB_API size_t hb_solution_n_times(const hb_solution *solution);
HB_API double hb_solution_time(const hb_solution *solution, size_t index);
HB_API double hb_solution_time_tau(const hb_solution *solution, size_t index);
/* "grid", "meanvalue", "particles", "walk", "guided"; "initial" at time 0; "stationary" for a
 * closed form at time inf; "several" when auto took more than one. Of several times that of those
 * above 0, "several" where they differ. */
HB_API const char *hb_solution_method(const hb_solution *solution);
HB_API const char *hb_solution_note(const hb_solution *solution); /* what was chosen and why */
/* A given setting that the method of auto does not read, by its name; NULL: none. */
HB_API const char *hb_solution_unread(const hb_solution *solution);
/* The method of one row: one point, at one of the times. */
HB_API const char *hb_solution_point_method(const hb_solution *solution, size_t row);
/* What the errors of this row are:
 *     "standard error"   Monte Carlo, 68 %: particles, walk, guided, and meanvalue by draws, where
 *                        the error of its grid is added
 *     "error estimate"   discretisation, from refinement: grid, meanvalue by cubature, stationary
 *                        densities by quadrature
 *     "bound"            rounding: closed forms of linear drifts, the initial density
 * NULL for a row that is not there. */
HB_API const char *hb_solution_error_kind(const hb_solution *solution, size_t row);
/* Why the errors of this row (or of its score alone) cannot be trusted, in one sentence; NULL when
 * they can. Such errors are infinite. */
HB_API const char *hb_solution_warning(const hb_solution *solution, size_t row);
/* Walks or trajectories behind this row; 0 for grid and meanvalue; 1 where a linear drift needs no
 * draw. */
HB_API uint64_t hb_solution_samples(const hb_solution *solution, size_t row);
/* The grid behind "grid" and "meanvalue" at the last of the times; NULL for other methods. It lives
 * as long as the solution. */
HB_API const hb_grid *hb_solution_grid(const hb_solution *solution);
/* Evaluates the grid behind the solution at other points, points[n][dim] inside its box, at the
 * time of this index; any output may be NULL. HB_ERROR_ARGUMENT where there is no grid. */
HB_API hb_status hb_solution_evaluate(hb_context *context, const hb_solution *solution,
                                      size_t time_index, size_t n, const double *points,
                                      double *log_density, double *log_density_error, double *score,
                                      double *score_error);
/* The box of that grid, low[dim] and high[dim]; HB_ERROR_ARGUMENT where there is none. Where the
 * problem is solved in other coordinates (hb_problem_frame), the box of x in which the density is
 * above e^-14 of its maximum; both functions then need the problem, which must still be there. */
HB_API hb_status hb_solution_box(const hb_solution *solution, size_t time_index, double *low,
                                 double *high);
/* [n_times][size] or, for scores, [n_times][size][dim]; valid while the solution lives; NULL for an
 * unknown column. */
HB_API const double *hb_solution_values(const hb_solution *solution, hb_column column);

/* hb_mean_residual of the grid solution at the settings' time. */
HB_API hb_status hb_solve_residual(hb_context *context, const hb_problem *problem,
                                   const hb_solve_settings *settings, size_t n, int n_radii,
                                   const double *points, const double *radii,
                                   hb_residual_values *out);

#ifdef __cplusplus
}
#endif
#endif
