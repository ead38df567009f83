/* The exponentially fitted finite-volume scheme, written for the logarithm.
 *
 * du/dtau = Lap u - div(F u) on a box without flux through its walls. Node i owns the cell of points
 * nearest to it (half a cell at a wall). Between neighbours i and j = i + h e_a let z = the integral of
 * F_a over the edge (two Gauss points). On the edge the flux J = F u - u' is taken constant; that ODE is
 * solved exactly (Scharfetter and Gummel, IEEE Trans. Electron Devices 16, 1969):
 *     J = (B(-z) u_i - B(z) u_j)/h,            B(z) = z/(e^z - 1)
 * With u = e^v and e = exp(v_j - v_i), the same numbers read
 *     dv_i/dtau += (B(z) e - B(-z))/h^2,      dv_j/dtau += (B(-z)/e - B(z))/h^2
 * (twice that at a wall, whose cell is half as wide; where the spacing changes, h^2 is h times the width of
 * the cell). u never appears, so a tail with u = 1e-300 is as
 * smooth and as accurate as the bulk; u = e^v > 0, and the sum of u over cells is constant. The error
 * is even in h, which the extrapolation of grid_solve.c uses. What does not depend on v, the sum of the
 * second terms, is kept as `drain`.
 *
 * The Jacobian along an axis has the weights upper = B(z) e/h^2 and lower = B(-z)/e/h^2: rows sum to
 * zero, and I - gamma J_a is an M-matrix, solved line by line (scheme_lines.c).
 *
 * A rate is one pass over blocks of rows of axis 0, each with the edges that touch it. Blocks are cut by the mesh
 * alone and write only their own nodes, so that threads do not change a bit; edges between blocks are made twice.
 *
 * Must reproduce: for F = -x the scheme keeps u = exp(-x^2/2) exactly: z = -(x_j^2 - x_i^2)/2 = ln(u_j/u_i). */
#include "grid/fitted_scheme.h"
#include "grid/scheme_body.h"
#include "problem/drift_facts.h"

#include <math.h>
#include <string.h>

enum {
    EDGE_BATCH = 2048, /* edges whose drift is asked for at once */
    CUT = 64           /* points of an edge that a break of the drift cuts */
};

/* ---- blocks and columns ------------------------------------------------------------------------ */

enum {
    BLOCK_LINES = 160,      /* of the last axis in a block, about */
    PLANE_ROWS = 32,        /* of a block in d = 2 */
    COLUMN_WIDTH = 64,      /* at least, less than twice that */
    LINE_LANES = 16,        /* lines are padded to whole vectors */
    ALONE = 3 * 3 * 3 * 512 /* nodes of a mesh that one thread does alone */
};

static size_t rows_of_block(const hb_mesh *mesh)
{
    if (mesh->dim < 3) return PLANE_ROWS;
    const size_t rows = BLOCK_LINES / (size_t)mesh->nodes[1];
    return rows > 0 ? rows : 1;
}

size_t hb_scheme_blocks(const hb_mesh *mesh)
{
    const size_t blocks = (size_t)mesh->nodes[0] / rows_of_block(mesh);
    return blocks > 0 ? blocks : 1;
}

static size_t padded(size_t lines)
{
    return (lines + LINE_LANES - 1) / LINE_LANES * LINE_LANES;
}

/* The last block has what is left. */
hb_block hb_scheme_block(const hb_mesh *mesh, size_t index)
{
    const size_t n = (size_t)mesh->nodes[0], last = (size_t)mesh->nodes[mesh->dim - 1];
    const size_t most = rows_of_block(mesh), row = hb_mesh_stride(mesh, 0), of_row = row / last;
    const size_t rows = index + 1 < hb_scheme_blocks(mesh) ? most : n - index * most;
    return (hb_block){.first = index * most * row,
                      .count = rows * row,
                      .lines = rows * of_row,
                      .pad = padded(rows * of_row),
                      .offset = index * padded(most * of_row) * last};
}

