/* Texts of expressions that are wrong, too long or unusual: what is said about them, and where. */
#include "graph_support.h"

#include <locale.h>

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
    {"x*quantity", 1, 3, "unknown name 'quantity' at column 3; give its value as a parameter"},
    {"quantity (x)", 1, 1,
     "unknown name 'quantity' at column 1; it is no variable, function or parameter"},
    {"nu*x", 1, 1,
     "unknown name 'nu' at column 1; did you mean 'mu'? Or give its value as a parameter"},
    {"x5", 3, 1, "no variable 'x5' at column 1; dim is 3, so the variables are x1 to x3"},
    {"1+x0", 3, 3, "no variable 'x0' at column 3"},
    {"1+x01", 3, 3, "no variable 'x01' at column 3"},
    {"x + 1", 5, 1, "'x' at column 1 is a variable only up to 3 dimensions"},
    {"1 + y", 1, 5, "no variable 'y' at column 5; the variables here are x (or x1) and t"},
    {"z", 2, 1, "no variable 'z' at column 1; the variables here are x, y"},
    {"x[j]", 4, 3, "'j' at column 3 has no value here"},
    {"-l*x", 1, 2, "inside sum(l, a, b, ...); or give its value as a parameter"},
    {"i*x", 1, 1, "'i' at column 1 has no value here; it is known in a component"},
    {"x[1.5]", 2, 3, "the index at column 3 is not an integer"},
    {"x[t]", 2, 3, "unexpected 't' at column 3; expected an integer"},
    {"x[1/2]", 2, 4, "unexpected '/' at column 4; expected +, -, * or ']'"},
    {"x[]", 2, 3, "expected an integer"},
    {"x[1", 2, 4, "the expression ends at column 4; expected +, -, * or ']'"},
    {"x[99999999999]", 2, 3, "the integer at column 3 is too large"},
    {"x[99999*99999]", 2, 8, "the integer at column 8 is too large"},
    {"-x[0] + 0.5", 2, 4, "the index at column 4 is 0; dim is 2, so it must be 1 to 2"},
    {"x[ -1]", 1, 4, "is -1"},
    {"2*x[d+1]", 2, 5, "is 3"},
    {"x[3]^2", 2, 3, "is 3"},
    {"sum(j,0,d-1,x[j]^2)", 2, 15, "the index at column 15 is 0; dim is 2, so it must be 1 to 2"},
    {"sum(j,1,2,sum(k,j,3,x[k]))", 2, 23, "is 3"},
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
    {"sum(j,1,99999999,q)", 1, 18,
     "the sums have more than 1000000 terms"}, /* before any is read */
    {"sum(j,1,2000,sum(k,1,600,x))", 1, 26, "the sums have more than 1000000 terms"},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_expressions_are_explained),
        cmocka_unit_test(long_texts_are_shown_in_part),
        cmocka_unit_test(too_many_parts_are_refused),
        cmocka_unit_test(parameters_are_checked),
        cmocka_unit_test(lists_are_cut_at_their_own_commas),
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
