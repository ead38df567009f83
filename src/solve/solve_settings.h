/* solve/solve_settings.h: the settings of hb_solve with all their parts, checked. */
#ifndef HB_SOLVE_SOLVE_SETTINGS_H
#define HB_SOLVE_SOLVE_SETTINGS_H

#include "sampling/sampling.h"

/* The settings (NULL: defaults) with all their parts; the problem's time where they have none. */
hb_status hb_solve_plan_read(hb_context *context, const hb_problem *problem,
                             const hb_solve_settings *settings, hb_solve_plan *out);
/* Numbers out of range, paths that are not as they must be. */
hb_status hb_solve_plan_check(hb_context *context, const hb_solve_plan *plan, int dim);
hb_status hb_solve_check_points(hb_context *context, int dim, size_t n, const double *points);
/* The name of one bit of hb_solve_setting, as the command and Python have it. */
const char *hb_solve_setting_name(unsigned setting);

#endif
