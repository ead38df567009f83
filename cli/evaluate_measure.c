/* What a model is worth, measured.
 *
 * At each tau, in the model's coordinates: the error of its score by region (hb_judge_score; needs
 * the exact score), its curl mass and its parabolic residual over points of the distribution at
 * tau. With R_i the residual at point i and s_i its own error,
 *     residual^2 = mean(R_i^2 - s_i^2),   error sd(R_i^2 - s_i^2)/(2 residual sqrt n)
 * since a squared estimate is too large by its variance. In up to SMALL_DIM dimensions R_i comes from
 * cubature, whose error has no variance: nothing is subtracted, and mean(2 |R_i| s_i + s_i^2) is
 * added to the error of residual^2. A model that solves the equation has 0; so
 * has one whose network gives 0, because the Gaussian reference is a solution. */
#include "command_evaluate.h"

#include <heatball/estimate.h>
#include <math.h>
#include <stdlib.h>

/* Points of a curl, of a residual, of a residual where its averages are random; pairs of these. */
enum {
    POINTS = 1000,
    SOME = 400,
    FEW = 100,
    PAIRS = 500,
    SMALL_DIM = 3,
    FULL_DIM = 32,
    PROBES = 16
};

/* ---- residual ---- */

/* Of n values with their own errors, standard errors where they are drawn; R becomes R^2 - se^2, or
 * R^2. */
static void residual_mean_square(int drawn, size_t n, double *R, const double *se, double *out,
                                 double *out_se)
{
    double mean, error, bias = 0;
    for (size_t i = 0; i < n; i++) {
        if (!drawn) bias += (2 * fabs(R[i]) + se[i]) * se[i] / (double)n;
        R[i] = R[i] * R[i] - (drawn ? se[i] * se[i] : 0);
    }
    hb_evaluate_mean(n, R, &mean, &error);
    error += bias;
    *out = mean > 0 ? sqrt(mean) : 0;
    *out_se = mean > 0 ? error / (2 * *out) : sqrt(error);
}

/* One radius at one tau: hb_mean_residual over n points. work (4, n). */
static hb_status residual_measure_radius(hb_evaluate_frame *f, const hb_problem *problem,
                                         const hb_field *field, size_t n, const double *z,
                                         double *work, hb_evaluate_residual *out)
{
    hb_mean_settings settings;
    hb_mean_settings_default(sizeof settings, &settings);
    settings.samples = PAIRS;
    settings.seed = f->plan->seed;
    double *part[4];
    for (size_t k = 0; k < 4; k++) part[k] = work + k * n;
    const double reach = out->radius * out->radius / (4 * M_PI);
    if (!(reach > 0 && out->tau - reach >= field->tau_min)) return HB_OK;
    HB_TRY(hb_mean_residual(
        f->context, problem, field, &settings, n, 1, z, out->tau, &out->radius,
        &(hb_residual_values){sizeof(hb_residual_values), part[0], part[1], part[2], part[3]}));
    const int drawn = f->info.dim > SMALL_DIM; /* as in src/mean/residual.c */
    residual_mean_square(drawn, n, part[0], part[1], &out->residual, &out->residual_se);
    residual_mean_square(drawn, n, part[2], part[3], &out->scaled, &out->scaled_se);
    return HB_OK;
}

/* The process of the model as a problem: dz = F dtau + sqrt(2) dW. */
static hb_status residual_process(const hb_evaluate_frame *f, hb_problem **out)
{
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = f->info.dim;
    settings.drift = f->info.process == HB_PROCESS_OU ? "-x[i]" : "0*x[i]";
    settings.noise = "sqrt(2)";
    return hb_problem_create(f->context, &settings, out);
}

static hb_status residual_measure(hb_evaluate_frame *f, const hb_problem *problem, size_t n,
                                  const double *z, size_t n_radii, hb_evaluate_residual *out)
{
    hb_field field;
    double *work = malloc(4 * n * sizeof *work); // (4, n)
    if (!work) return HB_ERROR_MEMORY;
    hb_status status = hb_model_field(f->context, f->plan->model, &field);
    for (size_t k = 0; status == HB_OK && k < n_radii; k++)
        status = residual_measure_radius(f, problem, &field, n, z, work, &out[k]);
    free(work);
    return status;
}

/* ---- all of a tau ---- */

