/* ball/cubature_law.h: an exact rule for a measure on the heat ball that is given by its law. */
#ifndef HB_BALL_CUBATURE_LAW_H
#define HB_BALL_CUBATURE_LAW_H

#include "ball/shells.h"

/* As hb_cubature_exact, for a measure under which L, q and the direction are independent with the
 * given law; dim, lift and degree (0 to 20) have been checked. */
hb_status hb_cubature_exact_law(hb_context *context, const hb_shell_law *law, int dim, int lift,
                                int degree, hb_cubature **out);
/* The rule of given shells times a sphere rule of the degree. */
hb_status hb_cubature_of_shells(hb_context *context, const hb_shells *shells, int dim, int lift,
                                int degree, hb_cubature **out);

#endif
