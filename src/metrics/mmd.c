/* Maximum mean discrepancy of two samples, with its error.
 *
 * With r_i, s_i the means of k(x_i, .) over the other x and over y, and t_j, q_j those of k(y_j, .)
 * over the other y and over x:
 *     mmd2 = mean r + mean t - 2 mean s               (unbiased; the biased one counts k(x_i, x_i)
 *     = 1 too)
 * Its variance by Hoeffding's decomposition of the three U-statistics, whose parts are
 * uncorrelated:
 *     4 Var f/n + 4 Var g/m + 2 vxx/(n(n-1)) + 2 vyy/(m(m-1)) + 4 vxy/(nm),
 *     f = E k(x,.) - E k(x,y) seen from x, g likewise from y,
 *     vxx = E k^2 - 2 E (E_x k)^2 + (E k)^2,  vxy = E k^2 - E (E_x k)^2 - E (E_y k)^2 + (E k)^2.
 * Var f is the spread of r_i - s_i less the noise vxx/(n-1) + vxy/m of these means. When the
 * distributions are equal the first order vanishes; its estimate then scatters around 0 and counts
 * only when positive, which makes the claimed error there too large, by about a quarter.
 * A. Gretton et al., A kernel two-sample test, JMLR 13, 2012; D. Sutherland, N. Deka, Unbiased
 * estimators for the variance of MMD estimators, 2019.
 *
 * A task is a block of rows against all columns, in pieces that stay in the cache; sums of a row
 * run over the columns in order, so that threads change no bit.
 * A number to reproduce: x = y gives a biased mmd of 0. */
#include "base/context.h"
#include "base/memory.h"
#include "base/sized.h"
#include "base/team_tasks.h"
#include "metrics/columns.h"
#include "metrics/distance_kernels.h"
#include "metrics/neighbours.h"

#include <heatball/metrics.h>
#include <math.h>
#include <string.h>

enum { ROWS = 32, LEAST_ROWS = 4 };

/* Kernel sums of each row of one sample over one sample, and what the variance needs of them. */
typedef struct row_sums {
    double *sum, *squares;                           // (rows)
    double mean, mean_square, mean_of_squared_means; /* E k, E k^2, E (E_row k)^2 */
} row_sums;

typedef struct mmd_run {
    hb_mmd_kernel kernel;
    size_t dim, rows;
    const double *a; // (rows, dim)
    const hb_columns *b;
    double scale;
    int single;
    row_sums *out;
} mmd_run;

static double mmd_add_parts(const double *parts)
{
    double sum[HB_MMD_LANES];
    memcpy(sum, parts, sizeof sum);
    for (size_t half = HB_MMD_LANES / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++) sum[i] += sum[i + half];
    return sum[0];
}

static hb_status mmd_sum_rows(void *user, size_t index, int thread)
{
    (void)thread;
    const mmd_run *run = user;
    const size_t first = index * ROWS;
    const size_t count = run->rows - first < ROWS ? run->rows - first : ROWS;
    const size_t width = run->b->width;
    double sum[ROWS][HB_MMD_LANES] = {{0}}, squares[ROWS][HB_MMD_LANES] = {{0}};
    for (size_t p = 0; p < run->b->pieces; p++)
        for (size_t i = 0; i < count; i++)
            run->kernel(run->dim, run->a + (first + i) * run->dim, width, width,
                        hb_columns_piece(run->b, p), run->scale, run->single, sum[i], squares[i]);
    for (size_t i = 0; i < count; i++) {
        run->out->sum[first + i] = mmd_add_parts(sum[i]);
        run->out->squares[first + i] = mmd_add_parts(squares[i]);
    }
    return HB_OK;
}

/* Means over the columns; `own` of them, the row itself with k = 1, are left out. Sums become
 * means. */
static void mmd_finish_rows(size_t rows, size_t columns, int own, row_sums *r)
{
    const double n = (double)(columns - (size_t)own);
    r->mean = r->mean_square = r->mean_of_squared_means = 0;
    for (size_t i = 0; i < rows; i++) {
        r->sum[i] = (r->sum[i] - own) / n;
        r->mean += r->sum[i];
        r->mean_square += (r->squares[i] - own) / n;
        r->mean_of_squared_means += r->sum[i] * r->sum[i];
    }
    r->mean /= (double)rows;
    r->mean_square /= (double)rows;
    r->mean_of_squared_means /= (double)rows;
}

/* ---- the estimate and its error ---- */

/* Variance over i of mean_a[i] - mean_b[i]. */
static double mmd_spread(size_t n, const double *mean_a, const double *mean_b, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double away = mean_a[i] - mean_b[i] - mean;
        sum += away * away;
    }
    return sum / (double)(n - 1);
}

