/* Formulas by recursive descent, evaluated while they are read: a loop reads its formula again for
 * each item. Page and figures need a few thousand values, so that speed does not count.
 *
 * Operators bind in this order: |, &, comparisons, + and -, * and /. */
#include "page_formula.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 64, LONGEST = 48 };
typedef char word[LONGEST];

struct hb_formula {
    const hb_numbers *numbers;
    const char *whole, *at; /* the formula, and where it is read */
    int bound;
    struct {
        word name;
        hb_value value;
    } names[NAMES];
    int skipped;       /* read without a value: the formula of a loop without items */
    json_t *texts;     /* words that were made */
    char failure[200]; /* "": none */
};

static hb_value formula_read(hb_formula *f, int level);

static hb_value formula_fail(hb_formula *f, const char *what, const char *name)
{
    if (!f->failure[0] && !f->skipped)
        snprintf(f->failure, sizeof f->failure, "%s%s in the formula %.120s", what, name, f->whole);
    return (hb_value){NAN, NULL};
}

static hb_value formula_of(double number)
{
    return (hb_value){number, NULL};
}

/* ---- signs and words ---- */

static void formula_space(hb_formula *f)
{
    while (*f->at == ' ') f->at++;
}

static int formula_take(hb_formula *f, const char *sign)
{
    formula_space(f);
    const size_t n = strlen(sign);
    if (strncmp(f->at, sign, n) != 0) return 0;
    f->at += n;
    return 1;
}

static void formula_expect(hb_formula *f, const char *sign)
{
    if (!formula_take(f, sign)) formula_fail(f, "no ", sign);
}

/* Letters, digits, '_' and '.', a letter first; 0: something else is there. */
static int formula_word(hb_formula *f, word name)
{
    size_t n = 0;
    formula_space(f);
    if (!isalpha((unsigned char)*f->at)) return 0;
    while (isalnum((unsigned char)f->at[n]) || f->at[n] == '_' || f->at[n] == '.') n++;
    snprintf(name, LONGEST, "%.*s", (int)n, f->at);
    f->at += n;
    return 1;
}

static const char *formula_keep(hb_formula *f, json_t *text)
{
    json_array_append_new(f->texts, text);
    return json_string_value(text);
}

static void formula_bind(hb_formula *f, const char *name, hb_value value)
{
    if (f->bound == NAMES) {
        formula_fail(f, "too many names: ", name);
        return;
    }
    snprintf(f->names[f->bound].name, LONGEST, "%s", name);
    f->names[f->bound++].value = value;
}

/* ---- loops ---- */

typedef struct formula_loop {
    word name, list;
    double from, to;
    int n; /* of the items, where they are given */
    double items[HB_FORMULA_MOST];
} formula_loop;

static void formula_read_loop(hb_formula *f, formula_loop *loop)
{
    word kind = "";
    memset(loop, 0, sizeof *loop);
    if (!formula_word(f, loop->name) || !formula_word(f, kind)) formula_fail(f, "no loop", "");
    if (strcmp(kind, "in") == 0) {
        if (!formula_word(f, loop->list)) formula_fail(f, "no list", "");
    } else if (strcmp(kind, "from") == 0) {
        loop->from = formula_read(f, 0).number;
        formula_expect(f, "to");
        loop->to = formula_read(f, 0).number;
    } else {
        formula_expect(f, "(");
        do
            if (loop->n < HB_FORMULA_MOST) loop->items[loop->n++] = formula_read(f, 0).number;
        while (formula_take(f, ","));
        formula_expect(f, ")");
    }
}

/* Item k; 0: there are no more. */
static int formula_item(hb_formula *f, const formula_loop *loop, int k, double *item)
{
    hb_value found, number = formula_of(k);
    if (f->skipped || f->failure[0]) return 0;
    if (loop->n) *item = k < loop->n ? loop->items[k] : NAN;
    if (loop->n) return k < loop->n;
    *item = loop->from + k;
    if (!loop->list[0]) return *item <= loop->to;
    if (!f->numbers->find(f->numbers->of, loop->list, 1, &number, &found)) return 0;
    *item = found.number;
    return 1;
}

typedef struct formula_sum {
    int n;
    double sum, least, most, at_least, at_most;
    int any, all;
} formula_sum;

