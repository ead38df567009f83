/* grid/grid_constants.h: the fitted constants of reported errors and of time steps, in one table.
 *
 * What was measured stands beside a constant. The scripts that fitted them are not in the tree;
 * tests/grid/test_grid.c and test_grid_errors.c check the result: at least 95 % of all errors are
 * below the reported ones (docs/explanation/accuracy.md). Limits of memory and time are where they are used. */
#pragma once

/* ---- errors of refinement and of time (grid_extrapolate.c) ---- */

static const double DEEP = 60;       /* below this depth time errors are local */
static const double TIME_FACTOR = 8; /* global error against tolerance, in the core region */
/* Peclet numbers (grid_peclet.c): errors are doubled above the first; above the second the order
 * is asked for. */
static const double DOUBLED = 0.8, FIRST_ORDER = 2;
/* With a pulse in t, from here the order is the first at best. */
static const double PULSE_FIRST_ORDER = 4;
static const double FAST = 0.1;          /* ratio of corrections that leaves the error as it is */
static const double SECOND_ORDER = 0.35; /* ratio that leaves the order unquestioned */
static const double MOST_RATIO = 0.9, MOST_APART = 0.1; /* find_slow */
static const double LARGE = 60, TAIL = 10;              /* find_slow */
/* In three dimensions, whose meshes are coarse, of the first correction: what splines lose of it
 * between nodes. */
static const double BETWEEN = 0.02;
static const double UNEVEN = 3; /* spacing beside a narrow feature, over the smallest in it */
static const double INTERPOLATION_GAIN = 32; /* counted of the 64 */

/* ---- errors of boundaries and of tensor noise (boundary_errors.c) ---- */

static const double WIDER = 0.125; /* of the span, on each side */
static const double WIDER_FACTOR = 1.5;
/* What comes back makes a density of at most FACTOR times the maximum; slopes of e^depth are at
 * least TENTH over the box; above MOST_PART nothing is known; a smaller loss is not counted. */
static const double FACTOR = 3, TENTH = 10, MOST_PART = 1, LEAST_LOST = 1e-6;

/* Tensor noise, of the errors of refinement: without them errors were up to 0.6 (v) and 1.2
 * (slopes) of the reported ones. At a kink of D the score jumps: errors beside it were up to 4.6
 * without its factor. */
static const double V_FACTOR = 1.5, SLOPE_FACTOR = 2.5, KINK_FACTOR = 12;
static const double FLOOR_MARGIN = 20;

/* ---- time steps (time_stepper.c) ---- */

static const double LOCAL_PART = 0.2; /* of the tolerance, for the error of one step */
/* d = 2, 3: of the error of a step for Newton's method (CVODE: 0.1), and of that for its linear
 * systems (CVODE: 0.05). Far corners of a box move fastest and rule the norm: with 0.1 and 0.05
 * the linear systems left the core region behind there at each step, which was wrong by 150
 * tolerances in the end (a chain of three double wells, 64 cells per axis). */
static const double NEWTON_PART = 0.2, LINEAR_PART = 0.01;
/* Beyond this, neighbouring nodes would differ by noise that Newton's method feels in exp(v_j -
 * v_i). */
static const double DEEP_TOLERANCE = 1e-3;

/* ---- narrow initial data, scaled coordinates, boxes that grow (grid_solve.c) ---- */

static const double INITIAL_PART = 0.03; /* of (h/b)^2 */
static const double SCALED_FINER = 1.25; /* cells, where tails keep their shape for long */
static const double SCALED_STEP = 0.025; /* of particles in scaled coordinates */
static const double STRICT = 1.0 / 3;    /* of the tolerance there: many steps add up */
/* An error by the boundary at a requested point above which the box grows there, by dimension;
 * by which part of its span. */
static const double BOUNDARY_PART[] = {1e-5, 1e-2, 3e-2}, GROWTH = 0.15;
static const double NARROW = 1e-3; /* variance of a density instead of a point, over noise^2 time */
