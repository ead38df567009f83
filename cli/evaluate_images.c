/* Generated images beside real ones.
 *
 *     precision, recall   shares of the generated and of as many real images that the other set covers
 *     memorisation        distance to the nearest training image, beside that of real images
 *     mmd, floor          of generated against real images, and of training against real ones: mean and 95 %
 *     specks              images with a salt-and-pepper pixel, where 1 % of the real ones have one
 *     classes             by a classifier that is trained here, on the training images
 * docs/judge.md has the definitions. Files of images may be ordered (the first half of the test images of
 * MNIST is cleaner than the second), so real images are taken in a random order. */
#include "evaluate.h"
#include "rows.h"

#include <heatball/classify.h>
#include <heatball/data.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEIGHBOURS = 3, SPECKS = 1, FLOOR_TIMES = 20, MMD_ROWS = 2000, LEAST_ROWS = 4 };
static const double AFFECTED_SHARE = 0.01, SURE = 0.9;

typedef struct image_frame {
    hb_context *context;
    const hb_image_plan *plan;
    int dim;
    double *made; // (made.n, dim), clipped
    double *real; // (real.n, dim), in a random order
    int *labels;  // (real.n), likewise; or NULL
} image_frame;

/* ---- images made ready ---- */

static void clip(const hb_image_plan *plan, size_t dim, double *made)
{
    double low = plan->trained.x[0], high = low;
    for (size_t i = 1; i < plan->trained.n * dim; i++) {
        low = fmin(low, plan->trained.x[i]);
        high = fmax(high, plan->trained.x[i]);
    }
    for (size_t i = 0; i < plan->made.n * dim; i++)
        made[i] = fmin(fmax(plan->made.x[i], low), high);
}

static hb_status shuffle(image_frame *f)
{
    const hb_image_rows *real = &f->plan->real;
    const size_t dim = (size_t)f->dim;
    size_t *order = malloc(real->n * sizeof *order); // (real.n)
    if (!order) return HB_ERROR_MEMORY;
    const hb_status status = hb_data_split(f->context, f->plan->seed, real->n, order);
    for (size_t i = 0; status == HB_OK && i < real->n; i++) {
        memcpy(f->real + i * dim, real->x + order[i] * dim, dim * sizeof *f->real);
        if (f->labels) f->labels[i] = real->labels[order[i]];
    }
    free(order);
    return status;
}

static hb_status create_frame(hb_session *session, const hb_image_plan *plan, image_frame *f)
{
    const size_t dim = (size_t)plan->height * (size_t)plan->width, real = plan->real.n;
    *f = (image_frame){.context = hb_session_context(session), .plan = plan, .dim = (int)dim};
    HB_REFUSE_IF(session,
                 plan->made.n < LEAST_ROWS || real < LEAST_ROWS || plan->trained.n < LEAST_ROWS,
                 "there are %zu generated, %zu real and %zu training images; evaluating needs at "
                 "least %d of each",
                 plan->made.n, real, plan->trained.n, LEAST_ROWS);
    f->made = malloc(plan->made.n * dim * sizeof *f->made);
    f->real = malloc(real * dim * sizeof *f->real);
    if (plan->real.labels) f->labels = malloc(real * sizeof *f->labels);
    if (!f->made || !f->real || (plan->real.labels && !f->labels)) return HB_ERROR_MEMORY;
    clip(plan, dim, f->made);
    return shuffle(f);
}

static void destroy_frame(image_frame *f)
{
    free(f->made);
    free(f->real);
    free(f->labels);
}

