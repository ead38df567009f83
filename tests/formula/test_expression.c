/* The expression language: values, precedence, exact derivatives and sharing.
 *
 * The references are C's own functions in long double, closed forms of derivatives, and for random
 * expressions a complex step, f'(x) = Im f(x + i h)/h with h = 1e-30, which has no cancellation. */
#include "graph_support.h"

#include <complex.h>

/* ---- values ---- */

static void precedence_is_that_of_mathematics(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"-2^2", -4},
        {"2^3^2", 512},
        {"2^-1", 0.5},
        {"2^-1^2", 0.5},
        {"(-2)^2", 4},
        {"8/4/2", 1},
        {"8-4-2", 2},
        {"2+3*4", 14},
        {"(2+3)*4", 20},
        {"2*3^2", 18},
        {"-3*-2", 6},
        {"2--3", 5},
        {"+2 - +3", -1},
        {"--2", 2},
        {"12/2*3", 18},
        {"1.5e2", 150},
        {"1e-2", 0.01},
        {".5", 0.5},
        {"5.", 5},
        {" 1 +\t2 ", 3},
        {"sum(j,1,4,j^2)", 30},
        {"sum(j, 3, 2, j)", 0},
        {"sum(j,1,3,sum(k,1,j,k*j))", 25},
        {"sum(i,-1,2*1,i)", 2},
        {"sum(m,1,d,m)", 1},
        {"d", 1},
        {"pow(2,10)", 1024},
        {"max(1,2) - min(1,2)", 1},
        {"sign(-3.2) + abs(-2) + sign(0)", 1},
        {"0.1 + 0.2", 0.1 + 0.2},
    };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = evaluate(context, cases[i].text, 1, POINT, T);
        if (value != cases[i].value)
            fail_msg("%s is %.17g, not %.17g", cases[i].text, value, cases[i].value);
    }
    hb_context_destroy(context);
}

static void formulas_agree_with_c(void **state)
{
    (void)state;
    const double x = POINT[0], y = POINT[1], z = POINT[2], mu = 2.385, k = 0.31;
    const struct {
        const char *text;
        double value;
    } cases[] = {
        {"x - x^3", x - x * x * x},
        {"x1 - x1^3 + x2*x3", x - x * x * x + y * z},
        {"mu*(1 - x^2)*y - x", mu * (1 - x * x) * y - x},
        {"exp(-x^2/2)/sqrt(2*pi)", exp(-x * x / 2) / sqrt(2 * M_PI)},
        {"x[1]*x[d] - x[2]", x * z - y},
        {"sum(j,2,2,x[j-2] + x[j+5] + x[1*j-4])", x + z + x},
        {"sum(j,d+1,d,x[j]) + sum(j,1,0,x[9]) + x", x},
        {"sum(j,1,d-1,(x[j+1]-x[j])^2)", (y - x) * (y - x) + (z - y) * (z - y)},
        {"sin(2*pi*t) + k*cos(t)", sin(2 * M_PI * T) + k * cos(T)},
        {"z^-3", 1 / (z * z * z)},
        {"x^2.5", pow(x, 2.5)},
        {"x^y", pow(x, y)},
        {"2^x", pow(2, x)},
        {"y^5", y * y * y * y * y},
        {"x^40", pow(x, 40)},
        {"min(x, y)*max(y, z)", y * z},
        {"(x - y)/(x + y)", (x - y) / (x + y)},
        {"x*2 - x*2 + 1", 1},
        {"-(x - y)", y - x},
        {"x/4 + 3*(2*x)", x / 4 + 6 * x},
        {"sum(k,1,2,k*x) + k", 3 * x + k},
        {"(1e150*(x*1e-170))*(1e150*(y*1e-130))", x * y},
        {"x*1e200/1e200*1e200/1e200", x},
        {"(1e-200*x)*1e200*(1e200*y)*1e-200", x * y},
        {"(3*x)/7/y*5", 15 * x / 7 / y},
        {"x*y + z", x * y + z},
        {"x*y - z", x * y - z},
        {"z - x*y", z - x * y},
        {"x*y + z*x", x * y + z * x},
        {"(x*y + 2) - (2 - x*y)*z", (x * y + 2) - (2 - x * y) * z},
        {"3*x + 2.5", 3 * x + 2.5},
        {"3*x - 2.5", 3 * x - 2.5},
        {"2.5 - 3*x", 2.5 - 3 * x},
        {"y - 3*x + 3*z", y - 3 * x + 3 * z},
        {"x*t - y", x * T - y},
        {"t - x*t", T - x * T},
        {"1 - x*y", 1 - x * y},
    };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = evaluate(context, cases[i].text, 3, POINT, T);
        if (!(fabs(value - cases[i].value) <= 1e-15 * (2 + 2 * fabs(cases[i].value))))
            fail_msg("%s is %.17g, not %.17g", cases[i].text, value, cases[i].value);
    }
    hb_context_destroy(context);
}

