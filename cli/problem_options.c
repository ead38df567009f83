/* The options of a problem, turned into an hb_problem and the settings of a solution.
 *
 * With --problem the other options override what the file says; --drift would replace the very
 * problem and is refused beside it. */
#include "problem_options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *const hb_convention_names[] = {"ito", "stratonovich", NULL};

/* NAME=VALUE of --param; one block holds the pointers, the values and the names. */
typedef struct parameters {
    const char **names; // (n), owns the block
    double *values;     // (n)
} parameters;

static hb_status read_parameter(hb_session *session, const char *text, char *name, double *value)
{
    char *rest;
    const char *sign = strchr(text, '=');
    if (sign) *value = strtod(sign + 1, &rest);
    HB_REFUSE_IF(session, !sign || sign == text || rest == sign + 1 || *rest || !isfinite(*value),
                 "--param is %.80s; it must be NAME=NUMBER, as a=2; repeat "
                 "--param for each name",
                 text);
    memcpy(name, text, (size_t)(sign - text));
    name[sign - text] = 0;
    return HB_OK;
}

static hb_status read_parameters(hb_session *session, const hb_texts *texts, parameters *out)
{
    size_t bytes = texts->n * (sizeof(char *) + sizeof(double)) + 1;
    for (size_t i = 0; i < texts->n; i++) bytes += strlen(texts->values[i]) + 1;
    *out = (parameters){.names = malloc(bytes)};
    if (!out->names) return HB_ERROR_MEMORY;
    out->values = (double *)(out->names + texts->n);
    char *name = (char *)(out->values + texts->n);
    for (size_t i = 0; i < texts->n; i++) {
        HB_TRY(read_parameter(session, texts->values[i], name, &out->values[i]));
        out->names[i] = name;
        for (size_t k = 0; k < i; k++)
            HB_REFUSE_IF(session, strcmp(out->names[k], name) == 0,
                         "--param %.60s is given twice; give it once", name);
        name += strlen(name) + 1;
    }
    return HB_OK;
}

/* Whether the first n characters of the text have this name. */
static int has_word(const char *text, size_t n, const char *name, size_t length)
{
    for (const char *at = text; (at = strstr(at, name)) && at + length <= text + n; at++)
        if ((at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
            !(isalnum((unsigned char)at[length]) || at[length] == '_'))
            return 1;
    return 0;
}

/* Drift or potential and noise, the first lines of the problem's text, or the initial density. */
static int is_in_use(const hb_problem *problem, const char *name)
{
    const char *text = hb_problem_text(problem), *initial = hb_problem_initial_text(problem);
    size_t n = 0, length = strlen(name);
    if (!text) return 1; /* a callback */
    for (int line = 0; line < 3; line++) n += strcspn(text + n, "\n") + (text[n] != 0);
    return has_word(text, n, name, length) ||
           (initial && has_word(initial, strlen(initial), name, length));
}

/* A parameter of the line that no formula has; those of files are no fault. */
static hb_status refuse_unused(hb_session *session, const hb_texts *texts, const parameters *given,
                               const hb_problem *problem)
{
    char used[256] = "", name[64];
    const char *line = hb_problem_text(problem);
    for (int k = 0; line && *line; k++) { /* the parameters follow dim, drift and noise */
        const size_t n = strlen(used), length = strcspn(line, "\n");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line, "="), line);
        if (k >= 3 && is_in_use(problem, name))
            snprintf(used + n, sizeof used - n, "%s%s", n ? ", " : "", name);
        line += length + (line[length] != 0);
    }
    for (size_t i = 0; i < texts->n - texts->n_earlier; i++)
        HB_REFUSE_IF(session, !is_in_use(problem, given->names[i]),
                     "--param %.60s is in no formula; %s%.200s", given->names[i],
                     used[0] ? "the parameters in use are " : "leave it out", used);
    return HB_OK;
}

/* The library says that an unknown name 'a' may be a parameter; here is how to give one. */
static hb_status tell_parameter(hb_session *session, hb_status status)
{
    static const char hint[] = "give its value as a parameter";
    hb_context *context = hb_session_context(session);
    const char *message = hb_context_message(context), *at = strstr(message, hint);
    const char *end = strstr(message, "' at column"), *name = end;
    char told[1024];
    if (status != HB_ERROR_ARGUMENT || !at || !end || end > at) return status;
    while (name > message && name[-1] != '\'') name--;
    snprintf(told, sizeof told, "%.*sgive its value with --param %.*s=VALUE%s", (int)(at - message),
             message, (int)(end - name), name, at + sizeof hint - 1);
    return hb_context_fail(context, status, told);
}

static hb_status problem_check(hb_session *session, const hb_problem_values *v)
{
    const int own = v->drift || v->potential;
    HB_REFUSE_IF(session, v->drift && v->potential,
                 "--drift and --potential are both given; give one of them");
    HB_REFUSE_IF(session, v->problem && own, "--problem and %s are both given; give one of them",
                 v->drift ? "--drift" : "--potential");
    HB_REFUSE_IF(session, v->potential && v->dim == 0,
                 "--potential is given without --dim; give the dimension");
    HB_REFUSE_IF(session, !v->problem && !own,
                 "--drift is missing; give --problem FILE.ini, or --drift, --noise and --initial");
    HB_REFUSE_IF(
        session, own && !v->initial && v->time != INFINITY,
        "--initial is missing; it must be an initial density such as \"gaussian(mean=0, var=1)\"");
    HB_REFUSE_IF(session, own && isnan(v->time),
                 "--time is missing; it must be a number of at least 0");
    return HB_OK;
}

