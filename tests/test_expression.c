/* The expression language: values, precedence, exact derivatives, sharing, messages, and programs
 * that give the same bits however the points are cut.
 *
 * The references are C's own functions in long double, closed forms of derivatives, and for random
 * expressions a complex step, f'(x) = Im f(x + i h)/h with h = 1e-30, which has no cancellation. */
#include "support.h"

#include "base/context.h"
#include "base/memory.h"
#include "problem/expression.h"
#include "problem/graph.h"

#include <complex.h>
#include <heatball/problem.h>
#include <locale.h>

static const double POINT[3] = {1.7, -0.6, 2.385};
static const double T = 0.73;

/* ---- helpers ---- */

static hb_graph *make_graph(hb_context *context, int dim)
{
    hb_graph *graph = NULL;
    assert_ok(context, hb_graph_create(context, dim, &graph));
    assert_ok(context, hb_graph_parameter(graph, "mu", 2.385));
    assert_ok(context, hb_graph_parameter(graph, "k", 0.31));
    return graph;
}

static hb_node parse(hb_graph *graph, const char *text, int index)
{
    hb_node node = HB_NO_NODE;
    assert_ok(graph->context, hb_graph_parse(graph, text, "text", index, &node));
    return node;
}

static hb_node derivative(hb_graph *graph, hb_node node, int variable)
{
    hb_node result = HB_NO_NODE;
    assert_ok(graph->context, hb_graph_derivative(graph, node, variable, &result));
    return result;
}

/* The value of a node at one point. */
static double value_at(hb_graph *graph, hb_node node, const double *x, double t)
{
    hb_program *program;
    double value = NAN;
    assert_ok(graph->context, hb_program_compile(graph, 1, &node, &program));
    assert_ok(graph->context, hb_program_run(graph->context, program, 1, x, t, &value));
    hb_program_destroy(program);
    return value;
}

static double evaluate(hb_context *context, const char *text, int dim, const double *x, double t)
{
    hb_graph *graph = make_graph(context, dim);
    double value = value_at(graph, parse(graph, text, 0), x, t);
    hb_graph_destroy(graph);
    return value;
}

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
        {"x[0] + x[7] + x[-2]", x + z + x},
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

/* ---- programs ---- */

static void bits_do_not_depend_on_how_points_are_cut(void **state)
{
    (void)state;
    enum { N = 1003 };
    static const char *const texts[] = {"exp(sin(x*t))/(1.3+y^2) - x^2.5 + tanh(z)*log(2+x)",
                                        "min(x,y)*sign(z) + abs(y)^t", "sin(t)*2", "z"};
    double x[N][3], whole[2][N][4], one[4];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) x[i][k] = 1.1 + sin(1.7 * i + 2.385 * k);
    for (int isa = HB_ISA_SCALAR; isa <= HB_ISA_AVX512; isa++) {
        hb_context *context = make_context((hb_isa)isa, 1);
        if (!context) continue;
        hb_graph *graph = make_graph(context, 3);
        hb_node nodes[4];
        for (int k = 0; k < 4; k++) nodes[k] = parse(graph, texts[k], 0);
        hb_program *program;
        assert_ok(context, hb_program_compile(graph, 4, nodes, &program));
        double(*out)[4] = whole[isa >= HB_ISA_AVX2];
        double before[N][4];
        memcpy(before, out, sizeof before);
        assert_ok(context, hb_program_run(context, program, N, x[0], T, out[0]));
        if (isa == HB_ISA_SSE2 || isa == HB_ISA_AVX512) /* as scalar, as AVX2 */
            assert_memory_equal(out, before, sizeof before);
        for (int i = 0; i < N; i++) {
            assert_ok(context, hb_program_run(context, program, 1, x[i], T, one));
            assert_memory_equal(one, out[i], sizeof one);
        }
        hb_program_destroy(program);
        hb_graph_destroy(graph);
        hb_context_destroy(context);
    }
}

