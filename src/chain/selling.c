/* A tensor as a sum of squares of whole directions, sum_k w_k e_k e_k', w_k > 0.
 *
 * Selling's reduction: b_0 .. b_d whole vectors with sum 0, any d of which are a basis. While some
 * b_i'M b_j > 0 for i != j
 *     d = 2:  b_i, b_j, b_k      become  -b_i, b_j, b_i - b_j
 *     d = 3:  b_i, b_j, b_k, b_l become  -b_i, b_j, b_k + b_i, b_l + b_i
 * after which M = -sum_{i<j} (b_i'M b_j) e_ij e_ij', e_ij orthogonal to the b that are not i, j:
 * three directions for d = 2, six for d = 3 (E. Selling, J. reine angew. Math. 77, 1874; J. H.
 * Conway, N. J. A. Sloane, Proc. R. Soc. A 436, 1992; J. Fehrenbach, J.-M. Mirebeau, J. Math.
 * Imaging Vision 49, 2014). The weights are continuous in M with kinks.
 *
 * Pairs. Where M is dominated by its diagonal, diagonals of pairs of axes do: with s >= |M_ab|
 *     e_a + e_b: (s + M_ab)/2,   e_a - e_b: (s - M_ab)/2,   e_a: M_aa - sum_b s_ab.
 * s = |M_ab| is Selling's for d = 2. With a part H of what the diagonal has, s = (M_ab^2 +
 * H^2)/(2 H) below H has no kink at M_ab = 0, and meets |M_ab| at H with its slope.
 *
 * A number to reproduce: M = (2, 1; 1, 2) is (1,0)(1,0)' + (0,1)(0,1)' + (1,1)(1,1)'. */
#include "chain/chain_rates.h"

#include <math.h>
#include <string.h>

enum { MOST_FLIPS = 64, LONGEST = 1 << 20 };
static const double ROUNDING = 1e-13;

static double selling_form(int dim, const double *M, const int *a, const int *b)
{
    double sum = 0;
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++) sum += M[i * dim + j] * a[i] * b[j];
    return sum;
}

/* b_i and b_j make an acute angle: the others and they are replaced. */
static void selling_flip(int dim, int b[4][3], int i, int j)
{
    for (int k = 0; k <= dim; k++) {
        if (k == i || k == j) continue;
        for (int a = 0; a < dim; a++) b[k][a] = dim == 2 ? b[i][a] - b[j][a] : b[k][a] + b[i][a];
    }
    for (int a = 0; a < dim; a++) b[i][a] = -b[i][a];
}

/* 1 when all angles are obtuse. */
static int selling_flip_all(int dim, const double *M, int b[4][3])
{
    for (int flips = 0; flips < MOST_FLIPS; flips++) {
        int done = 1;
        for (int i = 0; i <= dim && done; i++)
            for (int j = i + 1; j <= dim && done; j++) {
                const double size =
                    sqrt(selling_form(dim, M, b[i], b[i])) * sqrt(selling_form(dim, M, b[j], b[j]));
                if (!(selling_form(dim, M, b[i], b[j]) > ROUNDING * size)) continue;
                selling_flip(dim, b, i, j);
                done = 0;
            }
        for (int i = 0; i <= dim; i++)
            for (int a = 0; a < dim; a++)
                if (b[i][a] > LONGEST || b[i][a] < -LONGEST) return 0;
        if (done) return 1;
    }
    return 0;
}

/* The direction orthogonal to all b but those of i and j. */
static void selling_direction(int dim, int b[4][3], int i, int j, int *e)
{
    const int *others[2] = {0};
    for (int k = 0, n = 0; k <= dim; k++)
        if (k != i && k != j) others[n++] = b[k];
    const int *u = others[0], *w = others[1];
    if (dim == 1) {
        e[0] = 1;
    } else if (dim == 2) {
        e[0] = -u[1];
        e[1] = u[0];
    } else {
        e[0] = u[1] * w[2] - u[2] * w[1];
        e[1] = u[2] * w[0] - u[0] * w[2];
        e[2] = u[0] * w[1] - u[1] * w[0];
    }
    int lead = 0;
    while (lead + 1 < dim && e[lead] == 0) lead++;
    for (int a = 0, sign = e[lead] < 0 ? -1 : 1; a < dim; a++) e[a] *= sign;
}

static void selling_add(hb_selling *s, const int *e, double weight)
{
    if (!(weight > 0)) return;
    memcpy(s->offset[s->count], e, sizeof s->offset[0]);
    s->weight[s->count++] = weight;
}

int hb_selling_reduce(int dim, const double *M, hb_selling *out)
{
    int b[4][3] = {{0}};
    out->count = 0;
    for (int a = 0; a < dim; a++) {
        b[a][a] = 1;
        b[dim][a] = -1;
    }
    if (!selling_flip_all(dim, M, b)) return 0;
    for (int i = 0; i <= dim; i++)
        for (int j = i + 1; j <= dim; j++) {
            int e[3] = {0};
            selling_direction(dim, b, i, j, e);
            selling_add(out, e, -selling_form(dim, M, b[i], b[j]));
        }
    return 1;
}

static double selling_room(int dim, const double *M, int a, int b)
{
    const double first = M[a * dim + a], second = M[b * dim + b];
    return first * second / ((first + second) * (dim - 1));
}

double hb_selling_part(int dim, const double *M, int a, int b)
{
    return fabs(M[a * dim + b]) / selling_room(dim, M, a, b);
}

int hb_selling_pairs(int dim, const double *M, const double *part, hb_selling *out)
{
    double left[3];
    out->count = 0;
    for (int a = 0; a < dim; a++) left[a] = M[a * dim + a];
    for (int a = 0; a < dim; a++)
        for (int b = a + 1; b < dim; b++) {
            const double m = M[a * dim + b], H = part[a * dim + b] * selling_room(dim, M, a, b);
            const double s = fabs(m) < H ? (m * m + H * H) / (2 * H) : fabs(m);
            int e[3] = {0};
            e[a] = 1;
            e[b] = 1;
            selling_add(out, e, 0.5 * (s + m));
            e[b] = -1;
            selling_add(out, e, 0.5 * (s - m));
            left[a] -= s;
            left[b] -= s;
        }
    for (int a = 0; a < dim; a++) {
        int e[3] = {0};
        e[a] = 1;
        if (!(left[a] >= 0)) return 0;
        selling_add(out, e, left[a]);
    }
    return 1;
}
