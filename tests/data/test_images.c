/* Sets of images: sizes against replicated pixels and planes, binary pixels by their law, labels, places,
 * every refusal. */
#include "images_support.h"

/* ---- sizes ---- */

static hb_images load(const char *path, int resize, hb_resample resample)
{
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_images_settings settings;
    hb_images out;
    hb_images_settings_default(sizeof settings, &settings);
    settings.resize = resize;
    settings.resample = resample;
    assert_ok(context, hb_images_load(context, &settings, HB_PART_TRAIN, path, sizeof out, &out));
    hb_context_destroy(context);
    return out;
}

static void release(hb_images *images)
{
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_images_destroy(context, images);
    hb_context_destroy(context);
}

/* Each pixel of the file becomes N x N, then the mean over blocks of height x width: no weights. */
static double replicated(const unsigned char *bytes, int height, int width, int N, int i, int j)
{
    long sum = 0;
    for (int y = i * height; y < (i + 1) * height; y++)
        for (int x = j * width; x < (j + 1) * width; x++) sum += bytes[y / N * width + x / N];
    return (double)sum / (255.0 * height * width);
}

static void area_is_the_mean_of_replicated_pixels(void **state)
{
    (void)state;
    const int shapes[][3] = {{28, 28, 16}, {28, 28, 28}, {7, 13, 5},
                             {9, 5, 17},   {28, 28, 1},  {1, 3, 4}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int h = shapes[s][0], w = shapes[s][1], N = shapes[s][2];
        hb_images images =
            load(write_images("area", 0, 3, (unsigned)h, (unsigned)w), N, HB_RESAMPLE_AREA);
        assert_int_equal(images.count, 3);
        assert_int_equal(images.height, N);
        assert_int_equal(images.width, N);
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++)
                    assert_true(images.pixels[(k * N + i) * N + j] ==
                                replicated(buffer + 16 + k * h * w, h, w, N, i, j));
        release(&images);
    }
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* A plane a y + b x is interpolated exactly, up to its edges. */
static void bilinear_keeps_a_plane(void **state)
{
    (void)state;
    const int h = 11, w = 6, sizes[] = {4, 16, 23};
    const unsigned shape[] = {1, (unsigned)h, (unsigned)w};
    const size_t size = idx_bytes(3, shape, 0, buffer);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) buffer[16 + y * w + x] = (unsigned char)(5 * y + 17 * x);
    const char *path = write_bytes("plane", 0, buffer, size);
    for (int s = 0; s < 3; s++) {
        const int N = sizes[s];
        hb_images images = load(path, N, HB_RESAMPLE_BILINEAR);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                const double y = clamp((i + 0.5) * h / N - 0.5, 0, h - 1);
                const double x = clamp((j + 0.5) * w / N - 0.5, 0, w - 1);
                assert_near(images.pixels[i * N + j], (5 * y + 17 * x) / 255, 1e-15);
            }
        release(&images);
    }
}

/* ---- binary images, ranges, noise ---- */

static void threshold_and_range(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 2);
    hb_images_settings settings;
    hb_images grey, binary;
    const char *path = write_images("plain", 0, 700, 5, 7);
    hb_images_settings_default(sizeof settings, &settings);
    assert_ok(context, hb_images_load(context, NULL, HB_PART_TRAIN, path, sizeof grey, &grey));
    settings.binarize = HB_BINARIZE_THRESHOLD;
    settings.low = -1;
    assert_ok(context,
              hb_images_load(context, &settings, HB_PART_TRAIN, path, sizeof binary, &binary));
    assert_int_equal(grey.count, 700);
    assert_null(grey.labels);
    assert_int_equal(grey.classes, 0);
    for (size_t i = 0; i < 700 * 35; i++) {
        assert_true(grey.pixels[i] == buffer[16 + i] / 255.0);
        assert_true(binary.pixels[i] == (buffer[16 + i] >= 128 ? 1 : -1));
    }
    hb_images_destroy(context, &grey);
    hb_images_destroy(context, &binary);
    hb_context_destroy(context);
}

