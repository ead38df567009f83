/* Linear drifts: the answer without a draw, and its numerical error.
 *
 * A drift c(tau) + A(tau) x moves Gaussians to Gaussians (linear_path.c). Two formulas for the
 * density:
 *     backward   u(x) = e^-w E[u0(E x + n + N(0, C))],      score E' grad ln E[u0],
 *     forward    u(x) = sum_k w_k N(x; G mu_k + p, G S_k G' + D)     (sums of Gaussians only).
 * Both are evaluated, each with its fine and its rough frame; the one with the smaller error is
 * taken: twice the difference of fine and rough, and ROUNDING units of the last place of what is
 * added up,
 *     ln u:   |ln u| + |w| + d + sum_i |gamma_i| size_i + gap'gamma,
 *     score:  |score_k| + max_j size_j/spread_jj, times |E'|,
 * size_i the sum of the sizes in E x + n, gamma the gradient there. Where the noise is a matrix the
 * covariance may be nearly singular: the last terms are replaced by twice the largest change over
 * SHAKES frames whose entries are changed by SHAKE units of the last place with random signs.
 * A number to reproduce: F = -x from N(1, 0.5) at tau = 0.5, x = 0.7: u = 0.4392625993098471. */
#include "walk/walk_linear.h"
#include "base/context.h"
#include "base/memory.h"
#include "path/linear_path.h"
#include "problem/initial/initial_average.h"
#include "problem/noise.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { SHAKES = 4, MANY = 64 }; /* dimensions from which a matrix goes one way only */

static const double ROUNDING = 16 * DBL_EPSILON, SHAKE = 8 * DBL_EPSILON;

/* ---- frames --------------------------------------------------------------------------------- */

static int is_diagonal(size_t d, const double *A)
{
    for (size_t k = 0; k < d * d; k++)
        if (k / d != k % d && A[k] != 0) return 0;
    return 1;
}

/* One of -1 and 1. */
static double linear_sign_of(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 63 ? 1 : -1;
}

static void linear_shake(size_t d, const double *frame, uint64_t state, double *out)
{
    const size_t dd = d * d;
    const double *C = frame + dd;
    for (size_t k = 0; k < hb_linear_path_size(d); k++)
        out[k] = frame[k] * (1 + SHAKE * linear_sign_of(&state));
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++)
            out[dd + i * d + j] = out[dd + j * d + i] =
                C[i * d + j] + SHAKE * linear_sign_of(&state) * sqrt(C[i * d + i] * C[j * d + j]);
}

/* Frames of one flow into memory, (2, size), and, of a noise matrix, SHAKES more behind. */
static hb_status find_frames(hb_context *context, const hb_walk_linear *l, double tau, double flow,
                             double *memory, hb_linear_frames *out)
{
    const size_t size = hb_linear_path_size(l->d);
    int found;
    HB_TRY(hb_linear_path(context, l->problem, tau, flow, memory, memory + size, &found));
    if (!found) return HB_OK;
    *out = (hb_linear_frames){.fine = memory, .rough = memory + size};
    if (hb_problem_noise_kind(l->problem) != HB_NOISE_MATRIX) return HB_OK;
    out->shaken = memory + 2 * size;
    for (size_t k = 0; k < SHAKES; k++) linear_shake(l->d, memory, k + 1, memory + (2 + k) * size);
    return HB_OK;
}

hb_status hb_walk_linear_find(hb_context *context, const hb_problem *problem, double tau,
                              hb_walk_linear *out)
{
    const size_t d = (size_t)hb_problem_dim(problem), size = hb_linear_path_size(d);
    const int moves = hb_initial_moves(problem);
    const int matrix = hb_problem_noise_kind(problem) == HB_NOISE_MATRIX;
    void *memory;
    *out = (hb_walk_linear){.problem = problem, .d = d};
    if (!hb_problem_is_linear(problem)) return HB_OK;
    const size_t each = (2 + (matrix ? SHAKES : 0)) * size;
    HB_TRY(hb_allocate(context, 2 * each, sizeof(double), &memory));
    out->memory = memory;
    hb_status status = HB_OK;
    if (!(moves && matrix && d > MANY))
        status = find_frames(context, out, tau, 1, memory, &out->backward);
    if (moves && status == HB_OK)
        status = find_frames(context, out, tau, -1, (double *)memory + each, &out->forward);
    if (status != HB_OK || !(out->backward.fine || out->forward.fine))
        hb_walk_linear_clear(context, out);
    const double *any = out->backward.fine ? out->backward.fine : out->forward.fine;
    out->diagonal = any && is_diagonal(d, any) && is_diagonal(d, any + d * d);
    return status;
}

void hb_walk_linear_clear(hb_context *context, hb_walk_linear *linear)
{
    hb_release(context, linear->memory);
    *linear = (hb_walk_linear){.problem = linear->problem, .d = linear->d};
}

int hb_walk_linear_is_closed(const hb_walk_linear *linear)
{
    return linear->forward.fine ||
           (linear->backward.fine &&
            hb_initial_average_is_closed(linear->problem, linear->diagonal));
}

/* ---- values --------------------------------------------------------------------------------- */

typedef struct closed_value {
    double log_value, rounding; /* ln u, and what its rounding may be */
    double steep;               /* of the score's, before |E'| */
} closed_value;

size_t hb_walk_linear_work(const hb_walk_linear *linear)
{
    const size_t d = linear->d, a = hb_initial_moved_work(linear->problem),
                 b = hb_initial_average_work(linear->problem) + 4 * d;
    return 3 * d + (a > b ? a : b);
}

