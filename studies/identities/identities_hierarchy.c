/* Sections 3.2 to 3.4 of the paper: the functional J(r), the table of sources, the limit r -> 0.
 *
 * J(r) = 4 u(x0,tau0) for every r; without its second term it is 4 E_kappa[u], which is not
 * constant.
 *
 * Sources. For F = u, ln u, u ln u the scaled residual 4/(C1 r^2) (F - E_kappa[F] - (C1 r^2/4)
 * E_source[h_F]) of an exact solution must vanish within its error, at all points and radii; for
 * the score the same with the representation of the corollary. It is an average of the pointwise
 * residual, in units of the sources. u and u ln u are divided by u(x0,tau0). Fields: a mixture
 * under Ornstein-Uhlenbeck in d = 2 and 16, the same turning in the plane, and the bistable
 * process on a grid. With a term of h_F left out the residual is the average of that term, which
 * shows what the test can see.
 *
 * Limit. A field that solves du/dtau = k Lap u - div(F u), k = 1.3, has a pointwise residual that
 * is known, and the scaled residual must tend to it like r^2.
 *
 * Must reproduce: the residual of the right field is zero to 1e-9 at r = 0.8. */
#include "identities.h"

#include <heatball/grid.h>
#include <math.h>
#include <string.h>

static const double TAU = 0.9;
enum { POINTS = 4, RADII = 3, MOST = POINTS * IDENTITIES_DIM };

/* A field, its problem, and, for the bistable process, the grid that both stand on. */
typedef struct example {
    const char *name;
    int dim;
    double tau;
    hb_identity_field exact;
    hb_problem *problem;
    hb_grid *grid;
    hb_field field;
    double x[MOST]; // (POINTS, dim)
} example;

static void example_close(example *e)
{
    hb_problem_destroy(e->problem);
    hb_grid_destroy(e->grid);
}

/* Points within the mass and one outside of it. */
static void place_points(example *e)
{
    for (int p = 0; p < POINTS; p++)
        for (int i = 0; i < e->dim; i++)
            e->x[p * e->dim + i] =
                (0.2 + 0.75 * p) * cos(2.4 * p + 1.1 * i + 0.3) / sqrt(0.5 * e->dim + 0.5);
}

static hb_status open_exact(hb_context *context, const char *name, int dim, double omega,
                            double spoil, example *e)
{
    *e = (example){.name = name, .dim = dim, .tau = TAU};
    e->exact = hb_identities_mixture(dim, omega, spoil);
    e->field = hb_identities_as_field(&e->exact);
    place_points(e);
    return hb_identities_problem(context, &e->exact, &e->problem);
}

static hb_status open_bistable(hb_context *context, example *e)
{
    hb_grid_settings settings;
    *e = (example){.name = "bistable", .dim = 1, .tau = 0.5};
    place_points(e);
    HB_TRY(hb_problem_parse(context, "x - x^3", "1", "gaussian(mean=0.385, var=0.6)", &e->problem));
    hb_grid_settings_default(sizeof settings, &settings);
    settings.keep_from = 0.1;
    HB_TRY(hb_grid_solve(context, e->problem, &settings, POINTS, e->x, 1, &e->grid));
    hb_grid_field(e->grid, &e->field);
    return HB_OK;
}

static void settings_of(const hb_identities *list, const example *e, hb_mean_settings *out)
{
    hb_mean_settings_default(sizeof *out, out);
    out->degree = e->dim > 3 ? -1 : list->quick ? 6 : 10;
    out->samples = list->quick ? 20000 : 200000;
    out->seed = list->seed;
}

/* ln u and score at the points, with the errors of the grid (0 for a closed form). */
static hb_status values_at_points(hb_context *context, const example *e, double *v, double *v_error,
                                  double *score, double *score_error)
{
    if (e->grid)
        return hb_grid_evaluate(context, e->grid, POINTS, e->x, e->tau, v, v_error, score,
                                score_error);
    memset(v_error, 0, POINTS * sizeof *v_error);
    memset(score_error, 0, (size_t)(POINTS * e->dim) * sizeof *score_error);
    for (int p = 0; p < POINTS; p++)
        v[p] = hb_identities_log_density(&e->exact, e->x + p * e->dim, e->tau, score + p * e->dim,
                                         NULL);
    return HB_OK;
}

/* ---- 3.2 ---- */

