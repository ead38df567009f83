/* Shells: rules for the pair (L, q), that is for the backward time and the length of z.
 *
 * Product rule. L, t and the kept share are independent, so Gauss rules for their Gamma and Beta
 * laws multiply. Exact for polynomials in L and q.
 *
 * Exact rule. A polynomial z^alpha sigma^a of parabolic degree at most p needs, once the sphere has
 * been averaged, only the M = (K+1)(K+2)/2 moments of s^a rho^b, a+b <= K = floor(p/2), in
 *     s = 4 pi sigma = e^-L,   rho = 4 pi |z|^2/(2D) = s L q.
 * With k = a+b they are E[q^b] E[L^b e^-kL], and for L ~ Gamma(shape, rate)
 *     E[L^b e^-kL] = Gamma(shape+b)/Gamma(shape) rate^shape/(rate+k)^(shape+b).
 * 1. A product rule with so many nodes in L that it has all M moments to FINE_ERROR.
 * 2. Caratheodory: among M+1 shells there is a v with sum_i v_i phi(shell_i) = 0 for all M basis
 *    functions; going along -v until a weight is zero drops a shell and keeps every moment.
 * Repeated, M shells are left (V. Tchakaloff, 1957; C. Litterer, T. Lyons, Ann. Appl. Probab. 22,
 * 2012). phi are the monomials made orthonormal on the fine rule by QR, so the null vectors are
 * well defined.
 * 3. Elimination: M equations have 3M unknowns, so shells can still go (H. Xiao, Z. Gimbutas,
 * Comput. Math. Appl. 59, 2010). Leave one out, restore the moments by Levenberg-Marquardt in (ln
 * weight, ln L, logit q), where every point is a positive rule inside the ball, and keep what
 *    converges. In the same way shells are moved to q = 0, where one node replaces a whole sphere.
 * A number to reproduce: kappa, D = 2, K = 2 ends with 3 shells, one of them at q = 0. */
#include "ball/shells.h"
#include "ball/quadrature.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

/* Relative errors of the moments: of the fine rule, after Levenberg-Marquardt, of the final rule.
 */
#define FINE_ERROR 1e-13
#define RESTORED_ERROR 1e-13
#define FINAL_ERROR 1e-12
#define NEGLIGIBLE 1e-22 /* weight of a shell of the fine rule that cannot matter: s, rho <= 1 */
#define SMALLEST_WEIGHT 1e-7 /* of a shell that elimination may leave */

enum { FIRST_NODES = 32, MAX_STEPS = 60 };

/* ---- the distributions ---- */

void hb_shells_law(hb_measure measure, int dim, int lift, hb_shell_law *out)
{
    const double n = 0.5 * dim + 0.5 * lift;                            // D/2
    hb_shell_law law = {.shape = n + 2, .rate = n, .a = n + 1, .b = 1}; // kappa
    if (measure == HB_MEASURE_SOURCE)
        law = (hb_shell_law){.shape = n + 2, .rate = n + 1, .a = n, .b = 2};
    if (measure == HB_MEASURE_GRADIENT)
        law = (hb_shell_law){.shape = n + 1.5, .rate = n + 0.5, .a = n + 0.5, .b = 1};
    law.kept = 0.5 * dim;
    law.dropped = 0.5 * lift;
    *out = law;
}

/* E[x^b] under Beta(p, q) */
static double beta_moment(double p, double q, int b)
{
    double product = 1;
    for (int i = 0; i < b; i++) product *= (p + i) / (p + q + i);
    return product;
}

/* E[(4 pi sigma)^k (L q)^b]: the moment of sigma^(k-b) |z|^(2b) but for its powers of 4 pi and
 * 2D. */
static double shell_moment(const hb_shell_law *law, int k, int b)
{
    double moment = exp(-law->shape * log1p(k / law->rate));
    for (int i = 0; i < b; i++) moment *= (law->shape + i) / (law->rate + k);
    return moment * beta_moment(law->a, law->b, b) * beta_moment(law->kept, law->dropped, b);
}

/* ---- memory ---- */

static hb_status create_shells(hb_context *context, size_t n, hb_shells *out)
{
    void *memory;
    HB_TRY(hb_allocate(context, n, 3 * sizeof(double), &memory));
    *out = (hb_shells){.context = context, .n = n, .L = memory};
    out->q = out->L + n;
    out->weight = out->q + n;
    return HB_OK;
}

void hb_shells_destroy(hb_shells *shells)
{
    if (shells->L) hb_release(shells->context, shells->L);
    memset(shells, 0, sizeof *shells);
}

