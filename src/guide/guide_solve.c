/* Solutions by guided walks: at every point, or at probes among many points, where they judge the network.
 *
 * Up to `probes` points are all walked from. Of more, so many are chosen by the seed, each set as likely as every other;
 * then the network's miss at a point that is not a probe is as likely to have any rank among theirs as any other
 * (split conformal prediction). So the last but one of m misses bounds it with probability (m-1)/(m+1), 31/33 for
 * 32 probes, whatever the network is. ln u of a network lacks a constant; the median of ln u (walks) - ln u (network)
 * over the probes is added first. A probe whose walks do not know their error counts as an infinite miss.
 *
 * V. Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random World (2005), section 4.1. Must reproduce: of the misses
 * 3, 1, 2, inf the last but one is 3. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/sized.h"
#include "base/team_tasks.h"
#include "guide/guide_walk.h"
#include "problem/frame.h"
#include "problem/noise.h"
#include "random/streams.h"
#include "sampling/tally.h"
#include "solve/solution.h"
#include "solve/solve_parts.h"

#include <heatball/random.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hb_guide_settings_default(size_t size, hb_guide_settings *settings)
{
    const hb_guide_settings defaults = {.time = NAN,
                                        .training_steps = 3000,
                                        .width = 128,
                                        .walks = 256,
                                        .walk_steps = 64,
                                        .probes = 32,
                                        .seed = 1};
    hb_sized_default(sizeof defaults, &defaults, size, settings);
}

/* ---- at a point that is walked from ---- */

typedef struct guide_tallies {
    double *mean, *watch; // (hb_tally_size)
    hb_workspace work;
} guide_tallies;

static hb_status walk_point(hb_guide *g, guide_tallies *t, const double *x, size_t i,
                            hb_solution *out)
{
    const size_t d = (size_t)g->dim;
    double log_scale;
    hb_tally_answer a;
    hb_tally_clear(g->dim, t->mean);
    hb_tally_clear(g->dim, t->watch);
    HB_TRY(hb_guide_scale(g, x, i * g->blocks, &log_scale));
    for (uint64_t k = i * g->blocks; k < (i + 1) * g->blocks; k++) {
        HB_TRY(hb_guide_walk(g, x, k, HB_GUIDE_AVERAGED, log_scale, t->mean));
        HB_TRY(hb_guide_walk(g, x, k, HB_GUIDE_WATCHED, log_scale, t->watch));
    }
    hb_tally_watched(g->dim, t->mean, t->watch, 1, log_scale, &a,
                     out->columns[HB_COLUMN_SCORE] + i * d,
                     out->columns[HB_COLUMN_SCORE_SE] + i * d);
    out->columns[HB_COLUMN_LOG_DENSITY][i] = a.log_density;
    out->columns[HB_COLUMN_LOG_DENSITY_SE][i] = a.log_density_se;
    out->samples[i] = g->blocks * g->walks;
    if (a.doubt != HB_TALLY_FINE)
        return hb_solution_warn(out, i,
                                "%" PRIu64
                                " walks are worth %.1f independent values here, or their steps are "
                                "too long; take more walks, or train longer",
                                out->samples[i], a.effective);
    if (a.score_doubt != HB_TALLY_FINE)
        return hb_solution_warn(out, i,
                                "the gradients of %" PRIu64
                                " walks are dominated by a few, or their steps are "
                                "too long; the error of the score cannot be told",
                                out->samples[i]);
    return HB_OK;
}

/* ---- points without walks ---- */

/* The last but one of m misses; NaN counts as infinite. */
static double bound_of(size_t m, double *misses)
{
    for (size_t i = 0; i < m; i++) misses[i] = isnan(misses[i]) ? INFINITY : fabs(misses[i]);
    qsort(misses, m, sizeof *misses, hb_by_value);
    return misses[m - 2];
}

