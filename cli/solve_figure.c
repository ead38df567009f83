/* The figure of `heatball solve --plot`.
 *
 * One dimension: density, log-density and score over N_LINE points of the grid behind the solution, each
 * with a band of two errors, and the asked points as markers; of a solution by sampling, which has no
 * grid, the asked points with bars of two errors. Two dimensions: the density as colours with contour
 * lines, and the score as streamlines, from N_PLANE x N_PLANE points of the grid.
 *
 * The window holds the asked points and the bulk, where ln u is within BULK of its largest value on the
 * grid. For a standard normal BULK = 10 gives |x| < sqrt(20) = 4.5. */
#include "solve_figure.h"
#include "plot_path.h"
#include "study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_LINE = 201, N_PLANE = 161, N_SEARCH = 101, N_LEVELS = 11 };
static const double BULK = 10, MARGIN = 0.04;
static const double DOUBT = 0.2; /* a line of the score ends where its error is this share of it */
static const double LEVELS[N_LEVELS] = {0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};

typedef struct window {
    double low[2], high[2];
} window;

hb_status hb_solve_figure_check(hb_session *session, const char *path, int dim, int method)
{
    hb_status status = hb_plot_path_check(session, path);
    if (status == HB_OK && path && dim > 2)
        return hb_session_fail(session, HB_ERROR_ARGUMENT,
                               "--plot draws problems of dimension 1 and 2; this one has %d", dim);
    if (status == HB_OK && path && dim == 2 &&
        (method == HB_METHOD_PARTICLES || method == HB_METHOD_WALK || method < 0))
        return hb_session_fail(session, HB_ERROR_ARGUMENT,
                               "--plot in two dimensions is drawn from the grid, which --method %s "
                               "has not; leave one of them out",
                               method < 0                 ? "network"
                               : method == HB_METHOD_WALK ? "walk"
                                                          : "particles");
    return status;
}

/* ---- the window ---- */

static double between(double low, double high, int i, int n)
{
    return i == n - 1 ? high
                      : low + (high - low) * i / (n - 1); /* the end exactly: it may be a wall */
}

/* Point k of a regular lattice of n points per axis, x fastest. */
static void lattice_point(const window *w, int dim, int n, int k, double *x)
{
    for (int axis = 0; axis < dim; axis++, k /= n)
        x[axis] = between(w->low[axis], w->high[axis], k % n, n);
}

static int lattice_size(int dim, int n)
{
    return dim == 1 ? n : n * n;
}

static void shrink_to_bulk(int dim, int count, const double *x, const double *v, window *w)
{
    double largest = -INFINITY;
    for (int k = 0; k < count; k++) largest = fmax(largest, v[k]);
    for (int axis = 0; axis < dim; axis++) {
        const double step = (w->high[axis] - w->low[axis]) / (N_SEARCH - 1);
        double low = INFINITY, high = -INFINITY;
        for (int k = 0; k < count; k++) {
            if (!(v[k] > largest - BULK)) continue;
            low = fmin(low, x[k * dim + axis]);
            high = fmax(high, x[k * dim + axis]);
        }
        if (!(low <= high)) continue;
        w->low[axis] = fmax(w->low[axis], low - step);
        w->high[axis] = fmin(w->high[axis], high + step);
    }
}

/* Widens the window to the points and a margin, but not beyond box (NULL: no limit). */
static void include_points(const hb_points *points, const window *box, window *w)
{
    for (int axis = 0; axis < points->dim; axis++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < points->n; i++) {
            low = fmin(low, points->x[i * (size_t)points->dim + (size_t)axis]);
            high = fmax(high, points->x[i * (size_t)points->dim + (size_t)axis]);
        }
        const double margin = MARGIN * (fmax(high, w->high[axis]) - fmin(low, w->low[axis]));
        w->low[axis] = fmin(w->low[axis], low - margin);
        w->high[axis] = fmax(w->high[axis], high + margin);
        if (!box) continue;
        w->low[axis] = fmax(w->low[axis], box->low[axis]);
        w->high[axis] = fmin(w->high[axis], box->high[axis]);
    }
}

