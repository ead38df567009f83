/* One run: a set, a method, a seed.
 *
 * Draws 0 .. rows-1 of the set with the run's seed are the data; all that judges the model comes
 * from draws further on, or from the judge's own. During the training the errors at PLANAR_MOMENTS
 * steps, spaced evenly in the logarithm, are taken with the averaged weights of the moment. They
 * are computed here and not by hb_judge_score, whose lattice of 25921 points would cost more than
 * the training.
 *
 * Samples: Heun's method on the probability-flow ODE, then a step of it to tau = 0. Their MMD is
 * the mean against HELD samples of held-out data of the same size; the floor is that of the
 * held-out samples against each other. */
#include "planar.h"

#include <heatball/generate.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HELD = 3, CURL_POINTS = 500, LATTICE = 96, MAX_MODES = 16 };
#define FIRST_HELD (UINT64_C(1) << 20)  /* + (1 << 20) for each held-out sample */
#define FIRST_WATCH (UINT64_C(1) << 24) /* + (1 << 20) for each tau */
#define TAU_DIAGNOSTIC 0.5              /* of curl and rotation, as in the paper's figures */
#define BOX 3.0                         /* rotation is measured on [-BOX, BOX]^2 */

typedef struct watched {             /* draws of one tau */
    double *x, *exact, *tau, *given; // (n, 2), (n, 2), (n), (n, 2)
    char *low;                       // (n): of the fifth with the lowest density
} watched;

typedef struct job {
    hb_context *context;
    const hb_comparison *result;
    const hb_planar_size *size;
    hb_trial *run;
    hb_mixture *truth;
    void *memory;
    watched watch[PLANAR_CURVE_TAUS];
    hb_status status;     /* of the watch */
    double watch_seconds; /* its processor time: watching is not training */
} job;

/* ---- curves ---- */

static hb_status prepare_tau(job *j, int k, double *log_density, double *sorted)
{
    const size_t n = j->size->watch;
    const double tau = hb_planar_curve_taus[k];
    watched *w = &j->watch[k];
    HB_TRY(hb_mixture_sample_at(j->context, j->truth, HB_PROCESS_OU, j->run->seed,
                                FIRST_WATCH + ((uint64_t)k << 20), n, tau, w->x, NULL));
    HB_TRY(
        hb_mixture_score(j->context, j->truth, HB_PROCESS_OU, n, w->x, tau, log_density, w->exact));
    memcpy(sorted, log_density, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, hb_study_by_value);
    for (size_t i = 0; i < n; i++) {
        w->tau[i] = tau;
        w->low[i] = log_density[i] < sorted[n / 5];
    }
    return HB_OK;
}

static hb_status prepare_watch(job *j)
{
    const size_t n = j->size->watch, each = 8 * n;
    HB_TRY(hb_study_allocate(j->context, PLANAR_CURVE_TAUS * each + 2 * n, sizeof(double),
                             &j->memory));
    double *scratch = j->memory, *log_density = scratch + PLANAR_CURVE_TAUS * each;
    for (int k = 0; k < PLANAR_CURVE_TAUS; k++) {
        double *at = scratch + (size_t)k * each;
        j->watch[k] = (watched){at, at + 2 * n, at + 4 * n, at + 5 * n, (char *)(at + 7 * n)};
        HB_TRY(prepare_tau(j, k, log_density, log_density + n));
    }
    return HB_OK;
}

static hb_status watch_tau(const job *j, const hb_model *model, int k, double error[3])
{
    const size_t n = j->size->watch;
    const watched *w = &j->watch[k];
    HB_TRY(hb_model_score(j->context, model, n, w->x, w->tau, NULL, w->given));
    double sum[2] = {0}, count[2] = {0};
    for (size_t i = 0; i < n; i++) {
        const double a = w->given[2 * i] - w->exact[2 * i];
        const double b = w->given[2 * i + 1] - w->exact[2 * i + 1];
        sum[w->low[i] != 0] += a * a + b * b;
        count[w->low[i] != 0] += 1;
    }
    error[0] = (sum[0] + sum[1]) / (double)n;
    error[1] = sum[1] / count[1];
    error[2] = sum[0] / count[0];
    return HB_OK;
}

