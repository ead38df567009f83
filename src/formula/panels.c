/* Integrals of a function of one variable, and their inverse, by polynomials on adaptive panels.
 *
 * On a panel [a,b] the function h is sampled at the 17 Chebyshev points x_k = cos(k pi/16) and
 * written as a sum of c_k T_k (L. N. Trefethen, Approximation Theory and Approximation Practice,
 * 2013, chapters 3 and 4). When the last coefficients are not at rounding level the panel is cut in
 * two. Then
 *     int_a^s h = (s - a) q(s),     q(s) = sum_j w_j h(a + (s-a) xi_j),
 * by an exact Gauss-Legendre rule: relative accuracy down to s -> a. The coefficients of q are a
 * fixed matrix times those of h. The inverse is Newton's method inside a bracket. A jump or kink
 * ends in a panel of 2^-44 of the span. Panels end at the borders of narrow cells of features
 * (features.c).
 * A number to reproduce: h = exp(-s)/2 on [0, 3] integrates to (1 - exp(-3))/2, error below
 * 1e-15. */
#include "formula/panels.h"
#include "ball/quadrature.h"
#include "base/context.h"
#include "base/memory.h"
#include "formula/features.h"

#include <float.h>

enum {
    NODES = HB_PANEL_NODES,
    DEGREE = NODES - 1,
    GAUSS = 9,
    FIRST_PANELS = 4,
    MAX_PANELS = 1 << 16
};

static const double RESOLVED = 1e-13;   /* last coefficients against the largest value */
static const double NOISE = 1e-6;       /* the same, for functions with rounding of their own */
static const double JUMP = 1e6;         /* factor by which a positive function may jump */
static const double NOTHING = 1e-20;    /* steep and below this part of the largest value: a zero */
static const double SMALLEST = 0x1p-44; /* width of a panel against the span */
static const double NARROW = 1.0 / 32;  /* width of a cell of features against the span */

typedef struct panel {
    double a, b;
    double before;   /* integral from low to a */
    double c[NODES]; /* of T_0 .. T_DEGREE on [a,b] */
    double q[NODES]; /* of the mean over [a,s] */
} panel;

struct hb_panels {
    hb_panels_settings settings;
    double low, high, total, error;
    double x[NODES];             /* Chebyshev points, from -1 to 1 */
    double cosine[NODES][NODES]; /* cos(j k pi/DEGREE), with the weights of the sum */
    double mean[NODES][NODES];   /* q from c */
    int n, capacity;
    panel *panel; // (n)
};

/* ---- one panel ------------------------------------------------------------------------------ */

/* sum of c_k T_k(x), by Clenshaw's recursion */
static double chebyshev_sum(const double c[NODES], double x)
{
    double b1 = 0, b2 = 0;
    for (int k = DEGREE; k >= 1; k--) {
        const double b0 = c[k] - b2 + 2 * x * b1;
        b2 = b1;
        b1 = b0;
    }
    return c[0] + x * b1 - b2;
}

static double place_in(const panel *p, double s)
{
    return (2 * s - p->a - p->b) / (p->b - p->a);
}

static double value_in(const panel *p, double s)
{
    return chebyshev_sum(p->c, place_in(p, s));
}

static double integral_in(const panel *p, double s)
{
    return (s - p->a) * chebyshev_sum(p->q, place_in(p, s));
}

/* c = matrix y, the matrix row by row */
static void panels_multiply(const double *matrix, const double y[NODES], double c[NODES])
{
    for (int k = 0; k < NODES; k++) {
        double sum = 0;
        for (int j = 0; j < NODES; j++) sum += matrix[k * NODES + j] * y[j];
        c[k] = sum;
    }
}

/* The last coefficients. A smooth function has them at rounding level on a narrow panel. */
static double panel_tail(const panel *p)
{
    return fabs(p->c[DEGREE]) + fabs(p->c[DEGREE - 1]) + fabs(p->c[DEGREE - 2]);
}

/* What samples tell of a panel: the range of y, and the largest slope times the rounding of s. */
typedef struct shown {
    double least, most, rounding;
} shown;

/* Resolved to rounding; or to the noise of the function itself, where a cut no longer helps. */
static int panel_is_resolved(const hb_panels *panels, const panel *p, const shown *y,
                             double tail_before)
{
    const double tail = panel_tail(p), own = panels->settings.resolved;
    return tail <= (own > 0 ? own : RESOLVED) * y->most + 1e-15 * panels->settings.scale ||
           (tail <= NOISE * y->most && (tail > 0.7 * tail_before || tail <= y->rounding));
}