static void formula_add(formula_sum *s, double item, double x)
{
    s->all &= x != 0;
    s->any |= x != 0;
    if (isnan(x)) return;
    s->n++;
    s->sum += x;
    if (!(x >= s->least)) s->least = x, s->at_least = item;
    if (!(x <= s->most)) s->most = x, s->at_most = item;
}

static hb_value formula_sum_value(const formula_sum *s, const char *kind)
{
    return formula_of(strcmp(kind, "sum") == 0        ? s->sum
                      : strcmp(kind, "mean") == 0     ? s->sum / s->n
                      : strcmp(kind, "least") == 0    ? s->least
                      : strcmp(kind, "most") == 0     ? s->most
                      : strcmp(kind, "at_least") == 0 ? s->at_least
                      : strcmp(kind, "at_most") == 0  ? s->at_most
                      : strcmp(kind, "any") == 0      ? s->any
                                                      : s->all);
}

/* Behind "KIND(". */
static hb_value formula_reduce(hb_formula *f, const char *kind)
{
    formula_loop loop;
    formula_sum sum = {.least = NAN, .most = NAN, .at_least = NAN, .at_most = NAN, .all = 1};
    const int joins = strcmp(kind, "join") == 0, bound = f->bound;
    const char *separator = "";
    double item;
    formula_read_loop(f, &loop);
    formula_expect(f, ",");
    if (joins) {
        separator = formula_read(f, 0).text;
        formula_expect(f, ",");
    }
    json_t *joined = json_string("");
    const char *start = f->at;
    formula_bind(f, loop.name, formula_of(NAN));
    int k = 0;
    for (; formula_item(f, &loop, k, &item); k++) {
        f->at = start;
        f->names[bound].value.number = item;
        const hb_value value = formula_read(f, 0);
        if (!joins) formula_add(&sum, item, value.number);
        if (!joins || !value.text || !value.text[0]) continue;
        const char *before = json_string_value(joined);
        json_t *longer = hb_study_text("%s%s%s", before, before[0] ? separator : "", value.text);
        json_decref(joined);
        joined = longer;
    }
    if (k == 0) {
        f->skipped++;
        formula_read(f, 0);
        f->skipped--;
    }
    f->bound = bound;
    formula_expect(f, ")");
    const char *text = formula_keep(f, joined);
    return joins ? (hb_value){NAN, text} : formula_sum_value(&sum, kind);
}

hb_status hb_formula_each(hb_formula *f, const char *loops, hb_formula_step *do_it, void *user)
{
    formula_loop loop;
    double item;
    if (!loops) return do_it(f, user);
    const int bound = f->bound;
    f->whole = f->at = loops;
    formula_read_loop(f, &loop);
    const char *rest = formula_take(f, ",") ? f->at : NULL;
    formula_bind(f, loop.name, formula_of(NAN));
    hb_status status = HB_OK;
    for (int k = 0; status == HB_OK && formula_item(f, &loop, k, &item); k++) {
        f->names[bound].value.number = item;
        status = hb_formula_each(f, rest, do_it, user);
    }
    f->bound = bound;
    return status;
}

/* ---- calls ---- */

static void formula_list(hb_formula_list *out, int n, const hb_value *values)
{
    size_t words = 0;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < n; i++)
        if (values[i].text)
            out->words[words++] = values[i].text;
        else
            out->numbers[out->fill.n++] = values[i].number;
    out->fill.numbers = out->numbers;
    out->fill.words = out->words;
}

/* The text up to a " ±" whose number, the second, is NaN; "" when the first is not finite. */
static const char *formula_fill(hb_formula *f, const char *text, int n, const hb_value *values)
{
    hb_formula_list list;
    const char *error = strstr(text, " ±");
    formula_list(&list, n, values);
    if (list.fill.n && !isfinite(list.numbers[0]) && (error || isnan(list.numbers[0]))) return "";
    if (error && list.fill.n == 2 && isnan(list.numbers[1]))
        text = formula_keep(f, json_stringn(text, (size_t)(error - text)));
    return formula_keep(f, hb_study_fill(text, &list.fill));
}

