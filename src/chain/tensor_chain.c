/* The Markov chain of a tensor D(x) on an even mesh.
 *
 * div(D grad u - b u), b = f - div D. In units of the spacings, M_ab = D_ab/(h_a h_b) at a node is
 * a sum of squares of integer directions e with weights w_e >= 0 (selling.c), so that the operator
 * is one of lines in the directions e. On the edge from i to j = i + e, with w the mean of its ends
 * and z the integral of W = D^-1 b along it (two Gauss points), the fitted flux is
 *     w (B(-z) u_i - B(z) u_j),    B(z) = z/(exp(z) - 1):
 * positive, conserving, even in h, and 0 where u = exp(int W). Directions that leave the box are
 * left out; neighbours along the axes are linked by at least LINK of M_aa. In one dimension
 * spacing may vary. Where D hardly reaches some direction, directions would become long: beyond
 * MOST_REACH nodes D is raised by a part of its trace, and where the density is below e^-DEEP of
 * its maximum the diagonal of M until neighbours suffice. The least depth of that is told, and
 * counts like a boundary (stationary_solve.c). A number to reproduce: D = 1/2, f = -x in d = 1:
 * p_j/p_i = exp(x_i^2 - x_j^2). */
#include "base/context.h"
#include "base/memory.h"
#include "chain/chain_rates.h"
#include "grid/fitted_scheme.h"
#include "problem/noise.h"
#include "problem/problem_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1024, MOST_REACH = 3 };

static const double DEEP = 25;       /* of ln u, where neighbours suffice */
static const double DOMINANT = 1.02; /* of the diagonal there, over the rest of its row */
static const double LEAST = 1e-8;    /* of the largest M_aa of the mesh */
static const double VANISHING = 0.4; /* of the noise of a neighbour */
static const double STEEPEST = 200;  /* of ln u along an edge */
static const double LINK = 1e-10;    /* of M_aa, between neighbours along an axis */
static const double FIRST_RAISE = 1e-4, RAISE = 1.5; /* in parts of the trace, and their growth */

typedef struct tensor_chain {
    hb_context *context;
    const hb_problem *problem;
    const hb_mesh *mesh;
    hb_chain_rates *out;
    hb_chain_hints *hints;
    size_t d;
    double least[3];             /* of M_aa */
    double part[9];              /* selling.c; by pair of axes */
    int reduced;                 /* for d = 3: all nodes by Selling's reduction */
    double *M;                   // (size, d, d)
    double *weight;              // (size, HB_SELLING_MOST)
    unsigned char *index;        // (size, HB_SELLING_MOST) the direction of a weight
    unsigned char *count;        // (size) how many
    double *along;               // (size) weights of one direction
    double *x, *D, *f, *div, *z; // (2 BATCH, ..)
    size_t *edge;                // (BATCH) nodes of the edges at hand
} tensor_chain;

/* ---- weights at the nodes ---- */

static hb_status tensor_refuse(const tensor_chain *c, const double *x)
{
    char text[HB_POINT_TEXT];
    return hb_fail(c->context, HB_ERROR_ARGUMENT,
                   "time is inf, but at x = %s the noise is not finite or there is none; give a "
                   "long finite time, with the method grid",
                   hb_point_text(c->mesh->dim, x, text));
}

/* b becomes M^-1 b, by elimination; 0: M is not positive. */
static int tensor_divide(size_t d, double *M, double *b)
{
    for (size_t k = 0; k < d; k++) {
        if (!(M[k * d + k] > 0) || !isfinite(M[k * d + k])) return 0;
        for (size_t i = k + 1; i < d; i++) {
            const double factor = M[i * d + k] / M[k * d + k];
            for (size_t j = k; j < d; j++) M[i * d + j] -= factor * M[k * d + j];
            b[i] -= factor * b[k];
        }
    }
    for (size_t k = d; k-- > 0;) {
        for (size_t j = k + 1; j < d; j++) b[k] -= M[k * d + j] * b[j];
        b[k] /= M[k * d + k];
    }
    return 1;
}

/* The depth at the nearest node of the mesh where it is known; 0 where nothing is. */
static double tensor_depth(const tensor_chain *c, const double *x)
{
    const hb_mesh *known = c->hints->mesh;
    return known ? c->hints->depth[hb_mesh_nearest(known, x)] : 0;
}

static void tensor_tell(tensor_chain *c, const double *x, double depth)
{
    if (!(depth < c->hints->raised)) return;
    c->hints->raised = depth;
    memcpy(c->hints->place, x, c->d * sizeof *x);
}