static hb_status scan_J(hb_identities *list, const example *e, const char *item)
{
    enum { SCAN = 10 };
    double radii[SCAN], J[SCAN], error[SCAN], v[POINTS], v_error[POINTS], unused[2 * MOST];
    hb_mean_settings settings;
    settings_of(list, e, &settings);
    const double top =
        sqrt(4 * M_PI * 0.9 * (e->tau - e->field.tau_min)); /* inside the known time */
    for (int i = 0; i < SCAN; i++) radii[i] = top * (i + 1) / SCAN;
    HB_TRY(values_at_points(list->context, e, v, v_error, unused, unused + MOST));
    HB_TRY(hb_mean_monotonicity(list->context, e->problem, &e->field, &settings, SCAN,
                                e->x + e->dim, e->tau, radii, J, error));
    const double u4 = 4 * exp(v[1]);
    for (int i = 0; i < SCAN; i++)
        HB_TRY(hb_identities_put(list, "J", item, e->dim, radii[i], J[i] / u4, 1,
                                 hypot(error[i] / u4, v_error[1])));
    return HB_OK;
}

/* With the drift taken out of the problem the second term of J is 0. */
static hb_status scan_without_source(hb_identities *list, example *e, const char *item)
{
    hb_problem *with = e->problem;
    hb_status status = hb_problem_parse(list->context, e->dim == 1 ? "0*x" : "0*x, 0*y", "sqrt(2)",
                                        NULL, &e->problem);
    if (status == HB_OK) {
        status = scan_J(list, e, item);
        hb_problem_destroy(e->problem);
    }
    e->problem = with;
    return status;
}

static hb_status scan_both(hb_identities *list, hb_status opened, example *e, const char *without)
{
    hb_status status = opened;
    if (status == HB_OK) status = scan_J(list, e, e->name);
    if (status == HB_OK) status = scan_without_source(list, e, without);
    example_close(e);
    return status;
}

hb_status hb_identities_monotonicity(hb_identities *list)
{
    example e;
    HB_TRY(scan_both(list, open_exact(list->context, "OU", 2, 0, 1, &e), &e, "OU, without source"));
    return scan_both(list, open_bistable(list->context, &e), &e, "bistable, without source");
}

/* ---- 3.3 ---- */

static const double EXAMPLE_RADII[RADII] = {0.4, 0.9, 1.7};
static const char *const SOURCE_CHECKS[] = {"source u", "source v", "source w"};

static hb_status check_quantity(hb_identities *list, const example *e, hb_quantity quantity,
                                const double *v, const double *v_error)
{
    double scaled[POINTS * RADII], error[POINTS * RADII];
    hb_mean_settings settings;
    hb_ball_constants c;
    settings_of(list, e, &settings);
    HB_TRY(hb_ball_constants_get(list->context, e->dim, 0, sizeof c, &c));
    settings.quantity = quantity;
    HB_TRY(hb_mean_residual(
        list->context, e->problem, &e->field, &settings, POINTS, RADII, e->x, e->tau, EXAMPLE_RADII,
        &(hb_residual_values){sizeof(hb_residual_values), NULL, NULL, scaled, error}));
    for (int i = 0; i < POINTS * RADII; i++) {
        const int p = i / RADII;
        const double r = EXAMPLE_RADII[i % RADII], scale = 4 / (c.C1 * r * r);
        const double u0 = quantity == HB_QUANTITY_V ? 1 : exp(v[p]);
        const double slope = quantity == HB_QUANTITY_W ? fabs(1 + v[p]) : 1; /* dF/dv over u0 */
        HB_TRY(hb_identities_put(list, SOURCE_CHECKS[quantity], e->name, e->dim, r, scaled[i] / u0,
                                 0, hypot(error[i] / u0, scale * slope * v_error[p])));
    }
    return HB_OK;
}

