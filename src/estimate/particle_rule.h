/* estimate/particle_rule.h: at which lags a particle kernel looks, and with which weights. */
#ifndef HB_ESTIMATE_PARTICLE_RULE_H
#define HB_ESTIMATE_PARTICLE_RULE_H

#include <heatball/base.h>

enum { HB_RULE_NODES = 32 };

typedef struct hb_particle_rule {
    int lift;      /* 0: fixed lag in the full linear frame; else the heat ball with this lift */
    double lag;    /* the fixed lag, or the time that the ball spans */
    int n_main, n; /* nodes 0 .. n_main-1 carry the kernel itself, the others the correction */
    double s[HB_RULE_NODES], weight[HB_RULE_NODES];
    double at_zero; /* weight of the correction's limit s -> 0, which is known */
} hb_particle_rule;

/* Fixed lag with m >= 0 nodes for the correction. */
hb_status hb_rule_lag(hb_context *context, double lag, int m, hb_particle_rule *out);
/* The same from given lags s[n] > 0, rising, of which s[last] is the lag; m falls when there are too
 * few. */
hb_status hb_rule_lag_given(hb_context *context, size_t n, const double *s, size_t last, int m,
                            hb_particle_rule *out);
/* Heat ball that spans `span`, in dim + lift dimensions, with m nodes for each part. */
hb_status hb_rule_ball(hb_context *context, int dim, int lift, double span, int m,
                       hb_particle_rule *out);

#endif
