/* Figures of the planar study: curves during the training, errors by tau, ratios by set.
 *
 * Curves are means over seeds at the same step. A figure shows those of its sets that were run. */
#include "planar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* elongated_gmm, sparse_dense_gmm, ring: the sets of the paper's figures */
static const int SHOWN_SETS[] = {2, 1, 4};
enum { N_SHOWN = 3 };

static int shown_sets(const hb_comparison *result, int most, int *sets)
{
    int n = 0;
    for (int i = 0; i < N_SHOWN && n < most; i++)
        if (hb_planar_has(result, SHOWN_SETS[i])) sets[n++] = SHOWN_SETS[i];
    return n;
}

/* Mean over seeds of one number of the curves; returns the number of moments. */
static size_t mean_curve(const hb_comparison *result, int set, int method, int tau, int region,
                         double *step, double *value)
{
    size_t n = 0;
    for (int k = 0; k < PLANAR_MOMENTS; k++) {
        double sum = 0, at = 0;
        int count = 0;
        for (size_t i = 0; i < result->n; i++) {
            const hb_trial *run = &result->trials[i];
            if (run->set != set || run->method != method || !(hb_planar_curve(run)[k].step > 0))
                continue;
            sum += tau < 0 ? hb_planar_curve(run)[k].residual
                           : hb_planar_curve(run)[k].error[tau][region];
            at = hb_planar_curve(run)[k].step;
            count++;
        }
        if (count == 0) continue;
        step[n] = at;
        value[n++] = sum / count;
    }
    return n;
}

static hb_status add_curve(hb_figure *figure, const hb_comparison *result, int set, int method,
                           int tau, int region, int named)
{
    double step[PLANAR_MOMENTS], value[PLANAR_MOMENTS];
    const size_t n = mean_curve(result, set, method, tau, region, step, value);
    if (n == 0) return HB_OK;
    return hb_figure_series(figure, HB_STYLE_LINE, hb_planar_recipes[method].color, n,
                            named ? hb_planar_recipes[method].label : "", step, value, NULL, NULL);
}

/* y_min: room for the key below the curves; NaN: none is needed. */
static hb_status start_curves(hb_figure *figure, const char *title, const char *y_label,
                              const char *key, double y_min)
{
    hb_panel_settings panel = hb_study_panel(title, "step of training", y_label);
    panel.y_min = y_min;
    panel.log_x = panel.log_y = 10;
    panel.key = key;
    return hb_figure_panel(figure, &panel);
}

/* ---- region curves ---- */

static hb_status draw_regions(hb_figure *figure, const hb_comparison *result, int n,
                              const int *sets)
{
    char title[96];
    for (int i = 0; i < n; i++)
        for (int region = 2; region >= 1; region--) {
            snprintf(title, sizeof title, "%s: %s density", hb_planar_sets[sets[i]].name,
                     region == 1 ? "low" : "high");
            for (char *c = title; *c; c++)
                if (*c == '_') *c = ' ';
            HB_TRY(start_curves(figure, title, "error of the score", "top right", NAN));
            for (int m = PLANAR_DSM; m <= PLANAR_HB; m++)
                HB_TRY(add_curve(figure, result, sets[i], m, PLANAR_TAU_TABLE_CURVE, region, 1));
        }
    return HB_OK;
}

/* ---- residual during training ---- */

static hb_status draw_residual(hb_figure *figure, const hb_comparison *result, int n,
                               const int *sets)
{
    char title[64];
    for (int i = 0; i < n; i++) {
        snprintf(title, sizeof title, "%s", hb_planar_sets[sets[i]].name);
        for (char *c = title; *c; c++)
            if (*c == '_') *c = ' ';
        HB_TRY(start_curves(figure, title, "scaled residual, rms", "bottom left", 3e-4));
        for (int m = PLANAR_DSM; m <= PLANAR_HB_PAPER; m++)
            HB_TRY(add_curve(figure, result, sets[i], m, -1, 0, i == 0));
    }
    return HB_OK;
}

/* ---- training at several tau ---- */

