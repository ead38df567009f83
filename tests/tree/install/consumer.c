/* A program as a user writes it: only the installed header and library. It draws from the installed
 * library and prints its version, and E[sigma] under kappa in d = 7 with its exact value C1/4. */
#include <heatball/heatball.h>

#include <math.h>
#include <stdio.h>

enum { DIM = 7, N = 20000 };

static double sigma[N];

int main(void)
{
    hb_context *context;
    hb_ball_constants constants;
    if (hb_context_create(NULL, &context) != HB_OK) return 1;
    if (hb_ball_constants_get(context, DIM, 0, sizeof constants, &constants) != HB_OK ||
        hb_ball_sample(context, HB_MEASURE_KAPPA, DIM, 0, 1, 0, N, 1.0, NULL, sigma) != HB_OK) {
        fprintf(stderr, "%s\n", hb_context_message(context));
        return 1;
    }
    double sum = 0;
    for (int i = 0; i < N; i++) sum += sigma[i];
    printf("%s %.17g %.17g\n", hb_version(), sum / N, constants.mean_sigma);
    hb_context_destroy(context);
    return fabs(sum / N / constants.mean_sigma - 1) < 0.02 ? 0 : 1;
}
