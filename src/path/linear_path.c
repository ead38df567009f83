/* Linear drifts: the Gaussian of the whole path, by one exponential and Gauss's quadrature.
 *
 * f(x,t) = c(t) + A(t) x with noise g(t), r = g^2/2. Along s, the lag t = T - s (flow 1, backward)
 * or the time t = s (flow -1), with B = flow A and b = flow c, x' = E x + n + noise of covariance
 * C. Over a panel of length h, P(s) the propagator from s to the panel's end, P' = P B, P(h) = 1,
 *     E = P(0),    n = -int P b ds,    C = 2 int r P P' ds,    w = int tr A ds
 * by Gauss's rule; P at the nodes is a Taylor series where A is constant, else by collocation.
 * Panels join as
 *     E = E2 E1,    n = E2 n1 + n2,    C = E2 C1 E2' + C2,    w = w1 + w2.
 * A panel is halved until whole and halves agree to AGREEMENT, and is no longer than pieces between
 * cuts (time_cuts.h); halves make up `fine`, wholes `rough`. Where nothing depends on t, the
 * doubling of base/linear_algebra.c takes the whole path at once, and its thirds. A matrix G(t) has
 * G G' for 2 r I, and t is tau.
 * A number to reproduce: F = -x over tau = 0.5 backward: E = e^0.5, C = e - 1, w = -0.5. */
#include "path/linear_path.h"
#include "ball/quadrature.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "problem/drift_facts.h"
#include "problem/noise.h"
#include "problem/time_cuts.h"

#include <math.h>
#include <string.h>

enum {
    NODES = 8,
    TERMS = 16,
    MOST_ROUNDS = 40,
    FIRST_PANELS = 64,
    FEW_PANELS = 16, /* the same for a matrix in many dimensions */
    MANY = 32,       /* dimensions */
    LEVELS = 46,
    MOST_PANELS = 50000,
    MOST_SQUARES = 60
};

static const double AGREEMENT = 2e-14; /* of whole and halves */
static const double REACH = 0.5;       /* largest |B| h of a panel */

size_t hb_linear_path_size(size_t d)
{
    return 2 * d * d + d + 1;
}

/* P and P P' at the nodes, and E, of panels of one length. */
typedef struct panel_powers {
    double *P, *PP, *E; // (NODES, d, d), (NODES, d, d), (d, d)
} panel_powers;

typedef struct linear_path {
    hb_context *context;
    const hb_problem *problem;
    size_t d;
    double T, flow;
    int timeless; /* A is constant */
    int first;    /* panels, before any is halved */
    size_t m;     /* columns of G; 0: the noise is a number */
    double *G;    // (NODES, d, m)
    double *PG;   // (2, d, m), and (d, d) for G G'
    double node[NODES], weight[NODES], ahead[NODES][NODES];
    double *origin, *t, *f, *A, *rate; // (NODES, d), (NODES), (NODES, d), (NODES, d, d), (NODES)
    double *work, *scratch;            // (3, d, d), ...
    panel_powers powers[LEVELS + 1];   // timeless: by level; else the first, for all
    size_t panels;                     /* done */
    int broken;                        /* too many panels, or not finite */
    double *fine, *rough;
} linear_path;

/* ---- matrices ---- */

static double panel_largest(size_t n, const double *a)
{
    double most = 0;
    for (size_t k = 0; k < n; k++) most = fabs(a[k]) > most || isnan(a[k]) ? fabs(a[k]) : most;
    return most;
}

/* out = a a'; work: (d, d) */
static hb_status panel_square(hb_context *context, size_t d, const double *a, double *out,
                              double *work)
{
    hb_matrix_transpose(d, a, work);
    return hb_matrix_product(context, d, 1, a, work, out);
}

/* ---- one panel ---- */

/* P_j = e^{-B h (1 - node_j)} and E = e^{-B h}. */
static hb_status panel_taylor(linear_path *w, double h, const panel_powers *p)
{
    const size_t d = w->d, dd = d * d;
    double *term = w->work, *next = term + dd;
    hb_matrix_diagonal(d, 1, term);
    hb_matrix_diagonal(d, 1, p->E);
    for (int j = 0; j < NODES; j++) hb_matrix_diagonal(d, 1, p->P + (size_t)j * dd);
    for (int k = 1; k <= TERMS; k++) {
        HB_TRY(hb_matrix_product(w->context, d, -w->flow * h / k, w->A, term, next));
        memcpy(term, next, dd * sizeof *term);
        hb_axpy(dd, 1, term, p->E);
        for (int j = 0; j < NODES; j++)
            hb_axpy(dd, pow(1 - w->node[j], k), term, p->P + (size_t)j * dd);
    }
    return HB_OK;
}

