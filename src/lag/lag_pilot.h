/* lag/lag_pilot.h: which lag and which rule serve a point, and the step of the trajectories. */
#ifndef HB_LAG_LAG_PILOT_H
#define HB_LAG_LAG_PILOT_H

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
    int unseen;   /* then: too few paths show the correction; hb_lag_correction is to be claimed */
    int found;    /* 0: no lag has a frame */
    int singular; /* then: because the noise does not reach every direction */
    double log_scale; /* ln of the mean */
    double error;     /* relative, by chance, that is expected of the density */
    double step_bias; /* relative, of the step */
} hb_lag_choice;

/* A choice for each of the points, and *step, which comes with a guess. */
hb_status hb_lag_pilot(const hb_lag_task *task, double *step, hb_lag_choice *choices);

#endif
