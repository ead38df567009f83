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
#include "rows.h"
#include "session_team.h"
#include "study.h"

#include <heatball/ball.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { PLOTTED = 100000, PLOTTED_VALUES = 1 << 24 }; /* draws of a figure, and their numbers */

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
    HB_OPTION_SEED(seed, "1"),
    HB_OPTION(UNSIGNED, "first", "I", first,
              "index of the first draw, to continue where another file ended", .fallback = "0"),
    HB_OPTION(CHOICE, "dtype", NULL, dtype, "numbers in double or in single precision",
              .choices = dtype_names, .fallback = "f64"),
    HB_OPTION_JSON,
    HB_OPTION(TEXT, NULL, "FILE", path, "the file to write, .npy or .csv by its name",
              .letter = 'o', .rules = HB_OPTION_REQUIRED | HB_OPTION_WRITES),
    HB_OPTION(TEXT, "plot", "FILE", plot,
              "draw the ball with its draws, and for kappa the convergence of the mean of a "
              "solution of the heat equation, into this file, .svg, .png or .pdf by its name",
              .rules = HB_OPTION_FIGURE),
    {0}};

static hb_status sample_check(hb_session *session, const sample_values *v)
{
    const uint64_t row_bytes = ((uint64_t)v->dim + 1) * dtype_sizes[v->dtype];
    HB_REFUSE_IF(session, !hb_points_is_table(v->path),
                 "-o is %.200s; the name must end in .npy or .csv", v->path);
    HB_REFUSE_IF(session, v->n > INT64_MAX / row_bytes,
                 "-n is %" PRIu64 "; at --dim %d a file holds at most %" PRIu64 " rows", v->n,
                 v->dim, INT64_MAX / row_bytes);
    HB_REFUSE_IF(session, v->first > UINT64_MAX - v->n,
                 "--first is %" PRIu64 "; with -n %" PRIu64 " it must be at most %" PRIu64,
                 v->first, v->n, UINT64_MAX - v->n);
    return HB_OK;
}

/* z_1 .. z_D, sigma. */
static const char *sample_name(const void *user, int i, char text[HB_ROWS_NAME])
{
    snprintf(text, HB_ROWS_NAME, "z_%d", i + 1);
    return i < ((const sample_values *)user)->dim ? text : "sigma";
}

static hb_status sample_draw_rows(hb_context *context, const sample_values *v, uint64_t first,
                                  size_t n, void *rows)
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

static hb_status sample_draw_piece(void *user, hb_context *context, uint64_t first, size_t n,
                                   void *rows)
{
    const sample_part *part = user;
    return sample_draw_rows(context, part->v, part->v->first + part->first + first, n, rows);
}

static hb_status sample_write_piece(void *user, size_t n, const void *rows)
{
    const sample_part *part = user;
    const sample_values *v = part->v;
    return hb_rows_append(part->writer, v->path, dtype_codes[v->dtype], n, v->dim + 1, rows);
}

static hb_status sample_stream_rows(hb_session *session, sample_part *part, uint64_t *done)
{
    const sample_values *v = part->v;
    hb_context *context = hb_session_context(session);
    const hb_row_stream stream = {.n = part->n,
                                  .row_bytes = ((size_t)v->dim + 1) * dtype_sizes[v->dtype],
                                  .draw = sample_draw_piece,
                                  .write = sample_write_piece,
                                  .user = part};
    double none;
    /* a draw of no rows makes the library check the arguments also when N is 0 */
    hb_status status = sample_draw_rows(context, v, v->first, 0, &none);
    hb_session_count(session, "drawing", "rows");
    if (status == HB_OK) status = hb_row_stream_run(session, &stream, done);
    return hb_context_settle(context, status);
}

/* In a team each rank draws and writes the rows of its own. Rows of a .csv are of different
 * lengths, so that they are drawn twice: first only to be counted. */
static hb_status sample_write_rows(hb_session *session, const sample_values *v, hb_writer *writer,
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
        const hb_status status = sample_stream_rows(session, &own, done);
        bytes = hb_writer_measure(writer, 0);
        if (status != HB_OK) return status;
    }
    HB_TRY(hb_writer_part(writer, bytes));
    return sample_stream_rows(session, &own, done);
}

