/* The exponentially fitted finite-volume scheme, written for the logarithm.
 *
 * du/dtau = Lap u - div(F u) on a box without flux through its boundary. Between neighbours i and j
 * = i + h e_a let z = the integral of F_a over the edge (two Gauss points). The flux J = F u - u'
 * is constant on the edge (Scharfetter and Gummel, IEEE Trans. Electron Devices 16, 1969):
 *     J = (B(-z) u_i - B(z) u_j)/h,            B(z) = z/(e^z - 1),  and with e = exp(v_j - v_i)
 *     dv_i/dtau += (B(z) e - B(-z))/h^2,      dv_j/dtau += (B(-z)/e - B(z))/h^2
 * (h^2 is h times the width of the cell, half of h at a boundary). u never appears, so tails are
 * as accurate as the core region; u > 0, the mass is constant, and the error is even in h. The
 * sum of the second terms is kept as `drain`. The Jacobian along an axis has the weights upper =
 * B(z) e/h^2 and lower = B(-z)/e/h^2: an M-matrix, solved line by line (scheme_lines.c). A rate
 * is one pass over blocks, each with the edges that touch it; edges between blocks are made
 * twice. Must reproduce: for F = -x the scheme keeps u = exp(-x^2/2): z = -(x_j^2 - x_i^2)/2 =
 * ln(u_j/u_i). */
#include "grid/fitted_scheme.h"
#include "grid/scheme_body.h"
#include "problem/drift_facts.h"

#include <math.h>
#include <string.h>

enum {
    EDGE_BATCH = 2048, /* edges whose drift is asked for at once */
    CUT = 64           /* points of an edge that a break of the drift cuts */
};

/* Of |z|: the stationary v would fall by that much from node to node. Where a drift such as -x^7
 * is faster the mesh carries what is left of the initial density inward more slowly, which the
 * finer meshes show; exp(v_j - v_i) stays a number. In one dimension only: in two, scaled rows
 * serve (scheme_lines.c), and the limit makes ten times as many steps. */
static const double STEEPEST = 300;

struct hb_fitted_scratch {
    double *points, *drift; // (2 EDGE_BATCH, dim)
    double *arguments;      // (2 EDGE_BATCH, n_breaks)
};

/* ---- the coefficients ---- */

void hb_bernoulli(double z, double *plain, double *mirrored)
{
    const double small = z == 0 ? 1 : fabs(z) / expm1(fabs(z)), large = fabs(z) + small;
    *plain = z > 0 ? small : large;
    *mirrored = z > 0 ? large : small;
}

/* The two Gauss points of the edge above `node`: x[2][dim]. */
static void fitted_gauss_points(const hb_mesh *mesh, int axis, size_t node, double h, double *x)
{
    for (int g = 0; g < 2; g++) {
        hb_mesh_point(mesh, node, x + g * mesh->dim);
        x[g * mesh->dim + axis] += hb_mesh_gauss[g] * h;
    }
}

/* Entry k of a strand's edges, counted without the space beside the lines. */
typedef struct edge_place {
    size_t row, node;
} edge_place;

static edge_place fitted_edge(const hb_strand *strand, size_t edge)
{
    const size_t k = edge / strand->width, r = edge % strand->width;
    return (edge_place){.row = k, .node = strand->node + k * strand->step + r * strand->apart};
}

/* F_axis[n] at the parts part[n] of an edge from x (dim), h long; n is at most CUT. */
static hb_status fitted_drift_along(const hb_fitted *s, int axis, double tau, const double *x,
                                    double h, size_t n, const double *part, double *F_axis)
{
    const size_t d = (size_t)s->mesh->dim;
    double at[CUT * 3], F[CUT * 3]; // (n, dim)
    for (size_t k = 0; k < n; k++) {
        memcpy(at + k * d, x, d * sizeof(double));
        at[k * d + (size_t)axis] += h * part[k];
    }
    HB_TRY(hb_problem_drift(s->context, s->problem, n, at, tau, F, NULL, NULL, NULL));
    for (size_t k = 0; k < n; k++) F_axis[k] = F[k * d + (size_t)axis];
    return HB_OK;
}

