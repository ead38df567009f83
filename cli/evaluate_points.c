/* The coordinates in which a model is judged.
 *
 * A model's tau is that of z = (x - shift)/scale, so scores, curls and residuals at a tau are
 * those of z:
 *     s_z = scale s_x,  a component N(m, C) of x is N((m - shift)/scale, C_jk/(scale_j scale_k)).
 * Models of named sets are not standardised by default; then z = x, to the bit. Points at tau:
 *     a named set   exact draws of its distribution at tau
 *     a file        a z_0 + sqrt(b) noise, z_0 held out; OU: a = e^-tau, b = 1 - a^2; VE: 1, 2 tau
 *     a drift       the model's own reverse process, stopped at tau, in x itself */
#include "command_evaluate.h"

#include <heatball/generate.h>
#include <heatball/random.h>
#include <math.h>
#include <stdlib.h>

/* Far from the rows 0 .. n-1 that a training with the same seed has drawn. */
static const uint64_t FRESH = UINT64_C(1) << 40, PART = UINT64_C(1) << 32;
enum { NOISE_STREAM = 0x706f696e, DRIFT_STEPS = 200, MOST_STEPS = 100000, BATCH = 4096 };
static const double LAST_TAU =
    0.99; /* fraction of tau_max at which points of a drift are drawn at most */

static int is_plain(const hb_evaluate_frame *f)
{
    int plain = !*hb_model_maps(f->plan->model);
    for (int i = 0; i < f->info.dim; i++) plain &= f->zero[i] == 0 && f->scale[i] == 1;
    return plain;
}

/* The set in the coordinates z. */
static hb_status carry_set(hb_evaluate_frame *f, const hb_mixture *set)
{
    const size_t n = hb_mixture_count(set), d = (size_t)f->info.dim;
    double *weight = malloc(n * (1 + d + d * d) * sizeof *weight);
    if (!weight) return HB_ERROR_MEMORY;
    double *mean = weight + n, *C = mean + n * d; // (n, d), (n, d, d)
    hb_status status = HB_OK;
    for (size_t k = 0; status == HB_OK && k < n; k++)
        status = hb_mixture_component(f->context, set, k, &weight[k], mean + k * d, C + k * d * d);
    hb_model_standardise(f->plan->model, n, mean, mean);
    for (size_t i = 0; i < n * d * d; i++) C[i] /= f->scale[i / d % d] * f->scale[i % d];
    if (status == HB_OK)
        status = hb_mixture_create(f->context, f->info.dim, n, weight, mean, C, &f->own);
    free(weight);
    f->truth = f->own;
    return status;
}

/* A model of a drift may be one that the library cannot run backward: then it says so of no
 * sample. */
static const char *why_no_samples(const hb_evaluate_frame *f)
{
    hb_generate_settings settings;
    hb_generate_settings_default(sizeof settings, &settings);
    if (f->info.process != HB_PROCESS_DRIFT) return NULL;
    if (hb_model_generate(f->context, f->plan->model, &settings, 0, 0, NULL, f->x) == HB_OK)
        return NULL;
    return "the model keeps no draws at its largest tau to start from";
}

hb_status hb_evaluate_frame_create(hb_session *session, const hb_evaluate_plan *plan,
                                   hb_evaluate_frame *out)
{
    *out = (hb_evaluate_frame){.context = hb_session_context(session), .plan = plan};
    hb_model_info_get(plan->model, sizeof out->info, &out->info);
    out->view = (hb_model_view){out->context, plan->model, -1};
    const size_t d = (size_t)out->info.dim;
    out->zero = calloc(2 * d, sizeof *out->zero);
    out->x = malloc(BATCH * d * sizeof *out->x);
    if (!out->zero || !out->x) return HB_ERROR_MEMORY;
    out->scale = out->zero + d;
    hb_model_scales(plan->model, NULL, out->scale);
    if (out->info.process != HB_PROCESS_DRIFT) /* of which the scales are 1 */
        hb_model_standardise(plan->model, 1, out->zero, out->zero);
    out->no_samples = why_no_samples(out);
    if (!plan->data->set || out->info.process == HB_PROCESS_DRIFT) return HB_OK;
    HB_REFUSE_IF(session, *hb_model_maps(plan->model),
                 "the model has maps of its columns (%.100s), in which the exact distribution of a "
                 "named set is not known; give --data a file of rows",
                 hb_model_maps(plan->model));
    if (!is_plain(out)) return carry_set(out, plan->data->set);
    out->truth = plan->data->set;
    return HB_OK;
}

