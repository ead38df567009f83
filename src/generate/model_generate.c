/* Samples and likelihoods of a model, in the units of its data.
 *
 * Everything runs in the model's coordinates z = (x - shift)/scale, whose time tau is: the process,
 * and the mean m and covariance C of the distribution at tau_max, are those of the model's
 * reference,
 *     C = sum_r variance_r axis_r axis_r^T.
 * Samples go back by x = shift + scale z; a density of x is that of z over the product of the
 * scales, so
 *     ln p(x) = ln p(z) - sum_j ln scale_j.
 * Each row has its own label. The score of a row does not depend on the other rows (hb_scorer),
 * so that samples cut into pieces have the same bits.
 * An SDE as typed has z in the coordinates of its frame, and ln p(x) = ln p(z) - ln |dx/dz|.
 * A model of a drift has that drift, draws of its paths at tau_max as the model_start, and, of the
 * energy head, its own density there, normalised (end_normaliser.c), for likelihoods.
 * A number to reproduce: a network that gives 0 leaves N(m, C): ln p at the mean is
 * -1/2 ln det(2 pi C). */
#include "generate/reverse.h"
#include "net/model_parts.h"

#include <math.h>

enum { SETS = 8, SET_BITS = 56 }; /* sets of probes; where their number is in the seed */

typedef struct model_run {
    hb_context *context;
    const hb_model *model;
    hb_generate_settings settings;
    hb_reverse reverse;
    hb_scorer *scorer;
    int probes;
    double *covariance;                      // (dim, dim)
    double *tau;                             // (HB_CALL_ROWS): likelihoods only
    double *part;                            // (HB_CALL_ROWS): divergences of one set of probes
    double *ends;                            // (n_ends, dim) of a drift
    double *end_tau;                         // (HB_CALL_ROWS): tau_max, of a drift
    double log_normaliser, normaliser_error; /* of its density at tau_max */
    hb_workspace work;
} model_run;

/* Both triangles are the same numbers: a sum that is formed twice may differ in its last bit. */
static void model_covariance(const hb_model *model, double *C)
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

static hb_status model_check_times(const model_run *run, size_t n, const int *labels)
{
    const hb_generate_settings *s = &run->settings;
    const hb_model_info *info = &run->model->info;
    HB_CHECK(run->context, s->tau_min >= info->tau_min && s->tau_max <= info->tau_max,
             HB_ERROR_ARGUMENT,
             "tau_min is %g and tau_max is %g; the model was trained from tau = %g to %g",
             s->tau_min, s->tau_max, info->tau_min, info->tau_max);
    return hb_model_check_labels(run->context, run->model, n, labels);
}

static hb_status model_check_drift(const model_run *run, int likelihood, size_t n,
                                   const int *labels)
{
    const hb_generate_settings *s = &run->settings;
    const hb_model_info *info = &run->model->info;
    HB_CHECK(run->context, s->tau_max == info->tau_max, HB_ERROR_ARGUMENT,
             "tau_max is %g; a model of a drift knows the distribution at tau = %g only, to which "
             "it was trained",
             s->tau_max, info->tau_max);
    for (size_t i = 0; labels && i < n; i++)
        HB_CHECK(run->context, labels[i] < 0, HB_ERROR_ARGUMENT,
                 "the label of row %zu is %d; a model of a drift keeps draws at tau_max of all "
                 "classes together, and takes no class",
                 i + 1, labels[i]);
    HB_CHECK(run->context, !likelihood || info->head == HB_HEAD_ENERGY, HB_ERROR_ARGUMENT,
             "a likelihood under a drift needs the density at tau_max, which only the energy head "
             "knows");
    HB_CHECK(run->context, likelihood || s->ends || run->model->flow.n_ends > 0, HB_ERROR_ARGUMENT,
             "the model keeps no draws at tau_max to start from");
    return HB_OK;
}

/* ---- a drift of the user ---- */

static int model_end_density(void *user, size_t n, const double *z, double *log_density)
{
    const model_run *run = user;
    for (size_t first = 0; first < n; first += HB_CALL_ROWS) {
        const size_t rows = n - first < HB_CALL_ROWS ? n - first : HB_CALL_ROWS;
        if (hb_model_log_density_of_z(run->context, run->model, rows, z + first * run->reverse.dim,
                                      run->end_tau, NULL, log_density + first, NULL) != HB_OK)
            return 1;
    }
    for (size_t i = 0; i < n; i++) log_density[i] -= run->log_normaliser;
    return 0;
}

static void model_path_range(const void *user, double tau, double *low, double *high)
{
    const model_run *run = user;
    hb_model_range(run->model, tau, low, high);
}

