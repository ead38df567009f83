/* cli/times.h: the --time option of commands that take several times. */
#ifndef HB_CLI_TIMES_H
#define HB_CLI_TIMES_H

#include "session.h"

#include <heatball/solve.h>

typedef struct hb_times_given {
    size_t n;
    const double *values; // (n)
    double *own;          /* what was typed, owned; NULL: the problem's */
    double span;          /* the largest finite one, else inf; NaN: nothing was typed */
} hb_times_given;

/* Reads "0.1,0.5", "0:2:0.1" or "inf"; NULL is fine. HB_ERROR_ARGUMENT for another text. */
hb_status hb_times_option(hb_session *session, const char *text, hb_times_given *out);
/* Where nothing was typed: the times of the problem. */
void hb_times_of_problem(const hb_problem *problem, hb_times_given *times);
void hb_times_settings(const hb_times_given *times, hb_solve_settings *settings);
void hb_times_release(hb_session *session, hb_times_given *times);

#endif
