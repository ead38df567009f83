/* The figures: the existence window and the bounds; J(r) and the limit r -> 0; orientation and
 * truncation; the literal loss and the bias of a square. Every series is a selection of rows. */
#include "identities.h"

#include <math.h>

enum { BLUE, RED, GREEN, BLACK = 6 };

/* What of the rows is drawn: over dim or over `at`, the value or the exact value. */
typedef struct series {
    const char *check, *item, *label;
    hb_style style;
    int color;
    int over_dim, exact, distance; /* distance: |value - exact| */
    int bars;                      /* error bars of one error */
} series;

static hb_status add(hb_figure *figure, const hb_identities *list, const series *s)
{
    const hb_identity *rows[IDENTITIES_MOST];
    const size_t n = hb_identities_select(list, s->check, s->item, rows);
    double x[IDENTITIES_MOST], y[IDENTITIES_MOST], low[IDENTITIES_MOST], high[IDENTITIES_MOST];
    for (size_t i = 0; i < n; i++) {
        x[i] = s->over_dim ? rows[i]->dim : rows[i]->at;
        y[i] = s->exact      ? rows[i]->exact
               : s->distance ? fabs(rows[i]->value - rows[i]->exact)
                             : rows[i]->value;
        low[i] = y[i] - rows[i]->error;
        high[i] = y[i] + rows[i]->error;
    }
    return hb_figure_series(figure, s->style, s->color, n, s->label, x, y, s->bars ? low : NULL,
                            s->bars ? high : NULL);
}

static hb_status add_all(hb_figure *figure, const hb_identities *list,
                         const hb_panel_settings *panel, size_t n, const series *all)
{
    HB_TRY(hb_figure_panel(figure, panel));
    for (size_t i = 0; i < n; i++) HB_TRY(add(figure, list, &all[i]));
    return HB_OK;
}

#define ADD_ALL(figure, list, panel, all)                                                          \
    add_all(figure, list, panel, sizeof(all) / sizeof *(all), all)

static hb_status draw_window(hb_figure *figure, const hb_identities *list)
{
    static const series windows[] = {
        {"window", "sharp", "with 1/√π", HB_STYLE_LINE, BLUE, 1, 0, 0, 0},
        {"window", "paper", "with {/:Italic C_d} (the paper)", HB_STYLE_LINE, RED, 1, 0, 0, 0}};
    static const series bounds[] = {
        {"bounds", "highest", "±{/:Italic Cτ}", HB_STYLE_DASHED, BLACK, 0, 1, 0, 0},
        {"bounds", "lowest", NULL, HB_STYLE_DASHED, BLACK, 0, 1, 0, 0},
        {"bounds", "highest", "largest", HB_STYLE_POINTS, BLUE, 0, 0, 0, 0},
        {"bounds", "lowest", "smallest", HB_STYLE_POINTS, RED, 0, 0, 0, 0}};
    hb_panel_settings left =
        hb_study_panel("(a) Existence window, {/:Italic K} = 1, {/:Italic θ} = 0.9",
                       "dimension {/:Italic d}", "{/:Italic T}_0");
    left.log_x = left.log_y = 10;
    hb_study_panel_range(&left, NAN, NAN, 1e-4, 1);
    left.key = "bottom left";
    HB_TRY(ADD_ALL(figure, list, &left, windows));
    hb_panel_settings right =
        hb_study_panel("(b) Bounds, {/:Italic F} = −1.2 sin {/:Italic x} from a constant",
                       "time {/:Italic τ}", "ln({/:Italic u}/{/:Italic m}_0)");
    right.log_x = 10;
    hb_study_panel_range(&right, NAN, NAN, -2.2, 2.2);
    right.key = "top left";
    return ADD_ALL(figure, list, &right, bounds);
}

static hb_status draw_mean_value(hb_figure *figure, const hb_identities *list)
{
    static const series monotone[] = {
        {"J", "OU", "mixture, {/:Italic d} = 2", HB_STYLE_POINTS, BLUE, 0, 0, 0, 0},
        {"J", "OU, without source", "without the source", HB_STYLE_DASHED, BLUE, 0, 0, 0, 0},
        {"J", "bistable", "bistable, {/:Italic d} = 1", HB_STYLE_POINTS, RED, 0, 0, 0, 0},
        {"J", "bistable, without source", "without the source", HB_STYLE_DASHED, RED, 0, 0, 0, 0}};
    static const series limit[] = {
        {"limit", "v", "ln {/:Italic u}", HB_STYLE_POINTS, BLUE, 0, 0, 1, 0},
        {"limit", "w", "{/:Italic u} ln {/:Italic u}", HB_STYLE_POINTS, GREEN, 0, 0, 1, 0},
        {"limit", "u", "{/:Italic u}", HB_STYLE_POINTS, RED, 0, 0, 1, 0}};
    hb_panel_settings left =
        hb_study_panel("(a) {/:Italic J}({/:Italic r})/4{/:Italic u} is 1 at every radius",
                       "radius {/:Italic r}", "{/:Italic J}({/:Italic r})/4{/:Italic u}");
    hb_study_panel_range(&left, 0, 3.4, 0.88, 1.02);
    left.key = "bottom left";
    HB_TRY(ADD_ALL(figure, list, &left, monotone));
    hb_panel_settings right = hb_study_panel("(b) Scaled minus pointwise residual, wrong field",
                                             "radius {/:Italic r}", "|difference|");
    right.log_x = right.log_y = 10;
    hb_study_panel_range(&right, 0.03, 3, 1e-8, 1);
    right.key = "top left";
    HB_TRY(ADD_ALL(figure, list, &right, limit));
    const double x[] = {0.04, 2}, top = hb_identities_off(list, "limit", "v") / (1.6 * 1.6);
    const double y[] = {top * x[0] * x[0], top * x[1] * x[1]};
    return hb_figure_series(figure, HB_STYLE_DASHED, BLACK, 2, "{/:Italic r}^2", x, y, NULL, NULL);
}

