/* file/input.h: opening a file for reading, the one way in for every reader of the library. */
#pragma once

#include <heatball/base.h>
#include <stdio.h>

/* Asks the context's reading callback, then opens the file; HB_ERROR_PATH when it cannot be
 * opened or is a directory, HB_ERROR_INTERRUPTED when a stop is asked for while nothing comes
 * from a pipe. */
hb_status hb_input_open(hb_context *context, const char *path, FILE **out);
/* The same as a descriptor that can be read without waiting: what comes from a pipe is first
 * copied to a temporary file, at most HB_INPUT_MOST bytes; a device, which may have no end, is
 * HB_ERROR_FORMAT. */
#define HB_INPUT_MOST ((uint64_t)1 << 32)
hb_status hb_input_descriptor(hb_context *context, const char *path, int *out);
/* The status for a reader whose file has ferror: HB_ERROR_INTERRUPTED when a stop was asked for,
 * else HB_ERROR_FILE with the reason. */
hb_status hb_input_failed(hb_context *context, const char *path);
