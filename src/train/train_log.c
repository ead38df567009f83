/* The log of a run: at most HB_LOG_MOST_ROWS rows, each the mean over the steps since the row
 * before. It is kept in memory and in checkpoints, and written whole as .csv at the end, so that a
 * run that was resumed has the log of all its steps. residual is the root of the mean squared
 * scaled residual, for fp above 3 dimensions with the variance of its probes. */
#include "train/trainer.h"

#include <heatball/file.h>
#include <math.h>
#include <string.h>

static const char *const columns[HB_LOG_COLUMNS] = {
    "step", "loss", "dsm", "constraint", "residual", "gradient_norm", "rate", "seconds"};

static const double FADE = 0.98; /* of a step's loss in the recent one */

hb_status hb_log_add(hb_trainer *trainer, double norm, double seconds, int last)
{
    const uint64_t step = trainer->state.step;
    double *sums = trainer->log_sums;
    for (size_t s = 0; s < trainer->n_micro_batches; s++)
        for (int k = 0; k < HB_LOSSES; k++) sums[k] += trainer->micro_batches[s].losses[k];
    sums[HB_LOSSES] += norm;
    trainer->recent = FADE * trainer->recent;
    trainer->recent_weight = FADE * trainer->recent_weight + 1;
    for (size_t s = 0; s < trainer->n_micro_batches; s++)
        trainer->recent += trainer->micro_batches[s].losses[HB_LOSS_OF_DSM] +
                           trainer->micro_batches[s].losses[HB_LOSS_OF_CONSTRAINT];
    trainer->log_count++;
    if (step % trainer->log_every && step != trainer->settings.steps && !last) return HB_OK;
    const double per = 1 / (double)trainer->log_count, every = trainer->settings.constraint_every;
    const double row[HB_LOG_COLUMNS] = {(double)step,
                                        per * (sums[HB_LOSS_OF_DSM] + sums[HB_LOSS_OF_CONSTRAINT]),
                                        per * sums[HB_LOSS_OF_DSM],
                                        per * sums[HB_LOSS_OF_CONSTRAINT],
                                        sqrt(per * every * sums[HB_LOSS_RESIDUAL2]),
                                        per * sums[HB_LOSSES],
                                        hb_adam_rate(&trainer->adam, step - 1),
                                        seconds};
    if (trainer->log_rows < HB_LOG_MOST_ROWS)
        memcpy(trainer->log + HB_LOG_COLUMNS * trainer->log_rows++, row, sizeof row);
    memset(sums, 0, sizeof trainer->log_sums);
    trainer->log_count = 0;
    return HB_OK;
}

hb_status hb_log_write(const hb_trainer *trainer)
{
    hb_writer *writer;
    HB_TRY(hb_writer_create(trainer->context, trainer->settings.log, &writer));
    hb_status status = hb_writer_csv_header(writer, HB_LOG_COLUMNS, columns);
    if (status == HB_OK)
        status = hb_writer_csv_rows(writer, HB_DTYPE_F64, trainer->log_rows, HB_LOG_COLUMNS,
                                    trainer->log);
    return hb_writer_close(writer, status);
}
