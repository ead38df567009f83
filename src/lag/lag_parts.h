/* lag/lag_parts.h: what the files of particles under a matrix share. */
#ifndef HB_LAG_LAG_PARTS_H
#define HB_LAG_LAG_PARTS_H

#include "lag/lag_estimator.h"
#include "lag/lag_pilot.h"

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

#endif
