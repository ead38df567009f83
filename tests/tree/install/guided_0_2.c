/* A program for heatball 0.2, but for the header compat.h in place of guide.h: walks that a network
 * guides. Prints ln u and its error by the call of 0.2, and ln u by the call of 0.3, which is the
 * same. */
#include <heatball/compat.h>

#include <stdio.h>

static hb_status by_new_call(hb_context *context, const hb_problem *problem, const double *x,
                             hb_solution **out)
{
    hb_solve_settings settings;
    hb_sampling_settings sampling;
    hb_network_settings network;
    hb_solve_settings_default(sizeof settings, &settings);
    hb_sampling_settings_default(sizeof sampling, &sampling);
    hb_network_settings_default(sizeof network, &network);
    settings.method = HB_METHOD_NETWORK;
    settings.time = 0.2;
    settings.sampling = &sampling;
    settings.network = &network;
    sampling.samples = 128;
    network.training_steps = 60;
    return hb_solve(context, problem, &settings, 1, x, out);
}

int main(void)
{
    const double x[] = {0.3, -0.2};
    hb_context *context = NULL;
    hb_problem *problem = NULL;
    hb_solution *old = NULL, *new = NULL;
    hb_guide_settings settings;
    hb_guide_settings_default(sizeof settings, &settings);
    settings.time = 0.2;
    settings.training_steps = 60;
    settings.walks = 128;
    hb_status status = hb_context_create(NULL, &context);
    if (status == HB_OK)
        status = hb_problem_parse(context, "x - x^3, -y", "sqrt(2)", "gaussian(mean=0, var=0.3)",
                                  &problem);
    if (status == HB_OK) status = hb_solve_guided(context, problem, &settings, 1, x, &old);
    if (status == HB_OK) status = by_new_call(context, problem, x, &new);
    if (status == HB_OK)
        printf("%.17g %.17g %.17g\n", hb_solution_values(old, HB_COLUMN_LOG_DENSITY)[0],
               hb_solution_values(old, HB_COLUMN_LOG_DENSITY_SE)[0],
               hb_solution_values(new, HB_COLUMN_LOG_DENSITY)[0]);
    if (status != HB_OK) fprintf(stderr, "%s\n", hb_context_message(context));
    hb_solution_destroy(old);
    hb_solution_destroy(new);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
    return status != HB_OK;
}
