/* The three exact samplers of the heat-ball measures, each from one Gaussian vector.
 *
 * With D = dim + lift, g a standard normal vector and L = -ln(4 pi sigma), L is Gamma distributed
 * and t = |z|^2/R(sigma)^2 is Beta distributed, independent of L and of the direction; sums of
 * squares of normals are exactly such variables (docs/samplers.md):
 *
 *     measure   normals  sigma                      z, first dim coordinates of
 *     kappa     D+4      exp(-|g|^2/D)/(4 pi)       sqrt(2 sigma) |g_1..D+2| g/|g_1..D|
 *     source    D+4      exp(-|g|^2/(D+2))/(4 pi)   sqrt(2D sigma/(D+2)) g
 *     gradient  D+3      exp(-|g|^2/(D+1))/(4 pi)   sqrt(2D sigma/(D+1)) |g_1..D+1| g/|g_1..D|
 *
 * Only g_1..dim are needed one by one; the other squares enter as sums, and two squares sum to
 * -2 ln(uniform). So draw i takes dim normals and a few uniforms, each from its own stream:
 *     coordinates  normals  i*dim .. i*dim+dim-1
 *     lift pairs   uniforms i*(lift/2) .. i*(lift/2)+lift/2-1
 *     lift odd     normal   i, when lift is odd
 *     inner        normal   i, for gradient
 *     pairs        uniforms 2i, 2i+1; for gradient uniform i
 * In the plane without lift one kernel makes the whole draw (sample_kernels.c).
 *
 * Must reproduce: under kappa |z|^2/(2 sigma) is chi^2(dim+2) and ln Phi is Exp(1), independent. */
#include "ball/check.h"
#include "ball/sample_kernels.h"
#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "random/fill.h"
#include "random/streams.h"

#include <math.h>
#include <string.h>

enum {
    CHUNK_DOUBLES = 4096, /* coordinates held at a time: they stay in the core's own cache */
    CHUNK_ROWS = 1024,    /* rows at most */
    CHUNKS_PER_TASK = 8,  /* a thread takes this many chunks at a time */
    PRODUCT = 8,          /* uniforms multiplied before a logarithm: 2^(-53*8) does not underflow */
    ROW_ARRAYS = 8        /* arrays of one double per row in a thread's scratch */
};

/* What a stream of the generator is used for; see stream_of. */
typedef enum purpose { COORDINATES, LIFT_PAIRS, LIFT_ODD, INNER, PAIRS } purpose;

typedef struct sampler {
    const hb_vector_kernels *random;
    const hb_sample_kernels *kernels;
    hb_measure measure;
    size_t dim, lift;
    hb_sample_law law;
    uint64_t seed, first;
    size_t n, chunk_rows;
    double *z, *sigma; /* the outputs that are wanted: (n, dim), (n); the others are NULL */
    double *rows;      /* (n, dim+1) */
    float *rows_f32;   /* (n, dim+1) */
    double *scratch;   /* of all threads */
    size_t scratch_doubles;
} sampler;

/* Private arrays of one thread; the row arrays hold chunk_rows rounded up to HB_BLOCK_GROUP. */
typedef struct scratch {
    double *g;                                    // (chunk_rows, dim)
    double *norm;                                 // (rows): |g_1..D|^2
    double *inner, *total, *sigma, *scale, *draw; // (rows)
    double *pairs;                                // (rows, 2)
    double *lift;                                 // (rows of a block, lift/2)
    double *out;                                  // (chunk_rows, dim+1) for float output
} scratch;

/* Measure, dim and lift enter, so that samples of different kinds under one seed are independent. */
static uint64_t stream_of(const sampler *s, purpose use)
{
    return HB_STREAM_HEAT_BALL | (uint64_t)s->measure << 60 | (uint64_t)use << 56 |
           (uint64_t)s->lift << 24 | (uint64_t)s->dim;
}

static void draw_uniform(const sampler *s, purpose use, uint64_t first, size_t n, double *out)
{
    hb_fill_uniform(s->random, s->seed, stream_of(s, use), first, n, out);
}

static void draw_normal(const sampler *s, purpose use, uint64_t first, size_t n, double *out)
{
    hb_fill_normal(s->random, s->seed, stream_of(s, use), first, n, out);
}

