/* Guided walks: the polynomial and its derivatives, guides that are ln u itself, J' b, coordinates
 * of a turned product, gradients of a walk against differences, and means against closed forms.
 *
 *     u(x,tau) = E[e^w],   dF/dx, e^w: [f(x + h) - f(x - h)]/(2 h)
 * A number to reproduce: F = -x from N(0, 1) with v = ln u: w = -0.9189385332 at x = 0, all walks. */
#include "base/memory.h"
#include "guide/guide.h"
#include "problem/drift_facts.h"
#include "shared_context.h"

static hb_problem *parse(const char *drift, const char *noise, const char *initial)
{
    hb_problem *problem;
    assert_ok(CTX, hb_problem_parse(CTX, drift, noise, initial, &problem));
    return problem;
}

/* Of the golden ratio's multiples, in (-size, size). */
static double spread_out(size_t k, double size)
{
    const double part = (double)(k + 1) * 0.6180339887498949;
    return size * (2 * (part - floor(part)) - 1);
}

/* ---- the polynomial ---- */

enum { N = 16, DIM = 4, TERMS = 4 * HB_GUIDE_SINGLE + 2 * HB_GUIDE_PAIR + 2 + 2 * HB_GUIDE_TRIPLE };

static int term_axes[6][3] = {{0, 1}, {2, 3}, {0, 3}, {1, 2}, {0, 1, 2}, {1, 2, 3}};
static const hb_guide_basis basis = {
    .dim = DIM, .pairs = 2, .weak = 2, .triples = 2, .axes = term_axes, .n_terms = TERMS};

typedef struct polynomial {
    double value[N], slope[DIM * N], curvature[DIM * N], turned[DIM * N], lean[DIM * N];
} polynomial;

static void evaluate(const hb_guide_kernel *kernel, const double *q, polynomial *out)
{
    double c[TERMS], a[DIM * N], w[DIM * N];
    for (size_t j = 0; j < TERMS; j++) c[j] = spread_out(j, 0.3);
    for (size_t j = 0; j < DIM * N; j++)
        a[j] = spread_out(7 * j + 3, 1), w[j] = spread_out(5 * j, 1);
    kernel->value(&basis, c, N, q, out->value, out->slope, out->curvature);
    kernel->turn(&basis, c, N, q, a, w, out->turned, out->lean);
}

/* Some beyond 3.5, where the fifth term begins. */
static void fill_points(double *q)
{
    for (size_t j = 0; j < DIM * N; j++) q[j] = spread_out(j, 5);
}

static void a_polynomial_has_the_values_of_the_header(void **state)
{
    (void)state;
    double c[TERMS] = {0}, q[DIM * N] = {0};
    polynomial out;
    c[DIM * HB_GUIDE_SINGLE + 1] = 1; /* q1^2 q2 */
    q[0] = 3, q[N] = 5;
    hb_guide_kernel_of(HB_ISA_SCALAR)->value(&basis, c, N, q, out.value, out.slope, out.curvature);
    assert_true(out.value[0] == 45 && out.slope[0] == 30 && out.slope[N] == 9);
    assert_true(out.curvature[0] == 10 && out.curvature[N] == 0);
    hb_guide_kernel_of(HB_ISA_SCALAR)->value(&basis, c, N, q, out.value, NULL, NULL);
    assert_true(out.value[0] == 45);
}

/* One coordinate of all points moves; then all, along a. */
static void derivatives_of_a_polynomial_are_those_of_differences(void **state)
{
    (void)state;
    const hb_guide_kernel *kernel = hb_guide_kernel_of(HB_ISA_SCALAR);
    const double h = 1e-4;
    double q[DIM * N], moved[DIM * N], turned[DIM * N] = {0};
    polynomial at, up, down;
    fill_points(q);
    evaluate(kernel, q, &at);
    for (size_t i = 0; i < DIM; i++) {
        memcpy(moved, q, sizeof q);
        for (size_t k = i * N; k < (i + 1) * N; k++) moved[k] = q[k] + h;
        evaluate(kernel, moved, &up);
        for (size_t k = i * N; k < (i + 1) * N; k++) moved[k] = q[k] - h;
        evaluate(kernel, moved, &down);
        for (size_t k = 0; k < N; k++) {
            const size_t j = i * N + k;
            double lean = 0;
            assert_near(at.slope[j], (up.value[k] - down.value[k]) / (2 * h), 1e-6);
            assert_near(at.curvature[j], (up.slope[j] - down.slope[j]) / (2 * h), 1e-6);
            for (size_t l = 0; l < DIM; l++) { /* sums over the other coordinates */
                turned[l * N + k] += (up.slope[l * N + k] - down.slope[l * N + k]) / (2 * h) *
                                     spread_out(7 * j + 3, 1);
                lean += (up.curvature[l * N + k] - down.curvature[l * N + k]) / (2 * h) *
                        spread_out(5 * (l * N + k), 1);
            }
            assert_near(at.lean[j], lean, 1e-6);
        }
    }
    for (size_t j = 0; j < DIM * N; j++) assert_near(at.turned[j], turned[j], 1e-6);
}

