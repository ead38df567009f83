/* The state of a sampling in a file, so that it can be resumed.
 *
 * A .npy file (float64, C order) of 1 + runs*n rows and 4 + 2 hb_accumulator_size(dim) columns. Row
 * 0:
 *     MAGIC, VERSION, fingerprint (high, low 32 bits), check (the same), dim, n, runs, then zeros
 * Row 1 + r n + i, for run r and point i:
 *     first round, rounds done, chosen (0 or 1), samples per round, both accumulators.
 * The check is the sum of base/checksum.h over the header and all rows, with zeros in its own
 * place. The fingerprint is such a sum of all that determines the rounds: points, seed, method,
 * radius, lift and user's paths, bit by bit; tau, the drift and the initial density by values at
 * fixed places with nine digits, so that it does not depend on the instruction set; and the
 * estimators' notes, which tell what they chose. The sum of "a" is af63dc4c8601ec8c. */
#include "base/checksum.h"
#include "base/context.h"
#include "base/memory.h"
#include "file/table.h"
#include "problem/noise.h"
#include "sampling/sampling.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMN_FIRST, COLUMN_ROUNDS, COLUMN_CHOSEN, COLUMN_SIZE, N_LEADING };
enum { HEAD_MAGIC, HEAD_VERSION, HEAD_PRINT, HEAD_CHECK = 4, HEAD_DIM = 6, HEAD_N, HEAD_RUNS };
enum { N_PROBES = 16 };

static const double MAGIC = 1752130932, VERSION = 3; /* "hot4" as a number */
static const double MOST_COUNT = 9007199254740992;   /* 2^53: counts above are no whole numbers */

static size_t state_width_of(const hb_sampling *s)
{
    return N_LEADING + 2 * hb_accumulator_size(s->dim);
}

/* ---- the fingerprint ---- */

/* Numbers that were computed: only nine digits of them. */
static uint64_t sum_values(uint64_t hash, size_t n, const double *values)
{
    char text[40];
    for (size_t i = 0; i < n; i++) {
        const int length = snprintf(text, sizeof text, "%.8e ", values[i] == 0 ? 0 : values[i]);
        hash = hb_checksum(hash, text, (size_t)length);
    }
    return hash;
}

static uint64_t sum_settings(uint64_t hash, const hb_sampling_settings *s, int dim)
{
    hash = hb_checksum(hash, &s->seed, sizeof s->seed);
    hash = hb_checksum(hash, &s->radius, sizeof s->radius);
    hash = hb_checksum(hash, &s->lift, sizeof s->lift);
    if (!s->paths) return hash;
    hash = hb_checksum(hash, s->path_times, s->n_times * sizeof(double));
    return hb_checksum(hash, s->paths, s->n_paths * s->n_times * (size_t)dim * sizeof(double));
}

/* A noise that is a matrix, at three times. */
static uint64_t sum_noise(uint64_t hash, const hb_solve_task *task, double tau)
{
    const hb_problem *problem = task->problem;
    const size_t size = (size_t)hb_problem_dim(problem) * (size_t)hb_problem_noise_columns(problem);
    void *memory;
    if (hb_problem_noise_kind(problem) != HB_NOISE_MATRIX) return hash;
    if (hb_allocate(task->context, size, sizeof(double), &memory) != HB_OK) return hash;
    for (int k = 0; k < 3; k++)
        if (hb_problem_noise_factor(task->context, problem, 1, NULL, tau * k / 2, memory) == HB_OK)
            hash = sum_values(hash, size, memory);
    hb_release(task->context, memory);
    return hash;
}

/* The drift at three times and the initial density, at the rows of x. What fails, fails always. */
static uint64_t sum_problem(uint64_t hash, const hb_solve_task *task, double tau, size_t n, int dim,
                            const double *x, double *work)
{
    const size_t d = (size_t)dim;
    for (int k = 0; k < 3; k++) {
        memset(work, 0, n * d * sizeof *work);
        const hb_status status = hb_problem_drift(task->context, task->problem, n, x, tau * k / 2,
                                                  work, NULL, NULL, NULL);
        hash = status == HB_OK ? sum_values(hash, n * d, work) : hb_checksum(hash, "none", 4);
    }
    if (hb_problem_initial(task->context, task->problem, n, x, work, NULL) == HB_OK)
        hash = sum_values(hash, n, work);
    return hash;
}

