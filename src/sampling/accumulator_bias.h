/* sampling/accumulator_bias.h: the part of an accumulator that shows its bias. */
#ifndef HB_SAMPLING_ACCUMULATOR_BIAS_H
#define HB_SAMPLING_ACCUMULATOR_BIAS_H

#include <stddef.h>

size_t hb_bias_size(size_t d); /* doubles */
/* n units gave these differences, da[n] and db[n][d], between a rule and a coarser one. */
void hb_bias_differ(size_t d, double *bias, size_t n, const double *da, const double *db);
void hb_bias_merge(size_t d, double *bias, const double *other);

/* The bias of the density, relative, where a has the mean A. */
double hb_bias_density(size_t d, const double *bias, double A);
/* Of component k of the score, which is S. */
double hb_bias_score(size_t d, const double *bias, double A, size_t k, double S);

#endif
