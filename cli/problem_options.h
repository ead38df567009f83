/* cli/problem_options.h: the options that name a problem, a time and points, shared by the
 * commands that solve one, so that they read the same everywhere. */
#pragma once

#include "points.h"

#include <heatball/solve.h>
#include <math.h>

typedef struct hb_problem_values {
    const char *problem, *drift, *potential, *noise, *initial, *at, *box;
    const char *times; /* of a command that takes several; then `time` is none */
    hb_texts params;
    int dim, points;
    int convention; /* an index into hb_convention_names; -1: not given */
    double time;
    int lift, degree;
    uint64_t samples, seed;
} hb_problem_values;

extern const char *const hb_convention_names[];

#define HB_PROBLEM_TIME                                                                            \
    HB_OPTION(REAL, "time", "T", problem.time,                                                     \
              "time t at which to solve, or inf; required unless the problem file has one",        \
              .max = INFINITY, .rules = HB_OPTION_INFINITE)
#define HB_PROBLEM_TIMES                                                                           \
    HB_OPTION(TEXT, "time", "TIMES", problem.times,                                                \
              "time t at which to solve, or several, as 0.1,0.5,1 or first:last:step, or inf; "    \
              "required unless the problem file has one")

/* The entries for a struct VALUES that has an hb_problem_values `problem`, in groups; PLACES takes
 * one time or several. */
#define HB_PROBLEM_EQUATION                                                                        \
    HB_OPTION(TEXT, "problem", "FILE.ini", problem.problem,                                        \
              "problem file; instead of --drift, --noise and --initial", .rules = HB_OPTION_APART, \
              .instead = "drift potential noise convention initial param dim time"),               \
        HB_OPTION(                                                                                 \
            TEXT, "drift", "EXPR", problem.drift,                                                  \
            "drift f(x,t), components separated by commas, in x1 .. xd, t, pi and parameters",     \
            .instead = "potential"),                                                               \
        HB_OPTION(TEXT, "potential", "EXPR", problem.potential,                                    \
                  "potential V(x,t) instead of --drift: f = -grad V; needs --dim",                 \
                  .instead = "drift"),                                                             \
        HB_OPTION(                                                                                 \
            TEXT, "noise", "EXPR", problem.noise,                                                  \
            "noise: one formula for all axes, one for each by commas, or the rows of a matrix "    \
            "by semicolons, in t and x; default: that of the file, or 1"),                         \
        HB_OPTION(CHOICE, "convention", NULL, problem.convention,                                  \
                  "how noise that depends on x is meant; default: that of the file, or ito",       \
                  .choices = hb_convention_names),                                                 \
        HB_OPTION(TEXT, "initial", "SPEC", problem.initial,                                        \
                  "initial density: gaussian(mean=..., var=...), mixture(FILE.csv), "              \
                  "stationary, samples(FILE.npy), uniform(low high, ...), product(EXPR), "         \
                  "density(EXPR) or point(x1 x2 ...)"),                                            \
        HB_OPTION(TEXTS, "param", "NAME=VALUE", problem.params,                                    \
                  "a named number of the expressions, as a=2; may be given several times"),        \
        HB_OPTION(INTEGER, "dim", "D", problem.dim, "dimension, where the drift does not tell it", \
                  .min = 1, .max = 1000000)
#define HB_PROBLEM_PLACES(...)                                                                     \
    __VA_ARGS__,                                                                                   \
        HB_OPTION(TEXT, "at", "X|FILE", problem.at,                                                \
                  "points: coordinates separated by commas, points by semicolons; a mesh, "        \
                  "first:last:count for each axis; or a .npy or .csv file of rows",                \
                  .rules = HB_OPTION_REQUIRED)
#define HB_PROBLEM_SAMPLES                                                                         \
    HB_OPTION(UNSIGNED, "samples", "N", problem.samples,                                           \
              "walks per point, trajectories, or antithetic pairs per point and average; "         \
              "default: 100000 walks, 32768 trajectories, 10000 pairs",                            \
              .min = 2, .max = 1e15)
#define HB_PROBLEM_BALL                                                                            \
    HB_OPTION(INTEGER, "lift", "M", problem.lift,                                                  \
              "use the heat ball in D+M dimensions; -1 for the method's own choice, which "        \
              "is 0 for averages",                                                                 \
              .min = -1, .max = 1000000, .fallback = "-1"),                                        \
        HB_OPTION(INTEGER, "degree", "K", problem.degree,                                          \
                  "average by cubature of this degree instead of random draws; 0: draws",          \
                  .max = 1000, .fallback = "0")
#define HB_PROBLEM_SEED HB_OPTION_SEED(problem.seed, "1")
#define HB_PROBLEM_GRID                                                                            \
    HB_OPTION(INTEGER, "cells", "N", problem.points,                                               \
              "cells per axis of the grid, even; default: chosen", .min = 32, .max = 1048576,      \
              .old = "points"),                                                                    \
        HB_OPTION(                                                                                 \
            TEXT, "box", "BOX", problem.box,                                                       \
            "box of the grid, as \"-4 4\" or \"-4 4, -2 2\", whose boundaries reflect; default: "  \
            "chosen, so that they do not matter")

/* The problem that the options name. Everything that is wrong with it is HB_ERROR_ARGUMENT. */
hb_status hb_problem_from_options(hb_session *session, const hb_problem_values *v,
                                  hb_problem **out);
/* dx = F(x) dt + G dW in `dim` dimensions; noise NULL: sqrt(2); convention: as in
 * hb_problem_values; initial NULL: no initial density. */
hb_status hb_problem_of_drift(hb_session *session, const char *drift, const char *noise,
                              int convention, const hb_texts *params, int dim, const char *initial,
                              hb_problem **out);
/* The settings of a solution with their parts; hb_solve_parts_link makes `all` point to them,
 * wherever they are. */
typedef struct hb_solve_parts {
    hb_solve_settings all;
    hb_mean_settings mean;
    hb_grid_settings grid;
    hb_sampling_settings sampling;
} hb_solve_parts;
const hb_solve_settings *hb_solve_parts_link(hb_solve_parts *parts);
/* time, mean and sampling (without radius) and grid of the settings. */
hb_status hb_problem_fill_settings(hb_session *session, const hb_problem_values *v,
                                   const hb_problem *problem, hb_solve_parts *settings);