static hb_status check_score(hb_identities *list, const example *e, const double *score,
                             const double *score_error)
{
    double mean[MOST], error[MOST];
    hb_mean_settings settings;
    hb_ball_constants c;
    settings_of(list, e, &settings);
    HB_TRY(hb_ball_constants_get(list->context, e->dim, 0, sizeof c, &c));
    for (int k = 0; k < RADII; k++) {
        const double scale = 4 / (c.C1 * EXAMPLE_RADII[k] * EXAMPLE_RADII[k]);
        hb_mean_values out = {.size = sizeof out, .score = mean, .score_se = error};
        settings.radius = EXAMPLE_RADII[k];
        HB_TRY(hb_mean_value(list->context, e->problem, &e->field, &settings, POINTS, e->x, e->tau,
                             &out));
        for (int i = 0; i < POINTS * e->dim; i++)
            HB_TRY(hb_identities_put(list, "source s", e->name, e->dim, EXAMPLE_RADII[k],
                                     scale * (score[i] - mean[i]), 0,
                                     scale * hypot(error[i], score_error[i])));
    }
    return HB_OK;
}

static hb_status check_example(hb_identities *list, hb_status opened, example *e)
{
    double v[POINTS], v_error[POINTS], score[MOST], score_error[MOST];
    hb_status status = opened;
    if (status == HB_OK)
        status = values_at_points(list->context, e, v, v_error, score, score_error);
    for (int q = 0; q < 3 && status == HB_OK; q++)
        status = check_quantity(list, e, (hb_quantity)q, v, v_error);
    if (status == HB_OK) status = check_score(list, e, score, score_error);
    example_close(e);
    return status;
}

/* This study's own rule: all terms, then with one term left out; and the score as the paper writes
 * it. */
static hb_status check_power(hb_identities *list, const hb_identity_ball *fine,
                             const hb_identity_ball *coarse, const example *e)
{
    static const char *const own[] = {"u", "v", "w"};
    static const struct wrong {
        hb_quantity quantity;
        int terms;
        const char *item;
    } wrong[] = {{HB_QUANTITY_U, TERM_DRIFT, "u without u div F"},
                 {HB_QUANTITY_U, TERM_DIVERGENCE, "u without F.grad u"},
                 {HB_QUANTITY_V, TERM_DRIFT | TERM_DIVERGENCE, "v without |grad v|²"},
                 {HB_QUANTITY_V, TERM_SLOPE | TERM_DIVERGENCE, "v without F.grad v"},
                 {HB_QUANTITY_V, TERM_SLOPE | TERM_DRIFT, "v without div F"},
                 {HB_QUANTITY_W, TERM_DRIFT | TERM_DIVERGENCE, "w without u|grad v|²"}};
    for (int p = 0; p < POINTS; p++)
        for (int k = 0; k < RADII; k++) {
            const double *x = e->x + p * e->dim, r = EXAMPLE_RADII[k];
            for (int q = 0; q < 3; q++) {
                const double value = hb_identities_residual(fine, &e->exact, (hb_quantity)q,
                                                            TERMS_ALL, r, x, e->tau);
                const double other = hb_identities_residual(coarse, &e->exact, (hb_quantity)q,
                                                            TERMS_ALL, r, x, e->tau);
                HB_TRY(hb_identities_put(list, "own rule", own[q], e->dim, r, value, 0,
                                         fabs(value - other) + 1e-12 / (r * r)));
            }
            for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
                const double value = hb_identities_residual(fine, &e->exact, wrong[w].quantity,
                                                            wrong[w].terms, r, x, e->tau);
                HB_TRY(hb_identities_put(list, "wrong source", wrong[w].item, e->dim, r, value, 0,
                                         NAN));
            }
            double score[IDENTITIES_DIM], exact[IDENTITIES_DIM];
            hb_identities_score(fine, &e->exact, r, x, e->tau, score);
            hb_identities_log_density(&e->exact, x, e->tau, exact, NULL);
            for (int i = 0; i < e->dim; i++)
                HB_TRY(hb_identities_put(list, "score", "as written", e->dim, r, score[i], exact[i],
                                         1e-7));
        }
    return HB_OK;
}

static hb_status check_own_rule(hb_identities *list)
{
    hb_identity_ball *fine = NULL, *coarse = NULL;
    example e;
    hb_status status = open_exact(list->context, "rotating", 2, 1.4, 1, &e);
    if (status == HB_OK) status = hb_identities_ball_create(list->context, 2, 14, &fine);
    if (status == HB_OK) status = hb_identities_ball_create(list->context, 2, 12, &coarse);
    if (status == HB_OK) status = check_power(list, fine, coarse, &e);
    hb_identities_ball_destroy(fine);
    hb_identities_ball_destroy(coarse);
    example_close(&e);
    return status;
}

