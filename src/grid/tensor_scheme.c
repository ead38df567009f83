/* Finite volumes for a tensor D(x,t), written for the logarithm.
 *
 * du/dt = -div(u A),  A = b - D grad v,  b = f - div D,  v = ln u, on a box without flux through
 * its boundary. Between neighbours i and j = i + h e_a, with Delta = v_j - v_i and w the widths of
 * the cells,
 *     A = b_a - D_aa Delta/h - sum over c != a of D_ac s_c,     flux = A sqrt(u_i u_j)
 *     dv_i/dt -= A exp(Delta/2)/w_i,     dv_j/dt += A exp(-Delta/2)/w_j
 * b_a is the mean along the edge (exact for cubics), D that of its ends, s_c the mean of the
 * central differences of v at the ends. u > 0 and the mass is constant, for any D >= 0; the
 * error is even in h. Where v rises along the flow by more than 2 STEEP from node to node,
 * exp(Delta/2) goes over to a bounded factor, as upwind fluxes have it: the geometric mean would
 * empty the cell behind for good. Near the floor, far below all that is reported, D_aa is raised
 * to |b| h/2, which is upwind: central fluxes would ring where the drift carries u over many
 * lengths of diffusion within a cell. A number to reproduce: D = 1/2, f = -x keeps u =
 * exp(-x^2): A = -x_mid + (x_j^2 - x_i^2)/(2h) = 0. */
#include "grid/tensor_scheme.h"
#include "base/context.h"
#include "base/memory.h"
#include "grid/scheme_body.h"
#include "problem/noise.h"

#include <math.h>
#include <string.h>

enum { BATCH = 2048, MOST_ARRAYS = 54 };

static const double NEAR_FLOOR = 36; /* above the floor the source is below rounding */
static const double SUPPLY = 10;     /* of the source, over the time of the problem */
/* Above the floor: where fluxes begin to turn upwind, and where they are. */
static const double CALM = 20, WINDY = 2;
static const double STEEP = 1.5; /* half the rise of v that is still followed */

struct hb_tensor {
    hb_context *context;
    const hb_problem *problem;
    const hb_scheme_kernels *kernels;
    hb_mesh mesh;
    double time; /* of the coefficients; NaN: none yet */
    int coupled;
    double floor, supply; /* of the source; the floor is NaN before the first rate */
    double *source;       // (size) what it added to the last rate
    /* over the nodes; of an edge: at its lower node */
    double *drive[3];    // (size) b_a
    double *spread[3];   // (size) D_aa/h
    double *cross[3][3]; // (size) D_ac/2, to be multiplied with the sum of the slopes at the ends
    double *upper[3], *lower[3]; // (size) of the Jacobian along lines
    double *out_of[3], *into[3]; // (size) flux/A as it changes v at the lower and the upper node
    double *lean[3];             // (size) -dA/dv at either end, through the depth
    double *slope[3];            // (size) of v, or of a vector
    double *velocity;            // (longest run) A, or its change
    double *root;                // (longest run)
    double *inverse_cell[3];     // (nodes of the axis) 1/w
    double *below[3],
        *above[3]; // (nodes of the axis) slope = below (v_k - v_k-1) + above (v_k+1 - v_k)
    double *points, *f, *D, *div; // (BATCH, ..)
    double *product[2];           // (size) d = 2, 3: a vector, and J times it
    hb_workspace work;
};

int hb_tensor_is_needed(const hb_problem *problem)
{
    return hb_problem_noise_kind(problem) != HB_NOISE_SCALAR;
}

int hb_tensor_is_steady(const hb_problem *problem)
{
    return hb_problem_is_autonomous(problem) && hb_problem_noise_is_constant(problem);
}

/* Raises v where it is so deep that its slopes could not be followed, which adds next to no
 * mass; the rates hold it up there. The heat flow of rough data is no flow of this noise: they
 * start at 0. */
static void tensor_adapt_start(const hb_mesh *mesh, double *v, double *tau)
{
    const double floor = hb_mesh_top(mesh, v) - HB_TENSOR_DEEPEST[mesh->dim - 1];
    *tau = 0;
    for (size_t i = 0; i < mesh->size; i++)
        v[i] = fmax(v[i], floor) + log1p(exp(-fabs(v[i] - floor)));
}

/* ---- runs: edges of an axis that lie one after the other in memory ---- */

/* Axis a but the last: all edges from the nodes k of one slab, whose geometry is the same. Last
 * axis: one line. */
typedef struct edge_run {
    size_t first, count;
    int k, step; /* the node along the axis of the first edge, and its growth from edge to edge */
} edge_run;

