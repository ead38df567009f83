/* ln p(x) at tau_min from one pass of an energy network, checked against the probability-flow ODE.
 *
 * A network v whose gradient is the score carries two densities: e^v itself, and the p that its
 * flow carries from tau_max. Along a path of the flow, with e the residual of v in the
 * Fokker-Planck equation,
 *     v - ln p at tau_min = (v - ln p at tau_max) - int e dtau,
 * so both agree as well as v solves its equation. Samples x_1..x_n of the flow measure it:
 *     D_i = v(x_i) - ln p(x_i),   ln Z = ln mean e^(D_i) = ln int e^v   (importance sampling),
 *     fraction of samples that count = (sum e^D)^2/(n sum e^(2D)).
 * The answer is v - c. c is ln Z where at least half of the samples count. Else a few samples with a
 * far too large v determine Z; c is then the median of D, which is right at most samples.
 * The error at x has two parts, added in squares:
 *     calibration  1.96 errors are the largest |D_i - c| of the NEAR = 20 samples nearest to x
 *                  (conformal prediction: V. Vovk, A. Gammerman, G. Shafer, Algorithmic learning in
 *                  a random world, 2005). If D is exchangeable there, 1 row in 21 exceeds it. A
 *                  quantile over all samples would hide a small mode with a wrong weight.
 *     sampling     sqrt((1 - q)/(q N)): the relative error of the number of N training samples in
 *                  the region of those 20 samples, which holds the fraction q = 20/n of the mass.
 * Finer errors of the score are not counted. The error is infinite where x lies apart from the
 * samples (as in the local outlier factor of M. Breunig et al., SIGMOD 29, 2000): its 20th sample
 * is farther than the 20th neighbour of any of those 20.
 * A number to reproduce: a network that gives 0 has v = ln p: ln Z = 0. */
#include "base/linear_algebra.h"
#include "base/sized.h"
#include "generate/reverse.h"
#include "net/model_parts.h"

#include <math.h>
#include <stdlib.h>

enum { NEAR = 20, USUAL_ROWS = 256, LEAST_ROWS = 80, EXACT_DIM = 64, PROBES = 16 };
static const double COVERED = 0.95, NORMAL = 1.959963984540054, LEAST_EFFECTIVE = 0.5;

typedef struct direct_run {
    hb_context *context;
    const hb_model *model;
    hb_generate_settings settings;
    size_t n;
    double *x, *v, *tau; // (n, dim), (n), (n)
    double *p, *error;   // (n), (n, 2): ln p by the ODE
    double *difference;  // (n): v - ln p
    int *labels;         // (n)
    hb_workspace work;
} direct_run;

/* Samples of the flow, and both densities there. */
static hb_status direct_draw(direct_run *run)
{
    hb_context *context = run->context;
    const hb_model *model = run->model;
    const int probes = model->info.dim > EXACT_DIM ? PROBES : 0;
    const int *labels = run->labels[0] < 0 ? NULL : run->labels;
    HB_TRY(hb_model_generate(context, model, &run->settings, 0, run->n, labels, run->x));
    HB_TRY(hb_model_log_density(context, model, run->n, run->x, run->tau, labels, run->v, NULL));
    HB_TRY(hb_model_likelihood(context, model, &run->settings, probes, run->n, run->x, labels,
                               run->p, run->error));
    for (size_t i = 0; i < run->n; i++) {
        run->difference[i] = run->v[i] - run->p[i];
        HB_CHECK(context, isfinite(run->difference[i]), HB_ERROR_NUMERICAL,
                 "the log-density of sample %zu of the model is not finite", i + 1);
    }
    return HB_OK;
}

/* ln Z, its standard error, and the fraction of samples that count. */
static void direct_normalise(const direct_run *run, hb_density_check *out)
{
    const double n = (double)run->n;
    double most = -INFINITY, sum = 0, squares = 0;
    for (size_t i = 0; i < run->n; i++) most = fmax(most, run->difference[i]);
    for (size_t i = 0; i < run->n; i++) {
        const double w = exp(run->difference[i] - most);
        sum += w;
        squares += w * w;
    }
    out->log_normaliser = most + log(sum / n);
    out->effective = sum * sum / (n * squares);
    out->log_normaliser_se = sqrt(fmax(0, 1 / out->effective - 1) / (n - 1));
}

