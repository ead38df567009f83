/* heatball/formula.h: mathematics as text, with exact derivatives.
 * Second tier: for bindings and tools.
 *
 * Variables x1 .. xd (x, y, z are x1, x2, x3 for d <= 3), t, pi, named parameters, numbers, + - * /
 * ^ and parentheses, and the functions exp log sqrt sin cos tan asin acos atan sinh cosh tanh abs
 * sign min max pow. x[i] is the variable with a computed index, and sum(j, a, b, term) adds term
 * for j = a .. b; both take integers made of numbers, d, i, j, + - *. An index computed from i or j
 * that lies outside 1 .. d is moved to the nearest end; x[0] is an error. Derivatives are taken
 * exactly. docs/reference/expressions.md.
 *
 *     hb_expression *e;
 *     hb_expression_parse(ctx, 1, 0, "x*exp(-x^2)", NULL, NULL, &e); */
#ifndef HEATBALL_FORMULA_H
#define HEATBALL_FORMULA_H

#include <heatball/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_expression hb_expression;

/* HB_ERROR_ARGUMENT with a message of two lines, the text and a caret below the place, and what was
 * expected. names and values of n_parameters parameters are copied. */
HB_API hb_status hb_expression_parse(hb_context *context, int dim, int n_parameters,
                                     const char *text, const char *const *names,
                                     const double *values, hb_expression **out);
HB_API void hb_expression_destroy(hb_expression *expression);
/* The derivative by x_variable, variable = 1 .. dim, or by t, variable = 0: a new expression. */
HB_API hb_status hb_expression_derivative(hb_context *context, const hb_expression *expression,
                                          int variable, hb_expression **out);
/* out[i] = expression(x[i], t); x is [n][dim]. */
HB_API hb_status hb_expression_evaluate(hb_context *context, const hb_expression *expression,
                                        size_t n, const double *x, double t, double *out);

#ifdef __cplusplus
}
#endif
#endif
