/* The data room: densities and scores against direct sums, quadrature and the Chapman-Kolmogorov
 * equation, draws against the density, files against every refusal. */
#include "support.h"

#include <unistd.h>

enum { N_SETS = 8 };

static hb_mixture *named(hb_context *context, int set)
{
    hb_mixture *mixture;
    assert_ok(context, hb_mixture_named(context, hb_data_names()[set], &mixture));
    return mixture;
}

static void *take(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    assert_non_null(memory);
    return memory;
}

/* ---- an oracle: the direct sum in long double ------------------------------------------------- */

/* ln u and its gradient by sum_k w_k N(x; a m_k, a^2 C_k + b I), with explicit 2x2 inverses. */
static void direct(hb_context *context, const hb_mixture *mixture, long double a, long double b,
                   const double *x, double *log_density, double *score)
{
    const size_t count = hb_mixture_count(mixture);
    long double *e = take(count, sizeof *e), (*pull)[2] = take(count, sizeof *pull);
    long double most = -INFINITY, sum = 0, g[2] = {0, 0};
    for (size_t k = 0; k < count; k++) {
        double weight, m[2], C[2][2];
        assert_ok(context, hb_mixture_component(context, mixture, k, &weight, m, C[0]));
        const long double xx = a * a * C[0][0] + b, xy = a * a * C[0][1], yy = a * a * C[1][1] + b;
        const long double det = xx * yy - xy * xy, u = x[0] - a * m[0], v = x[1] - a * m[1];
        pull[k][0] = -(yy * u - xy * v) / det;
        pull[k][1] = -(xx * v - xy * u) / det;
        e[k] =
            logl(weight) - logl(2 * M_PIl) - logl(det) / 2 + (pull[k][0] * u + pull[k][1] * v) / 2;
        most = e[k] > most ? e[k] : most;
    }
    for (size_t k = 0; k < count; k++) {
        const long double w = expl(e[k] - most);
        sum += w;
        for (int j = 0; j < 2; j++) g[j] += w * pull[k][j];
    }
    *log_density = (double)(most + logl(sum));
    for (int j = 0; j < 2; j++) score[j] = (double)(g[j] / sum);
    free(e);
    free(pull);
}

/* Points on the data, beside it, and where u is far below the smallest double. */
static const double PLACES[][2] = {{0.31, -0.22}, {-1.7, 1.4},  {2.41, 0.83},   {-2.9, -2.3},
                                   {5.2, 3.9},    {-38.5, 7.1}, {120.0, -345.0}};
enum { N_PLACES = sizeof PLACES / sizeof *PLACES };

static void test_density_and_score_are_the_direct_sum(void **state)
{
    hb_context *context = *state;
    const double taus[] = {0, 0.0137, 0.385, 2.6};
    for (int set = 0; set < N_SETS; set++) {
        hb_mixture *mixture = named(context, set);
        for (int t = 0; t < 4; t++)
            for (int ve = 0; ve < 2; ve++) {
                const double a = ve ? 1 : exp(-taus[t]),
                             b = ve ? 2 * taus[t] : 1 - exp(-2 * taus[t]);
                double v[N_PLACES], s[N_PLACES][2], exact_v, exact_s[2];
                assert_ok(context,
                          hb_mixture_score(context, mixture, ve ? HB_PROCESS_VE : HB_PROCESS_OU,
                                           N_PLACES, PLACES[0], taus[t], v, s[0]));
                for (int i = 0; i < N_PLACES; i++) {
                    direct(context, mixture, a, b, PLACES[i], &exact_v, exact_s);
                    assert_near(v[i], exact_v, 2e-12 * (1 + fabs(exact_v)));
                    for (int j = 0; j < 2; j++)
                        assert_near(s[i][j], exact_s[j],
                                    2e-10 * (1 + hypot(exact_s[0], exact_s[1])));
                }
            }
        hb_mixture_destroy(mixture);
    }
}

/* ---- quadrature ------------------------------------------------------------------------------ */

/* The trapezoidal rule on a lattice converges faster than any power for these densities. */
typedef struct lattice {
    size_t side, n;
    double h, *x, *u; // (n, 2), (n)
} lattice;

