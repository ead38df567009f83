/* A start that is given in x, in the coordinates y of a transform: u_y(y) = u_x(x(y)) |dx/dy|.
 *
 * Sums of Gaussians stay such sums where the transform is a matrix: means L^-1 m, deviations
 * s_i/L_ii when L is diagonal, the factor L^-1 C of a single one. Every other start is asked in x,
 * and what comes back is carried over; closed forms under Gaussians too: with x = L y, N(y; m, C)
 * is N(x; L m, L C L') in x. The mass must lie in the domain of the transform: the box of all but
 * 1e-12 of it is looked at.
 * A number to reproduce: N(2, 0.25) with the noise 0.5 is N(4, 1) in y. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "problem/initial/line_product.h"
#include "problem/transform/transform.h"

#include <math.h>

enum { MOST_CHECKED = 16384 }; /* coordinates that are drawn */

typedef struct transformed {
    hb_initial_ops own; /* what this start can do */
    double *L;          // (d, d), at time 0
    double log_volume;  /* ln |det L| */
} transformed;

static const hb_initial_ops *inner_ops(const hb_problem *problem)
{
    return problem->outside->initial.ops;
}

/* ---- carried over ---- */

static hb_status transformed_evaluate(hb_context *context, const hb_problem *problem, size_t n,
                                      const double *y, double *log_density, double *gradient)
{
    const hb_transform *transform = problem->transform;
    const size_t d = (size_t)problem->dim;
    hb_workspace work;
    double *x, *volume;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(x, n * d), HB_ARRAY(volume, n)));
    hb_status status = hb_transform_to_x(context, transform, 0, n, y, x);
    if (status == HB_OK)
        status = hb_problem_initial(context, problem->outside, n, x, log_density, gradient);
    if (status == HB_OK) status = hb_transform_volume(context, transform, 0, n, y, volume);
    for (size_t i = 0; i < n && status == HB_OK; i++) log_density[i] += volume[i];
    if (status == HB_OK && gradient)
        status = hb_transform_score_to_y(context, transform, 0, n, x, gradient);
    hb_workspace_destroy(&work);
    return status;
}

static void transformed_box(const hb_problem *problem, double *low, double *high)
{
    const size_t d = (size_t)problem->dim;
    hb_workspace work;
    double *x_low, *x_high;
    if (HB_WORKSPACE(problem->context, &work, HB_ARRAY(x_low, d), HB_ARRAY(x_high, d)) != HB_OK)
        return;
    inner_ops(problem)->box(problem->outside, x_low, x_high);
    if (hb_transform_box_to_y(problem->context, problem->transform, 0, x_low, x_high, low, high) !=
        HB_OK)
        for (size_t a = 0; a < d; a++) low[a] = high[a] = NAN;
    hb_workspace_destroy(&work);
}

static hb_status transformed_draw(hb_context *context, const hb_problem *problem, uint64_t seed,
                                  uint64_t first, size_t n, double *y)
{
    HB_TRY(inner_ops(problem)->draw(context, problem->outside, seed, first, n, y));
    return hb_transform_to_y(context, problem->transform, 0, n, y, y);
}

/* ---- closed forms, where the transform is a matrix ---- */

/* out = L A */
static void lower_times(size_t d, const double *L, const double *A, double *out)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            out[i * d + j] = 0;
            for (size_t k = 0; k <= i; k++) out[i * d + j] += L[i * d + k] * A[k * d + j];
        }
}

/* out = L C L' for a symmetric C. */
static void lower_conjugate(size_t d, const double *L, const double *C, double *work, double *out)
{
    lower_times(d, L, C, work);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            out[i * d + j] = 0;
            for (size_t k = 0; k <= j; k++) out[i * d + j] += work[i * d + k] * L[j * d + k];
        }
}

/* work: that of the start in x, then mean (d), C (d, d), scratch (d, d). */
static void transformed_average(const hb_problem *problem, const hb_gaussian *gaussian,
                                double *work, double *log_value, double *gradient)
{
    const transformed *f = problem->initial.data;
    const size_t d = (size_t)problem->dim;
    double *mean = work + hb_initial_average_work(problem->outside), *C = mean + d,
           *scratch = C + d * d;
    hb_gaussian in_x = {.mean = mean};
    hb_lower_multiply(d, f->L, gaussian->mean, mean);
    if (gaussian->covariance) {
        lower_conjugate(d, f->L, gaussian->covariance, scratch, C);
        in_x.covariance = C;
    } else if (!problem->transform->turns) {
        for (size_t i = 0; i < d; i++)
            C[i] = gaussian->variance[i] * f->L[i * d + i] * f->L[i * d + i];
        in_x.variance = C;
    } else {
        for (size_t k = 0; k < d * d; k++) {
            C[k] = 0;
            for (size_t j = 0; j <= k / d && j <= k % d; j++)
                C[k] += f->L[k / d * d + j] * gaussian->variance[j] * f->L[k % d * d + j];
        }
        in_x.covariance = C;
    }
    inner_ops(problem)->average(problem->outside, &in_x, work, log_value, gradient);
    *log_value += f->log_volume;
    hb_lower_transposed_multiply(d, f->L, gradient);
}

