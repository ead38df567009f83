/* The figure of `heatball helmholtz`: the field f, its rotation f_1 and its gradient f_2 side by
 * side, lines along the field over colours of its length. The colours of each panel have their
 * own key: the rotation of a score is often a thousandth of the gradient, and the key says so.
 *
 * Where a part is below TINY of the field it is the rounding of the transform; its lines would
 * show nothing but that, so they and its colours are left out and the title says so. The
 * transform leaves a ripple of alternating sign from point to point in the two parts; they are
 * drawn after the binomial average (1 2 1)/4 along both axes, which takes such a ripple away and
 * leaves what a picture can show. */
#include "command_helmholtz.h"
#include "study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_POINTS = 161 }; /* per side of a panel; a finer lattice is thinned */
static const double TINY = 1e-5;

/* The lattice of a panel: every step-th point of the field's. */
typedef struct thinned {
    hb_lattice lattice;
    int step_x, step_y;
    double *along[2], *length; // (ny, nx) each
} thinned;

static int step_of(int n)
{
    return (n + MOST_POINTS - 1) / MOST_POINTS;
}

static hb_status create_thinned(const hb_lattice *all, thinned *t)
{
    t->step_x = step_of(all->nx);
    t->step_y = step_of(all->ny);
    const int nx = (all->nx - 1) / t->step_x + 1, ny = (all->ny - 1) / t->step_y + 1;
    const double hx = (all->x1 - all->x0) / (all->nx - 1), hy = (all->y1 - all->y0) / (all->ny - 1);
    t->lattice = (hb_lattice){nx,      ny,
                              all->x0, all->x0 + hx * t->step_x * (nx - 1),
                              all->y0, all->y0 + hy * t->step_y * (ny - 1)};
    const size_t n = (size_t)nx * (size_t)ny;
    t->along[0] = malloc(3 * n * sizeof(double));
    if (!t->along[0]) return HB_ERROR_MEMORY;
    t->along[1] = t->along[0] + n;
    t->length = t->along[1] + n;
    return HB_OK;
}

static void fill_thinned(int nx, const double *values, thinned *t)
{
    for (int j = 0; j < t->lattice.ny; j++)
        for (int i = 0; i < t->lattice.nx; i++) {
            const double *f =
                values + 2 * ((size_t)(j * t->step_y) * (size_t)nx + (size_t)(i * t->step_x));
            const size_t k = (size_t)j * (size_t)t->lattice.nx + (size_t)i;
            t->along[0][k] = f[0];
            t->along[1][k] = f[1];
            t->length[k] = hypot(f[0], f[1]);
        }
}

static void average_line(int n, size_t stride, double *f)
{
    double before = f[0];
    for (int i = 0; i < n; i++) {
        const double here = f[(size_t)i * stride];
        const double after = i + 1 < n ? f[(size_t)(i + 1) * stride] : here;
        f[(size_t)i * stride] = (before + 2 * here + after) / 4;
        before = here;
    }
}

static void average_thinned(thinned *t)
{
    const int nx = t->lattice.nx, ny = t->lattice.ny;
    for (int axis = 0; axis < 2; axis++) {
        for (int j = 0; j < ny; j++) average_line(nx, 1, t->along[axis] + (size_t)j * (size_t)nx);
        for (int i = 0; i < nx; i++) average_line(ny, (size_t)nx, t->along[axis] + i);
    }
    for (size_t k = 0; k < (size_t)nx * (size_t)ny; k++)
        t->length[k] = hypot(t->along[0][k], t->along[1][k]);
}

static hb_status helmholtz_draw_part(hb_figure *figure, const char *title, const char *label,
                                     int with_lines, const thinned *t)
{
    hb_panel_settings panel = hb_study_panel(title, "{/:Italic x}_1", "{/:Italic x}_2");
    hb_study_panel_range(&panel, t->lattice.x0, t->lattice.x1, t->lattice.y0, t->lattice.y1);
    panel.equal_axes = 1;
    HB_TRY(hb_figure_panel(figure, &panel));
    if (!with_lines) { /* empty axes: a point that they do not reach */
        const double x = 2 * panel.x_min - panel.x_max, y = 2 * panel.y_min - panel.y_max;
        return hb_figure_series(figure, HB_STYLE_DOTS, 0, 1, NULL, &x, &y, NULL, NULL);
    }
    HB_TRY(hb_figure_image(figure, &t->lattice, label, t->length));
    return hb_figure_streamlines(figure, 1, &t->lattice, NULL, t->along[0], t->along[1]);
}

static hb_status helmholtz_draw(hb_figure *figure, const hb_helmholtz_field *f, double tau,
                                thinned *t)
{
    const struct {
        const double *values;
        const char *name, *label;
        double mass, rms;
    } parts[] = {
        {f->field, "", "|{/:Italic f}|", 1, f->rms},
        {f->rotation, "_1: rotation", "|{/:Italic f}_1|", f->rotation_mass, f->rotation_rms},
        {f->gradient, "_2: gradient", "|{/:Italic f}_2|", f->gradient_mass, f->gradient_rms}};
    for (int k = 0; k < 3; k++) {
        char title[120];
        const int lines = parts[k].rms > TINY * f->rms;
        if (k > 0)
            snprintf(title, sizeof title, "{/:Italic f}%s, %.3g %% of the mass%s", parts[k].name,
                     100 * parts[k].mass, lines ? "" : " (rounding)");
        else if (f->has_model)
            snprintf(title, sizeof title, "{/:Italic f}: score at {/Symbol t} = %.4g", tau);
        else
            snprintf(title, sizeof title, "{/:Italic f}: the field");
        fill_thinned(f->lattice.nx, parts[k].values, t);
        if (k > 0) average_thinned(t);
        HB_TRY(helmholtz_draw_part(figure, title, parts[k].label, lines, t));
    }
    return HB_OK;
}

hb_status hb_helmholtz_figure_write(hb_session *session, const hb_helmholtz_field *field,
                                    double tau, const char *stem)
{
    hb_figure *figure = NULL;
    thinned t = {0};
    hb_status status = create_thinned(&field->lattice, &t);
    if (status == HB_OK)
        status = hb_figure_create(hb_session_context(session), 1, 3, 500, 600, &figure);
    if (status == HB_OK) status = helmholtz_draw(figure, field, tau, &t);
    if (status == HB_OK) status = hb_figure_write(figure, HB_FORMAT_SVG | HB_FORMAT_PNG, stem);
    hb_figure_destroy(figure);
    free(t.along[0]);
    return status;
}
