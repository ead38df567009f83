/* A shard: its arrays, and its part of a step. Everything that it writes is its own. */
#include "train/shard.h"

#include <string.h>

static size_t rows_need(size_t n, size_t d, int labels)
{
    return hb_workspace_need(n * d, sizeof(double)) + hb_workspace_need(n * d, sizeof(float)) +
           hb_workspace_need(n, sizeof(hb_clock)) + hb_workspace_need(n, sizeof(double)) +
           (labels ? hb_workspace_need(n, sizeof(int)) : 0);
}

static void take_rows(hb_workspace *work, size_t n, size_t d, int labels, hb_rows *out)
{
    *out = (hb_rows){.n = n};
    out->z = hb_workspace_take(work, n * d, sizeof(double));
    out->noise = hb_workspace_take(work, n * d, sizeof(float));
    out->root = hb_workspace_take(work, n, sizeof(double));
    out->clock = hb_workspace_take(work, n, sizeof(hb_clock));
    if (labels) out->labels = hb_workspace_take(work, n, sizeof(int));
}

hb_status hb_shard_create(hb_trainer *trainer, size_t index, hb_shard *shard)
{
    const size_t d = (size_t)trainer->model->info.dim, shards = trainer->n_shards;
    const size_t batch = (size_t)trainer->settings.batch, all = (size_t)trainer->settings.anchors;
    const int labels = trainer->labels != NULL;
    *shard = (hb_shard){.alone = hb_context_child(trainer->context, 1), .trainer = trainer};
    shard->first = batch * index / shards;
    shard->count = batch * (index + 1) / shards - shard->first;
    shard->first_anchor = all * index / shards;
    shard->anchors = all * (index + 1) / shards - shard->first_anchor;
    const size_t n = shard->count, m = shard->anchors, most = n > m ? n : m;
    HB_TRY(hb_workspace_create(
        trainer->context,
        rows_need(n, d, labels) + rows_need(m, d, labels) +
            hb_workspace_need(most, sizeof(double)) + 2 * hb_workspace_need(n * d, sizeof(float)) +
            hb_workspace_need(trainer->model->info.parameters, sizeof(float)),
        &shard->work));
    take_rows(&shard->work, n, d, labels, &shard->rows);
    take_rows(&shard->work, m, d, labels, &shard->anchor);
    shard->uniform = hb_workspace_take(&shard->work, most, sizeof(double));
    shard->score = hb_workspace_take(&shard->work, n * d, sizeof(float));
    shard->score_cotangent = hb_workspace_take(&shard->work, n * d, sizeof(float));
    shard->gradient =
        hb_workspace_take(&shard->work, trainer->model->info.parameters, sizeof(float));
    HB_TRY(hb_model_tape_create(&shard->alone, trainer->model, HB_WANT_SCORE, n, &shard->tape));
    if (trainer->pool)
        HB_TRY(hb_drift_room_create(shard));
    else if (trainer->target_rows > 0)
        HB_TRY(hb_target_create(shard));
    return trainer->constraint->create(shard);
}

void hb_shard_destroy(hb_shard *shard)
{
    if (shard->room) shard->trainer->constraint->destroy(shard);
    hb_model_tape_destroy(shard->tape);
    hb_drift_room_destroy(shard);
    hb_workspace_destroy(&shard->target_work);
    hb_workspace_destroy(&shard->work);
}

hb_status hb_shard_step(hb_shard *shard)
{
    const hb_trainer *trainer = shard->trainer;
    memset(shard->losses, 0, sizeof shard->losses);
    HB_TRY(trainer->pool ? hb_drift_draw_rows(shard) : hb_draw_rows(shard));
    if (shard->target) HB_TRY(hb_target_average(shard));
    HB_TRY(hb_dsm_add(shard)); /* the first: it sets the gradient, others add */
    if (trainer->ramp == 0 || shard->anchors == 0) return HB_OK;
    HB_TRY(trainer->pool ? hb_drift_draw_anchors(shard) : hb_draw_anchors(shard));
    return trainer->constraint->add(shard);
}
