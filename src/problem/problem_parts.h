/* problem/problem_parts.h: what a problem is made of; shared by the files of this room only. */
#pragma once

#include "formula/expression.h"
#include "problem/drift_facts.h"
#include "problem/noise.h"
#include "problem/time_cuts.h"

#include <heatball/problem.h>
#include <omp.h>

/* ---- the drift f(x,t), not yet normalised ---- */

typedef struct hb_drift {
    int dim;
    int jacobian_depends_on_t; /* text: some derivative by x does */
    hb_drift_facts facts;      /* of f: autonomous says that f has no t */
    /* as text */
    hb_graph *graph;
    hb_node *components;         // (d): f
    hb_program *value;           // f: d outputs
    hb_program *with_divergence; // f, div f: d+1
    hb_program *with_gradient;   // f, div f, grad div f: 2d+1
    hb_program *jacobian;        // the n_entries derivatives that are not 0
    hb_program *potential;       // V, NULL when none is given
    int n_entries;
    size_t *entries;       // (n_entries): i*d + j of df_i/dx_j
    hb_range_tape *ranges; // f and the arguments of the breaks: d + n_breaks
    hb_program *arguments; // of the breaks; NULL: there are none
    /* as a callback; NULL for text */
    hb_drift_callback callback;
    int has_jacobian;
    void *user;
    omp_lock_t *lock; /* the user's function is called by one thread at a time; NULL: by all */
    uint64_t *values; // (2): at points that were asked for, and at their shifts
} hb_drift;

/* dim is already known. Both leave a half-built drift for hb_drift_destroy when they fail. */
hb_status hb_drift_from_text(hb_context *context, const hb_problem_settings *settings, int dim,
                             hb_drift *drift);
/* The two halves of it: f[dim] as nodes of drift->graph, which is made; and all that follows
 * from nodes f[dim] of drift->graph, also when they are others. */
hb_status hb_drift_parse(hb_context *context, const hb_problem_settings *settings, int dim,
                         hb_drift *drift, hb_node *f);
hb_status hb_drift_compile(hb_context *context, const hb_node *f, hb_drift *drift);
hb_status hb_drift_from_callback(hb_context *context, const hb_problem_settings *settings, int dim,
                                 hb_drift *drift);
/* Fills drift->facts, ranges and arguments of a text. f: (d) nodes; entries: those of the
 * Jacobian that are not 0, in the order of drift->entries. */
hb_status hb_drift_find_facts(hb_context *context, hb_drift *drift, const hb_node *f,
                              const hb_node *entries, int has_potential);
/* Refuses declared facts of a callback that values at a few points contradict. */
hb_status hb_drift_check_facts(hb_context *context, const hb_drift *drift, double time);
/* Gives the graph the settings' parameters. */
hb_status hb_drift_parameters(hb_context *context, const hb_problem_settings *settings,
                              hb_graph *graph);
void hb_drift_destroy(hb_context *context, hb_drift *drift);

/* Where values at n points go; NULL: not wanted. */
typedef struct hb_drift_values {
    double *f, *divergence, *grad_divergence, *jacobian; // (n, d), (n), (n, d), (n, d, d)
} hb_drift_values;

/* At x[n][d] and, t_step 0, the one time *t; t_step 1: the times t[n]. */
hb_status hb_drift_text_evaluate(hb_context *context, const hb_drift *drift, const double *t,
                                 size_t t_step, size_t n, const double *x,
                                 const hb_drift_values *out);
/* out[n][d] = J' b of b[n][d], J = df_i/dx_j. */
hb_status hb_drift_text_turned(hb_context *context, const hb_drift *drift, const double *t,
                               size_t t_step, size_t n, const double *x, const double *b,
                               double *out);
hb_status hb_drift_callback_evaluate(hb_context *context, const hb_drift *drift, const double *t,
                                     size_t t_step, size_t n, const double *x,
                                     const hb_drift_values *out);
size_t hb_drift_rows(size_t n,
                     size_t width); /* of n that are worked on together, width doubles each */
/* 1 when most of a callback's values so far were for differences. */
int hb_drift_by_differences(const hb_drift *drift);