static double tensor_row_sum(size_t d, const double *M, size_t a)
{
    double sum = 0;
    for (size_t b = 0; b < d; b++) sum += b == a ? 0 : fabs(M[a * d + b]);
    return sum;
}

static int tensor_is_dominant(size_t d, const double *M)
{
    for (size_t a = 0; a < d; a++)
        if (!(M[a * d + a] >= DOMINANT * tensor_row_sum(d, M, a))) return 0;
    return 1;
}

/* Whether directions of at most MOST_REACH nodes do. */
static int tensor_is_near(int dim, const double *M)
{
    hb_selling s;
    if (!hb_selling_reduce(dim, M, &s)) return 0;
    for (int k = 0; k < s.count; k++)
        for (int a = 0; a < dim; a++)
            if (abs(s.offset[k][a]) > MOST_REACH) return 0;
    return 1;
}

static int tensor_is_positive(size_t d, const double *M)
{
    double copy[9] = {0}, none[3] = {0};
    memcpy(copy, M, d * d * sizeof *M);
    return tensor_divide(d, copy, none);
}

/* M of D at x, raised where it has to be. */
static void tensor_raise(tensor_chain *c, const double *x, double *M)
{
    const size_t d = c->d;
    int raised = 0;
    for (size_t a = 0; a < d; a++)
        if (!(M[a * d + a] >= c->least[a])) {
            M[a * d + a] = c->least[a];
            raised = 1;
        }
    if (!raised && tensor_is_dominant(d, M)) return;
    const double depth = tensor_depth(c, x);
    if (depth > DEEP) {
        for (size_t a = 0; a < d; a++)
            M[a * d + a] = fmax(M[a * d + a], DOMINANT * tensor_row_sum(d, M, a));
        raised = 1;
    }
    double trace = 0;
    for (size_t a = 0; a < d; a++) trace += M[a * d + a];
    for (double part = FIRST_RAISE; !tensor_is_positive(d, M) || !tensor_is_near((int)d, M);
         part *= RAISE) {
        for (size_t a = 0; a < d; a++) M[a * d + a] += part * trace;
        raised = 1;
    }
    if (raised) tensor_tell(c, x, depth);
}

/* M of D[count][d][d] at x[count][d], in place. */
static hb_status tensor_scale(const tensor_chain *c, size_t count, const double *x, double *D)
{
    const size_t d = c->d;
    for (size_t k = 0; k < count * d * d; k++) {
        const size_t i = k / (d * d), a = k / d % d, b = k % d;
        D[k] /= c->mesh->h[a] * c->mesh->h[b];
        if (!isfinite(D[k])) return tensor_refuse(c, x + i * d);
    }
    return HB_OK;
}

/* Noise that falls to a part of what its neighbours have vanishes in between. */
static void tensor_look_for_zeros(tensor_chain *c)
{
    const size_t d = c->d;
    for (size_t i = 0; i < c->mesh->size && c->hints->fine; i++)
        for (int a = 0; a < c->mesh->dim; a++) {
            const size_t stride = hb_mesh_stride(c->mesh, a), n = (size_t)c->mesh->nodes[a];
            double here = 0, there = 0, x[3];
            if (i / stride % n + 1 == n) continue;
            for (size_t k = 0; k < d * d; k += d + 1) {
                here += c->M[i * d * d + k];
                there += c->M[(i + stride) * d * d + k];
            }
            if (fmin(here, there) >= VANISHING * fmax(here, there)) continue;
            hb_mesh_point(c->mesh, i, x);
            tensor_tell(c, x, tensor_depth(c, x));
        }
}

/* M at all nodes. */
static hb_status tensor_read(tensor_chain *c)
{
    const size_t d = c->d, size = c->mesh->size;
    for (size_t first = 0; first < size; first += BATCH) {
        const size_t count = size - first < BATCH ? size - first : BATCH;
        for (size_t i = 0; i < count; i++) hb_mesh_point(c->mesh, first + i, c->x + i * d);
        double *M = c->M + first * d * d;
        HB_TRY(hb_problem_diffusion(c->context, c->problem, count, c->x, 0, M, NULL));
        HB_TRY(tensor_scale(c, count, c->x, M));
        for (size_t k = 0; k < count * d; k++)
            c->least[k % d] = fmax(c->least[k % d], LEAST * M[k / d * d * d + k % d * (d + 1)]);
    }
    tensor_look_for_zeros(c);
    for (size_t i = 0; i < size; i++) {
        double x[3];
        hb_mesh_point(c->mesh, i, x);
        for (size_t a = 0; a < d; a++)
            if (!(c->least[a] > 0)) return tensor_refuse(c, x);
        tensor_raise(c, x, c->M + i * d * d);
    }
    return HB_OK;
}

