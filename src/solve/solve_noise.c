/* Which methods take which noise.
 *
 *     scalar (in the coordinates of the frame)    all methods
 *     matrix G(t) that no frame removes           the grid in dim 1 to 3
 *     field G(x,t) that no frame removes          the grid in dim 1 to 3
 * Particles, walks and averages over heat balls need the isotropic noise of the heat ball.
 *
 * A number to reproduce: a field in dim 4 is refused, since grids end at 3. */
#include "base/context.h"
#include "problem/noise.h"
#include "solve/solve_parts.h"

static const char *method_name(int method)
{
    static const char *const names[] = {[HB_METHOD_AUTO] = "auto",
                                        [HB_METHOD_GRID] = "grid",
                                        [HB_METHOD_MEANVALUE] = "meanvalue",
                                        [HB_METHOD_PARTICLES] = "particles",
                                        [HB_METHOD_WALK] = "walk"};
    return names[method];
}

int hb_solve_needs_grid(const hb_problem *problem)
{
    return hb_problem_noise_kind(problem) != HB_NOISE_SCALAR;
}

hb_status hb_solve_check_noise(hb_context *context, const hb_problem *problem, int method,
                               int has_paths)
{
    const int dim = hb_problem_dim(problem);
    if (!hb_solve_needs_grid(problem)) return HB_OK;
    const char *what = hb_problem_noise_kind(problem) == HB_NOISE_FIELD
                           ? "depends on x in a way that no change of coordinates removes"
                           : "does not reach every direction";
    HB_CHECK(context, dim <= HB_MOST_GRID_DIM, HB_ERROR_ARGUMENT,
             "the noise %s, and dim is %d; only the method grid takes that, for dim 1 to %d", what,
             dim, HB_MOST_GRID_DIM);
    HB_CHECK(context, (method == HB_METHOD_AUTO || method == HB_METHOD_GRID) && !has_paths,
             HB_ERROR_ARGUMENT, "the noise %s, and %s cannot take that; use the method grid", what,
             has_paths ? "densities from paths" : method_name(method));
    return HB_OK;
}
