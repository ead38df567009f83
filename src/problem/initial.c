/* Initial densities: ln u(x,0), its gradient, a box that holds the mass, and draws.
 *
 * Gaussians, mixtures and samples are sums of Gaussians (gaussians.c), the uniform density is constant
 * on its box, stationary and callback densities are normalised numerically (box_density.c). Draw i is a
 * function of (seed, i): its normals are numbers i d .. i d + d-1 of one stream, its choice of a component
 * number i of another. Draws of `samples` are the samples themselves, each as likely as the others; the
 * kernels are only put on where a density is needed.
 * A number to reproduce: a Gaussian of variance s^2 has all but 1e-12 of its mass within 7.13 s. */
#include "base/context.h"
#include "base/memory.h"
#include "problem/problem_parts.h"
#include "random/choose.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum { CHOICE_BLOCK = 1024 };

void hb_initial_destroy(hb_context *context, hb_initial *initial)
{
    hb_release(context, initial->gaussians.log_weight);
    hb_release(context, initial->gaussians.mean);
    hb_release(context, initial->gaussians.sd);
    hb_release(context, initial->gaussians.cholesky);
    hb_release(context, initial->low);
    hb_release(context, initial->high);
    hb_panels_destroy(context, initial->path);
    hb_box_density_destroy(context, &initial->box);
    memset(initial, 0, sizeof *initial);
}

static hb_status check_given(hb_context *context, const hb_problem *problem, const char *what)
{
    HB_CHECK(context, problem && problem->initial.kind != HB_INITIAL_NONE, HB_ERROR_ARGUMENT,
             "%s is wanted, but the problem has no initial density; give `initial`", what);
    return HB_OK;
}

/* ---- density -------------------------------------------------------------------------------- */

static void uniform_log_density(const hb_initial *initial, const double *x, double *log_density)
{
    *log_density = 0;
    for (int j = 0; j < initial->dim; j++) {
        const int inside = x[j] >= initial->low[j] && x[j] <= initial->high[j];
        *log_density -= inside ? log(initial->high[j] - initial->low[j]) : INFINITY;
    }
}

static hb_status closed_form(hb_context *context, const hb_initial *initial, size_t n,
                             const double *x, double *log_density, double *gradient)
{
    const size_t d = (size_t)initial->dim;
    void *unused = NULL; // (d): where a gradient goes that nobody wants
    if (!gradient) HB_TRY(hb_allocate(context, d, sizeof(double), &unused));
    for (size_t i = 0; i < n; i++) {
        double *slope = gradient ? gradient + i * d : unused;
        if (initial->kind == HB_INITIAL_UNIFORM) {
            uniform_log_density(initial, x + i * d, log_density + i);
            memset(slope, 0, d * sizeof *slope);
        } else {
            hb_gaussians_log_density(&initial->gaussians, initial->dim, x + i * d, log_density + i,
                                     slope);
        }
    }
    hb_release(context, unused);
    return HB_OK;
}

hb_status hb_problem_initial(hb_context *context, const hb_problem *problem, size_t n,
                             const double *x, double *log_density, double *gradient)
{
    HB_TRY(check_given(context, problem, "an initial density"));
    HB_CHECK(context, (x && log_density) || n == 0, HB_ERROR_ARGUMENT,
             "the points or the output of an initial density are NULL");
    const hb_initial *initial = &problem->initial;
    if (initial->kind == HB_INITIAL_STATIONARY)
        HB_TRY(hb_stationary_evaluate(context, problem, n, x, log_density, gradient));
    else if (initial->kind == HB_INITIAL_CALLBACK)
        HB_TRY(hb_density_callback_evaluate(context, problem, n, x, log_density, gradient));
    else
        return closed_form(context, initial, n, x, log_density, gradient);
    for (size_t i = 0; i < n; i++) log_density[i] -= initial->box.log_total;
    return HB_OK;
}

/* ---- box ------------------------------------------------------------------------------------ */

static void gaussians_box(const hb_gaussians *g, size_t d, double *low, double *high)
{
    const double reach = sqrt(53 + 2 * log((double)d)); // 7.28 on a line; all axes share 1e-12
    for (size_t j = 0; j < d; j++) {
        low[j] = INFINITY;
        high[j] = -INFINITY;
        double variance = 0; // of axis j under a full matrix
        for (size_t i = 0; g->cholesky && i <= j; i++)
            variance += g->cholesky[j * d + i] * g->cholesky[j * d + i];
        for (size_t k = 0; k < g->count; k++) {
            const double sd = g->cholesky ? sqrt(variance) : g->sd[(g->shared_sd ? 0 : k * d) + j];
            low[j] = fmin(low[j], g->mean[k * d + j] - reach * sd);
            high[j] = fmax(high[j], g->mean[k * d + j] + reach * sd);
        }
    }
}

