/* studies/study.h: the paper's experiments, written against the public headers only.
 *
 * A study runs into one directory and leaves there NAME.csv (its table), NAME.json (all numbers,
 * settings, seed, version, and its claims) and its figures. hb_reproduce runs the studies into
 * DIR/NAME/ and makes one page, DIR/index.html, from their NAME.json. Files hold no times: the same
 * settings give the same bytes, for every number of threads. */
#pragma once

#include <heatball/plot.h>
#include <stdio.h>

typedef struct hb_study_settings {
    const char *directory; /* made when it is missing */
    uint64_t seed;
    int quick;        /* smaller, for a first look */
    int seeds;        /* independent repetitions; 0: the study's own number */
    int resume;       /* keep the parts that an earlier run has finished */
    const char *part; /* only this part of a study that has parts by name; NULL: all of it */
    int join;         /* hb_reproduce: a page of the results that are there, nothing is run */
} hb_study_settings;

typedef struct hb_study {
    const char *name, *title;
    /* table (may be NULL) gets the results as plain text. */
    hb_status (*run)(hb_context *context, const hb_study_settings *settings, FILE *table);
} hb_study;

const hb_study *hb_study_find(const char *name); /* NULL: there is none of that name */
const hb_study *const *hb_study_list(void);      /* ends with NULL */

/* only: names separated by commas, or NULL for all. With join, studies without results are left
 * out; the others must all be quick or all full, and of one seed. */
hb_status hb_reproduce(hb_context *context, const hb_study_settings *settings, const char *only,
                       FILE *table);

/* For qsort, also by the command's figures: doubles, or structs that begin with one, from small to
 * large. */
int hb_study_by_value(const void *a, const void *b);

/* For the figures of studies and command: a panel with these texts (NULL: none) and no limits of
 * its own; its limits. */
hb_panel_settings hb_study_panel(const char *title, const char *x_label, const char *y_label);
void hb_study_panel_range(hb_panel_settings *panel, double x_min, double x_max, double y_min,
                          double y_max);