static void programs_run_on_many_threads(void **state)
{
    (void)state;
    enum { N = 500 };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_graph *graph = make_graph(context, 1);
    hb_node node = parse(graph, "exp(-x^2)*sin(t*x)", 0);
    hb_program *program;
    assert_ok(context, hb_program_compile(graph, 1, &node, &program));
    double x[N], out[4][N];
    for (int i = 0; i < N; i++) x[i] = 0.01 * i - 2.385;
#pragma omp parallel for num_threads(4)
    for (int k = 0; k < 4; k++)
        for (int again = 0; again < 50; again++)
            hb_program_run(context, program, N, x, T * (1 + k), out[k]);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < N; i++)
            assert_near(out[k][i], exp(-x[i] * x[i]) * sin(T * (1 + k) * x[i]), 1e-15);
    hb_program_destroy(program);
    hb_graph_destroy(graph);
    hb_context_destroy(context);
}

/* Time and numbers are scalars, also where the 64th variable would share its dependence bit. */
static void scalars_are_told_from_variables(void **state)
{
    (void)state;
    enum { D = 130 };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_graph *graph = make_graph(context, D);
    double x[D];
    for (int i = 0; i < D; i++) x[i] = 0.1 * i - 2.385;
    for (int v = 1; v <= D; v++) {
        char text[64];
        snprintf(text, sizeof text, "sin(t)*x%d + cos(x%d)/t^2", v, v);
        hb_node node = parse(graph, text, 0);
        assert_near(value_at(graph, node, x, T), sin(T) * x[v - 1] + cos(x[v - 1]) / (T * T),
                    4e-15);
        assert_near(value_at(graph, derivative(graph, node, v), x, T),
                    sin(T) - sin(x[v - 1]) / (T * T), 4e-15);
        assert_true(hb_graph_depends(graph, node, 0) && hb_graph_depends(graph, node, v));
        snprintf(text, sizeof text, "x%d", v);
        assert_false(hb_graph_depends(graph, parse(graph, text, 0), 0));
    }
    hb_node constant = parse(graph, "2.385*t + exp(t)", 0);
    assert_near(value_at(graph, constant, NULL, T), 2.385 * T + exp(T), 1e-15 * 4);
    hb_graph_destroy(graph);
    hb_context_destroy(context);
}

/* A hundred thousand terms: no recursion, and a gradient in time. */
static void long_sums_work(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_graph *graph = make_graph(context, 1);
    hb_node node = parse(graph, "sum(j, 1, 50000, cos(j*x)/j^2)", 0);
    const double x = 2.385;
    /* pi^2/6 - pi x/2 + x^2/4 for the infinite series, and its derivative */
    assert_near(value_at(graph, node, &x, T), M_PI * M_PI / 6 - M_PI * x / 2 + x * x / 4, 1e-8);
    assert_near(value_at(graph, derivative(graph, node, 1), &x, T), -M_PI / 2 + x / 2, 1e-4);
    hb_graph_destroy(graph);
    graph = make_graph(context, 1); /* 20000 operations one on top of the other */
    char *text = malloc(200000);
    size_t length = (size_t)sprintf(text, "x");
    for (int i = 0; i < 10000; i++)
        length += (size_t)sprintf(text + length, "*%d/%d", i + 3, i + 2);
    node = parse(graph, text, 0);
    assert_relative(value_at(graph, node, &x, T), x * 10002 / 2, 1e-11);
    assert_relative(value_at(graph, derivative(graph, node, 1), &x, T), 10002.0 / 2, 1e-11);
    free(text);
    hb_graph_destroy(graph);
    hb_context_destroy(context);
}

/* ---- messages ---- */

typedef struct wrong_case {
    const char *text;
    int dim, column;
    const char *message;
} wrong_case;