static void residual_radii(const hb_evaluate_frame *f, double tau, hb_evaluate_residual *out)
{
    const hb_evaluate_plan *p = f->plan;
    const size_t n = p->n_radii ? p->n_radii : 1;
    const double own = sqrt(4 * M_PI * p->fraction * fmax(tau - f->info.tau_min, 0));
    for (size_t k = 0; k < n; k++)
        out[k] = (hb_evaluate_residual){tau, p->n_radii ? p->radii[k] : own, NAN, NAN, NAN, NAN};
}

static hb_status evaluation_measure_tau(hb_evaluate_frame *f, const hb_problem *problem, size_t i,
                                        double *z, hb_evaluation *out)
{
    const hb_evaluate_plan *p = f->plan;
    const size_t n_radii = p->n_radii ? p->n_radii : 1;
    const double tau = p->tau[i];
    const size_t few = f->info.dim <= SMALL_DIM ? SOME : FEW;
    hb_status status = HB_OK;
    out->score[i] = (hb_score_error){tau, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    out->curl[i] = out->curl_se[i] = NAN;
    residual_radii(f, tau, &out->residual[i * n_radii]);
    if (!out->no_score)
        status = hb_judge_score(f->context, f->truth, (hb_process)f->info.process, p->seed,
                                (size_t)p->draws, tau, hb_evaluate_frame_score, f,
                                sizeof out->score[i], &out->score[i]);
    if (status != HB_OK || out->no_points) return status;
    status = hb_evaluate_frame_points(f, tau, i, POINTS, z);
    if (status == HB_OK && f->info.dim > 1)
        status = hb_judge_curl(f->context, f->info.dim, f->info.dim <= FULL_DIM ? 0 : PROBES,
                               p->seed, POINTS, z, tau, hb_evaluate_frame_score, f, &out->curl[i],
                               &out->curl_se[i]);
    if (status == HB_OK && !out->no_residual)
        status = residual_measure(f, problem, few, z, n_radii, &out->residual[i * n_radii]);
    return status;
}

static void evaluation_reasons(const hb_evaluate_frame *f, hb_evaluation *out)
{
    const hb_train_data *data = f->plan->data;
    if (!data->set) out->no_score = "the exact score of rows of a file is not known";
    if (data->set && !f->truth) out->no_score = "the exact score under a drift is not known";
    if (!data->set && data->held == 0 && f->info.process != HB_PROCESS_DRIFT)
        out->no_points = "no row is held out";
    if (f->no_samples) out->no_points = f->no_samples;
    out->no_residual = out->no_points;
    if (f->info.head != HB_HEAD_ENERGY) out->no_residual = "only the energy head knows ln u";
    if (f->info.process == HB_PROCESS_DRIFT)
        out->no_residual = "the residual under a drift is not measured";
}

static hb_status evaluation_allocate(const hb_evaluate_plan *plan, hb_evaluation *out)
{
    const size_t n = plan->n_tau, radii = plan->n_radii ? plan->n_radii : 1;
    out->score = calloc(n, sizeof *out->score);
    out->curl = calloc(2 * n, sizeof *out->curl);
    out->residual = calloc(n * radii, sizeof *out->residual);
    out->curl_se = out->curl + n;
    return out->score && out->curl && out->residual ? HB_OK : HB_ERROR_MEMORY;
}

hb_status hb_evaluate(hb_session *session, const hb_evaluate_plan *plan, hb_evaluation *out)
{
    hb_evaluate_frame frame;
    hb_problem *problem = NULL;
    double *z = NULL;
    *out = (hb_evaluation){0};
    hb_status status = hb_evaluate_frame_create(session, plan, &frame);
    if (status == HB_OK) status = evaluation_allocate(plan, out);
    if (status == HB_OK) {
        evaluation_reasons(&frame, out);
        z = malloc(POINTS * (size_t)frame.info.dim * sizeof *z); // (POINTS, dim)
        status = z ? HB_OK : HB_ERROR_MEMORY;
    }
    if (status == HB_OK && !out->no_residual) status = residual_process(&frame, &problem);
    for (size_t i = 0; status == HB_OK && i < plan->n_tau; i++)
        status = evaluation_measure_tau(&frame, problem, i, z, out);
    if (status == HB_OK) status = hb_evaluate_samples(&frame, out);
    free(z);
    hb_problem_destroy(problem);
    hb_evaluate_frame_destroy(&frame);
    return status;
}

void hb_evaluation_destroy(hb_evaluation *evaluation)
{
    free(evaluation->score);
    free(evaluation->curl);
    free(evaluation->residual);
    free(evaluation->counts);
    free(evaluation->kolmogorov);
    *evaluation = (hb_evaluation){0};
}
