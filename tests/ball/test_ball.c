/* Geometry, constants and kernels of the heat ball, against values of mpmath at 50 digits,
 * brute-force integrals over the ball, and finite differences. */
#include "shared_context.h"

#include "ball_integral.h"

/* ---- constants ------------------------------------------------------------------------------ */

typedef struct constants_row {
    int D;
    double C1, c_g, volume, cylinder_volume, cylinder_ratio, one_plus_chi2, C_d;
} constants_row;

/* From the defining formulas with gamma functions, at 50 digits:
 * /usr/bin/python3 -c "
 * from mpmath import *
 * mp.dps = 50
 * for D in (1, 2, 3, 4, 8, 32, 1000, 10**6, 2*10**6):
 *     D = mpf(D); n = D/2; lg = loggamma
 *     lS = log(2) + n*log(pi) - lg(n); lV = n*log(pi) - lg(n+1)
 *     C1 = (D/(D+2))**(n+2)/pi
 *     cg = exp(log(D/2) + lS - log(D+1) + (D+1)/2*log(n/pi) + lg((D+3)/2) - (D+3)/2*log((D+1)/2))
 *     vol = exp(lV + n*log(n/pi) - log(4*pi) + lg(n+1) - (n+1)*log(n+1))
 *     lc = lV + n*log(2*D/(4*pi*e)) - log(4*pi)
 *     chi = exp(lc - log(16) + lS - log(D+4) + (D+4)/2*log(2*D) - (n-1)*log(4*pi) + lg(n+3)
 *               - (n+3)*log(n-1)) if D > 2 else inf
 *     Cd = exp(lg((D+1)/2) - lg(n))
 *     print(int(D), *[nstr(x, 17) for x in (C1, cg, vol, exp(lc), exp(lc)/vol, chi, Cd)])" */
static const constants_row REFERENCE[] = {
    {1, 0.020419588719325631, 0.079577471545947668, 0.030629383078988447, 0.038510836890748943,
     1.2573167664342257, INFINITY, 0.56418958354775629},
    {2, 0.039788735772973834, 0.18144368465060579, 0.019894367886486917, 0.02927491576215958,
     1.4715177646857693, INFINITY, 0.88622692545275801},
    {3, 0.053257343966913583, 0.26857396646757338, 0.014793706657475995, 0.024538561615808554,
     1.6587162490076818, 108.15450672288104, 1.1283791670955126},
    {4, 0.062876026900501861, 0.3434600413439677, 0.011789255043844099, 0.02153927930184863,
     1.8270263236942713, 25.984374381429637, 1.329340388179137},
    {8, 0.083443026803763622, 0.57224129198294892, 0.006518986469044033, 0.015546797146817032,
     2.3848488136372631, 7.3179924414697957, 1.9386213994279082},
    {32, 0.10688806874507317, 1.3068428125960802, 0.0017745089537756288, 0.0078954802995212677,
     4.4493888197757623, 5.7488779430391922, 3.9688767938289397},
    {1000, 0.11674920142360786, 7.6403215446331979, 5.8491349913227538e-5, 0.0014195242538150661,
     24.268960383389058, 24.464037825935856, 22.355090304698624},
    {1000000, 0.11709931175048839, 241.97036156346994, 5.8549772974555944e-8, 4.4896773048495509e-5,
     766.81378539258148, 766.81991993200365, 707.10660440987432},
    {2000000, 0.11709948739935355, 342.19802366365245, 2.9274901124710238e-8, 3.1746815321552431e-5,
     1084.4380032681207, 1084.442341030436, 999.99987500000781},
};

