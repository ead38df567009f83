/* Sums of the kernels of particle_kernel.c over the particles near a point; its symbols are used
 * here.
 *
 * Gradients of the fixed lag are summed in whitened coordinates, eta q and (phi - (phi.eta) eta) q,
 * and turned back by (L^-1 E)' once per batch. Particles come from a cell list in runs; what is
 * beyond the node's reach is left out. All values are divided by e^log_scale, so that a density of
 * 1e-300 is summed with numbers near 1. Must reproduce: F = 0, one particle at x0, lag T, d = 1:
 * a = (4 pi T)^(-1/2), b = 0. */
#include "base/linear_algebra.h"
#include "particle/particle_kernel.h"

#include <math.h>
#include <string.h>

/* -2 ln 1e-14: what lies beyond contributes less than 1e-14 of the largest contribution. */
static const double REACH = 64.48;

/* What the visit of a run of particles needs. */
typedef struct visitor {
    const hb_particle_kernel *kernel;
    const hb_particle_node *node;
    const hb_cell_list *list;
    double seen, log_scale;
    double *a, *v;         // (units), (units, d) of one node, without its weight; v whitened
    double *eta, *f, *phi; // (d) each
} visitor;

/* Places of one particle; for few dimensions they live in registers. */
typedef struct place {
    double *eta, *f, *phi; // (d) each
} place;

/* eta = L^-1 (x - centre); returns |eta|^2. */
static inline double sums_whitened(const hb_particle_node *node, const size_t d, const double *x,
                                   double *eta)
{
    double squares = 0;
    for (size_t i = 0; i < d; i++) {
        double sum = 0;
        for (size_t j = 0; j <= i; j++) sum += node->whiten[i * d + j] * (x[j] - node->centre[j]);
        eta[i] = sum;
        squares += sum * sum;
    }
    return squares;
}

/* phi = L^-1 f with f = F - b - A (x - x0); returns phi . eta. */
static inline double rest_of_drift(const hb_particle_anchor *anchor, const hb_particle_node *node,
                                   const size_t d, const double *x, const double *F, place at)
{
    double along = 0;
    for (size_t j = 0; j < d; j++) {
        double sum = 0;
        for (size_t k = 0; k < d; k++) sum += anchor->A[j * d + k] * (x[k] - anchor->x0[k]);
        at.f[j] = F[j] - anchor->b[j] - sum;
    }
    for (size_t i = 0; i < d; i++) {
        double sum = 0;
        for (size_t j = 0; j <= i; j++) sum += node->whiten[i * d + j] * at.f[j];
        at.phi[i] = sum;
        along += sum * at.eta[i];
    }
    return along;
}

/* Adds q and q eta, or with the correction -(phi.eta) q and (phi - (phi.eta) eta) q. d is a
 * constant where this is called for few dimensions, so that the loops above unroll. */
static inline void sums_add_linear(visitor *v, hb_cell_run run, const size_t d, place at)
{
    const hb_particle_node *node = v->node;
    const int correction = !node->is_main;
    v->seen += (double)(run.last - run.first);
    for (size_t i = run.first; i < run.last; i++) {
        const double *x = v->list->x + i * d;
        const double squares = sums_whitened(node, d, x, at.eta);
        if (squares > node->reach2) continue;
        const size_t unit = v->list->owner[i];
        const double q = exp(v->log_scale - 0.5 * squares);
        double *sums = v->v + unit * d;
        if (correction) {
            const double along =
                rest_of_drift(&v->kernel->anchor, node, d, x, v->list->F + i * d, at);
            v->a[unit] -= q * along;
            for (size_t k = 0; k < d; k++) sums[k] += q * (at.phi[k] - along * at.eta[k]);
        } else {
            v->a[unit] += q;
            for (size_t k = 0; k < d; k++) sums[k] += q * at.eta[k];
        }
    }
}

static void visit_linear(void *user, hb_cell_run run)
{
    visitor *v = user;
    double few[9];
    const place small = {few, few + 3, few + 6};
    if (v->list->dim == 1)
        sums_add_linear(v, run, 1, small);
    else if (v->list->dim == 2)
        sums_add_linear(v, run, 2, small);
    else if (v->list->dim == 3)
        sums_add_linear(v, run, 3, small);
    else
        sums_add_linear(v, run, v->list->dim, (place){v->eta, v->f, v->phi});
}

static double sums_nearest(const visitor *v)
{
    const size_t d = v->list->dim;
    double least = INFINITY;
    for (size_t i = 0; i < v->list->n; i++)
        least = fmin(least, sums_whitened(v->node, d, v->list->x + i * d, v->eta));
    return least;
}

