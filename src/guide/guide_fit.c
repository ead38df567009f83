/* The guide: nodes in time, and at each a fit of ln u to trajectories by score matching.
 *
 * On n trajectories y of a time, with v = base + sum_j theta_j phi_j, the theta that minimises
 *     mean (|grad v|^2/2 + Laplacian v)
 * solves one linear system A theta = -b,
 *     A_kl = mean grad phi_k . grad phi_l,   b_k = mean (Laplacian phi_k + grad base . grad phi_k),
 * which needs no normaliser (A. Hyvarinen, J. Mach. Learn. Res. 6, 2005). base is the Gaussian of the
 * means and variances of the coordinates. On trajectories that are held out theta must do better
 * than 0. Then B = 2 grad v - F must point inward far away, in every direction that is tried: else
 * the fifth term of each axis, which is 0 within 3.5 standard deviations, is made large enough.
 * A number to reproduce: F = -x + x^3/(1 + x^2)^2 from N(0, 1): theta of the second power below 0.1. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "guide/guide.h"
#include "path/ensemble.h"
#include "problem/initial/initial_average.h"
#include "problem/noise.h"

#include <lapacke.h>
#include <string.h>

enum {
    PATHS = 8192,
    LOOKED = 256, /* trajectories of the pilot run */
    PILOT_TIMES = 4,
    PILOT_STEPS = 160,
    MOST_NODES = 64,
    COLUMNS = 256,
    DIRECTIONS = 64,
    SEED = 1,
    TAILS = 20
};
static const double STEP = 0.06;       /* of trajectories, over the rate of the drift */
static const double GAP = 0.4;         /* of nodes, over the same */
static const double SPREAD_GAP = 0.25; /* of nodes, of s^2/(2 D) */
static const double FIRST = 0.02;      /* of a point: the first node, over the rate */
static const double REACH = 5;         /* standard deviations, where q saturates */
static const double LINEAR_GROWTH = 1.4, CUBIC_GROWTH = 3.3; /* exponents of |F| at large |x| */
static const double FAR = 100; /* standard deviations, where growth is measured */
static const double RIDGE = 1e-6;
static const double FIRST_TAIL = 0.005; /* of the fifth term; doubled until v falls off */

/* ---- the accumulated system ---- */

typedef struct fit {
    hb_guide *g;
    hb_ensemble e;
    size_t J, *touching, *first; // terms that touch axis i: touching[first[i] ..]
    double *A[2], *b[2];         // (J, J), (J): fitted, and held out
    double *scale, *solution;    // (J)
    double *y;                   // (n, d) in the guide's coordinates
    double *powers;              // (d, 5, COLUMNS)
    double *q1, *q2, *z;         // (d, COLUMNS)
    double *columns;             // (most, COLUMNS)
    hb_workspace work;
} fit;

static hb_status fit_create(hb_guide *g, fit *f)
{
    const size_t d = g->d, J = g->basis.n_terms;
    int axis[3], power[3];
    size_t most = 0, count = 0;
    f->g = g, f->J = J;
    for (size_t j = 0; j < J; j++) count += (size_t)hb_guide_term(&g->basis, j, axis, power);
    most = J;
    HB_TRY(HB_WORKSPACE(g->context, &f->work, HB_ARRAY(f->touching, count),
                        HB_ARRAY(f->first, d + 1), HB_ARRAY(f->A[0], J * J),
                        HB_ARRAY(f->A[1], J * J), HB_ARRAY(f->b[0], J), HB_ARRAY(f->b[1], J),
                        HB_ARRAY(f->scale, J), HB_ARRAY(f->solution, J),
                        HB_ARRAY(f->y, g->n_paths * d), HB_ARRAY(f->powers, d * 5 * COLUMNS),
                        HB_ARRAY(f->q1, d * COLUMNS), HB_ARRAY(f->q2, d * COLUMNS),
                        HB_ARRAY(f->z, d * COLUMNS), HB_ARRAY(f->columns, most * COLUMNS)));
    count = 0;
    for (size_t i = 0; i < d; i++) {
        f->first[i] = count;
        for (size_t j = 0; j < J; j++)
            for (int m = hb_guide_term(&g->basis, j, axis, power) - 1; m >= 0; m--)
                if ((size_t)axis[m] == i) f->touching[count++] = j;
    }
    f->first[d] = count;
    return HB_OK;
}

