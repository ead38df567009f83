/* The figures: the existence window and the bounds; J(r) and the limit r -> 0; orientation and
 * truncation; the literal loss and the bias of a square. Every series is a selection of rows; the
 * panels are in page_texts.json. */
#include "identities.h"

#include <math.h>
#include <string.h>

enum { BLUE, RED, GREEN, BLACK = 6 };

/* What of the rows is drawn: over dim or over `at`; the value, the exact value, |value - exact|, or
 * the value in units of Var/N. */
enum { AT, DIM };
enum { VALUE, EXACT, DISTANCE, IN_VARIANCES };

static const struct series {
    const char *figure;
    size_t panel;
    const char *check, *item, *label;
    hb_style style;
    int color, over, what, bars; /* bars: of one error */
} SERIES[] = {
    {"window", 0, "window", "sharp", "with 1/√π", HB_STYLE_LINE, BLUE, DIM, VALUE, 0},
    {"window", 0, "window", "paper", "with {/:Italic C_d} (the paper)", HB_STYLE_LINE, RED, DIM,
     VALUE, 0},
    {"window", 1, "bounds", "highest", "±{/:Italic Cτ}", HB_STYLE_DASHED, BLACK, AT, EXACT, 0},
    {"window", 1, "bounds", "lowest", NULL, HB_STYLE_DASHED, BLACK, AT, EXACT, 0},
    {"window", 1, "bounds", "highest", "largest", HB_STYLE_POINTS, BLUE, AT, VALUE, 0},
    {"window", 1, "bounds", "lowest", "smallest", HB_STYLE_POINTS, RED, AT, VALUE, 0},
    {"mean_value", 0, "J", "OU", "mixture, {/:Italic d} = 2", HB_STYLE_POINTS, BLUE, AT, VALUE, 0},
    {"mean_value", 0, "J", "OU, without source", "without the source", HB_STYLE_DASHED, BLUE, AT,
     VALUE, 0},
    {"mean_value", 0, "J", "bistable", "bistable, {/:Italic d} = 1", HB_STYLE_POINTS, RED, AT,
     VALUE, 0},
    {"mean_value", 0, "J", "bistable, without source", "without the source", HB_STYLE_DASHED, RED,
     AT, VALUE, 0},
    {"mean_value", 1, "limit", "v", "ln {/:Italic u}", HB_STYLE_POINTS, BLUE, AT, DISTANCE, 0},
    {"mean_value", 1, "limit", "w", "{/:Italic u} ln {/:Italic u}", HB_STYLE_POINTS, GREEN, AT,
     DISTANCE, 0},
    {"mean_value", 1, "limit", "u", "{/:Italic u}", HB_STYLE_POINTS, RED, AT, DISTANCE, 0},
    {"orientation", 0, "orientation", "polynomial, forward", "exact, {/:Italic d C}_1",
     HB_STYLE_LINE, RED, DIM, EXACT, 0},
    {"orientation", 0, "orientation", "polynomial, forward", "at (+{/:Italic z}, +{/:Italic σ})",
     HB_STYLE_POINTS, RED, DIM, VALUE, 1},
    {"orientation", 0, "orientation", "polynomial, backward", "at (−{/:Italic z}, −{/:Italic σ})",
     HB_STYLE_POINTS, BLUE, DIM, VALUE, 1},
    {"orientation", 1, "truncation", "truncated", "{/:Italic σ} cut, exact", HB_STYLE_LINE, RED, AT,
     EXACT, 0},
    {"orientation", 1, "truncation", "truncated", "{/:Italic σ} cut, drawn", HB_STYLE_POINTS, RED,
     AT, VALUE, 1},
    {"orientation", 1, "truncation", "smaller ball", "smaller ball, drawn", HB_STYLE_POINTS, BLUE,
     AT, VALUE, 1},
    {"literal", 0, "literal", "without source", "{/:Italic d C}_1/4", HB_STYLE_LINE, RED, DIM,
     EXACT, 0},
    {"literal", 0, "literal", "without source", "without source (the paper)", HB_STYLE_POINTS, RED,
     DIM, VALUE, 1},
    {"literal", 0, "literal", "with source", "with source", HB_STYLE_POINTS, BLUE, DIM, VALUE, 1},
    {"literal", 1, "bias", "square", "square of the average", HB_STYLE_POINTS, RED, AT,
     IN_VARIANCES, 1},
    {"literal", 1, "bias", "product", "product of two halves", HB_STYLE_POINTS, BLUE, AT,
     IN_VARIANCES, 1}};

static hb_status identities_add(hb_figure *figure, const hb_identities *list,
                                const struct series *s)
{
    const hb_identity *rows[IDENTITIES_MOST], *squares[IDENTITIES_MOST];
    const size_t n = hb_identities_select(list, s->check, s->item, rows);
    hb_points p = {0};
    hb_identities_select(list, "bias", "square", squares);
    for (size_t i = 0; i < n; i++) {
        const double unit = s->what == IN_VARIANCES ? squares[i]->exact : 1;
        const double y = s->what == EXACT      ? rows[i]->exact
                         : s->what == DISTANCE ? fabs(rows[i]->value - rows[i]->exact)
                                               : rows[i]->value / unit;
        hb_points_add(&p, s->over == DIM ? rows[i]->dim : rows[i]->at, y, y - rows[i]->error / unit,
                      y + rows[i]->error / unit);
    }
    return hb_figure_series(figure, s->style, s->color, n, s->label, p.x, p.y,
                            s->bars ? p.low : NULL, s->bars ? p.high : NULL);
}

typedef struct picture {
    const hb_identities *list;
    char name[48];
} picture;

static hb_status identities_draw(hb_figure *figure, const void *user)
{
    const picture *p = user;
    const char *name = strchr(p->name, '_') + 1;
    for (size_t panel = 0; panel < 2; panel++) {
        const hb_panel_settings settings = hb_study_panel_of(p->name, panel);
        HB_TRY(hb_figure_panel(figure, &settings));
        for (size_t i = 0; i < sizeof SERIES / sizeof *SERIES; i++)
            if (strcmp(SERIES[i].figure, name) == 0 && SERIES[i].panel == panel)
                HB_TRY(identities_add(figure, p->list, &SERIES[i]));
    }
    if (strcmp(name, "mean_value") != 0) return HB_OK;
    const double x[] = {0.04, 2}, top = hb_identities_off(p->list, "limit", "v") / (1.6 * 1.6);
    const double y[] = {top * x[0] * x[0], top * x[1] * x[1]};
    return hb_figure_series(figure, HB_STYLE_DASHED, BLACK, 2, "{/:Italic r}^2", x, y, NULL, NULL);
}

hb_status hb_identities_figures(const hb_identities *list, hb_gallery *gallery)
{
    static const char *const names[] = {"identities_window", "identities_mean_value",
                                        "identities_orientation", "identities_literal"};
    for (int i = 0; i < 4; i++) {
        picture p = {.list = list};
        snprintf(p.name, sizeof p.name, "%s", names[i]);
        HB_TRY(hb_study_draw(gallery, names[i], 1, 2, identities_draw, &p));
    }
    return HB_OK;
}
