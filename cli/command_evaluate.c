/* heatball evaluate: how good a model is.
 *
 *     MODEL, --data -> error of the score by tau and region, curl, residual; samples beside real
 *                      ones (MMD, modes); likelihood of rows that it has not seen
 * A named set gives the exact score; of a file, the rows that `train` held out are found again
 * from the model's seed. What cannot be measured is null in the JSON, with the reason beside it. */
#include "command_evaluate.h"
#include "commands.h"
#include "plot_path.h"
#include "study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_DRAWS = 50 };
static const double HELD_OUT = 0.1;
static const double USUAL_TAU[] = {0.01, 0.03, 0.1, 0.3, 0.5, 0.8, 1.5};
enum { N_USUAL = sizeof USUAL_TAU / sizeof *USUAL_TAU };

typedef struct evaluate_values {
    const char *model, *data, *plot;
    hb_reals tau, radii;
    uint64_t draws, samples, seed;
    double fraction, held_out;
    int json;
} evaluate_values;

#define VALUES evaluate_values
static const hb_option evaluate_options[] = {
    HB_OPTION_HEADING("Model and data"),
    HB_OPTION(TEXT, NULL, "MODEL", model, "a model file of heatball train",
              .rules = HB_OPTION_REQUIRED | HB_OPTION_POSITIONAL),
    HB_OPTION(TEXT, "data", "NAME|FILE", data,
              "a set of heatball data list, or a .npy or .csv file of rows: that of the training "
              "or another",
              .rules = HB_OPTION_REQUIRED),
    HB_OPTION(REAL, "held-out", "F", held_out,
              "fraction of the rows of a file that train held out; 1 for a file of which it has "
              "seen nothing; default: those that the model has not seen, else 0.1",
              .max = 1, .rules = HB_OPTION_ABOVE),
    HB_OPTION_HEADING("Measurements"),
    HB_OPTION(REALS, "tau", "LIST", tau,
              "tau at which the score is evaluated; default: those of 0.01, 0.03, 0.1, 0.3, 0.5, "
              "0.8, 1.5 that the model was trained for",
              .max = 1e6, .rules = HB_OPTION_ABOVE),
    HB_OPTION(UNSIGNED, NULL, "N", draws, "draws at each tau for the error of the score",
              .letter = 'n', .min = LEAST_DRAWS, .max = 1e9, .fallback = "10000"),
    HB_OPTION(REALS, "radii", "LIST", radii,
              "radii of the heat balls of the residual, in the model's coordinates", .max = 1e6,
              .rules = HB_OPTION_ABOVE, .old = "radius"),
    HB_OPTION(REAL, "time-fraction", "F", fraction,
              "without --radii: fraction of the time from the model's smallest tau that a ball "
              "reaches back, r^2 = 4 pi F (tau - tau_min)",
              .max = 1, .rules = HB_OPTION_ABOVE | HB_OPTION_BELOW, .fallback = "0.4",
              .old = "radius-share"),
    HB_OPTION(UNSIGNED, "samples", "N", samples,
              "samples to generate, and real rows to compare them with; 0: none, and no likelihood",
              .max = 1e6, .fallback = "2000"),
    HB_OPTION_SEED(seed, "1"),
    HB_OPTION_HEADING("Output"),
    HB_OPTION_JSON,
    HB_OPTION(TEXT, "plot", "FILE", plot,
              "draw the error of the score against tau, by region, into this file, .svg, .png or "
              ".pdf by its name",
              .rules = HB_OPTION_FIGURE),
    {0}};

/* ---- what is asked for ---- */

/* Without --held-out the model tells which rows it has seen. */
static hb_status evaluate_find_held_out(const evaluate_values *v, const hb_model *model,
                                        hb_train_data *data)
{
    const size_t all = data->n + data->held;
    const int given = !isnan(v->held_out);
    long seen;
    HB_TRY(hb_train_data_seen(data, model, &seen));
    const size_t trained = seen > 0 ? (size_t)seen : 0;
    if (!given && seen >= 0) data->held = all - trained;
    const int wrong = given && seen >= 0 && data->held > all - trained;
    data->n = all - data->held;
    data->why = wrong          ? "some are rows that the model was trained on"
                : given        ? "as --held-out says"
                : seen < 0     ? "the model keeps no mean of its rows that would tell its file"
                : trained == 0 ? "it is not the file that the model was trained on"
                               : "the model was trained on the others";
    return HB_OK;
}

