/* A scheme for v = ln u on a mesh: what its two implementations share.
 *
 * hb_scheme_create chooses the operations by the noise of the problem: the exponentially fitted
 * scheme (fitted_scheme.c) for scalar noise, finite volumes for a tensor (tensor_scheme.c). Both
 * fill the weights of their Jacobian along lines, which scheme_lines.c solves.
 *
 * Passes go over blocks of rows of axis 0, or over columns along it. Blocks are cut by the mesh
 * alone and write only their own nodes, so that threads do not change a bit.
 *
 * Must reproduce: every node is in one block (tests/grid/test_grid_scheme.c). */
#include "grid/scheme.h"
#include "grid/scheme_body.h"
#include "problem/noise.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK_LINES = 160,      /* of the last axis in a block, about */
    PLANE_ROWS = 32,        /* of a block in d = 2 */
    COLUMN_WIDTH = 64,      /* at least, less than twice that */
    LINE_LANES = 16,        /* lines are padded to whole vectors */
    ALONE = 3 * 3 * 3 * 512 /* nodes of a mesh that one thread does alone */
};

/* ---- blocks and columns ---- */

static size_t block_rows(const hb_mesh *mesh)
{
    if (mesh->dim < 3) return PLANE_ROWS;
    const size_t rows = BLOCK_LINES / (size_t)mesh->nodes[1];
    return rows > 0 ? rows : 1;
}

size_t hb_scheme_blocks(const hb_mesh *mesh)
{
    const size_t blocks = (size_t)mesh->nodes[0] / block_rows(mesh);
    return blocks > 0 ? blocks : 1;
}

static size_t block_padded(size_t lines)
{
    return (lines + LINE_LANES - 1) / LINE_LANES * LINE_LANES;
}

/* The last block has what is left. */
hb_block hb_scheme_block(const hb_mesh *mesh, size_t index)
{
    const size_t n = (size_t)mesh->nodes[0], last = (size_t)mesh->nodes[mesh->dim - 1];
    const size_t most = block_rows(mesh), row = hb_mesh_stride(mesh, 0), of_row = row / last;
    const size_t rows = index + 1 < hb_scheme_blocks(mesh) ? most : n - index * most;
    return (hb_block){.first = index * most * row,
                      .count = rows * row,
                      .lines = rows * of_row,
                      .pad = block_padded(rows * of_row),
                      .offset = index * block_padded(most * of_row) * last};
}

size_t hb_scheme_columns(const hb_mesh *mesh)
{
    const size_t columns = hb_mesh_stride(mesh, 0) / COLUMN_WIDTH;
    return columns > 0 ? columns : 1;
}

void hb_scheme_column(const hb_mesh *mesh, size_t index, size_t *first, size_t *width)
{
    const size_t all = hb_mesh_stride(mesh, 0);
    *first = index * COLUMN_WIDTH;
    *width = index + 1 < hb_scheme_columns(mesh) ? COLUMN_WIDTH : all - *first;
}

/* ---- creation ---- */

typedef struct scratch_sizes {
    size_t nodes, entries, ratio, carry;
} scratch_sizes;

static size_t larger_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The last block is the largest. */
static scratch_sizes scheme_scratch_sizes(const hb_mesh *mesh)
{
    const hb_block block = hb_scheme_block(mesh, hb_scheme_blocks(mesh) - 1);
    const size_t last = (size_t)mesh->nodes[mesh->dim - 1], row = hb_mesh_stride(mesh, 0);
    const size_t entries = block.pad * last, width = 2 * COLUMN_WIDTH;
    if (mesh->dim == 1) return (scratch_sizes){0};
    return (scratch_sizes){
        .nodes = block.count,
        .entries = larger_size(entries, block.count),
        .ratio = larger_size(larger_size(entries, row), (size_t)mesh->nodes[0] * width),
        .carry = larger_size(larger_size(block.pad, last), width)};
}

/* Small meshes, and those in one and two dimensions, are for one thread. */
static int scheme_threads(const hb_mesh *mesh, int threads)
{
    return mesh->dim < 3 || mesh->size <= ALONE ? 1 : threads;
}

