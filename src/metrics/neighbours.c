/* Nearest neighbours: precision, recall and memorisation of generated rows.
 *
 * With r_k(y) the distance of a row y to its k-th neighbour among the other rows of its set Y, the
 * balls of radius r_k(y) around the rows are an estimate of where the distribution of Y has mass;
 * so
 *     precision = fraction of x in X with |x - y| <= r_k(y) for some y in Y,    recall = the same,
 *     X <-> Y.
 * Precision falls when generated rows are where no data are, recall when they miss a part of the
 * data. T. Kynkaanniemi, T. Karras, S. Laine, J. Lehtinen, T. Aila, Improved precision and recall
 * metric for assessing generative models, NeurIPS 2019.
 *
 * Memorisation: distances to the nearest training row from generated rows beside those from
 * held-out real rows, which have the distribution of training rows but are no copies.
 *
 * A task takes a block of rows over all columns, in pieces that stay in the cache; what it keeps of
 * a row depends on the columns in order, so that threads change no bit. |a-b|^2 is the same bits as
 * |b-a|^2. Numbers to reproduce: X = Y gives precision and recall 1 and memorisation ratio 0. */
#include "metrics/neighbours.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/parallel.h"
#include "base/sized.h"
#include "metrics/columns.h"
#include "metrics/distance_kernels.h"

#include <heatball/metrics.h>
#include <math.h>

enum { ROWS = 32, MAX_WIDTH = 8192, MAX_K = 100 };

/* ---- rows over columns ---- */

typedef struct neighbour_run neighbour_run;
/* Takes the squared distances of row `row` to columns first .. first+count-1. */
typedef void (*neighbour_visit)(const neighbour_run *run, size_t row, size_t first, size_t count,
                                const double *squares);

struct neighbour_run {
    hb_distance_kernel kernel;
    size_t rows;
    const double *a; // (rows, dim)
    const hb_columns *b;
    neighbour_visit visit;
    int k;                 /* of radii */
    const double *radius2; // (b->n): of `cover`
    double *squares;       // (rows), or (rows, k) in rising order
    size_t *index;         // (rows) or NULL
    unsigned char *inside; // (rows)
};

static hb_status neighbour_visit_rows(void *user, size_t index, int thread)
{
    (void)thread;
    const neighbour_run *run = user;
    const hb_columns *b = run->b;
    const size_t first = index * ROWS;
    const size_t count = run->rows - first < ROWS ? run->rows - first : ROWS;
    double squares[MAX_WIDTH];
    for (size_t p = 0; p < b->pieces; p++) {
        const size_t start = p * b->width, left = b->n - start;
        for (size_t i = first; i < first + count; i++) {
            run->kernel(b->dim, run->a + i * b->dim, b->width, hb_columns_piece(b, p), squares);
            run->visit(run, i, start, left < b->width ? left : b->width, squares);
        }
    }
    return HB_OK;
}

static hb_status neighbour_visit_all(hb_context *context, neighbour_run *run)
{
    run->kernel = *hb_distance_kernel_of(context->isa);
    return hb_parallel_for(context, "neighbours", (run->rows + ROWS - 1) / ROWS,
                           neighbour_visit_rows, run);
}

/* ---- what is kept of a row ---- */

static void neighbour_keep_nearest(const neighbour_run *run, size_t row, size_t first, size_t count,
                                   const double *squares)
{
    double least = first == 0 ? INFINITY : run->squares[row];
    size_t at = first == 0 ? 0 : run->index[row];
    for (size_t j = 0; j < count; j++)
        if (squares[j] < least) {
            least = squares[j];
            at = first + j;
        }
    run->squares[row] = least;
    run->index[row] = at;
}

/* The k smallest, without the row itself. */
static void neighbour_keep_smallest(const neighbour_run *run, size_t row, size_t first,
                                    size_t count, const double *squares)
{
    const size_t k = (size_t)run->k;
    double *kept = run->squares + row * k; // (k)
    for (size_t j = 0; first == 0 && j < k; j++) kept[j] = INFINITY;
    for (size_t j = 0; j < count; j++) {
        if (squares[j] >= kept[k - 1] || first + j == row) continue;
        size_t place = k - 1;
        for (; place > 0 && kept[place - 1] > squares[j]; place--) kept[place] = kept[place - 1];
        kept[place] = squares[j];
    }
}