/* P(m/2, z), the regularised lower incomplete gamma function, by its recurrence from 1/2 or 1. */
static double gamma_fraction(int m, double z)
{
    double a = m % 2 ? 0.5 : 1, fraction = m % 2 ? erf(sqrt(z)) : -expm1(-z);
    double term = exp(-z) * (m % 2 ? sqrt(z) / tgamma(1.5) : z); // z^a e^-z/Gamma(a+1)
    for (; a < 0.5 * m; a++) {
        fraction -= term;
        term *= z / (a + 1);
    }
    return fraction;
}

/* r^-D S_m, S_m = 2 pi^(m/2)/Gamma(m/2), in the scaled units. */
static double ball_factor(const visitor *v)
{
    const double m = v->kernel->lift, D = (double)v->list->dim + m;
    return 2 * exp(0.5 * m * log(M_PI) - lgamma(0.5 * m) - 0.5 * D * log(4 * M_PI * v->node->span) +
                   v->log_scale);
}

/* y into eta; returns |y|^2. */
static double ball_place(visitor *v, const double *x)
{
    double squares = 0;
    for (size_t k = 0; k < v->list->dim; k++) {
        v->eta[k] = (x[k] - v->node->centre[k]) * v->node->growth;
        squares += v->eta[k] * v->eta[k];
    }
    return squares;
}

static void add_ball_main(void *user, hb_cell_run run)
{
    visitor *v = user;
    const size_t d = v->list->dim;
    const double m = v->kernel->lift, th = v->node->th;
    const double c = ball_factor(v) / (4 * th * th);
    v->seen += (double)(run.last - run.first);
    for (size_t i = run.first; i < run.last; i++) {
        const double y2 = ball_place(v, v->list->x + i * d), Q = v->node->R2 - y2;
        if (!(Q > 0)) continue;
        const double power = pow(Q, 0.5 * m - 1); // Q^(m/2-1)
        const double slope = c * ((2 / m - 1) * Q - y2) * power;
        const size_t unit = v->list->owner[i];
        v->a[unit] += c * Q * power * (y2 / m + Q / (m + 2));
        for (size_t k = 0; k < d; k++) v->v[unit * d + k] -= slope * v->eta[k];
    }
}

/* f = F - b - a (x - x0), a = div F/d at x0. */
static void rest_of_isotropic(visitor *v, size_t i)
{
    const hb_particle_anchor *anchor = &v->kernel->anchor;
    const size_t d = anchor->dim;
    const double *x = v->list->x + i * d, *F = v->list->F + i * d;
    double a = 0;
    for (size_t k = 0; k < d; k++) a += anchor->A[k * d + k] / (double)d;
    for (size_t k = 0; k < d; k++) v->f[k] = F[k] - anchor->b[k] - a * (x[k] - anchor->x0[k]);
}

static void add_ball_correction(void *user, hb_cell_run run)
{
    visitor *v = user;
    const size_t d = v->list->dim;
    const int m = v->kernel->lift;
    const double th = v->node->th, factor = ball_factor(v) / m;
    const double scale = 1 / (v->node->growth * 2 * th);
    const double phi0 = exp(-0.5 * (double)d * log(4 * M_PI * th) + v->log_scale);
    v->seen += (double)(run.last - run.first);
    for (size_t i = run.first; i < run.last; i++) {
        const double y2 = ball_place(v, v->list->x + i * d), Q = v->node->R2 - y2;
        if (!(Q > 0)) continue;
        rest_of_isotropic(v, i);
        const double fraction = phi0 * exp(-y2 / (4 * th)) * gamma_fraction(m, Q / (4 * th));
        const double G = fraction - factor * pow(Q, 0.5 * m);
        double along = 0;
        for (size_t k = 0; k < d; k++) along += v->f[k] * v->eta[k];
        const size_t unit = v->list->owner[i];
        v->a[unit] -= scale * along * G;
        for (size_t k = 0; k < d; k++)
            v->v[unit * d + k] += scale * (v->f[k] * G - along * fraction / (2 * th) * v->eta[k]);
    }
}

static visitor make_visitor(const hb_particle_kernel *kernel, double *work)
{
    const size_t d = kernel->anchor.dim;
    return (visitor){.kernel = kernel,
                     .eta = work,
                     .f = work + d,
                     .phi = work + 2 * d,
                     .v = work + 3 * d,
                     .a = work + (HB_KERNEL_UNITS + 3) * d};
}

