/* heatball sample: exact draws of a heat-ball measure, streamed to a file.
 *
 * Row i is (z_1 .. z_D, sigma) of draw first + i on the ball of radius R: points r z and backward
 * times r^2 sigma. A draw is a function of (measure, dim, lift, radius, seed, index) alone, so the
 * file is the same for every number of threads, and files of --first 0, k, 2k ... put together are
 * one long file.
 *
 * Rows are drawn into one of two buffers of BUFFER_BYTES: memory does not grow with N. When the
 * threads that draw leave a core free, another thread writes the other buffer meanwhile, and the run
 * takes the time of the slower of the two; without a free core that thread would only disturb them.
 * The file is written under a temporary name and renamed at the end, so it is whole or not there.
 * For kappa, |z|^2/(2 sigma) is chi-square with D+2 degrees of freedom: mean 9 for --dim 7. */
#include "commands.h"
#include "points.h"
#include "report.h"
#include "session_team.h"

#include <heatball/ball.h>
#include <heatball/file.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 4 << 20, LEAST_ROWS = 2, NAME = 24 };

typedef struct sample_values {
    int measure, dim, lift, dtype, json;
    double radius;
    uint64_t n, seed, first;
    const char *path;
} sample_values;

static const char *const measure_names[] = {"kappa", "source", "gradient", NULL};
static const hb_measure measure_codes[] = {HB_MEASURE_KAPPA, HB_MEASURE_SOURCE,
                                           HB_MEASURE_GRADIENT};
static const char *const dtype_names[] = {"f64", "f32", NULL};
static const hb_dtype dtype_codes[] = {HB_DTYPE_F64, HB_DTYPE_F32};
static const size_t dtype_sizes[] = {sizeof(double), sizeof(float)};

#define VALUES sample_values
static const hb_option sample_options[] = {
    HB_OPTION(CHOICE, "measure", NULL, measure,
              "which measure of the heat ball: the Watson measure |z|^2/(4 sigma^2), "
              "the source measure ln Phi, or the gradient measure |z|/(2 sigma)",
              .choices = measure_names, .rules = HB_OPTION_REQUIRED),
    HB_OPTION(INTEGER, "dim", "D", dim, "dimension of the points", .min = 1, .max = HB_MAX_DIM,
              .rules = HB_OPTION_REQUIRED),
    HB_OPTION(INTEGER, "lift", "M", lift,
              "draw from the ball in D+M dimensions and keep the first D coordinates",
              .max = HB_MAX_DIM, .fallback = "0"),
    HB_OPTION(REAL, "radius", "R", radius,
              "radius of the ball; points scale with R, times with R^2", .max = INFINITY,
              .rules = HB_OPTION_ABOVE, .fallback = "1"),
    HB_OPTION(UNSIGNED, NULL, "N", n, "number of rows", .letter = 'n', .rules = HB_OPTION_REQUIRED),
    HB_OPTION_SEED(sample_values, seed, "1"),
    HB_OPTION(UNSIGNED, "first", "I", first,
              "index of the first draw, to go on where another file ended", .fallback = "0"),
    HB_OPTION(CHOICE, "dtype", NULL, dtype, "numbers in double or in single precision",
              .choices = dtype_names, .fallback = "f64"),
    HB_OPTION_JSON(sample_values, json),
    HB_OPTION(TEXT, NULL, "FILE", path, "the file to write, .npy or .csv by its name",
              .letter = 'o', .rules = HB_OPTION_REQUIRED | HB_OPTION_WRITES),
    {0}};

static hb_status check_values(hb_session *session, const sample_values *v)
{
    const uint64_t row_bytes = ((uint64_t)v->dim + 1) * dtype_sizes[v->dtype];
    if (!hb_points_has_extension(v->path, ".npy") && !hb_points_has_extension(v->path, ".csv"))
        return hb_session_fail(session, HB_ERROR_ARGUMENT,
                               "-o is %.200s; the name must end in .npy or .csv", v->path);
    if (v->n > INT64_MAX / row_bytes)
        return hb_session_fail(session, HB_ERROR_ARGUMENT,
                               "-n is %" PRIu64 "; at --dim %d a file holds at most %" PRIu64
                               " rows",
                               v->n, v->dim, INT64_MAX / row_bytes);
    if (v->first > UINT64_MAX - v->n)
        return hb_session_fail(session, HB_ERROR_ARGUMENT,
                               "--first is %" PRIu64 "; with -n %" PRIu64
                               " it must be at most %" PRIu64,
                               v->first, v->n, UINT64_MAX - v->n);
    return HB_OK;
}

/* The column names z_1 .. z_D, sigma; one allocation holds the pointers and the text. */
static hb_status write_csv_header(hb_writer *writer, int dim)
{
    const size_t n = (size_t)dim + 1;
    const char **names = malloc(n * (sizeof *names + NAME));
    if (!names) return HB_ERROR_MEMORY;
    char *text = (char *)(names + n);
    for (size_t i = 0; i < n; i++, text += NAME) {
        names[i] = text;
        if (i + 1 < n)
            snprintf(text, NAME, "z_%zu", i + 1);
        else
            snprintf(text, NAME, "sigma");
    }
    hb_status status = hb_writer_csv_header(writer, (int)n, names);
    free(names);
    return status;
}

