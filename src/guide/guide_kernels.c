/* The polynomial of guide_kernels.h: loops over points inside of loops over terms.
 *
 * Nothing is summed across points and no product is fused, so every instruction set gives the same
 * bits. A number to reproduce: q1^2 q2 (c21 = 1) at (3, 5) has the value 45, the slopes 30 and 9,
 * the curvatures 10 and 0. */
#include "guide/guide_kernels.h"
#include "random/vector.h"

#include <math.h>
#include <string.h>

static const double TAIL = 3.5; /* standard deviations, where the fifth term begins */

/* ---- value, slope, curvature ---- */

static void single_value(const double *restrict c, size_t n, const double *restrict q,
                         double *restrict value, double *restrict slope, double *restrict curvature)
{
    for (size_t k = 0; k < n; k++) {
        const double x = q[k], away = fabs(x) - TAIL, far = away > 0 ? away : 0;
        value[k] +=
            x * (c[0] + x * (c[1] + x * (c[2] + x * c[3]))) + c[4] * (far * far) * (far * far);
        if (!slope) continue;
        const double turn = 4 * c[4] * far * far * far;
        slope[k] +=
            c[0] + x * (2 * c[1] + x * (3 * c[2] + x * (4 * c[3]))) + (x < 0 ? -turn : turn);
        curvature[k] += 2 * c[1] + x * (6 * c[2] + x * (12 * c[3])) + 12 * c[4] * far * far;
    }
}

static void pair_value(const double *restrict c, size_t n, const double *restrict qi,
                       const double *restrict qj, double *restrict value)
{
    for (size_t k = 0; k < n; k++) {
        const double x = qi[k], y = qj[k];
        value[k] += x * y * (c[0] + x * (c[1] + x * c[3]) + y * (c[2] + x * c[4] + y * c[5]));
    }
}

static void pair_slopes(const double *restrict c, size_t n, const double *restrict qi,
                        const double *restrict qj, double *restrict si, double *restrict sj,
                        double *restrict ci, double *restrict cj)
{
    for (size_t k = 0; k < n; k++) {
        const double x = qi[k], y = qj[k];
        si[k] += y * (c[0] + x * (2 * c[1] + 3 * c[3] * x) + y * (c[2] + 2 * c[4] * x + c[5] * y));
        sj[k] += x * (c[0] + x * (c[1] + c[3] * x) + y * (2 * c[2] + 2 * c[4] * x + 3 * c[5] * y));
        ci[k] += y * (2 * c[1] + 6 * c[3] * x + 2 * c[4] * y);
        cj[k] += x * (2 * c[2] + 2 * c[4] * x + 6 * c[5] * y);
    }
}

static void weak_value(double c, size_t n, const double *restrict qi, const double *restrict qj,
                       double *restrict value, double *restrict si, double *restrict sj)
{
    for (size_t k = 0; k < n; k++) {
        value[k] += c * qi[k] * qj[k];
        if (!si) continue;
        si[k] += c * qj[k];
        sj[k] += c * qi[k];
    }
}

static void triple_value(const double *c, size_t n, const double *qi, const double *qj,
                         const double *qk, double *value)
{
    for (size_t k = 0; k < n; k++) {
        const double x = qi[k], y = qj[k], z = qk[k];
        value[k] += x * y * z * (c[0] + c[1] * x + c[2] * y + c[3] * z);
    }
}

static void triple_slopes(const double *c, size_t n, const double *const q[3], double *const s[3],
                          double *const v[3])
{
    for (size_t k = 0; k < n; k++) {
        const double x = q[0][k], y = q[1][k], z = q[2][k];
        const double whole = c[0] + c[1] * x + c[2] * y + c[3] * z;
        s[0][k] += y * z * (whole + c[1] * x);
        s[1][k] += x * z * (whole + c[2] * y);
        s[2][k] += x * y * (whole + c[3] * z);
        v[0][k] += 2 * c[1] * y * z;
        v[1][k] += 2 * c[2] * x * z;
        v[2][k] += 2 * c[3] * x * y;
    }
}

static void guide_value(const hb_guide_basis *b, const double *c, size_t n, const double *q,
                        double *value, double *slope, double *curvature)
{
    memset(value, 0, n * sizeof *value);
    for (size_t i = 0; slope && i < b->dim * n; i++) slope[i] = curvature[i] = 0;
    for (size_t i = 0; i < b->dim; i++, c += HB_GUIDE_SINGLE)
        single_value(c, n, q + i * n, value, slope ? slope + i * n : NULL,
                     slope ? curvature + i * n : NULL);
    for (size_t p = 0; p < b->pairs; p++, c += HB_GUIDE_PAIR) {
        const size_t i = (size_t)b->axes[p][0] * n, j = (size_t)b->axes[p][1] * n;
        pair_value(c, n, q + i, q + j, value);
        if (slope)
            pair_slopes(c, n, q + i, q + j, slope + i, slope + j, curvature + i, curvature + j);
    }
    for (size_t p = b->pairs; p < b->pairs + b->weak; p++, c++) {
        const size_t i = (size_t)b->axes[p][0] * n, j = (size_t)b->axes[p][1] * n;
        weak_value(*c, n, q + i, q + j, value, slope ? slope + i : NULL, slope ? slope + j : NULL);
    }
    for (size_t p = b->pairs + b->weak; p < b->pairs + b->weak + b->triples;
         p++, c += HB_GUIDE_TRIPLE) {
        const int *at = b->axes[p];
        const size_t i = (size_t)at[0] * n, j = (size_t)at[1] * n, k = (size_t)at[2] * n;
        triple_value(c, n, q + i, q + j, q + k, value);
        if (slope)
            triple_slopes(c, n, (const double *[]){q + i, q + j, q + k},
                          (double *[]){slope + i, slope + j, slope + k},
                          (double *[]){curvature + i, curvature + j, curvature + k});
    }
}

