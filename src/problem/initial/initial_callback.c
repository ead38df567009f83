/* A density that is a function of the user's, known up to a factor.
 *
 * In d <= 3 it is normalised numerically and drawn from its box (box_density.c). Above it is
 * taken as it is, and there is neither a box nor a draw. A number to reproduce: -x^2/2 becomes
 * -x^2/2 - ln(2 pi)/2. */
#include "base/context.h"
#include "problem/initial/initial_ops.h"

typedef struct callback {
    hb_box_density box;
    hb_density_callback function;
    void *user;
} callback;

static hb_status callback_raw(hb_context *context, const hb_problem *problem, size_t n,
                              const double *x, double *log_density, double *gradient)
{
    const callback *c = problem->initial.data;
    if (n == 0) return HB_OK;
    const int failure = c->function(c->user, n, x, log_density, gradient);
    HB_CHECK(context, failure == 0, HB_ERROR_CALLBACK,
             "the callback for the initial density returned %d; 0 means success", failure);
    return HB_OK;
}

static const hb_initial_ops in_a_box = {.kind = HB_INITIAL_KIND_CALLBACK,
                                        .facts = {.serial = 1},
                                        .destroy = hb_box_density_destroy,
                                        HB_BOX_DENSITY_OPS};
static const hb_initial_ops as_it_is = {.kind = HB_INITIAL_KIND_CALLBACK,
                                        .facts = {.serial = 1},
                                        .destroy = hb_box_density_destroy,
                                        .evaluate = hb_box_density_evaluate};

hb_status hb_initial_from_callback(hb_context *context, hb_density_callback function, void *user,
                                   hb_problem *problem)
{
    callback *c;
    problem->initial.ops = problem->dim <= 3 ? &in_a_box : &as_it_is;
    HB_TRY(hb_initial_data(context, problem, sizeof *c, &c));
    *c = (callback){.box = {.problem = problem, .raw = callback_raw, .what = "initial density"},
                    .function = function,
                    .user = user};
    if (problem->dim > 3) return HB_OK;
    HB_TRY(hb_box_density_find(context, &c->box));
    return hb_box_density_create(context, &c->box);
}
