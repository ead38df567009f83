/* The Fokker-Planck residual of a score (C.-H. Lai et al., FP-Diffusion, ICML 2023, vector form)
 * with exact derivatives, for the score head in dim <= 3.
 *
 * The residual of d_tau s = grad(div s + |s|^2 - F.s - div F) with s = s_ref + q, s_ref = grad
 * v_ref, H the Hessian of v_ref, J_ji = dF_j/dz_i (c times the unit matrix, c = -1 for OU and 0 for
 * VE):
 *     e_i = e_ref,i + d_tau q_i - sum_j d_i d_j q_j - 2 sum_j H_ij q_j
 *           - sum_j (2 s_ref,j + 2 q_j - F_j) d_i q_j + sum_j J_ji q_j,
 *     e_ref: the same of s_ref, which is 0 for OU and VE (drift_terms.c)
 *     rho_i = (b^(3/2)/2) e_i,    loss = weight * mean of (b/dim) sum_i huber(rho_i).
 * q = g N(x^, ln tau), g = k/sqrt(b): d_i q = (g/sigma) N_i, d_i d_j q = (g/sigma^2) N_ij, d_tau q
 * = (g' N + g N_t)/tau. All are channels of one pass: value, dim directions, ln tau, dim (dim+1)/2
 * pairs. A number to reproduce: q = 0 gives e = 0 exactly, with OU and VE. */
#include "train/trainer.h"

#include <math.h>
#include <string.h>

enum { MOST_DIM = 3, MOST_PAIRS = 6 };

/* (i, j), i <= j, in the order of the network's channels; dim 1 uses the first, dim 2 the first
 * three. */