static size_t tensor_runs(const hb_mesh *mesh, int axis)
{
    const size_t n = (size_t)mesh->nodes[axis], stride = hb_mesh_stride(mesh, axis);
    return stride == 1 ? mesh->size / n : mesh->size / (n * stride) * (n - 1);
}

static edge_run tensor_run(const hb_mesh *mesh, int axis, size_t index)
{
    const size_t n = (size_t)mesh->nodes[axis], stride = hb_mesh_stride(mesh, axis);
    if (stride == 1) return (edge_run){.first = index * n, .count = n - 1, .k = 0, .step = 1};
    const size_t slab = index / (n - 1), k = index % (n - 1);
    return (edge_run){.first = (slab * n + k) * stride, .count = stride, .k = (int)k, .step = 0};
}

/* ---- the coefficients ---- */

/* b and D at a batch of nodes: slope gets b, cross[a][c] gets D_ac (also a = c). D of a matrix
 * is the same at all nodes. */
static hb_status tensor_read_nodes(hb_tensor *s, double t, size_t first, size_t count)
{
    const size_t d = (size_t)s->mesh.dim;
    const int same = hb_problem_noise_kind(s->problem) == HB_NOISE_MATRIX;
    for (size_t i = 0; i < count; i++) hb_mesh_point(&s->mesh, first + i, s->points + i * d);
    HB_TRY(hb_problem_drift(s->context, s->problem, count, s->points, t, s->f, NULL, NULL, NULL));
    HB_TRY(hb_problem_diffusion(s->context, s->problem, same ? 1 : count, same ? NULL : s->points,
                                t, s->D, same ? NULL : s->div));
    for (size_t k = 0; k < count * d; k++) {
        const size_t i = k / d, a = k % d;
        s->slope[a][first + i] = same ? s->f[k] : s->f[k] - s->div[k];
        for (size_t c = 0; c < d; c++)
            s->cross[a][c][first + i] = s->D[((same ? 0 : i) * d + a) * d + c];
    }
    return HB_OK;
}

/* The mean of b along the edge from node i, from b at the nodes: exact for cubics on even nodes. */
static double tensor_edge_mean(const double *b, size_t i, size_t stride, int inner)
{
    const double near = b[i] + b[i + stride];
    return inner ? (13 * near - b[i - stride] - b[i + 2 * stride]) / 24 : 0.5 * near;
}

/* Whether the edge above node k has even neighbours on both sides. */
static int tensor_is_inner(const hb_mesh *mesh, int axis, int k)
{
    if (k == 0 || k + 2 >= mesh->nodes[axis]) return 0;
    const double h = hb_mesh_spacing(mesh, axis, k);
    return fabs(hb_mesh_spacing(mesh, axis, k - 1) - h) < 1e-9 * h &&
           fabs(hb_mesh_spacing(mesh, axis, k + 1) - h) < 1e-9 * h;
}

/* From values at nodes to values on the edges of an axis; the arrays of D are overwritten in
 * place, each entry after its last use. */
static void tensor_edge_values(hb_tensor *s, int a)
{
    const hb_mesh *mesh = &s->mesh;
    const size_t stride = hb_mesh_stride(mesh, a);
    for (size_t index = 0; index < tensor_runs(mesh, a); index++) {
        const edge_run run = tensor_run(mesh, a, index);
        for (size_t r = 0; r < run.count; r++) {
            const size_t i = run.first + r;
            const int k = run.k + (int)r * run.step;
            const double h = hb_mesh_spacing(mesh, a, k);
            s->drive[a][i] = tensor_edge_mean(s->slope[a], i, stride, tensor_is_inner(mesh, a, k));
            for (int c = 0; c < mesh->dim; c++) {
                double *D = s->cross[a][c];
                const double mean = 0.5 * (D[i] + D[i + stride]);
                D[i] = 0.5 * mean;
                if (c == a) s->spread[a][i] = mean / h;
                s->coupled |= c != a && mean != 0;
            }
        }
    }
}

static hb_status tensor_update(hb_tensor *s, double t)
{
    if (t == s->time || (!isnan(s->time) && hb_tensor_is_steady(s->problem))) return HB_OK;
    for (size_t first = 0; first < s->mesh.size; first += BATCH) {
        const size_t count = s->mesh.size - first < BATCH ? s->mesh.size - first : BATCH;
        HB_TRY(tensor_read_nodes(s, t, first, count));
    }
    s->coupled = 0;
    for (int a = 0; a < s->mesh.dim; a++) tensor_edge_values(s, a);
    s->time = t;
    return HB_OK;
}

