/* Command lines read by table.
 *
 * Each argument is one of: --name VALUE, --name=VALUE, -l VALUE, -lVALUE, a flag, or a positional.
 * The argument after an option that needs a value is that value, whatever it begins with, unless it
 * is exactly an option of this command: then the value was forgotten. After "--" all is positional.
 *
 * Integers are read digit by digit in 64-bit arithmetic, m * 10^e with e from the exponent and the
 * decimals, so 1e6 and 1.5e3 are exact and 1.5 is refused: no value is ever rounded.
 * Suggestions use the optimal string alignment distance (insert, delete, change, swap neighbours);
 * "dmi" is at distance 1 from "dim". */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ENTRIES = 64 * HB_OPTIONS_SECTIONS,
    LEFT_OUT = HB_OPTION_WRITES | HB_OPTION_FIGURE | HB_OPTION_APART /* of what is run again */
};

/* An option with all that its setting says, where its value goes, and whether it was on the
 * line. */
typedef struct entry {
    hb_option option;
    void *target;
    int given;
} entry;

typedef struct parser {
    entry entries[MOST_ENTRIES + 1]; /* the last one has no target */
    int argc, next;
    char *const *argv;
    char *message;
    json_t *record;                /* of a table with an earlier run; NULL: it has none */
    char note[HB_OPTIONS_MESSAGE]; /* "--old is now --new; " for each old name that is given */
} parser;

typedef struct label {
    char text[64];
} label;

void hb_options_clean(char *text)
{
    for (char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c)) *c = '?';
}

static hb_status options_refuse(const parser *p, const char *format, ...) HB_PRINTF(2, 3);
static hb_status options_refuse(const parser *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->message, HB_OPTIONS_MESSAGE, format, arguments);
    va_end(arguments);
    hb_options_clean(p->message);
    return HB_ERROR_ARGUMENT;
}

/* The name as one types it: --dim, -n, or the placeholder of a positional. */
static label label_of(const hb_option *option)
{
    label out;
    if (option->rules & HB_OPTION_POSITIONAL)
        snprintf(out.text, sizeof out.text, "%s", option->placeholder);
    else if (option->name)
        snprintf(out.text, sizeof out.text, "--%s", option->name);
    else
        snprintf(out.text, sizeof out.text, "-%c", option->letter);
    return out;
}

/* ---- walking the tables ---- */

const hb_setting *hb_options_setting(const hb_option *option)
{
    const hb_setting *row = NULL;
    for (size_t i = 0; option->setting && (row = option->setting(i)) != NULL; i++)
        if (row->offset == option->field) break;
    return row;
}

const char *hb_options_name(const hb_setting *(*setting)(size_t), size_t field, int value)
{
    const hb_option option = {.setting = setting, .field = field};
    return hb_options_setting(&option)->names()[value];
}

int hb_options_complete(const hb_option *row, hb_option *out)
{
    static const hb_option_kind kinds[] = {[HB_SETTING_KIND_FLAG] = HB_OPTION_FLAG,
                                           [HB_SETTING_KIND_INTEGER] = HB_OPTION_INTEGER,
                                           [HB_SETTING_KIND_UNSIGNED] = HB_OPTION_UNSIGNED,
                                           [HB_SETTING_KIND_REAL] = HB_OPTION_REAL,
                                           [HB_SETTING_KIND_CHOICE] = HB_OPTION_CHOICE};
    const hb_setting *setting = hb_options_setting(row);
    *out = *row;
    if (!setting) return row->help || row->heading;
    out->kind = kinds[setting->kind];
    if (!row->help) out->help = setting->help;
    if (!row->max) {
        out->min = setting->min;
        out->max = setting->max;
    }
    if (setting->rules & HB_SETTING_RULE_ABOVE) out->rules |= HB_OPTION_ABOVE;
    if (setting->rules & HB_SETTING_RULE_BELOW) out->rules |= HB_OPTION_BELOW;
    if (!row->choices) out->names = setting->names;
    if (out->kind != HB_OPTION_FLAG && !(row->rules & (HB_OPTION_REQUIRED | HB_OPTION_OPEN)))
        out->fallback = setting->shown;
    return 1;
}

