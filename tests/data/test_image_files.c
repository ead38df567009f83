/* Files of images: IDX and every refusal, pictures read back by libpng. */
#include "images_support.h"

#include "file/idx.h"

#include <png.h>

/* ---- IDX ---- */

static void idx_of_every_rank_plain_and_compressed(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const unsigned shape[] = {5, 3, 2, 2, 1, 2, 1, 3};
    for (int axes = 1; axes <= HB_IDX_AXES; axes++) {
        for (int gz = 0; gz <= 1; gz++) {
            const size_t size = idx_bytes(axes, shape, 11, buffer), head = 4 + 4 * (size_t)axes;
            hb_idx idx;
            assert_ok(context, hb_idx_read(context, write_bytes("rank", gz, buffer, size), &idx));
            assert_int_equal(idx.axes, axes);
            for (int i = 0; i < HB_IDX_AXES; i++)
                assert_int_equal(idx.shape[i], i < axes ? shape[i] : 1);
            assert_int_equal(idx.count, size - head);
            assert_memory_equal(idx.values, buffer + head, idx.count);
            hb_idx_release(context, &idx);
        }
    }
    hb_context_destroy(context);
}

static void refuse_idx(const char *path, hb_status status, const char *says)
{
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_idx idx;
    assert_fails(context, hb_idx_read(context, path, &idx), status, says);
    assert_null(idx.values);
    hb_context_destroy(context);
}

static void idx_refusals_say_why(void **state)
{
    (void)state;
    const unsigned shape[] = {6, 4, 3};
    const size_t size = idx_bytes(3, shape, 0, buffer);
    refuse_idx(path_of("nowhere"), HB_ERROR_PATH, "cannot open");
    refuse_idx(directory, HB_ERROR_PATH, "it is a directory");
    refuse_idx(write_bytes("empty", 0, "", 0), HB_ERROR_FORMAT, "is not an IDX file: it has 0");
    refuse_idx(write_bytes("html", 0, "<!DOCTYPE", 9), HB_ERROR_FORMAT,
               "opens with the bytes 3c 21");
    refuse_idx(write_bytes("float", 0, "\0\0\x0d\x01\0\0\0\0", 8), HB_ERROR_FORMAT,
               "IDX type 0d; it must be 08");
    refuse_idx(write_bytes("axes", 0, "\0\0\x08\x09", 4), HB_ERROR_FORMAT,
               "has 9 axes; it must have 1 to 8");
    refuse_idx(write_bytes("axes", 0, "\0\0\x08\0", 4), HB_ERROR_FORMAT, "has 0 axes");
    refuse_idx(write_bytes("head", 0, buffer, 13), HB_ERROR_FORMAT, "cut short in its header");
    refuse_idx(write_bytes("short", 0, buffer, size - 1), HB_ERROR_FORMAT,
               "its header promises 72 values, it has 71");
    refuse_idx(write_bytes("short", 1, buffer, size - 1), HB_ERROR_FORMAT,
               "its header promises 72 values, it has 71");
    buffer[size] = 0;
    refuse_idx(write_bytes("long", 0, buffer, size + 1), HB_ERROR_FORMAT,
               "continues after the 72 values");
    refuse_idx(write_bytes("long", 1, buffer, size + 1), HB_ERROR_FORMAT,
               "continues after the 72 values");
    refuse_idx(
        write_bytes("huge", 0, "\0\0\x08\x03\x7f\xff\xff\xff\x7f\xff\xff\xff\x7f\xff\xff\xff", 16),
        HB_ERROR_FORMAT, "more than 2^63 values");
    refuse_idx(write_bytes("large", 0, "\0\0\x08\x01\x7f\xff\xff\xff", 8), HB_ERROR_FORMAT,
               "promises 2147483647 values, it has 8 bytes");
    refuse_idx(write_bytes("large", 1, "\0\0\x08\x01\x7f\xff\xff\xff", 8), HB_ERROR_FORMAT,
               "promises 2147483647 values");
}

static void damaged_gzip_is_refused(void **state)
{
    (void)state;
    const unsigned shape[] = {40, 9, 7};
    const size_t size = idx_bytes(3, shape, 0, buffer);
    unsigned char raw[8192];
    FILE *file = fopen(write_bytes("good.gz", 1, buffer, size), "rb");
    const size_t n = fread(raw, 1, sizeof raw, file);
    fclose(file);
    assert_true(n > 100 && n < sizeof raw);
    refuse_idx(write_bytes("cut.gz", 0, raw, n - 4), HB_ERROR_FORMAT, "have no end");
    refuse_idx(write_bytes("half.gz", 0, raw, n / 2), HB_ERROR_FORMAT, "cut short");
    raw[n - 6] ^= 1; /* of the sum */
    refuse_idx(write_bytes("sum.gz", 0, raw, n), HB_ERROR_FORMAT, "is damaged");
}

