/* The figures of the bistable study: the paper's six panels, once for each start, and the heat ball's
 * error against radius and lift. Curves of random methods are those of the first run; errors in bars
 * and against the noise are means over the runs with their standard errors. */
#include "bistable.h"

#include <math.h>

enum { BLUE, RED, GREEN, ORANGE, PINK, SKY, BLACK, SHOWN = 31 };

/* Where a logarithmic axis ends: an error of zero is drawn here. */
#define FLOOR 1e-30

/* Panel k of the six, with names of places on its axis or NULL. */
static hb_status start_panel(hb_figure *figure, size_t k, const char *names)
{
    hb_panel_settings panel = hb_study_panel_of("bistable_gaussian", k);
    panel.x_names = names;
    return hb_figure_panel(figure, &panel);
}

/* A curve over the points of [-3, 3]. */
static hb_status add_curve(hb_figure *figure, const char *label, hb_style style, int color,
                           const hb_bistable_result *result, const double *y)
{
    return hb_figure_series(figure, style, color, BISTABLE_POINTS, label, result->x, y, NULL, NULL);
}

/* Points with standard errors on a logarithmic axis; a missing error is no bar. */
static hb_status add_points(hb_figure *figure, const char *label, int color, int n, const double *x,
                            const double *y, const double *se)
{
    hb_points p = {0};
    for (int i = 0; i < n; i++) hb_points_add_error(&p, x[i], y[i], se[i]);
    return hb_points_draw(figure, &p, 0, color, label);
}

static hb_status draw_density(hb_figure *figure, const hb_bistable_result *result, int start)
{
    const hb_bistable_case *c = &result->cases[start];
    HB_TRY(start_panel(figure, 0, NULL));
    if (start == BISTABLE_STATIONARY)
        return add_curve(figure, "stationary: {/:Italic t} = 0 and 1", HB_STYLE_LINE, BLACK, result,
                         c->density);
    HB_TRY(
        add_curve(figure, "start, {/:Italic t} = 0", HB_STYLE_LINE, SKY, result, c->start_density));
    HB_TRY(add_curve(figure, "{/:Italic t} = 1", HB_STYLE_LINE, BLACK, result, c->density));
    return add_curve(figure, "stationary", HB_STYLE_DASHED, ORANGE, result,
                     result->cases[BISTABLE_STATIONARY].density);
}

static hb_status draw_scores(hb_figure *figure, const hb_bistable_result *result, int start)
{
    const hb_bistable_case *c = &result->cases[start];
    double x[SHOWN], ball[SHOWN];
    for (int i = 0; i < SHOWN; i++) {
        const int at = i * (BISTABLE_POINTS - 1) / (SHOWN - 1);
        x[i] = result->x[at];
        ball[i] = c->curves[BISTABLE_BALL].score[at];
    }
    HB_TRY(start_panel(figure, 1, NULL));
    HB_TRY(add_curve(figure, "exact, {/:Italic t} = 1", HB_STYLE_LINE, BLACK, result, c->exact));
    if (start != BISTABLE_STATIONARY)
        HB_TRY(add_curve(figure, "stationary, 2{/:Italic x} − 2{/:Italic x}^3", HB_STYLE_DASHED,
                         ORANGE, result, result->stationary));
    HB_TRY(add_curve(figure, "DSM", HB_STYLE_LINE, RED, result, c->curves[BISTABLE_DSM].score));
    return hb_figure_series(figure, HB_STYLE_POINTS, BLUE, SHOWN, "heat ball", x, ball, NULL, NULL);
}

static hb_status add_error(hb_figure *figure, const char *label, hb_style style, int color,
                           const hb_bistable_result *result, const double *score,
                           const double *exact)
{
    double error[BISTABLE_POINTS];
    for (int i = 0; i < BISTABLE_POINTS; i++) error[i] = fmax(fabs(score[i] - exact[i]), FLOOR);
    return add_curve(figure, label, style, color, result, error);
}

