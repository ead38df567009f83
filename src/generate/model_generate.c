/* Samples and likelihoods of a model, in the units of its data.
 *
 * Everything runs in the model's coordinates z = (x - shift)/scale, whose time tau is: the process,
 * and the mean m and covariance C of the law at tau_max, are those of the model's reference,
 *     C = sum_r variance_r axis_r axis_r^T.
 * Samples go back by x = shift + scale z; a density of x is that of z over the product of the scales, so
 *     ln p(x) = ln p(z) - sum_j ln scale_j.
 * Each row has its own label. The score of a row does not depend on the other rows (hb_scorer),
 * so that samples cut into pieces have the same bits.
 * A number to reproduce: a network that gives 0 leaves N(m, C): ln p at the mean is
 * -1/2 ln det(2 pi C). */
#include "base/sized.h"
#include "generate/reverse.h"
#include "net/model_parts.h"

#include <math.h>

typedef struct model_run {
    hb_context *context;
    const hb_model *model;
    hb_generate_settings settings;
    hb_reverse reverse;
    hb_scorer *scorer;
    int probes;
    double *covariance; // (dim, dim)
    double *tau;        // (HB_FLOW_ROWS): likelihoods only
    hb_workspace work;
} model_run;

/* Both triangles are the same numbers: a sum that is formed twice may differ in its last bit. */
static void fill_covariance(const hb_model *model, double *C)
{
    const size_t d = (size_t)model->info.dim;
    for (size_t k = 0; k < d * d; k++) C[k] = 0;
    for (size_t r = 0; r < d; r++)
        for (size_t i = 0; i < d; i++) {
            const float *axis = model->axes + r * d;
            const double push = model->variance[r] * (double)axis[i];
            for (size_t j = 0; j <= i; j++) C[i * d + j] += push * (double)axis[j];
        }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++) C[j * d + i] = C[i * d + j];
}

static hb_status check(const model_run *run, size_t n, const int *labels)
{
    const hb_generate_settings *s = &run->settings;
    const hb_model_info *info = &run->model->info;
    HB_CHECK(run->context, s->tau_min >= info->tau_min && s->tau_max <= info->tau_max,
             HB_ERROR_ARGUMENT,
             "tau_min is %g and tau_max is %g; the model was trained from tau = %g to %g",
             s->tau_min, s->tau_max, info->tau_min, info->tau_max);
    return hb_model_check_labels(run->context, run->model, n, labels);
}

static hb_status create(model_run *run, int likelihood)
{
    const hb_model *model = run->model;
    const size_t d = (size_t)model->info.dim, rows = likelihood ? HB_FLOW_ROWS : 0;
    HB_TRY(HB_WORKSPACE(run->context, &run->work, HB_ARRAY(run->covariance, d * d),
                        HB_ARRAY(run->tau, rows)));
    fill_covariance(model, run->covariance);
    run->settings.mean = model->mean;
    run->settings.covariance = run->covariance;
    if (likelihood) return HB_OK;
    const size_t n = run->reverse.n < HB_CALL_ROWS ? run->reverse.n : HB_CALL_ROWS;
    return hb_scorer_create(run->context, model, n, &run->scorer);
}

static void destroy(model_run *run)
{
    hb_scorer_destroy(run->scorer);
    hb_workspace_destroy(&run->work);
}

/* The model's run of the caller's settings, ready but for its scratch. */
static hb_status start(hb_context *context, const hb_model *model,
                       const hb_generate_settings *settings, const int *labels, size_t n,
                       model_run *out)
{
    HB_CHECK(context, model, HB_ERROR_ARGUMENT, "the model is NULL");
    const hb_model_info *info = &model->info;
    hb_generate_settings own;
    HB_SIZED_READ(context, hb_generate_settings, settings, &own);
    own.process = info->process;
    if (info->image_height > 0 && isnan(own.low)) own.low = info->pixel_low;
    if (info->image_height > 0 && isnan(own.high)) own.high = info->pixel_high;
    *out = (model_run){.context = context, .model = model};
    HB_TRY(hb_generate_resolve(context, &own, info->dim, info->tau_min, info->tau_max,
                               &out->settings));
    out->reverse = (hb_reverse){.context = context,
                                .settings = &out->settings,
                                .dim = (size_t)info->dim,
                                .n = n,
                                .user = out,
                                .shift = model->shift,
                                .scale = model->scale,
                                .labels = labels};
    return check(out, n, labels);
}

/* ---- samples ---- */

static int score_of_rows(void *user, size_t n, const double *z, double tau, double *score)
{
    const model_run *run = user;
    return hb_scorer_scores(run->scorer, n, z, tau, run->reverse.row_labels, score) != HB_OK;
}

hb_status hb_model_generate(hb_context *context, const hb_model *model,
                            const hb_generate_settings *settings, uint64_t first, size_t n,
                            const int *labels, double *x)
{
    model_run run;
    HB_TRY(start(context, model, settings, labels, n, &run));
    HB_TRY(hb_generate_check_range(context, model->info.dim, first, n));
    HB_CHECK(context, x || n == 0, HB_ERROR_ARGUMENT, "x is NULL");
    if (n == 0) return HB_OK;
    run.reverse.score = score_of_rows;
    hb_status status = create(&run, 0);
    if (status == HB_OK) status = hb_reverse_generate(&run.reverse, first, x);
    if (status == HB_OK) hb_model_to_data(model, n, x, x);
    destroy(&run);
    return status;
}

/* ---- likelihoods ---- */

static int divergence_of_rows(void *user, size_t n, const double *z, double tau, double *score,
                              double *divergence)
{
    const model_run *run = user;
    const hb_reverse *rows = &run->reverse;
    for (size_t i = 0; i < n; i++) run->tau[i] = tau;
    return hb_model_divergence_of_z(run->context, run->model, n, z, run->tau, rows->row_labels,
                                    rows->row_keys, run->probes, run->settings.seed, score,
                                    divergence) != HB_OK;
}

static hb_status likelihood_of_z(model_run *run, size_t n, const double *x, double *out)
{
    const hb_model *model = run->model;
    const size_t d = (size_t)model->info.dim;
    void *z; // (n, dim)
    HB_TRY(hb_allocate(run->context, n * d, sizeof(double), &z));
    hb_model_standardise(model, n, x, z);
    const hb_status status = hb_reverse_likelihood(&run->reverse, z, out);
    hb_release(run->context, z);
    return status;
}

hb_status hb_model_likelihood(hb_context *context, const hb_model *model,
                              const hb_generate_settings *settings, int probes, size_t n,
                              const double *x, const int *labels, double *log_likelihood)
{
    model_run run;
    HB_TRY(start(context, model, settings, labels, n, &run));
    HB_CHECK(context, n == 0 || (x && log_likelihood), HB_ERROR_ARGUMENT,
             "x or log_likelihood is NULL");
    HB_CHECK(context, probes >= 0, HB_ERROR_ARGUMENT,
             "probes is %d; it must be 0 (the exact divergence) or more", probes);
    if (n == 0) return HB_OK;
    run.probes = probes;
    run.reverse.divergence = divergence_of_rows;
    hb_status status = create(&run, 1);
    if (status == HB_OK) status = likelihood_of_z(&run, n, x, log_likelihood);
    for (size_t i = 0; status == HB_OK && i < n; i++) log_likelihood[i] -= model->log_scale;
    destroy(&run);
    return status;
}
