/* A certificate as JSON: what it is about, the summary, and all lines. NaN and infinity are null;
 * texts that are not UTF-8 cannot stand in JSON, and each of their bytes above 127 becomes '?'.
 * Written by hand: jansson refuses such texts, and its integers end at 2^63, below some seeds. */
#include "base/context.h"
#include "certify/certificate_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *hb_verdict_name(int verdict)
{
    static const char *const names[] = {"holds", "fails", "skipped"};
    return names[verdict];
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

static void json_put_text(FILE *out, const char *text)
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

static void json_put_number(FILE *out, const char *key, double value)
{
    if (isfinite(value))
        fprintf(out, "\"%s\": %.17g, ", key, value);
    else
        fprintf(out, "\"%s\": null, ", key);
}

static void json_put_line(FILE *out, const hb_line *line, int last)
{
    fprintf(out, "    {\"name\": \"%s\", ", line->name);
    json_put_number(out, "tau", line->tau);
    json_put_number(out, "value", line->value);
    json_put_number(out, "error", line->error);
    json_put_number(out, "p_value", line->p_value);
    fprintf(out, "\"verdict\": \"%s\", \"text\": ", hb_verdict_name(line->verdict));
    json_put_text(out, hb_line_text(line));
    fprintf(out, "}%s\n", last ? "" : ",");
}

void hb_certificate_print_json(FILE *out, const hb_certificate *c, const int *drawn)
{
    static const char *const processes[] = {"ou", "ve", "drift"};
    (void)drawn;
    fputs("{\n  \"score\": ", out);
    json_put_text(out, c->name);
    fputs(",\n  \"data\": ", out);
    json_put_text(out, c->data_name);
    fprintf(out,
            ",\n  \"dim\": %d,\n  \"process\": \"%s\",\n  \"rows\": %zu,\n  \"seed\": %" PRIu64
            ",\n  \"level\": %.17g,\n  \"tolerance\": %.17g,\n  \"passed\": %s,\n  \"summary\": ",
            c->dim, processes[c->process], c->n, c->seed, c->level, c->tolerance,
            c->passed ? "true" : "false");
    json_put_text(out, c->summary);
    fputs(",\n  \"lines\": [\n", out);
    for (size_t i = 0; i < c->n_lines; i++) json_put_line(out, &c->lines[i], i + 1 == c->n_lines);
    fputs("  ]\n}\n", out);
}

hb_status hb_certificate_text(hb_context *context, const hb_certificate *certificate,
                              hb_certificate_print *print, const int *drawn, char **out)
{
    size_t size = 0;
    *out = NULL;
    FILE *stream = open_memstream(out, &size);
    int failed = !stream;
    if (stream) {
        print(stream, certificate, drawn);
        failed = ferror(stream) | fclose(stream);
    }
    HB_CHECK(context, !failed, HB_ERROR_MEMORY, "no memory for the text of a certificate");
    return HB_OK;
}

hb_status hb_certificate_json(hb_context *context, const hb_certificate *certificate, char **out)
{
    HB_CHECK(context, certificate && out, HB_ERROR_ARGUMENT, "the certificate or out is NULL");
    char *text;
    *out = NULL;
    hb_status status =
        hb_certificate_text(context, certificate, hb_certificate_print_json, NULL, &text);
    if (status == HB_OK) status = hb_copy_string(context, text, out);
    free(text);
    return status;
}
