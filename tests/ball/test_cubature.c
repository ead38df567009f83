/* Cubature on the heat ball, against closed-form moments, brute-force integrals of the densities, and
 * caloric polynomials. */
#include "shared_context.h"

#include "ball/shells.h"
#include "ball_integral.h"
#include "monomials.h"

#include <limits.h>

/* ---- a rule, opened ------------------------------------------------------------------------- */

typedef struct open_rule {
    size_t n;
    int dim;
    double *z, *sigma, *weight; // (n, dim), (n), (n)
} open_rule;

static void read_nodes(const hb_cubature *rule, int turned, uint64_t seed, uint64_t index,
                       open_rule *out)
{
    out->n = hb_cubature_size(rule);
    out->dim = hb_cubature_dim(rule);
    out->z = malloc(out->n * (size_t)out->dim * sizeof(double));
    out->sigma = malloc(out->n * sizeof(double));
    out->weight = malloc(out->n * sizeof(double));
    assert_ok(CTX,
              hb_cubature_nodes(CTX, rule, turned, seed, index, out->z, out->sigma, out->weight));
}

static void free_nodes(open_rule *rule)
{
    free(rule->z);
    free(rule->sigma);
    free(rule->weight);
}

static void open_exact(hb_measure measure, int dim, int lift, int degree, int turned,
                       open_rule *out)
{
    hb_cubature *rule;
    assert_ok(CTX, hb_cubature_exact(CTX, measure, dim, lift, degree, &rule));
    read_nodes(rule, turned, 7, 3, out);
    hb_cubature_destroy(rule);
}

static void open_product(hb_measure measure, int dim, int lift, int n_time, int n_radius,
                         int degree, open_rule *out)
{
    hb_cubature *rule;
    assert_ok(CTX, hb_cubature_product(CTX, measure, dim, lift, n_time, n_radius, degree, &rule));
    read_nodes(rule, 0, 0, 0, out);
    hb_cubature_destroy(rule);
}

static void assert_positive_and_inside(const open_rule *rule, int lift)
{
    double sum = 0;
    for (size_t i = 0; i < rule->n; i++) {
        double z2 = 0;
        for (int c = 0; c < rule->dim; c++)
            z2 += pow(rule->z[i * (size_t)rule->dim + (size_t)c], 2);
        assert_true(rule->weight[i] > 0);
        assert_true(rule->sigma[i] > 0 && rule->sigma[i] < 1 / (4 * M_PI));
        assert_true(z2 <=
                    hb_ball_radius_squared(rule->dim + lift, 1, rule->sigma[i]) * (1 + 1e-13));
        sum += rule->weight[i];
    }
    assert_near(sum, 1, 5e-14);
}

/* ---- moments -------------------------------------------------------------------------------- */

/* E[x^b] under Beta(p, q); q = 0 is the constant 1 */
static double beta_moment(double p, double q, int b)
{
    return q == 0 ? 1 : exp(lgamma(p + b) - lgamma(p) + lgamma(p + q) - lgamma(p + q + b));
}

/* E[sigma^a |z|^(2b)], z the first dim coordinates: MATH of the laws of L, t and the kept share. */
static double radial_moment(hb_measure measure, int dim, int lift, int a, int b)
{
    const double D = dim + lift, k = a + b;
    const double shape[] = {D / 2 + 2, D / 2 + 2, (D + 3) / 2},
                 rate[] = {D / 2, D / 2 + 1, (D + 1) / 2};
    const double t_a[] = {D / 2 + 1, D / 2, (D + 1) / 2}, t_b[] = {1, 2, 1};
    const double in_L =
        exp(lgamma(shape[measure] + b) - lgamma(shape[measure]) +
            shape[measure] * log(rate[measure]) - (shape[measure] + b) * log(rate[measure] + k));
    return pow(4 * M_PI, -k) * pow(2 * D, b) * in_L * beta_moment(t_a[measure], t_b[measure], b) *
           beta_moment(0.5 * dim, 0.5 * lift, b);
}

typedef struct density_moment {
    hb_measure measure;
    int dim, a, b;
} density_moment;

