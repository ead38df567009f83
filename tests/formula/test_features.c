/* Narrow features of formulas: places and widths that the formulas show, none where they are smooth. */
#include "graph_support.h"

#include "base/linear_algebra.h"
#include "formula/features.h"

static const hb_interval ALL = {-INFINITY, INFINITY};

/* The features of a formula in x along x on [low, high]. */
static hb_features find(hb_context *context, const char *text, double low, double high)
{
    hb_graph *graph = make_graph(context, 1);
    const hb_node node = parse(graph, text, 0);
    const hb_interval x = {low, high};
    hb_features features;
    assert_ok(context,
              hb_features_find(context, graph, 1, &node, 1, &x, (hb_interval){0, 1}, &features));
    for (int k = 0; k < features.n; k++) assert_true(features.borders[k] < features.borders[k + 1]);
    hb_graph_destroy(graph);
    return features;
}

/* The length of the cell that holds s, the largest step that sees all; infinite outside. */
static double width_at(const hb_features *features, double s)
{
    const int k = features->n ? hb_sorted_until(features->n + 1, features->borders, s) : 0;
    return k < 1 || k > features->n ? INFINITY : features->borders[k] - features->borders[k - 1];
}

static double smallest(const hb_features *features)
{
    double width = INFINITY;
    for (int k = 0; k < features->n; k++)
        width = fmin(width, features->borders[k + 1] - features->borders[k]);
    return width;
}

/* Each text has %g, the width, twice at most, and its feature at `place`. */
static void features_of_known_width_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double place;
    } cases[] = {{"exp(-((x-2.3)/%g)^2)", 2.3},
                 {"-x-18*(x-2.3)/0.01^2*exp(-((x-2.3)/%g)^2)", 2.3},
                 {"1/(%g^2+(x+4.7)^2)", -4.7},
                 {"sqrt(x^2+%g^2)", 0},
                 {"1-tanh((x-0.4)/%g)^2", 0.4},
                 {"tanh((x-7e3)/%g)", 7e3},
                 {"atan((x-1)/%g)", 1},
                 {"1/(1+exp((x-3)/%g))", 3},
                 {"exp((x-3)/%g)/(1+exp((x-3)/%g))^2", 3},
                 {"1/cosh((x-12345)/%g)", 12345},
                 {"log(1+exp(-((x+0.1)/%g)^2))", -0.1},
                 {"exp(-abs(x-0.7)/%g)", 0.7},
                 {"max(0, 1-abs(x-0.7)/%g)", 0.7},
                 {"abs(0.25+((x-1)/%g)^2)^-3.3", 1},
                 {"exp(-(x-3)/%g-exp(-(x-3)/%g))", 3}};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (double width = 0.1; width > 5e-6; width /= 10) {
            char text[200];
            snprintf(text, sizeof text, cases[i].text, width, width);
            hb_features near = find(context, text, -20000, 20000),
                        far = find(context, text, -INFINITY, INFINITY);
            if (!near.complete || !far.complete || near.n > 600 || far.n > 800) {
                print_error("%s: complete %d %d, %d %d cells\n", text, near.complete, far.complete,
                            near.n, far.n);
                fail();
            }
            const double seen =
                fmax(width_at(&near, cases[i].place), width_at(&far, cases[i].place));
            if (seen > 10 * width || smallest(&near) < width / 1e4) {
                print_error("%s: a cell of %g\n", text, seen);
                fail();
            }
            const double next = hb_features_next(&near, cases[i].place, 10 * width);
            assert_true(next - cases[i].place < 10 * width);
            assert_true(hb_features_next(&near, 19000, 10 * width) > 1e4);
            hb_features_destroy(context, &near);
            hb_features_destroy(context, &far);
        }
    hb_context_destroy(context);
}

static void two_jumps_that_are_close_are_two_borders(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_features f = find(context, "sign(x-2.3)*sign(x-2.30001)", -INFINITY, INFINITY);
    assert_true(f.complete && f.n < 200);
    assert_true(fabs(hb_features_next(&f, 2.2999, 1.1e-5) - 2.3) < 1e-12);
    assert_true(width_at(&f, 2.300005) <= 1.0001e-5);
    hb_features_destroy(context, &f);
    hb_context_destroy(context);
}

