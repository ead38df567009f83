/* The losses of a training against the step.
 *
 * The log is cut into fifty pieces: a line is the mean over each (a step's loss is mostly the
 * noise of its own draws), the band behind it goes from the tenth to the ninetieth percentile of
 * the piece. A method without constraint has one panel, the others a second one with the scaled
 * residual. Zeros (a constraint that is still off) have no place on a logarithmic axis and are
 * left out. */
#include "command_train.h"
#include "plot_path.h"
#include "study.h"

#include <math.h>
#include <stdlib.h>

enum { PIECES = 50 };

/* The rows with a positive value: x (n), y (n); returns their number. */
static size_t losses_positive(size_t n, const double *log, int column, double *x, double *y)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const double *row = log + i * HB_LOG_WIDTH;
        if (!(row[column] > 0)) continue;
        x[count] = row[HB_LOG_STEP];
        y[count++] = row[column];
    }
    return count;
}

/* Of one piece, each (PIECES). */
typedef struct pieces {
    double x[PIECES], mean[PIECES], low[PIECES], high[PIECES];
} pieces;

/* Sorts y piece by piece; returns how many there are. */
static size_t losses_cut(size_t n, const double *x, double *y, pieces *out)
{
    const size_t count = n < PIECES ? n : PIECES;
    for (size_t k = 0; k < count; k++) {
        const size_t first = k * n / count, size = (k + 1) * n / count - first;
        double sum = 0, place = 0;
        for (size_t i = first; i < first + size; i++) {
            sum += y[i];
            place += x[i];
        }
        qsort(y + first, size, sizeof *y, hb_study_by_value);
        out->x[k] = place / (double)size;
        out->mean[k] = sum / (double)size;
        out->low[k] = y[first + size / 10];
        out->high[k] = y[first + size - 1 - size / 10];
    }
    return count;
}

static hb_status losses_add(hb_figure *figure, const char *label, int color, size_t n,
                            const double *log, int column, double *x, double *y)
{
    pieces p;
    const size_t count = losses_cut(losses_positive(n, log, column, x, y), x, y, &p);
    if (count == 0) return HB_OK;
    HB_TRY(hb_figure_series(figure, HB_STYLE_BAND, color, count, NULL, p.x, NULL, p.low, p.high));
    return hb_figure_series(figure, HB_STYLE_LINE, color, count, label, p.x, p.mean, NULL, NULL);
}

static hb_status losses_draw(hb_figure *figure, const char *title, size_t n, const double *log,
                             int has_constraint, double *x, double *y)
{
    hb_panel_settings panel =
        hb_study_panel(title, "step", "loss (band: 10 % to 90 % of the steps)");
    hb_study_panel_range(&panel, 0, log[(n - 1) * HB_LOG_WIDTH + HB_LOG_STEP], NAN, NAN);
    panel.log_y = 1;
    HB_TRY(hb_figure_panel(figure, &panel));
    HB_TRY(losses_add(figure, "denoising", 0, n, log, HB_LOG_DSM, x, y));
    if (!has_constraint) return HB_OK;
    HB_TRY(losses_add(figure, "constraint", 1, n, log, HB_LOG_CONSTRAINT, x, y));
    panel.title = "residual of the constraint";
    panel.y_label = "scaled residual, root mean square";
    HB_TRY(hb_figure_panel(figure, &panel));
    return losses_add(figure, "residual", 2, n, log, HB_LOG_RESIDUAL, x, y);
}

hb_status hb_train_figure_write(hb_session *session, const char *title, size_t n, const double *log,
                                const char *path)
{
    hb_figure *figure = NULL;
    double *x = malloc(2 * n * sizeof *x); // (2, n)
    if (!x) return HB_ERROR_MEMORY;
    int has_constraint = 0;
    for (size_t i = 0; i < n; i++) has_constraint |= log[i * HB_LOG_WIDTH + HB_LOG_RESIDUAL] > 0;
    hb_status status =
        hb_figure_create(hb_session_context(session), 1, 1 + has_constraint, 0, 0, &figure);
    if (status == HB_OK) status = losses_draw(figure, title, n, log, has_constraint, x, x + n);
    status = hb_plot_path_write(figure, status, path);
    free(x);
    return status;
}
