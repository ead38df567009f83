/* The files that a study leaves in a directory, compared byte for byte and removed. */
#ifndef HB_TESTS_STUDY_FILES_H
#define HB_TESTS_STUDY_FILES_H

#include "support.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 20 };

static inline size_t read_whole(const char *directory, const char *name, char *bytes)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    const size_t n = fread(bytes, 1, MAX_FILE, file);
    fclose(file);
    return n;
}

/* All files of a are in b, with the same bytes; how many there are. */
static inline int same_files(const char *a, const char *b)
{
    static char x[MAX_FILE], y[MAX_FILE];
    int files = 0;
    DIR *list = opendir(a);
    assert_non_null(list);
    for (struct dirent *entry = readdir(list); entry; entry = readdir(list)) {
        if (entry->d_name[0] == '.') continue;
        const size_t n = read_whole(a, entry->d_name, x), m = read_whole(b, entry->d_name, y);
        if (n == 0 || n != m || memcmp(x, y, n) != 0) fail_msg("%s differs", entry->d_name);
        files++;
    }
    closedir(list);
    return files;
}

static inline void remove_file(const char *directory, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(unlink(path), 0);
}

/* The files of a directory, and the directory. */
static inline void remove_files(const char *directory)
{
    DIR *list = opendir(directory);
    for (struct dirent *entry = list ? readdir(list) : NULL; entry; entry = readdir(list))
        if (entry->d_name[0] != '.') remove_file(directory, entry->d_name);
    if (list) closedir(list);
    rmdir(directory);
}

/* Two directories of a group of tests. */
static char ONE[] = "/tmp/heatball-study-1-XXXXXX", TWO[] = "/tmp/heatball-study-2-XXXXXX";

static inline int make_directories(void **state)
{
    (void)state;
    return !mkdtemp(ONE) || !mkdtemp(TWO);
}

static inline int remove_directories(void **state)
{
    (void)state;
    remove_files(ONE);
    remove_files(TWO);
    return 0;
}

#endif
