/* The distribution at tau_max where it is known by draws of it: starts of samples, and its density.
 *
 * Sample i starts at draw i mod n of n. The first n samples have a start of their own. Copies of a
 * start would go the same way along the ODE, so a later sample moves on from it by MOVES Langevin
 * steps with the score s at tau_max, accepted by Metropolis' rule where the density is known. A
 * step is
 *     e = STEP B dim^(-1/3)   (accepted or not),       e = 2 SNR^2 B   (without a density: a bias
 *                             of 1.3 % at most),
 * B = 2 tau/(1 + 2 tau/detail). So a copy forgets details of its start, and keeps which part of the
 * distribution it was in: shares of parts that are far from each other are known as well as n draws
 * tell, not better. A number to reproduce: from one draw at 0 of N(0, 1), B = 1, and its score:
 * MOVES steps leave variance 1 - (1 - STEP)^(2 MOVES) = 1 to 1e-9. */
#include "generate/reverse.h"

#include <math.h>
#include <string.h>

enum { MOVES = 16, MOVES_BARE = 64 };
static const double STEP = 0.5, SNR = 0.16;

/* ---- moves ---- */

static hb_status ends_ask_density(const hb_reverse *run, size_t n, const double *x, double *value)
{
    const hb_generate_settings *s = run->settings;
    HB_CHECK(run->context, s->end_density(s->end_user, n, x, value) == 0, HB_ERROR_CALLBACK,
             "the density at tau_max = %g reported an error", s->tau_max);
    for (size_t i = 0; i < n; i++)
        HB_CHECK(run->context, !isnan(value[i]), HB_ERROR_NUMERICAL,
                 "ln of the density at tau_max = %g is not a number at a point with x1 = %g",
                 s->tau_max, x[i * run->dim]);
    return HB_OK;
}

static hb_status ends_target(void *user, size_t n, const double *x, double *value, double *gradient)
{
    const hb_reverse *run = user;
    memset(value, 0, n * sizeof *value);
    HB_TRY(hb_reverse_ask(run, n, x, run->settings->tau_max, gradient, NULL));
    return run->settings->end_density ? ends_ask_density(run, n, x, value) : HB_OK;
}

/* x(rows, dim) are copies, samples first ..; run has the labels of these rows. */
static hb_status ends_move_copies(hb_reverse *run, uint64_t first, size_t rows, double *x)
{
    const hb_generate_settings *s = run->settings;
    const double B = hb_reverse_fineness(s, hb_level_at((hb_process)s->process, s->tau_max));
    hb_metropolis m = {.context = run->context,
                       .target = ends_target,
                       .user = run,
                       .adjusted = s->end_density != NULL,
                       .n = rows,
                       .dim = run->dim,
                       .seed = s->seed,
                       .first = first,
                       .step =
                           s->end_density ? STEP * B / cbrt((double)run->dim) : 2 * SNR * SNR * B,
                       .x = x};
    HB_TRY(hb_metropolis_create(&m));
    hb_status status = ends_target(run, rows, x, m.value, m.gradient);
    const int moves = m.adjusted ? MOVES : MOVES_BARE;
    for (int k = 0; k < moves && status == HB_OK; k++)
        status = hb_metropolis_move(&m, HB_STREAM_GENERATE | (uint64_t)(2 * k + 1));
    hb_workspace_destroy(&m.work);
    return status;
}

/* ---- starts ---- */

hb_status hb_ends_draw(const hb_reverse *run, const hb_prior *prior, uint64_t first, size_t rows,
                       double *x)
{
    const hb_generate_settings *s = run->settings;
    const size_t d = run->dim;
    if (!s->ends) return hb_prior_draw(prior, run->quiet, s->seed, first, rows, x);
    for (size_t i = 0; i < rows; i++)
        memcpy(x + i * d, s->ends + (first + i) % s->n_ends * d, d * sizeof *x);
    const uint64_t own = first < s->n_ends ? s->n_ends - first : 0;
    if (own >= rows) return HB_OK;
    hb_reverse copies = *run;
    if (run->row_labels) copies.row_labels = run->row_labels + own;
    return ends_move_copies(&copies, first + own, rows - (size_t)own, x + own * d);
}

/* ---- density ---- */

hb_status hb_ends_add_log_density(const hb_reverse *run, const hb_prior *prior, size_t n, double *x,
                                  double *out)
{
    const hb_generate_settings *s = run->settings;
    void *memory;
    if (!s->end_density) return hb_prior_add_log_density(prior, n, x, out);
    HB_TRY(hb_allocate(run->context, n, sizeof *out, &memory));
    double *value = memory;
    const hb_status status = ends_ask_density(run, n, x, value);
    for (size_t i = 0; i < n && status == HB_OK; i++) out[i] += value[i];
    hb_release(run->context, memory);
    return status;
}
