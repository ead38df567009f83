/* train/shard.h: the part of a step that one task does. */
#ifndef HB_TRAIN_SHARD_H
#define HB_TRAIN_SHARD_H

#include "train/trainer.h"

/* Destroy it also when create failed. */
hb_status hb_shard_create(hb_trainer *trainer, size_t index, hb_shard *shard);
void hb_shard_destroy(hb_shard *shard);
/* Its rows of trainer->state.step: gradient and losses from zero. */
hb_status hb_shard_step(hb_shard *shard);

#endif
