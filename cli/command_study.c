/* heatball study NAME: one of the studies of studies/, by name.
 *
 * The study writes its files into the directory of -o and its table into a stream in memory, which
 * is printed when it ends: so the table and the progress line do not mix on a terminal. */
#include "commands.h"
#include "study.h"
#include "study_output.h"

#include <heatball/base.h>
#include <string.h>

typedef struct study_values {
    const char *name, *directory, *part;
    uint64_t seed;
    int quick, seeds, resume;
} study_values;

#define VALUES study_values
static const hb_option study_options[] = {
    {.kind = HB_OPTION_TEXT,
     .placeholder = "NAME",
     .help = "the name of a study, such as sampler",
     .rules = HB_OPTION_REQUIRED | HB_OPTION_POSITIONAL,
     .offset = offsetof(study_values, name)},
    HB_OPTION_QUICK(study_values, quick),
    HB_OPTION(INTEGER, "seeds", "K", seeds,
              "number of independent repetitions; default: the study's own number", .min = 1,
              .max = 1000000),
    HB_OPTION(TEXT, "part", "PART", part,
              "only this part of the study; mnist has the part few, which needs no other"),
    HB_OPTION_RESUME(study_values, resume),
    HB_OPTION_SEED(study_values, seed, "42"),
    HB_OPTION(TEXT, NULL, "DIR", directory, "the directory of the results; default: heatball-NAME",
              .letter = 'o'),
    {0}};

static hb_status refuse_name(hb_session *session, const char *name)
{
    enum { MOST = 32 };
    const char *names[MOST];
    char list[200] = "";
    size_t n = 0, used = 0;
    for (const hb_study *const *study = hb_study_list(); *study && n < MOST; study++) {
        names[n++] = (*study)->name;
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", n > 1 ? ", " : "",
                                     (*study)->name);
    }
    const char *nearest = hb_options_nearest(name, n, names);
    if (nearest)
        return hb_session_refuse(session, "unknown study %.80s; there is: %s (did you mean %s?)",
                                 name, list, nearest);
    return hb_session_refuse(session, "unknown study %.80s; there is: %s", name, list);
}

typedef struct study_call {
    const hb_study *study;
    const hb_study_settings *settings;
} study_call;

static hb_status call_study(hb_context *context, const void *user, FILE *table)
{
    const study_call *call = user;
    return call->study->run(context, call->settings, table);
}

static hb_status run_study(hb_session *session, const void *values)
{
    const study_values *v = values;
    const hb_study *study = hb_study_find(v->name);
    if (!study) return refuse_name(session, v->name);
    if (v->part && strcmp(study->name, "mnist") != 0)
        return hb_session_refuse(session, "--part is given, but the study %s has no parts by name",
                                 study->name);
    char standard[128];
    snprintf(standard, sizeof standard, "heatball-%s", study->name);
    const hb_study_settings settings = {.directory = v->directory ? v->directory : standard,
                                        .seed = v->seed,
                                        .quick = v->quick,
                                        .seeds = v->seeds,
                                        .resume = v->resume,
                                        .part = v->part};
    const study_call call = {study, &settings};
    return hb_study_output(session, call_study, &call, settings.directory, "");
}

const hb_command hb_command_study = {
    .name = "study",
    .summary = "run one study of the paper: its tables and figures into a directory",
    .text = "Runs a study and writes its tables (.csv) and figures (.svg, .png, with the .csv "
            "behind them) into a directory. The table is printed too, then the directory.",
    .example = "heatball study sampler --quick -o sampler-study",
    .options = study_options,
    .size = sizeof(study_values),
    .run = run_study};
