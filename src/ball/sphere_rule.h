/* ball/sphere_rule.h: rules on the unit sphere, exact for polynomials of a given degree. */
#pragma once

#include <heatball/base.h>

#define HB_SPHERE_RULE_MAX 10000000 /* largest number of nodes */

/* The number of nodes of the rule on the sphere of R^dim that is exact to `degree` >= 0.
 * HB_ERROR_ARGUMENT when it exceeds HB_SPHERE_RULE_MAX. */
hb_status hb_sphere_rule_size(hb_context *context, int dim, int degree, size_t *out);
/* The nodes [size][dim] and the weights [size], positive, of sum 1. */
hb_status hb_sphere_rule_fill(hb_context *context, int dim, int degree, double *nodes,
                              double *weights);
