/* lag/lag_paths.h: trajectories at the times of kernels of short lags, and what each gives. */
#pragma once

#include "lag/lag_frame.h"
#include "path/trajectories.h"

enum { HB_MOST_LAGS = 9 };

/* Lags before one or several ends, and the times that they need. */
typedef struct hb_lag_times {
    size_t n_lags, n_ends, n_times;
    double lag[HB_MOST_LAGS];
    double *end;    // (n_ends)
    double *times;  // (n_times), rising
    size_t *column; // (n_lags, n_ends, HB_LAG_NODES): which of the times
    hb_workspace work;
} hb_lag_times;

hb_status hb_lag_times_create(hb_context *context, size_t n_lags, const double *lag, size_t n_ends,
                              const double *end, hb_lag_times *out); /* ends rise */
void hb_lag_times_destroy(hb_lag_times *times);

/* n trajectories and their coarse twins at all times, with their drifts. */
typedef struct hb_lag_paths {
    size_t n, stride, d;
    double *x[2], *f[2]; // (n_times, stride, d) each
} hb_lag_paths;

/* Trajectories first .. first+n-1 of the plan, with the times of `times`, into x, f. tau: (n). */
hb_status hb_lag_paths_make(hb_context *context, const hb_path_plan *plan, uint64_t first, size_t n,
                            const hb_lag_paths *paths, double *tau);
int hb_lag_path_is_lost(const hb_lag_paths *paths, size_t n_times, size_t path);

/* a, b[d], da, db[d], step: u, its gradient, their differences by step and rule, by the step. */
size_t hb_lag_row(size_t d);
size_t hb_lag_row_work(size_t d);
/* Adds the row of one path: means over the ends from..to-1 of the times, by the rule (0: the
 * finest; the next coarser one is its check), extrapolated in the step, whose error falls by
 * gain + 1 when it is halved. rule -1: rows of all rules that have a check, one after the other. */
void hb_lag_add_row(const hb_lag_frame *frame, const hb_lag_times *times, size_t lag, size_t from,
                    size_t to, const hb_lag_paths *paths, size_t path, int rule, double gain,
                    double log_scale, double *row, double *work);