/* Writes the whole file. The writer has its own context, since it works on other threads. */
static hb_status sample_write_file(hb_session *session, hb_context *writing, const sample_values *v)
{
    hb_writer *writer;
    uint64_t done = 0;
    hb_status status = hb_writer_create(writing, v->path, &writer);
    if (status == HB_OK) {
        status =
            hb_rows_begin(writer, v->path, dtype_codes[v->dtype], v->n, v->dim + 1, sample_name, v);
        if (status == HB_OK) status = sample_write_rows(session, v, writer, &done);
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

static hb_status sample_write(hb_session *session, const sample_values *v)
{
    hb_context *writing = NULL;
    hb_context_settings
        settings; /* of a context for the threads that write; a signal ends it too */
    hb_context_settings_default(sizeof settings, &settings);
    settings.progress = hb_session_stops;
    settings.team = hb_command_team();
    hb_status status = hb_context_create(&settings, &writing);
    if (status == HB_OK) status = sample_write_file(session, writing, v);
    hb_context_destroy(writing);
    return status;
}

/* ---- the figure ----
 *     draws   sigma against z (one dimension) or against |z|, with the boundary
 *                 |z|^2 = 2 D sigma ln(r^2/(4 pi sigma)),  0 < sigma < r^2/(4 pi),  D = dim + lift
 *     mean    of u = exp(a.z - |a|^2 sigma), a = (1, .., 1)/(r sqrt(dim)), over the first n draws:
 *             it solves the heat equation and is 1 at the anchor, so its mean is 1 under kappa.
 *             The band is 1 +- its standard deviation/sqrt(n)
 * A number to reproduce: the widest point of the unit ball in one dimension is |z| = 1/sqrt(2 pi
 * e) = 0.24197. */

enum { SHOWN = 4000, CURVE = 400, MEANS = 200 };

static hb_status figure_add_draws(hb_figure *figure, const sample_values *v, size_t n,
                                  const double *rows, double *x, double *y)
{
    const size_t d = (size_t)v->dim, count = n < SHOWN ? n : SHOWN;
    const double r2 = v->radius * v->radius, top = r2 / (4 * M_PI);
    const double sides = v->dim == 1 ? 2 : 1;
    hb_panel_settings panel =
        hb_study_panel("draws and the boundary of the heat ball", v->dim == 1 ? "z" : "|z|",
                       "backward time {/Symbol s}");
    panel.key = v->dim == 1 ? "center center" : "center left"; /* few draws lie there */
    HB_TRY(hb_figure_panel(figure, &panel));
    for (size_t i = 0; i < count; i++) {
        double square = 0;
        for (size_t j = 0; j < d; j++) square += rows[i * (d + 1) + j] * rows[i * (d + 1) + j];
        x[i] = d == 1 ? rows[2 * i] : sqrt(square);
        y[i] = rows[i * (d + 1) + d];
    }
    HB_TRY(hb_figure_series(figure, HB_STYLE_DOTS, 0, count, "draws", x, y, NULL, NULL));
    for (size_t i = 0; i <= CURVE; i++) {
        const double t = 1 - sides * (double)i / CURVE, fraction = pow(sin(M_PI / 2 * t), 2);
        const double square =
            fraction > 0 ? -2 * (v->dim + v->lift) * top * fraction * log(fraction) : 0;
        x[i] = copysign(sqrt(fmax(square, 0)), t);
        y[i] = top * fraction;
    }
    return hb_figure_series(figure, HB_STYLE_LINE, 1, CURVE + 1, "boundary", x, y, NULL, NULL);
}

static hb_status figure_add_means(hb_figure *figure, const sample_values *v, size_t n,
                                  const double *rows, double *x, double *y)
{
    const size_t d = (size_t)v->dim;
    const double a = 1 / (v->radius * sqrt(v->dim));
    double sum = 0, squares = 0, low[MEANS], high[MEANS];
    size_t m = 0;
    hb_panel_settings panel =
        hb_study_panel("mean of exp(a{/Symbol \\327}z - |a|^2{/Symbol s}), |a| = 1/r",
                       "number of draws", "mean over the first draws");
    panel.log_x = 10;
    HB_TRY(hb_figure_panel(figure, &panel));
    for (size_t i = 0; i < n; i++) {
        double exponent = -rows[i * (d + 1) + d] / (v->radius * v->radius);
        for (size_t j = 0; j < d; j++) exponent += a * rows[i * (d + 1) + j];
        sum += exp(exponent);
        squares += exp(2 * exponent);
        const double count = (double)i + 1, next = pow((double)n, (double)(m + 1) / MEANS);
        if (m >= MEANS || (count < next && i + 1 < n)) continue;
        x[m] = count;
        y[m++] = sum / count;
    }
    const double sd = sqrt(fmax(0, squares / (double)n - sum / (double)n * (sum / (double)n)));
    for (size_t k = 0; k < m; k++) {
        low[k] = 1 - sd / sqrt(x[k]);
        high[k] = 1 + sd / sqrt(x[k]);
    }
    HB_TRY(hb_figure_series(figure, HB_STYLE_BAND, 2, m, "1 ± standard error", x, NULL, low, high));
    return hb_figure_series(figure, HB_STYLE_LINE, 0, m, "mean", x, y, NULL, NULL);
}

static hb_status figure_write(hb_session *session, const sample_values *v, size_t n,
                              const double *rows)
{
    hb_figure *figure = NULL;
    double *x = malloc(2 * (SHOWN + CURVE) * sizeof *x); // (2, SHOWN + CURVE)
    if (!x) return HB_ERROR_MEMORY;
    double *y = x + SHOWN + CURVE;
    const int panels = v->measure == 0 ? 2 : 1;
    hb_status status = hb_figure_create(hb_session_context(session), 1, panels, 0, 0, &figure);
    if (status == HB_OK) status = figure_add_draws(figure, v, n, rows, x, y);
    if (status == HB_OK && v->measure == 0) status = figure_add_means(figure, v, n, rows, x, y);
    status = hb_plot_path_write(figure, status, v->plot);
    free(x);
    return status;
}

/* Up to PLOTTED draws, once more. */
static hb_status figure_draw(hb_session *session, const sample_values *v)
{
    const size_t columns = (size_t)v->dim + 1, fits = 1 + PLOTTED_VALUES / columns;
    const size_t most = fits < PLOTTED ? fits : PLOTTED, n = v->n < most ? (size_t)v->n : most;
    if (!v->plot) return HB_OK;
    HB_REFUSE_IF(session, n == 0, "--plot needs draws; -n is 0");
    double *rows = malloc(n * columns * sizeof *rows); // (n, dim + 1)
    if (!rows) return HB_ERROR_MEMORY;
    hb_status status = hb_ball_sample_rows(hb_session_context(session), measure_codes[v->measure],
                                           v->dim, v->lift, v->seed, v->first, n, v->radius, rows);
    if (status == HB_OK) status = figure_write(session, v, n, rows);
    free(rows);
    return status;
}

static hb_status sample_print_json(const sample_values *v, double seconds)
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
    return hb_report_finish(report, 1);
}

static hb_status run_sample(hb_session *session, const void *values)
{
    const sample_values *v = values;
    HB_TRY(sample_check(session, v));
    HB_TRY(hb_plot_path_check(session, v->plot));
    const double start = hb_session_now();
    hb_status status = sample_write(session, v);
    const double seconds = hb_session_now() - start;
    if (status == HB_OK) status = figure_draw(session, v);
    if (status != HB_OK) return status;
    hb_session_clear(session);
    if (v->json) return sample_print_json(v, seconds);
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
    .examples = {"heatball sample --measure kappa --dim 7 -n 200000 --seed 1 -o k.npy",
                 "heatball sample --measure source --dim 2 --radius 0.5 -n 4 -o s.csv",
                 "heatball sample --measure kappa --dim 7 --radius 1.5 -n 100000 -o k.npy --plot "
                 "heat_ball.png"},
    .options = sample_options,
    .size = sizeof(sample_values),
    .run = run_sample};
