/* t = inf in one dimension with noise g(x): no current flows, and u = exp(int (f - D')/D dx)/Z, D = g^2/2.
 *
 * By quadrature (problem/line_balance.h). A number to reproduce: f = -2 x, g = 1 has u(0) = sqrt(2/pi) = 0.797885. */
#include "problem/line_balance.h"
#include "solve/method.h"
#include "solve/solve_parts.h"

#include <stdio.h>

static const char *balance_serves(const hb_solve_facts *facts)
{
    if (facts->noise != HB_NOISE_FIELD) return "the noise does not depend on x";
    return facts->balance_known ? NULL : "the dimension is above 1";
}

static hb_status balance_run(const hb_solve_task *task, hb_solution *out)
{
    int flagged;
    HB_TRY(hb_problem_balance(task->context, task->problem, out->n, task->points,
                              out->columns[HB_COLUMN_LOG_DENSITY],
                              out->columns[HB_COLUMN_LOG_DENSITY_SE], out->columns[HB_COLUMN_SCORE],
                              out->columns[HB_COLUMN_SCORE_SE], &flagged));
    if (flagged) HB_TRY(hb_solve_flag_integral(out));
    hb_solve_fill_from_log(out);
    out->method = "stationary";
    snprintf(out->note, sizeof out->note,
             "stationary: in one dimension the probability flux vanishes, and the density is "
             "exp(int (f - D')/D dx)/Z with "
             "D = g^2/2, by quadrature; nothing is drawn");
    return HB_OK;
}

const hb_method_ops hb_method_balance = {.info = {.name = "stationary", .reads = ~0U},
                                         .times = HB_TIME_STATIONARY,
                                         .serves = balance_serves,
                                         .rank = 1,
                                         .run = balance_run};