static void instruction_sets_agree_to_the_bit(void **state)
{
    (void)state;
    double q[DIM * N];
    polynomial scalar, other;
    fill_points(q);
    evaluate(hb_guide_kernel_of(HB_ISA_SCALAR), q, &scalar);
    for (int isa = HB_ISA_SSE2; isa <= HB_ISA_AVX512; isa++) {
        if (!hb_cpu_has((hb_isa)isa)) continue;
        evaluate(hb_guide_kernel_of((hb_isa)isa), q, &other);
        assert_memory_equal(&scalar, &other, sizeof scalar);
    }
}

/* ---- J' b ---- */

/* f = (x y + sin t, -y^3, x - z), a function of the caller. */
static int curved_drift(void *user, size_t n, const double *x, const double *t, double *f,
                        double *jacobian)
{
    (void)user;
    for (size_t k = 0; k < n; k++) {
        const double *at = x + 3 * k;
        f[3 * k] = at[0] * at[1] + sin(t[k]);
        f[3 * k + 1] = -at[1] * at[1] * at[1];
        f[3 * k + 2] = at[0] - at[2];
        const double J[9] = {at[1], at[0], 0, 0, -3 * at[1] * at[1], 0, 1, 0, -1};
        if (jacobian) memcpy(jacobian + 9 * k, J, sizeof J);
    }
    return 0;
}

static void check_turned(const hb_problem *problem)
{
    enum { ROWS = 700 }; /* more than a block of the formula's */
    static double x[ROWS * 3], tau[ROWS], b[ROWS * 3], out[ROWS * 3], J[ROWS * 9];
    for (size_t k = 0; k < ROWS * 3; k++) x[k] = spread_out(k, 2), b[k] = spread_out(3 * k + 1, 1);
    for (size_t k = 0; k < ROWS; k++) tau[k] = 0.3 + spread_out(k, 0.25);
    assert_ok(CTX, hb_problem_drift_each(CTX, problem, ROWS, x, tau, NULL, NULL, NULL, J));
    assert_ok(CTX, hb_problem_drift_turned(CTX, problem, ROWS, x, tau, b, out));
    for (size_t k = 0; k < ROWS; k++)
        for (size_t j = 0; j < 3; j++) {
            double sum = 0;
            for (size_t i = 0; i < 3; i++) sum += J[(k * 3 + i) * 3 + j] * b[k * 3 + i];
            assert_near(out[k * 3 + j], sum, 1e-12 * (1 + fabs(sum)));
        }
}

static void a_turned_drift_is_the_dense_product(void **state)
{
    (void)state;
    hb_problem *text = parse("x*y + sin(t), -y^3, x - z", "1 + t/2", "gaussian(mean=0, var=1)");
    check_turned(text);
    hb_problem_destroy(text);
    hb_problem_settings settings;
    hb_problem *callback;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = 3;
    settings.drift_callback = curved_drift;
    settings.drift_has_jacobian = 1;
    settings.noise = "1 + t/2";
    settings.initial = "gaussian(mean=0, var=1)";
    settings.time = 1;
    assert_ok(CTX, hb_problem_create(CTX, &settings, &callback));
    check_turned(callback);
    hb_problem_destroy(callback);
}

/* ---- guides that are ln u ---- */

/* v of the Gaussian N(mean, first + slope tau) in every coordinate, at all times. */
static void make_exact(hb_guide *g, double mean, double first, double slope)
{
    memset(g->theta, 0, g->n_nodes * g->basis.n_terms * sizeof *g->theta);
    for (size_t k = 0; k < g->n_nodes * g->d; k++) {
        g->mean[k] = mean;
        g->variance[k] = first + slope * g->node[k / g->d];
    }
}

