/* train/trainer.h: what the files of this room share: a run, its micro-batches, and what a loss is.
 *
 * A step's rows are cut into micro-batches, in a number that the batch alone decides. Each
 * micro-batch draws its rows, adds its losses and its gradient in arrays of its own; the loop adds
 * micro-batches in their order. So threads change no bit. */
#pragma once

#include "base/context.h"
#include "base/memory.h"
#include "net/model_parts.h"
#include "net/net_tape.h"
#include "net/optimiser.h"
#include "random/streams.h"

#include <heatball/train.h>

typedef struct hb_trainer hb_trainer;
typedef struct hb_micro_batch hb_micro_batch;
typedef struct hb_pool hb_pool; /* drift_pool.h */

/* Where rows, their targets and anchors come from: data under the noise of OU or VE (draw.c), or
 * simulated paths of a user's drift (drift_draw.c). Chosen once, when a trainer is made; nothing
 * else asks for the process. create and destroy may be NULL. */
typedef struct hb_row_source {
    double weight, falls_from; /* factor of a recipe's weight; dim from which it falls, or 0 */
    hb_status (*create)(hb_trainer *trainer);
    void (*destroy)(hb_trainer *trainer);
    hb_status (*create_micro_batch)(
        hb_micro_batch *micro);                  /* micro->drawing, in micro->drawing_work */
    hb_status (*begin)(hb_trainer *trainer);     /* of a step, before its micro-batches draw */
    hb_status (*rows)(hb_micro_batch *micro);    /* micro->rows, with targets as noise */
    hb_status (*anchors)(hb_micro_batch *micro); /* micro->anchor */
    /* The drift F (n, dim) at points, and what v_ref leaves there of the Fokker-Planck equation;
     * jacobian NULL: of v, left (n); else dF_i/dz_j (n, dim, dim), and of the score, left (n,
     * dim). */
    hb_status (*terms)(hb_context *alone, const hb_trainer *trainer, const hb_points *points,
                       double *F, double *jacobian, double *left);
} hb_row_source;

extern const hb_row_source hb_rows_of_data, hb_rows_of_drift;

/* The recipe of a constraint above 64 dimensions (docs/explanation/losses.md). */
typedef struct hb_recipe {
    double weight;
    int anchors, every; /* constraint_every */
} hb_recipe;

/* What a loss adds to denoising score matching. create makes the micro-batch's scratch
 * (hb_scratch_create) for up to micro->anchors anchors; add runs after hb_dsm_add, which sets
 * micro->gradient: it adds its gradient, times settings.weight and trainer->ramp, and its value to
 * micro->losses. Both are divided by the anchors of the whole step, since micro-batches are summed.
 * It is not called without anchors. All but add may be NULL; discard goes with prepare. */
typedef struct hb_constraint {
    double weight, most_weight; /* of its recipe: up to three dimensions, and at most above */
    int target_rows;            /* of its recipe */
    int spares_small_tau;       /* has no anchors there */
    int balls;                  /* averages over balls, fewer in more dimensions */
    hb_recipe many;             /* anchors 0: none of its own */
    hb_status (*prepare)(hb_trainer *trainer);
    void (*discard)(hb_trainer *trainer);
    hb_status (*create)(hb_micro_batch *micro);
    hb_status (*add)(hb_micro_batch *micro);
} hb_constraint;

extern const hb_constraint hb_constraint_fp_score, hb_constraint_hb_score, hb_constraint_hb_drift;

/* A loss: its constraint by the model's head, and with a user's drift where that is another one. A
 * new loss is a file that defines hb_loss_NAME, and its name in the list of losses.c. */
typedef struct hb_loss_ops {
    const hb_constraint *energy, *other; /* NULL: denoising alone */
    const hb_constraint *drift;          /* NULL: by the head */
} hb_loss_ops;

extern const hb_loss_ops *const hb_loss_list[]; /* by the value of hb_loss; NULL at the end */

/* Below this tau anchors serve log-densities only, and may be less dense (anchor_density). */
#define HB_ANCHOR_TAU 0.02

typedef enum hb_loss_column {
    HB_LOSS_OF_DSM,
    HB_LOSS_OF_CONSTRAINT,
    HB_LOSS_RESIDUAL2,
    HB_LOSSES
} hb_loss_column;