static hb_status evaluate_read_data(hb_session *session, const evaluate_values *v,
                                    const hb_model_info *info, hb_train_data *out)
{
    const double fraction = isnan(v->held_out) ? HELD_OUT : v->held_out;
    hb_status status;
    HB_REFUSE_IF(session, !hb_train_data_is_file(v->data) && !isnan(v->held_out),
                 "--held-out is for rows of a file; --data is %.80s", v->data);
    if (hb_train_data_is_file(v->data))
        status = hb_train_data_read(session, v->data, NULL, fraction, info->seed, out);
    else
        status = hb_train_data_named(session, v->data, 0, v->seed, out);
    HB_REFUSE_IF(session, status == HB_OK && out->dim != info->dim,
                 "%.150s has %d dimension%s; %.150s was trained on %d", v->data, out->dim,
                 out->dim == 1 ? "" : "s", v->model, info->dim);
    return status;
}

/* tau (n_tau) of the plan: room for the usual ones or a copy of the given ones. */
static hb_status evaluate_choose_tau(hb_session *session, const evaluate_values *v,
                                     const hb_model_info *info, double *tau, hb_evaluate_plan *plan)
{
    for (size_t i = 0; i < v->tau.n; i++) {
        tau[plan->n_tau++] = v->tau.values[i];
        HB_REFUSE_IF(session, tau[i] < info->tau_min || tau[i] > info->tau_max,
                     "--tau has %g; %.200s was trained for %g to %g", tau[i], v->model,
                     info->tau_min, info->tau_max);
    }
    for (size_t i = 0; v->tau.n == 0 && i < N_USUAL; i++)
        if (USUAL_TAU[i] >= info->tau_min && USUAL_TAU[i] <= info->tau_max)
            tau[plan->n_tau++] = USUAL_TAU[i];
    if (plan->n_tau == 0) tau[plan->n_tau++] = info->tau_max;
    plan->tau = tau;
    return HB_OK;
}

/* ---- the figure ----
 * Lines through points with bars of one standard error; the grid has none, its points are fixed. */

enum { REGIONS = 4 };

static int by_tau(const void *a, const void *b)
{
    const double x = ((const hb_score_error *)a)->tau, y = ((const hb_score_error *)b)->tau;
    return (x > y) - (x < y);
}

/* Region k; work (4, n). */
static hb_status regions_add(hb_figure *figure, const char *label, int k, size_t n,
                             const hb_score_error *errors, double *work)
{
    double *x = work, *y = x + n, *low = y + n, *high = low + n;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const hb_score_error *e = &errors[i];
        const double values[REGIONS][2] = {
            {e->all, e->all_se}, {e->low, e->low_se}, {e->high, e->high_se}, {e->grid, 0}};
        const double value = values[k][0], se = values[k][1];
        if (!(value > 0)) continue;
        x[count] = e->tau;
        y[count] = value;
        low[count] = fmax(value - se, value / 100);
        high[count++] = value + se;
    }
    if (count == 0) return HB_OK;
    HB_TRY(hb_figure_series(figure, HB_STYLE_LINE, k, count, label, x, y, NULL, NULL));
    return hb_figure_series(figure, HB_STYLE_POINTS, k, count, NULL, x, y, low, high);
}

static hb_status regions_draw(hb_figure *figure, const char *title, size_t n,
                              const hb_score_error *errors, double *work)
{
    static const char *const labels[REGIONS] = {"all", "lowest 20 % of the mass", "the rest",
                                                "grid, u > 10^{-4}"};
    hb_panel_settings panel =
        hb_study_panel(title, "{/:Italic τ}", "mean squared error of the score");
    panel.log_x = panel.log_y = 1;
    HB_TRY(hb_figure_panel(figure, &panel));
    for (int k = 0; k < REGIONS; k++) HB_TRY(regions_add(figure, labels[k], k, n, errors, work));
    return HB_OK;
}

static hb_status regions_write(hb_session *session, const char *title, size_t n,
                               const hb_score_error *errors, const char *path)
{
    hb_figure *figure = NULL;
    double *work = malloc(4 * n * sizeof *work); // (4, n)
    hb_score_error *sorted = malloc(n * sizeof *sorted);
    hb_status status = work && sorted ? HB_OK : HB_ERROR_MEMORY;
    if (status == HB_OK) {
        memcpy(sorted, errors, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_tau);
        status = hb_figure_create(hb_session_context(session), 1, 1, 480, 720, &figure);
    }
    if (status == HB_OK) status = regions_draw(figure, title, n, sorted, work);
    status = hb_plot_path_write(figure, status, path);
    free(work);
    free(sorted);
    return status;
}

