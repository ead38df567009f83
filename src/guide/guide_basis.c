/* Coordinates and terms of a guide, from the Jacobians J of the drift along trajectories.
 *
 *     C_ij = mean (J_ij^2 + J_ji^2)       coordinates i and j are coupled where it is not small
 * A problem that is turned couples all; the eigenvectors of a weighted mean of the symmetric parts of
 * J, and of products of two, which tell apart what J alone does not, undo that:
 * where every J is block diagonal in some orthogonal axes, so are those means, and their
 * eigenvectors lie inside of the blocks. They are taken where they couple fewer pairs. Pairs that
 * are coupled have all terms to the fourth order, the strongest first; those in one connected part,
 * and those that are correlated, have q_i q_j. Nothing that is decided here makes an answer wrong:
 * walks are exact for any guide.
 * A number to reproduce: two copies of (x - x^3 + 1.5 y, -y - 1.5 x), turned by any rotation in
 * four dimensions, have two pairs. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "guide/guide.h"
#include "problem/noise.h"

#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TERMS = 700, SMALL = 12 };
static const double COUPLED = 1e-6;    /* of the largest C */
static const double CORRELATED = 0.25; /* of 256 trajectories: four standard errors */
static const double FULL_PAIRS = 3;    /* a dimension */
static const double FEWER = 0.6;       /* pairs in other axes, to be worth a rotation */

int hb_guide_term(const hb_guide_basis *b, size_t term, int axis[3], int power[3])
{
    static const int pair[HB_GUIDE_PAIR][2] = {{1, 1}, {2, 1}, {1, 2}, {3, 1}, {2, 2}, {1, 3}};
    if (term < HB_GUIDE_SINGLE * b->dim) {
        axis[0] = (int)(term / HB_GUIDE_SINGLE);
        power[0] = (int)(term % HB_GUIDE_SINGLE) + 1;
        return power[0] < HB_GUIDE_SINGLE; /* the last is not fitted */
    }
    term -= HB_GUIDE_SINGLE * b->dim;
    if (term < HB_GUIDE_PAIR * b->pairs) {
        for (int m = 0; m < 2; m++) axis[m] = b->axes[term / HB_GUIDE_PAIR][m];
        for (int m = 0; m < 2; m++) power[m] = pair[term % HB_GUIDE_PAIR][m];
        return 2;
    }
    term -= HB_GUIDE_PAIR * b->pairs;
    if (term < b->weak) {
        for (int m = 0; m < 2; m++) axis[m] = b->axes[b->pairs + term][m], power[m] = 1;
        return 2;
    }
    term -= b->weak;
    for (int m = 0; m < 3; m++) {
        axis[m] = b->axes[b->pairs + b->weak + term / HB_GUIDE_TRIPLE][m];
        power[m] = 1 + ((int)(term % HB_GUIDE_TRIPLE) == m + 1);
    }
    return 3;
}

/* ---- coupling ---- */

typedef struct coupling {
    size_t d, n;
    double *J;    // (n, d, d)
    double *C;    // (d, d)
    double *S;    // (d, d): rows are the other axes
    double *half; // (d, d)
    double *move; // (d, d)
    int *part;    // (d): the connected part of an axis
    hb_workspace work;
} coupling;

static double coupling_largest(const coupling *c)
{
    double most = 0;
    for (size_t i = 0; i < c->d * c->d; i++) most = fmax(most, c->C[i]);
    return most;
}

static int is_coupled(const coupling *c, double most, size_t i, size_t j)
{
    return c->C[i * c->d + j] > COUPLED * most;
}

/* C in the axes of J; how many pairs are coupled. */
static size_t coupling_measure(const coupling *c)
{
    const size_t d = c->d;
    size_t count = 0;
    memset(c->C, 0, d * d * sizeof *c->C);
    for (size_t k = 0; k < c->n; k++)
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++) {
                const double a = c->J[(k * d + i) * d + j], b = c->J[(k * d + j) * d + i];
                if (isfinite(a) && isfinite(b)) c->C[i * d + j] += (a * a + b * b) / (double)c->n;
            }
    const double most = coupling_largest(c);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++) count += (size_t)is_coupled(c, most, i, j);
    return count;
}

