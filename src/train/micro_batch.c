/* A micro-batch: its arrays, and its part of a step. Everything that it writes is its own. */
#include "train/trainer.h"

#include <string.h>

/* The rows in the table of a workspace. */
#define ROWS(rows, n, d, labelled)                                                                 \
    HB_ARRAY((rows).z, (n) * (d)), HB_ARRAY((rows).noise, (n) * (d)), HB_ARRAY((rows).root, (n)),  \
        HB_ARRAY((rows).weight, (n)), HB_ARRAY((rows).level, (n)),                                 \
        HB_ARRAY_IF((labelled), (rows).labels, (n))

hb_status hb_micro_batch_create(hb_trainer *trainer, size_t index, hb_micro_batch *micro)
{
    const size_t d = (size_t)trainer->model->info.dim, micro_batches = trainer->n_micro_batches;
    const size_t batch = (size_t)trainer->settings.batch, all = (size_t)trainer->settings.anchors;
    const int labels = trainer->labels != NULL;
    *micro = (hb_micro_batch){.alone = hb_context_child(trainer->context, 1), .trainer = trainer};
    micro->first = batch * index / micro_batches;
    micro->count = batch * (index + 1) / micro_batches - micro->first;
    micro->first_anchor = all * index / micro_batches;
    micro->anchors = all * (index + 1) / micro_batches - micro->first_anchor;
    const size_t n = micro->count, m = micro->anchors, most = n > m ? n : m;
    micro->rows.n = n;
    micro->anchor.n = m;
    HB_TRY(HB_WORKSPACE(trainer->context, &micro->work, ROWS(micro->rows, n, d, labels),
                        ROWS(micro->anchor, m, d, labels), HB_ARRAY(micro->uniform, most),
                        HB_ARRAY(micro->score, n * d), HB_ARRAY(micro->score_cotangent, n * d)));
    micro->gradient = trainer->gradients + index * trainer->stride;
    micro->losses = trainer->losses + index * HB_LOSSES;
    HB_TRY(hb_model_tape_create(&micro->alone, trainer->model, HB_WANT_SCORE, n, &micro->tape));
    HB_TRY(trainer->source->create_micro_batch(micro));
    const hb_constraint *constraint = trainer->constraint;
    return constraint && constraint->create ? constraint->create(micro) : HB_OK;
}

void hb_micro_batch_destroy(hb_micro_batch *micro)
{
    hb_scratch *scratch = micro->scratch;
    if (scratch) {
        hb_model_tape_destroy(scratch->tape);
        hb_net_tape_destroy(scratch->jets);
        hb_net_tape_destroy(scratch->slopes);
        hb_workspace_destroy(&scratch->arrays);
    }
    hb_release(micro->trainer->context, scratch);
    hb_model_tape_destroy(micro->tape);
    hb_workspace_destroy(&micro->drawing_work);
    hb_workspace_destroy(&micro->work);
}

hb_status hb_scratch_create(hb_micro_batch *micro, size_t bytes, hb_model_want want, size_t rows,
                            void *out)
{
    void *memory;
    HB_TRY(hb_allocate(micro->trainer->context, bytes, 1, &memory));
    micro->scratch = memset(memory, 0, bytes);
    memcpy(out, &memory, sizeof memory); // a pointer to any type of scratch
    hb_scratch *scratch = micro->scratch;
    if (rows == 0) return HB_OK;
    return hb_model_tape_create(&micro->alone, micro->trainer->model, want, rows, &scratch->tape);
}

hb_status hb_row_values_forward(hb_micro_batch *micro, const hb_points *points,
                                hb_row_values *values)
{
    const hb_model *model = micro->trainer->model;
    hb_scratch *scratch = micro->scratch;
    memset(values->cotangent, 0, points->n * sizeof *values->cotangent);
    HB_TRY(hb_model_tape_forward(scratch->tape, model->parameters, points, values->w, NULL));
    return hb_model_reference(model, points, values->scratch, values->v, NULL);
}

hb_status hb_row_values_backward(hb_micro_batch *micro, const hb_row_values *values)
{
    hb_scratch *scratch = micro->scratch;
    return hb_model_tape_backward(scratch->tape, micro->trainer->model->parameters,
                                  values->cotangent, NULL, 1, micro->gradient);
}

hb_status hb_micro_batch_step(hb_micro_batch *micro)
{
    const hb_trainer *trainer = micro->trainer;
    memset(micro->losses, 0, HB_LOSSES * sizeof *micro->losses);
    HB_TRY(trainer->source->rows(micro));
    HB_TRY(hb_dsm_add(micro)); /* the first: it sets the gradient, others add */
    if (!trainer->constraint || trainer->ramp == 0 || micro->anchors == 0) return HB_OK;
    HB_TRY(trainer->source->anchors(micro));
    return trainer->constraint->add(micro);
}
