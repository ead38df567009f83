/* A density on the line, known up to a factor: where its mass is, how much, and its quantiles.
 *
 * Places. The line is looked at along rays x = e +- exp(v), v in steps of 1/32, from 0 and from
 * every place e that is found: zeros of arguments at which the formula is not smooth, by bisection,
 * and narrow peaks; others at the borders of narrow cells (features.c). So tails as heavy as 1e300
 * are seen.
 * Mass. The places, and the middles between them, cut the line into rays. On each
 *     int u dx = int exp(ln u(e +- exp(v)) + v) dv
 * by adaptive panels (panels.c) where the integrand is within e^-45 of its peak. Below the smallest
 * v that rounding lets x see, a pole goes on as a power. What does not fall has no finite mass and
 * is refused.
 * A number to reproduce: 1/(1 + x^2) has the mass pi. */
#include "problem/initial/line_density.h"
#include "ball/quadrature.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "formula/features.h"
#include "formula/panels.h"
#include "problem/problem_parts.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PLACES = 64, MAX_BREAKS = 64, PER_UNIT = 32, NARROW = 256, STEEP = 4096 };

static const double RISE = 0.05; /* of ln u on narrow cells: a step */

static const double LAST = 690;  /* v: x = 1e299 */
static const double DROP = 45;   /* in ln, below which there is nothing */
static const double SHARP = 0.3; /* a peak, from step to step */
static const double NEAR = 20;   /* closer to e than e^-20 |e| the rounding of x is seen */

/* Of panels, in turn: far from 0 the rounding of x is seen in a narrow peak. */
enum { N_RESOLVED = 3 };
static const double RESOLVED[N_RESOLVED] = {1e-13, 1e-10, 1e-8};

typedef struct ray {
    double e;             /* its end */
    double sign;          /* of x - e */
    double whole;         /* ln of its length */
    double low, top;      /* of v, where there is mass */
    double before;        /* mass left of the ray */
    double mass;          /* of the whole */
    double tail;          /* mass below low */
    double slope;         /* of ln of the integrand there */
    hb_features features; /* in v */
    hb_panels *panels;
} ray;

struct hb_line_density {
    hb_context *context;
    hb_graph *graph;
    hb_node node;
    hb_density_formula formula;
    char what[80];
    hb_program *arguments; // of the breaks, NULL: none
    int n_breaks, n_places, n_rays, has_pole, has_jump;
    double place[MAX_PLACES]; /* in order once all are found */
    ray rays[2 * MAX_PLACES + 2];
    double peak; /* of ln of all integrands */
    double total, log_total;
    double most; /* largest ln u that was seen, not normalised */
    double low, high;
    hb_features features; /* of u */
    const ray *now;       /* while its panels are made */
};

/* ---- the formula ---- */

hb_status hb_density_formula_compile(hb_graph *graph, hb_node node, hb_density_formula *out)
{
    const int d = graph->dim;
    hb_node nodes[2 + 2 * HB_DENSITY_FORMULA_DIM] = {0, node};
    HB_TRY(hb_log_form(graph, node, nodes));
    out->log_node = nodes[0];
    for (int k = 0; k < d; k++) {
        HB_TRY(hb_graph_derivative(graph, nodes[0], k + 1, nodes + 2 + k));
        HB_TRY(hb_graph_derivative(graph, nodes[1], k + 1, nodes + 2 + d + k));
    }
    HB_TRY(hb_program_compile(graph, 2, nodes, &out->value));
    return hb_program_compile(graph, 2 + 2 * d, nodes, &out->gradient);
}

void hb_density_formula_destroy(hb_density_formula *formula)
{
    hb_program_destroy(formula->value);
    hb_program_destroy(formula->gradient);
}