static hb_images draw(const char *path, int threads, uint64_t seed, size_t limit)
{
    hb_context *context = make_context(HB_ISA_AUTO, threads);
    hb_images_settings settings;
    hb_images out;
    hb_images_settings_default(sizeof settings, &settings);
    settings.binarize = HB_BINARIZE_STOCHASTIC;
    settings.seed = seed;
    settings.limit = limit;
    assert_ok(context, hb_images_load(context, &settings, HB_PART_TRAIN, path, sizeof out, &out));
    hb_context_destroy(context);
    return out;
}

static void stochastic_pixels_have_their_probability(void **state)
{
    (void)state;
    enum { N = 2000, SIZE = 6 };
    static const unsigned char levels[SIZE] = {0, 1, 40, 128, 250, 255};
    const unsigned shape[] = {N, 2, 3};
    const size_t size = idx_bytes(3, shape, 0, buffer);
    for (int i = 0; i < N * SIZE; i++) buffer[16 + i] = levels[i % SIZE];
    const char *path = write_bytes("levels", 0, buffer, size);
    hb_images one = draw(path, 1, 7, 0), four = draw(path, 4, 7, 0), few = draw(path, 1, 7, 33);
    hb_images other = draw(path, 1, 8, 0);
    assert_memory_equal(one.pixels, four.pixels, N * SIZE * sizeof(double));
    assert_int_equal(few.count, 33);
    assert_memory_equal(one.pixels, few.pixels, 33 * SIZE * sizeof(double));
    assert_memory_not_equal(one.pixels, other.pixels, N * SIZE * sizeof(double));
    for (int k = 0; k < SIZE; k++) {
        const double p = levels[k] / 255.0;
        double sum = 0, pairs = 0;
        for (int i = 0; i < N; i++) sum += one.pixels[i * SIZE + k];
        for (int i = 0; i < N - 1; i++)
            pairs += (one.pixels[i * SIZE + k] - p) * (one.pixels[(i + 1) * SIZE + k] - p);
        assert_near(sum / N, p, 5 * sqrt(p * (1 - p) / N));
        assert_near(pairs / N, 0, 5 * p * (1 - p) / sqrt(N)); /* images are independent */
    }
    release(&one), release(&four), release(&few), release(&other);
}

static void dequantised_bytes_stay_in_their_interval(void **state)
{
    (void)state;
    enum { N = 20000 };
    static double x[N], again[N];
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (int i = 0; i < N; i++) x[i] = again[i] = i % 256 / 255.0;
    assert_ok(context, hb_images_dequantise(context, 3, 1000, N, x));
    assert_ok(context, hb_images_dequantise(context, 3, 1000, 777, again));
    assert_ok(context, hb_images_dequantise(context, 3, 1777, N - 777, again + 777));
    assert_memory_equal(x, again, sizeof x);
    double sum = 0;
    for (int i = 0; i < N; i++) {
        assert_int_equal((int)floor(256 * x[i]), i % 256);
        sum += 256 * x[i] - i % 256;
    }
    assert_near(sum / N, 0.5, 5 / sqrt(12.0 * N));
    assert_fails(context, hb_images_dequantise(context, 3, 0, 4, NULL), HB_ERROR_ARGUMENT, "NULL");
    hb_context_destroy(context);
}

/* ---- names, labels, places ---- */

