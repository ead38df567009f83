/* cli/evaluate_points.h: a model, the truth and points at tau, all in the model's own coordinates. */
#ifndef HB_CLI_EVALUATE_POINTS_H
#define HB_CLI_EVALUATE_POINTS_H

#include "evaluate_measure.h"

#include <heatball/generate.h>

typedef struct hb_evaluate_frame {
    hb_context *context;
    const hb_evaluate_plan *plan;
    hb_model_info info;
    hb_model_view view;
    const hb_mixture *truth; /* of z; NULL: not known at tau > 0 */
    hb_mixture *own;         /* the truth, where it is not the set itself */
    const char *no_samples;  /* why the model cannot generate, or NULL */
    double *zero, *scale;    // (dim): z of x = 0; x - x' = scale (z - z')
    double *x;               // some rows, (.., dim)
} hb_evaluate_frame;

/* Destroy in either case. */
hb_status hb_evaluate_frame_create(hb_session *session, const hb_evaluate_plan *plan,
                                   hb_evaluate_frame *out);
void hb_evaluate_frame_destroy(hb_evaluate_frame *frame);
/* The model's score of z, as an hb_score_callback of a frame. */
int hb_evaluate_frame_score(void *frame, size_t n, const double *z, double tau, double *score);
/* z[n][dim]: draws of the law at tau: of the truth, of held-out rows with noise, or (a drift) by the
 * model itself. Draws of different `part` are independent. */
hb_status hb_evaluate_frame_points(hb_evaluate_frame *frame, double tau, uint64_t part, size_t n,
                                   double *z);
/* Samples first .. of the model, x[n][dim]. A drift may need more steps than the settings have, which is
 * refused before the first one: then by twice as many, and so on. */
hb_status hb_evaluate_frame_generate(const hb_evaluate_frame *frame, hb_generate_settings *settings,
                                     uint64_t first, size_t n, double *x);

#endif
