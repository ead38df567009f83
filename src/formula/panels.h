/* formula/panels.h: a function of one variable as polynomials on adaptive panels, its integral,
 * and the inverse of that integral. The time change and the densities on a line both live on
 * this. */
#pragma once

#include <heatball/base.h>
#include <math.h>

#define HB_PANEL_NODES 17 /* Chebyshev points of a panel, both ends among them */

/* x for a message: processors make NaNs of either sign, readers want one. */
static inline double hb_printable(double x)
{
    return isnan(x) ? (double)NAN : x;
}

/* y[n] at s[n]. May return an error, which is passed on. */
typedef hb_status (*hb_line_function)(void *user, size_t n, const double *s, double *y);

typedef struct hb_panels_settings {
    hb_line_function function;
    void *user;
    double ratio; /* > 0: the function must be positive, and vary on a panel by this factor at most,
                     so that the integral has 1e-13 relative accuracy everywhere */
    double scale; /* errors of 1e-15 times this are no reason to cut a panel */
    double resolved; /* last coefficients against the largest value of a panel; 0: 1e-13 */
    const char *name, *variable; /* "the noise g(t)", "t", for messages */
    const struct hb_features
        *features; /* of the function, narrow cells end panels; NULL: unknown */
} hb_panels_settings;

typedef struct hb_panels hb_panels;

/* On [low, high]. HB_ERROR_ARGUMENT, naming the place, when ratio is given and the function is not
 * positive, or when a value is not finite. */
hb_status hb_panels_create(hb_context *context, const hb_panels_settings *settings, double low,
                           double high, hb_panels **out);
void hb_panels_destroy(hb_context *context, hb_panels *panels);

/* The integral from low to s. Beyond high the function itself is integrated, afresh in each call;
 * below low likewise, with the sign of an integral. */
hb_status hb_panels_integral(hb_context *context, const hb_panels *panels, double s,
                             double *integral);
/* s >= low with integral(low, s) = value >= 0; needs a positive function. */
hb_status hb_panels_inverse(hb_context *context, const hb_panels *panels, double value, double *s);
double hb_panels_total(const hb_panels *panels); /* the integral over [low, high] */
double hb_panels_error(const hb_panels *panels); /* of it: what the last coefficients could add */
