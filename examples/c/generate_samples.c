/* Samples of a model file by three solvers: the reverse-time SDE, the probability-flow ODE, and
 * Heun steps of it.
 *
 * Sample i is a function of the settings, the seed and i alone, so that pieces, ranks and threads
 * change nothing; here 1000 samples are drawn in two pieces. Printed are the mean of |x|^2 and of
 * x_1, which agree between the solvers within their errors.
 *
 *     cc generate_samples.c $(pkg-config --cflags --libs heatball) && ./a.out rings.safetensors */
#include <heatball/heatball.h>

#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 1000, FIRST = 400 };

static hb_status show(hb_context *context, const hb_model *model, const char *name,
                      hb_solver solver, int dim, double *x)
{
    hb_generate_settings settings;
    double square = 0, mean = 0;
    hb_generate_settings_default(sizeof settings, &settings);
    settings.solver = solver;
    settings.n_steps = solver == HB_SOLVER_SDE ? 200 : 40;
    settings.seed = 3;
    HB_TRY(hb_model_generate(context, model, &settings, 0, FIRST, NULL, x));
    HB_TRY(hb_model_generate(context, model, &settings, FIRST, SAMPLES - FIRST, NULL,
                             x + FIRST * dim));
    for (int k = 0; k < SAMPLES * dim; k++) square += x[k] * x[k] / SAMPLES;
    for (int i = 0; i < SAMPLES; i++) mean += x[i * dim] / SAMPLES;
    printf("%-5s mean of |x|^2 %.4f, of x_1 %.4f\n", name, square, mean);
    return HB_OK;
}

static hb_status run(hb_context *context, const char *path)
{
    hb_model *model = NULL;
    hb_model_info info;
    HB_TRY(hb_model_load(context, path, &model));
    hb_status status = hb_model_info_get(model, sizeof info, &info);
    double *x = malloc(sizeof *x * SAMPLES * (size_t)info.dim);
    if (!x) status = hb_context_fail(context, HB_ERROR_MEMORY, "no memory for the samples");
    if (status == HB_OK) status = show(context, model, "sde", HB_SOLVER_SDE, info.dim, x);
    if (status == HB_OK) status = show(context, model, "ode", HB_SOLVER_ODE, info.dim, x);
    if (status == HB_OK) status = show(context, model, "heun", HB_SOLVER_HEUN, info.dim, x);
    free(x);
    hb_model_destroy(model);
    return status;
}

int main(int n, char **words)
{
    hb_context *context = NULL;
    if (hb_context_create(NULL, &context) != HB_OK) return 1;
    const hb_status status = run(context, n > 1 ? words[1] : "rings.safetensors");
    if (status != HB_OK) fprintf(stderr, "%s\n", hb_context_message(context));
    hb_context_destroy(context);
    return status != HB_OK;
}