/* Ends of the caller's, which are in x. */
static hb_status model_take_ends(model_run *run)
{
    const size_t d = run->reverse.dim;
    hb_generate_settings *s = &run->settings;
    hb_model_standardise(run->model, s->n_ends, s->ends, run->ends);
    for (size_t i = 0; i < s->n_ends * d; i++)
        HB_CHECK(
            run->context, isfinite(run->ends[i]), HB_ERROR_ARGUMENT,
            "row %zu of ends is outside of the domain of the process, where its noise vanishes",
            i / d + 1);
    s->ends = run->ends;
    return HB_OK;
}

/* The distribution at tau_max. */
static hb_status model_set_ends(model_run *run)
{
    const hb_model_flow *flow = &run->model->flow;
    hb_generate_settings *s = &run->settings;
    for (size_t i = 0; i < HB_CALL_ROWS; i++) run->end_tau[i] = s->tau_max;
    if (s->ends) {
        HB_TRY(model_take_ends(run));
    } else {
        for (size_t i = 0; i < flow->n_ends * run->reverse.dim; i++)
            run->ends[i] = (double)flow->ends[i];
        s->ends = run->ends;
        s->n_ends = flow->n_ends;
    }
    s->mean = s->covariance = NULL;
    s->end_density = run->model->info.head == HB_HEAD_ENERGY ? model_end_density : NULL;
    s->end_user = run;
    return HB_OK;
}

static hb_status model_create_run(model_run *run, int likelihood)
{
    const hb_model *model = run->model;
    const size_t d = (size_t)model->info.dim, rows = likelihood ? HB_CALL_ROWS : 0;
    const size_t drift = model->flow.knots > 0;
    const size_t ends = (run->settings.ends ? run->settings.n_ends : model->flow.n_ends) * d;
    const size_t n = run->reverse.n < HB_CALL_ROWS ? run->reverse.n : HB_CALL_ROWS;
    const int bounded = drift && !likelihood;
    HB_TRY(HB_WORKSPACE(run->context, &run->work, HB_ARRAY(run->covariance, d * d),
                        HB_ARRAY(run->tau, rows), HB_ARRAY(run->part, rows),
                        HB_ARRAY(run->ends, ends), HB_ARRAY(run->end_tau, drift * HB_CALL_ROWS),
                        HB_ARRAY_IF(bounded, run->reverse.inside, n * d),
                        HB_ARRAY_IF(bounded, run->reverse.low, d),
                        HB_ARRAY_IF(bounded, run->reverse.high, d)));
    model_covariance(model, run->covariance);
    run->settings.mean = model->mean;
    run->settings.covariance = run->covariance;
    if (drift) HB_TRY(model_set_ends(run));
    if (likelihood && drift)
        return hb_model_log_normaliser(run->context, model, run->settings.seed,
                                       &run->log_normaliser, &run->normaliser_error);
    if (likelihood) return HB_OK;
    if (bounded) run->reverse.range = model_path_range;
    return hb_scorer_create(run->context, model, n, &run->scorer);
}

static void model_destroy_run(model_run *run)
{
    hb_scorer_destroy(run->scorer);
    hb_workspace_destroy(&run->work);
}

/* The model's run of the caller's settings, ready but for its scratch. */
static hb_status model_start(hb_context *context, const hb_model *model,
                             const hb_generate_settings *settings, int likelihood,
                             const int *labels, size_t n, model_run *out)
{
    HB_CHECK(context, model, HB_ERROR_ARGUMENT, "the model is NULL");
    const hb_model_info *info = &model->info;
    hb_generate_settings own;
    const int drift = info->process == HB_PROCESS_DRIFT;
    HB_TRY(hb_generate_settings_read(context, settings, &own));
    HB_CHECK(context, drift || !own.ends, HB_ERROR_ARGUMENT,
             "ends are for models of a drift; this one starts from its Gaussian");
    own.process = info->process;
    own.drift = model->flow.drift;
    if (isnan(own.detail)) own.detail = drift ? model->flow.detail : INFINITY;
    if (info->image_height > 0 && !drift && isnan(own.low)) own.low = info->pixel_low;
    if (info->image_height > 0 && !drift && isnan(own.high)) own.high = info->pixel_high;
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
    HB_TRY(model_check_times(out, n, labels));
    return drift ? model_check_drift(out, likelihood, n, labels) : HB_OK;
}

/* ---- samples ---- */

static int model_score_rows(void *user, size_t n, const double *z, double tau, double *score)
{
    const model_run *run = user;
    return hb_scorer_scores(run->scorer, n, z, tau, run->reverse.row_labels, score) != HB_OK;
}

