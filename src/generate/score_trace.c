/* The divergence of a score that is known by its values alone, for likelihoods.
 *
 * Along a direction v, D_h = v.(s(x + h v) - s(x - h v))/(2 h) is v^T J v + O(h^2), J the Jacobian
 * of s:
 *     all axes     div s = sum over the axes of D_h
 *     probes       v of random signs, E[v^T J v] = div s (M. F. Hutchinson, Communications in
 *                  Statistics 18, 1989); the probes of a row stay the same along its path and
 *                  follow from the seed and the values it began with
 * The score varies over the length sqrt(b), b the variance of the noise, so h = c sqrt(b) (for
 * probes c sqrt(b) dim^(-1/4)). c follows from the rounding of the score: with its error
 * eta/sqrt(b), D_h is off by about eta/c + c^2/6 in units of 1/b, least at c^3 = 3 eta. Where eta
 * is above ROUGH, as in a network in single precision, all axes take (4 D_h - D_2h)/3, which is of
 * order 4, and c^5 = 11 eta. eta is measured at DRAWS draws of the Gaussian, on ORDER + 1 points in
 * a line: in differences of order ORDER a smooth score leaves nothing, and its rounding is
 * multiplied by sqrt(binomial(2 ORDER, ORDER)) (J. J. More, S. M. Wild, SIAM J. Sci. Comput. 33,
 * 2011). The error estimate of a divergence is |D_h - D_2h|, three times the error of D_h where
 * that is smooth, and its rounding. A number to reproduce: data N(0, 1) under OU: div s = -dim,
 * with any probes. */
#include "base/linear_algebra.h"
#include "generate/reverse.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum { DRAWS = 16, ORDER = 6, CHECKED = 4, WORD = 32, LANES = 8, CALL_DOUBLES = 1 << 21 };
static const double SPACING = 3e-3, ROUGH = 1e-9, LEAST_STEP = 6e-6, LONGEST_STEP = 0.05;
static const double DIFFERENCE[ORDER + 1] = {1, -6, 15, -20, 15, -6, 1};
static const uint64_t REFERENCE_SEED = 1;

/* ---- the length of the differences ---- */

/* The length over which the score varies. */
static double trace_length(const hb_reverse *run, hb_level level)
{
    const hb_generate_settings *s = run->settings;
    if (s->process == HB_PROCESS_DRIFT && isnan(s->detail)) return sqrt(level.b / (1 + level.b));
    return sqrt(hb_reverse_fineness(s, level));
}

/* Draws of the Gaussian at a level, each with ORDER more in a line: trace->x. */
static hb_status trace_place_reference(hb_reverse *run, hb_level level)
{
    const size_t d = run->dim;
    hb_score_trace *trace = run->trace;
    hb_generate_settings there = *run->settings;
    hb_prior prior = {0};
    there.tau_max = level.tau;
    HB_TRY(hb_prior_create(run->context, &there, (int)d, &prior));
    double *draw = trace->s, *along = draw + DRAWS * d; // (DRAWS, d) each
    hb_status status = hb_prior_draw(&prior, run->quiet, REFERENCE_SEED, 0, DRAWS, draw);
    hb_workspace_destroy(&prior.work);
    for (size_t i = 0; there.ends && i < DRAWS * d; i++)
        draw[i] = there.ends[i % (there.n_ends * d)];
    if (status == HB_OK)
        status =
            hb_random_normal(run->quiet, REFERENCE_SEED, HB_STREAM_DIVERGENCE, 0, DRAWS * d, along);
    HB_TRY(status);
    const double step = SPACING * trace_length(run, level);
    for (size_t i = 0; i < DRAWS; i++) {
        const double norm = sqrt(hb_dot(d, along + i * d, along + i * d));
        for (size_t k = 0; k <= ORDER; k++)
            for (size_t j = 0; j < d; j++)
                trace->x[(i * (ORDER + 1) + k) * d + j] =
                    draw[i * d + j] + (double)k * step * along[i * d + j] / norm;
    }
    return HB_OK;
}

