/* heatball constants: every closed-form constant of the heat ball in D = dim + lift dimensions.
 *
 * The numbers come from hb_ball_constants_get; this file gives them their names. For --dim 2:
 * C1 = 1/(8 pi) = 0.0397887..., c_g = 0.1814437..., and one_plus_chi2 is infinite (null in JSON).
 */
#include "commands.h"
#include "report.h"

#include <heatball/ball.h>

typedef struct constants_values {
    int dim, lift, json;
} constants_values;

#define VALUES constants_values
static const hb_option constants_options[] = {
    HB_OPTION(INTEGER, "dim", "D", dim, "dimension", .min = 1, .max = HB_MAX_DIM,
              .rules = HB_OPTION_REQUIRED),
    HB_OPTION(INTEGER, "lift", "M", lift, "use the ball in D+M dimensions", .max = HB_MAX_DIM,
              .fallback = "0"),
    HB_OPTION_JSON,
    {0}};

static void add_constants(hb_report *report, const hb_ball_constants *c)
{
    hb_report_integer(report, "dim", c->dim, "dimension d of the points");
    hb_report_integer(report, "lift", c->lift, "extra dimensions m; D = d + m below");
    hb_report_real(report, "C1", c->C1, "(D/(D+2))^(D/2+2)/pi, of the mean-value expansion");
    hb_report_real(report, "C2", c->C2, "2 D C1");
    hb_report_real(report, "C3", c->C3, "C1/2");
    hb_report_real(report, "c_g", c->c_g, "constant of the gradient form");
    hb_report_real(report, "volume", c->volume, "|E_1|, volume of the unit heat ball");
    hb_report_real(report, "sigma_star", c->sigma_star, "1/(4 pi e), where the ball is widest");
    hb_report_real(report, "R_max", c->r_max, "sqrt(2D/(4 pi e)), its radius there");
    hb_report_real(report, "mean_sigma", c->mean_sigma, "C1/4, mean of sigma under kappa");
    hb_report_real(report, "one_plus_chi2", c->one_plus_chi2,
                   "1 + chi^2 of kappa against the uniform distribution on the cylinder");
    hb_report_real(report, "C_d", c->C_d,
                   "Gamma((d+1)/2)/Gamma(d/2), the paper's gradient constant");
    hb_report_real(report, "C_sharp", c->C_sharp, "1/sqrt(pi), its sharp value in every dimension");
    hb_report_real(report, "source_mass", c->source_mass, "C1/(2D), mass of the source measure");
    hb_report_real(report, "gradient_mass", c->gradient_mass,
                   "c_g/D, mass of the gradient measure");
    hb_report_real(report, "cylinder_volume", c->cylinder_volume,
                   "|S|, volume of the bounding cylinder");
    hb_report_real(report, "cylinder_ratio", c->cylinder_ratio, "|S|/|E_1|");
}

static hb_status run_constants(hb_session *session, const void *values)
{
    const constants_values *v = values;
    hb_ball_constants constants;
    HB_TRY(hb_ball_constants_get(hb_session_context(session), v->dim, v->lift, sizeof constants,
                                 &constants));
    hb_report *report = hb_report_create();
    add_constants(report, &constants);
    return hb_report_finish(report, v->json);
}

const hb_command hb_command_constants = {
    .name = "constants",
    .summary = "print the constants of the heat ball in a dimension",
    .text = "Prints the constants of the heat ball and of its measures in closed form, one per "
            "line with its meaning. Those that are infinite are inf in the table and null in JSON.",
    .examples = {"heatball constants --dim 3", "heatball constants --dim 2 --lift 2",
                 "heatball constants --dim 16 --json"},
    .options = constants_options,
    .size = sizeof(constants_values),
    .run = run_constants,
    .alone = 1};
