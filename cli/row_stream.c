/* Rows from several threads into one file.
 *
 * Every worker takes the next piece of rows, draws it into its own buffer of PIECE_BYTES, waits
 * until the piece before is written, and writes its own. So all threads draw, one of them writes
 * at any moment, and a run takes
 *
 *     max(W, (D + W)/workers),    D, W: seconds of drawing and of writing everything on one thread.
 *
 * A piece stays in the core's own cache between drawing and writing. No thread waits for the
 * others by turning round, as the threads of a parallel loop do, and none takes a core from
 * another: a loop of two threads beside a third that wrote took two to three times the processor
 * time of one on two cores, and longer.
 *
 * At most `threads` workers draw at once; when there is one core more, one worker more lets
 * writing overlap with drawing. Memory: workers x PIECE_BYTES (or one row), whatever n is. */
#include "row_stream.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE_BYTES = 1 << 20, MESSAGE = 512 };

typedef struct stream_state {
    hb_session *session;
    const hb_row_stream *stream;
    size_t piece;           /* rows of a piece */
    int threads;            /* that may draw at once */
    pthread_mutex_t lock;   /* of all below */
    pthread_cond_t changed; /* any of them */
    uint64_t next;          /* first row that nobody has taken */
    uint64_t written;       /* rows that are in the file: whose piece begins here writes */
    int drawing;            /* workers that draw */
    hb_status status;       /* of the first failure */
    char message[MESSAGE];  /* of a draw that failed */
} stream_state;

typedef struct stream_worker {
    stream_state *state;
    hb_context *context;
    void *rows; // (piece, row_bytes)
    pthread_t thread;
    int running;
} stream_worker;

static int stream_is_over(const stream_state *s)
{
    return s->status != HB_OK || s->next >= s->stream->n;
}

/* The functions below hold the lock, but while they draw or write. */

static void stream_keep_failure(stream_state *s, hb_status status, const char *message)
{
    if (s->status != HB_OK || status == HB_OK) return;
    s->status = status;
    snprintf(s->message, sizeof s->message, "%s", message);
}

static void stream_draw_piece(stream_worker *w, uint64_t first, size_t count)
{
    stream_state *s = w->state;
    s->drawing++;
    pthread_mutex_unlock(&s->lock);
    const hb_status status = s->stream->draw(s->stream->user, w->context, first, count, w->rows);
    pthread_mutex_lock(&s->lock);
    s->drawing--;
    stream_keep_failure(s, status, hb_context_message(w->context));
    pthread_cond_broadcast(&s->changed);
}

static void stream_write_piece(stream_worker *w, size_t count)
{
    stream_state *s = w->state;
    pthread_mutex_unlock(&s->lock);
    hb_status status = s->stream->write(s->stream->user, count, w->rows);
    pthread_mutex_lock(&s->lock);
    if (status == HB_OK) {
        s->written += count;
        status = hb_session_progress(s->session, (double)s->written, (double)s->stream->n);
    }
    stream_keep_failure(s, status, "");
    pthread_cond_broadcast(&s->changed);
}

static void *stream_work(void *user)
{
    stream_worker *w = user;
    stream_state *s = w->state;
    pthread_mutex_lock(&s->lock);
    while (!stream_is_over(s)) {
        if (s->drawing >= s->threads) {
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        const uint64_t first = s->next, left = s->stream->n - first;
        const size_t count = left < s->piece ? (size_t)left : s->piece;
        s->next += count;
        stream_draw_piece(w, first, count);
        while (s->status == HB_OK && s->written != first) pthread_cond_wait(&s->changed, &s->lock);
        if (s->status == HB_OK) stream_write_piece(w, count);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static int stream_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static int stream_count_workers(const stream_state *s)
{
    const uint64_t pieces = (s->stream->n + s->piece - 1) / s->piece;
    const int workers = s->threads < stream_cores() ? s->threads + 1 : s->threads;
    return pieces < (uint64_t)workers ? (int)pieces : workers;
}

static hb_status stream_open_worker(stream_worker *w, stream_state *state)
{
    w->state = state;
    w->rows = malloc(state->piece * state->stream->row_bytes);
    return w->rows ? hb_session_worker(state->session, &w->context) : HB_ERROR_MEMORY;
}

static void stream_close_worker(stream_worker *w)
{
    if (w->running) pthread_join(w->thread, NULL);
    hb_context_destroy(w->context);
    free(w->rows);
}

/* This thread is the first worker; those that cannot be had are done without. */
static hb_status stream_run_workers(stream_state *state, stream_worker *workers, int n)
{
    hb_status status = stream_open_worker(&workers[0], state);
    for (int i = 1; status == HB_OK && i < n; i++)
        workers[i].running =
            stream_open_worker(&workers[i], state) == HB_OK &&
            pthread_create(&workers[i].thread, NULL, stream_work, &workers[i]) == 0;
    if (status == HB_OK) stream_work(&workers[0]);
    for (int i = 0; i < n; i++) stream_close_worker(&workers[i]);
    return status == HB_OK ? state->status : status;
}

hb_status hb_row_stream_run(hb_session *session, const hb_row_stream *stream, uint64_t *done)
{
    stream_state state = {.session = session,
                          .stream = stream,
                          .piece = PIECE_BYTES / stream->row_bytes,
                          .threads = hb_context_threads(hb_session_context(session)),
                          .lock = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER};
    if (state.piece < 1) state.piece = 1;
    *done = 0;
    if (stream->n == 0) return HB_OK;
    if (state.piece > stream->n) state.piece = (size_t)stream->n;
    const int n = stream_count_workers(&state);
    stream_worker *workers = calloc((size_t)n, sizeof *workers);
    if (!workers) return HB_ERROR_MEMORY;
    const hb_status status = stream_run_workers(&state, workers, n);
    free(workers);
    *done = state.written;
    if (state.message[0]) return hb_session_fail(session, status, "%s", state.message);
    return status;
}
