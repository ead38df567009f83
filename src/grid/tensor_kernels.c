/* The exponentials of the tensor scheme; compiled once per instruction set.
 *
 * A number to reproduce: from v = 0 to v = 2 the root is e = 2.71828. */
#include "grid/tensor_kernels.h"
#include "random/vector.h"

static void roots(size_t n, const double *from, const double *to, double *out)
{
    const size_t whole = n / LANES * LANES;
    const vd half = vd_set(0.5);
    for (size_t i = 0; i < whole; i += LANES)
        vd_store(out + i, vd_exp(vd_mul(half, vd_sub(vd_load(to + i), vd_load(from + i)))));
    if (whole == n) return;
    double rest[3][LANES] = {{0}}; /* from, to, out */
    memcpy(rest[0], from + whole, (n - whole) * sizeof(double));
    memcpy(rest[1], to + whole, (n - whole) * sizeof(double));
    vd_store(rest[2], vd_exp(vd_mul(half, vd_sub(vd_load(rest[1]), vd_load(rest[0])))));
    memcpy(out + whole, rest[2], (n - whole) * sizeof(double));
}

const hb_tensor_kernels ISA_NAME(hb_tensor_kernels) = {.roots = roots};