static lattice make_lattice(hb_context *context, const hb_mixture *mixture, hb_process process,
                            double tau, double half, double h)
{
    const size_t side = (size_t)(2 * half / h) + 1;
    lattice l = {side, side * side, h, take(side * side, 16), take(side * side, 8)};
    for (size_t i = 0; i < l.n; i++) {
        l.x[2 * i] = -half + h * (double)(i % side);
        l.x[2 * i + 1] = -half + h * (double)(i / side);
    }
    assert_ok(context, hb_mixture_score(context, mixture, process, l.n, l.x, tau, l.u, NULL));
    for (size_t i = 0; i < l.n; i++) l.u[i] = exp(l.u[i]);
    return l;
}

static void free_lattice(lattice *l)
{
    free(l->x);
    free(l->u);
}

static void test_mass_is_one_and_moments_are_closed_forms(void **state)
{
    hb_context *context = *state;
    for (int set = 0; set < N_SETS; set++) {
        hb_mixture *mixture = named(context, set);
        lattice l = make_lattice(context, mixture, HB_PROCESS_OU, 0, 7.5, 0.0671);
        double sums[6] = {0}, mean[2], C[2][2];
        for (size_t i = 0; i < l.n; i++) {
            const double x = l.x[2 * i], y = l.x[2 * i + 1], u = l.u[i] * l.h * l.h;
            const double terms[6] = {u, u * x, u * y, u * x * x, u * x * y, u * y * y};
            for (int k = 0; k < 6; k++) sums[k] += terms[k];
        }
        hb_mixture_moments(mixture, mean, C[0]);
        assert_near(sums[0], 1, 2e-9);
        assert_near(sums[1], mean[0], 1e-8);
        assert_near(sums[2], mean[1], 1e-8);
        assert_near(sums[3] - mean[0] * mean[0], C[0][0], 1e-7);
        assert_near(sums[4] - mean[0] * mean[1], C[0][1], 1e-7);
        assert_near(sums[5] - mean[1] * mean[1], C[1][1], 1e-7);
        assert_true(C[0][1] == C[1][0]);
        free_lattice(&l);
        for (int ve = 0; ve < 2; ve++) {
            const hb_process process = ve ? HB_PROCESS_VE : HB_PROCESS_OU;
            double mass = 0;
            l = make_lattice(context, mixture, process, 0.385, 11, 0.25);
            for (size_t i = 0; i < l.n; i++) mass += l.u[i] * l.h * l.h;
            assert_near(mass, 1, 1e-9);
            free_lattice(&l);
        }
        hb_mixture_destroy(mixture);
    }
}

/* u(x,tau) = int p(x | x0, tau) u(x0,0) dx0 with the transition density of the SDE. */
static void test_evolution_is_chapman_kolmogorov(void **state)
{
    hb_context *context = *state;
    const double tau = 0.237;
    for (int set = 0; set < N_SETS; set++) {
        hb_mixture *mixture = named(context, set);
        lattice l = make_lattice(context, mixture, HB_PROCESS_OU, 0, 7.5, 0.0671);
        for (int ve = 0; ve < 2; ve++) {
            const double a = ve ? 1 : exp(-tau), b = ve ? 2 * tau : 1 - exp(-2 * tau);
            for (int place = 0; place < 4; place++) {
                double sum = 0, v;
                for (size_t i = 0; i < l.n; i++) {
                    const double dx = PLACES[place][0] - a * l.x[2 * i];
                    const double dy = PLACES[place][1] - a * l.x[2 * i + 1];
                    sum += l.u[i] * exp(-(dx * dx + dy * dy) / (2 * b)) / (2 * M_PI * b);
                }
                assert_ok(context,
                          hb_mixture_score(context, mixture, ve ? HB_PROCESS_VE : HB_PROCESS_OU, 1,
                                           PLACES[place], tau, &v, NULL));
                assert_relative(sum * l.h * l.h, exp(v), 1e-7);
            }
        }
        free_lattice(&l);
        hb_mixture_destroy(mixture);
    }
}

