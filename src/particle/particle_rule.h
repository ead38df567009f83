/* particle/particle_rule.h: at which lags a particle kernel looks, and with which weights. */
#pragma once

#include <heatball/base.h>

enum { HB_RULE_NODES = 40 };

/* A rule, and a coarser one whose difference from it shows the error in time. */
typedef struct hb_particle_rule {
    int lift;       /* 0: fixed lag in the full linear frame; else the heat ball with this lift */
    double lag;     /* the fixed lag, or the time that the ball spans */
    int from_start; /* the kernel itself is averaged over u0 near it, not over particles */
    int n_main, n;  /* nodes 0 .. n_main-1 carry the kernel itself, the others the correction */
    double s[HB_RULE_NODES];
    double weight[HB_RULE_NODES]; /* of the rule; 0 at nodes of the coarser one */
    double coarse[HB_RULE_NODES]; /* of the coarser one; 0 at nodes of the rule */
    double at_zero[2]; /* weight of the correction's limit s -> 0, which is known; of both rules */
} hb_particle_rule;

/* In which variable the nodes of a fixed lag are roots, and whether the limit at s = 0 is used. */
typedef enum hb_rule_kind { HB_RULE_ROOT, HB_RULE_ROOT_LIMIT, HB_RULE_PLAIN_LIMIT } hb_rule_kind;

/* Fixed lag with m[0] >= 0 nodes for the correction, m[1] in the coarser rule. */
hb_status hb_rule_lag(hb_context *context, double lag, const int m[2], hb_rule_kind kind,
                      hb_particle_rule *out);
/* The same from given lags s > 0, rising, up to s[last]; m falls when there are too few. */
hb_status hb_rule_lag_given(hb_context *context, const double *s, size_t last, const int m[2],
                            hb_particle_rule *out);
/* Heat ball that spans `span`, in dim + lift dimensions, with m nodes for each part. */
hb_status hb_rule_ball(hb_context *context, int dim, int lift, double span, const int m[2],
                       hb_particle_rule *out);