/* The eigenvectors of a mean of symmetric parts, of J and of products of two, as rows of S. */
static int coupling_find_axes(coupling *c, double rate)
{
    const size_t d = c->d;
    memset(c->S, 0, d * d * sizeof *c->S);
    for (size_t k = 0; k + 1 < c->n; k++) {
        const double weight = 1 + sin(1 + 3 * (double)k), *J = c->J + k * d * d;
        hb_matrix_multiply(d, 1 / rate, J, J + d * d, c->move);
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++)
                c->S[i * d + j] += weight * (J[i * d + j] + J[j * d + i] + c->move[i * d + j] +
                                             c->move[j * d + i]);
    }
    if (!hb_all_finite(d * d, c->S)) return 0;
    /* Eigenvectors lie in columns of a column-major matrix, which are the rows of ours. */
    return LAPACKE_dsyev(LAPACK_COL_MAJOR, 'V', 'L', (int)d, c->S, (int)d, c->half) == 0;
}

/* J becomes S J S'. */
static void coupling_turn(coupling *c, const double *S)
{
    const size_t d = c->d;
    hb_matrix_transpose(d, S, c->move);
    for (size_t k = 0; k < c->n; k++) {
        double *J = c->J + k * d * d;
        hb_matrix_multiply(d, 1, S, J, c->half);
        hb_matrix_multiply(d, 1, c->half, c->move, J);
    }
}

static void coupling_find_parts(const coupling *c)
{
    const double most = coupling_largest(c);
    for (size_t i = 0; i < c->d; i++) c->part[i] = (int)i;
    for (int changed = 1; changed;) {
        changed = 0;
        for (size_t i = 0; i < c->d; i++)
            for (size_t j = 0; j < c->d; j++)
                if (is_coupled(c, most, i, j) && c->part[j] < c->part[i])
                    c->part[i] = c->part[j], changed = 1;
    }
}

/* ---- terms ---- */

typedef struct candidate {
    double strength;
    int axis[2], full;
} candidate;

static int candidate_order(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->full != y->full) return y->full - x->full;
    if (x->strength != y->strength) return x->strength < y->strength ? 1 : -1;
    return x->axis[0] != y->axis[0] ? x->axis[0] - y->axis[0] : x->axis[1] - y->axis[1];
}

/* The square of the correlation of axes i and j of y[n][d]. */
static double correlation(size_t n, size_t d, const double *y, size_t i, size_t j)
{
    double a = 0, b = 0, aa = 0, bb = 0, ab = 0;
    for (size_t k = 0; k < n; k++) a += y[k * d + i] / (double)n, b += y[k * d + j] / (double)n;
    for (size_t k = 0; k < n; k++) {
        const double u = y[k * d + i] - a, v = y[k * d + j] - b;
        aa += u * u, bb += v * v, ab += u * v;
    }
    return aa > 0 && bb > 0 ? ab * ab / (aa * bb) : 0;
}

static size_t list_pairs(const coupling *c, size_t n, const double *y, candidate *out)
{
    const double most = coupling_largest(c);
    const size_t d = c->d;
    size_t count = 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++) {
            const int full = is_coupled(c, most, i, j);
            int near = full || (d <= SMALL && c->part[i] == c->part[j]);
            for (size_t k = 0; !near && k < d; k++)
                near = is_coupled(c, most, i, k) && is_coupled(c, most, j, k);
            if (near || correlation(n, d, y, i, j) > CORRELATED * CORRELATED)
                out[count++] = (candidate){c->C[i * d + j], {(int)j, (int)i}, full};
        }
    qsort(out, count, sizeof *out, candidate_order);
    return count;
}

