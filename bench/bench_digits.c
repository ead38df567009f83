/* Training in 256 dimensions: a step of each loss beside its matrix products alone, and scores as
 * generation asks for them. One JSON line each.
 *
 * The network of the digits: 256 coordinates, 8 features of tau, 10 classes, 4 residual layers of
 * 704 units, 256 outputs (score head) or 1 (energy head); batch 256. A step's time is the difference
 * of two runs of hb_train of different lengths, so that reading the data's covariance does not
 * count. "products alone" are the dnnl_sgemm of a DSM step of the score head: forward, weights and
 * inputs of every layer, for two shards of 128 rows. Seconds are processor time of all threads, since
 * the machine may be shared; run it with OMP_WAIT_POLICY=passive, so that waiting does not count.
 * `bench_digits dsm` stops after the DSM step. */
#include "stopwatch.h"

#include <dnnl.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum {
    DIM = 256,
    CLASSES = 10,
    FEATURES = 8,
    INPUTS = DIM + FEATURES + CLASSES,
    WIDTH = 704,
    DEPTH = 4,
    BATCH = 256,
    ROWS = 2048,
    SHORT = 10,
    LONG = 40,
    ROUNDS = 5,
    SHARDS = 2
};

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- products alone ---- */

typedef struct shard_arrays {
    float *units[DEPTH + 2], *down, *gradient;
} shard_arrays;

static float *normals(hb_context *context, size_t n)
{
    float *x = bench_array(n, sizeof *x);
    must(context, hb_random_normal_f32(context, 1, 2, 0, n, x));
    return x;
}

static dnnl_dim_t in_of(int l)
{
    return l ? WIDTH : INPUTS;
}

static dnnl_dim_t out_of(int l)
{
    return l == DEPTH ? DIM : WIDTH;
}

static void products_of_shard(const shard_arrays *s, const float *weights, dnnl_dim_t rows)
{
    const float *w = weights;
    for (int l = 0; l <= DEPTH; w += in_of(l) * out_of(l), l++)
        dnnl_sgemm('N', 'T', rows, out_of(l), in_of(l), 1, s->units[l], in_of(l), w, in_of(l), 0,
                   s->units[l + 1], out_of(l));
    float *g = s->gradient + (w - weights);
    for (int l = DEPTH; l >= 0; l--) {
        const dnnl_dim_t in = in_of(l), out = out_of(l);
        w -= in * out, g -= in * out;
        dnnl_sgemm('T', 'N', out, in, rows, 1, s->units[l + 1], out, s->units[l], in, 1, g, in);
        if (l) dnnl_sgemm('N', 'N', rows, in, out, 1, s->units[l + 1], out, w, in, 0, s->down, in);
    }
}

static void products_of_steps(int times, int threads, const shard_arrays *shards,
                              const float *weights)
{
    for (int k = 0; k < times; k++) {
#pragma omp parallel for num_threads(threads)
        for (int s = 0; s < SHARDS; s++) {
            omp_set_num_threads(1);
            products_of_shard(&shards[s], weights, BATCH / SHARDS);
        }
    }
}

static double products_seconds(hb_context *context, int threads)
{
    enum { TIMES = 20 };
    const size_t most = (size_t)BATCH / SHARDS * WIDTH;
    size_t parameters = 0;
    for (int l = 0; l <= DEPTH; l++) parameters += (size_t)(in_of(l) * out_of(l));
    float *weights = normals(context, parameters);
    shard_arrays shards[SHARDS];
    for (int s = 0; s < SHARDS; s++) {
        for (int l = 0; l <= DEPTH + 1; l++) shards[s].units[l] = normals(context, most);
        shards[s].down = normals(context, most);
        shards[s].gradient = normals(context, parameters);
    }
    double best = 1e300;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = processor_seconds();
        products_of_steps(TIMES, threads, shards, weights);
        best = fmin(best, processor_seconds() - start);
    }
    for (int s = 0; s < SHARDS; s++) {
        for (int l = 0; l <= DEPTH + 1; l++) free(shards[s].units[l]);
        free(shards[s].down), free(shards[s].gradient);
    }
    free(weights);
    return best / TIMES;
}

