/* Checkpoints: everything that a run needs to go on, in one .safetensors file, written whole.
 *
 * A checkpoint is a model file (net/model_file.h) with the weights of the step, and beside them
 * adam.first, adam.second, average (F32) and log (F64); its texts say the step, the seconds spent,
 * and `run`: all settings that the weights depend on and a sum of the data. A checkpoint of another
 * run is refused with both texts in mind: the first setting that differs is named. */
#include "base/checksum.h"
#include "net/model_file.h"
#include "train/trainer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file/writer.h"

enum { RUN_TEXT = 4096, N_TENSORS = 4 };

/* One setting per word: name=value. */
static void checkpoint_print_run(const hb_trainer *t, char *text)
{
    const hb_train_settings *s = &t->settings;
    const hb_model_info *info = &t->model->info;
    uint64_t sum = hb_checksum(HB_CHECKSUM_START, t->z, t->n * (size_t)info->dim * sizeof *t->z);
    if (t->labels) sum = hb_checksum(sum, t->labels, t->n * sizeof *t->labels);
    const char *drift = s->drift ? hb_problem_text(s->drift) : ""; /* its sum: it has blanks */
    const uint64_t drift_sum = hb_checksum(0, drift, strlen(drift));
    const locale_t locale = hb_locale_enter();
    size_t used = hb_train_settings_print(s, RUN_TEXT, text);
    char *focus = strstr(text, "tau_focus="); /* focus= in all files so far */
    memmove(focus, focus + 4, strlen(focus + 4) + 1);
    used -= 4;
    snprintf(text + used, RUN_TEXT - used, "dim=%d classes=%d rows=%zu data=%016llx drift=%016llx",
             info->dim, info->classes, t->n, (unsigned long long)sum,
             (unsigned long long)drift_sum);
    hb_locale_leave(locale);
}

hb_status hb_checkpoint_write(const hb_trainer *trainer, double seconds)
{
    char run[RUN_TEXT], step[32], spent[32];
    const uint64_t parameters = trainer->model->info.parameters;
    checkpoint_print_run(trainer, run);
    const locale_t locale = hb_locale_enter();
    snprintf(step, sizeof step, "%llu", (unsigned long long)trainer->state.step);
    snprintf(spent, sizeof spent, "%.17g", seconds);
    hb_locale_leave(locale);
    const hb_metadata texts[] = {{"run", run}, {"step", step}, {"seconds", spent}};
    const hb_tensor tensors[N_TENSORS] = {
        {"adam.first", HB_DTYPE_F32, 1, {parameters}, trainer->state.first, 0},
        {"adam.second", HB_DTYPE_F32, 1, {parameters}, trainer->state.second, 0},
        {"average", HB_DTYPE_F32, 1, {parameters}, trainer->state.average, 0},
        {"log", HB_DTYPE_F64, 2, {trainer->log_rows, HB_LOG_COLUMNS}, trainer->log, 0}};
    return hb_model_write(trainer->context, trainer->model, trainer->settings.checkpoint, 3, texts,
                          N_TENSORS, tensors);
}

/* The two runs must be the same, word by word. */
static hb_status checkpoint_check_run(const hb_trainer *trainer, const hb_safetensors *file)
{
    char run[RUN_TEXT];
    const char *theirs = hb_safetensors_text(file, "run"), *ours = run;
    checkpoint_print_run(trainer, run);
    HB_CHECK(trainer->context, theirs, HB_ERROR_FORMAT, "%s is not a checkpoint",
             hb_safetensors_path(file));
    const char *drift = strstr(ours, " drift="), *other_drift = strstr(theirs, " drift=");
    if (drift && other_drift && strcmp(drift, other_drift) != 0) { /* the data depend on it */
        ours = drift + 1;
        theirs = other_drift + 1;
    }
    while (*ours || *theirs) {
        const size_t mine = strcspn(ours, " "), other = strcspn(theirs, " ");
        HB_CHECK(trainer->context, mine == other && !memcmp(ours, theirs, mine), HB_ERROR_ARGUMENT,
                 "the checkpoint %s is of another run: it has %.*s, this run has %.*s",
                 hb_safetensors_path(file), (int)other, theirs, (int)mine, ours);
        ours += mine + (ours[mine] == ' ');
        theirs += other + (theirs[other] == ' ');
    }
    return HB_OK;
}

static hb_status checkpoint_read_numbers(hb_trainer *trainer, const hb_safetensors *file)
{
    const char *step = hb_safetensors_text(file, "step");
    const char *seconds = hb_safetensors_text(file, "seconds");
    char *end = NULL;
    HB_CHECK(trainer->context, step && seconds, HB_ERROR_FORMAT, "%s is not a checkpoint",
             hb_safetensors_path(file));
    errno = 0;
    trainer->state.step = strtoull(step, &end, 10);
    HB_CHECK(trainer->context,
             *end == '\0' && errno == 0 && trainer->state.step <= trainer->settings.steps,
             HB_ERROR_FORMAT, "%s: its step is '%.40s'; it must be 0 to %llu",
             hb_safetensors_path(file), step, (unsigned long long)trainer->settings.steps);
    const locale_t locale = hb_locale_enter();
    trainer->seconds = strtod(seconds, NULL);
    hb_locale_leave(locale);
    return HB_OK;
}

static hb_status checkpoint_read_state(hb_trainer *trainer, const hb_safetensors *file)
{
    hb_context *context = trainer->context;
    const uint64_t parameters = trainer->model->info.parameters;
    hb_model *saved = NULL;
    HB_TRY(checkpoint_check_run(trainer, file));
    HB_TRY(checkpoint_read_numbers(trainer, file));
    const uint64_t values = hb_safetensors_count(file, "log");
    trainer->log_rows = values / HB_LOG_COLUMNS;
    HB_CHECK(context, values <= HB_LOG_MOST_ROWS * HB_LOG_COLUMNS && values % HB_LOG_COLUMNS == 0,
             HB_ERROR_FORMAT, "%s: its log has %llu values", hb_safetensors_path(file),
             (unsigned long long)values);
    if (values)
        HB_TRY(hb_safetensors_copy(context, file, "log", HB_DTYPE_F64, values, trainer->log));
    HB_TRY(hb_safetensors_copy(context, file, "adam.first", HB_DTYPE_F32, parameters,
                               trainer->state.first));
    HB_TRY(hb_safetensors_copy(context, file, "adam.second", HB_DTYPE_F32, parameters,
                               trainer->state.second));
    HB_TRY(hb_safetensors_copy(context, file, "average", HB_DTYPE_F32, parameters,
                               trainer->state.average));
    HB_TRY(hb_model_read(context, file, &saved));
    memcpy(trainer->model->parameters, saved->parameters, parameters * sizeof(float));
    hb_status status = HB_OK;
    if (saved->columns && !trainer->model->columns)
        status = hb_model_set_columns(context, trainer->model, saved->columns[0]);
    hb_model_destroy(saved);
    return status;
}

hb_status hb_checkpoint_read(hb_trainer *trainer, int *resumed)
{
    const char *path = trainer->settings.checkpoint;
    hb_safetensors *file = NULL;
    *resumed = 0;
    if (access(path, F_OK) != 0) return HB_OK;
    HB_TRY(hb_safetensors_read(trainer->context, path, &file));
    const hb_status status = checkpoint_read_state(trainer, file);
    hb_safetensors_destroy(file);
    *resumed = status == HB_OK;
    return status;
}