/* ---- the rate ---- */

/* Differences of x along an axis at all nodes, right to second order; one-sided at the boundary. */
static void tensor_slopes_along(hb_tensor *s, int axis, const double *x)
{
    const hb_mesh *mesh = &s->mesh;
    const size_t stride = hb_mesh_stride(mesh, axis), n = (size_t)mesh->nodes[axis];
    double *out = s->slope[axis];
    for (size_t first = 0; first < mesh->size; first += stride * n)
        for (size_t k = 0; k < n; k++) {
            const double below = s->below[axis][k], above = s->above[axis][k];
            const size_t i = first + k * stride, down = k > 0 ? stride : 0,
                         up = k + 1 < n ? stride : 0;
            for (size_t r = i; r < i + stride; r++)
                out[r] = below * (x[r] - x[r - down]) + above * (x[r + up] - x[r]);
        }
}

static void tensor_all_slopes(hb_tensor *s, const double *x)
{
    for (int a = 0; a < s->mesh.dim; a++) tensor_slopes_along(s, a, x);
}

/* sums[r] = sum over c != axis of D_ac s_c on the edges of a run. */
static void tensor_cross_sums(const hb_tensor *s, int axis, const edge_run *run,
                              double *restrict sums)
{
    const size_t stride = hb_mesh_stride(&s->mesh, axis);
    memset(sums, 0, run->count * sizeof *sums);
    if (!s->coupled) return;
    for (int c = 0; c < s->mesh.dim; c++) {
        if (c == axis) continue;
        const double *D = s->cross[axis][c] + run->first, *slope = s->slope[c] + run->first;
        for (size_t r = 0; r < run->count; r++) sums[r] += D[r] * (slope[r] + slope[r + stride]);
    }
}

/* flux/(A u) at both ends, and the derivatives by Delta. */
typedef struct edge_factors {
    double out_of, into, out_slope, in_slope;
} edge_factors;

/* Where v rises steeply along the flow: exp(g) with g = Delta/2 up to STEEP, and bounded by
 * STEEP + 1. */
static edge_factors tensor_steep_factors(double A, double rise)
{
    const double along = A >= 0 ? rise : -rise, over = 0.5 * along - STEEP;
    const double g = over > 0 ? STEEP - expm1(-over) : 0.5 * along;
    const double slope = over > 0 ? 0.5 * exp(-over) : 0.5; /* of g */
    const double from = exp(g), to = exp(g - along);
    edge_factors e = {from, to, slope * from, (slope - 1) * to};
    if (A < 0) e = (edge_factors){to, from, (1 - slope) * to, -slope * from};
    return e;
}

/* 0 in all that is reported, 1 near the floor; and its derivative. */
static double tensor_depth_part(double above_floor, double *slope)
{
    const double part = (CALM - above_floor) / (CALM - WINDY);
    *slope = 0;
    if (part <= 0 || part >= 1) return part >= 1;
    *slope = -6 * part * (1 - part) / (CALM - WINDY);
    return part * part * (3 - 2 * part);
}

static void tensor_rate_run(hb_tensor *s, int axis, const edge_run *run, const double *v,
                            double *rate)
{
    const size_t stride = hb_mesh_stride(&s->mesh, axis), first = run->first;
    const double *cell = s->inverse_cell[axis] + run->k;
    const size_t step = (size_t)run->step;
    tensor_cross_sums(s, axis, run, s->velocity);
    s->kernels->roots(run->count, v + first, v + first + stride, s->root);
    for (size_t r = 0; r < run->count; r++) {
        const size_t i = first + r;
        const double rise = v[i + stride] - v[i], drive = s->drive[axis][i];
        double turn;
        const double deep = tensor_depth_part(0.5 * (v[i] + v[i + stride]) - s->floor, &turn);
        const double spread = s->spread[axis][i] + 0.5 * deep * fabs(drive);
        const double A = drive - spread * rise - s->velocity[r];
        const double e = s->root[r], below = cell[r * step], above = cell[r * step + 1];
        edge_factors w = {e, 1 / e, 0.5 * e, -0.5 / e};
        if (!(fabs(rise) <= 2 * STEEP)) w = tensor_steep_factors(A, rise);
        rate[i] -= below * A * w.out_of;
        rate[i + stride] += above * A * w.into;
        s->upper[axis][i] = below * (spread * w.out_of - A * w.out_slope);
        s->lower[axis][i] = above * (spread * w.into - A * w.in_slope);
        s->out_of[axis][i] = below * w.out_of;
        s->into[axis][i] = above * w.into;
        s->lean[axis][i] = 0.25 * turn * fabs(drive) * rise;
    }
}

