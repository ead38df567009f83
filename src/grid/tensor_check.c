/* Is the noise smooth where the mass is?
 *
 * The scheme needs div D as a function. Over a cell with sides h_b, for each row a of D,
 *     r = sum_b (D_ab on the upper - D_ab on the lower face)/h_b - div D_a,   means over corners,
 * is of order h^2 when D is smooth; h r is then of order h^3, of order h at a kink, and the size of
 * the jump where D jumps, since no derivative shows the jump. The largest h r/max D of all cells
 * with mass on the finest mesh is compared with that on the coarsest, four times as wide: 1/64, 1/4
 * and 1.
 *
 * A dip narrower than all cells shows in none of these numbers. So interval arithmetic has to
 * prove, in each coarse cell with mass or its halves down to 2^-DEPTH of it, that G leaves the hull
 * of its values at the nodes of the finest mesh by no more than SLACK of its size; where it cannot,
 * the mesh does not resolve the noise.
 *
 * A number to reproduce: 1 + 0.3 sign(x) has h r of the size of the jump of D on all meshes. */
#include "base/context.h"
#include "base/memory.h"
#include "grid/grid_kept.h"
#include "problem/noise.h"

#include <math.h>

enum { PLACES = 5, DEPTH = 12 };

static const double MASS_DEPTH = 25;
static const double SLACK = 0.1;                          /* of the largest |G| in a cell */
static const double JUMPS = 0.4, KINKS = 0.12;            /* ratios that tell */
static const double LEAST_JUMP = 1e-3, LEAST_KINK = 1e-4; /* of h r that matter */

typedef struct noise_check {
    hb_grid *grid;
    const hb_problem *problem;
    const double *v; // (mesh[2].size)
    double top;
    double *D, *divergence; // (size, d, d), (size, d) of the mesh at hand
} noise_check;

/* Whether the cell above a node of mesh[m] is there and has mass. */
static int has_mass(const noise_check *c, int m, size_t node)
{
    const hb_mesh *mesh = &c->grid->mesh[m], *coarse = &c->grid->mesh[2];
    size_t near = 0;
    for (int a = mesh->dim - 1; a >= 0; a--) {
        const size_t n = (size_t)mesh->nodes[a], k = node % n;
        if (k + 1 == n) return 0;
        near += (k >> (2 - m)) * hb_mesh_stride(coarse, a);
        node /= n;
    }
    return c->v[near] > c->top - MASS_DEPTH;
}

/* The largest |h r| over the rows of D in the cell above a node. */
static double cell_rest(const noise_check *c, const hb_mesh *mesh, size_t node)
{
    const int dim = mesh->dim, corners = 1 << dim;
    const size_t d = (size_t)dim;
    double most = 0, least = INFINITY;
    for (int a = 0; a < dim; a++) least = fmin(least, mesh->h[a]);
    for (size_t a = 0; a < d; a++) {
        double rest = 0;
        for (int corner = 0; corner < corners; corner++) {
            size_t i = node;
            for (int b = 0; b < dim; b++)
                if (corner >> b & 1) i += hb_mesh_stride(mesh, b);
            rest -= c->divergence[i * d + a] / corners;
            for (size_t b = 0; b < d; b++)
                rest +=
                    (corner >> b & 1 ? 2 : -2) * c->D[(i * d + a) * d + b] / (corners * mesh->h[b]);
        }
        most = fmax(most, least * fabs(rest));
    }
    return most;
}

/* The largest h r of a mesh relative to the largest D, both where there is mass. */
static hb_status mesh_rest(noise_check *c, int m, double t, double *out)
{
    const hb_mesh *mesh = &c->grid->mesh[m];
    const size_t d = (size_t)mesh->dim;
    double *x, largest = 0, most = 0;
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(c->grid->context, &work, HB_ARRAY(x, mesh->size * d),
                        HB_ARRAY(c->D, mesh->size * d * d),
                        HB_ARRAY(c->divergence, mesh->size * d)));
    for (size_t i = 0; i < mesh->size; i++) hb_mesh_point(mesh, i, x + i * d);
    const hb_status status =
        hb_problem_diffusion(c->grid->context, c->problem, mesh->size, x, t, c->D, c->divergence);
    for (size_t i = 0; i < mesh->size && status == HB_OK; i++) {
        if (!has_mass(c, m, i)) continue;
        most = fmax(most, cell_rest(c, mesh, i));
        for (size_t a = 0; a < d; a++) largest = fmax(largest, c->D[(i * d + a) * d + a]);
    }
    *out = largest > 0 ? most / largest : 0;
    hb_workspace_destroy(&work);
    return status;
}

/* ---- narrow features ---- */

typedef struct hull_check {
    const hb_problem *problem;
    double t;
    int dim;
    size_t entries;                   /* of G */
    hb_interval *hull, *range, *work; // (entries), (entries), (of the tape)
} hull_check;

