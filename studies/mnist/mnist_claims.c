/* What the paper says about its digits, beside what the numbers show. Each verdict is a condition on the
 * numbers; the sentences only report them.
 *
 * A cell has few numbers with a known error: shares of n images have sqrt(p(1-p)/n), MMD2 its own. Cells
 * share their noise, so these errors are upper bounds for differences between cells. */
#include "mnist.h"

#include <math.h>
#include <string.h>

#define WITHIN_FLOOR 1.5 /* times the floor's upper 95 % bound */
#define SURE 0.85        /* of the images */
#define CLASS_LEAST 0.05
#define CLASS_MOST 0.15

static int is_run(const hb_mnist *m, int t, int c, int s)
{
    return m->cells[hb_mnist_cell_at(t, c, s)].images > 0;
}

/* The cell of the paper's lowest MMD among those that were run. */
static const hb_mnist_cell *best_cell(const hb_mnist *m)
{
    const hb_mnist_cell *best = NULL;
    for (int i = 0; i < MNIST_CELLS; i++)
        if (m->cells[i].images > 0 && !isnan(m->cells[i].paper) &&
            (!best || m->cells[i].paper < best->paper))
            best = &m->cells[i];
    return best;
}

/* Mean of a number over the cells that were run with det_tau t, n_correct c, n_steps s; -1: any. */
static double mean_over(const hb_mnist *m, int t, int c, int s, int value)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < MNIST_CELLS; i++) {
        const int here[] = {i / (MNIST_CORRECTS * MNIST_STEPS), i / MNIST_STEPS % MNIST_CORRECTS,
                            i % MNIST_STEPS};
        if (m->cells[i].images == 0 || (t >= 0 && here[0] != t) || (c >= 0 && here[1] != c) ||
            (s >= 0 && here[2] != s))
            continue;
        sum += m->cells[i].value[value];
        n++;
    }
    return n > 0 ? sum / n : NAN;
}

static void claim_mmd(json_t *claims, const hb_mnist *m)
{
    const hb_mnist_cell *best = best_cell(m);
    const double root = hb_mnist_root(best->value), mmd = best->value[MNIST_MMD];
    const double bound = WITHIN_FLOOR * m->paper_floor.mmd_upper;
    const int low = root <= best->paper, near = mmd <= bound;
    hb_study_claim(claims, "mnist/mmd", hb_study_verdict(low && near, low || near),
                   HB_FILL(best->paper, best->det_tau, best->n_correct, best->n_steps, best->images,
                           best->value[MNIST_MMD2], best->value[MNIST_MMD2_SE], root, mmd,
                           m->paper_floor.mmd, m->paper_floor.mmd_upper, low, near));
}

static void claim_rows(json_t *claims, const hb_mnist *m)
{
    const double none = mean_over(m, -1, 0, -1, MNIST_MMD2),
                 one = mean_over(m, -1, 1, -1, MNIST_MMD2);
    const double few = mean_over(m, -1, -1, 0, MNIST_MMD2),
                 many = mean_over(m, -1, -1, 2, MNIST_MMD2);
    const int corrector = one < none, steps = isnan(many) ? corrector : many < few;
    char by_steps[64] = "400 steps alone were run";
    if (!isnan(many))
        snprintf(by_steps, sizeof by_steps, "%.3g with 400 steps, %.3g with 600", few, many);
    hb_study_claim(claims, "mnist/order", hb_study_verdict(corrector && steps, corrector || steps),
                   HB_WORDS((by_steps), none, one, corrector, isnan(many) ? 2 : steps));
}

static double range_of(const hb_mnist *m, int axis, int count, int value)
{
    double least = INFINITY, most = -INFINITY;
    for (int k = 0; k < count; k++) {
        const double mean =
            mean_over(m, axis == 0 ? k : -1, axis == 1 ? k : -1, axis == 2 ? k : -1, value);
        if (isnan(mean)) continue;
        least = fmin(least, mean);
        most = fmax(most, mean);
    }
    return most - least;
}

static void claim_dominant(json_t *claims, const hb_mnist *m)
{
    const double t = range_of(m, 0, MNIST_DET_TAUS, MNIST_MMD2);
    const double c = range_of(m, 1, MNIST_CORRECTS, MNIST_MMD2);
    const double s = range_of(m, 2, MNIST_STEPS, MNIST_MMD2);
    hb_study_claim(claims, "mnist/dominant", t >= c && t >= s ? HB_HOLDS : HB_FAILS,
                   HB_FILL(t, c, s));
}