static hb_status refuse_negative(hb_context *context, const char *what, double u, size_t d,
                                 const double *x)
{
    char place[HB_POINT_TEXT];
    hb_point_text((int)d, x, place);
    if (d == 1) snprintf(place, sizeof place, "%.6g", *x);
    return hb_fail(context, HB_ERROR_ARGUMENT,
                   "%s: the density is %.4g at x = %s; it must not be negative, write max(0, ...)",
                   what, u, place);
}

hb_status hb_density_formula_run(hb_context *context, const hb_density_formula *formula,
                                 const char *what, size_t d, size_t n, const double *x,
                                 double *log_density, double *gradient)
{
    enum { BLOCK = 128 };
    const size_t width = gradient ? 2 + 2 * d : 2;
    const hb_program *program = gradient ? formula->gradient : formula->value;
    double rows[BLOCK * (2 + 2 * HB_DENSITY_FORMULA_DIM)]; // ln u, u, slopes of both
    for (size_t i = 0; i < n; i++) {
        const double *row = rows + i % BLOCK * width;
        if (i % BLOCK == 0)
            HB_TRY(hb_program_run(context, program, n - i < BLOCK ? n - i : BLOCK, x + i * d, 0,
                                  rows));
        if (what && row[1] < 0) return refuse_negative(context, what, row[1], d, x + i * d);
        const double l = !isnan(row[0]) ? row[0] : row[1] > 0 ? log(row[1]) : -INFINITY;
        log_density[i] = l;
        for (size_t k = 0; gradient && k < d; k++) {
            const double slope = isfinite(row[2 + k]) ? row[2 + k] : row[2 + d + k] / row[1];
            gradient[i * d + k] = isfinite(l) && isfinite(slope) ? slope : 0;
        }
    }
    return HB_OK;
}

static hb_status line_look(hb_context *context, const hb_line_density *line, size_t n,
                           const double *x, double *l)
{
    return hb_density_formula_run(context, &line->formula, line->what, 1, n, x, l, NULL);
}

static hb_status line_find_breaks(hb_line_density *line)
{
    hb_node found[MAX_BREAKS];
    hb_graph *graph = line->graph;
    for (hb_node i = 0; i <= line->node; i++) {
        hb_break_kind kind;
        hb_node argument;
        int known = 0;
        if (!hb_graph_depends(graph, i, 1)) continue;
        HB_TRY(hb_break_find(graph, i, &kind, &argument));
        for (int k = 0; k < line->n_breaks; k++) known |= found[k] == argument;
        if (known || argument == HB_NO_NODE) continue;
        HB_CHECK(line->context, line->n_breaks < MAX_BREAKS, HB_ERROR_ARGUMENT,
                 "%s: the density has more than %d kinks, jumps and poles", line->what, MAX_BREAKS);
        found[line->n_breaks++] = argument;
        line->has_pole |= kind == HB_BREAK_POLE || graph->nodes[i].op == HB_OP_POW;
        line->has_jump |= kind == HB_BREAK_JUMP;
    }
    if (line->n_breaks == 0) return HB_OK;
    return hb_program_compile(graph, line->n_breaks, found, &line->arguments);
}

/* ---- places ---- */

static int line_add_place(hb_line_density *line, double x)
{
    for (int k = 0; k < line->n_places; k++)
        if (fabs(line->place[k] - x) <= 1e-14 * fabs(x)) return 0;
    if (line->n_places == MAX_PLACES) return 0;
    line->place[line->n_places++] = x;
    return 1;
}

typedef struct scan {
    size_t n;
    double *x, *l, *arguments; // (n), (n), (n, n_breaks)
    hb_workspace work;
} scan;

static double first_v(double e)
{
    return e == 0 ? -LAST : log(fabs(e)) - NEAR;
}

static double x_on(double e, double sign, double v)
{
    return e + sign * exp(v);
}

