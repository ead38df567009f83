/* The stationary density of a gradient drift: u = exp(-V/(g^2/2))/Z, grad ln u = F.
 *
 * Where F_i depends on x_i alone (in one dimension always) u is a product of lines, in any
 * dimension:
 *     ln u = sum_i (int F_i dx_i - ln Z_i),      both integrals on adaptive panels (panels.c)
 * Any other gradient in d = 2, 3 is the initial density `stationary` (initial_stationary.c). Panels
 * end at narrow features of F (features.c); where these are not all known, the density is flagged.
 * H. Risken, The Fokker-Planck Equation, 1989, section 5.2.
 * A number to reproduce: f = x - x^3, g = 1 has u(0) = 1/int exp(x^2 - x^4/2) dx = 0.240053. */
#include "problem/stationary_density.h"
#include "base/context.h"
#include "base/memory.h"

#include <math.h>

static const double LINE_ERROR = 1e-12; /* of ln u, per unit of its size; panels have 1e-13 */

/* One axis of a product. */
typedef struct line_part {
    hb_stationary_line own;
    double error; /* of ln u, of what panels did not resolve */
    hb_problem line;
} line_part;

struct hb_stationary {
    const hb_problem *problem;
    line_part *lines;    // (d), of a product; NULL: none
    hb_problem *general; /* whose initial density it is; NULL: a product */
    double error;        /* of ln Z */
    int flagged;
};

/* ---- lines ---- */

static hb_status drift_on_line(void *user, size_t n, const double *s, double *F)
{
    const hb_stationary_line *l = user;
    const size_t d = (size_t)l->whole->dim, axis = (size_t)l->axis;
    hb_context *context = l->whole->context;
    if (d == 1) return hb_problem_drift(context, l->whole, n, s, 0, F, NULL, NULL, NULL);
    double *x; // (n, d), and of F the same
    HB_TRY(HB_NEW_CLEARED(context, x, 2 * n * d));
    double *all = x + n * d;
    for (size_t i = 0; i < n; i++) x[i * d + axis] = s[i];
    const hb_status status = hb_problem_drift(context, l->whole, n, x, 0, all, NULL, NULL, NULL);
    for (size_t i = 0; i < n && status == HB_OK; i++) F[i] = all[i * d + axis];
    hb_release(context, x);
    return status;
}

static hb_status raw_on_line(hb_context *context, const hb_problem *line, size_t n, const double *x,
                             double *log_density, double *gradient)
{
    hb_stationary_line *l = line->initial.data;
    for (size_t i = 0; i < n; i++)
        HB_TRY(hb_panels_integral(context, l->path, x[i], log_density + i));
    return gradient ? drift_on_line(l, n, x, gradient) : HB_OK;
}

static hb_status create_path(hb_context *context, hb_stationary_line *l, double low, double high)
{
    const hb_panels_settings settings = {.function = drift_on_line,
                                         .user = l,
                                         .scale = 1,
                                         .name = "the drift",
                                         .variable = "x",
                                         .features = &l->box.features};
    hb_panels_destroy(context, l->path);
    l->path = NULL;
    return hb_panels_create(context, &settings, low, high, &l->path);
}

hb_status hb_stationary_line_create(hb_context *context, const hb_problem *whole, int axis,
                                    const hb_problem *own, hb_stationary_line *l)
{
    double shift;
    l->whole = whole;
    l->axis = axis;
    l->box = (hb_box_density){.problem = own, .raw = raw_on_line, .what = "stationary density"};
    HB_TRY(hb_box_density_features(context, whole, axis, &l->box));
    HB_TRY(create_path(context, l, -1, 1));
    HB_TRY(hb_box_density_find(context, &l->box));
    HB_TRY(hb_box_density_features(context, whole, axis, &l->box));
    /* From here the path begins in the box: it has no large constant to lose digits to. */
    HB_TRY(hb_panels_integral(context, l->path, l->box.low[0], &shift));
    HB_TRY(create_path(context, l, l->box.low[0], l->box.high[0]));
    l->box.peak -= shift;
    return hb_box_density_create(context, &l->box);
}

static hb_status create_line(hb_context *context, const hb_problem *problem, int axis, line_part *l)
{
    l->line = (hb_problem){.context = context, .dim = 1, .initial = {.data = l}};
    HB_TRY(hb_stationary_line_create(context, problem, axis, &l->line, &l->own));
    const hb_panels *mass = l->own.box.cumulative;
    l->error = 2 * hb_panels_error(l->own.path) + hb_panels_error(mass) / hb_panels_total(mass);
    return HB_OK;
}

