/* samples(FILE.npy): rows of d numbers, each as likely as the others.
 *
 * Draws are the samples themselves. Where a density is needed a Gaussian of Scott's width is put on
 * each: sd_j n^(-1/(d+4)) on axis j (D. W. Scott, Multivariate Density Estimation, 1992, section
 * 6.3).
 * A number to reproduce: 100 samples on a line of variance 4 get 2 * 100^(-1/5). */
#include "base/context.h"
#include "problem/initial/initial_ops.h"

#include <math.h>
#include <string.h>

/* The width of axis j by Scott's rule. */
static hb_status scott_width(const hb_initial_text *s, size_t n, size_t j, const double *samples,
                             double *width)
{
    const size_t d = (size_t)s->dim;
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        HB_CHECK(s->context, isfinite(samples[i * d + j]), HB_ERROR_ARGUMENT,
                 "samples: %s has %g in row %zu, column %zu; all numbers must be finite",
                 s->arguments, samples[i * d + j], i + 1, j + 1);
        mean += samples[i * d + j] / (double)n;
    }
    for (size_t i = 0; i < n; i++) squares += pow(samples[i * d + j] - mean, 2);
    *width = sqrt(squares / (double)(n - 1)) * pow((double)n, -1.0 / ((double)d + 4));
    HB_CHECK(s->context, *width > 0, HB_ERROR_ARGUMENT,
             "samples: column %zu of %s is constant; a density needs samples that differ", j + 1,
             s->arguments);
    return HB_OK;
}

static hb_status fill_samples(const hb_initial_text *s, size_t n, const double *samples,
                              hb_problem *problem)
{
    const size_t d = (size_t)s->dim;
    hb_gaussians *gaussians;
    HB_TRY(hb_gaussians_create(s->context, problem, n, 1, &gaussians));
    memcpy(gaussians->mean, samples, n * d * sizeof *samples);
    for (size_t j = 0; j < d; j++) HB_TRY(scott_width(s, n, j, samples, gaussians->sd + j));
    return hb_gaussians_prepare(s->context, s->dim, NULL, gaussians);
}

static hb_status samples_create(const hb_initial_text *s, hb_problem *problem)
{
    uint64_t rows, columns;
    double *values;
    HB_TRY(hb_initial_read_file(s, &rows, &columns, &values));
    hb_status status = HB_OK;
    if (columns != (uint64_t)s->dim || rows < 2)
        status =
            hb_fail(s->context, HB_ERROR_ARGUMENT,
                    "samples: %s has %llu rows and %llu columns; it must have at least 2 rows "
                    "and dim = %d columns",
                    s->arguments, (unsigned long long)rows, (unsigned long long)columns, s->dim);
    if (status == HB_OK) status = fill_samples(s, rows, values, problem);
    hb_context_release(s->context, values);
    return status;
}

static hb_status samples_draw(hb_context *context, const hb_problem *problem, uint64_t seed,
                              uint64_t first, size_t n, double *x)
{
    const hb_gaussians *g = problem->initial.data;
    const size_t d = (size_t)problem->dim;
    size_t component[HB_CHOICE_BLOCK];
    for (size_t start = 0; start < n; start += HB_CHOICE_BLOCK) {
        const size_t count = n - start < HB_CHOICE_BLOCK ? n - start : HB_CHOICE_BLOCK;
        HB_TRY(hb_gaussians_choose(context, g, seed, first + start, count, component));
        for (size_t i = 0; i < count; i++)
            memcpy(x + (start + i) * d, g->mean + component[i] * d, d * sizeof *x);
    }
    return HB_OK;
}

const hb_initial_ops hb_initial_samples = {
    HB_INITIAL_TEXT("samples", "samples(FILE)", samples_create), .kind = HB_INITIAL_KIND_SAMPLES,
    HB_GAUSSIANS_OPS(samples_draw)};

double hb_problem_initial_smoothing(const hb_problem *problem)
{
    const hb_problem *typed = problem->outside ? problem->outside : problem;
    if (typed->initial.ops != &hb_initial_samples) return 0;
    const hb_gaussians *g = typed->initial.data;
    return pow((double)g->count, -2.0 / ((double)typed->dim + 4));
}