/* Powers of q at n trajectories from `first` on, standardised by m and s2. */
static void fit_take(fit *f, size_t first, size_t n, const double *m, const double *s2)
{
    const size_t d = f->g->d;
    for (size_t i = 0; i < d; i++) {
        const double R = f->g->reach[i], c = isfinite(R) ? 1 / (R * R) : 0;
        for (size_t k = 0; k < COLUMNS; k++) {
            const double z = k < n ? (f->y[(first + k) * d + i] - m[i]) / sqrt(s2[i]) : 0;
            const double e = 1 / (1 + c * z * z), q = z * sqrt(e);
            double *to = f->powers + i * 5 * COLUMNS + k;
            f->z[i * COLUMNS + k] = z;
            f->q1[i * COLUMNS + k] = e * sqrt(e);
            f->q2[i * COLUMNS + k] = -3 * c * z * e * e * sqrt(e);
            to[0] = 1;
            for (int p = 1; p < 5; p++) to[p * COLUMNS] = to[(p - 1) * COLUMNS] * q;
        }
    }
}

/* d^order phi_j/dq_i^order at the columns. */
static void term_derivative(const fit *f, size_t j, size_t i, int order, double *out)
{
    int axis[3], power[3];
    const int n = hb_guide_term(&f->g->basis, j, axis, power);
    for (size_t k = 0; k < COLUMNS; k++) out[k] = 1;
    for (int m = 0; m < n; m++) {
        int p = power[m];
        double factor = 1;
        for (int o = 0; o < order && (size_t)axis[m] == i; o++) factor *= p--;
        const double *q = f->powers + ((size_t)axis[m] * 5 + (size_t)(p > 0 ? p : 0)) * COLUMNS;
        for (size_t k = 0; k < COLUMNS; k++) out[k] *= factor == 0 ? 0 : factor * q[k];
    }
}

/* Adds n columns, as parts of a mean over `of` trajectories, to system `held`. */
static void fit_add(fit *f, int held, size_t n, double of, const double *s2)
{
    const size_t J = f->J;
    double second[COLUMNS];
    for (size_t i = 0; i < f->g->d; i++) {
        const size_t *list = f->touching + f->first[i], count = f->first[i + 1] - f->first[i];
        const double *q1 = f->q1 + i * COLUMNS, *q2 = f->q2 + i * COLUMNS, *z = f->z + i * COLUMNS;
        const double w = 1 / (s2[i] * of);
        for (size_t a = 0; a < count; a++) {
            double *slope = f->columns + a * COLUMNS, sum = 0;
            term_derivative(f, list[a], i, 1, slope);
            term_derivative(f, list[a], i, 2, second);
            for (size_t k = 0; k < COLUMNS; k++) {
                if (k < n) sum += q1[k] * q1[k] * second[k] + (q2[k] - z[k] * q1[k]) * slope[k];
                slope[k] = k < n ? q1[k] * slope[k] : 0;
            }
            f->b[held][list[a]] += w * sum;
            for (size_t b = 0; b <= a; b++) {
                const double *other = f->columns + b * COLUMNS;
                double part[8] = {0}; /* eight sums, which vectors can add side by side */
                for (size_t k = 0; k < COLUMNS; k += 8)
                    for (size_t l = 0; l < 8; l++) part[l] += slope[k + l] * other[k + l];
                f->A[held][list[a] * J + list[b]] +=
                    w * (((part[0] + part[1]) + (part[2] + part[3])) +
                         ((part[4] + part[5]) + (part[6] + part[7])));
            }
        }
    }
}

static void fit_moments(const fit *f, double *m, double *s2)
{
    const size_t d = f->g->d, n = f->g->n_paths;
    for (size_t i = 0; i < d; i++) {
        double sum = 0, squares = 0;
        for (size_t k = 0; k < n; k++) sum += f->y[k * d + i];
        m[i] = sum / (double)n;
        for (size_t k = 0; k < n; k++) {
            const double away = f->y[k * d + i] - m[i];
            squares += away * away;
        }
        s2[i] = squares / (double)n;
    }
}

static void fit_accumulate(fit *f, const double *m, const double *s2)
{
    const size_t n = f->g->n_paths, J = f->J, kept = n / 8 * 7 / COLUMNS * COLUMNS;
    for (int held = 0; held < 2; held++) {
        memset(f->A[held], 0, J * J * sizeof(double));
        memset(f->b[held], 0, J * sizeof(double));
    }
    for (size_t k = 0; k < n; k += COLUMNS) {
        const size_t count = n - k < COLUMNS ? n - k : COLUMNS;
        fit_take(f, k, count, m, s2);
        fit_add(f, k >= kept, count, (double)(k >= kept ? n - kept : kept), s2);
    }
    for (int held = 0; held < 2; held++)
        for (size_t a = 0; a < J; a++)
            for (size_t b = 0; b < a; b++) {
                double *low = f->A[held] + a * J + b, *high = f->A[held] + b * J + a;
                *low = *high = *low + *high;
            }
}