/* ---- every function, with first and second derivative in closed form ---- */

typedef long double real;
#define FORMULA(name, formula)                                                                     \
    static real name(real x)                                                                       \
    {                                                                                              \
        return formula;                                                                            \
    }
FORMULA(exp0, expl(x))
FORMULA(log0, logl(x))
FORMULA(log1, 1 / x)
FORMULA(log2nd, -1 / (x * x))
FORMULA(sqrt0, sqrtl(x))
FORMULA(sqrt1, 0.5L / sqrtl(x))
FORMULA(sqrt2nd, -0.25L / (x * sqrtl(x)))
FORMULA(sin0, sinl(x))
FORMULA(cos0, cosl(x))
FORMULA(sin_negative, -sinl(x))
FORMULA(cos_negative, -cosl(x))
FORMULA(tan0, tanl(x))
FORMULA(tan1, 1 / (cosl(x) * cosl(x)))
FORMULA(tan2nd, 2 * tanl(x) / (cosl(x) * cosl(x)))
FORMULA(asin0, asinl(x))
FORMULA(asin1, 1 / sqrtl((1 - x) * (1 + x)))
FORMULA(asin2nd, x / powl((1 - x) * (1 + x), 1.5L))
FORMULA(acos0, acosl(x))
FORMULA(acos1, -1 / sqrtl((1 - x) * (1 + x)))
FORMULA(acos2nd, -x / powl((1 - x) * (1 + x), 1.5L))
FORMULA(atan0, atanl(x))
FORMULA(atan1, 1 / (1 + x * x))
FORMULA(atan2nd, -2 * x / ((1 + x * x) * (1 + x * x)))
FORMULA(sinh0, sinhl(x))
FORMULA(cosh0, coshl(x))
FORMULA(tanh0, tanhl(x))
FORMULA(tanh1, 1 / (coshl(x) * coshl(x)))
FORMULA(tanh2nd, -2 * tanhl(x) / (coshl(x) * coshl(x)))
FORMULA(abs0, fabsl(x))
FORMULA(sign0, (real)((x > 0) - (x < 0)))
FORMULA(zero, 0 * x)
FORMULA(min0, x < 0.4L ? x : 0.4L * x * x + 0.24L)
FORMULA(min1, x < 0.4L ? 1 : 0.8L * x)
FORMULA(min2nd, x < 0.4L ? 0 : 0.8L)
FORMULA(pow0, powl(x, 2.385))
FORMULA(pow1, 2.385 * powl(x, 2.385 - 1.0L))
FORMULA(pow2nd, 2.385 * (2.385 - 1.0L) * powl(x, 2.385 - 2.0L))
FORMULA(self0, powl(x, x))
FORMULA(self1, powl(x, x) * (logl(x) + 1))
FORMULA(self2nd, powl(x, x) * ((logl(x) + 1) * (logl(x) + 1) + 1 / x))
FORMULA(base0, powl(2.385, x))
FORMULA(base1, powl(2.385, x) * logl(2.385))
FORMULA(base2nd, powl(2.385, x) * logl(2.385) * logl(2.385))
FORMULA(cube1, 3 * x * x)
FORMULA(cube0, x *x *x)
FORMULA(cube2nd, 6 * x)
FORMULA(inverse0, 1 / (x * x))
FORMULA(inverse1, -2 / (x * x * x))
FORMULA(inverse2nd, 6 / (x * x * x * x))

