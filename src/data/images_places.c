/* Where sets of images are: names, the cache directory, and the files behind a name or a path.
 *
 * A set is four files with fixed names, plain or with .gz after them:
 *     train-images-idx3-ubyte  train-labels-idx1-ubyte
 *     t10k-images-idx3-ubyte   t10k-labels-idx1-ubyte
 * Those of a named set are looked for in CACHE/NAME, then where a system package puts them. A path
 * may be a directory with such files or any file of images; its labels are in the file whose name
 * has "labels" for the last "images" and "idx1" for the last "idx3", if that is there. To
 * reproduce: with XDG_CACHE_HOME=/c, "mnist" is /c/heatball/mnist. */
#include "base/context.h"
#include "data/images_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 4 };

typedef struct image_set {
    const char *name, *describe;
    const char *install; /* how to get it, a sentence's end */
    const char *system;  /* directory of a system package; NULL: none */
} image_set;

static const char *const file_names[FILES] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                              "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

static const image_set sets[] = {
    {.name = "mnist",
     .describe = "handwritten digits, 28 by 28, 60000 to train on and 10000 to test",
     .install = "run heatball data fetch mnist"},
    {.name = "fashion-mnist",
     .describe = "pictures of clothes, 28 by 28, 60000 to train on and 10000 to test",
     .install = "install Debian's package dataset-fashion-mnist",
     .system = "/usr/share/datasets/fashion-mnist"},
};
enum { N_SETS = sizeof sets / sizeof *sets };

const char *const *hb_images_names(void)
{
    static const char *const names[] = {"mnist", "fashion-mnist", NULL};
    return names;
}

static const image_set *find_set(const char *name)
{
    for (int i = 0; name && i < N_SETS; i++)
        if (!strcmp(sets[i].name, name)) return &sets[i];
    return NULL;
}

const char *hb_images_describe(const char *name)
{
    const image_set *set = find_set(name);
    return set ? set->describe : NULL;
}

/* ---- directories ---- */

static hb_status images_join_path(hb_context *context, size_t size, char *out,
                                  const char *directory, const char *name, const char *end)
{
    const int n = snprintf(out, size, "%s/%s%s", directory, name, end);
    HB_CHECK(context, n >= 0 && (size_t)n < size, HB_ERROR_PATH,
             "the path %.100s/%.100s is longer than %zu bytes", directory, name, size - 1);
    return HB_OK;
}

/* The directory of the user's cache that belongs to the set. */
static hb_status find_home(hb_context *context, const image_set *set, size_t size, char *path)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/')
        return images_join_path(context, size, path, cache, "heatball/", set->name);
    HB_CHECK(context, home && home[0], HB_ERROR_PATH,
             "there is no cache directory: set HOME, or XDG_CACHE_HOME to an absolute path");
    return images_join_path(context, size, path, home, ".cache/heatball/", set->name);
}

/* The file of this name in directory, plain or compressed; "" when there is neither. */
static hb_status find_file(hb_context *context, const char *directory, const char *name, char *path)
{
    static const char *const ends[] = {"", ".gz"};
    for (int i = 0; i < 2; i++) {
        HB_TRY(images_join_path(context, HB_IMAGES_PATH, path, directory, name, ends[i]));
        if (access(path, F_OK) == 0) return HB_OK;
    }
    path[0] = 0;
    return HB_OK;
}

static hb_status has_all_files(hb_context *context, const char *directory, int *all)
{
    char path[HB_IMAGES_PATH];
    *all = 1;
    for (int i = 0; i < FILES; i++) {
        HB_TRY(find_file(context, directory, file_names[i], path));
        if (!path[0]) *all = 0;
    }
    return HB_OK;
}

