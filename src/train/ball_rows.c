/* The rows of a heat-ball loss (train/ball_rows.h), and the functions that residuals go through.
 *
 * Nodes, times and weights are those of hb_balls_place for the process, the share f and the seed of
 * the training; the number of an anchor is its place in the whole run, which its random draws
 * depend on. A number to reproduce: in the plane with f = 0.03 the scale is 266.67. */
#include "train/ball_rows.h"
#include "mean/ball_rule.h"

#include <math.h>

_Static_assert(HB_STREAM_CLOUD == (int)HB_BALL_STREAM, "the stream of nodes is that of trainings");

static const double LEAST = 0.2;

static hb_status create_balls(hb_trainer *trainer, int directions)
{
    const hb_train_settings *from = &trainer->settings;
    const int dim = trainer->model->info.dim;
    hb_balls_settings s;
    hb_ball_constants constants;
    hb_ball_common *common;
    HB_TRY(HB_NEW_CLEARED(trainer->context, common, 1));
    trainer->common = common;
    hb_balls_settings_default(sizeof s, &s);
    s.kind = from->head == HB_HEAD_ENERGY ? HB_BALLS_KIND_LOG_DENSITY : HB_BALLS_KIND_SCORE;
    s.process = from->process;
    s.drift = from->drift;
    s.time_fraction = from->time_fraction;
    s.seed = from->seed;
    s.directions = directions;
    if (directions) s.degree = 0;
    HB_TRY(hb_balls_create(trainer->context, &s, dim, &common->balls));
    HB_TRY(hb_ball_constants_get(trainer->context, dim, 0, sizeof constants, &constants));
    common->C1 = constants.C1;
    common->nodes = hb_balls_nodes(common->balls);
    return HB_OK;
}

hb_status hb_ball_prepare(hb_trainer *trainer)
{
    const int dim = trainer->model->info.dim;
    HB_CHECK(trainer->context, dim <= HB_BALL_LAST_DIM, HB_ERROR_ARGUMENT,
             "this hb loss takes at most %d dimensions, since its rotations fill the memory; there "
             "are %d: take the energy head without a drift, or dsm",
             HB_BALL_LAST_DIM, dim);
    return create_balls(trainer, 0);
}

/* Of `nodes` nodes around the centre two are along grad w. */
hb_status hb_ball_prepare_directions(hb_trainer *trainer)
{
    const int most = trainer->model->info.dim - 1, asked = trainer->settings.nodes / 2 - 1;
    return create_balls(trainer, asked < 1 ? 1 : asked < most ? asked : most);
}

void hb_ball_discard(hb_trainer *trainer)
{
    hb_ball_common *common = trainer->common;
    if (!common) return;
    hb_balls_destroy(common->balls);
    hb_release(trainer->context, common);
    trainer->common = NULL;
}

hb_status hb_ball_scratch_create(hb_micro_batch *micro, size_t bytes, hb_model_want want,
                                 size_t *rows, void *out)
{
    const hb_ball_common *common = micro->trainer->common;
    *rows = micro->anchors * (1 + common->nodes);
    return hb_scratch_create(micro, bytes, want, *rows, out);
}

/* The levels of all rows; the nodes of one shell have one time, and so one level of noise. */
static void place_levels(const hb_micro_batch *micro, size_t nodes, hb_ball_rows *out)
{
    const size_t m = micro->anchors;
    for (size_t row = m; row < m + m * nodes; row++) {
        if ((row - m) % nodes > 0 && out->tau[row] == out->tau[row - 1])
            out->level[row] = out->level[row - 1];
        else
            hb_model_level(micro->trainer->model, out->tau[row], &out->level[row]);
        if (out->labels) out->labels[row] = micro->anchor.labels[(row - m) / nodes];
    }
}

hb_status hb_ball_rows_place(hb_micro_batch *micro, const double *slope,
                             const double *reference_slope, const hb_balls_values *more,
                             hb_ball_rows *out)
{
    const hb_trainer *trainer = micro->trainer;
    const hb_ball_common *common = trainer->common;
    const hb_rows *anchor = &micro->anchor;
    const size_t d = (size_t)trainer->model->info.dim, m = micro->anchors;
    hb_balls_values values = more ? *more : (hb_balls_values){0};
    for (size_t i = 0; i < m; i++) {
        for (size_t k = 0; k < d; k++) out->z[i * d + k] = anchor->z[i * d + k];
        out->tau[i] = anchor->level[i].tau;
        out->level[i] = anchor->level[i];
        if (out->labels) out->labels[i] = anchor->labels[i];
    }
    values.size = sizeof values;
    values.x = out->z + m * d;
    values.tau = out->tau + m;
    values.weight = out->weight + m;
    values.shift = out->shift + m;
    values.scale = out->scale;
    values.radius = out->radius;
    const uint64_t first =
        trainer->state.step * (uint64_t)trainer->settings.anchors + micro->first_anchor;
    HB_TRY(hb_balls_place(&micro->alone, common->balls, first, m, out->z, out->tau, slope,
                          reference_slope, &values));
    place_levels(micro, common->nodes, out);
    return HB_OK;
}

hb_status hb_ball_slopes_create(hb_micro_batch *micro)
{
    hb_scratch *scratch = micro->scratch;
    return hb_net_slope_tape_create(&micro->alone, micro->trainer->model->net, micro->anchors,
                                    &scratch->slopes);
}

hb_status hb_ball_slopes_look(hb_micro_batch *micro, hb_ball_slopes *at)
{
    const hb_trainer *trainer = micro->trainer;
    const hb_model *model = trainer->model;
    const hb_rows *anchor = &micro->anchor;
    const size_t d = (size_t)model->info.dim, inputs = (size_t)hb_model_inputs_count(model);
    const hb_points points = {anchor->n, anchor->z, anchor->level, anchor->labels};
    hb_scratch *scratch = micro->scratch;
    hb_model_inputs(model, &points, at->input);
    HB_TRY(hb_net_slope(scratch->slopes, trainer->aside ? trainer->aside : model->parameters,
                        points.n, at->input, at->value, at->slope));
    HB_TRY(hb_model_reference(model, &points, at->scratch, NULL, at->reference));
    for (size_t i = 0; i < points.n; i++)
        for (size_t k = 0; k < d; k++) {
            at->ahead[i * d + k] = (double)at->slope[i * inputs + k];
            at->behind[i * d + k] = (double)at->reference[i * d + k];
        }
    return HB_OK;
}

/* Below tau = 0.02 anchors serve log-densities only (HB_ANCHOR_TAU). There a weight b would let the
 * normalisation and the weights of modes go; above 8 dimensions, where the constraint's own weight
 * falls as 1/dim^2, more is needed and does no harm. */
double hb_anchor_weight(const hb_noise_level *level, int dim)
{
    static const double LEAST_WEIGHT = 0.0392; /* b of OU at tau = 0.02 */
    static const double MORE_FROM_DIM = 8;
    if (dim > HB_BALL_MOST_DIM) return level->a * level->b;
    if (level->knot || level->b >= LEAST_WEIGHT) return level->b;
    return LEAST_WEIGHT * fmax(1, dim / MORE_FROM_DIM);
}

double hb_huber(double r, double *slope)
{
    *slope = r > 1 ? 1 : r < -1 ? -1 : r;
    return fabs(r) <= 1 ? 0.5 * r * r : fabs(r) - 0.5;
}

double hb_minus_log(double Q, double *slope)
{
    *slope = -1 / fmax(Q, LEAST);
    return Q >= LEAST ? -log(Q) : -log(LEAST) + (LEAST - Q) / LEAST;
}