static void claim_artifacts(json_t *claims, const hb_mnist *m)
{
    double low = 0, high = 0, n_low = 0, n_high = 0;
    for (int c = 0; c < MNIST_CORRECTS; c++)
        for (int s = 0; s < MNIST_STEPS; s++) {
            if (!is_run(m, 0, c, s) || !is_run(m, 2, c, s)) continue;
            const hb_mnist_cell *a = &m->cells[hb_mnist_cell_at(0, c, s)];
            const hb_mnist_cell *b = &m->cells[hb_mnist_cell_at(2, c, s)];
            low += (double)a->images * a->value[MNIST_SPECKS];
            high += (double)b->images * b->value[MNIST_SPECKS];
            n_low += (double)a->images;
            n_high += (double)b->images;
        }
    low /= n_low;
    high /= n_high;
    const double se = sqrt(low * (1 - low) / n_low + high * (1 - high) / n_high);
    hb_study_claim(claims, "mnist/artifacts",
                   low <= high + 2 * se           ? HB_FAILS
                   : low <= m->real[MNIST_SPECKS] ? HB_HOLDS_CORRECTED
                                                  : HB_HOLDS,
                   HB_FILL(100 * low, n_low, 100 * high, n_high, 100 * m->real[MNIST_SPECKS],
                           m->theta, 200 * se));
}

static void claim_digits(json_t *claims, const hb_mnist *m)
{
    const hb_mnist_cell *best = best_cell(m);
    const double *v = best->value;
    double least = INFINITY, most = 0;
    for (int c = 0; c < m->train.classes; c++) {
        least = fmin(least, v[MNIST_SHARE + c]);
        most = fmax(most, v[MNIST_SHARE + c]);
    }
    const int sure = v[MNIST_CONFIDENT] >= SURE, even = least >= CLASS_LEAST && most <= CLASS_MOST;
    hb_study_claim(claims, "mnist/digits", sure && even ? HB_HOLDS : HB_FAILS,
                   HB_FILL(100 * m->accuracy, 100 * v[MNIST_CONFIDENT],
                           100 * m->real[MNIST_CONFIDENT], 100 * v[MNIST_AGREE], 100 * least,
                           100 * most, v[MNIST_PRECISION], v[MNIST_RECALL],
                           m->real[MNIST_PRECISION], m->real[MNIST_RECALL]));
}

static void claim_memory(json_t *claims, const hb_mnist *m)
{
    const double *v = best_cell(m)->value;
    hb_study_claim(claims, "mnist/memorisation",
                   v[MNIST_NEAREST] >= 0.8 && v[MNIST_NEAR_SHARE] <= 0.05 ? HB_HOLDS : HB_FAILS,
                   HB_FILL(v[MNIST_NEAREST], 100 * v[MNIST_NEAR_SHARE]));
}

static void claim_methods(json_t *claims, const hb_mnist *m)
{
    const double dsm = m->method[MNIST_DSM][MNIST_LOSS], hb = m->method[MNIST_HB][MNIST_LOSS];
    const double fp = m->method[MNIST_FP][MNIST_LOSS];
    const double dsm_time = m->method[MNIST_DSM_TIME][MNIST_LOSS];
    const double fp_time = m->method[MNIST_FP_TIME][MNIST_LOSS];
    hb_study_claim(
        claims, "mnist/methods", hb_study_verdict(hb <= dsm && hb <= dsm_time, hb <= 1.02 * dsm),
        HB_FILL(dsm, fp, hb, dsm_time, fp_time, m->method[MNIST_DSM][MNIST_MMD2],
                m->method[MNIST_FP][MNIST_MMD2], m->method[MNIST_HB][MNIST_MMD2], hb / dsm,
                hb / dsm_time, hb / fp, hb / fp_time, hb <= dsm && hb <= dsm_time));
}

json_t *hb_mnist_claims(const hb_mnist *m)
{
    json_t *claims = json_array();
    if (!m->model) return claims;
    claim_artifacts(claims, m);
    if (!m->present) return claims;
    claim_mmd(claims, m);
    claim_rows(claims, m);
    claim_dominant(claims, m);
    claim_digits(claims, m);
    claim_memory(claims, m);
    claim_methods(claims, m);
    return claims;
}
