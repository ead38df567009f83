/* The exponentially fitted finite-volume scheme, written for the logarithm.
 *
 * du/dtau = Lap u - div(F u) on a box without flux through its walls. Node i owns the cell of points
 * nearest to it (half a cell at a wall). Between neighbours i and j = i + h e_a let z = the integral of
 * F_a over the edge (two Gauss points). On the edge the flux J = F u - u' is taken constant; that ODE is
 * solved exactly (Scharfetter and Gummel, IEEE Trans. Electron Devices 16, 1969):
 *     J = (B(-z) u_i - B(z) u_j)/h,            B(z) = z/(e^z - 1)
 * With u = e^v and e = exp(v_j - v_i), the same numbers read
 *     dv_i/dtau += (B(z) e - B(-z))/h^2,      dv_j/dtau += (B(-z)/e - B(z))/h^2
 * (twice that at a wall, whose cell is half as wide). u never appears, so a tail with u = 1e-300 is as
 * smooth and as accurate as the bulk; u = e^v > 0, and the sum of u over cells is constant. The error
 * is even in h, which the extrapolation of grid_solve.c uses.
 *
 * The Jacobian along an axis has the weights B(z) e and B(-z)/e: rows sum to zero, and I - gamma J is an
 * M-matrix. The preconditioner is the product over axes of the tridiagonal I - gamma J_a; in d = 1 it
 * is exact. Elimination runs over all lines of an axis at once, which a call of LAPACK per line cannot.
 * Diagonal dominance makes pivoting needless.
 *
 * Must reproduce: for F = -x the scheme keeps u = exp(-x^2/2) exactly: z = -(x_j^2 - x_i^2)/2 = ln(u_j/u_i). */
#include "grid/fitted_scheme.h"
#include "base/context.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum {
    PROBES = 64,      /* edges where a change of F in time is looked for */
    EDGE_BATCH = 2048 /* edges whose drift is asked for at once */
};

struct hb_scheme {
    hb_context *context;
    const hb_problem *problem;
    hb_mesh mesh;
    double drift_tau;    /* tau of forward and backward; NaN: none yet */
    double *forward[3];  // (edges of the axis) B(-z)/h^2: leaves the lower node
    double *backward[3]; // (edges of the axis) B(z)/h^2: leaves the upper node
    double *lower[3];    // (edges of the axis) dv_j'/dv_i at the v of the last rate
    double *upper[3];    // (edges of the axis) dv_i'/dv_j at the same v
    double *pivot[3];    // (size) inverse pivots of I - gamma J_axis
    double gamma;
    double *points;                      // (2 EDGE_BATCH, dim)
    double *drift;                       // (2 EDGE_BATCH, dim)
    double probe_points[2 * PROBES * 3]; // (2 PROBES, dim)
    double probe_drift[2 * PROBES * 3];  // (2 PROBES, dim)
    double probe_now[2 * PROBES * 3];    // (2 PROBES, dim)
    hb_workspace work;
};

/* ---- the mesh --------------------------------------------------------------------------------- */

void hb_mesh_set(hb_mesh *mesh, int dim, const int *cells, const double *low, const double *high)
{
    memset(mesh, 0, sizeof *mesh);
    mesh->dim = dim;
    mesh->size = 1;
    for (int a = 0; a < dim; a++) {
        mesh->nodes[a] = cells[a] + 1;
        mesh->low[a] = low[a];
        mesh->h[a] = (high[a] - low[a]) / cells[a];
        mesh->size *= (size_t)mesh->nodes[a];
    }
}

size_t hb_mesh_stride(const hb_mesh *mesh, int axis)
{
    size_t stride = 1;
    for (int a = axis + 1; a < mesh->dim; a++) stride *= (size_t)mesh->nodes[a];
    return stride;
}

void hb_mesh_point(const hb_mesh *mesh, size_t node, double *x)
{
    for (int a = mesh->dim - 1; a >= 0; a--) {
        const size_t n = (size_t)mesh->nodes[a];
        x[a] = mesh->low[a] + (double)(node % n) * mesh->h[a];
        node /= n;
    }
}

