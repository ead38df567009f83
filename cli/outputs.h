/* cli/outputs.h: the files that a run will write, so that none of them is one that it reads. */
#pragma once

#include "options.h"

typedef struct hb_outputs hb_outputs;

hb_outputs *hb_outputs_create(void); /* NULL: no memory */
void hb_outputs_destroy(hb_outputs *outputs);

/* Adds a file that the run will write, named on the line by `option`. HB_ERROR_ARGUMENT: it is
 * another output already; message holds one sentence. A device or a pipe may be named twice. */
hb_status hb_outputs_add(hb_outputs *outputs, const char *option, const char *path,
                         char message[HB_OPTIONS_MESSAGE]);
/* The files of a figure: the picture, its numbers (NAME.plot.csv) and its script (NAME.gp). */
hb_status hb_outputs_add_figure(hb_outputs *outputs, const char *option, const char *path,
                                char message[HB_OPTIONS_MESSAGE]);
/* Every output that the tables of options declare (HB_OPTION_WRITES, HB_OPTION_FIGURE). */
hb_status hb_outputs_declare(hb_outputs *outputs, const hb_option_section *sections,
                             char message[HB_OPTIONS_MESSAGE]);
/* HB_ERROR_ARGUMENT when the file, which is about to be read, is one of the outputs: by its
 * path, or by device and inode, so that links and other spellings are seen. */
hb_status hb_outputs_check_input(const hb_outputs *outputs, const char *path,
                                 char message[HB_OPTIONS_MESSAGE]);
