/* Random nodes of heat balls behind anchors.
 *
 * Draws of the measures are exact (src/ball), so that averages over them are unbiased with any
 * number of pairs. A pair is +z and -z with one sigma: what is odd in z cancels in the average of
 * the score, what is even in that of the source. rho = r U^p with uniform U is the radius that the
 * sources of docs/explanation/mean-value.md need: p = 0 for kappa, 1/2 for a source, 1 for its gradient. */
#include "certify/certify_nodes.h"

#include <heatball/random.h>
#include <math.h>

enum { BLOCK_PAIRS = 1 << 15 };

double hb_certify_radius(const hb_certify_run *run, double tau)
{
    const double behind = tau - run->settings.tau_min;
    return behind > 0 ? sqrt(4 * M_PI * run->settings.time_fraction * behind) : 0;
}

hb_status hb_certify_nodes_create(const hb_certify_run *run, const hb_certify_rows *rows,
                                  hb_certify_nodes *out)
{
    const size_t d = run->dim, pairs = (size_t)run->settings.pairs, fits = BLOCK_PAIRS / pairs;
    const size_t anchors = fits < 1 ? 1 : fits < rows->n ? fits : rows->n, n = anchors * pairs;
    *out = (hb_certify_nodes){.run = run,
                              .rows = rows,
                              .radius = hb_certify_radius(run, rows->level->tau),
                              .anchors = anchors,
                              .pairs = pairs};
    HB_TRY(hb_ball_constants_get(run->context, (int)d, 0, sizeof out->constants, &out->constants));
    return HB_WORKSPACE(run->context, &out->work, HB_ARRAY(out->z, n * d), HB_ARRAY(out->sigma, n),
                        HB_ARRAY(out->rho, n), HB_ARRAY(out->x, 2 * n * d),
                        HB_ARRAY(out->score, 2 * n * d), HB_ARRAY(out->F, 2 * n * d),
                        HB_ARRAY(out->tau, 2 * n), HB_ARRAY(out->divergence, 2 * n));
}

hb_status hb_certify_nodes_place(hb_certify_nodes *nodes, hb_measure measure, int use, double power,
                                 size_t first, size_t count)
{
    const hb_certify_run *run = nodes->run;
    const hb_certify_level *level = nodes->rows->level;
    const size_t d = run->dim, pairs = nodes->pairs, n = count * pairs;
    const double *x0 = nodes->rows->x[0] + first * d;
    const uint64_t seed = hb_certify_seed(run, level->index, HB_USE_BALLS + use);
    HB_TRY(hb_ball_sample(run->context, measure, (int)d, 0, seed, first * pairs, n, 1, nodes->z,
                          nodes->sigma));
    if (power > 0)
        HB_TRY(hb_random_uniform(run->context, seed, hb_certify_stream(level->index, HB_USE_RADII),
                                 first * pairs, n, nodes->rho));
    for (size_t k = 0; k < n; k++) {
        const double rho = nodes->rho[k] =
            power > 0 ? nodes->radius * pow(nodes->rho[k], power) : nodes->radius;
        nodes->tau[k] = nodes->tau[n + k] = level->tau - rho * rho * nodes->sigma[k];
        for (size_t j = 0; j < d; j++) {
            const double at = x0[k / pairs * d + j], away = rho * nodes->z[k * d + j];
            nodes->x[k * d + j] = at + away;
            nodes->x[(n + k) * d + j] = at - away;
        }
    }
    return HB_OK;
}

hb_status hb_certify_nodes_evaluate(hb_certify_nodes *nodes, int drift, size_t count)
{
    const hb_certify_run *run = nodes->run;
    const size_t d = run->dim, n = 2 * count * nodes->pairs;
    HB_TRY(hb_certify_score(run, n, nodes->x, nodes->tau, nodes->score));
    if (!drift) return HB_OK;
    if (run->settings.process == HB_PROCESS_DRIFT)
        return hb_problem_drift(run->context, run->settings.drift, n, nodes->x, 0, nodes->F,
                                nodes->divergence, NULL, NULL);
    const double factor = run->settings.process == HB_PROCESS_OU ? -1 : 0;
    for (size_t i = 0; i < n * d; i++) nodes->F[i] = factor * nodes->x[i];
    for (size_t i = 0; i < n; i++) nodes->divergence[i] = factor * (double)d;
    return HB_OK;
}