/* theta from the system; 0 where held out trajectories say that 0 is better. */
static void fit_solve(fit *f, double *theta)
{
    const size_t J = f->J;
    double *A = f->A[0], *b = f->b[0], gain = 0;
    for (size_t j = 0; j < J; j++) f->scale[j] = A[j * J + j] > 0 ? 1 / sqrt(A[j * J + j]) : 1;
    for (size_t j = 0; j < J; j++) {
        theta[j] = -b[j] * f->scale[j];
        for (size_t k = 0; k < J; k++) A[j * J + k] *= f->scale[j] * f->scale[k];
        A[j * J + j] += RIDGE;
    }
    const lapack_int info = LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (int)J, 1, A, (int)J, theta, 1);
    for (size_t j = 0; j < J; j++) theta[j] *= f->scale[j];
    for (size_t j = 0; j < J; j++)
        gain += theta[j] * (f->b[1][j] + 0.5 * hb_dot(J, f->A[1] + j * J, theta));
    if (info != 0 || !hb_all_finite(J, theta) || gain > 0) memset(theta, 0, J * sizeof *theta);
}

/* ---- far away ---- */

/* Directions: along axes, between coupled ones, and others, in which axes go a unit far. */
static size_t direction(const hb_guide *g, size_t k, double *out)
{
    const size_t d = g->d, pairs = g->basis.pairs;
    memset(out, 0, d * sizeof *out);
    if (k < 2 * d) {
        out[k / 2] = k % 2 ? -1 : 1;
    } else if (k < 2 * d + 12 * pairs) {
        const int *at = g->basis.axes[(k - 2 * d) / 12];
        const double angle = M_PI / 8 * (1 + (double)((k - 2 * d) / 4 % 3));
        out[at[0]] = (k & 1 ? -1 : 1) * cos(angle);
        out[at[1]] = (k & 2 ? -1 : 1) * sin(angle);
    } else {
        double square = 0;
        for (size_t i = 0; i < d; i++) {
            out[i] = sin((double)(k * d + i + 1) * 12.9898) * 43758.5453;
            out[i] = 2 * (out[i] - floor(out[i])) - 1;
            square += out[i] * out[i];
        }
        for (size_t i = 0; i < d; i++) out[i] *= sqrt((double)d / square);
    }
    return 2 * d + 12 * pairs + DIRECTIONS;
}

/* The largest of B.w/|B| or so: above 0 where something points outward at m + r s w. Columns are
 * directions. */
static hb_status far_look(const hb_guide *g, hb_guide_view *v, size_t node, double r,
                          double *outward)
{
    const size_t d = g->d, n = v->n;
    double *y, *w;
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(g->context, &work, HB_ARRAY(y, d * n), HB_ARRAY(w, d)));
    const size_t count = direction(g, 0, w);
    hb_status status = HB_OK;
    *outward = 0;
    for (size_t from = 0; from < count && status == HB_OK; from += n) {
        for (size_t k = 0; k < n; k++) {
            direction(g, from + k < count ? from + k : count - 1, w);
            for (size_t i = 0; i < d; i++)
                y[i * n + k] = g->mean[node * d + i] + r * sqrt(g->variance[node * d + i]) * w[i];
        }
        status = hb_guide_look(g, v, g->node[node], y);
        if (status == HB_OK) status = hb_guide_drift(g, g->context, v, y, 0);
        for (size_t k = 0; k < n && status == HB_OK; k++) {
            double out = 0;
            direction(g, from + k < count ? from + k : count - 1, w);
            for (size_t i = 0; i < d; i++) {
                const double at = v->F[i * n + k], unit = w[i] / sqrt(g->variance[node * d + i]);
                if (!isfinite(g->reach[i]) && fabs(r * w[i]) > REACH)
                    out += unit * (2 * g->diffusion[i] * v->gradient[i * n + k] - at);
            }
            *outward = fmax(*outward, isfinite(out) ? out : 0);
        }
    }
    hb_workspace_destroy(&work);
    return status;
}

