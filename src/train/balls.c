/* Nodes on heat balls behind anchors (train/balls.h), and Huber's function.
 * A number to reproduce: OU at tau_0 = 0.5: s_0 = (e - 1)/2 = 0.8591409. */
#include "train/balls.h"

#include <heatball/random.h>
#include <math.h>

enum { DEGREE = 3 };

/* As many as fill the memory of 64 of them in 64 dimensions: 8 MB. */
static uint32_t rotations_of(int dim)
{
    if (dim <= HB_BALL_MOST_DIM) return HB_BALL_ROTATIONS;
    const int rotations = HB_BALL_ROTATIONS * HB_BALL_MOST_DIM * HB_BALL_MOST_DIM / (dim * dim);
    return rotations > 1 ? (uint32_t)rotations : 1;
}

hb_status hb_ball_prepare_constants(hb_trainer *trainer)
{
    const int dim = trainer->model->info.dim;
    hb_ball_constants constants;
    void *memory;
    HB_TRY(hb_allocate(trainer->context, 1, sizeof(hb_ball_common), &memory));
    hb_ball_common *common = trainer->common = memory;
    *common = (hb_ball_common){.rotations = rotations_of(dim)};
    HB_TRY(hb_ball_constants_get(trainer->context, dim, 0, sizeof constants, &constants));
    common->C1 = constants.C1;
    common->to_scaled = 1 / (M_PI * trainer->settings.ball_share * constants.C1);
    return HB_OK;
}

hb_status hb_ball_prepare(hb_trainer *trainer)
{
    const int dim = trainer->model->info.dim;
    HB_CHECK(trainer->context, dim <= HB_BALL_LAST_DIM, HB_ERROR_ARGUMENT,
             "this hb loss takes at most %d dimensions, since its rotations fill the memory; there "
             "are %d: take the energy head without a drift, or dsm",
             HB_BALL_LAST_DIM, dim);
    HB_TRY(hb_ball_prepare_constants(trainer));
    hb_ball_common *common = trainer->common;
    HB_TRY(hb_cloud_cubature(trainer->context, HB_CLOUD_VALUE, dim, 0, DEGREE,
                             trainer->settings.seed, dim > HB_BALL_MOST_DIM, (int)common->rotations,
                             common->rotated));
    common->nodes = common->rotated[0].n;
    return HB_OK;
}

void hb_ball_discard(hb_trainer *trainer)
{
    hb_ball_common *common = trainer->common;
    if (!common) return;
    for (int i = 0; i < HB_BALL_ROTATIONS; i++) // those that there are not are zeros
        hb_cloud_destroy(trainer->context, &common->rotated[i]);
    hb_release(trainer->context, common);
    trainer->common = NULL;
}

void hb_ball_place_anchor(const hb_shard *shard, size_t i, hb_ball_rows *out)
{
    const size_t d = (size_t)shard->trainer->model->info.dim;
    for (size_t k = 0; k < d; k++) out->z[i * d + k] = shard->anchor.z[i * d + k];
    out->level[i] = shard->anchor.level[i];
    if (out->labels) out->labels[i] = shard->anchor.labels[i];
}

/* s of the frame at an anchor. */
static double frame_time(const hb_noise_level *c)
{
    return c->b / (2 * c->a * c->a);
}

double hb_ball_radius(const hb_shard *shard, size_t i)
{
    return sqrt(4 * M_PI * shard->trainer->settings.ball_share *
                frame_time(&shard->anchor.level[i]));
}

void hb_ball_level(const hb_shard *shard, size_t i, double h, hb_noise_level *out)
{
    const hb_model *model = shard->trainer->model;
    const double s = frame_time(&shard->anchor.level[i]) - h;
    hb_model_level(model, model->info.process == HB_PROCESS_OU ? 0.5 * log1p(2 * s) : s, out);
}

/* The nodes of one shell have one time, and so one level of noise. */
void hb_ball_place_cloud(const hb_shard *shard, size_t i, const hb_cloud *cloud, size_t row,
                         hb_ball_rows *out)
{
    const size_t d = (size_t)shard->trainer->model->info.dim;
    const hb_noise_level *c0 = &shard->anchor.level[i];
    const double r = hb_ball_radius(shard, i);
    const double *z0 = shard->anchor.z + i * d;
    for (size_t j = 0; j < cloud->n; j++, row++) {
        hb_noise_level *c = &out->level[row];
        if (j > 0 && cloud->s[j] == cloud->s[j - 1])
            *c = c[-1];
        else
            hb_ball_level(shard, i, r * r * cloud->s[j], c);
        for (size_t k = 0; k < d; k++)
            out->z[row * d + k] = c->a * (z0[k] / c0->a + r * cloud->y[j * d + k]);
        if (out->labels) out->labels[row] = shard->anchor.labels[i];
    }
}

uint64_t hb_ball_number(const hb_shard *shard, size_t i)
{
    const hb_trainer *trainer = shard->trainer;
    return trainer->state.step * (uint64_t)trainer->settings.anchors + shard->first_anchor + i;
}

/* out: the stored cloud with coordinate k times sign k, +-1 by a bit of words. */
static void turn_cloud(const hb_cloud *stored, size_t d, const uint32_t *words, hb_cloud *out)
{
    double sign[HB_BALL_LAST_DIM];
    for (size_t k = 0; k < d; k++) sign[k] = words[k / 32] >> k % 32 & 1 ? 1 : -1;
    *out = (hb_cloud){stored->n, out->y, stored->s, stored->weight, NULL};
    for (size_t j = 0; j < stored->n; j++)
        for (size_t k = 0; k < d; k++) out->y[j * d + k] = sign[k] * stored->y[j * d + k];
}

hb_status hb_ball_cloud(hb_shard *shard, size_t i, hb_cloud *turned, const hb_cloud **out)
{
    const hb_ball_common *common = shard->trainer->common;
    const size_t d = (size_t)shard->trainer->model->info.dim;
    const size_t count = d > HB_BALL_MOST_DIM ? 1 + (d + 31) / 32 : 1;
    uint32_t words[1 + HB_BALL_LAST_DIM / 32];
    HB_TRY(hb_random_words(&shard->alone, shard->trainer->settings.seed,
                           HB_STREAM_TRAIN + HB_STREAM_CLOUD, hb_ball_number(shard, i) * count,
                           count, words));
    *out = &common->rotated[words[0] % common->rotations];
    if (count == 1) return HB_OK;
    turn_cloud(*out, d, words + 1, turned);
    *out = turned;
    return HB_OK;
}

double hb_many_weight(const hb_noise_level *level)
{
    return level->a * level->b;
}

double hb_huber(double r, double *slope)
{
    *slope = r > 1 ? 1 : r < -1 ? -1 : r;
    return fabs(r) <= 1 ? 0.5 * r * r : fabs(r) - 0.5;
}
