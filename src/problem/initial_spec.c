/* Reading the text of an initial density.
 *
 *     gaussian(mean=1 -0.5, var=0.4)    mean default 0, var default 1; var: 1, d or d*d numbers
 *     mixture(FILE.csv)                 rows weight, mean_1 .. mean_d, var_1 .. var_d, or one var
 *     stationary
 *     samples(FILE.npy)                 rows of d numbers
 *     uniform(low high, low high, ...)  d pairs, or one for all
 * Numbers are separated by blanks. A relative file name starts at the directory that is given. Scott's
 * widths for samples are sd_j n^(-1/(d+4)) on axis j (D. W. Scott, Multivariate Density Estimation,
 * 1992, section 6.3). A number to reproduce: 100 samples on a line of variance 4 get 2 * 100^(-1/5). */
#include "base/context.h"
#include "base/memory.h"
#include "file/writer.h"
#include "problem/problem_parts.h"

#include <heatball/file.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct spec {
    hb_context *context;
    const char *directory;
    int dim;
    int has_mean, has_var; /* of a gaussian: given already */
    char *arguments;       /* what is between the parentheses, without blanks at its ends */
    hb_initial *initial;
} spec;

/* ---- pieces of text ------------------------------------------------------------------------- */

static char *trim(char *text)
{
    text += strspn(text, " \t\r\n");
    size_t length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1])) text[--length] = '\0';
    return text;
}

static hb_status allocate_doubles(hb_context *context, size_t count, double **out)
{
    void *memory;
    HB_TRY(hb_allocate(context, count, sizeof(double), &memory));
    *out = memory;
    return HB_OK;
}

/* Numbers by blanks; *values[*count] is to be released. what opens the message. */
static hb_status read_numbers(hb_context *context, const char *what, const char *text,
                              size_t *count, double **values)
{
    HB_TRY(allocate_doubles(context, strlen(text) / 2 + 1, values));
    hb_status status = HB_OK;
    locale_t locale = hb_locale_enter();
    *count = 0;
    for (const char *at = text; *at && status == HB_OK; at += strspn(at, " \t\r\n")) {
        char *end;
        const double value = strtod(at, &end);
        if (end == at || (*end && !strchr(" \t\r\n", *end)) || !isfinite(value))
            status = hb_fail(context, HB_ERROR_ARGUMENT,
                             "%s: '%.40s' where a finite number was expected", what, at);
        (*values)[(*count)++] = value;
        at = end;
    }
    hb_locale_leave(locale);
    if (status == HB_OK) return HB_OK;
    hb_release(context, *values);
    *values = NULL;
    return status;
}

/* Cuts off and returns what stands before the next comma; NULL at the end. */
static char *next_piece(char **rest)
{
    if (!*rest) return NULL;
    char *piece = *rest, *comma = strchr(piece, ',');
    *rest = comma ? comma + 1 : NULL;
    if (comma) *comma = '\0';
    return trim(piece);
}

/* ---- gaussian ------------------------------------------------------------------------------- */

static hb_status set_mean(spec *s, size_t count, const double *values)
{
    const size_t d = (size_t)s->dim;
    HB_CHECK(s->context, count == 1 || count == d, HB_ERROR_ARGUMENT,
             "gaussian: mean has %zu numbers; it must have 1 or dim = %zu", count, d);
    for (size_t j = 0; j < d; j++) s->initial->gaussians.mean[j] = values[count == 1 ? 0 : j];
    return HB_OK;
}

static hb_status set_diagonal(spec *s, size_t count, const double *values)
{
    for (size_t j = 0; j < (size_t)s->dim; j++) {
        const double variance = values[count == 1 ? 0 : j];
        HB_CHECK(s->context, variance > 0, HB_ERROR_ARGUMENT,
                 "gaussian: var is %g on axis %zu; it must be positive", variance, j + 1);
        s->initial->gaussians.sd[j] = sqrt(variance);
    }
    return HB_OK;
}

static hb_status check_symmetry(spec *s, const double *values)
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

