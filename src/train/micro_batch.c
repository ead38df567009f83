/* A shard: its arrays, and its part of a step. Everything that it writes is its own. */
#include "train/trainer.h"

#include <string.h>

/* The rows in the table of a workspace. */
#define ROWS(rows, n, d, labelled)                                                                 \
    HB_ARRAY((rows).z, (n) * (d)), HB_ARRAY((rows).noise, (n) * (d)), HB_ARRAY((rows).root, (n)),  \
        HB_ARRAY((rows).weight, (n)), HB_ARRAY((rows).level, (n)),                                 \
        HB_ARRAY_IF((labelled), (rows).labels, (n))

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
    shard->rows.n = n;
    shard->anchor.n = m;
    HB_TRY(HB_WORKSPACE(trainer->context, &shard->work, ROWS(shard->rows, n, d, labels),
                        ROWS(shard->anchor, m, d, labels), HB_ARRAY(shard->uniform, most),
                        HB_ARRAY(shard->score, n * d), HB_ARRAY(shard->score_cotangent, n * d)));
    shard->gradient = trainer->gradients + index * trainer->stride;
    shard->losses = trainer->losses + index * HB_LOSSES;
    HB_TRY(hb_model_tape_create(&shard->alone, trainer->model, HB_WANT_SCORE, n, &shard->tape));
    HB_TRY(trainer->source->create_shard(shard));
    const hb_constraint *constraint = trainer->constraint;
    return constraint && constraint->create ? constraint->create(shard) : HB_OK;
}

void hb_shard_destroy(hb_shard *shard)
{
    hb_scratch *scratch = shard->scratch;
    if (scratch) {
        hb_model_tape_destroy(scratch->tape);
        hb_net_tape_destroy(scratch->jets);
        hb_net_tape_destroy(scratch->slopes);
        hb_workspace_destroy(&scratch->arrays);
    }
    hb_release(shard->trainer->context, scratch);
    hb_model_tape_destroy(shard->tape);
    hb_workspace_destroy(&shard->drawing_work);
    hb_workspace_destroy(&shard->work);
}

hb_status hb_scratch_create(hb_shard *shard, size_t bytes, hb_model_want want, size_t rows,
                            void *out)
{
    void *memory;
    HB_TRY(hb_allocate(shard->trainer->context, bytes, 1, &memory));
    shard->scratch = memset(memory, 0, bytes);
    memcpy(out, &memory, sizeof memory); // a pointer to any type of scratch
    hb_scratch *scratch = shard->scratch;
    if (rows == 0) return HB_OK;
    return hb_model_tape_create(&shard->alone, shard->trainer->model, want, rows, &scratch->tape);
}

hb_status hb_row_values_forward(hb_shard *shard, const hb_points *points, hb_row_values *values)
{
    const hb_model *model = shard->trainer->model;
    hb_scratch *scratch = shard->scratch;
    memset(values->cotangent, 0, points->n * sizeof *values->cotangent);
    HB_TRY(hb_model_tape_forward(scratch->tape, model->parameters, points, values->w, NULL));
    return hb_model_reference(model, points, values->scratch, values->v, NULL);
}

hb_status hb_row_values_backward(hb_shard *shard, const hb_row_values *values)
{
    hb_scratch *scratch = shard->scratch;
    return hb_model_tape_backward(scratch->tape, shard->trainer->model->parameters,
                                  values->cotangent, NULL, 1, shard->gradient);
}

hb_status hb_shard_step(hb_shard *shard)
{
    const hb_trainer *trainer = shard->trainer;
    memset(shard->losses, 0, HB_LOSSES * sizeof *shard->losses);
    HB_TRY(trainer->source->rows(shard));
    HB_TRY(hb_dsm_add(shard)); /* the first: it sets the gradient, others add */
    if (!trainer->constraint || trainer->ramp == 0 || shard->anchors == 0) return HB_OK;
    HB_TRY(trainer->source->anchors(shard));
    return trainer->constraint->add(shard);
}