/* x with argument k equal 0 between a and b, where it has two signs. */
static hb_status line_bisect(const hb_line_density *line, int k, double a, double b, double at_a,
                             double *values, double *x)
{
    for (int step = 0; step < 1100; step++) {
        const double middle = 0.5 * (a + b);
        if (middle == a || middle == b) break;
        HB_TRY(hb_program_run(line->context, line->arguments, 1, &middle, 0, values));
        if (values[k] == 0) {
            a = b = middle;
            break;
        }
        *((values[k] > 0) == (at_a > 0) && !isnan(values[k]) ? &a : &b) = middle;
    }
    *x = fabs(a) < fabs(b) ? a : b; // 0 rather than the number next to it
    return HB_OK;
}

static hb_status find_zeros(hb_line_density *line, const scan *s)
{
    const int m = line->n_breaks;
    double values[MAX_BREAKS], x;
    if (m == 0) return HB_OK;
    HB_TRY(hb_program_run(line->context, line->arguments, s->n, s->x, 0, s->arguments));
    for (size_t i = 0; i < s->n; i++)
        for (int k = 0; k < m; k++) {
            const double a = s->arguments[i * (size_t)m + (size_t)k];
            const double b = i + 1 < s->n ? s->arguments[(i + 1) * (size_t)m + (size_t)k] : NAN;
            const double before = i > 0 ? s->arguments[(i - 1) * (size_t)m + (size_t)k] : 0;
            if (a == 0 && before != 0 && !isnan(before) && b != 0 && !isnan(b))
                line_add_place(line, s->x[i]);
            if (!((a < 0 && b > 0) || (a > 0 && b < 0))) continue;
            HB_TRY(line_bisect(line, k, s->x[i], s->x[i + 1], a, values, &x));
            line_add_place(line, x);
        }
    return HB_OK;
}

/* The largest value between a and b, by golden section. */
static hb_status line_climb(const hb_line_density *line, double a, double b, double *x)
{
    const double golden = 0.5 * (sqrt(5) - 1);
    double l[2];
    for (int step = 0; step < 120 && fabs(b - a) > 1e-15 * fabs(a + b); step++) {
        const double two[2] = {b - golden * (b - a), a + golden * (b - a)};
        HB_TRY(line_look(line->context, line, 2, two, l));
        *(l[0] < l[1] ? &a : &b) = l[0] < l[1] ? two[0] : two[1];
    }
    *x = 0.5 * (a + b);
    return HB_OK;
}

static int has_place(const hb_line_density *line, double a, double b)
{
    int found = 0;
    for (int k = 0; k < line->n_places; k++)
        found |= line->place[k] >= fmin(a, b) && line->place[k] <= fmax(a, b);
    return found;
}

static hb_status find_peaks(hb_line_density *line, const scan *s)
{
    double x, top = -INFINITY;
    for (size_t i = 0; i < s->n; i++) top = fmax(top, s->l[i] < INFINITY ? s->l[i] : -INFINITY);
    line->most = fmax(line->most, top);
    for (size_t i = 1; i + 1 < s->n; i++) {
        const double before = s->l[i - 1], here = s->l[i], after = s->l[i + 1];
        if (!(here > before && here >= after && here > top - 2 * DROP)) continue;
        if (!(here - before > SHARP || here - after > SHARP)) continue;
        if (has_place(line, s->x[i - 1], s->x[i + 1])) continue;
        HB_TRY(line_climb(line, s->x[i - 1], s->x[i + 1], &x));
        line_add_place(line, x);
    }
    return HB_OK;
}

static hb_status look_around(hb_line_density *line, scan *s, double e)
{
    for (double sign = -1; sign <= 1; sign += 2) {
        const double first = first_v(e);
        s->n = (size_t)((LAST - first) * PER_UNIT);
        for (size_t i = 0; i < s->n; i++) s->x[i] = x_on(e, sign, first + (double)i / PER_UNIT);
        HB_TRY(line_look(line->context, line, s->n, s->x, s->l));
        HB_TRY(find_zeros(line, s));
        HB_TRY(find_peaks(line, s));
    }
    return HB_OK;
}

