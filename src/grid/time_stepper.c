/* Time integration of v by CVODE: BDF of order 1 to 5 with variable step, Newton's method with the
 * linear systems of krylov_solver.c.
 *
 * The equation for u is linear, so a relative error delta of u at a place where u is e^-D of its
 * maximum moves the core region by e^-D delta at most. Tails, where v moves fastest, may therefore
 * be followed less closely: the tolerance at depth D is that of the core times 1 + (D/8)^4, which
 * at D = 40 is 626: 6e-7 for the default, far below the 1e-3 relative of 40 that is promised; it
 * stops at 1e-3.
 *
 * A. C. Hindmarsh et al., SUNDIALS, ACM Trans. Math. Software 31, 2005. */
#include "grid/time_stepper.h"
#include "base/context.h"
#include "base/memory.h"
#include "grid/grid_constants.h"
#include "grid/krylov_solver.h"

#include <cvode/cvode.h>
#include <cvode/cvode_ls.h>
#include <math.h>
#include <string.h>
#include <sundials/sundials_context.h>

enum {
    STEPS_AT_ONCE = 2000, /* after which progress is looked at */
    PROGRESS_EVERY = 8    /* rates between two reports */
};

static const double MAX_STEPS[] = {200000, 100000, 20000}; /* of one run, by dimension */
static const double LEAST_PROGRESS = 0.1;                  /* of the time so far */
struct hb_stepper {
    hb_context *context;
    hb_scheme *scheme;
    hb_stepper_settings settings;
    hb_status status; /* of the last failure inside a callback */
    long rates;
    size_t size;
    SUNContext sun;
    void *cvode;
    N_Vector v;
    SUNLinearSolver solver;
};

double hb_stepper_tolerance(double tolerance, double depth)
{
    const double scaled = depth / 8, square = scaled * scaled;
    const double deep = tolerance * (1 + square * square);
    if (deep <= DEEP_TOLERANCE) return deep;
    return tolerance > DEEP_TOLERANCE ? tolerance : DEEP_TOLERANCE;
}

/* ---- callbacks: 0 success, > 0 try a smaller step, < 0 give up ---- */

static int stepper_report(hb_stepper *s, double tau)
{
    const hb_stepper_settings *set = &s->settings;
    if (s->rates++ % PROGRESS_EVERY != 0) return 0;
    const double part = (tau - set->tau_start) / (set->tau_end - set->tau_start);
    if (!set->report(set->user, fmin(fmax(part, 0), 1))) return 0;
    s->status = HB_ERROR_INTERRUPTED;
    return -1;
}

static int stepper_rate(double tau, N_Vector v, N_Vector out, void *user)
{
    hb_stepper *s = user;
    int finite = 0;
    if (stepper_report(s, tau)) return -1;
    double gamma = 0;
    CVodeGetCurrentGamma(s->cvode, &gamma); /* of the solve that follows */
    hb_scheme_set_gamma(s->scheme, gamma);
    s->status =
        hb_scheme_rate(s->scheme, tau, N_VGetArrayPointer(v), N_VGetArrayPointer(out), &finite);
    if (s->status != HB_OK) return -1;
    return finite ? 0 : 1;
}

typedef struct weight_job {
    const double *values;
    double *weights;
    double tolerance, top;
} weight_job;

static void stepper_weight_map(void *user, size_t first, size_t count)
{
    const weight_job *job = user;
    for (size_t i = first; i < first + count; i++)
        job->weights[i] = 1 / hb_stepper_tolerance(job->tolerance, job->top - job->values[i]);
}

static int stepper_weights(N_Vector v, N_Vector out, void *user)
{
    const hb_stepper *s = user;
    weight_job job = {.values = N_VGetArrayPointer(v),
                      .weights = N_VGetArrayPointer(out),
                      .tolerance = LOCAL_PART * s->settings.tolerance,
                      .top = -INFINITY};
    for (size_t i = 0; i < s->size; i++)
        job.top = job.values[i] > job.top ? job.values[i] : job.top;
    hb_grid_vector_map(v, stepper_weight_map, &job);
    return 0;
}

/* SUNDIALS would print its errors; the status tells them all. */
static void stepper_stay_silent(int code, const char *module, const char *function, char *message,
                                void *user)
{
    (void)code, (void)module, (void)function, (void)message, (void)user;
}

/* ---- the run ---- */

static hb_status stepper_begin(hb_stepper *s, const double *v)
{
    const int line = hb_scheme_mesh(s->scheme)->dim == 1;
    HB_CHECK(s->context, SUNContext_Create(NULL, &s->sun) == 0, HB_ERROR_MEMORY,
             "SUNDIALS cannot start: no memory");
    s->v = hb_grid_vector_create(hb_scheme_pool(s->scheme), s->size, s->sun);
    s->cvode = CVodeCreate(CV_BDF, s->sun);
    HB_CHECK(s->context, s->v && s->cvode, HB_ERROR_MEMORY,
             "no memory for the time integration of %zu grid points", s->size);
    memcpy(N_VGetArrayPointer(s->v), v, s->size * sizeof(double));
    s->solver = hb_krylov_create(s->context, s->scheme, s->cvode, s->sun);
    int code = s->solver ? CVodeSetErrHandlerFn(s->cvode, stepper_stay_silent, NULL) : CV_MEM_FAIL;
    if (!code) code = CVodeInit(s->cvode, stepper_rate, s->settings.tau_start, s->v);
    if (!code) code = CVodeWFtolerances(s->cvode, stepper_weights);
    if (!code) code = CVodeSetUserData(s->cvode, s);
    if (!code) code = CVodeSetLinearSolver(s->cvode, s->solver, NULL);
    if (!code && !line) code = CVodeSetNonlinConvCoef(s->cvode, NEWTON_PART);
    if (!code && !line) code = CVodeSetEpsLin(s->cvode, LINEAR_PART);
    if (!code) code = CVodeSetMaxNumSteps(s->cvode, STEPS_AT_ONCE);
    if (!code) code = CVodeSetStopTime(s->cvode, s->settings.tau_end);
    if (!code) code = CVodeSetMaxStep(s->cvode, s->settings.longest);
    HB_CHECK(s->context, !code, HB_ERROR_MEMORY,
             "no memory for the time integration of %zu grid points", s->size);
    return HB_OK;
}

