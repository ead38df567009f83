/* cli/row_stream.h: rows that are made in pieces by several threads and written in their order. */
#pragma once

#include "session.h"

typedef struct hb_row_stream {
    uint64_t n;       /* rows in all */
    size_t row_bytes; /* of one row in memory */
    /* Fills rows [count][row_bytes] with the rows first .. first+count-1; called by several
     * threads at once, each with a context of its own of one thread. */
    hb_status (*draw)(void *user, hb_context *context, uint64_t first, size_t count, void *rows);
    /* Takes the rows in order; never called by two threads at once, but not always by the same. */
    hb_status (*write)(void *user, size_t count, const void *rows);
    void *user;
} hb_row_stream;

/* Draws and writes all rows, shows progress; *done counts the rows that are written. At most as
 * many threads draw as the session has. */
hb_status hb_row_stream_run(hb_session *session, const hb_row_stream *stream, uint64_t *done);