/* "value ± error" with the first digits of the error. */
static const char *formula_with_error(hb_formula *f, double value, double error)
{
    const int digits = (int)fmax(0, 1 - floor(log10(error)));
    if (isnan(value)) return "";
    return formula_keep(f, hb_study_text("%.*f ± %.*f", digits, value, digits, error));
}

/* VALUE, VALUE, ..; returns how many. */
static int formula_arguments(hb_formula *f, hb_value *values)
{
    int n = 0;
    do {
        if (n == HB_FORMULA_MOST) formula_fail(f, "too many values", "");
        if (n < HB_FORMULA_MOST) values[n++] = formula_read(f, 0);
    } while (formula_take(f, ",") && !f->failure[0]);
    return n;
}

static int formula_builtin(hb_formula *f, const char *name, int n, const hb_value *v, hb_value *out)
{
    static const struct {
        const char *name;
        double (*of)(double x);
    } plain[] = {{"exp", exp},   {"exp2", exp2}, {"log", log},
                 {"sqrt", sqrt}, {"abs", fabs},  {"floor", floor}};
    const int choice = strcmp(name, "if") == 0 ? (v->number != 0 ? 1 : 2) : (int)v->number + 1;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(name, plain[i].name) == 0) {
            *out = formula_of(plain[i].of(v->number));
            return 1;
        }
    if (strcmp(name, "if") == 0 || strcmp(name, "pick") == 0)
        *out = choice > 0 && choice < n ? v[choice] : formula_of(NAN);
    else if (strcmp(name, "min") == 0)
        *out = formula_of(fmin(v[0].number, v[1].number));
    else if (strcmp(name, "max") == 0)
        *out = formula_of(fmax(v[0].number, v[1].number));
    else if (strcmp(name, "isnan") == 0)
        *out = formula_of(isnan(v->number));
    else if (strcmp(name, "isfinite") == 0)
        *out = formula_of(isfinite(v->number));
    else if (strcmp(name, "with_error") == 0)
        *out = (hb_value){NAN, formula_with_error(f, v[0].number, v[1].number)};
    else if (strcmp(name, "text") == 0)
        *out = (hb_value){NAN, formula_fill(f, v->text ? v->text : "?", n - 1, v + 1)};
    else
        return 0;
    return 1;
}

/* A function of page_texts.json: its names bound to the arguments. */
static hb_value formula_call(hb_formula *f, const json_t *function, int n, const hb_value *v)
{
    const char *at = f->at, *whole = f->whole;
    const int bound = f->bound;
    word name;
    f->at = json_string_value(json_array_get(function, 0));
    for (int i = 0; i < n && formula_word(f, name); i++) formula_bind(f, name, v[i]);
    f->whole = f->at = json_string_value(json_array_get(function, 1));
    const hb_value value = formula_read(f, 0);
    f->bound = bound;
    f->at = at;
    f->whole = whole;
    return value;
}

static hb_value formula_name(hb_formula *f, const char *name)
{
    static const char *const loops[] = {"sum",     "mean", "least", "most", "at_least",
                                        "at_most", "any",  "all",   "join"};
    hb_value v[HB_FORMULA_MOST] = {{0, NULL}}, out = {NAN, NULL};
    int n = 0;
    if (formula_take(f, "(")) {
        for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
            if (strcmp(name, loops[i]) == 0) return formula_reduce(f, name);
        n = formula_arguments(f, v);
        formula_expect(f, ")");
    }
    if (strcmp(name, "pi") == 0) out.number = M_PI;
    if (f->skipped || strcmp(name, "nan") == 0 || strcmp(name, "pi") == 0) return out;
    for (int i = f->bound - 1; n == 0 && i >= 0; i--)
        if (strcmp(f->names[i].name, name) == 0) return f->names[i].value;
    const json_t *functions = json_object_get(hb_study_texts("functions"), f->numbers->study);
    const json_t *function = json_object_get(functions, name);
    if (function) return formula_call(f, function, n, v);
    if (n && formula_builtin(f, name, n, v, &out)) return out;
    if (f->numbers->find(f->numbers->of, name, n, v, &out)) return out;
    return formula_fail(f, "there is no ", name);
}

/* ---- operators ---- */

