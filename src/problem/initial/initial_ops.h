/* problem/initial/initial_ops.h: what an initial density is to the library: a row of functions.
 *
 * A new one is a file initial_NAME.c, which defines the operations hb_initial_NAME, and its name
 * in the list of initial_list.c. Nothing else asks which density it is: other rooms ask for its
 * facts (initial_average.h). */
#pragma once

#include "formula/features.h"
#include "formula/panels.h"
#include "problem/initial/initial_average.h"
#include "problem/problem_parts.h"
#include "random/streams.h"

/* The text of a density, cut up: NAME(ARGUMENTS). */
typedef struct hb_initial_text {
    hb_context *context;
    const char *name;                    /* of the operations */
    const char *directory;               /* where relative file names start; NULL: here */
    const hb_problem_settings *settings; /* of the problem: its parameters */
    int dim;
    char *arguments; /* without blanks at its ends; NULL: no parentheses. May be cut up further */
} hb_initial_text;

struct hb_initial_ops {
    const char *name;     /* in the text */
    const char *form;     /* in the list of what is known: "mixture(FILE)" */
    hb_initial_kind kind; /* 0: HB_INITIAL_KIND_OTHER */
    hb_initial_facts facts;
    /* Makes problem->initial.data from the text; what is there when it fails goes to destroy. */
    hb_status (*create)(const hb_initial_text *text, hb_problem *problem);
    void (*destroy)(hb_context *context, void *data);
    /* ln u(x,0) and its gradient[d], always written, at one point; or at n points, gradient NULL
     * where it is not wanted. One of the two. */
    void (*at)(const hb_problem *problem, const double *x, double *log_density, double *gradient);
    hb_status (*evaluate)(hb_context *context, const hb_problem *problem, size_t n, const double *x,
                          double *log_density, double *gradient);
    /* A box that holds all but about 1e-12 of the mass; NULL, like draw: not to be had. */
    void (*box)(const hb_problem *problem, double *low, double *high);
    /* Draws first .. first+n-1 of seed: draw i has numbers i d .. i d + d-1 of
     * HB_STREAM_START_VALUES and number i of HB_STREAM_START_CHOICE. */
    hb_status (*draw)(hb_context *context, const hb_problem *problem, uint64_t seed, uint64_t first,
                      size_t n, double *x);
    /* hb_initial_average and hb_initial_moved; NULL: no closed form. */
    void (*average)(const hb_problem *problem, const hb_gaussian *gaussian, double *work,
                    double *log_value, double *gradient);
    /* Adds ln u(x,0), normalised, as a node of a graph with the variables x1 .. xd; NULL: it has
     * no formula. It has no value where u is 0. */
    hb_status (*formula)(const hb_problem *problem, hb_graph *graph, hb_node *log_density);
    /* ln of the mass of an axis between low and high, for independent axes; NULL: not known. */
    hb_status (*axis_mass)(hb_context *context, const hb_problem *problem, int axis, double low,
                           double high, double *log_mass);
    /* The smallest standard deviation along an axis of a part of the density; NULL: not known. */
    double (*narrowest)(const hb_problem *problem, int axis);
    /* The largest ln u along an axis, for independent axes without closed form; NULL: unknown. */
    double (*most)(const hb_problem *problem, int axis);
    /* The place of a start that is a single point, x0[d]; NULL: it is none. */
    const double *(*place)(const hb_problem *problem);
    int average_is_diagonal; /* only where the covariance is */
    void (*moved)(const hb_problem *problem, const double *G, const double *shift, const double *D,
                  const double *x, double *work, double *log_value, double *gradient);
};

/* The first lines of a table of operations. */
#define HB_INITIAL_TEXT(in_text, in_list, making)                                                  \
    .name = (in_text), .form = (in_list), .create = (making)

extern const hb_initial_ops *const hb_initial_list[]; /* those that have a text; NULL at the end */

/* ---- texts ---- */

char *hb_text_trim(char *text);
/* Cuts off and returns what stands before the next comma; NULL at the end. */
char *hb_text_piece(char **rest);
/* Numbers by blanks; *values[*count] is to be released. what opens the message. */
hb_status hb_text_numbers(hb_context *context, const char *what, const char *text, size_t *count,
                          double **values);
/* The table [rows][columns] of the file that the arguments name; release by hb_context_release. */
hb_status hb_initial_read_file(const hb_initial_text *text, uint64_t *rows, uint64_t *columns,
                               double **values);
/* bytes of zeros as problem->initial.data, by hb_allocate. */
hb_status hb_initial_data(hb_context *context, hb_problem *problem, size_t bytes, void *out);

/* ---- sums of Gaussians: a data for the operations that are one ---- */

