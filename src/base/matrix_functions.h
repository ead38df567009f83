/* base/matrix_functions.h: the functions of a matrix that a linear drift leads to. */
#ifndef HB_BASE_MATRIX_FUNCTIONS_H
#define HB_BASE_MATRIX_FUNCTIONS_H

#include <stddef.h>

/* out = factor a b, all (d, d); out is neither a nor b. */
void hb_matrix_multiply(size_t d, double factor, const double *a, const double *b, double *out);

/* The largest sum of |a_ij| over a row of a (d, d). */
double hb_matrix_norm(size_t d, const double *a);

/* Doubles of work that hb_linear_functions needs. */
#define HB_LINEAR_WORK(d) (4 * (d) * (d))

/* E = e^(-As), K = int_0^s e^(-Av) dv, C = 2 int_0^s e^(-Av) e^(-A'v) dv; A, E, K, C are (d, d). With
 * s < 0 left out: pass -A for the functions of the forward flow. */
void hb_linear_functions(size_t d, const double *A, double s, double *E, double *K, double *C,
                         double *work);

#endif
