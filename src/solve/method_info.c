/* What users may know of the methods: names, one line each, and the settings that they read. */
#include "solve/solve_parts.h"

#include <string.h>

enum { MOST_METHODS = 16 };

static const hb_method_description AUTO = {
    .method = HB_METHOD_AUTO,
    .name = "auto",
    .summary = "chooses: closed forms, the grid in dimension 1 to 3, else trajectories and walks, "
               "each where it has the smaller error",
    .reads = ~0U};

const hb_method_description *hb_method_info(int index)
{
    int k = 0;
    if (index <= 0) return index == 0 ? &AUTO : NULL;
    for (const hb_method_ops *const *row = hb_methods; *row; row++)
        if ((*row)->info.summary && ++k == index) return &(*row)->info;
    return NULL;
}

const char *const *hb_method_names(void)
{
    static const char *names[MOST_METHODS + 1];
    for (int k = 0; k < MOST_METHODS && hb_method_info(k); k++) names[k] = hb_method_info(k)->name;
    return names;
}

const hb_method_description *hb_method_of(int method)
{
    const hb_method_description *info;
    for (int k = 0; (info = hb_method_info(k)); k++)
        if (info->method == method) return info;
    return NULL;
}

const char *hb_method_unread(unsigned given, const char *chosen)
{
    const hb_method_description *info;
    for (int k = 1; (info = hb_method_info(k)); k++) {
        const unsigned unread = given & ~info->reads;
        if (strcmp(info->name, chosen) == 0 && unread)
            return hb_solve_setting_name(unread & -unread);
    }
    return NULL;
}
