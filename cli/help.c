/* The --help page of a command, made from the tables that parse it.
 *
 *     usage: heatball constants --dim D [--lift M] [--json] [common options]
 *     (what it does)
 *     Options, one each: name, meaning, what is allowed, default; under the headings of the table
 *     Examples: lines that work as typed, one after the other
 *
 * Text is filled to 80 columns; the names stand in a column of 22. */
#include "options.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 80, MEANING = 22 };

/* Prints words from column `at`, going on at column `indent` in a new line; returns the column. */
static int help_fill(FILE *out, int at, int indent, const char *text)
{
    while (*text) {
        const int length = (int)strcspn(text, " \n");
        if (at > indent && at + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', out);
            at++;
        }
        fprintf(out, "%.*s", length, text);
        at += length;
        text += length;
        text += *text == ' ';
        if (*text != '\n') continue;
        fprintf(out, "\n%*s", indent, "");
        at = indent;
        text++;
    }
    return at;
}

/* --measure kappa|source|gradient, -n N, -q, --quiet; short: without the long form of -q. */
static void help_synopsis(const hb_option *option, int both_forms, size_t size, char *out)
{
    size_t used = 0;
    if (option->rules & HB_OPTION_POSITIONAL)
        ;
    else if (option->letter && option->name && both_forms)
        used += (size_t)snprintf(out, size, "-%c, --%s", option->letter, option->name);
    else if (option->letter)
        used += (size_t)snprintf(out, size, "-%c", option->letter);
    else
        used += (size_t)snprintf(out, size, "--%s", option->name);
    if (option->kind == HB_OPTION_FLAG) return;
    const char *space = used ? " " : "";
    const char *const *choices = hb_options_choices(option);
    if (option->placeholder || !choices) {
        snprintf(out + used, size - used, "%s%s", space, option->placeholder);
        return;
    }
    for (const char *const *choice = choices; *choice && used < size; choice++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", choice == choices ? space : "|",
                                 *choice);
}

static int is_shown(const hb_option *row)
{
    return !row->heading && !(row->rules & HB_OPTION_HIDDEN);
}

/* In the usage positionals stand first, then what is required, then the rest. */
static int usage_rank(const hb_option *option)
{
    return option->rules & HB_OPTION_POSITIONAL ? 0 : option->rules & HB_OPTION_REQUIRED ? 1 : 2;
}

/* An option and its value stay on one line; returns the column. */
static int usage_item(FILE *out, int at, const hb_option *option)
{
    char words[160], item[170];
    help_synopsis(option, 0, sizeof words, words);
    const int required = (option->rules & HB_OPTION_REQUIRED) != 0;
    const int repeats = option->kind == HB_OPTION_TEXTS;
    snprintf(item, sizeof item, required ? "%s" : repeats ? "[%s ...]" : "[%s]", words);
    if (at + 1 + (int)strlen(item) > WIDTH) at = fprintf(out, "\n       ") - 1;
    return at + fprintf(out, " %s", item);
}

static void help_usage(FILE *out, const hb_help *help, const hb_option_section *section)
{
    int at = fprintf(out, "usage: heatball %s", help->command);
    hb_option option;
    for (int rank = 0; rank <= 2; rank++)
        for (const hb_option *row = section->options; hb_options_complete(row, &option); row++)
            if (is_shown(row) && usage_rank(&option) == rank) at = usage_item(out, at, &option);
    fprintf(out, "\n");
}

static void help_option(FILE *out, const hb_option *option)
{
    char name[160], allowed[200], text[700];
    help_synopsis(option, 1, sizeof name, name);
    hb_options_allowed(option, sizeof allowed, allowed);
    size_t used = (size_t)snprintf(text, sizeof text, "%s", option->help);
    const hb_setting *setting = option->rules & HB_OPTION_OPEN ? hb_options_setting(option) : NULL;
    if (setting && option->help == setting->help && !isnan(setting->fallback))
        used += (size_t)snprintf(text + used, sizeof text - used, "; default: %s", setting->shown);
    const int choices_shown = hb_options_choices(option) && !option->placeholder;
    if (allowed[0] && !choices_shown)
        used += (size_t)snprintf(text + used, sizeof text - used, "; %s", allowed);
    if (option->rules & HB_OPTION_REQUIRED)
        snprintf(text + used, sizeof text - used, " (required)");
    else if (option->fallback)
        snprintf(text + used, sizeof text - used, " (default %s)", option->fallback);
    int at = fprintf(out, "  %s", name);
    if (at + 2 > MEANING) at = fprintf(out, "\n") - 1;
    fprintf(out, "%*s", MEANING - at, "");
    help_fill(out, MEANING, MEANING, text);
    fprintf(out, "\n");
}

/* The options under the title of the section, or under the headings of its table. */
static void help_section(FILE *out, const hb_option_section *section)
{
    hb_option option;
    if (!section->options->heading) fprintf(out, "\n%s:\n", section->title);
    for (const hb_option *row = section->options; hb_options_complete(row, &option); row++) {
        if (row->heading) fprintf(out, "\n%s:\n", row->heading);
        if (is_shown(row)) help_option(out, &option);
    }
}

void hb_options_help(FILE *out, const hb_help *help, const hb_option_section *sections)
{
    help_usage(out, help, &sections[0]);
    fprintf(out, "\n");
    help_fill(out, 0, 0, help->text);
    fprintf(out, "\n");
    for (const hb_option_section *section = sections; section->options; section++)
        help_section(out, section);
    fprintf(out, "\nExample%s:\n", help->examples[1] ? "s" : "");
    for (const char *const *line = help->examples; *line; line++) fprintf(out, "  %s\n", *line);
}
