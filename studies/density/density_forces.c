/* Wells and what moves between them, for the sets of the plane with a force field: two, muller.
 *
 * On a mesh of the square |z_i| <= 4 with e^v at tau_min made 1:
 *     occupation  root mean square over wells of ln(mass of the estimate/mass of the truth)
 *     spurious    mass where the true density is below 1e-6 of its largest value
 * On the path between the wells, with its highest and its lowest true density at points A and S:
 *     barrier     error of v(A) - v(S), nats; barrier_exact: the true value
 * By Langevin dynamics dz = s(z,tau_min) dt + sqrt(2) dW, Euler's scheme with dt = 0.001 from rows
 * of the data on:
 *     langevin_spurious  fraction of the chains at the end where the truth is below 1e-6
 *     langevin_ln_p      mean true ln p at their ends minus its expectation, by the mesh; chains of
 *                        the exact score give the bias of the scheme, -0.02 at most
 * Wells of two: nearest mean. Of muller, split at its saddles along straight lines:
 *     A: y - x > 1.446;  else C: 0.84 (x - 0.212) - 0.55 (y - 0.293) < 0;  else B.
 * Normals of stream (8 << 32). */
#include "density.h"

#include <heatball/random.h>

#include <math.h>
#include <stdlib.h>

enum { WELLS = 3 };
#define SIDE 4.0
#define TIME_STEP 1e-3
static const double RARE = -13.815510557964274;   /* ln 1e-6 */
static const double MIDDLE = -0.7276068751089989; /* of two: -3/sqrt(17) in both coordinates */

/* x, its ends beyond the outer wells: straight from centre to centre, or through minima and saddles
 * (density_muller.c). */
static void density_path(const hb_density_truth *truth, double *x)
{
    static const double through[7][2] = {{-0.65, 1.75},  {-0.558, 1.442}, {-0.822, 0.624},
                                         {-0.05, 0.467}, {0.212, 0.293},  {0.623, 0.028},
                                         {0.8, -0.15}};
    for (int k = 0; k < DENSITY_LINE; k++) {
        const double s = k / (DENSITY_LINE - 1.0), along = fmin(6 * s, 5.999999);
        const int piece = (int)along;
        for (int c = 0; c < 2; c++) {
            const double from = through[piece][c], to = through[piece + 1][c];
            const double at = from + (to - from) * (6 * s - piece);
            x[2 * k + c] =
                truth->mixture ? 4 * (s - 0.5) + MIDDLE : (at - truth->centre[c]) / truth->scale;
        }
    }
}

static int well_of(const hb_density_truth *truth, const double *z)
{
    if (truth->mixture) return z[0] + z[1] > 2 * MIDDLE;
    const double x = truth->centre[0] + truth->scale * z[0],
                 y = truth->centre[1] + truth->scale * z[1];
    return y - x > 1.446 ? 0 : 1 + (0.84 * (x - 0.212) - 0.55 * (y - 0.293) > 0);
}

typedef struct mesh {
    size_t n;
    double *x, *truth, *v; // (n, 2), (n), (n)
    double top, expected;  /* the largest true ln p; its expectation */
} mesh;

static hb_status mesh_make(hb_context *context, size_t side, const hb_density_truth *truth,
                           const hb_density_estimate *estimate, mesh *m)
{
    void *memory;
    *m = (mesh){.n = side * side, .top = -INFINITY};
    HB_TRY(hb_study_allocate(context, 4 * m->n, sizeof(double), &memory));
    m->x = memory;
    m->truth = m->x + 2 * m->n;
    m->v = m->truth + m->n;
    for (size_t i = 0; i < m->n; i++)
        for (size_t c = 0; c < 2; c++)
            m->x[2 * i + c] =
                SIDE * (2 * (double)(c ? i / side : i % side) / ((double)side - 1) - 1);
    HB_TRY(hb_density_exact(context, truth, m->n, m->x, DENSITY_TAU_MIN, m->truth, NULL));
    for (size_t i = 0; i < m->n; i++) m->top = fmax(m->top, m->truth[i]);
    return hb_density_at(context, estimate, m->n, m->x, DENSITY_TAU_MIN, m->v, NULL);
}

