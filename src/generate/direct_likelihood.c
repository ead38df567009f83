/* ln p(x) at tau_min from one pass of an energy network, checked against the probability-flow ODE.
 *
 * A network v whose gradient is the score carries two densities: e^v itself, and the p that its
 * flow carries from tau_max. Along a path of the flow, with e the residual of v in the
 * Fokker-Planck equation,
 *     v - ln p at tau_min = (v - ln p at tau_max) - int e dtau,
 * so both agree as well as v solves its equation. Samples x_1..x_n of the flow measure it:
 *     D_i = v(x_i) - ln p(x_i),   ln Z = ln mean e^(D_i) = ln int e^v   (importance sampling),
 *     fraction of samples that count = (sum e^D)^2/(n sum e^(2D)).
 * The answer is v - ln Z. Its error is calibrated (split conformal prediction: V. Vovk,
 * A. Gammerman, G. Shafer, Algorithmic learning in a random world, 2005; J. Lei et al., JASA 113,
 * 2018): samples are sorted by v into STRATA strata, and the ceil(0.95 (m + 1))-th smallest
 * |D_i - ln Z| of the m in one is 1.96 errors there. So 1.96 errors hold for 95 % of rows that are
 * distributed as the samples. Rows that are less likely than all samples have no error: infinite.
 * That the score itself is wrong is not counted.
 * A number to reproduce: a network that gives 0 has v = ln p: ln Z = 0. */
#include "base/sized.h"
#include "generate/reverse.h"
#include "net/model_parts.h"

#include <math.h>
#include <stdlib.h>

enum { STRATA = 4, USUAL_ROWS = 256, LEAST_ROWS = 80, EXACT_DIM = 64, PROBES = 16 };
static const double COVERED = 0.95, NORMAL = 1.959963984540054;

/* A sample: v, v - ln p, and how far ln p itself may be off. */
typedef struct direct_sample {
    double v, difference, bound;
} direct_sample;

typedef struct direct_run {
    hb_context *context;
    const hb_model *model;
    hb_generate_settings settings;
    size_t n;
    double *x, *v, *tau; // (n, dim), (n), (n)
    double *p, *error;   // (n), (n, 2): ln p by the ODE
    int *labels;         // (n)
    direct_sample *sample;
    hb_workspace work;
} direct_run;

static int direct_compare_samples(const void *a, const void *b)
{
    const direct_sample *x = a, *y = b;
    return (x->v > y->v) - (x->v < y->v);
}

static int direct_compare_reals(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

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
        const double *error = run->error + 2 * i;
        run->sample[i] = (direct_sample){run->v[i], run->v[i] - run->p[i], error[1]};
        HB_CHECK(context, isfinite(run->sample[i].difference), HB_ERROR_NUMERICAL,
                 "the log-density of sample %zu of the model is not finite", i + 1);
    }
    qsort(run->sample, run->n, sizeof *run->sample, direct_compare_samples);
    return HB_OK;
}

/* ln Z, its standard error, and the fraction of samples that count. */
static void direct_normalise(const direct_run *run, hb_density_check *out)
{
    const double n = (double)run->n;
    double most = -INFINITY, sum = 0, squares = 0;
    for (size_t i = 0; i < run->n; i++) most = fmax(most, run->sample[i].difference);
    for (size_t i = 0; i < run->n; i++) {
        const double w = exp(run->sample[i].difference - most);
        sum += w;
        squares += w * w;
    }
    out->log_normaliser = most + log(sum / n);
    out->effective = sum * sum / (n * squares);
    out->log_normaliser_se = sqrt(fmax(0, 1 / out->effective - 1) / (n - 1));
}

/* The quantile of conformal prediction of |D - ln Z| over samples first .. first+m-1, as a standard
 * error; distance (m): scratch. */
