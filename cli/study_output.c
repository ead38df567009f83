/* Table of a study: collected in memory while progress owns the terminal, printed when the study
 * ends, also when it ends early, so that the rows that were finished are not lost. */
#include "study_output.h"

#include <stdlib.h>

hb_status hb_study_output(hb_session *session, hb_study_run run, const void *user,
                          const char *directory, const char *page)
{
    char *text = NULL;
    size_t size = 0;
    FILE *table = open_memstream(&text, &size);
    if (!table) return HB_ERROR_MEMORY;
    hb_status status = run(hb_session_context(session), user, table);
    if (fclose(table) != 0 && status == HB_OK) status = HB_ERROR_MEMORY;
    hb_session_clear(session);
    if (!hb_session_quiet(session)) {
        if (text) fwrite(text, 1, size, stdout);
        if (status == HB_OK) printf("%s%s\n", directory, page);
    }
    free(text);
    if (status == HB_ERROR_INTERRUPTED)
        return hb_session_fail(
            session, status,
            "interrupted; with --resume a new run keeps what is finished in %.200s", directory);
    return status;
}
