/* Draws of a heat ball in a picture: where they lie, and how a mean over them converges.
 *
 *     draws   sigma against z (one dimension) or against |z|, with the boundary
 *                 |z|^2 = 2 D sigma ln(r^2/(4 pi sigma)),   0 < sigma < r^2/(4 pi),   D = dim + lift
 *     mean    of u = exp(a.z - |a|^2 sigma), a = (1, .., 1)/(r sqrt(dim)), over the first n draws: a solution of the heat
 *             equation that is 1 at the anchor, so that its mean is 1 under kappa. The band is 1 +- its deviation/sqrt(n)
 * A number to reproduce: the widest point of the unit ball on a line is |z| = 1/sqrt(2 pi e) = 0.24197. */
#include "sample_figure.h"
#include "plot_path.h"
#include "study.h"

#include <math.h>
#include <stdlib.h>

enum { SHOWN = 4000, CURVE = 400, MEANS = 200 };

static hb_status add_draws(hb_figure *figure, const hb_sample_figure *s, size_t n,
                           const double *rows, double *x, double *y)
{
    const size_t d = (size_t)s->dim, count = n < SHOWN ? n : SHOWN;
    const double r2 = s->radius * s->radius, top = r2 / (4 * M_PI);
    const double sides = s->dim == 1 ? 2 : 1;
    hb_panel_settings panel =
        hb_study_panel("draws and the boundary of the heat ball", s->dim == 1 ? "z" : "|z|",
                       "backward time {/Symbol s}");
    panel.key = s->dim == 1 ? "center center" : "center left"; /* few draws lie there */
    HB_TRY(hb_figure_panel(figure, &panel));
    for (size_t i = 0; i < count; i++) {
        double square = 0;
        for (size_t j = 0; j < d; j++) square += rows[i * (d + 1) + j] * rows[i * (d + 1) + j];
        x[i] = d == 1 ? rows[2 * i] : sqrt(square);
        y[i] = rows[i * (d + 1) + d];
    }
    HB_TRY(hb_figure_series(figure, HB_STYLE_DOTS, 0, count, "draws", x, y, NULL, NULL));
    for (size_t i = 0; i <= CURVE; i++) {
        const double t = 1 - sides * (double)i / CURVE, share = pow(sin(M_PI / 2 * t), 2);
        const double square = share > 0 ? -2 * (s->dim + s->lift) * top * share * log(share) : 0;
        x[i] = copysign(sqrt(fmax(square, 0)), t);
        y[i] = top * share;
    }
    return hb_figure_series(figure, HB_STYLE_LINE, 1, CURVE + 1, "boundary", x, y, NULL, NULL);
}

static hb_status add_means(hb_figure *figure, const hb_sample_figure *s, size_t n,
                           const double *rows, double *x, double *y)
{
    const size_t d = (size_t)s->dim;
    const double a = 1 / (s->radius * sqrt(s->dim));
    double sum = 0, squares = 0, low[MEANS], high[MEANS];
    size_t m = 0;
    hb_panel_settings panel =
        hb_study_panel("mean of exp(a{/Symbol \\327}z - |a|^2{/Symbol s}), |a| = 1/r",
                       "number of draws", "mean over the first draws");
    panel.log_x = 10;
    HB_TRY(hb_figure_panel(figure, &panel));
    for (size_t i = 0; i < n; i++) {
        double exponent = -rows[i * (d + 1) + d] / (s->radius * s->radius);
        for (size_t j = 0; j < d; j++) exponent += a * rows[i * (d + 1) + j];
        sum += exp(exponent);
        squares += exp(2 * exponent);
        const double count = (double)i + 1, next = pow((double)n, (double)(m + 1) / MEANS);
        if (m >= MEANS || (count < next && i + 1 < n)) continue;
        x[m] = count;
        y[m++] = sum / count;
    }
    const double sd = sqrt(fmax(0, squares / (double)n - sum / (double)n * (sum / (double)n)));
    for (size_t k = 0; k < m; k++) {
        low[k] = 1 - sd / sqrt(x[k]);
        high[k] = 1 + sd / sqrt(x[k]);
    }
    HB_TRY(hb_figure_series(figure, HB_STYLE_BAND, 2, m, "1 ± standard error", x, NULL, low, high));
    return hb_figure_series(figure, HB_STYLE_LINE, 0, m, "mean", x, y, NULL, NULL);
}

hb_status hb_sample_figure_write(hb_session *session, const hb_sample_figure *s, size_t n,
                                 const double *rows, const char *path)
{
    hb_figure *figure = NULL;
    double *x = malloc(2 * (SHOWN + CURVE) * sizeof *x); // (2, SHOWN + CURVE)
    if (!x) return HB_ERROR_MEMORY;
    double *y = x + SHOWN + CURVE;
    const int panels = s->is_kappa ? 2 : 1;
    hb_status status = hb_figure_create(hb_session_context(session), 1, panels, 0, 0, &figure);
    if (status == HB_OK) status = add_draws(figure, s, n, rows, x, y);
    if (status == HB_OK && s->is_kappa) status = add_means(figure, s, n, rows, x, y);
    if (status == HB_OK) status = hb_plot_path_write(figure, path);
    hb_figure_destroy(figure);
    free(x);
    return status;
}