/* work: that of the start in x, then G (d, d), D (d, d), scratch (d, d), shift (d), x (d). */
static void transformed_moved(const hb_problem *problem, const double *G, const double *shift,
                              const double *D, const double *y, double *work, double *log_value,
                              double *gradient)
{
    const transformed *f = problem->initial.data;
    const size_t d = (size_t)problem->dim;
    double *Gx = work + hb_initial_moved_work(problem->outside), *Dx = Gx + d * d,
           *scratch = Dx + d * d, *p = scratch + d * d, *x = p + d;
    lower_times(d, f->L, G, Gx);
    for (size_t i = 0; i < d; i++) hb_solve_upper(d, f->L, 1, Gx + i * d); // rows of L G L^-1
    lower_conjugate(d, f->L, D, scratch, Dx);
    hb_lower_multiply(d, f->L, shift, p);
    hb_lower_multiply(d, f->L, y, x);
    inner_ops(problem)->moved(problem->outside, Gx, p, Dx, x, work, log_value, gradient);
    *log_value += f->log_volume;
    hb_lower_transposed_multiply(d, f->L, gradient);
}

/* ---- sums of Gaussians, taken over ---- */

/* A factor's diagonal is positive: columns change their sign. */
static void fix_signs(size_t d, double *factor)
{
    for (size_t j = 0; j < d; j++) {
        if (!(factor[j * d + j] < 0)) continue;
        for (size_t i = j; i < d; i++) factor[i * d + j] *= -1;
    }
}

/* Diagonal L. */
static void scale_gaussians(size_t d, const double *L, hb_gaussians *g)
{
    const size_t rows = g->shared_sd ? 1 : g->count;
    for (size_t j = 0; j < d; j++) {
        const double scale = L[j * d + j];
        for (size_t k = 0; k < g->count; k++) {
            g->mean[k * d + j] /= scale;
            g->log_weight[k] += log(fabs(scale));
        }
        for (size_t k = 0; k < rows; k++) g->sd[k * d + j] /= fabs(scale);
        for (size_t i = 0; g->cholesky && i < d; i++) g->cholesky[j * d + i] /= scale;
    }
    if (g->cholesky) fix_signs(d, g->cholesky);
}

/* One Gaussian: mean L^-1 m, factor L^-1 C, whose signs are put right. */
static hb_status turn_gaussian(hb_context *context, size_t d, const double *L, hb_gaussians *g)
{
    if (!g->cholesky) {
        HB_TRY(HB_NEW_CLEARED(context, g->cholesky, d * d));
        for (size_t j = 0; j < d; j++) g->cholesky[j * d + j] = g->sd[j];
    }
    hb_solve_lower(d, L, 1, g->mean);
    hb_solve_lower(d, L, d, g->cholesky);
    for (size_t j = 0; j < d; j++) g->log_weight[0] += log(fabs(L[j * d + j]));
    fix_signs(d, g->cholesky);
    return HB_OK;
}

/* The start of problem->outside becomes the problem's own. */
static hb_status take_gaussians(hb_context *context, hb_problem *problem, const double *L)
{
    const size_t d = (size_t)problem->dim;
    problem->initial = problem->outside->initial;
    problem->outside->initial = (hb_initial){0};
    hb_gaussians *g = problem->initial.data;
    if (problem->transform->turns) return turn_gaussian(context, d, L, g);
    scale_gaussians(d, L, g);
    return HB_OK;
}

/* ---- entering ---- */

/* Whether the box of the mass lies in the domain; `must`: else it is an error. */
static hb_status transformed_check_domain(hb_context *context, const hb_problem *problem, int must,
                                          int *inside)
{
    const size_t d = (size_t)problem->dim;
    const hb_transform *transform = problem->transform;
    hb_workspace work;
    double *low, *high;
    *inside = 1;
    if (!transform->bends || !inner_ops(problem)->box) return HB_OK;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(low, d), HB_ARRAY(high, d)));
    inner_ops(problem)->box(problem->outside, low, high);
    hb_status status = HB_OK;
    for (size_t a = 0; a < d && *inside; a++) {
        const hb_axis_map *map = &transform->axes[a];
        *inside = low[a] > map->low && high[a] < map->high;
        const int ends_there = low[a] >= map->low && high[a] <= map->high;
        if (*inside || (!must && ends_there)) continue;
        status = hb_fail(context, HB_ERROR_ARGUMENT,
                         "the initial density has mass from %.4g to %.4g on axis %zu, but the "
                         "process lives between %g and %g there, where its noise does not vanish; "
                         "give a density that ends there, such as product(...) or point(...)",
                         low[a], high[a], a + 1, map->low, map->high);
    }
    hb_workspace_destroy(&work);
    return status;
}

