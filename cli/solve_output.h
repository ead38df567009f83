/* cli/solve_output.h: a solution, or several side by side, on the terminal, as JSON or in a file. */
#ifndef HB_CLI_SOLVE_OUTPUT_H
#define HB_CLI_SOLVE_OUTPUT_H

#include "points.h"

#include <heatball/solve.h>

typedef struct hb_solve_shown {
    const hb_points *points;
    size_t n_times;
    const double *times; // (n_times)
    double time, tau;    /* of the last */
    uint64_t seed;
    const char *path; /* of -o; NULL: none */
    int json;
} hb_solve_shown;

/* HB_ERROR_ARGUMENT unless path (NULL is fine) ends in .csv, .npy or .npz. */
hb_status hb_solve_check_path(hb_session *session, const char *path);
hb_status hb_solve_show(hb_session *session, const hb_solve_shown *shown,
                        const hb_solution *solution);

/* One of the methods that were tried. */
typedef struct hb_solve_try {
    const char *name;
    hb_solution *solution; /* NULL: it does not apply */
    char reason[400];      /* then */
    double seconds;
} hb_solve_try;

/* One block per point, one row per method. */
hb_status hb_solve_show_tries(hb_session *session, const hb_solve_shown *shown, int n,
                              const hb_solve_try *tries);

#endif