static void check_epsilon(const hb_guide *g)
{
    hb_guide_view v;
    double y[3 * N], epsilon[N];
    assert_ok(CTX, hb_guide_view_create(g, CTX, N, &v));
    for (size_t k = 0; k < g->n_nodes; k++) {
        const double tau =
            k + 1 < g->n_nodes ? 0.3 * g->node[k] + 0.7 * g->node[k + 1] : g->node[k];
        for (size_t j = 0; j < g->d * N; j++) y[j] = spread_out(j, 3);
        assert_ok(CTX, hb_guide_look(g, &v, tau, y));
        assert_ok(CTX, hb_guide_drift(g, CTX, &v, y, 1));
        hb_guide_residual(g, &v, epsilon);
        hb_guide_add_change(g, &v, hb_guide_segment(g, tau), -1, epsilon);
        for (size_t j = 0; j < N; j++) assert_near(epsilon[j], 0, 1e-10 / tau);
    }
    hb_workspace_destroy(&v.work);
}

/* A block of walks from x; a and b belong to the caller. */
static hb_guide_run walk(const hb_guide *g, const double *x, uint64_t number, double log_scale,
                         double *a, double *b)
{
    hb_guide_walker *walker;
    hb_guide_run run = {.x = x,
                        .seed = 17,
                        .number = number,
                        .multiple = 1,
                        .log_scale = log_scale,
                        .a = a,
                        .b = b};
    assert_ok(CTX, hb_guide_walker_create(g, CTX, &walker));
    assert_ok(CTX, hb_guide_walk(walker, &run));
    hb_guide_walker_destroy(walker);
    return run;
}

enum { LONGEST = 4 };
static double part_a[2][HB_GUIDE_BLOCK], part_b[2][HB_GUIDE_BLOCK * LONGEST];

/* Every walk of the block is u and its gradient is that of u. */
static void check_constant(const hb_guide *g, const double *x, double log_u, const double *score)
{
    const hb_guide_run run = walk(g, x, 0, log_u, part_a[0], part_b[0]);
    assert_true(run.lost == 0);
    for (size_t i = 0; i < HB_GUIDE_BLOCK; i++) {
        assert_near(part_a[0][i], 1, 1e-9);
        for (size_t k = 0; k < g->d; k++)
            assert_near(part_b[0][i * g->d + k], score[k], 1e-8 * (1 + fabs(score[k])));
    }
}

static void walks_along_ln_u_are_alike(void **state)
{
    (void)state;
    const double x[3] = {0, 0.7, -1.9}, still[3] = {-0.0, -0.7, 1.9};
    hb_guide *g;
    hb_problem *problem = parse("-x", "sqrt(2)", "gaussian(mean=0, var=1)");
    assert_ok(CTX, hb_guide_create(CTX, problem, 0.8, &g));
    make_exact(g, 0, 1, 0);
    check_epsilon(g);
    for (int k = 0; k < 3; k++)
        check_constant(g, x + k, -0.9189385332046727 - 0.5 * x[k] * x[k], still + k);
    hb_guide_destroy(g);
    hb_problem_destroy(problem);
}

/* No drift: the variance is linear in tau, as that of a guide; from N(0.2, 0.3) and from a point. */
static void walks_of_brownian_motion_are_alike(void **state)
{
    (void)state;
    const double tau = 0.6, x[2] = {0.9, -0.4};
    for (int point = 0; point < 2; point++) {
        hb_problem *problem =
            parse("0, 0", "sqrt(2)", point ? "point(0.2 0.2)" : "gaussian(mean=0.2, var=0.3)");
        const double first = point ? 0 : 0.3, s2 = first + 2 * tau;
        double log_u = 0, score[2];
        hb_guide *g;
        assert_ok(CTX, hb_guide_create(CTX, problem, tau, &g));
        make_exact(g, 0.2, first, 2);
        check_epsilon(g);
        for (int k = 0; k < 2; k++) {
            log_u -= 0.5 * ((x[k] - 0.2) * (x[k] - 0.2) / s2 + log(2 * M_PI * s2));
            score[k] = -(x[k] - 0.2) / s2;
        }
        check_constant(g, x, log_u, score);
        hb_guide_destroy(g);
        hb_problem_destroy(problem);
    }
}

/* ---- coordinates ---- */