static void assert_constants(const hb_ball_constants *c, const constants_row *row)
{
    const double D = row->D, tolerance = 2e-14;
    assert_relative(c->C1, row->C1, tolerance);
    assert_relative(c->C2, 2 * D * row->C1, tolerance);
    assert_relative(c->C3, row->C1 / 2, tolerance);
    assert_relative(c->c_g, row->c_g, tolerance);
    assert_relative(c->volume, row->volume, tolerance);
    assert_relative(c->sigma_star, 0.029274915762159580, tolerance); // 1/(4 pi e)
    assert_relative(c->r_max * c->r_max, 2 * D * 0.029274915762159580, tolerance);
    assert_relative(c->mean_sigma, row->C1 / 4, tolerance);
    assert_relative(c->source_mass, row->C1 / (2 * D), tolerance);
    assert_relative(c->gradient_mass, row->c_g / D, tolerance);
    assert_relative(c->cylinder_volume, row->cylinder_volume, tolerance);
    assert_relative(c->cylinder_ratio, row->cylinder_ratio, tolerance);
    if (row->D <= 2)
        assert_true(isinf(c->one_plus_chi2));
    else
        assert_relative(c->one_plus_chi2, row->one_plus_chi2, tolerance);
    assert_relative(c->C_sharp, 0.56418958354775629, tolerance); // 1/sqrt(pi)
}

static void constants_match_mpmath(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof REFERENCE / sizeof *REFERENCE; i++) {
        const constants_row *row = &REFERENCE[i];
        const int lift = row->D > HB_MAX_DIM ? HB_MAX_DIM : row->D / 3;
        hb_ball_constants c;
        assert_ok(CTX, hb_ball_constants_get(CTX, row->D - lift, lift, sizeof c, &c));
        assert_int_equal(c.dim, row->D - lift);
        assert_int_equal(c.lift, lift);
        assert_constants(&c, row);
        if (row->D > HB_MAX_DIM) continue;
        assert_ok(CTX, hb_ball_constants_get(CTX, row->D, 0, sizeof c, &c));
        assert_constants(&c, row);
        assert_relative(c.C_d, row->C_d, 2e-14);
    }
}

/* The two ways to evaluate the gamma quotients meet without a step: C_d(d) C_d(d+1) = d/2, which is
 * Gamma((d+2)/2)/Gamma(d/2), holds across the seam. */
static void gamma_quotients_are_consistent(void **state)
{
    (void)state;
    hb_ball_constants c, next;
    for (int d = 1; d < 200; d++) {
        assert_ok(CTX, hb_ball_constants_get(CTX, d, 0, sizeof c, &c));
        assert_ok(CTX, hb_ball_constants_get(CTX, d + 1, 0, sizeof next, &next));
        assert_relative(c.C_d * next.C_d, 0.5 * d, 1e-14);
    }
}

/* C_d belongs to the problem's dimension, not to the lifted one. */
static void drift_constant_ignores_lift(void **state)
{
    (void)state;
    hb_ball_constants c;
    assert_ok(CTX, hb_ball_constants_get(CTX, 3, 5, sizeof c, &c));
    assert_relative(c.C_d, 1.1283791670955126, 2e-15);
}

/* ---- the defining integrals ----------------------------------------------------------------- */

typedef struct power_weight {
    int dim;
    int length, time; // |y|^length / s^time
} power_weight;

static double power_of_ball(void *user, double length, double s)
{
    const power_weight *p = user;
    return pow(length, p->length) / pow(s, p->time);
}

static double psi_of_ball(void *user, double length, double s)
{
    const int dim = *(int *)user;
    return -0.5 * dim * log(4 * M_PI * s) - length * length / (4 * s);
}

static double integral_of_power(int dim, int length, int time)
{
    power_weight p = {dim, length, time};
    return ball_integral(dim, 1, power_of_ball, &p);
}

