/* The probability-flow ODE by Heun's method on EDM's grid (Karras, Aittala, Aila, Laine, NeurIPS
 * 2022).
 *
 * In the frame y = x/a the ODE is dy/dsigma = -sigma a s(x, tau) (the score of y is a s). Euler's
 * step to sigma', the slope there, and the mean of the two slopes: order 2, two evaluations a step.
 * With g = sigma a s = sqrt(b) s, the slope without its sign:
 *     x~ = a' (x/a + (sigma - sigma') g),        x' = a' (x/a + (sigma - sigma') (g + g~)/2)
 * Under a drift of the user s is s - F, on the grid of the SDE.
 * EDM's last step, to sigma = 0 by Euler, is the posterior mean: HB_DENOISE_MEAN.
 * A number to reproduce: data N(0, c), k = sigma - sigma', v = c + sigma^2: one step multiplies y
 * by 1 - (k/2) (sigma/v + (sigma'/v') (1 - k sigma/v)); from sigma = 2 to 1 with c = 1: 0.65. */
#include "generate/reverse.h"

#include <math.h>

typedef struct heun {
    const hb_reverse *run;
    size_t rows;
    double *x, *ahead, *score, *score_ahead; // (rows, dim)
    double *drift;                           // (rows, dim): scratch; NULL unless it is the user's
    hb_workspace work;
} heun;

/* out = a' (x/a + k (w_0 g + w_1 g~)), k = sigma - sigma'. */
static void heun_advance(const heun *h, hb_level from, hb_level to, double w0, double w1,
                         double *out)
{
    const double k = from.sigma - to.sigma, g = k * w0 * sqrt(from.b),
                 g_ahead = k * w1 * sqrt(to.b);
    for (size_t i = 0; i < h->rows * h->run->dim; i++) {
        double moved = h->x[i] / from.a + g * h->score[i];
        if (w1 != 0) moved += g_ahead * h->score_ahead[i];
        out[i] = to.a * moved;
    }
}

static hb_status heun_ask(const heun *h, const double *x, double tau, double *score)
{
    HB_TRY(hb_reverse_ask(h->run, h->rows, x, tau, score, NULL));
    return hb_reverse_lean(h->run, h->rows, x, tau, 1, h->drift, score);
}

static hb_status heun_take_steps(const heun *h, const hb_level *levels)
{
    const int n = h->run->settings->n_steps;
    for (int i = 0; i < n; i++) {
        const hb_level from = levels[i], to = levels[i + 1];
        hb_reverse_keep(h->run, h->rows, from.tau, h->x);
        HB_TRY(heun_ask(h, h->x, from.tau, h->score));
        heun_advance(h, from, to, 1, 0, h->ahead);
        HB_TRY(heun_ask(h, h->ahead, to.tau, h->score_ahead));
        heun_advance(h, from, to, 0.5, 0.5, h->x);
        HB_TRY(hb_reverse_progress(h->run, (i + 1.0) / n));
    }
    return HB_OK;
}

hb_status hb_reverse_heun(const hb_reverse *run, size_t rows, double *x)
{
    const size_t size = rows * run->dim, levels_size = (size_t)run->settings->n_steps + 1;
    heun h = {.run = run, .rows = rows, .x = x};
    hb_level *levels;
    HB_TRY(HB_WORKSPACE(run->context, &h.work, HB_ARRAY(levels, levels_size),
                        HB_ARRAY(h.ahead, size), HB_ARRAY(h.score, size),
                        HB_ARRAY(h.score_ahead, size),
                        HB_ARRAY_IF(hb_reverse_leans(run), h.drift, size)));
    hb_levels_edm(run->settings, levels);
    const hb_status status = heun_take_steps(&h, levels);
    hb_workspace_destroy(&h.work);
    return status;
}