typedef struct function_case {
    const char *text;
    real (*f[3])(real);
    double points[6];
} function_case;

static const function_case FUNCTIONS[] = {
    {"exp(x)", {exp0, exp0, exp0}, {-700.5, -3.217, -1e-9, 0.318, 2.385, 700.5}},
    {"log(x)", {log0, log1, log2nd}, {1e-150, 0.318, 0.999, 1.001, 2.385, 1e150}},
    {"sqrt(x)", {sqrt0, sqrt1, sqrt2nd}, {1e-100, 0.318, 0.999, 1.001, 2.385, 1e100}},
    {"sin(x)", {sin0, cos0, sin_negative}, {-1e6, -3.217, -1e-9, 0.318, 2.385, 1e5}},
    {"cos(x)", {cos0, sin_negative, cos_negative}, {-1e6, -3.217, -1e-9, 0.318, 2.385, 1e5}},
    {"tan(x)", {tan0, tan1, tan2nd}, {-4.5, -1.4, -1e-9, 0.318, 1.5, 2.385}},
    {"asin(x)", {asin0, asin1, asin2nd}, {-0.999999, -0.6, -1e-9, 0.318, 0.9, 0.999999}},
    {"acos(x)", {acos0, acos1, acos2nd}, {-0.999999, -0.6, -1e-9, 0.318, 0.9, 0.999999}},
    {"atan(x)", {atan0, atan1, atan2nd}, {-1e10, -3.217, -1e-9, 0.318, 2.385, 1e10}},
    {"sinh(x)", {sinh0, cosh0, sinh0}, {-700.5, -3.217, -1e-9, 0.318, 2.385, 700.5}},
    {"cosh(x)", {cosh0, sinh0, cosh0}, {-700.5, -3.217, -1e-9, 0.318, 2.385, 700.5}},
    {"tanh(x)", {tanh0, tanh1, tanh2nd}, {-340.0, -19.5, -1e-9, 0.318, 2.385, 40.0}},
    {"abs(x)", {abs0, sign0, zero}, {-340.0, -19.5, -1e-9, 0.318, 2.385, 40.0}},
    {"sign(x)", {sign0, zero, zero}, {-340.0, -19.5, -1e-9, 0.318, 2.385, 40.0}},
    {"min(x, 0.4*x^2 + 0.24)", {min0, min1, min2nd}, {-1.3, -0.2, 0.1, 0.41, 0.7, 0.93}},
    {"-max(-x, -(0.4*x^2 + 0.24))", {min0, min1, min2nd}, {-1.3, -0.2, 0.1, 0.41, 0.7, 0.93}},
    {"x^2.385", {pow0, pow1, pow2nd}, {1e-5, 0.318, 0.999, 1.001, 2.385, 1e5}},
    {"pow(x, x)", {self0, self1, self2nd}, {1e-5, 0.1, 0.318, 0.999, 1.001, 2.385}},
    {"mu^x", {base0, base1, base2nd}, {-100.3, -3.217, -1e-9, 0.318, 2.385, 100.3}},
    {"x^3", {cube0, cube1, cube2nd}, {-100.3, -3.217, -1e-9, 0.318, 2.385, 100.3}},
    {"x*x*x", {cube0, cube1, cube2nd}, {-100.3, -3.217, -1e-9, 0.318, 2.385, 100.3}},
    {"x^-2", {inverse0, inverse1, inverse2nd}, {-100.3, -3.217, -1e-9, 0.318, 2.385, 100.3}},
    {"1/(x*x)", {inverse0, inverse1, inverse2nd}, {-100.3, -3.217, -1e-9, 0.318, 2.385, 100.3}},
};

