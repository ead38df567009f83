/* What users may know of the methods: names, one line each, and the settings that they read. */
#include "solve/method.h"
#include "solve/solve_settings.h"

#include <string.h>

enum { MOST_METHODS = 16 };

static const hb_method_description AUTO = {
    .method = HB_METHOD_AUTO,
    .name = "auto",
    .summary = "chooses: closed forms, the grid in dimension 1 to 3, else trajectories and walks, "
               "each where it has the smaller error",
    .reads = ~0U};

int hb_method_info(int index, hb_method_description *out)
{
    int k = 0;
    if (index == 0) *out = AUTO;
    if (index <= 0) return index == 0;
    for (const hb_method_ops *const *row = hb_methods; *row; row++) {
        if (!(*row)->summary || ++k < index) continue;
        *out = (hb_method_description){.method = (*row)->method,
                                       .name = (*row)->name,
                                       .summary = (*row)->summary,
                                       .reads = (*row)->reads,
                                       .on_grid = (*row)->on_grid};
        return 1;
    }
    return 0;
}

const char *const *hb_method_names(void)
{
    static const char *names[MOST_METHODS + 1];
    hb_method_description info;
    for (int k = 0; k < MOST_METHODS && hb_method_info(k, &info); k++) names[k] = info.name;
    return names;
}

/* The method of this value, or NULL. */
static const hb_method_description *find_method(int method, hb_method_description *info)
{
    for (int k = 0; hb_method_info(k, info); k++)
        if (info->method == method) return info;
    return NULL;
}

const char *hb_method_name(int method)
{
    hb_method_description info;
    return find_method(method, &info) ? info.name : NULL;
}

unsigned hb_method_reads(int method)
{
    hb_method_description info;
    return find_method(method, &info) ? info.reads : 0;
}

const char *hb_method_unread(unsigned given, const char *chosen)
{
    hb_method_description info;
    for (int k = 1; hb_method_info(k, &info); k++) {
        const unsigned unread = given & ~info.reads;
        if (strcmp(info.name, chosen) == 0 && unread)
            return hb_solve_setting_name(unread & -unread);
    }
    return NULL;
}
