/* The kernel of a short lag: what a path that is at y, the time r before the end, gives to the
 * density at x.
 *
 * dX = f(X,t) dt + G(t) dW, and a linear model along phi, phi' = -f(phi, T - r), phi(0) = x,
 * A = df/dx there:
 *     h(y,r) = N(x; x - Phi (phi - y), S), Phi' = Phi A, S' = Phi G G' Phi', Phi(0) = 1, S(0) = 0.
 * By Dynkin's formula, for every lag L and without any approximation,
 *     u(x,T) = E[ h(X_{T-L}, L) + int_0^L R(X_{T-r}, r) dr ],
 *     R = g . grad_y h,   g = f(y) - f(phi) - A (y - phi).
 * With S = L L', W = L^-1 Phi, w = W (phi - y), q = W g:  h = e^(-w.w/2)/(...),  R = h (q.w), and
 * by the end x
 *     grad h = -L'^-1 w h,     grad R = L'^-1 (q - w (q.w)) h.
 * The integral by Kronrod's 7 nodes in each half of the lag (Doklady 154, 1964), of which Gauss's 3
 * and 1 are a part: three rules from the same positions. Phi, S and phi by collocation between one
 * lag and the next.
 * A number to reproduce: f = (p, 0), noise 1 on p: S = [[r^3/3, r^2/2], [r^2/2, r]]
 * (Kolmogorov). */
#include "lag/lag_frame.h"
#include "ball/quadrature.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "path/linear_path.h"
#include "problem/initial/initial_average.h"
#include "problem/noise.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { COLLOCATION = 6, MOST_ROUNDS = 60, MOST_PIECES = 64, TRIALS = 64 };

static const double REACH = 1;           /* largest |A| h of a piece */
static const double SETTLED = 1e-15;     /* of Picard's rounds */
static const double LEAST_PIVOT = 1e-12; /* of S with a diagonal of 1 */
static const double NEGLIGIBLE = 60;     /* in the exponent */

/* Kronrod's nodes in [0, 1], in each half of the lag. */
#define HALF(begin)                                                                                \
    (begin) + 0.5 * 0.019754365645989858, (begin) + 0.5 * 0.11270166537925831,                     \
        (begin) + 0.5 * 0.28287812532659872, (begin) + 0.25, (begin) + 0.5 * 0.71712187467340128,  \
        (begin) + 0.5 * 0.88729833462074169, (begin) + 0.5 * 0.98024563435401014
const double hb_lag_parts[HB_LAG_NODES] = {1, HALF(0), HALF(0.5)};
#undef HALF

/* Weights of the rules at the nodes of a half. */
enum { HALF_NODES = (HB_LAG_NODES - 1) / 2 };
static const double WEIGHTS[HB_LAG_RULES][HALF_NODES] = {
    {0.052328113013233633, 0.13424404493416672, 0.20069870738798111, 0.22545826932923707,
     0.20069870738798111, 0.13424404493416672, 0.052328113013233633},
    {0, 0.27777777777777778, 0, 0.44444444444444444, 0, 0.27777777777777778, 0},
    {0, 0, 0, 1, 0, 0, 0}};

/* What the frame of a point is made with. */
typedef struct builder {
    hb_context *context;
    const hb_problem *problem;
    size_t d, m;
    double end;
    int frozen;
    const double *x;
    double *f0, *A0; // (d), (d, d): at x
    double node[COLLOCATION], weight[COLLOCATION], behind[COLLOCATION][COLLOCATION];
    double *phi, *phi0, *f, *A, *P, *next; // (COLLOCATION, ...), (d), ...
    double *t, *G, *PG;                    // (COLLOCATION), (d, m), (2, d, m)
    double *Phi, *S, *step, *other;        // (d, d)
    hb_workspace work;
} builder;

/* ---- between two lags ---- */

/* The linear model at n places: f, and A, at the times t. */
static hb_status lag_frame_model(builder *b, size_t n, const double *phi, double *f, double *A)
{
    const size_t d = b->d;
    if (!b->frozen)
        return hb_problem_drift_each(b->context, b->problem, n, phi, b->t, f, NULL, NULL, A);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < d; i++) {
            double sum = b->f0[i];
            for (size_t j = 0; j < d; j++) sum += b->A0[i * d + j] * (phi[k * d + j] - b->x[j]);
            f[k * d + i] = sum;
        }
    for (size_t k = 0; A && k < n; k++) memcpy(A + k * d * d, b->A0, d * d * sizeof *A);
    return HB_OK;
}

