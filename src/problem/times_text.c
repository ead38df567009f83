/* Times as one types them: "0.1, 0.5, 1", "0:2:0.1" (first:last:step) or "inf".
 *
 * A range has floor((last - first)/step + SLACK) + 1 times, first + k step; where the last of
 * them misses `last` by rounding alone it is `last` itself. A number to reproduce: 0:2:0.1 has
 * 21 times, the last one 2 exactly. */
#include "base/context.h"
#include "base/memory.h"
#include "file/writer.h"
#include "problem/problem_parts.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SLACK = 1e-9; /* of a step */

typedef struct time_list {
    size_t n;
    double values[HB_MOST_TIMES]; // (n)
} time_list;

static const char *times_skip_blanks(const char *text)
{
    while (isspace((unsigned char)*text)) text++;
    return text;
}

/* A decimal number of at least 0, or inf; *text moves behind it and its blanks. */
static int read_time(const char **text, double *out)
{
    char *rest;
    const char *begin = times_skip_blanks(*text);
    *out = strtod(begin, &rest);
    if (rest == begin || !(*out >= 0)) return 0;
    for (const char *c = begin; c < rest; c++)
        if (*c == 'x' || *c == 'X') return 0;
    if (*begin == '-' || (isinf(*out) && strchr("0123456789.+", *begin))) return 0; /* 1e999 */
    *text = times_skip_blanks(rest);
    return 1;
}

static int add_time(double value, time_list *list)
{
    if (list->n == HB_MOST_TIMES) return 0;
    list->values[list->n++] = value;
    return 1;
}

static int add_range(double first, double last, double step, time_list *list)
{
    if (!(step > 0) || !isfinite(step) || !(first <= last) || !isfinite(last)) return 0;
    const double n = floor((last - first) / step + SLACK);
    if (!(n < HB_MOST_TIMES)) return 0;
    for (int k = 0; k <= (int)n; k++) {
        const double t = first + k * step;
        if (!add_time(fabs(t - last) <= 2 * SLACK * step ? last : t, list)) return 0;
    }
    return 1;
}

/* One number, or first:last:step. */
static int read_item(const char **text, time_list *list)
{
    double first, last, step;
    if (!read_time(text, &first)) return 0;
    if (**text != ':') return add_time(first, list);
    ++*text;
    if (!read_time(text, &last) || *(*text)++ != ':' || !read_time(text, &step)) return 0;
    return add_range(first, last, step, list);
}

static int read_list(const char *text, time_list *list)
{
    for (;;) {
        if (!read_item(&text, list)) return 0;
        if (*text == 0) return 1;
        if (*text++ != ',') return 0;
    }
}

hb_status hb_problem_times_read(hb_context *context, const char *text, size_t *n, double **times)
{
    HB_CHECK(context, text && n && times, HB_ERROR_ARGUMENT,
             "the text or an output of times to read is NULL");
    time_list list = {0};
    *times = NULL;
    *n = 0;
    locale_t locale = hb_locale_enter();
    const int good = read_list(text, &list);
    hb_locale_leave(locale);
    HB_CHECK(
        context, good, HB_ERROR_ARGUMENT,
        "time is %.60s; it must be a number of at least 0 or inf, or up to %d numbers separated "
        "by commas or as first:last:step",
        text, HB_MOST_TIMES);
    HB_TRY(HB_NEW(context, *times, list.n));
    memcpy(*times, list.values, list.n * sizeof(double));
    *n = list.n;
    return HB_OK;
}

size_t hb_problem_times(const hb_problem *problem, const double **times)
{
    if (!problem) return 0;
    if (times) *times = problem->n_times ? problem->times : &problem->time;
    return problem->n_times ? problem->n_times : 1;
}
