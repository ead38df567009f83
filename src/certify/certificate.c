/* The lines of a certificate and the one verdict over all of them.
 *
 * Holm (1979): with p_1 <= p_2 <= ... <= p_m, lines are rejected in this order while p_k <=
 * alpha/(m - k + 1). The chance that any true line is rejected is alpha = 1 - level at most,
 * however the lines depend on each other. Lines in which nothing is random (p NaN) have their
 * verdict already. A number to reproduce: p = 0.01, 0.02, 0.04 at level 0.95: 0.01 <= 0.05/3 and
 * 0.02 <= 0.05/2 and 0.04 <= 0.05: all three are rejected; with 0.03 in the place of 0.02 only the
 * first. */
#include "certify/certificate.h"
#include "base/context.h"
#include "base/sized.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

hb_status hb_certificate_create(hb_context *context, const hb_certify_settings *settings, int dim,
                                hb_certificate **out)
{
    *out = NULL;
    hb_certificate *c;
    HB_TRY(HB_NEW_CLEARED(context, c, 1));
    c->context = context;
    c->dim = dim;
    c->process = settings->process;
    c->level = settings->level;
    c->tolerance = settings->tolerance;
    c->seed = settings->seed;
    const char *name = settings->name ? settings->name : "the score";
    const char *data = settings->data_name ? settings->data_name : "the rows";
    hb_status status = hb_copy_string(context, name, &c->name);
    if (status == HB_OK) status = hb_copy_string(context, data, &c->data_name);
    if (status != HB_OK) hb_certificate_destroy(c);
    *out = status == HB_OK ? c : NULL;
    return status;
}

void hb_certificate_destroy(hb_certificate *c)
{
    if (!c) return;
    hb_context *context = c->context;
    for (size_t k = 0; k < c->n_maps; k++) hb_release(context, c->maps[k].x);
    hb_release(context, c->samples);
    hb_release(context, c->truth);
    hb_release(context, c->name);
    hb_release(context, c->data_name);
    hb_release(context, c);
}

hb_line *hb_certificate_add(hb_certificate *c, const char *name, double tau, double value,
                            double error, double p_value)
{
    /* settings allow fewer lines than there are places */
    if (c->n_lines < HB_CERTIFY_LINES) c->n_lines++;
    hb_line *line = &c->lines[c->n_lines - 1];
    *line = (hb_line){
        .name = name, .tau = tau, .value = value, .error = error, .p_value = p_value, .open = 1};
    return line;
}

void hb_line_say(char *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, HB_CERTIFY_TEXT, format, arguments);
    va_end(arguments);
}

const char *hb_line_text(const hb_line *line)
{
    return line->verdict == HB_VERDICT_FAILS ? line->bad : line->good;
}

void hb_certificate_skip(hb_certificate *c, const char *name, double tau, const char *format, ...)
{
    hb_line *line = hb_certificate_add(c, name, tau, NAN, NAN, NAN);
    line->verdict = HB_VERDICT_SKIPPED;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line->good, sizeof line->good, format, arguments);
    va_end(arguments);
}

/* ---- verdicts ---- */

static int is_tested(const hb_line *line)
{
    return line->verdict != HB_VERDICT_SKIPPED && !isnan(line->p_value);
}

/* Rejects the smallest p among the lines that are open while it is small enough. */
static void holm(hb_certificate *c)
{
    size_t left = 0;
    for (size_t i = 0; i < c->n_lines; i++) left += is_tested(&c->lines[i]) != 0;
    for (; left > 0; left--) {
        hb_line *least = NULL;
        for (size_t i = 0; i < c->n_lines; i++) {
            hb_line *line = &c->lines[i];
            if (is_tested(line) && line->open && (!least || line->p_value < least->p_value))
                least = line;
        }
        if (least->p_value > (1 - c->level) / (double)left) return;
        least->open = 0;
        least->verdict = HB_VERDICT_FAILS;
    }
}

