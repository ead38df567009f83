/* Figures: ratios of errors and excess likelihoods against the dimension.
 *
 * Points are means over families and seeds with bars of a standard error; those of one dimension stand side
 * by side. */
#include "dimension.h"

#include <math.h>

static hb_panel_settings panel_of(const hb_dimension_size *size, const char *title,
                                  const char *y_label)
{
    hb_panel_settings panel = hb_study_panel(title, "dimension {/:Italic d}", y_label);
    panel.log_x = 2;
    panel.x_min = size->dim[0] / 1.4;
    panel.x_max = size->dim[size->n_dims - 1] * 1.4;
    return panel;
}

typedef struct ratios { /* of some methods to another one, in one or more panels */
    int n, methods[3], other;
    double top; /* of the axis */
} ratios;

/* The largest end of a bar, over rows and values; and room for the legend above it. */
static double top_of(const hb_comparison *result, const ratios *shown, int all_rows)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    double most = 1;
    for (int r = all_rows ? 0 : hb_dimension_largest(size); r < size->n_rows; r++)
        for (int d = 0; d < size->n_dims; d++)
            for (int k = 0; k < DIMENSION_TAUS; k++)
                for (int i = 0; i < shown->n; i++) {
                    if (all_rows && k != DIMENSION_TABLE_TAU) continue;
                    const hb_mean mean = hb_dimension_compare(result, d, r, shown->methods[i],
                                                              shown->other, hb_dimension_low(k));
                    most = fmax(most, exp(mean.mean + mean.se));
                }
    return most * (1.1 + 0.1 * shown->n);
}

static hb_status draw_panel(hb_figure *figure, const hb_comparison *result, const char *title,
                            const ratios *shown, int r, int value, int named)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    hb_panel_settings panel = panel_of(size, title, "error, in units of DSM's, same targets");
    panel.y_min = 0;
    panel.y_max = shown->top;
    HB_TRY(hb_figure_panel(figure, &panel));
    const double ends[] = {panel.x_min, panel.x_max}, one[] = {1, 1};
    HB_TRY(hb_figure_series(figure, HB_STYLE_DASHED, 6, 2, "", ends, one, NULL, NULL));
    for (int i = 0; i < shown->n; i++) {
        hb_points points = {0};
        const hb_recipe *recipe = &hb_dimension_recipes[shown->methods[i]];
        for (int d = 0; d < size->n_dims; d++) {
            const hb_mean mean =
                hb_dimension_compare(result, d, r, shown->methods[i], shown->other, value);
            hb_points_add(&points, size->dim[d] * exp2(0.12 * (i - 0.5 * (shown->n - 1))),
                          exp(mean.mean), exp(mean.mean - mean.se), exp(mean.mean + mean.se));
        }
        HB_TRY(hb_points_draw(figure, &points, 1, recipe->color, named ? recipe->label : ""));
    }
    return HB_OK;
}

static hb_status draw_taus(hb_figure *figure, const hb_comparison *result, ratios shown)
{
    char title[48];
    shown.top = top_of(result, &shown, 0);
    for (int k = 0; k < DIMENSION_TAUS; k++) {
        snprintf(title, sizeof title, "{/:Italic τ} = %g", hb_dimension_taus[k]);
        HB_TRY(draw_panel(figure, result, title, &shown,
                          hb_dimension_largest(hb_dimension_size_of(result)), hb_dimension_low(k),
                          k == 0));
    }
    return HB_OK;
}

static hb_status draw_rows(hb_figure *figure, const void *user)
{
    const hb_comparison *result = user;
    ratios shown = {2, {DIMENSION_FP, DIMENSION_HB}, DIMENSION_DSM_TARGETS, 0};
    char title[48];
    shown.top = top_of(result, &shown, 1);
    for (int r = 0; r < hb_dimension_size_of(result)->n_rows; r++) {
        snprintf(title, sizeof title, "%d rows", hb_dimension_size_of(result)->rows[r]);
        HB_TRY(draw_panel(figure, result, title, &shown, r, hb_dimension_low(DIMENSION_TABLE_TAU),
                          r == 0));
    }
    return HB_OK;
}

static hb_status add_excess(hb_figure *figure, const hb_comparison *result, int r, int method,
                            int named)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    const hb_recipe *recipe = &hb_dimension_recipes[method];
    hb_points points = {0};
    for (int d = 0; d < size->n_dims; d++) {
        const hb_mean mean = hb_dimension_compare(result, d, r, method, -1, DIMENSION_EXCESS);
        const double y = mean.mean > 0 ? mean.mean : NAN; /* the axis is logarithmic */
        hb_points_add(&points, size->dim[d] * exp2(0.12 * (method - 1.5)), y,
                      fmax(mean.mean - mean.se, 0.1 * y), mean.mean + mean.se);
    }
    return hb_points_draw(figure, &points, 1, recipe->color, named ? recipe->label : "");
}

static hb_status draw_likelihood(hb_figure *figure, const void *user)
{
    const hb_comparison *result = user;
    const hb_dimension_size *size = hb_dimension_size_of(result);
    char title[48];
    for (int r = 0; r < size->n_rows; r++) {
        snprintf(title, sizeof title, "%d rows", size->rows[r]);
        hb_panel_settings panel = panel_of(size, title, "excess, nats per row");
        panel.log_y = 10;
        panel.key = "bottom right";
        HB_TRY(hb_figure_panel(figure, &panel));
        for (int m = DIMENSION_DSM; m <= DIMENSION_HB; m++)
            HB_TRY(add_excess(figure, result, r, m, r == 0));
    }
    return HB_OK;
}

static hb_status draw_steps(hb_figure *figure, const void *user)
{
    const ratios steps = {3, {DIMENSION_DSM, DIMENSION_FP, DIMENSION_HB}, DIMENSION_DSM_TARGETS, 0};
    return draw_taus(figure, user, steps);
}

static hb_status draw_time(hb_figure *figure, const void *user)
{
    const ratios seconds = {2, {DIMENSION_FP_TIME, DIMENSION_HB}, DIMENSION_DSM_TIME, 0};
    return draw_taus(figure, user, seconds);
}

hb_status hb_dimension_figures(hb_gallery *gallery, const hb_comparison *result)
{
    const int rows = hb_dimension_size_of(result)->n_rows;
    HB_TRY(hb_study_draw(gallery, "dimension_ratios", 0, 0, draw_steps, result));
    HB_TRY(hb_study_draw(gallery, "dimension_time", 0, 0, draw_time, result));
    HB_TRY(hb_study_draw(gallery, "dimension_rows", 0, rows, draw_rows, result));
    return hb_study_draw(gallery, "dimension_likelihood", 0, rows, draw_likelihood, result);
}
