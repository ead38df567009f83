/* The loops of the fitted scheme; compiled once per instruction set.
 *
 * Along a line, J has the rows  (J x)_k = upper_k (x_{k+1} - x_k) - lower_{k-1} (x_k - x_{k-1}).
 * The elimination of I - gamma J, an M-matrix with rows that sum to 1, needs no pivoting:
 *     q_k = 1 + gamma lower_{k-1} q_{k-1} p_{k-1},    p_k = 1/(gamma upper_k + q_k)
 *     x_k   = (x_k + gamma lower_{k-1} x_{k-1}) p_k             upward
 *     x_k  += gamma upper_k p_k x_{k+1}                          downward
 * All terms are positive, so nothing cancels, and in float too each entry of the inverse is right
 * to a few roundings per node. Lines stand side by side in the vectors. The pivots are made anew in
 * each solve: a division costs less than to read what it gave from memory.
 *
 * No contraction and SLEEF's exponential: two classes of bits (random/vector.h). Sums run in
 * eight interleaved partial sums whatever the vectors hold. */
#include "grid/scheme_kernels.h"
#include "random/vector.h"

enum {
    SUMS = 8,
    CHUNK = 512 /* entries that stay in the core's own memory */
};

static const double STEEPEST = 700; /* of v_j - v_i: exp of it and of its negative are numbers */
static const double LARGEST_RATE = HB_LARGEST_RATE;
static const float LEAST_SCALED =
    2; /* gamma times a row's weights along its second axis (scheme_lines.c) */
static const double TINY = 1e-30, HUGE_WEIGHT = 1e30;

/* ---- one line ---- */

static void line_edges(size_t n, const double *v, const double *gain_up, const double *gain_down,
                       double *upper, double *lower)
{
    const size_t edges = n - 1, whole = edges / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        const vd e = vd_exp(vd_sub(vd_load(v + i + 1), vd_load(v + i)));
        vd_store(upper + i, vd_mul(vd_load(gain_up + i), e));
        vd_store(lower + i, vd_div(vd_load(gain_down + i), e));
    }
    if (whole == edges) return;
    double rise[LANES] = {0};
    for (size_t i = whole; i < edges; i++) rise[i - whole] = v[i + 1] - v[i];
    vd_store(rise, vd_exp(vd_load(rise)));
    for (size_t i = whole; i < edges; i++) {
        upper[i] = gain_up[i] * rise[i - whole];
        lower[i] = gain_down[i] / rise[i - whole];
    }
}

static void line_pivots(size_t n, double gamma, const double *upper, const double *lower,
                        double *pivot)
{
    double before = 1 / (1 + gamma * upper[0]);
    pivot[0] = before;
    for (size_t k = 1; k < n; k++) {
        const double bound = gamma * lower[k - 1] * (1 - gamma * upper[k - 1] * before);
        before = 1 / (1 + gamma * upper[k] + bound);
        pivot[k] = before;
    }
}

static void line_solve(size_t n, double gamma, const double *upper, const double *lower,
                       const double *pivot, double *x)
{
    x[0] *= pivot[0];
    for (size_t k = 1; k < n; k++) x[k] = (x[k] + gamma * lower[k - 1] * x[k - 1]) * pivot[k];
    for (size_t k = n - 1; k-- > 0;) x[k] += gamma * upper[k] * pivot[k] * x[k + 1];
}

/* ---- rates ---- */

/* exp(v_j - v_i), not beyond STEEPEST: across the end of a line there is no edge, but a finite
 * factor of 0. */
INLINE vd growth(const double *from, const double *to)
{
    const vd rise = vd_sub(vd_load(to), vd_load(from));
    return vd_exp(vd_max(vd_set(-STEEPEST), vd_min(vd_set(STEEPEST), rise)));
}

INLINE vd as_weight(vd x)
{
    const vd least = vd_sub(vd_max(x, vd_sub(vd_set(0), x)), vd_set(TINY));
    const vd bounded = vd_max(vd_set(-HUGE_WEIGHT), vd_min(vd_set(HUGE_WEIGHT), x));
    return vd_select(vd_bits(least), bounded, vd_set(0));
}

/* One vector of edges. The lower ones go to `down`, or are added where it is NULL. */
INLINE void edge_vector(const double *from, const double *to, const double *gain_up,
                        const double *gain_down, double *rate, double *down, double *add,
                        float *upper, float *lower)
{
    const vd e = growth(from, to);
    const vd up = vd_mul(vd_load(gain_up), e), low = vd_div(vd_load(gain_down), e);
    vd_store(rate, vd_add(vd_load(rate), up));
    if (down)
        vd_store(down, low);
    else
        vd_store(add, vd_add(vd_load(add), low));
    vd_to_floats(upper, as_weight(up));
    vd_to_floats(lower, as_weight(low));
}

