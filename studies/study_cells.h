/* studies/study_cells.h: the cells of a study: independent pieces of work, one training each.
 *
 * Each cell runs alone on a context of one thread, as many at a time as the caller's context has
 * threads. A finished cell leaves DIRECTORY/NAME.json: a fingerprint of everything that its numbers
 * depend on, and the numbers. So a study that was stopped goes on with --resume, loses only the
 * cells that were under way, and has the same bytes for every number of threads.
 *
 *     hb_cells cells = {.study = "planar", .format = "planar-2", .directory = runs, .n = n,
 *                       .describe = describe, .run = run, .take = take, .user = result};
 *     if (settings->resume) HB_TRY(hb_cells_read(context, &cells));
 *     HB_TRY(hb_cells_do(context, &cells));
 * / */
#pragma once

#include "study_tools.h"

typedef struct hb_cell {
    char name[64];      /* of its file, unique in the study */
    char settings[640]; /* all that its numbers depend on, in one line */
    double cost;        /* expected time in any unit: its share of the progress */
    int done;           /* its numbers are known: it is not run */
} hb_cell;

typedef struct hb_cells {
    const char *study;     /* the word of its progress and its messages */
    const char *format;    /* "planar-2": to be raised when the same settings mean other numbers */
    const char *directory; /* of the files; must be there */
    size_t n;
    int in_order; /* 1: cells start from the first to the last; 0: long ones first */
    int kept;     /* 1: files do not have all of it; every rank of a team does all, rank 0 writes */
    void *user;   /* of the functions below */
    /* Fills in a cleared *cell; the same at every call, but for done. */
    void (*describe)(const void *user, size_t i, hb_cell *cell);
    /* Does cell i, keeps its numbers in user and puts them into root, which is written to its file.
     * Called from several threads at a time, for different cells. */
    hb_status (*run)(hb_context *context, void *user, size_t i, json_t *root);
    /* The numbers of a finished cell i, from root into user: describe says done from now on, unless
     * something else is missing that the cell should have left. */
    void (*take)(void *user, size_t i, const json_t *root);
} hb_cells;

/* Takes over the cells whose files are there with this version, vector kernels and settings. */
hb_status hb_cells_read(hb_context *context, const hb_cells *cells);

/* Runs those that are not done. The progress counts the training of a cell (a report "train") and
 * the finished cells. After an error or a request to stop no cell starts, and those under way end
 * at their next report; the message has the name of the cell. */
hb_status hb_cells_do(hb_context *context, const hb_cells *cells);

/* Named numbers of a cell: root["values"], and back; NaN is null. */
typedef const char *hb_value_name(int index, char buffer[32]);
void hb_cells_put_values(json_t *root, int n, hb_value_name *name, const double *value);
void hb_cells_get_values(const json_t *root, int n, hb_value_name *name, double *value);
double hb_cells_number(const json_t *value); /* NaN for null or none */

/* Processor time of the calling thread in seconds: printed by studies, in no file. */
double hb_cells_seconds(void);
