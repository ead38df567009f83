/* grid/grid_mesh.h: a box of nodes, and its lines in strands. */
#pragma once

#include <heatball/base.h>

/* Pieces of an axis with even nodes each. Piece p has the nodes first[p] .. first[p+1] from x =
 * joint[p] to joint[p+1]; its neighbours share its ends. */
enum { HB_MESH_PIECES = 64 };

typedef struct hb_axis {
    int pieces;
    int first[HB_MESH_PIECES + 1];
    double joint[HB_MESH_PIECES + 1];
} hb_axis;

/* The two Gauss points of [0, 1]. */
static const double hb_mesh_gauss[2] = {0.21132486540518711775, 0.78867513459481288225};

/* The last axis runs fastest. */
typedef struct hb_mesh {
    int dim;
    int nodes[3];
    double low[3], h[3]; /* h: the largest spacing */
    hb_axis axis[3];
    size_t size; /* all nodes */
} hb_mesh;

/* axes[dim], with every `ratio`-th of their nodes. */
void hb_mesh_set_axes(hb_mesh *mesh, int dim, const hb_axis *axes, int ratio);
/* cells[dim] even intervals per axis of the box [low, high]. */
void hb_mesh_set(hb_mesh *mesh, int dim, const int *cells, const double *low, const double *high);
/* An axis of one piece. */
hb_axis hb_axis_even(int cells, double low, double high);
/* The coordinate of node k, and the distance to node k + 1. */
double hb_mesh_coordinate(const hb_mesh *mesh, int axis, int k);
double hb_mesh_spacing(const hb_mesh *mesh, int axis, int k);
/* The width of the cell that node k owns: half of its edges. */
double hb_mesh_cell(const hb_mesh *mesh, int axis, int k);
/* The piece that holds x (the upper one at a joint, the last beyond all). */
int hb_mesh_piece(const hb_mesh *mesh, int axis, double x);
/* x as a number of nodes from the lower boundary, limited to the box. */
double hb_mesh_position(const hb_mesh *mesh, int axis, double x);
/* The distance in memory of two neighbours along an axis. */
size_t hb_mesh_stride(const hb_mesh *mesh, int axis);
/* The index of a node along an axis. */
size_t hb_mesh_index(const hb_mesh *mesh, int axis, size_t node);
/* The node nearest to x[dim]. */
size_t hb_mesh_nearest(const hb_mesh *mesh, const double *x);
/* The volume of the cell that a node owns. */
double hb_mesh_volume(const hb_mesh *mesh, size_t node);
/* The largest of v[size]. */
double hb_mesh_top(const hb_mesh *mesh, const double *v);
/* The point of a node: x[dim]. */
void hb_mesh_point(const hb_mesh *mesh, size_t node, double *x);
/* ln of the integral of e^v over the box (the trapezoidal rule, which the scheme conserves). */
double hb_mesh_log_mass(const hb_mesh *mesh, const double *v);

/* Neighbouring lines along an axis. Node k of line r is node + k * step + r * apart. */
enum { HB_STRAND_WIDTH = 32 };

typedef struct hb_strand {
    size_t n;           /* nodes of a line */
    size_t width;       /* lines */
    size_t node;        /* the first node of the first line */
    size_t step, apart; /* distance of two nodes of a line, and of two lines */
} hb_strand;

size_t hb_mesh_strands(const hb_mesh *mesh, int axis);
hb_strand hb_mesh_strand(const hb_mesh *mesh, int axis, size_t index);