/* |F| along both directions of an axis, r standard deviations from positions within the start. */
static hb_status far_along(const hb_guide *g, hb_guide_view *v, size_t node, size_t axis, double r,
                           double *y, double *most)
{
    const size_t d = g->d, n = v->n;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < d; i++) {
            const double sd = sqrt(g->variance[node * d + i]), side = k % 2 ? 1 : -1;
            const double inside = 1.5 * sin((double)(1 + k / 2) * (double)(2 * i + 3));
            y[i * n + k] = g->mean[node * d + i] + sd * (i == axis ? side * r : inside);
        }
    v->tau = g->node[node];
    HB_TRY(hb_guide_drift(g, g->context, v, y, 0));
    *most = 0;
    for (size_t k = 0; k < d * n; k++)
        *most = fmax(*most, isfinite(v->F[k]) ? fabs(v->F[k]) : INFINITY);
    return HB_OK;
}

/* reach: of the axes along which the drift grows no faster than |y|. Refuses beyond |y|^3. */
static hb_status find_reach(hb_guide *g, hb_guide_view *v, size_t node)
{
    double *y;
    hb_status status = HB_OK;
    HB_TRY(HB_NEW(g->context, y, g->d * v->n));
    for (size_t i = 0; i < g->d && status == HB_OK; i++) {
        double near = 0, beyond = 0;
        status = far_along(g, v, node, i, FAR, y, &near);
        if (status == HB_OK) status = far_along(g, v, node, i, 2 * FAR, y, &beyond);
        const double exponent = !(beyond > 0)      ? 0
                                : isfinite(beyond) ? log2(beyond / near)
                                                   : INFINITY;
        g->reach[i] = exponent > LINEAR_GROWTH ? INFINITY : REACH;
        if (status == HB_OK && exponent > CUBIC_GROWTH)
            status = hb_fail(g->context, HB_ERROR_ARGUMENT,
                             "the drift grows faster than the third power of |x|, beyond "
                             "which guided walks run away; take particles or walk");
    }
    hb_release(g->context, y);
    return status;
}

/* Whether walks could run away. Where a coordinate has no noise its motion backward is the drift's
 * own, turned round, which rays do not judge. */
static int guide_is_steep(const hb_guide *g)
{
    for (size_t i = 0; i < g->d; i++)
        if (g->diffusion[i] == 0) return 0;
    for (size_t i = 0; i < g->d; i++)
        if (!isfinite(g->reach[i])) return 1;
    return 0;
}

static hb_status fit_node(fit *f, hb_guide_view *v, size_t node)
{
    hb_guide *g = f->g;
    double *theta = g->theta + node * f->J, outward = 0, tail = FIRST_TAIL;
    fit_accumulate(f, g->mean + node * g->d, g->variance + node * g->d);
    fit_solve(f, theta);
    if (!guide_is_steep(g)) return HB_OK;
    for (int attempt = 0; attempt < TAILS; attempt++, tail *= 2) {
        outward = 0;
        for (int far = 0; far < 3 && outward == 0; far++)
            HB_TRY(far_look(g, v, node, 8 << far, &outward));
        if (outward == 0) return HB_OK;
        for (size_t i = 0; i < g->d; i++)
            if (!isfinite(g->reach[i])) theta[HB_GUIDE_SINGLE * (i + 1) - 1] = -tail;
    }
    return hb_fail(g->context, HB_ERROR_NUMERICAL,
                   "no fitted log-density falls off as this drift needs it at large |x|; take "
                   "particles or walk");
}

/* ---- nodes ---- */

/* Times of nodes; the last is tau. */
static size_t choose_nodes(const hb_guide *g, double narrow, double *node)
{
    double D = 0, gap = GAP / fmax(g->rate, 1e-300);
    size_t n = 1;
    for (size_t i = 0; i < g->d; i++) D = fmax(D, g->diffusion[i]);
    gap = fmax(fmin(gap, g->tau / 8), g->tau / (MOST_NODES / 2));
    node[0] = 0;
    if (g->place) node[n++] = fmin(FIRST / fmax(g->rate, 1e-300), g->tau / 16);
    for (; node[n - 1] < g->tau && n < 4 * MOST_NODES; n++) {
        const double at = node[n - 1], own = SPREAD_GAP * (narrow * narrow / (2 * D) + at);
        node[n] = at + fmin(gap, fmax(own, gap / 400));
        if (node[n] > g->tau - 0.3 * (node[n] - at)) node[n] = g->tau;
    }
    return n;
}

