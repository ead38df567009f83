/* A new loss is one file and one line in a list: here the decay of weights is added that way.
 *
 *     L_c = |p|^2/2, p the parameters; its gradient is p
 * This file stands for decay.c, and the table below for the one of losses.c, which the linker leaves in the
 * library. A network that is trained with it has smaller weights, and its file says how it was trained. */
#include "support.h"

#include "train/trainer.h"

/* ---- the file ---- */

static hb_status add(hb_micro_batch *micro)
{
    const hb_trainer *t = micro->trainer;
    const double factor = t->ramp * t->settings.weight / (double)t->n_micro_batches;
    for (size_t i = 0; i < t->model->info.parameters; i++) {
        const double p = t->model->parameters[i];
        micro->gradient[i] += (float)(factor * p);
        micro->losses[HB_LOSS_OF_CONSTRAINT] += factor * p * p / 2;
    }
    return HB_OK;
}

static const hb_constraint decay = {.weight = 2, .add = add};
static const hb_loss_ops hb_loss_decay = {.energy = &decay, .other = &decay};

/* ---- the table, with one line more ---- */

extern const hb_loss_ops hb_loss_dsm;
const hb_loss_ops *const hb_loss_list[] = {&hb_loss_dsm, &hb_loss_decay, NULL};

const char *const *hb_loss_names(void)
{
    static const char *const names[] = {"dsm", "decay", NULL};
    return names;
}

/* ---- it trains ---- */

enum { ROWS = 128 };

static hb_status train(hb_context *context, int loss, hb_model **out)
{
    static double x[ROWS][2];
    assert_ok(context, hb_random_normal(context, 1, 0, 0, ROWS * 2, x[0]));
    hb_train_settings settings;
    hb_train_settings_default(sizeof settings, &settings);
    settings.loss = loss;
    settings.width = 16;
    settings.depth = 2;
    settings.batch = 64;
    settings.steps = 200;
    return hb_train(context, &settings, 2, 0, ROWS, x[0], NULL, out);
}

static double squared_norm(const hb_model *model)
{
    double sum = 0;
    for (size_t i = 0; i < model->info.parameters; i++)
        sum += (double)model->parameters[i] * model->parameters[i];
    return sum;
}

static void a_new_loss_trains(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_model *plain, *decayed, *none = NULL;
    assert_ok(context, train(context, 0, &plain));
    assert_ok(context, train(context, 1, &decayed));
    assert_true(squared_norm(decayed) < 0.7 * squared_norm(plain));
    assert_string_equal(plain->info.loss, "dsm");
    assert_string_equal(decayed->info.loss, "decay");
    assert_fails(context, train(context, 2, &none), HB_ERROR_ARGUMENT,
                 "loss is 2; it must be 0 to 1");
    hb_model_destroy(plain);
    hb_model_destroy(decayed);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_new_loss_trains)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