static void test_score_is_the_gradient(void **state)
{
    hb_context *context = *state;
    enum { N = 40 };
    const double h = 1e-4;
    for (int set = 0; set < N_SETS; set++) {
        hb_mixture *mixture = named(context, set);
        double x[N][2], at[4][N][2], v[4][N], score[N][2];
        assert_ok(context, hb_mixture_sample(context, mixture, 7, 0, N, x[0], NULL));
        assert_ok(context,
                  hb_mixture_score(context, mixture, HB_PROCESS_OU, N, x[0], 0.05, NULL, score[0]));
        for (int axis = 0; axis < 2; axis++) {
            const double steps[4] = {h, -h, 2 * h, -2 * h};
            for (int k = 0; k < 4; k++) {
                memcpy(at[k], x, sizeof x);
                for (int i = 0; i < N; i++) at[k][i][axis] += steps[k];
                assert_ok(context, hb_mixture_score(context, mixture, HB_PROCESS_OU, N, at[k][0],
                                                    0.05, v[k], NULL));
            }
            for (int i = 0; i < N; i++) {
                const double slope = (8 * (v[0][i] - v[1][i]) - (v[2][i] - v[3][i])) / (12 * h);
                assert_near(score[i][axis], slope, 1e-8 * (1 + fabs(slope)) + 1e-9);
            }
        }
        hb_mixture_destroy(mixture);
    }
}

/* ---- other dimensions -------------------------------------------------------------------------- */

/* A planar mixture and an independent third coordinate, turned in space by a Householder reflection:
 * ln u is the sum of the two, the score turns with the frame. */
static void test_three_dimensions_by_a_turned_product(void **state)
{
    hb_context *context = *state;
    const double w[3] = {0.7, -0.2, 0.4}, away = 0.385, variance = 0.6, tau = 0.21;
    const double norm = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
    double H[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) H[i][j] = (i == j) - 2 * w[i] * w[j] / norm;
    hb_mixture *plane = named(context, 0), *space;
    double weight[4], mean[4][3] = {{0}}, C[4][3][3] = {{{0}}};
    for (size_t k = 0; k < 4; k++) {
        double m[3] = {0, 0, away}, c[2][2], full[3][3] = {{0}};
        assert_ok(context, hb_mixture_component(context, plane, k, &weight[k], m, c[0]));
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) full[i][j] = c[i][j];
        full[2][2] = variance;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                mean[k][i] += H[i][j] * m[j];
                for (int p = 0; p < 3; p++)
                    for (int q = 0; q < 3; q++) C[k][i][j] += H[i][p] * full[p][q] * H[q][j];
            }
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < i; j++) C[k][i][j] = C[k][j][i];
    }
    assert_ok(context, hb_mixture_create(context, 3, 4, weight, mean[0], C[0][0], &space));
    for (int place = 0; place < N_PLACES; place++) {
        const double flat[3] = {PLACES[place][0], PLACES[place][1], -1.3};
        double x[3] = {0}, v, s[3], v_plane, s_plane[3];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) x[i] += H[i][j] * flat[j];
        assert_ok(context, hb_mixture_score(context, space, HB_PROCESS_OU, 1, x, tau, &v, s));
        direct(context, plane, expl(-tau), -expm1l(-2 * tau), flat, &v_plane, s_plane);
        const double b = exp(-2 * tau) * variance + 1 - exp(-2 * tau),
                     gap = flat[2] - exp(-tau) * away;
        assert_near(v, v_plane - gap * gap / (2 * b) - 0.5 * log(2 * M_PI * b),
                    1e-11 * (1 + fabs(v)));
        s_plane[2] = -gap / b;
        for (int i = 0; i < 3; i++) {
            double turned = 0;
            for (int j = 0; j < 3; j++) turned += H[i][j] * s_plane[j];
            assert_near(s[i], turned, 1e-10 * (1 + fabs(v)));
        }
    }
    hb_mixture_destroy(plane);
    hb_mixture_destroy(space);
}

static void test_line(void **state)
{
    hb_context *context = *state;
    hb_mixture *mixture;
    const double weights[] = {3, 3}, means[] = {-1, 1}, variances[] = {0.25, 0.25};
    assert_ok(context, hb_mixture_create(context, 1, 2, weights, means, variances, &mixture));
    double mean, variance, x = 2, v, s;
    hb_mixture_moments(mixture, &mean, &variance);
    assert_near(mean, 0, 0);
    assert_near(variance, 1.25, 1e-15);
    assert_int_equal(hb_mixture_modes(mixture, NULL), 2);
    hb_mixture_destroy(mixture);
    const double one = 1, zero = 0;
    assert_ok(context, hb_mixture_create(context, 1, 1, &one, &zero, &one, &mixture));
    assert_ok(context, hb_mixture_score(context, mixture, HB_PROCESS_OU, 1, &x, 0.7, &v, &s));
    assert_near(v, -2.9189385332046727, 1e-15);
    assert_near(s, -2, 1e-15);
    hb_mixture_destroy(mixture);
}