static const wrong_case WRONG[] = {
    {"", 1, 1, "the expression is empty; expected a number"},
    {"x + (y*) - 1", 2, 8,
     "unexpected ')' at column 8; expected a number, a variable, a function or '('"},
    {"2x", 1, 2, "unexpected 'x' at column 2; expected an operator"},
    {"2 x1", 1, 3, "unexpected 'x1' at column 3; expected an operator"},
    {"(x)(x)", 1, 4, "unexpected '(' at column 4; expected an operator"},
    {"x**2", 1, 2, "unexpected '**' at column 2; use ^ for a power"},
    {"x \xE2\x88\x92 1", 1, 3, "at column 3; use the minus sign of the keyboard, -"},
    {"x + \xCF\x80 + )", 1, 5, "at column 5; use pi"},
    {"x\xC2\xB2", 1, 2, "at column 2; use ^2"},
    {"\xE2\x88\x92x", 1, 1, "at column 1; use the minus sign"},
    {"x = 2", 1, 3, "give only the right-hand side"},
    {"(x", 1, 3, "the expression ends at column 3; expected an operator or ')'"},
    {"x)", 1, 2, "unexpected ')' at column 2; expected an operator"},
    {"x +", 1, 4, "the expression ends at column 4; expected a number"},
    {"x + * 2", 1, 5, "unexpected '*' at column 5; expected a number"},
    {"x^", 1, 3, "the expression ends at column 3"},
    {"sine(x)", 1, 1, "unknown name 'sine' at column 1; did you mean 'sin'?"},
    {"1 + expp(x)", 1, 5, "unknown name 'expp' at column 5; did you mean 'exp'?"},
    {"Mu*x", 1, 1, "unknown name 'Mu' at column 1; did you mean 'mu'?"},
    {"ln(x)", 1, 1, "unknown name 'ln' at column 1; use log"},
    {"e^x", 1, 1, "unknown name 'e' at column 1; use exp(1)"},
    {"x*quantity", 1, 3, "unknown name 'quantity' at column 3; it is no variable"},
    {"x5", 3, 1, "no variable 'x5' at column 1; dim is 3, so the variables are x1 to x3"},
    {"1+x0", 3, 3, "no variable 'x0' at column 3"},
    {"1+x01", 3, 3, "no variable 'x01' at column 3"},
    {"x + 1", 5, 1, "'x' at column 1 is a variable only up to 3 dimensions"},
    {"1 + y", 1, 5, "no variable 'y' at column 5; the variables here are x (or x1) and t"},
    {"z", 2, 1, "no variable 'z' at column 1; the variables here are x, y"},
    {"x[j]", 4, 3, "'j' at column 3 has no value here"},
    {"i*x", 1, 1, "'i' at column 1 has no value here; it is known in a component"},
    {"x[1.5]", 2, 3, "the index at column 3 is not a whole number"},
    {"x[t]", 2, 3, "unexpected 't' at column 3; expected a whole number"},
    {"x[1/2]", 2, 4, "unexpected '/' at column 4; expected +, -, * or ']'"},
    {"x[]", 2, 3, "expected a whole number"},
    {"x[1", 2, 4, "the expression ends at column 4; expected +, -, * or ']'"},
    {"x[99999999999]", 2, 3, "the whole number at column 3 is too large"},
    {"x[99999*99999]", 2, 8, "the whole number at column 8 is too large"},
    {"sin(x", 1, 6, "the expression ends at column 6; expected an operator, ',' or ')'"},
    {"sin x", 1, 5, "unexpected 'x' at column 5; expected '(' after the name of a function"},
    {"sin()", 1, 1, "sin at column 1 takes 1 argument, not 0"},
    {"2*sin(x, 2)", 1, 3, "sin at column 3 takes 1 argument, not 2"},
    {"min(x)", 1, 1, "min at column 1 takes 2 arguments, not 1"},
    {"pow(x,2,3)", 1, 1, "pow at column 1 takes 2 arguments, not 3"},
    {"min(x,)", 1, 7, "unexpected ')' at column 7; expected a number"},
    {"sum(a,1,2,x)", 1, 5, "unexpected 'a' at column 5; expected the name of the sum's index"},
    {"sum(j,1,2)", 1, 10, "a sum is written sum(j, first, last, term)"},
    {"sum(j,1,2,x", 1, 12, "a sum is written sum(j, first, last, term)"},
    {"sum(j,1,2,sum(j,1,2,x))", 1, 15, "the index 'j' at column 15 is already in use"},
    {"sum(j,1,2,sum(l,1,j,q))", 1, 21, "unknown name 'q' at column 21"},
    {"sum(j,2,1,q)", 1, 11, "unknown name 'q' at column 11"},
    {"sum(j,1,9000000,x)", 1, 17, "the sums have more than 1000000 terms"},
    {"1e999", 1, 1, "the number at column 1 is too large"},
    {"x @ 2", 1, 3, "unexpected '@' at column 3"},
    {"x, 2", 1, 2, "unexpected ',' at column 2"},
    {"x ? 1", 1, 3, "unexpected '?' at column 3"},
};

