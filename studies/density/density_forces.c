/* Wells and what moves between them, for the sets of the plane with a force field: two, muller.
 *
 * On a mesh of the square |z_i| <= 4 with e^v at tau_min made 1:
 *     occupation  root mean square over wells of ln(mass of the estimate/mass of the truth)
 *     spurious    mass where the true density is below 1e-6 of its largest value
 * On the path between the wells, with its largest true density at A and its lowest at S:
 *     barrier     error of v(A) - v(S), nats; barrier_exact: the true value
 * By Langevin dynamics dz = s(z,tau_min) dt + sqrt(2) dW from rows of the data, Euler's scheme:
 *     langevin_spurious  fraction of the chains that end where the truth is below 1e-6
 *     langevin_ln_p      mean true ln p at their ends minus its expectation, by the mesh
 * Wells of two: nearest mean; of muller: split at its saddles along straight lines. Normals of
 * stream (8 << 32). */
#include "density.h"

#include <heatball/random.h>

#include <math.h>
#include <stdlib.h>

enum { WELLS = 3 };
#define SIDE 4.0
#define TIME_STEP 1e-3
static const double RARE = -13.815510557964274;   /* ln 1e-6 */
static const double MIDDLE = -0.7276068751089989; /* of two: -3/sqrt(17) in both coordinates */

/* Through both centres of two; through minima and saddles of muller: (DENSITY_LINE, 2). */
static void density_path(const hb_mixture *truth, double *x)
{
    static const double through[7][2] = {{-0.65, 1.75},  {-0.558, 1.442}, {-0.822, 0.624},
                                         {-0.05, 0.467}, {0.212, 0.293},  {0.623, 0.028},
                                         {0.8, -0.15}};
    for (int k = 0; k < DENSITY_LINE; k++)
        for (int c = 0; c < 2; c++) {
            const int piece = k < 120 ? k / 20 : 5;
            const double from = through[piece][c], to = through[piece + 1][c];
            const double at = from + (to - from) * (k / 20.0 - piece);
            x[2 * k + c] =
                truth ? (k - 60) / 30.0 + MIDDLE : (at - hb_density_centre[c]) / hb_density_scale;
        }
}

static int well_of(const hb_mixture *truth, const double *z)
{
    if (truth) return z[0] + z[1] > 2 * MIDDLE;
    const double x = hb_density_centre[0] + hb_density_scale * z[0],
                 y = hb_density_centre[1] + hb_density_scale * z[1];
    return y - x > 1.446 ? 0 : 1 + (0.84 * (x - 0.212) - 0.55 * (y - 0.293) > 0);
}

/* x: (n, 2), exact, v: (n); end: the largest true ln p and its expectation. */
static void judge_mesh(const hb_mixture *truth, size_t n, const double *x, const double *exact,
                       const double *v, double end[2], hb_trial *trial)
{
    double top[2] = {-INFINITY, -INFINITY}, sum[2] = {0}, mass[2][WELLS] = {{0}}, rare = 0,
           square = 0, expected = 0;
    int wells = 0;
    for (size_t i = 0; i < n; i++) top[0] = fmax(top[0], exact[i]), top[1] = fmax(top[1], v[i]);
    for (size_t i = 0; i < n; i++) {
        const double p = exp(exact[i] - top[0]), q = exp(v[i] - top[1]);
        const int well = well_of(truth, x + 2 * i);
        sum[0] += p, sum[1] += q;
        mass[0][well] += p, mass[1][well] += q;
        expected += p * exact[i];
        rare += exact[i] - top[0] < RARE ? q : 0;
    }
    for (; wells < WELLS && mass[0][wells] > 0; wells++)
        square += pow(log(mass[1][wells] / sum[1] / (mass[0][wells] / sum[0])), 2);
    trial->value[DENSITY_OCCUPATION] = sqrt(square / wells);
    trial->value[DENSITY_SPURIOUS] = rare / sum[1];
    end[0] = top[0], end[1] = expected / sum[0];
}