typedef struct guide_net {
    double *v, *score, *times; // (n), (n, dim), (n): the network's
    size_t *probes;            // (m)
    double *misses, *bounds;   // (m), (1 + dim)
    size_t m;
    double shift, least; /* added to v; the least v of a probe */
    hb_workspace work;
} guide_net;

static hb_status ask_network(const hb_guide *g, const double *points, const hb_solution *out,
                             guide_net *net)
{
    for (size_t i = 0; i < out->n; i++) net->times[i] = g->tau;
    return hb_model_log_density(g->context, g->model, out->n, points, net->times, NULL, net->v,
                                net->score);
}

/* m of n points, each set as likely as every other. */
static hb_status choose_probes(const hb_guide *g, size_t n, guide_net *net)
{
    HB_TRY(hb_random_uniform(g->context, g->seed, HB_STREAM_GUIDE + HB_GUIDE_CHOSEN, 0, n,
                             net->times));
    size_t taken = 0;
    for (size_t i = 0; i < n && taken < net->m; i++)
        if (net->times[i] * (double)(n - i) < (double)(net->m - taken)) net->probes[taken++] = i;
    return HB_OK;
}

static void judge_network(const hb_solution *out, guide_net *net)
{
    const size_t d = (size_t)out->dim;
    size_t known = 0;
    net->least = INFINITY;
    for (size_t k = 0; k < net->m; k++) {
        const size_t i = net->probes[k];
        net->least = fmin(net->least, net->v[i]);
        if (isfinite(out->columns[HB_COLUMN_LOG_DENSITY_SE][i]))
            net->misses[known++] = out->columns[HB_COLUMN_LOG_DENSITY][i] - net->v[i];
    }
    qsort(net->misses, known, sizeof *net->misses, hb_by_value);
    net->shift = known > 0 ? net->misses[known / 2] : 0;
    for (size_t k = 0; k < net->m; k++) {
        const size_t i = net->probes[k];
        net->misses[k] = isfinite(out->columns[HB_COLUMN_LOG_DENSITY_SE][i])
                             ? out->columns[HB_COLUMN_LOG_DENSITY][i] - net->v[i] - net->shift
                             : INFINITY;
    }
    net->bounds[0] = bound_of(net->m, net->misses);
    for (size_t j = 0; j < d; j++) {
        for (size_t k = 0; k < net->m; k++) {
            const size_t at = net->probes[k] * d + j;
            net->misses[k] = isfinite(out->columns[HB_COLUMN_SCORE_SE][at])
                                 ? out->columns[HB_COLUMN_SCORE][at] - net->score[at]
                                 : INFINITY;
        }
        net->bounds[1 + j] = bound_of(net->m, net->misses);
    }
}

