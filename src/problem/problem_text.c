/* A drift kept as text, so that a file can carry it and make it again.
 *
 * Lines of key=value, in this order:
 *     dim=2
 *     drift=y, mu*(1 - x^2)*y - x          or potential=...
 *     noise=sqrt(2)
 *     mu=0.59999999999999998               one line for each parameter, 17 digits
 * Line breaks inside an expression become blanks. Reading trusts nothing: the expressions go
 * through the parser as a user's do. A number to reproduce: the text of a problem made from a text
 * is that text. */
#include "problem/problem_text.h"
#include "base/context.h"
#include "base/memory.h"
#include "file/writer.h"
#include "problem/problem_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER = 40, MOST_PARAMETERS = 1000 };

const char *hb_problem_text(const hb_problem *problem)
{
    return problem->text;
}

/* ---- writing ----------------------------------------------------------------------------------
 * */

static char *put_line(char *to, const char *key, const char *value)
{
    to += sprintf(to, "%s=", key);
    for (; *value; value++) *to++ = *value == '\n' || *value == '\r' ? ' ' : *value;
    *to++ = '\n';
    *to = '\0';
    return to;
}

hb_status hb_problem_write_text(hb_context *context, const hb_problem_settings *s, int dim,
                                char **out)
{
    const char *noise = s->noise ? s->noise : "1", *drift = s->drift ? s->drift : s->potential;
    char number[NUMBER];
    *out = NULL;
    if (!drift) return HB_OK;
    size_t size = strlen(drift) + strlen(noise) + 4 * NUMBER;
    for (int i = 0; i < s->n_parameters; i++) size += strlen(s->parameter_names[i]) + NUMBER;
    void *memory;
    HB_TRY(hb_allocate(context, size, 1, &memory));
    char *to = *out = memory;
    snprintf(number, sizeof number, "%d", dim);
    to = put_line(to, "dim", number);
    to = put_line(to, s->drift ? "drift" : "potential", drift);
    to = put_line(to, "noise", noise);
    const locale_t locale = hb_locale_enter();
    for (int i = 0; i < s->n_parameters; i++) {
        snprintf(number, sizeof number, "%.17g", s->parameter_values[i]);
        to = put_line(to, s->parameter_names[i], number);
    }
    hb_locale_leave(locale);
    return HB_OK;
}

/* ---- reading ----------------------------------------------------------------------------------
 * */

/* The value of the next line when it has this key, else NULL; cuts the line in place. */
static char *take_line(char **rest, const char *key)
{
    char *line = *rest, *end = strchr(line, '\n');
    const size_t length = strlen(key);
    if (!end || strncmp(line, key, length) != 0 || line[length] != '=') return NULL;
    *end = '\0';
    *rest = end + 1;
    return line + length + 1;
}

/* The remaining lines as parameters. */
static hb_status take_parameters(hb_context *context, char *rest, hb_problem_settings *s,
                                 const char **names, double *values)
{
    const locale_t locale = hb_locale_enter();
    int good = 1;
    while (*rest && good) {
        char *end = strchr(rest, '\n'), *equal = strchr(rest, '='), *stop = NULL;
        good = end && equal && equal < end && s->n_parameters < MOST_PARAMETERS;
        if (!good) break;
        *equal = *end = '\0';
        names[s->n_parameters] = rest;
        values[s->n_parameters++] = strtod(equal + 1, &stop);
        good = stop != equal + 1 && *stop == '\0';
        rest = end + 1;
    }
    hb_locale_leave(locale);
    HB_CHECK(context, good, HB_ERROR_ARGUMENT,
             "the drift's text has a parameter that is no number");
    return HB_OK;
}

static hb_status read_text(hb_context *context, char *text, const char **names, double *values,
                           hb_problem **out)
{
    hb_problem_settings s;
    hb_problem_settings_default(sizeof s, &s);
    char *rest = text, *dim = take_line(&rest, "dim"), *stop = NULL;
    HB_CHECK(context, dim, HB_ERROR_ARGUMENT, "the drift's text does not begin with its dim");
    const long value = strtol(dim, &stop, 10);
    HB_CHECK(context, *stop == '\0' && value > 0 && value <= 1000000, HB_ERROR_ARGUMENT,
             "the drift's dim is '%.20s'", dim);
    s.dim = (int)value;
    s.drift = take_line(&rest, "drift");
    if (!s.drift) s.potential = take_line(&rest, "potential");
    s.noise = take_line(&rest, "noise");
    HB_CHECK(context, s.noise, HB_ERROR_ARGUMENT, "the drift's text has no drift or no noise");
    s.parameter_names = names;
    s.parameter_values = values;
    HB_TRY(take_parameters(context, rest, &s, names, values));
    return hb_problem_create(context, &s, out);
}

hb_status hb_problem_of_text(hb_context *context, const char *text, hb_problem **out)
{
    hb_workspace work;
    *out = NULL;
    const size_t size = strlen(text) + 1;
    char *copy;
    const char **names;
    double *values;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(copy, size), HB_ARRAY(names, MOST_PARAMETERS),
                        HB_ARRAY(values, MOST_PARAMETERS)));
    memcpy(copy, text, size);
    const hb_status status = read_text(context, copy, names, values, out);
    hb_workspace_destroy(&work);
    return status;
}
