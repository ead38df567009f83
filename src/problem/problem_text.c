/* A drift and its noise kept as text, so that a file can carry them and make the problem again.
 *
 * Lines of key=value, in this order:
 *     dim=2
 *     drift=y, mu*(1 - x^2)*y - x          or potential=...
 *     noise=sqrt(2)
 *     convention=stratonovich              only where it is that
 *     time=t                               where the transform makes the noise sqrt(2); then also
 *     inside=1.5 2                         a point where it lives, or nothing
 *     mu=0.59999999999999998               one line for each parameter, 17 digits
 * Line breaks inside an expression become blanks. Reading goes through the parser as a user's
 * text does. To reproduce: the text of a problem made from a text is that text. */
#include "problem/problem_text.h"
#include "base/context.h"
#include "base/memory.h"
#include "file/writer.h"
#include "problem/problem_parts.h"
#include "problem/transform/transform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER = 40, MOST_PARAMETERS = 1000 };

const char *hb_problem_text(const hb_problem *problem)
{
    return problem ? problem->text : NULL;
}

const char *hb_problem_initial_text(const hb_problem *problem)
{
    return problem ? problem->initial_text : NULL;
}

int hb_problem_has_unit(const hb_problem *problem)
{
    return problem->unit;
}

/* ---- writing ---- */

static char *text_put_line(char *to, const char *key, const char *value)
{
    to += sprintf(to, "%s=", key);
    for (; *value; value++) *to++ = *value == '\n' || *value == '\r' ? ' ' : *value;
    *to++ = '\n';
    *to = '\0';
    return to;
}

/* The lines of a unit transform. */
static char *put_inside(char *to, const hb_problem *problem)
{
    to = text_put_line(to, "time", "t");
    to += sprintf(to, "inside=");
    const int bends = problem->transform && problem->transform->bends && problem->inside;
    for (int i = 0; bends && i < problem->dim; i++)
        to += sprintf(to, i > 0 ? " %.17g" : "%.17g", problem->inside[i]);
    to += sprintf(to, "\n");
    return to;
}

/* A file that a problem file names starts from its directory, and from here in the copy. */
static hb_status text_keep_initial(hb_context *context, const hb_problem_settings *s,
                                   hb_problem *problem)
{
    const char *text = s->initial ? s->initial : "", *open = strchr(text, '(');
    const char *path = open ? open + 1 + strspn(open + 1, " \t") : text;
    const int joins =
        s->directory && *path != '/' && (strstr(text, "mixture(") || strstr(text, "samples("));
    const size_t size = strlen(text) + (joins ? strlen(s->directory) : 0) + 2;
    if (!s->initial) return HB_OK;
    HB_TRY(HB_NEW(context, problem->initial_text, size));
    snprintf(problem->initial_text, size, "%.*s%s%s%s", joins ? (int)(path - text) : 0, text,
             joins ? s->directory : "", joins ? "/" : "", joins ? path : text);
    return HB_OK;
}

hb_status hb_problem_write_text(hb_context *context, const hb_problem_settings *s,
                                hb_problem *problem)
{
    const char *noise = s->noise ? s->noise : "1", *drift = s->drift ? s->drift : s->potential;
    char number[NUMBER];
    HB_TRY(text_keep_initial(context, s, problem));
    if (!drift || s->noise_callback) return HB_OK;
    size_t size = strlen(drift) + strlen(noise) + 6 * NUMBER;
    if (problem->unit) size += (size_t)problem->dim * NUMBER;
    for (int i = 0; i < s->n_parameters; i++) size += strlen(s->parameter_names[i]) + NUMBER;
    HB_TRY(HB_NEW(context, problem->text, size));
    char *to = problem->text;
    snprintf(number, sizeof number, "%d", problem->dim);
    to = text_put_line(to, "dim", number);
    to = text_put_line(to, s->drift ? "drift" : "potential", drift);
    to = text_put_line(to, "noise", noise);
    if (s->convention == HB_CONVENTION_STRATONOVICH)
        to = text_put_line(to, "convention", "stratonovich");
    const locale_t locale = hb_locale_enter();
    if (problem->unit) to = put_inside(to, problem);
    for (int i = 0; i < s->n_parameters; i++) {
        snprintf(number, sizeof number, "%.17g", s->parameter_values[i]);
        to = text_put_line(to, s->parameter_names[i], number);
    }
    hb_locale_leave(locale);
    return HB_OK;
}

/* ---- reading ---- */

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