static void constants_match_their_integrals(void **state)
{
    (void)state;
    const double tolerance = 1e-12;
    for (int dim = 1; dim <= 3; dim++) {
        hb_ball_constants c;
        assert_ok(CTX, hb_ball_constants_get(CTX, dim, 0, sizeof c, &c));
        assert_relative(integral_of_power(dim, 0, 0), c.volume, tolerance);
        assert_relative(integral_of_power(dim, 2, 2) / 4, 1, tolerance); // kappa has mass 1
        assert_relative(integral_of_power(dim, 2, 1), c.C1, tolerance);
        assert_relative(integral_of_power(dim, 4, 2), c.C2, tolerance);
        const double source = ball_integral(dim, 1, psi_of_ball, &dim);
        assert_relative(source, c.source_mass, tolerance);
        assert_relative(dim * source, c.C3, tolerance);
        const double gradient = integral_of_power(dim, 1, 1) / 2;
        assert_relative(gradient, c.gradient_mass, tolerance);
        assert_relative(dim * gradient, c.c_g, tolerance);
        assert_relative(integral_of_power(dim, 2, 1) / 4, c.mean_sigma, tolerance);
    }
}

/* 1 + chi^2 = |S| int kappa^2 */
static void chi_square_matches_its_integral(void **state)
{
    (void)state;
    for (int dim = 3; dim <= 5; dim++) {
        hb_ball_constants c;
        assert_ok(CTX, hb_ball_constants_get(CTX, dim, 0, sizeof c, &c));
        assert_relative(c.cylinder_volume * integral_of_power(dim, 4, 4) / 16, c.one_plus_chi2,
                        1e-11);
        const double unit_ball = pow(M_PI, 0.5 * dim) / tgamma(0.5 * dim + 1);
        assert_relative(c.cylinder_volume, unit_ball * pow(c.r_max, dim) / (4 * M_PI), 1e-14);
    }
}

/* ---- geometry ------------------------------------------------------------------------------- */

static void geometry_is_that_of_the_heat_kernel(void **state)
{
    (void)state;
    const double r = 1.385, y2 = 0.0731, s = 0.0412;
    for (int dim = 1; dim <= 5; dim++) {
        const double phi = pow(4 * M_PI * s, -0.5 * dim) * exp(-y2 / (4 * s));
        assert_relative(hb_ball_psi(dim, r, y2, s), log(pow(r, dim) * phi), 1e-13);
        assert_int_equal(hb_ball_contains(dim, r, y2, s), phi >= pow(r, -dim));
        const double R2 = hb_ball_radius_squared(dim, r, s);
        assert_true(fabs(hb_ball_psi(dim, r, R2, s)) < 1e-14);
        assert_true(hb_ball_contains(dim, r, R2 * (1 - 1e-9), s));
        assert_false(hb_ball_contains(dim, r, R2 * (1 + 1e-9), s));
    }
    assert_relative(hb_ball_radius_squared(2, 1, 1 / (4 * M_PI * M_E)), 0.117099663048638321,
                    1e-15);
}

static void geometry_at_its_ends(void **state)
{
    (void)state;
    const double r = 1.385, end = r * r / (4 * M_PI);
    assert_true(hb_ball_psi(3, r, 0.2, 0) == -INFINITY);
    assert_true(hb_ball_psi(3, r, 0.2, -0.1) == -INFINITY);
    assert_false(hb_ball_contains(3, r, 0, 0));
    assert_true(hb_ball_radius_squared(3, r, -0.1) == 0);
    assert_true(hb_ball_radius_squared(3, r, end * 1.001) == 0);
    assert_true(hb_ball_radius_squared(3, r, end * 0.999) > 0);
    assert_false(hb_ball_contains(3, r, 0, end * 1.001));
    assert_true(hb_ball_contains(3, r, 0, end * 0.999));
    assert_relative(hb_ball_psi(2, 1e200, 0, 1e300), log(1e100 / (4 * M_PI)), 1e-14); // no r^2
}

/* ---- kernels -------------------------------------------------------------------------------- */

typedef struct kernel_call {
    hb_kernel kernel;
    int dim;
    double radius;
} kernel_call;

static double kernel_at(const kernel_call *call, double length, double s)
{
    double y[8] = {0}, out;
    y[call->dim - 1] = -0.8 * length;
    y[0] += call->dim > 1 ? 0.6 * length : -0.2 * length;
    assert_ok(CTX, hb_ball_kernel(CTX, call->kernel, call->dim, 1, call->radius, y, &s, &out));
    return out;
}

