/* Time integration of v by CVODE: BDF of order 1 to 5 with variable step, Newton's method, and the
 * Jacobian and the line preconditioner of fitted_scheme.c: by themselves in d = 1, where they are exact,
 * within GMRES in d = 2, 3.
 *
 * The equation for u is linear, so a relative error delta of u at a place where u is e^-D of its
 * maximum moves the bulk by e^-D delta at most. Tails, where v moves fastest, may therefore be followed
 * less closely: the tolerance at depth D is that of the bulk times 1 + (D/8)^4, which at D = 40 is
 * 626: 6e-7 for the default, far below the 1e-3 relative of 40 that is promised; it stops at 1e-3.
 *
 * A. C. Hindmarsh et al., SUNDIALS, ACM Trans. Math. Software 31, 2005. */
#include "grid/time_stepper.h"
#include "base/context.h"
#include "grid/line_vectors.h"

#include <cvode/cvode.h>
#include <cvode/cvode_ls.h>
#include <math.h>
#include <sundials/sundials_context.h>
#include <sunlinsol/sunlinsol_spgmr.h>

enum {
    KRYLOV = 15,         /* GMRES directions */
    MAX_STEPS = 200000,  /* of one run */
    PROGRESS_EVERY = 32, /* rates between two reports */
    VECTORS = 18 + KRYLOV
};

static const double LOCAL_SHARE = 0.2; /* of the tolerance, for the error of one step */
/* Beyond this, neighbouring nodes would differ by noise that Newton's method feels in exp(v_j - v_i). */
static const double DEEP_TOLERANCE = 1e-3;

typedef struct stepper {
    hb_context *context;
    hb_scheme *scheme;
    hb_status status; /* of the last failure inside a callback */
    hb_stepper_share share;
    double tau_start, tau_end, tolerance;
    long rates;
    SUNContext sun;
    void *cvode;
    N_Vector v;
    SUNLinearSolver solver;
} stepper;

double hb_stepper_tolerance(double tolerance, double depth)
{
    const double scaled = depth / 8, square = scaled * scaled;
    const double deep = tolerance * (1 + square * square);
    if (deep <= DEEP_TOLERANCE) return deep;
    return tolerance > DEEP_TOLERANCE ? tolerance : DEEP_TOLERANCE;
}

double hb_stepper_bytes(size_t size)
{
    return (double)VECTORS * (double)size * (double)sizeof(double);
}

/* ---- callbacks: 0 success, > 0 try a smaller step, < 0 give up -------------------------------- */

static int report_progress(stepper *s, double tau)
{
    if (s->rates++ % PROGRESS_EVERY != 0) return 0;
    const double part = (tau - s->tau_start) / (s->tau_end - s->tau_start);
    const double done = s->share.before + s->share.share * fmin(fmax(part, 0), 1);
    s->status = hb_progress(s->context, "Fokker-Planck grid", done, 1);
    return s->status == HB_OK ? 0 : -1;
}

static int rate(double tau, N_Vector v, N_Vector out, void *user)
{
    stepper *s = user;
    int finite = 0;
    if (report_progress(s, tau)) return -1;
    s->status =
        hb_scheme_rate(s->scheme, tau, N_VGetArrayPointer(v), N_VGetArrayPointer(out), &finite);
    if (s->status != HB_OK) return -1;
    return finite ? 0 : 1;
}

/* Called before every linear solve, whose Newton iterate v is the one of the last rate. Tails move by
 * many units of v in a few steps and their weights are exponentials of it, so that a Jacobian of an
 * earlier step would not do. */
static int factor(double tau, N_Vector v, N_Vector rates, void *user)
{
    stepper *s = user;
    double gamma = 0;
    (void)tau, (void)v, (void)rates;
    CVodeGetCurrentGamma(s->cvode, &gamma);
    hb_scheme_factor(s->scheme, gamma);
    return 0;
}

static int precondition(double tau, N_Vector v, N_Vector rates, N_Vector x, N_Vector out,
                        double gamma, double delta, int side, void *user)
{
    const stepper *s = user;
    (void)tau, (void)v, (void)rates, (void)gamma, (void)delta, (void)side;
    hb_scheme_precondition(s->scheme, N_VGetArrayPointer(x), N_VGetArrayPointer(out));
    return 0;
}

static int jacobian_times(N_Vector x, N_Vector out, double tau, N_Vector v, N_Vector rates,
                          void *user, N_Vector scratch)
{
    const stepper *s = user;
    (void)tau, (void)v, (void)rates, (void)scratch;
    hb_scheme_apply(s->scheme, N_VGetArrayPointer(x), N_VGetArrayPointer(out));
    return 0;
}

static int error_weights(N_Vector v, N_Vector out, void *user)
{
    const stepper *s = user;
    const double *values = N_VGetArrayPointer(v);
    double *weights = N_VGetArrayPointer(out), top = -INFINITY;
    const sunindextype size = N_VGetLength(v);
    for (sunindextype i = 0; i < size; i++) top = values[i] > top ? values[i] : top;
    for (sunindextype i = 0; i < size; i++)
        weights[i] = 1 / hb_stepper_tolerance(s->tolerance, top - values[i]);
    return 0;
}

