/* The box of stationary_box.c is the hull of paths with more noise. Where the noise is a tensor
 * that grows outward these go far beyond what counts, and where it hardly reaches some direction a
 * strong drift there may leave parts of the mesh that nothing comes back from.
 *
 * On a mesh of few cells, which makes tails longer than they are, the null vector says where ln u
 * is less than KEPT below its maximum: the boundaries move there, and a cell farther out. That is
 * done again, on the smaller box, until it hardly moves. Where there is no null vector the
 * boundaries move half of the distance to the inner box.
 *
 * A number to reproduce: D = 1, f = -x, -y on [-40, 40]^2 is cut to about |x| = sqrt(2 KEPT) =
 * 10 and a cell. */
#include "base/context.h"
#include "base/memory.h"
#include "chain/null_vector.h"
#include "chain/stationary.h"

#include <math.h>

enum { ROUNDS = 5 };
static const int CELLS[] = {0, 64, 16};   /* by dimension */
static const double KEPT[] = {0, 50, 30}; /* of ln u, by dimension */
static const double STEADY = 0.9;         /* of a span, that is not worth another round */
static const double MARGIN = 0.5;         /* beyond a point, in widths */

typedef struct trimming {
    hb_context *context;
    const hb_problem *problem;
    int dim;
    size_t n_at;
    const double *at;
    hb_grid_box *box;
    double *v;
} trimming;

static hb_status trim_find_vector(trimming *t, hb_mesh *mesh)
{
    int cells[3];
    double core[3];
    hb_chain_rates rates;
    hb_chain_hints hints = {.raised = INFINITY};
    for (int a = 0; a < t->dim; a++) {
        cells[a] = CELLS[t->dim - 1];
        core[a] = 0.5 * (t->box->inner_low[a] + t->box->inner_high[a]);
    }
    hb_mesh_set(mesh, t->dim, cells, t->box->low, t->box->high);
    HB_TRY(hb_chain_rates_create(t->context, t->problem, mesh, 0, &hints, &rates));
    const hb_status status = hb_null_vector(mesh, &rates, core, t->v, NULL);
    hb_chain_rates_destroy(&rates);
    return status;
}

/* The hull of the nodes that are not too deep, and a cell more. */
static void trim_find_hull(const trimming *t, const hb_mesh *mesh, double *low, double *high)
{
    const double top = hb_mesh_top(mesh, t->v);
    for (int a = 0; a < t->dim; a++) {
        low[a] = INFINITY;
        high[a] = -INFINITY;
    }
    for (size_t i = 0; i < mesh->size; i++) {
        double x[3];
        if (!(t->v[i] > top - KEPT[t->dim - 1])) continue;
        hb_mesh_point(mesh, i, x);
        for (int a = 0; a < t->dim; a++) {
            low[a] = fmin(low[a], x[a] - mesh->h[a]);
            high[a] = fmax(high[a], x[a] + mesh->h[a]);
        }
    }
}

/* The boundaries move to the hull, but not outward and not beyond points; *least: the smallest part
 * of a span that is left. */
static void trim_move(const trimming *t, const double *low, const double *high, double *least)
{
    const hb_grid_box before = *t->box;
    *least = 1;
    for (int a = 0; a < t->dim; a++) {
        double from = fmin(low[a], before.inner_low[a]), to = fmax(high[a], before.inner_high[a]);
        for (size_t i = 0; i < t->n_at; i++) {
            const double x = t->at[i * (size_t)t->dim + (size_t)a];
            if (!(x >= before.low[a] && x <= before.high[a])) continue;
            from = fmin(from, x - MARGIN * before.width[a]);
            to = fmax(to, x + MARGIN * before.width[a]);
        }
        t->box->low[a] = fmax(from, before.low[a]);
        t->box->high[a] = fmin(to, before.high[a]);
        *least =
            fmin(*least, (t->box->high[a] - t->box->low[a]) / (before.high[a] - before.low[a]));
    }
}

static hb_status trim_run(trimming *t)
{
    double least = 0;
    for (int round = 0; round < ROUNDS && least < STEADY; round++) {
        hb_mesh mesh;
        double low[3], high[3];
        const hb_status status = trim_find_vector(t, &mesh);
        if (status != HB_OK && status != HB_ERROR_NUMERICAL) return status;
        for (int a = 0; a < t->dim; a++) {
            low[a] = 0.5 * (t->box->low[a] + t->box->inner_low[a]);
            high[a] = 0.5 * (t->box->high[a] + t->box->inner_high[a]);
        }
        if (status == HB_OK) trim_find_hull(t, &mesh, low, high);
        trim_move(t, low, high, &least);
    }
    return HB_OK;
}

hb_status hb_chain_trim(hb_context *context, const hb_problem *problem, size_t n_at,
                        const double *at, hb_grid_box *box)
{
    trimming t = {.context = context,
                  .problem = problem,
                  .dim = hb_problem_dim(problem),
                  .n_at = n_at,
                  .at = at,
                  .box = box};
    if (t.dim == 1) return HB_OK;
    const double nodes = CELLS[t.dim - 1] + 1;
    HB_TRY(HB_NEW(context, t.v, (size_t)pow(nodes, t.dim)));
    const hb_status status = trim_run(&t);
    hb_release(context, t.v);
    return status;
}