hb_status hb_sampling_fingerprint(const hb_solve_task *task, double tau, hb_sampling *s)
{
    const size_t d = (size_t)s->dim, n = s->n < N_PROBES ? s->n : N_PROBES;
    void *memory;
    HB_TRY(hb_allocate(s->context, 2 * N_PROBES * d, sizeof(double), &memory));
    double *x = memory, *work = x + N_PROBES * d; // (N_PROBES, d) each
    uint64_t hash =
        hb_checksum(HB_CHECKSUM_START, &task->settings->method, sizeof task->settings->method);
    hash = hb_checksum(hash, &s->n, sizeof s->n);
    hash = hb_checksum(hash, task->points, s->n * d * sizeof(double));
    hash = sum_values(hash, 1, &tau);
    hash = sum_noise(hash, task, tau);
    hash = sum_settings(hash, s->settings, s->dim);
    for (int r = 0; r < s->n_runs; r++) {
        const hb_estimator *e = &s->runs[r].estimator;
        hash = hb_checksum(hash, e->name, strlen(e->name));
        hash = hb_checksum(hash, e->note, strlen(e->note)); /* what it chose: kernels, the step */
        if (!e->resize)
            hash = hb_checksum(hash, &e->samples_per_round, sizeof e->samples_per_round);
        hash = sum_values(hash, s->n, e->log_scale);
    }
    hash = sum_problem(hash, task, tau, n, s->dim, task->points, work);
    if (hb_problem_initial_sample(s->context, task->problem, 1, 0, N_PROBES, x) == HB_OK)
        hash = sum_problem(hash, task, tau, N_PROBES, s->dim, x, work);
    s->fingerprint = hash;
    hb_release(s->context, memory);
    return HB_OK;
}

/* ---- writing ---- */

static void state_split(uint64_t word, double *high, double *low)
{
    *high = (double)(word >> 32);
    *low = (double)(word & 0xffffffffu);
}

/* The check of a table, whose own place in row 0 is cleared. */
static uint64_t check_of(const uint64_t *shape, double *table)
{
    char header[HB_NPY_HEADER];
    const size_t length = hb_npy_header(HB_DTYPE_F64, 2, shape, header);
    table[HEAD_CHECK] = table[HEAD_CHECK + 1] = 0;
    return hb_checksum(hb_checksum(HB_CHECKSUM_START, header, length), table,
                       shape[0] * shape[1] * sizeof *table);
}

static void state_fill_table(const hb_sampling *s, const uint64_t *shape, double *table)
{
    const size_t size = hb_accumulator_size(s->dim);
    double *row = memset(table, 0, shape[1] * sizeof *table);
    row[HEAD_MAGIC] = MAGIC;
    row[HEAD_VERSION] = VERSION;
    state_split(s->fingerprint, &row[HEAD_PRINT], &row[HEAD_PRINT + 1]);
    row[HEAD_DIM] = s->dim;
    row[HEAD_N] = (double)s->n;
    row[HEAD_RUNS] = s->n_runs;
    for (int r = 0; r < s->n_runs; r++)
        for (size_t i = 0; i < s->n; i++) {
            const hb_sampling_run *run = &s->runs[r];
            row += shape[1];
            row[COLUMN_FIRST] = (double)run->first;
            row[COLUMN_ROUNDS] = (double)run->rounds[i];
            row[COLUMN_CHOSEN] = run->chosen[i];
            row[COLUMN_SIZE] = (double)run->estimator.samples_per_round;
            memcpy(row + N_LEADING, run->accumulators + i * size, size * sizeof *row);
            memcpy(row + N_LEADING + size, run->diagnostic + i * size, size * sizeof *row);
        }
    state_split(check_of(shape, table), &table[HEAD_CHECK], &table[HEAD_CHECK + 1]);
}

