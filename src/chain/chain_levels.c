/* The stationary distribution of a Markov chain on a mesh, by aggregation.
 *
 * p_j sum_k q_jk = sum_i p_i q_ij. Sweeps over the nodes, p_j = sum_i p_i q_ij/sum_k q_jk with what
 * is there already (Gauss and Seidel), take away what changes from node to node. What is smooth is
 * left to a chain of blocks I of two nodes along each axis, Q_IJ = sum p_i q_ij/P_I over i in I and
 * j in J, P_I = sum p_i, which has the distribution of the blocks when p has that of the nodes: it
 * is solved likewise, from P, and p_i is multiplied by the change of its block. The smallest chain
 * is solved by elimination (null_vector.c). All numbers stay positive (G. Horton, S. T.
 * Leutenegger, ACM SIGMETRICS 22, 1994).
 *
 * Must reproduce: the null vector by elimination, to TOLERANCE. */
#include "base/context.h"
#include "base/memory.h"
#include "chain/null_vector.h"

#include <math.h>
#include <string.h>

enum { MOST_LEVELS = 10, SMALLEST = 2500, SWEEPS = 2, VISITS = 2, MOST_CYCLES = 60 };

static const double TOLERANCE = 1e-7; /* of ln u, where cycles end */
static const double MOST_LEFT = 1e-3;
static const double LEAST = 1e-290;  /* of the largest p: none is 0 */
static const double CORE_DEPTH = 14; /* of ln u below its maximum, where changes count */

typedef struct level {
    hb_mesh mesh; /* of blocks: numbered, without places */
    hb_chain_rates rates;
    const hb_chain_rates *chain;
    double *p, *out, *before; // (size)
    hb_workspace work;
} level;

typedef struct levels {
    hb_context *context;
    level at[MOST_LEVELS];
    int count;
} levels;

static long level_step(const hb_mesh *mesh, const int *offset)
{
    long step = 0;
    for (int a = 0; a < mesh->dim; a++) step += offset[a] * (long)hb_mesh_stride(mesh, a);
    return step;
}

static void level_indices(const hb_mesh *mesh, size_t node, int *k)
{
    for (int a = mesh->dim - 1; a >= 0; a--) {
        k[a] = (int)(node % (size_t)mesh->nodes[a]);
        node /= (size_t)mesh->nodes[a];
    }
}

static double level_cell(const hb_mesh *mesh, size_t i)
{
    int k[3];
    double cell = 1;
    level_indices(mesh, i, k);
    for (int a = 0; a < mesh->dim; a++) cell *= hb_mesh_cell(mesh, a, k[a]);
    return cell;
}

static size_t level_block(const hb_mesh *fine, const hb_mesh *blocks, size_t node)
{
    int k[3];
    size_t block = 0;
    level_indices(fine, node, k);
    for (int a = 0; a < fine->dim; a++) block += (size_t)(k[a] / 2) * hb_mesh_stride(blocks, a);
    return block;
}

/* out[j] = sum_k q_jk */
static void level_find_out(level *l)
{
    memset(l->out, 0, l->mesh.size * sizeof(double));
    for (int k = 0; k < l->chain->count; k++) {
        const long step = level_step(&l->mesh, l->chain->offset[k]);
        const double *up = l->chain->up[k], *down = l->chain->down[k];
        for (size_t i = 0; i < l->mesh.size; i++) {
            if (!(up[i] + down[i] > 0)) continue;
            l->out[i] += up[i];
            l->out[i + (size_t)step] += down[i];
        }
    }
}

static void level_update_node(level *l, const long *steps, size_t i)
{
    double sum = 0;
    for (int k = 0; k < l->chain->count; k++) {
        const size_t size = l->mesh.size, above = i + (size_t)steps[k],
                     below = i - (size_t)steps[k];
        const double down = l->chain->down[k][i];
        if (down > 0) sum += l->p[above] * down;
        if (below < size && l->chain->up[k][below] > 0) sum += l->p[below] * l->chain->up[k][below];
    }
    l->p[i] = fmax(sum / l->out[i], LEAST);
}

