/* The linear systems of CVODE's Newton iterations, (I - gamma J) x = b.
 *
 * J is that of the last rate: tails move by many units of v in a few steps and their weights are
 * exponentials of it, so that a Jacobian of an earlier step would not do; the lines are factored
 * before every solve. In d = 1 one elimination along the line is the solution. In d = 2, 3 let L =
 * I - gamma J along axis 0 and P = the product of I - gamma J_a over the others. GMRES (Saad and
 * Schultz, SIAM J. Sci. Stat. Comput. 7, 1986) solves
 *     (I + C) y = P^-1 b,    x = L^-1 y,     I + C = P^-1 (I - gamma J) L^-1
 * where C is of the size of the splitting error gamma^2 J_a J_b (scheme_lines.c); one to three
 * directions are enough. Inner products carry CVODE's weights w: <x, y> = sum w^2 x y. The
 * directions y_0, y_1, .. are kept orthogonal but not of length 1, which spares a pass, and so are
 * s_k = L^-1 y_k, which come with C y_k: the solution is a sum of them. The directions are float,
 * numbers about them double.
 *
 * Must reproduce: in d = 1, x from (I - gamma J) x to rounding (tests/grid/test_grid_scheme.c). */
#include "grid/krylov_solver.h"
#include "base/context.h"
#include "base/memory.h"

#include <cvode/cvode.h>
#include <math.h>

enum { MOST = HB_KRYLOV_MOST };

typedef struct krylov {
    hb_context *context;
    hb_scheme *scheme;
    void *cvode;
    const double *weights;           /* CVODE's, set before each solve */
    float *y[MOST + 1];              // (size) orthogonal directions
    float *s[MOST];                  // (size) L^-1 y
    double square[MOST + 1];         /* <y, y> */
    double H[MOST + 1][MOST];        /* Hessenberg matrix of I + C, rotated to a triangle */
    double cosine[MOST], sine[MOST]; /* of the rotations */
    double right[MOST + 1];          /* right side, rotated */
    double factors[MOST];            /* of a combination */
    hb_workspace work;
} krylov;

static hb_directions krylov_directions(const krylov *s, double *products)
{
    return (hb_directions){.weights = s->weights, .y = s->y, .s = s->s, .products = products};
}

/* ---- GMRES ---- */

/* Rotates column k of H to a triangle and the right side with it; its last entry is the
 * residual. */
static double krylov_rotate(krylov *s, int k)
{
    for (int j = 0; j < k; j++) {
        const double upper = s->H[j][k], lower = s->H[j + 1][k];
        s->H[j][k] = s->cosine[j] * upper + s->sine[j] * lower;
        s->H[j + 1][k] = s->cosine[j] * lower - s->sine[j] * upper;
    }
    const double length = hypot(s->H[k][k], s->H[k + 1][k]);
    s->cosine[k] = length > 0 ? s->H[k][k] / length : 1;
    s->sine[k] = length > 0 ? s->H[k + 1][k] / length : 0;
    s->H[k][k] = length;
    s->right[k + 1] = -s->sine[k] * s->right[k];
    s->right[k] *= s->cosine[k];
    return fabs(s->right[k + 1]);
}

/* Extends the space by C y_k; returns the residual of the best y in it. */
static double krylov_extend(krylov *s, int k)
{
    double products[MOST + 1];
    const hb_directions directions = krylov_directions(s, products);
    hb_scheme_extend(s->scheme, k, s->factors, &directions);
    double square = products[k + 1];
    for (int j = 0; j <= k; j++) {
        s->factors[j] = products[j] / s->square[j];
        s->H[j][k] = products[j] / sqrt(s->square[j] * s->square[k]) + (j == k);
        square -= products[j] * s->factors[j];
    }
    s->square[k + 1] = fmax(square, 0);
    s->H[k + 1][k] = sqrt(s->square[k + 1] / s->square[k]);
    return krylov_rotate(s, k);
}