/* A rotation in four dimensions: three turns of planes. */
static void make_rotation(double R[4][4])
{
    static const int planes[6][2] = {{0, 1}, {1, 2}, {2, 3}, {0, 3}, {0, 2}, {1, 3}};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) R[i][j] = i == j;
    for (int p = 0; p < 6; p++) {
        const double c = cos(1 + 1.3 * p), s = sin(1 + 1.3 * p);
        for (int j = 0; j < 4; j++) {
            const double a = R[planes[p][0]][j], b = R[planes[p][1]][j];
            R[planes[p][0]][j] = c * a - s * b;
            R[planes[p][1]][j] = s * a + c * b;
        }
    }
}

enum { TEXT = 16384 };
/* f = R' g(R x), g two copies of (y1 - y1^3 + 1.5 y2, -y2 - 1.5 y1). */
static void write_turned_product(double R[4][4], char *out)
{
    static char y[4][256], inner[4][4096];
    for (int i = 0; i < 4; i++)
        snprintf(y[i], sizeof y[i], "(%.17g*x1 + %.17g*x2 + %.17g*x3 + %.17g*x4)", R[i][0], R[i][1],
                 R[i][2], R[i][3]);
    for (int i = 0; i < 4; i += 2) {
        snprintf(inner[i], sizeof inner[i], "(%s - %s^3 + 1.5*%s)", y[i], y[i], y[i + 1]);
        snprintf(inner[i + 1], sizeof inner[i + 1], "(-%s - 1.5*%s)", y[i + 1], y[i]);
    }
    size_t used = 0;
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) {
            used += (size_t)snprintf(out + used, TEXT - used, "%s%.17g*%s",
                                     i   ? " + "
                                     : j ? ", "
                                         : "",
                                     R[i][j], inner[i]);
            assert_true(used < TEXT);
        }
}

static hb_problem *turned_product(double R[4][4])
{
    static char drift[TEXT];
    make_rotation(R);
    write_turned_product(R, drift);
    return parse(drift, "sqrt(2)", "gaussian(mean=0.1, var=0.4)");
}

static void a_turned_product_has_its_two_pairs(void **state)
{
    (void)state;
    double R[4][4];
    hb_problem *problem = turned_product(R);
    hb_guide *g;
    assert_ok(CTX, hb_guide_create(CTX, problem, 0.5, &g));
    assert_non_null(g->axes);
    assert_true(g->basis.pairs == 2 && g->basis.triples == 0);
    int block[4];
    for (int i = 0; i < 4; i++) { /* each axis lies in one block */
        double part[2] = {0, 0};
        for (int j = 0; j < 4; j++) {
            double along = 0;
            for (int k = 0; k < 4; k++) along += g->axes[i * 4 + k] * R[j][k];
            part[j / 2] += along * along;
        }
        block[i] = part[1] > part[0];
        assert_near(part[block[i]], 1, 1e-9);
    }
    for (size_t p = 0; p < 2; p++)
        assert_int_equal(block[g->basis.axes[p][0]], block[g->basis.axes[p][1]]);
    hb_guide_destroy(g);
    hb_problem_destroy(problem);
}

/* ---- the fit ---- */

/* The drift pulls back as -x but for a slight bend, so that u stays close to N(0, 1). */
static void a_nearly_gaussian_density_has_a_small_second_term(void **state)
{
    (void)state;
    hb_guide *g;
    hb_problem *problem = parse("-x + x^3/(1 + x^2)^2", "sqrt(2)", "gaussian(mean=0, var=1)");
    assert_ok(CTX, hb_guide_create(CTX, problem, 1, &g));
    for (size_t k = 0; k < g->n_nodes; k++)
        assert_true(fabs(g->theta[k * g->basis.n_terms + 1]) < 0.1);
    hb_guide_destroy(g);
    hb_problem_destroy(problem);
}

static void a_drift_beyond_cubic_is_refused(void **state)
{
    (void)state;
    hb_guide *g;
    hb_problem *problem = parse("-x^5", "sqrt(2)", "gaussian(mean=0, var=1)");
    assert_fails(CTX, hb_guide_create(CTX, problem, 1, &g), HB_ERROR_ARGUMENT,
                 "grows faster than the third power");
    hb_problem_destroy(problem);
}

/* ---- gradients ---- */

