/* Section 2.1 and 2.2 of the paper: the time change and the Helmholtz split of a drift.
 *
 * Time change. dx = -b x dt + e^(c t) dW from N(m, s) stays Gaussian with
 *     mean m e^(-b t),   variance s e^(-2 b t) + (e^(2 c t) - e^(-2 b t))/(2 (b + c)),
 * and tau(t) = (e^(2 c t) - 1)/(4 c). Three things must agree: tau itself; the solution of the
 * heat equation with the source -div(F u), F = f/(g^2/2), on a grid in tau; and the residual of
 * the closed form, carried to tau, in that equation.
 *
 * Helmholtz. F = grad phi + (-d chi/dy, d chi/dx) with phi and chi given; the split on a lattice
 * must find the two parts, and -div(F u) = -div(grad phi u) - F1.grad u. With the parts exchanged
 * the second formula leaves out u Lap phi, which the last row measures.
 *
 * Must reproduce: tau(1) = 0.685098 for c = 0.3. */
#include "identities.h"

#include <heatball/grid.h>
#include <heatball/metrics.h>
#include <math.h>
#include <stdlib.h>

/* ---- 2.1 ---- */

static const double B = 1.3, C = 0.3, MEAN = 0.7, VARIANCE = 0.35;

static double tau_of(double t)
{
    return expm1(2 * C * t) / (4 * C);
}

/* ln p(x,t) and its slope. */
static double gaussian_at(double x, double t, double *slope)
{
    const double decay = exp(-2 * B * t);
    const double s = VARIANCE * decay + (exp(2 * C * t) - decay) / (2 * (B + C));
    const double y = x - MEAN * exp(-B * t);
    if (slope) *slope = -y / s;
    return -0.5 * (y * y / s + log(2 * M_PI * s));
}

static int carried(void *user, size_t n, const double *x, const double *tau, double *v,
                   double *gradient)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        v[i] = gaussian_at(x[i], log1p(4 * C * tau[i]) / (2 * C), gradient ? gradient + i : NULL);
    return 0;
}

enum { POINTS = 41 };

static hb_status compare_grid(hb_identities *list, const hb_problem *problem, double t)
{
    hb_grid_settings settings;
    hb_grid *grid;
    double x[POINTS], v[POINTS], v_error[POINTS], score[POINTS], score_error[POINTS];
    for (int i = 0; i < POINTS; i++) x[i] = -3 + 6.0 * i / (POINTS - 1);
    hb_grid_settings_default(sizeof settings, &settings);
    HB_TRY(hb_grid_solve(list->context, problem, &settings, POINTS, x, t, &grid));
    hb_status status =
        hb_grid_evaluate(list->context, grid, POINTS, x, tau_of(t), v, v_error, score, score_error);
    hb_grid_destroy(grid);
    for (int i = 0; i < POINTS && status == HB_OK; i++) {
        double slope;
        const double exact = gaussian_at(x[i], t, &slope);
        status =
            hb_identities_put(list, "time_change", "log density", 1, x[i], v[i], exact, v_error[i]);
        if (status == HB_OK)
            status = hb_identities_put(list, "time_change", "score", 1, x[i], score[i], slope,
                                       score_error[i]);
    }
    return status;
}

/* Scaled residuals of ln u at tau(t), and those with the drift f instead of F = f/(g^2/2). */
static hb_status residual_in_tau(hb_identities *list, const hb_problem *problem, double t,
                                 const char *item)
{
    const hb_field field = {1, 0, tau_of(3), carried, NULL};
    const double x[] = {-1.7, 0.2, 2.385}, radii[] = {0.3, 0.9, 1.8};
    double scaled[9], error[9];
    hb_mean_settings settings;
    hb_mean_settings_default(sizeof settings, &settings);
    settings.degree = list->quick ? 6 : 10;
    HB_TRY(hb_mean_residual(
        list->context, problem, &field, &settings, 3, 3, x, tau_of(t), radii,
        &(hb_residual_values){sizeof(hb_residual_values), NULL, NULL, scaled, error}));
    for (int i = 0; i < 9; i++)
        HB_TRY(
            hb_identities_put(list, "time_change", item, 1, radii[i % 3], scaled[i], 0, error[i]));
    return HB_OK;
}

static hb_status make_problem(hb_context *context, const char *drift, const char *noise,
                              hb_problem **out)
{
    static const char *const names[] = {"b", "c"};
    const double values[] = {B, C};
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.drift = drift;
    settings.noise = noise;
    settings.initial = "gaussian(mean=0.7, var=0.35)";
    settings.time = 3;
    settings.n_parameters = 2;
    settings.parameter_names = names;
    settings.parameter_values = values;
    return hb_problem_create(context, &settings, out);
}

hb_status hb_identities_time_change(hb_identities *list)
{
    hb_problem *problem, *wrong = NULL;
    double tau = NAN;
    HB_TRY(make_problem(list->context, "-b*x", "exp(c*t)", &problem));
    hb_status status = make_problem(list->context, "-b*x", "sqrt(2)", &wrong);
    for (int i = 1; i <= 3 && status == HB_OK; i++) {
        status = hb_problem_tau_of_t(list->context, problem, i, &tau);
        if (status == HB_OK)
            status = hb_identities_put(list, "time_change", "tau", 1, i, tau, tau_of(i),
                                       1e-12 * tau_of(i));
    }
    if (status == HB_OK) status = compare_grid(list, problem, 1);
    if (status == HB_OK) status = residual_in_tau(list, problem, 1, "residual");
    if (status == HB_OK) status = residual_in_tau(list, wrong, 1, "residual with f");
    hb_problem_destroy(wrong);
    hb_problem_destroy(problem);
    return status;
}

