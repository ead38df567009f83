/* What came out with few training images: mnist_few.csv (a row for each method, number of images
 * and seed), rows of mnist.json, the printed table, and the picture mnist_few_digits (digits beside
 * the training images that are nearest to them). */
#include "mnist.h"

#include <math.h>
#include <string.h>

enum { PIXELS = MNIST_SIDE * MNIST_SIDE, COLUMNS = 10 };

int hb_mnist_few_order(const hb_mnist *m, int order[MNIST_FEW_SIZES])
{
    int n = 0;
    for (int size = 0; size < MNIST_FEW_SIZES; size++) {
        int done = 0;
        for (int seed = 0; seed < m->size.few_seeds; seed++)
            done |= hb_mnist_few_done(m, size, seed);
        if (!done) continue;
        int k = n++;
        for (; k > 0 && m->size.few_images[order[k - 1]] > m->size.few_images[size]; k--)
            order[k] = order[k - 1];
        order[k] = size;
    }
    return n;
}

static size_t rows_of(const hb_mnist *m, int size)
{
    size_t first;
    return hb_mnist_few_rows(m, size, 0, &first);
}

/* ---- mnist_few.csv, mnist.json ---- */

static hb_status write_rows(hb_context *context, FILE *file, const void *user)
{
    const hb_mnist *m = user;
    int order[MNIST_FEW_SIZES];
    const int sizes = hb_mnist_few_order(m, order);
    (void)context;
    fputs("training_images,seed,method", file);
    hb_mnist_names_write(file);
    for (int i = 0; i < sizes * m->size.few_seeds * FEW_METHODS; i++) {
        const int size = order[i / FEW_METHODS / m->size.few_seeds];
        const int seed = i / FEW_METHODS % m->size.few_seeds, method = i % FEW_METHODS;
        if (!hb_mnist_few_done(m, size, seed)) continue;
        fprintf(file, "%zu,%d,%s", rows_of(m, size), seed, hb_few_names[method]);
        hb_mnist_numbers_write(file, MNIST_VALUES, m->few[seed][size][method].value);
        fputc('\n', file);
    }
    return HB_OK;
}

json_t *hb_mnist_few_json(const hb_mnist *m)
{
    json_t *rows = json_array();
    int order[MNIST_FEW_SIZES];
    const int sizes = hb_mnist_few_order(m, order);
    for (int i = 0; i < sizes * m->size.few_seeds * FEW_METHODS; i++) {
        const int size = order[i / FEW_METHODS / m->size.few_seeds];
        const int seed = i / FEW_METHODS % m->size.few_seeds, method = i % FEW_METHODS;
        if (!hb_mnist_few_done(m, size, seed)) continue;
        json_array_append_new(
            rows, json_pack("{s:I,s:i,s:s,s:o}", "training_images", (json_int_t)rows_of(m, size),
                            "seed", seed, "method", hb_few_names[method], "values",
                            hb_mnist_values_json(m->few[seed][size][method].value)));
    }
    const hb_mnist_size *s = &m->size;
    return json_pack("{s:i,s:i,s:I,s:I,s:I,s:I,s:o}", "seeds", s->few_seeds, "width", s->few_width,
                     "steps", (json_int_t)s->few_steps, "watch_every", (json_int_t)s->few_watch,
                     "validation", (json_int_t)s->few_validation, "made", (json_int_t)s->few_made,
                     "rows", rows);
}

/* ---- the printed table ---- */

/* Mean of the seconds of this run's trainings; NaN: none. */
static double mean_seconds(const hb_mnist *m, int size, int method)
{
    double sum = 0;
    int n = 0;
    for (int seed = 0; seed < m->size.few_seeds; seed++) {
        const double s = m->few[seed][size][method].seconds;
        if (isnan(s)) continue;
        sum += s;
        n++;
    }
    return sum / n;
}

static double mean_of(const hb_mnist *m, int size, int method, int value)
{
    double mean[3];
    hb_mnist_few_mean(m, size, method, value, mean);
    return mean[0];
}

