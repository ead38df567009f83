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

static hb_status draw_regions(hb_figure *figure, const void *user)
{
    const hb_comparison *result = user;
    int sets[N_SHOWN];
    const int n = shown_sets(result, 2, sets);
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

static hb_status draw_residual(hb_figure *figure, const void *user)
{
    const hb_comparison *result = user;
    int sets[N_SHOWN];
    const int n = shown_sets(result, N_SHOWN, sets);
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

static hb_status draw_training(hb_figure *figure, const void *user)
{
    const hb_comparison *result = user;
    int sets[N_SHOWN];
    const int n = shown_sets(result, N_SHOWN, sets);
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
    hb_points points = {0};
    if (!hb_compare_at(result, set, method, 0)) return HB_OK;
    for (int k = 0; k < PLANAR_TAUS; k++) {
        const int value = PLANAR_ERROR + PLANAR_REGIONS * k + region;
        const hb_mean mean = hb_compare_mean(result, set, method, value);
        hb_points_add_error(&points, hb_planar_taus[k] * (1 + 0.02 * (method - 2)), mean.mean,
                            mean.se); /* bars side by side */
    }
    return hb_points_draw(figure, &points, 1, hb_planar_recipes[method].color,
                          named ? hb_planar_recipes[method].label : "");
}

static hb_status draw_taus(hb_figure *figure, const void *user)
{
    const hb_comparison *result = user;
    int sets[N_SHOWN];
    const int n = shown_sets(result, N_SHOWN, sets);
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

static hb_status start_ratios(hb_figure *figure, const hb_comparison *result, size_t k)
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
    hb_panel_settings panel = hb_study_panel_of("planar_ratios", k);
    panel.x_min = 0.4;
    panel.x_max = n + 0.6;
    panel.x_names = list;
    HB_TRY(hb_figure_panel(figure, &panel));
    const double ends[] = {0.4, n + 0.6}, one[] = {1, 1};
    return hb_figure_series(figure, HB_STYLE_DASHED, 6, 2, "", ends, one, NULL, NULL);
}

static hb_status add_ratios(hb_figure *figure, const hb_comparison *result, int method, int other,
                            int value, double shift)
{
    hb_points points = {0};
    int place = 0;
    for (int set = 0; set < PLANAR_SETS; set++) {
        if (!hb_planar_has(result, set)) continue;
        place++;
        const hb_mean logs = hb_compare_logs(result, set, 1, method, other, value);
        if (isnan(logs.mean)) continue;
        hb_points_add(&points, place + shift, exp(logs.mean), exp(logs.mean - logs.se),
                      exp(logs.mean + logs.se));
    }
    return hb_points_draw(figure, &points, 0, hb_planar_recipes[method].color,
                          hb_planar_recipes[method].label);
}

static hb_status draw_ratios(hb_figure *figure, const void *user)
{
    const hb_comparison *result = user;
    static const int steps[] = {PLANAR_DSM_TARGETS, PLANAR_FP, PLANAR_FP_TARGETS, PLANAR_HB,
                                PLANAR_HB_PAPER};
    const int low = PLANAR_ERROR + PLANAR_REGIONS * PLANAR_TAU_TABLE + 1;
    HB_TRY(start_ratios(figure, result, 0));
    for (int i = 0; i < 5; i++)
        HB_TRY(add_ratios(figure, result, steps[i], PLANAR_DSM, low, 0.12 * (i - 2)));
    HB_TRY(start_ratios(figure, result, 1));
    HB_TRY(add_ratios(figure, result, PLANAR_FP_TARGETS, PLANAR_DSM_TARGETS, low, -0.08));
    HB_TRY(add_ratios(figure, result, PLANAR_HB, PLANAR_DSM_TARGETS, low, 0.08));
    HB_TRY(start_ratios(figure, result, 2));
    HB_TRY(add_ratios(figure, result, PLANAR_FP_TIME, PLANAR_DSM_TIME, low, -0.08));
    return add_ratios(figure, result, PLANAR_HB, PLANAR_DSM_TIME, low, 0.08);
}

hb_status hb_planar_figures(hb_gallery *gallery, const hb_comparison *result)
{
    int sets[N_SHOWN];
    const int n = shown_sets(result, N_SHOWN, sets), two = n < 2 ? n : 2;
    if (n > 0) {
        HB_TRY(hb_study_draw(gallery, "planar_regions", two, 0, draw_regions, result));
        HB_TRY(hb_study_draw(gallery, "planar_residual", 0, n, draw_residual, result));
        HB_TRY(hb_study_draw(gallery, "planar_training", n, 0, draw_training, result));
        HB_TRY(hb_study_draw(gallery, "planar_multitau", 0, n, draw_taus, result));
    }
    HB_TRY(hb_study_draw(gallery, "planar_ratios", 0, 0, draw_ratios, result));
    return hb_planar_field_figures(gallery, result);
}