static hb_status draw_orientation(hb_figure *figure, const hb_identities *list)
{
    static const series means[] = {
        {"orientation", "polynomial, forward", "exact, {/:Italic d C}_1", HB_STYLE_LINE, RED, 1, 1,
         0, 0},
        {"orientation", "polynomial, forward", "at (+{/:Italic z}, +{/:Italic σ})", HB_STYLE_POINTS,
         RED, 1, 0, 0, 1},
        {"orientation", "polynomial, backward", "at (−{/:Italic z}, −{/:Italic σ})",
         HB_STYLE_POINTS, BLUE, 1, 0, 0, 1}};
    static const series cut[] = {
        {"truncation", "truncated", "{/:Italic σ} cut, exact", HB_STYLE_LINE, RED, 0, 1, 0, 0},
        {"truncation", "truncated", "{/:Italic σ} cut, drawn", HB_STYLE_POINTS, RED, 0, 0, 0, 1},
        {"truncation", "smaller ball", "smaller ball, drawn", HB_STYLE_POINTS, BLUE, 0, 0, 0, 1}};
    hb_panel_settings left =
        hb_study_panel("(a) Mean of the caloric |{/:Italic x}|² + 2{/:Italic dτ}; it must be 0",
                       "dimension {/:Italic d}", "mean under {/:Italic κ}");
    left.log_x = 2;
    hb_study_panel_range(&left, 0.8, 20, -0.2, 1.8);
    left.key = "top left";
    HB_TRY(ADD_ALL(figure, list, &left, means));
    hb_panel_settings right = hb_study_panel(
        "(b) Diffusion that a truncated ball stands for, {/:Italic d} = 2", "{/:Italic σ}_{max}",
        "{/:Italic E}|{/:Italic z}|²/(2{/:Italic d E σ}); it must be 1");
    hb_study_panel_range(&right, 0.015, 0.085, 0.9, 1.5);
    return ADD_ALL(figure, list, &right, cut);
}

/* Means of squares and of products, in units of Var/N: 1 and 0 when they are what they must be. */
static hb_status add_bias(hb_figure *figure, const hb_identities *list, const char *item,
                          const char *label, int color)
{
    const hb_identity *rows[IDENTITIES_MOST], *squares[IDENTITIES_MOST];
    const size_t n = hb_identities_select(list, "bias", item, rows);
    double x[IDENTITIES_MOST], y[IDENTITIES_MOST], low[IDENTITIES_MOST], high[IDENTITIES_MOST];
    hb_identities_select(list, "bias", "square", squares);
    for (size_t i = 0; i < n; i++) {
        x[i] = rows[i]->at;
        y[i] = rows[i]->value / squares[i]->exact;
        low[i] = y[i] - rows[i]->error / squares[i]->exact;
        high[i] = y[i] + rows[i]->error / squares[i]->exact;
    }
    return hb_figure_series(figure, HB_STYLE_POINTS, color, n, label, x, y, low, high);
}

static hb_status draw_literal(hb_figure *figure, const hb_identities *list)
{
    static const series offsets[] = {
        {"literal", "without source", "{/:Italic d C}_1/4", HB_STYLE_LINE, RED, 1, 1, 0, 0},
        {"literal", "without source", "without source (the paper)", HB_STYLE_POINTS, RED, 1, 0, 0,
         1},
        {"literal", "with source", "with source", HB_STYLE_POINTS, BLUE, 1, 0, 0, 1}};
    hb_panel_settings left =
        hb_study_panel("(a) Residual at the truth, {/:Italic r} = 1", "dimension {/:Italic d}",
                       "{/:Italic v} − mean of {/:Italic v} (− source)");
    left.log_x = 2;
    hb_study_panel_range(&left, 0.8, 320, -1, 8);
    left.key = "top left";
    HB_TRY(ADD_ALL(figure, list, &left, offsets));
    hb_panel_settings right =
        hb_study_panel("(b) Squared residual at the truth, {/:Italic d} = 16", "draws {/:Italic N}",
                       "mean, in units of Var/{/:Italic N}");
    right.log_x = 2;
    hb_study_panel_range(&right, 3, 340, -0.4, 1.8);
    HB_TRY(hb_figure_panel(figure, &right));
    HB_TRY(add_bias(figure, list, "square", "square of the average", RED));
    return add_bias(figure, list, "product", "product of two halves", BLUE);
}

static const struct figure {
    const char *name;
    hb_status (*draw)(hb_figure *figure, const hb_identities *list);
} FIGURES[] = {{"identities_window", draw_window},
               {"identities_mean_value", draw_mean_value},
               {"identities_orientation", draw_orientation},
               {"identities_literal", draw_literal}};

json_t *hb_identities_captions(void)
{
    json_t *figures = json_array();
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++)
        hb_study_caption(figures, FIGURES[i].name, NULL);
    return figures;
}

hb_status hb_identities_figures(const hb_identities *list, const char *directory, FILE *table)
{
    hb_status status = HB_OK;
    int noted = 0;
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES && status == HB_OK; i++) {
        hb_figure *figure;
        HB_TRY(hb_figure_create(list->context, 1, 2, 0, 0, &figure));
        status = FIGURES[i].draw(figure, list);
        if (status == HB_OK)
            status = hb_study_write_figure(list->context, figure, directory, FIGURES[i].name, table,
                                           &noted);
        hb_figure_destroy(figure);
    }
    return status;
}
