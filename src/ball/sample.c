/* The three exact samplers of the heat-ball measures, each from one Gaussian vector.
 *
 * With D = dim + lift, g a standard normal vector and L = -ln(4 pi sigma), L is Gamma distributed
 * and t = |z|^2/R(sigma)^2 is Beta distributed, independent of L and of the direction; sums of
 * squares of normals are exactly such variables (docs/explanation/samplers.md):
 *
 *     measure   normals  sigma                      z, first dim coordinates of
 *     kappa     D+4      exp(-|g|^2/D)/(4 pi)       sqrt(2 sigma) |g_1..D+2| g/|g_1..D|
 *     source    D+4      exp(-|g|^2/(D+2))/(4 pi)   sqrt(2D sigma/(D+2)) g
 *     gradient  D+3      exp(-|g|^2/(D+1))/(4 pi)   sqrt(2D sigma/(D+1)) |g_1..D+1| g/|g_1..D|
 *
 * Only g_1..dim are needed one by one; the other squares enter as sums, and two squares sum to
 * -2 ln(uniform). So draw i takes dim normals and a few uniforms, each from its own stream:
 *     coordinates  normals  i*dim .. i*dim+dim-1
 *     auxiliary    uniforms i*(lift/2) .. i*(lift/2)+lift/2-1
 *     the odd one  normal   i, when lift is odd
 *     inner        normal   i, for gradient
 *     pairs        uniforms 2i, 2i+1; for gradient uniform i
 * In two dimensions without auxiliary ones one kernel makes the whole draw (sample_kernels.c).
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

/* Rows are made by tiles, whose coordinates stay in the core's own cache, and tiles by chunks,
 * whose rows are many enough that what is drawn once per row costs little. */
enum {
    TILE_DOUBLES = 8192,
    TILE_ROWS = 1024, /* at most */
    TILES_PER_CHUNK = 8,
    CHUNK_ROWS = 256,    /* at most, unless one tile has more */
    CHUNKS_PER_TASK = 4, /* a thread takes this many at a time */
    PRODUCT = 8,         /* uniforms multiplied before a logarithm: 2^(-53*8) does not underflow */
    TILE_ARRAYS = 5,     /* of one double per row of a tile in a thread's scratch */
    CHUNK_ARRAYS = 3     /* of one double per row of a chunk */
};

/* What a stream of the generator is used for; see stream_of. */
typedef enum purpose { COORDINATES, AUXILIARY_PAIRS, AUXILIARY_ODD, INNER, PAIRS } purpose;

typedef struct sampler {
    const hb_vector_kernels *random;
    const hb_sample_kernels *kernels;
    hb_measure measure;
    size_t dim, lift;
    hb_sample_law law;
    uint64_t seed, first;
    size_t n, tile_rows, chunk_rows;
    double *z, *sigma; /* the outputs that are wanted: (n, dim), (n); the others are NULL */
    double *rows;      /* (n, dim+1) */
    float *rows_f32;   /* (n, dim+1) */
    double *scratch;   /* of all threads */
    size_t scratch_doubles;
} sampler;

/* Private arrays of one thread; tile and chunk: their rows, rounded up to HB_BLOCK_GROUP. */
typedef struct scratch {
    double *g;                            // (tile, dim)
    double *norm;                         // (tile): |g_1..D|^2
    double *inner, *sigma, *scale, *draw; // (tile)
    double *pairs;                        // (chunk, 2)
    double *outer;                        // (chunk)
    double *lift;                         // (rows of a block, lift/2)
    double *out;                          // (tile, dim+1) for float output
} scratch;

/* Measure, dim and lift enter, so that samples of different kinds under one seed are
 * independent. */
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

static size_t sample_round_up(size_t n)
{
    return (n + HB_BLOCK_GROUP - 1) / HB_BLOCK_GROUP * HB_BLOCK_GROUP;
}