static hb_status evaluate_draw(hb_session *session, const evaluate_values *v,
                               const hb_evaluate_plan *plan, const hb_evaluation *e)
{
    char name[120], loss[40], title[220];
    hb_model_info info;
    if (!v->plot) return HB_OK;
    hb_model_info_get(plan->model, sizeof info, &info);
    hb_figure_plain(v->data, sizeof name, name);
    hb_figure_plain(info.loss, sizeof loss, loss);
    snprintf(title, sizeof title, "error of the score on %s, trained by %s", name, loss);
    return regions_write(session, title, plan->n_tau, e->score, v->plot);
}

/* ---- the command ---- */

static hb_status evaluate(hb_session *session, const evaluate_values *v, hb_evaluate_plan *plan)
{
    hb_evaluation e;
    hb_status status = hb_evaluate(session, plan, &e);
    if (status == HB_OK && v->plot && e.no_score)
        status =
            hb_session_refuse(session, "--plot draws the error of the score, but %s", e.no_score);
    if (status == HB_OK) status = evaluate_draw(session, v, plan, &e);
    if (status == HB_OK) status = hb_evaluate_print(session, v->model, v->plot, plan, &e, v->json);
    hb_evaluation_destroy(&e);
    return status;
}

static hb_status plan_and_run(hb_session *session, const evaluate_values *v, hb_model *model,
                              hb_train_data *data, double *tau)
{
    hb_model_info info;
    hb_model_info_get(model, sizeof info, &info);
    hb_evaluate_plan plan = {.model = model,
                             .data = data,
                             .n_radii = v->radii.n,
                             .radii = v->radii.values,
                             .fraction = v->fraction,
                             .draws = v->draws,
                             .seed = v->seed,
                             .samples = (size_t)v->samples};
    hb_status status = evaluate_read_data(session, v, &info, data);
    if (status == HB_OK && hb_train_data_is_file(v->data))
        status = evaluate_find_held_out(v, model, data);
    if (status == HB_OK) status = evaluate_choose_tau(session, v, &info, tau, &plan);
    if (status == HB_OK && v->plot && !data->set)
        status = hb_session_refuse(session,
                                   "--plot draws the error of the score, which is known for a "
                                   "named set only; --data is %.200s",
                                   v->data);
    return status == HB_OK ? evaluate(session, v, &plan) : status;
}

static hb_status evaluate_images(hb_session *session, const evaluate_values *v,
                                 const hb_model *model)
{
    const char *other = v->plot               ? "--plot"
                        : v->tau.n            ? "--tau"
                        : v->radii.n          ? "--radii"
                        : !isnan(v->held_out) ? "--held-out"
                                              : NULL;
    HB_REFUSE_IF(session, other, "%s is not for images; --data is %.200s, whose score is not known",
                 other, v->data);
    return hb_evaluate_image_set(session, v->model, model, v->data, (size_t)v->samples, v->seed,
                                 v->json);
}

static hb_status run_evaluate(hb_session *session, const void *values)
{
    const evaluate_values *v = values;
    hb_model *model = NULL;
    hb_train_data data = {0};
    double *tau = malloc((v->tau.n + N_USUAL) * sizeof *tau);
    hb_status status = tau ? hb_plot_path_check(session, v->plot) : HB_ERROR_MEMORY;
    if (status == HB_OK) status = hb_model_load(hb_session_context(session), v->model, &model);
    if (status == HB_OK && hb_evaluate_image_set_is(v->data))
        status = evaluate_images(session, v, model);
    else if (status == HB_OK)
        status = plan_and_run(session, v, model, &data, tau);
    hb_train_data_destroy(&data);
    hb_model_destroy(model);
    free(tau);
    return status;
}

const hb_command hb_command_evaluate = {
    .name = "evaluate",
    .summary = "measure the errors of a model",
    .text = "Measures a model of heatball train: at each tau the mean squared error of its score "
            "(named sets, where the exact one is known) over all draws of the distribution at tau, "
            "over the lowest 20 % of its probability mass, over the rest and over a grid; its curl "
            "mass; its mean-value residual (energy head); the maximum mean discrepancy of "
            "generated samples and real ones, beside that of real ones among themselves; the modes "
            "that the samples found; and the negative log-likelihood of rows that it was not "
            "trained on. Errors and residuals are in the model's coordinates, which are those of "
            "the data unless it was standardised.",
    .examples =
        {"heatball train --data ring --loss hb --epochs 20 --width 64 -o ring.safetensors",
         "heatball evaluate ring.safetensors --data ring --samples 500",
         "heatball evaluate ring.safetensors --data ring --tau 0.1,0.3,0.8 --samples 500 "
         "--plot error.svg",
         "heatball evaluate ring.safetensors --data ring --tau 0.3 --radii 0.2,0.5,1 --samples 0"},
    .options = evaluate_options,
    .size = sizeof(evaluate_values),
    .run = run_evaluate};