static double density_times_power(void *user, double length, double s)
{
    const density_moment *m = user;
    double density = length * length / (4 * s * s);
    if (m->measure == HB_MEASURE_SOURCE)
        density = -0.5 * m->dim * log(4 * M_PI * s) - length * length / (4 * s);
    if (m->measure == HB_MEASURE_GRADIENT) density = length / (2 * s);
    return density * pow(s, m->a) * pow(length, 2 * m->b);
}

/* The closed form that the tests below rely on, against the integrals of the densities. */
static void closed_form_moments_match_integrals(void **state)
{
    (void)state;
    for (int measure = HB_MEASURE_KAPPA; measure <= HB_MEASURE_GRADIENT; measure++)
        for (int dim = 1; dim <= 3; dim++) {
            density_moment mass = {(hb_measure)measure, dim, 0, 0};
            const double total = ball_integral(dim, 1, density_times_power, &mass);
            for (int k = 1; k <= 4; k++)
                for (int b = 0; b <= k; b++) {
                    density_moment m = {(hb_measure)measure, dim, k - b, b};
                    const double integral = ball_integral(dim, 1, density_times_power, &m) / total;
                    const double closed = radial_moment((hb_measure)measure, dim, 0, k - b, b);
                    assert_near(integral / closed, 1, 1e-11);
                }
        }
}

/* dim = 2 of D = 3: the kept share of a direction is sin^2 of its polar angle. */
static void kept_share_matches_its_integral(void **state)
{
    (void)state;
    for (int b = 0; b <= 4; b++) {
        double sum = 0, weight;
        for (int i = 0; i < 80; i++) {
            const double angle = panel_node(i, 10, M_PI, &weight);
            sum += weight * 0.5 * sin(angle) * pow(sin(angle), 2 * b);
        }
        assert_near(sum, beta_moment(1, 0.5, b), 1e-13);
    }
}

/* Every z^alpha sigma^a with |alpha| + 2a <= degree, relative to the mean of |z|^|alpha| sigma^a.
 * */
static void assert_all_moments(const open_rule *rule, hb_measure measure, int lift, int degree)
{
    const int d = rule->dim;
    int alpha[8] = {0};
    do {
        int total = 0;
        for (int i = 0; i < d; i++) total += alpha[i];
        for (int a = 0; 2 * a + total <= degree; a++) {
            double sum = 0, size = 0, exact = sphere_moment(d, alpha);
            for (size_t i = 0; i < rule->n; i++) {
                const double *z = rule->z + i * (size_t)d, time = pow(rule->sigma[i], a);
                double z2 = 0;
                for (int c = 0; c < d; c++) z2 += z[c] * z[c];
                sum += rule->weight[i] * monomial(d, alpha, z) * time;
                size += rule->weight[i] * pow(z2, 0.5 * total) * time;
            }
            if (exact != 0) exact *= radial_moment(measure, d, lift, a, total / 2);
            assert_near(sum, exact, 1e-12 * size);
        }
    } while (next_index(d, degree, alpha));
}

static void exact_rules_have_all_moments(void **state)
{
    (void)state;
    const int lifts[] = {0, 1, 3, 40};
    for (int measure = HB_MEASURE_KAPPA; measure <= HB_MEASURE_GRADIENT; measure++)
        for (int d = 1; d <= 4; d++)
            for (size_t l = 0; l < sizeof lifts / sizeof *lifts; l++)
                for (int degree = 0; degree <= 8; degree += d > 2 ? 2 : 1) {
                    open_rule rule;
                    open_exact((hb_measure)measure, d, lifts[l], degree, 0, &rule);
                    assert_positive_and_inside(&rule, lifts[l]);
                    assert_all_moments(&rule, (hb_measure)measure, lifts[l], degree);
                    free_nodes(&rule);
                }
}