void hb_mnist_few_print(FILE *table, const hb_mnist *m)
{
    int order[MNIST_FEW_SIZES];
    if (!m->few) return;
    const int sizes = hb_mnist_few_order(m, order);
    hb_study_print(
        table,
        "few images: width %d, %llu steps of 128 images, means over %d seed%s; loss: "
        "held-out, at four tau; copies: %% near copies; s: processor seconds of the "
        "training (not of parts that were there)\n%-19s | loss 0.05   0.1    0.3    1    "
        " | copies near. | MMD2      | prec. rec.  | s\n",
        m->size.few_width, (unsigned long long)m->size.few_steps, m->size.few_seeds,
        m->size.few_seeds == 1 ? "" : "s", "images, method");
    for (int i = 0; i < sizes * FEW_METHODS; i++) {
        const int size = order[i / FEW_METHODS], k = i % FEW_METHODS;
        const double seconds = mean_seconds(m, size, k);
        hb_study_print(table, "%6zu %-12s |", rows_of(m, size), hb_few_names[k]);
        for (int t = 0; t < MNIST_TAUS; t++)
            hb_study_print(table, " %6.4f", mean_of(m, size, k, MNIST_LOSS_AT + t));
        hb_study_print(table, " | %5.2f  %4.2f | %9.2e | %5.3f %5.3f |",
                       100 * mean_of(m, size, k, MNIST_NEAR_SHARE),
                       mean_of(m, size, k, MNIST_NEAREST), mean_of(m, size, k, MNIST_MMD2),
                       mean_of(m, size, k, MNIST_PRECISION), mean_of(m, size, k, MNIST_RECALL));
        if (isnan(seconds))
            hb_study_print(table, " -\n");
        else
            hb_study_print(table, " %.1f\n", seconds);
    }
}

/* ---- the picture ---- */

/* Odd rows: digits of a method from the first size and seed; below each the nearest of its training
 * images. */
static hb_status make_picture(hb_mnist *m, int k, hb_mnist_picture *p)
{
    size_t first, index[MNIST_FEW_SHOWN];
    const size_t rows = hb_mnist_few_rows(m, 0, 0, &first);
    const double *train = m->train.pixels + first * PIXELS;
    const hb_few_row *few = &m->few[0][0][k];
    p->rows = 2 * MNIST_FEW_SHOWN / COLUMNS;
    p->columns = COLUMNS;
    snprintf(p->name, sizeof p->name, "mnist_few_%s", hb_few_names[k]);
    snprintf(p->caption, sizeof p->caption, "%s, %zu images: near copies %.1f %%",
             k == FEW_HB ? "HB" : "DSM", rows, 100 * few->value[MNIST_NEAR_SHARE]);
    HB_TRY(HB_STUDY_NEW(m->context, p->pixels, 3 * MNIST_FEW_SHOWN * PIXELS));
    double *made = p->pixels + 2 * MNIST_FEW_SHOWN * PIXELS;
    for (size_t i = 0; i < sizeof few->shown; i++) made[i] = few->shown[i] / 255.0;
    HB_TRY(hb_judge_nearest(m->context, PIXELS, MNIST_FEW_SHOWN, rows, made, train, index, NULL));
    for (size_t i = 0; i < MNIST_FEW_SHOWN; i++) {
        double *to = p->pixels + (i / COLUMNS * 2 * COLUMNS + i % COLUMNS) * PIXELS;
        memcpy(to, made + i * PIXELS, PIXELS * sizeof *to);
        memcpy(to + (size_t)COLUMNS * PIXELS, train + index[i] * PIXELS, PIXELS * sizeof *to);
    }
    return hb_mnist_picture_make(m, p);
}

static hb_status write_pixels(hb_context *context, FILE *file, const void *user)
{
    const hb_mnist_picture *pictures = user;
    (void)context;
    fputs("method,row,column,source", file);
    hb_mnist_pixels_header(file);
    for (int i = 0; i < 2 * 2 * MNIST_FEW_SHOWN; i++) {
        const int k = i / (2 * MNIST_FEW_SHOWN), at = i % (2 * MNIST_FEW_SHOWN);
        fprintf(file, "%s,%d,%d,%s", hb_few_names[k ? FEW_HB : FEW_DSM], at / COLUMNS + 1,
                at % COLUMNS + 1, at / COLUMNS % 2 ? "nearest" : "generated");
        hb_mnist_pixels_write(file, pictures[k].pixels + (size_t)at * PIXELS);
    }
    return HB_OK;
}

static hb_status make_pictures(hb_mnist *m)
{
    hb_mnist_picture pictures[2] = {{.name = ""}};
    hb_status status = make_picture(m, FEW_DSM, &pictures[0]);
    if (status == HB_OK) status = make_picture(m, FEW_HB, &pictures[1]);
    if (status == HB_OK)
        status = hb_study_write_text(m->context, m->settings->directory,
                                     "mnist_few_digits.plot.csv", write_pixels, pictures);
    if (status == HB_OK) status = hb_mnist_pictures_write(m, "mnist_few_digits", 2, pictures);
    hb_mnist_pictures_release(2, pictures);
    return status;
}

hb_status hb_mnist_few_files(hb_mnist *m, hb_gallery *gallery)
{
    if (!m->few) return HB_OK;
    HB_TRY(hb_study_write_text(m->context, m->settings->directory, "mnist_few.csv", write_rows, m));
    HB_TRY(make_pictures(m));
    hb_study_caption(gallery->captions, "mnist_few_digits", NULL);
    return HB_OK;
}
