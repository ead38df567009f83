/* The paper's sections and the list of corrections, in our words, from page_texts.json. They hold no results. */
#include "report_plan.h"
#include "study_tools.h"

hb_page_section hb_page_sections[HB_PAGE_SECTIONS + 1];
hb_page_correction hb_page_corrections[HB_PAGE_CORRECTIONS];

static const char *text_of(const json_t *list, size_t i, const char *field)
{
    return json_string_value(json_object_get(json_array_get(list, i), field));
}

void hb_page_sections_load(void)
{
    const json_t *sections = hb_study_texts("sections"), *list = hb_study_texts("corrections");
    for (size_t i = 0; i < HB_PAGE_SECTIONS; i++)
        hb_page_sections[i] =
            (hb_page_section){text_of(sections, i, "number"), text_of(sections, i, "title"),
                              text_of(sections, i, "about")};
    for (size_t i = 0; i < HB_PAGE_CORRECTIONS; i++)
        hb_page_corrections[i] =
            (hb_page_correction){text_of(list, i, "title"), text_of(list, i, "text")};
}