/* size_i = sum_j |M_ij| |x_j| + |n_i| */
static double linear_size_of(size_t d, size_t i, const double *M, const double *x, const double *n)
{
    double sum = fabs(n[i]);
    for (size_t j = 0; j < d; j++) sum += fabs(M[i * d + j] * x[j]);
    return sum;
}

static closed_value backward_value(const hb_walk_linear *l, const double *frame, const double *x,
                                   double *score, double *work)
{
    const size_t d = l->d, dd = d * d;
    const double *E = frame, *C = E + dd, *n = C + dd;
    double *mean = work, *gamma = mean + d, *variance = gamma + d, *scratch = variance + d;
    closed_value out = {.rounding = (double)d + fabs(n[d])};
    for (size_t i = 0; i < d; i++) {
        mean[i] = n[i];
        variance[i] = C[i * d + i];
        for (size_t j = 0; j < d; j++) mean[i] += E[i * d + j] * x[j];
    }
    const hb_gaussian gaussian = {.mean = mean,
                                  .variance = l->diagonal ? variance : NULL,
                                  .covariance = l->diagonal ? NULL : C};
    hb_initial_average(l->problem, &gaussian, scratch, &out.log_value, gamma);
    for (size_t i = 0; i < d; i++) {
        const double size = linear_size_of(d, i, E, x, n);
        out.rounding += fabs(gamma[i]) * (size + variance[i] * fabs(gamma[i]));
        out.steep = fmax(out.steep, size / variance[i]);
        score[i] = 0;
        for (size_t j = 0; j < d; j++) score[i] += E[j * d + i] * gamma[j];
    }
    double growth = 0;
    for (size_t k = 0; k < dd; k++) growth = fmax(growth, fabs(E[k]));
    out.steep *= growth;
    out.log_value -= n[d];
    out.rounding += fabs(out.log_value);
    return out;
}

static closed_value linear_forward_value(const hb_walk_linear *l, const double *frame,
                                         const double *x, double *score, double *work)
{
    const size_t d = l->d, dd = d * d;
    const double *G = frame, *D = G + dd, *shift = D + dd;
    closed_value out = {.rounding = (double)d};
    hb_initial_moved(l->problem, G, shift, D, x, work, &out.log_value, score);
    /* y = S^-1 (mean - x) is the gradient by x itself */
    for (size_t i = 0; i < d; i++) {
        const double size = fabs(x[i]) + fabs(shift[i]);
        out.rounding += fabs(score[i]) * (size + D[i * d + i] * fabs(score[i]));
        out.steep = fmax(out.steep, size / D[i * d + i]);
    }
    out.rounding += fabs(out.log_value);
    return out;
}

typedef closed_value (*value_function)(const hb_walk_linear *l, const double *frame,
                                       const double *x, double *score, double *work);

/* most[1 + d]: the largest changes of ln u and the score by shaken frames; NaN: no value. */
static void shaken_changes(const hb_walk_linear *l, value_function function, const double *shaken,
                           const double *x, const double *value, double *most, double *work)
{
    const size_t d = l->d;
    for (size_t k = 0; k < SHAKES; k++) {
        const closed_value b = function(l, shaken + k * hb_linear_path_size(d), x, work, work + d);
        for (size_t j = 0; j <= d; j++) {
            const double change = fabs((j == 0 ? b.log_value : work[j - 1]) - value[j]);
            if (!(change <= most[j])) most[j] = change;
        }
    }
}

/* value and error: (1 + d), the first for ln u. Returns the error of ln u. */
static double value_with_error(const hb_walk_linear *l, value_function function,
                               const hb_linear_frames *frames, const double *x, double *value,
                               double *error, double *work)
{
    const size_t d = l->d;
    const closed_value a = function(l, frames->fine, x, value + 1, work + d);
    const double steep = frames->shaken ? 0 : a.steep;
    value[0] = a.log_value;
    memset(error, 0, (1 + d) * sizeof *error);
    if (frames->shaken) shaken_changes(l, function, frames->shaken, x, value, error, work);
    const closed_value b = function(l, frames->rough, x, work, work + d);
    error[0] = 2 * (error[0] + fabs(a.log_value - b.log_value)) + ROUNDING * a.rounding;
    for (size_t k = 0; k < d; k++)
        error[1 + k] = 2 * (error[1 + k] + fabs(value[1 + k] - work[k])) +
                       ROUNDING * (fabs(value[1 + k]) + steep);
    for (size_t k = 0; k <= d && frames->shaken; k++)
        if (isnan(error[k])) error[k] = INFINITY;
    return isnan(error[0]) ? INFINITY : error[0];
}

void hb_walk_linear_value(const hb_walk_linear *l, const double *x, double *value, double *error,
                          double *other, double *work)
{
    const size_t d = l->d, bytes = (1 + d) * sizeof *value;
    double least = INFINITY, *error2 = other + 1 + d;
    for (size_t k = 0; k <= d; k++) {
        value[k] = NAN;
        error[k] = INFINITY;
    }
    if (l->backward.fine && hb_initial_average_is_closed(l->problem, l->diagonal))
        least = value_with_error(l, backward_value, &l->backward, x, value, error, work);
    if (!l->forward.fine ||
        !(value_with_error(l, linear_forward_value, &l->forward, x, other, error2, work) < least))
        return;
    memcpy(value, other, bytes);
    memcpy(error, error2, bytes);
}