hb_status hb_model_generate(hb_context *context, const hb_model *model,
                            const hb_generate_settings *settings, uint64_t first, size_t n,
                            const int *labels, double *x)
{
    model_run run;
    HB_TRY(model_start(context, model, settings, 0, labels, n, &run));
    HB_TRY(hb_generate_check_range(context, model->info.dim, first, n));
    HB_CHECK(context, x || n == 0, HB_ERROR_ARGUMENT, "x is NULL");
    if (n == 0) return HB_OK;
    run.reverse.score = model_score_rows;
    hb_status status = model_create_run(&run, 0);
    if (status == HB_OK) status = hb_reverse_generate(&run.reverse, first, x);
    if (status == HB_OK) hb_model_to_data(model, n, x, x);
    model_destroy_run(&run);
    return status;
}

/* ---- likelihoods ---- */

/* A row outside of the domain is carried as a draw of tau_max, and has ln p = -inf in the end. */
static void model_enter(const model_run *run, size_t n, const double *x, double *z)
{
    const size_t d = run->reverse.dim;
    hb_model_standardise(run->model, n, x, z);
    for (size_t i = 0; hb_model_transform(run->model) && i < n; i++)
        for (size_t j = 0; hb_model_is_outside(run->model, x + i * d) && j < d; j++)
            z[i * d + j] = run->ends[j];
}

/* ln p(z) to ln p(x), and error (n, 2), NULL: none, with that of the constant; outside of the
 * domain it is exact. */
static void model_leave(const model_run *run, size_t n, const double *x, const double *z,
                        double *value, double *error)
{
    const hb_model *model = run->model;
    for (size_t i = 0; i < n; i++) {
        double volume;
        hb_model_volume(model, 1, z + i * run->reverse.dim, &volume);
        value[i] -= volume;
        if (error) error[2 * i + 1] += run->normaliser_error;
        if (!hb_model_is_outside(model, x + i * run->reverse.dim)) continue;
        value[i] = -INFINITY;
        if (error) error[2 * i] = error[2 * i + 1] = 0;
    }
}

static int model_divergence_rows(void *user, size_t n, const double *z, double tau, double *score,
                                 double *divergence)
{
    const model_run *run = user;
    const hb_reverse *rows = &run->reverse;
    for (size_t i = 0; i < n; i++) run->tau[i] = tau;
    for (size_t set = 0; set < rows->sums; set++) {
        if (hb_model_divergence_of_z(run->context, run->model, n, z, run->tau, rows->row_labels,
                                     rows->row_keys, run->probes,
                                     run->settings.seed ^ (uint64_t)set << SET_BITS,
                                     set == 0 ? score : NULL, run->part) != HB_OK)
            return 1;
        for (size_t i = 0; i < n; i++) divergence[i * rows->sums + set] = run->part[i];
    }
    return 0;
}

/* Up to SETS sets of probes, whose spread tells the error; together at least as many as asked
 * for. */
static void model_split_probes(model_run *run, int probes, int with_error)
{
    const int sets = !with_error || probes == 0 ? 1 : probes < SETS ? probes : SETS;
    run->probes = (probes + sets - 1) / sets;
    run->reverse.sums = (size_t)sets;
    run->reverse.by_probes = probes > 0;
}

static hb_status model_likelihood_rows(model_run *run, size_t n, const double *x, double *out,
                                       double *error)
{
    const hb_model *model = run->model;
    const size_t d = (size_t)model->info.dim;
    void *z; // (n, dim)
    HB_TRY(hb_allocate(run->context, n * d, sizeof(double), &z));
    model_enter(run, n, x, z);
    const hb_status status = hb_reverse_likelihood(&run->reverse, z, out, error);
    if (status == HB_OK) model_leave(run, n, x, z, out, error);
    hb_release(run->context, z);
    return status;
}

hb_status hb_model_likelihood(hb_context *context, const hb_model *model,
                              const hb_generate_settings *settings, int probes, size_t n,
                              const double *x, const int *labels, double *log_likelihood,
                              double *error)
{
    model_run run;
    HB_TRY(model_start(context, model, settings, 1, labels, n, &run));
    HB_CHECK(context, n == 0 || (x && log_likelihood), HB_ERROR_ARGUMENT,
             "x or log_likelihood is NULL");
    HB_CHECK(context, probes >= 0, HB_ERROR_ARGUMENT,
             "probes is %d; it must be 0 (the exact divergence) or more", probes);
    if (n == 0) return HB_OK;
    model_split_probes(&run, probes, error != NULL);
    run.reverse.divergence = model_divergence_rows;
    hb_status status = model_create_run(&run, 1);
    if (status == HB_OK) status = model_likelihood_rows(&run, n, x, log_likelihood, error);
    model_destroy_run(&run);
    return status;
}