hb_status hb_propagate(hb_context *context, const hb_propagator *p, double h, const double *A)
{
    const size_t d = p->d, dd = d * d;
    double change = 1;
    for (size_t j = 0; j < p->n; j++) hb_matrix_diagonal(d, 1, p->P + j * dd);
    for (int round = 0; round < p->rounds && change > p->tolerance; round++) {
        change = 0;
        for (size_t k = 0; k < p->n; k++)
            HB_TRY(hb_matrix_product(context, d, h, p->P + k * dd, A + k * dd, p->PA + k * dd));
        for (size_t j = 0; j < p->n; j++) {
            hb_matrix_diagonal(d, 1, p->work);
            for (size_t k = 0; k < p->n; k++)
                hb_axpy(dd, p->rule[j * p->n + k], p->PA + k * dd, p->work);
            for (size_t k = 0; k < dd; k++)
                change = fmax(change, fabs(p->work[k] - p->P[j * dd + k]));
            memcpy(p->P + j * dd, p->work, dd * sizeof(double));
        }
    }
    hb_matrix_diagonal(d, 1, p->end);
    for (size_t k = 0; k < p->n; k++) hb_axpy(dd, p->weight[k], p->PA + k * dd, p->end);
    return HB_OK;
}

/* P and E of a panel from A at the nodes; PP is scratch. */
static hb_status panel_picard(linear_path *w, double h, const panel_powers *p)
{
    const hb_propagator propagator = {w->d,        NODES, w->ahead[0], w->weight, 1e-17,
                                      MOST_ROUNDS, p->P,  p->PP,       w->work,   p->E};
    return hb_propagate(w->context, &propagator, -w->flow * h, w->A);
}

static hb_status make_powers(linear_path *w, panel_powers *p)
{
    const size_t dd = w->d * w->d;
    void *memory;
    if (p->P) return HB_OK;
    HB_TRY(hb_allocate(w->context, (2 * NODES + 1) * dd, sizeof(double), &memory));
    *p = (panel_powers){.P = memory};
    p->PP = p->P + NODES * dd;
    p->E = p->PP + NODES * dd;
    return HB_OK;
}

/* Length of a panel. */
static double panel_length_of(const linear_path *w, int level)
{
    return ldexp(w->T / w->first, -level);
}

/* c, r or G and, unless they are known, A at the nodes of the panel that begins at s. */
static hb_status panel_sample(linear_path *w, double s, double h)
{
    for (int j = 0; j < NODES; j++) {
        const double at = s + h * w->node[j];
        w->t[j] = w->flow > 0 ? fmax(w->T - at, 0) : at;
    }
    for (size_t j = 0; w->m > 0 && j < NODES; j++)
        HB_TRY(hb_problem_noise_factor(w->context, w->problem, 1, NULL, w->t[j],
                                       w->G + j * w->d * w->m));
    return hb_problem_raw_drift(w->context, w->problem, NODES, w->origin, w->t, w->f,
                                w->timeless ? NULL : w->A, w->rate);
}

/* The lower triangle of C += fraction (P G)(P G)'; P NULL: the identity. */
static void add_noise(linear_path *w, double fraction, const double *P, const double *G, double *C)
{
    const size_t d = w->d, m = w->m;
    double *PG = w->PG, *turned = PG + d * m; // (d, m), (m, d)
    if (P) memset(PG, 0, d * m * sizeof *PG);
    if (!P) memcpy(PG, G, d * m * sizeof *PG);
    for (size_t k = 0; P && k < d * d; k++)
        if (P[k] != 0) hb_axpy(m, P[k], G + k % d * m, PG + k / d * m);
    for (size_t k = 0; k < d * m; k++) turned[k % m * d + k / m] = PG[k];
    for (size_t k = 0; k < d * m; k++)
        if (PG[k] != 0) hb_axpy(k / m + 1, fraction * PG[k], turned + k % m * d, C + k / m * d);
}

static void panel_mirror(size_t d, double *C)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++) C[j * d + i] = C[i * d + j];
}

