/* The constant of a model's density at tau_max: ln Z, Z the integral of e^v.
 *
 * Training fixes the energy v up to a constant only. The likelihood of a drift's model ends with v
 * at tau_max (that of ou and ve with a Gaussian), so it needs Z.
 * One or two dimensions: the trapezoidal rule on a box around the draws that the model keeps, which
 * is of every order for a smooth density that fades before the border. Its change when every second
 * point is left out is given as the error.
 * More: annealed importance sampling (R. M. Neal, Statistics and Computing 11, 2001). From draws of
 * a Gaussian q with the draws' moments, WIDER in variance, along q^(1-b) e^(b v), b = (k/LEVELS)^2,
 * with one Langevin step, accepted by Metropolis' rule, after each change of b:
 *     Z = E exp( sum_k (b_k - b_{k-1}) (v - ln q)(x_{k-1}) ),
 * whatever the steps do; its standard error is that of the mean over CHAINS draws.
 * A number to reproduce: a network that gives 0 has v = ln N(m, V), ln Z = 0. */
#include "generate/reverse.h"
#include "net/model_parts.h"

#include <math.h>
#include <string.h>

enum { MOST_LATTICE = 257, LEAST_LATTICE = 65, CHAINS = 2048, LEVELS = 64, USE = 1024 };
enum { LEAST_CHAINS = 50 }; /* that count, by the sum of weights squared over that of squares */
static const double STEP = 0.5, WIDER = 1.2;
static const double LATTICE = 0.4, REACH = 6, MARGIN = 2; /* in details, deviations, deviations */

typedef struct normaliser {
    hb_context *context;
    const hb_model *model;
    size_t dim;
    uint64_t seed;
    double *mean, *covariance; // (dim), (dim, dim) of the draws
    double *low, *high;        // (dim): their range
    double *tau;               // (CHAINS): tau_max
    hb_prior gaussian;
    double power;       /* b */
    double *difference; // (CHAINS): v - ln q where the target was asked last
    double *at;         // (CHAINS, dim)
    hb_workspace work;
} normaliser;

/* ---- moments of the draws ---- */

static void normaliser_moments(normaliser *z)
{
    const size_t d = z->dim, n = z->model->flow.n_ends;
    const float *ends = z->model->flow.ends;
    memset(z->mean, 0, d * sizeof *z->mean);
    memset(z->covariance, 0, d * d * sizeof *z->covariance);
    for (size_t j = 0; j < d; j++) z->low[j] = z->high[j] = (double)ends[j];
    for (size_t i = 0; i < n * d; i++) {
        z->mean[i % d] += (double)ends[i] / (double)n;
        z->low[i % d] = fmin(z->low[i % d], (double)ends[i]);
        z->high[i % d] = fmax(z->high[i % d], (double)ends[i]);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            const double away = ((double)ends[i * d + j] - z->mean[j]) / (double)n;
            for (size_t k = 0; k < d; k++)
                z->covariance[j * d + k] += away * ((double)ends[i * d + k] - z->mean[k]);
        }
}

/* ---- a lattice ---- */

/* Points of an axis, an odd number. */
static size_t normaliser_axis_points(const normaliser *z, size_t j, double *first, double *step)
{
    const double deviation = sqrt(z->covariance[j * z->dim + j]);
    const double low = fmin(z->mean[j] - REACH * deviation, z->low[j] - MARGIN * deviation);
    const double high = fmax(z->mean[j] + REACH * deviation, z->high[j] + MARGIN * deviation);
    const double fine = LATTICE * sqrt(fmin(z->model->flow.detail, deviation * deviation));
    const double cells = 2 * ceil((high - low) / fine / 2);
    const size_t n = cells < LEAST_LATTICE  ? LEAST_LATTICE
                     : cells < MOST_LATTICE ? (size_t)cells + 1
                                            : MOST_LATTICE;
    *first = low;
    *step = (high - low) / (double)(n - 1);
    return n;
}

/* Sums of e^(v - top) over the rows of the lattice: all, and every second point each way. */
typedef struct lattice_sum {
    double top, all, coarse;
} lattice_sum;

