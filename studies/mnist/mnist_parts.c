/* Finished parts of the study, each a file parts/NAME.json with a fingerprint: every setting that
 * its numbers depend on, in one line. --resume takes a part over only when the fingerprint is that
 * of the part it would do. Files are written whole or not at all, so a study that was killed at any
 * moment loses the part that was under way and no more; a training goes on from its own
 * checkpoint. */
#include "mnist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *hb_mnist_value_name(int value, char buffer[32])
{
    static const char *const names[] = {"mmd2",       "mmd2_se",   "mmd",    "specks",
                                        "confident",  "precision", "recall", "nearest",
                                        "near_share", "agree"};
    if (value < MNIST_SHARE)
        snprintf(buffer, 32, "%s", names[value]);
    else if (value < MNIST_LOSS)
        snprintf(buffer, 32, "class_%d", value - MNIST_SHARE);
    else if (value == MNIST_LOSS)
        snprintf(buffer, 32, "loss");
    else if (value < MNIST_LOSS_AT)
        snprintf(buffer, 32, "loss_from_tau%.4g", hb_mnist_bands[value - MNIST_LOSS_BAND]);
    else if (value < MNIST_STOP_AT)
        snprintf(buffer, 32, "loss_at_tau%.4g", hb_mnist_taus[value - MNIST_LOSS_AT]);
    else
        snprintf(buffer, 32, "stopped_at_tau%.4g", hb_mnist_taus[value - MNIST_STOP_AT]);
    return buffer;
}

json_t *hb_mnist_values_json(const double value[MNIST_VALUES])
{
    char buffer[32];
    json_t *object = json_object();
    for (int i = 0; i < MNIST_VALUES; i++)
        if (!isnan(value[i]))
            json_object_set_new(object, hb_mnist_value_name(i, buffer), hb_study_number(value[i]));
    return object;
}

void hb_mnist_values_read(const json_t *values, double value[MNIST_VALUES])
{
    char buffer[32];
    for (int i = 0; i < MNIST_VALUES; i++) {
        const json_t *number = json_object_get(values, hb_mnist_value_name(i, buffer));
        value[i] = json_is_number(number) ? json_number_value(number) : NAN;
    }
}

static hb_status part_path(hb_mnist *m, const char *name, char **path)
{
    char file[128];
    snprintf(file, sizeof file, "%s.json", name);
    return hb_study_path(m->context, m->parts, file, path);
}

hb_status hb_mnist_part_read(hb_mnist *m, const char *name, const char *fingerprint,
                             json_t **values)
{
    char *path;
    *values = NULL;
    if (!m->settings->resume) return HB_OK;
    HB_TRY(part_path(m, name, &path));
    json_t *root = json_load_file(path, 0, NULL);
    free(path);
    const char *found = json_string_value(json_object_get(root, "fingerprint"));
    if (found && strcmp(found, fingerprint) == 0)
        *values = json_incref(json_object_get(root, "values"));
    json_decref(root);
    return HB_OK;
}

hb_status hb_mnist_part_write(hb_mnist *m, const char *name, const char *fingerprint,
                              json_t *values)
{
    char file[128];
    snprintf(file, sizeof file, "%s.json", name);
    return hb_study_write_json(
        m->context, m->parts, file,
        json_pack("{s:s,s:o}", "fingerprint", fingerprint, "values", values));
}

/* FNV-1a: enough to notice another file. */
uint64_t hb_mnist_sum(size_t bytes, const void *data, uint64_t sum)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++) sum = (sum ^ byte[i]) * UINT64_C(0x100000001b3);
    return sum;
}

hb_status hb_mnist_mark_file(hb_mnist *m, const char *path, char mark[96])
{
    unsigned char block[16384];
    uint64_t sum = UINT64_C(0xcbf29ce484222325), bytes = 0;
    FILE *file = fopen(path, "rb");
    if (!file) return hb_study_fail(m->context, HB_ERROR_PATH, "cannot open %.300s", path);
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0; bytes += n)
        sum = hb_mnist_sum(n, block, sum);
    const int failed = ferror(file);
    fclose(file);
    if (failed) return hb_study_fail(m->context, HB_ERROR_FILE, "cannot read %.300s", path);
    snprintf(mark, 96, "%llu:%016llx", (unsigned long long)bytes, (unsigned long long)sum);
    return HB_OK;
}