/* Fewer edges than a vector holds. */
static void edge_rest(size_t count, size_t shift, const double *v, const double *gain_up,
                      const double *gain_down, double *rate, double *down, float *upper,
                      float *lower)
{
    double from[LANES] = {0}, to[LANES] = {0}, up[LANES] = {0}, low[LANES] = {0}, at[LANES] = {0};
    double late[LANES];
    float u[LANES], l[LANES];
    memcpy(from, v, count * sizeof *from);
    memcpy(to, v + shift, count * sizeof *to);
    memcpy(up, gain_up, count * sizeof *up);
    memcpy(low, gain_down, count * sizeof *low);
    memcpy(at, rate, count * sizeof *at);
    edge_vector(from, to, up, low, at, late, NULL, u, l);
    memcpy(rate, at, count * sizeof *at);
    for (size_t i = 0; i < count; i++) {
        if (down)
            down[i] = late[i];
        else
            rate[i + shift] += late[i];
    }
    memcpy(upper, u, count * sizeof *u);
    memcpy(lower, l, count * sizeof *l);
}

static void edges(size_t count, size_t shift, const double *v, const double *gain_up,
                  const double *gain_down, double *rate, double *down, float *upper, float *lower)
{
    const size_t whole = count / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
        edge_vector(v + i, v + i + shift, gain_up + i, gain_down + i, rate + i,
                    down ? down + i : NULL, rate + i + shift, upper + i, lower + i);
    if (whole < count)
        edge_rest(count - whole, shift, v + whole, gain_up + whole, gain_down + whole, rate + whole,
                  down ? down + whole : NULL, upper + whole, lower + whole);
}

static void lower_edges(size_t count, size_t shift, const double *v, const double *gain_down,
                        double *rate, float *lower)
{
    const size_t whole = count / LANES * LANES, rest = count - whole;
    double from[LANES] = {0}, to[LANES] = {0}, gain[LANES] = {0}, low[LANES];
    float l[LANES];
    for (size_t i = 0; i < whole; i += LANES) {
        const vd value = vd_div(vd_load(gain_down + i), growth(v + i, v + i + shift));
        vd_store(rate + i, vd_add(vd_load(rate + i), value));
        vd_to_floats(lower + i, as_weight(value));
    }
    if (rest == 0) return;
    memcpy(from, v + whole, rest * sizeof *from);
    memcpy(to, v + whole + shift, rest * sizeof *to);
    memcpy(gain, gain_down + whole, rest * sizeof *gain);
    const vd value = vd_div(vd_load(gain), growth(from, to));
    vd_store(low, value);
    vd_to_floats(l, as_weight(value));
    for (size_t i = 0; i < rest; i++) rate[whole + i] += low[i];
    memcpy(lower + whole, l, rest * sizeof *l);
}

static int finish(size_t count, const double *restrict down, double *restrict rate)
{
    int finite = rate[0] <= LARGEST_RATE && rate[0] >= -LARGEST_RATE;
    for (size_t i = 1; i < count; i++) {
        rate[i] += down[i - 1];
        finite &= rate[i] <= LARGEST_RATE && rate[i] >= -LARGEST_RATE;
    }
    return finite;
}

static void drained(size_t count, const double *restrict drain, double *restrict rate)
{
    for (size_t i = 0; i < count; i++) rate[i] = -drain[i];
}

static void weights(size_t count, const double *from, float *to)
{
    const size_t whole = count / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES) vd_to_floats(to + i, as_weight(vd_load(from + i)));
    double rest[LANES] = {0};
    float out[LANES];
    memcpy(rest, from + whole, (count - whole) * sizeof *rest);
    vd_to_floats(out, as_weight(vd_load(rest)));
    memcpy(to + whole, out, (count - whole) * sizeof *out);
}

/* exp((to - from)/2): the tensor scheme. */
static void roots(size_t n, const double *from, const double *to, double *out)
{
    const size_t whole = n / LANES * LANES;
    const vd half = vd_set(0.5);
    for (size_t i = 0; i < whole; i += LANES)
        vd_store(out + i, vd_exp(vd_mul(half, vd_sub(vd_load(to + i), vd_load(from + i)))));
    if (whole == n) return;
    double rest[3][LANES] = {{0}}; /* from, to, out */
    memcpy(rest[0], from + whole, (n - whole) * sizeof(double));
    memcpy(rest[1], to + whole, (n - whole) * sizeof(double));
    vd_store(rest[2], vd_exp(vd_mul(half, vd_sub(vd_load(rest[1]), vd_load(rest[0])))));
    memcpy(out + whole, rest[2], (n - whole) * sizeof(double));
}