/* SUNDIALS would print its errors; the status tells them all. */
static void stay_silent(int code, const char *module, const char *function, char *message,
                        void *user)
{
    (void)code, (void)module, (void)function, (void)message, (void)user;
}

/* ---- the run ---------------------------------------------------------------------------------- */

static hb_status create(stepper *s, size_t size, const double *v)
{
    HB_CHECK(s->context, SUNContext_Create(NULL, &s->sun) == 0, HB_ERROR_MEMORY,
             "SUNDIALS cannot start: no memory");
    s->v = hb_grid_vector_create(size, s->sun);
    s->cvode = CVodeCreate(CV_BDF, s->sun);
    HB_CHECK(s->context, s->v && s->cvode, HB_ERROR_MEMORY,
             "no memory for the time integration of %zu grid points", size);
    for (size_t i = 0; i < size; i++) N_VGetArrayPointer(s->v)[i] = v[i];
    const int line = hb_scheme_dim(s->scheme) == 1;
    s->solver = line ? hb_grid_line_solver_create(s->scheme, s->sun)
                     : SUNLinSol_SPGMR(s->v, SUN_PREC_LEFT, KRYLOV, s->sun);
    int code = s->solver ? CVodeSetErrHandlerFn(s->cvode, stay_silent, NULL) : CV_MEM_FAIL;
    if (!code) code = CVodeInit(s->cvode, rate, s->tau_start, s->v);
    if (!code) code = CVodeWFtolerances(s->cvode, error_weights);
    if (!code) code = CVodeSetUserData(s->cvode, s);
    if (!code) code = CVodeSetLinearSolver(s->cvode, s->solver, NULL);
    if (!code && !line) code = CVodeSetPreconditioner(s->cvode, NULL, precondition);
    if (!code) code = CVodeSetJacTimes(s->cvode, factor, jacobian_times);
    if (!code) code = CVodeSetMaxNumSteps(s->cvode, MAX_STEPS);
    if (!code) code = CVodeSetStopTime(s->cvode, s->tau_end);
    HB_CHECK(s->context, !code, HB_ERROR_MEMORY,
             "no memory for the time integration of %zu grid points", size);
    return HB_OK;
}

static void destroy(stepper *s)
{
    if (s->cvode) CVodeFree(&s->cvode);
    if (s->solver) SUNLinSolFree(s->solver);
    if (s->v) N_VDestroy(s->v);
    if (s->sun) SUNContext_Free(&s->sun);
}

static hb_status explain(const stepper *s, int code)
{
    double tau = s->tau_start;
    CVodeGetCurrentTime(s->cvode, &tau);
    if (s->status != HB_OK) return s->status;
    const char *why = "CVODE failed", *advice = "give a coarser tolerance or a smaller box";
    switch (code) {
    case CV_TOO_MUCH_WORK: why = "too many steps"; break;
    case CV_ERR_FAILURE: why = "the error test failed too often"; break;
    case CV_CONV_FAILURE: why = "Newton's method did not converge"; break;
    case CV_REPTD_RHSFUNC_ERR:
    case CV_FIRST_RHSFUNC_ERR:
    case CV_UNREC_RHSFUNC_ERR:
        why = "v changes too fast from one grid point to the next";
        advice = "give a smaller box or more points";
        break;
    case CV_MEM_FAIL:
        why = "no memory";
        advice = "give fewer points";
        break;
    default: break;
    }
    return hb_fail(s->context, HB_ERROR_NUMERICAL,
                   "the time integration stopped at tau = %.6g of %.6g: %s (CVODE code %d); %s",
                   tau, s->tau_end, why, code, advice);
}

static hb_status march(stepper *s, size_t size, int n_levels, const double *levels,
                       double *const *out, int *steps)
{
    for (int k = 0; k < n_levels; k++) {
        double tau = levels[k];
        if (levels[k] > s->tau_start) {
            const int code = CVode(s->cvode, levels[k], s->v, &tau, CV_NORMAL);
            if (code < 0) return explain(s, code);
        }
        const double *v = N_VGetArrayPointer(s->v);
        for (size_t i = 0; i < size; i++) out[k][i] = v[i];
    }
    long taken = 0;
    CVodeGetNumSteps(s->cvode, &taken);
    *steps += (int)taken;
    return HB_OK;
}

hb_status hb_stepper_run(hb_context *context, hb_scheme *scheme, size_t size, double tau_start,
                         const double *v, double tolerance, int n_levels, const double *levels,
                         hb_stepper_share share, double *const *out, int *steps)
{
    stepper s = {.context = context,
                 .scheme = scheme,
                 .share = share,
                 .tau_start = tau_start,
                 .tau_end = levels[n_levels - 1],
                 .tolerance = LOCAL_SHARE * tolerance};
    hb_status status = create(&s, size, v);
    if (status == HB_OK) status = march(&s, size, n_levels, levels, out, steps);
    destroy(&s);
    return status;
}
