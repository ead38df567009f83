/* What the tests of images share: a directory of their own, and IDX files in it, plain or compressed. */
#ifndef HB_TESTS_IMAGES_SUPPORT_H
#define HB_TESTS_IMAGES_SUPPORT_H

#include "support.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char directory[] = "/tmp/heatball-images-XXXXXX";

static inline int make_directory(void **state)
{
    *state = NULL;
    return mkdtemp(directory) ? 0 : -1;
}

static inline int remove_directory(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

static inline const char *path_of(const char *name)
{
    static char paths[4][256];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, 256, "%s/%s", directory, name);
    return path;
}

/* gz: compressed by zlib's own gzwrite. */
static inline const char *write_bytes(const char *name, int gz, const void *bytes, size_t size)
{
    const char *path = path_of(name);
    gzFile file = gzopen(path, gz ? "wb" : "wbT");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
    return path;
}

/* An IDX file of these axes whose bytes are made by a formula with period 251 and offset. */
static inline size_t idx_bytes(int axes, const unsigned *shape, unsigned offset, unsigned char *out)
{
    size_t at = 4, n = 1;
    memcpy(out, "\0\0\x08", 3);
    out[3] = (unsigned char)axes;
    for (int i = 0; i < axes; i++) {
        for (int k = 0; k < 4; k++) out[at++] = (unsigned char)(shape[i] >> (24 - 8 * k));
        n *= shape[i];
    }
    for (size_t i = 0; i < n; i++) out[at++] = (unsigned char)((i * 37 + offset) % 251);
    return at;
}

static unsigned char buffer[1 << 20];

static inline const char *write_images(const char *name, int gz, unsigned n, unsigned height,
                                       unsigned width)
{
    const unsigned shape[] = {n, height, width};
    return write_bytes(name, gz, buffer, idx_bytes(3, shape, 7, buffer));
}

static inline const char *write_labels(const char *name, int gz, unsigned n, unsigned classes)
{
    const size_t size = idx_bytes(1, &n, 0, buffer);
    for (unsigned i = 0; i < n; i++) buffer[8 + i] = (unsigned char)(i % classes);
    return write_bytes(name, gz, buffer, size);
}

#endif
