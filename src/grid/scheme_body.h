/* grid/scheme_body.h: a scheme from inside: its operations, and what scheme_lines.c solves along
 * lines. */
#pragma once

#include "base/context.h"
#include "base/memory.h"
#include "base/thread_pool.h"
#include "grid/krylov_solver.h"
#include "grid/scheme.h"
#include "grid/scheme_kernels.h"

/* What an implementation does; `own` of the scheme is its. */
typedef struct hb_scheme_ops {
    hb_status (*create)(hb_scheme *scheme, int breaks);
    void (*destroy)(hb_scheme *scheme); /* also what create left unfinished */
    /* hb_scheme_rate; the weights of the Jacobian along lines are set too. */
    hb_status (*rate)(hb_scheme *scheme, double tau, const double *v, double *rate, int *finite);
    /* d = 2, 3: J x[size]; NULL: J is along lines alone. */
    const double *(*product)(hb_scheme *scheme, const float *x);
    /* hb_scheme_adapt_start; NULL: any data will do. */
    void (*adapt_start)(const hb_mesh *mesh, double *v, double *tau);
} hb_scheme_ops;

extern const hb_scheme_ops hb_fitted_ops, hb_tensor_ops;

/* What a thread works with. */
typedef struct hb_scheme_scratch {
    double *down; // (nodes of a block)
    float *block; // (nodes of a block)
    float *lines; // (entries of a block, in lines)
    float *ratio; // (largest of what hb_scheme_kernels.solve takes)
    float *carry; // (the same)
    int finite;   /* of the rates that it made */
} hb_scheme_scratch;

struct hb_scheme {
    const hb_scheme_ops *ops;
    void *own;
    hb_context *context;
    hb_thread_pool *pool; /* shares a pass; NULL: the calling thread does all */
    const hb_problem *problem;
    const hb_scheme_kernels *kernels;
    hb_mesh mesh;
    double gamma;
    /* d = 1, at the v of the last rate: */
    double *line_upper; // (size) dv_i'/dv_j
    double *line_lower; // (size) dv_j'/dv_i
    double *line_pivot; // (size) inverse pivots of I - gamma J
    /* d = 2, 3: the same, over the nodes; of the last axis in blocks (hb_block) */
    float *upper[3], *lower[3];
    float *scale;               // (size) 1/S of the rows (scheme_lines.c)
    int *scaled;                // (blocks) 0: all of a block are 1
    double *parts;              // (blocks, HB_KRYLOV_MOST + 1) of inner products
    hb_scheme_scratch *scratch; // (threads)
    hb_workspace work, scratch_work;
};

/* Some neighbouring rows of axis 0: nodes first .. first+count-1. Along the last axis they are
 * `lines` lines; an array of the last axis has entry offset + k * pad + r for node k of line r.
 * Blocks are tasks. */
typedef struct hb_block {
    size_t first, count;
    size_t lines, pad, offset;
} hb_block;

size_t hb_scheme_blocks(const hb_mesh *mesh);
hb_block hb_scheme_block(const hb_mesh *mesh, size_t index);
/* Columns that go side by side along axis 0: some neighbouring nodes of a row. */
size_t hb_scheme_columns(const hb_mesh *mesh);
void hb_scheme_column(const hb_mesh *mesh, size_t index, size_t *first, size_t *width);

/* The weights of the last axis of a block, from own->block (upper) and own->lines (lower) to its
 * lines. */
void hb_scheme_keep_lines(const hb_scheme *scheme, const hb_block *block,
                          const hb_scheme_scratch *own);
int hb_scheme_all_finite(size_t n, const double *rate); /* and none beyond HB_LARGEST_RATE */
