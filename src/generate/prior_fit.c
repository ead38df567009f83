/* The distribution at tau_max from the score there, for likelihoods whose caller gives no moments.
 *
 * The score of a Gaussian is s(x) = C^-1 (m - x), and near tau_max every distribution is nearly
 * one: by least squares over draws of the Gaussian so far, x = m + L z,
 *     L^T s = c - A z,      m <- m + L A^-1 c,   C <- L A^-1 L^T,
 * A without its antisymmetric part, until c and A - 1 are below CONVERGED or after ROUNDS. Rows
 * have no part in it, so that a row stays alone. What is not linear in s, and an A that is not
 * positive (the Gaussian so far stays then), is left to the error of the start (likelihood.c).
 * A number to reproduce: s = -(x - 1)/2 under OU: mean 1 and variance 2, after one round. */
#include "base/linear_algebra.h"
#include "generate/reverse.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { LEAST_DRAWS = 64, DRAWS_PER_AXIS = 4, MOST_DIM = 512, ROUNDS = 4 };
static const uint64_t FIT_SEED = 2;
static const double CONVERGED = 1e-9;

typedef struct fit {
    hb_prior *prior;
    size_t n, d;
    double *x, *s;  // (n, d): draws, their scores; then L^T s
    double *design; // (n, d + 1): 1, z
    double *A;      // (d, d)
    double *y;      // (n): scratch
    hb_workspace work;
} fit;

/* Draws, 1 and z, and L^T s. */
static hb_status fit_ask(const hb_reverse *run, fit *f, int round)
{
    const size_t n = f->n, d = f->d;
    const double *L = f->prior->cholesky;
    HB_TRY(hb_prior_draw(f->prior, run->quiet, FIT_SEED, (uint64_t)round * n, n, f->x));
    HB_TRY(hb_reverse_ask(run, n, f->x, run->settings->tau_max, f->s, f->y));
    memset(f->y, 0, n * sizeof *f->y);
    HB_TRY(hb_prior_add_log_density(f->prior, n, f->x, f->y)); /* leaves z */
    for (size_t i = 0; i < n; i++) {
        f->design[i * (d + 1)] = 1;
        memcpy(f->design + i * (d + 1) + 1, f->x + i * d, d * sizeof *f->x);
        for (size_t j = 0; j < d; j++) {
            double sum = 0;
            for (size_t k = j; k < d; k++) sum += L[k * d + j] * f->s[i * d + k];
            f->s[i * d + j] = sum;
        }
    }
    return HB_OK;
}

/* m and L of the next round, from the coefficients c (d) and -A (d, d) in f->s; 0: A is not
 * positive. */
static int fit_move(fit *f, double *change)
{
    const size_t d = f->d;
    const lapack_int order = (lapack_int)d;
    const double *c = f->s, *minus = f->s + d;
    double *L = f->prior->cholesky, *A = f->A;
    *change = 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            A[i * d + j] = -0.5 * (minus[i * d + j] + minus[j * d + i]);
            *change = fmax(*change, fmax(fabs(c[i]), fabs(A[i * d + j] - (i == j))));
        }
    if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', order, A, order) != 0) return 0;
    memcpy(f->y, c, d * sizeof *c);
    LAPACKE_dpotrs(LAPACK_ROW_MAJOR, 'L', order, 1, A, order, f->y, 1);
    for (size_t i = 0; i < d; i++) f->prior->mean[i] += hb_dot(i + 1, L + i * d, f->y);
    LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'L', order, A, order);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++) A[j * d + i] = A[i * d + j];
    LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', order, A, order); /* A^-1 = K K^T, then L <- L K */
    for (size_t i = 0; i < d; i++) {
        memcpy(f->y, L + i * d, (i + 1) * sizeof *L);
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = j; k <= i; k++) sum += f->y[k] * A[k * d + j];
            L[i * d + j] = sum;
        }
    }
    return 1;
}

static hb_status fit_rounds(const hb_reverse *run, fit *f)
{
    const lapack_int n = (lapack_int)f->n, d = (lapack_int)f->d;
    double change = 1;
    for (int round = 0; round < ROUNDS && change > CONVERGED; round++) {
        HB_TRY(fit_ask(run, f, round));
        if (LAPACKE_dgels(LAPACK_ROW_MAJOR, 'N', n, d + 1, d, f->design, d + 1, f->s, d) != 0 ||
            !fit_move(f, &change))
            return HB_OK;
    }
    return HB_OK;
}

hb_status hb_prior_fit(const hb_reverse *run, hb_prior *prior)
{
    const size_t d = prior->dim, own = DRAWS_PER_AXIS * (d + 1);
    fit f = {.prior = prior, .d = d, .n = own > LEAST_DRAWS ? own : LEAST_DRAWS};
    if (d > MOST_DIM) return HB_OK;
    hb_prior isotropic = *prior;
    *prior = (hb_prior){.context = isotropic.context, .dim = d, .sd = isotropic.sd};
    hb_workspace_destroy(&isotropic.work);
    HB_TRY(HB_WORKSPACE(run->context, &prior->work, HB_ARRAY(prior->mean, d),
                        HB_ARRAY(prior->cholesky, d * d)));
    memset(prior->mean, 0, d * sizeof *prior->mean);
    memset(prior->cholesky, 0, d * d * sizeof *prior->cholesky);
    for (size_t j = 0; j < d; j++) prior->cholesky[j * d + j] = prior->sd;
    HB_TRY(HB_WORKSPACE(run->context, &f.work, HB_ARRAY(f.x, f.n * d), HB_ARRAY(f.s, f.n * d),
                        HB_ARRAY(f.design, f.n * (d + 1)), HB_ARRAY(f.A, d * d),
                        HB_ARRAY(f.y, f.n * (run->sums > 0 ? run->sums : 1))));
    const hb_status status = fit_rounds(run, &f);
    hb_workspace_destroy(&f.work);
    return status;
}
