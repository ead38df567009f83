/* The Jacobian of the scheme: its lines factored and solved, and the operator that GMRES sees.
 *
 * In d = 1 the elimination along the one line is the inverse of I - gamma J. In more dimensions the
 * product over axes of I - gamma J_a approximates I - gamma J up to gamma^2 J_a J_b, and is split to
 * both sides of it (krylov_solver.c); hb_scheme_change is the operator that remains, less the identity.
 *
 * S. C. Eisenstat, Efficient implementation of a class of preconditioned conjugate gradient methods,
 * SIAM J. Sci. Stat. Comput. 2, 1981. Must reproduce: the change of a field that is constant along an
 * axis is 0 in d = 2. */
#include "grid/scheme_body.h"

#include <string.h>

/* ---- the Jacobian and its lines --------------------------------------------------------------- */

static void factor_task(hb_strand_job *job, size_t index)
{
    hb_scheme *s = job->scheme;
    const hb_strand strand = hb_mesh_strand(&s->mesh, job->axis, index);
    s->kernels->pivots(strand.n, strand.pad, s->gamma, s->upper[job->axis] + strand.offset,
                       s->lower[job->axis] + strand.offset, s->pivot[job->axis] + strand.offset);
}

void hb_scheme_factor(hb_scheme *s, double gamma)
{
    s->gamma = gamma;
    for (int a = 0; a < s->mesh.dim; a++) {
        hb_strand_job job = {.scheme = s, .axis = a};
        hb_scheme_over_strands(&job, factor_task);
    }
}

static void solve_strand(const hb_scheme *s, int axis, const hb_strand *strand, double *x)
{
    s->kernels->solve(strand->n, strand->pad, s->gamma, s->upper[axis] + strand->offset,
                      s->lower[axis] + strand->offset, s->pivot[axis] + strand->offset, x);
}

static void solve_task(hb_strand_job *job, size_t index)
{
    double *buffer[2];
    const hb_strand strand = hb_scheme_strand(job, index, buffer);
    hb_strand_gather(&strand, job->in, buffer[0]);
    solve_strand(job->scheme, job->axis, &strand, buffer[0]);
    hb_strand_scatter(&strand, buffer[0], job->out);
}

void hb_scheme_solve(hb_scheme *s, int axis, const double *x, double *out)
{
    hb_strand_job job = {.scheme = s, .axis = axis, .in = x, .out = out};
    hb_scheme_over_strands(&job, solve_task);
}

/* to = J_axis x for one strand. */
static void apply_strand(const hb_scheme *s, int axis, const hb_strand *strand, const double *x,
                         double *to)
{
    const double *upper = s->upper[axis] + strand->offset, *lower = s->lower[axis] + strand->offset;
    const size_t pad = strand->pad, edges = (strand->n - 1) * pad;
    memset(to + edges, 0, pad * sizeof *to);
    for (size_t i = 0; i < edges; i++) to[i] = upper[i] * (x[i + pad] - x[i]);
    for (size_t i = 0; i < edges; i++) to[i + pad] -= lower[i] * (x[i + pad] - x[i]);
}

static void apply_task(hb_strand_job *job, size_t index)
{
    double *buffer[2];
    const hb_strand strand = hb_scheme_strand(job, index, buffer);
    hb_strand_gather(&strand, job->in, buffer[0]);
    apply_strand(job->scheme, job->axis, &strand, buffer[0], buffer[1]);
    if (job->axis > 0) {
        hb_strand_gather(&strand, job->out, buffer[0]);
        for (size_t i = 0; i < strand.n * strand.pad; i++) buffer[1][i] += buffer[0][i];
    }
    hb_strand_scatter(&strand, buffer[1], job->out);
}

void hb_scheme_apply(hb_scheme *s, const double *x, double *out)
{
    for (int a = 0; a < s->mesh.dim; a++) {
        hb_strand_job job = {.scheme = s, .axis = a, .in = x, .out = out};
        hb_scheme_over_strands(&job, apply_task);
    }
}

/* ---- the change -------------------------------------------------------------------------------
 * With a, b, c for I - gamma J of the axes, I - gamma J = a + b + c - 2 I. So for s = c^-1 y
 *     d = 2:  a^-1 (a + c - I) s - y = s + a^-1 (y - s) - y = (a^-1 - I)(y - s)
 *     d = 3:  b^-1 a^-1 (a + b + c - 2 I) s - y = b^-1 (s + a^-1 (y - s - gamma J_b s)) - y
 * Two solves instead of a product with J and two solves (the trick is Eisenstat's), and a change that
 * is small when the splitting is good is found without cancellation. */

