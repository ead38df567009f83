/* The drift budget: its two constants by quadrature, T0 against mpmath and against its
 * definition, the root find on cases with a known root, and the bounds on solutions that are
 * known or computed. */
#include "shared_context.h"

#include "ball_integral.h"

static hb_budget_settings settings_of(int dim, double drift_sup, double div_sup, double theta)
{
    hb_budget_settings settings;
    hb_budget_settings_default(sizeof settings, &settings);
    settings.dim = dim;
    settings.drift_sup = drift_sup;
    settings.div_sup = div_sup;
    settings.theta = theta;
    return settings;
}

static hb_budget compute(const hb_budget_settings *settings)
{
    hb_budget budget;
    assert_ok(CTX, hb_budget_compute(CTX, settings, sizeof budget, &budget));
    return budget;
}

/* ---- the constants -------------------------------------------------------------------------- */

/* int |grad Phi(.,t)| = int |y|/(2t) Phi, by radial quadrature */
static double gradient_mass(int dim, double t)
{
    const double area = 2 * pow(M_PI, 0.5 * dim) / tgamma(0.5 * dim);
    double sum = 0, weight;
    for (int i = 0; i < 800; i++) {
        const double r = panel_node(i, 100, 14 * sqrt(2 * t), &weight);
        const double phi = pow(4 * M_PI * t, -0.5 * dim) * exp(-r * r / (4 * t));
        sum += weight * area * pow(r, dim - 1) * r / (2 * t) * phi;
    }
    return sum;
}

/* The mean of |cos(angle)| over the sphere of R^dim, dim >= 2 */
static double mean_direction(int dim)
{
    double sum = 0, mass = 0, weight;
    for (int i = 0; i < 160; i++) {
        const double angle = panel_node(i, 20, M_PI / 2, &weight);
        sum += weight * pow(sin(angle), dim - 2) * cos(angle);
        mass += weight * pow(sin(angle), dim - 2);
    }
    return sum / mass;
}

/* int |grad Phi| = C_d/sqrt(t), but int |e.grad Phi| = 1/sqrt(pi t) in every dimension. */
static void constants_are_gradient_masses(void **state)
{
    (void)state;
    const double t = 0.2385;
    for (int dim = 1; dim <= 6; dim++) {
        hb_budget_settings settings = settings_of(dim, 1, 0, 0.9);
        const hb_budget b = compute(&settings);
        assert_relative(b.C_d / sqrt(t), gradient_mass(dim, t), 1e-12);
        const double in_direction = dim == 1 ? 1 : mean_direction(dim);
        assert_relative(b.C_sharp / sqrt(t), gradient_mass(dim, t) * in_direction, 1e-12);
    }
}

/* g = sign(x_1) attains it: e^{t Lap} g = erf(x_1/(2 sqrt t)), whose slope at 0 is 1/sqrt(pi t). */
static void sharp_constant_is_attained(void **state)
{
    (void)state;
    const double t = 0.2385, h = 1e-5;
    const double slope = erf(h / (2 * sqrt(t))) / h;
    hb_budget_settings settings = settings_of(5, 1, 0, 0.9);
    assert_relative(compute(&settings).C_sharp / sqrt(t), slope, 1e-9);
}

/* ---- T0 ------------------------------------------------------------------------------------- */

/* mpmath, 40 digits: (sqrt(c^2 + theta/K) - c)^2 for c = 1/sqrt(pi) and c = C_d */
static void window_matches_mpmath(void **state)
{
    (void)state;
    const struct {
        int dim;
        double K, theta, T0, T0_paper;
    } cases[] = {
        {1, 1, 0.9, 0.29114784380756859, 0.29114784380756859},
        {7, 2.385, 0.75, 0.053491437594134997, 0.007239452679159902},
        {3, 1e9, 0.9, 6.3617251145256543e-19, 1.590431280317728e-19},
        {300, 1e-9, 0.5, 499974769.31139154, 499453033.10545038},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_budget_settings settings =
            settings_of(cases[i].dim, 0.4 * cases[i].K, 0.6 * cases[i].K, cases[i].theta);
        const hb_budget b = compute(&settings);
        assert_relative(b.T0, cases[i].T0, 1e-14);
        assert_relative(b.T0_paper, cases[i].T0_paper, 1e-13);
    }
}