/* e^w of a walk and its gradient, against the same walk from x +- h. */
static void check_gradients(const hb_problem *problem, double tau, const double *x)
{
    hb_guide *g;
    const double h = 1e-5;
    assert_ok(CTX, hb_guide_create(CTX, problem, tau, &g));
    const size_t d = g->d;
    const double scale = walk(g, x, 3, NAN, part_a[0], part_b[0]).log_scale;
    assert_true(isfinite(scale));
    for (size_t k = 0; k < d; k++) {
        double moved[LONGEST], *up = part_a[1], down[HB_GUIDE_BLOCK], size = 0;
        memcpy(moved, x, d * sizeof *x);
        moved[k] = x[k] + h;
        walk(g, moved, 3, scale, up, part_b[1]);
        moved[k] = x[k] - h;
        walk(g, moved, 3, scale, down, part_b[1]);
        for (size_t i = 0; i < HB_GUIDE_BLOCK; i++) size = fmax(size, fabs(part_b[0][i * d + k]));
        assert_true(size > 0.1);
        for (size_t i = 0; i < HB_GUIDE_BLOCK; i++)
            assert_near(part_b[0][i * d + k], (up[i] - down[i]) / (2 * h), 2e-6 * (1 + size));
    }
    hb_guide_destroy(g);
}

static void gradients_of_walks_are_those_of_differences(void **state)
{
    (void)state;
    static const struct {
        const char *drift, *noise, *initial;
        double tau;
    } cases[] = {
        {"x - x^3 + 1.5*y, -y - 1.5*x", "sqrt(2)", "gaussian(mean=0.3, var=0.3)", 0.7},
        {"x - x^3 + 1.5*y, -y - 1.5*x", "sqrt(2)", "point(0.3 -0.2)", 0.4},
        {"sin(t) - x + sin(y), 0.5*tanh(2*x) - y", "1 + t/4", "gaussian(mean=0.3, var=0.3)", 0.5},
        {"y, -x - 0.6*sin(x) - 0.5*y", "0, 0; 0, 0.7", "gaussian(mean=0.3, var=0.3)", 0.6}};
    const double x[2] = {0.7, -0.4};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hb_problem *problem = parse(cases[k].drift, cases[k].noise, cases[k].initial);
        check_gradients(problem, cases[k].tau, x);
        hb_problem_destroy(problem);
    }
}

static void gradients_in_turned_axes_are_those_of_differences(void **state)
{
    (void)state;
    const double x[4] = {0.4, -0.3, 0.2, 0.5};
    double R[4][4];
    hb_problem *problem = turned_product(R);
    check_gradients(problem, 0.3, x);
    hb_problem_destroy(problem);
}

/* ---- means ---- */

enum { BLOCKS = 8 };
/* The mean of the walks and of their gradients over `u`, which must be 1 and the score, within five
 * standard errors, which are at most `error`. */
static void check_mean(const hb_problem *problem, double tau, const double *x, double log_u,
                       const double *score, double error)
{
    hb_guide *g;
    assert_ok(CTX, hb_guide_create(CTX, problem, tau, &g));
    const size_t d = g->d, n = BLOCKS * HB_GUIDE_BLOCK;
    double sum[1 + LONGEST] = {0}, squares[1 + LONGEST] = {0};
    for (uint64_t block = 0; block < BLOCKS; block++) {
        assert_true(walk(g, x, block, log_u, part_a[0], part_b[0]).lost == 0);
        for (size_t i = 0; i < HB_GUIDE_BLOCK; i++)
            for (size_t c = 0; c < 1 + d; c++) {
                const double value = c == 0 ? part_a[0][i] : part_b[0][i * d + c - 1];
                sum[c] += value, squares[c] += value * value;
            }
    }
    for (size_t c = 0; c < 1 + d; c++) {
        const double mean = sum[c] / (double)n, exact = c == 0 ? 1 : score[c - 1];
        const double own = sqrt((squares[c] / (double)n - mean * mean) / (double)n);
        if (c == 0) assert_true(own < error);
        assert_near(mean, exact, 5 * own + 1e-6);
    }
    hb_guide_destroy(g);
}

/* N(m e^-tau, 1 + (v - 1) e^-2tau): 0.4392625993 from N(1, 0.5) at tau = 0.5, x = 0.7. */
static void the_mean_is_the_density_of_a_linear_process(void **state)
{
    (void)state;
    for (int point = 0; point < 2; point++) {
        hb_problem *problem =
            parse("-x", "sqrt(2)", point ? "point(1)" : "gaussian(mean=1, var=0.5)");
        const double x = 0.7, tau = 0.5, m = exp(-tau);
        const double s2 = 1 + ((point ? 0 : 0.5) - 1) * exp(-2 * tau);
        const double log_u = -0.5 * ((x - m) * (x - m) / s2 + log(2 * M_PI * s2));
        const double score = -(x - m) / s2;
        if (!point) assert_near(exp(log_u), 0.4392625993, 1e-10);
        check_mean(problem, tau, &x, log_u, &score, 0.005);
        hb_problem_destroy(problem);
    }
}

