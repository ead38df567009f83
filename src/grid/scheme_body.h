/* grid/scheme_body.h: what the two halves of the scheme share: fitted_scheme.c, which makes rates, and
 * scheme_lines.c, which solves along lines. */
#ifndef HB_GRID_SCHEME_BODY_H
#define HB_GRID_SCHEME_BODY_H

#include "base/memory.h"
#include "grid/fitted_scheme.h"
#include "grid/scheme_kernels.h"
#include "grid/tensor_scheme.h"

struct hb_scheme {
    hb_context *context;
    const hb_problem *problem;
    const hb_scheme_kernels *kernels;
    hb_mesh mesh;
    double drift_tau; /* tau of the coefficients; NaN: none yet */
    double gamma;
    /* in strands of the axis: */
    double *gain_up[3];   // (entries) B(z)/h^2, twice at a lower wall
    double *gain_down[3]; // (entries) B(-z)/h^2, twice at an upper wall
    double *upper[3];     // (entries) dv_i'/dv_j at the v of the last rate
    double *lower[3];     // (entries) dv_j'/dv_i at the same v
    double *pivot[3];     // (entries) inverse pivots of I - gamma J_axis
    double *drain;        // (entries of axis 0) sum over all axes
    double *buffers;      // (2, longest strand)
    double *points;       // (2 batches, dim)
    double *drift;        // (2 batches, dim)
    double *arguments;    // (2 batches, n_breaks) scratch; NULL: no break lies between nodes
    hb_tensor *tensor;    /* NULL: the noise is a scalar */
    hb_workspace work;
};

/* Work on every strand of an axis. */
typedef struct hb_strand_job {
    hb_scheme *scheme;
    int axis;
    const double *in, *also; // (size)
    double *out;             // (size)
    int finite;              /* of a rate */
} hb_strand_job;

typedef void (*hb_strand_task)(hb_strand_job *job, size_t index);

/* One strand of the job's axis, and two buffers for it. */
hb_strand hb_scheme_strand(const hb_strand_job *job, size_t index, double *buffer[2]);
void hb_scheme_over_strands(hb_strand_job *job, hb_strand_task task);

#endif
