/* Kernels that turn particles into density and gradient without smoothing bias: the nodes of a rule
 * in time (docs/explanation/particles.md). particle_sums.c evaluates them.
 *
 * Fixed lag. With b = F, A = dF/dx at (x0,tau0), E = e^(-As), K, C = L L' of base/linear_algebra.c:
 *     q = exp(-|eta|^2/2 - tr(A) s)/((2 pi)^(d/2) det L),     eta = L^-1 (x - x0 + K b),
 *   u(x0,tau0) = E[q(X)] at lag T - int_0^T E[(phi . eta) q(X)] ds, phi = L^-1 (F - b - A(x - x0)),
 *     grad q = (L^-1 E)' eta q,   grad ((phi . eta) q) = -(L^-1 E)' (phi - (phi . eta) eta) q.
 * Heat ball, m auxiliary dimensions, D = d + m, a = div F/d, y = e^(as) (x - x0 + b k),
 * k = (1 - e^(-as))/a, th = (e^(2as) - 1)/(2a), f = F - b - a(x - x0), Q = R^2 - |y|^2:
 *     kernel      c (|y|^2 Q^(m/2)/m + Q^(m/2+1)/(m+2)),      c = r^-D S_m/(4 th^2)
 *     correction  -e^(-as) (f.y)/(2 th) G,     G = Phi_d P(m/2, Q/(4 th)) - r^-D S_m Q^(m/2)/m
 * Must reproduce: F = 0, d = 1, lag T: q at x = x0 is (4 pi T)^(-1/2). */
#include "particle/particle_kernel.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

size_t hb_kernel_work(size_t dim)
{
    return 8 * dim * dim + (HB_KERNEL_UNITS + 8) * (dim + 1);
}

void hb_kernel_destroy(hb_context *context, hb_particle_kernel *kernel)
{
    hb_release(context, kernel->nodes);
    *kernel = (hb_particle_kernel){0};
}

/* ---- frames ---- */

/* One block: the nodes, then the anchor's and the nodes' arrays. */
static hb_status allocate_kernel(hb_context *context, size_t d, int n, hb_particle_kernel *out)
{
    const size_t node = 2 * d + (out->lift ? 0 : 2 * d * d);
    const size_t anchor = 2 * d + d * d + (out->lift ? 2 * d * d : 0), count = (size_t)n;
    void *memory;
    HB_TRY(hb_allocate(context,
                       count * sizeof(hb_particle_node) + (anchor + count * node) * sizeof(double),
                       1, &memory));
    out->nodes = memory;
    double *next = (double *)(out->nodes + count);
    hb_particle_anchor *a = &out->anchor;
    a->b = next;
    a->grad_div = a->b + d;
    a->A = a->grad_div + d;
    for (size_t which = 0; which < 2; which++)
        a->transfer[which] = out->lift ? a->A + (1 + which) * d * d : NULL;
    next += anchor;
    for (int j = 0; j < n; j++, next += node)
        out->nodes[j] = (hb_particle_node){.centre = next,
                                           .half = next + d,
                                           .whiten = out->lift ? NULL : next + 2 * d,
                                           .lower = out->lift ? NULL : next + 2 * d + d * d};
    return HB_OK;
}

/* ln det of the factor L of C, and its inverse in place, zeros above; 0: C is not positive. */
static int invert_factor(size_t d, double *C, double *log_det)
{
    if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', (int)d, C, (int)d) != 0) return 0;
    *log_det = 0;
    for (size_t i = 0; i < d; i++) *log_det += log(C[i * d + i]);
    if (LAPACKE_dtrtri(LAPACK_ROW_MAJOR, 'L', 'N', (int)d, C, (int)d) != 0) return 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = i + 1; j < d; j++) C[i * d + j] = 0;
    return isfinite(*log_det);
}

