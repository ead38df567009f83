/* Walks along the score of a network that is trained on the problem, as a method; any dimension.
 *
 * Up to `probes` points are all walked from. Of more, so many are chosen by the seed, each set as
 * likely as every other; then the network's miss at a point that is not a probe is as likely to
 * have any rank among theirs as any other (split conformal prediction). So the last but one of m
 * misses bounds it with probability (m-1)/(m+1), 31/33 for 32 probes, whatever the network is. ln u
 * of a network lacks a constant; the median of ln u (walks) - ln u (network) over the probes is
 * added first. A probe whose walks do not know their error counts as an infinite miss.
 *
 * V. Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random World (2005), section 4.1.
 * Must reproduce: of the misses 3, 1, 2, inf the last but one is 3. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "base/team_tasks.h"
#include "guide/guide.h"
#include "random/streams.h"
#include "solve/solve_parts.h"

#include <heatball/random.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_WALKS = 64 };
static const double TRAINED_UNTIL = 0.6; /* of the time, where it is limited */

/* ---- points without walks ---- */

/* The last but one of m misses; NaN counts as infinite. */
static double network_bound_of(size_t m, double *misses)
{
    for (size_t i = 0; i < m; i++) misses[i] = isnan(misses[i]) ? INFINITY : fabs(misses[i]);
    hb_sort(m, misses);
    return misses[m - 2];
}

typedef struct guide_net {
    double *v, *score;       // (n), (n, dim): the network's
    size_t *probes;          // (m)
    double *x;               // (m, dim): the probes
    double *misses, *bounds; // (m), (1 + dim)
    size_t m;
    double shift, least; /* added to v; the least v of a probe */
    hb_workspace work;
} guide_net;

/* m of n points, each set as likely as every other. */
static hb_status network_choose_probes(hb_context *context, uint64_t seed, size_t n, guide_net *net)
{
    HB_TRY(hb_random_uniform(context, seed, HB_STREAM_GUIDE + HB_GUIDE_CHOSEN, 0, n, net->v));
    size_t taken = 0;
    for (size_t i = 0; i < n && taken < net->m; i++)
        if (net->v[i] * (double)(n - i) < (double)(net->m - taken)) net->probes[taken++] = i;
    return HB_OK;
}

/* What the walks found less the network's value; infinite where they do not know their error. */
static double network_miss(const hb_solution *out, hb_column column, size_t at, double value)
{
    return isfinite(out->columns[column + 1][at]) ? out->columns[column][at] - value : INFINITY;
}

static void network_bound(const hb_solution *out, guide_net *net)
{
    const size_t d = (size_t)out->dim;
    size_t known = 0;
    net->least = INFINITY;
    for (size_t k = 0; k < net->m; k++) {
        const size_t i = net->probes[k];
        const double miss = network_miss(out, HB_COLUMN_LOG_DENSITY, i, net->v[i]);
        net->least = fmin(net->least, net->v[i]);
        if (isfinite(out->columns[HB_COLUMN_LOG_DENSITY_ERROR][i])) net->misses[known++] = miss;
    }
    hb_sort(known, net->misses);
    net->shift = known > 0 ? net->misses[known / 2] : 0;
    for (size_t k = 0; k < net->m; k++)
        net->misses[k] =
            network_miss(out, HB_COLUMN_LOG_DENSITY, net->probes[k], net->v[net->probes[k]]) -
            net->shift;
    net->bounds[0] = network_bound_of(net->m, net->misses);
    for (size_t j = 0; j < d; j++) {
        for (size_t k = 0; k < net->m; k++) {
            const size_t at = net->probes[k] * d + j;
            net->misses[k] = network_miss(out, HB_COLUMN_SCORE, at, net->score[at]);
        }
        net->bounds[1 + j] = network_bound_of(net->m, net->misses);
    }
}

