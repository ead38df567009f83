/* base/setting_rows.h: what the library does with the rows of a settings struct
 * (heatball/settings.h). A table ends with a row without a name. */
#pragma once

#include "base/sized.h"

#include <heatball/settings.h>
#include <stddef.h>

/* The defaults into all fields that the rows have. */
void hb_setting_rows_default(const hb_setting *rows, void *settings);
/* HB_ERROR_ARGUMENT with name, value and range of the first field that is out of its range. */
hb_status hb_setting_rows_check(hb_context *context, const hb_setting *rows, const void *settings);
/* name=value for every field that the result depends on, each with a blank behind it; returns its
 * length. */
size_t hb_setting_rows_print(const hb_setting *rows, const void *settings, size_t size, char *out);

/* Rows of a file that defines SETTINGS as the type of its struct before it includes this. The type
 * of a field tells its kind; NUMBER shows the default as it is written, SHOWN with another text. */
#ifdef SETTINGS
enum { RESULT = HB_SETTING_RULE_RESULT, ASIDE = 0 };
enum { ABOVE = HB_SETTING_RULE_ABOVE, BELOW = HB_SETTING_RULE_BELOW };

#define AT(field) .name = #field, .offset = offsetof(SETTINGS, field)
#define KIND(field)                                                                                \
    .kind = _Generic(((SETTINGS *)0)->field, int                                                   \
                     : HB_SETTING_KIND_INTEGER, uint64_t                                           \
                     : HB_SETTING_KIND_UNSIGNED, double                                            \
                     : HB_SETTING_KIND_REAL)
#define SHOWN(field, as, text, value, low, high, says)                                             \
    {                                                                                              \
        AT(field), KIND(field), .rules = (as), .fallback = (value), .shown = (text), .min = (low), \
                                .max = (high), .help = (says)                                      \
    }
#define NUMBER(field, as, value, low, high, says) SHOWN(field, as, #value, value, low, high, says)
/* A number whose range is told in words. */
#define TOLD(field, as, value, low, high, must, says)                                              \
    {                                                                                              \
        AT(field), KIND(field), .rules = (as), .fallback = (value), .shown = #value, .min = (low), \
                                .max = (high), .help = (says), .range = (must)                     \
    }
#define FLAG(field, as, says)                                                                      \
    {                                                                                              \
        AT(field), .kind = HB_SETTING_KIND_FLAG, .rules = (as), .shown = "0", .help = (says)       \
    }
#define CHOICE(field, as, value, text, list, says)                                                 \
    {                                                                                              \
        AT(field), .kind = HB_SETTING_KIND_CHOICE, .rules = (as), .fallback = (value),             \
                   .shown = (text), .names = (list), .help = (says)                                \
    }
#define POINTER(field, says)                                                                       \
    {                                                                                              \
        AT(field), .kind = HB_SETTING_KIND_POINTER, .help = (says)                                 \
    }

/* The public functions of a table: hb_NAME_settings_default and hb_NAME_setting. */
#define SETTING_FUNCTIONS(name, table)                                                             \
    void hb_##name##_settings_default(size_t size, SETTINGS *settings)                             \
    {                                                                                              \
        SETTINGS defaults = {0};                                                                   \
        hb_setting_rows_default((table), &defaults);                                               \
        hb_sized_default(sizeof defaults, &defaults, size, settings);                              \
    }                                                                                              \
    const hb_setting *hb_##name##_setting(size_t index)                                            \
    {                                                                                              \
        return index + 1 < sizeof(table) / sizeof *(table) ? &(table)[index] : NULL;               \
    }
#endif