/* ---- the sets ---------------------------------------------------------------------------------- */

static void test_parameters_of_the_sets(void **state)
{
    hb_context *context = *state;
    const int modes[N_SETS] = {4, 5, 3, 2, 1, 5, 2, 2};
    for (int set = 0; set < N_SETS; set++) {
        hb_mixture *mixture = named(context, set);
        const size_t count = hb_mixture_count(mixture);
        int *mode_of = take(count, sizeof *mode_of);
        assert_int_equal(hb_mixture_modes(mixture, mode_of), modes[set]);
        for (size_t k = 0; k < count; k++) assert_in_range(mode_of[k], 0, modes[set] - 1);
        assert_non_null(hb_data_describe(hb_data_names()[set]));
        free(mode_of);
        hb_mixture_destroy(mixture);
    }
    assert_null(hb_data_names()[N_SETS]);
    assert_null(hb_data_describe("twospiral"));
    hb_mixture *elongated = named(context, 2);
    for (size_t k = 0; k < 3; k++) {
        double C[2][2];
        assert_ok(context, hb_mixture_component(context, elongated, k, NULL, NULL, C[0]));
        const double half = (C[0][0] + C[1][1]) / 2, det = C[0][0] * C[1][1] - C[0][1] * C[0][1];
        const double root = sqrt(half * half - det);
        assert_relative(sqrt((half + root) / (half - root)), 8, 1e-12);
    }
    hb_mixture_destroy(elongated);
}

/* A circle plus noise N(0, s^2 I) has u(r) = exp(-(r^2+R^2)/2s^2) I0(r R/s^2)/(2 pi s^2); its I0 by the
 * trapezoidal rule over the angle. The ring's 96 components come within 3e-4. */
static void test_ring_is_a_circle_plus_noise(void **state)
{
    hb_context *context = *state;
    hb_mixture *ring = named(context, 4);
    const double R = 2.5, s2 = 0.12 * 0.12;
    for (int i = 0; i < 60; i++) {
        const double r = 2.2 + 0.01 * i, angle = 0.1 * i, x[2] = {r * cos(angle), r * sin(angle)};
        double v, integral = 0;
        for (int k = 0; k < 4096; k++)
            integral +=
                exp(-(r * r + R * R - 2 * r * R * cos(2 * M_PI * k / 4096)) / (2 * s2)) / 4096;
        assert_ok(context, hb_mixture_score(context, ring, HB_PROCESS_OU, 1, x, 0, &v, NULL));
        assert_relative(exp(v), integral / (2 * M_PI * s2), 3e-4);
    }
    hb_mixture_destroy(ring);
}

/* Largest over smallest density on a piece of a component's neighbourhood along the curve. */
static double ripple(hb_context *context, const hb_mixture *mixture, size_t k)
{
    double a[2], b[2], low = INFINITY, high = 0;
    assert_ok(context, hb_mixture_component(context, mixture, k, NULL, a, NULL));
    assert_ok(context, hb_mixture_component(context, mixture, k + 1, NULL, b, NULL));
    for (int i = 0; i <= 16; i++) {
        const double x[2] = {a[0] + (b[0] - a[0]) * i / 16, a[1] + (b[1] - a[1]) * i / 16};
        double v;
        assert_ok(context, hb_mixture_score(context, mixture, HB_PROCESS_OU, 1, x, 0, &v, NULL));
        low = fmin(low, exp(v));
        high = fmax(high, exp(v));
    }
    return high / low - 1;
}

static void test_manifolds_have_no_ripple(void **state)
{
    hb_context *context = *state;
    const int sets[] = {3, 4, 6, 7};
    for (int i = 0; i < 4; i++) {
        hb_mixture *mixture = named(context, sets[i]);
        assert_true(ripple(context, mixture, 20) < 5e-3); // between chord and curve: curvature too
        hb_mixture_destroy(mixture);
    }
}

