/* grid/fitted_scheme.h: a box of nodes, and the exponentially fitted scheme for v = ln u on it. */
#ifndef HB_GRID_FITTED_SCHEME_H
#define HB_GRID_FITTED_SCHEME_H

#include <heatball/problem.h>

/* Nodes low + k h, k = 0 .. nodes-1 per axis; the last axis runs fastest. */
typedef struct hb_mesh {
    int dim;
    int nodes[3];
    double low[3], h[3];
    size_t size; /* all nodes */
} hb_mesh;

/* cells[dim] intervals per axis of the box [low, high]. */
void hb_mesh_set(hb_mesh *mesh, int dim, const int *cells, const double *low, const double *high);
/* The distance in memory of two neighbours along an axis. */
size_t hb_mesh_stride(const hb_mesh *mesh, int axis);
/* The point of a node: x[dim]. */
void hb_mesh_point(const hb_mesh *mesh, size_t node, double *x);
/* ln of the integral of e^v over the box (the trapezoidal rule, which the scheme conserves). */
double hb_mesh_log_mass(const hb_mesh *mesh, const double *v);

typedef struct hb_scheme hb_scheme;

/* The problem and the mesh must live as long as the scheme. */
hb_status hb_scheme_create(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                           hb_scheme **out);
void hb_scheme_destroy(hb_scheme *scheme);
int hb_scheme_dim(const hb_scheme *scheme);
/* rate[size] = dv/dtau at v[size]; *finite is 0 when a rate left the range of double. */
hb_status hb_scheme_rate(hb_scheme *scheme, double tau, const double *v, double *rate, int *finite);
/* J is the Jacobian at the v of the last call of hb_scheme_rate; this factors the product over axes of
 * (I - gamma J_axis). */
void hb_scheme_factor(hb_scheme *scheme, double gamma);
/* out = J x, and out = the product's inverse times x. */
void hb_scheme_apply(const hb_scheme *scheme, const double *x, double *out);
void hb_scheme_precondition(const hb_scheme *scheme, const double *x, double *out);
/* Bytes that a scheme on this mesh takes. */
double hb_scheme_bytes(const hb_mesh *mesh);

#endif
