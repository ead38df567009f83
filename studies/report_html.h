/* studies/report_html.h: text of the page: escaping, numbers of bytes as text, files. */
#ifndef HB_STUDIES_REPORT_HTML_H
#define HB_STUDIES_REPORT_HTML_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* before, the text with the characters that HTML gives a meaning replaced, after. NULL: no text. */
void hb_page_text(FILE *page, const char *before, const char *text, const char *after);
/* The same for text that is read: 4.3e-07, d^-½, e^{Cτ} and C_d get raised and lowered parts. Not
 * inside attributes. */
void hb_page_prose(FILE *page, const char *before, const char *text, const char *after);
/* The first sentence of a text, cut at a word near `most` bytes; prose: set as by hb_page_prose. */
void hb_page_first_sentence(FILE *page, const char *text, size_t most, int prose);
/* object[key] as text, "" when it is missing or no string. */
const char *hb_page_string(const json_t *object, const char *key);

void hb_page_base64(FILE *page, const unsigned char *bytes, size_t n);
/* The bytes of a regular file and a zero behind them, to be given to free(); NULL when it cannot be read, is empty, or
 * is a link or a device. */
char *hb_page_read(const char *path, size_t *size);
json_t *hb_page_read_json(const char *path, json_error_t *error);

#endif
