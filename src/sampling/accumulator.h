/* sampling/accumulator.h: what sampling methods count at one point, and what follows from it.
 *
 * A unit is what is independent of all other units: a walk, or a batch of whole trajectories. Each
 * unit gives a (its value of u) and b[dim] (its value of grad u), both divided by e^log_scale, so
 * that a density of 1e-300 is counted with numbers near 1. A accumulator is a flat array of
 * doubles: it is merged in a fixed order, saved and restored as it is. */
#pragma once

#include <heatball/base.h>

enum {
    HB_ACCUMULATOR_TOP = 64
}; /* largest |a|, and |b|, that are kept, for the index of the tail */

size_t hb_accumulator_size(int dim); /* doubles */
void hb_accumulator_clear(int dim, double *sums);
/* Adds n units: a[n], b[n][dim]. */
void hb_accumulator_add(int dim, double *sums, size_t n, const double *a, const double *b);
/* So many of the units that were added were lost: they left the drift's domain, or exploded. */
void hb_accumulator_lose(double *sums, double lost);
/* Of sum |a|, so much is from outliers: units whose value stands for places, by a closed form, that
 * units do not come to, so that what the drift does there was not seen. */
void hb_accumulator_outlier(double *sums, double size);
/* n units gave these differences, da[n] and db[n][dim], between the rule in time that is used and a
 * coarser one: what they show beyond their noise is a part of the errors (spread.c). */
void hb_accumulator_differ(int dim, double *sums, size_t n, const double *da, const double *db);
void hb_accumulator_merge(int dim, double *sums, const double *other);
double hb_accumulator_units(const double *sums);

/* The first that applies; of b, FEW and HEAVY flag the score. */
typedef enum hb_flag {
    HB_FLAG_NONE,
    HB_FLAG_NOTHING,  /* every a is 0 */
    HB_FLAG_NEGATIVE, /* the mean of a is 0 or less, or within 2 standard errors of 0 */
    HB_FLAG_FEW,      /* fewer than 30 effective units, (sum |a|)^2/sum a^2 */
    HB_FLAG_HEAVY, /* one unit is above a twentieth of all, Hill's tail index with two of its errors
                         is below 2, the error rests on a few units, or a value is not finite */
    HB_FLAG_LOST,  /* lost units could move the mean by more than half an error */
    HB_FLAG_OUTLIERS, /* more than half of sum |a| is from outliers */
    HB_FLAG_ROUNDED,  /* a closed form whose digits are lost */
    HB_FLAG_COARSE,   /* the rule in time and a coarser one differ by more than a twentieth of the
                         mean; of the score by a fifth and three errors */
    HB_FLAGS
} hb_flag;

typedef struct hb_answer {
    double units, lost;
    double effective, tail_index,
        freedom; /* what flags look at; freedom: degrees of it, of an error */
    double density, density_se, log_density, log_density_se, entropy, entropy_se;
    double relative; /* density_se/density, also where the density underflows, before flags */
    double bias,
        score_bias; /* of relative and of |score_se|, what differences between rules show */
    hb_flag flag;
    hb_flag score_flag; /* that of the rest, or one of the score's own */
} hb_answer;

/* score[dim], score_se[dim]. With a flag all errors are infinite; with one of the score, its. */
void hb_accumulator_answer(int dim, const double *sums, double log_scale, hb_answer *out,
                           double *score, double *score_se);
/* The same, where flags of the tail are decided by other units, which are not averaged: flags then
 * do not select means. `parts` of them are worth one unit. */
void hb_accumulator_diagnosed(int dim, const double *sums, const double *diagnostic, double parts,
                              double log_scale, hb_answer *out, double *score, double *score_se);
/* Adds errors that no units make smaller: known[0] of ln u, known[1 + dim] of the score. */
void hb_answer_widen(int dim, const double *known, hb_answer *answer, double *score_se);
