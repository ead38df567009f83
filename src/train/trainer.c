/* A run made ready: settings checked, the model with its reference, the data in its coordinates,
 * micro-batches. The number of micro-batches is ceil(batch/MICRO_BATCH_ROWS), and 2 at least from a
 * batch of LEAST_ROWS on, whatever the threads. What a setting leaves open (steps, weight,
 * time_fraction, anchors, anchor_spread, anchor_tau_min, target_rows, constraint_every, standardise)
 * is chosen here, into the trainer's own copy of the settings. Rows under an SDE as typed go into
 * the coordinates of its frame first (typed_rows.c); nothing else here knows of them. */
#include "train/trainer.h"
#include "mean/ball_rule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 16 /* floats of a cache line */ };
enum { MICRO_BATCH_ROWS = 128, LEAST_ROWS = 64, MOST_MICRO_BATCHES = 64 };

/* The constants that were fitted (docs/dev/tuning-history.md has what was measured); the weights of
 * each loss stand in its own hb_constraint. */
/* bench/loss_by_family.py 32: above this dimension the constraint is taken in some steps only */
enum { EVERY_STEP_MOST_DIM = 16, SPARSE_EVERY = 4 };
static const double SPARSE_WEIGHT = 0.7;
/* docs/dev/tuning-history.md: anchors, nodes of a step, fraction of a ball's radius */
static const double LEAST_ANCHORS = 16, MOST_ANCHORS = 64;
/* docs/explanation/losses.md, "Log-densities at small tau" */
static const double SMALL_TAU_DENSITY = 0.5;
static const double NODES = 576, MOST_NODES = 1040, BALL_FRACTION = 0.03, BALL_PER_DIM = 0.16;
/* bench/few_images.py: above 64 dimensions */
static const double MANY_BALL_PER_DIM = 0.128, FEW_ROWS = 1000, MOST_OF_FEW = 10;

static hb_status trainer_check_data(hb_context *context, size_t n, const double *data, int classes,
                                    const int *labels)
{
    HB_CHECK(context, data, HB_ERROR_ARGUMENT, "data is NULL");
    HB_CHECK(context, classes == 0 || labels, HB_ERROR_ARGUMENT,
             "there are %d classes, but labels is NULL", classes);
    for (size_t i = 0; classes > 0 && i < n; i++)
        HB_CHECK(context, labels[i] >= 0 && labels[i] < classes, HB_ERROR_ARGUMENT,
                 "the label of row %zu is %d; it must be 0 to %d", i + 1, labels[i], classes - 1);
    return HB_OK;
}

/* ---- made and destroyed ---- */

/* By the process and the head: where rows come from, the constraint, the scales of the data. */
static void trainer_choose_kinds(hb_trainer *t)
{
    hb_train_settings *s = &t->settings;
    const hb_loss_ops *ops = hb_loss_list[s->loss];
    const int drift = s->process == HB_PROCESS_DRIFT;
    t->source = drift ? &hb_rows_of_drift : &hb_rows_of_data;
    t->constraint = s->head == HB_HEAD_ENERGY ? ops->energy : ops->other;
    if (drift && ops->drift) t->constraint = ops->drift;
    if (!drift) s->drift = NULL;
    if (s->standardise == HB_STANDARDISE_AUTO) s->standardise = HB_STANDARDISE_MAPS;
    if (s->standardise == HB_STANDARDISE_BY_KIND)
        s->standardise = drift                 ? HB_STANDARDISE_NO
                         : s->image_height > 0 ? HB_STANDARDISE_COMMON
                                               : HB_STANDARDISE_AXIS;
}

/* Shift, scale and reference; of MAPS behind the maps of the columns, if any needs one. */
static hb_status trainer_set_reference(hb_trainer *t, int dim, const double *data)
{
    hb_workspace work;
    hb_axis_map *axes;
    double *y; // (n, dim)
    const int maps = t->settings.standardise == HB_STANDARDISE_MAPS;
    int needed = 0;
    if (!maps)
        return hb_model_set_reference(t->context, t->model, t->settings.standardise, t->n, data);
    HB_TRY(HB_WORKSPACE(t->context, &work, HB_ARRAY(axes, (size_t)dim),
                        HB_ARRAY(y, t->n * (size_t)dim)));
    hb_status status = hb_column_maps(t, dim, data, axes, y);
    for (int j = 0; j < dim; j++) needed |= axes[j].kind != HB_AXIS_SAME;
    if (status == HB_OK)
        status = hb_model_set_reference(t->context, t->model, HB_STANDARDISE_AXIS, t->n, y);
    if (status == HB_OK && needed) status = hb_model_set_maps(t->context, t->model, axes);
    hb_workspace_destroy(&work);
    return status;
}

