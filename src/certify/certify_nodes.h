/* certify/certify_nodes.h: random nodes of heat balls behind anchors, and the source at them. */
#ifndef HB_CERTIFY_NODES_H
#define HB_CERTIFY_NODES_H

#include "certify/certify_run.h"

#include <heatball/ball.h>

/* Antithetic pairs of nodes for a block of anchors: x0 +- rho z at tau0 - rho^2 sigma. */
typedef struct hb_certify_nodes {
    size_t anchors, pairs; /* of a block */
    double *z;             // (anchors, pairs, dim): of the unit ball
    double *sigma;         // (anchors, pairs)
    double *rho;           // (anchors, pairs)
    double *x, *score, *F; // (2, anchors, pairs, dim): first all +, then all -
    double *tau;           // (2, anchors, pairs)
    double *divergence;    // (2, anchors, pairs): of F
    hb_workspace work;
} hb_certify_nodes;

hb_status hb_certify_nodes_create(const hb_certify_run *run, size_t anchors, size_t pairs,
                                  hb_certify_nodes *out);
void hb_certify_nodes_destroy(hb_certify_nodes *nodes);
/* Nodes of a measure behind the anchors first .. first+count-1, x0 (count, dim), at tau0, with rho = radius U^power;
 * `use` chooses independent ones, 0 .. 7. */
hb_status hb_certify_nodes_place(const hb_certify_run *run, hb_certify_nodes *nodes,
                                 hb_measure measure, size_t level, int use, size_t first,
                                 size_t count, const double *x0, double tau0, double radius,
                                 double power);
/* The score at all of them. */
hb_status hb_certify_nodes_score(const hb_certify_run *run, hb_certify_nodes *nodes, size_t count);
/* F and div F of the process at the nodes. */
hb_status hb_certify_nodes_drift(const hb_certify_run *run, hb_certify_nodes *nodes, size_t count);
/* r of the run's share at tau; 0: there is no time behind it. */
double hb_certify_radius(const hb_certify_run *run, double tau);

#endif
