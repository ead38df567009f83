/* cli/user_paths.h: trajectories that the user brings, for --method particles. */
#ifndef HB_CLI_USER_PATHS_H
#define HB_CLI_USER_PATHS_H

#include "points.h"

#include <heatball/solve.h>

typedef struct hb_user_paths {
    double *values; // (paths, times, dim), the library's
    hb_points times;
} hb_user_paths;

/* Reads FILE.npy, an array [path][time][dim] ([path][time] for dim 1), and the times: a list, a file, or
 * NULL for times evenly from 0 to time. Fills the settings, which point into out. Destroy in either
 * case. */
hb_status hb_user_paths_read(hb_session *session, const char *path, const char *times, int dim,
                             double time, hb_sampling_settings *settings, hb_user_paths *out);
void hb_user_paths_destroy(hb_session *session, hb_user_paths *paths);

#endif
