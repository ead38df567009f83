/* particle/particle_kernel.h: the kernel of one point, and the sums over particles. */
#pragma once

#include "particle/cell_list.h"
#include "particle/particle_rule.h"

#include <heatball/problem.h>

/* The drift at a point, to first order. */
typedef struct hb_particle_anchor {
    size_t dim;
    const double *x0;         // (d)
    double *b, *A, *grad_div; // (d), (d, d), (d): F, its Jacobian, grad div F, at (x0, tau0)
    double *transfer[2];      // (d, d), of the ball only; of the rule and of the coarser one
} hb_particle_anchor;

typedef struct hb_particle_node {
    int is_main;
    double weight[2]; /* in the rule, and in the coarser one */
    double lag, log_norm, reach2;
    double rounding; /* of C, relative, and of what follows from it: that of |L^-1| |C| |L^-1|' */
    double growth, th, span, R2; /* of the ball: e^(as), its time, its span, R^2 */
    double *centre, *half;       // (d), (d)
    double *whiten, *lower;      // (d, d) each: L^-1, L^-1 e^(-As); fixed lag only
} hb_particle_node;

typedef struct hb_particle_kernel {
    hb_particle_anchor anchor;
    int lift, n_main, n,
        corrected;  /* corrected = 0: F is linear, nodes beyond n_main have no part */
    int untimely;   /* 1: its rule in time is not fine enough, so its error is not known */
    double rest;    /* with from_start: how far the drift is from linear within its width */
    int from_start; /* the main node is averaged over draws around it (particle_start.c) */
    double at_zero[2], log_scale;
    const size_t *snapshots; // (n): which list each node looks at; the rule's (hb_particle_rules)
    hb_particle_node *nodes; // (n); the one block that everything above points into
} hb_particle_kernel;

enum { HB_KERNEL_UNITS = 128 }; /* most batches in one call */

/* Doubles of work per call. */
size_t hb_kernel_work(size_t dim);

/* Frames for the nodes of a rule; snapshots[rule->n] name their lists, and live as long as the
 * kernel. *fits = 0 when a matrix leaves the range of double or a lift is too high: such a kernel
 * cannot be used, and is empty. work: at least hb_kernel_work doubles. */
hb_status hb_kernel_create(hb_context *context, const hb_problem *problem, double tau, size_t dim,
                           const double *x0, const hb_particle_rule *rule, int corrected,
                           const size_t *snapshots, double *work, hb_particle_kernel *out,
                           int *fits);
void hb_kernel_destroy(hb_context *context, hb_particle_kernel *kernel);

/* From pilot particles: reaches, so that what is left out is below 1e-14 of the largest
 * contribution, and log_scale, the logarithm of that contribution. */
void hb_kernel_tune(hb_particle_kernel *kernel, const hb_cell_list *lists, double *work);

/* The rounding of a node with the Jacobian A[d][d] at this lag, relative; infinite where it does
 * not fit, 0 after a stop. work: hb_kernel_work. */
double hb_lag_rounding(hb_context *context, size_t dim, const double *A, double lag, double *work);
/* Adds what rounding may leave in ln u and in the score to error[1 + d], of a tuned kernel. */
void hb_kernel_rounding(const hb_particle_kernel *kernel, double *error);

/* x = centre + sign L eta, of a fixed lag. */
void hb_node_place(const hb_particle_node *node, size_t d, const double *eta, double sign,
                   double *x);

/* What a rule gives: a[units], b[units][d]. */
typedef struct hb_kernel_means {
    double *a, *b;
} hb_kernel_means;

/* What u0 near the point gives: the main node of a kernel with from_start, by `draws` (even) draws
 * of each unit first .. first+units-1. work: 4 draws (d + 1) doubles. */
hb_status hb_kernel_start(hb_context *context, const hb_problem *problem,
                          const hb_particle_kernel *kernel, uint64_t seed, uint64_t stream,
                          uint64_t first, size_t units, size_t draws, const hb_kernel_means *out,
                          double *work);

/* Means of the kernel and its gradient over the particles of each batch, over e^log_scale, by the
 * rule, means[0], and the coarser one, means[1] (NULL: left out). start: of hb_kernel_start, or
 * NULL. Returns how many particles were looked at. */
double hb_kernel_sum(const hb_particle_kernel *kernel, const hb_cell_list *lists, size_t units,
                     size_t batch_size, const hb_kernel_means means[2],
                     const hb_kernel_means *start, double *work);