/* phi at the nodes of the gap, from phi0; 0 in *fits when it does not converge. */
static hb_status lag_frame_follow(builder *b, double h, int *fits)
{
    const size_t d = b->d;
    double change = INFINITY, size = 0;
    *fits = 0;
    for (size_t j = 0; j < COLLOCATION; j++) memcpy(b->phi + j * d, b->phi0, d * sizeof(double));
    for (int round = 0; round < MOST_ROUNDS && change > SETTLED * size; round++) {
        HB_TRY(lag_frame_model(b, COLLOCATION, b->phi, b->f, NULL));
        change = 0;
        size = 1e-300;
        for (size_t j = 0; j < COLLOCATION; j++)
            for (size_t i = 0; i < d; i++) {
                double value = b->phi0[i];
                for (size_t k = 0; k < COLLOCATION; k++)
                    value -= h * b->behind[j][k] * b->f[k * d + i];
                change = fmax(change, fabs(value - b->phi[j * d + i]));
                size = fmax(size, fabs(value));
                b->phi[j * d + i] = value;
                if (!isfinite(value)) return HB_OK;
            }
        *fits = change <= 16 * SETTLED * size;
    }
    return HB_OK;
}

/* S += fraction (Phi P G)(Phi P G)'. */
static void add_spread(builder *b, double fraction, const double *P)
{
    const size_t d = b->d, m = b->m;
    double *PG = b->PG;
    hb_matrix_multiply(d, 1, b->Phi, P, b->other);
    for (size_t i = 0; i < d; i++)
        for (size_t l = 0; l < m; l++) {
            double sum = 0;
            for (size_t k = 0; k < d; k++) sum += b->other[i * d + k] * b->G[k * m + l];
            PG[i * m + l] = sum;
        }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            const double entry = fraction * hb_dot(m, PG + i * m, PG + j * m);
            b->S[i * d + j] += entry;
            if (i != j) b->S[j * d + i] += entry;
        }
}

/* Phi, S and phi0 from r to r + h; where *fits is 0 they are as they were. */
static hb_status cross_piece(builder *b, double r, double h, int *fits)
{
    const size_t d = b->d, dd = d * d;
    const hb_propagator propagator = {d,           COLLOCATION, b->behind[0], b->weight, SETTLED,
                                      MOST_ROUNDS, b->P,        b->next,      b->other,  b->step};
    for (size_t j = 0; j < COLLOCATION; j++) b->t[j] = fmax(b->end - r - h * b->node[j], 0);
    HB_TRY(lag_frame_follow(b, h, fits));
    if (!*fits) return HB_OK;
    HB_TRY(lag_frame_model(b, COLLOCATION, b->phi, b->f, b->A));
    for (size_t j = 0; j < COLLOCATION; j++) *fits &= hb_matrix_norm(d, b->A + j * dd) * h <= REACH;
    if (!*fits) return HB_OK;
    HB_TRY(hb_propagate(NULL, &propagator, h, b->A));
    for (size_t j = 0; j < COLLOCATION; j++) {
        HB_TRY(hb_problem_noise_factor(b->context, b->problem, 1, NULL, b->t[j], b->G));
        add_spread(b, h * b->weight[j], b->P + j * dd);
        hb_axpy(d, -h * b->weight[j], b->f + j * d, b->phi0);
    }
    hb_matrix_multiply(d, 1, b->Phi, b->step, b->other);
    memcpy(b->Phi, b->other, dd * sizeof(double));
    *fits = hb_all_finite(dd, b->Phi) && hb_all_finite(dd, b->S) && hb_all_finite(d, b->phi0);
    return HB_OK;
}

/* From the lag r to the lag r + h, in as many pieces as it needs. */
static hb_status lag_frame_cross(builder *b, double r, double h, int *fits)
{
    int pieces = 1;
    for (double done = 0; done < 1;) {
        HB_TRY(cross_piece(b, r + h * done, h / pieces, fits));
        if (*fits)
            done += 1.0 / pieces;
        else if (pieces == MOST_PIECES)
            return HB_OK;
        else
            pieces *= 2;
    }
    return HB_OK;
}

/* ---- the start ---- */