static int leaves_hull(const hull_check *c)
{
    for (size_t k = 0; k < c->entries; k++) {
        const hb_interval *h = c->hull + k, *r = c->range + k;
        const double slack = SLACK * fmax(fabs(h->low), fabs(h->high)) + 1e-300;
        if (!(r->low >= h->low - slack && r->high <= h->high + slack)) return 1;
    }
    return 0;
}

/* 1 when it is not proved that G stays near its values at nodes. */
static int hides_something(hull_check *c, const hb_interval *box, int depth)
{
    hb_problem_noise_ranges(c->problem, box, c->t, c->work, c->range);
    if (!leaves_hull(c)) return 0;
    if (depth == 0) return 1;
    hb_interval part[2][3];
    for (int a = 0; a < c->dim; a++) part[0][a] = part[1][a] = box[a];
    const int axis = depth % c->dim;
    part[0][axis].high = part[1][axis].low = 0.5 * (box[axis].low + box[axis].high);
    return hides_something(c, part[0], depth - 1) || hides_something(c, part[1], depth - 1);
}

/* The hull of G at the nodes of the finest mesh in the box; values: (PLACES^d, entries). */
static hb_status find_hull(hb_context *context, hull_check *c, const hb_interval *box, double *x,
                           double *values)
{
    const size_t d = (size_t)c->dim;
    size_t n = 1;
    for (size_t a = 0; a < d; a++) n *= PLACES;
    for (size_t p = 0; p < n; p++)
        for (size_t a = 0, rest = p; a < d; a++, rest /= PLACES)
            x[p * d + a] =
                box[a].low + (box[a].high - box[a].low) * (double)(rest % PLACES) / (PLACES - 1);
    HB_TRY(hb_problem_noise_factor(context, c->problem, n, x, c->t, values));
    for (size_t k = 0; k < c->entries; k++) {
        c->hull[k] = (hb_interval){INFINITY, -INFINITY};
        for (size_t p = 0; p < n; p++) {
            c->hull[k].low = fmin(c->hull[k].low, values[p * c->entries + k]);
            c->hull[k].high = fmax(c->hull[k].high, values[p * c->entries + k]);
        }
    }
    return HB_OK;
}

static hb_status check_hulls(const noise_check *n, double t, int *hidden)
{
    const hb_mesh *mesh = &n->grid->mesh[2];
    const size_t d = (size_t)mesh->dim,
                 tape = hb_problem_noise_ranges(n->problem, NULL, t, NULL, NULL);
    hull_check c = {.problem = n->problem, .t = t, .dim = mesh->dim};
    double *x, *values;
    hb_workspace work;
    hb_status status = HB_OK;
    if (tape == 0) return HB_OK;
    c.entries = d * (size_t)hb_problem_noise_columns(n->problem);
    HB_TRY(HB_WORKSPACE(n->grid->context, &work, HB_ARRAY(x, 125 * d),
                        HB_ARRAY(values, 125 * c.entries), HB_ARRAY(c.hull, c.entries),
                        HB_ARRAY(c.range, c.entries), HB_ARRAY(c.work, tape)));
    for (size_t i = 0; i < mesh->size && status == HB_OK && !*hidden; i++) {
        hb_interval box[3];
        if (!has_mass(n, 2, i)) continue;
        for (int a = mesh->dim - 1; a >= 0; a--) {
            const int k = (int)hb_mesh_index(mesh, a, i);
            box[a] =
                (hb_interval){hb_mesh_coordinate(mesh, a, k), hb_mesh_coordinate(mesh, a, k + 1)};
        }
        status = find_hull(n->grid->context, &c, box, x, values);
        if (status == HB_OK) *hidden = hides_something(&c, box, DEPTH);
    }
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_tensor_check_noise(hb_grid *grid, const hb_problem *problem, const double *v)
{
    noise_check c = {.grid = grid, .problem = problem, .v = v};
    const int times = hb_problem_noise_is_constant(problem) ? 1 : 3;
    if (!grid->tensor || hb_problem_noise_kind(problem) != HB_NOISE_FIELD) return HB_OK;
    c.top = hb_mesh_top(&grid->mesh[2], v);
    for (int k = 0; k < times; k++)
        HB_TRY(check_hulls(&c, grid->info.tau * k / 2, &grid->info.unresolved));
    for (int a = 0; a < grid->mesh[0].dim; a++)
        if (grid->mesh[0].axis[a].pieces > 1) return HB_OK; /* uneven cells: other ratios */
    for (int k = 0; k < times; k++) {
        const double t = grid->info.tau * k / 2;
        double fine, coarse;
        HB_TRY(mesh_rest(&c, 0, t, &fine));
        HB_TRY(mesh_rest(&c, 2, t, &coarse));
        if (fine > LEAST_JUMP && fine > JUMPS * coarse) grid->info.unresolved = 1;
        if (fine > LEAST_KINK && fine > KINKS * coarse)
            grid->noise_kinks = grid->flaws.kinks = grid->info.breaks_between = 1;
    }
    return HB_OK;
}