/* *powers of the panel, whose drift is sampled; too_long: |B| h is beyond REACH. */
static hb_status panel_prepare(linear_path *w, int level, double h, panel_powers **powers,
                               int *too_long)
{
    const size_t d = w->d, dd = d * d;
    panel_powers *p = w->powers + (w->timeless ? level : 0);
    double size = 0;
    *powers = p;
    for (size_t j = 0; j < (w->timeless ? 1 : NODES); j++)
        size = fmax(size, hb_matrix_norm(d, w->A + j * dd));
    *too_long = !(size * h <= REACH);
    if (*too_long || (w->timeless && p->P)) return HB_OK;
    HB_TRY(make_powers(w, p));
    hb_status status = (w->timeless ? panel_taylor : panel_picard)(w, h, p);
    for (size_t j = 0; w->m == 0 && j < NODES && status == HB_OK; j++)
        status = panel_square(w->context, d, p->P + j * dd, p->PP + j * dd, w->work);
    return status;
}

/* out: the frame of the panel of this level that begins at s; *too_long: none. */
static hb_status panel_frame(linear_path *w, int level, double s, double *out, int *too_long)
{
    const size_t d = w->d, dd = d * d;
    const double h = panel_length_of(w, level);
    double *E = out, *C = E + dd, *n = C + dd, *trace = n + d;
    panel_powers *p;
    HB_TRY(panel_sample(w, s, h));
    HB_TRY(panel_prepare(w, level, h, &p, too_long));
    if (*too_long) return HB_OK;
    memcpy(E, p->E, dd * sizeof *E);
    memset(C, 0, (dd + d + 1) * sizeof *C);
    for (size_t j = 0; j < NODES; j++) {
        const double fraction = h * w->weight[j], *P = p->P + j * dd;
        const double *A = w->A + (w->timeless ? 0 : j * dd), *f = w->f + j * d;
        if (w->m > 0)
            add_noise(w, fraction, P, w->G + j * d * w->m, C);
        else
            hb_axpy(dd, 2 * fraction * w->rate[j], p->PP + j * dd, C);
        for (size_t i = 0; i < d; i++) {
            double sum = 0;
            for (size_t k = 0; k < d; k++) sum += P[i * d + k] * f[k];
            n[i] -= w->flow * fraction * sum;
            *trace += fraction * A[i * d + i];
        }
    }
    if (w->m > 0) panel_mirror(d, C);
    return HB_OK;
}

/* total = panel after total */
static hb_status panel_join(linear_path *w, const double *panel, double *total)
{
    const size_t d = w->d, dd = d * d;
    const double *E = panel, *C = E + dd, *n = C + dd;
    double *work = w->work, *transposed = work, *product = work + dd, *moved = work + 2 * dd;
    HB_TRY(hb_matrix_product(w->context, d, 1, E, total, product));
    memcpy(total, product, dd * sizeof *total);
    hb_matrix_transpose(d, E, transposed);
    HB_TRY(hb_matrix_product(w->context, d, 1, E, total + dd, product));
    HB_TRY(hb_matrix_product(w->context, d, 1, product, transposed, moved));
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            total[dd + i * d + j] = 0.5 * (moved[i * d + j] + moved[j * d + i]) + C[i * d + j];
    for (size_t i = 0; i < d; i++) {
        work[i] = n[i];
        for (size_t k = 0; k < d; k++) work[i] += E[i * d + k] * total[2 * dd + k];
    }
    memcpy(total + 2 * dd, work, d * sizeof *work);
    total[2 * dd + d] += n[d];
    return HB_OK;
}

static void panel_begin(size_t d, double *total)
{
    memset(total, 0, hb_linear_path_size(d) * sizeof *total);
    hb_matrix_diagonal(d, 1, total);
}

/* ---- all panels ---- */

static double panel_largest_gap(size_t n, const double *a, const double *b)
{
    double most = 0;
    for (size_t k = 0; k < n; k++) most = fmax(most, fabs(a[k] - b[k]));
    return most;
}

/* A shift counts in units of what was moved, or of the spread. */
static int panel_agree(size_t d, const double *a, const double *b)
{
    const size_t dd = d * d;
    const double spread = panel_largest(dd, a + dd), shift = panel_largest(d, a + 2 * dd);
    return panel_largest_gap(dd, a, b) <= AGREEMENT * panel_largest(dd, a) &&
           panel_largest_gap(dd, a + dd, b + dd) <= AGREEMENT * spread &&
           panel_largest_gap(d, a + 2 * dd, b + 2 * dd) <= AGREEMENT * (shift + sqrt(spread)) &&
           fabs(a[2 * dd + d] - b[2 * dd + d]) <= AGREEMENT * (1 + fabs(a[2 * dd + d]));
}