/* What the source adds: du/dt += supply e^floor, so that empty corners do not fall without end. */
static void tensor_add_source(hb_tensor *s, const double *v, double *rate)
{
    if (isnan(s->floor)) s->floor = hb_mesh_top(&s->mesh, v) - HB_TENSOR_DEEPEST[s->mesh.dim - 1];
    for (size_t i = 0; i < s->mesh.size; i++) {
        const double over = v[i] - s->floor;
        s->source[i] = over < NEAR_FLOOR ? s->supply * exp(-over) : 0;
        rate[i] += s->source[i];
    }
}

hb_status hb_tensor_rate(hb_tensor *s, double t, const double *v, double *rate)
{
    HB_TRY(tensor_update(s, t));
    if (s->coupled) tensor_all_slopes(s, v);
    memset(rate, 0, s->mesh.size * sizeof *rate);
    tensor_add_source(s, v, rate);
    for (int a = 0; a < s->mesh.dim; a++)
        for (size_t index = 0; index < tensor_runs(&s->mesh, a); index++) {
            const edge_run run = tensor_run(&s->mesh, a, index);
            tensor_rate_run(s, a, &run, v, rate);
        }
    return HB_OK;
}

void hb_tensor_add_coupling(hb_tensor *s, const double *x, double *out)
{
    for (size_t i = 0; i < s->mesh.size; i++) out[i] -= s->source[i] * x[i];
    if (s->coupled) tensor_all_slopes(s, x);
    for (int a = 0; a < s->mesh.dim; a++) {
        const size_t stride = hb_mesh_stride(&s->mesh, a);
        for (size_t index = 0; index < tensor_runs(&s->mesh, a); index++) {
            const edge_run run = tensor_run(&s->mesh, a, index);
            const double *out_of = s->out_of[a] + run.first, *into = s->into[a] + run.first;
            const double *lean = s->lean[a] + run.first, *from = x + run.first;
            double *below = out + run.first, *above = below + stride;
            tensor_cross_sums(s, a, &run, s->velocity);
            for (size_t r = 0; r < run.count; r++)
                s->velocity[r] += lean[r] * (from[r] + from[r + stride]);
            for (size_t r = 0; r < run.count; r++) below[r] += out_of[r] * s->velocity[r];
            for (size_t r = 0; r < run.count; r++) above[r] -= into[r] * s->velocity[r];
        }
    }
}

/* ---- creation ---- */

static size_t tensor_arrays(hb_tensor *s, hb_array arrays[MOST_ARRAYS])
{
    const size_t d = (size_t)s->mesh.dim, size = s->mesh.size;
    size_t longest = 0, n = 0;
    for (int a = 0; a < s->mesh.dim; a++) {
        const size_t nodes = (size_t)s->mesh.nodes[a], stride = hb_mesh_stride(&s->mesh, a);
        const hb_array of_axis[] = {
            HB_ARRAY(s->drive[a], size),         HB_ARRAY(s->spread[a], size),
            HB_ARRAY(s->upper[a], size),         HB_ARRAY(s->lower[a], size),
            HB_ARRAY(s->out_of[a], size),        HB_ARRAY(s->into[a], size),
            HB_ARRAY(s->lean[a], size),          HB_ARRAY(s->slope[a], size),
            HB_ARRAY(s->inverse_cell[a], nodes), HB_ARRAY(s->below[a], nodes),
            HB_ARRAY(s->above[a], nodes)};
        memcpy(arrays + n, of_axis, sizeof of_axis);
        n += sizeof of_axis / sizeof *of_axis;
        for (size_t c = 0; c < d; c++) arrays[n++] = (hb_array)HB_ARRAY(s->cross[a][c], size);
        longest = longest > stride ? longest : stride;
        longest = longest > nodes ? longest : nodes;
    }
    const hb_array shared[] = {HB_ARRAY(s->source, size),
                               HB_ARRAY(s->velocity, longest),
                               HB_ARRAY(s->root, longest),
                               HB_ARRAY(s->points, BATCH * d),
                               HB_ARRAY(s->f, BATCH * d),
                               HB_ARRAY(s->D, BATCH * d * d),
                               HB_ARRAY(s->div, BATCH * d),
                               HB_ARRAY(s->product[0], d > 1 ? size : 0),
                               HB_ARRAY(s->product[1], d > 1 ? size : 0)};
    memcpy(arrays + n, shared, sizeof shared);
    return n + sizeof shared / sizeof *shared;
}

