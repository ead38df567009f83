/* The methods: one line each. X(NAME) is hb_method_NAME of the file that has it. Where several rows
 * serve, a method that is requested by name takes the first; auto goes by rank.
 *
 * Read by the command, Python and the pages through hb_method_info. */
#include "solve/method.h"

#define METHODS(X)                                                                                 \
    X(initial)                                                                                     \
    X(linear)                                                                                      \
    X(gradient)                                                                                    \
    X(balance)                                                                                     \
    X(grid)                                                                                        \
    X(particles)                                                                                   \
    X(lag)                                                                                         \
    X(long_run)                                                                                    \
    X(guided)                                                                                      \
    X(walk)                                                                                        \
    X(meanvalue)

#define DECLARATION(name) extern const hb_method_ops hb_method_##name;
#define ROW(name) &hb_method_##name,

METHODS(DECLARATION)

const hb_method_ops *const hb_methods[] = {METHODS(ROW) NULL};
