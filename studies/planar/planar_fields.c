/* Figures of fields and samples, from the models of the first seed.
 *
 * Score fields at tau = 0.3 as streamlines over the contours of the density; the Helmholtz split at
 * tau = 0.5 of a field that need not be a gradient, by FFT on [-3, 3]^2, with the data carried to
 * that tau; samples, alone and over the contours of the data's density with the modes found. */
#include "planar.h"

#include <math.h>
#include <stdlib.h>

enum { NODES = 81, DOTS = 1000, SHOWN = 500 }; /* samples, and dots that are drawn */
#define FIELD_BOX 3.0
#define SAMPLE_BOX 4.2
#define FIELD_TAU 0.3
#define SPLIT_TAU 0.5

enum { EXACT = -1 }; /* in the place of a method */
enum { N_COMPARED = 5 };
static const int COMPARED[N_COMPARED] = {EXACT, PLANAR_DSM, PLANAR_DSM_TARGETS, PLANAR_FP_TARGETS,
                                         PLANAR_HB};

typedef struct painter {
    hb_context *context;
    const hb_comparison *result;
    hb_figure *figure;
    hb_mixture *truth;                             /* of the set being painted */
    int set, which;                                /* and of which figure */
    double *x, *field, *part_x, *part_y, *density; // (NODES^2, 2) twice, (NODES^2) three times
} painter;

static hb_lattice square(double half)
{
    return (hb_lattice){NODES, NODES, -half, half, -half, half};
}

static void fill_lattice(double half, double *x)
{
    for (int i = 0; i < NODES * NODES; i++) {
        x[2 * i] = -half + 2 * half * (i % NODES) / (NODES - 1);
        x[2 * i + 1] = -half + 2 * half * (i / NODES) / (NODES - 1); // rows from below
    }
}

static hb_status load_model(painter *p, int method, hb_model **model)
{
    char *path;
    HB_TRY(hb_planar_model_path(p->context, p->result, hb_compare_at(p->result, p->set, method, 0),
                                &path));
    const hb_status status = hb_model_load(p->context, path, model);
    free(path);
    return status;
}

static hb_status start_plane(painter *p, const char *title, double half)
{
    hb_panel_settings panel = hb_study_panel(title, "{/:Italic x}_1", "{/:Italic x}_2");
    hb_study_panel_range(&panel, -half, half, -half, half);
    return hb_figure_panel(p->figure, &panel);
}

static hb_status start_square(painter *p, const char *title, double half)
{
    char text[96];
    snprintf(text, sizeof text, "%s", title);
    for (char *c = text; *c; c++)
        if (*c == '_') *c = ' ';
    return start_plane(p, text, half);
}

/* ---- score fields ---- */

static hb_status fill_field(painter *p, int method, double tau, double half)
{
    const size_t n = (size_t)NODES * NODES;
    fill_lattice(half, p->x);
    HB_TRY(
        hb_mixture_score(p->context, p->truth, HB_PROCESS_OU, n, p->x, tau, p->density, p->field));
    if (method == EXACT) return HB_OK;
    hb_model *model;
    HB_TRY(load_model(p, method, &model));
    hb_model_view view = {p->context, model, -1};
    const int failed = hb_model_view_score(&view, n, p->x, tau, p->field);
    hb_model_destroy(model);
    return failed ? HB_ERROR_CALLBACK : HB_OK;
}

/* Of the density whose logarithm is in p->density. */
static hb_status add_contours(painter *p, double half, int color)
{
    static const double shares[] = {0.01, 0.05, 0.2, 0.5, 0.8};
    double top = -INFINITY, levels[5];
    for (int i = 0; i < NODES * NODES; i++) top = fmax(top, p->density[i]);
    for (int k = 0; k < 5; k++) levels[k] = top + log(shares[k]);
    const hb_lattice lattice = square(half);
    return hb_figure_contours(p->figure, color, 5, &lattice, "", p->density, levels);
}

static hb_status add_streamlines(painter *p, const double *field, double half, int color)
{
    const hb_lattice lattice = square(half);
    for (int i = 0; i < NODES * NODES; i++) {
        p->part_x[i] = field[2 * i];
        p->part_y[i] = field[2 * i + 1];
    }
    return hb_figure_streamlines(p->figure, color, &lattice, "", p->part_x, p->part_y);
}

