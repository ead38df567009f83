/* The parser: from text to nodes, by recursive descent.
 *
 *     sum      = product { (+|-) product }
 *     product  = signed { (*|/) signed }
 *     signed   = (+|-) signed | power
 *     power    = primary [ ^ signed ]                so -x^2 = -(x^2), 2^3^2 = 2^(3^2), 2^-1 = 1/2
 *     primary  = number | name | function ( sum {, sum} ) | x [ whole ] | ( sum )
 *              | sum ( name , whole , whole , sum )
 *     whole    = integers, d, indices, + - * and parentheses
 * The term of a sum( ) is read again for each value of its index; terms are added in pairs, pairs
 * of pairs and so on. An index that is computed from i, j, k, l or m and lies outside 1 .. d means
 * the nearest end.
 * Must reproduce: -2^2 = -4, 2^3^2 = 512, 8/4/2 = 1, sum(j,1,4,j^2) = 30. */
#include "formula/parse_expression.h"
#include "base/context.h"
#include "base/memory.h"
#include "file/writer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DEPTH = 200,
    MAX_TERMS = 1000000,
    MAX_WHOLE = 1000000000, /* whole numbers stay far below overflow: products of two fit a long */
    TREE = 32               /* levels of pairs in a sum */
};

static const char operand[] = "a number, a variable, a function or '('";

static hb_status parse_sum(hb_parser *p, hb_node *out);
static hb_status parse_whole(hb_parser *p, long *out);

/* ---- characters ---- */

static char parse_peek(hb_parser *p)
{
    while (isspace((unsigned char)p->text[p->at])) p->at++;
    return p->text[p->at];
}

static int parse_accept(hb_parser *p, char c)
{
    if (parse_peek(p) != c) return 0;
    p->at++;
    return 1;
}

static hb_status parse_expect(hb_parser *p, char c, const char *wanted)
{
    return parse_accept(p, c) ? HB_OK : hb_parser_unexpected(p, wanted);
}

static size_t name_length(const char *text)
{
    size_t length = 0;
    if (!isalpha((unsigned char)*text) && *text != '_') return 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_') length++;
    return length;
}

static hb_status parse_enter(hb_parser *p)
{
    if (p->depth < MAX_DEPTH) {
        p->depth++;
        return HB_OK;
    }
    return hb_parser_fail(p, p->at, "nested too deeply " HB_PLACE "; at most %d levels are allowed",
                          MAX_DEPTH);
}

/* ---- numbers ---- */

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

static size_t number_length(const char *text)
{
    size_t length = count_digits(text), fraction = 0;
    if (text[length] == '.') {
        fraction = count_digits(text + length + 1);
        if (length + fraction == 0) return 0;
        length += 1 + fraction;
    }
    if (length && (text[length] == 'e' || text[length] == 'E')) {
        const size_t sign = text[length + 1] == '-' || text[length + 1] == '+';
        const size_t exponent = count_digits(text + length + 1 + sign);
        if (exponent) length += 1 + sign + exponent;
    }
    return length;
}

/* strtod alone would also take "0x1p3", "inf" and a decimal comma. */
static hb_status parse_number(hb_parser *p, size_t length, double *value)
{
    char copy[400];
    if (length >= sizeof copy)
        return hb_parser_fail(p, p->at,
                              "the number " HB_PLACE " has %zu digits; at most %zu are allowed",
                              length, sizeof copy - 1);
    memcpy(copy, p->text + p->at, length);
    copy[length] = 0;
    locale_t locale = hb_locale_enter();
    *value = strtod(copy, NULL);
    hb_locale_leave(locale);
    if (!isfinite(*value))
        return hb_parser_fail(p, p->at,
                              "the number " HB_PLACE " is too large; the largest is 1.8e308");
    p->at += length;
    return HB_OK;
}

/* ---- whole numbers: indices and limits ---- */

static const hb_scope *find_index(const hb_parser *p, const char *name, size_t length)
{
    for (int i = p->n_scope - 1; i >= 0; i--)
        if (length == 1 && p->scope[i].name == *name) return &p->scope[i];
    return NULL;
}

static hb_status check_whole(const hb_parser *p, size_t place, long value)
{
    if (labs(value) <= MAX_WHOLE) return HB_OK;
    return hb_parser_fail(p, place, "the integer " HB_PLACE " is too large; at most %d is allowed",
                          MAX_WHOLE);
}

