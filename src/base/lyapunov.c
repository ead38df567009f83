/* The Lyapunov equation A C + C A' + 2 D = 0, by the real Schur form of A.
 *
 * A = U T U'. With Y = U' C U it reads T Y + Y T' = -2 U' D U, which LAPACK's dtrsyl solves (R. H. Bartels,
 * G. W. Stewart, Comm. ACM 15, 1972). One step of refinement follows: the residual R of C is solved for in the same
 * way, and the size of what it changes is, four times over, the error.
 *
 * A number to reproduce: A = [[-1, 2], [0, -3]], D = I has C = [[4/3, 1/6], [1/6, 1/3]]. */
#include "base/lyapunov.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"

#include <float.h>
#include <lapacke.h>
#include <stdio.h>
#include <string.h>

typedef struct schur {
    hb_context *context;
    size_t d;
    double *T, *U;            // (d, d), A = U T U', row by row
    double *real, *imaginary; // (d)
    double *work, *more;      // (d, d)
} schur;

/* out = U' M U, or with back U M U'. */
static void turn(schur *s, int back, const double *M, double *out)
{
    const size_t d = s->d;
    double *other = s->more;
    hb_matrix_transpose(d, s->U, other);
    hb_matrix_multiply(d, 1, back ? s->U : other, M, s->work);
    hb_matrix_multiply(d, 1, s->work, back ? other : s->U, out);
}

/* C with A C + C A' = R; R is overwritten. */
static hb_status solve(schur *s, double *R, double *C)
{
    const lapack_int n = (lapack_int)s->d;
    double scale = 1;
    turn(s, 0, R, C);
    const lapack_int info =
        LAPACKE_dtrsyl(LAPACK_ROW_MAJOR, 'N', 'T', 1, n, n, s->T, n, s->T, n, C, n, &scale);
    HB_CHECK(s->context, info >= 0 && scale > 0, HB_ERROR_NUMERICAL,
             "the covariance of the stationary density was not found (LAPACK code %d)", (int)info);
    for (size_t i = 0; i < s->d * s->d; i++) R[i] = C[i] / scale;
    turn(s, 1, R, C);
    for (size_t i = 0; i < s->d; i++)
        for (size_t j = 0; j < i; j++)
            C[i * s->d + j] = C[j * s->d + i] = 0.5 * (C[i * s->d + j] + C[j * s->d + i]);
    return HB_OK;
}

static hb_status factor(schur *s, const double *A, double *rate)
{
    const lapack_int n = (lapack_int)s->d;
    lapack_int sorted = 0;
    memcpy(s->T, A, s->d * s->d * sizeof *A);
    const lapack_int info = LAPACKE_dgees(LAPACK_ROW_MAJOR, 'V', 'N', NULL, n, s->T, n, &sorted,
                                          s->real, s->imaginary, s->U, n);
    HB_CHECK(s->context, info == 0, HB_ERROR_NUMERICAL,
             "the eigenvalues of the drift's matrix were not found (LAPACK code %d)", (int)info);
    size_t last = 0;
    for (size_t i = 1; i < s->d; i++)
        if (s->real[i] > s->real[last]) last = i;
    *rate = -s->real[last];
    const double rounding = 16 * DBL_EPSILON * (double)s->d * hb_matrix_norm(s->d, A);
    char imaginary[40] = "";
    if (s->imaginary[last] != 0)
        snprintf(imaginary, sizeof imaginary, " %+.6g i", s->imaginary[last]);
    HB_CHECK(s->context, s->real[last] < -rounding, HB_ERROR_ARGUMENT,
             "there is no stationary density: the matrix of the linear drift has the eigenvalue "
             "%.6g%s, whose real part is not below 0; ask for a finite time",
             fabs(s->real[last]) <= rounding ? 0 : s->real[last], imaginary);
    return HB_OK;
}

/* R = -(A C + C A' + 2 D) */
static void residual(schur *s, const double *A, const double *D, const double *C, double *R)
{
    const size_t d = s->d;
    hb_matrix_multiply(d, -1, A, C, s->work);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            R[i * d + j] = s->work[i * d + j] + s->work[j * d + i] - 2 * D[i * d + j];
}

static hb_status run(schur *s, const double *A, const double *D, double *C, double *R,
                     double *change, double *error, double *rate)
{
    const size_t n = s->d * s->d;
    double most = 0;
    HB_TRY(factor(s, A, rate));
    for (size_t i = 0; i < n; i++) R[i] = -2 * D[i];
    HB_TRY(solve(s, R, C));
    residual(s, A, D, C, R);
    HB_TRY(solve(s, R, change));
    *error = 0;
    for (size_t i = 0; i < n; i++) {
        C[i] += change[i];
        *error = fmax(*error, 4 * fabs(change[i]));
        most = fmax(most, fabs(C[i]));
    }
    *error += 4 * DBL_EPSILON * most;
    return HB_OK;
}

hb_status hb_lyapunov(hb_context *context, size_t d, const double *A, const double *D, double *C,
                      double *error, double *rate)
{
    schur s = {.context = context, .d = d};
    double *R, *change; // (d, d)
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(s.T, d * d), HB_ARRAY(s.U, d * d),
                        HB_ARRAY(s.real, d), HB_ARRAY(s.imaginary, d), HB_ARRAY(s.work, d * d),
                        HB_ARRAY(s.more, d * d), HB_ARRAY(R, d * d), HB_ARRAY(change, d * d)));
    const hb_status status = run(&s, A, D, C, R, change, error, rate);
    hb_workspace_destroy(&work);
    return status;
}
