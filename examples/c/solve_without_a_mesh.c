/* Log-density and score of a nonlinear SDE in five dimensions, by particles and by walks.
 *
 * A chain of double wells, dx_j = (-x_j + 2 x_j/(1 + x_j^2) + k (x_{j-1} - 2 x_j + x_{j+1})) dt +
 * sqrt(2) dW_j, from N(0, 1/2). No mesh can be laid through five dimensions; the two methods share
 * nothing but the problem, so that they agree within their errors is the check. A point whose
 * errors cannot be trusted carries a warning.
 *
 *     cc solve_without_a_mesh.c $(pkg-config --cflags --libs heatball) && ./a.out */
#include <heatball/heatball.h>

#include <stdio.h>

enum { DIM = 5, POINTS = 3 };

static hb_status create(hb_context *context, hb_problem **out)
{
    static const char *const names[] = {"k"};
    static const double values[] = {0.1};
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = DIM;
    settings.drift = "-x[i] + 2*x[i]/(1 + x[i]^2) + k*(x[i-1] - 2*x[i] + x[i+1])";
    settings.noise = "sqrt(2)";
    settings.initial = "gaussian(mean=0, var=0.5)";
    settings.n_parameters = 1;
    settings.parameter_names = names;
    settings.parameter_values = values;
    return hb_problem_create(context, &settings, out);
}

static void print_point(const hb_solution *s, size_t i)
{
    const double *v = hb_solution_values(s, HB_COLUMN_LOG_DENSITY),
                 *v_se = hb_solution_values(s, HB_COLUMN_LOG_DENSITY_ERROR),
                 *score = hb_solution_values(s, HB_COLUMN_SCORE),
                 *score_se = hb_solution_values(s, HB_COLUMN_SCORE_ERROR);
    const char *warning = hb_solution_warning(s, i);
    printf("%-10s point %zu   log-density %.5f +- %.5f   score_1 %.5f +- %.5f%s%s\n",
           hb_solution_point_method(s, i), i + 1, v[i], v_se[i], score[i * DIM], score_se[i * DIM],
           warning ? "   warning: " : "", warning ? warning : "");
}

static hb_status show(hb_context *context, const hb_problem *problem, hb_method method)
{
    const double points[POINTS][DIM] = {
        {0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {0.7, 0.4, -0.1, -0.5, -0.8}};
    hb_solve_settings settings;
    hb_sampling_settings sampling;
    hb_solution *solution = NULL;
    hb_solve_settings_default(sizeof settings, &settings);
    hb_sampling_settings_default(sizeof sampling, &sampling);
    settings.method = method;
    settings.time = 0.3;
    settings.sampling = &sampling;
    sampling.samples = method == HB_METHOD_WALK ? 16384 : 65536;
    sampling.seed = 2;
    hb_status status = hb_solve(context, problem, &settings, POINTS, points[0], &solution);
    if (status != HB_OK) return status;
    for (size_t i = 0; i < POINTS; i++) print_point(solution, i);
    hb_solution_destroy(solution);
    return HB_OK;
}

int main(void)
{
    hb_context *context = NULL;
    hb_problem *problem = NULL;
    hb_status status = hb_context_create(NULL, &context);
    if (status == HB_OK) status = create(context, &problem);
    if (status == HB_OK) status = show(context, problem, HB_METHOD_PARTICLES);
    if (status == HB_OK) status = show(context, problem, HB_METHOD_WALK);
    if (status != HB_OK) fprintf(stderr, "%s\n", hb_context_message(context));
    hb_problem_destroy(problem);
    hb_context_destroy(context);
    return status != HB_OK;
}