static hb_status draw_training(hb_figure *figure, const hb_comparison *result, int n,
                               const int *sets)
{
    char title[96];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < PLANAR_CURVE_TAUS; k++) {
            snprintf(title, sizeof title, "%s, {/:Italic τ} = %g", hb_planar_sets[sets[i]].name,
                     hb_planar_curve_taus[k]);
            for (char *c = title; *c != ','; c++)
                if (*c == '_') *c = ' ';
            HB_TRY(start_curves(figure, title, k ? NULL : "error of the score", "top right", NAN));
            for (int m = PLANAR_DSM; m <= PLANAR_HB; m++)
                HB_TRY(add_curve(figure, result, sets[i], m, k, 0, k == 0));
        }
    return HB_OK;
}

/* ---- error against tau ---- */

static hb_status add_taus(hb_figure *figure, const hb_comparison *result, int set, int method,
                          int region, int named)
{
    double x[PLANAR_TAUS], y[PLANAR_TAUS], low[PLANAR_TAUS], high[PLANAR_TAUS];
    if (!hb_compare_at(result, set, method, 0)) return HB_OK;
    for (int k = 0; k < PLANAR_TAUS; k++) {
        const int value = PLANAR_ERROR + PLANAR_REGIONS * k + region;
        const hb_mean mean = hb_compare_mean(result, set, method, value);
        const double se = mean.se;
        x[k] = hb_planar_taus[k] * (1 + 0.02 * (method - 2)); /* bars side by side */
        y[k] = mean.mean;
        low[k] = isnan(se) ? NAN : fmax(y[k] - se, 0.1 * y[k]);
        high[k] = isnan(se) ? NAN : y[k] + se;
    }
    HB_TRY(hb_figure_series(figure, HB_STYLE_THIN, hb_planar_recipes[method].color, PLANAR_TAUS, "",
                            x, y, NULL, NULL));
    return hb_figure_series(figure, HB_STYLE_POINTS, hb_planar_recipes[method].color, PLANAR_TAUS,
                            named ? hb_planar_recipes[method].label : "", x, y, low, high);
}

static hb_status draw_taus(hb_figure *figure, const hb_comparison *result, int n, const int *sets)
{
    char title[96];
    for (int region = 0; region < 2; region++)
        for (int i = 0; i < n; i++) {
            snprintf(title, sizeof title, "%s: %s", hb_planar_sets[sets[i]].name,
                     region ? "low density" : "everywhere");
            for (char *c = title; *c; c++)
                if (*c == '_') *c = ' ';
            hb_panel_settings panel = hb_study_panel(title, "{/:Italic τ}", "error of the score");
            hb_study_panel_range(&panel, 0, 0.9, NAN, NAN);
            panel.log_y = 10;
            panel.key = "bottom left";
            panel.y_min = 2e-6; /* room for the key below the points */
            HB_TRY(hb_figure_panel(figure, &panel));
            for (int m = PLANAR_DSM; m <= PLANAR_HB_PAPER; m++)
                HB_TRY(add_taus(figure, result, sets[i], m, region, i == 0));
        }
    return HB_OK;
}

/* ---- ratios by set ---- */

static hb_status start_ratios(hb_figure *figure, const hb_comparison *result, const char *title,
                              const char *units, double y_max)
{
    static const char *const names[PLANAR_SETS] = {"asymmetric", "sparse-dense", "elongated",
                                                   "two spiral", "ring",         "pinwheel",
                                                   "two moon",   "double ring"};
    char list[160] = "";
    int n = 0;
    for (int set = 0; set < PLANAR_SETS; set++)
        if (hb_planar_has(result, set)) {
            const size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s%s", n++ ? "; " : "", names[set]);
        }
    hb_panel_settings panel = hb_study_panel(title, NULL, units);
    hb_study_panel_range(&panel, 0.4, n + 0.6, NAN, NAN);
    panel.log_y = 10;
    panel.x_names = list;
    panel.y_max = y_max; /* room for the legend above the points */
    HB_TRY(hb_figure_panel(figure, &panel));
    const double ends[] = {0.4, n + 0.6}, one[] = {1, 1};
    return hb_figure_series(figure, HB_STYLE_DASHED, 6, 2, "", ends, one, NULL, NULL);
}

