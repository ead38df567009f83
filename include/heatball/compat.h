/* heatball/compat.h: what 0.3 has renamed, under its names of 0.2, for this release only.
 * Second tier: for bindings and tools.
 *
 * A program for 0.2 includes this header behind heatball.h and compiles as it is, unless it calls
 * hb_solve_guided, which hb_solve with HB_METHOD_GUIDED replaces. docs/dev/renaming-0.3.md has the
 * table. */
#ifndef HEATBALL_COMPAT_H
#define HEATBALL_COMPAT_H

#include <heatball/heatball.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0.3: the columns of errors, which are standard errors of some methods only */
#define HB_COLUMN_DENSITY_SE HB_COLUMN_DENSITY_ERROR
#define HB_COLUMN_LOG_DENSITY_SE HB_COLUMN_LOG_DENSITY_ERROR
#define HB_COLUMN_SCORE_SE HB_COLUMN_SCORE_ERROR
#define HB_COLUMN_ENTROPY_DENSITY_SE HB_COLUMN_ENTROPY_DENSITY_ERROR

/* 0.3: fields of hb_train_settings, and of hb_budget_settings where a program asks for it, since
 * many have variables `at` and `tau` side by side */
#define ball_share time_fraction
#define clip clip_gradient
#ifdef HB_COMPAT_AT
#define at tau
#endif

/* 0.3: the default; AUTO now names what ScoreDensity(maps="auto") does */
#define HB_STANDARDISE_AUTO HB_STANDARDISE_BY_KIND

#ifdef __cplusplus
}
#endif
#endif
