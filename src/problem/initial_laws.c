/* The initial densities that have a text: one name each. X(NAME) is the law hb_initial_NAME of initial_NAME.c. */
#include "problem/initial_law.h"

#define LAWS(X)                                                                                    \
    X(gaussian)                                                                                    \
    X(mixture)                                                                                     \
    X(stationary)                                                                                  \
    X(samples)                                                                                     \
    X(uniform)                                                                                     \
    X(product)                                                                                     \
    X(density)                                                                                     \
    X(point)

#define DECLARATION(name) extern const hb_initial_law hb_initial_##name;
#define ROW(name) &hb_initial_##name,

LAWS(DECLARATION)

const hb_initial_law *const hb_initial_laws[] = {LAWS(ROW) NULL};
