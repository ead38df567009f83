/* What was aimed at with few training images, beside the numbers; none of it is in the paper. Each verdict is a condition
 * on means over seeds: it holds when fp and hb meet it, with a correction when one of them does. */
#include "mnist.h"

#include <math.h>

#define OF_STOPPED 0.97 /* of dsm at its best stopping time, tau 0.05 to 0.3 */
#define OF_STEPS 0.75   /* of dsm after as many steps, tau 0.05 and 0.1 */
#define NO_HARM 1.01    /* of dsm with all images, every tau */

/* The largest ratio of a method's mean loss to that of `to` over the first `taus` tau. */
static double worst_ratio(const hb_mnist *m, int size, int method, int to, int taus)
{
    double worst = 0;
    for (int t = 0; t < taus; t++) {
        double ours[3], theirs[3];
        hb_mnist_few_mean(m, size, method, MNIST_LOSS_AT + t, ours);
        hb_mnist_few_mean(m, size, to, MNIST_LOSS_AT + t, theirs);
        worst = fmax(worst, ours[0] / theirs[0]);
    }
    return worst;
}

static hb_claim_verdict verdict_of(int fp, int hb)
{
    return fp && hb ? HB_HOLDS : fp || hb ? HB_HOLDS_CORRECTED : HB_FAILS;
}

static size_t rows_of(const hb_mnist *m, int size)
{
    size_t first;
    return hb_mnist_few_rows(m, size, 0, &first);
}

static void claim_ratio(json_t *claims, const hb_mnist *m, const char *claim, int size, int to,
                        int taus, double bound)
{
    const double fp = worst_ratio(m, size, FEW_FP, to, taus);
    const double hb = worst_ratio(m, size, FEW_HB, to, taus);
    hb_study_claim(claims, claim, verdict_of(fp <= bound, hb <= bound),
                   HB_WORDS((hb_few_names[to]), rows_of(m, size), fp, hb, hb_mnist_taus[0],
                            hb_mnist_taus[taus - 1], bound));
}

static void claim_copies(json_t *claims, const hb_mnist *m)
{
    double dsm[3], fp[3], hb[3];
    hb_mnist_few_mean(m, 0, FEW_DSM, MNIST_NEAR_SHARE, dsm);
    hb_mnist_few_mean(m, 0, FEW_FP, MNIST_NEAR_SHARE, fp);
    hb_mnist_few_mean(m, 0, FEW_HB, MNIST_NEAR_SHARE, hb);
    hb_study_claim(
        claims, "mnist/few-copies",
        verdict_of(3 * fp[0] <= dsm[0] && dsm[0] > 0, 3 * hb[0] <= dsm[0] && dsm[0] > 0),
        HB_FILL(100 * dsm[0], 100 * fp[0], 100 * hb[0], m->size.few_made, rows_of(m, 0)));
}

void hb_mnist_few_claims(json_t *claims, const hb_mnist *m)
{
    int most = 0;
    if (!m->few || !hb_mnist_few_done(m, 0, 0)) return;
    claim_ratio(claims, m, "mnist/few-stopped", 0, FEW_STOPPED, 3, OF_STOPPED);
    claim_ratio(claims, m, "mnist/few-steps", 0, FEW_DSM, 2, OF_STEPS);
    claim_copies(claims, m);
    for (int size = 1; size < MNIST_FEW_SIZES; size++)
        if (hb_mnist_few_done(m, size, 0) && rows_of(m, size) > rows_of(m, most)) most = size;
    claim_ratio(claims, m, "mnist/few-harm", most, FEW_DSM, MNIST_TAUS, NO_HARM);
}
