/* The settings of a generation, once: names, defaults, ranges and meaning of all fields of
 * hb_generate_settings, in their order. Checks, the options of `heatball generate` and the keywords
 * of Python follow from these rows. */
#define SETTINGS hb_generate_settings
#include "base/setting_rows.h"
#include "generate/reverse.h"
#include "net/model_file.h"

#include <math.h>

static const char *const *solver_names(void)
{
    static const char *const names[] = {"sde", "ode", "heun", NULL};
    return names;
}

static const char *const *denoise_names(void)
{
    static const char *const names[] = {"none", "mean", "flow", NULL};
    return names;
}

static const hb_setting rows[] = {
    CHOICE(solver, RESULT, HB_SOLVER_SDE, "sde", solver_names,
           "the reverse-time SDE, the probability-flow ODE with adaptive steps, or the same ODE by "
           "Heun's method on EDM's grid"),
    CHOICE(process, RESULT, HB_PROCESS_OU, "ou", hb_process_names, "the process to turn back"),
    NUMBER(n_steps, RESULT, 500, 1, 1000000, "steps of sde and heun"),
    NUMBER(n_correct, RESULT, 1, 0, 4000, "sde: Langevin steps after each step"),
    NUMBER(snr, RESULT | BELOW, 0.16, 0, 1,
           "sde: size of a Langevin step, 2 R^2 times the noise's variance"),
    NUMBER(det_tau, RESULT, 0.15, 0, INFINITY,
           "sde: from this tau on the way is that of the ODE, without noise; 0: never"),
    NUMBER(tau_min, RESULT | ABOVE, NAN, 0, 1e6, "the tau at which the way ends"),
    NUMBER(tau_max, RESULT | ABOVE, NAN, 0, 1e8, "the tau at which it begins"),
    NUMBER(rho, RESULT, 7, 1, 100, "heun: exponent of EDM's grid"),
    CHOICE(denoise, RESULT, HB_DENOISE_FLOW, "flow", denoise_names,
           "what is done with the noise that is left at the end: nothing, the mean of what it may "
           "hide, or a last step of the ODE"),
    SHOWN(ode_tolerance, RESULT, "1e-5", NAN, 1e-12, 0.1,
          "ode: error of a step in every coordinate"),
    POINTER(mean, "mean of the data"),
    POINTER(covariance, "covariance of the data"),
    NUMBER(low, RESULT, NAN, 0, 0, "no coordinate of the data is below it"),
    NUMBER(high, RESULT, NAN, 0, 0, "no coordinate of the data is above it"),
    NUMBER(seed, RESULT, 1, 0, 0,
           "seed of the random numbers; the same seed gives bit-identical results"),
    POINTER(drift, "the drift of the process to turn back"),
    POINTER(ends, "draws of the distribution at tau_max"),
    NUMBER(n_ends, RESULT, 0, 0, 0, "number of these draws"),
    POINTER(end_density, "ln of the distribution at tau_max"),
    POINTER(end_user, "handed to end_density"),
    NUMBER(detail, RESULT | ABOVE, NAN, 0, INFINITY,
           "drift: variance of the finest details of the distribution at large tau"),
    {0}};

SETTING_FUNCTIONS(generate, rows)

hb_status hb_generate_settings_read(hb_context *context, const hb_generate_settings *given,
                                    hb_generate_settings *out)
{
    hb_generate_settings_default(sizeof *out, out);
    return hb_sized_read(context, "hb_generate_settings", offsetof(hb_generate_settings, drift),
                         sizeof *out, given, out);
}

hb_status hb_generate_settings_check(hb_context *context, const hb_generate_settings *settings)
{
    return hb_setting_rows_check(context, rows, settings);
}