static hb_status write_table(hb_writer *writer, const uint64_t *shape, const double *table)
{
    HB_TRY(hb_writer_npy_begin(writer, HB_DTYPE_F64, 2, shape));
    return hb_writer_write(writer, shape[0] * shape[1] * sizeof *table, table);
}

hb_status hb_sampling_save(hb_sampling *s)
{
    const uint64_t shape[] = {1 + (uint64_t)s->n_runs * s->n, state_width_of(s)};
    void *table;
    hb_writer *writer;
    HB_TRY(hb_allocate(s->context, shape[0] * shape[1], sizeof(double), &table));
    state_fill_table(s, shape, table);
    hb_status status = hb_writer_create(s->context, s->settings->state, &writer);
    if (status == HB_OK) status = hb_writer_close(writer, write_table(writer, shape, table));
    hb_release(s->context, table);
    s->saved = hb_seconds();
    return status;
}

/* ---- reading ---- */

/* The header is the one that was written, and nothing follows the values. */
static int state_is_whole(FILE *file, const uint64_t *shape)
{
    char header[HB_NPY_HEADER], there[HB_NPY_HEADER];
    const size_t length = hb_npy_header(HB_DTYPE_F64, 2, shape, header);
    if (fgetc(file) != EOF || fseek(file, 0, SEEK_SET) != 0) return 0;
    return fread(there, 1, length, file) == length && memcmp(there, header, length) == 0;
}

static hb_status read_table(hb_context *context, const char *path, uint64_t *shape, double **values,
                            int *found)
{
    int n_axes = 0, whole = 0;
    FILE *file = fopen(path, "rb");
    *found = file != NULL;
    *values = NULL;
    if (!file && errno == ENOENT) return HB_OK;
    HB_CHECK(context, file, HB_ERROR_PATH, "cannot open the state file %s: %s", path,
             strerror(errno));
    const hb_status status = hb_npy_read(context, path, file, &n_axes, shape, values);
    const int table = status == HB_OK && n_axes == 2 && shape[0] > 0 && shape[1] > HEAD_RUNS;
    const int state = table && (*values)[HEAD_MAGIC] == MAGIC;
    if (state) whole = state_is_whole(file, shape);
    fclose(file);
    if (state && whole) return HB_OK;
    if (status == HB_ERROR_MEMORY || status == HB_ERROR_FILE) return status;
    char reason[sizeof context->message] = "it holds something else";
    if (state)
        snprintf(reason, sizeof reason, "its header is damaged, or more follows its numbers");
    if (status != HB_OK) snprintf(reason, sizeof reason, "%s", context->message);
    hb_release(context, *values);
    *values = NULL;
    return hb_fail(context, HB_ERROR_FORMAT, "%.200s is not the state of a sampling: %.250s", path,
                   reason);
}

hb_status hb_sampling_check_path(hb_context *context, const char *path)
{
    uint64_t shape[HB_TABLE_AXES];
    double *values;
    int found;
    HB_TRY(read_table(context, path, shape, &values, &found));
    hb_release(context, values);
    return HB_OK;
}

static int sums_up(const uint64_t *shape, double *table)
{
    double there[2], here[2];
    memcpy(there, table + HEAD_CHECK, sizeof there);
    state_split(check_of(shape, table), here, here + 1);
    return here[0] == there[0] && here[1] == there[1] && !signbit(there[0]) && !signbit(there[1]);
}

