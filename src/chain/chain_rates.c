/* A scheme as a Markov chain on the nodes.
 *
 * The masses p_i of the cells follow dp_j/dtau = sum_i p_i q_ij - p_j sum_k q_jk, q_ij >= 0. The
 * fitted scheme (grid/fitted_scheme.c) has gains of u: from i to its neighbour j the mass goes at
 * q_ij = gain of u_j from u_i times w_j/w_i, w the widths of the cells. For a tensor see
 * tensor_chain.c.
 *
 * A number to reproduce: F = 0 has q = 1/h^2 in both directions of an edge within the mesh. */
#include "chain/chain_rates.h"
#include "base/context.h"
#include "grid/fitted_scheme.h"
#include "problem/noise.h"

#include <string.h>

enum { TENSOR_DIRECTIONS = 13 };

hb_status hb_chain_rates_direction(hb_chain_rates *rates, const hb_mesh *mesh, const int *offset,
                                   int *index)
{
    const int k = rates->count;
    int full[3] = {0};
    void *memory;
    memcpy(full, offset, (size_t)mesh->dim * sizeof *full);
    for (*index = 0; *index < k; (*index)++)
        if (!memcmp(rates->offset[*index], full, sizeof full)) return HB_OK;
    HB_CHECK(rates->context, k < HB_CHAIN_DIRECTIONS, HB_ERROR_NUMERICAL,
             "the noise is so uneven that the grid would need more than %d directions; give a "
             "long finite time",
             HB_CHAIN_DIRECTIONS);
    HB_TRY(hb_allocate(rates->context, 2 * mesh->size, sizeof(double), &memory));
    rates->up[k] = memset(memory, 0, 2 * mesh->size * sizeof(double));
    rates->down[k] = rates->up[k] + mesh->size;
    memcpy(rates->offset[k], full, sizeof full);
    rates->count++;
    return HB_OK;
}

static void fitted_rates_along(const hb_fitted *s, int axis, hb_chain_rates *rates)
{
    const hb_mesh *mesh = s->mesh;
    for (size_t i = 0; i < mesh->size; i++) {
        const int k = (int)hb_mesh_index(mesh, axis, i);
        if (k + 1 == mesh->nodes[axis]) continue;
        const double below = hb_mesh_cell(mesh, axis, k), above = hb_mesh_cell(mesh, axis, k + 1);
        rates->up[axis][i] = s->gain_down[axis][i] * above / below;
        rates->down[axis][i] = s->gain_up[axis][i] * below / above;
    }
}

static hb_status fitted_rates(const hb_problem *problem, const hb_mesh *mesh, int breaks,
                              hb_chain_rates *out)
{
    hb_fitted fitted;
    hb_status status = hb_fitted_create(out->context, problem, mesh, NULL, breaks, &fitted);
    if (status == HB_OK) status = hb_fitted_update(&fitted, 0);
    for (int a = 0; a < mesh->dim && status == HB_OK; a++) {
        int k, offset[3] = {0};
        offset[a] = 1;
        status = hb_chain_rates_direction(out, mesh, offset, &k);
        if (status == HB_OK) fitted_rates_along(&fitted, a, out);
    }
    hb_fitted_destroy(&fitted);
    return status;
}

hb_status hb_chain_rates_create(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                                int breaks, hb_chain_hints *hints, hb_chain_rates *out)
{
    *out = (hb_chain_rates){.context = context};
    const int scalar = hb_problem_noise_kind(problem) == HB_NOISE_SCALAR;
    const hb_status status = scalar ? fitted_rates(problem, mesh, breaks, out)
                                    : hb_tensor_chain_rates(context, problem, mesh, hints, out);
    if (status != HB_OK) hb_chain_rates_destroy(out);
    return status;
}

void hb_chain_rates_destroy(hb_chain_rates *rates)
{
    for (int k = 0; k < rates->count; k++) hb_release(rates->context, rates->up[k]);
    rates->count = 0;
}

double hb_chain_rates_bytes(const hb_mesh *mesh, int tensor)
{
    const int directions = tensor ? TENSOR_DIRECTIONS : mesh->dim;
    return 2.0 * directions * (double)mesh->size * (double)sizeof(double);
}
