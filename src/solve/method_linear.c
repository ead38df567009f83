/* The stationary density of a linear drift F = A x + c: a Gaussian.
 *
 *     mean m = -A^-1 c,      covariance A C + C A' + 2 D = 0 (lyapunov.c),      score -C^-1 (x - m)
 * D is g^2/2 times the identity, or G G'/2 where the noise is a matrix; then C may be singular, and
 * there is a density only where the noise reaches every direction through the drift. Errors: an
 * error e of all entries of C moves ln u by at most e (sum |C^-1| + (sum |s|)^2)/2 and the score by
 * e sum |C^-1| sum |s|, s = C^-1 (x - m); an error of m moves them by |s| |dm| and |C^-1| |dm|.
 *
 * A number to reproduce: F = (-x + 2 y, -2 x - y), D = I, turns about N(0, I): ln u(0) = -ln(2
 * pi). */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/lyapunov.h"
#include "base/memory.h"
#include "problem/noise.h"
#include "problem/problem_parts.h"
#include "problem/transform/transform.h"
#include "solve/solve_parts.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct linear {
    hb_context *context;
    size_t d;
    double *A, *D, *C;           // (d, d)
    double *inverse, *copy;      // (d, d)
    double *c, *mean, *step, *s; // (d)
    double C_error, mean_error, log_determinant;
    double spread; /* the sum of |C^-1| */
    double rate;   /* the slowest */
} linear;

static hb_status linear_read_drift(linear *l, const hb_problem *problem)
{
    const size_t d = l->d;
    memset(l->mean, 0, d * sizeof(double));
    HB_TRY(hb_problem_drift(l->context, problem, 1, l->mean, 0, l->c, NULL, NULL, l->A));
    if (hb_problem_noise_kind(problem) == HB_NOISE_MATRIX)
        return hb_problem_diffusion(l->context, problem, 1, NULL, 0, l->D, NULL);
    /* as f and t, so that eigenvalues in messages are the user's */
    double t;
    HB_TRY(hb_problem_t_of_tau(l->context, problem, 1, &t));
    for (size_t k = 0; k < d * d; k++) l->A[k] /= t;
    for (size_t k = 0; k < d; k++) l->c[k] /= t;
    hb_matrix_diagonal(d, 1 / t, l->D);
    return HB_OK;
}

/* step = -A^-1 right, by LU. */
static hb_status linear_solve_mean(linear *l, const double *right)
{
    const lapack_int n = (lapack_int)l->d;
    lapack_int *pivots;
    HB_TRY(HB_NEW(l->context, pivots, l->d));
    memcpy(l->copy, l->A, l->d * l->d * sizeof(double));
    for (size_t i = 0; i < l->d; i++) l->step[i] = -right[i];
    const lapack_int info = LAPACKE_dgesv(LAPACK_ROW_MAJOR, n, 1, l->copy, n, pivots, l->step, 1);
    hb_release(l->context, pivots);
    HB_CHECK(l->context, info == 0, HB_ERROR_NUMERICAL,
             "the mean of the stationary density was not found: the drift's matrix is singular");
    return HB_OK;
}

static hb_status linear_find_mean(linear *l)
{
    const size_t d = l->d;
    HB_TRY(linear_solve_mean(l, l->c));
    memcpy(l->mean, l->step, d * sizeof(double));
    for (size_t i = 0; i < d; i++) l->s[i] = l->c[i] + hb_dot(d, l->A + i * d, l->mean);
    HB_TRY(linear_solve_mean(l, l->s));
    for (size_t i = 0; i < d; i++) {
        l->mean[i] += l->step[i];
        l->mean_error =
            fmax(l->mean_error, 4 * fabs(l->step[i]) + 4 * DBL_EPSILON * fabs(l->mean[i]));
    }
    return HB_OK;
}

/* C^-1, its size, and ln det C. */
static hb_status linear_invert(linear *l)
{
    const size_t d = l->d;
    const lapack_int n = (lapack_int)d;
    memcpy(l->inverse, l->C, d * d * sizeof(double));
    lapack_int info = LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', n, l->inverse, n);
    for (size_t i = 0; i < d && info == 0; i++)
        l->log_determinant += 2 * log(l->inverse[i * d + i]);
    if (info == 0) info = LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'L', n, l->inverse, n);
    for (size_t i = 0; i < d && info == 0; i++)
        for (size_t j = 0; j < i; j++) l->inverse[j * d + i] = l->inverse[i * d + j];
    for (size_t i = 0; i < d * d && info == 0; i++) l->spread += fabs(l->inverse[i]);
    const double lost = l->C_error * hb_matrix_norm(d, l->inverse) * (double)d;
    HB_CHECK(l->context, info == 0 && lost < 0.01, HB_ERROR_ARGUMENT,
             "there is no stationary density: the covariance is singular, the noise does not "
             "reach every direction, neither by itself nor through the drift");
    return HB_OK;
}