/* Neither given nor defaulted. */
static int is_open(const hb_option *option, const void *value)
{
    if (option->fallback) return 0;
    if (option->kind == HB_OPTION_REAL) return isnan(*(const double *)value);
    if (option->kind == HB_OPTION_UNSIGNED) return *(const uint64_t *)value == 0;
    return *(const int *)value == (option->kind == HB_OPTION_CHOICE ? -1 : 0);
}

void hb_options_settings(const hb_option *options, const void *values, void *settings)
{
    hb_option option;
    for (const hb_option *row = options; hb_options_complete(row, &option); row++) {
        const void *value = (const char *)values + option.offset;
        const int wide = option.kind == HB_OPTION_REAL || option.kind == HB_OPTION_UNSIGNED;
        if (row->setting && !is_open(&option, value))
            memcpy((char *)settings + option.field, value, wide ? 8 : sizeof(int));
    }
}

static void list_entries(const hb_option_section *sections, entry *out)
{
    for (; sections->options; sections++)
        for (const hb_option *row = sections->options; hb_options_complete(row, &out->option);
             row++) {
            if (row->heading) continue;
            out->target = (char *)sections->values + out->option.offset;
            out++->given = 0;
        }
    *out = (entry){0};
}

static int is_word(const char *word, const char *name, size_t length)
{
    return word && strlen(word) == length && memcmp(word, name, length) == 0;
}

/* By its name, or by the one it had. */
static entry *find_name(parser *p, const char *name, size_t length)
{
    for (entry *at = p->entries; at->target; at++)
        if (is_word(at->option.name, name, length)) return at;
    for (entry *at = p->entries; at->target; at++)
        if (is_word(at->option.old, name, length)) return at;
    return NULL;
}

static entry *find_letter(parser *p, char letter)
{
    for (entry *at = p->entries; at->target; at++)
        if (letter && at->option.letter == letter) return at;
    return NULL;
}

/* Whether an argument is, letter for letter, an option of this command. */
static int is_known_option(parser *p, const char *argument)
{
    if (argument[0] != '-' || argument[1] == 0) return 0;
    if (argument[1] == '-') return find_name(p, argument + 2, strlen(argument + 2)) != NULL;
    return argument[2] == 0 && find_letter(p, argument[1]) != NULL;
}

/* ---- suggestions ---- */

