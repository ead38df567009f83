/* Problem files (.ini).
 *
 *     [problem]
 *     drift   = y, mu*(1 - x^2)*y - x     or  potential = ...   with dim
 *     noise   = 0.5                       one formula, one per axis, or rows by semicolons
 *     convention = ito                    or stratonovich
 *     initial = gaussian(mean=1 0, var=0.2)
 *     time    = 2                         or  0.5, 1, 2  or  0:2:0.1  or  inf
 *     [parameters]
 *     mu      = 1.5
 * inih reads the lines; the reader in front of it counts them, refuses a line that inih would cut,
 * and notes whether a line is indented: such a line goes on with the value before it. Everything
 * unknown is refused with its line. Overrides win over the file, parameters one by one.
 * docs/reference/problem-files.md.
 * Must reproduce: examples/problems/van_der_pol.ini has F(1, 2) = (2, -1)/(g^2/2). */
#include "base/context.h"
#include "base/memory.h"
#include "base/sized.h"
#include "file/input.h"
#include "file/writer.h"
#include "problem/problem_parts.h"

#include <ini.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum file_key {
    KEY_DRIFT,
    KEY_POTENTIAL,
    KEY_NOISE,
    KEY_INITIAL,
    KEY_CONVENTION,
    KEY_DIM,
    KEY_TIME,
    N_KEYS
} file_key;

static const char *const key_names[N_KEYS] = {"drift",      "potential", "noise", "initial",
                                              "convention", "dim",       "time"};

typedef struct file_reader {
    hb_context *context;
    const char *path;
    FILE *file;
    int line, indented;
    hb_status status; /* of the first failure */
    char *texts[N_KEYS];
    int n_parameters, capacity, value_capacity;
    char **names;   // (capacity)
    double *values; // (capacity)
    size_t n_times;
    double *times; // (n_times)
    int time_line;
} file_reader;

/* ---- lines ---------------------------------------------------------------------------------- */

/* Checks "[section]". */
static hb_status check_section(file_reader *r, const char *line)
{
    const size_t length = strcspn(line, "]");
    const int known =
        !strncmp(line, "[problem]", length + 1) || !strncmp(line, "[parameters]", length + 1);
    HB_CHECK(r->context, known, HB_ERROR_FORMAT,
             "%s, line %d: section %.*s] is not known; it must be [problem] or [parameters]",
             r->path, r->line, (int)(length < 40 ? length : 40), line);
    return HB_OK;
}

/* fgets for inih. */
static char *file_read_line(char *text, int size, void *user)
{
    file_reader *r = user;
    if (r->status != HB_OK || !fgets(text, size, r->file)) return NULL;
    r->line++;
    const size_t blanks = strspn(text, " \t"), length = strlen(text);
    r->indented = blanks > 0;
    if (length + 1 == (size_t)size && text[length - 1] != '\n')
        r->status =
            hb_fail(r->context, HB_ERROR_FORMAT,
                    "%s, line %d: the line is longer than %d characters; continue in the next "
                    "line, indented",
                    r->path, r->line, size - 2);
    else if (length == 0 || (text[length - 1] != '\n' && !feof(r->file)))
        r->status = hb_fail(r->context, HB_ERROR_FORMAT,
                            "%s, line %d: a zero byte; the file is no text", r->path, r->line);
    else if (text[0] == '[')
        r->status = check_section(r, text);
    return r->status == HB_OK ? text : NULL;
}

/* ---- keys ----------------------------------------------------------------------------------- */

static hb_status read_number(file_reader *r, const char *name, const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    HB_CHECK(r->context,
             end != text && *end == '\0' &&
                 (isfinite(*value) || (*value > 0 && !strcmp(name, "time"))),
             HB_ERROR_FORMAT, "%s, line %d: %s is '%.40s'; it must be a number", r->path, r->line,
             name, text);
    return HB_OK;
}