/* A point that is less likely than every probe is not one of those that they stand for. */
static hb_status network_fill_rest(const guide_net *net, hb_solution *out)
{
    const size_t d = (size_t)out->dim;
    for (size_t i = 0; i < out->n; i++) {
        if (out->samples[i] > 0) continue;
        const int outside = !(net->v[i] >= net->least);
        int unknown = outside || isinf(net->bounds[0]);
        out->error_kinds[i] = HB_ERRORS_ESTIMATE;
        out->columns[HB_COLUMN_LOG_DENSITY][i] = net->v[i] + net->shift;
        out->columns[HB_COLUMN_LOG_DENSITY_ERROR][i] = outside ? INFINITY : net->bounds[0];
        for (size_t j = 0; j < d; j++) {
            unknown |= isinf(net->bounds[1 + j]);
            out->columns[HB_COLUMN_SCORE][i * d + j] = net->score[i * d + j];
            out->columns[HB_COLUMN_SCORE_ERROR][i * d + j] =
                outside ? INFINITY : net->bounds[1 + j];
        }
        if (unknown)
            HB_TRY(hb_solution_warn(
                out, i,
                outside
                    ? "the value of a network at a point less likely than each of %zu probes, "
                      "where "
                      "nothing is known of it"
                    : "the value of a network of which not all is known: at more than one of %zu "
                      "probes walks do not tell their error",
                net->m));
    }
    return HB_OK;
}

/* ---- the method ---- */

static const char *network_serves(const hb_solve_facts *facts)
{
    if (facts->noise != HB_NOISE_SCALAR || facts->transformed)
        return "a network is trained where one noise g(t) serves all axes";
    if (!facts->autonomous)
        return "the drift or the noise depends on t, or the drift is a function that is not "
               "declared autonomous";
    return facts->point_start ? "the initial density is a point, which has no density at time 0"
                              : NULL;
}

static hb_status network_estimator(hb_context *context, const hb_solve_task *task, double tau,
                                   hb_estimator *out)
{
    return hb_guide_estimator(context, task->problem, tau, &task->settings->network,
                              &task->settings->sampling, task->n, task->points, task->prepared,
                              out);
}

static const hb_method_ops GUIDED_WALKS = {.info = {.name = "network", .method = HB_METHOD_NETWORK},
                                           .estimator = network_estimator};

/* Values of the probes in their places. */
static hb_status network_scatter(const hb_solution *from, const guide_net *net, hb_solution *out)
{
    for (size_t k = 0; k < net->m; k++) {
        const size_t i = net->probes[k];
        for (int c = 0; c < HB_N_COLUMNS; c++) {
            const size_t width = hb_column_width(c, out->dim);
            memcpy(out->columns[c] + i * width, from->columns[c] + k * width,
                   width * sizeof(double));
        }
        out->samples[i] = from->samples[k];
        if (from->warnings[k]) HB_TRY(hb_solution_warn(out, i, "%s", from->warnings[k]));
    }
    return HB_OK;
}

/* The probes by walks. */
static hb_status network_walk_probes(const hb_solve_task *task, guide_net *net, hb_solution *out)
{
    const hb_method_ops *walks = &GUIDED_WALKS;
    const size_t d = (size_t)out->dim;
    hb_solution *from = NULL;
    hb_solve_task part = *task;
    HB_TRY(network_choose_probes(task->context, task->settings->sampling.seed, out->n, net));
    for (size_t k = 0; k < net->m; k++)
        memcpy(net->x + k * d, task->points + net->probes[k] * d, d * sizeof *net->x);
    part.n = net->m;
    part.points = net->x;
    HB_TRY(hb_solution_create(task->context, net->m, out->dim, &from));
    from->tau = out->tau;
    hb_status status = hb_solve_by_samples(&part, 1, &walks, from);
    if (status == HB_OK) status = network_scatter(from, net, out);
    if (status == HB_OK)
        snprintf(out->note, sizeof out->note,
                 "%.1000s from each of %zu points; the others have the network's values, with "
                 "errors that cover 94 %% of such points",
                 from->note, net->m);
    hb_solution_destroy(from);
    return status;
}