static void judge_mesh(const hb_density_truth *truth, mesh *m, hb_trial *trial)
{
    double top = -INFINITY, sum[2] = {0}, mass[2][WELLS] = {{0}}, rare = 0, square = 0;
    int wells = 0;
    for (size_t i = 0; i < m->n; i++) top = fmax(top, m->v[i]);
    for (size_t i = 0; i < m->n; i++) {
        const double p = exp(m->truth[i] - m->top), q = exp(m->v[i] - top);
        const int well = well_of(truth, m->x + 2 * i);
        sum[0] += p, sum[1] += q;
        mass[0][well] += p, mass[1][well] += q;
        m->expected += p * m->truth[i];
        if (m->truth[i] - m->top < RARE) rare += q;
    }
    m->expected /= sum[0];
    for (int w = 0; w < WELLS && mass[0][w] > 0; w++, wells++)
        square += pow(log(mass[1][w] / sum[1]) - log(mass[0][w] / sum[0]), 2);
    trial->value[DENSITY_OCCUPATION] = sqrt(square / wells);
    trial->value[DENSITY_SPURIOUS] = rare / sum[1];
}

static hb_status judge_line(hb_context *context, const hb_density_truth *truth,
                            const hb_density_estimate *estimate, hb_trial *trial)
{
    double x[2 * DENSITY_LINE], *line = hb_density_line_of(trial), *exact = line + DENSITY_LINE;
    int top = 0, saddle, other;
    density_path(truth, x);
    HB_TRY(hb_density_at(context, estimate, DENSITY_LINE, x, DENSITY_TAU_MIN, line, NULL));
    HB_TRY(hb_density_exact(context, truth, DENSITY_LINE, x, DENSITY_TAU_MIN, exact, NULL));
    for (int k = 0; k < DENSITY_LINE; k++) top = exact[k] > exact[top] ? k : top;
    other = truth->mixture ? DENSITY_LINE - 1 - top : DENSITY_LINE / 2; /* in another well */
    saddle = top;
    const int way = other > top ? 1 : -1;
    for (int k = top; k != other; k += way) saddle = exact[k] < exact[saddle] ? k : saddle;
    trial->value[DENSITY_BARRIER_EXACT] = exact[top] - exact[saddle];
    trial->value[DENSITY_BARRIER] = line[top] - line[saddle] - trial->value[DENSITY_BARRIER_EXACT];
    return HB_OK;
}

/* x: (chains, 2) from the start to the end; scratch: (chains, 5). */
static hb_status walk(hb_context *context, const hb_density_size *size,
                      const hb_density_estimate *estimate, uint64_t seed, double *x,
                      double *scratch)
{
    const size_t n = (size_t)size->chains;
    double *v = scratch, *score = v + n, *noise = score + 2 * n;
    for (int k = 0; k < size->moves; k++) {
        HB_TRY(
            hb_random_normal(context, seed, UINT64_C(8) << 32, (uint64_t)k * 2 * n, 2 * n, noise));
        HB_TRY(hb_density_at(context, estimate, n, x, DENSITY_TAU_MIN, v, score));
        for (size_t i = 0; i < 2 * n; i++)
            x[i] += TIME_STEP * score[i] + sqrt(2 * TIME_STEP) * noise[i];
    }
    return HB_OK;
}

static hb_status judge_walk(hb_context *context, const hb_density_size *size,
                            const hb_density_truth *truth, const hb_density_estimate *estimate,
                            const mesh *m, hb_trial *trial)
{
    const size_t n = (size_t)size->chains;
    double rare = 0, sum = 0;
    void *memory;
    HB_TRY(hb_study_allocate(context, 7 * n, sizeof(double), &memory));
    double *x = memory, *v = x + 2 * n;
    hb_status status = hb_density_draw(context, truth, trial->seed, 0, n, 0, x);
    if (status == HB_OK) status = walk(context, size, estimate, trial->seed, x, v);
    if (status == HB_OK) status = hb_density_exact(context, truth, n, x, DENSITY_TAU_MIN, v, NULL);
    for (size_t i = 0; i < n; i++) rare += v[i] - m->top < RARE, sum += v[i];
    trial->value[DENSITY_LANGEVIN_SPURIOUS] = rare / (double)n;
    trial->value[DENSITY_LANGEVIN_LN_P] = sum / (double)n - m->expected;
    free(memory);
    return status;
}

hb_status hb_density_forces(hb_context *context, const hb_density_size *size,
                            const hb_density_truth *truth, const hb_density_estimate *estimate,
                            hb_trial *trial)
{
    mesh m;
    hb_status status = mesh_make(context, (size_t)size->lattice, truth, estimate, &m);
    if (status == HB_OK) judge_mesh(truth, &m, trial);
    if (status == HB_OK) status = judge_line(context, truth, estimate, trial);
    if (status == HB_OK && trial->method != DENSITY_KDE) /* 20000 kernels for each move */
        status = judge_walk(context, size, truth, estimate, &m, trial);
    free(m.x);
    return status;
}