/* |w| and |w|/u of N(0, I) in the plane at |x| = 0, 0.5, ..: which of them is larger where u is
 * smaller? */
static hb_status check_entropy(hb_identities *list)
{
    const hb_identity_field normal = hb_identities_stationary(2);
    for (int i = 0; i <= 8; i++) {
        const double x[2] = {0.5 * i, 0};
        const double v = hb_identities_log_density(&normal, x, 1, NULL, NULL);
        HB_TRY(hb_identities_put(list, "entropy", "|w|", 2, x[0], fabs(v) * exp(v), NAN, 0));
        HB_TRY(hb_identities_put(list, "entropy", "|w|/u", 2, x[0], fabs(v), NAN, 0));
    }
    return HB_OK;
}

hb_status hb_identities_sources(hb_identities *list)
{
    example e;
    HB_TRY(check_example(list, open_exact(list->context, "OU", 2, 0, 1, &e), &e));
    HB_TRY(check_example(list, open_exact(list->context, "rotating", 2, 1.4, 1, &e), &e));
    HB_TRY(check_example(list, open_exact(list->context, "OU", 16, 0, 1, &e), &e));
    HB_TRY(check_example(list, open_bistable(list->context, &e), &e));
    HB_TRY(check_own_rule(list));
    return check_entropy(list);
}

/* ---- 3.4 ---- */

enum { LIMIT_RADII = 6, ALL_RADII = 12 };

static hb_status check_limit(hb_identities *list, const example *e)
{
    static const char *const items[] = {"u", "v", "w"};
    const double radii[LIMIT_RADII] = {1.6, 0.8, 0.4, 0.2, 0.1, 0.05}, *x = e->x + 2 * e->dim;
    double residual[LIMIT_RADII], residual_error[LIMIT_RADII], scaled[LIMIT_RADII],
        error[LIMIT_RADII], laplacian;
    hb_mean_settings settings;
    settings_of(list, e, &settings);
    const double v = hb_identities_log_density(&e->exact, x, e->tau, NULL, &laplacian);
    for (int q = 0; q < 3; q++) {
        const double exact = (e->exact.spoil - 1) * laplacian * (q == 1 ? 1 : exp(v)) *
                             (q == HB_QUANTITY_W ? 1 + v : 1);
        settings.quantity = q;
        HB_TRY(hb_mean_residual(list->context, e->problem, &e->field, &settings, 1, LIMIT_RADII, x,
                                e->tau, radii,
                                &(hb_residual_values){sizeof(hb_residual_values), residual,
                                                      residual_error, scaled, error}));
        for (int i = 0; i < LIMIT_RADII; i++) {
            HB_TRY(hb_identities_put(list, "limit", items[q], e->dim, radii[i], scaled[i], exact,
                                     error[i]));
            HB_TRY(hb_identities_put(list, "unscaled", items[q], e->dim, radii[i], residual[i], NAN,
                                     residual_error[i]));
        }
    }
    return HB_OK;
}

/* The residual of ln u itself at all radii that fit. */
static hb_status check_feasible(hb_identities *list, const example *e)
{
    double radii[ALL_RADII], scaled[ALL_RADII], error[ALL_RADII];
    hb_mean_settings settings;
    settings_of(list, e, &settings);
    for (int i = 0; i < ALL_RADII; i++) radii[i] = 0.05 * pow(64, i / (ALL_RADII - 1.0));
    HB_TRY(hb_mean_residual(
        list->context, e->problem, &e->field, &settings, 1, ALL_RADII, e->x + e->dim, e->tau, radii,
        &(hb_residual_values){sizeof(hb_residual_values), NULL, NULL, scaled, error}));
    for (int i = 0; i < ALL_RADII; i++)
        HB_TRY(hb_identities_put(list, "feasible", "v", e->dim, radii[i], scaled[i], 0, error[i]));
    return HB_OK;
}

hb_status hb_identities_limit(hb_identities *list)
{
    example e;
    hb_status status = open_exact(list->context, "wrong", 2, 1.4, 1.3, &e);
    if (status == HB_OK) status = check_limit(list, &e);
    example_close(&e);
    if (status != HB_OK) return status;
    status = open_exact(list->context, "rotating", 2, 1.4, 1, &e);
    if (status == HB_OK) status = check_feasible(list, &e);
    example_close(&e);
    return status;
}
