/* The rule of balls: settings checked, nodes made, and the nodes of each anchor (mean/ball_rule.h).
 *
 * Nodes of cubature are made once, in rotations; which an anchor has follows from the seed and its
 * number. Random nodes are drawn for each anchor. Measures: kappa for values, and for the arms, of
 * scores and of drifts, the slope measure (cubature) or the gradient measure (draws),
 * docs/explanation/mean-value.md. A number to reproduce: in two dimensions the rule of degree 3 has 4 nodes at
 * sigma = C1/4 = 0.00994718. */
#define SETTINGS hb_balls_settings
#include "mean/ball_rule.h"
#include "base/context.h"
#include "base/setting_rows.h"
#include "problem/problem_text.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <math.h>

enum { SHARED_DEGREE = 3, MOST_DEGREE = 20, MOST_PAIRS = 1000000 };
enum { MOST_DOUBLES = 1 << 20 }; /* of all rotations of a rule: 8 MB */

static const hb_setting settings_table[] = {
    TOLD(kind, RESULT, HB_BALLS_KIND_LOG_DENSITY, HB_BALLS_KIND_LOG_DENSITY, HB_BALLS_KIND_SCORE,
         "an hb_balls_kind", "what the values are"),
    TOLD(process, RESULT, HB_PROCESS_OU, HB_PROCESS_OU, HB_PROCESS_DRIFT, "an hb_process",
         "the process"),
    SHOWN(degree, RESULT, "3", SHARED_DEGREE, 0, 0, "degree of the rule of nodes; 0: none"),
    NUMBER(pairs, RESULT, 0, 0, 0, "antithetic pairs of random nodes; 0: none"),
    NUMBER(directions, RESULT, 0, 0, 0, "random directions of nodes; 0: none"),
    TOLD(time_fraction, RESULT | ABOVE | BELOW, NAN, 0, 1, "above 0 and below 1",
         "fraction of the available time that a ball takes"),
    NUMBER(seed, RESULT, 1, 0, 0, "seed of the random numbers"),
    POINTER(drift, "the drift of the process"),
    POINTER(mean, "mean of the reference"),
    POINTER(covariance, "covariance of the reference"),
    {0}};
SETTING_FUNCTIONS(balls, settings_table)

/* ---- checks ---- */

static hb_status check_drift(hb_context *context, const hb_balls_settings *s, int dim)
{
    if (s->process != HB_PROCESS_DRIFT) return HB_OK;
    HB_CHECK(context, s->drift, HB_ERROR_ARGUMENT, "the process is drift, but drift is NULL");
    const char *frame = hb_problem_frame(s->drift);
    /* that of a model (hb_model_problem) is in the coordinates of its frame */
    HB_CHECK(context, !frame || hb_problem_has_unit(s->drift), HB_ERROR_ARGUMENT,
             "the noise of the drift needs %s; balls take a noise that is one g(t)", frame);
    HB_CHECK(context, hb_problem_dim(s->drift) == dim, HB_ERROR_ARGUMENT,
             "the drift has dimension %d, the anchors %d", hb_problem_dim(s->drift), dim);
    return HB_OK;
}

static hb_status check_directions(hb_context *context, const hb_balls_settings *s, int dim)
{
    HB_CHECK(context, s->kind == HB_BALLS_KIND_LOG_DENSITY && s->process != HB_PROCESS_DRIFT,
             HB_ERROR_ARGUMENT,
             "few directions are for log-densities under ou and ve; take degree 3 or pairs");
    HB_CHECK(context, s->directions >= 1 && s->directions < dim, HB_ERROR_ARGUMENT,
             "directions is %d; in %d dimensions it must be 1 to %d", s->directions, dim, dim - 1);
    return HB_OK;
}

static hb_status check_rule(hb_context *context, const hb_balls_settings *s, int dim)
{
    HB_CHECK(context, (s->degree != 0) + (s->pairs != 0) + (s->directions != 0) == 1,
             HB_ERROR_ARGUMENT,
             "degree is %d, pairs %d, directions %d; one of them, and one only, must not be 0",
             s->degree, s->pairs, s->directions);
    if (s->directions) return check_directions(context, s, dim);
    if (s->pairs) {
        HB_CHECK(context, s->pairs >= 1 && s->pairs <= MOST_PAIRS, HB_ERROR_ARGUMENT,
                 "pairs is %d; it must be 1 to %d", s->pairs, MOST_PAIRS);
        return HB_OK;
    }
    HB_CHECK(context, s->degree >= SHARED_DEGREE && s->degree <= MOST_DEGREE, HB_ERROR_ARGUMENT,
             "degree is %d; it must be %d to %d, or 0 with pairs or directions", s->degree,
             SHARED_DEGREE, MOST_DEGREE);
    const int most = s->degree == SHARED_DEGREE ? HB_BALL_LAST_DIM : HB_BALL_MOST_DIM;
    HB_CHECK(context, dim <= most, HB_ERROR_ARGUMENT,
             "nodes of degree %d are for at most %d dimensions; there are %d: take %s", s->degree,
             most, dim,
             s->degree == SHARED_DEGREE ? "directions, or pairs" : "degree 3, directions or pairs");
    return HB_OK;
}