static size_t round_up(size_t n)
{
    return (n + HB_BLOCK_GROUP - 1) / HB_BLOCK_GROUP * HB_BLOCK_GROUP;
}

/* x <- -2 ln x, x <- exp(x) on n rows; the rest of the last group gets a harmless argument. */
static void minus_two_log(const sampler *s, size_t n, double *x)
{
    for (size_t i = n; i < round_up(n); i++) x[i] = 0.5;
    s->random->minus_two_log(round_up(n), x);
}

static void exponential(const sampler *s, size_t n, double *x)
{
    for (size_t i = n; i < round_up(n); i++) x[i] = 0;
    s->random->exp(round_up(n), x);
}

/* norm += the squares of the lifted coordinates: -2 ln of products of uniforms, and one square. */
static void add_lift(const sampler *s, const scratch *w, uint64_t row, size_t n)
{
    const size_t pairs = s->lift / 2;
    const size_t block = pairs && pairs < CHUNK_DOUBLES ? CHUNK_DOUBLES / pairs : 1;
    for (size_t start = 0; start < n && pairs > 0; start += block) {
        const size_t rows = n - start < block ? n - start : block;
        draw_uniform(s, LIFT_PAIRS, (row + start) * pairs, rows * pairs, w->lift);
        for (size_t done = 0; done < pairs; done += PRODUCT) {
            const size_t count = pairs - done < PRODUCT ? pairs - done : PRODUCT;
            s->kernels->row_products(rows, count, pairs, w->lift + done, w->draw);
            minus_two_log(s, rows, w->draw);
            s->kernels->add(rows, 1, w->draw, w->norm + start);
        }
    }
    if (s->lift % 2 == 1) {
        draw_normal(s, LIFT_ODD, row, n, w->draw);
        s->kernels->add_squares(n, w->draw, w->norm);
    }
}

/* inner = norm + the squares up to the radial count; total = all squares. Of a pair of uniforms the
 * first belongs to inner and the second to the rest; gradient has a normal for inner and one
 * uniform, source needs only the sum of both. */
static void add_inner_and_outer(const sampler *s, const scratch *w, uint64_t row, size_t n)
{
    const hb_sample_kernels *kernels = s->kernels;
    memcpy(w->inner, w->norm, n * sizeof *w->inner);
    if (s->measure == HB_MEASURE_KAPPA) {
        draw_uniform(s, PAIRS, 2 * row, 2 * n, w->pairs);
        minus_two_log(s, 2 * n, w->pairs);
        kernels->add(n, 2, w->pairs, w->inner);
        memcpy(w->total, w->inner, n * sizeof *w->total);
        kernels->add(n, 2, w->pairs + 1, w->total);
        return;
    }
    if (s->measure == HB_MEASURE_SOURCE) {
        draw_uniform(s, PAIRS, 2 * row, 2 * n, w->pairs);
        kernels->row_products(n, 2, 2, w->pairs, w->draw);
    } else {
        draw_normal(s, INNER, row, n, w->draw);
        kernels->add_squares(n, w->draw, w->inner);
        draw_uniform(s, PAIRS, row, n, w->draw);
    }
    minus_two_log(s, n, w->draw);
    memcpy(w->total, w->inner, n * sizeof *w->total);
    kernels->add(n, 1, w->draw, w->total);
}

/* Rows row .. row+n-1 for any dimension: g, sigma and scale. */
static void sample_general(const sampler *s, const scratch *w, uint64_t row, size_t n)
{
    draw_normal(s, COORDINATES, row * s->dim, n * s->dim, w->g);
    s->kernels->row_sums(n, s->dim, w->g, w->norm);
    add_lift(s, w, row, n);
    add_inner_and_outer(s, w, row, n);
    s->kernels->exponents(n, &s->law, w->total, w->sigma);
    exponential(s, n, w->sigma);
    s->kernels->scales(n, &s->law, w->norm, w->inner, w->sigma, w->scale);
}

static int is_planar(const sampler *s)
{
    return s->dim == 2 && s->lift == 0 && s->measure != HB_MEASURE_GRADIENT;
}

