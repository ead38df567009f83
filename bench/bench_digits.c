/* Training and generation in 256 dimensions beside their matrix products alone. One JSON line each.
 *
 * The network of the digits: 256 coordinates, 8 features of tau, 10 classes, 4 residual layers of
 * 1024 units, 256 outputs (score head) or 1 (energy head); batches of 128 as it was trained, or of
 * BATCH. A step's time is the difference of two runs of hb_train of different lengths, so that reading
 * the data's covariance does not count. "products alone" are dnnl_sgemm's of a DSM step of the score
 * head: forward, weights and inputs of every layer, for two shards; "with targets" also the two with
 * the rows that a target is the mean over; of generation the forward ones of every evaluation. Rounds
 * of both take turns. Seconds are processor time of all threads, since the machine may be shared; run it
 * with OMP_WAIT_POLICY=passive, so that waiting does not count.
 *
 *     bench_digits [BATCH]          all
 *     bench_digits table [BATCH]    DSM steps and generation: what make bench prints
 *     bench_digits dsm [BATCH]      the DSM step alone */
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
    WIDTH = 1024,
    DEPTH = 4,
    ROWS = 4096,
    TARGET_ROWS = 2048,
    IMAGES = 512, /* of generation: two blocks */
    BLOCK = 256,
    SHORT = 10,
    LONG = 30,
    ROUNDS = 6,
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
    float *targets, *weights_of_targets; // (TARGET_ROWS, DIM), (rows, TARGET_ROWS)
} shard_arrays;

typedef struct products {
    float *weights;
    shard_arrays shards[SHARDS];
} products;

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

static void make_products(hb_context *context, size_t rows, products *p)
{
    size_t parameters = 0;
    for (int l = 0; l <= DEPTH; l++) parameters += (size_t)(in_of(l) * out_of(l));
    p->weights = normals(context, parameters);
    for (int k = 0; k < SHARDS; k++) {
        shard_arrays *s = &p->shards[k];
        for (int l = 0; l <= DEPTH + 1; l++) s->units[l] = normals(context, rows * WIDTH);
        s->down = normals(context, rows * WIDTH);
        s->gradient = normals(context, parameters);
        s->targets = normals(context, (size_t)TARGET_ROWS * DIM);
        s->weights_of_targets = normals(context, rows * TARGET_ROWS);
    }
}

static void free_products(products *p)
{
    free(p->weights);
    for (int k = 0; k < SHARDS; k++) {
        shard_arrays *s = &p->shards[k];
        for (int l = 0; l <= DEPTH + 1; l++) free(s->units[l]);
        free(s->down), free(s->gradient), free(s->targets), free(s->weights_of_targets);
    }
}

static void forward_products(const shard_arrays *s, const float *w, dnnl_dim_t rows)
{
    for (int l = 0; l <= DEPTH; w += in_of(l) * out_of(l), l++)
        dnnl_sgemm('N', 'T', rows, out_of(l), in_of(l), 1, s->units[l], in_of(l), w, in_of(l), 0,
                   s->units[l + 1], out_of(l));
}

static void target_products(const shard_arrays *s, dnnl_dim_t rows)
{
    dnnl_sgemm('N', 'T', rows, TARGET_ROWS, DIM, 1, s->units[0], DIM, s->targets, DIM, 0,
               s->weights_of_targets, TARGET_ROWS);
    dnnl_sgemm('N', 'N', rows, DIM, TARGET_ROWS, 1, s->weights_of_targets, TARGET_ROWS, s->targets,
               DIM, 0, s->down, DIM);
}

static void backward_products(const shard_arrays *s, const float *weights, dnnl_dim_t rows)
{
    const float *w = weights;
    float *g = s->gradient;
    for (int l = 0; l <= DEPTH; l++) w += in_of(l) * out_of(l), g += in_of(l) * out_of(l);
    for (int l = DEPTH; l >= 0; l--) {
        const dnnl_dim_t in = in_of(l), out = out_of(l);
        w -= in * out, g -= in * out;
        dnnl_sgemm('T', 'N', out, in, rows, 1, s->units[l + 1], out, s->units[l], in, 0, g, in);
        if (l) dnnl_sgemm('N', 'N', rows, in, out, 1, s->units[l + 1], out, w, in, 0, s->down, in);
    }
}

