/* What the tests of problems share: a directory for their files, and problems from texts. */
#ifndef HB_TESTS_PROBLEM_SUPPORT_H
#define HB_TESTS_PROBLEM_SUPPORT_H

#include "support.h"

#include <heatball/problem.h>

static char directory[] = "/tmp/heatball-problem-XXXXXX";

static inline const char *file_in(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static inline const char *write_text(const char *name, const char *text)
{
    FILE *file = fopen(file_in(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return file_in(name);
}

/* For cmocka_run_group_tests. */
static inline int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static inline int remove_directory(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

static inline hb_problem *problem_of(hb_context *context, int dim, const char *drift,
                                     const char *noise, const char *initial)
{
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = dim;
    settings.drift = drift;
    settings.noise = noise;
    settings.initial = initial;
    settings.directory = directory;
    settings.time = 3;
    hb_problem *problem;
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    return problem;
}

#endif
