/* heatball evaluate of a model of images: generated images beside those of a set, whose training
 * part the model has seen and whose test part it has not.
 *
 *     precision, recall   fractions of generated and of as many real images that the others cover
 *     memorisation        distance to the nearest training image, beside that of real images
 *     mmd, floor          of generated and of training images against real ones: mean, 95 %
 *     specks              images with a salt-and-pepper pixel, where 1 % of the real ones have one
 *     classes             by a classifier that is trained here, on the training images
 * docs/reference/metrics.md has the definitions. Images are brought to the sides and the pixel range that
 * the model keeps; a model of rows of a file keeps none, and then has square images of pixels
 * from 0 to 1. Files of images may be ordered (the first half of the test images of MNIST is
 * cleaner than the second), so real images are taken in a random order. */
#include "command_data.h"
#include "command_evaluate.h"
#include "rows.h"

#include <heatball/classify.h>
#include <heatball/generate.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEIGHBOURS = 3, SPECKS = 1, FLOOR_TIMES = 20, MMD_ROWS = 2000, LEAST_ROWS = 4 };
static const double AFFECTED = 0.01, SURE = 0.9; /* fractions of images, and of a probability */

/* The images, and what was found. */
typedef struct image_run {
    hb_session *session;
    hb_context *context;
    const char *path, *name; /* of the model and of the set */
    const hb_model *model;
    hb_model_info info;
    uint64_t seed;
    hb_images trained, test;
    size_t n, n_real; /* generated and real images */
    double *made;     // (n, dim), clipped to the range of the trained ones
    double *real;     // (n_real, dim): the test images in a random order
    int *labels;      // (n_real), likewise; NULL: none
    double precision, recall;
    hb_memorisation memory;
    hb_mmd mmd;         /* of mmd_rows generated images against as many real ones */
    hb_mmd_floor floor; /* of as many trained against as many real ones */
    size_t mmd_rows;
    double theta;                         /* of specks, from the real images */
    size_t specked;                       /* generated images that are affected */
    int classes;                          /* 0: not counted */
    size_t *counts;                       // (classes): generated images of each class
    double least_fraction, most_fraction; /* of a class */
    double confident, real_confident;     /* fractions with a probability above SURE */
    double right; /* fraction of real images that get their own class, or NaN */
} image_run;

