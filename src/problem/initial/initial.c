/* Initial densities: ln u(x,0), its gradient, a box that holds the mass, and draws, by the
 * functions of their operations.
 *
 * A text NAME(ARGUMENTS) is given to the operations of that name (initial_ops.h). Draw i is a
 * function of (seed, i).
 * A number to reproduce: a Gaussian of variance s^2 has all but 1e-12 of its mass within 7.13 s. */
#include "base/context.h"
#include "base/memory.h"
#include "problem/initial/initial_ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- made and destroyed --------------------------------------------------------------------- */

hb_status hb_initial_data(hb_context *context, hb_problem *problem, size_t bytes, void *out)
{
    HB_TRY(hb_allocate_to(context, bytes, 1, 1, out));
    memcpy(&problem->initial.data, out, sizeof problem->initial.data); // a pointer to any type
    return HB_OK;
}

void hb_initial_destroy(hb_context *context, hb_initial *initial)
{
    if (initial->data) initial->ops->destroy(context, initial->data);
    *initial = (hb_initial){0};
}

/* What names of other programs are called here. */
static const char *initial_hint(const char *name)
{
    static const struct {
        const char *name, *hint;
    } hints[] = {{"delta", "a start at a point is point(0); "},
                 {"dirac", "a start at a point is point(0); "},
                 {"normal", "a normal density is gaussian(mean=0, var=1); "},
                 {"gauss", "a normal density is gaussian(mean=0, var=1); "},
                 {"n", "a normal density is gaussian(mean=0, var=1); "},
                 {"exp", "a formula is density(EXPR); "}};
    for (size_t k = 0; k < sizeof hints / sizeof *hints; k++)
        if (!strcasecmp(name, hints[k].name)) return hints[k].hint;
    return "";
}

/* "gaussian(...), mixture(FILE), ... or uniform(...)" */
static hb_status initial_refuse(hb_context *context, const char *name)
{
    char forms[300] = "";
    for (size_t i = 0, used = 0; hb_initial_list[i] && used < sizeof forms; i++)
        used += (size_t)snprintf(forms + used, sizeof forms - used, "%s%s",
                                 i == 0                   ? ""
                                 : hb_initial_list[i + 1] ? ", "
                                                          : " or ",
                                 hb_initial_list[i]->form);
    return hb_fail(context, HB_ERROR_ARGUMENT,
                   "the initial density '%.40s' is not known; %sit must be %s", name,
                   initial_hint(name), forms);
}

static hb_status initial_create(const hb_initial_text *text, hb_problem *problem)
{
    for (size_t i = 0; hb_initial_list[i]; i++)
        if (!strcmp(text->name, hb_initial_list[i]->name)) {
            problem->initial.ops = hb_initial_list[i];
            return hb_initial_list[i]->create(text, problem);
        }
    return initial_refuse(text->context, text->name);
}

hb_status hb_initial_parse(hb_context *context, const hb_problem_settings *settings,
                           hb_problem *problem)
{
    char *copy;
    HB_TRY(hb_copy_string(context, settings->initial, &copy));
    hb_initial_text cut = {.context = context,
                           .directory = settings->directory,
                           .settings = settings,
                           .dim = problem->dim};
    char *name = hb_text_trim(copy), *open = strchr(name, '(');
    const size_t length = strlen(name);
    hb_status status = HB_OK;
    if (open && name[length - 1] != ')')
        status =
            hb_fail(context, HB_ERROR_ARGUMENT,
                    "the initial density '%.60s' does not end with the parenthesis it opens", name);
    if (status == HB_OK && open) {
        name[length - 1] = *open = '\0';
        cut.arguments = hb_text_trim(open + 1);
    }
    cut.name = hb_text_trim(name);
    if (status == HB_OK) status = initial_create(&cut, problem);
    hb_release(context, copy);
    return status;
}

/* ---- questions ------------------------------------------------------------------------------ */

static hb_status check_given(hb_context *context, const hb_problem *problem, const char *what)
{
    HB_CHECK(context, problem && problem->initial.ops, HB_ERROR_ARGUMENT,
             "%s is wanted, but the problem has no initial density; give `initial`", what);
    return HB_OK;
}

hb_initial_kind hb_problem_initial_kind(const hb_problem *problem)
{
    const hb_initial_ops *ops = problem ? problem->initial.ops : NULL;
    return !ops ? HB_INITIAL_KIND_NONE : ops->kind ? ops->kind : HB_INITIAL_KIND_OTHER;
}

const hb_initial_facts *hb_problem_initial_facts(const hb_problem *problem)
{
    static const hb_initial_facts none = {0};
    return problem->initial.ops ? &problem->initial.ops->facts : &none;
}

