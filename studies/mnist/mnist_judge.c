/* Numbers of a set of images: how near they are to real digits, and what is wrong with them.
 *
 * Pixels are cut to [0, 1] first, as a picture file would. Then
 *     MMD               against test images 0 .. real-1, kernel of hb_judge_mmd (five bandwidths)
 *     artifacts         share of images with a speck of a strength that 1 % of the test images
 *                       reach
 *     classifier        share with a probability above 0.9, share of each class
 *     precision, recall with the third neighbours, against as many test images
 *     nearest           training images, distances beside those of test images
 * Real images get the same numbers: test images behind the first `real`, as if they had been
 * generated. */
#include "mnist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = MNIST_SIDE * MNIST_SIDE, SPECKS_LEAST = 1 };
#define SPECKS_SHARE 0.01  /* of real images that may be affected */
#define SPECKS_THETA 0.836 /* without images to take it from: that of MNIST's test images */
static const hb_speck SPECKS_KIND = HB_SPECK_MEDIAN;

/* ---- images ---- */

static void cut(size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) x[i] = x[i] < 0 ? 0 : x[i] > 1 ? 1 : x[i];
}

static hb_status judge_classes(hb_mnist *m, size_t n, const double *x, const int *labels,
                               double *value)
{
    const size_t classes = (size_t)m->train.classes;
    size_t counts[MNIST_CLASSES] = {0}, sure = 0, agree = 0;
    double *p; // (n, classes)
    HB_TRY(HB_STUDY_NEW(m->context, p, n * classes));
    const hb_status status = hb_classifier_predict(m->context, m->classifier, n, x, p);
    for (size_t i = 0; status == HB_OK && i < n; i++) {
        size_t best = 0;
        for (size_t c = 1; c < classes; c++)
            if (p[i * classes + c] > p[i * classes + best]) best = c;
        counts[best]++;
        sure += p[i * classes + best] > MNIST_CONFIDENT_AT;
        if (labels) agree += labels[i] == (int)best;
    }
    free(p);
    value[MNIST_CONFIDENT] = (double)sure / (double)n;
    if (labels) value[MNIST_AGREE] = (double)agree / (double)n;
    for (size_t c = 0; c < classes; c++) value[MNIST_SHARE + c] = (double)counts[c] / (double)n;
    return status;
}

static hb_status judge_distances(hb_mnist *m, size_t n, const double *x, size_t rows,
                                 const double *train, double *value)
{
    const size_t real = hb_mnist_real_count(m);
    const size_t same = n < real ? n : real, held = m->size.held < real ? m->size.held : real;
    hb_mmd mmd;
    hb_memorisation near;
    HB_TRY(hb_judge_mmd(m->context, PIXELS, 0, n, real, x, m->test.pixels, sizeof mmd, &mmd));
    value[MNIST_MMD2] = mmd.mmd2;
    value[MNIST_MMD2_SE] = mmd.mmd2_se;
    value[MNIST_MMD] = mmd.mmd;
    HB_TRY(hb_judge_precision_recall(m->context, PIXELS, MNIST_NEIGHBOURS, same, same, x,
                                     m->test.pixels, &value[MNIST_PRECISION],
                                     &value[MNIST_RECALL]));
    HB_TRY(hb_judge_memorisation(m->context, PIXELS, same < held ? same : held, held, rows, x,
                                 m->test.pixels, train, sizeof near, &near));
    value[MNIST_NEAREST] = near.ratio;
    value[MNIST_NEAR_SHARE] = near.fraction;
    return HB_OK;
}

hb_status hb_mnist_judge_against(hb_mnist *m, size_t n, double *x, const int *labels, size_t rows,
                                 const double *train, double value[MNIST_VALUES])
{
    size_t affected;
    for (int i = 0; i < MNIST_VALUES; i++) value[i] = NAN;
    cut(n * PIXELS, x);
    HB_TRY(hb_judge_artifacts(m->context, SPECKS_KIND, MNIST_SIDE, MNIST_SIDE, SPECKS_LEAST, n,
                              m->theta, x, NULL, &affected));
    value[MNIST_SPECKS] = (double)affected / (double)n;
    if (!m->present) return HB_OK;
    HB_TRY(judge_distances(m, n, x, rows, train, value));
    return judge_classes(m, n, x, labels, value);
}

