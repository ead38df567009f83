/* cli/evaluate_output.h: what `heatball evaluate` prints. */
#ifndef HB_CLI_EVALUATE_OUTPUT_H
#define HB_CLI_EVALUATE_OUTPUT_H

#include "evaluate_measure.h"

/* model, plot: names of files; plot may be NULL. */
hb_status hb_evaluate_print(hb_session *session, const char *model, const char *plot,
                            const hb_evaluate_plan *plan, const hb_evaluation *e, int json);

#endif