/* Looks at the borders and the middles of cells: places of what rays may pass over. */
static hb_status look_at_features(hb_line_density *line, scan *s, size_t most)
{
    const hb_features *features = &line->features;
    s->n = 0;
    for (int k = 0; k < features->n && s->n + 2 < most; k++) {
        const double a = features->borders[k], b = features->borders[k + 1];
        s->x[s->n++] = a;
        s->x[s->n++] = 0.5 * (a + b);
    }
    HB_TRY(line_look(line->context, line, s->n, s->x, s->l));
    HB_TRY(find_zeros(line, s));
    return find_peaks(line, s);
}

static hb_status find_places(hb_line_density *line, scan *s, size_t most)
{
    line->place[line->n_places++] = 0;
    HB_TRY(look_at_features(line, s, most));
    for (int k = 0; k < line->n_places; k++) HB_TRY(look_around(line, s, line->place[k]));
    hb_sort((size_t)line->n_places, line->place);
    return HB_OK;
}

/* ---- mass ---- */

static void cut_rays(hb_line_density *line)
{
    const int n = line->n_places;
    const double *p = line->place;
    for (int k = 0; k < n; k++) {
        const double left = k > 0 ? log(0.5 * (p[k] - p[k - 1])) : LAST;
        const double right = k + 1 < n ? log(0.5 * (p[k + 1] - p[k])) : LAST;
        line->rays[line->n_rays++] = (ray){.e = p[k], .sign = -1, .whole = left, .top = left};
        line->rays[line->n_rays++] = (ray){.e = p[k], .sign = 1, .whole = right, .top = right};
    }
    for (int k = 0; k < line->n_rays; k++)
        line->rays[k].low = fmin(first_v(line->rays[k].e), line->rays[k].top - 1);
}

/* ln of the integrand at the steps of a ray, the last at its top. */
static hb_status scan_ray(const hb_line_density *line, const ray *r, scan *s)
{
    s->n = (size_t)ceil((r->top - r->low) * PER_UNIT) + 1;
    for (size_t i = 0; i < s->n; i++)
        s->x[i] = x_on(r->e, r->sign, fmin(r->low + (double)i / PER_UNIT, r->top));
    HB_TRY(line_look(line->context, line, s->n, s->x, s->l));
    for (size_t i = 0; i < s->n; i++)
        s->l[i] =
            s->x[i] == r->e ? -INFINITY : s->l[i] + fmin(r->low + (double)i / PER_UNIT, r->top);
    return HB_OK;
}

static hb_status find_peak(hb_line_density *line, scan *s)
{
    line->peak = -INFINITY;
    for (int k = 0; k < line->n_rays; k++) {
        HB_TRY(scan_ray(line, line->rays + k, s));
        for (size_t i = 0; i < s->n; i++) line->peak = fmax(line->peak, s->l[i]);
    }
    HB_CHECK(line->context, line->peak > -INFINITY, HB_ERROR_ARGUMENT,
             "%s: the density is 0 or has no value wherever it was looked at; it needs a mass",
             line->what);
    HB_CHECK(line->context, line->peak < INFINITY, HB_ERROR_ARGUMENT,
             "%s: the density is infinite on an interval; it must have a finite mass", line->what);
    return HB_OK;
}

/* The part of the ray where the integrand counts, and the power that it has at the ray's end. */
static hb_status bound_ray(hb_line_density *line, ray *r, scan *s)
{
    HB_TRY(scan_ray(line, r, s));
    size_t first = s->n, last = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->l[i] >= line->peak - DROP) {
            if (first == s->n) first = i;
            last = i;
        }
    if (first == s->n) {
        r->low = r->top;
        return HB_OK;
    }
    HB_CHECK(line->context, r->top < LAST || last + 1 < s->n, HB_ERROR_ARGUMENT,
             "%s: the density cannot be normalised: its mass does not end before |x| = 1e299",
             line->what);
    const double start = r->low;
    r->low = start + (double)(first > 0 ? first - 1 : 0) / PER_UNIT;
    r->top = fmin(start + (double)(last + 1) / PER_UNIT, r->top);
    if (first > 0 || s->n <= 2 * PER_UNIT) return HB_OK;
    r->slope = (s->l[2 * PER_UNIT] - s->l[0]) / 2;
    HB_CHECK(line->context, r->slope > 0.02, HB_ERROR_ARGUMENT,
             "%s: the density cannot be normalised: it has no finite mass near x = %.10g",
             line->what, r->e);
    r->tail = exp(s->l[0] - line->peak) / r->slope;
    return HB_OK;
}