static double cell_weight(const hb_mesh *mesh, size_t node)
{
    double weight = 1;
    for (int a = mesh->dim - 1; a >= 0; a--) {
        const size_t n = (size_t)mesh->nodes[a], k = node % n;
        weight *= mesh->h[a] * (k == 0 || k == n - 1 ? 0.5 : 1);
        node /= n;
    }
    return weight;
}

double hb_mesh_log_mass(const hb_mesh *mesh, const double *v)
{
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < mesh->size; i++) top = v[i] > top ? v[i] : top;
    if (!isfinite(top)) return top;
    for (size_t i = 0; i < mesh->size; i++) sum += cell_weight(mesh, i) * exp(v[i] - top);
    return top + log(sum);
}

/* ---- lines: an axis cuts the nodes into outer x n x inner, and the edges into outer x (n-1) x inner */

typedef struct lines {
    size_t outer, n, inner;
} lines;

static lines lines_of(const hb_mesh *mesh, int axis)
{
    const size_t n = (size_t)mesh->nodes[axis], inner = hb_mesh_stride(mesh, axis);
    return (lines){.outer = mesh->size / (n * inner), .n = n, .inner = inner};
}

static size_t edges_of(const hb_mesh *mesh, int axis)
{
    const lines l = lines_of(mesh, axis);
    return l.outer * (l.n - 1) * l.inner;
}

/* The node at the lower end of an edge. */
static size_t lower_node(lines l, size_t edge)
{
    const size_t row = edge / l.inner;
    return (row / (l.n - 1) * l.n + row % (l.n - 1)) * l.inner + edge % l.inner;
}

/* ---- the coefficients ------------------------------------------------------------------------- */

/* z/(e^z - 1) */
static double bernoulli(double z)
{
    return z == 0 ? 1 : z / expm1(z);
}

/* The two Gauss points of an edge: x[2][dim]. */
static void gauss_points(const hb_mesh *mesh, int axis, size_t edge, double *x)
{
    static const double place[2] = {0.21132486540518711775, 0.78867513459481288225};
    for (int g = 0; g < 2; g++) {
        hb_mesh_point(mesh, lower_node(lines_of(mesh, axis), edge), x + g * mesh->dim);
        x[g * mesh->dim + axis] += place[g] * mesh->h[axis];
    }
}

static hb_status edge_coefficients(hb_scheme *s, int axis, double tau)
{
    const hb_mesh *mesh = &s->mesh;
    const size_t d = (size_t)mesh->dim, edges = edges_of(mesh, axis);
    const double h = mesh->h[axis];
    for (size_t first = 0; first < edges; first += EDGE_BATCH) {
        const size_t count = edges - first < EDGE_BATCH ? edges - first : EDGE_BATCH;
        for (size_t e = 0; e < count; e++)
            gauss_points(mesh, axis, first + e, s->points + 2 * d * e);
        HB_TRY(hb_problem_drift(s->context, s->problem, tau, 2 * count, s->points, s->drift, NULL,
                                NULL, NULL));
        for (size_t e = 0; e < count; e++) {
            const double *F = s->drift + 2 * d * e;
            const double z = 0.5 * h * (F[axis] + F[d + (size_t)axis]);
            s->backward[axis][first + e] = bernoulli(z) / (h * h);
            s->forward[axis][first + e] = bernoulli(-z) / (h * h);
        }
    }
    return HB_OK;
}

/* F is asked for on all edges only when it has changed at one of the probes since the last time. */
static hb_status update_drift(hb_scheme *s, double tau)
{
    if (tau == s->drift_tau) return HB_OK;
    const size_t bytes = 2 * PROBES * (size_t)s->mesh.dim * sizeof(double);
    HB_TRY(hb_problem_drift(s->context, s->problem, tau, 2 * PROBES, s->probe_points, s->probe_now,
                            NULL, NULL, NULL));
    if (!isnan(s->drift_tau) && memcmp(s->probe_now, s->probe_drift, bytes) == 0) return HB_OK;
    for (int a = 0; a < s->mesh.dim; a++) HB_TRY(edge_coefficients(s, a, tau));
    memcpy(s->probe_drift, s->probe_now, bytes);
    s->drift_tau = tau;
    return HB_OK;
}

