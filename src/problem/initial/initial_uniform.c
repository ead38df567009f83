/* uniform(low high, low high, ...): constant on a box; d pairs, or one for all.
 *
 * Its mean under N(m, C), C diagonal with the roots c_j, P the normal distribution function:
 *     E = prod_j [ P((high_j - m_j)/c_j) - P((low_j - m_j)/c_j) ]/(high_j - low_j)
 * written with erfc on the side where both arguments have one sign, so that no digits are lost
 * far from the box; the gradient is by m. A box that is narrow against c is averaged by Gauss's
 * rule: a difference of two values of erfc would lose the digits. A number to reproduce:
 * uniform(-1 1) has the density 1/2 in 0. */
#include "base/context.h"
#include "base/memory.h"
#include "problem/initial/initial_ops.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

static const double NARROW = 0.5; /* a box, in deviations */

typedef struct uniform_box {
    hb_workspace work;
    double *low, *high; // (d)
} uniform_box;

static hb_status parse_pair(const hb_initial_text *s, const char *piece, int axis, uniform_box *box)
{
    size_t count;
    double *pair;
    HB_TRY(hb_text_numbers(s->context, "uniform", piece, &count, &pair));
    const double low = count > 0 ? pair[0] : NAN, high = count > 1 ? pair[1] : NAN;
    hb_release(s->context, pair);
    HB_CHECK(s->context, count == 2, HB_ERROR_ARGUMENT,
             "uniform: pair %d has %zu numbers; it must be two, low and high", axis + 1, count);
    HB_CHECK(s->context, low < high, HB_ERROR_ARGUMENT,
             "uniform: low is %g and high is %g on axis %d; low must be less than high", low, high,
             axis + 1);
    box->low[axis] = low;
    box->high[axis] = high;
    return HB_OK;
}

static hb_status uniform_create(const hb_initial_text *s, hb_problem *problem)
{
    const int d = s->dim;
    uniform_box *box;
    HB_TRY(hb_initial_data(s->context, problem, sizeof *box, &box));
    HB_TRY(HB_WORKSPACE(s->context, &box->work, HB_ARRAY(box->low, (size_t)d),
                        HB_ARRAY(box->high, (size_t)d)));
    char *rest = s->arguments, *piece;
    int pairs = 0;
    for (; (piece = hb_text_piece(&rest)) != NULL; pairs++)
        if (pairs < d) HB_TRY(parse_pair(s, piece, pairs, box));
    HB_CHECK(s->context, pairs == d || pairs == 1, HB_ERROR_ARGUMENT,
             "uniform: there are %d pairs; give one, or dim = %d, as in uniform(-1 1, 0 2)", pairs,
             d);
    for (int j = pairs; j < d; j++) {
        box->low[j] = box->low[0];
        box->high[j] = box->high[0];
    }
    return HB_OK;
}

static void uniform_destroy(hb_context *context, void *data)
{
    hb_workspace_destroy(&((uniform_box *)data)->work);
    hb_release(context, data);
}

static void uniform_at(const hb_problem *problem, const double *x, double *log_density,
                       double *gradient)
{
    const uniform_box *box = problem->initial.data;
    *log_density = 0;
    for (int j = 0; j < problem->dim; j++) {
        const int inside = x[j] >= box->low[j] && x[j] <= box->high[j];
        *log_density -= inside ? log(box->high[j] - box->low[j]) : INFINITY;
        gradient[j] = 0;
    }
}

static void uniform_copy_box(const hb_problem *problem, double *low, double *high)
{
    const uniform_box *box = problem->initial.data;
    memcpy(low, box->low, (size_t)problem->dim * sizeof *low);
    memcpy(high, box->high, (size_t)problem->dim * sizeof *high);
}

static hb_status uniform_draw(hb_context *context, const hb_problem *problem, uint64_t seed,
                              uint64_t first, size_t n, double *x)
{
    const uniform_box *box = problem->initial.data;
    const size_t d = (size_t)problem->dim;
    HB_TRY(hb_random_uniform(context, seed, HB_STREAM_START_VALUES, first * d, n * d, x));
    for (size_t k = 0; k < n * d; k++)
        x[k] = box->low[k % d] + x[k] * (box->high[k % d] - box->low[k % d]);
    return HB_OK;
}

/* ---- its mean under a Gaussian -------------------------------------------------------------- */

/* ln[P(b) - P(a)] by Gauss's rule with eight nodes, for narrow intervals: e^{-m^2/2}, m the middle,
 * is taken out, and the width comes from the caller, since b - a has lost it. */
static double log_narrow(double a, double b, double width, double *slope)
{
    static const double node[4] = {0.18343464249564981, 0.52553240991632899, 0.79666647741362674,
                                   0.96028985649753623},
                        weight[4] = {0.36268378337836198, 0.31370664587788729, 0.22238103445337447,
                                     0.10122853629037626};
    const double middle = 0.5 * (a + b), half = 0.5 * width;
    double sum = 0, first = 0;
    for (int k = 0; k < 8; k++) {
        const double y = (k % 2 ? -half : half) * node[k / 2];
        const double term = 0.5 * weight[k / 2] * exp(-y * (middle + 0.5 * y));
        sum += term;
        first += term * y;
    }
    *slope = middle + first / sum;
    return log(2 * half * sum) - 0.5 * (middle * middle + log(2 * M_PI));
}

/* ln[P(b) - P(a)] for a < b, and its slope under a common shift -1: phi(a) - phi(b) over it. */
static double log_interval(double a, double b, double width, double *slope)
{
    if (width * fmax(1, fmax(fabs(a), fabs(b))) < NARROW) return log_narrow(a, b, width, slope);
    if (a + b < 0) { // the mirror image: on the right erfc is small and exact
        const double mirrored = log_interval(-b, -a, width, slope);
        *slope = -*slope;
        return mirrored;
    }
    const double root = sqrt(0.5), mass = 0.5 * (erfc(a * root) - erfc(b * root));
    const double density = sqrt(0.5 / M_PI);
    *slope = mass > 0 ? density * (exp(-0.5 * a * a) - exp(-0.5 * b * b)) / mass : 0;
    return log(mass);
}

static void uniform_average(const hb_problem *problem, const hb_gaussian *gaussian, double *work,
                            double *log_value, double *gradient)
{
    (void)work;
    const uniform_box *box = problem->initial.data;
    const size_t d = (size_t)problem->dim;
    *log_value = 0;
    for (size_t j = 0; j < d; j++) {
        const double sd = sqrt(gaussian->variance[j]), low = box->low[j], high = box->high[j];
        *log_value += log_interval((low - gaussian->mean[j]) / sd, (high - gaussian->mean[j]) / sd,
                                   (high - low) / sd, gradient + j) -
                      log(high - low);
        gradient[j] /= sd;
    }
    if (*log_value == -INFINITY) memset(gradient, 0, d * sizeof *gradient);
}

const hb_initial_ops hb_initial_uniform = {
    HB_INITIAL_TEXT("uniform", "uniform(...)", uniform_create),
    .kind = HB_INITIAL_KIND_UNIFORM,
    .facts = {.box = 1},
    .destroy = uniform_destroy,
    .at = uniform_at,
    .box = uniform_copy_box,
    .draw = uniform_draw,
    .average = uniform_average,
    .average_is_diagonal = 1};
