/* certify/certify_run.h: what the lines of a certificate share: the score, the rows, and the rows
 * carried to a tau. */
#pragma once

#include "certify/certificate.h"
#include "certify/certify_statistics.h"

enum { HB_CERTIFY_CALL = 16384, HB_CERTIFY_NOISES = 8 }; /* points of one call, noises of a row */

/* Random numbers of a line: stream HB_STREAM_CERTIFY + level * HB_USES + use. */
typedef enum hb_certify_use {
    HB_USE_NOISE,
    HB_USE_NOISE_TRAINING,
    HB_USE_NOISE_ENDS,
    HB_USE_NOISE_REALS,
    HB_USE_PROBES,
    HB_USE_DIRECTIONS,
    HB_USE_RADII, /* and the next three */
    HB_USE_RADII_LAST = HB_USE_RADII + 3,
    HB_USE_BALLS, /* and the next seven: seeds of balls */
    HB_USE_BALLS_LAST = HB_USE_BALLS + 7,
    HB_USE_SIGNS,
    HB_USE_MEAN_SIGNS,
    HB_USE_ORDER,
    HB_USES = 64
} hb_certify_use;

typedef struct hb_certify_run {
    hb_context *context;
    hb_certify_settings settings; /* with all NaN resolved */
    size_t dim, n;
    const double *x; // (n, dim): the rows that are used
    hb_certify_callback score, log_density, divergence;
    void *user;
    const hb_model *model; /* the data are hb_model_to_data of x; NULL: they are x */
    double log_scale;      /* sum of ln scale */
    int own;               /* the score is ours: its values do not depend on the batch */
    double deadline;       /* of max_time, by hb_seconds */
    hb_certificate *out;
} hb_certify_run;

uint64_t hb_certify_stream(size_t level, int use);
/* Another seed for each level and use. */
uint64_t hb_certify_seed(const hb_certify_run *run, size_t level, int use);
/* x (n, dim) of the run in the units of the data. */
void hb_certify_units(const hb_certify_run *run, size_t n, const double *x, double *out);

/* ---- the score (certify_source.c) ---- */

/* score (n, dim) at x (n, dim) and tau (n), finite. */
hb_status hb_certify_score(const hb_certify_run *run, size_t n, const double *x, const double *tau,
                           double *score);
hb_status hb_certify_log_density(const hb_certify_run *run, size_t n, const double *x,
                                 const double *tau, double *v);
/* The score at one tau. */
hb_status hb_certify_score_at(const hb_certify_run *run, size_t n, const double *x, double tau,
                              double *score);
/* Reports the evaluations that are done. */
hb_status hb_certify_progress(const hb_certify_run *run);
/* Between rows of work without evaluations: HB_ERROR_INTERRUPTED after a signal and at the
 * deadline. */
hb_status hb_certify_listen(hb_context *context);
/* div s (n) at one tau: the caller's, or by differences with a step that is small against `width`,
 * the deviation of the noise; in more than HB_CERTIFY_AXES dimensions along random signs, whose
 * mean it is. */
enum { HB_CERTIFY_AXES = 16, HB_CERTIFY_PROBES = 4 };
hb_status hb_certify_divergence(const hb_certify_run *run, size_t level, size_t n, const double *x,
                                double tau, double width, double *divergence);
/* The step of differences over the deviation of the noise. */
extern const double hb_certify_step;

/* ---- rows carried to tau (certify_noise.c) ---- */

/* x(tau) = E x(0) + shift + L e, with e normal, for ou, ve and linear drifts; else paths. */
typedef struct hb_certify_level {
    size_t index;
    double tau, width;     /* width: the least deviation of the noise over directions */
    int gaussian;          /* 0: E, shift and L are not there */
    double *E, *shift, *L; // (dim, dim), (dim), (dim, dim) lower
    hb_workspace work;
} hb_certify_level;

hb_status hb_certify_level_create(const hb_certify_run *run, size_t index, double tau,
                                  hb_certify_level *out);
/* Rows (n, dim) carried to tau: x (n, dim), and target (n, dim) unless NULL, the score of the
 * transition from the row, whose mean at given x is the true score; NaN where it is not known.
 * noise: 0, 2, .. are independent of each other, 1, 3, .. are those turned round (or other
 * paths). */
hb_status hb_certify_carry(const hb_certify_run *run, const hb_certify_level *level, int use,
                           int noise, size_t n, const double *rows, double *x, double *target);
/* y = L^-1 (x - shift), in place: noise of deviation 1. Gaussian levels only. */
void hb_certify_whiten(const hb_certify_level *level, size_t dim, const double *x, double *y);
/* E x + shift (dim). */
void hb_certify_centre(const hb_certify_level *level, size_t dim, const double *x, double *out);

/* ---- the whole (certify.c, certify_settings.c) ---- */

/* The caller's settings over the defaults, checked one by one. */
hb_status hb_certify_settings_read(hb_context *context, const hb_certify_settings *given,
                                   hb_certify_settings *out);
/* All lines of a run that has its context, score, user, and units if it has any. */
hb_status hb_certify_start(hb_certify_run *run, const hb_certify_settings *settings, int dim,
                           size_t n, const double *x, hb_certificate **out);

/* ---- the lines, each in its file ---- */

/* The rows at a tau, with their scores. */
typedef struct hb_certify_rows {
    const hb_certify_level *level;
    size_t n; /* rows */
    /* (n, dim): carried with several noises, 2k and 2k + 1 with e and -e */
    double *x[HB_CERTIFY_NOISES];
    double *target[HB_CERTIFY_NOISES], *score[HB_CERTIFY_NOISES]; // (n, dim)
    double *divergence[HB_CERTIFY_NOISES];                        // (n)
    hb_certify_map *map;
} hb_certify_rows;

hb_status hb_certify_residual(const hb_certify_run *run, const hb_certify_rows *rows);
hb_status hb_certify_log_residual(const hb_certify_run *run, const hb_certify_rows *rows);
hb_status hb_certify_stein(const hb_certify_run *run, const hb_certify_rows *rows);
hb_status hb_certify_mean(const hb_certify_run *run, const hb_certify_rows *rows);
/* The c of u = s - c t with the least noise (certify_mean.c). */
double hb_certify_mix(const hb_certify_run *run, const hb_certify_rows *rows);
/* The median distance among some of the rows x (n, dim); NaN without memory. */
double hb_certify_median(hb_context *context, size_t n, size_t d, const double *x);
hb_status hb_certify_local(const hb_certify_run *run, const hb_certify_rows *rows);
hb_status hb_certify_curl(const hb_certify_run *run, const hb_certify_rows *rows);
hb_status hb_certify_memory(const hb_certify_run *run, const hb_certify_rows *rows);
hb_status hb_certify_truth(const hb_certify_run *run, const hb_certify_rows *rows);
hb_status hb_certify_flow(const hb_certify_run *run); /* samples and likelihood */
/* Distance and density of the map. */
hb_status hb_certify_place(const hb_certify_run *run, const hb_certify_rows *rows);

/* "near (0.3, -1.2)" of a point x; beyond three dimensions its distance to the mean of the rows. */
void hb_certify_where(const hb_certify_run *run, const double *x, size_t size, char *out);
/* The same of that of the first n rows which has the largest of values (n). */
void hb_certify_where_most(const hb_certify_run *run, const hb_certify_rows *rows, size_t n,
                           const double *values, size_t size, char *out);
