/* heatball sample: exact draws of a heat-ball measure, streamed to a file.
 *
 * Row i is (z_1 .. z_D, sigma) of draw first + i on the ball of radius R: points r z and backward
 * times r^2 sigma. A draw is a function of (measure, dim, lift, radius, seed, index) alone, so the
 * file is the same for every number of threads, and files of --first 0, k, 2k ... put together are
 * one long file.
 *
 * Threads draw pieces of rows and write them in order (row_stream.c): memory does not grow with N.
 * The file is written under a temporary name and renamed at the end, so it is whole or not there.
 * For kappa, |z|^2/(2 sigma) is chi-square with D+2 degrees of freedom: mean 9 for --dim 7. */
#include "commands.h"
#include "plot_path.h"
#include "points.h"
#include "report.h"
#include "row_stream.h"
#include "sample_figure.h"
#include "session_team.h"

#include <heatball/ball.h>
#include <heatball/file.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 24, PLOTTED = 100000, PLOTTED_VALUES = 1 << 24 };

typedef struct sample_values {
    int measure, dim, lift, dtype, json;
    double radius;
    uint64_t n, seed, first;
    const char *path, *plot;
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
              "which measure of the heat ball: the Watson measure |z|^2/(4 sigma^2), the source "
              "measure ln Phi, or the gradient measure |z|/(2 sigma)",
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
              "index of the first draw, to continue where another file ended", .fallback = "0"),
    HB_OPTION(CHOICE, "dtype", NULL, dtype, "numbers in double or in single precision",
              .choices = dtype_names, .fallback = "f64"),
    HB_OPTION_JSON(sample_values, json),
    HB_OPTION(TEXT, NULL, "FILE", path, "the file to write, .npy or .csv by its name",
              .letter = 'o', .rules = HB_OPTION_REQUIRED | HB_OPTION_WRITES),
    HB_OPTION(TEXT, "plot", "FILE", plot,
              "draw the ball with its draws, and for kappa the convergence of the mean of a "
              "solution of the heat equation, into this file, .svg, .png or .pdf by its name",
              .rules = HB_OPTION_FIGURE),
    {0}};