hb_status hb_mnist_judge(hb_mnist *m, size_t n, double *x, const int *labels,
                         double value[MNIST_VALUES])
{
    return hb_mnist_judge_against(m, n, x, labels, m->train.count, m->train.pixels, value);
}

/* ---- real images ---- */

static hb_status judge_floor(hb_mnist *m, size_t n, hb_mmd_floor *out)
{
    return hb_judge_mmd_floor(m->context, PIXELS, 0, m->size.floor_times, m->size.seed,
                              m->train.count, m->test.count,
                              n < m->train.count ? n : m->train.count, hb_mnist_real_count(m),
                              m->train.pixels, m->test.pixels, sizeof *out, out);
}

static hb_status measure_real(hb_mnist *m)
{
    const size_t real = hb_mnist_real_count(m), rest = m->test.count - real;
    const size_t n = rest < m->size.paper_images ? rest : m->size.paper_images;
    void *x;
    HB_TRY(judge_floor(m, m->size.images, &m->floor));
    HB_TRY(judge_floor(m, m->size.paper_images, &m->paper_floor));
    HB_TRY(hb_study_allocate(m->context, n * PIXELS, sizeof(double), &x));
    memcpy(x, m->test.pixels + real * PIXELS, n * PIXELS * sizeof(double));
    const hb_status status = hb_mnist_judge(m, n, x, m->test.labels + real, m->real);
    free(x);
    return status;
}

static json_t *floor_json(const hb_mmd_floor *f)
{
    return json_pack("{s:f,s:f,s:f,s:f}", "mmd", f->mmd, "mmd_upper", f->mmd_upper, "mmd2", f->mmd2,
                     "mmd2_upper", f->mmd2_upper);
}

static void read_floor(const json_t *values, const char *key, hb_mmd_floor *f)
{
    const json_t *object = json_object_get(values, key);
    f->mmd = json_number_value(json_object_get(object, "mmd"));
    f->mmd_upper = json_number_value(json_object_get(object, "mmd_upper"));
    f->mmd2 = json_number_value(json_object_get(object, "mmd2"));
    f->mmd2_upper = json_number_value(json_object_get(object, "mmd2_upper"));
}

hb_status hb_mnist_judge_real(hb_mnist *m)
{
    char fingerprint[512];
    json_t *values;
    m->theta = SPECKS_THETA;
    for (int i = 0; i < MNIST_VALUES; i++) m->real[i] = NAN;
    if (!m->present) return HB_OK;
    HB_TRY(hb_judge_artifacts_threshold(m->context, SPECKS_KIND, MNIST_SIDE, MNIST_SIDE,
                                        SPECKS_LEAST, m->test.count, SPECKS_SHARE, m->test.pixels,
                                        &m->theta));
    snprintf(fingerprint, sizeof fingerprint,
             "mnist-2 %s %s real data=%s images=%zu paper=%zu real=%zu held=%zu times=%d seed=%llu "
             "classifier=%d,%d",
             hb_version(), hb_context_isa(m->context), m->data_mark, m->size.images,
             m->size.paper_images, m->size.real, m->size.held, m->size.floor_times,
             (unsigned long long)m->size.seed, m->size.classifier_epochs, m->size.classifier_width);
    HB_TRY(hb_mnist_part_read(m, "real", fingerprint, &values));
    if (values) {
        hb_mnist_values_read(json_object_get(values, "real"), m->real);
        read_floor(values, "floor", &m->floor);
        read_floor(values, "paper_floor", &m->paper_floor);
        json_decref(values);
        return HB_OK;
    }
    HB_TRY(measure_real(m));
    return hb_mnist_part_write(m, "real", fingerprint,
                               json_pack("{s:o,s:o,s:o}", "real", hb_mnist_values_json(m->real),
                                         "floor", floor_json(&m->floor), "paper_floor",
                                         floor_json(&m->paper_floor)));
}