/* Gives the rest of the last vector a harmless argument; returns the doubles with it. */
static size_t sample_pad(size_t n, double *x, double harmless)
{
    for (; n % HB_VECTOR_GROUP != 0; n++) x[n] = harmless;
    return n;
}

/* x <- -2 ln x, x <- exp(x) on n rows. */
static void minus_two_log(const sampler *s, size_t n, double *x)
{
    s->random->minus_two_log(sample_pad(n, x, 0.5), x);
}

static void exponential(const sampler *s, size_t n, double *x)
{
    s->random->exp(sample_pad(n, x, 0), x);
}

/* norm += the squares of the auxiliary coordinates: -2 ln of products of uniforms, and one
 * square. */
static void add_auxiliary(const sampler *s, const scratch *w, uint64_t row, size_t n)
{
    const size_t pairs = s->lift / 2;
    const size_t block = pairs && pairs < TILE_DOUBLES ? TILE_DOUBLES / pairs : 1;
    for (size_t start = 0; start < n && pairs > 0; start += block) {
        const size_t rows = n - start < block ? n - start : block;
        draw_uniform(s, AUXILIARY_PAIRS, (row + start) * pairs, rows * pairs, w->lift);
        for (size_t done = 0; done < pairs; done += PRODUCT) {
            const size_t count = pairs - done < PRODUCT ? pairs - done : PRODUCT;
            s->kernels->row_products(rows, count, pairs, w->lift + done, w->draw);
            minus_two_log(s, rows, w->draw);
            s->kernels->add(rows, w->draw, w->norm + start);
        }
    }
    if (s->lift % 2 == 1) {
        draw_normal(s, AUXILIARY_ODD, row, n, w->draw);
        s->kernels->add_squares(n, w->draw, w->norm);
    }
}

/* The squares beside the coordinates, of rows row .. row+n-1 of a chunk. Of a pair of uniforms the
 * first belongs to inner and the second is outer; source needs only the sum of both; gradient has a
 * normal for inner, here not squared yet, and one uniform. */
static void draw_beside(const sampler *s, const scratch *w, uint64_t row, size_t n)
{
    if (s->measure == HB_MEASURE_GRADIENT) {
        draw_normal(s, INNER, row, n, w->pairs);
        draw_uniform(s, PAIRS, row, n, w->outer);
        minus_two_log(s, n, w->outer);
        return;
    }
    draw_uniform(s, PAIRS, 2 * row, 2 * n, w->pairs);
    if (s->measure == HB_MEASURE_KAPPA) {
        minus_two_log(s, 2 * n, w->pairs);
    } else {
        s->kernels->row_products(n, 2, 2, w->pairs, w->outer);
        minus_two_log(s, n, w->outer);
    }
}

/* inner = norm + the squares up to the radial count (source has none); sigma and scale from it, for
 * the n rows of the chunk from row `at` on. */
static void add_beside(const sampler *s, const scratch *w, size_t at, size_t n)
{
    const hb_sample_kernels *kernels = s->kernels;
    const double *inner = w->inner, *outer = w->outer + at;
    size_t stride = 1;
    if (s->measure == HB_MEASURE_KAPPA) {
        kernels->inner_of_pairs(n, w->pairs + 2 * at, w->norm, w->inner);
        outer = w->pairs + 2 * at + 1;
        stride = 2;
    } else if (s->measure == HB_MEASURE_GRADIENT) {
        memcpy(w->inner, w->norm, n * sizeof *w->inner);
        kernels->add_squares(n, w->pairs + at, w->inner);
    } else {
        inner = w->norm;
    }
    kernels->exponents(n, &s->law, inner, outer, stride, w->sigma);
    exponential(s, n, w->sigma);
    kernels->scales(n, &s->law, w->norm, inner, w->sigma, w->scale);
}

/* Coordinates g, sigma and scale of n rows, of which the first is row `at` of the chunk. */
static void sample_general(const sampler *s, const scratch *w, uint64_t row, size_t at, size_t n,
                           double *g)
{
    draw_normal(s, COORDINATES, row * s->dim, n * s->dim, g);
    s->kernels->row_sums(n, s->dim, g, w->norm);
    add_auxiliary(s, w, row, n);
    add_beside(s, w, at, n);
}

