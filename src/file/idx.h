/* file/idx.h: arrays of bytes in the IDX format, plain or compressed by gzip. */
#pragma once

#include <heatball/base.h>

#define HB_IDX_AXES 8

typedef struct hb_idx {
    int axes;
    uint64_t shape[HB_IDX_AXES]; /* 1 beyond axes */
    size_t count;                /* of values: the product of shape */
    unsigned char *values;
} hb_idx;

/* HB_ERROR_PATH: the file cannot be opened; HB_ERROR_FORMAT: it is something else, damaged, cut
 * short or longer than its header says, with the reason; HB_ERROR_FILE: reading failed. */
hb_status hb_idx_read(hb_context *context, const char *path, hb_idx *out);
void hb_idx_release(hb_context *context, hb_idx *idx); /* a zeroed one is fine */
