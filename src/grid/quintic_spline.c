/* Interpolation of v between nodes: quintic B-splines, error O(h^6) in the value and O(h^5) in the
 * slope.
 *
 * In units of h, node r at r, n nodes. Knots: 0 six times, 3, 4, .. n-4, n-1 six times, so that
 * there are as many basis functions as nodes ("not a knot": nodes 1, 2, n-3, n-2 carry no knot),
 * and a polynomial of degree 5 is reproduced exactly up to the ends. The collocation matrix has
 * five bands on either side at most and is solved by LAPACK. In more dimensions, axis by axis.
 * Along an axis of several pieces nothing is smooth across the joints: there values stay values,
 * and the polynomial of degree 5 through six nodes of one piece takes the spline's place.
 *
 * C. de Boor, A Practical Guide to Splines, 1978, chapters X and XIII. Must reproduce: x^5
 * itself. */
#include "grid/quintic_spline.h"
#include "base/context.h"
#include "base/memory.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { DEGREE = HB_SPLINE_ORDER - 1, BANDS = 5, LEADING = 3 * BANDS + 1, LINES = 64 };

static double knot(int n, int i)
{
    return i < HB_SPLINE_ORDER ? 0 : i >= n ? n - 1 : i - 3;
}

/* basis[k] = N_k(s) and slope[k] = N_k'(s) for the six k = *first .. *first+5. */
static void spline_basis(int n, double s, int *first, double *basis, double *slope)
{
    const int span = s < 3 ? DEGREE : s >= n - 4 ? n - 1 : (int)s + 3;
    double lower_degree[HB_SPLINE_ORDER] = {0};
    basis[0] = 1;
    for (int p = 1; p <= DEGREE; p++) {
        if (p == DEGREE) memcpy(lower_degree, basis, DEGREE * sizeof(double));
        double carried = 0;
        for (int k = 0; k < p; k++) {
            const double right = knot(n, span + 1 + k), left = knot(n, span + 1 + k - p);
            const double part = basis[k] / (right - left);
            basis[k] = carried + (right - s) * part;
            carried = (s - left) * part;
        }
        basis[p] = carried;
    }
    *first = span - DEGREE;
    for (int k = 0; k < HB_SPLINE_ORDER; k++) {
        const int i = *first + k;
        slope[k] = 0;
        if (k > 0) slope[k] += DEGREE * lower_degree[k - 1] / (knot(n, i + DEGREE) - knot(n, i));
        if (k < DEGREE)
            slope[k] -= DEGREE * lower_degree[k] / (knot(n, i + DEGREE + 1) - knot(n, i + 1));
    }
}

/* The same for the polynomial through the six nodes of piece p that are nearest to s. */
static void spline_lagrange(const hb_axis *axis, int p, double s, int *first, double *basis,
                            double *slope)
{
    const int least = axis->first[p], most = axis->first[p + 1] - DEGREE;
    const int wanted = (int)floor(s) - DEGREE / 2;
    *first = wanted < least ? least : wanted > most ? most : wanted;
    for (int k = 0; k < HB_SPLINE_ORDER; k++) {
        basis[k] = 1;
        slope[k] = 0;
        for (int j = 0; j < HB_SPLINE_ORDER; j++) {
            if (j == k) continue;
            const double factor = (s - *first - j) / (k - j);
            slope[k] = slope[k] * factor + basis[k] / (k - j);
            basis[k] *= factor;
        }
    }
}

/* The factored collocation matrix of n nodes, in LAPACK's band storage. */
static hb_status spline_factor(hb_context *context, int n, double *bands, lapack_int *pivots)
{
    memset(bands, 0, (size_t)n * LEADING * sizeof(double));
    for (int row = 0; row < n; row++) {
        int first;
        double basis[HB_SPLINE_ORDER], slope[HB_SPLINE_ORDER];
        spline_basis(n, row, &first, basis, slope);
        for (int k = 0; k < HB_SPLINE_ORDER; k++) {
            const int column = first + k;
            if (basis[k] != 0) bands[column * LEADING + 2 * BANDS + row - column] = basis[k];
        }
    }
    lapack_int info = LAPACKE_dgbtrf(LAPACK_COL_MAJOR, n, n, BANDS, BANDS, bands, LEADING, pivots);
    HB_CHECK(context, info == 0, HB_ERROR_NUMERICAL,
             "the spline through %d nodes has no solution (LAPACK %d)", n, (int)info);
    return HB_OK;
}

