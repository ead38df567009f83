/* The error of a score against tau, by region, both axes logarithmic: lines through points with bars of
 * one standard error. The grid has none: its points are the same in every run. */
#include "evaluate.h"
#include "plot_path.h"
#include "study.h"

#include <math.h>
#include <stdlib.h>

enum { REGIONS = 4 };

/* Value and standard error of region k. */
static void region_of(const hb_score_error *e, int k, double *value, double *se)
{
    const double values[REGIONS] = {e->all, e->low, e->high, e->grid};
    const double errors[REGIONS] = {e->all_se, e->low_se, e->high_se, 0};
    *value = values[k];
    *se = errors[k];
}

static int by_tau(const void *a, const void *b)
{
    const double x = ((const hb_score_error *)a)->tau, y = ((const hb_score_error *)b)->tau;
    return (x > y) - (x < y);
}

/* work (4, n). */
static hb_status add_region(hb_figure *figure, const char *label, int k, size_t n,
                            const hb_score_error *errors, double *work)
{
    double *x = work, *y = x + n, *low = y + n, *high = low + n;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        double se;
        region_of(&errors[i], k, &y[count], &se);
        if (!(y[count] > 0)) continue;
        x[count] = errors[i].tau;
        low[count] = fmax(y[count] - se, y[count] / 100);
        high[count] = y[count] + se;
        count++;
    }
    if (count == 0) return HB_OK;
    HB_TRY(hb_figure_series(figure, HB_STYLE_LINE, k, count, label, x, y, NULL, NULL));
    return hb_figure_series(figure, HB_STYLE_POINTS, k, count, NULL, x, y, low, high);
}

static hb_status draw(hb_figure *figure, const char *title, size_t n, const hb_score_error *errors,
                      double *work)
{
    static const char *const labels[REGIONS] = {"all", "lowest 20 % of the mass", "the rest",
                                                "grid, u > 10^{-4}"};
    hb_panel_settings panel =
        hb_study_panel(title, "{/:Italic τ}", "mean squared error of the score");
    panel.log_x = panel.log_y = 1;
    hb_status status = hb_figure_panel(figure, &panel);
    for (int k = 0; status == HB_OK && k < REGIONS; k++)
        status = add_region(figure, labels[k], k, n, errors, work);
    return status;
}

hb_status hb_evaluate_figure_write(hb_session *session, const char *title, size_t n,
                                   const hb_score_error *errors, const char *path)
{
    hb_figure *figure = NULL;
    double *work = malloc(4 * n * sizeof *work); // (4, n)
    hb_score_error *sorted = malloc(n * sizeof *sorted);
    hb_status status = work && sorted ? HB_OK : HB_ERROR_MEMORY;
    if (status == HB_OK) {
        for (size_t i = 0; i < n; i++) sorted[i] = errors[i];
        qsort(sorted, n, sizeof *sorted, by_tau);
        status = hb_figure_create(hb_session_context(session), 1, 1, 480, 720, &figure);
    }
    if (status == HB_OK) status = draw(figure, title, n, sorted, work);
    status = hb_plot_path_write(figure, status, path);
    free(work);
    free(sorted);
    return status;
}