static void krylov_combine(krylov *s, int used, double *x)
{
    for (int k = used - 1; k >= 0; k--) {
        double value = s->right[k];
        for (int j = k + 1; j < used; j++) value -= s->H[k][j] * s->factors[j];
        s->factors[k] = value / s->H[k][k];
    }
    for (int k = 0; k < used; k++) s->factors[k] /= sqrt(s->square[k]);
    const hb_directions directions = krylov_directions(s, NULL);
    hb_scheme_combine(s->scheme, used, s->factors, &directions, x);
}

/* 1 when the residual came below the tolerance. */
static int krylov_gmres(krylov *s, const double *b, double tolerance, double *x)
{
    const hb_directions directions = krylov_directions(s, s->square);
    int used = 0;
    hb_scheme_begin(s->scheme, b, &directions);
    double residual = s->right[0] = sqrt(s->square[0]);
    while (used < MOST && s->square[used] > 0 && (used == 0 || residual > tolerance))
        residual = krylov_extend(s, used++);
    krylov_combine(s, used, x);
    return residual <= tolerance;
}

/* ---- as CVODE's linear solver ---- */

static SUNLinearSolver_Type krylov_type(SUNLinearSolver solver)
{
    (void)solver;
    return SUNLINEARSOLVER_ITERATIVE; /* in CVODE's words: no matrix is stored */
}

/* CVODE offers its product with I - gamma J; the scheme has its own. */
static int krylov_ignore_product(SUNLinearSolver solver, void *data, SUNATimesFn product)
{
    (void)solver, (void)data, (void)product;
    return SUNLS_SUCCESS;
}

static int krylov_set_weights(SUNLinearSolver solver, N_Vector weights, N_Vector same)
{
    krylov *s = solver->content;
    (void)same;
    s->weights = N_VGetArrayPointer(weights);
    return SUNLS_SUCCESS;
}

static int krylov_solve(SUNLinearSolver solver, SUNMatrix matrix, N_Vector x, N_Vector b,
                        double tolerance)
{
    krylov *s = solver->content;
    double gamma = 0;
    int converged = 1;
    (void)matrix;
    CVodeGetCurrentGamma(s->cvode, &gamma);
    hb_scheme_set_gamma(s->scheme, gamma);
    if (hb_scheme_mesh(s->scheme)->dim == 1)
        hb_scheme_solve_line(s->scheme, N_VGetArrayPointer(b), N_VGetArrayPointer(x));
    else
        converged = krylov_gmres(s, N_VGetArrayPointer(b), tolerance, N_VGetArrayPointer(x));
    return converged ? SUNLS_SUCCESS : SUNLS_CONV_FAIL; /* CVODE tries a smaller step */
}

static int krylov_free(SUNLinearSolver solver)
{
    krylov *s = solver->content;
    hb_workspace_destroy(&s->work);
    hb_release(s->context, s);
    SUNLinSolFreeEmpty(solver);
    return SUNLS_SUCCESS;
}

/* ---- creation ---- */

static hb_status krylov_allocate(krylov *s)
{
    const hb_mesh *mesh = hb_scheme_mesh(s->scheme);
    if (mesh->dim == 1) return HB_OK;
    hb_array arrays[2 * MOST + 1];
    for (int k = 0; k < 2 * MOST + 1; k++)
        arrays[k] = (hb_array)HB_ARRAY(*(k <= MOST ? &s->y[k] : &s->s[k - MOST - 1]), mesh->size);
    return hb_workspace_carve(s->context, 2 * MOST + 1, arrays, &s->work);
}

SUNLinearSolver hb_krylov_create(hb_context *context, hb_scheme *scheme, void *cvode,
                                 SUNContext sun)
{
    krylov *s;
    if (HB_NEW_CLEARED(context, s, 1) != HB_OK) return NULL;
    s->context = context;
    s->scheme = scheme;
    s->cvode = cvode;
    SUNLinearSolver solver = krylov_allocate(s) == HB_OK ? SUNLinSolNewEmpty(sun) : NULL;
    if (!solver) {
        hb_workspace_destroy(&s->work);
        hb_release(context, s);
        return NULL;
    }
    solver->ops->gettype = krylov_type;
    solver->ops->setatimes = krylov_ignore_product;
    solver->ops->setscalingvectors = krylov_set_weights;
    solver->ops->solve = krylov_solve;
    solver->ops->free = krylov_free;
    solver->content = s;
    return solver;
}