static double kernel_value(void *user, double length, double s)
{
    return kernel_at(user, length, s);
}

/* |y|^2/(2s) times the drift kernel: its integral is d times that of G_r, by parts */
static double drift_moment(void *user, double length, double s)
{
    return length * length / (2 * s) * kernel_at(user, length, s);
}

static double kernel_integral(hb_kernel kernel, int dim, radial_function f)
{
    kernel_call call = {kernel, dim, 1.385};
    return ball_integral(dim, 1.385, f, &call);
}

static void kernels_have_their_integrals(void **state)
{
    (void)state;
    const double r = 1.385, tolerance = 1e-11;
    for (int d = 1; d <= 3; d++) {
        hb_ball_constants c;
        assert_ok(CTX, hb_ball_constants_get(CTX, d, 0, sizeof c, &c));
        const double green = c.C1 * r * r / 4;
        assert_relative(kernel_integral(HB_KERNEL_WATSON, d, kernel_value), 1, tolerance);
        assert_relative(kernel_integral(HB_KERNEL_SOURCE, d, kernel_value),
                        c.C1 * pow(r, d + 2) / (2 * d), tolerance);
        assert_relative(kernel_integral(HB_KERNEL_GRADIENT, d, kernel_value),
                        c.c_g * pow(r, d + 1) / d, tolerance);
        assert_relative(kernel_integral(HB_KERNEL_GREEN, d, kernel_value), green, tolerance);
        assert_relative(kernel_integral(HB_KERNEL_DRIFT, d, drift_moment), d * green, tolerance);
    }
}

/* The heat kernel is a probability density at every time, inside and outside of the ball. */
static void heat_kernel_has_mass_one(void **state)
{
    (void)state;
    for (int dim = 1; dim <= 3; dim++) {
        const double s = 0.385, area = 2 * pow(M_PI, 0.5 * dim) / tgamma(0.5 * dim);
        kernel_call call = {HB_KERNEL_HEAT, dim, 0.7};
        double sum = 0, weight;
        for (int i = 0; i < 800; i++) {
            const double x = panel_node(i, 100, 14 * sqrt(2 * s), &weight);
            sum += weight * area * pow(x, dim - 1) * kernel_at(&call, x, s);
        }
        assert_relative(sum, 1, 1e-13);
    }
}

/* grad_y G_r = -y/(2s) (Phi - r^-d), by central differences */
static void green_kernel_has_the_drift_kernel_as_gradient(void **state)
{
    (void)state;
    const double r = 1.385, s = 0.0412, h = 1e-5;
    const double y[3] = {0.11, -0.17, 0.06};
    double drift;
    assert_ok(CTX, hb_ball_kernel(CTX, HB_KERNEL_DRIFT, 3, 1, r, y, &s, &drift));
    assert_true(drift > 0);
    for (int i = 0; i < 3; i++) {
        double points[6], times[2] = {s, s}, values[2];
        memcpy(points, y, sizeof y);
        memcpy(points + 3, y, sizeof y);
        points[i] += h;
        points[3 + i] -= h;
        assert_ok(CTX, hb_ball_kernel(CTX, HB_KERNEL_GREEN, 3, 2, r, points, times, values));
        assert_relative((values[0] - values[1]) / (2 * h), -y[i] / (2 * s) * drift, 1e-7);
    }
}

/* G_r = r^-d psi^2/2 (1 + psi/3 + psi^2/12 + ...) keeps its digits down to the boundary. */
static void green_kernel_is_accurate_near_the_boundary(void **state)
{
    (void)state;
    const double r = 1.385, s = 0.0412;
    for (int k = 2; k <= 12; k++) {
        const double gap = pow(10, -k);
        const double R2 = hb_ball_radius_squared(2, r, s);
        const double y[2] = {sqrt(R2 * (1 - gap)), 0};
        const double psi = hb_ball_psi(2, r, y[0] * y[0], s);
        double green, drift;
        assert_ok(CTX, hb_ball_kernel(CTX, HB_KERNEL_GREEN, 2, 1, r, y, &s, &green));
        assert_ok(CTX, hb_ball_kernel(CTX, HB_KERNEL_DRIFT, 2, 1, r, y, &s, &drift));
        const long double p = psi;
        const long double series =
            p * p / 2 * (1 + p / 3 * (1 + p / 4 * (1 + p / 5 * (1 + p / 6))));
        assert_relative(green, (double)series / (r * r), 1e-12);
        assert_relative(drift, (double)expm1l(p) / (r * r), 1e-12);
    }
}