typedef enum what { OF_STEP, OF_STEP_WITH_TARGETS, OF_SCORES } what;

/* Processor seconds of the products of one step of 2 * rows rows, or of their scores. */
static double products_seconds(const products *p, what of, dnnl_dim_t rows)
{
    enum { TIMES = 10 };
    const double start = processor_seconds();
    for (int k = 0; k < TIMES; k++) {
#pragma omp parallel for num_threads(SHARDS)
        for (int s = 0; s < SHARDS; s++) {
            omp_set_num_threads(1);
            if (of == OF_STEP_WITH_TARGETS) target_products(&p->shards[s], rows);
            forward_products(&p->shards[s], p->weights, rows);
            if (of != OF_SCORES) backward_products(&p->shards[s], p->weights, rows);
        }
    }
    return (processor_seconds() - start) / TIMES;
}

/* ---- steps ---- */

typedef struct digits {
    hb_context *context;
    int batch;
    double *data; // (ROWS, DIM)
    int *labels;  // (ROWS)
} digits;

static double train_seconds(const digits *d, hb_train_settings *settings, uint64_t steps,
                            hb_model **out)
{
    hb_model *model;
    settings->steps = steps;
    const double start = processor_seconds();
    must(d->context,
         hb_train(d->context, settings, DIM, CLASSES, ROWS, d->data, d->labels, &model));
    const double taken = processor_seconds() - start;
    if (out)
        *out = model;
    else
        hb_model_destroy(model);
    return taken;
}

static hb_train_settings settings_of(const digits *d, int loss, int head)
{
    hb_train_settings settings;
    hb_train_settings_default(sizeof settings, &settings);
    settings.standardise = HB_STANDARDISE_NO;
    settings.loss = loss;
    settings.head = head;
    settings.width = WIDTH;
    settings.depth = DEPTH;
    settings.skip = 1;
    settings.time_features = FEATURES;
    settings.batch = d->batch;
    settings.target_rows = 0;
    settings.warmup = settings.ramp = 0; /* the constraint from the first step on */
    return settings;
}

/* The best of short and of long runs, each by itself: the least difference of two runs would be that
 * of a short run that was disturbed. */
typedef struct step_time {
    double few, many;
} step_time;

static void time_steps(const digits *d, hb_train_settings *settings, step_time *best)
{
    best->few = fmin(best->few, train_seconds(d, settings, SHORT, NULL));
    best->many = fmin(best->many, train_seconds(d, settings, LONG, NULL));
}

static double step_of(const step_time *best)
{
    return (best->many - best->few) / (LONG - SHORT);
}

static void bench_step(const digits *d, const char *name, int loss, int head)
{
    hb_train_settings settings = settings_of(d, loss, head);
    step_time best = {INFINITY, INFINITY};
    for (int round = 0; round < ROUNDS / 2; round++) time_steps(d, &settings, &best);
    report(name, hb_context_threads(d->context), d->batch, step_of(&best));
}

static void report_both(const digits *d, const char *name, double items, double all, double alone)
{
    char text[128];
    report(name, hb_context_threads(d->context), items, all);
    snprintf(text, sizeof text, "%s, products alone", name);
    report(text, hb_context_threads(d->context), items, alone);
    printf("{\"name\": \"products : %s\", \"ratio\": %.4f}\n", name, alone / all);
}