/* Whether a cut in t lies inside of a panel that is longer than the pieces beside the cut. */
static int panel_hides(const linear_path *w, double s, double h)
{
    const hb_time_cuts *cuts = hb_problem_cuts(w->problem);
    const double *t = cuts->t, low = w->flow > 0 ? w->T - s - h : s, high = low + h;
    for (int k = hb_sorted_until(cuts->n, t, low); k < cuts->n && t[k] < high; k++)
        if (h > fmin(t[k] - (k ? t[k - 1] : 0), (k + 1 < cuts->n ? t[k + 1] : INFINITY) - t[k]))
            return 1;
    return 0;
}

/* Adds the panel of this level that begins at s, whose frame is `whole` unless it is too long. */
static hb_status add_panel(linear_path *w, int level, double s, const double *whole, int too_long)
{
    const size_t d = w->d, size = hb_linear_path_size(d);
    const double h = panel_length_of(w, level);
    int long_half[2];
    void *memory;
    if (++w->panels > MOST_PANELS || (too_long && level == LEVELS)) w->broken = 1;
    if (w->broken) return HB_OK;
    HB_TRY(hb_progress(w->context, "linear drift", s, w->T));
    if (level == LEVELS) { // a jump in time; what is so short counts for nothing
        HB_TRY(panel_join(w, whole, w->fine));
        return panel_join(w, whole, w->rough);
    }
    HB_TRY(hb_allocate(w->context, 3 * size, sizeof(double), &memory));
    double *half = memory, *both = half + 2 * size; // (2, size), (size)
    hb_status status = HB_OK;
    for (int k = 0; k < 2 && status == HB_OK; k++)
        status = panel_frame(w, level + 1, s + 0.5 * h * k, half + (size_t)k * size, long_half + k);
    int fits = 0;
    if (status == HB_OK && !too_long && !long_half[0] && !long_half[1]) {
        memcpy(both, half, size * sizeof(double));
        status = panel_join(w, half + size, both);
        fits = panel_agree(d, both, whole) && !panel_hides(w, s, h);
    }
    if (fits && status == HB_OK) status = panel_join(w, both, w->fine);
    if (fits && status == HB_OK) status = panel_join(w, whole, w->rough);
    for (int k = 0; k < 2 && status == HB_OK && !fits; k++)
        status = add_panel(w, level + 1, s + 0.5 * h * k, half + (size_t)k * size, long_half[k]);
    hb_release(w->context, memory);
    return status;
}

static hb_status add_panels(linear_path *w, double *whole)
{
    for (int k = 0; k < w->first && !w->broken; k++) {
        int too_long;
        const double s = w->T * k / w->first;
        HB_TRY(panel_frame(w, 0, s, whole, &too_long));
        HB_TRY(add_panel(w, 0, s, whole, too_long));
    }
    return HB_OK;
}

/* Nothing depends on t: the path in `parts` equal pieces; powers: (3 and more, d, d). */
static hb_status constant_way(linear_path *w, int parts, double *panel, double *total,
                              double *scratch)
{
    const size_t d = w->d, dd = d * d;
    const double s = w->T * w->rate[0] / parts; // in tau
    double *K = scratch, *B = K + dd, trace = 0, *n = panel + 2 * dd, *Q = w->PG + 2 * d * w->m;
    if (w->m > 0) {
        memset(Q, 0, dd * sizeof *Q);
        add_noise(w, 1, NULL, w->G, Q);
        panel_mirror(d, Q);
    }
    for (size_t k = 0; k < dd; k++) B[k] = w->flow * w->A[k] / w->rate[0];
    HB_TRY(
        hb_noise_functions(w->context, d, B, w->m > 0 ? Q : NULL, s, panel, K, panel + dd, B + dd));
    for (size_t i = 0; i < d; i++) {
        trace += w->A[i * d + i];
        n[i] = 0;
        for (size_t k = 0; k < d; k++) n[i] -= w->flow * K[i * d + k] * w->f[k] / w->rate[0];
    }
    n[d] = trace * w->T / parts;
    panel_begin(d, total);
    for (int k = 0; k < parts; k++) HB_TRY(panel_join(w, panel, total));
    return HB_OK;
}

