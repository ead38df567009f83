/* Words, uniforms and normals for whole groups of blocks; compiled once per instruction set.
 *
 * The bits of a batch of blocks are made first, then turned into numbers, by several short loops
 * over the batch: each keeps the pipelines full by itself (philox_bits.h, box_muller.h). */
#include "random/box_muller.h"
#include "random/philox.h"
#include "random/philox_bits.h"

enum { BATCH = 256 }; /* blocks whose bits are held at a time */

/* A walk over n_blocks blocks in batches: while batch_next says so, blocks done .. done+count-1 of
 * the walk have their halves in bits[][0] and bits[][1], LANES blocks to a vector. */
typedef struct batch {
    philox_key key;
    vi bits[BATCH / LANES][4];
    uint64_t stream, block;
    size_t n_blocks, done, count;
} batch;

INLINE void batch_begin(batch *b, uint64_t seed, uint64_t stream, uint64_t block, size_t n_blocks)
{
    expand_key(seed, &b->key);
    b->stream = stream;
    b->block = block;
    b->n_blocks = n_blocks;
    b->done = b->count = 0;
}

INLINE int batch_next(batch *b)
{
    b->done += b->count;
    b->count = b->n_blocks - b->done < BATCH ? b->n_blocks - b->done : BATCH;
    if (b->count == 0) return 0;
    philox_bits(&b->key, b->stream, b->block + b->done, b->count, b->bits);
    return 1;
}

static void words(uint64_t seed, uint64_t stream, uint64_t block, size_t n_blocks, uint32_t *out)
{
    batch b;
    for (batch_begin(&b, seed, stream, block, n_blocks); batch_next(&b);)
        for (size_t i = 0; i < b.count; i += LANES)
            vi_store_words(out + 4 * (b.done + i), b.bits[i / LANES][0], b.bits[i / LANES][1]);
}

static void uniform(uint64_t seed, uint64_t stream, uint64_t block, size_t n_blocks, double *out)
{
    batch b;
    for (batch_begin(&b, seed, stream, block, n_blocks); batch_next(&b);) {
        for (size_t i = 0; i < b.count; i += LANES) {
            const vi *half = b.bits[i / LANES];
            vd_store_pairs(out + 2 * (b.done + i), unit_interval(half[0]), unit_interval(half[1]));
        }
    }
}

/* Squared lengths of the normal pairs of a batch. */
APART void squared_lengths(size_t vectors, vi (*bits)[4], vd *square)
{
    for (size_t i = 0; i < vectors; i++) square[i] = minus_two_log_of(unit_interval(bits[i][0]));
}

APART void normal_pairs(size_t vectors, vi (*bits)[4], const vd *square, double *out)
{
    for (size_t i = 0; i < vectors; i++, out += 2 * LANES) {
        const vd r = flip(vd_sqrt(square[i]), bits[i][1]);
        vd cosine, sine;
        direction(bits[i][1], &cosine, &sine);
        vd_store_pairs(out, vd_mul(r, cosine), vd_mul(r, sine));
    }
}

static void normal(uint64_t seed, uint64_t stream, uint64_t block, size_t n_blocks, double *out)
{
    batch b;
    vd square[BATCH / LANES];
    for (batch_begin(&b, seed, stream, block, n_blocks); batch_next(&b);) {
        squared_lengths(b.count / LANES, b.bits, square);
        normal_pairs(b.count / LANES, b.bits, square, out + 2 * b.done);
    }
}

static void exp_array(size_t n, double *x)
{
    for (size_t i = 0; i < n; i += LANES) vd_store(x + i, vd_exp(vd_load(x + i)));
}

static void minus_two_log(size_t n, double *x)
{
    for (size_t i = 0; i < n; i += LANES) vd_store(x + i, minus_two_log_of(vd_load(x + i)));
}

/* ---- floats: SLEEF's log and sincospi on the 32-bit words ---- */

static void uniform_f32(uint64_t seed, uint64_t stream, uint64_t block, size_t n_blocks, float *out)
{
    uint32_t word[4 * BATCH];
    for (size_t done = 0; done < n_blocks; done += BATCH) {
        const size_t count = n_blocks - done < BATCH ? n_blocks - done : BATCH;
        words(seed, stream, block + done, count, word);
        for (size_t i = 0; i < 4 * count; i++)
            out[4 * done + i] = ((float)(int32_t)(word[i] >> 9) + 0.5f) * 0x1p-23f;
    }
}

/* r = sqrt(-2 ln u) with u = (low 31 bits + 1/2) 2^-31 rounded to float, kept below 1; angle = pi
 * times the signed second word 2^-31. */
static void box_muller_f32(size_t n, const int32_t *radius, const int32_t *angle, float *cosine,
                           float *sine)
{
    for (size_t i = 0; i < n; i += FLOAT_LANES) {
        vf u = vf_mul(vf_add(vf_from_int(radius + i), vf_set(0.5f)), vf_set(0x1p-31f));
        vf r = vf_sqrt(vf_mul(vf_log(vf_min(u, vf_set(1.0f - 0x1p-24f))), vf_set(-2.0f)));
        vf_pair turn = vf_sincospi(vf_mul(vf_from_int(angle + i), vf_set(0x1p-31f)));
        vf_store(cosine + i, vf_mul(r, turn.y));
        vf_store(sine + i, vf_mul(r, turn.x));
    }
}

static void normal_f32(uint64_t seed, uint64_t stream, uint64_t block, size_t n_blocks, float *out)
{
    uint32_t word[4 * BATCH];
    int32_t radius[2 * BATCH], angle[2 * BATCH];
    float cosine[2 * BATCH], sine[2 * BATCH];
    for (size_t done = 0; done < n_blocks; done += BATCH) {
        const size_t count = n_blocks - done < BATCH ? n_blocks - done : BATCH;
        words(seed, stream, block + done, count, word);
        for (size_t i = 0; i < 2 * count; i++) {
            /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): words fills it */
            radius[i] = (int32_t)(word[2 * i] & 0x7FFFFFFFu);
            angle[i] = (int32_t)word[2 * i + 1];
        }
        box_muller_f32(2 * count, radius, angle, cosine, sine);
        for (size_t i = 0; i < 2 * count; i++) {
            out[4 * done + 2 * i] = cosine[i];
            out[4 * done + 2 * i + 1] = sine[i];
        }
    }
}

const hb_vector_kernels ISA_NAME(hb_vector_kernels) = {
    .words = words,
    .uniform = uniform,
    .normal = normal,
    .uniform_f32 = uniform_f32,
    .normal_f32 = normal_f32,
    .exp = exp_array,
    .minus_two_log = minus_two_log,
};
