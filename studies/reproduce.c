/* hb_reproduce: the studies one after the other, then one page.
 *
 * A study that fails does not take the others with it: the page says in its place why it could not
 * run, and the call fails at the end, when all files are there. Only a request to stop ends
 * everything.
 *
 * Progress is one line for all studies. Each runs on a context of its own, whose reports become
 *     done = seconds of the studies before + seconds of this one * (share of it that is done)
 * in seconds of a machine of two cores; how fast they pass here is measured by whoever shows the
 * line. A study tells its share by reports under its own name; those of single calls say nothing
 * about the whole and only ask whether to stop. */
#include "report_page.h"

#include <heatball/team.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_STUDIES = 32 };

/* ---- time ---- */

/* Seconds of a study on two cores, quick and full: they set its share of the progress line. */
static double seconds_of(const char *study, int quick)
{
    static const struct {
        const char *name;
        double quick, full;
    } costs[] = {{"identities", 3, 30}, {"sampler", 4, 4},       {"bistable", 10, 90},
                 {"planar", 35, 3300},  {"dimension", 15, 2200}, {"density", 10, 2900},
                 {"drift", 12, 800},    {"mnist", 28, 3000}};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        if (strcmp(costs[i].name, study) == 0) return quick ? costs[i].quick : costs[i].full;
    return 10;
}

typedef struct run_progress {
    hb_context *caller;
    const char *study;
    char what[80]; /* "study 2 of 5: planar" */
    double before, own, done, total;
} run_progress;

static int on_progress(void *user, const char *what, double done, double total)
{
    run_progress *p = user;
    if (strcmp(what, p->study) == 0 && total > 0)
        p->done = fmax(p->done, p->before + p->own * fmin(1, done / total));
    return hb_context_progress(p->caller, p->what, p->done / p->total, 1) != HB_OK;
}

