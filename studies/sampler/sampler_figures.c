/* The three figures of the sampler study: variance and effective sample size against dimension, the two
 * concentration laws as histograms, and their Kolmogorov distances. Every series is a column of the
 * rows, or a density of sampler_laws.c, so that the .csv behind a figure can be checked. */
#include "sampler.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { BLUE, RED, GREEN, BLACK = 6, CURVE = 400 };

/* Fields of the rows as arrays, for plotting. */
typedef struct columns {
#define SAMPLER_ARRAY(name) double name[SAMPLER_DIMS];
    SAMPLER_COLUMNS(SAMPLER_ARRAY)
#undef SAMPLER_ARRAY
} columns;

static void transpose(const hb_sampler_row *rows, columns *out)
{
    for (int i = 0; i < SAMPLER_DIMS; i++) {
#define SAMPLER_COPY(name) out->name[i] = rows[i].name;
        SAMPLER_COLUMNS(SAMPLER_COPY)
#undef SAMPLER_COPY
    }
}

/* A series over the dimensions; se: half the error bar, or NULL. */
static hb_status add_column(hb_figure *figure, const char *label, hb_style style, int color,
                            const columns *c, const double *y, const double *se)
{
    double low[SAMPLER_DIMS], high[SAMPLER_DIMS];
    for (int i = 0; se && i < SAMPLER_DIMS; i++) {
        low[i] = fmax(y[i] - se[i], 0.1 * y[i]); /* the axis is logarithmic */
        high[i] = y[i] + se[i];
    }
    return hb_figure_series(figure, style, color, SAMPLER_DIMS, label, c->dim, y, se ? low : NULL,
                            se ? high : NULL);
}

static hb_status sampler_panel(hb_figure *figure, const char *name, size_t k)
{
    const hb_panel_settings panel = hb_study_panel_of(name, k);
    return hb_figure_panel(figure, &panel);
}

static hb_status draw_variance(hb_figure *figure, const void *user)
{
    const columns *c = user;
    HB_TRY(sampler_panel(figure, "sampler_variance", 0));
    HB_TRY(add_column(figure, "uniform, measured", HB_STYLE_POINTS, RED, c, c->uniform_variance,
                      c->uniform_variance_se));
    HB_TRY(add_column(figure, "uniform, exact", HB_STYLE_LINE, RED, c, c->uniform_variance_exact,
                      NULL));
    HB_TRY(add_column(figure, "direct, measured", HB_STYLE_POINTS, BLUE, c, c->direct_variance,
                      c->direct_variance_se));
    HB_TRY(add_column(figure, "direct, exact 2({/:Italic d} + 2)/{/:Italic N}", HB_STYLE_LINE, BLUE,
                      c, c->direct_variance_exact, NULL));
    HB_TRY(sampler_panel(figure, "sampler_variance", 1));
    HB_TRY(add_column(figure, "direct: {/:Italic N} by construction", HB_STYLE_LINE, BLUE, c,
                      c->direct_ess, NULL));
    HB_TRY(add_column(figure, "uniform, measured", HB_STYLE_POINTS, RED, c, c->uniform_ess,
                      c->uniform_ess_se));
    return add_column(figure, "uniform, exact {/:Italic N}/(1 + {/:Italic χ}²)", HB_STYLE_LINE, RED,
                      c, c->uniform_ess_exact, NULL);
}

