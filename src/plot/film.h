/* plot/film.h: the frames of a film as pixels with one table of colours, and the files made of them. */
#ifndef HB_PLOT_FILM_H
#define HB_PLOT_FILM_H

#include "plot/figure.h"

#include <stdint.h>

enum { HB_FILM_COLORS = 256 };
/* Pixels of a page's frames for one of the figure: sharp on small screens. */
#define HB_FILM_PAGE_SCALE 1.4

typedef struct hb_film {
    hb_context *context;
    size_t n;
    int width, height;
    const char *format;                      /* of the script: its size of pixels */
    const double *times;                     // (n)
    unsigned char colors[HB_FILM_COLORS][3]; /* red, green, blue */
    unsigned char *pixels;                   // (n, height, width), indices into colors
} hb_film;

/* Colours by median cut. `count` holds how often a colour of HB_FILM_BITS per channel occurs. */
enum { HB_FILM_BITS = 7, HB_FILM_BINS = 1 << 3 * HB_FILM_BITS };
void hb_film_count(size_t n_pixels, const unsigned char *rgb, uint32_t *count);
void hb_film_choose(const uint32_t *count, unsigned char colors[HB_FILM_COLORS][3],
                    unsigned char *nearest);
void hb_film_index(size_t n_pixels, const unsigned char *rgb, const unsigned char *nearest,
                   unsigned char *out);

/* The files; delay in hundredths of a second. */
hb_status hb_film_write_gif(const hb_film *film, int delay, hb_writer *writer);
hb_status hb_film_write_html(const hb_film *film, const char *title, int delay, hb_writer *writer);

#endif
