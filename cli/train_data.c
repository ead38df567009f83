/* The data of a training: draws of a named set, or rows of a file in an order of their own.
 *
 * Both commands that need them, train and evaluate, split a file in the same way: the order is
 * hb_data_split(n, seed) with the seed of the training, the last floor(fraction n) rows are held
 * out. So `evaluate` finds again, from the model's seed, the rows that the model has never seen. */
#include "command_data.h"
#include "command_train.h"
#include "points.h"

#include <heatball/file.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SAME =
    1e-6; /* of a mean, in scales: a model keeps them in double, or in float */

int hb_train_data_is_file(const char *name)
{
    return hb_points_is_table(name);
}

hb_status hb_train_data_named(hb_session *session, const char *name, uint64_t rows, uint64_t seed,
                              hb_train_data *out)
{
    *out = (hb_train_data){.name = name, .n = (size_t)rows};
    const hb_status status = hb_named_set_open(session, name, &out->set);
    if (status != HB_OK && strpbrk(name, "./"))
        return hb_session_fail(session, status,
                               "--data is %.200s; it must be a set of heatball data list, or a "
                               "file whose name ends in .npy or .csv",
                               name);
    if (status != HB_OK) return status;
    out->dim = hb_mixture_dim(out->set);
    if (rows == 0) return HB_OK;
    out->x = calloc(out->n, (size_t)out->dim * sizeof *out->x);
    if (!out->x) return HB_ERROR_MEMORY;
    return hb_mixture_sample(hb_session_context(session), out->set, seed, 0, out->n, out->x, NULL);
}

/* The label of each row of the file, in the file's order: labels (n). */
static hb_status read_labels(hb_session *session, const char *path, size_t n, int *labels,
                             int *classes)
{
    hb_context *context = hb_session_context(session);
    int axes;
    uint64_t shape[4];
    double *values = NULL;
    hb_status status = hb_table_read(context, path, &axes, shape, &values);
    if (status == HB_OK && (axes > 2 || (axes == 2 && shape[1] != 1) || shape[0] != n))
        status = hb_session_refuse(session,
                                   "--labels: %.200s has %llu rows and %llu columns; it must have "
                                   "one number for each of the %zu rows of data",
                                   path, (unsigned long long)shape[0],
                                   (unsigned long long)(axes > 1 ? shape[1] : 1), n);
    *classes = 0;
    for (size_t i = 0; status == HB_OK && i < n; i++) {
        if (!(values[i] >= 0 && values[i] < 100000 && values[i] == floor(values[i])))
            status = hb_session_refuse(
                session,
                "--labels: row %zu of %.200s is %g; a class must be an integer from 0 to 99999",
                i + 1, path, values[i]);
        const int label = status == HB_OK ? (int)values[i] : 0;
        labels[i] = label;
        if (label >= *classes) *classes = label + 1;
    }
    if (values) hb_context_release(context, values);
    return status;
}

static hb_status permute(hb_context *context, uint64_t seed, size_t n, size_t dim, const double *x,
                         const int *labels, hb_train_data *out)
{
    size_t *order = malloc(n * sizeof *order); // (n)
    out->x = calloc(n, dim * sizeof *out->x);
    out->labels = labels ? malloc(n * sizeof *out->labels) : NULL;
    hb_status status = order && out->x && (out->labels || !labels) ? HB_OK : HB_ERROR_MEMORY;
    if (status == HB_OK) status = hb_data_split(context, seed, n, order);
    for (size_t i = 0; status == HB_OK && i < n; i++) {
        memcpy(out->x + i * dim, x + order[i] * dim, dim * sizeof *x);
        if (labels) out->labels[i] = labels[order[i]];
    }
    free(order);
    return status;
}

hb_status hb_train_data_read(hb_session *session, const char *path, const char *labels,
                             double fraction, uint64_t seed, hb_train_data *out)
{
    hb_context *context = hb_session_context(session);
    size_t n = 0;
    double *x = NULL;
    int *classes = NULL;
    *out = (hb_train_data){.name = path, .context = context};
    hb_status status = hb_data_read_named(context, path, &out->dim, &n, &x, &out->columns);
    if (status != HB_OK) return status;
    if (labels) {
        classes = malloc(n * sizeof *classes);
        status =
            classes ? read_labels(session, labels, n, classes, &out->classes) : HB_ERROR_MEMORY;
    }
    if (status == HB_OK) status = permute(context, seed, n, (size_t)out->dim, x, classes, out);
    out->held = (size_t)floor(fraction * (double)n);
    out->n = n - out->held;
    free(classes);
    hb_context_release(context, x);
    return status;
}

/* The first k rows have mean 0 and mean square 1 in the model's coordinates. */
hb_status hb_train_data_seen(const hb_train_data *data, const hb_model *model, long *seen)
{
    const size_t d = (size_t)data->dim, n = data->n + data->held;
    double *shift = calloc(4 * d, sizeof *shift); // (4, dim)
    if (!shift) return HB_ERROR_MEMORY;
    double *scale = shift + d, *sum = scale + d, *z = sum + d, square = 0;
    int standardised = *hb_model_maps(model) != 0;
    hb_model_scales(model, shift, scale);
    for (size_t j = 0; j < d; j++) standardised |= shift[j] != 0 || scale[j] != 1;
    *seen = standardised ? 0 : -1;
    for (size_t k = 0; k < n && standardised; k++) {
        double away = 0;
        hb_model_standardise(model, 1, data->x + k * d, z);
        for (size_t j = 0; j < d; j++) {
            sum[j] += z[j];
            square += z[j] * z[j] / (double)d;
        }
        for (size_t j = 0; j < d; j++) away = fmax(away, fabs(sum[j]));
        const double rows = (double)k + 1;
        if (away <= SAME * rows && fabs(square / rows - 1) <= SAME + 1.5 / rows)
            *seen = (long)k + 1;
    }
    free(shift);
    return HB_OK;
}

hb_status hb_train_data_images(const char *name, const hb_images *images, hb_train_data *out)
{
    const size_t n = images->count, dim = (size_t)images->height * (size_t)images->width;
    *out = (hb_train_data){.name = name,
                           .dim = (int)dim,
                           .classes = images->classes,
                           .n = n,
                           .image_height = images->height,
                           .image_width = images->width,
                           .pixel_low = images->low,
                           .pixel_high = images->high};
    out->x = calloc(n, dim * sizeof *out->x);
    out->labels = images->labels ? malloc(n * sizeof *out->labels) : NULL;
    if (!out->x || (images->labels && !out->labels)) return HB_ERROR_MEMORY;
    memcpy(out->x, images->pixels, n * dim * sizeof *out->x);
    if (images->labels) memcpy(out->labels, images->labels, n * sizeof *out->labels);
    return HB_OK;
}

void hb_train_data_destroy(hb_train_data *data)
{
    hb_mixture_destroy(data->set);
    free(data->x);
    free(data->labels);
    if (data->columns) hb_context_release(data->context, data->columns);
    *data = (hb_train_data){0};
}
