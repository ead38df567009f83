/* train/balls.h: nodes on the heat balls behind a shard's anchors, in the frame without drift.
 *
 * OU and VE are the heat equation in y = z/a, s = b/(2 a^2). A node (y, sigma) of the unit ball
 * stands at y_0 + r y, s_0 - r^2 sigma with r^2 = 4 pi f s_0, which is z = a y at the tau of that
 * s. */
#ifndef HB_TRAIN_BALLS_H
#define HB_TRAIN_BALLS_H

#include "ball/clouds.h"
#include "train/trainer.h"

/* The nodes of a ball are the 2 dim points +-rho q_i of one shell, rho^2 = E_kappa|z|^2, at sigma = E_kappa sigma, q_i
 * the columns of one of HB_BALL_ROTATIONS rotations Q: exact to parabolic degree 3. They serve the averages with arms
 * as well, with arms y/2, since E[y.arm] = E_kappa|y|^2/2. Above HB_BALL_MOST_DIM, where rotations fill the memory,
 * fewer are kept, and each anchor takes D Q with signs D of its own in the place of Q; HB_BALL_LAST_DIM is the end.
 * With the energy head there are few directions in the place of all of them above HB_BALL_MOST_DIM
 * (ball_directions.c). */
enum { HB_BALL_MOST_DIM = 64, HB_BALL_LAST_DIM = 2048, HB_BALL_ROTATIONS = 64 };

/* What all shards of a heat-ball loss share: trainer->common. */
typedef struct hb_ball_common {
    hb_cloud rotated[HB_BALL_ROTATIONS];
    uint32_t rotations; /* that there are */
    size_t nodes;       /* of one ball: 2 dim */
    double C1;
    double to_scaled; /* the scaled residual over the residual: 4 s_0/(C1 r^2) = 1/(pi f C1) */
} hb_ball_common;

/* A constraint over heat balls whose file has create and add, its scratch an hb_scratch at its beginning. */
#define HB_BALL_CONSTRAINT(of_recipe, prepares, of_many, anchors_of_many)                          \
    {                                                                                              \
        .weight = (of_recipe), .most_weight = (of_recipe), .target_rows = 512,                     \
        .spares_small_tau = 1, .balls = 1, .many = {(of_many), (anchors_of_many), 4},              \
        .prepare = (prepares), .discard = hb_ball_discard, .create = create, .add = add            \
    }

hb_status hb_ball_prepare(hb_trainer *trainer);
/* The same without nodes. */
hb_status hb_ball_prepare_constants(hb_trainer *trainer);
void hb_ball_discard(hb_trainer *trainer);

typedef struct hb_ball_rows {
    size_t rows;
    double *z;             // (rows, dim)
    hb_noise_level *level; // (rows)
    int *labels;           // (rows), NULL without classes
} hb_ball_rows;

/* Its rows in the table of a workspace. */
#define HB_BALL_ROWS(shard, at, n, dim)                                                            \
    HB_ARRAY((at).z, (n) * (dim)), HB_ARRAY((at).level, (n)),                                      \
        HB_ARRAY_IF((shard)->anchor.labels, (at).labels, (n))

/* Row i: anchor i. */
void hb_ball_place_anchor(const hb_shard *shard, size_t i, hb_ball_rows *out);
/* From `row` on: the nodes of a cloud behind anchor i. */
void hb_ball_place_cloud(const hb_shard *shard, size_t i, const hb_cloud *cloud, size_t row,
                         hb_ball_rows *out);
double hb_ball_radius(const hb_shard *shard, size_t i);

/* The level at the time h of the frame before anchor i. */
void hb_ball_level(const hb_shard *shard, size_t i, double h, hb_noise_level *out);

/* Few directions in the place of all nodes (ball_directions.c), for a loss whose scratch has this and no other slopes. */
typedef struct hb_ball_directions {
    float *input, *value, *slope; // (anchors, inputs), (anchors), (anchors, inputs)
    float *reference, *scratch;   // (anchors, dim), (2, anchors, dim): grad v_ref
    double *basis, *weight;       // (1 + directions, dim), (nodes)
} hb_ball_directions;
#define HB_BALL_DIRECTIONS(few, wanted, m, inputs, dim, nodes)                                     \
    HB_ARRAY_IF(wanted, (few).input, (m) * (inputs)), HB_ARRAY_IF(wanted, (few).value, (m)),       \
        HB_ARRAY_IF(wanted, (few).slope, (m) * (inputs)),                                          \
        HB_ARRAY_IF(wanted, (few).reference, (m) * (dim)),                                         \
        HB_ARRAY_IF(wanted, (few).scratch, 2 * (m) * (dim)),                                       \
        HB_ARRAY_IF(wanted, (few).basis, (nodes) * (dim)),                                         \
        HB_ARRAY_IF(wanted, (few).weight, (nodes))
size_t hb_ball_directions_nodes(const hb_trainer *trainer); /* of a ball */
hb_status hb_ball_directions_create(hb_shard *shard, hb_ball_directions *out);
/* grad w, up to a factor, and grad v_ref at the anchors of a step; then the nodes of anchor i from `row` on. */
hb_status hb_ball_directions_look(hb_shard *shard, hb_ball_directions *at);
hb_status hb_ball_directions_place(hb_shard *shard, size_t i, hb_ball_directions *at, size_t row,
                                   hb_ball_rows *out);

/* The number of anchor i in the whole run: what its random draws depend on. */
uint64_t hb_ball_number(const hb_shard *shard, size_t i);
/* The nodes of anchor i; turned: HB_BALL_CLOUD of scratch, which *out may be made of. */
hb_status hb_ball_cloud(hb_shard *shard, size_t i, hb_cloud *turned, const hb_cloud **out);
#define HB_BALL_CLOUD(cloud, nodes, dim)                                                           \
    HB_ARRAY_IF((dim) > HB_BALL_MOST_DIM, (cloud).y, (nodes) * (dim))

#endif