/* Solves along one axis: lines are gathered, LINES at a time, solved, and put back. */
static hb_status spline_fit_axis(hb_context *context, const hb_mesh *mesh, int axis, double *values)
{
    const int n = mesh->nodes[axis];
    const size_t inner = hb_mesh_stride(mesh, axis), count = mesh->size / (size_t)n;
    hb_workspace work;
    double *bands, *lines; // (n, LEADING), (LINES, n)
    lapack_int *pivots;    // (n)
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(bands, (size_t)n * LEADING),
                        HB_ARRAY(pivots, (size_t)n), HB_ARRAY(lines, (size_t)n * LINES)));
    hb_status status = spline_factor(context, n, bands, pivots);
    for (size_t from = 0; from < count && status == HB_OK; from += LINES) {
        const size_t m = count - from < LINES ? count - from : LINES;
        for (size_t c = 0; c < m * (size_t)n; c++) {
            const size_t line = from + c / (size_t)n, k = c % (size_t)n;
            lines[c] = values[(line / inner * (size_t)n + k) * inner + line % inner];
        }
        LAPACKE_dgbtrs(LAPACK_COL_MAJOR, 'N', n, BANDS, BANDS, (lapack_int)m, bands, LEADING,
                       pivots, lines, n);
        for (size_t c = 0; c < m * (size_t)n; c++) {
            const size_t line = from + c / (size_t)n, k = c % (size_t)n;
            values[(line / inner * (size_t)n + k) * inner + line % inner] = lines[c];
        }
    }
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_spline_fit(hb_context *context, const hb_mesh *mesh, double *values)
{
    for (int a = 0; a < mesh->dim; a++)
        if (mesh->axis[a].pieces == 1) HB_TRY(spline_fit_axis(context, mesh, a, values));
    return HB_OK;
}

void hb_spline_locate(const hb_mesh *mesh, const double *x, hb_spline_place *out)
{
    out->first = 0;
    for (int a = 0; a < mesh->dim; a++) {
        const double s = hb_mesh_position(mesh, a, x[a]);
        const int p = hb_mesh_piece(mesh, a, x[a]);
        int first;
        if (mesh->axis[a].pieces == 1)
            spline_basis(mesh->nodes[a], s, &first, out->basis[a], out->slope[a]);
        else
            spline_lagrange(&mesh->axis[a], p, s, &first, out->basis[a], out->slope[a]);
        const double h = hb_mesh_spacing(mesh, a, mesh->axis[a].first[p]);
        for (int k = 0; k < HB_SPLINE_ORDER; k++) out->slope[a][k] /= h;
        out->first += (size_t)first * hb_mesh_stride(mesh, a);
    }
}

/* One line of six along the last axis: value and slope. */
static double spline_line_value(const double *c, const double *basis, const double *slope,
                                double *along)
{
    double value = 0;
    *along = 0;
    for (int k = 0; k < HB_SPLINE_ORDER; k++) {
        value += basis[k] * c[k];
        *along += slope[k] * c[k];
    }
    return value;
}

/* The plane of the last two axes (the line alone in d = 1): value, and slopes along both. */
static double spline_plane_value(const hb_mesh *mesh, const double *c, const hb_spline_place *place,
                                 double along[2])
{
    const int last = mesh->dim - 1;
    const size_t stride = (size_t)mesh->nodes[last];
    if (last == 0) return spline_line_value(c, place->basis[0], place->slope[0], along);
    double value = 0;
    along[0] = along[1] = 0;
    for (int k = 0; k < HB_SPLINE_ORDER; k++) {
        const double b = place->basis[last - 1][k];
        double slope;
        const double part = spline_line_value(c + (size_t)k * stride, place->basis[last],
                                              place->slope[last], &slope);
        value += b * part;
        along[0] += place->slope[last - 1][k] * part;
        along[1] += b * slope;
    }
    return value;
}

double hb_spline_value(const hb_mesh *mesh, const double *coefficients,
                       const hb_spline_place *place, double *gradient)
{
    const double *c = coefficients + place->first;
    double slopes[3] = {0}, value = 0;
    if (mesh->dim < 3) {
        value = spline_plane_value(mesh, c, place, slopes);
    } else {
        for (int k = 0; k < HB_SPLINE_ORDER; k++) {
            double along[2];
            const double part =
                spline_plane_value(mesh, c + (size_t)k * hb_mesh_stride(mesh, 0), place, along);
            value += place->basis[0][k] * part;
            slopes[0] += place->slope[0][k] * part;
            slopes[1] += place->basis[0][k] * along[0];
            slopes[2] += place->basis[0][k] * along[1];
        }
    }
    if (gradient) memcpy(gradient, slopes, (size_t)mesh->dim * sizeof(double));
    return value;
}

double hb_spline_at(const hb_mesh *mesh, const double *coefficients, const double *x)
{
    hb_spline_place place;
    hb_spline_locate(mesh, x, &place);
    return hb_spline_value(mesh, coefficients, &place, NULL);
}