/* High degree, high dimension and the largest lift. */
static void exact_rules_at_their_limits(void **state)
{
    (void)state;
    const int cases[][3] = {{1, 0, 16}, {2, 0, 12}, {50, 0, 3}, {2, 1000000, 8}, {3, 5000, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int d = cases[i][0], lift = cases[i][1], degree = cases[i][2];
        open_rule rule;
        open_exact(HB_MEASURE_KAPPA, d, lift, degree, 0, &rule);
        assert_positive_and_inside(&rule, lift);
        for (int k = 0; k <= degree / 2; k++)
            for (int b = 0; b <= k; b++) {
                double sum = 0;
                for (size_t j = 0; j < rule.n; j++) {
                    double z2 = 0;
                    for (int c = 0; c < d; c++) z2 += pow(rule.z[j * (size_t)d + (size_t)c], 2);
                    sum += rule.weight[j] * pow(rule.sigma[j], k - b) * pow(z2, b);
                }
                /* lgamma of a million leaves 1e-9 in the test's own closed form */
                assert_near(sum / radial_moment(HB_MEASURE_KAPPA, d, lift, k - b, b), 1,
                            lift > 1000 ? 1e-8 : 1e-12);
            }
        free_nodes(&rule);
    }
}

/* In many dimensions the monomials are close to dependent and elimination finds nothing: all 45
 * shells come from the recombination, which has the moments by itself. */
static void recombination_keeps_the_moments(void **state)
{
    (void)state;
    hb_shell_law law;
    hb_shells shells;
    hb_shells_law(HB_MEASURE_KAPPA, 1000, 0, &law);
    assert_ok(CTX, hb_shells_exact(CTX, &law, 8, &shells));
    assert_true(shells.n <= 45);
    for (int k = 0; k <= 8; k++)
        for (int b = 0; b <= k; b++) {
            double sum = 0;
            for (size_t i = 0; i < shells.n; i++)
                sum += shells.weight[i] * exp(-k * shells.L[i]) * pow(shells.L[i] * shells.q[i], b);
            const double scale = pow(4 * M_PI, k) / pow(2000, b);
            assert_near(sum / (scale * radial_moment(HB_MEASURE_KAPPA, 1000, 0, k - b, b)), 1,
                        3e-12);
        }
    hb_shells_destroy(&shells);
}

/* The rule of degree 4 in the plane has three shells, one of them a point: 1 + 5 + 5 nodes. */
static void exact_rules_are_small(void **state)
{
    (void)state;
    const int cases[][3] = {{2, 4, 11}, {2, 6, 22}, {1, 4, 5}, {3, 4, 31}, {2, 2, 3}, {2, 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_rule rule;
        open_exact(HB_MEASURE_KAPPA, cases[i][0], 0, cases[i][1], 0, &rule);
        assert_true(rule.n <= (size_t)cases[i][2]);
        free_nodes(&rule);
    }
}

/* A published rule of three shells, to its five digits: radii, 4 pi sigma, weights. */
static void known_three_shells_match_the_moments(void **state)
{
    (void)state;
    const double radius[] = {0, 0.24105, 0.27945}, time[] = {0.03088, 0.09992, 0.50888};
    const double weight[] = {0.35706, 0.52133, 0.12161};
    for (int k = 0; k <= 2; k++)
        for (int b = 0; b <= k; b++) {
            double sum = 0;
            for (int i = 0; i < 3; i++)
                sum += weight[i] * pow(time[i] / (4 * M_PI), k - b) * pow(radius[i], 2 * b);
            assert_near(sum / radial_moment(HB_MEASURE_KAPPA, 2, 0, k - b, b), 1, 5e-5);
        }
}

/* ---- caloric functions ---------------------------------------------------------------------- */

/* v_n(x,t) = n! sum_k x^(n-2k) t^k/((n-2k)! k!): v_0 = 1, v_1 = x, v_{n+1} = x v_n + 2 n t
 * v_{n-1} */
static double heat_polynomial(int n, double x, double t)
{
    double last = 0, value = 1;
    for (int k = 0; k < n; k++) {
        const double next = x * value + 2 * k * t * last;
        last = value;
        value = next;
    }
    return value;
}

static double caloric(int d, const int *alpha, const double *x, double t)
{
    double product = 1;
    for (int i = 0; i < d; i++) product *= heat_polynomial(alpha[i], x[i], t);
    return product;
}

/* The mean over x0 + r z, tau0 - r^2 sigma is the value at the anchor, for degree <= 8. */
static void assert_caloric_identity(const open_rule *rule, int degree)
{
    const double x0[] = {0.385, -0.62, 0.17, 1.04}, tau0 = 0.3385, r = 1.385;
    const int d = rule->dim;
    int alpha[4] = {0};
    do {
        double mean = 0, size = 0;
        for (size_t i = 0; i < rule->n; i++) {
            double x[4];
            for (int c = 0; c < d; c++) x[c] = x0[c] + r * rule->z[i * (size_t)d + (size_t)c];
            const double value = caloric(d, alpha, x, tau0 - r * r * rule->sigma[i]);
            mean += rule->weight[i] * value;
            size += rule->weight[i] * fabs(value);
        }
        assert_near(mean, caloric(d, alpha, x0, tau0), 1e-12 * size);
    } while (next_index(d, degree, alpha));
}

static void caloric_polynomials_are_reproduced(void **state)
{
    (void)state;
    const int lifts[] = {0, 1, 5};
    for (int d = 1; d <= 4; d++)
        for (size_t l = 0; l < sizeof lifts / sizeof *lifts; l++)
            for (int turned = 0; turned <= 1; turned++) {
                open_rule rule;
                open_exact(HB_MEASURE_KAPPA, d, lifts[l], 8, turned, &rule);
                assert_caloric_identity(&rule, 8);
                free_nodes(&rule);
            }
}

/* exp(k.x + |k|^2 t) is caloric; the error of the product rule falls geometrically with n_time.
 * In D dimensions e^-jL under Gamma(., rate D/2) is integrated with error (j/(j + D/2))^(2n). */
static double product_error(int lift, int n_time)
{
    const double k[] = {0.9, -0.4}, x0[] = {0.385, -0.62}, tau0 = 0.3385, r = 1.385;
    open_rule rule;
    open_product(HB_MEASURE_KAPPA, 2, lift, n_time, 8, 14, &rule);
    assert_positive_and_inside(&rule, lift);
    double mean = 0;
    for (size_t i = 0; i < rule.n; i++) {
        const double *z = rule.z + 2 * i;
        mean += rule.weight[i] * exp(k[0] * (x0[0] + r * z[0]) + k[1] * (x0[1] + r * z[1]) +
                                     (k[0] * k[0] + k[1] * k[1]) * (tau0 - r * r * rule.sigma[i]));
    }
    free_nodes(&rule);
    return fabs(mean / exp(k[0] * x0[0] + k[1] * x0[1] + (k[0] * k[0] + k[1] * k[1]) * tau0) - 1);
}

static void product_rules_converge_geometrically(void **state)
{
    (void)state;
    for (int lift = 0; lift <= 4; lift += 2) {
        for (int n = 2; n <= 24; n++)
            assert_true(product_error(lift, n) < 0.1 * pow(0.4, n) + 1e-13);
        assert_true(product_error(lift, 40) < 1e-13);
    }
}

/* E[L^a t^b p(direction)] to the stated degrees, t = |z|^2/R^2 of the ball in dim dimensions */
static void product_rules_are_exact_as_stated(void **state)
{
    (void)state;
    const double shape[] = {3.5, 3.5, 3}, rate[] = {1.5, 2.5, 2}, t_a[] = {2.5, 1.5, 2},
                 t_b[] = {1, 2, 1};
    for (int measure = HB_MEASURE_KAPPA; measure <= HB_MEASURE_GRADIENT; measure++) {
        open_rule rule;
        open_product((hb_measure)measure, 3, 0, 3, 2, 5, &rule);
        assert_int_equal(rule.n, 3 * 2 * 18);
        for (int a = 0; a <= 5; a++)
            for (int b = 0; b <= 3; b++) {
                double sum = 0;
                for (size_t i = 0; i < rule.n; i++) {
                    const double *z = rule.z + 3 * i, z2 = z[0] * z[0] + z[1] * z[1] + z[2] * z[2];
                    const double L = -log(4 * M_PI * rule.sigma[i]),
                                 t = z2 / (6 * rule.sigma[i] * L);
                    sum += rule.weight[i] * pow(L, a) * pow(t, b) * pow(z[1], 4) / (z2 * z2);
                }
                const double exact = exp(lgamma(shape[measure] + a) - lgamma(shape[measure])) /
                                     pow(rate[measure], a) *
                                     beta_moment(t_a[measure], t_b[measure], b) / 5;
                assert_near(sum / exact, 1, 1e-13);
            }
        free_nodes(&rule);
    }
}

/* With lift the product rule has the kept coordinates' moments, here of |z|^(2b)/(sigma L)^b. */
static void product_rules_with_lift_keep_the_share(void **state)
{
    (void)state;
    open_rule rule;
    open_product(HB_MEASURE_KAPPA, 2, 3, 2, 3, 8, &rule);
    for (int b = 0; b <= 4; b++) {
        double sum = 0;
        for (size_t i = 0; i < rule.n; i++) {
            const double z2 = pow(rule.z[2 * i], 2) + pow(rule.z[2 * i + 1], 2);
            const double L = -log(4 * M_PI * rule.sigma[i]);
            sum += rule.weight[i] * pow(z2 / (10 * rule.sigma[i] * L), b);
        }
        assert_near(sum / (beta_moment(3.5, 1, b) * beta_moment(1, 1.5, b)), 1, 1e-13);
    }
    free_nodes(&rule);
}

/* ---- rotations ------------------------------------------------------------------------------ */

static void rotations_are_orthogonal_and_reproducible(void **state)
{
    (void)state;
    for (int d = 1; d <= 5; d++) {
        hb_cubature *rule;
        open_rule plain, turned, again, other;
        assert_ok(CTX, hb_cubature_exact(CTX, HB_MEASURE_KAPPA, d, 0, 4, &rule));
        read_nodes(rule, 0, 5, 11, &plain);
        read_nodes(rule, 1, 5, 11, &turned);
        read_nodes(rule, 1, 5, 11, &again);
        read_nodes(rule, 1, 5, 14, &other);
        const size_t row = (size_t)d;
        assert_memory_equal(turned.z, again.z, turned.n * row * sizeof(double));
        if (d > 1) assert_memory_not_equal(turned.z, other.z, turned.n * row * sizeof(double));
        assert_memory_equal(plain.sigma, turned.sigma, plain.n * sizeof(double));
        assert_memory_equal(plain.weight, turned.weight, plain.n * sizeof(double));
        for (size_t i = 0; i < plain.n; i++)
            for (size_t j = 0; j <= i; j++) {
                double before = 0, after = 0;
                for (size_t c = 0; c < row; c++) {
                    before += plain.z[i * row + c] * plain.z[j * row + c];
                    after += turned.z[i * row + c] * turned.z[j * row + c];
                }
                assert_near(after, before, 1e-15);
            }
        free_nodes(&plain);
        free_nodes(&turned);
        free_nodes(&again);
        free_nodes(&other);
        hb_cubature_destroy(rule);
    }
}

/* Q is Gram and Schmidt's of the columns of normals index d^2 .. of stream 3 * 2^62
 * (docs/explanation/cubature.md); the rule of degree 2 has the nodes +rho e_1, -rho e_1, +rho e_2, ... */
static void rotations_are_gram_schmidt_of_documented_normals(void **state)
{
    (void)state;
    enum { D = 3 };
    const uint64_t seed = 2385, index = 5;
    double Q[D][D];
    assert_ok(CTX, hb_random_normal(CTX, seed, UINT64_C(3) << 62, index * D * D, D * D, &Q[0][0]));
    for (int j = 0; j < D; j++) {
        for (int k = 0; k < j; k++) {
            double dot = 0;
            for (int i = 0; i < D; i++) dot += Q[j][i] * Q[k][i];
            for (int i = 0; i < D; i++) Q[j][i] -= dot * Q[k][i];
        }
        const double norm = sqrt(Q[j][0] * Q[j][0] + Q[j][1] * Q[j][1] + Q[j][2] * Q[j][2]);
        for (int i = 0; i < D; i++) Q[j][i] /= norm;
    }
    hb_cubature *rule;
    open_rule plain, turned;
    assert_ok(CTX, hb_cubature_exact(CTX, HB_MEASURE_KAPPA, D, 0, 2, &rule));
    read_nodes(rule, 0, 0, 0, &plain);
    read_nodes(rule, 1, seed, index, &turned);
    assert_int_equal(plain.n, 2 * D);
    for (size_t j = 0; j < D; j++)
        for (size_t i = 0; i < D; i++)
            assert_near(turned.z[2 * j * D + i], plain.z[2 * j * D + j] * Q[j][i], 1e-14);
    free_nodes(&plain);
    free_nodes(&turned);
    hb_cubature_destroy(rule);
}

/* Under Haar measure E[Q_ij] = 0, E[Q_ij^2] = 1/d, E[Q_ij^4] = 3/(d(d+2)). The rule of degree 2 has
 * the nodes +-rho e_i, so its turned nodes are the columns of Q. Without the sign of R's diagonal
 * the mean of Q_ii is far from 0. d = 1: a random sign. */
static void rotations_are_uniform(void **state)
{
    (void)state;
    enum { N = 4000 };
    for (int d = 1; d <= 3; d += 2) {
        hb_cubature *rule;
        open_rule plain;
        assert_ok(CTX, hb_cubature_exact(CTX, HB_MEASURE_KAPPA, d, 0, 2, &rule));
        read_nodes(rule, 0, 0, 0, &plain);
        const size_t row = (size_t)d, last = plain.n - 1; // node -rho e_d
        const double rho = fabs(plain.z[last * row + row - 1]);
        double sum[3] = {0}, square[3] = {0};
        double *z = malloc(plain.n * row * sizeof *z);
        for (uint64_t index = 0; index < N; index++) {
            assert_ok(CTX, hb_cubature_nodes(CTX, rule, 1, 2385, index, z, NULL, NULL));
            const double q = z[last * row + row - 1] / rho, powers[3] = {q, q * q, q * q * q * q};
            for (int k = 0; k < 3; k++) {
                sum[k] += powers[k] / N;
                square[k] += powers[k] * powers[k] / N;
            }
        }
        const double exact[3] = {0, 1.0 / d, 3.0 / (d * (d + 2))};
        for (int k = 0; k < 3; k++) {
            const double error = sqrt(fmax(square[k] - sum[k] * sum[k], 0) / N);
            assert_near(sum[k], exact[k], 5 * error + 1e-12);
        }
        free(z);
        free_nodes(&plain);
        hb_cubature_destroy(rule);
    }
}

/* ---- errors --------------------------------------------------------------------------------- */

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    const hb_status bad = HB_ERROR_ARGUMENT;
    hb_cubature *rule = (hb_cubature *)&rule;
    assert_fails(CTX, hb_cubature_exact(CTX, (hb_measure)3, 2, 0, 4, &rule), bad,
                 "measure is 3; it must be HB_MEASURE_KAPPA (0), HB_MEASURE_SOURCE (1) or "
                 "HB_MEASURE_GRADIENT (2)");
    assert_null(rule);
    assert_fails(CTX, hb_cubature_exact(CTX, HB_MEASURE_KAPPA, -3, 0, 4, &rule), bad, "dim is -3");
    assert_fails(CTX, hb_cubature_exact(CTX, HB_MEASURE_KAPPA, 2, -1, 4, &rule), bad, "lift is -1");
    assert_fails(CTX, hb_cubature_exact(CTX, HB_MEASURE_KAPPA, 2, 0, -1, &rule), bad,
                 "degree is -1; it must be 0 to 20");
    assert_fails(CTX, hb_cubature_exact(CTX, HB_MEASURE_KAPPA, 2, 0, 21, &rule), bad,
                 "degree is 21");
    assert_fails(CTX, hb_cubature_exact(CTX, HB_MEASURE_KAPPA, 20, 0, 4, &rule), bad,
                 "at most 10000000");
    assert_fails(CTX, hb_cubature_exact(CTX, HB_MEASURE_KAPPA, 2, 0, 4, NULL), bad, "NULL");
    assert_fails(CTX, hb_cubature_product(CTX, HB_MEASURE_KAPPA, 2, 0, 0, 2, 4, &rule), bad,
                 "n_time is 0; it must be 1 to 128");
    assert_fails(CTX, hb_cubature_product(CTX, HB_MEASURE_KAPPA, 2, 0, 2, 129, 4, &rule), bad,
                 "n_radius is 129; it must be 1 to 128");
    assert_fails(CTX, hb_cubature_product(CTX, HB_MEASURE_KAPPA, 2, 0, 2, 2, 201, &rule), bad,
                 "degree is 201; it must be 0 to 200");
    assert_fails(CTX, hb_cubature_product(CTX, HB_MEASURE_KAPPA, 4, 0, 128, 128, 40, &rule), bad,
                 "the cubature rule has");
    assert_fails(CTX, hb_cubature_exact(CTX, HB_MEASURE_KAPPA, 1, 1000000, 20, &rule),
                 HB_ERROR_NUMERICAL, "a lower degree is needed");
    assert_fails(CTX, hb_cubature_nodes(CTX, NULL, 0, 0, 0, NULL, NULL, NULL), bad, "NULL");
    double z[33];
    assert_ok(CTX, hb_cubature_exact(CTX, HB_MEASURE_KAPPA, 2, 0, 4, &rule));
    assert_fails(CTX, hb_cubature_nodes(CTX, rule, 1, 0, UINT64_MAX, z, NULL, NULL), bad,
                 "index is 18446744073709551615; in 2 dimensions it must be below");
    assert_ok(CTX, hb_cubature_nodes(CTX, rule, 1, 0, 0, NULL, NULL, NULL));
    hb_cubature_destroy(rule);
    hb_cubature_destroy(NULL);
    assert_int_equal(hb_cubature_size(NULL), 0);
    assert_int_equal(hb_cubature_dim(NULL), 0);
}

/* Whichever allocation fails: HB_ERROR_MEMORY, no rule, nothing leaked. */
static void failed_allocations_leak_nothing(void **state)
{
    (void)state;
    memory_count c = {.allowance = INT_MAX};
    hb_context *context = counting_context(&c);
    assert_non_null(context);
    hb_status status = HB_ERROR_MEMORY;
    int failures = 0;
    for (; status != HB_OK && failures < 100; failures++) {
        hb_cubature *rule = NULL;
        c.allowance = failures;
        status = hb_cubature_exact(context, HB_MEASURE_KAPPA, 2, 1, 4, &rule);
        c.allowance = INT_MAX;
        if (status == HB_OK) {
            double *z = malloc(hb_cubature_size(rule) * 2 * sizeof *z);
            assert_int_equal(hb_cubature_nodes(context, rule, 1, 0, 0, z, NULL, NULL), HB_OK);
            free(z);
            hb_cubature_destroy(rule);
        } else {
            assert_int_equal(status, HB_ERROR_MEMORY);
            assert_null(rule);
        }
        assert_int_equal(c.live, 1); // the context
    }
    assert_true(failures > 8 && failures < 100);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_form_moments_match_integrals),
        cmocka_unit_test(kept_share_matches_its_integral),
        cmocka_unit_test(exact_rules_have_all_moments),
        cmocka_unit_test(exact_rules_at_their_limits),
        cmocka_unit_test(recombination_keeps_the_moments),
        cmocka_unit_test(exact_rules_are_small),
        cmocka_unit_test(known_three_shells_match_the_moments),
        cmocka_unit_test(caloric_polynomials_are_reproduced),
        cmocka_unit_test(product_rules_converge_geometrically),
        cmocka_unit_test(product_rules_are_exact_as_stated),
        cmocka_unit_test(product_rules_with_lift_keep_the_share),
        cmocka_unit_test(rotations_are_orthogonal_and_reproducible),
        cmocka_unit_test(rotations_are_gram_schmidt_of_documented_normals),
        cmocka_unit_test(rotations_are_uniform),
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, create_shared, destroy_shared);
}
