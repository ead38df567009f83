/* The kernel itself, at the whole lag tau, averaged over the initial density instead of over
 * particles.
 *
 * At lag tau particles are draws of u(x,0), and E[q] = int q u(x,0) dx. After a very short time q
 * is so narrow that no draw comes near. But q is e^(-s tr A) times a Gaussian in x, of mean
 * `centre` and covariance L L'; so
 *     int q u0 dx = e^(-s tr A) E[u0(centre + L eta)], its gradient e^(-s tr A) e^(-As)' E[grad u0]
 * (the second by parts), with eta normal, in pairs eta and -eta. The node keeps L^-1 and L^-1 E:
 * places and gradients go through solutions of triangular systems. Such a kernel has no correction:
 * with |f| <= rest within three widths w = sqrt(2 tau) it would be about rest w of the density and
 * rest of the score at most, which the pilot weighs and the estimate reports.
 * Must reproduce: u0 = N(0,1), F = 0, tau -> 0 at x = 0: u0 itself, 0.39894. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "particle/particle_kernel.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

/* Solves L^-1 (x - centre) = eta, row by row. */
void hb_node_place(const hb_particle_node *node, size_t d, const double *eta, double sign,
                   double *x)
{
    for (size_t i = 0; i < d; i++) x[i] = sign * eta[i];
    hb_solve_lower(d, node->whiten, 1, x);
    for (size_t i = 0; i < d; i++) x[i] += node->centre[i];
}

/* Mean of u0 e^(-s tr A - log_scale) and its gradient over x[n][d]; work: (n, 1 + d). */
static hb_status start_average(hb_context *context, const hb_problem *problem,
                               const hb_particle_kernel *kernel, size_t n, const double *x,
                               double *a, double *b, double *work)
{
    const size_t d = kernel->anchor.dim;
    const hb_particle_node *node = kernel->nodes;
    double *log_u = work, *slope = work + n, trace = 0;
    for (size_t i = 0; i < d; i++) trace += kernel->anchor.A[i * d + i];
    HB_TRY(hb_problem_initial(context, problem, n, x, log_u, slope));
    *a = 0;
    memset(b, 0, d * sizeof *b);
    for (size_t k = 0; k < n; k++) {
        const double u = exp(log_u[k] - trace * node->lag - kernel->log_scale) / (double)n;
        *a += u;
        for (size_t i = 0; i < d; i++) b[i] += u * slope[k * d + i];
    }
    hb_solve_upper(d, node->whiten, 1, b);
    for (size_t j = 0; j < d; j++) { // (L^-1 E)' v
        work[j] = 0;
        for (size_t i = 0; i < d; i++) work[j] += node->lower[i * d + j] * b[i];
    }
    memcpy(b, work, d * sizeof *b);
    return HB_OK;
}

hb_status hb_kernel_start(hb_context *context, const hb_problem *problem,
                          const hb_particle_kernel *kernel, uint64_t seed, uint64_t stream,
                          uint64_t first, size_t units, size_t draws, const hb_kernel_means *out,
                          double *work)
{
    const size_t d = kernel->anchor.dim, pairs = draws / 2, each = pairs * d + (pairs * d & 1);
    double *eta = work, *x = eta + each, *rest = x + 2 * pairs * d;
    for (size_t unit = 0; unit < units; unit++) {
        HB_TRY(hb_random_normal(context, seed, stream, (first + unit) * each, pairs * d, eta));
        for (size_t k = 0; k < 2 * pairs; k++)
            hb_node_place(kernel->nodes, d, eta + k / 2 * d, k % 2 ? -1 : 1, x + k * d);
        HB_TRY(start_average(context, problem, kernel, 2 * pairs, x, out->a + unit,
                             out->b + unit * d, rest));
    }
    return HB_OK;
}