static hb_status line_integrand(void *user, size_t n, const double *v, double *h)
{
    const hb_line_density *line = user;
    double x[HB_PANEL_NODES];
    for (size_t first = 0; first < n; first += HB_PANEL_NODES) {
        const size_t count = n - first < HB_PANEL_NODES ? n - first : HB_PANEL_NODES;
        for (size_t i = 0; i < count; i++) x[i] = x_on(line->now->e, line->now->sign, v[first + i]);
        HB_TRY(line_look(line->context, line, count, x, h + first));
        for (size_t i = 0; i < count; i++)
            h[first + i] = exp(h[first + i] + v[first + i] - line->peak);
    }
    return HB_OK;
}

/* The borders of cells that are on the ray, in v. */
static hb_status features_on(const hb_line_density *line, ray *r)
{
    const hb_features *all = &line->features;
    int n = 0;
    HB_TRY(HB_NEW(line->context, r->features.borders, (size_t)all->n + 1));
    double *borders = r->features.borders;
    for (int k = 0; k <= all->n; k++) {
        const double s = r->sign * (all->borders[r->sign > 0 ? k : all->n - k] - r->e);
        if (s > 0 && log(s) > r->low && log(s) < r->top) borders[n++] = log(s);
    }
    r->features.n = n > 0 ? n - 1 : 0;
    return HB_OK;
}

static hb_status weigh_ray(hb_line_density *line, ray *r)
{
    hb_panels_settings settings = {.function = line_integrand,
                                   .user = line,
                                   .scale = 1,
                                   .name = "the initial density",
                                   .variable = "ln|x|"};
    r->before = line->total;
    if (!(r->low < r->top)) return HB_OK;
    HB_TRY(features_on(line, r));
    settings.features = &r->features;
    line->now = r;
    hb_status status = HB_ERROR_NUMERICAL;
    for (size_t k = 0; k < N_RESOLVED && status == HB_ERROR_NUMERICAL; k++) {
        settings.resolved = RESOLVED[k];
        status = hb_panels_create(line->context, &settings, r->low, r->top, &r->panels);
    }
    line->now = NULL;
    HB_TRY(status);
    r->mass = r->tail + fmax(0, hb_panels_total(r->panels));
    line->total += r->mass;
    return HB_OK;
}

static hb_status line_weigh(hb_line_density *line, scan *s)
{
    cut_rays(line);
    HB_TRY(find_peak(line, s));
    for (int k = 0; k < line->n_rays; k++) HB_TRY(bound_ray(line, line->rays + k, s));
    for (int k = 0; k < line->n_rays; k++) HB_TRY(weigh_ray(line, line->rays + k));
    HB_CHECK(line->context, line->total > 0 && isfinite(line->total), HB_ERROR_ARGUMENT,
             "%s: the density cannot be normalised: its mass came out as %g", line->what,
             line->total);
    line->log_total = line->peak + log(line->total);
    return HB_OK;
}

/* ---- the whole ---- */