/* What is taken off v. */
static double direct_offset(const direct_run *run, const hb_density_check *found)
{
    double *sorted = run->tau; /* of no use any more */
    if (found->effective >= LEAST_EFFECTIVE) return found->log_normaliser;
    for (size_t i = 0; i < run->n; i++) sorted[i] = run->difference[i];
    qsort(sorted, run->n, sizeof *sorted, hb_by_value);
    return 0.5 * (sorted[(run->n - 1) / 2] + sorted[run->n / 2]);
}

/* off (n): |D - c| of the samples with the bound of the ODE; their mean, spread and quantile. */
static void direct_calibrate(const direct_run *run, double *off, hb_density_check *out)
{
    const size_t n = run->n, rank = (size_t)ceil(COVERED * (double)(n + 1));
    double mean = 0, squares = 0, *sorted = run->p;
    for (size_t i = 0; i < n; i++) {
        const double d = run->difference[i] - out->offset;
        sorted[i] = fabs(d) + run->error[2 * i + 1];
        if (off) off[i] = sorted[i];
        mean += d / (double)n;
    }
    for (size_t i = 0; i < n; i++) squares += pow(run->difference[i] - out->offset - mean, 2);
    qsort(sorted, n, sizeof *sorted, hb_by_value);
    out->error_all = sorted[(rank < n ? rank : n) - 1] / NORMAL;
    out->mean = mean;
    out->spread = sqrt(squares / (double)(n - 1));
}

static hb_status direct_prepare(direct_run *run, int label)
{
    const size_t n = run->n, d = (size_t)run->model->info.dim;
    HB_TRY(HB_WORKSPACE(run->context, &run->work, HB_ARRAY(run->x, n * d), HB_ARRAY(run->v, n),
                        HB_ARRAY(run->tau, n), HB_ARRAY(run->p, n), HB_ARRAY(run->error, 2 * n),
                        HB_ARRAY(run->difference, n), HB_ARRAY(run->labels, n)));
    for (size_t i = 0; i < n; i++) {
        run->tau[i] = run->settings.tau_min;
        run->labels[i] = label;
    }
    return HB_OK;
}

hb_status hb_model_density_check(hb_context *context, const hb_model *model,
                                 const hb_generate_settings *settings, size_t samples, int label,
                                 size_t size, hb_density_check *out, double *z, double *off)
{
    direct_run run = {.context = context, .model = model, .n = samples ? samples : USUAL_ROWS};
    HB_SIZED_CHECK(context, hb_density_check, size, out);
    HB_CHECK(context, model, HB_ERROR_ARGUMENT, "the model is NULL");
    HB_CHECK(context, model->info.head == HB_HEAD_ENERGY, HB_ERROR_ARGUMENT,
             "only a model with the energy head has a log-density");
    HB_CHECK(context, run.n >= LEAST_ROWS && run.n <= 1 << 20, HB_ERROR_ARGUMENT,
             "samples is %zu; it must be 0 (%d) or %d to %d", samples, USUAL_ROWS, LEAST_ROWS,
             1 << 20);
    HB_TRY(hb_generate_settings_read(context, settings, &run.settings));
    run.settings.solver = HB_SOLVER_ODE;
    run.settings.denoise = HB_DENOISE_NONE;
    run.settings.low = -INFINITY;
    run.settings.high = INFINITY;
    if (isnan(run.settings.tau_min)) run.settings.tau_min = model->info.tau_min;
    hb_density_check found = {.size = size, .rows = run.n, .tau_min = run.settings.tau_min};
    HB_TRY(direct_prepare(&run, label));
    const hb_status status = direct_draw(&run);
    if (status == HB_OK) {
        direct_normalise(&run, &found);
        found.offset = direct_offset(&run, &found);
        direct_calibrate(&run, off, &found);
        if (z) hb_model_standardise(model, run.n, run.x, z);
        HB_SIZED_WRITE(found, size, out);
    }
    hb_workspace_destroy(&run.work);
    return status;
}

