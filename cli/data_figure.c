/* The figure of `heatball data show --plot`: the density of a planar set as colours on N_SIDE x N_SIDE
 * points, and N_DRAWS draws. The window is [-HALF, HALF]^2, or REACH deviations of the law at tau where that
 * is more; the second panel, which has no key of colours, is STRETCH times as wide, so that lengths look
 * the same in both. */
#include "data_figure.h"
#include "plot_path.h"
#include "study.h"

#include <math.h>
#include <stdlib.h>

enum { N_SIDE = 201, N_DRAWS = 2000, N_POINTS = N_SIDE * N_SIDE };
static const double HALF = 4.2, REACH = 2.3, STRETCH = 1.26;

typedef struct data_picture {
    double x[N_POINTS][2], density[N_POINTS];
    double draws[N_DRAWS][2], along[2][N_DRAWS];
} data_picture;

/* The variance at tau: e^-2tau C + 1 - e^-2tau (ou), C + 2 tau (ve). */
static double half_side(const hb_mixture *mixture, hb_process process, double tau)
{
    double mean[2], C[2][2], half = HALF;
    hb_mixture_moments(mixture, mean, C[0]);
    for (int i = 0; i < 2; i++) {
        const double variance = process == HB_PROCESS_VE
                                    ? C[i][i] + 2 * tau
                                    : exp(-2 * tau) * C[i][i] - expm1(-2 * tau);
        half = fmax(half, fabs(mean[i]) + REACH * sqrt(variance));
    }
    return half;
}

static hb_status fill_picture(hb_context *context, const hb_mixture *mixture, hb_process process,
                              double tau, uint64_t seed, double half, data_picture *p)
{
    for (int k = 0; k < N_POINTS; k++) {
        p->x[k][0] = half * (2.0 * (k % N_SIDE) / (N_SIDE - 1) - 1);
        p->x[k][1] = half * (2.0 * (k / N_SIDE) / (N_SIDE - 1) - 1);
    }
    hb_status status =
        hb_mixture_score(context, mixture, process, N_POINTS, p->x[0], tau, p->density, NULL);
    if (status == HB_OK)
        status = hb_mixture_sample_at(context, mixture, process, seed, 0, N_DRAWS, tau, p->draws[0],
                                      NULL);
    for (int k = 0; status == HB_OK && k < N_POINTS; k++) p->density[k] = exp(p->density[k]);
    for (int i = 0; status == HB_OK && i < N_DRAWS; i++)
        for (int axis = 0; axis < 2; axis++) p->along[axis][i] = p->draws[i][axis];
    return status;
}

static hb_status start_panel(hb_figure *figure, const char *title, double half, double stretch)
{
    hb_panel_settings panel = hb_study_panel(title, "{/:Italic x}_1", "{/:Italic x}_2");
    hb_study_panel_range(&panel, -half * stretch, half * stretch, -half, half);
    return hb_figure_panel(figure, &panel);
}

static hb_status draw_picture(hb_figure *figure, const char *name, double tau, uint64_t seed,
                              double half, const data_picture *p)
{
    char plain[100], title[200];
    const hb_lattice lattice = {N_SIDE, N_SIDE, -half, half, -half, half};
    hb_figure_plain(name, sizeof plain, plain);
    snprintf(title, sizeof title, "%s: density at {/Symbol t} = %.4g", plain, tau);
    hb_status status = start_panel(figure, title, half, 1);
    if (status == HB_OK)
        status = hb_figure_image(figure, &lattice, "density {/:Italic u}", p->density);
    snprintf(title, sizeof title, "%s: %d draws, seed %llu", plain, N_DRAWS,
             (unsigned long long)seed);
    if (status == HB_OK) status = start_panel(figure, title, half, STRETCH);
    if (status == HB_OK)
        status = hb_figure_series(figure, HB_STYLE_DOTS, 0, N_DRAWS, NULL, p->along[0], p->along[1],
                                  NULL, NULL);
    return status;
}

hb_status hb_data_figure_write(hb_session *session, const char *name, const hb_mixture *mixture,
                               hb_process process, double tau, uint64_t seed, const char *path)
{
    hb_context *context = hb_session_context(session);
    const double half = half_side(mixture, process, tau);
    hb_figure *figure = NULL;
    data_picture *p = malloc(sizeof *p);
    if (!p) return HB_ERROR_MEMORY;
    hb_status status = fill_picture(context, mixture, process, tau, seed, half, p);
    if (status == HB_OK) status = hb_figure_create(context, 1, 2, 520, 640, &figure);
    if (status == HB_OK) status = draw_picture(figure, name, tau, seed, half, p);
    if (status == HB_OK) status = hb_plot_path_write(figure, path);
    hb_figure_destroy(figure);
    free(p);
    return status;
}