/* ---- creation --------------------------------------------------------------------------------- */

static size_t scheme_need(const hb_mesh *mesh)
{
    size_t need = 0;
    for (int a = 0; a < mesh->dim; a++) {
        const size_t edge = hb_workspace_need(edges_of(mesh, a), sizeof(double));
        for (int k = 0; k < 4; k++) need = hb_workspace_add(need, edge);
        need = hb_workspace_add(need, hb_workspace_need(mesh->size, sizeof(double)));
    }
    const size_t batch = hb_workspace_need(2 * EDGE_BATCH * (size_t)mesh->dim, sizeof(double));
    return hb_workspace_add(need, 2 * batch);
}

double hb_scheme_bytes(const hb_mesh *mesh)
{
    return (double)scheme_need(mesh);
}

static void carve(hb_scheme *s)
{
    for (int a = 0; a < s->mesh.dim; a++) {
        const size_t edges = edges_of(&s->mesh, a);
        s->forward[a] = hb_workspace_take(&s->work, edges, sizeof(double));
        s->backward[a] = hb_workspace_take(&s->work, edges, sizeof(double));
        s->lower[a] = hb_workspace_take(&s->work, edges, sizeof(double));
        s->upper[a] = hb_workspace_take(&s->work, edges, sizeof(double));
        s->pivot[a] = hb_workspace_take(&s->work, s->mesh.size, sizeof(double));
    }
    const size_t batch = 2 * EDGE_BATCH * (size_t)s->mesh.dim;
    s->points = hb_workspace_take(&s->work, batch, sizeof(double));
    s->drift = hb_workspace_take(&s->work, batch, sizeof(double));
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
    s->mesh = *mesh;
    s->drift_tau = NAN;
    hb_status status = hb_workspace_create(context, scheme_need(mesh), &s->work);
    if (status != HB_OK) {
        hb_release(context, s);
        return status;
    }
    carve(s);
    /* Probes spread over the edges by the golden ratio, axes in turn. */
    for (int p = 0; p < PROBES; p++) {
        const int a = p % mesh->dim;
        const double part = fmod(0.6180339887498949 * (p + 1), 1);
        const size_t edge = (size_t)(part * (double)edges_of(mesh, a));
        gauss_points(mesh, a, edge, s->probe_points + 2 * mesh->dim * p);
    }
    *out = s;
    return HB_OK;
}

void hb_scheme_destroy(hb_scheme *s)
{
    if (!s) return;
    hb_context *context = s->context;
    hb_workspace_destroy(&s->work);
    hb_release(context, s);
}

int hb_scheme_dim(const hb_scheme *s)
{
    return s->mesh.dim;
}

/* ---- the rate --------------------------------------------------------------------------------- */

/* Adds the rates along one line (or, for inner > 1, one slab) of an axis, and keeps their derivatives. */
static void line_rate(hb_scheme *s, int axis, lines l, size_t o, const double *v, double *rate)
{
    for (size_t k = 0; k + 1 < l.n; k++) {
        const size_t i = (o * l.n + k) * l.inner, j = i + l.inner;
        const size_t f = (o * (l.n - 1) + k) * l.inner;
        const double wi = k == 0 ? 2 : 1, wj = k + 2 == l.n ? 2 : 1;
        for (size_t q = 0; q < l.inner; q++) {
            const double e = exp(v[j + q] - v[i + q]);
            const double out = wj * s->forward[axis][f + q] / e,
                         in = wi * s->backward[axis][f + q] * e;
            rate[i + q] += in - wi * s->forward[axis][f + q];
            rate[j + q] += out - wj * s->backward[axis][f + q];
            s->upper[axis][f + q] = in;
            s->lower[axis][f + q] = out;
        }
    }
}