static hb_status line_build(hb_line_density *line, double share)
{
    scan s = {0};
    HB_TRY(line_find_breaks(line));
    HB_TRY(hb_density_formula_compile(line->graph, line->node, &line->formula));
    HB_TRY(hb_features_find(line->context, line->graph, 1, &line->node, 1, NULL,
                            (hb_interval){0, 0}, &line->features));
    const size_t most = (size_t)(2 * LAST * PER_UNIT) + 40 * PER_UNIT;
    HB_TRY(HB_WORKSPACE(line->context, &s.work, HB_ARRAY(s.x, most), HB_ARRAY(s.l, most),
                        HB_ARRAY(s.arguments, most * (size_t)(line->n_breaks + 1))));
    hb_status status = find_places(line, &s, most);
    if (status == HB_OK) status = line_weigh(line, &s);
    hb_workspace_destroy(&s.work);
    HB_TRY(status);
    HB_TRY(hb_line_density_quantile(line->context, line, 0.5 * share, &line->low));
    return hb_line_density_quantile(line->context, line, 1 - 0.5 * share, &line->high);
}

hb_status hb_line_density_create(hb_context *context, hb_graph *graph, hb_node node,
                                 const char *what, double share, hb_line_density **out)
{
    hb_line_density *line;
    *out = NULL;
    HB_TRY(HB_NEW_CLEARED(context, line, 1));
    line->context = context;
    line->graph = graph;
    line->most = -INFINITY;
    line->node = node;
    strncpy(line->what, what, sizeof line->what - 1);
    const hb_status status = line_build(line, share);
    if (status != HB_OK) {
        hb_line_density_destroy(context, line);
        return status;
    }
    *out = line;
    return HB_OK;
}

void hb_line_density_destroy(hb_context *context, hb_line_density *line)
{
    if (!line) return;
    hb_density_formula_destroy(&line->formula);
    hb_program_destroy(line->arguments);
    for (int k = 0; k < line->n_rays; k++) {
        hb_panels_destroy(context, line->rays[k].panels);
        hb_features_destroy(context, &line->rays[k].features);
    }
    hb_features_destroy(context, &line->features);
    hb_release(context, line);
}

/* ---- questions ---- */

hb_status hb_line_density_evaluate(hb_context *context, const hb_line_density *line, size_t n,
                                   const double *x, double *log_density, double *slope)
{
    HB_TRY(hb_density_formula_run(context, &line->formula, NULL, 1, n, x, log_density, slope));
    for (size_t i = 0; i < n; i++) log_density[i] -= line->log_total;
    return HB_OK;
}

hb_status hb_line_density_quantile(hb_context *context, const hb_line_density *line, double u,
                                   double *x)
{
    int first = 0, last = line->n_rays;
    const double mass = u * line->total;
    while (last - first > 1) {
        const int middle = (first + last) / 2;
        *(line->rays[middle].before <= mass ? &first : &last) = middle;
    }
    const ray *r = line->rays + first;
    while (r->mass == 0 && r > line->rays) r--; // rounding has left the last mass
    double part = fmin(fmax(mass - r->before, 0), r->mass), v;
    if (r->sign < 0) part = r->mass - part;
    if (part < r->tail)
        v = r->low + log(fmax(part / r->tail, 1e-300)) / r->slope;
    else
        HB_TRY(hb_panels_inverse(context, r->panels,
                                 fmin(part - r->tail, hb_panels_total(r->panels)), &v));
    *x = x_on(r->e, r->sign, v);
    return HB_OK;
}

/* The mass between distances a < b of a ray's end; 0 <= a. Without the ray's sides it is a Gauss
 * rule in ln of the distance, in pieces of PIECE at most, so that deep tails keep their digits. */
