/* guide/guide.h: a log-density v(y,tau) close to ln u, fitted to trajectories; walks back along it.
 *
 *     v = sum_i (-z_i^2/2 - ln s_i) + P(q(z); theta),   z_i = (y_i - m_i)/s_i,   y = A x, A A' = 1
 * m, s^2 and theta are linear in tau between nodes; q_i is z_i, or saturates where the drift grows
 * no faster than |y_i|, so that v falls as a Gaussian there. P is the polynomial of
 * guide_kernels.h. Any v makes walks exact (guide_walk.c); a good one makes their weights alike. */
#pragma once

#include "base/memory.h"
#include "guide/guide_kernels.h"
#include "sampling/estimator.h"

#include <heatball/solve.h>

typedef struct hb_guide {
    hb_context *context;
    const hb_problem *problem;
    size_t d;
    double tau;
    const double *place; // (d) in x: the initial density is this point; NULL: it is a density
    double *axes;        // (d, d), row i is the direction of y_i; NULL: y = x
    double *diffusion;   // (d), D_i of dy = F dtau + sqrt(2 D) dW
    hb_guide_basis basis;
    size_t n_nodes;
    double *node;                    // (n_nodes), from 0 to tau
    double *mean, *variance, *theta; // (n_nodes, d) twice, (n_nodes, terms)
    double *reach;                   // (d), of q, in standard deviations; infinite: q = z
    double rate;                     /* root mean square of a row of the Jacobian of F */
    size_t n_paths;
    hb_workspace nodes, work;
} hb_guide;

/* Fits it for times up to tau. HB_ERROR_ARGUMENT for drifts that grow too fast, HB_ERROR_NUMERICAL
 * where no fit falls off at large |x|. */
hb_status hb_guide_create(hb_context *context, const hb_problem *problem, double tau,
                          hb_guide **out);
void hb_guide_destroy(hb_guide *guide); /* NULL is fine */
/* From now on it belongs to this context, of which the former one is a child. */
void hb_guide_adopt(hb_guide *guide, hb_context *context);

/* guide_basis.c: axes and terms from x[n][d] and the Jacobians there. */
hb_status hb_guide_choose_basis(hb_guide *guide, size_t n, const double *x, const double *tau);

/* The coordinates of a term and their powers; how many there are, 0: the term is not fitted. */
int hb_guide_term(const hb_guide_basis *basis, size_t term, int axis[3], int power[3]);

/* ---- guide_field.c ---- */

/* What is known at n columns (d, n) at one time, in y. */
typedef struct hb_guide_view {
    size_t n;
    double tau;
    double *m, *s2, *theta;                       // (d), (d), (terms)
    double *z, *q, *q1, *q2, *q3;                 // (d, n): z, q and its derivatives
    double *slope, *curvature;                    // (d, n) of P by q
    double *value;                                // (n) of P
    double *gradient;                             // (d, n) of v by y
    double *F, *divergence;                       // (d, n), (n)
    double *scratch, *scratch2, *scratch3, *tilt; // (d, n), (d, n), (d, n), (terms)
    double *rows, *turned, *times, *sums;         // (n, d), (n, d), (n), (n)
    hb_workspace work;
} hb_guide_view;

hb_status hb_guide_view_create(const hb_guide *guide, hb_context *context, size_t n,
                               hb_guide_view *out);
/* z, P and the gradient of v at y (d, n). */
hb_status hb_guide_look(const hb_guide *guide, hb_guide_view *view, double tau, const double *y);
/* F and its divergence (if divergence), into the view. */
hb_status hb_guide_drift(const hb_guide *guide, hb_context *context, hb_guide_view *view,
                         const double *y, int divergence);
/* v (n). */
void hb_guide_log(const hb_guide *guide, const hb_guide_view *view, double *v);
/* epsilon (n) without -dv/dtau, after both calls; then dv/dtau of a segment, times a factor. */
void hb_guide_residual(const hb_guide *guide, const hb_guide_view *view, double *epsilon);
void hb_guide_add_change(const hb_guide *guide, hb_guide_view *view, size_t segment, double factor,
                         double *sum);

/* Two segments that meet at a time, with weights; what a gradient of epsilon is multiplied by. */
typedef struct hb_guide_weights {
    double whole;
    size_t segment[2];
    double part[2];
} hb_guide_weights;
/* out (d, n) = J_B' mu + whole grad epsilon, B = 2 D grad v - F; NULL weights: without epsilon. */
hb_status hb_guide_turn(const hb_guide *guide, hb_context *context, hb_guide_view *view,
                        const double *y, const double *mu, const hb_guide_weights *weights,
                        double *out);
/* Columns (d, n) of x from y, as rows (n, d), and rows of vectors back. */
void hb_guide_to_rows(const hb_guide *guide, size_t n, const double *y, double *rows);
void hb_guide_to_columns(const hb_guide *guide, size_t n, const double *rows, double *y);
size_t hb_guide_segment(const hb_guide *guide, double tau); /* of tau in (node, next node] */

/* ---- guide_walk.c ---- */

enum { HB_GUIDE_BLOCK = 512, HB_GUIDE_LEVELS = 4, HB_GUIDE_COLUMNS = 64 };

typedef struct hb_guide_walker hb_guide_walker;
hb_status hb_guide_walker_create(const hb_guide *guide, hb_context *context, hb_guide_walker **out);
void hb_guide_walker_destroy(hb_guide_walker *walker);
/* One block of walks from x: HB_GUIDE_BLOCK values of u and grad u over e^log_scale, a[n] and
 * b[n][d], and lost ones. multiple: steps, over those of the guide. stream: of the normals, whose
 * seed is the point's own. */
typedef struct hb_guide_run {
    const double *x;
    uint64_t seed, stream, number; /* of the block */
    int multiple;
    double log_scale; /* NaN: it is chosen, and left here */
    double *a, *b;    // (BLOCK), (BLOCK, d)
    double lost;
} hb_guide_run;
hb_status hb_guide_walk(hb_guide_walker *walker, hb_guide_run *run);

/* ---- guide_estimator.c ---- */

/* kept: NULL, or a guide to use; where it points to none, the new one is left there. */
hb_status hb_guide_estimator(hb_context *context, const hb_problem *problem, double tau,
                             const hb_sampling_settings *settings, size_t n, const double *points,
                             hb_guide **kept, hb_estimator *out);