static void labels_are_found_beside_the_images(void **state)
{
    (void)state;
    const struct {
        const char *images, *labels;
        int gz_images, gz_labels;
    } pairs[] = {{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", 0, 0},
                 {"a-images-idx3-ubyte.gz", "a-labels-idx1-ubyte.gz", 1, 1},
                 {"b-images-idx3-ubyte", "b-labels-idx1-ubyte.gz", 0, 1},
                 {"c-images-idx3-ubyte.gz", "c-labels-idx1-ubyte", 1, 0},
                 {"images.idx", "labels.idx", 0, 0}};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        hb_images_settings settings;
        hb_images images;
        hb_images_settings_default(sizeof settings, &settings);
        settings.limit = 20;
        write_labels(pairs[k].labels, pairs[k].gz_labels, 50, 7);
        const char *path = write_images(pairs[k].images, pairs[k].gz_images, 50, 3, 4);
        assert_ok(context,
                  hb_images_load(context, &settings, HB_PART_TEST, path, sizeof images, &images));
        assert_int_equal(images.count, 20);
        assert_int_equal(images.classes, 7);
        for (int i = 0; i < 20; i++) assert_int_equal(images.labels[i], i % 7);
        hb_images_destroy(context, &images);
    }
    hb_context_destroy(context);
}

static void refuse_load(const char *path, hb_part part, const hb_images_settings *settings,
                        hb_status status, const char *says)
{
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_images images;
    assert_fails(context, hb_images_load(context, settings, part, path, sizeof images, &images),
                 status, says);
    assert_null(images.pixels);
    assert_null(images.labels);
    hb_context_destroy(context);
}

static void loading_refuses_in_words(void **state)
{
    (void)state;
    hb_images_settings s;
    const char *good = write_images("x-pictures", 0, 4, 3, 3);
    const unsigned flat[] = {9, 4}, none[] = {0, 3, 3}, empty[] = {3, 0, 5};
    refuse_load("/nowhere/at/all", HB_PART_TRAIN, NULL, HB_ERROR_PATH, "neither a set of images");
    refuse_load("", HB_PART_TRAIN, NULL, HB_ERROR_ARGUMENT, "is empty");
    refuse_load(good, (hb_part)2, NULL, HB_ERROR_ARGUMENT, "part is 2");
    refuse_load(write_bytes("f", 0, buffer, idx_bytes(2, flat, 0, buffer)), HB_PART_TRAIN, NULL,
                HB_ERROR_FORMAT, "has 2 axes; a file of images must have 3");
    refuse_load(write_bytes("f", 0, buffer, idx_bytes(3, none, 0, buffer)), HB_PART_TRAIN, NULL,
                HB_ERROR_FORMAT, "has 0 images");
    refuse_load(write_bytes("f", 0, buffer, idx_bytes(3, empty, 0, buffer)), HB_PART_TRAIN, NULL,
                HB_ERROR_FORMAT, "0 by 5 pixels");
    write_labels("y-labels", 0, 5, 2);
    refuse_load(write_images("y-images", 0, 4, 3, 3), HB_PART_TRAIN, NULL, HB_ERROR_FORMAT,
                "has 5 labels for 4 images");
    write_images("z-labels", 0, 4, 3, 3);
    refuse_load(write_images("z-images", 0, 4, 3, 3), HB_PART_TRAIN, NULL, HB_ERROR_FORMAT,
                "a file of labels must have 1");
    hb_images_settings_default(sizeof s, &s);
    s.resize = -3;
    refuse_load(good, HB_PART_TRAIN, &s, HB_ERROR_ARGUMENT, "resize is -3; it must be 1 to 4096");
    hb_images_settings_default(sizeof s, &s);
    s.resample = 2;
    refuse_load(good, HB_PART_TRAIN, &s, HB_ERROR_ARGUMENT, "resample is 2");
    hb_images_settings_default(sizeof s, &s);
    s.binarize = 3;
    refuse_load(good, HB_PART_TRAIN, &s, HB_ERROR_ARGUMENT, "binarize is 3");
    hb_images_settings_default(sizeof s, &s);
    s.high = NAN;
    refuse_load(good, HB_PART_TRAIN, &s, HB_ERROR_ARGUMENT, "high is nan");
}

