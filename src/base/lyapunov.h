/* base/lyapunov.h: the covariance that a stable linear flow and its noise keep. */
#pragma once

#include <heatball/base.h>

/* C with A C + C A' + 2 D = 0, all (d, d) row by row, D symmetric; *error bounds |C - the solution|
 * entry by entry, from its residual; *rate is -Re of the slowest eigenvalue of A.
 * HB_ERROR_ARGUMENT, naming the eigenvalue, when A is not stable. */
hb_status hb_lyapunov(hb_context *context, size_t d, const double *A, const double *D, double *C,
                      double *error, double *rate);
