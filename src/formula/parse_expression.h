/* formula/parse_expression.h: what the parser and its messages share. */
#pragma once

#include "formula/graph.h"

enum { HB_MAX_SUMS = 5 }; /* names for the index of a sum: i j k l m */

typedef struct hb_scope {
    char name;
    long value;
} hb_scope;

typedef struct hb_parser {
    hb_graph *graph;
    const char *text, *what;
    size_t at;   /* bytes read */
    int depth;   /* of nesting */
    long terms;  /* of all sums so far */
    int indexed; /* the last whole number has one of i j k l m */
    int skips;   /* sums around this place that are empty: what is read there is not used */
    hb_scope scope[HB_MAX_SUMS + 1]; /* indices with a value: `i` of the caller, those of sums */
    int n_scope;
} hb_parser;

/* Fails with "what: <sentence>", then the text and a caret below byte `place` of it. HB_PLACE in
 * the sentence becomes "at column N". */
#define HB_PLACE "\x01"
hb_status hb_parser_fail(const hb_parser *parser, size_t place, const char *format, ...)
    HB_PRINTF(3, 4);
/* The message for a place where `wanted` was expected; knows signs of other languages. */
hb_status hb_parser_unexpected(const hb_parser *parser, const char *wanted);
/* The message for a name that nobody knows. */
hb_status hb_parser_unknown(const hb_parser *parser, size_t place, size_t length);
