/* The times that a sampler visits.
 *
 *     OU   a = e^-tau, b = 1 - e^-2tau, sigma^2 = e^2tau - 1        VE   a = 1, b = 2 tau = sigma^2
 * Geometric grid: tau_i = tau_max (tau_min/tau_max)^(i/N). The score lives on the length sqrt(b) ~
 * sqrt(2 tau) and turns over when tau changes by a factor, so equal ratios give equal errors per
 * step; networks are trained at log-uniform tau for the same reason.
 * EDM's grid (Karras, Aittala, Aila, Laine, NeurIPS 2022, eq. 5), here from sigma_max to sigma_min
 * in N steps:
 *     sigma_i = ( sigma_max^(1/rho) + (i/N)(sigma_min^(1/rho) - sigma_max^(1/rho)) )^rho
 * A drift of the user has the levels of VE. It keeps its distribution from growing and so makes
 * details that do not fade, of variance S = detail (1/|Jacobian|, at most the distribution's own):
 * the score turns over within tau or S, whichever is less, and the grid is even in g = ln tau +
 * tau/S, which has steps of tau/(1 + tau/S) times its own. A number to reproduce: OU, tau = ln 2: a
 * = 1/2, b = 3/4, sigma = sqrt 3. */
#include "generate/reverse.h"

#include <math.h>

hb_level hb_level_at(hb_process process, double tau)
{
    if (process != HB_PROCESS_OU) return (hb_level){tau, 1, 2 * tau, sqrt(2 * tau)};
    return (hb_level){tau, exp(-tau), -expm1(-2 * tau), sqrt(expm1(2 * tau))};
}

hb_level hb_level_of_sigma(hb_process process, double sigma)
{
    const double square = sigma * sigma;
    return hb_level_at(process, process != HB_PROCESS_OU ? square / 2 : log1p(square) / 2);
}

/* ---- a user's drift ---- */

static double levels_grown(const hb_generate_settings *s, double log_tau)
{
    return log_tau + exp(log_tau) / s->detail;
}

double hb_levels_length(const hb_generate_settings *s)
{
    return levels_grown(s, log(s->tau_max)) - levels_grown(s, log(s->tau_min));
}

/* g is convex and rises in ln tau: Newton's steps from above come down to the root. */
static void levels_of_drift(const hb_generate_settings *s, hb_level *levels)
{
    const int n = s->n_steps;
    const double top = levels_grown(s, log(s->tau_max)), length = hb_levels_length(s);
    double l = log(s->tau_max);
    for (int i = 0; i <= n; i++) {
        const double wanted = top - length * i / n;
        for (double move = 1; move > 1e-14 * (1 + fabs(l)); l -= move)
            move = (levels_grown(s, l) - wanted) / (1 + exp(l) / s->detail);
        levels[i] = hb_level_at(HB_PROCESS_DRIFT, exp(l));
    }
}

/* ---- the grids ---- */

/* Both ends, and those between of a drift; 1 when all is done. */
static int levels_begin(const hb_generate_settings *s, hb_level *levels)
{
    if (s->process == HB_PROCESS_DRIFT) levels_of_drift(s, levels);
    levels[0] = hb_level_at((hb_process)s->process, s->tau_max);
    levels[s->n_steps] = hb_level_at((hb_process)s->process, s->tau_min);
    return s->process == HB_PROCESS_DRIFT;
}

void hb_levels_geometric(const hb_generate_settings *s, hb_level *levels)
{
    const int n = s->n_steps;
    const double high = log(s->tau_max), low = log(s->tau_min);
    if (levels_begin(s, levels)) return;
    for (int i = 1; i < n; i++)
        levels[i] = hb_level_at((hb_process)s->process, exp(high + (low - high) * i / n));
}

void hb_levels_edm(const hb_generate_settings *s, hb_level *levels)
{
    const int n = s->n_steps;
    if (levels_begin(s, levels)) return;
    const double high = pow(levels[0].sigma, 1 / s->rho), low = pow(levels[n].sigma, 1 / s->rho);
    for (int i = 1; i < n; i++)
        levels[i] =
            hb_level_of_sigma((hb_process)s->process, pow(high + (low - high) * i / n, s->rho));
}
