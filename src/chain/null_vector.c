/* The stationary distribution of a chain, by elimination of its nodes.
 *
 * dp_j/dtau = sum_i p_i q_ij - p_j sum_k q_jk (chain_rates.c). Node after node is taken out, from
 * the last,
 *     s_k = sum_{j<k} q_kj,    f_ik = q_ik/s_k,    q_ij += f_ik q_kj    (i, j < k),
 * and p_k = sum_{i<k} p_i f_ik puts them back (W. K. Grassmann, M. I. Taksar, D. P. Heyman, Oper.
 * Res. 33, 1985): only sums of positive numbers, so every p_k has its digits. Nodes are in the
 * order of lines, so q stays within a band; BLOCK nodes go at once. p is a mantissa and an exponent
 * of 2. The relaxation time: inverse iteration on a chain that loses mass at a small rate,
 *     sum_j q_kj (w_j - w_k) - loss w_k = b_k:
 *     b_i += f_ik b_k downward,    w_k = (sum_{j<k} q_kj w_j - b_k)/s_k upward,
 * on coordinates and their products, orthogonal to constants in the norm of p; the largest
 * -1/Re(lambda).
 *
 * Must reproduce: F = -x: u = exp(-x^2/2)/sqrt(2 pi) to rounding, relaxation time 1 up to h^2. */
#include "chain/null_vector.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4, SPACE = 6, SWEEPS = 16, REPORT_EVERY = 1024 };

static const double LEAST_BACK = 1e-280; /* of the rate of an edge that goes back: none is 0 */
static const double MOST_WORK = 2.5e11;  /* operations; where directions reach far */
static const double LOSS =
    1e-3; /* of 1/variance: the rate at which nodes lose mass in the iteration */
static const double LEAST_RATE = 1e-9; /* of the loss: slower ones are not told from 0 */

typedef struct chain {
    hb_context *context;
    const hb_mesh *mesh;
    const hb_chain_rates *rates;
    size_t n, band, width;    /* width of a row: 2 (band + BLOCK) + 1 */
    size_t middle;            /* of a row: its own node */
    size_t place[3];          /* distance of neighbours along an axis in the order of the chain */
    double *q;                // (n, width): from i to j at i * width + middle + j - i
    double *out;              // (n) s_k
    double *loss;             // (n) what leaves the chain altogether; NULL: nothing
    double *p;                // (n) mantissas, later masses
    int *exponent;            // (n)
    double *w[SPACE + 1], *b; // (n)
    hb_workspace work;
} chain;

static double *chain_rate(const chain *c, size_t i, size_t j)
{
    return c->q + i * c->width + (c->middle + j - i);
}

/* The place of a node in the order of the chain: the longest axis runs slowest. */
static size_t chain_place(const chain *c, size_t node)
{
    size_t place = 0;
    for (int a = c->mesh->dim - 1; a >= 0; a--) {
        const size_t n = (size_t)c->mesh->nodes[a];
        place += node % n * c->place[a];
        node /= n;
    }
    return place;
}

/* From a node to that at an offset, in the order of the chain. */
static long chain_distance(const size_t *place, const int *offset)
{
    long sum = 0;
    for (int a = 0; a < 3; a++) sum += offset[a] * (long)place[a];
    return sum;
}

/* The farthest that a direction reaches. */
static size_t chain_band(const hb_chain_rates *rates, const size_t *place)
{
    long band = 1;
    for (int k = 0; k < rates->count; k++) {
        const long reach = labs(chain_distance(place, rates->offset[k]));
        band = reach > band ? reach : band;
    }
    return (size_t)band;
}

/* place[3] and the band of this order, when only neighbours along the axes meet. */
static size_t chain_order_axes(const hb_mesh *mesh, size_t *place)
{
    const int dim = mesh->dim < 2 ? 1 : mesh->dim == 2 ? 2 : 3;
    int by_length[3] = {0, 1, 2};
    for (int k = 0; k < dim; k++)
        for (int l = k + 1; l < dim; l++)
            if (mesh->nodes[by_length[l]] > mesh->nodes[by_length[k]]) {
                const int other = by_length[k];
                by_length[k] = by_length[l];
                by_length[l] = other;
            }
    size_t step = 1;
    for (int a = 0; a < 3; a++) place[a] = 0;
    for (int k = dim - 1; k >= 0; k--) {
        place[by_length[k]] = step;
        step *= (size_t)mesh->nodes[by_length[k]];
    }
    return place[by_length[0]];
}

double hb_null_vector_bytes(const hb_mesh *mesh)
{
    size_t place[3];
    const double band = (double)chain_order_axes(mesh, place);
    return (double)mesh->size * (2 * (band + BLOCK) + 1 + SPACE + 6) * (double)sizeof(double);
}

