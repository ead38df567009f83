/* The Mueller-Brown potential at kT = 23 (K. Mueller, L. D. Brown, Theor. Chim. Acta 53 (1979) 75).
 *
 *     V(x,y) = sum_k A_k exp(a_k (x-x_k)^2 + b_k (x-x_k)(y-y_k) + c_k (y-y_k)^2)
 *     p(z) = exp(-V/kT - ln_z),   z = (x - centre)/scale: mean 0 and mean variance 1
 * centre, scale and ln_z by the rule of midpoints on a mesh of CELLS^2 cells over the box, whose
 * border has V above 300. Draws: a cell by the inverse of its distribution with a bound of the
 * density in each cell, a uniform point in it, accepted with density over bound. The bound is 1.1
 * times the largest of nine points; V changes by less between them. At tau
 *     u(z,tau) = a^-2 E[p((z - sqrt(b) n)/a)],  n ~ N(0, I),  a = e^-tau,  b = 1 - a^2,
 * by the trapezoidal rule in n, which converges faster than any power for smooth p; its gradient is
 * -E[n p]/(sqrt(b) E[p]). Uniforms of stream (6 << 32), for draws after `first` (6 << 32) + 1.
 *
 * Must reproduce: minima V = -146.70 at (-0.558, 1.442), -108.17 at (0.623, 0.028), -80.77 at
 * (-0.050, 0.467); saddles -40.66 at (-0.822, 0.624), -72.25 at (0.212, 0.293). */
#include "density.h"

#include <heatball/random.h>

#include <math.h>
#include <stdlib.h>

enum { CELLS = 160, TRIES = 2048 };
#define KT 23.0
static const double LOW[2] = {-1.9, -0.8}, STEP[2] = {3.4 / CELLS, 3.2 / CELLS};

static double log_p(double x, double y) /* -V/kT */
{
    static const double A[] = {-200, -100, -170, 15}, a[] = {-1, -1, -6.5, 0.7},
                        b[] = {0, 0, 11, 0.6}, c[] = {-10, -10, -6.5, 0.7}, x0[] = {1, 0, -0.5, -1},
                        y0[] = {0, 0.5, 1.5, 1};
    double v = 0;
    for (int k = 0; k < 4; k++) {
        const double dx = x - x0[k], dy = y - y0[k];
        v += A[k] * exp(fmin(50, a[k] * dx * dx + b[k] * dx * dy + c[k] * dy * dy));
    }
    return -v / KT;
}

static double cell_at(int i, int axis, double part)
{
    return LOW[axis] + STEP[axis] * ((axis ? i / CELLS : i % CELLS) + part);
}

void hb_density_muller_make(hb_density_truth *out)
{
    double mass = 0, first[2] = {0}, second[2] = {0};
    for (int i = 0; i < CELLS * CELLS; i++) {
        const double x[2] = {cell_at(i, 0, 0.5), cell_at(i, 1, 0.5)}, p = exp(log_p(x[0], x[1]));
        mass += p;
        for (int c = 0; c < 2; c++) first[c] += p * x[c], second[c] += p * x[c] * x[c];
    }
    double variance = 0;
    for (int c = 0; c < 2; c++) {
        out->centre[c] = first[c] / mass;
        variance += 0.5 * (second[c] / mass - out->centre[c] * out->centre[c]);
    }
    out->scale = sqrt(variance);
    out->ln_z = log(mass * STEP[0] * STEP[1] / variance);
}

/* ---- draws ---- */

/* Sums of the bounds of the cells before and with each, and the bounds: (CELLS^2), twice. */
static void fill_bounds(double *sum, double *bound)
{
    double total = 0;
    for (int i = 0; i < CELLS * CELLS; i++) {
        double most = 0;
        for (int k = 0; k < 9; k++)
            most = fmax(most, exp(log_p(cell_at(i, 0, 0.5 * (k % 3)),
                                        cell_at(i, 1, 0.5 * (double)(k / 3)))));
        bound[i] = 1.1 * most;
        sum[i] = total += bound[i];
    }
}

static int find_cell(const double *sum, double u)
{
    int low = 0, high = CELLS * CELLS - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (sum[middle] > u * sum[CELLS * CELLS - 1])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

hb_status hb_density_muller_draw(hb_context *context, const hb_density_truth *truth, uint64_t seed,
                                 uint64_t first, size_t n, double *x)
{
    double u[4 * TRIES];
    void *memory;
    HB_TRY(hb_study_allocate(context, (size_t)2 * CELLS * CELLS, sizeof(double), &memory));
    double *sum = memory, *bound = sum + CELLS * CELLS;
    fill_bounds(sum, bound);
    hb_status status = HB_OK;
    size_t made = 0;
    for (uint64_t batch = 0; made < n && status == HB_OK; batch++) {
        status = hb_random_uniform(context, seed, (UINT64_C(6) << 32) + (first != 0),
                                   4 * TRIES * batch, (size_t)4 * TRIES, u);
        for (size_t k = 0; k < TRIES && made < n; k++) {
            const int cell = find_cell(sum, u[4 * k]);
            const double at[2] = {cell_at(cell, 0, u[4 * k + 1]), cell_at(cell, 1, u[4 * k + 2])};
            if (u[4 * k + 3] * bound[cell] > exp(log_p(at[0], at[1]))) continue;
            for (int c = 0; c < 2; c++)
                x[2 * made + (size_t)c] = (at[c] - truth->centre[c]) / truth->scale;
            made++;
        }
    }
    free(memory);
    return status;
}

/* ---- the density at tau ---- */

static void exact_at(const hb_density_truth *truth, const double *z, double tau, double *v,
                     double *score)
{
    const double a = exp(-tau), root = sqrt(-expm1(-2 * tau)), most = 6;
    const double h = 0.75 * fmin(1, 0.15 / root);
    const int side = (int)ceil(most / h);
    double top = -INFINITY, sum[3] = {0};
    for (int i = -side; i <= side; i++)
        for (int j = -side; j <= side; j++) {
            const double n[2] = {h * i, h * j};
            double at[2];
            for (int c = 0; c < 2; c++)
                at[c] = truth->centre[c] + truth->scale * (z[c] - root * n[c]) / a;
            const double term = log_p(at[0], at[1]) - 0.5 * (n[0] * n[0] + n[1] * n[1]);
            if (term > top) {
                for (int c = 0; c < 3; c++) sum[c] *= exp(top - term);
                top = term;
            }
            const double e = term - top > -40 ? exp(term - top) : 0;
            sum[0] += e, sum[1] += e * n[0], sum[2] += e * n[1];
        }
    *v = top + log(sum[0] * h * h / (2 * M_PI)) + 2 * tau - truth->ln_z;
    for (int c = 0; c < 2 && score; c++) score[c] = -sum[1 + c] / (root * sum[0]);
}

void hb_density_muller_exact(const hb_density_truth *truth, size_t n, const double *x, double tau,
                             double *v, double *score)
{
    for (size_t i = 0; i < n; i++)
        exact_at(truth, x + 2 * i, tau, &v[i], score ? score + 2 * i : NULL);
}