/* ---- distances and specks ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static hb_status judge_distances(image_frame *f, hb_image_judgement *out)
{
    const hb_image_plan *p = f->plan;
    const size_t alike = least(p->made.n, p->real.n), trained = p->trained.n;
    hb_status status = hb_judge_precision_recall(f->context, f->dim, NEIGHBOURS, p->made.n, alike,
                                                 f->made, f->real, &out->precision, &out->recall);
    if (status == HB_OK)
        status = hb_judge_memorisation(f->context, f->dim, p->made.n, alike, trained, f->made,
                                       f->real, p->trained.x, sizeof out->memory, &out->memory);
    const size_t n = least(least(alike, trained), MMD_ROWS);
    out->mmd_rows = n;
    if (status == HB_OK)
        status =
            hb_judge_mmd(f->context, f->dim, 0, n, n, f->made, f->real, sizeof out->mmd, &out->mmd);
    if (status == HB_OK)
        status = hb_judge_mmd_floor(f->context, f->dim, 0, FLOOR_TIMES, p->seed, trained, p->real.n,
                                    n, n, p->trained.x, f->real, sizeof out->floor, &out->floor);
    return status;
}

static hb_status judge_specks(image_frame *f, hb_image_judgement *out)
{
    const hb_image_plan *p = f->plan;
    HB_TRY(hb_judge_artifacts_threshold(f->context, HB_SPECK_MEDIAN, p->height, p->width, SPECKS,
                                        p->real.n, AFFECTED_SHARE, f->real, &out->theta));
    return hb_judge_artifacts(f->context, HB_SPECK_MEDIAN, p->height, p->width, SPECKS, p->made.n,
                              out->theta, f->made, NULL, &out->specked);
}

/* ---- classes ---- */

/* The likeliest class of p (classes), and whether it is sure. */
static int likeliest(int classes, const double *p, int *sure)
{
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (p[c] > p[best]) best = c;
    *sure = p[best] > SURE;
    return best;
}

static void count_classes(size_t n, int classes, const double *p, hb_image_judgement *out)
{
    size_t sure = 0, fewest = n, most = 0;
    for (size_t i = 0; i < n; i++) {
        int is_sure;
        out->counts[likeliest(classes, p + i * (size_t)classes, &is_sure)]++;
        sure += (size_t)is_sure;
    }
    for (int c = 0; c < classes; c++) {
        fewest = least(fewest, out->counts[c]);
        most = out->counts[c] > most ? out->counts[c] : most;
    }
    out->confident = (double)sure / (double)n;
    out->least_share = (double)fewest / (double)n;
    out->most_share = (double)most / (double)n;
}

static void count_right(const image_frame *f, const double *p, hb_image_judgement *out)
{
    const size_t n = f->plan->real.n, classes = (size_t)f->plan->classes;
    size_t right = 0, sure = 0;
    for (size_t i = 0; i < n; i++) {
        int is_sure;
        const int found = likeliest((int)classes, p + i * classes, &is_sure);
        right += f->labels && found == f->labels[i];
        sure += (size_t)is_sure;
    }
    out->real_confident = (double)sure / (double)n;
    out->right = f->labels ? (double)right / (double)n : NAN;
}

static hb_status predict(image_frame *f, const hb_classifier *classifier, hb_image_judgement *out)
{
    const hb_image_plan *p = f->plan;
    const size_t classes = (size_t)p->classes;
    const size_t rows = p->made.n > p->real.n ? p->made.n : p->real.n;
    double *probability = malloc(rows * classes * sizeof *probability); // (rows, classes)
    if (!probability) return HB_ERROR_MEMORY;
    hb_status status =
        hb_classifier_predict(f->context, classifier, p->made.n, f->made, probability);
    if (status == HB_OK) {
        count_classes(p->made.n, p->classes, probability, out);
        status = hb_classifier_predict(f->context, classifier, p->real.n, f->real, probability);
    }
    if (status == HB_OK) count_right(f, probability, out);
    free(probability);
    return status;
}

static hb_status judge_classes(image_frame *f, hb_image_judgement *out)
{
    const hb_image_plan *p = f->plan;
    hb_classifier *classifier = NULL;
    if (p->classes < 2 || !p->trained.labels) return HB_OK;
    out->counts = calloc((size_t)p->classes, sizeof *out->counts);
    if (!out->counts) return HB_ERROR_MEMORY;
    out->classes = p->classes;
    hb_status status = hb_classifier_train(f->context, NULL, f->dim, p->classes, p->trained.n,
                                           p->trained.x, p->trained.labels, &classifier);
    if (status == HB_OK) status = predict(f, classifier, out);
    hb_classifier_destroy(classifier);
    return status;
}