static hb_status parse_whole_name(hb_parser *p, size_t length, long *out)
{
    const char *name = p->text + p->at;
    const hb_scope *index = find_index(p, name, length);
    if (index) {
        *out = index->value;
        p->indexed = 1;
    } else if (length == 1 && *name == 'd') {
        *out = p->graph->dim;
    } else if (length == 1 && strchr("ijklm", *name) &&
               !hb_graph_find_parameter(p->graph, name, 1)) {
        return hb_parser_unknown(p, p->at, length);
    } else {
        return hb_parser_unexpected(p, "an integer made of numbers, d, indices, + - *");
    }
    p->at += length;
    return HB_OK;
}

static hb_status parse_whole_number(hb_parser *p, long *out)
{
    const size_t place = p->at, length = count_digits(p->text + p->at);
    const char after = p->text[p->at + length];
    if (after == '.' || after == 'e' || after == 'E')
        return hb_parser_fail(p, place, "the index " HB_PLACE " is not an integer");
    if (length > 10) return check_whole(p, place, MAX_WHOLE + 1L);
    *out = strtol(p->text + place, NULL, 10);
    p->at += length;
    return check_whole(p, place, *out);
}

static hb_status parse_whole_primary(hb_parser *p, long *out)
{
    HB_TRY(parse_enter(p));
    const char c = parse_peek(p);
    const size_t length = name_length(p->text + p->at);
    if (parse_accept(p, '-')) {
        HB_TRY(parse_whole_primary(p, out));
        *out = -*out;
    } else if (parse_accept(p, '(')) {
        HB_TRY(parse_whole(p, out));
        HB_TRY(parse_expect(p, ')', "+, -, * or ')'"));
    } else if (isdigit((unsigned char)c)) {
        HB_TRY(parse_whole_number(p, out));
    } else if (length) {
        HB_TRY(parse_whole_name(p, length, out));
    } else {
        return hb_parser_unexpected(p, "an integer made of numbers, d, indices, + - *");
    }
    p->depth--;
    return HB_OK;
}

static hb_status parse_whole_product(hb_parser *p, long *out)
{
    HB_TRY(parse_whole_primary(p, out));
    while (parse_peek(p) == '*') {
        const size_t place = p->at++;
        long factor;
        HB_TRY(parse_whole_primary(p, &factor));
        *out *= factor;
        HB_TRY(check_whole(p, place, *out));
    }
    return HB_OK;
}

static hb_status parse_whole(hb_parser *p, long *out)
{
    HB_TRY(parse_whole_product(p, out));
    while (parse_peek(p) == '+' || parse_peek(p) == '-') {
        const size_t place = p->at++;
        long term;
        HB_TRY(parse_whole_product(p, &term));
        *out += p->text[place] == '+' ? term : -term;
        HB_TRY(check_whole(p, place, *out));
    }
    return HB_OK;
}

/* ---- names ---- */

static hb_status parse_built(hb_parser *p, hb_node node, hb_node *out)
{
    return hb_graph_finish(p->graph, node, out);
}

/* The index is one letter. */
static int is_alone(const hb_parser *p, size_t place)
{
    const char *after = p->text + place + 1;
    while (isspace((unsigned char)*after)) after++;
    return *after == ']';
}

/* x[whole], after the x. x[j] at j = 0 is the habit of other languages, x[j-1] a neighbour. */
static hb_status parse_element(hb_parser *p, hb_node *out)
{
    const int dim = p->graph->dim;
    long index;
    p->at++;
    p->indexed = 0;
    parse_peek(p);
    const size_t place = p->at;
    HB_TRY(parse_whole(p, &index));
    HB_TRY(parse_expect(p, ']', "+, -, * or ']'"));
    const int neighbour = p->indexed && !is_alone(p, place);
    if ((index < 1 || index > dim) && !neighbour && !p->skips)
        return hb_parser_fail(p, place,
                              "the index " HB_PLACE " is %ld; dim is %d, so it must be 1 to %d",
                              index, dim, dim);
    if (index < 1) index = 1;
    if (index > dim) index = dim;
    return parse_built(p, hb_build_variable(p->graph, (int)index), out);
}

/* Sums in pairs: level k holds the sum of 2^k terms, or nothing. */
typedef struct pairs {
    hb_node level[TREE];
    int filled[TREE];
} pairs;

static void pairs_add(hb_graph *graph, pairs *s, hb_node term)
{
    int k = 0;
    for (; s->filled[k]; k++) {
        term = hb_build_add(graph, s->level[k], term);
        s->filled[k] = 0;
    }
    s->level[k] = term;
    s->filled[k] = 1;
}

