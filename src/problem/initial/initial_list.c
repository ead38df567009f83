/* The initial densities that have a text: one name each. X(NAME) is the operations
 * hb_initial_NAME of initial_NAME.c. */
#include "problem/initial/initial_ops.h"

#define DENSITIES(X)                                                                               \
    X(gaussian)                                                                                    \
    X(mixture)                                                                                     \
    X(stationary)                                                                                  \
    X(samples)                                                                                     \
    X(uniform)                                                                                     \
    X(product)                                                                                     \
    X(density)                                                                                     \
    X(point)

#define DECLARATION(name) extern const hb_initial_ops hb_initial_##name;
#define ROW(name) &hb_initial_##name,

DENSITIES(DECLARATION)

const hb_initial_ops *const hb_initial_list[] = {DENSITIES(ROW) NULL};