/* How much of the diagonals is there in any case: as much as M has of them somewhere. */
static void tensor_choose_parts(tensor_chain *c)
{
    for (size_t i = 0; i < c->mesh->size; i++)
        for (size_t a = 0; a < c->d; a++)
            for (size_t b = a + 1; b < c->d; b++) {
                const double part =
                    hb_selling_part((int)c->d, c->M + i * c->d * c->d, (int)a, (int)b);
                c->part[a * c->d + b] = fmin(1, fmax(c->part[a * c->d + b], part));
            }
}

static hb_status tensor_keep_weights(tensor_chain *c, size_t node, const hb_selling *s)
{
    c->count[node] = (unsigned char)s->count;
    for (int l = 0; l < s->count; l++) {
        int k;
        HB_TRY(hb_chain_rates_direction(c->out, c->mesh, s->offset[l], &k));
        c->index[node * HB_SELLING_MOST + (size_t)l] = (unsigned char)k;
        c->weight[node * HB_SELLING_MOST + (size_t)l] = s->weight[l];
    }
    return HB_OK;
}

/* The axis of a direction that is one; -1: it is slanted. */
static int tensor_axis(const int *offset)
{
    const int reach = abs(offset[0]) + abs(offset[1]) + abs(offset[2]);
    return reach != 1 ? -1 : offset[0] ? 0 : offset[1] ? 1 : 2;
}

/* The weight of direction k at a node where the tensor has none. */
static double tensor_link(const tensor_chain *c, int k, size_t node)
{
    const int a = tensor_axis(c->out->offset[k]);
    return a < 0 ? 0 : LINK * c->M[node * c->d * c->d + (size_t)a * (c->d + 1)];
}

static hb_status tensor_weigh(tensor_chain *c)
{
    const int dim = c->mesh->dim;
    hb_selling s;
    for (int a = 0; a < dim; a++) {
        int k, axis[3] = {0};
        axis[a] = 1;
        HB_TRY(hb_chain_rates_direction(c->out, c->mesh, axis, &k));
    }
    for (size_t i = 0; i < c->mesh->size && dim == 3 && !c->reduced; i++)
        c->reduced = !hb_selling_pairs(dim, c->M + i * c->d * c->d, c->part, &s);
    for (size_t i = 0; i < c->mesh->size; i++) {
        const double *M = c->M + i * c->d * c->d;
        if (c->reduced || !hb_selling_pairs(dim, M, c->part, &s)) {
            c->hints->uneven = 1;
            if (!hb_selling_reduce(dim, M, &s)) {
                double x[3];
                hb_mesh_point(c->mesh, i, x);
                return tensor_refuse(c, x);
            }
        }
        HB_TRY(tensor_keep_weights(c, i, &s));
    }
    return HB_OK;
}

/* ---- rates of the edges ---- */

/* The node at the upper end of the edge, and the part of a face that its cells share; 0: it is
 * outside. */
static int tensor_upper_end(const hb_mesh *mesh, const int *offset, size_t node, size_t *to,
                            double *face)
{
    size_t rest = node;
    *to = node;
    *face = 1;
    for (int a = mesh->dim - 1; a >= 0; a--) {
        const int n = mesh->nodes[a], k = (int)(rest % (size_t)n), l = k + offset[a];
        rest /= (size_t)n;
        if (l < 0 || l >= n) return 0;
        *to += (size_t)l * hb_mesh_stride(mesh, a) - (size_t)k * hb_mesh_stride(mesh, a);
        *face *= offset[a] == 0   ? hb_mesh_cell(mesh, a, k)
                 : mesh->dim == 1 ? mesh->h[a] * mesh->h[a] / hb_mesh_spacing(mesh, a, k)
                                  : mesh->h[a];
    }
    return 1;
}