static hb_status mass_on(hb_context *context, const hb_line_density *line, const ray *r, double a,
                         double b, double *mass)
{
    enum { GAUSS = 16 };
    static const double PIECE = 0.5;
    double nodes[GAUSS], weights[GAUSS], x[GAUSS], l[GAUSS];
    *mass = 0;
    if (!(b > a)) return HB_OK;
    if (a < exp(r->low)) { // from the end itself: what the panels know
        const double top = fmin(log(b), r->top);
        if (!r->panels) return HB_OK;
        if (top <= r->low)
            *mass = r->tail > 0 ? r->tail * exp(r->slope * (top - r->low)) : 0;
        else
            HB_TRY(hb_panels_integral(context, r->panels, top, mass));
        if (top > r->low) *mass += r->tail;
        if (a > 0 && r->tail > 0) *mass -= r->tail * exp(r->slope * (log(a) - r->low));
        return HB_OK;
    }
    HB_TRY(hb_quadrature_beta(context, 1, 1, GAUSS, nodes, weights));
    const double low = log(a), high = log(b);
    const int pieces = (int)ceil((high - low) / PIECE);
    for (int p = 0; p < pieces; p++) {
        const double from = low + (high - low) * p / pieces, width = (high - low) / pieces;
        for (int k = 0; k < GAUSS; k++) x[k] = x_on(r->e, r->sign, from + width * nodes[k]);
        HB_TRY(line_look(context, line, GAUSS, x, l));
        for (int k = 0; k < GAUSS; k++)
            *mass += width * weights[k] * exp(l[k] + from + width * nodes[k] - line->peak);
    }
    return HB_OK;
}

hb_status hb_line_density_log_mass(hb_context *context, const hb_line_density *line, double a,
                                   double b, double *log_mass)
{
    double sum = 0;
    for (int k = 0; k < line->n_rays; k++) {
        const ray *r = line->rays + k;
        const double reach = r->whole < LAST ? exp(r->whole) : INFINITY;
        const double first = r->sign > 0 ? a - r->e : r->e - b,
                     last = r->sign > 0 ? b - r->e : r->e - a;
        double mass;
        HB_TRY(mass_on(context, line, r, fmin(fmax(first, 0), reach), fmin(fmax(last, 0), reach),
                       &mass));
        sum += fmax(mass, 0);
    }
    *log_mass = log(sum / line->total);
    return HB_OK;
}

double hb_line_density_most(const hb_line_density *line)
{
    return line->most - line->log_total;
}

void hb_line_density_box(const hb_line_density *line, double *low, double *high)
{
    *low = line->low;
    *high = line->high;
}

/* A feature that is narrow against the box and has mass is no smooth start to nodes of a grid. */
static int line_is_narrow(const hb_line_density *line)
{
    const double narrow = (line->high - line->low) / NARROW;
    double at = line->low, l;
    while ((at = hb_features_next(&line->features, at, narrow)) < line->high)
        if (hb_density_formula_run(line->context, &line->formula, NULL, 1, 1, &at, &l, NULL) ==
                HB_OK &&
            l + log(narrow) > line->log_total - 30)
            return 1;
    return 0;
}

/* Whether ln u changes by more than RISE on a run of narrow cells, where u is above e^-30. */
static int line_is_steep(const hb_line_density *line)
{
    const double *border = line->features.borders, narrow = (line->high - line->low) / STEEP;
    double before = NAN, rise = 0, l;
    for (int k = 0; k < line->features.n; k++) {
        if (!(border[k + 1] - border[k] < narrow && border[k] >= line->low)) {
            before = NAN;
            rise = 0;
            continue;
        }
        for (int end = isnan(before) ? 0 : 1; end < 2; end++) {
            if (hb_density_formula_run(line->context, &line->formula, NULL, 1, 1, border + k + end,
                                       &l, NULL) != HB_OK)
                return 1;
            l = fmax(l, line->log_total - 30);
            rise += isnan(before) ? 0 : fabs(l - before);
            before = l;
        }
        if (rise > RISE) return 1;
    }
    return 0;
}

int hb_line_density_breaks(const hb_line_density *line)
{
    const int broken = line->n_breaks > 0 || line_is_narrow(line);
    return !broken ? 0 : (line->has_pole ? 3 : 1) + (line->has_jump || line_is_steep(line));
}

hb_node hb_line_density_log_node(const hb_line_density *line, double *log_total)
{
    *log_total = line->log_total;
    return line->formula.log_node;
}