/* Values to 2 ulp, derivatives to a few: they are products of rounded parts. */
static void check_function(hb_context *context, const function_case *c)
{
    static const double ulps[3] = {2, 8, 16};
    hb_graph *graph = make_graph(context, 1);
    hb_node node = parse(graph, c->text, 0);
    for (int order = 0; order < 3; order++, node = derivative(graph, node, 1))
        for (int i = 0; i < 6; i++) {
            const double x = c->points[i], value = value_at(graph, node, &x, T);
            const real exact = c->f[order](x);
            if (!(ulp_distance(value, exact) <= ulps[order]))
                fail_msg("derivative %d of %s at %g is %.17g, not %.17Lg: %.1f ulp (%s)", order,
                         c->text, x, value, exact, ulp_distance(value, exact),
                         hb_context_isa(context));
        }
    hb_graph_destroy(graph);
}

static void functions_and_two_derivatives_are_exact(void **state)
{
    (void)state;
    for (int isa = HB_ISA_SCALAR; isa <= HB_ISA_AVX512; isa++) {
        hb_context *context = make_context((hb_isa)isa, 1);
        if (!context) continue;
        for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++)
            check_function(context, &FUNCTIONS[i]);
        hb_context_destroy(context);
    }
}

static void special_values_behave(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const double tiny[3] = {1e-170, 1e-170, 1};
    const double nothing[3] = {NAN, 1.5, 2.5}, origin[3] = {0, -2, 3}, far[3] = {400, 800, 1e300};
    assert_true(isnan(evaluate(context, "min(x, y)", 3, nothing, T)));
    assert_true(isnan(evaluate(context, "min(y, x)", 3, nothing, T)));
    assert_true(isnan(evaluate(context, "max(x, y)", 3, nothing, T)));
    assert_true(isnan(evaluate(context, "max(y, x)", 3, nothing, T)));
    assert_true(isnan(evaluate(context, "sign(x)", 3, nothing, T)));
    assert_true(isnan(evaluate(context, "log(y)", 3, origin, T)));
    assert_true(evaluate(context, "1/x", 3, origin, T) == INFINITY);
    assert_true(evaluate(context, "log(x)", 3, origin, T) == -INFINITY);
    assert_true(evaluate(context, "pow(y, z)", 3, origin, T) == -8);
    assert_true(evaluate(context, "pow(x, x)", 3, origin, T) == 1);
    assert_true(isnan(evaluate(context, "y^0.5", 3, origin, T)));
    assert_relative(evaluate(context, "(1e150*x)*(1e150*y)", 3, tiny, T), 1e-40, 1e-12);
    hb_graph *graph = make_graph(context, 3);
    hb_node slope = derivative(graph, parse(graph, "tanh(x) + tanh(y) + tanh(z)", 0), 2);
    assert_true(value_at(graph, slope, far, T) == 0); /* no inf/inf far out */
    assert_true(value_at(graph, derivative(graph, slope, 2), far, T) == 0);
    assert_true(value_at(graph, derivative(graph, parse(graph, "abs(x)", 0), 1), origin, T) == 0);
    assert_true(value_at(graph, derivative(graph, parse(graph, "x^2.5", 0), 1), origin, T) == 0);
    hb_graph_destroy(graph);
    hb_context_destroy(context);
}

/* ---- fields ---- */

static void van_der_pol_has_its_jacobian(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_graph *graph = make_graph(context, 2);
    const double mu = 2.385, x = POINT[0], y = POINT[1];
    const hb_node f[2] = {parse(graph, "y", 0), parse(graph, "mu*(1 - x^2)*y - x", 0)};
    const double exact[2][2] = {{0, 1}, {-2 * mu * x * y - 1, mu * (1 - x * x)}};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            assert_near(value_at(graph, derivative(graph, f[i], j + 1), POINT, T), exact[i][j],
                        1e-14);
    hb_node divergence;
    assert_ok(context, hb_graph_add(graph, derivative(graph, f[0], 1), derivative(graph, f[1], 2),
                                    &divergence));
    assert_near(value_at(graph, divergence, POINT, T), mu * (1 - x * x), 1e-14);
    assert_near(value_at(graph, derivative(graph, divergence, 1), POINT, T), -2 * mu * x, 1e-14);
    double constant = NAN;
    assert_true(hb_graph_is_constant(graph, derivative(graph, divergence, 2), &constant));
    assert_true(constant == 0);
    hb_graph_destroy(graph);
    hb_context_destroy(context);
}