static double lambda(double K, double T, double c)
{
    return K * sqrt(T) * (sqrt(T) + 2 * c);
}

static void window_solves_its_equation(void **state)
{
    (void)state;
    for (int dim = 1; dim <= 1000000; dim *= 10)
        for (int power = -12; power <= 12; power += 3) {
            const double K = pow(10, power);
            hb_budget_settings settings = settings_of(dim, K, 0.385 * K, 0.7);
            const hb_budget b = compute(&settings);
            assert_relative(lambda(1.385 * K, b.T0, b.C_sharp), 0.7, 1e-14);
            assert_relative(lambda(1.385 * K, b.T0_paper, b.C_d), 0.7, 1e-14);
            assert_true(b.T == b.T0 && b.inside == 1);
            assert_relative(b.K, 1.385 * K, 1e-15);
            assert_relative(b.Lambda, 0.7, 1e-14);
            assert_true(isnan(b.K_for_T) && isnan(b.K_for_T_paper));
            if (dim == 1) assert_relative(b.T0_paper, b.T0, 1e-15);
            if (dim > 1) assert_true(b.T0_paper < b.T0 && !b.inside_paper);
        }
}

static void window_without_drift_is_infinite(void **state)
{
    (void)state;
    hb_budget_settings settings = settings_of(3, 0, 0, 0.9);
    hb_budget b = compute(&settings);
    assert_true(isinf(b.T0) && isinf(b.T0_paper) && isinf(b.T));
    assert_true(b.K == 0 && b.Lambda == 0 && b.inside && b.inside_paper);
    settings.drift_sup = 1e-310; // theta/K is not a double
    assert_true(isinf(compute(&settings).T0));
}

static void window_is_monotone(void **state)
{
    (void)state;
    double last = INFINITY;
    for (int k = 0; k < 21; k++) {
        const double K = 0.1 * pow(1.385, k);
        hb_budget_settings low = settings_of(4, K, 0, 0.4), high = settings_of(4, K, 0, 0.8);
        const double T0 = compute(&low).T0;
        assert_true(T0 < last);
        assert_true(compute(&high).T0 > T0);
        last = T0;
    }
    /* the paper's window shrinks like 1/d, the sharp one does not */
    hb_budget_settings small = settings_of(100, 50, 0, 0.9), large = settings_of(400, 50, 0, 0.9);
    assert_relative(compute(&small).T0_paper / compute(&large).T0_paper, 4, 0.01);
    assert_true(compute(&small).T0 == compute(&large).T0);
}

static void budget_for_a_time_inverts_the_window(void **state)
{
    (void)state;
    hb_budget_settings settings = settings_of(6, 1.1, 0.3, 0.85);
    settings.tau = 0.0385;
    const hb_budget b = compute(&settings);
    assert_true(b.T == 0.0385);
    assert_relative(b.Lambda, lambda(1.4, 0.0385, b.C_sharp), 1e-15);
    assert_relative(b.Lambda_paper, lambda(1.4, 0.0385, b.C_d), 1e-15);
    hb_budget_settings sharp = settings_of(6, b.K_for_T, 0, 0.85);
    hb_budget_settings paper = settings_of(6, b.K_for_T_paper, 0, 0.85);
    assert_relative(compute(&sharp).T0, 0.0385, 1e-14);
    assert_relative(compute(&paper).T0_paper, 0.0385, 1e-14);
    assert_int_equal(b.inside, b.Lambda <= 0.85);
    assert_int_equal(b.inside_paper, b.Lambda_paper <= 0.85);
    assert_true(b.inside && !b.inside_paper);
    settings.tau = 0;
    assert_true(isinf(compute(&settings).K_for_T));
}

