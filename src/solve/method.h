/* solve/method.h: what a method says about itself, and the facts of a problem that decide who
 * serves it.
 *
 * A method is one file with one hb_method_ops and one line in methods.c. Everything that must know
 * which methods there are (hb_solve, the command, Python, --help, --method all) reads that table;
 * nothing else decides who serves a problem.
 *
 *     asked by name    the first row of the table that has the name and serves the facts
 *     auto             the rows that serve, by rank; of rows of one rank that sample a pilot run
 *                      chooses one at each point; a row that fails passes on to the next rank */
#pragma once

#include "problem/noise.h"
#include "sampling/sampling.h"
#include "solve/solution.h"

enum {
    HB_MOST_GRID_DIM = 3,
    HB_GRID_PAYS = 100 /* points, under degenerate noise */
};

/* The requested time; bits, so that a method can name all that it serves. */
typedef enum hb_time_kind {
    HB_TIME_ZERO = 1,       /* the initial density */
    HB_TIME_FINITE = 2,     /* one time, or one of several */
    HB_TIME_STATIONARY = 4, /* t = inf */
    HB_TIME_POSITIVE = HB_TIME_FINITE | HB_TIME_STATIONARY
} hb_time_kind;

typedef struct hb_solve_facts {
    int asked; /* hb_method */
    hb_time_kind time;
    int dim;
    hb_noise_kind noise;
    int transformed;    /* solved in other coordinates than the typed ones */
    int autonomous;     /* neither drift nor noise depends on t */
    int linear;         /* the drift */
    int gradient_known; /* the drift is a gradient whose stationary density is an integral */
    int balance_known;  /* one dimension with noise g(x): no current, and likewise */
    int point_start;    /* the initial density is a point */
    int start_moves;    /* a linear drift carries the initial density in closed form */
    int pulses;         /* the formulas have narrow pulses in t */
    int own_paths;      /* trajectories of the user are given */
    int broken;         /* kinks, jumps or poles of the drift, or jumps of the initial density */
    size_t n_points;
} hb_solve_facts;

void hb_solve_facts_read(const hb_problem *problem, const hb_solve_plan *plan, double time,
                         hb_solve_facts *out);

/* What errors are (hb_solution_error_kind). */
#define HB_ERRORS_STANDARD "standard error"
#define HB_ERRORS_ESTIMATE "error estimate"
#define HB_ERRORS_BOUND "bound"

typedef struct hb_method_ops {
    hb_method_description info; /* for users; summary NULL: another row of this name has it */
    unsigned stands_for;        /* bits 1 << hb_method: names that this row may answer too */
    unsigned times;             /* hb_time_kind */
    const char *errors;         /* their kind, for rows of which the run says nothing else */
    /* Returns NULL where it serves, else the reason why not, a clause without its method; NULL: it
     * always serves. */
    const char *(*serves)(const hb_solve_facts *facts);
    /* The order in which auto tries, from 1; 0: auto does not take it. Where it depends on the
     * facts, rank_of gives it. */
    int rank;
    int (*rank_of)(const hb_solve_facts *facts);
    /* One of these. run fills the columns, method and note of out, whose n, dim and tau are set;
     * estimator makes one that adds rounds to accumulators (sampling/estimator.h). */
    hb_status (*run)(const hb_solve_task *task, hb_solution *out);
    hb_status (*estimator)(hb_context *context, const hb_solve_task *task, double tau,
                           hb_estimator *out);
} hb_method_ops;

/* methods.c: all rows; ends with NULL. */
extern const hb_method_ops *const hb_methods[];

/* method_info.c: the first of the given hb_solve_setting that the method of this name does not
 * read; NULL: none. */
const char *hb_method_unread(unsigned given, const char *chosen);

/* choose.c. Refuses, with the methods that do serve, what no row of the asked name serves, and
 * settings that it does not read. */
hb_status hb_method_check(hb_context *context, const hb_solve_facts *facts,
                          const hb_solve_plan *plan);
/* One time, by the asked method or by auto. */
hb_status hb_method_choose(const hb_solve_task *task, hb_solution *out);
/* Whether auto, or the asked method, begins with a grid. */
int hb_method_begins_on_grid(const hb_solve_facts *facts);

/* sampled_solution.c: n methods that sample, each where it is better. */
hb_status hb_solve_by_samples(const hb_solve_task *task, int n, const hb_method_ops *const *ops,
                              hb_solution *out);