/* Where the lag goes back to the start, and trajectories start from a sum of Gaussians: the mean of
 * h over it,
 *     int u0(y) N(x; x + Phi (y - phi), S) dy,
 * and its gradient by x. Draws of samples(...) have no kernel, so they are left out. */
static hb_status average_start(builder *b, hb_lag_frame *out)
{
    const size_t d = b->d;
    const hb_initial_kind kind = hb_problem_initial_kind(b->problem);
    out->start[0] = NAN;
    if (!(out->lag == b->end) || !hb_initial_moves(b->problem)) return HB_OK;
    if (kind != HB_INITIAL_KIND_GAUSSIAN && kind != HB_INITIAL_KIND_MIXTURE) return HB_OK;
    double *shift;
    HB_TRY(HB_NEW(b->context, shift, d + hb_initial_moved_work(b->problem)));
    for (size_t i = 0; i < d; i++) shift[i] = b->x[i] - hb_dot(d, b->Phi + i * d, out->place);
    hb_initial_moved(b->problem, b->Phi, shift, b->S, b->x, shift + d, out->start, out->start + 1);
    if (!hb_all_finite(1 + d, out->start)) out->start[0] = NAN;
    hb_release(b->context, shift);
    return HB_OK;
}

int hb_lag_knows_start(const hb_lag_frame *frame)
{
    return isfinite(frame->start[0]);
}

/* ---- a frame ---- */

/* The root of S, W and the top of the kernel at one of the lags; 0 where S has none. */
static int lag_frame_whiten(const builder *b, hb_lag_frame *out, size_t j)
{
    const size_t d = b->d, dd = d * d;
    double *L = out->root + j * dd, *W = out->white + j * dd, log_volume = 0;
    memcpy(L, b->S, dd * sizeof *L);
    if (!hb_cholesky(d, L)) return 0;
    for (size_t i = 0; i < d; i++) {
        const double pivot = L[i * d + i];
        if (!(pivot * pivot > LEAST_PIVOT * b->S[i * d + i])) return 0;
        log_volume += log(pivot);
    }
    memcpy(W, b->Phi, dd * sizeof *W);
    hb_solve_lower(d, L, d, W);
    out->log_top[j] = -log_volume - 0.5 * (double)d * log(2 * M_PI);
    return 1;
}

static hb_status lag_frame_keep(builder *b, double r, size_t j, hb_lag_frame *out, int *fits)
{
    const size_t d = b->d;
    memcpy(out->place + j * d, b->phi0, d * sizeof(double));
    b->t[0] = fmax(b->end - r, 0);
    HB_TRY(lag_frame_model(b, 1, b->phi0, out->drift + j * d, out->jacobian + j * d * d));
    *fits = lag_frame_whiten(b, out, j) && hb_all_finite(d * d, out->jacobian + j * d * d);
    return HB_OK;
}

static hb_status lag_frame_build(builder *b, hb_lag_frame *out, int *found, int *singular)
{
    const size_t d = b->d;
    double r = 0;
    b->t[0] = b->end;
    HB_TRY(hb_problem_drift_each(b->context, b->problem, 1, b->x, b->t, b->f0, NULL, NULL, b->A0));
    memcpy(b->phi0, b->x, d * sizeof(double));
    hb_matrix_diagonal(d, 1, b->Phi);
    memset(b->S, 0, d * d * sizeof(double));
    *found = hb_all_finite(d, b->f0) && hb_all_finite(d * d, b->A0);
    for (size_t k = 1; k <= HB_LAG_NODES && *found; k++) {
        const double next = out->lag * hb_lag_parts[k % HB_LAG_NODES];
        HB_TRY(lag_frame_cross(b, r, next - r, found));
        r = next;
        if (!*found) break;
        HB_TRY(lag_frame_keep(b, r, k % HB_LAG_NODES, out, found));
        *singular = !*found;
    }
    return *found ? average_start(b, out) : HB_OK;
}

