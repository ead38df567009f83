/* Reading IDX files: LeCun's format of the MNIST digits, plain or through gzip.
 *
 *     bytes 0, 1   0
 *     byte 2       type of the values: 08 unsigned byte, the only one known here
 *     byte 3       number of axes
 *     then         the length of each axis, 4 bytes, big-endian; then the values, row by row
 * zlib reads both kinds of files and checks the sum at the end of a compressed one. What the
 * header promises is held against the length of the file before memory is asked for, so that a
 * damaged header cannot ask for the whole machine: gzip makes nothing more than RATIO times
 * shorter. A number to reproduce: the MNIST file train-images-idx3-ubyte has 16 + 60000*28*28 =
 * 47040016 bytes.
 *
 * Y. LeCun, C. Cortes, C. J. C. Burges, The MNIST database of handwritten digits, 1998. P.
 * Deutsch, RFC 1952 (gzip), 1996. */
#include "base/context.h"
#include "base/memory.h"
#include "file/idx.h"
#include "file/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { TYPE_BYTE = 8, RATIO = 1040, BLOCK = 1 << 20 };

typedef struct idx_file {
    hb_context *context;
    const char *path; /* for messages */
    gzFile stream;
    int regular;
    uint64_t bytes; /* on the disk */
} idx_file;

/* Reads at most n bytes; fewer only at the end of the file. */
static hb_status idx_read_bytes(idx_file *f, size_t n, unsigned char *out, size_t *got)
{
    *got = 0;
    while (*got < n) {
        const size_t want = n - *got < BLOCK ? n - *got : BLOCK;
        const int read = gzread(f->stream, out + *got, (unsigned)want);
        int code = Z_OK;
        const char *reason = read < 0 ? gzerror(f->stream, &code) : "";
        HB_CHECK(f->context, read >= 0 || code != Z_ERRNO, HB_ERROR_FILE,
                 "reading %.200s failed: %s", f->path, strerror(errno));
        HB_CHECK(f->context, read >= 0, HB_ERROR_FORMAT,
                 "%.200s is damaged: its compressed bytes cannot be read (%.80s)", f->path, reason);
        if (read == 0) break;
        *got += (size_t)read;
    }
    return HB_OK;
}

static hb_status idx_read_axes(idx_file *f, hb_idx *out)
{
    unsigned char head[4], lengths[4 * HB_IDX_AXES] = {0};
    size_t got;
    HB_TRY(idx_read_bytes(f, 4, head, &got));
    HB_CHECK(f->context, got == 4, HB_ERROR_FORMAT,
             "%.200s is not an IDX file: it has %zu bytes; 4 open such a file", f->path, got);
    HB_CHECK(f->context, head[0] == 0 && head[1] == 0, HB_ERROR_FORMAT,
             "%.200s is not an IDX file: it opens with the bytes %02x %02x; they must be 00 00",
             f->path, head[0], head[1]);
    HB_CHECK(f->context, head[2] == TYPE_BYTE, HB_ERROR_FORMAT,
             "%.200s holds values of IDX type %02x; it must be 08, unsigned bytes", f->path,
             head[2]);
    HB_CHECK(f->context, head[3] >= 1 && head[3] <= HB_IDX_AXES, HB_ERROR_FORMAT,
             "%.200s has %d axes; it must have 1 to %d", f->path, head[3], HB_IDX_AXES);
    out->axes = head[3];
    HB_TRY(idx_read_bytes(f, 4 * (size_t)out->axes, lengths, &got));
    HB_CHECK(f->context, got == 4 * (size_t)out->axes, HB_ERROR_FORMAT,
             "%.200s is cut short in its header", f->path);
    for (int i = 0; i < HB_IDX_AXES; i++) {
        const unsigned char *b = lengths + 4 * (i < out->axes ? i : 0);
        const uint32_t length =
            (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | (uint32_t)b[3];
        out->shape[i] = i < out->axes ? length : 1;
    }
    return HB_OK;
}

static hb_status idx_count(idx_file *f, hb_idx *out)
{
    uint64_t n = 1;
    for (int i = 0; i < out->axes; i++) {
        HB_CHECK(f->context, out->shape[i] == 0 || n <= (uint64_t)INT64_MAX / out->shape[i],
                 HB_ERROR_FORMAT, "%.200s: its header promises more than 2^63 values", f->path);
        n *= out->shape[i];
    }
    const uint64_t factor = gzdirect(f->stream) ? 1 : RATIO;
    HB_CHECK(f->context, !f->regular || n / factor <= f->bytes, HB_ERROR_FORMAT,
             "%.200s is cut short: its header promises %llu values, it has %llu bytes", f->path,
             (unsigned long long)n, (unsigned long long)f->bytes);
    out->count = (size_t)n;
    return HB_OK;
}

static hb_status idx_read_values(idx_file *f, hb_idx *out)
{
    size_t got;
    int code;
    unsigned char more;
    void *memory;
    HB_TRY(hb_allocate(f->context, out->count ? out->count : 1, 1, &memory));
    out->values = memory;
    HB_TRY(idx_read_bytes(f, out->count, out->values, &got));
    HB_CHECK(f->context, got == out->count, HB_ERROR_FORMAT,
             "%.200s is cut short: its header promises %zu values, it has %zu", f->path, out->count,
             got);
    HB_TRY(idx_read_bytes(f, 1, &more, &got)); /* also makes zlib look at the sum */
    HB_CHECK(f->context, got == 0, HB_ERROR_FORMAT,
             "%.200s continues after the %zu values that its header promises", f->path, out->count);
    gzerror(f->stream, &code);
    HB_CHECK(f->context, code == Z_OK, HB_ERROR_FORMAT,
             "%.200s is cut short: its compressed bytes have no end", f->path);
    return HB_OK;
}

static hb_status idx_open(idx_file *f)
{
    int descriptor;
    HB_TRY(hb_input_descriptor(f->context, f->path, &descriptor));
    struct stat info;
    f->regular = fstat(descriptor, &info) == 0;
    f->bytes = f->regular ? (uint64_t)info.st_size : 0;
    f->stream = gzdopen(descriptor, "rb");
    if (!f->stream) close(descriptor);
    HB_CHECK(f->context, f->stream, HB_ERROR_MEMORY, "no memory to read %.200s", f->path);
    return HB_OK;
}

hb_status hb_idx_read(hb_context *context, const char *path, hb_idx *out)
{
    idx_file f = {.context = context, .path = path};
    *out = (hb_idx){0};
    HB_TRY(idx_open(&f));
    hb_status status = idx_read_axes(&f, out);
    if (status == HB_OK) status = idx_count(&f, out);
    if (status == HB_OK) status = idx_read_values(&f, out);
    gzclose_r(f.stream);
    if (status != HB_OK) hb_idx_release(context, out);
    return status;
}

void hb_idx_release(hb_context *context, hb_idx *idx)
{
    hb_release(context, idx->values);
    *idx = (hb_idx){0};
}
