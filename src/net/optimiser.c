/* Adam (D. P. Kingma, J. Ba, Adam: a method for stochastic optimization, 2015) with clipping,
 * warm-up, a cosine and an average of the weights.
 *
 * Step t = 1, 2, ... with gradient g, scaled to the norm `clip` when it is longer:
 *     m = b1 m + (1-b1) g,   v = b2 v + (1-b2) g^2,
 *     p = p - rate(t-1) m/(1-b1^t) / (sqrt(v/(1-b2^t)) + epsilon),
 *     average = average + (1 - decay) (p - average),   decay = min(ema, t/(9+t)), and 0 for t = 1.
 * The first average is p itself, so nothing of an arbitrary start stays in it.
 * rate(s) rises linearly over `warmup` steps and then follows half a cosine down to last_rate*rate
 * at `steps`. A network of two million parameters is 40 MB of numbers in a step, so chunks of them
 * go on the context's threads; the order of sums is fixed. A number to reproduce: without clipping
 * the first step moves every parameter by rate/(1 + epsilon/|g|), whatever the size of g. */
#include "net/optimiser.h"
#include "base/context.h"
#include "base/parallel.h"
#include "net/net_kernels.h"

#include <math.h>
#include <string.h>

void hb_adam_settings_default(hb_adam_settings *settings)
{
    memset(settings, 0, sizeof *settings);
    settings->rate = 2e-3;
    settings->beta1 = 0.9;
    settings->beta2 = 0.999;
    settings->epsilon = 1e-8;
    settings->clip = 1;
    settings->ema = 0.999;
    settings->warmup = 100;
}

double hb_adam_rate(const hb_adam_settings *settings, uint64_t step)
{
    const uint64_t warmup = settings->warmup;
    if (step < warmup) return settings->rate * (double)(step + 1) / (double)warmup;
    if (settings->steps <= warmup) return settings->rate;
    const double done = (double)(step - warmup) / (double)(settings->steps - warmup);
    const double part = done < 1 ? (1 + cos(M_PI * done)) / 2 : 0;
    return settings->rate * (settings->last_rate + (1 - settings->last_rate) * part);
}

static double adam_average_decay(const hb_adam_settings *settings, uint64_t step)
{
    const double early = (double)(1 + step) / (double)(10 + step);
    if (step == 0) return 0;
    return early < settings->ema ? early : settings->ema;
}

static hb_adam_numbers adam_numbers(const hb_adam_settings *settings, uint64_t step, double norm)
{
    const double b1 = settings->beta1, b2 = settings->beta2, t = (double)(step + 1);
    const double clip = settings->clip;
    return (hb_adam_numbers){
        .scale = (float)(clip > 0 && norm > clip ? clip / norm : 1),
        .keep1 = (float)b1,
        .keep2 = (float)b2,
        .add1 = (float)(1 - b1),
        .add2 = (float)(1 - b2),
        .rate = (float)(hb_adam_rate(settings, step) / (1 - pow(b1, t))),
        .root = (float)(1 / sqrt(1 - pow(b2, t))),
        .epsilon = (float)settings->epsilon,
        .average_weight = (float)(1 - adam_average_decay(settings, step)),
    };
}

static hb_status adam_refuse(hb_context *context, size_t n, const float *gradient, uint64_t step)
{
    size_t i = 0;
    while (i + 1 < n && isfinite(gradient[i])) i++;
    return hb_fail(
        context, HB_ERROR_NUMERICAL,
        "the gradient of step %llu is not finite (parameter %zu has %g); the weights are "
        "those of the step before; a lower learning rate may help",
        (unsigned long long)step + 1, i, (double)gradient[i]);
}

/* ---- chunks of parameters ---- */

enum { CHUNK = 65536 };

typedef struct adam_job {
    const hb_net_kernels *kernels;
    hb_adam_numbers numbers;
    size_t n;
    const float *gradient;
    float *parameters;
    hb_adam_state *state;
} adam_job;

static hb_status adam_squares_of_chunk(void *user, size_t first, size_t count, int thread,
                                       double *sum)
{
    const adam_job *job = user;
    (void)thread;
    *sum = job->kernels->squared_norm(count, job->gradient + first);
    return HB_OK;
}

static hb_status adam_move_chunk(void *user, size_t index, int thread)
{
    const adam_job *job = user;
    const hb_adam_state *state = job->state;
    const size_t first = index * CHUNK, left = job->n - first, n = left < CHUNK ? left : CHUNK;
    (void)thread;
    if (state->step == 0) {
        memset(state->first + first, 0, n * sizeof *state->first);
        memset(state->second + first, 0, n * sizeof *state->second);
        memset(state->average + first, 0, n * sizeof *state->average);
    }
    job->kernels->adam(&job->numbers, n, job->gradient + first, job->parameters + first,
                       state->first + first, state->second + first, state->average + first);
    return HB_OK;
}

hb_status hb_adam_step(hb_context *context, const hb_adam_settings *settings, size_t n,
                       const float *gradient, float *parameters, hb_adam_state *state, double *norm)
{
    adam_job job = {.kernels = hb_net_kernels_of(context->isa), .n = n, .gradient = gradient};
    double squares;
    HB_TRY(hb_parallel_sum(context, NULL, n, CHUNK, 1, adam_squares_of_chunk, &job, &squares));
    if (norm) *norm = sqrt(squares);
    return hb_adam_move(context, settings, n, gradient, squares, parameters, state);
}

hb_status hb_adam_move(hb_context *context, const hb_adam_settings *settings, size_t n,
                       const float *gradient, double squares, float *parameters,
                       hb_adam_state *state)
{
    adam_job job = {.kernels = hb_net_kernels_of(context->isa),
                    .n = n,
                    .gradient = gradient,
                    .parameters = parameters,
                    .state = state};
    if (!isfinite(squares)) return adam_refuse(context, n, gradient, state->step);
    job.numbers = adam_numbers(settings, state->step, sqrt(squares));
    HB_TRY(hb_parallel_for(context, NULL, (n + CHUNK - 1) / CHUNK, adam_move_chunk, &job));
    state->step++;
    return HB_OK;
}
