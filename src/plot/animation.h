/* plot/animation.h: the frames of an animation as pixels with one table of colours, and the files
 * made of them. */
#pragma once

#include "plot/figure.h"

#include <stdint.h>

enum { HB_ANIMATION_COLORS = 256 };
/* Pixels of a page's frames for one of the figure: sharp on small screens. */
#define HB_ANIMATION_PAGE_SCALE 1.4

typedef struct hb_animation {
    hb_context *context;
    size_t n;
    int width, height;
    const char *format;                           /* of the script: its size of pixels */
    const double *times;                          // (n)
    unsigned char colors[HB_ANIMATION_COLORS][3]; /* red, green, blue */
    unsigned char *pixels;                        // (n, height, width), indices into colors
} hb_animation;

/* Colours by median cut. `count` holds how often a colour of HB_ANIMATION_BITS per channel
 * occurs. */
enum { HB_ANIMATION_BITS = 7, HB_ANIMATION_BINS = 1 << 3 * HB_ANIMATION_BITS };
void hb_animation_count(size_t n_pixels, const unsigned char *rgb, uint32_t *count);
void hb_animation_choose(const uint32_t *count, unsigned char colors[HB_ANIMATION_COLORS][3],
                         unsigned char *nearest);
void hb_animation_index(size_t n_pixels, const unsigned char *rgb, const unsigned char *nearest,
                        unsigned char *out);

/* Frame k as a PNG of indices, given to `write`: hb_writer_write, or one that encodes it. */
typedef hb_status hb_bytes_writer(hb_writer *writer, size_t size, const void *bytes);
hb_status hb_animation_png(const hb_animation *animation, size_t k, hb_bytes_writer *write,
                           hb_writer *writer);
/* The PNG of that path with 256 colours: a third to a half of its bytes. */
hb_status hb_picture_reduce(hb_context *context, const char *path);

/* The files; delay in hundredths of a second. */
hb_status hb_animation_write_gif(const hb_animation *animation, int delay, hb_writer *writer);
hb_status hb_animation_write_html(const hb_animation *animation, const char *title, int delay,
                                  hb_writer *writer);
