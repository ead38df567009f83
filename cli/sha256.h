/* cli/sha256.h: the SHA-256 sum of bytes that come in pieces. */
#ifndef HB_CLI_SHA256_H
#define HB_CLI_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct hb_sha256 {
    uint32_t state[8];
    uint64_t bytes;          /* so far */
    unsigned char block[64]; /* the bytes % 64 last of them */
} hb_sha256;

void hb_sha256_begin(hb_sha256 *sum);
void hb_sha256_add(hb_sha256 *sum, const void *data, size_t bytes);
/* The 64 hexadecimal digits and a zero. */
void hb_sha256_end(hb_sha256 *sum, char text[65]);

#endif