static hb_node pairs_total(hb_graph *graph, const pairs *s)
{
    hb_node sum = hb_build_constant(graph, 0);
    for (int k = 0; k < TREE; k++)
        if (s->filled[k]) sum = hb_build_add(graph, s->level[k], sum);
    return sum;
}

/* The terms from index->value to last; the text of the term is read once for each. An empty sum
 * reads it once too, to find its end. */
static hb_status parse_terms(hb_parser *p, hb_scope *index, long last, hb_node *out)
{
    pairs sum;
    memset(&sum, 0, sizeof sum);
    const size_t start = p->at;
    const int empty = last < index->value;
    p->skips += empty;
    do {
        hb_node term;
        p->at = start;
        if (p->terms++ >= MAX_TERMS - (empty ? 0 : last - index->value))
            return hb_parser_fail(p, start, "the sums have more than %d terms; shorten them",
                                  MAX_TERMS);
        HB_TRY(parse_sum(p, &term));
        if (!empty) pairs_add(p->graph, &sum, term);
    } while (index->value++ < last);
    p->skips -= empty;
    return parse_built(p, pairs_total(p->graph, &sum), out);
}

static hb_status parse_index_name(hb_parser *p, hb_scope *index)
{
    parse_peek(p);
    const char *name = p->text + p->at;
    if (name_length(name) != 1 || !strchr("ijklm", *name))
        return hb_parser_unexpected(p, "the name of the sum's index: i, j, k, l or m");
    if (find_index(p, name, 1))
        return hb_parser_fail(
            p, p->at, "the index '%c' " HB_PLACE " is already in use; take another name", *name);
    index->name = *name;
    p->at++;
    return HB_OK;
}

/* sum(j, first, last, term), after the word. */
static hb_status parse_indexed_sum(hb_parser *p, hb_node *out)
{
    static const char form[] = "',': a sum is written sum(j, first, last, term)";
    hb_scope index = {0, 0};
    long last;
    HB_TRY(parse_expect(p, '(', "'(': a sum is written sum(j, first, last, term)"));
    HB_TRY(parse_index_name(p, &index));
    HB_TRY(parse_expect(p, ',', form));
    HB_TRY(parse_whole(p, &index.value));
    HB_TRY(parse_expect(p, ',', form));
    HB_TRY(parse_whole(p, &last));
    HB_TRY(parse_expect(p, ',', form));
    p->scope[p->n_scope] = index;
    p->n_scope++;
    HB_TRY(parse_terms(p, &p->scope[p->n_scope - 1], last, out));
    p->n_scope--;
    return parse_expect(p, ')', "an operator or ')': a sum is written sum(j, first, last, term)");
}

/* function(argument, ...), after the name that begins at `place`. */
static hb_status parse_call(hb_parser *p, int function, size_t place, hb_node *out)
{
    const hb_operation op = (hb_operation)(HB_OP_POWER + 1 + function);
    const int arity = hb_operation_arity(op), shown = (int)name_length(p->text + place);
    hb_node argument[2];
    int count = 0;
    HB_TRY(parse_expect(p, '(', "'(' after the name of a function"));
    if (parse_peek(p) != ')') {
        do {
            hb_node node;
            HB_TRY(parse_sum(p, &node));
            if (count < 2) argument[count] = node;
            count++;
        } while (parse_accept(p, ','));
        HB_TRY(parse_expect(p, ')', "an operator, ',' or ')'"));
    }
    if (count != arity)
        return hb_parser_fail(p, place, "%.*s " HB_PLACE " takes %d argument%s, not %d", shown,
                              p->text + place, arity, arity == 1 ? "" : "s", count);
    /* cppcheck-suppress uninitvar: count == arity of them are set */
    return parse_built(p,
                       arity == 1 ? hb_build_unary(p->graph, op, argument[0])
                                  : hb_build_binary(p->graph, op, argument[0], argument[1]),
                       out);
}

