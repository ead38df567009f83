/* cli/script_score.h: a score that a Python script computes, in a process of its own. */
#pragma once

#include "session.h"

typedef struct hb_script hb_script;

/* Starts PROGRAM (python3) on MODULE:FUNCTION or FILE.py:FUNCTION. One call of the function with
 * x[1][dim] tells what it is: *is_density is 1 for a log-density and 0 for a score. Calls fail
 * after `limit` by hb_session_now; 0: none. Close in either case. */
hb_status hb_script_open(hb_session *session, const char *program, const char *target, int dim,
                         const double *x, double tau, double limit, int *is_density,
                         hb_script **out);
/* Ends the process and waits for it; NULL is fine. */
void hb_script_close(hb_script *script);
/* An hb_certify_callback: out[n][dim] or out[n] at x[n][dim], tau[n]. */
int hb_script_ask(void *script, size_t n, const double *x, const double *tau, double *out);
/* What went wrong in the last call, "" if nothing did. */
const char *hb_script_message(const hb_script *script);
