/* Functions of the plane in a figure: an image of the values, and lines of equal value.
 *
 * Contours by marching squares: on each cell of the lattice the function is taken as linear along
 * the four edges, an edge whose ends lie on both sides of the level is crossed at
 *     a + (level - f(a))/(f(b) - f(a)) (b - a),
 * and the crossings are joined in pairs. A saddle (four crossings) is decided by the mean of the
 * four corners. For f = x^2 + y^2 on a lattice of step h every crossing is within h^2/8 of the
 * circle's radius. */
#include "base/context.h"
#include "base/memory.h"
#include "plot/figure.h"

#include <math.h>

enum { MAX_LATTICE = 4096 };

hb_status hb_lattice_check(hb_context *context, const hb_lattice *lattice)
{
    HB_CHECK(context, lattice, HB_ERROR_ARGUMENT, "the lattice is NULL");
    HB_CHECK(context,
             lattice->nx >= 2 && lattice->nx <= MAX_LATTICE && lattice->ny >= 2 &&
                 lattice->ny <= MAX_LATTICE,
             HB_ERROR_ARGUMENT, "the lattice has %d x %d points; each must be 2 to %d", lattice->nx,
             lattice->ny, MAX_LATTICE);
    const double width = lattice->x1 - lattice->x0, height = lattice->y1 - lattice->y0;
    HB_CHECK(context, width > 0 && isfinite(width) && height > 0 && isfinite(height),
             HB_ERROR_ARGUMENT, "the lattice spans [%g, %g] x [%g, %g]; both must be increasing",
             lattice->x0, lattice->x1, lattice->y0, lattice->y1);
    return HB_OK;
}

static double x_of(const hb_lattice *lattice, double i)
{
    return lattice->x0 + i * (lattice->x1 - lattice->x0) / (lattice->nx - 1);
}

static double y_of(const hb_lattice *lattice, double j)
{
    return lattice->y0 + j * (lattice->y1 - lattice->y0) / (lattice->ny - 1);
}

hb_status hb_figure_image(hb_figure *figure, const hb_lattice *lattice, const char *label,
                          const double *values)
{
    hb_context *context = figure ? figure->context : NULL;
    HB_TRY(hb_lattice_check(context, lattice));
    HB_CHECK(context, figure->n_panels > 0 && !figure->cells[figure->n_panels - 1].first,
             HB_ERROR_ARGUMENT, "an image must be the first series of a panel");
    const size_t n = (size_t)lattice->nx * (size_t)lattice->ny;
    void *memory;
    HB_TRY(hb_allocate(context, 2 * n, sizeof(double), &memory));
    double *x = memory, *y = x + n; // (ny, nx) each
    for (int j = 0; j < lattice->ny; j++)
        for (int i = 0; i < lattice->nx; i++) {
            const size_t k = (size_t)j * (size_t)lattice->nx + (size_t)i;
            x[k] = x_of(lattice, i);
            y[k] = y_of(lattice, j);
        }
    hb_status status = hb_figure_add(figure, label, HB_STYLE_IMAGE, 0, n, x, y, values, values);
    hb_release(context, memory);
    return status;
}

/* The pieces of the lines, each two points and a NaN. */
typedef struct segments {
    size_t n, capacity;
    double *x, *y; // (capacity), NULL while the pieces are only counted
} segments;

static void contours_add(segments *out, const double a[2], const double b[2])
{
    if (out->x) {
        const double x[] = {a[0], b[0], NAN}, y[] = {a[1], b[1], NAN};
        for (int k = 0; k < 3; k++) {
            out->x[out->n + (size_t)k] = x[k];
            out->y[out->n + (size_t)k] = y[k];
        }
    }
    out->n += 3;
}

/* Corners go round the cell: (i,j), (i+1,j), (i+1,j+1), (i,j+1); edge k joins corners k and k+1. */
static void contours_of_cell(const hb_lattice *lattice, const double f[4], int i, int j,
                             double level, segments *out)
{
    static const int di[] = {0, 1, 1, 0}, dj[] = {0, 0, 1, 1};
    double crossing[4][2];
    int n = 0;
    for (int k = 0; k < 4; k++) {
        const int next = (k + 1) % 4;
        if (!isfinite(f[k]) || !isfinite(f[next])) return;
        if ((f[k] > level) == (f[next] > level)) continue;
        const double fraction = (level - f[k]) / (f[next] - f[k]);
        crossing[n][0] = x_of(lattice, i + di[k] + fraction * (di[next] - di[k]));
        crossing[n][1] = y_of(lattice, j + dj[k] + fraction * (dj[next] - dj[k]));
        n++;
    }
    if (n == 2) contours_add(out, crossing[0], crossing[1]);
    if (n != 4) return;
    const int joined = (f[0] + f[1] + f[2] + f[3] > 4 * level) == (f[0] > level);
    contours_add(out, crossing[0], crossing[joined ? 1 : 3]);
    contours_add(out, crossing[2], crossing[joined ? 3 : 1]);
}

static void contours_find(const hb_lattice *lattice, const double *values, int n_levels,
                          const double *levels, segments *out)
{
    const size_t nx = (size_t)lattice->nx;
    out->n = 0;
    for (int k = 0; k < n_levels; k++)
        for (int j = 0; j + 1 < lattice->ny; j++)
            for (int i = 0; i + 1 < lattice->nx; i++) {
                const double *low = values + (size_t)j * nx + (size_t)i, *high = low + nx;
                const double corners[] = {low[0], low[1], high[1], high[0]};
                contours_of_cell(lattice, corners, i, j, levels[k], out);
            }
}

hb_status hb_figure_contours(hb_figure *figure, int color, int n_levels, const hb_lattice *lattice,
                             const char *label, const double *values, const double *levels)
{
    hb_context *context = figure ? figure->context : NULL;
    HB_TRY(hb_lattice_check(context, lattice));
    segments lines = {0};
    contours_find(lattice, values, n_levels, levels, &lines);
    if (lines.n == 0) return HB_OK;
    HB_TRY(HB_NEW(context, lines.x, 2 * lines.n));
    lines.y = lines.x + lines.n;
    contours_find(lattice, values, n_levels, levels, &lines);
    hb_status status =
        hb_figure_add(figure, label, HB_STYLE_THIN, color, lines.n, lines.x, lines.y, NULL, NULL);
    hb_release(context, lines.x);
    return status;
}
