/* The nodes behind an anchor in many dimensions: few directions, for the energy head (train/balls.h).
 *
 * In the frame without drift phi = e^w, w = ln p - ln p_ref, solves d_s phi = Lap phi + 2 grad v~_ref . grad phi: it
 * is p~/p~_ref, and both solve the heat equation. So phi at an anchor is its mean a time h before, over
 *     Y = y_0 + 2 h grad v~_ref(y_0) + sqrt(2 h) xi,      E xi = 0, E xi xi' = 1,
 * up to terms of order h^2; h = C1 r^2/4 is the mean time of the ball of radius r. The drift takes the place of the
 * weights e^(a_j) of heat_ball.c, whose product with w would be the largest noise of few directions. The second
 * largest is |grad w|^2; so
 *     along e, the direction of grad w:        xi = +-sqrt(3),        weight 1/6 each (exact to degree 5)
 *     along K random directions, orthogonal to e and to each other:
 *                                              xi = +-sqrt(2(d-1)),   weight 1/(4K) each
 *     xi = 0                                                          weight 1/6
 * The mean of xi xi' over the random directions is 1. What is left of noise is that of K probes of Lap w, as in fp. No
 * gradient is taken through e. Must reproduce: weights 1, e.E[xi xi']e = 1 (tests/train/test_losses.c). */
#include "train/balls.h"

#include <heatball/random.h>
#include <math.h>

static const double AHEAD = 1.0 / 6; /* of the centre, and of each node along e */

/* K: of `nodes` nodes around the centre two are along e. */
static size_t directions_of(const hb_trainer *trainer)
{
    const int most = trainer->model->info.dim - 1, asked = trainer->settings.nodes / 2 - 1;
    return (size_t)(asked < 1 ? 1 : asked < most ? asked : most);
}

size_t hb_ball_directions_nodes(const hb_trainer *trainer)
{
    return 3 + 2 * directions_of(trainer);
}

hb_status hb_ball_directions_create(hb_shard *shard, hb_ball_directions *out)
{
    const hb_trainer *trainer = shard->trainer;
    const size_t K = directions_of(trainer);
    hb_scratch *scratch = shard->scratch;
    for (size_t j = 0; j < 3 + 2 * K; j++) out->weight[j] = j < 3 ? AHEAD : 0.25 / (double)K;
    return hb_net_slope_tape_create(&shard->alone, trainer->model->net, shard->anchors,
                                    &scratch->slopes);
}

hb_status hb_ball_directions_look(hb_shard *shard, hb_ball_directions *at)
{
    const hb_trainer *trainer = shard->trainer;
    const hb_model *model = trainer->model;
    const hb_rows *anchor = &shard->anchor;
    const hb_points points = {anchor->n, anchor->z, anchor->level, anchor->labels};
    hb_scratch *scratch = shard->scratch;
    hb_model_inputs(model, &points, at->input);
    HB_TRY(hb_net_slope(scratch->slopes, trainer->aside ? trainer->aside : model->parameters,
                        points.n, at->input, at->value, at->slope));
    return hb_model_reference(model, &points, at->scratch, NULL, at->reference);
}

/* Makes the rows of basis (rows, d) orthonormal, from the first to the last. */
static void make_orthonormal(size_t rows, size_t d, double *basis)
{
    for (size_t p = 0; p < rows; p++) {
        double *b = basis + p * d, norm = 0;
        for (size_t q = 0; q < p; q++) {
            double dot = 0;
            for (size_t k = 0; k < d; k++) dot += b[k] * basis[q * d + k];
            for (size_t k = 0; k < d; k++) b[k] -= dot * basis[q * d + k];
        }
        for (size_t k = 0; k < d; k++) norm += b[k] * b[k];
        const double scale = norm > 0 ? 1 / sqrt(norm) : 0; /* grad w = 0: any e is right */
        for (size_t k = 0; k < d; k++) b[k] *= scale;
    }
}

static hb_status draw_basis(hb_shard *shard, size_t i, hb_ball_directions *at)
{
    const hb_trainer *trainer = shard->trainer;
    const size_t d = (size_t)trainer->model->info.dim, K = directions_of(trainer);
    const float *slope = at->slope + i * (size_t)hb_model_inputs_count(trainer->model);
    for (size_t k = 0; k < d; k++) at->basis[k] = (double)slope[k];
    HB_TRY(hb_random_normal(&shard->alone, trainer->settings.seed,
                            HB_STREAM_TRAIN + HB_STREAM_CLOUD, hb_ball_number(shard, i) * K * d,
                            K * d, at->basis + d));
    make_orthonormal(1 + K, d, at->basis);
    return HB_OK;
}

hb_status hb_ball_directions_place(hb_shard *shard, size_t i, hb_ball_directions *at, size_t row,
                                   hb_ball_rows *out)
{
    const hb_model *model = shard->trainer->model;
    const hb_ball_common *common = shard->trainer->common;
    const size_t d = (size_t)model->info.dim, n = hb_ball_directions_nodes(shard->trainer);
    const hb_noise_level *c0 = &shard->anchor.level[i];
    const double r = hb_ball_radius(shard, i), h = r * r * common->C1 / 4;
    const double *z0 = shard->anchor.z + i * d;
    hb_noise_level c;
    HB_TRY(draw_basis(shard, i, at));
    hb_ball_level(shard, i, h, &c);
    for (size_t j = 0; j < n; j++, row++) {
        const double *e = at->basis + (j == 0 ? 0 : (j - 1) / 2) * d;
        const double xi = j == 0 ? 0 : j < 3 ? sqrt(3) : sqrt(2 * ((double)d - 1));
        const double step = (j % 2 ? 1 : -1) * xi * sqrt(2 * h);
        out->level[row] = c;
        for (size_t k = 0; k < d; k++)
            out->z[row * d + k] =
                c.a *
                (z0[k] / c0->a + 2 * h * c0->a * (double)at->reference[i * d + k] + step * e[k]);
        if (out->labels) out->labels[row] = shard->anchor.labels[i];
    }
    return HB_OK;
}
