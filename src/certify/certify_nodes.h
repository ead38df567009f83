/* certify/certify_nodes.h: random nodes of heat balls behind the rows at a tau, and the source at
 * them. */
#pragma once

#include "certify/certify_run.h"

#include <heatball/ball.h>

/* Antithetic pairs of nodes for a block of anchors: x0 +- rho z at tau0 - rho^2 sigma. */
typedef struct hb_certify_nodes {
    const hb_certify_run *run;
    const hb_certify_rows *rows;
    double radius;
    hb_ball_constants constants;
    size_t anchors, pairs;    /* of a block */
    double *z, *sigma, *rho;  // (anchors, pairs, dim) of the unit ball, (anchors, pairs) each
    double *x, *score, *F;    // (2, anchors, pairs, dim): first all +, then all -
    double *tau, *divergence; // (2, anchors, pairs): the times, and div F
    hb_workspace work;
} hb_certify_nodes;

hb_status hb_certify_nodes_create(const hb_certify_run *run, const hb_certify_rows *rows,
                                  hb_certify_nodes *out);
/* Nodes of a measure behind the rows first .. first+count-1, with rho = radius U^power; `use`
 * chooses independent ones, 0 .. 7. */
hb_status hb_certify_nodes_place(hb_certify_nodes *nodes, hb_measure measure, int use, double power,
                                 size_t first, size_t count);
/* The score at all of them; with drift, F and div F of the process too. */
hb_status hb_certify_nodes_evaluate(hb_certify_nodes *nodes, int drift, size_t count);
/* The radius at tau for the fraction of the run; 0: there is no time behind it. */
double hb_certify_radius(const hb_certify_run *run, double tau);