static void copy_shell(hb_shells *to, size_t i, const hb_shells *from, size_t j)
{
    to->L[i] = from->L[j];
    to->q[i] = from->q[j];
    to->weight[i] = from->weight[j];
}

static void copy_shells(hb_shells *to, const hb_shells *from)
{
    for (size_t i = 0; i < from->n; i++) copy_shell(to, i, from, i);
    to->n = from->n;
}

static void drop_shell(hb_shells *shells, size_t j)
{
    for (size_t i = j; i + 1 < shells->n; i++) copy_shell(shells, i, shells, i + 1);
    shells->n--;
}

/* ---- the product rule ---- */

/* *n nodes of the kept share; without lift the single node 1. */
static hb_status share_rule(hb_context *context, const hb_shell_law *law, int *n, double *nodes,
                            double *weights)
{
    if (law->dropped > 0)
        return hb_quadrature_beta(context, law->kept, law->dropped, *n, nodes, weights);
    nodes[0] = weights[0] = 1;
    *n = 1;
    return HB_OK;
}

hb_status hb_shells_product(hb_context *context, const hb_shell_law *law, int n_time, int n_radius,
                            int n_kept, hb_shells *out)
{
    double L[HB_QUADRATURE_MAX], t[HB_QUADRATURE_MAX], share[HB_QUADRATURE_MAX];
    double L_weight[HB_QUADRATURE_MAX], t_weight[HB_QUADRATURE_MAX],
        share_weight[HB_QUADRATURE_MAX];
    HB_TRY(hb_quadrature_gamma(context, law->shape, law->rate, n_time, L, L_weight));
    HB_TRY(hb_quadrature_beta(context, law->a, law->b, n_radius, t, t_weight));
    HB_TRY(share_rule(context, law, &n_kept, share, share_weight));
    HB_TRY(create_shells(context, (size_t)n_time * (size_t)n_radius * (size_t)n_kept, out));
    size_t i = 0;
    for (int l = 0; l < n_time; l++)
        for (int j = 0; j < n_radius; j++)
            for (int k = 0; k < n_kept; k++, i++) {
                out->L[i] = L[l];
                out->q[i] = t[j] * share[k];
                out->weight[i] = L_weight[l] * t_weight[j] * share_weight[k];
            }
    return HB_OK;
}

/* ---- moments ---- */

/* What the construction of one exact rule shares. Matrices are column-major, for LAPACK. */
typedef struct moment_problem {
    hb_context *context;
    hb_workspace work;
    int K;
    size_t M;              // number of moments
    double *target;        // (M) moments of s^a rho^b
    double *R;             // (M, M) upper: monomials = R^T phi, phi orthonormal on the fine rule
    double *residual;      // (M) and
    double *jacobian;      // (M, 3M) of the moments in phi
    double *normal;        // (M, M)
    double *step;          // (M)
    hb_shells trial, best; // (M) shells each
} moment_problem;

/* s^a rho^b for all a+b <= K, ordered by k = a+b, then b */
static void monomials(int K, double L, double q, double *out)
{
    const double s = exp(-L), ratio = L * q;
    double power = 1;
    for (int k = 0; k <= K; k++, power *= s) {
        double term = power;
        for (int b = 0; b <= k; b++, term *= ratio) *out++ = term;
    }
}

static double worst_moment_error(const moment_problem *problem, const hb_shells *shells)
{
    double worst = 0;
    for (size_t j = 0; j < problem->M; j++) problem->residual[j] = 0;
    for (size_t i = 0; i < shells->n; i++) {
        monomials(problem->K, shells->L[i], shells->q[i], problem->step);
        for (size_t j = 0; j < problem->M; j++)
            problem->residual[j] += shells->weight[i] * problem->step[j];
    }
    for (size_t j = 0; j < problem->M; j++)
        worst = fmax(worst, fabs(problem->residual[j] / problem->target[j] - 1));
    return worst;
}

/* phi = R^-T monomials for n columns in place. */
static hb_status orthonormalise(const moment_problem *problem, size_t n, double *columns)
{
    const lapack_int M = (lapack_int)problem->M;
    const lapack_int info = LAPACKE_dtrtrs(LAPACK_COL_MAJOR, 'U', 'T', 'N', M, (lapack_int)n,
                                           problem->R, M, columns, M);
    HB_CHECK(problem->context, info == 0, HB_ERROR_NUMERICAL,
             "the moments of the heat ball are linearly dependent in double precision; "
             "a lower degree is needed");
    return HB_OK;
}

