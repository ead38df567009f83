/* Files of pictures: each a grid as .png, and one .svg with several of them and their captions, the pictures inside as
 * base64 text, so that the page of `heatball reproduce` is one file. Pixels in a .csv are bytes. */
#include "mnist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = MNIST_SIDE * MNIST_SIDE, CAPTION = 44, GAP = 24 };

static hb_status read_png(hb_mnist *m, const char *path, hb_mnist_picture *p)
{
    void *memory;
    FILE *file = fopen(path, "rb");
    const long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    hb_status status =
        size > 24 ? hb_study_allocate(m->context, (size_t)size, 1, &memory) : HB_ERROR_FILE;
    if (status == HB_OK) {
        rewind(file);
        p->png = memory;
        p->bytes = fread(p->png, 1, (size_t)size, file);
        const unsigned char *h = p->png + 16; /* IHDR: width and height */
        p->width = h[0] << 24 | h[1] << 16 | h[2] << 8 | h[3];
        p->height = h[4] << 24 | h[5] << 16 | h[6] << 8 | h[7];
    }
    if (file) fclose(file);
    return status == HB_ERROR_FILE ? hb_study_fail(m->context, status, "cannot read %.300s", path)
                                   : status;
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

hb_status hb_mnist_pixels_header(hb_writer *writer)
{
    for (int i = 0; i < PIXELS; i++) HB_TRY(hb_writer_printf(writer, ",x_%d", i + 1));
    return hb_writer_printf(writer, "\n");
}

hb_status hb_mnist_pixels_write(hb_writer *writer, const double *pixels)
{
    for (size_t i = 0; i < PIXELS; i++)
        HB_TRY(hb_writer_printf(writer, ",%d", (int)lrint(255 * fmin(1, fmax(0, pixels[i])))));
    return hb_writer_printf(writer, "\n");
}

/* ---- .svg ---- */

static hb_status write_base64(hb_writer *writer, size_t n, const unsigned char *bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const unsigned b = i + 1 < n ? bytes[i + 1] : 0, c = i + 2 < n ? bytes[i + 2] : 0;
        const unsigned word = (unsigned)bytes[i] << 16 | b << 8 | c;
        const char text[4] = {digits[word >> 18], digits[word >> 12 & 63],
                              i + 1 < n ? digits[word >> 6 & 63] : '=',
                              i + 2 < n ? digits[word & 63] : '='};
        HB_TRY(hb_writer_write(writer, 4, text));
    }
    return HB_OK;
}

static hb_status write_picture(hb_writer *writer, const hb_mnist_picture *p, int x, int y)
{
    HB_TRY(hb_writer_printf(writer,
                            "<text x=\"%d\" y=\"%d\" font-family=\"Helvetica,Arial,sans-serif\" "
                            "font-size=\"24\">%s</text>\n<image x=\"%d\" y=\"%d\" width=\"%d\" "
                            "height=\"%d\" href=\"data:image/png;base64,",
                            x, y - 14, p->caption, x, y, p->width, p->height));
    HB_TRY(write_base64(writer, p->bytes, p->png));
    return hb_writer_printf(writer, "\"/>\n");
}

static hb_status write_all(hb_writer *writer, int n, const hb_mnist_picture *pictures)
{
    const int columns = n > 1 ? 2 : 1, rows = (n + 1) / 2;
    const int across = pictures[0].width + GAP, down = pictures[0].height + CAPTION;
    HB_TRY(hb_writer_printf(writer,
                            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\">\n"
                            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
                            GAP + columns * across, rows * down + GAP));
    for (int k = 0; k < n; k++)
        HB_TRY(write_picture(writer, &pictures[k], GAP + k % 2 * across, CAPTION + k / 2 * down));
    return hb_writer_printf(writer, "</svg>\n");
}

hb_status hb_mnist_pictures_write(hb_mnist *m, const char *name, int n,
                                  const hb_mnist_picture *pictures)
{
    char file[80], *path;
    hb_writer *writer;
    snprintf(file, sizeof file, "%s.svg", name);
    HB_TRY(hb_study_path(m->context, m->settings->directory, file, &path));
    hb_status status = hb_writer_create(m->context, path, &writer);
    free(path);
    HB_TRY(status);
    status = write_all(writer, n, pictures);
    if (status == HB_OK) return hb_writer_commit(writer);
    hb_writer_abort(writer);
    return status;
}