static const char CHAIN[] = "x[i] - x[i]^3 + k*(x[i-1] - 2*x[i] + x[i+1])";

/* Row i of the chain's Jacobian; beyond the ends a neighbour is the end itself. */
static double chain_slope(int d, int i, int j, double xi)
{
    const double k = 0.31;
    double slope = i == j ? 1 - 3 * xi * xi - 2 * k : 0;
    if ((i > 1 ? i - 1 : 1) == j) slope += k;
    if ((i < d ? i + 1 : d) == j) slope += k;
    return slope;
}

static void a_chain_has_its_jacobian(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    enum { D = 70 }; /* more variables than dependence bits */
    hb_graph *graph = make_graph(context, D);
    double x[D];
    for (int i = 0; i < D; i++) x[i] = sin(1 + 2.385 * i);
    for (int i = 1; i <= D; i++) {
        const hb_node f = parse(graph, CHAIN, i);
        const double left = x[i > 1 ? i - 2 : 0], right = x[i < D ? i : D - 1], xi = x[i - 1];
        assert_near(value_at(graph, f, x, T), xi - xi * xi * xi + 0.31 * (left - 2 * xi + right),
                    1e-14);
        for (int j = 1; j <= D; j++) {
            const hb_node slope = derivative(graph, f, j);
            assert_near(value_at(graph, slope, x, T), chain_slope(D, i, j, xi), 1e-14);
            if (abs(i - j) > 1) assert_true(graph->nodes[slope].op == HB_OP_CONSTANT);
        }
    }
    hb_graph_destroy(graph);
    hb_context_destroy(context);
}

static int jacobian_nodes(hb_context *context, int d)
{
    hb_graph *graph = make_graph(context, d);
    for (int i = 1; i <= d; i++) {
        const hb_node f = parse(graph, CHAIN, i);
        for (int j = 1; j <= d; j++) derivative(graph, f, j);
    }
    const int count = graph->count;
    hb_graph_destroy(graph);
    return count;
}

static void equal_parts_are_one_node(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const int small = jacobian_nodes(context, 50), large = jacobian_nodes(context, 200);
    assert_in_range(large, 3 * small, 4 * small);
    hb_graph *graph = make_graph(context, 2);
    assert_int_equal(parse(graph, "sin(x+y)*exp(x)", 0), parse(graph, "exp(x) * sin(y+x)", 0));
    assert_int_equal(parse(graph, "x*x*x", 0), parse(graph, "x^3", 0));
    assert_int_equal(parse(graph, "x + x", 0), parse(graph, "2*x", 0));
    assert_int_equal(parse(graph, "x - -y", 0), parse(graph, "y + x", 0));
    assert_int_equal(parse(graph, "1*x + 0*y^2 - 0", 0), parse(graph, "x^1/1", 0));
    assert_int_equal(parse(graph, "3*x - x*2", 0), parse(graph, "x", 0));
    assert_int_equal(parse(graph, "y^0", 0), parse(graph, "1", 0));
    assert_int_equal(parse(graph, "(-4*x)*(2*y)", 0), parse(graph, "(-4*y)*(2*x)", 0));
    assert_int_equal(parse(graph, "-x*-y/mu", 0), parse(graph, "y*x/mu", 0));
    assert_int_not_equal(parse(graph, "x^-1*x^3", 0), parse(graph, "x^2", 0)); /* not at 0 */
    assert_int_not_equal(parse(graph, "x/x", 0), parse(graph, "1", 0));
    assert_int_not_equal(parse(graph, "x^0.5", 0), parse(graph, "sqrt(x)", 0));
    hb_graph_destroy(graph);
    assert_ok(context, hb_graph_create(context, 1, &graph));
    hb_node node = parse(graph, "x^3 - x", 0); /* x, x^3, and their difference; the number 3 */
    assert_int_equal(graph->count, 4);
    node = derivative(graph, node, 1); /* 0, 1, x^2, 3 x^2, 3 x^2 - 1 */
    assert_int_equal(graph->count, 9);
    derivative(graph, node, 1); /* 2, 2 x (in passing), 6, 6 x */
    assert_int_equal(graph->count, 13);
    hb_graph_destroy(graph);
    hb_context_destroy(context);
}

