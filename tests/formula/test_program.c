/* Programs, which give the same bits however the points and their times are cut; the public calls for
 * one expression; and what happens when memory runs out. */
#include "graph_support.h"

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

/* A time for each point, in programs with t, without x, and without both. */
static void points_may_have_a_time_each(void **state)
{
    (void)state;
    enum { N = 531 };
    static const char *const texts[] = {"x1 - t", "x2*sin(t) + exp(-t)*x1^3", "1 + t^2", "2.385",
                                        "x1*x2"};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_graph *graph = make_graph(context, 2);
    double x[N][2], t[N], out[N], one;
    for (int i = 0; i < N; i++) {
        x[i][0] = sin(i + 0.3);
        x[i][1] = cos(1.7 * i);
        t[i] = 0.01 * ((37 * i) % 101);
    }
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        const hb_node node = parse(graph, texts[k], 0);
        hb_program *program;
        assert_ok(context, hb_program_compile(graph, 1, &node, &program));
        assert_ok(context, hb_program_run_times(context, program, N, x[0], t, 1, out));
        for (int i = 0; i < N; i++) {
            assert_ok(context, hb_program_run(context, program, 1, x[i], t[i], &one));
            assert_memory_equal(&one, out + i, sizeof one);
        }
        if (k == 0) assert_near(out[5], x[5][0] - t[5], 1e-15);
        hb_program_destroy(program);
    }
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

/* ---- the public calls, and memory ---- */

static void public_expressions_work(void **state)
{
    (void)state;
    enum { N = 20011 };
    static const char *const names[] = {"a", "b"};
    const double values[] = {2.385, -0.5};
    hb_context *context = make_context(HB_ISA_AUTO, 3);
    hb_expression *e, *slope, *curvature, *none;
    assert_ok(context, hb_expression_parse(context, 2, 2, "a*x^2*y + b*t^2", names, values, &e));
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
    assert_fails(context, hb_expression_parse(context, 2, 0, "x+", NULL, NULL, &none),
                 HB_ERROR_ARGUMENT, "expression: the expression ends");
    assert_null(none);
    assert_fails(context, hb_expression_parse(context, 2, 1, "x", NULL, NULL, &none),
                 HB_ERROR_ARGUMENT, "n_parameters is 1");
    hb_expression_destroy(NULL);
    hb_expression_destroy(slope);
    hb_expression_destroy(curvature);
    free(x);
    free(out);
    hb_context_destroy(context);
}

/* Enough of everything that every array grows at least once. */
static hb_status use_all(hb_context *context)
{
    static const char *const names[] = {"a"};
    const double value = 2.385;
    double x[100] = {0.5}, out;
    hb_expression *e = NULL, *slope = NULL;
    hb_status status = hb_expression_parse(
        context, 100, 1,
        "sum(j,1,d,sin(a*x[j]))*sum(l,1,d,cos(x[l])) + sum(m,1,80,sin(m*t))*exp(x1)", names, &value,
        &e);
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
        memory_count c = {0, allowance};
        hb_context *context = counting_context(&c);
        assert_non_null(context);
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
        cmocka_unit_test(bits_do_not_depend_on_how_points_are_cut),
        cmocka_unit_test(programs_run_on_many_threads),
        cmocka_unit_test(scalars_are_told_from_variables),
        cmocka_unit_test(points_may_have_a_time_each),
        cmocka_unit_test(long_sums_work),
        cmocka_unit_test(public_expressions_work),
        cmocka_unit_test(no_memory_is_reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
