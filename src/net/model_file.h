/* net/model_file.h: a model as arrays and texts of a .safetensors file, for models and checkpoints.
 */
#pragma once

#include "file/safetensors.h"
#include "net/model_parts.h"

/* By hb_head and hb_process; NULL at the end. */
const char *const *hb_head_names(void);
const char *const *hb_process_names(void);
/* The parameters of a network as out[hb_net_tensors] of a file, with as many names; half: weights
 * in 16 bits. And back from a file. */
void hb_net_list(const hb_net *net, const float *parameters, int half, hb_net_tensor *named,
                 hb_tensor *out);
hb_status hb_net_read(hb_context *context, const hb_safetensors *file, const hb_net *net,
                      float *parameters);
/* A model with more beside it (a checkpoint): the texts and arrays follow its own. */
hb_status hb_model_write(hb_context *context, const hb_model *model, const char *path,
                         size_t n_more_metadata, const hb_metadata *more_metadata,
                         size_t n_more_tensors, const hb_tensor *more_tensors);
/* Rounds the weights to 16 bits, which its files then keep; HB_ERROR_NUMERICAL for one above
 * 65504. */
hb_status hb_model_halve(hb_context *context, hb_model *model);
/* The names of the columns where the file has them (model_columns.c). */
hb_status hb_model_columns_read(hb_context *context, const hb_safetensors *file, hb_model *model);
hb_status hb_model_maps_read(hb_context *context, const hb_safetensors *file, hb_model *model);
hb_status hb_model_read(hb_context *context, const hb_safetensors *file, hb_model **out);