/* Samples [a,b]: coefficients, what they show, and the check that all is finite. */
static hb_status panels_sample(hb_context *context, const hb_panels *panels, panel *p, shown *out)
{
    const hb_panels_settings *set = &panels->settings;
    double s[NODES], y[NODES];
    for (int k = 0; k < NODES; k++) s[k] = 0.5 * ((p->a + p->b) + (p->b - p->a) * panels->x[k]);
    s[0] = p->a;
    s[DEGREE] = p->b;
    HB_TRY(set->function(set->user, NODES, s, y));
    *out = (shown){INFINITY, 0, 0};
    for (int k = 0; k < NODES; k++) {
        HB_CHECK(context, isfinite(y[k]), HB_ERROR_ARGUMENT,
                 "%s is %g at %s = %.10g; it must be finite", set->name, hb_printable(y[k]),
                 set->variable, s[k]);
        out->least = fmin(out->least, fabs(y[k]));
        out->most = fmax(out->most, fabs(y[k]));
        if (k > 0) out->rounding = fmax(out->rounding, fabs((y[k] - y[k - 1]) / (s[k] - s[k - 1])));
    }
    out->rounding *= 4 * DBL_EPSILON * fmax(fabs(p->a), fabs(p->b));
    panels_multiply(panels->cosine[0], y, p->c);
    return HB_OK;
}

/* Wants h on the panel to be nearly constant in factor, and resolved; else it has to be cut.
 * tail_before: of the panel that this one was cut from; largest: the largest value so far. */
static hb_status panels_judge(hb_context *context, const hb_panels *panels, const panel *p,
                              const shown *y, double tail_before, double largest, double span,
                              int *cut)
{
    const hb_panels_settings *set = &panels->settings;
    const int steep = set->ratio > 0 && !(y->most <= set->ratio * y->least);
    *cut =
        p->b - p->a > SMALLEST * span && (steep || !panel_is_resolved(panels, p, y, tail_before));
    const int jump = y->most <= JUMP * y->least && y->most > NOTHING * largest;
    HB_CHECK(context, *cut || !steep || jump, HB_ERROR_ARGUMENT,
             "%s reaches 0 or infinity near %s = %.10g; it must be positive and finite", set->name,
             set->variable, 0.5 * (p->a + p->b));
    return HB_OK;
}

/* ---- many panels ---------------------------------------------------------------------------- */

/* Called for each panel from left to right; sets *stop when it has seen enough. */
typedef hb_status (*panel_visit)(hb_context *context, const panel *p, void *user, int *stop);

/* Goes from a to b (a < b) by panels as wide as the function allows. */
static hb_status panels_walk(hb_context *context, const hb_panels *panels, double a, double b,
                             panel_visit visit, void *user)
{
    const double span = b - a;
    double width = span / FIRST_PANELS, before = 0, largest = 0;
    int stop = 0;
    for (int count = 0; a < b && !stop; count++) {
        panel p = {.a = a, .before = before};
        shown y;
        double tail = INFINITY;
        const hb_features *features = panels->settings.features;
        const double border = features ? hb_features_next(features, a, NARROW * span) : INFINITY;
        for (int cut = 1; cut; width *= cut ? 0.5 : 2) { // the next panel may be wider again
            const double tail_before = tail;
            width = fmin(width, span / FIRST_PANELS);
            p.b = a + 1.001 * width < b ? a + width : b;
            if (p.b > border) width = (p.b = border) - a;
            HB_TRY(panels_sample(context, panels, &p, &y));
            tail = panel_tail(&p);
            HB_TRY(panels_judge(context, panels, &p, &y, tail_before, largest, span, &cut));
        }
        HB_CHECK(context, count < MAX_PANELS, HB_ERROR_NUMERICAL,
                 "%s is too rough between %s = %.10g and %.10g: %d panels do not resolve it",
                 panels->settings.name, panels->settings.variable, a, b, MAX_PANELS);
        largest = fmax(largest, y.most);
        panels_multiply(panels->mean[0], p.c, p.q);
        HB_TRY(visit(context, &p, user, &stop));
        before += integral_in(&p, p.b);
        a = p.b;
    }
    return HB_OK;
}

static hb_status panels_keep(hb_context *context, const panel *p, void *user, int *stop)
{
    (void)stop;
    hb_panels *own = user;
    HB_TRY(HB_GROW(context, own->panel, own->n, own->capacity));
    own->panel[own->n++] = *p;
    own->total = p->before + integral_in(p, p->b);
    own->error += panel_tail(p) * (p->b - p->a);
    return HB_OK;
}

/* cosine: Chebyshev coefficients from the values at the points. */
static void tabulate_cosines(hb_panels *panels)
{
    for (int k = 0; k < NODES; k++) {
        panels->x[k] = -cos(M_PI * k / DEGREE);
        for (int j = 0; j < NODES; j++) {
            const double ends =
                (j == 0 || j == DEGREE ? 0.5 : 1) * (k == 0 || k == DEGREE ? 0.5 : 1);
            const double sign = k % 2 ? -1 : 1; // the points go from -1 to 1
            panels->cosine[k][j] =
                sign * ends * 2.0 / DEGREE * cos(M_PI * ((j * k) % (2 * DEGREE)) / DEGREE);
        }
    }
}

