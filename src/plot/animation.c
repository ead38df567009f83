/* Animations: each frame is a figure, drawn by gnuplot as a PNG in a directory of its own for
 * temporary files ($TMPDIR, else /tmp), which is removed afterwards; the pixels of all frames get
 * one table of colours (animation_colors.c) and become a .gif (animation_gif.c) or a page
 * (animation_html.c). The numbers of all frames are written first, so that they are safe when
 * gnuplot is missing.
 *
 * An animation takes about SECONDS, with frames of LEAST_DELAY to MOST_DELAY hundredths of a
 * second: 20 frames have 30 each. */
#include "plot/animation.h"
#include "base/context.h"
#include "base/memory.h"
#include "base/team_tasks.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_FRAMES = 1000,
    SECONDS = 6,
    LEAST_DELAY = 4,
    MOST_DELAY = 50,
    PATH = 4096,
    INSIDE = PATH + 20
};

/* ---- what is asked for ---- */

static int ends_in(const char *path, const char *end)
{
    const size_t length = strlen(path), tail = strlen(end);
    return length > tail && strcmp(path + length - tail, end) == 0;
}

static hb_status animation_check(hb_context *context, size_t n, hb_figure **frames,
                                 const double *times, const char *path)
{
    HB_CHECK(context, frames && times && path && n >= 1 && n <= MOST_FRAMES, HB_ERROR_ARGUMENT,
             "an animation has %zu frames; it must have 1 to %d, their times and a path", n,
             MOST_FRAMES);
    HB_CHECK(context, ends_in(path, ".gif") || ends_in(path, ".html"), HB_ERROR_ARGUMENT,
             "the name of an animation is %.200s; it must end in .gif or .html", path);
    HB_CHECK(context, strlen(path) < PATH - 100 && !strpbrk(path, "\r\n"), HB_ERROR_PATH,
             "the name of an animation is too long or has a line break: %.100s", path);
    for (size_t k = 0; k < n; k++)
        HB_CHECK(context,
                 frames[k] &&
                     frames[k]->rows * frames[k]->height == frames[0]->rows * frames[0]->height &&
                     frames[k]->columns * frames[k]->width == frames[0]->columns * frames[0]->width,
                 HB_ERROR_ARGUMENT, "frame %zu of an animation is NULL or of another size", k + 1);
    return HB_OK;
}

/* ---- the numbers ---- */

static hb_status write_numbers(size_t n, hb_figure **frames, const double *times, hb_writer *writer)
{
    static const char *const names[] = {"frame", "t", "panel", "series", "label",
                                        "x",     "y", "low",   "high"};
    HB_TRY(hb_writer_csv_header(writer, 9, names));
    for (size_t k = 0; k < n; k++) HB_TRY(hb_figure_csv_frame(frames[k], writer, k + 1, times[k]));
    return HB_OK;
}

static hb_status animation_keep_numbers(hb_context *context, size_t n, hb_figure **frames,
                                        const double *times, const char *path)
{
    char beside[PATH];
    hb_writer *writer;
    snprintf(beside, sizeof beside, "%.*s.plot.csv", (int)(strrchr(path, '.') - path), path);
    HB_TRY(hb_writer_create(context, beside, &writer));
    return hb_writer_close(writer, write_numbers(n, frames, times, writer));
}

/* ---- the frames ---- */

/* Pixels of one frame as red, green, blue [height][width][3]; *rgb is released with hb_release. */
static hb_status read_png(hb_context *context, const char *path, int *width, int *height,
                          unsigned char **rgb)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    png_color white = {255, 255, 255};
    void *memory;
    *rgb = NULL;
    HB_CHECK(context, png_image_begin_read_from_file(&image, path), HB_ERROR_FILE,
             "the frame %.200s cannot be read: %.100s", path, image.message);
    image.format = PNG_FORMAT_RGB;
    *width = (int)image.width;
    *height = (int)image.height;
    const hb_status status = hb_allocate(context, PNG_IMAGE_SIZE(image), 1, &memory);
    if (status != HB_OK || !png_image_finish_read(&image, &white, memory, 0, NULL)) {
        png_image_free(&image);
        if (status != HB_OK) return status;
        hb_release(context, memory);
        return hb_fail(context, HB_ERROR_FILE, "the frame %.200s cannot be read: %.100s", path,
                       image.message);
    }
    *rgb = memory;
    return HB_OK;
}

/* The frame's picture: directory/frame.png; its numbers and script go again at once. */
static hb_status animation_draw_frame(const hb_figure *figure, const char *format,
                                      const char *directory)
{
    char csv[INSIDE], script[INSIDE], picture[INSIDE];
    snprintf(csv, sizeof csv, "%s/frame.plot.csv", directory);
    snprintf(script, sizeof script, "%s/frame.gp", directory);
    snprintf(picture, sizeof picture, "%s/frame.png", directory);
    hb_status status = hb_figure_write_csv(figure, csv);
    if (status == HB_OK) status = hb_figure_write_script(figure, script, "frame.plot.csv");
    if (status == HB_OK)
        status = hb_gnuplot_run(figure->context, directory, "frame.gp", format, picture);
    unlink(csv);
    unlink(script);
    return status;
}

