/* walk/walk_march.h: whole walks at once, as Brownian bridges in the gauge that are seen at a few times. */
#ifndef HB_WALK_WALK_MARCH_H
#define HB_WALK_WALK_MARCH_H

#include "walk/walk_scratch.h"

/* The memory of marches, in b->march; nothing where shared->gauge is NULL. */
hb_status hb_march_create(hb_walk_block *b);
void hb_march_destroy(hb_walk_block *b);

/* Ends of the last march, (n, d). */
const double *hb_march_ends(const hb_walk_block *b);

/* The same of led marches, in b->led; on the line alone. */
hb_status hb_led_create(hb_walk_block *b);
void hb_led_destroy(hb_walk_block *b);
/* range[2]: where led marches from x0 end. *fit: 0 where there are none. */
hb_status hb_led_range(hb_walk_block *b, const double *x0, double *range, int *fit);

#endif
