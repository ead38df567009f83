/* heatball/settings.h: the fields of a settings struct as a table: name, type, default, range,
 * meaning.
 * Second tier: for bindings and tools.
 *
 * The library checks settings by these rows, fills in their defaults, and knows from them which a
 * checkpoint depends on; the options of the command and the keywords of the Python package are made
 * or checked by them. */
#ifndef HEATBALL_SETTINGS_H
#define HEATBALL_SETTINGS_H

#include <heatball/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hb_setting_kind {
    HB_SETTING_KIND_FLAG,     /* int: 0 or 1 */
    HB_SETTING_KIND_INTEGER,  /* int */
    HB_SETTING_KIND_UNSIGNED, /* uint64_t */
    HB_SETTING_KIND_REAL,     /* double */
    HB_SETTING_KIND_CHOICE,   /* int: a place in names */
    HB_SETTING_KIND_POINTER   /* any pointer, NULL by default; no range */
} hb_setting_kind;

typedef enum hb_setting_rule {
    HB_SETTING_RULE_ABOVE = 1,  /* a real must be above min, not at it */
    HB_SETTING_RULE_BELOW = 2,  /* and below max */
    HB_SETTING_RULE_RESULT = 4, /* the result depends on it: a checkpoint has it */
} hb_setting_rule;

typedef struct hb_setting {
    const char *name;  /* of the field */
    size_t offset;     /* of the field in its struct */
    int kind;          /* hb_setting_kind */
    int rules;         /* OR of hb_setting_rule */
    double fallback;   /* the default; NaN, or -1 of a choice: the library chooses */
    const char *shown; /* the default as one would type it */
    double min, max;   /* both 0: the whole range of its type */
    const char *const *(*names)(void); /* of a choice: ends with NULL */
    const char *help;                  /* what it means, without range and default */
    const char *range; /* what it must be, where min and max do not say it well; NULL: they do */
} hb_setting;

#ifdef __cplusplus
}
#endif
#endif