/* 1: the next line is key=value, and is taken; a parameter of that name has a number. */
static int take_exactly(char **rest, const char *key, const char *value)
{
    const size_t length = strlen(key), more = strlen(value);
    const char *line = *rest;
    if (strncmp(line, key, length) != 0 || line[length] != '=' ||
        strncmp(line + length + 1, value, more) != 0 || line[length + 1 + more] != '\n')
        return 0;
    *rest += length + more + 2;
    return 1;
}

/* The numbers of a line into inside[dim]; *given 0: there are none. */
static hb_status take_inside(hb_context *context, char *line, int dim, double *inside, int *given)
{
    const locale_t locale = hb_locale_enter();
    int n = 0, good = line != NULL;
    for (char *stop; good && *line; line = stop, n++) {
        const double value = strtod(line, &stop);
        good = stop != line && n < dim && isfinite(value);
        if (good) inside[n] = value;
    }
    hb_locale_leave(locale);
    *given = n > 0;
    HB_CHECK(context, good && (n == 0 || n == dim), HB_ERROR_ARGUMENT,
             "the drift's text has no line inside= with %d numbers", dim);
    return HB_OK;
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

/* What a text says, in memory of the caller's. */
typedef struct text_parts {
    char *copy;         // of the text, which is cut in place
    const char **names; // (MOST_PARAMETERS)
    double *values;     // (MOST_PARAMETERS)
    double *inside;     // (dim)
} text_parts;

/* known: its dimension. as_typed: a problem with a unit transform, whatever the text says;
 * inside: of it, NULL: that of the text. */
static hb_status read_text(hb_context *context, const text_parts *parts, int known, int as_typed,
                           const double *inside, hb_problem **out)
{
    hb_problem_settings s;
    hb_problem_settings_default(sizeof s, &s);
    char *text = parts->copy;
    int given = 0;
    char *rest = text, *dim = take_line(&rest, "dim"), *stop = NULL;
    HB_CHECK(context, dim, HB_ERROR_ARGUMENT, "the drift's text does not begin with its dim");
    const long value = strtol(dim, &stop, 10);
    HB_CHECK(context, *stop == '\0' && value > 0 && value <= 1000000, HB_ERROR_ARGUMENT,
             "the drift's dim is '%.20s'", dim);
    HB_CHECK(context, value == known, HB_ERROR_ARGUMENT,
             "the drift has dimension %ld; it must be %d", value, known);
    s.dim = (int)value;
    s.drift = take_line(&rest, "drift");
    if (!s.drift) s.potential = take_line(&rest, "potential");
    s.noise = take_line(&rest, "noise");
    HB_CHECK(context, s.noise, HB_ERROR_ARGUMENT, "the drift's text has no drift or no noise");
    if (take_exactly(&rest, "convention", "stratonovich"))
        s.convention = HB_CONVENTION_STRATONOVICH;
    const int unit = take_exactly(&rest, "time", "t");
    if (unit)
        HB_TRY(take_inside(context, take_line(&rest, "inside"), s.dim, parts->inside, &given));
    s.parameter_names = parts->names;
    s.parameter_values = parts->values;
    HB_TRY(take_parameters(context, rest, &s, parts->names, parts->values));
    if (!inside && given) inside = parts->inside;
    return hb_problem_create_as(context, &s, unit || as_typed, inside, out);
}

static hb_status text_make_problem(hb_context *context, const char *text, int dim, int as_typed,
                                   const double *inside, hb_problem **out)
{
    hb_workspace work;
    text_parts parts;
    *out = NULL;
    const size_t size = strlen(text) + 1; /* no fewer than the numbers in it */
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(parts.copy, size),
                        HB_ARRAY(parts.names, MOST_PARAMETERS),
                        HB_ARRAY(parts.values, MOST_PARAMETERS), HB_ARRAY(parts.inside, size)));
    memcpy(parts.copy, text, size);
    const hb_status status = read_text(context, &parts, dim, as_typed, inside, out);
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_problem_of_text(hb_context *context, const char *text, int dim, hb_problem **out)
{
    return text_make_problem(context, text, dim, 0, NULL, out);
}

hb_status hb_problem_as_typed(hb_context *context, const hb_problem *problem, const double *inside,
                              hb_problem **out)
{
    HB_CHECK(context, problem->text, HB_ERROR_ARGUMENT,
             "the drift or the noise is a function; it must be text");
    return text_make_problem(context, problem->text, problem->dim, 1, inside, out);
}