static hb_status trainer_create_model(hb_trainer *t, int dim, int classes, const double *data)
{
    const hb_train_settings *s = &t->settings;
    hb_model_info info = {.dim = dim,
                          .classes = classes,
                          .head = s->head,
                          .process = s->process,
                          .width = s->width,
                          .depth = s->depth,
                          .skip = s->skip,
                          .time_features = s->time_features,
                          .tau_min = s->tau_min,
                          .tau_max = s->tau_max,
                          .seed = s->seed,
                          .image_height = s->image_height,
                          .image_width = s->image_width,
                          .pixel_low = s->pixel_low,
                          .pixel_high = s->pixel_high,
                          .samples = t->n};
    snprintf(info.loss, sizeof info.loss, "%s", hb_loss_names()[t->settings.loss]);
    HB_TRY(hb_model_create(t->context, &info, &t->model));
    if (s->columns) HB_TRY(hb_model_set_columns(t->context, t->model, s->columns));
    HB_TRY(trainer_set_reference(t, dim, data));
    /* the last layer starts at 0: the first model is the Gaussian reference */
    return hb_net_initialise(t->context, t->model->net, s->seed, 0, t->model->parameters);
}

static hb_status trainer_create_arrays(hb_trainer *t, const double *data)
{
    const size_t parameters = t->model->info.parameters, n = t->n, d = (size_t)t->model->info.dim;
    double *z;
    t->stride = (parameters + LINE - 1) / LINE * LINE;
    HB_TRY(HB_WORKSPACE(t->context, &t->work,
                        HB_ARRAY(t->gradients, t->n_micro_batches * t->stride),
                        HB_ARRAY(t->losses, t->n_micro_batches * HB_LOSSES),
                        HB_ARRAY(t->state.first, parameters), HB_ARRAY(t->state.second, parameters),
                        HB_ARRAY(t->state.average, parameters), HB_ARRAY(z, n * d),
                        HB_ARRAY(t->order, n), HB_ARRAY(t->log, HB_LOG_MOST_ROWS * HB_LOG_COLUMNS),
                        HB_ARRAY(t->micro_batches, t->n_micro_batches)));
    memset(t->micro_batches, 0, t->n_micro_batches * sizeof(hb_micro_batch));
    hb_model_standardise(t->model, n, data, z);
    t->z = z;
    return HB_OK;
}

/* Above EVERY_STEP_MOST_DIM fp and hb take their constraint in every fourth step: the same gain at
 * half the cost. */
static int trainer_is_sparse(const hb_constraint *constraint, double dim)
{
    return dim > EVERY_STEP_MOST_DIM && constraint->spares_small_tau;
}

/* A residual is a sum over dim terms, so that a weight falls with the square of the dimension.
 * Under a drift, whose rows have other weights (drift_draw.c), it falls sooner and slower. A sparse
 * constraint has a noisier gradient, and weighs a little less. */
static double trainer_weight(const hb_constraint *constraint, const hb_row_source *source,
                             double dim)
{
    const double weight =
        constraint->weight * (trainer_is_sparse(constraint, dim) ? SPARSE_WEIGHT : 1);
    if (source->falls_from > 0) return weight * fmin(1, source->falls_from / dim);
    if (dim <= 3) return weight;
    return fmin(constraint->most_weight, 16 * weight / (dim * dim));
}

/* Anchors below HB_ANCHOR_TAU: how far they reach and how dense they are; returns how many anchors
 * there are for each one above. A log-density at tau_min is carried there by the equation; for a
 * score the residual at small tau is noise for the most part, and targets say more. A constraint
 * that does not spare small tau has its anchors everywhere. */
static double trainer_choose_small_tau(hb_trainer *t, const hb_constraint *constraint, int dim)
{
    hb_train_settings *s = &t->settings;
    const int spared = dim <= HB_BALL_MOST_DIM && constraint->spares_small_tau;
    if (s->anchor_tau_min == 0)
        s->anchor_tau_min = spared && s->head != HB_HEAD_ENERGY
                                ? fmin(HB_ANCHOR_TAU, sqrt(s->tau_min * s->tau_max))
                                : s->tau_min;
    s->anchor_tau_min = fmax(s->anchor_tau_min, s->tau_min);
    t->anchor_density = spared ? SMALL_TAU_DENSITY : 1;
    const double above = log(s->tau_max / HB_ANCHOR_TAU);
    const double below = log(HB_ANCHOR_TAU / s->anchor_tau_min);
    return spared && above > 0 && below > 0 ? 1 + SMALL_TAU_DENSITY * below / above : 1;
}

/* What the settings leave open of a constraint (docs/dev/tuning-history.md has what was measured).
 * Balls are small, since their nodes are exact to degree 3 only, and there are about 576 nodes in a
 * step. Anchors at small tau come on top, and what the others weigh stays. */