static hb_value formula_term(hb_formula *f)
{
    word name;
    char *end;
    if (formula_take(f, "(")) {
        const hb_value value = formula_read(f, 0);
        formula_expect(f, ")");
        return value;
    }
    if (formula_take(f, "-")) return formula_of(-formula_term(f).number);
    if (formula_take(f, "!")) return formula_of(formula_term(f).number == 0);
    if (formula_take(f, "'") || formula_take(f, "`")) {
        const char *text = f->at, quote[] = {f->at[-1], '\0'};
        const size_t n = strcspn(text, quote);
        f->at += n + (text[n] != 0);
        return (hb_value){NAN, formula_keep(f, json_stringn(text, n))};
    }
    if (formula_word(f, name)) return formula_name(f, name);
    const double number = strtod(f->at, &end);
    if (end == f->at) return formula_fail(f, "no value", "");
    f->at = end;
    return formula_of(number);
}

static double formula_operate(const char *sign, double a, double b)
{
    switch (sign[0]) {
    case '|': return a != 0 || b != 0;
    case '&': return a != 0 && b != 0;
    case '<': return sign[1] ? a <= b : a < b;
    case '>': return sign[1] ? a >= b : a > b;
    case '=': return a == b;
    case '!': return a != b;
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    default: return a / b;
    }
}

static hb_value formula_read(hb_formula *f, int level)
{
    enum { LEVELS = 5, MOST = 7 };
    static const char *const signs[LEVELS][MOST] = {
        {"|"}, {"&"}, {"<=", ">=", "==", "!=", "<", ">"}, {"+", "-"}, {"*", "/"}};
    if (level == LEVELS) return formula_term(f);
    hb_value value = formula_read(f, level + 1);
    for (int i = 0; signs[level][i];) {
        if (formula_take(f, signs[level][i])) {
            const double right = formula_read(f, level + 1).number;
            value = formula_of(formula_operate(signs[level][i], value.number, right));
            i = 0;
        } else
            i++;
    }
    return value;
}

/* ---- what is asked for ---- */

hb_status hb_formula_open(const hb_numbers *numbers, hb_formula **out)
{
    HB_TRY(HB_STUDY_NEW(numbers->context, *out, 1));
    (*out)->numbers = numbers;
    (*out)->texts = json_array();
    return HB_OK;
}

hb_status hb_formula_close(hb_formula *f)
{
    hb_status status = HB_OK;
    if (f->failure[0])
        status = hb_study_fail(f->numbers->context, HB_ERROR_FORMAT, "page_texts.json: %s: %s",
                               f->numbers->study, f->failure);
    json_decref(f->texts);
    free(f);
    return status;
}

static int formula_begin(hb_formula *f, const char *text, hb_value *values)
{
    f->whole = f->at = text;
    const int n = formula_arguments(f, values);
    formula_space(f);
    if (*f->at) formula_fail(f, "what is ", f->at);
    return n;
}

double hb_formula_number(hb_formula *f, const char *text)
{
    hb_value values[HB_FORMULA_MOST];
    if (!text) return 1;
    formula_begin(f, text, values);
    return values[0].number;
}

void hb_formula_let(hb_formula *f, const json_t *names)
{
    const char *name;
    json_t *formula;
    json_object_foreach((json_t *)names, name, formula)
    {
        hb_value values[HB_FORMULA_MOST];
        formula_begin(f, json_string_value(formula), values);
        formula_bind(f, name, values[0]);
    }
}

int hb_formula_bound(const hb_formula *f)
{
    return f->bound;
}

void hb_formula_forget(hb_formula *f, int bound)
{
    f->bound = bound;
}

void hb_formula_values(hb_formula *f, const char *text, hb_formula_list *out)
{
    hb_value values[HB_FORMULA_MOST];
    formula_list(out, text ? formula_begin(f, text, values) : 0, values);
}

const char *hb_formula_text(hb_formula *f, const char *text)
{
    hb_value values[HB_FORMULA_MOST];
    const char *at = text ? strstr(text, " @ ") : NULL;
    if (!at) return text ? text : "";
    const int n = formula_begin(f, at + 3, values);
    return formula_fill(f, formula_keep(f, json_stringn(text, (size_t)(at - text))), n, values);
}