/* One histogram of the draws with its exact density and the limit. */
static hb_status draw_histogram(hb_figure *figure, const hb_sampler_row *row, int which, size_t k)
{
    const hb_sampler_law *law = &hb_sampler_laws[which];
    const int dim = (int)row->dim;
    const double width = (law->high - law->low) / SAMPLER_BINS;
    double x[SAMPLER_BINS], y[SAMPLER_BINS], at[CURVE], exact[CURVE], limit[CURVE];
    for (int i = 0; i < SAMPLER_BINS; i++) {
        x[i] = law->low + (i + 0.5) * width;
        y[i] = row->counts[which][i] / (SAMPLER_DRAWS * width);
    }
    for (int i = 0; i < CURVE; i++) {
        at[i] = law->low + (law->high - law->low) * i / (CURVE - 1);
        exact[i] = law->exact_density(dim, at[i]);
        limit[i] = law->limit_density(at[i]);
    }
    hb_panel_settings panel = hb_study_panel_of("sampler_histograms", k);
    hb_study_panel_range(&panel, law->low, law->high, 0, NAN);
    HB_TRY(hb_figure_panel(figure, &panel));
    HB_TRY(hb_figure_series(figure, HB_STYLE_HISTOGRAM, BLUE, SAMPLER_BINS, "draws", x, y, NULL,
                            NULL));
    HB_TRY(
        hb_figure_series(figure, HB_STYLE_LINE, BLUE, CURVE, "exact law", at, exact, NULL, NULL));
    return hb_figure_series(figure, HB_STYLE_DASHED, RED, CURVE, "limit law", at, limit, NULL,
                            NULL);
}

static hb_status draw_histograms(hb_figure *figure, const void *user)
{
    const hb_sampler_row *rows = user;
    for (size_t k = 0; k < 4; k++)
        HB_TRY(draw_histogram(figure, &rows[k % 2 ? SAMPLER_DIMS - 1 : 0],
                              k < 2 ? SAMPLER_RADIAL : SAMPLER_TEMPORAL, k));
    return HB_OK;
}

static hb_status draw_kolmogorov(hb_figure *figure, const void *user)
{
    const columns *c = user;
    double noise[SAMPLER_DIMS], one[SAMPLER_DIMS], half[SAMPLER_DIMS];
    for (int i = 0; i < SAMPLER_DIMS; i++) {
        noise[i] = SAMPLER_KS_MEAN / sqrt(SAMPLER_DRAWS);
        one[i] = 0.5 / c->dim[i];
        half[i] = 1.8 / sqrt(c->dim[i]);
    }
    HB_TRY(sampler_panel(figure, "sampler_kolmogorov", 0));
    HB_TRY(
        add_column(figure, "temporal, draws", HB_STYLE_POINTS, RED, c, c->temporal_ks_limit, NULL));
    HB_TRY(add_column(figure, "temporal, exact law", HB_STYLE_LINE, RED, c,
                      c->temporal_limit_distance, NULL));
    HB_TRY(add_column(figure, "radial, draws", HB_STYLE_POINTS, BLUE, c, c->radial_ks_limit, NULL));
    HB_TRY(add_column(figure, "radial, exact law", HB_STYLE_LINE, BLUE, c, c->radial_limit_distance,
                      NULL));
    HB_TRY(add_column(figure, "guides {/:Italic d}^{ −1/2}, {/:Italic d}^{ −1}", HB_STYLE_DASHED,
                      BLACK, c, half, NULL));
    HB_TRY(add_column(figure, "", HB_STYLE_DASHED, BLACK, c, one, NULL));
    HB_TRY(sampler_panel(figure, "sampler_kolmogorov", 1));
    HB_TRY(
        add_column(figure, "temporal, draws", HB_STYLE_POINTS, RED, c, c->temporal_ks_exact, NULL));
    HB_TRY(add_column(figure, "radial, draws", HB_STYLE_POINTS, BLUE, c, c->radial_ks_exact, NULL));
    return add_column(figure, "expected of 160000 exact draws", HB_STYLE_DASHED, GREEN, c, noise,
                      NULL);
}

hb_status hb_sampler_figures(hb_gallery *gallery, const hb_sampler_row *rows)
{
    columns c;
    transpose(rows, &c);
    HB_TRY(hb_study_draw(gallery, "sampler_variance", 0, 0, draw_variance, &c));
    HB_TRY(hb_study_draw(gallery, "sampler_histograms", 0, 0, draw_histograms, rows));
    return hb_study_draw(gallery, "sampler_kolmogorov", 0, 0, draw_kolmogorov, &c);
}
