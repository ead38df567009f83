/* The loops of the instructions; compiled once per instruction set.
 *
 * Each instruction is one loop over the points of a block, a vector of LANES points at a time.
 * Points are independent and every loop runs over whole vectors, so a value does not depend on
 * where in a block, or in how long a block, its point stands. Arithmetic is IEEE; exp, log and the
 * like are SLEEF's to 1 ulp, and give the same bits on AVX2 and AVX-512, and on SSE2 and scalar
 * (random/vector.h). */
#include "formula/program_kernels.h"
#include "formula/axis_table.h"
#include "random/vector.h"

#if defined(HB_VECTOR_avx512)
#define FUNCTION(name) Sleef_finz_##name##d8_u10avx512f
#elif defined(HB_VECTOR_avx2)
#define FUNCTION(name) Sleef_finz_##name##d4_u10avx2
#elif defined(HB_VECTOR_sse2)
#define FUNCTION(name) Sleef_cinz_##name##d2_u10sse2
#else
#define FUNCTION(name) Sleef_cinz_##name##d1_u10purec
#endif

/* All bits of a lane where the comparison holds. */
#if LANES == 1
#define MASK(condition) (-(uint64_t)(condition))
#else
#define MASK(condition) ((vi)(condition))
#endif

INLINE vd negative(vd a)
{
    return vi_as_vd(vi_xor(vd_bits(a), vi_set(UINT64_C(1) << 63)));
}

INLINE vd magnitude(vd a)
{
    return vi_as_vd(vi_and(vd_bits(a), vi_set(~(UINT64_C(1) << 63))));
}

INLINE vd where(vi mask, vd yes, vd no)
{
    return vd_select(mask, no, yes);
}

/* 1 and -1 where a is not 0; else a itself, which keeps a NaN. */
INLINE vd sign_of(vd a)
{
    vd result = where(MASK(a > vd_set(0)), vd_set(1), a);
    return where(MASK(a < vd_set(0)), vd_set(-1), result);
}

/* A NaN on either side is the result. */
INLINE vd minimum(vd a, vd b)
{
    return where(vi_or(MASK(b < a), MASK(b != b)), b, a);
}

INLINE vd maximum(vd a, vd b)
{
    return where(vi_or(MASK(b > a), MASK(b != b)), b, a);
}

/* 4 e/(1+e)^2, e = exp(-2|a|): no overflow, and exact to rounding in the tails. */
INLINE vd hyperbolic_secant_squared(vd a)
{
    vd e = FUNCTION(exp)(vd_mul(vd_set(-2), magnitude(a)));
    vd sum = vd_add(vd_set(1), e);
    return vd_div(vd_mul(vd_set(4), e), vd_mul(sum, sum));
}

INLINE vd arcsine_slope(vd a)
{
    vd product = vd_mul(vd_sub(vd_set(1), a), vd_add(vd_set(1), a));
    return vd_div(vd_set(1), vd_sqrt(product));
}

/* ---- loops over a block; `to` may be one of the operands ---- */

#define UNARY_LOOP(formula)                                                                        \
    do {                                                                                           \
        const double *pa = operand(block, in->a);                                                  \
        for (size_t k = 0; k < n; k += LANES) {                                                    \
            const vd a = vd_load(pa + k);                                                          \
            vd_store(to + k, formula);                                                             \
        }                                                                                          \
    } while (0)