/* The mean of F_axis over an edge that breaks of F cut: CUT midpoints. */
static hb_status fitted_cut_mean(const hb_fitted *s, int axis, double tau, const double *x,
                                 double h, double *mean)
{
    double part[CUT], F[CUT];
    for (size_t k = 0; k < CUT; k++) part[k] = ((double)k + 0.5) / CUT;
    HB_TRY(fitted_drift_along(s, axis, tau, x, h, CUT, part, F));
    *mean = 0;
    for (size_t k = 0; k < CUT; k++) *mean += F[k] / CUT;
    return HB_OK;
}

/* Where edge e is cut: 0 nowhere, the part below the cut by the secant of the one argument that
 * changes sign, 1 for more than one. */
static double fitted_cut(const double *arguments, size_t n, size_t e)
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

/* The mean of F_axis from both sides of the cut, two Gauss points each: it moves smoothly with
 * the cut. */
static hb_status fitted_two_sided_mean(const hb_fitted *s, int axis, double tau, const double *x,
                                       double h, double cut, double *mean)
{
    double part[4], F[4];
    for (size_t k = 0; k < 4; k++)
        part[k] = k < 2 ? cut * hb_mesh_gauss[k] : cut + (1 - cut) * hb_mesh_gauss[k - 2];
    HB_TRY(fitted_drift_along(s, axis, tau, x, h, 4, part, F));
    *mean = 0.5 * (cut * (F[0] + F[1]) + (1 - cut) * (F[2] + F[3]));
    return HB_OK;
}

/* Replaces F of edges that a break cuts by its mean. The points are no longer needed: the ends
 * go there. */
static hb_status fitted_mend_cut_edges(hb_fitted *s, hb_fitted_scratch *own, int axis,
                                       const hb_strand *strand, size_t first, size_t count,
                                       double tau)
{
    const size_t d = (size_t)s->mesh->dim, a = (size_t)axis;
    const size_t n = (size_t)hb_problem_facts(s->problem)->n_breaks;
    for (size_t e = 0; e < count; e++) {
        const edge_place at = fitted_edge(strand, first + e);
        double *ends = own->points + 2 * d * e; // (2, dim)
        hb_mesh_point(s->mesh, at.node, ends);
        memcpy(ends + d, ends, d * sizeof(double));
        ends[d + a] += hb_mesh_spacing(s->mesh, axis, (int)at.row);
    }
    HB_TRY(hb_problem_break_values(s->context, s->problem, tau, 2 * count, own->points,
                                   own->arguments));
    for (size_t e = 0; e < count; e++) {
        const double *ends = own->points + 2 * d * e;
        const double h = ends[d + a] - ends[a], part = fitted_cut(own->arguments, n, e);
        double mean;
        if (part == 0) continue;
        HB_TRY(part < 1 ? fitted_two_sided_mean(s, axis, tau, ends, h, part, &mean)
                        : fitted_cut_mean(s, axis, tau, ends, h, &mean));
        own->drift[2 * d * e + a] = own->drift[2 * d * e + d + a] = mean;
    }
    return HB_OK;
}

typedef struct fitted_job {
    hb_fitted *fitted;
    int axis;
    double tau;
} fitted_job;

