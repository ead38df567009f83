/* What the study works with: MNIST at 16 x 16 from the cache, a classifier of its digits, and the
 * model that is kept in the tree.
 *
 * The study never fetches: without the files it says so and goes on with what needs none. Pixels
 * are 0 black .. 1 white, each the mean over its share of the 28 x 28 file (area). The images are
 * in a random order. Test images before size.real are what generated ones are compared with; those
 * behind them are judged as if they had been generated, which says what every measure can reach. */
#include "mnist.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENOUGH = 64 };   /* images of each part: fewer give no numbers */
#define ORDER_SEED 2385 /* of the order of the images */

/* Rows order[0], order[1], .. take the place of 0, 1, .. */
static hb_status permute(hb_mnist *m, const size_t *order, hb_images *images)
{
    const size_t n = images->count, size = (size_t)images->height * (size_t)images->width;
    double *pixels;
    HB_TRY(HB_STUDY_NEW(m->context, pixels, n * (size + 1)));
    int *labels = (int *)(pixels + n * size);
    for (size_t i = 0; i < n; i++) {
        memcpy(pixels + i * size, images->pixels + order[i] * size, size * sizeof *pixels);
        if (images->labels) labels[i] = images->labels[order[i]];
    }
    memcpy(images->pixels, pixels, n * size * sizeof *pixels);
    if (images->labels) memcpy(images->labels, labels, n * sizeof *labels);
    free(pixels);
    return HB_OK;
}

/* A part in a random order of its own, cut to so many images (0: all). The order of the files is
 * not random: the first half of MNIST's test images is by other writers than the second, and
 * easier. */
static hb_status load_part(hb_mnist *m, hb_part part, size_t limit, hb_images *out)
{
    hb_images_settings settings;
    void *order;
    hb_images_settings_default(sizeof settings, &settings);
    settings.resize = MNIST_SIDE;
    HB_TRY(hb_images_load(m->context, &settings, part, "mnist", sizeof *out, out));
    HB_TRY(hb_study_allocate(m->context, out->count, sizeof(size_t), &order));
    hb_status status = hb_data_split(m->context, ORDER_SEED, out->count, order);
    if (status == HB_OK) status = permute(m, order, out);
    if (limit > 0 && limit < out->count) out->count = limit;
    free(order);
    return status;
}

static hb_status check_set(hb_mnist *m)
{
    if (m->train.count < ENOUGH || m->test.count < ENOUGH)
        return hb_study_fail(m->context, HB_ERROR_FORMAT,
                             "mnist: there are %zu training and %zu test images; the study needs "
                             "at least %d of each",
                             m->train.count, m->test.count, ENOUGH);
    if (!m->train.labels || !m->test.labels)
        return hb_study_fail(m->context, HB_ERROR_FORMAT,
                             "mnist: the files of labels are missing; the study needs them");
    if (m->train.classes < 2 || m->test.classes > m->train.classes ||
        m->train.classes > MNIST_CLASSES)
        return hb_study_fail(m->context, HB_ERROR_FORMAT,
                             "mnist: there are %d classes of training and %d of test images; the "
                             "study takes 2 to %d",
                             m->train.classes, m->test.classes, MNIST_CLASSES);
    return HB_OK;
}

static uint64_t sum_of_images(const hb_images *images, uint64_t sum)
{
    const size_t pixels = (size_t)images->height * (size_t)images->width;
    sum = hb_mnist_sum(images->count * pixels * sizeof *images->pixels, images->pixels, sum);
    return hb_mnist_sum(images->count * sizeof *images->labels, images->labels, sum);
}

hb_status hb_mnist_load(hb_mnist *m)
{
    hb_status status = load_part(m, HB_PART_TEST, m->size.test_rows, &m->test);
    if (status == HB_OK) status = load_part(m, HB_PART_TRAIN, m->size.train_rows, &m->train);
    if (status == HB_ERROR_PATH) {
        snprintf(m->missing, sizeof m->missing, "%s", hb_context_message(m->context));
        hb_images_destroy(m->context, &m->test);
        return HB_OK;
    }
    HB_TRY(status);
    HB_TRY(check_set(m));
    m->present = 1;
    const uint64_t sum = sum_of_images(&m->test, sum_of_images(&m->train, 0));
    snprintf(m->data_mark, sizeof m->data_mark, "%zu+%zu:%016llx", m->train.count, m->test.count,
             (unsigned long long)sum);
    return HB_OK;
}