static hb_status create_builder(builder *b)
{
    const size_t d = b->d, dd = d * d, n = COLLOCATION;
    HB_TRY(HB_WORKSPACE(b->context, &b->work, HB_ARRAY(b->f0, d), HB_ARRAY(b->A0, dd),
                        HB_ARRAY(b->phi, n * d), HB_ARRAY(b->phi0, d), HB_ARRAY(b->f, n * d),
                        HB_ARRAY(b->A, n * dd), HB_ARRAY(b->P, n * dd), HB_ARRAY(b->next, n * dd),
                        HB_ARRAY(b->t, n), HB_ARRAY(b->G, d * b->m), HB_ARRAY(b->PG, d * b->m),
                        HB_ARRAY(b->Phi, dd), HB_ARRAY(b->S, dd), HB_ARRAY(b->step, dd),
                        HB_ARRAY(b->other, dd)));
    HB_TRY(hb_quadrature_beta(b->context, 1, 1, COLLOCATION, b->node, b->weight));
    hb_collocation(COLLOCATION, b->node, b->weight, 0, b->behind[0]);
    return HB_OK;
}

hb_status hb_lag_frame_create(hb_context *context, const hb_problem *problem, const double *x,
                              double end, double lag, int frozen, hb_lag_frame *out, int *found,
                              int *singular)
{
    const size_t d = (size_t)hb_problem_dim(problem), n = HB_LAG_NODES;
    builder b = {.context = context, .problem = problem, .d = d, .end = end, .frozen = frozen};
    b.m = (size_t)hb_problem_noise_columns(problem);
    b.x = x;
    *out = (hb_lag_frame){.d = d, .lag = lag};
    *found = *singular = 0;
    hb_status status = HB_WORKSPACE(context, &out->work, HB_ARRAY(out->place, n * d),
                                    HB_ARRAY(out->drift, n * d), HB_ARRAY(out->jacobian, n * d * d),
                                    HB_ARRAY(out->white, n * d * d), HB_ARRAY(out->root, n * d * d),
                                    HB_ARRAY(out->log_top, n), HB_ARRAY(out->start, 1 + d));
    if (status == HB_OK) status = create_builder(&b);
    if (status == HB_OK) status = lag_frame_build(&b, out, found, singular);
    hb_workspace_destroy(&b.work);
    if (status != HB_OK || !*found) hb_lag_frame_destroy(out);
    return status;
}

void hb_lag_frame_destroy(hb_lag_frame *frame)
{
    hb_workspace_destroy(&frame->work);
    *frame = (hb_lag_frame){0};
}

/* ---- values ---- */

size_t hb_lag_work(size_t d)
{
    return 4 * d;
}

/* out = W v */
static void lag_frame_multiply(size_t d, const double *W, const double *v, double *out)
{
    for (size_t i = 0; i < d; i++) out[i] = hb_dot(d, W + i * d, v);
}

/* w = W (phi - y) at lag j, and ln h; gap: y - phi. */
static double log_kernel(const hb_lag_frame *f, size_t j, const double *y, double *gap, double *w)
{
    const size_t d = f->d;
    for (size_t i = 0; i < d; i++) gap[i] = y[i] - f->place[j * d + i];
    lag_frame_multiply(d, f->white + j * d * d, gap, w);
    for (size_t i = 0; i < d; i++) w[i] = -w[i];
    return f->log_top[j] - 0.5 * hb_dot(d, w, w);
}

double hb_lag_log_kernel(const hb_lag_frame *frame, const double *y, double *work)
{
    return log_kernel(frame, 0, y, work, work + frame->d);
}

static void add_value(const hb_lag_frame *f, size_t j, double a, const double *slope,
                      hb_lag_value *out)
{
    const size_t d = f->d;
    for (size_t rule = 0; rule < HB_LAG_RULES; rule++) {
        const double fraction = j == 0 ? 1 : 0.5 * f->lag * WEIGHTS[rule][(j - 1) % HALF_NODES];
        if (fraction == 0) continue;
        out->a[rule] += fraction * a;
        hb_axpy(d, fraction, slope, out->b + rule * d);
    }
}

