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
 * zero, and I - gamma J_a is an M-matrix, solved line by line (scheme_kernels.c). Work goes strand by
 * strand (grid_mesh.c).
 *
 * Must reproduce: for F = -x the scheme keeps u = exp(-x^2/2) exactly: z = -(x_j^2 - x_i^2)/2 = ln(u_j/u_i). */
#include "grid/fitted_scheme.h"
#include "base/context.h"
#include "grid/scheme_body.h"
#include "problem/drift_facts.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    EDGE_BATCH = 2048, /* edges whose drift is asked for at once */
    CUT = 64           /* points of an edge that a break of the drift cuts */
};

/* ---- strands ---------------------------------------------------------------------------------- */

hb_strand hb_scheme_strand(const hb_strand_job *job, size_t index, double *buffer[2])
{
    const hb_scheme *s = job->scheme;
    buffer[0] = s->buffers;
    buffer[1] = s->buffers + hb_mesh_strand_most(&s->mesh);
    return hb_mesh_strand(&s->mesh, job->axis, index);
}

void hb_scheme_over_strands(hb_strand_job *job, hb_strand_task task)
{
    const size_t n = hb_mesh_strands(&job->scheme->mesh, job->axis);
    for (size_t i = 0; i < n; i++) task(job, i);
}

/* ---- the coefficients ------------------------------------------------------------------------- */

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
    size_t row, node, entry;
} edge_place;