/* ---- Hessian times a vector, gradient of the weighted curvature ---- */

static void single_turn(const double *restrict c, size_t n, const double *restrict q,
                        const double *restrict a, const double *restrict w, double *restrict turned,
                        double *restrict lean)
{
    for (size_t k = 0; k < n; k++) {
        const double x = q[k], away = fabs(x) - TAIL, far = away > 0 ? away : 0;
        const double turn = 24 * c[4] * far;
        turned[k] += a[k] * (2 * c[1] + x * (6 * c[2] + x * (12 * c[3])) + 12 * c[4] * far * far);
        lean[k] += w[k] * (6 * c[2] + 24 * c[3] * x + (x < 0 ? -turn : turn));
    }
}

/* Two coordinates, i and j, of the columns that the whole has. */
typedef struct turn_columns {
    const double *q[3], *a[3], *w[3];
    double *turned[3], *lean[3];
} turn_columns;

static void pair_turn(const double *c, size_t n, const turn_columns *t)
{
    const double *restrict qi = t->q[0], *restrict qj = t->q[1], *restrict ai = t->a[0],
                           *restrict aj = t->a[1], *restrict wi = t->w[0], *restrict wj = t->w[1];
    double *restrict ti = t->turned[0], *restrict tj = t->turned[1], *restrict li = t->lean[0],
                     *restrict lj = t->lean[1];
    for (size_t k = 0; k < n; k++) {
        const double x = qi[k], y = qj[k];
        const double xx = y * (2 * c[1] + 6 * c[3] * x + 2 * c[4] * y);
        const double yy = x * (2 * c[2] + 2 * c[4] * x + 6 * c[5] * y);
        const double xy =
            c[0] + x * (2 * c[1] + 3 * c[3] * x) + y * (2 * c[2] + 4 * c[4] * x + 3 * c[5] * y);
        const double xxy = 2 * c[1] + 6 * c[3] * x + 4 * c[4] * y;
        ti[k] += xx * ai[k] + xy * aj[k];
        tj[k] += xy * ai[k] + yy * aj[k];
        li[k] += wi[k] * (6 * c[3] * y) + wj[k] * (2 * c[2] + 4 * c[4] * x + 6 * c[5] * y);
        lj[k] += wi[k] * xxy + wj[k] * (6 * c[5] * x);
    }
}

static void triple_turn(const double *c, size_t n, const turn_columns *t)
{
    for (size_t k = 0; k < n; k++) {
        const double x = t->q[0][k], y = t->q[1][k], z = t->q[2][k];
        const double a = t->a[0][k], b = t->a[1][k], e = t->a[2][k];
        const double u = t->w[0][k] * c[1], v = t->w[1][k] * c[2], w = t->w[2][k] * c[3];
        const double whole = c[0] + c[1] * x + c[2] * y + c[3] * z;
        const double xy = z * (whole + c[1] * x + c[2] * y), xz = y * (whole + c[1] * x + c[3] * z),
                     yz = x * (whole + c[2] * y + c[3] * z);
        t->turned[0][k] += 2 * c[1] * y * z * a + xy * b + xz * e;
        t->turned[1][k] += xy * a + 2 * c[2] * x * z * b + yz * e;
        t->turned[2][k] += xz * a + yz * b + 2 * c[3] * x * y * e;
        t->lean[0][k] += 2 * (v * z + w * y);
        t->lean[1][k] += 2 * (u * z + w * x);
        t->lean[2][k] += 2 * (u * y + v * x);
    }
}

static void guide_turn(const hb_guide_basis *b, const double *c, size_t n, const double *q,
                       const double *a, const double *w, double *turned, double *lean)
{
    for (size_t i = 0; i < b->dim * n; i++) turned[i] = lean[i] = 0;
    for (size_t i = 0; i < b->dim; i++, c += HB_GUIDE_SINGLE)
        single_turn(c, n, q + i * n, a + i * n, w + i * n, turned + i * n, lean + i * n);
    for (size_t p = 0; p < b->pairs + b->weak + b->triples; p++) {
        const int weak = p >= b->pairs && p < b->pairs + b->weak, triple = p >= b->pairs + b->weak;
        turn_columns t = {0};
        for (int m = 0; m < 2 + triple; m++) {
            const size_t at = (size_t)b->axes[p][m] * n;
            t.q[m] = q + at, t.a[m] = a + at, t.w[m] = w + at;
            t.turned[m] = turned + at, t.lean[m] = lean + at;
        }
        for (size_t k = 0; weak && k < n; k++) {
            t.turned[0][k] += *c * t.a[1][k];
            t.turned[1][k] += *c * t.a[0][k];
        }
        if (triple)
            triple_turn(c, n, &t);
        else if (!weak)
            pair_turn(c, n, &t);
        c += weak ? 1 : triple ? HB_GUIDE_TRIPLE : HB_GUIDE_PAIR;
    }
}

const hb_guide_kernel ISA_NAME(hb_guide_kernel) = {guide_value, guide_turn};