void hb_lag_value_of(const hb_lag_frame *f, const double *const *y, const double *const *drift,
                     double log_scale, hb_lag_value *out, double *work)
{
    const size_t d = f->d;
    double *gap = work, *w = gap + d, *g = w + d, *q = g + d;
    memset(out->a, 0, sizeof out->a);
    memset(out->b, 0, HB_LAG_RULES * d * sizeof *out->b);
    if (f->from_start) {
        const double h = exp(f->start[0] - log_scale);
        for (size_t i = 0; i < d; i++) q[i] = h * f->start[1 + i];
        add_value(f, 0, h, q, out);
    }
    for (size_t j = f->from_start ? 1 : 0; j < HB_LAG_NODES; j++) {
        const double exponent = log_kernel(f, j, y[j], gap, w) - log_scale;
        if (!(exponent > -NEGLIGIBLE)) continue;
        const double h = exp(exponent);
        double a = h;
        for (size_t i = 0; j == 0 && i < d; i++) q[i] = -h * w[i];
        if (j > 0) {
            for (size_t i = 0; i < d; i++)
                g[i] = drift[j][i] - f->drift[j * d + i] -
                       hb_dot(d, f->jacobian + (j * d + i) * d, gap);
            lag_frame_multiply(d, f->white + j * d * d, g, q);
            const double along = hb_dot(d, q, w);
            a = h * along;
            for (size_t i = 0; i < d; i++) q[i] = h * (q[i] - along * w[i]);
        }
        hb_solve_upper(d, f->root + j * d * d, 1, q);
        add_value(f, j, a, q, out);
    }
}

/* ---- a correction that is not seen ---- */

/* Over lags that are so short that no path comes near, u hardly changes within the kernel, and
 *     int u R dy = u |det Phi|^-1 E[q.w],    y = phi - W^-1 w,   w ~ N(0, 1):
 * so the mean of |q.w| at each lag bounds the correction, and that of |L'^-1 (q - w (q.w))| its
 * gradient. */
static hb_status add_lag(hb_context *context, const hb_problem *problem, double t,
                         const hb_lag_frame *f, size_t j, double fraction, const double *normals,
                         double *rest, double *work)
{
    const size_t d = f->d, dd = d * d;
    double *W = work, *y = W + dd, *F = y + d, *g = F + d, *q = g + d, determinant = 1;
    int *pivots = (int *)(void *)(q + d);
    memcpy(W, f->white + j * dd, dd * sizeof *W);
    if (LAPACKE_dgetrf(LAPACK_ROW_MAJOR, (int)d, (int)d, W, (int)d, pivots) != 0)
        return hb_fail(context, HB_ERROR_NUMERICAL, "a flow that cannot be followed back");
    for (size_t i = 0; i < d; i++) determinant *= W[i * d + i] * f->root[j * dd + i * d + i];
    for (size_t n = 0; n < TRIALS; n++) {
        const double *w = normals + n * d;
        memcpy(g, w, d * sizeof *g);
        LAPACKE_dgetrs(LAPACK_ROW_MAJOR, 'N', (int)d, 1, W, (int)d, pivots, g, 1);
        for (size_t i = 0; i < d; i++) y[i] = f->place[j * d + i] - g[i];
        HB_TRY(hb_problem_drift_each(context, problem, 1, y, &t, F, NULL, NULL, NULL));
        for (size_t i = 0; i < d; i++)
            F[i] += hb_dot(d, f->jacobian + (j * d + i) * d, g) - f->drift[j * d + i];
        lag_frame_multiply(d, f->white + j * dd, F, q);
        const double along = hb_dot(d, q, w), part = fraction / fabs(determinant) / TRIALS;
        for (size_t i = 0; i < d; i++) q[i] -= along * w[i];
        hb_solve_upper(d, f->root + j * dd, 1, q);
        rest[0] += part * fabs(along);
        for (size_t i = 0; i < d; i++) rest[1 + i] += part * fabs(q[i]);
    }
    return HB_OK;
}

hb_status hb_lag_correction(hb_context *context, const hb_problem *problem, double end,
                            const hb_lag_frame *frame, double *rest)
{
    const size_t d = frame->d;
    double *normals;
    HB_TRY(HB_NEW(context, normals, TRIALS * d + d * d + 5 * d));
    hb_status status = hb_random_normal(context, 1, HB_STREAM_UNSEEN, 0, TRIALS * d, normals);
    memset(rest, 0, (1 + d) * sizeof *rest);
    for (size_t j = 1; j < HB_LAG_NODES && status == HB_OK; j++) {
        const double fraction = 0.5 * frame->lag * WEIGHTS[0][(j - 1) % HALF_NODES];
        status = add_lag(context, problem, fmax(end - frame->lag * hb_lag_parts[j], 0), frame, j,
                         fraction, normals, rest, normals + TRIALS * d);
    }
    for (size_t i = 0; i < d; i++) rest[1 + i] += rest[0] * fabs(frame->start[1 + i]);
    for (size_t i = 0; i <= d; i++)
        if (!isfinite(rest[i])) rest[i] = INFINITY;
    hb_release(context, normals);
    return status;
}
