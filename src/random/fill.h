/* random/fill.h: draws by index on the calling thread, for modules that make their own parallel
 * loops.
 *
 * out[0..n-1] = draws first .. first+n-1; the caller has checked that first+n does not wrap. */
#pragma once

#include "random/philox.h"

void hb_fill_uniform(const hb_vector_kernels *kernels, uint64_t seed, uint64_t stream,
                     uint64_t first, size_t n, double *out);
void hb_fill_normal(const hb_vector_kernels *kernels, uint64_t seed, uint64_t stream,
                    uint64_t first, size_t n, double *out);