hb_status hb_problem_initial_box(hb_context *context, const hb_problem *problem, double *low,
                                 double *high)
{
    HB_TRY(check_given(context, problem, "the box of the initial mass"));
    const hb_initial *initial = &problem->initial;
    const size_t d = (size_t)initial->dim;
    const int numerical =
        initial->kind == HB_INITIAL_STATIONARY || initial->kind == HB_INITIAL_CALLBACK;
    HB_CHECK(
        context, !numerical || d <= 3, HB_ERROR_ARGUMENT,
        "the box of an initial density that is a callback is found for dim up to 3; dim is %zu", d);
    const double *from_low = numerical ? initial->box.low : initial->low;
    const double *from_high = numerical ? initial->box.high : initial->high;
    if (initial->gaussians.count > 0) {
        gaussians_box(&initial->gaussians, d, low, high);
        return HB_OK;
    }
    memcpy(low, from_low, d * sizeof *low);
    memcpy(high, from_high, d * sizeof *high);
    return HB_OK;
}

/* ---- draws ---------------------------------------------------------------------------------- */

/* From normals z to mean + L z, in place: row i needs only z_0 .. z_i. */
static void place(const hb_gaussians *g, size_t d, size_t k, double *z)
{
    const double *mean = g->mean + k * d, *sd = g->sd + (g->shared_sd ? 0 : k * d);
    for (size_t i = d; i-- > 0;) {
        double sum = 0;
        for (size_t j = 0; g->cholesky && j <= i; j++) sum += g->cholesky[i * d + j] * z[j];
        z[i] = mean[i] + (g->cholesky ? sum : sd[i] * z[i]);
    }
}

static hb_status draw_gaussians(hb_context *context, const hb_initial *initial, uint64_t seed,
                                uint64_t first, size_t n, double *x)
{
    const hb_gaussians *g = &initial->gaussians;
    const size_t d = (size_t)initial->dim;
    double u[CHOICE_BLOCK];
    HB_TRY(hb_random_normal(context, seed, HB_STREAM_START_VALUES, first * d, n * d, x));
    for (size_t start = 0; start < n; start += CHOICE_BLOCK) {
        const size_t count = n - start < CHOICE_BLOCK ? n - start : CHOICE_BLOCK;
        HB_TRY(hb_random_uniform(context, seed, HB_STREAM_START_CHOICE, first + start, count, u));
        for (size_t i = 0; i < count; i++) {
            const size_t k = hb_random_choose(g->count, g->cumulative, u[i]);
            double *row = x + (start + i) * d;
            if (initial->kind == HB_INITIAL_SAMPLES)
                memcpy(row, g->mean + k * d, d * sizeof *row);
            else
                place(g, d, k, row);
        }
    }
    return HB_OK;
}

static hb_status draw_uniform(hb_context *context, const hb_initial *initial, uint64_t seed,
                              uint64_t first, size_t n, double *x)
{
    const size_t d = (size_t)initial->dim;
    HB_TRY(hb_random_uniform(context, seed, HB_STREAM_START_VALUES, first * d, n * d, x));
    for (size_t k = 0; k < n * d; k++)
        x[k] = initial->low[k % d] + x[k] * (initial->high[k % d] - initial->low[k % d]);
    return HB_OK;
}

hb_status hb_problem_initial_sample(hb_context *context, const hb_problem *problem, uint64_t seed,
                                    uint64_t first, size_t n, double *x)
{
    HB_TRY(check_given(context, problem, "a draw"));
    const hb_initial *initial = &problem->initial;
    const uint64_t d = (uint64_t)initial->dim, most = UINT64_MAX / (d + 2);
    HB_CHECK(context, n <= most && first <= most - n && (x || n == 0), HB_ERROR_ARGUMENT,
             "draws %llu and %zu more are wanted; the last may be %llu, and the output not NULL",
             (unsigned long long)first, n, (unsigned long long)most);
    if (initial->kind == HB_INITIAL_UNIFORM)
        return draw_uniform(context, initial, seed, first, n, x);
    if (initial->gaussians.count > 0) return draw_gaussians(context, initial, seed, first, n, x);
    HB_CHECK(context, d <= 3, HB_ERROR_ARGUMENT,
             "draws of an initial density that is a callback need dim up to 3; dim is %d",
             initial->dim);
    for (size_t i = 0; i < n; i++)
        HB_TRY(hb_box_density_draw(context, problem, seed, first + i, x + i * d));
    return HB_OK;
}