static void mmd_combine(size_t rows_x, size_t rows_y, const row_sums *xx, const row_sums *xy,
                        const row_sums *yx, const row_sums *yy, hb_mmd *out)
{
    const double n = (double)rows_x, m = (double)rows_y;
    const double biased =
        (xx->mean * (n - 1) + 1) / n + (yy->mean * (m - 1) + 1) / m - 2 * xy->mean;
    const double vxx =
        fmax(0, xx->mean_square - 2 * xx->mean_of_squared_means + xx->mean * xx->mean);
    const double vyy =
        fmax(0, yy->mean_square - 2 * yy->mean_of_squared_means + yy->mean * yy->mean);
    const double vxy = fmax(0, xy->mean_square - xy->mean_of_squared_means -
                                   yx->mean_of_squared_means + xy->mean * xy->mean);
    const double second = 2 * vxx / (n * (n - 1)) + 2 * vyy / (m * (m - 1)) + 4 * vxy / (n * m);
    const double f =
        mmd_spread(rows_x, xx->sum, xy->sum, xx->mean - xy->mean) - vxx / (n - 1) - vxy / m;
    const double g =
        mmd_spread(rows_y, yy->sum, yx->sum, yy->mean - yx->mean) - vyy / (m - 1) - vxy / n;
    out->mmd2 = xx->mean + yy->mean - 2 * xy->mean;
    out->mmd = sqrt(fmax(0, biased));
    out->mmd2_se = sqrt(second + fmax(0, 4 * f / n + 4 * g / m));
}

typedef struct mmd_samples {
    size_t n[2];
    const double *rows[2]; // (n, dim)
    hb_columns columns[2];
    row_sums sums[2][2]; /* rows of the first over the second */
} mmd_samples;

static hb_status mmd_sum_all(hb_context *context, size_t dim, double scale, int single,
                             mmd_samples *s)
{
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            mmd_run run = {*hb_mmd_kernel_of(context->isa),
                           dim,
                           s->n[a],
                           s->rows[a],
                           &s->columns[b],
                           scale,
                           single,
                           &s->sums[a][b]};
            const size_t bytes = ROWS * sizeof(double), all = s->n[a] * sizeof(double);
            const hb_left left[] = {{run.out->sum, bytes, all}, {run.out->squares, bytes, all}};
            HB_TRY(hb_team_for(context, "discrepancy", (s->n[a] + ROWS - 1) / ROWS, mmd_sum_rows,
                               &run, 2, left));
            mmd_finish_rows(s->n[a], s->n[b], a == b, &s->sums[a][b]);
        }
    return HB_OK;
}

static hb_status mmd_allocate(hb_context *context, size_t dim, mmd_samples *s, hb_workspace *work)
{
    for (int a = 0; a < 2; a++) s->columns[a] = hb_columns_plan(s->n[a], dim);
    HB_TRY(HB_WORKSPACE(
        context, work, HB_COLUMNS(s->columns[0]), HB_COLUMNS(s->columns[1]),
        HB_ARRAY(s->sums[0][0].sum, s->n[0]), HB_ARRAY(s->sums[0][0].squares, s->n[0]),
        HB_ARRAY(s->sums[0][1].sum, s->n[0]), HB_ARRAY(s->sums[0][1].squares, s->n[0]),
        HB_ARRAY(s->sums[1][0].sum, s->n[1]), HB_ARRAY(s->sums[1][0].squares, s->n[1]),
        HB_ARRAY(s->sums[1][1].sum, s->n[1]), HB_ARRAY(s->sums[1][1].squares, s->n[1])));
    for (int a = 0; a < 2; a++) hb_columns_pack(s->rows[a], &s->columns[a]);
    return HB_OK;
}

hb_status hb_judge_mmd(hb_context *context, int dim, int single, size_t n, size_t m,
                       const double *x, const double *y, size_t size, hb_mmd *out)
{
    hb_mmd mmd;
    HB_SIZED_CHECK(context, hb_mmd, size, out);
    HB_TRY(hb_judge_check_rows(context, "x", LEAST_ROWS, n, dim, x));
    HB_TRY(hb_judge_check_rows(context, "y", LEAST_ROWS, m, dim, y));
    HB_TRY(hb_judge_median_distance(context, (size_t)dim, m, y, &mmd.bandwidth));
    mmd_samples s = {.n = {n, m}, .rows = {x, y}};
    hb_workspace work;
    HB_TRY(mmd_allocate(context, (size_t)dim, &s, &work));
    const hb_status status =
        mmd_sum_all(context, (size_t)dim, 0.5 / (mmd.bandwidth * mmd.bandwidth), single, &s);
    if (status == HB_OK)
        mmd_combine(n, m, &s.sums[0][0], &s.sums[0][1], &s.sums[1][0], &s.sums[1][1], &mmd);
    hb_workspace_destroy(&work);
    HB_SIZED_WRITE(mmd, size, out);
    return status;
}
