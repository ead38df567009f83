/* Particles at a long time. */
#include "base/context.h"
#include "solve/solve_parts.h"

hb_status hb_solve_stationary_samples(const hb_solve_task *task, hb_solution *out)
{
    (void)out;
    return hb_fail(task->context, HB_ERROR_ARGUMENT, "not there yet");
}
