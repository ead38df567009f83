/* Settings by their rows (setting_rows.h). Numbers are printed with 17 digits, so that two texts
 * are the same if and only if the settings are. A number to reproduce: 0.1 is printed as
 * 0.10000000000000001. */
#include "base/setting_rows.h"
#include "base/context.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A field as a number; a uint64_t above 2^53 is rounded. */
static double value_of(const hb_setting *row, const void *settings)
{
    const char *at = (const char *)settings + row->offset;
    if (row->kind == HB_SETTING_KIND_REAL) return *(const double *)(const void *)at;
    if (row->kind == HB_SETTING_KIND_UNSIGNED) return (double)*(const uint64_t *)(const void *)at;
    return *(const int *)(const void *)at;
}

void hb_setting_rows_default(const hb_setting *rows, void *settings)
{
    for (const hb_setting *row = rows; row->name; row++) {
        void *at = (char *)settings + row->offset;
        if (row->kind == HB_SETTING_KIND_POINTER)
            memset(at, 0, sizeof(void *));
        else if (row->kind == HB_SETTING_KIND_REAL)
            *(double *)at = row->fallback;
        else if (row->kind == HB_SETTING_KIND_UNSIGNED)
            *(uint64_t *)at = (uint64_t)row->fallback;
        else
            *(int *)at = (int)row->fallback;
    }
}

static double most_of(const hb_setting *row)
{
    int n = 0;
    if (row->kind != HB_SETTING_KIND_CHOICE) return row->max;
    while (row->names()[n]) n++;
    return n - 1;
}

/* "0 to 1"; "above 0, at most 10"; "at least 0 and below 1" */
static void say_range(const hb_setting *row, size_t size, char *out)
{
    const int above = row->rules & HB_SETTING_RULE_ABOVE,
              below = row->rules & HB_SETTING_RULE_BELOW;
    const int digits = row->kind == HB_SETTING_KIND_REAL ? 6 : 17;
    snprintf(out, size, "%s%.*g%s%.*g",
             above   ? "above "
             : below ? "at least "
                     : "",
             digits, row->min,
             below   ? " and below "
             : above ? ", at most "
                     : " to ",
             digits, most_of(row));
}

static hb_status check_row(hb_context *context, const hb_setting *row, const void *settings)
{
    const double value = value_of(row, settings), most = most_of(row);
    const int above = row->rules & HB_SETTING_RULE_ABOVE,
              below = row->rules & HB_SETTING_RULE_BELOW;
    const int bounded = row->kind == HB_SETTING_KIND_CHOICE || row->min != 0 || row->max != 0;
    const int chosen = value == row->fallback && value < row->min; /* the library chooses */
    if (!bounded || chosen || (isnan(value) && isnan(row->fallback))) return HB_OK;
    if ((above ? value > row->min : value >= row->min) && (below ? value < most : value <= most))
        return HB_OK;
    char range[100];
    say_range(row, sizeof range, range);
    return hb_fail(context, HB_ERROR_ARGUMENT, "%s is %.*g; it must be %s", row->name,
                   row->kind == HB_SETTING_KIND_REAL ? 6 : 17, value,
                   row->range ? row->range : range);
}

hb_status hb_setting_rows_check(hb_context *context, const hb_setting *rows, const void *settings)
{
    for (const hb_setting *row = rows; row->name; row++)
        if (row->kind != HB_SETTING_KIND_POINTER && row->kind != HB_SETTING_KIND_FLAG)
            HB_TRY(check_row(context, row, settings));
    return HB_OK;
}

size_t hb_setting_rows_print(const hb_setting *rows, const void *settings, size_t size, char *out)
{
    size_t used = 0;
    for (const hb_setting *row = rows; row->name; row++) {
        const char *at = (const char *)settings + row->offset;
        if (!(row->rules & HB_SETTING_RULE_RESULT) || used >= size) continue;
        const int n = row->kind == HB_SETTING_KIND_UNSIGNED
                          ? snprintf(out + used, size - used, "%s=%llu ", row->name,
                                     (unsigned long long)*(const uint64_t *)(const void *)at)
                          : snprintf(out + used, size - used, "%s=%.17g ", row->name,
                                     value_of(row, settings));
        used += (size_t)n;
    }
    return used < size ? used : size;
}