/* The last line holds the caret, two blanks in; the line before shows the text. */
static void check_caret(const char *message, const char *text, int column)
{
    const char *caret = strrchr(message, '\n');
    assert_non_null(caret);
    assert_int_equal(strspn(caret + 1, " "), (size_t)column + 1);
    assert_string_equal(caret + 1 + strspn(caret + 1, " "), "^");
    assert_memory_equal(caret - strlen(text), text, strlen(text));
}

static void wrong_expressions_are_explained(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        const wrong_case *c = &WRONG[i];
        hb_graph *graph = make_graph(context, c->dim);
        hb_node node = HB_NO_NODE;
        assert_fails(context, hb_graph_parse(graph, c->text, "drift component 2", 0, &node),
                     HB_ERROR_ARGUMENT, c->message);
        const char *message = hb_context_message(context);
        assert_memory_equal(message, "drift component 2: ", 19);
        check_caret(message, c->text, c->column);
        hb_graph_destroy(graph);
    }
    hb_context_destroy(context);
}

static void long_texts_are_shown_in_part(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_graph *graph = make_graph(context, 1);
    char text[1000];
    hb_node node;
    memset(text, '1', 300);
    strcpy(text + 300, " + q + ");
    memset(text + 307, '2', 300);
    text[607] = 0;
    assert_fails(context, hb_graph_parse(graph, text, "text", 0, &node), HB_ERROR_ARGUMENT,
                 "unknown name 'q' at column 304");
    const char *caret = strrchr(hb_context_message(context), '\n');
    const char *line = caret;
    while (*--line != '\n') continue;
    assert_int_equal(line[strspn(caret + 1, " ") + 1], 'q');
    assert_true(caret - line < 80);
    memset(text, '(', 300);
    assert_fails(context, hb_graph_parse(graph, text, "text", 0, &node), HB_ERROR_ARGUMENT,
                 "nested too deeply at column 201; at most 200 levels are allowed");
    memset(text, '1', 450);
    assert_fails(context, hb_graph_parse(graph, text, "text", 0, &node), HB_ERROR_ARGUMENT,
                 "digits; at most");
    memset(text, 0x80, 900);
    text[900] = 0;
    assert_fails(context, hb_graph_parse(graph, text, "text", 0, &node), HB_ERROR_ARGUMENT,
                 "at column 1; expected a number");
    assert_fails(
        context, hb_graph_parse(graph, "x +\n\t* 2", "text", 0, &node), HB_ERROR_ARGUMENT,
        "at column 6; expected a number, a variable, a function or '('\n  x +  * 2\n       ^");
    assert_fails(context, hb_graph_parse(graph, NULL, "text", 0, &node), HB_ERROR_ARGUMENT,
                 "there is no text");
    hb_graph_destroy(graph);
    hb_context_destroy(context);
}

static void too_many_parts_are_refused(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_graph *graph = make_graph(context, 1);
    hb_node node;
    assert_fails(
        context,
        hb_graph_parse(graph, "sum(j,1,1000,sum(l,1,900,sin(x+j*1000+l)))", "text", 0, &node),
        HB_ERROR_ARGUMENT, "the expressions have more than 1000000 different parts");
    hb_graph_destroy(graph);
    assert_fails(context, hb_graph_create(context, 0, &graph), HB_ERROR_ARGUMENT,
                 "dim is 0; it must be 1 to 1000000");
    assert_null(graph);
    hb_context_destroy(context);
}

