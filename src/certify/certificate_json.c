/* A certificate as JSON: what it is about, the summary, and all lines. NaN and infinity are null; texts that are not UTF-8
 * cannot stand in JSON, and each of their bytes above 127 becomes '?'. */
#include "base/context.h"
#include "certify/certificate_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const verdicts[] = {"holds", "fails", "skipped"};

const char *hb_verdict_name(int verdict)
{
    return verdicts[verdict];
}

/* Bytes of the UTF-8 character at text; 0: it is none. */
static size_t utf8_length(const unsigned char *text)
{
    const size_t n = text[0] < 0x80             ? 1
                     : (text[0] & 0xe0) == 0xc0 ? 2
                     : (text[0] & 0xf0) == 0xe0 ? 3
                     : (text[0] & 0xf8) == 0xf0 ? 4
                                                : 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    return n;
}

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        const size_t n = utf8_length(c);
        if (n == 0)
            fputc('?', out);
        else if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(out, "\\u%04x", *c);
        else
            fwrite(c, 1, n, out);
        c += n ? n : 1;
    }
    fputc('"', out);
}

static void put_number(FILE *out, const char *key, double value)
{
    if (isfinite(value))
        fprintf(out, "\"%s\": %.17g, ", key, value);
    else
        fprintf(out, "\"%s\": null, ", key);
}

static void put_line(FILE *out, const hb_line *line, int last)
{
    fprintf(out, "    {\"name\": \"%s\", ", line->name);
    put_number(out, "tau", line->tau);
    put_number(out, "value", line->value);
    put_number(out, "error", line->error);
    put_number(out, "p_value", line->p_value);
    fprintf(out, "\"verdict\": \"%s\", \"text\": ", verdicts[line->verdict]);
    put_text(out, line->verdict == HB_VERDICT_FAILS ? line->bad : line->good);
    fprintf(out, "}%s\n", last ? "" : ",");
}

static void put_all(FILE *out, const hb_certificate *c)
{
    static const char *const processes[] = {"ou", "ve", "drift"};
    fputs("{\n  \"score\": ", out);
    put_text(out, c->name);
    fputs(",\n  \"data\": ", out);
    put_text(out, c->data_name);
    fprintf(out,
            ",\n  \"dim\": %d,\n  \"process\": \"%s\",\n  \"rows\": %zu,\n  \"seed\": %" PRIu64
            ",\n  \"level\": %.17g,\n  \"tolerance\": %.17g,\n  \"passed\": %s,\n  \"summary\": ",
            c->dim, processes[c->process], c->n, c->seed, c->level, c->tolerance,
            c->passed ? "true" : "false");
    put_text(out, c->summary);
    fputs(",\n  \"lines\": [\n", out);
    for (size_t i = 0; i < c->n_lines; i++) put_line(out, &c->lines[i], i + 1 == c->n_lines);
    fputs("  ]\n}\n", out);
}

hb_status hb_certificate_json(hb_context *context, const hb_certificate *certificate, char **out)
{
    HB_CHECK(context, certificate && out, HB_ERROR_ARGUMENT, "the certificate or out is NULL");
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    *out = NULL;
    HB_CHECK(context, stream, HB_ERROR_MEMORY, "no memory for the text of a certificate");
    put_all(stream, certificate);
    const int failed = ferror(stream) | fclose(stream);
    const hb_status status =
        failed ? hb_fail(context, HB_ERROR_MEMORY, "no memory for the text of a certificate")
               : hb_copy_string(context, text, out);
    free(text);
    return status;
}
