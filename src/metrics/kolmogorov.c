/* Kolmogorov's distance of two samples, column by column, and what it is by chance.
 *
 *     D_j = sup_t |fraction of x_j <= t - fraction of y_j <= t|,      x (n rows), y (m rows)
 * Its floor is the value that samples of equal distributions reach in some of `dim` columns with
 * probability 5 % at most: P(D >= floor) <= 0.05/dim for each (Bonferroni). Two samples of one
 * continuous distribution are a random walk from (0,0) to (n,m) on the lattice, one step for each
 * row in rising order; D >= c means that it leaves the strip |i/n - j/m| < c, and the fraction of
 * the walks that stay obeys
 *     p(i,j) = i/(i+j) p(i-1,j) + j/(i+j) p(i,j-1)   inside,   0 outside,
 * exactly (J. L. Hodges, Arkiv for Matematik 3, 1958). Above EXACT lattice points Kolmogorov's
 * limit is taken: P(D >= c) = 2 sum (-1)^(k-1) exp(-2 k^2 c^2 nm/(n+m)). Ties make D smaller, so
 * for whole numbers the floor is on the safe side. A number to reproduce: n = m = 10, dim 1: P(D >=
 * 0.7) = 0.0123. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "metrics/neighbours.h"

#include <heatball/metrics.h>
#include <math.h>

enum { EXACT = 1000000, HALVINGS = 40, TERMS = 100 };
static const double LEVEL = 0.05;

/* Of rising values a[n] and b[m]. */
static double kolmogorov_distance(size_t n, const double *a, size_t m, const double *b)
{
    double most = 0;
    for (size_t i = 0, j = 0; i < n && j < m;) {
        const double t = a[i] < b[j] ? a[i] : b[j];
        while (i < n && a[i] <= t) i++;
        while (j < m && b[j] <= t) j++;
        most = fmax(most, fabs((double)i / (double)n - (double)j / (double)m));
    }
    return most;
}

/* ---- the distribution of D ---- */

/* 1 - P(D >= c) over the lattice; p (m + 1). */
static double kolmogorov_stay(size_t n, size_t m, double c, double *p)
{
    const double edge = c * (1 - 1e-12); /* a distance that is c to rounding is outside */
    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; j <= m; j++) {
            const double away = fabs((double)i / (double)n - (double)j / (double)m);
            const double left = i > 0 ? p[j] : 0, below = j > 0 ? p[j - 1] : 0;
            const double sum = (double)(i + j);
            p[j] = i + j == 0 ? 1 : ((double)i * left + (double)j * below) / sum;
            if (away >= edge && i + j > 0) p[j] = 0;
        }
    return p[m];
}

static double kolmogorov_leave_limit(size_t n, size_t m, double c)
{
    const double square = c * c * ((double)n * (double)m / ((double)n + (double)m));
    double sum = 0;
    if (square < 0.04) return 1; /* the limit is 1 to ten digits */
    for (int k = 1; k <= TERMS; k++)
        sum += (k % 2 ? 2 : -2) * exp(-2 * (double)k * (double)k * square);
    return fmin(fmax(sum, 0), 1);
}

static double kolmogorov_leave(size_t n, size_t m, double c, double *p)
{
    return p ? 1 - kolmogorov_stay(n, m, c, p) : kolmogorov_leave_limit(n, m, c);
}

/* The least c, to 2^-40, with P(D >= c) <= level; 1 where there is none below. */
static double kolmogorov_quantile(size_t n, size_t m, double level, double *p)
{
    double low = 0, high = 1;
    for (int k = 0; k < HALVINGS && high - low > 1e-5; k++) {
        const double middle = (low + high) / 2;
        if (kolmogorov_leave(n, m, middle, p) <= level)
            high = middle;
        else
            low = middle;
    }
    return high;
}

static hb_status kolmogorov_floor(hb_context *context, int dim, size_t n, size_t m, double *floor)
{
    const int exact = (double)n * (double)m <= EXACT;
    void *p = NULL;
    if (exact) HB_TRY(hb_allocate(context, m + 1, sizeof(double), &p));
    *floor = kolmogorov_quantile(n, m, LEVEL / dim, p);
    hb_release(context, p);
    return HB_OK;
}

/* ---- columns ---- */

typedef struct column_job {
    size_t n, m, dim;
    const double *x, *y; // (n, dim), (m, dim)
    double *scratch;     // (threads, n + m)
    double *distance;    // (dim)
} column_job;

static hb_status kolmogorov_column(void *user, size_t j, int thread)
{
    const column_job *job = user;
    double *a = job->scratch + (size_t)thread * (job->n + job->m), *b = a + job->n;
    for (size_t i = 0; i < job->n; i++) a[i] = job->x[i * job->dim + j];
    for (size_t i = 0; i < job->m; i++) b[i] = job->y[i * job->dim + j];
    hb_sort(job->n, a);
    hb_sort(job->m, b);
    job->distance[j] = kolmogorov_distance(job->n, a, job->m, b);
    return HB_OK;
}

hb_status hb_judge_kolmogorov(hb_context *context, int dim, size_t n, size_t m, const double *x,
                              const double *y, double *distance, double *floor)
{
    HB_CHECK(context, distance, HB_ERROR_ARGUMENT, "distance is NULL");
    HB_TRY(hb_judge_check_rows(context, "x", 1, n, dim, x));
    HB_TRY(hb_judge_check_rows(context, "y", 1, m, dim, y));
    const size_t threads = dim < context->threads ? (size_t)dim : (size_t)context->threads;
    void *scratch;
    HB_TRY(hb_allocate(context, threads * (n + m), sizeof(double), &scratch));
    column_job job = {n, m, (size_t)dim, x, y, scratch, distance};
    hb_status status = hb_parallel_for(context, NULL, (size_t)dim, kolmogorov_column, &job);
    hb_release(context, scratch);
    if (status == HB_OK && floor) status = kolmogorov_floor(context, dim, n, m, floor);
    return status;
}