/* ---- the call ---- */

/* t with tau(t) = tau, to rounding: the problem's own time where it is that one; else the inverse,
 * which is good to 1e-12, and a step of Newton. */
static hb_status find_time(linear_path *w, double tau)
{
    const double own = hb_problem_time(w->problem);
    double found;
    w->T = w->m > 0 ? tau : own;
    if (w->m > 0) return HB_OK;
    HB_TRY(hb_problem_tau_of_t(w->context, w->problem, own, &found));
    if (found == tau) return HB_OK;
    HB_TRY(hb_problem_t_of_tau(w->context, w->problem, tau, &w->T));
    if (fabs(w->T - own) <= 1e-12 * own) return HB_OK;
    HB_TRY(hb_problem_tau_of_t(w->context, w->problem, w->T, &found));
    HB_TRY(hb_problem_raw_drift(w->context, w->problem, 1, w->origin, &w->T, w->f, NULL, w->rate));
    w->T += (tau - found) / w->rate[0];
    return HB_OK;
}

static hb_status panel_create_arrays(linear_path *w, hb_workspace *work)
{
    const size_t d = w->d, dd = d * d;
    HB_TRY(HB_WORKSPACE(w->context, work, HB_ARRAY(w->origin, NODES * d), HB_ARRAY(w->t, NODES),
                        HB_ARRAY(w->f, NODES * d), HB_ARRAY(w->A, NODES * dd),
                        HB_ARRAY(w->rate, NODES), HB_ARRAY(w->work, 3 * dd + d),
                        HB_ARRAY(w->scratch, hb_linear_path_size(d) + 2 * dd + HB_LINEAR_WORK(d)),
                        HB_ARRAY(w->G, NODES * d * w->m), HB_ARRAY(w->PG, 2 * d * w->m + dd)));
    memset(w->origin, 0, NODES * d * sizeof(double));
    return hb_quadrature_beta(w->context, 1, 1, NODES, w->node, w->weight);
}

static hb_status panel_solve_all(linear_path *w, double tau)
{
    double *scratch = w->scratch;
    const size_t d = w->d, size = hb_linear_path_size(d);
    hb_collocation(NODES, w->node, w->weight, 1, w->ahead[0]);
    HB_TRY(find_time(w, tau));
    w->t[0] = w->T;
    HB_TRY(hb_problem_raw_drift(w->context, w->problem, 1, w->origin, w->t, w->f, w->A, w->rate));
    if (w->m > 0) {
        w->rate[0] = 1;
        HB_TRY(hb_problem_noise_factor(w->context, w->problem, 1, NULL, w->T, w->G));
    }
    panel_begin(d, w->fine);
    panel_begin(d, w->rough);
    if (hb_problem_is_autonomous(w->problem) && hb_problem_noise_is_constant(w->problem)) {
        HB_TRY(constant_way(w, 1, scratch, w->fine, scratch + size));
        HB_TRY(constant_way(w, 3, scratch, w->rough, scratch + size));
    } else {
        HB_TRY(add_panels(w, scratch));
    }
    w->broken |=
        !isfinite(panel_largest(size, w->fine)) || !isfinite(panel_largest(size, w->rough));
    return HB_OK;
}

hb_status hb_linear_path(hb_context *context, const hb_problem *problem, double tau, double flow,
                         double *fine, double *rough, int *found)
{
    const size_t d = (size_t)hb_problem_dim(problem);
    linear_path w = {.context = context, .problem = problem, .d = d, .flow = flow};
    hb_workspace work = {0};
    w.timeless = hb_problem_jacobian_is_timeless(problem);
    if (hb_problem_noise_kind(problem) == HB_NOISE_MATRIX)
        w.m = (size_t)hb_problem_noise_columns(problem);
    w.first = w.m > 0 && d > MANY ? FEW_PANELS : FIRST_PANELS;
    w.fine = fine;
    w.rough = rough;
    hb_status status = panel_create_arrays(&w, &work);
    if (status == HB_OK) status = panel_solve_all(&w, tau);
    *found = status == HB_OK && !w.broken;
    for (int k = 0; k <= LEVELS; k++) hb_release(context, w.powers[k].P);
    hb_workspace_destroy(&work);
    return status;
}