/* ---- random expressions ---- */

/* Writes an expression and evaluates it at the same time, level by level of the grammar, with its
 * own notion of precedence. Arguments stay where functions are smooth and of moderate size. */
typedef struct writer {
    uint64_t state;
    char text[20000];
    size_t length;
    double complex point[5]; /* t, x, y, z, mu */
} writer;

static unsigned roll(writer *w, unsigned sides)
{
    w->state = w->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(w->state >> 33) % sides;
}

static void put(writer *w, const char *text)
{
    const size_t length = strlen(text);
    assert_true(w->length + length < sizeof w->text);
    memcpy(w->text + w->length, text, length + 1);
    w->length += length;
}

static double complex write_sum(writer *w, int depth);

static double complex write_function(writer *w, int depth)
{
    static const char *const open[] = {
        "sin(", "cos(",     "exp(sin(", "log(2.5+cos(",  "sqrt(2.5+sin(", "tanh(",    "atan(",
        "abs(", "min(0.1,", "max(",     "asin(0.6*sin(", "cosh(sin(",     "sinh(cos("};
    static const char *const close[] = {")", ")", "))",     "))", "))", ")", ")",
                                        ")", ")", ",-0.1)", "))", "))", "))"};
    const unsigned which = roll(w, 13);
    put(w, open[which]);
    const double complex a = write_sum(w, depth);
    put(w, close[which]);
    switch (which) {
    case 0: return csin(a);
    case 1: return ccos(a);
    case 2: return cexp(csin(a));
    case 3: return clog(2.5 + ccos(a));
    case 4: return csqrt(2.5 + csin(a));
    case 5: return ctanh(a);
    case 6: return catan(a);
    case 7: return creal(a) < 0 ? -a : a;
    case 8: return creal(a) < 0.1 ? a : 0.1;
    case 9: return creal(a) > -0.1 ? a : -0.1;
    case 10: return casin(0.6 * csin(a));
    case 11: return ccosh(csin(a));
    default: return csinh(ccos(a));
    }
}

static double complex write_primary(writer *w, int depth)
{
    static const char *const names[] = {"t", "x", "y", "z", "mu"};
    const unsigned kind = depth > 0 ? roll(w, 8) : roll(w, 5);
    if (kind < 4) {
        const unsigned which = roll(w, 5);
        put(w, names[which]);
        return w->point[which];
    }
    if (kind == 4) {
        char number[32];
        snprintf(number, sizeof number, "%.3f", 0.05 + 0.001 * roll(w, 2000));
        put(w, number);
        return strtod(number, NULL);
    }
    if (kind == 5) {
        put(w, "(");
        const double complex a = write_sum(w, depth - 1);
        put(w, ")");
        return a;
    }
    return write_function(w, depth - 1);
}

static double complex write_signed(writer *w, int depth)
{
    if (roll(w, 6) == 0) {
        put(w, "-");
        return -write_signed(w, depth);
    }
    const double complex a = write_primary(w, depth);
    const unsigned kind = roll(w, 12);
    if (kind == 0) {
        put(w, "^2");
        return a * a;
    }
    if (kind == 1) {
        put(w, "^3");
        return a * a * a;
    }
    return a;
}

static double complex write_product(writer *w, int depth)
{
    double complex a = write_signed(w, depth);
    for (unsigned n = roll(w, 3); n > 0; n--) {
        if (roll(w, 3)) {
            put(w, "*");
            a *= write_signed(w, depth);
        } else {
            put(w, "/(1.3+");
            const double complex b = write_primary(w, depth - 1);
            put(w, "^2)");
            a /= 1.3 + b * b;
        }
    }
    return a;
}

