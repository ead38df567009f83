/* Likelihoods by the probability-flow ODE, in nats, with their errors.
 *
 * Along dx/dl = v(x, l) a density obeys d ln p(x(l), l)/dl = -div v, so
 *     ln p(x, tau_min) = ln p_prior(x(tau_max)) + int div v dl,
 * the integral forward from ln sigma_min to ln sigma_max on the path through x. (R. T. Q. Chen
 * et al., NeurIPS 2018; Song et al., ICLR 2021, D.2.)
 * The error of a row has three parts, of which the last two are added up as its bound:
 *     probes   the standard error of the mean over P sets of probes, whose integrals are kept
 *              apart, times Student's 97.5 % quantile over the normal one, so that 1.96 errors are
 *              95 % for small P too; infinite for P = 1
 *     flow     what steps and differences leave (probability_flow.c)
 *     start    the Gaussian p_prior, given by the moments of the data or fitted to the score
 *              (prior_fit.c), is not the distribution at tau_max. With g the logarithm of their
 *              ratio, s - grad ln p_prior = grad g; by Poincare's inequality g varies by |grad g|
 *              times the deviation of the prior, with the larger of |grad g| at the end of the path
 *              and its root mean square over DRAWS draws of the prior; a path that ends k times
 *              farther out than is typical counts k times
 * Where the tolerance is left open, steps need not be better than the start, nor than AIM
 * (probability_flow.c). A number to reproduce: data N(0, 1) under OU stays N(0, 1):
 * -2.9189385332046727 at x = 2. */
#include "base/linear_algebra.h"
#include "base/team_tasks.h"
#include "generate/reverse.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 64 };
static const uint64_t DRAWS_SEED = 1;
static const double NORMAL = 1.959963984540054, ROUNDING = 1e-12, AIM = 1e-3;

typedef struct carrier {
    hb_reverse *run;
    const hb_prior *prior;
    double deviation; /* of the prior along its widest coordinate */
    double slope;     /* root mean square of grad g */
    double *x;        // (rows, dim)
    double *sum;      // (rows, sums)
    double *score;    // (rows, dim): at the end
    double *bound;    // (rows): of flow and start
    double *square;   // (rows): |grad g|^2
    hb_workspace work;
} carrier;

/* Student's 97.5 % quantile over the normal one; above two degrees by R. A. Fisher and E. A.
 * Cornish, 1960. */
static double likelihood_student(size_t degrees)
{
    const double n = (double)degrees, z = NORMAL, z2 = z * z;
    if (degrees == 1) return 12.706204736432095 / z;
    if (degrees == 2) return 4.302652729749464 / z;
    return 1 + (z2 + 1) / (4 * n) + ((5 * z2 + 16) * z2 + 3) / (96 * n * n) +
           (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * n * n * n) +
           ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / (92160 * n * n * n * n);
}

/* The mean of the integrals of a row, and its standard error. */
static double likelihood_mean(const hb_reverse *run, const double *sum, double *error)
{
    const size_t n = run->sums;
    double mean = 0, squares = 0;
    for (size_t m = 0; m < n; m++) mean += sum[m] / (double)n;
    for (size_t m = 0; m < n; m++) squares += (sum[m] - mean) * (sum[m] - mean);
    *error = 0;
    if (run->by_probes)
        *error = n < 2 ? INFINITY
                       : likelihood_student(n - 1) * sqrt(squares / ((double)n * ((double)n - 1)));
    return mean;
}

static double likelihood_widest(const hb_prior *prior)
{
    const size_t d = prior->dim;
    const double *L = prior->cholesky;
    double most = L ? 0 : prior->sd * prior->sd;
    for (size_t i = 0; L && i < d; i++) most = fmax(most, hb_dot(i + 1, L + i * d, L + i * d));
    return sqrt(most);
}

/* |grad g|^2 of the rows into square, times the square of their distance where that is above a
 * typical one; x is what hb_prior_add_log_density leaves, in deviations of the prior. */