static void lattice_add_point(lattice_sum *sum, double v, int coarse)
{
    if (v > sum->top) {
        const double fade = exp(sum->top - v);
        sum->all *= fade;
        sum->coarse *= fade;
        sum->top = v;
    }
    const double term = exp(v - sum->top);
    sum->all += term;
    if (coarse) sum->coarse += term;
}

static hb_status lattice_add_points(normaliser *z, size_t count, const int *coarse, double *v,
                                    lattice_sum *sum)
{
    HB_TRY(hb_model_log_density_of_z(z->context, z->model, count, z->at, z->tau, NULL, v, NULL));
    for (size_t i = 0; i < count; i++) lattice_add_point(sum, v[i], coarse[i]);
    return HB_OK;
}

static hb_status normaliser_by_lattice(normaliser *z, double *log_normaliser, double *error)
{
    double first[2] = {0}, step[2] = {0};
    const size_t d = z->dim, n0 = normaliser_axis_points(z, 0, first, step);
    const size_t n1 = d == 2 ? normaliser_axis_points(z, 1, first + 1, step + 1) : 1;
    lattice_sum sum = {.top = -INFINITY};
    int coarse[CHAINS];
    size_t filled = 0;
    for (size_t k = 0; k < n0 * n1; k++) {
        const size_t i0 = k % n0, i1 = k / n0;
        z->at[filled * d] = first[0] + step[0] * (double)i0;
        if (d == 2) z->at[filled * d + 1] = first[1] + step[1] * (double)i1;
        coarse[filled++] = i0 % 2 == 0 && i1 % 2 == 0;
        if (filled < CHAINS && k + 1 < n0 * n1) continue;
        HB_TRY(lattice_add_points(z, filled, coarse, z->difference, &sum));
        filled = 0;
    }
    const double cell = log(step[0] * (d == 2 ? step[1] : 1));
    *log_normaliser = sum.top + log(sum.all) + cell;
    *error = fabs(*log_normaliser - (sum.top + log(sum.coarse) + cell + (double)d * M_LN2));
    return HB_OK;
}

/* ---- annealed importance sampling ---- */

static hb_status normaliser_target(void *user, size_t n, const double *x, double *value,
                                   double *gradient)
{
    normaliser *z = user;
    const size_t size = n * z->dim;
    memset(value, 0, n * sizeof *value);
    memcpy(z->at, x, size * sizeof *x);
    HB_TRY(hb_prior_add_log_density(&z->gaussian, n, z->at, value));
    HB_TRY(hb_prior_gradient(&z->gaussian, n, z->at));
    HB_TRY(hb_model_log_density_of_z(z->context, z->model, n, x, z->tau, NULL, z->difference,
                                     gradient));
    for (size_t i = 0; i < n; i++) {
        z->difference[i] -= value[i];
        value[i] += z->power * z->difference[i];
    }
    for (size_t k = 0; k < size; k++)
        gradient[k] = (1 - z->power) * z->at[k] + z->power * gradient[k];
    return HB_OK;
}

/* Sums of the logarithms of the weights of all chains into weight(CHAINS). */
static hb_status normaliser_anneal(normaliser *z, hb_metropolis *m, double *weight)
{
    double before = 0;
    memset(weight, 0, CHAINS * sizeof *weight);
    HB_TRY(hb_prior_draw(&z->gaussian, z->context, z->seed, 0, CHAINS, m->x));
    for (int k = 1; k <= LEVELS; k++, before = z->power) {
        z->power = (double)(k * k) / (LEVELS * LEVELS);
        HB_TRY(m->target(z, CHAINS, m->x, m->value, m->gradient));
        for (size_t i = 0; i < CHAINS; i++) weight[i] += (z->power - before) * z->difference[i];
        HB_TRY(hb_metropolis_move(m, HB_STREAM_GENERATE | (uint64_t)(USE + 2 * k)));
    }
    return HB_OK;
}

