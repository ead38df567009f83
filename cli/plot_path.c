/* The --plot option: a figure's name is DIR/STEM.svg, .png or .pdf, and the plot room writes DIR/STEM.csv
 * and DIR/STEM.gp beside it; so -o of the same command must not name that .csv file. */
#include "plot_path.h"
#include "points.h"

#include <stdlib.h>
#include <string.h>

static int format_of(const char *path)
{
    return hb_points_has_extension(path, ".svg")   ? HB_PLOT_SVG
           : hb_points_has_extension(path, ".png") ? HB_PLOT_PNG
           : hb_points_has_extension(path, ".pdf") ? HB_PLOT_PDF
                                                   : 0;
}

hb_status hb_plot_path_check(hb_session *session, const char *path, const char *results)
{
    if (!path) return HB_OK;
    if (!format_of(path))
        return hb_session_fail(session, HB_ERROR_ARGUMENT,
                               "--plot is %.200s; the name must end in .svg, .png or .pdf", path);
    const size_t stem = strlen(path) - 4;
    if (results && strlen(results) == stem + 4 && memcmp(path, results, stem) == 0 &&
        strcmp(results + stem, ".csv") == 0)
        return hb_session_fail(session, HB_ERROR_ARGUMENT,
                               "-o is %.200s, which is also the name of the numbers behind --plot; "
                               "choose another name",
                               results);
    return HB_OK;
}

hb_status hb_plot_path_write(hb_figure *figure, const char *path)
{
    char *stem = strdup(path);
    if (!stem) return HB_ERROR_MEMORY;
    stem[strlen(stem) - 4] = 0;
    const hb_status status = hb_figure_write(figure, stem, format_of(path));
    free(stem);
    return status;
}
