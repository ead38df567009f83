/* The heat-ball loss of the library and its gradient, for tests/python/test_own_network.py.
 *
 *   loss_driver DIM ou|ve|DRIFT energy|score SHARE MODEL.safetensors
 *
 * Makes rows of two blobs, a network with random weights and the anchors of a step, writes the model, and to standard
 * output doubles: anchors, dim, parameters, number of the first anchor, seed, loss; z (anchors, dim), tau (anchors),
 * gradient (parameters), layer by layer, of weights and biases. */
#include "train/trainer.h"

#include <heatball/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 300, MOST_DIM = 128, STEP = 5 };

static void must(hb_context *context, hb_status status)
{
    if (status == HB_OK) return;
    fprintf(stderr, "%s\n", hb_context_message(context));
    exit(1);
}

static void give(size_t n, const double *x)
{
    if (fwrite(x, sizeof *x, n, stdout) != n) exit(3);
}

static hb_train_settings settings_of(char **arguments)
{
    hb_train_settings s;
    hb_train_settings_default(sizeof s, &s);
    s.standardise = HB_STANDARDISE_NO;
    s.loss = HB_LOSS_HB;
    s.head = strcmp(arguments[3], "energy") == 0 ? HB_HEAD_ENERGY : HB_HEAD_SCORE;
    s.process = strcmp(arguments[2], "ou") == 0   ? HB_PROCESS_OU
                : strcmp(arguments[2], "ve") == 0 ? HB_PROCESS_VE
                                                  : HB_PROCESS_DRIFT;
    s.time_fraction = atof(arguments[4]);
    s.width = 24;
    s.depth = 2;
    s.batch = 32;
    s.anchors = 16;
    s.tau_min = 0.02;
    s.weight = 1;
    s.target_rows = 0;
    return s;
}

static void write_gradient(const hb_trainer *trainer, const hb_micro_batch *micro)
{
    for (size_t i = 0; i < trainer->model->info.parameters; i++) {
        const double part = (double)micro->gradient[i];
        give(1, &part);
    }
}

int main(int count, char **arguments)
{
    static double data[ROWS * MOST_DIM];
    if (count != 6) return 2;
    const int dim = atoi(arguments[1]);
    const size_t d = (size_t)dim;
    hb_context *context;
    hb_train_settings s = settings_of(arguments);
    hb_problem *drift = NULL;
    if (hb_context_create(NULL, &context) != HB_OK) return 1;
    if (s.process == HB_PROCESS_DRIFT)
        must(context, hb_problem_parse(context, arguments[2], "sqrt(2)", NULL, &drift));
    s.drift = drift;
    must(context, hb_random_normal(context, 5, 77, 0, ROWS * d, data));
    for (size_t i = 0; i < ROWS * d; i++) data[i] = i / d % 3 ? 0.7 * data[i] + 1 : 0.4 * data[i];
    hb_trainer trainer = {.context = context, .settings = s, .n = ROWS};
    must(context, hb_trainer_create(&trainer, dim, 0, data, NULL));
    must(context,
         hb_net_initialise(context, trainer.model->net, 3, 0.7, trainer.model->parameters));
    trainer.state.step = STEP;
    trainer.ramp = 1;
    hb_micro_batch *micro = &trainer.micro_batches[0];
    must(context, trainer.source->begin(&trainer));
    must(&micro->alone, trainer.source->anchors(micro));
    memset(micro->gradient, 0, trainer.model->info.parameters * sizeof(float));
    memset(micro->losses, 0, HB_LOSSES * sizeof(double));
    must(&micro->alone, trainer.constraint->add(micro));
    const double head[6] = {(double)micro->anchors,
                            dim,
                            (double)trainer.model->info.parameters,
                            STEP * trainer.settings.anchors,
                            (double)trainer.settings.seed,
                            micro->losses[HB_LOSS_OF_CONSTRAINT]};
    give(6, head);
    give(micro->anchors * d, micro->anchor.z);
    for (size_t i = 0; i < micro->anchors; i++) give(1, &micro->anchor.level[i].tau);
    write_gradient(&trainer, micro);
    must(context, hb_model_save(context, trainer.model, arguments[5]));
    hb_trainer_destroy(&trainer);
    hb_problem_destroy(drift);
    hb_context_destroy(context);
    return 0;
}
