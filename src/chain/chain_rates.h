/* chain/chain_rates.h: a scheme as a Markov chain: rates at which mass goes from node to node. */
#pragma once

#include "grid/fitted_scheme.h"

enum { HB_CHAIN_DIRECTIONS = 48 };

typedef struct hb_chain_rates {
    hb_context *context;
    int count; /* directions */
    /* in nodes along each axis; the first that is not 0 is above 0 */
    int offset[HB_CHAIN_DIRECTIONS][3];
    /* of the mass: from node i to i + offset at up[i], and back at down[i]; 0 where that is
     * outside */
    double *up[HB_CHAIN_DIRECTIONS], *down[HB_CHAIN_DIRECTIONS]; // (size)
} hb_chain_rates;

/* What is known of the density before, and what a tensor's chain had to change. */
typedef struct hb_chain_hints {
    const hb_mesh *mesh; /* of depth; NULL: nothing is known */
    const double *depth; // (size of that mesh) of ln u below its maximum
    int fine;            /* the finest mesh: its neighbours should have much the same noise */
    int uneven; /* out: the directions are not those of pairs of axes everywhere that matters */
    /* The least depth where the noise was raised, so that the directions follow it; inf:
     * nowhere. */
    double raised;
    double place[3]; /* where that is */
} hb_chain_hints;

/* The rates of a problem whose drift and noise do not change: along the axes for scalar noise
 * (grid/fitted_scheme.h; breaks: as there), along more directions for a tensor (tensor_chain.c),
 * which reads and writes hints. */
hb_status hb_chain_rates_create(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                                int breaks, hb_chain_hints *hints, hb_chain_rates *out);
hb_status hb_tensor_chain_rates(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                                hb_chain_hints *hints, hb_chain_rates *out);
void hb_chain_rates_destroy(hb_chain_rates *rates);
/* The index of a direction; a new one has arrays of 0. */
hb_status hb_chain_rates_direction(hb_chain_rates *rates, const hb_mesh *mesh, const int *offset,
                                   int *index);

/* Bytes of the rates along the axes, and along as many directions as a tensor mostly takes. */
double hb_chain_rates_bytes(const hb_mesh *mesh, int tensor);

/* ---- a tensor as a sum of squares of few short integer directions (selling.c) ---- */

enum { HB_SELLING_MOST = 9 };

/* M = sum_k weight[k] offset[k] offset[k]', weights above 0. */
typedef struct hb_selling {
    int count;
    int offset[HB_SELLING_MOST][3];
    double weight[HB_SELLING_MOST];
} hb_selling;

/* M[dim][dim] is symmetric and positive. 0: its directions are too long for integers of at most
 * 2^20. */
int hb_selling_reduce(int dim, const double *M, hb_selling *out);
/* The same along axes and diagonals of pairs of axes, with weights that vary smoothly with M
 * also where its entries change sign; part[dim][dim] in 0 .. 1 is the part of a pair's diagonals
 * that is there in any case. 0: M is too uneven for these. */
int hb_selling_pairs(int dim, const double *M, const double *part, hb_selling *out);
/* |M_ab| in parts of what part can be 1 for. */
double hb_selling_part(int dim, const double *M, int a, int b);