hb_status hb_evaluate_images(hb_session *session, const hb_image_plan *plan,
                             hb_image_judgement *out)
{
    image_frame f = {0};
    *out = (hb_image_judgement){
        .made = plan->made.n, .real = plan->real.n, .trained = plan->trained.n, .right = NAN};
    hb_status status = create_frame(session, plan, &f);
    if (status == HB_OK) status = judge_distances(&f, out);
    if (status == HB_OK) status = judge_specks(&f, out);
    if (status == HB_OK) status = judge_classes(&f, out);
    destroy_frame(&f);
    return status;
}

void hb_image_judgement_destroy(hb_image_judgement *judgement)
{
    free(judgement->counts);
    *judgement = (hb_image_judgement){0};
}

/* ---- shown ---- */

void hb_image_judgement_put(const hb_image_judgement *j, json_t *object)
{
    hb_rows_put_count(object, "generated", j->made);
    hb_rows_put_count(object, "real", j->real);
    hb_rows_put_count(object, "training", j->trained);
    hb_rows_put(object, "precision", j->precision);
    hb_rows_put(object, "recall", j->recall);
    hb_rows_put(object, "nearest_ratio", j->memory.ratio);
    hb_rows_put(object, "nearest_median", j->memory.median);
    hb_rows_put(object, "nearest_median_real", j->memory.real_median);
    hb_rows_put(object, "nearest_share", j->memory.share);
    hb_rows_put(object, "mmd", j->mmd.mmd);
    hb_rows_put(object, "mmd2", j->mmd.mmd2);
    hb_rows_put(object, "mmd2_se", j->mmd.mmd2_se);
    hb_rows_put(object, "bandwidth", j->mmd.bandwidth);
    hb_rows_put(object, "mmd_floor", j->floor.mmd);
    hb_rows_put(object, "mmd_floor_upper", j->floor.mmd_upper);
    hb_rows_put(object, "mmd2_floor", j->floor.mmd2);
    hb_rows_put(object, "mmd2_floor_upper", j->floor.mmd2_upper);
    hb_rows_put_count(object, "mmd_rows", j->mmd_rows);
    hb_rows_put(object, "artifact_theta", j->theta);
    hb_rows_put_count(object, "artifacts", j->specked);
    if (!j->classes) return;
    json_t *counts = json_array();
    for (int c = 0; c < j->classes; c++)
        json_array_append_new(counts, json_integer((json_int_t)j->counts[c]));
    json_object_set_new(object, "class_counts", counts);
    hb_rows_put(object, "class_share_least", j->least_share);
    hb_rows_put(object, "class_share_most", j->most_share);
    hb_rows_put(object, "confident", j->confident);
    hb_rows_put(object, "confident_real", j->real_confident);
    hb_rows_put(object, "classifier_right", j->right);
}

void hb_image_judgement_print(const hb_image_judgement *j)
{
    printf("images: precision %.3f, recall %.3f of %zu generated ones (k = %d)\n", j->precision,
           j->recall, j->made, NEIGHBOURS);
    printf("nearest training image: median distance %.4g, of real images %.4g, ratio %.3f; %.2f %% "
           "nearer than 1 %% of the real ones\n",
           j->memory.median, j->memory.real_median, j->memory.ratio, 100 * j->memory.share);
    printf("mmd: %.4g, real against training images %.4g, 95 %% of them below %.4g; squares %.3g "
           "+- %.2g, %.3g, %.3g (%zu rows of each)\n",
           j->mmd.mmd, j->floor.mmd, j->floor.mmd_upper, j->mmd.mmd2, j->mmd.mmd2_se, j->floor.mmd2,
           j->floor.mmd2_upper, j->mmd_rows);
    printf("salt-and-pepper: %zu of %zu images have a pixel more than %.4g from its median, as 1 "
           "%% of real ones\n",
           j->specked, j->made, j->theta);
    if (!j->classes) return;
    printf("classes:");
    for (int c = 0; c < j->classes; c++) printf("%s %zu", c ? "," : "", j->counts[c]);
    printf("; shares %.1f %% to %.1f %%\n", 100 * j->least_share, 100 * j->most_share);
    printf("classifier: sure (above %g) of %.1f %%, of real images of %.1f %%", SURE,
           100 * j->confident, 100 * j->real_confident);
    if (isfinite(j->right)) printf("; right on %.2f %% of the real ones", 100 * j->right);
    printf("\n");
}
