/* t = 0: the initial density itself, with no error, whatever the method.
 *
 * A number to reproduce: the log-density of N(0,1) at 0 is -ln(2 pi)/2 = -0.918939. */
#include "solve/solve_parts.h"

#include <stdio.h>

static hb_status initial_run(const hb_solve_task *task, hb_solution *out)
{
    out->method = "initial";
    snprintf(out->note, sizeof out->note, "time 0: the initial density itself");
    HB_TRY(hb_problem_initial(task->context, task->problem, out->n, task->points,
                              out->columns[HB_COLUMN_LOG_DENSITY], out->columns[HB_COLUMN_SCORE]));
    hb_solve_fill_from_log(out);
    return HB_OK;
}

const hb_method_ops hb_method_initial = {.info = {.name = "initial", .reads = ~0U},
                                         .stands_for = ~0U,
                                         .times = HB_TIME_ZERO,
                                         .errors = HB_ERRORS_BOUND,
                                         .rank = 1,
                                         .run = initial_run};
