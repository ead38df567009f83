/* problem/initial/line_density.h: a density on the line that is known up to a factor, from its
 * formula. */
#pragma once

#include "formula/log_form.h"

/* A formula u in up to three coordinates, with ln u (log_form.h), which does not overflow. */
enum { HB_DENSITY_FORMULA_DIM = 3 };
typedef struct hb_density_formula {
    hb_node log_node;
    hb_program *value, *gradient; // ln u, u; the same and their slopes
} hb_density_formula;

hb_status hb_density_formula_compile(hb_graph *graph, hb_node node, hb_density_formula *out);
void hb_density_formula_destroy(hb_density_formula *formula);
/* ln u[n], -inf where the formula has no value, and its gradient[n][d] (0 there; may be NULL) at
 * x[n][d]. what opens the message that refuses a negative u; NULL: it counts as no value. */
hb_status hb_density_formula_run(hb_context *context, const hb_density_formula *formula,
                                 const char *what, size_t d, size_t n, const double *x,
                                 double *log_density, double *gradient);

typedef struct hb_line_density hb_line_density;

/* The node of a graph of dim 1; the graph must live as long. what opens messages: "product, axis
 * 2". share: of the mass may be outside of the box. */
hb_status hb_line_density_create(hb_context *context, hb_graph *graph, hb_node node,
                                 const char *what, double share, hb_line_density **out);
void hb_line_density_destroy(hb_context *context, hb_line_density *line);

/* ln u[n], normalised, -inf where there is no value, and its slope[n] (0 there; may be NULL). */
hb_status hb_line_density_evaluate(hb_context *context, const hb_line_density *line, size_t n,
                                   const double *x, double *log_density, double *slope);
/* x with u of the mass below it, 0 < u < 1. */
hb_status hb_line_density_quantile(hb_context *context, const hb_line_density *line, double u,
                                   double *x);
/* ln of the mass between a and b, a < b. */
hb_status hb_line_density_log_mass(hb_context *context, const hb_line_density *line, double a,
                                   double b, double *log_mass);
void hb_line_density_box(const hb_line_density *line, double *low, double *high);
double hb_line_density_most(const hb_line_density *line); /* the largest ln u */
/* 0: smooth; 1: kinks, or narrow; 2: jumps, or steps on narrow cells; 3, 4: the same with poles. */
int hb_line_density_breaks(const hb_line_density *line);
/* ln u as a node of its graph, and what has to be subtracted to normalise it. */
hb_node hb_line_density_log_node(const hb_line_density *line, double *log_total);
