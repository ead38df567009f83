/* heatball/judge.h: the former name of heatball/metrics.h, kept for one release. */
#include <heatball/metrics.h>
