/* Fingerprints of formulas: equal for formulas that algebra makes equal, different for others.
 *
 * A formula is a rational function of symbols (variables, functions of its parts), evaluated in the
 * field of p = 2^61 - 1 elements with a hash for each symbol. Different ones agree with probability
 * (degree)/2^61 (J. T. Schwartz, JACM 27, 1980; R. Zippel, 1979). Beyond algebra these rules hold:
 *     sin, cos and tan in s = tan(a/2):   2s/(1+s^2), (1-s^2)/(1+s^2)     (sin^2 + cos^2 = 1)
 *     exp, sinh, cosh and tanh in s = tanh(a/2):   exp = (1+s)/(1-s)      (sech2 = 1 - tanh^2)
 *     odd functions of -a, and exp(-a) = 1/exp(a), since s(-a) = -s(a)
 *     |a| = a sign(a),  2 max(a,b) = a + b + |a - b|,  2 less(a,b) = 1 + sign(b - a) unless a = b
 *     a^b = a^floor(b) a^(b - floor(b)) for numbers b,  sqrt(a) = a^(1/2)
 * Numbers are the simplest fraction within 4 units in the last place, denominator below 10^6 (0.1 *
 * 3 is 3/10), else the shortest decimal of at most 13 digits as near, else what they are in binary.
 * Must reproduce: cos(y)^2 - sin(y)^2 and 1 - 2 sin(y)^2 have one fingerprint, cos(y)^2 another. */
#include "formula/fingerprint.h"
#include "formula/graph.h"

#include <float.h>

__extension__ typedef unsigned __int128 wide;

static const uint64_t P = (UINT64_C(1) << 61) - 1;
static const double LARGEST_DENOMINATOR = 1e6;
static const double LARGEST_NUMERATOR = 1e15;
static const double LARGEST_DECIMAL = 1e13; /* without its point */

/* ---- the field; HB_NO_FINGERPRINT is passed on ---- */

static uint64_t field_add(uint64_t a, uint64_t b)
{
    if (a > P || b > P) return HB_NO_FINGERPRINT;
    const uint64_t sum = a + b;
    return sum >= P ? sum - P : sum;
}

static uint64_t field_negate(uint64_t a)
{
    return a > P ? a : a ? P - a : 0;
}

static uint64_t field_times(uint64_t a, uint64_t b)
{
    if (a > P || b > P) return HB_NO_FINGERPRINT;
    const wide product = (wide)a * b;
    const uint64_t sum = (uint64_t)(product & P) + (uint64_t)(product >> 61);
    return sum >= P ? sum - P : sum;
}

static uint64_t field_raise(uint64_t a, uint64_t exponent)
{
    uint64_t power = 1;
    for (; exponent; exponent >>= 1, a = field_times(a, a))
        if (exponent & 1) power = field_times(power, a);
    return a > P ? a : power;
}

static uint64_t field_divide(uint64_t a, uint64_t b)
{
    return b == 0 ? HB_NO_FINGERPRINT : field_times(a, field_raise(b, P - 2));
}

static uint64_t field_power(uint64_t a, int exponent)
{
    const uint64_t size = field_raise(a, (uint64_t)(exponent < 0 ? -exponent : exponent));
    return exponent < 0 ? field_divide(1, size) : size;
}

/* ---- symbols ---- */