static hb_status judge_line(hb_context *context, const hb_mixture *truth,
                            const hb_density_estimate *estimate, hb_trial *trial)
{
    double x[2 * DENSITY_LINE], *line = hb_density_line_of(trial), *exact = line + DENSITY_LINE;
    int top = 0, saddle = DENSITY_LINE / 2; /* in the middle or, of muller, in the next well */
    density_path(truth, x);
    HB_TRY(hb_density_at(context, estimate, DENSITY_LINE, x, DENSITY_TAU_MIN, line, NULL));
    HB_TRY(hb_density_exact(context, truth, DENSITY_LINE, x, DENSITY_TAU_MIN, exact, NULL));
    for (int k = 0; k < DENSITY_LINE; k++) top = exact[k] > exact[top] ? k : top;
    for (int k = 20; k < DENSITY_LINE - 20; k++) saddle = exact[k] < exact[saddle] ? k : saddle;
    trial->value[DENSITY_BARRIER_EXACT] = exact[top] - exact[saddle];
    trial->value[DENSITY_BARRIER] = line[top] - line[saddle] - (exact[top] - exact[saddle]);
    return HB_OK;
}

/* scratch: (chains, 7). */
static hb_status judge_walk(hb_context *context, const hb_density_size *size,
                            const hb_mixture *truth, const hb_density_estimate *estimate,
                            const double end[2], double *scratch, hb_trial *trial)
{
    const size_t n = (size_t)size->chains;
    double *x = scratch, *v = x + 2 * n, *score = v + n, *noise = score + 2 * n;
    double rare = 0, sum = 0;
    HB_TRY(hb_density_draw(context, truth, trial->seed, 0, n, 0, x, NULL));
    for (int k = 0; k < size->moves; k++) {
        HB_TRY(hb_random_normal(context, trial->seed, UINT64_C(8) << 32, (uint64_t)k * 2 * n, 2 * n,
                                noise));
        HB_TRY(hb_density_at(context, estimate, n, x, DENSITY_TAU_MIN, v, score));
        for (size_t i = 0; i < 2 * n; i++)
            x[i] += TIME_STEP * score[i] + sqrt(2 * TIME_STEP) * noise[i];
    }
    HB_TRY(hb_density_exact(context, truth, n, x, DENSITY_TAU_MIN, v, NULL));
    for (size_t i = 0; i < n; i++) rare += v[i] - end[0] < RARE, sum += v[i];
    trial->value[DENSITY_LANGEVIN_SPURIOUS] = rare / (double)n;
    trial->value[DENSITY_LANGEVIN_LN_P] = sum / (double)n - end[1];
    return HB_OK;
}

hb_status hb_density_forces(hb_context *context, const hb_density_size *size,
                            const hb_mixture *truth, const hb_density_estimate *estimate,
                            hb_trial *trial)
{
    const size_t side = (size_t)size->lattice, n = side * side, chains = (size_t)size->chains;
    double end[2];
    void *memory;
    HB_TRY(hb_study_allocate(context, 4 * n + 7 * chains, sizeof(double), &memory));
    double *x = memory, *exact = x + 2 * n, *v = exact + n;
    for (size_t i = 0; i < 2 * n; i++)
        x[i] = SIDE * (2 * (double)(i % 2 ? i / 2 / side : i / 2 % side) / (double)(side - 1) - 1);
    hb_status status = hb_density_exact(context, truth, n, x, DENSITY_TAU_MIN, exact, NULL);
    if (status == HB_OK) status = hb_density_at(context, estimate, n, x, DENSITY_TAU_MIN, v, NULL);
    judge_mesh(truth, n, x, exact, v, end, trial);
    if (status == HB_OK) status = judge_line(context, truth, estimate, trial);
    if (status == HB_OK && trial->method != DENSITY_KDE) /* 20000 kernels for each move */
        status = judge_walk(context, size, truth, estimate, end, v + n, trial);
    free(memory);
    return status;
}