/* Rows row .. row+n-1 in the plane: z (n, 2) and sigma (n), up to the end of the last group. */
static void sample_planar(const sampler *s, uint64_t row, size_t n, double *z, double *sigma)
{
    s->kernels->planar(round_up(n), &s->law, s->seed, stream_of(s, COORDINATES),
                       stream_of(s, PAIRS), row, z, sigma);
}

/* z, (n, dim), of the chunk. */
static void write_z(const sampler *s, const scratch *w, size_t n, double *z)
{
    if (is_planar(s))
        memcpy(z, w->g, 2 * n * sizeof *z);
    else
        s->kernels->scale_rows(n, s->dim, w->g, w->scale, s->dim, z);
}

/* Rows z_1 .. z_dim, sigma of the chunk. */
static void write_rows(const sampler *s, const scratch *w, size_t n, double *rows)
{
    const size_t stride = s->dim + 1;
    if (is_planar(s)) {
        s->kernels->join_triples(n, w->g, w->sigma, rows);
        return;
    }
    s->kernels->scale_rows(n, s->dim, w->g, w->scale, stride, rows);
    for (size_t i = 0; i < n; i++) rows[i * stride + s->dim] = w->sigma[i];
}

static void write_rows_f32(const sampler *s, const scratch *w, size_t n, float *rows)
{
    write_rows(s, w, n, w->out);
    for (size_t i = 0; i < n * (s->dim + 1); i++) rows[i] = (float)w->out[i];
}

/* Rows start .. start+n-1 of the request, n <= chunk_rows. */
static void sample_chunk(const sampler *s, const scratch *w, size_t start, size_t n)
{
    if (is_planar(s) && s->z && s->sigma && n == round_up(n)) { /* no copy through the scratch */
        sample_planar(s, s->first + start, n, s->z + 2 * start, s->sigma + start);
        return;
    }
    if (is_planar(s))
        sample_planar(s, s->first + start, n, w->g, w->sigma);
    else
        sample_general(s, w, s->first + start, n);
    if (s->z) write_z(s, w, n, s->z + start * s->dim);
    if (s->sigma) memcpy(s->sigma + start, w->sigma, n * sizeof *w->sigma);
    if (s->rows) write_rows(s, w, n, s->rows + start * (s->dim + 1));
    if (s->rows_f32) write_rows_f32(s, w, n, s->rows_f32 + start * (s->dim + 1));
}

/* Sizes in doubles of a thread's arrays: whole groups, so that kernels may run past the last row.
 */
static size_t coordinate_doubles(const sampler *s)
{
    return is_planar(s) ? 2 * round_up(s->chunk_rows) : round_up(s->chunk_rows * s->dim);
}

static size_t lift_doubles(const sampler *s)
{
    return s->lift < 2 ? 0 : round_up(s->lift / 2 > CHUNK_DOUBLES ? s->lift / 2 : CHUNK_DOUBLES);
}

static scratch carve(const sampler *s, int thread)
{
    double *at = s->scratch + (size_t)thread * s->scratch_doubles;
    scratch w = {.g = at};
    at += coordinate_doubles(s);
    double **row_array[ROW_ARRAYS] = {&w.norm,  &w.inner, &w.total, &w.sigma,
                                      &w.scale, &w.draw,  &w.pairs};
    for (size_t i = 0; i < 7; i++, at += round_up(s->chunk_rows)) *row_array[i] = at;
    at += round_up(s->chunk_rows); /* pairs takes two */
    w.lift = at;
    w.out = at + lift_doubles(s);
    return w;
}

static hb_status sample_task(void *user, size_t index, int thread)
{
    const sampler *s = user;
    const scratch w = carve(s, thread);
    const size_t rows = s->chunk_rows * CHUNKS_PER_TASK;
    const size_t end = s->n - index * rows < rows ? s->n : (index + 1) * rows;
    for (size_t start = index * rows; start < end; start += s->chunk_rows)
        sample_chunk(s, &w, start, end - start < s->chunk_rows ? end - start : s->chunk_rows);
    return HB_OK;
}

