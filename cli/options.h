/* cli/options.h: one option parser for every command.
 *
 * A command declares a struct of values and a static table of options that says where in the struct
 * each value goes, what it may be and what it means. The same table parses the command line, fills
 * in the defaults, words every refusal and prints --help, so that no two commands read an option
 * differently and no help page lies.
 *
 *     typedef struct ball_values { int dim; double radius; } ball_values;
 *     #define VALUES ball_values
 *     static const hb_option ball_options[] = {
 *         HB_OPTION(INTEGER, "dim", "D", dim, "dimension", .max = 9, .rules = HB_OPTION_REQUIRED),
 *         HB_OPTION(REAL, "radius", "R", radius, "radius", .max = 5, .fallback = "1"),
 *         {0}};
 *
 * Accepted: --dim 3, --dim=3, -n 5, -n5. A value may begin with '-'. Integers must be integral to
 * the last digit (1e6 is), reals finite unless the table says otherwise. */
#pragma once

#include <heatball/settings.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

typedef enum hb_option_kind {
    HB_OPTION_FLAG,     /* int: 1 when given */
    HB_OPTION_INTEGER,  /* int; 0 when neither given nor defaulted */
    HB_OPTION_UNSIGNED, /* uint64_t; likewise */
    HB_OPTION_REAL,     /* double; NaN when neither given nor defaulted */
    HB_OPTION_TEXT,     /* const char *, a piece of argv; NULL when neither given nor defaulted */
    HB_OPTION_CHOICE,   /* int, an index into choices; -1 when neither given nor defaulted */
    HB_OPTION_REALS,    /* hb_reals: numbers separated by commas; empty likewise */
    HB_OPTION_TEXTS,    /* hb_texts: may be given several times; empty likewise */
    HB_OPTION_EARLIER /* hb_earlier: a file of an earlier run, whose options hold where the line has none */
} hb_option_kind;

typedef struct hb_reals {
    size_t n;
    double *values; // (n)
} hb_reals;

typedef struct hb_texts {
    size_t n;
    const char **values; // (n), pieces of argv, in the order of the line
    size_t n_earlier;    /* of them, the last ones: from a file of an earlier run */
} hb_texts;

/* A run as an object of its options, each as one types it; a .csv and a table have it in a line. */
typedef struct hb_earlier {
    const char *path; /* NULL: not given */
    json_t *object;   /* what was given, here or there, and says what is computed */
    json_t *typed;    /* of that, what the command itself has; NULL: all */
} hb_earlier;
enum { HB_CONFIGURATION_NUMBER = 32 };
/* A number in the fewest digits that give it back. */
void hb_configuration_number(double value, char text[HB_CONFIGURATION_NUMBER]);
/* "# problem: {...}", to be released with free; NULL: no memory. */
char *hb_configuration_line(const json_t *object);

enum hb_option_rule {
    HB_OPTION_REQUIRED = 1,
    HB_OPTION_POSITIONAL = 2, /* no name on the command line; its place among positionals counts */
    HB_OPTION_ABOVE = 4,      /* a real must be above min, not at it */
    HB_OPTION_BELOW = 8,      /* and below max */
    HB_OPTION_INFINITE = 16,  /* inf and -inf are values */
    HB_OPTION_NAN = 32,       /* nan is a value */
    HB_OPTION_WRITES = 64,    /* a text: the name of a file that the run writes (outputs.h) */
    HB_OPTION_FIGURE =
        128, /* the same of a figure; with both, a figure where the name ends in .png */
    HB_OPTION_OPEN =
        256, /* of a setting: its default is not filled in, so that one sees what was given */
    HB_OPTION_HIDDEN = 512, /* not in --help */
    HB_OPTION_APART = 1024  /* says nothing about what is computed */
};