static void tensor_set_geometry(hb_tensor *s, int axis)
{
    const hb_mesh *mesh = &s->mesh;
    const int n = mesh->nodes[axis];
    for (int k = 0; k < n; k++) {
        const double low = k > 0 ? hb_mesh_spacing(mesh, axis, k - 1) : INFINITY;
        const double high = k + 1 < n ? hb_mesh_spacing(mesh, axis, k) : INFINITY;
        s->inverse_cell[axis][k] = 1 / hb_mesh_cell(mesh, axis, k);
        const int inside = k > 0 && k + 1 < n;
        s->below[axis][k] = inside ? high / ((low + high) * low) : k > 0 ? 1 / low : 0;
        s->above[axis][k] = inside ? low / ((low + high) * high) : k > 0 ? 0 : 1 / high;
    }
}

hb_status hb_tensor_create(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                           hb_tensor **out)
{
    *out = NULL;
    hb_tensor *s;
    HB_TRY(HB_NEW_CLEARED(context, s, 1));
    s->context = context;
    s->problem = problem;
    s->kernels = hb_scheme_kernels_of(context->isa);
    s->mesh = *mesh;
    s->time = s->floor = NAN;
    s->supply = SUPPLY / hb_problem_time(problem);
    hb_array arrays[MOST_ARRAYS];
    const size_t n = tensor_arrays(s, arrays);
    const hb_status status = hb_workspace_carve(context, n, arrays, &s->work);
    if (status != HB_OK) {
        hb_release(context, s);
        return status;
    }
    memset(s->work.memory, 0, s->work.size);
    for (int a = 0; a < mesh->dim; a++) tensor_set_geometry(s, a);
    *out = s;
    return HB_OK;
}

void hb_tensor_destroy(hb_tensor *s)
{
    if (!s) return;
    hb_context *context = s->context;
    hb_workspace_destroy(&s->work);
    hb_release(context, s);
}

/* ---- as a scheme ---- */

static hb_status tensor_create(hb_scheme *s, int breaks)
{
    hb_tensor *tensor;
    (void)breaks; /* drift is taken at nodes */
    const hb_status status = hb_tensor_create(s->context, s->problem, &s->mesh, &tensor);
    s->own = tensor;
    return status;
}

static void tensor_destroy(hb_scheme *s)
{
    hb_tensor_destroy(s->own);
}

static hb_status tensor_rate(hb_scheme *s, double tau, const double *v, double *rate, int *finite)
{
    const hb_tensor *own = s->own;
    const hb_mesh *mesh = &s->mesh;
    hb_scheme_scratch *scratch = &s->scratch[0];
    const int last = mesh->dim - 1;
    HB_TRY(hb_tensor_rate(s->own, tau, v, rate));
    *finite = hb_scheme_all_finite(mesh->size, rate);
    if (last == 0) {
        memcpy(s->line_upper, own->upper[0], mesh->size * sizeof(double));
        memcpy(s->line_lower, own->lower[0], mesh->size * sizeof(double));
        return HB_OK;
    }
    for (int a = 0; a < last; a++) {
        s->kernels->weights(mesh->size, own->upper[a], s->upper[a]);
        s->kernels->weights(mesh->size, own->lower[a], s->lower[a]);
    }
    for (size_t i = 0; i < hb_scheme_blocks(mesh); i++) {
        const hb_block block = hb_scheme_block(mesh, i);
        s->kernels->weights(block.count, own->upper[last] + block.first, scratch->block);
        s->kernels->weights(block.count, own->lower[last] + block.first, scratch->lines);
        hb_scheme_keep_lines(s, &block, scratch);
    }
    return HB_OK;
}

/* A part of the Jacobian is not along lines: the product is formed. */
static const double *tensor_product(hb_scheme *s, const float *x)
{
    hb_tensor *own = s->own;
    double *in = own->product[0], *out = own->product[1];
    for (size_t i = 0; i < s->mesh.size; i++) in[i] = (double)x[i];
    memset(out, 0, s->mesh.size * sizeof *out);
    for (int a = 0; a < s->mesh.dim; a++) hb_scheme_add_product(s, a, in, out);
    hb_tensor_add_coupling(own, in, out);
    return out;
}

const hb_scheme_ops hb_tensor_ops = {.create = tensor_create,
                                     .destroy = tensor_destroy,
                                     .rate = tensor_rate,
                                     .product = tensor_product,
                                     .adapt_start = tensor_adapt_start};