static const char *short_name(int method)
{
    return method == EXACT ? "exact" : hb_planar_recipes[method].label;
}

static hb_status paint_fields(painter *p)
{
    char title[96];
    for (int i = 0; i < N_COMPARED; i++) {
        const int method = COMPARED[i];
        HB_TRY(fill_field(p, method, FIELD_TAU, FIELD_BOX));
        if (method == EXACT)
            snprintf(title, sizeof title, "%s: exact", hb_planar_sets[p->set].name);
        else
            snprintf(title, sizeof title, "%s, error %.2g", short_name(method),
                     hb_compare_at(p->result, p->set, method, 0)
                         ->value[PLANAR_ERROR + PLANAR_REGIONS * PLANAR_TAU_TABLE]);
        HB_TRY(start_square(p, title, FIELD_BOX));
        HB_TRY(add_contours(p, FIELD_BOX, 3));
        HB_TRY(add_streamlines(p, p->field, FIELD_BOX, 0));
    }
    return HB_OK;
}

/* The first SHOWN of the points. */
static hb_status add_dots(painter *p, const double *x, int color)
{
    double a[SHOWN], b[SHOWN];
    for (int i = 0; i < SHOWN; i++) {
        a[i] = x[2 * i];
        b[i] = x[2 * i + 1];
    }
    return hb_figure_series(p->figure, HB_STYLE_DOTS, color, SHOWN, "", a, b, NULL, NULL);
}

/* ---- the Helmholtz split ---- */

static hb_status add_data(painter *p, double tau)
{
    double x[2 * SHOWN];
    HB_TRY(hb_mixture_sample_at(p->context, p->truth, HB_PROCESS_OU, p->result->first_seed, 0,
                                SHOWN, tau, x, NULL));
    return add_dots(p, x, 3);
}

static hb_status paint_split(painter *p)
{
    const size_t n = (size_t)NODES * NODES;
    const double h = 2 * FIELD_BOX / (NODES - 1);
    double masses[2];
    void *memory;
    HB_TRY(fill_field(p, PLANAR_HB_HELMHOLTZ, SPLIT_TAU, FIELD_BOX));
    HB_TRY(hb_study_allocate(p->context, 4 * n, sizeof(double), &memory));
    double *parts[] = {memory, (double *)memory + 2 * n, p->field};
    hb_status status = hb_judge_helmholtz(p->context, NODES, NODES, h, h, p->field, parts[0],
                                          parts[1], &masses[0], &masses[1]);
    for (int k = 0; k < 3 && status == HB_OK; k++) {
        char title[96];
        if (k == 0)
            snprintf(title, sizeof title, "%s: {/:Italic f}_2 = ∇{/:Italic φ}",
                     hb_planar_sets[p->set].name);
        else if (k == 1)
            snprintf(title, sizeof title, "{/:Italic f}_1: %.2g %% of the mass", 100 * masses[1]);
        else
            snprintf(title, sizeof title, "{/:Italic f} = {/:Italic f}_1 + {/:Italic f}_2");
        for (char *c = title; k == 0 && *c != ':'; c++)
            if (*c == '_') *c = ' ';
        status = start_plane(p, title, FIELD_BOX);
        if (status == HB_OK) status = add_data(p, SPLIT_TAU);
        if (status == HB_OK) status = add_streamlines(p, parts[k], FIELD_BOX, k == 1 ? 1 : 0);
    }
    free(memory);
    return status;
}

/* ---- samples ---- */

static hb_status fill_samples(painter *p, int method, double *x)
{
    const uint64_t seed = p->result->first_seed;
    if (method == EXACT) return hb_mixture_sample(p->context, p->truth, seed, 0, DOTS, x, NULL);
    hb_model *model;
    HB_TRY(load_model(p, method, &model));
    const hb_status status =
        hb_planar_generate(p->context, hb_planar_size_of(p->result), model, seed, DOTS, x);
    hb_model_destroy(model);
    return status;
}