static hb_status search_grid(hb_context *context, const hb_grid *grid, const hb_points *points,
                             window *w)
{
    const int dim = points->dim;
    hb_grid_info info;
    hb_grid_info_get(grid, sizeof info, &info);
    for (int axis = 0; axis < dim; axis++) {
        w->low[axis] = info.low[axis];
        w->high[axis] = info.high[axis];
    }
    const int count = lattice_size(dim, N_SEARCH);
    double *x = malloc((size_t)(count * (dim + 1)) * sizeof *x); // (count, dim), then v (count)
    if (!x) return HB_ERROR_MEMORY;
    double *v = x + count * dim;
    for (int k = 0; k < count; k++) lattice_point(w, dim, N_SEARCH, k, x + k * dim);
    hb_status status =
        hb_grid_evaluate(context, grid, (size_t)count, x, info.tau, v, NULL, NULL, NULL);
    const window box = *w;
    if (status == HB_OK) {
        shrink_to_bulk(dim, count, x, v, w);
        include_points(points, &box, w);
    }
    free(x);
    return status;
}

/* Without a grid: the initial density's box at time 0, else the points themselves. */
static hb_status find_window(hb_context *context, const hb_problem *problem, const hb_grid *grid,
                             double time, const hb_points *points, window *w)
{
    if (grid) return search_grid(context, grid, points, w);
    *w = (window){.low = {INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY}};
    if (time == 0) HB_TRY(hb_problem_initial_box(context, problem, w->low, w->high));
    include_points(points, NULL, w);
    if (!(w->low[0] < w->high[0])) /* one point */
        w->low[0] -= 1, w->high[0] += 1;
    return HB_OK;
}

/* v, its gradient and their errors at x[n][dim]: the grid's, or at time 0 the initial density's. */
static hb_status evaluate(hb_context *context, const hb_problem *problem, const hb_grid *grid,
                          size_t n, const double *x, double *v, double *v_se, double *score,
                          double *score_se)
{
    if (!grid) return hb_problem_initial(context, problem, n, x, v, score);
    hb_grid_info info;
    hb_grid_info_get(grid, sizeof info, &info);
    return hb_grid_evaluate(context, grid, n, x, info.tau, v, v_se, score, score_se);
}

/* ---- one dimension ---- */

/* A curve: values and errors by hb_column, in pairs. */
typedef struct line {
    double x[N_LINE], values[HB_COLUMN_SCORE_SE + 1][N_LINE];
    double low[N_LINE], high[N_LINE];
} line;

static double finite_or_nan(double value)
{
    return isfinite(value) ? value : NAN;
}

/* The points of the user with bars of two errors. work has room for three columns of them. */
static hb_status draw_points(hb_figure *figure, hb_column column, const char *label,
                             const hb_points *points, const hb_solution *solution, double *work)
{
    const size_t n = points->n;
    const double *y = hb_solution_values(solution, column);
    const double *se = hb_solution_values(solution, (hb_column)(column + 1));
    double *middle = work, *low = work + n, *high = work + 2 * n;
    for (size_t i = 0; i < n; i++) {
        middle[i] = finite_or_nan(y[i]);
        low[i] = isfinite(se[i]) ? finite_or_nan(y[i] - 2 * se[i]) : middle[i];
        high[i] = isfinite(se[i]) ? finite_or_nan(y[i] + 2 * se[i]) : middle[i];
    }
    return hb_figure_series(figure, HB_STYLE_POINTS, 1, n, label, points->x, middle, low, high);
}