static hb_status write_header(hb_writer *writer, const sample_values *v)
{
    const uint64_t shape[] = {v->n, (uint64_t)v->dim + 1};
    if (hb_points_has_extension(v->path, ".csv")) {
        const hb_status status =
            hb_writer_csv_begin(writer, dtype_codes[v->dtype], v->n, v->dim + 1);
        return status == HB_OK ? write_csv_header(writer, v->dim) : status;
    }
    return hb_writer_npy_begin(writer, dtype_codes[v->dtype], 2, shape);
}

static hb_status draw_rows(hb_context *context, const sample_values *v, uint64_t first, size_t n,
                           void *rows)
{
    const hb_measure measure = measure_codes[v->measure];
    if (dtype_codes[v->dtype] == HB_DTYPE_F32)
        return hb_ball_sample_rows_f32(context, measure, v->dim, v->lift, v->seed, first, n,
                                       v->radius, rows);
    return hb_ball_sample_rows(context, measure, v->dim, v->lift, v->seed, first, n, v->radius,
                               rows);
}

typedef struct row_range {
    uint64_t first, n;
} row_range;

/* A buffer of rows and, while it is being written, the thread that writes it. */
typedef struct block {
    const sample_values *v;
    hb_writer *writer;
    size_t n;
    void *rows; // (n, dim + 1)
    hb_status status;
    int own_thread; /* write on another thread */
    int running;
    pthread_t thread;
} block;

static void *write_block(void *user)
{
    block *b = user;
    const size_t columns = (size_t)b->v->dim + 1;
    if (hb_points_has_extension(b->v->path, ".csv"))
        b->status =
            hb_writer_csv_rows(b->writer, dtype_codes[b->v->dtype], b->n, (int)columns, b->rows);
    else
        b->status = hb_writer_write(b->writer, b->n * columns * dtype_sizes[b->v->dtype], b->rows);
    return NULL;
}

/* Writing overlaps with drawing wherever there is a second core, whatever --threads says: a thread
 * that copies into the page cache leaves the others' caches alone. */
static int has_second_core(void)
{
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 1;
}

static void start_writing(block *b)
{
    b->running = b->own_thread && pthread_create(&b->thread, NULL, write_block, b) == 0;
    if (!b->running) write_block(b);
}

static hb_status finish_writing(block *b)
{
    if (b->running) pthread_join(b->thread, NULL);
    b->running = 0;
    return b->status;
}

/* Draws all rows, block by block; the block before is written meanwhile. *done counts the rows. */
static hb_status stream_rows(hb_session *session, const sample_values *v, const row_range *own,
                             size_t chunk, block blocks[2], uint64_t *done)
{
    hb_context *context = hb_session_context(session);
    int turn = 0;
    /* a draw of no rows makes the library check the arguments also when N is 0 */
    hb_status status = draw_rows(context, v, v->first, 0, blocks[0].rows);
    hb_session_count(session, "drawing", "rows");
    *done = 0;
    while (status == HB_OK && *done < own->n) {
        block *b = &blocks[turn];
        b->n = own->n - *done < chunk ? (size_t)(own->n - *done) : chunk;
        status = draw_rows(context, v, v->first + own->first + *done, b->n, b->rows);
        if (status == HB_OK) status = finish_writing(&blocks[!turn]);
        if (status != HB_OK) break;
        start_writing(b);
        *done += b->n;
        turn = !turn;
        status = hb_session_progress(session, (double)*done, (double)own->n);
    }
    for (int i = 0; i < 2; i++) {
        const hb_status written = finish_writing(&blocks[i]);
        if (status == HB_OK) status = written;
    }
    return hb_context_settle(context, status);
}

/* In a team each rank draws and writes the rows of its own. Rows of a .csv are of different lengths, so that they
 * are drawn twice: first only to be counted. */
static hb_status write_rows(hb_session *session, const sample_values *v, hb_writer *writer,
                            size_t chunk, block blocks[2], uint64_t *done)
{
    const hb_context *context = hb_session_context(session);
    const uint64_t ranks = (uint64_t)hb_context_ranks(context),
                   rank = (uint64_t)hb_context_rank(context);
    const uint64_t more = rank < v->n % ranks ? rank : v->n % ranks;
    const row_range own = {v->n / ranks * rank + more, v->n / ranks + (rank < v->n % ranks)};
    uint64_t bytes = own.n * ((uint64_t)v->dim + 1) * dtype_sizes[v->dtype];
    if (ranks > 1 && hb_points_has_extension(v->path, ".csv")) {
        hb_writer_measure(writer, 1);
        const hb_status status = stream_rows(session, v, &own, chunk, blocks, done);
        bytes = hb_writer_measure(writer, 0);
        if (status != HB_OK) return status;
    }
    HB_TRY(hb_writer_part(writer, bytes));
    return stream_rows(session, v, &own, chunk, blocks, done);
}

