/* Lines along a vector field of the plane, about evenly spaced, each with one arrow head.
 *
 * In the unit square of the lattice (so that spacing is even to the eye, whatever the units) a line
 * solves dp/ds = direction(p), |direction| = 1, by the classical Runge-Kutta method of fourth order
 * with step STEP, forward and backward from its seed; the field is bilinear between the points.
 * Spacing: the square is cut into MASK x MASK cells. A line takes the cells that it passes, ends
 * where it would enter a cell that another line has, leaves the square or the field vanishes; a
 * line shorter than SHORTEST gives its cells back. Seeds are the centres of free cells, from the
 * middle outward, so that the important lines are drawn first. On the field (-y, x) a line stays on
 * its circle to 1e-6. */
#include "base/context.h"
#include "base/memory.h"
#include "plot/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MASK = 26, MOST_STEPS = 900, THINNED = 4 };
static const double STEP = 0.003, SHORTEST = 0.09;

typedef struct stream {
    const hb_lattice *lattice;
    const double *along_x, *along_y;    // (ny, nx)
    int mask[MASK * MASK];              /* 0: free, else the number of its line */
    double line[2 * MOST_STEPS + 1][2]; /* of the line that is being followed, in the unit square */
    size_t n, n_arrows, capacity;       /* of the results; nothing is stored while x is NULL */
    double *x, *y;                      // (capacity), pieces separated by NaN
    double *head_x, *head_y, *dx, *dy;  // (capacity)
} stream;

static double bilinear(const hb_lattice *lattice, const double *values, const double p[2])
{
    const double a = p[0] * (lattice->nx - 1), b = p[1] * (lattice->ny - 1);
    const int i = (int)fmin(a, lattice->nx - 2), j = (int)fmin(b, lattice->ny - 2);
    const double s = a - i, t = b - j;
    const double *low = values + (size_t)j * (size_t)lattice->nx + (size_t)i;
    const double *high = low + lattice->nx;
    return (1 - t) * ((1 - s) * low[0] + s * low[1]) + t * ((1 - s) * high[0] + s * high[1]);
}

static int is_in_square(const double p[2])
{
    return p[0] >= 0 && p[0] <= 1 && p[1] >= 0 && p[1] <= 1;
}

/* The unit direction at p, in the square; 0 outside it or where the field vanishes. */
static int stream_direction(const stream *s, const double p[2], double sign, double out[2])
{
    if (!is_in_square(p)) return 0;
    const hb_lattice *lattice = s->lattice;
    const double u = bilinear(lattice, s->along_x, p) / (lattice->x1 - lattice->x0);
    const double v = bilinear(lattice, s->along_y, p) / (lattice->y1 - lattice->y0);
    const double length = hypot(u, v);
    if (!(length > 0) || !isfinite(length)) return 0;
    out[0] = sign * u / length;
    out[1] = sign * v / length;
    return 1;
}

static int runge_kutta_step(const stream *s, double sign, double p[2])
{
    static const double stages[] = {0, 0.5, 0.5, 1}, weights[] = {1, 2, 2, 1};
    double k[2] = {0, 0}, sum[2] = {0, 0};
    for (int stage = 0; stage < 4; stage++) {
        const double q[] = {p[0] + stages[stage] * STEP * k[0], p[1] + stages[stage] * STEP * k[1]};
        if (!stream_direction(s, q, sign, k)) return 0;
        for (int c = 0; c < 2; c++) sum[c] += weights[stage] * k[c];
    }
    /* near a zero of the field the four directions disagree, and the sum is short */
    if (hypot(sum[0], sum[1]) < 3) return 0;
    for (int c = 0; c < 2; c++) p[c] += STEP / 6 * sum[c];
    return is_in_square(p);
}

static int *cell_of(stream *s, const double p[2])
{
    const int i = (int)fmin(p[0] * MASK, MASK - 1), j = (int)fmin(p[1] * MASK, MASK - 1);
    return &s->mask[j * MASK + i];
}

/* Follows the field from line[MOST_STEPS] in one direction; returns the number of steps. */
static int stream_follow(stream *s, int number, int sign)
{
    double p[2] = {s->line[MOST_STEPS][0], s->line[MOST_STEPS][1]};
    int *before = cell_of(s, p);
    for (int step = 1; step <= MOST_STEPS; step++) {
        if (!runge_kutta_step(s, sign, p)) return step - 1;
        int *cell = cell_of(s, p);
        if (cell != before && *cell) return step - 1;
        *cell = number;
        before = cell;
        memcpy(s->line[MOST_STEPS + sign * step], p, sizeof p);
    }
    return MOST_STEPS;
}