static const int pairs[MOST_PAIRS][2] = {{0, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {2, 2}};

typedef struct vector_scratch {
    hb_scratch own;
    size_t channels, n_pairs;
    float *input;               // (channels, anchors, inputs)
    float *output, *cotangent;  // (channels, anchors, dim)
    float *reference, *scratch; // (anchors, dim), (2, anchors, dim)
    double *drift, *jacobian;   // (anchors, dim), (anchors, dim, dim): F, dF_i/dz_j
    double *source;             // (anchors, dim): e_ref
} vector_scratch;

static hb_status fp_score_prepare(hb_trainer *trainer)
{
    const hb_model_info *info = &trainer->model->info;
    HB_CHECK(trainer->context, info->head == HB_HEAD_SCORE, HB_ERROR_ARGUMENT,
             "the fp loss needs the energy or the score head");
    HB_CHECK(
        trainer->context, info->dim <= MOST_DIM, HB_ERROR_ARGUMENT,
        "the fp loss of the score head needs data in at most %d dimensions; these have %d; take "
        "the energy head",
        MOST_DIM, info->dim);
    return HB_OK;
}

static hb_status fp_score_create(hb_micro_batch *micro)
{
    hb_trainer *trainer = micro->trainer;
    const size_t d = (size_t)trainer->model->info.dim, m = micro->anchors;
    const size_t inputs = (size_t)hb_model_inputs_count(trainer->model);
    vector_scratch *work;
    HB_TRY(hb_scratch_create(micro, sizeof *work, HB_WANT_VALUES, 0, &work));
    work->n_pairs = d * (d + 1) / 2;
    if (m == 0) return HB_OK;
    const hb_net_jets jets = {.first = (int)d + 1, .pairs = (int)work->n_pairs, .pair = pairs};
    const size_t channels = work->channels = (size_t)hb_net_channels(&jets);
    HB_TRY(HB_WORKSPACE(
        trainer->context, &work->own.arrays, HB_ARRAY(work->input, channels * m * inputs),
        HB_ARRAY(work->output, channels * m * d), HB_ARRAY(work->cotangent, channels * m * d),
        HB_ARRAY(work->reference, m * d), HB_ARRAY(work->scratch, 2 * m * d),
        HB_ARRAY(work->drift, m * d), HB_ARRAY(work->source, m * d),
        HB_ARRAY(work->jacobian, m * d * d)));
    return hb_net_tape_create(&micro->alone, trainer->model->net, &jets, m, &work->own.jets);
}

/* Everything about one anchor, in double. */
typedef struct anchor_terms {
    double N[MOST_DIM], N_t[MOST_DIM], N_i[MOST_DIM][MOST_DIM]; /* N_i[i][j] = dN_j/dx^_i */
    double N_ii[MOST_PAIRS][MOST_DIM];
    double q[MOST_DIM], push[MOST_DIM]; /* push_j = 2 s_ref,j + 2 q_j - F_j */
    double H[MOST_DIM][MOST_DIM], J[MOST_DIM][MOST_DIM], source[MOST_DIM];
    double g, g_rate, first, second;
} anchor_terms;

static void fp_score_take_channels(const vector_scratch *work, size_t m, size_t i, size_t d,
                                   anchor_terms *t)
{
    for (size_t j = 0; j < d; j++) {
        const float *out = work->output + i * d + j;
        t->N[j] = (double)out[0];
        for (size_t k = 0; k < d; k++) t->N_i[k][j] = (double)out[(1 + k) * m * d];
        t->N_t[j] = (double)out[(1 + d) * m * d];
        for (size_t p = 0; p < work->n_pairs; p++) t->N_ii[p][j] = (double)out[(2 + d + p) * m * d];
    }
}

static void fp_score_take_terms(const hb_model *model, const vector_scratch *work,
                                const hb_points *points, size_t i, anchor_terms *t)
{
    const hb_noise_level *c = &points->level[i];
    const size_t d = (size_t)model->info.dim;
    const double b_rate = hb_model_noise_rate(model, c), root = sqrt(c->b);
    fp_score_take_channels(work, points->n, i, d, t);
    t->g = c->k / root;
    t->g_rate = (c->k_rate - c->k * b_rate / (2 * c->b)) / root;
    t->first = t->g / c->sigma;
    t->second = t->g / (c->sigma * c->sigma);
    for (size_t j = 0; j < d; j++) {
        t->q[j] = t->g * t->N[j];
        t->push[j] = 2 * (double)work->reference[i * d + j] + 2 * t->q[j] - work->drift[i * d + j];
        t->source[j] = work->source[i * d + j];
        for (size_t k = 0; k < d; k++) {
            t->H[j][k] = 0;
            t->J[j][k] = work->jacobian[(i * d + j) * d + k];
            for (size_t r = 0; r < d; r++)
                t->H[j][k] -= (double)model->axes[r * d + j] * (double)model->axes[r * d + k] /
                              hb_model_variance(model, c, r);
        }
    }
}

static double fp_score_residual(const anchor_terms *t, size_t d, size_t n_pairs, double tau,
                                size_t i)
{
    double e = t->source[i] + (t->g_rate * t->N[i] + t->g * t->N_t[i]) / tau;
    for (size_t j = 0; j < d; j++)
        e -= (2 * t->H[i][j] - t->J[j][i]) * t->q[j] + t->push[j] * t->first * t->N_i[i][j];
    for (size_t p = 0; p < n_pairs; p++) {
        const size_t a = (size_t)pairs[p][0], b = (size_t)pairs[p][1];
        if (a == i) e -= t->second * t->N_ii[p][b];
        if (b == i && a != b) e -= t->second * t->N_ii[p][a];
    }
    return e;
}

/* Cotangents of the channels from P_i = dL/de_i. */
static void fp_score_write_cotangents(const anchor_terms *t, vector_scratch *work, size_t m,
                                      size_t i, size_t d, double tau, const double *P)
{
    for (size_t j = 0; j < d; j++) {
        float *out = work->cotangent + i * d + j;
        double value = t->g_rate / tau * P[j];
        for (size_t k = 0; k < d; k++) {
            value -= t->g * P[k] * (2 * t->H[k][j] - t->J[j][k] + 2 * t->first * t->N_i[k][j]);
            out[(1 + k) * m * d] = (float)(-t->first * t->push[j] * P[k]);
        }
        out[0] = (float)value;
        out[(1 + d) * m * d] = (float)(t->g / tau * P[j]);
        for (size_t p = 0; p < work->n_pairs; p++) {
            const size_t a = (size_t)pairs[p][0], b = (size_t)pairs[p][1];
            out[(2 + d + p) * m * d] = (float)(-t->second * (j == b ? P[a] : j == a ? P[b] : 0));
        }
    }
}

static void fp_score_add_anchor(hb_micro_batch *micro, vector_scratch *work,
                                const hb_points *points, size_t i)
{
    const hb_trainer *trainer = micro->trainer;
    const hb_noise_level *c = &points->level[i];
    const size_t d = (size_t)trainer->model->info.dim;
    const double share = 1 / ((double)d * trainer->settings.anchors);
    const double factor = trainer->settings.weight * trainer->ramp * c->b * share;
    const double scale = 0.5 * c->b * sqrt(c->b) * micro->anchor.weight[i];
    anchor_terms t;
    double P[MOST_DIM] = {0};
    fp_score_take_terms(trainer->model, work, points, i, &t);
    for (size_t k = 0; k < d; k++) {
        double slope;
        const double rho = scale * fp_score_residual(&t, d, work->n_pairs, c->tau, k);
        micro->losses[HB_LOSS_OF_CONSTRAINT] += factor * hb_huber(rho, &slope);
        micro->losses[HB_LOSS_RESIDUAL2] += share * rho * rho;
        P[k] = factor * slope * scale;
    }
    fp_score_write_cotangents(&t, work, points->n, i, d, c->tau, P);
}

static hb_status fp_score_add(hb_micro_batch *micro)
{
    const hb_model *model = micro->trainer->model;
    vector_scratch *work = micro->scratch;
    const hb_rows *anchor = &micro->anchor;
    const hb_points points = {anchor->n, anchor->z, anchor->level, anchor->labels};
    const size_t d = (size_t)model->info.dim;
    const size_t channel = points.n * (size_t)hb_model_inputs_count(model);
    hb_model_inputs(model, &points, work->input);
    for (size_t k = 0; k < d; k++)
        hb_model_inputs_along(model, points.n, (int)k, work->input + (1 + k) * channel);
    hb_model_inputs_log_tau(model, &points, work->input, work->input + (1 + d) * channel);
    memset(work->input + (2 + d) * channel, 0, work->n_pairs * channel * sizeof(float));
    HB_TRY(hb_net_forward(work->own.jets, model->parameters, points.n, work->input, work->output));
    HB_TRY(hb_model_reference(model, &points, work->scratch, NULL, work->reference));
    HB_TRY(micro->trainer->source->terms(&micro->alone, micro->trainer, &points, work->drift,
                                         work->jacobian, work->source));
    for (size_t i = 0; i < points.n; i++) fp_score_add_anchor(micro, work, &points, i);
    return hb_net_backward(work->own.jets, model->parameters, work->cotangent, 1, micro->gradient,
                           NULL);
}

const hb_constraint hb_constraint_fp_score = {.weight = 1.2,
                                              .most_weight = 1,
                                              .spares_small_tau = 1,
                                              .prepare = fp_score_prepare,
                                              .create = fp_score_create,
                                              .add = fp_score_add};