/* Samples of n methods, alone or over the contours of the data's density. */
static hb_status paint_dots(painter *p, int n, const int *methods, const int *colors, int contours)
{
    double x[2 * DOTS];
    for (int i = 0; i < n; i++) {
        char title[96], outliers_text[32] = "";
        int found;
        size_t outliers;
        const int exact = methods[i] == EXACT;
        HB_TRY(fill_samples(p, methods[i], x));
        HB_TRY(hb_judge_modes(p->context, p->truth, DOTS, x, NULL, &outliers, &found));
        if (contours && !exact)
            snprintf(outliers_text, sizeof outliers_text, ", %zu outliers", outliers);
        snprintf(title, sizeof title, "%s: %d of %d modes%s",
                 exact ? hb_planar_sets[p->set].name : short_name(methods[i]), found,
                 hb_mixture_modes(p->truth, NULL), outliers_text);
        HB_TRY(start_square(p, title, SAMPLE_BOX));
        if (contours) {
            fill_lattice(SAMPLE_BOX, p->x);
            HB_TRY(hb_mixture_score(p->context, p->truth, HB_PROCESS_OU, (size_t)NODES * NODES,
                                    p->x, 0, p->density, NULL));
            HB_TRY(add_contours(p, SAMPLE_BOX, 5));
        }
        HB_TRY(add_dots(p, x, colors[i]));
    }
    return HB_OK;
}

static hb_status paint_samples(painter *p)
{
    static const int methods[] = {EXACT, PLANAR_DSM, PLANAR_DSM_TARGETS, PLANAR_HB};
    return paint_dots(p, 4, methods, (const int[]){6, 1, 2, 0}, 0);
}

static hb_status paint_modes(painter *p)
{
    return paint_dots(p, N_COMPARED, COMPARED, (const int[]){6, 1, 2, 5, 0}, 1);
}

/* ---- all of them ---- */

/* Axes are square, within 4 % in both: the margins of an SVG are taller than those of a PNG. */
static const struct {
    const char *name;
    hb_status (*paint)(painter *p);
    int sets[PLANAR_SETS + 1]; /* a row for each; ends with -1 */
} FIGURES[] = {{"planar_fields", paint_fields, {2, 4, 1, -1}},
               {"planar_helmholtz", paint_split, {0, 2, 1, 5, 6, 3, -1}},
               {"planar_samples", paint_samples, {0, 7, 2, 5, 4, 1, 6, 3, -1}},
               {"planar_modes", paint_modes, {2, 4, 1, -1}}};
enum { N_FIGURES = sizeof FIGURES / sizeof *FIGURES };

static hb_status paint_figure(hb_figure *figure, const void *user)
{
    painter p = *(const painter *)user;
    p.figure = figure;
    for (const int *set = FIGURES[p.which].sets; *set >= 0; set++) {
        if (!hb_planar_has(p.result, *set)) continue;
        p.set = *set;
        HB_TRY(hb_mixture_named(p.context, hb_planar_sets[*set].name, &p.truth));
        const hb_status status = FIGURES[p.which].paint(&p);
        hb_mixture_destroy(p.truth);
        HB_TRY(status);
    }
    return HB_OK;
}

hb_status hb_planar_field_figures(hb_gallery *gallery, const hb_comparison *result)
{
    const size_t n = (size_t)NODES * NODES;
    double *scratch;
    HB_TRY(HB_STUDY_NEW(gallery->context, scratch, 7 * n));
    painter p = {.context = gallery->context,
                 .result = result,
                 .x = scratch,
                 .field = scratch + 2 * n,
                 .part_x = scratch + 4 * n,
                 .part_y = scratch + 5 * n,
                 .density = scratch + 6 * n};
    hb_status status = HB_OK;
    for (p.which = 0; p.which < N_FIGURES && status == HB_OK; p.which++) {
        int rows = 0;
        for (const int *set = FIGURES[p.which].sets; *set >= 0; set++)
            rows += hb_planar_has(result, *set);
        if (rows) status = hb_study_draw(gallery, FIGURES[p.which].name, rows, 0, paint_figure, &p);
    }
    free(scratch);
    return status;
}