/* eta: the median over the draws of the root mean square over the coordinates. */
static double trace_rounding(const hb_score_trace *trace, size_t d, double length)
{
    double of_draw[DRAWS], binomial = 1;
    for (int k = 1; k <= ORDER; k++) binomial *= (double)(ORDER + k) / k;
    for (size_t i = 0; i < DRAWS; i++) {
        double squares = 0;
        for (size_t j = 0; j < d; j++) {
            double sum = 0;
            for (size_t k = 0; k <= ORDER; k++)
                sum += DIFFERENCE[k] * trace->s[(i * (ORDER + 1) + k) * d + j];
            squares += sum * sum / (double)d;
        }
        of_draw[i] = sqrt(squares / binomial) * length;
    }
    hb_sort(DRAWS, of_draw);
    return of_draw[DRAWS / 2];
}

hb_status hb_trace_begin(hb_reverse *run, hb_level level)
{
    hb_score_trace *trace = run->trace;
    HB_TRY(trace_place_reference(run, level));
    HB_TRY(hb_reverse_ask(run, DRAWS * (ORDER + 1), trace->x, level.tau, trace->s, NULL));
    const double eta = trace_rounding(trace, run->dim, trace_length(run, level));
    trace->eta = eta;
    trace->wide = trace->probes == 0 && eta > ROUGH;
    trace->step =
        fmin(fmax(trace->wide ? pow(11 * eta, 0.2) : cbrt(3 * eta), LEAST_STEP), LONGEST_STEP);
    if (trace->probes > 0) trace->step /= sqrt(sqrt((double)run->dim));
    return HB_OK;
}

/* ---- differences ----
 * A row has 1 + 2 directions + 2 far points: itself, x +- h v for all directions, x +- 2 h v for
 * the first `far`. */

typedef struct trace_call {
    const hb_reverse *run;
    hb_score_trace *trace;
    size_t directions, far, per_row, sums;
    const double *x; // (n, dim)
    double tau, h;
    double *score; // (n, dim)
    double *sum;   // (n, sums)
    double *off;   // (n), or NULL
} trace_call;

/* Signs of the probes of a row: trace->sign (probes, dim). */
static hb_status trace_draw_signs(const trace_call *c, size_t row)
{
    const size_t d = c->run->dim, words = (d + WORD - 1) / WORD, size = c->directions * words;
    hb_score_trace *trace = c->trace;
    if (trace->probes == 0) return HB_OK;
    const uint64_t key = c->run->row_keys ? c->run->row_keys[row] : 0;
    if (trace->signed_key == key && trace->has_signs) return HB_OK;
    hb_context alone = hb_context_child(c->run->context, 1);
    HB_TRY(hb_random_words(&alone, c->run->settings->seed, HB_STREAM_DIVERGENCE,
                           key % (UINT64_MAX / size) * size, size, trace->words));
    for (size_t k = 0; k < c->directions; k++)
        for (size_t j = 0; j < d; j++)
            trace->sign[k * d + j] =
                trace->words[k * words + j / WORD] >> (j % WORD) & 1 ? 1.0 : -1.0;
    trace->signed_key = key;
    trace->has_signs = 1;
    return HB_OK;
}

/* Which point of its row: direction k, and how many h it is away; 0 for the row itself. */
static double trace_offset(const trace_call *c, size_t point, size_t *k)
{
    const size_t near = 2 * c->directions;
    *k = 0;
    if (point == 0) return 0;
    *k = point <= near ? (point - 1) / 2 : (point - 1 - near) / 2;
    return (point <= near ? 1 : 2) * (point % 2 ? 1.0 : -1.0);
}

static void trace_place_point(const trace_call *c, size_t row, size_t point, double *x)
{
    const size_t d = c->run->dim;
    size_t k;
    const double away = trace_offset(c, point, &k) * c->h;
    const double *from = c->x + row * d, *sign = c->trace->sign + k * d;
    if (away != 0 && c->trace->probes > 0) {
        for (size_t j = 0; j < d; j++) x[j] = from[j] + away * sign[j];
        return;
    }
    memcpy(x, from, d * sizeof *x);
    x[k] += away;
}

/* v.s in LANES sums, which do not wait for one another. */
static double trace_along_sign(size_t d, const double *sign, const double *s)
{
    double sum[LANES] = {0};
    size_t j = 0;
    for (; j + LANES <= d; j += LANES)
        for (size_t k = 0; k < LANES; k++) sum[k] += sign[j + k] * s[j + k];
    for (; j < d; j++) sum[0] += sign[j] * s[j];
    double total = 0;
    for (size_t k = 0; k < LANES; k++) total += sum[k];
    return total;
}