/* "(1, -0.5, ...)" for messages. */
#define HB_POINT_TEXT 128
const char *hb_point_text(int dim, const double *x, char *text);

/* ---- initial densities ---- */

typedef struct hb_initial_ops hb_initial_ops; /* initial_ops.h */

typedef struct hb_initial {
    const hb_initial_ops *ops; /* NULL: there is none */
    void *data;                /* of the operations */
} hb_initial;

/* ---- the noise that no transform makes one g(t) ---- */

typedef struct hb_matrix_noise {
    hb_noise_kind kind;              /* HB_NOISE_SCALAR: there is none */
    int columns;                     /* m */
    int constant;                    /* no t */
    hb_program *factor;              // G: d m outputs
    hb_range_tape *ranges;           // the same on intervals
    hb_program *divergence;          // of D = G G'/2: d outputs; of a field as text
    struct hb_line_balance *balance; /* of a field as text in one dimension without t; else NULL */
    hb_noise_callback callback;      /* instead of these */
    void *user;
    omp_lock_t *lock;
} hb_matrix_noise;

/* Fills noise->divergence from the nodes G[d][m]. */
hb_status hb_noise_compile_divergence(hb_context *context, hb_graph *graph, int d, int m,
                                      const hb_node *G, hb_matrix_noise *noise);
hb_status hb_noise_from_callback(hb_context *context, const hb_problem_settings *settings,
                                 hb_problem *problem);
void hb_noise_destroy(hb_context *context, hb_matrix_noise *noise);
/* The derivative by central differences with x[6], x +- h, +- h/2, +- h/4, and y[6] there. */
double hb_richardson(const double x[6], const double y[6]);

typedef struct hb_transform hb_transform; /* transform.h */

struct hb_problem {
    hb_context *context;
    int dim;
    double time;
    size_t n_times;
    double *times; // (n_times) of a problem file; NULL: time
    hb_graph *noise_graph;
    hb_program *noise;
    hb_range_tape *noise_ranges;
    hb_time_change *change;
    hb_time_cuts cuts;
    hb_drift drift;
    hb_matrix_noise noise_matrix;
    hb_transform *transform; /* NULL: the problem is solved in x */
    hb_problem *outside;     /* with a transform: has the initial density in x alone; NULL: none */
    hb_initial initial;
    int unit;             /* its transform makes the noise sqrt(2), so that tau = t */
    const double *inside; // (dim): a point where the process lives, while it is made; NULL: none
    char *initial_text;   /* NULL: none, or a callback */
    char *text; /* of drift and noise, see problem_text.h; NULL: one of them is a callback */
};

/* As hb_problem_create, with unit and inside as above. */
hb_status hb_problem_create_as(hb_context *context, const hb_problem_settings *settings, int unit,
                               const double *inside, hb_problem **out);

/* Times that are looked at begin at 0 and end here: at `time`, or at 1 when that is inf. */
double hb_problem_span(const hb_problem *problem);

/* What follows from the node g(t) of problem->noise_graph. */
hb_status hb_problem_compile_noise(hb_context *context, hb_node g, hb_problem *problem);

/* The one noise g(t) of the problem, from a node of a graph. */
hb_status hb_problem_set_noise(hb_context *context, const hb_graph *graph, hb_node g,
                               hb_problem *problem);
/* Makes drift, time change, transform and noise of a problem whose dim, time and context are set;
 * problem->outside, when there is one, has the start in x (transform/transform_build.c). */
hb_status hb_problem_build_transformed(hb_context *context, const hb_problem_settings *settings,
                                       hb_problem *problem);

/* The start in y from problem->outside. */
hb_status hb_initial_enter_transform(hb_context *context, hb_problem *problem);
/* The initial density, when all else of the problem is ready, from its text or a callback. */
hb_status hb_initial_parse(hb_context *context, const hb_problem_settings *settings,
                           hb_problem *problem);
hb_status hb_initial_from_callback(hb_context *context, hb_density_callback function, void *user,
                                   hb_problem *problem);
void hb_initial_destroy(hb_context *context, hb_initial *initial);