static void add_triples(const hb_guide *g, hb_guide_basis *b)
{
    const size_t d = g->d;
    if (d > SMALL) return;
    for (size_t p = 0; p < b->pairs; p++)
        for (int k = b->axes[p][1] + 1; k < (int)d; k++) {
            int both = 0;
            for (size_t q = 0; q < b->pairs; q++)
                both += b->axes[q][1] == k &&
                        (b->axes[q][0] == b->axes[p][0] || b->axes[q][0] == b->axes[p][1]);
            if (both < 2 || b->n_terms + HB_GUIDE_TRIPLE > MOST_TERMS) continue;
            int *to = b->axes[b->pairs + b->weak + b->triples++];
            to[0] = b->axes[p][0], to[1] = b->axes[p][1], to[2] = k;
            b->n_terms += HB_GUIDE_TRIPLE;
        }
}

static void choose_terms(hb_guide *g, const candidate *list, size_t count)
{
    hb_guide_basis *b = &g->basis;
    b->dim = g->d;
    b->n_terms = HB_GUIDE_SINGLE * g->d;
    for (size_t p = 0; p < count; p++) {
        const int full = list[p].full && (double)b->pairs < FULL_PAIRS * (double)g->d &&
                         b->weak == 0 && b->n_terms + HB_GUIDE_PAIR <= MOST_TERMS;
        if (!full && b->n_terms >= MOST_TERMS) break;
        memcpy(b->axes[b->pairs + b->weak], list[p].axis, 2 * sizeof(int));
        *(full ? &b->pairs : &b->weak) += 1;
        b->n_terms += full ? HB_GUIDE_PAIR : 1;
    }
    add_triples(g, b);
}

/* y = S x of rows x[n][d]. */
static void turn_points(size_t n, size_t d, const double *S, const double *x, double *y)
{
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < d; i++)
            y[k * d + i] = S ? hb_dot(d, S + i * d, x + k * d) : x[k * d + i];
}

static hb_status choose_all(hb_guide *g, coupling *c, size_t n, const double *x)
{
    const size_t d = g->d, pairs = coupling_measure(c), most = d * (d - 1) / 2;
    double *y;
    candidate *list;
    hb_workspace work;
    g->rate = sqrt(hb_trace(d, c->C) / 2 / (double)d);
    for (size_t i = 0; i < d * d; i++) g->rate = fmax(g->rate, sqrt(c->C[i] / 2));
    if (hb_problem_noise_kind(g->problem) == HB_NOISE_SCALAR && pairs > d &&
        coupling_find_axes(c, g->rate)) {
        memcpy(g->axes, c->S, d * d * sizeof *g->axes);
        coupling_turn(c, g->axes);
        if ((double)coupling_measure(c) > FEWER * (double)pairs) { /* back again */
            hb_matrix_transpose(d, g->axes, c->S);
            coupling_turn(c, c->S);
            coupling_measure(c);
            g->axes = NULL;
        }
    } else
        g->axes = NULL;
    coupling_find_parts(c);
    HB_TRY(HB_WORKSPACE(g->context, &work, HB_ARRAY(y, n * d), HB_ARRAY(list, most + 1)));
    turn_points(n, d, g->axes, x, y);
    choose_terms(g, list, list_pairs(c, n, y, list));
    hb_workspace_destroy(&work);
    return HB_OK;
}

hb_status hb_guide_choose_basis(hb_guide *g, size_t n, const double *x, const double *tau)
{
    const size_t d = g->d;
    coupling c = {.d = d, .n = n};
    double *F;
    HB_TRY(HB_WORKSPACE(g->context, &c.work, HB_ARRAY(c.J, n * d * d), HB_ARRAY(c.C, d * d),
                        HB_ARRAY(c.S, d * d), HB_ARRAY(c.half, d * d), HB_ARRAY(c.move, d * d),
                        HB_ARRAY(c.part, d), HB_ARRAY(F, n * d)));
    hb_status status = hb_problem_drift_each(g->context, g->problem, n, x, tau, F, NULL, NULL, c.J);
    if (status == HB_OK) status = choose_all(g, &c, n, x);
    hb_workspace_destroy(&c.work);
    return status;
}