/* The samples of a check, and the distance of each to its 20th neighbour. */
typedef struct direct_samples {
    size_t n, dim;
    double sampling;       /* error by the number of training samples */
    const double *z, *off; // (n, dim), (n)
    double *reach;         // (n)
} direct_samples;

/* The squared distances of z to its NEAR nearest samples, ascending, and which they are; skip: not
 * this one. */
static void direct_near(const direct_samples *s, const double *z, size_t skip, double *distance,
                        size_t *which)
{
    size_t m = 0;
    for (size_t i = 0; i < s->n; i++) {
        const double d = hb_distance2(s->dim, z, s->z + i * s->dim);
        if (i == skip || (m == NEAR && !(d < distance[NEAR - 1]))) continue;
        size_t k = m < NEAR ? m++ : NEAR - 1;
        for (; k > 0 && d < distance[k - 1]; k--) {
            distance[k] = distance[k - 1];
            which[k] = which[k - 1];
        }
        distance[k] = d;
        which[k] = i;
    }
}

static double direct_error(const direct_samples *s, const double *z)
{
    double distance[NEAR], off = 0, reach = 0;
    size_t which[NEAR];
    direct_near(s, z, s->n, distance, which);
    for (size_t k = 0; k < NEAR; k++) {
        off = fmax(off, s->off[which[k]]);
        reach = fmax(reach, s->reach[which[k]]);
    }
    return sqrt(distance[NEAR - 1]) <= reach ? hypot(off / NORMAL, s->sampling) : INFINITY;
}

/* Of the density in the region of NEAR of n samples; 0 where the number is not known. */
static double direct_sampling(const hb_model *model, size_t n)
{
    const double q = (double)NEAR / (double)n, all = (double)model->info.samples;
    return all > 0 ? sqrt((1 - q) / (q * all)) : 0;
}

/* Outside of the domain of the model v is -inf, which is exact. */
static hb_status direct_errors(hb_context *context, const hb_model *model, size_t n,
                               direct_samples *s, const double *x, const double *v, double *error)
{
    double distance[NEAR], *z;
    size_t which[NEAR];
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(z, n * s->dim), HB_ARRAY(s->reach, s->n)));
    hb_model_standardise(model, n, x, z);
    for (size_t i = 0; i < s->n; i++) {
        direct_near(s, s->z + i * s->dim, i, distance, which);
        s->reach[i] = sqrt(distance[NEAR - 1]);
    }
    for (size_t i = 0; i < n; i++)
        error[i] = v[i] == -INFINITY ? 0 : direct_error(s, z + i * s->dim);
    hb_workspace_destroy(&work);
    return HB_OK;
}

hb_status hb_model_direct_likelihood(hb_context *context, const hb_model *model, size_t n,
                                     const hb_density_check *check, const double *z,
                                     const double *off, const double *x, const int *labels,
                                     double *log_likelihood, double *error)
{
    hb_density_check known = {0};
    void *tau; // (n)
    HB_TRY(hb_sized_read(context, "hb_density_check", sizeof known, sizeof known, check, &known));
    HB_CHECK(context, known.rows >= LEAST_ROWS, HB_ERROR_ARGUMENT,
             "check is NULL or empty; hb_model_density_check fills it");
    HB_CHECK(context, !error || (z && off), HB_ERROR_ARGUMENT,
             "errors need z and off of hb_model_density_check");
    HB_CHECK(context, n == 0 || (x && log_likelihood), HB_ERROR_ARGUMENT,
             "x or log_likelihood is NULL");
    if (n == 0) return HB_OK;
    HB_TRY(hb_allocate(context, n, sizeof(double), &tau));
    for (size_t i = 0; i < n; i++) ((double *)tau)[i] = known.tau_min;
    const hb_status status =
        hb_model_log_density(context, model, n, x, tau, labels, log_likelihood, NULL);
    hb_release(context, tau);
    HB_TRY(status);
    direct_samples samples = {.n = known.rows,
                              .dim = (size_t)model->info.dim,
                              .sampling = direct_sampling(model, known.rows),
                              .z = z,
                              .off = off};
    if (error) HB_TRY(direct_errors(context, model, n, &samples, x, log_likelihood, error));
    for (size_t i = 0; i < n; i++) log_likelihood[i] -= known.offset;
    return HB_OK;
}
