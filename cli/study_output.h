/* cli/study_output.h: what the commands study and reproduce share. */
#ifndef HB_CLI_STUDY_OUTPUT_H
#define HB_CLI_STUDY_OUTPUT_H

#include "session.h"

#define HB_OPTION_QUICK(type, field)                                                               \
    {                                                                                              \
        .name = "quick", .kind = HB_OPTION_FLAG,                                                   \
        .help = "smaller and shorter: a first look in a minute or two",                            \
        .offset = offsetof(type, field)                                                            \
    }
#define HB_OPTION_RESUME(type, field)                                                              \
    {                                                                                              \
        .name = "resume", .kind = HB_OPTION_FLAG,                                                  \
        .help = "keep the parts that an earlier run in the same directory has finished",           \
        .offset = offsetof(type, field)                                                            \
    }

typedef hb_status (*hb_study_run)(hb_context *context, const void *user, FILE *table);

/* Runs, then prints the table and the path directory + page on stdout; neither when quiet. */
hb_status hb_study_output(hb_session *session, hb_study_run run, const void *user,
                          const char *directory, const char *page);

#endif