/* Red, green and blue of all frames, and how often each colour occurs. The picture is removed. */
static hb_status animation_read_frame(hb_animation *animation, const char *picture, size_t k,
                                      unsigned char **all, uint32_t *count)
{
    int width, height;
    unsigned char *rgb;
    const hb_status status = read_png(animation->context, picture, &width, &height, &rgb);
    unlink(picture);
    HB_TRY(status);
    const size_t size = 3 * (size_t)width * (size_t)height;
    void *memory = *all;
    hb_status fits = HB_OK;
    if (k == 0) {
        animation->width = width;
        animation->height = height;
        fits = hb_allocate(animation->context, animation->n, size, &memory);
        *all = fits == HB_OK ? memory : NULL;
    } else if (width != animation->width || height != animation->height) {
        fits =
            hb_fail(animation->context, HB_ERROR_FILE, "frame %zu came out in another size", k + 1);
    }
    if (fits == HB_OK) {
        memcpy(*all + k * size, rgb, size);
        hb_animation_count(size / 3, rgb, count);
    }
    hb_release(animation->context, rgb);
    return fits;
}

static hb_status animation_draw_frames(hb_animation *animation, hb_figure **frames,
                                       const char *directory, unsigned char **all, uint32_t *count)
{
    char picture[INSIDE];
    snprintf(picture, sizeof picture, "%s/frame.png", directory);
    for (size_t k = 0; k < animation->n; k++) {
        HB_TRY(animation_draw_frame(frames[k], animation->format, directory));
        HB_TRY(animation_read_frame(animation, picture, k, all, count));
        HB_TRY(hb_progress(animation->context, "frames", (double)(k + 1), (double)animation->n));
    }
    return HB_OK;
}

/* Of the frames, drawn in the directory `place`; without frames of the picture `place`. */
static hb_status animation_make_pixels(hb_animation *animation, hb_figure **frames,
                                       const char *place)
{
    unsigned char *all = NULL, *nearest;
    uint32_t *count;
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(animation->context, &work, HB_ARRAY(count, HB_ANIMATION_BINS),
                        HB_ARRAY(nearest, HB_ANIMATION_BINS)));
    memset(count, 0, HB_ANIMATION_BINS * sizeof *count);
    hb_status status = frames ? animation_draw_frames(animation, frames, place, &all, count)
                              : animation_read_frame(animation, place, 0, &all, count);
    const size_t size = animation->n * (size_t)animation->width * (size_t)animation->height;
    if (status == HB_OK) status = HB_NEW(animation->context, animation->pixels, size);
    if (status == HB_OK) {
        hb_animation_choose(count, animation->colors, nearest);
        hb_animation_index(size, all, nearest, animation->pixels);
    }
    hb_release(animation->context, all);
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_picture_reduce(hb_context *context, const char *path)
{
    hb_animation animation = {.context = context, .n = 1};
    hb_writer *writer;
    hb_status status = animation_make_pixels(&animation, NULL, path);
    if (status == HB_OK) status = hb_writer_create(context, path, &writer);
    if (status == HB_OK)
        status = hb_writer_close(writer, hb_animation_png(&animation, 0, hb_writer_write, writer));
    hb_release(context, animation.pixels);
    return status;
}

/* ---- the file ---- */

static int delay_of(size_t n)
{
    const int even = (int)(100 * SECONDS / n);
    return even < LEAST_DELAY ? LEAST_DELAY : even > MOST_DELAY ? MOST_DELAY : even;
}

static hb_status animation_write(const hb_animation *animation, const char *title, const char *path)
{
    hb_writer *writer;
    const int delay = delay_of(animation->n);
    HB_TRY(hb_writer_create(animation->context, path, &writer));
    return hb_writer_close(writer, ends_in(path, ".gif")
                                       ? hb_animation_write_gif(animation, delay, writer)
                                       : hb_animation_write_html(animation, title, delay, writer));
}

static hb_status animation_make(hb_context *context, size_t n, hb_figure **frames,
                                const double *times, const char *title, const char *path)
{
    char directory[PATH];
    hb_animation animation = {.context = context,
                              .n = n,
                              .times = times,
                              .format = ends_in(path, ".gif") ? "frame" : "page"};
    HB_TRY(animation_keep_numbers(context, n, frames, times, path));
    const char *temporary = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%.4000s/heatball-frames-XXXXXX",
             temporary && temporary[0] == '/' ? temporary : "/tmp");
    HB_CHECK(
        context, mkdtemp(directory), HB_ERROR_PATH,
        "a directory for the frames of %.200s cannot be made: %.200s; TMPDIR names another one",
        path, directory);
    hb_status status = animation_make_pixels(&animation, frames, directory);
    rmdir(directory);
    if (status == HB_OK) status = animation_write(&animation, title ? title : "", path);
    hb_release(context, animation.pixels);
    return status;
}

hb_status hb_figure_write_film(hb_context *context, size_t n, const char *title, const char *path,
                               const double *times, hb_figure **frames)
{
    HB_TRY(animation_check(context, n, frames, times, path));
    HB_CHECK(context, hb_context_ranks(context) == 1, HB_ERROR_UNAVAILABLE,
             "an animation is made by one process, and there are %d; run it alone",
             hb_context_ranks(context));
    return animation_make(context, n, frames, times, title, path);
}
