/* cli/solve_arrays.h: a solution as the named arrays of a .npz file. */
#ifndef HB_CLI_SOLVE_ARRAYS_H
#define HB_CLI_SOLVE_ARRAYS_H

#include "points.h"

#include <heatball/solve.h>

hb_status hb_solve_write_npz(hb_session *session, const hb_points *points,
                             const hb_solution *solution, const char *path);

#endif
