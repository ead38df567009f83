/* A model as the score that is certified, in its own coordinates z = (x - shift)/scale, in which
 * its process runs.
 *
 * Rows, training rows and the distribution of the rows go to z; scores come back as scale_j s_j(x).
 * Relative effects do not depend on the units; likelihoods get the sum of ln scale, and places are
 * said in x. The divergence is exact up to MOST_EXACT dimensions, beyond it by differences
 * (certify_source.c). */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "certify/certify_run.h"
#include "net/model_parts.h"

#include <math.h>

enum { MOST_EXACT = 64 };

typedef struct model_source {
    hb_context *context;
    const hb_model *model;
    int label;
    int *labels;   // (HB_CERTIFY_CALL), NULL: none
    double *score; // (HB_CERTIFY_CALL, dim)
    hb_workspace work;
} model_source;

static int model_score(void *user, size_t n, const double *z, const double *tau, double *score)
{
    const model_source *m = user;
    return hb_model_score_of_z(m->context, m->model, n, z, tau, m->labels, score) != HB_OK;
}

static int model_log_density(void *user, size_t n, const double *z, const double *tau, double *v)
{
    const model_source *m = user;
    return hb_model_log_density_of_z(m->context, m->model, n, z, tau, m->labels, v, NULL) != HB_OK;
}

static int model_divergence(void *user, size_t n, const double *z, const double *tau,
                            double *divergence)
{
    const model_source *m = user;
    return hb_model_divergence_of_z(m->context, m->model, n, z, tau, m->labels, NULL, 0, 0,
                                    m->score, divergence) != HB_OK;
}

/* The distribution of the rows in z. */
static hb_status model_mixture_of_z(hb_context *context, const hb_model *model,
                                    const hb_mixture *truth, hb_mixture **out)
{
    const size_t d = (size_t)model->info.dim, count = hb_mixture_count(truth);
    hb_workspace work;
    double *weights, *means, *covariances;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(weights, count), HB_ARRAY(means, count * d),
                        HB_ARRAY(covariances, count * d * d)));
    hb_status status = HB_OK;
    for (size_t k = 0; k < count && status == HB_OK; k++)
        status = hb_mixture_component(context, truth, k, weights + k, means + k * d,
                                      covariances + k * d * d);
    for (size_t i = 0; i < count * d * d; i++)
        covariances[i] /= model->scale[i % d] * model->scale[i / d % d];
    hb_model_standardise(model, count, means, means);
    if (status == HB_OK)
        status = hb_mixture_create(context, (int)d, count, weights, means, covariances, out);
    hb_workspace_destroy(&work);
    return status;
}

static hb_status model_check(hb_context *context, const hb_model *model,
                             const hb_certify_settings *s, int label)
{
    const hb_model_info *info = &model->info;
    const int drift = info->process == HB_PROCESS_DRIFT;
    HB_CHECK(context, drift || !s->drift, HB_ERROR_ARGUMENT,
             "there is a drift, but the model was trained without one");
    HB_CHECK(context, !drift || !hb_problem_frame(model->flow.drift), HB_ERROR_ARGUMENT,
             "the model is of an SDE with a noise of its own; models of ou, ve and of a drift "
             "with the noise sqrt(2) can be certified");
    HB_CHECK(context, !s->truth || !model->maps, HB_ERROR_ARGUMENT,
             "the model has maps of its columns (%s), in which the distribution of the rows is not "
             "a mixture of Gaussians; leave the exact distribution out",
             hb_model_maps(model));
    HB_CHECK(context, label >= -1 && label < (info->classes > 0 ? info->classes : 0),
             HB_ERROR_ARGUMENT, "label is %d; the model has %d classes", label, info->classes);
    HB_CHECK(context, !s->truth || hb_mixture_dim(s->truth) == info->dim, HB_ERROR_ARGUMENT,
             "the distribution of the rows has %d dimensions, the model %d",
             hb_mixture_dim(s->truth), info->dim);
    return HB_OK;
}

/* What the model knows goes into the settings. */
static void model_complete(const hb_model *model, hb_certify_settings *s)
{
    const hb_model_info *info = &model->info;
    s->process = info->process;
    if (info->process == HB_PROCESS_DRIFT && !s->drift) s->drift = model->flow.drift;
    if (isnan(s->tau_min)) s->tau_min = info->tau_min;
    if (isnan(s->tau_max)) s->tau_max = info->tau_max;
    s->log_density = info->head == HB_HEAD_ENERGY ? model_log_density : NULL;
    s->divergence = info->dim <= MOST_EXACT ? model_divergence : NULL;
}

/* What the maps of the columns make of ln p, mean over the rows. */
static double model_mean_volume(const hb_model *model, size_t n, const double *z)
{
    double sum = 0, volume;
    for (size_t i = 0; i < n; i++) {
        hb_model_volume(model, 1, z + i * (size_t)model->info.dim, &volume);
        sum += volume / (double)n;
    }
    return sum;
}

static hb_status model_run(hb_context *context, const hb_model *model, model_source *source,
                           hb_certify_settings *s, size_t n, const double *x, hb_certificate **out)
{
    const size_t d = (size_t)model->info.dim;
    hb_workspace work;
    double *z, *training; // (n, dim), (n_training, dim)
    hb_mixture *mixture = NULL;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(z, n * d),
                        HB_ARRAY(training, (s->training ? (size_t)s->n_training : 0) * d)));
    hb_model_standardise(model, n, x, z);
    if (s->training) {
        hb_model_standardise(model, (size_t)s->n_training, s->training, training);
        s->training = training;
    }
    hb_status status = s->truth ? model_mixture_of_z(context, model, s->truth, &mixture) : HB_OK;
    s->truth = mixture;
    hb_certify_run run = {.context = context,
                          .score = model_score,
                          .own = 1,
                          .user = source,
                          .model = model,
                          .log_scale = model->log_scale};
    if (model->maps) run.log_scale = model_mean_volume(model, n, z);
    if (status == HB_OK) status = hb_certify_start(&run, s, model->info.dim, n, z, out);
    hb_mixture_destroy(mixture);
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_certify_model(hb_context *context, const hb_model *model,
                           const hb_certify_settings *settings, int label, size_t n,
                           const double *x, hb_certificate **out)
{
    hb_certify_settings s;
    HB_CHECK(context, out, HB_ERROR_ARGUMENT, "out is NULL");
    *out = NULL;
    HB_CHECK(context, model && x, HB_ERROR_ARGUMENT, "the model or x is NULL");
    HB_TRY(hb_certify_settings_read(context, settings, &s));
    HB_TRY(model_check(context, model, &s, label));
    model_complete(model, &s);
    const size_t d = (size_t)model->info.dim;
    model_source source = {.context = context, .model = model, .label = label};
    HB_TRY(HB_WORKSPACE(context, &source.work, HB_ARRAY(source.score, HB_CERTIFY_CALL * d),
                        HB_ARRAY_IF(label >= 0, source.labels, HB_CERTIFY_CALL)));
    for (size_t i = 0; source.labels && i < HB_CERTIFY_CALL; i++) source.labels[i] = label;
    const hb_status status = model_run(context, model, &source, &s, n, x, out);
    hb_workspace_destroy(&source.work);
    return status;
}
