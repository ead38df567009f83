/* Draws per second of the random room, one JSON line each.
 *
 * In cache: 16384 draws (128 KB of doubles) filled again and again, by the public calls on one thread.
 * The limit of a normal is its bits: the uniforms' rate. */
#include "stopwatch.h"

enum { N = 16384, REPEAT = 200, ROUNDS = 5 };

int main(void)
{
    hb_context *ctx = bench_context(1);
    double *x = bench_array(N, sizeof *x), best;
    float *y = bench_array(N, sizeof *y);
    BEST_OF(ROUNDS, best, {
        for (uint64_t k = 0; k < REPEAT; k++) must(ctx, hb_random_normal(ctx, 1, 2, k * N, N, x));
    });
    report("normal f64", 1, (double)N * REPEAT, best);
    BEST_OF(ROUNDS, best, {
        for (uint64_t k = 0; k < REPEAT; k++) must(ctx, hb_random_uniform(ctx, 1, 2, k * N, N, x));
    });
    report("uniform f64", 1, (double)N * REPEAT, best);
    BEST_OF(ROUNDS, best, {
        for (uint64_t k = 0; k < REPEAT; k++)
            must(ctx, hb_random_normal_f32(ctx, 1, 2, k * N, N, y));
    });
    report("normal f32", 1, (double)N * REPEAT, best);
    free(x);
    free(y);
    hb_context_destroy(ctx);
    return 0;
}