static double direct_quantile(const direct_run *run, double log_normaliser, size_t first, size_t m,
                              double *distance)
{
    const size_t rank = (size_t)ceil(COVERED * (double)(m + 1));
    for (size_t i = 0; i < m; i++) {
        const direct_sample *s = run->sample + first + i;
        distance[i] = fabs(s->difference - log_normaliser) + s->bound;
    }
    qsort(distance, m, sizeof *distance, direct_compare_reals);
    return distance[(rank < m ? rank : m) - 1] / NORMAL;
}

static void direct_calibrate(const direct_run *run, hb_density_check *out)
{
    const size_t n = run->n;
    double mean = 0, squares = 0;
    for (size_t k = 0; k < STRATA; k++) {
        const size_t first = k * n / STRATA, next = (k + 1) * n / STRATA;
        out->level[k] = run->sample[first].v;
        out->error[k] = direct_quantile(run, out->log_normaliser, first, next - first, run->error);
    }
    out->error_all = direct_quantile(run, out->log_normaliser, 0, n, run->error);
    for (size_t i = 0; i < n; i++)
        mean += (run->sample[i].difference - out->log_normaliser) / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += pow(run->sample[i].difference - out->log_normaliser - mean, 2);
    out->mean = mean;
    out->spread = sqrt(squares / (double)(n - 1));
}

static hb_status direct_prepare(direct_run *run, int label)
{
    const size_t n = run->n, d = (size_t)run->model->info.dim;
    HB_TRY(HB_WORKSPACE(run->context, &run->work, HB_ARRAY(run->x, n * d), HB_ARRAY(run->v, n),
                        HB_ARRAY(run->tau, n), HB_ARRAY(run->p, n), HB_ARRAY(run->error, 2 * n),
                        HB_ARRAY(run->labels, n), HB_ARRAY(run->sample, n)));
    for (size_t i = 0; i < n; i++) {
        run->tau[i] = run->settings.tau_min;
        run->labels[i] = label;
    }
    return HB_OK;
}

hb_status hb_model_density_check(hb_context *context, const hb_model *model,
                                 const hb_generate_settings *settings, size_t samples, int label,
                                 size_t size, hb_density_check *out)
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
        direct_calibrate(&run, &found);
        HB_SIZED_WRITE(found, size, out);
    }
    hb_workspace_destroy(&run.work);
    return status;
}

/* Of a row whose network gives v; infinite where no sample is as unlikely. Outside of the domain
 * -inf is exact. */
static double direct_error(const hb_density_check *check, double v)
{
    size_t k = STRATA;
    if (v == -INFINITY) return 0;
    while (k > 0 && !(v >= check->level[k - 1])) k--;
    return k > 0 ? check->error[k - 1] : INFINITY;
}

hb_status hb_model_direct_likelihood(hb_context *context, const hb_model *model, size_t n,
                                     const hb_density_check *check, const double *x,
                                     const int *labels, double *log_likelihood, double *error)
{
    hb_density_check known = {0};
    void *tau; // (n)
    HB_TRY(hb_sized_read(context, "hb_density_check", sizeof known, sizeof known, check, &known));
    HB_CHECK(context, known.rows > 0, HB_ERROR_ARGUMENT,
             "check is NULL or empty; hb_model_density_check fills it");
    HB_CHECK(context, n == 0 || (x && log_likelihood), HB_ERROR_ARGUMENT,
             "x or log_likelihood is NULL");
    if (n == 0) return HB_OK;
    HB_TRY(hb_allocate(context, n, sizeof(double), &tau));
    for (size_t i = 0; i < n; i++) ((double *)tau)[i] = known.tau_min;
    const hb_status status =
        hb_model_log_density(context, model, n, x, tau, labels, log_likelihood, NULL);
    hb_release(context, tau);
    HB_TRY(status);
    for (size_t i = 0; i < n; i++) {
        if (error) error[i] = direct_error(&known, log_likelihood[i]);
        log_likelihood[i] -= known.log_normaliser;
    }
    return HB_OK;
}
