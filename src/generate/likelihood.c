/* Likelihoods by the probability-flow ODE, in nats.
 *
 * Along dx/dl = v(x, l) a density obeys d ln p(x(l), l)/dl = -div v, so
 *     ln p(x, tau_min) = ln p_prior(x(tau_max)) + int div v dl,
 * the integral forward from ln sigma_min to ln sigma_max on the path through x. (R. T. Q. Chen
 * et al., NeurIPS 2018; Song et al., ICLR 2021, D.2.)
 * A number to reproduce: data N(0, 1) under OU stays N(0, 1): -2.9189385332046727 at x = 2. */
#include "base/team_tasks.h"
#include "generate/reverse.h"

#include <string.h>

static hb_status carry_blocks(hb_reverse *run, const hb_prior *prior, const double *x, double *work,
                              double *out)
{
    const hb_process process = (hb_process)run->settings->process;
    const hb_level from = hb_level_at(process, run->settings->tau_min);
    const hb_level to = hb_level_at(process, run->settings->tau_max);
    size_t start, last;
    hb_team_share(run->context, run->n, &start, &last);
    for (; start < last; start += HB_FLOW_ROWS) {
        const size_t left = last - start, rows = left < HB_FLOW_ROWS ? left : HB_FLOW_ROWS;
        run->start = run->done = start;
        run->wanted = rows;
        run->row_labels = run->labels ? run->labels + start : NULL;
        memcpy(work, x + start * run->dim, rows * run->dim * sizeof *work);
        HB_TRY(hb_flow_integrate(run, from, to, rows, work, out + start));
        HB_TRY(hb_ends_add_log_density(run, prior, rows, work, out + start));
        HB_TRY(hb_reverse_progress(run, 1));
    }
    return HB_OK;
}

hb_status hb_reverse_likelihood(hb_reverse *run, const double *x, double *out)
{
    hb_context *context = run->context, quiet = hb_context_child(context, 0);
    run->quiet = &quiet;
    run->what = "likelihood";
    const hb_generate_settings *s = run->settings;
    HB_CHECK(context, s->end_density || (!s->ends && (!hb_reverse_leans(run) || s->covariance)),
             HB_ERROR_ARGUMENT,
             "a likelihood needs the density of the law at tau_max; give it (end_density), or its "
             "mean and covariance without ends");
    hb_prior prior = {0};
    void *work = NULL; // (HB_FLOW_ROWS, dim)
    hb_status status = hb_prior_create(context, run->settings, (int)run->dim, &prior);
    if (status == HB_OK)
        status = hb_allocate(context, HB_FLOW_ROWS * run->dim, sizeof(double), &work);
    if (status == HB_OK) status = carry_blocks(run, &prior, x, work, out);
    const hb_left rows = {out, sizeof *out, 0};
    status = hb_team_gather(context, status, run->n, 1, &rows);
    hb_release(context, work);
    hb_prior_destroy(&prior);
    run->quiet = NULL;
    return hb_context_adopt(context, &quiet, status);
}

hb_status hb_generate_likelihood(hb_context *context, const hb_generate_settings *settings, int dim,
                                 size_t n, const double *x, hb_divergence_callback score,
                                 void *user, double *log_likelihood)
{
    hb_generate_settings resolved;
    hb_reverse run = {.n = n, .divergence = score, .user = user};
    HB_TRY(hb_reverse_start(context, settings, dim, &resolved, &run));
    HB_CHECK(context, score && (n == 0 || (x && log_likelihood)), HB_ERROR_ARGUMENT,
             "score, x or log_likelihood is NULL");
    return hb_reverse_likelihood(&run, x, log_likelihood);
}