/* R of the QR factorisation of sqrt(weight) * monomials on the fine rule. */
static hb_status orthonormal_basis(moment_problem *problem, const hb_shells *fine)
{
    const size_t M = problem->M, n = fine->n;
    void *memory;
    HB_TRY(hb_allocate(problem->context, (n + 1) * M, sizeof(double), &memory));
    double *rows = memory, *tau = rows + n * M; // (M, n): row-major (n, M); and (M)
    for (size_t i = 0; i < n; i++) {
        monomials(problem->K, fine->L[i], fine->q[i], rows + i * M);
        for (size_t j = 0; j < M; j++) rows[i * M + j] *= sqrt(fine->weight[i]);
    }
    lapack_int info =
        LAPACKE_dgeqrf(LAPACK_ROW_MAJOR, (lapack_int)n, (lapack_int)M, rows, (lapack_int)M, tau);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < M; j++) problem->R[j * M + i] = i <= j ? rows[i * M + j] : 0;
    hb_release(problem->context, memory);
    HB_CHECK(problem->context, info == 0, HB_ERROR_NUMERICAL, "LAPACK dgeqrf returned %d",
             (int)info);
    return HB_OK;
}

/* ---- step 1: the fine rule ---- */

static void drop_negligible(hb_shells *shells)
{
    size_t kept = 0;
    for (size_t i = 0; i < shells->n; i++)
        if (shells->weight[i] > NEGLIGIBLE) copy_shell(shells, kept++, shells, i);
    shells->n = kept;
}

/* Doubles the number of nodes in L until the fine rule has every moment. */
static hb_status fine_rule(moment_problem *problem, const hb_shell_law *law, hb_shells *out)
{
    const int n = problem->K / 2 + 1; // 2n-1 >= K
    for (int n_time = FIRST_NODES; n_time <= HB_QUADRATURE_MAX; n_time *= 2) {
        HB_TRY(hb_shells_product(problem->context, law, n_time, n, n, out));
        drop_negligible(out);
        if (worst_moment_error(problem, out) <= FINE_ERROR) return HB_OK;
        hb_shells_destroy(out);
    }
    return hb_fail(
        problem->context, HB_ERROR_NUMERICAL,
        "%d nodes in time do not integrate the moments of order %d; a lower degree is needed",
        HB_QUADRATURE_MAX, problem->K);
}

/* ---- step 2: Caratheodory ---- */

/* A vector v (m) with sum_i v_i phi_i = 0 for the m = M+1 columns phi_i of `columns` (M, m): the
 * last column of Q in the QR factorisation of the transpose. transposed (m, M) and tau (M) are
 * scratch. */
static hb_status null_vector(const moment_problem *problem, const double *columns,
                             double *transposed, double *tau, double *v)
{
    const size_t M = problem->M, m = M + 1;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < M; j++) transposed[j * m + i] = columns[i * M + j];
    lapack_int info = LAPACKE_dgeqrf(LAPACK_COL_MAJOR, (lapack_int)m, (lapack_int)M, transposed,
                                     (lapack_int)m, tau);
    memset(v, 0, m * sizeof *v);
    v[M] = 1;
    if (info == 0)
        info = LAPACKE_dormqr(LAPACK_COL_MAJOR, 'L', 'N', (lapack_int)m, 1, (lapack_int)M,
                              transposed, (lapack_int)m, tau, v, (lapack_int)m);
    HB_CHECK(problem->context, info == 0, HB_ERROR_NUMERICAL, "LAPACK's QR returned %d", (int)info);
    return HB_OK;
}

/* Goes from the weights along -v to the first zero weight, and returns which that is. phi_0 is
 * constant, so sum v = 0 and some v_i is positive. */
static size_t step_to_boundary(size_t m, const double *v, double *weight)
{
    size_t first = 0;
    double length = INFINITY;
    for (size_t i = 0; i < m; i++)
        if (v[i] > 0 && weight[i] / v[i] < length) {
            length = weight[i] / v[i];
            first = i;
        }
    for (size_t i = 0; i < m; i++) weight[i] = fmax(weight[i] - length * v[i], 0);
    return first;
}

/* What recombining works with. */
typedef struct recombination {
    double *columns, *transposed; // (M, m), (m, M)
    double *tau, *v;              // (M), (m)
} recombination;