static void parameters_are_checked(void **state)
{
    (void)state;
    static const char *const reserved[] = {"x", "x1", "x9", "y",   "t",  "pi",
                                           "d", "i",  "j",  "sin", "sum"};
    static const char *const malformed[] = {"", "2a", "a b", "a-b", "\xCF\x80"};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_graph *graph = make_graph(context, 2);
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        assert_fails(context, hb_graph_parameter(graph, reserved[i], 1), HB_ERROR_ARGUMENT,
                     "it is a variable, a function or an index");
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        assert_fails(context, hb_graph_parameter(graph, malformed[i], 1), HB_ERROR_ARGUMENT,
                     "a name is letters, digits and _");
    assert_fails(context, hb_graph_parameter(graph, "mu", 1), HB_ERROR_ARGUMENT, "given twice");
    assert_fails(context, hb_graph_parameter(graph, "nu", NAN), HB_ERROR_ARGUMENT, "finite");
    assert_ok(context, hb_graph_parameter(graph, "x_1", 1));
    assert_ok(context, hb_graph_parameter(graph, "z", 1.5)); /* no variable in the plane */
    assert_near(value_at(graph, parse(graph, "z*x", 0), POINT, T), 1.5 * POINT[0], 0);
    hb_node node;
    assert_fails(context, hb_graph_derivative(graph, parse(graph, "x", 0), 3, &node),
                 HB_ERROR_ARGUMENT, "variable is 3; it must be 0 (t) or 1 to 2");
    hb_graph_destroy(graph);
    hb_context_destroy(context);
}

static void lists_are_cut_at_their_own_commas(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    static const char *const expected[] = {"y", "min(x, y)*sum(j,1,2,x[j])", "", "-x "};
    int count = 0;
    char *pieces = NULL;
    assert_ok(context,
              hb_graph_split(context, " y,  min(x, y)*sum(j,1,2,x[j]), , -x ", &count, &pieces));
    assert_int_equal(count, 4);
    const char *piece = pieces;
    for (int i = 0; i < 4; i++, piece += strlen(piece) + 1) assert_string_equal(piece, expected[i]);
    hb_release(context, pieces);
    assert_ok(context, hb_graph_split(context, "", &count, &pieces));
    assert_int_equal(count, 1);
    assert_string_equal(pieces, "");
    hb_release(context, pieces);
    hb_context_destroy(context);
}

/* Numbers have a decimal point whatever the user's language. */
static void numbers_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
    for (size_t i = 0; i < 3 && !setlocale(LC_NUMERIC, names[i]); i++) continue;
    assert_true(evaluate(context, "2.385", 1, POINT, T) == 2385 / 1000.0);
    setlocale(LC_NUMERIC, "C");
    hb_context_destroy(context);
}

/* ---- the public calls, and memory ---- */

static void public_expressions_work(void **state)
{
    (void)state;
    enum { N = 20011 };
    static const char *const names[] = {"a", "b"};
    const double values[] = {2.385, -0.5};
    hb_context *context = make_context(HB_ISA_AUTO, 3);
    hb_expression *e, *slope, *curvature, *none;
    assert_ok(context, hb_expression_parse(context, "a*x^2*y + b*t^2", 2, 2, names, values, &e));
    assert_ok(context, hb_expression_derivative(context, e, 1, &slope));
    assert_ok(context, hb_expression_derivative(context, slope, 1, &curvature));
    double(*x)[2] = malloc(N * sizeof *x), *out = malloc(3 * N * sizeof *out);
    for (int i = 0; i < N; i++) {
        x[i][0] = 0.001 * i - 2.385;
        x[i][1] = cos(i);
    }
    assert_ok(context, hb_expression_evaluate(context, e, N, x[0], T, out));
    hb_expression_destroy(e); /* derivatives live on */
    assert_ok(context, hb_expression_evaluate(context, slope, N, x[0], T, out + N));
    assert_ok(context, hb_expression_evaluate(context, curvature, N, x[0], T, out + 2 * N));
    for (int i = 0; i < N; i++) {
        assert_near(out[i], 2.385 * x[i][0] * x[i][0] * x[i][1] - 0.5 * T * T, 1e-12);
        assert_near(out[N + i], 2 * 2.385 * x[i][0] * x[i][1], 1e-13);
        assert_near(out[2 * N + i], 2 * 2.385 * x[i][1], 1e-14);
    }
    assert_ok(context, hb_expression_evaluate(context, slope, 0, NULL, T, NULL));
    assert_fails(context, hb_expression_evaluate(context, slope, 1, NULL, T, out),
                 HB_ERROR_ARGUMENT, "NULL");
    assert_fails(context, hb_expression_derivative(context, slope, 3, &none), HB_ERROR_ARGUMENT,
                 "variable is 3");
    assert_null(none);
    assert_fails(context, hb_expression_parse(context, "x+", 2, 0, NULL, NULL, &none),
                 HB_ERROR_ARGUMENT, "expression: the expression ends");
    assert_null(none);
    assert_fails(context, hb_expression_parse(context, "x", 2, 1, NULL, NULL, &none),
                 HB_ERROR_ARGUMENT, "n_parameters is 1");
    hb_expression_destroy(NULL);
    hb_expression_destroy(slope);
    hb_expression_destroy(curvature);
    free(x);
    free(out);
    hb_context_destroy(context);
}