/* ---- steps ---- */

static double train_seconds(hb_context *context, hb_train_settings *settings, uint64_t steps,
                            const double *data, const int *labels, hb_model **out)
{
    hb_model *model;
    settings->steps = steps;
    const double start = processor_seconds();
    must(context, hb_train(context, settings, DIM, ROWS, data, CLASSES, labels, &model));
    const double taken = processor_seconds() - start;
    if (out)
        *out = model;
    else
        hb_model_destroy(model);
    return taken;
}

static hb_train_settings settings_of(int loss, int head)
{
    hb_train_settings settings;
    hb_train_settings_default(&settings);
    settings.loss = loss;
    settings.head = head;
    settings.width = WIDTH;
    settings.depth = DEPTH;
    settings.residual = 1;
    settings.time_features = FEATURES;
    settings.batch = BATCH;
    settings.target_rows = 0;
    settings.warmup = settings.ramp = 0; /* the constraint from the first step on */
    return settings;
}

static double bench_step(hb_context *context, const char *name, int loss, int head,
                         const double *data, const int *labels)
{
    hb_train_settings settings = settings_of(loss, head);
    double best = 1e300;
    for (int round = 0; round < ROUNDS; round++) {
        const double few = train_seconds(context, &settings, SHORT, data, labels, NULL);
        const double many = train_seconds(context, &settings, LONG, data, labels, NULL);
        const double step = (many - few) / (LONG - SHORT);
        if (step > 0 && step < best) best = step;
    }
    report(name, hb_context_threads(context), BATCH, best);
    return best;
}

static void bench_scores(hb_context *context, const double *data, const int *labels)
{
    hb_train_settings settings = settings_of(HB_LOSS_DSM, HB_HEAD_SCORE);
    hb_model *model;
    double *tau = bench_array(ROWS, sizeof *tau), *score = bench_array(ROWS * DIM, sizeof *score);
    double best = 1e300;
    train_seconds(context, &settings, 1, data, labels, &model);
    for (int i = 0; i < ROWS; i++) tau[i] = 0.3;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = processor_seconds();
        must(context, hb_model_score(context, model, ROWS, data, tau, labels, score));
        best = fmin(best, processor_seconds() - start);
    }
    report("digits scores", hb_context_threads(context), ROWS, best);
    free(tau), free(score);
    hb_model_destroy(model);
}

int main(int count, char **words)
{
    const int dsm_only = count > 1 && strcmp(words[1], "dsm") == 0;
    hb_context *context = bench_context(2);
    double *data = bench_array((size_t)ROWS * DIM, sizeof *data);
    int labels[ROWS];
    must(context, hb_random_normal(context, 5, 1, 0, (uint64_t)ROWS * DIM, data));
    for (int i = 0; i < ROWS; i++) labels[i] = i % CLASSES;
    const double products = products_seconds(context, 2);
    report("digits dsm score step, products alone", 2, BATCH, products);
    const double dsm =
        bench_step(context, "digits dsm score step", HB_LOSS_DSM, HB_HEAD_SCORE, data, labels);
    printf("{\"name\": \"digits dsm score step : products\", \"ratio\": %.4f}\n", dsm / products);
    if (!dsm_only) {
        bench_step(context, "digits hb score step", HB_LOSS_HB, HB_HEAD_SCORE, data, labels);
        bench_step(context, "digits dsm energy step", HB_LOSS_DSM, HB_HEAD_ENERGY, data, labels);
        bench_step(context, "digits fp energy step", HB_LOSS_FP, HB_HEAD_ENERGY, data, labels);
        bench_step(context, "digits hb energy step", HB_LOSS_HB, HB_HEAD_ENERGY, data, labels);
        bench_scores(context, data, labels);
    }
    free(data);
    hb_context_destroy(context);
    return 0;
}
