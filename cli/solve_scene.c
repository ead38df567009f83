/* The window of a figure, and the values in it.
 *
 * The window holds the asked points and the core region of every time, where ln u is within
 * HB_SCENE_CORE of its largest value on a lattice of N_SEARCH points per axis over the grid's
 * box. Values come from the grid behind the solution (hb_solution_evaluate), which is not solved
 * again, and at time 0 from the initial density. */
#include "command_solve.h"
#include "plot_path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_SEARCH = 101 };
static const double MARGIN = 0.04;

static const hb_window NOWHERE = {{INFINITY, INFINITY}, {-INFINITY, -INFINITY}};

static double between(double low, double high, int i, int n)
{
    return i == n - 1
               ? high
               : low + (high - low) * i / (n - 1); /* the end exactly: it may be a boundary */
}

void hb_scene_lattice_point(const hb_window *w, int dim, int n, int k, double *x)
{
    for (int axis = 0; axis < dim; axis++, k /= n)
        x[axis] = between(w->low[axis], w->high[axis], k % n, n);
}

static int has_grid(const hb_scene *scene, size_t k)
{
    double low[3], high[3]; /* a grid has at most three dimensions */
    return hb_solution_box(scene->solution, k, low, high) == HB_OK;
}

int hb_scene_is_known(const hb_scene *scene, size_t k)
{
    return hb_solution_time(scene->solution, k) == 0 || has_grid(scene, k);
}

/* ---- values ---- */

/* Points outside the box are moved to its boundary; returns how many. */
static size_t move_inside(int dim, size_t n, const double *low, const double *high, double *x)
{
    size_t moved = 0;
    for (size_t i = 0; i < n * (size_t)dim; i++) {
        const size_t a = i % (size_t)dim;
        const double inside = fmin(fmax(x[i], low[a]), high[a]);
        moved += inside != x[i];
        x[i] = inside;
    }
    return moved;
}

static hb_status evaluate_grid(const hb_scene *scene, size_t k, size_t n, const double *x,
                               double *v, double *v_se, double *score, double *score_se)
{
    const size_t d = (size_t)scene->points->dim;
    double low[3], high[3];
    double *at = malloc(n * d * sizeof *at); // (n, dim)
    if (!at) return HB_ERROR_MEMORY;
    memcpy(at, x, n * d * sizeof *at);
    hb_status status = hb_solution_box(scene->solution, k, low, high);
    if (status == HB_OK) {
        const size_t moved = move_inside((int)d, n, low, high, at);
        status = hb_solution_evaluate(scene->context, scene->solution, k, n, at, v, v_se, score,
                                      score_se);
        for (size_t i = 0; status == HB_OK && moved && i < n; i++) {
            if (memcmp(at + i * d, x + i * d, d * sizeof *at) == 0) continue;
            v[i] = v_se[i] = NAN;
            for (size_t a = 0; a < d; a++) score[i * d + a] = score_se[i * d + a] = NAN;
        }
    }
    free(at);
    return status;
}

hb_status hb_scene_evaluate(const hb_scene *scene, size_t k, size_t n, const double *x, double *v,
                            double *v_se, double *score, double *score_se)
{
    if (hb_solution_time(scene->solution, k) > 0)
        return evaluate_grid(scene, k, n, x, v, v_se, score, score_se);
    memset(v_se, 0, n * sizeof *v_se);
    memset(score_se, 0, n * (size_t)scene->points->dim * sizeof *score_se);
    return hb_problem_initial(scene->context, scene->problem, n, x, v, score);
}

/* ---- the window ---- */

static void widen(int dim, const hb_window *by, hb_window *w)
{
    for (int axis = 0; axis < dim; axis++) {
        w->low[axis] = fmin(w->low[axis], by->low[axis]);
        w->high[axis] = fmax(w->high[axis], by->high[axis]);
    }
}

/* The part of the box where v is within the core region, and a step beyond. */
static void scene_shrink(int dim, int count, const double *x, const double *v, hb_window *w)
{
    double largest = -INFINITY;
    for (int k = 0; k < count; k++) largest = fmax(largest, v[k]);
    for (int axis = 0; axis < dim; axis++) {
        const double step = (w->high[axis] - w->low[axis]) / (N_SEARCH - 1);
        double low = INFINITY, high = -INFINITY;
        for (int k = 0; k < count; k++) {
            if (!(v[k] > largest - HB_SCENE_CORE)) continue;
            low = fmin(low, x[k * dim + axis]);
            high = fmax(high, x[k * dim + axis]);
        }
        if (!(low <= high)) continue;
        w->low[axis] = fmax(w->low[axis], low - step);
        w->high[axis] = fmin(w->high[axis], high + step);
    }
}

