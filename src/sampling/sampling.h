/* sampling/sampling.h: rounds of estimators at points until what is asked for is met; their state.
 * A run is one estimator with what it has counted; a sampling is one run, or a few. */
#pragma once

#include "base/context.h"
#include "base/memory.h"
#include "sampling/estimator.h"

enum { HB_MOST_RUNS = 3 };

/* The settings of a solution with all their parts. */
typedef struct hb_solve_plan {
    int method;
    double time; /* the last, of several */
    size_t n_times;
    const double *times; // (n_times), of several times; NULL: time
    size_t n_points;
    hb_mean_settings mean;
    hb_grid_settings grid;
    hb_sampling_settings sampling;
    unsigned given;    /* hb_solve_setting: what differs from its default */
    int ignore_unread; /* settings that the method does not read are no fault */
} hb_solve_plan;

struct hb_solve_facts;

/* What every method asks for; settings are not changed and live as long as this. */
typedef struct hb_solve_task {
    hb_context *context;
    const hb_problem *problem;
    const hb_solve_plan *settings;
    double time;
    size_t n;
    const double *points; // (n, dim)
    const char *why; /* how the method was chosen, which opens the note; NULL: it was asked for */
    size_t stride; /* of several times: numbers from the points of one to those of the next; 0: they
                      are the same */
    const struct hb_solve_facts *facts; /* solve/method.h */
    void *prepared;                     /* what a method hands to its own estimators */
} hb_solve_task;

typedef struct hb_sampling_run {
    hb_estimator estimator;
    uint64_t first;        /* the round that counts as the first; those before were for a choice */
    uint64_t *rounds;      // (n), done since then
    unsigned char *chosen; // (n), 1 where this run gives the answer
    double *accumulators;  // (n, hb_accumulator_size(dim))
    double *diagnostic;    // the same, of draws that only decide about flags
    double *fresh;         // (2, n, ...): both, of the round under way
    unsigned char *wanted; // (n)
    unsigned char *helps;  // (n), 1 where the chosen run is flagged and this one tries
    hb_workspace work;
} hb_sampling_run;

/* How a round is seen from outside. */
typedef struct hb_sampling_report {
    const char *what;      /* the unit of the round under way; NULL: none is */
    double done, total;    /* samples before the round, and in all */
    double fraction, part; /* samples of the round, and how much of it is done */
} hb_sampling_report;

typedef struct hb_sampling {
    hb_context *context;
    hb_context inside; /* a child with the deadline, in which estimators are made and work */
    hb_sampling_report report;
    const hb_sampling_settings *settings;
    size_t n;
    int dim;
    double score_scale;   /* below it a score's error is relative to this */
    uint64_t fingerprint; /* of all that determines the rounds */
    double start, saved;  /* seconds */
    double save_gap;      /* seconds from one save to the next */
    double deadline;      /* of hb_seconds: that of inside, when there is a limit on the time */
    int n_runs;
    hb_sampling_run runs[HB_MOST_RUNS];
    double *score; // (2, dim): a score and its error
} hb_sampling;

/* Sets contexts, settings, n, dim and the start. The sampling stays where it is from now on. */
hb_status hb_sampling_create(hb_context *context, const hb_sampling_settings *settings, size_t n,
                             int dim, double tau, hb_sampling *out);
void hb_sampling_destroy(hb_sampling *sampling); /* a zeroed one is fine */
/* From now on the deadline inside is this part of max_time after the start, if there is one. */
void hb_sampling_allow(hb_sampling *sampling, double part);
/* Adds a run at all points; the estimator is the sampling's from now on, also on failure. */
hb_status hb_sampling_add(hb_sampling *sampling, const hb_estimator *estimator);
/* Removes the last run. */
void hb_sampling_remove(hb_sampling *sampling);
/* Does round k of a run at the points that are wanted, with its diagnostic sample or without, and
 * merges both when they are complete. rounds: before it; total: samples in all. */
hb_status hb_sampling_round(hb_sampling *sampling, hb_sampling_run *run, uint64_t k, int diagnosed,
                            double rounds, double total);
/* Does rounds of all runs until samples, errors or time are reached, and saves the state. */
hb_status hb_sampling_perform(hb_sampling *sampling);
/* The run whose answer counts at a point. */
const hb_sampling_run *hb_sampling_run_of(const hb_sampling *sampling, size_t point);
/* Whether a point has the errors that are asked for; answer (may be NULL) is filled. */
int hb_sampling_has_met(const hb_sampling *sampling, const hb_sampling_run *run, size_t point,
                        hb_answer *answer);
/* Where rounds have ended, no flag is left, and an error that is asked for is still not reached: 1,
 * and the worse one. A limit on the time is no such end. */
typedef struct hb_sampling_miss {
    const char *what;               /* "density", "score" */
    double asked, reached, lasting; /* relative; lasting: the part that no sample mends */
} hb_sampling_miss;
int hb_sampling_missed(const hb_sampling *sampling, const hb_sampling_run *run, size_t point,
                       hb_sampling_miss *out);
/* The same without the question; score[dim] and its error. */
void hb_sampling_answer(const hb_sampling *sampling, const hb_sampling_run *run, size_t point,
                        hb_answer *answer, double *score, double *score_se);

/* sampling_choice.c: decides by rounds that are not counted which run serves which point. */
hb_status hb_sampling_choose(hb_sampling *sampling);

/* sampling_state.c: the file. Load leaves the sampling as it is without one, and *found 0. */
hb_status hb_sampling_fingerprint(const hb_solve_task *task, double tau, hb_sampling *sampling);
hb_status hb_sampling_save(hb_sampling *sampling);
/* Saves when it is time: after the first round, then after gaps that double up to save_every. */
hb_status hb_sampling_keep(hb_sampling *sampling);
hb_status hb_sampling_load(hb_sampling *sampling, int *found);
/* Refuses a path that holds something else than a state. */
hb_status hb_sampling_check_path(hb_context *context, const char *path);