/* Sets a text, or goes on with it in an indented line. */
static hb_status set_text(file_reader *r, file_key key, const char *value)
{
    char *before = r->texts[key];
    HB_CHECK(r->context, !before || r->indented, HB_ERROR_FORMAT, "%s, line %d: %s is given twice",
             r->path, r->line, key_names[key]);
    if (!before) return hb_copy_string(r->context, value, &r->texts[key]);
    const size_t bytes = strlen(before) + strlen(value) + 2;
    HB_TRY(HB_NEW(r->context, r->texts[key], bytes));
    snprintf(r->texts[key], bytes, "%s %s", before, value);
    hb_release(r->context, before);
    return HB_OK;
}

static hb_status set_key(file_reader *r, const char *name, const char *value)
{
    for (int key = 0; key < N_KEYS; key++) {
        double number;
        if (strcmp(name, key_names[key])) continue;
        HB_CHECK(r->context, value[0], HB_ERROR_FORMAT, "%s, line %d: %s has no value", r->path,
                 r->line, name);
        if (key == KEY_DIM) HB_TRY(read_number(r, name, value, &number));
        HB_CHECK(r->context,
                 key != KEY_DIM || (number >= 1 && number <= 1e6 && number == floor(number)),
                 HB_ERROR_FORMAT, "%s, line %d: dim is %s; it must be 1 to 1000000", r->path,
                 r->line, value);
        HB_CHECK(r->context,
                 key != KEY_CONVENTION || !strcmp(value, "ito") || !strcmp(value, "stratonovich"),
                 HB_ERROR_FORMAT,
                 "%s, line %d: convention is '%.40s'; it must be ito or stratonovich", r->path,
                 r->line, value);
        if (key == KEY_TIME) r->time_line = r->line;
        return set_text(r, (file_key)key, value);
    }
    return hb_fail(r->context, HB_ERROR_FORMAT,
                   "%s, line %d: key '%.40s' is not known; [problem] has dim, drift, potential, "
                   "noise, convention, initial and time",
                   r->path, r->line, name);
}

/* Sets a parameter; an override replaces one that is there, a file may not. */
static hb_status set_parameter(file_reader *r, const char *name, double value, int replace)
{
    for (int i = 0; i < r->n_parameters; i++) {
        if (strcmp(name, r->names[i])) continue;
        HB_CHECK(r->context, replace, HB_ERROR_FORMAT, "%s, line %d: parameter %s is given twice",
                 r->path, r->line, name);
        r->values[i] = value;
        return HB_OK;
    }
    HB_TRY(HB_GROW(r->context, r->names, r->n_parameters, r->capacity));
    HB_TRY(HB_GROW(r->context, r->values, r->n_parameters, r->value_capacity));
    HB_TRY(hb_copy_string(r->context, name, &r->names[r->n_parameters]));
    r->values[r->n_parameters++] = value;
    return HB_OK;
}

static hb_status file_take(file_reader *r, const char *section, const char *name, const char *value)
{
    HB_CHECK(r->context, section[0], HB_ERROR_FORMAT,
             "%s, line %d: '%.40s' stands before the first section; open with [problem]", r->path,
             r->line, name);
    if (!strcmp(section, "problem")) return set_key(r, name, value);
    double number;
    HB_TRY(read_number(r, name, value, &number));
    return set_parameter(r, name, number, 0);
}

/* The handler of inih: 0 is failure. */
static int file_handle(void *user, const char *section, const char *name, const char *value)
{
    file_reader *r = user;
    if (r->status == HB_OK) r->status = file_take(r, section, name, value);
    return r->status == HB_OK;
}

/* ---- the file ------------------------------------------------------------------------------- */

static hb_status file_read(file_reader *r)
{
    HB_TRY(hb_input_open(r->context, r->path, &r->file));
    locale_t locale = hb_locale_enter();
    const int line = ini_parse_stream(file_read_line, r, file_handle, r);
    hb_locale_leave(locale);
    const int failed = ferror(r->file);
    fclose(r->file);
    if (r->status != HB_OK) return r->status;
    if (failed) return hb_input_failed(r->context, r->path);
    HB_CHECK(r->context, line <= 0, HB_ERROR_FORMAT,
             "%s, line %d: 'key = value' or [section] was expected", r->path, line);
    HB_CHECK(r->context, line == 0, HB_ERROR_MEMORY, "no memory for reading %s", r->path);
    return HB_OK;
}

