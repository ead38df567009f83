/* problem/time_cuts.h: times at which every stepper stops, because drift or noise vary fast
 * there. */
#pragma once

#include "formula/graph.h"
#include "problem/time_change.h"

#include <heatball/problem.h>

/* Rising times inside of the span of a problem. No cuts: nothing in the formulas is narrow in t. */
typedef struct hb_time_cuts {
    int n, capacity;
    double *t, *tau; // (n) each
    double unit; /* of tau: what a piece between cuts counts for at least, when steps are chosen */
    int moving; /* some function of x and t was not searched: what it does at a time depends on x */
} hb_time_cuts;

/* Adds cuts in t around what is narrow along t in nodes[n] on [0, span]. */
hb_status hb_time_cuts_add(hb_context *context, const hb_graph *graph, int n, const hb_node *nodes,
                           double span, hb_time_cuts *cuts);
/* Fills tau and unit. */
hb_status hb_time_cuts_map(hb_context *context, const hb_time_change *change, double span,
                           hb_time_cuts *cuts);

const hb_time_cuts *hb_problem_cuts(const hb_problem *problem);
/* The first cut after tau, at most `end`; the last one before tau, or 0. */
double hb_cuts_after(const hb_time_cuts *cuts, double tau, double end);
double hb_cuts_before(const hb_time_cuts *cuts, double tau);
/* The length of a part of a piece between cuts, as steps count it. */
double hb_cuts_worth(const hb_time_cuts *cuts, double from, double to);
/* The times at which a drift is looked at: `even` ones on [0, end], and cuts; how many. */
int hb_cuts_sample(const hb_time_cuts *cuts, double end, int even, double *tau);
