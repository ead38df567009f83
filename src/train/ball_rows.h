/* train/ball_rows.h: the rows of a heat-ball loss: a micro-batch's anchors and the nodes of the
 * balls behind them (heatball/balls.h), as points of its model. */
#pragma once

#include "train/trainer.h"

#include <heatball/balls.h>

/* What all micro-batches of a heat-ball loss share: trainer->common. */
typedef struct hb_ball_common {
    hb_balls *balls;
    size_t nodes; /* of one ball */
    double C1;
} hb_ball_common;

/* A constraint over heat balls by NAME_create and NAME_add, its scratch an hb_scratch at its
 * beginning. */
#define HB_BALL_CONSTRAINT(name, of_recipe, prepares, of_many, anchors_of_many)                    \
    {                                                                                              \
        .weight = (of_recipe), .most_weight = (of_recipe), .target_rows = 512,                     \
        .spares_small_tau = 1, .balls = 1, .many = {(of_many), (anchors_of_many), 4},              \
        .prepare = (prepares), .discard = hb_ball_discard, .create = name##_create,                \
        .add = name##_add                                                                          \
    }

/* The balls of a training: nodes of degree 3, or few directions, as many as the setting `nodes`
 * says. */
hb_status hb_ball_prepare(hb_trainer *trainer);
hb_status hb_ball_prepare_directions(hb_trainer *trainer);
void hb_ball_discard(hb_trainer *trainer);

/* Rows: the anchors, then for each anchor its nodes. */
typedef struct hb_ball_rows {
    size_t rows;
    double *z, *tau;        // (rows, dim), (rows)
    double *weight, *shift; // (rows): of the nodes
    double *scale, *radius; // (anchors)
    hb_noise_level *level;  // (rows)
    int *labels;            // (rows), NULL without classes
} hb_ball_rows;

/* As hb_scratch_create, with a tape for all these rows, whose number *rows becomes. */
hb_status hb_ball_scratch_create(hb_micro_batch *micro, size_t bytes, hb_model_want want,
                                 size_t *rows, void *out);
/* Its rows in the table of a workspace. */
#define HB_BALL_ROWS(micro, at, n, dim)                                                            \
    HB_ARRAY((at).z, (n) * (dim)), HB_ARRAY((at).tau, (n)), HB_ARRAY((at).weight, (n)),            \
        HB_ARRAY((at).shift, (n)), HB_ARRAY((at).scale, (micro)->anchors),                         \
        HB_ARRAY((at).radius, (micro)->anchors), HB_ARRAY((at).level, (n)),                        \
        HB_ARRAY_IF((micro)->anchor.labels, (at).labels, (n))

/* The rows of the micro-batch's anchors. more: what is wanted besides, in rows of its own from the
 * first node on. slope, reference_slope (anchors, dim) of few directions, else NULL. */
hb_status hb_ball_rows_place(hb_micro_batch *micro, const double *slope,
                             const double *reference_slope, const hb_balls_values *more,
                             hb_ball_rows *out);

/* Few directions along the slope of the network, for a loss whose scratch has this and no other
 * slopes. */
typedef struct hb_ball_slopes {
    float *input, *value, *slope; // (anchors, inputs), (anchors), (anchors, inputs)
    float *reference, *scratch;   // (anchors, dim), (2, anchors, dim): grad v_ref
    double *ahead, *behind;       // (anchors, dim): grad w, up to a factor, and grad v_ref
} hb_ball_slopes;
#define HB_BALL_SLOPES(few, wanted, m, inputs, dim)                                                \
    HB_ARRAY_IF(wanted, (few).input, (m) * (inputs)), HB_ARRAY_IF(wanted, (few).value, (m)),       \
        HB_ARRAY_IF(wanted, (few).slope, (m) * (inputs)),                                          \
        HB_ARRAY_IF(wanted, (few).reference, (m) * (dim)),                                         \
        HB_ARRAY_IF(wanted, (few).scratch, 2 * (m) * (dim)),                                       \
        HB_ARRAY_IF(wanted, (few).ahead, (m) * (dim)),                                             \
        HB_ARRAY_IF(wanted, (few).behind, (m) * (dim))
hb_status hb_ball_slopes_create(hb_micro_batch *micro);
/* Of the anchors of a step. */
hb_status hb_ball_slopes_look(hb_micro_batch *micro, hb_ball_slopes *at);

/* -ln Q, and below 0.2 its tangent there; slope: its derivative. */
double hb_minus_log(double Q, double *slope);