size_t hb_mnist_real_count(const hb_mnist *m)
{
    const size_t half = m->test.count / 2;
    return m->size.real < half ? m->size.real : half;
}

/* ---- the classifier ---- */

static hb_status measure_accuracy(hb_mnist *m)
{
    const size_t n = m->test.count, classes = (size_t)m->train.classes;
    double *p; // (n, classes)
    HB_TRY(HB_STUDY_NEW(m->context, p, n * classes));
    const hb_status status = hb_classifier_predict(m->context, m->classifier, n, m->test.pixels, p);
    size_t right = 0;
    for (size_t i = 0; status == HB_OK && i < n; i++) {
        size_t best = 0;
        for (size_t c = 1; c < classes; c++)
            if (p[i * classes + c] > p[i * classes + best]) best = c;
        right += (int)best == m->test.labels[i];
    }
    m->accuracy = (double)right / (double)n;
    free(p);
    return status;
}

static hb_status train_classifier(hb_mnist *m, const char *path, const char *fingerprint)
{
    hb_classifier_settings settings;
    hb_classifier_settings_default(sizeof settings, &settings);
    settings.epochs = m->size.classifier_epochs;
    settings.width = m->size.classifier_width;
    settings.seed = m->size.seed;
    HB_TRY(hb_classifier_train(m->context, &settings, MNIST_SIDE * MNIST_SIDE, m->train.classes,
                               m->train.count, m->train.pixels, m->train.labels, &m->classifier));
    HB_TRY(hb_classifier_save(m->context, m->classifier, path));
    HB_TRY(measure_accuracy(m));
    return hb_mnist_part_write(m, "classifier", fingerprint,
                               json_pack("{s:o}", "accuracy", hb_study_number(m->accuracy)));
}

static hb_status read_or_train_classifier(hb_mnist *m, const char *path)
{
    char fingerprint[512];
    json_t *values;
    snprintf(fingerprint, sizeof fingerprint,
             "mnist-2 %s %s classifier data=%s epochs=%d width=%d seed=%llu", hb_version(),
             hb_context_isa(m->context), m->data_mark, m->size.classifier_epochs,
             m->size.classifier_width, (unsigned long long)m->size.seed);
    HB_TRY(hb_mnist_part_read(m, "classifier", fingerprint, &values));
    const int usable = values && hb_classifier_load(m->context, path, &m->classifier) == HB_OK;
    if (usable) m->accuracy = json_number_value(json_object_get(values, "accuracy"));
    json_decref(values);
    return usable ? HB_OK : train_classifier(m, path, fingerprint);
}

hb_status hb_mnist_prepare_classifier(hb_mnist *m)
{
    char *path;
    if (!m->present) return HB_OK;
    HB_TRY(hb_study_path(m->context, m->parts, "classifier.safetensors", &path));
    const hb_status status = read_or_train_classifier(m, path);
    free(path);
    return status;
}

/* ---- the kept model ---- */

/* DIRECTORY/mnist16.safetensors, "" when it cannot be read. */
static int try_directory(const char *directory, size_t size, char *path)
{
    const int n = snprintf(path, size, "%s/mnist16.safetensors", directory);
    if (n > 0 && (size_t)n < size && access(path, R_OK) == 0) return 1;
    path[0] = '\0';
    return 0;
}

void hb_mnist_find_model(size_t size, char *path)
{
    static const char *const beside[] = {"../models", "../share/heatball/models"};
    const char *told = getenv("HEATBALL_MODELS");
    char command[2048], directory[3072];
    path[0] = '\0';
    if (told && told[0]) { /* the user's word is final */
        try_directory(told, size, path);
        return;
    }
    if (try_directory("models", size, path)) return;
    const ssize_t n = readlink("/proc/self/exe", command, sizeof command - 1);
    if (n <= 0) return;
    command[n] = '\0';
    char *slash = strrchr(command, '/');
    if (slash) *slash = '\0';
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        snprintf(directory, sizeof directory, "%s/%s", command, beside[i]);
        if (try_directory(directory, size, path)) return;
    }
}
