/* Text of the page. The page is written to a stream in memory, so that a failure shows once, when
 * the stream is closed, and not after every word. */
#include "report_page.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void escape(FILE *page, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        switch (text[i]) {
        case '&': fputs("&amp;", page); break;
        case '<': fputs("&lt;", page); break;
        case '>': fputs("&gt;", page); break;
        case '"': fputs("&quot;", page); break;
        default: fputc(text[i], page);
        }
    }
}

void hb_page_text(FILE *page, const char *before, const char *text, const char *after)
{
    fputs(before, page);
    if (text) escape(page, text, strlen(text));
    fputs(after, page);
}

/* ---- text that is read: exponents, indices, minus signs ---- */

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Writes n bytes raised ("sup") or lowered ("sub"), with true minus signs. */
static void write_shifted(FILE *page, const char *tag, const char *text, size_t n)
{
    fprintf(page, "<%s>", tag);
    for (size_t i = 0; i < n; i++)
        if (text[i] == '-')
            fputs("−", page);
        else
            escape(page, text + i, 1);
    fprintf(page, "</%s>", tag);
}

/* The length of a number with a sign, "-0.95" or "-½", at the start of text; 0: there is none. */
static size_t number_length(const char *text)
{
    const size_t sign = text[0] == '-' || text[0] == '+';
    size_t end = sign;
    while (isdigit((unsigned char)text[end]) ||
           (text[end] == '.' && isdigit((unsigned char)text[end + 1])))
        end++;
    if (strncmp(text + end, "½", strlen("½")) == 0) end += strlen("½");
    return end > sign ? end : 0;
}

/* "e-07" behind a digit becomes a power of ten. Returns the bytes taken, 0: it is something
 * else. */
static size_t write_exponent(FILE *page, const char *text, size_t i)
{
    const char *e = text + i;
    if (i == 0 || *e != 'e' || !isdigit((unsigned char)e[-1])) return 0;
    if ((e[1] != '-' && e[1] != '+') || !isdigit((unsigned char)e[2])) return 0;
    const size_t end = 1 + number_length(e + 1);
    size_t first = 2;
    while (first + 1 < end && e[first] == '0') first++;
    fputs("·10", page);
    fprintf(page, "<sup>%s%.*s</sup>", e[1] == '-' ? "−" : "", (int)(end - first), e + first);
    return end;
}

/* How much of the text behind a '^' is raised: a number or a letter. */
static size_t raised_length(const char *text)
{
    const size_t number = number_length(text);
    return number ? number : isalpha((unsigned char)text[0]) && !is_word(text[1]);
}

/* How much of the text behind the '_' at text[i] is lowered: one letter or digit, max or min,
 * behind a symbol of one letter; so C_d and σ_max, but not det_tau. */
static size_t lowered_length(const char *text, size_t i)
{
    size_t n = 0;
    while (is_word(text[i + 1 + n])) n++;
    const int letter =
        i > 0 && ((unsigned char)text[i - 1] >= 0x80 ||
                  (isalpha((unsigned char)text[i - 1]) && (i < 2 || !is_word(text[i - 2]))));
    const int known =
        n == 3 && (strncmp(text + i + 1, "max", 3) == 0 || strncmp(text + i + 1, "min", 3) == 0);
    return letter && (n == 1 || known) ? n : 0;
}

/* x^2, x^{ab}, C_d, C_{ab}. Returns the bytes taken, 0: it is something else. */
static size_t write_script(FILE *page, const char *text, size_t i)
{
    const char *at = text + i;
    if (*at != '^' && *at != '_') return 0;
    const char *tag = *at == '^' ? "sup" : "sub";
    if (at[1] == '{') {
        const size_t n = strcspn(at + 2, "}");
        if (at[2 + n] != '}') return 0;
        write_shifted(page, tag, at + 2, n);
        return n + 3;
    }
    const size_t n = *at == '^' ? raised_length(at + 1) : lowered_length(text, i);
    if (n == 0) return 0;
    write_shifted(page, tag, at + 1, n);
    return n + 1;
}

/* Is the '-' at text[i] the sign of a number? */
static int is_sign(const char *text, size_t i)
{
    return text[i] == '-' && isdigit((unsigned char)text[i + 1]) &&
           (i == 0 || strchr(" ([|", text[i - 1]));
}

static void write_prose(FILE *page, const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t taken = write_exponent(page, text, i);
        if (!taken) taken = write_script(page, text, i);
        if (!taken && is_sign(text, i)) taken = (fputs("−", page), 1);
        if (!taken) escape(page, text + i, 1);
        i += taken ? taken : 1;
    }
}

void hb_page_prose(FILE *page, const char *before, const char *text, const char *after)
{
    fputs(before, page);
    if (text) write_prose(page, text, strlen(text));
    fputs(after, page);
}

/* ---- sentences ---- */

/* Where the first sentence ends: a stop, then a blank and no small letter ("i.e. this" goes on). */
static size_t sentence_length(const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c == '.' && (c[1] == '\0' || (c[1] == ' ' && !(c[2] >= 'a' && c[2] <= 'z'))))
            return (size_t)(c - text);
    return strlen(text);
}

/* The length of the first sentence, or of the words of it that fit into `most` bytes. */
static size_t words_length(const char *text, size_t most, int *cut)
{
    size_t n = sentence_length(text);
    *cut = n > most;
    if (!*cut) return n;
    for (n = most; n > 1 && text[n] != ' ';) n--;
    while (n > 1 && strchr(" ,;:", text[n - 1])) n--;
    return n;
}

void hb_page_first_sentence(FILE *page, const char *text, size_t most, int prose)
{
    int cut;
    const size_t n = words_length(text, most, &cut);
    if (prose)
        write_prose(page, text, n);
    else
        escape(page, text, n);
    if (cut) fputs(" …", page);
}

const char *hb_page_string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

void hb_page_base64(FILE *page, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const unsigned second = i + 1 < n ? bytes[i + 1] : 0, third = i + 2 < n ? bytes[i + 2] : 0;
        const unsigned word = (unsigned)bytes[i] << 16 | second << 8 | third;
        fputc(digits[word >> 18], page);
        fputc(digits[word >> 12 & 63], page);
        fputc(i + 1 < n ? digits[word >> 6 & 63] : '=', page);
        fputc(i + 2 < n ? digits[word & 63] : '=', page);
    }
}

char *hb_page_read(const char *path, size_t *size)
{
    struct stat about;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "rb") : NULL;
    if (!file) {
        if (descriptor >= 0) close(descriptor);
        return NULL;
    }
    const int regular = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
    char *text = regular && about.st_size > 0 ? malloc((size_t)about.st_size + 1) : NULL;
    if (text) {
        *size = fread(text, 1, (size_t)about.st_size, file);
        text[*size] = '\0';
    }
    fclose(file);
    return text;
}

json_t *hb_page_read_json(const char *path, json_error_t *error)
{
    size_t size = 0;
    char *text = hb_page_read(path, &size);
    snprintf(error->text, sizeof error->text, "it is empty, or no regular file");
    json_t *result = text ? json_loadb(text, size, 0, error) : NULL;
    free(text);
    return result;
}