static int is_planar(const sampler *s)
{
    return s->dim == 2 && s->lift == 0 && s->measure != HB_MEASURE_GRADIENT;
}

/* Rows row .. row+n-1 in two dimensions: z (n, 2) and sigma (n), up to the end of the last
 * group. */
static void sample_planar(const sampler *s, uint64_t row, size_t n, double *z, double *sigma)
{
    s->kernels->planar(sample_round_up(n), &s->law, s->seed, stream_of(s, COORDINATES),
                       stream_of(s, PAIRS), row, z, sigma);
}

/* Rows z_1 .. z_dim, sigma of the tile. */
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

/* Row `start` of the request on, n of them, of which the first is row `at` of the chunk. z is drawn
 * and scaled where it is wanted, without a copy, as far as a kernel does not write past the last
 * row. */
static void sample_tile(const sampler *s, const scratch *w, size_t start, size_t at, size_t n)
{
    const uint64_t row = s->first + start;
    double *z = s->z ? s->z + start * s->dim : NULL;
    if (is_planar(s) && z && s->sigma && n == sample_round_up(n)) {
        sample_planar(s, row, n, z, s->sigma + start);
        return;
    }
    if (is_planar(s)) {
        sample_planar(s, row, n, w->g, w->sigma);
        if (z) memcpy(z, w->g, 2 * n * sizeof *z);
    } else {
        sample_general(s, w, row, at, n, z ? z : w->g);
        if (z) s->kernels->scale_rows(n, s->dim, z, w->scale, s->dim, z);
    }
    if (s->sigma) memcpy(s->sigma + start, w->sigma, n * sizeof *w->sigma);
    if (s->rows) write_rows(s, w, n, s->rows + start * (s->dim + 1));
    if (s->rows_f32) write_rows_f32(s, w, n, s->rows_f32 + start * (s->dim + 1));
}

/* Rows start .. start+n-1 of the request, n <= chunk_rows. */
static void sample_chunk(const sampler *s, const scratch *w, size_t start, size_t n)
{
    if (!is_planar(s)) draw_beside(s, w, s->first + start, n);
    for (size_t at = 0; at < n; at += s->tile_rows)
        sample_tile(s, w, start + at, at, n - at < s->tile_rows ? n - at : s->tile_rows);
}

/* Sizes in doubles of a thread's arrays: whole groups, so that kernels may run past the last row.
 */
static size_t coordinate_doubles(const sampler *s)
{
    return is_planar(s) ? 2 * sample_round_up(s->tile_rows)
                        : sample_round_up(s->tile_rows * s->dim);
}

static size_t auxiliary_doubles(const sampler *s)
{
    return s->lift < 2 ? 0
                       : sample_round_up(s->lift / 2 > TILE_DOUBLES ? s->lift / 2 : TILE_DOUBLES);
}

static size_t scratch_doubles(const sampler *s)
{
    return coordinate_doubles(s) + TILE_ARRAYS * sample_round_up(s->tile_rows) +
           CHUNK_ARRAYS * sample_round_up(s->chunk_rows) + auxiliary_doubles(s) +
           (s->rows_f32 ? sample_round_up(s->tile_rows * (s->dim + 1)) : 0);
}

static scratch scratch_of(const sampler *s, int thread)
{
    double *at = s->scratch + (size_t)thread * s->scratch_doubles;
    scratch w = {.g = at};
    at += coordinate_doubles(s);
    double **tile_array[TILE_ARRAYS] = {&w.norm, &w.inner, &w.sigma, &w.scale, &w.draw};
    for (size_t i = 0; i < TILE_ARRAYS; i++, at += sample_round_up(s->tile_rows))
        *tile_array[i] = at;
    w.outer = at;
    w.pairs = w.outer + sample_round_up(s->chunk_rows);
    w.lift = w.pairs + 2 * sample_round_up(s->chunk_rows);
    w.out = w.lift + auxiliary_doubles(s);
    return w;
}

