/* The residual of a log-density: at an anchor
 *     R = v(x0,tau0) - E_kappa[v] - (C1 r^2/4) E_source[h],     h = |S|^2 - F.S - div F,
 * over random nodes, so that E[R] = 0 for ln u of a solution. It is the line of the score
 * integrated once, and sees what a gradient cannot: a normalisation that drifts with tau. 4 R/(C1
 * r^2) is the rate by which ln u is wrong, an average of d v/d tau - Laplace v - h over the ball;
 * its mean over the anchors, times tau, is tested, two-sided. A number to reproduce: v = ln u + 0.1
 * ln tau has the rate 0.1/tau, and the line the value 0.1 but for the ball's depth. */
#include "base/linear_algebra.h"
#include "certify/certify_nodes.h"

#include <math.h>

typedef struct log_residual_run {
    const hb_certify_run *run;
    const hb_certify_rows *rows;
    hb_certify_nodes nodes;
    double *rate;     // (n)
    double *v, *zero; // (2, anchors, pairs) at nodes, (n) at anchors
    hb_workspace work;
} log_residual_run;

static hb_status log_residual_add_average(log_residual_run *r, size_t first, size_t count)
{
    hb_certify_nodes *nodes = &r->nodes;
    const size_t pairs = nodes->pairs, n = count * pairs;
    HB_TRY(hb_certify_nodes_place(nodes, HB_MEASURE_KAPPA, 4, 0, first, count));
    HB_TRY(hb_certify_log_density(r->run, 2 * n, nodes->x, nodes->tau, r->v));
    for (size_t i = 0; i < count; i++) r->rate[first + i] = r->zero[first + i];
    for (size_t k = 0; k < n; k++)
        r->rate[first + k / pairs] -= (r->v[k] + r->v[n + k]) / (2 * (double)pairs);
    return HB_OK;
}

static hb_status log_residual_add_source(log_residual_run *r, size_t first, size_t count)
{
    hb_certify_nodes *nodes = &r->nodes;
    const size_t d = r->run->dim, pairs = nodes->pairs, n = count * pairs;
    const double factor = nodes->constants.C1 * nodes->radius * nodes->radius / 4;
    HB_TRY(hb_certify_nodes_place(nodes, HB_MEASURE_SOURCE, 5, 0.5, first, count));
    HB_TRY(hb_certify_nodes_evaluate(nodes, 1, count));
    for (size_t k = 0; k < 2 * n; k++) {
        const double *s = nodes->score + k * d;
        const double h = hb_dot(d, s, s) - hb_dot(d, nodes->F + k * d, s) - nodes->divergence[k];
        r->rate[first + k % n / pairs] -= factor * h / (2 * (double)pairs);
    }
    return HB_OK;
}

static hb_status log_residual_fill(log_residual_run *r)
{
    const hb_certify_nodes *nodes = &r->nodes;
    const size_t n = r->rows->n, block = nodes->anchors;
    double *tau = r->rate; // (n), until they are filled
    for (size_t i = 0; i < n; i++) tau[i] = r->rows->level->tau;
    HB_TRY(hb_certify_log_density(r->run, n, r->rows->x[0], tau, r->zero));
    for (size_t first = 0; first < n; first += block) {
        const size_t count = n - first < block ? n - first : block;
        HB_TRY(log_residual_add_average(r, first, count));
        HB_TRY(log_residual_add_source(r, first, count));
    }
    const double scale =
        r->rows->level->tau * 4 / (nodes->constants.C1 * nodes->radius * nodes->radius);
    for (size_t i = 0; i < n; i++) r->rate[i] *= scale;
    return HB_OK;
}

static void log_residual_write_line(const log_residual_run *r)
{
    const double tau = r->rows->level->tau;
    const hb_estimate e = hb_estimate_mean(r->rows->n, r->rate);
    hb_line *line = hb_certificate_add(r->run->out, "residual of ln u", tau, e.value, e.error,
                                       hb_estimate_p(e, r->rows->n, r->run->settings.tolerance));
    hb_line_say(line->good, "ln u changes with ln tau as it must, to %.2g ± %.2g", e.value,
                e.error);
    hb_line_say(
        line->bad,
        "ln u %s with ln tau by %.3g ± %.2g more than the equation allows: its normalisation "
        "or its gradient is wrong",
        e.value > 0 ? "rises" : "falls", fabs(e.value), e.error);
}

hb_status hb_certify_log_residual(const hb_certify_run *run, const hb_certify_rows *rows)
{
    log_residual_run r = {.run = run, .rows = rows};
    if (!run->log_density || hb_certify_radius(run, rows->level->tau) == 0) return HB_OK;
    hb_status status = hb_certify_nodes_create(run, rows, &r.nodes);
    if (status == HB_OK)
        status = HB_WORKSPACE(run->context, &r.work, HB_ARRAY(r.rate, rows->n),
                              HB_ARRAY(r.zero, rows->n),
                              HB_ARRAY(r.v, 2 * r.nodes.anchors * r.nodes.pairs));
    if (status == HB_OK) status = log_residual_fill(&r);
    if (status == HB_OK) log_residual_write_line(&r);
    hb_workspace_destroy(&r.nodes.work);
    hb_workspace_destroy(&r.work);
    return status;
}
