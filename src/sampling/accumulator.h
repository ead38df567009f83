/* sampling/tally.h: what sampling methods count at one point, and what follows from it.
 *
 * A unit is what is independent of all other units: a walk, or a batch of whole trajectories. Each unit
 * gives a (its value of u) and b[dim] (its value of grad u), both divided by e^log_scale, so that a
 * density of 1e-300 is counted with numbers near 1. A tally is a flat array of doubles: it is merged in
 * a fixed order, saved and restored as it is. */
#ifndef HB_SAMPLING_TALLY_H
#define HB_SAMPLING_TALLY_H

#include <heatball/base.h>

enum { HB_TALLY_TOP = 64 }; /* largest |a|, and |b|, that are kept, for the index of the tail */

size_t hb_tally_size(int dim); /* doubles */
void hb_tally_clear(int dim, double *tally);
/* Adds n units: a[n], b[n][dim]. */
void hb_tally_add(int dim, double *tally, size_t n, const double *a, const double *b);
/* Of the units that were added (with a = b = 0 or less), so many were lost: they left the domain of the
 * drift, or exploded. */
void hb_tally_lose(double *tally, double lost);
/* Of sum |a|, so much is from strays: units whose value stands for places, by a closed form, that units do
 * not come to, so that what the drift does there was not seen. */
void hb_tally_stray(double *tally, double size);
/* n units gave these differences, da[n] and db[n][dim], between the rule in time that is used and a coarser
 * one: what they show beyond their noise is a part of the errors (tally_bias.c). */
void hb_tally_differ(int dim, double *tally, size_t n, const double *da, const double *db);
void hb_tally_merge(int dim, double *tally, const double *other);
double hb_tally_units(const double *tally);

typedef enum hb_tally_doubt {
    HB_TALLY_FINE,
    HB_TALLY_NOTHING,  /* every a is 0 */
    HB_TALLY_NEGATIVE, /* the mean of a is 0 or less, or within 2 standard errors of 0 */
    HB_TALLY_FEW,      /* few effective units */
    HB_TALLY_HEAVY,    /* the tail has no second moment, one unit outweighs the rest, or one is not
                            finite */
    HB_TALLY_LOST,     /* too many units were lost */
    HB_TALLY_STRAY,    /* what counts lies where no unit comes */
    HB_TALLY_ROUNDED,  /* a closed form whose digits are lost */
    HB_TALLY_COARSE,   /* the rule in time and a coarser one differ by much */
    HB_TALLY_DOUBTS
} hb_tally_doubt;

typedef struct hb_tally_answer {
    double units, lost;
    double effective, tail_index,
        freedom; /* what doubts look at; freedom: degrees of it, of an error */
    double density, density_se, log_density, log_density_se, entropy, entropy_se;
    double relative; /* density_se/density, also where the density underflows, before doubts */
    double bias,
        score_bias; /* of relative and of |score_se|, what differences between rules show */
    hb_tally_doubt doubt;
    hb_tally_doubt score_doubt; /* that of the rest, or one of the score's own */
} hb_tally_answer;

/* score[dim], score_se[dim]. With a doubt all errors are infinite; with one of the score, its. */
void hb_tally_answer_of(int dim, const double *tally, double log_scale, hb_tally_answer *out,
                        double *score, double *score_se);
/* The same, where doubts about the tail are decided by other units, of a tally that is not averaged: a doubt
 * then does not select means. `parts` of them are worth one unit of tally: 1, or more where they are smaller. */
void hb_tally_watched(int dim, const double *tally, const double *watch, double parts,
                      double log_scale, hb_tally_answer *out, double *score, double *score_se);
/* Adds errors that no number of units makes smaller: known[0] of ln u, known[1 + dim] of the score. */
void hb_tally_widen(int dim, const double *known, hb_tally_answer *answer, double *score_se);

#endif
