/* The Lyapunov equation A C + C A' + 2 D = 0, by the real Schur form of A.
 *
 * A = U T U'. With Y = U' C U it reads T Y + Y T' = -2 U' D U (R. H. Bartels, G. W. Stewart, Comm.
 * ACM 15, 1972). It is solved in blocks of BLOCK rows and columns, from the last to the first,
 *     T_II Y_IJ + Y_IJ T_JJ' = R_IJ - sum_{L > I} T_IL Y_LJ - sum_{K > J} Y_IK T_JK',
 * each by LAPACK's dtrsyl: the whole at once takes 15 s at d = 1000, the blocks 2 s. A stop is
 * heard between blocks and between LAPACK's parts of the Schur form, of which dhseqr is the
 * longest. One step of refinement follows: the residual R of C is solved for in the same way, and
 * the size of what it changes is, four times over, the error.
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

enum { BLOCK = 48 };

typedef struct schur {
    hb_context *context;
    size_t d;
    double *T, *U;            // (d, d), A = U T U', row by row
    double *real, *imaginary; // (d)
    double *work, *more;      // (d, d)
} schur;

/* out = U' M U, or with back U M U'. */
static hb_status lyapunov_turn(schur *s, int back, const double *M, double *out)
{
    const size_t d = s->d;
    double *other = s->more;
    hb_matrix_transpose(d, s->U, other);
    HB_TRY(hb_matrix_product(s->context, d, 1, back ? s->U : other, M, s->work));
    return hb_matrix_product(s->context, d, 1, s->work, back ? other : s->U, out);
}

static hb_status lyapunov_progress(const schur *s)
{
    return hb_progress(s->context, "Lyapunov equation", 0, 1);
}

/* The first row of the block that ends before `end`; a pair of complex eigenvalues stays
 * together. */
static size_t lyapunov_block_before(const schur *s, size_t end)
{
    size_t first = end > BLOCK ? end - BLOCK : 0;
    return first > 0 && s->T[first * s->d + first - 1] != 0 ? first - 1 : first;
}

/* Rows i .. i_end and columns j .. j_end of Y, in their place in R; what is beyond them is Y
 * already. */
static hb_status lyapunov_solve_block(schur *s, size_t i, size_t i_end, size_t j, size_t j_end,
                                      double *R)
{
    const size_t d = s->d;
    const double *T = s->T;
    double scale = 1;
    for (size_t a = i; a < i_end; a++) {
        for (size_t l = i_end; l < d; l++)
            hb_axpy(j_end - j, -T[a * d + l], R + l * d + j, R + a * d + j);
        for (size_t b = j; b < j_end; b++)
            R[a * d + b] -= hb_dot(d - j_end, R + a * d + j_end, T + b * d + j_end);
    }
    const lapack_int m = (lapack_int)(i_end - i), n = (lapack_int)(j_end - j), all = (lapack_int)d;
    const lapack_int info = LAPACKE_dtrsyl(LAPACK_ROW_MAJOR, 'N', 'T', 1, m, n, T + i * d + i, all,
                                           T + j * d + j, all, R + i * d + j, all, &scale);
    HB_CHECK(s->context, info >= 0 && scale == 1, HB_ERROR_NUMERICAL,
             "the covariance of the stationary density was not found (LAPACK code %d)", (int)info);
    return lyapunov_progress(s);
}

/* Y with T Y + Y T' = R, in the place of R. */
static hb_status lyapunov_solve_blocks(schur *s, double *R)
{
    for (size_t j_end = s->d; j_end > 0; j_end = lyapunov_block_before(s, j_end))
        for (size_t i_end = s->d; i_end > 0; i_end = lyapunov_block_before(s, i_end))
            HB_TRY(lyapunov_solve_block(s, lyapunov_block_before(s, i_end), i_end,
                                        lyapunov_block_before(s, j_end), j_end, R));
    return HB_OK;
}

/* C with A C + C A' = R; R is overwritten. */
static hb_status lyapunov_solve(schur *s, double *R, double *C)
{
    HB_TRY(lyapunov_turn(s, 0, R, C));
    HB_TRY(lyapunov_solve_blocks(s, C));
    memcpy(R, C, s->d * s->d * sizeof *R);
    HB_TRY(lyapunov_turn(s, 1, R, C));
    for (size_t i = 0; i < s->d; i++)
        for (size_t j = 0; j < i; j++)
            C[i * s->d + j] = C[j * s->d + i] = 0.5 * (C[i * s->d + j] + C[j * s->d + i]);
    return HB_OK;
}

/* A = U T U' as dgees finds it: isolated eigenvalues put apart, Hessenberg's form, and from there
 * by shifts. */
static hb_status lyapunov_schur_form(schur *s, const double *A, lapack_int *info)
{
    enum { ROWS = LAPACK_ROW_MAJOR };
    const lapack_int n = (lapack_int)s->d;
    lapack_int low = 1, high = n;
    double *order = s->more, *turns = s->work; // (d), (d)
    memcpy(s->T, A, s->d * s->d * sizeof *A);
    *info = LAPACKE_dgebal(ROWS, 'P', n, s->T, n, &low, &high, order);
    if (*info == 0) *info = LAPACKE_dgehrd(ROWS, n, low, high, s->T, n, turns);
    HB_TRY(lyapunov_progress(s));
    memcpy(s->U, s->T, s->d * s->d * sizeof *A);
    if (*info == 0) *info = LAPACKE_dorghr(ROWS, n, low, high, s->U, n, turns);
    HB_TRY(lyapunov_progress(s));
    for (size_t i = 2; i < s->d; i++) memset(s->T + i * s->d, 0, (i - 1) * sizeof *s->T);
    if (*info == 0)
        *info =
            LAPACKE_dhseqr(ROWS, 'S', 'V', n, low, high, s->T, n, s->real, s->imaginary, s->U, n);
    HB_TRY(lyapunov_progress(s));
    if (*info == 0) *info = LAPACKE_dgebak(ROWS, 'P', 'R', n, low, high, order, n, s->U, n);
    return HB_OK;
}

static hb_status lyapunov_factor(schur *s, const double *A, double *rate)
{
    lapack_int info = 0;
    HB_TRY(lyapunov_schur_form(s, A, &info));
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
static hb_status lyapunov_residual(schur *s, const double *A, const double *D, const double *C,
                                   double *R)
{
    const size_t d = s->d;
    HB_TRY(hb_matrix_product(s->context, d, -1, A, C, s->work));
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            R[i * d + j] = s->work[i * d + j] + s->work[j * d + i] - 2 * D[i * d + j];
    return HB_OK;
}

static hb_status lyapunov_run(schur *s, const double *A, const double *D, double *C, double *R,
                              double *change, double *error, double *rate)
{
    const size_t n = s->d * s->d;
    double most = 0;
    HB_TRY(lyapunov_factor(s, A, rate));
    for (size_t i = 0; i < n; i++) R[i] = -2 * D[i];
    HB_TRY(lyapunov_solve(s, R, C));
    HB_TRY(lyapunov_residual(s, A, D, C, R));
    HB_TRY(lyapunov_solve(s, R, change));
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
    const hb_status status = lyapunov_run(&s, A, D, C, R, change, error, rate);
    hb_workspace_destroy(&work);
    return status;
}
