/* grid/scheme_body.h: what the halves of the scheme share: fitted_scheme.c, which makes rates, and
 * scheme_lines.c, which solves along lines. */
#ifndef HB_GRID_SCHEME_BODY_H
#define HB_GRID_SCHEME_BODY_H

#include "base/context.h"
#include "base/memory.h"
#include "base/thread_pool.h"
#include "grid/fitted_scheme.h"
#include "grid/krylov_solver.h"
#include "grid/scheme_kernels.h"
#include "grid/tensor_scheme.h"

/* What a thread works with. */
typedef struct hb_scheme_scratch {
    double *points;    // (2 batches, dim)
    double *drift;     // (2 batches, dim)
    double *arguments; // (2 batches, n_breaks); NULL: no break lies between nodes
    double *down;      // (nodes of a block)
    float *block;      // (nodes of a block)
    float *lines;      // (entries of a block, in lines)
    float *ratio;      // (largest of what hb_scheme_kernels.solve takes)
    float *share;      // (the same)
    int finite;        /* of the rates that it made */
} hb_scheme_scratch;

struct hb_scheme {
    hb_context *context;
    hb_thread_pool *pool; /* shares a pass; NULL: the calling thread does all */
    const hb_problem *problem;
    const hb_scheme_kernels *kernels;
    hb_mesh mesh;
    double drift_tau; /* tau of the coefficients; NaN: none yet */
    double gamma;
    /* over the nodes; of an edge: at its lower node, and 0 where there is none */
    double *gain_up[3];   // (size) B(z)/h^2, twice at a lower wall
    double *gain_down[3]; // (size) B(-z)/h^2, twice at an upper wall
    double *drain;        // (size) sum over all axes
    /* d = 1, at the v of the last rate: */
    double *line_upper; // (size) dv_i'/dv_j
    double *line_lower; // (size) dv_j'/dv_i
    double *line_pivot; // (size) inverse pivots of I - gamma J
    /* d = 2, 3: the same, over the nodes; of the last axis in blocks (hb_block) */
    float *upper[3], *lower[3];
    float *scale;               // (size) 1/S of the rows (scheme_lines.c)
    int *scaled;                // (blocks) 0: all of a block are 1
    double *parts;              // (blocks, HB_KRYLOV_MOST + 1) of inner products
    double *spread[2];          // (size) scratch where noise is a tensor
    hb_scheme_scratch *scratch; // (threads)
    hb_tensor *tensor;          /* NULL: the noise is a scalar */
    hb_workspace work, scratch_work;
    double *arguments; // (threads, ..) those of the scratch
};

/* Some neighbouring rows of axis 0: nodes first .. first+count-1. Along the last axis they are `lines` lines; an
 * array of the last axis has entry offset + k * pad + r for node k of line r. Blocks are tasks. */
typedef struct hb_block {
    size_t first, count;
    size_t lines, pad, offset;
} hb_block;

size_t hb_scheme_blocks(const hb_mesh *mesh);
hb_block hb_scheme_block(const hb_mesh *mesh, size_t index);
/* Columns that go side by side along axis 0: some neighbouring nodes of a row. */
size_t hb_scheme_columns(const hb_mesh *mesh);
void hb_scheme_column(const hb_mesh *mesh, size_t index, size_t *first, size_t *width);

#endif