static void bench_dsm(const digits *d, const char *name, int targets)
{
    hb_train_settings settings = settings_of(d, HB_LOSS_DSM, HB_HEAD_SCORE);
    const dnnl_dim_t rows = d->batch / SHARDS;
    step_time best = {INFINITY, INFINITY};
    double alone = INFINITY;
    products p;
    make_products(d->context, (size_t)rows, &p);
    if (targets) settings.target_rows = TARGET_ROWS;
    for (int round = 0; round < ROUNDS; round++) {
        alone = fmin(alone, products_seconds(&p, targets ? OF_STEP_WITH_TARGETS : OF_STEP, rows));
        time_steps(d, &settings, &best);
    }
    free_products(&p);
    report_both(d, name, d->batch, step_of(&best), alone);
}

/* ---- generation ---- */

static int count_call(void *user, size_t n, const double *x, double tau, double *score)
{
    (void)tau;
    for (size_t i = 0; i < n * DIM; i++) score[i] = -x[i];
    *(size_t *)user += n;
    return 0;
}

/* The paper's sampler with fewer steps: predictor and corrector, then the ODE below det_tau. */
static void bench_generation(const digits *d)
{
    hb_train_settings training = settings_of(d, HB_LOSS_DSM, HB_HEAD_SCORE);
    hb_generate_settings settings;
    hb_model *model;
    products p;
    size_t rows = 0;
    double all = INFINITY, alone = INFINITY, *x = bench_array((size_t)IMAGES * DIM, sizeof *x);
    hb_generate_settings_default(sizeof settings, &settings);
    settings.n_steps = 25;
    settings.n_correct = 1;
    settings.det_tau = 0.15;
    settings.denoise = HB_DENOISE_MEAN;
    train_seconds(d, &training, 1, &model);
    must(d->context, hb_generate(d->context, &settings, DIM, 0, IMAGES, count_call, &rows, x));
    make_products(d->context, BLOCK, &p);
    for (int round = 0; round < ROUNDS; round++) {
        const double pair = products_seconds(&p, OF_SCORES, BLOCK);
        alone = fmin(alone, pair * (double)rows / (SHARDS * BLOCK));
        const double start = processor_seconds();
        must(d->context, hb_model_generate(d->context, model, &settings, 0, IMAGES, d->labels, x));
        all = fmin(all, processor_seconds() - start);
    }
    report_both(d, "digits generation", IMAGES, all, alone);
    free_products(&p);
    hb_model_destroy(model);
    free(x);
}

int main(int count, char **words)
{
    const int dsm_only = count > 1 && strcmp(words[1], "dsm") == 0;
    const int table_only = count > 1 && strcmp(words[1], "table") == 0,
              named = dsm_only || table_only;
    const char *batch = count > 1 + named ? words[1 + named] : "128";
    digits d = {.context = bench_context(SHARDS), .batch = atoi(batch)};
    if (d.batch < 64 || d.batch > 256 || d.batch % SHARDS) {
        fprintf(stderr, "bench_digits: the batch is '%s'; it must be even, 64 to 256\n", batch);
        return 2;
    }
    d.data = bench_array((size_t)ROWS * DIM, sizeof *d.data);
    d.labels = bench_array(ROWS, sizeof *d.labels);
    must(d.context, hb_random_normal(d.context, 5, 1, 0, (uint64_t)ROWS * DIM, d.data));
    for (int i = 0; i < ROWS; i++) d.labels[i] = i % CLASSES;
    bench_dsm(&d, "digits dsm score step", 0);
    if (!dsm_only) {
        bench_dsm(&d, "digits dsm score step with targets", 1);
        bench_generation(&d);
    }
    if (!named) {
        bench_step(&d, "digits hb score step", HB_LOSS_HB, HB_HEAD_SCORE);
        bench_step(&d, "digits dsm energy step", HB_LOSS_DSM, HB_HEAD_ENERGY);
        bench_step(&d, "digits fp energy step", HB_LOSS_FP, HB_HEAD_ENERGY);
        bench_step(&d, "digits hb energy step", HB_LOSS_HB, HB_HEAD_ENERGY);
    }
    free(d.data), free(d.labels);
    hb_context_destroy(d.context);
    return 0;
}