/* ---- 2.2 ---- */

static const char POTENTIAL_PART[] = "0.6*x - 0.05*x^3 + 0.4*y, -0.9*y + 0.4*x";
static const char ROTATION_PART[] = "3.6*y*exp(-x^2 - 1.2*y^2), -3*x*exp(-x^2 - 1.2*y^2)";
static const char BOTH_PARTS[] = "0.6*x - 0.05*x^3 + 0.4*y + 3.6*y*exp(-x^2 - 1.2*y^2), "
                                 "-0.9*y + 0.4*x - 3*x*exp(-x^2 - 1.2*y^2)";

typedef struct lattice_field {
    double *F, *divergence; // (n, 2), (n)
} lattice_field;

/* A drift and its divergence at the points of the lattice. */
static hb_status drift_on(hb_context *context, const char *drift, size_t n, const double *x,
                          lattice_field *out)
{
    hb_problem *problem;
    HB_TRY(hb_problem_parse(context, drift, "sqrt(2)", NULL, &problem));
    hb_status status =
        hb_problem_drift(context, problem, n, x, 0, out->F, out->divergence, NULL, NULL);
    hb_problem_destroy(problem);
    return status;
}

/* Largest values over the lattice, with u = exp(-|x|^2/2): of -div(F u), of what is left when its
 * two parts are taken off, the same with the parts exchanged, and of the parts themselves. */
typedef struct source_sums {
    double largest, separated, exchanged, potential, transport;
} source_sums;

static source_sums separate(size_t n, const double *x, const lattice_field part[3])
{
    source_sums s = {0};
    for (size_t i = 0; i < n; i++) {
        const double u = exp(-0.5 * (x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1]));
        double along[3], h;
        for (int k = 0; k < 3; k++)
            along[k] = -x[2 * i] * part[k].F[2 * i] - x[2 * i + 1] * part[k].F[2 * i + 1];
        h = -u * (part[0].divergence[i] + along[0]);
        const double potential = -u * (part[1].divergence[i] + along[1]);
        const double transport = -u * along[2];
        s.largest = fmax(s.largest, fabs(h));
        s.potential = fmax(s.potential, fabs(potential));
        s.transport = fmax(s.transport, fabs(transport));
        s.separated = fmax(s.separated, fabs(h - potential - transport));
        s.exchanged =
            fmax(s.exchanged, fabs(h + u * along[1] + u * (part[2].divergence[i] + along[2])));
    }
    return s;
}

/* Largest distance of the found rotation from the true one, and mass of the true one, relative. */
static void compare_split(size_t n, const double *rotation, const double *true_rotation,
                          const double *gradient, double *distance, double *share)
{
    double most = 0, difference = 0, turning = 0, mean[2] = {0, 0}, sloping = 0;
    for (size_t i = 0; i < 2 * n; i++) mean[i % 2] += gradient[i] / (double)n;
    for (size_t i = 0; i < 2 * n; i++) {
        most = fmax(most, fabs(true_rotation[i]));
        difference = fmax(difference, fabs(rotation[i] - true_rotation[i]));
        turning += true_rotation[i] * true_rotation[i];
        sloping += (gradient[i] - mean[i % 2]) * (gradient[i] - mean[i % 2]);
    }
    *distance = difference / most;
    *share = turning / (turning + sloping);
}

static hb_status split_lattice(hb_identities *list, int side, double *memory)
{
    const size_t n = (size_t)side * (size_t)side;
    const double low = -4, step = 8.0 / (side - 1);
    double *x = memory, *rotation = x + 2 * n, mass, distance, share;
    lattice_field part[3];
    for (int k = 0; k < 3; k++)
        part[k] =
            (lattice_field){memory + (4 + 3 * (size_t)k) * n, memory + (6 + 3 * (size_t)k) * n};
    for (size_t i = 0; i < n; i++) {
        x[2 * i] = low + step * (double)(i % (size_t)side);
        x[2 * i + 1] = low + step * (double)(i / (size_t)side);
    }
    HB_TRY(drift_on(list->context, BOTH_PARTS, n, x, &part[0]));
    HB_TRY(drift_on(list->context, POTENTIAL_PART, n, x, &part[1]));
    HB_TRY(drift_on(list->context, ROTATION_PART, n, x, &part[2]));
    HB_TRY(hb_judge_helmholtz(list->context, side, side, step, step, part[0].F, NULL, rotation,
                              NULL, &mass));
    compare_split(n, rotation, part[2].F, part[1].F, &distance, &share);
    const source_sums s = separate(n, x, part);
    const hb_identity rows[] = {
        {"helmholtz", "distance of the parts", 2, side, distance, 0, NAN},
        {"helmholtz", "rotation mass", 2, side, mass, share, NAN},
        {"helmholtz", "separated", 2, side, s.separated / s.largest, 0, 1e-14},
        {"helmholtz", "exchanged", 2, side, s.exchanged / s.largest, NAN, 1e-14},
        {"helmholtz", "potential part", 2, side, s.potential / s.largest, NAN, 1e-14},
        {"helmholtz", "transport part", 2, side, s.transport / s.largest, NAN, 1e-14}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        HB_TRY(hb_identities_add(list, &rows[i]));
    return HB_OK;
}

hb_status hb_identities_helmholtz(hb_identities *list)
{
    hb_status status = HB_OK;
    for (int side = 64; side <= 256 && status == HB_OK; side *= 2) {
        void *memory;
        HB_TRY(hb_study_allocate(list->context, 13 * (size_t)side * (size_t)side, sizeof(double),
                                 &memory));
        status = split_lattice(list, side, memory);
        free(memory);
    }
    return status;
}
