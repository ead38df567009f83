/* The benchmark's formulas as a C programmer would write them; compiled with -O2. */
#ifndef HB_BENCH_PEER_FORMULAS_H
#define HB_BENCH_PEER_FORMULAS_H

#include <stddef.h>

enum { CHAIN_DIM = 10 };

typedef void (*formula)(size_t n, const double *x, double t, double *out);

void c_bistable(size_t n, const double *x, double t, double *out);    /* x, out [n] */
void c_van_der_pol(size_t n, const double *x, double t, double *out); /* x, out [n][2] */
void c_functions(size_t n, const double *x, double t, double *out);   /* x [n][2], out [n] */
void c_chain(size_t n, const double *x, double t, double *out);       /* x, out [n][CHAIN_DIM] */

#endif