/* The series of e^psi - 1 - psi and its other form agree on both sides of their seam, psi = 1/2. */
static void green_kernel_has_no_seam(void **state)
{
    (void)state;
    const double s = 0.0201;
    for (int k = 0; k < 31; k++) {
        const double psi = 0.3 + 0.013 * k;
        const double at_centre = hb_ball_psi(2, 1, 0, s);
        const double y[2] = {sqrt((at_centre - psi) * 4 * s), 0};
        const long double exact = hb_ball_psi(2, 1, y[0] * y[0], s);
        double green;
        assert_ok(CTX, hb_ball_kernel(CTX, HB_KERNEL_GREEN, 2, 1, 1, y, &s, &green));
        assert_relative(green, (double)(expl(exact) - 1 - exact), 1e-13);
    }
}

static double one_kernel(hb_kernel kernel, int dim, double radius, const double *y, double s)
{
    double out;
    assert_ok(CTX, hb_ball_kernel(CTX, kernel, dim, 1, radius, y, &s, &out));
    return out;
}

static void kernels_outside_and_at_extremes(void **state)
{
    (void)state;
    const double far[2] = {3.1, -2.2}, centre[2] = {0, 0};
    for (int kernel = HB_KERNEL_WATSON; kernel <= HB_KERNEL_DRIFT; kernel++) {
        assert_true(one_kernel((hb_kernel)kernel, 2, 1.385, far, 0.0412) == 0);
        assert_true(one_kernel((hb_kernel)kernel, 2, 1.385, centre, 0) == 0);
        assert_true(one_kernel((hb_kernel)kernel, 2, 1.385, centre, -0.3) == 0);
        assert_true(isnan(one_kernel((hb_kernel)kernel, 2, 1.385, far, NAN)));
    }
    assert_true(one_kernel(HB_KERNEL_HEAT, 2, 1.385, far, 0.0412) > 0);
    assert_true(one_kernel(HB_KERNEL_HEAT, 2, 1.385, far, 0) == 0);
    assert_true(isinf(one_kernel(HB_KERNEL_GREEN, 2, 1.385, centre, 1e-320)));
    assert_true(one_kernel(HB_KERNEL_WATSON, 2, 1.385, centre, 0.01) == 0);
}

/* In d = 400, r = 10: r^-d = 10^-400 and e^psi = 7.5 * 10^400 are out of range, Phi is not. */
static void kernels_survive_powers_out_of_range(void **state)
{
    (void)state;
    enum { DIM = 400 };
    static double y[DIM];
    const double s = 0.99 / (4 * M_PI), phi = pow(0.99, -0.5 * DIM);
    assert_relative(one_kernel(HB_KERNEL_SOURCE, DIM, 10, y, s), DIM * log(10.0) + log(phi), 1e-14);
    assert_relative(one_kernel(HB_KERNEL_HEAT, DIM, 10, y, s), phi, 1e-12);
    assert_relative(one_kernel(HB_KERNEL_DRIFT, DIM, 10, y, s), phi, 1e-12);
    assert_relative(one_kernel(HB_KERNEL_GREEN, DIM, 10, y, s), phi, 1e-12);
    y[DIM - 1] = 0.1; // Watson: r^-d alone underflows, |y|^2/(4s^2) does not
    assert_true(one_kernel(HB_KERNEL_WATSON, DIM, 10, y, s) == 0);
    assert_relative(one_kernel(HB_KERNEL_WATSON, DIM, 0.2, y, 0.0025),
                    exp(log(0.01 / (4 * 0.0025 * 0.0025)) + DIM * log(5.0)), 1e-11);
    assert_true(isinf(one_kernel(HB_KERNEL_WATSON, DIM, 0.1, y, 0.0007))); // 10^400
}