static hb_status parse_name(hb_parser *p, size_t length, hb_node *out)
{
    const size_t place = p->at;
    const char *name = p->text + place;
    const int variable = hb_graph_find_variable(p->graph, name, length);
    const int function = hb_graph_find_function(name, length);
    const hb_scope *index = find_index(p, name, length);
    const hb_parameter *parameter = hb_graph_find_parameter(p->graph, name, length);
    p->at += length;
    if (length == 1 && *name == 'x' && parse_peek(p) == '[') return parse_element(p, out);
    if (length == 3 && memcmp(name, "sum", 3) == 0) return parse_indexed_sum(p, out);
    if (function >= 0) return parse_call(p, function, place, out);
    if (index) return parse_built(p, hb_build_constant(p->graph, (double)index->value), out);
    if (variable >= 0) return parse_built(p, hb_build_variable(p->graph, variable), out);
    if (parameter) return parse_built(p, hb_build_constant(p->graph, parameter->value), out);
    if (length == 1 && *name == 'd')
        return parse_built(p, hb_build_constant(p->graph, p->graph->dim), out);
    if (length == 2 && memcmp(name, "pi", 2) == 0)
        return parse_built(p, hb_build_constant(p->graph, M_PI), out);
    return hb_parser_unknown(p, place, length);
}

/* ---- the grammar ---- */

static hb_status parse_primary(hb_parser *p, hb_node *out)
{
    parse_peek(p);
    const size_t length = number_length(p->text + p->at);
    const size_t letters = name_length(p->text + p->at);
    if (length) {
        double value;
        HB_TRY(parse_number(p, length, &value));
        return parse_built(p, hb_build_constant(p->graph, value), out);
    }
    if (letters) return parse_name(p, letters, out);
    if (!parse_accept(p, '(')) return hb_parser_unexpected(p, operand);
    HB_TRY(parse_sum(p, out));
    return parse_expect(p, ')', "an operator or ')'");
}

static hb_status parse_signed(hb_parser *p, hb_node *out)
{
    HB_TRY(parse_enter(p));
    if (parse_accept(p, '-')) {
        HB_TRY(parse_signed(p, out));
        HB_TRY(parse_built(p, hb_build_negate(p->graph, *out), out));
    } else if (parse_accept(p, '+')) {
        HB_TRY(parse_signed(p, out));
    } else {
        HB_TRY(parse_primary(p, out));
        if (parse_accept(p, '^')) {
            hb_node exponent;
            HB_TRY(parse_signed(p, &exponent));
            HB_TRY(parse_built(p, hb_build_pow(p->graph, *out, exponent), out));
        }
    }
    p->depth--;
    return HB_OK;
}

/* Products joined by + and -, or signed factors joined by * and /. */
static hb_status parse_chain(hb_parser *p, int of_products, hb_node *out)
{
    const char *signs = of_products ? "+-" : "*/";
    const hb_operation ops[] = {of_products ? HB_OP_ADD : HB_OP_MULTIPLY,
                                of_products ? HB_OP_SUBTRACT : HB_OP_DIVIDE};
    HB_TRY(of_products ? parse_chain(p, 0, out) : parse_signed(p, out));
    while (parse_peek(p) == signs[0] || parse_peek(p) == signs[1]) {
        const hb_operation op = ops[p->text[p->at++] == signs[1]];
        hb_node next;
        HB_TRY(of_products ? parse_chain(p, 0, &next) : parse_signed(p, &next));
        HB_TRY(parse_built(p, hb_build_binary(p->graph, op, *out, next), out));
    }
    return HB_OK;
}

static hb_status parse_sum(hb_parser *p, hb_node *out)
{
    return parse_chain(p, 1, out);
}

hb_status hb_graph_parse(hb_graph *graph, const char *text, const char *what, int index,
                         hb_node *out)
{
    HB_CHECK(graph->context, text != NULL, HB_ERROR_ARGUMENT, "%.60s: there is no text", what);
    hb_parser p = {.graph = graph, .text = text, .what = what};
    if (index) p.scope[p.n_scope++] = (hb_scope){'i', index};
    if (!parse_peek(&p))
        return hb_parser_fail(&p, p.at, "the expression is empty; expected %s", operand);
    HB_TRY(parse_sum(&p, out));
    return parse_peek(&p) ? hb_parser_unexpected(&p, "an operator (+ - * / ^) or the end") : HB_OK;
}

/* ---- lists ---- */

static const char *parse_skip_blanks(const char *text)
{
    while (isspace((unsigned char)*text)) text++;
    return text;
}

hb_status hb_graph_split(hb_context *context, const char *text, int *count, char **pieces)
{
    HB_TRY(hb_copy_string(context, parse_skip_blanks(text), pieces));
    char *to = *pieces;
    int depth = 0;
    *count = 1;
    for (const char *from = to; *from;) {
        const char c = *from++;
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (c == ',' && depth <= 0) {
            from = parse_skip_blanks(from);
            *to++ = 0;
            ++*count;
        } else {
            *to++ = c;
        }
    }
    *to = 0;
    return HB_OK;
}
