/* A program with names of 0.2 that 0.3 has renamed, by the header compat.h. Prints ln u of a
 * Gaussian and its error: -0.9189385332 at 0. */
#include <heatball/compat.h>

#include <stdio.h>

int main(void)
{
    const double x = 0;
    hb_context *context = NULL;
    hb_problem *problem = NULL;
    hb_solution *solution = NULL;
    hb_solve_settings settings;
    hb_train_settings train;
    hb_solve_settings_default(sizeof settings, &settings);
    hb_train_settings_default(sizeof train, &train);
    settings.time = 0.2;
    train.ball_share = 0.25;
    hb_status status = hb_context_create(NULL, &context);
    if (status == HB_OK)
        status = hb_problem_parse(context, "-x", "sqrt(2)", "gaussian(mean=0, var=1)", &problem);
    if (status == HB_OK) status = hb_solve(context, problem, &settings, 1, &x, &solution);
    if (status == HB_OK)
        printf("%.17e %.17e %.17e\n", hb_solution_values(solution, HB_COLUMN_LOG_DENSITY)[0],
               hb_solution_values(solution, HB_COLUMN_LOG_DENSITY_SE)[0], train.time_fraction);
    if (status != HB_OK) fprintf(stderr, "%s\n", hb_context_message(context));
    hb_solution_destroy(solution);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
    return status != HB_OK;
}
