/* Figures of a solution in two dimensions: the density as colours with contour lines, and the
 * score as streamlines.
 *
 * One time: a picture from N_PLANE x N_PLANE points of the grid. Several: an animation from
 * N_FRAME x N_FRAME points at each time, whose colours and contour lines have one scale, from 0
 * to the largest density of all times. A line of the score ends where its error is MOST_ERROR of
 * it. */
#include "command_solve.h"
#include "plot_path.h"
#include "study.h"

#include <math.h>
#include <stdlib.h>

enum { N_PLANE = 161, N_FRAME = 101, N_LEVELS = 11, HEIGHT = 620, WIDTH = 760 };
static const double MOST_ERROR = 0.2;
static const double LEVELS[N_LEVELS] = {0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};

/* Values on a lattice of n x n points, in one block. */
typedef struct plane {
    int n;
    double *x, *v, *v_se, *score, *error; // (n, n, 2), (n, n), (n, n), (n, n, 2), (n, n, 2)
    double *density, *along[2];           // (n, n) each
    double largest;                       /* of the density */
} plane;

static hb_status plane_create(int n, plane *out)
{
    const size_t size = (size_t)n * (size_t)n;
    double *memory = calloc(11 * size, sizeof *memory);
    *out = (plane){.n = n, .x = memory};
    if (!memory) return HB_ERROR_MEMORY;
    out->score = memory + 2 * size;
    out->error = memory + 4 * size;
    out->v = memory + 6 * size;
    out->v_se = memory + 7 * size;
    out->density = memory + 8 * size;
    out->along[0] = memory + 9 * size;
    out->along[1] = memory + 10 * size;
    return HB_OK;
}

static hb_status plane_fill(const hb_scene *scene, size_t k, plane *p)
{
    const int count = p->n * p->n;
    for (int i = 0; i < count; i++)
        hb_scene_lattice_point(&scene->window, 2, p->n, i, p->x + 2 * i);
    const hb_status status =
        hb_scene_evaluate(scene, k, (size_t)count, p->x, p->v, p->v_se, p->score, p->error);
    p->largest = 0;
    for (int i = 0; status == HB_OK && i < count; i++) {
        const double *s = p->score + 2 * i, *e = p->error + 2 * i;
        const int known = hypot(e[0], e[1]) <= MOST_ERROR * hypot(s[0], s[1]);
        p->density[i] = isnan(p->v[i]) ? 0 : exp(p->v[i]); /* nothing is beyond the grid's box */
        p->largest = fmax(p->largest, p->density[i]);
        for (int axis = 0; axis < 2; axis++) p->along[axis][i] = known ? s[axis] : NAN;
    }
    return status;
}

/* The points that were asked for, where the window shows them. */
static hb_status plane_mark_points(hb_figure *figure, const hb_window *w, const hb_points *points)
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
    const hb_status status = n == 0
                                 ? HB_OK
                                 : hb_figure_series(figure, HB_STYLE_POINTS, 6, n,
                                                    n == 1 ? "requested point" : "requested points",
                                                    x, x + points->n, NULL, NULL);
    free(x);
    return status;
}

/* The panel of one time; largest: the density at the dark end of the colours; fixed: also when
 * this time has less. */
static hb_status plane_draw(const hb_scene *scene, size_t k, const plane *p, double largest,
                            int fixed, hb_figure *figure)
{
    const hb_window *w = &scene->window;
    double levels[N_LEVELS];
    for (int i = 0; i < N_LEVELS; i++) levels[i] = LEVELS[i] * largest;
    const hb_lattice lattice = {p->n, p->n, w->low[0], w->high[0], w->low[1], w->high[1]};
    char title[80];
    snprintf(title, sizeof title, "Density and lines of the score at {/:Italic t} = %.6g",
             hb_solution_time(scene->solution, k));
    hb_panel_settings panel = hb_study_panel(title, "{/:Italic x}_1", "{/:Italic x}_2");
    hb_study_panel_range(&panel, w->low[0], w->high[0], w->low[1], w->high[1]);
    if (fixed) panel.color_min = 0, panel.color_max = largest;
    HB_TRY(hb_figure_panel(figure, &panel));
    HB_TRY(hb_figure_image(figure, &lattice, "density {/:Italic u}", p->density));
    HB_TRY(hb_figure_contours(figure, 0, N_LEVELS, &lattice, NULL, p->density, levels));
    HB_TRY(hb_figure_streamlines(figure, 1, &lattice, NULL, p->along[0], p->along[1]));
    const int marked = !scene->points->mesh || scene->points->n < (size_t)N_LEVELS;
    return marked ? plane_mark_points(figure, w, scene->points) : HB_OK;
}

static hb_status plane_write(const hb_scene *scene, const char *path)
{
    hb_figure *figure = NULL;
    plane p;
    hb_status status = plane_create(N_PLANE, &p);
    if (status == HB_OK) status = plane_fill(scene, 0, &p);
    if (status == HB_OK) status = hb_figure_create(scene->context, 1, 1, HEIGHT, WIDTH, &figure);
    if (status == HB_OK) status = plane_draw(scene, 0, &p, p.largest, 0, figure);
    status = hb_plot_path_write(figure, status, path);
    free(p.x);
    return status;
}

/* A plane for one time after the other, and the largest density of all. */
typedef struct plane_frames {
    plane plane;
    double largest;
} plane_frames;

static hb_status plane_frame(const hb_scene *scene, size_t k, hb_figure *figure, void *user)
{
    plane_frames *f = user;
    HB_TRY(plane_fill(scene, k, &f->plane));
    return plane_draw(scene, k, &f->plane, f->largest, 1, figure);
}

static hb_status plane_animate(const hb_scene *scene, const char *path)
{
    plane_frames f = {0};
    const hb_scene_frames frames = {
        1, HEIGHT, WIDTH, "Density and lines of the score over time", plane_frame, &f};
    hb_status status = plane_create(N_FRAME, &f.plane);
    for (size_t k = 0; k < scene->n_times && status == HB_OK; k++) {
        status = plane_fill(scene, k, &f.plane);
        f.largest = fmax(f.largest, f.plane.largest);
    }
    if (status == HB_OK) status = hb_scene_animate(scene, &frames, path);
    free(f.plane.x);
    return status;
}

hb_status hb_scene_draw_plane(const hb_scene *scene, const char *path)
{
    return (scene->n_times > 1 ? plane_animate : plane_write)(scene, path);
}