static hb_status stationary_create_product(hb_context *context, hb_stationary *s)
{
    const int d = s->problem->dim;
    HB_TRY(HB_NEW_CLEARED(context, s->lines, (size_t)d));
    for (int i = 0; i < d; i++) {
        HB_TRY(create_line(context, s->problem, i, s->lines + i));
        s->flagged |= s->problem->drift.graph && !s->lines[i].own.box.features.complete;
    }
    s->error = LINE_ERROR * d;
    return HB_OK;
}

static hb_status product_at(hb_context *context, const hb_stationary *s, const double *x,
                            double *log_density, double *error)
{
    *log_density = 0;
    *error = s->error;
    for (int i = 0; i < s->problem->dim; i++) {
        const hb_stationary_line *l = &s->lines[i].own;
        double value;
        HB_TRY(hb_panels_integral(context, l->path, x[i], &value));
        *log_density += value - l->box.log_total;
        *error += LINE_ERROR * (fabs(value) + fabs(l->box.log_total)) + s->lines[i].error;
    }
    return HB_OK;
}

/* ---- both ---- */

int hb_stationary_is_known(const hb_problem *problem)
{
    const hb_drift_facts *facts = &problem->drift.facts;
    return (facts->gradient && problem->dim <= 3) || facts->separable;
}

hb_status hb_stationary_create(hb_context *context, const hb_problem *problem, hb_stationary **out)
{
    hb_stationary *s;
    *out = NULL;
    HB_TRY(HB_NEW_CLEARED(context, s, 1));
    s->problem = problem;
    hb_status status;
    if (problem->dim == 1 || problem->drift.facts.separable)
        status = stationary_create_product(context, s);
    else {
        status = hb_problem_borrow(context, problem, "stationary", &s->general);
        if (status == HB_OK)
            s->error = ((const hb_box_density *)s->general->initial.data)->log_total_error;
    }
    if (status == HB_OK)
        *out = s;
    else
        hb_stationary_destroy(context, s);
    return status;
}

void hb_stationary_destroy(hb_context *context, hb_stationary *s)
{
    if (!s) return;
    for (int i = 0; s->lines && i < s->problem->dim; i++) {
        hb_panels_destroy(context, s->lines[i].own.path);
        hb_box_density_clear(context, &s->lines[i].own.box);
    }
    hb_release(context, s->lines);
    hb_problem_borrowed_destroy(context, s->general);
    hb_release(context, s);
}

void hb_stationary_box(const hb_stationary *stationary, double *low, double *high)
{
    *low = stationary->lines[0].own.box.low[0];
    *high = stationary->lines[0].own.box.high[0];
}

int hb_stationary_is_flagged(const hb_stationary *stationary)
{
    return stationary->flagged;
}

hb_status hb_stationary_evaluate(hb_context *context, const hb_stationary *s, size_t n,
                                 const double *x, double *log_density, double *error, double *score)
{
    const size_t d = (size_t)s->problem->dim;
    HB_TRY(hb_problem_drift(context, s->problem, n, x, 0, score, NULL, NULL, NULL));
    for (size_t i = 0; i < n && s->lines; i++)
        HB_TRY(product_at(context, s, x + i * d, log_density + i, error + i));
    if (s->lines) return HB_OK;
    HB_TRY(hb_problem_initial(context, s->general, n, x, log_density, NULL));
    for (size_t i = 0; i < n; i++) error[i] = s->error + LINE_ERROR * (1 + fabs(log_density[i]));
    return HB_OK;
}

/* ---- a problem with another start ---- */

hb_status hb_problem_borrow(hb_context *context, const hb_problem *problem, const char *initial,
                            hb_problem **out)
{
    hb_problem *borrowed;
    *out = NULL;
    HB_TRY(HB_NEW(context, borrowed, 1));
    *borrowed = *problem;
    borrowed->initial = (hb_initial){0};
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.initial = initial;
    const hb_status status = hb_initial_parse(context, &settings, borrowed);
    if (status == HB_OK)
        *out = borrowed;
    else
        hb_problem_borrowed_destroy(context, borrowed);
    return status;
}

void hb_problem_borrowed_destroy(hb_context *context, hb_problem *borrowed)
{
    if (!borrowed) return;
    hb_initial_destroy(context, &borrowed->initial);
    hb_release(context, borrowed);
}