/* Feeds the fine shells one by one into a set of at most M, held in problem->best. */
static hb_status recombine_with(moment_problem *problem, const hb_shells *fine,
                                const recombination *r)
{
    const size_t M = problem->M, m = M + 1;
    double *columns = r->columns;
    hb_shells *held = &problem->best;
    held->n = 0;
    for (size_t i = 0; i < fine->n; i++) {
        copy_shell(held, held->n, fine, i);
        monomials(problem->K, fine->L[i], fine->q[i], columns + held->n * M);
        HB_TRY(orthonormalise(problem, 1, columns + held->n * M));
        held->n++;
        if (held->n < m) continue;
        HB_TRY(null_vector(problem, columns, r->transposed, r->tau, r->v));
        const size_t gone = step_to_boundary(m, r->v, held->weight);
        drop_shell(held, gone);
        memmove(columns + gone * M, columns + (gone + 1) * M, (M - gone) * M * sizeof(double));
    }
    return HB_OK;
}

static hb_status recombine(moment_problem *problem, const hb_shells *fine)
{
    const size_t M = problem->M, m = M + 1;
    hb_workspace work;
    recombination r;
    HB_TRY(HB_WORKSPACE(problem->context, &work, HB_ARRAY(r.columns, M * m),
                        HB_ARRAY(r.transposed, M * m), HB_ARRAY(r.tau, M), HB_ARRAY(r.v, m)));
    hb_status status = recombine_with(problem, fine, &r);
    hb_workspace_destroy(&work);
    return status;
}

/* ---- step 3: elimination ---- */

/* residual = R^-T (moments - target); jacobian with respect to (ln weight, ln L, logit q) of each
 * shell. For m = s^a rho^b, k = a+b: dm/dlnL = (b - kL) m, dm/dlogit q = b (1-q) m. */
static hb_status linearise(moment_problem *problem, const hb_shells *shells)
{
    const size_t M = problem->M;
    for (size_t j = 0; j < M; j++) problem->residual[j] = -problem->target[j];
    for (size_t i = 0; i < shells->n; i++) {
        double *column = problem->jacobian + 3 * i * M; // (M, 3)
        monomials(problem->K, shells->L[i], shells->q[i], column);
        size_t j = 0;
        for (int k = 0; k <= problem->K; k++)
            for (int b = 0; b <= k; b++, j++) {
                const double term = shells->weight[i] * column[j];
                problem->residual[j] += term;
                column[j] = term;
                column[M + j] = term * (b - k * shells->L[i]);
                column[2 * M + j] = term * b * (1 - shells->q[i]);
            }
    }
    HB_TRY(orthonormalise(problem, 1, problem->residual));
    return orthonormalise(problem, 3 * shells->n, problem->jacobian);
}

/* Solves (J J^T + damping I) step = residual; 0 when the matrix is not positive definite. */
static int damped_step(moment_problem *problem, size_t n_shells, double damping)
{
    const size_t M = problem->M;
    for (size_t a = 0; a < M; a++)
        for (size_t b = 0; b <= a; b++) {
            double sum = a == b ? damping : 0;
            for (size_t c = 0; c < 3 * n_shells; c++)
                sum += problem->jacobian[c * M + a] * problem->jacobian[c * M + b];
            problem->normal[b * M + a] = sum;
        }
    memcpy(problem->step, problem->residual, M * sizeof(double));
    return LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', (lapack_int)M, 1, problem->normal, (lapack_int)M,
                         problem->step, (lapack_int)M) == 0;
}

/* Moves every shell by -J^T step in (ln weight, ln L, logit q), no coordinate by more than 1. */
static void move_shells(const moment_problem *problem, hb_shells *shells)
{
    const size_t M = problem->M;
    for (size_t i = 0; i < shells->n; i++) {
        double move[3];
        for (size_t c = 0; c < 3; c++) {
            const double *column = problem->jacobian + (3 * i + c) * M;
            double sum = 0;
            for (size_t j = 0; j < M; j++) sum -= column[j] * problem->step[j];
            move[c] = fmax(-1, fmin(1, sum));
        }
        const double q = shells->q[i];
        shells->weight[i] *= exp(move[0]);
        shells->L[i] *= exp(move[1]);
        shells->q[i] = q / (q + (1 - q) * exp(-move[2])); // 0 stays 0
    }
}

/* Levenberg-Marquardt from problem->trial; *restored = 1 when it ends as a rule with all moments.
 */
static hb_status restore_moments(moment_problem *problem, int *restored)
{
    hb_shells *trial = &problem->trial;
    double last = INFINITY, damping = 1e-3;
    *restored = 0;
    for (int i = 0; i < MAX_STEPS; i++) {
        HB_TRY(linearise(problem, trial));
        const double size = hb_norm(problem->M, problem->residual);
        if (!isfinite(size)) return HB_OK;
        damping = size < last ? damping * 0.2 : fmin(damping * 8, 1);
        last = size;
        if (!damped_step(problem, trial->n, damping * fmin(size, 1))) break;
        move_shells(problem, trial);
        if (size < 1e-13) break;
    }
    for (size_t i = 0; i < trial->n; i++)
        if (!(trial->weight[i] >= SMALLEST_WEIGHT)) return HB_OK;
    *restored = worst_moment_error(problem, trial) <= RESTORED_ERROR;
    return HB_OK;
}

