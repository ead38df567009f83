/* The check of a model's density in words. 95 % of its samples differ by less than 1.96 errors from
 * the ODE, so that is what the line has: "one pass within 0.04 nats of the ODE for 95 %". */
#include "density_line.h"

#include <math.h>
#include <stdio.h>

static const double NORMAL = 1.959963984540054;

void hb_density_line_print(const hb_density_check *check)
{
    printf("ln of the density's integral at tau %g: %.2g +- %.2g (%.0f %% of %zu samples count); "
           "one pass within %.2g nats of the ODE for 95 %%\n",
           check->tau_min, check->log_normaliser, check->log_normaliser_se, 100 * check->effective,
           check->rows, NORMAL * check->error_all);
}

const char *hb_density_line_key(const hb_density_check *check, int i, double *value)
{
    static const char *const key[] = {"log_normaliser", "log_normaliser_se", "effective",
                                      "direct_error", NULL};
    const double values[] = {check->log_normaliser, check->log_normaliser_se, check->effective,
                             check->error_all, NAN};
    *value = check->rows ? values[i] : NAN;
    return key[i];
}
