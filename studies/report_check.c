/* What a result file may hold, checked before any of it reaches the page.
 *
 * NAME.json may come from elsewhere (reproduce --join), and its names become ids, links and names
 * of files. So
 *     a name      is 1 to 100 letters, digits, '-', '_' and '.', and does not begin with '.'
 *     claims      objects with the name `id` and, where they are there, the names `table` and
 *                 `figure`
 *     tables      objects with the name `name`, texts `columns`, and `rows` of texts
 *     figures     objects with the name `name`
 * Other entries are texts that the page escapes. */
#include "report_page.h"

#include <string.h>

static int is_name(const json_t *value)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    const char *text = json_string_value(value);
    const size_t n = text ? strlen(text) : 0;
    return n >= 1 && n <= 100 && text[0] != '.' && strspn(text, allowed) == n;
}

static int are_texts(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_string(json_array_get(list, i))) return 0;
    return json_is_array(list);
}

static int are_rows(const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (!are_texts(json_array_get(rows, i))) return 0;
    return json_is_array(rows);
}

/* Missing, null, "" or a name. */
static int may_name(const json_t *value)
{
    return !value || json_is_null(value) || (json_is_string(value) && !json_string_length(value)) ||
           is_name(value);
}

static int is_claim(const json_t *entry)
{
    const char *verdict = json_string_value(json_object_get(entry, "verdict"));
    for (const char *c = verdict; c && *c; c++)
        if ((unsigned char)*c < ' ') return 0; /* it is printed on terminals */
    return verdict && is_name(json_object_get(entry, "id")) &&
           may_name(json_object_get(entry, "table")) && may_name(json_object_get(entry, "figure"));
}

static int is_table(const json_t *entry)
{
    return is_name(json_object_get(entry, "name")) &&
           are_texts(json_object_get(entry, "columns")) && are_rows(json_object_get(entry, "rows"));
}

static int is_figure(const json_t *entry)
{
    return is_name(json_object_get(entry, "name"));
}

hb_status hb_page_check(hb_context *context, const char *path, const char *study,
                        const json_t *result)
{
    static const struct {
        const char *key;
        int (*is_good)(const json_t *entry);
    } lists[] = {{"claims", is_claim}, {"tables", is_table}, {"figures", is_figure}};
    if (strcmp(hb_page_string(result, "study"), study) != 0)
        return hb_study_fail(context, HB_ERROR_FORMAT,
                             "%s is no result of the study %s; run that study again", path, study);
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        const json_t *list = json_object_get(result, lists[k].key);
        int good = !list || json_is_array(list);
        size_t i = 0;
        while (good && i < json_array_size(list))
            good = lists[k].is_good(json_array_get(list, i++));
        if (!good)
            return hb_study_fail(
                context, HB_ERROR_FORMAT,
                "%s is damaged: entry %zu of its %s has a value of the wrong type, or a "
                "name that is not of letters, digits, - _ and .; run the study %s again",
                path, i, lists[k].key, study);
    }
    return HB_OK;
}
