/* Grey pictures as PNG (ISO/IEC 15948), through libpng's one-call interface.
 *
 * One byte per pixel, 0 black .. 255 white, rows from the top. The file is first made in memory,
 * so that libpng never sees a disk: what it compressed goes through a writer, and the picture is
 * whole or absent. A number to reproduce: the first 8 bytes are 89 50 4e 47 0d 0a 1a 0a, and
 * reading gives back the pixels. */
#include "base/context.h"
#include "base/memory.h"

#include <heatball/file.h>
#include <png.h>

hb_status hb_png_write_grey(hb_context *context, int height, int width, const char *path,
                            const unsigned char *pixels)
{
    HB_CHECK(context, path && path[0] && pixels, HB_ERROR_ARGUMENT,
             "the path or the pixels of a picture are missing");
    HB_CHECK(context, width >= 1 && width <= HB_PNG_SIDE && height >= 1 && height <= HB_PNG_SIDE,
             HB_ERROR_ARGUMENT, "a picture is %d by %d pixels; each side must be 1 to %d", width,
             height, HB_PNG_SIDE);
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)width,
                       .height = (png_uint_32)height,
                       .format = PNG_FORMAT_GRAY};
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
    void *memory;
    hb_writer *writer;
    HB_TRY(hb_allocate(context, bytes, 1, &memory));
    hb_status status = HB_OK;
    if (!png_image_write_to_memory(&image, memory, &bytes, 0, pixels, 0, NULL))
        status = hb_fail(context, HB_ERROR_MEMORY, "libpng cannot make %.200s: %.100s", path,
                         image.message);
    if (status == HB_OK) status = hb_writer_create(context, path, &writer);
    if (status == HB_OK) status = hb_writer_close(writer, hb_writer_write(writer, bytes, memory));
    hb_release(context, memory);
    return status;
}