static hb_status sample_task(void *user, size_t index, int thread)
{
    const sampler *s = user;
    const scratch w = scratch_of(s, thread);
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

static hb_status sample_all(hb_context *context, sampler *s)
{
    s->random = hb_vector_kernels_of(context->isa);
    s->kernels = hb_sample_kernels_of(context->isa);
    s->tile_rows = TILE_DOUBLES / s->dim;
    if (s->tile_rows > TILE_ROWS) s->tile_rows = TILE_ROWS;
    if (s->tile_rows < 1) s->tile_rows = 1;
    s->chunk_rows = s->tile_rows * TILES_PER_CHUNK;
    if (s->chunk_rows > CHUNK_ROWS) s->chunk_rows = CHUNK_ROWS;
    if (s->chunk_rows < s->tile_rows) s->chunk_rows = s->tile_rows;
    s->scratch_doubles = scratch_doubles(s);
    const size_t rows = s->chunk_rows * CHUNKS_PER_TASK;
    const size_t tasks = s->n / rows + (s->n % rows != 0);
    const size_t threads = (size_t)context->threads < tasks ? (size_t)context->threads : tasks;
    HB_TRY(HB_NEW(context, s->scratch, threads * s->scratch_doubles));
    hb_status status = hb_parallel_for(context, "sample", tasks, sample_task, s);
    hb_release(context, s->scratch);
    return status;
}

/* The outputs of s are set; the rest follows from these. */
static hb_status sample_checked(hb_context *context, int dim, int lift, double radius, sampler *s)
{
    HB_TRY(hb_ball_check_measure(context, s->measure));
    HB_TRY(hb_ball_check(context, dim, lift, radius));
    HB_CHECK(context, isnormal(radius * radius), HB_ERROR_ARGUMENT,
             "radius is %g; its square must be a normal double", radius);
    const uint64_t per_row = (uint64_t)(dim > lift ? dim : lift);
    HB_CHECK(context, s->n <= UINT64_MAX / per_row && s->first <= UINT64_MAX / per_row - s->n,
             HB_ERROR_ARGUMENT, "first + n is beyond the %llu draws of dimension %d",
             (unsigned long long)(UINT64_MAX / per_row), dim);
    s->dim = (size_t)dim;
    s->lift = (size_t)lift;
    s->law = law_of(s->measure, (double)dim + lift, radius);
    return sample_all(context, s);
}

static hb_status sample_check_rows(hb_context *context, size_t n, const void *rows)
{
    HB_CHECK(context, rows != NULL || n == 0, HB_ERROR_ARGUMENT,
             "rows is NULL; it must hold %zu rows", n);
    return HB_OK;
}

hb_status hb_ball_sample(hb_context *context, hb_measure measure, int dim, int lift, uint64_t seed,
                         uint64_t first, size_t n, double radius, double *z, double *sigma)
{
    sampler s = {.measure = measure, .seed = seed, .first = first, .n = n, .z = z, .sigma = sigma};
    return sample_checked(context, dim, lift, radius, &s);
}

hb_status hb_ball_sample_rows(hb_context *context, hb_measure measure, int dim, int lift,
                              uint64_t seed, uint64_t first, size_t n, double radius, double *rows)
{
    sampler s = {.measure = measure, .seed = seed, .first = first, .n = n, .rows = rows};
    HB_TRY(sample_check_rows(context, n, rows));
    return sample_checked(context, dim, lift, radius, &s);
}

hb_status hb_ball_sample_rows_f32(hb_context *context, hb_measure measure, int dim, int lift,
                                  uint64_t seed, uint64_t first, size_t n, double radius,
                                  float *rows)
{
    sampler s = {.measure = measure, .seed = seed, .first = first, .n = n, .rows_f32 = rows};
    HB_TRY(sample_check_rows(context, n, rows));
    return sample_checked(context, dim, lift, radius, &s);
}
