/* The probability-flow ODE with steps chosen by ARKODE, for a block of rows that shares them.
 *
 * With l = ln sigma as the time, d tau/d l = b for both processes, and
 *     dx/dl = b (F - s),   F = -x (OU) or 0 (VE);      div of it = -b (dim [OU] + div s).
 * Near the data b s tends to a x_0 - x, so the right-hand side is of order one all the way and is
 * nowhere stiff: an explicit Runge-Kutta pair of order 5 (ERKStep) does. The error of a step is
 * measured by its largest coordinate over all rows, not by the mean over rows, which would hide the
 * few rows that pass between two modes and need short steps.
 * A number to reproduce: data N(m, c): x/a - m is multiplied by sqrt((c + sigma'^2)/(c + sigma^2)).
 *
 * D. R. Reynolds et al., ARKODE: a flexible IVP solver infrastructure, ACM Trans. Math. Software
 * 49, 2023. */
#include "generate/reverse.h"

#include <arkode/arkode_erkstep.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sundials/sundials_context.h>

enum { ORDER = 5, MAX_STEPS = 100000 };

typedef struct flow {
    const hb_reverse *run;
    hb_level from, to;
    size_t rows;
    double reached;   /* share of the way, for the progress */
    hb_status status; /* of the last failure inside the callback */
    SUNContext sun;
    N_Vector state; // (rows, dim), then (rows) sums of the divergence
    void *arkode;
} flow;

/* The level at l, inside the range that was asked for whatever the rounding. */
static hb_level level_at(const flow *f, double l)
{
    const hb_process process = (hb_process)f->run->settings->process;
    const double low = fmin(f->from.tau, f->to.tau), high = fmax(f->from.tau, f->to.tau);
    const hb_level level = hb_level_of_sigma(process, exp(l));
    return hb_level_at(process, fmin(fmax(level.tau, low), high));
}

/* Steps that fail the error test go back a little; the progress does not. */
static hb_status report_progress(flow *f, double l)
{
    const double start = log(f->from.sigma), way = log(f->to.sigma) - start;
    f->reached = fmax(f->reached, fmin((l - start) / way, 1));
    return hb_reverse_progress(f->run, f->reached);
}

static int rate(double l, N_Vector state, N_Vector out, void *user)
{
    flow *f = user;
    const size_t d = f->run->dim, size = f->rows * d;
    const hb_level level = level_at(f, l);
    const double drift = f->run->settings->process == HB_PROCESS_OU ? -1 : 0;
    const double *x = N_VGetArrayPointer(state);
    double *v = N_VGetArrayPointer(out), *divergence = f->run->divergence ? v + size : NULL;
    f->status = hb_reverse_ask(f->run, f->rows, x, level.tau, v, divergence);
    if (f->status == HB_OK) f->status = report_progress(f, l);
    if (f->status != HB_OK) return -1;
    for (size_t i = 0; i < size; i++) v[i] = level.b * (drift * x[i] - v[i]);
    for (size_t i = 0; divergence && i < f->rows; i++)
        divergence[i] = level.b * (drift * (double)d - divergence[i]);
    return 0;
}

/* Takes the place of the weighted root mean square. */
static double largest(N_Vector x, N_Vector weights)
{
    const double *value = N_VGetArrayPointer(x), *weight = N_VGetArrayPointer(weights);
    double most = 0;
    for (sunindextype i = 0; i < N_VGetLength(x); i++)
        most = fmax(most, fabs(value[i] * weight[i]));
    return most;
}

/* SUNDIALS would print its errors; the status tells them all. */
static void stay_silent(int code, const char *module, const char *function, char *message,
                        void *user)
{
    (void)code, (void)module, (void)function, (void)message, (void)user;
}

static hb_status create(flow *f, size_t size, const double *x)
{
    hb_context *context = f->run->context;
    const double tolerance = f->run->settings->tolerance;
    HB_CHECK(context, SUNContext_Create(NULL, &f->sun) == 0, HB_ERROR_MEMORY,
             "SUNDIALS cannot start: no memory");
    f->state = N_VNew_Serial((sunindextype)size, f->sun);
    HB_CHECK(context, f->state, HB_ERROR_MEMORY, "no memory for %zu numbers of the flow", size);
    f->state->ops->nvwrmsnorm = largest;
    const size_t rows_size = f->rows * f->run->dim;
    memcpy(N_VGetArrayPointer(f->state), x, rows_size * sizeof *x);
    memset(N_VGetArrayPointer(f->state) + rows_size, 0, (size - rows_size) * sizeof *x);
    f->arkode = ERKStepCreate(rate, log(f->from.sigma), f->state, f->sun);
    int code = f->arkode ? ERKStepSetErrHandlerFn(f->arkode, stay_silent, NULL) : -1;
    if (!code) code = ERKStepSetUserData(f->arkode, f);
    if (!code) code = ERKStepSetOrder(f->arkode, ORDER);
    if (!code) code = ERKStepSStolerances(f->arkode, tolerance, tolerance);
    if (!code) code = ERKStepSetMaxNumSteps(f->arkode, MAX_STEPS);
    if (!code) code = ERKStepSetStopTime(f->arkode, log(f->to.sigma));
    HB_CHECK(context, !code, HB_ERROR_MEMORY, "no memory for the flow of %zu rows", f->rows);
    return HB_OK;
}

static hb_status march(flow *f)
{
    double reached = log(f->from.sigma);
    const int code = ERKStepEvolve(f->arkode, log(f->to.sigma), f->state, &reached, ARK_NORMAL);
    if (code >= 0) return HB_OK;
    if (f->status != HB_OK) return f->status;
    ERKStepGetCurrentTime(f->arkode, &reached);
    return hb_fail(f->run->context, HB_ERROR_NUMERICAL,
                   "the probability-flow ODE stopped at tau = %.6g on its way from %.6g to %.6g "
                   "(ARKODE code %d); give a coarser tolerance than %g or a larger tau_min",
                   level_at(f, reached).tau, f->from.tau, f->to.tau, code,
                   f->run->settings->tolerance);
}

hb_status hb_flow_integrate(const hb_reverse *run, hb_level from, hb_level to, size_t rows,
                            double *x, double *sum)
{
    const size_t size = rows * run->dim, total = size + (sum ? rows : 0);
    flow f = {.run = run, .from = from, .to = to, .rows = rows};
    hb_status status = create(&f, total, x);
    if (status == HB_OK) status = march(&f);
    if (status == HB_OK) {
        const double *state = N_VGetArrayPointer(f.state); // (total)
        memcpy(x, state, size * sizeof *x);
        if (sum) memcpy(sum, state + size, rows * sizeof *sum);
    }
    if (f.arkode) ERKStepFree(&f.arkode);
    if (f.state) N_VDestroy(f.state);
    if (f.sun) SUNContext_Free(&f.sun);
    return status;
}