void hb_stepper_destroy(hb_stepper *s)
{
    if (!s) return;
    if (s->cvode) CVodeFree(&s->cvode);
    if (s->solver) SUNLinSolFree(s->solver);
    if (s->v) N_VDestroy(s->v);
    if (s->sun) SUNContext_Free(&s->sun);
    hb_release(s->context, s);
}

hb_status hb_stepper_create(hb_context *context, hb_scheme *scheme,
                            const hb_stepper_settings *settings, const double *v, hb_stepper **out)
{
    *out = NULL;
    hb_stepper *s;
    HB_TRY(HB_NEW_CLEARED(context, s, 1));
    s->context = context;
    s->scheme = scheme;
    s->settings = *settings;
    s->size = hb_scheme_mesh(scheme)->size;
    const hb_status status = stepper_begin(s, v);
    if (status == HB_OK)
        *out = s;
    else
        hb_stepper_destroy(s);
    return status;
}

static hb_status stepper_explain(const hb_stepper *s, int code)
{
    double tau = s->settings.tau_start;
    CVodeGetCurrentTime(s->cvode, &tau);
    if (s->status != HB_OK) return s->status;
    const char *why = "CVODE failed", *advice = "give a coarser tolerance or a smaller box";
    switch (code) {
    case CV_TOO_MUCH_WORK: why = "its steps became too short to reach the end"; break;
    case CV_ERR_FAILURE: why = "the error test failed too often"; break;
    case CV_CONV_FAILURE: why = "Newton's method did not converge"; break;
    case CV_REPTD_RHSFUNC_ERR:
    case CV_FIRST_RHSFUNC_ERR:
    case CV_UNREC_RHSFUNC_ERR:
        why = "v changes too fast from one grid point to the next";
        advice = "give a smaller box or more cells";
        break;
    case CV_MEM_FAIL:
        why = "no memory";
        advice = "give fewer points";
        break;
    default: break;
    }
    return hb_fail(s->context, HB_ERROR_NUMERICAL,
                   "the time integration stopped at tau = %.6g of %.6g: %s (CVODE code %d); %s",
                   tau, s->settings.tau_end, why, code, advice);
}

/* Whether a run has had its steps, or, above one dimension, whether the last STEPS_AT_ONCE of
 * them, which began at tau = from, came nowhere: neither to the end at their present length nor
 * on by a part of the time so far. */
static int stepper_is_stalled(const hb_stepper *s, double from, double tau)
{
    const int dim = hb_scheme_mesh(s->scheme)->dim, taken = hb_stepper_steps(s);
    double step = 0;
    CVodeGetCurrentStep(s->cvode, &step);
    const double left = s->settings.tau_end - tau, most = MAX_STEPS[dim - 1];
    if (taken >= most) return 1;
    return dim > 1 && !(left <= (most - taken) * step) &&
           !(tau - from >= LEAST_PROGRESS * (from - s->settings.tau_start));
}

/* To the level, through the cuts before it; the error control of CVODE sees what a step does
 * not pass over. */
static int stepper_advance(hb_stepper *s, double *tau, double level)
{
    const hb_time_cuts *cuts = s->settings.cuts;
    const double end = s->settings.tau_end;
    int code = CV_SUCCESS;
    for (double next = *tau; next < level && code >= 0;) {
        next = cuts ? hb_cuts_after(cuts, *tau, level) : level;
        if (cuts) CVodeSetStopTime(s->cvode, hb_cuts_after(cuts, *tau, end));
        double from;
        do {
            from = *tau;
            code = CVode(s->cvode, next, s->v, tau, CV_NORMAL);
        } while (code == CV_TOO_MUCH_WORK && !stepper_is_stalled(s, from, *tau));
        *tau = next;
    }
    return code;
}

hb_status hb_stepper_run(hb_stepper *s, int n_levels, const double *levels, double *const *out)
{
    double tau = s->settings.tau_start;
    for (int k = 0; k < n_levels; k++) {
        const double part = levels[k] / s->settings.tau_end;
        if (s->settings.graded && s->settings.longest > 0)
            CVodeSetMaxStep(s->cvode, part * s->settings.longest);
        if (levels[k] > s->settings.tau_start) {
            const int code = stepper_advance(s, &tau, levels[k]);
            if (code < 0) return stepper_explain(s, code);
        }
        memcpy(out[k], N_VGetArrayPointer(s->v), s->size * sizeof(double));
    }
    return HB_OK;
}

int hb_stepper_steps(const hb_stepper *s)
{
    long taken = 0;
    if (s) CVodeGetNumSteps(s->cvode, &taken);
    return (int)taken;
}