static void neighbour_cover(const neighbour_run *run, size_t row, size_t first, size_t count,
                            const double *squares)
{
    unsigned char inside = first == 0 ? 0 : run->inside[row];
    for (size_t j = 0; j < count; j++) inside |= squares[j] <= run->radius2[first + j];
    run->inside[row] = inside;
}

/* ---- checks and quantiles ---- */

hb_status hb_judge_check_rows(hb_context *context, const char *name, size_t least, size_t n,
                              int dim, const double *x)
{
    HB_CHECK(context, dim >= 1, HB_ERROR_ARGUMENT, "dim is %d; it must be 1 or more", dim);
    HB_CHECK(context, n >= least && x, HB_ERROR_ARGUMENT,
             "%s has %zu rows; it must have at least %zu", name, x ? n : 0, least);
    for (size_t i = 0; i < n * (size_t)dim; i++)
        HB_CHECK(context, isfinite(x[i]), HB_ERROR_ARGUMENT,
                 "%s has %g in row %zu, column %zu; it must have finite numbers", name, x[i],
                 i / (size_t)dim + 1, i % (size_t)dim + 1);
    return HB_OK;
}

double hb_judge_quantile(size_t n, const double *sorted, double q)
{
    const double place = q * (double)(n - 1);
    const size_t i = (size_t)place;
    if (i + 1 >= n) return sorted[n - 1];
    return sorted[i] + (place - (double)i) * (sorted[i + 1] - sorted[i]);
}

/* ---- nearest rows ---- */