static hb_status scheme_allocate(hb_scheme *s, int breaks)
{
    const hb_mesh *mesh = &s->mesh;
    const int line = mesh->dim == 1, threads = scheme_threads(mesh, s->context->threads);
    const size_t size = mesh->size, blocks = hb_scheme_blocks(mesh);
    const hb_block last = hb_scheme_block(mesh, blocks - 1);
    const scratch_sizes each = scheme_scratch_sizes(mesh);
    hb_array arrays[6 + 2 * 3] = {HB_ARRAY_IF(line, s->line_upper, size),
                                  HB_ARRAY_IF(line, s->line_lower, size),
                                  HB_ARRAY_IF(line, s->line_pivot, size),
                                  HB_ARRAY_IF(!line, s->scale, size),
                                  HB_ARRAY_IF(!line, s->scaled, blocks),
                                  HB_ARRAY_IF(!line, s->parts, blocks * (HB_KRYLOV_MOST + 1))};
    size_t n = 6;
    for (int a = 0; a < mesh->dim && !line; a++) {
        const size_t in_lines = last.offset + last.pad * (size_t)mesh->nodes[a];
        const size_t entries = a + 1 < mesh->dim ? size : in_lines;
        arrays[n++] = (hb_array)HB_ARRAY(s->upper[a], entries);
        arrays[n++] = (hb_array)HB_ARRAY(s->lower[a], entries);
    }
    HB_TRY(hb_workspace_carve(s->context, n, arrays, &s->work));
    memset(s->work.memory, 0, s->work.size);
    if (threads > 1) HB_TRY(hb_thread_pool_create(s->context, threads, &s->pool));
    HB_TRY(HB_WORKSPACE_EACH(s->context, &s->scratch_work, s->scratch,
                             (size_t)hb_thread_pool_threads(s->pool),
                             HB_MEMBER(hb_scheme_scratch, down, each.nodes),
                             HB_MEMBER(hb_scheme_scratch, block, each.nodes),
                             HB_MEMBER(hb_scheme_scratch, lines, each.entries),
                             HB_MEMBER(hb_scheme_scratch, ratio, each.ratio),
                             HB_MEMBER(hb_scheme_scratch, carry, each.carry)));
    return s->ops->create(s, breaks);
}

hb_status hb_scheme_create(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                           int breaks, hb_scheme **out)
{
    *out = NULL;
    hb_scheme *s;
    HB_TRY(HB_NEW_CLEARED(context, s, 1));
    const int scalar = hb_problem_noise_kind(problem) == HB_NOISE_SCALAR;
    s->ops = scalar ? &hb_fitted_ops : &hb_tensor_ops;
    s->context = context;
    s->problem = problem;
    s->kernels = hb_scheme_kernels_of(context->isa);
    s->mesh = *mesh;
    const hb_status status = scheme_allocate(s, breaks);
    if (status == HB_OK)
        *out = s;
    else
        hb_scheme_destroy(s);
    return status;
}

void hb_scheme_destroy(hb_scheme *s)
{
    if (!s) return;
    s->ops->destroy(s);
    hb_thread_pool_destroy(s->pool);
    hb_workspace_destroy(&s->work);
    hb_workspace_destroy(&s->scratch_work);
    hb_release(s->context, s);
}

const hb_mesh *hb_scheme_mesh(const hb_scheme *s)
{
    return &s->mesh;
}

hb_thread_pool *hb_scheme_pool(hb_scheme *s)
{
    return s->pool;
}

/* ---- the rate ---- */

void hb_scheme_keep_lines(const hb_scheme *s, const hb_block *block, const hb_scheme_scratch *own)
{
    const int axis = s->mesh.dim - 1;
    const size_t n = (size_t)s->mesh.nodes[axis];
    float *upper = s->upper[axis] + block->offset, *lower = s->lower[axis] + block->offset;
    s->kernels->to_lines(block->lines, n, own->block, block->pad, upper);
    s->kernels->to_lines(block->lines, n, own->lines, block->pad, lower);
}

int hb_scheme_all_finite(size_t n, const double *rate)
{
    int finite = 1;
    for (size_t i = 0; i < n; i++) finite &= fabs(rate[i]) <= HB_LARGEST_RATE;
    return finite;
}

hb_status hb_scheme_rate(hb_scheme *s, double tau, const double *v, double *rate, int *finite)
{
    return s->ops->rate(s, tau, v, rate, finite);
}

void hb_scheme_adapt_start(const hb_scheme *s, double *v, double *tau)
{
    if (s->ops->adapt_start) s->ops->adapt_start(&s->mesh, v, tau);
}