/* ---- lines side by side ---- */

static void first_row(size_t width, float gamma, const float *restrict upper, float *restrict x,
                      float *restrict ratio, float *restrict carry)
{
    for (size_t i = 0; i < width; i++) {
        const float up = gamma * upper[i], pivot = 1 / (up + 1);
        x[i] *= pivot;
        ratio[i] = up * pivot;
        carry[i] = pivot;
    }
}

static void next_row(size_t width, float gamma, const float *restrict upper,
                     const float *restrict lower, const float *restrict before, float *restrict x,
                     float *restrict ratio, float *restrict carry)
{
    for (size_t i = 0; i < width; i++) {
        const float up = gamma * upper[i], low = gamma * lower[i];
        const float rest = 1 + low * carry[i], pivot = 1 / (up + rest);
        x[i] = (x[i] + low * before[i]) * pivot;
        ratio[i] = up * pivot;
        carry[i] = rest * pivot;
    }
}

static void row_back(size_t width, const float *restrict ratio, const float *restrict after,
                     float *restrict x)
{
    for (size_t i = 0; i < width; i++) x[i] += ratio[i] * after[i];
}

static void solve(size_t n, size_t width, size_t step, float gamma, const float *upper,
                  const float *lower, float *x, float *ratio, float *carry)
{
    first_row(width, gamma, upper, x, ratio, carry);
    for (size_t k = 1; k < n; k++)
        next_row(width, gamma, upper + k * step, lower + (k - 1) * step, x + (k - 1) * step,
                 x + k * step, ratio + k * width, carry);
    for (size_t k = n - 1; k-- > 0;)
        row_back(width, ratio + k * width, x + (k + 1) * step, x + k * step);
}

static void couple(size_t count, size_t shift, float gamma, const float *restrict upper,
                   const float *restrict lower, const float *restrict y, const float *restrict s,
                   float *restrict out)
{
    for (size_t i = 0; i < shift; i++)
        out[i] = y[i] - s[i] - gamma * upper[i] * (s[i + shift] - s[i]);
    for (size_t i = shift; i + shift < count; i++)
        out[i] = y[i] - s[i] - gamma * upper[i] * (s[i + shift] - s[i]) +
                 gamma * lower[i - shift] * (s[i] - s[i - shift]);
    for (size_t i = count - shift; i < count; i++)
        out[i] = y[i] - s[i] + gamma * lower[i - shift] * (s[i] - s[i - shift]);
}

static void subtract(size_t count, float p, const float *restrict x, float *restrict y)
{
    for (size_t i = 0; i < count; i++) y[i] -= p * x[i];
}

static void difference(size_t count, const float *x, const float *y, float *out)
{
    for (size_t i = 0; i < count; i++) out[i] = x[i] - y[i];
}

static void residual(size_t count, double gamma, const float *restrict x,
                     const double *restrict product, float *restrict out)
{
    for (size_t i = 0; i < count; i++) out[i] = (float)((double)x[i] - gamma * product[i]);
}

static void narrow(size_t count, const double *restrict from, float *restrict to)
{
    for (size_t i = 0; i < count; i++) to[i] = (float)from[i];
}

static void narrow_scaled(size_t count, const float *restrict scale, const double *restrict from,
                          float *restrict to)
{
    for (size_t i = 0; i < count; i++) to[i] = (float)((double)scale[i] * from[i]);
}

/* ---- scales of rows ---- */

static void two_largest(size_t count, const float *restrict upper, const float *restrict lower,
                        float *restrict most, float *restrict next)
{
    for (size_t i = 0; i < count; i++) {
        const float w = lower ? upper[i] + lower[i] : upper[i];
        const float less = w < most[i] ? w : most[i];
        next[i] = less > next[i] ? less : next[i];
        most[i] = w > most[i] ? w : most[i];
    }
}

static int scales(size_t count, float gamma, float *scale)
{
    float least = 1;
    for (size_t i = 0; i < count; i++) {
        const float S = gamma * scale[i] * (1 / LEAST_SCALED);
        scale[i] = S > 1 ? 1 / S : 1;
        least = scale[i] < least ? scale[i] : least;
    }
    return least < 1;
}