double hb_null_vector_work(const hb_mesh *mesh)
{
    size_t place[3];
    const double band = (double)chain_order_axes(mesh, place);
    return 2 * (double)mesh->size * band * band;
}

/* ---- the rates ---- */

/* No rate of an edge is 0: parts of the mesh that nothing leaves would not meet. */
static void chain_read_direction(chain *c, int k)
{
    const hb_chain_rates *rates = c->rates;
    const size_t step = (size_t)chain_distance(c->place, rates->offset[k]);
    for (size_t node = 0; node < c->n; node++) {
        const double up = rates->up[k][node], down = rates->down[k][node];
        if (!(up + down > 0)) continue;
        const size_t i = chain_place(c, node), j = i + step;
        *chain_rate(c, i, j) = fmax(up, LEAST_BACK * down);
        *chain_rate(c, j, i) = fmax(down, LEAST_BACK * up);
    }
}

static void chain_read_rates(chain *c)
{
    memset(c->q, 0, c->n * c->width * sizeof *c->q);
    for (int k = 0; k < c->rates->count; k++) chain_read_direction(c, k);
}

/* ---- elimination ---- */

/* The last of the nodes that are left goes: its row has what it gives to those before it. */
static void chain_take_out(chain *c, size_t k, size_t first)
{
    const double *row = chain_rate(c, k, k - first);
    double sum = c->loss ? c->loss[k] : 0;
    for (size_t j = 0; j < first; j++) sum += row[j];
    c->out[k] = sum;
}

/* Row i, when nodes last - count + 1 .. last go; from is the first node that their rows reach. */
static void chain_update_row(chain *c, size_t i, size_t last, size_t count, size_t from)
{
    double factor[BLOCK] = {0};
    const double *row[BLOCK];
    double *mine = chain_rate(c, i, from);
    const size_t kept = last - count + 1 - from;
    for (size_t b = 0; b < BLOCK; b++) row[b] = chain_rate(c, last, from);
    for (size_t b = 0; b < count; b++) {
        const size_t k = last - b;
        row[b] = chain_rate(c, k, from);
        for (size_t a = 0; a < b; a++) mine[k - from] += factor[a] * row[a][k - from];
        factor[b] = mine[k - from] /= c->out[k];
        if (c->loss) c->loss[i] += factor[b] * c->loss[k];
    }
    const double f0 = factor[0], f1 = factor[1], f2 = factor[2], f3 = factor[3];
    const double *restrict r0 = row[0], *restrict r1 = row[1], *restrict r2 = row[2],
                           *restrict r3 = row[3];
    double *restrict out = mine;
    for (size_t j = 0; j < kept; j++)
        out[j] += (f0 * r0[j] + f1 * r1[j]) + (f2 * r2[j] + f3 * r3[j]);
}

/* Nodes last - count + 1 .. last go out, the rows of the block first. */
static hb_status chain_eliminate_block(chain *c, size_t last, size_t count)
{
    const size_t lowest = last - count + 1;
    const size_t from = lowest > c->band ? lowest - c->band : 0;
    for (size_t b = 0; b < count; b++) {
        const size_t k = last - b;
        /* what the rows of the block that are out already give to row k */
        for (size_t a = 0; a < b; a++) {
            const size_t gone = last - a;
            const double factor = *chain_rate(c, k, gone) /= c->out[gone];
            const double *row = chain_rate(c, gone, from);
            double *mine = chain_rate(c, k, from);
            if (c->loss) c->loss[k] += factor * c->loss[gone];
            for (size_t j = 0; j < gone - from; j++)
                if (j != k - from) mine[j] += factor * row[j];
        }
        chain_take_out(c, k, k - from);
        HB_CHECK(c->context, c->out[k] > 0 && isfinite(c->out[k]), HB_ERROR_NUMERICAL,
                 "parts of the grid do not meet: the drift is too strong for its cells; give a "
                 "smaller box or more cells");
    }
    for (size_t i = from; i < lowest; i++) chain_update_row(c, i, last, count, from);
    return HB_OK;
}

/* The nodes from `last` down to those above `root`. */
static hb_status chain_eliminate(chain *c, size_t last, size_t root)
{
    while (last > root) {
        const size_t count = last - root < BLOCK ? last - root : BLOCK;
        if (last % REPORT_EVERY < BLOCK)
            HB_TRY(hb_progress(c->context, "null vector of the grid", (double)(c->n - last),
                               (double)c->n));
        HB_TRY(chain_eliminate_block(c, last, count));
        last -= count;
    }
    return HB_OK;
}

static void reverse_values(size_t n, double *x)
{
    for (size_t i = 0; i < n / 2; i++) {
        const double other = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = other;
    }
}