/* The shell, among those not tried yet, with the smallest weight; n when there is none. */
static size_t lightest(const hb_shells *shells, const unsigned char *tried)
{
    size_t best = shells->n;
    for (size_t i = 0; i < shells->n; i++)
        if (!tried[i] && (best == shells->n || shells->weight[i] < shells->weight[best])) best = i;
    return best;
}

/* Tries to drop (or, with collapse, to move to q = 0) one shell of problem->best. */
static hb_status eliminate_one(moment_problem *problem, int collapse, unsigned char *tried,
                               int *done)
{
    *done = 0;
    for (size_t i = 0; i < problem->best.n; i++) tried[i] = collapse && problem->best.q[i] == 0;
    for (size_t j; (j = lightest(&problem->best, tried)) < problem->best.n && !*done;
         tried[j] = 1) {
        copy_shells(&problem->trial, &problem->best);
        if (collapse)
            problem->trial.q[j] = 0;
        else
            drop_shell(&problem->trial, j);
        HB_TRY(restore_moments(problem, done));
    }
    if (*done) copy_shells(&problem->best, &problem->trial);
    return HB_OK;
}

/* Takes the rounding errors of the recombination out, then drops and collapses what it can. */
static hb_status eliminate(moment_problem *problem)
{
    int polished;
    copy_shells(&problem->trial, &problem->best);
    HB_TRY(restore_moments(problem, &polished));
    if (polished) copy_shells(&problem->best, &problem->trial);
    void *tried;
    HB_TRY(hb_allocate(problem->context, problem->M + 1, 1, &tried));
    hb_status status = HB_OK;
    for (int collapse = 0; collapse <= 1; collapse++)
        for (int done = 1; done && status == HB_OK;)
            status = eliminate_one(problem, collapse, tried, &done);
    hb_release(problem->context, tried);
    return status;
}

/* ---- the exact rule ---- */

static hb_status create_problem(hb_context *context, const hb_shell_law *law, int K,
                                moment_problem *problem)
{
    const size_t M = (size_t)(K + 1) * (size_t)(K + 2) / 2;
    memset(problem, 0, sizeof *problem);
    problem->context = context;
    problem->K = K;
    problem->M = M;
    HB_TRY(create_shells(context, M + 1, &problem->trial));
    HB_TRY(create_shells(context, M + 1, &problem->best));
    HB_TRY(HB_WORKSPACE(context, &problem->work, HB_ARRAY(problem->target, M),
                        HB_ARRAY(problem->residual, M), HB_ARRAY(problem->step, M),
                        HB_ARRAY(problem->R, M * M), HB_ARRAY(problem->normal, M * M),
                        HB_ARRAY(problem->jacobian, 3 * M * M)));
    size_t j = 0;
    for (int k = 0; k <= K; k++)
        for (int b = 0; b <= k; b++) problem->target[j++] = shell_moment(law, k, b);
    return HB_OK;
}

static hb_status solve_problem(moment_problem *problem, const hb_shell_law *law)
{
    hb_shells fine;
    HB_TRY(fine_rule(problem, law, &fine));
    hb_status status = orthonormal_basis(problem, &fine);
    if (status == HB_OK) status = recombine(problem, &fine);
    hb_shells_destroy(&fine);
    HB_TRY(status);
    HB_TRY(eliminate(problem));
    const double error = worst_moment_error(problem, &problem->best);
    HB_CHECK(problem->context, error <= FINAL_ERROR, HB_ERROR_NUMERICAL,
             "the moments up to order %d hold only to %.1e; a lower degree is needed", problem->K,
             error);
    return HB_OK;
}

hb_status hb_shells_exact(hb_context *context, const hb_shell_law *law, int K, hb_shells *out)
{
    memset(out, 0, sizeof *out);
    moment_problem problem;
    hb_status status = create_problem(context, law, K, &problem);
    if (status == HB_OK) status = solve_problem(&problem, law);
    if (status == HB_OK) {
        *out = problem.best;
        memset(&problem.best, 0, sizeof problem.best);
    }
    hb_shells_destroy(&problem.trial);
    hb_shells_destroy(&problem.best);
    hb_workspace_destroy(&problem.work);
    return status;
}
