/* The training loop.
 *
 *     repeat: micro-batches draw rows, add losses and gradients -> sum in order -> Adam -> log,
 *     checkpoint
 * The constraint's weight is 0 for the first `warmup` of the steps and rises linearly over the next
 * `ramp`: the network must know roughly where the density is before a residual says anything. It
 * may be taken in every K-th step only, K times. The
 * result is the average of the weights over the last steps. Must reproduce: the same weights on 1
 * and 2 threads, and in one run or in two (tests/train/test_train.c). */
#include "base/sized.h"
#include "base/team_tasks.h"
#include "net/model_file.h"
#include "train/trainer.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { SUM_CHUNK = 65536, SUM_PIECE = 2048 };

/* ---- one step ---- */

static hb_status train_micro_batch_task(void *user, size_t index, int thread)
{
    (void)thread;
    hb_trainer *t = user;
    hb_micro_batch *micro = &t->micro_batches[index];
    const hb_status status = hb_micro_batch_step(micro);
    if (status != HB_OK)
        hb_fail(t->context, status, "step %llu: %.400s", (unsigned long long)t->state.step + 1,
                hb_context_message(&micro->alone));
    return status;
}

/* A chunk of the gradient: the sum over micro-batches, in their order and in the place of the
 * first, and its square, piece by piece while that is in the cache. */
static hb_status train_sum_chunk(void *user, size_t first, size_t n, int thread, double *squares)
{
    (void)thread;
    const hb_trainer *t = user;
    const hb_net_kernels *kernels = hb_net_kernels_of(t->context->isa);
    *squares = 0;
    for (size_t i = first; i < first + n; i += SUM_PIECE) {
        const size_t left = first + n - i, count = left < SUM_PIECE ? left : SUM_PIECE;
        for (size_t s = 1; s < t->n_micro_batches; s++)
            kernels->add(count, t->micro_batches[s].gradient + i, t->micro_batches[0].gradient + i);
        *squares += kernels->squared_norm(count, t->micro_batches[0].gradient + i);
    }
    return HB_OK;
}

/* 0 during the warm-up, 1 after the ramp; with constraint_every K that times K in every K-th
 * train_step, else 0. */
static double train_ramp(const hb_trainer *t)
{
    const double done = (double)t->state.step / (double)t->settings.steps - t->settings.warmup;
    const uint64_t every = (uint64_t)t->settings.constraint_every;
    if (!t->constraint || done < 0 || t->state.step % every) return 0;
    return (double)every * (done < t->settings.ramp ? done / t->settings.ramp : 1);
}

static hb_status train_step(hb_context *quiet, hb_trainer *t, double *norm)
{
    const size_t n = t->model->info.parameters;
    double squares;
    t->ramp = train_ramp(t);
    HB_TRY(t->source->begin(t));
    HB_TRY(hb_net_prepare(quiet, t->model->net, t->model->parameters));
    const hb_left left[] = {{t->gradients, t->stride * sizeof *t->gradients, 0},
                            {t->losses, HB_LOSSES * sizeof *t->losses, 0}};
    HB_TRY(
        hb_team_for_blocks(quiet, "train", t->n_micro_batches, train_micro_batch_task, t, 2, left));
    HB_TRY(hb_parallel_sum(quiet, NULL, n, SUM_CHUNK, 1, train_sum_chunk, t, &squares));
    *norm = sqrt(squares);
    return hb_adam_move(t->context, &t->adam, n, t->micro_batches[0].gradient, squares,
                        t->model->parameters, &t->state);
}

/* ---- the loop ---- */

static int train_wants_checkpoint(const hb_trainer *t)
{
    const uint64_t every = (uint64_t)t->settings.checkpoint_every * t->steps_per_epoch;
    return t->settings.checkpoint && every > 0 && t->state.step % every == 0;
}

/* Shows the model to the caller's watch: the averaged weights stand in for those being trained
 * until it returns. *start moves on by the time that it took, so that watching is not training. */
