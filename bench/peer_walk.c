/* The peer of the walks: Feynman-Kac with Euler-Maruyama as a C programmer would write it.
 *
 * u(x, tau) = E[u0(X) exp(-int div F)], dX = -F ds + sqrt(2) dW from x, in `steps` equal steps; the score is
 * grad u/u by the pathwise derivative. Walks go in blocks, one coordinate of a block in one run of
 * memory, so that the compiler vectorises over walks (-O3 -march=native); normals are the
 * library's own, 500 million per second. Problems (bench/estimate_problems.py):
 *     linear    F = A x; weight and tangent are constants. Start N(mean, diag(var)) or uniform(low, high)^d,
 *               which has no pathwise derivative: density only
 *     bistable  F = 2(x - x^3) from N(0, 1)
 *     soft      F_j = -x_j + 2 x_j/(1 + x_j^2) from N(0.3, 0.4) in each coordinate
 *     gauge     bistable after u = e^(-V/2) psi: Brownian paths and int Q by the trapezoid rule
 *
 * Arguments: bistable|gauge STEPS WALKS SEED TAU X
 *            soft STEPS WALKS SEED TAU D, then D numbers x
 *            linear STEPS WALKS SEED TAU D gaussian|uniform, then D*D numbers A, D numbers x, and
 *            D means and D variances, or low and high
 * Prints one JSON line: seconds of the processor, mean and deviation of the density per walk, of the score per walk. */
#include "stopwatch.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 512, MOST_DIM = 64 };

static const double LOG_TWO_PI = 1.8378770664093453;

typedef struct sums {
    double a, aa;                                   /* of u's value of a walk, and its square */
    double b[MOST_DIM], ab[MOST_DIM], bb[MOST_DIM]; /* of grad u's, and products */
} sums;

static void add(sums *s, size_t d, const double *a, const double *b)
{
    for (size_t i = 0; i < BLOCK; i++) {
        s->a += a[i];
        s->aa += a[i] * a[i];
    }
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < BLOCK; i++) {
            const double slope = b[j * BLOCK + i];
            s->b[j] += slope;
            s->ab[j] += a[i] * slope;
            s->bb[j] += slope * slope;
        }
}

static void print_sums(const sums *s, size_t d, double n, double seconds)
{
    const double mean = s->a / n, deviation = sqrt(fmax(s->aa / n - mean * mean, 0));
    printf("{\"seconds\": %.9g, \"walks\": %.0f, \"density\": %.17g, \"density_sd\": %.9g, "
           "\"score\": [",
           seconds, n, mean, deviation);
    for (size_t j = 0; j < d; j++) printf("%s%.17g", j ? ", " : "", s->b[j] / s->a);
    printf("], \"score_sd\": [");
    for (size_t j = 0; j < d; j++) {
        const double r = s->b[j] / s->a;
        const double var = (s->bb[j] - 2 * r * s->ab[j] + r * r * s->aa) / n / (mean * mean);
        printf("%s%.9g", j ? ", " : "", sqrt(fmax(var, 0)));
    }
    printf("]}\n");
}

/* ---- linear drifts ---- */

typedef struct linear {
    size_t d;
    int steps, uniform, diagonal;
    double tau, A[MOST_DIM * MOST_DIM], x[MOST_DIM], mean[MOST_DIM], var[MOST_DIM];
    double M[MOST_DIM * MOST_DIM];       /* I - h A */
    double tangent[MOST_DIM * MOST_DIM]; /* M^steps */
    double log_weight;
} linear;

static void prepare(linear *p)
{
    const size_t d = p->d;
    const double h = p->tau / p->steps;
    double next[MOST_DIM * MOST_DIM];
    p->diagonal = 1;
    p->log_weight = 0;
    for (size_t j = 0; j < d; j++)
        for (size_t k = 0; k < d; k++) {
            p->M[j * d + k] = (j == k) - h * p->A[j * d + k];
            p->tangent[j * d + k] = j == k;
            if (j != k && p->A[j * d + k] != 0) p->diagonal = 0;
        }
    for (size_t j = 0; j < d; j++) p->log_weight -= p->tau * p->A[j * d + j];
    for (int s = 0; s < p->steps; s++) {
        for (size_t j = 0; j < d; j++)
            for (size_t k = 0; k < d; k++) {
                next[j * d + k] = 0;
                for (size_t l = 0; l < d; l++)
                    next[j * d + k] += p->M[j * d + l] * p->tangent[l * d + k];
            }
        memcpy(p->tangent, next, d * d * sizeof *next);
    }
}