/* Entries of an array of the last axis, and of the largest block. */
static size_t line_entries(const hb_mesh *mesh)
{
    const size_t last = hb_scheme_blocks(mesh) - 1;
    const hb_block block = hb_scheme_block(mesh, last);
    return block.offset + block.pad * (size_t)mesh->nodes[mesh->dim - 1];
}

static hb_block largest_block(const hb_mesh *mesh)
{
    return hb_scheme_block(mesh, hb_scheme_blocks(mesh) - 1);
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

hb_thread_pool *hb_scheme_pool(hb_scheme *s)
{
    return s->pool;
}

/* ---- the coefficients ------------------------------------------------------------------------- */

/* Of |z|: the stationary v would fall by that much from node to node. Where a drift such as -x^7 is faster the mesh carries what is left of
 * the initial density inward more slowly, which the finer meshes show; exp(v_j - v_i) stays a number. On a line only: in the
 * plane scaled rows serve (scheme_lines.c), and the limit makes ten times as many steps. */
static const double STEEPEST = 300;

void hb_bernoulli(double z, double *plain, double *mirrored)
{
    const double small = z == 0 ? 1 : fabs(z) / expm1(fabs(z)), large = fabs(z) + small;
    *plain = z > 0 ? small : large;
    *mirrored = z > 0 ? large : small;
}

/* The two Gauss points of the edge above `node`: x[2][dim]. */
static void gauss_points(const hb_mesh *mesh, int axis, size_t node, double h, double *x)
{
    static const double place[2] = {0.21132486540518711775, 0.78867513459481288225};
    for (int g = 0; g < 2; g++) {
        hb_mesh_point(mesh, node, x + g * mesh->dim);
        x[g * mesh->dim + axis] += place[g] * h;
    }
}

/* Entry k of a strand's edges, counted without the space beside the lines. */
typedef struct edge_place {
    size_t row, node;
} edge_place;

static edge_place edge_of(const hb_strand *strand, size_t edge)
{
    const size_t k = edge / strand->width, r = edge % strand->width;
    return (edge_place){.row = k, .node = strand->node + k * strand->step + r * strand->apart};
}

/* The mean of F_axis over an edge from x (dim), h long, that a break of F cuts: CUT midpoints. */
static hb_status cut_mean(const hb_scheme *s, int axis, double tau, const double *x, double h,
                          double *mean)
{
    const size_t d = (size_t)s->mesh.dim;
    double at[CUT * 3], F[CUT * 3]; // (CUT, dim)
    for (size_t k = 0; k < CUT; k++) {
        memcpy(at + k * d, x, d * sizeof(double));
        at[k * d + (size_t)axis] += h * ((double)k + 0.5) / CUT;
    }
    HB_TRY(hb_problem_drift(s->context, s->problem, CUT, at, tau, F, NULL, NULL, NULL));
    *mean = 0;
    for (size_t k = 0; k < CUT; k++) *mean += F[k * d + (size_t)axis] / CUT;
    return HB_OK;
}

/* Where edge e is cut: 0 nowhere, the part below the cut by the secant of the one argument that changes
 * sign, 1 for more than one. */
static double cut_of(const double *arguments, size_t n, size_t e)
{
    const double *from = arguments + 2 * e * n, *to = from + n;
    double part = 0;
    for (size_t k = 0; k < n; k++) {
        if (from[k] * to[k] > 0) continue;
        if (part > 0) return 1;
        part = fmin(fmax(from[k] / (from[k] - to[k]), 1e-6), 1 - 1e-6);
        if (isnan(part)) return 1;
    }
    return part;
}

/* The mean of F_axis from both sides of the cut, two Gauss points each: it moves smoothly with the cut. */
static hb_status two_sided_mean(const hb_scheme *s, int axis, double tau, const double *x, double h,
                                double part, double *mean)
{
    static const double place[2] = {0.21132486540518711775, 0.78867513459481288225};
    const size_t d = (size_t)s->mesh.dim, a = (size_t)axis;
    double at[4 * 3], F[4 * 3]; // (4, dim)
    for (size_t k = 0; k < 4; k++) {
        memcpy(at + k * d, x, d * sizeof(double));
        at[k * d + a] += h * (k < 2 ? part * place[k] : part + (1 - part) * place[k - 2]);
    }
    HB_TRY(hb_problem_drift(s->context, s->problem, 4, at, tau, F, NULL, NULL, NULL));
    *mean = 0.5 * (part * (F[a] + F[d + a]) + (1 - part) * (F[2 * d + a] + F[3 * d + a]));
    return HB_OK;
}

/* Replaces F of edges that a break cuts by its mean. The points are no longer needed: the ends go there. */
static hb_status mend_cut_edges(hb_scheme *s, hb_scheme_scratch *own, int axis,
                                const hb_strand *strand, size_t first, size_t count, double tau)
{
    const size_t d = (size_t)s->mesh.dim, a = (size_t)axis;
    const size_t n = (size_t)hb_problem_facts(s->problem)->n_breaks;
    for (size_t e = 0; e < count; e++) {
        const edge_place at = edge_of(strand, first + e);
        double *ends = own->points + 2 * d * e; // (2, dim)
        hb_mesh_point(&s->mesh, at.node, ends);
        memcpy(ends + d, ends, d * sizeof(double));
        ends[d + a] += hb_mesh_spacing(&s->mesh, axis, (int)at.row);
    }
    HB_TRY(hb_problem_break_values(s->context, s->problem, tau, 2 * count, own->points,
                                   own->arguments));
    for (size_t e = 0; e < count; e++) {
        const double *ends = own->points + 2 * d * e;
        const double h = ends[d + a] - ends[a], part = cut_of(own->arguments, n, e);
        double mean;
        if (part == 0) continue;
        HB_TRY(part < 1 ? two_sided_mean(s, axis, tau, ends, h, part, &mean)
                        : cut_mean(s, axis, tau, ends, h, &mean));
        own->drift[2 * d * e + a] = own->drift[2 * d * e + d + a] = mean;
    }
    return HB_OK;
}

typedef struct coefficient_job {
    hb_scheme *scheme;
    int axis;
    double tau;
} coefficient_job;

/* The edges of one strand. */
static hb_status coefficient_task(void *user, size_t index, int thread)
{
    const coefficient_job *job = user;
    hb_scheme *s = job->scheme;
    hb_scheme_scratch *own = &s->scratch[thread];
    const hb_mesh *mesh = &s->mesh;
    const int axis = job->axis;
    const hb_strand strand = hb_mesh_strand(mesh, axis, index);
    const size_t d = (size_t)mesh->dim, edges = (strand.n - 1) * strand.width;
    for (size_t first = 0; first < edges; first += EDGE_BATCH) {
        const size_t count = edges - first < EDGE_BATCH ? edges - first : EDGE_BATCH;
        for (size_t e = 0; e < count; e++) {
            const edge_place at = edge_of(&strand, first + e);
            const double h = hb_mesh_spacing(mesh, axis, (int)at.row);
            gauss_points(mesh, axis, at.node, h, own->points + 2 * d * e);
        }
        HB_TRY(hb_problem_drift(s->context, s->problem, 2 * count, own->points, job->tau,
                                own->drift, NULL, NULL, NULL));
        if (own->arguments) HB_TRY(mend_cut_edges(s, own, axis, &strand, first, count, job->tau));
        for (size_t e = 0; e < count; e++) {
            const double *F = own->drift + 2 * d * e;
            const edge_place at = edge_of(&strand, first + e);
            const double h = hb_mesh_spacing(mesh, axis, (int)at.row);
            const double below = 1 / (h * hb_mesh_cell(mesh, axis, (int)at.row));
            const double above = 1 / (h * hb_mesh_cell(mesh, axis, (int)at.row + 1));
            double plain, mirrored;
            const double z = 0.5 * h * (F[axis] + F[d + (size_t)axis]);
            hb_bernoulli(d == 1 ? fmax(-STEEPEST, fmin(STEEPEST, z)) : z, &plain, &mirrored);
            s->gain_up[axis][at.node] = below * plain;
            s->gain_down[axis][at.node] = above * mirrored;
            s->drain[at.node] += below * mirrored;
            s->drain[at.node + strand.step] += above * plain;
        }
    }
    return HB_OK;
}

static hb_status coefficients(hb_scheme *s, double tau)
{
    memset(s->drain, 0, s->mesh.size * sizeof *s->drain);
    for (int a = 0; a < s->mesh.dim; a++) {
        coefficient_job job = {.scheme = s, .axis = a, .tau = tau};
        HB_TRY(hb_thread_pool_run(s->pool, hb_mesh_strands(&s->mesh, a), coefficient_task, &job));
    }
    return HB_OK;
}

/* F is asked for again at every new tau, unless it is known not to change. */
static hb_status update_drift(hb_scheme *s, double tau)
{
    const int same = tau == s->drift_tau || hb_problem_is_autonomous(s->problem);
    if (same && !isnan(s->drift_tau)) return HB_OK;
    HB_TRY(coefficients(s, tau));
    s->drift_tau = tau;
    return HB_OK;
}

/* ---- creation --------------------------------------------------------------------------------- */

enum { MOST_ARRAYS = 4 * 3 + 9 };

static size_t scheme_arrays(hb_scheme *s, int tensor, hb_array arrays[MOST_ARRAYS])
{
    const hb_mesh *mesh = &s->mesh;
    const size_t size = mesh->size;
    const int line = mesh->dim == 1;
    const hb_array single[] = {
        HB_ARRAY(s->drain, size),
        HB_ARRAY_IF(line, s->line_upper, size),
        HB_ARRAY_IF(line, s->line_lower, size),
        HB_ARRAY_IF(line, s->line_pivot, size),
        HB_ARRAY_IF(!line && tensor, s->spread[0], size),
        HB_ARRAY_IF(!line && tensor, s->spread[1], size),
        HB_ARRAY_IF(!line, s->scale, size),
        HB_ARRAY_IF(!line, s->scaled, hb_scheme_blocks(mesh)),
        HB_ARRAY_IF(!line, s->parts, hb_scheme_blocks(mesh) * (HB_KRYLOV_MOST + 1))};
    size_t n = sizeof single / sizeof *single;
    memcpy(arrays, single, sizeof single);
    for (int a = 0; a < mesh->dim; a++) {
        const size_t entries = a + 1 < mesh->dim ? size : line_entries(mesh);
        const hb_array of_axis[] = {HB_ARRAY(s->gain_up[a], size), HB_ARRAY(s->gain_down[a], size),
                                    HB_ARRAY_IF(!line, s->upper[a], entries),
                                    HB_ARRAY_IF(!line, s->lower[a], entries)};
        memcpy(arrays + n, of_axis, sizeof of_axis);
        n += sizeof of_axis / sizeof *of_axis;
    }
    return n;
}

typedef struct scratch_sizes {
    size_t batch, nodes, entries, ratio, share;
} scratch_sizes;

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static scratch_sizes sizes_of(const hb_mesh *mesh)
{
    const hb_block block = largest_block(mesh);
    const size_t last = (size_t)mesh->nodes[mesh->dim - 1], row = hb_mesh_stride(mesh, 0);
    const size_t entries = block.pad * last, width = 2 * COLUMN_WIDTH;
    scratch_sizes sizes = {.batch = 2 * EDGE_BATCH * (size_t)mesh->dim};
    if (mesh->dim == 1) return sizes;
    sizes.nodes = block.count;
    sizes.entries = larger(entries, block.count);
    sizes.ratio = larger(larger(entries, row), (size_t)mesh->nodes[0] * width);
    sizes.share = larger(larger(block.pad, last), width);
    return sizes;
}

static hb_status create_scratch(hb_scheme *s)
{
    const scratch_sizes n = sizes_of(&s->mesh);
    return HB_WORKSPACE_EACH(
        s->context, &s->scratch_work, s->scratch, (size_t)hb_thread_pool_threads(s->pool),
        HB_MEMBER(hb_scheme_scratch, points, n.batch), HB_MEMBER(hb_scheme_scratch, drift, n.batch),
        HB_MEMBER(hb_scheme_scratch, down, n.nodes), HB_MEMBER(hb_scheme_scratch, block, n.nodes),
        HB_MEMBER(hb_scheme_scratch, lines, n.entries),
        HB_MEMBER(hb_scheme_scratch, ratio, n.ratio), HB_MEMBER(hb_scheme_scratch, share, n.share));
}

/* Small meshes, and those of the line and the plane, are for one thread. */
static int threads_of(const hb_mesh *mesh, int threads)
{
    return mesh->dim < 3 || mesh->size <= ALONE ? 1 : threads;
}

double hb_scheme_bytes(const hb_mesh *mesh, int threads)
{
    hb_scheme s = {.mesh = *mesh};
    hb_array arrays[MOST_ARRAYS];
    const size_t n = scheme_arrays(&s, 0, arrays);
    const scratch_sizes each = sizes_of(mesh);
    const size_t doubles = 2 * each.batch + each.nodes,
                 floats = each.nodes + each.entries + each.ratio + each.share;
    return (double)hb_workspace_bytes(n, arrays) +
           (double)threads_of(mesh, threads) *
               (double)(doubles * sizeof(double) + floats * sizeof(float));
}

hb_status hb_scheme_mind_breaks(hb_scheme *s)
{
    void *memory;
    const size_t each = 2 * EDGE_BATCH * (size_t)hb_problem_facts(s->problem)->n_breaks + 1;
    const size_t threads = (size_t)hb_thread_pool_threads(s->pool);
    HB_TRY(hb_allocate(s->context, threads * each, sizeof(double), &memory));
    s->arguments = memory;
    for (size_t t = 0; t < threads; t++) s->scratch[t].arguments = s->arguments + t * each;
    return HB_OK;
}

static hb_status allocate(hb_scheme *s)
{
    hb_array arrays[MOST_ARRAYS];
    const int threads = threads_of(&s->mesh, s->context->threads);
    const int tensor = hb_tensor_is_needed(s->problem);
    const size_t n = scheme_arrays(s, tensor, arrays);
    HB_TRY(hb_workspace_carve(s->context, n, arrays, &s->work));
    memset(s->work.memory, 0, s->work.size);
    if (threads > 1) HB_TRY(hb_thread_pool_create(s->context, threads, &s->pool));
    HB_TRY(create_scratch(s));
    return tensor ? hb_tensor_create(s->context, s->problem, &s->mesh, &s->tensor) : HB_OK;
}

hb_status hb_scheme_create(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                           hb_scheme **out)
{
    *out = NULL;
    void *memory;
    HB_TRY(hb_allocate(context, 1, sizeof(hb_scheme), &memory));
    hb_scheme *s = memset(memory, 0, sizeof(hb_scheme));
    s->context = context;
    s->problem = problem;
    s->kernels = hb_scheme_kernels_of(context->isa);
    s->mesh = *mesh;
    s->drift_tau = NAN;
    const hb_status status = allocate(s);
    if (status == HB_OK)
        *out = s;
    else
        hb_scheme_destroy(s);
    return status;
}

void hb_scheme_destroy(hb_scheme *s)
{
    if (!s) return;
    hb_context *context = s->context;
    hb_thread_pool_destroy(s->pool);
    hb_tensor_destroy(s->tensor);
    hb_workspace_destroy(&s->work);
    hb_workspace_destroy(&s->scratch_work);
    hb_release(context, s->arguments);
    hb_release(context, s);
}

const hb_mesh *hb_scheme_mesh(const hb_scheme *s)
{
    return &s->mesh;
}

/* ---- the rate --------------------------------------------------------------------------------- */

static int all_finite(size_t n, const double *x)
{
    int finite = 1;
    for (size_t i = 0; i < n; i++) finite &= fabs(x[i]) <= HB_LARGEST_RATE;
    return finite;
}

typedef struct rate_job {
    hb_scheme *scheme;
    const double *v; // (size)
    double *rate;    // (size)
} rate_job;

/* The weights of the last axis of a block, from the nodes' order to that of its lines. */
static void keep_lines(const hb_scheme *s, const hb_block *block, const float *upper,
                       const float *lower)
{
    const int axis = s->mesh.dim - 1;
    const size_t n = (size_t)s->mesh.nodes[axis];
    s->kernels->to_lines(block->lines, n, upper, block->pad, s->upper[axis] + block->offset);
    s->kernels->to_lines(block->lines, n, lower, block->pad, s->lower[axis] + block->offset);
}

/* The weights of an axis at the rows of a block: those to the node above, and from `has` on to the one below. */
typedef struct row_weights {
    float *upper, *lower; // lower[i] is of row has + i
    size_t has;
} row_weights;

static row_weights weights_of(const hb_scheme *s, const hb_scheme_scratch *own,
                              const hb_block *block, int axis)
{
    const size_t shift = hb_mesh_stride(&s->mesh, axis);
    if (axis == s->mesh.dim - 1) return (row_weights){own->block, own->lines, 1};
    const int inside = axis > 0 || block->first == 0;
    return (row_weights){s->upper[axis] + block->first,
                         s->lower[axis] + block->first - (inside ? 0 : shift), inside ? shift : 0};
}

/* Divides the rows of a block by S (scheme_lines.c); 1 when one of them is above 1. */
static int scale_rows(const hb_scheme *s, const hb_scheme_scratch *own, const hb_block *block)
{
    const size_t count = block->count;
    float *scale = s->scale + block->first, *most = own->ratio;
    memset(most, 0, count * sizeof *most);
    memset(scale, 0, count * sizeof *scale);
    for (int a = 0; a < s->mesh.dim; a++) {
        const row_weights w = weights_of(s, own, block, a);
        s->kernels->two_largest(w.has, w.upper, NULL, most, scale);
        s->kernels->two_largest(count - w.has, w.upper + w.has, w.lower, most + w.has,
                                scale + w.has);
    }
    if (!s->kernels->scales(count, (float)s->gamma, scale)) return 0;
    for (int a = 0; a < s->mesh.dim; a++) {
        const row_weights w = weights_of(s, own, block, a);
        s->kernels->multiply(count, scale, w.upper);
        s->kernels->multiply(count - w.has, scale + w.has, w.lower);
    }
    return 1;
}

/* The rates of a block: its own edges, and those from the row below it. */
static hb_status rate_task(void *user, size_t index, int thread)
{
    const rate_job *job = user;
    hb_scheme *s = job->scheme;
    hb_scheme_scratch *own = &s->scratch[thread];
    const hb_mesh *mesh = &s->mesh;
    const hb_block block = hb_scheme_block(mesh, index);
    const size_t first = block.first, row = hb_mesh_stride(mesh, 0);
    const int last = mesh->dim - 1;
    float *beyond = own->lines; /* weights that the next block keeps */
    double *rate = job->rate + first;
    const double *v = job->v + first;
    s->kernels->drained(block.count, s->drain + first, rate);
    if (first > 0)
        s->kernels->lower_edges(row, row, v - row, s->gain_down[0] + first - row, rate,
                                s->lower[0] + first - row);
    for (int a = 0; a < last; a++) {
        const size_t shift = hb_mesh_stride(mesh, a);
        s->kernels->edges(block.count - shift, shift, v, s->gain_up[a] + first,
                          s->gain_down[a] + first, rate, NULL, s->upper[a] + first,
                          s->lower[a] + first);
    }
    if (first + block.count < mesh->size) { /* to the next block, which adds the lower ones */
        const size_t top = block.count - row, at = first + top;
        s->kernels->edges(row, row, v + top, s->gain_up[0] + at, s->gain_down[0] + at, rate + top,
                          own->down, s->upper[0] + at, beyond);
    }
    s->kernels->edges(block.count - 1, 1, v, s->gain_up[last] + first, s->gain_down[last] + first,
                      rate, own->down, own->block, own->lines);
    own->finite &= s->kernels->finish(block.count, own->down, rate);
    own->block[block.count - 1] = own->lines[block.count - 1] = 0;
    s->scaled[index] = scale_rows(s, own, &block);
    keep_lines(s, &block, own->block, own->lines);
    return HB_OK;
}

static void line_rate(hb_scheme *s, const double *v, double *rate)
{
    const size_t n = s->mesh.size;
    s->kernels->line_edges(n, v, s->gain_up[0], s->gain_down[0], s->line_upper, s->line_lower);
    rate[0] = s->line_upper[0] - s->drain[0];
    for (size_t i = 1; i < n; i++) rate[i] = s->line_upper[i] + s->line_lower[i - 1] - s->drain[i];
}

/* The rate for a tensor, whose Jacobian along lines is kept. */
static hb_status tensor_rate(hb_scheme *s, double tau, const double *v, double *rate)
{
    const hb_mesh *mesh = &s->mesh;
    hb_scheme_scratch *own = &s->scratch[0];
    HB_TRY(hb_tensor_rate(s->tensor, tau, v, rate));
    if (mesh->dim == 1) {
        memcpy(s->line_upper, hb_tensor_upper(s->tensor, 0), mesh->size * sizeof(double));
        memcpy(s->line_lower, hb_tensor_lower(s->tensor, 0), mesh->size * sizeof(double));
        return HB_OK;
    }
    const int last = mesh->dim - 1;
    for (int a = 0; a < last; a++) {
        s->kernels->weights(mesh->size, hb_tensor_upper(s->tensor, a), s->upper[a]);
        s->kernels->weights(mesh->size, hb_tensor_lower(s->tensor, a), s->lower[a]);
    }
    for (size_t i = 0; i < hb_scheme_blocks(mesh); i++) {
        const hb_block block = hb_scheme_block(mesh, i);
        s->kernels->weights(block.count, hb_tensor_upper(s->tensor, last) + block.first,
                            own->block);
        s->kernels->weights(block.count, hb_tensor_lower(s->tensor, last) + block.first,
                            own->lines);
        keep_lines(s, &block, own->block, own->lines);
    }
    return HB_OK;
}

hb_status hb_scheme_rate(hb_scheme *s, double tau, const double *v, double *rate, int *finite)
{
    if (s->tensor || s->mesh.dim == 1) {
        if (!s->tensor) HB_TRY(update_drift(s, tau));
        if (s->tensor)
            HB_TRY(tensor_rate(s, tau, v, rate));
        else
            line_rate(s, v, rate);
        *finite = all_finite(s->mesh.size, rate);
        return HB_OK;
    }
    rate_job job = {.scheme = s, .v = v, .rate = rate};
    HB_TRY(update_drift(s, tau));
    for (int t = 0; t < hb_thread_pool_threads(s->pool); t++) s->scratch[t].finite = 1;
    HB_TRY(hb_thread_pool_run(s->pool, hb_scheme_blocks(&s->mesh), rate_task, &job));
    *finite = 1;
    for (int t = 0; t < hb_thread_pool_threads(s->pool); t++) *finite &= s->scratch[t].finite;
    return HB_OK;
}