/* The ensemble to the next node; noise numbers go on from *drawn. */
static hb_status fit_advance(fit *f, double from, double to, uint64_t *drawn)
{
    const int steps = (int)ceil((to - from) * f->g->rate / STEP - 1e-9) + 1;
    for (int k = 0; k < steps; k++) {
        const hb_ensemble_move move = {.tau = from + (to - from) * k / steps,
                                       .step = (to - from) / steps,
                                       .inflation = 1,
                                       .first = *drawn};
        HB_TRY(hb_ensemble_step(&f->e, &move));
        *drawn += f->e.per_draw;
    }
    return HB_OK;
}

static void fit_read_paths(fit *f)
{
    const size_t d = f->g->d, n = f->g->n_paths;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < d; i++)
            f->y[k * d + i] =
                f->g->axes ? hb_dot(d, f->g->axes + i * d, f->e.x + k * d) : f->e.x[k * d + i];
}

/* Means and variances of a node; near a point they are those of Brownian motion. */
static void fit_place_node(fit *f, size_t node)
{
    hb_guide *g = f->g;
    const size_t d = g->d;
    double *m = g->mean + node * d, *s2 = g->variance + node * d;
    fit_read_paths(f);
    fit_moments(f, m, s2);
    for (size_t i = 0; i < d && g->place && node < 2; i++) {
        s2[i] = 2 * g->diffusion[i] * g->node[node];
        if (node == 0) m[i] = f->y[i];
    }
}

static hb_status fit_all(fit *f)
{
    hb_guide *g = f->g;
    hb_guide_view v = {0};
    uint64_t drawn = 0;
    hb_status status = HB_OK;
    /* First the last node alone would do for the growth; the moments of all are needed anyway. */
    HB_TRY(hb_guide_view_create(g, g->context, HB_GUIDE_LANES, &v));
    memset(g->theta, 0, g->n_nodes * f->J * sizeof *g->theta);
    for (size_t k = 0; k < g->n_nodes && status == HB_OK; k++) {
        if (k > 0) status = fit_advance(f, g->node[k - 1], g->node[k], &drawn);
        if (status == HB_OK)
            status = hb_progress(g->context, "guide", (double)k, (double)g->n_nodes);
        if (status != HB_OK) break;
        fit_place_node(f, k);
        if (k == 0) { /* the growth, at the spread of the start or of the first node */
            for (size_t i = 0; i < g->d; i++) {
                double *last = g->variance + (g->n_nodes - 1) * g->d + i;
                *last = fmax(g->variance[i], 2 * g->diffusion[i] * fmin(g->tau, 1 / g->rate));
                if (!(*last > 0)) *last = 1;
                g->mean[(g->n_nodes - 1) * g->d + i] = g->mean[i];
            }
            status = find_reach(g, &v, g->n_nodes - 1);
        }
        if (status == HB_OK && !(k == 0 && g->place)) status = fit_node(f, &v, k);
    }
    hb_workspace_destroy(&v.work);
    return status;
}

/* ---- the pilot run, and creation ---- */

static hb_status ensemble_begin(const hb_guide *g, size_t n, hb_ensemble *e)
{
    HB_TRY(hb_ensemble_create(g->context, g->problem, n, e));
    for (size_t k = 0; g->place && k < n; k++)
        memcpy(e->x + k * g->d, g->place, g->d * sizeof *e->x);
    return g->place ? HB_OK : hb_problem_initial_sample(g->context, g->problem, SEED, 0, n, e->x);
}

/* Positions of a few trajectories at PILOT_TIMES times, and their times. */
static hb_status pilot_run(const hb_guide *g, hb_ensemble *e, double *x, double *tau)
{
    const size_t part = LOOKED / PILOT_TIMES, d = g->d;
    double h = g->tau / PILOT_STEPS;
    for (int k = 0, time = 0; k <= PILOT_STEPS; k++) {
        if (k % (PILOT_STEPS / (PILOT_TIMES - 1)) == 0 && time < PILOT_TIMES) {
            memcpy(x + (size_t)time * part * d, e->x + (size_t)time * part * d,
                   part * d * sizeof *x);
            for (size_t i = 0; i < part; i++) tau[(size_t)time * part + i] = k * h;
            time++;
        }
        if (k == PILOT_STEPS) break;
        const hb_ensemble_move move = {
            .tau = k * h, .step = h, .inflation = 1, .first = (uint64_t)k * e->per_draw};
        HB_TRY(hb_ensemble_step(e, &move));
    }
    return HB_OK;
}

