/* The pictures of `heatball generate`: a scatter in the plane, a grid of grey images.
 *
 * Contours: v = ln u(x, tau_min) of the model on SIDE x SIDE points, at the levels that leave
 * OUTSIDE of the samples outside, so that the outermost one goes around 99 % of them. The window
 * is the square around the samples with a MARGIN on each side and HEADROOM for the legend; WIDTH
 * and HEIGHT make lengths along both axes equal. Of 2000 normal samples in the plane the
 * outermost contour is near radius sqrt(2 ln 100) = 3.03. */
#include "command_generate.h"
#include "plot_path.h"
#include "study.h"

#include <heatball/images.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 161, POINTS = SIDE * SIDE, SHOWN = 5000, LEVELS = 3, LEAST_SIDE = 8 };
enum { WIDTH = 680, HEIGHT = 750 };
static const double OUTSIDE[LEVELS] = {0.5, 0.1, 0.01}, MARGIN = 0.06, HEADROOM = 0.12;

/* ---- images ---- */

void hb_generate_image_sides(const hb_model_info *info, int *height, int *width)
{
    const int side = (int)lround(sqrt((double)info->dim));
    *height = *width = side >= LEAST_SIDE && side * side == info->dim ? side : 0;
    if (info->image_height == 0) return;
    *height = info->image_height;
    *width = info->image_width;
}

static hb_status images_take_real(hb_session *session, const char *name, const hb_images *images,
                                  int label, size_t n, double *real)
{
    const size_t size = (size_t)images->height * (size_t)images->width;
    size_t taken = 0;
    for (size_t i = 0; i < images->count && taken < n; i++)
        if (label < 0 || !images->labels || images->labels[i] == label)
            memcpy(real + taken++ * size, images->pixels + i * size, size * sizeof *real);
    if (taken == n) return HB_OK;
    return hb_session_refuse(session, "-n is %zu; %.200s has %zu test images to show beside them",
                             n, name, taken);
}

hb_status hb_generate_real_images(hb_session *session, const char *name, const hb_model_info *info,
                                  int label, size_t n, double **real)
{
    int height, width;
    hb_images images = {0};
    hb_images_settings settings;
    hb_images_settings_default(sizeof settings, &settings);
    hb_generate_image_sides(info, &height, &width);
    if (height == width) settings.resize = height;
    hb_status status = hb_images_load(hb_session_context(session), &settings, HB_PART_TEST, name,
                                      sizeof images, &images);
    if (status == HB_OK && (images.height != height || images.width != width))
        status = hb_session_refuse(
            session, "--real: %.200s has images of %d by %d pixels, the model %d by %d", name,
            images.height, images.width, height, width);
    if (status == HB_OK) {
        *real = calloc(n, (size_t)info->dim * sizeof **real);
        status =
            *real ? images_take_real(session, name, &images, label, n, *real) : HB_ERROR_MEMORY;
    }
    hb_images_destroy(hb_session_context(session), &images);
    return status;
}

/* Sample i stands in line i/columns of the samples; each has a line of real images above it, if
 * any. */
static void images_place(const hb_generate_picture *p, size_t size, size_t columns, double low,
                         double high, double *pixels)
{
    const size_t lines = p->real ? 2 : 1;
    for (size_t i = 0; i < p->n; i++) {
        const size_t row = lines * (i / columns);
        double *made = pixels + ((row + lines - 1) * columns + i % columns) * size;
        for (size_t k = 0; k < size; k++) made[k] = (p->x[i * size + k] - low) / (high - low);
        if (p->real)
            memcpy(pixels + (row * columns + i % columns) * size, p->real + i * size,
                   size * sizeof *pixels);
    }
}

hb_status hb_generate_images_write(hb_session *session, const hb_generate_picture *p, double low,
                                   double high, const char *path)
{
    hb_model_info info;
    int height, width;
    hb_model_info_get(p->model, sizeof info, &info);
    hb_generate_image_sides(&info, &height, &width);
    const size_t columns = p->columns ? (size_t)p->columns : (size_t)ceil(sqrt((double)p->n));
    const size_t rows = (p->real ? 2 : 1) * ((p->n + columns - 1) / columns);
    double *pixels = calloc(rows * columns, (size_t)info.dim * sizeof *pixels);
    if (!pixels) return HB_ERROR_MEMORY; // pixels (rows, columns, height, width)
    images_place(p, (size_t)info.dim, columns, low, high, pixels);
    const hb_status status = hb_images_grid_write(hb_session_context(session), (int)rows,
                                                  (int)columns, height, width, path, pixels);
    free(pixels);
    return status;
}

/* ---- the plane ---- */

typedef struct scatter {
    const hb_generate_picture *picture;
    hb_lattice window;
    size_t n;         /* shown */
    double *x, *y;    // (n)
    double *at, *tau; // (POINTS, 2), (POINTS): the lattice, or samples
    double *v;        // (POINTS)
    int *labels;      // (POINTS)
    double level[LEVELS];
} scatter;