static hb_status check_values(hb_session *session, const sample_values *v)
{
    const uint64_t row_bytes = ((uint64_t)v->dim + 1) * dtype_sizes[v->dtype];
    if (!hb_points_has_extension(v->path, ".npy") && !hb_points_has_extension(v->path, ".csv"))
        return hb_session_refuse(session, "-o is %.200s; the name must end in .npy or .csv",
                                 v->path);
    if (v->n > INT64_MAX / row_bytes)
        return hb_session_refuse(
            session, "-n is %" PRIu64 "; at --dim %d a file holds at most %" PRIu64 " rows", v->n,
            v->dim, INT64_MAX / row_bytes);
    if (v->first > UINT64_MAX - v->n)
        return hb_session_refuse(
            session, "--first is %" PRIu64 "; with -n %" PRIu64 " it must be at most %" PRIu64,
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

/* The part of the rows that this process draws, and where they go. */
typedef struct sample_part {
    const sample_values *v;
    hb_writer *writer;
    uint64_t first, n;
} sample_part;

static hb_status draw_piece(void *user, hb_context *context, uint64_t first, size_t n, void *rows)
{
    const sample_part *part = user;
    return draw_rows(context, part->v, part->v->first + part->first + first, n, rows);
}

static hb_status write_piece(void *user, size_t n, const void *rows)
{
    const sample_part *part = user;
    const hb_dtype dtype = dtype_codes[part->v->dtype];
    const size_t columns = (size_t)part->v->dim + 1;
    if (hb_points_has_extension(part->v->path, ".csv"))
        return hb_writer_csv_rows(part->writer, dtype, n, (int)columns, rows);
    return hb_writer_write(part->writer, n * columns * dtype_sizes[part->v->dtype], rows);
}

static hb_status stream_rows(hb_session *session, sample_part *part, uint64_t *done)
{
    const sample_values *v = part->v;
    hb_context *context = hb_session_context(session);
    const hb_row_stream stream = {.n = part->n,
                                  .row_bytes = ((size_t)v->dim + 1) * dtype_sizes[v->dtype],
                                  .draw = draw_piece,
                                  .write = write_piece,
                                  .user = part};
    double none;
    /* a draw of no rows makes the library check the arguments also when N is 0 */
    hb_status status = draw_rows(context, v, v->first, 0, &none);
    hb_session_count(session, "drawing", "rows");
    if (status == HB_OK) status = hb_row_stream_run(session, &stream, done);
    return hb_context_settle(context, status);
}

/* In a team each rank draws and writes the rows of its own. Rows of a .csv are of different lengths, so that they
 * are drawn twice: first only to be counted. */
static hb_status write_rows(hb_session *session, const sample_values *v, hb_writer *writer,
                            uint64_t *done)
{
    const hb_context *context = hb_session_context(session);
    const uint64_t ranks = (uint64_t)hb_context_ranks(context),
                   rank = (uint64_t)hb_context_rank(context);
    const uint64_t more = rank < v->n % ranks ? rank : v->n % ranks;
    sample_part own = {v, writer, v->n / ranks * rank + more, v->n / ranks + (rank < v->n % ranks)};
    uint64_t bytes = own.n * ((uint64_t)v->dim + 1) * dtype_sizes[v->dtype];
    if (ranks > 1 && hb_points_has_extension(v->path, ".csv")) {
        hb_writer_measure(writer, 1);
        const hb_status status = stream_rows(session, &own, done);
        bytes = hb_writer_measure(writer, 0);
        if (status != HB_OK) return status;
    }
    HB_TRY(hb_writer_part(writer, bytes));
    return stream_rows(session, &own, done);
}

/* Writes the whole file. The writer has its own context, since it works on other threads. */
static hb_status write_file(hb_session *session, hb_context *writing, const sample_values *v)
{
    hb_writer *writer;
    uint64_t done = 0;
    hb_status status = hb_writer_create(writing, v->path, &writer);
    if (status == HB_OK) {
        status = write_header(writer, v);
        if (status == HB_OK) status = write_rows(session, v, writer, &done);
        status = hb_writer_close(writer, status);
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
    hb_context *writing = NULL;
    hb_context_settings
        settings; /* of a context for the threads that write; a signal ends it too */
    hb_context_settings_default(sizeof settings, &settings);
    settings.progress = hb_session_stops;
    settings.team = hb_command_team();
    hb_status status = hb_context_create(&settings, &writing);
    if (status == HB_OK) status = write_file(session, writing, v);
    hb_context_destroy(writing);
    return status;
}

/* Up to PLOTTED draws, once more. */
static hb_status draw_figure(hb_session *session, const sample_values *v)
{
    const size_t columns = (size_t)v->dim + 1, fits = 1 + PLOTTED_VALUES / columns;
    const size_t most = fits < PLOTTED ? fits : PLOTTED, n = v->n < most ? (size_t)v->n : most;
    if (!v->plot) return HB_OK;
    if (n == 0) return hb_session_refuse(session, "--plot needs draws; -n is 0");
    double *rows = malloc(n * columns * sizeof *rows); // (n, dim + 1)
    if (!rows) return HB_ERROR_MEMORY;
    const hb_sample_figure figure = {v->dim, v->lift, v->measure == 0, v->radius};
    hb_status status = hb_ball_sample_rows(hb_session_context(session), measure_codes[v->measure],
                                           v->dim, v->lift, v->seed, v->first, n, v->radius, rows);
    if (status == HB_OK) status = hb_sample_figure_write(session, &figure, n, rows, v->plot);
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
    HB_TRY(hb_plot_path_check(session, v->plot));
    const double start = hb_session_clock();
    hb_status status = write_sample(session, v);
    const double seconds = hb_session_clock() - start;
    if (status == HB_OK) status = draw_figure(session, v);
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
    .text = "Draws N independent points of a heat-ball measure, exactly, and writes them as rows "
            "z_1 .. z_D, sigma: points and backward times, already scaled by the radius. The "
            "result depends on the options alone, not on the number of threads; draws 0 .. N-1 are "
            "the same in one file or in several with --first. Memory does not grow with N. The "
            "file appears whole or not at all.",
    .example = "heatball sample --measure kappa --dim 7 -n 200000 --seed 1 -o k.npy",
    .options = sample_options,
    .size = sizeof(sample_values),
    .run = run_sample};