static int isa_of(const hb_context *context)
{
    static const struct {
        const char *name;
        hb_isa isa;
    } sets[] = {{"avx512", HB_ISA_AVX512},
                {"avx2", HB_ISA_AVX2},
                {"sse2", HB_ISA_SSE2},
                {"scalar", HB_ISA_SCALAR}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (strcmp(sets[i].name, hb_context_isa(context)) == 0) return sets[i].isa;
    return HB_ISA_AUTO;
}

/* ---- one study ---- */

/* Runs on a context that reports to p->caller; what it says of an error is passed on. */
static hb_status run_watched(run_progress *p, const hb_study *study,
                             const hb_study_settings *settings, FILE *table)
{
    hb_context_settings inner;
    hb_context *context;
    hb_context_settings_default(sizeof inner, &inner);
    inner.threads = hb_context_threads(p->caller);
    inner.isa = isa_of(p->caller);
    inner.team = hb_context_team(p->caller);
    inner.progress = on_progress;
    inner.progress_user = p;
    HB_TRY(hb_context_progress(p->caller, p->what, p->done / p->total, 1));
    hb_status status = hb_context_create(&inner, &context);
    if (status != HB_OK) return hb_study_fail(p->caller, status, "no memory for a study");
    status = study->run(context, settings, table);
    if (status != HB_OK) {
        const char *message = hb_context_message(context);
        hb_context_fail(p->caller, status, message[0] ? message : hb_status_text(status));
    }
    hb_context_destroy(context);
    return status;
}

/* Into DIR/NAME. */
static hb_status run_into(run_progress *p, const hb_study *study, const hb_study_settings *settings,
                          FILE *table)
{
    char *directory;
    HB_TRY(hb_study_path(p->caller, settings->directory, study->name, &directory));
    hb_study_settings inner = *settings;
    inner.directory = directory;
    const hb_status status = run_watched(p, study, &inner, table);
    hb_study_print(table, "\n");
    free(directory);
    return status;
}

/* ---- all ---- */

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
        char name[64], names[256] = "";
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        if (hb_study_find(name)) continue;
        for (const hb_study *const *study = hb_study_list(); *study; study++) {
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

/* Runs the n studies; the reason of one that fails is kept, to be given to free(). */
static hb_status run_all(hb_context *context, const hb_study_settings *settings, size_t n,
                         hb_page_entry *entries, char **reasons, FILE *table)
{
    run_progress p = {.caller = context};
    for (size_t i = 0; i < n; i++) p.total += seconds_of(entries[i].study->name, settings->quick);
    for (size_t i = 0; i < n; i++) {
        const hb_study *study = entries[i].study;
        p.study = study->name;
        p.own = seconds_of(study->name, settings->quick);
        p.done = p.before;
        snprintf(p.what, sizeof p.what, "study %zu of %zu: %s", i + 1, n, study->name);
        const hb_status status = run_into(&p, study, settings, table);
        if (status == HB_ERROR_INTERRUPTED || status == HB_ERROR_MEMORY) return status;
        if (status != HB_OK) {
            reasons[i] = strdup(hb_context_message(context));
            entries[i].skipped = reasons[i] ? reasons[i] : hb_status_text(status);
        }
        p.before += p.own;
    }
    return HB_OK;
}

/* HB_OK, or a failure that names the first study that could not run. */
static hb_status judge_run(hb_context *context, const hb_study_settings *settings, size_t n,
                           const hb_page_entry *entries)
{
    for (size_t i = 0; i < n; i++)
        if (entries[i].skipped)
            return hb_study_fail(context, HB_ERROR_CALLBACK,
                                 "the study %s could not run, %s/index.html says so in its place: "
                                 "%.250s",
                                 entries[i].study->name, settings->directory, entries[i].skipped);
    return HB_OK;
}

/* ---- joined ---- */

/* DIR/NAME/NAME.json of the study, or NULL where there is no such file. */
static hb_status result_of(hb_context *context, const hb_study_settings *settings, const char *name,
                           json_t **result)
{
    char relative[256], *path;
    json_error_t error;
    hb_status status = HB_OK;
    snprintf(relative, sizeof relative, "%s/%s.json", name, name);
    HB_TRY(hb_study_path(context, settings->directory, relative, &path));
    *result = hb_page_read_json(path, &error);
    if (!*result && access(path, F_OK) == 0)
        status = hb_study_fail(context, HB_ERROR_FORMAT, "cannot read %s: %s", path, error.text);
    free(path);
    return status;
}

/* Is the study's result of this kind of run? */
static hb_status check_result(hb_context *context, const hb_study_settings *settings,
                              const char *name, const json_t *result)
{
    const char *command = json_string_value(json_object_get(result, "command"));
    const char *seed = json_string_value(json_object_get(result, "seed"));
    if (!command || !seed || !seed[0] || seed[strspn(seed, "0123456789")])
        return hb_study_fail(context, HB_ERROR_FORMAT, "%s/%s/%s.json is no result of a study",
                             settings->directory, name, name);
    if (!strstr(command, " --quick") != !settings->quick)
        return hb_study_fail(
            context, HB_ERROR_ARGUMENT, "the study %s is of a %s run; %s --quick, or run it again",
            name, settings->quick ? "full" : "quick", settings->quick ? "leave out" : "join with");
    if (strtoull(seed, NULL, 10) != settings->seed)
        return hb_study_fail(context, HB_ERROR_ARGUMENT,
                             "the study %s has the seed %s; join with --seed %s, or run it again",
                             name, seed, seed);
    return HB_OK;
}

static hb_status join(hb_context *context, const hb_study_settings *settings, const char *only,
                      FILE *table)
{
    hb_page_entry entries[MOST_STUDIES] = {{0}};
    size_t n = 0;
    for (const hb_study *const *study = hb_study_list(); *study && n < MOST_STUDIES; study++) {
        json_t *result = NULL;
        if (is_chosen(only, (*study)->name))
            HB_TRY(result_of(context, settings, (*study)->name, &result));
        if (!result) continue;
        const hb_status status = check_result(context, settings, (*study)->name, result);
        json_decref(result);
        HB_TRY(status);
        entries[n++].study = *study;
    }
    if (n == 0)
        return hb_study_fail(context, HB_ERROR_ARGUMENT,
                             "%s has no results of a study; heatball study NAME -o %s/NAME makes "
                             "some",
                             settings->directory, settings->directory);
    return hb_page_write(context, settings, only, n, entries, table);
}

hb_status hb_reproduce(hb_context *context, const hb_study_settings *settings, const char *only,
                       FILE *table)
{
    HB_TRY(check_names(context, only));
    if (settings->join) return join(context, settings, only, table);
    HB_TRY(hb_study_make_directory(context, settings->directory));
    hb_page_entry entries[MOST_STUDIES] = {{0}};
    char *reasons[MOST_STUDIES] = {NULL};
    size_t n = 0;
    for (const hb_study *const *study = hb_study_list(); *study && n < MOST_STUDIES; study++)
        if (is_chosen(only, (*study)->name)) entries[n++].study = *study;
    hb_status status = run_all(context, settings, n, entries, reasons, table);
    if (status == HB_OK) status = hb_page_write(context, settings, only, n, entries, table);
    if (status == HB_OK) status = judge_run(context, settings, n, entries);
    for (size_t i = 0; i < n; i++) free(reasons[i]);
    return status;
}