enum { LONGEST_WORD = 40 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Optimal string alignment distance of two words of at most LONGEST_WORD letters. */
static int alignment_distance(const char *a, const char *b)
{
    int table[LONGEST_WORD + 1][LONGEST_WORD + 1];
    const int n = (int)strlen(a), m = (int)strlen(b);
    for (int i = 0; i <= n; i++) table[i][0] = i;
    for (int j = 0; j <= m; j++) table[0][j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int best = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = smaller(best, 1 + smaller(table[i - 1][j], table[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = smaller(best, 1 + table[i - 2][j - 2]);
            table[i][j] = best;
        }
    return table[n][m];
}

const char *hb_options_nearest(const char *text, const char *const *words)
{
    const char *nearest = NULL;
    const size_t length = strlen(text);
    int best = 1 + smaller(3, (int)(length + 1) / 2);
    if (length == 0 || length > LONGEST_WORD) return NULL;
    for (; *words; words++) {
        if (strlen(*words) > LONGEST_WORD) continue;
        int distance = alignment_distance(text, *words);
        /* the beginning of a word, cut off, is as near as one slip */
        if (length > 1 && strncmp(text, *words, length) == 0) distance = 1;
        if (distance >= best) continue;
        best = distance;
        nearest = *words;
    }
    return nearest;
}

static hb_status refuse_unknown(const parser *p, const char *argument)
{
    const char *names[MOST_ENTRIES + 1] = {NULL};
    size_t n = 0;
    char word[LONGEST_WORD + 2];
    for (const entry *at = p->entries; at->target; at++)
        if (at->option.name) names[n++] = at->option.name;
    snprintf(word, sizeof word, "%s", argument + strspn(argument, "-"));
    word[strcspn(word, "=")] = 0;
    const char *nearest = hb_options_nearest(word, names);
    const int length = smaller(80, (int)strcspn(argument, "="));
    if (nearest)
        return options_refuse(p, "unknown option %.*s; did you mean --%s?", length, argument,
                              nearest);
    return options_refuse(p, "unknown option %.*s; --help lists the options", length, argument);
}

/* ---- what is allowed, in words ---- */

const char *const *hb_options_choices(const hb_option *option)
{
    return option->names ? option->names() : option->choices;
}

void hb_options_join(const char *const *names, size_t size, char *out)
{
    size_t used = 0;
    for (size_t i = 0; names[i] && used < size; i++) {
        const char *joint = i == 0 ? "" : names[i + 1] ? ", " : " or ";
        used += (size_t)snprintf(out + used, size - used, "%s%s", joint, names[i]);
    }
}

static void allowed_reals(const hb_option *option, size_t size, char *out)
{
    const char *what =
        option->kind == HB_OPTION_REALS ? "numbers separated by commas, each" : "a number";
    const int above = (option->rules & HB_OPTION_ABOVE) != 0;
    const int below = (option->rules & HB_OPTION_BELOW) != 0;
    const int everything = option->min == 0 && option->max == 0;
    char low[40] = "", high[40] = "";
    if (!everything && isfinite(option->min))
        snprintf(low, sizeof low, above ? " above %g" : " of at least %g", option->min);
    if (!everything && isfinite(option->max))
        snprintf(high, sizeof high, below ? " below %g" : " of at most %g", option->max);
    if (low[0] && high[0] && !above && !below)
        snprintf(out, size, "%s from %g to %g", what, option->min, option->max);
    else if (!low[0] && !high[0])
        snprintf(out, size, "%s%s", what, option->kind == HB_OPTION_REALS ? " finite" : "");
    else
        snprintf(out, size, "%s%s%s%s", what, low, low[0] && high[0] ? " and" : "", high);
}

void hb_options_allowed(const hb_option *option, size_t size, char *out)
{
    const int everything = option->min == 0 && option->max == 0;
    out[0] = 0;
    switch (option->kind) {
    case HB_OPTION_FLAG:
    case HB_OPTION_TEXT:
    case HB_OPTION_TEXTS:
    case HB_OPTION_EARLIER: break;
    case HB_OPTION_CHOICE: hb_options_join(hb_options_choices(option), size, out); break;
    case HB_OPTION_REAL:
    case HB_OPTION_REALS: allowed_reals(option, size, out); break;
    case HB_OPTION_INTEGER:
        snprintf(out, size, "an integer from %.0f to %.0f", everything ? INT_MIN : option->min,
                 everything ? INT_MAX : option->max);
        break;
    case HB_OPTION_UNSIGNED:
        if (everything)
            snprintf(out, size, "an integer from 0 to 2^64-1");
        else
            snprintf(out, size, "an integer from %.0f to %.0f", option->min, option->max);
        break;
    }
}

/* ---- values ---- */

/* Reads digits into *value; fails when there is none or when 64 bits overflow. */
static int read_digits(const char **text, uint64_t *value, int *n)
{
    int any = 0;
    for (; isdigit((unsigned char)**text); (*text)++, any++) {
        const uint64_t digit = (uint64_t)(**text - '0');
        if (*value > (UINT64_MAX - digit) / 10) return 0;
        *value = *value * 10 + digit;
    }
    *n = any;
    return any > 0;
}

/* mantissa * 10^scale as a 64-bit integer, if it is one and fits. */
static int scale_exactly(uint64_t mantissa, int scale, uint64_t *out)
{
    for (; scale < 0 && mantissa != 0; scale++) {
        if (mantissa % 10) return 0;
        mantissa /= 10;
    }
    for (; scale > 0 && mantissa != 0; scale--) {
        if (mantissa > UINT64_MAX / 10) return 0;
        mantissa *= 10;
    }
    *out = mantissa;
    return 1;
}

/* digits[.digits][e[+-]digits] with an integral value below 2^64. */
static int read_magnitude(const char *text, uint64_t *out)
{
    uint64_t mantissa = 0, exponent = 0;
    int n, decimals = 0, negative = 0;
    if (!read_digits(&text, &mantissa, &n)) return 0;
    if (*text == '.' && (text++, !read_digits(&text, &mantissa, &decimals))) return 0;
    if (*text == 'e' || *text == 'E') {
        text++;
        if (*text == '+' || *text == '-') negative = *text++ == '-';
        if (!read_digits(&text, &exponent, &n) || exponent > 1000) return 0;
    }
    if (*text) return 0;
    return scale_exactly(mantissa, (negative ? -(int)exponent : (int)exponent) - decimals, out);
}

static int store_integer(const hb_option *option, const char *text, int *out)
{
    const int negative = *text == '-';
    uint64_t magnitude;
    if (!read_magnitude(text + (negative || *text == '+'), &magnitude)) return 0;
    if (magnitude > (uint64_t)INT_MAX + (uint64_t)negative) return 0;
    const int64_t value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    const int everything = option->min == 0 && option->max == 0;
    if (!everything && ((double)value < option->min || (double)value > option->max)) return 0;
    *out = (int)value;
    return 1;
}

static int store_unsigned(const hb_option *option, const char *text, uint64_t *out)
{
    if (!read_magnitude(text + (*text == '+'), out)) return 0;
    const int everything = option->min == 0 && option->max == 0;
    return everything || (*out >= (uint64_t)option->min && *out <= (uint64_t)option->max);
}

static int real_in_range(const hb_option *option, double value)
{
    if (isnan(value)) return (option->rules & HB_OPTION_NAN) != 0;
    if (isinf(value) && !(option->rules & HB_OPTION_INFINITE)) return 0;
    if (option->min == 0 && option->max == 0) return 1;
    if (value < option->min || value > option->max) return 0;
    if ((option->rules & HB_OPTION_ABOVE) && value == option->min) return 0;
    return !((option->rules & HB_OPTION_BELOW) && value == option->max);
}

/* Reads one real up to `end`, a character that closes it. Hexadecimal and leading blanks, which
 * strtod takes, are refused. A number beyond double is infinite, and so out of range. */
static int read_real(const hb_option *option, const char **text, char end, double *out)
{
    char *rest;
    if (isspace((unsigned char)**text)) return 0;
    *out = strtod(*text, &rest);
    if (rest == *text || (*rest != end && *rest != 0)) return 0;
    for (const char *c = *text; c < rest; c++)
        if (*c == 'x' || *c == 'X') return 0;
    *text = rest;
    return real_in_range(option, *out);
}

static int store_reals(const hb_option *option, const char *text, hb_reals *out)
{
    size_t n = 1;
    for (const char *c = text; *c; c++) n += *c == ',';
    out->values = malloc(n * sizeof *out->values);
    if (!out->values) return 0;
    for (out->n = 0; out->n < n; out->n++) {
        if (!read_real(option, &text, ',', &out->values[out->n])) return 0;
        text += *text == ',';
    }
    return 1;
}

static int store_text(const char *text, hb_texts *out)
{
    const char **longer = realloc(out->values, (out->n + 1) * sizeof *longer);
    if (!longer) return 0;
    out->values = longer;
    out->values[out->n++] = text;
    return *text != 0;
}

static int store_choice(const hb_option *option, const char *text, int *out)
{
    const char *const *choices = hb_options_choices(option);
    for (*out = 0; choices[*out]; (*out)++)
        if (strcmp(choices[*out], text) == 0) return 1;
    return 0;
}

static int option_store(const hb_option *option, const char *text, void *target)
{
    switch (option->kind) {
    case HB_OPTION_FLAG: *(int *)target = 1; return 1;
    case HB_OPTION_INTEGER: return store_integer(option, text, target);
    case HB_OPTION_UNSIGNED: return store_unsigned(option, text, target);
    case HB_OPTION_REAL: return read_real(option, &text, 0, target);
    case HB_OPTION_TEXT:
    case HB_OPTION_EARLIER: *(const char **)target = text; return *text != 0;
    case HB_OPTION_CHOICE: return store_choice(option, text, target);
    case HB_OPTION_REALS: return store_reals(option, text, target);
    case HB_OPTION_TEXTS: return store_text(text, target);
    }
    return 0;
}

/* The same for messages, where a text is described by its help sentence. */
static void allowed_or_meaning(const hb_option *option, size_t size, char *out)
{
    hb_options_allowed(option, size, out);
    if (!out[0]) snprintf(out, size, "%s", option->help);
}

static hb_status refuse_value(const parser *p, const hb_option *option, const char *text)
{
    char allowed[HB_OPTIONS_MESSAGE / 2];
    const label name = label_of(option);
    allowed_or_meaning(option, sizeof allowed, allowed);
    if (!*text) return options_refuse(p, "%s is empty; it must be %s", name.text, allowed);
    const char *nearest = NULL;
    if (option->kind == HB_OPTION_CHOICE)
        nearest = hb_options_nearest(text, hb_options_choices(option));
    if (nearest)
        return options_refuse(p, "%s is %.80s; it must be %s (did you mean %s?)", name.text, text,
                              allowed, nearest);
    return options_refuse(p, "%s is %.80s; it must be %s", name.text, text, allowed);
}

/* ---- the line ---- */

/* Keeps a text that says what is computed, for a file that is run again; steals it. */
static void option_record(const parser *p, const hb_option *option, json_t *text)
{
    json_t *list = json_object_get(p->record, option->name ? option->name : "");
    if (!option->name || option->gone || option->rules & LEFT_OUT || option->kind == HB_OPTION_FLAG)
        json_decref(text);
    else if (list)
        json_array_append_new(list, text);
    else
        json_object_set_new(p->record, option->name,
                            option->kind == HB_OPTION_TEXTS ? json_pack("[o]", text) : text);
}

/* Adds to the note; what does not fit is left out. */
static void note_add(parser *p, const char *words, ...)
{
    const size_t used = strlen(p->note);
    va_list list;
    va_start(list, words);
    vsnprintf(p->note + used, sizeof p->note - used, words, list);
    va_end(list);
}

/* The text, or what it is called now, with a note; a note too of an option without effect. */
static const char *text_of_today(parser *p, const hb_option *option, const char *text)
{
    if (option->gone)
        note_add(p, "%s has no effect, because %s; ", label_of(option).text, option->gone);
    for (const char *const *pair = option->old_choices; pair && *pair; pair += 2)
        if (strcmp(text, pair[0]) == 0) {
            note_add(p, "%s %s is now %s; ", label_of(option).text, pair[0], pair[1]);
            return pair[1];
        }
    return text;
}

static hb_status option_accept(parser *p, entry *found, const char *text)
{
    if (found->given && found->option.kind != HB_OPTION_TEXTS)
        return options_refuse(p, "%s is given twice; give it once", label_of(&found->option).text);
    found->given = 1;
    text = text_of_today(p, &found->option, text);
    if (!option_store(&found->option, text, found->target))
        return refuse_value(p, &found->option, text);
    if (p->record) option_record(p, &found->option, json_string(text));
    return HB_OK;
}

/* The value of an option: attached (after '=' or the letter), or the next argument. */
static hb_status accept_option(parser *p, entry *found, const char *attached)
{
    const label name = label_of(&found->option);
    if (found->option.kind == HB_OPTION_FLAG) {
        if (attached) return options_refuse(p, "%s takes no value", name.text);
        return option_accept(p, found, "");
    }
    if (attached) return option_accept(p, found, attached);
    if (p->next < p->argc && !is_known_option(p, p->argv[p->next]))
        return option_accept(p, found, p->argv[p->next++]);
    char allowed[HB_OPTIONS_MESSAGE / 2];
    allowed_or_meaning(&found->option, sizeof allowed, allowed);
    return options_refuse(p, "%s needs a value; it must be %s", name.text, allowed);
}

static hb_status accept_positional(parser *p, const char *argument)
{
    for (entry *at = p->entries; at->target; at++)
        if ((at->option.rules & HB_OPTION_POSITIONAL) && !at->given)
            return option_accept(p, at, argument);
    return options_refuse(p, "unexpected argument %.80s; --help shows what this command takes",
                          argument);
}

static void note_old_name(parser *p, const entry *found, const char *name, size_t length)
{
    if (!is_word(found->option.name, name, length))
        note_add(p, "--%s is now %s; ", found->option.old, label_of(&found->option).text);
}

static hb_status accept_argument(parser *p, const char *argument)
{
    if (argument[0] != '-' || argument[1] == 0) return accept_positional(p, argument);
    const int is_long = argument[1] == '-';
    const size_t length = is_long ? 2 + strcspn(argument + 2, "=") : 2;
    entry *found = is_long ? find_name(p, argument + 2, length - 2) : find_letter(p, argument[1]);
    if (!found) return refuse_unknown(p, argument);
    if (is_long) note_old_name(p, found, argument + 2, length - 2);
    return accept_option(p, found, argument[length] ? argument + length + is_long : NULL);
}

/* Whether the line has an option that stands instead of this one. */
static int is_replaced(parser *p, const char *name)
{
    for (const entry *at = p->entries; at->target; at++)
        for (const char *word = at->given ? at->option.instead : NULL; word;
             word = strchr(word, ' ')) {
            word += *word == ' ';
            if (is_word(name, word, strcspn(word, " "))) return 1;
        }
    return 0;
}

void hb_configuration_number(double value, char text[HB_CONFIGURATION_NUMBER])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, HB_CONFIGURATION_NUMBER, "%.*g", digits, value);
        if (strtod(text, NULL) == value) return;
    }
}

/* A new text, of a number too; NULL: it is neither. */
static json_t *earlier_text(json_t *value)
{
    char number[HB_CONFIGURATION_NUMBER];
    if (!json_is_number(value)) return json_is_string(value) ? json_incref(value) : NULL;
    hb_configuration_number(json_number_value(value), number);
    return json_string(number);
}

/* One option of an earlier run, unless the line has it; of NAME=VALUE, the name. */
static hb_status accept_earlier(parser *p, entry *found, json_t *values)
{
    hb_texts *texts = found->option.kind == HB_OPTION_TEXTS ? found->target : NULL;
    const size_t on_line = texts ? texts->n : 0;
    for (size_t k = 0; k < (texts ? json_array_size(values) : !found->given); k++) {
        json_t *value = earlier_text(texts ? json_array_get(values, k) : values);
        if (!value)
            return options_refuse(p, "--from: %.40s in the file is neither a text nor a number",
                                  found->option.name);
        const char *text = json_string_value(value);
        size_t i = 0;
        while (i < on_line && strncmp(texts->values[i], text, strcspn(text, "=") + 1)) i++;
        if (i < on_line) {
            json_decref(value);
            continue;
        }
        text = text_of_today(p, &found->option, text);
        if (text != json_string_value(value)) json_string_set(value, text);
        text = json_string_value(value);
        option_record(p, &found->option, value); /* which keeps the text */
        if (!option_store(&found->option, text, found->target))
            return refuse_value(p, &found->option, text);
        if (texts) texts->n_earlier++;
        found->given |= !texts;
    }
    return HB_OK;
}

static const char OPENING[] = "# problem: ";

char *hb_configuration_line(const json_t *object)
{
    char *text = json_dumps(object, 0), *line = NULL;
    if (text && asprintf(&line, "%s%s", OPENING, text) < 0) line = NULL;
    free(text);
    return line;
}

/* The object of a .csv, a printed table or JSON; where it is none, the message says why. */
static json_t *earlier_read(const parser *p, const char *path)
{
    char *line = NULL;
    size_t size = 0;
    json_t *object = NULL;
    FILE *file = fopen(path, "rbe");
    if (!file) options_refuse(p, "--from: cannot read %.200s: %s", path, strerror(errno));
    if (!file) return NULL;
    const int is_json = fgetc(file) == '{';
    rewind(file);
    json_t *all = is_json ? json_loadf(file, 0, NULL) : NULL;
    object = json_incref(json_object_get(all, "problem"));
    json_decref(all);
    while (!is_json && !object && getline(&line, &size, file) > 0 && line[0] == '#')
        if (!strncmp(line, OPENING, sizeof OPENING - 1))
            object = json_loads(line + sizeof OPENING - 1, 0, NULL);
    free(line);
    fclose(file);
    const size_t length = strlen(path);
    if (!json_is_object(object))
        options_refuse(
            p, "--from: %.200s %s", path,
            length > 4 && strcmp(path + length - 4, ".ini") == 0
                ? "is a problem file; give it with --problem"
                : "does not hold the problem of a run; it must be a .csv of heatball solve -o, or "
                  "what --json printed");
    return object;
}

static hb_status accept_file(parser *p, const char *path)
{
    const char *name;
    json_t *value, *object = earlier_read(p, path);
    hb_status status = json_is_object(object) ? HB_OK : HB_ERROR_ARGUMENT;
    json_object_foreach(object, name, value)
    {
        entry *found = find_name(p, name, strlen(name));
        if (strcmp(name, "heatball") == 0 || is_replaced(p, name) || status != HB_OK) continue;
        if (!found || found->option.rules & LEFT_OUT)
            status =
                options_refuse(p, "--from: %.200s has %.40s, which is no option here", path, name);
        else
            status = accept_earlier(p, found, value);
    }
    json_decref(object);
    return status;
}

static void set_fallback(const entry *at)
{
    const hb_option *option = &at->option;
    if (option->fallback)
        (void)option_store(option, option->fallback, at->target);
    else if (option->kind == HB_OPTION_REAL)
        *(double *)at->target = NAN;
    else if (option->kind == HB_OPTION_CHOICE)
        *(int *)at->target = -1;
}

static hb_status check_required(const parser *p)
{
    for (const entry *at = p->entries; at->target; at++) {
        if (!(at->option.rules & HB_OPTION_REQUIRED) || at->given) continue;
        char allowed[HB_OPTIONS_MESSAGE / 2];
        allowed_or_meaning(&at->option, sizeof allowed, allowed);
        return options_refuse(p, "%s is missing; it must be %s", label_of(&at->option).text,
                              allowed);
    }
    return HB_OK;
}

hb_status hb_options_parse(const hb_option_section *sections, int argc, char *const *argv,
                           char message[HB_OPTIONS_MESSAGE])
{
    parser p = {.argc = argc, .argv = argv, .message = message};
    int only_positional = 0;
    message[0] = 0;
    list_entries(sections, p.entries);
    hb_earlier *earlier = NULL;
    for (const entry *at = p.entries; at->target; at++)
        if (at->option.kind == HB_OPTION_EARLIER) earlier = at->target;
    if (earlier) earlier->object = p.record = json_object();
    while (p.next < argc) {
        const char *argument = argv[p.next++];
        if (!only_positional && strcmp(argument, "--") == 0)
            only_positional = 1;
        else
            HB_TRY(only_positional ? accept_positional(&p, argument)
                                   : accept_argument(&p, argument));
    }
    if (earlier && earlier->path) {
        earlier->typed = json_copy(p.record);
        HB_TRY(accept_file(&p, earlier->path));
    }
    for (const entry *at = p.entries; at->target; at++)
        if (!at->given) set_fallback(at);
    HB_TRY(check_required(&p));
    if (p.note[0])
        snprintf(message, HB_OPTIONS_MESSAGE, "%.400sold names go in the next release", p.note);
    return HB_OK;
}

void hb_options_release(const hb_option_section *sections)
{
    entry entries[MOST_ENTRIES + 1];
    list_entries(sections, entries);
    for (const entry *at = entries; at->target; at++) { /* the kinds that own memory */
        if (at->option.kind == HB_OPTION_REALS) free(((hb_reals *)at->target)->values);
        if (at->option.kind == HB_OPTION_TEXTS) free(((hb_texts *)at->target)->values);
        if (at->option.kind != HB_OPTION_EARLIER) continue;
        json_decref(((hb_earlier *)at->target)->object);
        json_decref(((hb_earlier *)at->target)->typed);
    }
}