/* ---- suprema that depend on T --------------------------------------------------------------- */

typedef struct supremum {
    double drift, div, power; // (drift, div) * T^power, up to
    double jump, height;      // T = jump, from where on drift is height
    double drop_after;        // decreasing from here on
    int fails, calls;
} supremum;

static int sup_callback(void *user, double T, double *drift_sup, double *div_sup)
{
    supremum *s = user;
    s->calls++;
    *drift_sup = T > s->jump ? s->height : s->drift * pow(T, s->power);
    *div_sup = s->div * pow(T, s->power);
    if (T > s->drop_after) *div_sup = 0.5 * s->div * pow(s->drop_after, s->power);
    return s->fails;
}

static hb_budget_settings settings_with(supremum *s, int dim, double theta)
{
    hb_budget_settings settings = settings_of(dim, NAN, NAN, theta); // not read
    settings.sup = sup_callback;
    settings.sup_user = s;
    return settings;
}

#define NO_JUMP INFINITY, 0, INFINITY, 0, 0

/* Constant suprema by callback; a T^(3/2) + 2c a T = theta has the root x^2 for a = theta/(x^3 +
 * 2cx^2) */
static void root_find_matches_closed_cases(void **state)
{
    (void)state;
    for (int power = -6; power <= 6; power++) {
        const double K = pow(10, power);
        supremum constant = {0.3 * K, 0.7 * K, 0, NO_JUMP};
        hb_budget_settings by_callback = settings_with(&constant, 9, 0.8);
        hb_budget_settings explicit_one = settings_of(9, 0.3 * K, 0.7 * K, 0.8);
        const hb_budget b = compute(&by_callback), e = compute(&explicit_one);
        assert_relative(b.T0, e.T0, 1e-14);
        assert_relative(b.T0_paper, e.T0_paper, 1e-14);
        assert_relative(b.K, K, 1e-15);
    }
    for (int k = 0; k < 22; k++) {
        const double x = 1e-4 * pow(2.385, k);
        const double c = 1 / sqrt(M_PI), a = 0.6 / (x * x * x + 2 * c * x * x);
        supremum growing = {0.25 * a, 0.75 * a, 0.5, NO_JUMP};
        hb_budget_settings settings = settings_with(&growing, 1, 0.6);
        const hb_budget b = compute(&settings);
        assert_relative(b.T0, x * x, 1e-14);
        assert_relative(b.T0_paper, x * x, 1e-14);
        assert_true(growing.calls < 300);
    }
}

static void root_find_stops_at_jumps(void **state)
{
    (void)state;
    supremum step = {0.1, 0.05, 0, 0.2385, 50, INFINITY, 0, 0};
    hb_budget_settings settings = settings_with(&step, 2, 0.9);
    assert_relative(compute(&settings).T0, 0.2385, 2e-15);
    supremum wall = {0, 0, 0, 0.2385, INFINITY, INFINITY, 0, 0};
    settings = settings_with(&wall, 2, 0.9);
    const hb_budget b = compute(&settings);
    assert_relative(b.T0, 0.2385, 2e-15);
    assert_true(b.K == 0 && b.Lambda == 0); // at T0, just before the wall
    supremum none = {0, 0, 0, NO_JUMP};
    settings = settings_with(&none, 2, 0.9);
    assert_true(isinf(compute(&settings).T0));
}

