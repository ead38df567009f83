/* The facts of a problem that decide which method serves it, read once per solve. */
#include "problem/drift_facts.h"
#include "problem/initial/initial_average.h"
#include "problem/line_balance.h"
#include "problem/problem_parts.h"
#include "problem/stationary_density.h"
#include "problem/time_cuts.h"
#include "problem/transform/transform.h"
#include "solve/method.h"

#include <math.h>

void hb_solve_facts_read(const hb_problem *problem, const hb_solve_plan *plan, double time,
                         hb_solve_facts *out)
{
    const int stationary = isinf(time);
    *out = (hb_solve_facts){.asked = plan->method,
                            .time = stationary ? HB_TIME_STATIONARY
                                    : time > 0 ? HB_TIME_FINITE
                                               : HB_TIME_ZERO,
                            .dim = hb_problem_dim(problem),
                            .noise = hb_problem_noise_kind(problem),
                            .transformed = hb_problem_transform_of(problem) != NULL,
                            .autonomous = hb_problem_is_autonomous(problem) &&
                                          hb_problem_noise_is_constant(problem),
                            .linear = hb_problem_is_linear(problem),
                            .gradient_known = stationary && hb_stationary_is_known(problem),
                            .balance_known = stationary && hb_problem_has_balance(problem),
                            .point_start = hb_problem_initial_facts(problem)->point,
                            .start_moves = hb_initial_moves(problem),
                            .pulses = hb_problem_cuts(problem)->n > 0,
                            .own_paths = plan->sampling.paths != NULL};
}