/* The core region of time k; *box becomes the box that it lies in. */
static hb_status scene_find_core(const hb_scene *scene, size_t k, hb_window *box, hb_window *core)
{
    const int dim = scene->points->dim, count = dim == 1 ? N_SEARCH : N_SEARCH * N_SEARCH;
    const size_t n = (size_t)count, d = (size_t)dim;
    double low[3], high[3];
    const int grid = hb_solution_time(scene->solution, k) > 0;
    hb_status status = grid ? hb_solution_box(scene->solution, k, low, high)
                            : hb_problem_initial_box(scene->context, scene->problem, low, high);
    if (status != HB_OK) return status;
    memcpy(box->low, low, d * sizeof *low);
    memcpy(box->high, high, d * sizeof *high);
    *core = *box;
    if (!grid) return HB_OK; /* it is one already */
    double *x =
        malloc(n * (2 + 3 * d) * sizeof *x); // x, score, its error (n, dim), v, its error (n)
    if (!x) return HB_ERROR_MEMORY;
    double *v = x + n * d, *v_se = v + n, *score = v_se + n, *score_se = score + n * d;
    for (int i = 0; i < count; i++)
        hb_scene_lattice_point(box, dim, N_SEARCH, i, x + (size_t)i * d);
    status = hb_scene_evaluate(scene, k, n, x, v, v_se, score, score_se);
    if (status == HB_OK) scene_shrink(dim, count, x, v, core);
    free(x);
    return status;
}

/* Widens the window to the points and a margin, but not beyond box (NULL: no limit). */
static void include_points(const hb_points *points, const hb_window *box, hb_window *w)
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

/* Limited to the boxes of grids; the initial density alone, or samples, have no limit. */
hb_status hb_scene_find_window(hb_scene *scene)
{
    const int dim = scene->points->dim;
    hb_window boxes = NOWHERE, *w = &scene->window;
    int grids = 0;
    *w = NOWHERE;
    for (size_t k = 0; k < scene->n_times; k++) {
        hb_window box, core;
        if (!hb_scene_is_known(scene, k)) continue;
        const hb_status status = scene_find_core(scene, k, &box, &core);
        if (status != HB_OK) return status;
        grids += hb_solution_time(scene->solution, k) > 0;
        widen(dim, &box, &boxes);
        widen(dim, &core, w);
    }
    include_points(scene->points, grids > 0 ? &boxes : NULL, w);
    if (!(w->low[0] < w->high[0])) /* one point */
        w->low[0] -= 1, w->high[0] += 1;
    return HB_OK;
}

/* ---- animations ---- */

int hb_scene_is_animation(const char *path)
{
    return hb_points_has_extension(path, ".gif") || hb_points_has_extension(path, ".html");
}

hb_status hb_scene_animate(const hb_scene *scene, const hb_scene_frames *frames, const char *path)
{
    const size_t n = scene->n_times;
    double *times = malloc(n * sizeof *times);        // (n)
    hb_figure **figures = calloc(n, sizeof *figures); // (n)
    hb_status status = times && figures ? HB_OK : HB_ERROR_MEMORY;
    for (size_t k = 0; k < n && status == HB_OK; k++) {
        times[k] = hb_solution_time(scene->solution, k);
        status = hb_figure_create(scene->context, frames->rows, 1, frames->height, frames->width,
                                  &figures[k]);
        if (status == HB_OK) status = frames->draw(scene, k, figures[k], frames->user);
    }
    if (status == HB_OK)
        status = hb_figure_write_film(scene->context, n, frames->title, path, times, figures);
    for (size_t k = 0; figures && k < n; k++) hb_figure_destroy(figures[k]);
    free(figures);
    free(times);
    return status;
}

/* ---- which figure ---- */

static hb_status figure_check_name(hb_session *session, const char *path, int dim, size_t n_times)
{
    HB_REFUSE_IF(session, n_times == 1 && hb_scene_is_animation(path),
                 "--plot is %.200s, an animation, and there is one time; give several, as --time "
                 "0:1:0.1, or a name that ends in .svg, .png or .pdf",
                 path);
    if (n_times == 1) return hb_plot_path_check(session, path);
    if (hb_scene_is_animation(path)) return HB_OK;
    const hb_status status = hb_plot_path_check(session, path);
    if (status == HB_OK && dim == 1) return HB_OK;
    return hb_session_refuse(
        session,
        "--plot is %.200s; of %zu times in dimension %d the name must end in %s.gif or .html", path,
        n_times, dim, dim == 1 ? ".svg, .png, .pdf, " : "");
}

hb_status hb_solve_figure_check(hb_session *session, const char *path, int dim, int method,
                                size_t n_times)
{
    if (!path) return HB_OK;
    HB_REFUSE_IF(session, dim > 2, "--plot draws problems of dimension 1 and 2; this one has %d",
                 dim);
    const hb_status status = figure_check_name(session, path, dim, n_times);
    if (status != HB_OK) return status;
    const hb_method_description *info = hb_method_of(method);
    HB_REFUSE_IF(session, dim == 2 && info && method != HB_METHOD_AUTO && !info->on_grid,
                 "--plot in two dimensions is drawn from the grid, which --method %s has not; "
                 "leave one of them out",
                 info->name);
    return HB_OK;
}

hb_status hb_solve_figure_write(hb_session *session, const hb_problem *problem,
                                const hb_points *points, const hb_solution *solution,
                                const char *path)
{
    hb_scene scene = {.context = hb_session_context(session),
                      .problem = problem,
                      .points = points,
                      .solution = solution,
                      .n_times = hb_solution_n_times(solution)};
    for (size_t k = 0; points->dim == 2 && k < scene.n_times; k++)
        if (!hb_scene_is_known(&scene, k))
            return hb_session_fail(
                session, HB_ERROR_UNAVAILABLE,
                "--plot in two dimensions is drawn from the grid, which did not serve here; see "
                "whether --method grid does");
    const hb_status status = hb_scene_find_window(&scene);
    if (status != HB_OK) return status;
    return (points->dim == 1 ? hb_scene_draw_line : hb_scene_draw_plane)(&scene, path);
}
