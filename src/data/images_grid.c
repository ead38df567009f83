/* A picture of many images side by side.
 *
 * Image (i, j) has its corner at (GAP + i (m h + GAP), GAP + j (m w + GAP)); each of its pixels is
 * an m x m square, m = max(1, round(SEEN / max(h, w))) lowered until the picture fits: 16 x 16
 * images are drawn 4 times as large, 28 x 28 ones twice. The gaps are grey, so that black images
 * have an edge too. A pixel v becomes the byte round(255 min(max(v, 0), 1)), which brings the bytes
 * of an IDX file back. A number to reproduce: 2 x 3 images of 16 x 16 make a picture of 200 by 134
 * pixels. */
#include "base/context.h"
#include "base/memory.h"

#include <heatball/file.h>
#include <heatball/images.h>
#include <math.h>
#include <string.h>

enum { GAP = 2, GAP_GREY = 96, SEEN = 64 }; /* pixels, a byte, pixels */

typedef struct grid_plan {
    int rows, columns, height, width; /* of the grid and of one image */
    int magnify;
    int out_height, out_width;
} grid_plan;

static int64_t side(int n, int pixels, int magnify)
{
    return GAP + (int64_t)n * ((int64_t)magnify * pixels + GAP);
}

static hb_status plan_grid(hb_context *context, grid_plan *p)
{
    HB_CHECK(context, p->rows >= 1 && p->columns >= 1, HB_ERROR_ARGUMENT,
             "a grid of images has %d rows and %d columns; it must have at least 1 of each",
             p->rows, p->columns);
    HB_CHECK(context, p->height >= 1 && p->width >= 1, HB_ERROR_ARGUMENT,
             "images have %d by %d pixels; each side must be at least 1", p->height, p->width);
    const int longer = p->height > p->width ? p->height : p->width;
    p->magnify = longer < SEEN ? (2 * SEEN + longer) / (2 * longer) : 1;
    while (p->magnify > 1 && (side(p->rows, p->height, p->magnify) > HB_PNG_SIDE ||
                              side(p->columns, p->width, p->magnify) > HB_PNG_SIDE))
        p->magnify--;
    const int64_t high = side(p->rows, p->height, p->magnify);
    const int64_t wide = side(p->columns, p->width, p->magnify);
    HB_CHECK(context, high <= HB_PNG_SIDE && wide <= HB_PNG_SIDE, HB_ERROR_ARGUMENT,
             "%d rows and %d columns of %d by %d images make a picture of %lld by %lld pixels; at "
             "most %d by %d are allowed",
             p->rows, p->columns, p->height, p->width, (long long)high, (long long)wide,
             HB_PNG_SIDE, HB_PNG_SIDE);
    p->out_height = (int)high;
    p->out_width = (int)wide;
    return HB_OK;
}

static unsigned char byte_of(double v)
{
    return (unsigned char)lrint(255 * fmin(fmax(v, 0), 1));
}

/* One image into its place; corner is its first byte in the picture. */
static void place_image(const grid_plan *p, const double *pixels, unsigned char *corner)
{
    const size_t stride = (size_t)p->out_width, m = (size_t)p->magnify, w = (size_t)p->width;
    for (size_t y = 0; y < (size_t)p->height; y++) {
        unsigned char *line = corner + y * m * stride;
        for (size_t x = 0; x < w; x++) memset(line + x * m, byte_of(pixels[y * w + x]), m);
        for (size_t k = 1; k < m; k++) memcpy(line + k * stride, line, w * m);
    }
}

static hb_status check_pixels(hb_context *context, size_t images, size_t size, const double *pixels)
{
    for (size_t i = 0; i < images * size; i++)
        HB_CHECK(context, !isnan(pixels[i]), HB_ERROR_ARGUMENT,
                 "image %zu of a grid has a pixel that is nan; pixels must be numbers",
                 i / size + 1);
    return HB_OK;
}

hb_status hb_images_grid_write(hb_context *context, int rows, int columns, int height, int width,
                               const char *path, const double *pixels)
{
    grid_plan p = {.rows = rows, .columns = columns, .height = height, .width = width};
    HB_CHECK(context, pixels, HB_ERROR_ARGUMENT, "pixels is NULL");
    HB_TRY(plan_grid(context, &p));
    const size_t size = (size_t)height * (size_t)width, images = (size_t)rows * (size_t)columns;
    const size_t wide = (size_t)p.out_width, bytes = wide * (size_t)p.out_height;
    HB_TRY(check_pixels(context, images, size, pixels));
    void *memory;
    HB_TRY(hb_allocate(context, bytes, 1, &memory));
    unsigned char *picture = memory; // (out_height, out_width)
    memset(picture, GAP_GREY, bytes);
    for (size_t i = 0; i < images; i++) {
        const size_t row = i / (size_t)columns, column = i % (size_t)columns;
        const size_t y = GAP + row * (size_t)(p.magnify * height + GAP);
        const size_t x = GAP + column * (size_t)(p.magnify * width + GAP);
        place_image(&p, pixels + i * size, picture + y * wide + x);
    }
    const hb_status status = hb_png_write_grey(context, p.out_height, p.out_width, path, picture);
    hb_release(context, memory);
    return status;
}
