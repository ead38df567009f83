/* studies/page_formula.h: formulas of page_texts.json over the numbers of a study.
 *
 *     exp(mean(s in sets, log(error(s, hb)/error(s, dsm)))) <= 0.9 & seeds > 1
 *
 * has numbers, 'words' or `words`, names and calls with ( ) + - * / < > <= >= == != ! & | as in C;
 * true is 1. A loop is "NAME in LIST", "NAME from A to B" or "NAME of (A, B, ..)". Calls:
 *     sum mean least most at_least at_most (LOOP, F)   over F that is no NaN; at_: its first item
 *     all any (LOOP, F)    join(LOOP, SEPARATOR, WORD): without ""    text(TEXT, VALUE, ..)
 *     if(C, A, B)    pick(I, A, B, ..)    min max(A, B)    isnan isfinite(A)
 *     exp exp2 log sqrt abs floor(A)    nan pi    with_error(VALUE, ERROR), a word
 * A name is looked up in loops and "let", then in the "functions" of the study in page_texts.json,
 * {NAME: [ARGUMENTS, FORMULA]}, then the study is asked. "TEXT @ VALUE, VALUE, .." is a text whose
 * places (study_tools.h) have these values. */
#pragma once

#include "study_tools.h"

typedef struct hb_formula hb_formula;

/* n: how many arguments a formula, a list or a text may have. */
enum { HB_FORMULA_MOST = 32 };

hb_status hb_formula_open(const hb_numbers *numbers, hb_formula **out);
/* HB_ERROR_FORMAT when a formula was wrong, with a sentence that shows it. */
hb_status hb_formula_close(hb_formula *formula);
/* NULL: 1. */
double hb_formula_number(hb_formula *f, const char *text);
/* Binds the names of an object {NAME: FORMULA}. */
void hb_formula_let(hb_formula *f, const json_t *names);
/* How many names are bound; and those beyond so many are no more. */
int hb_formula_bound(const hb_formula *f);
void hb_formula_forget(hb_formula *f, int bound);
/* Fills the places of the texts of one entry: numbers and words of "VALUE, VALUE, ..". */
typedef struct hb_formula_list {
    hb_fill fill;
    double numbers[HB_FORMULA_MOST];
    const char *words[HB_FORMULA_MOST];
} hb_formula_list;
void hb_formula_values(hb_formula *f, const char *values, hb_formula_list *out);
/* The text, "" for NULL; one with a " ±" in front of a NaN ends there, one that begins with NaN is
 * "". It lives as long as f. */
const char *hb_formula_text(hb_formula *f, const char *text);
/* Calls do_it for all items of the loops "LOOP, LOOP, ..", the last one fastest; NULL: once. */
typedef hb_status hb_formula_step(hb_formula *f, void *user);
hb_status hb_formula_each(hb_formula *f, const char *loops, hb_formula_step *do_it, void *user);
