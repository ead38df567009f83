/* base/setting_rows.h: what the library does with the rows of a settings struct (heatball/settings.h). A table ends
 * with a row without a name. */
#ifndef HB_BASE_SETTING_ROWS_H
#define HB_BASE_SETTING_ROWS_H

#include <heatball/settings.h>
#include <stdio.h>

/* The defaults into all fields that the rows have. */
void hb_setting_rows_default(const hb_setting *rows, void *settings);
/* HB_ERROR_ARGUMENT with name, value and range of the first field that is out of its range. */
hb_status hb_setting_rows_check(hb_context *context, const hb_setting *rows, const void *settings);
/* name=value for every field that the result depends on, each with a blank behind it; returns its length. */
size_t hb_setting_rows_print(const hb_setting *rows, const void *settings, size_t size, char *out);

#endif
