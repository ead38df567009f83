/* What the benchmarks share: a monotonic clock, a context, and one JSON line per result. */
#ifndef HB_BENCH_STOPWATCH_H
#define HB_BENCH_STOPWATCH_H

#include <heatball/heatball.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds that this process had of the processor: for machines that do other work beside. */
static inline double processor(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The instruction set that BENCH_ISA names; absent: what the processor has. */
static inline int bench_isa(void)
{
    static const struct {
        const char *name;
        int isa;
    } sets[] = {{"avx512", HB_ISA_AVX512}, {"avx2", HB_ISA_AVX2}};
    const char *name = getenv("BENCH_ISA");
    if (!name || !*name) return HB_ISA_AUTO;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (!strcmp(name, sets[i].name)) return sets[i].isa;
    fprintf(stderr, "BENCH_ISA is %s; it must be avx2 or avx512\n", name);
    exit(1);
}

static inline hb_context *bench_context(int threads)
{
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.threads = threads;
    settings.isa = bench_isa();
    hb_context *context;
    if (hb_context_create(&settings, &context) == HB_OK) return context;
    fprintf(stderr, "no context: this processor may lack the instruction set of BENCH_ISA\n");
    exit(1);
}

/* At a boundary of 64 bytes, as the library's own arrays. */
static inline void *bench_array(size_t count, size_t size)
{
    void *memory = aligned_alloc(64, (count * size + 63) / 64 * 64);
    if (!memory) exit(1);
    return memory;
}

/* Stops the benchmark when a call fails; a time of a failed call means nothing. */
static inline void must(hb_context *context, hb_status status)
{
    if (status == HB_OK) return;
    fprintf(stderr, "%s\n", hb_context_message(context));
    exit(1);
}

static inline void report(const char *name, int threads, double items, double seconds)
{
    printf("{\"name\": \"%s\", \"threads\": %d, \"items\": %.0f, \"seconds\": %.9g}\n", name,
           threads, items, seconds);
}

/* Best of `rounds` of the statement. */
#define BEST_OF(rounds, best, statement)                                                           \
    do {                                                                                           \
        best = 1e300;                                                                              \
        for (int round_ = 0; round_ < (rounds); round_++) {                                        \
            double start_ = now();                                                                 \
            statement;                                                                             \
            double taken_ = now() - start_;                                                        \
            if (taken_ < best) best = taken_;                                                      \
        }                                                                                          \
    } while (0)

#endif