static hb_status add_ratios(hb_figure *figure, const hb_comparison *result, int method, int other,
                            int value, double shift)
{
    double x[PLANAR_SETS], y[PLANAR_SETS], low[PLANAR_SETS], high[PLANAR_SETS];
    size_t n = 0;
    int place = 0;
    for (int set = 0; set < PLANAR_SETS; set++) {
        if (!hb_planar_has(result, set)) continue;
        place++;
        const hb_mean logs = hb_compare_logs(result, set, 1, method, other, value);
        if (isnan(logs.mean)) continue;
        x[n] = place + shift;
        y[n] = exp(logs.mean);
        low[n] = exp(logs.mean - logs.se);
        high[n++] = exp(logs.mean + logs.se);
    }
    return hb_figure_series(figure, HB_STYLE_POINTS, hb_planar_recipes[method].color, n,
                            hb_planar_recipes[method].label, x, y, low, high);
}

static hb_status draw_ratios(hb_figure *figure, const hb_comparison *result)
{
    static const int steps[] = {PLANAR_DSM_TARGETS, PLANAR_FP, PLANAR_FP_TARGETS, PLANAR_HB,
                                PLANAR_HB_PAPER};
    const int low = PLANAR_ERROR + PLANAR_REGIONS * PLANAR_TAU_TABLE + 1;
    HB_TRY(start_ratios(figure, result, "(A) Low density, equal steps", "error / DSM's", 300));
    for (int i = 0; i < 5; i++)
        HB_TRY(add_ratios(figure, result, steps[i], PLANAR_DSM, low, 0.12 * (i - 2)));
    HB_TRY(start_ratios(figure, result, "(B) The same targets, equal steps",
                        "error / that of DSM, same targets", 30));
    HB_TRY(add_ratios(figure, result, PLANAR_FP_TARGETS, PLANAR_DSM_TARGETS, low, -0.08));
    HB_TRY(add_ratios(figure, result, PLANAR_HB, PLANAR_DSM_TARGETS, low, 0.08));
    HB_TRY(start_ratios(figure, result, "(C) The same targets, equal time",
                        "error / that of DSM, same targets", 30));
    HB_TRY(add_ratios(figure, result, PLANAR_FP_TIME, PLANAR_DSM_TIME, low, -0.08));
    return add_ratios(figure, result, PLANAR_HB, PLANAR_DSM_TIME, low, 0.08);
}

/* ---- all of them ---- */

typedef enum curve_figure { REGIONS, RESIDUAL, TRAINING, TAUS, RATIOS, CURVE_FIGURES } curve_figure;

static const char *const FIGURES[CURVE_FIGURES] = {
    "planar_regions", "planar_residual", "planar_training", "planar_multitau", "planar_ratios"};

static hb_status draw_one(hb_context *context, const hb_comparison *result, int which,
                          const char *directory, FILE *table, int *noted)
{
    int sets[N_SHOWN];
    const int n = shown_sets(result, which == REGIONS ? 2 : N_SHOWN, sets);
    static const int height[CURVE_FIGURES] = {400, 420, 300, 380, 360};
    static const int width[CURVE_FIGURES] = {520, 480, 340, 460, 1000};
    const int rows = which == REGIONS || which == TRAINING ? n
                     : which == RATIOS                     ? 3
                     : which == TAUS                       ? 2
                                                           : 1;
    const int columns = which == REGIONS    ? 2
                        : which == TRAINING ? PLANAR_CURVE_TAUS
                        : which == RATIOS   ? 1
                                            : n;
    hb_figure *figure;
    HB_TRY(hb_figure_create(context, rows, columns, height[which], width[which], &figure));
    hb_status status = which == REGIONS    ? draw_regions(figure, result, n, sets)
                       : which == RESIDUAL ? draw_residual(figure, result, n, sets)
                       : which == TRAINING ? draw_training(figure, result, n, sets)
                       : which == TAUS     ? draw_taus(figure, result, n, sets)
                                           : draw_ratios(figure, result);
    if (status == HB_OK)
        status = hb_study_write_figure(context, figure, directory, FIGURES[which], table, noted);
    hb_figure_destroy(figure);
    return status;
}

hb_status hb_planar_figures(hb_context *context, const hb_comparison *result, const char *directory,
                            FILE *table, json_t *captions)
{
    int noted = 0, sets[N_SHOWN];
    for (int which = 0; which < CURVE_FIGURES; which++) {
        if (which != RATIOS && shown_sets(result, N_SHOWN, sets) == 0) continue;
        HB_TRY(draw_one(context, result, which, directory, table, &noted));
        hb_study_caption(captions, FIGURES[which], NULL);
    }
    return hb_planar_field_figures(context, result, directory, table, &noted, captions);
}
