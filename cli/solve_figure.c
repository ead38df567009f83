/* The figure of `heatball solve --plot`: which names it takes, and which of the figures it is.
 *
 * One time: a picture, .svg, .png or .pdf. Several: in one dimension the same with all times, or a film, .gif or .html;
 * in two dimensions a film. solve_line_figure.c and solve_plane_figure.c draw. */
#include "solve_figure.h"
#include "plot_path.h"
#include "solve_scene.h"

static int is_film(const char *path)
{
    return hb_points_has_extension(path, ".gif") || hb_points_has_extension(path, ".html");
}

static hb_status check_name(hb_session *session, const char *path, int dim, size_t n_times)
{
    if (n_times == 1 && is_film(path))
        return hb_session_refuse(
            session,
            "--plot is %.200s, an animation, and there is one time; give several, as --time "
            "0:1:0.1, or a name that ends in .svg, .png or .pdf",
            path);
    if (n_times == 1) return hb_plot_path_check(session, path);
    if (is_film(path)) return HB_OK;
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
    if (dim > 2)
        return hb_session_refuse(
            session, "--plot draws problems of dimension 1 and 2; this one has %d", dim);
    const hb_status status = check_name(session, path, dim, n_times);
    if (status != HB_OK) return status;
    const hb_method_description *info = hb_method_of(method);
    if (dim == 2 && info && method != HB_METHOD_AUTO && !info->on_grid)
        return hb_session_refuse(session,
                                 "--plot in two dimensions is drawn from the grid, which --method "
                                 "%s has not; leave one of them out",
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
                "--plot in two dimensions is drawn from the grid, which refused");
    const hb_status status = hb_scene_find_window(&scene);
    if (status != HB_OK) return status;
    return (points->dim == 1 ? hb_scene_draw_line : hb_scene_draw_plane)(&scene, path);
}