/* An allocator that counts, and fails when its allowance is used up. */
typedef struct counter {
    int live, allowance;
} counter;

static void *counting_allocate(void *user, size_t bytes)
{
    counter *c = user;
    if (c->allowance == 0) return NULL;
    c->allowance--;
    c->live++;
    return malloc(bytes);
}

static void counting_release(void *user, void *memory)
{
    ((counter *)user)->live--;
    free(memory);
}

/* Enough of everything that every array grows at least once. */
static hb_status use_all(hb_context *context)
{
    static const char *const names[] = {"a"};
    const double value = 2.385;
    double x[100] = {0.5}, out;
    hb_expression *e = NULL, *slope = NULL;
    hb_status status = hb_expression_parse(
        context, "sum(j,1,d,sin(a*x[j]))*sum(l,1,d,cos(x[l])) + sum(m,1,80,sin(m*t))*exp(x1)", 100,
        1, names, &value, &e);
    if (status == HB_OK) status = hb_expression_derivative(context, e, 7, &slope);
    if (status == HB_OK) status = hb_expression_evaluate(context, slope, 1, x, T, &out);
    if (status == HB_OK) /* sum cos = 99 + cos 0.5, sum sin = sin(0.5 a), x7 = 0 */
        assert_near(out, 2.385 * (99 + cos(0.5)), 1e-11);
    hb_expression_destroy(e);
    hb_expression_destroy(slope);
    return status;
}

static void no_memory_is_reported_and_nothing_leaks(void **state)
{
    (void)state;
    for (int allowance = 1; allowance < 300; allowance++) {
        counter c = {0, allowance};
        hb_settings settings;
        hb_settings_default(&settings);
        settings.allocate = counting_allocate;
        settings.release = counting_release;
        settings.allocator_user = &c;
        hb_context *context = NULL;
        assert_int_equal(hb_context_create(&context, &settings), HB_OK);
        const hb_status status = use_all(context);
        assert_int_equal(c.live, 1);
        if (status != HB_OK) {
            assert_int_equal(status, HB_ERROR_MEMORY);
            assert_non_null(strstr(hb_context_message(context), "memory"));
        }
        hb_context_destroy(context);
        if (status == HB_OK) {
            assert_true(allowance > 20);
            return;
        }
    }
    fail_msg("the calls never succeeded");
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
        cmocka_unit_test(bits_do_not_depend_on_how_points_are_cut),
        cmocka_unit_test(programs_run_on_many_threads),
        cmocka_unit_test(scalars_are_told_from_variables),
        cmocka_unit_test(long_sums_work),
        cmocka_unit_test(wrong_expressions_are_explained),
        cmocka_unit_test(long_texts_are_shown_in_part),
        cmocka_unit_test(too_many_parts_are_refused),
        cmocka_unit_test(parameters_are_checked),
        cmocka_unit_test(lists_are_cut_at_their_own_commas),
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
        cmocka_unit_test(public_expressions_work),
        cmocka_unit_test(no_memory_is_reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