/* y <- M y + scale noise, both [d][BLOCK]. */
static void linear_step(const linear *p, double scale, const double *restrict noise,
                        double *restrict y, double *restrict other)
{
    const size_t d = p->d;
    if (p->diagonal) {
        for (size_t j = 0; j < d; j++)
            for (size_t i = 0; i < BLOCK; i++)
                y[j * BLOCK + i] =
                    p->M[j * d + j] * y[j * BLOCK + i] + scale * noise[j * BLOCK + i];
        return;
    }
    memcpy(other, y, d * BLOCK * sizeof *y);
    for (size_t j = 0; j < d; j++) {
        for (size_t i = 0; i < BLOCK; i++) y[j * BLOCK + i] = scale * noise[j * BLOCK + i];
        for (size_t k = 0; k < d; k++) {
            const double m = p->M[j * d + k];
            if (m == 0) continue;
            for (size_t i = 0; i < BLOCK; i++) y[j * BLOCK + i] += m * other[k * BLOCK + i];
        }
    }
}

static void gaussian_end(const linear *p, const double *restrict y, double *restrict a,
                         double *restrict slope, double *restrict b)
{
    const size_t d = p->d;
    double constant = p->log_weight;
    for (size_t j = 0; j < d; j++) constant -= 0.5 * (LOG_TWO_PI + log(p->var[j]));
    for (size_t i = 0; i < BLOCK; i++) a[i] = constant;
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < BLOCK; i++) {
            const double away = y[j * BLOCK + i] - p->mean[j];
            slope[j * BLOCK + i] = -away / p->var[j];
            a[i] += 0.5 * away * slope[j * BLOCK + i];
        }
    for (size_t i = 0; i < BLOCK; i++) a[i] = exp(a[i]);
    for (size_t k = 0; k < d; k++) {
        for (size_t i = 0; i < BLOCK; i++) b[k * BLOCK + i] = 0;
        for (size_t j = 0; j < d; j++) {
            const double t = p->tangent[j * d + k];
            if (t == 0) continue;
            for (size_t i = 0; i < BLOCK; i++) b[k * BLOCK + i] += t * a[i] * slope[j * BLOCK + i];
        }
    }
}

static void uniform_end(const linear *p, const double *restrict y, double *restrict a)
{
    const double low = p->mean[0], high = p->mean[1];
    const double value = exp(p->log_weight) / pow(high - low, (double)p->d);
    for (size_t i = 0; i < BLOCK; i++) a[i] = value;
    for (size_t j = 0; j < p->d; j++)
        for (size_t i = 0; i < BLOCK; i++)
            a[i] = y[j * BLOCK + i] > low && y[j * BLOCK + i] < high ? a[i] : 0;
}

static void run_linear(hb_context *context, const linear *p, uint64_t seed, size_t blocks, sums *s)
{
    const size_t d = p->d, size = d * BLOCK;
    double *y = bench_array(4 * size + BLOCK, sizeof *y), *noise = y + size, *other = noise + size,
           *b = other + size, *a = b + size;
    const double scale = sqrt(2 * p->tau / p->steps);
    memset(b, 0, size * sizeof *b);
    for (size_t k = 0; k < blocks; k++) {
        for (size_t j = 0; j < d; j++)
            for (size_t i = 0; i < BLOCK; i++) y[j * BLOCK + i] = p->x[j];
        for (int step = 0; step < p->steps; step++) {
            must(context, hb_random_normal(context, seed, k, (uint64_t)step * size, size, noise));
            linear_step(p, scale, noise, y, other);
        }
        if (p->uniform)
            uniform_end(p, y, a);
        else
            gaussian_end(p, y, a, noise, b);
        add(s, d, a, b);
    }
    free(y);
}

/* ---- the bistable drift ---- */