/* d = 2, axis 0: out = (a^-1 - I)(in - also). */
static void plane_task(hb_strand_job *job, size_t index)
{
    double *buffer[2];
    const hb_strand strand = hb_scheme_strand(job, index, buffer);
    const size_t all = strand.n * strand.pad;
    double *x = buffer[0], *rest = buffer[1];
    hb_strand_gather(&strand, job->in, x);
    hb_strand_gather(&strand, job->also, rest);
    for (size_t i = 0; i < all; i++) x[i] = rest[i] = x[i] - rest[i];
    solve_strand(job->scheme, 0, &strand, x);
    for (size_t i = 0; i < all; i++) x[i] -= rest[i];
    hb_strand_scatter(&strand, x, job->out);
}

/* d = 3, axis 1: out = in - also - gamma J_b also. */
static void middle_task(hb_strand_job *job, size_t index)
{
    double *buffer[2];
    const hb_strand strand = hb_scheme_strand(job, index, buffer);
    const size_t all = strand.n * strand.pad;
    double *x = buffer[0], *product = buffer[1];
    hb_strand_gather(&strand, job->also, x);
    apply_strand(job->scheme, 1, &strand, x, product);
    for (size_t i = 0; i < all; i++) product[i] = -x[i] - job->scheme->gamma * product[i];
    hb_strand_gather(&strand, job->in, x);
    for (size_t i = 0; i < all; i++) x[i] += product[i];
    hb_strand_scatter(&strand, x, job->out);
}

/* d = 3, axis 0: out = also + a^-1 out. */
static void first_task(hb_strand_job *job, size_t index)
{
    double *buffer[2];
    const hb_strand strand = hb_scheme_strand(job, index, buffer);
    hb_strand_gather(&strand, job->out, buffer[0]);
    solve_strand(job->scheme, 0, &strand, buffer[0]);
    hb_strand_gather(&strand, job->also, buffer[1]);
    for (size_t i = 0; i < strand.n * strand.pad; i++) buffer[0][i] += buffer[1][i];
    hb_strand_scatter(&strand, buffer[0], job->out);
}

/* d = 3, axis 1: out = b^-1 out - in. */
static void second_task(hb_strand_job *job, size_t index)
{
    double *buffer[2];
    const hb_strand strand = hb_scheme_strand(job, index, buffer);
    hb_strand_gather(&strand, job->out, buffer[0]);
    solve_strand(job->scheme, 1, &strand, buffer[0]);
    hb_strand_gather(&strand, job->in, buffer[1]);
    for (size_t i = 0; i < strand.n * strand.pad; i++) buffer[0][i] -= buffer[1][i];
    hb_strand_scatter(&strand, buffer[0], job->out);
}

/* The same with a part of the Jacobian that is not along lines: the product is formed. */
static void coupled_change(hb_scheme *s, const double *y, double *solved, double *change)
{
    const size_t size = s->mesh.size;
    hb_scheme_solve(s, s->mesh.dim - 1, y, solved);
    hb_scheme_apply(s, solved, change);
    hb_tensor_add_coupling(s->tensor, solved, change);
    for (size_t i = 0; i < size; i++) change[i] = solved[i] - s->gamma * change[i];
    for (int a = 0; a + 1 < s->mesh.dim; a++) hb_scheme_solve(s, a, change, change);
    for (size_t i = 0; i < size; i++) change[i] -= y[i];
}

void hb_scheme_change(hb_scheme *s, const double *y, double *solved, double *change)
{
    if (s->tensor) {
        coupled_change(s, y, solved, change);
        return;
    }
    hb_strand_job job = {.scheme = s, .in = y, .also = solved, .out = change};
    hb_scheme_solve(s, s->mesh.dim - 1, y, solved);
    if (s->mesh.dim == 2) {
        hb_scheme_over_strands(&job, plane_task);
        return;
    }
    job.axis = 1;
    hb_scheme_over_strands(&job, middle_task);
    job.axis = 0;
    hb_scheme_over_strands(&job, first_task);
    job.axis = 1;
    hb_scheme_over_strands(&job, second_task);
}