/* The largest sum of a row of |W| |C| |W|', W a lower triangle. work: 2 d doubles. */
static double kernel_condition(size_t d, const double *W, const double *C, double *work)
{
    double *sums = work, *images = work + d, most = 0; // |W|' 1, |C| |W|' 1
    for (size_t j = 0; j < d; j++) {
        sums[j] = 0;
        for (size_t i = j; i < d; i++) sums[j] += fabs(W[i * d + j]);
    }
    for (size_t i = 0; i < d; i++) {
        images[i] = 0;
        for (size_t j = 0; j < d; j++) images[i] += fabs(C[i * d + j]) * sums[j];
    }
    for (size_t i = 0; i < d; i++) {
        double sum = 0;
        for (size_t j = 0; j <= i; j++) sum += fabs(W[i * d + j]) * images[j];
        most = fmax(most, sum);
    }
    return most;
}

/* The frame of one node at lag s; 0 when it leaves the range of double, or after a stop. */
static int linear_node(hb_context *context, const hb_particle_anchor *anchor, double s,
                       double *work, hb_particle_node *node)
{
    const size_t d = anchor->dim;
    double *E = work, *K = E + d * d, log_det, trace = 0;
    if (hb_noise_functions(context, d, anchor->A, NULL, s, E, K, node->whiten, K + d * d) != HB_OK)
        return 0;
    for (size_t i = 0; i < d; i++) {
        double shift = 0;
        for (size_t j = 0; j < d; j++) shift += K[i * d + j] * anchor->b[j];
        node->centre[i] = anchor->x0[i] - shift;
        node->half[i] = sqrt(node->whiten[i * d + i]);
        trace += anchor->A[i * d + i];
        if (!isfinite(node->centre[i]) || !isfinite(node->half[i])) return 0;
    }
    memcpy(K, node->whiten, d * d * sizeof *K);
    if (!invert_factor(d, node->whiten, &log_det)) return 0;
    node->rounding = 8 * DBL_EPSILON * kernel_condition(d, node->whiten, K, K + d * d);
    memset(node->lower, 0, d * d * sizeof *node->lower);
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k <= i; k++)
            hb_axpy(d, node->whiten[i * d + k], E + k * d, node->lower + i * d);
    if (!hb_all_finite(d * d, node->lower)) return 0;
    node->log_norm = -0.5 * (double)d * log(2 * M_PI) - trace * s - log_det;
    node->reach2 = INFINITY;
    return 1;
}

double hb_lag_rounding(hb_context *context, size_t dim, const double *A, double lag, double *work)
{
    double *C = work, *K = C + dim * dim, *E = K + dim * dim, log_det;
    if (hb_noise_functions(context, dim, A, NULL, lag, E, K, C, E + dim * dim) != HB_OK) return 0;
    memcpy(K, C, dim * dim * sizeof *K);
    if (!hb_all_finite(dim * dim, C) || !invert_factor(dim, C, &log_det)) return INFINITY;
    return 8 * DBL_EPSILON * kernel_condition(dim, C, K, E);
}

/* (e^(c s) - 1)/c */
static double kernel_stretched(double c, double s)
{
    return c == 0 ? s : expm1(c * s) / c;
}

/* span: of the ball, in th. */
static int ball_node(const hb_particle_anchor *anchor, double a, double s, double span, int lift,
                     hb_particle_node *node)
{
    const size_t d = anchor->dim;
    const double D = (double)d + lift, k = kernel_stretched(-a, s);
    node->growth = exp(a * s);
    node->th = kernel_stretched(2 * a, s);
    node->span = span;
    node->R2 = 2 * D * node->th * log(span / node->th);
    for (size_t i = 0; i < d; i++) {
        node->centre[i] = anchor->x0[i] - anchor->b[i] * k;
        node->half[i] = sqrt(node->R2) / node->growth;
        if (!isfinite(node->centre[i]) || !(node->half[i] > 0)) return 0;
    }
    return isfinite(node->th) && isfinite(node->R2);
}

/* (I + w (A - aI)')^-1, by which the limit of the ball's correction is taken into account. */
static int ball_transfer(const hb_particle_anchor *anchor, double a, double weight, double *work,
                         double *out)
{
    const size_t d = anchor->dim;
    lapack_int *pivot = (lapack_int *)(work + d * d);
    if (!out) return 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            const double same = i == j;
            work[i * d + j] = same + weight * (anchor->A[j * d + i] - a * same);
            out[i * d + j] = same;
        }
    return LAPACKE_dgesv(LAPACK_ROW_MAJOR, (int)d, (int)d, work, (int)d, pivot, out, (int)d) == 0;
}

