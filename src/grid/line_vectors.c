/* Vectors for CVODE.
 *
 * Debian's SUNDIALS sums one term after the other, which the compiler may not reorder. Here sums run in
 * eight interleaved partial sums, in a fixed order, which become vector instructions, and CVODE's
 * history is corrected in one pass; the rest is SUNDIALS's own. */
#include "grid/line_vectors.h"

#include <math.h>
#include <nvector/nvector_serial.h>

enum { LANES = 8, BLOCK = 2048 };

/* z = p x + q y; z may be x or y. */
static void linear_sum(double p, N_Vector x, double q, N_Vector y, N_Vector z)
{
    const double *a = NV_DATA_S(x), *b = NV_DATA_S(y);
    double *c = NV_DATA_S(z);
    const sunindextype n = NV_LENGTH_S(x), whole = n - n % LANES;
    for (sunindextype i = 0; i < whole; i += LANES) {
        double sums[LANES];
        for (int k = 0; k < LANES; k++) sums[k] = p * a[i + k] + q * b[i + k];
        for (int k = 0; k < LANES; k++) c[i + k] = sums[k];
    }
    for (sunindextype i = whole; i < n; i++) c[i] = p * a[i] + q * b[i];
}

static void scale(double p, N_Vector x, N_Vector z)
{
    const double *a = NV_DATA_S(x);
    double *c = NV_DATA_S(z);
    const sunindextype n = NV_LENGTH_S(z);
    for (sunindextype i = 0; i < n; i++) c[i] = p * a[i];
}

static void fill(double p, N_Vector z)
{
    double *c = NV_DATA_S(z);
    const sunindextype n = NV_LENGTH_S(z);
    for (sunindextype i = 0; i < n; i++) c[i] = p;
}

/* sqrt(mean of (x w)^2) */
static double weighted_norm(N_Vector x, N_Vector w)
{
    const double *a = NV_DATA_S(x), *b = NV_DATA_S(w);
    const sunindextype n = NV_LENGTH_S(x), whole = n - n % LANES;
    double sums[LANES] = {0}, total = 0;
    for (sunindextype i = 0; i < whole; i += LANES)
        for (int k = 0; k < LANES; k++) sums[k] += a[i + k] * b[i + k] * (a[i + k] * b[i + k]);
    for (sunindextype i = whole; i < n; i++) total += a[i] * b[i] * (a[i] * b[i]);
    for (int k = 0; k < LANES; k++) total += sums[k];
    return sqrt(total / (double)n);
}

/* to[j] = factors[j] x + from[j]: the correction of CVODE's whole history, block by block, so that x is
 * read from memory once. */
static int scale_add_multi(int count, double *factors, N_Vector x, N_Vector *from, N_Vector *to)
{
    const sunindextype n = NV_LENGTH_S(x);
    for (sunindextype first = 0; first < n; first += BLOCK) {
        const sunindextype end = first + BLOCK < n ? first + BLOCK : n;
        const double *a = NV_DATA_S(x);
        for (int j = 0; j < count; j++) {
            const double p = factors[j], *b = NV_DATA_S(from[j]);
            double *c = NV_DATA_S(to[j]);
            for (sunindextype i = first; i < end; i++) c[i] = p * a[i] + b[i];
        }
    }
    return 0;
}

N_Vector hb_grid_vector_create(size_t size, SUNContext sun)
{
    N_Vector vector = N_VNew_Serial((sunindextype)size, sun);
    if (!vector) return NULL;
    vector->ops->nvlinearsum = linear_sum;
    vector->ops->nvconst = fill;
    vector->ops->nvscale = scale;
    vector->ops->nvwrmsnorm = weighted_norm;
    vector->ops->nvscaleaddmulti = scale_add_multi;
    return vector;
}