static void sets_are_looked_for_in_the_cache(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    char found[256], expected[256], little[10];
    int present;
    hb_images images;
    setenv("XDG_CACHE_HOME", directory, 1);
    snprintf(expected, sizeof expected, "%s/heatball", directory);
    assert_fails(context, hb_images_directory(context, "mnist", sizeof little, little, &present),
                 HB_ERROR_PATH, "longer");
    refuse_load("mnist", HB_PART_TEST, NULL, HB_ERROR_PATH, "has no t10k-images-idx3-ubyte; run");
    mkdir(expected, 0777);
    snprintf(expected, sizeof expected, "%s/heatball/mnist", directory);
    assert_ok(context, hb_images_directory(context, "mnist", sizeof found, found, &present));
    assert_string_equal(found, expected);
    assert_false(present);
    mkdir(expected, 0777);
    write_images("heatball/mnist/train-images-idx3-ubyte", 0, 4, 3, 3);
    write_labels("heatball/mnist/train-labels-idx1-ubyte", 0, 4, 2);
    write_images("heatball/mnist/t10k-images-idx3-ubyte.gz", 1, 6, 3, 3);
    assert_ok(context, hb_images_directory(context, "mnist", sizeof found, found, &present));
    assert_false(present);
    write_labels("heatball/mnist/t10k-labels-idx1-ubyte.gz", 1, 6, 3);
    assert_ok(context, hb_images_directory(context, "mnist", sizeof found, found, &present));
    assert_true(present);
    assert_ok(context,
              hb_images_load(context, NULL, HB_PART_TEST, "mnist", sizeof images, &images));
    assert_int_equal(images.count, 6);
    assert_int_equal(images.classes, 3);
    hb_images_destroy(context, &images);
    assert_ok(context,
              hb_images_load(context, NULL, HB_PART_TRAIN, expected, sizeof images, &images));
    assert_int_equal(images.count, 4);
    hb_images_destroy(context, &images);
    refuse_load(directory, HB_PART_TEST, NULL, HB_ERROR_PATH, "has no t10k-images-idx3-ubyte, nor");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/h", 1);
    assert_ok(context, hb_images_directory(context, "mnist", sizeof found, found, &present));
    assert_string_equal(found, "/h/.cache/heatball/mnist");
    unsetenv("HOME");
    assert_fails(context, hb_images_directory(context, "mnist", sizeof found, found, &present),
                 HB_ERROR_PATH, "set HOME");
    assert_fails(context, hb_images_directory(context, "emnist", sizeof found, found, &present),
                 HB_ERROR_ARGUMENT, "emnist is no set of images");
    assert_null(hb_images_describe("emnist"));
    hb_context_destroy(context);
}

static void no_memory_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    const char *path = write_images("m-images", 1, 30, 8, 8);
    hb_images_settings s;
    hb_images_settings_default(sizeof s, &s);
    s.resize = 5;
    s.binarize = HB_BINARIZE_STOCHASTIC;
    write_labels("m-labels", 0, 30, 3);
    int failed = 0;
    for (int allowance = 1; allowance < 60; allowance++) {
        memory_count count = {.live = 0, .allowance = allowance};
        hb_context *context = counting_context(&count);
        if (!context) continue;
        hb_images images;
        const hb_status status =
            hb_images_load(context, &s, HB_PART_TRAIN, path, sizeof images, &images);
        assert_true(status == HB_OK || status == HB_ERROR_MEMORY);
        failed += status != HB_OK;
        if (status == HB_OK) hb_images_destroy(context, &images);
        hb_context_destroy(context);
        assert_int_equal(count.live, 0);
        if (status == HB_OK) break;
    }
    assert_true(failed >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(area_is_the_mean_of_replicated_pixels),
        cmocka_unit_test(bilinear_keeps_a_plane),
        cmocka_unit_test(threshold_and_range),
        cmocka_unit_test(stochastic_pixels_have_their_probability),
        cmocka_unit_test(dequantised_bytes_stay_in_their_interval),
        cmocka_unit_test(labels_are_found_beside_the_images),
        cmocka_unit_test(loading_refuses_in_words),
        cmocka_unit_test(sets_are_looked_for_in_the_cache),
        cmocka_unit_test(no_memory_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