/* The time of the options, or the only one of the file, is inf. */
static int is_stationary(const hb_problem_values *v, const hb_problem *problem)
{
    const double *times;
    if (hb_problem_time(problem) == INFINITY) return 1;
    return isnan(v->time) && !v->times && hb_problem_times(problem, &times) == 1 &&
           times[0] == INFINITY;
}

static hb_status problem_make(hb_session *session, const hb_problem_values *v,
                              const parameters *given, hb_problem **out)
{
    hb_context *context = hb_session_context(session);
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = v->dim;
    settings.drift = v->drift;
    settings.potential = v->potential;
    if (v->noise || v->problem) settings.noise = v->noise;
    if (v->convention >= 0) settings.convention = HB_CONVENTION_ITO + v->convention;
    settings.initial = v->initial;
    settings.n_parameters = (int)v->params.n;
    settings.parameter_names = given->names;
    settings.parameter_values = given->values;
    if (v->time > 0) settings.time = v->time;
    hb_status status = v->problem ? hb_problem_load(context, &settings, v->problem, out)
                                  : hb_problem_create(context, &settings, out);
    /* a density that does not normalise is bad input for a command */
    if (status != HB_OK) return status == HB_ERROR_NUMERICAL ? HB_ERROR_ARGUMENT : status;
    if (hb_problem_initial_kind(*out) != HB_INITIAL_KIND_NONE || is_stationary(v, *out))
        return HB_OK;
    hb_problem_destroy(*out);
    *out = NULL;
    return hb_session_refuse(session, "%.200s has no initial density; give --initial", v->problem);
}

/* Refuses unused parameters of a problem that was made, and releases them. */
static hb_status problem_end(hb_session *session, const hb_texts *texts, const parameters *given,
                             hb_status status, hb_problem **problem)
{
    if (status == HB_OK) status = refuse_unused(session, texts, given, *problem);
    if (status != HB_OK) {
        hb_problem_destroy(*problem);
        *problem = NULL;
    }
    free(given->names);
    return status;
}

hb_status hb_problem_from_options(hb_session *session, const hb_problem_values *v, hb_problem **out)
{
    *out = NULL;
    HB_TRY(problem_check(session, v));
    parameters given;
    hb_status status = read_parameters(session, &v->params, &given);
    if (status == HB_OK) status = tell_parameter(session, problem_make(session, v, &given, out));
    return problem_end(session, &v->params, &given, status, out);
}

hb_status hb_problem_of_drift(hb_session *session, const char *drift, const char *noise,
                              int convention, const hb_texts *params, int dim, const char *initial,
                              hb_problem **out)
{
    parameters given;
    *out = NULL;
    hb_status status = read_parameters(session, params, &given);
    if (status == HB_OK) {
        hb_problem_settings settings;
        hb_problem_settings_default(sizeof settings, &settings);
        settings.dim = dim;
        settings.drift = drift;
        settings.noise = noise ? noise : "sqrt(2)";
        if (convention >= 0) settings.convention = HB_CONVENTION_ITO + convention;
        settings.initial = initial;
        settings.n_parameters = (int)params->n;
        settings.parameter_names = given.names;
        settings.parameter_values = given.values;
        status =
            tell_parameter(session, hb_problem_create(hb_session_context(session), &settings, out));
    }
    return problem_end(session, params, &given, status, out);
}

const hb_solve_settings *hb_solve_parts_link(hb_solve_parts *parts)
{
    parts->all.mean = &parts->mean;
    parts->all.grid = &parts->grid;
    parts->all.sampling = &parts->sampling;
    return &parts->all;
}

hb_status hb_problem_fill_settings(hb_session *session, const hb_problem_values *v,
                                   const hb_problem *problem, hb_solve_parts *settings)
{
    hb_solve_settings_default(sizeof settings->all, &settings->all);
    hb_mean_settings_default(sizeof settings->mean, &settings->mean);
    hb_grid_settings_default(sizeof settings->grid, &settings->grid);
    hb_sampling_settings_default(sizeof settings->sampling, &settings->sampling);
    settings->all.time = v->time;
    settings->mean.lift = v->lift < 0 ? 0 : v->lift;
    if (v->samples > 0) settings->mean.samples = v->samples;
    settings->mean.degree = v->degree;
    settings->mean.seed = v->seed;
    settings->sampling.lift = v->lift;
    settings->sampling.samples = v->samples;
    settings->sampling.seed = v->seed;
    const int dim = hb_problem_dim(problem);
    for (int axis = 0; axis < 3 && axis < dim; axis++) settings->grid.points[axis] = v->points;
    HB_REFUSE_IF(session, v->points % 2, "--cells is %d; it must be even", v->points);
    if (!v->box) return HB_OK;
    HB_REFUSE_IF(session, dim > 3,
                 "--box is of the grid, which goes up to dimension 3; the problem has %d", dim);
    return hb_points_box(session, v->box, dim, settings->grid.low, settings->grid.high);
}