static hb_status check_head(const hb_sampling *s, const uint64_t *shape, double *head)
{
    const char *path = s->settings->state;
    const size_t width = state_width_of(s);
    double high, low;
    HB_CHECK(s->context, head[HEAD_VERSION] == VERSION, HB_ERROR_FORMAT,
             "%s has version %g of the state's format; this program reads version %g", path,
             head[HEAD_VERSION], VERSION);
    HB_CHECK(s->context, sums_up(shape, head), HB_ERROR_FORMAT,
             "%s is damaged: its bytes do not give its check sum", path);
    state_split(s->fingerprint, &high, &low);
    HB_CHECK(s->context, head[HEAD_PRINT] == high && head[HEAD_PRINT + 1] == low, HB_ERROR_ARGUMENT,
             "%s is the state of another run: the problem, the time, the points, the method, its "
             "settings or the seed differ, or the step of the trajectories, which follows the "
             "requested samples and errors",
             path);
    HB_CHECK(s->context,
             shape[1] == width && shape[0] == 1 + (uint64_t)s->n_runs * s->n &&
                 head[HEAD_DIM] == s->dim && head[HEAD_N] == (double)s->n &&
                 head[HEAD_RUNS] == s->n_runs,
             HB_ERROR_FORMAT, "%s is damaged: it has %" PRIu64 " rows of %" PRIu64 " numbers", path,
             shape[0], shape[1]);
    return HB_OK;
}

/* A whole number that a run can have come to. */
static int is_count(double value, double most)
{
    return value >= 0 && value <= fmin(most, MOST_COUNT) && value == floor(value);
}

/* A check sum can be forged: counts that no run writes are refused too. */
static hb_status state_check_rows(const hb_sampling *s, const double *rows)
{
    const size_t width = state_width_of(s);
    for (int r = 0; r < s->n_runs; r++)
        for (size_t i = 0; i < s->n; i++) {
            const double *row = rows + ((size_t)r * s->n + i) * width;
            const double first = row[COLUMN_FIRST], most = (double)s->runs[r].estimator.rounds;
            HB_CHECK(s->context,
                     is_count(first, most) && is_count(row[COLUMN_ROUNDS], most - first) &&
                         is_count(row[COLUMN_CHOSEN], 1) &&
                         first == rows[(size_t)r * s->n * width + COLUMN_FIRST],
                     HB_ERROR_FORMAT, "%s is damaged: no run has the counts of its row %zu",
                     s->settings->state, (size_t)r * s->n + i + 2);
        }
    return HB_OK;
}

/* The rounds of the state, which a limit on the time may have made smaller. */
static hb_status take_sizes(hb_sampling *s, const double *rows)
{
    const size_t width = state_width_of(s);
    for (int r = 0; r < s->n_runs && s->n > 0; r++) {
        hb_estimator *e = &s->runs[r].estimator;
        const double size = rows[(size_t)r * s->n * width + COLUMN_SIZE];
        const int fits =
            is_count(size, MOST_COUNT) &&
            (e->resize ? e->resize(e->self, (uint64_t)size) : (double)e->samples_per_round == size);
        HB_CHECK(s->context, fits, HB_ERROR_FORMAT, "%s is damaged: no run has rounds of %g %s",
                 s->settings->state, size, e->unit);
        e->samples_per_round = (uint64_t)size;
    }
    return HB_OK;
}

static void take_rows(hb_sampling *s, const double *row)
{
    const size_t size = hb_accumulator_size(s->dim);
    for (int r = 0; r < s->n_runs; r++)
        for (size_t i = 0; i < s->n; i++, row += state_width_of(s)) {
            hb_sampling_run *run = &s->runs[r];
            run->first = (uint64_t)row[COLUMN_FIRST];
            run->rounds[i] = (uint64_t)row[COLUMN_ROUNDS];
            run->chosen[i] = row[COLUMN_CHOSEN] != 0;
            memcpy(run->accumulators + i * size, row + N_LEADING, size * sizeof *row);
            memcpy(run->diagnostic + i * size, row + N_LEADING + size, size * sizeof *row);
        }
}

hb_status hb_sampling_load(hb_sampling *s, int *found)
{
    uint64_t shape[HB_TABLE_AXES];
    double *values;
    HB_TRY(read_table(s->context, s->settings->state, shape, &values, found));
    if (!*found) return HB_OK;
    hb_status status = check_head(s, shape, values);
    if (status == HB_OK) status = state_check_rows(s, values + state_width_of(s));
    if (status == HB_OK) status = take_sizes(s, values + state_width_of(s));
    if (status == HB_OK) take_rows(s, values + state_width_of(s));
    hb_release(s->context, values);
    return status;
}
