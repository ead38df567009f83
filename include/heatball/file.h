/* heatball/file.h: files that appear whole or not at all.
 * Second tier: for bindings and tools.
 *
 * A writer collects into PATH.tmp-PID in the same directory; commit flushes it to disk and renames
 * it to PATH, abort removes it. So PATH is either what it was before or the complete new file, also
 * after a full disk or an interrupt. A device or a pipe (/dev/null) is written in place. */
#ifndef HEATBALL_FILE_H
#define HEATBALL_FILE_H

#include <heatball/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_writer hb_writer;

/* HB_ERROR_PATH when the file cannot be created (no such directory, no permission, PATH is a
 * directory or a file that may not be written). */
HB_API hb_status hb_writer_create(hb_context *context, const char *path, hb_writer **out);
/* HB_ERROR_FILE when writing fails (disk full): call abort then. */
HB_API hb_status hb_writer_write(hb_writer *writer, size_t bytes, const void *data);
HB_API hb_status hb_writer_printf(hb_writer *writer, const char *format, ...) HB_PRINTF(2, 3);
/* Announces that at least `bytes` more bytes follow: HB_ERROR_FILE, with both numbers, when the
 * file system has not so many free, before the first is written. */
HB_API hb_status hb_writer_reserve(hb_writer *writer, uint64_t bytes);
/* In a process group (heatball/team.h) rank 0 writes for all. After hb_writer_part each rank writes
 * a part of its own, of so many bytes; the parts follow one another in the order of the ranks. All
 * ranks call it, once, with rank 0's bytes before it written. HB_ERROR_ARGUMENT for a device or a
 * pipe, which have no places. Without a process group it is nothing. */
HB_API hb_status hb_writer_part(hb_writer *writer, uint64_t bytes);
/* 1: bytes are counted and not written until 0, which returns their number and forgets them. */
HB_API uint64_t hb_writer_measure(hb_writer *writer, int on);
/* Both free the writer, whatever they return; both accept NULL. */
HB_API hb_status hb_writer_commit(hb_writer *writer);
HB_API void hb_writer_abort(hb_writer *writer);
/* After a loop that writes: commits when status is HB_OK; else aborts, and returns status. */
HB_API hb_status hb_writer_close(hb_writer *writer, hb_status status);

typedef enum hb_dtype { HB_DTYPE_F64, HB_DTYPE_F32 } hb_dtype;

/* Starts a .npy file (format 1.0, little-endian, C order) of the given shape; then append exactly
 * that many values with hb_writer_write in the dtype's own size and commit, which returns
 * HB_ERROR_ARGUMENT and leaves no file when the count is another. */
HB_API hb_status hb_writer_npy_begin(hb_writer *writer, hb_dtype dtype, int n_axes,
                                     const uint64_t *shape);

/* A .npz file: float64 arrays by name, C order, which numpy.load reads. The values of an array are
 * written at once and need not live longer. A name is letters, digits, '_', '-' and '.', and is
 * given once. After an array that failed, commit fails too and leaves no file. Commit and abort
 * free the handle, whatever they return; both accept NULL. */
typedef struct hb_npz hb_npz;
HB_API hb_status hb_npz_create(hb_context *context, const char *path, hb_npz **out);
HB_API hb_status hb_npz_add(hb_npz *npz, int n_axes, const char *name, const uint64_t *shape,
                            const double *values);
HB_API hb_status hb_npz_commit(hb_npz *npz);
HB_API void hb_npz_abort(hb_npz *npz);

/* Announces n rows of n_columns numbers as text with all their digits: HB_ERROR_FILE when the file
 * system has not room for so many (hb_writer_reserve). */
HB_API hb_status hb_writer_csv_begin(hb_writer *writer, hb_dtype dtype, uint64_t n, int n_columns);
/* Writes n rows of n_columns values as comma-separated text: %.17g for HB_DTYPE_F64, %.9g for
 * HB_DTYPE_F32, so that reading gives bit-identical values. names (may be NULL) becomes the header
 * line. */
HB_API hb_status hb_writer_csv_header(hb_writer *writer, int n_columns, const char *const *names);
HB_API hb_status hb_writer_csv_rows(hb_writer *writer, hb_dtype dtype, size_t n, int n_columns,
                                    const void *rows);

/* Reads a table of numbers, by the end of its name:
 *     .npy   float64, float32, int64, int32 or uint8, little-endian, C order, 1 to 4 axes; shape is
 *            the file's, axes beyond n_axes are 1
 *     .csv   numbers separated by commas, semicolons or blanks, as many on each line; a first
 *            line without any number is a header; blank lines and lines that open with # are
 *            skipped; n_axes is 2, shape rows and columns
 * values[shape[0]*shape[1]*shape[2]*shape[3]] is to be released with hb_context_release.
 * HB_ERROR_PATH: the file cannot be opened; HB_ERROR_FORMAT: it is something else or cut short,
 * with the reason and for .csv the line and the column; HB_ERROR_FILE: reading failed. */
HB_API hb_status hb_table_read(hb_context *context, const char *path, int *n_axes,
                               uint64_t shape[4], double **values);
/* The same with the names of the columns, from the header of a .csv: shape[1] texts, each ended by
 * a zero, one after the other, to be released with hb_context_release; NULL where the file names
 * none. */
HB_API hb_status hb_table_read_named(hb_context *context, const char *path, int *n_axes,
                                     uint64_t shape[4], double **values, char **names);

/* Writes a grey picture (.png), one byte per pixel, 0 black .. 255 white, pixels[height][width]
 * from the top. HB_ERROR_ARGUMENT unless each side is 1 to HB_PNG_SIDE. */
#define HB_PNG_SIDE 20000
HB_API hb_status hb_png_write_grey(hb_context *context, int height, int width, const char *path,
                                   const unsigned char *pixels);

#ifdef __cplusplus
}
#endif
#endif