/* p_k = sum_{i<k} p_i f_ik of the nodes from `first` to `last`, with exponents. */
static void chain_put_back(chain *c, size_t first, size_t last)
{
    for (size_t k = first; k <= last; k++) {
        const size_t from = k > c->band ? k - c->band : 0;
        int top = c->exponent[from], shift;
        double sum = 0;
        for (size_t i = from; i < k; i++) top = c->exponent[i] > top ? c->exponent[i] : top;
        for (size_t i = from; i < k; i++) {
            const double f = *chain_rate(c, i, k);
            if (f > 0) sum += ldexp(c->p[i], c->exponent[i] - top) * f;
        }
        c->p[k] = frexp(sum, &shift);
        c->exponent[k] = sum > 0 ? top + shift : top - 1022;
    }
}

/* All nodes but the root, which is where mass is, so that the others find to it: those after it
 * from the last down, those before it from the first up. For these the order is turned around,
 * which in memory is what is read backward. */
static hb_status chain_eliminate_all(chain *c, size_t root)
{
    const size_t before = (root + 1) * c->width;
    HB_TRY(chain_eliminate(c, c->n - 1, root));
    reverse_values(before, c->q);
    HB_TRY(chain_eliminate(c, root, 0));
    c->p[0] = 0.5;
    c->exponent[0] = 1;
    chain_put_back(c, 1, root);
    reverse_values(before, c->q);
    reverse_values(root + 1, c->p);
    for (size_t i = 0; i < (root + 1) / 2; i++) {
        const int other = c->exponent[i];
        c->exponent[i] = c->exponent[root - i];
        c->exponent[root - i] = other;
    }
    chain_put_back(c, root + 1, c->n - 1);
    return HB_OK;
}

/* v of the masses, and the masses themselves with sum 1. */
static void chain_read_masses(chain *c, double *v)
{
    double sum = 0;
    for (size_t node = 0; node < c->n; node++) {
        const size_t k = chain_place(c, node);
        v[node] = (c->p[k] > 0 ? log(c->p[k]) : 0) + M_LN2 * c->exponent[k] -
                  log(hb_mesh_volume(c->mesh, node));
    }
    const double mass = hb_mesh_log_mass(c->mesh, v);
    int most = c->exponent[0];
    for (size_t k = 0; k < c->n; k++) most = c->exponent[k] > most ? c->exponent[k] : most;
    for (size_t k = 0; k < c->n; k++) sum += c->p[k] = ldexp(c->p[k], c->exponent[k] - most);
    for (size_t k = 0; k < c->n; k++) {
        c->p[k] /= sum;
        v[k] -= mass;
    }
}

static hb_status chain_find_vector(chain *c, const double *core, double *v)
{
    chain_read_rates(c);
    HB_TRY(chain_eliminate_all(c, chain_place(c, hb_mesh_nearest(c->mesh, core))));
    chain_read_masses(c, v);
    return HB_OK;
}

/* ---- the relaxation time ---- */

static double space_product(const chain *c, const double *a, const double *b)
{
    double sum = 0;
    for (size_t k = 0; k < c->n; k++) sum += c->p[k] * a[k] * b[k];
    return sum;
}

static void space_remove_mean(const chain *c, double *w)
{
    double mean = 0;
    for (size_t k = 0; k < c->n; k++) mean += c->p[k] * w[k];
    for (size_t k = 0; k < c->n; k++) w[k] -= mean;
}

/* out = (q - loss)^-1 w, without its mean. */
static void space_invert(const chain *c, const double *w, double *out)
{
    double *b = c->b;
    memcpy(b, w, c->n * sizeof *b);
    for (size_t k = c->n - 1; k >= 1; k--)
        for (size_t i = k > c->band ? k - c->band : 0; i < k; i++)
            b[i] += *chain_rate(c, i, k) * b[k];
    for (size_t k = 0; k < c->n; k++) {
        const size_t from = k > c->band ? k - c->band : 0;
        double sum = -b[k];
        for (size_t j = from; j < k; j++) sum += *chain_rate(c, k, j) * out[j];
        out[k] = sum / c->out[k];
    }
    space_remove_mean(c, out);
}

/* Coordinates and products of two of them. */
static int space_start(const chain *c)
{
    static const int first[SPACE] = {0, 1, 2, 0, 1, 0}, second[SPACE] = {-1, -1, -1, 0, 1, 1};
    int used = 0;
    for (int m = 0; m < SPACE; m++) {
        if (first[m] >= c->mesh->dim || second[m] >= c->mesh->dim) continue;
        for (size_t node = 0; node < c->n; node++) {
            double x[3];
            hb_mesh_point(c->mesh, node, x);
            c->w[used][chain_place(c, node)] = x[first[m]] * (second[m] < 0 ? 1 : x[second[m]]);
        }
        used++;
    }
    return used;
}