/* "curl (tau 0.02, 0.1), samples" of the lines that fail. */
static void list_failures(const hb_certificate *c, size_t size, char *out)
{
    size_t at = 0;
    const char *last = NULL;
    out[0] = '\0';
    for (size_t i = 0; i < c->n_lines && at + 1 < size; i++) {
        const hb_line *line = &c->lines[i];
        if (line->verdict != HB_VERDICT_FAILS) continue;
        const int same = last && strcmp(last, line->name) == 0;
        if (isnan(line->tau))
            at += (size_t)snprintf(out + at, size - at, "%s%s", last ? "; " : "", line->name);
        else if (same)
            at += (size_t)snprintf(out + at, size - at, ", %g", line->tau);
        else
            at += (size_t)snprintf(out + at, size - at, "%s%s at tau %g", last ? "; " : "",
                                   line->name, line->tau);
        last = line->name;
    }
}

static void summarise(hb_certificate *c)
{
    size_t fails = 0, measured = 0;
    char list[HB_CERTIFY_TEXT - 100];
    for (size_t i = 0; i < c->n_lines; i++) {
        measured += c->lines[i].verdict != HB_VERDICT_SKIPPED;
        fails += c->lines[i].verdict == HB_VERDICT_FAILS;
    }
    c->passed = fails == 0 && !c->cut;
    list_failures(c, sizeof list, list);
    if (fails == 0 && c->cut)
        snprintf(c->summary, sizeof c->summary,
                 "not finished: none of %zu lines fails at the level of %g %%, the others were not "
                 "measured within max_time",
                 measured, 100 * c->level);
    else if (fails == 0)
        snprintf(c->summary, sizeof c->summary,
                 "passed: none of %zu lines fails at the level of %g %%", measured, 100 * c->level);
    else
        snprintf(c->summary, sizeof c->summary,
                 "not passed: %zu of %zu lines fail at the level of %g %%: %s", fails, measured,
                 100 * c->level, list);
}

/* A line of 0/0 says nothing: of a score that is 0 everywhere there is no relative error. */
static void set_aside(hb_certificate *c)
{
    for (size_t i = 0; i < c->n_lines; i++) {
        hb_line *line = &c->lines[i];
        if (line->verdict != HB_VERDICT_HOLDS || !isnan(line->value)) continue;
        line->verdict = HB_VERDICT_SKIPPED;
        line->error = line->p_value = NAN;
        hb_line_say(line->good, "not defined: the score or its terms are 0 here");
    }
}

void hb_certificate_conclude(hb_certificate *c)
{
    set_aside(c);
    holm(c);
    summarise(c);
}

/* ---- what callers see ---- */

int hb_certificate_passed(const hb_certificate *certificate)
{
    return certificate ? certificate->passed : 0;
}

const char *hb_certificate_summary(const hb_certificate *certificate)
{
    return certificate ? certificate->summary : "";
}

size_t hb_certificate_size(const hb_certificate *certificate)
{
    return certificate ? certificate->n_lines : 0;
}

hb_status hb_certificate_line_get(hb_context *context, const hb_certificate *certificate,
                                  size_t index, size_t size, hb_certificate_line *out)
{
    HB_SIZED_CHECK(context, hb_certificate_line, size, out);
    HB_CHECK(context, certificate, HB_ERROR_ARGUMENT, "the certificate is NULL");
    HB_CHECK(context, index < certificate->n_lines, HB_ERROR_ARGUMENT,
             "index is %zu; the certificate has %zu lines", index, certificate->n_lines);
    const hb_line *line = &certificate->lines[index];
    const hb_certificate_line found = {.name = line->name,
                                       .tau = line->tau,
                                       .value = line->value,
                                       .error = line->error,
                                       .p_value = line->p_value,
                                       .verdict = line->verdict,
                                       .text = hb_line_text(line)};
    HB_SIZED_WRITE(found, size, out);
    return HB_OK;
}