static edge_place edge_of(const hb_strand *strand, size_t edge)
{
    const size_t k = edge / strand->width, r = edge % strand->width;
    return (edge_place){.row = k,
                        .node = strand->node + k * strand->step + r * strand->apart,
                        .entry = strand->offset + k * strand->pad + r};
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
static double cut_of(const hb_scheme *s, size_t n, size_t e)
{
    const double *from = s->arguments + 2 * e * n, *to = from + n;
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
static hb_status mend_cut_edges(hb_scheme *s, int axis, const hb_strand *strand, size_t first,
                                size_t count, double tau)
{
    const size_t d = (size_t)s->mesh.dim, a = (size_t)axis;
    const size_t n = (size_t)hb_problem_facts(s->problem)->n_breaks;
    for (size_t e = 0; e < count; e++) {
        const edge_place at = edge_of(strand, first + e);
        double *ends = s->points + 2 * d * e; // (2, dim)
        hb_mesh_point(&s->mesh, at.node, ends);
        memcpy(ends + d, ends, d * sizeof(double));
        ends[d + a] += hb_mesh_spacing(&s->mesh, axis, (int)at.row);
    }
    HB_TRY(
        hb_problem_break_values(s->context, s->problem, tau, 2 * count, s->points, s->arguments));
    for (size_t e = 0; e < count; e++) {
        const double *ends = s->points + 2 * d * e;
        const double h = ends[d + a] - ends[a], part = cut_of(s, n, e);
        double mean;
        if (part == 0) continue;
        HB_TRY(part < 1 ? two_sided_mean(s, axis, tau, ends, h, part, &mean)
                        : cut_mean(s, axis, tau, ends, h, &mean));
        s->drift[2 * d * e + a] = s->drift[2 * d * e + d + a] = mean;
    }
    return HB_OK;
}

static hb_status strand_coefficients(hb_scheme *s, int axis, const hb_strand *strand, double tau,
                                     double *drain)
{
    const hb_mesh *mesh = &s->mesh;
    const size_t d = (size_t)mesh->dim, edges = (strand->n - 1) * strand->width;
    for (size_t first = 0; first < edges; first += EDGE_BATCH) {
        const size_t count = edges - first < EDGE_BATCH ? edges - first : EDGE_BATCH;
        for (size_t e = 0; e < count; e++) {
            const edge_place at = edge_of(strand, first + e);
            const double h = hb_mesh_spacing(mesh, axis, (int)at.row);
            gauss_points(mesh, axis, at.node, h, s->points + 2 * d * e);
        }
        HB_TRY(hb_problem_drift(s->context, s->problem, 2 * count, s->points, tau, s->drift, NULL,
                                NULL, NULL));
        if (s->arguments) HB_TRY(mend_cut_edges(s, axis, strand, first, count, tau));
        for (size_t e = 0; e < count; e++) {
            const double *F = s->drift + 2 * d * e;
            const edge_place at = edge_of(strand, first + e);
            const double h = hb_mesh_spacing(mesh, axis, (int)at.row);
            const double below = 1 / (h * hb_mesh_cell(mesh, axis, (int)at.row));
            const double above = 1 / (h * hb_mesh_cell(mesh, axis, (int)at.row + 1));
            double plain, mirrored;
            hb_bernoulli(0.5 * h * (F[axis] + F[d + (size_t)axis]), &plain, &mirrored);
            s->gain_up[axis][at.entry] = below * plain;
            s->gain_down[axis][at.entry] = above * mirrored;
            drain[at.node] += below * mirrored;
            drain[at.node + strand->step] += above * plain;
        }
    }
    return HB_OK;
}

/* drain[size] is scratch. */
static hb_status coefficients(hb_scheme *s, double tau, double *drain)
{
    memset(drain, 0, s->mesh.size * sizeof *drain);
    for (int a = 0; a < s->mesh.dim; a++)
        for (size_t i = 0; i < hb_mesh_strands(&s->mesh, a); i++) {
            const hb_strand strand = hb_mesh_strand(&s->mesh, a, i);
            HB_TRY(strand_coefficients(s, a, &strand, tau, drain));
        }
    for (size_t i = 0; i < hb_mesh_strands(&s->mesh, 0); i++) {
        const hb_strand strand = hb_mesh_strand(&s->mesh, 0, i);
        hb_strand_gather(&strand, drain, s->drain + strand.offset);
    }
    return HB_OK;
}

/* F is asked for again at every new tau, unless it is known not to change. */
static hb_status update_drift(hb_scheme *s, double tau, double *scratch)
{
    const int same = tau == s->drift_tau || hb_problem_is_autonomous(s->problem);
    if (same && !isnan(s->drift_tau)) return HB_OK;
    HB_TRY(coefficients(s, tau, scratch));
    s->drift_tau = tau;
    return HB_OK;
}

/* ---- creation --------------------------------------------------------------------------------- */

enum { MOST_ARRAYS = 5 * 3 + 4 };

static size_t scheme_arrays(hb_scheme *s, hb_array arrays[MOST_ARRAYS])
{
    const size_t batch = 2 * EDGE_BATCH * (size_t)s->mesh.dim;
    const hb_array single[] = {HB_ARRAY(s->drain, hb_mesh_strand_entries(&s->mesh, 0)),
                               HB_ARRAY(s->buffers, 2 * hb_mesh_strand_most(&s->mesh)),
                               HB_ARRAY(s->points, batch), HB_ARRAY(s->drift, batch)};
    size_t n = sizeof single / sizeof *single;
    memcpy(arrays, single, sizeof single);
    for (int a = 0; a < s->mesh.dim; a++) {
        const size_t entries = hb_mesh_strand_entries(&s->mesh, a);
        const hb_array of_axis[] = {HB_ARRAY(s->gain_up[a], entries),
                                    HB_ARRAY(s->gain_down[a], entries),
                                    HB_ARRAY(s->lower[a], entries), HB_ARRAY(s->upper[a], entries),
                                    HB_ARRAY(s->pivot[a], entries)};
        memcpy(arrays + n, of_axis, sizeof of_axis);
        n += sizeof of_axis / sizeof *of_axis;
    }
    return n;
}

double hb_scheme_bytes(const hb_mesh *mesh)
{
    hb_scheme s = {.mesh = *mesh};
    hb_array arrays[MOST_ARRAYS];
    const size_t n = scheme_arrays(&s, arrays);
    return (double)hb_workspace_bytes(n, arrays);
}

hb_status hb_scheme_mind_breaks(hb_scheme *s)
{
    void *memory;
    const size_t n = (size_t)hb_problem_facts(s->problem)->n_breaks;
    HB_TRY(hb_allocate(s->context, 2 * EDGE_BATCH * n + 1, sizeof(double), &memory));
    s->arguments = memory;
    return HB_OK;
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
    hb_array arrays[MOST_ARRAYS];
    const size_t n = scheme_arrays(s, arrays);
    hb_status status = hb_workspace_carve(context, n, arrays, &s->work);
    if (status == HB_OK && hb_tensor_is_needed(problem))
        status = hb_tensor_create(context, problem, mesh, &s->tensor);
    if (status != HB_OK) {
        hb_scheme_destroy(s);
        return status;
    }
    memset(s->work.memory, 0, s->work.size);
    *out = s;
    return HB_OK;
}

void hb_scheme_destroy(hb_scheme *s)
{
    if (!s) return;
    hb_context *context = s->context;
    hb_tensor_destroy(s->tensor);
    hb_workspace_destroy(&s->work);
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
    for (size_t i = 0; i < n; i++) finite &= fabs(x[i]) <= DBL_MAX;
    return finite;
}

/* Adds the rates along the lines of a strand (axis 0: sets them), and keeps their derivatives. */
static void rate_task(hb_strand_job *job, size_t index)
{
    hb_scheme *s = job->scheme;
    const int axis = job->axis;
    double *buffer[2];
    const hb_strand strand = hb_scheme_strand(job, index, buffer);
    const size_t all = strand.n * strand.pad;
    double *v = buffer[0], *rate = buffer[1];
    double *upper = s->upper[axis] + strand.offset, *lower = s->lower[axis] + strand.offset;
    hb_strand_gather(&strand, job->in, v);
    for (size_t i = 0; i < HB_STRAND_LANES; i++) v[all + i] = v[all - 1];
    s->kernels->edges(strand.n, strand.pad, v, s->gain_up[axis] + strand.offset,
                      s->gain_down[axis] + strand.offset, upper, lower);
    if (axis == 0)
        for (size_t i = 0; i < all; i++) rate[i] = -s->drain[strand.offset + i];
    else
        hb_strand_gather(&strand, job->out, rate);
    for (size_t i = 0; i < strand.pad; i++) rate[i] += upper[i];
    for (size_t i = strand.pad; i < all; i++) rate[i] += upper[i] + lower[i - strand.pad];
    hb_strand_scatter(&strand, rate, job->out);
    if (axis == s->mesh.dim - 1) job->finite &= all_finite(all, rate);
}

/* The rate for a tensor, whose Jacobian along lines goes into the strands. */
static hb_status tensor_rate(hb_scheme *s, double tau, const double *v, double *rate, int *finite)
{
    HB_TRY(hb_tensor_rate(s->tensor, tau, v, rate));
    for (int a = 0; a < s->mesh.dim; a++)
        for (size_t i = 0; i < hb_mesh_strands(&s->mesh, a); i++) {
            const hb_strand strand = hb_mesh_strand(&s->mesh, a, i);
            hb_strand_gather(&strand, hb_tensor_upper(s->tensor, a), s->upper[a] + strand.offset);
            hb_strand_gather(&strand, hb_tensor_lower(s->tensor, a), s->lower[a] + strand.offset);
        }
    *finite = all_finite(s->mesh.size, rate);
    return HB_OK;
}

hb_status hb_scheme_rate(hb_scheme *s, double tau, const double *v, double *rate, int *finite)
{
    if (s->tensor) return tensor_rate(s, tau, v, rate, finite);
    HB_TRY(update_drift(s, tau, rate));
    hb_strand_job job = {.scheme = s, .in = v, .out = rate, .finite = 1};
    for (job.axis = 0; job.axis < s->mesh.dim; job.axis++) hb_scheme_over_strands(&job, rate_task);
    *finite = job.finite;
    return HB_OK;
}