static hb_status likelihood_slopes(carrier *c, size_t rows, double *square)
{
    const size_t d = c->run->dim;
    for (size_t i = 0; i < rows; i++)
        square[i] = fmax(1, hb_dot(d, c->x + i * d, c->x + i * d) / (double)d);
    HB_TRY(hb_prior_gradient(c->prior, rows, c->x));
    for (size_t i = 0; i < rows; i++) square[i] *= hb_distance2(d, c->score + i * d, c->x + i * d);
    return HB_OK;
}

/* The score at the ends of the paths, or at draws of the prior. */
static hb_status likelihood_ask_end(carrier *c, size_t rows)
{
    return hb_reverse_ask(c->run, rows, c->x, c->run->settings->tau_max, c->score, c->sum);
}

static hb_status likelihood_measure_slope(carrier *c)
{
    double unused[DRAWS] = {0}, square[DRAWS];
    c->run->row_labels = NULL;
    HB_TRY(hb_prior_draw(c->prior, c->run->quiet, DRAWS_SEED, 0, DRAWS, c->x));
    HB_TRY(likelihood_ask_end(c, DRAWS));
    HB_TRY(hb_prior_add_log_density(c->prior, DRAWS, c->x, unused));
    HB_TRY(likelihood_slopes(c, DRAWS, square));
    for (size_t i = 0; i < DRAWS; i++) c->slope += square[i] / DRAWS;
    c->slope = sqrt(c->slope);
    return HB_OK;
}

/* Adds the logarithm of the distribution at tau_max to out, and what it may be off by to bound,
 * unless NULL. */
static hb_status likelihood_add_start(carrier *c, size_t rows, double *out, double *bound)
{
    const int checked = bound && !c->run->settings->end_density;
    if (checked) HB_TRY(likelihood_ask_end(c, rows));
    HB_TRY(hb_ends_add_log_density(c->run, c->prior, rows, c->x, out));
    if (!checked) return HB_OK;
    HB_TRY(likelihood_slopes(c, rows, c->square));
    for (size_t i = 0; i < rows; i++) bound[i] += fmax(sqrt(c->square[i]), c->slope) * c->deviation;
    return HB_OK;
}

static hb_status likelihood_carry_block(carrier *c, size_t rows, double *out, double *error)
{
    hb_reverse *run = c->run;
    const hb_process process = (hb_process)run->settings->process;
    double *bound = error ? c->bound : NULL;
    HB_TRY(hb_flow_integrate(run, hb_level_at(process, run->settings->tau_min),
                             hb_level_at(process, run->settings->tau_max), rows, c->x, c->sum,
                             bound));
    for (size_t i = 0; i < rows; i++) {
        double of_probes;
        out[i] = likelihood_mean(run, c->sum + i * run->sums, &of_probes);
        if (error) error[2 * i] = of_probes;
    }
    HB_TRY(likelihood_add_start(c, rows, out, bound));
    for (size_t i = 0; error && i < rows; i++)
        error[2 * i + 1] = bound[i] + ROUNDING * (1 + fabs(out[i]));
    return HB_OK;
}

static hb_status likelihood_carry_blocks(carrier *c, size_t most, const double *x, double *out,
                                         double *error)
{
    hb_reverse *run = c->run;
    size_t start, last;
    hb_team_share(run->context, run->n, &start, &last);
    for (; start < last; start += most) {
        const size_t rows = last - start < most ? last - start : most;
        run->start = run->done = start;
        run->wanted = rows;
        run->row_labels = run->labels ? run->labels + start : NULL;
        memcpy(c->x, x + start * run->dim, rows * run->dim * sizeof *x);
        HB_TRY(likelihood_carry_block(c, rows, out + start, error ? error + 2 * start : NULL));
        HB_TRY(hb_reverse_progress(run, 1));
    }
    return HB_OK;
}

static hb_status likelihood_carry_all(carrier *c, const double *x, double *out, double *error)
{
    hb_reverse *run = c->run;
    const size_t fits = hb_flow_rows(run), rows = run->n < fits ? run->n : fits;
    const size_t most = rows < DRAWS ? DRAWS : rows;
    HB_TRY(HB_WORKSPACE(run->context, &c->work, HB_ARRAY(c->x, most * run->dim),
                        HB_ARRAY(c->sum, most * run->sums), HB_ARRAY(c->score, most * run->dim),
                        HB_ARRAY(c->bound, most), HB_ARRAY(c->square, most)));
    hb_status status = HB_OK;
    if ((error || run->accepted > 0) && !run->settings->end_density)
        status = likelihood_measure_slope(c);
    if (run->accepted > 0) run->accepted = fmax(run->accepted, c->slope * c->deviation);
    if (status == HB_OK) status = likelihood_carry_blocks(c, rows, x, out, error);
    hb_workspace_destroy(&c->work);
    return status;
}

