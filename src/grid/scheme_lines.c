/* The Jacobian of the scheme: solved along lines, and the operator that GMRES sees.
 *
 * In d = 1 elimination along the line inverts I - gamma J. Above, the product over axes of I -
 * gamma J_a approximates it up to gamma^2 J_a J_b, and is split to both sides of it
 * (krylov_solver.c). With a, b, c for I - gamma J of the axes, I - gamma J = a + b + c - 2 I, so
 * for s = a^-1 y
 *     d = 2:  c^-1 (a + c - I) s - y = (c^-1 - I)(y - s)
 *     d = 3:  b^-1 c^-1 (a + b + c - 2 I) s - y = b^-1 (s + c^-1 (y - s - gamma J_b s)) - y
 * (S. C. Eisenstat, SIAM J. Sci. Stat. Comput. 2, 1981): no product with J, and no cancellation.
 * A node whose gamma J is large along two axes would have the product of the weights where I -
 * gamma J has their sum. Its row, in J and in b, is divided by S = max(1, gamma w/2), w the
 * second largest of its weights by axis; 1/S takes the place of I above. Rates make the weights,
 * so S takes the gamma of the solve that comes next. An iteration is a pass along axis 0 by
 * columns, and one over blocks of rows with the inner products, whose parts are added in the
 * order of the blocks. All is float: Newton's corrections need a few digits. Must reproduce: a
 * field that is constant along an axis has change 0 in d = 2. */
#include "grid/scheme_body.h"

#include <string.h>

/* ---- products ---- */

static void add_edge(double upper, double lower, const double *x, size_t step, double *out)
{
    const double rise = x[step] - x[0];
    out[0] += upper * rise;
    out[step] -= lower * rise;
}

static void add_line_product(hb_scheme *s, const double *x, double *out)
{
    const int axis = s->mesh.dim - 1;
    const size_t n = (size_t)s->mesh.nodes[axis];
    for (size_t b = 0; b < hb_scheme_blocks(&s->mesh); b++) {
        const hb_block block = hb_scheme_block(&s->mesh, b);
        for (size_t r = 0; r < block.lines; r++)
            for (size_t k = 0; k + 1 < n; k++) {
                const size_t i = block.first + r * n + k, entry = block.offset + k * block.pad + r;
                add_edge((double)s->upper[axis][entry], (double)s->lower[axis][entry], x + i, 1,
                         out + i);
            }
    }
}

void hb_scheme_add_product(hb_scheme *s, int axis, const double *x, double *out)
{
    const size_t size = s->mesh.size, step = hb_mesh_stride(&s->mesh, axis);
    if (s->mesh.dim == 1) {
        for (size_t i = 0; i + 1 < size; i++)
            add_edge(s->line_upper[i], s->line_lower[i], x + i, 1, out + i);
        return;
    }
    if (axis == s->mesh.dim - 1) {
        add_line_product(s, x, out);
        return;
    }
    const float *upper = s->upper[axis], *lower = s->lower[axis];
    for (size_t i = 0; i + step < size; i++) out[i] += (double)upper[i] * (x[i + step] - x[i]);
    for (size_t i = 0; i + step < size; i++)
        out[i + step] -= (double)lower[i] * (x[i + step] - x[i]);
}

/* ---- one line ---- */

void hb_scheme_set_gamma(hb_scheme *s, double gamma)
{
    s->gamma = gamma;
}

void hb_scheme_solve_line(hb_scheme *s, const double *b, double *x)
{
    const size_t n = s->mesh.size;
    s->kernels->line_pivots(n, s->gamma, s->line_upper, s->line_lower, s->line_pivot);
    if (x != b) memcpy(x, b, n * sizeof *x);
    s->kernels->line_solve(n, s->gamma, s->line_upper, s->line_lower, s->line_pivot, x);
}

/* ---- along axis 0 ---- */

typedef struct direction_job {
    hb_scheme *scheme;
    int k;
    const double *factors; // (k)
    const hb_directions *all;
    const double *b;       // (size)
    const double *product; // (size) J s_k, where it is not along lines alone; else NULL
    double *x;             // (size)
} direction_job;

/* y_k made orthogonal, and s_k = a^-1 y_k, for some columns. */
static hb_status column_task(void *user, size_t index, int thread)
{
    const direction_job *job = user;
    hb_scheme *s = job->scheme;
    const hb_scheme_scratch *own = &s->scratch[thread];
    const size_t n = (size_t)s->mesh.nodes[0], row = hb_mesh_stride(&s->mesh, 0);
    float *y = job->all->y[job->k], *x = job->all->s[job->k];
    size_t first, width;
    hb_scheme_column(&s->mesh, index, &first, &width);
    for (size_t i = first; i < s->mesh.size; i += row) {
        for (int j = 0; j < job->k; j++)
            s->kernels->subtract(width, (float)job->factors[j], job->all->y[j] + i, y + i);
        memcpy(x + i, y + i, width * sizeof *x);
    }
    s->kernels->solve(n, width, row, (float)s->gamma, s->upper[0] + first, s->lower[0] + first,
                      x + first, own->ratio, own->carry);
    return HB_OK;
}

/* ---- within rows of axis 0 ---- */