/* Upward and downward in turn. */
static void level_smooth(level *l)
{
    long steps[HB_CHAIN_DIRECTIONS];
    for (int k = 0; k < l->chain->count; k++) steps[k] = level_step(&l->mesh, l->chain->offset[k]);
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (size_t i = 0; i < l->mesh.size; i++)
            level_update_node(l, steps, sweep % 2 ? l->mesh.size - 1 - i : i);
}

static void level_normalise(level *l)
{
    double most = 0;
    for (size_t i = 0; i < l->mesh.size; i++) most = fmax(most, l->p[i]);
    for (size_t i = 0; i < l->mesh.size; i++) l->p[i] = fmax(l->p[i] / most, LEAST);
}

/* ---- blocks ---- */

/* Adds the flows of one fine direction to those of blocks; of an edge from node i. */
static hb_status level_add_edge(const level *fine, level *blocks, int direction, size_t i)
{
    const double up = fine->chain->up[direction][i], down = fine->chain->down[direction][i];
    const size_t j = i + (size_t)level_step(&fine->mesh, fine->chain->offset[direction]);
    int from[3], to[3], offset[3] = {0}, sign = 0, k;
    if (!(up + down > 0)) return HB_OK;
    level_indices(&fine->mesh, i, from);
    level_indices(&fine->mesh, j, to);
    for (int a = 0; a < fine->mesh.dim; a++) {
        offset[a] = to[a] / 2 - from[a] / 2;
        if (!sign) sign = offset[a];
    }
    if (!sign) return HB_OK; /* within a block */
    for (int a = 0; a < 3; a++) offset[a] = sign > 0 ? offset[a] : -offset[a];
    HB_TRY(hb_chain_rates_direction(&blocks->rates, &blocks->mesh, offset, &k));
    const size_t I = level_block(&fine->mesh, &blocks->mesh, i);
    const size_t J = level_block(&fine->mesh, &blocks->mesh, j), lower = sign > 0 ? I : J;
    const double forth = fine->p[i] * up / blocks->p[I], back = fine->p[j] * down / blocks->p[J];
    blocks->rates.up[k][lower] += sign > 0 ? forth : back;
    blocks->rates.down[k][lower] += sign > 0 ? back : forth;
    return HB_OK;
}

static hb_status level_make_blocks(const level *fine, level *blocks)
{
    const size_t size = blocks->mesh.size;
    memset(blocks->p, 0, size * sizeof(double));
    for (size_t i = 0; i < fine->mesh.size; i++)
        blocks->p[level_block(&fine->mesh, &blocks->mesh, i)] += fine->p[i];
    for (int k = 0; k < blocks->rates.count; k++)
        memset(blocks->rates.up[k], 0, 2 * size * sizeof(double));
    for (int k = 0; k < fine->chain->count; k++)
        for (size_t i = 0; i < fine->mesh.size; i++) HB_TRY(level_add_edge(fine, blocks, k, i));
    memcpy(blocks->before, blocks->p, size * sizeof(double));
    return HB_OK;
}

/* ---- cycles ---- */

static hb_status level_eliminate(level *l)
{
    double core[3];
    size_t top = 0;
    for (size_t i = 1; i < l->mesh.size; i++) top = l->p[i] > l->p[top] ? i : top;
    hb_mesh_point(&l->mesh, top, core);
    HB_TRY(hb_null_vector(&l->mesh, l->chain, core, l->out, NULL));
    for (size_t i = 0; i < l->mesh.size; i++) l->p[i] = exp(l->out[i]) * level_cell(&l->mesh, i);
    level_normalise(l);
    return HB_OK;
}

/* p of level n, by itself and the coarser ones. */
static hb_status levels_cycle(levels *s, int n)
{
    level *l = &s->at[n], *blocks = l + 1;
    if (n + 1 == s->count) return level_eliminate(l);
    level_find_out(l);
    for (int visit = 0; visit < (n > 0 ? VISITS : 1); visit++) {
        level_smooth(l);
        HB_TRY(level_make_blocks(l, blocks));
        HB_TRY(levels_cycle(s, n + 1));
        for (size_t i = 0; i < l->mesh.size; i++) {
            const size_t I = level_block(&l->mesh, &blocks->mesh, i);
            l->p[i] *= blocks->p[I] / blocks->before[I];
        }
        level_smooth(l);
        level_normalise(l);
    }
    return HB_OK;
}

