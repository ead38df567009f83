/* Which methods there are for a noise that no frame makes a number.
 *
 *     matrix G(t)       walks where the drift is linear, particles, and the grid in dim 1 to 3
 *     field G(x,t)      the grid in dim 1 to 3
 *
 * A noise that is a matrix G(t) (problem/noise.h) has no heat ball of its own, and where it has fewer columns than
 * dimensions no step along which walks could be weighed. With a linear drift the answer is a Gaussian, exact by the
 * method walk; else trajectories with a short lag, by particles.
 * A number to reproduce: "y, -x" with the noise "0, 1" is solved by walks, "y, -x^3" by particles. */
#include "base/context.h"
#include "problem/initial_average.h"
#include "problem/noise.h"
#include "solve/solve_parts.h"

#include <math.h>

int hb_solve_matrix_method(const hb_problem *problem, double time)
{
    const int closed = isfinite(time) || hb_initial_moves(problem);
    return hb_problem_is_linear(problem) && closed ? HB_METHOD_WALK : HB_METHOD_PARTICLES;
}

/* A drift that is linear, from a start without a closed form, is left to the walks to refuse. */
static hb_status check_matrix(const hb_solve_task *task)
{
    const int method = task->settings->method, linear = hb_problem_is_linear(task->problem);
    HB_CHECK(task->context, method != HB_METHOD_MEANVALUE, HB_ERROR_ARGUMENT,
             "the noise is a matrix that no change of coordinates makes a number, and there are no "
             "heat balls for it; take the method %s or auto",
             linear ? "walk, which is exact here," : "particles");
    HB_CHECK(task->context,
             method != HB_METHOD_GRID || hb_problem_dim(task->problem) <= HB_MOST_GRID_DIM,
             HB_ERROR_ARGUMENT, "dim is %d and grids end at %d; take the method %s or auto",
             hb_problem_dim(task->problem), HB_MOST_GRID_DIM,
             linear ? "walk, which is exact here," : "particles");
    HB_CHECK(task->context, method != HB_METHOD_WALK || linear, HB_ERROR_ARGUMENT,
             "walks know a noise that is a matrix only where the drift is linear; take the method "
             "particles");
    HB_CHECK(task->context, !task->settings->sampling.paths, HB_ERROR_ARGUMENT,
             "trajectories of your own cannot be used where the noise is a matrix; leave them out, "
             "and particles makes its own");
    return HB_OK;
}

static hb_status check_field(const hb_solve_task *task)
{
    static const char *const names[] = {[HB_METHOD_AUTO] = "auto",
                                        [HB_METHOD_GRID] = "grid",
                                        [HB_METHOD_MEANVALUE] = "meanvalue",
                                        [HB_METHOD_PARTICLES] = "particles",
                                        [HB_METHOD_WALK] = "walk"};
    static const char what[] = "depends on x in a way that no change of coordinates removes";
    const int method = task->settings->method, dim = hb_problem_dim(task->problem);
    HB_CHECK(task->context, dim <= HB_MOST_GRID_DIM, HB_ERROR_ARGUMENT,
             "the noise %s, and dim is %d; only the method grid takes that, for dim 1 to %d", what,
             dim, HB_MOST_GRID_DIM);
    HB_CHECK(task->context,
             (method == HB_METHOD_AUTO || method == HB_METHOD_GRID) &&
                 !task->settings->sampling.paths,
             HB_ERROR_ARGUMENT, "the noise %s, and %s cannot take that; use the method grid", what,
             task->settings->sampling.paths ? "densities from paths" : names[method]);
    return HB_OK;
}

hb_status hb_solve_check_noise(const hb_solve_task *task)
{
    if (hb_problem_noise_kind(task->problem) == HB_NOISE_FIELD) return check_field(task);
    if (hb_problem_noise_kind(task->problem) == HB_NOISE_MATRIX) return check_matrix(task);
    return HB_OK;
}