/* The edges of one strand. */
static hb_status fitted_strand_task(void *user, size_t index, int thread)
{
    const fitted_job *job = user;
    hb_fitted *s = job->fitted;
    hb_fitted_scratch *own = &s->scratch[thread];
    const hb_mesh *mesh = s->mesh;
    const int axis = job->axis;
    const hb_strand strand = hb_mesh_strand(mesh, axis, index);
    const size_t d = (size_t)mesh->dim, edges = (strand.n - 1) * strand.width;
    for (size_t first = 0; first < edges; first += EDGE_BATCH) {
        const size_t count = edges - first < EDGE_BATCH ? edges - first : EDGE_BATCH;
        for (size_t e = 0; e < count; e++) {
            const edge_place at = fitted_edge(&strand, first + e);
            const double h = hb_mesh_spacing(mesh, axis, (int)at.row);
            fitted_gauss_points(mesh, axis, at.node, h, own->points + 2 * d * e);
        }
        HB_TRY(hb_problem_drift(s->context, s->problem, 2 * count, own->points, job->tau,
                                own->drift, NULL, NULL, NULL));
        if (s->breaks) HB_TRY(fitted_mend_cut_edges(s, own, axis, &strand, first, count, job->tau));
        for (size_t e = 0; e < count; e++) {
            const double *F = own->drift + 2 * d * e;
            const edge_place at = fitted_edge(&strand, first + e);
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

static hb_status fitted_coefficients(hb_fitted *s, double tau)
{
    memset(s->drain, 0, s->mesh->size * sizeof *s->drain);
    for (int a = 0; a < s->mesh->dim; a++) {
        fitted_job job = {.fitted = s, .axis = a, .tau = tau};
        HB_TRY(hb_crew_run(s->crew, hb_mesh_strands(s->mesh, a), fitted_strand_task, &job));
    }
    return HB_OK;
}

/* F is asked for again at every new tau, unless it is known not to change. */
hb_status hb_fitted_update(hb_fitted *s, double tau)
{
    const int same = tau == s->tau || hb_problem_is_autonomous(s->problem);
    if (same && !isnan(s->tau)) return HB_OK;
    HB_TRY(fitted_coefficients(s, tau));
    s->tau = tau;
    return HB_OK;
}

hb_status hb_fitted_create(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                           hb_crew *crew, int breaks, hb_fitted *out)
{
    const size_t batch = 2 * EDGE_BATCH * (size_t)mesh->dim;
    const size_t values = 2 * EDGE_BATCH * (size_t)hb_problem_facts(problem)->n_breaks + 1;
    hb_array arrays[1 + 2 * 3] = {HB_ARRAY(out->drain, mesh->size)};
    size_t n = 1;
    *out = (hb_fitted){.context = context,
                       .problem = problem,
                       .mesh = mesh,
                       .crew = crew,
                       .breaks = breaks,
                       .tau = NAN};
    for (int a = 0; a < mesh->dim; a++) {
        arrays[n++] = (hb_array)HB_ARRAY(out->gain_up[a], mesh->size);
        arrays[n++] = (hb_array)HB_ARRAY(out->gain_down[a], mesh->size);
    }
    HB_TRY(hb_workspace_carve(context, n, arrays, &out->work));
    memset(out->work.memory, 0, out->work.size);
    return HB_WORKSPACE_EACH(
        context, &out->scratch_work, out->scratch, (size_t)hb_crew_threads(crew),
        HB_MEMBER(hb_fitted_scratch, points, batch), HB_MEMBER(hb_fitted_scratch, drift, batch),
        HB_MEMBER(hb_fitted_scratch, arguments, breaks ? values : 0));
}

void hb_fitted_destroy(hb_fitted *s)
{
    hb_workspace_destroy(&s->work);
    hb_workspace_destroy(&s->scratch_work);
}

/* ---- the rate ---- */

typedef struct rate_job {
    hb_scheme *scheme;
    const double *v; // (size)
    double *rate;    // (size)
} rate_job;

/* The weights of an axis at the rows of a block: those to the node above, and from `has` on to
 * the one below. */
typedef struct row_weights {
    float *upper, *lower; // lower[i] is of row has + i
    size_t has;
} row_weights;

static row_weights fitted_row_weights(const hb_scheme *s, const hb_scheme_scratch *own,
                                      const hb_block *block, int axis)
{
    const size_t shift = hb_mesh_stride(&s->mesh, axis);
    if (axis == s->mesh.dim - 1) return (row_weights){own->block, own->lines, 1};
    const int inside = axis > 0 || block->first == 0;
    return (row_weights){s->upper[axis] + block->first,
                         s->lower[axis] + block->first - (inside ? 0 : shift), inside ? shift : 0};
}

/* Divides the rows of a block by S (scheme_lines.c); 1 when one of them is above 1. */
static int fitted_scale_rows(const hb_scheme *s, const hb_scheme_scratch *own,
                             const hb_block *block)
{
    const size_t count = block->count;
    float *scale = s->scale + block->first, *most = own->ratio;
    memset(most, 0, count * sizeof *most);
    memset(scale, 0, count * sizeof *scale);
    for (int a = 0; a < s->mesh.dim; a++) {
        const row_weights w = fitted_row_weights(s, own, block, a);
        s->kernels->two_largest(w.has, w.upper, NULL, most, scale);
        s->kernels->two_largest(count - w.has, w.upper + w.has, w.lower, most + w.has,
                                scale + w.has);
    }
    if (!s->kernels->scales(count, (float)s->gamma, scale)) return 0;
    for (int a = 0; a < s->mesh.dim; a++) {
        const row_weights w = fitted_row_weights(s, own, block, a);
        s->kernels->multiply(count, scale, w.upper);
        s->kernels->multiply(count - w.has, scale + w.has, w.lower);
    }
    return 1;
}

/* The rates of a block: its own edges, and those from the row below it. */
static hb_status fitted_rate_task(void *user, size_t index, int thread)
{
    const rate_job *job = user;
    hb_scheme *s = job->scheme;
    const hb_fitted *f = s->own;
    hb_scheme_scratch *own = &s->scratch[thread];
    const hb_mesh *mesh = &s->mesh;
    const hb_block block = hb_scheme_block(mesh, index);
    const size_t first = block.first, row = hb_mesh_stride(mesh, 0);
    const int last = mesh->dim - 1;
    float *beyond = own->lines; /* weights that the next block keeps */
    double *rate = job->rate + first;
    const double *v = job->v + first;
    s->kernels->drained(block.count, f->drain + first, rate);
    if (first > 0)
        s->kernels->lower_edges(row, row, v - row, f->gain_down[0] + first - row, rate,
                                s->lower[0] + first - row);
    for (int a = 0; a < last; a++) {
        const size_t shift = hb_mesh_stride(mesh, a);
        s->kernels->edges(block.count - shift, shift, v, f->gain_up[a] + first,
                          f->gain_down[a] + first, rate, NULL, s->upper[a] + first,
                          s->lower[a] + first);
    }
    if (first + block.count < mesh->size) { /* to the next block, which adds the lower ones */
        const size_t top = block.count - row, at = first + top;
        s->kernels->edges(row, row, v + top, f->gain_up[0] + at, f->gain_down[0] + at, rate + top,
                          own->down, s->upper[0] + at, beyond);
    }
    s->kernels->edges(block.count - 1, 1, v, f->gain_up[last] + first, f->gain_down[last] + first,
                      rate, own->down, own->block, own->lines);
    own->finite &= s->kernels->finish(block.count, own->down, rate);
    own->block[block.count - 1] = own->lines[block.count - 1] = 0;
    s->scaled[index] = fitted_scale_rows(s, own, &block);
    hb_scheme_keep_lines(s, &block, own);
    return HB_OK;
}

static void fitted_line_rate(hb_scheme *s, const double *v, double *rate)
{
    const hb_fitted *f = s->own;
    const size_t n = s->mesh.size;
    s->kernels->line_edges(n, v, f->gain_up[0], f->gain_down[0], s->line_upper, s->line_lower);
    rate[0] = s->line_upper[0] - f->drain[0];
    for (size_t i = 1; i < n; i++) rate[i] = s->line_upper[i] + s->line_lower[i - 1] - f->drain[i];
}

static hb_status fitted_rate(hb_scheme *s, double tau, const double *v, double *rate, int *finite)
{
    rate_job job = {.scheme = s, .v = v, .rate = rate};
    HB_TRY(hb_fitted_update(s->own, tau));
    if (s->mesh.dim == 1) {
        fitted_line_rate(s, v, rate);
        *finite = hb_scheme_all_finite(s->mesh.size, rate);
        return HB_OK;
    }
    for (int t = 0; t < hb_crew_threads(s->crew); t++) s->scratch[t].finite = 1;
    HB_TRY(hb_crew_run(s->crew, hb_scheme_blocks(&s->mesh), fitted_rate_task, &job));
    *finite = 1;
    for (int t = 0; t < hb_crew_threads(s->crew); t++) *finite &= s->scratch[t].finite;
    return HB_OK;
}

static hb_status fitted_create(hb_scheme *s, int breaks)
{
    HB_TRY(hb_allocate(s->context, 1, sizeof(hb_fitted), &s->own));
    return hb_fitted_create(s->context, s->problem, &s->mesh, s->crew, breaks, s->own);
}

static void fitted_destroy(hb_scheme *s)
{
    if (s->own) hb_fitted_destroy(s->own);
    hb_release(s->context, s->own);
}

const hb_scheme_ops hb_fitted_ops = {
    .create = fitted_create, .destroy = fitted_destroy, .rate = fitted_rate};