/* Rows that a loss is taken at. */
typedef struct hb_rows {
    size_t n;
    double *z;             // (n, dim)
    float *noise;          // (n, dim)
    double *root;          // (n): the miss of a target is weighted with its square; not of anchors
    double *weight;        // (n): how much a row counts; of anchors: a factor of the residual
    hb_noise_level *level; // (n)
    int *labels;           // (n), NULL without classes
} hb_rows;

struct hb_micro_batch {
    hb_context alone; /* a child of one thread: for calls from a task */
    hb_trainer *trainer;
    size_t first, count;          /* rows of the batch */
    size_t first_anchor, anchors; /* of the step */
    hb_rows rows, anchor;
    double *uniform;                // (max(count, anchors))
    hb_model_tape *tape;            /* of denoising score matching */
    float *score, *score_cotangent; // (count, dim)
    float *gradient;                // (parameters): of the trainer's gradients
    double *losses;                 // (HB_LOSSES): likewise
    void *scratch;                  /* the constraint's; begins with an hb_scratch */
    void *drawing;                  /* the source's */
    hb_workspace work, drawing_work;
};

struct hb_trainer {
    hb_context *context;
    /* The user's, with what they leave open chosen; drift: NULL unless the process has one. */
    hb_train_settings settings;
    const hb_row_source *source;
    const hb_constraint *constraint;
    hb_problem *own; /* settings.drift of an SDE as typed, in the coordinates of its frame */
    hb_model *model; /* its parameters are those being trained */
    size_t n;
    const double *z;      // (n, dim)
    const int *labels;    // (n) or NULL
    size_t *order;        // (n): the epoch's
    uint64_t order_epoch; /* + 1; 0: none yet */
    uint64_t steps_per_epoch;
    double ramp;           /* of this step, 0 to 1 */
    double anchor_density; /* of anchors below HB_ANCHOR_TAU, per ln tau, over that above */
    size_t n_micro_batches;
    hb_micro_batch *micro_batches; // (n_micro_batches)
    void *common;                  /* the constraint's, for all micro-batches */
    const float *aside; /* directions of balls follow these weights; NULL: those being trained */
    hb_pool *pool;      /* the source's */
    hb_adam_settings adam;
    hb_adam_state state;
    size_t stride;    /* of a micro-batch's gradient: its parameters, up to a whole cache line */
    float *gradients; // (n_micro_batches, stride): the sum over micro-batches ends in the first
    double *losses;   // (n_micro_batches, HB_LOSSES)
    double seconds;   /* of training before this run */
    double *log;      // (log_rows, HB_LOG_COLUMNS)
    size_t log_rows;
    uint64_t log_every;
    double log_sums[HB_LOSSES + 1]; /* since the last row; the norm is last */
    uint64_t log_count;
    double recent, recent_weight; /* loss of the last steps: fading sums of it and of weights */
    hb_workspace work;
};

enum { HB_LOG_COLUMNS = 8, HB_LOG_MOST_ROWS = 1000 };

/* Streams from HB_STREAM_TRAIN on. */
enum {
    HB_STREAM_TAU,
    HB_STREAM_NOISE,
    HB_STREAM_LABEL,
    HB_STREAM_ANCHOR_TAU,
    HB_STREAM_ANCHOR_NOISE,
    HB_STREAM_ANCHOR_ROW,
    HB_STREAM_CLOUD
};

/* The rows of train_settings.c: refuses what is out of range; all that the weights depend on as
 * text. */
hb_status hb_train_settings_check(hb_context *context, hb_train_settings *settings);
size_t hb_train_settings_print(const hb_train_settings *settings, size_t size, char *out);

/* From context, settings and n, which the caller sets in a zeroed trainer. Destroy it also after a
 * failure. */
hb_status hb_trainer_create(hb_trainer *trainer, int dim, int classes, const double *data,
                            const int *labels);
void hb_trainer_destroy(hb_trainer *trainer);

/* Of an SDE as typed (typed_rows.c): trainer->own in the place of settings.drift, and the rows y
 * (n, dim) of data in its frame, to be released; otherwise *y is NULL. */
