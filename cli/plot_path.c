/* The --plot option: a figure's name is DIR/STEM.svg, .png or .pdf, and the plot room writes
 * DIR/STEM.plot.csv and DIR/STEM.gp beside it; outputs.c sees to it that no other file has these
 * names. */
#include "plot_path.h"
#include "points.h"

#include <stdlib.h>
#include <string.h>

static int format_of(const char *path)
{
    return hb_points_has_extension(path, ".svg")   ? HB_FORMAT_SVG
           : hb_points_has_extension(path, ".png") ? HB_FORMAT_PNG
           : hb_points_has_extension(path, ".pdf") ? HB_FORMAT_PDF
                                                   : 0;
}

hb_status hb_plot_path_check(hb_session *session, const char *path)
{
    if (!path) return HB_OK;
    HB_REFUSE_IF(session, !format_of(path),
                 "--plot is %.200s; the name must end in .svg, .png or .pdf", path);
    return HB_OK;
}

hb_status hb_plot_path_write(hb_figure *figure, hb_status drawn, const char *path)
{
    hb_status status = drawn;
    char *stem = strndup(path, strlen(path) - 4);
    if (status == HB_OK)
        status = stem ? hb_figure_write(figure, format_of(path), stem) : HB_ERROR_MEMORY;
    hb_figure_destroy(figure);
    free(stem);
    return status;
}