/* ---- draws ------------------------------------------------------------------------------------- */

enum { BINS = 24, SUB = 10, DRAWS = 200000 };

/* Chi-square of draws on BINS x BINS bins of [-4,4]^2 and the outside, the expected counts by midpoints. */
static void check_draws(hb_context *context, const hb_mixture *mixture, double tau, const double *x)
{
    const double width = 8.0 / BINS, h = width / SUB;
    const size_t n = BINS * BINS * SUB * SUB;
    double *at = take(n, 16), *v = take(n, 8), expected[BINS * BINS + 1] = {0};
    double counts[BINS * BINS + 1] = {0}, chi2 = 0, rare = 0, rare_count = 0;
    int freedom = -1;
    for (size_t i = 0; i < n; i++) {
        at[2 * i] = -4 + h * ((double)(i % (BINS * SUB)) + 0.5);
        at[2 * i + 1] = -4 + h * ((double)(i / (BINS * SUB)) + 0.5);
    }
    assert_ok(context, hb_mixture_score(context, mixture, HB_PROCESS_OU, n, at, tau, v, NULL));
    expected[BINS * BINS] = DRAWS;
    for (size_t i = 0; i < n; i++) {
        const size_t bin = i / (BINS * SUB) / SUB * BINS + i % (BINS * SUB) / SUB;
        expected[bin] += DRAWS * exp(v[i]) * h * h;
        expected[BINS * BINS] -= DRAWS * exp(v[i]) * h * h;
    }
    for (size_t i = 0; i < DRAWS; i++) {
        const double a = floor((x[2 * i] + 4) / width), b = floor((x[2 * i + 1] + 4) / width);
        counts[a >= 0 && a < BINS && b >= 0 && b < BINS ? (int)b * BINS + (int)a : BINS * BINS]++;
    }
    for (int i = 0; i <= BINS * BINS; i++) {
        if (expected[i] < 20) {
            rare += expected[i];
            rare_count += counts[i];
            continue;
        }
        chi2 += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
        freedom++;
    }
    assert_near(rare_count, rare, 5 * sqrt(rare + 1));
    assert_true(freedom > 50);
    assert_near(chi2, freedom, 5 * sqrt(2.0 * freedom));
    free(at);
    free(v);
}

static void test_draws_follow_the_density(void **state)
{
    hb_context *context = *state;
    double *x = take(DRAWS, 16);
    for (int set = 0; set < N_SETS; set++) {
        hb_mixture *mixture = named(context, set);
        for (int late = 0; late < 2; late++) {
            assert_ok(context, hb_mixture_sample_at(context, mixture, HB_PROCESS_OU, 11, 1000,
                                                    DRAWS, late * 0.21, x, NULL));
            check_draws(context, mixture, late * 0.21, x);
        }
        hb_mixture_destroy(mixture);
    }
    free(x);
}

/* Weights of the components, mean and covariance of the draws, at five standard errors. */
static void test_moments_of_draws(void **state)
{
    hb_context *context = *state;
    hb_mixture *mixture = named(context, 0);
    double *x = take(DRAWS, 16), mean[2], C[2][2], sums[2] = {0}, squares = 0;
    int *component = take(DRAWS, sizeof *component);
    double counts[4] = {0};
    assert_ok(context, hb_mixture_sample(context, mixture, 3, 0, DRAWS, x, component));
    hb_mixture_moments(mixture, mean, C[0]);
    for (size_t i = 0; i < DRAWS; i++) {
        counts[component[i]]++;
        for (int j = 0; j < 2; j++) sums[j] += x[2 * i + (size_t)j] / DRAWS;
        squares += (x[2 * i] - mean[0]) * (x[2 * i + 1] - mean[1]) / DRAWS;
    }
    for (size_t k = 0; k < 4; k++) {
        double weight;
        assert_ok(context, hb_mixture_component(context, mixture, k, &weight, NULL, NULL));
        assert_near(counts[k] / DRAWS, weight, 5 * sqrt(weight * (1 - weight) / DRAWS));
    }
    for (int j = 0; j < 2; j++) assert_near(sums[j], mean[j], 5 * sqrt(C[j][j] / DRAWS));
    assert_near(squares, C[0][1], 5 * sqrt(2 * C[0][0] * C[1][1] / DRAWS));
    free(x);
    free(component);
    hb_mixture_destroy(mixture);
}

