/* An input is never overwritten.
 *
 * The outputs of a run are known from its command line before anything is read: the tables of
 * options say which values are names of files to write, and a figure is three files. Inputs are
 * seen when they are opened, wherever that happens (a problem file names samples, a directory
 * holds images), through the context's `reading` callback. The two meet here.
 *
 * Two names are one file when both exist with the same device and inode (symbolic and hard
 * links, ./x, dir/../x), or when their directories are one and their last parts are equal (a
 * file that is not there yet). A device or a pipe (/dev/null) is no file that could be lost. */
#include "outputs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST = 64 };

typedef struct output {
    char option[16]; /* as one types it */
    char *path;
} output;

struct hb_outputs {
    int n;
    output files[MOST]; // (n)
};

hb_outputs *hb_outputs_create(void)
{
    return calloc(1, sizeof(hb_outputs));
}

void hb_outputs_destroy(hb_outputs *outputs)
{
    for (int i = 0; outputs && i < outputs->n; i++) free(outputs->files[i].path);
    free(outputs);
}

/* The directory of a path with all links followed, to be given to free(); NULL: it is not there. */
static char *directory_of(const char *path, const char **base)
{
    const char *slash = strrchr(path, '/');
    *base = slash ? slash + 1 : path;
    char *part = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    char *real = part ? realpath(part, NULL) : NULL;
    free(part);
    return real;
}

static int same_place(const char *a, const char *b)
{
    const char *base_a, *base_b;
    char *of_a = directory_of(a, &base_a), *of_b = directory_of(b, &base_b);
    const int same = of_a && of_b && strcmp(of_a, of_b) == 0 && strcmp(base_a, base_b) == 0;
    free(of_a);
    free(of_b);
    return same;
}

static int same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    const int there_a = stat(a, &of_a) == 0, there_b = stat(b, &of_b) == 0;
    if ((there_a && !S_ISREG(of_a.st_mode)) || (there_b && !S_ISREG(of_b.st_mode))) return 0;
    if (there_a && there_b) return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    return same_place(a, b);
}

static hb_status outputs_take(hb_outputs *outputs, const char *option, char *path, char *message)
{
    if (!path || outputs->n == MOST) {
        free(path);
        snprintf(message, HB_OPTIONS_MESSAGE, "%s", hb_status_text(HB_ERROR_MEMORY));
        return HB_ERROR_MEMORY;
    }
    for (int i = 0; i < outputs->n; i++) {
        if (!same_file(outputs->files[i].path, path)) continue;
        const char *other = outputs->files[i].option;
        if (strcmp(other, option) == 0)
            snprintf(message, HB_OPTIONS_MESSAGE,
                     "%s would write %.200s twice; choose another name", option, path);
        else
            snprintf(message, HB_OPTIONS_MESSAGE,
                     "%s and %s would both write %.200s; choose another name", other, option, path);
        hb_options_clean(message);
        free(path);
        return HB_ERROR_ARGUMENT;
    }
    output *new = &outputs->files[outputs->n++];
    snprintf(new->option, sizeof new->option, "%s", option);
    new->path = path;
    return HB_OK;
}

hb_status hb_outputs_add(hb_outputs *outputs, const char *option, const char *path,
                         char message[HB_OPTIONS_MESSAGE])
{
    return outputs_take(outputs, option, strdup(path), message);
}

hb_status hb_outputs_add_figure(hb_outputs *outputs, const char *option, const char *path,
                                char message[HB_OPTIONS_MESSAGE])
{
    static const char *const ends[] = {".plot.csv", ".gp"};
    const char *dot = strrchr(path, '.');
    const int stem = (int)(dot && !strchr(dot, '/') ? (size_t)(dot - path) : strlen(path));
    hb_status status = hb_outputs_add(outputs, option, path, message);
    for (int k = 0; k < 2 && status == HB_OK; k++) {
        char *beside = NULL;
        if (asprintf(&beside, "%.*s%s", stem, path, ends[k]) < 0) beside = NULL;
        status = outputs_take(outputs, option, beside, message);
    }
    return status;
}

hb_status hb_outputs_declare(hb_outputs *outputs, const hb_option_section *sections,
                             char message[HB_OPTIONS_MESSAGE])
{
    for (; sections->options; sections++)
        for (const hb_option *option = sections->options;
             option->help || option->setting || option->heading; option++) {
            const unsigned role = option->rules & (HB_OPTION_WRITES | HB_OPTION_FIGURE);
            if (!role) continue;
            const char *path =
                *(const char *const *)((const char *)sections->values + option->offset);
            if (!path) continue;
            const char *dot = strrchr(path, '.');
            const int figure = (role & HB_OPTION_FIGURE) &&
                               (!(role & HB_OPTION_WRITES) || (dot && strcmp(dot, ".png") == 0));
            char label[16] = "-o";
            if (option->name) snprintf(label, sizeof label, "--%s", option->name);
            HB_TRY(
                (figure ? hb_outputs_add_figure : hb_outputs_add)(outputs, label, path, message));
        }
    return HB_OK;
}

hb_status hb_outputs_check_input(const hb_outputs *outputs, const char *path,
                                 char message[HB_OPTIONS_MESSAGE])
{
    for (int i = 0; i < outputs->n; i++) {
        const output *o = &outputs->files[i];
        if (!same_file(o->path, path)) continue;
        if (strcmp(o->path, path) == 0)
            snprintf(message, HB_OPTIONS_MESSAGE,
                     "%.250s is read by this run and %s would replace it; choose another name",
                     path, o->option);
        else
            snprintf(message, HB_OPTIONS_MESSAGE,
                     "%.130s is read by this run and %s would replace it (by %.130s); choose "
                     "another name",
                     path, o->option, o->path);
        hb_options_clean(message);
        return HB_ERROR_ARGUMENT;
    }
    return HB_OK;
}