hb_status hb_images_directory(hb_context *context, const char *name, size_t size, char *directory,
                              int *present)
{
    const image_set *set = find_set(name);
    HB_CHECK(context, set, HB_ERROR_ARGUMENT,
             "%.100s is no set of images; it must be mnist or fashion-mnist", name ? name : "NULL");
    HB_CHECK(context, directory && size > 0 && present, HB_ERROR_ARGUMENT,
             "directory or present is NULL");
    HB_TRY(find_home(context, set, size, directory));
    HB_TRY(has_all_files(context, directory, present));
    if (*present || !set->system) return HB_OK;
    HB_TRY(has_all_files(context, set->system, present));
    if (!*present) return HB_OK;
    const int n = snprintf(directory, size, "%s", set->system);
    HB_CHECK(context, n >= 0 && (size_t)n < size, HB_ERROR_PATH, "directory has no room for %s",
             set->system);
    return HB_OK;
}

/* ---- files ---- */

/* Replaces the last `from` after the last slash by `to`, of the same length. */
static int replace_last(char *path, const char *from, const char *to)
{
    char *base = strrchr(path, '/'), *found = NULL;
    for (char *at = strstr(base ? base : path, from); at; at = strstr(at + 1, from)) found = at;
    for (size_t i = 0; found && to[i]; i++) found[i] = to[i];
    return found != NULL;
}

/* The labels beside a file of images; plain beside compressed and the reverse will do. */
static void find_labels(const char *images, char *labels)
{
    snprintf(labels, HB_IMAGES_PATH, "%s", images);
    if (!replace_last(labels, "images", "labels")) {
        labels[0] = 0;
        return;
    }
    replace_last(labels, "idx3", "idx1");
    if (access(labels, F_OK) == 0) return;
    const size_t n = strlen(labels);
    if (n > 3 && !strcmp(labels + n - 3, ".gz"))
        labels[n - 3] = 0;
    else
        snprintf(labels + n, HB_IMAGES_PATH - n, ".gz");
    if (access(labels, F_OK) != 0) labels[0] = 0;
}

static hb_status locate_set(hb_context *context, const image_set *set, const char *file,
                            char *images)
{
    char home[HB_IMAGES_PATH];
    HB_TRY(find_home(context, set, sizeof home, home));
    HB_TRY(find_file(context, home, file, images));
    if (!images[0] && set->system) HB_TRY(find_file(context, set->system, file, images));
    HB_CHECK(context, images[0], HB_ERROR_PATH,
             "%s is not here: %.200s has no %s; %s, or put the four files there", set->name, home,
             file, set->install);
    return HB_OK;
}

hb_status hb_images_locate(hb_context *context, const char *name_or_path, hb_part part,
                           char *images, char *labels)
{
    HB_CHECK(context, name_or_path && name_or_path[0], HB_ERROR_ARGUMENT,
             "the name of a set of images is empty; it must be mnist, fashion-mnist or a path");
    HB_CHECK(context, part == HB_PART_TRAIN || part == HB_PART_TEST, HB_ERROR_ARGUMENT,
             "part is %d; it must be HB_PART_TRAIN or HB_PART_TEST", (int)part);
    const char *file = file_names[part == HB_PART_TEST ? 2 : 0];
    const image_set *set = find_set(name_or_path);
    struct stat info;
    if (set) {
        HB_TRY(locate_set(context, set, file, images));
    } else if (stat(name_or_path, &info) != 0) {
        return hb_fail(context, HB_ERROR_PATH,
                       "%.200s is neither a set of images (mnist, fashion-mnist) nor a file or a "
                       "directory",
                       name_or_path);
    } else if (S_ISDIR(info.st_mode)) {
        HB_TRY(find_file(context, name_or_path, file, images));
        HB_CHECK(context, images[0], HB_ERROR_PATH, "the directory %.200s has no %s, nor %s.gz",
                 name_or_path, file, file);
    } else {
        const int n = snprintf(images, HB_IMAGES_PATH, "%s", name_or_path);
        HB_CHECK(context, n >= 0 && n < HB_IMAGES_PATH, HB_ERROR_PATH,
                 "a path is longer than %d bytes", HB_IMAGES_PATH - 1);
    }
    find_labels(images, labels);
    return HB_OK;
}
