/* Reading tar archives (POSIX.1-1988, "ustar") through gzip.
 *
 * An archive is a row of members: a header of 512 bytes, then the file, filled up with zeros to a multiple
 * of 512. Of the header count here
 *     bytes 0..99      name; 345..499 what stands before it and a slash, if anything
 *     bytes 124..135   length, octal
 *     bytes 148..155   sum of the header's bytes, octal, with these eight as blanks
 *     byte 156         kind: '0' or 0 a regular file
 * A header of zeros ends the archive. Other kinds (directories, the attributes of pax) are passed over.
 * Nothing is written here: the caller picks members by name, so that no archive chooses a place on the disk.
 * A number to reproduce: bytes 257..261 of the header are "ustar". */
#include "tar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { BLOCK = 512, SUM_AT = 148, LENGTH_AT = 124, KIND_AT = 156, MAGIC_AT = 257, PREFIX_AT = 345 };

struct hb_tar {
    hb_session *session;
    char *path;
    gzFile stream;
    uint64_t left;    /* bytes of the member not yet read */
    uint64_t filling; /* bytes after it */
};

static hb_status read_exactly(hb_tar *tar, size_t n, void *out)
{
    const int got = gzread(tar->stream, out, (unsigned)n);
    if (got == (int)n) return HB_OK;
    return hb_session_fail(tar->session, HB_ERROR_FORMAT,
                           "%.200s is cut short or damaged; it must be a .tgz archive", tar->path);
}

static hb_status skip(hb_tar *tar, uint64_t n)
{
    unsigned char block[BLOCK];
    while (n > 0) {
        const size_t take = n < BLOCK ? (size_t)n : BLOCK;
        HB_TRY(read_exactly(tar, take, block));
        n -= take;
    }
    return HB_OK;
}

/* Octal digits, after blanks, up to a blank or a zero. */
static uint64_t octal(const unsigned char *text, size_t n)
{
    uint64_t value = 0;
    size_t i = 0;
    while (i < n && text[i] == ' ') i++;
    for (; i < n && text[i] >= '0' && text[i] <= '7'; i++) value = value << 3 | (text[i] - '0');
    return value;
}

static hb_status check_header(hb_tar *tar, const unsigned char *header)
{
    uint64_t sum = 0;
    for (int i = 0; i < BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + 8 ? (unsigned char)' ' : header[i];
    if (sum == octal(header + SUM_AT, 8) && !memcmp(header + MAGIC_AT, "ustar", 5)) return HB_OK;
    return hb_session_fail(tar->session, HB_ERROR_FORMAT,
                           "%.200s is damaged or no tar archive: the sum of a header is wrong",
                           tar->path);
}

static void join_name(const unsigned char *header, char name[HB_TAR_NAME])
{
    size_t n = strnlen((const char *)header + PREFIX_AT, 155);
    memcpy(name, header + PREFIX_AT, n);
    if (n > 0) name[n++] = '/';
    const size_t base = strnlen((const char *)header, 100);
    memcpy(name + n, header, base);
    name[n + base] = 0;
}

hb_status hb_tar_open(hb_session *session, const char *path, hb_tar **out)
{
    hb_tar *tar = *out = calloc(1, sizeof *tar);
    if (!tar) return HB_ERROR_MEMORY;
    tar->session = session;
    tar->path = strdup(path);
    tar->stream = gzopen(path, "rbe");
    hb_status status = tar->path ? HB_OK : HB_ERROR_MEMORY;
    if (!tar->stream)
        status = hb_session_fail(session, HB_ERROR_PATH, "cannot open %.200s: %s", path,
                                 strerror(errno));
    if (status == HB_OK) return HB_OK;
    hb_tar_close(tar);
    *out = NULL;
    return status;
}

void hb_tar_close(hb_tar *tar)
{
    if (!tar) return;
    if (tar->stream) gzclose_r(tar->stream);
    free(tar->path);
    free(tar);
}

hb_status hb_tar_next(hb_tar *tar, char name[HB_TAR_NAME])
{
    static const unsigned char zeros[BLOCK];
    unsigned char header[BLOCK];
    for (;;) {
        HB_TRY(skip(tar, tar->left + tar->filling));
        tar->left = tar->filling = 0;
        HB_TRY(read_exactly(tar, BLOCK, header));
        name[0] = 0;
        if (!memcmp(header, zeros, BLOCK)) return HB_OK;
        HB_TRY(check_header(tar, header));
        tar->left = octal(header + LENGTH_AT, 12);
        tar->filling = (BLOCK - tar->left % BLOCK) % BLOCK;
        join_name(header, name);
        if (header[KIND_AT] == '0' || header[KIND_AT] == 0) return HB_OK;
    }
}

hb_status hb_tar_read(hb_tar *tar, size_t capacity, void *out, size_t *bytes)
{
    const size_t most = capacity < 1 << 20 ? capacity : 1 << 20;
    *bytes = tar->left < most ? (size_t)tar->left : most;
    HB_TRY(read_exactly(tar, *bytes, out));
    tar->left -= *bytes;
    return HB_OK;
}