/* The times, and the largest finite one, up to which the noise is checked. */
static hb_status read_times(file_reader *r, double *last)
{
    const hb_status status =
        hb_problem_times_read(r->context, r->texts[KEY_TIME], &r->n_times, &r->times);
    if (status == HB_ERROR_ARGUMENT)
        return hb_fail(r->context, HB_ERROR_FORMAT, "%s, line %d: %s", r->path, r->time_line,
                       hb_context_message(r->context));
    HB_TRY(status);
    for (size_t k = 0; k < r->n_times; k++)
        if (isfinite(r->times[k])) *last = isnan(*last) ? r->times[k] : fmax(*last, r->times[k]);
    if (!(*last > 0)) *last = r->n_times == 1 && r->times[0] > 0 ? r->times[0] : NAN; /* inf */
    return HB_OK;
}

/* The settings of the file, and over them what is set in `over`. */
static hb_status file_merge(file_reader *r, const hb_problem_settings *over, hb_problem_settings *s)
{
    const int new_drift = over->drift || over->potential || over->drift_callback;
    const int new_initial = over->initial || over->initial_callback;
    *s = *over;
    if (!new_drift) {
        s->drift = r->texts[KEY_DRIFT];
        s->potential = r->texts[KEY_POTENTIAL];
    }
    if (!new_initial) s->initial = r->texts[KEY_INITIAL];
    if (!s->noise && !s->noise_callback) s->noise = r->texts[KEY_NOISE];
    if (s->convention == HB_CONVENTION_UNSET && r->texts[KEY_CONVENTION])
        s->convention = !strcmp(r->texts[KEY_CONVENTION], "ito") ? HB_CONVENTION_ITO
                                                                 : HB_CONVENTION_STRATONOVICH;
    if (s->dim == 0 && r->texts[KEY_DIM]) {
        double dim;
        HB_TRY(read_number(r, "dim", r->texts[KEY_DIM], &dim));
        s->dim = (int)dim;
    }
    if (isnan(s->time) && r->texts[KEY_TIME]) HB_TRY(read_times(r, &s->time));
    for (int i = 0; i < over->n_parameters; i++)
        HB_TRY(set_parameter(r, over->parameter_names[i], over->parameter_values[i], 1));
    s->n_parameters = r->n_parameters;
    s->parameter_names = (const char *const *)r->names;
    s->parameter_values = r->values;
    return HB_OK;
}

/* The directory of the file, where its own file names start. */
static hb_status directory_of(hb_context *context, const char *path, char **directory)
{
    if (!strrchr(path, '/')) return hb_copy_string(context, path[0] ? "." : "", directory);
    HB_TRY(hb_copy_string(context, path, directory));
    char *slash = strrchr(*directory, '/');
    slash[slash == *directory] = '\0';
    return HB_OK;
}

static hb_status file_load(file_reader *r, const hb_problem_settings *over, hb_problem **out)
{
    hb_problem_settings s;
    char *directory;
    HB_TRY(file_read(r));
    HB_TRY(file_merge(r, over, &s));
    HB_TRY(directory_of(r->context, r->path, &directory));
    if (!over->initial) s.directory = directory;
    const hb_status status = hb_problem_create(r->context, &s, out);
    hb_release(r->context, directory);
    if (status != HB_OK) return status;
    (*out)->n_times = r->n_times;
    (*out)->times = r->times; /* the problem's from now on */
    r->times = NULL;
    return HB_OK;
}

hb_status hb_problem_load(hb_context *context, const hb_problem_settings *overrides,
                          const char *path, hb_problem **out)
{
    HB_CHECK(context, path && path[0] && out, HB_ERROR_ARGUMENT,
             "the path or the output of a problem to load is empty");
    *out = NULL;
    hb_problem_settings over;
    HB_SIZED_READ(context, hb_problem_settings, overrides, &over);
    file_reader r = {.context = context, .path = path};
    const hb_status status = file_load(&r, &over, out);
    for (int key = 0; key < N_KEYS; key++) hb_release(context, r.texts[key]);
    for (int i = 0; i < r.n_parameters; i++) hb_release(context, r.names[i]);
    hb_release(context, r.names);
    hb_release(context, r.values);
    hb_release(context, r.times);
    return status;
}
