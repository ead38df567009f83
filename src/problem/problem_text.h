/* problem/problem_text.h: the drift of a problem as text that makes it again. */
#ifndef HB_PROBLEM_PROBLEM_TEXT_H
#define HB_PROBLEM_PROBLEM_TEXT_H

#include <heatball/problem.h>

/* The text of the drift, NULL when it is a callback; lives as long as the problem. Initial density
 * and time span are no part of it. */
const char *hb_problem_text(const hb_problem *problem);
/* The problem of such a text, without an initial density. HB_ERROR_ARGUMENT when it is none. */
hb_status hb_problem_of_text(hb_context *context, const char *text, hb_problem **out);

/* For problem.c: the text of settings, NULL for a callback; released with hb_release. */
hb_status hb_problem_write_text(hb_context *context, const hb_problem_settings *settings, int dim,
                                char **out);

#endif