static void linear_fill(linear *l, size_t i, const double *x, hb_solution *out)
{
    const size_t d = l->d;
    double quadratic = 0, sum = 0, size = 0;
    double *score = out->columns[HB_COLUMN_SCORE] + i * d;
    double *score_se = out->columns[HB_COLUMN_SCORE_ERROR] + i * d;
    for (size_t a = 0; a < d; a++) l->step[a] = x[a] - l->mean[a];
    for (size_t a = 0; a < d; a++) {
        score[a] = -hb_dot(d, l->inverse + a * d, l->step);
        quadratic -= score[a] * l->step[a];
        sum += fabs(score[a]);
        size += fabs(l->step[a]);
    }
    const double rounding = 8 * DBL_EPSILON * (double)d * l->spread;
    for (size_t a = 0; a < d; a++)
        score_se[a] = l->C_error * l->spread * sum + l->spread * l->mean_error + rounding * size;
    out->columns[HB_COLUMN_LOG_DENSITY][i] =
        -0.5 * (quadratic + l->log_determinant + (double)d * log(2 * M_PI));
    out->columns[HB_COLUMN_LOG_DENSITY_ERROR][i] =
        0.5 * l->C_error * (l->spread + sum * sum) + sum * l->mean_error + rounding * size * size +
        8 * DBL_EPSILON * ((double)d + fabs(l->log_determinant));
}

static hb_status linear_solve(linear *l, const hb_solve_task *task, hb_solution *out)
{
    HB_TRY(linear_read_drift(l, task->problem));
    const hb_status status = hb_lyapunov(l->context, l->d, l->A, l->D, l->C, &l->C_error, &l->rate);
    const hb_transform *transform = task->problem->transform;
    if (status == HB_ERROR_ARGUMENT && transform &&
        transform->bends) /* its matrix is not the typed one */
        return hb_fail(l->context, status,
                       "there is no stationary density: in %s the drift is linear and does not "
                       "draw the process to a place; ask for a finite time",
                       transform->text);
    HB_TRY(status);
    HB_TRY(linear_find_mean(l));
    HB_TRY(linear_invert(l));
    for (size_t i = 0; i < out->n; i++) linear_fill(l, i, task->points + i * l->d, out);
    hb_solve_fill_from_log(out);
    out->method = "stationary";
    snprintf(out->note, sizeof out->note,
             "stationary: the drift is linear, the density a Gaussian from the Lyapunov equation; "
             "relaxation time %.3g; nothing is drawn",
             1 / l->rate);
    return HB_OK;
}

static hb_status linear_run(const hb_solve_task *task, hb_solution *out)
{
    const size_t d = (size_t)out->dim;
    linear l = {.context = task->context, .d = d};
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(task->context, &work, HB_ARRAY(l.A, d * d), HB_ARRAY(l.D, d * d),
                        HB_ARRAY(l.C, d * d), HB_ARRAY(l.inverse, d * d), HB_ARRAY(l.copy, d * d),
                        HB_ARRAY(l.c, d), HB_ARRAY(l.mean, d), HB_ARRAY(l.step, d),
                        HB_ARRAY(l.s, d)));
    const hb_status status = linear_solve(&l, task, out);
    hb_workspace_destroy(&work);
    return status;
}

static const char *linear_serves(const hb_solve_facts *facts)
{
    if (!facts->linear)
        return "time is inf and the drift is not linear; walks go back to the initial density, "
               "which is infinitely far away";
    if (facts->noise == HB_NOISE_FIELD) return HB_REASON_FIELD;
    if (facts->asked == HB_METHOD_PARTICLES && facts->dim <= HB_MOST_GRID_DIM)
        return "particles simulates up to three dimensions";
    return NULL;
}

const hb_method_ops hb_method_linear = {.info = {.name = "stationary", .reads = ~0U},
                                        .stands_for =
                                            1U << HB_METHOD_WALK | 1U << HB_METHOD_PARTICLES,
                                        .times = HB_TIME_STATIONARY,
                                        .errors = HB_ERRORS_BOUND,
                                        .serves = linear_serves,
                                        .rank = 1,
                                        .run = linear_run};