/* ---- errors --------------------------------------------------------------------------------- */

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    hb_ball_constants c;
    const double y[2] = {0.1, 0.2}, s = 0.01;
    double out;
    const hb_status bad = HB_ERROR_ARGUMENT;
    assert_fails(CTX, hb_ball_constants_get(CTX, -3, 0, sizeof c, &c), bad,
                 "dim is -3; it must be 1 to 1000000");
    assert_fails(CTX, hb_ball_constants_get(CTX, 0, 0, sizeof c, &c), bad, "dim is 0");
    assert_fails(CTX, hb_ball_constants_get(CTX, 1000001, 0, sizeof c, &c), bad, "dim is 1000001");
    assert_fails(CTX, hb_ball_constants_get(CTX, 2, -1, sizeof c, &c), bad,
                 "lift is -1; it must be 0 to 1000000");
    assert_fails(CTX, hb_ball_constants_get(CTX, 2, 1000001, sizeof c, &c), bad, "lift is 1000001");
    assert_fails(CTX, hb_ball_constants_get(CTX, 2, 0, 0, NULL), bad, "NULL");
    assert_fails(CTX, hb_ball_kernel(CTX, HB_KERNEL_GREEN, 2, 1, NAN, y, &s, &out), bad,
                 "radius is nan; it must be positive and finite");
    assert_fails(CTX, hb_ball_kernel(CTX, HB_KERNEL_GREEN, 2, 1, -1.5, y, &s, &out), bad,
                 "radius is -1.5");
    assert_fails(CTX, hb_ball_kernel(CTX, HB_KERNEL_GREEN, 2, 1, INFINITY, y, &s, &out), bad,
                 "radius is inf");
    assert_fails(CTX, hb_ball_kernel(CTX, HB_KERNEL_GREEN, 0, 1, 1, y, &s, &out), bad, "dim is 0");
    assert_fails(CTX, hb_ball_kernel(CTX, (hb_kernel)6, 2, 1, 1, y, &s, &out), bad, "kernel is 6");
    assert_fails(CTX, hb_ball_kernel(CTX, HB_KERNEL_GREEN, 2, 1, 1, NULL, &s, &out), bad, "NULL");
    assert_fails(CTX, hb_ball_kernel(CTX, HB_KERNEL_GREEN, 2, 1, 1, y, NULL, &out), bad, "NULL");
    assert_fails(CTX, hb_ball_kernel(CTX, HB_KERNEL_GREEN, 2, 1, 1, y, &s, NULL), bad, "NULL");
    assert_ok(CTX, hb_ball_kernel(CTX, HB_KERNEL_GREEN, 2, 0, 1, NULL, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_match_mpmath),
        cmocka_unit_test(gamma_quotients_are_consistent),
        cmocka_unit_test(drift_constant_ignores_lift),
        cmocka_unit_test(constants_match_their_integrals),
        cmocka_unit_test(chi_square_matches_its_integral),
        cmocka_unit_test(geometry_is_that_of_the_heat_kernel),
        cmocka_unit_test(geometry_at_its_ends),
        cmocka_unit_test(kernels_have_their_integrals),
        cmocka_unit_test(heat_kernel_has_mass_one),
        cmocka_unit_test(green_kernel_has_the_drift_kernel_as_gradient),
        cmocka_unit_test(green_kernel_is_accurate_near_the_boundary),
        cmocka_unit_test(green_kernel_has_no_seam),
        cmocka_unit_test(kernels_outside_and_at_extremes),
        cmocka_unit_test(kernels_survive_powers_out_of_range),
        cmocka_unit_test(wrong_arguments_are_named),
    };
    return cmocka_run_group_tests(tests, create_shared, destroy_shared);
}