static uint64_t scramble(uint64_t word)
{
    word = (word ^ (word >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94D049BB133111EB);
    return word ^ (word >> 31);
}

/* The symbol of a function `kind` of a and b. */
static uint64_t field_symbol(uint64_t kind, uint64_t a, uint64_t b)
{
    if (a > P || b > P) return HB_NO_FINGERPRINT;
    const uint64_t word = scramble(scramble(scramble(kind + 1) ^ a) ^ b);
    return 2 + word % (P - 3);
}

/* The symbol of an odd function. */
static uint64_t odd_symbol(uint64_t kind, uint64_t a)
{
    if (a > P) return a;
    if (a == 0) return 0;
    const uint64_t mirrored = field_negate(a);
    return a < mirrored ? field_symbol(kind, a, 0) : field_negate(field_symbol(kind, mirrored, 0));
}

/* ---- numbers ---- */

static uint64_t field_whole(double value)
{
    const uint64_t size = (uint64_t)fabs(value) % P;
    return value < 0 ? field_negate(size) : size;
}

static uint64_t exact_number(double value)
{
    int exponent;
    const double fraction = frexp(value, &exponent);
    exponent -= DBL_MANT_DIG;
    return field_times(field_whole(ldexp(fraction, DBL_MANT_DIG)), field_power(2, exponent));
}

/* The continued fraction of |value|, to the first convergent that is close enough. */
static uint64_t field_number(double value)
{
    if (!isfinite(value)) return HB_NO_FINGERPRINT;
    if (value == 0) return 0;
    const double size = fabs(value), close = 4 * DBL_EPSILON * size;
    double top[2] = {1, 0}, bottom[2] = {0, 1}, rest = size;
    for (int k = 0; k < 40; k++) {
        const double part = floor(rest);
        const double p = part * top[0] + top[1], q = part * bottom[0] + bottom[1];
        if (!(p < LARGEST_NUMERATOR && q < LARGEST_DENOMINATOR)) break;
        if (fabs(p / q - size) <= close)
            return field_divide(field_whole(value < 0 ? -p : p), field_whole(q));
        top[1] = top[0], top[0] = p, bottom[1] = bottom[0], bottom[0] = q;
        if (rest == part) break;
        rest = 1 / (rest - part);
    }
    for (int k = 7; k <= 15 && size * pow(10, k) < LARGEST_DECIMAL; k++) {
        const double shifted = size * pow(10, k), digits = rint(shifted);
        if (digits > 0 && fabs(shifted - digits) <= 4 * DBL_EPSILON * shifted)
            return field_divide(field_whole(value < 0 ? -digits : digits), field_power(10, k));
    }
    return exact_number(value);
}

/* ---- functions ---- */

static uint64_t field_sign(uint64_t a)
{
    return odd_symbol(HB_OP_SIGN, a);
}

static uint64_t field_size(uint64_t a)
{
    return field_times(a, field_sign(a));
}

/* half (a + b + s |a - b|) for s = 1: the larger, -1: the smaller. */
static uint64_t field_larger(uint64_t a, uint64_t b, int smaller)
{
    const uint64_t gap = field_size(field_add(a, field_negate(b)));
    return field_divide(field_add(field_add(a, b), smaller ? field_negate(gap) : gap), 2);
}

static uint64_t field_less(uint64_t a, uint64_t b)
{
    return field_divide(field_add(1, field_sign(field_add(b, field_negate(a)))), 2);
}

static uint64_t field_select(uint64_t condition, uint64_t yes, uint64_t no)
{
    return field_add(no, field_times(condition, field_add(yes, field_negate(no))));
}

/* (first + second s^2)/(1 + bottom s^2), the form of even functions in the half angle. */
static uint64_t by_half(uint64_t s, uint64_t first, uint64_t second, uint64_t bottom)
{
    const uint64_t square = field_times(s, s);
    return field_divide(field_add(first, field_times(second, square)),
                        field_add(1, field_times(bottom, square)));
}

static uint64_t circular(hb_operation op, uint64_t a)
{
    const uint64_t s = odd_symbol(HB_OP_SIN, a), square = field_times(s, s);
    if (op == HB_OP_COS) return by_half(s, 1, P - 1, 1);
    if (op == HB_OP_SIN) return field_divide(field_add(s, s), field_add(1, square));
    return field_divide(field_add(s, s), field_add(1, field_negate(square)));
}

static uint64_t hyperbolic(hb_operation op, uint64_t a)
{
    const uint64_t s = odd_symbol(HB_OP_EXP, a), square = field_times(s, s);
    const uint64_t tangent = field_divide(field_add(s, s), field_add(1, square));
    if (op == HB_OP_EXP) return field_divide(field_add(1, s), field_add(1, field_negate(s)));
    if (op == HB_OP_COSH) return by_half(s, 1, 1, P - 1);
    if (op == HB_OP_SINH) return field_divide(field_add(s, s), field_add(1, field_negate(square)));
    if (op == HB_OP_TANH) return tangent;
    return field_add(1, field_negate(field_times(tangent, tangent))); /* sech2 */
}

/* a^b for a number b. */
static uint64_t field_root(uint64_t a, double b)
{
    const double below = floor(b);
    if (fabs(below) > HB_MAX_POWER) return field_symbol(HB_OP_POW, a, field_number(b));
    const uint64_t part = b == below ? 1 : field_symbol(HB_OP_SQRT, a, field_number(b - below));
    return field_times(part, field_power(a, (int)below));
}

static uint64_t field_of_one(hb_operation op, uint64_t a)
{
    switch (op) {
    case HB_OP_SIN:
    case HB_OP_COS:
    case HB_OP_TAN: return circular(op, a);
    case HB_OP_EXP:
    case HB_OP_SINH:
    case HB_OP_COSH:
    case HB_OP_TANH:
    case HB_OP_SECH2: return hyperbolic(op, a);
    case HB_OP_NEGATE: return field_negate(a);
    case HB_OP_SQRT: return field_root(a, 0.5);
    case HB_OP_ASIN1: return field_root(field_add(1, field_negate(field_times(a, a))), -0.5);
    case HB_OP_ABS: return field_size(a);
    case HB_OP_SIGN: return field_sign(a);
    case HB_OP_ASIN:
    case HB_OP_ATAN: return odd_symbol((uint64_t)op, a);
    default: return field_symbol((uint64_t)op, a, 0); /* log, acos */
    }
}

static uint64_t field_of_two(hb_operation op, uint64_t a, uint64_t b)
{
    switch (op) {
    case HB_OP_ADD: return field_add(a, b);
    case HB_OP_SUBTRACT: return field_add(a, field_negate(b));
    case HB_OP_MULTIPLY: return field_times(a, b);
    case HB_OP_DIVIDE: return field_divide(a, b);
    case HB_OP_LESS: return field_less(a, b);
    case HB_OP_MIN:
    case HB_OP_MAX: return field_larger(a, b, op == HB_OP_MIN);
    default: return field_symbol((uint64_t)op, a, b); /* pow */
    }
}

static uint64_t of_node(const hb_graph *graph, const hb_graph_node *node, const uint64_t *f)
{
    double exponent;
    switch (node->op) {
    case HB_OP_CONSTANT: return field_number(node->value);
    case HB_OP_VARIABLE: return field_symbol(1000, (uint64_t)node->a, 0);
    case HB_OP_POWER: return field_power(f[node->a], node->b);
    case HB_OP_MAPPED: return field_symbol(HB_OP_MAPPED, f[node->a], (uint64_t)node->b);
    case HB_OP_SELECT: return field_select(f[node->a], f[node->b], f[node->c]);
    case HB_OP_POW:
        if (hb_graph_is_constant(graph, node->b, &exponent))
            return field_root(f[node->a], exponent);
        break;
    default: break;
    }
    return hb_operation_arity(node->op) == 1 ? field_of_one(node->op, f[node->a])
                                             : field_of_two(node->op, f[node->a], f[node->b]);
}

void hb_graph_fingerprints(const hb_graph *graph, hb_node top, uint64_t *fingerprint)
{
    for (hb_node i = 0; i <= top; i++)
        fingerprint[i] = of_node(graph, &graph->nodes[i], fingerprint);
}
