/* A box of nodes, and its lines in strands.
 *
 * An axis is one piece with even nodes, or several that share their ends, the joints. Joints are
 * nodes of every mesh: a jump of the drift is put on one, and the spacing may change there. Within
 * a piece all is as on an even mesh; a joint's cell is made of two halves, as a boundary's is of
 * one, so that the error of the scheme stays even in the spacings.
 *
 * A strand is up to HB_STRAND_WIDTH neighbouring lines along an axis. Strands of an axis touch
 * disjoint nodes, and are the tasks that threads share.
 *
 * Must reproduce: every node is in one strand of an axis. */
#include "grid/grid_mesh.h"

#include <math.h>
#include <string.h>

hb_axis hb_axis_even(int cells, double low, double high)
{
    return (hb_axis){.pieces = 1, .first = {0, cells}, .joint = {low, high}};
}

void hb_mesh_set_axes(hb_mesh *mesh, int dim, const hb_axis *axes, int ratio)
{
    memset(mesh, 0, sizeof *mesh);
    mesh->dim = dim;
    mesh->size = 1;
    for (int a = 0; a < dim; a++) {
        hb_axis *axis = &mesh->axis[a];
        *axis = axes[a];
        for (int p = 0; p <= axis->pieces; p++) axis->first[p] /= ratio;
        mesh->nodes[a] = axis->first[axis->pieces] + 1;
        mesh->low[a] = axis->joint[0];
        for (int p = 0; p < axis->pieces; p++)
            mesh->h[a] = fmax(mesh->h[a], hb_mesh_spacing(mesh, a, axis->first[p]));
        mesh->size *= (size_t)mesh->nodes[a];
    }
}

void hb_mesh_set(hb_mesh *mesh, int dim, const int *cells, const double *low, const double *high)
{
    hb_axis axes[3];
    for (int a = 0; a < dim; a++) axes[a] = hb_axis_even(cells[a], low[a], high[a]);
    hb_mesh_set_axes(mesh, dim, axes, 1);
}

/* The last piece that begins at or before x, or, counted in nodes, at or before node x. */
static int axis_find_piece(const hb_axis *axis, int in_nodes, double x)
{
    int low = 0, high = axis->pieces - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if ((in_nodes ? axis->first[middle] : axis->joint[middle]) <= x)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The piece of the edge above node k. */
static int axis_edge_piece(const hb_axis *axis, int k)
{
    return axis_find_piece(axis, 1, k);
}

static double axis_spacing(const hb_axis *axis, int p)
{
    return (axis->joint[p + 1] - axis->joint[p]) / (axis->first[p + 1] - axis->first[p]);
}

double hb_mesh_spacing(const hb_mesh *mesh, int axis, int k)
{
    return axis_spacing(&mesh->axis[axis], axis_edge_piece(&mesh->axis[axis], k));
}

double hb_mesh_coordinate(const hb_mesh *mesh, int axis, int k)
{
    const hb_axis *a = &mesh->axis[axis];
    const int p = axis_edge_piece(a, k);
    return a->joint[p] + (k - a->first[p]) * axis_spacing(a, p);
}

double hb_mesh_cell(const hb_mesh *mesh, int axis, int k)
{
    const double below = k > 0 ? hb_mesh_spacing(mesh, axis, k - 1) : 0;
    const double above = k + 1 < mesh->nodes[axis] ? hb_mesh_spacing(mesh, axis, k) : 0;
    return below == above ? below : 0.5 * (below + above);
}

int hb_mesh_piece(const hb_mesh *mesh, int axis, double x)
{
    return axis_find_piece(&mesh->axis[axis], 0, x);
}

double hb_mesh_position(const hb_mesh *mesh, int axis, double x)
{
    const hb_axis *a = &mesh->axis[axis];
    const int p = hb_mesh_piece(mesh, axis, x);
    const double s = a->first[p] + (x - a->joint[p]) / axis_spacing(a, p);
    return fmin(fmax(s, 0), mesh->nodes[axis] - 1);
}

size_t hb_mesh_stride(const hb_mesh *mesh, int axis)
{
    size_t stride = 1;
    for (int a = axis + 1; a < mesh->dim; a++) stride *= (size_t)mesh->nodes[a];
    return stride;
}

void hb_mesh_point(const hb_mesh *mesh, size_t node, double *x)
{
    for (int a = mesh->dim - 1; a >= 0; a--) {
        const size_t n = (size_t)mesh->nodes[a];
        x[a] = hb_mesh_coordinate(mesh, a, (int)(node % n));
        node /= n;
    }
}

double hb_mesh_volume(const hb_mesh *mesh, size_t node)
{
    double weight = 1;
    for (int a = mesh->dim - 1; a >= 0; a--) {
        const size_t n = (size_t)mesh->nodes[a];
        weight *= hb_mesh_cell(mesh, a, (int)(node % n));
        node /= n;
    }
    return weight;
}

size_t hb_mesh_index(const hb_mesh *mesh, int axis, size_t node)
{
    return node / hb_mesh_stride(mesh, axis) % (size_t)mesh->nodes[axis];
}

size_t hb_mesh_nearest(const hb_mesh *mesh, const double *x)
{
    size_t node = 0;
    for (int a = 0; a < mesh->dim; a++)
        node += (size_t)(hb_mesh_position(mesh, a, x[a]) + 0.5) * hb_mesh_stride(mesh, a);
    return node;
}

double hb_mesh_top(const hb_mesh *mesh, const double *v)
{
    double top = -INFINITY;
    for (size_t i = 0; i < mesh->size; i++) top = fmax(top, v[i]);
    return top;
}

double hb_mesh_log_mass(const hb_mesh *mesh, const double *v)
{
    const double top = hb_mesh_top(mesh, v);
    double sum = 0;
    if (!isfinite(top)) return top;
    for (size_t i = 0; i < mesh->size; i++) sum += hb_mesh_volume(mesh, i) * exp(v[i] - top);
    return top + log(sum);
}

/* ---- strands ---- */

/* Lines that may share a strand: those of the last axis all, of another those that are
 * contiguous. */
static size_t mesh_lines_together(const hb_mesh *mesh, int axis)
{
    if (axis == mesh->dim - 1) return mesh->size / (size_t)mesh->nodes[axis];
    return hb_mesh_stride(mesh, axis);
}

static size_t mesh_strands_together(size_t lines)
{
    return (lines + HB_STRAND_WIDTH - 1) / HB_STRAND_WIDTH;
}

size_t hb_mesh_strands(const hb_mesh *mesh, int axis)
{
    const size_t lines = mesh_lines_together(mesh, axis), n = (size_t)mesh->nodes[axis];
    return mesh->size / (lines * n) * mesh_strands_together(lines);
}

hb_strand hb_mesh_strand(const hb_mesh *mesh, int axis, size_t index)
{
    const size_t lines = mesh_lines_together(mesh, axis), n = (size_t)mesh->nodes[axis];
    const size_t outer = index / mesh_strands_together(lines);
    const size_t first = index % mesh_strands_together(lines) * HB_STRAND_WIDTH;
    const size_t rest = lines - first, width = rest < HB_STRAND_WIDTH ? rest : HB_STRAND_WIDTH;
    const size_t step = hb_mesh_stride(mesh, axis), apart = step == 1 ? n : 1;
    return (hb_strand){.n = n,
                       .width = width,
                       .node = outer * lines * n + first * apart,
                       .step = step,
                       .apart = apart};
}