static double complex write_sum(writer *w, int depth)
{
    double complex a = write_product(w, depth);
    for (unsigned n = roll(w, 3); n > 0; n--) {
        const int plus = roll(w, 2) != 0;
        put(w, plus ? " + " : "-");
        const double complex b = write_product(w, depth);
        a = plus ? a + b : a - b;
    }
    return a;
}

static double complex write_expression(writer *w, uint64_t seed, int variable)
{
    w->state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    w->length = 0;
    const double at[5] = {T, POINT[0] / 2, POINT[1], POINT[2] / 3, 2.385};
    for (int i = 0; i < 5; i++) w->point[i] = at[i] + (i == variable ? 1e-30 * I : 0);
    return write_sum(w, 4);
}

static void random_expressions_agree_with_a_complex_step(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    writer *w = malloc(sizeof *w);
    const double x[3] = {POINT[0] / 2, POINT[1], POINT[2] / 3};
    int tried = 0, folded = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        const double exact = creal(write_expression(w, seed, -1));
        if (!(fabs(exact) < 1e4)) continue;
        hb_graph *graph = make_graph(context, 3);
        const hb_node node = parse(graph, w->text, 0);
        const double value = value_at(graph, node, x, T);
        if (!(fabs(value - exact) <= 1e-11 * (1 + fabs(exact))))
            fail_msg("%s is %.17g, not %.17g", w->text, value, exact);
        for (int v = 0; v <= 3; v++) {
            const double slope = cimag(write_expression(w, seed, v)) / 1e-30;
            const hb_node d = derivative(graph, node, v);
            const double ours = value_at(graph, d, x, T);
            folded += graph->nodes[d].op == HB_OP_CONSTANT;
            if (!(fabs(ours - slope) <= 1e-9 * (1 + fabs(slope))))
                fail_msg("derivative %d of %s is %.17g, not %.17g", v, w->text, ours, slope);
        }
        tried++;
        hb_graph_destroy(graph);
    }
    assert_true(tried > 1500 && folded < 2 * tried);
    free(w);
    hb_context_destroy(context);
}

/* Mixed second derivatives: d/dx of the exact d/dy by central differences, and both orders agree.
 * */
static void second_derivatives_of_random_expressions_agree(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    writer *w = malloc(sizeof *w);
    int tried = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        write_expression(w, seed, -1);
        if (strstr(w->text, "abs") || strstr(w->text, "min") || strstr(w->text, "max")) continue;
        hb_graph *graph = make_graph(context, 3);
        const hb_node node = parse(graph, w->text, 0);
        const hb_node dy = derivative(graph, node, 2), dx = derivative(graph, node, 1);
        const hb_node dxy = derivative(graph, dy, 1), dyx = derivative(graph, dx, 2);
        const double at[3] = {POINT[0] / 2, POINT[1], POINT[2] / 3}, h = 1e-5;
        const double left[3] = {at[0] - h, at[1], at[2]}, right[3] = {at[0] + h, at[1], at[2]};
        const double exact = value_at(graph, dxy, at, T), scale = 1 + fabs(exact);
        const double slope =
            (value_at(graph, dy, right, T) - value_at(graph, dy, left, T)) / (2 * h);
        if (scale < 1e3) {
            if (!(fabs(value_at(graph, dyx, at, T) - exact) <= 1e-9 * scale))
                fail_msg("mixed derivatives of %s differ", w->text);
            if (!(fabs(slope - exact) <= 1e-4 * scale))
                fail_msg("d2/dxdy of %s is %.10g, differences give %.10g", w->text, exact, slope);
            tried++;
        }
        hb_graph_destroy(graph);
    }
    assert_true(tried > 50);
    free(w);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(precedence_is_that_of_mathematics),
        cmocka_unit_test(formulas_agree_with_c),
        cmocka_unit_test(functions_and_two_derivatives_are_exact),
        cmocka_unit_test(special_values_behave),
        cmocka_unit_test(van_der_pol_has_its_jacobian),
        cmocka_unit_test(a_chain_has_its_jacobian),
        cmocka_unit_test(equal_parts_are_one_node),
        cmocka_unit_test(random_expressions_agree_with_a_complex_step),
        cmocka_unit_test(second_derivatives_of_random_expressions_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