/* A panel of one quantity: band, curve, points. */
static hb_status draw_quantity(hb_figure *figure, const hb_panel_settings *panel, hb_column column,
                               line *l, const char *name, const hb_points *points,
                               const hb_solution *solution, double *work)
{
    const int named = column == HB_COLUMN_LOG_DENSITY; /* one legend serves the three panels */
    hb_status status = hb_figure_panel(figure, panel);
    if (status == HB_OK && l) {
        double *y = l->values[column], *se = l->values[column + 1];
        for (int i = 0; i < N_LINE; i++) {
            l->low[i] = finite_or_nan(y[i] - 2 * se[i]);
            l->high[i] = finite_or_nan(y[i] + 2 * se[i]);
            y[i] = finite_or_nan(y[i]);
        }
        status = hb_figure_series(figure, HB_STYLE_BAND, 1, N_LINE, named ? "± 2 errors" : NULL,
                                  l->x, NULL, l->low, l->high);
        if (status == HB_OK)
            status = hb_figure_series(figure, HB_STYLE_LINE, 0, N_LINE, named ? name : NULL, l->x,
                                      y, NULL, NULL);
    }
    if (status != HB_OK) return status;
    char label[80];
    snprintf(label, sizeof label, l ? "points asked for" : "%s, ± 2 errors",
             hb_solution_method(solution));
    return draw_points(figure, column, named ? label : NULL, points, solution, work);
}

static hb_status draw_line(hb_figure *figure, double time, const window *w, line *l,
                           const char *name, const hb_points *points, const hb_solution *solution)
{
    static const struct {
        hb_column column;
        const char *title, *label, *key;
    } parts[] = {
        {HB_COLUMN_DENSITY, "Density", "{/:Italic u}({/:Italic x})", "top right"},
        {HB_COLUMN_LOG_DENSITY, "Log-density", "ln {/:Italic u}({/:Italic x})", "bottom center"},
        {HB_COLUMN_SCORE, "Score", "∂_{{/:Italic x}} ln {/:Italic u}({/:Italic x})", "top right"}};
    double *work = malloc(3 * points->n * sizeof *work);
    hb_status status = work ? HB_OK : HB_ERROR_MEMORY;
    for (int k = 0; k < 3 && status == HB_OK; k++) {
        char title[80];
        snprintf(title, sizeof title, "%s at {/:Italic t} = %.6g", parts[k].title, time);
        hb_panel_settings panel = hb_study_panel(title, "{/:Italic x}", parts[k].label);
        hb_study_panel_range(&panel, w->low[0], w->high[0], NAN, NAN);
        panel.key = parts[k].key;
        status = draw_quantity(figure, &panel, parts[k].column, l, name, points, solution, work);
    }
    free(work);
    return status;
}

static hb_status solve_line(hb_context *context, const hb_problem *problem, const hb_grid *grid,
                            double time, const window *w, const hb_points *points,
                            const hb_solution *solution, hb_figure *figure)
{
    if (!grid && time > 0) return draw_line(figure, time, w, NULL, NULL, points, solution);
    line *l = calloc(1, sizeof *l);
    if (!l) return HB_ERROR_MEMORY;
    for (int k = 0; k < N_LINE; k++) lattice_point(w, 1, N_LINE, k, l->x + k);
    double *v = l->values[HB_COLUMN_LOG_DENSITY], *v_se = l->values[HB_COLUMN_LOG_DENSITY_SE];
    hb_status status = evaluate(context, problem, grid, N_LINE, l->x, v, v_se,
                                l->values[HB_COLUMN_SCORE], l->values[HB_COLUMN_SCORE_SE]);
    for (int k = 0; k < N_LINE; k++) {
        l->values[HB_COLUMN_DENSITY][k] = exp(v[k]);
        l->values[HB_COLUMN_DENSITY_SE][k] = exp(v[k]) * v_se[k];
    }
    if (status == HB_OK)
        status = draw_line(figure, time, w, l, grid ? "grid" : "initial", points, solution);
    free(l);
    return status;
}

/* ---- two dimensions ---- */

enum { PLANE = N_PLANE * N_PLANE };

typedef struct plane {
    double x[PLANE][2], v[PLANE], score[PLANE][2];
    double density[PLANE], along[2][PLANE], error[PLANE][2];
} plane;

