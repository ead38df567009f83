/* cli/density_line.h: the check of a model's density (heatball/generate.h) as text and as JSON. */
#pragma once

#include <heatball/generate.h>

/* "ln of its integral -0.01 +- 0.003 (...); ..." and the end of the line, to stdout. */
void hb_density_line_print(const hb_density_check *check);

/* Key i of the check in JSON and its value, NaN where it has no rows; NULL behind the last. */
const char *hb_density_line_key(const hb_density_check *check, int i, double *value);