hb_status hb_reverse_likelihood(hb_reverse *run, const double *x, double *out, double *error)
{
    hb_context *context = run->context, quiet = hb_context_child(context, 0);
    run->what = "likelihood";
    if (run->sums == 0) run->sums = 1;
    const hb_generate_settings *s = run->settings;
    HB_CHECK(context, s->end_density || (!s->ends && (!hb_reverse_leans(run) || s->covariance)),
             HB_ERROR_ARGUMENT,
             "a likelihood needs the density of the distribution at tau_max; give it "
             "(end_density), or its mean and covariance without ends");
    for (size_t i = 0; i < run->n * run->dim; i++)
        HB_CHECK(context, isfinite(x[i]), HB_ERROR_ARGUMENT,
                 "row %zu, column %zu of x is %g; it must be finite", i / run->dim + 1,
                 i % run->dim + 1, x[i]);
    run->quiet = &quiet;
    hb_prior prior = {0};
    carrier c = {.run = run, .prior = &prior};
    hb_status status = hb_prior_create(context, s, (int)run->dim, &prior);
    if (status == HB_OK && run->fits) status = hb_prior_fit(run, &prior);
    if (status == HB_OK) {
        c.deviation = likelihood_widest(&prior);
        status = likelihood_carry_all(&c, x, out, error);
    }
    const hb_left rows[2] = {{out, sizeof *out, 0}, {error, 2 * sizeof *out, 0}};
    status = hb_team_gather(context, status, run->n, error ? 2 : 1, rows);
    hb_workspace_destroy(&prior.work);
    run->quiet = NULL;
    return hb_context_adopt(context, &quiet, status);
}

/* By differences where there is a score alone. */
static hb_status likelihood_by_differences(hb_reverse *run, int probes, const double *x,
                                           double *out, double *error)
{
    hb_score_trace trace;
    HB_TRY(hb_trace_create(run, probes, &trace));
    run->by_probes = probes > 0;
    const hb_status status = hb_reverse_likelihood(run, x, out, error);
    hb_workspace_destroy(&trace.work);
    return status;
}

hb_status hb_generate_likelihood(hb_context *context, const hb_generate_settings *settings, int dim,
                                 int probes, size_t n, const double *x, hb_score_callback score,
                                 hb_divergence_callback divergence, void *user,
                                 double *log_likelihood, double *error)
{
    hb_generate_settings resolved;
    hb_reverse run = {.n = n, .score = score, .divergence = divergence, .user = user};
    HB_TRY(hb_reverse_start(context, settings, dim, &resolved, &run));
    resolved.low = -INFINITY;
    resolved.high = INFINITY;
    HB_CHECK(context, (score || divergence) && (n == 0 || (x && log_likelihood)), HB_ERROR_ARGUMENT,
             "score and divergence, x or log_likelihood is NULL");
    HB_CHECK(context, probes >= 0 && probes <= HB_MOST_PROBES, HB_ERROR_ARGUMENT,
             "probes is %d; it must be 0 (the divergence along all axes) to %d", probes,
             HB_MOST_PROBES);
    HB_CHECK(context, !divergence || probes == 0, HB_ERROR_ARGUMENT,
             "probes is %d, but there is a divergence; it must be 0", probes);
    if (n == 0) return HB_OK;
    if (isnan(resolved.ode_tolerance)) run.accepted = AIM;
    run.fits = !(resolved.mean || resolved.covariance || resolved.end_density || resolved.ends ||
                 hb_reverse_leans(&run));
    if (!divergence) return likelihood_by_differences(&run, probes, x, log_likelihood, error);
    return hb_reverse_likelihood(&run, x, log_likelihood, error);
}