static hb_status set_matrix(spec *s, const double *values)
{
    const size_t d = (size_t)s->dim;
    HB_TRY(check_symmetry(s, values));
    HB_TRY(allocate_doubles(s->context, d * d, &s->initial->gaussians.cholesky));
    double *L = s->initial->gaussians.cholesky;
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

static hb_status set_variance(spec *s, size_t count, const double *values)
{
    const size_t d = (size_t)s->dim;
    HB_CHECK(s->context, count == 1 || count == d || count == d * d, HB_ERROR_ARGUMENT,
             "gaussian: var has %zu numbers; it must have 1, dim = %zu or dim*dim = %zu", count, d,
             d * d);
    return count == 1 || count == d ? set_diagonal(s, count, values) : set_matrix(s, values);
}

static hb_status set_argument(spec *s, char *piece)
{
    char *equals = strchr(piece, '=');
    if (equals) *equals = '\0';
    const char *key = trim(piece);
    const int mean = !strcmp(key, "mean"), var = !strcmp(key, "var");
    HB_CHECK(s->context, equals && (mean || var), HB_ERROR_ARGUMENT,
             "gaussian: '%.40s' is not known; write mean=... and var=..., numbers by blanks", key);
    int *given = mean ? &s->has_mean : &s->has_var;
    HB_CHECK(s->context, !*given, HB_ERROR_ARGUMENT, "gaussian: %s is given twice; give it once",
             key);
    *given = 1;
    size_t count;
    double *values;
    HB_TRY(read_numbers(s->context, mean ? "gaussian: mean" : "gaussian: var", trim(equals + 1),
                        &count, &values));
    const hb_status status = mean ? set_mean(s, count, values) : set_variance(s, count, values);
    hb_release(s->context, values);
    return status;
}

/* Room for count means, and for the standard deviations: one row of them when they are shared. */
static hb_status allocate_gaussians(spec *s, size_t count, int shared)
{
    hb_gaussians *gaussians = &s->initial->gaussians;
    const size_t d = (size_t)s->dim;
    gaussians->count = count;
    gaussians->shared_sd = shared;
    HB_TRY(allocate_doubles(s->context, count * d, &gaussians->mean));
    return allocate_doubles(s->context, shared ? d : count * d, &gaussians->sd);
}

static hb_status parse_gaussian(spec *s)
{
    HB_TRY(allocate_gaussians(s, 1, 1));
    for (int j = 0; j < s->dim; j++) {
        s->initial->gaussians.mean[j] = 0;
        s->initial->gaussians.sd[j] = 1;
    }
    char *rest = s->arguments, *piece;
    while ((piece = next_piece(&rest)) != NULL)
        if (*piece || rest) HB_TRY(set_argument(s, piece));
    return hb_gaussians_prepare(s->context, s->dim, NULL, &s->initial->gaussians);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Reads a table [rows][columns]; a file name that does not open with / starts at the directory. */
static hb_status read_file(spec *s, const char *kind, uint64_t *rows, uint64_t *columns,
                           double **values)
{
    HB_CHECK(s->context, s->arguments && s->arguments[0], HB_ERROR_ARGUMENT,
             "%s needs a file: %s(FILE)", kind, kind);
    const char *directory = s->arguments[0] == '/' || !s->directory ? "" : s->directory;
    const size_t bytes = strlen(directory) + strlen(s->arguments) + 2;
    void *path;
    HB_TRY(hb_allocate(s->context, bytes, 1, &path));
    snprintf(path, bytes, "%s%s%s", directory, directory[0] ? "/" : "", s->arguments);
    int n_axes = 0;
    uint64_t shape[4] = {0};
    hb_status status = hb_table_read(s->context, path, &n_axes, shape, values);
    hb_release(s->context, path);
    if (status != HB_OK) return status;
    *rows = shape[0];
    *columns = shape[1];
    if (n_axes <= 2 && shape[0] > 0) return HB_OK;
    hb_release(s->context, *values);
    *values = NULL;
    return hb_fail(s->context, HB_ERROR_ARGUMENT,
                   "%s: %s has %d axes and %llu rows; a table with rows is needed", kind,
                   s->arguments, n_axes, (unsigned long long)shape[0]);
}

static hb_status check_component(spec *s, size_t row, size_t columns, const double *values)
{
    for (size_t j = 0; j < columns; j++) {
        const int positive = j == 0 || j > (size_t)s->dim;
        HB_CHECK(s->context, isfinite(values[j]) && (!positive || values[j] > 0), HB_ERROR_ARGUMENT,
                 "mixture: %s has %g in row %zu, column %zu; weights and variances must be "
                 "positive, all numbers finite",
                 s->arguments, values[j], row + 1, j + 1);
    }
    return HB_OK;
}

static hb_status fill_mixture(spec *s, size_t rows, size_t columns, const double *values,
                              double *weights)
{
    const size_t d = (size_t)s->dim;
    hb_gaussians *gaussians = &s->initial->gaussians;
    HB_TRY(allocate_gaussians(s, rows, 0));
    for (size_t k = 0; k < rows; k++, values += columns) {
        HB_TRY(check_component(s, k, columns, values));
        weights[k] = values[0];
        for (size_t j = 0; j < d; j++) {
            gaussians->mean[k * d + j] = values[1 + j];
            gaussians->sd[k * d + j] = sqrt(values[1 + d + (columns == 2 * d + 1 ? j : 0)]);
        }
    }
    return hb_gaussians_prepare(s->context, s->dim, weights, gaussians);
}

static hb_status parse_mixture(spec *s)
{
    const uint64_t d = (uint64_t)s->dim;
    uint64_t rows, columns;
    double *values, *weights = NULL;
    HB_TRY(read_file(s, "mixture", &rows, &columns, &values));
    hb_status status = HB_OK;
    if (columns != 2 * d + 1 && columns != d + 2) {
        char shorter[60] = "";
        if (d > 1) snprintf(shorter, sizeof shorter, " or %zu (one variance)", (size_t)(d + 2));
        status = hb_fail(s->context, HB_ERROR_ARGUMENT,
                         "mixture: %s has %zu columns; for dim = %zu it must have %zu (%s)%s",
                         s->arguments, (size_t)columns, (size_t)d, (size_t)(2 * d + 1),
                         d > 1 ? "weight, means, variances" : "weight, mean, variance", shorter);
    }
    if (status == HB_OK) status = allocate_doubles(s->context, rows, &weights);
    if (status == HB_OK) status = fill_mixture(s, rows, columns, values, weights);
    hb_release(s->context, weights);
    hb_table_release(s->context, values);
    return status;
}

/* The width of axis j by Scott's rule. */
static hb_status scott_width(spec *s, size_t n, size_t j, const double *samples, double *width)
{
    const size_t d = (size_t)s->dim;
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        HB_CHECK(s->context, isfinite(samples[i * d + j]), HB_ERROR_ARGUMENT,
                 "samples: %s has %g in row %zu, column %zu; all numbers must be finite",
                 s->arguments, samples[i * d + j], i + 1, j + 1);
        mean += samples[i * d + j] / (double)n;
    }
    for (size_t i = 0; i < n; i++) squares += pow(samples[i * d + j] - mean, 2);
    *width = sqrt(squares / (double)(n - 1)) * pow((double)n, -1.0 / ((double)d + 4));
    HB_CHECK(s->context, *width > 0, HB_ERROR_ARGUMENT,
             "samples: column %zu of %s is constant; a density needs samples that differ", j + 1,
             s->arguments);
    return HB_OK;
}

static hb_status fill_samples(spec *s, size_t n, const double *samples)
{
    const size_t d = (size_t)s->dim;
    hb_gaussians *gaussians = &s->initial->gaussians;
    HB_TRY(allocate_gaussians(s, n, 1));
    memcpy(gaussians->mean, samples, n * d * sizeof *samples);
    for (size_t j = 0; j < d; j++) HB_TRY(scott_width(s, n, j, samples, gaussians->sd + j));
    return hb_gaussians_prepare(s->context, s->dim, NULL, gaussians);
}

static hb_status parse_samples(spec *s)
{
    uint64_t rows, columns;
    double *values;
    HB_TRY(read_file(s, "samples", &rows, &columns, &values));
    hb_status status = HB_OK;
    if (columns != (uint64_t)s->dim || rows < 2)
        status =
            hb_fail(s->context, HB_ERROR_ARGUMENT,
                    "samples: %s has %llu rows and %llu columns; it must have at least 2 rows "
                    "and dim = %d columns",
                    s->arguments, (unsigned long long)rows, (unsigned long long)columns, s->dim);
    if (status == HB_OK) status = fill_samples(s, rows, values);
    hb_table_release(s->context, values);
    return status;
}

/* ---- uniform -------------------------------------------------------------------------------- */

static hb_status parse_pair(spec *s, const char *piece, int axis)
{
    size_t count;
    double *pair;
    HB_TRY(read_numbers(s->context, "uniform", piece, &count, &pair));
    const double low = count > 0 ? pair[0] : NAN, high = count > 1 ? pair[1] : NAN;
    hb_release(s->context, pair);
    HB_CHECK(s->context, count == 2, HB_ERROR_ARGUMENT,
             "uniform: pair %d has %zu numbers; it must be two, low and high", axis + 1, count);
    HB_CHECK(s->context, low < high, HB_ERROR_ARGUMENT,
             "uniform: low is %g and high is %g on axis %d; low must be less than high", low, high,
             axis + 1);
    s->initial->low[axis] = low;
    s->initial->high[axis] = high;
    return HB_OK;
}

static hb_status parse_uniform(spec *s)
{
    const int d = s->dim;
    HB_TRY(allocate_doubles(s->context, (size_t)d, &s->initial->low));
    HB_TRY(allocate_doubles(s->context, (size_t)d, &s->initial->high));
    char *rest = s->arguments, *piece;
    int pairs = 0;
    for (; (piece = next_piece(&rest)) != NULL; pairs++)
        if (pairs < d) HB_TRY(parse_pair(s, piece, pairs));
    HB_CHECK(s->context, pairs == d || pairs == 1, HB_ERROR_ARGUMENT,
             "uniform: there are %d pairs; give one, or dim = %d, as in uniform(-1 1, 0 2)", pairs,
             d);
    for (int j = pairs; j < d; j++) {
        s->initial->low[j] = s->initial->low[0];
        s->initial->high[j] = s->initial->high[0];
    }
    return HB_OK;
}

/* ---- the kinds ------------------------------------------------------------------------------ */

static hb_status parse_stationary(spec *s)
{
    HB_CHECK(s->context, !s->arguments || !s->arguments[0], HB_ERROR_ARGUMENT,
             "stationary takes no arguments; it was given '%.40s'", s->arguments);
    return HB_OK;
}

static const struct {
    const char *name;
    hb_initial_kind kind;
    hb_status (*parse)(spec *s);
} kinds[] = {
    {"gaussian", HB_INITIAL_GAUSSIAN, parse_gaussian},
    {"mixture", HB_INITIAL_MIXTURE, parse_mixture},
    {"stationary", HB_INITIAL_STATIONARY, parse_stationary},
    {"samples", HB_INITIAL_SAMPLES, parse_samples},
    {"uniform", HB_INITIAL_UNIFORM, parse_uniform},
};

static hb_status parse_kind(spec *s, const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(name, kinds[i].name)) continue;
        s->initial->kind = kinds[i].kind;
        return kinds[i].parse(s);
    }
    return hb_fail(s->context, HB_ERROR_ARGUMENT,
                   "the initial density '%.40s' is not known; it must be gaussian(...), "
                   "mixture(FILE), stationary, samples(FILE) or uniform(...)",
                   name);
}

hb_status hb_initial_parse(hb_context *context, const char *text, const char *directory, int dim,
                           hb_initial *initial)
{
    char *copy;
    HB_TRY(hb_copy_string(context, text, &copy));
    spec s = {.context = context, .directory = directory, .dim = dim, .initial = initial};
    char *name = trim(copy), *open = strchr(name, '(');
    const size_t length = strlen(name);
    hb_status status = HB_OK;
    if (open && name[length - 1] != ')')
        status =
            hb_fail(context, HB_ERROR_ARGUMENT,
                    "the initial density '%.60s' does not end with the parenthesis it opens", name);
    if (status == HB_OK && open) {
        name[length - 1] = *open = '\0';
        s.arguments = trim(open + 1);
    }
    initial->dim = dim;
    if (status == HB_OK) status = parse_kind(&s, trim(name));
    hb_release(context, copy);
    return status;
}