int hb_evaluate_image_set_is(const char *name)
{
    return !hb_train_data_is_file(name) && hb_data_images_is(name);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- images as the model has them ---- */

static hb_status images_load(image_run *run, hb_part part, hb_images *out)
{
    const hb_model_info *info = &run->info;
    const int kept = info->image_height > 0;
    hb_images_settings settings;
    hb_images_settings_default(sizeof settings, &settings);
    settings.resize = kept ? info->image_height : (int)(sqrt(info->dim) + 0.5);
    settings.low = kept ? info->pixel_low : 0;
    settings.high = kept ? info->pixel_high : 1;
    HB_REFUSE_IF(run->session,
                 settings.resize * settings.resize != info->dim ||
                     (kept && info->image_width != settings.resize),
                 "%.200s has rows of %d numbers; a set of images needs a model of square images",
                 run->path, info->dim);
    return hb_images_load(run->context, &settings, part, run->name, sizeof *out, out);
}

/* As they are drawn. */
static void images_clip(image_run *run)
{
    const size_t dim = (size_t)run->info.dim;
    double low = run->trained.pixels[0], high = low;
    for (size_t i = 1; i < run->trained.count * dim; i++) {
        low = fmin(low, run->trained.pixels[i]);
        high = fmax(high, run->trained.pixels[i]);
    }
    for (size_t i = 0; i < run->n * dim; i++) run->made[i] = fmin(fmax(run->made[i], low), high);
}

static hb_status images_shuffle(image_run *run)
{
    const size_t dim = (size_t)run->info.dim;
    size_t *order = malloc(run->n_real * sizeof *order); // (n_real)
    run->real = malloc(run->n_real * dim * sizeof *run->real);
    if (run->test.labels) run->labels = malloc(run->n_real * sizeof *run->labels);
    hb_status status =
        order && run->real && !run->labels == !run->test.labels ? HB_OK : HB_ERROR_MEMORY;
    if (status == HB_OK) status = hb_data_split(run->context, run->seed, run->n_real, order);
    for (size_t i = 0; status == HB_OK && i < run->n_real; i++) {
        memcpy(run->real + i * dim, run->test.pixels + order[i] * dim, dim * sizeof *run->real);
        if (run->labels) run->labels[i] = run->test.labels[order[i]];
    }
    free(order);
    return status;
}

static hb_status images_prepare(image_run *run)
{
    hb_generate_settings settings;
    hb_generate_settings_default(sizeof settings, &settings);
    settings.seed = run->seed;
    HB_TRY(images_load(run, HB_PART_TRAIN, &run->trained));
    HB_TRY(images_load(run, HB_PART_TEST, &run->test));
    run->n_real = run->test.count;
    run->made = malloc((run->n + 1) * (size_t)run->info.dim * sizeof *run->made);
    if (!run->made) return HB_ERROR_MEMORY;
    HB_TRY(hb_model_generate(run->context, run->model, &settings, 0, run->n, NULL, run->made));
    HB_REFUSE_IF(run->session,
                 run->n < LEAST_ROWS || run->n_real < LEAST_ROWS || run->trained.count < LEAST_ROWS,
                 "there are %zu generated, %zu real and %zu training images; evaluating needs at "
                 "least %d of each",
                 run->n, run->n_real, run->trained.count, LEAST_ROWS);
    images_clip(run);
    return images_shuffle(run);
}

/* ---- distances and specks ---- */

static hb_status images_distances(image_run *run)
{
    hb_context *context = run->context;
    const int dim = run->info.dim;
    const double *trained = run->trained.pixels;
    const size_t alike = least(run->n, run->n_real), seen = run->trained.count;
    HB_TRY(hb_judge_precision_recall(context, dim, NEIGHBOURS, run->n, alike, run->made, run->real,
                                     &run->precision, &run->recall));
    HB_TRY(hb_judge_memorisation(context, dim, run->n, alike, seen, run->made, run->real, trained,
                                 sizeof run->memory, &run->memory));
    const size_t n = run->mmd_rows = least(least(alike, seen), MMD_ROWS);
    HB_TRY(hb_judge_mmd(context, dim, 0, n, n, run->made, run->real, sizeof run->mmd, &run->mmd));
    return hb_judge_mmd_floor(context, dim, 0, FLOOR_TIMES, run->seed, seen, run->n_real, n, n,
                              trained, run->real, sizeof run->floor, &run->floor);
}

static hb_status images_specks(image_run *run)
{
    const int height = run->trained.height, width = run->trained.width;
    HB_TRY(hb_judge_artifacts_threshold(run->context, HB_SPECK_MEDIAN, height, width, SPECKS,
                                        run->n_real, AFFECTED, run->real, &run->theta));
    return hb_judge_artifacts(run->context, HB_SPECK_MEDIAN, height, width, SPECKS, run->n,
                              run->theta, run->made, NULL, &run->specked);
}

/* ---- classes ---- */

/* The class of each of n images with probabilities p (n, classes): how often each occurs
 * (counts, NULL: not asked for), how many have their label (NULL: none), and the fraction that
 * is sure. */
static size_t classes_count(size_t n, int classes, const double *p, const int *labels,
                            size_t *counts, double *confident)
{
    size_t sure = 0, right = 0;
    for (size_t i = 0; i < n; i++, p += classes) {
        int best = 0;
        for (int c = 1; c < classes; c++)
            if (p[c] > p[best]) best = c;
        sure += p[best] > SURE;
        right += labels && best == labels[i];
        if (counts) counts[best]++;
    }
    *confident = (double)sure / (double)n;
    return right;
}

static hb_status classes_predict(image_run *run, const hb_classifier *classifier)
{
    const size_t rows = run->n > run->n_real ? run->n : run->n_real;
    double *p = malloc(rows * (size_t)run->classes * sizeof *p); // (rows, classes)
    if (!p) return HB_ERROR_MEMORY;
    hb_status status = hb_classifier_predict(run->context, classifier, run->n, run->made, p);
    if (status == HB_OK) {
        classes_count(run->n, run->classes, p, NULL, run->counts, &run->confident);
        status = hb_classifier_predict(run->context, classifier, run->n_real, run->real, p);
    }
    if (status == HB_OK) {
        const size_t right =
            classes_count(run->n_real, run->classes, p, run->labels, NULL, &run->real_confident);
        if (run->labels) run->right = (double)right / (double)run->n_real;
    }
    free(p);
    return status;
}

static hb_status images_classes(image_run *run)
{
    const hb_images *trained = &run->trained;
    hb_classifier *classifier = NULL;
    if (trained->classes < 2 || !trained->labels) return HB_OK;
    run->counts = calloc((size_t)trained->classes, sizeof *run->counts);
    if (!run->counts) return HB_ERROR_MEMORY;
    run->classes = trained->classes;
    hb_status status =
        hb_classifier_train(run->context, NULL, run->info.dim, trained->classes, trained->count,
                            trained->pixels, trained->labels, &classifier);
    if (status == HB_OK) status = classes_predict(run, classifier);
    hb_classifier_destroy(classifier);
    size_t fewest = run->n, most = 0;
    for (int c = 0; c < run->classes; c++) {
        fewest = least(fewest, run->counts[c]);
        most = run->counts[c] > most ? run->counts[c] : most;
    }
    run->least_fraction = (double)fewest / (double)run->n;
    run->most_fraction = (double)most / (double)run->n;
    return status;
}

/* ---- shown ---- */

static hb_status images_print_json(const image_run *run)
{
    json_t *object = json_object();
    json_object_set_new(object, "model", json_string(run->path));
    json_object_set_new(object, "data", json_string(run->name));
    json_object_set_new(object, "loss", json_string(run->info.loss));
    hb_rows_put_count(object, "dim", (size_t)run->info.dim);
    hb_rows_put_seed(object, run->seed);
    hb_rows_put_count(object, "generated", run->n);
    hb_rows_put_count(object, "real", run->n_real);
    hb_rows_put_count(object, "training", run->trained.count);
    hb_rows_put(object, "precision", run->precision);
    hb_rows_put(object, "recall", run->recall);
    hb_rows_put(object, "nearest_ratio", run->memory.ratio);
    hb_rows_put(object, "nearest_median", run->memory.median);
    hb_rows_put(object, "nearest_median_real", run->memory.real_median);
    hb_rows_put(object, "nearest_fraction", run->memory.fraction);
    hb_rows_put(object, "mmd", run->mmd.mmd);
    hb_rows_put(object, "mmd2", run->mmd.mmd2);
    hb_rows_put(object, "mmd2_se", run->mmd.mmd2_se);
    hb_rows_put(object, "bandwidth", run->mmd.bandwidth);
    hb_rows_put(object, "mmd_floor", run->floor.mmd);
    hb_rows_put(object, "mmd_floor_upper", run->floor.mmd_upper);
    hb_rows_put(object, "mmd2_floor", run->floor.mmd2);
    hb_rows_put(object, "mmd2_floor_upper", run->floor.mmd2_upper);
    hb_rows_put_count(object, "mmd_rows", run->mmd_rows);
    hb_rows_put(object, "artifact_theta", run->theta);
    hb_rows_put_count(object, "artifacts", run->specked);
    if (!run->classes) return hb_rows_print_json(object, stdout);
    json_t *counts = json_array();
    for (int c = 0; c < run->classes; c++)
        json_array_append_new(counts, json_integer((json_int_t)run->counts[c]));
    json_object_set_new(object, "class_counts", counts);
    hb_rows_put(object, "class_share_least", run->least_fraction);
    hb_rows_put(object, "class_share_most", run->most_fraction);
    hb_rows_put(object, "confident", run->confident);
    hb_rows_put(object, "confident_real", run->real_confident);
    hb_rows_put(object, "classifier_right", run->right);
    return hb_rows_print_json(object, stdout);
}

static void images_print(const image_run *run)
{
    printf("images: precision %.3f, recall %.3f of %zu generated ones (k = %d)\n", run->precision,
           run->recall, run->n, NEIGHBOURS);
    printf("nearest training image: median distance %.4g, of real images %.4g, ratio %.3f; %.2f %% "
           "nearer than 1 %% of the real ones\n",
           run->memory.median, run->memory.real_median, run->memory.ratio,
           100 * run->memory.fraction);
    printf("mmd: %.4g, real against training images %.4g, 95 %% of them below %.4g; squares %.3g "
           "+- %.2g, %.3g, %.3g (%zu rows of each)\n",
           run->mmd.mmd, run->floor.mmd, run->floor.mmd_upper, run->mmd.mmd2, run->mmd.mmd2_se,
           run->floor.mmd2, run->floor.mmd2_upper, run->mmd_rows);
    printf("salt-and-pepper: %zu of %zu images have a pixel more than %.4g from its median, as 1 "
           "%% of real ones\n",
           run->specked, run->n, run->theta);
    if (!run->classes) return;
    printf("classes:");
    for (int c = 0; c < run->classes; c++) printf("%s %zu", c ? "," : "", run->counts[c]);
    printf("; shares %.1f %% to %.1f %%\n", 100 * run->least_fraction, 100 * run->most_fraction);
    printf("classifier: sure (above %g) of %.1f %%, of real images of %.1f %%", SURE,
           100 * run->confident, 100 * run->real_confident);
    if (isfinite(run->right)) printf("; right on %.2f %% of the real ones", 100 * run->right);
    printf("\n");
}

hb_status hb_evaluate_image_set(hb_session *session, const char *path, const hb_model *model,
                                const char *name, size_t samples, uint64_t seed, int json)
{
    image_run run = {.session = session,
                     .context = hb_session_context(session),
                     .path = path,
                     .name = name,
                     .model = model,
                     .n = samples,
                     .seed = seed,
                     .right = NAN};
    hb_model_info_get(model, sizeof run.info, &run.info);
    hb_status status = images_prepare(&run);
    if (status == HB_OK) status = images_distances(&run);
    if (status == HB_OK) status = images_specks(&run);
    if (status == HB_OK) status = images_classes(&run);
    hb_session_clear(session);
    if (status == HB_OK && !json && !hb_session_quiet(session))
        printf("# %s: %s, %" PRIu64 " steps, against the images of %s, seed %" PRIu64 "\n", path,
               run.info.loss, run.info.steps, name, seed);
    if (status == HB_OK && !json) images_print(&run);
    if (status == HB_OK && json) status = images_print_json(&run);
    free(run.counts);
    free(run.made);
    free(run.real);
    free(run.labels);
    hb_images_destroy(run.context, &run.trained);
    hb_images_destroy(run.context, &run.test);
    return status;
}