/* With diagonal variances, or one with a full matrix. */
typedef struct hb_gaussians {
    size_t count;
    double *log_weight; // (count), ln w - sum ln sd - d/2 ln 2 pi
    double *cumulative; // (count), sums of the weights
    double *mean;       // (count, d)
    double *sd;         // (count, d), or (d) when shared
    int shared_sd;
    double *cholesky; // (d, d) lower, row by row; NULL: diagonal
} hb_gaussians;

/* Room for count means, and for the standard deviations: one row of them when they are shared. */
hb_status hb_gaussians_create(hb_context *context, hb_problem *problem, size_t count, int shared,
                              hb_gaussians **out);
/* From means, variances and weights (any scale; NULL: equal) to what follows from them. */
hb_status hb_gaussians_prepare(hb_context *context, int dim, const double *weights,
                               hb_gaussians *gaussians);
/* component[n] of the draws first .. first+n-1, n <= HB_CHOICE_BLOCK. */
enum { HB_CHOICE_BLOCK = 1024 };
hb_status hb_gaussians_choose(hb_context *context, const hb_gaussians *gaussians, uint64_t seed,
                              uint64_t first, size_t n, size_t *component);
void hb_gaussians_destroy(hb_context *context, void *data);
void hb_gaussians_at(const hb_problem *problem, const double *x, double *log_density,
                     double *gradient);
void hb_gaussians_box(const hb_problem *problem, double *low, double *high);
hb_status hb_gaussians_draw(hb_context *context, const hb_problem *problem, uint64_t seed,
                            uint64_t first, size_t n, double *x);
void hb_gaussians_average(const hb_problem *problem, const hb_gaussian *gaussian, double *work,
                          double *log_value, double *gradient);
void hb_gaussians_moved(const hb_problem *problem, const double *G, const double *shift,
                        const double *D, const double *x, double *work, double *log_value,
                        double *gradient);
double hb_gaussians_narrowest(const hb_problem *problem, int axis);
#define HB_GAUSSIANS_OPS(drawing)                                                                  \
    .narrowest = hb_gaussians_narrowest, .destroy = hb_gaussians_destroy, .at = hb_gaussians_at,   \
    .box = hb_gaussians_box, .draw = (drawing), .average = hb_gaussians_average,                   \
    .moved = hb_gaussians_moved

/* ---- densities known up to a factor, d <= 3: the beginning of the data of such a density ---- */

typedef struct hb_box_density {
    const hb_problem *problem;
    /* ln u without the normalisation; gradient may be NULL */
    hb_status (*raw)(hb_context *context, const hb_problem *problem, size_t n, const double *x,
                     double *log_density, double *gradient);
    const char *what;      /* for messages: "stationary density" */
    const hb_graph *graph; /* d = 2, 3: of a formula that has all narrow parts; NULL: not known */
    int n_nodes;
    const hb_node *nodes;   // (n_nodes), n_nodes <= 3
    double steady;          /* to which twice the points must agree in d = 2, 3; 0: 1e-4 */
    double low[3], high[3]; /* holds all but about e^-40 of the peak */
    double log_total;       /* ln of the integral of exp(log-density) */
    double log_total_error; /* of it, d = 2, 3: what the last doubling of the points changed */
    double peak;            /* largest log-density that was seen */
    hb_panels *cumulative;  /* d = 1: the density on panels */
    hb_features features;   /* d = 1: of the density; all 0: none are known */
    hb_interval reach;      /* d = 1: outside of it and of the box the density falls */
    int cells;              /* d = 2, 3: cells per axis */
    double *table;          // (cells^d), sums of the bounds of the cells
} hb_box_density;

/* d = 1: finds the features of exp(int F), F the drift on an axis, 0 .. d-1; none for a
 * callback. Once there is a box, those in the box when not all are known. */
hb_status hb_box_density_features(hb_context *context, const hb_problem *problem, int axis,
                                  hb_box_density *box);
/* Finds the box and the peak. */
hb_status hb_box_density_find(hb_context *context, hb_box_density *box);
/* In that box: its total, and what draws need. */
hb_status hb_box_density_create(hb_context *context, hb_box_density *box);
/* Releases what it has, but not itself. */
void hb_box_density_clear(hb_context *context, hb_box_density *box);
void hb_box_density_destroy(hb_context *context, void *data);
hb_status hb_box_density_evaluate(hb_context *context, const hb_problem *problem, size_t n,
                                  const double *x, double *log_density, double *gradient);
void hb_box_density_box(const hb_problem *problem, double *low, double *high);
hb_status hb_box_density_draw(hb_context *context, const hb_problem *problem, uint64_t seed,
                              uint64_t first, size_t n, double *x);
#define HB_BOX_DENSITY_OPS                                                                         \
    .evaluate = hb_box_density_evaluate, .box = hb_box_density_box, .draw = hb_box_density_draw