static hb_status check_settings(hb_context *context, hb_balls_settings *s, int dim)
{
    HB_CHECK(context, dim >= 1 && dim <= HB_MAX_DIM, HB_ERROR_ARGUMENT,
             "dim is %d; it must be 1 to %d", dim, HB_MAX_DIM);
    HB_TRY(hb_setting_rows_check(context, settings_table, s));
    HB_TRY(check_drift(context, s, dim));
    HB_TRY(check_rule(context, s, dim));
    if (isnan(s->time_fraction))
        s->time_fraction = s->directions ? 0.128 / dim : fmin(0.03, 0.16 / dim);
    return HB_OK;
}

/* ---- made and destroyed ---- */

/* As many as fill the memory of 64 of them in 64 dimensions: 8 MB. */
static uint32_t rotations_of(size_t dim, size_t nodes)
{
    if (nodes == 2 * dim && dim <= HB_BALL_MOST_DIM) return HB_BALL_ROTATIONS;
    const size_t rotations =
        nodes == 2 * dim ? HB_BALL_ROTATIONS * HB_BALL_MOST_DIM * HB_BALL_MOST_DIM / (dim * dim)
                         : MOST_DOUBLES / (nodes * dim);
    return rotations > HB_BALL_ROTATIONS ? HB_BALL_ROTATIONS
           : rotations > 1               ? (uint32_t)rotations
                                         : 1;
}

/* The rotations of a rule; *rotations 0: as many as fit. */
static hb_status ball_rule_create_nodes(hb_balls *balls, hb_ball_nodes_kind kind,
                                        uint32_t *rotations, hb_ball_nodes *units)
{
    const hb_balls_settings *s = &balls->settings;
    const hb_ball_nodes_rule rule = {kind, (int)balls->dim, 0, s->degree, s->seed};
    const int first = balls->dim > HB_BALL_MOST_DIM;
    size_t nodes = 2 * balls->dim;
    if (*rotations == 0 && s->degree > SHARED_DEGREE) {
        HB_TRY(hb_ball_nodes_cubature(balls->context, &rule, first, 1, units));
        nodes = units[0].n;
        hb_ball_nodes_destroy(balls->context, units);
    }
    if (*rotations == 0) *rotations = rotations_of(balls->dim, nodes);
    return hb_ball_nodes_cubature(balls->context, &rule, first, (int)*rotations, units);
}

static hb_status create_rule(hb_balls *balls)
{
    const hb_balls_settings *s = &balls->settings;
    const int arms = s->kind == HB_BALLS_KIND_SCORE || s->process == HB_PROCESS_DRIFT;
    if (s->directions)
        balls->n_value = 3 + 2 * (size_t)s->directions;
    else if (s->pairs) {
        balls->n_value = 2 * (size_t)s->pairs;
        balls->n_arm = arms ? balls->n_value : 0;
    } else {
        HB_TRY(ball_rule_create_nodes(balls, HB_BALL_NODES_VALUE, &balls->rotations, balls->value));
        balls->n_value = balls->value[0].n;
        if (arms && s->degree > SHARED_DEGREE) {
            HB_TRY(
                ball_rule_create_nodes(balls, HB_BALL_NODES_SCORE, &balls->rotations, balls->arm));
            balls->n_arm = balls->arm[0].n;
        }
    }
    balls->nodes = balls->n_value + balls->n_arm;
    return HB_OK;
}

static hb_status fill_balls(hb_balls *balls)
{
    hb_balls_settings *s = &balls->settings;
    hb_ball_constants constants;
    HB_TRY(hb_ball_constants_get(balls->context, (int)balls->dim, 0, sizeof constants, &constants));
    balls->C1 = constants.C1;
    balls->c_g = constants.c_g;
    balls->to_scaled = 1 / (M_PI * s->time_fraction * constants.C1);
    HB_TRY(hb_ball_reference_create(balls->context, s, balls->dim, &balls->reference));
    s->mean = s->covariance = NULL;
    return create_rule(balls);
}