static int make_nodes(hb_context *context, const hb_particle_rule *rule, double *work,
                      hb_particle_kernel *out)
{
    const size_t d = out->anchor.dim;
    double a = 0;
    for (size_t i = 0; i < d; i++) a += out->anchor.A[i * d + i] / (double)d;
    const double span = kernel_stretched(2 * a, rule->lag);
    for (int j = 0; j < out->n; j++) {
        hb_particle_node *node = out->nodes + j;
        node->lag = rule->s[j];
        node->weight[0] = rule->weight[j];
        node->weight[1] = rule->coarse[j];
        node->is_main = j < rule->n_main;
        const int fits = rule->lift ? ball_node(&out->anchor, a, rule->s[j], span, rule->lift, node)
                                    : linear_node(context, &out->anchor, rule->s[j], work, node);
        if (!fits) return 0;
        for (int which = 0; which < 2 && rule->lift; which++)
            node->weight[which] *= node->growth * node->growth; // dth
    }
    if (!rule->lift) return 1;
    out->log_scale = -0.5 * (double)d * log(4 * M_PI * span);
    return ball_transfer(&out->anchor, a, rule->at_zero[0], work, out->anchor.transfer[0]) &&
           ball_transfer(&out->anchor, a, rule->at_zero[1], work, out->anchor.transfer[1]);
}

hb_status hb_kernel_create(hb_context *context, const hb_problem *problem, double tau, size_t dim,
                           const double *x0, const hb_particle_rule *rule, int corrected,
                           const size_t *snapshots, double *work, hb_particle_kernel *out,
                           int *fits)
{
    *out = (hb_particle_kernel){.lift = rule->lift, .corrected = corrected};
    out->from_start = rule->from_start;
    out->n_main = rule->n_main;
    out->n = corrected ? rule->n : rule->n_main;
    for (int which = 0; which < 2 && corrected; which++) out->at_zero[which] = rule->at_zero[which];
    HB_TRY(allocate_kernel(context, dim, out->n, out));
    out->anchor.dim = dim;
    out->anchor.x0 = x0;
    hb_status status = hb_problem_drift(context, problem, 1, x0, tau, out->anchor.b, NULL,
                                        out->anchor.grad_div, out->anchor.A);
    *fits = status == HB_OK && make_nodes(context, rule, work, out);
    if (status == HB_OK) status = hb_progress(context, "kernel", 0, 1);
    *fits &= status == HB_OK;
    out->snapshots = snapshots;
    if (!*fits) hb_kernel_destroy(context, out);
    return status;
}

/* |eta| where the kernel counts most is known from log_scale. A kernel that is averaged over u0 is
 * narrower than that: an error of its centre does nothing to speak of. */
void hb_kernel_rounding(const hb_particle_kernel *kernel, double *error)
{
    const size_t d = kernel->anchor.dim;
    const hb_particle_node *node = kernel->nodes;
    const double *x0 = kernel->anchor.x0;
    double move = 0;
    if (kernel->lift) { /* of the ball at its narrowest */
        for (size_t j = 0; j < d; j++)
            move += 4 * DBL_EPSILON * (fabs(x0[j]) + node->half[j]) / node->half[j];
        error[0] += move;
        for (size_t j = 0; j < d; j++) error[1 + j] += move / node->half[j];
        return;
    }
    const double eta = sqrt((double)d) + sqrt(2 * fmax(node->log_norm - kernel->log_scale, 0));
    for (size_t i = 0; i < d && !kernel->from_start; i++)
        for (size_t j = 0; j <= i; j++)
            move += fabs(node->whiten[i * d + j]) * 2 * DBL_EPSILON *
                    (fabs(x0[j]) + fabs(node->centre[j]));
    error[0] += (move + 0.5 * node->rounding * eta) * eta;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            error[1 + j] += fabs(node->lower[i * d + j]) * (move + node->rounding * eta);
}