static hb_status normaliser_mean(const normaliser *z, const double *weight, double *log_normaliser,
                                 double *error)
{
    double top = -INFINITY, sum = 0, squares = 0;
    for (size_t i = 0; i < CHAINS; i++) top = fmax(top, weight[i]);
    for (size_t i = 0; i < CHAINS; i++) {
        sum += exp(weight[i] - top);
        squares += exp(2 * (weight[i] - top));
    }
    const double count = sum * sum / squares;
    HB_CHECK(z->context, count >= LEAST_CHAINS, HB_ERROR_NUMERICAL,
             "the density of the model at tau_max = %g could not be normalised: of %d draws as "
             "good as %.3g count",
             z->model->info.tau_max, CHAINS, count);
    *log_normaliser = top + log(sum / CHAINS);
    *error = sqrt(fmax(1 / count - 1.0 / CHAINS, 0));
    return HB_OK;
}

static hb_status normaliser_by_annealing(normaliser *z, double *log_normaliser, double *error)
{
    const size_t d = z->dim;
    hb_generate_settings s;
    hb_metropolis m = {.context = z->context,
                       .target = normaliser_target,
                       .user = z,
                       .adjusted = 1,
                       .n = CHAINS,
                       .dim = d,
                       .seed = z->seed,
                       .step = STEP * z->model->flow.detail / cbrt((double)d)};
    hb_workspace work;
    double *weight;
    for (size_t k = 0; k < d * d; k++) z->covariance[k] *= WIDER;
    hb_generate_settings_default(sizeof s, &s);
    s.process = HB_PROCESS_DRIFT;
    s.mean = z->mean;
    s.covariance = z->covariance;
    HB_TRY(HB_WORKSPACE(z->context, &work, HB_ARRAY(weight, CHAINS), HB_ARRAY(m.x, CHAINS * d)));
    hb_status status = hb_prior_create(z->context, &s, (int)d, &z->gaussian);
    if (status == HB_OK) status = hb_metropolis_create(&m);
    if (status == HB_OK) status = normaliser_anneal(z, &m, weight);
    if (status == HB_OK) status = normaliser_mean(z, weight, log_normaliser, error);
    hb_workspace_destroy(&m.work);
    hb_workspace_destroy(&z->gaussian.work);
    hb_workspace_destroy(&work);
    return status;
}

/* ---- */

static hb_status normaliser_find(normaliser *z, double *log_normaliser, double *error)
{
    const size_t d = z->dim;
    HB_TRY(HB_WORKSPACE(z->context, &z->work, HB_ARRAY(z->mean, d), HB_ARRAY(z->covariance, d * d),
                        HB_ARRAY(z->low, d), HB_ARRAY(z->high, d), HB_ARRAY(z->tau, CHAINS),
                        HB_ARRAY(z->difference, CHAINS), HB_ARRAY(z->at, CHAINS * d)));
    for (size_t i = 0; i < CHAINS; i++) z->tau[i] = z->model->info.tau_max;
    normaliser_moments(z);
    return d <= 2 ? normaliser_by_lattice(z, log_normaliser, error)
                  : normaliser_by_annealing(z, log_normaliser, error);
}

hb_status hb_model_log_normaliser(hb_context *context, const hb_model *model, uint64_t seed,
                                  double *log_normaliser, double *error)
{
    double unused;
    HB_CHECK(context, model && log_normaliser, HB_ERROR_ARGUMENT,
             "the model or log_normaliser is NULL");
    if (!error) error = &unused;
    *log_normaliser = *error = 0;
    if (model->info.process != HB_PROCESS_DRIFT) return HB_OK;
    HB_CHECK(context, model->info.head == HB_HEAD_ENERGY, HB_ERROR_ARGUMENT,
             "only the energy head has a density to normalise");
    HB_CHECK(context, model->flow.n_ends > 1, HB_ERROR_ARGUMENT,
             "the model keeps no draws at tau_max, around which its density would be normalised");
    hb_context quiet = hb_context_child(context, 0);
    normaliser z = {
        .context = &quiet, .model = model, .dim = (size_t)model->info.dim, .seed = seed};
    const hb_status status = normaliser_find(&z, log_normaliser, error);
    hb_workspace_destroy(&z.work);
    return hb_context_adopt(context, &quiet, status);
}