static void callback_errors_are_named(void **state)
{
    (void)state;
    hb_budget b;
    supremum failing = {1, 1, 0, INFINITY, 0, INFINITY, 4, 0};
    hb_budget_settings settings = settings_with(&failing, 2, 0.9);
    assert_fails(CTX, hb_budget_compute(CTX, &settings, sizeof b, &b), HB_ERROR_CALLBACK,
                 "the callback for the suprema of the drift returned 4 at T = 1");
    supremum negative = {-1, 1, 0, NO_JUMP};
    settings = settings_with(&negative, 2, 0.9);
    assert_fails(
        CTX, hb_budget_compute(CTX, &settings, sizeof b, &b), HB_ERROR_ARGUMENT,
        "the callback gave drift_sup = -1 and div_sup = 1 at T = 1; both must be at least 0");
    supremum undefined = {1, NAN, 0, NO_JUMP};
    settings = settings_with(&undefined, 2, 0.9);
    assert_fails(CTX, hb_budget_compute(CTX, &settings, sizeof b, &b), HB_ERROR_ARGUMENT,
                 "div_sup = ");
    supremum decreasing = {1, 1, -0.25, NO_JUMP};
    settings = settings_with(&decreasing, 2, 0.9);
    assert_fails(CTX, hb_budget_compute(CTX, &settings, sizeof b, &b), HB_ERROR_ARGUMENT,
                 "neither may decrease");
    supremum dropping = {0, 0.1, 0, INFINITY, 0, 1.5, 0, 0};
    settings = settings_with(&dropping, 2, 0.9);
    assert_fails(CTX, hb_budget_compute(CTX, &settings, sizeof b, &b), HB_ERROR_ARGUMENT,
                 "neither may decrease");
    supremum infinite = {INFINITY, 1, 0, NO_JUMP};
    settings = settings_with(&infinite, 2, 0.9);
    assert_fails(CTX, hb_budget_compute(CTX, &settings, sizeof b, &b), HB_ERROR_NUMERICAL,
                 "Lambda(T) stays above theta = 0.9");
}

/* ---- bounds --------------------------------------------------------------------------------- */

static void set_initial(hb_budget_settings *settings, double low, double high, double slope,
                        double at)
{
    settings->u0_min = low;
    settings->u0_max = high;
    settings->u0_grad = slope;
    settings->tau = at;
}

static void assert_within(const hb_budget *b, double u, double slope)
{
    assert_true(u >= b->u_lower && u <= b->u_upper);
    assert_true(fabs(log(u)) <= b->v_bound);
    assert_true(fabs(u * log(u)) <= b->w_bound);
    if (b->inside) assert_true(u + fabs(slope) <= b->radius && fabs(slope / u) <= b->score_bound);
    if (b->inside_paper) assert_true(b->radius <= b->radius_paper);
}

/* F = beta constant: u = 1.2 + 0.7 e^-tau cos(x - beta tau), A = beta, C = 0. */
static void bounds_hold_for_constant_drift(void **state)
{
    (void)state;
    for (int j = 0; j < 6; j++)
        for (int k = 0; k < 8; k++) {
            const double beta = 0.7 * j, tau = 0.0385 * k;
            hb_budget_settings settings = settings_of(1, beta, 0, 0.9);
            set_initial(&settings, 0.5, 1.9, 0.7, tau);
            const hb_budget b = compute(&settings);
            assert_true(b.inside == (b.Lambda <= 0.9));
            for (int i = 0; i < 128; i++) {
                const double phase = 0.05 * i - 3.2 - beta * tau;
                assert_within(&b, 1.2 + 0.7 * exp(-tau) * cos(phase),
                              -0.7 * exp(-tau) * sin(phase));
            }
        }
}

/* du/dtau = u_xx - (F u)_x, F = beta sin x, on 128 periodic points by explicit steps. */
static void solve_on_grid(double beta, double tau, int n, double *u)
{
    const double h = 2 * M_PI / n;
    const int steps = (int)ceil(tau / (0.2 * h * h));
    double old[128];
    for (int k = 0; k < steps; k++) {
        memcpy(old, u, (size_t)n * sizeof *u);
        for (int i = 0; i < n; i++) {
            const int left = (i + n - 1) % n, right = (i + 1) % n;
            const double flux_difference =
                beta * (sin(right * h) * old[right] - sin(left * h) * old[left]);
            u[i] = old[i] + tau / steps *
                                ((old[right] - 2 * old[i] + old[left]) / (h * h) -
                                 flux_difference / (2 * h));
        }
    }
}