static double to_x(const stream *s, double p)
{
    return s->lattice->x0 + p * (s->lattice->x1 - s->lattice->x0);
}

static double to_y(const stream *s, double p)
{
    return s->lattice->y0 + p * (s->lattice->y1 - s->lattice->y0);
}

static void stream_store_point(stream *s, double x, double y)
{
    if (s->x) {
        s->x[s->n] = x;
        s->y[s->n] = y;
    }
    s->n++;
}

/* The line from index first to last, with its head in the middle. */
static void stream_store_line(stream *s, int first, int last)
{
    for (int k = first; k < last; k += THINNED)
        stream_store_point(s, to_x(s, s->line[k][0]), to_y(s, s->line[k][1]));
    stream_store_point(s, to_x(s, s->line[last][0]), to_y(s, s->line[last][1]));
    stream_store_point(s, NAN, NAN);
    const double *middle = s->line[(first + last) / 2], *next = middle + 2;
    if (s->head_x) {
        s->head_x[s->n_arrows] = to_x(s, middle[0]);
        s->head_y[s->n_arrows] = to_y(s, middle[1]);
        s->dx[s->n_arrows] = to_x(s, next[0]) - to_x(s, middle[0]);
        s->dy[s->n_arrows] = to_y(s, next[1]) - to_y(s, middle[1]);
    }
    s->n_arrows++;
}

static void stream_try_seed(stream *s, int i, int j, int number)
{
    double *seed = s->line[MOST_STEPS];
    seed[0] = (i + 0.5) / MASK;
    seed[1] = (j + 0.5) / MASK;
    if (*cell_of(s, seed)) return;
    *cell_of(s, seed) = number;
    const int forward = stream_follow(s, number, 1), backward = stream_follow(s, number, -1);
    if ((forward + backward) * STEP >= SHORTEST) {
        stream_store_line(s, MOST_STEPS - backward, MOST_STEPS + forward);
        return;
    }
    for (int k = 0; k < MASK * MASK; k++)
        if (s->mask[k] == number) s->mask[k] = 0;
}

/* Rings of cells round the middle, from the inside outward. */
static void stream_trace(stream *s)
{
    int number = 1;
    memset(s->mask, 0, sizeof s->mask);
    s->n = s->n_arrows = 0;
    for (int ring = 0; ring <= MASK; ring++)
        for (int j = 0; j < MASK; j++)
            for (int i = 0; i < MASK; i++) {
                const int from_middle = (int)fmax(abs(2 * i - MASK + 1), abs(2 * j - MASK + 1));
                if (from_middle == ring) stream_try_seed(s, i, j, number++);
            }
}

static hb_status stream_draw(hb_figure *figure, const char *label, int color, const stream *s)
{
    HB_TRY(hb_figure_add(figure, label, HB_STYLE_THIN, color, s->n, s->x, s->y, NULL, NULL));
    return hb_figure_add(figure, NULL, HB_STYLE_ARROWS, color, s->n_arrows, s->head_x, s->head_y,
                         s->dx, s->dy);
}

hb_status hb_figure_streamlines(hb_figure *figure, int color, const hb_lattice *lattice,
                                const char *label, const double *along_x, const double *along_y)
{
    hb_context *context = figure ? figure->context : NULL;
    HB_TRY(hb_lattice_check(context, lattice));
    stream *s;
    HB_TRY(HB_NEW(context, s, 1));
    *s = (stream){.lattice = lattice, .along_x = along_x, .along_y = along_y};
    stream_trace(s); /* counts */
    hb_status status = HB_OK;
    if (s->n_arrows > 0) {
        status = HB_NEW(context, s->x, 2 * s->n + 4 * s->n_arrows);
        if (status == HB_OK) {
            s->y = s->x + s->n;
            s->head_x = s->y + s->n;
            s->head_y = s->head_x + s->n_arrows;
            s->dx = s->head_y + s->n_arrows;
            s->dy = s->dx + s->n_arrows;
            stream_trace(s);
            status = stream_draw(figure, label, color, s);
            hb_release(context, s->x);
        }
    }
    hb_release(context, s);
    return status;
}
