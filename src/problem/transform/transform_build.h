/* problem/transform/transform_build.h: from a noise that is not one g(t) to a problem whose noise is, or to a tensor. */
#ifndef HB_PROBLEM_TRANSFORM_BUILD_H
#define HB_PROBLEM_TRANSFORM_BUILD_H

#include "problem/problem_parts.h"

/* Makes drift, time change, transform and noise of a problem whose dim, time and context are set; problem->outside, when
 * there is one, has the start in x. */
hb_status hb_problem_build_transformed(hb_context *context, const hb_problem_settings *settings,
                                       hb_problem *problem);
/* The one noise g(t) of the problem: a node of a graph. */
hb_status hb_problem_set_noise(hb_context *context, const hb_graph *graph, hb_node g,
                               hb_problem *problem);
/* The start in y from problem->outside. */
hb_status hb_initial_enter_transform(hb_context *context, hb_problem *problem);

#endif
