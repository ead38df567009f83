/* heatball study NAME, one of the studies of studies/, and heatball reproduce, all of them and
 * one page, DIR/index.html, with the paper's numbers beside ours (studies/reproduce.c).
 *
 * A study writes its files into the directory of -o and its table into a stream in memory, which
 * is printed when it ends, also early: so the table and the progress line do not mix on a
 * terminal, and the rows that were finished are not lost. */
#include "commands.h"
#include "study.h"

#include <stdlib.h>
#include <string.h>

/* ---- what both share ---- */

#define HB_OPTION_QUICK                                                                            \
    HB_OPTION(FLAG, "quick", NULL, quick, "smaller and shorter: a first look in a minute or two")
#define HB_OPTION_RESUME                                                                           \
    HB_OPTION(FLAG, "resume", NULL, resume,                                                        \
              "keep the parts that an earlier run in the same directory has finished")

/* Runs one study, or all (NULL) or those of the list `only`; prints the tables and where the
 * results are. */
static hb_status study_run(hb_session *session, const hb_study *study, const char *only,
                           const hb_study_settings *settings)
{
    hb_context *context = hb_session_context(session);
    char *text = NULL;
    size_t size = 0;
    FILE *table = open_memstream(&text, &size);
    if (!table) return HB_ERROR_MEMORY;
    hb_status status =
        study ? study->run(context, settings, table) : hb_reproduce(context, settings, only, table);
    if (fclose(table) != 0 && status == HB_OK) status = HB_ERROR_MEMORY;
    hb_session_clear(session);
    if (!hb_session_quiet(session)) {
        if (text) fwrite(text, 1, size, stdout);
        if (status == HB_OK) printf("%s%s\n", settings->directory, study ? "" : "/index.html");
    }
    free(text);
    if (status == HB_ERROR_INTERRUPTED)
        return hb_session_fail(
            session, status,
            "interrupted; with --resume a new run keeps what is finished in %.200s",
            settings->directory);
    return status;
}

/* ---- one ---- */

typedef struct study_values {
    const char *name, *directory, *part;
    uint64_t seed;
    int quick, seeds, resume;
} study_values;

#define VALUES study_values
static const hb_option study_options[] = {
    HB_OPTION(TEXT, NULL, "NAME", name, "the name of a study, such as sampler",
              .rules = HB_OPTION_REQUIRED | HB_OPTION_POSITIONAL),
    HB_OPTION_QUICK,
    HB_OPTION(INTEGER, "seeds", "K", seeds,
              "number of independent repetitions; default: the study's own number", .min = 1,
              .max = 1000000),
    HB_OPTION(TEXT, "part", "PART", part,
              "only this part of the study; mnist has the part few, which needs no other"),
    HB_OPTION_RESUME,
    HB_OPTION_SEED(seed, "42"),
    HB_OPTION(TEXT, NULL, "DIR", directory, "the directory of the results; default: heatball-NAME",
              .letter = 'o'),
    {0}};

static hb_status refuse_name(hb_session *session, const char *name)
{
    enum { MOST = 32 };
    const char *names[MOST + 1] = {NULL};
    char list[200] = "";
    size_t n = 0, used = 0;
    for (const hb_study *const *study = hb_study_list(); *study && n < MOST; study++) {
        names[n++] = (*study)->name;
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", n > 1 ? ", " : "",
                                     (*study)->name);
    }
    const char *nearest = hb_options_nearest(name, names);
    HB_REFUSE_IF(session, nearest, "unknown study %.80s; there is: %s (did you mean %s?)", name,
                 list, nearest);
    return hb_session_refuse(session, "unknown study %.80s; there is: %s", name, list);
}

static hb_status run_study(hb_session *session, const void *values)
{
    const study_values *v = values;
    const hb_study *study = hb_study_find(v->name);
    if (!study) return refuse_name(session, v->name);
    HB_REFUSE_IF(session, v->part && strcmp(study->name, "mnist") != 0,
                 "--part is given, but the study %s has no parts by name", study->name);
    char standard[128];
    snprintf(standard, sizeof standard, "heatball-%s", study->name);
    const hb_study_settings settings = {.directory = v->directory ? v->directory : standard,
                                        .seed = v->seed,
                                        .quick = v->quick,
                                        .seeds = v->seeds,
                                        .resume = v->resume,
                                        .part = v->part};
    return study_run(session, study, NULL, &settings);
}

const hb_command hb_command_study = {
    .name = "study",
    .summary = "run one study of the paper: its tables and figures",
    .text = "Runs a study and writes its tables (.csv) and figures (.svg, .png, with the .csv "
            "behind them) into a directory. The table is printed too, then the directory.",
    .examples = {"heatball study sampler --quick -o sampler-study",
                 "heatball study identities --quick --seed 7 -o identities-7",
                 "heatball study sampler --quick --resume -o sampler-study"},
    .options = study_options,
    .size = sizeof(study_values),
    .run = run_study};

/* ---- all ---- */

typedef struct reproduce_values {
    const char *only, *directory;
    uint64_t seed;
    int quick, resume, join;
} reproduce_values;

#undef VALUES
#define VALUES reproduce_values
static const hb_option reproduce_options[] = {
    HB_OPTION_QUICK,
    HB_OPTION(TEXT, "only", "LIST", only, "the names of studies separated by commas; default: all"),
    HB_OPTION_RESUME,
    HB_OPTION(FLAG, "join", NULL, join,
              "run nothing: make the page of the studies that have results in DIR, as heatball "
              "study NAME -o DIR/NAME leaves them"),
    HB_OPTION_SEED(seed, "42"),
    HB_OPTION(TEXT, NULL, "DIR", directory, "the directory of the results", .letter = 'o',
              .fallback = "heatball-demo"),
    {0}};

static hb_status run_reproduce(hb_session *session, const void *values)
{
    const reproduce_values *v = values;
    const hb_study_settings settings = {.directory = v->directory,
                                        .seed = v->seed,
                                        .quick = v->quick,
                                        .resume = v->resume,
                                        .join = v->join};
    return study_run(session, NULL, v->only, &settings);
}

const hb_command hb_command_reproduce = {
    .name = "reproduce",
    .summary = "run all studies and compare them with the paper on one page",
    .text =
        "Runs the studies, each into its directory, and writes DIR/index.html, which goes through "
        "the paper's claims in order, with its numbers beside ours, a verdict, tables and figures, "
        "and DIR/results.json with all numbers. The tables are printed too, then the path of the "
        "page. A study that cannot run leaves a sentence in its place, and the exit code is 1.",
    .examples = {"heatball reproduce --quick -o demo",
                 "heatball reproduce --quick --only identities,sampler -o two",
                 "heatball reproduce --quick --join -o two"},
    .options = reproduce_options,
    .size = sizeof(reproduce_values),
    .run = run_reproduce};
