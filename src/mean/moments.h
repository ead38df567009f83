/* mean/moments.h: means and sums of squared deviations of many columns, merged in a fixed order. */
#pragma once

#include <stddef.h>

typedef struct hb_moments {
    double count;
    size_t columns;
    double *mean, *squares; // (columns): mean, and sum of (value - mean)^2
} hb_moments;

/* Adds rows of values[rows][columns]. */
void hb_moments_add(hb_moments *moments, size_t rows, const double *values);
void hb_moments_merge(hb_moments *moments, const hb_moments *other);
/* The standard error of the mean of one column. */
double hb_moments_error(const hb_moments *moments, size_t column);
