/* gaussian(mean=1 -0.5, var=0.4): one Gaussian.
 *
 * mean: 1 or d numbers, default 0; var: 1, d or d*d numbers (symmetric, row by row), default 1.
 * A full matrix is kept as its Cholesky factor. A number to reproduce: var=4 is a standard
 * deviation of 2. */
#include "base/context.h"
#include "base/memory.h"
#include "problem/initial/initial_ops.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

typedef struct reading {
    hb_context *context;
    int dim;
    int has_mean, has_var; /* given already */
    hb_gaussians *gaussians;
} reading;

static hb_status set_mean(reading *s, size_t count, const double *values)
{
    const size_t d = (size_t)s->dim;
    HB_CHECK(s->context, count == 1 || count == d, HB_ERROR_ARGUMENT,
             "gaussian: mean has %zu numbers; it must have 1 or dim = %zu", count, d);
    for (size_t j = 0; j < d; j++) s->gaussians->mean[j] = values[count == 1 ? 0 : j];
    return HB_OK;
}

static hb_status set_diagonal(reading *s, size_t count, const double *values)
{
    for (size_t j = 0; j < (size_t)s->dim; j++) {
        const double variance = values[count == 1 ? 0 : j];
        HB_CHECK(s->context, variance > 0, HB_ERROR_ARGUMENT,
                 "gaussian: var is %g on axis %zu; it must be positive", variance, j + 1);
        s->gaussians->sd[j] = sqrt(variance);
    }
    return HB_OK;
}

static hb_status check_symmetry(reading *s, const double *values)
{
    const size_t d = (size_t)s->dim;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            HB_CHECK(
                s->context,
                fabs(values[i * d + j] - values[j * d + i]) <=
                    1e-12 * sqrt(fabs(values[i * d + i] * values[j * d + j])),
                HB_ERROR_ARGUMENT,
                "gaussian: var is not symmetric: %.10g in row %zu, column %zu but %.10g in row "
                "%zu, column %zu",
                values[i * d + j], i + 1, j + 1, values[j * d + i], j + 1, i + 1);
    return HB_OK;
}

static hb_status set_matrix(reading *s, const double *values)
{
    const size_t d = (size_t)s->dim;
    HB_TRY(check_symmetry(s, values));
    HB_TRY(HB_NEW(s->context, s->gaussians->cholesky, d * d));
    double *L = s->gaussians->cholesky;
    memcpy(L, values, d * d * sizeof *L);
    /* The upper triangle of a column-major matrix is the lower one of a row-major matrix. */
    const lapack_int info = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', s->dim, L, s->dim);
    HB_CHECK(s->context, info == 0, HB_ERROR_ARGUMENT,
             "gaussian: var is not positive definite (its leading block of size %d is not)",
             (int)info);
    for (size_t i = 0; i < d; i++) // what the factorisation left above the diagonal
        for (size_t j = i + 1; j < d; j++) L[i * d + j] = 0;
    return HB_OK;
}

static hb_status set_variance(reading *s, size_t count, const double *values)
{
    const size_t d = (size_t)s->dim;
    HB_CHECK(s->context, count == 1 || count == d || count == d * d, HB_ERROR_ARGUMENT,
             "gaussian: var has %zu numbers; it must have 1, dim = %zu or dim*dim = %zu", count, d,
             d * d);
    return count == 1 || count == d ? set_diagonal(s, count, values) : set_matrix(s, values);
}

static hb_status set_argument(reading *s, char *piece)
{
    char *equals = strchr(piece, '=');
    if (equals) *equals = '\0';
    const char *key = hb_text_trim(piece);
    const int mean = !strcmp(key, "mean"), var = !strcmp(key, "var");
    HB_CHECK(s->context, equals && (mean || var), HB_ERROR_ARGUMENT,
             "gaussian: '%.40s' is not known; write mean=... and var=..., numbers by blanks", key);
    int *given = mean ? &s->has_mean : &s->has_var;
    HB_CHECK(s->context, !*given, HB_ERROR_ARGUMENT, "gaussian: %s is given twice; give it once",
             key);
    *given = 1;
    size_t count;
    double *values;
    HB_TRY(hb_text_numbers(s->context, mean ? "gaussian: mean" : "gaussian: var",
                           hb_text_trim(equals + 1), &count, &values));
    const hb_status status = mean ? set_mean(s, count, values) : set_variance(s, count, values);
    hb_release(s->context, values);
    return status;
}

static hb_status gaussian_create(const hb_initial_text *text, hb_problem *problem)
{
    reading s = {.context = text->context, .dim = text->dim};
    HB_TRY(hb_gaussians_create(text->context, problem, 1, 1, &s.gaussians));
    for (int j = 0; j < s.dim; j++) {
        s.gaussians->mean[j] = 0;
        s.gaussians->sd[j] = 1;
    }
    char *rest = text->arguments, *piece;
    while ((piece = hb_text_piece(&rest)) != NULL)
        if (*piece || rest) HB_TRY(set_argument(&s, piece));
    return hb_gaussians_prepare(text->context, text->dim, NULL, s.gaussians);
}

const hb_initial_ops hb_initial_gaussian = {
    HB_INITIAL_TEXT("gaussian", "gaussian(...)", gaussian_create), .kind = HB_INITIAL_KIND_GAUSSIAN,
    .facts = {.smooth = 1}, HB_GAUSSIANS_OPS(hb_gaussians_draw)};