/* A density that ends where the domain does, as a function of y; d <= 3. */
static int density_of_y(void *user, size_t n, const double *y, double *log_density,
                        double *gradient)
{
    const hb_problem *problem = user;
    if (transformed_evaluate(problem->context, problem, n, y, log_density, gradient) != HB_OK)
        return 1;
    for (size_t i = 0; i < n; i++)
        if (isnan(log_density[i])) log_density[i] = -INFINITY;
    return 0;
}

/* A point goes where it is in y. */
static hb_status take_place(hb_context *context, hb_problem *problem)
{
    problem->initial = problem->outside->initial;
    problem->outside->initial = (hb_initial){0};
    hb_gaussians *g = problem->initial.data;
    HB_TRY(hb_transform_to_y(context, problem->transform, 0, 1, g->mean, g->mean));
    HB_CHECK(context, !isnan(g->mean[0]), HB_ERROR_ARGUMENT,
             "the initial condition is a point outside of the domain of the process, where the "
             "noise vanishes");
    return HB_OK;
}

static void transformed_destroy(hb_context *context, void *data)
{
    transformed *f = data;
    hb_release(context, f->L);
    hb_release(context, f);
}

static hb_status transformed_wrap(hb_context *context, hb_problem *problem, double *L)
{
    const hb_initial_ops *ops = inner_ops(problem);
    const hb_transform *transform = problem->transform;
    const size_t d = (size_t)problem->dim;
    transformed *f;
    HB_TRY(hb_initial_data(context, problem, sizeof *f, &f));
    f->L = L;
    for (size_t j = 0; j < d; j++) f->log_volume += log(fabs(L[j * d + j]));
    f->own = (hb_initial_ops){.name = ops->name,
                              .form = ops->form,
                              .kind = ops->kind,
                              .facts = ops->facts,
                              .destroy = transformed_destroy,
                              .evaluate = transformed_evaluate,
                              .box = ops->box ? transformed_box : NULL,
                              .draw = ops->draw ? transformed_draw : NULL};
    if (!transform->bends && ops->average && !(transform->turns && ops->average_is_diagonal)) {
        f->own.average = transformed_average;
        f->own.average_is_diagonal = ops->average_is_diagonal;
    }
    if (!transform->bends && ops->moved) f->own.moved = transformed_moved;
    if (transform->bends || transform->turns) f->own.facts.box = 0;
    problem->initial.ops = &f->own;
    return HB_OK;
}

/* A formula may go on beyond the domain of the process: draws tell. */
static hb_status check_draws(hb_context *context, const hb_problem *problem)
{
    const size_t d = (size_t)problem->dim, n = 1 + MOST_CHECKED / d;
    double *x; // (n, d)
    if (!problem->transform->bends || !inner_ops(problem)->draw) return HB_OK;
    HB_TRY(HB_NEW(context, x, n * d));
    hb_status status = hb_problem_initial_sample(context, problem->outside, 1, 0, n, x);
    for (size_t k = 0; k < n * d && status == HB_OK; k++) {
        const hb_axis_map *map = &problem->transform->axes[k % d];
        if (x[k] >= map->low && x[k] <= map->high) continue;
        status = hb_fail(context, HB_ERROR_ARGUMENT,
                         "the initial density has mass at %.4g on axis %zu, but the process lives "
                         "between %g and %g there, where its noise does not vanish; give a density "
                         "that ends there, such as product(exp(-log(x)^2)/x), uniform(...) or "
                         "point(...)",
                         x[k], k % d + 1, map->low, map->high);
    }
    hb_release(context, x);
    return status;
}

/* With the transform's L at time 0; *kept: L belongs to the start now. */
static hb_status transformed_enter(hb_context *context, hb_problem *problem, double *L, int *kept)
{
    const hb_initial_ops *ops = inner_ops(problem);
    const hb_transform *transform = problem->transform;
    int taken, inside;
    if (ops->formula) HB_TRY(check_draws(context, problem));
    HB_TRY(hb_initial_take_formula(context, problem, L, &taken));
    if (taken) return HB_OK;
    const int gaussians = ops->destroy == hb_gaussians_destroy && !transform->bends;
    const hb_gaussians *g = gaussians ? problem->outside->initial.data : NULL;
    if (gaussians && (!transform->turns || g->count == 1))
        return take_gaussians(context, problem, L);
    HB_TRY(transformed_check_domain(context, problem, problem->dim > 3, &inside));
    if (!inside) return hb_initial_from_callback(context, density_of_y, problem, problem);
    *kept = 1;
    return transformed_wrap(context, problem, L);
}

hb_status hb_initial_enter_transform(hb_context *context, hb_problem *problem)
{
    const size_t d = (size_t)problem->dim;
    double *L;
    int kept = 0;
    if (inner_ops(problem)->place) return take_place(context, problem);
    HB_TRY(HB_NEW(context, L, d * d));
    hb_status status = hb_transform_matrix(context, problem->transform, 0, L);
    if (status == HB_OK) status = transformed_enter(context, problem, L, &kept);
    if (status != HB_OK || !kept) hb_release(context, L);
    return status;
}
