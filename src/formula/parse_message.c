/* What the parser says when it does not understand: one sentence, then the text and a caret.
 *
 *     drift component 2: unexpected ')' at column 8; expected a number, a variable, a function or
 * '('
 *       x + (y*) - 1
 *              ^
 * The first line is complete in itself, since a caller may print only that. Columns are bytes and
 * also characters: what is not ASCII is itself an error, so none stands before the place. Of a long
 * text only the neighbourhood of the place is shown. */
#include "base/context.h"
#include "formula/parse_expression.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    SHOWN = 64,              /* characters of the text that are shown */
    SHOWN_BYTES = 4 * SHOWN, /* and bytes at most, also when the text is not UTF-8 */
    BEFORE = 40              /* of them before the place */
};

/* Programs replace these words by the way to do it there (cli/problem_options.c). */
#define HB_PARAMETER_HINT "give its value as a parameter"

static int is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

static size_t character_bytes(const char *text)
{
    size_t bytes = *text != 0;
    while (is_continuation(text[bytes])) bytes++;
    return bytes;
}

/* "\n  text\n  ^" around the place. */
static void draw_caret(const char *text, size_t place, char *out, size_t size)
{
    const size_t start = place > BEFORE ? place - BEFORE : 0;
    size_t end = start, used = 0;
    for (size_t i = 0; i < SHOWN && text[end]; i++) end += character_bytes(text + end);
    if (end - start > SHOWN_BYTES) end = start + SHOWN_BYTES;
    used += (size_t)snprintf(out + used, size - used, "\n  %s%.*s%s\n  ", start ? "..." : "",
                             (int)(end - start), text + start, text[end] ? "..." : "");
    for (size_t i = 1; i + 3 < used; i++) /* line ends inside the text, tabs */
        if (iscntrl((unsigned char)out[i])) out[i] = ' ';
    snprintf(out + used, size - used, "%*s", (int)(place - start + (start ? 3 : 0) + 1), "^");
}

hb_status hb_parser_fail(const hb_parser *parser, size_t place, const char *format, ...)
{
    char sentence[240], caret[SHOWN_BYTES + BEFORE + 40];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    draw_caret(parser->text, place, caret, sizeof caret);
    char *mark = strchr(sentence, HB_PLACE[0]);
    const int before = mark ? (int)(mark - sentence) : (int)strlen(sentence);
    char column[40] = "";
    if (mark) snprintf(column, sizeof column, "at column %zu", place + 1);
    return hb_fail(parser->graph->context, HB_ERROR_ARGUMENT, "%.60s: %.*s%s%s%s", parser->what,
                   before, sentence, column, mark ? mark + 1 : "", caret);
}

/* ---- hints ---- */

/* Signs that people type or paste, and what this language wants. */
static const char *hint_for_sign(const char *at)
{
    static const struct {
        const char *sign, *hint;
    } hints[] = {{"**", "use ^ for a power"},
                 {"\xE2\x88\x92", "use the minus sign of the keyboard, -"},
                 {"\xE2\x80\x93", "use the minus sign of the keyboard, -"},
                 {"\xC3\x97", "use * for a product"},
                 {"\xC2\xB7", "use * for a product"},
                 {"\xE2\x8B\x85", "use * for a product"},
                 {"\xC2\xB2", "use ^2"},
                 {"\xC2\xB3", "use ^3"},
                 {"\xCF\x80", "use pi"},
                 {"=", "give only the right-hand side"}};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strncmp(at, hints[i].sign, strlen(hints[i].sign)) == 0) return hints[i].hint;
    return NULL;
}

/* What stands at the place, in quotes: a name, a number, or one character. */
static void describe_place(const char *at, char *out, size_t size)
{
    if (!*at) {
        snprintf(out, size, "the expression ends");
        return;
    }
    size_t length = character_bytes(at);
    if (isalnum((unsigned char)*at)) {
        length = 0;
        while (isalnum((unsigned char)at[length]) || at[length] == '_') length++;
    }
    if (strncmp(at, "**", 2) == 0) length = 2;
    snprintf(out, size, "unexpected '%.*s'", (int)(length < 20 ? length : 20), at);
}

hb_status hb_parser_unexpected(const hb_parser *parser, const char *wanted)
{
    const char *at = parser->text + parser->at, *hint = hint_for_sign(at);
    if (parser->at > 0 && *at == '*' && !hint)
        hint = hint_for_sign(at - 1); /* the second * of a pair */
    const size_t place = parser->at - (hint && *at == '*' && at[1] != '*');
    char found[40];
    describe_place(parser->text + place, found, sizeof found);
    if (hint) return hb_parser_fail(parser, place, "%s " HB_PLACE "; %s", found, hint);
    return hb_parser_fail(parser, place, "%s " HB_PLACE "; expected %s", found, wanted);
}

/* ---- unknown names ---- */

/* Edits that turn one name into the other (Levenshtein), names up to 15 letters. */
static int edit_distance(const char *a, size_t m, const char *b, size_t n)
{
    int row[16];
    if (m > 15 || n > 15) return 99;
    for (size_t j = 0; j <= n; j++) row[j] = (int)j;
    for (size_t i = 1; i <= m; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            const int replace = corner + (tolower((unsigned char)a[i - 1]) != b[j - 1]);
            corner = row[j];
            const int other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = replace < other ? replace : other;
        }
    }
    return row[n];
}