hb_status hb_scheme_rate(hb_scheme *s, double tau, const double *v, double *rate, int *finite)
{
    HB_TRY(update_drift(s, tau));
    const size_t size = s->mesh.size;
    memset(rate, 0, size * sizeof *rate);
    for (int a = 0; a < s->mesh.dim; a++) {
        const lines l = lines_of(&s->mesh, a);
        for (size_t o = 0; o < l.outer; o++) line_rate(s, a, l, o, v, rate);
    }
    *finite = 1;
    for (size_t i = 0; i < size; i++) *finite &= isfinite(rate[i]) != 0;
    return HB_OK;
}

/* ---- the Jacobian and the preconditioner ------------------------------------------------------ */

/* Inverse pivots of the tridiagonal I - gamma J_axis: p_k = 1/(1 + gamma (upper_k + lower_{k-1})
 * - gamma^2 lower_{k-1} upper_{k-1} p_{k-1}), written without the cancelling products. */
static void line_pivots(hb_scheme *s, int axis, lines l, size_t o)
{
    const double gamma = s->gamma, *upper = s->upper[axis], *lower = s->lower[axis];
    double *pivot = s->pivot[axis] + o * l.n * l.inner;
    const size_t edges = o * (l.n - 1) * l.inner;
    for (size_t q = 0; q < l.inner; q++) pivot[q] = 1 / (1 + gamma * upper[edges + q]);
    for (size_t k = 1; k < l.n; k++) {
        const size_t above = edges + k * l.inner, below = above - l.inner;
        const double *before = pivot + (k - 1) * l.inner;
        const int last = k + 1 == l.n;
        for (size_t q = 0; q < l.inner; q++) {
            const double free = 1 + (last ? 0 : gamma * upper[above + q]);
            const double bound = gamma * lower[below + q];
            pivot[k * l.inner + q] =
                1 / (free + bound * (1 - gamma * upper[below + q] * before[q]));
        }
    }
}

void hb_scheme_factor(hb_scheme *s, double gamma)
{
    s->gamma = gamma;
    for (int a = 0; a < s->mesh.dim; a++) {
        const lines l = lines_of(&s->mesh, a);
        for (size_t o = 0; o < l.outer; o++) line_pivots(s, a, l, o);
    }
}

void hb_scheme_apply(const hb_scheme *s, const double *x, double *out)
{
    memset(out, 0, s->mesh.size * sizeof *out);
    for (int a = 0; a < s->mesh.dim; a++) {
        const lines l = lines_of(&s->mesh, a);
        const double *lower = s->lower[a], *upper = s->upper[a];
        for (size_t row = 0; row < l.outer * (l.n - 1); row++) {
            const size_t i = (row / (l.n - 1) * l.n + row % (l.n - 1)) * l.inner;
            const size_t f = row * l.inner;
            for (size_t q = 0; q < l.inner; q++) {
                const double rise = x[i + l.inner + q] - x[i + q];
                out[i + q] += upper[f + q] * rise;
                out[i + l.inner + q] -= lower[f + q] * rise;
            }
        }
    }
}

static void line_solve(const hb_scheme *s, int axis, lines l, size_t o, double *x)
{
    const double gamma = s->gamma, *pivot = s->pivot[axis] + o * l.n * l.inner;
    const double *upper = s->upper[axis] + o * (l.n - 1) * l.inner;
    const double *lower = s->lower[axis] + o * (l.n - 1) * l.inner;
    x += o * l.n * l.inner;
    for (size_t i = 0; i < l.inner; i++) x[i] *= pivot[i];
    for (size_t i = l.inner; i < l.n * l.inner; i++)
        x[i] = (x[i] + gamma * lower[i - l.inner] * x[i - l.inner]) * pivot[i];
    for (size_t i = (l.n - 1) * l.inner; i-- > 0;)
        x[i] += gamma * upper[i] * pivot[i] * x[i + l.inner];
}

void hb_scheme_precondition(const hb_scheme *s, const double *x, double *out)
{
    memcpy(out, x, s->mesh.size * sizeof *out);
    for (int a = 0; a < s->mesh.dim; a++) {
        const lines l = lines_of(&s->mesh, a);
        for (size_t o = 0; o < l.outer; o++) line_solve(s, a, l, o, out);
    }
}
