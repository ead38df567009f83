/* chain/selling.h: a tensor as a sum of squares of few short integer directions. */
#ifndef HB_CHAIN_SELLING_H
#define HB_CHAIN_SELLING_H

enum { HB_SELLING_MOST = 9 };

/* M = sum_k weight[k] offset[k] offset[k]', weights above 0. */
typedef struct hb_selling {
    int count;
    int offset[HB_SELLING_MOST][3];
    double weight[HB_SELLING_MOST];
} hb_selling;

/* M[dim][dim] is symmetric and positive. 0: its directions are too long for integers of at most
 * 2^20. */
int hb_selling_reduce(int dim, const double *M, hb_selling *out);
/* The same along axes and diagonals of pairs of axes, with weights that vary smoothly with M
 * also where its entries change sign; part[dim][dim] in 0 .. 1 is the part of a pair's diagonals
 * that is there in any case. 0: M is too uneven for these. */
int hb_selling_pairs(int dim, const double *M, const double *part, hb_selling *out);
/* |M_ab| in parts of what part can be 1 for. */
double hb_selling_part(int dim, const double *M, int a, int b);

#endif
