/* Points on the command line and in files.
 *
 * A text is read number by number: after each, a comma goes on with the point, a semicolon ends
 * it, and the end of the text ends the last one; blanks may stand anywhere between. So
 * "-2.5;-1;0" is three points of one coordinate and "1,2; 0,1" two points of two. A text with a
 * colon is a mesh. A number that does not follow this form is quoted in the refusal together
 * with the point that it belongs to. */
#include "points.h"

#include <ctype.h>
#include <heatball/file.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MESH = 100000000 };

int hb_points_has_extension(const char *path, const char *extension)
{
    const size_t length = strlen(path), tail = strlen(extension);
    return length > tail && strcmp(path + length - tail, extension) == 0;
}

int hb_points_is_table(const char *path)
{
    return hb_points_has_extension(path, ".npy") || hb_points_has_extension(path, ".csv");
}

static const char *skip_blanks(const char *text)
{
    while (isspace((unsigned char)*text)) text++;
    return text;
}

/* One finite decimal number; *text moves behind it and the blanks that follow. */
static int read_number(const char **text, double *out)
{
    char *rest;
    const char *begin = skip_blanks(*text);
    *out = strtod(begin, &rest);
    if (rest == begin || !isfinite(*out)) return 0;
    for (const char *c = begin; c < rest; c++)
        if (*c == 'x' || *c == 'X') return 0;
    *text = skip_blanks(rest);
    return 1;
}

static hb_status refuse_number(hb_session *session, const char *text, size_t point)
{
    text = skip_blanks(text);
    const int length = (int)strcspn(text, ",;");
    HB_REFUSE_IF(session, length == 0,
                 "--at: point %zu lacks a number; points are separated by semicolons, their "
                 "coordinates by commas, as in \"1,2; 0,1\"",
                 point);
    return hb_session_refuse(
        session,
        "--at: point %zu has %.*s; it must be finite numbers, coordinates separated by commas and "
        "points by semicolons, or the name of a .npy or .csv file",
        point, length > 60 ? 60 : length, text);
}

static hb_status refuse_dimension(hb_session *session, size_t point, uint64_t found, int dim)
{
    return hb_session_refuse(session,
                             "--at: point %zu has %llu coordinate%s; the problem has dimension %d "
                             "(points are separated by semicolons)",
                             point, (unsigned long long)found, found == 1 ? "" : "s", dim);
}

static hb_status points_read_text(hb_session *session, const char *text, hb_points *out)
{
    size_t capacity = 1;
    for (const char *c = text; *c; c++) capacity += *c == ';' || *c == ',';
    out->x = malloc(capacity * sizeof(double));
    if (!out->x) return HB_ERROR_MEMORY;
    size_t count = 0, coordinates = 0;
    for (int more = 1; more;) {
        if (!read_number(&text, &out->x[count++])) return refuse_number(session, text, out->n + 1);
        coordinates++;
        if (*text == ',') {
            text++;
            continue;
        }
        if (*text != ';' && *text != 0) return refuse_number(session, text, out->n + 1);
        if (coordinates != (size_t)out->dim)
            return refuse_dimension(session, out->n + 1, coordinates, out->dim);
        out->n++;
        coordinates = 0;
        more = *text == ';';
        text += more;
    }
    return HB_OK;
}

/* ---- meshes ---- */

typedef struct mesh_axis {
    double first, last;
    size_t count;
} mesh_axis;

static hb_status refuse_axis(hb_session *session, int axis)
{
    return hb_session_refuse(
        session,
        "--at: axis %d of the mesh is no first:last:count and no number; a mesh is as \"-3:3:101, "
        "-2:2:81\", with 2 to %d points on an axis and %d in all",
        axis + 1, MOST_MESH, MOST_MESH);
}

static int read_axis(const char **text, mesh_axis *out)
{
    double count;
    *out = (mesh_axis){.count = 1};
    if (!read_number(text, &out->first)) return 0;
    out->last = out->first;
    if (**text != ':') return 1;
    ++*text;
    if (!read_number(text, &out->last) || *(*text)++ != ':' || !read_number(text, &count)) return 0;
    if (!(count >= 2 && count <= MOST_MESH && count == floor(count))) return 0;
    out->count = (size_t)count;
    return out->first != out->last;
}

/* The coordinates of all points, the last axis fastest. */
static hb_status fill_mesh(const mesh_axis *axes, hb_points *out)
{
    const size_t d = (size_t)out->dim;
    out->x = malloc(out->n * d * sizeof *out->x);
    if (!out->x) return HB_ERROR_MEMORY;
    for (size_t i = 0; i < out->n; i++) {
        size_t rest = i;
        for (size_t a = d; a-- > 0; rest /= axes[a].count) {
            const size_t k = rest % axes[a].count;
            const double part = axes[a].count > 1 ? (double)k / (double)(axes[a].count - 1) : 0;
            out->x[i * d + a] = k + 1 == axes[a].count
                                    ? axes[a].last
                                    : axes[a].first + part * (axes[a].last - axes[a].first);
        }
    }
    return HB_OK;
}

static hb_status read_axes(hb_session *session, const char *text, mesh_axis *axes, hb_points *out)
{
    out->n = 1;
    for (int a = 0; a < out->dim; a++) {
        if (!read_axis(&text, &axes[a])) return refuse_axis(session, a);
        const int more = a + 1 < out->dim;
        if (*text == 0 && more) return refuse_dimension(session, 1, (uint64_t)a + 1, out->dim);
        if (*text != (more ? ',' : 0))
            return *text == ',' ? refuse_dimension(session, 1, (uint64_t)out->dim + 1, out->dim)
                                : refuse_axis(session, a);
        text += more;
        if (out->n > MOST_MESH / axes[a].count) return refuse_axis(session, a);
        out->n *= axes[a].count;
        out->mesh[a] = axes[a].count;
    }
    return fill_mesh(axes, out);
}

