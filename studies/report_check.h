/* studies/report_check.h: results of studies that may come from elsewhere. */
#ifndef HB_STUDIES_REPORT_CHECK_H
#define HB_STUDIES_REPORT_CHECK_H

#include "study.h"

#include <jansson.h>

/* HB_ERROR_FORMAT where the result of a study, read from the path, has types or names that it may not have. */
hb_status hb_page_check(hb_context *context, const char *path, const char *study,
                        const json_t *result);

#endif