static hb_status network_answer_rest(const hb_solve_task *task, double *times, guide_net *net,
                                     hb_solution *out)
{
    for (size_t i = 0; i < out->n; i++) times[i] = out->tau;
    HB_TRY(hb_model_log_density(task->context, task->prepared, out->n, task->points, times, NULL,
                                net->v, net->score));
    network_bound(out, net);
    HB_TRY(network_fill_rest(net, out));
    hb_solve_fill_from_log(out);
    return HB_OK;
}

/* Walks from some of many points, the network's values at the others. */
static hb_status network_solve_many(const hb_solve_task *task, hb_solution *out)
{
    hb_context *context = task->context;
    guide_net net = {.m = (size_t)task->settings->network.probes};
    const size_t n = out->n, d = (size_t)out->dim;
    double *times; // (n)
    HB_TRY(HB_WORKSPACE(context, &net.work, HB_ARRAY(net.v, n), HB_ARRAY(net.score, n * d),
                        HB_ARRAY(times, n), HB_ARRAY(net.x, net.m * d), HB_ARRAY(net.probes, net.m),
                        HB_ARRAY(net.misses, net.m), HB_ARRAY(net.bounds, 1 + d)));
    hb_status status = network_walk_probes(task, &net, out);
    if (status == HB_OK) status = network_answer_rest(task, times, &net, out);
    hb_workspace_destroy(&net.work);
    return status;
}

/* The time was over before the network was trained. */
static hb_status network_fill_late(const hb_solve_task *task, hb_solution *out)
{
    for (size_t i = 0; i < out->n; i++)
        HB_TRY(
            hb_solve_fill_nothing("network", "walks", task->settings->sampling.max_time, i, out));
    snprintf(out->note, sizeof out->note, "the time was over before the network was trained");
    return HB_OK;
}

/* Training gets at most TRAINED_UNTIL of a limited time, walks what is left. */
static hb_status network_run(const hb_solve_task *task, hb_solution *out)
{
    const hb_method_ops *walks = &GUIDED_WALKS;
    hb_solve_plan plan = *task->settings;
    hb_solve_task own = *task;
    hb_model *model = NULL;
    const double start = hb_seconds(), limit = plan.sampling.max_time;
    const double deadline = start + TRAINED_UNTIL * limit;
    hb_context inside = hb_context_child(task->context, 0);
    inside.settings.progress = task->context->settings.progress;
    inside.settings.progress_user = task->context->settings.progress_user;
    if (limit > 0) inside.deadline = &deadline;
    HB_CHECK(task->context, plan.sampling.samples == 0 || plan.sampling.samples >= LEAST_WALKS,
             HB_ERROR_ARGUMENT,
             "samples is %" PRIu64 "; the method network needs at least %d walks from a point",
             plan.sampling.samples, LEAST_WALKS);
    out->method = "network";
    hb_status status =
        hb_guide_train(&inside, task->problem, &plan.network, plan.sampling.seed, out->tau, &model);
    if (status == HB_ERROR_INTERRUPTED && hb_team_late(&inside))
        return network_fill_late(task, out);
    HB_TRY(hb_context_adopt(task->context, &inside, status));
    if (limit > 0) plan.sampling.max_time = fmax(start + limit - hb_seconds(), 1e-3);
    own.settings = &plan;
    own.prepared = model;
    status = out->n <= (size_t)plan.network.probes ? hb_solve_by_samples(&own, 1, &walks, out)
                                                   : network_solve_many(&own, out);
    hb_model_destroy(model);
    return status;
}

const hb_method_ops hb_method_network = {
    .info = {.name = "network",
             .summary = "walks back along the score of a network that is trained on the problem; "
                        "any dimension",
             .method = HB_METHOD_NETWORK,
             .reads = HB_SOLVE_SETTING_SAMPLES | HB_SOLVE_SETTING_STDERR |
                      HB_SOLVE_SETTING_STDERR_SCORE | HB_SOLVE_SETTING_MAX_TIME |
                      HB_SOLVE_SETTING_STATE | HB_SOLVE_SETTING_TRAINING},
    .times = HB_TIME_FINITE,
    .errors = HB_ERRORS_STANDARD,
    .serves = network_serves,
    .run = network_run};
