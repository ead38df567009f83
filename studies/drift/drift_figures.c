/* Three figures: errors by process and method, the density along a line beside the solver's, and ratios to
 * denoising score matching by tau. */
#include "drift.h"

#include <math.h>
#include <string.h>

#define TAU "{/:Italic τ}"

/* ---- errors ---- */

static void name_list(const hb_comparison *result, size_t size, char *list)
{
    size_t used = 0;
    list[0] = '\0';
    for (int p = 0; p < DRIFT_PROBLEMS && used < size; p++)
        if (hb_drift_has(result, p))
            used += (size_t)snprintf(list + used, size - used, "%s%s", used ? "; " : "",
                                     hb_drift_processes[p].title);
}

static hb_status add_errors(hb_figure *figure, const hb_comparison *result, int method, int value)
{
    hb_points points = {0};
    for (int p = 0; p < DRIFT_PROBLEMS; p++) {
        if (!hb_drift_has(result, p)) continue;
        const hb_mean mean = hb_compare_mean(result, p, method, value);
        hb_points_add_error(&points, (double)points.n + 1 + 0.12 * (method - 2.5), mean.mean,
                            mean.se);
    }
    return hb_points_draw(figure, &points, 0, hb_drift_recipes[method].color,
                          hb_drift_recipes[method].label);
}

static hb_status draw_errors(hb_figure *figure, const void *user)
{
    const hb_comparison *result = user;
    char names[400];
    int n = 0;
    for (int p = 0; p < DRIFT_PROBLEMS; p++) n += hb_drift_has(result, p);
    name_list(result, sizeof names, names);
    for (int region = 0; region < DRIFT_REGIONS; region++) {
        hb_panel_settings panel = hb_study_panel_of("drift_errors", (size_t)region);
        panel.x_min = 0.4;
        panel.x_max = n + 2.2;
        panel.x_names = names;
        HB_TRY(hb_figure_panel(figure, &panel));
        for (int m = 0; m < DRIFT_METHODS; m++)
            HB_TRY(add_errors(figure, result, m,
                              DRIFT_ERROR + DRIFT_REGIONS * DRIFT_TAU_TABLE + region));
    }
    return HB_OK;
}

/* ---- density along a line ---- */

/* Mean over seeds of a model's density at point k of the line. */
static double mean_line(const hb_comparison *result, int problem, int method, int k)
{
    double sum = 0;
    for (int s = 0; s < result->seeds; s++)
        sum += hb_drift_line_of(hb_compare_at(result, problem, method, s))[k];
    return sum / result->seeds;
}

static hb_status draw_line(hb_figure *figure, const hb_comparison *result, int problem)
{
    static const int methods[] = {DRIFT_DSM, DRIFT_FP, DRIFT_HB};
    const hb_drift_process *p = &hb_drift_processes[problem];
    const hb_drift_truth *truth = &hb_drift_truths_of(result)[problem];
    double x[DRIFT_LINE], y[DRIFT_LINE], low[DRIFT_LINE], high[DRIFT_LINE];
    char label[96];
    const double length = hypot(p->to[0] - p->from[0], p->to[1] - p->from[1]);
    for (int k = 0; k < DRIFT_LINE; k++) {
        x[k] = length * (k / (DRIFT_LINE - 1.0) - 0.5);
        low[k] = exp(truth->line[k] - truth->line_error[k]);
        high[k] = exp(truth->line[k] + truth->line_error[k]);
    }
    snprintf(label, sizeof label, "place on the line from (%g, %g) to (%g, %g)", p->from[0],
             p->from[1], p->to[0], p->to[1]);
    hb_panel_settings panel = hb_study_panel(p->title, label, "density at " TAU " = 0.3");
    panel.log_y = 10;
    panel.key = "bottom center";
    panel.y_min = 1e-4; /* room for the key */
    HB_TRY(hb_figure_panel(figure, &panel));
    HB_TRY(hb_figure_series(figure, HB_STYLE_BAND, 6, DRIFT_LINE, "solver", x, NULL, low, high));
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < DRIFT_LINE; k++) y[k] = mean_line(result, problem, methods[i], k);
        HB_TRY(hb_figure_series(figure, HB_STYLE_LINE, hb_drift_recipes[methods[i]].color,
                                DRIFT_LINE, hb_drift_recipes[methods[i]].label, x, y, NULL, NULL));
    }
    for (int k = 0; k < DRIFT_LINE; k++) y[k] = exp(truth->line[k]);
    return hb_figure_series(figure, HB_STYLE_DASHED, 6, DRIFT_LINE, "", x, y, NULL, NULL);
}

/* The rotating double well and the Mueller-like potential, where they were run. */
static int shown_lines(const hb_comparison *result, int problems[2])
{
    int n = 0;
    for (int p = 1; p < 3; p++)
        if (hb_drift_has(result, p)) problems[n++] = p;
    return n;
}

static hb_status draw_lines(hb_figure *figure, const void *user)
{
    int problems[2];
    const int n = shown_lines(user, problems);
    for (int i = 0; i < n; i++) HB_TRY(draw_line(figure, user, problems[i]));
    return HB_OK;
}

/* ---- ratios by tau ---- */

static hb_status add_ratios(hb_figure *figure, const hb_comparison *result, int method, int region)
{
    hb_points points = {0};
    for (int k = 0; k < DRIFT_TAUS; k++) {
        const hb_drift_ratio r = hb_drift_compare(result, -1, method, DRIFT_DSM,
                                                  DRIFT_ERROR + DRIFT_REGIONS * k + region);
        hb_points_add(&points, hb_drift_taus[k] * (1 + 0.05 * (method - 3)), r.mean,
                      r.mean * exp(-r.spread), r.mean * exp(r.spread));
    }
    return hb_points_draw(figure, &points, 1, hb_drift_recipes[method].color,
                          hb_drift_recipes[method].label);
}

static hb_status draw_ratios(hb_figure *figure, const void *user)
{
    const double ends[] = {0.08, 1.3}, one[] = {1, 1};
    for (int region = 0; region < DRIFT_REGIONS; region++) {
        const hb_panel_settings panel = hb_study_panel_of("drift_ratios", (size_t)region);
        HB_TRY(hb_figure_panel(figure, &panel));
        HB_TRY(hb_figure_series(figure, HB_STYLE_DASHED, 6, 2, "", ends, one, NULL, NULL));
        for (int m = DRIFT_DSM_TARGETS; m < DRIFT_METHODS; m++)
            HB_TRY(add_ratios(figure, user, m, region));
    }
    return HB_OK;
}

hb_status hb_drift_figures(hb_gallery *gallery, const hb_comparison *result)
{
    int problems[2];
    const int lines = shown_lines(result, problems);
    HB_TRY(hb_study_draw(gallery, "drift_errors", 0, 0, draw_errors, result));
    if (lines) HB_TRY(hb_study_draw(gallery, "drift_density", 1, lines, draw_lines, result));
    return hb_study_draw(gallery, "drift_ratios", 0, 0, draw_ratios, result);
}
