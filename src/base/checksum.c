/* FNV-1a, byte by byte. A number to reproduce: "a" gives af63dc4c8601ec8c. */
#include "base/checksum.h"

uint64_t hb_checksum(uint64_t sum, const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++) sum = (sum ^ byte[i]) * HB_CHECKSUM_FACTOR;
    return sum;
}