const double *hb_problem_initial_place(const hb_problem *problem)
{
    const hb_initial_ops *ops = problem ? problem->initial.ops : NULL;
    return ops && ops->place ? ops->place(problem) : NULL;
}

double hb_problem_initial_narrowest(const hb_problem *problem, int axis)
{
    const hb_initial_ops *ops = problem->initial.ops;
    return ops && ops->narrowest ? ops->narrowest(problem, axis) : INFINITY;
}

double hb_problem_initial_most(const hb_problem *problem, int axis)
{
    const hb_initial_ops *ops = problem->initial.ops;
    return ops && ops->most ? ops->most(problem, axis) : -INFINITY;
}

hb_status hb_problem_initial_axis_mass(hb_context *context, const hb_problem *problem, int axis,
                                       double low, double high, int *known, double *log_mass)
{
    HB_TRY(check_given(context, problem, "the mass of an initial density"));
    const hb_initial_ops *ops = problem->initial.ops;
    *known = ops->axis_mass != NULL;
    return *known ? ops->axis_mass(context, problem, axis, low, high, log_mass) : HB_OK;
}

static hb_status point_by_point(hb_context *context, const hb_problem *problem, size_t n,
                                const double *x, double *log_density, double *gradient)
{
    const size_t d = (size_t)problem->dim;
    void *unused = NULL; // (d): where a gradient goes that nobody wants
    if (!gradient) HB_TRY(hb_allocate(context, d, sizeof(double), &unused));
    for (size_t i = 0; i < n; i++)
        problem->initial.ops->at(problem, x + i * d, log_density + i,
                                 gradient ? gradient + i * d : unused);
    hb_release(context, unused);
    return HB_OK;
}

hb_status hb_problem_initial(hb_context *context, const hb_problem *problem, size_t n,
                             const double *x, double *log_density, double *gradient)
{
    HB_TRY(check_given(context, problem, "an initial density"));
    HB_CHECK(context, (x && log_density) || n == 0, HB_ERROR_ARGUMENT,
             "the points or the output of an initial density are NULL");
    return (problem->initial.ops->at ? point_by_point : problem->initial.ops->evaluate)(
        context, problem, n, x, log_density, gradient);
}

hb_status hb_problem_initial_box(hb_context *context, const hb_problem *problem, double *low,
                                 double *high)
{
    HB_TRY(check_given(context, problem, "the box of the initial mass"));
    HB_CHECK(context, problem->initial.ops->box, HB_ERROR_ARGUMENT,
             "the box of an initial density that is a callback is found for dim up to 3; dim is %d",
             problem->dim);
    problem->initial.ops->box(problem, low, high);
    return HB_OK;
}

hb_status hb_problem_initial_sample(hb_context *context, const hb_problem *problem, uint64_t seed,
                                    uint64_t first, size_t n, double *x)
{
    HB_TRY(check_given(context, problem, "a draw"));
    const uint64_t d = (uint64_t)problem->dim, most = UINT64_MAX / (d + 2);
    HB_CHECK(context, n <= most && first <= most - n && (x || n == 0), HB_ERROR_ARGUMENT,
             "draws %llu and %zu more are wanted; the last may be %llu, and the output not NULL",
             (unsigned long long)first, n, (unsigned long long)most);
    HB_CHECK(context, problem->initial.ops->draw, HB_ERROR_ARGUMENT,
             "draws of an initial density that is a callback need dim up to 3; dim is %d",
             problem->dim);
    return problem->initial.ops->draw(context, problem, seed, first, n, x);
}

/* ---- closed forms --------------------------------------------------------------------------- */

int hb_initial_average_is_closed(const hb_problem *problem, int diagonal)
{
    const hb_initial_ops *ops = problem->initial.ops;
    return ops && ops->average && (diagonal || !ops->average_is_diagonal);
}

size_t hb_initial_average_work(const hb_problem *problem)
{
    const size_t d = (size_t)problem->dim, own = d * d + 2 * d;
    return problem->transform ? own + 2 * d * d + d : own; // initial_transformed.c
}

void hb_initial_average(const hb_problem *problem, const hb_gaussian *gaussian, double *work,
                        double *log_value, double *gradient)
{
    problem->initial.ops->average(problem, gaussian, work, log_value, gradient);
}

int hb_initial_moves(const hb_problem *problem)
{
    return problem->initial.ops && problem->initial.ops->moved;
}

size_t hb_initial_moved_work(const hb_problem *problem)
{
    const size_t d = (size_t)problem->dim, own = 2 * d * d + 2 * d;
    return problem->transform ? own + 3 * d * d + 2 * d : own; // initial_transformed.c
}

void hb_initial_moved(const hb_problem *problem, const double *G, const double *shift,
                      const double *D, const double *x, double *work, double *log_value,
                      double *gradient)
{
    problem->initial.ops->moved(problem, G, shift, D, x, work, log_value, gradient);
}
