/* Squared distances of one point to many; compiled once per instruction set.
 *
 * Differences are taken before they are squared, not |a|^2 + |b|^2 - 2ab, so that equal points are at
 * distance 0 and near ones lose no digits.
 * A number to reproduce: the distance of (1, 2) to (4, 6) has the square 25. */
#include "metrics/distance_kernels.h"
#include "metrics/squared_distances.h"

static void distances(size_t dim, const double *a, size_t count, const double *b, double *out)
{
    size_t i = 0;
    for (; i + STRIPS * LANES <= count; i += STRIPS * LANES) {
        vd strip[STRIPS];
        squared_distances(dim, a, count, b + i, LANES, strip);
        for (size_t s = 0; s < STRIPS; s++) vd_store(out + i + s * LANES, strip[s]);
    }
    for (; i < count; i += LANES) vd_store(out + i, squared_distance(dim, a, count, b + i));
}

const hb_distance_kernel ISA_NAME(hb_distance_kernel) = distances;