static hb_status watch_moment(const job *j, const hb_model *model, hb_planar_moment *moment)
{
    for (int k = 0; k < PLANAR_CURVE_TAUS; k++) HB_TRY(watch_tau(j, model, k, moment->error[k]));
    moment->residual = NAN;
    if (hb_planar_recipes[j->run->method].head != HB_HEAD_ENERGY) return HB_OK;
    return hb_planar_residual(j->context, j->truth, model,
                              hb_planar_curve_taus[PLANAR_TAU_TABLE_CURVE], j->run->seed,
                              j->size->watch_anchors, &moment->residual, NULL);
}

static int on_watch(void *user, const hb_model *model, uint64_t step, double loss)
{
    (void)loss;
    job *j = user;
    for (int k = 0; k < PLANAR_MOMENTS; k++) {
        hb_planar_moment *moment = &hb_planar_curve(j->run)[k];
        if (hb_planar_moment_step(j->run->steps, k) != step || moment->step > 0) continue;
        const double start = hb_cells_seconds();
        moment->step = (double)step;
        j->status = watch_moment(j, model, moment);
        j->watch_seconds += hb_cells_seconds() - start;
        return j->status != HB_OK;
    }
    return 0;
}

/* ---- training ---- */

static hb_status train(job *j, hb_model **model)
{
    const hb_planar_set *set = &hb_planar_sets[j->run->set];
    const size_t rows = (size_t)j->size->rows;
    hb_train_settings settings;
    hb_compare_train_settings(j->result, j->run, j->size->width, &settings);
    settings.standardise = HB_STANDARDISE_NO; /* exact scores are those of the same tau */
    settings.batch = set->batch;
    settings.sigma_max = set->sigma_max;
    settings.watch = on_watch;
    settings.watch_user = j;
    settings.watch_every = PLANAR_WATCH_EVERY;
    void *data;
    HB_TRY(hb_study_allocate(j->context, 2 * rows, sizeof(double), &data));
    hb_status status = hb_mixture_sample(j->context, j->truth, j->run->seed, 0, rows, data, NULL);
    const double start = hb_cells_seconds();
    if (status == HB_OK) status = hb_train(j->context, &settings, 2, 0, rows, data, NULL, model);
    j->run->seconds = hb_cells_seconds() - start - j->watch_seconds;
    const watched *w = &j->watch[PLANAR_TAU_TABLE_CURVE];
    if (status == HB_OK)
        hb_planar_floor(rows, data, hb_planar_curve_taus[PLANAR_TAU_TABLE_CURVE], j->size->watch,
                        w->x, w->exact, w->low, &j->run->value[PLANAR_FLOOR],
                        &j->run->value[PLANAR_FLOOR_LOW]);
    free(data);
    return j->status != HB_OK ? j->status : status;
}

/* ---- judging ---- */

static hb_status judge_errors(job *j, hb_model_view *view)
{
    for (int k = 0; k < PLANAR_TAUS; k++) {
        hb_score_error error;
        HB_TRY(hb_judge_score(j->context, j->truth, HB_PROCESS_OU, j->run->seed, j->size->judge,
                              hb_planar_taus[k], hb_model_view_score, view, sizeof error, &error));
        double *value = &j->run->value[PLANAR_ERROR + PLANAR_REGIONS * k];
        value[0] = error.all;
        value[1] = error.low;
        value[2] = error.high;
        value[3] = error.grid;
    }
    return HB_OK;
}

static hb_status judge_residuals(job *j, const hb_model *model)
{
    double *value = j->run->value;
    for (int k = 0; k <= PLANAR_TAUS; k++) value[PLANAR_RESIDUAL + k] = NAN;
    if (hb_planar_recipes[j->run->method].head != HB_HEAD_ENERGY) return HB_OK;
    for (int k = 0; k < PLANAR_TAUS; k++)
        HB_TRY(hb_planar_residual(j->context, j->truth, model, hb_planar_taus[k], j->run->seed,
                                  j->size->anchors, &value[PLANAR_RESIDUAL + k],
                                  k == PLANAR_TAU_TABLE ? &value[PLANAR_RESIDUAL_RAW] : NULL));
    return HB_OK;
}