/* distance[n] and index[n] of x over y, which are checked. */
static hb_status neighbour_distances(hb_context *context, int dim, size_t n, const double *x,
                                     size_t m, const double *y, size_t *index, double *distance)
{
    hb_columns columns = hb_columns_plan(m, (size_t)dim);
    hb_workspace work;
    double *squares;
    size_t *at;
    HB_TRY(
        HB_WORKSPACE(context, &work, HB_COLUMNS(columns), HB_ARRAY(squares, n), HB_ARRAY(at, n)));
    hb_columns_pack(y, &columns);
    neighbour_run run = {.rows = n,
                         .a = x,
                         .b = &columns,
                         .visit = neighbour_keep_nearest,
                         .squares = squares,
                         .index = at};
    const hb_status status = neighbour_visit_all(context, &run);
    for (size_t i = 0; status == HB_OK && i < n; i++) {
        if (index) index[i] = at[i];
        if (distance) distance[i] = sqrt(squares[i]);
    }
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_judge_nearest(hb_context *context, int dim, size_t n, size_t m, const double *x,
                           const double *y, size_t *index, double *distance)
{
    HB_TRY(hb_judge_check_rows(context, "x", 1, n, dim, x));
    HB_TRY(hb_judge_check_rows(context, "y", 1, m, dim, y));
    return neighbour_distances(context, dim, n, x, m, y, index, distance);
}

/* ---- memorisation ---- */

static void neighbour_compare(size_t n, double *own, size_t m, double *real, hb_memorisation *out)
{
    hb_sort(n, own);
    hb_sort(m, real);
    out->median = hb_judge_quantile(n, own, 0.5);
    out->real_median = hb_judge_quantile(m, real, 0.5);
    out->ratio = out->median / out->real_median;
    out->near = hb_judge_quantile(m, real, 0.01);
    size_t nearer = 0;
    while (nearer < n && own[nearer] < out->near) nearer++;
    out->fraction = (double)nearer / (double)n;
}

hb_status hb_judge_memorisation(hb_context *context, int dim, size_t n, size_t m, size_t n_t,
                                const double *x, const double *y, const double *t, size_t size,
                                hb_memorisation *out)
{
    hb_memorisation found;
    HB_SIZED_CHECK(context, hb_memorisation, size, out);
    HB_TRY(hb_judge_check_rows(context, "x", 1, n, dim, x));
    HB_TRY(hb_judge_check_rows(context, "y", 1, m, dim, y));
    HB_TRY(hb_judge_check_rows(context, "t", 1, n_t, dim, t));
    void *memory;
    HB_TRY(hb_allocate(context, n + m, sizeof(double), &memory));
    double *own = memory, *real = own + n; // (n), (m)
    hb_status status = neighbour_distances(context, dim, n, x, n_t, t, NULL, own);
    if (status == HB_OK) status = neighbour_distances(context, dim, m, y, n_t, t, NULL, real);
    if (status == HB_OK) neighbour_compare(n, own, m, real, &found);
    hb_release(context, memory);
    if (status != HB_OK) return status;
    HB_CHECK(context, found.real_median > 0, HB_ERROR_ARGUMENT,
             "half of the rows of y are rows of t; held-out rows must not be training rows");
    HB_SIZED_WRITE(found, size, out);
    return HB_OK;
}

/* ---- precision and recall ---- */

typedef struct manifold {
    size_t n;
    const double *x; // (n, dim)
    hb_columns columns;
    double *smallest;      // (n, k)
    double *radius2;       // (n)
    unsigned char *inside; // (n): whether the other set covers the row
} manifold;

/* Its arrays in the table of a workspace. */
#define MANIFOLD(set, k)                                                                           \
    HB_COLUMNS((set).columns), HB_ARRAY((set).smallest, (set).n *(size_t)(k)),                     \
        HB_ARRAY((set).radius2, (set).n), HB_ARRAY((set).inside, (set).n)

static hb_status manifold_find_radii(hb_context *context, int k, manifold *set)
{
    hb_columns_pack(set->x, &set->columns);
    neighbour_run run = {.rows = set->n,
                         .a = set->x,
                         .b = &set->columns,
                         .visit = neighbour_keep_smallest,
                         .k = k,
                         .squares = set->smallest};
    HB_TRY(neighbour_visit_all(context, &run));
    for (size_t i = 0; i < set->n; i++) set->radius2[i] = set->smallest[(i + 1) * (size_t)k - 1];
    return HB_OK;
}

/* The fraction of the rows that lie in the balls of the other set. */
static hb_status manifold_fraction_inside(hb_context *context, manifold *rows,
                                          const manifold *balls, double *share)
{
    neighbour_run run = {.rows = rows->n,
                         .a = rows->x,
                         .b = &balls->columns,
                         .visit = neighbour_cover,
                         .radius2 = balls->radius2,
                         .inside = rows->inside};
    HB_TRY(neighbour_visit_all(context, &run));
    size_t inside = 0;
    for (size_t i = 0; i < rows->n; i++) inside += rows->inside[i];
    *share = (double)inside / (double)rows->n;
    return HB_OK;
}

hb_status hb_judge_precision_recall(hb_context *context, int dim, int k, size_t n, size_t m,
                                    const double *x, const double *y, double *precision,
                                    double *recall)
{
    HB_CHECK(context, k >= 1 && k <= MAX_K, HB_ERROR_ARGUMENT, "k is %d; it must be 1 to %d", k,
             MAX_K);
    HB_TRY(hb_judge_check_rows(context, "x", (size_t)k + 1, n, dim, x));
    HB_TRY(hb_judge_check_rows(context, "y", (size_t)k + 1, m, dim, y));
    manifold made = {.n = n, .x = x, .columns = hb_columns_plan(n, (size_t)dim)};
    manifold real = {.n = m, .x = y, .columns = hb_columns_plan(m, (size_t)dim)};
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(context, &work, MANIFOLD(made, k), MANIFOLD(real, k)));
    hb_status status = manifold_find_radii(context, k, &made);
    if (status == HB_OK) status = manifold_find_radii(context, k, &real);
    if (status == HB_OK) status = manifold_fraction_inside(context, &made, &real, precision);
    if (status == HB_OK) status = manifold_fraction_inside(context, &real, &made, recall);
    hb_workspace_destroy(&work);
    return status;
}