static void consider_name(const char *name, size_t length, const char *known, int *best,
                          const char **nearest)
{
    const int distance = edit_distance(name, length, known, strlen(known));
    if (distance >= *best) return;
    *best = distance;
    *nearest = known;
}

/* The nearest function, parameter or constant, at most a third of the letters away; else NULL. */
static const char *nearest_name(const hb_graph *graph, const char *name, size_t length)
{
    static const char *const words[] = {
#define WORD(operation, text, arity, formula) text,
        HB_FUNCTION_LIST(WORD)
#undef WORD
            "sum",
        "pi"};
    const char *nearest = NULL;
    int best = length < 3 ? 2 : (int)length / 3 + 2;
    for (int i = 0; i < graph->n_parameters; i++)
        consider_name(name, length, graph->parameters[i].name, &best, &nearest);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        consider_name(name, length, words[i], &best, &nearest);
    return nearest;
}

/* Names that other languages know. */
static const char *foreign_name(const char *name, size_t length)
{
    static const char *const pairs[][2] = {{"ln", "use log"},
                                           {"e", "use exp(1)"},
                                           {"arctan", "use atan"},
                                           {"arcsin", "use asin"},
                                           {"arccos", "use acos"},
                                           {"sgn", "use sign"},
                                           {"log10", "use log(...)/log(10)"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strlen(pairs[i][0]) == length && memcmp(name, pairs[i][0], length) == 0)
            return pairs[i][1];
    return NULL;
}

/* Names of variables that this dimension does not have. */
static hb_status unknown_variable(const hb_parser *parser, size_t place, size_t length)
{
    const char *name = parser->text + place;
    const int dim = parser->graph->dim, shown = (int)length;
    if (dim > 3)
        return hb_parser_fail(parser, place,
                              "'%.*s' " HB_PLACE
                              " is a variable only up to 3 dimensions; the variables here "
                              "are x1 to x%d, x[i] and t",
                              shown, name, dim);
    return hb_parser_fail(parser, place,
                          "no variable '%.*s' " HB_PLACE "; the variables here are %s and t", shown,
                          name,
                          dim == 1   ? "x (or x1)"
                          : dim == 2 ? "x, y (or x1, x2)"
                                     : "x, y, z (or x1, x2, x3)");
}

/* Whether a parameter could stand here: not where a function is called, nor inside x[ ]. */
static int may_be_parameter(const hb_parser *parser, size_t place, size_t length)
{
    const char *after = parser->text + place + length;
    while (isspace((unsigned char)*after)) after++;
    if (*after == '(') return 0;
    for (size_t at = place; at > 0 && parser->text[at - 1] != ']'; at--)
        if (parser->text[at - 1] == '[') return 0;
    return 1;
}

/* A letter of an index where there is none. */
static hb_status unknown_index(const hb_parser *parser, size_t place)
{
    const char letter = parser->text[place];
    return hb_parser_fail(
        parser, place,
        "'%c' " HB_PLACE " has no value here; it is known %sinside sum(%c, a, b, ...)%s", letter,
        letter == 'i' ? "in a component that is repeated for all i, and " : "", letter,
        may_be_parameter(parser, place, 1) ? "; or " HB_PARAMETER_HINT : "");
}

hb_status hb_parser_unknown(const hb_parser *parser, size_t place, size_t length)
{
    const char *name = parser->text + place, *hint = foreign_name(name, length);
    const int shown = length < 30 ? (int)length : 30;
    if (length == 1 && strchr("xyz", *name)) return unknown_variable(parser, place, length);
    if (*name == 'x' && length > 1 && strspn(name + 1, "0123456789") >= length - 1)
        return hb_parser_fail(parser, place,
                              "no variable '%.*s' " HB_PLACE
                              "; dim is %d, so the variables are x1 to x%d",
                              shown, name, parser->graph->dim, parser->graph->dim);
    if (length > 2 && name[1] == '_' && strchr("xyz", *name) &&
        strspn(name + 2, "0123456789") >= length - 2)
        return hb_parser_fail(parser, place,
                              "unknown name '%.*s' " HB_PLACE "; write %c%.*s, without _", shown,
                              name, *name, shown - 2, name + 2);
    if (length == 1 && strchr("ijklm", *name)) return unknown_index(parser, place);
    if (hint)
        return hb_parser_fail(parser, place, "unknown name '%.*s' " HB_PLACE "; %s", shown, name,
                              hint);
    const int parameter = may_be_parameter(parser, place, length);
    const char *nearest = nearest_name(parser->graph, name, length);
    if (nearest)
        return hb_parser_fail(parser, place,
                              "unknown name '%.*s' " HB_PLACE "; did you mean '%.30s'?%s", shown,
                              name, nearest, parameter ? " Or " HB_PARAMETER_HINT : "");
    return hb_parser_fail(parser, place, "unknown name '%.*s' " HB_PLACE "; %s", shown, name,
                          parameter ? HB_PARAMETER_HINT " (coordinates are x1, x2, ..)"
                                    : "it is no variable, function or parameter");
}
