/* ball/check.h: the argument checks that all files of this module share. */
#pragma once

#include <heatball/ball.h>

/* dim is 1 to HB_MAX_DIM, lift is 0 to HB_MAX_DIM, radius is positive and finite; otherwise
 * HB_ERROR_ARGUMENT with a message. */
hb_status hb_ball_check(hb_context *context, int dim, int lift, double radius);
/* measure is one of the three of hb_measure. */
hb_status hb_ball_check_measure(hb_context *context, hb_measure measure);