static hb_status draw_errors(hb_figure *figure, const hb_bistable_result *result, int start)
{
    const hb_bistable_case *c = &result->cases[start];
    HB_TRY(start_panel(figure, 2, NULL));
    HB_TRY(add_error(figure, "DSM", HB_STYLE_LINE, RED, result, c->curves[BISTABLE_DSM].score,
                     c->exact));
    HB_TRY(add_error(figure, "DSM, infinite data", HB_STYLE_DASHED, ORANGE, result,
                     c->curves[BISTABLE_DSM_LIMIT].score, c->exact));
    HB_TRY(add_error(figure, "heat ball, Monte Carlo", HB_STYLE_THIN, BLUE, result,
                     c->curves[BISTABLE_BALL].score, c->exact));
    return add_error(figure, "heat ball, cubature", HB_STYLE_THIN, GREEN, result,
                     c->curves[BISTABLE_CUBATURE].score, c->exact);
}

/* The methods that panels D and E show. */
static const struct {
    hb_bistable_method method;
    const char *label;
    int color;
} SHOWN_METHODS[] = {{BISTABLE_DSM, "DSM", RED},
                     {BISTABLE_BALL, "heat ball, Monte Carlo", BLUE},
                     {BISTABLE_CUBATURE, "heat ball, cubature", GREEN}};
enum { N_SHOWN = sizeof SHOWN_METHODS / sizeof *SHOWN_METHODS };

/* One method in one region at place x of the axis: our error against the exact score. */
static hb_status add_region(hb_figure *figure, const hb_bistable_result *result, int start, int k,
                            int region, double x, const char *label)
{
    const hb_bistable_row *row = hb_bistable_find(result, SHOWN_METHODS[k].method,
                                                  (hb_bistable_start)start, BISTABLE_TO_EXACT);
    const double y = fmax(row->error.mse[region], FLOOR);
    return add_points(figure, label, SHOWN_METHODS[k].color, 1, &x, &y, &row->error.se[region]);
}

/* The paper's positive numbers; it gives the core of the heat ball as about 0. */
static hb_status add_paper(hb_figure *figure, const hb_bistable_result *result, int n,
                           const int *methods, const int *regions, const double *x)
{
    double y[BISTABLE_REGIONS * N_SHOWN];
    for (int i = 0; i < n; i++)
        y[i] = hb_bistable_find(result, SHOWN_METHODS[methods[i]].method, BISTABLE_GAUSSIAN,
                                BISTABLE_TO_STATIONARY)
                   ->paper[regions[i]];
    return hb_figure_series(figure, HB_STYLE_POINTS, BLACK, (size_t)n, "paper", x, y, NULL, NULL);
}

static hb_status draw_overall(hb_figure *figure, const hb_bistable_result *result, int start)
{
    static const int methods[] = {0, 1}, regions[] = {BISTABLE_OVERALL, BISTABLE_OVERALL};
    static const double x[] = {1.12, 2.12};
    HB_TRY(start_panel(figure, 3, "DSM; ball, Monte Carlo; ball, cubature"));
    for (int k = 0; k < N_SHOWN; k++)
        HB_TRY(add_region(figure, result, start, k, BISTABLE_OVERALL, k + 1, ""));
    return add_paper(figure, result, 2, methods, regions, x);
}

static hb_status draw_regions(hb_figure *figure, const hb_bistable_result *result, int start)
{
    static const int methods[] = {0, 0, 1};
    static const int regions[] = {BISTABLE_CORE, BISTABLE_TAIL, BISTABLE_TAIL};
    static const double x[] = {0.87, 1.87, 2.07};
    HB_TRY(start_panel(figure, 4, "core |{/:Italic x}| < 1; tail |{/:Italic x}| ≥ 1"));
    for (int k = 0; k < N_SHOWN; k++)
        for (int region = BISTABLE_CORE; region <= BISTABLE_TAIL; region++)
            HB_TRY(add_region(figure, result, start, k, region, region + 0.2 * (k - 1),
                              region == BISTABLE_CORE ? SHOWN_METHODS[k].label : ""));
    return add_paper(figure, result, 3, methods, regions, x);
}

