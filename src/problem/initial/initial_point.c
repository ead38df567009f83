/* point(1 -0.5): all mass in one point x0; d numbers by blanks, or one for all. The result is the
 * density of the transition from x0.
 *
 * It has no density at time 0. Its mean under N(m, C) is N(x0; m, C), and after x -> G x + c +
 * N(0, D) it is N(G x0 + c, D): a Gaussian of variance 0. A number to reproduce: Brownian motion
 * from point(0) has the density (2 pi t)^(-d/2) in 0. */
#include "base/context.h"
#include "base/memory.h"
#include "problem/initial/initial_ops.h"

#include <string.h>

static hb_status point_create(const hb_initial_text *text, hb_problem *problem)
{
    const size_t d = (size_t)text->dim;
    size_t count;
    double *values;
    hb_gaussians *g;
    HB_CHECK(text->context, text->arguments && text->arguments[0], HB_ERROR_ARGUMENT,
             "point needs its coordinates by blanks, as in point(1 -0.5)");
    for (char *c = text->arguments; *c; c++)
        if (*c == ',') *c = ' '; // commas are as good
    HB_TRY(hb_gaussians_create(text->context, problem, 1, 1, &g));
    HB_TRY(hb_text_numbers(text->context, "point", text->arguments, &count, &values));
    for (size_t j = 0; j < d && (count == 1 || count == d); j++) {
        g->mean[j] = values[count == 1 ? 0 : j];
        g->sd[j] = 0;
    }
    hb_release(text->context, values);
    HB_CHECK(text->context, count == 1 || count == d, HB_ERROR_ARGUMENT,
             "point: there are %zu numbers; give one, or dim = %zu, by blanks", count, d);
    return hb_gaussians_prepare(text->context, text->dim, NULL, g);
}

static const double *point_place(const hb_problem *problem)
{
    return ((const hb_gaussians *)problem->initial.data)->mean;
}

static hb_status point_evaluate(hb_context *context, const hb_problem *problem, size_t n,
                                const double *x, double *log_density, double *gradient)
{
    (void)problem, (void)x, (void)log_density, (void)gradient;
    if (n == 0) return HB_OK;
    return hb_fail(
        context, HB_ERROR_ARGUMENT,
        "the initial condition is a point, which has no density at time 0; ask at a time above 0");
}

static void point_box(const hb_problem *problem, double *low, double *high)
{
    memcpy(low, point_place(problem), (size_t)problem->dim * sizeof *low);
    memcpy(high, point_place(problem), (size_t)problem->dim * sizeof *high);
}

static hb_status point_draw(hb_context *context, const hb_problem *problem, uint64_t seed,
                            uint64_t first, size_t n, double *x)
{
    (void)context, (void)seed, (void)first;
    const size_t d = (size_t)problem->dim;
    for (size_t i = 0; i < n; i++) memcpy(x + i * d, point_place(problem), d * sizeof *x);
    return HB_OK;
}

const hb_initial_ops hb_initial_point = {HB_INITIAL_TEXT("point", "point(...)", point_create),
                                         .kind = HB_INITIAL_KIND_POINT,
                                         .facts = {.point = 1},
                                         .destroy = hb_gaussians_destroy,
                                         .evaluate = point_evaluate,
                                         .box = point_box,
                                         .draw = point_draw,
                                         .average = hb_gaussians_average,
                                         .moved = hb_gaussians_moved,
                                         .place = point_place};
