/* studies/identities/identities.h: the parts of the study of the paper's identities.
 *
 *     identities_rows.c       the list of measured numbers, each beside its exact value; numbers by
 *                             name
 *     identities_fields.c     closed-form densities of linear drifts, right and wrong, and their
 *                             problems
 *     identities_average.c    averages over heat balls with sources of which terms can be left out
 *     identities_setup.c      section 2: time change, Helmholtz split
 *     identities_budget.c     section 2.3: existence window and two-sided bounds
 *     identities_ball.c       sections 3.1 and 4.1: volume, constants, orientation, truncation
 *     identities_hierarchy.c  sections 3.2 to 3.4: J(r), the four sources, the limit r -> 0
 *     identities_loss.c       sections 4.5 and 5.1: the literal loss, its bias, the ring's score
 *     identities_study.c      the study itself: rows, files */
#pragma once

#include "study_tools.h"

#include <heatball/ball.h>
#include <heatball/estimate.h>

/* ---- the list of numbers ---- */

/* One number: which check, of what, in which dimension, at which radius, time or size (NaN: none),
 * what it must be (NaN: nothing is known) and the error of the measurement. */
typedef struct hb_identity {
    const char *check, *item;
    double dim, at, value, exact, error;
} hb_identity;

typedef struct hb_identities {
    hb_context *context;
    uint64_t seed;
    int quick;
    size_t n, capacity;
    hb_identity *rows;
} hb_identities;

hb_status hb_identities_add(hb_identities *list, const hb_identity *row);
hb_status hb_identities_put(hb_identities *list, const char *check, const char *item, double dim,
                            double at, double value, double exact, double error);
/* Numbers of the list for formulas of the page (identities_rows.c). */
int hb_identities_find(const void *of, const char *name, int n, const hb_value *v, hb_value *out);

/* ---- closed-form fields ---- */

enum { IDENTITIES_DIM = 16, IDENTITIES_TERMS = 2 };

/* Two Gaussians under F = -rate x + omega (-x2, x1, 0, ..). spoil multiplies every variance: with
 * spoil k the density solves du/dtau = k Lap u - div(F u), so with k = 1 the right equation. */
typedef struct hb_identity_field {
    int dim, terms;
    double rate, omega, spoil;
    double weight[IDENTITIES_TERMS], variance[IDENTITIES_TERMS]; /* at tau = 0, each isotropic */
    double mean[IDENTITIES_TERMS][IDENTITIES_DIM];
} hb_identity_field;

hb_identity_field hb_identities_mixture(int dim, double omega, double spoil);
hb_identity_field hb_identities_stationary(int dim); /* N(0, I), which F = -x keeps */
hb_field hb_identities_as_field(hb_identity_field *field);
/* ln u, and its gradient unless NULL; laplacian: Lap u/u unless NULL. */
double hb_identities_log_density(const hb_identity_field *field, const double *x, double tau,
                                 double *gradient, double *laplacian);
/* The drift of the field as a problem with tau = t. */
hb_status hb_identities_problem(hb_context *context, const hb_identity_field *field,
                                hb_problem **out);

/* ---- averages ---- */

/* Terms of the sources, with a = -(div F + F.grad v) split in its two parts. */
enum { TERM_SLOPE = 1, TERM_DRIFT = 2, TERM_DIVERGENCE = 4, TERMS_ALL = 7 };

typedef struct hb_identity_ball hb_identity_ball;

/* Nodes for kappa and source of unit balls in `dim` dimensions (cubature of `degree`, and a Gauss
 * rule in rho^2); to be destroyed before the context. */
hb_status hb_identities_ball_create(hb_context *context, int dim, int degree,
                                    hb_identity_ball **out);
void hb_identities_ball_destroy(hb_identity_ball *ball);
/* 4/(C1 r^2) (F - E_kappa[F] - (C1 r^2/4) E_source[h_F]) of a field with its own drift, by the
 * closed forms of identities_fields.c alone; terms: which terms of h_F are kept. u and w are
 * divided by u at the anchor. */
double hb_identities_residual(const hb_identity_ball *ball, const hb_identity_field *field,
                              hb_quantity quantity, int terms, double radius, const double *x,
                              double tau);
/* Corollary (score), as the paper writes it: E_kappa[grad v] + (C1 r^2/4) E_source[grad h_v], by
 * central differences of h_v; out[dim]. */
void hb_identities_score(const hb_identity_ball *ball, const hb_identity_field *field,
                         double radius, const double *x, double tau, double *out);

/* ---- measurements, in the order of the paper ---- */

hb_status hb_identities_time_change(hb_identities *list);
hb_status hb_identities_helmholtz(hb_identities *list);
hb_status hb_identities_window(hb_identities *list);
hb_status hb_identities_bounds(hb_identities *list);
hb_status hb_identities_geometry(hb_identities *list);
hb_status hb_identities_orientation(hb_identities *list);
hb_status hb_identities_truncation(hb_identities *list);
hb_status hb_identities_monotonicity(hb_identities *list);
hb_status hb_identities_sources(hb_identities *list);
hb_status hb_identities_limit(hb_identities *list);
hb_status hb_identities_literal(hb_identities *list);
hb_status hb_identities_bias(hb_identities *list);
hb_status hb_identities_ring(hb_identities *list);

extern const hb_study hb_identities_study;