static hb_status draw_noise(hb_figure *figure, const hb_bistable_result *result, int start)
{
    const hb_bistable_case *c = &result->cases[start];
    const hb_bistable_row *ball =
        hb_bistable_find(result, BISTABLE_BALL, (hb_bistable_start)start, BISTABLE_TO_EXACT);
    double rule[BISTABLE_NOISES], se[BISTABLE_NOISES], best[BISTABLE_NOISES];
    double best_se[BISTABLE_NOISES], limit[BISTABLE_NOISES], level[BISTABLE_NOISES];
    for (int i = 0; i < BISTABLE_NOISES; i++) {
        const hb_bistable_noise_point *p = &c->noise[i];
        int least = 0;
        for (int width = 1; width < BISTABLE_WIDTHS; width++)
            if (p->mse[width] < p->mse[least]) least = width;
        rule[i] = p->mse[BISTABLE_RULE_WIDTH];
        se[i] = p->se[BISTABLE_RULE_WIDTH];
        best[i] = p->mse[least];
        best_se[i] = p->se[least];
        limit[i] = p->limit;
        level[i] = ball->error.mse[BISTABLE_OVERALL];
    }
    const double *x = hb_bistable_noises;
    HB_TRY(start_panel(figure, 5, NULL));
    HB_TRY(add_points(figure, "DSM, bandwidth by rule", RED, BISTABLE_NOISES, x, rule, se));
    HB_TRY(add_points(figure, "DSM, best bandwidth", PINK, BISTABLE_NOISES, x, best, best_se));
    HB_TRY(hb_figure_series(figure, HB_STYLE_DASHED, ORANGE, BISTABLE_NOISES, "DSM, infinite data",
                            x, limit, NULL, NULL));
    return hb_figure_series(figure, HB_STYLE_LINE, BLUE, BISTABLE_NOISES,
                            "heat ball, {/:Italic r} = 0.3", x, level, NULL, NULL);
}

static hb_status draw_six(hb_figure *figure, const hb_bistable_result *result, int start)
{
    HB_TRY(draw_density(figure, result, start));
    HB_TRY(draw_scores(figure, result, start));
    HB_TRY(draw_errors(figure, result, start));
    HB_TRY(draw_overall(figure, result, start));
    HB_TRY(draw_regions(figure, result, start));
    return draw_noise(figure, result, start);
}

static hb_status draw_stationary(hb_figure *figure, const void *user)
{
    return draw_six(figure, user, BISTABLE_STATIONARY);
}

static hb_status draw_gaussian(hb_figure *figure, const void *user)
{
    return draw_six(figure, user, BISTABLE_GAUSSIAN);
}

/* Measured and claimed error of one lift against the radius. */
static hb_status add_lift(hb_figure *figure, const hb_bistable_case *c, int lift, int cubature)
{
    double y[BISTABLE_RADII], se[BISTABLE_RADII], claimed[BISTABLE_RADII];
    char label[16];
    for (int i = 0; i < BISTABLE_RADII; i++) {
        const hb_bistable_radius_point *p = &c->radius[lift][i];
        y[i] = fmax(cubature ? p->cubature : p->mse, FLOOR);
        se[i] = cubature ? NAN : p->mse_se;
        claimed[i] = fmax(cubature ? p->cubature_claimed : p->claimed, FLOOR);
    }
    snprintf(label, sizeof label, "lift %d", hb_bistable_lifts[lift]);
    HB_TRY(add_points(figure, label, lift, BISTABLE_RADII, hb_bistable_radii, y, se));
    return hb_figure_series(figure, HB_STYLE_DASHED, lift, BISTABLE_RADII,
                            lift + 1 < BISTABLE_LIFTS ? "" : "claimed", hb_bistable_radii, claimed,
                            NULL, NULL);
}

static hb_status draw_radius(hb_figure *figure, const void *user)
{
    const hb_bistable_result *result = user;
    for (int cubature = 0; cubature < 2; cubature++) {
        const hb_panel_settings panel = hb_study_panel_of("bistable_radius", (size_t)cubature);
        HB_TRY(hb_figure_panel(figure, &panel));
        for (int lift = 0; lift < BISTABLE_LIFTS; lift++)
            HB_TRY(add_lift(figure, &result->cases[BISTABLE_GAUSSIAN], lift, cubature));
    }
    return HB_OK;
}

hb_status hb_bistable_figures(hb_gallery *gallery, const hb_bistable_result *result)
{
    HB_TRY(hb_study_draw(gallery, "bistable_stationary", 0, 0, draw_stationary, result));
    HB_TRY(hb_study_draw(gallery, "bistable_gaussian", 0, 0, draw_gaussian, result));
    return hb_study_draw(gallery, "bistable_radius", 0, 0, draw_radius, result);
}