hb_status hb_typed_rows(hb_trainer *trainer, int dim, const double *data, double **y);
/* column_maps.c: a map for each column, axes (dim), and the mapped rows y (n, dim). */
hb_status hb_column_maps(hb_trainer *trainer, int dim, const double *data, hb_axis_map *axes,
                         double *y);

/* The beginning of a constraint's scratch: what it runs the network with; each may be NULL. The
 * micro-batch destroys it. */
typedef struct hb_scratch {
    hb_model_tape *tape;
    hb_net_tape *jets, *slopes;
    hb_workspace arrays;
} hb_scratch;
/* bytes of zeros as micro->scratch, whose address *out becomes as well, with a tape for so many
 * rows (0: none). */
hb_status hb_scratch_create(hb_micro_batch *micro, size_t bytes, hb_model_want want, size_t rows,
                            void *out);

/* ln u of the model at rows of a constraint's own, for its add. */
typedef struct hb_row_values {
    double *v;            // (rows): v_ref after forward; w is to be added
    float *w, *cotangent; // (rows): of the network, and what backward takes; 0 after forward
    float *scratch;       // (2, rows, dim)
} hb_row_values;
/* Its arrays in the table of a workspace. */
#define HB_ROW_VALUES(values, rows, dim)                                                           \
    HB_ARRAY((values).v, (rows)), HB_ARRAY((values).w, (rows)),                                    \
        HB_ARRAY((values).cotangent, (rows)), HB_ARRAY((values).scratch, 2 * (rows) * (dim))
hb_status hb_row_values_forward(hb_micro_batch *micro, const hb_points *points,
                                hb_row_values *values);
hb_status hb_row_values_backward(hb_micro_batch *micro, const hb_row_values *values);

/* ---- the part of a step that one task does (micro_batch.c) ---- */

/* Destroy it also when create failed. */
hb_status hb_micro_batch_create(hb_trainer *trainer, size_t index, hb_micro_batch *micro);
void hb_micro_batch_destroy(hb_micro_batch *micro);
/* Its rows of trainer->state.step: gradient and losses from zero. */
hb_status hb_micro_batch_step(hb_micro_batch *micro);

/* The terms of the two sources of rows, on this thread (drift_terms.c). Of v_ref is left
 *     d_tau v - Lap v - |grad v|^2 + F.grad v + div F,
 * which is 0 for OU and VE, and for scores its gradient. */
hb_status hb_linear_terms(hb_context *alone, const hb_trainer *trainer, const hb_points *points,
                          double *F, double *jacobian, double *left);
hb_status hb_drift_terms(hb_context *alone, const hb_trainer *trainer, const hb_points *points,
                         double *F, double *jacobian, double *left);

/* What sources share: tau of rows first .. of `total` in a step, and noise. */
hb_status hb_draw_levels(hb_micro_batch *micro, int stream, size_t first, size_t total,
                         hb_rows *rows);
hb_status hb_draw_noise(hb_micro_batch *micro, int stream, size_t first, size_t total,
                        hb_rows *rows);

hb_status hb_dsm_add(hb_micro_batch *micro);
/* Replaces the noise of the micro-batch's rows by its mean given z over target_rows rows of data,
 * if it is not 0. */
hb_status hb_target_create(hb_micro_batch *micro);
hb_status hb_target_average(hb_micro_batch *micro);

/* How much an anchor of a constraint counts: b, under OU and VE no less than at tau = 0.02, since
 * an error of ln u at small tau is the integral of the scaled residual over ln tau; above 64
 * dimensions a b, since a network memorises rows at small tau. */
double hb_anchor_weight(const hb_noise_level *level, int dim);

/* h(r) = r^2/2 for |r| <= 1, |r| - 1/2 beyond; slope: its derivative. */
double hb_huber(double r, double *slope);

/* Checkpoints: the model, Adam's state and the log. resume: 1 when there was one, which must have
 * been made with the same settings and data. */
hb_status hb_checkpoint_write(const hb_trainer *trainer, double seconds);
hb_status hb_checkpoint_read(hb_trainer *trainer, int *resumed);

/* last: the run ends here, so a row is made of what there is. */
hb_status hb_log_add(hb_trainer *trainer, double norm, double seconds, int last);
hb_status hb_log_write(const hb_trainer *trainer);