hb_status hb_planar_generate(hb_context *context, const hb_planar_size *size, const hb_model *model,
                             uint64_t seed, size_t n, double *x)
{
    hb_generate_settings settings;
    hb_generate_settings_default(sizeof settings, &settings);
    settings.solver = HB_SOLVER_HEUN;
    settings.n_steps = size->generate_steps;
    settings.denoise = HB_DENOISE_FLOW;
    settings.seed = seed;
    return hb_model_generate(context, model, &settings, 0, n, NULL, x);
}

/* x: the generated rows; held[HELD]: held-out ones. */
static hb_status judge_mmd(job *j, const double *x, const double *held)
{
    const size_t n = j->size->samples;
    double sum = 0, floor_sum = 0;
    for (size_t a = 0; a < HELD; a++) {
        const double *real = held + 2 * n * a, *other = held + 2 * n * ((a + 1) % HELD);
        hb_mmd mmd;
        HB_TRY(hb_judge_mmd(j->context, 2, 0, n, n, x, real, sizeof mmd, &mmd));
        sum += mmd.mmd;
        HB_TRY(hb_judge_mmd(j->context, 2, 0, n, n, other, real, sizeof mmd, &mmd));
        floor_sum += mmd.mmd;
    }
    j->run->value[PLANAR_MMD] = sum / HELD;
    j->run->value[PLANAR_MMD_FLOOR] = floor_sum / HELD;
    return HB_OK;
}

static hb_status expected_shares(job *j, int mode_of_count, const int *mode_of, double *share)
{
    for (int k = 0; k < MAX_MODES; k++) share[k] = 0;
    for (int c = 0; c < mode_of_count; c++) {
        double weight;
        HB_TRY(hb_mixture_component(j->context, j->truth, (size_t)c, &weight, NULL, NULL));
        share[mode_of[c]] += weight;
    }
    return HB_OK;
}

static hb_status judge_modes(job *j, const double *x)
{
    const size_t n = j->size->samples, count = hb_mixture_count(j->truth);
    size_t counts[MAX_MODES], outliers;
    double share[MAX_MODES], *value = j->run->value;
    int found;
    void *mode_of;
    HB_TRY(hb_judge_modes(j->context, j->truth, n, x, counts, &outliers, &found));
    HB_TRY(hb_study_allocate(j->context, count, sizeof(int), &mode_of));
    const int modes = hb_mixture_modes(j->truth, mode_of);
    const hb_status status = expected_shares(j, (int)count, mode_of, share);
    free(mode_of);
    HB_TRY(status);
    double poorest = INFINITY;
    for (int k = 0; k < modes; k++)
        poorest = fmin(poorest, (double)counts[k] / ((double)n * share[k]));
    value[PLANAR_MODES] = modes;
    value[PLANAR_MODES_FOUND] = found;
    value[PLANAR_POOREST] = poorest;
    value[PLANAR_OUTLIERS] = (double)outliers / (double)n;
    return HB_OK;
}

static hb_status judge_samples(job *j, const hb_model *model)
{
    void *memory;
    const size_t n = j->size->samples;
    HB_TRY(hb_study_allocate(j->context, 2 * n * (1 + HELD), sizeof(double), &memory));
    double *x = memory, *held = x + 2 * n;
    hb_status status = hb_planar_generate(j->context, j->size, model, j->run->seed, n, x);
    for (size_t a = 0; a < HELD && status == HB_OK; a++)
        status = hb_mixture_sample(j->context, j->truth, j->run->seed, FIRST_HELD * (1 + a), n,
                                   held + 2 * n * a, NULL);
    if (status == HB_OK) status = judge_mmd(j, x, held);
    if (status == HB_OK) status = judge_modes(j, x);
    free(memory);
    return status;
}

/* ---- diagnostics of the field ---- */

