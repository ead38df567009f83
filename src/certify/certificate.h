/* certify/certificate.h: a certificate inside: its lines, and what the page draws. */
#pragma once

#include "base/memory.h"

#include <heatball/certify.h>

enum {
    HB_CERTIFY_TAUS = 16,
    HB_CERTIFY_LINES = 256,
    HB_CERTIFY_TEXT = 400,
    HB_CERTIFY_BINS = 5,
    HB_CERTIFY_POINTS = 64
};

typedef struct hb_line {
    const char *name;
    double tau, value, error, p_value;
    int verdict; /* hb_verdict */
    int open;    /* Holm decides */
    char good[HB_CERTIFY_TEXT], bad[HB_CERTIFY_TEXT];
} hb_line;

/* What is drawn of one tau. */
typedef struct hb_certify_map {
    double tau;
    size_t n, dim;
    double *x;        // (n, dim): anchors, in the units of the data
    double *residual; // (n): R1.R2 over the mean square of the terms
    /* (n): how far a kernel around the row sees the score off, in standard deviations */
    double *local;
    /* (n): to the nearest other row, carried to tau, in standard deviations of the noise; NaN: not
     * known */
    double *distance;
    /* (n): ln of the mean transition density from the other rows; NaN: not known */
    double *density;
} hb_certify_map;

struct hb_certificate {
    hb_context *context;
    char *name, *data_name;
    double done, total; /* evaluations: so far, and in all, estimated */
    int flows;          /* done is told by the flow */
    size_t batch;       /* points of the next call */
    int cut;            /* max_time was over before the last line */
    int dim, process, passed;
    double level, tolerance;
    uint64_t seed;
    size_t n, n_lines, n_maps;
    hb_line lines[HB_CERTIFY_LINES];
    hb_certify_map maps[HB_CERTIFY_TAUS];
    size_t n_samples;        /* 0: none */
    double *samples, *reals; // (n_samples, dim), in the units of the data
    size_t n_truth;          /* points of `truth` with its score's norm, ours and the error */
    double *truth;           // (n_truth, 4): tau, |s*|, |s - s*|, error
    char summary[HB_CERTIFY_TEXT];
};

hb_status hb_certificate_create(hb_context *context, const hb_certify_settings *settings, int dim,
                                hb_certificate **out);
/* The next line: NaN where there is no tau, error or p-value. */
hb_line *hb_certificate_add(hb_certificate *certificate, const char *name, double tau, double value,
                            double error, double p_value);
/* Prints into line->good, shown when it holds, or line->bad, when it fails. */
void hb_line_say(char *text, const char *format, ...) HB_PRINTF(2, 3);
const char *hb_line_text(const hb_line *line); /* the one that its verdict chooses */
/* A line that says why it was not measured. */
void hb_certificate_skip(hb_certificate *certificate, const char *name, double tau,
                         const char *format, ...) HB_PRINTF(4, 5);
/* Holm's verdicts, passed and the summary. */
void hb_certificate_conclude(hb_certificate *certificate);
