/* What is to be shown about the loss by dimension, beside what the numbers show.
 *
 * The paper claims that its method is for high dimensions, and has networks in 2 and in 256 of them, without
 * this comparison: the bounds here are ours. A bound is on the geometric mean over families and seeds; "noise"
 * is two standard errors of it. */
#include "dimension.h"

#include <math.h>
#include <string.h>

#define NOISE 2.0

/* Largest ratios that are allowed, by dimension; NaN: none. At tau = 0.3 in low density. */
typedef struct bound {
    int dim;
    double steps;         /* hb : dsm-targets */
    double fp;            /* hb : fp */
    double seconds;       /* hb : dsm-time */
    double fp_in_seconds; /* hb : fp-time */
} bound;

static const bound BOUNDS[] = {{2, 0.6, 0.95, 0.9, 1},  {4, 0.75, 0.95, 0.9, 1},
                               {8, 0.75, 0.95, 0.9, 1}, {16, 0.85, 1, 1, NAN},
                               {32, 0.9, 1, 1, NAN},    {64, NAN, NAN, 1, NAN}};

static double bound_of(int dim, size_t offset)
{
    for (size_t i = 0; i < sizeof BOUNDS / sizeof *BOUNDS; i++) {
        double value;
        if (BOUNDS[i].dim != dim) continue;
        memcpy(&value, (const char *)&BOUNDS[i] + offset, sizeof value);
        return value;
    }
    return NAN;
}

/* hb against another method, over the dimensions that have a bound. */
typedef struct check {
    int dims, kept, below; /* how many; that keep their bound; below 1 */
    char ratios[400], bounds[120];
} check;

static check compare(const hb_comparison *result, int other, size_t offset)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    check c = {0};
    size_t used = 0, listed = 0;
    for (int d = 0; d < size->n_dims; d++) {
        const double most = bound_of(size->dim[d], offset);
        if (isnan(most)) continue;
        const hb_mean mean =
            hb_dimension_compare(result, d, hb_dimension_largest(size), DIMENSION_HB, other,
                                 hb_dimension_low(DIMENSION_TABLE_TAU));
        c.dims++;
        c.kept += exp(mean.mean) <= most;
        c.below += mean.mean < 0;
        if (used < sizeof c.ratios)
            used += (size_t)snprintf(c.ratios + used, sizeof c.ratios - used,
                                     "%s×%.2f ± %.2f (d = %d)", used ? ", " : "", exp(mean.mean),
                                     exp(mean.mean) * mean.se, size->dim[d]);
        listed += (size_t)snprintf(c.bounds + listed, sizeof c.bounds - listed, "%s%g",
                                   listed ? ", " : "", most);
    }
    return c;
}

static hb_claim_verdict verdict_of(const check *c)
{
    return c->kept == c->dims ? HB_HOLDS : c->below == c->dims ? HB_HOLDS_CORRECTED : HB_FAILS;
}

static void claim_steps(json_t *claims, const hb_comparison *result, const char *claim, int other,
                        size_t offset)
{
    const check c = compare(result, other, offset);
    hb_study_claim(
        claims, claim, verdict_of(&c),
        HB_WORDS(
            (c.ratios, c.bounds),
            hb_dimension_size_of(result)->rows[hb_dimension_largest(hb_dimension_size_of(result))],
            c.kept, c.dims));
}

static void claim_seconds(json_t *claims, const hb_comparison *result)
{
    const check dsm = compare(result, DIMENSION_DSM_TIME, offsetof(bound, seconds));
    const check fp = compare(result, DIMENSION_FP_TIME, offsetof(bound, fp_in_seconds));
    const hb_claim_verdict a = verdict_of(&dsm), b = verdict_of(&fp);
    hb_study_claim(claims, "dimension/equal-seconds", a > b ? a : b,
                   HB_WORDS((dsm.ratios, fp.ratios, dsm.bounds, fp.bounds), dsm.kept, dsm.dims,
                            fp.kept, fp.dims));
}

static void claim_harmless(json_t *claims, const hb_comparison *result)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    int all = 0, worse = 0;
    double most = -INFINITY;
    char where[64] = "";
    for (int d = 0; d < size->n_dims; d++)
        for (int r = 0; r < size->n_rows; r++)
            for (int v = 0; v < DIMENSION_LIKELIHOOD; v++) {
                const hb_mean mean =
                    hb_dimension_compare(result, d, r, DIMENSION_HB, DIMENSION_DSM_TARGETS, v);
                all++;
                worse += mean.mean - NOISE * mean.se > log(1.02);
                if (!(mean.mean > most)) continue;
                most = mean.mean;
                snprintf(where, sizeof where, "d = %d, %d rows, %s, τ = %g", size->dim[d],
                         size->rows[r], v % 2 ? "low density" : "everywhere",
                         hb_dimension_taus[v / 2]);
            }
    hb_study_claim(claims, "dimension/never-worse", worse == 0 ? HB_HOLDS : HB_FAILS,
                   HB_WORDS((where), worse, all, exp(most)));
}

json_t *hb_dimension_claims(const hb_comparison *result)
{
    json_t *claims = json_array();
    claim_steps(claims, result, "dimension/constraint", DIMENSION_DSM_TARGETS,
                offsetof(bound, steps));
    claim_steps(claims, result, "dimension/pointwise", DIMENSION_FP, offsetof(bound, fp));
    claim_seconds(claims, result);
    claim_harmless(claims, result);
    return claims;
}
