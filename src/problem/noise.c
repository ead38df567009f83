/* The noise that a frame leaves, as a matrix or a field of matrices.
 *
 * A number to reproduce: the noise "0, 0.7" in the plane has D = diag(0, 0.245). */
#include "problem/noise.h"
#include "base/context.h"
#include "problem/problem_parts.h"

hb_noise_kind hb_problem_noise_kind(const hb_problem *problem)
{
    (void)problem;
    return HB_NOISE_SCALAR;
}

int hb_problem_noise_columns(const hb_problem *problem)
{
    return problem->dim;
}

int hb_problem_noise_is_constant(const hb_problem *problem)
{
    return hb_time_change_is_constant(problem->change);
}

hb_status hb_problem_noise_factor(hb_context *context, const hb_problem *problem, size_t n,
                                  const double *x, double t, double *G)
{
    (void)problem, (void)n, (void)x, (void)t, (void)G;
    return hb_fail(context, HB_ERROR_ARGUMENT, "the noise is no matrix");
}

hb_status hb_problem_diffusion(hb_context *context, const hb_problem *problem, size_t n,
                               const double *x, double t, double *D, double *divergence)
{
    (void)problem, (void)n, (void)x, (void)t, (void)D, (void)divergence;
    return hb_fail(context, HB_ERROR_ARGUMENT, "the noise is no matrix");
}