static hb_status points_read_mesh(hb_session *session, const char *text, hb_points *out)
{
    mesh_axis *axes = malloc((size_t)out->dim * sizeof *axes); // (dim)
    out->mesh = malloc((size_t)out->dim * sizeof *out->mesh);
    const hb_status status =
        axes && out->mesh ? read_axes(session, text, axes, out) : HB_ERROR_MEMORY;
    free(axes);
    return status;
}

/* A table of numbers as points: [n][dim], or [n] and [n][1] for dim = 1. */
static hb_status points_take_table(hb_session *session, const char *path, int n_axes,
                                   const uint64_t *shape, const double *values, hb_points *out)
{
    const uint64_t columns = n_axes == 1 ? 1 : shape[1];
    HB_REFUSE_IF(session, n_axes > 2, "--at: %.200s has %d axes; points are an array [n][dim]",
                 path, n_axes);
    if (columns != (uint64_t)out->dim) return refuse_dimension(session, 1, columns, out->dim);
    HB_REFUSE_IF(session, shape[0] == 0, "--at: %.200s holds no point", path);
    const size_t count = (size_t)shape[0] * (size_t)columns;
    for (size_t i = 0; i < count; i++)
        HB_REFUSE_IF(session, !isfinite(values[i]),
                     "--at: point %zu of %.200s has %g; it must be finite numbers",
                     i / (size_t)columns + 1, path, values[i]);
    out->x = malloc(count * sizeof(double));
    if (!out->x) return HB_ERROR_MEMORY;
    memcpy(out->x, values, count * sizeof(double));
    out->n = (size_t)shape[0];
    return HB_OK;
}

static hb_status points_read_file(hb_session *session, const char *path, hb_points *out)
{
    int n_axes;
    uint64_t shape[4];
    double *values;
    hb_context *context = hb_session_context(session);
    HB_TRY(hb_table_read(context, path, &n_axes, shape, &values));
    hb_status status = points_take_table(session, path, n_axes, shape, values, out);
    hb_context_release(context, values);
    return status;
}

hb_status hb_points_read(hb_session *session, const char *text, int dim, hb_points *out)
{
    *out = (hb_points){.dim = dim};
    if (hb_points_is_table(text)) return points_read_file(session, text, out);
    return (strchr(text, ':') ? points_read_mesh : points_read_text)(session, text, out);
}

static hb_status refuse_list(hb_session *session, const char *option, const char *text)
{
    return hb_session_refuse(session,
                             "%s is %.100s; it must be finite numbers separated by commas, or the "
                             "name of a .npy or .csv file with one row or column of them",
                             option, text);
}

static hb_status list_from_file(hb_session *session, const char *option, const char *path,
                                hb_points *out)
{
    int n_axes;
    uint64_t shape[4];
    double *values;
    hb_context *context = hb_session_context(session);
    hb_status status = hb_table_read(context, path, &n_axes, shape, &values);
    if (status != HB_OK) return status;
    const uint64_t count = n_axes == 1 ? shape[0] : shape[0] * shape[1];
    if (n_axes > 2 || (n_axes == 2 && shape[0] != 1 && shape[1] != 1))
        status = refuse_list(session, option, path);
    if (status == HB_OK) out->x = malloc((size_t)count * sizeof *out->x);
    if (status == HB_OK && !out->x) status = HB_ERROR_MEMORY;
    if (status == HB_OK) memcpy(out->x, values, (size_t)count * sizeof *values);
    if (status == HB_OK) out->n = (size_t)count;
    hb_context_release(context, values);
    return status;
}

hb_status hb_points_list(hb_session *session, const char *option, const char *text, hb_points *out)
{
    *out = (hb_points){.dim = 1};
    if (hb_points_is_table(text)) return list_from_file(session, option, text, out);
    size_t capacity = 1;
    for (const char *c = text; *c; c++) capacity += *c == ',';
    out->x = malloc(capacity * sizeof *out->x);
    if (!out->x) return HB_ERROR_MEMORY;
    for (const char *at = text;;) {
        if (!read_number(&at, &out->x[out->n++])) return refuse_list(session, option, text);
        if (*at == 0) return HB_OK;
        if (*at++ != ',') return refuse_list(session, option, text);
    }
}

void hb_points_destroy(hb_points *points)
{
    free(points->x);
    free(points->mesh);
    *points = (hb_points){0};
}

static hb_status refuse_box(hb_session *session, const char *text, int dim)
{
    return hb_session_refuse(session,
                             "--box is %.100s; it must be low and high of each axis, as \"-4 4\" "
                             "for all or %d such pairs separated by commas, low below high",
                             text, dim);
}

hb_status hb_points_box(hb_session *session, const char *text, int dim, double *low, double *high)
{
    const char *at = text;
    for (int axis = 0; axis < dim; axis++) {
        if (!read_number(&at, &low[axis]) || !read_number(&at, &high[axis]) ||
            !(low[axis] < high[axis]))
            return refuse_box(session, text, dim);
        if (axis == 0 && *at == 0) { /* one pair stands for all */
            for (axis = 1; axis < dim; axis++) low[axis] = low[0], high[axis] = high[0];
            return HB_OK;
        }
        if (*at != (axis + 1 < dim ? ',' : 0)) return refuse_box(session, text, dim);
        at++;
    }
    return HB_OK;
}
