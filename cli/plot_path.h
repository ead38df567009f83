/* cli/plot_path.h: the --plot option of the commands: which names it takes, and writing the
 * figure. */
#pragma once

#include "session.h"

#include <heatball/plot.h>

/* HB_ERROR_ARGUMENT unless path (NULL is fine) ends in .svg, .png or .pdf. */
hb_status hb_plot_path_check(hb_session *session, const char *path);
/* Writes the figure, unless it was drawn with a failure, in the format of the name, and destroys
 * it; its .plot.csv and .gp go beside it. */
hb_status hb_plot_path_write(hb_figure *figure, hb_status drawn, const char *path);
