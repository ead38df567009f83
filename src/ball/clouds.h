/* ball/clouds.h: nodes on the unit heat ball for the three averages of the hierarchy, by Monte
 * Carlo and by cubature. */
#ifndef HB_BALL_CLOUDS_H
#define HB_BALL_CLOUDS_H

#include <heatball/ball.h>

/* Which average: of F (kappa), of its source, of the source of the score. */
typedef enum hb_cloud_kind { HB_CLOUD_VALUE, HB_CLOUD_SOURCE, HB_CLOUD_SCORE } hb_cloud_kind;

/* Node i stands at x0 + r y_i, tau0 - r^2 s_i. Random clouds hold antithetic pairs, rows 2k (+) and
 * 2k+1 (-), and no weights. */
typedef struct hb_cloud {
    size_t n;
    double *y, *s;  // (n, dim), (n)
    double *weight; // (n), of sum 1; cubature only
    double *arm;    // (n, dim); the score's source is r * mean(arm h_v)
} hb_cloud;

/* What a random cloud is drawn with. */
typedef struct hb_cloud_draw {
    int dim, lift;
    double c_g;                  /* of the ball in dim + lift dimensions */
    uint64_t seeds[2];           /* of one point; see hb_cloud_seeds */
    double *z, *sigma, *uniform; // (pairs, dim), (pairs), (pairs): scratch
} hb_cloud_draw;

/* The seeds of point `index`: its draws depend on no other point. */
hb_status hb_cloud_seeds(hb_context *context, uint64_t seed, uint64_t index, uint64_t seeds[2]);
/* Pairs first .. first+pairs-1: 2*pairs nodes. */
hb_status hb_cloud_random(hb_context *context, const hb_cloud_draw *draw, hb_cloud_kind kind,
                          uint64_t first, size_t pairs, hb_cloud *out);

/* The cubature clouds out[rotations] of a kind: the rule of degree `degree` in the random rotations first,
 * first + 1 .. of the seed; rotation 0 is the rule as built. Destroy each with hb_cloud_destroy, also after a failure. */
hb_status hb_cloud_cubature(hb_context *context, hb_cloud_kind kind, int dim, int lift, int degree,
                            uint64_t seed, int first, int rotations, hb_cloud *out);
void hb_cloud_destroy(hb_context *context, hb_cloud *cloud); /* a zeroed one is fine */

#endif