typedef struct hb_option {
    const char *name; /* without the dashes; NULL: only the letter */
    char letter;      /* 0: none */
    hb_option_kind kind;
    const char *placeholder; /* "D"; may be NULL for flags and choices */
    const char *help;        /* what it means; range and default are added from the fields below */
    double min, max;         /* both 0: the kind's whole range; infinite: no bound on that side */
    unsigned rules;          /* OR of hb_option_rule */
    const char *fallback;    /* the default, as one would type it; NULL: none */
    const char *const *choices;        /* ends with NULL */
    const char *const *(*names)(void); /* instead of choices: a list of the library's own */
    size_t offset;                     /* of the value in the struct of values */
    /* An option of a setting of the library: kind, range, default, names and help are those of
     * the row of its field, unless they are given here. */
    const hb_setting *(*setting)(size_t index);
    size_t field;    /* its offset in the library's struct */
    const char *old; /* its name in the release before, which is read with a note; NULL: none */
    const char *const *old_choices; /* pairs, before and now, read likewise; NULL: none */
    const char *gone; /* why it has no effect any more, for the note; NULL: it has one */
    const char
        *instead; /* names by blanks: an earlier run's, which this one replaces; NULL: none */
    const char *heading; /* a row that is no option: in --help those below stand under it */
} hb_option;

/* A row of a table: kind, name (NULL: only a letter, or positional), placeholder, the member of
 * the struct that the file calls VALUES, help, and any other fields by name. */
#define HB_OPTION(of, word, value, member, ...)                                                    \
    {                                                                                              \
        .kind = HB_OPTION_##of, .name = (word), .placeholder = (value),                            \
        .offset = offsetof(VALUES, member), .help = __VA_ARGS__                                    \
    }

#define HB_OPTION_HEADING(words)                                                                   \
    {                                                                                              \
        .heading = (words)                                                                         \
    }

/* An option of field `member` of prefix_settings, which is `settings` in the struct
 * prefix_values; OPEN: see above. */
#define HB_OPTION_BY(prefix, member)                                                               \
    .setting = prefix##_setting, .field = offsetof(prefix##_settings, member),                     \
    .offset = offsetof(prefix##_values, settings.member)
#define HB_OPTION_SETTING(prefix, option, value, member, ...)                                      \
    {                                                                                              \
        .name = (option), .placeholder = (value), HB_OPTION_BY(prefix, member), __VA_ARGS__        \
    }
/* The name of a field that is a choice. */
#define HB_OPTION_NAME(prefix, settings, member)                                                   \
    hb_options_name(prefix##_setting, offsetof(prefix##_settings, member), (settings)->member)
const char *hb_options_name(const hb_setting *(*setting)(size_t index), size_t field, int value);

/* A table (at most 64 entries, the last one {0}) and the struct that its values go to. */
typedef struct hb_option_section {
    const char *title; /* heading in --help */
    const hb_option *options;
    void *values;
} hb_option_section;

enum { HB_OPTIONS_SECTIONS = 4, HB_OPTIONS_MESSAGE = 512 };

/* The row of an option's setting; NULL: it has none. */
const hb_setting *hb_options_setting(const hb_option *option);
/* An option with all that its setting says, or a heading; 0 at the end of a table. */
int hb_options_complete(const hb_option *row, hb_option *out);
/* The values of all options that are settings, into the library's struct, unless they are open
 * and not given. */
void hb_options_settings(const hb_option *options, const void *values, void *settings);
/* The choices of an option; NULL: it has none. */
const char *const *hb_options_choices(const hb_option *option);
/* "one, two or three" */
void hb_options_join(const char *const *names, size_t size, char *out);
/* Reads argv[0 .. argc-1] into the structs of the sections (the last one has options NULL).
 * HB_ERROR_ARGUMENT: message holds one line. HB_OK: it is empty, or a note about names of options
 * that have changed. Release in either case. */
hb_status hb_options_parse(const hb_option_section *sections, int argc, char *const *argv,
                           char message[HB_OPTIONS_MESSAGE]);
void hb_options_release(const hb_option_section *sections);

/* The word nearest to text in a list that ends with NULL; NULL when none is near enough to
 * suggest. */
const char *hb_options_nearest(const char *text, const char *const *words);

/* Replaces control characters, line breaks among them, by '?': for what a user typed. */
void hb_options_clean(char *text);

/* What an option may be, as "a whole number from 1 to 1000000"; "" for a flag or a text. */
void hb_options_allowed(const hb_option *option, size_t size, char *out);

/* help.c: the page of a command, made from its tables. */
typedef struct hb_help {
    const char *command, *text;
    const char *const *examples; /* lines; the last one is NULL */
} hb_help;
void hb_options_help(FILE *out, const hb_help *help, const hb_option_section *sections);