/* Share of |s|^2 that is across the radius from the origin. */
static double tangential_share(size_t n, const double *x, const double *s)
{
    double across = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        const double a = x[2 * i], b = x[2 * i + 1], r2 = a * a + b * b;
        const double t = a * s[2 * i + 1] - b * s[2 * i];
        across += r2 > 0 ? t * t / r2 : 0;
        all += s[2 * i] * s[2 * i] + s[2 * i + 1] * s[2 * i + 1];
    }
    return across / all;
}

static hb_status judge_rotation(job *j, hb_model_view *view, double *x, double *field)
{
    const size_t n = (size_t)LATTICE * LATTICE;
    const double h = 2 * BOX / (LATTICE - 1);
    for (size_t i = 0; i < n; i++) {
        x[2 * i] = -BOX + h * (double)(i % LATTICE);
        x[2 * i + 1] = -BOX + h * (double)(i / LATTICE);
    }
    if (hb_model_view_score(view, n, x, TAU_DIAGNOSTIC, field) != 0) return HB_ERROR_CALLBACK;
    HB_TRY(hb_judge_helmholtz(j->context, LATTICE, LATTICE, h, h, field, NULL, NULL, NULL,
                              &j->run->value[PLANAR_ROTATION]));
    HB_TRY(
        hb_mixture_score(j->context, j->truth, HB_PROCESS_OU, n, x, TAU_DIAGNOSTIC, NULL, field));
    return hb_judge_helmholtz(j->context, LATTICE, LATTICE, h, h, field, NULL, NULL, NULL,
                              &j->run->value[PLANAR_ROTATION_EXACT]);
}

static hb_status judge_field(job *j, hb_model_view *view)
{
    const watched *w = &j->watch[PLANAR_TAU_TABLE_CURVE];
    const size_t lattice = (size_t)LATTICE * LATTICE;
    double *value = j->run->value;
    void *memory;
    HB_TRY(hb_model_score(j->context, view->model, j->size->watch, w->x, w->tau, NULL, w->given));
    value[PLANAR_TANGENTIAL] = tangential_share(j->size->watch, w->x, w->given);
    value[PLANAR_TANGENTIAL_EXACT] = tangential_share(j->size->watch, w->x, w->exact);
    HB_TRY(hb_study_allocate(j->context, 4 * lattice, sizeof(double), &memory));
    double *x = memory, curl_se;
    hb_status status = judge_rotation(j, view, x, x + 2 * lattice);
    if (status == HB_OK)
        status = hb_mixture_sample_at(j->context, j->truth, HB_PROCESS_OU, j->run->seed,
                                      FIRST_WATCH, CURL_POINTS, TAU_DIAGNOSTIC, x, NULL);
    if (status == HB_OK)
        status = hb_judge_curl(j->context, 2, 0, j->run->seed, CURL_POINTS, x, TAU_DIAGNOSTIC,
                               hb_model_view_score, view, &value[PLANAR_CURL], &curl_se);
    free(memory);
    return status;
}

static hb_status judge(job *j, const hb_model *model)
{
    hb_model_view view = {j->context, model, -1};
    HB_TRY(judge_errors(j, &view));
    HB_TRY(judge_residuals(j, model));
    HB_TRY(judge_samples(j, model));
    return judge_field(j, &view);
}

static hb_status keep(job *j, const hb_model *model)
{
    char *path;
    HB_TRY(hb_planar_model_path(j->context, j->result, j->run, &path));
    const hb_status status = hb_model_save(j->context, model, path);
    free(path);
    return status;
}

hb_status hb_planar_do(hb_context *context, const hb_comparison *result, hb_trial *run)
{
    job j = {context, result, hb_planar_size_of(result), run, .status = HB_OK};
    hb_model *model = NULL;
    hb_status status = hb_mixture_named(context, hb_planar_sets[run->set].name, &j.truth);
    if (status == HB_OK) status = prepare_watch(&j);
    if (status == HB_OK) status = train(&j, &model);
    if (status == HB_OK) status = judge(&j, model);
    if (status == HB_OK) status = keep(&j, model);
    hb_model_destroy(model);
    free(j.memory);
    hb_mixture_destroy(j.truth);
    return status;
}