hb_status hb_balls_create(hb_context *context, const hb_balls_settings *settings, int dim,
                          hb_balls **out)
{
    hb_balls_settings s;
    HB_CHECK(context, out, HB_ERROR_ARGUMENT, "out is NULL");
    *out = NULL;
    HB_SIZED_READ(context, hb_balls_settings, settings, &s);
    HB_TRY(check_settings(context, &s, dim));
    hb_balls *balls;
    HB_TRY(HB_NEW(context, balls, 1));
    *balls = (hb_balls){.context = context, .settings = s, .dim = (size_t)dim};
    const hb_status status = fill_balls(balls);
    if (status == HB_OK)
        *out = balls;
    else
        hb_balls_destroy(balls);
    return status;
}

void hb_balls_destroy(hb_balls *balls)
{
    if (!balls) return;
    for (int i = 0; i < HB_BALL_ROTATIONS; i++) { // those that there are not are zeros
        hb_ball_nodes_destroy(balls->context, &balls->value[i]);
        hb_ball_nodes_destroy(balls->context, &balls->arm[i]);
    }
    hb_ball_reference_destroy(&balls->reference);
    hb_release(balls->context, balls);
}

size_t hb_balls_nodes(const hb_balls *balls)
{
    return balls ? balls->nodes : 0;
}

double hb_balls_share(const hb_balls *balls)
{
    return balls ? balls->settings.time_fraction : 0;
}

/* ---- the nodes of an anchor ---- */

/* out: the stored nodes with coordinate k times sign k, +-1 by a bit of words. */
static void ball_rule_turn(const hb_ball_nodes *stored, size_t d, const uint32_t *words,
                           hb_ball_nodes *out)
{
    double sign[HB_BALL_LAST_DIM];
    for (size_t k = 0; k < d; k++) sign[k] = words[k / 32] >> k % 32 & 1 ? 1 : -1;
    *out = (hb_ball_nodes){stored->n, out->y, stored->s, stored->weight, NULL};
    for (size_t j = 0; j < stored->n; j++)
        for (size_t k = 0; k < d; k++) out->y[j * d + k] = sign[k] * stored->y[j * d + k];
}

static hb_status draw_nodes(const hb_balls *balls, uint64_t number, hb_ball_scratch *scratch)
{
    const size_t pairs = (size_t)balls->settings.pairs;
    hb_context *alone = &scratch->alone;
    hb_ball_nodes_draw *draw = &scratch->draw;
    draw->dim = (int)balls->dim;
    draw->c_g = balls->c_g;
    HB_TRY(hb_ball_nodes_seeds(alone, balls->settings.seed, number, draw->seeds));
    HB_TRY(hb_ball_nodes_random(alone, draw, HB_BALL_NODES_VALUE, 0, pairs, &scratch->value));
    for (size_t j = 0; j < 2 * pairs; j++) scratch->value.weight[j] = 0.5 / (double)pairs;
    if (balls->n_arm == 0) return HB_OK;
    scratch->arm.weight = scratch->value.weight;
    return hb_ball_nodes_random(alone, draw, HB_BALL_NODES_SCORE, 0, pairs, &scratch->arm);
}

hb_status hb_ball_rule_nodes(const hb_balls *balls, uint64_t number, hb_ball_scratch *scratch,
                             const hb_ball_nodes **value, const hb_ball_nodes **arm)
{
    const size_t d = balls->dim, count = d > HB_BALL_MOST_DIM ? 1 + (d + 31) / 32 : 1;
    uint32_t words[1 + HB_BALL_LAST_DIM / 32];
    *value = &scratch->value;
    *arm = balls->n_arm > 0 ? &scratch->arm : NULL;
    if (balls->settings.pairs) return draw_nodes(balls, number, scratch);
    HB_TRY(hb_random_words(&scratch->alone, balls->settings.seed, HB_STREAM_TRAIN + HB_BALL_STREAM,
                           number * count, count, words));
    const uint32_t turn = words[0] % balls->rotations;
    if (balls->n_arm > 0) *arm = &balls->arm[turn];
    if (count == 1)
        *value = &balls->value[turn];
    else
        ball_rule_turn(&balls->value[turn], d, words + 1, &scratch->value);
    return HB_OK;
}
