/* Vectors and the one-dimensional solver for CVODE.
 *
 * Debian's SUNDIALS sums one term after the other; in one dimension those sums took more time than the
 * scheme. Here they run in eight interleaved partial sums, in a fixed order, which the compiler turns
 * into vector instructions; the rest of the vector is SUNDIALS's own. In d = 1 the tridiagonal
 * elimination of the scheme is the solution itself, so that no Krylov space is needed. */
#include "grid/line_vectors.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>

enum { LANES = 8 };

static double dot_product(N_Vector x, N_Vector y)
{
    const double *a = NV_DATA_S(x), *b = NV_DATA_S(y);
    const sunindextype n = NV_LENGTH_S(x), whole = n - n % LANES;
    double sums[LANES] = {0}, total = 0;
    for (sunindextype i = 0; i < whole; i += LANES)
        for (int k = 0; k < LANES; k++) sums[k] += a[i + k] * b[i + k];
    for (sunindextype i = whole; i < n; i++) total += a[i] * b[i];
    for (int k = 0; k < LANES; k++) total += sums[k];
    return total;
}

/* sqrt(mean of (x w)^2) */
static double weighted_norm(N_Vector x, N_Vector w)
{
    const double *a = NV_DATA_S(x), *b = NV_DATA_S(w);
    const sunindextype n = NV_LENGTH_S(x), whole = n - n % LANES;
    double sums[LANES] = {0}, total = 0;
    for (sunindextype i = 0; i < whole; i += LANES)
        for (int k = 0; k < LANES; k++) sums[k] += a[i + k] * b[i + k] * (a[i + k] * b[i + k]);
    for (sunindextype i = whole; i < n; i++) total += a[i] * b[i] * (a[i] * b[i]);
    for (int k = 0; k < LANES; k++) total += sums[k];
    return sqrt(total / (double)n);
}

/* z = p x + q y; z may be x or y. */
static void linear_sum(double p, N_Vector x, double q, N_Vector y, N_Vector z)
{
    const double *a = NV_DATA_S(x), *b = NV_DATA_S(y);
    double *c = NV_DATA_S(z);
    const sunindextype n = NV_LENGTH_S(x), whole = n - n % LANES;
    for (sunindextype i = 0; i < whole; i += LANES) {
        double sums[LANES];
        for (int k = 0; k < LANES; k++) sums[k] = p * a[i + k] + q * b[i + k];
        for (int k = 0; k < LANES; k++) c[i + k] = sums[k];
    }
    for (sunindextype i = whole; i < n; i++) c[i] = p * a[i] + q * b[i];
}

static void fill(double c, N_Vector z)
{
    double *a = NV_DATA_S(z);
    const sunindextype n = NV_LENGTH_S(z);
    for (sunindextype i = 0; i < n; i++) a[i] = c;
}

N_Vector hb_grid_vector_create(size_t size, SUNContext sun)
{
    N_Vector vector = N_VNew_Serial((sunindextype)size, sun);
    if (!vector) return NULL;
    vector->ops->nvdotprod = dot_product;
    vector->ops->nvdotprodlocal = dot_product;
    vector->ops->nvwrmsnorm = weighted_norm;
    vector->ops->nvlinearsum = linear_sum;
    vector->ops->nvconst = fill;
    return vector;
}

/* ---- the solver of d = 1 ---------------------------------------------------------------------- */

static SUNLinearSolver_Type solver_type(SUNLinearSolver solver)
{
    (void)solver;
    return SUNLINEARSOLVER_ITERATIVE; /* in CVODE's words: no matrix is stored */
}

/* CVODE offers its product with I - gamma J; the scheme has it already. */
static int ignore_product(SUNLinearSolver solver, void *data, SUNATimesFn product)
{
    (void)solver, (void)data, (void)product;
    return SUNLS_SUCCESS;
}

static int eliminate(SUNLinearSolver solver, SUNMatrix matrix, N_Vector x, N_Vector b, double delta)
{
    (void)matrix, (void)delta;
    hb_scheme_precondition(solver->content, NV_DATA_S(b), NV_DATA_S(x));
    return SUNLS_SUCCESS;
}

static int free_solver(SUNLinearSolver solver)
{
    solver->content = NULL; /* the scheme is not ours */
    SUNLinSolFreeEmpty(solver);
    return SUNLS_SUCCESS;
}

SUNLinearSolver hb_grid_line_solver_create(const hb_scheme *scheme, SUNContext sun)
{
    SUNLinearSolver solver = SUNLinSolNewEmpty(sun);
    if (!solver) return NULL;
    solver->ops->gettype = solver_type;
    solver->ops->setatimes = ignore_product;
    solver->ops->solve = eliminate;
    solver->ops->free = free_solver;
    solver->content = (void *)(uintptr_t)scheme; /* only read */
    return solver;
}