/* a += weight times the node's a, and b += (L^-1 E)' v for the fixed lag, b += v for the ball. */
static void sums_turn_back(const visitor *v, double weight, size_t units, const hb_kernel_means *to)
{
    const hb_particle_node *node = v->node;
    const size_t d = v->list->dim;
    for (size_t unit = 0; unit < units; unit++) {
        const double *from = v->v + unit * d;
        double *b = to->b + unit * d;
        to->a[unit] += weight * v->a[unit];
        for (size_t i = 0; i < d; i++) {
            const double part = weight * from[i];
            if (!node->lower) b[i] += part;
            for (size_t j = 0; j < d && node->lower; j++) b[j] += node->lower[i * d + j] * part;
        }
    }
}

/* Divides by the batch, adds the limit s -> 0 of the correction, and solves for the gradient. */
static void sums_finish(const hb_particle_kernel *kernel, int which, size_t units,
                        size_t batch_size, const hb_kernel_means *means, double *work)
{
    const hb_particle_anchor *anchor = &kernel->anchor;
    const double at_zero = kernel->at_zero[which], *transfer = anchor->transfer[which];
    const size_t d = anchor->dim;
    double *a = means->a, *b = means->b;
    for (size_t unit = 0; unit < units; unit++, b += d) {
        a[unit] /= (double)batch_size;
        for (size_t k = 0; k < d; k++) {
            b[k] /= (double)batch_size;
            if (at_zero != 0) b[k] -= at_zero * anchor->grad_div[k] * a[unit];
            work[k] = b[k];
        }
        for (size_t k = 0; k < d && transfer; k++) {
            b[k] = 0;
            for (size_t j = 0; j < d; j++) b[k] += transfer[k * d + j] * work[j];
        }
    }
}

static void visit_node(visitor *v, const hb_cell_list *lists, size_t units)
{
    const hb_particle_kernel *kernel = v->kernel;
    const hb_particle_node *node = v->node;
    v->list = lists + kernel->snapshots[node - kernel->nodes];
    v->log_scale = (kernel->lift ? 0 : node->log_norm) - kernel->log_scale;
    memset(v->v, 0, units * kernel->anchor.dim * sizeof(double));
    memset(v->a, 0, units * sizeof(double));
    hb_cell_list_visit(v->list, node->centre, node->half,
                       !kernel->lift   ? visit_linear
                       : node->is_main ? add_ball_main
                                       : add_ball_correction,
                       v);
}

static void sums_add_start(size_t units, size_t d, double factor, const hb_kernel_means *start,
                           const hb_kernel_means *to)
{
    hb_axpy(units, factor, start->a, to->a);
    hb_axpy(units * d, factor, start->b, to->b);
}

double hb_kernel_sum(const hb_particle_kernel *kernel, const hb_cell_list *lists, size_t units,
                     size_t batch_size, const hb_kernel_means means[2],
                     const hb_kernel_means *start, double *work)
{
    const size_t d = kernel->anchor.dim;
    const int rules = means[1].a ? 2 : 1;
    visitor v = make_visitor(kernel, work);
    for (int which = 0; which < rules; which++) {
        memset(means[which].a, 0, units * sizeof(double));
        memset(means[which].b, 0, units * d * sizeof(double));
    }
    if (start)
        for (int which = 0; which < rules; which++)
            sums_add_start(units, d, (double)batch_size, start, means + which);
    for (int j = start ? 1 : 0; j < kernel->n; j++) {
        v.node = kernel->nodes + j;
        if (rules == 1 && v.node->weight[0] == 0) continue;
        visit_node(&v, lists, units);
        for (int which = 0; which < rules; which++)
            if (v.node->weight[which] != 0)
                sums_turn_back(&v, v.node->weight[which], units, means + which);
    }
    for (int which = 0; which < rules; which++)
        sums_finish(kernel, which, units, batch_size, means + which, work);
    return v.seen;
}

void hb_kernel_tune(hb_particle_kernel *kernel, const hb_cell_list *lists, double *work)
{
    visitor v = make_visitor(kernel, work);
    for (int j = 0; j < kernel->n && !kernel->lift; j++) {
        hb_particle_node *node = kernel->nodes + j;
        v.node = node;
        v.list = lists + kernel->snapshots[j];
        const double least = sums_nearest(&v);
        node->reach2 = least + REACH;
        const double reach = sqrt(node->reach2);
        for (size_t k = 0; k < kernel->anchor.dim; k++) node->half[k] *= reach;
        if (j == 0 && v.list->n > 0) kernel->log_scale = node->log_norm - 0.5 * least;
    }
}