/* Components and normals come from streams of their own: the component of one draw tells nothing about the
 * length of another, also not where both would be made from the same block of one stream. */
static void test_components_and_normals_are_independent(void **state)
{
    hb_context *context = *state;
    enum { N = 20000 };
    const double w[2] = {1, 1}, m[4] = {-50, 0, 50, 0}, C[8] = {1, 0, 0, 1, 1, 0, 0, 1};
    hb_mixture *mixture;
    double *x = take(2 * N, 16);
    int *component = take(2 * N, sizeof *component);
    assert_ok(context, hb_mixture_create(context, 2, 2, w, m, C, &mixture));
    assert_ok(context, hb_mixture_sample(context, mixture, 4, 0, 2 * N, x, component));
    for (size_t shift = 0; shift < 2; shift++) {
        double sum = 0, count = 0;
        for (size_t i = 0; i < N; i++) {
            if (component[2 * i + shift] != 0) continue;
            const double a = x[2 * i] - m[2 * component[i]], b = x[2 * i + 1];
            sum += a * a + b * b;
            count++;
        }
        assert_near(sum / count, 2, 5 * 2 / sqrt(count));
    }
    free(x);
    free(component);
    hb_mixture_destroy(mixture);
}

/* ---- bits --------------------------------------------------------------------------------------- */

enum { N_BITS = 3001 };

static void evaluate(hb_isa isa, int threads, double *x, double *v, double *s)
{
    hb_context *context = make_context(isa, threads);
    if (!context) {
        memset(v, 0, N_BITS * sizeof *v);
        return;
    }
    hb_mixture *mixture = named(context, 5);
    assert_ok(context, hb_mixture_sample(context, mixture, 5, 0, N_BITS, x, NULL));
    assert_ok(context, hb_mixture_score(context, mixture, HB_PROCESS_VE, N_BITS, x, 0.01, v, s));
    hb_mixture_destroy(mixture);
    hb_context_destroy(context);
}

static void test_bits_on_threads_and_instruction_sets(void **state)
{
    (void)state;
    static double x[6][2 * N_BITS], v[6][N_BITS], s[6][2 * N_BITS];
    const hb_isa isas[6] = {HB_ISA_AVX512, HB_ISA_AVX2, HB_ISA_SSE2,
                            HB_ISA_SCALAR, HB_ISA_AUTO, HB_ISA_AUTO};
    for (int i = 0; i < 6; i++) evaluate(isas[i], i == 5 ? 4 : 1, x[i], v[i], s[i]);
    assert_memory_equal(x[4], x[5], sizeof x[4]);
    assert_memory_equal(v[4], v[5], sizeof v[4]);
    assert_memory_equal(s[4], s[5], sizeof s[4]);
    for (int pair = 0; pair < 4; pair += 2) {
        if (v[pair][0] == 0 || v[pair + 1][0] == 0) continue; // not on this processor
        assert_memory_equal(v[pair], v[pair + 1], sizeof v[0]);
        assert_memory_equal(s[pair], s[pair + 1], sizeof s[0]);
    }
    for (int i = 0; i < N_BITS && v[0][0] != 0; i++)
        assert_near(v[0][i], v[3][i], 1e-12 * (1 + fabs(v[3][i])));
}

static void test_draws_in_pieces_are_the_same(void **state)
{
    hb_context *context = *state;
    hb_mixture *mixture = named(context, 3);
    static double whole[2 * N_BITS], part[2 * 1000];
    int component[N_BITS], piece[1000];
    assert_ok(context, hb_mixture_sample(context, mixture, 9, 0, N_BITS, whole, component));
    assert_ok(context, hb_mixture_sample(context, mixture, 9, 1777, 1000, part, piece));
    assert_memory_equal(part, whole + 2 * 1777, sizeof part);
    assert_memory_equal(piece, component + 1777, sizeof piece);
    assert_ok(context, hb_mixture_sample(context, mixture, 10, 0, 1000, part, NULL));
    assert_memory_not_equal(part, whole, sizeof part);
    hb_mixture_destroy(mixture);
}