typedef struct walkers {
    double y[BLOCK], log_weight[BLOCK], slope[BLOCK], tangent[BLOCK];
} walkers;

static void plain_step(double h, const double *restrict noise, walkers *restrict w)
{
    const double scale = sqrt(2 * h);
    for (size_t i = 0; i < BLOCK; i++) {
        const double y = w->y[i], F = 2 * (y - y * y * y), dF = 2 - 6 * y * y;
        w->log_weight[i] -= h * dF;
        w->slope[i] += h * 12 * y * w->tangent[i];
        w->tangent[i] -= h * dF * w->tangent[i];
        w->y[i] = y - h * F + scale * noise[i];
    }
}

static void gauge_step(double h, double share, const double *restrict noise, walkers *restrict w)
{
    const double scale = sqrt(2 * h);
    for (size_t i = 0; i < BLOCK; i++) {
        const double y = w->y[i], F = 2 * (y - y * y * y), dF = 2 - 6 * y * y;
        w->log_weight[i] -= share * (F * F / 4 + dF / 2);
        w->slope[i] -= share * (F * dF / 2 - 6 * y);
        w->y[i] = y + scale * noise[i];
    }
}

static void bistable_end(int gauge, double x, walkers *w, double *restrict a, double *restrict b)
{
    const double V = x * x * x * x / 2 - x * x, F = 2 * (x - x * x * x);
    for (size_t i = 0; i < BLOCK; i++) {
        const double y = w->y[i], y2 = y * y, Vy = y2 * y2 / 2 - y2, Fy = 2 * (y - y * y2);
        const double log_weight = w->log_weight[i] + (gauge ? (Vy - V) / 2 : 0);
        const double slope = w->slope[i] + (gauge ? (F - Fy) / 2 : 0);
        a[i] = exp(log_weight - 0.5 * (y2 + LOG_TWO_PI));
        b[i] = a[i] * (slope - y * w->tangent[i]);
        if (!isfinite(a[i]) || !isfinite(b[i])) a[i] = b[i] = 0; /* it exploded; u0 is 0 there */
    }
}

static void run_bistable(hb_context *context, int gauge, int steps, double tau, double x,
                         uint64_t seed, size_t blocks, sums *s)
{
    static walkers w;
    double noise[BLOCK], a[BLOCK], b[BLOCK];
    const double h = tau / steps;
    for (size_t k = 0; k < blocks; k++) {
        for (size_t i = 0; i < BLOCK; i++) {
            w.y[i] = x;
            w.log_weight[i] = w.slope[i] = 0;
            w.tangent[i] = 1;
        }
        for (int step = 0; step < steps; step++) {
            const uint64_t first = (uint64_t)step * BLOCK;
            must(context, hb_random_normal(context, seed, k, first, BLOCK, noise));
            if (gauge)
                gauge_step(h, step ? h : h / 2, noise, &w);
            else
                plain_step(h, noise, &w);
        }
        if (gauge) { /* the last half share of the trapezoid rule */
            memset(noise, 0, sizeof noise);
            gauge_step(h, h / 2, noise, &w);
        }
        bistable_end(gauge, x, &w, a, b);
        add(s, 1, a, b);
    }
}

/* ---- soft wells ---- */

/* One step of one coordinate of a block; all arrays [BLOCK]. */
static void soft_step(double h, const double *restrict noise, double *restrict y,
                      double *restrict log_weight, double *restrict slope, double *restrict tangent)
{
    const double scale = sqrt(2 * h);
    for (size_t i = 0; i < BLOCK; i++) {
        const double x = y[i], x2 = x * x, q = 1 / (1 + x2);
        const double dF = -1 + 2 * (1 - x2) * q * q, ddF = -4 * x * (3 - x2) * q * q * q;
        log_weight[i] -= h * dF;
        slope[i] -= h * ddF * tangent[i];
        tangent[i] -= h * dF * tangent[i];
        y[i] = x + h * (x - 2 * x * q) + scale * noise[i];
    }
}