/* Writes the whole file. The writer has its own context, since it works on another thread. */
static hb_status write_file(hb_session *session, hb_context *writing, const sample_values *v,
                            size_t chunk, void *rows)
{
    hb_writer *writer;
    uint64_t done = 0;
    hb_status status = hb_writer_create(writing, v->path, &writer);
    if (status == HB_OK) {
        const size_t half = chunk * ((size_t)v->dim + 1) * dtype_sizes[v->dtype];
        const int own_thread = has_second_core();
        block blocks[2] = {{v, writer, .rows = rows, .own_thread = own_thread},
                           {v, writer, .rows = (char *)rows + half, .own_thread = own_thread}};
        status = write_header(writer, v);
        if (status == HB_OK) status = write_rows(session, v, writer, chunk, blocks, &done);
        if (status == HB_OK)
            status = hb_writer_commit(writer);
        else
            hb_writer_abort(writer);
    }
    if (status == HB_ERROR_INTERRUPTED)
        return hb_session_fail(session, status,
                               "interrupted after %" PRIu64 " of %" PRIu64
                               " rows; %.200s is not written",
                               done, v->n, v->path);
    if (status != HB_OK && hb_context_message(writing)[0])
        return hb_session_fail(session, status, "%s", hb_context_message(writing));
    return status;
}

static hb_status write_sample(hb_session *session, const sample_values *v)
{
    const size_t row_bytes = ((size_t)v->dim + 1) * dtype_sizes[v->dtype];
    size_t chunk = BUFFER_BYTES / row_bytes;
    if (chunk < LEAST_ROWS) chunk = LEAST_ROWS;
    if (chunk > v->n) chunk = v->n ? (size_t)v->n : 1;
    hb_context *writing = NULL;
    hb_context_settings
        settings; /* of a context for the thread that writes; a signal ends it too */
    hb_context_settings_default(sizeof settings, &settings);
    settings.progress = hb_session_stops;
    settings.team = hb_command_team();
    void *rows = malloc(2 * chunk * row_bytes); // (2, chunk, dim + 1)
    hb_status status = rows ? hb_context_create(&settings, &writing) : HB_ERROR_MEMORY;
    if (status == HB_OK) status = write_file(session, writing, v, chunk, rows);
    hb_context_destroy(writing);
    free(rows);
    return status;
}

static hb_status print_json(const sample_values *v, double seconds)
{
    hb_report *report = hb_report_create();
    hb_report_text(report, "file", v->path, "");
    hb_report_unsigned(report, "rows", v->n, "");
    hb_report_integer(report, "columns", v->dim + 1, "");
    hb_report_text(report, "dtype", dtype_names[v->dtype], "");
    hb_report_text(report, "measure", measure_names[v->measure], "");
    hb_report_integer(report, "dim", v->dim, "");
    hb_report_integer(report, "lift", v->lift, "");
    hb_report_real(report, "radius", v->radius, "");
    hb_report_unsigned(report, "seed", v->seed, "");
    hb_report_unsigned(report, "first", v->first, "");
    hb_report_real(report, "seconds", seconds, "");
    hb_report_real(report, "rows_per_second", (double)v->n / seconds, "");
    hb_status status = hb_report_print(report, 1, stdout);
    hb_report_destroy(report);
    return status;
}

static hb_status run_sample(hb_session *session, const void *values)
{
    const sample_values *v = values;
    HB_TRY(check_values(session, v));
    const double start = hb_session_clock();
    hb_status status = write_sample(session, v);
    const double seconds = hb_session_clock() - start;
    if (status != HB_OK) return status;
    hb_session_clear(session);
    if (v->json) return print_json(v, seconds);
    if (hb_session_quiet(session)) return HB_OK;
    printf("%s: %" PRIu64 " rows of %s, dimension %d, seed %" PRIu64 ", %.3g s, %s rows/s\n",
           v->path, v->n, measure_names[v->measure], v->dim, v->seed, seconds,
           hb_report_quantity((double)v->n / seconds).text);
    return HB_OK;
}

const hb_command hb_command_sample = {
    .name = "sample",
    .summary = "draw points of a heat-ball measure into a .npy or .csv file",
    .text =
        "Draws N independent points of a heat-ball measure, exactly, and writes them as rows "
        "z_1 .. z_D, sigma: points and backward times, already scaled by the radius. The result "
        "depends on the options alone, not on the number of threads; draws 0 .. N-1 are the same "
        "in one file or in several with --first. Memory does not grow with N. The file appears "
        "whole or not at all.",
    .example = "heatball sample --measure kappa --dim 7 -n 200000 --seed 1 -o k.npy",
    .options = sample_options,
    .size = sizeof(sample_values),
    .run = run_sample};