/* A drift with divergence, from a constant density 1.385: the bounds hold, and the growth e^{C
 * tau} of u is attained to first order where div F = -C. */
static void bounds_hold_and_are_tight_with_divergence(void **state)
{
    (void)state;
    enum { N = 128 };
    const double beta = 0.45, h = 2 * M_PI / N;
    const double times[] = {0.004, 0.04, 0.12, 0.4};
    for (int k = 0; k < 4; k++) {
        double u[N];
        for (int i = 0; i < N; i++) u[i] = 1.385;
        solve_on_grid(beta, times[k], N, u);
        hb_budget_settings settings = settings_of(1, beta, beta, 0.9);
        set_initial(&settings, 1.385, 1.385, 0, times[k]);
        const hb_budget b = compute(&settings);
        double highest = 0, lowest = INFINITY;
        for (int i = 0; i < N; i++) {
            assert_within(&b, u[i], (u[(i + 1) % N] - u[(i + N - 1) % N]) / (2 * h));
            highest = fmax(highest, u[i]);
            lowest = fmin(lowest, u[i]);
        }
        if (k > 0) continue;
        assert_relative(log(highest / 1.385), log(b.u_upper / 1.385), 0.01);
        assert_relative(log(lowest / 1.385), log(b.u_lower / 1.385), 0.01);
    }
}

/* The formulas of the theorem, term by term */
static void bounds_are_those_of_the_theorem(void **state)
{
    (void)state;
    hb_budget_settings settings = settings_of(3, 0.8, 0.6, 0.9);
    set_initial(&settings, 0.25, 2.385, 1.7, 0.05);
    const hb_budget b = compute(&settings);
    const double growth = 0.6 * 0.05, v0 = fabs(log(0.25));
    assert_relative(b.u_lower, 0.25 * exp(-growth), 1e-15);
    assert_relative(b.u_upper, 2.385 * exp(growth), 1e-15);
    assert_relative(b.v_bound, v0 + growth, 1e-15);
    assert_relative(b.w_bound, 2.385 * exp(growth) * (v0 + growth), 1e-15);
    assert_relative(b.radius, (2.385 + 1.7) / (1 - lambda(1.4, 0.05, 1 / sqrt(M_PI))), 1e-14);
    assert_relative(b.radius_paper, (2.385 + 1.7) / (1 - lambda(1.4, 0.05, b.C_d)), 1e-14);
    assert_relative(b.score_bound, exp(growth) / 0.25 * b.radius, 1e-14);
    assert_relative(b.score_bound_paper, exp(growth) / 0.25 * b.radius_paper, 1e-14);
}

static void bounds_are_nan_where_they_do_not_hold(void **state)
{
    (void)state;
    hb_budget_settings settings = settings_of(3, 0.8, 0.6, 0.9);
    settings.tau = 0.05;
    hb_budget b = compute(&settings);
    assert_true(isnan(b.u_lower) && isnan(b.u_upper) && isnan(b.v_bound) && isnan(b.w_bound));
    assert_true(isnan(b.radius) && isnan(b.score_bound) && isnan(b.radius_paper));
    set_initial(&settings, 0.25, 2.385, 1.7, 7.5); // far outside of the window
    b = compute(&settings);
    assert_true(!b.inside && !b.inside_paper);
    assert_relative(b.u_upper, 2.385 * exp(0.6 * 7.5), 1e-15); // holds at all times
    assert_true(isnan(b.radius) && isnan(b.score_bound));
    assert_true(isnan(b.radius_paper) && isnan(b.score_bound_paper));
    settings.tau = 0.5 * (b.T0 + b.T0_paper); // inside by the sharp constant only
    b = compute(&settings);
    assert_true(b.inside && !b.inside_paper && isnan(b.radius_paper) && isnan(b.score_bound_paper));
    assert_true(b.radius > 0 && b.score_bound > 0);
    settings = settings_of(3, 0, 0, 0.9); // no drift, no time given: bounds for ever
    set_initial(&settings, 0.25, 2.385, 1.7, NAN);
    b = compute(&settings);
    assert_true(b.u_lower == 0.25 && b.u_upper == 2.385 && b.radius == 2.385 + 1.7);
}

