/* Files of pictures: each a grid as .png, and one .svg with several of them and their captions, the
 * pictures inside as base64 text, so that the page of `heatball reproduce` is one file. Pixels in a
 * .csv are bytes. */
#include "mnist.h"
#include "report_page.h"

#include <math.h>
#include <stdlib.h>

enum { PIXELS = MNIST_SIDE * MNIST_SIDE, CAPTION = 44, GAP = 24 };

static hb_status read_png(hb_mnist *m, const char *path, hb_mnist_picture *p)
{
    p->png = (unsigned char *)hb_page_read(path, &p->bytes);
    if (!p->png || p->bytes <= 24)
        return hb_study_fail(m->context, HB_ERROR_FILE, "cannot read %.300s", path);
    const unsigned char *h = p->png + 16; /* IHDR: width and height */
    p->width = h[0] << 24 | h[1] << 16 | h[2] << 8 | h[3];
    p->height = h[4] << 24 | h[5] << 16 | h[6] << 8 | h[7];
    return HB_OK;
}

hb_status hb_mnist_picture_make(hb_mnist *m, hb_mnist_picture *p)
{
    char file[80], *path;
    snprintf(file, sizeof file, "%s.png", p->name);
    HB_TRY(hb_study_path(m->context, m->settings->directory, file, &path));
    hb_status status = hb_images_grid_write(m->context, p->rows, p->columns, MNIST_SIDE, MNIST_SIDE,
                                            path, p->pixels);
    if (status == HB_OK) status = read_png(m, path, p);
    free(path);
    return status;
}

void hb_mnist_pictures_release(int n, hb_mnist_picture *pictures)
{
    for (int k = 0; k < n; k++) {
        free(pictures[k].pixels);
        free(pictures[k].png);
    }
}

/* ---- .csv ---- */

void hb_mnist_pixels_header(FILE *file)
{
    for (int i = 0; i < PIXELS; i++) fprintf(file, ",x_%d", i + 1);
    fputc('\n', file);
}

void hb_mnist_pixels_write(FILE *file, const double *pixels)
{
    for (size_t i = 0; i < PIXELS; i++)
        fprintf(file, ",%d", (int)lrint(255 * fmin(1, fmax(0, pixels[i]))));
    fputc('\n', file);
}

/* ---- .svg ---- */

typedef struct shown_pictures {
    int n;
    const hb_mnist_picture *pictures;
} shown_pictures;

static hb_status write_svg(hb_context *context, FILE *file, const void *user)
{
    const shown_pictures *s = user;
    const int columns = s->n > 1 ? 2 : 1, rows = (s->n + 1) / 2;
    const int across = s->pictures[0].width + GAP, down = s->pictures[0].height + CAPTION;
    (void)context;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            GAP + columns * across, rows * down + GAP);
    for (int k = 0; k < s->n; k++) {
        const hb_mnist_picture *p = &s->pictures[k];
        const int x = GAP + k % 2 * across, y = CAPTION + k / 2 * down;
        fprintf(file,
                "<text x=\"%d\" y=\"%d\" font-family=\"Helvetica,Arial,sans-serif\" "
                "font-size=\"24\">%s</text>\n<image x=\"%d\" y=\"%d\" width=\"%d\" "
                "height=\"%d\" href=\"data:image/png;base64,",
                x, y - 14, p->caption, x, y, p->width, p->height);
        hb_page_base64(file, p->png, p->bytes);
        fputs("\"/>\n", file);
    }
    fputs("</svg>\n", file);
    return HB_OK;
}

hb_status hb_mnist_pictures_write(hb_mnist *m, const char *name, int n,
                                  const hb_mnist_picture *pictures)
{
    char file[80];
    snprintf(file, sizeof file, "%s.svg", name);
    return hb_study_write_text(m->context, m->settings->directory, file, write_svg,
                               &(shown_pictures){n, pictures});
}
