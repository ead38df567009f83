/* sampling/estimator.h: what particles and walks have in common: they add rounds to accumulators.
 *
 * Round k is a function of (problem, settings, seed, k) and, for walks, of the point alone; so
 * rounds can be stopped and resumed at any time, and the number of threads changes no bit. */
#pragma once

#include "sampling/accumulator.h"

#include <heatball/solve.h>

#define HB_DIAGNOSTIC_FIRST ((uint64_t)1 << 32)

typedef struct hb_estimator {
    void *self;
    const char *name;            /* "walk", "particles" */
    const char *unit;            /* "walks", "trajectories" */
    uint64_t samples_per_round;  /* walks per point, or trajectories */
    uint64_t usual;              /* samples when none are asked for */
    uint64_t rounds;             /* that there are; UINT64_MAX, but fewer for paths of the user */
    int exact;                   /* one sample is the answer itself: nothing is drawn */
    const double *known_error;   // NULL, or (n, 1 + dim): of ln u and the score, beside the spread
    const double *lasting_error; // the part of it that no samples make smaller; NULL: all of it
    double *log_scale;           // (n), fixed at creation
    const unsigned char
        *untimely; /* NULL, or (n): 1 where the times that there are do not resolve the
                                    integral over time; all units of such a point count as lost */
    const unsigned char
        *unserved;  /* NULL, or (n): 1 where one round would take more than the time */
    char note[512]; /* what was chosen and why, one line */
    /* Adds round k to accumulators[n][hb_accumulator_size(dim)] of the points with wanted[i] != 0.
     * Progress is reported under the name `unit`. */
    hb_status (*round)(void *self, uint64_t k, const unsigned char *wanted, double *accumulators);
    /* NULL where no samples are left for it, or: adds round k of the diagnostic sample, which
     * decides about flags and is not averaged (sampling.c): as many samples, or a part of them,
     * from HB_DIAGNOSTIC_FIRST + k of the rounds that there are with so many. diagnostic_parts of
     * its units are worth one unit of a round. */
    hb_status (*diagnostic)(void *self, uint64_t k, const unsigned char *wanted,
                            double *accumulators);
    double diagnostic_parts;
    /* NULL, or: rounds of so many samples from now on; 0: there are none of this size. A limit on
     * the time makes rounds smaller, and resuming needs those of the state. */
    int (*resize)(void *self, uint64_t samples_per_round);
    void (*destroy)(void *self); /* frees log_scale too */
} hb_estimator;

/* Appends to a note, of which no more than `limit` characters are used. */
void hb_note_append(char *note, size_t limit, const char *format, ...) HB_PRINTF(3, 4);
