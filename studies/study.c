/* The list of studies, and hb_reproduce: all of them, then one page.
 *
 * To add a study: write studies/NAME/NAME_study.c with an hb_study, add it to STUDIES here and its
 * sources to CMakeLists.txt. The page shows whatever its NAME.json says (report_page.c). */
#include "study.h"
#include "bistable/bistable.h"
#include "mnist/mnist.h"
#include "planar/planar.h"
#include "report_page.h"
#include "sampler/sampler.h"
#include "study_tools.h"

#include <stdlib.h>
#include <string.h>

static const hb_study *const STUDIES[] = {&hb_sampler_study, &hb_bistable_study, &hb_planar_study,
                                          &hb_mnist_study, NULL};

const hb_study *const *hb_study_list(void)
{
    return STUDIES;
}

const hb_study *hb_study_find(const char *name)
{
    for (const hb_study *const *study = STUDIES; *study; study++)
        if (strcmp((*study)->name, name) == 0) return *study;
    return NULL;
}

/* Is the name one of the comma-separated list? NULL: every name is. */
static int is_chosen(const char *only, const char *name)
{
    const size_t length = strlen(name);
    if (!only) return 1;
    for (const char *at = only; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, name, length) == 0) return 1;
    return 0;
}

/* Every entry of the list must be a study. */
static hb_status check_names(hb_context *context, const char *only)
{
    for (const char *at = only; at && *at; at += strcspn(at, ","), at += *at == ',') {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        if (hb_study_find(name)) continue;
        char names[256] = "";
        for (const hb_study *const *study = STUDIES; *study; study++) {
            const size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", (*study)->name);
        }
        return hb_study_fail(context, HB_ERROR_ARGUMENT, "there is no study '%s'; there is: %s",
                             name, names);
    }
    if (only && !only[0])
        return hb_study_fail(context, HB_ERROR_ARGUMENT, "the list of studies is empty");
    return HB_OK;
}

static hb_status run_into(hb_context *context, const hb_study *study,
                          const hb_study_settings *settings, FILE *table)
{
    char *directory;
    HB_STUDY_TRY(hb_study_path(context, settings->directory, study->name, &directory));
    hb_study_settings inner = *settings;
    inner.directory = directory;
    hb_status status = study->run(context, &inner, table);
    hb_study_print(table, "\n");
    free(directory);
    return status;
}

hb_status hb_reproduce(hb_context *context, const hb_study_settings *settings, const char *only,
                       FILE *table)
{
    HB_STUDY_TRY(check_names(context, only));
    HB_STUDY_TRY(hb_study_make_directory(context, settings->directory));
    const hb_study *done[sizeof STUDIES / sizeof *STUDIES] = {NULL};
    size_t n = 0;
    for (const hb_study *const *study = STUDIES; *study; study++) {
        if (!is_chosen(only, (*study)->name)) continue;
        HB_STUDY_TRY(run_into(context, *study, settings, table));
        done[n++] = *study;
    }
    return hb_report_write(context, settings, n, done, table);
}
