/* heatball reproduce: all studies and one page, DIR/index.html, with the paper's numbers beside
 * ours. What it does is in studies/reproduce.c; here are its options. */
#include "commands.h"
#include "study.h"
#include "study_output.h"

typedef struct reproduce_values {
    const char *only, *directory;
    uint64_t seed;
    int quick, resume, join;
} reproduce_values;

#define VALUES reproduce_values
static const hb_option reproduce_options[] = {
    HB_OPTION_QUICK(reproduce_values, quick),
    HB_OPTION(TEXT, "only", "LIST", only, "the names of studies separated by commas; default: all"),
    HB_OPTION_RESUME(reproduce_values, resume),
    HB_OPTION(FLAG, "join", NULL, join,
              "run nothing: make the page of the studies that have results in DIR, as heatball "
              "study NAME -o DIR/NAME leaves them"),
    HB_OPTION_SEED(reproduce_values, seed, "42"),
    HB_OPTION(TEXT, NULL, "DIR", directory, "the directory of the results", .letter = 'o',
              .fallback = "heatball-demo"),
    {0}};

typedef struct reproduce_call {
    const hb_study_settings *settings;
    const char *only;
} reproduce_call;

static hb_status call_reproduce(hb_context *context, const void *user, FILE *table)
{
    const reproduce_call *call = user;
    return hb_reproduce(context, call->settings, call->only, table);
}

static hb_status run_reproduce(hb_session *session, const void *values)
{
    const reproduce_values *v = values;
    const hb_study_settings settings = {.directory = v->directory,
                                        .seed = v->seed,
                                        .quick = v->quick,
                                        .resume = v->resume,
                                        .join = v->join};
    const reproduce_call call = {&settings, v->only};
    return hb_study_output(session, call_reproduce, &call, settings.directory, "/index.html");
}

const hb_command hb_command_reproduce = {
    .name = "reproduce",
    .summary = "run all studies and write one page with the paper's numbers beside ours",
    .text =
        "Runs the studies, each into its directory, and writes DIR/index.html, which goes through "
        "the paper's claims in order, with its numbers beside ours, a verdict, tables and figures, "
        "and DIR/results.json with all numbers. The tables are printed too, then the path of the "
        "page. A study that cannot run leaves a sentence in its place, and the exit code is 1.",
    .example = "heatball reproduce --quick -o demo",
    .options = reproduce_options,
    .size = sizeof(reproduce_values),
    .run = run_reproduce};
