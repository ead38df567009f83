/* heatball data export of image sets: pixels as rows [N][height*width] and, with --labels,
 * classes [N].
 *
 * A row is an image from its top left corner, so that numpy.load(FILE).reshape(-1, height,
 * width) are the images again. The rows get their name only when the labels are written too. A
 * class is a number of the same kind as the pixels, as `heatball train --labels` reads it. A
 * .csv file has the columns x_1, x_2, .. and label. */
#include "command_data.h"
#include "points.h"
#include "report.h"
#include "rows.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CHUNK = 1 << 16 }; /* numbers at a time */

/* Values (n, columns) in the requested precision. */
static hb_status export_rows(hb_writer *writer, const char *path, hb_dtype dtype, size_t n,
                             int columns, const double *values)
{
    if (dtype == HB_DTYPE_F64) return hb_rows_append(writer, path, dtype, n, columns, values);
    const size_t total = n * (size_t)(columns ? columns : 1);
    float *narrow = malloc(total * sizeof *narrow); // (n, columns)
    if (!narrow) return HB_ERROR_MEMORY;
    for (size_t i = 0; i < total; i++) narrow[i] = (float)values[i];
    const hb_status status = hb_rows_append(writer, path, dtype, n, columns, narrow);
    free(narrow);
    return status;
}

static const char *export_name(const void *columns, int i, char text[HB_ROWS_NAME])
{
    return *(const int *)columns ? hb_rows_x(NULL, i, text) : "label";
}

/* columns 0: labels. */
static hb_status export_file(hb_session *session, const hb_data_values *v, const char *path,
                             size_t n, int columns, const double *values, hb_writer **writer)
{
    const hb_dtype dtype = v->dtype ? HB_DTYPE_F32 : HB_DTYPE_F64;
    const size_t width = columns ? (size_t)columns : 1, step = width < CHUNK ? CHUNK / width : 1;
    HB_TRY(hb_writer_create(hb_session_context(session), path, writer));
    hb_status status = hb_rows_begin(*writer, path, dtype, n, columns, export_name, &columns);
    hb_session_count(session, "writing", "images");
    for (size_t done = 0; done < n && status == HB_OK; done += step) {
        const size_t m = n - done < step ? n - done : step;
        status = export_rows(*writer, path, dtype, m, columns, values + done * width);
        if (status == HB_OK) status = hb_session_progress(session, (double)(done + m), (double)n);
    }
    return status;
}

static hb_status export_labels(hb_session *session, const hb_data_values *v,
                               const hb_images *images, hb_writer **writer)
{
    double *values = malloc(images->count * sizeof *values); // (count)
    if (!values) return HB_ERROR_MEMORY;
    for (size_t i = 0; i < images->count; i++) values[i] = images->labels[i];
    const hb_status status = export_file(session, v, v->labels, images->count, 0, values, writer);
    free(values);
    return status;
}

static hb_status export_both(hb_session *session, const hb_data_values *v, const hb_images *images)
{
    hb_writer *rows = NULL, *labels = NULL;
    hb_status status = export_file(session, v, v->path, images->count,
                                   images->height * images->width, images->pixels, &rows);
    if (status == HB_OK && v->labels) status = export_labels(session, v, images, &labels);
    status = hb_writer_close(rows, status);
    return hb_writer_close(labels, status);
}

static hb_status export_print(hb_session *session, const hb_data_values *v, const hb_images *images)
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
    return hb_report_finish(report, 1);
}

static hb_status export_check(hb_session *session, const hb_data_values *v)
{
    HB_REFUSE_IF(session, !v->path, "export needs -o FILE");
    if (!v->labels) return HB_OK;
    HB_REFUSE_IF(session, !hb_points_is_table(v->labels),
                 "--labels is %.200s; the name must end in .npy or .csv", v->labels);
    return HB_OK;
}

static hb_status export_check_images(hb_session *session, const hb_data_values *v,
                                     const hb_images *images)
{
    HB_REFUSE_IF(session, v->n > images->count, "-n is %" PRIu64 "; %.200s has %zu images", v->n,
                 v->name, images->count);
    HB_REFUSE_IF(session, v->labels && !images->labels,
                 "--labels is given, but there is no file of labels beside the images of %.200s",
                 v->name);
    return HB_OK;
}

hb_status hb_data_images_export(hb_session *session, const hb_data_values *v)
{
    hb_images images = {0};
    hb_status status = export_check(session, v);
    if (status == HB_OK) status = hb_data_images_load(session, v, &images);
    if (status == HB_OK) status = export_check_images(session, v, &images);
    if (status == HB_OK) status = export_both(session, v, &images);
    if (status == HB_OK) status = export_print(session, v, &images);
    hb_images_destroy(hb_session_context(session), &images);
    return status;
}