/* Mean and covariance of dz = A z dt + (0, s) dW, A = (0 1; -1 -0.5), by many steps of Runge and
 * Kutta: m' = A m, C' = A C + C A' + diag(0, s^2). State: m1, m2, C11, C12, C22. */
static void oscillate(double time, double s2, double *z)
{
    enum { STEPS = 2000 };
    const double h = time / STEPS;
    for (int k = 0; k < STEPS; k++) {
        double sum[5] = {0}, at[5], slope[5];
        memcpy(at, z, sizeof at);
        for (int stage = 0; stage < 4; stage++) {
            slope[0] = at[1];
            slope[1] = -at[0] - 0.5 * at[1];
            slope[2] = 2 * at[3];
            slope[3] = at[4] - at[2] - 0.5 * at[3];
            slope[4] = -2 * at[3] - at[4] + s2;
            for (int c = 0; c < 5; c++) {
                sum[c] += h / 6 * (stage == 1 || stage == 2 ? 2 : 1) * slope[c];
                at[c] = z[c] + (stage < 2 ? 0.5 : 1) * h * slope[c];
            }
        }
        for (int c = 0; c < 5; c++) z[c] += sum[c];
    }
}

/* A coordinate without noise. */
static void the_mean_is_the_density_of_an_oscillator_with_one_noise(void **state)
{
    (void)state;
    hb_problem *problem = parse("y, -x - 0.5*y", "0, 0; 0, 0.7", "gaussian(mean=0.5, var=0.4)");
    const double time = 0.8, x[2] = {0.6, -0.3};
    double z[5] = {0.5, 0.5, 0.4, 0, 0.4};
    oscillate(time, 0.49, z);
    const double det = z[2] * z[4] - z[3] * z[3], a = x[0] - z[0], b = x[1] - z[1];
    const double score[2] = {-(z[4] * a - z[3] * b) / det, -(z[2] * b - z[3] * a) / det};
    const double log_u = 0.5 * (score[0] * a + score[1] * b) - 0.5 * log(det) - log(2 * M_PI);
    check_mean(problem, time, x, log_u, score, 0.02);
    hb_problem_destroy(problem);
}

/* The number of solve/method_guided.c. */
static void the_method_gives_the_density_of_the_grid(void **state)
{
    (void)state;
    hb_problem *problem =
        parse("x - x^3 + 1.5*y, -y - 1.5*x", "sqrt(2)", "gaussian(mean=0.3, var=0.3)");
    const double x[2] = {0.5, 0.2};
    hb_solution *solution;
    hb_solve_settings settings;
    hb_solve_settings_default(sizeof settings, &settings);
    settings.time = 1;
    settings.method = HB_METHOD_GUIDED;
    assert_ok(CTX, hb_solve(CTX, problem, &settings, 1, x, &solution));
    const double error = hb_solution_values(solution, HB_COLUMN_DENSITY_ERROR)[0];
    assert_true(error > 0 && error < 0.001);
    assert_near(hb_solution_values(solution, HB_COLUMN_DENSITY)[0], 0.118770187, 5 * error);
    assert_string_equal(hb_solution_method(solution), "guided");
    hb_solution_destroy(solution);
    hb_problem_destroy(problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_polynomial_has_the_values_of_the_header),
        cmocka_unit_test(derivatives_of_a_polynomial_are_those_of_differences),
        cmocka_unit_test(instruction_sets_agree_to_the_bit),
        cmocka_unit_test(a_turned_drift_is_the_dense_product),
        cmocka_unit_test(walks_along_ln_u_are_alike),
        cmocka_unit_test(walks_of_brownian_motion_are_alike),
        cmocka_unit_test(a_turned_product_has_its_two_pairs),
        cmocka_unit_test(a_nearly_gaussian_density_has_a_small_second_term),
        cmocka_unit_test(a_drift_beyond_cubic_is_refused),
        cmocka_unit_test(gradients_of_walks_are_those_of_differences),
        cmocka_unit_test(gradients_in_turned_axes_are_those_of_differences),
        cmocka_unit_test(the_mean_is_the_density_of_a_linear_process),
        cmocka_unit_test(the_mean_is_the_density_of_an_oscillator_with_one_noise),
        cmocka_unit_test(the_method_gives_the_density_of_the_grid)};
    return cmocka_run_group_tests(tests, create_shared, destroy_shared);
}
