/* heatball data export of image sets: pixels as rows [N][height*width] and, with --labels, classes [N].
 *
 * A row is an image from its top left corner, so that numpy.load(FILE).reshape(-1, height, width) are the
 * images again. The rows get their name only when the labels are written too. A class is a number of
 * the same kind as the pixels, as `heatball train --labels` reads it. A .csv file has the columns x_1, x_2,
 * .. and label. */
#include "data_images.h"
#include "points.h"
#include "report.h"

#include <heatball/file.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16, NAME = 24 }; /* numbers at a time; bytes of x_1 */

static hb_status write_names(hb_writer *writer, const char *stem, int columns)
{
    const char **names = malloc((size_t)columns * (sizeof *names + NAME));
    if (!names) return HB_ERROR_MEMORY;
    char *text = (char *)(names + columns); // (columns, NAME)
    for (int i = 0; i < columns; i++) {
        names[i] = text + (size_t)i * NAME;
        snprintf(text + (size_t)i * NAME, NAME, "%s_%d", stem, i + 1);
    }
    if (columns == 1) names[0] = stem;
    const hb_status status = hb_writer_csv_header(writer, columns, names);
    free(names);
    return status;
}

/* Rows of `columns` numbers in the precision asked for: values (n, columns). */
static hb_status write_rows(hb_writer *writer, int csv, hb_dtype dtype, size_t n, int columns,
                            const double *values)
{
    const size_t total = n * (size_t)columns;
    if (dtype == HB_DTYPE_F64)
        return csv ? hb_writer_csv_rows(writer, dtype, n, columns, values)
                   : hb_writer_write(writer, total * sizeof *values, values);
    float *narrow = malloc(total * sizeof *narrow); // (n, columns)
    if (!narrow) return HB_ERROR_MEMORY;
    for (size_t i = 0; i < total; i++) narrow[i] = (float)values[i];
    const hb_status status = csv ? hb_writer_csv_rows(writer, dtype, n, columns, narrow)
                                 : hb_writer_write(writer, total * sizeof *narrow, narrow);
    free(narrow);
    return status;
}

static hb_status write_file(hb_session *session, const hb_data_values *v, const char *path,
                            const char *stem, size_t n, int columns, const double *values,
                            hb_writer **writer)
{
    const hb_dtype dtype = v->dtype ? HB_DTYPE_F32 : HB_DTYPE_F64;
    const int csv = hb_points_has_extension(path, ".csv"), flat = !strcmp(stem, "label");
    const uint64_t shape[] = {n, (uint64_t)columns};
    HB_TRY(hb_writer_create(hb_session_context(session), path, writer));
    hb_status status = csv ? write_names(*writer, stem, columns)
                           : hb_writer_npy_begin(*writer, dtype, flat ? 1 : 2, shape);
    hb_session_count(session, "writing", "images");
    const size_t step = columns < CHUNK ? CHUNK / (size_t)columns : 1;
    for (size_t done = 0; done < n && status == HB_OK; done += step) {
        const size_t m = n - done < step ? n - done : step;
        status = write_rows(*writer, csv, dtype, m, columns, values + done * (size_t)columns);
        if (status == HB_OK) status = hb_session_progress(session, (double)(done + m), (double)n);
    }
    return status;
}

static hb_status write_labels(hb_session *session, const hb_data_values *v, const hb_images *images,
                              hb_writer **writer)
{
    double *values = malloc(images->count * sizeof *values); // (count)
    if (!values) return HB_ERROR_MEMORY;
    for (size_t i = 0; i < images->count; i++) values[i] = images->labels[i];
    const hb_status status =
        write_file(session, v, v->labels, "label", images->count, 1, values, writer);
    free(values);
    return status;
}

static hb_status write_both(hb_session *session, const hb_data_values *v, const hb_images *images)
{
    hb_writer *rows = NULL, *labels = NULL;
    hb_status status = write_file(session, v, v->path, "x", images->count,
                                  images->height * images->width, images->pixels, &rows);
    if (status == HB_OK && v->labels) status = write_labels(session, v, images, &labels);
    if (status == HB_OK) {
        status = hb_writer_commit(rows);
        rows = NULL;
    }
    if (status == HB_OK && labels) {
        status = hb_writer_commit(labels);
        labels = NULL;
    }
    hb_writer_abort(rows);
    hb_writer_abort(labels);
    return status;
}

static hb_status print_export(hb_session *session, const hb_data_values *v, const hb_images *images)
{
    hb_session_clear(session);
    if (!v->json && !hb_session_quiet(session))
        printf("%s: %zu images of %s, %d by %d pixels\n", v->path, images->count, v->name,
               images->height, images->width);
    if (!v->json) return HB_OK;
    hb_report *report = hb_report_create();
    hb_report_text(report, "file", v->path, "");
    hb_report_text(report, "name", v->name, "");
    hb_report_text(report, "part", hb_data_part_names[v->part], "");
    hb_report_unsigned(report, "rows", images->count, "");
    hb_report_integer(report, "columns", images->height * images->width, "");
    hb_report_integer(report, "height", images->height, "");
    hb_report_integer(report, "width", images->width, "");
    hb_report_integer(report, "classes", images->classes, "");
    hb_report_text(report, "resample", hb_data_resample_names[v->resample], "");
    hb_report_text(report, "binarize", hb_data_binarize_names[v->binarize], "");
    hb_report_text(report, "range", hb_data_range_names[v->range], "");
    hb_report_unsigned(report, "seed", v->seed, "");
    if (v->labels) hb_report_text(report, "labels", v->labels, "");
    const hb_status status = hb_report_print(report, 1, stdout);
    hb_report_destroy(report);
    return status;
}

static hb_status check_values(hb_session *session, const hb_data_values *v)
{
    if (!v->path) return hb_session_refuse(session, "export needs -o FILE");
    if (!v->labels) return HB_OK;
    if (!hb_points_has_extension(v->labels, ".npy") && !hb_points_has_extension(v->labels, ".csv"))
        return hb_session_refuse(session, "--labels is %.200s; the name must end in .npy or .csv",
                                 v->labels);
    return HB_OK;
}

static hb_status check_images(hb_session *session, const hb_data_values *v, const hb_images *images)
{
    if (v->n > images->count)
        return hb_session_refuse(session, "-n is %" PRIu64 "; %.200s has %zu images", v->n, v->name,
                                 images->count);
    if (v->labels && !images->labels)
        return hb_session_refuse(
            session,
            "--labels is given, but there is no file of labels beside the images of %.200s",
            v->name);
    return HB_OK;
}

hb_status hb_data_images_export(hb_session *session, const hb_data_values *v)
{
    hb_images images = {0};
    hb_status status = check_values(session, v);
    if (status == HB_OK) status = hb_data_images_load(session, v, &images);
    if (status == HB_OK) status = check_images(session, v, &images);
    if (status == HB_OK) status = write_both(session, v, &images);
    if (status == HB_OK) status = print_export(session, v, &images);
    hb_images_destroy(hb_session_context(session), &images);
    return status;
}