static hb_sample_law law_of(hb_measure measure, double D, double radius)
{
    hb_sample_law law = {.sigma_factor = radius * radius / (4 * M_PI), .radial = 1};
    law.rate = measure == HB_MEASURE_KAPPA ? D : measure == HB_MEASURE_SOURCE ? D + 2 : D + 1;
    law.scale_factor = 2 * D / law.rate;
    law.radial = measure != HB_MEASURE_SOURCE;
    return law;
}

static hb_status run(hb_context *context, sampler *s)
{
    s->random = hb_vector_kernels_of(context->isa);
    s->kernels = hb_sample_kernels_of(context->isa);
    s->chunk_rows = CHUNK_DOUBLES / s->dim;
    if (s->chunk_rows > CHUNK_ROWS) s->chunk_rows = CHUNK_ROWS;
    if (s->chunk_rows < 1) s->chunk_rows = 1;
    s->scratch_doubles = coordinate_doubles(s) + ROW_ARRAYS * round_up(s->chunk_rows) +
                         lift_doubles(s) +
                         (s->rows_f32 ? round_up(s->chunk_rows * (s->dim + 1)) : 0);
    const size_t rows = s->chunk_rows * CHUNKS_PER_TASK;
    const size_t tasks = s->n / rows + (s->n % rows != 0);
    const size_t threads = (size_t)context->threads < tasks ? (size_t)context->threads : tasks;
    void *memory;
    HB_TRY(hb_allocate(context, threads * s->scratch_doubles, sizeof(double), &memory));
    s->scratch = memory;
    hb_status status = hb_parallel_for(context, "sample", tasks, sample_task, s);
    hb_release(context, memory);
    return status;
}

static hb_status check(hb_context *context, hb_measure measure, int dim, int lift, double radius,
                       uint64_t first, size_t n)
{
    HB_TRY(hb_ball_check_measure(context, measure));
    HB_TRY(hb_ball_check(context, dim, lift, radius));
    HB_CHECK(context, isnormal(radius * radius), HB_ERROR_ARGUMENT,
             "radius is %g; its square must be a normal double", radius);
    const uint64_t per_row = (uint64_t)(dim > lift ? dim : lift);
    HB_CHECK(context, n <= UINT64_MAX / per_row && first <= UINT64_MAX / per_row - n,
             HB_ERROR_ARGUMENT, "first + n is beyond the %llu draws of dimension %d",
             (unsigned long long)(UINT64_MAX / per_row), dim);
    return HB_OK;
}

static sampler make_sampler(hb_measure measure, int dim, int lift, double radius, uint64_t seed,
                            uint64_t first, size_t n)
{
    return (sampler){.measure = measure,
                     .dim = (size_t)dim,
                     .lift = (size_t)lift,
                     .law = law_of(measure, (double)dim + lift, radius),
                     .seed = seed,
                     .first = first,
                     .n = n};
}

hb_status hb_ball_sample(hb_context *context, hb_measure measure, int dim, int lift, uint64_t seed,
                         uint64_t first, size_t n, double radius, double *z, double *sigma)
{
    HB_TRY(check(context, measure, dim, lift, radius, first, n));
    sampler s = make_sampler(measure, dim, lift, radius, seed, first, n);
    s.z = z;
    s.sigma = sigma;
    return run(context, &s);
}

hb_status hb_ball_sample_rows(hb_context *context, hb_measure measure, int dim, int lift,
                              uint64_t seed, uint64_t first, size_t n, double radius, double *rows)
{
    HB_TRY(check(context, measure, dim, lift, radius, first, n));
    HB_CHECK(context, rows != NULL || n == 0, HB_ERROR_ARGUMENT,
             "rows is NULL; it must hold %zu rows", n);
    sampler s = make_sampler(measure, dim, lift, radius, seed, first, n);
    s.rows = rows;
    return run(context, &s);
}

hb_status hb_ball_sample_rows_f32(hb_context *context, hb_measure measure, int dim, int lift,
                                  uint64_t seed, uint64_t first, size_t n, double radius,
                                  float *rows)
{
    HB_TRY(check(context, measure, dim, lift, radius, first, n));
    HB_CHECK(context, rows != NULL || n == 0, HB_ERROR_ARGUMENT,
             "rows is NULL; it must hold %zu rows", n);
    sampler s = make_sampler(measure, dim, lift, radius, seed, first, n);
    s.rows_f32 = rows;
    return run(context, &s);
}