static void trace_take_point(const trace_call *c, size_t row, size_t point, const double *s)
{
    const size_t d = c->run->dim;
    size_t k;
    const double offset = trace_offset(c, point, &k);
    if (offset == 0) {
        memcpy(c->score + row * d, s, d * sizeof *s);
        return;
    }
    const double along =
        c->trace->probes > 0 ? trace_along_sign(d, c->trace->sign + k * d, s) : s[k];
    const double part = along / (2 * offset * c->h); /* of D_h or D_2h */
    const int is_far = fabs(offset) > 1;
    double *sum = c->sum + row * c->sums + (c->trace->probes > 0 ? k : 0);
    if (c->trace->wide)
        *sum += is_far ? -part / 3 : 4 * part / 3;
    else if (!is_far)
        *sum += part;
    if (c->off && k < c->far) c->off[row] += is_far ? -part : part;
}

/* Points first .. first+n-1 of all rows, in one call of the score. */
static hb_status trace_ask_points(const trace_call *c, size_t first, size_t n)
{
    const size_t d = c->run->dim;
    for (size_t i = 0; i < n; i++) {
        HB_TRY(trace_draw_signs(c, (first + i) / c->per_row));
        trace_place_point(c, (first + i) / c->per_row, (first + i) % c->per_row,
                          c->trace->x + i * d);
    }
    HB_TRY(hb_reverse_ask(c->run, n, c->trace->x, c->tau, c->trace->s, NULL));
    for (size_t i = 0; i < n; i++) {
        HB_TRY(trace_draw_signs(c, (first + i) / c->per_row));
        trace_take_point(c, (first + i) / c->per_row, (first + i) % c->per_row,
                         c->trace->s + i * d);
    }
    return HB_OK;
}

static hb_status trace_differences(const hb_reverse *run, size_t n, const double *x, hb_level level,
                                   double *score, double *sum, double *off)
{
    hb_score_trace *trace = run->trace;
    const size_t directions = trace->probes > 0 ? (size_t)trace->probes : run->dim;
    size_t far = off ? directions : 0;
    if (trace->probes > CHECKED && far) far = CHECKED;
    if (trace->wide) far = directions;
    const trace_call call = {.run = run,
                             .trace = trace,
                             .directions = directions,
                             .far = far,
                             .per_row = 1 + 2 * directions + 2 * far,
                             .sums = run->sums,
                             .x = x,
                             .tau = level.tau,
                             .h = trace->step * trace_length(run, level),
                             .score = score,
                             .sum = sum,
                             .off = off};
    memset(sum, 0, n * run->sums * sizeof *sum);
    if (off) memset(off, 0, n * sizeof *off);
    trace->has_signs = 0;
    const size_t total = n * call.per_row;
    for (size_t first = 0; first < total; first += trace->points)
        HB_TRY(trace_ask_points(&call, first,
                                total - first < trace->points ? total - first : trace->points));
    const double rounding =
        sqrt((double)run->dim) * trace->eta / (trace_length(run, level) * call.h);
    for (size_t i = 0; off && i < n; i++)
        off[i] = fabs(off[i]) / (trace->probes > 0 ? (double)far : 1) + rounding;
    return HB_OK;
}

hb_status hb_reverse_trace(const hb_reverse *run, size_t n, const double *x, hb_level level,
                           double *score, double *sum, double *off)
{
    if (run->trace) return trace_differences(run, n, x, level, score, sum, off);
    if (off) memset(off, 0, n * sizeof *off);
    return hb_reverse_ask(run, n, x, level.tau, score, sum);
}

hb_status hb_trace_create(hb_reverse *run, int probes, hb_score_trace *out)
{
    const size_t d = run->dim, p = (size_t)probes, least = DRAWS * (ORDER + 1);
    const size_t fits = CALL_DOUBLES / d, most = fits < HB_CALL_ROWS ? fits : HB_CALL_ROWS;
    *out = (hb_score_trace){.probes = probes, .points = most > least ? most : least};
    HB_TRY(HB_WORKSPACE(run->context, &out->work, HB_ARRAY(out->x, out->points * d),
                        HB_ARRAY(out->s, out->points * d), HB_ARRAY(out->sign, p * d),
                        HB_ARRAY(out->words, p * ((d + WORD - 1) / WORD))));
    run->trace = out;
    run->sums = p > 0 ? p : 1;
    return HB_OK;
}
