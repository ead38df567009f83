/* metrics/neighbours.h: what the files about samples share. */
#pragma once

#include <heatball/base.h>

/* dim >= 1; at least `least` rows x[n][dim], all finite. */
hb_status hb_judge_check_rows(hb_context *context, const char *name, size_t least, size_t n,
                              int dim, const double *x);
/* The value below which the fraction q of n sorted values lies, between them linearly. */
double hb_judge_quantile(size_t n, const double *sorted, double q);
/* Median distance among up to 1000 rows of y[m][dim], evenly spaced; HB_ERROR_ARGUMENT when it is
 * 0. */
hb_status hb_judge_median_distance(hb_context *context, size_t dim, size_t m, const double *y,
                                   double *out);
