/* Rows per second of the kappa sampler in memory, one JSON line each, on one and two threads, and the
 * library's own normals over an array of the same size, which is the sampler's limit.
 *
 * Arrays hold about 8 MB: larger than a core's own cache, as a user's would be. The two-thread rows
 * use 64 MB on one and on two threads, so that starting threads does not count. */
#include "stopwatch.h"

enum { SMALL = 1 << 20, LARGE = 1 << 23, ROUNDS = 5 };

static void bench_kappa(hb_context *ctx, size_t doubles, int dim, const char *size)
{
    char name[64];
    const size_t n = doubles / (size_t)dim;
    double *z = bench_array(n * (size_t)dim, sizeof *z), *sigma = bench_array(n, sizeof *sigma);
    double best;
    BEST_OF(ROUNDS, best,
            must(ctx, hb_ball_sample(ctx, HB_MEASURE_KAPPA, dim, 0, 1, 0, n, 1, z, sigma)));
    snprintf(name, sizeof name, "kappa d=%d, %s", dim, size);
    report(name, hb_context_threads(ctx), (double)n, best);
    free(z);
    free(sigma);
}

static void bench_normals(hb_context *ctx, size_t doubles, const char *size)
{
    char name[64];
    double *x = bench_array(doubles, sizeof *x), best;
    BEST_OF(ROUNDS, best, must(ctx, hb_random_normal(ctx, 1, 2, 0, doubles, x)));
    snprintf(name, sizeof name, "normal f64, %s", size);
    report(name, hb_context_threads(ctx), (double)doubles, best);
    free(x);
}

int main(void)
{
    static const int dims[] = {2, 16, 256};
    hb_context *one = bench_context(1), *two = bench_context(2);
    bench_normals(one, SMALL, "8 MB");
    for (size_t i = 0; i < 3; i++) bench_kappa(one, SMALL, dims[i], "8 MB");
    bench_normals(one, LARGE, "64 MB");
    bench_normals(two, LARGE, "64 MB");
    for (size_t i = 0; i < 3; i++) {
        bench_kappa(one, LARGE, dims[i], "64 MB");
        bench_kappa(two, LARGE, dims[i], "64 MB");
    }
    hb_context_destroy(one);
    hb_context_destroy(two);
    return 0;
}