/* x = c^-1 x for the nodes of a block. */
static void solve_last(const hb_scheme *s, const hb_scheme_scratch *own, const hb_block *block,
                       float *x)
{
    const int axis = s->mesh.dim - 1;
    const size_t n = (size_t)s->mesh.nodes[axis];
    s->kernels->to_lines(block->lines, n, x, block->pad, own->lines);
    s->kernels->solve(n, block->pad, block->pad, (float)s->gamma, s->upper[axis] + block->offset,
                      s->lower[axis] + block->offset, own->lines, own->ratio, own->carry);
    s->kernels->from_lines(block->lines, n, own->lines, block->pad, x);
}

/* d = 3: x = b^-1 x for the nodes of a block. */
static void solve_middle(const hb_scheme *s, const hb_scheme_scratch *own, const hb_block *block,
                         float *x)
{
    const size_t n = (size_t)s->mesh.nodes[1], width = (size_t)s->mesh.nodes[2], row = n * width;
    for (size_t i = 0; i < block->count; i += row)
        s->kernels->solve(n, width, width, (float)s->gamma, s->upper[1] + block->first + i,
                          s->lower[1] + block->first + i, x + i, own->ratio, own->carry);
}

static double *parts_of(const hb_scheme *s, size_t block)
{
    return s->parts + block * (HB_KRYLOV_MOST + 1);
}

static void add_parts(const hb_scheme *s, int n, double *products)
{
    memset(products, 0, (size_t)n * sizeof *products);
    for (size_t b = 0; b < hb_scheme_blocks(&s->mesh); b++)
        for (int j = 0; j < n; j++) products[j] += parts_of(s, b)[j];
}

/* y_0 = P^-1 b. */
static hb_status begin_task(void *user, size_t index, int thread)
{
    const direction_job *job = user;
    hb_scheme *s = job->scheme;
    const hb_scheme_scratch *own = &s->scratch[thread];
    const hb_block block = hb_scheme_block(&s->mesh, index);
    float *y = job->all->y[0] + block.first;
    if (s->scaled[index])
        s->kernels->narrow_scaled(block.count, s->scale + block.first, job->b + block.first, y);
    else
        s->kernels->narrow(block.count, job->b + block.first, y);
    solve_last(s, own, &block, y);
    if (s->mesh.dim == 3) solve_middle(s, own, &block, y);
    s->kernels->products(block.first, block.count, job->all->weights, job->all->y[0], 1,
                         job->all->y, parts_of(s, index));
    return HB_OK;
}

void hb_scheme_begin(hb_scheme *s, const double *b, const hb_directions *directions)
{
    direction_job job = {.scheme = s, .all = directions, .b = b};
    hb_crew_run(s->crew, hb_scheme_blocks(&s->mesh), begin_task, &job);
    add_parts(s, 1, directions->products);
}

/* What is left of y_k after the splitting. */
static hb_status change_task(void *user, size_t index, int thread)
{
    const direction_job *job = user;
    hb_scheme *s = job->scheme;
    const hb_scheme_scratch *own = &s->scratch[thread];
    const hb_block block = hb_scheme_block(&s->mesh, index);
    const int k = job->k, flat = s->mesh.dim == 2;
    const size_t first = block.first, count = block.count;
    const float *y = job->all->y[k] + first, *x = job->all->s[k] + first;
    float *out = job->all->y[k + 1] + first, *m = own->block;
    if (job->product)
        s->kernels->residual(count, s->gamma, x, job->product + first, m);
    else if (flat)
        s->kernels->difference(count, y, x, m);
    else
        s->kernels->couple(count, (size_t)s->mesh.nodes[2], (float)s->gamma, s->upper[1] + first,
                           s->lower[1] + first, y, x, m);
    if (s->scaled[index]) s->kernels->damp(count, s->scale + first, x, m);
    solve_last(s, own, &block, m);
    if (flat && !job->product) {
        s->kernels->difference(count, y, x, out);
        s->kernels->difference(count, m, out, out);
    } else {
        if (!flat && !job->product) s->kernels->subtract(count, -1, x, m);
        if (!flat) solve_middle(s, own, &block, m);
        s->kernels->difference(count, m, y, out);
    }
    s->kernels->products(first, count, job->all->weights, job->all->y[k + 1], k + 2, job->all->y,
                         parts_of(s, index));
    return HB_OK;
}

void hb_scheme_extend(hb_scheme *s, int k, const double *factors, const hb_directions *directions)
{
    direction_job job = {.scheme = s, .k = k, .factors = factors, .all = directions};
    hb_crew_run(s->crew, hb_scheme_columns(&s->mesh), column_task, &job);
    if (s->ops->product) job.product = s->ops->product(s, directions->s[k]);
    hb_crew_run(s->crew, hb_scheme_blocks(&s->mesh), change_task, &job);
    add_parts(s, k + 2, directions->products);
}

/* ---- the solution ---- */

static hb_status combine_task(void *user, size_t index, int thread)
{
    const direction_job *job = user;
    hb_scheme *s = job->scheme;
    const hb_block block = hb_scheme_block(&s->mesh, index);
    (void)thread;
    s->kernels->combine(block.first, block.count, job->k, job->factors, job->all->s, job->x);
    return HB_OK;
}

void hb_scheme_combine(hb_scheme *s, int used, const double *factors,
                       const hb_directions *directions, double *x)
{
    direction_job job = {.scheme = s, .k = used, .factors = factors, .all = directions, .x = x};
    hb_crew_run(s->crew, hb_scheme_blocks(&s->mesh), combine_task, &job);
}
