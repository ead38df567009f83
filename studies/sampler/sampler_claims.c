/* What the paper says about Algorithm 1, beside what the rows show. Each verdict is a condition on
 * the measured numbers; the sentences only report them.
 *
 * A measured number agrees with an exact one when they differ by at most 5 standard errors; a sample
 * of n agrees with a law when sqrt(n) times its Kolmogorov distance is at most 2.4 (the chance of more
 * is 2 exp(-2 * 2.4^2) = 2e-5). */
#include "sampler.h"

#include <math.h>

#define AGREES 5.0
#define KS_AGREES 2.4

static const double ROOT_DRAWS = 400; /* sqrt(SAMPLER_DRAWS) */

static double largest(const hb_sampler_row *rows, double (*value)(const hb_sampler_row *))
{
    double most = 0;
    for (int i = 0; i < SAMPLER_DIMS; i++)
        if (!isnan(value(&rows[i]))) most = fmax(most, fabs(value(&rows[i])));
    return most;
}

static double direct_mean_z(const hb_sampler_row *row)
{
    return row->direct_mean_z;
}

static double direct_variance_z(const hb_sampler_row *row)
{
    return row->direct_variance_z;
}

static double uniform_z(const hb_sampler_row *row)
{
    return fmax(fabs(row->uniform_mean_z),
                fmax(fabs(row->uniform_variance_z), fabs(row->inside_z)));
}

static double ess_z(const hb_sampler_row *row)
{
    return row->uniform_ess_z;
}

static double ks_exact(const hb_sampler_row *row)
{
    return ROOT_DRAWS * fmax(row->radial_ks_exact, row->temporal_ks_exact);
}

/* The dimension where the exact ESS of the uniform estimator is largest. */
static int best_row(const hb_sampler_row *rows)
{
    int best = 0;
    for (int i = 1; i < SAMPLER_DIMS; i++)
        if (rows[i].uniform_ess_exact > rows[best].uniform_ess_exact) best = i;
    return best;
}