static hb_status train_show(hb_trainer *t, double *start)
{
    const double before = hb_seconds();
    hb_model *model = t->model;
    float *trained = model->parameters;
    const uint64_t steps = model->info.steps;
    HB_TRY(hb_net_prepare(t->context, model->net, t->state.average));
    model->parameters = t->state.average;
    model->info.steps = t->state.step;
    const double loss = t->recent_weight > 0 ? t->recent / t->recent_weight : NAN;
    const int stop = t->settings.watch(t->settings.watch_user, model, t->state.step, loss);
    model->parameters = trained;
    model->info.steps = steps;
    *start += hb_seconds() - before;
    if (stop)
        hb_fail(t->context, HB_ERROR_INTERRUPTED, "train: stopped by its watch at step %llu",
                (unsigned long long)t->state.step);
    return hb_context_settle(t->context, stop ? HB_ERROR_INTERRUPTED : HB_OK);
}

static hb_status train_loop(hb_trainer *t)
{
    const hb_train_settings *s = &t->settings;
    double start = hb_seconds() - t->seconds;
    hb_context quiet = hb_context_child(t->context, 0);
    hb_status status = HB_OK;
    uint64_t shown = 0;
    while (t->state.step < t->settings.steps && status == HB_OK) {
        double norm = NAN;
        status = hb_context_adopt(t->context, &quiet, train_step(&quiet, t, &norm));
        if (status == HB_ERROR_INTERRUPTED) break; /* the state is that of the step before */
        HB_TRY(status);
        const double spent = hb_seconds() - start;
        int late = s->max_time > 0 && spent >= s->max_time;
        if (s->max_time > 0) HB_TRY(hb_context_agree(t->context, sizeof late, &late));
        HB_TRY(hb_log_add(t, norm, spent, late));
        if (train_wants_checkpoint(t)) HB_TRY(hb_checkpoint_write(t, spent));
        if (late) break;
        if (s->watch && s->watch_every && t->state.step % s->watch_every == 0)
            status = train_show(t, &start), shown = t->state.step;
        if (status == HB_OK)
            status = hb_team_progress(t->context, "train", (double)t->state.step,
                                      (double)t->settings.steps);
    }
    if (status == HB_OK && s->watch && shown != t->state.step) status = train_show(t, &start);
    if (t->settings.checkpoint && t->state.step > 0)
        HB_TRY(hb_checkpoint_write(t, hb_seconds() - start));
    if (t->settings.log) HB_TRY(hb_log_write(t));
    return status;
}

static hb_status train_run(hb_trainer *t)
{
    int resumed;
    if (t->settings.resume) HB_TRY(hb_checkpoint_read(t, &resumed));
    HB_TRY(train_loop(t));
    memcpy(t->model->parameters, t->state.average, t->model->info.parameters * sizeof(float));
    t->model->info.steps = t->state.step;
    if (t->settings.half) HB_TRY(hb_model_halve(t->context, t->model));
    return hb_net_prepare(t->context, t->model->net, t->model->parameters);
}

hb_status hb_train(hb_context *context, const hb_train_settings *settings, int dim, int classes,
                   size_t n, const double *data, const int *labels, hb_model **out)
{
    hb_trainer trainer = {.context = context, .n = n};
    HB_CHECK(context, out, HB_ERROR_ARGUMENT, "the output of the training is NULL");
    *out = NULL;
    hb_train_settings_default(sizeof trainer.settings, &trainer.settings);
    HB_TRY(hb_sized_read(context, "hb_train_settings", offsetof(hb_train_settings, anchor_tau_min),
                         sizeof trainer.settings, settings, &trainer.settings));
    hb_status status = hb_trainer_create(&trainer, dim, classes, data, labels);
    if (status == HB_OK) status = train_run(&trainer);
    if (status == HB_OK) {
        *out = trainer.model;
        trainer.model = NULL;
    }
    hb_trainer_destroy(&trainer);
    return status;
}
