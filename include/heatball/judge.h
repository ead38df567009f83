/* heatball/judge.h: the former name of heatball/metrics.h, kept for one release.
 * Second tier: for bindings and tools. */
#include <heatball/metrics.h>
