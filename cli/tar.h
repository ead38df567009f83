/* cli/tar.h: the members of a tar archive that was compressed by gzip (.tgz), one after the other. */
#ifndef HB_CLI_TAR_H
#define HB_CLI_TAR_H

#include "session.h"

enum { HB_TAR_NAME = 257 };

typedef struct hb_tar hb_tar;

hb_status hb_tar_open(hb_session *session, const char *path, hb_tar **out);
void hb_tar_close(hb_tar *tar); /* NULL is fine */
/* The next regular file of the archive, past what is left of the one before; name "" at the end. */
hb_status hb_tar_next(hb_tar *tar, char name[HB_TAR_NAME]);
/* The next bytes of this file, at most `capacity`; 0 at its end. */
hb_status hb_tar_read(hb_tar *tar, size_t capacity, void *out, size_t *bytes);

#endif