/* mean: column k are the coefficients of the mean of T_k over [-1, x]. */
static hb_status tabulate_means(hb_context *context, hb_panels *panels)
{
    double nodes[GAUSS], weights[GAUSS]; // on [0,1]
    HB_TRY(hb_quadrature_beta(context, 1, 1, GAUSS, nodes, weights));
    for (int k = 0; k < NODES; k++) {
        const double *x = panels->x;
        double unit[NODES] = {0}, mean[NODES] = {0}, c[NODES];
        unit[k] = 1;
        for (int i = 0; i < NODES; i++)
            for (int j = 0; j < GAUSS; j++)
                mean[i] += weights[j] * chebyshev_sum(unit, -1 + (x[i] + 1) * nodes[j]);
        panels_multiply(panels->cosine[0], mean, c);
        for (int i = 0; i < NODES; i++) panels->mean[i][k] = c[i];
    }
    return HB_OK;
}

hb_status hb_panels_create(hb_context *context, const hb_panels_settings *settings, double low,
                           double high, hb_panels **out)
{
    *out = NULL;
    hb_panels *panels;
    HB_TRY(HB_NEW_CLEARED(context, panels, 1));
    panels->settings = *settings;
    panels->low = low;
    panels->high = high;
    tabulate_cosines(panels);
    hb_status status = tabulate_means(context, panels);
    if (status == HB_OK) status = panels_walk(context, panels, low, high, panels_keep, panels);
    if (status != HB_OK) {
        hb_panels_destroy(context, panels);
        return status;
    }
    *out = panels;
    return HB_OK;
}

void hb_panels_destroy(hb_context *context, hb_panels *panels)
{
    if (!panels) return;
    hb_release(context, panels->panel);
    hb_release(context, panels);
}

double hb_panels_total(const hb_panels *panels)
{
    return panels->total;
}

double hb_panels_error(const hb_panels *panels)
{
    return panels->error;
}

/* ---- integral and inverse ------------------------------------------------------------------- */

static hb_status add_whole(hb_context *context, const panel *p, void *user, int *stop)
{
    (void)context;
    (void)stop;
    *(double *)user += integral_in(p, p->b);
    return HB_OK;
}

/* The last panel that begins at `value` or before it, or has no more integral before it. */
static const panel *panel_at(const hb_panels *panels, int by_integral, double value)
{
    int first = 0, last = panels->n;
    while (last - first > 1) {
        const int middle = (first + last) / 2;
        const panel *p = panels->panel + middle;
        *((by_integral ? p->before : p->a) <= value ? &first : &last) = middle;
    }
    return panels->panel + first;
}

hb_status hb_panels_integral(hb_context *context, const hb_panels *panels, double s,
                             double *integral)
{
    if (s < panels->low || s > panels->high) {
        const int below = s < panels->low;
        double outside = 0;
        HB_TRY(panels_walk(context, panels, below ? s : panels->high, below ? panels->low : s,
                           add_whole, &outside));
        *integral = below ? -outside : panels->total + outside;
        return HB_OK;
    }
    const panel *p = panel_at(panels, 0, s);
    *integral = p->before + integral_in(p, s);
    return HB_OK;
}

/* s in the panel with integral_in = value, by Newton's method inside the bracket [low, high]. */
static double solve_in(const panel *p, double value)
{
    if (value <= 0) return p->a;
    double low = p->a, high = p->b;
    double s = p->a + value / value_in(p, p->a);
    for (int i = 0; i < 100; i++) {
        if (!(s > low && s < high)) s = 0.5 * (low + high);
        const double excess = integral_in(p, s) - value;
        if (excess == 0) return s;
        *(excess > 0 ? &high : &low) = s;
        const double next = s - excess / value_in(p, s);
        if (fabs(next - s) <= 4e-16 * fabs(s) || high - low <= 4e-16 * fabs(s))
            return fmin(fmax(next, p->a), p->b);
        s = next;
    }
    return s;
}

typedef struct search {
    double value, s; /* what is still to be integrated, and the place */
    int found;
} search;

static hb_status panels_seek(hb_context *context, const panel *p, void *user, int *stop)
{
    (void)context;
    search *wanted = user;
    const double whole = integral_in(p, p->b);
    wanted->found = *stop = wanted->value <= whole;
    if (wanted->found) wanted->s = solve_in(p, wanted->value);
    wanted->value -= whole;
    return HB_OK;
}

/* Beyond the table: spans that double, until the value is reached. */
static hb_status inverse_beyond(hb_context *context, const hb_panels *panels, double value,
                                double *s)
{
    search wanted = {.value = value - panels->total};
    double a = panels->high, span = panels->high - panels->low;
    while (!wanted.found) {
        HB_CHECK(context, isfinite(a + span), HB_ERROR_ARGUMENT,
                 "the integral of %s does not reach %g", panels->settings.name, value);
        HB_TRY(panels_walk(context, panels, a, a + span, panels_seek, &wanted));
        a += span;
        span *= 2;
    }
    *s = wanted.s;
    return HB_OK;
}

hb_status hb_panels_inverse(hb_context *context, const hb_panels *panels, double value, double *s)
{
    if (value > panels->total) return inverse_beyond(context, panels, value, s);
    const panel *p = panel_at(panels, 1, value);
    *s = solve_in(p, value - p->before);
    return HB_OK;
}
