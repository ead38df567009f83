/* walk/walk_constants.h: the fitted and chosen constants of this module.
 *
 * Rates, probes, roulette and preferences were set on the bistable, Van der Pol and chain problems
 * (docs/dev/tuning-history.md); limits of flags by tests/python/test_walk_silence.py and
 * test_walk_breaks.py; the rest was chosen. */
#pragma once

/* ---- steps: docs/explanation/walks.md ---- */
static const double PROBE_REACH = 3;       /* standard deviations of a step */
static const double FIRST_RATE = 8;        /* of the first probes, over tau0 */
static const double FINISH_MULTIPLIER = 2; /* of the parametrix that finishes a gauge walk */
static const double BLIND_FACTOR = 4;      /* on the rate where a probe sees no finite drift */
static const double STEP_REACH = 2;        /* the longest step is this over the rate */
static const double LEAST_RATE = 0.3;      /* over tau0 */
static const double RATE_MEMORY = 0.8;     /* gauge in d > 1: rates fall no faster in a step */
static const double MOMENT = 1.3;          /* from the curvature at a probe to the rms of z.R */
static const double JACOBIAN_RATE = 0.5;   /* of |A|, in the rate */

/* ---- plans: docs/explanation/walks.md, "Choice of the estimator" ---- */
static const double PREFERENCE = 0.75;      /* by which longer steps must be better */
static const double WHOLE_PREFERENCE = 0.3; /* the same of reversed walks with p = 1: long tails */
static const double HOPELESS = 8;           /* times the best cost, after one block */
static const double GOOD_BRIDGE = 1;        /* relative variance times cost: no others are tried */

/* ---- the time, where it is limited: chosen ---- */
static const double ROUND_PART = 0.2; /* of the time that is left, for one round */
static const double FEW_PART = 0.2;   /* of the pilot run's, for a few walks where nothing ended */
static const double REST = 0.4; /* of the whole time, that is left for rounds after all trials */

/* ---- flags: test_walk_silence.py, test_walk_breaks.py ---- */
static const double OUTLIER_DISTANCE = 4; /* deviations: of 10^5 walks none comes so far */
static const double STEEPEST = 150;       /* |dF/dx| tau of a drift with kinks */
static const double STIFF = 15;        /* the same of a smooth gradient, but for reversed walks */
static const double MOST_PULSE = 2;    /* of a pulse in t, in the exponent of a weight */
static const double FAR_TAIL = -40;    /* ln u, of walks to a point under a stiff gradient */
static const double MOST_HIDDEN = 0.1; /* of ln u */
static const double RARE_START = 100;  /* weight of a walk that ends in the peak of u0 */
static const double UNREACHED = 4;     /* deviations: one walk in 16000 ends beyond */
static const double LEAST_UNREACHED = 3e-4; /* of E[u0], from there */
static const double BESIDE = 7;             /* deviations of a kink from the path to a point */
static const double BESIDE_ERROR = 1e-5;    /* what no walk may see of it, relative */

/* ---- narrow parts of the drift: lengths over b = sqrt(2 tau); test_walk_silence.py ---- */
static const double NARROW = 0.1, NARROWER = 0.05, RARE = 0.01;
static const double SMALL_EFFECT = 0.1, LARGE_EFFECT = 1; /* on ln u, that the spread shows */
static const double HIDDEN_REACH = 4;                     /* b, beyond x0 and the initial density */
static const double HIDDEN_SLOPES = 3;                    /* times what slopes explain of a jump */

/* ---- rounding: chosen, a few units of the last place ---- */
static const double SUM_ROUNDING = 2e-15; /* of a sum in ln W */
static const double MOST_GROWTH = 1e6;    /* of a linear drift, where ends are drawn */
static const double LARGEST = 300; /* ln of the largest value that is counted, over the scale */
