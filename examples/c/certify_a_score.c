/* Certificates of two scores: the exact one, which passes, and one that is too small by a fifth,
 * which fails.
 *
 * Data N(0, 1/2) under OU have the variance V = 1 - e^(-2 tau)/2 at tau, and the score -x/V. Every
 * line of a certificate is a number that is 0 for the true score, with its error and a p-value; it
 * needs values of the score at points, and rows that the score was not made from.
 *
 *     cc certify_a_score.c $(pkg-config --cflags --libs heatball) -lm && ./a.out */
#include <heatball/heatball.h>

#include <math.h>
#include <stdio.h>

enum { DIM = 2, ROWS = 1000 };

/* user: the factor of the score */
static int score(void *user, size_t n, const double *x, const double *tau, double *out)
{
    const double factor = *(const double *)user;
    for (size_t k = 0; k < n * DIM; k++)
        out[k] = -factor * x[k] / (1 - 0.5 * exp(-2 * tau[k / DIM]));
    return 0;
}

static hb_status show(hb_context *context, const double *x, const char *name, double factor)
{
    hb_certificate *certificate = NULL;
    HB_TRY(hb_certify(context, NULL, DIM, ROWS, x, score, &factor, &certificate));
    printf("%s: %s: %s\n", name, hb_certificate_passed(certificate) ? "passed" : "failed",
           hb_certificate_summary(certificate));
    hb_certificate_destroy(certificate);
    return HB_OK;
}

int main(void)
{
    static double x[ROWS * DIM];
    hb_context *context = NULL;
    hb_status status = hb_context_create(NULL, &context);
    if (status == HB_OK) status = hb_random_normal(context, 5, 0, 0, ROWS * DIM, x);
    for (int k = 0; k < ROWS * DIM; k++) x[k] *= sqrt(0.5);
    if (status == HB_OK) status = show(context, x, "exact score", 1);
    if (status == HB_OK) status = show(context, x, "four fifths of it", 0.8);
    if (status != HB_OK) fprintf(stderr, "%s\n", hb_context_message(context));
    hb_context_destroy(context);
    return status != HB_OK;
}
