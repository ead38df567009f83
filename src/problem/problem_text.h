/* problem/problem_text.h: drift and noise of a problem as text (hb_problem_text) that makes it
 * again. */
#pragma once

#include <heatball/problem.h>

/* The problem of such a text, without an initial density. HB_ERROR_ARGUMENT: it is none. */
hb_status hb_problem_of_text(hb_context *context, const char *text, int dim, hb_problem **out);
/* The same drift and noise in coordinates in which the noise is sqrt(2), so that tau is t, without
 * an initial density. inside (dim): a point where the process lives. A noise that has no such
 * coordinates is left as it is. */
hb_status hb_problem_as_typed(hb_context *context, const hb_problem *problem, const double *inside,
                              hb_problem **out);

int hb_problem_has_unit(const hb_problem *problem); /* 1: made so */

/* For problem.c: the text of a problem that is made from settings; released with hb_release. */
hb_status hb_problem_write_text(hb_context *context, const hb_problem_settings *settings,
                                hb_problem *problem);