/* The points that were asked for, where the window shows them. */
static hb_status mark_points(hb_figure *figure, const window *w, const hb_points *points)
{
    double *x = malloc(2 * points->n * sizeof *x); // (2, n)
    size_t n = 0;
    if (!x) return HB_ERROR_MEMORY;
    for (size_t i = 0; i < points->n; i++) {
        const double *at = points->x + 2 * i;
        if (at[0] < w->low[0] || at[0] > w->high[0] || at[1] < w->low[1] || at[1] > w->high[1])
            continue;
        x[n] = at[0];
        x[points->n + n++] = at[1];
    }
    const hb_status status = n == 0 ? HB_OK
                                    : hb_figure_series(figure, HB_STYLE_POINTS, 6, n, NULL, x,
                                                       x + points->n, NULL, NULL);
    free(x);
    return status;
}

static hb_status draw_plane(hb_figure *figure, double time, const window *w, const plane *p,
                            const hb_points *points)
{
    double largest = 0, levels[N_LEVELS];
    for (int k = 0; k < PLANE; k++) largest = fmax(largest, p->density[k]);
    for (int k = 0; k < N_LEVELS; k++) levels[k] = LEVELS[k] * largest;
    const hb_lattice lattice = {N_PLANE, N_PLANE, w->low[0], w->high[0], w->low[1], w->high[1]};
    char title[80];
    snprintf(title, sizeof title, "Density and lines of the score at {/:Italic t} = %.6g", time);
    hb_panel_settings panel = hb_study_panel(title, "{/:Italic x}_1", "{/:Italic x}_2");
    hb_study_panel_range(&panel, w->low[0], w->high[0], w->low[1], w->high[1]);
    hb_status status = hb_figure_panel(figure, &panel);
    if (status == HB_OK)
        status = hb_figure_image(figure, &lattice, "density {/:Italic u}", p->density);
    if (status == HB_OK)
        status = hb_figure_contours(figure, 0, N_LEVELS, &lattice, NULL, p->density, levels);
    if (status == HB_OK)
        status = hb_figure_streamlines(figure, 1, &lattice, NULL, p->along[0], p->along[1]);
    if (status == HB_OK) status = mark_points(figure, w, points);
    return status;
}

static hb_status solve_plane(hb_context *context, const hb_problem *problem, const hb_grid *grid,
                             double time, const window *w, const hb_points *points,
                             hb_figure *figure)
{
    plane *p = malloc(sizeof *p);
    if (!p) return HB_ERROR_MEMORY;
    for (int k = 0; k < PLANE; k++) lattice_point(w, 2, N_PLANE, k, p->x[k]);
    memset(p->error, 0, sizeof p->error);
    hb_status status =
        evaluate(context, problem, grid, PLANE, p->x[0], p->v, NULL, p->score[0], p->error[0]);
    for (int k = 0; status == HB_OK && k < PLANE; k++) {
        const double length = hypot(p->score[k][0], p->score[k][1]);
        const int known = hypot(p->error[k][0], p->error[k][1]) <= DOUBT * length;
        p->density[k] = exp(p->v[k]);
        for (int axis = 0; axis < 2; axis++) p->along[axis][k] = known ? p->score[k][axis] : NAN;
    }
    if (status == HB_OK) status = draw_plane(figure, time, w, p, points);
    free(p);
    return status;
}

/* ---- both ---- */

hb_status hb_solve_figure_write(hb_session *session, const hb_problem *problem, double time,
                                const hb_points *points, const hb_solution *solution,
                                const char *path)
{
    hb_context *context = hb_session_context(session);
    const hb_grid *grid = hb_solution_grid(solution);
    const int in_line = points->dim == 1;
    if (!in_line && !grid && time > 0)
        return hb_session_fail(session, HB_ERROR_UNAVAILABLE,
                               "--plot in two dimensions is drawn from the grid, which refused");
    window w;
    hb_figure *figure = NULL;
    hb_status status = find_window(context, problem, grid, time, points, &w);
    if (status == HB_OK)
        status = in_line ? hb_figure_create(context, 1, 3, 0, 0, &figure)
                         : hb_figure_create(context, 1, 1, 620, 760, &figure);
    if (status == HB_OK)
        status = in_line ? solve_line(context, problem, grid, time, &w, points, solution, figure)
                         : solve_plane(context, problem, grid, time, &w, points, figure);
    if (status == HB_OK) status = hb_plot_path_write(figure, path);
    hb_figure_destroy(figure);
    return status;
}
