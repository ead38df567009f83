/* cli/named_set.h: a planar set by its name. */
#ifndef HB_CLI_NAMED_SET_H
#define HB_CLI_NAMED_SET_H

#include "session.h"

#include <heatball/data.h>

/* HB_ERROR_ARGUMENT lists the sets, with the nearest name. */
hb_status hb_named_set_open(hb_session *session, const char *name, hb_mixture **out);

#endif
