/* random/choose.h: a component by its weight. */
#pragma once

#include <stddef.h>

/* The component k with cumulative[k-1] < u <= cumulative[k], cumulative[count] being sums of
 * weights. */
static inline size_t hb_random_choose(size_t count, const double *cumulative, double u)
{
    size_t first = 0, last = count - 1;
    while (first < last) {
        const size_t middle = (first + last) / 2;
        if (cumulative[middle] < u)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}