/* D_i; where the noise is a matrix it must be diagonal, and the same at all times. */
static hb_status find_diffusion(hb_guide *g)
{
    const size_t d = g->d;
    double *D;
    for (size_t i = 0; i < d; i++) g->diffusion[i] = 1;
    if (hb_problem_noise_kind(g->problem) == HB_NOISE_SCALAR) return HB_OK;
    HB_TRY(HB_NEW(g->context, D, d * d));
    hb_status status = hb_problem_diffusion(g->context, g->problem, 1, NULL, 0, D, NULL);
    for (size_t i = 0; i < d * d && status == HB_OK; i++) {
        if (i % (d + 1) == 0) g->diffusion[i / (d + 1)] = D[i];
        if (i % (d + 1) && D[i] != 0)
            status = hb_fail(g->context, HB_ERROR_ARGUMENT,
                             "the noise is a matrix, and guided walks take only those that are "
                             "diagonal");
    }
    hb_release(g->context, D);
    return status;
}

static hb_status guide_look_around(hb_guide *g)
{
    hb_ensemble e = {0};
    double *x, *tau;
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(g->context, &work, HB_ARRAY(x, LOOKED * g->d), HB_ARRAY(tau, LOOKED)));
    hb_status status = ensemble_begin(g, LOOKED, &e);
    if (status == HB_OK) status = pilot_run(g, &e, x, tau);
    if (status == HB_OK) status = hb_guide_choose_basis(g, LOOKED, x, tau);
    hb_ensemble_destroy(&e);
    hb_workspace_destroy(&work);
    return status;
}

static double guide_narrowest(const hb_guide *g)
{
    double narrow = INFINITY;
    for (size_t i = 0; i < g->d && !g->place; i++)
        narrow = fmin(narrow, hb_problem_initial_narrowest(g->problem, (int)i));
    return g->place ? 0 : isfinite(narrow) ? narrow : 0.1 * sqrt(2 * g->tau);
}

static hb_status guide_make(hb_guide *g)
{
    const size_t d = g->d, pairs = d * (d - 1) / 2;
    double node[4 * MOST_NODES + 1];
    fit f = {0};
    HB_TRY(HB_WORKSPACE(g->context, &g->work, HB_ARRAY(g->axes, d * d), HB_ARRAY(g->diffusion, d),
                        HB_ARRAY(g->reach, d), HB_ARRAY(g->basis.axes, pairs + 40 * d + 1)));
    HB_TRY(find_diffusion(g));
    HB_TRY(guide_look_around(g));
    g->n_nodes = choose_nodes(g, guide_narrowest(g), node);
    HB_TRY(HB_WORKSPACE(g->context, &g->nodes, HB_ARRAY(g->node, g->n_nodes),
                        HB_ARRAY(g->mean, g->n_nodes * d), HB_ARRAY(g->variance, g->n_nodes * d),
                        HB_ARRAY(g->theta, g->n_nodes * g->basis.n_terms)));
    memset(g->nodes.memory, 0, g->nodes.size);
    memcpy(g->node, node, g->n_nodes * sizeof *node);
    hb_status status = fit_create(g, &f);
    if (status == HB_OK) status = ensemble_begin(g, g->n_paths, &f.e);
    if (status == HB_OK) status = fit_all(&f);
    hb_ensemble_destroy(&f.e);
    hb_workspace_destroy(&f.work);
    return status;
}

hb_status hb_guide_create(hb_context *context, const hb_problem *problem, double tau,
                          hb_guide **out)
{
    hb_guide *g;
    *out = NULL;
    HB_TRY(HB_NEW(context, g, 1));
    *g = (hb_guide){.context = context,
                    .problem = problem,
                    .d = (size_t)hb_problem_dim(problem),
                    .tau = tau,
                    .place = hb_problem_initial_place(problem),
                    .n_paths = PATHS};
    const hb_status status = guide_make(g);
    if (status == HB_OK)
        *out = g;
    else
        hb_guide_destroy(g);
    return status;
}

void hb_guide_adopt(hb_guide *g, hb_context *context)
{
    g->context = g->nodes.context = g->work.context = context;
}

void hb_guide_destroy(hb_guide *g)
{
    if (!g) return;
    hb_context *context = g->context;
    hb_workspace_destroy(&g->nodes);
    hb_workspace_destroy(&g->work);
    hb_release(context, g);
}
