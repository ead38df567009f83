/* lag/lag_pilot.h: which lag and which rule serve a point, and the step of the trajectories. */
#pragma once

#include "lag/lag_estimator.h"
#include "lag/lag_paths.h"

typedef struct hb_lag_task {
    hb_context *context;
    const hb_problem *problem;
    size_t d, n;
    const double *points; // (n, d)
    double end;           /* the time at which kernels end */
    double reach;         /* the longest lag */
    double samples;       /* that are asked for */
    uint64_t seed;        /* of the pilot */
    double gain;          /* of a halved step: lag_paths.c */
    int frozen;           /* see lag_frame.h */
    const double *start;  // (n_start, d): where trajectories start; NULL: they are drawn
    size_t n_start;
} hb_lag_task;

/* What serves a point. */
typedef struct hb_lag_choice {
    double lag;
    int rule;
    int from_start; /* see lag_frame.h */
    int unseen;   /* then: too few paths show the correction; hb_lag_correction is to be reported */
    int found;    /* 0: no lag has a frame */
    int singular; /* then: because the noise does not reach every direction */
    double log_scale; /* ln of the mean */
    double error;     /* relative, by chance, that is expected of the density */
    double step_bias; /* relative, of the step */
} hb_lag_choice;

/* A choice for each of the points, and *step, which comes with a guess. */
hb_status hb_lag_pilot(const hb_lag_task *task, double *step, hb_lag_choice *choices);

/* ---- lag_estimator.c ---- */

enum { HB_MOST_ENDS = 32 };

/* The ends that every trajectory is looked at before. */
typedef struct hb_lag_horizon {
    size_t n_ends;
    double end[HB_MOST_ENDS];
    double step;    /* first guess */
    size_t round;   /* trajectories of a round, at most */
    int halves;     /* do the first and the second half of the ends agree? */
    char note[160]; /* empty: nothing to say */
} hb_lag_horizon;

/* All of the task but its end and reach. */
hb_status hb_lag_task_make(hb_context *context, const hb_problem *problem,
                           const hb_sampling_settings *settings, size_t n, const double *points,
                           hb_lag_task *out);
/* The least and the largest |A| at the points, within 1e-3 .. 1e3; A = df/dx. */
hb_status hb_lag_rates(const hb_lag_task *task, double rates[2]);
#define HB_LAG_REACH 32.0 /* the longest lag, in units of 1/|A| at the flattest point */
hb_status hb_lag_estimator_over(const hb_lag_task *task, const hb_lag_horizon *horizon,
                                const hb_sampling_settings *settings, hb_estimator *out);