/* ---- pictures ---- */

static unsigned char *read_png(const char *path, int *width, int *height)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&image, path));
    assert_int_equal(image.format, PNG_FORMAT_GRAY); /* as it is in the file */
    *width = (int)image.width;
    *height = (int)image.height;
    unsigned char *pixels = malloc(PNG_IMAGE_SIZE(image));
    assert_true(png_image_finish_read(&image, NULL, pixels, 0, NULL));
    return pixels;
}

static void png_reads_back(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    enum { W = 301, H = 37 };
    static unsigned char pixels[H][W];
    int width, height;
    for (int i = 0; i < W * H; i++) pixels[i / W][i % W] = (unsigned char)(i * i % 256);
    assert_ok(context, hb_png_write_grey(context, H, W, path_of("p.png"), pixels[0]));
    unsigned char *found = read_png(path_of("p.png"), &width, &height);
    assert_int_equal(width, W);
    assert_int_equal(height, H);
    assert_memory_equal(found, pixels, W * H);
    free(found);
    assert_fails(context, hb_png_write_grey(context, H, 0, path_of("q.png"), pixels[0]),
                 HB_ERROR_ARGUMENT, "a picture is 0 by 37 pixels; each side must be 1 to 20000");
    assert_fails(context, hb_png_write_grey(context, H, W, "/nowhere/q.png", pixels[0]),
                 HB_ERROR_PATH, "/nowhere/q.png");
    assert_int_equal(hb_png_write_grey(context, H, W, "/dev/full", pixels[0]), HB_ERROR_FILE);
    assert_int_equal(access(path_of("q.png"), F_OK), -1);
    hb_context_destroy(context);
}

static void grid_places_and_magnifies(void **state)
{
    (void)state;
    enum { ROWS = 2, COLUMNS = 3, H = 16, W = 12, M = 4, GAP = 2 };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    static double pixels[ROWS * COLUMNS][H][W];
    for (int i = 0; i < ROWS * COLUMNS * H * W; i++)
        pixels[i / (H * W)][i / W % H][i % W] = (i * 7 % 300 - 20) / 255.0;
    assert_ok(context,
              hb_images_grid_write(context, ROWS, COLUMNS, H, W, path_of("g.png"), pixels[0][0]));
    int width, height;
    unsigned char *found = read_png(path_of("g.png"), &width, &height);
    assert_int_equal(width, GAP + COLUMNS * (W * M + GAP));
    assert_int_equal(height, GAP + ROWS * (H * M + GAP));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const int i = (y - GAP) / (H * M + GAP), v = (y - GAP) % (H * M + GAP);
            const int j = (x - GAP) / (W * M + GAP), u = (x - GAP) % (W * M + GAP);
            const int gap = y < GAP || x < GAP || v >= H * M || u >= W * M;
            const int index = ((i * COLUMNS + j) * H + v / M) * W + u / M;
            const int level = index * 7 % 300 - 20;
            assert_int_equal(found[y * width + x], gap           ? 96
                                                   : level < 0   ? 0
                                                   : level > 255 ? 255
                                                                 : level);
        }
    free(found);
    pixels[4][1][1] = NAN;
    assert_fails(context,
                 hb_images_grid_write(context, ROWS, COLUMNS, H, W, path_of("n.png"), pixels[0][0]),
                 HB_ERROR_ARGUMENT, "image 5 of a grid has a pixel that is nan");
    assert_fails(context, hb_images_grid_write(context, 0, 3, H, W, path_of("n.png"), pixels[0][0]),
                 HB_ERROR_ARGUMENT, "0 rows and 3 columns");
    assert_fails(context,
                 hb_images_grid_write(context, 5000, 3, H, W, path_of("n.png"), pixels[0][0]),
                 HB_ERROR_ARGUMENT, "at most 20000 by 20000");
    assert_int_equal(access(path_of("n.png"), F_OK), -1);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idx_of_every_rank_plain_and_compressed),
        cmocka_unit_test(idx_refusals_say_why),
        cmocka_unit_test(damaged_gzip_is_refused),
        cmocka_unit_test(png_reads_back),
        cmocka_unit_test(grid_places_and_magnifies),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
