/* The settings of a certificate, once: names, defaults, ranges and meaning of all fields of
 * hb_certify_settings, in their order. Checks and the options of `heatball certify` follow from
 * these rows. */
#define SETTINGS hb_certify_settings
#include "base/setting_rows.h"
#include "certify/certify_run.h"
#include "net/model_file.h"

#include <math.h>

static const hb_setting rows[] = {
    CHOICE(process, RESULT, HB_PROCESS_OU, "ou", hb_process_names, "the process of the score"),
    POINTER(drift, "the drift of the process"),
    NUMBER(tau_min, RESULT | ABOVE, NAN, 0, 1e6, "the smallest tau at which the score is known"),
    NUMBER(tau_max, RESULT | ABOVE, NAN, 0, 1e8, "the largest"),
    POINTER(tau, "tau at which the score is tested"),
    NUMBER(n_tau, RESULT, 0, 0, HB_CERTIFY_TAUS, "number of these tau"),
    NUMBER(rows, RESULT, 1000, 100, 5000, "rows that are used, at most"),
    NUMBER(pairs, RESULT, 16, 1, 100000, "pairs of nodes of a heat ball, in each of two halves"),
    NUMBER(time_fraction, RESULT | ABOVE | BELOW, 0.3, 0, 1,
           "fraction of the time from tau_min that a heat ball reaches back, r^2 = 4 pi F (tau - "
           "tau_min)"),
    NUMBER(flow_samples, RESULT, 500, 0, 2500,
           "rows carried along the probability flow, at most half of all; 0: none"),
    POINTER(training, "rows that the score was made from"),
    NUMBER(n_training, RESULT, 0, 0, 0, "number of these rows"),
    POINTER(truth, "the distribution of the rows"),
    POINTER(log_density, "the log-density"),
    POINTER(divergence, "the divergence of the score"),
    NUMBER(tolerance, RESULT, 0, 0, 1, "relative effect that is accepted"),
    NUMBER(level, RESULT | ABOVE | BELOW, 0.95, 0, 1, "level of all verdicts together"),
    NUMBER(seed, RESULT, 1, 0, 0,
           "seed of the random numbers; the same seed gives bit-identical results"),
    POINTER(name, "name of the score on the page"),
    POINTER(data_name, "name of the rows on the page"),
    NUMBER(max_time, ASIDE, 0, 0, 1e12,
           "seconds after which the lines that are measured make the certificate; 0: no limit"),
    {0}};

SETTING_FUNCTIONS(certify, rows)

hb_status hb_certify_settings_read(hb_context *context, const hb_certify_settings *given,
                                   hb_certify_settings *out)
{
    HB_SIZED_READ(context, hb_certify_settings, given, out);
    return hb_setting_rows_check(context, rows, out);
}
