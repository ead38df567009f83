/* The error of a score against tau, by region, both axes logarithmic: lines through points with bars of
 * one standard error. The grid has none: its points are the same in every run. */
#include "evaluate.h"
#include "plot_path.h"
#include "study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REGIONS = 4 };

static int by_tau(const void *a, const void *b)
{
    const double x = ((const hb_score_error *)a)->tau, y = ((const hb_score_error *)b)->tau;
    return (x > y) - (x < y);
}

/* Region k; work (4, n). */
static hb_status regions_add(hb_figure *figure, const char *label, int k, size_t n,
                             const hb_score_error *errors, double *work)
{
    double *x = work, *y = x + n, *low = y + n, *high = low + n;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const hb_score_error *e = &errors[i];
        const double values[REGIONS][2] = {
            {e->all, e->all_se}, {e->low, e->low_se}, {e->high, e->high_se}, {e->grid, 0}};
        const double value = values[k][0], se = values[k][1];
        if (!(value > 0)) continue;
        x[count] = e->tau;
        y[count] = value;
        low[count] = fmax(value - se, value / 100);
        high[count++] = value + se;
    }
    if (count == 0) return HB_OK;
    HB_TRY(hb_figure_series(figure, HB_STYLE_LINE, k, count, label, x, y, NULL, NULL));
    return hb_figure_series(figure, HB_STYLE_POINTS, k, count, NULL, x, y, low, high);
}

static hb_status regions_draw(hb_figure *figure, const char *title, size_t n,
                              const hb_score_error *errors, double *work)
{
    static const char *const labels[REGIONS] = {"all", "lowest 20 % of the mass", "the rest",
                                                "grid, u > 10^{-4}"};
    hb_panel_settings panel =
        hb_study_panel(title, "{/:Italic τ}", "mean squared error of the score");
    panel.log_x = panel.log_y = 1;
    HB_TRY(hb_figure_panel(figure, &panel));
    for (int k = 0; k < REGIONS; k++) HB_TRY(regions_add(figure, labels[k], k, n, errors, work));
    return HB_OK;
}

hb_status hb_evaluate_figure_write(hb_session *session, const char *title, size_t n,
                                   const hb_score_error *errors, const char *path)
{
    hb_figure *figure = NULL;
    double *work = malloc(4 * n * sizeof *work); // (4, n)
    hb_score_error *sorted = malloc(n * sizeof *sorted);
    hb_status status = work && sorted ? HB_OK : HB_ERROR_MEMORY;
    if (status == HB_OK) {
        memcpy(sorted, errors, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_tau);
        status = hb_figure_create(hb_session_context(session), 1, 1, 480, 720, &figure);
    }
    if (status == HB_OK) status = regions_draw(figure, title, n, sorted, work);
    status = hb_plot_path_write(figure, status, path);
    free(work);
    free(sorted);
    return status;
}