/* z[count]: the integral of D^-1 b along the edges. */
static hb_status tensor_integrate(tensor_chain *c, const int *offset, size_t count)
{
    const size_t d = c->d;
    const double span = 1 / (hb_mesh_gauss[1] - hb_mesh_gauss[0]);
    for (size_t e = 0; e < count; e++) {
        double from[3], to[3], face;
        size_t upper;
        tensor_upper_end(c->mesh, offset, c->edge[e], &upper, &face);
        hb_mesh_point(c->mesh, c->edge[e], from);
        hb_mesh_point(c->mesh, upper, to);
        for (size_t k = 0; k < 2 * d; k++)
            c->x[2 * d * e + k] = from[k % d] + hb_mesh_gauss[k / d] * (to[k % d] - from[k % d]);
        c->z[e] = 0;
    }
    HB_TRY(hb_problem_drift(c->context, c->problem, 2 * count, c->x, 0, c->f, NULL, NULL, NULL));
    HB_TRY(hb_problem_diffusion(c->context, c->problem, 2 * count, c->x, 0, c->D, c->div));
    HB_TRY(tensor_scale(c, 2 * count, c->x, c->D));
    for (size_t g = 0; g < 2 * count; g++) {
        double b[3], *M = c->D + g * d * d;
        const double *edge = c->x + g / 2 * 2 * d;
        for (size_t a = 0; a < d; a++) b[a] = (c->f[g * d + a] - c->div[g * d + a]) / c->mesh->h[a];
        tensor_raise(c, c->x + g * d, M);
        if (!tensor_divide(d, M, b)) return tensor_refuse(c, c->x + g * d);
        for (size_t a = 0; a < d; a++)
            c->z[g / 2] += 0.5 * span * (edge[d + a] - edge[a]) / c->mesh->h[a] * b[a];
    }
    return HB_OK;
}

static hb_status tensor_edge_rates(tensor_chain *c, int k, size_t count)
{
    const int *offset = c->out->offset[k];
    HB_TRY(tensor_integrate(c, offset, count));
    for (size_t e = 0; e < count; e++) {
        const size_t i = c->edge[e];
        size_t j;
        double face, plain, mirrored;
        tensor_upper_end(c->mesh, offset, i, &j, &face);
        const double weight = 0.5 * face * (c->along[i] + c->along[j]);
        const double z = fmin(fmax(c->z[e], -STEEPEST), STEEPEST), *x = c->x + 2 * e * c->d;
        if (isnan(c->z[e])) return tensor_refuse(c, x);
        const double link = tensor_link(c, k, i) + tensor_link(c, k, j);
        if (z != c->z[e] && c->along[i] + c->along[j] > link) tensor_tell(c, x, tensor_depth(c, x));
        hb_bernoulli(z, &plain, &mirrored);
        c->out->up[k][i] = weight * mirrored / hb_mesh_volume(c->mesh, i);
        c->out->down[k][i] = weight * plain / hb_mesh_volume(c->mesh, j);
    }
    return HB_OK;
}

static hb_status tensor_direction_rates(tensor_chain *c, int k)
{
    size_t count = 0;
    for (size_t i = 0; i < c->mesh->size; i++) c->along[i] = tensor_link(c, k, i);
    for (size_t i = 0; i < c->mesh->size; i++)
        for (size_t l = i * HB_SELLING_MOST; l < i * HB_SELLING_MOST + c->count[i]; l++)
            if (c->index[l] == k) c->along[i] = c->weight[l];
    for (size_t i = 0; i < c->mesh->size; i++) {
        size_t j;
        double face;
        if (!tensor_upper_end(c->mesh, c->out->offset[k], i, &j, &face)) continue;
        if (!(c->along[i] + c->along[j] > 0)) continue;
        c->edge[count++] = i;
        if (count < BATCH) continue;
        HB_TRY(tensor_edge_rates(c, k, count));
        count = 0;
    }
    return count ? tensor_edge_rates(c, k, count) : HB_OK;
}

static hb_status tensor_fill(tensor_chain *c)
{
    HB_TRY(tensor_read(c));
    tensor_choose_parts(c);
    HB_TRY(tensor_weigh(c));
    for (int k = 0; k < c->out->count; k++) HB_TRY(tensor_direction_rates(c, k));
    return HB_OK;
}

hb_status hb_tensor_chain_rates(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                                hb_chain_hints *hints, hb_chain_rates *out)
{
    const size_t d = (size_t)mesh->dim, size = mesh->size;
    tensor_chain c = {
        .context = context, .problem = problem, .mesh = mesh, .hints = hints, .out = out, .d = d};
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(
        context, &work, HB_ARRAY(c.M, size * d * d), HB_ARRAY(c.weight, size * HB_SELLING_MOST),
        HB_ARRAY(c.index, size * HB_SELLING_MOST), HB_ARRAY(c.count, size), HB_ARRAY(c.along, size),
        HB_ARRAY(c.x, 2 * BATCH * d), HB_ARRAY(c.D, 2 * BATCH * d * d),
        HB_ARRAY(c.f, 2 * BATCH * d), HB_ARRAY(c.div, 2 * BATCH * d), HB_ARRAY(c.z, BATCH),
        HB_ARRAY(c.edge, BATCH)));
    const hb_status status = tensor_fill(&c);
    hb_workspace_destroy(&work);
    return status;
}