/* ---- refusals ------------------------------------------------------------------------------------ */

static void test_refused_mixtures(void **state)
{
    hb_context *context = *state;
    hb_mixture *mixture;
    const double w[2] = {1, 0}, m[4] = {0.1, 0.2, 0.3, NAN}, C[8] = {1, 0.3, 0.3, 2, 1, 2, 2, 1};
    const double tilted[4] = {1, 0.3, 0.4, 2};
    const hb_status bad = HB_ERROR_ARGUMENT;
    assert_fails(context, hb_mixture_named(context, "two_spirals", &mixture), bad,
                 "no set called two_spirals; the sets are asymmetric_gmm, ");
    assert_fails(context, hb_mixture_create(context, 0, 1, w, m, C, &mixture), bad, "dim is 0");
    assert_fails(context, hb_mixture_create(context, 2, 0, w, m, C, &mixture), bad, "count is 0");
    assert_fails(context, hb_mixture_create(context, 2, 2, w, m, C, &mixture), bad,
                 "weight 2 of the");
    const double equal[2] = {1, 1};
    assert_fails(context, hb_mixture_create(context, 2, 2, equal, m, C, &mixture), bad,
                 "coordinate 2 of mean 2");
    assert_fails(context, hb_mixture_create(context, 2, 1, w, m, tilted, &mixture), bad,
                 "0.4 and 0.3 at (2,1)");
    assert_fails(context, hb_mixture_create(context, 2, 1, w, m, C + 4, &mixture), bad,
                 "has the eigenvalue -1; it must be positive definite");
    assert_fails(context, hb_mixture_create(context, 2, 1, w, m, NULL, &mixture), bad, "NULL");
    assert_ok(context, hb_mixture_create(context, 2, 1, w, m, C, &mixture));
    double x[4] = {0, 0, 1, NAN}, v[2];
    assert_fails(context, hb_mixture_score(context, mixture, HB_PROCESS_DRIFT, 1, x, 0, v, NULL),
                 bad, "ou and ve only");
    assert_fails(context, hb_mixture_score(context, mixture, HB_PROCESS_OU, 1, x, -0.1, v, NULL),
                 bad, "tau is -0.1");
    assert_fails(context, hb_mixture_score(context, mixture, HB_PROCESS_OU, 1, x, NAN, v, NULL),
                 bad, "tau is nan");
    assert_fails(context, hb_mixture_score(context, mixture, HB_PROCESS_OU, 2, x, 0, v, NULL), bad,
                 "coordinate 2 of point 2 is nan");
    assert_fails(context, hb_mixture_sample(context, mixture, 1, UINT64_MAX / 2, 5, x, NULL), bad,
                 "first is");
    assert_fails(context, hb_mixture_component(context, mixture, 1, NULL, NULL, NULL), bad,
                 "components 0 to 0");
    assert_ok(context, hb_mixture_score(context, mixture, HB_PROCESS_OU, 0, NULL, 0, NULL, NULL));
    hb_mixture_destroy(mixture);
    hb_mixture_destroy(NULL);
}

/* ---- the user's own -------------------------------------------------------------------------------- */