/* ---- errors --------------------------------------------------------------------------------- */

static void assert_refused(int field, double value, const char *text)
{
    hb_budget_settings s = settings_of(3, 0.8, 0.6, 0.9);
    set_initial(&s, 0.25, 2.385, 1.7, 0.05);
    double *fields[] = {&s.drift_sup, &s.div_sup, &s.theta, &s.u0_min,
                        &s.u0_max,    &s.u0_grad, &s.tau};
    *fields[field] = value;
    hb_budget b;
    assert_fails(CTX, hb_budget_compute(CTX, &s, sizeof b, &b), HB_ERROR_ARGUMENT, text);
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    enum { DRIFT, DIV, THETA, LOW, HIGH, SLOPE, AT };
    assert_refused(DRIFT, -1, "drift_sup is -1; it must be finite and at least 0");
    assert_refused(DRIFT, NAN, "drift_sup is nan");
    assert_refused(DRIFT, INFINITY, "drift_sup is inf");
    assert_refused(DIV, -0.5, "div_sup is -0.5; it must be finite and at least 0");
    assert_refused(THETA, 1, "theta is 1; it must be strictly between 0 and 1");
    assert_refused(THETA, 0, "theta is 0;");
    assert_refused(THETA, NAN, "theta is nan;");
    assert_refused(LOW, 0, "u0_min is 0; it must be positive and finite");
    assert_refused(LOW, NAN, "2 of u0_min, u0_max and u0_grad are given; give all three or none");
    assert_refused(HIGH, 0.2, "u0_max is 0.2; it must be finite and at least u0_min = 0.25");
    assert_refused(SLOPE, -2, "u0_grad is -2; it must be finite and at least 0");
    assert_refused(AT, -0.1, "tau is -0.1; it must be finite and at least 0");
    assert_refused(AT, INFINITY, "tau is inf;");
    hb_budget b;
    hb_budget_settings settings = settings_of(0, 1, 1, 0.9);
    assert_fails(CTX, hb_budget_compute(CTX, &settings, sizeof b, &b), HB_ERROR_ARGUMENT,
                 "dim is 0; it must be 1 to 1000000");
    assert_ok(CTX, hb_budget_compute(CTX, NULL, sizeof b, &b)); /* the defaults: no drift */
    assert_true(isinf(b.T0));
    assert_fails(CTX, hb_budget_compute(CTX, NULL, sizeof b + 8, &b), HB_ERROR_ARGUMENT,
                 "the size of hb_budget");
    assert_fails(CTX, hb_budget_compute(CTX, &settings, 0, NULL), HB_ERROR_ARGUMENT, "NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_gradient_masses),
        cmocka_unit_test(sharp_constant_is_attained),
        cmocka_unit_test(window_matches_mpmath),
        cmocka_unit_test(window_solves_its_equation),
        cmocka_unit_test(window_without_drift_is_infinite),
        cmocka_unit_test(window_is_monotone),
        cmocka_unit_test(budget_for_a_time_inverts_the_window),
        cmocka_unit_test(root_find_matches_closed_cases),
        cmocka_unit_test(root_find_stops_at_jumps),
        cmocka_unit_test(callback_errors_are_named),
        cmocka_unit_test(bounds_hold_for_constant_drift),
        cmocka_unit_test(bounds_hold_and_are_tight_with_divergence),
        cmocka_unit_test(bounds_are_those_of_the_theorem),
        cmocka_unit_test(bounds_are_nan_where_they_do_not_hold),
        cmocka_unit_test(wrong_arguments_are_named),
    };
    return cmocka_run_group_tests(tests, create_shared, destroy_shared);
}