double hb_sampler_rate(const hb_sampler_row *rows, int law, double floor, int exact)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < SAMPLER_DIMS; i++) {
        const hb_sampler_row *r = &rows[i];
        const double measured = law == SAMPLER_RADIAL ? r->radial_ks_limit : r->temporal_ks_limit;
        const double noiseless =
            law == SAMPLER_RADIAL ? r->radial_limit_distance : r->temporal_limit_distance;
        if (noiseless < floor) continue;
        const double x = log(r->dim), y = log(exact ? noiseless : measured);
        n++, sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static void claim_exact(json_t *claims, const hb_sampler_row *rows)
{
    const double z = largest(rows, direct_mean_z), ks = largest(rows, ks_exact);
    const int holds = z <= AGREES && ks <= KS_AGREES;
    hb_study_claim(claims, "sampler/exactness", holds ? HB_HOLDS_CORRECTED : HB_FAILS,
                   HB_FILL(z, ks));
}

/* How many times the exact variance of the uniform estimator is that of the direct one. */
static double variance_ratio(const hb_sampler_row *row)
{
    return row->uniform_variance_exact / row->direct_variance_exact;
}

static void claim_variance(json_t *claims, const hb_sampler_row *rows)
{
    const double direct = largest(rows, direct_variance_z), uniform = largest(rows, uniform_z);
    int least = 0, grows = 1;
    for (int i = 1; i < SAMPLER_DIMS; i++)
        if (variance_ratio(&rows[i]) < variance_ratio(&rows[least])) least = i;
    for (int i = least + 1; i < SAMPLER_DIMS; i++)
        grows &= variance_ratio(&rows[i]) > variance_ratio(&rows[i - 1]);
    const int agrees = fmax(direct, uniform) <= AGREES && grows;
    hb_study_claim(claims, "sampler/variance", hb_study_verdict(agrees && least == 0, agrees),
                   HB_FILL(direct, uniform, variance_ratio(&rows[0]), variance_ratio(&rows[least]),
                           rows[least].dim, variance_ratio(&rows[SAMPLER_DIMS - 1]),
                           rows[least].dim));
}

static void claim_ess(json_t *claims, const hb_sampler_row *rows)
{
    const hb_sampler_row *last = &rows[SAMPLER_DIMS - 1], *paper = &rows[5];
    const double z = largest(rows, ess_z);
    const int holds = z <= AGREES && last->uniform_ess < 0.1 * SAMPLER_N;
    hb_study_claim(claims, "sampler/ess", holds ? HB_HOLDS : HB_FAILS,
                   HB_FILL(paper->uniform_ess, last->uniform_ess, z,
                           100 * rows[2].uniform_ess_exact / SAMPLER_N,
                           100 * last->uniform_ess_exact / SAMPLER_N));
}

static void claim_monotone(json_t *claims, const hb_sampler_row *rows)
{
    const int best = best_row(rows);
    int falls_after = 1;
    for (int i = best + 1; i < SAMPLER_DIMS; i++)
        falls_after &= rows[i].uniform_ess_exact < rows[i - 1].uniform_ess_exact;
    hb_study_claim(claims, "sampler/monotone", hb_study_verdict(best == 0, falls_after),
                   HB_FILL(rows[0].uniform_ess_exact, rows[1].uniform_ess_exact,
                           rows[best].uniform_ess_exact, rows[best].dim,
                           rows[SAMPLER_DIMS - 1].uniform_ess_exact, rows[best].dim));
}

static void claim_growth(json_t *claims, const hb_sampler_row *rows)
{
    const hb_sampler_row *first = &rows[0], *last = &rows[SAMPLER_DIMS - 1];
    int approaches = fabs(last->cylinder_growth - 1) < 0.01;
    double z = 0;
    for (int i = 0; i < SAMPLER_DIMS; i++) {
        z = fmax(z, fabs(rows[i].inside_z));
        if (i > 0)
            approaches &= fabs(rows[i].cylinder_growth - 1) < fabs(rows[i - 1].cylinder_growth - 1);
    }
    hb_study_claim(claims, "sampler/growth", approaches && z <= AGREES ? HB_HOLDS : HB_FAILS,
                   HB_FILL(first->cylinder_ratio / sqrt(first->dim),
                           rows[5].cylinder_ratio / sqrt(rows[5].dim),
                           last->cylinder_ratio / sqrt(last->dim), z));
}

static void claim_radial(json_t *claims, const hb_sampler_row *rows)
{
    const double floor = 3 * SAMPLER_KS_MEAN / ROOT_DRAWS;
    const double measured = hb_sampler_rate(rows, SAMPLER_RADIAL, floor, 0);
    const double exact = hb_sampler_rate(rows, SAMPLER_RADIAL, 0, 1);
    hb_study_claim(
        claims, "sampler/radial",
        largest(rows, ks_exact) <= KS_AGREES && measured < -0.5 ? HB_HOLDS : HB_FAILS,
        HB_FILL(rows[0].radial_ks_limit, rows[SAMPLER_DIMS - 1].radial_ks_limit, measured, exact));
}

static void claim_temporal(json_t *claims, const hb_sampler_row *rows)
{
    const hb_sampler_row *last = &rows[SAMPLER_DIMS - 1];
    const double limit = 2 / (16 * M_PI * M_PI * M_E * M_E);
    const double floor = 3 * SAMPLER_KS_MEAN / ROOT_DRAWS;
    const double measured = hb_sampler_rate(rows, SAMPLER_TEMPORAL, floor, 0);
    const double exact = hb_sampler_rate(rows, SAMPLER_TEMPORAL, 0, 1);
    hb_study_claim(claims, "sampler/temporal",
                   largest(rows, ks_exact) <= KS_AGREES && measured < -0.25 ? HB_HOLDS : HB_FAILS,
                   HB_FILL(limit, last->temporal_variance, rows[0].temporal_ks_limit,
                           last->temporal_ks_limit, measured, exact));
}

json_t *hb_sampler_claims(const hb_sampler_row *rows)
{
    json_t *claims = json_array();
    claim_exact(claims, rows);
    claim_variance(claims, rows);
    claim_ess(claims, rows);
    claim_monotone(claims, rows);
    claim_growth(claims, rows);
    claim_radial(claims, rows);
    claim_temporal(claims, rows);
    return claims;
}