static void soft_end(size_t d, const double *restrict y, double *restrict log_weight,
                     const double *restrict slope, const double *restrict tangent,
                     double *restrict b)
{
    const double mean = 0.3, var = 0.4;
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < BLOCK; i++) {
            const double away = y[j * BLOCK + i] - mean;
            log_weight[i] -= 0.5 * (away * away / var + LOG_TWO_PI + log(var));
            b[j * BLOCK + i] = slope[j * BLOCK + i] - away / var * tangent[j * BLOCK + i];
        }
    for (size_t i = 0; i < BLOCK; i++) log_weight[i] = exp(log_weight[i]);
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < BLOCK; i++) b[j * BLOCK + i] *= log_weight[i];
}

static void run_soft(hb_context *context, size_t d, int steps, double tau, const double *x,
                     uint64_t seed, size_t blocks, sums *s)
{
    const size_t size = d * BLOCK;
    double *y = bench_array(5 * size + BLOCK, sizeof *y), *noise = y + size, *slope = noise + size,
           *tangent = slope + size, *b = tangent + size, *a = b + size;
    for (size_t k = 0; k < blocks; k++) {
        for (size_t i = 0; i < size; i++) {
            y[i] = x[i / BLOCK];
            slope[i] = 0;
            tangent[i] = 1;
        }
        memset(a, 0, BLOCK * sizeof *a);
        for (int step = 0; step < steps; step++) {
            must(context, hb_random_normal(context, seed, k, (uint64_t)step * size, size, noise));
            for (size_t j = 0; j < size; j += BLOCK)
                soft_step(tau / steps, noise + j, y + j, a, slope + j, tangent + j);
        }
        soft_end(d, y, a, slope, tangent, b);
        add(s, d, a, b);
    }
    free(y);
}

/* ---- arguments ---- */

static const char *next_word(char ***words)
{
    if (!**words) {
        fprintf(stderr, "an argument is missing; the head of bench/peer_walk.c lists them\n");
        exit(2);
    }
    return *(*words)++;
}

static void read_numbers(char ***words, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) out[i] = strtod(next_word(words), NULL);
}

static size_t read_dim(char ***words)
{
    const size_t d = strtoul(next_word(words), NULL, 10);
    if (d < 1 || d > MOST_DIM) {
        fprintf(stderr, "the dimension must be 1 to %d\n", MOST_DIM);
        exit(2);
    }
    return d;
}

static void read_linear(char ***words, linear *p)
{
    p->d = read_dim(words);
    p->uniform = strcmp(next_word(words), "uniform") == 0;
    read_numbers(words, p->d * p->d, p->A);
    read_numbers(words, p->d, p->x);
    read_numbers(words, p->uniform ? 2 : p->d, p->mean);
    if (!p->uniform) read_numbers(words, p->d, p->var);
    prepare(p);
}

static void run(hb_context *context, const char *kind, char ***words, linear *p, uint64_t seed,
                size_t blocks, sums *s, double *seconds)
{
    const int is_linear = strcmp(kind, "linear") == 0, is_soft = strcmp(kind, "soft") == 0;
    p->d = 1;
    if (is_linear) read_linear(words, p);
    if (is_soft) p->d = read_dim(words);
    if (!is_linear) read_numbers(words, p->d, p->x);
    const double start = processor();
    if (is_linear)
        run_linear(context, p, seed, blocks, s);
    else if (is_soft)
        run_soft(context, p->d, p->steps, p->tau, p->x, seed, blocks, s);
    else
        run_bistable(context, strcmp(kind, "gauge") == 0, p->steps, p->tau, p->x[0], seed, blocks,
                     s);
    *seconds = processor() - start;
}

int main(int argc, char **argv)
{
    static linear p;
    static sums s;
    char **words = argv + (argc > 0);
    const char *kind = next_word(&words);
    p.steps = atoi(next_word(&words));
    const size_t blocks = (strtoull(next_word(&words), NULL, 10) + BLOCK - 1) / BLOCK;
    const uint64_t seed = strtoull(next_word(&words), NULL, 10);
    double seconds;
    read_numbers(&words, 1, &p.tau);
    if (p.steps < 1 || blocks < 1) return 2;
    hb_context *context = bench_context(1);
    run(context, kind, &words, &p, seed, blocks, &s, &seconds);
    print_sums(&s, p.uniform ? 0 : p.d, (double)(blocks * BLOCK), seconds);
    hb_context_destroy(context);
    return 0;
}