static void scatter_window(scatter *s)
{
    const hb_generate_picture *p = s->picture;
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, half = 0;
    for (size_t i = 0; i < 2 * p->n; i++) {
        low[i % 2] = fmin(low[i % 2], p->x[i]);
        high[i % 2] = fmax(high[i % 2], p->x[i]);
    }
    for (int j = 0; j < 2; j++) half = fmax(half, (0.5 + MARGIN) * (high[j] - low[j]));
    if (!(half > 0)) half = 1;
    const double x = (low[0] + high[0]) / 2, y = (low[1] + high[1]) / 2;
    s->window = (hb_lattice){SIDE, SIDE, x - half, x + half, y - half, y + half};
}

static hb_status scatter_density(hb_session *session, scatter *s, size_t n, const double *at)
{
    for (size_t i = 0; i < n; i++) {
        s->tau[i] = s->picture->tau;
        s->labels[i] = s->picture->label;
    }
    return hb_model_log_density(hb_session_context(session), s->picture->model, n, at, s->tau,
                                s->labels, s->v, NULL);
}

/* The levels from the samples, then the values on the lattice. */
static hb_status scatter_contours(hb_session *session, scatter *s)
{
    HB_TRY(scatter_density(session, s, s->n, s->picture->x));
    qsort(s->v, s->n, sizeof *s->v, hb_study_by_value);
    for (int k = 0; k < LEVELS; k++) s->level[k] = s->v[(size_t)(OUTSIDE[k] * (double)(s->n - 1))];
    for (int k = 0; k < POINTS; k++) {
        s->at[2 * k] = s->window.x0 + (k % SIDE) * (s->window.x1 - s->window.x0) / (SIDE - 1);
        s->at[2 * k + 1] = s->window.y0 + (k / SIDE) * (s->window.y1 - s->window.y0) / (SIDE - 1);
    }
    return scatter_density(session, s, POINTS, s->at);
}

static void scatter_title(const scatter *s, size_t size, char *out)
{
    const hb_generate_picture *p = s->picture;
    const char *slash = strrchr(p->name, '/');
    hb_figure_plain(slash ? slash + 1 : p->name, size - 80, out);
    size_t used = strlen(out);
    used += (size_t)snprintf(out + used, size - used, ": ");
    if (s->n < p->n) used += (size_t)snprintf(out + used, size - used, "the first %zu of ", s->n);
    used += (size_t)snprintf(out + used, size - used, "%zu samples, seed %llu", p->n,
                             (unsigned long long)p->seed);
    if (p->label >= 0) snprintf(out + used, size - used, ", label %d", p->label);
}

static hb_status scatter_draw(hb_figure *figure, const scatter *s, int contours)
{
    char title[300];
    const hb_lattice *w = &s->window;
    scatter_title(s, sizeof title, title);
    hb_panel_settings panel = hb_study_panel(title, "{/:Italic x}_1", "{/:Italic x}_2");
    hb_study_panel_range(&panel, w->x0, w->x1, w->y0, w->y1 + HEADROOM * (w->y1 - w->y0));
    panel.key = "top center";
    HB_TRY(hb_figure_panel(figure, &panel));
    HB_TRY(hb_figure_series(figure, HB_STYLE_DOTS, 0, s->n, "samples", s->x, s->y, NULL, NULL));
    if (!contours) return HB_OK;
    return hb_figure_contours(figure, 1, LEVELS, &s->window,
                              "model density: 50, 90, 99 % of the samples inside", s->v, s->level);
}

static hb_status scatter_write(hb_session *session, scatter *s, const char *path)
{
    const hb_generate_picture *p = s->picture;
    hb_figure *figure = NULL;
    hb_model_info info;
    hb_model_info_get(p->model, sizeof info, &info);
    for (size_t i = 0; i < s->n; i++) {
        s->x[i] = p->x[2 * i];
        s->y[i] = p->x[2 * i + 1];
    }
    scatter_window(s);
    const int contours = info.head == HB_HEAD_ENERGY;
    hb_status status = contours ? scatter_contours(session, s) : HB_OK;
    if (status == HB_OK)
        status = hb_figure_create(hb_session_context(session), 1, 1, HEIGHT, WIDTH, &figure);
    if (status == HB_OK) status = scatter_draw(figure, s, contours);
    return hb_plot_path_write(figure, status, path);
}

hb_status hb_generate_scatter_write(hb_session *session, const hb_generate_picture *picture,
                                    const char *path)
{
    scatter s = {.picture = picture, .n = picture->n < SHOWN ? picture->n : SHOWN};
    double *memory = malloc((2 * SHOWN + 4 * POINTS) * sizeof *memory);
    s.labels = malloc(POINTS * sizeof *s.labels);
    hb_status status = HB_ERROR_MEMORY;
    if (memory && s.labels) {
        s.x = memory;
        s.y = s.x + SHOWN;
        s.at = s.y + SHOWN;
        s.tau = s.at + 2 * POINTS;
        s.v = s.tau + POINTS;
        status = scatter_write(session, &s, path);
    }
    free(memory);
    free(s.labels);
    return status;
}
