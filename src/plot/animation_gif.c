/* Animated GIF (GIF89a; the loop by Netscape's extension).
 *
 *     header, size, table of 256 colours, loop for ever
 *     for each frame   its delay, its place, then the indices by LZW in blocks of up to 255 bytes
 * A frame after the first holds only the rectangle that differs from the one before. LZW begins
 * with codes of 9 bits, clear is 256 and end 257; codes grow to 12 bits, and then the table begins
 * anew. A number to reproduce: the file begins with "GIF89a" and ends with 3b. */
#include "base/memory.h"
#include "plot/animation.h"

#include <string.h>

enum { CLEAR = 256, END = 257, FIRST = 258, MOST_CODES = 4096, HOLD = 120 };

/* ---- LZW ---- */

typedef struct lzw {
    hb_writer *writer;
    hb_status status;
    uint32_t bits;
    int n_bits, width, next;
    unsigned char block[256];        /* its length first */
    int16_t longer[MOST_CODES][256]; /* the code of a code and a byte; 0: none yet */
} lzw;

static void flush_block(lzw *z)
{
    if (z->block[0] == 0 || z->status != HB_OK) return;
    z->status = hb_writer_write(z->writer, (size_t)z->block[0] + 1, z->block);
    z->block[0] = 0;
}

static void put_code(lzw *z, int code)
{
    z->bits |= (uint32_t)code << z->n_bits;
    for (z->n_bits += z->width; z->n_bits >= 8; z->n_bits -= 8, z->bits >>= 8) {
        z->block[++z->block[0]] = (unsigned char)z->bits;
        if (z->block[0] == 255) flush_block(z);
    }
}

static void clear_table(lzw *z)
{
    put_code(z, CLEAR);
    memset(z->longer, 0, sizeof z->longer);
    z->width = 9;
    z->next = FIRST;
}

static void learn(lzw *z, int prefix, int byte)
{
    if (z->next == MOST_CODES) {
        clear_table(z);
        return;
    }
    z->longer[prefix][byte] = (int16_t)z->next;
    if (z->next == 1 << z->width) z->width++;
    z->next++;
}

typedef struct rectangle {
    int left, top, width, height;
} rectangle;

static hb_status compress(lzw *z, const hb_animation *animation, const unsigned char *frame,
                          const rectangle *r)
{
    int prefix = -1;
    z->width = 9;
    clear_table(z);
    for (int y = r->top; y < r->top + r->height; y++)
        for (int x = r->left; x < r->left + r->width; x++) {
            const int byte = frame[(size_t)y * (size_t)animation->width + (size_t)x];
            const int longer = prefix < 0 ? byte : z->longer[prefix][byte];
            if (prefix >= 0 && longer == 0) {
                put_code(z, prefix);
                learn(z, prefix, byte);
            }
            prefix = prefix < 0 || longer ? longer : byte;
        }
    put_code(z, prefix);
    if (z->next < MOST_CODES && z->next == 1 << z->width) z->width++;
    put_code(z, END);
    if (z->n_bits > 0) { /* what is left of the last byte */
        z->block[++z->block[0]] = (unsigned char)z->bits;
    }
    flush_block(z);
    return z->status;
}

/* ---- the file ---- */

static void put_short(unsigned char *out, int value)
{
    out[0] = (unsigned char)value;
    out[1] = (unsigned char)(value >> 8);
}

static hb_status write_head(const hb_animation *animation, hb_writer *writer)
{
    static const unsigned char loop[] = "\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0";
    unsigned char head[13] = "GIF89a";
    put_short(head + 6, animation->width);
    put_short(head + 8, animation->height);
    head[10] = 0xf7; /* a table of 256 colours */
    HB_TRY(hb_writer_write(writer, sizeof head, head));
    HB_TRY(hb_writer_write(writer, sizeof animation->colors, animation->colors));
    return hb_writer_write(writer, sizeof loop, loop); /* its last byte 0 ends it */
}

/* Where the frame differs from the one before; one pixel when it does not. */
static rectangle changed(const hb_animation *animation, size_t k)
{
    const size_t w = (size_t)animation->width, size = w * (size_t)animation->height;
    const unsigned char *now = animation->pixels + k * size, *before = now - size;
    if (k == 0) return (rectangle){0, 0, animation->width, animation->height};
    int left = animation->width, right = -1, top = animation->height, bottom = -1;
    for (int y = 0; y < animation->height; y++)
        for (int x = 0; x < animation->width; x++) {
            const size_t i = (size_t)y * w + (size_t)x;
            if (now[i] == before[i]) continue;
            left = x < left ? x : left;
            right = x > right ? x : right;
            top = y < top ? y : top;
            bottom = y;
        }
    if (right < 0) return (rectangle){0, 0, 1, 1};
    return (rectangle){left, top, right - left + 1, bottom - top + 1};
}

static hb_status write_frame(const hb_animation *animation, size_t k, int delay, hb_writer *writer,
                             lzw *z)
{
    const size_t size = (size_t)animation->width * (size_t)animation->height;
    const rectangle r = changed(animation, k);
    unsigned char head[19] = {0x21, 0xf9, 4, 4, 0, 0, 0, 0, 0x2c};
    put_short(head + 4, k + 1 == animation->n ? delay + HOLD : delay);
    put_short(head + 9, r.left);
    put_short(head + 11, r.top);
    put_short(head + 13, r.width);
    put_short(head + 15, r.height);
    head[18] = 8; /* bits of an index */
    HB_TRY(hb_writer_write(writer, sizeof head, head));
    memset(z, 0, sizeof *z);
    z->writer = writer;
    HB_TRY(compress(z, animation, animation->pixels + k * size, &r));
    return hb_writer_write(writer, 1, "");
}

hb_status hb_animation_write_gif(const hb_animation *animation, int delay, hb_writer *writer)
{
    void *memory;
    HB_TRY(hb_allocate(animation->context, 1, sizeof(lzw), &memory));
    hb_status status = write_head(animation, writer);
    for (size_t k = 0; k < animation->n && status == HB_OK; k++)
        status = write_frame(animation, k, delay, writer, memory);
    hb_release(animation->context, memory);
    return status == HB_OK ? hb_writer_write(writer, 1, "\x3b") : status;
}