/* The largest change of ln p since before[] where there is mass. */
static double level_change(const level *l, const double *before)
{
    const double least = exp(-CORE_DEPTH);
    double most = 0;
    for (size_t i = 0; i < l->mesh.size; i++)
        if (l->p[i] > least) most = fmax(most, fabs(log(l->p[i] / before[i])));
    return most;
}

static hb_status levels_iterate(levels *s, double *left)
{
    level *l = &s->at[0];
    double last = INFINITY, ratio = 1;
    *left = INFINITY;
    for (int k = 0; k<MOST_CYCLES && * left> TOLERANCE; k++) {
        memcpy(l->before, l->p, l->mesh.size * sizeof(double));
        HB_TRY(hb_progress(s->context, "stationary grid", k, MOST_CYCLES));
        HB_TRY(levels_cycle(s, 0));
        const double now = level_change(l, l->before);
        ratio = k > 0 ? fmax(0.5 * ratio, fmin(now / last, 1)) : 1;
        *left = ratio < 1 ? now * ratio / (1 - ratio) : INFINITY;
        last = now;
    }
    HB_CHECK(s->context, *left <= MOST_LEFT, HB_ERROR_NUMERICAL,
             "the grid does not come to rest: ln u still changes by %.2g; give a long finite time",
             last);
    return HB_OK;
}

/* ---- the whole ---- */

static hb_status levels_add(levels *s, const hb_mesh *mesh, const hb_chain_rates *chain)
{
    level *l = &s->at[s->count++];
    l->mesh = *mesh;
    l->rates.context = s->context;
    l->chain = chain ? chain : &l->rates;
    return HB_WORKSPACE(s->context, &l->work, HB_ARRAY(l->p, mesh->size),
                        HB_ARRAY(l->out, mesh->size), HB_ARRAY(l->before, mesh->size));
}

static hb_status levels_add_all(levels *s, const hb_mesh *mesh, const hb_chain_rates *rates)
{
    HB_TRY(levels_add(s, mesh, rates));
    while (s->at[s->count - 1].mesh.size > SMALLEST && s->count < MOST_LEVELS) {
        hb_mesh blocks;
        int cells[3];
        double low[3], high[3];
        for (int a = 0; a < mesh->dim; a++) {
            cells[a] = (s->at[s->count - 1].mesh.nodes[a] + 1) / 2 - 1;
            low[a] = 0;
            high[a] = cells[a];
        }
        hb_mesh_set(&blocks, mesh->dim, cells, low, high);
        HB_TRY(levels_add(s, &blocks, NULL));
    }
    return HB_OK;
}

hb_status hb_chain_levels(const hb_mesh *mesh, const hb_chain_rates *rates, double *v, double *left)
{
    levels s = {.context = rates->context};
    const double top = hb_mesh_top(mesh, v);
    hb_status status = levels_add_all(&s, mesh, rates);
    for (size_t i = 0; i < mesh->size && status == HB_OK; i++)
        s.at[0].p[i] = exp(v[i] - top) * level_cell(mesh, i);
    if (status == HB_OK) {
        level_normalise(&s.at[0]);
        status = levels_iterate(&s, left);
    }
    if (status == HB_OK) {
        for (size_t i = 0; i < mesh->size; i++) v[i] = log(s.at[0].p[i] / level_cell(mesh, i));
        const double mass = hb_mesh_log_mass(mesh, v);
        for (size_t i = 0; i < mesh->size; i++) v[i] -= mass;
    }
    for (int k = 0; k < s.count; k++) {
        hb_workspace_destroy(&s.at[k].work);
        hb_chain_rates_destroy(&s.at[k].rates);
    }
    return status;
}
