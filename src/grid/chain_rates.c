/* A scheme as a Markov chain on the nodes.
 *
 * The masses p_i of the cells follow dp_j/dtau = sum_i p_i q_ij - p_j sum_k q_jk, q_ij >= 0. The fitted scheme
 * (fitted_scheme.c) has gains of u: from i to its neighbour j the mass goes at q_ij = gain of u_j from u_i times w_j/w_i,
 * w the widths of the cells. Where the noise is a tensor see tensor_chain.c.
 *
 * A number to reproduce: F = 0 has q = 1/h^2 in both directions of an edge within the mesh. */
#include "grid/chain_rates.h"
#include "base/context.h"
#include "grid/scheme_body.h"

#include <string.h>

enum { TENSOR_DIRECTIONS = 13 };

hb_status hb_chain_rates_add(hb_chain_rates *rates, const hb_mesh *mesh, const int *offset)
{
    const int k = rates->count;
    void *memory;
    HB_CHECK(rates->context, k < HB_CHAIN_DIRECTIONS, HB_ERROR_NUMERICAL,
             "the noise is so uneven that the grid would need more than %d directions; give a "
             "long finite time",
             HB_CHAIN_DIRECTIONS);
    HB_TRY(hb_allocate(rates->context, 2 * mesh->size, sizeof(double), &memory));
    rates->up[k] = memset(memory, 0, 2 * mesh->size * sizeof(double));
    rates->down[k] = rates->up[k] + mesh->size;
    for (int a = 0; a < 3; a++) rates->offset[k][a] = a < mesh->dim ? offset[a] : 0;
    rates->count++;
    return HB_OK;
}

static void read_strand(const hb_scheme *s, int axis, const hb_strand *strand,
                        hb_chain_rates *rates)
{
    const hb_mesh *mesh = hb_scheme_mesh(s);
    for (size_t k = 0; k + 1 < strand->n; k++) {
        const double below = hb_mesh_cell(mesh, axis, (int)k),
                     above = hb_mesh_cell(mesh, axis, (int)k + 1);
        for (size_t r = 0; r < strand->width; r++) {
            const size_t i = strand->node + k * strand->step + r * strand->apart;
            rates->up[axis][i] = s->gain_down[axis][i] * above / below;
            rates->down[axis][i] = s->gain_up[axis][i] * below / above;
        }
    }
}

/* One rate of the scheme is asked for, at v = 0, so that it has its coefficients. */
static hb_status fitted_rates(hb_scheme *s, hb_chain_rates *out)
{
    const hb_mesh *mesh = hb_scheme_mesh(s);
    int finite;
    for (int a = 0; a < mesh->dim; a++) {
        int offset[3] = {0};
        offset[a] = 1;
        HB_TRY(hb_chain_rates_add(out, mesh, offset));
    }
    HB_TRY(hb_scheme_rate(s, 0, out->up[0], out->down[0], &finite));
    memset(out->down[0], 0, mesh->size * sizeof(double));
    for (int a = 0; a < mesh->dim; a++)
        for (size_t i = 0; i < hb_mesh_strands(mesh, a); i++) {
            const hb_strand strand = hb_mesh_strand(mesh, a, i);
            read_strand(s, a, &strand, out);
        }
    return HB_OK;
}

hb_status hb_chain_rates_create(hb_context *context, hb_scheme *scheme, hb_chain_hints *hints,
                                hb_chain_rates *out)
{
    memset(out, 0, sizeof *out);
    out->context = context;
    const hb_status status =
        scheme->tensor
            ? hb_tensor_chain_rates(context, scheme->problem, hb_scheme_mesh(scheme), hints, out)
            : fitted_rates(scheme, out);
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