static int space_orthonormalise(const chain *c, int count)
{
    int kept = 0;
    for (int m = 0; m < count; m++) {
        double *w = c->w[m], *target = c->w[kept];
        space_remove_mean(c, w);
        const double before = sqrt(space_product(c, w, w));
        for (int pass = 0; pass < 2; pass++)
            for (int l = 0; l < kept; l++) hb_axpy(c->n, -space_product(c, w, c->w[l]), c->w[l], w);
        const double length = sqrt(space_product(c, w, w));
        if (!(length > 1e-10 * before)) continue;
        for (size_t k = 0; k < c->n; k++) target[k] = w[k] / length;
        kept++;
    }
    return kept;
}

/* The largest -1/Re(lambda), where the eigenvalues of H[count][count] are 1/(lambda - loss). */
static double space_slowest(int count, double loss, double *H)
{
    double real[SPACE], imaginary[SPACE], least = INFINITY;
    if (LAPACKE_dgeev(LAPACK_ROW_MAJOR, 'N', 'N', count, H, count, real, imaginary, NULL, 1, NULL,
                      1) != 0)
        return NAN;
    for (int m = 0; m < count; m++) {
        const double square = real[m] * real[m] + imaginary[m] * imaginary[m];
        least = fmin(least, fmax(-real[m] / square - loss, LEAST_RATE * loss));
    }
    return 1 / least;
}

static double space_iterate(const chain *c, double loss)
{
    double H[SPACE * SPACE];
    int count = space_orthonormalise(c, space_start(c));
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int m = 0; m < count; m++) {
            space_invert(c, c->w[m], c->w[SPACE]);
            if (sweep + 1 == SWEEPS)
                for (int l = 0; l < count; l++)
                    H[l * count + m] = space_product(c, c->w[l], c->w[SPACE]);
            else
                memcpy(c->w[m], c->w[SPACE], c->n * sizeof(double));
        }
        if (sweep + 1 < SWEEPS) count = space_orthonormalise(c, count);
    }
    return count > 0 ? space_slowest(count, loss, H) : (double)NAN;
}

/* p and the factors of the chain are there; the factors are made anew, with the loss. */
static hb_status chain_find_relaxation(chain *c, double *relaxation)
{
    double spread = 0;
    for (int a = 0; a < c->mesh->dim; a++) {
        for (size_t node = 0; node < c->n; node++) {
            double x[3];
            hb_mesh_point(c->mesh, node, x);
            c->w[0][chain_place(c, node)] = x[a];
        }
        space_remove_mean(c, c->w[0]);
        spread += space_product(c, c->w[0], c->w[0]);
    }
    const double loss = LOSS / spread;
    chain_read_rates(c);
    for (size_t k = 0; k < c->n; k++) c->loss[k] = loss;
    HB_TRY(chain_eliminate(c, c->n - 1, 0));
    c->out[0] = c->loss[0];
    *relaxation = space_iterate(c, loss);
    return HB_OK;
}

/* ---- the whole ---- */

hb_status hb_null_vector(const hb_mesh *mesh, const hb_chain_rates *rates, const double *core,
                         double *v, double *relaxation)
{
    hb_context *context = rates->context;
    chain c = {.context = context, .mesh = mesh, .rates = rates, .n = mesh->size};
    chain_order_axes(mesh, c.place);
    c.band = chain_band(rates, c.place);
    c.middle = c.band + BLOCK;
    c.width = 2 * c.middle + 1;
    HB_CHECK(context, 2 * (double)c.n * (double)c.band * (double)c.band <= MOST_WORK,
             HB_ERROR_NUMERICAL,
             "the noise is so uneven along slanted directions that the elimination on %zu nodes "
             "would take too long; give fewer points, or a long finite time",
             c.n);
    const size_t extra = relaxation ? c.n : 0;
    double *loss;
    hb_array arrays[SPACE + 7] = {HB_ARRAY(c.q, c.n * c.width), HB_ARRAY(c.out, c.n),
                                  HB_ARRAY(c.p, c.n),           HB_ARRAY(c.exponent, c.n),
                                  HB_ARRAY(c.b, extra),         HB_ARRAY(loss, extra)};
    for (int m = 0; m <= SPACE; m++) arrays[6 + m] = (hb_array)HB_ARRAY(c.w[m], extra);
    HB_TRY(hb_workspace_carve(context, SPACE + 7, arrays, &c.work));
    hb_status status = chain_find_vector(&c, core, v);
    c.loss = relaxation ? loss : NULL;
    if (status == HB_OK && relaxation) status = chain_find_relaxation(&c, relaxation);
    hb_workspace_destroy(&c.work);
    return status;
}