static void trainer_choose_constraint(hb_trainer *t, const hb_constraint *constraint, int dim)
{
    hb_train_settings *s = &t->settings;
    const double d = dim, nodes = 2 * d + 1;
    const double balls = fmax(NODES / nodes, fmin(LEAST_ANCHORS, MOST_NODES / nodes));
    const double more = trainer_choose_small_tau(t, constraint, dim);
    if (isnan(s->weight)) s->weight = more * trainer_weight(constraint, t->source, d);
    if (isnan(s->time_fraction)) s->time_fraction = fmin(BALL_FRACTION, BALL_PER_DIM / d);
    if (isnan(s->anchor_spread)) s->anchor_spread = 1;
    if (s->anchors == 0)
        s->anchors =
            (int)(more * floor(fmin(MOST_ANCHORS, constraint->balls ? balls : MOST_ANCHORS)));
    if (s->target_rows < 0) s->target_rows = constraint->target_rows;
    if (s->constraint_every == 0)
        s->constraint_every = trainer_is_sparse(constraint, d) ? SPARSE_EVERY : 1;
}

/* The same above HB_BALL_MOST_DIM, where a constraint keeps a network from memorising few rows and
 * harms with many: its weight falls with the square of their number. Found in 256 dimensions. */
static void trainer_choose_many(const hb_constraint *constraint, int dim, size_t rows,
                                hb_train_settings *s)
{
    const hb_recipe *many = &constraint->many;
    const double few = FEW_ROWS / (double)rows;
    if (isnan(s->weight)) s->weight = many->weight * fmin(MOST_OF_FEW, few * few);
    if (isnan(s->time_fraction)) s->time_fraction = MANY_BALL_PER_DIM / dim;
    if (isnan(s->anchor_spread)) s->anchor_spread = 0;
    if (s->anchors == 0) s->anchors = many->anchors;
    if (s->target_rows < 0) s->target_rows = 0;
    if (s->constraint_every == 0) s->constraint_every = many->every;
}

static void trainer_choose_numbers(hb_trainer *t, int dim)
{
    hb_train_settings *s = &t->settings;
    const size_t batch = (size_t)s->batch, least = batch < LEAST_ROWS ? 1 : 2;
    const size_t whole = (batch + MICRO_BATCH_ROWS - 1) / MICRO_BATCH_ROWS;
    const size_t micro_batches = whole < least ? least : whole;
    t->n_micro_batches = micro_batches < MOST_MICRO_BATCHES ? micro_batches : MOST_MICRO_BATCHES;
    t->steps_per_epoch = (t->n + batch - 1) / batch;
    if (s->steps == 0) s->steps = (uint64_t)s->epochs * t->steps_per_epoch;
    static const hb_constraint none = {0};
    const double of_source = isnan(s->weight) ? t->source->weight : 1;
    if (dim > HB_BALL_MOST_DIM && t->constraint && t->constraint->many.anchors > 0)
        trainer_choose_many(t->constraint, dim, t->n, s);
    trainer_choose_constraint(t, t->constraint ? t->constraint : &none, dim);
    s->weight *= of_source;
    /* rows of the log have equally many steps with the constraint */
    const uint64_t every = (uint64_t)s->constraint_every, most = HB_LOG_MOST_ROWS * every;
    t->log_every = (s->steps + most - 1) / most * every;
    hb_adam_settings_default(&t->adam);
    t->adam.rate = s->rate;
    t->adam.ema = s->ema;
    t->adam.clip = s->clip_gradient;
    t->adam.steps = s->steps;
    t->adam.warmup = s->steps / 10 < 100 ? s->steps / 10 : 100;
}

/* The model, and the data in its coordinates. */
static hb_status trainer_create_from_rows(hb_trainer *t, int dim, int classes, const double *data)
{
    HB_TRY(trainer_create_model(t, dim, classes, data));
    trainer_choose_numbers(t, dim);
    return trainer_create_arrays(t, data);
}

hb_status hb_trainer_create(hb_trainer *t, int dim, int classes, const double *data,
                            const int *labels)
{
    double *y = NULL;
    HB_TRY(hb_train_settings_check(t->context, &t->settings));
    HB_TRY(trainer_check_data(t->context, t->n, data, classes, labels));
    t->labels = classes > 0 ? labels : NULL;
    trainer_choose_kinds(t);
    hb_status status = hb_typed_rows(t, dim, data, &y);
    if (status == HB_OK) status = trainer_create_from_rows(t, dim, classes, y ? y : data);
    hb_release(t->context, y);
    HB_TRY(status);
    if (t->source->create) HB_TRY(t->source->create(t));
    if (t->constraint && t->constraint->prepare) HB_TRY(t->constraint->prepare(t));
    for (size_t i = 0; i < t->n_micro_batches; i++)
        HB_TRY(hb_micro_batch_create(t, i, &t->micro_batches[i]));
    return HB_OK;
}

void hb_trainer_destroy(hb_trainer *t)
{
    for (size_t i = 0; t->micro_batches && i < t->n_micro_batches; i++)
        if (t->micro_batches[i].trainer) hb_micro_batch_destroy(&t->micro_batches[i]);
    if (t->constraint && t->constraint->discard) t->constraint->discard(t);
    if (t->source && t->source->destroy) t->source->destroy(t);
    hb_workspace_destroy(&t->work);
    hb_model_destroy(t->model);
    hb_problem_destroy(t->own);
}