static const char *write_text(const char *name, const char *text)
{
    static char path[200];
    snprintf(path, sizeof path, "/tmp/heatball-test-%d-%s", (int)getpid(), name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

static const char *write_npy(hb_context *context, const char *name, int n_axes,
                             const uint64_t *shape)
{
    const char *path = write_text(name, "");
    hb_writer *writer;
    size_t n = 1;
    for (int i = 0; i < n_axes; i++) n *= (size_t)shape[i];
    double *values = take(n + 1, sizeof *values);
    assert_ok(context, hb_writer_create(context, path, &writer));
    assert_ok(context, hb_writer_npy_begin(writer, HB_DTYPE_F64, n_axes, shape));
    assert_ok(context, hb_writer_write(writer, n * sizeof *values, values));
    assert_ok(context, hb_writer_commit(writer));
    free(values);
    return path;
}

static void assert_refused(hb_context *context, const char *path, hb_status status,
                           const char *says)
{
    size_t n;
    int dim;
    double *x = NULL;
    assert_fails(context, hb_data_read(context, path, &dim, &n, &x), status, says);
    assert_null(x);
    unlink(path);
}

static void test_reading(void **state)
{
    hb_context *context = *state;
    size_t n;
    int dim;
    double *x;
    const char *path = write_text("good.csv", "a,b,c\n1,2,3\n4,5.5,-6e-3\n");
    assert_ok(context, hb_data_read(context, path, &dim, &n, &x));
    assert_int_equal(n, 2);
    assert_int_equal(dim, 3);
    assert_true(x[4] == 5.5 && x[5] == -6e-3);
    hb_context_release(context, x);
    unlink(path);
    hb_context_release(context, NULL);
    const uint64_t line[] = {7}, box[] = {3, 2, 2}, empty[] = {0, 2}, thin[] = {5, 0};
    const hb_status bad = HB_ERROR_FORMAT;
    assert_refused(context, write_text("nan.csv", "1,2\n3,4\n5,nan\n"), bad,
                   "has nan in row 3, column 2");
    assert_refused(context, write_text("inf.csv", "1,2\n-inf,4\n"), bad,
                   "has inf in row 2, column 1");
    assert_refused(context, write_text("one.csv", "1,2\n"), bad,
                   "has 1 row; data must have at least 2");
    assert_refused(context, write_npy(context, "line.npy", 1, line), bad,
                   "has 1 axis; data must have 2");
    assert_refused(context, write_npy(context, "box.npy", 3, box), bad,
                   "has 3 axes; data must have 2");
    assert_refused(context, write_npy(context, "empty.npy", 2, empty), bad, "has 0 rows");
    assert_refused(context, write_npy(context, "thin.npy", 2, thin), bad, "has 0 columns");
    assert_refused(context, write_text("empty.csv", ""), bad, "empty.csv");
    assert_refused(context, write_text("words.txt", "1,2\n"), bad, ".npy");
    assert_refused(context, "/nowhere/at/all.csv", HB_ERROR_PATH, "/nowhere/at/all.csv");
}

static void test_split_is_a_fair_permutation(void **state)
{
    hb_context *context = *state;
    enum { N = 2500, SMALL = 6, TIMES = 6000 };
    size_t order[N], again[N], seen[N] = {0};
    assert_ok(context, hb_data_split(context, 42, N, order));
    assert_ok(context, hb_data_split(context, 42, N, again));
    assert_memory_equal(order, again, sizeof order);
    assert_ok(context, hb_data_split(context, 43, N, again));
    assert_memory_not_equal(order, again, sizeof order);
    for (size_t i = 0; i < N; i++) seen[order[i]]++;
    for (size_t i = 0; i < N; i++) assert_int_equal(seen[i], 1);
    double counts[SMALL][SMALL] = {{0}};
    for (uint64_t seed = 0; seed < TIMES; seed++) {
        assert_ok(context, hb_data_split(context, seed, SMALL, order));
        for (size_t i = 0; i < SMALL; i++) counts[i][order[i]]++;
    }
    for (size_t i = 0; i < SMALL; i++)
        for (size_t j = 0; j < SMALL; j++)
            assert_near(counts[i][j], TIMES / SMALL, 5 * sqrt(TIMES / SMALL));
    assert_ok(context, hb_data_split(context, 1, 0, NULL));
    assert_ok(context, hb_data_split(context, 1, 1, order));
    assert_int_equal(order[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_density_and_score_are_the_direct_sum),
        cmocka_unit_test(test_mass_is_one_and_moments_are_closed_forms),
        cmocka_unit_test(test_evolution_is_chapman_kolmogorov),
        cmocka_unit_test(test_score_is_the_gradient),
        cmocka_unit_test(test_three_dimensions_by_a_turned_product),
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_parameters_of_the_sets),
        cmocka_unit_test(test_ring_is_a_circle_plus_noise),
        cmocka_unit_test(test_manifolds_have_no_ripple),
        cmocka_unit_test(test_draws_follow_the_density),
        cmocka_unit_test(test_moments_of_draws),
        cmocka_unit_test(test_components_and_normals_are_independent),
        cmocka_unit_test(test_bits_on_threads_and_instruction_sets),
        cmocka_unit_test(test_draws_in_pieces_are_the_same),
        cmocka_unit_test(test_refused_mixtures),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_split_is_a_fair_permutation),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