void hb_evaluate_frame_destroy(hb_evaluate_frame *frame)
{
    hb_mixture_destroy(frame->own);
    free(frame->zero);
    free(frame->x);
    *frame = (hb_evaluate_frame){0};
}

int hb_evaluate_frame_score(void *frame, size_t n, const double *z, double tau, double *score)
{
    hb_evaluate_frame *f = frame;
    const size_t d = (size_t)f->info.dim;
    if (is_plain(f)) return hb_model_view_score(&f->view, n, z, tau, score);
    for (size_t first = 0; first < n; first += BATCH) {
        const size_t rows = n - first < BATCH ? n - first : BATCH;
        for (size_t i = 0; i < rows; i++) f->x[i] = tau;
        if (hb_model_score_of_z(f->context, f->plan->model, rows, z + first * d, f->x, NULL,
                                score + first * d) != HB_OK)
            return 1;
    }
    return 0;
}

static hb_status noisy_rows(hb_evaluate_frame *f, double tau, uint64_t part, size_t n, double *z)
{
    const hb_train_data *data = f->plan->data;
    const size_t d = (size_t)f->info.dim;
    const int ou = f->info.process == HB_PROCESS_OU;
    const double a = ou ? exp(-tau) : 1, b = ou ? -expm1(-2 * tau) : 2 * tau;
    double *row = malloc(data->held * d * sizeof *row); // (held, d)
    if (!row) return HB_ERROR_MEMORY;
    hb_model_standardise(f->plan->model, data->held, data->x + data->n * d, row);
    const hb_status status =
        hb_random_normal(f->context, f->plan->seed, NOISE_STREAM + part, 0, n * d, z);
    for (size_t i = 0; status == HB_OK && i < n * d; i++)
        z[i] = a * row[i % (data->held * d)] + sqrt(b) * z[i];
    free(row);
    return status;
}

hb_status hb_evaluate_frame_generate(const hb_evaluate_frame *f, hb_generate_settings *settings,
                                     uint64_t first, size_t n, double *x)
{
    for (;; settings->n_steps *= 2) {
        const hb_status status =
            hb_model_generate(f->context, f->plan->model, settings, first, n, NULL, x);
        if (status != HB_ERROR_ARGUMENT || f->info.process != HB_PROCESS_DRIFT ||
            settings->n_steps > MOST_STEPS)
            return status;
    }
}

static hb_status by_the_model(hb_evaluate_frame *f, double tau, uint64_t part, size_t n, double *z)
{
    hb_generate_settings settings;
    hb_generate_settings_default(sizeof settings, &settings);
    settings.seed = f->plan->seed;
    settings.n_steps = DRIFT_STEPS;
    settings.tau_min = fmin(tau, LAST_TAU * f->info.tau_max);
    settings.det_tau = 0;
    settings.denoise = HB_DENOISE_NONE;
    return hb_evaluate_frame_generate(f, &settings, FRESH + part * PART, n, z);
}

hb_status hb_evaluate_frame_points(hb_evaluate_frame *f, double tau, uint64_t part, size_t n,
                                   double *z)
{
    if (f->info.process == HB_PROCESS_DRIFT) return by_the_model(f, tau, part, n, z);
    if (!f->truth) return noisy_rows(f, tau, part, n, z);
    return hb_mixture_sample_at(f->context, f->truth, (hb_process)f->info.process, f->plan->seed,
                                FRESH + part * PART, n, tau, z, NULL);
}
