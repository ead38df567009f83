/* cli/problem_options.h: the options that name a problem, a time and points, shared by the commands that
 * solve one, so that they read the same everywhere. */
#ifndef HB_CLI_PROBLEM_OPTIONS_H
#define HB_CLI_PROBLEM_OPTIONS_H

#include "points.h"

#include <heatball/solve.h>
#include <math.h>

typedef struct hb_problem_values {
    const char *problem, *drift, *potential, *noise, *initial, *at, *box;
    hb_texts params;
    int dim, points;
    double time;
    int lift, degree;
    uint64_t samples, seed;
} hb_problem_values;

#define HB_OPTION_OF(type, member, field)                                                          \
    offsetof(type, member) + offsetof(hb_problem_values, field)

/* The entries for a struct `type` that has an hb_problem_values called `member`. */
#define HB_PROBLEM_OPTIONS(type, member)                                                           \
    {.name = "problem",                                                                            \
     .kind = HB_OPTION_TEXT,                                                                       \
     .placeholder = "FILE.ini",                                                                    \
     .help = "problem file; instead of --drift, --noise and --initial",                            \
     .offset = HB_OPTION_OF(type, member, problem)},                                               \
        {.name = "drift",                                                                          \
         .kind = HB_OPTION_TEXT,                                                                   \
         .placeholder = "EXPR",                                                                    \
         .help = "drift f(x,t), components separated by commas, in x1 .. xd, t, pi and "           \
                 "parameters",                                                                     \
         .offset = HB_OPTION_OF(type, member, drift)},                                             \
        {.name = "potential",                                                                      \
         .kind = HB_OPTION_TEXT,                                                                   \
         .placeholder = "EXPR",                                                                    \
         .help = "potential V(x,t) instead of --drift: f = -grad V; needs --dim",                  \
         .offset = HB_OPTION_OF(type, member, potential)},                                         \
        {.name = "noise",                                                                          \
         .kind = HB_OPTION_TEXT,                                                                   \
         .placeholder = "EXPR",                                                                    \
         .help = "noise g(t) > 0, the same in every direction; 1 when neither here nor in the "    \
                 "file",                                                                           \
         .offset = HB_OPTION_OF(type, member, noise)},                                             \
        {.name = "initial",                                                                        \
         .kind = HB_OPTION_TEXT,                                                                   \
         .placeholder = "SPEC",                                                                    \
         .help = "initial density: gaussian(mean=..., var=...), mixture(FILE.csv), stationary, "   \
                 "samples(FILE.npy) or uniform(low high, ...)",                                    \
         .offset = HB_OPTION_OF(type, member, initial)},                                           \
        {.name = "param",                                                                          \
         .kind = HB_OPTION_TEXTS,                                                                  \
         .placeholder = "NAME=VALUE",                                                              \
         .help = "a named number of the expressions, as a=2; may be given several times",          \
         .offset = HB_OPTION_OF(type, member, params)},                                            \
        {.name = "dim",                                                                            \
         .kind = HB_OPTION_INTEGER,                                                                \
         .placeholder = "D",                                                                       \
         .help = "dimension, where the drift does not tell it",                                    \
         .min = 1,                                                                                 \
         .max = 1000000,                                                                           \
         .offset = HB_OPTION_OF(type, member, dim)},                                               \
        {.name = "time",                                                                           \
         .kind = HB_OPTION_REAL,                                                                   \
         .placeholder = "T",                                                                       \
         .help = "time t at which to solve; required unless the problem file has one",             \
         .max = INFINITY,                                                                          \
         .offset = HB_OPTION_OF(type, member, time)},                                              \
        {.name = "at",                                                                             \
         .kind = HB_OPTION_TEXT,                                                                   \
         .placeholder = "X|FILE",                                                                  \
         .help = "points: coordinates separated by commas, points by semicolons, or a .npy or "    \
                 ".csv file of rows",                                                              \
         .rules = HB_OPTION_REQUIRED,                                                              \
         .offset = HB_OPTION_OF(type, member, at)},                                                \
        {.name = "samples",                                                                        \
         .kind = HB_OPTION_UNSIGNED,                                                               \
         .placeholder = "N",                                                                       \
         .help = "walks per point, trajectories, or antithetic pairs per point and average; "      \
                 "without it 100000 walks, 32768 trajectories, 10000 pairs",                       \
         .min = 2,                                                                                 \
         .max = 1e15,                                                                              \
         .offset = HB_OPTION_OF(type, member, samples)},                                           \
        {.name = "lift",                                                                           \
         .kind = HB_OPTION_INTEGER,                                                                \
         .placeholder = "M",                                                                       \
         .help = "use the heat ball in D+M dimensions; -1 for the method's own choice, which is "  \
                 "0 for averages",                                                                 \
         .min = -1,                                                                                \
         .max = 1000000,                                                                           \
         .fallback = "-1",                                                                         \
         .offset = HB_OPTION_OF(type, member, lift)},                                              \
        {.name = "degree",                                                                         \
         .kind = HB_OPTION_INTEGER,                                                                \
         .placeholder = "K",                                                                       \
         .help = "average by cubature of this degree instead of random draws; 0: draws",           \
         .max = 1000,                                                                              \
         .fallback = "0",                                                                          \
         .offset = HB_OPTION_OF(type, member, degree)},                                            \
        HB_OPTION_SEED(type, member.seed, "1"),                                                    \
        {.name = "points",                                                                         \
         .kind = HB_OPTION_INTEGER,                                                                \
         .placeholder = "N",                                                                       \
         .help = "cells per axis of the grid, even; without it, chosen",                           \
         .min = 32,                                                                                \
         .max = 1048576,                                                                           \
         .offset = HB_OPTION_OF(type, member, points)},                                            \
    {                                                                                              \
        .name = "box", .kind = HB_OPTION_TEXT, .placeholder = "BOX",                               \
        .help = "box of the grid, as \"-4 4\" or \"-4 4, -2 2\"; without it, chosen",              \
        .offset = HB_OPTION_OF(type, member, box)                                                  \
    }

/* The problem that the options name. Everything that is wrong with it is HB_ERROR_ARGUMENT. */
hb_status hb_problem_from_options(hb_session *session, const hb_problem_values *v,
                                  hb_problem **out);
/* dx = F(x) dt + sqrt(2) dW with the drift F alone, in `dim` dimensions: no initial density. */
hb_status hb_problem_of_drift(hb_session *session, const char *drift, const hb_texts *params,
                              int dim, hb_problem **out);
/* The settings of a solution with their parts; hb_solve_parts_link makes `all` point to them, wherever they are. */
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

#endif
