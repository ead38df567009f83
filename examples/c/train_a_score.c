/* A score network of two rings, learnt from 2000 rows, and its error against the exact score.
 *
 * The rows are drawn from a Gaussian mixture whose score is known at every tau, so that the error
 * can be measured: E|s - s*|^2/E|s*|^2 over new rows at tau = 0.3. The model is saved for
 * generate_samples.c and certify_a_score.c.
 *
 *     cc train_a_score.c $(pkg-config --cflags --libs heatball) && ./a.out rings.safetensors 600 */
#include <heatball/heatball.h>

#include <stdio.h>
#include <stdlib.h>

enum { DIM = 2, ROWS = 2000 };

static double rows[ROWS][DIM], tau[ROWS], learnt[ROWS][DIM], exact[ROWS][DIM];

static hb_status measure(hb_context *context, const hb_model *model, const hb_mixture *rings)
{
    double error = 0, size = 0;
    HB_TRY(hb_mixture_sample_at(context, rings, HB_PROCESS_OU, 2, 0, ROWS, 0.3, rows[0], NULL));
    for (int i = 0; i < ROWS; i++) tau[i] = 0.3;
    HB_TRY(hb_model_score(context, model, ROWS, rows[0], tau, NULL, learnt[0]));
    HB_TRY(hb_mixture_score(context, rings, HB_PROCESS_OU, ROWS, rows[0], 0.3, NULL, exact[0]));
    for (int k = 0; k < ROWS * DIM; k++) {
        error += (learnt[0][k] - exact[0][k]) * (learnt[0][k] - exact[0][k]);
        size += exact[0][k] * exact[0][k];
    }
    printf("relative square error of the score at tau 0.3: %.4f\n", error / size);
    return HB_OK;
}

static hb_status run(hb_context *context, const char *path, uint64_t steps)
{
    hb_mixture *rings = NULL;
    hb_model *model = NULL;
    hb_train_settings settings;
    hb_train_settings_default(sizeof settings, &settings);
    settings.width = 64;
    settings.steps = steps;
    hb_status status = hb_mixture_named(context, "double_ring", &rings);
    if (status == HB_OK) status = hb_mixture_sample(context, rings, 1, 0, ROWS, rows[0], NULL);
    if (status == HB_OK) status = hb_train(context, &settings, DIM, 0, ROWS, rows[0], NULL, &model);
    if (status == HB_OK) status = measure(context, model, rings);
    if (status == HB_OK) status = hb_model_save(context, model, path);
    hb_model_destroy(model);
    hb_mixture_destroy(rings);
    return status;
}

int main(int n, char **words)
{
    hb_context *context = NULL;
    if (hb_context_create(NULL, &context) != HB_OK) return 1;
    const hb_status status = run(context, n > 1 ? words[1] : "rings.safetensors",
                                 n > 2 ? strtoull(words[2], NULL, 10) : 600);
    if (status != HB_OK) fprintf(stderr, "%s\n", hb_context_message(context));
    hb_context_destroy(context);
    return status != HB_OK;
}