/* One loop for two registers, one each for a scalar on the left or on the right. */
#define BINARY_LOOP(formula)                                                                       \
    do {                                                                                           \
        const double *pa = operand(block, in->a), *pb = operand(block, in->b);                     \
        if (in->a < 0) {                                                                           \
            const vd a = vd_set(*pa);                                                              \
            for (size_t k = 0; k < n; k += LANES) {                                                \
                const vd b = vd_load(pb + k);                                                      \
                vd_store(to + k, formula);                                                         \
            }                                                                                      \
        } else if (in->b < 0) {                                                                    \
            const vd b = vd_set(*pb);                                                              \
            for (size_t k = 0; k < n; k += LANES) {                                                \
                const vd a = vd_load(pa + k);                                                      \
                vd_store(to + k, formula);                                                         \
            }                                                                                      \
        } else {                                                                                   \
            for (size_t k = 0; k < n; k += LANES) {                                                \
                const vd a = vd_load(pa + k), b = vd_load(pb + k);                                 \
                vd_store(to + k, formula);                                                         \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* The same for a product in a sum, with b a register and a and c either. */
#define TERNARY_LOOP(formula)                                                                      \
    do {                                                                                           \
        const double *pa = operand(block, in->a), *pb = operand(block, in->b);                     \
        const double *pc = operand(block, in->c);                                                  \
        if (in->a < 0 && in->c < 0) {                                                              \
            const vd a = vd_set(*pa), c = vd_set(*pc);                                             \
            for (size_t k = 0; k < n; k += LANES) {                                                \
                const vd b = vd_load(pb + k);                                                      \
                vd_store(to + k, formula);                                                         \
            }                                                                                      \
        } else if (in->a < 0) {                                                                    \
            const vd a = vd_set(*pa);                                                              \
            for (size_t k = 0; k < n; k += LANES) {                                                \
                const vd b = vd_load(pb + k), c = vd_load(pc + k);                                 \
                vd_store(to + k, formula);                                                         \
            }                                                                                      \
        } else if (in->c < 0) {                                                                    \
            const vd c = vd_set(*pc);                                                              \
            for (size_t k = 0; k < n; k += LANES) {                                                \
                const vd a = vd_load(pa + k), b = vd_load(pb + k);                                 \
                vd_store(to + k, formula);                                                         \
            }                                                                                      \
        } else {                                                                                   \
            for (size_t k = 0; k < n; k += LANES) {                                                \
                const vd a = vd_load(pa + k), b = vd_load(pb + k), c = vd_load(pc + k);            \
                vd_store(to + k, formula);                                                         \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static const double *operand(const hb_block *block, int index)
{
    return index < 0 ? block->scalars - (index + 1)
                     : block->registers + (size_t)index * block->width;
}

static void select_loop(const hb_instruction *in, const hb_block *block, size_t n, double *to)
{
    const double *pa = operand(block, in->a), *pb = operand(block, in->b);
    const double *pc = operand(block, in->c);
    for (size_t k = 0; k < n; k += LANES) {
        const vd a = in->a < 0 ? vd_set(*pa) : vd_load(pa + k);
        const vd b = in->b < 0 ? vd_set(*pb) : vd_load(pb + k);
        const vd c = in->c < 0 ? vd_set(*pc) : vd_load(pc + k);
        vd_store(to + k, where(MASK(a != vd_set(0)), b, c));
    }
}

INLINE void gather(size_t n, size_t stride, const double *restrict from, double *restrict to)
{
    for (size_t i = 0; i < n; i++) to[i] = from[i * stride];
}

INLINE void scatter(size_t n, size_t stride, const double *restrict from, double *restrict to)
{
    for (size_t i = 0; i < n; i++) to[i * stride] = from[i];
}

/* A column of x, or the times; the places up to n rounded up repeat the last point. Small
 * strides are constants, for which the compiler has better loops. */
static void load_column(const hb_block *block, int column, size_t rounded, double *to)
{
    const double *from = column ? block->x + column - 1 : block->t;
    switch (column ? block->dim : 1) {
    case 1: memcpy(to, from, block->n * sizeof(double)); break;
    case 2: gather(block->n, 2, from, to); break;
    case 3: gather(block->n, 3, from, to); break;
    default: gather(block->n, block->dim, from, to);
    }
    for (size_t i = block->n; i < rounded; i++) to[i] = to[block->n - 1];
}

static void store_column(const hb_block *block, const hb_instruction *in)
{
    const double *from = operand(block, in->a);
    double *to = block->out + in->out;
    if (in->a < 0) {
        for (size_t i = 0; i < block->n; i++) to[i * block->n_outputs] = *from;
        return;
    }
    switch (block->n_outputs) {
    case 1: memcpy(to, from, block->n * sizeof(double)); break;
    case 2: scatter(block->n, 2, from, to); break;
    case 3: scatter(block->n, 3, from, to); break;
    default: scatter(block->n, block->n_outputs, from, to);
    }
}

/* A table is looked up point by point, in the same way on every instruction set. */
static void mapped_loop(const hb_instruction *in, const hb_block *block, size_t n, double *to)
{
    const double *a = operand(block, in->a);
    for (size_t k = 0; k < n; k++) to[k] = hb_axis_table_x(block->tables[in->b], a[k]);
}

static void execute_function(const hb_instruction *in, const hb_block *block, size_t n, double *to)
{
    switch (in->op) {
    case HB_OP_EXP: UNARY_LOOP(FUNCTION(exp)(a)); break;
    case HB_OP_LOG: UNARY_LOOP(FUNCTION(log)(a)); break;
    case HB_OP_SIN: UNARY_LOOP(FUNCTION(sin)(a)); break;
    case HB_OP_COS: UNARY_LOOP(FUNCTION(cos)(a)); break;
    case HB_OP_TAN: UNARY_LOOP(FUNCTION(tan)(a)); break;
    case HB_OP_ASIN: UNARY_LOOP(FUNCTION(asin)(a)); break;
    case HB_OP_ACOS: UNARY_LOOP(FUNCTION(acos)(a)); break;
    case HB_OP_ATAN: UNARY_LOOP(FUNCTION(atan)(a)); break;
    case HB_OP_SINH: UNARY_LOOP(FUNCTION(sinh)(a)); break;
    case HB_OP_COSH: UNARY_LOOP(FUNCTION(cosh)(a)); break;
    case HB_OP_TANH: UNARY_LOOP(FUNCTION(tanh)(a)); break;
    case HB_OP_ASIN1: UNARY_LOOP(arcsine_slope(a)); break;
    case HB_OP_SECH2: UNARY_LOOP(hyperbolic_secant_squared(a)); break;
    default: BINARY_LOOP(FUNCTION(pow)(a, b)); break;
    }
}

static void program_execute(size_t count, const hb_instruction *code, const hb_block *block)
{
    const size_t n = (block->n + HB_PROGRAM_LANES - 1) / HB_PROGRAM_LANES * HB_PROGRAM_LANES;
    for (const hb_instruction *in = code; in < code + count; in++) {
        double *to = block->registers + (size_t)in->out * block->width;
        switch (in->op) {
        case HB_PROGRAM_STORE: store_column(block, in); break;
        case HB_OP_VARIABLE: load_column(block, in->a, n, to); break;
        case HB_OP_NEGATE: UNARY_LOOP(negative(a)); break;
        case HB_OP_ADD: BINARY_LOOP(vd_add(a, b)); break;
        case HB_OP_SUBTRACT: BINARY_LOOP(vd_sub(a, b)); break;
        case HB_OP_MULTIPLY: BINARY_LOOP(vd_mul(a, b)); break;
        case HB_PROGRAM_PRODUCT_PLUS: TERNARY_LOOP(vd_add(vd_mul(a, b), c)); break;
        case HB_PROGRAM_PRODUCT_MINUS: TERNARY_LOOP(vd_sub(vd_mul(a, b), c)); break;
        case HB_PROGRAM_MINUS_PRODUCT: TERNARY_LOOP(vd_sub(c, vd_mul(a, b))); break;
        case HB_OP_DIVIDE: BINARY_LOOP(vd_div(a, b)); break;
        case HB_OP_SQRT: UNARY_LOOP(vd_sqrt(a)); break;
        case HB_OP_ABS: UNARY_LOOP(magnitude(a)); break;
        case HB_OP_SIGN: UNARY_LOOP(sign_of(a)); break;
        case HB_OP_MIN: BINARY_LOOP(minimum(a, b)); break;
        case HB_OP_MAX: BINARY_LOOP(maximum(a, b)); break;
        case HB_OP_LESS: BINARY_LOOP(where(MASK(a < b), vd_set(1), vd_set(0))); break;
        case HB_OP_SELECT: select_loop(in, block, n, to); break;
        case HB_OP_MAPPED: mapped_loop(in, block, n, to); break;
        default: execute_function(in, block, n, to);
        }
    }
}

const hb_program_kernel ISA_NAME(hb_program_kernel) = program_execute;
