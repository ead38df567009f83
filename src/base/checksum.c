/* FNV-1a, byte by byte. A number to reproduce: "a" gives af63dc4c8601ec8c. */
#include "base/checksum.h"

static const uint64_t FNV_FACTOR = UINT64_C(0x100000001b3);

uint64_t hb_checksum(uint64_t sum, const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++) sum = (sum ^ byte[i]) * FNV_FACTOR;
    return sum;
}