static void multiply(size_t count, const float *restrict scale, float *restrict x)
{
    for (size_t i = 0; i < count; i++) x[i] *= scale[i];
}

static void damp(size_t count, const float *restrict scale, const float *restrict x,
                 float *restrict out)
{
    for (size_t i = 0; i < count; i++) out[i] -= (1 - scale[i]) * x[i];
}

static void combine(size_t first, size_t count, int n, const double *factors, float *const *x,
                    double *out)
{
    double *restrict to = out + first;
    for (size_t i = 0; i < count; i++) to[i] = 0;
    for (int j = 0; j < n; j++) {
        const double factor = factors[j];
        const float *restrict from = x[j] + first;
        for (size_t i = 0; i < count; i++) to[i] += factor * (double)from[i];
    }
}

/* ---- transposition ---- */

/* to[k * out + r] = from[r * in + k] for r < rows, k < columns. */
static void transpose(size_t rows, size_t columns, const float *from, size_t in, float *to,
                      size_t out)
{
    const size_t whole_rows = rows / 8 * 8, whole = columns / 8 * 8;
    for (size_t r = 0; r < whole_rows; r += 8) {
        for (size_t k = 0; k < whole; k += 8)
            vf8_transpose(from + r * in + k, in, to + k * out + r, out);
        for (size_t k = whole; k < columns; k++)
            for (size_t i = r; i < r + 8; i++) to[k * out + i] = from[i * in + k];
    }
    for (size_t r = whole_rows; r < rows; r++)
        for (size_t k = 0; k < columns; k++) to[k * out + r] = from[r * in + k];
}

static void to_lines(size_t lines, size_t n, const float *from, size_t pad, float *to)
{
    transpose(lines, n, from, n, to, pad);
    for (size_t k = 0; k < n && lines < pad; k++)
        memset(to + k * pad + lines, 0, (pad - lines) * sizeof *to);
}

static void from_lines(size_t lines, size_t n, const float *from, size_t pad, float *to)
{
    transpose(n, lines, from, pad, to, n);
}

/* ---- sums ---- */

static double product(size_t count, const double *w, const float *x, const float *y)
{
    const size_t whole = count / SUMS * SUMS;
    vd part[SUMS / LANES];
    double sums[SUMS], total = 0;
    for (size_t l = 0; l < SUMS / LANES; l++) part[l] = vd_set(0);
    for (size_t i = 0; i < whole; i += SUMS)
        for (size_t l = 0; l < SUMS / LANES; l++) {
            const size_t at = i + l * LANES;
            const vd weight = vd_load(w + at);
            const vd a = vd_mul(weight, vd_from_floats(x + at));
            const vd b = vd_mul(weight, vd_from_floats(y + at));
            part[l] = vd_add(part[l], vd_mul(a, b));
        }
    for (size_t l = 0; l < SUMS / LANES; l++) vd_store(sums + l * LANES, part[l]);
    for (size_t i = whole; i < count; i++) total += w[i] * (double)x[i] * (w[i] * (double)y[i]);
    for (size_t l = 0; l < SUMS; l++) total += sums[l];
    return total;
}

static void products(size_t first, size_t count, const double *w, const float *x, int n,
                     float *const *y, double *sums)
{
    for (int j = 0; j < n; j++) sums[j] = 0;
    for (size_t i = first; i < first + count; i += CHUNK) {
        const size_t rest = first + count - i, part = rest < CHUNK ? rest : CHUNK;
        for (int j = 0; j < n; j++) sums[j] += product(part, w + i, x + i, y[j] + i);
    }
}

const hb_scheme_kernels ISA_NAME(hb_scheme_kernels) = {.line_edges = line_edges,
                                                       .line_pivots = line_pivots,
                                                       .line_solve = line_solve,
                                                       .edges = edges,
                                                       .lower_edges = lower_edges,
                                                       .weights = weights,
                                                       .roots = roots,
                                                       .drained = drained,
                                                       .finish = finish,
                                                       .solve = solve,
                                                       .couple = couple,
                                                       .subtract = subtract,
                                                       .difference = difference,
                                                       .residual = residual,
                                                       .narrow = narrow,
                                                       .narrow_scaled = narrow_scaled,
                                                       .two_largest = two_largest,
                                                       .scales = scales,
                                                       .multiply = multiply,
                                                       .damp = damp,
                                                       .combine = combine,
                                                       .to_lines = to_lines,
                                                       .from_lines = from_lines,
                                                       .products = products};