static void smooth_formulas_have_no_narrow_cells(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "x-x^3",   "exp(-x^2)",   "-x*exp(-x^2/2)", "-x/(1+x^2)",   "3+sin(x)",
        "tanh(x)", "sqrt(1+x^2)", "-2*x*(x^2-1)",   "x*log(1+x^2)", "sin(1e6*x)"};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hb_features f = find(context, texts[i], -10, 10);
        assert_true(f.complete);
        if (smallest(&f) < 20.0 / 32) {
            print_error("%s: a cell of %g\n", texts[i], smallest(&f));
            fail();
        }
        hb_features_destroy(context, &f);
    }
    hb_context_destroy(context);
}

static void time_of_a_pulse_is_found_for_all_x(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_graph *graph = make_graph(context, 4);
    hb_node nodes[4];
    for (int i = 0; i < 4; i++)
        nodes[i] = parse(graph, "x[i]-x[i]^3+1e4*exp(-((t-0.3)/1e-4)^2)+exp(-x[i]^2)", i + 1);
    hb_features f;
    assert_ok(context,
              hb_features_find(context, graph, 4, nodes, 0, NULL, (hb_interval){0, 20}, &f));
    assert_true(f.complete && f.n < 100);
    assert_true(width_at(&f, 0.3) < 1e-3);
    assert_true(width_at(&f, 0.6) > 0.1);
    assert_true(hb_features_next(&f, 0, 1e-3) < 0.3 && hb_features_next(&f, 0, 1e-3) > 0.298);
    assert_true(isinf(width_at(&f, 21)) && isinf(hb_features_next(&f, 20, 1)));
    hb_features_destroy(context, &f);
    hb_graph_destroy(graph);
    hb_context_destroy(context);
}

static void what_cannot_be_searched_is_said(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_graph *graph = make_graph(context, 1);
    const hb_interval x = {-5, 5};
    const hb_node moving = parse(graph, "exp(-((x-5*t)/1e-4)^2)", 0),
                  free_x = parse(graph, "exp(-t*x)", 0), still = parse(graph, "abs(x-t)", 0);
    hb_features f;
    assert_ok(context,
              hb_features_find(context, graph, 1, &moving, 0, &x, (hb_interval){0, 1}, &f));
    assert_false(f.complete);
    assert_true(f.n < 40000);
    hb_features_destroy(context, &f);
    assert_ok(context,
              hb_features_find(context, graph, 1, &free_x, 0, &ALL, (hb_interval){0, 1}, &f));
    assert_false(f.complete);
    hb_features_destroy(context, &f);
    assert_ok(context,
              hb_features_find(context, graph, 1, &still, 0, &ALL, (hb_interval){0, 1}, &f));
    assert_true(f.complete && f.n == 1);
    hb_features_destroy(context, &f);
    f = find(context, "exp(sin(1/x)*1e4)", -1, 1); /* without end at 0 */
    assert_false(f.complete);
    hb_features_destroy(context, &f);
    hb_graph_destroy(graph);
    hb_context_destroy(context);
}

/* exp(-(s/w)^2) on [-6, 6]^2 with s = x + y - 1, on whose cells (s/w)^2 may change by 8 or so: sides of about w. */
static void boxes_are_halved_down_to_the_narrowest_part(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int least, most;
    } cases[] = {{"x^4-x*y+y^2", 0, 0},
                 {"exp(-x^2-x*y-y^2)", 2, 6},
                 {"exp(-((x+y-1)/0.1)^2)", 6, 9},
                 {"exp(-((x+y-1)/0.02)^2)", 8, 10},
                 {"exp(-((x+y-1)/1e-3)^2)", 11, 11},
                 {"exp(-((x^2+y^2-1)/1e-3)^2)", 11, 11},
                 {"exp(-sqrt(x^2+y^2))", 1, 6},
                 {"tanh(1e5*(x-y))", 11, 11}};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const hb_interval box[2] = {{-6, 6}, {-6, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_graph *graph = make_graph(context, 2);
        const hb_node node = parse(graph, cases[i].text, 0);
        int depth;
        assert_ok(context, hb_features_depth(context, graph, 1, &node, box, 10, &depth));
        if (depth < cases[i].least || depth > cases[i].most)
            fail_msg("%s: %d halvings", cases[i].text, depth);
        hb_graph_destroy(graph);
    }
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_of_known_width_are_found),
        cmocka_unit_test(two_jumps_that_are_close_are_two_borders),
        cmocka_unit_test(smooth_formulas_have_no_narrow_cells),
        cmocka_unit_test(time_of_a_pulse_is_found_for_all_x),
        cmocka_unit_test(boxes_are_halved_down_to_the_narrowest_part),
        cmocka_unit_test(what_cannot_be_searched_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