/* A point that is less likely than every probe is not one of those that they stand for. */
static hb_status fill_rest(const guide_net *net, hb_solution *out)
{
    const size_t d = (size_t)out->dim;
    for (size_t i = 0; i < out->n; i++) {
        if (out->samples[i] > 0) continue;
        const int outside = !(net->v[i] >= net->least);
        int unknown = outside || isinf(net->bounds[0]);
        out->columns[HB_COLUMN_LOG_DENSITY][i] = net->v[i] + net->shift;
        out->columns[HB_COLUMN_LOG_DENSITY_SE][i] = outside ? INFINITY : net->bounds[0];
        for (size_t j = 0; j < d; j++) {
            unknown |= isinf(net->bounds[1 + j]);
            out->columns[HB_COLUMN_SCORE][i * d + j] = net->score[i * d + j];
            out->columns[HB_COLUMN_SCORE_SE][i * d + j] = outside ? INFINITY : net->bounds[1 + j];
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

/* ---- the call ---- */

static hb_status walk_probes(hb_guide *g, const double *points, const guide_net *net,
                             hb_solution *out)
{
    guide_tallies t = {0};
    const size_t size = hb_tally_size(g->dim);
    HB_TRY(HB_WORKSPACE(g->context, &t.work, HB_ARRAY(t.mean, size), HB_ARRAY(t.watch, size)));
    hb_status status = HB_OK;
    for (size_t k = 0; k < net->m && status == HB_OK; k++) {
        const size_t i = net->probes[k];
        status = walk_point(g, &t, points + i * (size_t)g->dim, i, out);
        if (status == HB_OK)
            status = hb_team_progress(g->context, "walks", (double)k + 1, (double)net->m);
    }
    hb_workspace_destroy(&t.work);
    return status;
}

static hb_status answer(hb_guide *g, const hb_guide_settings *s, const double *points,
                        hb_solution *out)
{
    guide_net net = {.m = out->n > (size_t)s->probes ? (size_t)s->probes : out->n};
    const size_t n = out->n, d = (size_t)out->dim;
    HB_TRY(HB_WORKSPACE(g->context, &net.work, HB_ARRAY(net.v, n), HB_ARRAY(net.score, n * d),
                        HB_ARRAY(net.times, n), HB_ARRAY(net.probes, net.m),
                        HB_ARRAY(net.misses, net.m), HB_ARRAY(net.bounds, 1 + d)));
    hb_status status = choose_probes(g, n, &net);
    if (status == HB_OK) status = walk_probes(g, points, &net, out);
    if (status == HB_OK && net.m < n) {
        status = ask_network(g, points, out, &net);
        if (status == HB_OK) judge_network(out, &net);
        if (status == HB_OK) status = fill_rest(&net, out);
    }
    hb_workspace_destroy(&net.work);
    hb_solve_fill_from_log(out);
    const uint64_t walks = g->blocks * g->walks;
    snprintf(out->note, sizeof out->note,
             "a network of width %d, trained in %" PRIu64 " steps, guides %" PRIu64
             " walks of %d steps from %s%zu point%s%s",
             s->width, s->training_steps, walks, g->steps, net.m > 1 ? "each of " : "", net.m,
             net.m > 1 ? "s" : "",
             net.m < n ? "; the others have the network's values, with errors that cover 94 % of "
                         "such points"
                       : "");
    return status;
}

static hb_status solve(hb_context *context, const hb_problem *problem, const hb_guide_settings *s,
                       const double *points, hb_solution *out)
{
    hb_guide guide;
    out->method = "network";
    HB_TRY(hb_problem_tau_of_t(context, problem, s->time, &out->tau));
    HB_TRY(hb_guide_create(context, problem, s, out->tau, &guide));
    const hb_status status = answer(&guide, s, points, out);
    hb_guide_destroy(&guide);
    return status;
}

hb_status hb_solve_guided(hb_context *context, const hb_problem *problem,
                          const hb_guide_settings *settings, size_t n, const double *points,
                          hb_solution **out)
{
    hb_guide_settings s;
    HB_CHECK(context, problem && out, HB_ERROR_ARGUMENT, "the %s of hb_solve_guided is NULL",
             problem ? "output" : "problem");
    *out = NULL;
    HB_SIZED_READ(context, hb_guide_settings, settings, &s);
    if (isnan(s.time)) s.time = hb_problem_time(problem);
    HB_TRY(hb_solve_check_problem(context, problem, s.time));
    HB_CHECK(context,
             !hb_problem_frame_of(problem) && hb_problem_noise_kind(problem) == HB_NOISE_SCALAR,
             HB_ERROR_ARGUMENT,
             "a network is trained where one noise g(t) serves all axes; the methods walk and "
             "particles know others");
    HB_CHECK(context, s.time > 0, HB_ERROR_ARGUMENT,
             "time is 0; walks need a time above 0, and at 0 the answer is the initial density");
    HB_TRY(hb_solve_check_points(context, hb_problem_dim(problem), n, points));
    hb_solution *solution;
    HB_TRY(hb_solution_create_times(context, 1, &s.time, n, hb_problem_dim(problem), &solution));
    const hb_status status = solve(context, problem, &s, points, solution);
    if (status != HB_OK) hb_solution_destroy(solution);
    *out = status == HB_OK ? solution : NULL;
    return status;
}
